//! What a protocol implements.

use super::context::Context;
use super::observe::Work;
use crate::privacy::{Released, Wire};
use crate::units::PeerId;

/// One node's part in a protocol: a state machine that sees its own data and its neighbours'
/// messages, nothing else.
pub trait Peer: Send {
    /// What peers say to each other.
    type Message: Wire + Clone + Send;

    /// Called once, before anything else, at time zero.
    fn start(&mut self, context: &mut Context<'_, Self::Message>);

    /// Called for each message, in the order of arrival.
    fn receive(
        &mut self,
        from: PeerId,
        message: Released<Self::Message>,
        context: &mut Context<'_, Self::Message>,
    );

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

    /// How much work a round is to this peer, relative to others: workers get equal shares.
    fn weight(&self) -> u64 {
        1
    }
}
