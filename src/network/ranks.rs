//! The processes that share one run.
//!
//! A run on R ranks is R processes that all read the same scenario, each with a share of the peers.
//! They say everything to each other by one act, [`Ranks::exchange`]: every rank has some bytes for
//! every other, and all do it together. Rank 0 measures, decides and writes.
//!
//! Where runs belong together each is one process's own, and ranks speak two at a time:
//! [`Ranks::send`] and [`Ranks::try_receive`].
//!
//! ```text
//!  rank 0 ─┬─ worker 0 ─┐  bytes for each rank   ┌─ worker 0 ─┬─ rank 1
//!          └─ worker 1 ─┤ ◀────────────────────▶ ├─ worker 1 ─┘
//!             files ◀───┘   once per window      └─ measured parts go to rank 0
//! ```

mod counted;
mod in_process;
#[cfg(feature = "mpi")]
mod mpi;

pub use counted::{Counted, Traffic};
pub use in_process::InProcess;
#[cfg(feature = "mpi")]
pub use mpi::Mpi;

use super::error::NetworkError;
use crate::privacy::{Pack, WireError};

/// A group of processes, as one of them sees it.
pub trait Ranks: Send + Sync {
    /// Its number, from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn size(&self) -> usize;

    /// Gives every other rank the bytes of `early`, does something `meanwhile`, gives what that has for
    /// every other, and takes what the others have for this one, by their numbers. All ranks must call it
    /// equally often.
    ///
    /// # Errors
    /// Another rank is no more.
    fn exchange(
        &self,
        early: Vec<Vec<u8>>,
        meanwhile: &mut dyn FnMut() -> Vec<Vec<u8>>,
    ) -> Result<Vec<Incoming>, NetworkError>;

    /// Gives one other rank some bytes, few enough not to wait for it. All that was sent must have been
    /// received before the next exchange.
    ///
    /// # Errors
    /// That rank is no more.
    fn send(&self, to: usize, bytes: Vec<u8>) -> Result<(), NetworkError>;

    /// The next bytes that another rank has sent, if they are here; it does not wait.
    ///
    /// # Errors
    /// That rank is no more.
    fn try_receive(&self, from: usize) -> Result<Option<Vec<u8>>, NetworkError>;
}

/// What one rank has for another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Incoming {
    /// What it had before the others did something else.
    pub early: Vec<u8>,
    /// What it had after that.
    pub late: Vec<u8>,
}

/// What all ranks do together, by one exchange each, and what two of them do.
impl dyn Ranks + '_ {
    /// Whether this is the rank that measures, decides and writes.
    pub fn leads(&self) -> bool {
        self.rank() == 0
    }

    /// Everybody's bytes for this rank, by rank, where nothing is to be done meanwhile.
    fn swap(&self, mut outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, NetworkError> {
        let early = vec![Vec::new(); self.size()];
        let come = self.exchange(early, &mut || std::mem::take(&mut outgoing))?;
        Ok(come.into_iter().map(|come| come.late).collect())
    }

    /// Everybody's value, by rank.
    ///
    /// # Errors
    /// Another rank is no more, or speaks another language.
    pub fn all_of<T: Pack>(&self, own: &T) -> Result<Vec<T>, NetworkError> {
        let mut bytes = Vec::new();
        own.put(&mut bytes);
        let outgoing = (0..self.size()).map(|_| bytes.clone()).collect();
        let mut incoming = self.swap(outgoing)?;
        incoming[self.rank()] = bytes;
        let values = (0..).zip(&incoming).map(|(rank, bytes)| unpacked(rank, bytes));
        values.collect()
    }

    /// Everybody's value, by rank, where this is rank 0; nothing elsewhere.
    ///
    /// # Errors
    /// As `all_of`.
    pub fn gathered<T: Pack>(&self, own: T) -> Result<Vec<T>, NetworkError> {
        let mut outgoing = vec![Vec::new(); self.size()];
        if !self.leads() {
            own.put(&mut outgoing[0]);
        }
        let incoming = self.swap(outgoing)?;
        if !self.leads() {
            return Ok(Vec::new());
        }
        let others = (1..).zip(&incoming[1..]).map(|(rank, bytes)| unpacked(rank, bytes));
        std::iter::once(Ok(own)).chain(others).collect()
    }

    /// The value that rank 0 has; what others bring is not looked at.
    ///
    /// # Errors
    /// As `all_of`.
    pub fn from_lead<T: Pack>(&self, value: Option<T>) -> Result<Option<T>, NetworkError> {
        let mut outgoing = vec![Vec::new(); self.size()];
        if self.leads() {
            let mut bytes = Vec::new();
            value.put(&mut bytes);
            outgoing[1..].fill(bytes);
        }
        let incoming = self.swap(outgoing)?;
        if self.leads() { Ok(value) } else { unpacked(0, &incoming[0]) }
    }

    /// Sends another rank a value.
    ///
    /// # Errors
    /// As [`send`](Ranks::send).
    pub fn tell<T: Pack>(&self, to: usize, value: &T) -> Result<(), NetworkError> {
        let mut bytes = Vec::new();
        value.put(&mut bytes);
        self.send(to, bytes)
    }

    /// The next value that another rank has sent, if it is here.
    ///
    /// # Errors
    /// As [`try_receive`](Ranks::try_receive), or that rank speaks another language.
    pub fn heard<T: Pack>(&self, from: usize) -> Result<Option<T>, NetworkError> {
        self.try_receive(from)?.map(|bytes| unpacked(from, &bytes)).transpose()
    }
}

