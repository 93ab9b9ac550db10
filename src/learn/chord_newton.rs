//! The local argmin of a round: Newton's method that keeps its Cholesky factor.
//!
//! Between two rounds of a consensus method a peer's minimiser moves little, so the Hessian of
//! some earlier round still contracts the error by orders of magnitude per step. A chord step
//! costs one pass over the samples; a new factor costs about d/4 of them, and is paid for only
//! when the old one would need more than a few further steps.

use super::cholesky::Packed;
use super::conjugate_gradients::conjugate_gradients;
use super::objective::Objective;
use super::vector::{axpy, norm};

/// Up to this dimension a peer keeps a dense factor (d(d + 1)/2 numbers); above it the step comes
/// from conjugate gradients and no matrix is formed.
pub const DENSE_LIMIT: usize = 512;

/// A new factor is made when the old one would need more chord steps than this to finish.
const PATIENCE: f64 = 4.0;
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
    /// Norm of the gradient at the returned point.
    pub residual: f64,
    /// Whether the residual is as small as was asked for, or as rounding allows.
    pub converged: bool,
    /// Passes over the samples that it took: gradients and Hessian products 1 each, a Hessian d/4.
    pub passes: f64,
}

/// The solver's memory of one peer: ∇F at its last point, and the factor.
///
/// The last solve ended by evaluating ∇F at the point that the next one starts from, so a warm
/// start costs no pass of its own.
#[derive(Clone, Debug, Default)]
pub struct ChordNewton {
    of_loss: Vec<f64>,
    /// The mean |ℓ'| there, and the largest norm of a row: how large the terms of ∇F are.
    slopes: f64,
    reach: f64,
    factor: Option<Packed>,
}

impl ChordNewton {
    /// A solver that has seen nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves w to the minimiser, until |gradient|₂ ≤ tolerance or rounding stops it. A problem that
    /// leaves the finite numbers has no minimiser: w becomes NaN.
    ///
    /// w must be where the last solve of this memory left it (anywhere, the first time).
    /// `workspace` is scratch space that the caller lends and may share among peers.
    pub fn solve(
        &mut self,
        problem: &Subproblem<'_>,
        w: &mut [f64],
        tolerance: f64,
        workspace: &mut Vec<f64>,
    ) -> Solved {
        let d = w.len();
        let m = problem.objective.samples.len();
        workspace.clear();
        workspace.resize(if d <= DENSE_LIMIT { 4 * d } else { 7 * d + m }, 0.0);
        let (g, rest) = workspace.split_at_mut(d);
        let (step, rest) = rest.split_at_mut(d);
        let (trial, rest) = rest.split_at_mut(d);
        let (trial_of_loss, scratch) = rest.split_at_mut(d);

        let mut passes = 0.0;
        if self.of_loss.is_empty() {
            self.of_loss.resize(d, 0.0);
            self.slopes = problem.objective.gradient(w, &mut self.of_loss);
            self.reach = problem.objective.samples.reach();
            passes += 1.0;
        }
        problem.total_gradient(&self.of_loss, w, g);
        let mut residual = norm(g);
        let mut exact = false;
        let mut floor = 0.0;

        for _ in 0..STEP_LIMIT {
            floor = self.rounding(problem, w);
            if residual <= tolerance.max(floor) || !residual.is_finite() {
                break;
            }
            if d > DENSE_LIMIT {
                passes += newton_step(problem, w, g, step, scratch);
                exact = true;
            } else {
                if self.factor.is_none() {
                    passes += self.refactor(problem, w);
                    exact = true;
                }
                let Some(factor) = &self.factor else { break };
                step.copy_from_slice(g);
                factor.solve(step);
            }
            // The exact Newton direction lowers |g| for short enough steps, so damping on |g| is a
            // line search without function values; a chord step that fails asks for a new factor.
            let mut damping = 1.0;
            let mut trial_slopes;
            let accepted = loop {
                trial.copy_from_slice(w);
                axpy(-damping, step, trial);
                trial_slopes = problem.objective.gradient(trial, trial_of_loss);
                passes += 1.0;
                problem.total_gradient(trial_of_loss, trial, g);
                let reached = norm(g);
                if reached < residual * (1.0 - 1e-4 * damping) {
                    break Some((reached, trial_slopes));
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
                    self.of_loss.copy_from_slice(trial_of_loss);
                    let steps_left = (tolerance / reached).ln() / (reached / residual).ln();
                    residual = reached;
                    exact = false;
                    if residual > tolerance && steps_left > PATIENCE {
                        self.factor = None;
                    }
                }
                None if exact => break,
                None => {
                    self.factor = None;
                    problem.total_gradient(&self.of_loss, w, g);
                }
            }
        }
        if !residual.is_finite() {
            w.fill(f64::NAN);
        }
        // Damping may give up a little above the floor, which is a typical error, not a bound.
        let converged = residual.is_finite() && residual <= tolerance.max(100.0 * floor);
        Solved { residual, converged, passes }
    }

