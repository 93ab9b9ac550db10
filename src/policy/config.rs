//! A policy as it is written in a scenario.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::always::Always;
use super::final_global::FinalGlobal;
use super::{
    Action, Adam, Bandit, DeepQ, Exploration, LinearQ, Needs, Periodic, Policy, Random, Threshold,
    bandit, deep_q, exploration, linear_q,
};
use crate::random::Stream;

/// How a visited peer chooses between its own model and the global one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum PolicyConfig {
    /// The global model at every visit.
    AlwaysGlobal,
    /// The private model at every visit: nothing is ever released.
    AlwaysLocal,
    /// A coin at every visit.
    Random(Random),
    /// The global model at every h-th visit of the peer.
    Periodic(Periodic),
    /// The global model at the peer's last visit, the private one before.
    FinalGlobal,
    /// The global model where its loss on the batch is less. Looks at private data.
    Threshold(Threshold),
    /// The action with the larger mean reward. Looks at private data.
    Bandit(Bandit),
    /// Q-learning with a linear function of the state. Looks at private data.
    LinearQ(LinearQ),
    /// Q-learning with a net. Looks at private data.
    DeepQ(DeepQ),
}

impl PolicyConfig {
    /// The policy of one peer and task for models of this dimension; its first weights, where it has
    /// drawn ones, come from the stream.
    pub fn build(&self, dimension: usize, stream: &mut Stream) -> Box<dyn Policy> {
        match *self {
            Self::AlwaysGlobal => Box::new(Always(Action::Global)),
            Self::AlwaysLocal => Box::new(Always(Action::Local)),
            Self::Random(random) => Box::new(random),
            Self::Periodic(periodic) => Box::new(periodic),
            Self::FinalGlobal => Box::new(FinalGlobal),
            Self::Threshold(threshold) => Box::new(threshold),
            Self::Bandit(bandit) => Box::new(bandit::Learner::new(bandit)),
            Self::LinearQ(linear) => Box::new(linear_q::Learner::new(linear, dimension)),
            Self::DeepQ(deep) => Box::new(deep_q::Learner::new(deep, dimension, stream)),
        }
    }

