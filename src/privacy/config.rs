//! The scenario's `privacy:` section.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LabelsConfig;
use crate::units::Delta;

/// What users do before a peer sees their data, and how losses are stated. The noise of a protocol
/// stands in the protocol's own section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PrivacyConfig {
    /// δ, the probability at which every ε is stated; above 0, below 1; default 1e-5.
    pub delta: Delta,
    /// Labels randomised by the users themselves; default: they are handed over as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<LabelsConfig>,
}

impl Default for PrivacyConfig {
    fn default() -> Self {
        Self { delta: Delta(1e-5), labels: None }
    }
}

impl PrivacyConfig {
    /// Everything that is wrong with it: (field, what was expected). Without `peers`, what depends
    /// on their number is not checked.
    pub fn check(&self, peers: Option<usize>) -> Vec<(String, String)> {
        let labels = self.labels.iter().flat_map(|labels| labels.check(peers));
        let mut problems: Vec<_> =
            labels.map(|(field, message)| (format!("labels.{field}"), message)).collect();
        if !(self.delta.0 > 0.0 && self.delta.0 < 1.0) {
            let message =
                format!("expected a probability above 0, below 1, found {}", self.delta.0);
            problems.push(("delta".to_string(), message));
        }
        problems
    }
}
