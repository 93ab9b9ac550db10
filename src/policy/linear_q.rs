//! Q-learning with a linear function of the state, without replay.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::exploration::explore;
use super::{Action, Exploration, Policy, Reward, Visit};
use crate::learn::{axpy, dot};
use crate::random::Stream;

/// The action with the larger Q(s, a) = θ_aᵀ[s, 1], s = [w^L, loss of w^L on the batch].
///
/// When the peer is visited again, in state s′, one semi-gradient step is made for the visit before:
/// θ_a ← θ_a + α(r + γ max_a′ Q(s′, a′) − Q(s, a))[s, 1], from θ = 0. Steps with α|[s, 1]|² ≥ 2
/// overshoot.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinearQ {
    /// What an action is rewarded with. Default `before`.
    pub reward: Reward,
    /// α, above 0 to 1. Default 0.01.
    pub learning_rate: f64,
    /// γ, what a reward of the next visit is worth at this one, 0 to 1. Default 0.9.
    pub discount: f64,
    /// How often a coin decides. Default from 1 to 0.1 over the first half of the visits.
    pub exploration: Exploration,
}

impl Default for LinearQ {
    fn default() -> Self {
        Self {
            reward: Reward::Before,
            learning_rate: 0.01,
            discount: 0.9,
            exploration: Exploration::default(),
        }
    }
}

impl LinearQ {
    /// Bytes per peer and task in dimension d: θ for two actions and two feature vectors.
    pub(super) fn memory(dimension: usize) -> usize {
        size_of::<Learner>() + 4 * size_of::<f64>() * (dimension + 2)
    }
}

/// A linear Q-learner at work.
#[derive(Debug)]
pub(super) struct Learner {
    config: LinearQ,
    /// θ of Local and of Global.
    theta: [Vec<f64>; 2],
    /// [s, 1] of this visit and of the one before.
    features: Vec<f64>,
    previous: Vec<f64>,
    /// The action and the reward of the visit before.
    outcome: Option<(Action, f64)>,
}

impl Learner {
    pub(super) fn new(config: LinearQ, dimension: usize) -> Self {
        let zeros = || vec![0.0; dimension + 2];
        Self {
            config,
            theta: [zeros(), zeros()],
            features: zeros(),
            previous: zeros(),
            outcome: None,
        }
    }

    /// Q of both actions in the state of the latest visit.
    pub(super) fn values(&self) -> [f64; 2] {
        self.theta.each_ref().map(|theta| dot(theta, &self.features))
    }
}

impl Policy for Learner {
    fn decide(&mut self, visit: &Visit<'_>, stream: &mut Stream) -> Action {
        std::mem::swap(&mut self.features, &mut self.previous);
        let d = visit.local.len();
        self.features[..d].copy_from_slice(visit.local);
        self.features[d..].copy_from_slice(&[visit.local_loss, 1.0]);
        if let Some((action, reward)) = self.outcome {
            let [local, global] = self.values();
            let theta = &mut self.theta[action as usize];
            let error =
                reward + self.config.discount * local.max(global) - dot(theta, &self.previous);
            axpy(self.config.learning_rate * error, &self.previous, theta);
        }
        let p = self.config.exploration.at(visit.number, visit.of);
        let action = explore(p, Action::of_larger(self.values()), stream);
        self.outcome = Some((action, self.config.reward.of(visit.local_loss, f64::NAN)));
        action
    }

    fn learn(&mut self, loss_after: f64) {
        let before = self.features[self.features.len() - 2];
        if let Some((_, reward)) = &mut self.outcome {
            *reward = self.config.reward.of(before, loss_after);
        }
    }

    fn memory(&self) -> usize {
        LinearQ::memory(self.features.len() - 2)
    }
}
