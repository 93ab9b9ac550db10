//! Where events go.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::event::{Event, Pending, Post, Queue, What};
use super::layout::Layout;
use crate::units::{PeerId, SimTime};

/// Where events go: into the queue of this shard or into the batch for another.
pub(super) struct Mail<'a, M> {
    pub(super) worker: usize,
    pub(super) layout: &'a Layout,
    pub(super) queue: Queue<M>,
    pub(super) outgoing: Vec<Pending<M>>,
    /// The earliest window among outgoing events.
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
        self.leaves(event.time);
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

    /// Posts to all of a peer's neighbours, who are run by these workers.
    pub(super) fn post_to_all(&mut self, post: Post<M>, workers: &[u32])
    where
        M: Clone,
    {
        let here = self.worker as u32;
        for &worker in workers.iter().filter(|&&worker| worker != here) {
            self.leaves(post.time);
            let copy = Post { message: post.message.clone(), ..post };
            self.outgoing[worker as usize].posts.push(copy);
        }
        if workers.contains(&here) {
            self.queue.push_post(post);
        }
    }

    /// Something goes to another worker, to arrive at this time.
    pub(super) fn leaves(&mut self, time: SimTime) {
        let window = self.queue.window(time);
        self.outgoing_next = Some(self.outgoing_next.map_or(window, |next| next.min(window)));
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
