//! Where the peers of a worker look for posts, and where theirs go.

use super::layout::Layout;
use super::posts::{Head, Posts, Said};
use crate::network::peer::Received;
use crate::privacy::{Settled, Wire};
use crate::topology::Topology;
use crate::units::{PeerId, Round, SimTime};

/// Lists of different lengths, one after the other.
#[derive(Debug, PartialEq)]
struct Rows<T> {
    items: Vec<T>,
    ends: Vec<u32>,
}

impl<T> Rows<T> {
    fn new() -> Self {
        Self { items: Vec::new(), ends: vec![0] }
    }

    /// Ends the row that `items` were added to.
    fn end(&mut self) {
        let end = u32::try_from(self.items.len()).expect("a worker has fewer than 2³² links");
        self.ends.push(end);
    }

    #[inline]
    fn row(&self, number: usize) -> &[T] {
        match self.ends.get(number..number + 2) {
            Some(&[begin, end]) => &self.items[begin as usize..end as usize],
            _ => &[],
        }
    }
}

/// Where a neighbour posts: among the peers of which worker, by the number of its region, and at which
/// place there.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slot {
    region: u32,
    place: u32,
}

/// Who posts to a worker's peers and where each of them looks. Regions of posts are numbered: that of
/// the worker's own peers is 0, and every worker with links to them has one.
#[derive(Debug, PartialEq)]
pub(super) struct Map {
    slots: Rows<Slot>,
    /// Of each region, who posts there, by its place; empty for own peers, whose places are their own.
    senders: Vec<Vec<PeerId>>,
    /// Of each region but the first, the own places where each sender has neighbours.
    receivers: Vec<Rows<u32>>,
    /// How many there are in each region when everybody posts.
    everybody: Vec<usize>,
    /// The region of each worker.
    regions: Vec<Option<u32>>,
}

/// Where the posts of a worker's peers go.
#[derive(Debug, PartialEq)]
pub(super) struct Reach {
    /// How long they are on their way.
    pub(super) latency: SimTime,
    /// To which workers, and there to which place, by the place of the sender.
    targets: Rows<(u32, u32)>,
    /// How many places there are for this worker's peers, by worker.
    places: Vec<u32>,
}

impl Reach {
    /// The workers that run a neighbour of the peer at this place; and the place of its posts there, of
    /// how many.
    #[inline]
    pub(super) fn of(&self, place: usize) -> impl Iterator<Item = (usize, (u32, u32))> {
        let targets = self.targets.row(place).iter();
        targets.map(|&(worker, place)| (worker as usize, (place, self.places[worker as usize])))
    }
}

/// Both for a worker. A peer's place in another worker's region is its number among those of its own
/// worker with links there, in the order of places: both sides count it alike.
pub(super) fn survey(
    layout: &Layout,
    topology: &Topology,
    worker: usize,
    latency: SimTime,
) -> (Map, Reach) {
    let range = layout.range(worker);
    let workers = layout.shards();
    let mut ghosts = vec![Vec::new(); workers];
    let mut places = vec![0; workers];
    places[worker] = range.len() as u32;
    let mut targets = Rows::new();
    let mut own = 0;
    for place in range.clone() {
        let begin = targets.items.len();
        for &neighbour in topology.neighbours(layout.peer(place)) {
            let there = layout.place(neighbour);
            let to = layout.worker(there);
            if targets.items[begin..].iter().all(|&(known, _)| known != to as u32) {
                let at = if to == worker { (place - range.start) as u32 } else { places[to] };
                places[to] += u32::from(to != worker);
                own += usize::from(to == worker);
                targets.items.push((to as u32, at));
            }
            if to != worker {
                ghosts[to].push((there as u32, neighbour));
            }
        }
        targets.end();
    }
    let reach = Reach { latency, targets, places };

    let mut regions = vec![None; workers];
    regions[worker] = Some(0);
    let (mut senders, mut everybody) = (vec![Vec::new()], vec![own]);
    for (to, ghosts) in ghosts.iter_mut().enumerate().filter(|(_, ghosts)| !ghosts.is_empty()) {
        ghosts.sort_unstable();
        ghosts.dedup();
        regions[to] = Some(senders.len() as u32);
        senders.push(ghosts.iter().map(|&(_, peer)| peer).collect());
        everybody.push(ghosts.len());
    }
    let mut slots = Rows::new();
    let mut links = vec![Vec::new(); senders.len()];
    for place in range.clone() {
        for &neighbour in topology.neighbours(layout.peer(place)) {
            let there = layout.place(neighbour);
            let to = layout.worker(there);
            let region = regions[to].unwrap_or_default();
            let at = match ghosts[to].binary_search(&(there as u32, neighbour)) {
                Ok(at) => at,
                Err(_) => there - range.start,
            };
            if to != worker {
                links[region as usize].push((at as u32, (place - range.start) as u32));
            }
            slots.items.push(Slot { region, place: at as u32 });
        }
        slots.end();
    }
    let receivers = links.into_iter().zip(&senders).map(|(mut links, senders)| {
        links.sort_unstable();
        let mut rows = Rows::new();
        let mut links = links.into_iter().peekable();
        for sender in 0..senders.len() as u32 {
            while let Some((_, receiver)) = links.next_if(|&(of, _)| of == sender) {
                rows.items.push(receiver);
            }
            rows.end();
        }
        rows
    });
    let receivers = receivers.collect();
    (Map { slots, senders, receivers, everybody, regions }, reach)
}

