//! Linear systems by products alone: Newton's step where a matrix would not fit.

use super::vector::{axpy, dot};

/// x ← A⁻¹b for a symmetric positive definite A, until |b − Ax| ≤ `target`.
///
/// `product(v, out)` sets out ← Av. `scratch` holds 3d numbers. Returns the products taken. Where the residual
/// is no number any more, it ends.
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
        if rr.is_nan() || rr.sqrt() <= target {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_where_the_residual_is_no_number() {
        let overflows = |_: &[f64], out: &mut [f64]| out.fill(f64::INFINITY);
        let (mut x, mut scratch) = (vec![0.0; 5], vec![0.0; 15]);
        let products = conjugate_gradients(overflows, &[1.0; 5], 1e-8, &mut x, &mut scratch);
        assert!(products <= 2, "{products}");
    }
}
