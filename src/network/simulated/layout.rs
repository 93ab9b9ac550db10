//! Which worker runs which peers.

use std::ops::Range;

use crate::topology::Topology;
use crate::units::PeerId;

/// Peers in a row, cut into a range for each worker of each rank. Peers that are linked stand near each
/// other, so that most links stay within a range and what a peer reads lies near what it read before.
/// Where they stand decides who computes what and when, never a result.
#[derive(Debug, PartialEq)]
pub struct Layout {
    /// Who stands at each place; empty where everybody stands at the place of its number.
    order: Vec<PeerId>,
    /// Where everybody stands; empty where `order` is.
    places: Vec<u32>,
    /// Shard k has places `bounds[k]..bounds[k + 1]`. Those of a rank's workers follow each other, rank
    /// after rank.
    bounds: Vec<usize>,
    /// Shards of each rank.
    workers: usize,
}

impl Layout {
    /// A layout for so many workers on each of so many ranks, with shares of about equal weight. Where
    /// there are fewer peers, one rank has a worker per peer; of several, some have nobody to run.
    pub fn new(
        topology: &Topology,
        weight: impl Fn(PeerId) -> u64,
        ranks: usize,
        workers: usize,
    ) -> Self {
        let order = topology.narrow_order().unwrap_or_default();
        let mut places = vec![0; order.len()];
        for (place, peer) in order.iter().enumerate() {
            places[peer.index()] = place as u32;
        }
        let mut layout = Self { order, places, bounds: Vec::new(), workers };
        let weights: Vec<u64> =
            (0..topology.peers()).map(|place| weight(layout.peer(place))).collect();
        if ranks == 1 {
            layout.bounds = share_out(&weights, workers);
            layout.workers = layout.shards();
            return layout;
        }
        layout.bounds.push(0);
        let mut of_ranks = share_out(&weights, ranks);
        of_ranks.resize(ranks + 1, weights.len());
        for rank in of_ranks.windows(2) {
            let shares = share_out(&weights[rank[0]..rank[1]], workers);
            let ends =
                shares[1..].iter().map(|end| rank[0] + end).chain(std::iter::repeat(rank[1]));
            layout.bounds.extend(ends.take(workers));
        }
        layout
    }

    /// How many workers there are on all ranks together.
    pub(super) fn shards(&self) -> usize {
        self.bounds.len() - 1
    }

    /// How many there are on each.
    pub(super) fn workers(&self) -> usize {
        self.workers
    }

    /// The places of a worker.
    pub(super) fn range(&self, shard: usize) -> Range<usize> {
        self.bounds[shard]..self.bounds[shard + 1]
    }

    /// The workers of a rank.
    pub(super) fn shards_of(&self, rank: usize) -> Range<usize> {
        rank * self.workers..(rank + 1) * self.workers
    }

    /// Who is run by a rank, in the order of places.
    pub fn peers_of(&self, rank: usize) -> impl ExactSizeIterator<Item = PeerId> {
        let shards = self.shards_of(rank);
        (self.bounds[shards.start]..self.bounds[shards.end]).map(|place| self.peer(place))
    }

    /// Who stands at a place.
    #[inline]
    pub(super) fn peer(&self, place: usize) -> PeerId {
        self.order.get(place).copied().unwrap_or_else(|| PeerId::new(place))
    }

    /// Where a peer stands.
    #[inline]
    pub(super) fn place(&self, peer: PeerId) -> usize {
        self.places.get(peer.index()).map_or(peer.index(), |&place| place as usize)
    }

    /// Who runs what stands at a place.
    #[inline]
    pub(super) fn worker(&self, place: usize) -> usize {
        self.bounds.partition_point(|&bound| bound <= place) - 1
    }

    /// Who stands at each place; empty where everybody stands at the place of its number.
    pub(super) fn order(&self) -> &[PeerId] {
        &self.order
    }

    /// What belongs to peers, from the order of places to that of peers.
    pub(super) fn by_peer<T>(&self, by_place: Vec<T>) -> Vec<T> {
        super::super::observe::by_peer(&self.order, by_place)
    }

