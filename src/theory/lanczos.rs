//! The extreme eigenvalues of a symmetric matrix that is known by its products.

use crate::learn::{axpy, dot, norm};

/// The least and the largest eigenvalue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extremes {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Whether both have settled. If not, `low` is too high and `high` too low.
    pub(super) converged: bool,
}

/// The extreme eigenvalues on the orthogonal complement of the unit vector `kernel`, by Lanczos'
/// method from `start`. `product(v, out)` sets out ← Av; at most `most` products are taken.
///
/// No basis is kept: the copies of eigenvalues that rounding then brings do not move the extremes.
/// Settled means: unchanged when the number of steps is doubled, which a plateau does not survive.
pub(super) fn extreme_eigenvalues(
    mut product: impl FnMut(&[f64], &mut [f64]),
    kernel: Option<&[f64]>,
    start: Vec<f64>,
    most: usize,
) -> Extremes {
    const PRECISION: f64 = 1e-6;
    let project = |v: &mut [f64]| {
        if let Some(kernel) = kernel {
            axpy(-dot(kernel, v), kernel, v);
        }
    };
    let mut v = start;
    project(&mut v);
    let length = norm(&v);
    v.iter_mut().for_each(|v| *v /= length);
    let mut previous = vec![0.0; v.len()];
    let mut next = vec![0.0; v.len()];
    let mut tridiagonal = Tridiagonal::default();
    let mut coupling = 0.0;
    let mut settled: Option<Extremes> = None;
    let mut check = 8;
    for step in 1..=most.max(1) {
        product(&v, &mut next);
        axpy(-coupling, &previous, &mut next);
        let diagonal = dot(&v, &next);
        axpy(-diagonal, &v, &mut next);
        project(&mut next);
        tridiagonal.diagonal.push(diagonal);
        coupling = norm(&next);
        let exhausted = coupling <= 1e-12 * tridiagonal.scale();
        if exhausted || step == check || step == most {
            let (low, high) = tridiagonal.extremes();
            let same = |a: f64, b: f64| (a - b).abs() <= PRECISION * a.abs().max(b.abs());
            let converged = exhausted
                || step == check && settled.is_some_and(|s| same(s.low, low) && same(s.high, high));
            settled = Some(Extremes { low, high, converged });
            if converged {
                break;
            }
            check = 2 * step;
        }
        tridiagonal.coupling.push(coupling);
        next.iter_mut().for_each(|next| *next /= coupling);
        std::mem::swap(&mut previous, &mut v);
        std::mem::swap(&mut v, &mut next);
    }
    settled.expect("the last step, if no other, looks at the eigenvalues")
}

/// A symmetric matrix with one diagonal beside the main one.
#[derive(Debug, Default)]
struct Tridiagonal {
    diagonal: Vec<f64>,
    coupling: Vec<f64>,
}

impl Tridiagonal {
    fn scale(&self) -> f64 {
        let largest = |numbers: &[f64]| numbers.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        largest(&self.diagonal) + largest(&self.coupling)
    }

    /// How many eigenvalues are below x: the negative pivots of T − xI (Sturm).
    fn below(&self, x: f64) -> usize {
        let mut pivot = 1.0;
        let mut count = 0;
        for (i, diagonal) in self.diagonal.iter().enumerate() {
            let coupling = if i == 0 { 0.0 } else { self.coupling[i - 1] };
            pivot = diagonal - x - coupling * coupling / pivot;
            if pivot == 0.0 {
                pivot = f64::MIN_POSITIVE;
            }
            count += usize::from(pivot < 0.0);
        }
        count
    }

    /// The first and the last eigenvalue, by bisection.
    fn extremes(&self) -> (f64, f64) {
        let bound = 2.0 * self.scale();
        let bisect = |wanted: usize| {
            let (mut left, mut right) = (-bound, bound);
            for _ in 0..200 {
                let middle = 0.5 * (left + right);
                if middle <= left || middle >= right {
                    break;
                }
                if self.below(middle) >= wanted {
                    right = middle;
                } else {
                    left = middle;
                }
            }
            0.5 * (left + right)
        };
        (bisect(1), bisect(self.diagonal.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagonal_matrix_shows_its_ends() {
        for d in [1_usize, 2, 7, 40, 300] {
            let product = |v: &[f64], out: &mut [f64]| {
                for (i, (out, v)) in out.iter_mut().zip(v).enumerate() {
                    *out = (1 + i * i) as f64 * v;
                }
            };
            let found = extreme_eigenvalues(product, None, vec![1.0; d], 4_000);
            let high = (1 + (d - 1) * (d - 1)) as f64;
            assert!(found.converged, "{d}: {found:?}");
            assert!((found.low - 1.0).abs() < 1e-6, "{d}: {found:?}");
            assert!((found.high - high).abs() < 1e-8 * high, "{d}: {found:?}");
            let mut kernel = vec![0.0; d];
            kernel[0] = 1.0;
            if d > 1 {
                let found = extreme_eigenvalues(product, Some(&kernel), vec![1.0; d], 4_000);
                assert!((found.low - 2.0).abs() < 1e-6, "{d}: {found:?}");
            }
        }
    }

    #[test]
    fn too_few_steps_are_admitted() {
        let product = |v: &[f64], out: &mut [f64]| {
            for (i, (out, v)) in out.iter_mut().zip(v).enumerate() {
                *out = (1.0 + i as f64) * v;
            }
        };
        let found = extreme_eigenvalues(product, None, vec![1.0; 1_000], 12);
        assert!(!found.converged && found.low > 1.0 && found.high < 1_000.0, "{found:?}");
    }
}
