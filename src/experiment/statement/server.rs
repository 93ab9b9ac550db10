//! What parties around a server tell about a record.
//!
//! One record of party j, with n_j of n samples and the weight p_j, moves its mean gradient by 2G/n_j and
//! the weighted mean by p_j·2G/n_j. T releases of such moves with noise σ cost μ² = T(Δ/σ)². Who sees a
//! party's own addend is kept from what the party's own noise hides; who sees the sum alone, from what
//! all noise in it hides; a coalition that masks keep from single addends, from what the noise of the
//! component hides that the record's party is left in.

use super::super::each_peer::EachPeer;
use super::sent::{Sent, assumption};
use super::{Holdings, Published};
use crate::learn::{Clipping, Loss};
use crate::privacy::{MaskGraph, Observer, Separation, Spent, gaussian_epsilon, gaussian_mu};
use crate::protocol::federated::{FederatedConfig, FederatedVariant, Schedule};
use crate::protocol::gradient_queries::{GradientQueriesConfig, QueryMechanism};
use crate::protocol::party::MasksConfig;
use crate::protocol::weighted_erm::{ErmVariant, WeightedErmConfig};
use crate::protocol::{LearnerNoise, ProtocolConfig};
use crate::scenario::Scenario;
use crate::theory::server::PublishedNoise;
use crate::topology::Topology;
use crate::units::{Epsilon, PeerId};

/// μ² of one party's records: against all others, and against readers of the sum.
#[derive(Clone, Copy)]
struct PartyLoss {
    alone: f64,
    outside: f64,
}

/// The problem as far as losses depend on it.
struct Setting<'a> {
    scenario: &'a Scenario,
    topology: &'a Topology,
    holdings: Holdings<'a>,
    /// 2G, and how far another label moves a gradient as a share of it.
    record: f64,
    label: f64,
}

impl<'a> Setting<'a> {
    fn of(scenario: &'a Scenario, topology: &'a Topology, holdings: Holdings<'a>) -> Option<Self> {
        let reach = scenario.reach();
        let steep = match scenario.model.loss {
            Loss::Logistic | Loss::Hinge => 1.0,
            Loss::Squared => f64::INFINITY,
        };
        let gradient = match scenario.protocol.clipping() {
            Clipping::None => steep * reach,
            Clipping::Norm(norm) => norm.min(steep * reach),
            Clipping::Slope(slope) => slope.min(steep) * reach,
        };
        // Another label moves a logistic gradient by one |x|, and turns others round.
        let label = match scenario.model.loss {
            Loss::Logistic => (reach / (2.0 * gradient)).min(1.0),
            Loss::Hinge | Loss::Squared => 1.0,
        };
        gradient.is_finite().then_some(Self {
            scenario,
            topology,
            holdings,
            record: 2.0 * gradient,
            label,
        })
    }

    fn samples(&self) -> Vec<usize> {
        self.holdings.samples.iter().map(|n| n as usize).collect()
    }

    /// σ of T releases of this sensitivity.
    fn deviation(&self, noise: &LearnerNoise, sensitivity: f64, releases: u32) -> f64 {
        let t = f64::from(releases);
        let delta = self.scenario.privacy.delta;
        match noise.constant {
            None => t.sqrt() * sensitivity / gaussian_mu(noise.epsilon, delta),
            Some(c) => {
                let variance = c * t * (1.0 / delta.0).ln() * (sensitivity / 2.0).powi(2);
                variance.sqrt() / noise.epsilon.0
            }
        }
    }

    /// The greatest move of the weighted mean.
    fn mean_move(&self, weights: &[f64]) -> f64 {
        let samples = self.samples();
        let each = samples.iter().zip(weights).filter(|(n, _)| **n > 0);
        each.map(|(&n, weight)| weight * self.record / n as f64).fold(0.0, f64::max)
    }

    /// Each party's losses where its own noise of deviation σ_j hides each of T moves of `moves(n_j)`.
    fn own(&self, releases: u32, noise: impl Fn(usize) -> f64, moves: f64) -> Vec<PartyLoss> {
        let of = |n: usize| {
            if n == 0 {
                return PartyLoss { alone: 0.0, outside: 0.0 };
            }
            let mu = self.record * moves / n as f64 / noise(n);
            let square = f64::from(releases) * mu * mu;
            PartyLoss { alone: square, outside: square }
        };
        self.samples().into_iter().map(of).collect()
    }

