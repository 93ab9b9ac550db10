//! The algorithms, one file each: a [`Peer`](crate::network::Peer) to be read beside its paper.

pub mod admm;
mod inbox;
mod penalty;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use penalty::Penalty;

/// The scenario's `protocol:` section: what the peers run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolConfig {
    /// Fully distributed consensus ADMM.
    Admm(admm::AdmmConfig),
}

impl ProtocolConfig {
    /// Everything that is wrong with it: (field, what was expected).
    pub fn check(&self) -> Vec<(String, String)> {
        let Self::Admm(admm) = self;
        let problems = admm.check().into_iter();
        problems.map(|(field, message)| (format!("admm.{field}"), message)).collect()
    }
}
