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
//! | squared loss, d ≤ [`DENSE_LIMIT`], and not far fewer samples | H⁻¹ or the factor of H, once for all | none: w = H⁻¹(Xᵀy/m − b) |
//! | little curvature beside q | nothing | g/(q + L/2) |
//! | far fewer samples than features | an m × m factor | by Woodbury's identity |
//! | d ≤ [`DENSE_LIMIT`] | the factor of H | two triangular solves |
//! | else | nothing | conjugate gradients |

use super::cholesky::Packed;
use super::conjugate_gradients::conjugate_gradients;
use super::consensus::{ConsensusRound, Padded};
use super::kernel::Four;
use super::kernel::LANES;
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

    /// How many numbers the caller keeps from solve to solve for m samples of d features: ∇F and, where
    /// they are of use, the roots of Woodbury's identity or an inverse.
    pub fn numbers(m: usize, d: usize, loss: Loss) -> usize {
        match m {
            0 => 0,
            _ if woodbury::few(m, d, DENSE_LIMIT) => d + m,
            _ if loss == Loss::Squared => Self::inverse_at(d) + NormalEquations::numbers(d),
            _ => d,
        }
    }

    /// Where among these numbers the inverse begins: behind ∇F, which zeros continue.
    fn inverse_at(d: usize) -> usize {
        d.next_multiple_of(LANES)
    }

    /// The most numbers that the solver allocates itself for m samples of d features.
    pub fn factor_numbers(m: usize, d: usize) -> usize {
        let triangle = |n: usize| n * (n + 1) / 2;
        match m {
            0 => 0,
            _ if woodbury::few(m, d, DENSE_LIMIT) => triangle(m),
            _ if d > DENSE_LIMIT => 0,
            // For squared loss only where an inverse would not be exact enough.
            _ => triangle(d),
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
            passes += self.look(problem, numbers, tolerance);
        }
        let solved = match &self.kept {
            Kept::Nothing => without_samples(problem, w, workspace),
            Kept::Normal(Some(equations)) => {
                let (of_loss, inverse) = numbers.split_at_mut(Self::inverse_at(d));
                let of_loss = &mut of_loss[..d];
                if first {
                    // ∇F(0) = −Xᵀy/m.
                    let zero = &mut workspace[..d];
                    zero.fill(0.0);
                    self.slopes = problem.objective.gradient(zero, of_loss);
                    passes += 1.0;
                }
                let residual = equations.solve(inverse, of_loss, problem.linear, w);
                if residual <= tolerance {
                    Solved { residual, converged: true, passes: 0.0 }
                } else {
                    // The bound does not suffice: the gradient itself is looked at, and the model mended.
                    let (of_loss, rest) = workspace.split_at_mut(d);
                    self.iterate(problem, w, (of_loss, inverse), true, tolerance, rest)
                }
            }
            Kept::Normal(None) => Solved { residual: f64::NAN, converged: false, passes: 0.0 },
            _ => {
                let (of_loss, more) = numbers.split_at_mut(d);
                self.iterate(problem, w, (of_loss, more), first, tolerance, workspace)
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
        let (of_loss, inverse) = numbers.split_at(Self::inverse_at(w.len()));
        let residual = equations.solve(inverse, &of_loss[..w.len()], linear, w);
        (residual <= tolerance).then_some(Solved { residual, converged: true, passes: 0.0 })
    }

    /// A whole round of a consensus method at once, where its argmin is in closed form: its dual step and
    /// then the argmin. False, and nothing done, where there is no such form, the samples were not seen yet
    /// or the bound on the residual may be above the tolerance. For the rest, see [`Self::solve`], whose
    /// `numbers` these are, in d dimensions.
    #[inline(always)]
    pub(crate) fn closed_round<'m, F: Four, M: Iterator<Item = &'m Padded> + Clone>(
        &self,
        round: ConsensusRound<'_, M>,
        (numbers, d): (&Padded, usize),
        tolerance: f64,
    ) -> bool {
        let Kept::Normal(Some(equations)) = &self.kept else { return false };
        let (of_loss, inverse) = numbers.split_at(round.w.len());
        equations.round::<F, M>(round, (of_loss, inverse.as_flattened(), d), tolerance)
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
    fn look(&mut self, problem: &Subproblem<'_>, numbers: &mut [f64], tolerance: f64) -> f64 {
        let Objective { samples, loss, scale } = problem.objective;
        let (m, d, q) = (samples.len(), samples.dimension(), problem.quadratic);
        let few = woodbury::few(m, d, DENSE_LIMIT);
        self.reach = samples.reach();
        if m == 0 {
            self.kept = Kept::Nothing;
            return 0.0;
        }
        if loss == Loss::Squared && d <= DENSE_LIMIT && !few {
            let inverse = &mut numbers[Self::inverse_at(d)..];
            self.kept =
                Kept::Normal(NormalEquations::new(&problem.objective, q, tolerance, inverse));
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
            _ if curvature.is_finite() && curvature <= contraction * (2.0 * q + curvature) => {
                Kept::Scaled(q + 0.5 * curvature)
            }
            true => Kept::Few(Packed::identity(m, q), false),
            false if d <= DENSE_LIMIT => Kept::Dense(Packed::identity(d, q), false),
            false => Kept::Products,
        };
        price
    }

    /// Newton's method from w, with ∇F(w) in `of_loss` unless it is `unknown`. `more` are the
    /// other numbers that the caller keeps.
    fn iterate(
        &mut self,
        problem: &Subproblem<'_>,
        w: &mut [f64],
        (of_loss, more): (&mut [f64], &mut [f64]),
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
            let Some((exact, price)) = self.direction(problem, w, g, (step, more), scratch) else {
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
        let floor = if floor.is_finite() { floor } else { 0.0 };
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
        (step, more): (&mut [f64], &mut [f64]),
        scratch: &mut [f64],
    ) -> Option<(bool, f64)> {
        let (objective, q) = (&problem.objective, problem.quadratic);
        let (d, m) = (w.len(), objective.samples.len());
        match &mut self.kept {
            Kept::Unseen | Kept::Nothing | Kept::Normal(None) => None,
            Kept::Normal(Some(equations)) => {
                equations.step(more, g, step);
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
                    *valid = woodbury::factor(objective, q, w, more, gram, margins);
                    self.owed = 0.0;
                }
                valid.then(|| {
                    woodbury::solve(objective, q, (more, gram), g, step, margins);
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
mod tests;
