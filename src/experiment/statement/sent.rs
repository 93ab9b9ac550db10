//! What the messages of a whole run tell about a record of the worst peer.

use super::{Claim, Holdings, Published, Users, server, walk};
use crate::privacy::{Guarantee, Observer, Piece, Release, Spent, gaussian_epsilon};
use crate::protocol::admm::{AdmmConfig, PrimalNoise};
use crate::protocol::{Automatic, ProtocolConfig};
use crate::scenario::Scenario;
use crate::topology::Topology;
use crate::units::{Epsilon, PeerId};

/// The graph and what its peers hold.
#[derive(Clone, Copy)]
pub(super) struct Peers<'a> {
    pub topology: &'a Topology,
    pub holdings: Holdings<'a>,
}

/// What the messages tell.
pub(super) struct Sent {
    pub record: Epsilon,
    pub label: Epsilon,
    /// Whether another peer may hold the very record, and so has it.
    pub shared: bool,
    pub route: String,
    pub assumption: String,
    pub growth: Vec<(u32, Epsilon)>,
    pub one_release: Vec<Guarantee>,
    /// Observers who see less than all others together, with ε of a label and of a record.
    pub weaker: Vec<(Observer, [Epsilon; 2])>,
    /// What each party's records cost against all others together, where parties add up.
    pub each: Vec<Spent>,
    /// What a paper claims.
    pub published: Option<Published>,
    /// What else is to be said of it.
    pub notes: Vec<String>,
}

/// Peers that are alike in all that a loss depends on. There are few kinds, however many peers.
#[derive(Clone, Copy, PartialEq)]
struct Kind {
    /// m_i.
    samples: f64,
    /// |N_i|.
    degree: f64,
    /// The largest k of its labels.
    coefficient: f64,
    /// V_i.
    deviation: f64,
}

impl Sent {
    pub(super) fn of(scenario: &Scenario, peers: Peers<'_>, users: &Users<'_>) -> Self {
        match &scenario.protocol {
            ProtocolConfig::Admm(admm) => Self::admm(scenario, admm, peers, users),
            ProtocolConfig::GradientDescent(_) | ProtocolConfig::GradientTracking(_) => {
                Self::nothing_hidden("sent in the clear in every round")
            }
            ProtocolConfig::WalkSgd(config) => walk::sent(scenario, config, peers.holdings),
            ProtocolConfig::WeightedErm(_)
            | ProtocolConfig::Federated(_)
            | ProtocolConfig::GradientQueries(_) => {
                server::sent(scenario, peers.topology, peers.holdings)
            }
        }
    }

    pub(super) fn nothing_hidden(route: &str) -> Self {
        Self {
            record: Epsilon::UNBOUNDED,
            label: Epsilon::UNBOUNDED,
            shared: false,
            route: route.to_string(),
            assumption: String::new(),
            growth: Vec::new(),
            one_release: Vec::new(),
            weaker: Vec::new(),
            each: Vec::new(),
            published: None,
            notes: Vec::new(),
        }
    }

    fn admm(scenario: &Scenario, admm: &AdmmConfig, peers: Peers<'_>, users: &Users<'_>) -> Self {
        let kinds = kinds(admm, peers, users);
        let repeated = scenario.data.partition.repeats_rows();
        let one_release =
            if repeated { Vec::new() } else { one_release(scenario, admm, peers, &kinds) };
        let of =
            |route: &str| Self { one_release: one_release.clone(), ..Self::nothing_hidden(route) };
        if kinds.is_empty() {
            return Self {
                record: Epsilon::ZERO,
                label: Epsilon::ZERO,
                ..Self::nothing_hidden("no peer sends anything that depends on a record")
            };
        }
        let Some(noise) = &admm.primal_noise else {
            return of(if admm.objective_noise.is_some() {
                "the difference of two messages is free of the objective noise"
            } else {
                "sent in the clear in every round"
            });
        };
        if repeated {
            return of("a record may have been dealt to several peers, each of which has it");
        }
        if kinds.iter().any(|kind| kind.deviation == 0.0) {
            return of("a peer whose noise has deviation 0 sends in the clear");
        }
        let Some(losses) = Losses::of(scenario, admm, noise, kinds, peers) else {
            let of_records = "Gaussian noise on models that one record can move without bound";
            return Self { assumption: assumption(scenario), ..of(of_records) };
        };
        let rounds = admm.rounds;
        let budget = scenario.measure.stop.and_then(|stop| stop.epsilon);
        let within = |epsilon: Epsilon| budget.map_or(epsilon, |most| epsilon.min(Epsilon(most)));
        let delta = scenario.privacy.delta;
        let after = |mu_squared: f64| within(gaussian_epsilon(mu_squared.sqrt(), delta));
        let times = [1, rounds.div_ceil(8), rounds.div_ceil(4), rounds.div_ceil(2), rounds];
        let mut growth: Vec<_> =
            times.into_iter().map(|t| (t, after(losses.after(t).record))).collect();
        growth.dedup_by(|later, earlier| later.1 == earlier.1 || later.0 == earlier.0);
        let whole = losses.after(rounds);
        Self {
            record: after(whole.record),
            label: after(whole.label),
            route: match (budget, rounds) {
                (Some(_), _) => {
                    "Gaussian noise, composed exactly until the budget is spent".to_string()
                }
                (None, 1) => "1 release with Gaussian noise".to_string(),
                (None, _) => {
                    format!("{rounds} releases with Gaussian noise, composed exactly")
                }
            },
            assumption: format!("{}; argmins solved as exactly as asked", assumption(scenario)),
            growth,
            one_release,
            ..Self::nothing_hidden("")
        }
    }

