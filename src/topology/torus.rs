//! The torus: a grid that wraps around, so that no peer stands at an edge.

use super::graph::{Topology, TopologyError};
use super::grid;
use super::parameter::refuse;

/// The torus of `rows` × `columns` peers, numbered row by row like a [`grid`](super::grid()): the
/// Cartesian product of a ring of rows and a ring of columns.
///
/// As with a [`ring`](super::ring()), a side of two has one link where a longer one has two, and a
/// side of one has none.
///
/// # Errors
/// A number of peers that no topology has.
pub fn torus(rows: usize, columns: usize) -> Result<Topology, TopologyError> {
    refuse(grid::problems_of_lists(rows, columns))?;
    let (height, width) = (rows as u32, columns as u32);
    // The last of a side of two has its first as its neighbour already.
    let next = |at: u32, side: u32| match at + 1 {
        next if next < side => Some(next),
        _ if side > 2 => Some(0),
        _ => None,
    };
    let links = (0..height * width).flat_map(move |peer| {
        let (row, column) = (peer / width, peer % width);
        let right = next(column, width).map(|column| (peer, row * width + column));
        let below = next(row, height).map(|row| (peer, row * width + column));
        right.into_iter().chain(below)
    });
    Topology::from_links(rows * columns, links)
}

/// The neighbours of a place on a side: of a side of two the other, of a side of one nobody.
pub(super) fn beside(at: u32, side: u32) -> impl Iterator<Item = u32> {
    let next = (side > 1).then(|| (at + 1) % side);
    let before = (side > 2).then(|| (at + side - 1) % side);
    next.into_iter().chain(before)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{grid, ring};
    use super::*;
    use crate::units::PeerId;

    #[test]
    fn thin_tori_are_rings_and_small_ones_grids() {
        assert_eq!(torus(1, 7), ring(7));
        assert_eq!(torus(7, 1), ring(7));
        assert_eq!(torus(2, 2), grid(2, 2));
        assert_eq!(torus(1, 1).unwrap().links(), 0);
        assert!(torus(0, 3).is_err() && torus(1 << 13, 1 << 13).is_err());
    }

    proptest! {
        #[test]
        fn neighbours_are_one_step_away_around_the_sides(
            rows in 3_usize..12, columns in 3_usize..12,
        ) {
            let torus = torus(rows, columns).unwrap();
            prop_assert!(torus.ids().all(|peer| torus.degree(peer) == 4));
            prop_assert!(torus.require_connected().is_ok());
            let place = |peer: PeerId| (peer.index() / columns, peer.index() % columns);
            let around = |a: usize, b: usize, side: usize| {
                a.abs_diff(b).min(side - a.abs_diff(b))
            };
            for (a, b) in torus.edges() {
                let ((ra, ca), (rb, cb)) = (place(a), place(b));
                prop_assert_eq!(around(ra, rb, rows) + around(ca, cb, columns), 1);
            }
        }
    }
}
