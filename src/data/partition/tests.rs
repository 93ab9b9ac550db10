use proptest::prelude::*;

use super::deal::{Dealt, largest_remainders};
use super::*;
use crate::random::Streams;
use crate::units::Seed;

fn ratio(weights: &[f64]) -> Partition {
    Partition::Ratio(weights.to_vec())
}

/// Labels that alternate: row r is positive where r is a multiple of three.
fn labels(rows: &[u32]) -> Vec<f64> {
    rows.iter().map(|row| if row % 3 == 0 { 1.0 } else { -1.0 }).collect()
}

fn deal(partition: &Partition, rows: u32, peers: usize, seed: u64) -> Dealt {
    partition.deal((0..rows).collect(), peers, labels, &Streams::new(Seed(seed), 0))
}

impl Partition {
    fn sizes(&self, rows: u32, peers: usize) -> Vec<usize> {
        deal(self, rows, peers, 1).sizes
    }
}

/// The rows of each peer.
fn hands(dealt: &Dealt) -> Vec<Vec<u32>> {
    let ends = offsets(&dealt.sizes);
    ends.windows(2).map(|pair| dealt.order[pair[0]..pair[1]].to_vec()).collect()
}

#[test]
fn sizes_in_closed_form() {
    assert_eq!(Partition::Even.sizes(10, 4), [3, 3, 2, 2]);
    assert_eq!(Partition::Blocks.sizes(2, 3), [1, 1, 0]);
    let groups = |unevenness| Partition::TwoGroups(TwoGroups { unevenness });
    assert_eq!(groups(4.0).sizes(100, 4), [40, 40, 10, 10]);
    assert_eq!(groups(3.0).sizes(14, 3), [6, 6, 2]);
    assert_eq!(groups(1.0).sizes(7, 2), [4, 3]);
    assert_eq!(groups(9.0).sizes(7, 1), [7]);
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
            "ratio: number of weights: found 3, expected 2, one for each peer that is dealt to",
        ]
    );
    assert_eq!(ratio(&[0.0]).check(Some(1)).len(), 1);
    assert_eq!(ratio(&[]).check(None).len(), 1);
}

#[test]
fn numbers_out_of_range_are_named() {
    let alpha = |alpha| Dirichlet { alpha };
    for (partition, expected) in [
        (
            Partition::DirichletSizes(alpha(0.0)),
            "dirichlet-sizes.alpha: found 0, expected 0.001 to 1000000",
        ),
        (
            Partition::DirichletLabels(alpha(f64::NAN)),
            "dirichlet-labels.alpha: found NaN, expected 0.001 to 1000000",
        ),
        (
            Partition::RandomSizes(RandomSizes { floor: 1.5 }),
            "random-sizes.floor: found 1.5, expected 0 to 1",
        ),
        (
            Partition::TwoGroups(TwoGroups { unevenness: 0.5 }),
            "two-groups.unevenness: found 0.5, expected 1 to 1e9",
        ),
        (
            Partition::LabelShards(LabelShards { per_peer: 0 }),
            "label-shards.per_peer: found 0, expected 1 to 10000",
        ),
        (
            Partition::WithRepetition(WithRepetition { rows: u32::MAX }),
            "with-repetition.rows: found 4294967295, expected 1 to 2147483647",
        ),
    ] {
        let listed: Vec<_> =
            partition.check(Some(2)).iter().map(|(f, m)| format!("{f}: {m}")).collect();
        assert_eq!(listed, [expected]);
    }
}

/// Rows of ten classes in turn.
fn ten_classes(rows: &[u32]) -> Vec<f64> {
    rows.iter().map(|row| f64::from(row % 10)).collect()
}

