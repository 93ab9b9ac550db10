//! Weighted distributed DP-ERM.
//!
//! Kang, Liu, Niu, Wang, "Weighted distributed differential privacy ERM: convex and non-convex"
//! (2021). Party j holds n_j of n records, L_j is its mean loss, R the regulariser. As published,
//!
//! ```text
//! θ_j ← θ_j − η(∇L_j(θ_j) + ∇R(θ_j) + z_t),  z_t ~ N(0, σ²),  T times;     θ = Σ_j (n_j/n + z_w,j) θ_j
//! ```
//!
//! with σ² = cG²T ln(1/δ)/(nε)². Its proof needs every party to add the same z_t to gradients at one
//! common point, neither of which is so: the ledger books what is true of each variant.
//!
//! | variant | noise | sums |
//! | --- | --- | --- |
//! | `published` | σ in every step of every party, shared or independent | 1, of models |
//! | `local` | σn/n_j in every step of party j | 1, of models |
//! | `local-output` | one draw on each party's last model | 1, of models |
//! | `masked-output` | one draw on the sum of the last models, shared out | 1, of models |
//! | `masked-gradient` | one draw on every sum of gradients, shared out | T, of gradients |
//! | `jayaraman` | the same on the unweighted mean | T, of gradients |
//! | `central` | a trusted curator's, on every gradient of the pooled data | T, of gradients |
//!
//! With noise-free steps two models that differ in one record of party j are at most
//! (2G/n_j)·min(ηT, (1 − (1 − ηλ)^T)/λ) apart, where the loss is convex and η ≤ 1/L: no step brings two
//! models further apart, and a regularised one brings them together.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::own_loss::{OwnLoss, Problem, scaled};
use super::party::{Addend, Learner, Say, SumConfig};
use super::step_noise::StepNoise;
use super::weights::{LearnerNoise, Weights, check_positive};
use crate::data::LocalData;
use crate::learn::axpy;
use crate::network::Context;
use crate::privacy::{
    Mechanism, PooledNoise, Records, Relation, Released, Sensitivity, in_the_clear, noisy, public,
};
use crate::random::Draws;
use crate::units::{Epsilon, Round};

/// The scenario's `protocol.weighted-erm` section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightedErmConfig {
    /// Where the noise is and what is summed.
    pub variant: ErmVariant,
    /// T, gradient steps, at least 1.
    pub steps: u32,
    /// η, above 0.
    pub step: f64,
    /// G: the gradient of every sample is cut to this norm; default: it is not, which only losses of
    /// bounded slope bear. The `squared` loss needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// The noise; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<LearnerNoise>,
    /// Noise on the weights of the parties' models, as published; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_noise: Option<WeightNoise>,
    /// The weights of the parties' models; default `samples`, n_j/n. `jayaraman` is always `uniform`.
    #[serde(default)]
    pub weights: Weights,
    /// How the parties add up.
    #[serde(default)]
    pub sum: SumConfig,
}

/// A variant of weighted DP-ERM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErmVariant {
    /// As published: noise for the pooled data in every step of every party.
    Published,
    /// Noise in every step for the party's own data: nobody need be trusted.
    Local,
    /// Noise-free steps, then noise on the party's own model: nobody need be trusted.
    LocalOutput,
    /// Noise-free steps, then one draw of noise on the sum of all models.
    MaskedOutput,
    /// One draw of noise on the weighted mean of the gradients, in every step.
    MaskedGradient,
    /// The same on the unweighted mean (Jayaraman, Wang, Evans, Gu 2018).
    Jayaraman,
    /// A trusted curator gets all gradients and adds noise: as if it had the data.
    Central,
}

impl ErmVariant {
    /// Whether gradients are summed in every step, not models at the end.
    pub fn sums_gradients(self) -> bool {
        matches!(self, Self::MaskedGradient | Self::Jayaraman | Self::Central)
    }

    /// Whether noise is in the sum, a part of it from every party.
    pub fn pools(self) -> bool {
        matches!(self, Self::MaskedOutput | Self::MaskedGradient | Self::Jayaraman)
    }

    /// Whether noise-free steps must not bring models apart.
    pub fn perturbs_output(self) -> bool {
        matches!(self, Self::LocalOutput | Self::MaskedOutput)
    }

