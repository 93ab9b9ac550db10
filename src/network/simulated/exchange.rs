//! What workers tell each other between two windows, within a process and beyond it.

use std::ops::Range;

use crossbeam_channel::{Receiver, RecvError, Sender, TryRecvError, bounded};

use super::event::{Batch, Pending, Verdict, take_packed};
use super::shard::Shard;
use crate::network::error::NetworkError;
use crate::network::observe::{Part, Probe};
use crate::network::peer::Peer;
use crate::network::ranks::{Ranks, garbled};
use crate::privacy::{Pack, WireError};

/// A worker's channels to and from every other of its process, in the order of workers, and its way to
/// other ranks, where there are any.
pub(super) struct Exchange<'a, M, R: Probe> {
    to: Vec<(usize, Sender<Batch<M>>)>,
    from: Vec<Receiver<Batch<M>>>,
    beyond: Beyond<'a, R>,
}

/// How a worker reaches other ranks.
enum Beyond<'a, R: Probe> {
    /// There are none.
    Nobody,
    /// By its own hand: it speaks for all workers of its rank.
    Lead(Lead<'a, R>),
    /// Through the worker that speaks for all: it takes the bytes for each rank, and says what came.
    Through(Sender<Vec<Vec<u8>>>, Receiver<Arrived>),
}

/// What other ranks have for one worker, and what all have agreed on.
struct Arrived {
    packed: Vec<Vec<u8>>,
    verdict: Verdict,
    next: Option<u64>,
}

impl<'a, M, R: Probe> Exchange<'a, M, R> {
    /// A channel for each ordered pair of the workers of a process, and one of them that speaks to other
    /// ranks.
    pub(super) fn between(shards: Range<usize>, mut lead: Option<Lead<'a, R>>) -> Vec<Self> {
        let workers = shards.len();
        let mut all: Vec<Self> = (0..workers)
            .map(|worker| {
                let beyond = match &mut lead {
                    Some(lead) if worker > 0 => {
                        let (give, given) = bounded(2);
                        let (tell, told) = bounded(2);
                        lead.members.push((given, tell));
                        Beyond::Through(give, told)
                    }
                    _ => Beyond::Nobody,
                };
                Self { to: Vec::new(), from: Vec::new(), beyond }
            })
            .collect();
        if let (Some(first), Some(lead)) = (all.first_mut(), lead) {
            first.beyond = Beyond::Lead(lead);
        }
        for a in 0..workers {
            for b in (0..workers).filter(|&b| b != a) {
                // A worker is at most one window ahead of another.
                let (sender, receiver) = bounded(2);
                all[a].to.push((shards.start + b, sender));
                all[b].from.push(receiver);
            }
        }
        all
    }

    /// Gives every other worker its events, takes theirs, and agrees with them on the next window:
    /// none if nothing is under way anywhere.
    pub(super) fn swap<P: Peer<Message = M>>(
        &mut self,
        shard: &mut Shard<'_, P, R>,
        own: Verdict,
    ) -> (Verdict, Option<u64>) {
        let mut verdict = own;
        let mut next = shard.next_window();
        let told = next;
        for (worker, sender) in &self.to {
            let _ = sender.send(Batch {
                pending: shard.take_outgoing(*worker),
                next: told,
                verdict: own,
            });
        }
        for receiver in &self.from {
            match wait(receiver) {
                Ok(batch) => {
                    shard.accept(batch.pending);
                    next = [next, batch.next].into_iter().flatten().min();
                    verdict = verdict.max(batch.verdict);
                }
                // The other worker failed; its own end says how.
                Err(_) => verdict = Verdict::Failed,
            }
        }
        match &mut self.beyond {
            Beyond::Nobody => (verdict, next),
            Beyond::Lead(lead) if verdict == Verdict::Failed => {
                lead.hang_up();
                (verdict, next)
            }
            Beyond::Through(..) if verdict == Verdict::Failed => (verdict, next),
            Beyond::Lead(lead) => lead.swap(shard, verdict, next),
            Beyond::Through(give, told) => {
                let _ = give.send(shard.packed());
                let Ok(Arrived { packed, verdict, next }) = wait(told) else {
                    return (Verdict::Failed, None);
                };
                let taken = packed.iter().try_for_each(|bytes| shard.accept_packed(bytes));
                (if taken.is_ok() { verdict } else { Verdict::Failed }, next)
            }
        }
    }

    /// Tells the others that this worker is no more.
    pub(super) fn hang_up(&self) {
        for (_, sender) in &self.to {
            let _ = sender.send(Batch {
                pending: Pending::default(),
                next: None,
                verdict: Verdict::Failed,
            });
        }
        if let Beyond::Lead(lead) = &self.beyond {
            lead.hang_up();
        }
    }
}

/// Where measured parts go.
pub(super) enum Parts<L> {
    /// To the thread that measures.
    Measured(Sender<Part<L>>),
    /// To rank 0, with what else goes there.
    Sent(Receiver<Part<L>>),
}

