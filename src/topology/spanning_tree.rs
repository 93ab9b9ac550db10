//! Spanning trees: the ways on which sums go up and results come down.

use super::graph::{Topology, TopologyError};
use crate::units::PeerId;

/// A breadth-first tree: every peer's parent is its neighbour with the least (hops to the root, id).
///
/// It is the tree that a flood from the root leaves behind when all have answered, and does not depend
/// on whose messages were faster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanningTree {
    root: PeerId,
    hops: Vec<u32>,
    parents: Vec<Option<PeerId>>,
    children: Vec<u32>,
}

impl SpanningTree {
    /// The tree of a connected graph.
    ///
    /// # Complexity
    /// One breadth-first search; 20 bytes per peer.
    ///
    /// # Errors
    /// A graph that is not connected.
    pub fn of(topology: &Topology, root: PeerId) -> Result<Self, TopologyError> {
        topology.require_connected()?;
        let hops: Vec<u32> = topology.distances(root).into_iter().flatten().collect();
        let parent = |peer: PeerId| {
            let nearer = topology.neighbours(peer).iter().copied().min_by_key(|near| {
                // Neighbours are in ascending order, and the first of several is taken.
                hops[near.index()]
            });
            nearer.filter(|_| peer != root)
        };
        let parents: Vec<Option<PeerId>> = topology.ids().map(parent).collect();
        let mut children = vec![0; topology.peers()];
        parents.iter().flatten().for_each(|parent| children[parent.index()] += 1);
        Ok(Self { root, hops, parents, children })
    }

    /// The peer at the top.
    pub fn root(&self) -> PeerId {
        self.root
    }

    /// A peer's parent; none for the root.
    pub fn parent(&self, peer: PeerId) -> Option<PeerId> {
        self.parents[peer.index()]
    }

    /// Links between a peer and the root.
    pub fn hops(&self, peer: PeerId) -> u32 {
        self.hops[peer.index()]
    }

    /// How many peers have this one as their parent.
    pub fn children(&self, peer: PeerId) -> usize {
        self.children[peer.index()] as usize
    }

    /// Links between the root and the peer that is farthest from it.
    pub fn depth(&self) -> u32 {
        self.hops.iter().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{complete, grid, path, ring, star};
    use super::*;

    #[test]
    fn the_lowest_of_the_nearest_neighbours_is_the_parent() {
        for (topology, depth) in [
            (path(5).unwrap(), 4),
            (ring(6).unwrap(), 3),
            (star(7).unwrap(), 1),
            (complete(5).unwrap(), 1),
            (grid(3, 4).unwrap(), 5),
        ] {
            let tree = SpanningTree::of(&topology, PeerId(0)).unwrap();
            assert_eq!((tree.root(), tree.depth()), (PeerId(0), depth));
            assert_eq!((tree.parent(PeerId(0)), tree.hops(PeerId(0))), (None, 0));
            for peer in topology.ids().skip(1) {
                let parent = tree.parent(peer).unwrap();
                assert_eq!(tree.hops(parent) + 1, tree.hops(peer));
                let nearest = topology.neighbours(peer).iter();
                let lowest = nearest.filter(|near| tree.hops(**near) + 1 == tree.hops(peer)).min();
                assert_eq!(Some(&parent), lowest);
            }
            let children: usize = topology.ids().map(|peer| tree.children(peer)).sum();
            assert_eq!(children + 1, topology.peers());
        }
        // On a ring of six, peer 3 hears from 2 and 4 at once.
        let tree = SpanningTree::of(&ring(6).unwrap(), PeerId(0)).unwrap();
        assert_eq!(tree.parent(PeerId(3)), Some(PeerId(2)));
        assert_eq!([0, 2, 4].map(|peer| tree.children(PeerId(peer))), [2, 1, 0]);
    }
}
