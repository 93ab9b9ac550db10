//! The deal itself: who gets which rows.

use rand::RngExt;
use rand::seq::SliceRandom;

use super::{Dirichlet, Partition, RandomSizes, TwoGroups, WithRepetition, dirichlet};
use crate::random::{Purpose, Streams};

/// Training rows in peer order.
#[derive(Debug, PartialEq)]
pub(in crate::data) struct Dealt {
    /// Row numbers, peer by peer.
    pub(in crate::data) order: Vec<u32>,
    /// How many of them each peer has.
    pub(in crate::data) sizes: Vec<usize>,
}

/// What is drawn beside the shuffle has its own streams: for each peer the rows of a draw with
/// replacement or the order of its copies, and behind them one law of shares per label.
const REPETITION: u32 = 1;
const SHARES: u32 = 2;

impl Partition {
    /// Deals training rows, which come in the source's order; `labels` are asked for where they
    /// matter.
    pub(in crate::data) fn deal(
        &self,
        mut rows: Vec<u32>,
        peers: usize,
        labels: impl FnOnce(&[u32]) -> Vec<f64>,
        streams: &Streams,
    ) -> Dealt {
        let mut shuffle = streams.single(Purpose::Partition);
        let shares = |law: u32, Dirichlet { alpha }: Dirichlet| {
            dirichlet::weights(alpha, peers, streams.family(Purpose::Partition, SHARES + law))
        };
        match self {
            Self::Even
            | Self::Ratio(_)
            | Self::TwoGroups(_)
            | Self::DirichletSizes(_)
            | Self::RandomSizes(_) => {
                rows.shuffle(&mut shuffle);
                let sizes = match self {
                    Self::Ratio(weights) => largest_remainders(rows.len(), weights),
                    Self::TwoGroups(groups) => groups.sizes(rows.len(), peers),
                    Self::DirichletSizes(law) => largest_remainders(rows.len(), &shares(0, *law)),
                    Self::RandomSizes(law) => {
                        let uniform = Dirichlet { alpha: 1.0 };
                        law.sizes(rows.len(), &shares(0, uniform))
                    }
                    _ => even(rows.len(), peers),
                };
                Dealt { order: rows, sizes }
            }
            Self::Blocks => Dealt { sizes: even(rows.len(), peers), order: rows },
            Self::LabelShards(shards) => {
                let sorted = by_label(&rows, &labels(&rows)).concat();
                let per_peer = shards.per_peer as usize;
                let cuts = offsets(&even(sorted.len(), peers * per_peer));
                let mut deck: Vec<usize> = (0..peers * per_peer).collect();
                deck.shuffle(&mut shuffle);
                let hand = |shards: &[usize]| -> Vec<u32> {
                    let rows = shards.iter().map(|&shard| &sorted[cuts[shard]..cuts[shard + 1]]);
                    rows.flatten().copied().collect()
                };
                Dealt::from_hands(deck.chunks(per_peer).map(hand))
            }
            Self::DirichletLabels(law) => {
                let mut hands = vec![Vec::new(); peers];
                for (mut rows, label) in by_label(&rows, &labels(&rows)).into_iter().zip(0..) {
                    rows.shuffle(&mut shuffle);
                    let cuts = offsets(&largest_remainders(rows.len(), &shares(label, *law)));
                    for (hand, cut) in hands.iter_mut().zip(cuts.windows(2)) {
                        hand.extend_from_slice(&rows[cut[0]..cut[1]]);
                    }
                }
                Dealt::from_hands(hands)
            }
            Self::WithRepetition(WithRepetition { rows: drawn }) => {
                let family = streams.family(Purpose::Partition, REPETITION);
                Dealt::from_hands((0..peers as u64).map(|peer| {
                    let mut stream = family.stream(peer);
                    (0..*drawn).map(|_| rows[stream.random_range(0..rows.len())]).collect()
                }))
            }
            Self::Replicated => {
                let family = streams.family(Purpose::Partition, REPETITION);
                Dealt::from_hands((0..peers as u64).map(|peer| {
                    let mut hand = rows.clone();
                    hand.shuffle(&mut family.stream(peer));
                    hand
                }))
            }
        }
    }

    /// Fewest and most rows that a peer can get of `rows`, whatever is drawn.
    pub(in crate::data) fn span(&self, rows: usize, peers: usize) -> (usize, usize) {
        let sizes = match self {
            // Without a list of all, of whom there may be very many.
            Self::Even | Self::Blocks => {
                let (least, more) = (rows / peers.max(1), rows % peers.max(1));
                return (least, least + usize::from(more > 0));
            }
            Self::Ratio(weights) => largest_remainders(rows, weights),
            Self::TwoGroups(groups) => groups.sizes(rows, peers),
            Self::LabelShards(shards) => {
                let per_peer = shards.per_peer as usize;
                let shards = peers.saturating_mul(per_peer);
                let (least, larger) = (rows / shards, rows % shards);
                // A peer may draw none of the shards that have a row more, or all that there are.
                let fewest = per_peer.saturating_sub(shards - larger);
                return (per_peer * least + fewest, per_peer * least + larger.min(per_peer));
            }
            Self::DirichletSizes(_) | Self::DirichletLabels(_) => {
                vec![if peers > 1 { 0 } else { rows }, rows]
            }
            Self::RandomSizes(law) => {
                let least = law.least(rows, peers);
                let most = rows - least * peers.saturating_sub(1);
                vec![if peers > 1 { least } else { rows }, most]
            }
            Self::WithRepetition(drawn) => vec![drawn.rows as usize],
            Self::Replicated => vec![rows],
        };
        let fewest = sizes.iter().copied().min().unwrap_or(0);
        (fewest, sizes.into_iter().max().unwrap_or(0))
    }

