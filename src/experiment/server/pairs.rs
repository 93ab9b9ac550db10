//! What parties that gossip learn of each other.

use super::Server;
use crate::experiment::assembly::Assembly;
use crate::privacy::Mechanism;
use crate::protocol::ProtocolConfig;
use crate::protocol::weighted_erm::{ErmVariant, carried};
use crate::scenario::Scenario;
use crate::theory::pairwise::{Pairwise, pairwise_mu};

/// What every peer learns of every other's records by gossip, where that has a formula: each party adds
/// Gaussian noise of its own, once, to what it starts the only average of the run from, and no record is
/// at several parties.
pub(in crate::experiment) fn pairwise(
    scenario: &Scenario,
    assembly: &Assembly,
) -> Option<Pairwise> {
    let sum = scenario.protocol.sum()?;
    let exchanges = sum.exchanges()?;
    let topology = &assembly.topology;
    if topology.peers() > MOST_PAIRS || assembly.data.multiplicity > 1 {
        return None;
    }
    let starts = Server::new(scenario, assembly, sum).gossip_starts(&scenario.protocol)?;
    let (deviations, sensitivities): (Vec<f64>, Vec<f64>) = starts.into_iter().unzip();
    pairwise_mu(topology, exchanges, &deviations, &sensitivities).ok()
}

/// Up to this many peers, what each learns of each other is computed with every run of gossip.
const MOST_PAIRS: usize = 100;

impl Server<'_> {
    /// The deviation of the noise in what each party starts gossip from, and how far a record moves that.
    fn gossip_starts(&self, protocol: &ProtocolConfig) -> Option<Vec<(f64, f64)>> {
        let peers = self.samples.len();
        let own = |j: usize| self.problem.moves.record / self.samples_of(j) as f64;
        if self.samples.runs().any(|(n, _)| n == 0) {
            return None;
        }
        // How far a party's part counts in the mean over all peers.
        let scaled = |weight: f64, deviation: f64, moves: f64| {
            let scale = weight * peers as f64;
            (scale * deviation, scale * moves)
        };
        match protocol {
            ProtocolConfig::WeightedErm(erm) => {
                erm.noise.as_ref().filter(|noise| !noise.shared && erm.weight_noise.is_none())?;
                // Noise on a model is added as it is, noise on a gradient goes as far as the step.
                let (scale, way) = match erm.variant {
                    ErmVariant::LocalOutput => {
                        (1.0, carried(erm.step, erm.steps, self.problem.regulariser.ridge))
                    }
                    ErmVariant::Local | ErmVariant::Published if erm.steps == 1 => {
                        (erm.step, erm.step)
                    }
                    _ => return None,
                };
                let shares = self.shares(erm.effective_weights());
                let noise = self.erm_noise(erm, shares);
                let start = |j: usize| {
                    let n = self.samples_of(j);
                    scaled(shares.of(n), scale * noise(n).own, own(j) * way)
                };
                Some((0..peers).map(start).collect())
            }
            ProtocolConfig::GradientQueries(queries)
                if queries.queries() == 1 && queries.trajectories() == 1 =>
            {
                let law = queries.noise.as_ref()?.mechanism;
                let weights = self.query_weights(queries);
                let start = |j: usize| match self.owner_noise(queries, law, 1, j)? {
                    Mechanism::Gaussian { deviation } => {
                        Some(scaled(weights[j], deviation, own(j)))
                    }
                    Mechanism::Laplace { .. } => None,
                };
                (0..peers).map(start).collect()
            }
            _ => None,
        }
    }
}
