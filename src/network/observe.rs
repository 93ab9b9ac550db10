//! From peers' deposits to complete rows.

use std::collections::BTreeMap;
use std::ops::Range;

use crossbeam_channel::{Receiver, Sender};
use serde::{Deserialize, Serialize};

use crate::privacy::{Account, Exposure, Pack, Spent, pack_fields};
use crate::units::{PeerId, Round, SimTime};

/// Which rounds are measured: the first, every `every`-th, and the last; and who leaves something to
/// be measured in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// At least 1.
    every: u32,
    /// The last round that the protocol may reach.
    last: Round,
    /// How many tokens are under way; none where every peer deposits.
    tokens: Option<u32>,
    /// Whether rows stay where the peers are, on several ranks.
    surveyed: bool,
}

impl Schedule {
    /// Every peer leaves its state in every `every`-th round.
    pub const fn of_peers(every: u32, last: Round) -> Self {
        Self { every, last, tokens: None, surveyed: false }
    }

    /// Each of so many tokens is measured at every `every`-th of its updates, wherever it is then.
    pub const fn of_tokens(every: u32, last: Round, tokens: u32) -> Self {
        Self { every, last, tokens: Some(tokens), surveyed: false }
    }

    /// The same where rows of peers stay on their ranks, which tell what they [find](Probe::look) in them. In
    /// one process rows are whole whatever this says.
    #[must_use]
    pub const fn surveyed(self) -> Self {
        Self { surveyed: self.tokens.is_none(), ..self }
    }

    /// Whether they do.
    pub(super) fn stays_on_ranks(&self) -> bool {
        self.surveyed
    }

    /// How many deposits make a row.
    pub(super) fn slots(&self, peers: usize) -> usize {
        self.tokens.map_or(peers, |tokens| tokens as usize)
    }

    /// How many rounds are measured, at the most.
    pub(super) fn rows(&self) -> u32 {
        (self.last.0 / self.every).saturating_add(2)
    }

    /// Whether this round is measured.
    #[inline]
    pub fn measures(&self, round: Round) -> bool {
        // Every peer asks in every round: most answers take no division.
        let too_early = (1..self.every).contains(&round.0);
        round.0 == 1 || round == self.last || !too_early && round.0.is_multiple_of(self.every)
    }
}

/// What is computed beside each peer, on its worker, when it deposits a state.
pub trait Probe: Sync {
    /// Figures of one peer and round.
    type Local: Clone + Default + Send + Sync + Pack;

    /// Figures of many peers together, where their [rows stay on ranks](Schedule::surveyed).
    type Found: Found;

    /// Looks at what a peer left: measuring is omniscient.
    fn local(&self, peer: PeerId, snapshot: &Snapshot<'_>) -> Self::Local;

    /// Looks at what a token carried when it was measured.
    fn token(&self, _task: u32, _snapshot: &Snapshot<'_>) -> Self::Local {
        Self::Local::default()
    }

    /// Looks at what some peers left in a round, the k-th of them being `peer(k)`. All are looked at twice:
    /// what was found the first time, in all of them `together`, is known the second time.
    fn look(
        &self,
        _row: &Row<Self::Local>,
        _peer: &dyn Fn(usize) -> PeerId,
        _together: Option<&Self::Found>,
    ) -> Self::Found {
        Self::Found::default()
    }

    /// Looks at the models that a peer keeps for itself, when the run is over.
    fn parting(&self, _peer: PeerId, _models: &[f64]) -> Self::Local {
        Self::Local::default()
    }
}

/// Figures that can be found of some peers, and joined with those of others, in any order.
pub trait Found: Clone + Default + Send + Sync + Pack {
    /// Becomes those of both.
    fn join(&mut self, other: Self);

