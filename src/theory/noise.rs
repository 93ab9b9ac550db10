//! What the two noises of private ADMM cost: the one on what is sent, the one in the objective.

use crate::learn::{axpy, dot};

/// Primal noise: what peer i sends in round t carries θ_i(t) ~ N(0, ρ^{t−1} V_i² I).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrimalNoise<'a> {
    /// V_i, the standard deviation per coordinate in round 1, one for each peer.
    pub scales: &'a [f64],
    /// ρ, the factor of the variance per round, from 0 to 1.
    pub decay: f64,
}

impl PrimalNoise<'_> {
    /// Whether no peer adds any.
    pub fn is_silent(&self) -> bool {
        self.scales.iter().all(|&scale| scale == 0.0)
    }

    /// The factor per round of the root mean square error over the noise, τ being the factor
    /// without it ([`local_rate`](super::local_rate)): max(τ, √ρ).
    ///
    /// Near the optimum the error obeys e(t) = M e(t − 1) + Bθ(t), so that E|e(t)|² is the sum over
    /// k ≤ t of ρ^{k−1} |M^{t−k} B|², whose largest terms fall as τ^{2t} or as ρ^t. Where both are
    /// equal, a power of t comes on top. With ρ = 1 the rate is 1: the error does not vanish. The
    /// mean w̄(t) over the rounds falls as 1/t only.
    pub fn rate(&self, tau: f64) -> f64 {
        // f64::max would drop a NaN.
        if self.is_silent() || tau.is_nan() { tau } else { tau.max(self.decay.sqrt()) }
    }

    /// Σ_{k=1}^t ρ^{k−1} = (1 − ρ^t)/(1 − ρ), which is t for ρ = 1.
    pub fn weight(&self, rounds: u32) -> f64 {
        let (rho, t) = (self.decay, f64::from(rounds));
        if rho == 1.0 {
            t
        } else if rho == 0.0 {
            t.min(1.0)
        } else {
            // 1 − ρ is exact near 1, and 1 − ρ^t does not cancel in this form.
            -(t * rho.ln()).exp_m1() / (1.0 - rho)
        }
    }
}

/// Objective noise: peer i minimises J_i(w) + η_iᵀw/n, with η_i drawn once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectiveNoise<'a> {
    /// η_i as drawn, one for each peer.
    pub drawn: &'a [Vec<f64>],
    /// R with |η_i| ≤ R, where the law has such a bound.
    pub reach: Option<f64>,
    /// E|η_i|², or its mean over the peers where they differ.
    pub mean_square: f64,
}

/// How much higher Σ_i J_i is at the optimum w~ of the perturbed problem than at its own, at most.
///
/// J = Σ_i J_i is a-strongly convex, so J(w~) − J* ≤ |∇J(w~)|²/(2a), and at w~ the gradient is
/// −b with b = Σ_i η_i/n. (The paper's (32) takes the stacked objective to be a-strongly convex
/// where it is a/n, and can be exceeded.) J is that of the labels and the loss that the peers
/// have: where labels are randomised it is not the `empirical_risk` of the original ones, though it
/// is so in the mean over the randomisation, for a fixed model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectiveCost {
    /// R²/(2a): all η_i alike and as long as they can be. None where the law has no bound.
    pub worst: Option<f64>,
    /// E|η|²/(2na): the mean over independent η_i of mean 0, by E|b|² = E|η|²/n.
    pub mean: f64,
    /// |b|²/(2a) of the η_i that were drawn.
    pub drawn: f64,
}

impl ObjectiveCost {
    /// The cost of this noise with regularisation a, in units of the sum over peers.
    pub fn of(noise: &ObjectiveNoise<'_>, a: f64) -> Self {
        let n = noise.drawn.len() as f64;
        let mut b = vec![0.0; noise.drawn.first().map_or(0, Vec::len)];
        noise.drawn.iter().for_each(|eta| axpy(1.0 / n, eta, &mut b));
        Self {
            worst: noise.reach.map(|reach| reach * reach / (2.0 * a)),
            mean: noise.mean_square / (2.0 * n * a),
            drawn: dot(&b, &b) / (2.0 * a),
        }
    }

    /// The same in units of the mean over n peers, in which `empirical_risk` is given.
    #[must_use]
    pub fn per_peer(self, n: usize) -> Self {
        let share = 1.0 / n as f64;
        Self {
            worst: self.worst.map(|worst| share * worst),
            mean: share * self.mean,
            drawn: share * self.drawn,
        }
    }
}
