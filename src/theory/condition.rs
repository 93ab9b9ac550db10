//! The published condition for a linear rate, (25), in the form most favourable to it.

use super::lanczos::extreme_eigenvalues;
use super::penalty::BUDGET;
use super::random_vector;
use crate::learn::{Loss, Objective, dot};
use crate::topology::Spectrum;

/// Constants of the stacked objective Σ_i J_i(w_i) that hold everywhere, not only at the optimum:
/// the condition's proof follows the iterates wherever they go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convexity {
    /// κ̂, the strong convexity: the least over the peers.
    ///
    /// Logistic loss flattens out far away, which leaves a/n; squared loss has the same Hessian
    /// everywhere, and its least eigenvalue counts.
    pub strong: f64,
    /// ϱ_J, the Lipschitz constant of the gradient: the largest over the peers of
    /// a/n + c λ_max((1/m_i) Σ_j x_ij x_ijᵀ), c the largest curvature of the loss (¼ or 1).
    ///
    /// It is attained (logistic loss at w = 0). Where its iteration is too dear or does not settle,
    /// a/n + cB² stands in, B the longest sample, which is never less.
    pub lipschitz: f64,
}

impl Convexity {
    /// The constants of J_i = F_i + (ridge/2)|w|² over the given F_i.
    pub fn of(objectives: &[Objective<'_>], ridge: f64) -> Self {
        let entries: f64 = objectives
            .iter()
            .map(|objective| (objective.samples.len() * objective.samples.dimension()) as f64)
            .sum();
        let most = (BUDGET / (2.0 * entries).max(1.0)).min(400.0) as usize;
        let mut found = Self { strong: f64::INFINITY, lipschitz: ridge };
        for objective in objectives {
            let (low, high) = bends(objective, ridge, most);
            found.strong = found.strong.min(low);
            found.lipschitz = found.lipschitz.max(high);
        }
        Self { strong: if found.strong.is_finite() { found.strong } else { ridge }, ..found }
    }
}

/// Bounds of the eigenvalues of J_i's Hessian over all w.
fn bends(objective: &Objective<'_>, ridge: f64, most: usize) -> (f64, f64) {
    let samples = &objective.samples;
    let (m, d) = (samples.len(), samples.dimension());
    if m == 0 || d == 0 {
        return (ridge, ridge);
    }
    let steepest = objective.scale * objective.loss.smoothness();
    let curvatures = vec![steepest; m];
    // The iteration settles when both ends do, relative to their size. Where the lower end is not
    // asked for, it is lifted by the mean eigenvalue, out of the way.
    let lift = match objective.loss {
        Loss::Squared => 0.0,
        _ => samples.rows().map(|(x, _)| steepest * dot(x, x)).sum::<f64>() / d as f64,
    };
    let product = |v: &[f64], out: &mut [f64]| {
        out.iter_mut().zip(v).for_each(|(out, v)| *out = (ridge + lift) * v);
        objective.add_hessian_product(&curvatures, v, out);
    };
    // Settling is seen when steps double: more of them than d, and that twice.
    let steps = most.min(8 * d + 64);
    let found = (steps >= 16).then(|| extreme_eigenvalues(product, None, random_vector(d), steps));
    match found {
        Some(found) if found.converged => {
            let low = if lift == 0.0 { found.low.max(ridge) } else { ridge };
            (low, found.high - lift)
        }
        _ => (ridge, ridge + steepest * m as f64 * samples.reach().powi(2)),
    }
}

/// Whether the condition holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Some b and λ₁ satisfy it.
    Satisfied,
    /// No b and λ₁ do.
    Missed {
        /// The right side over the left one.
        factor: f64,
    },
    /// L₊ is singular: the graph is bipartite, and the left side is 0 whatever the objective.
    Singular,
}

/// Condition (25), under which a linear rate was published:
///
/// (1 − b)(1 + φ) σ²_min(L₊) > σ²_max(L₊),
/// φ = ((λ₁ − 1)/λ₁) · 2κ̂ σ²_min(Q) σ²_min(L₊) / (ϱ_J² σ²_min(L₊) + 2κ̂ σ²_max(L₊)),
///
/// with Q = (L₋/2)^{1/2} and free b in (0, 1) and λ₁ > 1. It can be satisfied exactly where its limit
/// b → 0, λ₁ → ∞ is: that is what stands here. No rate follows from it: the exact one is
/// [`local_rate`](super::local_rate), which is below 1 on every connected graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// (1 + φ_max) σ²_min(L₊), to be above `right`.
    pub left: f64,
    /// σ²_max(L₊).
    pub right: f64,
    /// φ_max, the limit of φ for λ₁ → ∞.
    pub phi: f64,
    /// Whether it holds.
    pub verdict: Verdict,
}

impl Condition {
    /// Both sides on this graph with these constants; none where an eigenvalue did not settle.
    pub fn of(spectrum: &Spectrum, convexity: Convexity) -> Option<Self> {
        let least = spectrum.signless_least.value?.powi(2);
        let right = spectrum.signless_largest.value?.powi(2);
        let q = 0.5 * spectrum.algebraic_connectivity.value?;
        let Convexity { strong, lipschitz } = convexity;
        let phi = 2.0 * strong * q * least / (lipschitz.powi(2) * least + 2.0 * strong * right);
        let left = (1.0 + phi) * least;
        let verdict = if least == 0.0 {
            Verdict::Singular
        } else if left > right {
            Verdict::Satisfied
        } else {
            Verdict::Missed { factor: right / left }
        };
        Some(Self { left, right, phi, verdict })
    }
}
