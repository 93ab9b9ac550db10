//! What a peer can do.

use super::observe::{Journey, Snapshot};
use crate::privacy::{Account, Receivers, Released, Settled, Wire};
use crate::units::{PeerId, Round, SimTime};

/// What an engine does for the peer that it is running.
pub(super) trait Port<M> {
    fn now(&self) -> SimTime;
    /// Sends to the neighbour at this place of the peer's list.
    fn transmit(&mut self, slot: usize, message: Settled<M>);
    /// Sends the same to all neighbours, of whom there are so many.
    fn transmit_to_all(&mut self, neighbours: usize, message: Settled<M>)
    where
        M: Clone,
    {
        each(self, neighbours, message);
    }
    /// Sends a vector of a round to all neighbours, of whom there are so many.
    fn transmit_vector(&mut self, neighbours: usize, (round, vector): (Round, &[f64]))
    where
        M: Wire + Clone,
    {
        each(self, neighbours, Settled::of_round(round, vector));
    }
    fn timer(&mut self, delay: SimTime);
    fn spend(&mut self, sample_passes: f64);
    fn measures(&self, round: Round) -> bool;
    fn deposit(&mut self, round: Round, snapshot: &Snapshot<'_>, account: &Account);
    fn deposit_token(&mut self, at: (u32, Round), snapshot: &Snapshot<'_>, journey: &Journey);
    fn fail(&mut self, reason: String);
}

/// Sends the same to one neighbour after the other.
pub(super) fn each<M: Clone, P: Port<M> + ?Sized>(
    port: &mut P,
    neighbours: usize,
    message: Settled<M>,
) {
    for slot in 1..neighbours {
        port.transmit(slot - 1, message.clone());
    }
    if neighbours > 0 {
        port.transmit(neighbours - 1, message);
    }
}

/// Where a vector of a round can be said to all neighbours.
pub trait Announce {
    /// Sends a vector of a round to every neighbour and books one release to all of them, as
    /// [`broadcast`](Context::broadcast) does with the message that it [is](Wire::of_round). The vector is
    /// copied on the way and may change after.
    fn announce(&mut self, message: Released<(Round, &[f64])>);
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

    /// Sends a message to one neighbour and books the release. What arrives has been booked: to pass it
    /// on costs a relay nothing.
    ///
    /// # Panics
    /// If `to` is not a neighbour: the run then ends with an error that names this peer.
    pub fn send(&mut self, to: PeerId, message: Released<M>) {
        let slot = self
            .neighbours
            .binary_search(&to)
            .unwrap_or_else(|_| panic!("sends to {to}, which is no neighbour"));
        self.account.book(message.charge(), Receivers::Link);
        self.port.transmit(slot, message.settled());
    }

    /// Sends the same message to every neighbour and books one release to all of them. What arrives
    /// has been booked, as with [`send`](Self::send).
    pub fn broadcast(&mut self, message: Released<M>) {
        if self.neighbours.is_empty() {
            return;
        }
        self.account.book(message.charge(), Receivers::Neighbours);
        self.port.transmit_to_all(self.neighbours.len(), message.settled());
    }

    /// Books now what leaves later, by whatever way: it may be sent, passed on and published without
    /// being booked again. It counts as seen by everybody, whether or not it is ever sent.
    pub fn release<T>(&mut self, value: Released<T>) -> Released<T> {
        self.account.book(value.charge(), Receivers::Everybody);
        value.settled().arrived()
    }

    /// Asks to be called back after `delay` (at once, on the threads engine).
    pub fn timer(&mut self, delay: SimTime) {
        self.port.timer(delay);
    }

    /// Says that work was done: passes over samples, in samples. It moves the peer's clock.
    pub fn spend(&mut self, sample_passes: f64) {
        self.port.spend(sample_passes);
    }

    /// Whether what is left in this round will be looked at: what costs anything to work up may be left
    /// out otherwise.
    pub fn measures(&self, round: Round) -> bool {
        self.port.measures(round)
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

impl<M: Wire + Clone> Announce for Context<'_, M> {
    fn announce(&mut self, message: Released<(Round, &[f64])>) {
        if self.neighbours.is_empty() {
            return;
        }
        self.account.book(message.charge(), Receivers::Neighbours);
        self.port.transmit_vector(self.neighbours.len(), *message.settled().value());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::{Charge, Exposure, Pieces, in_the_clear};

    /// Keeps what is sent.
    #[derive(Default)]
    struct Pigeonhole(Vec<(usize, Settled<u32>)>);

    impl Port<u32> for Pigeonhole {
        fn now(&self) -> SimTime {
            SimTime::ZERO
        }
        fn transmit(&mut self, slot: usize, message: Settled<u32>) {
            self.0.push((slot, message));
        }
        fn timer(&mut self, _: SimTime) {}
        fn spend(&mut self, _: f64) {}
        fn measures(&self, _: Round) -> bool {
            true
        }
        fn deposit(&mut self, _: Round, _: &Snapshot<'_>, _: &Account) {}
        fn deposit_token(&mut self, _: (u32, Round), _: &Snapshot<'_>, _: &Journey) {}
        fn fail(&mut self, reason: String) {
            panic!("{reason}");
        }
    }

    /// What a peer between two others has sent and booked after it acted.
    fn act(act: impl FnOnce(&mut Context<'_, u32>)) -> (Vec<(usize, Released<u32>)>, Account) {
        let (mut port, mut account) = (Pigeonhole::default(), Account::default());
        let neighbours = [PeerId(0), PeerId(2)];
        let mut workspace = Vec::new();
        act(&mut Context::new(PeerId(1), &neighbours, &mut port, &mut account, &mut workspace));
        (port.0.into_iter().map(|(slot, message)| (slot, message.arrived())).collect(), account)
    }

    #[test]
    fn a_relayed_message_costs_its_relay_nothing() {
        let secret = || in_the_clear(7, Pieces::RECORD);
        let (sent, origin) = act(|context| {
            context.send(PeerId(2), secret());
            context.broadcast(secret());
        });
        assert_eq!(origin.exposure().clear, 2, "one release each");
        let slots: Vec<_> = sent.iter().map(|(slot, message)| (*slot, *message.value())).collect();
        assert_eq!(slots, [(1, 7), (0, 7), (1, 7)]);
        for (_, message) in sent {
            let (passed_on, relay) = act(|context| {
                context.broadcast(message.clone());
                context.send(PeerId(0), message.map(|value| value + 1));
            });
            assert_eq!(relay.exposure(), Exposure::default());
            assert!(passed_on.iter().all(|(_, message)| message.charge() == &Charge::Public));
        }
    }

    #[test]
    fn what_was_released_ahead_is_booked_once_however_often_it_is_sent() {
        let (sent, account) = act(|context| {
            let model = context.release(in_the_clear(7, Pieces::RECORD));
            assert_eq!(context.account().exposure().clear, 1, "before it is sent");
            context.send(PeerId(0), model.clone());
            context.broadcast(model);
        });
        assert_eq!(sent.len(), 3);
        assert_eq!(account.exposure().clear, 1);
        let receivers: Vec<_> = account.lines().iter().map(|line| line.receivers).collect();
        assert_eq!(receivers, [Receivers::Everybody]);
    }
}
