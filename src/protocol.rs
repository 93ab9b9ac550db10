//! The algorithms, one file each: a [`Peer`](crate::network::Peer) to be read beside its paper.

pub mod admm;
mod automatic;
pub mod federated;
pub mod gradient_descent;
pub mod gradient_queries;
mod inbox;
mod metropolis;
mod own_loss;
pub mod party;
mod per_peer;
mod step_noise;
#[cfg(test)]
mod three_peers;
pub mod walk_sgd;
pub mod weighted_erm;
mod weights;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::admm::{AdmmConfig, AdmmPeer};
use self::federated::{FederatedConfig, FederatedVariant};
use self::gradient_descent::{GradientDescentConfig, GradientPeer, GradientTrackingConfig};
use self::gradient_queries::{GradientQueriesConfig, QueryLearner};
use self::party::{MOST_MESSAGES, MasksConfig, Party, SumConfig};
use self::walk_sgd::{WalkParameters, WalkPeer, WalkSgdConfig};
use self::weighted_erm::{ErmLearner, ErmVariant, WeightedErmConfig};
use crate::learn::{Clipping, Loss};
use crate::topology::Walk;

pub use automatic::Automatic;
pub use own_loss::{Problem, sample_moves};
pub use per_peer::PerPeer;
pub use step_noise::StepNoise;
pub use weights::{LearnerNoise, Shares, Weights};

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
    /// Without-replacement SGD by a token that walks the graph, with noise and decisions as asked for.
    WalkSgd(WalkSgdConfig),
    /// Weighted distributed DP-ERM around a server, on any graph.
    WeightedErm(WeightedErmConfig),
    /// Federated learning with K local steps between two averages, on any graph.
    Federated(FederatedConfig),
    /// A learner that asks owners for private gradients, on any graph.
    GradientQueries(GradientQueriesConfig),
}

/// What of a run decides how long it is and how much it sends, before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of peers.
    pub peers: usize,
    /// Number of links.
    pub links: usize,
    /// Neighbours of a peer, on average.
    pub mean_degree: usize,
    /// Training samples over all peers.
    pub samples: usize,
    /// Features, the intercept included.
    pub dimension: usize,
    /// Models that are learnt: one for each class, where there are more than two.
    pub tasks: usize,
    /// Whether averages are kept.
    pub averages: bool,
    /// The loss of a sample.
    pub loss: Loss,
}

/// What a protocol will send and hold, before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Messages over all rounds, without losses.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of a vector that goes to all neighbours, of which the network keeps copies; 0 where none
    /// does.
    pub vector: usize,
    /// Bytes that a peer with the mean number of neighbours occupies, beside its samples.
    pub memory: usize,
}

impl ProtocolConfig {
    /// The most rounds that peers with so many samples each run; for tokens, the updates of each.
    pub fn rounds(&self, samples: impl IntoIterator<Item = usize>) -> u64 {
        u64::from(match self {
            Self::Admm(admm) => admm.rounds,
            Self::GradientDescent(descent) => descent.rounds,
            Self::GradientTracking(tracking) => tracking.rounds,
            Self::WalkSgd(walk) => {
                let all = WalkParameters::updates_of(samples, walk.batch, walk.passes);
                return walk.updates.map_or(all, |most| all.min(most.into()));
            }
            Self::WeightedErm(erm) => erm.rounds(),
            Self::Federated(federated) => federated.communications,
            Self::GradientQueries(queries) => queries.queries(),
        })
    }

    /// The walk, where tokens walk.
    pub fn walk(&self) -> Option<&WalkSgdConfig> {
        match self {
            Self::WalkSgd(walk) => Some(walk),
            _ => None,
        }
    }

    /// How parties add up, where they do.
    pub fn sum(&self) -> Option<&SumConfig> {
        match self {
            Self::WeightedErm(erm) => Some(&erm.sum),
            Self::Federated(federated) => Some(&federated.sum),
            Self::GradientQueries(queries) => Some(&queries.sum),
            _ => None,
        }
    }

    /// Whether tokens go to anybody, however far away: over shortest ways of the whole graph, with a count
    /// for everybody on them.
    pub fn walks_anywhere(&self) -> bool {
        self.walk().is_some_and(|walk| walk.walk == Walk::Uniform)
    }

