//! Measuring rows that stay on their ranks.

use std::sync::{Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender};

use super::layout::Layout;
use crate::network::error::NetworkError;
use crate::network::observe::{Flow, Found, Part, Probe};
use crate::network::ranks::Ranks;
use crate::network::share::{Joining, Shelf, Surveyed};

/// Keeps the rows of a rank's peers, and finds out with the other ranks what is in them.
pub(super) struct Keeping<'a, R: Probe> {
    /// What the workers of this rank have gathered.
    parts: Receiver<Part<R::Local>>,
    shelf: &'a Mutex<Shelf<R::Local>>,
    layout: &'a Layout,
    /// How many peers there are on all ranks.
    peers: usize,
    desk: Option<Desk<R::Found>>,
}

/// What rank 0 has beside: rows that some ranks have not told of yet, and the way to the thread that records
/// and decides.
pub(super) struct Desk<F> {
    pub(super) rows: Sender<Surveyed<F>>,
    pub(super) decisions: Receiver<Flow>,
    pub(super) joining: Joining<F>,
    /// Whether a row was the last.
    pub(super) stopped: bool,
}

impl<'a, R: Probe> Keeping<'a, R> {
    pub(super) fn new(
        parts: Receiver<Part<R::Local>>,
        shelf: &'a Mutex<Shelf<R::Local>>,
        layout: &'a Layout,
        peers: usize,
        desk: Option<Desk<R::Found>>,
    ) -> Self {
        Self { parts, shelf, layout, peers, desk }
    }

    /// Whether anything was gathered since the last time.
    pub(super) fn has_more(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Tells rank 0 what is in the rows that are complete here, and once more where they are complete on
    /// all ranks. Rank 0 records them before anybody goes on, so that all have the same row last, and none
    /// behind the one that stopped the run.
    pub(super) fn measure(&mut self, ranks: &dyn Ranks, probe: &R) -> Result<(), NetworkError> {
        let peer = |place| self.layout.peer(place);
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = self.parts.try_iter();
        let seen: Vec<_> = parts.filter_map(|part| shelf.take(part, probe, &peer)).collect();
        ranks.each_taken(seen, |seen| {
            if let Some(desk) = &mut self.desk {
                seen.into_iter().for_each(|seen| desk.joining.take(seen));
            }
        })?;
        loop {
            let desk = self.desk.as_mut().filter(|desk| !desk.stopped);
            let mut complete = desk.and_then(|desk| desk.joining.next(self.peers));
            let told = complete.as_ref().map(|row| (row.round, row.found.told()));
            let Some((round, together)) = ranks.from_lead(told)? else { return Ok(()) };
            let found = shelf.settle(round, &together, probe, &peer);
            ranks.each_taken(found, |found| {
                if let Some(row) = &mut complete {
                    row.found.join(found);
                }
            })?;
            if let (Some(desk), Some(row)) = (&mut self.desk, complete) {
                desk.stopped =
                    desk.rows.send(row).is_err() || desk.decisions.recv() != Ok(Flow::Continue);
            }
        }
    }
}