/// Speaks with other ranks for all workers of its own.
pub(super) struct Lead<'a, R: Probe> {
    ranks: &'a dyn Ranks,
    probe: &'a R,
    parts: Parts<R::Local>,
    members: Vec<(Receiver<Vec<Vec<u8>>>, Sender<Arrived>)>,
}

impl<'a, R: Probe> Lead<'a, R> {
    pub(super) fn new(ranks: &'a dyn Ranks, probe: &'a R, parts: Parts<R::Local>) -> Self {
        Self { ranks, probe, parts, members: Vec::new() }
    }

    /// Gives every other rank what its own workers have for it, takes what others have for these, and
    /// agrees on the next window and whether there is one.
    fn swap<P: Peer>(
        &mut self,
        shard: &mut Shard<'_, P, R>,
        verdict: Verdict,
        next: Option<u64>,
    ) -> (Verdict, Option<u64>) {
        let outgoing = self.outgoing(shard, verdict, next);
        let come = self.ranks.exchange(outgoing, &mut || ());
        match come.and_then(|come| self.arrived(shard, &come, (verdict, next))) {
            Ok(agreed) => agreed,
            // What is the matter with it shows again when all ranks tell how they ended.
            Err(_) => (Verdict::Failed, None),
        }
    }

    /// The bytes for each rank.
    fn outgoing<P: Peer>(
        &self,
        shard: &mut Shard<'_, P, R>,
        verdict: Verdict,
        next: Option<u64>,
    ) -> Vec<Vec<u8>> {
        let packed = shard.packed();
        let mut outgoing: Vec<Vec<u8>> = packed.iter().map(|_| Vec::new()).collect();
        let given = self.members.iter().filter_map(|(given, _)| wait(given).ok());
        let all: Vec<Vec<Vec<u8>>> = std::iter::once(packed).chain(given).collect();
        let mut parts: Vec<Part<R::Local>> = match &self.parts {
            Parts::Measured(_) => Vec::new(),
            Parts::Sent(parts) => parts.try_iter().collect(),
        };
        for (rank, bytes) in outgoing.iter_mut().enumerate() {
            if rank == self.ranks.rank() {
                continue;
            }
            (verdict, next).put(bytes);
            // Only rank 0 measures.
            std::mem::take(&mut parts).put(bytes);
            all.iter().for_each(|worker| bytes.extend_from_slice(&worker[rank]));
        }
        outgoing
    }

    /// Takes what other ranks sent, and hands it on.
    fn arrived<P: Peer>(
        &self,
        shard: &mut Shard<'_, P, R>,
        come: &[Vec<u8>],
        (mut verdict, mut next): (Verdict, Option<u64>),
    ) -> Result<(Verdict, Option<u64>), NetworkError> {
        let mut packed = vec![Vec::new(); self.members.len()];
        for (rank, bytes) in come.iter().enumerate().filter(|(rank, _)| *rank != self.ranks.rank())
        {
            let (theirs, window) =
                self.take(shard, bytes, &mut packed).map_err(|error| garbled(rank, &error))?;
            verdict = verdict.max(theirs);
            next = [next, window].into_iter().flatten().min();
        }
        for ((_, tell), packed) in self.members.iter().zip(packed) {
            let _ = tell.send(Arrived { packed, verdict, next });
        }
        Ok((verdict, next))
    }

    /// Takes what one rank sent.
    fn take<P: Peer>(
        &self,
        shard: &mut Shard<'_, P, R>,
        mut bytes: &[u8],
        packed: &mut [Vec<Vec<u8>>],
    ) -> Result<(Verdict, Option<u64>), WireError> {
        let bytes = &mut bytes;
        let agreed = Pack::get(bytes)?;
        let parts: Vec<Part<R::Local>> = Pack::get(bytes)?;
        if let Parts::Measured(rows) = &self.parts {
            for part in parts {
                // The receiver is gone only when the run is ending anyway.
                let _ = rows.send(part.with_tokens_scored(self.probe));
            }
        }
        // One after the other, each of their workers has something for each of ours.
        while !bytes.is_empty() {
            shard.accept_packed(take_packed(bytes)?)?;
            for packed in &mut *packed {
                let more = take_packed(bytes)?;
                if !more.is_empty() {
                    packed.push(more.to_vec());
                }
            }
        }
        Ok(agreed)
    }

    /// Tells other ranks that this one cannot go on.
    fn hang_up(&self) {
        let mut bytes = Vec::new();
        (Verdict::Failed, None::<u64>).put(&mut bytes);
        Vec::<Part<R::Local>>::new().put(&mut bytes);
        let outgoing = vec![bytes; self.ranks.size()];
        let _ = self.ranks.exchange(outgoing, &mut || ());
    }
}

/// Looks for a batch that is due any moment before going to sleep for it: a window may be
/// microseconds of work, and to be woken takes longer.
fn wait<T>(receiver: &Receiver<T>) -> Result<T, RecvError> {
    const LOOKS: u32 = 2000;
    for _ in 0..LOOKS {
        match receiver.try_recv() {
            Ok(batch) => return Ok(batch),
            Err(TryRecvError::Disconnected) => return Err(RecvError),
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
        }
    }
    receiver.recv()
}
