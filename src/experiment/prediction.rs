//! What theory says of a scenario, item by item, and what a run made of it.

mod server;
mod walk;

use std::borrow::Cow;

use serde::Serialize;

use super::assembly::{Assembly, objective_noise};
use super::run::ExperimentError;
use crate::learn::{axpy, central_optimum};
use crate::measure::{Estimate, FILMED_PEERS, Metric, What};
use crate::privacy::Correction;
use crate::protocol::{Automatic, ProtocolConfig};
use crate::scenario::Scenario;
use crate::theory::{
    Entry, Forecast, Inputs, Method, ObjectiveNoise, Population, PrimalNoise, Verdict, model_radius,
};

/// The generalisation term may fail with this probability.
const CONFIDENCE: f64 = 0.05;

/// How a figure of theory is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// A run should show it.
    Equal,
    /// A run should show about that: the formula is an approximation here.
    About,
    /// A run, or the mean over runs, should not show more.
    AtMost,
    /// A run, or the mean over runs, should not show less.
    AtLeast,
    /// It describes the problem; a run has nothing to show for it.
    Given,
}

impl Reading {
    /// Between what a run shows and the figure.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::About => "≈",
            Self::AtMost => "≤",
            Self::AtLeast => "≥",
            Self::Given => "",
        }
    }
}

/// One statement of theory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    /// Its name in files.
    pub name: Cow<'static, str>,
    /// What it is.
    pub what: String,
    /// The figure, where there is one.
    pub predicted: Option<f64>,
    /// How it is to be read.
    pub reading: Reading,
    /// What the run showed, where it measured that.
    pub measured: Option<f64>,
    /// Measured over predicted.
    pub ratio: Option<f64>,
    /// What it rests on, or why there is no figure.
    pub rests_on: String,
    /// Whether that is so here, as far as it can be checked.
    pub holds: bool,
}

/// What theory says of one scenario, by the graph and the data of its first repeat.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The items, in the order in which they are shown.
    pub items: Vec<Item>,
    /// ADMM's bounds after any number of rounds, in units of the mean over peers.
    #[serde(skip)]
    bounds: Option<Bounds>,
}

/// S₁ and S₂ as functions of t.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bounds {
    start: f64,
    dual: Option<f64>,
    /// βd Σ_i N_i V_i²: the noise's part of S₁ for every unit of Σ_{k<t} ρ^k.
    noise: f64,
    decay: f64,
}

impl Bounds {
    /// S₁/t and S₂/t.
    fn after(&self, rounds: u32) -> (f64, Option<f64>) {
        let weight = PrimalNoise { scales: &[], decay: self.decay }.weight(rounds);
        let excess = self.start + self.noise * weight;
        let t = f64::from(rounds);
        (excess / t, self.dual.map(|dual| (excess + dual) / t))
    }
}