    /// Against somebody who sees messages.
    pub(super) fn against(&self, observer: Observer, users: &Users<'_>) -> [Claim; 2] {
        if self.shared && matches!(observer, Observer::Neighbour | Observer::OtherPeers) {
            let route = "a record may have been dealt to several peers, each of which has it";
            return Self::nothing_hidden(route).against(observer, users);
        }
        let weaker = self.weaker.iter().find(|(weaker, _)| *weaker == observer);
        let [of_label, of_record] = weaker.map_or([self.label, self.record], |(_, both)| *both);
        let record = Claim {
            observer,
            piece: Piece::Features,
            epsilon: of_record,
            pure: of_record == Epsilon::ZERO,
            route: self.route.clone(),
            assumption: self.assumption.clone(),
        };
        let by_messages = of_label.min(of_record);
        let label = if users.greatest.0.is_finite() && users.greatest <= by_messages {
            Claim { observer, ..users.against_server() }
        } else {
            Claim { piece: Piece::Label, epsilon: by_messages, ..record.clone() }
        };
        [label, record]
    }
}

/// Kinds that are looked through for equal ones together.
const KINDS_AT_A_TIME: usize = 1 << 12;

/// The kinds of peers that have samples and somebody to send to.
fn kinds(admm: &AdmmConfig, peers: Peers<'_>, users: &Users<'_>) -> Vec<Kind> {
    let Holdings { samples, degrees, .. } = peers.holdings;
    let order = |kind: &Kind| {
        [kind.samples, kind.degree, kind.coefficient, kind.deviation].map(f64::to_bits)
    };
    let mut kinds: Vec<Kind> = Vec::new();
    let sort_out = |kinds: &mut Vec<Kind>| {
        kinds.sort_unstable_by_key(order);
        kinds.dedup();
        2 * kinds.len()
    };
    // Now and then, so that there is no room for a kind per peer.
    let mut most = 0;
    for (peer, (m, degree)) in (0..).map(PeerId).zip(samples.iter().zip(degrees.iter())) {
        if m == 0 || degree == 0 {
            continue;
        }
        let kind = Kind {
            samples: f64::from(m),
            degree: f64::from(degree),
            coefficient: users.coefficient(peer),
            deviation: admm.primal_noise.as_ref().map_or(0.0, |noise| noise.deviation.of(peer)),
        };
        if kinds.last() == Some(&kind) {
            continue;
        }
        if kinds.len() >= KINDS_AT_A_TIME.max(most) {
            most = sort_out(&mut kinds);
        }
        kinds.push(kind);
    }
    sort_out(&mut kinds);
    kinds
}

/// q of a peer, where β is known.
fn quadratic(scenario: &Scenario, admm: &AdmmConfig, n: usize, degree: f64) -> f64 {
    let Automatic::Value(beta) = admm.penalty else {
        return f64::NAN;
    };
    scenario.model.regularisation / n as f64 + 2.0 * beta * degree
}

