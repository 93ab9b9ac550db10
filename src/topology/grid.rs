//! The two-dimensional grid: rows and columns of peers, linked to the right and downwards.

use super::graph::{Topology, TopologyError};
use super::parameter::{Problem, count, refuse};

pub(super) fn problems(rows: usize, columns: usize) -> Vec<Problem> {
    let mut problems: Vec<Problem> =
        [count("rows", rows), count("columns", columns)].into_iter().flatten().collect();
    if problems.is_empty() {
        let peers = rows.saturating_mul(columns);
        problems.extend(count("rows", peers).map(|(field, message)| {
            (field, format!("{rows} rows × {columns} columns: {peers} peers: {message}"))
        }));
    }
    problems
}

/// The grid of `rows` × `columns` peers, numbered row by row: peer r · columns + c stands in row r
/// and column c. It does not wrap around. One row or one column is a path.
///
/// # Errors
/// A number of peers that no topology has.
pub fn grid(rows: usize, columns: usize) -> Result<Topology, TopologyError> {
    refuse(problems(rows, columns))?;
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
