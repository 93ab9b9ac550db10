//! Losses of a linear model: functions of the margin z = wᵀx and the label y.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kernel::exponential::{decay, log_one_plus_decay, tanh_half};

/// The loss of one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Logistic loss, labels ±1: ℓ(y, z) = log(1 + e^{−yz}) = log(2 cosh(z/2)) − yz/2.
    Logistic,
    /// Squared loss, real targets: ℓ(y, z) = ½(z − y)².
    Squared,
    /// Hinge loss, labels ±1: ℓ(y, z) = max(0, 1 − yz), which has a kink at yz = 1. For protocols that
    /// ask for subgradients alone.
    Hinge,
}

impl Loss {
    /// ℓ(y, z), without overflow for any z.
    #[inline]
    pub fn value(self, y: f64, z: f64) -> f64 {
        match self {
            Self::Logistic => logistic_value(y, z),
            Self::Squared => 0.5 * (z - y) * (z - y),
            Self::Hinge => hinge_value(y, z),
        }
    }

    /// dℓ/dz, and at the kink of the hinge loss the subgradient 0.
    #[inline]
    pub fn derivative(self, y: f64, z: f64) -> f64 {
        match self {
            Self::Logistic => logistic_derivative(y, z),
            Self::Squared => z - y,
            Self::Hinge => hinge_derivative(y, z),
        }
    }

    /// d²ℓ/dz², which depends on the label in no loss; 0 for the hinge loss, on both sides of its kink.
    #[inline]
    pub fn curvature(self, z: f64) -> f64 {
        match self {
            Self::Logistic => logistic_curvature(z),
            Self::Squared => 1.0,
            Self::Hinge => 0.0,
        }
    }

    /// z_j ← ℓ(y_j, z_j), to the bit what [`value`](Self::value) gives.
    #[inline(always)]
    pub(super) fn values(self, y: &[f64], z: &mut [f64]) {
        match self {
            Self::Logistic => each(y, z, logistic_value),
            Self::Squared => each(y, z, |y, z| 0.5 * (z - y) * (z - y)),
            Self::Hinge => each(y, z, hinge_value),
        }
    }

    /// z_j ← dℓ/dz (y_j, z_j), to the bit what [`derivative`](Self::derivative) gives.
    #[inline(always)]
    pub(super) fn derivatives(self, y: &[f64], z: &mut [f64]) {
        match self {
            Self::Logistic => each(y, z, logistic_derivative),
            Self::Squared => each(y, z, squared_derivative),
            Self::Hinge => each(y, z, hinge_derivative),
        }
    }

    /// z_j ← d²ℓ/dz² (z_j), to the bit what [`curvature`](Self::curvature) gives.
    #[inline(always)]
    pub(super) fn curvatures(self, z: &mut [f64]) {
        match self {
            Self::Logistic => {
                for z in z {
                    *z = logistic_curvature(*z);
                }
            }
            Self::Squared => z.fill(1.0),
            Self::Hinge => z.fill(0.0),
        }
    }

    /// The Lipschitz constant of dℓ/dz: the largest curvature, without bound where there is a kink.
    pub fn smoothness(self) -> f64 {
        match self {
            Self::Logistic => 0.25,
            Self::Squared => 1.0,
            Self::Hinge => f64::INFINITY,
        }
    }

    /// The largest |dℓ/dz| over all margins, for labels of size k (1 for classes); none where it has
    /// no bound.
    pub fn greatest_slope(self, label_size: f64) -> Option<f64> {
        match self {
            Self::Logistic => Some(0.5 * (1.0 + label_size)),
            Self::Squared => None,
            Self::Hinge => Some(label_size),
        }
    }

    /// Whether labels are classes, ±1.
    pub fn is_classification(self) -> bool {
        match self {
            Self::Logistic | Self::Hinge => true,
            Self::Squared => false,
        }
    }
}

