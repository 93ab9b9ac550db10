//! Ranks that are threads of one process: to try what a run on several processes does without them.

use crossbeam_channel::{Receiver, Sender, TryRecvError, unbounded};

use super::{Ranks, Words};
use crate::network::error::NetworkError;

/// One of several ranks in this process.
pub struct InProcess {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
    say_to: Vec<Sender<Words>>,
    heard_from: Vec<Receiver<Words>>,
}

impl InProcess {
    /// A group of so many.
    pub fn group(size: usize) -> Vec<Self> {
        let alone = |rank| Self {
            rank,
            to: Vec::new(),
            from: Vec::new(),
            say_to: Vec::new(),
            heard_from: Vec::new(),
        };
        let mut group: Vec<Self> = (0..size).map(alone).collect();
        for a in 0..size {
            for b in 0..size {
                let (sender, receiver) = unbounded();
                group[a].to.push(sender);
                group[b].from.push(receiver);
                let (sender, receiver) = unbounded();
                group[a].say_to.push(sender);
                group[b].heard_from.push(receiver);
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

    fn on_these_cores(&self) -> usize {
        self.to.len()
    }

    fn exchange(
        &self,
        partners: &[usize],
        mut outgoing: Vec<Vec<u8>>,
        meanwhile: &mut dyn FnMut() -> Option<Words>,
    ) -> Result<(Vec<Vec<u8>>, Words), NetworkError> {
        for &rank in partners {
            // Who is no more is found out below.
            let _ = self.to[rank].send(std::mem::take(&mut outgoing[rank]));
        }
        let own = meanwhile();
        let others = || (0..self.to.len()).filter(|&rank| rank != self.rank && own.is_some());
        let mut greatest = own.unwrap_or_default();
        for rank in others() {
            let _ = self.say_to[rank].send(greatest);
        }
        let mut incoming = vec![Vec::new(); self.to.len()];
        for &rank in partners {
            incoming[rank] = self.from[rank].recv().map_err(|_| lost(rank))?;
        }
        for rank in others() {
            let theirs = self.heard_from[rank].recv().map_err(|_| lost(rank))?;
            greatest.iter_mut().zip(theirs).for_each(|(word, other)| *word = other.max(*word));
        }
        Ok((incoming, greatest))
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