    /// Each party's losses where noise σ is in the sum of T moves, a part of it from each of m parties,
    /// of whom t may collude.
    fn pooled(&self, weights: &[f64], releases: u32, deviation: f64, moves: f64) -> Vec<PartyLoss> {
        let samples = self.samples();
        let m = samples.iter().filter(|&&n| n > 0).count() as f64;
        let t = self.scenario.protocol.sum().map_or(0, |sum| sum.colluders);
        let share = (m - f64::from(t)).max(1.0);
        let of = |(&n, &weight): (&usize, &f64)| {
            if n == 0 {
                return PartyLoss { alone: 0.0, outside: 0.0 };
            }
            let mu = weight * self.record * moves / n as f64 / deviation;
            let square = f64::from(releases) * mu * mu;
            PartyLoss { alone: square * share, outside: square * share / m }
        };
        samples.iter().zip(weights).map(of).collect()
    }

    fn epsilon(&self, mu_squared: f64) -> Epsilon {
        if mu_squared == f64::INFINITY {
            return Epsilon::UNBOUNDED;
        }
        gaussian_epsilon(mu_squared.sqrt(), self.scenario.privacy.delta)
    }

    /// What is sent, from each party's losses. `unmasked` says whether wires show single addends.
    fn sent(&self, losses: &[PartyLoss], route: String, seen: Seen) -> Sent {
        let copies = self.holdings.copies as f64;
        let worst = |of: &dyn Fn(usize) -> f64| {
            (0..losses.len()).map(of).fold(0.0, f64::max) * copies * copies
        };
        let both =
            |square: f64| [self.epsilon(square * self.label * self.label), self.epsilon(square)];
        let alone = both(worst(&|j| losses[j].alone));
        let outside = both(worst(&|j| losses[j].outside));
        let (wire, neighbour) = match seen {
            Seen::Addends => (alone, alone),
            Seen::Masked => match self.holdings.left {
                None => (alone, alone),
                Some(left) => {
                    let left = |j| f64::from(left.get(j).unwrap_or(1));
                    (outside, both(worst(&|j| losses[j].alone / left(j))))
                }
            },
        };
        let [label, record] = alone;
        Sent {
            record,
            label,
            shared: self.holdings.copies > 1,
            route,
            assumption: assumption(self.scenario),
            weaker: vec![
                (Observer::Neighbour, neighbour),
                (Observer::Eavesdropper, wire),
                (Observer::FinalModel, outside),
            ],
            each: losses.iter().map(|loss| Spent::gaussian(copies * loss.alone.sqrt())).collect(),
            ..Sent::nothing_hidden("")
        }
    }
}

/// What wires show.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// Single addends.
    Addends,
    /// Addends under masks.
    Masked,
}

/// For each peer, in how large a part of the mask graph it is left at the least when one of its
/// neighbours is taken out: how many parties with samples are in it, at least 1.
pub(in crate::experiment) fn left_with(
    graph: &MaskGraph,
    topology: &Topology,
    samples: &EachPeer<u32>,
) -> EachPeer<u32> {
    let holds: Vec<bool> = samples.iter().map(|n| n > 0).collect();
    let separation = Separation::of(graph, &holds);
    let least = |peer: PeerId| {
        let neighbours = topology.neighbours(peer).iter();
        let left = neighbours.map(|&curious| separation.left(curious, peer)).min();
        left.map_or(1, |left| left.max(1))
    };
    topology.ids().map(least).collect()
}

/// What the parties of a scenario tell; of other protocols, nothing.
pub(super) fn sent(scenario: &Scenario, topology: &Topology, holdings: Holdings<'_>) -> Sent {
    if !scenario.protocol.adds_noise() {
        let masked = scenario.protocol.pools();
        return Sent::nothing_hidden(if masked {
            "masks hide addends, and no noise hides the sum"
        } else {
            "sent in the clear in every round"
        });
    }
    let Some(setting) = Setting::of(scenario, topology, holdings) else {
        return Sent::nothing_hidden("noise on gradients that one record can move without bound");
    };
    match &scenario.protocol {
        ProtocolConfig::WeightedErm(erm) => weighted_erm(&setting, erm),
        ProtocolConfig::Federated(federated) => self::federated(&setting, federated),
        ProtocolConfig::GradientQueries(queries) => gradient_queries(&setting, queries),
        _ => Sent::nothing_hidden(""),
    }
}