    /// As much of those of all peers as the second look takes, to be told to everybody.
    #[must_use]
    fn told(&self) -> Self {
        self.clone()
    }
}

impl Found for () {
    fn join(&mut self, (): Self) {}
}

/// What a peer leaves to be measured at the end of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Snapshot<'a> {
    /// The state that is scored.
    pub scored: &'a [f64],
    /// The mean of its scored states so far, where the peer keeps it.
    pub average: Option<&'a [f64]>,
    /// The norm of its own residual.
    pub residual: f64,
}

impl<'a> Snapshot<'a> {
    /// A state and nothing else.
    pub fn of(scored: &'a [f64]) -> Self {
        Self { scored, average: None, residual: 0.0 }
    }
}

/// What a token has been through. It rides along for the measurement alone, and weighs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Journey {
    /// Messages that carried it, each counted once however often it was transmitted.
    pub hops: u64,
    /// The bytes of these messages.
    pub bytes: u64,
    /// Visits that left it as it was, since the peer had nothing to add.
    pub forwards: u64,
    /// Updates of it, the other ones being of a peer's own model.
    pub releases: u64,
    /// Those among them without protection.
    pub clear: u64,
    /// Σμ² of the most exposed record by these releases, where only its label differs and where all
    /// of it does.
    pub exposed: [f64; 2],
}

pack_fields!(Journey { hops, bytes, forwards, releases, clear, exposed });

impl Journey {
    /// What its releases tell about any one record.
    fn exposure(&self) -> Exposure {
        let [label, record] = self.exposed.map(|squared| match self.clear {
            0 => Spent::gaussian(squared.sqrt()),
            _ => Spent::unbounded(),
        });
        Exposure { clear: self.clear, label, record, outside: None }
    }
}

/// What a peer has done by the end of a run, and the models that it kept for itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work<'a> {
    /// Times it trained, its own model or a token's.
    pub updates: u64,
    /// Those of a token's.
    pub releases: u64,
    /// Tokens that it passed on as they were.
    pub forwards: u64,
    /// Its own models, one after the other; empty where it keeps none.
    pub models: &'a [f64],
}

/// The same with figures of the models in their place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parting<L> {
    /// Times it trained.
    pub updates: u64,
    /// Those of a token's model.
    pub releases: u64,
    /// Tokens that it passed on as they were.
    pub forwards: u64,
    /// Figures of its own models.
    pub local: L,
}

pack_fields!(Parting<L> { updates, releases, forwards, local });

/// Whether the run goes on after a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// On.
    Continue,
    /// This row is the last.
    Stop,
}

/// All peers' deposits of one round, in peer order; or all tokens', in the order of tasks.
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
    /// What each peer's releases so far tell about one of its records; of tokens, what each token's
    /// tell about any.
    pub exposures: Vec<Exposure>,
    /// Length of one peer's state.
    pub dimension: usize,
    /// The states, one after the other.
    pub scored: Vec<f64>,
    /// Each peer's own residual.
    pub residuals: Vec<f64>,
    /// Each peer's figures.
    pub locals: Vec<L>,
    /// The means of the states so far, one after the other, where tokens carry them.
    pub averages: Vec<f64>,
    /// What each token has been through; empty where there are none.
    pub journeys: Vec<Journey>,
}

pack_fields!(Row<L> {
    round, time, messages, bytes, exposures, dimension, scored, residuals, locals, averages, journeys,
});

impl<L> Row<L> {
    /// One peer's, or token's, state.
    pub fn state(&self, peer: PeerId) -> &[f64] {
        &self.scored[peer.index() * self.dimension..][..self.dimension]
    }
}

impl<L: Clone> Row<L> {
    /// Takes some peers' deposits out of it, and the sums of all that were not taken yet.
    fn take(&mut self, peers: Range<usize>) -> Self {
        let states = peers.start * self.dimension..peers.end * self.dimension;
        Self {
            round: self.round,
            time: std::mem::take(&mut self.time),
            messages: std::mem::take(&mut self.messages),
            bytes: std::mem::take(&mut self.bytes),
            exposures: taken(&mut self.exposures, peers.clone()),
            dimension: self.dimension,
            scored: taken(&mut self.scored, states),
            residuals: taken(&mut self.residuals, peers.clone()),
            locals: taken(&mut self.locals, peers),
            averages: Vec::new(),
            journeys: Vec::new(),
        }
    }
}

