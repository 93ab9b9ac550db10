//! One worker's peers, their desks, and the events that wait for them.

mod everybody;
mod handover;
mod moving;

use std::collections::BinaryHeap;

use super::Quiet;
use super::balance::{Cuts, Watch, Work};
use super::board::{Arrivals, Board, survey};
use super::event::{Event, Pending, Queue, What};
use super::household::Household;
use super::layout::Layout;
use super::mail::Mail;
use super::port::{Desk, Hands, SimulatedPort};
use super::posts::Posts;
use crate::network::context::Context;
use crate::network::links::Links;
use crate::network::observe::{Gathering, Probe};
use crate::network::peer::{Peer, Received};
use crate::privacy::{Account, Wire};
use crate::topology::Topology;
use crate::units::{PeerId, Round, SimTime};

/// Who is at work: in a window, and at the start, peers with links to other ranks come first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Border,
    Interior,
}

/// A worker's share of the network.
pub(super) struct Shard<'a, P: Peer, R: Probe> {
    first: usize,
    peers: Vec<P>,
    desks: Vec<Desk>,
    accounts: Vec<Account>,
    /// The last arrival on each outgoing link of the shard, where links must hold back messages
    /// that would overtake others; empty where none could.
    last_arrival: Vec<SimTime>,
    /// Where the links of each peer begin in `last_arrival`; empty where that is.
    ends: Vec<u32>,
    topology: &'a Topology,
    links: &'a Links,
    layout: &'a Layout,
    mail: Mail<'a, P::Message>,
    board: Board<P::Message>,
    /// What happens in the window that is being run, beside what is on the board.
    happening: Vec<Event<P::Message>>,
    /// Whether the peer at each place has links to other ranks; empty without any.
    borders: Vec<bool>,
    gathering: Gathering<'a, R>,
    watch: Watch,
    /// Whether all that was under way came here as events, with peers that have moved: more than there are
    /// in other windows.
    moved_in: bool,
    workspace: Vec<f64>,
    order: Vec<u32>,
    starts: Vec<u32>,
    /// The place of the peer that is, or was last, at work.
    running: usize,
    failure: Option<(PeerId, String)>,
    /// Whether it stopped in the middle of a window.
    broken_off: bool,
}

impl<'a, P: Peer, R: Probe> Shard<'a, P, R> {
    /// The share of a worker with these peers, after so many windows; they may post where links are alike,
    /// if `posts` says so.
    pub(super) fn new(
        worker: usize,
        layout: &'a Layout,
        (household, windows): (Household<P>, u64),
        topology: &'a Topology,
        links: &'a Links,
        gathering: impl FnOnce(Vec<Option<Round>>) -> Gathering<'a, R>,
        posts: bool,
    ) -> Self {
        let Household { peers, desks, accounts, last_arrival, events, reached } = household;
        let cuts = if layout.workers() > 1 { layout.cuts() } else { Cuts::Estimated };
        let watch = Watch::new(cuts, windows, peers.len(), |place| peers[place].weight());
        let range = layout.range(worker);
        let mut ends = Vec::new();
        let mut links_of_shard = 0;
        if links.reorders() {
            for place in range.clone() {
                ends.push(links_of_shard);
                links_of_shard += topology.degree(layout.peer(place)) as u32;
            }
        }
        let others = layout.shards() > layout.workers();
        let own = layout.shards_of(worker / layout.workers());
        let beyond = |peer: &PeerId| !own.contains(&layout.worker(layout.place(*peer)));
        let borders = range.clone().filter(|_| others);
        let borders =
            borders.map(|place| topology.neighbours(layout.peer(place)).iter().any(beyond));
        let borders = borders.collect();
        let survey = links
            .common_latency()
            .filter(|_| posts)
            .map(|time| survey(layout, topology, worker, time));
        let (map, reach) = survey.unzip();
        let board = Board::new(map);
        let mut queue = Queue::new(links.window(), layout.workers() - 1);
        queue.accept(events);
        Self {
            first: range.start,
            desks,
            accounts,
            last_arrival,
            ends,
            topology,
            links,
            layout,
            mail: Mail {
                worker,
                layout,
                topology,
                reach,
                queue,
                posts: Posts::default(),
                coming: board.nothing(),
                earlier: Vec::new(),
                outgoing: (0..layout.shards()).map(|_| Pending::of(worker)).collect(),
                outgoing_next: None,
                own: BinaryHeap::new(),
                window: None,
            },
            board,
            happening: Vec::new(),
            borders,
            gathering: gathering(reached),
            watch,
            moved_in: windows > 0,
            workspace: Vec::new(),
            order: Vec::new(),
            starts: Vec::new(),
            running: 0,
            failure: None,
            broken_off: false,
            peers,
        }
    }

