//! The star: one hub, linked to everybody.

use super::graph::{Topology, TopologyError};
use super::parameter::{count, refuse};

/// The star with hub 0 and n − 1 leaves. A star of one peer is its hub.
///
/// # Errors
/// A number of peers that no topology has.
pub fn star(peers: usize) -> Result<Topology, TopologyError> {
    refuse(count("peers", peers))?;
    Topology::from_links(peers, (1..peers as u32).map(|leaf| (0, leaf)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::PeerId;

    #[test]
    fn edge_cases() {
        assert_eq!(star(1).unwrap().links(), 0);
        assert!(star(0).is_err());
    }

    proptest! {
        #[test]
        fn leaves_know_the_hub_alone(peers in 2_usize..200) {
            let star = star(peers).unwrap();
            prop_assert_eq!(star.degree(PeerId(0)), peers - 1);
            for leaf in star.ids().skip(1) {
                prop_assert_eq!(star.neighbours(leaf), &[PeerId(0)]);
            }
        }
    }
}
