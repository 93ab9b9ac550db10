//! The local argmin of a round: Newton's method that keeps its factor.
//!
//! Between two rounds of a consensus method a peer's minimiser moves little, so the Hessian of
//! some earlier round still contracts the error by orders of magnitude per step. A chord step
//! costs one pass over the samples; a new factor costs about d/4 of them, and is paid for only
//! when chord steps have cost, or would cost, as much.
//!
//! What stands for the Hessian is chosen when the samples are first seen:
//!
//! | the problem | what is kept | a step |
//! |---|---|---|
//! | no samples | nothing | none: w = −b/q |
//! | squared loss, d ≤ [`DENSE_LIMIT`] | H⁻¹ or the factor of H, once for all | none: w = H⁻¹(Xᵀy/m − b) |
//! | little curvature beside q | nothing | g/(q + L/2) |
//! | far fewer samples than features | an m × m factor | by Woodbury's identity |
//! | d ≤ [`DENSE_LIMIT`] | the factor of H | two triangular solves |
//! | else | nothing | conjugate gradients |

use super::cholesky::Packed;
use super::conjugate_gradients::conjugate_gradients;
use super::loss::Loss;
use super::normal_equations::NormalEquations;
use super::objective::Objective;
use super::vector::{axpy, dot, norm};
use super::woodbury;

/// Up to this dimension a peer keeps a dense factor (d(d + 1)/2 numbers); above it the step comes
/// from conjugate gradients and no matrix is formed, unless the samples are as few as this.
pub const DENSE_LIMIT: usize = 512;

/// Chord steps in a solve that even a new factor would take: they are not held against the old one.
const FREE_STEPS: usize = 2;
/// However cheap a new factor is, the old one may cost so many steps more.
const PATIENCE: f64 = 4.0;
/// By which factor a step without any matrix must provably shrink the gradient to be preferred: then a
/// solve of a later round takes no more passes than with a factor, as measured.
const SCALED_CONTRACTION: f64 = 1e-3;
/// The same beside Woodbury's identity, whose steps take two passes each, with a Hessian that changes.
const SCALED_CONTRACTION_FEW: f64 = 1e-2;
/// Newton steps after which the solver gives up and reports the residual it reached.
const STEP_LIMIT: usize = 100;
/// A step shorter than this share of Newton's makes no progress in floating point.
const LEAST_DAMPING: f64 = 1.0 / 1024.0;

/// min_w F(w) + (q/2)|w|² + bᵀw, with F a mean loss and q > 0: strongly convex.
#[derive(Clone, Copy)]
pub struct Subproblem<'a> {
    /// F, the part that the samples decide.
    pub objective: Objective<'a>,
    /// q.
    pub quadratic: f64,
    /// b.
    pub linear: &'a [f64],
}

impl Subproblem<'_> {
    /// g ← ∇F(w) + qw + b, where ∇F(w) is known.
    fn total_gradient(&self, of_loss: &[f64], w: &[f64], g: &mut [f64]) {
        for (((g, loss), w), b) in g.iter_mut().zip(of_loss).zip(w).zip(self.linear) {
            *g = loss + self.quadratic * w + b;
        }
    }
}

/// How a solve ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solved {
    /// Norm of the gradient at the returned point: computed, or for squared loss a proven bound on it.
    pub residual: f64,
    /// Whether the residual is as small as was asked for, or as rounding allows.
    pub converged: bool,
    /// Passes over the samples that it took: gradients and Hessian products 1 each, a Hessian d/4, a
    /// matrix of inner products of samples m/4.
    pub passes: f64,
}

/// What a solver remembers of its peer's Hessian.
#[derive(Clone, Debug, Default)]
enum Kept {
    /// It has not seen the samples yet.
    #[default]
    Unseen,
    /// There are none.
    Nothing,
    /// Squared loss: all that there is to know; none where rounding has left H without a factor.
    Normal(Option<NormalEquations>),
    /// (q + L/2)I, where ∇²F lies between 0 and LI: a step shrinks |g| by L/(2q + L) or more,
    /// wherever it starts.
    Scaled(f64),
    /// The m × m factor of Woodbury's identity, if it is of use.
    Few(Packed, bool),
    /// The factor of the Hessian, if it is of use.
    Dense(Packed, bool),
    /// Nothing: the Hessian is multiplied with.
    Products,
}

