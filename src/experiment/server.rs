//! What a run of parties around a server starts from.

mod forecast;
mod pairs;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use super::assembly::Assembly;
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
use crate::protocol::{LearnerNoise, PerPeer, Problem, StepNoise, sample_moves};
use crate::random::{Draws, Purpose, Streams};
use crate::scenario::Scenario;
use crate::topology::{SpanningTree, Topology};
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
    masks: Option<MaskGraph>,
    /// n_j.
    samples: Vec<usize>,
    /// m, the parties that have samples.
    parties: usize,
    problem: Problem,
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
        let seen = &assembly.seen;
        let samples: Vec<usize> = seen.ids().map(|peer| seen.rows(peer)).collect();
        let parties = samples.iter().filter(|&&n| n > 0).count();
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
        let masks = assembly.masks.clone();
        Self { scenario, assembly, sum, masks, samples, parties, problem }
    }

    fn delta(&self) -> Delta {
        self.scenario.privacy.delta
    }

    fn draws(&self, purpose: Purpose) -> Draws {
        Draws::Streams(self.assembly.streams.family(purpose, 0))
    }

    /// The largest of a figure over the parties that have samples, by weight and number of samples.
    fn greatest(&self, weights: &[f64], figure: impl Fn(f64, f64) -> f64) -> f64 {
        let holders = self.samples.iter().zip(weights).filter(|(n, _)| **n > 0);
        holders.map(|(&n, &weight)| figure(weight, n as f64)).fold(0.0, f64::max)
    }

    /// How far one record moves the weighted mean of the parties' gradients.
    fn mean_moves(&self, weights: &[f64]) -> f64 {
        self.greatest(weights, |weight, n| weight * self.problem.moves.record / n)
    }

    /// The parts of noise of this deviation in a sum: each party adds 1/(m − t) of the variance.
    fn shared_out(&self, deviation: f64) -> PooledNoise {
        let (m, t) = (self.parties as f64, f64::from(self.sum.colluders));
        let own = deviation / (m - t).max(1.0).sqrt();
        PooledNoise { own, all: own * m.sqrt() }
    }

    /// How sums of addends of at most this size are made. Without data nothing is added, and any grid
    /// does.
    fn sum(&self, bound: f64) -> Result<Arc<Sum>, ExperimentError> {
        let topology = &self.assembly.topology;
        let exchanges = self.sum.exchanges();
        let tree = match exchanges {
            None => Some(SpanningTree::of(topology, PeerId(self.sum.root))?),
            Some(_) => None,
        };
        // Rows are as long as they may be up to rounding, and so are gradients.
        let bound = if bound > 0.0 && bound.is_finite() { ROUNDING * bound } else { 1.0 };
        Ok(Arc::new(Sum {
            tree,
            exchanges: exchanges.unwrap_or(1),
            grid: Grid::new(topology.peers(), bound),
            noise: self.draws(Purpose::SumNoise),
            parties: topology.peers(),
        }))
    }

    fn peers<L: Learner>(
        &self,
        sum: &Arc<Sum>,
        learner: impl Fn(usize, crate::data::LocalData) -> L,
    ) -> Vec<Party<L>> {
        let seeds = self.assembly.streams.family(Purpose::Masks, 0);
        self.assembly.peers(|id, data, near| {
            let masks = self.masks.as_ref().map(|graph| Masks::of(graph, id, seeds));
            Party::new(id, learner(id.index(), data), near, masks, Arc::clone(sum))
        })
    }

    /// What a party adds, by its number of samples: to each gradient, to its last model or to a sum.
    fn erm_noise(
        &self,
        erm: &WeightedErmConfig,
        weights: &[f64],
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
            ErmVariant::Published => Some(own(unit * self.mean_moves(weights))),
            ErmVariant::MaskedOutput | ErmVariant::MaskedGradient | ErmVariant::Jayaraman => {
                Some(self.shared_out(unit * self.mean_moves(weights)))
            }
            ErmVariant::Central => {
                Some(PooledNoise { own: 0.0, all: unit * self.mean_moves(weights) })
            }
        };
        let record = self.problem.moves.record;
        move |n| of_all.unwrap_or_else(|| own(unit * record / n.max(1) as f64))
    }

    /// The deviation of the noise in the mean of the parties' gradients, or of their last models: once
    /// all parties have added theirs.
    pub(super) fn erm_mean_noise(&self, erm: &WeightedErmConfig) -> f64 {
        let weights = erm.effective_weights().of(&self.samples);
        let shared = erm.noise.is_some_and(|noise| noise.shared);
        let noise = self.erm_noise(erm, &weights);
        match erm.variant {
            ErmVariant::Published if shared => noise(1).own,
            ErmVariant::Published => noise(1).own * root_of_squares(&weights),
            ErmVariant::Local | ErmVariant::LocalOutput => {
                let parts = self.samples.iter().zip(&weights).filter(|(n, _)| **n > 0);
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
        self.erm_noise(&WeightedErmConfig { variant, ..erm.clone() }, &[])(n).own
    }

    /// The parties of weighted DP-ERM.
    pub(super) fn erm(
        &self,
        erm: &WeightedErmConfig,
    ) -> Result<Vec<Party<ErmLearner>>, ExperimentError> {
        let WeightedErmConfig { variant, steps, step, .. } = *erm;
        let weights = erm.effective_weights().of(&self.samples);
        let of = self.erm_noise(erm, &weights);
        let records: usize = self.samples.iter().sum();
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
        let sum = self.sum(self.greatest(&weights, bound))?;
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
        Ok(self.peers(&sum, |id, data| {
            ErmLearner::new(data, weights[id], of(self.samples[id]), Arc::clone(&parameters))
        }))
    }

    /// The parties of federated learning; K is known by now.
    pub(super) fn federated(
        &self,
        federated: &FederatedConfig,
        local_steps: u32,
    ) -> Result<Vec<Party<FederatedLearner>>, ExperimentError> {
        let total_steps =
            federated.total_steps.unwrap_or(local_steps.saturating_mul(federated.communications));
        let weights = federated.weights.of(&self.samples);
        let deviation = federated.noise.as_ref().map_or(0.0, |noise| {
            noise.deviation(self.mean_moves(&weights), total_steps, self.delta())
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
        let sum = self.sum(self.greatest(&weights, bound))?;
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
        Ok(self.peers(&sum, |id, data| {
            FederatedLearner::new(data, weights[id], noise, Arc::clone(&parameters))
        }))
    }

    /// What each owner's answers count.
    pub(super) fn query_weights(&self, queries: &GradientQueriesConfig) -> Vec<f64> {
        let epsilon = |l: usize| {
            queries.noise.as_ref().map_or(f64::NAN, |noise| noise.epsilon.of(PeerId::new(l)))
        };
        queries.weights(&self.samples, epsilon)
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
        let each = self.query_moves(Some(law)).record / self.samples[l] as f64;
        let epsilon = Epsilon(noise.epsilon.of(PeerId::new(l)));
        Some(answer_noise(law, each, count, epsilon, self.delta()))
    }

    /// Whether an owner has something to hide and hides it.
    fn adds_noise(&self, queries: &GradientQueriesConfig, l: usize) -> bool {
        self.samples[l] > 0 && (l != self.sum.root as usize || queries.learner_noise)
    }

    /// The owners that answer queries.
    pub(super) fn queries(
        &self,
        queries: &GradientQueriesConfig,
    ) -> Result<Vec<Party<QueryLearner>>, ExperimentError> {
        let weights = self.query_weights(queries);
        let law = queries.noise.as_ref().map(|noise| noise.mechanism);
        let problem = Problem { moves: self.query_moves(law), ..self.problem };
        let count = queries.queries();
        let mechanisms: Vec<Option<Mechanism>> = match (&queries.noise, law) {
            (Some(QueryNoise { epsilon: PerPeer::Same(epsilon), .. }), Some(law)) => {
                // The search for the noise of one serves all.
                let one = answer_noise(law, 1.0, count, Epsilon(*epsilon), self.delta());
                let moves = problem.moves.record;
                let scaled = |l: usize| one.scaled(moves / self.samples[l] as f64);
                let adds = |&l: &usize| self.adds_noise(queries, l);
                (0..self.samples.len()).map(|l| Some(l).filter(adds).map(scaled)).collect()
            }
            (Some(_), Some(law)) => {
                (0..self.samples.len()).map(|l| self.owner_noise(queries, law, count, l)).collect()
            }
            _ => vec![None; self.samples.len()],
        };
        let room = |l: usize| match mechanisms[l] {
            None => 0.0,
            Some(Mechanism::Gaussian { deviation }) => NORMAL_ROOM * deviation,
            Some(Mechanism::Laplace { scale }) => LAPLACE_ROOM * scale,
        };
        let longest = 0.5 * self.problem.moves.record;
        let bound = (0..self.samples.len()).map(|l| weights[l] * (longest + room(l)));
        let sum = self.sum(bound.fold(0.0, f64::max))?;
        let parameters = Arc::new(QueryParameters {
            problem,
            algorithm: queries.algorithm,
            updates: queries.updates,
            queries: count,
            side: queries.side,
            trajectories: queries.trajectories(),
            draws: self.draws(Purpose::StepNoise),
        });
        Ok(self.peers(&sum, |id, data| {
            QueryLearner::new(id, data, weights[id], mechanisms[id], Arc::clone(&parameters))
        }))
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
    pub(super) fn samples(&self) -> &[usize] {
        &self.samples
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