    /// How many of `rows` training rows are dealt, repeated ones counted each time.
    pub(in crate::data) fn dealt(&self, rows: usize, peers: usize) -> usize {
        match self {
            Self::WithRepetition(drawn) => peers.saturating_mul(drawn.rows as usize),
            Self::Replicated => peers.saturating_mul(rows),
            _ => rows,
        }
    }
}

impl Dealt {
    fn from_hands(hands: impl IntoIterator<Item = Vec<u32>>) -> Self {
        let (mut order, mut sizes) = (Vec::new(), Vec::new());
        for hand in hands {
            order.extend_from_slice(&hand);
            sizes.push(hand.len());
        }
        Self { order, sizes }
    }

    /// The same deal among more peers, of which those in `without` get nothing and the others what
    /// they were dealt, in order.
    pub(in crate::data) fn without(mut self, without: &[u32]) -> Self {
        let mut ascending = without.to_vec();
        ascending.sort_unstable();
        ascending.iter().for_each(|&peer| self.sizes.insert(peer as usize, 0));
        self
    }

    /// How many times the most repeated row was dealt.
    pub(in crate::data) fn multiplicity(&self) -> usize {
        let mut sorted = self.order.clone();
        sorted.sort_unstable();
        sorted.chunk_by(u32::eq).map(<[u32]>::len).max().unwrap_or(0)
    }
}

impl TwoGroups {
    fn sizes(self, rows: usize, peers: usize) -> Vec<usize> {
        let weight = |peer| if peer < peers.div_ceil(2) { self.unevenness } else { 1.0 };
        largest_remainders(rows, &(0..peers).map(weight).collect::<Vec<_>>())
    }
}

impl RandomSizes {
    /// What everybody has at least of `rows`.
    fn least(self, rows: usize, peers: usize) -> usize {
        let share = self.floor * (rows as f64 / peers as f64);
        // Rounding must not promise more than there is.
        (share as usize).min(rows / peers)
    }

    /// That, and the rest in proportion to one share per peer.
    fn sizes(self, rows: usize, shares: &[f64]) -> Vec<usize> {
        let least = self.least(rows, shares.len());
        let rest = largest_remainders(rows - least * shares.len(), shares);
        rest.into_iter().map(|more| least + more).collect()
    }
}

/// The rows of each label, in the source's order: those labelled −1 and those labelled +1, or those
/// of class 0, 1, …, some of which may have none.
fn by_label(rows: &[u32], labels: &[f64]) -> Vec<Vec<u32>> {
    let mut groups = Vec::new();
    for (&row, &label) in rows.iter().zip(labels) {
        let place = label.max(0.0) as usize;
        if place >= groups.len() {
            groups.resize(place + 1, Vec::new());
        }
        groups[place].push(row);
    }
    groups
}

/// Sizes that differ by at most one, the larger ones first.
pub(super) fn even(rows: usize, parts: usize) -> Vec<usize> {
    (0..parts).map(|i| rows / parts + usize::from(i < rows % parts)).collect()
}

/// Hamilton's method: every weight w gets ⌊rows·w/Σw⌋, and what is left goes to the largest
/// remainders.
///
/// The remainder of a floating-point division is exact, so whole-number weights are dealt exactly.
pub(super) fn largest_remainders(rows: usize, weights: &[f64]) -> Vec<usize> {
    let sum: f64 = weights.iter().sum();
    let remainder = |weight: f64| (rows as f64 * weight) % sum;
    let quota = |&weight: &f64| ((rows as f64 * weight - remainder(weight)) / sum).round() as usize;
    let mut sizes: Vec<usize> = weights.iter().map(quota).collect();
    let left = rows - sizes.iter().sum::<usize>();
    let mut owed: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
    owed.sort_by(|&i, &j| remainder(weights[j]).total_cmp(&remainder(weights[i])));
    for &i in &owed[..left] {
        sizes[i] += 1;
    }
    sizes
}

/// Where each peer's rows begin, and behind the last one where they end.
pub(in crate::data) fn offsets(sizes: &[usize]) -> Vec<usize> {
    let mut offsets = vec![0];
    offsets.extend(sizes.iter().scan(0, |end, size| {
        *end += size;
        Some(*end)
    }));
    offsets
}
