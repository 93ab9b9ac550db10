//! The scenario's `measure:` section.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is measured, how often, and when the run may stop early.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasureConfig {
    /// Groups of figures; default all of them.
    pub what: Vec<What>,
    /// Every how many rounds, at least 1 (default); the first and the last are measured in any
    /// case.
    pub every: u32,
    /// Stop once every figure named here is below its tolerance; default: run all rounds.
    pub stop: Option<StopConfig>,
}

impl Default for MeasureConfig {
    fn default() -> Self {
        Self {
            what: vec![What::Consensus, What::Optimum, What::Risk, What::Train, What::Test],
            every: 1,
            stop: None,
        }
    }
}

/// A group of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// How far the peers' models are from each other, and the dual residual.
    Consensus,
    /// How far they are from the central optimum, which is solved once per repeat.
    Optimum,
    /// Each peer's objective on its own samples.
    Risk,
    /// Each peer's model on its own samples.
    Train,
    /// Each peer's model on the held-out samples, where there are any.
    Test,
}

/// When to stop. The rule is applied by the measurement, which sees all peers: a deployment would
/// need a protocol of its own for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopConfig {
    /// Largest distance of a peer's model to the mean.
    pub consensus_gap: f64,
    /// Largest dual residual of a peer.
    pub dual_residual: f64,
}

impl MeasureConfig {
    /// Whether a group is asked for.
    pub fn has(&self, what: What) -> bool {
        self.what.contains(&what)
    }

    /// Everything that is wrong with it: (field, what was expected).
    pub fn check(&self) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        if self.every == 0 {
            problems.push(("every".to_string(), "expected at least 1 round".to_string()));
        }
        if let Some(stop) = self.stop {
            for (field, value) in
                [("consensus_gap", stop.consensus_gap), ("dual_residual", stop.dual_residual)]
            {
                if !(value > 0.0 && value.is_finite()) {
                    problems.push((
                        format!("stop.{field}"),
                        format!("expected a tolerance above 0, found {value}"),
                    ));
                }
            }
            if !self.has(What::Consensus) {
                problems.push((
                    "what".to_string(),
                    "expected `consensus` in the list, since `stop` looks at it".to_string(),
                ));
            }
        }
        problems
    }
}
