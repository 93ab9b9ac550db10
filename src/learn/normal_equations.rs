//! Squared loss in closed form: (XᵀX/m + qI) w = Xᵀy/m − b, where only b changes from round to round.
//!
//! The matrix H is factored once; a solve is then one product or two triangular solves and no pass
//! over the samples. How far the result is from solving the equations as they were formed is not
//! computed (that would be a pass) but bounded, by what rounding can do at most.

use super::cholesky::Packed;
use super::consensus::{ConsensusRound, Padded};
use super::half;
use super::kernel::{Four, LANES, Loop, run};
use super::objective::Objective;
use super::vector::norm;

/// H, ready to be solved with.
#[derive(Clone, Debug)]
pub(super) struct NormalEquations {
    kept: Kept,
    /// What the bound on the residual is a multiple of: of |r| for the inverse, of |w| for the factor.
    error: f64,
}

#[derive(Clone, Debug)]
enum Kept {
    /// One [`half`] of H⁻¹, among the caller's numbers.
    Inverse,
    /// L of H = LLᵀ.
    Factor(Packed),
}

/// γ_n = nu/(1 − nu) with u = ε/2: the relative error of n roundings at most.
fn gamma(n: usize) -> f64 {
    let nu = 0.5 * f64::EPSILON * n as f64;
    nu / (1.0 - nu)
}

impl NormalEquations {
    /// How many numbers the caller keeps in dimension d: up to [`half::LIMIT`] the inverse may take the
    /// place of the factor.
    pub(super) fn numbers(d: usize) -> usize {
        if d <= half::LIMIT { half::length(d) } else { 0 }
    }

    /// Forms and factors H; none where it has no factor, to working precision. `inverse` is for the
    /// [numbers](Self::numbers) that every other call is given again.
    ///
    /// The inverse is kept if it is small and its error cannot matter at this tolerance: a product is
    /// several times as quick as two triangular solves, but its residual grows with H's condition
    /// number, at most tr(H)/q, where that of the factor does not.
    pub(super) fn new(
        objective: &Objective<'_>,
        quadratic: f64,
        tolerance: f64,
        inverse: &mut [f64],
    ) -> Option<Self> {
        let d = objective.samples.dimension();
        let mut hessian = Packed::identity(d, quadratic);
        // Squared loss bends everywhere alike: any w will do.
        objective.add_hessian(&vec![0.0; d], &mut hessian);
        let trace: f64 = (0..d).map(|i| hessian.row(i)[i]).sum();
        let mut factor = hessian.clone();
        factor.factor().ok()?;
        let foreseen = 4.0 * gamma(d) * trace * (d as f64).sqrt() / quadratic;
        if (1..=half::LIMIT).contains(&d) && 10.0 * foreseen <= tolerance {
            return Some(Self::invert(&hessian, &factor, trace, inverse));
        }
        // Higham, Accuracy and Stability, theorem 10.4: (H + E)w = r with |E| ≤ γ_{3d+1} |L||Lᵀ|, and
        // the norm of |L||Lᵀ| is at most |L|² (Frobenius), which is tr(H).
        Some(Self { kept: Kept::Factor(factor), error: gamma(3 * d + 1) * trace })
    }

    /// Column after column from the factor, and how far it is from inverting H.
    fn invert(hessian: &Packed, factor: &Packed, trace: f64, inverse: &mut [f64]) -> Self {
        let d = hessian.dimension();
        let mut columns = vec![0.0; d * d];
        for (i, column) in columns.chunks_exact_mut(d).enumerate() {
            column[i] = 1.0;
            factor.solve(column);
        }
        // Rounding leaves it not quite symmetric: what is below the diagonal holds for both.
        for i in 0..d {
            for j in i + 1..d {
                columns[j * d + i] = columns[i * d + j];
            }
        }
        let mut image = vec![0.0; d];
        let (mut size, mut off) = (0.0, 0.0);
        for (i, column) in columns.chunks_exact(d).enumerate() {
            hessian.product(column, &mut image);
            image[i] -= 1.0;
            size += norm(column) * norm(column);
            off += norm(&image) * norm(&image);
        }
        half::keep(&columns, d, inverse);
        // With M the kept matrix, w = Mr as computed and |H|₂, |H|_F ≤ tr(H):
        // |r − Hw| ≤ (|I − HM|_F + γ tr(H)|M|_F)|r|, the second for the product, and once more for the
        // rounding in |I − HM|_F itself.
        let rounding = gamma(2 * d + 2) * trace * f64::sqrt(size);
        Self { kept: Kept::Inverse, error: f64::sqrt(off) + 2.0 * rounding }
    }

