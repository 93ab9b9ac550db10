//! Shares from a symmetric Dirichlet law.

use rand::RngExt;
use rand_distr::{Gamma, Open01};

use crate::random::Family;

/// Weights in proportion to a draw from the symmetric Dirichlet law of concentration α over `count`
/// members, the largest of them 1; member i draws from stream i.
///
/// Shares are independent Gamma(α) draws over their sum. For small α these underflow, so they are
/// drawn as logarithms: Gamma(α) is Gamma(α + 1)·U^{1/α} with U uniform on (0, 1).
pub(super) fn weights(alpha: f64, count: usize, family: Family) -> Vec<f64> {
    let gamma = Gamma::new(alpha + 1.0, 1.0).expect("alpha was checked to be above 0");
    let logarithm = |member| {
        let mut stream = family.stream(member);
        let (draw, uniform): (f64, f64) = (stream.sample(gamma), stream.sample(Open01));
        draw.ln() + uniform.ln() / alpha
    };
    let mut weights: Vec<f64> = (0..count as u64).map(logarithm).collect();
    let largest = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    weights.iter_mut().for_each(|weight| *weight = (*weight - largest).exp());
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Streams};
    use crate::units::Seed;

    /// A share has mean 1/n and variance (1/n)(1 − 1/n)/(nα + 1).
    #[test]
    fn shares_have_the_moments_of_the_law() {
        let (n, draws) = (5, 20_000);
        for alpha in [0.05, 0.5, 1.0, 10.0] {
            let (mut sums, mut squares) = ([0.0; 5], [0.0; 5]);
            for seed in 0..draws {
                let family = Streams::new(Seed(seed), 0).family(Purpose::Partition, 2);
                let weights = weights(alpha, n, family);
                let total: f64 = weights.iter().sum();
                for (i, weight) in weights.iter().enumerate() {
                    sums[i] += weight / total;
                    squares[i] += (weight / total - 0.2).powi(2);
                }
            }
            let variance = 0.2 * 0.8 / (5.0 * alpha + 1.0);
            for (sum, square) in sums.iter().zip(&squares) {
                let mean = sum / draws as f64;
                let error = (variance / draws as f64).sqrt();
                assert!((mean - 0.2).abs() < 5.0 * error, "alpha {alpha}: mean {mean}");
                let found = square / draws as f64;
                assert!((found / variance - 1.0).abs() < 0.1, "alpha {alpha}: variance {found}");
            }
        }
    }

    #[test]
    fn the_smallest_concentration_still_has_a_winner() {
        for seed in 0..200 {
            let family = Streams::new(Seed(seed), 0).family(Purpose::Partition, 2);
            let weights = weights(1e-3, 3, family);
            assert!(weights.iter().all(|weight| (0.0..=1.0).contains(weight)), "{weights:?}");
            assert_eq!(weights.iter().filter(|&&weight| weight == 1.0).count(), 1);
        }
    }
}