/// The solver's memory of one peer, beside the numbers that the caller keeps for it: ∇F at its last
/// point (for squared loss −Xᵀy/m in its place), and what stands for the Hessian.
///
/// The last solve ended by evaluating ∇F at the point that the next one starts from, so a warm
/// start costs no pass of its own.
#[derive(Clone, Debug, Default)]
pub struct ChordNewton {
    kept: Kept,
    /// The mean |ℓ'| there, and the largest norm of a row: how large the terms of ∇F are.
    slopes: f64,
    reach: f64,
    /// Passes that chord steps have cost since the factor was made, beyond what a new one would take.
    owed: f64,
}

impl ChordNewton {
    /// A solver that has seen nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many numbers the caller keeps from solve to solve for m samples of d features.
    pub fn numbers(m: usize, d: usize) -> usize {
        match m {
            0 => 0,
            _ if woodbury::few(m, d, DENSE_LIMIT) => d + m,
            _ => d,
        }
    }

    /// The most numbers that the solver allocates itself for m samples of d features.
    pub fn factor_numbers(m: usize, d: usize, loss: Loss) -> usize {
        let triangle = |n: usize| n * (n + 1) / 2;
        match loss {
            _ if m == 0 => 0,
            _ if woodbury::few(m, d, DENSE_LIMIT) => triangle(m),
            _ if d > DENSE_LIMIT => 0,
            Loss::Squared => NormalEquations::numbers(d),
            Loss::Logistic | Loss::Hinge => triangle(d),
        }
    }

    /// Moves w to the minimiser, until |gradient|₂ ≤ tolerance or rounding stops it. A problem that
    /// leaves the finite numbers has no minimiser: w becomes NaN.
    ///
    /// Between the solves of one memory only `linear` and the tolerance may change. w must be where
    /// the last one left it (anywhere, the first time), and so must `numbers`, of which there are as
    /// many as [`Self::numbers`] says. `workspace` is scratch space that the caller lends and may share
    /// among peers; it grows to what the largest of them needs and is not touched by the heap after.
    pub fn solve(
        &mut self,
        problem: &Subproblem<'_>,
        w: &mut [f64],
        numbers: &mut [f64],
        tolerance: f64,
        workspace: &mut Vec<f64>,
    ) -> Solved {
        let d = w.len();
        let m = problem.objective.samples.len();
        let needed = 5 * d + (3 * d + m).max(2 * m);
        if workspace.len() < needed {
            workspace.resize(needed, 0.0);
        }
        let mut passes = 0.0;
        let first = matches!(self.kept, Kept::Unseen);
        if first {
            passes += self.look(problem, tolerance);
        }
        let solved = match &self.kept {
            Kept::Nothing => without_samples(problem, w, workspace),
            Kept::Normal(Some(equations)) => {
                if first {
                    // ∇F(0) = −Xᵀy/m.
                    let zero = &mut workspace[..d];
                    zero.fill(0.0);
                    self.slopes = problem.objective.gradient(zero, numbers);
                    passes += 1.0;
                }
                let residual = equations.solve(numbers, problem.linear, w);
                if residual <= tolerance {
                    Solved { residual, converged: true, passes: 0.0 }
                } else {
                    // The bound does not suffice: the gradient itself is looked at, and the model mended.
                    let (of_loss, rest) = workspace.split_at_mut(d);
                    self.iterate(problem, w, (of_loss, &mut []), true, tolerance, rest)
                }
            }
            Kept::Normal(None) => Solved { residual: f64::NAN, converged: false, passes: 0.0 },
            _ => {
                let (of_loss, roots) = numbers.split_at_mut(d);
                self.iterate(problem, w, (of_loss, roots), first, tolerance, workspace)
            }
        };
        if !solved.residual.is_finite() {
            w.fill(f64::NAN);
        }
        Solved { passes: passes + solved.passes, ..solved }
    }

