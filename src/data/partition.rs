//! Who gets which training rows.

mod deal;
mod dirichlet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) use self::deal::{Dealt, offsets};

/// How training rows are dealt to peers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Partition {
    /// Shuffled, then dealt in parts whose sizes differ by at most one, the larger ones first. The
    /// default.
    #[default]
    Even,
    /// Shuffled, then dealt in proportion to one weight per peer that holds rows, each from 0 to 1e9 and not all 0;
    /// a peer with weight 0 gets no rows. Fractions of a row go to the largest remainders, ties to
    /// the lowest peer.
    Ratio(Vec<f64>),
    /// Blocks of the source's order, unshuffled, as even as can be: for files that are sorted by
    /// owner.
    Blocks,
    /// Shuffled, then dealt in parts whose shares of all rows are drawn from a symmetric Dirichlet
    /// law: the smaller alpha, the more uneven. A peer may get no rows.
    DirichletSizes(Dirichlet),
    /// Shuffled, then dealt in sizes drawn at random: everybody has a floor of rows, and the rest is
    /// shared in proportions that are uniform over all there are.
    RandomSizes(RandomSizes),
    /// Shuffled, then dealt so that each of the first half of the peers (rounded up) has u times as
    /// many rows as each of the others, up to fractions of a row.
    TwoGroups(TwoGroups),
    /// Sorted by label, cut into s shards per peer whose sizes differ by at most one, and s shards
    /// drawn for each peer (McMahan et al. 2017): few labels per peer. Labels are −1 and +1, as the
    /// model sees them, or the numbers of classes. For classification only.
    LabelShards(LabelShards),
    /// The rows of each label are dealt in shares drawn from a symmetric Dirichlet law over the
    /// peers, independently of other labels (Yurochkin et al. 2019): the smaller alpha, the more
    /// one-sided a peer's labels and the more uneven the sizes. A peer may get no rows. For
    /// classification only.
    DirichletLabels(Dirichlet),
    /// Every peer draws rows from the whole training part with replacement: rows repeat, within a
    /// peer and among peers, and some stay unused.
    WithRepetition(WithRepetition),
    /// Every peer holds every training row once, shuffled in an order of its own.
    Replicated,
}

/// A symmetric Dirichlet law over the peers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dirichlet {
    /// The concentration, 0.001 to 1,000,000: near 0 one peer gets all, large ones deal evenly.
    pub alpha: f64,
}

/// Sizes drawn at random above a floor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomSizes {
    /// What everybody has at least, as a share of rows/peers, rounded down; 0 to 1.
    pub floor: f64,
}

/// Two groups of peers with different numbers of rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TwoGroups {
    /// u = n_max/n_min, how many times as many rows a peer of the first group has; 1 to 1e9.
    pub unevenness: f64,
}

/// Shards of rows sorted by label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelShards {
    /// How many shards each peer gets, 1 to 10,000 (and 100 million for all peers together).
    pub per_peer: u32,
}

/// Draws with replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WithRepetition {
    /// How many rows each peer draws, at least 1.
    pub rows: u32,
}

/// The heaviest weight: sums and products with numbers of rows stay finite.
const HEAVIEST: f64 = 1e9;

/// The most shards of all peers together: the deck has to fit in memory.
const MOST_SHARDS: usize = 100_000_000;

impl Partition {
    /// Whether rows are dealt by their labels, so that these must be classes.
    pub(super) fn looks_at_labels(&self) -> bool {
        matches!(self, Self::LabelShards(_) | Self::DirichletLabels(_))
    }

    /// Whether a row may be dealt more than once: its owner then answers in several releases.
    pub fn repeats_rows(&self) -> bool {
        matches!(self, Self::WithRepetition(_) | Self::Replicated)
    }

    /// Whether it is left to chance how many rows a peer gets.
    pub(super) fn draws_sizes(&self) -> bool {
        match self {
            Self::Even
            | Self::Ratio(_)
            | Self::Blocks
            | Self::TwoGroups(_)
            | Self::WithRepetition(_)
            | Self::Replicated => false,
            Self::DirichletSizes(_)
            | Self::RandomSizes(_)
            | Self::DirichletLabels(_)
            | Self::LabelShards(_) => true,
        }
    }

    /// The partition, as it is written in a scenario.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Ratio(_) => "ratio",
            Self::Blocks => "blocks",
            Self::DirichletSizes(_) => "dirichlet-sizes",
            Self::RandomSizes(_) => "random-sizes",
            Self::TwoGroups(_) => "two-groups",
            Self::LabelShards(_) => "label-shards",
            Self::DirichletLabels(_) => "dirichlet-labels",
            Self::WithRepetition(_) => "with-repetition",
            Self::Replicated => "replicated",
        }
    }

    /// Every problem as (field path relative to the partition, message).
    pub(super) fn check(&self, peers: Option<usize>) -> Vec<(String, String)> {
        let (field, found, in_range, expected) = match self {
            Self::Even | Self::Blocks | Self::Replicated => return Vec::new(),
            Self::Ratio(weights) => return check_weights(weights, peers),
            Self::DirichletSizes(Dirichlet { alpha })
            | Self::DirichletLabels(Dirichlet { alpha }) => {
                ("alpha", *alpha, (1e-3..=1e6).contains(alpha), "0.001 to 1000000".to_string())
            }
            Self::RandomSizes(RandomSizes { floor }) => {
                ("floor", *floor, (0.0..=1.0).contains(floor), "0 to 1".to_string())
            }
            Self::TwoGroups(TwoGroups { unevenness: u }) => {
                ("unevenness", *u, (1.0..=HEAVIEST).contains(u), "1 to 1e9".to_string())
            }
            Self::LabelShards(LabelShards { per_peer }) => {
                let most = (MOST_SHARDS / peers.unwrap_or(1).max(1)).clamp(1, 10_000);
                let in_range = (1..=most).contains(&(*per_peer as usize));
                ("per_peer", f64::from(*per_peer), in_range, format!("1 to {most}"))
            }
            Self::WithRepetition(WithRepetition { rows }) => {
                let most = u32::MAX as usize / peers.unwrap_or(1).max(1);
                let in_range = (1..=most).contains(&(*rows as usize));
                ("rows", f64::from(*rows), in_range, format!("1 to {most}"))
            }
        };
        let path = format!("{}.{field}", self.name());
        let problem = || (path, format!("found {found}, expected {expected}"));
        (!in_range).then(problem).into_iter().collect()
    }
}

fn check_weights(weights: &[f64], peers: Option<usize>) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    for (i, weight) in weights.iter().enumerate() {
        if !(0.0..=HEAVIEST).contains(weight) {
            let message = format!("found {weight}, expected a weight from 0 to 1e9");
            problems.push((format!("ratio.{i}"), message));
        }
    }
    if let Some(peers) = peers.filter(|&peers| peers != weights.len()) {
        let message = format!(
            "number of weights: found {}, expected {peers}, one for each peer that is dealt to",
            weights.len()
        );
        problems.push(("ratio".to_string(), message));
    }
    if weights.iter().all(|&weight| weight == 0.0) {
        let message = "found no weight above 0, expected at least one".to_string();
        problems.push(("ratio".to_string(), message));
    }
    problems
}

#[cfg(test)]
mod tests;
