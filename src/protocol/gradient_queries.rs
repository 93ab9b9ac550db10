//! DP gradient queries.
//!
//! Wu, Farokhi, Smith, Kaafar, "The value of collaboration in convex machine learning with
//! differential privacy" (2019). A learner asks owners for gradients; owner l with n_l records answers
//!
//! ```text
//! Q_l = (1/n_l) Σ ∇ℓ + noise:   Laplace(2ΞQ/(n_l ε_l)), |∇ℓ|₁ ≤ Ξ, Q queries;   or Gaussian
//! ```
//!
//! and with weights w_l, n_l/n as published, R the learner's own term, for k = 1 … T − 1:
//!
//! ```text
//! Algorithm 1:  θ ← θ − s_k(∇R(θ) + Σ_l w_l Q_l(θ))
//! Algorithm 2:  θ̄ ← ((k − 1)θ̄ + (a + 1)θ)/(a + k),  a = 1/√T;   then   θ ← Π(θ − (c₁/√k)(∇R(θ) + Σ_l w_l Q_l(θ)))
//! ```
//!
//! Π projects onto the box |θ|_∞ ≤ θ_max. As published, T queries are paid for and T − 1 are used. The
//! published steps of Algorithm 1, ρ/(T²k), hardly move; ρ/k and constant steps do.
//!
//! Answers are private when they leave an owner, so that relays may add them up on their way. An owner
//! that is the learner and adds no noise of its own leaks what the others can subtract: with two owners
//! its gradient, exactly.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::own_loss::{OwnLoss, Problem, scaled};
use super::party::{Addend, Learner, Say, SumConfig};
use super::per_peer::PerPeer;
use super::weights::check_positive;
use crate::data::LocalData;
use crate::learn::axpy;
use crate::network::Context;
use crate::privacy::{Mechanism, Records, Relation, Sensitivity, in_the_clear, noisy};
use crate::random::Draws;
use crate::units::Round;

/// The scenario's `protocol.gradient-queries` section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GradientQueriesConfig {
    /// T − 1, how often the learner updates its model, at least 1.
    pub updates: u32,
    /// What the learner does with the answers.
    pub algorithm: Algorithm,
    /// The noise of the answers; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<QueryNoise>,
    /// Whether one more query than is used is answered and paid for, as published; default false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spare_query: bool,
    /// θ_max: models are projected onto the box |θ|_∞ ≤ θ_max; default: they are not.
    #[serde(default, rename = "box", skip_serializing_if = "Option::is_none")]
    pub side: Option<f64>,
    /// The slope of the loss of every sample, for `squared` its residual, is cut to this; default: it
    /// is not. The `squared` loss needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residual: Option<f64>,
    /// The weights of the owners; default `samples`, n_l/n.
    #[serde(default)]
    pub weights: QueryWeights,
    /// Whether a learner that holds samples itself adds noise to its own gradient; default true. As
    /// published it does not, and leaks.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub learner_noise: bool,
    /// How many learners there are, 1 (default) to 1,000, and no more than peers. With a trajectory each,
    /// peer i is scored by that of learner i mod their number.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub learners: u32,
    /// Whether several learners ask the same queries or each its own; default `shared`. Owners pay for
    /// each of several trajectories.
    #[serde(default)]
    pub trajectory: Trajectory,
    /// How answers come together.
    #[serde(default)]
    pub sum: SumConfig,
}

/// The most learners; there are no more than peers either.
const MOST_LEARNERS: usize = 1000;

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(value: &u32) -> bool {
    *value == 1
}

/// What the learner does with the answers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Algorithm {
    /// Algorithm 1: gradient descent, the last model.
    Descent(QueryStep),
    /// Algorithm 2 with steps c₁/√k, c₁ given: the running average of the models.
    Averaged(f64),
}

/// s_k, the steps of Algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueryStep {
    /// s_k = s; at most 1/smoothness.
    Constant(f64),
    /// s_k = ρ/k.
    Inverse(f64),
    /// s_k = ρ/(T²k), as published: it never gets far.
    Published(f64),
}

