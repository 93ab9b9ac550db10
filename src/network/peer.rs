//! What a protocol implements.

use std::ops::Range;

use super::context::Context;
use super::observe::Work;
use super::simulated::{Arrivals, Turns};
use crate::privacy::{Released, Settled, Wire};
use crate::units::PeerId;

/// One node's part in a protocol: a state machine that sees its own data and its neighbours'
/// messages, nothing else.
pub trait Peer: Send {
    /// What peers say to each other.
    type Message: Wire + Clone + Send + Sync;

    /// Called once, before anybody starts, for one peer after the other: the place to make the buffers
    /// of messages, so that those of all peers lie together in memory and are found quickly by others.
    fn make_room(&mut self) {}

    /// Called once, before any message, at time zero.
    fn start(&mut self, context: &mut Context<'_, Self::Message>);

    /// Called for each message, in the order of arrival. To read it costs nothing; to keep it may cost
    /// a copy, if others receive the same.
    fn receive(
        &mut self,
        from: PeerId,
        message: Received<'_, Self::Message>,
        context: &mut Context<'_, Self::Message>,
    );

    /// Called where messages of several neighbours may arrive at the same time. Takes at least one of
    /// them, as if by [`receive`](Self::receive), and is called again for the rest. To take them all is
    /// of use where that is quicker than one by one; who sets timers meanwhile must not.
    fn receive_all(
        &mut self,
        arrivals: &mut Arrivals<'_, Self::Message>,
        context: &mut Context<'_, Self::Message>,
    ) {
        if let Some((from, arrival)) = arrivals.next_arrival() {
            self.receive(from, arrival.received(), context);
        }
    }

    /// Called where all neighbours have sent a vector of the same round, all arrive at one time and nothing
    /// else happens meanwhile, for many peers at once, that what it takes to begin be taken once. Whoever has
    /// its turn does all that [`receive_all`](Self::receive_all) would do with them, or is
    /// [put back](Turns::put_back) without having done anything; for that one, and for any whose turn has not
    /// come, that is called.
    fn receive_together(_turns: &mut Turns<'_, '_, Self>)
    where
        Self: Sized,
    {
    }

    /// Called some time before messages arrive: the place to ask for memory that will be needed, so that
    /// it is near by then. No more than a hint to be quick.
    fn expect(&self, _arrivals: &Arrivals<'_, Self::Message>) {}

    /// Called when a timer set by [`Context::timer`] has run out.
    fn timer(&mut self, _context: &mut Context<'_, Self::Message>) {}

    /// Whose messages this peer cannot go on without; empty once it has done its part.
    fn waiting_for(&self) -> Vec<PeerId>;

    /// Whether it has left before the end, of its own accord: its privacy budget is spent. Those who
    /// wait for it then wait in vain, and the run is over when nobody can go on.
    fn retired(&self) -> bool {
        false
    }

    /// What it has done and the models that it keeps for itself, where those are more than what it
    /// deposits: asked for once, when the run is over.
    fn parting(&self) -> Option<Work<'_>> {
        None
    }

    /// Into how many parts its work falls that have nothing to do with each other, as long as nothing in
    /// the network holds one up for another: the same for all peers.
    fn parts(&self) -> usize {
        1
    }

    /// About how many bytes it keeps for each of these parts by itself.
    fn kept_for_a_part(&self) -> usize {
        0
    }

    /// Takes some parts of the work, of which nothing is done yet, out of it: a peer that does these alone.
    fn split_off(&mut self, _parts: Range<usize>) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Takes back what was split off, with all that was done meanwhile.
    fn join(&mut self, _other: Self)
    where
        Self: Sized,
    {
    }

    /// How much work a round is to this peer, relative to others: workers get equal shares to begin with, and
    /// others once it was measured how long peers take.
    fn weight(&self) -> u64 {
        1
    }
}

/// A message as it reaches its receiver: to be read, kept or passed on.
pub struct Received<'a, M>(Held<'a, M>);

enum Held<'a, M> {
    /// By this receiver alone.
    Alone(Settled<M>),
    /// By all neighbours of its sender.
    Together(&'a Settled<M>),
}

impl<'a, M: Clone> Received<'a, M> {
    pub(super) fn alone(message: Settled<M>) -> Self {
        Self(Held::Alone(message))
    }

    pub(super) fn together(message: &'a Settled<M>) -> Self {
        Self(Held::Together(message))
    }

    /// What it says.
    pub fn value(&self) -> &M {
        match &self.0 {
            Held::Alone(message) => message.value(),
            Held::Together(message) => message.value(),
        }
    }

    /// What it says, to keep.
    pub fn into_value(self) -> M {
        self.into_released().into_value()
    }

    /// The message to pass on: its release has been booked.
    pub fn into_released(self) -> Released<M> {
        match self.0 {
            Held::Alone(message) => message.arrived(),
            Held::Together(message) => message.clone().arrived(),
        }
    }
}
