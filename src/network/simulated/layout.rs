//! Which worker runs which peers.

use std::ops::Range;
use std::sync::Arc;

use super::balance::Cuts;
use crate::privacy::pack_fields;
use crate::topology::{Excerpt, Topology};
use crate::units::{Members, PeerId};

/// Peers in a row, cut into a range for each worker of each rank. Peers that are linked stand near each
/// other, so that most links stay within a range and what a peer reads lies near what it read before.
/// Where they stand decides who computes what and when, never a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    order: Arc<Order>,
    /// Shard k has places `bounds[k]..bounds[k + 1]`. Those of a rank's workers follow each other, rank
    /// after rank.
    bounds: Vec<usize>,
    /// Shards of each rank.
    workers: usize,
    cuts: Cuts,
}

/// Who stands where.
#[derive(Debug, PartialEq)]
enum Order {
    /// Everybody at the place of its number.
    ByNumber,
    /// Known of everybody: who stands at each place, and where everybody stands.
    Whole { order: Vec<PeerId>, places: Vec<u32> },
    /// Known of those of one rank, whose places begin with `first`, and of their neighbours elsewhere.
    Near { first: usize, own: Members, ghosts: Members, places: Vec<u32> },
}

/// What a rank is told of the layout: bounds, workers, whether those follow from measured work and, unless
/// everybody stands at the place of its number, where its neighbours elsewhere do.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    bounds: Vec<usize>,
    workers: usize,
    measured: bool,
    places: Option<Vec<u32>>,
}

pack_fields!(Standing { bounds, workers, measured, places });

pack_fields!(Excerpt {
    peers,
    links,
    members,
    offsets,
    neighbours,
    latencies,
    own_latencies,
    ghosts
});

impl Layout {
    /// A layout for so many workers on each of so many ranks, with shares of about equal weight. Where
    /// there are fewer peers, one rank has a worker per peer; of several, some have nobody to run.
    pub fn new(
        topology: &Topology,
        weight: impl Fn(PeerId) -> u64,
        ranks: usize,
        workers: usize,
    ) -> Self {
        let Some(order) = topology.narrow_order() else {
            return Self::by_number(topology.peers(), weight, ranks, workers);
        };
        let mut places = vec![0; order.len()];
        for (place, peer) in order.iter().enumerate() {
            places[peer.index()] = place as u32;
        }
        let weight = |place: usize| weight(order[place]);
        let (bounds, workers) = cut(topology.peers(), &weight, ranks, workers);
        Self::with(Order::Whole { order, places }, bounds, workers)
    }

    /// The same with everybody at the place of its number: it takes no graph.
    pub fn by_number(
        peers: usize,
        weight: impl Fn(PeerId) -> u64,
        ranks: usize,
        workers: usize,
    ) -> Self {
        let weight = |place: usize| weight(PeerId::new(place));
        let (bounds, workers) = cut(peers, &weight, ranks, workers);
        Self::with(Order::ByNumber, bounds, workers)
    }

    fn with(order: Order, bounds: Vec<usize>, workers: usize) -> Self {
        Self { order: Arc::new(order), bounds, workers, cuts: Cuts::usual() }
    }

    /// The same, whose workers keep the peers that the estimated weights give them, however long these turn
    /// out to take.
    #[must_use]
    pub fn as_estimated(self) -> Self {
        self.with_cuts(Cuts::Estimated)
    }

    /// The same, cut anew by another rule.
    pub(super) fn with_cuts(self, cuts: Cuts) -> Self {
        Self { cuts, ..self }
    }

    /// By which rule it is cut anew while a run goes on.
    pub(super) fn cuts(&self) -> Cuts {
        self.cuts
    }

    /// The same, cut where the shards of each rank now begin and end; nothing if they do already.
    pub(super) fn cut_at(&self, of_ranks: &[Vec<usize>]) -> Option<Self> {
        let mut bounds = vec![0];
        bounds.extend(of_ranks.iter().flat_map(|bounds| bounds.iter().skip(1)));
        (bounds != self.bounds).then(|| Self { bounds, ..self.clone() })
    }

    /// Whether one worker has all peers, where there are others and all are of one process.
    pub(super) fn alone(&self) -> Option<bool> {
        let [_, first, .., last] = *self.bounds else { return None };
        (self.shards() == self.workers).then_some(first == last)
    }

    /// Where the shards of a rank begin, and where the last one ends.
    pub(super) fn bounds_of(&self, rank: usize) -> &[usize] {
        let shards = self.shards_of(rank);
        &self.bounds[shards.start..=shards.end]
    }

