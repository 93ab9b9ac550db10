//! Global where the global model is the better one on the batch at hand.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::exploration::explore;
use super::{Action, Policy, Visit};
use crate::random::Stream;

/// Global if and only if the loss of w^G on the batch is less than that of w^L.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Threshold {
    /// The probability that a fair coin decides instead, 0 to 1. Default 0: then a peer whose own
    /// model once is the better one may never leave it.
    pub exploration: f64,
}

impl Policy for Threshold {
    fn decide(&mut self, visit: &Visit<'_>, stream: &mut Stream) -> Action {
        // Of the negative losses the larger: a tie keeps local.
        explore(
            self.exploration,
            Action::of_larger([-visit.local_loss, -visit.global_loss]),
            stream,
        )
    }
}
