//! The Gaussian mechanism, exactly.
//!
//! Noise of standard deviation σ on a value of L2 sensitivity Δ is known by μ = Δ/σ alone, and so is
//! any adaptive composition of such releases, with μ² = Σ μ_t². The profile is that of B. Balle and
//! Y.-X. Wang, "Improving the Gaussian mechanism for differential privacy" (2018), theorem 8:
//!
//! δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::normal::{cdf, central, ln_cdf, ln_sqrt_tau, mills};
use crate::units::{Delta, Epsilon};

/// ln δ(ε) for finite μ > 0 and ε ≥ 0.
///
/// With x = ε/μ − μ/2 the second term is φ(x) R(x + μ), R being Mills' ratio, and for x ≥ 0
/// δ = φ(x) (R(x) − R(x + μ)): no exponential of ε, and no difference of two large logarithms.
fn ln_profile(mu: f64, epsilon: f64) -> f64 {
    let x = epsilon / mu - 0.5 * mu;
    if x == f64::INFINITY {
        return f64::NEG_INFINITY;
    }
    if x >= 0.0 {
        return -0.5 * x * x - ln_sqrt_tau() + mills_difference(x, mu).ln();
    }
    let far = x + mu;
    if mu > 1.0 {
        // δ is of the order of Φ(−x) ≥ 1/2 here.
        let second = (-0.5 * x * x - ln_sqrt_tau()).exp() * mills(far);
        return ln_cdf(-x) + (-second / cdf(-x)).ln_1p();
    }
    // P[x < X < x + μ] of the order of μ, less something of the order of ε ≤ μ²/2.
    (central(-x) + central(far) - epsilon.exp_m1() * cdf(-far)).ln()
}

/// R(x) − R(x + μ) for x ≥ 0.
///
/// Where the two are close it is the integral ∫ e^{−xs − s²/2} (1 − e^{−μs}) ds over s > 0, whose
/// integrand has one sign. In u = ln((1 + x)s) it is analytic for |Im u| < π/4 and falls fast at
/// both ends, so the trapezoidal rule of step h errs by about e^{−π²/2h}, beyond double precision.
fn mills_difference(x: f64, mu: f64) -> f64 {
    let (near, far) = (mills(x), mills(x + mu));
    if far < 0.5 * near {
        return near - far;
    }
    const STEP: f64 = 0.11;
    let scale = 1.0 + x;
    let sum: f64 = (-190..=38)
        .map(|i| {
            let s = (f64::from(i) * STEP).exp() / scale;
            (-s * (x + 0.5 * s)).exp() * -(-mu * s).exp_m1() * s
        })
        .sum();
    sum * STEP
}

/// δ(ε) of Gaussian releases with μ = √Σ(Δ/σ)².
pub fn gaussian_delta(mu: f64, epsilon: Epsilon) -> f64 {
    if mu == 0.0 || epsilon.0 == f64::INFINITY {
        0.0
    } else if mu.is_finite() {
        ln_profile(mu, epsilon.0.max(0.0)).exp().min(1.0)
    } else {
        1.0
    }
}

/// Between `low` and `high`, at which `excess` has different signs, two numbers at which it still has,
/// some 1e-13 of their size apart.
///
/// False position in the Illinois form: some ten evaluations, where halving takes fifty.
fn enclose(mut low: f64, mut high: f64, excess: impl Fn(f64) -> f64) -> [f64; 2] {
    const CLOSE: f64 = 1e-13;
    let (mut at_low, mut at_high) = (excess(low), excess(high));
    let low_sign = at_low > 0.0;
    let is_low = |at: f64| (at > 0.0) == low_sign;
    let mut last_was_low = None;
    while high - low > CLOSE * high {
        let slope = (at_high - at_low) / (high - low);
        let mut middle = high - at_high / slope;
        if !(middle > low && middle < high) {
            middle = low + 0.5 * (high - low);
        }
        // At least a little way from either end, so that the one that stays put is soon passed.
        let step = (0.4 * CLOSE * high).min(0.5 * (high - low));
        middle = middle.clamp(low + step, high - step);
        if middle <= low || middle >= high {
            break;
        }
        let here = excess(middle);
        let now_low = is_low(here);
        // The end that stays put for the second time counts half.
        let again = last_was_low == Some(now_low);
        if now_low {
            (low, at_low) = (middle, here);
            at_high *= if again { 0.5 } else { 1.0 };
        } else {
            (high, at_high) = (middle, here);
            at_low *= if again { 0.5 } else { 1.0 };
        }
        last_was_low = Some(now_low);
    }
    [low, high]
}

