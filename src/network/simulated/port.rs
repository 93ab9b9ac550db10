//! What the running peer acts with.

use super::event::{Event, What};
use super::mail::Mail;
use super::posts::Said;
use crate::network::context::{Context, Port, each};
use crate::network::links::Links;
use crate::network::observe::{Deposit, Gathering, Journey, Probe, Snapshot};
use crate::privacy::{Account, Settled, Wire, size_of_round};
use crate::topology::Topology;
use crate::units::{PeerId, Round, SimTime};

/// What the network keeps of one peer.
#[derive(Clone, Default)]
pub(super) struct Desk {
    /// When it is free to look at the next event.
    pub(super) busy_until: SimTime,
    /// When its interface has sent all that it was given.
    pub(super) up_free: SimTime,
    /// When its interface has received all that has arrived.
    pub(super) down_free: SimTime,
    /// Messages and timers so far: the sequence number of the next.
    pub(super) sequence: u64,
    pub(super) messages: u64,
    pub(super) bytes: u64,
    pub(super) seconds_per_sample: f64,
}

impl Desk {
    /// Counts so many copies of a message that all leave at once. Returns the sequence number of the first.
    #[inline]
    pub(super) fn sent(&mut self, copies: usize, bytes: usize) -> u64 {
        let (sequence, copies) = (self.sequence, copies as u64);
        self.sequence += copies;
        self.messages += copies;
        self.bytes += copies * bytes as u64;
        sequence
    }
}

/// What the running peer acts with. Who it is and its neighbours stand here once more: a processor waits for
/// two numbers that were just written, one after the other, to be read together.
pub(super) struct Hands<'h, 's, 'a, M, R: Probe> {
    pub(super) me: PeerId,
    pub(super) neighbours: &'a [PeerId],
    pub(super) port: &'h mut SimulatedPort<'s, 'a, M, R>,
    pub(super) account: &'h mut Account,
    pub(super) workspace: &'h mut Vec<f64>,
}

impl<M: Wire + Clone, R: Probe> Hands<'_, '_, '_, M, R> {
    #[inline]
    pub(super) fn context(&mut self) -> Context<'_, M> {
        Context::new(self.me, self.neighbours, self.port, self.account, self.workspace)
    }
}

/// The simulated network as the running peer feels it.
pub(super) struct SimulatedPort<'s, 'a, M, R: Probe> {
    pub(super) peer: PeerId,
    pub(super) place: usize,
    pub(super) now: SimTime,
    pub(super) neighbours: &'a [PeerId],
    pub(super) desk: &'s mut Desk,
    pub(super) last_arrival: &'s mut [SimTime],
    pub(super) ends: &'s [u32],
    pub(super) topology: &'a Topology,
    pub(super) links: &'a Links,
    pub(super) mail: &'s mut Mail<'a, M>,
    pub(super) gathering: &'s mut Gathering<'a, R>,
    pub(super) failure: &'s mut Option<(PeerId, String)>,
}

impl<M, R: Probe> SimulatedPort<'_, '_, M, R> {
    fn next_sequence(&mut self) -> u64 {
        let sequence = self.desk.sequence;
        self.desk.sequence += 1;
        sequence
    }
}

impl<M: Wire + Clone, R: Probe> SimulatedPort<'_, '_, M, R> {
    /// Says the same to all neighbours, where it takes the same time to all of them and nothing holds it
    /// back.
    #[inline]
    fn post(&mut self, latency: SimTime, bytes: usize, said: &Said<'_, M>) {
        let sequence = self.desk.sent(self.neighbours.len(), bytes);
        let sender = (self.peer, self.place);
        self.mail.post_to_all(sender, (self.now + latency, sequence), said);
    }
}

impl<M: Wire, R: Probe> Port<M> for SimulatedPort<'_, '_, M, R> {
    fn now(&self) -> SimTime {
        self.now
    }

    /// The interface sends one message after the other. A lost transmission occupies it again, and
    /// the link delivers in the order of sending.
    fn transmit(&mut self, slot: usize, message: Settled<M>) {
        let sequence = self.next_sequence();
        let position = self.topology.row(self.peer).start + slot;
        let bytes = message.value().size() as u64;
        let times = self.links.transmissions(self.peer, sequence);
        self.desk.messages += times;
        self.desk.bytes += times * bytes;

        let begin = self.now.max(self.desk.up_free);
        let sent = begin + SimTime(self.links.up_time(bytes).0.saturating_mul(times));
        self.desk.up_free = sent;
        let waited = SimTime(self.links.timeout().0.saturating_mul(times - 1));
        let latency = self.links.latency(self.topology, position, self.peer, sequence);
        let mut time = sent + waited + latency;
        if let Some(&first) = self.ends.get(self.place) {
            let last = &mut self.last_arrival[first as usize + slot];
            time = time.max(*last);
            *last = time;
        }
        self.mail.post(Event {
            time,
            receiver: self.neighbours[slot],
            sender: self.peer,
            sequence,
            what: What::Arrival(message),
        });
    }

    fn transmit_to_all(&mut self, neighbours: usize, message: Settled<M>)
    where
        M: Clone,
    {
        match self.mail.latency() {
            None => each(self, neighbours, message),
            Some(latency) => {
                let bytes = message.value().size();
                self.post(latency, bytes, &Said::Message(&message));
            }
        }
    }

    fn transmit_vector(&mut self, neighbours: usize, (round, vector): (Round, &[f64]))
    where
        M: Clone,
    {
        match self.mail.latency() {
            None => each(self, neighbours, Settled::of_round(round, vector)),
            Some(latency) => {
                self.post(latency, size_of_round(vector.len()), &Said::Vector(round, vector));
            }
        }
    }

    fn timer(&mut self, delay: SimTime) {
        let sequence = self.next_sequence();
        self.mail.post(Event {
            time: self.now + delay,
            receiver: self.peer,
            sender: self.peer,
            sequence,
            what: What::Timer,
        });
    }

    fn fail(&mut self, reason: String) {
        self.failure.get_or_insert((self.peer, reason));
    }

    fn spend(&mut self, sample_passes: f64) {
        if self.desk.seconds_per_sample == 0.0 {
            return;
        }
        self.now += SimTime::from_seconds(sample_passes * self.desk.seconds_per_sample);
    }

    fn measures(&self, round: Round) -> bool {
        self.gathering.measures(round)
    }

    fn deposit(&mut self, round: Round, snapshot: &Snapshot<'_>, account: &Account) {
        self.gathering.deposit(&Deposit {
            peer: self.peer,
            place: self.place,
            round,
            snapshot,
            account,
            time: self.now,
            messages: self.desk.messages,
            bytes: self.desk.bytes,
        });
    }

    fn deposit_token(&mut self, at: (u32, Round), snapshot: &Snapshot<'_>, journey: &Journey) {
        self.gathering.deposit_token(at, snapshot, journey, self.now);
    }
}
