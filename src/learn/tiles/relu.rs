//! A net whose hidden units make max(0, x) of their input.

use super::super::kernel::{self, Four, Loop, run};
use super::{AdamStepOfEight, Eight, Moving, step};
use kernel::Eight as _;

/// Q of both outputs, row by row. `units` has room for what the hidden units make of every row, tile by
/// tile.
///
/// # Panics
/// If the lengths do not fit.
pub fn relu_values(
    weights: &[Eight],
    biases: [f64; 2],
    states: &[f64],
    units: &mut [Eight],
    values: &mut [[f64; 2]],
) {
    run(ReluValues { weights, biases, states, units, values });
}

pub(super) struct ReluValues<'a> {
    pub(super) weights: &'a [Eight],
    pub(super) biases: [f64; 2],
    pub(super) states: &'a [f64],
    pub(super) units: &'a mut [Eight],
    pub(super) values: &'a mut [[f64; 2]],
}

impl Loop for ReluValues<'_> {
    type Output = ();
    const GAINS: bool = true;

    #[inline(always)]
    fn run<F: Four>(self) {
        let Self { weights, biases, states, units, values } = self;
        let rows = values.len();
        if rows == 0 {
            return;
        }
        let d = states.len() / rows;
        for (tile, units) in weights.chunks_exact(d + 3).zip(units.chunks_exact_mut(rows)) {
            let (pairs, last) = units.as_chunks_mut::<2>();
            let alone = 2 * d * pairs.len();
            for (pair, x) in pairs.iter_mut().zip(states.chunks_exact(2 * d)) {
                let (x, y) = x.split_at(d);
                *pair = reach::<F, 2>(tile, [x, y]);
            }
            for unit in last {
                [*unit] = reach::<F, 1>(tile, [&states[alone..]]);
            }
        }
        for (row, values) in values.iter_mut().enumerate() {
            let mut sums = [F::Two::splat(0.0); 2];
            for (tile, units) in weights.chunks_exact(d + 3).zip(units.chunks_exact(rows)) {
                let unit = F::Two::load(&units[row].0);
                for output in 0..2 {
                    let w = F::Two::load(&tile[d + 1 + output].0);
                    sums[output] = sums[output].plus(w.times(unit));
                }
            }
            for output in 0..2 {
                let [a, b, c, d] = sums[output].folded().array();
                values[output] = (a + c) + (b + d) + biases[output];
            }
        }
    }
}

/// What the hidden units of a tile make of rows that go together: max(0, W₁ᵀx + b₁).
#[inline(always)]
fn reach<F: Four, const R: usize>(tile: &[Eight], x: [&[f64]; R]) -> [Eight; R] {
    let d = tile.len() - 3;
    let mut sums = [F::Two::load(&tile[d].0); R];
    for (input, w) in tile[..d].iter().enumerate() {
        let w = F::Two::load(&w.0);
        for r in 0..R {
            sums[r] = sums[r].plus(F::Two::splat(x[r][input]).times(w));
        }
    }
    let mut units = [Eight::default(); R];
    for (units, sum) in units.iter_mut().zip(sums) {
        sum.store(&mut units.0);
        for unit in units.units_mut() {
            // A NaN stays one.
            if *unit < 0.0 {
                *unit = 0.0;
            }
        }
    }
    units
}

/// A step down Σ_r e_r Q_{a_r}(x_r), for all weights but b₂.
#[derive(Debug)]
pub struct ReluStep<'a> {
    /// What moves.
    pub moving: Moving<'a>,
    /// The rows x_r, one after the other.
    pub states: &'a [f64],
    /// a_r and e_r.
    pub errors: &'a [(usize, f64)],
    /// What [`relu_values`] left of the hidden units; used up.
    pub units: &'a mut [Eight],
}

impl ReluStep<'_> {
    /// Takes it.
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn take(self) {
        let (rows, tiles) = (self.errors.len(), self.units.len() / self.errors.len().max(1));
        let size = self.states.len() / rows.max(1) + 3;
        assert!(self.moving.len() == tiles * size, "a tile has units of every row");
        run(self);
    }
}

impl Loop for ReluStep<'_> {
    type Output = ();
    const GAINS: bool = true;

    #[inline(always)]
    fn run<F: Four>(self) {
        let Self { moving, states, errors, units } = self;
        let Moving { step: adam, weights, mean, square } = moving;
        let adam = AdamStepOfEight::<F::Two>::new(adam);
        let rows = errors.len();
        if rows == 0 {
            return;
        }
        let d = states.len() / rows;
        for (tile, units) in units.chunks_exact_mut(rows).enumerate() {
            let at = tile * (d + 3);
            let w = &mut weights[at..at + d + 3];
            let m = &mut mean[at..at + d + 3];
            let v = &mut square[at..at + d + 3];
            let by = back(&w[d + 1..], errors, units);
            for input in 0..=d {
                let mut g = F::Two::splat(0.0);
                for (row, unit) in units.iter().enumerate() {
                    // The bias is the weight of one more input, which is always 1.
                    let x = F::Two::splat(if input < d { states[row * d + input] } else { 1.0 });
                    g = g.plus(x.times(F::Two::load(&unit.0)));
                }
                step(adam, g, &mut w[input], &mut m[input], &mut v[input]);
            }
            for (output, by) in by.iter().enumerate() {
                let (g, at) = (F::Two::load(&by.0), d + 1 + output);
                step(adam, g, &mut w[at], &mut m[at], &mut v[at]);
            }
        }
    }
}

/// The gradient by a tile's W₂. Units become the derivative by their input.
#[inline(always)]
fn back(out: &[Eight], errors: &[(usize, f64)], units: &mut [Eight]) -> [Eight; 2] {
    let mut by = [Eight::default(); 2];
    for ((output, error), unit) in errors.iter().zip(units) {
        for half in 0..2 {
            for lane in 0..4 {
                let unit = &mut unit.0[half][lane];
                by[*output].0[half][lane] += error * *unit;
                *unit = if *unit > 0.0 { error * out[*output].0[half][lane] } else { 0.0 };
            }
        }
    }
    by
}
