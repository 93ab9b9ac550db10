//! Randomised response: users answer for their labels on their own devices, before any peer sees
//! them.
//!
//! A user whose label is y ∈ {−1, +1} reports y' with Pr[y' ≠ y] = p = 1/(1 + e^ε): whatever is
//! done with y' later, the label loses at most ε, pure (Warner 1965; equations 12 and 13 of Wang et
//! al., arXiv 1908.01059, who say it as y' = ±1 with p each and y with 1 − 2p).
//!
//! A loss of flipped labels is biased; one that is unbiased over the flips is (19),
//!
//! ```text
//! ℓ~(y', z) = (e^ε ℓ(y', z) − ℓ(−y', z))/(e^ε − 1),     E[ℓ~(y', z)] = ℓ(y, z).
//! ```
//!
//! The logistic loss is linear in the label, ℓ(y, z) = log(2 cosh(z/2)) − yz/2, and the weights of
//! (19) sum to 1. So the first term stays, and the second gets the factor
//! (e^ε + 1)/(e^ε − 1) = coth(ε/2) = k:
//!
//! ```text
//! ℓ~(y', z) = log(2 cosh(z/2)) − (k/2) y' z = ℓ(k y', z).
//! ```
//!
//! The unbiased loss **is** the logistic loss of the real-valued label k·y', for each user with
//! their own k: that is what [`Responses::labels`] holds, and no solver needs to know.
//!
//! A user is a row of the source. One that was dealt several times, to one peer or to many, has one
//! level and answers once, since drawing anew for every copy would spend ε for each of them.

mod levels;

use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::levels::{Law, Levels, Span};
use crate::random::{Family, Purpose, Streams};
use crate::units::{Epsilon, PeerId};

/// How users' labels are randomised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelsConfig {
    /// The privacy level ε of each label: a number for all, `{per-peer: […]}`, `{per-user: […]}`
    /// (one for each row of the source, in its order) or `{drawn: …}` from a law. Each from 0.000001
    /// to 50.
    pub epsilon: Levels,
    /// What is done about the flips. Default `unbiased`.
    #[serde(default)]
    pub loss: Correction,
}

/// What the loss does about flipped labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Correction {
    /// Uses k·y' with k = coth(ε/2), which makes the logistic loss right on average over the flips.
    /// The default.
    #[default]
    Unbiased,
    /// Uses y' as it is: what the correction is worth shows against this.
    Plain,
}

impl LabelsConfig {
    /// Every problem as (field path relative to the section, what was found and expected). Without
    /// `peers`, what depends on their number is not checked.
    pub fn check(&self, peers: Option<usize>) -> Vec<(String, String)> {
        let within = |(field, message): (String, String)| {
            let dot = if field.is_empty() { "" } else { "." };
            (format!("epsilon{dot}{field}"), message)
        };
        self.epsilon.check(peers).into_iter().map(within).collect()
    }

    /// What is wrong once the number of rows of the source is known, in the same form: a list of
    /// levels that is not as long.
    pub fn check_source(&self, source_rows: usize) -> Option<(String, String)> {
        let message = self.epsilon.check_source(source_rows)?;
        Some(("epsilon.per-user".to_string(), message))
    }
}

/// p = 1/(1 + e^ε): how likely an answer is not the label.
pub fn flip_probability(Epsilon(epsilon): Epsilon) -> f64 {
    let e = (-epsilon).exp();
    e / (1.0 + e)
}

/// k = (e^ε + 1)/(e^ε − 1) = coth(ε/2): what makes an answer right on average, E[k y'] = y.
pub fn coefficient(Epsilon(epsilon): Epsilon) -> f64 {
    // The quotient of exponentials would lose all digits for small ε.
    1.0 / (0.5 * epsilon).tanh()
}

/// What peers get to work with in place of labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Responses {
    /// The label that the loss uses, for each dealt row: k·y' with the unbiased loss, y' with the
    /// plain one.
    pub labels: Vec<f64>,
    /// The answer y' of its user, −1 or 1, for each dealt row.
    pub answers: Vec<f64>,
    /// The level ε at which its user answered, for each dealt row.
    pub levels: Vec<Epsilon>,
    /// What the users of each peer spent; nothing for a peer that has none.
    pub spent: Vec<Option<LabelSummary>>,
}

/// What users spent on their labels, each of them once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelSummary {
    /// How many users there are: repeated rows are counted once.
    pub users: usize,
    /// The smallest level among them.
    pub least: Epsilon,
    /// The greatest level among them, which bounds everybody's loss.
    pub greatest: Epsilon,
    /// The mean over users of the factor that the loss gives an answer: k, or 1 with the plain loss.
    pub mean_factor: f64,
    /// The greatest of these factors: it goes into sensitivities.
    pub greatest_factor: f64,
}

