//! Ranks that are processes under MPI.

use std::cell::OnceCell;
use std::hash::{DefaultHasher, Hash, Hasher};

use mpi::Threading;
use mpi::collective::{CommunicatorCollectives, SystemOperation};
use mpi::environment::{Universe, initialize_with_threading};
use mpi::point_to_point::{Destination, MatchedReceiveVec, Source};
use mpi::request::scope;
use mpi::topology::{Communicator, SimpleCommunicator};

use super::{Ranks, Words};
use crate::network::error::NetworkError;

/// The longest message. Longer ones go in pieces: a shorter piece is the last.
const PIECE: usize = 1 << 30;

/// What messages are: batches of an exchange, and those of two ranks apart from all exchanges.
const BATCH: i32 = 1;
const APART: i32 = 2;

/// This process among those that were started with it.
///
/// A rank that dies takes the others with it, within moments, by the hand of MPI, which names it. So
/// no exchange here comes back with an error.
pub struct Mpi {
    rank: usize,
    size: usize,
    on_these_cores: usize,
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
        // Those that share memory are on one machine.
        let machine = world.split_shared(world.rank());
        let mut hasher = DefaultHasher::new();
        cores_allowed().hash(&mut hasher);
        let own = hasher.finish();
        let mut all = vec![0; number(machine.size())];
        machine.all_gather_into(&own, &mut all[..]);
        let on_these_cores = all.iter().filter(|&&other| other == own).count();
        enough.then_some(Self { rank, size, on_these_cores, _universe: universe })
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

    fn on_these_cores(&self) -> usize {
        self.on_these_cores
    }

    fn exchange(
        &self,
        partners: &[usize],
        outgoing: Vec<Vec<u8>>,
        meanwhile: &mut dyn FnMut() -> Option<Words>,
    ) -> Result<(Vec<Vec<u8>>, Words), NetworkError> {
        let said = OnceCell::new();
        let mut greatest = Words::default();
        let agreed = &mut greatest;
        let incoming = scope(|scope| {
            let world = SimpleCommunicator::world();
            let process = |rank: usize| world.process_at_rank(rank as i32);
            let mut sent = Vec::new();
            for &rank in partners {
                for piece in pieces(&outgoing[rank]) {
                    sent.push(process(rank).immediate_send_with_tag(scope, piece, BATCH));
                }
            }
            let own: &Option<Words> = said.get_or_init(&mut *meanwhile);
            // All compare their words while batches come in.
            let reduction = own.as_ref().map(|own| {
                world.immediate_all_reduce_into(
                    scope,
                    &own[..],
                    &mut agreed[..],
                    SystemOperation::max(),
                )
            });
            let mut incoming = vec![Vec::new(); self.size];
            for &rank in partners {
                let bytes = &mut incoming[rank];
                loop {
                    let (mut piece, _) = process(rank).receive_vec_with_tag::<u8>(BATCH);
                    let whole = piece.len() < PIECE;
                    if bytes.is_empty() {
                        *bytes = piece;
                    } else {
                        bytes.append(&mut piece);
                    }
                    if whole {
                        break;
                    }
                }
            }
            sent.into_iter().for_each(|request| request.wait_without_status());
            reduction.into_iter().for_each(|request| request.wait_without_status());
            incoming
        });
        Ok((incoming, greatest))
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

/// The cores that this process is bound to, as the system lists them; nothing where it does not say.
fn cores_allowed() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let listed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    listed.unwrap_or_default().trim().to_string()
}

/// The pieces in which bytes go; the last is shorter than the others may be, if only by being empty.
fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..=bytes.len() / PIECE).map(|k| &bytes[k * PIECE..bytes.len().min((k + 1) * PIECE)])
}
