//! Graphs that are recognised by their links, whether a generator or a file made them.

use super::graph::Topology;
use crate::units::PeerId;

/// What a graph is, where that decides how it is best drawn or gives its spectrum away.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// A path, with its peers from one end to the other.
    Path(Vec<PeerId>),
    /// A ring, with its peers once around.
    Ring(Vec<PeerId>),
    /// A star, with its hub.
    Star(PeerId),
    /// The complete graph.
    Complete,
    /// A hypercube, in the order of its generator.
    Hypercube,
    /// A grid, numbered row by row.
    Grid {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
    /// A torus, numbered row by row.
    Torus {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
    /// A graph that one step around the ring of all peers maps to itself.
    Circulant,
    /// Anything else.
    Other,
}

impl Shape {
    /// Recognises a graph.
    ///
    /// # Complexity
    /// O(peers + links).
    pub(crate) fn of(topology: &Topology) -> Self {
        let (n, links) = (topology.peers(), topology.links());
        let degree = |peer| topology.degree(peer);
        let greatest = topology.ids().map(degree).max().unwrap_or(0);
        if greatest <= 2 && links + 1 >= n {
            let start = topology.ids().find(|&peer| degree(peer) < 2).unwrap_or(PeerId(0));
            let order = walk(topology, start);
            if order.len() == n {
                return if links < n { Self::Path(order) } else { Self::Ring(order) };
            }
        }
        if links == n * (n - 1) / 2 {
            return Self::Complete;
        }
        match topology.ids().find(|&peer| degree(peer) + 1 == n) {
            Some(hub) if links + 1 == n => Self::Star(hub),
            _ => Self::numbered(topology),
        }
    }

    /// Whether every peer stands like every other.
    pub(crate) fn is_transitive(&self) -> bool {
        matches!(
            self,
            Self::Ring(_) | Self::Complete | Self::Hypercube | Self::Torus { .. } | Self::Circulant
        )
    }

    /// The shapes that are recognised in the order of their generators only: what they may be shows
    /// in the links of peer 0, and making it again decides.
    fn numbered(topology: &Topology) -> Self {
        let n = topology.peers();
        let around = topology.neighbours(PeerId(0));
        if n.is_power_of_two()
            && around.len() == n.ilog2() as usize
            && super::hypercube(around.len()).is_ok_and(|cube| cube.has_the_links_of(topology))
        {
            return Self::Hypercube;
        }
        if around.len() <= 4 {
            for columns in around.iter().map(|peer| peer.index()) {
                let rows = n / columns;
                let same = |made: Result<Topology, _>| {
                    made.is_ok_and(|made| made.has_the_links_of(topology))
                };
                if rows < 2 || columns < 2 || rows * columns != n {
                    continue;
                }
                if same(super::grid(rows, columns)) {
                    return Self::Grid { rows, columns };
                }
                if same(super::torus(rows, columns)) {
                    return Self::Torus { rows, columns };
                }
            }
        }
        if n > 1 && topology.ids().all(|peer| turned(topology, peer)) {
            return Self::Circulant;
        }
        Self::Other
    }
}

/// Whether a peer's neighbours are as far around the ring as those of peer 0.
fn turned(topology: &Topology, peer: PeerId) -> bool {
    let first = topology.neighbours(PeerId(0));
    let own = topology.neighbours(peer);
    // Those that pass the end of the ring come first in the sorted row.
    let n = topology.peers() as u32;
    let passing = first.iter().position(|s| s.0 + peer.0 >= n).unwrap_or(first.len());
    let expected = first[passing..].iter().map(|s| s.0 + peer.0 - n);
    let expected = expected.chain(first[..passing].iter().map(|s| s.0 + peer.0));
    first.len() == own.len() && expected.eq(own.iter().map(|peer| peer.0))
}

/// The peers met by walking on from `start` without turning back, where nobody has more than two
/// neighbours.
fn walk(topology: &Topology, start: PeerId) -> Vec<PeerId> {
    let mut order = vec![start];
    let (mut previous, mut here) = (start, start);
    while let Some(&next) =
        topology.neighbours(here).iter().find(|&&next| next != previous && next != start)
    {
        order.push(next);
        (previous, here) = (here, next);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::super::{
        binary_tree, complete, exponential, grid, hypercube, path, ring, star, torus,
    };
    use super::*;

    #[test]
    fn generators_are_recognised() {
        let shape = |graph: Result<Topology, _>| Shape::of(&graph.unwrap());
        assert!(matches!(shape(path(9)), Shape::Path(_)));
        assert!(matches!(shape(ring(9)), Shape::Ring(_)));
        assert_eq!(shape(star(9)), Shape::Star(PeerId(0)));
        assert_eq!(shape(complete(9)), Shape::Complete);
        assert_eq!(shape(hypercube(5)), Shape::Hypercube);
        assert_eq!(shape(exponential(37)), Shape::Circulant);
        assert_eq!(shape(binary_tree(9)), Shape::Other);
        for (rows, columns) in [(2, 3), (2, 9), (9, 2), (5, 7), (3, 3)] {
            assert_eq!(shape(grid(rows, columns)), Shape::Grid { rows, columns });
            assert_eq!(shape(torus(rows, columns)), Shape::Torus { rows, columns });
        }
    }

    /// Two rings apart have everybody's degree 2 and as many links as peers, but are no ring.
    #[test]
    fn rings_apart_are_no_ring() {
        let apart =
            Topology::from_links(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]).unwrap();
        assert_eq!(Shape::of(&apart), Shape::Other);
    }

    #[test]
    fn one_link_more_is_another_graph() {
        for graph in [grid(5, 7), torus(5, 7), exponential(35), hypercube(5)] {
            let graph = graph.unwrap();
            let far = graph.ids().find(|peer| !graph.neighbours(PeerId(9)).contains(peer));
            let more = graph.with_link(PeerId(9), far.unwrap()).unwrap();
            assert_eq!(Shape::of(&more), Shape::Other);
        }
    }
}
