//! A peer's rows, cut into mini-batches.

use std::ops::Range;

/// Rows in their order, cut into batches whose sizes differ by at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    rows: usize,
    batches: usize,
    /// Rows over batches, and what is left of them.
    whole: usize,
    more: usize,
}

impl Cut {
    /// As many batches of about `batch` rows as come nearest to it: rows/batch, rounded, and at least
    /// one where there are rows. A small last batch would need as much more noise as it is smaller.
    pub fn new(rows: usize, batch: u32) -> Self {
        let b = batch as usize;
        let batches = ((2 * rows + b) / (2 * b)).max(1).min(rows);
        let divisor = batches.max(1);
        Self { rows, batches, whole: rows / divisor, more: rows % divisor }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many batches there are.
    pub fn batches(&self) -> u32 {
        self.batches as u32
    }

    /// The rows of batch j.
    pub fn range(&self, j: u32) -> Range<usize> {
        // ⌊j·rows/batches⌋; nothing is divided where all batches have the same size.
        let start = |j: usize| match self.more {
            0 => j * self.whole,
            more => j * self.whole + (j as u128 * more as u128 / self.batches as u128) as usize,
        };
        start(j as usize)..start(j as usize + 1)
    }

    /// The batch of a row.
    pub fn batch_of(&self, row: usize) -> u32 {
        (((row as u128 + 1) * self.batches as u128 - 1) / self.rows as u128) as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_nearest_to_the_one_asked_for() {
        assert_eq!(Cut::new(0, 5).batches(), 0);
        assert_eq!(Cut::new(3, 5).batches(), 1);
        assert_eq!(Cut::new(60_000, 50).batches(), 1200);
        assert_eq!(Cut::new(130, 50).batches(), 3);
        assert_eq!(Cut::new(120, 50).batches(), 2);
    }

    proptest! {
        #[test]
        fn every_row_is_in_one_batch(rows in 1_usize..500, batch in 1_u32..60) {
            let cut = Cut::new(rows, batch);
            let sizes: Vec<usize> = (0..cut.batches()).map(|j| cut.range(j).len()).collect();
            prop_assert_eq!(cut.range(0).start, 0);
            prop_assert_eq!(cut.range(cut.batches() - 1).end, rows);
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            for j in 0..cut.batches() {
                prop_assert!(cut.range(j).all(|row| cut.batch_of(row) == j));
            }
        }
    }
}
