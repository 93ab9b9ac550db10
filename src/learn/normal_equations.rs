//! Squared loss in closed form: (XᵀX/m + qI) w = Xᵀy/m − b, where only b changes from round to round.
//!
//! The matrix H is factored once; a solve is then one product or two triangular solves and no pass
//! over the samples. How far the result is from solving the equations as they were formed is not
//! computed (that would be a pass) but bounded, by what rounding can do at most.

use super::cholesky::Packed;
use super::consensus::{ConsensusRound, Padded};
use super::kernel::{Four, LANES, Loop, prefetch, run};
use super::objective::Objective;
use super::vector::norm;

/// Up to this dimension the inverse may be kept in place of the factor.
const INVERSE_LIMIT: usize = 64;

/// H, ready to be solved with.
#[derive(Clone, Debug)]
pub(super) struct NormalEquations {
    kept: Kept,
    /// What the bound on the residual is a multiple of: of |r| for the inverse, of |w| for the factor.
    error: f64,
}

#[derive(Clone, Debug)]
enum Kept {
    /// H⁻¹ column after column, each padded with zeros.
    Inverse(Box<[f64]>),
    /// L of H = LLᵀ.
    Factor(Packed),
}

/// γ_n = nu/(1 − nu) with u = ε/2: the relative error of n roundings at most.
fn gamma(n: usize) -> f64 {
    let nu = 0.5 * f64::EPSILON * n as f64;
    nu / (1.0 - nu)
}

/// Length of a padded column.
fn stride(d: usize) -> usize {
    d.next_multiple_of(LANES)
}

impl NormalEquations {
    /// The most numbers that are kept in dimension d.
    pub(super) fn numbers(d: usize) -> usize {
        if d <= INVERSE_LIMIT { d * stride(d) } else { d * (d + 1) / 2 }
    }

    /// Forms and factors H; none where it has no factor, to working precision.
    ///
    /// The inverse is kept if it is small and its error cannot matter at this tolerance: a product is
    /// several times as quick as two triangular solves, but its residual grows with H's condition
    /// number, at most tr(H)/q, where that of the factor does not.
    pub(super) fn new(objective: &Objective<'_>, quadratic: f64, tolerance: f64) -> Option<Self> {
        let d = objective.samples.dimension();
        let mut hessian = Packed::identity(d, quadratic);
        // Squared loss bends everywhere alike: any w will do.
        objective.add_hessian(&vec![0.0; d], &mut hessian);
        let trace: f64 = (0..d).map(|i| hessian.row(i)[i]).sum();
        let mut factor = hessian.clone();
        factor.factor().ok()?;
        let foreseen = 4.0 * gamma(d) * trace * (d as f64).sqrt() / quadratic;
        if d <= INVERSE_LIMIT && 10.0 * foreseen <= tolerance {
            return Some(Self::inverse(&hessian, &factor, trace));
        }
        // Higham, Accuracy and Stability, theorem 10.4: (H + E)w = r with |E| ≤ γ_{3d+1} |L||Lᵀ|, and
        // the norm of |L||Lᵀ| is at most |L|² (Frobenius), which is tr(H).
        Some(Self { kept: Kept::Factor(factor), error: gamma(3 * d + 1) * trace })
    }

    /// Column after column from the factor, and how far it is from inverting H.
    fn inverse(hessian: &Packed, factor: &Packed, trace: f64) -> Self {
        let (d, stride) = (hessian.dimension(), stride(hessian.dimension()));
        let mut columns = vec![0.0; d * stride].into_boxed_slice();
        let mut image = vec![0.0; d];
        let (mut size, mut off) = (0.0, 0.0);
        for (i, column) in columns.chunks_exact_mut(stride).enumerate() {
            let column = &mut column[..d];
            column[i] = 1.0;
            factor.solve(column);
            hessian.product(column, &mut image);
            image[i] -= 1.0;
            size += norm(column) * norm(column);
            off += norm(&image) * norm(&image);
        }
        // With M the kept matrix, w = Mr as computed and |H|₂, |H|_F ≤ tr(H):
        // |r − Hw| ≤ (|I − HM|_F + γ tr(H)|M|_F)|r|, the second for the product, and once more for the
        // rounding in |I − HM|_F itself.
        let rounding = gamma(2 * d + 2) * trace * f64::sqrt(size);
        Self { kept: Kept::Inverse(columns), error: f64::sqrt(off) + 2.0 * rounding }
    }

