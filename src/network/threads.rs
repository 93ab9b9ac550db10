//! One thread and one channel per peer, in real time: what happens, happens concurrently.
//!
//! The end is found by quiescence. A counter holds the number of things under way: peers not yet
//! started, messages not yet dealt with. Whoever handles one takes it off only after adding what
//! it sent, so the counter reaches zero exactly when nobody will ever act again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};

use super::context::{Context, Port};
use super::error::{NAMED, NetworkError, panic_message};
use super::links::Links;
use super::observe::{
    Deposit, Flow, Gathering, Journey, Part, Parting, Probe, Row, Schedule, Snapshot, Totals,
    collect, parting,
};
use super::peer::{Peer, Received};
use super::{Ending, Outcome, Topology};
use crate::privacy::{Account, Settled, Wire};
use crate::units::{PeerId, Round, SimTime};

/// How many peers it takes.
pub const PEER_LIMIT: usize = 1024;
/// Stack of a peer's thread: protocols keep their state on the heap.
const STACK: usize = 512 * 1024;
/// How often a waiting peer looks whether the run was interrupted.
const ATTENTION: Duration = Duration::from_millis(20);

/// Rows that peers may be ahead of the measuring thread.
const ROWS_AHEAD: usize = 4;

/// What a peer's channel carries.
enum Letter<M> {
    Message(PeerId, Settled<M>),
    Timer,
    /// The run is over.
    End,
}

/// What all threads share.
struct Hall<'a, M> {
    topology: &'a Topology,
    links: &'a Links,
    boxes: Vec<Sender<Letter<M>>>,
    under_way: AtomicUsize,
    over: AtomicBool,
    /// Whether the end came because nothing was under way any more.
    quiescent: AtomicBool,
    failure: Mutex<Option<(PeerId, String)>>,
}

impl<M> Hall<'_, M> {
    fn post(&self, to: PeerId, letter: Letter<M>) {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        // A closed box means that its owner has ended, and so has the run.
        let _ = self.boxes[to.index()].send(letter);
    }

    /// One thing less under way; the last one ends the run.
    fn done(&self) {
        if self.under_way.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.quiescent.store(true, Ordering::SeqCst);
            self.end();
        }
    }

    /// The first failure ends the run.
    fn fail(&self, peer: PeerId, reason: String) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert((peer, reason));
        }
        self.end();
    }

    fn end(&self) {
        if !self.over.swap(true, Ordering::SeqCst) {
            for letterbox in &self.boxes {
                let _ = letterbox.send(Letter::End);
            }
        }
    }
}

/// Ends the run when it goes out of scope, by whatever way.
struct EndOnDrop<'h, 'a, M>(&'h Hall<'a, M>);

impl<M> Drop for EndOnDrop<'_, '_, M> {
    fn drop(&mut self) {
        self.0.end();
    }
}

pub(super) fn run<P: Peer, R: Probe>(
    topology: &Topology,
    links: &Links,
    peers: Vec<P>,
    observation: (&R, Schedule),
    interrupt: &AtomicBool,
    on_row: &mut dyn FnMut(Row<R::Local>) -> Flow,
) -> Result<Outcome<R::Local>, NetworkError> {
    let n = peers.len();
    if n > PEER_LIMIT {
        return Err(NetworkError::TooManyThreads { peers: n, limit: PEER_LIMIT });
    }
    let (boxes, receivers): (Vec<_>, Vec<_>) = (0..n).map(|_| unbounded()).unzip();
    let hall = Hall {
        topology,
        links,
        boxes,
        under_way: AtomicUsize::new(n),
        over: AtomicBool::new(false),
        quiescent: AtomicBool::new(false),
        failure: Mutex::new(None),
    };
    let stop = AtomicBool::new(false);

    let waits = std::thread::scope(|scope| {
        // Owned by the scope: if measuring panics, peers find the channel closed and the run over.
        let (rows, parts) = bounded(ROWS_AHEAD * n);
        let _ended = EndOnDrop(&hall);
        let mut handles = Vec::new();
        for (i, (peer, letters)) in peers.into_iter().zip(receivers).enumerate() {
            let (hall, rows) = (&hall, rows.clone());
            let life =
                move || live(PeerId::new(i), peer, &letters, hall, observation, rows, interrupt);
            let thread = std::thread::Builder::new().name(format!("peer {i}")).stack_size(STACK);
            match thread.spawn_scoped(scope, life) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    hall.end();
                    return Err(NetworkError::NoThread(error.to_string()));
                }
            }
        }
        drop(rows);
        collect(&parts, observation.1.slots(n), &[], on_row, || {
            stop.store(true, Ordering::SeqCst);
            hall.end();
        });
        Ok(handles.into_iter().map(|handle| handle.join()).collect::<Vec<_>>())
    })?;

    let name = |peer: PeerId| topology.name(peer).into_owned();
    // What peers do beyond the row that stopped the run is not reported.
    if stop.into_inner() {
        return Ok(Outcome::cut_short(Ending::Stopped));
    }
    if let Some((peer, message)) = hall.failure.into_inner().ok().flatten() {
        return Err(NetworkError::Failed { peer: name(peer), message });
    }
    if !hall.quiescent.into_inner() {
        return Ok(Outcome::cut_short(Ending::Interrupted));
    }
    let mut lives: Vec<Life<R::Local>> = waits
        .into_iter()
        // The engine itself failed, outside of any peer's turn: not ours to dress up.
        .map(|wait| wait.unwrap_or_else(|payload| std::panic::resume_unwind(payload)))
        .collect();
    let mut totals = Totals::default();
    lives.iter().for_each(|life| totals.add(life.messages, life.bytes, life.account.exposure()));
    let partings = lives.iter_mut().filter_map(|life| life.parting.take()).collect();
    if lives.iter().any(|life| life.retired) {
        return Ok(Outcome { ending: Ending::Retired, totals, partings, share: None });
    }
    let waiting: Vec<(String, Vec<String>)> = lives
        .into_iter()
        .enumerate()
        .map(|(i, life)| (PeerId::new(i), life.waiting))
        .filter(|(_, others)| !others.is_empty())
        .map(|(peer, others)| (name(peer), others.into_iter().map(name).collect()))
        .collect();
    if waiting.is_empty() {
        Ok(Outcome { ending: Ending::Finished, totals, partings, share: None })
    } else {
        let count = waiting.len();
        let waiting = waiting.into_iter().take(NAMED).collect();
        Err(NetworkError::Stall { waiting, count })
    }
}

