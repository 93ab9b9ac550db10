//! A conservative parallel discrete-event simulator.
//!
//! Time is cut into windows as long as the least latency L of any link: window k is
//! [kL, (k + 1)L). A message sent in window k arrives at the earliest in window k + 1, so within
//! a window peers cannot influence each other, and each worker runs its own peers alone. After a
//! window the workers swap batches: the events for each other's peers and the earliest window in
//! which they still have something to do; the next window is the least of these. Empty windows
//! are skipped.
//!
//! A peer sees its own events in the order (time, sender, sequence). That order does not depend
//! on who shares its worker or where windows end, so neither does any result.

mod board;
mod event;
mod layout;
#[cfg(test)]
mod oracle;
mod shard;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, RecvError, Sender, TryRecvError, bounded};

pub use self::board::Arrivals;
use self::event::{Batch, Pending, Verdict};
use self::layout::Layout;
use self::shard::Shard;
use super::error::{NAMED, NetworkError, panic_message};
use super::links::Links;
use super::observe::{Flow, Gathering, Parting, Probe, Row, Schedule, Totals, collect};
use super::peer::Peer;
use super::{Ending, Outcome, Topology};
use crate::privacy::Account;
use crate::units::PeerId;

/// Rows that workers may be ahead of the measuring thread.
const ROWS_AHEAD: usize = 4;

pub(super) fn run<P: Peer, R: Probe>(
    workers: usize,
    topology: &Topology,
    links: &Links,
    peers: Vec<P>,
    observation: (&R, Schedule),
    interrupt: &AtomicBool,
    on_row: &mut dyn FnMut(Row<R::Local>) -> Flow,
) -> Result<Outcome<R::Local>, NetworkError> {
    let n = peers.len();
    let layout = Layout::new(topology, &peers, workers);
    let (stop, abandoned) = (AtomicBool::new(false), AtomicBool::new(false));

    let ends = std::thread::scope(|scope| {
        // Owned by the scope: if measuring panics, the workers find the channel closed and the flag
        // set, and the scope can end.
        let (rows, parts) = bounded(ROWS_AHEAD * layout.workers());
        let _raised = RaiseOnDrop(&abandoned);
        let mut peers = layout.by_place(peers).into_iter();
        let exchanges = Exchange::between(layout.workers());
        let mut handles = Vec::new();
        for (worker, exchange) in exchanges.into_iter().enumerate() {
            let range = layout.range(worker);
            let own: Vec<P> = peers.by_ref().take(range.len()).collect();
            let gathering = Gathering::new(observation, range.start, range.len(), rows.clone());
            let (layout, stop, abandoned) = (&layout, &stop, &abandoned);
            handles.push(scope.spawn(move || {
                let asked_to_stop =
                    || [stop, abandoned, interrupt].iter().any(|flag| flag.load(Ordering::Relaxed));
                let shard = Shard::new(worker, layout, own, topology, links, gathering);
                work(shard, &exchange, asked_to_stop)
            }));
        }
        drop(rows);
        let slots = observation.1.slots(n);
        collect(&parts, slots, layout.order(), on_row, || stop.store(true, Ordering::Relaxed));
        handles.into_iter().map(|handle| handle.join()).collect::<Vec<_>>()
    });
    let stopped = stop.into_inner();

    let name = |peer: PeerId| topology.name(peer).into_owned();
    let mut waiting = Vec::new();
    let (mut quiescent, mut retired) = (true, false);
    let (mut sent, mut partings) = (Vec::new(), Vec::new());
    for end in ends {
        match end {
            Ok(Ok(End::Quiescent {
                waiting: waits,
                retired: left,
                partings: parted,
                sent: more,
            })) => {
                waiting.extend(waits);
                retired |= left;
                partings.extend(parted);
                sent.extend(more);
            }
            Ok(Ok(End::Told)) => quiescent = false,
            // What peers do beyond the row that stopped the run is not reported.
            Ok(Err(_)) if stopped => {}
            Ok(Err((peer, message))) => {
                return Err(NetworkError::Failed { peer: name(peer), message });
            }
            // The engine itself failed, outside of any peer: not ours to dress up.
            Err(payload) => std::panic::resume_unwind(payload),
        }
    }
    waiting.sort_unstable_by_key(|&(peer, _)| peer);
    if stopped {
        return Ok(Outcome::cut_short(Ending::Stopped));
    }
    if !quiescent {
        return Ok(Outcome::cut_short(Ending::Interrupted));
    }
    let mut totals = Totals::default();
    for (messages, bytes, account) in layout.by_peer(sent) {
        totals.add(messages, bytes, &account);
    }
    let partings = layout.by_peer(partings).into_iter().flatten().collect();
    if retired {
        Ok(Outcome { ending: Ending::Retired, totals, partings })
    } else if waiting.is_empty() {
        Ok(Outcome { ending: Ending::Finished, totals, partings })
    } else {
        let count = waiting.len();
        let named = waiting.into_iter().take(NAMED);
        let waiting = named
            .map(|(peer, others): (PeerId, Vec<PeerId>)| {
                (name(peer), others.into_iter().map(name).collect())
            })
            .collect();
        Err(NetworkError::Stall { waiting, count })
    }
}