/// What a rank said.
pub(super) fn unpacked<T: Pack>(rank: usize, mut bytes: &[u8]) -> Result<T, NetworkError> {
    T::get(&mut bytes).map_err(|error| garbled(rank, &error))
}

/// Bytes of a rank that are not what they should be.
pub(super) fn garbled(rank: usize, error: &WireError) -> NetworkError {
    NetworkError::Rank { rank, message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_hears_everybody_rank_0_hears_all_and_all_hear_rank_0() {
        for size in 1..=4 {
            let ends = InProcess::run(size, |ranks| {
                let rank = ranks.rank() as u64;
                let all = ranks.all_of(&(10 * rank)).unwrap();
                let gathered = ranks.gathered(rank).unwrap();
                let told = ranks.from_lead(ranks.leads().then(|| "go".to_string())).unwrap();
                (all, gathered, told)
            });
            let tens: Vec<u64> = (0..size as u64).map(|rank| 10 * rank).collect();
            for (rank, (all, gathered, told)) in ends.into_iter().enumerate() {
                assert_eq!(all, tens);
                let expected = if rank == 0 { (0..size as u64).collect() } else { Vec::new() };
                assert_eq!((gathered, told.as_deref()), (expected, Some("go")));
            }
        }
    }

    #[test]
    fn two_ranks_speak_in_the_order_of_sending_and_nobody_waits() {
        let ends = InProcess::run(3, |ranks| {
            if ranks.leads() {
                let nothing = ranks.heard::<u64>(2).unwrap();
                (1..=4_u64).for_each(|number| ranks.tell(2, &number).unwrap());
                ranks.all_of(&()).unwrap();
                return (nothing, Vec::new());
            }
            let hear = || std::iter::repeat_with(|| ranks.heard::<u64>(0).unwrap()).flatten();
            let heard = if ranks.rank() == 2 { hear().take(4).collect() } else { Vec::new() };
            ranks.all_of(&()).unwrap();
            (None, heard)
        });
        assert_eq!(ends, [(None, vec![]), (None, vec![]), (None, vec![1, 2, 3, 4])]);
    }

    #[test]
    fn a_rank_that_is_no_more_is_named() {
        let ends = InProcess::run(3, |ranks| {
            if ranks.rank() == 1 {
                return Ok(Vec::new());
            }
            ranks.all_of(&1_u64)
        });
        let lost = "is no more".to_string();
        assert_eq!(ends[0], Err(NetworkError::Rank { rank: 1, message: lost.clone() }));
        assert_eq!(ends[2], Err(NetworkError::Rank { rank: 1, message: lost }));
    }
}