/// How a peer's thread ended.
struct Life<L> {
    /// Whom the peer still waits for.
    waiting: Vec<PeerId>,
    retired: bool,
    parting: Option<Parting<L>>,
    messages: u64,
    bytes: u64,
    account: Account,
}

/// One peer's thread.
fn live<P: Peer, R: Probe>(
    me: PeerId,
    mut peer: P,
    letters: &Receiver<Letter<P::Message>>,
    hall: &Hall<'_, P::Message>,
    observation: (&R, Schedule),
    rows: Sender<Part<R::Local>>,
    interrupt: &AtomicBool,
) -> Life<R::Local> {
    let mut port = ThreadPort {
        me,
        hall,
        sequence: 0,
        messages: 0,
        bytes: 0,
        gathering: Gathering::new(observation, me.index(), vec![None], rows),
    };
    let mut account = Account::default();
    let mut workspace = Vec::new();
    let neighbours = hall.topology.neighbours(me);
    let mut call = |peer: &mut P, letter: Option<Letter<P::Message>>| {
        let mut context = Context::new(me, neighbours, &mut port, &mut account, &mut workspace);
        let ran = catch_unwind(AssertUnwindSafe(|| match letter {
            None => peer.start(&mut context),
            Some(Letter::Message(from, message)) => {
                peer.receive(from, Received::alone(message), &mut context)
            }
            Some(Letter::Timer) => peer.timer(&mut context),
            Some(Letter::End) => {}
        }));
        if let Err(payload) = ran {
            hall.fail(me, panic_message(&*payload));
        }
        hall.done();
    };
    peer.make_room();
    call(&mut peer, None);
    loop {
        match letters.recv_timeout(ATTENTION) {
            Ok(Letter::End) | Err(RecvTimeoutError::Disconnected) => break,
            Ok(letter) => call(&mut peer, Some(letter)),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if interrupt.load(Ordering::Relaxed) {
            hall.end();
        }
        if hall.over.load(Ordering::Relaxed) {
            break;
        }
    }
    Life {
        waiting: peer.waiting_for(),
        retired: peer.retired(),
        parting: peer.parting().map(|work| parting(observation.0, me, &work)),
        messages: port.messages,
        bytes: port.bytes,
        account,
    }
}

/// The channels as the running peer feels them.
struct ThreadPort<'h, 'a, M, R: Probe> {
    me: PeerId,
    hall: &'h Hall<'a, M>,
    sequence: u64,
    messages: u64,
    bytes: u64,
    gathering: Gathering<'a, R>,
}

impl<M: Wire, R: Probe> Port<M> for ThreadPort<'_, '_, M, R> {
    fn now(&self) -> SimTime {
        SimTime::ZERO
    }

    fn transmit(&mut self, slot: usize, message: Settled<M>) {
        let times = self.hall.links.transmissions(self.me, self.sequence);
        self.sequence += 1;
        self.messages += times;
        self.bytes += times * message.value().size() as u64;
        let to = self.hall.topology.neighbours(self.me)[slot];
        self.hall.post(to, Letter::Message(self.me, message));
    }

    fn timer(&mut self, _delay: SimTime) {
        self.sequence += 1;
        self.hall.post(self.me, Letter::Timer);
    }

    fn fail(&mut self, reason: String) {
        self.hall.fail(self.me, reason);
    }

    fn spend(&mut self, _sample_passes: f64) {}

    fn measures(&self, round: Round) -> bool {
        self.gathering.measures(round)
    }

    fn deposit(&mut self, round: Round, snapshot: &Snapshot<'_>, account: &Account) {
        self.gathering.deposit(&Deposit {
            peer: self.me,
            place: 0,
            round,
            snapshot,
            account,
            time: SimTime::ZERO,
            messages: self.messages,
            bytes: self.bytes,
        });
    }

    fn deposit_token(&mut self, at: (u32, Round), snapshot: &Snapshot<'_>, journey: &Journey) {
        self.gathering.deposit_token(at, snapshot, journey, SimTime::ZERO);
    }
}
