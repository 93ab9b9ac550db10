//! The scenario's `model:` section.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::loss::Loss;

/// The linear model that the peers fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The loss of one sample: `logistic` for classes, `squared` for real targets.
    pub loss: Loss,
    /// a > 0: the peers minimise Σ_i (mean loss of peer i) + (a/2)|w|², and each carries λ = a/n of it.
    /// 0 is allowed for `walk-sgd` alone, whose steps need no optimum to exist.
    pub regularisation: f64,
    /// Whether a constant feature 1 is appended, regularised like the others; default false.
    #[serde(default)]
    pub intercept: bool,
}

impl ModelConfig {
    /// Everything that is wrong with it: (field, what was expected); `none` says whether a problem
    /// without regularisation makes sense.
    pub fn check(&self, none: bool) -> Vec<(String, String)> {
        let a = self.regularisation;
        if (a > 0.0 || none && a == 0.0) && a <= 1e12 {
            return Vec::new();
        }
        let message = if none {
            format!("expected a number from 0, found {a}")
        } else {
            format!(
                "expected a number above 0, without which the optimum may lie at infinity, found {a}"
            )
        };
        vec![("regularisation".to_string(), message)]
    }
}