    /// Moves w to the minimiser without looking at the samples, where that is possible: at squared loss,
    /// from the second solve on, unless the bound on the residual is above the
    /// tolerance. For the rest, see [`Self::solve`].
    pub fn closed_form(
        &self,
        linear: &[f64],
        w: &mut [f64],
        numbers: &[f64],
        tolerance: f64,
    ) -> Option<Solved> {
        let Kept::Normal(Some(equations)) = &self.kept else { return None };
        let residual = equations.solve(numbers, linear, w);
        (residual <= tolerance).then_some(Solved { residual, converged: true, passes: 0.0 })
    }

    /// Asks for what stands for the Hessian, to be near when it is needed.
    pub fn expect(&self) {
        match &self.kept {
            Kept::Normal(Some(equations)) => equations.expect(),
            Kept::Few(factor, _) | Kept::Dense(factor, _) => factor.expect(),
            _ => {}
        }
    }

    /// Looks at the samples and chooses what to keep; returns the price in passes.
    fn look(&mut self, problem: &Subproblem<'_>, tolerance: f64) -> f64 {
        let Objective { samples, loss, scale } = problem.objective;
        let (m, d, q) = (samples.len(), samples.dimension(), problem.quadratic);
        let few = woodbury::few(m, d, DENSE_LIMIT);
        self.reach = samples.reach();
        if m == 0 {
            self.kept = Kept::Nothing;
            return 0.0;
        }
        if loss == Loss::Squared && d <= DENSE_LIMIT && !few {
            let equations = NormalEquations::new(&problem.objective, q, tolerance);
            self.kept = Kept::Normal(equations);
            return d as f64 / 4.0;
        }
        // L: the trace of XᵀX bounds its largest eigenvalue; where it is cheap, so does the largest sum
        // of a row of |XXᵀ|.
        let (greatest, price) = if few {
            let row_sum = |x: &[f64]| samples.rows().map(|(other, _)| dot(x, other).abs()).sum();
            (samples.rows().map(|(x, _)| row_sum(x)).fold(0.0, f64::max), 0.5 * m as f64)
        } else {
            (samples.rows().map(|(x, _)| dot(x, x)).sum::<f64>(), 0.5)
        };
        let curvature: f64 = loss.smoothness() * scale * greatest;
        let contraction =
            if few && loss != Loss::Squared { SCALED_CONTRACTION_FEW } else { SCALED_CONTRACTION };
        self.kept = match few {
            _ if curvature <= contraction * (2.0 * q + curvature) => {
                Kept::Scaled(q + 0.5 * curvature)
            }
            true => Kept::Few(Packed::identity(m, q), false),
            false if d <= DENSE_LIMIT => Kept::Dense(Packed::identity(d, q), false),
            false => Kept::Products,
        };
        price
    }