/// z_j ← f(y_j, z_j).
#[inline(always)]
pub(super) fn each(y: &[f64], z: &mut [f64], f: impl Fn(f64, f64) -> f64) {
    for (z, y) in z.iter_mut().zip(y) {
        *z = f(*y, *z);
    }
}

/// log(2 cosh(z/2)) − yz/2, with log(2 cosh(z/2)) = |z|/2 + log(1 + e^{−|z|}).
#[inline(always)]
fn logistic_value(y: f64, z: f64) -> f64 {
    0.5 * z.abs() - 0.5 * y * z + log_one_plus_decay(z)
}

/// tanh(z/2)/2 − y/2.
#[inline(always)]
pub(super) fn logistic_derivative(y: f64, z: f64) -> f64 {
    0.5 * (tanh_half(z) - y)
}

/// e/(1 + e)², with e = e^{−|z|}.
#[inline(always)]
fn logistic_curvature(z: f64) -> f64 {
    let e = decay(z);
    e / ((1.0 + e) * (1.0 + e))
}

#[inline(always)]
fn hinge_value(y: f64, z: f64) -> f64 {
    (1.0 - y * z).max(0.0)
}

/// z − y.
#[inline(always)]
pub(super) fn squared_derivative(y: f64, z: f64) -> f64 {
    z - y
}

/// −y below the margin, 0 beyond it.
#[inline(always)]
pub(super) fn hinge_derivative(y: f64, z: f64) -> f64 {
    if y * z < 1.0 { -y } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logistic_is_the_textbook_formula_and_does_not_overflow() {
        for y in [-1.0, 1.0] {
            for z in [-30.0, -2.5, -1e-9, 0.0, 0.3, 7.0, 30.0_f64] {
                let textbook = (1.0 + (-y * z).exp()).ln();
                assert!((Loss::Logistic.value(y, z) - textbook).abs() < 1e-12 * (1.0 + textbook));
            }
        }
        assert_eq!(Loss::Logistic.value(1.0, -1e308), 1e308);
        assert_eq!(Loss::Logistic.value(1.0, 1e308), 0.0);
        assert_eq!(Loss::Logistic.derivative(1.0, -1e308), -1.0);
        assert_eq!(Loss::Logistic.curvature(1e308), 0.0);
    }

    #[test]
    fn derivatives_agree_with_differences() {
        let h = 1e-5;
        for loss in [Loss::Logistic, Loss::Squared] {
            for y in [-1.0, 1.0] {
                for z in [-4.0, -0.2, 0.0, 0.9, 3.0] {
                    let slope = (loss.value(y, z + h) - loss.value(y, z - h)) / (2.0 * h);
                    assert!((loss.derivative(y, z) - slope).abs() < 1e-9);
                    let bend = (loss.derivative(y, z + h) - loss.derivative(y, z - h)) / (2.0 * h);
                    assert!((loss.curvature(z) - bend).abs() < 1e-9);
                }
            }
        }
    }
    #[test]
    fn hinge_is_the_larger_of_two_lines_and_its_slope_a_subgradient() {
        for y in [-1.0, 1.0] {
            for z in [-3.0, -1.0, -0.4, 0.0, 0.7, 1.0, 2.5] {
                let (value, slope) = (Loss::Hinge.value(y, z), Loss::Hinge.derivative(y, z));
                assert_eq!(value, if y * z < 1.0 { 1.0 - y * z } else { 0.0 });
                for other in [-4.0, -1.0, 0.0, 0.99, 1.0, 1.01, 4.0] {
                    assert!(Loss::Hinge.value(y, other) >= value + slope * (other - z) - 1e-15);
                }
                assert!(slope.abs() <= Loss::Hinge.greatest_slope(1.0).unwrap());
            }
        }
        assert!(Loss::Hinge.is_classification());
        assert_eq!((Loss::Hinge.curvature(0.3), Loss::Hinge.smoothness()), (0.0, f64::INFINITY));
    }
}