    /// w ← −H⁻¹(a + b). Returns a proven bound on |a + b + Hw|.
    pub(super) fn solve(&self, inverse: &[f64], a: &[f64], b: &[f64], w: &mut [f64]) -> f64 {
        match &self.kept {
            Kept::Inverse => self.error * run(Product { inverse, a, b, w }).sqrt(),
            Kept::Factor(factor) => {
                for ((w, a), b) in w.iter_mut().zip(a).zip(b) {
                    *w = -a - b;
                }
                factor.solve(w);
                self.error * norm(w)
            }
        }
    }

    /// A whole round of a consensus method: its dual step and w ← −H⁻¹(a + b) with the b that comes of it.
    /// Nothing is done, and false returned, where the inverse is not kept or the bound on |a + b + Hw|
    /// might be above the tolerance.
    #[inline(always)]
    pub(super) fn round<'m, F: Four, M: Iterator<Item = &'m Padded> + Clone>(
        &self,
        round: ConsensusRound<'_, M>,
        (a, inverse, d): (&Padded, &[f64], usize),
        tolerance: f64,
    ) -> bool {
        let kept = matches!(self.kept, Kept::Inverse);
        let limits = self.limits(tolerance);
        kept && RoundAndProduct { round, inverse, a, d, limits }.run::<F>()
    }

    /// error · |r| ≤ tolerance, squared, where rounding leaves no doubt: what to multiply |r|² with, and what
    /// it may be at most.
    #[inline(always)]
    fn limits(&self, tolerance: f64) -> [f64; 2] {
        [self.error * self.error * (1.0 + 1e-12), tolerance * tolerance]
    }

    /// step ← H⁻¹g.
    pub(super) fn step(&self, inverse: &[f64], g: &[f64], step: &mut [f64]) {
        step.copy_from_slice(g);
        match &self.kept {
            Kept::Inverse => {
                run(Product { inverse, a: g, b: &[0.0; half::LIMIT][..g.len()], w: step });
                step.iter_mut().for_each(|step| *step = -*step);
            }
            Kept::Factor(factor) => factor.solve(step),
        }
    }

    /// Asks for the factor, to be near when it is needed.
    pub(super) fn expect(&self) {
        if let Kept::Factor(factor) = &self.kept {
            factor.expect();
        }
    }
}

/// Room for any r.
type Room = [[f64; LANES]; half::LIMIT / LANES];

/// w ← H⁻¹r with r = −(a + b). Returns |r|².
struct Product<'a> {
    inverse: &'a [f64],
    a: &'a [f64],
    b: &'a [f64],
    w: &'a mut [f64],
}

impl Loop for Product<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<F: Four>(self) -> f64 {
        let Self { inverse, a, b, w } = self;
        let (d, lanes) = (w.len(), w.len().div_ceil(LANES));
        let (mut r, mut product) = (Room::default(), Room::default());
        negative_sum::<F>(a, b, &mut r.as_flattened_mut()[..d]);
        half::product::<F>(inverse, d, &r[..lanes], &mut product);
        w.copy_from_slice(&product.as_flattened()[..d]);
        square::<F>(&r[..lanes])
    }
}

/// The dual step and r = −(a + b) from it, then the same, where the first limit times |r|² is at most the
/// second; whether it is.
struct RoundAndProduct<'a, M> {
    round: ConsensusRound<'a, M>,
    inverse: &'a [f64],
    a: &'a Padded,
    d: usize,
    limits: [f64; 2],
}

impl<'m, M: Iterator<Item = &'m Padded> + Clone> Loop for RoundAndProduct<'_, M> {
    type Output = bool;

    #[inline(always)]
    fn run<F: Four>(mut self) -> bool {
        // Where the compiler knows the number of blocks, r stays in registers.
        match self.round.w.len() {
            1 => self.of_lanes::<F, 1>(1),
            2 => self.of_lanes::<F, 2>(2),
            3 => self.of_lanes::<F, 3>(3),
            lanes => self.of_lanes::<F, { half::LIMIT / LANES }>(lanes),
        }
    }
}