/// What was dealt by two labels before there were more: orders and sizes stay as they were.
#[test]
fn two_labels_are_dealt_as_if_there_were_no_others() {
    let streams = Streams::new(Seed(3), 0);
    for partition in [
        Partition::LabelShards(LabelShards { per_peer: 2 }),
        Partition::DirichletLabels(Dirichlet { alpha: 0.5 }),
    ] {
        let signs = partition.deal((0..90).collect(), 4, labels, &streams);
        let numbers = |rows: &[u32]| labels(rows).iter().map(|y| f64::midpoint(*y, 1.0)).collect();
        assert_eq!(partition.deal((0..90).collect(), 4, numbers, &streams), signs);
    }
    // One shard per peer: peers have a run of the rows sorted by label, −1 first.
    let sorted: Vec<u32> = (0..9).filter(|r| r % 3 != 0).chain([0, 3, 6]).collect();
    let shards = Partition::LabelShards(LabelShards { per_peer: 1 });
    let mut hands = hands(&shards.deal((0..9).collect(), 3, labels, &streams));
    hands.sort();
    let mut expected: Vec<Vec<u32>> = sorted.chunks(3).map(<[u32]>::to_vec).collect();
    expected.sort();
    assert_eq!(hands, expected);
}

/// The law of a class belongs to its number: without the rows of class 0, those of class 1 are
/// dealt in the same shares.
#[test]
fn each_class_has_a_law_of_its_own() {
    let partition = Partition::DirichletLabels(Dirichlet { alpha: 0.5 });
    let streams = Streams::new(Seed(3), 0);
    let rows = |low: u32| (0..1_000).filter(|row| row % 10 >= low).collect();
    let sizes_of = |class: u32, low: u32| -> Vec<usize> {
        let dealt = partition.deal(rows(low), 6, ten_classes, &streams);
        let size = |hand: &Vec<u32>| hand.iter().filter(|&&row| row % 10 == class).count();
        hands(&dealt).iter().map(size).collect()
    };
    assert_eq!(sizes_of(4, 0), sizes_of(4, 3));
    assert_ne!(sizes_of(4, 0), sizes_of(5, 0));
    assert_eq!(sizes_of(9, 0).iter().sum::<usize>(), 100);
}

/// Of 2,000 rows every peer gets 200 in the mean; the share of one peer varies as Dirichlet's law
/// says, and rounding to whole rows adds at most 1/12 in variance.
#[test]
fn drawn_sizes_have_the_moments_of_the_law() {
    let (rows, peers, alpha, seeds) = (2_000_u32, 10, 0.7, 4_000);
    let partition = Partition::DirichletSizes(Dirichlet { alpha });
    let sizes = (0..seeds).map(|seed| deal(&partition, rows, peers, seed).sizes[3] as f64);
    let sizes: Vec<f64> = sizes.collect();
    let mean = sizes.iter().sum::<f64>() / seeds as f64;
    let variance = sizes.iter().map(|size| (size - 200.0).powi(2)).sum::<f64>() / seeds as f64;
    let expected = 2_000.0_f64.powi(2) * 0.1 * 0.9 / (10.0 * alpha + 1.0);
    assert!((mean - 200.0).abs() < 5.0 * (expected / seeds as f64).sqrt(), "{mean}");
    assert!((variance / expected - 1.0).abs() < 0.15, "{variance} is not {expected}");
}

/// Above the floor, here 60 of 100 rows, the rest of 400 is shared by uniform proportions: each has
/// mean 1/n and variance (n − 1)/(n²(n + 1)), and rounding adds at most 1/12 in variance.
#[test]
fn random_sizes_have_a_floor_and_the_moments_of_uniform_proportions() {
    let (rows, peers, seeds) = (1_000_u32, 10, 4_000);
    let partition = Partition::RandomSizes(RandomSizes { floor: 0.609 });
    let expected = 400.0_f64.powi(2) * 9.0 / (100.0 * 11.0);
    let dealt: Vec<Vec<usize>> =
        (0..seeds).map(|seed| deal(&partition, rows, peers, seed).sizes).collect();
    for peer in 0..peers {
        let sizes = dealt.iter().map(|sizes| sizes[peer] as f64);
        let mean = sizes.clone().sum::<f64>() / seeds as f64;
        let variance = sizes.clone().map(|size| (size - 100.0).powi(2)).sum::<f64>() / seeds as f64;
        assert!((mean - 100.0).abs() < 5.0 * (expected / seeds as f64).sqrt(), "{mean}");
        assert!((variance / expected - 1.0).abs() < 0.15, "{variance} is not {expected}");
    }
    let fewest = dealt.iter().flatten().min();
    assert_eq!((fewest, partition.span(1_000, 10)), (Some(&60), (60, 460)));
    let even = Partition::RandomSizes(RandomSizes { floor: 1.0 });
    assert_eq!(even.sizes(30, 3), [10; 3]);
    assert_eq!(even.sizes(7, 1), [7]);
}