    /// What belongs to peers, from the order of peers to that of places.
    pub(super) fn by_place<T>(&self, by_peer: Vec<T>) -> Vec<T> {
        if self.order.is_empty() {
            return by_peer;
        }
        let mut values: Vec<Option<T>> = by_peer.into_iter().map(Some).collect();
        self.order.iter().filter_map(|peer| values[peer.index()].take()).collect()
    }
}

/// Cuts consecutive weights into ranges of about equal sum: `workers` of them, or one each where there
/// are fewer weights.
fn share_out(weights: &[u64], workers: usize) -> Vec<usize> {
    let workers = workers.clamp(1, weights.len().max(1));
    let total: u128 = weights.iter().map(|&weight| u128::from(weight) + 1).sum();
    let mut bounds = vec![0];
    let mut sum = 0;
    for (i, &weight) in weights.iter().enumerate() {
        // Place i opens a new range when the ranges so far have their share, or when only as many
        // places are left as there are ranges to fill.
        let ranges = bounds.len();
        let share_reached = sum * workers as u128 >= total * ranges as u128;
        let must = weights.len() - i == workers - ranges;
        if ranges < workers && i > bounds[ranges - 1] && (share_reached || must) {
            bounds.push(i);
        }
        sum += u128::from(weight) + 1;
    }
    bounds.push(weights.len());
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{path, ring};

    #[test]
    fn shares_are_even_never_empty_and_cover_everybody() {
        let even = [5; 10];
        assert_eq!(share_out(&even, 2), [0, 5, 10]);
        assert_eq!(share_out(&even, 1), [0, 10]);
        assert_eq!(share_out(&even, 64), (0..=10).collect::<Vec<_>>());
        assert_eq!(share_out(&[100, 1, 1, 1], 2), [0, 1, 4]);
        assert_eq!(share_out(&[1, 1, 1, 100], 3), [0, 2, 3, 4]);
    }

    #[test]
    fn workers_of_a_rank_share_what_the_rank_has() {
        let ring = ring(12).unwrap();
        let layout = Layout::new(&ring, |_| 3, 3, 2);
        assert_eq!(layout.bounds, [0, 2, 4, 6, 8, 10, 12]);
        assert_eq!((layout.shards(), layout.workers(), layout.shards_of(1)), (6, 2, 2..4));
        let second: Vec<u32> = layout.peers_of(1).map(|peer| peer.0).collect();
        assert_eq!(second, [4, 5, 6, 7]);
        assert_eq!(Layout::new(&ring, |_| 3, 1, 64).workers(), 12, "one worker per peer is enough");
    }

    #[test]
    fn more_workers_than_peers_leave_some_without_any() {
        let path = path(3).unwrap();
        let layout = Layout::new(&path, |_| 1, 2, 3);
        assert_eq!(layout.shards(), 6);
        let all: Vec<_> = (0..2).flat_map(|rank| layout.peers_of(rank)).collect();
        assert_eq!(all, [0, 1, 2].map(PeerId));
        for place in 0..3 {
            assert!(layout.range(layout.worker(place)).contains(&place));
        }
        assert_eq!(Layout::new(&path, |_| 1, 5, 1).peers_of(4).len(), 0);
    }

    #[test]
    fn places_and_peers_are_each_others_inverse() {
        let order = [2, 0, 3, 1].map(PeerId).to_vec();
        let layout = Layout { order, places: vec![1, 3, 0, 2], bounds: vec![0, 2, 4], workers: 2 };
        for place in 0..4 {
            assert_eq!(layout.place(layout.peer(place)), place);
        }
        let names = vec!['a', 'b', 'c', 'd'];
        assert_eq!(layout.by_place(names.clone()), ['c', 'a', 'd', 'b']);
        assert_eq!(layout.by_peer(layout.by_place(names.clone())), names);
        assert_eq!([0, 1, 2, 3].map(|place| layout.worker(place)), [0, 0, 1, 1]);
    }
}
