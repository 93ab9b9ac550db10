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

/// A peer's place in a spanning tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Its parent; none for the root.
    pub parent: Option<PeerId>,
    /// Links between it and the root.
    pub hops: u32,
}

impl Branch {
    /// The place of a peer with these neighbours, in ascending order, from how far everybody is from the
    /// root: it takes no other row of the graph.
    pub fn of(peer: PeerId, neighbours: &[PeerId], hops: impl Fn(PeerId) -> u32) -> Self {
        let own = hops(peer);
        // Of several that are as near the first is taken.
        let nearest = neighbours.iter().copied().min_by_key(|&near| hops(near));
        Self { parent: nearest.filter(|_| own > 0), hops: own }
    }
}

/// How many links lie between each of so many peers and the root; `u32::MAX` where no way leads there.
/// `neighbours` appends those of a peer.
///
/// # Complexity
/// One breadth-first search; 4 bytes per peer, and 4 for each of those that are as far from the root.
pub fn hops_from(
    root: PeerId,
    peers: usize,
    mut neighbours: impl FnMut(PeerId, &mut Vec<PeerId>),
) -> Vec<u32> {
    let mut hops = vec![u32::MAX; peers];
    hops[root.index()] = 0;
    let (mut missing, mut far) = (peers - 1, 0);
    let (mut rim, mut next, mut row) = (vec![root], Vec::new(), Vec::new());
    // Once everybody is found nobody need be asked, such as the others of a complete graph.
    while missing > 0 && !rim.is_empty() {
        far += 1;
        for peer in rim.drain(..) {
            row.clear();
            if missing > 0 {
                neighbours(peer, &mut row);
            }
            for near in row.iter() {
                let place = &mut hops[near.index()];
                if *place == u32::MAX {
                    *place = far;
                    missing -= 1;
                    next.push(*near);
                }
            }
        }
        std::mem::swap(&mut rim, &mut next);
    }
    hops
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
            Branch::of(peer, topology.neighbours(peer), |peer| hops[peer.index()]).parent
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

    /// A peer's place.
    pub fn branch(&self, peer: PeerId) -> Branch {
        Branch { parent: self.parent(peer), hops: self.hops(peer) }
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
    use super::super::{TopologyConfig, complete, grid, path, ring, star};
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
        // The same from the rule of a graph, without its rows, from another root.
        let root = PeerId(5);
        for config in [
            TopologyConfig::Grid { rows: 4, columns: 5 },
            TopologyConfig::Exponential { peers: 24 },
            TopologyConfig::Complete { peers: 9 },
            TopologyConfig::BinaryTree { peers: 12 },
        ] {
            let rule = config.by_number().unwrap();
            let whole = rule.whole();
            let tree = SpanningTree::of(&whole, root).unwrap();
            let hops = hops_from(root, rule.peers(), |peer, row| rule.neighbours(peer, row));
            for peer in whole.ids() {
                let branch = Branch::of(peer, whole.neighbours(peer), |peer| hops[peer.index()]);
                assert_eq!(branch, tree.branch(peer), "{config:?}: {peer}");
            }
        }
        // On a ring of six, peer 3 hears from 2 and 4 at once.
        let tree = SpanningTree::of(&ring(6).unwrap(), PeerId(0)).unwrap();
        assert_eq!(tree.parent(PeerId(3)), Some(PeerId(2)));
        assert_eq!([0, 2, 4].map(|peer| tree.children(PeerId(peer))), [2, 1, 0]);
    }
}
