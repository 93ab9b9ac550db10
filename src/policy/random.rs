//! A coin at every visit.

use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Action, Policy, Visit};
use crate::random::Stream;

/// Global with a fixed probability, independently at every visit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Random {
    /// The probability of Global, 0 to 1.
    pub global: f64,
}

impl Policy for Random {
    fn decide(&mut self, _: &Visit<'_>, stream: &mut Stream) -> Action {
        if stream.random::<f64>() < self.global { Action::Global } else { Action::Local }
    }
}