    /// Newton's method from w, with ∇F(w) in `of_loss` unless it is `unknown`. `roots` are those of
    /// Woodbury's identity.
    fn iterate(
        &mut self,
        problem: &Subproblem<'_>,
        w: &mut [f64],
        (of_loss, roots): (&mut [f64], &mut [f64]),
        unknown: bool,
        tolerance: f64,
        workspace: &mut [f64],
    ) -> Solved {
        let d = w.len();
        let (g, rest) = workspace.split_at_mut(d);
        let (step, rest) = rest.split_at_mut(d);
        let (trial, rest) = rest.split_at_mut(d);
        let (trial_of_loss, scratch) = rest.split_at_mut(d);
        let mut passes = 0.0;
        if unknown {
            self.slopes = problem.objective.gradient(w, of_loss);
            passes += 1.0;
        }
        problem.total_gradient(of_loss, w, g);
        let mut residual = norm(g);
        let mut floor = 0.0;
        let mut chords = 0;

        for _ in 0..STEP_LIMIT {
            floor = self.rounding(problem, w);
            if residual <= tolerance.max(floor) || !residual.is_finite() {
                break;
            }
            let Some((exact, price)) = self.direction(problem, w, g, (step, roots), scratch) else {
                break;
            };
            passes += price;
            // The exact Newton direction lowers |g| for short enough steps, so damping on |g| is a
            // line search without function values; a chord step that fails asks for a new factor.
            let mut damping = 1.0;
            let accepted = loop {
                trial.copy_from_slice(w);
                axpy(-damping, step, trial);
                let slopes = problem.objective.gradient(trial, trial_of_loss);
                passes += 1.0;
                problem.total_gradient(trial_of_loss, trial, g);
                let reached = norm(g);
                if reached < residual * (1.0 - 1e-4 * damping) {
                    break Some((reached, slopes));
                }
                damping *= 0.5;
                if !exact || damping < LEAST_DAMPING {
                    break None;
                }
            };
            match accepted {
                Some((reached, slopes)) => {
                    self.slopes = slopes;
                    w.copy_from_slice(trial);
                    of_loss.copy_from_slice(trial_of_loss);
                    let steps_left = (tolerance / reached).ln() / (reached / residual).ln();
                    residual = reached;
                    chords += 1;
                    self.weigh(d, chords, if residual > tolerance { steps_left } else { 0.0 });
                }
                None if exact => break,
                None => {
                    self.forget();
                    problem.total_gradient(of_loss, w, g);
                }
            }
        }
        // Damping may give up a little above the floor, which is a typical error, not a bound.
        let converged = residual.is_finite() && residual <= tolerance.max(100.0 * floor);
        Solved { residual, converged, passes }
    }

    /// step ← an approximation of H⁻¹g. Returns whether H is that of w itself, so that damping makes
    /// sense, and the price in passes; none where rounding has left no factor.
    fn direction(
        &mut self,
        problem: &Subproblem<'_>,
        w: &[f64],
        g: &[f64],
        (step, roots): (&mut [f64], &mut [f64]),
        scratch: &mut [f64],
    ) -> Option<(bool, f64)> {
        let (objective, q) = (&problem.objective, problem.quadratic);
        let (d, m) = (w.len(), objective.samples.len());
        match &mut self.kept {
            Kept::Unseen | Kept::Nothing | Kept::Normal(None) => None,
            Kept::Normal(Some(equations)) => {
                equations.step(g, step);
                Some((true, 0.0))
            }
            Kept::Scaled(shift) => {
                step.iter_mut().zip(g).for_each(|(step, g)| *step = g / *shift);
                // Proven to contract: if it does not, rounding is all that is left, and so it is no
                // use to ask for a better one.
                Some((true, 0.0))
            }
            Kept::Few(gram, valid) => {
                let (margins, _) = scratch.split_at_mut(m);
                let fresh = !*valid;
                if fresh {
                    *valid = woodbury::factor(objective, q, w, roots, gram, margins);
                    self.owed = 0.0;
                }
                valid.then(|| {
                    woodbury::solve(objective, q, (roots, gram), g, step, margins);
                    (fresh, 1.0 + if fresh { 0.25 * m as f64 } else { 0.0 })
                })
            }
            Kept::Dense(factor, valid) => {
                let fresh = !*valid;
                if fresh {
                    factor.set_identity(q);
                    objective.add_hessian(w, factor);
                    // Positive definite by q > 0; only non-finite data can fail.
                    *valid = factor.factor().is_ok();
                    self.owed = 0.0;
                }
                valid.then(|| {
                    step.copy_from_slice(g);
                    factor.solve(step);
                    (fresh, if fresh { 0.25 * d as f64 } else { 0.0 })
                })
            }
            Kept::Products => Some((true, newton_step(problem, w, g, step, scratch))),
        }
    }

