//! Rows that stay where their peers are, on several ranks.
//!
//! ```text
//! every rank   shelf: parts of its workers ──▶ first look ─┐      ┌─▶ second look ─┐
//! rank 0                                     join of all ──┴──────┘       join ────┴─▶ a row of figures
//! ```
//!
//! The states of a row are needed twice, before and after it is known what all have in common, and a last
//! time when the run is over. Until then a rank keeps those of its own peers, and nobody has them all.

use std::collections::BTreeMap;
use std::ops::Range;

use super::error::NetworkError;
use super::observe::{Filling, Found, Part, Probe, Row};
use super::ranks::Ranks;
use crate::privacy::{Exposure, Pack, pack_fields};
use crate::units::{PeerId, Round, SimTime};

/// What is known of all peers in a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Surveyed<F> {
    /// The round.
    pub round: Round,
    /// When the last peer ended it.
    pub time: SimTime,
    /// Messages sent so far, retransmissions included.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What was found in the states.
    pub found: F,
}

pack_fields!(Surveyed<F> { round, time, messages, bytes, found });

impl<F: Found> Surveyed<F> {
    /// Becomes what is known of both.
    fn join(&mut self, other: Self) {
        self.time = self.time.max(other.time);
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.found.join(other.found);
    }
}

/// The rows of one rank that all have not deposited yet, and the last that they have.
pub(super) struct Shelf<L> {
    /// How many of its peers are to deposit.
    peers: usize,
    open: BTreeMap<Round, Vec<Part<L>>>,
    last: Vec<Part<L>>,
}

impl<L> Shelf<L> {
    /// For so many peers.
    pub(super) fn new(peers: usize) -> Self {
        Self { peers, open: BTreeMap::new(), last: Vec::new() }
    }

    /// Takes the part of one worker: what is found at first sight in the row of this rank, where it is the
    /// last that was missing, and in how many peers.
    pub(super) fn take<R: Probe<Local = L>>(
        &mut self,
        part: Part<L>,
        probe: &R,
        peer: &(dyn Fn(usize) -> PeerId + Sync),
    ) -> Option<(usize, Surveyed<R::Found>)> {
        let round = part.row.round;
        let parts = self.open.entry(round).or_default();
        parts.push(part);
        let here: usize = parts.iter().map(|part| part.row.residuals.len()).sum();
        (here == self.peers).then(|| {
            let rows = || parts.iter().map(|part| &part.row);
            let seen = Surveyed {
                round,
                time: rows().map(|row| row.time).max().unwrap_or(SimTime::ZERO),
                messages: rows().map(|row| row.messages).sum(),
                bytes: rows().map(|row| row.bytes).sum(),
                found: looked(parts, probe, peer, None),
            };
            (here, seen)
        })
    }

    /// What is found at second sight in the row of this rank, which then is the last.
    pub(super) fn settle<R: Probe<Local = L>>(
        &mut self,
        round: Round,
        together: &R::Found,
        probe: &R,
        peer: &(dyn Fn(usize) -> PeerId + Sync),
    ) -> R::Found {
        self.last = self.open.remove(&round).unwrap_or_default();
        looked(&self.last, probe, peer, Some(together))
    }

    /// The last row, when the run is over. What each peer had told by then is put in the place of what it had
    /// told in that round, if it is given, in the order of places.
    pub(super) fn into_share(
        self,
        peer: impl Fn(usize) -> PeerId,
        told: Option<impl Iterator<Item = Exposure>>,
    ) -> Share<L> {
        let mut parts = self.last;
        parts.sort_unstable_by_key(|part| part.first);
        if let Some(told) = told {
            let all = parts.iter_mut().flat_map(|part| &mut part.row.exposures);
            all.zip(told).for_each(|(exposure, told)| *exposure = told);
        }
        let of = |(number, part): (usize, &Part<L>)| {
            let (first, peers) = (part.first, part.row.residuals.len());
            (0..peers).map(|k| (peer(first + k), number as u32, k as u32)).collect::<Vec<_>>()
        };
        let mut index: Vec<_> = parts.iter().enumerate().flat_map(of).collect();
        index.sort_unstable();
        Share { index, rows: parts.into_iter().map(|part| part.row).collect() }
    }
}