    /// Whether every party adds noise to each of its steps.
    pub fn perturbs_steps(self) -> bool {
        matches!(self, Self::Published | Self::Local)
    }
}

/// z_w: noise of variance σ_w² = c ln(1/δ)/(nε)² on every weight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightNoise {
    /// ε of the weights, above 0. It is that of the published claim; nothing is booked for it.
    pub epsilon: Epsilon,
    /// c; default 2, as published.
    #[serde(default = "two")]
    pub constant: f64,
    /// Whether all weights get the same draw; default false.
    #[serde(default)]
    pub shared: bool,
}

fn two() -> f64 {
    2.0
}

impl WeightNoise {
    /// σ_w for n records at δ.
    pub fn deviation(&self, records: f64, delta: f64) -> f64 {
        (self.constant * (1.0 / delta).ln()).sqrt() / (records * self.epsilon.0)
    }
}

impl WeightedErmConfig {
    /// How many sums there are.
    pub fn rounds(&self) -> u32 {
        if self.variant.sums_gradients() { self.steps } else { 1 }
    }

    /// The weights that the variant uses.
    pub fn effective_weights(&self) -> Weights {
        if self.variant == ErmVariant::Jayaraman { Weights::Uniform } else { self.weights }
    }

    /// Everything that is wrong with it: (field, what was expected).
    pub fn check(&self, peers: Option<usize>) -> Vec<(String, String)> {
        let mut problems = self.sum.check(self.variant.pools(), peers);
        let mut add = |field: &str, message: String| problems.push((field.to_string(), message));
        if self.steps == 0 {
            add("steps", "expected at least 1 step, found 0".to_string());
        }
        check_positive("step", Some(self.step), &mut add);
        check_positive("clip", self.clip, &mut add);
        if let Some(noise) = &self.noise {
            noise.check(self.variant == ErmVariant::Published, &mut add);
        }
        if let Some(noise) = &self.weight_noise {
            check_positive("weight_noise.epsilon", Some(noise.epsilon.0), &mut add);
            check_positive("weight_noise.constant", Some(noise.constant), &mut add);
            if self.variant != ErmVariant::Published {
                let message = "the weights of this variant have no noise: expected none";
                add("weight_noise", message.to_string());
            }
        }
        if self.variant == ErmVariant::Central && self.sum.exchanges().is_some() {
            add("sum.over", "a curator is a root: expected `tree`".to_string());
        }
        problems
    }
}

/// (1 − (1 − ηλ)^T)/λ, or ηT without regularisation: how far T steps carry a constant difference of
/// gradients.
pub fn carried(eta: f64, steps: u32, lambda: f64) -> f64 {
    let plain = eta * f64::from(steps);
    if lambda == 0.0 || eta * lambda > 1.0 {
        return plain;
    }
    // 1 − (1 − x)^T = −expm1(T ln(1 − x))
    plain.min(-(f64::from(steps) * (-eta * lambda).ln_1p()).exp_m1() / lambda)
}

/// What the parties of one run have in common.
#[derive(Clone, Debug)]
pub struct ErmParameters {
    /// The problem.
    pub problem: Problem,
    /// The variant.
    pub variant: ErmVariant,
    /// T.
    pub steps: u32,
    /// η.
    pub step: f64,
    /// The noise of parties' own steps, or of their last models.
    pub step_noise: StepNoise,
    /// σ_w, whether all weights get the same draw, and where it comes from.
    pub weight_noise: Option<(f64, bool, Draws)>,
    /// Where a curator's noise comes from.
    pub curator: Draws,
}

/// Party j.
#[derive(Debug)]
pub struct ErmLearner {
    own: OwnLoss,
    /// n_j/n, or 1/m.
    weight: f64,
    noise: PooledNoise,
    parameters: Arc<ErmParameters>,
}

impl ErmLearner {
    /// The party with these samples. Of its noise, `own` is the deviation of what it adds itself: in
    /// each step, on its last model or to a sum.
    pub fn new(
        data: LocalData,
        weight: f64,
        noise: PooledNoise,
        parameters: Arc<ErmParameters>,
    ) -> Self {
        Self { own: OwnLoss::new(data, parameters.problem), weight, noise, parameters }
    }

