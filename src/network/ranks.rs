//! The processes that share one run.
//!
//! A run on R ranks is R processes that all read the same scenario, each with a share of the peers.
//! They say everything to each other by one act, [`Ranks::exchange`]: every rank has some bytes for
//! some others, those that run neighbours of its peers, and all agree on what comes next. Rank 0
//! measures, decides and writes.
//!
//! Where runs belong together each is one process's own, and ranks speak two at a time:
//! [`Ranks::send`] and [`Ranks::try_receive`].
//!
//! ```text
//!  rank 0 ─┬─ worker 0 ─┐  bytes for its partners  ┌─ worker 0 ─┬─ rank 1
//!          └─ worker 1 ─┤ ◀──────────────────────▶ ├─ worker 1 ─┘
//!             files ◀───┘  the greatest of words   └─ measured parts go to rank 0
//!                          once per window
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

    /// How many ranks may use the very cores that this one may, itself included: those of one machine that
    /// are not bound to cores of their own.
    fn on_these_cores(&self) -> usize;

    /// Gives some other ranks, the `partners`, their bytes of `outgoing`, in which they lie by rank; does
    /// something `meanwhile`; and takes what they have for this one, by rank. Whoever is a partner has this
    /// rank among its own.
    ///
    /// What `meanwhile` says is compared with what it says on all other ranks, partners or not: the greatest
    /// of each word comes back. Where it says nothing on one rank it says nothing on any; otherwise all
    /// ranks must come here equally often.
    ///
    /// # Errors
    /// Another rank is no more.
    fn exchange(
        &self,
        partners: &[usize],
        outgoing: Vec<Vec<u8>>,
        meanwhile: &mut dyn FnMut() -> Option<Words>,
    ) -> Result<(Vec<Vec<u8>>, Words), NetworkError>;

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

/// What each rank says of itself, of which all hear the greatest.
pub type Words = [u64; 3];

/// What all ranks do together, by one exchange each, and what two of them do.
impl dyn Ranks + '_ {
    /// Whether this is the rank that measures, decides and writes.
    pub fn leads(&self) -> bool {
        self.rank() == 0
    }

    /// The cores that this rank can count on: those that the process may use, shared with the ranks that
    /// may use the same.
    pub fn cores(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (cores / self.on_these_cores().max(1)).max(1)
    }

    /// Gives these ranks their bytes and takes theirs, by rank, where nothing is to be done meanwhile.
    fn swap(
        &self,
        partners: &[usize],
        outgoing: Vec<Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>, NetworkError> {
        Ok(self.exchange(partners, outgoing, &mut || None)?.0)
    }

    /// Those that speak with this one where all speak with rank 0, or only this one other does.
    fn around_lead(&self, only: Option<usize>) -> Vec<usize> {
        let of_lead = || (1..self.size()).filter(|&rank| only.is_none_or(|only| only == rank));
        match self.rank() {
            0 => of_lead().collect(),
            rank if only.is_none_or(|only| only == rank) => vec![0],
            _ => Vec::new(),
        }
    }

    /// Everybody's value, by rank.
    ///
    /// # Errors
    /// Another rank is no more, or speaks another language.
    pub fn all_of<T: Pack>(&self, own: &T) -> Result<Vec<T>, NetworkError> {
        let mut bytes = Vec::new();
        own.put(&mut bytes);
        let others: Vec<usize> = (0..self.size()).filter(|&rank| rank != self.rank()).collect();
        let mut incoming = self.swap(&others, vec![bytes.clone(); self.size()])?;
        incoming[self.rank()] = bytes;
        let values = (0..).zip(&incoming).map(|(rank, bytes)| unpacked(rank, bytes));
        values.collect()
    }

    /// Hands everybody's value to `take`, in the order of ranks, where this is rank 0; nothing is done
    /// with them elsewhere. Rank 0 takes one after the other, so that it need not have them all at a time.
    ///
    /// # Errors
    /// As `all_of`.
    pub fn each_taken<T: Pack>(&self, own: T, mut take: impl FnMut(T)) -> Result<(), NetworkError> {
        let mut bytes = Vec::new();
        if self.leads() {
            take(own);
        } else {
            own.put(&mut bytes);
            drop(own);
        }
        for rank in 1..self.size() {
            let partners = self.around_lead(Some(rank));
            let mut outgoing = vec![Vec::new(); self.size()];
            if rank == self.rank() {
                outgoing[0] = std::mem::take(&mut bytes);
            }
            let incoming = self.swap(&partners, outgoing)?;
            if self.leads() {
                take(unpacked(rank, &incoming[rank])?);
            }
        }
        Ok(())
    }

    /// Everybody's value, by rank, where this is rank 0; nothing elsewhere.
    ///
    /// # Errors
    /// As `all_of`.
    pub fn gathered<T: Pack>(&self, own: T) -> Result<Vec<T>, NetworkError> {
        let mut values = Vec::new();
        self.each_taken(own, |value| values.push(value))?;
        Ok(values)
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
        let incoming = self.swap(&self.around_lead(None), outgoing)?;
        if self.leads() { Ok(value) } else { unpacked(0, &incoming[0]) }
    }

    /// The value that rank 0 makes for this rank; nothing on rank 0. It makes one after the other, so that
    /// it has no more than one of them at a time.
    ///
    /// # Errors
    /// As `all_of`.
    pub fn scattered<T: Pack>(
        &self,
        mut make: impl FnMut(usize) -> Option<T>,
    ) -> Result<Option<T>, NetworkError> {
        let mut own = None;
        for rank in 1..self.size() {
            let mut outgoing = vec![Vec::new(); self.size()];
            if self.leads() {
                make(rank).put(&mut outgoing[rank]);
            }
            let incoming = self.swap(&self.around_lead(Some(rank)), outgoing)?;
            if self.rank() == rank {
                own = unpacked(0, &incoming[0])?;
            }
        }
        Ok(own)
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
                let made = ranks.scattered(|rank| Some(7 * rank as u64)).unwrap();
                assert_eq!(made, (rank > 0).then_some(7 * rank));
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
    fn partners_alone_exchange_and_all_hear_the_greatest_words() {
        // Ranks in a row: each has bytes for the next and the one before.
        let ends = InProcess::run(4, |ranks| {
            let rank = ranks.rank();
            let partners: Vec<usize> = (0..4).filter(|&other| rank.abs_diff(other) == 1).collect();
            let outgoing = (0..4).map(|to| vec![rank as u8, to as u8]).collect();
            let mut say = || Some([rank as u64, 9 - rank as u64, 5]);
            ranks.exchange(&partners, outgoing, &mut say).unwrap()
        });
        for (rank, (incoming, words)) in (0..).zip(ends) {
            assert_eq!(words, [3, 9, 5]);
            for (from, bytes) in (0..4_u8).zip(incoming) {
                let near = from.abs_diff(rank) == 1;
                assert_eq!(bytes, if near { vec![from, rank] } else { Vec::new() });
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