fn releases(count: u32) -> String {
    match count {
        1 => "1 release with Gaussian noise".to_string(),
        _ => format!("{count} releases with Gaussian noise, composed exactly"),
    }
}

fn sums(count: u32) -> String {
    match count {
        1 => "Gaussian noise in 1 sum of all parties".to_string(),
        _ => format!("Gaussian noise in {count} sums of all parties, composed exactly"),
    }
}

fn weighted_erm(setting: &Setting<'_>, erm: &WeightedErmConfig) -> Sent {
    let Some(noise) = &erm.noise else { return Sent::nothing_hidden("sent in the clear") };
    let (steps, weights) = (erm.steps, erm.effective_weights().of(&setting.samples()));
    let lambda = setting.scenario.model.regularisation / setting.topology.peers() as f64;
    // Σ_{t<T} η(1 − ηλ)^t, by its terms.
    let way: f64 = (0..steps).map(|t| erm.step * (1.0 - erm.step * lambda).powf(t.into())).sum();
    let mean = setting.mean_move(&weights);
    let own = |n: usize| setting.record / n as f64;
    match erm.variant {
        ErmVariant::Published => {
            let sigma = setting.deviation(noise, mean, steps);
            let etas = vec![erm.step; steps as usize];
            let steep = 1.0 / erm.step;
            let course = Course { etas: &etas, block: steps, flat: 0.0, steep };
            let published = published(setting, noise, (&weights, sigma), &course);
            as_published(setting, noise, published, (steps, sigma))
        }
        ErmVariant::Local => {
            let unit = setting.deviation(noise, 1.0, steps);
            let sigma = |n| unit * own(n);
            setting.sent(&setting.own(steps, sigma, 1.0), releases(steps), Seen::Addends)
        }
        ErmVariant::LocalOutput => {
            let unit = setting.deviation(noise, way, 1);
            let sigma = |n| unit * own(n);
            setting.sent(&setting.own(1, sigma, way), releases(1), Seen::Addends)
        }
        ErmVariant::MaskedOutput => {
            let sigma = setting.deviation(noise, mean * way, 1);
            setting.sent(&setting.pooled(&weights, 1, sigma, way), sums(1), Seen::Masked)
        }
        ErmVariant::MaskedGradient | ErmVariant::Jayaraman => {
            let sigma = setting.deviation(noise, mean, steps);
            let losses = setting.pooled(&weights, steps, sigma, 1.0);
            setting.sent(&losses, sums(steps), Seen::Masked)
        }
        ErmVariant::Central => {
            let sigma = setting.deviation(noise, mean, steps);
            let of = |(&n, &weight): (&usize, &f64)| {
                if n == 0 {
                    return PartyLoss { alone: 0.0, outside: 0.0 };
                }
                let mu = weight * own(n) / sigma;
                PartyLoss { alone: f64::INFINITY, outside: f64::from(steps) * mu * mu }
            };
            let losses: Vec<_> = setting.samples().iter().zip(&weights).map(of).collect();
            let route = format!("{} by a trusted curator", releases(steps));
            setting.sent(&losses, route, Seen::Addends)
        }
    }
}

fn federated(setting: &Setting<'_>, federated: &FederatedConfig) -> Sent {
    let (Some(noise), Some(steps), Some(block)) =
        (&federated.noise, federated.all_steps(), federated.local_steps())
    else {
        return Sent::nothing_hidden("sent in the clear");
    };
    let weights = federated.weights.of(&setting.samples());
    let sigma = setting.deviation(noise, setting.mean_move(&weights), steps);
    match federated.variant {
        FederatedVariant::Published => {
            let scenario = setting.scenario;
            let flat = scenario.model.regularisation / setting.topology.peers() as f64;
            let steep = scenario.model.loss.smoothness() * scenario.reach().powi(2) + flat;
            let schedule = Schedule { strong: flat, smooth: steep, local_steps: block };
            let course = Course { etas: &schedule.steps(steps), block, flat, steep };
            let published = published(setting, noise, (&weights, sigma), &course);
            as_published(setting, noise, published, (steps, sigma))
        }
        // A block of k steps moves the sum by Σ η of them, and has √k times less noise per step than
        // its steps would have: μ² is k times that of one gradient.
        FederatedVariant::Masked => {
            let losses = setting.pooled(&weights, steps, sigma, 1.0);
            setting.sent(&losses, sums(federated.communications), Seen::Masked)
        }
    }
}

