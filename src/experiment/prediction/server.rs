//! What theory says of parties around a server: how far above the optimum they end, how many steps or
//! queries are best at their noise, and whom it pays to take part.
//!
//! The objective is taken for a quadratic one with the curvature that it has at its optimum. That is
//! exact for the squared loss; everything else that is not is said item by item.

mod collaboration;
mod doubts;
#[cfg(test)]
mod tests;

use self::doubts::{Doubts, brief};
use super::{Item, Reading, Stated, item};
use crate::experiment::assembly::{Assembly, optimum_of};
use crate::experiment::server::{Server, most_local_steps, noise_place, quadratic};
use crate::learn::{Central, Clipping, Loss, Regulariser, dot, norm};
use crate::privacy::Mechanism;
use crate::protocol::ProtocolConfig;
use crate::protocol::federated::{FederatedConfig, FederatedVariant};
use crate::protocol::gradient_queries::{
    Algorithm, GradientQueriesConfig, QueryMechanism, QueryStep,
};
use crate::protocol::party::SumConfig;
use crate::protocol::weighted_erm::{WeightedErmConfig, carried};
use crate::scenario::Scenario;
use crate::theory::server::{
    Descent, ExcessLaw, FederatedBound, NoisePlace, Owner, QuadraticModel, QueryNoise, Schedule,
    best_constant_steps, best_local_steps_at, best_queries, best_total_steps, excess_law,
    query_bound, query_variance, saving,
};

/// What searches for a best number may cost, in steps times dimensions, and the most steps.
const SEARCH: f64 = 2e7;
const MOST_STEPS: f64 = 100_000.0;

/// The most updates of a learner that are tried.
const MOST_UPDATES: u32 = 2000;

/// Parties whose own optima are solved for, and what that may cost, in samples times squared dimension.
const SOLVED_PARTIES: usize = 64;
const SOLVED_SIZE: f64 = 5e8;

/// Noise within so many deviations is looked at where gradients are cut and models boxed.
const LOOKED_AT: f64 = 3.0;

/// How much worse than the best the communications of K = 1 may be that others are compared with.
const WITHIN: f64 = 0.25;

const SAME: &str = "the same";

/// The items. Without an optimum there are those alone that need none.
pub(super) fn items(scenario: &Scenario, assembly: &Assembly) -> Vec<Item> {
    let forecast = |sum| Forecast::new(scenario, assembly, sum);
    match &scenario.protocol {
        ProtocolConfig::WeightedErm(erm) => forecast(&erm.sum).erm(erm),
        ProtocolConfig::Federated(federated) => forecast(&federated.sum).federated(federated),
        ProtocolConfig::GradientQueries(queries) => forecast(&queries.sum).queries(queries),
        ProtocolConfig::Admm(_)
        | ProtocolConfig::GradientDescent(_)
        | ProtocolConfig::GradientTracking(_)
        | ProtocolConfig::WalkSgd(_) => Vec::new(),
    }
}

/// Whether an item is compared with the measured risk above the optimum.
pub(super) fn of_excess(name: &str) -> bool {
    let bounds = ["query_bound", "federated_bound", "federated_bound_corrected"];
    ["excess_risk", "excess_low", "excess_high"].contains(&name) || bounds.contains(&name)
}

/// Whether an item is compared with the measured ψ.
pub(super) fn of_fitness(name: &str) -> bool {
    ["fitness", "fitness_low", "fitness_high"].contains(&name)
}

/// Says of figures that have a band whether what was measured is inside.
pub(super) fn compare_with_band(items: &mut [Item]) {
    let figure = |items: &[Item], name: &str| {
        items.iter().find(|item| item.name == name).and_then(|item| item.predicted)
    };
    for (name, low, high) in
        [("excess_risk", "excess_low", "excess_high"), ("fitness", "fitness_low", "fitness_high")]
    {
        let Some((low, high)) = figure(items, low).zip(figure(items, high)) else {
            continue;
        };
        let found = items.iter_mut().find(|item| item.name == name);
        if let Some((item, measured)) = found.and_then(|item| item.measured.map(|m| (item, m))) {
            let inside = (low..=high).contains(&measured);
            item.rests_on += if inside { "; inside the band" } else { "; outside the band" };
        }
    }
}

