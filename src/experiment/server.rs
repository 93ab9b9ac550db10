//! What a run of parties around a server starts from.

mod forecast;
mod pairs;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use super::assembly::Assembly;
use super::each_peer::EachPeer;
use super::run::ExperimentError;
use crate::learn::{Clipping, Loss, Regulariser};
use crate::privacy::{Grid, MaskGraph, Masks, Mechanism, PooledNoise, Sensitivity, gaussian_mu};
use crate::protocol::federated::{
    FederatedConfig, FederatedLearner, FederatedParameters, FederatedVariant, Schedule,
};
use crate::protocol::gradient_queries::{
    GradientQueriesConfig, QueryLearner, QueryMechanism, QueryNoise, QueryParameters,
};
use crate::protocol::party::{Learner, MasksConfig, Party, Sum, SumConfig};
use crate::protocol::weighted_erm::{
    ErmLearner, ErmParameters, ErmVariant, WeightedErmConfig, carried,
};
use crate::protocol::{LearnerNoise, PerPeer, Problem, Shares, StepNoise, Weights, sample_moves};
use crate::random::{Draws, Purpose, Streams};
use crate::scenario::Scenario;
use crate::topology::Topology;
use crate::units::{Delta, Epsilon, PeerId};

pub(super) use forecast::{best_steps, most_local_steps, noise_place, quadratic};
pub(super) use pairs::pairwise;

/// How many standard deviations of normal noise a grid leaves room for, and how many scales of Laplace
/// noise: what lies beyond has a probability below 1e-21.
const NORMAL_ROOM: f64 = 12.0;
const LAPLACE_ROOM: f64 = 50.0;

/// How far rounding may carry a value beyond its bound.
const ROUNDING: f64 = 1.0 + 1e-6;

/// What is known of all parties of a repeat before they exist.
pub(super) struct Server<'a> {
    scenario: &'a Scenario,
    assembly: &'a Assembly,
    sum: &'a SumConfig,
    /// n_j.
    samples: &'a EachPeer<u32>,
    /// m, the parties that have samples.
    parties: usize,
    problem: Problem,
}

/// How many of these parties have samples.
pub(super) fn holders(samples: &EachPeer<u32>) -> usize {
    samples.runs().filter(|(n, _)| *n > 0).map(|(_, parties)| parties).sum()
}

/// The mask graph of a repeat, where addends are masked: that of the first one in all, unless graphs are
/// drawn anew.
pub(super) fn mask_graph(
    scenario: &Scenario,
    topology: &Topology,
    repeat: u32,
    base: &Path,
) -> Result<Option<MaskGraph>, ExperimentError> {
    let repeat = if scenario.topology.resamples() { repeat } else { 0 };
    let Some(sum) = scenario.protocol.sum().filter(|_| scenario.protocol.pools()) else {
        return Ok(None);
    };
    let lists = |graph: &Topology| {
        MaskGraph::Lists(graph.ids().map(|peer| graph.neighbours(peer).to_vec()).collect())
    };
    Ok(match sum.masks.as_ref().unwrap_or(&MasksConfig::AllPairs) {
        MasksConfig::None => None,
        MasksConfig::Wires => Some(lists(topology)),
        MasksConfig::AllPairs => Some(MaskGraph::AllPairs(topology.peers())),
        MasksConfig::Graph(config) => {
            Some(lists(&config.build(&Streams::new(scenario.seed, repeat), base)?))
        }
    })
}

impl<'a> Server<'a> {
    pub(super) fn new(scenario: &'a Scenario, assembly: &'a Assembly, sum: &'a SumConfig) -> Self {
        let samples = assembly.samples();
        let parties = holders(samples);
        let model = &scenario.model;
        let clipping = scenario.protocol.clipping();
        let moves = sample_moves(model.loss, clipping, scenario.reach())
            .unwrap_or(Sensitivity { label: f64::INFINITY, record: f64::INFINITY });
        let problem = Problem {
            loss: model.loss,
            regulariser: Regulariser {
                ridge: model.regularisation / assembly.topology.peers() as f64,
                sine: model.sine,
            },
            clipping,
            moves,
            unprotected: assembly.unprotected(),
        };
        Self { scenario, assembly, sum, samples, parties, problem }
    }

