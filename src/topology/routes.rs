//! Routes: the first hop of a shortest way from every peer to every other.

use thiserror::Error;

use super::graph::{Topology, TopologyError};
use crate::units::PeerId;

/// Why there are no routes.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum RoutesError {
    /// The table would be too large.
    #[error(
        "{peers} peers are too many for routes; expected at most {} unless the graph is complete",
        Routes::MOST_PEERS
    )]
    TooManyPeers {
        /// How many there are.
        peers: usize,
    },
    /// Some peers cannot be reached.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

/// The next peer on a shortest way, and the way's length.
///
/// Memory: nothing on a complete graph, where every way is one link; otherwise 4 bytes per pair of
/// peers.
#[derive(Clone, Debug, PartialEq)]
pub struct Routes {
    peers: usize,
    /// The first hop and the length of the way, by (to, from); none on a complete graph.
    table: Option<Vec<(u16, u16)>>,
}

impl Routes {
    /// The most peers that a graph with routes can have, unless it is complete.
    pub const MOST_PEERS: usize = 4096;

    /// The routes of a connected graph; of several shortest ways, the one over the lowest ids.
    ///
    /// # Complexity
    /// A breadth-first search from every peer.
    ///
    /// # Errors
    /// A graph that is not connected, or that has more than [`MOST_PEERS`](Self::MOST_PEERS) peers
    /// and is not complete.
    pub fn of(topology: &Topology) -> Result<Self, RoutesError> {
        let peers = topology.peers();
        if topology.is_complete() {
            return Ok(Self { peers, table: None });
        }
        if peers > Self::MOST_PEERS {
            return Err(RoutesError::TooManyPeers { peers });
        }
        topology.require_connected()?;
        let mut table = Vec::with_capacity(peers * peers);
        for to in topology.ids() {
            let distances: Vec<u32> = topology.distances(to).into_iter().flatten().collect();
            for from in topology.ids() {
                let distance = distances[from.index()];
                // Neighbours are in ascending order: the first that is nearer has the lowest id.
                let nearer = |&&peer: &&PeerId| distances[peer.index()] < distance;
                let next = topology.neighbours(from).iter().find(nearer).unwrap_or(&from);
                // At most 4,096 peers: ids and distances fit.
                table.push((next.0 as u16, distance as u16));
            }
        }
        Ok(Self { peers, table: Some(table) })
    }

    /// The first hop of a shortest way from `from` to `to`, the lowest id among several; `to` itself
    /// where they are the same.
    pub fn next(&self, from: PeerId, to: PeerId) -> PeerId {
        match &self.table {
            None => to,
            Some(table) => PeerId(u32::from(table[self.position(from, to)].0)),
        }
    }

    /// The number of links on a shortest way.
    pub fn distance(&self, from: PeerId, to: PeerId) -> u32 {
        match &self.table {
            None => u32::from(from != to),
            Some(table) => u32::from(table[self.position(from, to)].1),
        }
    }

    fn position(&self, from: PeerId, to: PeerId) -> usize {
        to.index() * self.peers + from.index()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Density, complete, erdos_renyi, grid, ring, watts_strogatz};
    use super::*;
    use crate::random::Streams;
    use crate::units::Seed;

    #[test]
    fn a_complete_graph_is_direct_however_large_and_stores_nothing() {
        let routes = Routes::of(&complete(5).unwrap()).unwrap();
        assert_eq!(routes.table, None);
        let (a, b) = (PeerId(1), PeerId(4));
        assert_eq!((routes.next(a, b), routes.distance(a, b)), (b, 1));
        assert_eq!((routes.next(a, a), routes.distance(a, a)), (a, 0));
    }

    #[test]
    fn of_several_ways_the_lowest_id_is_taken() {
        let square = Routes::of(&grid(2, 2).unwrap()).unwrap();
        assert_eq!(square.next(PeerId(0), PeerId(3)), PeerId(1));
        assert_eq!(square.next(PeerId(3), PeerId(0)), PeerId(1));
        assert_eq!(square.next(PeerId(2), PeerId(1)), PeerId(0));
    }

    #[test]
    fn too_many_peers_and_unconnected_ones_are_refused() {
        let error = Routes::of(&ring(4097).unwrap()).unwrap_err();
        assert_eq!(error, RoutesError::TooManyPeers { peers: 4097 });
        assert!(error.to_string().contains("at most 4096"), "{error}");
        let apart = Topology::from_links(4, [(0, 1), (2, 3)]).unwrap();
        assert!(matches!(Routes::of(&apart), Err(RoutesError::Topology(_))));
    }

    proptest! {
        #[test]
        fn routes_follow_links_and_are_as_long_as_a_search_says(
            n in 5_usize..40, seed in any::<u64>(), rewire in any::<bool>(),
        ) {
            let streams = Streams::new(Seed(seed), 0);
            let graph = if rewire {
                watts_strogatz(n, 2, 0.3, &streams)
            } else {
                erdos_renyi(n, Density::Links(n + 3.min(n * (n - 1) / 2 - n)), &streams)
            };
            // A draw that never connects is none of routes' business.
            let Ok(graph) = graph else { return Ok(()) };
            let routes = Routes::of(&graph).unwrap();
            for from in graph.ids() {
                let distances = graph.distances(from);
                for to in graph.ids() {
                    prop_assert_eq!(Some(routes.distance(from, to)), distances[to.index()]);
                    let (mut at, mut hops) = (from, 0);
                    while at != to {
                        let next = routes.next(at, to);
                        prop_assert!(graph.neighbours(at).contains(&next));
                        (at, hops) = (next, hops + 1);
                        prop_assert!(hops <= n as u32);
                    }
                    prop_assert_eq!(Some(hops), distances[to.index()]);
                }
            }
        }
    }
}