/// Some of the values: where that is all, they are not copied.
fn taken<T: Clone>(values: &mut Vec<T>, some: Range<usize>) -> Vec<T> {
    if some.len() == values.len() { std::mem::take(values) } else { values[some].to_vec() }
}

/// What belongs to peers, from the order of places to that of peers. `order` says who stands at each
/// place; it is empty where that is its number.
pub(super) fn by_peer<T>(order: &[PeerId], by_place: Vec<T>) -> Vec<T> {
    if order.is_empty() {
        return by_place;
    }
    let mut values: Vec<Option<T>> = by_place.iter().map(|_| None).collect();
    for (peer, value) in order.iter().zip(by_place) {
        values[peer.index()] = Some(value);
    }
    values.into_iter().flatten().collect()
}

/// What all peers have sent by the end of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Messages, retransmissions included.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What each peer's releases tell about one of its records; where rows [stay on
    /// ranks](Schedule::surveyed), the worst of each worker's peers.
    pub exposures: Vec<Exposure>,
}

impl Totals {
    /// Adds the next peer.
    pub(super) fn add(&mut self, messages: u64, bytes: u64, exposure: Exposure) {
        self.messages += messages;
        self.bytes += bytes;
        self.exposures.push(exposure);
    }
}

/// What one peer leaves at the end of a round.
pub(super) struct Deposit<'a> {
    pub peer: PeerId,
    /// Its place among the peers of its worker.
    pub place: usize,
    pub round: Round,
    pub snapshot: &'a Snapshot<'a>,
    pub account: &'a Account,
    pub time: SimTime,
    pub messages: u64,
    pub bytes: u64,
}

/// The deposits of consecutive peers, on their way to a row.
pub(super) struct Part<L> {
    pub(super) first: usize,
    pub(super) row: Row<L>,
}

pack_fields!(Part<L> { first, row });

impl<L> Part<L> {
    /// The same with the figures of what a token carried: they take the samples of all peers.
    pub(super) fn with_tokens_scored<R: Probe<Local = L>>(mut self, probe: &R) -> Self {
        let row = &mut self.row;
        if !row.journeys.is_empty() {
            let average = (!row.averages.is_empty()).then_some(row.averages.as_slice());
            let residual = row.residuals.first().copied().unwrap_or_default();
            let snapshot = Snapshot { scored: &row.scored, average, residual };
            row.locals = vec![probe.token(self.first as u32, &snapshot)];
        }
        self
    }
}

/// A worker's side: gathers the deposits of its peers and hands over each round once it has all.
pub(super) struct Gathering<'a, R: Probe> {
    probe: &'a R,
    schedule: Schedule,
    first: usize,
    /// Whether tokens are scored here, and not where all rows are.
    scores_tokens: bool,
    /// The last measured round of each peer, when it came here and now: rounds up to the first were gathered
    /// elsewhere.
    before: Vec<Option<Round>>,
    reached: Vec<Option<Round>>,
    /// Rounds that some have left something in and others have not yet: how many of these.
    open: BTreeMap<Round, (usize, Row<R::Local>)>,
    rows: Sender<Part<R::Local>>,
}

