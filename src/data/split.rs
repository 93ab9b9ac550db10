//! Which rows are held out.

use rand::seq::SliceRandom;

use crate::random::{Purpose, Streams};

/// How many rows are trained on and how many are held out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) train: usize,
    pub(super) test: usize,
}

/// How many rows a file has, and how many of them, the last ones, are held out by its own account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) rows: usize,
    pub(super) held_out: Option<usize>,
}

impl Extent {
    /// The rows that the file itself holds out, or a share of all where it says nothing.
    pub(super) fn counts(self, share: f64) -> Counts {
        match self.held_out {
            Some(test) => Counts { train: self.rows - test, test },
            None => Counts::of_total(self.rows, share),
        }
    }
}

impl Counts {
    /// Holds out round(share · N) of N = `total` rows.
    pub(super) fn of_total(total: usize, share: f64) -> Self {
        let test = (share * total as f64).round() as usize;
        Self { train: total.saturating_sub(test), test }
    }

    /// The same share where the training rows are given: round(train · share / (1 − share)) more
    /// rows are held out, which are round(share · N) of all N.
    pub(super) fn of_train(train: usize, share: f64) -> Self {
        Self { train, test: (train as f64 * share / (1.0 - share)).round() as usize }
    }

    pub(super) fn total(self) -> usize {
        self.train.saturating_add(self.test)
    }
}

/// Row numbers on either side of a split.
#[derive(Debug, PartialEq)]
pub(super) struct Split {
    /// Training rows, in the source's order.
    pub(super) train: Vec<u32>,
    /// Held-out rows, in the order in which they were drawn.
    pub(super) test: Vec<u32>,
}

/// Sets aside the last rows, where the source says that they are the held-out ones.
pub(super) fn split_as_given(counts: Counts) -> Split {
    let number = |r: usize| u32::try_from(r).expect("row numbers were checked to have 32 bits");
    let (cut, end) = (number(counts.train), number(counts.total()));
    Split { train: (0..cut).collect(), test: (cut..end).collect() }
}

/// Sets aside the first rows of a seeded permutation.
pub(super) fn split(counts: Counts, streams: &Streams) -> Split {
    let total = u32::try_from(counts.total()).expect("row numbers were checked to have 32 bits");
    let mut order: Vec<u32> = (0..total).collect();
    if counts.test > 0 {
        order.shuffle(&mut streams.single(Purpose::Split));
    }
    let mut train = order.split_off(counts.test);
    train.sort_unstable();
    Split { train, test: order }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::Seed;

    #[test]
    fn shares_round_to_whole_rows() {
        assert_eq!(Counts::of_total(10, 0.25), Counts { train: 7, test: 3 });
        assert_eq!(Counts::of_total(10, 0.0), Counts { train: 10, test: 0 });
        assert_eq!(Counts::of_total(1, 0.9), Counts { train: 0, test: 1 });
        assert_eq!(Counts::of_train(80, 0.2), Counts { train: 80, test: 20 });
    }

    proptest! {
        #[test]
        fn counting_from_the_training_rows_agrees_with_counting_from_all(
            train in 1_usize..10_000,
            share in 0.0..0.95,
        ) {
            let counts = Counts::of_train(train, share);
            prop_assert_eq!(Counts::of_total(counts.total(), share), counts);
        }

        #[test]
        fn every_row_is_on_one_side(train in 0_usize..200, test in 0_usize..200, seed: u64) {
            let split = split(Counts { train, test }, &Streams::new(Seed(seed), 0));
            prop_assert_eq!((split.train.len(), split.test.len()), (train, test));
            prop_assert!(split.train.is_sorted());
            let mut all = [split.train, split.test].concat();
            all.sort_unstable();
            prop_assert!(all.into_iter().eq(0..(train + test) as u32));
        }
    }

    #[test]
    fn each_row_is_held_out_as_often_as_any_other() {
        let mut held_out = [0; 10];
        for seed in 0..2_000 {
            let streams = Streams::new(Seed(seed), 0);
            for r in split(Counts { train: 7, test: 3 }, &streams).test {
                held_out[r as usize] += 1;
            }
        }
        // Binomial(2000, 0.3): mean 600, deviation 20.5.
        assert!(held_out.iter().all(|count| (500..700).contains(count)), "{held_out:?}");
    }
}
