//! Linear systems by products alone: Newton's step where a matrix would not fit.

use super::vector::{axpy, dot};

/// x ← A⁻¹b for a symmetric positive definite A, until |b − Ax| ≤ `target`.
///
/// `product(v, out)` sets out ← Av. `scratch` holds 3d numbers. Returns the products taken.
pub(super) fn conjugate_gradients(
    mut product: impl FnMut(&[f64], &mut [f64]),
    b: &[f64],
    target: f64,
    x: &mut [f64],
    scratch: &mut [f64],
) -> usize {
    let d = b.len();
    let (residual, rest) = scratch.split_at_mut(d);
    let (direction, image) = rest.split_at_mut(d);
    x.fill(0.0);
    residual.copy_from_slice(b);
    direction.copy_from_slice(b);
    let mut rr = dot(residual, residual);
    // Exact arithmetic needs d products; rounding may ask for some more.
    for products in 0..4 * d {
        if rr.sqrt() <= target {
            return products;
        }
        product(direction, image);
        let alpha = rr / dot(direction, image);
        axpy(alpha, direction, x);
        axpy(-alpha, image, residual);
        let next = dot(residual, residual);
        let beta = next / rr;
        rr = next;
        for (p, r) in direction.iter_mut().zip(residual.iter()) {
            *p = r + beta * *p;
        }
    }
    4 * d
}