impl<'a, R: Probe> Gathering<'a, R> {
    /// For the peers from a place on, of whom each has left something in rounds up to this already.
    pub(super) fn new(
        (probe, schedule): (&'a R, Schedule),
        first: usize,
        reached: Vec<Option<Round>>,
        rows: Sender<Part<R::Local>>,
    ) -> Self {
        let (open, before) = (BTreeMap::new(), reached.clone());
        Self { probe, schedule, first, scores_tokens: true, before, reached, open, rows }
    }

    /// The same, which leaves it to another process to score tokens.
    #[must_use]
    pub(super) fn leaving_tokens(self) -> Self {
        Self { scores_tokens: false, ..self }
    }

    /// Which rounds are measured.
    #[inline]
    pub(super) fn schedule(&self) -> Schedule {
        self.schedule
    }

    /// Whether this round is measured.
    pub(super) fn measures(&self, round: Round) -> bool {
        self.schedule.measures(round)
    }

    pub(super) fn deposit(&mut self, deposit: &Deposit<'_>) {
        if !self.measures(deposit.round) {
            return;
        }
        let scored = deposit.snapshot.scored;
        let d = scored.len();
        let peers = self.reached.len();
        let (missing, row) = self.open.entry(deposit.round).or_insert_with(|| {
            let row = Row {
                round: deposit.round,
                time: SimTime::ZERO,
                messages: 0,
                bytes: 0,
                dimension: d,
                exposures: vec![Exposure::default(); peers],
                scored: vec![0.0; peers * d],
                residuals: vec![0.0; peers],
                locals: vec![R::Local::default(); peers],
                averages: Vec::new(),
                journeys: Vec::new(),
            };
            (self.before.iter().filter(|&&before| before < Some(deposit.round)).count(), row)
        });
        let place = deposit.place;
        self.reached[place] = Some(deposit.round);
        row.scored[place * d..][..d].copy_from_slice(scored);
        row.residuals[place] = deposit.snapshot.residual;
        row.exposures[place] = deposit.account.exposure();
        row.locals[place] = self.probe.local(deposit.peer, deposit.snapshot);
        row.time = row.time.max(deposit.time);
        row.messages += deposit.messages;
        row.bytes += deposit.bytes;
        *missing -= 1;
        if *missing == 0
            && let Some((_, row)) = self.open.remove(&deposit.round)
        {
            self.hand_over(row);
        }
    }

    /// Hands over what was left here in a round: all at once, unless some of the peers have left theirs
    /// elsewhere or nothing yet; then that of some, and of the next some, with the sums of all in the first.
    fn hand_over(&self, mut row: Row<R::Local>) {
        let round = Some(row.round);
        let peers = self.before.iter().zip(&self.reached);
        let here: Vec<bool> =
            peers.map(|(&before, &reached)| before < round && round <= reached).collect();
        let mut place = 0;
        for run in here.chunk_by(|a, b| a == b) {
            let some = place..place + run.len();
            place = some.end;
            if run[0] {
                let first = self.first + some.start;
                let row = row.take(some);
                // The receiver is gone only when the run is ending anyway.
                let _ = self.rows.send(Part { first, row });
            }
        }
    }

    /// Hands over what there is of every round, and says which was the last of each peer.
    pub(super) fn leave(mut self) -> Vec<Option<Round>> {
        for (_, row) in std::mem::take(&mut self.open).into_values() {
            self.hand_over(row);
        }
        self.reached
    }
}

impl<R: Probe> Gathering<'_, R> {
    /// Takes what a token carried. Tokens go from worker to worker, so each is a part of its own.
    pub(super) fn deposit_token(
        &mut self,
        (task, round): (u32, Round),
        snapshot: &Snapshot<'_>,
        journey: &Journey,
        time: SimTime,
    ) {
        if !self.schedule.measures(round) {
            return;
        }
        let row = Row {
            round,
            time,
            messages: journey.hops,
            bytes: journey.bytes,
            exposures: vec![journey.exposure()],
            dimension: snapshot.scored.len(),
            scored: snapshot.scored.to_vec(),
            residuals: vec![snapshot.residual],
            locals: vec![R::Local::default()],
            averages: snapshot.average.unwrap_or_default().to_vec(),
            journeys: vec![*journey],
        };
        let part = Part { first: task as usize, row };
        let part = if self.scores_tokens { part.with_tokens_scored(self.probe) } else { part };
        let _ = self.rows.send(part);
    }

    /// Who looks at what is left.
    pub(super) fn probe(&self) -> &R {
        self.probe
    }
}

