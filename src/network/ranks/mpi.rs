//! Ranks that are processes under MPI.

use std::cell::OnceCell;

use mpi::Threading;
use mpi::environment::{Universe, initialize_with_threading};
use mpi::point_to_point::{Destination, MatchedReceiveVec, Source};
use mpi::request::scope;
use mpi::topology::{Communicator, SimpleCommunicator};

use super::{Incoming, Ranks};
use crate::network::error::NetworkError;

/// The longest message. Longer ones go in pieces: a shorter piece is the last.
const PIECE: usize = 1 << 30;

/// What messages are: those that were sent before something else was done, and those after it. The last
/// byte of these says whether there were none of those.
const EARLY: i32 = 1;
const LATE: i32 = 2;
/// Those of two ranks, apart from all exchanges.
const APART: i32 = 3;

/// This process among those that were started with it.
///
/// A rank that dies takes the others with it, within moments, by the hand of MPI, which names it. So
/// no exchange here comes back with an error.
pub struct Mpi {
    rank: usize,
    size: usize,
    /// Ends MPI when it goes.
    _universe: Universe,
}

impl Mpi {
    /// Joins the others; nothing if MPI cannot be used, or is in use already.
    pub fn join() -> Option<Self> {
        // One thread at a time speaks: a worker while peers run, before and after that the caller.
        let (universe, threading) = initialize_with_threading(Threading::Serialized)?;
        let world = universe.world();
        let number = |count: i32| usize::try_from(count).unwrap_or_default();
        let (rank, size) = (number(world.rank()), number(world.size()));
        let enough = threading >= Threading::Serialized;
        enough.then_some(Self { rank, size, _universe: universe })
    }
}

/// A rank that falls would leave the others waiting: it ends them too.
impl Drop for Mpi {
    fn drop(&mut self) {
        const PANIC: i32 = 101;
        if std::thread::panicking() {
            SimpleCommunicator::world().abort(PANIC);
        }
    }
}

impl Ranks for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(
        &self,
        early: Vec<Vec<u8>>,
        meanwhile: &mut dyn FnMut() -> Vec<Vec<u8>>,
    ) -> Result<Vec<Incoming>, NetworkError> {
        let late = OnceCell::new();
        Ok(scope(|scope| {
            let world = SimpleCommunicator::world();
            let process = |rank: usize| world.process_at_rank(rank as i32);
            let others = || (0..self.size).filter(|&rank| rank != self.rank);
            let mut sent = Vec::new();
            for rank in others().filter(|&rank| !early[rank].is_empty()) {
                for piece in pieces(&early[rank]) {
                    sent.push(process(rank).immediate_send_with_tag(scope, piece, EARLY));
                }
            }
            let mut last = meanwhile();
            last.iter_mut()
                .zip(&early)
                .for_each(|(late, early)| late.push(early.is_empty().into()));
            let late: &Vec<Vec<u8>> = late.get_or_init(|| last);
            for rank in others() {
                for piece in pieces(&late[rank]) {
                    sent.push(process(rank).immediate_send_with_tag(scope, piece, LATE));
                }
            }
            let take = |rank: usize, tag| {
                let mut bytes = Vec::new();
                loop {
                    let (piece, _) = process(rank).receive_vec_with_tag::<u8>(tag);
                    let whole = piece.len() < PIECE;
                    if bytes.is_empty() {
                        bytes = piece
                    } else {
                        bytes.extend(piece)
                    }
                    if whole {
                        return bytes;
                    }
                }
            };
            let mut incoming = vec![Incoming::default(); self.size];
            for rank in others() {
                let mut late = take(rank, LATE);
                let nothing_early = late.pop() == Some(1);
                let early = if nothing_early { Vec::new() } else { take(rank, EARLY) };
                incoming[rank] = Incoming { early, late };
            }
            sent.into_iter().for_each(|request| request.wait_without_status());
            incoming
        }))
    }

    fn send(&self, to: usize, bytes: Vec<u8>) -> Result<(), NetworkError> {
        SimpleCommunicator::world().process_at_rank(to as i32).send_with_tag(&bytes[..], APART);
        Ok(())
    }

    fn try_receive(&self, from: usize) -> Result<Option<Vec<u8>>, NetworkError> {
        let world = SimpleCommunicator::world();
        let come = world.process_at_rank(from as i32).immediate_matched_probe_with_tag(APART);
        Ok(come.map(|message| message.matched_receive_vec::<u8>().0))
    }
}

/// The pieces in which bytes go; the last is shorter than the others may be, if only by being empty.
fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..=bytes.len() / PIECE).map(|k| &bytes[k * PIECE..bytes.len().min((k + 1) * PIECE)])
}
