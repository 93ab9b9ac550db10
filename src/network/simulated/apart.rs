//! Parts of the work that have nothing to do with each other, each in a simulation of its own.
//!
//! Ten tokens on a few peers are ten things that happen at a time, hardly worth the meeting of workers after
//! each window. But where nothing holds up anything, what happens to one token does not depend on any
//! other: every worker takes some of the tokens, has all peers for itself, and meets nobody.

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

/// Rows that may wait for the slowest of the simulations: nothing else holds back the others.
pub(super) const MOST_ROWS: u32 = 1000;

/// What a simulation leaves: its peers, and of each the messages, the bytes and the account.
type Remains<P> = (Vec<P>, Vec<(u64, u64, Account)>);

/// Raises a flag when a simulation breaks down, for the others to end.
struct RaiseOnPanic<'a>(&'a AtomicBool);

impl Drop for RaiseOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs the peers' work in so many simulations. Where several fail, which of them is told depends on which
/// was first.
pub(super) fn run<P: Peer, R: Probe>(
    simulations: usize,
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

    let (stop, abandoned) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let ends = std::thread::scope(|scope| {
        let (rows, measured) = bounded(ROWS_AHEAD * simulations);
        let _raised = RaiseOnDrop(abandoned);
        let mut handles = Vec::new();
        for share in shares {
            let peers = layout.by_place(share);
            let rows = rows.clone();
            let gathering = move |reached| Gathering::new(observation, 0, reached, rows);
            handles.push(scope.spawn(move || {
                let asked_to_stop =
                    || [stop, abandoned, interrupt].iter().any(|flag| flag.load(Ordering::Relaxed));
                let _raised = RaiseOnPanic(abandoned);
                let household = Household::new(peers, layout.peers_of(0), topology, links);
                let household = (household, 0);
                let mut shard = Shard::new(0, layout, household, topology, links, gathering, false);
                let mut exchange = Exchange::between(0..1, None).remove(0);
                match work(&mut shard, &mut exchange, None, asked_to_stop) {
                    Ok(rest) => Ok((rest == Rest::Quiet).then(|| shard.dissolve())),
                    Err(failure) => {
                        abandoned.store(true, Ordering::Relaxed);
                        Err(failure)
                    }
                }
            }));
        }
        drop(rows);
        let slots = observation.1.slots(topology.peers());
        collect(&measured, slots, layout.order(), on_row, || stop.store(true, Ordering::Relaxed));
        handles.into_iter().map(|handle| handle.join()).collect::<Vec<_>>()
    });
    let mut all: Option<Remains<P>> = None;
    let mut others = Vec::new();
    for end in ends {
        match end.unwrap_or_else(|payload| resume_unwind(payload)) {
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

/// Adds what one simulation leaves to what another one does.
fn join<P: Peer>((peers, sent): &mut Remains<P>, others: Remains<P>) {
    peers.iter_mut().zip(others.0).for_each(|(peer, other)| peer.join(other));
    for ((messages, bytes, account), other) in sent.iter_mut().zip(others.1) {
        *messages += other.0;
        *bytes += other.1;
        account.merge(&other.2);
    }
}