/// The prediction for ADMM, for walks and for parties around a server; none for other protocols.
/// `scenario` has every `auto` resolved, and the assembly is that of the first repeat, with its optimum.
/// Without an optimum less is said of parties around a server.
///
/// # Errors
/// A central problem that cannot be solved.
pub fn predict(
    scenario: &Scenario,
    assembly: &Assembly,
) -> Result<Option<Prediction>, ExperimentError> {
    if let Some(walk) = scenario.protocol.walk() {
        let items = walk::items(scenario, walk, assembly, assembly.walk_plan())?;
        return Ok(Some(Prediction { items, bounds: None }));
    }
    if scenario.protocol.sum().is_some() {
        let items = server::items(scenario, assembly);
        return Ok((!items.is_empty()).then_some(Prediction { items, bounds: None }));
    }
    let ProtocolConfig::Admm(admm) = &scenario.protocol else {
        return Ok(None);
    };
    let (Automatic::Value(penalty), Some(optimum)) = (admm.penalty, &assembly.optimum) else {
        return Ok(None);
    };
    let a = scenario.model.regularisation;
    let topology = &assembly.topology;
    let rows = assembly.scorer.rows_as_solved();
    let objectives = assembly.scorer.mean_losses(&rows);
    let n = topology.peers();
    let scales: Vec<f64> = match &admm.primal_noise {
        Some(noise) => topology.ids().map(|peer| noise.deviation.of(peer)).collect(),
        None => Vec::new(),
    };
    let law = objective_noise(scenario, &assembly.streams).map(|(law, _)| law);
    // The assembly holds η/n.
    let drawn: Vec<Vec<f64>> = assembly
        .scorer
        .linear_terms()
        .map(|eta| eta.iter().map(|eta| eta * n as f64).collect())
        .collect();
    let dimension = assembly.data.train.dimension();
    let correction = topology.ids().map(|peer| assembly.coefficient(peer)).fold(1.0, f64::max);
    let reach = scenario.reach();
    let noise_reach = law.map_or(Some(0.0), |law| law.largest_norm());
    // The term speaks of the unbiased loss.
    let plain = scenario.privacy.labels.as_ref().is_some_and(|l| l.loss == Correction::Plain);
    let known = reach.is_finite() && !plain;
    let population = noise_reach.filter(|_| known).map(|noise_reach| Population {
        correction,
        radius: model_radius(n, correction, reach, noise_reach, a),
        reach,
        delta: CONFIDENCE,
    });
    let forecast = Forecast::of(&Inputs {
        topology,
        objectives: &objectives,
        regularisation: a,
        optimum: &optimum.w,
        penalty,
        rounds: admm.rounds,
        primal_noise: admm
            .primal_noise
            .as_ref()
            .map(|noise| PrimalNoise { scales: &scales, decay: noise.decay }),
        objective_noise: law.map(|law| ObjectiveNoise {
            drawn: &drawn,
            reach: law.largest_norm(),
            mean_square: law.mean_square(dimension),
        }),
        population,
    });
    let cost = match law {
        Some(_) => Some(objective_cost(assembly, a)?),
        None => None,
    };
    let decay = admm.primal_noise.as_ref().map_or(1.0, |noise| noise.decay);
    let planned = PrimalNoise { scales: &scales, decay }.weight(admm.rounds);
    let bounds = match &forecast.bound.value {
        Ok(bound) => Bounds {
            start: bound.start / n as f64,
            dual: bound.dual.map(|dual| dual / n as f64),
            noise: bound.noise / planned / n as f64,
            decay,
        },
        Err(_) => Bounds { start: f64::NAN, dual: None, noise: 0.0, decay },
    };
    Ok(Some(Prediction { items: items(&forecast, n as f64, cost), bounds: Some(bounds) }))
}

/// Graphs up to this size get their theory with every run; `hushmesh predict` takes any. No larger than where
/// ranks have no more than [their parts](Scenario::runs_in_parts), since theory looks at the whole.
pub const PREDICTED_PEERS: usize = FILMED_PEERS;

/// So do parties around a server up to this many samples times squared dimension.
const PREDICTED_WORK: f64 = 2e9;

/// What theory says of a run, where that takes no more than a moment.
pub(super) fn affordable(
    scenario: &Scenario,
    assembly: &Assembly,
) -> Result<Option<Prediction>, ExperimentError> {
    let known = scenario.measure.has(What::Optimum)
        || assembly.plan.is_some()
        || scenario.protocol.sum().is_some();
    // Curvature takes a pass over all samples for every dimension.
    let (rows, d) = (assembly.seen.total_rows() as f64, assembly.seen.dimension() as f64);
    let heavy = scenario.protocol.sum().is_some() && rows * d * d > PREDICTED_WORK;
    if assembly.topology.peers() > PREDICTED_PEERS || heavy || !known {
        return Ok(None);
    }
    predict(scenario, assembly)
}

/// Σ_i J_i at the perturbed optimum above its own, by solving both: labels as the peers have them.
fn objective_cost(assembly: &Assembly, a: f64) -> Result<f64, ExperimentError> {
    let rows = assembly.scorer.rows_as_solved();
    let objectives = assembly.scorer.mean_losses(&rows);
    let mut linear = vec![0.0; assembly.data.train.dimension()];
    let unperturbed = central_optimum(&objectives, a, &linear)?;
    assembly.scorer.linear_terms().for_each(|eta| axpy(1.0, eta, &mut linear));
    let Some(optimum) = &assembly.optimum else {
        return Ok(f64::NAN);
    };
    let of_noise: f64 = linear.iter().zip(&optimum.w).map(|(b, w)| b * w).sum();
    Ok(optimum.value - of_noise - unperturbed.value)
}

