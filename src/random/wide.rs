//! What draws in bulk do with wide registers: eight blocks of ChaCha8 at a time, and the quick way of
//! the ziggurat for four words at a time.
//!
//! The words are those of the generator everywhere else, and a draw is a difference and a product, each
//! rounded on its own: no bit depends on the registers. One of the few files with `unsafe` in them: the
//! operations of the registers, and the calls that are allowed once the processor has said that it has them.

#![expect(
    unsafe_code,
    reason = "registers of the processor, used once it has said that it has them"
)]

use std::arch::x86_64::{
    __m256i, _CMP_LT_OQ, _mm_loadu_pd, _mm256_add_epi32, _mm256_add_pd, _mm256_andnot_pd,
    _mm256_castsi256_pd, _mm256_cmp_pd, _mm256_cmpeq_epi32, _mm256_loadu_pd, _mm256_loadu_si256,
    _mm256_max_epu32, _mm256_movemask_pd, _mm256_mul_pd, _mm256_or_si256,
    _mm256_permute2x128_si256, _mm256_rol_epi32, _mm256_set_m128d, _mm256_set1_epi32,
    _mm256_set1_epi64x, _mm256_set1_pd, _mm256_setr_epi8, _mm256_setr_epi32, _mm256_shuffle_epi8,
    _mm256_slli_epi32, _mm256_srli_epi32, _mm256_srli_epi64, _mm256_storeu_pd, _mm256_sub_pd,
    _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpackhi_pd, _mm256_unpacklo_epi32,
    _mm256_unpacklo_epi64, _mm256_unpacklo_pd, _mm256_xor_si256,
};
use std::mem::transmute;
use std::sync::atomic::{AtomicBool, Ordering};

use super::bulk::{Layer, WORDS};

/// Whether wide registers are left alone.
static PORTABLE: AtomicBool = AtomicBool::new(false);

/// From now on, none of this is used; results do not change.
pub(super) fn force_portable() {
    PORTABLE.store(true, Ordering::Relaxed);
}

/// Work that is compiled anew for each kind of registers. Implementations are `#[inline(always)]`.
pub(super) trait Work {
    /// Does it.
    fn run<R: Registers>(self) -> u128;
}

/// Does the work, where there are wide registers.
pub(super) fn run(work: impl Work) -> Option<u128> {
    if PORTABLE.load(Ordering::Relaxed) || !is_x86_feature_detected!("avx2") {
        return None;
    }
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
        // SAFETY: the processor has just said that it has them.
        return Some(unsafe { on_avx512(work) });
    }
    // SAFETY: the processor has just said that it has them.
    Some(unsafe { on_avx2(work) })
}

/// Does the work on AVX2 where there is better.
#[cfg(test)]
pub(super) fn run_on_avx2(work: impl Work) -> Option<u128> {
    // SAFETY: it is called where the processor says that it has them.
    is_x86_feature_detected!("avx2").then(|| unsafe { on_avx2(work) })
}

#[target_feature(enable = "avx2")]
#[inline(never)]
fn on_avx2(work: impl Work) -> u128 {
    work.run::<Avx2>()
}

/// Of AVX-512, only that it turns words in one go, and has twice as many registers.
#[target_feature(enable = "avx2,avx512f,avx512vl")]
#[inline(never)]
fn on_avx512(work: impl Work) -> u128 {
    work.run::<Avx512>()
}

/// A kind of registers. None but the functions above name one, which run where there are such
/// registers: what makes all of its operations safe.
pub(super) trait Registers {
    /// Turns each word to the left by so many bits; `REST` is what is missing to 32.
    fn turn<const BY: i32, const REST: i32>(words: __m256i) -> __m256i;

