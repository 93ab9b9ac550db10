//! The two-dimensional grid: rows and columns of peers, linked to the right and downwards.

use super::graph::{Topology, TopologyError};
use super::parameter::{
    MOST_BY_NUMBER, MOST_PEERS, Problem, count, count_by_number, refuse, up_to,
};

/// A grid or torus this many times as wide as it is high is not cut along its numbers, which would part
/// most peers from those below them.
const WIDE: usize = 2;

/// Whether numbers, which go along the rows, lead across it: it is built as a whole then.
pub(super) fn is_wide(rows: usize, columns: usize) -> bool {
    columns >= WIDE.saturating_mul(rows)
}

pub(super) fn problems(rows: usize, columns: usize) -> Vec<Problem> {
    let mut problems: Vec<Problem> = [("rows", rows), ("columns", columns)]
        .into_iter()
        .filter_map(|(field, value)| count_by_number(field, value))
        .collect();
    if problems.is_empty() {
        let peers = rows.saturating_mul(columns);
        let (most, of_such) = match is_wide(rows, columns) {
            true => (MOST_PEERS, " with twice as many columns as rows or more"),
            false => (MOST_BY_NUMBER, ""),
        };
        problems.extend(up_to(most, "rows", peers).map(|(field, message)| {
            (field, format!("{rows} rows × {columns} columns: {peers} peers: {message}{of_such}"))
        }));
    }
    problems
}

/// The same where all links are listed first, which takes the memory that a [rule](super::ByNumber) does not.
pub(super) fn problems_of_lists(rows: usize, columns: usize) -> Vec<Problem> {
    let problems = problems(rows, columns);
    let few = |rows: usize| count("rows", rows.saturating_mul(columns)).into_iter().collect();
    if problems.is_empty() { few(rows) } else { problems }
}

/// The grid of `rows` × `columns` peers, numbered row by row: peer r · columns + c stands in row r
/// and column c. It does not wrap around. One row or one column is a path.
///
/// # Errors
/// A number of peers that no topology has.
pub fn grid(rows: usize, columns: usize) -> Result<Topology, TopologyError> {
    refuse(problems_of_lists(rows, columns))?;
    let (peers, width) = (rows * columns, columns as u32);
    let links = (0..peers as u32).flat_map(move |peer| {
        let right = (peer % width + 1 < width).then_some((peer, peer + 1));
        let below = (peer as usize + columns < peers).then(|| (peer, peer + width));
        right.into_iter().chain(below)
    });
    Topology::from_links(peers, links)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::path;
    use super::*;
    use crate::units::PeerId;

    #[test]
    fn one_row_or_one_column_is_a_path() {
        assert_eq!(grid(1, 7), path(7));
        assert_eq!(grid(7, 1), path(7));
        assert_eq!(grid(1, 1).unwrap().links(), 0);
    }

    #[test]
    fn impossible_grids_name_every_bad_parameter() {
        assert_eq!(problems(0, 0).len(), 2);
        assert_eq!(problems(1 << 20, 1 << 20).len(), 1);
        assert_eq!(problems(usize::MAX, 3).len(), 1);
        assert_eq!(problems(1 << 15, 1 << 14), []);
        let wide = &problems(1 << 13, 1 << 14)[0].1;
        let expected = "expected 1 to 16777216 with twice as many columns as rows or more";
        assert!(wide.ends_with(expected), "{wide}");
    }

    proptest! {
        #[test]
        fn neighbours_are_one_step_away(rows in 1_usize..15, columns in 1_usize..15) {
            let grid = grid(rows, columns).unwrap();
            prop_assert_eq!(grid.links(), rows * (columns - 1) + columns * (rows - 1));
            let place = |peer: PeerId| (peer.index() / columns, peer.index() % columns);
            for (a, b) in grid.edges() {
                let ((ra, ca), (rb, cb)) = (place(a), place(b));
                prop_assert_eq!(ra.abs_diff(rb) + ca.abs_diff(cb), 1);
            }
            prop_assert!(grid.require_connected().is_ok());
        }
    }
}
