//! The ring: a path whose ends are linked.

use super::graph::{Topology, TopologyError};
use super::parameter::{count, refuse};

/// The ring 0 – 1 – … – (n − 1) – 0, with n links.
///
/// Below three peers there is no cycle without a self-loop or a double link: a ring of two is one
/// link, a ring of one is a single peer.
///
/// # Errors
/// A number of peers that no topology has.
pub fn ring(peers: usize) -> Result<Topology, TopologyError> {
    refuse(count("peers", peers))?;
    let n = peers as u32;
    let closing = (n > 2).then(|| (n - 1, 0));
    Topology::from_links(peers, (1..n).map(|peer| (peer - 1, peer)).chain(closing))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn edge_cases() {
        assert_eq!(ring(1).unwrap().links(), 0);
        assert_eq!(ring(2).unwrap().links(), 1);
        assert_eq!(ring(3).unwrap().links(), 3);
        assert!(ring(0).is_err());
    }

    proptest! {
        #[test]
        fn everybody_has_two_neighbours(peers in 3_usize..200) {
            let ring = ring(peers).unwrap();
            prop_assert_eq!(ring.links(), peers);
            prop_assert!(ring.ids().all(|peer| ring.degree(peer) == 2));
            prop_assert!(ring.require_connected().is_ok());
        }
    }
}