    /// Eight blocks of ChaCha8 from a block on.
    ///
    /// A register has the same word of every block.
    #[inline(always)]
    fn blocks(key: &[u8; 32], member: u64, block: u64) -> [u64; WORDS] {
        const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
        // SAFETY: of registers that there are, and any bits are words.
        unsafe {
            let low = splat(block as u32);
            let counts = _mm256_add_epi32(low, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
            // −1 where the lower half of the counter has not run over.
            let within = _mm256_cmpeq_epi32(_mm256_max_epu32(counts, low), counts);
            let high = splat(((block >> 32) as u32).wrapping_add(1));
            let [c0, c1, c2, c3] = CONSTANTS;
            let (key, _) = key.as_chunks();
            let [k0, k1, k2, k3] = [key[0], key[1], key[2], key[3]].map(u32::from_le_bytes);
            let [k4, k5, k6, k7] = [key[4], key[5], key[6], key[7]].map(u32::from_le_bytes);
            let (m0, m1) = (member as u32, (member >> 32) as u32);
            // No closures for arrays: they are functions of their own, without the registers.
            #[rustfmt::skip]
            let start = [
                splat(c0), splat(c1), splat(c2), splat(c3),
                splat(k0), splat(k1), splat(k2), splat(k3),
                splat(k4), splat(k5), splat(k6), splat(k7),
                counts, _mm256_add_epi32(high, within), splat(m0), splat(m1),
            ];
            let mut x = start;
            for _ in 0..4 {
                let columns = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]];
                let diagonals = [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]];
                quarter_rounds::<Self>(&mut x, columns);
                quarter_rounds::<Self>(&mut x, diagonals);
            }
            for (word, start) in x.iter_mut().zip(start) {
                *word = _mm256_add_epi32(*word, start);
            }
            // From the same word of every block to the same block of every word.
            let (halves, _) = x.as_chunks::<8>();
            let mut out = start;
            for (half, &[a, b, c, d, e, f, g, h]) in halves.iter().enumerate() {
                let low = [
                    [_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d)],
                    [_mm256_unpacklo_epi32(e, f), _mm256_unpacklo_epi32(g, h)],
                ];
                let high = [
                    [_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d)],
                    [_mm256_unpackhi_epi32(e, f), _mm256_unpackhi_epi32(g, h)],
                ];
                for (first, [[a, b], [c, d]]) in [(0, low), (2, high)] {
                    let even = [_mm256_unpacklo_epi64(a, b), _mm256_unpacklo_epi64(c, d)];
                    let odd = [_mm256_unpackhi_epi64(a, b), _mm256_unpackhi_epi64(c, d)];
                    for (block, [a, b]) in [(first, even), (first + 1, odd)] {
                        let near = _mm256_permute2x128_si256::<0x20>(a, b);
                        let far = _mm256_permute2x128_si256::<0x31>(a, b);
                        for (block, words) in [(block, near), (block + 4, far)] {
                            out[2 * block + half] = words;
                        }
                    }
                }
            }
            transmute::<[__m256i; 16], [u64; WORDS]>(out)
        }
    }

    /// Adds u·x_i of four words, times the deviation, if every one lies in its layer for sure. Returns
    /// whether it does.
    #[inline(always)]
    fn add_quick(
        words: &[u64; 4],
        layers: &[Layer; 256],
        deviation: f64,
        sum: &mut [f64; 4],
    ) -> bool {
        // SAFETY: of registers that there are; addresses are those of what the arrays hold.
        unsafe {
            let [l0, l1, l2, l3] =
                [0, 1, 2, 3].map(|word: usize| &layers[(words[word] & 255) as usize]);
            let even = _mm256_set_m128d(_mm_loadu_pd(l2.as_ptr()), _mm_loadu_pd(l0.as_ptr()));
            let odd = _mm256_set_m128d(_mm_loadu_pd(l3.as_ptr()), _mm_loadu_pd(l1.as_ptr()));
            let (x, within) = (_mm256_unpacklo_pd(even, odd), _mm256_unpackhi_pd(even, odd));
            let words = _mm256_loadu_si256(words.as_ptr().cast());
            // From [2, 4), in steps of 2⁻⁵¹.
            let two = _mm256_set1_epi64x(2.0_f64.to_bits().cast_signed());
            let u = _mm256_castsi256_pd(_mm256_or_si256(_mm256_srli_epi64::<12>(words), two));
            let draws = _mm256_mul_pd(_mm256_sub_pd(u, _mm256_set1_pd(3.0)), x);
            let lengths = _mm256_andnot_pd(_mm256_set1_pd(-0.0), draws);
            let sure = _mm256_cmp_pd::<_CMP_LT_OQ>(lengths, within);
            if _mm256_movemask_pd(sure) != 0b1111 {
                return false;
            }
            let place = sum.as_mut_ptr();
            let noise = _mm256_mul_pd(_mm256_set1_pd(deviation), draws);
            _mm256_storeu_pd(place, _mm256_add_pd(_mm256_loadu_pd(place), noise));
            true
        }
    }
}

/// The same word eight times.
#[inline(always)]
fn splat(word: u32) -> __m256i {
    // SAFETY: of registers that there are.
    unsafe { _mm256_set1_epi32(word.cast_signed()) }
}

/// Four quarter rounds, of other words each, side by side.
#[inline(always)]
fn quarter_rounds<R: Registers + ?Sized>(x: &mut [__m256i; 16], words: [[usize; 4]; 4]) {
    macro_rules! step {
        ($add:literal to $sum:literal, $mixed:literal turned by $by:literal) => {
            for words in words {
                x[words[$sum]] = _mm256_add_epi32(x[words[$sum]], x[words[$add]]);
                let mixed = _mm256_xor_si256(x[words[$mixed]], x[words[$sum]]);
                x[words[$mixed]] = R::turn::<$by, { 32 - $by }>(mixed);
            }
        };
    }
    // SAFETY: of registers that there are.
    unsafe {
        step!(1 to 0, 3 turned by 16);
        step!(3 to 2, 1 turned by 12);
        step!(1 to 0, 3 turned by 8);
        step!(3 to 2, 1 turned by 7);
    }
}

struct Avx2;

impl Registers for Avx2 {
    #[inline(always)]
    fn turn<const BY: i32, const REST: i32>(words: __m256i) -> __m256i {
        // SAFETY: within `on_avx2`.
        unsafe {
            match BY {
                // By whole bytes: one permutation of them.
                16 => {
                    let by = _mm256_setr_epi8(
                        2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, //
                        2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13,
                    );
                    _mm256_shuffle_epi8(words, by)
                }
                8 => {
                    let by = _mm256_setr_epi8(
                        3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14, //
                        3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14,
                    );
                    _mm256_shuffle_epi8(words, by)
                }
                _ => _mm256_or_si256(
                    _mm256_slli_epi32::<BY>(words),
                    _mm256_srli_epi32::<REST>(words),
                ),
            }
        }
    }
}

struct Avx512;

impl Registers for Avx512 {
    #[inline(always)]
    fn turn<const BY: i32, const REST: i32>(words: __m256i) -> __m256i {
        // SAFETY: within `on_avx512`.
        unsafe { _mm256_rol_epi32::<BY>(words) }
    }
}
