//! The scenario's `protocol.walk-sgd` section.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::PolicyConfig;
use crate::privacy::ReleaseNoise;
use crate::topology::Walk;

/// Random-walk without-replacement SGD.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WalkSgdConfig {
    /// How the token moves; default `uniform`, to any peer that still has data.
    #[serde(default)]
    pub walk: Walk,
    /// b, samples per mini-batch, at least 1. A peer's m samples are cut into m/b batches, rounded
    /// and at least one, whose sizes differ by at most one.
    pub batch: u32,
    /// η_t, the step of update t.
    pub step: StepSize,
    /// How often every sample is used; 1 (default) to 1,000,000. More than one composes.
    #[serde(default = "once")]
    pub passes: u32,
    /// The most updates of each task; default: until the data is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updates: Option<u32>,
    /// Models are projected onto the ball of this radius after each update; default: they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
    /// Gaussian noise on every update of the token, calibrated to `privacy.delta`; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<ReleaseNoise>,
    /// Who decides at each visit whether the peer trains a model of its own or the token's; default:
    /// peers have no model of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<PolicyConfig>,
}

/// So that passes times classes can be counted.
const MOST_PASSES: u32 = 1_000_000;

fn once() -> u32 {
    1
}

/// The step of update t = 1, 2, ….
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepSize {
    /// η_t = η.
    Constant(f64),
    /// η_t = η/√t.
    InverseSqrt(f64),
    /// η_t = min(½/(1 + λ), 2/(λt)), λ being each peer's share of the regularisation.
    StronglyConvex,
}

impl StepSize {
    /// η_t under a regularisation of λ.
    pub fn at(self, t: u32, lambda: f64) -> f64 {
        match self {
            Self::Constant(eta) => eta,
            Self::InverseSqrt(eta) => eta / f64::from(t).sqrt(),
            Self::StronglyConvex => (0.5 / (1.0 + lambda)).min(2.0 / (lambda * f64::from(t))),
        }
    }

    /// The greatest of them, which is the first.
    pub fn greatest(self, lambda: f64) -> f64 {
        self.at(1, lambda)
    }
}

impl WalkSgdConfig {
    /// Everything that is wrong with it: (field, what was expected).
    pub fn check(&self) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        let mut add = |field: &str, message: String| problems.push((field.to_string(), message));
        if self.batch == 0 {
            add("batch", "expected at least 1 sample, found 0".to_string());
        }
        if !(1..=MOST_PASSES).contains(&self.passes) {
            add("passes", format!("expected 1 to {MOST_PASSES} passes, found {}", self.passes));
        }
        if self.updates == Some(0) {
            add("updates", "expected at least 1 update, found 0".to_string());
        }
        let positive = |value: f64| value > 0.0 && value <= 1e12;
        if let StepSize::Constant(eta) | StepSize::InverseSqrt(eta) = self.step
            && !positive(eta)
        {
            add("step", format!("expected a number above 0, found {eta}"));
        }
        if let Some(radius) = self.radius.filter(|&radius| !positive(radius)) {
            add("radius", format!("expected a number above 0, found {radius}"));
        }
        let inside = |section: &'static str| {
            move |(field, text): (String, String)| (format!("{section}.{field}"), text)
        };
        let noise = self.noise.iter().flat_map(ReleaseNoise::check).map(inside("noise"));
        let decision = self.decision.iter().flat_map(PolicyConfig::check).map(inside("decision"));
        problems.extend(noise.chain(decision).collect::<Vec<_>>());
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_at_known_times() {
        assert_eq!(StepSize::Constant(0.1).at(7, 0.0), 0.1);
        assert_eq!(StepSize::InverseSqrt(2.0).at(16, 0.0), 0.5);
        let strongly = StepSize::StronglyConvex;
        assert_eq!(strongly.at(1, 0.01), 0.5 / 1.01);
        assert_eq!(strongly.at(1000, 0.01), 0.2);
        assert_eq!(strongly.greatest(1.0), 0.25);
    }
}
