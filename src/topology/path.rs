//! The path: peers in a row, each linked to the next.

use super::graph::{Topology, TopologyError};
use super::parameter::{count, refuse};

/// The path 0 – 1 – … – (n − 1), with n − 1 links. A path of one peer has none.
///
/// # Errors
/// A number of peers that no topology has.
pub fn path(peers: usize) -> Result<Topology, TopologyError> {
    refuse(count("peers", peers))?;
    Topology::from_links(peers, (1..peers as u32).map(|peer| (peer - 1, peer)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn edge_cases() {
        assert_eq!(path(1).unwrap().links(), 0);
        assert_eq!(path(2).unwrap().links(), 1);
        assert!(matches!(path(0), Err(TopologyError::Parameter { field: "peers", .. })));
        assert!(matches!(path(usize::MAX), Err(TopologyError::Parameter { field: "peers", .. })));
    }

    proptest! {
        #[test]
        fn two_ends_and_the_rest_between(peers in 2_usize..200) {
            let path = path(peers).unwrap();
            prop_assert_eq!(path.links(), peers - 1);
            for peer in path.ids() {
                let end = peer.index() == 0 || peer.index() == peers - 1;
                prop_assert_eq!(path.degree(peer), if end { 1 } else { 2 });
            }
            prop_assert!(path.require_connected().is_ok());
        }
    }
}
