//! What a worker gives to others between two windows, and what it takes from them.

use std::sync::Arc;

use super::super::event::{Event, Pending, What};
use super::super::posts::Posts;
use super::Shard;
use crate::network::observe::Probe;
use crate::network::peer::Peer;
use crate::privacy::{Pack, Settled, WireError};
use crate::units::SimTime;

/// A post that found its place taken: the sender's place, when it arrives, its sequence number.
type Late<M> = (u32, SimTime, u64, Settled<M>);

impl<P: Peer, R: Probe> Shard<'_, P, R> {
    /// What goes to another worker; empty buffers take its place.
    pub(in super::super) fn take_outgoing(&mut self, worker: usize) -> Pending<P::Message> {
        let next = Pending { events: self.mail.queue.buffer(), ..Pending::of(self.mail.worker) };
        std::mem::replace(&mut self.mail.outgoing[worker], next)
    }

    /// What its peers have posted, for another worker of the process whose peers may look at it.
    pub(in super::super) fn posted_for(&self, worker: usize) -> Option<Arc<Posts<P::Message>>> {
        self.board.region(worker)?;
        self.mail.posted()
    }

    /// Takes what another worker of the process has for this one.
    pub(in super::super) fn accept(
        &mut self,
        pending: Pending<P::Message>,
        posts: Option<Arc<Posts<P::Message>>>,
    ) {
        self.mail.queue.accept(pending.events);
        if let (Some(region), Some(posts)) = (self.board.region(pending.from), posts) {
            self.mail.coming[region] = posts;
        }
    }

    /// What found its place on the board taken, as events.
    fn send_late(&mut self, region: usize, late: Vec<Late<P::Message>>) {
        for (sender, time, sequence, message) in late {
            let (sender, receivers) = self.board.receivers(region, sender, self.layout);
            for &place in receivers {
                let receiver = self.layout.peer(self.first + place as usize);
                let what = What::Arrival(message.clone());
                self.mail.queue.push(Event { time, receiver, sender, sequence, what });
            }
        }
    }

    /// What goes to the workers of each other rank, in bytes: none where there is nothing. It may lie in
    /// memory that was `used` before.
    pub(in super::super) fn packed(&mut self, mut used: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let workers = self.layout.workers();
        let own = self.mail.worker / workers;
        used.resize_with(self.layout.shards() / workers, Vec::new);
        let of_ranks = self.mail.outgoing.chunks_mut(workers).zip(&mut used).enumerate();
        for (rank, (outgoing, bytes)) in of_ranks {
            bytes.clear();
            if rank != own && outgoing.iter().any(|outgoing| !outgoing.is_empty()) {
                outgoing.iter_mut().for_each(|outgoing| outgoing.pack(bytes));
            }
        }
        used
    }

    /// Takes what a worker of another rank packed for this one, without the length before it.
    pub(in super::super) fn accept_packed(&mut self, mut bytes: &[u8]) -> Result<(), WireError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let bytes = &mut bytes;
        let from = usize::get(bytes)?;
        self.mail.queue.accept_packed(bytes)?;
        let Some(region) = self.board.region(from) else { return Ok(()) };
        let mut late = Vec::new();
        let left_over = |sender, time, sequence, message| {
            late.push((sender, time, sequence, message));
        };
        let posts = Arc::get_mut(&mut self.mail.coming[region]);
        posts
            .expect("nobody else looks at what came from another rank")
            .unpack(bytes, left_over)?;
        self.send_late(region, late);
        Ok(())
    }
}