    fn delta(&self) -> Delta {
        self.scenario.privacy.delta
    }

    fn draws(&self, purpose: Purpose) -> Draws {
        Draws::Streams(self.assembly.streams.family(purpose, 0))
    }

    /// n_j of one party.
    fn samples_of(&self, party: usize) -> usize {
        self.samples.get(party).unwrap_or(0) as usize
    }

    /// What parties count.
    fn shares(&self, weights: Weights) -> Shares {
        weights.shares(self.samples.iter().map(|n| n as usize))
    }

    /// The largest of a figure over the parties that have samples, by weight and number of samples.
    fn greatest(&self, shares: Shares, figure: impl Fn(f64, f64) -> f64) -> f64 {
        let holders = self.samples.runs().map(|(n, _)| n as usize).filter(|&n| n > 0);
        holders.map(|n| figure(shares.of(n), n as f64)).fold(0.0, f64::max)
    }

    /// How far one record moves the weighted mean of the parties' gradients.
    fn mean_moves(&self, shares: Shares) -> f64 {
        self.greatest(shares, |weight, n| weight * self.problem.moves.record / n)
    }

    /// The parts of noise of this deviation in a sum: each party adds 1/(m − t) of the variance.
    fn shared_out(&self, deviation: f64) -> PooledNoise {
        let (m, t) = (self.parties as f64, f64::from(self.sum.colluders));
        let own = deviation / (m - t).max(1.0).sqrt();
        PooledNoise { own, all: own * m.sqrt() }
    }

    /// How sums of addends of at most this size are made. Without data nothing is added, and any grid
    /// does.
    fn sum(&self, bound: f64) -> Arc<Sum> {
        let peers = self.assembly.topology.peers();
        // Rows are as long as they may be up to rounding, and so are gradients.
        let bound = if bound > 0.0 && bound.is_finite() { ROUNDING * bound } else { 1.0 };
        Arc::new(Sum {
            exchanges: self.sum.exchanges().unwrap_or(1),
            grid: Grid::new(peers, bound),
            noise: self.draws(Purpose::SumNoise),
            parties: peers,
        })
    }

    fn peers<L: Learner>(
        &self,
        sum: &Arc<Sum>,
        learner: impl Fn(usize, crate::data::LocalData) -> L,
    ) -> Result<Vec<Party<L>>, ExperimentError> {
        let seeds = self.assembly.streams.family(Purpose::Masks, 0);
        let tree = self.assembly.tree(self.sum)?;
        Ok(self.assembly.peers(|id, data, near| {
            let partners = self.assembly.masks.as_ref().map(|masks| masks.partners(id));
            let masks = partners.map(|partners| Masks::with(partners, id, seeds));
            let branch = tree.as_ref().map(|tree| tree.branch(id));
            Party::new(learner(id.index(), data), near, branch, masks, Arc::clone(sum))
        }))
    }

    /// What a party adds, by its number of samples: to each gradient, to its last model or to a sum.
    fn erm_noise(
        &self,
        erm: &WeightedErmConfig,
        shares: Shares,
    ) -> impl Fn(usize) -> PooledNoise + use<> {
        let WeightedErmConfig { variant, steps, step, .. } = *erm;
        let (releases, way) = match variant.perturbs_output() {
            true => (1, carried(step, steps, self.problem.regulariser.ridge)),
            false => (steps, 1.0),
        };
        // The deviation grows with the sensitivity, and the search for it is made once.
        let law = |noise: &LearnerNoise| noise.deviation(way, releases, self.delta());
        let unit = erm.noise.as_ref().map_or(0.0, law);
        let own = |deviation: f64| PooledNoise { own: deviation, all: deviation };
        let of_all = match variant {
            ErmVariant::Local | ErmVariant::LocalOutput => None,
            ErmVariant::Published => Some(own(unit * self.mean_moves(shares))),
            ErmVariant::MaskedOutput | ErmVariant::MaskedGradient | ErmVariant::Jayaraman => {
                Some(self.shared_out(unit * self.mean_moves(shares)))
            }
            ErmVariant::Central => {
                Some(PooledNoise { own: 0.0, all: unit * self.mean_moves(shares) })
            }
        };
        let record = self.problem.moves.record;
        move |n| of_all.unwrap_or_else(|| own(unit * record / n.max(1) as f64))
    }

