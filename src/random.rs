//! Random streams: every draw of a run has an address, and the address decides its value.
//!
//! A stream is named by (seed, repeat, purpose, task, peer) and positioned by a round, step or
//! message number. Streams are made where they are used and never stored, so the order in which
//! peers happen to run, the number of workers, and the presence of other peers cannot shift
//! anybody's randomness.
//!
//! ```
//! use hushmesh::random::{Purpose, Streams};
//! use hushmesh::units::Seed;
//! use rand::RngExt;
//!
//! let streams = Streams::new(Seed(7), 0);
//! let family = streams.family(Purpose::Latency, 0);
//! let first: f64 = family.at(3, 5).random();
//! assert_eq!(first, family.at(3, 5).random::<f64>(), "same address, same value");
//! assert_ne!(first, family.at(4, 5).random::<f64>(), "another peer, another stream");
//! ```

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

use crate::units::Seed;

/// The generator behind every stream: portable, counter-based, with 2⁶⁴ streams per key.
pub type Stream = ChaCha8Rng;

/// What a stream is drawn for. Each purpose has its own key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Links of random graphs.
    Topology,
    /// The true parameter of a synthetic source.
    Truth,
    /// Rows of a synthetic source; one stream per row.
    Rows,
    /// The permutation that separates training from held-out rows.
    Split,
    /// The permutation that deals training rows to peers.
    Partition,
    /// Link delays; one stream per sender, positioned by its message number.
    Latency,
    /// Lost transmissions; one stream per sender, positioned by its message number.
    Loss,
    /// Speeds of peers.
    Speed,
    /// The starting vector of an iterative eigenvalue method.
    Spectrum,
}

/// All streams of one repeat of a run.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    seed: Seed,
    repeat: u32,
}

impl Streams {
    /// The streams of repeat number `repeat` under `seed`.
    pub fn new(seed: Seed, repeat: u32) -> Self {
        Self { seed, repeat }
    }

    /// The streams of one purpose and task, one for every peer (or row, or link).
    ///
    /// Costs a hash; make it once and draw many streams from it.
    pub fn family(&self, purpose: Purpose, task: u32) -> Family {
        let mut hash = Sha256::new();
        hash.update(b"hushmesh stream 1");
        hash.update(self.seed.0.to_le_bytes());
        hash.update(self.repeat.to_le_bytes());
        hash.update((purpose as u32).to_le_bytes());
        hash.update(task.to_le_bytes());
        Family { key: hash.finalize().into() }
    }

    /// The stream of a purpose that needs only one.
    pub fn single(&self, purpose: Purpose) -> Stream {
        self.family(purpose, 0).stream(0)
    }
}

/// The streams of one purpose: see [`Streams::family`].
#[derive(Clone, Copy, Debug)]
pub struct Family {
    key: [u8; 32],
}

impl Family {
    /// The stream of `member` (a peer, a row, a link) from its beginning.
    pub fn stream(&self, member: u64) -> Stream {
        let mut stream = ChaCha8Rng::from_seed(self.key);
        stream.set_stream(member);
        stream
    }

    /// The stream of `member` at `position` (a round, a step, a message number).
    ///
    /// Positions are 2³² words apart: no draw reaches from one into the next. There are 2³⁶ of them.
    pub fn at(&self, member: u64, position: u64) -> Stream {
        debug_assert!(position < 1 << 36);
        let mut stream = self.stream(member);
        stream.set_word_pos(u128::from(position) << 32);
        stream
    }
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;

    #[test]
    fn every_part_of_the_address_matters() {
        let first = |seed, repeat, purpose, task, member, position| {
            Streams::new(Seed(seed), repeat).family(purpose, task).at(member, position).next_u64()
        };
        let base = first(1, 0, Purpose::Rows, 0, 0, 0);
        assert_eq!(base, first(1, 0, Purpose::Rows, 0, 0, 0));
        for other in [
            first(2, 0, Purpose::Rows, 0, 0, 0),
            first(1, 1, Purpose::Rows, 0, 0, 0),
            first(1, 0, Purpose::Split, 0, 0, 0),
            first(1, 0, Purpose::Rows, 1, 0, 0),
            first(1, 0, Purpose::Rows, 0, 1, 0),
            first(1, 0, Purpose::Rows, 0, 0, 1),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn a_stream_is_its_own_position_zero() {
        let family = Streams::new(Seed(3), 2).family(Purpose::Speed, 0);
        assert_eq!(family.stream(9).next_u64(), family.at(9, 0).next_u64());
    }
}