    /// T noise-free steps from 0.
    fn descend(&mut self) -> Vec<f64> {
        let mut theta = vec![0.0; self.own.dimension()];
        for _ in 0..self.parameters.steps {
            self.own.step(self.parameters.step, &mut theta);
        }
        theta
    }

    /// How far the model after T noise-free steps moves.
    fn model_moves(&self) -> Sensitivity {
        let ErmParameters { problem, steps, step, .. } = &*self.parameters;
        scaled(self.own.moves(), carried(*step, *steps, problem.regulariser.ridge))
    }

    /// n_j/n + z_w,j.
    fn noisy_weight(&self, context: &Context<'_, Say>) -> f64 {
        match &self.parameters.weight_noise {
            None => self.weight,
            Some((deviation, shared, draws)) => {
                let member = if *shared { 0 } else { u64::from(context.me().0) };
                self.weight + deviation * draws.at(member, 0).normal()
            }
        }
    }

    /// The model of T noisy steps, each of which is released.
    fn noisy_descent(&mut self, context: &mut Context<'_, Say>) -> Released<Arc<[f64]>> {
        let ErmParameters { step_noise, steps, step, .. } = &*self.parameters;
        let mut theta = public(vec![0.0; self.own.dimension()].into());
        for t in 1..=*steps {
            theta = step_noise.step(&mut self.own, theta, (t, *step, self.noise.own), context);
        }
        theta
    }

    /// The party's own model, as far as its own noise protects it.
    fn own_model(&mut self, context: &mut Context<'_, Say>) -> Released<Arc<[f64]>> {
        let deviation = self.noise.own;
        if deviation > 0.0 && self.parameters.variant.perturbs_steps() {
            return self.noisy_descent(context);
        }
        let theta: Arc<[f64]> = self.descend().into();
        if deviation == 0.0 {
            return in_the_clear(theta, self.own.problem().unprotected);
        }
        let draw = self.parameters.step_noise.draws.at(context.me().0.into(), 0);
        let mechanism = Mechanism::Gaussian { deviation };
        let moves = self.model_moves();
        noisy(theta, mechanism, moves, Records::All, Relation::ReplaceOne, draw)
    }
}

impl Learner for ErmLearner {
    fn rounds(&self) -> Round {
        let ErmParameters { variant, steps, .. } = *self.parameters;
        Round(if variant.sums_gradients() { steps } else { 1 })
    }

    fn length(&self) -> usize {
        self.own.dimension()
    }

    fn contribute(
        &mut self,
        _round: Round,
        theta: &[f64],
        context: &mut Context<'_, Say>,
    ) -> Addend {
        if self.own.samples() == 0 {
            return Addend::nothing(self.own.dimension());
        }
        let (weight, noise) = (self.weight, self.noise);
        let ErmParameters { variant, steps, .. } = *self.parameters;
        let passes = if variant.sums_gradients() { 1 } else { steps };
        context.spend(self.own.samples() as f64 * f64::from(passes));
        let (mut data, moves) = if variant.sums_gradients() {
            (self.own.gradient(theta).to_vec(), self.own.moves())
        } else if variant == ErmVariant::MaskedOutput {
            (self.descend(), self.model_moves())
        } else {
            let weight = self.noisy_weight(context);
            return Addend::Released(self.own_model(context).times_public(weight));
        };
        data.iter_mut().for_each(|value| *value *= weight);
        Addend::Pooled { data, noise, sensitivity: scaled(moves, weight) }
    }

    fn update(&mut self, round: Round, sum: &[f64], theta: &mut [f64]) {
        let ErmParameters { problem, variant, step, curator, .. } = &*self.parameters;
        if !variant.sums_gradients() {
            theta.copy_from_slice(sum);
            return;
        }
        // θ ← θ − η(Σ_j (n_j/n) ∇L_j(θ) + z + ∇R(θ))
        let mut direction = sum.to_vec();
        if *variant == ErmVariant::Central && self.noise.all > 0.0 {
            let mut draw = curator.at(0, u64::from(round.0));
            draw.add_normals(self.noise.all, &mut direction);
        }
        problem.regulariser.add_gradient(theta, &mut direction);
        axpy(-step, &direction, theta);
    }

    fn work(&self) -> u64 {
        let ErmParameters { variant, steps, .. } = *self.parameters;
        let passes = if variant.sums_gradients() { 1 } else { steps };
        self.own.samples() as u64 * u64::from(passes)
    }
}