/// What a peer leaves when the run is over, with the figures of its models.
pub(super) fn parting<R: Probe>(probe: &R, peer: PeerId, work: &Work<'_>) -> Parting<R::Local> {
    let Work { updates, releases, forwards, models } = *work;
    Parting { updates, releases, forwards, local: probe.parting(peer, models) }
}

/// A row that some have left their part of, and others not yet.
pub(super) struct Filling<L> {
    missing: usize,
    pub(super) row: Row<L>,
}

impl<L: Clone + Default> Filling<L> {
    /// Room for so many, of whom one left a part like this.
    pub(super) fn new(slots: usize, like: &Row<L>) -> Self {
        let slots_like =
            |values: usize, here: usize| if values > 0 { slots * (values / here) } else { 0 };
        let here = like.residuals.len().max(1);
        let row = Row {
            round: like.round,
            time: SimTime::ZERO,
            messages: 0,
            bytes: 0,
            exposures: vec![Exposure::default(); slots],
            dimension: like.dimension,
            scored: vec![0.0; slots * like.dimension],
            residuals: vec![0.0; slots],
            locals: vec![L::default(); slots],
            averages: vec![0.0; slots_like(like.averages.len(), here)],
            journeys: vec![Journey::default(); slots_like(like.journeys.len(), here)],
        };
        Self { missing: slots, row }
    }

    /// Puts a part where it belongs: values of the place `first + k` where `peer` says. Everything lies in
    /// its place at once, so that no more than the row and one part is there at a time.
    pub(super) fn take(
        &mut self,
        Part { first, row: part }: Part<L>,
        peer: impl Fn(usize) -> usize,
    ) {
        let row = &mut self.row;
        row.time = row.time.max(part.time);
        row.messages += part.messages;
        row.bytes += part.bytes;
        self.missing -= part.residuals.len().min(self.missing);
        let at = |k: usize| peer(first + k);
        let singles = part.exposures.into_iter().zip(part.locals).zip(part.residuals);
        for (k, ((exposure, local), residual)) in singles.enumerate() {
            row.exposures[at(k)] = exposure;
            row.locals[at(k)] = local;
            row.residuals[at(k)] = residual;
        }
        part.journeys
            .into_iter()
            .enumerate()
            .for_each(|(k, journey)| row.journeys[at(k)] = journey);
        let d = row.dimension;
        for (from, to) in [(part.scored, &mut row.scored), (part.averages, &mut row.averages)] {
            for (k, vector) in from.chunks_exact(d.max(1)).enumerate() {
                to[at(k) * d..][..d].copy_from_slice(vector);
            }
        }
    }
}

/// The measuring side: joins parts to rows and passes them on, in the order of rounds, until the
/// receiver of rows has had enough or all workers have hung up. `stop` is called once, when it has
/// had enough. `order` says who stands at each place; it is empty where that is its number.
pub(super) fn collect<L: Clone + Default>(
    parts: &Receiver<Part<L>>,
    slots: usize,
    order: &[PeerId],
    on_row: &mut dyn FnMut(Row<L>) -> Flow,
    stop: impl Fn(),
) {
    let mut open: BTreeMap<Round, Filling<L>> = BTreeMap::new();
    let mut going = true;
    for part in parts {
        if !going {
            continue;
        }
        let round = part.row.round;
        // Tokens have no places but their numbers.
        let order = if part.row.journeys.is_empty() { order } else { &[] };
        let row = if part.row.residuals.len() == slots && order.is_empty() {
            // One worker has all of it, in order.
            part.row
        } else {
            let filling = open.entry(round).or_insert_with(|| Filling::new(slots, &part.row));
            filling.take(part, |place| order.get(place).map_or(place, |peer| peer.index()));
            if filling.missing > 0 {
                continue;
            }
            let Some(Filling { row, .. }) = open.remove(&round) else { continue };
            row
        };
        if on_row(row) == Flow::Stop {
            going = false;
            stop();
        }
    }
}