/// What the items are computed from.
struct Forecast<'a> {
    scenario: &'a Scenario,
    assembly: &'a Assembly,
    sum: &'a SumConfig,
    server: Server<'a>,
    model: Option<QuadraticModel>,
    /// Why there is no model.
    reason: &'static str,
    items: Vec<Item>,
}

impl<'a> Forecast<'a> {
    fn new(scenario: &'a Scenario, assembly: &'a Assembly, sum: &'a SumConfig) -> Self {
        let server = Server::new(scenario, assembly, sum);
        let curved = scenario.model.loss != Loss::Hinge && scenario.model.sine == 0.0;
        let model = curved.then(|| quadratic(assembly)).flatten();
        let reason = match scenario.model.loss {
            Loss::Hinge => "the hinge has no curvature",
            _ if scenario.model.sine > 0.0 => "with `sine` the curvature is not that of a bowl",
            _ if assembly.optimum.is_none() => "no optimum is known",
            _ => "there are too many dimensions for eigenvalues",
        };
        Self { scenario, assembly, sum, server, model, reason, items: Vec::new() }
    }

    fn add(
        &mut self,
        name: impl Into<std::borrow::Cow<'static, str>>,
        what: &str,
        reading: Reading,
        stated: Stated,
    ) {
        self.items.push(item(name, what, reading, stated));
    }

    fn given(&mut self, name: &'static str, what: &str, value: f64, rests_on: &str) {
        self.add(name, what, Reading::Given, Stated::known(value, rests_on.to_string()));
    }

    fn dimension(&self) -> usize {
        self.assembly.seen.dimension().max(1)
    }

    fn most_steps(&self) -> u32 {
        (SEARCH / self.dimension() as f64).clamp(1000.0, MOST_STEPS) as u32
    }

    /// Weighted DP-ERM.
    fn erm(mut self, erm: &WeightedErmConfig) -> Vec<Item> {
        let steps = vec![erm.step; erm.steps as usize];
        let sigma = self.server.erm_mean_noise(erm);
        let weights = erm.effective_weights().of(&self.server.samples());
        let output = erm.variant.perturbs_output();
        let within = if output { 0.0 } else { sigma };
        let mut together = None;
        if let Some(model) = self.model.take() {
            let mut doubts = self.doubts(&weights, erm.variant.sums_gradients());
            self.look_for_cuts(&mut doubts, model.spread(&steps, within));
            if erm.weight_noise.is_some() {
                doubts.broken.push("the noise of the weights is left out".to_string());
            }
            let law = match output {
                true => model.law_of_output(&steps, sigma),
                false => model.law(&steps, sigma),
            };
            together = Some(law.mean());
            self.excess(&law, &doubts, Some(&doubts), false);
            if erm.noise.is_some() {
                let way = |t| carried(erm.step, t, self.server.problem().regulariser.ridge);
                let (sigma_of_one, whole) = (sigma / f64::from(erm.steps).sqrt(), way(erm.steps));
                let noise_of = |t: u32| match output {
                    true => (0.0, sigma * way(t) / whole),
                    false => (sigma_of_one * f64::from(t).sqrt(), 0.0),
                };
                let most = self.most_steps().min(10_000);
                let (best, gap) = best_constant_steps(&model, erm.step, noise_of, most);
                let tried = format!("1 to {most} tried with this step and budget");
                self.given("best_steps", "T with the least predicted excess", best.into(), &tried);
                self.given("best_steps_excess", "the predicted excess with it", gap, SAME);
            }
        } else {
            self.without_model();
        }
        self.collaboration_of_parties(erm, sigma, together);
        self.items
    }

