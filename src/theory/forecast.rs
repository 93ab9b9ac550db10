//! What theory says of one run of private ADMM, each statement with what it rests on.

use super::bounds::{Bound, bound, dual_energy, optimal_gradients};
use super::condition::{Condition, Convexity, Verdict};
use super::curvature::Curvature;
use super::generalisation::{Generalisation, PeerSamples};
use super::noise::{ObjectiveCost, ObjectiveNoise, PrimalNoise};
use super::penalty::{Method, Rate, local_rate};
use crate::learn::{Objective, dot, norm};
use crate::topology::{Spectrum, Topology, Value};

/// Up to this many peers gᵀL₋⁺g is computed.
const DUAL_PEERS: usize = 1_000;

/// A run, as theory sees it.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// Who talks to whom.
    pub topology: &'a Topology,
    /// F_i, the mean loss of each peer on the labels that it has.
    pub objectives: &'a [Objective<'a>],
    /// a; each peer carries a/n of it.
    pub regularisation: f64,
    /// w*, the optimum of the problem as it is solved, objective noise included.
    pub optimum: &'a [f64],
    /// β.
    pub penalty: f64,
    /// t, at least 1.
    pub rounds: u32,
    /// Noise on what is sent.
    pub primal_noise: Option<PrimalNoise<'a>>,
    /// Noise in the objective.
    pub objective_noise: Option<ObjectiveNoise<'a>>,
    /// What is known of the samples' population, for classes.
    pub population: Option<Population>,
}

/// What is known of the samples before they are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Population {
    /// k = coth(ε/2) of the labels' randomisation, 1 without.
    pub correction: f64,
    /// W: models are no longer than this.
    pub radius: f64,
    /// B: samples are no longer than this.
    pub reach: f64,
    /// δ: the bound may fail with this probability.
    pub delta: f64,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<T> {
    /// What is stated, or why nothing is.
    pub value: Result<T, &'static str>,
    /// Its unit, in words.
    pub unit: &'static str,
    /// What it rests on.
    pub condition: &'static str,
    /// Whether that is so here, as far as it can be checked; false where there is no value.
    pub holds: bool,
}

impl<T> Entry<T> {
    fn new(
        unit: &'static str,
        condition: &'static str,
        value: Result<T, &'static str>,
        holds: impl FnOnce(&T) -> bool,
    ) -> Self {
        let holds = value.as_ref().is_ok_and(holds);
        Self { value, unit, condition, holds }
    }
}

/// Eigenvalues of the graph's matrices L₋ = D − A, L₊ = D + A and Q = (L₋/2)^{1/2}.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectra {
    /// Those of L₋ and L₊, each with how it was found.
    pub graph: Spectrum,
    /// σ_min(Q) over its non-zero singular values.
    pub root_least: Value,
    /// σ_max(Q).
    pub root_largest: Value,
}

impl Spectra {
    fn of(graph: Spectrum) -> Self {
        let root = |value: Value| Value { value: value.value.map(|v| (0.5 * v).sqrt()), ..value };
        Self {
            root_least: root(graph.algebraic_connectivity),
            root_largest: root(graph.largest),
            graph,
        }
    }
}

/// All that theory says of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// Eigenvalues of the graph.
    pub spectra: Entry<Spectra>,
    /// τ, the factor per round of the error without primal noise.
    pub rate: Entry<Rate>,
    /// The factor per round of the error with it.
    pub noisy_rate: Entry<f64>,
    /// The O(1/t) bound after the run's rounds.
    pub bound: Entry<Bound>,
    /// What noise in the objective costs.
    pub objective_cost: Entry<ObjectiveCost>,
    /// How far the samples speak for their population.
    pub generalisation: Entry<Generalisation>,
    /// Condition (25).
    pub condition: Entry<Condition>,
}

impl Forecast {
    /// The statements about this run.
    ///
    /// # Complexity
    /// Some seconds at most per entry: iterations that would take longer give no value.
    ///
    /// # Panics
    /// If there is not one objective, noise scale and η for every peer.
    pub fn of(inputs: &Inputs<'_>) -> Self {
        let spectra = Spectrum::of(inputs.topology)
            .map(Spectra::of)
            .ok_or("the graph is not connected, or has one peer only");
        let rate = inputs.rate();
        Self {
            noisy_rate: inputs.noisy_rate(&rate),
            rate,
            bound: inputs.bound(),
            objective_cost: inputs.objective_cost(),
            generalisation: inputs.generalisation(),
            condition: inputs.condition(&spectra),
            spectra: Entry::new(
                "eigenvalues, without unit",
                "the graph is connected",
                spectra,
                |_| true,
            ),
        }
    }
}

