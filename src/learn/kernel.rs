//! The loops over rows, written once and compiled for more than one instruction set.
//!
//! A `Loop` is written over `Four`, four numbers that go through every operation together, and over `Eight`,
//! two such fours. It is compiled for what every processor of the architecture has, for AVX2, and, where it
//! gains by that, for AVX-512, in which eight numbers are one register; the widest that the processor has is
//! chosen at run time. All do the same operations on the same lanes in the same order, each rounded on its own (no
//! multiply-add is contracted), so all give the same bits; of a NaN only that it is one. One of the few files with
//! `unsafe` in them: the operations of the wider registers, and the call that is allowed once the processor has said
//! that it has them.

#![cfg_attr(
    target_arch = "x86_64",
    expect(
        unsafe_code,
        reason = "registers of the processor, used once it has said that it has them"
    )
)]

pub(super) mod exponential;
mod lanes;
pub(super) mod rows;
pub(super) mod symmetric;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU8, Ordering};

pub use self::lanes::LANES;
pub(crate) use self::lanes::{Eight, Four};

/// A loop, with what it runs over.
pub(crate) trait Loop {
    /// What it returns.
    type Output;
    /// Whether it is quicker in registers of eight numbers where there are such: divisions and roots are, a
    /// pass over rows was measured not to be.
    const GAINS: bool = false;

    /// Runs it. Implementations are `#[inline(always)]`, so that they are compiled anew into each
    /// function that calls them.
    fn run<F: Four>(self) -> Self::Output;
}

/// Nothing is known yet of the processor.
const UNKNOWN: u8 = 0;
/// What every processor of the architecture has.
const PORTABLE: u8 = 1;
/// AVX2.
const AVX2: u8 = 2;
/// AVX-512, its foundation and its operations on shorter registers.
const AVX512: u8 = 3;
/// What they are called.
const NAMES: [(u8, &str); 3] = [(PORTABLE, "portable"), (AVX2, "avx2"), (AVX512, "avx512")];

/// Which of them the loops take from now on.
static CHOSEN: AtomicU8 = AtomicU8::new(UNKNOWN);

/// From now on, loops take what every processor of the architecture has; results do not change.
///
/// So do [draws in bulk](crate::random::force_portable).
pub fn force_portable() {
    CHOSEN.store(PORTABLE, Ordering::Relaxed);
    crate::random::force_portable();
}

/// What loops are compiled for on this processor: `avx512`, `avx2` or `portable`.
pub fn name() -> &'static str {
    let chosen = chosen();
    NAMES.iter().find(|(kind, _)| *kind == chosen).map_or("portable", |(_, name)| name)
}

/// From now on, loops take what all processors have that are said to take these; results do not change.
pub fn agree_on<'a>(names: impl IntoIterator<Item = &'a str>) {
    match weakest(names) {
        Some(PORTABLE) => force_portable(),
        Some(least) => CHOSEN.store(least.min(chosen()), Ordering::Relaxed),
        None => {}
    }
}

/// The weakest of what these names stand for; an unknown one stands for what every processor has.
fn weakest<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<u8> {
    let known = |name| NAMES.iter().find(|(_, known)| *known == name);
    names.into_iter().map(|name| known(name).map_or(PORTABLE, |(kind, _)| *kind)).min()
}

/// Σ_k x_k, as fast as it can be read: what other passes over the same numbers are measured against.
pub fn sum(x: &[f64]) -> f64 {
    run(rows::Sum(x))
}

#[inline(always)]
fn chosen() -> u8 {
    match CHOSEN.load(Ordering::Relaxed) {
        UNKNOWN => choose(),
        known => known,
    }
}

/// Asks the processor, once.
#[cold]
fn choose() -> u8 {
    #[cfg(target_arch = "x86_64")]
    let found = if !is_x86_feature_detected!("avx2") {
        PORTABLE
    } else if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
        AVX512
    } else {
        AVX2
    };
    #[cfg(not(target_arch = "x86_64"))]
    let found = PORTABLE;
    // Whoever forced the other meanwhile has the last word.
    match CHOSEN.compare_exchange(UNKNOWN, found, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => found,
        Err(forced) => forced,
    }
}

/// Runs a loop on the widest registers that there are.
#[inline(always)]
pub(crate) fn run<L: Loop>(work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    match chosen() {
        // SAFETY: the processor has them: nothing beyond what `choose` found is ever chosen.
        AVX512 if L::GAINS => return unsafe { x86::on_avx512(work) },
        // SAFETY: as above; who has AVX-512 has AVX2.
        AVX2 | AVX512 => return unsafe { x86::on_avx2(work) },
        _ => {}
    }
    on_portable(work)
}

/// Runs a loop on AVX2 where there is better.
#[cfg(test)]
pub(super) fn on_avx2<L: Loop>(work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just said that it has them.
        return unsafe { x86::on_avx2(work) };
    }
    on_portable(work)
}