    /// Federated learning.
    fn federated(mut self, federated: &FederatedConfig) -> Vec<Item> {
        let (strong, smooth) = self.server.convexity();
        let (Some(k), Some(total)) = (federated.local_steps(), federated.all_steps()) else {
            return self.items;
        };
        if !(strong > 0.0 && smooth.is_finite()) {
            return self.items;
        }
        let schedule = Schedule { strong, smooth, local_steps: k };
        let sigma = self.server.mean_noise(federated);
        let weights = federated.weights.of(&self.server.samples());
        if let Some(model) = self.model.take() {
            let steps = schedule.steps(total);
            let mut doubts = self.doubts(&weights, k == 1);
            self.look_for_cuts(&mut doubts, model.spread(&steps, sigma(total)));
            let law = match federated.variant {
                FederatedVariant::Published => model.law(&steps, sigma(total)),
                FederatedVariant::Masked => model.law_in_blocks(&steps, k as usize, sigma(total)),
            };
            self.excess(&law, &doubts, Some(&doubts), false);
            if federated.noise.is_some() {
                self.best_local_steps(&model, schedule, federated, &sigma);
            }
        } else {
            self.without_model();
        }
        self.federated_bound(schedule, total, sigma(total), &weights);
        self.items
    }

    fn best_local_steps(
        &mut self,
        model: &QuadraticModel,
        schedule: Schedule,
        federated: &FederatedConfig,
        sigma: &impl Fn(u32) -> f64,
    ) {
        let Schedule { strong, smooth, .. } = schedule;
        let (rounds, noise) = (federated.communications, noise_place(federated.variant));
        let most_local = most_local_steps(rounds, self.dimension());
        let (best, gap) =
            best_local_steps_at(model, (strong, smooth), rounds, noise, sigma, most_local);
        let tried = format!("1 to {most_local} tried at {rounds} communications and this budget");
        let what = "K with the least predicted excess";
        self.given("best_local_steps", what, best.into(), &tried);
        let rests_on = match noise {
            NoisePlace::EveryStep => "noise in every step",
            NoisePlace::EveryBlock => "noise in every average",
        };
        self.given("best_local_steps_excess", "the predicted excess with it", gap, rests_on);
        let most = self.most_steps();
        let total = best_total_steps(model, strong, smooth, sigma, most);
        let tried = format!("1 to {most} tried with K = 1");
        let what = "T, all local steps, with the least predicted excess";
        self.given("best_total_steps", what, total.into(), &tried);
        let best_schedule = Schedule { local_steps: best, ..schedule };
        let what = format!("communications of K = 1 over those of K = {best}");
        let stated = match saving(model, best_schedule, WITHIN, noise, sigma, most) {
            Some(found) => Stated::known(
                found.ratio(),
                format!(
                    "{} against {}, both within 25 % of the least excess of K = 1",
                    found.one, found.several
                ),
            ),
            None => {
                Stated::missing("that K does not come within 25 % of the least excess of K = 1")
            }
        };
        self.add("saving", &what, Reading::Given, stated);
    }

    /// Bound (6), where Γ can be had.
    fn federated_bound(&mut self, schedule: Schedule, total: u32, deviation: f64, weights: &[f64]) {
        let Some(optimum) = &self.assembly.optimum else {
            return;
        };
        let longest = 0.5 * self.server.problem().moves.record;
        let smooth = self.scenario.model.loss != Loss::Hinge && self.scenario.model.sine == 0.0;
        if !(longest.is_finite() && smooth) {
            return;
        }
        let Some(own) = self.own_optima() else {
            return;
        };
        let parts = own.iter().map(|(peer, own)| Some(weights[*peer] * own.as_ref()?.value));
        let Some(mean) = parts.sum::<Option<f64>>() else {
            return;
        };
        let bound = FederatedBound {
            schedule,
            heterogeneity: (optimum.value - mean).max(0.0),
            // From 0, |λθ| stays below the longest gradient of a sample.
            gradient: 2.0 * longest,
            dimension: self.dimension() as u32,
            deviation,
            distance: norm(&optimum.w),
        };
        let mut doubts = self.doubts(weights, true);
        self.look_for_cuts(&mut doubts, 0.0);
        // A bound needs no constant curvature.
        doubts.rough.clear();
        let gamma = brief(bound.heterogeneity);
        let rests_on = format!("Γ = {gamma}, G = {}: smooth, convex", brief(bound.gradient));
        for (name, what, value) in [
            ("federated_bound", "bound (6) as published", bound.published(total)),
            ("federated_bound_corrected", "bound (6) for any K", bound.corrected(total)),
        ] {
            let mut stated = doubts.stated(value);
            stated.rests_on = match doubts.broken.is_empty() {
                true => rests_on.clone(),
                false => format!("{rests_on}; but {}", doubts.broken.join(", and ")),
            };
            self.add(name, what, Reading::AtMost, stated);
        }
    }