    /// w ← −H⁻¹(a + b). Returns a proven bound on |a + b + Hw|.
    pub(super) fn solve(&self, a: &[f64], b: &[f64], w: &mut [f64]) -> f64 {
        match &self.kept {
            Kept::Inverse(columns) => self.error * run(Product { columns, a, b, w }).sqrt(),
            Kept::Factor(factor) => {
                for ((w, a), b) in w.iter_mut().zip(a).zip(b) {
                    *w = -a - b;
                }
                factor.solve(w);
                self.error * norm(w)
            }
        }
    }

    /// A whole round of a consensus method, w ← −H⁻¹(a + b) with the b that comes of it. Returns the bound
    /// on |a + b + Hw|; none, and nothing done, where the inverse is not kept.
    #[inline]
    pub(super) fn round<'m, M: Iterator<Item = &'m [f64]> + Clone>(
        &self,
        round: ConsensusRound<'_, M>,
        (a, d): (&Padded, usize),
    ) -> Option<f64> {
        let Kept::Inverse(columns) = &self.kept else { return None };
        Some(self.error * run(RoundAndProduct { round, columns, a, d }).sqrt())
    }

    /// step ← H⁻¹g.
    pub(super) fn step(&self, g: &[f64], step: &mut [f64]) {
        step.copy_from_slice(g);
        match &self.kept {
            Kept::Inverse(columns) => {
                run(Product { columns, a: g, b: &[0.0; INVERSE_LIMIT][..g.len()], w: step });
                step.iter_mut().for_each(|step| *step = -*step);
            }
            Kept::Factor(factor) => factor.solve(step),
        }
    }

    /// Asks for the matrix, to be near when it is needed.
    pub(super) fn expect(&self) {
        match &self.kept {
            Kept::Inverse(columns) => prefetch(columns),
            Kept::Factor(factor) => factor.expect(),
        }
    }
}

#[cfg(test)]
impl NormalEquations {
    /// Where its numbers are.
    pub(super) fn place(&self) -> *const f64 {
        match &self.kept {
            Kept::Inverse(columns) => columns.as_ptr(),
            Kept::Factor(factor) => factor.row(0).as_ptr(),
        }
    }
}

/// w ← Σ_j r_j · column j with r = −(a + b). Returns |r|².
struct Product<'a> {
    columns: &'a [f64],
    a: &'a [f64],
    b: &'a [f64],
    w: &'a mut [f64],
}

impl Loop for Product<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<F: Four>(self) -> f64 {
        let Self { columns, a, b, w } = self;
        let mut r = [[0.0; LANES]; INVERSE_LIMIT / LANES];
        negative_sum::<F>(a, b, &mut r.as_flattened_mut()[..w.len()]);
        product::<F>(columns, &r[..w.len().div_ceil(LANES)], (w.len(), w))
    }
}

/// The dual step and r = −(a + b) from it, then the same.
struct RoundAndProduct<'a, M> {
    round: ConsensusRound<'a, M>,
    columns: &'a [f64],
    a: &'a Padded,
    d: usize,
}