/// Raises a flag when it goes out of scope, by whatever way.
struct RaiseOnDrop<'a>(&'a AtomicBool);

impl Drop for RaiseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How a worker ended.
enum End<L> {
    /// Nothing is under way any more; these of its peers still wait, and some may have retired.
    Quiescent {
        waiting: Vec<(PeerId, Vec<PeerId>)>,
        retired: bool,
        /// In the order of places, like what was sent: messages, bytes, and the account of it.
        partings: Vec<Option<Parting<L>>>,
        sent: Vec<(u64, u64, Account)>,
    },
    /// It was told to stop, or another worker failed.
    Told,
}

/// One worker's life: start the peers, then window after window.
fn work<P: Peer, R: Probe>(
    mut shard: Shard<'_, P, R>,
    exchange: &Exchange<P::Message>,
    asked_to_stop: impl Fn() -> bool,
) -> Result<End<R::Local>, (PeerId, String)> {
    let mut window = None;
    loop {
        let ran = catch_unwind(AssertUnwindSafe(|| match window {
            None => shard.start(),
            Some(window) => shard.run_window(window, &asked_to_stop),
        }));
        let failure = match ran {
            Ok(()) => shard.failure(),
            Err(payload) => Some((shard.running(), panic_message(&*payload))),
        };
        if let Some(failure) = failure {
            exchange.hang_up();
            return Err(failure);
        }
        if shard.broken_off() {
            exchange.hang_up();
            return Ok(End::Told);
        }
        let own = if asked_to_stop() { Verdict::Stop } else { Verdict::Go };
        match exchange.swap(&mut shard, own) {
            (Verdict::Failed, _) | (Verdict::Stop, Some(_)) => return Ok(End::Told),
            (_, None) => {
                let (waiting, retired) = (shard.waiting(), shard.retired());
                let (partings, sent) = (shard.partings(), shard.into_sent());
                return Ok(End::Quiescent { waiting, retired, partings, sent });
            }
            (Verdict::Go, next) => window = next,
        }
    }
}

/// A worker's channels to and from every other, in the order of workers.
struct Exchange<M> {
    to: Vec<(usize, Sender<Batch<M>>)>,
    from: Vec<Receiver<Batch<M>>>,
}

impl<M> Exchange<M> {
    /// A channel for each ordered pair of workers.
    fn between(workers: usize) -> Vec<Self> {
        let mut all: Vec<Self> =
            (0..workers).map(|_| Self { to: Vec::new(), from: Vec::new() }).collect();
        for a in 0..workers {
            for b in (0..workers).filter(|&b| b != a) {
                // A worker is at most one window ahead of another.
                let (sender, receiver) = bounded(2);
                all[a].to.push((b, sender));
                all[b].from.push(receiver);
            }
        }
        all
    }

    /// Gives every other worker its events, takes theirs, and agrees with them on the next window:
    /// none if nothing is under way anywhere.
    fn swap<P: Peer<Message = M>, R: Probe>(
        &self,
        shard: &mut Shard<'_, P, R>,
        own: Verdict,
    ) -> (Verdict, Option<u64>) {
        let mut verdict = own;
        let mut next = shard.next_window();
        let told = next;
        for (worker, sender) in &self.to {
            let _ = sender.send(Batch {
                pending: shard.take_outgoing(*worker),
                next: told,
                verdict: own,
            });
        }
        for receiver in &self.from {
            match wait(receiver) {
                Ok(batch) => {
                    shard.accept(batch.pending);
                    next = [next, batch.next].into_iter().flatten().min();
                    verdict = verdict.max(batch.verdict);
                }
                // The other worker failed; its own end says how.
                Err(_) => verdict = Verdict::Failed,
            }
        }
        (verdict, next)
    }

    /// Tells the others that this worker is no more.
    fn hang_up(&self) {
        for (_, sender) in &self.to {
            let _ = sender.send(Batch {
                pending: Pending::default(),
                next: None,
                verdict: Verdict::Failed,
            });
        }
    }
}

/// Looks for a batch that is due any moment before going to sleep for it: a window may be
/// microseconds of work, and to be woken takes longer.
fn wait<T>(receiver: &Receiver<T>) -> Result<T, RecvError> {
    const LOOKS: u32 = 2000;
    for _ in 0..LOOKS {
        match receiver.try_recv() {
            Ok(batch) => return Ok(batch),
            Err(TryRecvError::Disconnected) => return Err(RecvError),
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
        }
    }
    receiver.recv()
}
