//! The complete graph: everybody is linked to everybody.

use super::graph::{Topology, TopologyError};
use super::parameter::{MOST_LINKS, Problem, count, pairs, refuse};

pub(super) fn problem(peers: usize) -> Option<Problem> {
    count("peers", peers).or_else(|| {
        (pairs(peers) > MOST_LINKS).then(|| {
            let links = pairs(peers);
            ("peers", format!("{peers} peers make {links} links; expected at most {MOST_LINKS}"))
        })
    })
}

/// The complete graph, with n(n − 1)/2 links. That of one peer has none.
///
/// # Errors
/// A number of peers or links that no topology has.
pub fn complete(peers: usize) -> Result<Topology, TopologyError> {
    refuse(problem(peers))?;
    Topology::from_links(peers, (1..peers as u32).flat_map(|b| (0..b).map(move |a| (a, b))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn edge_cases() {
        assert_eq!(complete(1).unwrap().links(), 0);
        assert!(complete(0).is_err());
        assert!(problem(16_384).is_none());
        assert!(problem(16_385).is_some(), "more than 2²⁷ links");
    }

    proptest! {
        #[test]
        fn everybody_knows_everybody(peers in 1_usize..60) {
            let complete = complete(peers).unwrap();
            prop_assert_eq!(complete.links(), peers * (peers - 1) / 2);
            prop_assert!(complete.ids().all(|peer| complete.degree(peer) == peers - 1));
        }
    }
}