impl<'m, M: Iterator<Item = &'m [f64]> + Clone> Loop for RoundAndProduct<'_, M> {
    type Output = f64;

    #[inline(always)]
    fn run<F: Four>(self) -> f64 {
        match self.round.w.len() {
            1 => self.of_lanes::<F, 1>(),
            2 => self.of_lanes::<F, 2>(),
            3 => self.of_lanes::<F, 3>(),
            lanes => {
                let Self { mut round, columns, a, d } = self;
                let mut r = [[0.0; LANES]; INVERSE_LIMIT / LANES];
                for block in (0..lanes).step_by(3) {
                    match lanes - block {
                        1 => right_side::<F, 1, M>(&mut round, a, block, &mut r[block..]),
                        2 => right_side::<F, 2, M>(&mut round, a, block, &mut r[block..]),
                        _ => right_side::<F, 3, M>(&mut round, a, block, &mut r[block..]),
                    }
                }
                product::<F>(columns, &r[..lanes], (d, round.w.as_flattened_mut()))
            }
        }
    }
}

impl<'m, M: Iterator<Item = &'m [f64]> + Clone> RoundAndProduct<'_, M> {
    /// Where all of a vector fits into N times four.
    #[inline(always)]
    fn of_lanes<F: Four, const N: usize>(self) -> f64 {
        let Self { mut round, columns, a, d } = self;
        let mut r = [[0.0; LANES]; N];
        right_side::<F, N, M>(&mut round, a, 0, &mut r);
        all_rows::<F, N>(columns.as_chunks().0, &r.as_flattened()[..d], round.w.as_flattened_mut());
        square::<F>(&r)
    }
}

/// N times four of r = −(a + b) from a block on.
#[inline(always)]
fn right_side<'m, F: Four, const N: usize, M: Iterator<Item = &'m [f64]> + Clone>(
    round: &mut ConsensusRound<'_, M>,
    a: &Padded,
    block: usize,
    r: &mut Padded,
) {
    let b = round.linear_term::<F, N>(block);
    let a = a[block..].first_chunk::<N>().expect("as long as w");
    let r = r.first_chunk_mut::<N>().expect("as long as w");
    for k in 0..N {
        F::load(&a[k]).plus(b[k]).times(F::splat(-1.0)).store(&mut r[k]);
    }
}