    /// Gradient queries.
    fn queries(mut self, queries: &GradientQueriesConfig) -> Vec<Item> {
        let law_of_noise = queries.noise.as_ref().map(|noise| noise.mechanism);
        let variance = |mechanism| {
            let variance = self.variance_of_one(queries, mechanism);
            move |updates: u32| {
                let paid = f64::from(updates) + f64::from(u8::from(queries.spare_query));
                variance * if mechanism == QueryMechanism::Laplace { paid * paid } else { paid }
            }
        };
        let noise = law_of_noise.map_or(0.0, |mechanism| variance(mechanism)(queries.updates));
        let by_law =
            [QueryMechanism::Laplace, QueryMechanism::Gaussian].map(|law| (law, variance(law)));
        let weights = self.server.query_weights(queries);
        let mut together = None;
        if let Some(model) = self.model.take() {
            let descent = descent(queries.algorithm, queries.updates);
            let steps: Vec<f64> = steps(queries.algorithm, queries.updates).collect();
            let spread = model.spread(&steps, noise.sqrt());
            let mut doubts = self.doubts(&weights, true);
            self.look_for_cuts(&mut doubts, spread);
            self.look_for_box(&mut doubts, queries.side, spread);
            let mut band = doubts.clone();
            if law_of_noise == Some(QueryMechanism::Laplace) {
                band.rough.push("as if Laplace noise were normal");
            }
            let law = excess_law(&model, &descent, noise);
            together = Some(law.mean());
            let one = queries.trajectories() == 1;
            self.excess(&law, &doubts, one.then_some(&band), true);
            if queries.noise.is_some() {
                for (mechanism, variance) in by_law {
                    self.best_updates(&model, queries.algorithm, mechanism, variance);
                }
            }
            if let Algorithm::Descent(QueryStep::Constant(step)) = queries.algorithm {
                self.query_bound(&model, (queries.updates, step), noise, &doubts);
            }
        } else {
            self.without_model();
        }
        self.collaboration_of_owners(queries, &weights, together);
        self.items
    }

    /// v, were there a single query.
    fn variance_of_one(&self, queries: &GradientQueriesConfig, law: QueryMechanism) -> f64 {
        let weights = self.server.query_weights(queries);
        let owner = |(l, &weight): (usize, &f64)| {
            let noise = match self.server.owner_noise(queries, law, 1, l)? {
                Mechanism::Laplace { scale } => QueryNoise::Laplace(scale),
                Mechanism::Gaussian { deviation } => QueryNoise::Gaussian(deviation),
            };
            Some(Owner { weight, noise })
        };
        query_variance(&weights.iter().enumerate().filter_map(owner).collect::<Vec<_>>())
    }

    fn best_updates(
        &mut self,
        model: &QuadraticModel,
        algorithm: Algorithm,
        mechanism: QueryMechanism,
        variance: impl Fn(u32) -> f64,
    ) {
        let (name, name_there, law) = match mechanism {
            QueryMechanism::Laplace => {
                ("best_updates_laplace", "best_updates_laplace_excess", "Laplace")
            }
            QueryMechanism::Gaussian => {
                ("best_updates_gaussian", "best_updates_gaussian_excess", "Gaussian")
            }
        };
        let what = format!("updates with the least predicted excess, {law} noise");
        // Beyond 50 in steps of a twentieth.
        let next = |&u: &u32| (u < MOST_UPDATES).then(|| (u + 1 + u / 50 * 2).min(MOST_UPDATES));
        let grid: Vec<u32> = std::iter::successors(Some(1), next).collect();
        let best = best_queries(model, &grid, &variance, |updates| descent(algorithm, updates));
        let Some((best, there)) = best.filter(|(_, there)| there.total().is_finite()) else {
            let reason = "nothing bounds the gradient of a sample in the norm of this noise";
            return self.add(name, &what, Reading::Given, Stated::missing(reason));
        };
        let tried = format!("1 to {MOST_UPDATES} tried with these steps and budgets");
        self.given(name, &what, best.into(), &tried);
        self.given(name_there, "the predicted excess with them", there.total(), SAME);
    }

