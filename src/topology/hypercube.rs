//! The hypercube: peers whose numbers differ in one bit are linked.

use super::graph::{Topology, TopologyError};
use super::parameter::{Problem, refuse};

/// The highest dimension within the bounds on peers and links: 2²³ peers, 23 · 2²² links.
const MOST_DIMENSIONS: usize = 23;

pub(super) fn problem(dimension: usize) -> Option<Problem> {
    (dimension > MOST_DIMENSIONS).then(|| {
        ("dimension", format!("{dimension} is out of range; expected 0 to {MOST_DIMENSIONS}"))
    })
}

/// The hypercube of 2^`dimension` peers; everybody has `dimension` neighbours.
///
/// # Errors
/// A dimension above 23.
pub fn hypercube(dimension: usize) -> Result<Topology, TopologyError> {
    refuse(problem(dimension))?;
    let peers = 1_u32 << dimension;
    let links = (0..peers).flat_map(move |peer| {
        (0..dimension)
            .filter(move |bit| peer >> bit & 1 == 0)
            .map(move |bit| (peer, peer | 1 << bit))
    });
    Topology::from_links(peers as usize, links)
}

#[cfg(test)]
mod tests {
    use super::super::{path, torus};
    use super::*;

    #[test]
    fn small_cubes_are_known() {
        assert_eq!(hypercube(0), path(1));
        assert_eq!(hypercube(1), path(2));
        assert_eq!(hypercube(2), torus(2, 2));
        assert!(hypercube(24).unwrap_err().to_string().contains("expected 0 to 23"));
        assert!(hypercube(usize::MAX).is_err());
    }

    /// The distance between two peers is the number of bits in which they differ.
    #[test]
    fn distances_count_differing_bits() {
        for dimension in 1..8 {
            let cube = hypercube(dimension).unwrap();
            assert_eq!(cube.links(), dimension << (dimension - 1));
            for source in cube.ids() {
                for (peer, distance) in cube.ids().zip(cube.distances(source)) {
                    assert_eq!(distance, Some((peer.0 ^ source.0).count_ones()));
                }
            }
        }
    }
}
