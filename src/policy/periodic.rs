//! A global step at every h-th visit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Action, Policy, Visit};
use crate::random::Stream;

/// Global at every h-th visit of the peer, Local between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Periodic {
    /// h, the visits from one global step to the next, at least 1; the first is the h-th visit.
    pub every: u32,
}

impl Policy for Periodic {
    fn decide(&mut self, visit: &Visit<'_>, _: &mut Stream) -> Action {
        if (visit.number + 1).is_multiple_of(self.every) { Action::Global } else { Action::Local }
    }
}
