//! Asking for memory before it is needed: no more than a hint to be quick, never a part of a result.
//!
//! It comes as far as the second cache, which bears many lines that are on their way from memory. Rows of samples,
//! all asked for as far as the first, were measured to come in a third slower; what will be used at once may be.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the processor's own hint, which reads and writes nothing")
)]

use super::aligned::BYTES;

/// Numbers of a cache line.
pub const LINE: usize = BYTES / size_of::<f64>();

/// Asks for the cache line at an address.
#[inline(always)]
pub fn line<T>(at: *const T) {
    ask::<{ hint::SECOND }>(at.cast());
}

/// Asks for the cache line at an address, as far as the first cache.
#[inline(always)]
pub fn line_soon<T>(at: *const T) {
    ask::<{ hint::FIRST }>(at.cast());
}

#[cfg(target_arch = "x86_64")]
mod hint {
    pub(super) use std::arch::x86_64::{_MM_HINT_T0 as FIRST, _MM_HINT_T1 as SECOND};
}
#[cfg(not(target_arch = "x86_64"))]
mod hint {
    pub(super) const FIRST: i32 = 0;
    pub(super) const SECOND: i32 = 0;
}

#[inline(always)]
fn ask<const HINT: i32>(at: *const i8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of x86_64 has SSE, and to ask for an address does nothing else, whatever is there.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<HINT>(at);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Asks for a value, if there is one; not for what it points to.
#[inline(always)]
pub fn value<T>(value: Option<&T>) {
    let Some(value) = value else { return };
    let begin = std::ptr::from_ref(value).cast::<u8>();
    for at in (0..size_of::<T>()).step_by(BYTES) {
        line(begin.wrapping_add(at));
    }
    // Where a value begins within a line it may end on one more.
    line(begin.wrapping_add(size_of::<T>().saturating_sub(1)));
}

/// Asks for the first cache lines of some numbers, which begin with one: so many at least, as it is known before
/// there are any numbers, and then on to the end or to the limit. The end may come before. What is known
/// beforehand takes no branches: these were measured to take longer than the rest of it.
#[inline(always)]
pub fn numbers<const LINES: usize>(x: &[f64]) {
    const LIMIT: usize = 32;
    for at in 0..LINES {
        line(x.as_ptr().wrapping_add(LINE * at));
    }
    for rest in x.get(LINE * LINES..x.len().min(LINE * LIMIT)).unwrap_or(&[]).chunks(LINE) {
        line(rest.as_ptr());
    }
}
