//! What parties that gossip learn of each other.

use super::{Server, answer_noise};
use crate::experiment::assembly::Assembly;
use crate::privacy::Mechanism;
use crate::protocol::ProtocolConfig;
use crate::protocol::weighted_erm::{ErmVariant, carried};
use crate::scenario::Scenario;
use crate::theory::pairwise::{Pairwise, pairwise_mu};
use crate::units::{Epsilon, PeerId};

/// What every peer learns of every other's records by gossip, where that has a formula: each party adds
/// Gaussian noise of its own once to what it starts from. Of queries, in one of the rounds.
pub(in crate::experiment) fn pairwise(
    scenario: &Scenario,
    assembly: &Assembly,
) -> Option<Pairwise> {
    let sum = scenario.protocol.sum()?;
    let exchanges = sum.exchanges()?;
    let topology = &assembly.topology;
    if topology.peers() > MOST_PAIRS {
        return None;
    }
    let server = Server::new(scenario, assembly, sum);
    let start = |j: usize| server.gossip_start(&scenario.protocol, j);
    let starts: Option<Vec<(f64, f64)>> = (0..topology.peers()).map(start).collect();
    let (deviations, sensitivities): (Vec<f64>, Vec<f64>) = starts?.into_iter().unzip();
    pairwise_mu(topology, exchanges, &deviations, &sensitivities).ok()
}

/// Up to this many peers, what each learns of each other is computed with every run of gossip.
const MOST_PAIRS: usize = 100;

impl Server<'_> {
    /// The deviation of the noise in what a party starts gossip from, and how far a record moves that.
    fn gossip_start(&self, protocol: &ProtocolConfig, j: usize) -> Option<(f64, f64)> {
        let n = Some(self.samples[j]).filter(|&n| n > 0)?;
        let own = self.problem.moves.record / n as f64;
        let (weight, deviation, moves) = match protocol {
            ProtocolConfig::WeightedErm(erm) => {
                let weights = erm.effective_weights().of(&self.samples);
                let noise = erm.noise.as_ref().filter(|noise| !noise.shared)?;
                let way = carried(erm.step, erm.steps, self.problem.regulariser.ridge);
                let (sensitivity, moves) = match erm.variant {
                    ErmVariant::LocalOutput => (own * way, own * way),
                    ErmVariant::Local if erm.steps == 1 => (own * erm.step, own * erm.step),
                    ErmVariant::Published if erm.steps == 1 => {
                        (self.mean_moves(&weights) * erm.step, own * erm.step)
                    }
                    _ => return None,
                };
                (weights[j], noise.deviation(sensitivity, 1, self.delta()), moves)
            }
            ProtocolConfig::GradientQueries(queries) => {
                let noise = queries.noise.as_ref()?;
                let epsilon = |l: usize| noise.epsilon.of(PeerId::new(l));
                let weights = queries.weights(&self.samples, epsilon);
                let Mechanism::Gaussian { deviation } = answer_noise(
                    noise.mechanism,
                    own,
                    queries.queries(),
                    Epsilon(epsilon(j)),
                    self.delta(),
                ) else {
                    return None;
                };
                (weights[j], deviation, own)
            }
            _ => return None,
        };
        let scale = weight * self.assembly.topology.peers() as f64;
        Some((scale * deviation, scale * moves))
    }
}
