//! What can be said of a graph at a glance.

use super::graph::Topology;
use crate::units::PeerId;

/// Cheap figures of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Number of peers.
    pub peers: usize,
    /// Number of links.
    pub links: usize,
    /// The fewest neighbours a peer has.
    pub least_degree: usize,
    /// The mean number of neighbours, 2 links / peers.
    pub mean_degree: f64,
    /// The most neighbours a peer has.
    pub greatest_degree: usize,
    /// Whether all peers can reach each other.
    pub connected: bool,
    /// Whether the peers fall into two groups with all links between them: exactly the graphs
    /// without a cycle of odd length.
    pub bipartite: bool,
    /// The longest of the shortest ways between two peers, in links; `None` above 2,000 peers and
    /// for graphs that are not connected.
    pub diameter: Option<u32>,
}

impl Summary {
    /// The largest graph whose diameter is computed: it takes a breadth-first search from every peer.
    pub const DIAMETER_PEERS: usize = 2_000;

    /// The figures of `topology`.
    ///
    /// # Complexity
    /// O(peers + links), and peers times as much for the diameter.
    pub fn of(topology: &Topology) -> Self {
        let peers = topology.peers();
        let degrees = || topology.ids().map(|peer| topology.degree(peer));
        let components = topology.components();
        let connected = components.len() == 1;
        let eccentricity = |peer| topology.distances(peer).into_iter().flatten().max();
        Self {
            peers,
            links: topology.links(),
            least_degree: degrees().min().unwrap_or(0),
            mean_degree: 2.0 * topology.links() as f64 / peers as f64,
            greatest_degree: degrees().max().unwrap_or(0),
            connected,
            bipartite: bipartite(topology, components.iter().map(|component| component[0])),
            diameter: (connected && peers <= Self::DIAMETER_PEERS)
                .then(|| topology.ids().filter_map(eccentricity).max())
                .flatten(),
        }
    }
}

/// Whether two colours suffice: spreads them from one peer of every component and looks for a link
/// within one colour.
pub(super) fn bipartite(topology: &Topology, starts: impl Iterator<Item = PeerId>) -> bool {
    let mut colours = vec![None; topology.peers()];
    for start in starts {
        colours[start.index()] = Some(false);
        let mut open = vec![start];
        while let Some(peer) = open.pop() {
            let other = colours[peer.index()].map(|colour: bool| !colour);
            for &neighbour in topology.neighbours(peer) {
                let colour = &mut colours[neighbour.index()];
                if colour.is_none() {
                    *colour = other;
                    open.push(neighbour);
                } else if *colour != other {
                    return false;
                }
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{complete, grid, path, ring, star};
    use super::*;

    #[test]
    fn closed_forms() {
        for n in 3..20_usize {
            let of = |graph: Result<Topology, _>| Summary::of(&graph.unwrap());
            let [path, ring, star, complete] =
                [of(path(n)), of(ring(n)), of(star(n)), of(complete(n))];
            let diameters = [&path, &ring, &star, &complete].map(|summary| summary.diameter);
            assert_eq!(diameters, [n - 1, n / 2, 2, 1].map(|d| Some(d as u32)));
            let bipartite = [&path, &ring, &star, &complete].map(|summary| summary.bipartite);
            assert_eq!(bipartite, [true, n % 2 == 0, true, false]);
            assert_eq!((star.least_degree, star.greatest_degree), (1, n - 1));
            assert_eq!(ring.mean_degree, 2.0);
        }
        let single = Summary::of(&path(1).unwrap());
        assert_eq!((single.diameter, single.bipartite, single.connected), (Some(0), true, true));
    }

    #[test]
    fn no_diameter_of_what_is_large_or_apart() {
        assert_eq!(Summary::of(&ring(2_001).unwrap()).diameter, None);
        let apart =
            Summary::of(&Topology::from_links(5, [(0, 1), (2, 3), (3, 4), (4, 2)]).unwrap());
        assert_eq!((apart.connected, apart.bipartite, apart.diameter), (false, false, None));
    }

    proptest! {
        #[test]
        fn grids_are_bipartite_and_span_their_sides(rows in 1_usize..12, columns in 1_usize..12) {
            let summary = Summary::of(&grid(rows, columns).unwrap());
            prop_assert!(summary.bipartite);
            prop_assert_eq!(summary.diameter, Some((rows + columns - 2) as u32));
        }
    }
}
