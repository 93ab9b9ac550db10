//! From peers' deposits to complete rows.

use std::collections::BTreeMap;

use crossbeam_channel::{Receiver, Sender};

use crate::units::{PeerId, Round, SimTime};

/// Which rounds are measured: the first, every `every`-th, and the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// At least 1.
    pub every: u32,
    /// The last round that the protocol may reach.
    pub last: Round,
}

impl Schedule {
    /// Whether this round is measured.
    pub fn measures(&self, round: Round) -> bool {
        round.0 == 1 || round.0.is_multiple_of(self.every) || round == self.last
    }
}

/// What is computed beside each peer, on its worker, when it deposits a state.
pub trait Probe: Sync {
    /// Figures of one peer and round.
    type Local: Clone + Default + Send;

    /// Looks at a state: measuring is omniscient.
    fn local(&self, peer: PeerId, scored: &[f64]) -> Self::Local;
}

/// Whether the run goes on after a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// On.
    Continue,
    /// This row is the last.
    Stop,
}

/// All peers' deposits of one round, in peer order.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<L> {
    /// The round.
    pub round: Round,
    /// When the last peer ended it.
    pub time: SimTime,
    /// Messages sent so far, retransmissions included.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Releases without protection so far.
    pub releases: u64,
    /// Length of one peer's state.
    pub dimension: usize,
    /// The states, one after the other.
    pub scored: Vec<f64>,
    /// Each peer's own residual.
    pub residuals: Vec<f64>,
    /// Each peer's figures.
    pub locals: Vec<L>,
}

impl<L> Row<L> {
    /// One peer's state.
    pub fn state(&self, peer: PeerId) -> &[f64] {
        &self.scored[peer.index() * self.dimension..][..self.dimension]
    }
}

/// What one peer leaves at the end of a round.
pub(super) struct Deposit<'a> {
    pub peer: PeerId,
    pub round: Round,
    pub scored: &'a [f64],
    pub residual: f64,
    pub time: SimTime,
    pub messages: u64,
    pub bytes: u64,
    pub releases: u64,
}

/// The deposits of consecutive peers, on their way to a row.
pub(super) struct Part<L> {
    first: usize,
    row: Row<L>,
}

/// A worker's side: gathers the deposits of its peers and hands over each round once it has all.
pub(super) struct Gathering<'a, R: Probe> {
    probe: &'a R,
    schedule: Schedule,
    first: usize,
    peers: usize,
    open: BTreeMap<Round, (usize, Row<R::Local>)>,
    rows: Sender<Part<R::Local>>,
}

impl<'a, R: Probe> Gathering<'a, R> {
    pub(super) fn new(
        (probe, schedule): (&'a R, Schedule),
        first: usize,
        peers: usize,
        rows: Sender<Part<R::Local>>,
    ) -> Self {
        Self { probe, schedule, first, peers, open: BTreeMap::new(), rows }
    }

    pub(super) fn deposit(&mut self, deposit: &Deposit<'_>) {
        if !self.schedule.measures(deposit.round) {
            return;
        }
        let d = deposit.scored.len();
        let (missing, row) = self.open.entry(deposit.round).or_insert_with(|| {
            let row = Row {
                round: deposit.round,
                time: SimTime::ZERO,
                messages: 0,
                bytes: 0,
                releases: 0,
                dimension: d,
                scored: vec![0.0; self.peers * d],
                residuals: vec![0.0; self.peers],
                locals: vec![R::Local::default(); self.peers],
            };
            (self.peers, row)
        });
        let place = deposit.peer.index() - self.first;
        row.scored[place * d..][..d].copy_from_slice(deposit.scored);
        row.residuals[place] = deposit.residual;
        row.locals[place] = self.probe.local(deposit.peer, deposit.scored);
        row.time = row.time.max(deposit.time);
        row.messages += deposit.messages;
        row.bytes += deposit.bytes;
        row.releases += deposit.releases;
        *missing -= 1;
        if *missing == 0
            && let Some((_, row)) = self.open.remove(&deposit.round)
        {
            // The receiver is gone only when the run is ending anyway.
            let _ = self.rows.send(Part { first: self.first, row });
        }
    }
}

/// The measuring side: joins parts to rows and passes them on, in the order of rounds, until the
/// receiver of rows has had enough or all workers have hung up. `stop` is called once, when it has
/// had enough.
pub(super) fn collect<L>(
    parts: &Receiver<Part<L>>,
    peers: usize,
    on_row: &mut dyn FnMut(Row<L>) -> Flow,
    stop: impl Fn(),
) {
    let mut open: BTreeMap<Round, Vec<Part<L>>> = BTreeMap::new();
    let mut going = true;
    for part in parts {
        if !going {
            continue;
        }
        let round = part.row.round;
        let together = open.entry(round).or_default();
        together.push(part);
        if together.iter().map(|part| part.row.residuals.len()).sum::<usize>() < peers {
            continue;
        }
        let Some(row) = open.remove(&round).and_then(join) else { continue };
        if on_row(row) == Flow::Stop {
            going = false;
            stop();
        }
    }
}

fn join<L>(mut parts: Vec<Part<L>>) -> Option<Row<L>> {
    parts.sort_by_key(|part| part.first);
    parts.into_iter().map(|part| part.row).reduce(|mut row, next| {
        row.time = row.time.max(next.time);
        row.messages += next.messages;
        row.bytes += next.bytes;
        row.releases += next.releases;
        row.scored.extend(next.scored);
        row.residuals.extend(next.residuals);
        row.locals.extend(next.locals);
        row
    })
}
