//! What the published noise of weighted private learning gives.

use crate::privacy::gaussian_mu;
use crate::units::{Delta, Epsilon};

/// The published deviation of the noise of a step, σ² = cG²T ln(1/δ)/(n²ε²), with c = `constant`, G =
/// `lipschitz`, T = `steps` and n = `samples`.
///
/// For parties of different sizes whose gradients are averaged without weights, n is the number of
/// parties times the smallest size.
pub fn published_deviation(
    constant: f64,
    lipschitz: f64,
    steps: u32,
    samples: u64,
    epsilon: Epsilon,
    delta: Delta,
) -> f64 {
    lipschitz
        * f64::from(steps).sqrt()
        * published_weight_deviation(constant, samples, epsilon, delta)
}

/// The published deviation of the noise of a weight, σ_w² = c ln(1/δ)/(n²ε²).
pub fn published_weight_deviation(
    constant: f64,
    samples: u64,
    epsilon: Epsilon,
    delta: Delta,
) -> f64 {
    (constant * (1.0 / delta.0).ln()).sqrt() / (samples as f64 * epsilon.0)
}

/// The c with which [`published_deviation`] would be exact for gradients at public iterates, that is
/// 4ε²/(μ² ln(1/δ)) with the μ of (ε, δ). Published are larger ones, which is cautious.
pub fn exact_constant(epsilon: Epsilon, delta: Delta) -> f64 {
    (2.0 * epsilon.0 / gaussian_mu(epsilon, delta)).powi(2) / (1.0 / delta.0).ln()
}

/// Parties that each take T noisy steps alone, whose models are then averaged by size once:
///
/// θ_j ← θ_j − η(∇L_j(θ_j) + z_t), T times; θ = Σ_j (n_j/n) θ_j, with z_t ~ N(0, σ²I).
///
/// What a reader learns of one record is that of a Gaussian release with a certain μ; the claim is
/// the μ of T gradients of the pooled data with noise σ. The noise of the weights is left out: it
/// multiplies Σ_j θ_j and hides nothing where that is near 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedNoise<'a> {
    /// n_j, the records of each party.
    pub sizes: &'a [u64],
    /// p_j, its weight in the average.
    pub weights: &'a [f64],
    /// G: no record's gradient is longer.
    pub lipschitz: f64,
    /// T.
    pub steps: u32,
    /// Steps between two averages: T where there is one, at the end.
    pub block: u32,
    /// σ, per coordinate and step, of every party.
    pub deviation: f64,
}

impl PublishedNoise<'_> {
    /// m_eff = 1/Σ_j p_j²: as many parties of equal weight average noise as well.
    pub fn effective_parties(&self) -> f64 {
        1.0 / self.weights.iter().map(|weight| weight * weight).sum::<f64>()
    }

    /// √T D/σ, D the most that a record moves the weighted mean of the gradients: T releases of it, each
    /// with noise σ.
    pub fn claimed_mu(&self) -> f64 {
        let moves = self.parties().map(|(_, moves)| moves).fold(0.0, f64::max);
        f64::from(self.steps).sqrt() * moves / self.deviation
    }

    /// What party j's own model gives away to who sees it: its gradients move by 2G/n_j, n/n_j times as
    /// far as the mean by sizes. 0 for a party without records. Exact for a linear loss, otherwise a
    /// bound. With independent noise it bounds what the average gives away of j's records too.
    pub fn local_mu(&self, party: usize) -> f64 {
        let size = self.sizes[party];
        if size == 0 {
            return 0.0;
        }
        f64::from(self.steps).sqrt() * 2.0 * self.lipschitz / size as f64 / self.deviation
    }

    /// What the average gives away where all parties' losses have the same Hessian: then the mean of
    /// their models moves as one model would, with the mean of their noise.
    ///
    /// With `shared` noise, the same z_t at every party, it is the claim. With independent noise
    /// that mean has variance σ²/m_eff, and μ is √m_eff times the claim.
    pub fn equal_curvature_mu(&self, shared: bool) -> f64 {
        self.claimed_mu() * if shared { 1.0 } else { self.effective_parties().sqrt() }
    }

    /// The most that the average is known to give away, in the worst case we have: a lower bound on
    /// what the noise really costs.
    ///
    /// Party j's loss has no curvature, so that a record moves the average after k steps by ηkD_j, D_j =
    /// p_j·2G/n_j; the others' losses have the largest curvature that the step allows, η = 1/L, and
    /// forget all noise but that of their last step. The variance left in the average is η² times
    ///
    /// σ² \[p_j² k + Σ_{i≠j} p_i²\] with independent noise,
    /// σ² \[1 + (k − 1)p_j²\] with `shared` noise.
    ///
    /// Averages after blocks of k steps compose. Steps between 1/L and 2/L turn the sign of old noise;
    /// shared, it may then cancel, which is not looked for here. The greatest over j. For m equal parties
    /// and one block it is m√(T/(T + m − 1)) and √(T/(1 + (T − 1)/m²)) times the claim; with an average
    /// after every step it is what equal curvature gives.
    pub fn worst_known_mu(&self, shared: bool) -> f64 {
        let all = 1.0 / self.effective_parties();
        let block = self.block.clamp(1, self.steps.max(1));
        let of_block = |steps: u32, weight: f64, moves: f64| {
            let k = f64::from(steps);
            let own = weight * weight;
            let left = if shared { 1.0 + (k - 1.0) * own } else { all + (k - 1.0) * own };
            (k * moves / self.deviation).powi(2) / left
        };
        let of = |(weight, moves): (f64, f64)| {
            let whole = f64::from(self.steps / block) * of_block(block, weight, moves);
            let rest = self.steps % block;
            whole + if rest > 0 { of_block(rest, weight, moves) } else { 0.0 }
        };
        self.parties().map(of).fold(0.0, f64::max).sqrt()
    }

    /// The parties that have records: p_j, and how far a record moves the weighted mean.
    fn parties(&self) -> impl Iterator<Item = (f64, f64)> {
        let sized = self.sizes.iter().zip(self.weights).filter(|(size, _)| **size > 0);
        sized.map(|(&size, &weight)| (weight, weight * 2.0 * self.lipschitz / size as f64))
    }
}
