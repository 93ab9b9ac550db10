//! Who gets which training rows.

use rand::seq::SliceRandom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::{Purpose, Streams};

/// How training rows are dealt to peers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Partition {
    /// Shuffled, then dealt in parts whose sizes differ by at most one, the larger ones first. The
    /// default.
    #[default]
    Even,
    /// Shuffled, then dealt in proportion to one weight per peer, each from 0 to 1e9 and not all 0;
    /// a peer with weight 0 gets no rows. Fractions of a row go to the largest remainders, ties to
    /// the lowest peer.
    Ratio(Vec<f64>),
    /// Blocks of the source's order, unshuffled, as even as can be: for files that are sorted by
    /// owner.
    Blocks,
}

/// The heaviest weight: sums and products with numbers of rows stay finite.
const HEAVIEST: f64 = 1e9;

impl Partition {
    /// Every problem as (field path relative to the partition, message).
    pub(super) fn check(&self, peers: Option<usize>) -> Vec<(String, String)> {
        let Self::Ratio(weights) = self else { return Vec::new() };
        let mut problems = Vec::new();
        for (i, weight) in weights.iter().enumerate() {
            if !(0.0..=HEAVIEST).contains(weight) {
                let message = format!("found {weight}, expected a weight from 0 to 1e9");
                problems.push((format!("ratio.{i}"), message));
            }
        }
        if let Some(peers) = peers.filter(|&peers| peers != weights.len()) {
            let message = format!(
                "number of weights: found {}, expected {peers}, one for each peer",
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

    /// How many of `rows` rows each of `peers` peers gets.
    pub(super) fn sizes(&self, rows: usize, peers: usize) -> Vec<usize> {
        match self {
            Self::Even | Self::Blocks => {
                (0..peers).map(|i| rows / peers + usize::from(i < rows % peers)).collect()
            }
            Self::Ratio(weights) => largest_remainders(rows, weights),
        }
    }

    /// Puts training rows, which come in the source's order, into peer order.
    pub(super) fn deal(&self, rows: &mut [u32], streams: &Streams) {
        match self {
            Self::Even | Self::Ratio(_) => rows.shuffle(&mut streams.single(Purpose::Partition)),
            Self::Blocks => {}
        }
    }
}

/// Hamilton's method: every weight w gets ⌊rows·w/Σw⌋, and what is left goes to the largest
/// remainders.
///
/// The remainder of a floating-point division is exact, so whole-number weights are dealt exactly.
fn largest_remainders(rows: usize, weights: &[f64]) -> Vec<usize> {
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
pub(super) fn offsets(sizes: &[usize]) -> Vec<usize> {
    let mut offsets = vec![0];
    offsets.extend(sizes.iter().scan(0, |end, size| {
        *end += size;
        Some(*end)
    }));
    offsets
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::Seed;

    fn ratio(weights: &[f64]) -> Partition {
        Partition::Ratio(weights.to_vec())
    }

    #[test]
    fn sizes_in_closed_form() {
        assert_eq!(Partition::Even.sizes(10, 4), [3, 3, 2, 2]);
        assert_eq!(Partition::Blocks.sizes(2, 3), [1, 1, 0]);
        assert_eq!(ratio(&[1.0, 2.0, 7.0]).sizes(10, 3), [1, 2, 7]);
        assert_eq!(ratio(&[0.1, 0.2, 0.7]).sizes(10, 3), [1, 2, 7]);
        assert_eq!(ratio(&[0.0, 1.0, 0.0]).sizes(10, 3), [0, 10, 0]);
        // Quotas 3.4, 3.4, 0.2: one row is left, and of the two that are owed the lower gets it.
        assert_eq!(ratio(&[17.0, 17.0, 1.0]).sizes(7, 3), [4, 3, 0]);
        // Quotas 0.5, 1.5, 3: a tie between different weights.
        assert_eq!(ratio(&[1.0, 3.0, 6.0]).sizes(5, 3), [1, 1, 3]);
        assert_eq!(offsets(&[3, 0, 2]), [0, 3, 3, 5]);
    }

    #[test]
    fn impossible_ratios_are_named() {
        let problems = ratio(&[1.0, -1.0, f64::NAN]).check(Some(2));
        let listed: Vec<_> = problems.iter().map(|(f, m)| format!("{f}: {m}")).collect();
        assert_eq!(
            listed,
            [
                "ratio.1: found -1, expected a weight from 0 to 1e9",
                "ratio.2: found NaN, expected a weight from 0 to 1e9",
                "ratio: number of weights: found 3, expected 2, one for each peer",
            ]
        );
        assert_eq!(ratio(&[0.0]).check(Some(1)).len(), 1);
        assert_eq!(ratio(&[]).check(None).len(), 1);
    }

    proptest! {
        #[test]
        fn every_row_is_dealt_once(rows in 0_u32..300, peers in 1_usize..40, seed: u64, blocks: bool) {
            let partition = if blocks { Partition::Blocks } else { Partition::Even };
            let sizes = partition.sizes(rows as usize, peers);
            prop_assert_eq!(sizes.len(), peers);
            prop_assert_eq!(sizes.iter().sum::<usize>(), rows as usize);
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);

            let mut order: Vec<u32> = (0..rows).collect();
            partition.deal(&mut order, &Streams::new(Seed(seed), 0));
            prop_assert!(!blocks || order.is_sorted());
            order.sort_unstable();
            prop_assert!(order.into_iter().eq(0..rows));
        }

        /// Every size is its quota rounded down or up, checked in whole numbers.
        #[test]
        fn whole_weights_are_dealt_exactly(
            rows in 0_usize..4_000_000_000,
            weights in prop::collection::vec(0_u32..1_000, 1..60),
        ) {
            let sum: u128 = weights.iter().map(|&w| u128::from(w)).sum();
            prop_assume!(sum > 0);
            let partition = ratio(&weights.iter().map(|&w| f64::from(w)).collect::<Vec<_>>());
            let sizes = partition.sizes(rows, weights.len());
            prop_assert_eq!(sizes.iter().sum::<usize>(), rows);
            let rest = |w: u32| rows as u128 * u128::from(w) % sum;
            let mut last_up = None;
            let mut first_down = None;
            for (i, (&w, &size)) in weights.iter().zip(&sizes).enumerate() {
                let floor = rows as u128 * u128::from(w) / sum;
                let key = (rest(w), std::cmp::Reverse(i));
                if size as u128 == floor {
                    first_down = first_down.max(Some(key));
                } else {
                    prop_assert_eq!(size as u128, floor + 1);
                    last_up = Some(last_up.map_or(key, |up: (u128, _)| up.min(key)));
                }
            }
            // Nobody who was rounded down had a better claim than anybody who was rounded up.
            if let (Some(up), Some(down)) = (last_up, first_down) {
                prop_assert!(up > down);
            }
        }

        #[test]
        fn any_weights_deal_every_row(
            rows in 0_usize..4_000_000_000,
            weights in prop::collection::vec(
                prop_oneof![Just(0.0), 0.0..1e9, 0.0..1.0, Just(1e-320), Just(1e9)], 1..60),
        ) {
            prop_assume!(weights.iter().any(|&w| w > 0.0));
            let sizes = ratio(&weights).sizes(rows, weights.len());
            prop_assert_eq!(sizes.iter().sum::<usize>(), rows);
            for (&weight, &size) in weights.iter().zip(&sizes) {
                prop_assert!(weight > 0.0 || size == 0);
            }
        }
    }
}
