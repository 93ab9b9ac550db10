//! Parts of the work that have nothing to do with each other, each in a simulation of its own.
//!
//! Ten tokens on a few peers are ten things that happen at a time, hardly worth the meeting of workers after
//! each window. But where nothing holds up anything, what happens to one token does not depend on any
//! other: every worker takes some of the tokens, has all peers for itself, and meets nobody.
//!
//! Where peers keep much for each part, such as a net that is trained, a worker turns to one part for a while,
//! then to the next, each in a simulation of its own: what one part takes stays in the caches meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::bounded;

use super::super::error::NetworkError;
use super::super::links::Links;
use super::super::observe::{Flow, Gathering, Probe, Row, Schedule, collect};
use super::super::peer::Peer;
use super::super::{Outcome, Topology};
use super::exchange::Exchange;
use super::household::Household;
use super::layout::Layout;
use super::shard::Shard;
use super::{Quiet, ROWS_AHEAD, RaiseOnDrop, Rest, outcome, resume_unwind, work};
use crate::privacy::Account;
use crate::units::PeerId;

/// Rows that may wait for the slowest of the simulations: nothing else holds back the others.
pub(super) const MOST_ROWS: u32 = 1000;

/// What a simulation leaves: its peers, and of each the messages, the bytes and the account.
type Remains<P> = (Vec<P>, Vec<(u64, u64, Account)>);

/// A simulation at work: all peers, and nobody to exchange anything with.
type Simulation<'a, P, R> = (Shard<'a, P, R>, Exchange<'a, <P as Peer>::Message, R>);

/// How a simulation ends: with what it leaves, with nothing if it was told to stop, or with who could not go
/// on, and why.
type End<P> = Result<Option<Remains<P>>, (PeerId, String)>;

/// Raises a flag when a simulation breaks down, for the others to end.
struct RaiseOnPanic<'a>(&'a AtomicBool);

impl Drop for RaiseOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Windows of a simulation after which its worker turns to the next one.
const WINDOWS: usize = 256;

/// About what the cache next to a processor holds, in bytes.
const NEAR: usize = 1 << 20;

/// What a peer keeps for a part beside which the room for one more simulation is small, in bytes.
const MUCH: usize = 1 << 12;

/// In how many simulations so many workers do the peers' work.
pub(super) fn simulations<P: Peer>(peers: &[P], workers: usize) -> usize {
    let Some(first) = peers.first() else { return 1 };
    let (parts, kept) = (first.parts(), first.kept_for_a_part());
    let crowded = kept > MUCH && kept * peers.len() * parts.div_ceil(workers) > NEAR;
    if crowded { parts } else { parts.min(workers) }
}