impl<'m, M: Iterator<Item = &'m Padded> + Clone> RoundAndProduct<'_, M> {
    /// With room for N times four.
    #[inline(always)]
    fn of_lanes<F: Four, const N: usize>(&mut self, lanes: usize) -> bool {
        let (mut r, mut gamma) = ([[0.0; LANES]; N], [[0.0; LANES]; N]);
        let (r, gamma) = (&mut r[..lanes], &mut gamma[..lanes]);
        // Three blocks at a time: as many additions are under way as the registers bear.
        for block in (0..lanes).step_by(3) {
            match lanes - block {
                1 => self.right_side::<F, 1>(block, r, gamma),
                2 => self.right_side::<F, 2>(block, r, gamma),
                _ => self.right_side::<F, 3>(block, r, gamma),
            }
        }
        let [error, tolerance] = self.limits;
        let solved = error * square::<F>(r) <= tolerance;
        if solved {
            self.round.take::<F>(gamma);
            half::product::<F>(self.inverse, self.d, r, self.round.w);
        }
        solved
    }

    /// N times four of r = −(a + b), and of the new γ, from a block on.
    #[inline(always)]
    fn right_side<F: Four, const N: usize>(
        &self,
        block: usize,
        r: &mut Padded,
        gamma: &mut Padded,
    ) {
        let terms = self.round.linear_term::<F, N>(block);
        let a = self.a[block..].first_chunk::<N>().expect("as long as w");
        let r = r[block..].first_chunk_mut::<N>().expect("as long as w");
        let gamma = gamma[block..].first_chunk_mut::<N>().expect("as long as w");
        for (k, (dual, b)) in terms.into_iter().enumerate() {
            dual.store(&mut gamma[k]);
            F::load(&a[k]).plus(b).times(F::splat(-1.0)).store(&mut r[k]);
        }
    }
}

/// |r|².
#[inline(always)]
fn square<F: Four>(r: &Padded) -> f64 {
    let squares = r.iter().fold(F::splat(0.0), |sum, r| sum.plus(F::load(r).times(F::load(r))));
    let [a, b, c, d] = squares.array();
    (a + c) + (b + d)
}

