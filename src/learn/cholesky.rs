//! Symmetric positive definite matrices in packed storage, and their Cholesky factors.

use thiserror::Error;

use super::kernel;
use super::kernel::symmetric::{AddOuter, Factor, Solve};
use super::vector::{axpy, dot};
use crate::units::prefetch;

/// A pivot was not positive: the matrix has no Cholesky factor.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error("the matrix is not positive definite: pivot {pivot} at row {row}")]
pub struct NotPositiveDefinite {
    /// Which row.
    pub row: usize,
    /// Its pivot.
    pub pivot: f64,
}

/// The lower triangle of a symmetric matrix, row after row: d(d + 1)/2 numbers.
#[derive(Clone, Debug, Default)]
pub struct Packed {
    dimension: usize,
    entries: Vec<f64>,
}

impl Packed {
    /// λI.
    pub fn identity(dimension: usize, lambda: f64) -> Self {
        let mut matrix = Self { dimension, entries: vec![0.0; dimension * (dimension + 1) / 2] };
        matrix.set_identity(lambda);
        matrix
    }

    /// Becomes λI in place.
    pub fn set_identity(&mut self, lambda: f64) {
        self.entries.fill(0.0);
        self.add_identity(lambda);
    }

    /// Adds λI.
    pub fn add_identity(&mut self, lambda: f64) {
        let mut diagonal = 0;
        for i in 0..self.dimension {
            self.entries[diagonal + i] += lambda;
            diagonal += i + 1;
        }
    }

    /// Adds c·xxᵀ.
    #[inline]
    pub fn add_outer(&mut self, c: f64, x: &[f64]) {
        let mut rest = self.entries.as_mut_slice();
        for i in 0..self.dimension {
            let (row, tail) = rest.split_at_mut(i + 1);
            axpy(c * x[i], &x[..=i], row);
            rest = tail;
        }
    }

    /// Adds Σ_j c_j x_j x_jᵀ, the x_j one after the other in `x`: to the bit what
    /// [`add_outer`](Self::add_outer) gives for each in turn, and several times as quick.
    pub fn add_outers(&mut self, c: &[f64], x: &[f64]) {
        kernel::run(AddOuter { x, c, dimension: self.dimension, entries: &mut self.entries });
    }

    /// Number of rows.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Row i up to the diagonal.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.entries[i * (i + 1) / 2..(i + 1) * (i + 2) / 2]
    }

    /// Asks for the numbers, to be near when they are needed.
    pub(super) fn expect(&self) {
        prefetch::numbers::<0>(&self.entries);
    }

    /// out ← Av.
    pub fn product(&self, v: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for i in 0..self.dimension {
            let row = self.row(i);
            out[i] += dot(row, &v[..=i]);
            axpy(v[i], &row[..i], &mut out[..i]);
        }
    }

    /// Becomes its Cholesky factor L, A = LLᵀ.
    ///
    /// # Errors
    /// A matrix that is not positive definite, to working precision; its content is then lost.
    pub fn factor(&mut self) -> Result<(), NotPositiveDefinite> {
        let work = Factor { dimension: self.dimension, entries: &mut self.entries };
        kernel::run(work).map_or(Ok(()), |(row, pivot)| Err(NotPositiveDefinite { row, pivot }))
    }

    /// b ← A⁻¹b, where this is the factor of A.
    pub fn solve(&self, b: &mut [f64]) {
        kernel::run(Solve { dimension: self.dimension, factor: &self.entries, b });
    }
}

#[cfg(test)]
mod tests {
    use super::super::vector::norm;
    use super::*;

    fn example(d: usize) -> Packed {
        let mut a = Packed::identity(d, 0.1);
        for k in 0..2 * d {
            let x: Vec<f64> = (0..d).map(|i| ((i * 7 + k * 13) as f64).sin()).collect();
            a.add_outer(0.5, &x);
        }
        a
    }

    #[test]
    fn solving_inverts_the_product() {
        for d in [1, 2, 3, 8, 20, 105] {
            let a = example(d);
            let truth: Vec<f64> = (0..d).map(|i| (i as f64).cos()).collect();
            let mut b = vec![0.0; d];
            a.product(&truth, &mut b);
            let mut factor = a.clone();
            factor.factor().unwrap();
            factor.solve(&mut b);
            let error: Vec<f64> = b.iter().zip(&truth).map(|(x, y)| x - y).collect();
            assert!(norm(&error) < 1e-9, "d = {d}: {}", norm(&error));
        }
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        let mut a = Packed::identity(3, 1.0);
        a.add_outer(-2.0, &[0.0, 1.0, 0.0]);
        assert_eq!(a.factor(), Err(NotPositiveDefinite { row: 1, pivot: -1.0 }));
    }
}