fn items(forecast: &Forecast, n: f64, cost: Option<f64>) -> Vec<Item> {
    let mut items = Vec::new();
    let mut add = |name: &'static str, what: &str, reading, entry: Stated| {
        let measured = entry.measured;
        let ratio = measured.zip(entry.value).map(|(m, p)| m / p).filter(|r| r.is_finite());
        items.push(Item {
            name: name.into(),
            what: what.to_string(),
            predicted: entry.value.filter(|value| value.is_finite()),
            reading,
            measured,
            ratio,
            rests_on: entry.rests_on,
            holds: entry.holds,
        });
    };
    use Reading::{AtMost, Equal, Given};

    let spectra = &forecast.spectra;
    let of_graph = |figure: &dyn Fn(&crate::theory::Spectra) -> Option<f64>| {
        Stated::of(spectra, |spectra| figure(spectra))
    };
    add("lambda_2", "λ₂ of L₋, algebraic connectivity", Given, {
        of_graph(&|s| s.graph.algebraic_connectivity.value)
    });
    add("ratio", "σ_max(L₊)/σ_min(L₋)", Given, of_graph(&|s| s.graph.ratio.value));
    add("signless_least", "σ_min(L₊), 0 on a bipartite graph", Given, {
        of_graph(&|s| s.graph.signless_least.value)
    });
    add("signless_largest", "σ_max(L₊)", Given, of_graph(&|s| s.graph.signless_largest.value));

    let mut rate = Stated::of(&forecast.rate, |rate| Some(rate.value));
    if let Ok(found) = &forecast.rate.value {
        match found.method {
            Method::Full => {}
            Method::Mean => rate.rests_on += "; here as if all had the mean curvature",
            Method::Approximate => {
                rate.rests_on += "; here as if all had the mean curvature and degree";
            }
        }
        if !found.converged {
            rate.rests_on += "; the iteration has not settled";
        }
    }
    let noisy = forecast.noisy_rate.value.is_ok();
    let reading = if noisy { Given } else { Equal };
    add("rate", "τ, factor of the error per round without noise", reading, rate);
    if noisy {
        let noisy = Stated::of(&forecast.noisy_rate, |rate| Some(*rate));
        add("noisy_rate", "max(τ, √ρ), the same under primal noise", Equal, noisy);
    }
    let excess = Stated::of(&forecast.bound, |bound| Some(bound.excess() / n));
    add("bound", "S₁/t, objective of the running average above its optimum", AtMost, excess);
    let divergence = Stated::of(&forecast.bound, |bound| bound.divergence().map(|d| d / n));
    add("bound_with_consensus", "S₂/t, the same above its tangents at the optimum", AtMost, {
        divergence
    });
    if let Some(cost) = cost {
        let worst = Stated::of(&forecast.objective_cost, |c| c.worst.map(|worst| worst / n));
        let mean = Stated::of(&forecast.objective_cost, |c| Some(c.mean / n));
        let drawn = Stated::of(&forecast.objective_cost, |c| Some(c.drawn / n));
        let seen = Some(cost / n);
        add("objective_cost_worst", "cost of objective noise, at worst", AtMost, {
            Stated { measured: seen, ..worst }
        });
        add("objective_cost_mean", "cost of objective noise, in the mean", AtMost, mean);
        add("objective_cost_drawn", "cost of the objective noise that was drawn", AtMost, {
            Stated { measured: seen, ..drawn }
        });
    }
    let generalisation = Stated::of(&forecast.generalisation, |g| Some(g.published / n));
    add("generalisation", "generalisation term of (28)", AtMost, generalisation);
    let joint = Stated::of(&forecast.generalisation, |g| Some(g.joint / n));
    add("generalisation_joint", "the same for all peers at once", AtMost, joint);

    let mut condition = Stated::of(&forecast.condition, |c| Some(c.left / c.right));
    if let Ok(found) = &forecast.condition.value {
        condition.rests_on = match found.verdict {
            Verdict::Satisfied => {
                format!("satisfied: {:.4} is above {:.4}", found.left, found.right)
            }
            Verdict::Missed { factor } => format!(
                "not satisfied: {:.4} is not above {:.4}, it misses by a factor of {factor:.4}",
                found.left, found.right
            ),
            Verdict::Singular => format!(
                "not satisfied: L₊ is singular on a bipartite graph, 0 is not above {:.4}",
                found.right
            ),
        };
    }
    add(
        "condition_25",
        "condition (25), left side over right side, to be above 1",
        Given,
        condition,
    );
    items
}