/// Runs a loop on what every processor of the architecture has.
#[inline(never)]
pub(super) fn on_portable<L: Loop>(work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    return work.run::<x86::Sse2>();
    #[cfg(not(target_arch = "x86_64"))]
    return work.run::<[f64; 4]>();
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128d, __m256d, __m512d, _mm_add_pd, _mm_div_pd, _mm_loadu_pd, _mm_mul_pd, _mm_set1_pd,
        _mm_sqrt_pd, _mm_storeu_pd, _mm_unpackhi_pd, _mm_unpacklo_pd, _mm256_add_pd,
        _mm256_blend_pd, _mm256_div_pd, _mm256_hadd_pd, _mm256_loadu_pd, _mm256_mul_pd,
        _mm256_permute2f128_pd, _mm256_set1_pd, _mm256_sqrt_pd, _mm256_storeu_pd, _mm512_add_pd,
        _mm512_castpd512_pd256, _mm512_div_pd, _mm512_extractf64x4_pd, _mm512_loadu_pd,
        _mm512_mul_pd, _mm512_set1_pd, _mm512_sqrt_pd, _mm512_storeu_pd,
    };

    use super::{Eight, Four, Loop};

    /// Runs a loop on AVX2.
    #[target_feature(enable = "avx2")]
    #[inline(never)]
    pub(super) fn on_avx2<L: Loop>(work: L) -> L::Output {
        work.run::<Avx2>()
    }

    /// Runs a loop on AVX-512.
    #[target_feature(enable = "avx2,avx512f,avx512vl")]
    #[inline(never)]
    pub(super) fn on_avx512<L: Loop>(work: L) -> L::Output {
        work.run::<Half>()
    }

    /// Two registers of SSE2, which every processor of x86_64 has.
    #[derive(Clone, Copy)]
    pub(super) struct Sse2(__m128d, __m128d);

    impl Four for Sse2 {
        type Two = [Self; 2];
        const ROWS: usize = 2;

        #[inline(always)]
        fn splat(x: f64) -> Self {
            // SAFETY: every processor of x86_64 has SSE2.
            unsafe { Self(_mm_set1_pd(x), _mm_set1_pd(x)) }
        }

        #[inline(always)]
        fn load(x: &[f64; 4]) -> Self {
            // SAFETY: both addresses are those of two numbers within the four.
            unsafe { Self(_mm_loadu_pd(x.as_ptr()), _mm_loadu_pd(x.as_ptr().add(2))) }
        }

        #[inline(always)]
        fn store(self, x: &mut [f64; 4]) {
            // SAFETY: both addresses are those of two numbers within the four.
            unsafe {
                _mm_storeu_pd(x.as_mut_ptr(), self.0);
                _mm_storeu_pd(x.as_mut_ptr().add(2), self.1);
            }
        }

        #[inline(always)]
        fn plus(self, other: Self) -> Self {
            // SAFETY: every processor of x86_64 has SSE2.
            unsafe { Self(_mm_add_pd(self.0, other.0), _mm_add_pd(self.1, other.1)) }
        }

        #[inline(always)]
        fn times(self, other: Self) -> Self {
            // SAFETY: every processor of x86_64 has SSE2.
            unsafe { Self(_mm_mul_pd(self.0, other.0), _mm_mul_pd(self.1, other.1)) }
        }

        #[inline(always)]
        fn over(self, other: Self) -> Self {
            // SAFETY: every processor of x86_64 has SSE2.
            unsafe { Self(_mm_div_pd(self.0, other.0), _mm_div_pd(self.1, other.1)) }
        }

        #[inline(always)]
        fn root(self) -> Self {
            // SAFETY: every processor of x86_64 has SSE2.
            unsafe { Self(_mm_sqrt_pd(self.0), _mm_sqrt_pd(self.1)) }
        }

        #[inline(always)]
        fn sums([a, b, c, d]: [Self; 4]) -> Self {
            // SAFETY: every processor of x86_64 has SSE2.
            let of_two = |a: __m128d, b: __m128d| unsafe {
                _mm_add_pd(_mm_unpacklo_pd(a, b), _mm_unpackhi_pd(a, b))
            };
            let halves = |a: Self, b: Self| (of_two(a.0, b.0), of_two(a.1, b.1));
            let ((a, b), (c, d)) = (halves(a, b), halves(c, d));
            // SAFETY: as above.
            unsafe { Self(_mm_add_pd(a, b), _mm_add_pd(c, d)) }
        }
    }

    /// A register of AVX2. None but [`on_avx2`] and, by way of [`Half`], [`on_avx512`] name it, which run where
    /// there are such registers: what makes all of its operations safe.
    #[derive(Clone, Copy)]
    struct Avx2(__m256d);

    impl Four for Avx2 {
        type Two = [Self; 2];
        const ROWS: usize = 4;

        #[inline(always)]
        fn splat(x: f64) -> Self {
            // SAFETY: within `on_avx2` or `on_avx512`.
            Self(unsafe { _mm256_set1_pd(x) })
        }

        #[inline(always)]
        fn load(x: &[f64; 4]) -> Self {
            // SAFETY: within `on_avx2` or `on_avx512`; the address is that of four numbers.
            Self(unsafe { _mm256_loadu_pd(x.as_ptr()) })
        }

        #[inline(always)]
        fn store(self, x: &mut [f64; 4]) {
            // SAFETY: within `on_avx2` or `on_avx512`; the address is that of four numbers.
            unsafe { _mm256_storeu_pd(x.as_mut_ptr(), self.0) }
        }

        #[inline(always)]
        fn plus(self, other: Self) -> Self {
            // SAFETY: within `on_avx2` or `on_avx512`.
            Self(unsafe { _mm256_add_pd(self.0, other.0) })
        }

        #[inline(always)]
        fn times(self, other: Self) -> Self {
            // SAFETY: within `on_avx2` or `on_avx512`.
            Self(unsafe { _mm256_mul_pd(self.0, other.0) })
        }

        #[inline(always)]
        fn over(self, other: Self) -> Self {
            // SAFETY: within `on_avx2` or `on_avx512`.
            Self(unsafe { _mm256_div_pd(self.0, other.0) })
        }

        #[inline(always)]
        fn root(self) -> Self {
            // SAFETY: within `on_avx2` or `on_avx512`.
            Self(unsafe { _mm256_sqrt_pd(self.0) })
        }

        #[inline(always)]
        fn sums([a, b, c, d]: [Self; 4]) -> Self {
            // SAFETY: within `on_avx2` or `on_avx512`.
            Self(unsafe {
                let (left, right) = (_mm256_hadd_pd(a.0, b.0), _mm256_hadd_pd(c.0, d.0));
                let outer = _mm256_blend_pd::<0b1100>(left, right);
                let inner = _mm256_permute2f128_pd::<0x21>(left, right);
                _mm256_add_pd(outer, inner)
            })
        }
    }

    /// Half a register of AVX-512, which is one of AVX2.
    #[derive(Clone, Copy)]
    struct Half(Avx2);

    impl Four for Half {
        type Two = Full;
        const ROWS: usize = 4;

        #[inline(always)]
        fn splat(x: f64) -> Self {
            Self(Avx2::splat(x))
        }

        #[inline(always)]
        fn load(x: &[f64; 4]) -> Self {
            Self(Avx2::load(x))
        }

        #[inline(always)]
        fn store(self, x: &mut [f64; 4]) {
            self.0.store(x);
        }

        #[inline(always)]
        fn plus(self, other: Self) -> Self {
            Self(self.0.plus(other.0))
        }

        #[inline(always)]
        fn times(self, other: Self) -> Self {
            Self(self.0.times(other.0))
        }

        #[inline(always)]
        fn over(self, other: Self) -> Self {
            Self(self.0.over(other.0))
        }

        #[inline(always)]
        fn root(self) -> Self {
            Self(self.0.root())
        }

        #[inline(always)]
        fn sums([a, b, c, d]: [Self; 4]) -> Self {
            Self(Avx2::sums([a.0, b.0, c.0, d.0]))
        }
    }

    /// A register of AVX-512. None but [`on_avx512`] names it, by way of [`Half`], which runs where there are
    /// such registers: what makes all of its operations safe.
    #[derive(Clone, Copy)]
    struct Full(__m512d);

    impl Eight for Full {
        type Four = Half;

        #[inline(always)]
        fn splat(x: f64) -> Self {
            // SAFETY: within `on_avx512`.
            Self(unsafe { _mm512_set1_pd(x) })
        }

        #[inline(always)]
        fn load(x: &[[f64; 4]; 2]) -> Self {
            // SAFETY: within `on_avx512`; the address is that of eight numbers.
            Self(unsafe { _mm512_loadu_pd(x.as_ptr().cast()) })
        }

        #[inline(always)]
        fn store(self, x: &mut [[f64; 4]; 2]) {
            // SAFETY: within `on_avx512`; the address is that of eight numbers.
            unsafe { _mm512_storeu_pd(x.as_mut_ptr().cast(), self.0) }
        }

        #[inline(always)]
        fn plus(self, other: Self) -> Self {
            // SAFETY: within `on_avx512`.
            Self(unsafe { _mm512_add_pd(self.0, other.0) })
        }

        #[inline(always)]
        fn times(self, other: Self) -> Self {
            // SAFETY: within `on_avx512`.
            Self(unsafe { _mm512_mul_pd(self.0, other.0) })
        }

        #[inline(always)]
        fn over(self, other: Self) -> Self {
            // SAFETY: within `on_avx512`.
            Self(unsafe { _mm512_div_pd(self.0, other.0) })
        }

        #[inline(always)]
        fn root(self) -> Self {
            // SAFETY: within `on_avx512`.
            Self(unsafe { _mm512_sqrt_pd(self.0) })
        }

        #[inline(always)]
        fn halves(self) -> [Half; 2] {
            // SAFETY: within `on_avx512`.
            let halves =
                unsafe { [_mm512_castpd512_pd256(self.0), _mm512_extractf64x4_pd::<1>(self.0)] };
            [Half(Avx2(halves[0])), Half(Avx2(halves[1]))]
        }
    }
}
