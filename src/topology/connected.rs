//! What the random families share: they draw until a graph is connected, within a bound.

use petgraph::unionfind::UnionFind;

use super::graph::{Topology, TopologyError};
use crate::random::{Purpose, Stream, Streams};

/// How many graphs are drawn before the generator gives up.
pub(super) const ATTEMPTS: u32 = 100;

/// The links of the first connected graph that `draw` yields: a draw from the family conditioned
/// on being connected. Each attempt has a stream of its own; `None` is a failed attempt.
pub(super) fn first_connected(
    peers: usize,
    streams: &Streams,
    mut draw: impl FnMut(&mut Stream) -> Option<Vec<(u32, u32)>>,
    advice: impl FnOnce() -> String,
) -> Result<Topology, TopologyError> {
    for attempt in 0..ATTEMPTS {
        let mut stream = streams.family(Purpose::Topology, attempt).stream(0);
        if let Some(links) = draw(&mut stream).filter(|links| connects(peers, links)) {
            return Topology::from_links(peers, links);
        }
    }
    Err(TopologyError::NoConnectedGraph { attempts: ATTEMPTS, advice: advice() })
}

/// Whether the links join all peers: n − 1 of them must merge two components.
pub(super) fn connects(peers: usize, links: &[(u32, u32)]) -> bool {
    if links.len() + 1 < peers {
        return false;
    }
    let mut sets = UnionFind::<u32>::new(peers);
    links.iter().filter(|&&(a, b)| sets.union(a, b)).count() + 1 == peers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Seed;

    #[test]
    fn connectivity_counts_merges() {
        assert!(connects(1, &[]));
        assert!(!connects(2, &[]));
        assert!(connects(3, &[(0, 1), (1, 2)]));
        assert!(!connects(4, &[(0, 1), (1, 2), (2, 0)]), "enough links, but peer 3 has none");
    }

    #[test]
    fn gives_up_after_the_bound_and_says_what_to_change() {
        let mut drawn = 0;
        let result = first_connected(
            3,
            &Streams::new(Seed(1), 0),
            |_| {
                drawn += 1;
                Some(vec![(0, 1)])
            },
            || "add links".into(),
        );
        let advice = "add links".to_string();
        assert_eq!(result, Err(TopologyError::NoConnectedGraph { attempts: ATTEMPTS, advice }));
        assert_eq!(drawn, ATTEMPTS);
    }
}