    /// Gives the factor up once what it has cost and will cost in this solve, beyond what a new one
    /// would, comes to the price of that one: so that both together are never more than twice what
    /// hindsight would have spent.
    fn weigh(&mut self, d: usize, chords: usize, steps_left: f64) {
        let (each, price) = match &self.kept {
            Kept::Few(gram, _) => (2.0, 0.25 * gram.dimension() as f64),
            Kept::Dense(..) => (1.0, 0.25 * d as f64),
            _ => return,
        };
        if chords > FREE_STEPS {
            self.owed += each;
        }
        if steps_left > 1.0 && self.owed + each * steps_left > price.max(each * PATIENCE) {
            self.forget();
        }
    }

    fn forget(&mut self) {
        if let Kept::Few(_, valid) | Kept::Dense(_, valid) = &mut self.kept {
            *valid = false;
        }
    }

    /// The rounding error of the gradient at w. ∇F is small at the solution because large terms
    /// cancel: what counts is their size, |ℓ'||x|, and the error of the margins, ε|x||w|.
    fn rounding(&self, problem: &Subproblem<'_>, w: &[f64]) -> f64 {
        let margin = problem.objective.loss.smoothness() * self.reach * norm(w);
        let of_loss = (self.slopes + margin) * self.reach;
        4.0 * f64::EPSILON * (of_loss + problem.quadratic * norm(w) + norm(problem.linear))
    }
}

/// w ← −b/q, and what rounding leaves of qw + b.
fn without_samples(problem: &Subproblem<'_>, w: &mut [f64], workspace: &mut [f64]) -> Solved {
    let left = &mut workspace[..w.len()];
    for ((w, left), b) in w.iter_mut().zip(left.iter_mut()).zip(problem.linear) {
        *w = -b / problem.quadratic;
        *left = problem.quadratic * *w + b;
    }
    let residual = norm(left);
    Solved { residual, converged: residual.is_finite(), passes: 0.0 }
}