impl Algorithm {
    /// The step of update k, of T − 1.
    pub fn step(self, k: u32, updates: u32) -> f64 {
        let k = f64::from(k);
        match self {
            Self::Averaged(c) => c / k.sqrt(),
            Self::Descent(QueryStep::Constant(s)) => s,
            Self::Descent(QueryStep::Inverse(rho)) => rho / k,
            Self::Descent(QueryStep::Published(rho)) => {
                let t = f64::from(updates) + 1.0;
                rho / (t * t * k)
            }
        }
    }
}

/// The noise of answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryNoise {
    /// Its law.
    pub mechanism: QueryMechanism,
    /// ε_l that a record of owner l may lose over all queries of one trajectory, above 0: one for all
    /// peers, or a list with one for each.
    pub epsilon: PerPeer,
}

/// The law of the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueryMechanism {
    /// As published: pure ε, which grows with the number of queries.
    Laplace,
    /// By exact composition at the scenario's δ: ε grows with its root.
    Gaussian,
}

/// The weights of the owners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueryWeights {
    /// n_l/n, as published.
    #[default]
    Samples,
    /// ∝ (n_l ε_l)²: small and cautious owners, whose answers are the noisiest, count for little.
    Precision,
}

/// How several learners ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trajectory {
    /// One model, which all of them read.
    #[default]
    Shared,
    /// Each asks at its own model and gets answers of its own.
    Separate,
}

impl GradientQueriesConfig {
    /// Queries that each learner pays for.
    pub fn queries(&self) -> u32 {
        self.updates.saturating_add(self.spare_query.into())
    }

    /// How many models are asked at.
    pub fn trajectories(&self) -> u32 {
        match self.trajectory {
            Trajectory::Shared => 1,
            Trajectory::Separate => self.learners,
        }
    }

    /// What an owner with so many samples and this ε counts, beside the others: its weight, times what all
    /// count together.
    pub fn counts(&self, samples: usize, epsilon: f64) -> f64 {
        match self.weights {
            QueryWeights::Samples => samples as f64,
            QueryWeights::Precision => (samples as f64 * epsilon).powi(2),
        }
    }

    /// Everything that is wrong with it: (field, what was expected).
    pub fn check(&self, peers: Option<usize>) -> Vec<(String, String)> {
        let mut problems = self.sum.check(false, peers);
        let mut add = |field: &str, message: String| problems.push((field.to_string(), message));
        if self.updates == 0 {
            add("updates", "expected at least 1 update, found 0".to_string());
        }
        let (field, step) = match self.algorithm {
            Algorithm::Averaged(c) => ("algorithm.averaged", c),
            Algorithm::Descent(QueryStep::Constant(s)) => ("algorithm.descent.constant", s),
            Algorithm::Descent(QueryStep::Inverse(rho)) => ("algorithm.descent.inverse", rho),
            Algorithm::Descent(QueryStep::Published(rho)) => ("algorithm.descent.published", rho),
        };
        check_positive(field, Some(step), &mut add);
        check_positive("box", self.side, &mut add);
        check_positive("residual", self.residual, &mut add);
        let most = peers.unwrap_or(MOST_LEARNERS).min(MOST_LEARNERS);
        if !(1..=most).contains(&(self.learners as usize)) {
            add("learners", format!("expected 1 to {most} learners, found {}", self.learners));
        }
        if self.weights == QueryWeights::Precision && self.noise.is_none() {
            let message = "weights by precision need the owners' ε: expected `samples`, or `noise`";
            add("weights", message.to_string());
        }
        if let Some(noise) = &self.noise {
            for (place, text) in noise.epsilon.check(1e-9..=1e9, peers) {
                add(&format!("noise.epsilon{place}"), text);
            }
        }
        problems
    }
}

/// What the owners of one run have in common.
#[derive(Clone, Debug)]
pub struct QueryParameters {
    /// The problem; its moves are in the norm of the mechanism.
    pub problem: Problem,
    /// What the learner does.
    pub algorithm: Algorithm,
    /// T − 1.
    pub updates: u32,
    /// Queries that are answered.
    pub queries: u32,
    /// θ_max.
    pub side: Option<f64>,
    /// Models that are asked at.
    pub trajectories: u32,
    /// Where the noise comes from.
    pub draws: Draws,
}