/// Who holds no rows takes none from the others: these get what they would among themselves.
#[test]
fn peers_without_rows_change_nothing_for_the_others() {
    let alone = hands(&deal(&Partition::Even, 20, 3, 5));
    let among = hands(&deal(&Partition::Even, 20, 3, 5).without(&[4, 0]));
    let none = Vec::new;
    assert_eq!(among, [none(), alone[0].clone(), alone[1].clone(), alone[2].clone(), none()]);
    let same = deal(&Partition::Even, 20, 3, 5).without(&[]);
    assert_eq!(same, deal(&Partition::Even, 20, 3, 5));
}

/// Peers' labels are one-sided for small α and like everybody's for large α: a peer with one label
/// is 1/3 or 2/3 away from the share of all.
#[test]
fn concentration_decides_how_one_sided_labels_are() {
    let spread = |alpha| {
        let partition = Partition::DirichletLabels(Dirichlet { alpha });
        let hands = (0..20).flat_map(|seed| hands(&deal(&partition, 3_000, 10, seed)));
        let deviations: Vec<f64> = hands
            .filter(|hand| !hand.is_empty())
            .map(|hand| {
                let positive = labels(&hand).iter().filter(|&&label| label > 0.0).count();
                (positive as f64 / hand.len() as f64 - 1.0 / 3.0).abs()
            })
            .collect();
        deviations.iter().sum::<f64>() / deviations.len() as f64
    };
    let (sharp, broad) = (spread(0.05), spread(1e4));
    assert!(sharp > 0.3 && broad < 0.01, "{sharp} and {broad}");
}

