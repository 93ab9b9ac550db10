//! The scenario's section.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::automatic::Automatic;
use super::super::per_peer::PerPeer;
use crate::privacy::ObjectiveNoise;
use crate::units::{PeerId, Round};

/// The scenario's `protocol.admm` section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdmmConfig {
    /// Penalty and dual step β: a number above 0, or `auto` (default) for the one with the best
    /// predicted rate on this graph and data.
    #[serde(default)]
    pub penalty: Automatic,
    /// The most rounds that the peers run, at least 1.
    pub rounds: u32,
    /// Norm of the gradient at which a local argmin counts as solved; default 1e-10, at least
    /// 1e-14.
    #[serde(default = "default_tolerance")]
    pub tolerance: f64,
    /// With primal noise: how far from its minimiser a model may be left besides, as a share of the
    /// standard deviation of its noise, 0 to 0.1; default 0.01. It is booked: never so far that it
    /// adds more than 1 % to what a record can move.
    #[serde(default = "default_slack")]
    pub slack: f64,
    /// Solve argmins less exactly while neighbours are far apart; default none: always to
    /// `tolerance`, or with primal noise to what `slack` allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inexact: Option<Inexact>,
    /// Noise η_i in every peer's objective, drawn once; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective_noise: Option<ObjectiveNoise>,
    /// Noise θ_i(t) on every model that is sent; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primal_noise: Option<PrimalNoise>,
}

/// How exactly argmins are solved on the way: in round t to the gradient norm
///
/// ```text
/// g = max(tolerance, share · q · |w~_i − mean_l w~_l|)    w~ as sent in round t − 1
/// ```
///
/// and in the first to max(tolerance, first). A model is left within `share` of the distance to its
/// neighbours' mean from its minimiser, so the error goes to 0 with the consensus gap, and the limit
/// stays what it was. All w~ have been released before: g is computed from messages alone, which is
/// post-processing. With primal noise g is held, as for `slack`, to what adds at most 1 % to what a
/// record can move, and the ledger books the g that was used.
///
/// An inexact minimiser has no objective-perturbation guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inexact {
    /// The share of the distance to the neighbours' mean, above 0, at most 1; default 0.1.
    #[serde(default = "default_share")]
    pub share: f64,
    /// The gradient norm of the first round, 1e-14 to 1; default 1e-3.
    #[serde(default = "default_first")]
    pub first: f64,
}

fn default_share() -> f64 {
    0.1
}

fn default_first() -> f64 {
    1e-3
}

pub(super) fn default_tolerance() -> f64 {
    1e-10
}

/// Up to this gradient norm an argmin counts as exact.
const EXACT: f64 = 1e-8;

fn default_slack() -> f64 {
    0.01
}

/// Normal noise on sent models, whose variance decays from round to round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrimalNoise {
    /// V, the standard deviation in the first round: a number from 0 to 1e6, or a list with one for
    /// each peer. A peer with 0 sends its models in the clear.
    pub deviation: PerPeer,
    /// ρ, the factor of the variance from one round to the next: above 0, at most 1 (default).
    #[serde(default = "no_decay")]
    pub decay: f64,
}

fn no_decay() -> f64 {
    1.0
}

impl PrimalNoise {
    /// The standard deviation of a peer's noise in a round.
    pub fn deviation(&self, peer: PeerId, round: Round) -> f64 {
        let steps = round.0.saturating_sub(1);
        self.deviation.of(peer) * self.decay.sqrt().powi(steps.min(i32::MAX as u32) as i32)
    }
}

impl AdmmConfig {
    /// Whether every argmin is solved as exactly as numbers allow, or nearly so.
    pub fn solves_exactly(&self) -> bool {
        let slackens = self.primal_noise.is_some() && self.slack > 0.0;
        self.inexact.is_none() && !slackens && self.tolerance <= EXACT
    }

    /// Everything that is wrong with it: (field, what was expected). Without `peers`, what depends
    /// on their number is not checked.
    pub fn check(&self, peers: Option<usize>) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        let mut problem = |field: &str, message: String| problems.push((field.into(), message));
        if let Automatic::Value(beta) = self.penalty
            && !(1e-12..=1e12).contains(&beta)
        {
            let message = format!("expected `auto` or a number from 1e-12 to 1e12, found {beta}");
            problem("penalty", message);
        }
        if !(1e-14..=1.0).contains(&self.tolerance) {
            let message =
                format!("expected a gradient norm from 1e-14 to 1, found {}", self.tolerance);
            problem("tolerance", message);
        }
        if !(0.0..=0.1).contains(&self.slack) {
            problem("slack", format!("expected a share from 0 to 0.1, found {}", self.slack));
        }
        if let Some(Inexact { share, first }) = self.inexact {
            if !(share > 0.0 && share <= 1.0) {
                let message = format!("expected a share above 0, at most 1, found {share}");
                problem("inexact.share", message);
            }
            if !(1e-14..=1.0).contains(&first) {
                let message = format!("expected a gradient norm from 1e-14 to 1, found {first}");
                problem("inexact.first", message);
            }
        }
        if let Some(noise) = &self.objective_noise {
            for (field, message) in noise.check() {
                problem(&format!("objective_noise.{field}"), message);
            }
        }
        if let Some(PrimalNoise { deviation, decay }) = &self.primal_noise {
            for (field, message) in deviation.check(0.0..=1e6, peers) {
                problem(&format!("primal_noise.deviation{field}"), message);
            }
            if !(*decay > 0.0 && *decay <= 1.0) {
                let message = format!("expected a factor above 0, at most 1, found {decay}");
                problem("primal_noise.decay", message);
            }
        }
        problems
    }
}
