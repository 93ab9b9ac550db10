//! Some of all peers.

use std::ops::Range;

use super::PeerId;

/// Some of all peers, each with a place among them.
///
/// Memory: none where they are a range, in order; otherwise 12 to 20 bytes for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Range(Range<u32>),
    Listed {
        order: Vec<PeerId>,
        /// By a hash of their numbers, places counted from 1, or 0 where there is nobody: whoever finds
        /// another there looks further on.
        slots: Vec<u32>,
    },
}

/// 2³² divided by the golden ratio: its multiples fall far from each other.
const GOLDEN: u32 = 0x9E37_79B9;

impl Members {
    /// Those from one number to another, in order.
    pub fn range(range: Range<usize>) -> Self {
        Self(Kind::Range(range.start as u32..range.end as u32))
    }

    /// These, in this order; each stands in it once.
    pub fn listed(order: Vec<PeerId>) -> Self {
        let first = order.first().map_or(0, |peer| peer.index());
        if order.iter().enumerate().all(|(place, peer)| peer.index() == first + place) {
            return Self::range(first..first + order.len());
        }
        // At most half full, so that few look further on.
        let mut slots = vec![0; (2 * order.len()).next_power_of_two()];
        for (place, &peer) in order.iter().enumerate() {
            let free = walk(peer, slots.len()).find(|&slot| slots[slot] == 0);
            if let Some(slot) = free {
                slots[slot] = place as u32 + 1;
            }
        }
        Self(Kind::Listed { order, slots })
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::Range(range) => range.len(),
            Kind::Listed { order, .. } => order.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Who stands at a place, if anybody does.
    #[inline]
    pub fn get(&self, place: usize) -> Option<PeerId> {
        match &self.0 {
            Kind::Range(range) => (place < range.len()).then(|| PeerId(range.start + place as u32)),
            Kind::Listed { order, .. } => order.get(place).copied(),
        }
    }

    /// Where a peer stands, if it is one of them.
    #[inline]
    pub fn place(&self, peer: PeerId) -> Option<usize> {
        match &self.0 {
            Kind::Range(range) => range.contains(&peer.0).then(|| (peer.0 - range.start) as usize),
            Kind::Listed { order, slots } => {
                let found = walk(peer, slots.len()).map(|slot| slots[slot]);
                found
                    .take_while(|&place| place != 0)
                    .map(|place| place as usize - 1)
                    .find(|&place| order[place] == peer)
            }
        }
    }

    /// All of them, in the order of places.
    pub fn iter(&self) -> impl Iterator<Item = PeerId> + '_ {
        (0..self.len()).filter_map(|place| self.get(place))
    }
}

/// The slots in which a peer may be, of so many, a power of two: the first by its hash, then the next ones.
#[inline]
fn walk(peer: PeerId, slots: usize) -> impl Iterator<Item = usize> {
    let bits = slots.trailing_zeros();
    let first = u64::from(peer.0.wrapping_mul(GOLDEN)) << bits >> 32;
    (first as usize..first as usize + slots).map(move |slot| slot & (slots - 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn consecutive_numbers_are_a_range() {
        let listed = Members::listed((3..9).map(PeerId).collect());
        assert_eq!(listed, Members::range(3..9));
        assert_eq!((listed.place(PeerId(5)), listed.place(PeerId(9))), (Some(2), None));
        assert!(Members::listed(Vec::new()).is_empty());
    }

    proptest! {
        #[test]
        fn everybody_is_found_at_its_place_and_nobody_else(
            numbers in proptest::collection::btree_set(0_u32..500, 0..120),
            stride in 1_usize..7,
        ) {
            let ascending: Vec<PeerId> = numbers.iter().copied().map(PeerId).collect();
            // Another order: every so many, then those between.
            let order: Vec<PeerId> = (0..stride)
                .flat_map(|first| ascending.iter().skip(first).step_by(stride).copied())
                .collect();
            let members = Members::listed(order.clone());
            prop_assert_eq!(members.len(), order.len());
            prop_assert!(members.iter().eq(order.iter().copied()));
            for peer in (0..500).map(PeerId) {
                let expected = order.iter().position(|&other| other == peer);
                prop_assert_eq!(members.place(peer), expected);
            }
        }
    }
}