proptest! {
    #[test]
    fn every_row_is_dealt_once(
        rows in 0_u32..300,
        peers in 1_usize..40,
        seed: u64,
        partition in prop_oneof![
            Just(Partition::Even),
            Just(Partition::Blocks),
            (1.0..50.0).prop_map(|unevenness| Partition::TwoGroups(TwoGroups { unevenness })),
            (1e-3..5.0).prop_map(|alpha| Partition::DirichletSizes(Dirichlet { alpha })),
            (0.0..=1.0).prop_map(|floor| Partition::RandomSizes(RandomSizes { floor })),
            (1e-3..5.0).prop_map(|alpha| Partition::DirichletLabels(Dirichlet { alpha })),
            (1_u32..5).prop_map(|per_peer| Partition::LabelShards(LabelShards { per_peer })),
        ],
    ) {
        let mut dealt = deal(&partition, rows, peers, seed);
        prop_assert_eq!(dealt.sizes.len(), peers);
        prop_assert_eq!(dealt.sizes.iter().sum::<usize>(), rows as usize);
        prop_assert_eq!(dealt.multiplicity(), usize::from(rows > 0));
        let (fewest, most) = partition.span(rows as usize, peers);
        prop_assert!(dealt.sizes.iter().all(|size| (fewest..=most).contains(size)));
        prop_assert!(partition != Partition::Even || most - fewest <= 1);
        prop_assert!(partition != Partition::Blocks || dealt.order.is_sorted());
        dealt.order.sort_unstable();
        prop_assert!(dealt.order.into_iter().eq(0..rows));
    }

    /// Sorted by two labels, at most one shard has both: a peer with s shards has s runs of one
    /// label each, and one more at the most over all peers.
    #[test]
    fn shards_are_of_one_label(
        rows in 1_u32..400,
        peers in 1_usize..20,
        per_peer in 1_u32..6,
        seed: u64,
    ) {
        let partition = Partition::LabelShards(LabelShards { per_peer });
        let mut mixed_alone = 0;
        for hand in hands(&deal(&partition, rows, peers, seed)) {
            let changes = labels(&hand).windows(2).filter(|pair| pair[0] != pair[1]).count();
            prop_assert!(changes <= per_peer as usize);
            mixed_alone += usize::from(per_peer == 1 && changes > 0);
        }
        prop_assert!(mixed_alone <= 1);
    }

    /// Sorted by ten classes, a cut lies between two of them nine times: all shards together have at
    /// most nine changes of class, and those between shards of one peer come on top.
    #[test]
    fn shards_of_ten_classes_are_pure_up_to_the_boundaries(
        rows in 10_u32..600,
        peers in 1_usize..20,
        per_peer in 1_u32..6,
        seed: u64,
    ) {
        let partition = Partition::LabelShards(LabelShards { per_peer });
        let streams = Streams::new(Seed(seed), 0);
        let dealt = partition.deal((0..rows).collect(), peers, ten_classes, &streams);
        let hands = hands(&dealt);
        let changes = |hand: &Vec<u32>| {
            ten_classes(hand).windows(2).filter(|pair| pair[0] != pair[1]).count()
        };
        let total: usize = hands.iter().map(changes).sum();
        prop_assert!(total <= 9 + peers * (per_peer as usize - 1));
        let mut order = dealt.order;
        order.sort_unstable();
        prop_assert!(order.into_iter().eq(0..rows));
    }

    #[test]
    fn replicated_rows_are_a_permutation_for_every_peer(
        rows in 1_u32..300,
        peers in 1_usize..9,
        seed: u64,
    ) {
        let dealt = deal(&Partition::Replicated, rows, peers, seed);
        prop_assert_eq!(dealt.multiplicity(), peers);
        prop_assert_eq!(Partition::Replicated.span(rows as usize, peers), (rows as usize, rows as usize));
        prop_assert_eq!(dealt.order.len(), Partition::Replicated.dealt(rows as usize, peers));
        let mut hands = hands(&dealt);
        if rows > 30 && peers > 1 {
            prop_assert!(hands[0] != hands[1], "each peer has an order of its own");
        }
        let fewer = deal(&Partition::Replicated, rows, 1, seed);
        prop_assert_eq!(&fewer.order, &hands[0], "other peers do not shift it");
        for hand in &mut hands {
            hand.sort_unstable();
            prop_assert!(hand.iter().copied().eq(0..rows));
        }
    }

    #[test]
    fn repetition_draws_as_many_as_asked(
        rows in 1_u32..50,
        peers in 1_usize..9,
        drawn in 1_u32..60,
        seed: u64,
    ) {
        let partition = Partition::WithRepetition(WithRepetition { rows: drawn });
        let dealt = deal(&partition, rows, peers, seed);
        prop_assert_eq!(&dealt.sizes, &vec![drawn as usize; peers]);
        prop_assert_eq!(dealt.order.len(), partition.dealt(rows as usize, peers));
        prop_assert!(dealt.order.iter().all(|row| *row < rows));
        let counts = (0..rows).map(|row| dealt.order.iter().filter(|&&r| r == row).count());
        prop_assert_eq!(dealt.multiplicity(), counts.max().unwrap());
        prop_assert!(dealt.multiplicity() * rows as usize >= dealt.order.len());
    }

    /// Every size is its quota rounded down or up, checked in whole numbers.
    #[test]
    fn whole_weights_are_dealt_exactly(
        rows in 0_usize..4_000_000_000,
        weights in prop::collection::vec(0_u32..1_000, 1..60),
    ) {
        let sum: u128 = weights.iter().map(|&w| u128::from(w)).sum();
        prop_assume!(sum > 0);
        let real: Vec<_> = weights.iter().map(|&w| f64::from(w)).collect();
        let sizes = largest_remainders(rows, &real);
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
        let sizes = largest_remainders(rows, &weights);
        prop_assert_eq!(sizes.iter().sum::<usize>(), rows);
        for (&weight, &size) in weights.iter().zip(&sizes) {
            prop_assert!(weight > 0.0 || size == 0);
        }
    }
}
