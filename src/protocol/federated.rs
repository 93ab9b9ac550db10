//! Federated learning with K local steps between two averages.
//!
//! After Huang, and Jayaraman, Wang, Evans, Gu (2018), whose averages come after every step. L is the
//! smoothness of the regularised loss, λ its strong convexity; t = 1 … T counts local steps:
//!
//! ```text
//! θ_j ← θ_j − η_t(∇L_j(θ_j) + λθ_j + z_t),   η_t = 2/(λ(t + γ)),   γ = max(8L/λ − 1, K)
//! θ_j ← θ = Σ_j p_j θ_j     where t mod K = 0, and at T
//! ```
//!
//! with p_j = 1/m as published, or n_j/n. `published`: z_t ~ N(0, σ²) in every local step of every
//! party. `masked`: noise-free local steps and one draw on every average, inside a masked sum, of
//! deviation (Σ η of the block)·σ/√(steps of the block). Both cost the same μ² = T(D/σ)² by the claim;
//! for `masked` it is true, since no step brings two models further apart (η_t ≤ 1/(4L)).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::automatic::Automatic;
use super::own_loss::{OwnLoss, Problem, scaled};
use super::party::{Addend, Learner, Say, SumConfig};
use super::step_noise::StepNoise;
use super::weights::{LearnerNoise, Weights, check_positive};
use crate::data::LocalData;
use crate::network::Context;
use crate::privacy::{PooledNoise, Released, in_the_clear, public};
use crate::units::Round;

/// The scenario's `protocol.federated` section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FederatedConfig {
    /// Where the noise is.
    pub variant: FederatedVariant,
    /// K, local steps before each average: a whole number from 1, or `auto` (default) for the one whose
    /// predicted gap after all communications is least at this noise.
    #[serde(default)]
    pub steps: Automatic,
    /// R, how often the parties average, at least 1.
    pub communications: u32,
    /// T, all local steps, where the last block is to be shorter: above (R − 1)K, at most RK. Default RK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_steps: Option<u32>,
    /// G: the gradient of every sample is cut to this norm; default: it is not. The `squared` loss
    /// needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// The noise; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<LearnerNoise>,
    /// The weights of the parties; default `samples`. As published: `uniform`.
    #[serde(default)]
    pub weights: Weights,
    /// How the parties add up.
    #[serde(default)]
    pub sum: SumConfig,
}

/// The most local steps of a whole run.
const MOST_STEPS: u64 = 1_000_000_000;

/// Where the noise of federated learning is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FederatedVariant {
    /// In every local step of every party, at the deviation that the pooled data would need.
    Published,
    /// In every average, a part of it from every party.
    Masked,
}

impl FederatedConfig {
    /// K, where it is a number.
    pub fn local_steps(&self) -> Option<u32> {
        match self.steps {
            Automatic::Auto => None,
            Automatic::Value(steps) => Some(steps as u32),
        }
    }

    /// T, where K is a number.
    pub fn all_steps(&self) -> Option<u32> {
        let whole = self.local_steps()?.saturating_mul(self.communications);
        Some(self.total_steps.unwrap_or(whole))
    }

    /// Everything that is wrong with it: (field, what was expected).
    pub fn check(&self, peers: Option<usize>) -> Vec<(String, String)> {
        let mut problems = self.sum.check(self.variant == FederatedVariant::Masked, peers);
        let mut add = |field: &str, message: String| problems.push((field.to_string(), message));
        if self.communications == 0 {
            add("communications", "expected at least 1, found 0".to_string());
        }
        match self.steps {
            Automatic::Value(steps) if !(1.0..=1e6).contains(&steps) || steps.fract() != 0.0 => {
                let message = format!("expected `auto` or a whole number from 1, found {steps}");
                add("steps", message);
            }
            Automatic::Auto if self.total_steps.is_some() => {
                let message = "all steps are K times the communications where K is `auto`: expected \
                               none";
                add("total_steps", message.to_string());
            }
            Automatic::Auto if self.noise.is_none() => {
                let message = "without noise more local steps are always predicted to be better: \
                               expected a whole number from 1, or `noise`";
                add("steps", message.to_string());
            }
            _ => {}
        }
        let whole = u64::from(self.local_steps().unwrap_or(1)) * u64::from(self.communications);
        if whole > MOST_STEPS {
            add("steps", format!("expected at most {MOST_STEPS} steps in all, found {whole}"));
        }
        if let (Some(k), Some(total)) = (self.local_steps(), self.total_steps) {
            let least = whole.saturating_sub(k.into()) + 1;
            if !(least..=whole).contains(&u64::from(total)) {
                let message = format!("expected {least} to {whole} steps, found {total}");
                add("total_steps", message);
            }
        }
        check_positive("clip", self.clip, &mut add);
        if let Some(noise) = &self.noise {
            noise.check(self.variant == FederatedVariant::Published, &mut add);
        }
        problems
    }
}

