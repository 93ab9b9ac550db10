//! The scenario's `measure:` section.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is measured, how often, and when the run may stop early.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasureConfig {
    /// Groups of figures; default all of them.
    pub what: Vec<What>,
    /// Every how many rounds, at least 1; the first and the last are measured in any case. Default 1,
    /// beyond 1,000 peers so many that measuring costs no more than the rounds, and a fiftieth of all
    /// updates where the rounds are a token's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
    /// How many peers, evenly chosen, are scored on held-out samples, at least 1. Default all and, beyond
    /// 1,000 peers, as many as 10⁹ multiply-adds score in a row of figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_peers: Option<u32>,
    /// Stop once every tolerance named here is met, or before the privacy budget is exceeded;
    /// default: run all rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopConfig>,
}

impl Default for MeasureConfig {
    fn default() -> Self {
        Self {
            what: vec![
                What::Consensus,
                What::Optimum,
                What::Risk,
                What::Train,
                What::Test,
                What::Privacy,
                What::Walk,
            ],
            every: None,
            test_peers: None,
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
    /// How far they are from the central optimum, which is solved once per repeat: of the problem as
    /// the peers solve it and, where that is perturbed, of the one without perturbation.
    Optimum,
    /// Each peer's objective on its own samples.
    Risk,
    /// Each peer's model on its own samples.
    Train,
    /// Each peer's model on the held-out samples, where there are any.
    Test,
    /// ε so far, where a mechanism protects anything.
    Privacy,
    /// The running average w̄_i(t) of each peer's models, which theorems speak of: its risk, its
    /// held-out score, and its objective above the optimum. For ADMM and, of the token's iterates, for
    /// random walks; not among the default.
    Average,
    /// Where tokens went and what peers decided, where there are tokens.
    Walk,
}

/// When to stop. Tolerances are looked at by the measurement, which sees all peers: a deployment
/// would need a protocol of its own for it. The budget is kept by each peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StopConfig {
    /// Largest distance of a peer's model to the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consensus_gap: Option<f64>,
    /// Largest dual residual of a peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dual_residual: Option<f64>,
    /// The ε, at `privacy.delta`, that no peer spends more than on any of its records: the run ends
    /// before the release that would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
}

impl StopConfig {
    /// Whether it looks at the peers' states.
    pub fn has_tolerance(&self) -> bool {
        self.consensus_gap.is_some() || self.dual_residual.is_some()
    }
}

impl MeasureConfig {
    /// Whether a group is asked for.
    pub fn has(&self, what: What) -> bool {
        self.what.contains(&what)
    }

    /// Everything that is wrong with it: (field, what was expected).
    pub fn check(&self) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        if self.every == Some(0) {
            problems.push(("every".to_string(), "expected at least 1 round".to_string()));
        }
        if self.test_peers == Some(0) {
            problems.push(("test_peers".to_string(), "expected at least 1 peer".to_string()));
        }
        if let Some(stop) = self.stop {
            for (field, value) in [
                ("consensus_gap", stop.consensus_gap),
                ("dual_residual", stop.dual_residual),
                ("epsilon", stop.epsilon),
            ] {
                if let Some(value) = value.filter(|value| !(*value > 0.0 && value.is_finite())) {
                    problems.push((
                        format!("stop.{field}"),
                        format!("expected a number above 0, found {value}"),
                    ));
                }
            }
            if stop == StopConfig::default() {
                let message = "expected `consensus_gap`, `dual_residual` or `epsilon`";
                problems.push(("stop".to_string(), message.to_string()));
            }
            if stop.has_tolerance() && !self.has(What::Consensus) {
                problems.push((
                    "what".to_string(),
                    "expected `consensus` in the list, since `stop` looks at it".to_string(),
                ));
            }
        }
        problems
    }
}