/// What is found in the parts of several workers, each by a thread of its own.
fn looked<R: Probe>(
    parts: &[Part<R::Local>],
    probe: &R,
    peer: &(dyn Fn(usize) -> PeerId + Sync),
    together: Option<&R::Found>,
) -> R::Found {
    let look =
        |Part { first, row }: &Part<R::Local>| probe.look(row, &|k| peer(first + k), together);
    let mut found = R::Found::default();
    if let [only] = parts {
        found.join(look(only));
        return found;
    }
    std::thread::scope(|scope| {
        let looks: Vec<_> = parts.iter().map(|part| scope.spawn(move || look(part))).collect();
        for look in looks {
            found.join(look.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    found
}

/// What is known of rows on rank 0, until all ranks have told what they found in them.
pub(super) struct Joining<F>(BTreeMap<Round, (usize, Surveyed<F>)>);

impl<F: Found> Joining<F> {
    pub(super) fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Takes what a rank found in the row of so many peers.
    pub(super) fn take(&mut self, (peers, seen): (usize, Surveyed<F>)) {
        match self.0.get_mut(&seen.round) {
            Some((all, together)) => {
                *all += peers;
                together.join(seen);
            }
            None => drop(self.0.insert(seen.round, (peers, seen))),
        }
    }

    /// The next row of so many peers, if all have told.
    pub(super) fn next(&mut self, peers: usize) -> Option<Surveyed<F>> {
        let first = self.0.first_entry().filter(|row| row.get().0 == peers)?;
        Some(first.remove().1)
    }
}

/// What the peers of one rank left in the last measured round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Share<L> {
    /// In the order of peers, in which row each has an entry, and which.
    index: Vec<(PeerId, u32, u32)>,
    rows: Vec<Row<L>>,
}

impl<L: Clone + Default + Pack> Share<L> {
    /// The entries of those peers whose numbers are in a range, in their order, and who they are; nothing
    /// where nobody is.
    fn within(&self, numbers: &Range<usize>) -> Option<(Vec<PeerId>, Row<L>)> {
        let at = |number: usize| self.index.partition_point(|(peer, ..)| peer.index() < number);
        let some = &self.index[at(numbers.start)..at(numbers.end)];
        let (_, first, _) = some.first()?;
        let Row { round, time, dimension: d, .. } = self.rows[*first as usize];
        let of = |(_, row, k): &(PeerId, u32, u32)| (&self.rows[*row as usize], *k as usize);
        let entries = || some.iter().map(of);
        let row = Row {
            round,
            time,
            messages: 0,
            bytes: 0,
            dimension: d,
            exposures: entries().map(|(row, k)| row.exposures[k].clone()).collect(),
            scored: entries().flat_map(|(row, k)| &row.scored[k * d..][..d]).copied().collect(),
            residuals: entries().map(|(row, k)| row.residuals[k]).collect(),
            locals: entries().map(|(row, k)| row.locals[k].clone()).collect(),
            averages: Vec::new(),
            journeys: Vec::new(),
        };
        Some((some.iter().map(|(peer, ..)| *peer).collect(), row))
    }

    /// The entries of all peers whose numbers are in a range, from all ranks, on rank 0; nothing on others,
    /// nor where no row was measured. All ranks must ask for the same.
    ///
    /// # Errors
    /// A rank is no more.
    pub fn gathered(
        &self,
        ranks: &dyn Ranks,
        numbers: Range<usize>,
    ) -> Result<Option<Row<L>>, NetworkError> {
        let mut filling: Option<Filling<L>> = None;
        ranks.each_taken(self.within(&numbers), |some| {
            let Some((peers, row)) = some else { return };
            let filling = filling.get_or_insert_with(|| Filling::new(numbers.len(), &row));
            filling.take(Part { first: 0, row }, |k| peers[k].index() - numbers.start);
        })?;
        Ok(filling.filter(|_| ranks.leads()).map(|filling| filling.row))
    }
}
