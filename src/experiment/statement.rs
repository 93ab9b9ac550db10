//! What a scenario protects, and what it does not: from the scenario alone, before anything runs.
//!
//! The ledger says the same from what was sent. The two share the accountants and nothing else: the
//! sensitivities here come from the formulas in closed form, there from what each peer claimed when it
//! released; a test holds them against each other.

mod sent;
mod server;
mod walk;

use serde::Serialize;

use self::sent::{Peers, Sent};
use super::each_peer::EachPeer;
use crate::privacy::randomized_response::coefficient;
use crate::privacy::{Correction, Guarantee, LabelsConfig, MaskGraph, Observer, Piece};
use crate::protocol::ProtocolConfig;
use crate::scenario::Scenario;
use crate::topology::Topology;
use crate::units::{Epsilon, PeerId};
pub(super) use server::{against_coalition, left_with};

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
    /// What a paper claims of the noise, where that is not what is true of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// What is not protected, and what lies outside the accounting.
    pub notes: Vec<String>,
}

/// What a paper claims of its noise against a reader of the final model, and what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Published {
    /// ε as published.
    pub claimed: Epsilon,
    /// ε where all parties' losses have the same curvature.
    pub equal_curvature: Epsilon,
    /// ε in the worst case that we know: no claim below it can be true of all losses.
    pub worst_known: Epsilon,
    /// ε that can be proved, whatever the losses: that of the smallest party's own releases; infinite
    /// where nothing can.
    #[serde(serialize_with = "Epsilon::finite_or_null")]
    pub proved: Epsilon,
    /// Whether all parties add the same noise, and so know it.
    pub shared: bool,
}

impl Published {
    /// Of two repeats, the greater of each figure.
    pub(super) fn worse(self, other: Self) -> Self {
        let greater = |a: Epsilon, b: Epsilon| Epsilon(a.0.max(b.0));
        Self {
            equal_curvature: greater(self.equal_curvature, other.equal_curvature),
            worst_known: greater(self.worst_known, other.worst_known),
            proved: greater(self.proved, other.proved),
            ..self
        }
    }

    /// Whether the claim does not hold.
    pub fn differs(&self) -> bool {
        self.worst_known.0 > self.claimed.0 * (1.0 + 1e-9)
    }
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

/// What peers hold, as far as it is public.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Holdings<'a> {
    /// Samples at each peer.
    pub samples: &'a EachPeer<u32>,
    /// Neighbours of each peer.
    pub degrees: &'a EachPeer<u32>,
    /// Features, the intercept included.
    pub dimension: usize,
    /// Models that are learnt from the same records.
    pub tasks: u32,
    /// Where releases are of batches: the greatest Σ over batches of (a record's copies there)².
    pub repetition: f64,
    /// How often the most repeated record was dealt.
    pub copies: usize,
    /// Who shares seeds with whom, where addends of sums are masked: for coalitions.
    pub masks: Option<&'a MaskGraph>,
    /// With how many parties' noise a neighbour is left, of each peer, where addends are masked.
    pub left: Option<&'a EachPeer<u32>>,
}

/// The statement of the scenario that was `asked` for, whose every `auto` is resolved in `scenario`,
/// on this graph, with so much at each peer.
pub fn statement(
    asked: &Scenario,
    scenario: &Scenario,
    topology: &Topology,
    holdings: Holdings<'_>,
) -> Statement {
    let users = Users::of(scenario, holdings.samples);
    let peers = Peers { topology, holdings };
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
        published: sent.published,
        notes: sent.notes.into_iter().chain(notes(asked)).collect(),
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
    fn of(scenario: &'a Scenario, samples: &EachPeer<u32>) -> Self {
        let labels = scenario.privacy.labels.as_ref();
        // The level of a peer that nobody hands a label to is nobody's.
        let holders = || (0..).map(PeerId).zip(samples.iter()).filter(|(_, m)| *m > 0);
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

/// What is not protected, and what lies outside the accounting, in words.
pub fn notes(scenario: &Scenario) -> Vec<String> {
    let mut lines = Vec::new();
    let labels = scenario.privacy.labels.is_some();
    let noise = scenario.protocol.adds_noise();
    let sent = match &scenario.protocol {
        ProtocolConfig::Admm(_) | ProtocolConfig::GradientDescent(_) => "its model",
        ProtocolConfig::GradientTracking(_) => "its model and its gradient estimate",
        ProtocolConfig::WeightedErm(_) | ProtocolConfig::Federated(_) => "what it has learnt",
        ProtocolConfig::GradientQueries(_) => "its gradients",
        ProtocolConfig::WalkSgd(_) => "",
    };
    if let Some(walk) = scenario.protocol.walk() {
        lines.extend(walk::notes(walk));
    } else if !noise {
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
        if admm.objective_noise.is_some() && !admm.solves_exactly() {
            lines.push(
                "argmins are solved inexactly: what the objective noise would give for one exact \
                 minimiser is not given for an inexact one"
                    .to_string(),
            );
        }
        if admm.inexact.is_some() && admm.primal_noise.is_some() {
            lines.push(
                "how exactly an argmin is solved is decided by the messages of the round before, \
                 all of them released: ε here allows for the least exact, which adds at most 1 % \
                 to what a record moves (or `tolerance`, where that is more), and the ledger \
                 books what was used"
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
    lines.extend(server::notes(scenario));
    let bounded = scenario.protocol.sum().is_some()
        || scenario.reach().is_finite() && scenario.model.loss.greatest_slope(1.0).is_some();
    if noise {
        let pieces = if labels { "features" } else { "labels and features" };
        lines.push(if !scenario.protocol.protects_everybody() {
            format!(
                "not protected: a peer whose noise has deviation 0 sends its models in the clear; \
                 {pieces} of its users can leak to all who see them"
            )
        } else if bounded {
            format!(
                "what the noise hides of {pieces}, it hides from other peers alone: a user's own \
                 server has them as they are"
            )
        } else {
            format!(
                "not protected: nothing bounds what one record does to a model, so its noise \
                 promises nothing for {pieces}"
            )
        });
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
    if scenario.data.partition.repeats_rows() {
        let counted = if scenario.protocol.walk().is_some() {
            "the ledger composes what the batches with its copies release"
        } else {
            "the ledger counts a record's copies as a group"
        };
        lines.push(format!(
            "samples repeat: the same record may be dealt to several peers, each of which releases \
             what it makes of it; {counted}"
        ));
    }
    let statistics = scenario.data.declarations().into_iter();
    lines.extend(statistics.map(|statistic| format!("outside the accounting: {statistic}")));
    if (labels || noise) && scenario.repeat > 1 {
        lines.push(
            "every ε is that of one repeat: what several tell about the same users composes"
                .to_string(),
        );
    }
    if labels || noise {
        lines.push(
            "every ε is that of one run alone: another one from the same seed, such as a point of a sweep or \
             a row of a comparison, draws the same noise, and two together may cancel it"
                .to_string(),
        );
        lines.push(
            "ideal arithmetic is assumed, and seeds are public: a simulator's noise protects nobody \
             in production"
                .to_string(),
        );
    }
    lines.push(
        "private files: model.npy, peers.csv, report.html and report.json hold unreleased states or \
         figures of single peers, metrics.csv and summary.json exact figures over private data"
            .to_string(),
    );
    lines
}
