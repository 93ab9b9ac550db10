//! What a scenario protects, and what it does not: from the scenario alone, before anything runs.
//!
//! The ledger says the same from what was sent. The two share the accountants and nothing else: the
//! sensitivities here come from the formulas in closed form, there from what each peer claimed when it
//! released; a test holds them against each other.

use serde::Serialize;

use crate::data::Partition;
use crate::privacy::randomized_response::coefficient;
use crate::privacy::{
    Correction, Guarantee, LabelsConfig, Observer, Piece, Release, gaussian_epsilon,
};
use crate::protocol::admm::AdmmConfig;
use crate::protocol::{Automatic, ProtocolConfig};
use crate::scenario::Scenario;
use crate::topology::Topology;
use crate::units::{Epsilon, PeerId};

/// The privacy statement of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statement {
    /// δ of every ε that is not pure.
    pub delta: f64,
    /// Who is protected against whom: the worst over all users.
    pub claims: Vec<Claim>,
    /// How ε of a record grows with the rounds, against all other peers; empty where nothing bounds
    /// it.
    pub growth: Vec<(u32, Epsilon)>,
    /// What objective noise would give, were one exact minimiser all that is released.
    pub one_release: Vec<Guarantee>,
    /// What is not protected, and what lies outside the accounting.
    pub notes: Vec<String>,
}

/// One line of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// Against whom. Who sees only the end is given the bound of all other peers together, of whose
    /// view the end is a part: nothing better is known.
    pub observer: Observer,
    /// For which piece of data.
    pub piece: Piece,
    /// At most this loss; infinite where there is no protection.
    #[serde(serialize_with = "Epsilon::finite_or_null")]
    pub epsilon: Epsilon,
    /// Whether the loss holds with certainty, not only up to δ.
    pub pure: bool,
    /// By which route.
    pub route: String,
    /// Under which assumption.
    pub assumption: String,
}

/// The statement of the scenario that was `asked` for, whose every `auto` is resolved in `scenario`,
/// on this graph, with so many samples at each peer.
pub fn statement(
    asked: &Scenario,
    scenario: &Scenario,
    topology: &Topology,
    samples: &[u32],
    dimension: usize,
) -> Statement {
    let users = Users::of(scenario, topology, samples);
    let peers = Peers { topology, samples, dimension };
    let sent = Sent::of(scenario, peers, &users);
    let mut claims = Vec::new();
    for observer in Observer::ALL {
        claims.extend(if observer == Observer::OwnServer {
            [users.against_server(), unprotected(observer, "handed over as they are")]
        } else {
            sent.against(observer, &users)
        });
    }
    Statement {
        delta: scenario.privacy.delta.0,
        claims,
        growth: sent.growth,
        one_release: sent.one_release,
        notes: notes(asked),
    }
}

fn unprotected(observer: Observer, route: &str) -> Claim {
    Claim {
        observer,
        piece: Piece::Features,
        epsilon: Epsilon::UNBOUNDED,
        pure: false,
        route: route.to_string(),
        assumption: String::new(),
    }
}

/// What users do to their labels.
struct Users<'a> {
    labels: Option<&'a LabelsConfig>,
    /// The greatest ε of any user; infinite where labels are handed over as they are.
    greatest: Epsilon,
}

impl<'a> Users<'a> {
    fn of(scenario: &'a Scenario, topology: &Topology, samples: &[u32]) -> Self {
        let labels = scenario.privacy.labels.as_ref();
        // The level of a peer that nobody hands a label to is nobody's.
        let holders = || topology.ids().zip(samples).filter(|(_, m)| **m > 0);
        let greatest = labels.map_or(f64::INFINITY, |labels| {
            holders().map(|(peer, _)| labels.epsilon.range(peer).1.0).fold(0.0, f64::max)
        });
        Self { labels, greatest: Epsilon(greatest) }
    }

    /// The largest k of a peer's labels.
    fn coefficient(&self, peer: PeerId) -> f64 {
        match self.labels {
            Some(labels) if labels.loss == Correction::Unbiased => {
                coefficient(labels.epsilon.range(peer).0)
            }
            _ => 1.0,
        }
    }

    fn against_server(&self) -> Claim {
        Claim {
            observer: Observer::OwnServer,
            piece: Piece::Label,
            epsilon: self.greatest,
            pure: self.greatest.0.is_finite(),
            route: self.route(),
            assumption: if self.greatest.0.is_finite() {
                "the user's device randomises; the label is asked for once".to_string()
            } else {
                String::new()
            },
        }
    }

    fn route(&self) -> String {
        if self.greatest.0.is_finite() { "randomised response" } else { "handed over as they are" }
            .to_string()
    }
}

/// The graph, what it holds and in which dimension.
#[derive(Clone, Copy)]
struct Peers<'a> {
    topology: &'a Topology,
    samples: &'a [u32],
    dimension: usize,
}