/// r ← −a − b.
#[inline(always)]
fn negative_sum<F: Four>(a: &[f64], b: &[f64], r: &mut [f64]) {
    let (a, a_tail) = a.as_chunks::<LANES>();
    let (b, b_tail) = b.as_chunks::<LANES>();
    let (r, r_tail) = r.as_chunks_mut::<LANES>();
    for ((a, b), r) in a.iter().zip(b).zip(r) {
        F::load(a).plus(F::load(b)).times(F::splat(-1.0)).store(r);
    }
    for ((a, b), r) in a_tail.iter().zip(b_tail).zip(r_tail) {
        *r = -(a + b);
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::super::kernel::on_portable;
    use super::super::{Loss, Samples, consensus};
    use super::*;

    #[test]
    fn the_bound_holds_and_is_far_below_the_tolerance_that_chose_the_inverse() {
        for (m, d, q) in [(3, 1, 0.5), (20, 10, 0.2), (50, 13, 0.05), (90, 64, 0.4), (90, 70, 0.4)]
        {
            let x = Array2::from_shape_fn((m, d), |(i, j)| (1.3 * i as f64 + 2.1 * j as f64).sin());
            let y: Vec<f64> = (0..m).map(|i| (0.3 * i as f64).cos()).collect();
            let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Squared);
            let mut hessian = Packed::identity(d, q);
            objective.add_hessian(&vec![0.0; d], &mut hessian);
            let r: Vec<f64> = (0..d).map(|j| 1.0 - 0.1 * j as f64).collect();
            for tolerance in [1e-8, 1e-16] {
                let mut half = vec![0.0; NormalEquations::numbers(d)];
                let equations = NormalEquations::new(&objective, q, tolerance, &mut half).unwrap();
                let inverse = matches!(equations.kept, Kept::Inverse);
                assert_eq!(inverse, d <= half::LIMIT && tolerance == 1e-8, "{m} × {d}");
                let (mut w, mut left) = (vec![0.0; d], vec![0.0; d]);
                let negative: Vec<f64> = r.iter().map(|r| 0.5 * -r).collect();
                let bound = equations.solve(&half, &negative, &negative, &mut w);
                hessian.product(&w, &mut left);
                left.iter_mut().zip(&r).for_each(|(left, r)| *left -= r);
                assert!(norm(&left) <= bound, "{m} × {d}: {} above {bound}", norm(&left));
                assert!(bound < if inverse { tolerance } else { 1e-10 }, "{m} × {d}: {bound}");
            }
        }
    }

    #[test]
    fn without_features_there_is_nothing_to_invert() {
        let (x, y) = (Array2::zeros((3, 0)), [1.0; 3]);
        let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Squared);
        assert!(NormalEquations::new(&objective, 1.0, 1e-10, &mut []).is_some());
    }

    #[test]
    fn a_matrix_near_the_edge_of_singularity_is_kept_as_a_factor() {
        let x = Array2::from_shape_fn((9, 4), |(i, _)| 1e3 * (i as f64).sin());
        let y = [1.0; 9];
        let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Squared);
        let equations = NormalEquations::new(&objective, 1e-3, 1e-10, &mut [0.0; 20]).unwrap();
        assert!(matches!(equations.kept, Kept::Factor(_)));
    }

    /// A consensus round in one pass against its parts one after the other, on every instruction set.
    #[test]
    fn a_round_at_once_has_the_bits_of_its_steps() {
        let vector = |seed: f64, d: usize| -> Vec<f64> {
            (0..d).map(|k| (seed + 1.7 * k as f64).sin()).collect()
        };
        let padded = |x: &[f64]| -> Vec<[f64; LANES]> {
            let mut fours = vec![[0.0; LANES]; x.len().div_ceil(LANES)];
            fours.as_flattened_mut()[..x.len()].copy_from_slice(x);
            fours
        };
        let bits = |x: &[f64]| -> Vec<u64> { x.iter().map(|x| x.to_bits()).collect() };
        let (penalty, q) = (0.35, 3.0);
        for d in (1..=18).chain([64]) {
            let x = Array2::from_shape_fn((9, d), |(i, j)| (1.3 * i as f64 + 2.1 * j as f64).sin());
            let y = vector(0.3, 9);
            let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Squared);
            let mut inverse = vec![0.0; NormalEquations::numbers(d)];
            let equations = NormalEquations::new(&objective, q, 1e-8, &mut inverse).unwrap();
            assert!(matches!(equations.kept, Kept::Inverse), "d = {d}: no inverse");
            for count in 1..=6 {
                for (sent, eta) in [(false, false), (true, false), (false, true), (true, true)] {
                    let models: Vec<Vec<f64>> =
                        (0..count).map(|l| vector(4.0 + l as f64, d)).collect();
                    let start = [1.0, 2.0, 3.0].map(|seed| vector(seed, d));
                    let [mut w, mut gamma, mut sum] = start.clone();
                    let (own, noise) = (vector(8.0, d), vector(9.0, d));
                    let a = vector(10.0, d);
                    // One after the other.
                    let (mut theirs, mut b) = (vec![0.0; d], vec![0.0; d]);
                    let slices: Vec<&[f64]> = models.iter().map(Vec::as_slice).collect();
                    consensus::add_up(&slices, &mut theirs);
                    let neighbours = count as f64;
                    let said = if sent { &own } else { &w };
                    consensus::dual_step(
                        penalty,
                        neighbours,
                        said,
                        &mut theirs,
                        &mut gamma,
                        &mut sum,
                    );
                    consensus::linear_term(penalty, &gamma, &sum, &mut b);
                    if eta {
                        b.iter_mut().zip(&noise).for_each(|(b, eta)| *b += eta);
                    }
                    let bound = equations.solve(&inverse, &a, &b, &mut w);
                    // At once.
                    let all: Vec<Vec<[f64; LANES]>> = models.iter().map(|m| padded(m)).collect();
                    let a = padded(&a);
                    let given = |there: bool, x: &[f64]| if there { padded(x) } else { Vec::new() };
                    let (own, noise) = (given(sent, &own), given(eta, &noise));
                    for (portable, keep, enough) in [
                        (false, false, true),
                        (false, true, true),
                        (true, false, true),
                        (true, true, true),
                        (false, false, false),
                        (true, false, false),
                    ] {
                        let [mut w2, mut gamma2, mut sum2] = start.clone().map(|x| padded(&x));
                        let round = ConsensusRound {
                            penalty,
                            neighbours,
                            models: all.iter().map(|model| &**model),
                            sent: &own,
                            eta: &noise,
                            gamma: &mut gamma2,
                            sum: &mut sum2,
                            keep,
                            w: &mut w2,
                        };
                        let tolerance = bound * if enough { 1.0 + 1e-11 } else { 1.0 };
                        let limits = equations.limits(tolerance);
                        let work = RoundAndProduct { round, inverse: &inverse, a: &a, d, limits };
                        let solved = if portable { on_portable(work) } else { run(work) };
                        assert_eq!(solved, enough, "d = {d}");
                        // Without an argmin nothing is done.
                        let sum = if keep { &sum } else { &start[2] };
                        let [w, gamma, sum] =
                            if enough { [&w, &gamma, sum] } else { start.each_ref() };
                        for (at_once, step) in [(w2, w), (gamma2, gamma), (sum2, sum)] {
                            assert_eq!(bits(&at_once.as_flattened()[..d]), bits(step), "d = {d}");
                            assert!(at_once.as_flattened()[d..].iter().all(|&rest| rest == 0.0));
                        }
                    }
                }
            }
        }
    }
}
