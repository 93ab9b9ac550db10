//! How far the risk on the samples may be from the risk on their population.

/// What a bound needs to know of a peer's samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeerSamples {
    /// m_i.
    pub count: usize,
    /// Σ_j |x_ij|².
    pub square_sum: f64,
}

/// How much higher the population's risk Σ_i E ℓ of the model learned may be than the best model's,
/// beyond what the learning itself left; logistic loss, in units of the sum over peers, with
/// confidence 1 − δ.
///
/// The corrected loss ℓ~ of randomised labels has |ℓ~| ≤ k c₁ and a slope of at most k c₂ in the
/// margin z, where the loss itself has 0 ≤ ℓ ≤ c₁ = log(1 + e^{WB}) and c₂ = 1 for all |w| ≤ W and
/// |x| ≤ B. c₂ is the slope in z, not in w: the length of x is in the Rademacher complexity
/// already, Rad_i ≤ W √(Σ_j |x_ij|²)/m_i.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Generalisation {
    /// As published, (28): 4k Σ_i (c₂ Rad_i + 2c₁ √(2 ln(4/δ)/m_i)), peer by peer.
    pub published: f64,
    /// All peers at once: 2kW √(Σ_ij |x_ij|²/m_i²) + 4k c₁ √(2 ln(4/δ) Σ_i 1/m_i).
    ///
    /// The deviation of the sum is one function of all samples, independent of each other; a sample
    /// of peer i moves it by 2k c₁/m_i at most (McDiarmid). Never above half of `published`, for
    /// which it is also a proof that δ need not be shared among the peers.
    pub joint: f64,
}

impl Generalisation {
    /// The bounds for k = coth(ε/2) of the labels' randomisation (1 without; the largest where it
    /// differs), |w| ≤ W = `radius` and |x| ≤ B = `reach`. Peers without samples have no part in
    /// the sum.
    ///
    /// None where nobody has a sample, δ is not between 0 and 1, k is below 1, or W or B is negative
    /// or not finite.
    pub fn of(k: f64, radius: f64, reach: f64, delta: f64, peers: &[PeerSamples]) -> Option<Self> {
        let valid = delta > 0.0
            && delta < 1.0
            && k >= 1.0
            && [k, radius, reach].iter().all(|value| value.is_finite() && *value >= 0.0);
        let peers: Vec<_> = peers.iter().filter(|peer| peer.count > 0).collect();
        if !valid || peers.is_empty() {
            return None;
        }
        let margin = radius * reach;
        // log(1 + e^z) without overflow.
        let c1 = margin + (-margin).exp().ln_1p();
        let confidence = 2.0 * (4.0 / delta).ln();
        let (mut published, mut squares, mut inverses) = (0.0, 0.0, 0.0);
        for peer in peers {
            let m = peer.count as f64;
            published += radius * peer.square_sum.sqrt() / m + 2.0 * c1 * (confidence / m).sqrt();
            squares += peer.square_sum / (m * m);
            inverses += 1.0 / m;
        }
        let joint =
            2.0 * k * radius * squares.sqrt() + 4.0 * k * c1 * (confidence * inverses).sqrt();
        Some(Self { published: 4.0 * k * published, joint })
    }
}

/// A W that needs no look at the data: |w*| ≤ (nkB/2 + R)/a with logistic loss and |η_i| ≤ R.
///
/// J~ is a-strongly convex, so |w*| ≤ |∇J~(0)|/a; at 0 a sample's slope is k/2 at most.
pub fn model_radius(peers: usize, k: f64, reach: f64, noise_reach: f64, a: f64) -> f64 {
    (0.5 * peers as f64 * k * reach + noise_reach) / a
}
