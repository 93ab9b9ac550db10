//! An order of the peers in which neighbours stand near each other.
//!
//! Cuthill, McKee, "Reducing the bandwidth of sparse symmetric matrices" (1969), and George's
//! reversal of it: breadth first from a peer at the rim, a peer's neighbours by their degrees.

use super::graph::Topology;
use crate::units::PeerId;

/// Sweeps in search of a peer at the rim: each starts where the last one ended.
const SWEEPS: usize = 4;

impl Topology {
    /// An order in which linked peers stand nearer to each other than by their numbers: none where the
    /// mean distance of a link's ends would not at least halve, as in a graph that is numbered along its
    /// shape already, or in one that has none.
    pub fn narrow_order(&self) -> Option<Vec<PeerId>> {
        let order = self.reverse_cuthill_mckee();
        let mut places = vec![0; self.peers()];
        for (place, peer) in order.iter().enumerate() {
            places[peer.index()] = place;
        }
        let span = |place: &dyn Fn(PeerId) -> usize| -> u64 {
            let links = self.ids().flat_map(|a| self.neighbours(a).iter().map(move |&b| (a, b)));
            links.map(|(a, b)| place(a).abs_diff(place(b)) as u64).sum()
        };
        let (now, then) = (span(&PeerId::index), span(&|peer| places[peer.index()]));
        (2 * then <= now && then < now).then_some(order)
    }

    /// All peers, component after component.
    fn reverse_cuthill_mckee(&self) -> Vec<PeerId> {
        let mut order = Vec::with_capacity(self.peers());
        let mut seen = vec![0_u32; self.peers()];
        let mut sweep = 0;
        for first in self.ids() {
            if seen[first.index()] != 0 {
                continue;
            }
            let (begin, mut start) = (order.len(), first);
            for _ in 0..SWEEPS {
                order.truncate(begin);
                sweep += 1;
                self.breadth_first(start, sweep, &mut seen, &mut order);
                start = order.last().copied().unwrap_or(first);
            }
        }
        order.reverse();
        order
    }

    /// Appends the component of `start`, level after level. `seen` keeps the number of the last sweep
    /// that came by.
    fn breadth_first(&self, start: PeerId, sweep: u32, seen: &mut [u32], order: &mut Vec<PeerId>) {
        let mut head = order.len();
        order.push(start);
        seen[start.index()] = sweep;
        while let Some(&peer) = order.get(head) {
            head += 1;
            let news = order.len();
            for &neighbour in self.neighbours(peer) {
                if seen[neighbour.index()] != sweep {
                    seen[neighbour.index()] = sweep;
                    order.push(neighbour);
                }
            }
            order[news..].sort_unstable_by_key(|&peer| (self.degree(peer), peer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{complete, path, random_regular, ring, star, torus};
    use super::*;
    use crate::random::Streams;
    use crate::units::Seed;
    use petgraph::graph::UnGraph;

    /// The same graph under other numbers: i becomes (i · step) mod n, with step prime to n.
    fn renumbered(topology: &Topology, step: usize) -> Topology {
        let n = topology.peers();
        let mut graph = UnGraph::default();
        let nodes: Vec<_> = (0..n).map(|_| graph.add_node(())).collect();
        for a in topology.ids() {
            for &b in topology.neighbours(a).iter().filter(|&&b| b > a) {
                let [a, b] = [a, b].map(|peer| nodes[peer.index() * step % n]);
                graph.add_edge(a, b, Default::default());
            }
        }
        Topology::new(&graph, None).unwrap()
    }

    /// The greatest distance of a link's ends.
    fn bandwidth(topology: &Topology, order: &[PeerId]) -> usize {
        let mut places = vec![usize::MAX; topology.peers()];
        for (place, peer) in order.iter().enumerate() {
            assert_eq!(places[peer.index()], usize::MAX, "everybody stands at one place");
            places[peer.index()] = place;
        }
        let links =
            topology.ids().flat_map(|a| topology.neighbours(a).iter().map(move |&b| (a, b)));
        links.map(|(a, b)| places[a.index()].abs_diff(places[b.index()])).max().unwrap_or(0)
    }

    #[test]
    fn shuffled_shapes_are_found_again() {
        let shuffled = renumbered(&path(101).unwrap(), 37);
        assert_eq!(bandwidth(&shuffled, &shuffled.narrow_order().unwrap()), 1);
        // No numbering of a cycle has a bandwidth below 2.
        let shuffled = renumbered(&ring(101).unwrap(), 37);
        assert_eq!(bandwidth(&shuffled, &shuffled.narrow_order().unwrap()), 2);
        // A level of a torus of side k has at most 2k peers, and links lead to the next at most.
        let shuffled = renumbered(&torus(20, 20).unwrap(), 37);
        assert!(bandwidth(&shuffled, &shuffled.narrow_order().unwrap()) <= 80);
    }

    #[test]
    fn what_is_numbered_well_or_has_no_shape_stays() {
        let streams = Streams::new(Seed(3), 0);
        for topology in [
            path(50).unwrap(),
            ring(50).unwrap(),
            complete(9).unwrap(),
            star(30).unwrap(),
            random_regular(200, 4, &streams).unwrap(),
            path(1).unwrap(),
        ] {
            assert_eq!(topology.narrow_order(), None);
        }
    }

    #[test]
    fn every_component_gets_its_places() {
        let mut graph = UnGraph::<(), _>::default();
        let nodes: Vec<_> = (0..9).map(|_| graph.add_node(())).collect();
        for (a, b) in [(0, 8), (8, 1), (2, 7), (7, 3)] {
            graph.add_edge(nodes[a], nodes[b], Default::default());
        }
        let topology = Topology::new(&graph, None).unwrap();
        assert_eq!(bandwidth(&topology, &topology.narrow_order().unwrap()), 1);
    }
}
