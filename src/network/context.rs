//! What a peer can do.

use super::observe::{Journey, Snapshot};
use crate::privacy::{Account, Receivers, Released, Wire};
use crate::units::{PeerId, Round, SimTime};

/// What an engine does for the peer that it is running.
pub(super) trait Port<M> {
    fn now(&self) -> SimTime;
    /// Sends to the neighbour at this place of the peer's list.
    fn transmit(&mut self, slot: usize, message: Released<M>);
    fn timer(&mut self, delay: SimTime);
    fn spend(&mut self, sample_passes: f64);
    fn deposit(&mut self, round: Round, snapshot: &Snapshot<'_>, account: &Account);
    fn deposit_token(&mut self, at: (u32, Round), snapshot: &Snapshot<'_>, journey: &Journey);
    fn fail(&mut self, reason: String);
}

/// A peer's hands: the only way to act on anything outside itself.
pub struct Context<'a, M> {
    me: PeerId,
    neighbours: &'a [PeerId],
    port: &'a mut dyn Port<M>,
    account: &'a mut Account,
    workspace: &'a mut Vec<f64>,
}

impl<'a, M: Wire + Clone> Context<'a, M> {
    pub(super) fn new(
        me: PeerId,
        neighbours: &'a [PeerId],
        port: &'a mut dyn Port<M>,
        account: &'a mut Account,
        workspace: &'a mut Vec<f64>,
    ) -> Self {
        Self { me, neighbours, port, account, workspace }
    }

    /// The peer itself.
    pub fn me(&self) -> PeerId {
        self.me
    }

    /// Its neighbours, in ascending order.
    pub fn neighbours(&self) -> &'a [PeerId] {
        self.neighbours
    }

    /// Its clock. On the threads engine, which has no virtual time, always zero.
    pub fn now(&self) -> SimTime {
        self.port.now()
    }

    /// Sends a message to one neighbour and books the release.
    ///
    /// # Panics
    /// If `to` is not a neighbour: the run then ends with an error that names this peer.
    pub fn send(&mut self, to: PeerId, message: Released<M>) {
        let slot = self
            .neighbours
            .binary_search(&to)
            .unwrap_or_else(|_| panic!("sends to {to}, which is no neighbour"));
        self.account.book(message.charge(), Receivers::Link);
        self.port.transmit(slot, message);
    }

    /// Sends the same message to every neighbour and books one release to all of them.
    pub fn broadcast(&mut self, message: &Released<M>) {
        if self.neighbours.is_empty() {
            return;
        }
        self.account.book(message.charge(), Receivers::Neighbours);
        for slot in 0..self.neighbours.len() {
            self.port.transmit(slot, message.clone());
        }
    }

    /// Asks to be called back after `delay` (at once, on the threads engine).
    pub fn timer(&mut self, delay: SimTime) {
        self.port.timer(delay);
    }

    /// Says that work was done: passes over samples, in samples. It moves the peer's clock.
    pub fn spend(&mut self, sample_passes: f64) {
        self.port.spend(sample_passes);
    }

    /// Leaves what is to be measured at the end of a round. Measuring is outside the threat model:
    /// this is no message and is not booked.
    pub fn deposit(&mut self, round: Round, snapshot: &Snapshot<'_>) {
        self.port.deposit(round, snapshot, self.account);
    }

    /// Leaves what the token of a task carries after so many updates, to be measured. This is no
    /// message and is not booked.
    pub fn deposit_token(
        &mut self,
        task: u32,
        updates: Round,
        snapshot: &Snapshot<'_>,
        journey: &Journey,
    ) {
        self.port.deposit_token((task, updates), snapshot, journey);
    }

    /// Says that the peer cannot go on: the run ends with an error that names it.
    pub fn fail(&mut self, reason: String) {
        self.port.fail(reason);
    }

    /// What this peer has released so far.
    pub fn account(&self) -> &Account {
        self.account
    }

    /// Scratch space that lives as long as the worker; its content does not outlast the call.
    pub fn workspace(&mut self) -> &mut Vec<f64> {
        self.workspace
    }
}