/// Owner l.
#[derive(Debug)]
pub struct QueryLearner {
    own: OwnLoss,
    /// w_l.
    weight: f64,
    /// The noise of an answer; none for one in the clear.
    mechanism: Option<Mechanism>,
    /// Which trajectory is scored at this peer.
    scored: usize,
    /// θ̄ of every trajectory.
    average: Vec<f64>,
    parameters: Arc<QueryParameters>,
}

impl QueryLearner {
    /// The owner with these samples. The learner number k is peer k.
    pub fn new(
        id: usize,
        data: LocalData,
        weight: f64,
        mechanism: Option<Mechanism>,
        parameters: Arc<QueryParameters>,
    ) -> Self {
        let own = OwnLoss::new(data, parameters.problem);
        let trajectories = parameters.trajectories as usize;
        let average = match parameters.algorithm {
            Algorithm::Averaged(_) => vec![0.0; own.dimension() * trajectories],
            Algorithm::Descent(_) => Vec::new(),
        };
        Self { own, weight, mechanism, scored: id % trajectories, average, parameters }
    }

    /// How far the answers to all trajectories move together.
    fn moves(&self, mechanism: Mechanism) -> Sensitivity {
        let trajectories = f64::from(self.parameters.trajectories);
        scaled(
            self.own.moves(),
            match mechanism {
                Mechanism::Gaussian { .. } => trajectories.sqrt(),
                Mechanism::Laplace { .. } => trajectories,
            },
        )
    }
}

impl Learner for QueryLearner {
    fn rounds(&self) -> Round {
        Round(self.parameters.queries)
    }

    fn length(&self) -> usize {
        self.own.dimension() * self.parameters.trajectories as usize
    }

    fn contribute(
        &mut self,
        round: Round,
        theta: &[f64],
        context: &mut Context<'_, Say>,
    ) -> Addend {
        if self.own.samples() == 0 {
            return Addend::nothing(theta.len());
        }
        let d = self.own.dimension();
        let mut answers = Vec::with_capacity(theta.len());
        for theta in theta.chunks_exact(d) {
            answers.extend_from_slice(self.own.gradient(theta));
            context.spend(self.own.samples() as f64);
        }
        let answer = match self.mechanism {
            None => in_the_clear(answers.into(), self.own.problem().unprotected),
            Some(mechanism) => {
                let draw = self.parameters.draws.at(context.me().0.into(), u64::from(round.0));
                let moves = self.moves(mechanism);
                let (all, relation) = (Records::All, Relation::ReplaceOne);
                noisy(answers.into(), mechanism, moves, all, relation, draw)
            }
        };
        Addend::Released(answer.times_public(self.weight))
    }

    fn update(&mut self, round: Round, sum: &[f64], theta: &mut [f64]) {
        let QueryParameters { problem, algorithm, updates, side, .. } = &*self.parameters;
        if round.0 > *updates {
            // The spare query.
            return;
        }
        let step = algorithm.step(round.0, *updates);
        let d = self.own.dimension();
        let mut direction = sum.to_vec();
        for (theta, direction) in theta.chunks_exact_mut(d).zip(direction.chunks_exact_mut(d)) {
            problem.regulariser.add_gradient(theta, direction);
            axpy(-step, direction, theta);
        }
        if let Some(side) = side {
            theta.iter_mut().for_each(|value| *value = value.clamp(-side, *side));
        }
    }

    fn leave(&mut self, round: Round, theta: &[f64]) {
        if round.0 > self.parameters.updates {
            return;
        }
        let k = f64::from(round.0);
        let a = 1.0 / (f64::from(self.parameters.updates) + 1.0).sqrt();
        for (mean, theta) in self.average.iter_mut().zip(theta) {
            *mean = ((k - 1.0) * *mean + (a + 1.0) * theta) / (a + k);
        }
    }

    fn scored<'a>(&'a self, theta: &'a [f64]) -> &'a [f64] {
        let models = if self.average.is_empty() { theta } else { &self.average };
        let d = self.own.dimension();
        &models[self.scored * d..][..d]
    }

    fn work(&self) -> u64 {
        self.own.samples() as u64 * u64::from(self.parameters.trajectories)
    }
}
