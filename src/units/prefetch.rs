//! Asking for memory before it is needed: no more than a hint to be quick, never a part of a result.
//!
//! It comes as far as the second cache. Asked for as far as the first, rows of samples were measured to come
//! in a third slower; asked for past the second, or not at all, peers wait.

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
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of x86_64 has SSE, and to ask for an address does nothing else, whatever is there.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(at.cast());
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
    // Where a value begins within a line it ends on one more.
    if size_of::<T>() % BYTES != 0 {
        line(begin.wrapping_add(size_of::<T>() - 1));
    }
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