/// What parties tell that add noise as published. Noise that all of them know is kept from nobody in a
/// way that could be proved: in the average it may cancel.
fn as_published(
    setting: &Setting<'_>,
    noise: &LearnerNoise,
    published: Published,
    (steps, sigma): (u32, f64),
) -> Sent {
    let sent = if noise.shared {
        Sent::nothing_hidden("noise that every party knows, and that may cancel in the average")
    } else {
        setting.sent(&setting.own(steps, |_| sigma, 1.0), releases(steps), Seen::Addends)
    };
    Sent { published: Some(published), ..sent }
}

/// The steps of all parties, and between which curvatures their losses may be.
///
/// Weighted DP-ERM is stated for losses of any curvature that its step allows: from 0 to 1/η, whatever
/// the scenario's loss is. Federated learning knows λ and L, by which it takes its steps.
struct Course<'a> {
    etas: &'a [f64],
    /// Steps between two averages.
    block: u32,
    flat: f64,
    steep: f64,
}

/// What the paper claims of this noise, and what is known of it.
fn published(
    setting: &Setting<'_>,
    noise: &LearnerNoise,
    (weights, deviation): (&[f64], f64),
    course: &Course<'_>,
) -> Published {
    let sizes: Vec<u64> = setting.holdings.samples.iter().map(u64::from).collect();
    let law = PublishedNoise {
        sizes: &sizes,
        weights,
        lipschitz: setting.record / 2.0,
        etas: course.etas,
        block: course.block,
        flat: course.flat,
        steep: course.steep,
        deviation,
    };
    let epsilon = |mu: f64| setting.epsilon(mu * mu);
    // A record that several parties hold moves the models of all of them.
    let local = setting.holdings.copies as f64
        * (0..sizes.len()).map(|party| law.local_mu(party)).fold(0.0, f64::max);
    Published {
        claimed: noise.epsilon,
        equal_curvature: epsilon(law.equal_curvature_mu(noise.shared)),
        worst_known: epsilon(law.worst_known_mu(noise.shared)),
        proved: if noise.shared { Epsilon::UNBOUNDED } else { epsilon(local) },
        shared: noise.shared,
    }
}

fn gradient_queries(setting: &Setting<'_>, queries: &GradientQueriesConfig) -> Sent {
    let Some(noise) = &queries.noise else { return Sent::nothing_hidden("sent in the clear") };
    let samples = setting.samples();
    let root = queries.sum.root as usize;
    let holders = || (0..samples.len()).filter(|&l| samples[l] > 0);
    let (count, delta) = (queries.queries(), setting.scenario.privacy.delta);
    let trajectories = f64::from(queries.trajectories());
    let copies = setting.holdings.copies;
    // ε_l is what each trajectory may cost; label and record alike move answers by at most that.
    let spent = |l: usize, moves: f64| {
        let epsilon = Epsilon(noise.epsilon.of(PeerId::new(l)));
        let spent = match noise.mechanism {
            QueryMechanism::Laplace => {
                Spent::laplace(moves * trajectories * epsilon.0 / f64::from(count))
                    .times(count.into())
            }
            QueryMechanism::Gaussian => {
                Spent::gaussian(moves * trajectories.sqrt() * gaussian_mu(epsilon, delta))
            }
        };
        spent.group(copies)
    };
    let leaks = !queries.learner_noise && samples[root] > 0;
    if leaks {
        let route =
            "the learner adds no noise to its own gradient, which others find by subtraction";
        return Sent::nothing_hidden(route);
    }
    // Who asks for the least protection has it.
    let epsilon_of = |l: &usize| noise.epsilon.of(PeerId::new(*l));
    let boldest = holders().max_by(|a, b| epsilon_of(a).total_cmp(&epsilon_of(b)));
    let worst = |moves: f64| boldest.map(|l| spent(l, moves).bound(delta));
    let route = worst(1.0)
        .map_or(String::new(), |bound| format!("{count} answers with noise; {}", bound.route));
    let epsilon = |moves: f64| worst(moves).map_or(Epsilon::ZERO, |bound| bound.epsilon);
    // Neighbours in the list are often alike, and the search takes its time.
    let mut last: Option<(f64, Spent)> = None;
    let each = (0..samples.len()).map(|l| match &last {
        _ if samples[l] == 0 => Spent::default(),
        Some((same, spent)) if *same == epsilon_of(&l) => spent.clone(),
        _ => {
            let found = spent(l, 1.0);
            last = Some((epsilon_of(&l), found.clone()));
            found
        }
    });
    let each = each.collect();
    Sent {
        record: epsilon(1.0),
        label: epsilon(setting.label),
        shared: copies > 1,
        route,
        assumption: assumption(setting.scenario),
        each,
        ..Sent::nothing_hidden("")
    }
}