    /// What a rank with this part of the graph is told of a layout that is known whole.
    pub fn standing(&self, excerpt: &Excerpt) -> Standing {
        let places = || excerpt.ghosts.iter().map(|&ghost| self.place(ghost) as u32).collect();
        Standing {
            bounds: self.bounds.clone(),
            workers: self.workers,
            measured: self.cuts == Cuts::Measured,
            places: (*self.order != Order::ByNumber).then(places),
        }
    }

    /// The layout as a rank knows it that was told this.
    pub fn near(standing: Standing, rank: usize, excerpt: &Excerpt) -> Self {
        let Standing { bounds, workers, measured, places } = standing;
        let order = places.map_or(Order::ByNumber, |places| Order::Near {
            first: bounds[rank * workers],
            own: Members::listed(excerpt.members.clone()),
            ghosts: Members::listed(excerpt.ghosts.clone()),
            places,
        });
        let layout = Self::with(order, bounds, workers);
        if measured { layout } else { layout.as_estimated() }
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

    /// The ranks that run a neighbour of somebody on this one, in order.
    pub(super) fn linked_to(&self, topology: &Topology, rank: usize) -> Vec<usize> {
        let ranks = (self.bounds.len() - 1) / self.workers.max(1);
        let mut linked = vec![false; ranks];
        for peer in self.peers_of(rank).filter(|_| ranks > 1) {
            for &neighbour in topology.neighbours(peer) {
                linked[self.worker(self.place(neighbour)) / self.workers] = true;
            }
        }
        (0..ranks).filter(|&other| other != rank && linked[other]).collect()
    }

    /// Who stands at a place; somebody or other behind the last one.
    #[inline]
    pub(super) fn peer(&self, place: usize) -> PeerId {
        let known = match &*self.order {
            Order::ByNumber => None,
            Order::Whole { order, .. } => order.get(place).copied(),
            Order::Near { first, own, .. } => own.get(place.wrapping_sub(*first)),
        };
        known.unwrap_or(PeerId::new(place))
    }

    /// Where a peer stands. Of a peer that a rank knows nothing of, and so has nothing for: nowhere.
    #[inline]
    pub(super) fn place(&self, peer: PeerId) -> usize {
        match &*self.order {
            Order::ByNumber => peer.index(),
            Order::Whole { places, .. } => places[peer.index()] as usize,
            Order::Near { first, own, ghosts, places } => match own.place(peer) {
                Some(place) => first + place,
                None => ghosts.place(peer).map_or(usize::MAX, |ghost| places[ghost] as usize),
            },
        }
    }

    /// Who runs what stands at a place.
    #[inline]
    pub(super) fn worker(&self, place: usize) -> usize {
        self.bounds.partition_point(|&bound| bound <= place) - 1
    }

    /// Who stands at each place; empty where everybody stands at the place of its number, and on a rank
    /// that does not know.
    pub(super) fn order(&self) -> &[PeerId] {
        match &*self.order {
            Order::Whole { order, .. } => order,
            Order::ByNumber | Order::Near { .. } => &[],
        }
    }

    /// Who stands at the places of a rank, where no other rank knows it; else nobody.
    pub(super) fn own_order(&self, rank: usize) -> Vec<PeerId> {
        match &*self.order {
            Order::Near { .. } => self.peers_of(rank).collect(),
            Order::ByNumber | Order::Whole { .. } => Vec::new(),
        }
    }

    /// What belongs to peers, from the order of peers to that of places.
    pub(super) fn by_place<T>(&self, by_peer: Vec<T>) -> Vec<T> {
        if self.order().is_empty() {
            return by_peer;
        }
        let mut values: Vec<Option<T>> = by_peer.into_iter().map(Some).collect();
        self.order().iter().filter_map(|peer| values[peer.index()].take()).collect()
    }
}

/// Where the shards of so many workers on each of so many ranks end, and how many workers that are.
fn cut(
    peers: usize,
    weight: &dyn Fn(usize) -> u64,
    ranks: usize,
    workers: usize,
) -> (Vec<usize>, usize) {
    if ranks == 1 {
        let bounds = share_out(0..peers, weight, workers);
        let workers = bounds.len() - 1;
        return (bounds, workers);
    }
    let mut bounds = vec![0];
    let mut of_ranks = share_out(0..peers, weight, ranks);
    of_ranks.resize(ranks + 1, peers);
    for rank in of_ranks.windows(2) {
        let shares = share_out(rank[0]..rank[1], weight, workers);
        let ends = shares[1..].iter().copied().chain(std::iter::repeat(rank[1]));
        bounds.extend(ends.take(workers));
    }
    (bounds, workers)
}

/// Cuts places with these weights into ranges of about equal sum: `workers` of them, or one each where
/// there are fewer places.
pub(super) fn share_out(
    places: Range<usize>,
    weight: &dyn Fn(usize) -> u64,
    workers: usize,
) -> Vec<usize> {
    let workers = workers.clamp(1, places.len().max(1));
    let weight = |place: usize| u128::from(weight(place)) + 1;
    let total: u128 = places.clone().map(weight).sum();
    let mut bounds = vec![places.start];
    let mut sum = 0;
    for place in places.clone() {
        // A place opens a new range when the ranges so far have their share, or when only as many
        // places are left as there are ranges to fill.
        let ranges = bounds.len();
        let share_reached = sum * workers as u128 >= total * ranges as u128;
        let must = places.end - place == workers - ranges;
        if ranges < workers && place > bounds[ranges - 1] && (share_reached || must) {
            bounds.push(place);
        }
        sum += weight(place);
    }
    bounds.push(places.end);
    bounds
}

#[cfg(test)]
mod tests {
    use super::super::super::observe::by_peer;
    use super::super::board::survey;
    use super::*;
    use crate::privacy::Pack;
    use crate::topology::{GraphFile, path, ring};
    use crate::units::SimTime;

