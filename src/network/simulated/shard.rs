//! One worker's peers, their desks, and the events that wait for them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::event::{Event, Queue, What};
use crate::network::context::{Context, Port};
use crate::network::links::Links;
use crate::network::observe::{Deposit, Gathering, Journey, Parting, Probe, Snapshot, Totals};
use crate::network::peer::Peer;
use crate::privacy::{Account, Released, Wire};
use crate::topology::Topology;
use crate::units::{PeerId, Round, SimTime};

/// What the network keeps of one peer.
#[derive(Clone, Default)]
pub(super) struct Desk {
    /// When it is free to look at the next event.
    busy_until: SimTime,
    /// When its interface has sent all that it was given.
    up_free: SimTime,
    /// When its interface has received all that has arrived.
    down_free: SimTime,
    /// Messages and timers so far: the sequence number of the next.
    sequence: u64,
    messages: u64,
    bytes: u64,
    seconds_per_sample: f64,
    account: Account,
}

impl Desk {
    /// What its peer has sent, added to what others have.
    pub(super) fn add_to(&self, totals: &mut Totals) {
        totals.add(self.messages, self.bytes, &self.account);
    }
}

/// Where events go: into the queue of this shard or into the batch for another.
struct Mail<'a, M> {
    worker: usize,
    bounds: &'a [usize],
    queue: Queue<M>,
    outgoing: Vec<Vec<Event<M>>>,
    /// The earliest window among outgoing events.
    outgoing_next: Option<u64>,
    /// Events that the running peer made for itself within the current window.
    own: BinaryHeap<Reverse<Event<M>>>,
    window: Option<u64>,
}

impl<M> Mail<'_, M> {
    fn post(&mut self, event: Event<M>) {
        let receiver = event.receiver.index();
        let (first, end) = (self.bounds[self.worker], self.bounds[self.worker + 1]);
        if (first..end).contains(&receiver) {
            if event.receiver == event.sender || matches!(event.what, What::Delivery(_)) {
                self.post_to_self(event);
            } else {
                self.queue.push(event);
            }
            return;
        }
        let window = self.queue.window(event.time);
        self.outgoing_next = Some(self.outgoing_next.map_or(window, |next| next.min(window)));
        let worker = self.bounds.partition_point(|&bound| bound <= receiver) - 1;
        self.outgoing[worker].push(event);
    }

    /// Events of the running peer for itself may fall into the window that is being run.
    fn post_to_self(&mut self, event: Event<M>) {
        if self.window.is_some_and(|window| self.queue.window(event.time) <= window) {
            self.own.push(Reverse(event));
        } else {
            self.queue.push(event);
        }
    }

    /// Takes the earliest own event if it comes before `limit`.
    fn own_before(&mut self, limit: Option<(SimTime, PeerId, u64)>) -> Option<Event<M>> {
        let Reverse(first) = self.own.peek()?;
        if limit.is_some_and(|limit| first.order() >= limit) {
            return None;
        }
        self.own.pop().map(|Reverse(event)| event)
    }
}

/// A worker's share of the network.
pub(super) struct Shard<'a, P: Peer, R: Probe> {
    first: usize,
    peers: Vec<P>,
    desks: Vec<Desk>,
    /// The last arrival on each outgoing link of the shard, where links must hold back messages
    /// that would overtake others; empty where none could.
    last_arrival: Vec<SimTime>,
    topology: &'a Topology,
    links: &'a Links,
    mail: Mail<'a, P::Message>,
    gathering: Gathering<'a, R>,
    workspace: Vec<f64>,
    order: Vec<u32>,
    starts: Vec<u32>,
    running: PeerId,
    failure: Option<(PeerId, String)>,
    /// Whether it stopped in the middle of a window.
    broken_off: bool,
}

impl<'a, P: Peer, R: Probe> Shard<'a, P, R> {
    pub(super) fn new(
        worker: usize,
        bounds: &'a [usize],
        peers: Vec<P>,
        topology: &'a Topology,
        links: &'a Links,
        gathering: Gathering<'a, R>,
    ) -> Self {
        let first = bounds[worker];
        let desks = (first..first + peers.len())
            .map(|i| Desk {
                seconds_per_sample: links.seconds_per_sample(PeerId::new(i)),
                ..Desk::default()
            })
            .collect();
        let ends: usize =
            (first..first + peers.len()).map(|i| topology.degree(PeerId::new(i))).sum();
        Self {
            first,
            desks,
            last_arrival: vec![SimTime::ZERO; if links.reorders() { ends } else { 0 }],
            topology,
            links,
            mail: Mail {
                worker,
                bounds,
                queue: Queue::new(links.window(), bounds.len() - 2),
                outgoing: bounds.iter().skip(1).map(|_| Vec::new()).collect(),
                outgoing_next: None,
                own: BinaryHeap::new(),
                window: None,
            },
            gathering,
            workspace: Vec::new(),
            order: Vec::new(),
            starts: Vec::new(),
            running: PeerId::new(first),
            failure: None,
            broken_off: false,
            peers,
        }
    }