/// Runs the peers' work in so many simulations, on so many workers. Where several fail, which of them is told
/// depends on which was first.
pub(super) fn run<P: Peer, R: Probe>(
    (simulations, workers): (usize, usize),
    topology: &Topology,
    links: &Links,
    mut peers: Vec<P>,
    observation: (&R, Schedule),
    interrupt: &AtomicBool,
    on_row: &mut dyn FnMut(Row<R::Local>) -> Flow,
) -> Result<Outcome<R::Local>, NetworkError> {
    let layout = &Layout::new(topology, |_| 1, 1, 1);
    let parts = peers.first().map_or(1, Peer::parts);
    let mut shares = Vec::new();
    for number in 1..simulations {
        let part = parts * number / simulations..parts * (number + 1) / simulations;
        let share: Option<Vec<P>> =
            peers.iter_mut().map(|peer| peer.split_off(part.clone())).collect();
        shares.push(share.expect("a peer with several parts can be split"));
    }
    shares.insert(0, peers);
    let mut shares = shares.into_iter();

    let (stop, abandoned) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let ends = std::thread::scope(|scope| {
        let (rows, measured) = bounded(ROWS_AHEAD * simulations);
        let _raised = RaiseOnDrop(abandoned);
        let mut handles = Vec::new();
        for worker in 0..workers {
            let own = simulations * worker / workers..simulations * (worker + 1) / workers;
            let own: Vec<_> = shares.by_ref().take(own.len()).collect();
            let rows = rows.clone();
            let gathering = move |reached| Gathering::new(observation, 0, reached, rows.clone());
            handles.push(scope.spawn(move || {
                let asked_to_stop =
                    || [stop, abandoned, interrupt].iter().any(|flag| flag.load(Ordering::Relaxed));
                let _raised = RaiseOnPanic(abandoned);
                let begin = |peers| {
                    let peers = layout.by_place(peers);
                    let household = Household::new(peers, layout.peers_of(0), topology, links);
                    let come = (household, 0);
                    let shard = Shard::new(0, layout, come, topology, links, &gathering, false);
                    (shard, Exchange::between(0..1, None).remove(0))
                };
                by_turns(own.into_iter().map(begin).collect(), abandoned, asked_to_stop)
            }));
        }
        drop(rows);
        let slots = observation.1.slots(topology.peers());
        collect(&measured, slots, layout.order(), on_row, || stop.store(true, Ordering::Relaxed));
        handles.into_iter().map(|handle| handle.join()).collect::<Vec<_>>()
    });
    let mut all: Option<Remains<P>> = None;
    let mut others = Vec::new();
    let ends = ends.into_iter().map(|ends| ends.unwrap_or_else(|payload| resume_unwind(payload)));
    for end in ends.flatten() {
        match end {
            Ok(Some(remains)) => match &mut all {
                Some(all) => join(all, remains),
                None => all = Some(remains),
            },
            Ok(None) => others.push(Ok(None)),
            Err(failure) => others.push(Err(failure)),
        }
    }
    // Failures first: that others were told to stop follows from them.
    others.sort_by_key(Result::is_ok);
    let quiet = all.map(|(peers, sent)| {
        let ids = (0..).map(|place| layout.peer(place));
        let sent = sent.iter().map(|(messages, bytes, account)| (*messages, *bytes, account));
        Quiet::of(observation.0, ids.zip(&peers), sent)
    });
    others.extend(quiet.map(|quiet| Ok(Some(quiet))));
    outcome(others, stop.load(Ordering::Relaxed), layout.order(), topology)
}

/// Runs simulations of one worker, some windows of each by turns, until all have come to an end: how each did,
/// in their order.
fn by_turns<P: Peer, R: Probe>(
    simulations: Vec<Simulation<'_, P, R>>,
    abandoned: &AtomicBool,
    asked_to_stop: impl Fn() -> bool,
) -> Vec<End<P>> {
    // One alone goes on to its end.
    let windows = if simulations.len() > 1 { WINDOWS } else { usize::MAX };
    let mut ends: Vec<_> = simulations.iter().map(|_| Ok(None)).collect();
    let mut at_work: Vec<_> = (0..).zip(simulations).map(|each| (each, None)).collect();
    while !at_work.is_empty() {
        let turn = |((number, (mut shard, mut exchange)), window)| {
            match work(&mut shard, &mut exchange, window, windows, &asked_to_stop) {
                Ok(Rest::Enough(next)) => return Some(((number, (shard, exchange)), Some(next))),
                Ok(rest) => ends[number] = Ok((rest == Rest::Quiet).then(|| shard.dissolve())),
                Err(failure) => {
                    abandoned.store(true, Ordering::Relaxed);
                    ends[number] = Err(failure);
                }
            }
            None
        };
        at_work = at_work.into_iter().filter_map(turn).collect();
    }
    ends
}

/// Adds what one simulation leaves to what another one does.
fn join<P: Peer>((peers, sent): &mut Remains<P>, others: Remains<P>) {
    peers.iter_mut().zip(others.0).for_each(|(peer, other)| peer.join(other));
    for ((messages, bytes, account), other) in sent.iter_mut().zip(others.1) {
        *messages += other.0;
        *bytes += other.1;
        account.merge(&other.2);
    }
}