/// An entry's figure, reduced to a number.
struct Stated {
    value: Option<f64>,
    measured: Option<f64>,
    rests_on: String,
    holds: bool,
}

impl Stated {
    fn of<T>(entry: &Entry<T>, figure: impl Fn(&T) -> Option<f64>) -> Self {
        match &entry.value {
            Ok(value) => Self {
                value: figure(value),
                measured: None,
                rests_on: entry.condition.to_string(),
                holds: entry.holds,
            },
            Err(reason) => Self::missing(reason),
        }
    }

    /// A figure that needs no condition.
    fn known(value: f64, rests_on: String) -> Self {
        Self { value: Some(value), measured: None, rests_on, holds: true }
    }

    /// No figure, and why.
    fn missing(reason: &str) -> Self {
        let rests_on = format!("not stated: {reason}");
        Self { value: None, measured: None, rests_on, holds: false }
    }
}

fn item(name: impl Into<Cow<'static, str>>, what: &str, reading: Reading, stated: Stated) -> Item {
    Item {
        name: name.into(),
        what: what.to_string(),
        predicted: stated.value.filter(|value| value.is_finite()),
        reading,
        measured: stated.measured,
        ratio: None,
        rests_on: stated.rests_on,
        holds: stated.holds,
    }
}

impl Prediction {
    /// The prediction beside what a run showed: the fitted rate, and each metric at the end, which
    /// came after this many rounds (none where repeats differ in that).
    #[must_use]
    pub fn beside(
        mut self,
        rate: &Estimate,
        rounds: Option<u32>,
        metric: impl Fn(Metric) -> Option<f64>,
    ) -> Self {
        let after = rounds.zip(self.bounds).map(|(rounds, bounds)| bounds.after(rounds));
        // Of tokens, where their mean iterates were kept.
        let of_mean = metric(Metric::AverageRisk).zip(metric(Metric::EmpiricalRisk));
        let excess = of_mean
            .zip(metric(Metric::ExcessRisk))
            .map(|((average, of_last), last)| last + average - of_last);
        let walks = self.bounds.is_none();
        let noisy = self.items.iter().any(|item| item.name == "noisy_rate");
        for item in &mut self.items {
            match (&*item.name, after) {
                ("bound", Some((excess, _))) => item.predicted = Some(excess),
                ("bound_with_consensus", Some((_, divergence))) => item.predicted = divergence,
                _ => {}
            }
            let measured = match &*item.name {
                "noisy_rate" => rate.mean,
                "rate" if !noisy => rate.mean,
                "bound" if walks => excess,
                "hops" | "hops_closed_form" => metric(Metric::Hops),
                "forwards" => metric(Metric::Forwards),
                name if server::of_excess(name) => metric(Metric::ExcessRisk),
                name if server::of_fitness(name) => metric(Metric::RelativeFitness),
                "bound" => metric(Metric::AverageObjectiveGap).filter(|_| after.is_some()),
                "bound_with_consensus" => {
                    metric(Metric::AverageDivergence).filter(|_| after.is_some())
                }
                _ => item.measured,
            };
            item.measured = measured;
            let ratio = measured.zip(item.predicted).map(|(m, p)| m / p);
            // Below zero the bound is kept, and there is nothing to divide.
            item.ratio = ratio.filter(|ratio| ratio.is_finite() && *ratio >= 0.0);
        }
        server::compare_with_band(&mut self.items);
        self
    }

    /// The item of this name.
    pub fn item(&self, name: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.name == name)
    }

    /// The figure of an item.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.item(name)?.predicted
    }

    /// The factor per round that a run's error should show.
    pub fn rate(&self) -> Option<f64> {
        match self.item("noisy_rate") {
            Some(item) => item.predicted.filter(|_| item.holds),
            None => self.figure("rate"),
        }
    }
}