/// Lets every user answer.
///
/// `labels` are those of the dealt rows in peer order, ±1 each, `rows` their numbers in the source,
/// and peer `i` holds `offsets[i]..offsets[i + 1]` of them. Level and answer of a user are functions
/// of (`streams`, number in the source): they neither depend on where the row was dealt, nor on
/// other rows.
///
/// With levels by peer, a user whose row was dealt to several of them answers at the smallest level:
/// there is one answer, and it has to keep the promise of every holder.
///
/// # Panics
/// If the lengths do not fit each other, or the configuration does not fit them (what
/// [`LabelsConfig::check`] and [`LabelsConfig::check_source`] tell).
pub fn randomise(
    config: &LabelsConfig,
    labels: &[f64],
    rows: &[u32],
    offsets: &[usize],
    streams: &Streams,
) -> Responses {
    assert!(labels.len() == rows.len() && offsets.last() == Some(&rows.len()));
    debug_assert!(labels.iter().all(|label| label.abs() == 1.0), "labels are ±1");
    let levels = levels_of_rows(&config.epsilon, rows, offsets, streams);
    let factor = |level: Epsilon| match config.loss {
        Correction::Unbiased => coefficient(level),
        Correction::Plain => 1.0,
    };
    let family = streams.family(Purpose::Responses, 0);
    let users = labels.iter().zip(rows).zip(&levels);
    let answers: Vec<f64> =
        users.map(|((&label, &row), &level)| answer(label, level, row, family)).collect();
    let spent = offsets.windows(2).map(|hand| {
        let hand = hand[0]..hand[1];
        let mut users: Vec<(u32, Epsilon)> =
            rows[hand.clone()].iter().copied().zip(levels[hand].iter().copied()).collect();
        users.sort_unstable_by_key(|&(row, _)| row);
        users.dedup_by_key(|&mut (row, _)| row);
        LabelSummary::by(users.iter().map(|&(_, level)| (level, factor(level))))
    });
    Responses {
        labels: answers.iter().zip(&levels).map(|(y, &level)| factor(level) * y).collect(),
        spent: spent.collect(),
        answers,
        levels,
    }
}

/// The level of each dealt row's user.
fn levels_of_rows(
    levels: &Levels,
    rows: &[u32],
    offsets: &[usize],
    streams: &Streams,
) -> Vec<Epsilon> {
    let family = streams.family(Purpose::Levels, 0);
    let hands = offsets.windows(2).zip(0..);
    let mut found: Vec<Epsilon> = hands
        .flat_map(|(hand, peer)| {
            let level = move |&row: &u32| levels.level(PeerId(peer), row, family);
            rows[hand[0]..hand[1]].iter().map(level)
        })
        .collect();
    if matches!(levels, Levels::PerPeer(_)) {
        let users = rows.iter().max().map_or(0, |&row| row as usize + 1);
        let mut least = vec![Epsilon::UNBOUNDED; users];
        for (&row, &level) in rows.iter().zip(&found) {
            least[row as usize] = least[row as usize].min(level);
        }
        let of_user = |&row: &u32| least[row as usize];
        found = rows.iter().map(of_user).collect();
    }
    found
}

/// y', drawn for the user.
fn answer(label: f64, level: Epsilon, row: u32, family: Family) -> f64 {
    // A uniform number is a multiple of 2⁻⁵³, so the chance of a flip is p rounded up to one: never
    // less protection than was promised.
    let uniform: f64 = family.stream(row.into()).random();
    if uniform < flip_probability(level) { -label } else { label }
}

impl Responses {
    /// The greatest factor that the loss gives an answer of this peer's users: 1 where it has none.
    pub fn greatest_factor(&self, peer: PeerId) -> f64 {
        self.spent[peer.index()].map_or(1.0, |spent| spent.greatest_factor)
    }

    /// What the users of all peers spent; one who has several is counted at each. None without any.
    pub fn summary(&self) -> Option<LabelSummary> {
        self.spent.iter().copied().flatten().reduce(LabelSummary::with)
    }
}

impl LabelSummary {
    /// The users of both.
    fn with(self, other: Self) -> Self {
        let users = self.users + other.users;
        let share = other.users as f64 / users as f64;
        Self {
            users,
            least: self.least.min(other.least),
            greatest: Epsilon(self.greatest.0.max(other.greatest.0)),
            mean_factor: self.mean_factor + share * (other.mean_factor - self.mean_factor),
            greatest_factor: self.greatest_factor.max(other.greatest_factor),
        }
    }

    /// The summary of users, given by level and factor.
    fn by(users: impl Iterator<Item = (Epsilon, f64)>) -> Option<Self> {
        let mut sum = 0.0;
        let mut spent = None;
        for (level, factor) in users {
            sum += factor;
            let so_far = spent.get_or_insert(Self {
                users: 0,
                least: level,
                greatest: level,
                mean_factor: 0.0,
                greatest_factor: factor,
            });
            so_far.users += 1;
            so_far.least = so_far.least.min(level);
            so_far.greatest = Epsilon(so_far.greatest.0.max(level.0));
            so_far.greatest_factor = so_far.greatest_factor.max(factor);
        }
        spent.map(|spent| Self { mean_factor: sum / spent.users as f64, ..spent })
    }
}

#[cfg(test)]
mod tests;
