//! The algorithms, one file each: a [`Peer`](crate::network::Peer) to be read beside its paper.

pub mod admm;
mod automatic;
pub mod gradient_descent;
mod inbox;
mod per_peer;
#[cfg(test)]
mod three_peers;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::admm::{AdmmConfig, AdmmPeer};
use self::gradient_descent::{GradientDescentConfig, GradientPeer, GradientTrackingConfig};
use crate::units::Round;

pub use automatic::Automatic;
pub use per_peer::PerPeer;

/// The scenario's `protocol:` section: what the peers run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolConfig {
    /// Fully distributed consensus ADMM.
    Admm(AdmmConfig),
    /// Decentralised gradient descent with Metropolis weights: near the optimum, at a constant step.
    GradientDescent(GradientDescentConfig),
    /// Gradient tracking with Metropolis weights: to the optimum, at a constant step.
    GradientTracking(GradientTrackingConfig),
}

/// What a protocol will send and hold, before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Messages over all rounds, without losses.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes that a peer with the mean number of neighbours occupies, beside its samples.
    pub memory: usize,
}

impl ProtocolConfig {
    /// The most rounds that the peers run.
    pub fn rounds(&self) -> Round {
        Round(match self {
            Self::Admm(admm) => admm.rounds,
            Self::GradientDescent(descent) => descent.rounds,
            Self::GradientTracking(tracking) => tracking.rounds,
        })
    }

    /// Whether a parameter is left to theory, which looks at all data for it: its name.
    pub fn automatic(&self) -> Option<&'static str> {
        match self {
            Self::Admm(admm) if admm.penalty == Automatic::Auto => Some("penalty"),
            Self::GradientTracking(tracking) if tracking.step == Automatic::Auto => Some("step"),
            _ => None,
        }
    }

    /// Whether a mechanism protects what peers send.
    pub fn adds_noise(&self) -> bool {
        match self {
            Self::Admm(admm) => admm.primal_noise.is_some(),
            Self::GradientDescent(_) | Self::GradientTracking(_) => false,
        }
    }

    /// Whether no peer's noise has deviation 0.
    pub fn protects_everybody(&self) -> bool {
        match self {
            Self::Admm(AdmmConfig { primal_noise: Some(noise), .. }) => {
                noise.deviation.least() > 0.0
            }
            _ => true,
        }
    }

    /// What the protocol will send and hold in dimension d on a graph with so many links and so
    /// many neighbours per peer.
    pub fn footprint(&self, links: usize, mean_degree: usize, d: usize) -> Footprint {
        let (message, greeting, memory) = match self {
            Self::Admm(_) => (AdmmPeer::message_bytes(d), 0, AdmmPeer::memory(mean_degree, d)),
            Self::GradientDescent(_) | Self::GradientTracking(_) => {
                let tracking = matches!(self, Self::GradientTracking(_));
                (
                    GradientPeer::message_bytes(d, tracking),
                    GradientPeer::GREETING_BYTES,
                    GradientPeer::memory(mean_degree, d, tracking),
                )
            }
        };
        let per_round = 2 * links as u64;
        let messages = per_round * u64::from(self.rounds().0);
        Footprint {
            messages: messages + if greeting > 0 { per_round } else { 0 },
            bytes: messages * message as u64 + per_round * greeting as u64,
            memory,
        }
    }

    /// Everything that is wrong with it: (field, what was expected). Without `peers`, what depends on
    /// their number is not checked.
    pub fn check(&self, peers: Option<usize>) -> Vec<(String, String)> {
        let (section, mut problems) = match self {
            Self::Admm(admm) => ("admm", admm.check(peers)),
            Self::GradientDescent(descent) => {
                ("gradient-descent", gradient_descent::check_step(Automatic::Value(descent.step)))
            }
            Self::GradientTracking(tracking) => {
                ("gradient-tracking", gradient_descent::check_step(tracking.step))
            }
        };
        if !(1..=MOST_ROUNDS).contains(&self.rounds().0) {
            let message = format!("expected 1 to {MOST_ROUNDS} rounds, found {}", self.rounds());
            problems.push(("rounds".to_string(), message));
        }
        problems.into_iter().map(|(field, text)| (format!("{section}.{field}"), text)).collect()
    }
}

/// Rounds are numbered in 31 bits on the wire.
const MOST_ROUNDS: u32 = 1_000_000_000;
