//! What an action is rewarded with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reward of an action. All losses are those of w^L on the batch of the visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reward {
    /// −(loss before the action), as published: an action shows in the rewards of later visits alone.
    /// The default.
    #[default]
    Before,
    /// −(loss after the action).
    After,
    /// (loss before) − (loss after).
    Gain,
}

impl Reward {
    /// Whether the loss after the action is a part of it.
    pub(super) fn needs_after(self) -> bool {
        self != Self::Before
    }

    /// The reward from both losses; `after` counts only where it is needed.
    pub(super) fn of(self, before: f64, after: f64) -> f64 {
        match self {
            Self::Before => -before,
            Self::After => -after,
            Self::Gain => before - after,
        }
    }
}