    /// The rounding error of the gradient at w. ∇F is small at the solution because large terms
    /// cancel: what counts is their size, |ℓ'||x|, and the error of the margins, ε|x||w|.
    fn rounding(&self, problem: &Subproblem<'_>, w: &[f64]) -> f64 {
        let margin = problem.objective.loss.smoothness() * self.reach * norm(w);
        let of_loss = (self.slopes + margin) * self.reach;
        4.0 * f64::EPSILON * (of_loss + problem.quadratic * norm(w) + norm(problem.linear))
    }

    /// Factors the Hessian at w; returns its price in passes.
    fn refactor(&mut self, problem: &Subproblem<'_>, w: &[f64]) -> f64 {
        let mut hessian = Packed::identity(w.len(), problem.quadratic);
        problem.objective.add_hessian(w, &mut hessian);
        // Positive definite by q > 0; only non-finite data can fail, and then no factor is kept.
        self.factor = hessian.factor().is_ok().then_some(hessian);
        w.len() as f64 / 4.0
    }
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
        (0..w.len())
            .map(|k| {
                let data: f64 = (0..y.len())
                    .map(|j| {
                        let z: f64 = (0..w.len()).map(|c| x[[j, c]] * w[c]).sum();
                        let slope = match loss {
                            Loss::Logistic => -y[j] / (1.0 + (y[j] * z).exp()),
                            Loss::Squared => z - y[j],
                            Loss::Hinge => unreachable!("it has no Hessian"),
                        };
                        slope * x[[j, k]] / m
                    })
                    .sum();
                data + q * w[k] + b[k]
            })
            .collect()
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
            for (m, d) in [(1, 1), (7, 3), (40, 20), (30, DENSE_LIMIT), (30, DENSE_LIMIT + 88)] {
                let (x, y, b) = problem_data(m, d);
                let objective = Objective::mean(Samples::new(x.view(), &y), loss);
                let problem = Subproblem { objective, quadratic: 0.05, linear: &b };
                let mut w = vec![0.0; d];
                let solved = ChordNewton::new().solve(&problem, &mut w, 1e-11, &mut Vec::new());
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
        let solved = ChordNewton::new().solve(&problem, &mut w, 1e-10, &mut Vec::new());
        assert!(solved.residual <= 1e-10, "{solved:?}");

        let nothing = Array2::zeros((0, 2));
        let objective = Objective::mean(Samples::new(nothing.view(), &[]), Loss::Logistic);
        let problem = Subproblem { objective, quadratic: 2.0, linear: &[1.0, -3.0] };
        let mut w = vec![0.0; 2];
        ChordNewton::new().solve(&problem, &mut w, 1e-12, &mut Vec::new());
        assert!((w[0] + 0.5).abs() < 1e-15 && (w[1] - 1.5).abs() < 1e-15, "{w:?}");
    }

    #[test]
    fn a_warm_start_at_the_solution_costs_no_pass() {
        let (x, y, b) = problem_data(40, 5);
        let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
        let problem = Subproblem { objective, quadratic: 0.3, linear: &b };
        let mut w = vec![0.0; 5];
        let mut solver = ChordNewton::new();
        let mut workspace = Vec::new();
        solver.solve(&problem, &mut w, 1e-10, &mut workspace);
        assert_eq!(solver.solve(&problem, &mut w, 1e-10, &mut workspace).passes, 0.0);
    }

    #[test]
    fn a_tolerance_below_rounding_ends_and_says_what_was_reached() {
        let (x, y, b) = problem_data(40, 5);
        let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
        let problem = Subproblem { objective, quadratic: 0.3, linear: &b };
        let mut w = vec![0.0; 5];
        let solved = ChordNewton::new().solve(&problem, &mut w, 0.0, &mut Vec::new());
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
                let solved = ChordNewton::new().solve(&problem, &mut w, 1e-10, &mut Vec::new());
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
        let solved = ChordNewton::new().solve(&problem, &mut w, 1e-10, &mut Vec::new());
        assert!(!solved.converged && w.iter().all(|w| w.is_nan()), "{solved:?} {w:?}");
    }
}
