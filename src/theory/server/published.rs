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
    /// G: no record's gradient is longer.
    pub lipschitz: f64,
    /// T.
    pub steps: u32,
    /// σ, per coordinate and step, of every party.
    pub deviation: f64,
}

impl PublishedNoise<'_> {
    /// n = Σ_j n_j.
    pub fn samples(&self) -> u64 {
        self.sizes.iter().sum()
    }

    /// m_eff = n²/Σ_j n_j²: as many parties of equal size average noise as well.
    pub fn effective_parties(&self) -> f64 {
        1.0 / self.sizes.iter().map(|&size| self.share(size).powi(2)).sum::<f64>()
    }

    /// √T (2G/n)/σ: T gradients of the pooled data, each with noise σ.
    pub fn claimed_mu(&self) -> f64 {
        f64::from(self.steps).sqrt() * self.sensitivity() / self.deviation
    }

    /// What party j's own model gives away to who sees it: (n/n_j) times the claim, since its
    /// gradients move by 2G/n_j. 0 for a party without records. Exact for a linear loss, otherwise a
    /// bound. With independent noise it bounds what the average gives away of j's records too.
    pub fn local_mu(&self, party: usize) -> f64 {
        let size = self.sizes[party];
        if size == 0 { 0.0 } else { self.claimed_mu() / self.share(size) }
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
    /// Party j's loss has no curvature, so that a record moves the average by ηT·2G/n; the others'
    /// losses have the largest curvature that the step allows, η = 1/L, and forget all noise but
    /// that of their last step. The variance left in the average is η² times
    ///
    /// σ² \[(n_j/n)² T + Σ_{i≠j} (n_i/n)²\] with independent noise,
    /// σ² \[1 + (T − 1)(n_j/n)²\] with `shared` noise.
    ///
    /// Steps between 1/L and 2/L turn the sign of old noise; shared, it may then cancel, which is not
    /// looked for here. The greatest over j. For m equal parties it is m√(T/(T + m − 1)) and √(T/(1 + (T − 1)/m²))
    /// times the claim.
    pub fn worst_known_mu(&self, shared: bool) -> f64 {
        let t = f64::from(self.steps);
        let all = 1.0 / self.effective_parties();
        let sized = self.sizes.iter().filter(|&&size| size > 0);
        let least = sized
            .map(|&size| {
                let own = self.share(size).powi(2);
                if shared { 1.0 + (t - 1.0) * own } else { all + (t - 1.0) * own }
            })
            .fold(f64::INFINITY, f64::min);
        t * self.sensitivity() / (self.deviation * least.sqrt())
    }

    /// 2G/n.
    fn sensitivity(&self) -> f64 {
        2.0 * self.lipschitz / self.samples() as f64
    }

    fn share(&self, size: u64) -> f64 {
        size as f64 / self.samples() as f64
    }
}
