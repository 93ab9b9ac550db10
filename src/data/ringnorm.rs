//! Breiman's ringnorm: a tight Gaussian class inside a wide one.

use rand::RngExt;
use rand_distr::StandardNormal;

use super::source::Law;
use crate::random::Stream;

/// In 20 dimensions, both classes equally likely: class A, label −1, is x ~ N(0, 4I); class B,
/// label +1 as in the benchmark's file, is x ~ N(a·1, I) with a = 2/√20.
///
/// The Bayes error is about 1.3 %; a linear rule errs on about 23 to 24 %.
pub(super) struct Ringnorm;

impl Law for Ringnorm {
    fn dimension(&self) -> usize {
        20
    }

    fn draw(&self, stream: &mut Stream, x: &mut [f64]) -> f64 {
        let a = 2.0 / 20_f64.sqrt();
        let (y, mean, deviation) = if stream.random() { (1.0, a, 1.0) } else { (-1.0, 0.0, 2.0) };
        x.fill_with(|| mean + deviation * stream.sample::<f64, _>(StandardNormal));
        y
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::testing::{Moments, within};
    use super::*;

    #[test]
    fn the_positive_class_is_the_tight_one() {
        let (a, n) = (2.0 / 20_f64.sqrt(), 40_000);
        let sample = Moments::of(&Ringnorm, n);
        within(sample.positive_share(), 0.5, 0.5, n);
        for (class, mean, variance) in [(&sample.positive, a, 1.0), (&sample.negative, 0.0, 4.0)] {
            for feature in 0..20 {
                within(class.mean(feature), mean, f64::sqrt(variance), class.rows());
                let spread = variance * 2_f64.sqrt();
                within(class.variance(feature), variance, spread, class.rows());
            }
        }
    }

    /// The likelihood ratio: B where |x|²/8 + 20 ln 2 > |x − a·1|²/2.
    #[test]
    fn the_best_rule_errs_on_about_one_in_eighty() {
        let a = 2.0 / 20_f64.sqrt();
        let sample = Moments::of(&Ringnorm, 40_000);
        let error = sample.error_of(|x| {
            let wide: f64 = x.iter().map(|v| v * v / 8.0).sum();
            let tight: f64 = x.iter().map(|v| (v - a).powi(2) / 2.0).sum();
            (wide + 20.0 * 2_f64.ln() - tight).signum()
        });
        assert!((0.011..0.015).contains(&error), "{error}");
    }
}