    /// The deviation of the noise in the mean of the parties' gradients, or of their last models: once
    /// all parties have added theirs.
    pub(super) fn erm_mean_noise(&self, erm: &WeightedErmConfig) -> f64 {
        let shares = self.shares(erm.effective_weights());
        let samples = self.samples();
        let weights: Vec<f64> = samples.iter().map(|&n| shares.of(n)).collect();
        let shared = erm.noise.is_some_and(|noise| noise.shared);
        let noise = self.erm_noise(erm, shares);
        match erm.variant {
            ErmVariant::Published if shared => noise(1).own,
            ErmVariant::Published => noise(1).own * root_of_squares(&weights),
            ErmVariant::Local | ErmVariant::LocalOutput => {
                let parts = samples.iter().zip(&weights).filter(|(n, _)| **n > 0);
                let parts = parts.map(|(&n, weight)| weight * noise(n).own);
                root_of_squares(&parts.collect::<Vec<_>>())
            }
            _ => noise(1).all,
        }
    }

    /// The same for a party with n samples that learns from them alone.
    pub(super) fn erm_noise_alone(&self, erm: &WeightedErmConfig, n: usize) -> f64 {
        let variant = match erm.variant.perturbs_output() {
            true => ErmVariant::LocalOutput,
            false => ErmVariant::Local,
        };
        let shares = self.shares(erm.effective_weights());
        self.erm_noise(&WeightedErmConfig { variant, ..erm.clone() }, shares)(n).own
    }

    /// The parties of weighted DP-ERM.
    pub(super) fn erm(
        &self,
        erm: &WeightedErmConfig,
    ) -> Result<Vec<Party<ErmLearner>>, ExperimentError> {
        let WeightedErmConfig { variant, steps, step, .. } = *erm;
        let shares = self.shares(erm.effective_weights());
        let of = self.erm_noise(erm, shares);
        let records: usize = self.samples.iter().map(|n| n as usize).sum();
        let weight_noise = erm.weight_noise.map(|noise| {
            let deviation = noise.deviation(records as f64, self.delta().0);
            (deviation, noise.shared, self.draws(Purpose::WeightNoise))
        });
        let longest = 0.5 * self.problem.moves.record;
        let room = |n: usize| NORMAL_ROOM * of(n).own;
        let bound = |weight: f64, n: f64| {
            let room = room(n as usize);
            let (eta, t) = (step, f64::from(steps));
            // The gradient of 3s sin² is at most 3s long, and no other part of R drives θ away from 0
            // in steps that converge; others are found out when they are released.
            let model = eta * t * (longest + 3.0 * self.problem.regulariser.sine);
            match variant {
                _ if variant.sums_gradients() => weight * longest + room,
                ErmVariant::MaskedOutput => weight * model + room,
                _ => {
                    let factor = weight_noise.as_ref().map_or(0.0, |noise| NORMAL_ROOM * noise.0);
                    let noise = if variant.perturbs_steps() { eta * t.sqrt() * room } else { room };
                    (weight + factor) * (model + noise)
                }
            }
        };
        let sum = self.sum(self.greatest(shares, bound));
        let parameters = Arc::new(ErmParameters {
            problem: self.problem,
            variant,
            steps,
            step,
            step_noise: StepNoise {
                draws: self.draws(Purpose::StepNoise),
                shared: erm.noise.is_some_and(|noise| noise.shared),
            },
            weight_noise,
            curator: self.draws(Purpose::SumNoise),
        });
        self.peers(&sum, |_, data| {
            let (weight, noise) = (shares.of(data.rows()), of(data.rows()));
            ErmLearner::new(data, weight, noise, Arc::clone(&parameters))
        })
    }

