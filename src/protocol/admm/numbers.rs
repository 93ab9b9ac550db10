//! All vectors of a peer in one block of memory.

use crate::learn::prefetch;

/// w, γ, two sums, η/n and w̄ where they are asked for, then the solver's, one after the other. A
/// million peers take a million blocks, not ten million small pieces all over the heap.
#[derive(Debug)]
pub(super) struct Numbers {
    block: Box<[f64]>,
    dimension: u32,
    noise: bool,
    averages: bool,
}

/// The vectors, to write to.
pub(super) struct Vectors<'a> {
    /// w_i.
    pub(super) w: &'a mut [f64],
    /// γ_i.
    pub(super) gamma: &'a mut [f64],
    /// Σ_l (w~_i + w~_l) of the last complete round.
    pub(super) sum: &'a mut [f64],
    /// Σ_l w~_l of the round that is under way, as far as they are there.
    pub(super) theirs: &'a mut [f64],
    /// η_i/n; empty without objective noise.
    pub(super) eta: &'a mut [f64],
    /// w̄_i, the mean of w_i over the rounds; empty where it is not kept.
    pub(super) average: &'a mut [f64],
    /// What the solver remembers.
    pub(super) solver: &'a mut [f64],
}

impl Numbers {
    /// Zeros: `noise` asks for η, `averages` for w̄, `solver` is how many the solver remembers.
    pub(super) fn zeros(d: usize, noise: bool, averages: bool, solver: usize) -> Self {
        let length = Self::length(d, noise, averages) + solver;
        let dimension = u32::try_from(d).expect("a matrix in memory has fewer columns");
        Self { block: vec![0.0; length].into(), dimension, noise, averages }
    }

    /// How many numbers there are beside the solver's.
    pub(super) fn length(d: usize, noise: bool, averages: bool) -> usize {
        (4 + usize::from(noise) + usize::from(averages)) * d
    }

    /// All of them.
    #[inline]
    pub(super) fn split(&mut self) -> Vectors<'_> {
        let d = self.dimension as usize;
        let (w, rest) = self.block.split_at_mut(d);
        let (gamma, rest) = rest.split_at_mut(d);
        let (sum, rest) = rest.split_at_mut(d);
        let (theirs, rest) = rest.split_at_mut(d);
        let (eta, rest) = rest.split_at_mut(if self.noise { d } else { 0 });
        let (average, solver) = rest.split_at_mut(if self.averages { d } else { 0 });
        Vectors { w, gamma, sum, theirs, eta, average, solver }
    }

    /// Σ_l w~_l of the round that is under way.
    #[inline]
    pub(super) fn theirs(&mut self) -> &mut [f64] {
        let d = self.dimension as usize;
        &mut self.block[3 * d..4 * d]
    }

    /// Asks for all of them, to be near when they are needed.
    pub(super) fn expect(&self) {
        prefetch(&self.block);
    }

    /// w_i.
    #[cfg(test)]
    pub(super) fn w(&self) -> &[f64] {
        &self.block[..self.dimension as usize]
    }

    /// γ_i.
    #[cfg(test)]
    pub(super) fn gamma(&self) -> &[f64] {
        let d = self.dimension as usize;
        &self.block[d..2 * d]
    }

    /// Σ_l (w~_i + w~_l) of the last complete round.
    pub(super) fn sum(&self) -> &[f64] {
        let d = self.dimension as usize;
        &self.block[2 * d..3 * d]
    }
}