/// w ← Σ_j r_j · column j over the first d of r; behind those w may go on, and gets zeros. Returns |r|².
#[inline(always)]
fn product<F: Four>(columns: &[f64], r: &Padded, (d, w): (usize, &mut [f64])) -> f64 {
    let lanes = r.len();
    let (columns, _) = columns.as_chunks::<LANES>();
    let own = &r.as_flattened()[..d];
    match lanes {
        1 => all_rows::<F, 1>(columns, own, w),
        2 => all_rows::<F, 2>(columns, own, w),
        3 => all_rows::<F, 3>(columns, own, w),
        _ => {
            // Three blocks at a time: as many additions are under way as the registers bear.
            for block in (0..lanes).step_by(3) {
                let w = &mut w[LANES * block..];
                match lanes - block {
                    1 => some_rows::<F, 1>(columns, (lanes, block), own, w),
                    2 => some_rows::<F, 2>(columns, (lanes, block), own, w),
                    _ => some_rows::<F, 3>(columns, (lanes, block), own, w),
                }
            }
        }
    }
    square::<F>(r)
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

/// The first 4N rows of w ← Σ_j r_j · column j from a block of rows on: their sums stay in registers and
/// each adds in the order of j.
#[inline(always)]
fn some_rows<F: Four, const N: usize>(
    columns: &[[f64; LANES]],
    (lanes, block): (usize, usize),
    r: &[f64],
    w: &mut [f64],
) {
    let mut sums = [F::splat(0.0); N];
    for (column, r) in columns.chunks_exact(lanes).zip(r) {
        let (column, r) = (&column[block..block + N], F::splat(*r));
        for k in 0..N {
            sums[k] = sums[k].plus(F::load(&column[k]).times(r));
        }
    }
    store(sums, w);
}

/// The same where there are no other rows.
#[inline(always)]
fn all_rows<F: Four, const N: usize>(columns: &[[f64; LANES]], r: &[f64], w: &mut [f64]) {
    let mut sums = [F::splat(0.0); N];
    for (column, r) in columns.as_chunks::<N>().0.iter().zip(r) {
        let r = F::splat(*r);
        for k in 0..N {
            sums[k] = sums[k].plus(F::load(&column[k]).times(r));
        }
    }
    store(sums, w);
}

/// As many of the sums as there is room for.
#[inline(always)]
fn store<F: Four, const N: usize>(sums: [F; N], w: &mut [f64]) {
    let (fours, tail) = w.as_chunks_mut::<LANES>();
    if let Some(fours) = fours.first_chunk_mut::<N>() {
        for k in 0..N {
            sums[k].store(&mut fours[k]);
        }
        return;
    }
    for (k, sum) in sums.into_iter().enumerate() {
        match fours.get_mut(k) {
            Some(four) => sum.store(four),
            None => tail.copy_from_slice(&sum.array()[..tail.len()]),
        }
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
                let equations = NormalEquations::new(&objective, q, tolerance).unwrap();
                let inverse = matches!(equations.kept, Kept::Inverse(_));
                assert_eq!(inverse, d <= INVERSE_LIMIT && tolerance == 1e-8, "{m} × {d}");
                let (mut w, mut left) = (vec![0.0; d], vec![0.0; d]);
                let negative: Vec<f64> = r.iter().map(|r| 0.5 * -r).collect();
                let bound = equations.solve(&negative, &negative, &mut w);
                hessian.product(&w, &mut left);
                left.iter_mut().zip(&r).for_each(|(left, r)| *left -= r);
                assert!(norm(&left) <= bound, "{m} × {d}: {} above {bound}", norm(&left));
                assert!(bound < if inverse { tolerance } else { 1e-10 }, "{m} × {d}: {bound}");
            }
        }
    }

    #[test]
    fn a_matrix_near_the_edge_of_singularity_is_kept_as_a_factor() {
        let x = Array2::from_shape_fn((9, 4), |(i, _)| 1e3 * (i as f64).sin());
        let y = [1.0; 9];
        let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Squared);
        let equations = NormalEquations::new(&objective, 1e-3, 1e-10).unwrap();
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
            let equations = NormalEquations::new(&objective, q, 1e-8).unwrap();
            let Kept::Inverse(columns) = &equations.kept else { panic!("d = {d}: no inverse") };
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
                    let bound = equations.solve(&a, &b, &mut w);
                    // At once.
                    let all: Vec<Vec<[f64; LANES]>> = models.iter().map(|m| padded(m)).collect();
                    let a = padded(&a);
                    let given = |there: bool, x: &[f64]| if there { padded(x) } else { Vec::new() };
                    let (own, noise) = (given(sent, &own), given(eta, &noise));
                    for portable in [false, true] {
                        let [mut w2, mut gamma2, mut sum2] = start.clone().map(|x| padded(&x));
                        let round = ConsensusRound {
                            penalty,
                            neighbours,
                            models: all.iter().map(|model| model.as_flattened()),
                            sent: &own,
                            eta: &noise,
                            gamma: &mut gamma2,
                            sum: &mut sum2,
                            w: &mut w2,
                        };
                        let work = RoundAndProduct { round, columns, a: &a, d };
                        let square = if portable { on_portable(work) } else { run(work) };
                        assert_eq!((equations.error * square.sqrt()).to_bits(), bound.to_bits());
                        for (at_once, step) in [(w2, &w), (gamma2, &gamma), (sum2, &sum)] {
                            assert_eq!(bits(&at_once.as_flattened()[..d]), bits(step), "d = {d}");
                            assert!(at_once.as_flattened()[d..].iter().all(|&rest| rest == 0.0));
                        }
                    }
                }
            }
        }
    }
}
