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
//! on who shares its worker or where windows end, so neither does any result. So peers may move from
//! worker to worker between two windows, where some workers have more to do than others.

mod apart;
mod balance;
mod board;
mod cores;
mod event;
mod exchange;
mod household;
mod keeping;
mod layout;
mod mail;
#[cfg(test)]
mod oracle;
mod port;
mod posts;
mod shard;
mod together;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crossbeam_channel::{bounded, unbounded};

use self::balance::Left;
#[cfg(test)]
pub(crate) use self::balance::rehearsal::cut_anywhere;
pub use self::board::{Arrival, Arrivals};
use self::event::Verdict;
use self::exchange::{Agreed, Exchange, Lead, Parts};
use self::household::{Household, Vans};
use self::keeping::{Desk, Keeping};
pub use self::layout::{Layout, Standing};
use self::shard::Shard;
pub use self::together::{Together, Turns};
use super::error::{NAMED, NetworkError, panic_message};
use super::links::Links;
use super::observe::{
    Flow, Gathering, Parting, Probe, Row, Schedule, Totals, by_peer, collect, parting,
};
use super::peer::Peer;
use super::ranks::Ranks;
use super::share::{Joining, Shelf};
use super::{Ending, Measured, Outcome, Topology};
use crate::privacy::{Account, Exposure, pack_fields};
use crate::units::{PeerId, Round};

/// Rows that workers may be ahead of the measuring thread.
const ROWS_AHEAD: usize = 4;

/// Runs all peers in this process, on so many workers.
pub(super) fn run<P: Peer, R: Probe>(
    workers: usize,
    topology: &Topology,
    links: &Links,
    peers: Vec<P>,
    observation: (&R, Schedule),
    interrupt: &AtomicBool,
    on_row: &mut dyn FnMut(Row<R::Local>) -> Flow,
) -> Result<Outcome<R::Local>, NetworkError> {
    let simulations = apart::simulations(&peers, workers);
    if simulations > 1 && links.hold_nothing_up() && observation.1.rows() <= apart::MOST_ROWS {
        let split = (simulations, workers.min(simulations));
        return apart::run(split, topology, links, peers, observation, interrupt, on_row);
    }
    let layout = Layout::new(topology, |peer| peers[peer.index()].weight(), 1, workers);
    let peers = layout.by_place(peers);
    let on_row = &mut |measured| match measured {
        Measured::Whole(row) => on_row(row),
        Measured::Surveyed(_) => unreachable!("in one process rows are whole"),
    };
    run_share((&layout, None), topology, links, peers, observation, interrupt, on_row)
}