    fn query_bound(
        &mut self,
        model: &QuadraticModel,
        (updates, step): (u32, f64),
        variance: f64,
        doubts: &Doubts,
    ) {
        let Some(start) = self.excess_of(&vec![0.0; self.dimension()]) else {
            return;
        };
        let of_values =
            |f: fn(f64, f64) -> f64, first| model.eigenvalues.iter().copied().fold(first, f);
        let (strong, smooth) = match self.scenario.model.loss {
            Loss::Squared => (of_values(f64::min, f64::INFINITY), of_values(f64::max, 0.0)),
            _ => self.server.convexity(),
        };
        let what = "bound for steps s ≤ 1/Λ";
        let dimension = self.dimension() as u32;
        let bound = query_bound(updates, step, (strong, smooth), start, dimension, variance);
        let stated = match bound.filter(|bound| bound.is_finite()) {
            None if step * smooth > 1.0 => Stated::missing("the steps are above 1/Λ"),
            None => Stated::missing("the objective is not strongly convex"),
            Some(bound) => {
                let doubts = Doubts { rough: Vec::new(), broken: doubts.broken.clone() };
                let mut stated = doubts.stated(bound);
                stated.rests_on = stated.rests_on.replace(
                    "exact: a quadratic objective",
                    &format!("γ = {}, Λ = {}", brief(strong), brief(smooth)),
                );
                stated
            }
        };
        self.add("query_bound", what, Reading::AtMost, stated);
    }

    /// The excess, its band and ψ, beside those of the zero model.
    fn excess(
        &mut self,
        law: &ExcessLaw,
        doubts: &Doubts,
        band: Option<&Doubts>,
        fitness_has_band: bool,
    ) {
        let mean = law.mean();
        let least = self.assembly.optimum.as_ref().map_or(f64::NAN, |best| best.value);
        let known = mean.is_finite() && law.deviation().is_finite() && law.deviation() > 0.0;
        let band = band.filter(|_| known).map(|doubts| (doubts, law.band()));
        let bands = |forecast: &mut Self, names: [&'static str; 2], over: f64| {
            if let Some((doubts, (low, high))) = band {
                let [of_low, of_high] = names;
                let what = "  5 % of runs are below";
                forecast.add(of_low, what, Reading::AtLeast, doubts.stated(low / over));
                let what = "  5 % of runs are above";
                forecast.add(of_high, what, Reading::AtMost, doubts.stated(high / over));
            }
        };
        let what = "risk on all samples above the optimum";
        self.add("excess_risk", what, doubts.reading(), doubts.stated(mean));
        bands(self, ["excess_low", "excess_high"], 1.0);
        let what = "ψ, the same relative to the optimum";
        self.add("fitness", what, doubts.reading(), doubts.stated(mean / least));
        if fitness_has_band {
            bands(self, ["fitness_low", "fitness_high"], least);
        }
        self.zero_model();
    }

    fn without_model(&mut self) {
        let what = "risk on all samples above the optimum";
        self.add("excess_risk", what, Reading::Equal, Stated::missing(self.reason));
        self.zero_model();
    }

    fn zero_model(&mut self) {
        let Some(start) = self.excess_of(&vec![0.0; self.dimension()]) else {
            return;
        };
        let least = self.assembly.optimum.as_ref().map_or(f64::NAN, |best| best.value);
        self.given("zero_excess", "risk of the zero model above the optimum", start, "the start");
        self.given("zero_fitness", "ψ of the zero model", start / least, SAME);
    }

    /// How far above the optimum a model is, on all samples.
    fn excess_of(&self, w: &[f64]) -> Option<f64> {
        let optimum = self.assembly.optimum.as_ref()?;
        Some(self.assembly.scorer.pooled_risk(w) - optimum.value)
    }