    #[test]
    fn shares_are_even_never_empty_and_cover_everybody() {
        let shared = |weights: &[u64], workers| {
            share_out(0..weights.len(), &|place| weights[place], workers)
        };
        let even = [5; 10];
        assert_eq!(shared(&even, 2), [0, 5, 10]);
        assert_eq!(shared(&even, 1), [0, 10]);
        assert_eq!(shared(&even, 64), (0..=10).collect::<Vec<_>>());
        assert_eq!(shared(&[100, 1, 1, 1], 2), [0, 1, 4]);
        assert_eq!(shared(&[1, 1, 1, 100], 3), [0, 2, 3, 4]);
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
        let path = path(12).unwrap();
        let layout = Layout::new(&path, |_| 3, 4, 2);
        let linked = |rank| layout.linked_to(&path, rank);
        assert_eq!([linked(0), linked(1), linked(3)], [vec![1], vec![0, 2], vec![2]]);
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
        let order = Order::Whole { order, places: vec![1, 3, 0, 2] };
        let layout = Layout::with(order, vec![0, 2, 4], 2);
        for place in 0..4 {
            assert_eq!(layout.place(layout.peer(place)), place);
        }
        let names = vec!['a', 'b', 'c', 'd'];
        assert_eq!(layout.by_place(names.clone()), ['c', 'a', 'd', 'b']);
        let by_place = layout.by_place(names.clone());
        assert_eq!(by_peer(layout.order(), by_place), names);
        assert_eq!([0, 1, 2, 3].map(|place| layout.worker(place)), [0, 0, 1, 1]);
    }

    #[test]
    fn a_rank_knows_the_places_of_its_peers_and_of_their_neighbours() {
        // A ring whose numbers jump by 37.
        let file: String =
            (0..101).map(|k| format!("{} {}\n", k * 37 % 101, (k + 1) * 37 % 101)).collect();
        let file = GraphFile::parse(file.as_bytes(), "links.txt".as_ref()).unwrap();
        let topology = file.topology;
        for whole in
            [Layout::new(&topology, |_| 1, 3, 2), Layout::by_number(topology.peers(), |_| 1, 3, 2)]
        {
            for rank in 0..3 {
                let members = Members::listed(whole.peers_of(rank).collect());
                let excerpt = topology.excerpt(&members);
                let mut bytes = Vec::new();
                whole.standing(&excerpt).put(&mut bytes);
                let told = Standing::get(&mut &bytes[..]).unwrap();
                let near = Layout::near(told, rank, &excerpt);
                assert!(near.peers_of(rank).eq(whole.peers_of(rank)));
                for peer in members.iter().chain(excerpt.ghosts.iter().copied()) {
                    assert_eq!(near.place(peer), whole.place(peer));
                }
                let part = Topology::from(excerpt);
                assert_eq!(near.linked_to(&part, rank), whole.linked_to(&topology, rank));
                for shard in whole.shards_of(rank) {
                    let some = survey(&near, &part, shard, SimTime(1));
                    assert_eq!(some, survey(&whole, &topology, shard, SimTime(1)));
                }
            }
        }
    }
}