impl Inputs<'_> {
    fn peers(&self) -> usize {
        self.topology.peers()
    }

    /// a/n.
    fn ridge(&self) -> f64 {
        self.regularisation / self.peers() as f64
    }

    /// The noise on what is sent, if there is any.
    fn heard(&self) -> Option<PrimalNoise<'_>> {
        self.primal_noise.filter(|noise| !noise.is_silent())
    }

    fn rate(&self) -> Entry<Rate> {
        let curvature = Curvature::at(self.objectives, self.ridge(), self.optimum);
        let rate = local_rate(self.topology, &curvature, self.penalty);
        let value = if rate.value.is_nan() { Err("the iteration found no rate") } else { Ok(rate) };
        Entry::new(
            "factor of the distance to the optimum per round",
            "near the optimum, without primal noise; found from every peer's own curvature",
            value,
            |rate| rate.converged && rate.method == Method::Full && self.heard().is_none(),
        )
    }

    fn noisy_rate(&self, rate: &Entry<Rate>) -> Entry<f64> {
        let value = match (self.heard(), &rate.value) {
            (None, _) => Err("nothing that is sent carries noise"),
            (_, Err(reason)) => Err(*reason),
            (Some(noise), Ok(rate)) => Ok(noise.rate(rate.value)),
        };
        let exact = |rate: &Rate| rate.converged && rate.method == Method::Full;
        Entry::new(
            "factor of the root mean square distance to the optimum per round",
            "near the optimum, in the mean over primal noise that decays (ρ < 1); found from every \
             peer's own curvature",
            value,
            |&noisy| noisy < 1.0 && rate.value.as_ref().is_ok_and(exact),
        )
    }

    fn bound(&self) -> Entry<Bound> {
        let eta = self.objective_noise.map_or(&[][..], |noise| noise.drawn);
        let gradients = optimal_gradients(self.objectives, self.ridge(), self.optimum, eta);
        let energy =
            (self.peers() <= DUAL_PEERS).then(|| dual_energy(self.topology, &gradients)).flatten();
        let noise = self.primal_noise;
        let value = match self.rounds {
            0 => Err("there are no rounds"),
            t => Ok(bound(self.topology, self.penalty, t, self.optimum, noise.as_ref(), energy)),
        };
        let mut sum = vec![0.0; self.optimum.len()];
        gradients.iter().for_each(|g| crate::learn::axpy(1.0, g, &mut sum));
        let size: f64 = gradients.iter().map(|g| norm(g)).sum();
        Entry::new(
            "objective, sum over peers; of the mean of each peer's models over the rounds",
            "in the mean over primal noise, from models and multipliers of 0, with w* the optimum \
             of the problem as solved",
            value,
            |_| norm(&sum) <= 1e-6 * size,
        )
    }

    fn objective_cost(&self) -> Entry<ObjectiveCost> {
        let value = match self.objective_noise {
            None => Err("the objective carries no noise"),
            Some(_) if self.regularisation.is_nan() || self.regularisation <= 0.0 => {
                Err("without regularisation there is no bound")
            }
            Some(noise) => Ok(ObjectiveCost::of(&noise, self.regularisation)),
        };
        Entry::new(
            "objective of the peers' labels, sum over peers",
            "every η is within its law's reach; for the mean, they are independent and of mean 0",
            value,
            |_| {
                let within = |noise: ObjectiveNoise<'_>| {
                    let reach = noise.reach.unwrap_or(f64::INFINITY) * (1.0 + 1e-12);
                    noise.drawn.iter().all(|eta| norm(eta) <= reach)
                };
                self.objective_noise.is_none_or(within)
            },
        )
    }

    fn generalisation(&self) -> Entry<Generalisation> {
        let classes = self.objectives.iter().all(|f| f.loss.is_classification());
        let count = |f: &Objective<'_>| PeerSamples {
            count: f.samples.len(),
            square_sum: f.samples.rows().map(|(x, _)| dot(x, x)).sum(),
        };
        let value = match self.population {
            None => {
                Err("it needs a public bound on |x|, bounded objective noise and the unbiased loss")
            }
            Some(_) if !classes => Err("squared loss has no bound without one of the targets"),
            Some(Population { correction, radius, reach, delta }) => {
                let peers: Vec<_> = self.objectives.iter().map(count).collect();
                Generalisation::of(correction, radius, reach, delta, &peers)
                    .ok_or("no samples, or parameters outside their range")
            }
        };
        Entry::new(
            "risk on the population of the labels as they were, sum over peers",
            "independent samples no longer than B, models no longer than W, both chosen before \
             looking at the data",
            value,
            |_| {
                self.population.is_some_and(|population| {
                    let reach = population.reach * (1.0 + 1e-12);
                    norm(self.optimum) <= population.radius
                        && self.objectives.iter().all(|f| f.samples.reach() <= reach)
                })
            },
        )
    }

    fn condition(&self, spectra: &Result<Spectra, &'static str>) -> Entry<Condition> {
        let value = match spectra {
            Err(reason) => Err(*reason),
            Ok(spectra) => {
                let convexity = Convexity::of(self.objectives, self.ridge());
                Condition::of(&spectra.graph, convexity).ok_or("an eigenvalue did not settle")
            }
        };
        Entry::new(
            "squared eigenvalues of L₊, without unit",
            "the left side is above the right one",
            value,
            |condition| condition.verdict == Verdict::Satisfied,
        )
    }
}