/// What the messages of the whole run tell about a record of the worst peer.
struct Sent {
    record: Epsilon,
    label: Epsilon,
    route: String,
    assumption: String,
    growth: Vec<(u32, Epsilon)>,
    one_release: Vec<Guarantee>,
}

impl Sent {
    fn of(scenario: &Scenario, peers: Peers<'_>, users: &Users<'_>) -> Self {
        match &scenario.protocol {
            ProtocolConfig::Admm(admm) => Self::admm(scenario, admm, peers, users),
            ProtocolConfig::GradientDescent(_) | ProtocolConfig::GradientTracking(_) => {
                Self::nothing_hidden("sent in the clear in every round")
            }
        }
    }

    fn nothing_hidden(route: &str) -> Self {
        Self {
            record: Epsilon::UNBOUNDED,
            label: Epsilon::UNBOUNDED,
            route: route.to_string(),
            assumption: String::new(),
            growth: Vec::new(),
            one_release: Vec::new(),
        }
    }

    /// Primal noise of deviation σ_i(t) = V_i ρ^{(t−1)/2} on models that move by Δ_i(t):
    /// μ_i² = Σ_t (Δ_i(t)/σ_i(t))².
    fn admm(scenario: &Scenario, admm: &AdmmConfig, peers: Peers<'_>, users: &Users<'_>) -> Self {
        let Peers { topology, samples, dimension } = peers;
        let n = topology.peers() as f64;
        let ridge = scenario.model.regularisation / n;
        let Automatic::Value(beta) = admm.penalty else {
            return Self::nothing_hidden("not known before `penalty: auto` is resolved");
        };
        let reach = scenario.reach();
        let loss = scenario.model.loss;
        let peers = || {
            topology.ids().zip(samples).filter(|(peer, m)| **m > 0 && topology.degree(*peer) > 0)
        };
        let quadratic = |peer| ridge + 2.0 * beta * topology.degree(peer) as f64;
        let copies = match scenario.data.partition {
            Partition::WithRepetition(_) => f64::INFINITY,
            _ => 1.0,
        };

        // What one exact minimiser would give, at the peer where a record weighs most.
        let heaviest = peers().max_by(|a, b| {
            let weight = |(peer, m): &(PeerId, &u32)| users.coefficient(*peer) / f64::from(**m);
            weight(a).total_cmp(&weight(b))
        });
        let release = |(peer, &m): (PeerId, &u32)| {
            let k = users.coefficient(peer);
            Some(Release {
                peers: n,
                samples: f64::from(m),
                dimension,
                reach,
                label_slope: k,
                slope: loss.greatest_slope(k)?,
                smoothness: loss.smoothness(),
                quadratic: quadratic(peer),
            })
        };
        let one_release = match (&admm.objective_noise, heaviest.and_then(release)) {
            (Some(law), Some(release)) => {
                let delta = scenario.privacy.delta;
                vec![law.of_label(&release, delta), law.of_record(&release, delta)]
            }
            _ => Vec::new(),
        };

        let Some(noise) = &admm.primal_noise else {
            let route = if admm.objective_noise.is_some() {
                "the difference of two messages is free of the objective noise"
            } else {
                "sent in the clear in every round"
            };
            return Self { one_release, ..Self::nothing_hidden(route) };
        };
        // By peer: what replacing a record, and a label, does to the gradient of its mean loss.
        let gradients = |(peer, &m): (PeerId, &u32)| {
            let k = users.coefficient(peer);
            let slope = loss.greatest_slope(k).unwrap_or(f64::INFINITY);
            let each = reach / f64::from(m);
            (peer, [2.0 * slope * each, if slope.is_finite() { k * each } else { slope }])
        };
        let gradients: Vec<_> = peers().map(gradients).collect();
        // Each argmin may be left a little way from its minimiser, well below noise and record.
        let solved_to = |q: f64, deviation: f64, record: f64| {
            admm.tolerance.max((admm.slack * q * deviation).min(0.005 * record))
        };
        let delta = scenario.privacy.delta;
        let after = |piece: usize, rounds: u32| {
            let of = |(peer, moves): &(PeerId, [f64; 2])| {
                let (q, v) = (quadratic(*peer), noise.deviation.of(*peer));
                (1..=rounds).fold(0.0, |sum, t| {
                    let deviation = v * noise.decay.powf(0.5 * f64::from(t - 1));
                    let g = solved_to(q, deviation, moves[0]);
                    let moved = copies * (moves[piece] + 2.0 * g) / q;
                    sum + (moved / deviation).powi(2)
                })
            };
            gaussian_epsilon(gradients.iter().map(of).fold(0.0, f64::max).sqrt(), delta)
        };
        let budget = scenario.measure.stop.and_then(|stop| stop.epsilon);
        let within = |epsilon: Epsilon| budget.map_or(epsilon, |most| epsilon.min(Epsilon(most)));
        let rounds = admm.rounds;
        let known = gradients.iter().all(|(_, moves)| moves[0].is_finite());
        let growth = [1, rounds.div_ceil(8), rounds.div_ceil(4), rounds.div_ceil(2), rounds];
        let mut growth: Vec<_> =
            growth.into_iter().map(|t| (t, within(after(0, t)))).filter(|_| known).collect();
        growth.dedup_by(|later, earlier| later.1 == earlier.1 || later.0 == earlier.0);
        Self {
            record: within(after(0, rounds)),
            label: within(after(1, rounds)),
            route: if known && budget.is_some() {
                "Gaussian noise, composed exactly until the budget is spent".to_string()
            } else if known {
                format!("{rounds} releases with Gaussian noise, composed exactly")
            } else {
                "Gaussian noise on models that one record can move without bound".to_string()
            },
            assumption: assumption(scenario),
            growth,
            one_release,
        }
    }

