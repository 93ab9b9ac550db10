//! Breiman's twonorm: two round Gaussian classes whose means are opposite.

use rand::RngExt;
use rand_distr::StandardNormal;

use super::source::Law;
use crate::random::Stream;

/// x ~ N(y·a·1, I) in 20 dimensions with a = 2/√20, and the label y = ±1 equally likely: +1 is the
/// class with mean +a.
///
/// The Bayes error is Φ(−2) ≈ 2.3 %, and the linear rule sign(Σx) reaches it.
pub(super) struct Twonorm;

impl Law for Twonorm {
    fn dimension(&self) -> usize {
        20
    }

    fn draw(&self, stream: &mut Stream, x: &mut [f64]) -> f64 {
        let a = 2.0 / 20_f64.sqrt();
        let y = if stream.random() { 1.0 } else { -1.0 };
        x.fill_with(|| y * a + stream.sample::<f64, _>(StandardNormal));
        y
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::testing::{Moments, within};
    use super::*;

    #[test]
    fn moments_and_bayes_error() {
        let (a, n) = (2.0 / 20_f64.sqrt(), 40_000);
        let sample = Moments::of(&Twonorm, n);
        within(sample.positive_share(), 0.5, 0.5, n);
        for (label, class) in [(1.0, &sample.positive), (-1.0, &sample.negative)] {
            for feature in 0..20 {
                // The variance of a squared unit Gaussian is 2.
                within(class.mean(feature), label * a, 1.0, class.rows());
                within(class.variance(feature), 1.0, 2_f64.sqrt(), class.rows());
            }
        }
        let bayes = 0.022_750_131_948_179_2; // Φ(−2)
        let rule = |x: &[f64]| x.iter().sum::<f64>().signum();
        within(sample.error_of(rule), bayes, (bayes * (1.0 - bayes)).sqrt(), n);
    }
}