/// What the objective noise would give for a label and for a record, were one exact minimiser all
/// that is released: the worst over the peers. Nothing, where no minimiser is exact.
fn one_release(
    scenario: &Scenario,
    admm: &AdmmConfig,
    peers: Peers<'_>,
    kinds: &[Kind],
) -> Vec<Guarantee> {
    let Some(law) = &admm.objective_noise else {
        return Vec::new();
    };
    let (loss, delta) = (scenario.model.loss, scenario.privacy.delta);
    let n = peers.topology.peers();
    let release = |kind: &Kind| {
        Some(Release {
            peers: n as f64,
            samples: kind.samples,
            dimension: peers.holdings.dimension,
            reach: scenario.reach(),
            label_slope: kind.coefficient,
            slope: loss.greatest_slope(kind.coefficient)?,
            smoothness: loss.smoothness(),
            quadratic: quadratic(scenario, admm, n, kind.degree),
        })
    };
    let releases: Vec<Release> = kinds.iter().filter_map(release).collect();
    let worst = |of: &dyn Fn(&Release) -> Guarantee| {
        let worst = releases.iter().map(of).reduce(Guarantee::worse);
        if admm.solves_exactly() { worst } else { worst.map(Guarantee::of_inexact) }
    };
    let label = worst(&|release| law.of_label(release, delta));
    let record = worst(&|release| law.of_record(release, delta));
    label.into_iter().chain(record).collect()
}

/// μ² of a label and of a record.
#[derive(Clone, Copy)]
struct MuSquared {
    label: f64,
    record: f64,
}

/// The losses of primal noise of deviation σ_i(t) = V_i ρ^{(t−1)/2} on models that move by Δ_i(t):
/// μ_i² = Σ_t (Δ_i(t)/σ_i(t))², for each kind of peer.
struct Losses<'a> {
    admm: &'a AdmmConfig,
    noise: &'a PrimalNoise,
    /// Each kind with its q and what replacing a label, and a record, does to ∇F_i.
    kinds: Vec<(Kind, f64, [f64; 2])>,
}

impl<'a> Losses<'a> {
    /// None where nothing bounds what a record does.
    fn of(
        scenario: &Scenario,
        admm: &'a AdmmConfig,
        noise: &'a PrimalNoise,
        kinds: Vec<Kind>,
        peers: Peers<'_>,
    ) -> Option<Self> {
        let (reach, n) = (scenario.reach(), peers.topology.peers());
        let bounded = |kind: Kind| {
            let k = kind.coefficient;
            let slope = scenario.model.loss.greatest_slope(k).filter(|_| reach.is_finite())?;
            let each = reach / kind.samples;
            let q = quadratic(scenario, admm, n, kind.degree);
            Some((kind, q, [k * each, 2.0 * slope * each]))
        };
        let kinds: Option<Vec<_>> = kinds.into_iter().map(bounded).collect();
        Some(Self { admm, noise, kinds: kinds? })
    }

    /// After so many rounds, the worst over the kinds.
    fn after(&self, rounds: u32) -> MuSquared {
        let of = |&(kind, q, [label, record]): &(Kind, f64, [f64; 2])| {
            let mut sum = MuSquared { label: 0.0, record: 0.0 };
            for t in 1..=rounds {
                let deviation = kind.deviation * self.noise.decay.powf(0.5 * f64::from(t - 1));
                // Solved to the tolerance, or to what is well below the noise and adds at most a
                // hundredth to what a record does (twice a two-hundredth). What is left to the
                // messages may be as much: only the ledger will know.
                let loose = match self.admm.inexact {
                    Some(_) => f64::INFINITY,
                    None => self.admm.slack * q * deviation,
                };
                let g = loose.min(record / 200.0);
                let g = g.max(self.admm.tolerance);
                let square = |moves: f64| ((moves + 2.0 * g) / (q * deviation)).powi(2);
                sum.label += square(label);
                sum.record += square(record);
                if sum.label == f64::INFINITY {
                    break;
                }
            }
            sum
        };
        self.kinds.iter().map(of).fold(MuSquared { label: 0.0, record: 0.0 }, |worst, next| {
            MuSquared { label: worst.label.max(next.label), record: worst.record.max(next.record) }
        })
    }
}

/// What the ε of messages rests on.
pub(super) fn assumption(scenario: &Scenario) -> String {
    match scenario.data.reach(scenario.model.intercept) {
        Some(reach) => format!(
            "replace one record; |x| ≤ {:.4} by preprocessing{}; numbers of samples, graph and \
             parameters public",
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
