//! A linear model with a known true parameter and bounded labels.

use rand::RngExt;
use rand_distr::StandardNormal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::source::Law;
use super::sphere;
use crate::random::{Stream, Streams};

/// x uniform on the unit sphere, y = w*ᵀx + N(0, noise²), clipped to |y| ≤ bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinearRegression {
    /// Number of features, 1 to 1,000,000.
    pub dimension: usize,
    /// Length |w*| of the true parameter, from 0; its direction is drawn uniformly.
    pub norm: f64,
    /// Standard deviation of the noise on a label, from 0.
    pub noise: f64,
    /// Labels are clipped to −bound..bound, above 0: sensitivities need a bound.
    pub bound: f64,
}

impl LinearRegression {
    pub(super) fn check(&self) -> Vec<(String, String)> {
        let mut problems = sphere::check(self.dimension, self.norm);
        if !(0.0..f64::INFINITY).contains(&self.noise) {
            let message = format!("found {}, expected a finite number from 0", self.noise);
            problems.push(("noise".to_string(), message));
        }
        if !(self.bound > 0.0 && self.bound.is_finite()) {
            let message = format!("found {}, expected a finite number above 0", self.bound);
            problems.push(("bound".to_string(), message));
        }
        problems
    }

    /// Draws the true parameter.
    pub(super) fn law(&self, streams: &Streams) -> RegressionLaw {
        let truth = sphere::truth(self.dimension, self.norm, streams);
        RegressionLaw { truth, noise: self.noise, bound: self.bound }
    }
}

/// The law of the rows, given w*.
pub(super) struct RegressionLaw {
    truth: Vec<f64>,
    noise: f64,
    bound: f64,
}

impl Law for RegressionLaw {
    fn dimension(&self) -> usize {
        self.truth.len()
    }

    fn truth(&self) -> Option<&[f64]> {
        Some(&self.truth)
    }

    fn draw(&self, stream: &mut Stream, x: &mut [f64]) -> f64 {
        sphere::draw(stream, x);
        let noise = self.noise * stream.sample::<f64, _>(StandardNormal);
        (sphere::dot(&self.truth, x) + noise).clamp(-self.bound, self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::testing::{sample, within};
    use super::*;

    #[test]
    fn labels_are_linear_plus_noise() {
        let n = 40_000;
        let law = RegressionLaw { truth: vec![2.0, -1.0, 0.5], noise: 0.3, bound: 100.0 };
        let rows = sample(&law, n);
        let residuals: Vec<f64> =
            rows.iter().map(|(x, y)| y - sphere::dot(&law.truth, x)).collect();
        within(residuals.iter().sum::<f64>() / n as f64, 0.0, 0.3, n);
        let variance = residuals.iter().map(|r| r * r).sum::<f64>() / n as f64;
        within(variance, 0.09, 0.09 * 2_f64.sqrt(), n);
    }

    #[test]
    fn labels_are_clipped_to_the_bound() {
        let law = RegressionLaw { truth: vec![2.0, 0.0], noise: 0.0, bound: 1.0 };
        let rows = sample(&law, 1_000);
        assert!(rows.iter().all(|(_, y)| y.abs() <= 1.0));
        // |2 cos θ| > 1 for two thirds of the circle.
        let clipped = rows.iter().filter(|(_, y)| y.abs() == 1.0).count() as f64 / 1_000.0;
        within(clipped, 2.0 / 3.0, (2.0_f64 / 9.0).sqrt(), 1_000);
    }
}