    /// The peer that is, or was last, at work.
    pub(super) fn running(&self) -> PeerId {
        self.layout.peer(self.first + self.running)
    }

    /// The first peer that said it cannot go on, with its reason.
    pub(super) fn failure(&mut self) -> Option<(PeerId, String)> {
        self.failure.take()
    }

    /// Whether it was asked to stop in the middle of a window, and did.
    pub(super) fn broken_off(&self) -> bool {
        self.broken_off
    }

    /// The first part of a window's work, or of the start before the first window: that of the peers with
    /// links to other ranks. What they say goes beyond the process; what the others say does not.
    pub(super) fn border(&mut self, window: Option<u64>, asked_to_stop: &impl Fn() -> bool) {
        match window {
            None => {
                self.peers.iter_mut().for_each(Peer::make_room);
                self.start(Turn::Border);
            }
            Some(window) => {
                self.open_window(window);
                self.run_window(Turn::Border, asked_to_stop);
            }
        }
    }

    /// The rest of it.
    pub(super) fn interior(&mut self, window: Option<u64>, asked_to_stop: &impl Fn() -> bool) {
        match window {
            None => {
                self.start(Turn::Interior);
                self.mail.publish();
            }
            Some(_) => {
                if !self.broken_off {
                    self.run_window(Turn::Interior, asked_to_stop);
                }
                self.close_window();
            }
        }
    }

    /// Starts every peer whose turn it is.
    fn start(&mut self, turn: Turn) {
        for place in 0..self.peers.len() {
            if self.is_turn_of(place, turn) {
                let peer = self.layout.peer(self.first + place);
                self.call(peer, place, SimTime::ZERO, |peer, context| peer.start(context));
            }
        }
    }

    /// Whether it is a peer's turn, by its place. Without other ranks everybody is in the interior.
    #[inline]
    fn is_turn_of(&self, place: usize, turn: Turn) -> bool {
        self.borders.get(place).is_some_and(|&border| border) == (turn == Turn::Border)
    }

    /// Takes all that happens in a window. Where few have posted, not everybody has to look: who is
    /// concerned gets an event.
    fn open_window(&mut self, window: u64) {
        self.watch.open();
        let mut events = self.mail.queue.take(window);
        self.mail.window = Some(window);
        self.board.open(window, &mut self.mail.coming);
        self.mail.make_room();
        if self.board.len() < self.peers.len() / 8 {
            self.take_down(&mut events);
        }
        self.sort(&events);
        self.happening = events;
    }

    /// Takes down what is on the board: it becomes an event for each who would have looked at it.
    fn take_down(&mut self, events: &mut Vec<Event<P::Message>>) {
        self.board.take_down(self.layout, |receiver, sender, head, message| {
            events.push(Event {
                time: head.time,
                receiver: self.layout.peer(self.first + receiver as usize),
                sender,
                sequence: head.sequence,
                what: What::Arrival(message),
            });
        });
    }

    /// Runs what happens in the window, peer after peer, each peer's in its order. Peers that make work
    /// for themselves could go on in it for long: between two pieces of it they may be broken off.
    fn run_window(&mut self, turn: Turn, asked_to_stop: &impl Fn() -> bool) {
        if turn == Turn::Border && self.borders.is_empty() {
            return;
        }
        let order = std::mem::take(&mut self.order);
        let mut events = std::mem::take(&mut self.happening);
        self.watch.start();
        if self.board.len() == 0 {
            self.run_events(turn, &order, &mut events, asked_to_stop);
        } else {
            self.run_everybody(turn, &order, &mut events, asked_to_stop);
        }
        self.watch.stop();
        self.happening = events;
        self.order = order;
    }

