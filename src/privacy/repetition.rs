//! Records that were dealt more than once.

/// How much more a record may lose than one that was dealt once: the greatest over source rows of
/// Σ_c k_c², k_c being the number of copies of the row in the cell c.
///
/// `rows` has the source row of every dealt row, peer after peer, and `cell_of` the cell of a dealt
/// row by its place there. Copies in one cell change together and move a release k_c times as far:
/// Σμ² of the cell counts k_c² times. Copies in different cells go into different releases, whose
/// Σμ² add up. So a record's Σμ² is at most this times that of the worst cell; 0 without rows.
///
/// A cell must hold whatever one release may concern together: a batch of one peer where every
/// release concerns a single batch, and all rows of one peer where some release concerns several
/// batches or all records. Cells that are too small give too small a figure: two copies in two
/// batches move a release of both twice as far, 4 times μ², not 2.
pub fn repetition(rows: &[u32], cell_of: impl Fn(usize) -> u32) -> f64 {
    let mut dealt: Vec<(u32, u32)> =
        rows.iter().enumerate().map(|(place, &row)| (row, cell_of(place))).collect();
    dealt.sort_unstable();
    let squares = |row: &[(u32, u32)]| -> f64 {
        row.chunk_by(|a, b| a == b).map(|copies| (copies.len() as f64).powi(2)).sum()
    };
    dealt.chunk_by(|a, b| a.0 == b.0).map(squares).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{
        Account, Batches, Charge, Mechanism, Part, Receivers, Records, Relation, Sensitivity,
    };
    use super::*;

    #[test]
    fn copies_apart_add_up_and_copies_together_are_a_group() {
        assert_eq!(repetition(&[], |_| 0), 0.0);
        assert_eq!(repetition(&[4, 2, 9], |_| 0), 1.0);
        assert_eq!(repetition(&[4, 4, 4], |place| place as u32), 3.0);
        assert_eq!(repetition(&[4, 4, 4], |_| 7), 9.0);
        // Twice in one cell and once in another, against five others apart.
        assert_eq!(repetition(&[1, 1, 1], |place| (place / 2) as u32), 5.0);
    }

    proptest! {
        #[test]
        fn it_is_what_counting_by_row_and_cell_says(
            dealt in prop::collection::vec((0..6_u32, 0..4_u32), 0..30),
        ) {
            let rows: Vec<u32> = dealt.iter().map(|&(row, _)| row).collect();
            let mut expected = 0.0_f64;
            for row in 0..6 {
                let copies = |cell| dealt.iter().filter(|&&d| d == (row, cell)).count() as f64;
                expected = expected.max((0..4).map(|cell| copies(cell).powi(2)).sum());
            }
            prop_assert_eq!(repetition(&rows, |place| dealt[place].1), expected);
        }

        /// Peers of three batches each release in turn; a source row's true Σμ² is the sum over
        /// releases of the square of how far all its copies together move it.
        #[test]
        fn no_row_loses_more_than_the_worst_cell_times_it(
            dealt in prop::collection::vec((0..5_u32, 0..3_u32, 0..3_u32), 1..20),
            releases in prop::collection::vec((0..3_u32, 0..3_u32, 1..5_u32), 1..20),
            single: bool,
        ) {
            let mut accounts = vec![Account::default(); 3];
            let mut truth = [0.0; 5];
            for &(peer, first, count) in &releases {
                let batches = Batches { first, count: if single { 1 } else { count }, of: 3 };
                accounts[peer as usize].book(
                    &Charge::One(Part::Noisy {
                        mechanism: Mechanism::Gaussian { deviation: 2.0 },
                        sensitivity: Sensitivity { label: 0.0, record: 1.0 },
                        records: Records::Batches(batches),
                        relation: Relation::ReplaceOne,
                    }),
                    Receivers::Everybody,
                );
                for (row, truth) in (0..).zip(&mut truth) {
                    let copies = dealt.iter().filter(|d| d.0 == row && d.1 == peer);
                    let moved: u32 = copies.map(|d| batches.uses(d.2)).sum();
                    *truth += (0.5 * f64::from(moved)).powi(2);
                }
            }
            let rows: Vec<u32> = dealt.iter().map(|d| d.0).collect();
            let cell = |place: usize| {
                let (_, peer, batch) = dealt[place];
                if single { 3 * peer + batch } else { peer }
            };
            let worst = accounts.iter().map(|account| account.exposure().record.mu_squared());
            let bound = repetition(&rows, cell) * worst.fold(0.0, f64::max);
            for truth in truth {
                prop_assert!(truth <= bound * (1.0 + 1e-12), "{} above {}", truth, bound);
            }
        }
    }
}
