//! Numbers that begin where a line of the cache does.

use std::ops::{Deref, DerefMut};

/// Bytes of a line, and of a number.
pub(super) const BYTES: usize = 64;
const NUMBER: usize = size_of::<f64>();
/// How many numbers at most lie before the first that begins a line.
const BEFORE: usize = BYTES / NUMBER - 1;

/// A row of numbers of which the first begins a line of the cache.
///
/// An allocation begins anywhere: vectors of ninety-six bytes lie on three lines as often as on two then, and
/// every second load of four numbers goes over the end of one. The row never moves within its allocation.
#[derive(Debug, Default)]
pub struct Aligned {
    numbers: Box<[f64]>,
}

impl Aligned {
    /// So many zeros.
    pub fn zeros(length: usize) -> Self {
        let all = if length == 0 { 0 } else { length + BEFORE };
        Self { numbers: vec![0.0; all].into() }
    }

    /// Bytes that a row of so many numbers allocates.
    pub const fn memory(length: usize) -> usize {
        NUMBER * (length + BEFORE)
    }

    /// Where the row begins, and where it ends.
    #[inline(always)]
    fn range(&self) -> std::ops::Range<usize> {
        let begin = self.numbers.as_ptr().addr().wrapping_neg() % BYTES / NUMBER;
        begin..begin + self.numbers.len().saturating_sub(BEFORE)
    }
}

impl Deref for Aligned {
    type Target = [f64];

    #[inline(always)]
    fn deref(&self) -> &[f64] {
        self.numbers.get(self.range()).unwrap_or_default()
    }
}

impl DerefMut for Aligned {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f64] {
        let range = self.range();
        self.numbers.get_mut(range).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_begins_a_line_and_keeps_its_numbers_when_it_is_moved() {
        assert!(Aligned::default().is_empty() && Aligned::zeros(0).is_empty());
        let rows: Vec<Aligned> = (1..200)
            .map(|length| {
                let mut row = Aligned::zeros(length);
                assert_eq!(row.len(), length);
                assert!(row.iter().all(|&number| number == 0.0));
                row.iter_mut().enumerate().for_each(|(k, number)| *number = k as f64);
                row
            })
            .collect();
        for (row, length) in rows.into_iter().zip(1..) {
            assert_eq!(row.as_ptr().addr() % BYTES, 0);
            assert_eq!(*row, *(0..length).map(f64::from).collect::<Vec<_>>());
        }
    }
}
