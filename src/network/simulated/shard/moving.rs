//! How peers leave a worker, and when they have arrived.

use super::super::balance::Left;
use super::super::household::Household;
use super::super::layout::Layout;
use super::Shard;
use crate::network::observe::Probe;
use crate::network::peer::Peer;

impl<P: Peer, R: Probe> Shard<'_, P, R> {
    /// All peers of it leave between two windows, to be run by the workers of this layout: of each of these,
    /// in their order, those whom it will run. What was posted is taken down, so that it goes where its
    /// receivers go.
    pub(in super::super) fn divided(mut self, layout: &Layout) -> (Vec<Household<P>>, Left) {
        let left = self.watch.left();
        let mut events = Vec::new();
        // All are for one window, which need not be the next: after the start timers may come before it.
        let posts = self.mail.coming.iter().find(|posts| !posts.is_empty());
        if let Some(window) = posts.map(|posts| posts.window()) {
            self.board.open(window, &mut self.mail.coming);
            self.take_down(&mut events);
        }
        events.extend(self.mail.queue.into_events());
        let household = Household {
            peers: self.peers,
            desks: self.desks,
            accounts: self.accounts,
            last_arrival: self.last_arrival,
            events,
            reached: self.gathering.leave(),
        };
        (household.divided(self.first, &self.ends, self.mail.worker, layout), left)
    }

    /// Its peers have moved in, those of them that were elsewhere before: what that took is known now.
    pub(in super::super) fn settle(&mut self, left: Option<Left>) {
        self.watch.built(left, self.layout.alone());
    }
}