/// Runs the peers of this process, in the order of their places, and with other ranks, if there are any,
/// those of the others. Rows, and how it ended, are known on rank 0 alone.
pub(super) fn run_share<P: Peer, R: Probe>(
    (layout, ranks): (&Layout, Option<&dyn Ranks>),
    topology: &Topology,
    links: &Links,
    peers: Vec<P>,
    observation: (&R, Schedule),
    interrupt: &AtomicBool,
    on_row: &mut dyn FnMut(Measured<R>) -> Flow,
) -> Result<Outcome<R::Local>, NetworkError> {
    let (stop, abandoned) = (AtomicBool::new(false), AtomicBool::new(false));
    let rank = ranks.map_or(0, Ranks::rank);
    let stay = ranks.is_some() && observation.1.stays_on_ranks();
    let shelf = Mutex::new(Shelf::new(layout.peers_of(rank).len()));

    let ends = std::thread::scope(|scope| {
        // Owned by the scope: if measuring panics, the workers find the channel closed and the flag
        // set, and the scope can end.
        let (rows, parts) = match ranks {
            None => bounded(ROWS_AHEAD * layout.workers()),
            // Parts of other ranks wait there, until they are asked for, and not here.
            Some(_) if rank == 0 && !stay => bounded(layout.workers()),
            Some(_) => unbounded(),
        };
        let (found, surveyed) = bounded(1);
        let (decide, decisions) = bounded(1);
        let _raised = RaiseOnDrop(&abandoned);
        let shards = layout.shards_of(rank);
        let lead = ranks.map(|ranks| {
            let desk = || Desk { rows: found, decisions, joining: Joining::new(), stopped: false };
            let parts = if stay {
                let desk = (rank == 0).then(desk);
                Parts::Kept(Keeping::new(parts.clone(), &shelf, layout, topology.peers(), desk))
            } else if rank == 0 {
                Parts::Measured(rows.clone())
            } else {
                Parts::Sent(parts.clone())
            };
            Lead::new(ranks, layout.linked_to(topology, rank), observation.0, parts)
        });
        let mut peers = peers.into_iter();
        let exchanges = Exchange::between(shards.clone(), lead);
        let ways = exchanges.into_iter().zip(Vans::between(shards.len()));
        let mut handles = Vec::new();
        for (worker, ways) in shards.zip(ways) {
            let own: Vec<P> = peers.by_ref().take(layout.range(worker).len()).collect();
            let gathering = {
                let rows = rows.clone();
                move |first, reached| {
                    let gathering = Gathering::new(observation, first, reached, rows.clone());
                    if rank == 0 { gathering } else { gathering.leaving_tokens() }
                }
            };
            let (stop, abandoned) = (&stop, &abandoned);
            handles.push(scope.spawn(move || {
                let asked_to_stop =
                    || [stop, abandoned, interrupt].iter().any(|flag| flag.load(Ordering::Relaxed));
                let place = (worker, layout);
                live(place, own, (topology, links), gathering, ways, asked_to_stop)
            }));
        }
        drop(rows);
        let stop = || stop.store(true, Ordering::Relaxed);
        if stay {
            for row in surveyed {
                let flow = on_row(Measured::Surveyed(row));
                if flow == Flow::Stop {
                    stop();
                }
                // The receiver is gone only when the run is ending anyway.
                let _ = decide.send(flow);
            }
        } else if rank == 0 {
            let slots = observation.1.slots(topology.peers());
            collect(&parts, slots, layout.order(), &mut |row| on_row(Measured::Whole(row)), stop);
        }
        handles.into_iter().map(|handle| handle.join()).collect::<Vec<_>>()
    });
    let stopped = stop.into_inner();
    // Where the engine itself failed, outside of any peer, it is not ours to dress up.
    let ends = ends.into_iter().map(|end| end.unwrap_or_else(|payload| resume_unwind(payload)));
    let mut ends: Vec<WorkerEnd<R::Local>> = ends.collect();
    let order = layout.order();
    let Some(ranks) = ranks else { return outcome(ends, stopped, order, topology) };
    // What each peer has told stays here, too, where rows do.
    let quiet = ends.iter_mut().flatten().flatten().filter(|_| stay);
    let told: Vec<Exposure> = quiet.flat_map(Quiet::summed_up).collect();
    // Who stands where nobody knows of all, where each knows its own.
    let standing = if stay { Vec::new() } else { layout.own_order(rank) };
    let (mut all, mut order) = (Vec::new(), order.to_vec());
    ranks.each_taken((ends, standing), |(ends, standing)| {
        all.extend(ends);
        order.extend(standing);
    })?;
    let outcome = match rank {
        0 => outcome(all, stopped, &order, topology),
        _ => Ok(Outcome::cut_short(Ending::Finished)),
    };
    if !stay {
        return outcome;
    }
    let retired = outcome.as_ref().is_ok_and(|outcome| outcome.ending == Ending::Retired);
    let retired = ranks.from_lead(Some(retired))?.unwrap_or_default();
    let shelf = shelf.into_inner().unwrap_or_else(PoisonError::into_inner);
    let share = shelf.into_share(|place| layout.peer(place), retired.then(|| told.into_iter()));
    Ok(Outcome { share: Some(share), ..outcome? })
}

