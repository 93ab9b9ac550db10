//! The scenario's `model:` section.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::loss::Loss;
use super::regulariser::Regulariser;

/// The linear model that the peers fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The loss of one sample: `logistic` or `hinge` for classes, `squared` for real targets.
    pub loss: Loss,
    /// a > 0: the peers minimise Σ_i (mean loss of peer i) + (a/2)|w|², and each carries λ = a/n of it.
    /// 0 is allowed for `walk-sgd`, `weighted-erm` and `gradient-queries`, whose steps need no optimum to
    /// exist.
    pub regularisation: f64,
    /// s ≥ 0: the coefficient s of s(|w|² + 3 sin²|w|), a non-convex regulariser that every peer's
    /// objective carries whole; default 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sine: f64,
    /// Whether a constant feature 1 is appended, regularised like the others; default false.
    #[serde(default)]
    pub intercept: bool,
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl ModelConfig {
    /// R, what each of `peers` adds to its mean loss: λ = a/n of the ridge, and the sine term.
    pub fn regulariser(&self, peers: usize) -> Regulariser {
        Regulariser { ridge: self.regularisation / peers as f64, sine: self.sine }
    }

    /// Everything that is wrong with it: (field, what was expected); `none` says whether a problem
    /// without regularisation makes sense.
    pub fn check(&self, none: bool) -> Vec<(String, String)> {
        let (a, s) = (self.regularisation, self.sine);
        let mut problems = Vec::new();
        if !((a > 0.0 || none && a == 0.0) && a <= 1e12) {
            let message = if none {
                format!("expected a number from 0, found {a}")
            } else {
                format!(
                    "expected a number above 0, without which the optimum may lie at infinity, \
                     found {a}"
                )
            };
            problems.push(("regularisation".to_string(), message));
        }
        if !(0.0..f64::INFINITY).contains(&s) {
            problems
                .push(("sine".to_string(), format!("expected a finite number from 0, found {s}")));
        }
        problems
    }
}