    /// The optima of the parties that have samples, where that takes no more than a moment.
    fn own_optima(&self) -> Option<Vec<(usize, Option<Central>)>> {
        let d = self.dimension() as f64;
        let size = self.assembly.seen.total_rows() as f64 * d * d;
        if self.server.parties() > SOLVED_PARTIES || size > SOLVED_SIZE {
            return None;
        }
        let regulariser: Regulariser = self.assembly.scorer.regulariser();
        let objectives = self.assembly.scorer.objectives_as_solved().into_iter().enumerate();
        let holders = objectives.filter(|(_, objective)| !objective.samples.is_empty());
        Some(holders.map(|(peer, own)| (peer, optimum_of(own, regulariser))).collect())
    }

    /// Doubts of all protocols. `together`: whether gradients are taken at one common model.
    fn doubts(&self, weights: &[f64], together: bool) -> Doubts {
        let mut doubts = Doubts::default();
        if self.scenario.model.loss == Loss::Logistic {
            doubts.rough.push("the curvature at the optimum everywhere");
        }
        let samples = self.server.samples();
        let all: usize = samples.iter().sum();
        let by_size = weights
            .iter()
            .zip(&samples)
            .all(|(weight, &n)| (weight - n as f64 / all.max(1) as f64).abs() < 1e-12);
        if self.server.parties() > 1 && !(by_size && together) {
            doubts.rough.push("parties whose data are alike");
        }
        if self.sum.exchanges().is_some() {
            doubts.rough.push("gossip that adds up exactly");
        }
        if self.assembly.responses.is_some() {
            doubts.broken.push("labels are randomised".to_string());
        }
        doubts
    }

    /// Looks whether samples are cut at the start, or near the optimum where models spread so far.
    fn look_for_cuts(&self, doubts: &mut Doubts, spread: f64) {
        let Some(optimum) = &self.assembly.optimum else {
            return;
        };
        let problem = self.server.problem();
        let objective = self.assembly.scorer.pooled_objective();
        let is_cut = |slope: f64, length: f64| match problem.clipping {
            Clipping::None => false,
            Clipping::Norm(most) => slope * length > most,
            Clipping::Slope(most) => slope > most,
        };
        let steepest = problem.loss.greatest_slope(1.0).unwrap_or(f64::INFINITY);
        let (mut start, mut end) = (0_usize, 0_usize);
        for (x, y) in objective.samples.rows() {
            let length = norm(x);
            start += usize::from(is_cut(problem.loss.derivative(y, 0.0).abs(), length));
            let slope = problem.loss.derivative(y, dot(x, &optimum.w)).abs();
            let room = LOOKED_AT * spread * length * problem.loss.smoothness();
            end += usize::from(is_cut((slope + room).min(steepest.max(slope)), length));
        }
        if start + end > 0 {
            let share = |count: usize| 100.0 * count as f64 / objective.samples.len() as f64;
            doubts.broken.push(format!(
                "gradients are cut, {:.2} % of them at the start and up to {:.2} % near the optimum",
                share(start),
                share(end)
            ));
        }
    }

    fn look_for_box(&self, doubts: &mut Doubts, side: Option<f64>, spread: f64) {
        let (Some(side), Some(optimum)) = (side, &self.assembly.optimum) else {
            return;
        };
        let furthest = optimum.w.iter().map(|w| w.abs()).fold(0.0, f64::max);
        if furthest + LOOKED_AT * spread > side {
            doubts.broken.push("models may meet the sides of their box".to_string());
        }
    }
}

fn steps(algorithm: Algorithm, updates: u32) -> impl Iterator<Item = f64> {
    (1..=updates).map(move |k| algorithm.step(k, updates))
}

fn descent(algorithm: Algorithm, updates: u32) -> Descent {
    match algorithm {
        Algorithm::Averaged(first_step) => {
            Descent::Average { first_step, queries: updates.saturating_add(1) }
        }
        Algorithm::Descent(_) => Descent::Last(steps(algorithm, updates).collect()),
    }
}