/// The published steps η_t = 2/(λ(t + γ)), t = 1, 2, …, with γ = max(8L/λ − 1, K).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// λ, the strong convexity.
    pub strong: f64,
    /// L, the smoothness.
    pub smooth: f64,
    /// K, the steps between two communications.
    pub local_steps: u32,
}

impl Schedule {
    /// γ.
    pub fn gamma(&self) -> f64 {
        (8.0 * self.smooth / self.strong - 1.0).max(f64::from(self.local_steps))
    }

    /// η_t, for t from 1 on.
    pub fn step(&self, t: u32) -> f64 {
        2.0 / (self.strong * (f64::from(t) + self.gamma()))
    }

    /// η_1 to η_T.
    pub fn steps(&self, total: u32) -> Vec<f64> {
        (1..=total).map(|t| self.step(t)).collect()
    }
}

/// What the parties of one run have in common.
#[derive(Clone, Debug)]
pub struct FederatedParameters {
    /// The problem.
    pub problem: Problem,
    /// The variant.
    pub variant: FederatedVariant,
    /// K.
    pub local_steps: u32,
    /// T.
    pub total_steps: u32,
    /// η_t.
    pub schedule: Schedule,
    /// The noise of parties' own steps.
    pub step_noise: StepNoise,
}

impl FederatedParameters {
    /// The steps of a block: those before the r-th average.
    pub fn block(&self, round: Round) -> std::ops::RangeInclusive<u32> {
        let last = round.0.saturating_mul(self.local_steps).min(self.total_steps);
        (round.0 - 1) * self.local_steps + 1..=last
    }
}

/// Party j.
#[derive(Debug)]
pub struct FederatedLearner {
    own: OwnLoss,
    /// p_j.
    weight: f64,
    /// For a gradient step: `own` in each step, or as the party's part of what is in the mean.
    noise: PooledNoise,
    parameters: Arc<FederatedParameters>,
}

impl FederatedLearner {
    /// The party with these samples.
    pub fn new(
        data: LocalData,
        weight: f64,
        noise: PooledNoise,
        parameters: Arc<FederatedParameters>,
    ) -> Self {
        Self { own: OwnLoss::new(data, parameters.problem), weight, noise, parameters }
    }
}

impl Learner for FederatedLearner {
    fn rounds(&self) -> Round {
        Round(self.parameters.total_steps.div_ceil(self.parameters.local_steps))
    }

    fn length(&self) -> usize {
        self.own.dimension()
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
        let FederatedParameters { variant, schedule, step_noise, .. } = &*self.parameters;
        let block = self.parameters.block(round);
        let steps = f64::from(block.end() + 1 - block.start());
        context.spend(self.own.samples() as f64 * steps);
        let (weight, noise) = (self.weight, self.noise);
        if *variant == FederatedVariant::Published && noise.own > 0.0 {
            // θ is made of sums that were booked when their addends were released.
            let mut own: Released<Arc<[f64]>> = public(theta.into());
            for t in block {
                own =
                    step_noise.step(&mut self.own, own, (t, schedule.step(t), noise.own), context);
            }
            return Addend::Released(own.times_public(weight));
        }
        let (mut data, mut way) = (theta.to_vec(), 0.0);
        for t in block {
            way += schedule.step(t);
            self.own.step(schedule.step(t), &mut data);
        }
        data.iter_mut().for_each(|value| *value *= weight);
        if *variant == FederatedVariant::Published {
            return Addend::Released(in_the_clear(data.into(), self.own.problem().unprotected));
        }
        let factor = way / steps.sqrt();
        let noise = PooledNoise { own: noise.own * factor, all: noise.all * factor };
        Addend::Pooled { data, noise, sensitivity: scaled(self.own.moves(), weight * way) }
    }

    fn update(&mut self, _round: Round, sum: &[f64], theta: &mut [f64]) {
        theta.copy_from_slice(sum);
    }

    fn work(&self) -> u64 {
        self.own.samples() as u64 * u64::from(self.parameters.local_steps)
    }
}
