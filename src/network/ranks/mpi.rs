//! Ranks that are processes under MPI.

use mpi::Threading;
use mpi::environment::{Universe, initialize_with_threading};
use mpi::point_to_point::{Destination, Source};
use mpi::request::scope;
use mpi::topology::{Communicator, SimpleCommunicator};

use super::Ranks;
use crate::network::error::NetworkError;

/// The longest message. Longer ones go in pieces: a shorter piece is the last.
const PIECE: usize = 1 << 30;

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
        outgoing: Vec<Vec<u8>>,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<Vec<Vec<u8>>, NetworkError> {
        let world = SimpleCommunicator::world();
        let process = |rank: usize| world.process_at_rank(rank as i32);
        let others = || (0..self.size).filter(|&rank| rank != self.rank);
        Ok(scope(|scope| {
            let mut sent = Vec::new();
            for rank in others() {
                let bytes = &outgoing[rank];
                for piece in 0..=bytes.len() / PIECE {
                    let piece = &bytes[piece * PIECE..bytes.len().min((piece + 1) * PIECE)];
                    sent.push(process(rank).immediate_send(scope, piece));
                }
            }
            meanwhile();
            let mut incoming = vec![Vec::new(); self.size];
            for rank in others() {
                let mut last = PIECE;
                while last == PIECE {
                    let (piece, _) = process(rank).receive_vec::<u8>();
                    last = piece.len();
                    if incoming[rank].is_empty() {
                        incoming[rank] = piece;
                    } else {
                        incoming[rank].extend(piece);
                    }
                }
            }
            sent.into_iter().for_each(|request| request.wait_without_status());
            incoming
        }))
    }
}
