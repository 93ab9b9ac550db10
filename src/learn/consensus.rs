//! What a consensus method does with whole vectors in every round: each in one pass.

use super::kernel::rows::add;
use super::kernel::{Four, LANES, Loop, run};

/// A vector with zeros up to a multiple of four numbers.
pub type Padded = [[f64; LANES]];

/// A round whose messages are all there: the dual step with T = Σ_l w_l, as [`dual_step`] and
/// [`linear_term`] do it, to the last bit. Nothing is written before it is known that the argmin that
/// follows can be.
pub struct ConsensusRound<'a, M> {
    /// β.
    pub penalty: f64,
    /// N.
    pub neighbours: f64,
    /// w_l, each with zeros up to a multiple of four numbers.
    pub models: M,
    /// What was sent; empty where that is w.
    pub sent: &'a Padded,
    /// η/n; empty where there is none.
    pub eta: &'a Padded,
    /// γ.
    pub gamma: &'a mut Padded,
    /// N w + T in the end, if it is kept.
    pub sum: &'a mut Padded,
    /// Whether it is: nobody asks for it where the argmin that it is for comes at once.
    pub keep: bool,
    /// w.
    pub w: &'a mut Padded,
}

impl<'m, M: Iterator<Item = &'m Padded> + Clone> ConsensusRound<'_, M> {
    /// γ + β(N w − T) and b = γ − β(N w + T) + η/n with this γ, for N times four from a block on, whose sums
    /// stay in registers while the models go by.
    #[inline(always)]
    pub(super) fn linear_term<F: Four, const N: usize>(&self, block: usize) -> [(F, F); N] {
        let gamma = self.gamma[block..].first_chunk::<N>().expect("as long as w");
        let (up, down) = (F::splat(self.penalty), F::splat(-self.penalty));
        let minus = F::splat(-1.0);
        let mut terms = self.sums::<F, N>(block);
        for k in 0..N {
            let (all, theirs) = terms[k];
            let dual = F::load(&gamma[k]).plus(all.plus(theirs.times(minus)).times(up));
            terms[k] = (dual, dual.plus(all.plus(theirs).times(down)));
        }
        if !self.eta.is_empty() {
            let eta = self.eta[block..].first_chunk::<N>().expect("as long as w");
            for k in 0..N {
                terms[k].1 = terms[k].1.plus(F::load(&eta[k]));
            }
        }
        terms
    }

    /// The dual step is taken: γ has become this, and N w + T is kept where it is asked for.
    #[inline(always)]
    pub(super) fn take<F: Four>(&mut self, gamma: &Padded) {
        for (own, new) in self.gamma[..gamma.len()].iter_mut().zip(gamma) {
            F::load(new).store(own);
        }
        if self.keep {
            self.add_up::<F>();
        }
    }

    /// sum ← N w + T.
    #[inline(always)]
    fn add_up<F: Four>(&mut self) {
        for block in 0..self.w.len() {
            let [(all, theirs)] = self.sums::<F, 1>(block);
            all.plus(theirs).store(&mut self.sum[block]);
        }
    }

    /// N w and T for N times four from a block on.
    #[inline(always)]
    fn sums<F: Four, const N: usize>(&self, block: usize) -> [(F, F); N] {
        let mut theirs = [F::splat(0.0); N];
        for model in self.models.clone() {
            let fours = model[block..].first_chunk::<N>().expect("models are as long as w");
            for k in 0..N {
                theirs[k] = theirs[k].plus(F::load(&fours[k]));
            }
        }
        let own = if self.sent.is_empty() { &*self.w } else { self.sent };
        let own = own[block..].first_chunk::<N>().expect("as long as w");
        let times = F::splat(self.neighbours);
        let mut sums = [(times, times); N];
        for k in 0..N {
            sums[k] = (F::load(&own[k]).times(times), theirs[k]);
        }
        sums
    }
}

/// sum ← sum + Σ_r x_r, added in the order of the vectors.
#[inline]
pub fn add_up(vectors: &[&[f64]], sum: &mut [f64]) {
    match *vectors {
        [] => {}
        [a] => run(AddUp([a], sum)),
        [a, b] => run(AddUp([a, b], sum)),
        [a, b, c] => run(AddUp([a, b, c], sum)),
        [a, b, c, d, ref more @ ..] => {
            run(AddUp([a, b, c, d], sum));
            add_up(more, sum);
        }
    }
}