/// The posts that arrive in the window that is being run, and where to look for them.
pub(super) struct Board<M> {
    map: Option<Map>,
    /// By region.
    posts: Vec<Posts<M>>,
    /// When all of them arrive, where that is one time.
    time: Option<SimTime>,
    /// Of which round they are, where everybody has posted a vector of the same.
    round: Option<Round>,
}

impl<M> Board<M> {
    /// Without a map nothing is posted.
    pub(super) fn new(map: Option<Map>) -> Self {
        let regions = map.as_ref().map_or(0, |map| map.senders.len());
        let posts = (0..regions).map(|_| Posts::default()).collect();
        Self { map, posts, time: None, round: None }
    }

    /// How many regions there are.
    pub(super) fn regions(&self) -> usize {
        self.posts.len()
    }

    /// The region of a worker's peers.
    pub(super) fn region(&self, worker: usize) -> Option<usize> {
        let map = self.map.as_ref()?;
        map.regions[worker].map(|region| region as usize)
    }

    /// Begins a window: what has been posted for it is there, by region, and what was there before is
    /// left in its place.
    pub(super) fn open(&mut self, window: u64, next: &mut [Posts<M>]) {
        for (now, next) in self.posts.iter_mut().zip(next) {
            now.clear();
            if next.window() == window {
                std::mem::swap(now, next);
            }
        }
        let mut there = self.posts.iter().filter(|posts| !posts.is_empty());
        let first = there.next();
        let (time, round) = (first.and_then(Posts::time), first.and_then(Posts::round));
        let one_time = there.clone().all(|posts| posts.time() == time);
        let one_round = there.all(|posts| posts.round() == round);
        let everybody = self.map.iter().flat_map(|map| &map.everybody);
        let complete = self.posts.iter().zip(everybody).all(|(posts, all)| posts.len() == *all);
        self.time = time.filter(|_| one_time);
        self.round = round.filter(|_| one_time && one_round && complete);
    }

    /// How many posts there are.
    pub(super) fn len(&self) -> usize {
        self.posts.iter().map(Posts::len).sum()
    }

    /// When all posts arrive, where that is one time.
    pub(super) fn time(&self) -> Option<SimTime> {
        self.time
    }

    /// Where the peer at an own place looks.
    #[inline]
    fn slots(&self, place: usize) -> &[Slot] {
        self.map.as_ref().map_or(&[], |map| map.slots.row(place))
    }

    /// What is at a slot.
    #[inline]
    fn at(&self, slot: Slot) -> Option<(&Head, &Posts<M>)> {
        let posts = &self.posts[slot.region as usize];
        Some((posts.head(slot.place)?, posts))
    }

    /// When the posts for an own place arrive, and the sequence number of each, by the number of the
    /// neighbour.
    pub(super) fn heads(&self, place: usize) -> impl Iterator<Item = (usize, &Head)> {
        let slots = self.slots(place).iter().enumerate();
        slots.filter_map(|(neighbour, &slot)| Some((neighbour, self.at(slot)?.0)))
    }
}

