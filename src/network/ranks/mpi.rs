//! Ranks that are processes under MPI.

use std::cell::OnceCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use mpi::Threading;
use mpi::collective::{CommunicatorCollectives, SystemOperation};
use mpi::environment::{Universe, initialize_with_threading};
use mpi::point_to_point::{Destination, MatchedReceiveVec, Source};
use mpi::request::scope;
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::Equivalence;

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
    /// Memory of batches that are through, for those to come.
    spare: Mutex<Vec<Vec<u8>>>,
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
        let spare = Mutex::default();
        enough.then_some(Self { rank, size, on_these_cores, spare, _universe: universe })
    }
}

/// Takes a batch from a rank, piece after piece, into memory that was used before.
fn receive(process: &impl Source, mut bytes: Vec<u8>) -> Vec<u8> {
    let mut end = 0;
    loop {
        let (message, status) = process.matched_probe_with_tag(BATCH);
        let length = usize::try_from(status.count(u8::equivalent_datatype())).unwrap_or_default();
        let begin = end;
        end += length;
        // What was there before need not be made zeros.
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        message.matched_receive_into(&mut bytes[begin..end]);
        if length < PIECE {
            bytes.truncate(end);
            return bytes;
        }
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
                let spare = self.spare.lock().ok().and_then(|mut spare| spare.pop());
                incoming[rank] = receive(&process(rank), spare.unwrap_or_default());
            }
            sent.into_iter().for_each(|request| request.wait_without_status());
            reduction.into_iter().for_each(|request| request.wait_without_status());
            incoming
        });
        if let Ok(mut spare) = self.spare.lock() {
            spare.extend(outgoing.into_iter().filter(|bytes| bytes.capacity() > 0));
            spare.truncate(partners.len());
        }
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
