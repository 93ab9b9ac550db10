//! Where messages go.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::board::Reach;
use super::event::{Event, Pending, Queue, What};
use super::layout::Layout;
use super::posts::{Posts, Said};
use crate::privacy::Wire;
use crate::topology::Topology;
use crate::units::{PeerId, SimTime};

/// Where messages go: into the queue of this shard, among its next posts, or into the batch for another.
pub(super) struct Mail<'a, M> {
    pub(super) worker: usize,
    pub(super) layout: &'a Layout,
    pub(super) topology: &'a Topology,
    /// Where messages to all neighbours go, where they can be posted.
    pub(super) reach: Option<Reach>,
    pub(super) queue: Queue<M>,
    /// Posts of this worker's peers that arrive in the window after the one that is being run.
    pub(super) posts: Posts<M>,
    /// The same once the window is over, and those of others, by region.
    pub(super) coming: Vec<Arc<Posts<M>>>,
    /// Earlier posts of this worker's peers: memory that is used again when nobody looks at it any more.
    pub(super) earlier: Vec<Arc<Posts<M>>>,
    pub(super) outgoing: Vec<Pending<M>>,
    /// The earliest window among what goes out.
    pub(super) outgoing_next: Option<u64>,
    /// Events that the running peer made for itself within the current window.
    pub(super) own: BinaryHeap<Reverse<Event<M>>>,
    pub(super) window: Option<u64>,
}

impl<M> Mail<'_, M> {
    pub(super) fn post(&mut self, event: Event<M>) {
        let place = self.layout.place(event.receiver);
        if self.layout.range(self.worker).contains(&place) {
            if event.receiver == event.sender || matches!(event.what, What::Delivery(_)) {
                self.post_to_self(event);
            } else {
                self.queue.push(event);
            }
            return;
        }
        self.leaves(self.queue.window(event.time));
        let worker = self.layout.worker(place);
        self.outgoing[worker].events.push(event);
    }

    /// Events of the running peer for itself may fall into the window that is being run.
    pub(super) fn post_to_self(&mut self, event: Event<M>) {
        if self.window.is_some_and(|window| self.queue.window(event.time) <= window) {
            self.own.push(Reverse(event));
        } else {
            self.queue.push(event);
        }
    }

    /// Something goes to another worker, to arrive in this window.
    fn leaves(&mut self, window: u64) {
        self.outgoing_next = Some(self.outgoing_next.map_or(window, |next| next.min(window)));
    }

    /// How long messages to all neighbours are on their way, where they can be posted.
    #[inline]
    pub(super) fn latency(&self) -> Option<SimTime> {
        self.reach.as_ref().map(|reach| reach.latency)
    }

    /// Who stands at an own place.
    #[inline]
    pub(super) fn peer(&self, place: usize) -> PeerId {
        self.layout.peer(self.layout.range(self.worker).start + place)
    }

    /// Makes ready for [answers](Posts::answers) that arrive at a time and are so long; whether there can be
    /// any.
    pub(super) fn prepare(&mut self, time: SimTime, length: usize) -> bool {
        let window = self.queue.window(time);
        self.is_next(window)
            && self
                .reach
                .as_ref()
                .is_some_and(|reach| self.posts.prepare(window, reach.places_here, length))
    }

    /// Whether what arrives in this window may be posted. What was posted at the start may still be under way
    /// in window 0, and is not added to.
    #[inline]
    fn is_next(&self, window: u64) -> bool {
        let under_way = self.coming.first().is_some_and(|posts| posts.window() == window);
        window == self.window.unwrap_or(0) + 1 && !under_way
    }

    /// The earliest window in which this worker knows of something to do, its own or others': asked once
    /// at the end of a window.
    pub(super) fn next_window(&mut self) -> Option<u64> {
        let coming = self.coming.iter().filter(|posts| !posts.is_empty());
        let posts = coming.map(|posts| posts.window()).min();
        [self.queue.next(), posts, self.outgoing_next.take()].into_iter().flatten().min()
    }

    /// The window is over: what was posted in it may be looked at, and nothing more is posted there.
    pub(super) fn publish(&mut self) {
        if self.posts.is_empty() {
            return;
        }
        let posts = Arc::new(std::mem::take(&mut self.posts));
        self.earlier.push(Arc::clone(&posts));
        self.coming[0] = posts;
    }

    /// A window begins: there is room for posts where those of the window before the last one were, which
    /// nobody looks at any more.
    pub(super) fn make_room(&mut self) {
        let unused = self.earlier.iter().position(|posts| Arc::strong_count(posts) == 1);
        let unused = unused.and_then(|at| Arc::into_inner(self.earlier.swap_remove(at)));
        if let Some(unused) = unused.filter(|_| self.posts.is_empty()) {
            self.posts = unused;
            self.posts.clear();
        }
    }

    /// What was posted in the window that is over, if anything.
    pub(super) fn posted(&self) -> Option<Arc<Posts<M>>> {
        self.coming.first().filter(|posts| !posts.is_empty()).cloned()
    }

    /// Takes the earliest own event if it comes before `limit`.
    #[inline]
    pub(super) fn own_before(&mut self, limit: Option<(SimTime, PeerId, u64)>) -> Option<Event<M>> {
        let Reverse(first) = self.own.peek()?;
        if limit.is_some_and(|limit| first.order() >= limit) {
            return None;
        }
        self.own.pop().map(|Reverse(event)| event)
    }
}

