//! The ε-greedy bandit: two actions, a mean reward each, no state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::exploration::explore;
use super::{Action, Exploration, Policy, Reward, Visit};
use crate::random::Stream;

/// The action with the larger mean reward so far.
///
/// Whose reward is what:
/// - `before`: the loss before an action cannot be its doing. The action of a visit is credited with
///   −(loss of w^L on the batch of the peer's *next* visit, before the action there), as soon as that
///   visit comes. The loss at the first visit is nobody's, and the last action gets nothing.
/// - `after` and `gain`: from the losses on the batch of the visit itself, credited at once.
///
/// An action that never was rewarded comes before one that was, Local before Global; so does Local on
/// a tie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bandit {
    /// What an action is rewarded with. Default `before`.
    pub reward: Reward,
    /// The step of the means: mean ← mean + step·(reward − mean), above 0 to 1, after a first reward
    /// that is taken whole. Absent (the default), they are plain means over all rewards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// How often a coin decides. Default 0.1 at every visit.
    pub exploration: Exploration,
}

impl Default for Bandit {
    fn default() -> Self {
        Self { reward: Reward::Before, step: None, exploration: Exploration::Constant(0.1) }
    }
}

/// A bandit at work.
#[derive(Debug)]
pub(super) struct Learner {
    config: Bandit,
    /// The mean reward of Local and of Global, infinite before the first.
    pub(super) means: [f64; 2],
    rewards: [u32; 2],
    /// The action of the latest visit, and the loss before it.
    latest: Option<(Action, f64)>,
}

impl Learner {
    pub(super) fn new(config: Bandit) -> Self {
        Self { config, means: [f64::INFINITY; 2], rewards: [0; 2], latest: None }
    }

    fn credit(&mut self, action: Action, reward: f64) {
        let (mean, rewards) =
            (&mut self.means[action as usize], &mut self.rewards[action as usize]);
        *rewards += 1;
        if *rewards == 1 {
            *mean = reward;
        } else {
            *mean += self.config.step.unwrap_or(1.0 / f64::from(*rewards)) * (reward - *mean);
        }
    }
}

impl Policy for Learner {
    fn decide(&mut self, visit: &Visit<'_>, stream: &mut Stream) -> Action {
        if let (Reward::Before, Some((action, _))) = (self.config.reward, self.latest) {
            self.credit(action, -visit.local_loss);
        }
        let p = self.config.exploration.at(visit.number, visit.of);
        let action = explore(p, Action::of_larger(self.means), stream);
        self.latest = Some((action, visit.local_loss));
        action
    }

    fn learn(&mut self, loss_after: f64) {
        if let (true, Some((action, before))) = (self.config.reward.needs_after(), self.latest) {
            self.credit(action, self.config.reward.of(before, loss_after));
        }
    }
}