/// What a coalition of parties learns together: for each part of the others that it cannot tell apart,
/// who is in it and ε of any record there.
///
/// Without masks it tells every party apart. With them it knows the sum over each component that is left
/// of the mask graph without it, in which there is the noise of the parties of that component.
pub(in crate::experiment) fn against_coalition(
    scenario: &Scenario,
    topology: &Topology,
    holdings: Holdings<'_>,
    coalition: &[PeerId],
) -> Vec<(Vec<PeerId>, Epsilon)> {
    let Sent { each, .. } = sent(scenario, topology, holdings);
    let others = topology.ids().filter(|peer| !coalition.contains(peer));
    let parts = match holdings.masks {
        Some(graph) => graph.components(coalition),
        None => others.map(|peer| vec![peer]).collect(),
    };
    let holds = |peer: &PeerId| holdings.samples.get(peer.index()).is_some_and(|m| m > 0);
    let of_part = |part: Vec<PeerId>| {
        let holders: Vec<PeerId> = part.into_iter().filter(holds).collect();
        let noise = 1.0 / holders.len().max(1) as f64;
        let loss = |peer: &PeerId| {
            if holdings.copies > 1 {
                // A member may hold the very record.
                return f64::INFINITY;
            }
            let alone = each.get(peer.index()).cloned().unwrap_or_else(Spent::unbounded);
            let left = if holdings.masks.is_some() { alone.repeated(noise) } else { alone };
            left.bound(scenario.privacy.delta).epsilon.0
        };
        let worst = holders.iter().map(loss).fold(0.0, f64::max);
        (holders, Epsilon(worst))
    };
    parts.into_iter().map(of_part).filter(|(holders, _)| !holders.is_empty()).collect()
}

/// What is not protected, and what the protection rests on, in words.
pub(super) fn notes(scenario: &Scenario) -> Vec<String> {
    let mut lines = Vec::new();
    let protocol = &scenario.protocol;
    let Some(sum) = protocol.sum() else { return lines };
    if protocol.pools() {
        lines.push(
            "the noise in a sum is the sum of all parties' parts: the claim against a reader of the \
             model rests on every party adding its part"
                .to_string(),
        );
        lines.push(match &sum.masks {
            Some(MasksConfig::None) => {
                "addends are not masked: wires show what a party's own part of the noise does not hide"
                    .to_string()
            }
            _ => "masks hide single addends from all but a coalition that cuts the mask graph; keys are \
                  agreed on by an ideal functionality, and nobody drops out"
                .to_string(),
        });
        if sum.colluders > 0 && sum.masks != Some(MasksConfig::None) {
            lines.push(format!(
                "the noise in a sum withstands {} colluding parties who know their own parts, as long as \
                 they do not cut the mask graph: `hushmesh privacy --coalition` tells what some learn",
                sum.colluders
            ));
        }
    }
    if let ProtocolConfig::GradientQueries(queries) = protocol {
        if !queries.learner_noise {
            lines.push(
                "a learner that is an owner adds no noise of its own: with two owners the other one \
                 recovers its gradient exactly"
                    .to_string(),
            );
        }
        if queries.trajectories() > 1 {
            lines.push(format!(
                "each of {} learners asks at its own model, and owners pay for each: every ε is that of \
                 all of them together",
                queries.trajectories()
            ));
        }
    }
    if let ProtocolConfig::WeightedErm(WeightedErmConfig { variant: ErmVariant::Central, .. }) =
        protocol
    {
        lines.push(
            "a baseline: the curator at the root, and everybody on the way to it, sees the parties' \
             gradients as they are"
                .to_string(),
        );
    }
    if let ProtocolConfig::WeightedErm(WeightedErmConfig { weight_noise: Some(_), .. }) = protocol {
        lines.push(
            "noise on the weights is booked for nothing: it rescales models and hides no record"
                .to_string(),
        );
    }
    lines
}
