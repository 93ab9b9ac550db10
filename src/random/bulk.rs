//! Normal draws in bulk.
//!
//! What `rand_distr` draws one by one, to the bit: a word of 64 bits has the number i of a layer of the
//! [ziggurat](https://www.doornik.com/research/ziggurat.pdf) in its lowest 8 bits and a u from [−1, 1)
//! in its highest 52, and u·x_i is the draw where |u·x_i| < x_{i+1}, as it is for 98.8 % of the words.
//! Here that is found out for many words at a time. For a word of which it does not hold, `rand_distr`
//! itself is asked, with that word and those behind it.

use std::array::from_fn;
use std::convert::Infallible;
use std::sync::LazyLock;

use rand::{Rng, TryRng};
use rand_distr::{Distribution, StandardNormal};

use super::Family;
use super::wide::{self, Registers, Work};

/// Words of 64 bits that are made at a time: eight blocks.
pub(super) const WORDS: usize = 64;

const BLOCKS: u64 = 8;

/// x_i and x_{i+1}.
pub(super) type Layer = [f64; 2];

/// The layers, as `rand_distr` has them: they are drawn from it.
static LAYERS: LazyLock<[Layer; 256]> = LazyLock::new(|| {
    let edges: [f64; 256] = from_fn(|i| {
        // u = ½, of which ½x_i is made, which doubles without an error.
        let half: f64 = StandardNormal.sample(&mut Given(Some(0b11 << 62 | i as u64)));
        2.0 * half
    });
    from_fn(|i| [edges[i], edges.get(i + 1).copied().unwrap_or(0.0)])
});

/// A given word, then ones alone: a number close to 1, with which the innermost layer, which has no
/// quick way, keeps the draw.
struct Given(Option<u64>);

impl TryRng for Given {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("{WHOLE}")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.take().unwrap_or(u64::MAX))
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("{WHOLE}")
    }
}

const WHOLE: &str = "a normal draw takes whole words of 64 bits";

/// Adds a normal draw of this deviation to each coordinate, from the stream of `member` behind so many
/// words of 32 bits. Returns behind how many it goes on; nothing, where it is not done in bulk.
#[inline]
pub(super) fn add_normals(
    family: &Family,
    member: u64,
    at: u128,
    deviation: f64,
    vector: &mut [f64],
) -> Option<u128> {
    if vector.is_empty() || at % 2 == 1 {
        return None;
    }
    wide::run(Addition { family, member, at, deviation, vector, layers: &LAYERS })
}

struct Addition<'a> {
    family: &'a Family,
    member: u64,
    at: u128,
    deviation: f64,
    vector: &'a mut [f64],
    layers: &'a [Layer; 256],
}

impl Work for Addition<'_> {
    #[inline(always)]
    fn run<R: Registers>(self) -> u128 {
        let Self { family, member, at, deviation, vector, layers } = self;
        let mut words = Words::new::<R>(family, member, at);
        // How many are used, which stays in a register from one four to the next.
        let mut used = words.used;
        let (fours, last) = vector.as_chunks_mut();
        for four in fours {
            match words.made.get(used..).and_then(<[u64]>::first_chunk) {
                Some(next) if R::add_quick(next, layers, deviation, four) => used += 4,
                _ => used = words.add_one_by_one::<R>(used, layers, deviation, four),
            }
        }
        words.used = words.add_one_by_one::<R>(used, layers, deviation, last);
        words.position()
    }
}

/// What `rand_distr` draws.
#[cold]
#[inline(never)]
fn one(words: &mut Words<'_>) -> f64 {
    StandardNormal.sample(words)
}

/// The words of a stream, of 64 bits each.
struct Words<'a> {
    family: &'a Family,
    member: u64,
    /// Those of eight blocks, and the first block behind them.
    made: [u64; WORDS],
    block: u64,
    used: usize,
}

impl<'a> Words<'a> {
    /// Those behind so many of 32 bits, an even number.
    #[inline(always)]
    fn new<R: Registers>(family: &'a Family, member: u64, at: u128) -> Self {
        let block = (at / 16) as u64;
        let made = R::blocks(&family.key, member, block);
        let block = block.wrapping_add(BLOCKS);
        Self { family, member, made, block, used: (at % 16) as usize / 2 }
    }

    /// Adds a draw to each coordinate, with so many words used. Returns how many then are.
    #[inline(always)]
    fn add_one_by_one<R: Registers>(
        &mut self,
        mut used: usize,
        layers: &[Layer; 256],
        deviation: f64,
        vector: &mut [f64],
    ) -> usize {
        for x in vector {
            if used == WORDS {
                self.made = R::blocks(&self.family.key, self.member, self.block);
                self.block = self.block.wrapping_add(BLOCKS);
                used = 0;
            }
            let word = self.made[used];
            let [edge, within] = layers[(word & 255) as usize];
            let mut draw = (f64::from_bits(word >> 12 | 2.0_f64.to_bits()) - 3.0) * edge;
            if draw.abs() < within {
                used += 1;
            } else {
                self.used = used;
                draw = one(self);
                used = self.used;
            }
            *x += deviation * draw;
        }
        used
    }

    /// Where the stream goes on, in words of 32 bits.
    fn position(&self) -> u128 {
        u128::from(self.block.wrapping_sub(BLOCKS)) * 16 + 2 * self.used as u128
    }
}

impl TryRng for Words<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("{WHOLE}")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        if self.used == WORDS {
            // Wide registers are not at hand here; it happens seldom.
            let mut stream = self.family.behind(self.member, u128::from(self.block) * 16);
            self.made = from_fn(|_| stream.next_u64());
            self.block = self.block.wrapping_add(BLOCKS);
            self.used = 0;
        }
        let word = self.made[self.used];
        self.used += 1;
        Ok(word)
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("{WHOLE}")
    }
}

#[cfg(test)]
mod tests;