    /// How parties add up, to change it.
    pub(crate) fn sum_mut(&mut self) -> Option<&mut SumConfig> {
        match self {
            Self::WeightedErm(erm) => Some(&mut erm.sum),
            Self::Federated(federated) => Some(&mut federated.sum),
            Self::GradientQueries(queries) => Some(&mut queries.sum),
            _ => None,
        }
    }

    /// Whether the noise is in a sum, a part of it from every party.
    pub fn pools(&self) -> bool {
        match self {
            Self::WeightedErm(erm) => erm.variant.pools(),
            Self::Federated(federated) => federated.variant == FederatedVariant::Masked,
            _ => false,
        }
    }

    /// Whether how much noise hides from whom depends on who shares masks with whom: that takes a look at the
    /// whole graph.
    pub fn hides_in_sums(&self) -> bool {
        self.pools() && self.hides_more_from_readers()
    }

    /// Whether noise hides more from readers of the model than from the other parties together.
    pub fn hides_more_from_readers(&self) -> bool {
        let curated = matches!(self, Self::WeightedErm(erm) if erm.variant == ErmVariant::Central);
        self.adds_noise() && (self.pools() || curated)
    }

    /// How the gradients of single samples are cut.
    pub fn clipping(&self) -> Clipping {
        let norm = |clip: Option<f64>| clip.map_or(Clipping::None, Clipping::Norm);
        match self {
            Self::WeightedErm(erm) => norm(erm.clip),
            Self::Federated(federated) => norm(federated.clip),
            Self::GradientQueries(queries) => {
                queries.residual.map_or(Clipping::None, Clipping::Slope)
            }
            _ => Clipping::None,
        }
    }

