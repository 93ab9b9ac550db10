//! One worker's peers, their desks, and the events that wait for them.

use std::collections::BinaryHeap;

use super::board::{Arrivals, Board};
use super::event::{Event, Pending, Post, Queue, What};
use super::layout::{Layout, Reach};
use super::mail::Mail;
use super::port::{Desk, Hands, SimulatedPort};
use crate::network::context::Context;
use crate::network::links::Links;
use crate::network::observe::{Gathering, Parting, Probe};
use crate::network::peer::{Peer, Received};
use crate::privacy::{Account, Exposure, Wire, WireError};
use crate::topology::Topology;
use crate::units::{PeerId, SimTime};

/// More posts than this are not in the nearest caches when they are looked for.
const FAR: usize = 2048;
/// For so many peers at a time their messages are looked at ahead.
const AHEAD: usize = 8;

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
    /// How long messages to all neighbours take, where they can be posted.
    posting: Option<(SimTime, Reach)>,
    mail: Mail<'a, P::Message>,
    board: Board<P::Message>,
    /// What happens in the window that is being run, beside what is on the board.
    happening: Pending<P::Message>,
    /// Whether the peer at each place has links to other ranks; empty without any.
    borders: Vec<bool>,
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
        layout: &'a Layout,
        peers: Vec<P>,
        topology: &'a Topology,
        links: &'a Links,
        gathering: Gathering<'a, R>,
    ) -> Self {
        let range = layout.range(worker);
        let desks = range
            .clone()
            .map(|place| Desk {
                seconds_per_sample: links.seconds_per_sample(layout.peer(place)),
                ..Desk::default()
            })
            .collect();
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
        let posting = links.common_latency().map(|time| (time, layout.reach(topology, worker)));
        Self {
            first: range.start,
            accounts: vec![Account::default(); range.len()],
            desks,
            last_arrival: vec![SimTime::ZERO; links_of_shard as usize],
            ends,
            topology,
            links,
            layout,
            board: Board {
                numbers: vec![0; if posting.is_some() { topology.peers() } else { 0 }],
                ..Board::default()
            },
            posting,
            mail: Mail {
                worker,
                layout,
                queue: Queue::new(links.window(), layout.workers() - 1),
                outgoing: (0..layout.shards()).map(|_| Pending::default()).collect(),
                outgoing_next: None,
                own: BinaryHeap::new(),
                window: None,
            },
            happening: Pending::default(),
            borders,
            gathering,
            workspace: Vec::new(),
            order: Vec::new(),
            starts: Vec::new(),
            running: layout.peer(range.start),
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
            None => self.start(Turn::Interior),
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

    /// Takes all that happens in a window.
    fn open_window(&mut self, window: u64) {
        let mut pending = self.mail.queue.take(window);
        self.mail.window = Some(window);
        self.put_up(&mut pending);
        self.sort(&pending.events);
        self.happening = pending;
    }

    /// Runs what happens in the window, peer after peer, each peer's in its order. Peers that make work
    /// for themselves could go on in it for long: between two pieces of it they may be broken off.
    fn run_window(&mut self, turn: Turn, asked_to_stop: &impl Fn() -> bool) {
        if turn == Turn::Border && self.borders.is_empty() {
            return;
        }
        let order = std::mem::take(&mut self.order);
        let mut pending = std::mem::take(&mut self.happening);
        if self.board.posts.is_empty() {
            self.run_events(turn, &order, &mut pending.events, asked_to_stop);
        } else {
            self.run_everybody(turn, &order, &mut pending.events, asked_to_stop);
        }
        self.happening = pending;
        self.order = order;
    }

    /// All of the window has happened.
    fn close_window(&mut self) {
        let mut pending = std::mem::take(&mut self.happening);
        self.take_down(&mut pending);
        self.mail.window = None;
        self.mail.queue.recycle(pending);
    }

    /// Puts posts on the board, where receivers find them, if enough have posted for everybody to look.
    /// Otherwise, and for a second post of one sender, every receiver gets an event of its own.
    fn put_up(&mut self, pending: &mut Pending<P::Message>) {
        let few = pending.posts.len() < self.peers.len() / 8;
        let mut posts = std::mem::take(&mut pending.posts);
        self.board.time = posts.first().map(|post| post.time);
        let mut kept = 0;
        for next in 0..posts.len() {
            let post = &posts[next];
            let number = &mut self.board.numbers[post.sender.index()];
            if few || *number != 0 {
                let range = self.layout.range(self.mail.worker);
                for (copy, receiver) in self.topology.copies(post.sender) {
                    if range.contains(&self.layout.place(receiver)) {
                        pending.events.push(Event {
                            time: post.time,
                            receiver,
                            sender: post.sender,
                            sequence: post.sequence + copy as u64,
                            what: What::Arrival(post.message.clone()),
                        });
                    }
                }
            } else {
                if self.board.time != Some(post.time) {
                    self.board.time = None;
                }
                posts.swap(kept, next);
                kept += 1;
                *number = kept as u32;
            }
        }
        posts.truncate(kept);
        self.board.posts = posts;
    }

    /// Takes all posts off the board; `pending` gets its buffer back.
    fn take_down(&mut self, pending: &mut Pending<P::Message>) {
        for post in &self.board.posts {
            self.board.numbers[post.sender.index()] = 0;
        }
        pending.posts = std::mem::take(&mut self.board.posts);
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
            if !self.is_turn_of(self.layout.place(receiver) - self.first, turn) {
                continue;
            }
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

    /// Runs a window in which many have posted: everybody looks for posts of its neighbours.
    fn run_everybody(
        &mut self,
        turn: Turn,
        order: &[u32],
        events: &mut [Event<P::Message>],
        asked_to_stop: &impl Fn() -> bool,
    ) {
        // Nothing is put up or taken down while a window runs.
        let board = std::mem::take(&mut self.board);
        let far = board.posts.len() > FAR;
        let mut due = Vec::new();
        let mut begin = 0;
        for place in 0..self.peers.len() {
            if far && place % AHEAD == 0 && turn == Turn::Interior {
                self.look_ahead(&board, place);
            }
            let receiver = self.layout.peer(self.first + place);
            let end = self.starts.get(place).map_or(0, |&end| end as usize);
            let own = &order[begin..end.max(begin)];
            begin = end.max(begin);
            if !self.is_turn_of(place, turn) {
                continue;
            }
            let neighbours = self.topology.neighbours(receiver);
            // Neighbours are in the order of their numbers: posts of one time are in their order.
            if let (Some(time), []) = (board.time, own) {
                let mut rest = neighbours;
                while !rest.is_empty() {
                    rest = self.deliver_posts((receiver, place), time, &board, rest);
                    // What it made for itself meanwhile may come before the next of them.
                    let next = rest.iter().find_map(|&sender| board.of(sender)).map(Post::order);
                    while let Some(event) = next.and_then(|next| self.mail.own_before(Some(next))) {
                        self.happen(event);
                    }
                }
            } else {
                due.clear();
                due.extend(own.iter().map(|&at| (events[at as usize].order(), Some(at))));
                let posts = neighbours.iter().filter_map(|&sender| board.of(sender));
                due.extend(posts.map(|post| (post.order(), None)));
                due.sort_unstable();
                for &((time, sender, sequence), at) in &due {
                    while let Some(event) = self.mail.own_before(Some((time, sender, sequence))) {
                        self.happen(event);
                    }
                    if let Some(at) = at {
                        self.happen(take_event(&mut events[at as usize]));
                    } else if let Some(post) = board.of(sender) {
                        let message = Received::together(&post.message);
                        self.deliver(receiver, place, time, sender, message);
                    }
                }
            }
            if self.finish_own(asked_to_stop) {
                break;
            }
        }
        self.board = board;
    }

    /// Looks at what the next peers are about to receive, and has them ask for what they will need. Each
    /// would wait for one thing after the other to come from memory; here they come together.
    fn look_ahead(&self, board: &Board<P::Message>, place: usize) {
        let end = self.peers.len().min(place + AHEAD);
        self.peers[place..end].iter().for_each(Peer::expect);
        let receivers = (place..end).map(|place| self.layout.peer(self.first + place));
        let senders = receivers.flat_map(|receiver| self.topology.neighbours(receiver));
        let posts = senders.filter_map(|&sender| board.of(sender));
        std::hint::black_box(posts.fold(0, |seen, post| seen ^ post.message.value().touch()));
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
        let everybody = !self.board.posts.is_empty();
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

    /// Hands a peer the posts of these neighbours, which all arrive at one time, until it has made
    /// something for itself to do. Returns whose posts are left.
    #[inline]
    fn deliver_posts<'n>(
        &mut self,
        (receiver, place): (PeerId, usize),
        time: SimTime,
        board: &'n Board<P::Message>,
        senders: &'n [PeerId],
    ) -> &'n [PeerId] {
        let mut arrivals = Arrivals::new(board, senders);
        let now = time.max(self.desks[place].busy_until);
        self.act(receiver, place, now, |peer, mut hands| {
            loop {
                peer.receive_all(&mut arrivals, &mut hands.context());
                if arrivals.left().is_empty() || !hands.port.mail.own.is_empty() {
                    break;
                }
            }
        });
        arrivals.left()
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
    fn act(
        &mut self,
        peer: PeerId,
        place: usize,
        now: SimTime,
        act: impl FnOnce(&mut P, Hands<'_, '_, 'a, P::Message, R>),
    ) {
        self.running = peer;
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
            posting: self.posting.as_ref(),
            mail: &mut self.mail,
            gathering: &mut self.gathering,
            failure: &mut self.failure,
        };
        let hands = Hands {
            port: &mut port,
            account: &mut self.accounts[place],
            workspace: &mut self.workspace,
        };
        act(&mut self.peers[place], hands);
        port.desk.busy_until = port.now;
    }

    /// The earliest window in which this worker knows of something to do, its own or others': asked once
    /// at the end of a window.
    pub(super) fn next_window(&mut self) -> Option<u64> {
        [self.mail.queue.next(), self.mail.outgoing_next.take()].into_iter().flatten().min()
    }

    /// What goes to another worker; an empty buffer takes its place.
    pub(super) fn take_outgoing(&mut self, worker: usize) -> Pending<P::Message> {
        let outgoing = &mut self.mail.outgoing[worker];
        if outgoing.is_empty() {
            return Pending::default();
        }
        std::mem::replace(outgoing, self.mail.queue.buffer())
    }

    /// Takes what another worker has for this one.
    pub(super) fn accept(&mut self, pending: Pending<P::Message>) {
        self.mail.queue.accept(pending);
    }

    /// What goes to the workers of each other rank, in bytes: none where there is nothing.
    pub(super) fn packed(&mut self) -> Vec<Vec<u8>> {
        let workers = self.layout.workers();
        let own = self.mail.worker / workers;
        let of_ranks = self.mail.outgoing.chunks_mut(workers).enumerate();
        let packed = of_ranks.map(|(rank, outgoing)| {
            let mut bytes = Vec::new();
            if rank != own && outgoing.iter().any(|outgoing| !outgoing.is_empty()) {
                outgoing.iter_mut().for_each(|outgoing| outgoing.pack(&mut bytes));
            }
            bytes
        });
        packed.collect()
    }

    /// Takes what a worker of another rank packed for this one.
    pub(super) fn accept_packed(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.mail.queue.accept_packed(bytes)
    }

    /// Whether any of its peers has left before the end.
    pub(super) fn retired(&self) -> bool {
        self.peers.iter().any(Peer::retired)
    }

    /// What its peers leave behind, each that leaves anything, in the order of places.
    pub(super) fn partings(&self) -> Vec<Option<Parting<R::Local>>> {
        let parting = |(id, peer): (PeerId, &P)| Some(self.gathering.parting(id, &peer.parting()?));
        self.ids().zip(&self.peers).map(parting).collect()
    }

    /// What its peers have sent, and what that tells of each, in the order of places.
    pub(super) fn sent(&self) -> Vec<(u64, u64, Exposure)> {
        let sent =
            |(desk, account): (&Desk, &Account)| (desk.messages, desk.bytes, account.exposure());
        self.desks.iter().zip(&self.accounts).map(sent).collect()
    }

    /// Which of its peers wait, and for whom.
    pub(super) fn waiting(&self) -> Vec<(PeerId, Vec<PeerId>)> {
        let waits = self.ids().zip(self.peers.iter().map(Peer::waiting_for));
        waits.filter(|(_, others)| !others.is_empty()).collect()
    }

    fn ids(&self) -> impl Iterator<Item = PeerId> {
        (self.first..).map(|place| self.layout.peer(place))
    }
}

/// Takes an event out of its place.
fn take_event<M>(event: &mut Event<M>) -> Event<M> {
    let what = std::mem::replace(&mut event.what, What::Done);
    Event { what, ..*event }
}
