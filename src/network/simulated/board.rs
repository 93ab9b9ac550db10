//! Where the peers of a worker look for posts, and where theirs go.

use std::sync::Arc;

use super::layout::Layout;
use super::posts::{Head, LANES, Posts, Said};
use super::together::Chorus;
use crate::network::observe::Schedule;
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

    #[inline(always)]
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
pub(super) struct Slot {
    pub(super) region: u32,
    pub(super) place: u32,
}

/// Who posts to a worker's peers and where each of them looks. Regions of posts are numbered: that of
/// the worker's own peers is 0, and every worker with links to them has one.
#[derive(Debug, PartialEq)]
pub(super) struct Map {
    slots: Rows<Slot>,
    regions: Vec<Region>,
    /// The region of each worker.
    of_worker: Vec<Option<u32>>,
}

/// Where the peers of one worker post.
#[derive(Debug, PartialEq)]
struct Region {
    senders: Senders,
    /// The own places where each sender has neighbours.
    receivers: Rows<u32>,
    /// How many posts there are when everybody posts.
    everybody: usize,
}

/// Who posts at the places of a region.
#[derive(Debug, PartialEq)]
enum Senders {
    /// Of a worker of this process, all its peers, from this place of the layout on.
    From(usize),
    /// Of a worker of another rank, those with neighbours here.
    Listed(Vec<PeerId>),
}

impl Senders {
    fn sender(&self, place: u32, layout: &Layout) -> PeerId {
        match self {
            Self::From(first) => layout.peer(first + place as usize),
            Self::Listed(peers) => peers[place as usize],
        }
    }
}

/// Where the posts of a worker's peers go.
#[derive(Debug, PartialEq)]
pub(super) struct Reach {
    /// How long they are on their way.
    pub(super) latency: SimTime,
    /// How many places this worker's peers have.
    pub(super) places_here: u32,
    /// To which workers of other ranks, and there to which place, by the place of the sender.
    targets: Rows<(u32, u32)>,
    /// How many places there are for this worker's peers, by worker.
    places: Vec<u32>,
}

impl Reach {
    /// Whether no neighbour of the peer at this place is on another rank.
    #[inline(always)]
    pub(super) fn stays(&self, place: usize) -> bool {
        self.targets.row(place).is_empty()
    }

    /// The workers of other ranks that run a neighbour of the peer at this place; and the place of its
    /// posts there, of how many.
    #[inline]
    pub(super) fn beyond(&self, place: usize) -> impl Iterator<Item = (usize, (u32, u32))> {
        let targets = self.targets.row(place).iter();
        targets.map(|&(worker, place)| (worker as usize, (place, self.places[worker as usize])))
    }
}