/// The least ε that Gaussian releases with μ = √Σ(Δ/σ)² keep at δ, rounded up.
pub fn gaussian_epsilon(mu: f64, delta: Delta) -> Epsilon {
    if mu == 0.0 || delta.0 >= 1.0 {
        return Epsilon::ZERO;
    }
    // Written so that NaN has no bound.
    if !(mu < f64::INFINITY && delta.0 > 0.0) {
        return Epsilon::UNBOUNDED;
    }
    let target = delta.0.ln();
    let holds = |epsilon: f64| ln_profile(mu, epsilon) <= target;
    if holds(0.0) {
        return Epsilon::ZERO;
    }
    let mut high = mu * (1.0 + 0.5 * mu);
    while !holds(high) {
        high *= 2.0;
        if high == f64::INFINITY {
            return Epsilon::UNBOUNDED;
        }
    }
    let [_, high] = enclose(0.0, high, |epsilon| ln_profile(mu, epsilon) - target);
    Epsilon(high.next_up())
}

/// The largest μ that is (ε, δ)-private, rounded down.
pub fn gaussian_mu(epsilon: Epsilon, delta: Delta) -> f64 {
    if epsilon.0 == f64::INFINITY || delta.0 >= 1.0 {
        return f64::INFINITY;
    }
    // Written so that NaN allows nothing.
    if !(epsilon.0 >= 0.0 && delta.0 > 0.0) {
        return 0.0;
    }
    let target = delta.0.ln();
    let holds = |mu: f64| ln_profile(mu, epsilon.0) <= target;
    let (mut low, mut high) = (1.0, 1.0);
    while !holds(low) {
        low *= 0.5;
        if low < f64::MIN_POSITIVE {
            return 0.0;
        }
    }
    while holds(high) {
        high *= 2.0;
    }
    let [low, _] = enclose(low, high, |mu| ln_profile(mu, epsilon.0) - target);
    low.next_down()
}

/// How the noise of a Gaussian release is found from the ε and δ that it is to keep.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Calibration {
    /// The least σ that keeps them, by the exact profile.
    #[default]
    Exact,
    /// σ = √(2 ln(1.25/δ)) Δ/ε, as many papers have it: more noise than needed, proven for ε < 1
    /// only, and refused where it does not keep ε and δ.
    Classic,
}

/// Why there is no noise to be had.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum CalibrationError {
    /// Gaussian noise never gives this.
    #[error(
        "expected ε from 0 and δ above 0, found ε = {epsilon}, δ = {delta}: no Gaussian noise keeps them"
    )]
    Impossible {
        /// The ε asked for.
        epsilon: Epsilon,
        /// The δ asked for.
        delta: Delta,
    },
    /// The classic formula's noise is too small.
    #[error(
        "expected δ = {delta} at ε = {epsilon}, found {actual:e}: the classic formula's \
         deviation {deviation} is too small there, write `exact`"
    )]
    Classic {
        /// The ε asked for.
        epsilon: Epsilon,
        /// The δ asked for.
        delta: Delta,
        /// What the formula gives.
        deviation: f64,
        /// The δ that this deviation really has at ε.
        actual: f64,
    },
}

impl Calibration {
    /// The standard deviation σ for a value of L2 sensitivity Δ = `sensitivity`.
    ///
    /// # Errors
    /// No Gaussian noise keeps ε and δ, or the classic formula's does not.
    pub fn deviation(
        self,
        sensitivity: f64,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<f64, CalibrationError> {
        let mu = match self {
            Self::Exact => gaussian_mu(epsilon, delta),
            Self::Classic => epsilon.0 / (2.0 * (1.25 / delta.0).ln()).sqrt(),
        };
        // Written so that NaN is refused: it comes of δ > 1.25 in the classic formula.
        if !(mu > 0.0 && epsilon.0 >= 0.0) {
            return Err(CalibrationError::Impossible { epsilon, delta });
        }
        let deviation = sensitivity / mu;
        if self == Self::Classic {
            let actual = gaussian_delta(mu, epsilon);
            if actual > delta.0 {
                return Err(CalibrationError::Classic { epsilon, delta, deviation, actual });
            }
            return Ok(deviation);
        }
        // No noise for what does not depend on the data or is unprotected by choice.
        Ok(if deviation == 0.0 { 0.0 } else { deviation.next_up() })
    }
}

#[cfg(test)]
mod tests;
