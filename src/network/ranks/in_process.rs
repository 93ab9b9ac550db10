//! Ranks that are threads of one process: to try what a run on several processes does without them.

use crossbeam_channel::{Receiver, Sender, TryRecvError, unbounded};

use super::{Incoming, Ranks};
use crate::network::error::NetworkError;

/// One of several ranks in this process.
pub struct InProcess {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

impl InProcess {
    /// A group of so many.
    pub fn group(size: usize) -> Vec<Self> {
        let mut group: Vec<Self> =
            (0..size).map(|rank| Self { rank, to: Vec::new(), from: Vec::new() }).collect();
        for a in 0..size {
            for b in 0..size {
                let (sender, receiver) = unbounded();
                group[a].to.push(sender);
                group[b].from.push(receiver);
            }
        }
        group
    }

    /// Does the same on so many ranks, a thread each: what each of them came to.
    ///
    /// # Panics
    /// If one of them does.
    pub fn run<T: Send>(size: usize, each: impl Fn(&dyn Ranks) -> T + Sync) -> Vec<T> {
        let each = &each;
        std::thread::scope(|scope| {
            let start = |ranks: Self| scope.spawn(move || each(&ranks));
            let threads: Vec<_> = Self::group(size).into_iter().map(start).collect();
            let ends = threads.into_iter().map(|thread| thread.join());
            ends.map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }
}

impl Ranks for InProcess {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn exchange(
        &self,
        early: Vec<Vec<u8>>,
        meanwhile: &mut dyn FnMut() -> Vec<Vec<u8>>,
    ) -> Result<Vec<Incoming>, NetworkError> {
        let give = |outgoing: Vec<Vec<u8>>| {
            for (rank, bytes) in outgoing.into_iter().enumerate() {
                // Who is no more is found out below.
                let _ = self.to[rank].send(bytes);
            }
        };
        give(early);
        give(meanwhile());
        let take = |(rank, from): (usize, &Receiver<Vec<u8>>)| {
            let next = || from.recv().map_err(|_| lost(rank));
            let come = Incoming { early: next()?, late: next()? };
            Ok(if rank == self.rank { Incoming::default() } else { come })
        };
        self.from.iter().enumerate().map(take).collect()
    }

    fn send(&self, to: usize, bytes: Vec<u8>) -> Result<(), NetworkError> {
        self.to[to].send(bytes).map_err(|_| lost(to))
    }

    fn try_receive(&self, from: usize) -> Result<Option<Vec<u8>>, NetworkError> {
        match self.from[from].try_recv() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(lost(from)),
        }
    }
}

fn lost(rank: usize) -> NetworkError {
    NetworkError::Rank { rank, message: "is no more".to_string() }
}
