//! Single points of failure: peers and links without which the graph falls apart.

use super::graph::Topology;
use crate::units::PeerId;

/// What a graph cannot lose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    /// The peers without which there are more components, in order.
    pub vertices: Vec<PeerId>,
    /// The links without which there are more components, lower end first, in order.
    pub bridges: Vec<(PeerId, PeerId)>,
}

impl Cuts {
    /// The cuts of a graph by Tarjan's depth-first search, with a stack of its own: a path of a
    /// million peers must not exhaust the program's.
    ///
    /// # Complexity
    /// O(peers + links).
    pub fn of(topology: &Topology) -> Self {
        const UNSEEN: u32 = u32::MAX;
        let n = topology.peers();
        // When a peer was first seen, and the earliest peer that its subtree has a link to.
        let (mut seen, mut low) = (vec![UNSEEN; n], vec![UNSEEN; n]);
        let mut is_cut = vec![false; n];
        let mut bridges = Vec::new();
        let mut clock = 0;
        for root in topology.ids() {
            if seen[root.index()] != UNSEEN {
                continue;
            }
            let mut children_of_root = 0;
            let mut stack = vec![(root, None, topology.neighbours(root).iter())];
            (seen[root.index()], low[root.index()]) = (clock, clock);
            clock += 1;
            while let Some((peer, parent, rest)) = stack.last_mut() {
                let (peer, parent) = (*peer, *parent);
                if let Some(&next) = rest.next() {
                    if Some(next) == parent {
                        continue;
                    }
                    if seen[next.index()] != UNSEEN {
                        low[peer.index()] = low[peer.index()].min(seen[next.index()]);
                        continue;
                    }
                    (seen[next.index()], low[next.index()]) = (clock, clock);
                    clock += 1;
                    children_of_root += u32::from(peer == root);
                    stack.push((next, Some(peer), topology.neighbours(next).iter()));
                    continue;
                }
                stack.pop();
                let Some(parent) = parent else { continue };
                let (i, p) = (peer.index(), parent.index());
                low[p] = low[p].min(low[i]);
                if low[i] > seen[p] {
                    bridges.push((peer.min(parent), peer.max(parent)));
                }
                if low[i] >= seen[p] && parent != root {
                    is_cut[p] = true;
                }
            }
            is_cut[root.index()] = children_of_root > 1;
        }
        bridges.sort_unstable();
        let vertices = topology.ids().filter(|peer| is_cut[peer.index()]).collect();
        Self { vertices, bridges }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{barbell, binary_tree, complete, path, ring, star};
    use super::*;

    #[test]
    fn known_cuts() {
        let count = |graph: Result<Topology, _>| {
            let cuts = Cuts::of(&graph.unwrap());
            (cuts.vertices.len(), cuts.bridges.len())
        };
        assert_eq!(count(path(1)), (0, 0));
        assert_eq!(count(path(2)), (0, 1));
        assert_eq!(count(path(1_000_000)), (999_998, 999_999));
        assert_eq!(count(ring(9)), (0, 0));
        assert_eq!(count(star(9)), (1, 8));
        assert_eq!(count(complete(9)), (0, 0));
        assert_eq!(count(binary_tree(15)), (7, 14));
        assert_eq!(count(barbell(2, 5, 1, false)), (2, 1));
        assert_eq!(count(barbell(2, 5, 2, false)), (0, 0));
    }

    /// The components of the graph without some of its links; a peer without any counts.
    fn components(n: usize, links: impl Iterator<Item = (u32, u32)>) -> usize {
        Topology::from_links(n, links).unwrap().components().len()
    }

    proptest! {
        #[test]
        fn without_a_cut_the_graph_falls_apart(
            n in 1_u32..14, pairs in prop::collection::btree_set((0_u32..14, 0_u32..14), 0..24),
        ) {
            let links: Vec<_> = pairs.into_iter().filter(|&(a, b)| a < b && b < n).collect();
            let graph = Topology::from_links(n as usize, links.clone()).unwrap();
            let whole = graph.components().len();
            let cuts = Cuts::of(&graph);
            for &link in &links {
                let rest = links.iter().copied().filter(|&other| other != link);
                let falls = components(n as usize, rest) > whole;
                prop_assert_eq!(cuts.bridges.contains(&(PeerId(link.0), PeerId(link.1))), falls);
            }
            for peer in 0..n {
                // Without its links the peer is a component of its own, which is not counted.
                let rest = links.iter().copied().filter(|&(a, b)| a != peer && b != peer);
                let alone = usize::from(graph.degree(PeerId(peer)) > 0);
                let falls = components(n as usize, rest) - alone > whole;
                prop_assert_eq!(cuts.vertices.contains(&PeerId(peer)), falls);
            }
        }
    }
}