    /// The peer that is, or was last, at work.
    pub(super) fn running(&self) -> PeerId {
        self.running
    }

    /// The first peer that said it cannot go on, with its reason.
    pub(super) fn failure(&mut self) -> Option<(PeerId, String)> {
        self.failure.take()
    }

    /// Whether it was asked to stop in the middle of a window, and did.
    pub(super) fn broken_off(&self) -> bool {
        self.broken_off
    }

    /// Starts every peer.
    pub(super) fn start(&mut self) {
        for i in self.first..self.first + self.peers.len() {
            self.call(PeerId::new(i), SimTime::ZERO, |peer, context| peer.start(context));
        }
    }

    /// Runs every event of a window, peer after peer, each peer's in their order. Peers that make work
    /// for themselves could go on in it for long: between two pieces of it they may be broken off.
    pub(super) fn run_window(&mut self, window: u64, asked_to_stop: &impl Fn() -> bool) {
        let mut events = self.mail.queue.take(window);
        self.mail.window = Some(window);
        self.sort(&events);
        let order = std::mem::take(&mut self.order);
        for (k, &place) in order.iter().enumerate() {
            let limit = events[place as usize].order();
            while let Some(event) = self.mail.own_before(Some(limit)) {
                self.happen(event);
            }
            let event = &mut events[place as usize];
            let what = std::mem::replace(&mut event.what, What::Done);
            let event = Event { what, ..*event };
            let receiver = event.receiver;
            self.happen(event);
            let next = order.get(k + 1).map(|&place| events[place as usize].receiver);
            if next != Some(receiver) {
                while let Some(event) = self.mail.own_before(None) {
                    if asked_to_stop() {
                        self.broken_off = true;
                        return;
                    }
                    self.happen(event);
                }
            }
        }
        self.order = order;
        self.mail.window = None;
        self.mail.queue.recycle(events);
    }

    /// Sets `self.order` to the events' places, by receiver, then by time, sender, sequence.
    fn sort(&mut self, events: &[Event<P::Message>]) {
        self.order.clear();
        if events.len() < self.peers.len() / 8 {
            self.order.extend(0..events.len() as u32);
            self.order.sort_unstable_by_key(|&place| {
                let event = &events[place as usize];
                (event.receiver, event.order())
            });
            return;
        }
        // Most peers have something to do: count, place, and sort each peer's few events.
        self.starts.clear();
        self.starts.resize(self.peers.len() + 1, 0);
        for event in events {
            self.starts[event.receiver.index() - self.first + 1] += 1;
        }
        for i in 0..self.peers.len() {
            self.starts[i + 1] += self.starts[i];
        }
        self.order.resize(events.len(), 0);
        for (place, event) in events.iter().enumerate() {
            let next = &mut self.starts[event.receiver.index() - self.first];
            self.order[*next as usize] = place as u32;
            *next += 1;
        }
        let mut begin = 0;
        for &end in &self.starts[..self.peers.len()] {
            self.order[begin..end as usize]
                .sort_unstable_by_key(|&place| events[place as usize].order());
            begin = end as usize;
        }
    }

    /// Lets one event happen to its receiver.
    fn happen(&mut self, event: Event<P::Message>) {
        let receiver = event.receiver;
        let desk = &mut self.desks[receiver.index() - self.first];
        let message = match event.what {
            What::Arrival(message) if self.links.limits_reception() => {
                let begin = event.time.max(desk.down_free);
                let time = begin + self.links.down_time(message.value().size() as u64);
                desk.down_free = time;
                self.mail.post(Event { time, what: What::Delivery(message), ..event });
                return;
            }
            What::Arrival(message) | What::Delivery(message) => Some(message),
            What::Timer => None,
            What::Done => return,
        };
        let now = event.time.max(desk.busy_until);
        self.call(receiver, now, |peer, context| match message {
            Some(message) => peer.receive(event.sender, message, context),
            None => peer.timer(context),
        });
    }