    /// All of the window has happened.
    fn close_window(&mut self) {
        self.mail.window = None;
        self.board.close();
        self.mail.publish();
        let events = std::mem::take(&mut self.happening);
        if !std::mem::take(&mut self.moved_in) {
            self.mail.queue.recycle(events);
        }
    }

    /// Runs a window without posts: only those have something to do who have events.
    fn run_events(
        &mut self,
        turn: Turn,
        order: &[u32],
        events: &mut [Event<P::Message>],
        asked_to_stop: &impl Fn() -> bool,
    ) {
        for (k, &place) in order.iter().enumerate() {
            let receiver = events[place as usize].receiver;
            let own_place = self.layout.place(receiver) - self.first;
            if !self.is_turn_of(own_place, turn) {
                continue;
            }
            self.watch.reach(own_place);
            let event = take_event(&mut events[place as usize]);
            while let Some(own) = self.mail.own_before(Some(event.order())) {
                self.happen(own);
            }
            self.happen(event);
            let next = order.get(k + 1).map(|&place| events[place as usize].receiver);
            if next != Some(receiver) && self.finish_own(asked_to_stop) {
                return;
            }
        }
    }

    /// Lets all happen that the running peer has made for itself in this window; whether it was broken
    /// off.
    #[inline]
    fn finish_own(&mut self, asked_to_stop: &impl Fn() -> bool) -> bool {
        while let Some(event) = self.mail.own_before(None) {
            if asked_to_stop() {
                self.broken_off = true;
                return true;
            }
            self.happen(event);
        }
        false
    }

    /// Sets `self.order` to the events' places, by receiver, then by time, sender, sequence; and, where
    /// everybody is gone through, `self.starts` to where each receiver's end.
    fn sort(&mut self, events: &[Event<P::Message>]) {
        self.order.clear();
        self.starts.clear();
        let everybody = self.board.len() > 0;
        if events.is_empty() {
            return;
        }
        let place = |event: &Event<P::Message>| self.layout.place(event.receiver) - self.first;
        if events.len() < self.peers.len() / 8 && !everybody {
            self.order.extend(0..events.len() as u32);
            self.order.sort_unstable_by_key(|&at| {
                let event = &events[at as usize];
                (place(event), event.order())
            });
            return;
        }
        // Most peers have something to do: count, place, and sort each peer's few events.
        self.starts.resize(self.peers.len() + 1, 0);
        for event in events {
            self.starts[place(event) + 1] += 1;
        }
        for i in 0..self.peers.len() {
            self.starts[i + 1] += self.starts[i];
        }
        self.order.resize(events.len(), 0);
        for (at, event) in events.iter().enumerate() {
            let next = &mut self.starts[place(event)];
            self.order[*next as usize] = at as u32;
            *next += 1;
        }
        let mut begin = 0;
        for &end in &self.starts[..self.peers.len()] {
            self.order[begin..end as usize].sort_unstable_by_key(|&at| events[at as usize].order());
            begin = end as usize;
        }
    }

    /// Lets one event happen to its receiver.
    fn happen(&mut self, event: Event<P::Message>) {
        let receiver = event.receiver;
        let place = self.layout.place(receiver) - self.first;
        match event.what {
            What::Arrival(message) if self.links.limits_reception() => {
                let desk = &mut self.desks[place];
                let begin = event.time.max(desk.down_free);
                let time = begin + self.links.down_time(message.value().size() as u64);
                desk.down_free = time;
                self.mail.post(Event { time, what: What::Delivery(message), ..event });
            }
            What::Arrival(message) | What::Delivery(message) => {
                let message = Received::alone(message);
                self.deliver(receiver, place, event.time, event.sender, message);
            }
            What::Timer => {
                let now = event.time.max(self.desks[place].busy_until);
                self.call(receiver, place, now, |peer, context| peer.timer(context));
            }
            What::Done => {}
        }
    }