    /// The policy, as it is written in a scenario.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AlwaysGlobal => "always-global",
            Self::AlwaysLocal => "always-local",
            Self::Random(_) => "random",
            Self::Periodic(_) => "periodic",
            Self::FinalGlobal => "final-global",
            Self::Threshold(_) => "threshold",
            Self::Bandit(_) => "bandit",
            Self::LinearQ(_) => "linear-q",
            Self::DeepQ(_) => "deep-q",
        }
    }

    /// Which losses it has to be given.
    pub fn needs(&self) -> Needs {
        let (local_loss, global_loss, after) = match self {
            Self::AlwaysGlobal
            | Self::AlwaysLocal
            | Self::Random(_)
            | Self::Periodic(_)
            | Self::FinalGlobal => (false, false, false),
            Self::Threshold(_) => (true, true, false),
            // Its means are of rewards alone: see `Reward`.
            Self::Bandit(Bandit { reward, .. }) => {
                (*reward != super::Reward::After, false, reward.needs_after())
            }
            Self::LinearQ(LinearQ { reward, .. }) | Self::DeepQ(DeepQ { reward, .. }) => {
                (true, false, reward.needs_after())
            }
        };
        Needs { local_loss, global_loss, after }
    }

    /// Whether a decision may depend on private data, so that when a release happens tells of it.
    pub fn looks_at_data(&self) -> bool {
        self.needs() != Needs::default()
    }

    /// How often a policy that looks at data tosses a coin.
    fn exploration(&self) -> Option<Exploration> {
        match self {
            Self::AlwaysGlobal
            | Self::AlwaysLocal
            | Self::Random(_)
            | Self::Periodic(_)
            | Self::FinalGlobal => None,
            Self::Threshold(threshold) => Some(Exploration::Constant(threshold.exploration)),
            Self::Bandit(bandit) => Some(bandit.exploration),
            Self::LinearQ(linear) => Some(linear.exploration),
            Self::DeepQ(deep) => Some(deep.exploration),
        }
    }

    /// The ε of one decision on its own, for a policy that looks at data: ln((2 − p)/p) at its least
    /// exploration p, infinite at p = 0. It says nothing of many decisions together.
    pub fn decision_epsilon(&self) -> Option<f64> {
        self.exploration().map(|exploration| exploration::decision_epsilon(exploration.least()))
    }

    /// The ε of all decisions of one peer about one task in so many visits, for a policy that looks at data: whatever
    /// went before, each is randomised response, so that their ln((2 − p)/p) add up. Of very many visits it is a
    /// bound: every one as at the least exploration.
    pub fn decisions_epsilon(&self, visits: u64) -> Option<f64> {
        const SUMMED: u32 = 1 << 16;
        let exploration = self.exploration()?;
        Some(match u32::try_from(visits) {
            Ok(visits) if visits <= SUMMED => (0..visits)
                .map(|number| exploration::decision_epsilon(exploration.at(number, visits)))
                .sum(),
            _ => visits as f64 * exploration::decision_epsilon(exploration.least()),
        })
    }

    /// How many of so many visits of one peer and task are expected to be Global, where it does not
    /// depend on data.
    pub fn releases(&self, visits: u32) -> Option<f64> {
        match self {
            Self::AlwaysGlobal => Some(f64::from(visits)),
            Self::AlwaysLocal => Some(0.0),
            Self::Random(random) => Some(random.global * f64::from(visits)),
            Self::Periodic(periodic) => Some(f64::from(visits / periodic.every)),
            Self::FinalGlobal => Some(f64::from(visits.min(1))),
            Self::Threshold(_) | Self::Bandit(_) | Self::LinearQ(_) | Self::DeepQ(_) => None,
        }
    }

    /// Bytes per peer and task.
    pub fn memory(&self, dimension: usize) -> usize {
        match self {
            Self::AlwaysGlobal | Self::AlwaysLocal => size_of::<Always>(),
            Self::Random(_) => size_of::<Random>(),
            Self::Periodic(_) => size_of::<Periodic>(),
            Self::FinalGlobal => 0,
            Self::Threshold(_) => size_of::<Threshold>(),
            Self::Bandit(_) => size_of::<bandit::Learner>(),
            Self::LinearQ(_) => LinearQ::memory(dimension),
            Self::DeepQ(deep) => deep.memory(dimension),
        }
    }

    /// What the privacy statement has to say of a policy that looks at data.
    pub fn declaration(&self) -> Option<String> {
        let p = self.exploration()?.least();
        let alone = match exploration::decision_epsilon(p) {
            epsilon if epsilon.is_finite() => format!(
                "with exploration of at least p = {p}, one decision on its own is randomised response \
                 of ε = ln((2 − p)/p) = {epsilon:.2}, and many together tell more"
            ),
            _ => "with exploration p = 0, ε = ln((2 − p)/p) of one decision on its own is infinite"
                .to_string(),
        };
        Some(format!(
            "{}: when a release happens depends on private data, which the accounting does not cover; \
             {alone}",
            self.name()
        ))
    }

    /// Everything that is wrong with it: (field, what was expected).
    pub fn check(&self) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        let mut expect =
            |field: &str, holds: bool, expected: &str, found: &dyn std::fmt::Display| {
                if !holds {
                    let message = format!("expected {expected}, found {found}");
                    problems.push((format!("{}.{field}", self.name()), message));
                }
            };
        let is_share = |share: f64| (0.0..=1.0).contains(&share);
        let is_rate = |rate: f64| rate > 0.0 && rate <= 1.0;
        let (share, rate) = ("a number from 0 to 1", "a number above 0, at most 1");
        let schedule = match self {
            Self::AlwaysGlobal | Self::AlwaysLocal | Self::FinalGlobal => None,
            Self::Random(Random { global }) => {
                expect("global", is_share(*global), share, global);
                None
            }
            Self::Periodic(Periodic { every }) => {
                expect("every", *every >= 1, "at least 1 visit", every);
                None
            }
            Self::Threshold(Threshold { exploration }) => {
                expect("exploration", is_share(*exploration), share, exploration);
                None
            }
            Self::Bandit(Bandit { reward: _, step, exploration }) => {
                if let Some(step) = step {
                    expect("step", is_rate(*step), rate, step);
                }
                Some(exploration)
            }
            Self::LinearQ(LinearQ { reward: _, learning_rate, discount, exploration }) => {
                expect("learning_rate", is_rate(*learning_rate), rate, learning_rate);
                expect("discount", is_share(*discount), share, discount);
                Some(exploration)
            }
            Self::DeepQ(deep) => {
                let DeepQ { hidden, adam, replay, batch, target_every, discount, .. } = deep;
                let Adam { learning_rate, mean_decay, square_decay, floor } = adam;
                expect("hidden", (1..=10_000).contains(hidden), "1 to 10000 units", hidden);
                expect("adam.learning_rate", is_rate(*learning_rate), rate, learning_rate);
                let decay = "a number from 0 to below 1";
                expect("adam.mean_decay", (0.0..1.0).contains(mean_decay), decay, mean_decay);
                expect("adam.square_decay", (0.0..1.0).contains(square_decay), decay, square_decay);
                let tiny = (1e-12..=1.0).contains(floor);
                expect("adam.floor", tiny, "a number from 1e-12 to 1", floor);
                let (many, few) = ("1 to 100000 transitions", "1 to 10000 transitions");
                expect("replay", (1..=100_000).contains(replay), many, replay);
                expect("batch", (1..=10_000).contains(batch), few, batch);
                expect("target_every", *target_every >= 1, "at least 1 update", target_every);
                expect("discount", is_share(*discount), share, discount);
                Some(&deep.exploration)
            }
        };
        let wrong = schedule.into_iter().flat_map(|exploration| exploration.check());
        problems.extend(
            wrong.map(|(at, message)| (format!("{}.exploration{at}", self.name()), message)),
        );
        problems
    }
}
