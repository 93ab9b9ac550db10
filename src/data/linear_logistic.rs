//! A logistic model with a known true parameter.

use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::source::Law;
use super::sphere;
use crate::random::{Stream, Streams};

/// x uniform on the unit sphere, Pr[y = 1] = 1/(1 + e^{−w*ᵀx}), else y = −1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinearLogistic {
    /// Number of features, 1 to 1,000,000.
    pub dimension: usize,
    /// Length |w*| of the true parameter, from 0; its direction is drawn uniformly.
    pub norm: f64,
}

impl LinearLogistic {
    pub(super) fn check(&self) -> Vec<(String, String)> {
        sphere::check(self.dimension, self.norm)
    }

    /// Draws the true parameter.
    pub(super) fn law(&self, streams: &Streams) -> LogisticLaw {
        LogisticLaw { truth: sphere::truth(self.dimension, self.norm, streams) }
    }
}

/// The law of the rows, given w*.
pub(super) struct LogisticLaw {
    truth: Vec<f64>,
}

impl Law for LogisticLaw {
    fn dimension(&self) -> usize {
        self.truth.len()
    }

    fn truth(&self) -> Option<&[f64]> {
        Some(&self.truth)
    }

    fn draw(&self, stream: &mut Stream, x: &mut [f64]) -> f64 {
        sphere::draw(stream, x);
        let probability = 1.0 / (1.0 + (-sphere::dot(&self.truth, x)).exp());
        if stream.random::<f64>() < probability { 1.0 } else { -1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::testing::{Moments, within};
    use super::*;
    use crate::units::Seed;

    #[test]
    fn truth_has_the_length_that_was_asked_for() {
        let source = LinearLogistic { dimension: 7, norm: 3.0 };
        let truth = source.law(&Streams::new(Seed(1), 0)).truth;
        assert!((sphere::dot(&truth, &truth) - 9.0).abs() < 1e-12);
        assert_ne!(truth, source.law(&Streams::new(Seed(1), 1)).truth);
    }

    /// On the unit sphere in d dimensions each coordinate has mean 0 and variance 1/d, and in three
    /// a coordinate is uniform on [−1, 1] (Archimedes). So with w* = (s, 0, 0), E[y x₁] is the
    /// integral of t·tanh(st/2)/2 over [−1, 1].
    #[test]
    fn labels_follow_the_logistic_law_on_the_sphere() {
        let (s, n) = (4.0, 60_000);
        let sample = Moments::of(&LogisticLaw { truth: vec![s, 0.0, 0.0] }, n);
        within(sample.positive_share(), 0.5, 0.5, n);
        let rows = || sample.positive.iter().chain(sample.negative.iter());
        for x in rows() {
            assert!((sphere::dot(x, x) - 1.0).abs() < 1e-12);
        }
        for feature in 0..3 {
            let mean = rows().map(|x| x[feature]).sum::<f64>() / n as f64;
            let second = rows().map(|x| x[feature].powi(2)).sum::<f64>() / n as f64;
            within(mean, 0.0, (1.0_f64 / 3.0).sqrt(), n);
            within(second, 1.0 / 3.0, (4.0_f64 / 45.0).sqrt(), n);
        }
        let steps = 10_000;
        let expected: f64 = (0..steps)
            .map(|k| (f64::from(k) + 0.5) / f64::from(steps))
            .map(|t| t * (s * t / 2.0).tanh() / f64::from(steps))
            .sum();
        let correlation = (sample.positive.iter().map(|x| x[0]).sum::<f64>()
            - sample.negative.iter().map(|x| x[0]).sum::<f64>())
            / n as f64;
        within(correlation, expected, (1.0_f64 / 3.0).sqrt(), n);
    }
}