    /// The parties of federated learning; K is known by now.
    pub(super) fn federated(
        &self,
        federated: &FederatedConfig,
        local_steps: u32,
    ) -> Result<Vec<Party<FederatedLearner>>, ExperimentError> {
        let total_steps =
            federated.total_steps.unwrap_or(local_steps.saturating_mul(federated.communications));
        let shares = self.shares(federated.weights);
        let deviation = federated.noise.as_ref().map_or(0.0, |noise| {
            noise.deviation(self.mean_moves(shares), total_steps, self.delta())
        });
        let noise = match federated.variant {
            FederatedVariant::Published => PooledNoise { own: deviation, all: deviation },
            FederatedVariant::Masked => self.shared_out(deviation),
        };
        let strong = self.problem.regulariser.ridge;
        let smooth = smoothness(self.scenario, strong);
        let schedule = Schedule { strong, smooth, local_steps };
        let etas = (1..=total_steps).map(|t| schedule.step(t));
        let (way, squares) = etas.fold((0.0, 0.0), |(a, b), eta| (a + eta, b + eta * eta));
        let longest = 0.5 * self.problem.moves.record;
        // (Σ η)²/k ≤ Σ η² over the k steps of a block, so that this is room for the noise of all.
        let room = |deviation: f64| NORMAL_ROOM * deviation * squares.sqrt();
        let bound = |weight: f64, _: f64| match federated.variant {
            FederatedVariant::Published => weight * (way * longest + room(noise.own)),
            FederatedVariant::Masked => {
                weight * (way * longest + room(noise.all)) + room(noise.own)
            }
        };
        let sum = self.sum(self.greatest(shares, bound));
        let parameters = Arc::new(FederatedParameters {
            problem: self.problem,
            variant: federated.variant,
            local_steps,
            total_steps,
            schedule,
            step_noise: StepNoise {
                draws: self.draws(Purpose::StepNoise),
                shared: federated.noise.is_some_and(|noise| noise.shared),
            },
        });
        self.peers(&sum, |_, data| {
            let weight = shares.of(data.rows());
            FederatedLearner::new(data, weight, noise, Arc::clone(&parameters))
        })
    }

    /// What an owner's answers count.
    fn query_share<'q>(
        &self,
        queries: &'q GradientQueriesConfig,
    ) -> impl Fn(usize) -> f64 + use<'_, 'q> {
        let counts = |(l, samples): (usize, u32)| {
            let noise = queries.noise.as_ref();
            let epsilon = noise.map_or(f64::NAN, |noise| noise.epsilon.of(PeerId::new(l)));
            queries.counts(samples as usize, epsilon)
        };
        let total: f64 = self.samples.iter().enumerate().map(counts).sum();
        move |l| counts((l, self.samples.get(l).unwrap_or(0))) / total
    }

    /// What each owner's answers count.
    pub(super) fn query_weights(&self, queries: &GradientQueriesConfig) -> Vec<f64> {
        (0..self.samples.len()).map(self.query_share(queries)).collect()
    }

    /// The noise of this law in each of owner l's answers to so many queries; none for answers in the
    /// clear.
    pub(super) fn owner_noise(
        &self,
        queries: &GradientQueriesConfig,
        law: QueryMechanism,
        count: u32,
        l: usize,
    ) -> Option<Mechanism> {
        let noise = queries.noise.as_ref().filter(|_| self.adds_noise(queries, l))?;
        let each = self.query_moves(Some(law)).record / self.samples_of(l) as f64;
        let epsilon = Epsilon(noise.epsilon.of(PeerId::new(l)));
        Some(answer_noise(law, each, count, epsilon, self.delta()))
    }

    /// Whether an owner has something to hide and hides it.
    fn adds_noise(&self, queries: &GradientQueriesConfig, l: usize) -> bool {
        self.samples_of(l) > 0 && (l != self.sum.root as usize || queries.learner_noise)
    }

    /// The owners that answer queries.
    pub(super) fn queries(
        &self,
        queries: &GradientQueriesConfig,
    ) -> Result<Vec<Party<QueryLearner>>, ExperimentError> {
        let share = self.query_share(queries);
        let law = queries.noise.as_ref().map(|noise| noise.mechanism);
        let problem = Problem { moves: self.query_moves(law), ..self.problem };
        let count = queries.queries();
        // The search for the noise of one serves all who ask for the same.
        let one = match (&queries.noise, law) {
            (Some(QueryNoise { epsilon: PerPeer::Same(epsilon), .. }), Some(law)) => {
                Some(answer_noise(law, 1.0, count, Epsilon(*epsilon), self.delta()))
            }
            _ => None,
        };
        let of_each: Vec<Option<Mechanism>> = match law.filter(|_| one.is_none()) {
            Some(law) => {
                (0..self.samples.len()).map(|l| self.owner_noise(queries, law, count, l)).collect()
            }
            None => Vec::new(),
        };
        let mechanism = |l: usize| match one {
            Some(one) => {
                let moves = problem.moves.record / self.samples_of(l) as f64;
                self.adds_noise(queries, l).then(|| one.scaled(moves))
            }
            None => of_each.get(l).copied().flatten(),
        };
        let room = |l: usize| match mechanism(l) {
            None => 0.0,
            Some(Mechanism::Gaussian { deviation }) => NORMAL_ROOM * deviation,
            Some(Mechanism::Laplace { scale }) => LAPLACE_ROOM * scale,
        };
        let longest = 0.5 * self.problem.moves.record;
        let bound = (0..self.samples.len()).map(|l| share(l) * (longest + room(l)));
        let sum = self.sum(bound.fold(0.0, f64::max));
        let parameters = Arc::new(QueryParameters {
            problem,
            algorithm: queries.algorithm,
            updates: queries.updates,
            queries: count,
            side: queries.side,
            trajectories: queries.trajectories(),
            draws: self.draws(Purpose::StepNoise),
        });
        self.peers(&sum, |id, data| {
            QueryLearner::new(id, data, share(id), mechanism(id), Arc::clone(&parameters))
        })
    }

    /// How far a sample's gradient moves in the norm of a mechanism.
    fn query_moves(&self, mechanism: Option<QueryMechanism>) -> Sensitivity {
        let Problem { loss, clipping, moves, .. } = self.problem;
        match mechanism {
            Some(QueryMechanism::Laplace) => {
                query_moves_l1(self.scenario, loss, clipping, self.assembly.seen.dimension())
            }
            _ => moves,
        }
    }
}

