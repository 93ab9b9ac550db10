//! The complete binary tree: a hierarchy in which every level is full but perhaps the last.

use super::graph::{Topology, TopologyError};
use super::parameter::{count, refuse};

/// The complete binary tree with root 0: peer i > 0 is linked to its parent ⌊(i − 1)/2⌋.
///
/// # Errors
/// A number of peers that no topology has.
pub fn binary_tree(peers: usize) -> Result<Topology, TopologyError> {
    refuse(count("peers", peers))?;
    Topology::from_links(peers, (1..peers as u32).map(|peer| ((peer - 1) / 2, peer)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::PeerId;

    proptest! {
        #[test]
        fn depths_are_logarithms(peers in 1_usize..300) {
            let tree = binary_tree(peers).unwrap();
            prop_assert_eq!(tree.links(), peers - 1);
            prop_assert!(tree.ids().all(|peer| tree.degree(peer) <= 3));
            for (peer, depth) in tree.distances(PeerId(0)).into_iter().enumerate() {
                prop_assert_eq!(depth, Some((peer + 1).ilog2()));
            }
        }
    }
}
