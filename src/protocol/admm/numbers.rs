//! All vectors of a peer in one block of memory.

use crate::learn::{LANES, Padded};
use crate::units::{Aligned, prefetch};

/// w, γ, then w~ and η/n where they are asked for, then the solver's: what every round goes over. Behind
/// them two sums, and w̄ where it is asked for. Each goes on with zeros up to a multiple of [`LANES`]. A
/// million peers take a million blocks, not ten million small pieces all over the heap.
#[derive(Debug)]
pub(super) struct Numbers {
    block: Aligned,
    dimension: u32,
    /// How many the solver remembers.
    solver: u32,
    /// How many times four a vector takes, and what the solver remembers.
    fours: [u32; 2],
    kinds: Kinds,
}

/// Which vectors there are beside those that every peer has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Kinds {
    /// w~, where it may be another vector than w.
    pub(super) sent: bool,
    /// η/n.
    pub(super) eta: bool,
    /// w̄.
    pub(super) average: bool,
}

impl Kinds {
    fn count(self) -> usize {
        4 + usize::from(self.sent) + usize::from(self.eta) + usize::from(self.average)
    }
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
    /// w~_i; empty where that is w_i.
    pub(super) sent: &'a mut [f64],
    /// η_i/n; empty without objective noise.
    pub(super) eta: &'a mut [f64],
    /// w̄_i, the mean of w_i over the rounds; empty where it is not kept.
    pub(super) average: &'a mut [f64],
    /// What the solver remembers.
    pub(super) solver: &'a mut [f64],
}

/// Those that a round in closed form goes over, with the zeros behind them.
pub(super) struct Fours<'a> {
    pub(super) w: &'a mut Padded,
    pub(super) gamma: &'a mut Padded,
    pub(super) sum: &'a mut Padded,
    pub(super) sent: &'a Padded,
    pub(super) eta: &'a Padded,
    pub(super) solver: &'a Padded,
}

impl Numbers {
    /// Zeros: `solver` is how many the solver remembers.
    pub(super) fn zeros(d: usize, kinds: Kinds, solver: usize) -> Self {
        let length = Self::length(d, kinds.count(), solver);
        let [dimension, solver] = [d, solver].map(|count| {
            u32::try_from(count).expect("a matrix in memory has fewer rows and columns")
        });
        let fours = [dimension, solver].map(|count| count.div_ceil(LANES as u32));
        Self { block: Aligned::zeros(length), dimension, solver, fours, kinds }
    }

    /// How many numbers so many vectors take, and the solver's.
    pub(super) fn length(d: usize, vectors: usize, solver: usize) -> usize {
        vectors * d.next_multiple_of(LANES) + solver.next_multiple_of(LANES)
    }

    /// All of them.
    #[inline]
    pub(super) fn split(&mut self) -> Vectors<'_> {
        let (d, solver) = (self.dimension as usize, self.solver as usize);
        let Kinds { sent, eta, average } = self.kinds;
        let mut rest = &mut *self.block;
        let mut next = |length: usize| {
            let padded = length.next_multiple_of(LANES);
            let (vector, more) = std::mem::take(&mut rest).split_at_mut(padded);
            rest = more;
            &mut vector[..length]
        };
        let (w, gamma) = (next(d), next(d));
        let sent = next(if sent { d } else { 0 });
        let eta = next(if eta { d } else { 0 });
        let solver = next(solver);
        let (sum, theirs) = (next(d), next(d));
        let average = next(if average { d } else { 0 });
        Vectors { w, gamma, sum, theirs, sent, eta, average, solver }
    }

    /// How long vectors are.
    #[inline]
    pub(super) fn dimension(&self) -> usize {
        self.dimension as usize
    }

    /// Those of a round in closed form, where a vector takes N times four numbers; for N = 0, whatever it takes.
    #[inline(always)]
    pub(super) fn fours<const N: usize>(&mut self) -> Option<Fours<'_>> {
        let [each, of_solver] = self.fours.map(|count| count as usize);
        if N > 0 && each != N {
            return None;
        }
        let each = if N > 0 { N } else { each };
        let (fours, _) = self.block.as_chunks_mut::<LANES>();
        let (w, rest) = fours.split_at_mut_checked(each)?;
        let (gamma, rest) = rest.split_at_mut_checked(each)?;
        let (sent, rest) = rest.split_at_mut_checked(if self.kinds.sent { each } else { 0 })?;
        let (eta, rest) = rest.split_at_mut_checked(if self.kinds.eta { each } else { 0 })?;
        let (solver, rest) = rest.split_at_mut_checked(of_solver)?;
        Some(Fours { w, gamma, sum: rest.get_mut(..each)?, sent, eta, solver })
    }

    /// Σ_l w~_l of the round that is under way.
    #[inline]
    pub(super) fn theirs(&mut self) -> &mut [f64] {
        let at = self.sums_at() + self.stride();
        &mut self.block[at..][..self.dimension as usize]
    }

    /// Asks for those that a round goes over, to be near when they are needed.
    #[inline(always)]
    pub(super) fn expect(&self) {
        prefetch::numbers::<8>(&self.block[..self.sums_at()]);
    }

    /// w_i.
    #[cfg(test)]
    pub(super) fn w(&self) -> &[f64] {
        self.vector(0)
    }

    /// γ_i.
    #[cfg(test)]
    pub(super) fn gamma(&self) -> &[f64] {
        self.vector(self.stride())
    }

    /// Σ_l (w~_i + w~_l) of the last complete round.
    pub(super) fn sum(&self) -> &[f64] {
        self.vector(self.sums_at())
    }

    /// w~_i, as it was sent last.
    pub(super) fn sent(&self) -> &[f64] {
        self.vector(if self.kinds.sent { 2 * self.stride() } else { 0 })
    }

    fn stride(&self) -> usize {
        (self.dimension as usize).next_multiple_of(LANES)
    }

    /// Where the two sums begin.
    fn sums_at(&self) -> usize {
        let vectors = 2 + usize::from(self.kinds.sent) + usize::from(self.kinds.eta);
        Self::length(self.dimension as usize, vectors, self.solver as usize)
    }

    fn vector(&self, at: usize) -> &[f64] {
        &self.block[at..][..self.dimension as usize]
    }
}