    fn against(&self, observer: Observer, users: &Users<'_>) -> [Claim; 2] {
        let record = Claim {
            observer,
            piece: Piece::Features,
            epsilon: self.record,
            pure: false,
            route: self.route.clone(),
            assumption: self.assumption.clone(),
        };
        let by_messages = self.label.min(self.record);
        let label = if users.greatest <= by_messages {
            Claim { observer, ..users.against_server() }
        } else {
            Claim { piece: Piece::Label, epsilon: by_messages, ..record.clone() }
        };
        [label, record]
    }
}

/// What the ε of messages rests on.
fn assumption(scenario: &Scenario) -> String {
    match scenario.data.reach(scenario.model.intercept) {
        Some(reach) => format!(
            "replace one record; |x| ≤ {:.4} by preprocessing{}; argmins solved as exactly as \
             asked; numbers of samples, graph and parameters public",
            reach.bound,
            match (reach.from_rows, reach.fitted) {
                (true, _) => ", read off the rows and taken as public",
                (false, true) => ", whose statistics are taken as public",
                (false, false) => "",
            },
        ),
        None => "nothing bounds |x|: `clip` or `unit-sphere` in data.preprocess would".to_string(),
    }
}

/// What is not protected, and what lies outside the accounting, in words.
pub fn notes(scenario: &Scenario) -> Vec<String> {
    let mut lines = Vec::new();
    let labels = scenario.privacy.labels.is_some();
    let noise = scenario.protocol.adds_noise();
    let sent = match &scenario.protocol {
        ProtocolConfig::Admm(_) | ProtocolConfig::GradientDescent(_) => "its model",
        ProtocolConfig::GradientTracking(_) => "its model and its gradient estimate",
    };
    if !noise {
        let leaks = if labels { "features can" } else { "labels and features can" };
        lines.push(format!(
            "not protected: in every round each peer sends {sent} in the clear to all its \
             neighbours; {leaks} leak to a neighbour, to an eavesdropper on a link and to all other \
             peers together"
        ));
        lines.push(
            "the samples themselves are not sent, which protects nothing that the models reveal"
                .to_string(),
        );
    }
    if let ProtocolConfig::Admm(admm) = &scenario.protocol {
        if admm.objective_noise.is_some() {
            lines.push(
                "objective noise is booked for nothing: it is drawn once, and the difference of two \
                 messages is free of it"
                    .to_string(),
            );
        }
        if admm.primal_noise.as_ref().is_some_and(|noise| noise.decay < 1.0) {
            lines.push(
                "the variance of the primal noise decays while a record's effect on a model does \
                 not: the loss has no bound as rounds go on"
                    .to_string(),
            );
        }
    }
    if labels && noise {
        lines.push(
            "features are protected against other peers alone: a user's own server has them as they \
             are"
            .to_string(),
        );
    }
    if let Some(parameter) = scenario.protocol.automatic() {
        lines.push(format!(
            "outside the accounting: `{parameter}: auto` is computed from all peers' data before \
             the run"
        ));
    }
    if let Some(stop) = scenario.measure.stop
        && stop.has_tolerance()
    {
        lines.push(
            "outside the accounting: the stopping rule looks at all peers' models, so the time of \
             stopping depends on private data"
                .to_string(),
        );
    }
    if scenario.network.compute.seconds_per_sample > 0.0 {
        lines.push(
            "outside the accounting: how long a peer computes depends on its data, and its \
             neighbours see when messages come"
                .to_string(),
        );
    }
    if matches!(scenario.data.partition, Partition::WithRepetition(_)) {
        lines.push(
            "samples repeat: the same record may be dealt to several peers, each of which releases \
             what it makes of it; the ledger counts a record's copies as a group"
                .to_string(),
        );
    }
    let statistics = scenario.data.declarations().into_iter();
    lines.extend(statistics.map(|statistic| format!("outside the accounting: {statistic}")));
    if labels || noise {
        lines.push(
            "ideal arithmetic is assumed, and seeds are public: a simulator's noise protects nobody \
             in production"
                .to_string(),
        );
    }
    lines.push(
        "private files: model.npy and peers.csv hold the peers' unreleased states and figures, \
         metrics.csv, summary.json and report.html exact figures over private data"
            .to_string(),
    );
    lines
}