/// The dual step of a peer with N neighbours, where T is the sum of their models:
/// γ ← γ + β(N w − T), sum ← N w + T, T ← 0.
#[inline]
pub fn dual_step(
    beta: f64,
    neighbours: f64,
    own: &[f64],
    theirs: &mut [f64],
    gamma: &mut [f64],
    sum: &mut [f64],
) {
    run(DualStep { factors: [beta, neighbours], own, theirs, gamma, sum });
}

/// b ← γ − β·sum.
#[inline]
pub fn linear_term(beta: f64, gamma: &[f64], sum: &[f64], b: &mut [f64]) {
    run(LinearTerm { beta, gamma, sum, b });
}

struct AddUp<'a, const N: usize>([&'a [f64]; N], &'a mut [f64]);

impl<const N: usize> Loop for AddUp<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<F: Four>(self) {
        add::<F, N>([1.0; N], self.0, self.1);
    }
}

struct DualStep<'a> {
    factors: [f64; 2],
    own: &'a [f64],
    theirs: &'a mut [f64],
    gamma: &'a mut [f64],
    sum: &'a mut [f64],
}

impl Loop for DualStep<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Four>(self) {
        let Self { factors: [beta, neighbours], own, theirs, gamma, sum } = self;
        let (own, own_tail) = own.as_chunks::<4>();
        let (theirs, theirs_tail) = theirs.as_chunks_mut::<4>();
        let (gamma, gamma_tail) = gamma.as_chunks_mut::<4>();
        let (sum, sum_tail) = sum.as_chunks_mut::<4>();
        let [up, down, times] = [F::splat(beta), F::splat(-1.0), F::splat(neighbours)];
        for (((own, theirs), gamma), sum) in own.iter().zip(theirs).zip(gamma).zip(sum) {
            let (all, t) = (F::load(own).times(times), F::load(theirs));
            F::load(gamma).plus(all.plus(t.times(down)).times(up)).store(gamma);
            all.plus(t).store(sum);
            F::splat(0.0).store(theirs);
        }
        let tails = own_tail.iter().zip(theirs_tail).zip(gamma_tail).zip(sum_tail);
        for (((own, theirs), gamma), sum) in tails {
            let all = own * neighbours;
            *gamma += (all - *theirs) * beta;
            *sum = all + *theirs;
            *theirs = 0.0;
        }
    }
}

struct LinearTerm<'a> {
    beta: f64,
    gamma: &'a [f64],
    sum: &'a [f64],
    b: &'a mut [f64],
}

impl Loop for LinearTerm<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Four>(self) {
        let Self { beta, gamma, sum, b } = self;
        let (gamma, gamma_tail) = gamma.as_chunks::<4>();
        let (sum, sum_tail) = sum.as_chunks::<4>();
        let (b, b_tail) = b.as_chunks_mut::<4>();
        let down = F::splat(-beta);
        for ((gamma, sum), b) in gamma.iter().zip(sum).zip(b) {
            F::load(gamma).plus(F::load(sum).times(down)).store(b);
        }
        for ((gamma, sum), b) in gamma_tail.iter().zip(sum_tail).zip(b_tail) {
            *b = gamma - beta * sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(seed: f64, d: usize) -> Vec<f64> {
        (0..d).map(|k| (seed + 1.7 * k as f64).sin()).collect()
    }

    #[test]
    fn sums_are_those_of_one_vector_after_the_other_for_every_length_and_number() {
        for d in 0..14 {
            for count in 0..11 {
                let vectors: Vec<Vec<f64>> = (0..count).map(|r| vector(r as f64, d)).collect();
                let (mut sum, mut plain) = (vector(0.5, d), vector(0.5, d));
                for x in &vectors {
                    plain.iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
                }
                let vectors: Vec<&[f64]> = vectors.iter().map(Vec::as_slice).collect();
                add_up(&vectors, &mut sum);
                assert_eq!(sum, plain, "{count} of length {d}");
            }
        }
    }

    #[test]
    fn a_dual_step_is_the_formula_for_every_length() {
        let (beta, n) = (0.35, 3.0);
        for d in 0..14 {
            let (own, start) = (vector(1.0, d), [2.0, 3.0, 4.0].map(|seed| vector(seed, d)));
            let [mut theirs, mut gamma, mut sum] = start.clone();
            dual_step(beta, n, &own, &mut theirs, &mut gamma, &mut sum);
            let mut b = vec![0.0; d];
            linear_term(beta, &gamma, &sum, &mut b);
            for k in 0..d {
                assert_eq!(gamma[k], start[1][k] + beta * (n * own[k] - start[0][k]));
                assert_eq!(sum[k], n * own[k] + start[0][k]);
                assert_eq!((theirs[k], b[k]), (0.0, gamma[k] - beta * sum[k]));
            }
        }
    }
}
