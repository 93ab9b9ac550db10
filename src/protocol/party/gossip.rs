//! One party's place in gossip averaging with Metropolis weights.

use std::sync::Arc;

use super::Say;
use crate::network::Context;
use crate::privacy::{Released, public};
use crate::protocol::inbox::Inbox;
use crate::protocol::metropolis::Metropolis;
use crate::units::{PeerId, Round};

/// x ← Wx, τ times: what a party starts from has been released, and all that follows is made of what
/// parties released.
#[derive(Debug)]
pub(super) struct Gossip {
    weights: Metropolis,
    settled: bool,
    inbox: Inbox<Released<Arc<[f64]>>>,
    own: Option<Released<Arc<[f64]>>>,
    /// τ.
    exchanges: u32,
    /// The exchange that is under way, over all rounds.
    tick: Round,
}

impl Gossip {
    pub(super) fn new(neighbours: &[PeerId], exchanges: u32) -> Self {
        Self {
            weights: Metropolis::new(neighbours),
            settled: false,
            inbox: Inbox::new(neighbours),
            own: None,
            exchanges,
            tick: Round(0),
        }
    }

    /// Bytes beside its own struct.
    pub(super) fn memory(neighbours: usize) -> usize {
        Metropolis::memory(neighbours) + Inbox::<Released<Arc<[f64]>>>::memory(neighbours)
    }

    /// Says how many neighbours there are.
    pub(super) fn greet(&self, context: &mut Context<'_, Say>) {
        let degree = context.neighbours().len() as u32;
        context.broadcast(public(Say::Degree(degree)));
    }

    pub(super) fn hear_degree(&mut self, from: PeerId, degree: u32) {
        self.weights.hear(from, degree);
    }

    /// Whether all neighbours have said how many they have; the weights are known then.
    pub(super) fn greeted(&mut self) -> bool {
        if !self.settled && self.weights.complete() {
            self.weights.settle();
            self.settled = true;
        }
        self.settled
    }

    /// Begins a round from the party's own value.
    pub(super) fn start(&mut self, own: Released<Arc<[f64]>>, context: &mut Context<'_, Say>) {
        self.own = Some(own);
        self.tell(context);
    }

    fn tell(&mut self, context: &mut Context<'_, Say>) {
        self.tick = self.tick.next();
        if let Some(own) = &self.own {
            let message = public(self.tick).zip(own.clone());
            context.broadcast(message.map(|(tick, own)| Say::Estimate(tick, own)));
        }
    }

    pub(super) fn hear(&mut self, from: PeerId, tick: Round, theirs: Released<Arc<[f64]>>) {
        self.inbox.put(from, tick, theirs);
    }

    /// One exchange, if all neighbours' estimates are there: the average after the last of a round,
    /// nothing yet after the others.
    pub(super) fn mix(
        &mut self,
        context: &mut Context<'_, Say>,
    ) -> Option<Option<Released<Arc<[f64]>>>> {
        if self.own.is_none() || !self.inbox.complete(self.tick) {
            return None;
        }
        let mut mixed = self.own.take()?.times_public(self.weights.own());
        let weights = self.weights.of_neighbours().iter();
        for (weight, theirs) in weights.zip(self.inbox.take(self.tick)) {
            mixed = mixed.plus_public(*weight, &theirs);
        }
        if self.tick.0.is_multiple_of(self.exchanges) {
            return Some(Some(mixed));
        }
        self.own = Some(mixed);
        self.tell(context);
        Some(None)
    }

    pub(super) fn missing(&self) -> Vec<PeerId> {
        if self.settled { self.inbox.missing(self.tick) } else { self.weights.missing() }
    }
}