impl<M: Wire + Clone> Board<M> {
    /// Takes everything down. Every receiver gets a message of its own: at an own place, from a peer;
    /// `own` says who stands at an own place.
    pub(super) fn take_down(
        &mut self,
        own: impl Fn(usize) -> PeerId,
        mut send: impl FnMut(u32, PeerId, &Head, Settled<M>),
    ) {
        let Some(map) = &self.map else { return };
        for (region, posts) in self.posts.iter_mut().enumerate() {
            for &place in posts.who() {
                let Some(head) = posts.head(place) else { continue };
                let message = posts.said(place, head).to_message();
                if let Some(&sender) = map.senders[region].get(place as usize) {
                    let receivers = map.receivers[region].row(place as usize);
                    receivers.iter().for_each(|&to| send(to, sender, head, message.clone()));
                } else {
                    let near = map.slots.row(place as usize).iter();
                    let sender = own(place as usize);
                    near.filter(|slot| slot.region == 0)
                        .for_each(|slot| send(slot.place, sender, head, message.clone()));
                }
            }
            posts.clear();
        }
        (self.time, self.round) = (None, None);
    }

    /// Who the neighbours of a region's sender are, by own place.
    pub(super) fn receivers(&self, region: usize, sender: u32) -> (PeerId, &[u32]) {
        let map = self.map.as_ref().expect("posts come by the map");
        (map.senders[region][sender as usize], map.receivers[region].row(sender as usize))
    }
}

/// A message, as it lies where it was posted.
pub enum Arrival<'a, M> {
    /// A vector of a round.
    Vector(Round, &'a [f64]),
    /// Any other.
    Message(Received<'a, M>),
}

impl<'a, M: Wire + Clone> Arrival<'a, M> {
    /// The message itself: of a vector, a copy.
    pub fn received(self) -> Received<'a, M> {
        match self {
            Self::Vector(round, vector) => Received::alone(Settled::of_round(round, vector)),
            Self::Message(message) => message,
        }
    }
}

/// Messages that reach a peer at the same time, of one neighbour after the other.
pub struct Arrivals<'a, M> {
    board: &'a Board<M>,
    slots: &'a [Slot],
    senders: &'a [PeerId],
    next: usize,
}

impl<'a, M: Wire + Clone> Arrivals<'a, M> {
    /// What the neighbours of the peer at a place have posted, from the first that is left on.
    #[inline]
    pub(super) fn new(
        board: &'a Board<M>,
        place: usize,
        senders: &'a [PeerId],
        next: usize,
    ) -> Self {
        Self { board, slots: board.slots(place), senders, next }
    }

    /// The vectors of all neighbours, in their order, if everybody has sent one of this round and none
    /// was taken yet; then all are. Behind its end a vector is continued with zeros to a multiple of
    /// four numbers.
    #[inline]
    pub fn all_of_round(
        &mut self,
        round: Round,
    ) -> Option<impl Iterator<Item = &'a [f64]> + Clone> {
        if self.board.round != Some(round) || self.next != 0 {
            return None;
        }
        self.next = self.slots.len();
        let posts = &*self.board.posts;
        Some(self.slots.iter().map(|slot| posts[slot.region as usize].vector(slot.place)))
    }

    /// The vectors of all neighbours, if everybody has sent one of the same round.
    #[inline]
    pub fn vectors(&self) -> impl Iterator<Item = &'a [f64]> {
        let posts = &*self.board.posts;
        let slots = if self.board.round.is_some() { self.slots } else { &[] };
        slots.iter().map(|slot| posts[slot.region as usize].vector(slot.place))
    }

    /// The next message and who sent it.
    pub fn next_arrival(&mut self) -> Option<(PeerId, Arrival<'a, M>)> {
        while let (Some(&slot), Some(&sender)) =
            (self.slots.get(self.next), self.senders.get(self.next))
        {
            self.next += 1;
            if let Some((head, posts)) = self.board.at(slot) {
                let arrival = match posts.said(slot.place, head) {
                    Said::Vector(round, vector) => Arrival::Vector(round, vector),
                    Said::Message(message) => Arrival::Message(Received::together(message)),
                };
                return Some((sender, arrival));
            }
        }
        None
    }

    /// The first neighbour whose message was not taken yet; none where all are.
    #[inline]
    pub(super) fn left(&self) -> Option<usize> {
        (self.next < self.slots.len()).then_some(self.next)
    }
}