/// How the run ended, from how all workers did, in their order. `order` says who stands at each place, unless
/// everybody stands at the place of its number.
fn outcome<L>(
    ends: Vec<WorkerEnd<L>>,
    stopped: bool,
    order: &[PeerId],
    topology: &Topology,
) -> Result<Outcome<L>, NetworkError> {
    let name = |peer: PeerId| topology.name(peer).into_owned();
    let mut waiting = Vec::new();
    let (mut quiescent, mut retired) = (true, false);
    let (mut sent, mut partings) = (Vec::new(), Vec::new());
    for end in ends {
        match end {
            Ok(Some(Quiet { waiting: waits, retired: left, partings: parted, sent: more })) => {
                waiting.extend(waits);
                retired |= left;
                partings.extend(parted);
                sent.extend(more);
            }
            Ok(None) => quiescent = false,
            // What peers do beyond the row that stopped the run is not reported.
            Err(_) if stopped => {}
            Err((peer, message)) => {
                return Err(NetworkError::Failed { peer: name(peer), message });
            }
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
    // Where it was summed up by worker there is no order of peers.
    let each = sent.len() == topology.peers();
    let sent = if each { by_peer(order, sent) } else { sent };
    for (messages, bytes, exposure) in sent {
        totals.add(messages, bytes, exposure);
    }
    let partings = by_peer(order, partings).into_iter().flatten().collect();
    if retired {
        Ok(Outcome { ending: Ending::Retired, totals, partings, share: None })
    } else if waiting.is_empty() {
        Ok(Outcome { ending: Ending::Finished, totals, partings, share: None })
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

/// How a worker ended: quiet, or told to stop by another, or by a peer that could not go on.
type WorkerEnd<L> = Result<Option<Quiet<L>>, (PeerId, String)>;

/// What a worker has to say when nothing is under way any more.
struct Quiet<L> {
    /// Who of its peers still waits, and for whom.
    waiting: Vec<(PeerId, Vec<PeerId>)>,
    /// Whether any have retired.
    retired: bool,
    /// In the order of places, like what was sent: messages, bytes, and what they tell.
    partings: Vec<Option<Parting<L>>>,
    sent: Vec<(u64, u64, Exposure)>,
}

pack_fields!(Quiet<L> { waiting, retired, partings, sent });

impl<L> Quiet<L> {
    /// Says no more of single peers than who waits: what each has told, which is left here in one sum.
    fn summed_up(&mut self) -> Vec<Exposure> {
        self.partings = Vec::new();
        let sent = std::mem::take(&mut self.sent);
        let (messages, bytes) =
            (sent.iter().map(|one| one.0).sum(), sent.iter().map(|one| one.1).sum());
        let told: Vec<Exposure> = sent.into_iter().map(|(.., exposure)| exposure).collect();
        self.sent = vec![(messages, bytes, Exposure::worst(&told))];
        told
    }

    /// Of peers in the order of places, from the first of `ids` on, and of each the messages, the bytes and
    /// the account.
    fn of<'a, P: Peer + 'a, R: Probe<Local = L>>(
        probe: &R,
        peers: impl Iterator<Item = (PeerId, &'a P)> + Clone,
        sent: impl Iterator<Item = (u64, u64, &'a Account)>,
    ) -> Self {
        let waits = peers.clone().map(|(id, peer)| (id, peer.waiting_for()));
        let parting = |(id, peer): (PeerId, &P)| Some(parting(probe, id, &peer.parting()?));
        Self {
            waiting: waits.filter(|(_, others)| !others.is_empty()).collect(),
            retired: peers.clone().any(|(_, peer)| peer.retired()),
            partings: peers.map(parting).collect(),
            sent: sent
                .map(|(messages, bytes, account)| (messages, bytes, account.exposure()))
                .collect(),
        }
    }
}

/// One worker's life: with some peers, and later with others, until the run is over.
fn live<'a, P: Peer, R: Probe>(
    (worker, layout): (usize, &Layout),
    peers: Vec<P>,
    (topology, links): (&'a Topology, &'a Links),
    gathering: impl Fn(usize, Vec<Option<Round>>) -> Gathering<'a, R>,
    (mut exchange, vans): (Exchange<'a, P::Message, R>, Vans<P>),
    asked_to_stop: impl Fn() -> bool,
) -> WorkerEnd<R::Local> {
    let mut layout = layout.clone();
    let ids = layout.range(worker).map(|place| layout.peer(place));
    let mut household = Household::new(peers, ids, topology, links);
    let (mut window, mut left) = (None, None);
    loop {
        let come = (household, left.map_or(0, |left: Left| left.windows));
        let first = layout.range(worker).start;
        let gathering = |reached| gathering(first, reached);
        let mut shard = Shard::new(worker, &layout, come, topology, links, gathering, true);
        shard.settle(left);
        match work(&mut shard, &mut exchange, window, usize::MAX, &asked_to_stop)? {
            Rest::Quiet => return Ok(Some(shard.quiet())),
            Rest::Told => return Ok(None),
            Rest::Moves(next, cut_anew) => {
                let (parts, when) = shard.divided(&cut_anew);
                (window, left, layout) = (Some(next), Some(when), cut_anew);
                // If another worker is no more, its own end says how.
                let Ok(moved) = vans.moved(parts) else { return Ok(None) };
                household = moved;
            }
            Rest::Enough(_) => unreachable!("no run has so many windows"),
        }
    }
}

/// Why a worker leaves off.
#[derive(PartialEq)]
enum Rest {
    /// Nothing is under way any more.
    Quiet,
    /// It was told to stop.
    Told,
    /// From this window on, others run its peers.
    Moves(u64, Layout),
    /// It has run as many windows as it was asked to; this one is next.
    Enough(u64),
}

/// Starts the peers, unless there was a window before, then runs so many windows one after the other, or fewer
/// if nothing is under way any more, or it was told to stop, or peers move, or a peer could not go on.
fn work<P: Peer, R: Probe>(
    shard: &mut Shard<'_, P, R>,
    exchange: &mut Exchange<'_, P::Message, R>,
    mut window: Option<u64>,
    windows: usize,
    asked_to_stop: impl Fn() -> bool,
) -> Result<Rest, (PeerId, String)> {
    for _ in 0..windows {
        let mut failure = caught(shard, |shard| shard.border(window, &asked_to_stop));
        let agreed = exchange.swap(shard, &mut |shard| {
            if failure.is_none() {
                failure = caught(shard, |shard| shard.interior(window, &asked_to_stop));
            }
            match &failure {
                Some(_) => Verdict::Failed,
                None if shard.broken_off() => Verdict::Failed,
                None if asked_to_stop() => Verdict::Stop,
                None => Verdict::Go,
            }
        });
        if let Some(failure) = failure {
            return Err(failure);
        }
        let Agreed { verdict, next, layout } = agreed;
        match (verdict, next, layout) {
            (Verdict::Failed, ..) | (Verdict::Stop, Some(_), _) => return Ok(Rest::Told),
            (_, None, _) => return Ok(Rest::Quiet),
            (Verdict::Go, Some(next), Some(layout)) => return Ok(Rest::Moves(next, layout)),
            (Verdict::Go, next, None) => window = next,
        }
    }
    Ok(window.map_or(Rest::Quiet, Rest::Enough))
}

/// Does something with a shard: the peer that could not go on, and why, if there was one.
fn caught<'a, P: Peer, R: Probe>(
    shard: &mut Shard<'a, P, R>,
    act: impl FnOnce(&mut Shard<'a, P, R>),
) -> Option<(PeerId, String)> {
    match catch_unwind(AssertUnwindSafe(|| act(shard))) {
        Ok(()) => shard.failure(),
        Err(payload) => Some((shard.running(), panic_message(&*payload))),
    }
}