    /// Runs a peer's code at a point in time.
    fn call(
        &mut self,
        peer: PeerId,
        now: SimTime,
        act: impl FnOnce(&mut P, &mut Context<'_, P::Message>),
    ) {
        self.running = peer;
        let place = peer.index() - self.first;
        let desk = &mut self.desks[place];
        let mut account = std::mem::take(&mut desk.account);
        let mut port = SimulatedPort {
            peer,
            now,
            desk,
            last_arrival: &mut self.last_arrival,
            first_end: self.topology.row(PeerId::new(self.first)).start,
            topology: self.topology,
            links: self.links,
            mail: &mut self.mail,
            gathering: &mut self.gathering,
            failure: &mut self.failure,
        };
        let mut context = Context::new(
            peer,
            self.topology.neighbours(peer),
            &mut port,
            &mut account,
            &mut self.workspace,
        );
        act(&mut self.peers[place], &mut context);
        let now = port.now;
        let desk = &mut self.desks[place];
        desk.busy_until = now;
        desk.account = account;
    }

    /// The earliest window in which this worker knows of something to do, its own or others'.
    pub(super) fn next_window(&self) -> Option<u64> {
        [self.mail.queue.next(), self.mail.outgoing_next].into_iter().flatten().min()
    }

    /// The events for another worker; an empty buffer takes their place.
    pub(super) fn take_outgoing(&mut self, worker: usize) -> Vec<Event<P::Message>> {
        self.mail.outgoing_next = None;
        let buffer = self.mail.queue.buffer();
        std::mem::replace(&mut self.mail.outgoing[worker], buffer)
    }

    /// Takes events from another worker.
    pub(super) fn accept(&mut self, mut events: Vec<Event<P::Message>>) {
        for event in events.drain(..) {
            self.mail.queue.push(event);
        }
        self.mail.queue.recycle(events);
    }

    /// Whether any of its peers has left before the end.
    pub(super) fn retired(&self) -> bool {
        self.peers.iter().any(Peer::retired)
    }

    /// What its peers leave behind, those that leave anything.
    pub(super) fn partings(&self) -> Vec<Parting<R::Local>> {
        let ids = (self.first..).map(PeerId::new);
        let works = ids.zip(&self.peers).filter_map(|(id, peer)| Some((id, peer.parting()?)));
        works.map(|(id, work)| self.gathering.parting(id, &work)).collect()
    }

    /// What the network kept of its peers, in their order.
    pub(super) fn into_desks(self) -> Vec<Desk> {
        self.desks
    }

    /// Which of its peers wait, and for whom.
    pub(super) fn waiting(&self) -> Vec<(PeerId, Vec<PeerId>)> {
        let ids = (self.first..).map(PeerId::new);
        let waits = ids.zip(self.peers.iter().map(Peer::waiting_for));
        waits.filter(|(_, others)| !others.is_empty()).collect()
    }
}

/// The simulated network as the running peer feels it.
struct SimulatedPort<'s, 'a, M, R: Probe> {
    peer: PeerId,
    now: SimTime,
    desk: &'s mut Desk,
    last_arrival: &'s mut [SimTime],
    first_end: usize,
    topology: &'a Topology,
    links: &'a Links,
    mail: &'s mut Mail<'a, M>,
    gathering: &'s mut Gathering<'a, R>,
    failure: &'s mut Option<(PeerId, String)>,
}

impl<M, R: Probe> SimulatedPort<'_, '_, M, R> {
    fn next_sequence(&mut self) -> u64 {
        let sequence = self.desk.sequence;
        self.desk.sequence += 1;
        sequence
    }
}

impl<M: Wire, R: Probe> Port<M> for SimulatedPort<'_, '_, M, R> {
    fn now(&self) -> SimTime {
        self.now
    }

    /// The interface sends one message after the other. A lost transmission occupies it again, and
    /// the link delivers in the order of sending.
    fn transmit(&mut self, slot: usize, message: Released<M>) {
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
        if let Some(last) = self.last_arrival.get_mut(position - self.first_end) {
            time = time.max(*last);
            *last = time;
        }
        self.mail.post(Event {
            time,
            receiver: self.topology.neighbours(self.peer)[slot],
            sender: self.peer,
            sequence,
            what: What::Arrival(message),
        });
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
        self.now += SimTime::from_seconds(sample_passes * self.desk.seconds_per_sample);
    }

    fn deposit(&mut self, round: Round, snapshot: &Snapshot<'_>, account: &Account) {
        self.gathering.deposit(&Deposit {
            peer: self.peer,
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
