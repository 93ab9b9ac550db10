//! Vector arithmetic with a fixed order of operations: the same bits on every machine.

use super::kernel;
use super::kernel::rows::{Axpy, Dot};

/// Independent partial sums per dot product. The compiler maps them onto whatever vector registers
/// there are; the order of additions is part of the result and does not change with them.
const LANES: usize = 8;
/// Vectors from this length on go through the widest registers that there are; for shorter ones the
/// call costs what it saves.
const LONG: usize = 64;

/// aᵀb, as eight interleaved partial sums added pairwise, then the tail in order.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    if b.len() >= LONG {
        return kernel::run(Dot(a, b));
    }
    let mut lanes = [0.0; LANES];
    let (a_chunks, a_tail) = a.as_chunks::<LANES>();
    let (b_chunks, b_tail) = b.as_chunks::<LANES>();
    for (x, y) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..LANES {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    let [l0, l1, l2, l3, l4, l5, l6, l7] = lanes;
    let mut sum = ((l0 + l4) + (l2 + l6)) + ((l1 + l5) + (l3 + l7));
    for (x, y) in a_tail.iter().zip(b_tail) {
        sum += x * y;
    }
    sum
}

/// y ← y + αx.
#[inline]
pub fn axpy(alpha: f64, x: &[f64], y: &mut [f64]) {
    debug_assert_eq!(x.len(), y.len());
    if y.len() >= LONG {
        return kernel::run(Axpy(alpha, x, y));
    }
    for (y, x) in y.iter_mut().zip(x) {
        *y += alpha * x;
    }
}

/// |a|₂.
pub fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// |a − b|₂.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_agrees_with_the_plain_sum_for_every_length() {
        for d in 0..200 {
            let a: Vec<f64> = (0..d).map(|i| (i as f64).sin()).collect();
            let b: Vec<f64> = (0..d).map(|i| (i as f64 * 0.7).cos()).collect();
            let plain: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            assert!((dot(&a, &b) - plain).abs() < 1e-14, "d = {d}");
        }
    }
}