impl<M: Wire + Clone> Mail<'_, M> {
    /// Says the same to all neighbours of the peer at an own place, at one time. What arrives in the next
    /// window is posted, unless something of the same peer is there already; else it is an event for each.
    #[inline]
    pub(super) fn post_to_all(
        &mut self,
        (sender, place): (PeerId, usize),
        (time, sequence): (SimTime, u64),
        said: &Said<'_, M>,
    ) {
        let Some(reach) = &self.reach else { return };
        let window = self.queue.window(time);
        let next = self.is_next(window);
        let at = (time, sequence, window);
        let posted = next && self.posts.put((place as u32, reach.places_here), at, said);
        if posted && reach.stays(place) {
            return;
        }
        self.post_beyond((sender, place), at, said, (next, posted));
    }

    /// Whether a post of this process reaches all neighbours of the peer at an own place.
    pub(super) fn stays(&self, place: usize) -> bool {
        self.reach.as_ref().is_some_and(|reach| reach.stays(place))
    }

    /// Says the same to those neighbours of a peer whom its answer does not reach, whether it was `posted` in this
    /// process or not.
    #[cold]
    pub(super) fn answer_beyond(
        &mut self,
        sender: (PeerId, usize),
        (time, sequence): (SimTime, u64),
        said: &Said<'_, M>,
        posted: bool,
    ) {
        let window = self.queue.window(time);
        self.post_beyond(sender, (time, sequence, window), said, (true, posted));
    }

    /// The rest of it: to those whom no post of this process reaches.
    #[cold]
    fn post_beyond(
        &mut self,
        (sender, place): (PeerId, usize),
        (time, sequence, window): (SimTime, u64, u64),
        said: &Said<'_, M>,
        (next, posted): (bool, bool),
    ) {
        if !posted {
            let own = self.layout.shards_of(self.worker / self.layout.workers());
            self.tell_each(sender, (time, sequence), said, |worker| own.contains(&worker));
        }
        let Some(reach) = self.reach.take() else { return };
        for (worker, place) in reach.beyond(place) {
            let at = (time, sequence, window);
            if next && self.outgoing[worker].posts.put(place, at, said) {
                self.leaves(window);
            } else {
                self.tell_each(sender, (time, sequence), said, |there| there == worker);
            }
        }
        self.reach = Some(reach);
    }

    /// An event for each neighbour that such a worker runs.
    fn tell_each(
        &mut self,
        sender: PeerId,
        (time, sequence): (SimTime, u64),
        said: &Said<'_, M>,
        such: impl Fn(usize) -> bool,
    ) {
        for &receiver in self.topology.neighbours(sender) {
            if such(self.layout.worker(self.layout.place(receiver))) {
                let what = What::Arrival(said.to_message());
                self.post(Event { time, receiver, sender, sequence, what });
            }
        }
    }
}