    /// Whether a parameter is left to theory, which looks at all data for it: its name.
    pub fn automatic(&self) -> Option<&'static str> {
        match self {
            Self::Admm(admm) if admm.penalty == Automatic::Auto => Some("penalty"),
            Self::GradientTracking(tracking) if tracking.step == Automatic::Auto => Some("step"),
            Self::Federated(federated) if federated.steps == Automatic::Auto => Some("steps"),
            _ => None,
        }
    }

    /// The parameter that may be left to theory, where there is one.
    fn choosable(&mut self) -> Option<&mut Automatic> {
        match self {
            Self::Admm(admm) => Some(&mut admm.penalty),
            Self::GradientTracking(tracking) => Some(&mut tracking.step),
            Self::Federated(federated) => Some(&mut federated.steps),
            _ => None,
        }
    }

    /// Its number, once it has one.
    pub fn chosen(&self) -> Option<f64> {
        match self.clone().choosable() {
            Some(Automatic::Value(number)) => Some(*number),
            _ => None,
        }
    }

    /// Gives it a number, or leaves it to theory.
    pub fn choose(&mut self, value: Automatic) {
        if let Some(place) = self.choosable() {
            *place = value;
        }
    }

    /// Whether a mechanism protects what peers send.
    pub fn adds_noise(&self) -> bool {
        match self {
            Self::Admm(admm) => admm.primal_noise.is_some(),
            Self::GradientDescent(_) | Self::GradientTracking(_) => false,
            Self::WalkSgd(walk) => walk.noise.is_some(),
            Self::WeightedErm(erm) => erm.noise.is_some(),
            Self::Federated(federated) => federated.noise.is_some(),
            Self::GradientQueries(queries) => queries.noise.is_some(),
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

    /// What the protocol will send and hold. For a walk the number of hops is a guess: as many as
    /// updates, which it is where every visit finds data.
    pub fn footprint(&self, extent: Extent) -> Footprint {
        let Extent { peers, links, mean_degree, samples, dimension: d, tasks, averages, loss } =
            extent;
        let shares = std::iter::repeat_n(samples / peers, peers);
        let rounds = self.rounds(shares);
        if let Some(sum) = self.sum() {
            return self.footprint_of_sum(sum, extent, rounds);
        }
        let (message, greeting, memory) = match self {
            Self::Admm(admm) => {
                let noise = [admm.objective_noise.is_some(), admm.primal_noise.is_some()];
                let more = noise.into_iter().chain([averages]).map(usize::from).sum();
                let each = samples / peers;
                let memory = AdmmPeer::memory(mean_degree, d, each, loss, more);
                (AdmmPeer::message_bytes(d), 0, memory)
            }
            Self::GradientDescent(_) | Self::GradientTracking(_) => {
                let tracking = matches!(self, Self::GradientTracking(_));
                (
                    GradientPeer::message_bytes(d, tracking),
                    GradientPeer::GREETING_BYTES,
                    GradientPeer::memory(mean_degree, d, tracking),
                )
            }
            Self::WalkSgd(walk) => {
                let policy = walk.decision.as_ref().map(|policy| policy.memory(d));
                let messages = if peers > 1 { rounds * tasks as u64 } else { 0 };
                let message = WalkPeer::message_bytes(d, walk.walk, peers, averages) as u64;
                let memory = WalkPeer::memory(mean_degree, tasks, d, policy);
                return Footprint { messages, bytes: messages * message, vector: 0, memory };
            }
            Self::WeightedErm(_) | Self::Federated(_) | Self::GradientQueries(_) => {
                unreachable!("parties add up")
            }
        };
        let per_round = 2 * links as u64;
        let messages = per_round * rounds;
        Footprint {
            messages: messages + if greeting > 0 { per_round } else { 0 },
            bytes: messages * message as u64 + per_round * greeting as u64,
            vector: if matches!(self, Self::Admm(_)) { 8 * d } else { 0 },
            memory,
        }
    }

    fn footprint_of_sum(&self, sum: &SumConfig, extent: Extent, rounds: u64) -> Footprint {
        let Extent { peers, links, mean_degree, dimension, .. } = extent;
        let trajectories = match self {
            Self::GradientQueries(queries) => queries.trajectories() as usize,
            _ => 1,
        };
        let length = dimension * trajectories;
        let (both_ways, down) = (2 * links as u64, peers as u64 - 1);
        let (control, messages) = match sum.exchanges() {
            // Greetings, then estimates; or the flood, then sums and models.
            Some(exchanges) => (both_ways, both_ways * u64::from(exchanges) * rounds),
            None => (both_ways - down, 2 * down * rounds),
        };
        let partners = match (&sum.masks, self.pools()) {
            (_, false) | (Some(MasksConfig::None), _) => 0,
            (Some(MasksConfig::Wires), _) => mean_degree,
            // Other graphs are about as dense as the wires, as far as can be told without them.
            (Some(MasksConfig::Graph(_)), _) => mean_degree,
            (None | Some(MasksConfig::AllPairs), _) => peers - 1,
        };
        let gossips = sum.exchanges().is_some();
        let averages = match self {
            Self::GradientQueries(_) => length,
            _ => 0,
        };
        let message = Party::<QueryLearner>::message_bytes(length) as u64;
        Footprint {
            messages: control + messages,
            bytes: 4 * control + message * messages,
            vector: 0,
            memory: Party::<ErmLearner>::memory(mean_degree, partners, length, gossips)
                + 8 * (dimension + averages),
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
            Self::WalkSgd(walk) => ("walk-sgd", walk.check()),
            Self::WeightedErm(erm) => ("weighted-erm", erm.check(peers)),
            Self::Federated(federated) => ("federated", federated.check(peers)),
            Self::GradientQueries(queries) => ("gradient-queries", queries.check(peers)),
        };
        let rounds = self.rounds([]);
        if let Some(sum) = self.sum() {
            let messages = rounds.saturating_mul(sum.exchanges().unwrap_or(1).into());
            if messages > MOST_MESSAGES {
                let message = format!(
                    "expected at most {MOST_MESSAGES} rounds, exchanges counted, found {messages}"
                );
                problems.push(("sum".to_string(), message));
            }
        } else if self.walk().is_none() && !(1..=MOST_ROUNDS).contains(&rounds) {
            let message = format!("expected 1 to {MOST_ROUNDS} rounds, found {rounds}");
            problems.push(("rounds".to_string(), message));
        }
        problems.into_iter().map(|(field, text)| (format!("{section}.{field}"), text)).collect()
    }
}

/// Rounds are numbered in 31 bits on the wire.
pub const MOST_ROUNDS: u64 = 1_000_000_000;
