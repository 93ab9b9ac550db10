//! The loops of a net with one hidden layer and two outputs: Q(x) = W₂ φ(W₁ᵀx + b₁) + b₂.
//!
//! The hidden units go by eight at a time. What belongs to eight of them lies together in a tile,
//! [`Eight`] by [`Eight`]: the weights of the d inputs, the bias b₁, and W₂ of the first and of the
//! second output. So what is added up over the inputs stays in registers, and a step comes by each
//! weight once. Where the hidden units are no multiple of eight, those that are missing have weights
//! 0, hence gradients 0, and stay at 0. The moments of [Adam](super::AdamStep) lie as the weights do.

mod linear;
mod relu;
#[cfg(test)]
mod tests;

pub use linear::{LinearStep, fold, linear_values};
pub use relu::{ReluStep, relu_values};

use super::adam::{AdamStep, AdamStepOfEight};
use super::kernel;

/// A number of each of eight hidden units: a line of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub struct Eight([[f64; 4]; 2]);

impl Eight {
    /// How many.
    pub const UNITS: usize = 8;

    /// Those of a tile, with so many inputs.
    pub const fn per_tile(inputs: usize) -> usize {
        inputs + 3
    }

    /// Those of all tiles, with so many inputs and hidden units.
    pub const fn of(inputs: usize, hidden: usize) -> usize {
        hidden.div_ceil(Self::UNITS) * Self::per_tile(inputs)
    }

    /// The numbers, unit by unit.
    pub fn units(&self) -> &[f64] {
        self.0.as_flattened()
    }

    /// The numbers, unit by unit, to be changed.
    pub fn units_mut(&mut self) -> &mut [f64] {
        self.0.as_flattened_mut()
    }
}

/// Weights and what moves them.
#[derive(Debug)]
pub struct Moving<'a> {
    /// The step.
    pub step: AdamStep,
    /// The weights, tile by tile.
    pub weights: &'a mut [Eight],
    /// M of each.
    pub mean: &'a mut [Eight],
    /// V of each.
    pub square: &'a mut [Eight],
}

impl Moving<'_> {
    /// How many there are of each.
    ///
    /// # Panics
    /// If a weight has no moments.
    fn len(&self) -> usize {
        let len = self.weights.len();
        assert!(self.mean.len() == len && self.square.len() == len, "a weight has moments");
        len
    }
}

/// A step of eight weights down the gradient g. Returns the weights after it.
#[inline(always)]
fn step<E: kernel::Eight>(
    adam: AdamStepOfEight<E>,
    g: E,
    w: &mut Eight,
    m: &mut Eight,
    v: &mut Eight,
) -> E {
    adam.take(g, [&mut w.0, &mut m.0, &mut v.0])
}
