//! Rényi differential privacy: curves of the order α > 1, and what they say about ε.
//!
//! Curves of releases add up (I. Mironov, "Rényi differential privacy", 2017), whatever the
//! mechanisms are. Any order gives a valid ε; the least over all orders is taken.

use crate::units::{Delta, Epsilon};

/// e^z − 1 − z, without cancellation near 0.
fn beyond_linear(z: f64) -> f64 {
    if z.abs() > 0.5 {
        return z.exp_m1() - z;
    }
    // z²/2 (1 + z/3 (1 + z/4 (…))): the term left out is below 0.5¹⁶/18! of the sum.
    let inner = (3..=18).rev().fold(1.0, |sum, k| 1.0 + z / f64::from(k) * sum);
    0.5 * z * z * inner
}

/// Of Gaussian releases with Σ(Δ/σ)² = `mu_squared`: αμ²/2.
pub fn gaussian_renyi(mu_squared: f64, alpha: f64) -> f64 {
    0.5 * alpha * mu_squared
}

/// Of Laplace noise of scale b with `ratio` e = Δ₁/b (Mironov 2017, proposition 6):
///
/// e + ln(1 + (α−1)(e^{(1−2α)e} − 1)/(2α−1))/(α−1).
pub fn laplace_renyi(ratio: f64, alpha: f64) -> f64 {
    let above = alpha - 1.0;
    let weight = 2.0 * alpha - 1.0;
    let z = above * ratio;
    if z > 0.5 {
        // Also where α or e is so large that a part of the other form is infinite.
        let rest = above / weight * (-weight * ratio).exp_m1();
        return ratio + rest.ln_1p() / above;
    }
    // The same as a sum of positive terms: the linear parts of the exponentials cancel.
    let sum = alpha * beyond_linear(z) + above * beyond_linear(-alpha * ratio);
    (sum / weight).ln_1p() / above
}

/// Of randomised response with loss ε, flip probability p = 1/(1 + e^ε):
///
/// ln((1−p)^α p^{1−α} + p^α (1−p)^{1−α})/(α−1).
///
/// No mechanism of pure loss ε has a higher curve (P. Kairouz, S. Oh, P. Viswanath, "The
/// composition theorem for differential privacy", 2015), so it serves for all of them.
pub fn response_renyi(epsilon: Epsilon, alpha: f64) -> f64 {
    let Epsilon(epsilon) = epsilon;
    let above = alpha - 1.0;
    let z = above * epsilon;
    let flip = 1.0 / (1.0 + epsilon.exp());
    let keep = 1.0 / (1.0 + (-epsilon).exp());
    if z > 0.5 {
        return epsilon + (keep + flip * (-2.0 * z).exp()).ln() / above;
    }
    // (1−p) e^z + p e^{−z}, less 1, as a sum of positive terms.
    let sum = keep * beyond_linear(z) + flip * beyond_linear(-z) + z * (0.5 * epsilon).tanh();
    sum.ln_1p() / above
}

/// ε = ρ + 2√(ρ ln(1/δ)) of ρ-zero-concentrated privacy (M. Bun, T. Steinke 2016, proposition 1.3).
/// Loose: it is here for comparison with papers that use it.
pub fn zcdp_epsilon_simple(rho: f64, delta: Delta) -> Epsilon {
    if rho == 0.0 {
        return Epsilon::ZERO;
    }
    Epsilon(rho + 2.0 * (-rho * delta.0.min(1.0).ln()).sqrt())
}

/// The ε at δ that a curve's value r at one order α gives (C. Canonne, G. Kamath, T. Steinke, "The
/// discrete Gaussian for differential privacy", 2020, proposition 12):
/// r + ln(1 − 1/α) − ln(αδ)/(α−1), and never below 0.
pub fn renyi_epsilon_at(value: f64, alpha: f64, delta: Delta) -> Epsilon {
    let above = alpha - 1.0;
    let epsilon = value + (-1.0 / alpha).ln_1p() - (alpha.ln() + delta.0.ln()) / above;
    // NaN comes of an order that is 1 or infinite in floating point.
    if epsilon.is_nan() { Epsilon::UNBOUNDED } else { Epsilon(epsilon.max(0.0)) }
}

/// The least ε at δ over all orders, with the order that gives it.
///
/// A scan of ln(α − 1) over everything that floating point can tell apart, so that no local minimum
/// or infinite end misleads, then golden sections about the best point.
pub fn renyi_epsilon(curve: impl Fn(f64) -> f64, delta: Delta) -> (Epsilon, f64) {
    const STEP: f64 = 0.5;
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let at = |u: f64| {
        let alpha = 1.0 + u.exp();
        (renyi_epsilon_at(curve(alpha), alpha, delta).0, u)
    };
    let less = |a: (f64, f64), b: (f64, f64)| if b.0 < a.0 { b } else { a };
    let mut best = (-70..=90).map(|i| at(STEP * f64::from(i))).fold((f64::INFINITY, 0.0), less);
    let (mut low, mut high) = (best.1 - STEP, best.1 + STEP);
    let mut left = at(high - GOLDEN * (high - low));
    let mut right = at(low + GOLDEN * (high - low));
    // 0.618⁴⁵ is 4e-10: at a minimum the square of it is lost.
    for _ in 0..45 {
        best = less(less(best, left), right);
        if left.0 <= right.0 {
            high = right.1;
            right = left;
            left = at(high - GOLDEN * (high - low));
        } else {
            low = left.1;
            left = right;
            right = at(low + GOLDEN * (high - low));
        }
    }
    best = less(less(best, left), right);
    (Epsilon(best.0), 1.0 + best.1.exp())
}

#[cfg(test)]
mod tests;