/// How far a sample's gradient moves in the 1-norm.
pub(super) fn query_moves_l1(
    scenario: &Scenario,
    loss: Loss,
    clipping: Clipping,
    dimension: usize,
) -> Sensitivity {
    let reach = scenario.data.reach_l1(scenario.model.intercept, dimension);
    reach
        .and_then(|reach| sample_moves(loss, clipping, reach))
        .unwrap_or(Sensitivity { label: f64::INFINITY, record: f64::INFINITY })
}

/// The noise of the answers of an owner whose mean gradient moves by `moves`, over so many queries.
pub(super) fn answer_noise(
    law: QueryMechanism,
    moves: f64,
    queries: u32,
    epsilon: Epsilon,
    delta: Delta,
) -> Mechanism {
    let queries = f64::from(queries);
    match law {
        QueryMechanism::Laplace => Mechanism::Laplace { scale: moves * queries / epsilon.0 },
        QueryMechanism::Gaussian => {
            Mechanism::Gaussian { deviation: moves * queries.sqrt() / gaussian_mu(epsilon, delta) }
        }
    }
}

/// L, the smoothness of the regularised mean loss, by the reach of the samples.
pub(super) fn smoothness(scenario: &Scenario, ridge: f64) -> f64 {
    scenario.model.loss.smoothness() * scenario.reach().powi(2) + ridge
}

impl Server<'_> {
    /// λ and L.
    pub(super) fn convexity(&self) -> (f64, f64) {
        let strong = self.problem.regulariser.ridge;
        (strong, smoothness(self.scenario, strong))
    }

    /// n_j.
    pub(super) fn samples(&self) -> Vec<usize> {
        self.samples.iter().map(|n| n as usize).collect()
    }

    /// m, the parties that have samples.
    pub(super) fn parties(&self) -> usize {
        self.parties
    }

    /// The problem that they work on.
    pub(super) fn problem(&self) -> &Problem {
        &self.problem
    }
}

fn root_of_squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}
