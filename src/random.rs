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

#[cfg(target_arch = "x86_64")]
mod bulk;
#[cfg(target_arch = "x86_64")]
mod wide;

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Gamma, StandardNormal};
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
    /// Users' privacy levels, where they are drawn; one stream per row.
    Levels,
    /// Randomised responses; one stream per row.
    Responses,
    /// The noise of perturbed objectives; one stream per peer.
    ObjectiveNoise,
    /// The noise of sent models; one stream per peer, positioned by round.
    PrimalNoise,
    /// Where a token starts and goes; one family per task, positioned by its moves.
    Walk,
    /// The noise of a token's updates; one family per task, positioned by update.
    WalkNoise,
    /// What a policy draws to decide; one family per task, one stream per peer, positioned by visit.
    Decision,
    /// The first weights of a policy; one family per task, one stream per peer.
    PolicyStart,
    /// Walks that are simulated to predict how many moves a run will take.
    Forecast,
    /// Seeds that two peers share to mask what they add to sums; one stream per pair, by round.
    Masks,
    /// Parts of the noise in sums; one stream per peer, positioned by round.
    SumNoise,
    /// Noise of peers' own steps and answers; one stream per peer, positioned by step.
    StepNoise,
    /// Noise on the weights of averages; one stream per peer.
    WeightNoise,
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
        self.behind(member, Self::words(position))
    }

    /// How many words are before a position.
    fn words(position: u64) -> u128 {
        debug_assert!(position < 1 << 36);
        u128::from(position) << 32
    }

    /// The stream of `member` behind so many words.
    fn behind(&self, member: u64, words: u128) -> Stream {
        let mut stream = self.stream(member);
        stream.set_word_pos(words);
        stream
    }
}

/// Where a mechanism's noise comes from: streams, or a tape in their place.
///
/// A tape holds given numbers for given addresses, so that a published example runs through the very
/// peers and engines that a scenario runs through.
#[derive(Clone, Debug)]
pub enum Draws {
    /// Drawn.
    Streams(Family),
    /// Given.
    Tape(Arc<Tape>),
}

/// Given numbers by (member, position).
#[derive(Clone, Debug, Default)]
pub struct Tape {
    numbers: BTreeMap<(u64, u64), Vec<f64>>,
}

impl Tape {
    /// Puts numbers at an address.
    pub fn record(&mut self, member: u64, position: u64, numbers: Vec<f64>) {
        self.numbers.insert((member, position), numbers);
    }
}

impl Draws {
    /// The draws of `member` at `position`.
    ///
    /// # Panics
    /// If they come from a tape that has nothing there.
    pub fn at(&self, member: u64, position: u64) -> Draw<'_> {
        match self {
            Self::Streams(family) => Draw::Stream(Place::new(*family, member, position)),
            Self::Tape(tape) => {
                let numbers = tape.numbers.get(&(member, position));
                let numbers =
                    numbers.unwrap_or_else(|| panic!("nothing on tape for {member} at {position}"));
                Draw::Tape(numbers.iter())
            }
        }
    }
}

/// Draws from one address, one after the other.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it lives on the stack; a box would be an allocation per draw"
)]
pub enum Draw<'a> {
    /// From a stream.
    Stream(Place),
    /// From a tape: whatever is asked for is the next number there.
    Tape(std::slice::Iter<'a, f64>),
}

impl Draw<'_> {
    /// A standard normal number.
    pub fn normal(&mut self) -> f64 {
        match self {
            Self::Stream(place) => StandardNormal.sample(place.stream()),
            Self::Tape(numbers) => next(numbers),
        }
    }

    /// Adds a normal number of this deviation to each coordinate: those that [`normal`](Self::normal)
    /// gives one after the other, in less time.
    pub fn add_normals(&mut self, deviation: f64, vector: &mut [f64]) {
        match self {
            Self::Stream(place) => place.add_normals(deviation, vector),
            Self::Tape(numbers) => {
                vector.iter_mut().for_each(|x| *x += deviation * next(numbers));
            }
        }
    }

    /// A uniform number from [0, 1).
    pub fn uniform(&mut self) -> f64 {
        match self {
            Self::Stream(place) => place.stream().random(),
            Self::Tape(numbers) => next(numbers),
        }
    }

    /// A number with the density ∝ x^{shape−1} e^{−x}.
    ///
    /// # Panics
    /// If the shape is not positive and finite.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        match self {
            Self::Stream(place) => {
                let law = Gamma::new(shape, 1.0).expect("a positive, finite shape");
                law.sample(place.stream())
            }
            Self::Tape(numbers) => next(numbers),
        }
    }
}

/// A place in a stream, from which it is drawn.
#[derive(Debug)]
pub struct Place {
    family: Family,
    member: u64,
    /// In words.
    at: u128,
    /// The stream from there on, once something has been drawn that is not drawn in bulk.
    stream: Option<Stream>,
}

impl Place {
    fn new(family: Family, member: u64, position: u64) -> Self {
        Self { family, member, at: Family::words(position), stream: None }
    }

    fn stream(&mut self) -> &mut Stream {
        let Self { family, member, at, stream } = self;
        stream.get_or_insert_with(|| family.behind(*member, *at))
    }

    fn add_normals(&mut self, deviation: f64, vector: &mut [f64]) {
        #[cfg(target_arch = "x86_64")]
        {
            let at = self.stream.as_ref().map_or(self.at, Stream::get_word_pos);
            if let Some(end) = bulk::add_normals(&self.family, self.member, at, deviation, vector) {
                (self.at, self.stream) = (end, None);
                return;
            }
        }
        let stream = self.stream();
        for x in vector {
            let draw: f64 = StandardNormal.sample(stream);
            *x += deviation * draw;
        }
    }
}

/// From now on, draws in bulk take what every processor of the architecture has; results do not change.
pub fn force_portable() {
    #[cfg(target_arch = "x86_64")]
    wide::force_portable();
}

fn next(numbers: &mut std::slice::Iter<'_, f64>) -> f64 {
    *numbers.next().expect("the tape holds as many numbers as are drawn")
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

    #[test]
    fn a_tape_gives_what_was_put_on_it() {
        let mut tape = Tape::default();
        tape.record(4, 2, vec![0.5, -1.5]);
        let draws = Draws::Tape(Arc::new(tape));
        let mut draw = draws.at(4, 2);
        assert_eq!([draw.normal(), draw.uniform()], [0.5, -1.5]);
    }
}