/// step ← (∇²F(w) + qI)⁻¹ g, inexactly: to a relative residual of min(½, √|g|), which keeps
/// Newton's convergence superlinear (Dembo, Eisenstat, Steihaug 1982).
///
/// `scratch` holds 3d + m numbers. Returns the passes over the samples.
fn newton_step(
    problem: &Subproblem<'_>,
    w: &[f64],
    g: &[f64],
    step: &mut [f64],
    scratch: &mut [f64],
) -> f64 {
    let (scratch, curvatures) = scratch.split_at_mut(3 * w.len());
    problem.objective.curvatures(w, curvatures);
    let product = |v: &[f64], out: &mut [f64]| {
        out.iter_mut().zip(v).for_each(|(out, v)| *out = problem.quadratic * v);
        problem.objective.add_hessian_product(curvatures, v, out);
    };
    let target = norm(g) * norm(g).sqrt().min(0.5);
    1.0 + conjugate_gradients(product, g, target, step, scratch) as f64
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::super::{Loss, Samples};
    use super::*;

    /// Gradient of the subproblem, written from the formula without any of the kernels.
    fn plain_gradient(
        x: &Array2<f64>,
        y: &[f64],
        loss: Loss,
        q: f64,
        b: &[f64],
        w: &[f64],
    ) -> Vec<f64> {
        let m = y.len() as f64;
        let slopes: Vec<f64> = (0..y.len())
            .map(|j| {
                let z: f64 = (0..w.len()).map(|c| x[[j, c]] * w[c]).sum();
                match loss {
                    Loss::Logistic => -y[j] / (1.0 + (y[j] * z).exp()),
                    Loss::Squared => z - y[j],
                    Loss::Hinge => unreachable!("it has no Hessian"),
                }
            })
            .collect();
        (0..w.len())
            .map(|k| {
                let data: f64 = (0..y.len()).map(|j| slopes[j] * x[[j, k]] / m).sum();
                data + q * w[k] + b[k]
            })
            .collect()
    }

    fn solve_once(problem: &Subproblem<'_>, w: &mut [f64], tolerance: f64) -> Solved {
        let mut numbers = vec![0.0; ChordNewton::numbers(problem.objective.samples.len(), w.len())];
        ChordNewton::new().solve(problem, w, &mut numbers, tolerance, &mut Vec::new())
    }

    fn problem_data(m: usize, d: usize) -> (Array2<f64>, Vec<f64>, Vec<f64>) {
        let x = Array2::from_shape_fn((m, d), |(i, j)| (1.3 * i as f64 + 2.1 * j as f64).sin());
        let y = (0..m).map(|i| if (i * i) % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let b = (0..d).map(|j| 0.1 * (j as f64).cos()).collect();
        (x, y, b)
    }

    #[test]
    fn the_gradient_vanishes_at_the_solution_dense_and_matrix_free() {
        for loss in [Loss::Logistic, Loss::Squared] {
            for (m, d) in [
                (1, 1),
                (7, 3),
                (40, 20),
                (5, 20),
                (300, DENSE_LIMIT),
                (30, DENSE_LIMIT + 88),
                (DENSE_LIMIT + 8, DENSE_LIMIT + 10),
            ] {
                let (x, y, b) = problem_data(m, d);
                let objective = Objective::mean(Samples::new(x.view(), &y), loss);
                let problem = Subproblem { objective, quadratic: 0.05, linear: &b };
                let mut w = vec![0.0; d];
                let solved = solve_once(&problem, &mut w, 1e-11);
                assert!(
                    solved.converged && solved.residual <= 1e-11,
                    "{loss:?} {m} × {d}: {solved:?}"
                );
                let g = plain_gradient(&x, &y, loss, 0.05, &b, &w);
                assert!(norm(&g) < 1e-10, "{loss:?} {m} × {d}: {}", norm(&g));
            }
        }
    }

    #[test]
    fn a_far_start_is_reached_by_damping_and_an_empty_peer_in_closed_form() {
        let (x, y, b) = problem_data(12, 2);
        let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
        let problem = Subproblem { objective, quadratic: 1e-3, linear: &b };
        let mut w = vec![1e4, -1e4];
        let solved = solve_once(&problem, &mut w, 1e-10);
        assert!(solved.residual <= 1e-10, "{solved:?}");

        let nothing = Array2::zeros((0, 2));
        let objective = Objective::mean(Samples::new(nothing.view(), &[]), Loss::Logistic);
        let problem = Subproblem { objective, quadratic: 2.0, linear: &[1.0, -3.0] };
        let mut w = vec![0.0; 2];
        solve_once(&problem, &mut w, 1e-12);
        assert!((w[0] + 0.5).abs() < 1e-15 && (w[1] - 1.5).abs() < 1e-15, "{w:?}");
    }

    #[test]
    fn a_warm_start_at_the_solution_costs_no_pass() {
        let (x, y, b) = problem_data(40, 5);
        let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
        let problem = Subproblem { objective, quadratic: 0.3, linear: &b };
        let mut w = vec![0.0; 5];
        let mut solver = ChordNewton::new();
        let (mut numbers, mut workspace) = (vec![0.0; ChordNewton::numbers(40, 5)], Vec::new());
        solver.solve(&problem, &mut w, &mut numbers, 1e-10, &mut workspace);
        let again = solver.solve(&problem, &mut w, &mut numbers, 1e-10, &mut workspace);
        assert_eq!(again.passes, 0.0);
    }

    #[test]
    fn a_tolerance_below_rounding_ends_and_says_what_was_reached() {
        let (x, y, b) = problem_data(40, 5);
        let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
        let problem = Subproblem { objective, quadratic: 0.3, linear: &b };
        let mut w = vec![0.0; 5];
        let solved = solve_once(&problem, &mut w, 0.0);
        assert!(solved.residual < 1e-14 && solved.passes < 60.0, "{solved:?}");
    }

    #[test]
    fn unscaled_data_is_solved_as_far_as_rounding_allows() {
        for size in [1e3, 1e5, 1e8] {
            for loss in [Loss::Logistic, Loss::Squared] {
                let (mut x, y, b) = problem_data(40, 3);
                x.column_mut(1).iter_mut().for_each(|x| *x = size * (1.0 + *x));
                let objective = Objective::mean(Samples::new(x.view(), &y), loss);
                let problem = Subproblem { objective, quadratic: 0.3, linear: &b };
                let mut w = vec![0.0; 3];
                let solved = solve_once(&problem, &mut w, 1e-10);
                assert!(solved.converged, "{size} {loss:?}: {solved:?}");
                // What is left of the gradient is nothing beside its terms.
                let terms = size * y.len() as f64;
                assert!(solved.residual < 1e-10 * terms, "{size} {loss:?}: {solved:?}");
            }
        }
    }

    #[test]
    fn a_problem_beyond_the_finite_numbers_leaves_no_model() {
        let x = Array2::from_elem((3, 2), 1e200);
        let y = [1.0, -1.0, 1.0];
        let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Squared);
        let problem = Subproblem { objective, quadratic: 0.1, linear: &[0.0, 0.0] };
        let mut w = vec![0.0; 2];
        let solved = solve_once(&problem, &mut w, 1e-10);
        assert!(!solved.converged && w.iter().all(|w| w.is_nan()), "{solved:?} {w:?}");
    }

    /// Solves for a b that moves a little from round to round, as neighbours do, and returns the
    /// solver with how each round ended.
    fn rounds(
        problem: &Subproblem<'_>,
        w: &mut [f64],
        workspace: &mut Vec<f64>,
        count: usize,
    ) -> (ChordNewton, Vec<Solved>) {
        let Subproblem { objective, quadratic, linear } = *problem;
        let mut numbers = vec![0.0; ChordNewton::numbers(objective.samples.len(), w.len())];
        let mut solver = ChordNewton::new();
        let solved = (0..count).map(|t| {
            let shrink = 0.7_f64.powi(t as i32);
            let b: Vec<f64> = linear.iter().map(|b| b * (1.0 + 0.5 * shrink)).collect();
            let problem = Subproblem { objective, quadratic, linear: &b };
            let solved = solver.solve(&problem, w, &mut numbers, 1e-10, workspace);
            let samples = objective.samples;
            let x: Vec<f64> = samples.rows().flat_map(|(x, _)| x.to_vec()).collect();
            let x = Array2::from_shape_vec((samples.len(), w.len()), x).unwrap();
            let y: Vec<f64> = samples.rows().map(|(_, y)| y).collect();
            let left = norm(&plain_gradient(&x, &y, objective.loss, quadratic, &b, w));
            assert!(solved.converged && left <= solved.residual + 1e-13, "{left} {solved:?}");
            solved
        });
        let solved = solved.collect();
        (solver, solved)
    }

    #[test]
    fn ridge_costs_no_pass_after_the_first_round_and_never_more_than_its_bound_is_left() {
        for (m, d) in [(20, 10), (100, 70), (3, 2)] {
            let (x, y, b) = problem_data(m, d);
            let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Squared);
            let problem = Subproblem { objective, quadratic: 0.3, linear: &b };
            let (_, solved) = rounds(&problem, &mut vec![0.0; d], &mut Vec::new(), 30);
            assert_eq!(solved[0].passes, 1.0 + d as f64 / 4.0, "Xᵀy and the Hessian");
            assert!(solved[1..].iter().all(|solved| solved.passes == 0.0), "{m} × {d}");
        }
    }

    #[test]
    fn what_is_kept_follows_from_samples_features_and_curvature() {
        let kept = |m: usize, d: usize, loss, q| {
            let (x, y, b) = problem_data(m, d);
            let objective = Objective::mean(Samples::new(x.view(), &y), loss);
            let problem = Subproblem { objective, quadratic: q, linear: &b };
            rounds(&problem, &mut vec![0.0; d], &mut Vec::new(), 2).0.kept
        };
        assert!(matches!(kept(20, 10, Loss::Squared, 0.3), Kept::Normal(Some(_))));
        assert!(matches!(kept(5, 20, Loss::Squared, 0.3), Kept::Few(..)));
        assert!(matches!(kept(20, 10, Loss::Logistic, 0.3), Kept::Dense(_, true)));
        assert!(matches!(kept(5, 20, Loss::Logistic, 0.3), Kept::Few(_, true)));
        assert!(matches!(kept(50, 2000, Loss::Logistic, 0.3), Kept::Few(_, true)));
        assert!(matches!(kept(520, 530, Loss::Logistic, 0.3), Kept::Products));
        // Curvature of at most ¼·10 beside q = 2000 shrinks the gradient a thousand times a step.
        assert!(matches!(kept(20, 10, Loss::Logistic, 2000.0), Kept::Scaled(_)));
        assert!(matches!(kept(5, 20, Loss::Logistic, 2000.0), Kept::Scaled(_)));
    }

    #[test]
    fn a_step_without_a_matrix_contracts_as_proven() {
        let (m, d, q) = (30, 6, 800.0);
        let (x, y, b) = problem_data(m, d);
        let b: Vec<f64> = b.iter().map(|b| 3000.0 * b).collect();
        let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
        let problem = Subproblem { objective, quadratic: q, linear: &b };
        let bound: f64 = 0.25 * x.iter().map(|x| x * x).sum::<f64>() / m as f64;
        let contraction = bound / (2.0 * q + bound);
        assert!(contraction < SCALED_CONTRACTION);
        let start = norm(&plain_gradient(&x, &y, Loss::Logistic, q, &b, &vec![0.0; d]));
        let solved = solve_once(&problem, &mut vec![0.0; d], 1e-10);
        let steps = ((1e-10 / start).ln() / contraction.ln()).ceil();
        // A look at the rows, the gradient at the start, and one for each step.
        assert!(solved.converged && solved.passes <= 1.5 + steps, "{solved:?} {steps}");
    }

    #[test]
    fn small_problems_leave_the_heap_alone_after_the_first_round() {
        for loss in [Loss::Logistic, Loss::Squared] {
            for (m, d) in [(0, 20), (5, 20), (20, 10), (200, 64)] {
                let (x, y, b) = problem_data(m, d);
                let objective = Objective::mean(Samples::new(x.view(), &y), loss);
                let problem = Subproblem { objective, quadratic: 0.4, linear: &b };
                let (mut w, mut workspace) = (vec![0.0; d], Vec::new());
                let mut numbers = vec![0.0; ChordNewton::numbers(m, d)];
                let mut solver = ChordNewton::new();
                solver.solve(&problem, &mut w, &mut numbers, 1e-10, &mut workspace);
                let places = |solver: &ChordNewton, workspace: &Vec<f64>| {
                    let factor = match &solver.kept {
                        Kept::Few(factor, _) | Kept::Dense(factor, _) => factor.row(0).as_ptr(),
                        Kept::Normal(Some(equations)) => equations.place(),
                        _ => std::ptr::null(),
                    };
                    (factor, workspace.as_ptr(), workspace.capacity())
                };
                let before = places(&solver, &workspace);
                for t in 1..40 {
                    // Far enough to ask for new factors on the way.
                    let b: Vec<f64> = b.iter().map(|b| b * f64::from(t % 7) * 9.0).collect();
                    let problem = Subproblem { linear: &b, ..problem };
                    solver.solve(&problem, &mut w, &mut numbers, 1e-10, &mut workspace);
                    assert_eq!(places(&solver, &workspace), before, "{loss:?} {m} × {d}");
                }
            }
        }
    }

    #[test]
    fn a_factor_is_given_up_once_it_has_cost_as_much_as_a_new_one() {
        let (m, d) = (300, 60);
        let (x, y, b) = problem_data(m, d);
        let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
        let b: Vec<f64> = b.iter().map(|b| 4.0 * b).collect();
        let problem = Subproblem { objective, quadratic: 0.02, linear: &b };
        let (_, solved) = rounds(&problem, &mut vec![0.0; d], &mut Vec::new(), 40);
        let price = d as f64 / 4.0;
        let factors = solved.iter().filter(|solved| solved.passes > price).count() as f64;
        let all: f64 = solved.iter().map(|solved| solved.passes).sum();
        let chords = all - price * factors;
        assert!(factors >= 1.0 && factors * price <= chords + price, "{factors} {all}");
    }
}