/// Both for a worker. A peer's place in the region of a worker of another rank is its number among those
/// of its own worker with links there, in the order of places: both sides count it alike.
pub(super) fn survey(
    layout: &Layout,
    topology: &Topology,
    worker: usize,
    latency: SimTime,
) -> (Map, Reach) {
    let range = layout.range(worker);
    let workers = layout.shards();
    let here = layout.shards_of(worker / layout.workers());
    let ranks = workers > layout.workers();
    let mut ghosts = vec![Vec::new(); workers];
    let mut linked = vec![false; workers];
    let mut places = vec![0; workers];
    let mut targets = Rows::new();
    for place in range.clone() {
        let begin = targets.items.len();
        for &neighbour in topology.neighbours(layout.peer(place)) {
            let there = layout.place(neighbour);
            let to = layout.worker(there);
            linked[to] = true;
            if here.contains(&to) {
                continue;
            }
            if targets.items[begin..].iter().all(|&(known, _)| known != to as u32) {
                targets.items.push((to as u32, places[to]));
                places[to] += 1;
            }
            ghosts[to].push((there as u32, neighbour));
        }
        if ranks {
            targets.end();
        }
    }
    let reach = Reach { latency, places_here: range.len() as u32, targets, places };

    let mut of_worker = vec![None; workers];
    of_worker[worker] = Some(0);
    let mut owners = vec![worker];
    for to in (0..workers).filter(|&to| linked[to] && to != worker) {
        ghosts[to].sort_unstable();
        ghosts[to].dedup();
        of_worker[to] = Some(owners.len() as u32);
        owners.push(to);
    }
    let mut slots = Rows::new();
    let mut links = vec![Vec::new(); owners.len()];
    for place in range.clone() {
        for &neighbour in topology.neighbours(layout.peer(place)) {
            let there = layout.place(neighbour);
            let to = layout.worker(there);
            let region = of_worker[to].unwrap_or_default();
            let at = match ghosts[to].binary_search(&(there as u32, neighbour)) {
                Ok(at) => at,
                Err(_) => there - layout.range(to).start,
            };
            if to != worker {
                links[region as usize].push((at as u32, (place - range.start) as u32));
            }
            slots.items.push(Slot { region, place: at as u32 });
        }
        slots.end();
    }
    let regions = owners.into_iter().zip(links).map(|(to, links)| {
        let of_process = layout.range(to);
        let (senders, everybody) = if here.contains(&to) {
            let posting = |place: &usize| topology.degree(layout.peer(*place)) > 0;
            let everybody = of_process.clone().filter(posting).count();
            (Senders::From(of_process.start), everybody)
        } else {
            let peers: Vec<PeerId> = ghosts[to].iter().map(|&(_, peer)| peer).collect();
            let everybody = peers.len();
            (Senders::Listed(peers), everybody)
        };
        Region { senders, receivers: by_sender(links), everybody }
    });
    let regions = regions.collect();
    (Map { slots, regions, of_worker }, reach)
}

/// The receivers of each sender, in their order.
fn by_sender(mut links: Vec<(u32, u32)>) -> Rows<u32> {
    links.sort_unstable();
    let mut rows = Rows::new();
    let mut links = links.into_iter().peekable();
    let mut sender = 0;
    while links.peek().is_some() {
        while let Some((_, receiver)) = links.next_if(|&(of, _)| of == sender) {
            rows.items.push(receiver);
        }
        rows.end();
        sender += 1;
    }
    rows
}

/// The posts that arrive in the window that is being run, and where to look for them.
pub(super) struct Board<M> {
    map: Option<Map>,
    /// By region.
    posts: Vec<Arc<Posts<M>>>,
    /// When all of them arrive, where that is one time.
    time: Option<SimTime>,
    /// Of which round they are, where everybody has posted a vector of the same.
    round: Option<Round>,
}

impl<M> Board<M> {
    /// Without a map nothing is posted.
    pub(super) fn new(map: Option<Map>) -> Self {
        let mut board = Self { map, posts: Vec::new(), time: None, round: None };
        board.posts = board.nothing();
        board
    }

    /// No posts in any region.
    pub(super) fn nothing(&self) -> Vec<Arc<Posts<M>>> {
        self.regions_of_map().iter().map(|_| Arc::default()).collect()
    }

    fn regions_of_map(&self) -> &[Region] {
        self.map.as_ref().map_or(&[], |map| &map.regions)
    }

    /// The region of a worker's peers.
    pub(super) fn region(&self, worker: usize) -> Option<usize> {
        let map = self.map.as_ref()?;
        map.of_worker[worker].map(|region| region as usize)
    }

    /// Begins a window: what has been posted for it is there, by region. What was there before is left in
    /// its place, empty, where nobody else has it.
    pub(super) fn open(&mut self, window: u64, coming: &mut [Arc<Posts<M>>]) {
        for (now, next) in self.posts.iter_mut().zip(coming) {
            if next.window() == window {
                std::mem::swap(now, next);
                clear(next);
            } else {
                clear(now);
            }
        }
        let mut there = self.posts.iter().filter(|posts| !posts.is_empty());
        let first = there.next();
        let time = first.and_then(|posts| posts.time());
        let round = first.and_then(|posts| posts.round());
        let one_time = there.clone().all(|posts| posts.time() == time);
        let one_round = there.all(|posts| posts.round() == round);
        let mut regions = self.posts.iter().zip(self.regions_of_map());
        let complete = regions.all(|(posts, region)| posts.len() == region.everybody);
        self.time = time.filter(|_| one_time);
        self.round = round.filter(|_| one_time && one_round && complete);
    }

