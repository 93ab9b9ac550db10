//! How much each party counts, and how much noise a loss asks for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::privacy::gaussian_mu;
use crate::units::{Delta, Epsilon};

/// The weights of parties in an average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// n_j/n.
    #[default]
    Samples,
    /// 1/m for each of the m parties that have samples.
    Uniform,
}

impl Weights {
    /// The weights of parties with so many samples: they add up to 1.
    pub fn of(self, samples: &[usize]) -> Vec<f64> {
        let shares = self.shares(samples.iter().copied());
        samples.iter().map(|&n| shares.of(n)).collect()
    }

    /// The same, of whichever party is asked for: it takes no list of all.
    pub fn shares(self, samples: impl Iterator<Item = usize>) -> Shares {
        let total = samples.map(|n| self.counts(n)).sum();
        Shares { weights: self, total }
    }

    fn counts(self, n: usize) -> f64 {
        match self {
            Self::Samples => n as f64,
            Self::Uniform => f64::from(u8::from(n > 0)),
        }
    }
}

/// The weights of all parties of a run, by how many samples a party has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    weights: Weights,
    total: f64,
}

impl Shares {
    /// The weight of a party with n samples.
    pub fn of(&self, n: usize) -> f64 {
        self.weights.counts(n) / self.total.max(1.0)
    }
}

/// The Gaussian noise of a learner around a server, by the loss ε that a reader of the last model is to
/// be held to at the scenario's δ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LearnerNoise {
    /// ε, above 0.
    pub epsilon: Epsilon,
    /// c of the published σ² = cG²T ln(1/δ)/(nε)², which wastes noise at 8; default: the least noise
    /// that keeps ε, by exact composition of the T releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<f64>,
    /// Whether all parties add the same noise, so that each of them knows it; default false. For the
    /// published variants alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

impl LearnerNoise {
    /// σ of each of T releases of sensitivity D: √T·D/μ(ε, δ), or (D/2)·√(cT ln(1/δ))/ε with D = 2G/n.
    pub fn deviation(&self, sensitivity: f64, releases: u32, delta: Delta) -> f64 {
        let releases = f64::from(releases);
        match self.constant {
            None => releases.sqrt() * sensitivity / gaussian_mu(self.epsilon, delta),
            Some(c) => {
                0.5 * sensitivity * (c * releases * (1.0 / delta.0).ln()).sqrt() / self.epsilon.0
            }
        }
    }

    /// Everything that is wrong with it.
    pub(super) fn check(&self, published: bool, add: &mut dyn FnMut(&str, String)) {
        check_positive("noise.epsilon", Some(self.epsilon.0), add);
        check_positive("noise.constant", self.constant, add);
        if self.shared && !published {
            let message = "noise that all parties know protects nobody from them: expected it for \
                           `published` alone";
            add("noise.shared", message.to_string());
        }
    }
}

/// A number that must be above 0 and finite, if it is there.
pub(super) fn check_positive(field: &str, value: Option<f64>, add: &mut dyn FnMut(&str, String)) {
    if let Some(value) = value.filter(|value| !(*value > 0.0 && *value <= 1e12)) {
        add(field, format!("expected a number above 0, found {value}"));
    }
}