    /// Hands a message to its receiver.
    #[inline]
    fn deliver(
        &mut self,
        receiver: PeerId,
        place: usize,
        time: SimTime,
        sender: PeerId,
        message: Received<'_, P::Message>,
    ) {
        let now = time.max(self.desks[place].busy_until);
        self.call(receiver, place, now, |peer, context| {
            peer.receive(sender, message, context);
        });
    }

    /// Hands a peer the posts of its neighbours, which all arrive at one time, from the `first` on, until
    /// it has made something for itself to do. Returns the first neighbour whose post is left.
    #[inline]
    fn deliver_posts(
        &mut self,
        (receiver, place): (PeerId, usize),
        time: SimTime,
        board: &Board<P::Message>,
        first: usize,
    ) -> Option<usize> {
        let now = time.max(self.desks[place].busy_until);
        self.act(receiver, place, now, |peer, mut hands| {
            let mut arrivals = Arrivals::new(board, place, hands.neighbours, first);
            loop {
                peer.receive_all(&mut arrivals, &mut hands.context());
                if arrivals.left().is_none() || !hands.port.mail.own.is_empty() {
                    return arrivals.left();
                }
            }
        })
    }

    /// Runs a peer's code at a point in time.
    #[inline]
    fn call(
        &mut self,
        peer: PeerId,
        place: usize,
        now: SimTime,
        act: impl FnOnce(&mut P, &mut Context<'_, P::Message>),
    ) {
        self.act(peer, place, now, |peer, mut hands| act(peer, &mut hands.context()));
    }

    /// Lets a peer act from a point in time on.
    #[inline]
    fn act<T>(
        &mut self,
        peer: PeerId,
        place: usize,
        now: SimTime,
        act: impl FnOnce(&mut P, Hands<'_, '_, 'a, P::Message, R>) -> T,
    ) -> T {
        self.running = place;
        let neighbours = self.topology.neighbours(peer);
        let mut port = SimulatedPort {
            peer,
            place,
            now,
            neighbours,
            desk: &mut self.desks[place],
            last_arrival: &mut self.last_arrival,
            ends: &self.ends,
            topology: self.topology,
            links: self.links,
            mail: &mut self.mail,
            gathering: &mut self.gathering,
            failure: &mut self.failure,
        };
        let hands = Hands {
            me: peer,
            neighbours,
            port: &mut port,
            account: &mut self.accounts[place],
            workspace: &mut self.workspace,
        };
        let done = act(&mut self.peers[place], hands);
        port.desk.busy_until = port.now;
        done
    }

    /// The earliest window in which this worker knows of something to do, its own or others': asked once
    /// at the end of a window.
    pub(super) fn next_window(&mut self) -> Option<u64> {
        self.mail.next_window()
    }

    /// What it measured, where it is time for all workers to look.
    pub(super) fn work(&mut self) -> Option<Work> {
        self.watch.report()
    }

    /// The worker whose share it is.
    pub(super) fn worker(&self) -> usize {
        self.mail.worker
    }

    /// Which worker runs which peers.
    pub(super) fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// What it has to say when nothing is under way any more.
    pub(super) fn quiet(&self) -> Quiet<R::Local> {
        let sent = self.desks.iter().zip(&self.accounts);
        let sent = sent.map(|(desk, account)| (desk.messages, desk.bytes, account));
        let ids = (self.first..).map(|place| self.layout.peer(place));
        Quiet::of(self.gathering.probe(), ids.zip(&self.peers), sent)
    }

    /// Its peers, in the order of places, and of each the messages, the bytes and the account.
    pub(super) fn dissolve(self) -> (Vec<P>, Vec<(u64, u64, Account)>) {
        let sent = |(desk, account): (Desk, Account)| (desk.messages, desk.bytes, account);
        (self.peers, self.desks.into_iter().zip(self.accounts).map(sent).collect())
    }
}

/// Takes an event out of its place.
fn take_event<M>(event: &mut Event<M>) -> Event<M> {
    let what = std::mem::replace(&mut event.what, What::Done);
    Event { what, ..*event }
}