    /// The window is over: nobody looks any more. Its posts are let go of before others hear of it, so that
    /// they may write there.
    pub(super) fn close(&mut self) {
        self.posts.iter_mut().for_each(clear);
        (self.time, self.round) = (None, None);
    }

    /// How many posts there are.
    pub(super) fn len(&self) -> usize {
        self.posts.iter().map(|posts| posts.len()).sum()
    }

    /// When all posts arrive, where that is one time.
    pub(super) fn time(&self) -> Option<SimTime> {
        self.time
    }

    /// What all say, with answers that take so long, where everybody has posted a vector of one round and one length.
    pub(super) fn chorus(&self, latency: SimTime, schedule: Schedule) -> Option<Chorus<'_>> {
        let (round, time) = (self.round?, self.time?);
        let mut there = self.posts.iter().filter(|posts| !posts.is_empty());
        let length = there.next()?.length();
        let fours = length.div_ceil(LANES);
        let regions = self.posts.iter().map(|posts| posts.vectors()).collect();
        let measured = [round, round.next()].map(|round| schedule.measures(round));
        let answer = time + latency;
        let alike = there.all(|posts| posts.length() == length);
        alike.then_some(Chorus { round, measured, time, answer, length, fours, regions })
    }

    /// Where the peer at an own place looks.
    #[inline]
    pub(super) fn slots(&self, place: usize) -> &[Slot] {
        self.map.as_ref().map_or(&[], |map| map.slots.row(place))
    }

    /// Whether the peer at an own place has anywhere to look.
    #[inline]
    pub(super) fn looks(&self, place: usize) -> bool {
        !self.slots(place).is_empty()
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
    /// Takes everything down. Every receiver gets a message of its own: at an own place, from a peer.
    pub(super) fn take_down(
        &mut self,
        layout: &Layout,
        mut send: impl FnMut(u32, PeerId, &Head, Settled<M>),
    ) {
        let Some(map) = &self.map else { return };
        for (number, (posts, region)) in self.posts.iter().zip(&map.regions).enumerate() {
            for &place in posts.who() {
                let Some(head) = posts.head(place) else { continue };
                let sender = region.senders.sender(place, layout);
                let message = posts.said(place, head).to_message();
                if number == 0 {
                    let near = map.slots.row(place as usize).iter();
                    near.filter(|slot| slot.region == 0)
                        .for_each(|slot| send(slot.place, sender, head, message.clone()));
                } else {
                    let receivers = region.receivers.row(place as usize);
                    receivers.iter().for_each(|&to| send(to, sender, head, message.clone()));
                }
            }
        }
        self.close();
    }

    /// Who a region's sender is, and its neighbours, by own place.
    pub(super) fn receivers(
        &self,
        region: usize,
        sender: u32,
        layout: &Layout,
    ) -> (PeerId, &[u32]) {
        let Region { senders, receivers, .. } = &self.regions_of_map()[region];
        (senders.sender(sender, layout), receivers.row(sender as usize))
    }
}

/// The vectors at some slots.
#[inline]
fn vectors<'a, M>(
    board: &'a Board<M>,
    slots: &'a [Slot],
) -> impl Iterator<Item = &'a [f64]> + Clone + use<'a, M> {
    let posts = &*board.posts;
    slots.iter().map(|slot| posts[slot.region as usize].vector(slot.place))
}

/// Leaves no posts: the memory stays where nobody else looks at it.
fn clear<M>(posts: &mut Arc<Posts<M>>) {
    match Arc::get_mut(posts) {
        Some(posts) => posts.clear(),
        None => *posts = Arc::default(),
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
        Some(vectors(self.board, self.slots))
    }

    /// The vectors of all neighbours, if everybody has sent one of the same round.
    #[inline]
    pub fn vectors(&self) -> impl Iterator<Item = &'a [f64]> {
        vectors(self.board, if self.board.round.is_some() { self.slots } else { &[] })
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
