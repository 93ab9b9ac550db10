//! Small dense matrices: the eigenvalues of a Hessenberg matrix, and a vector that belongs to one.

use std::ops::Range;

use crate::learn::{axpy, dot, norm};

/// A square matrix, row after row.
#[derive(Clone, Debug)]
pub(super) struct Square {
    dimension: usize,
    entries: Vec<f64>,
}

impl Square {
    pub(super) fn zeros(dimension: usize) -> Self {
        Self { dimension, entries: vec![0.0; dimension * dimension] }
    }

    pub(super) fn at(&self, i: usize, j: usize) -> f64 {
        self.entries[i * self.dimension + j]
    }

    pub(super) fn set(&mut self, i: usize, j: usize, value: f64) {
        self.entries[i * self.dimension + j] = value;
    }

    pub(super) fn add(&mut self, i: usize, j: usize, value: f64) {
        self.entries[i * self.dimension + j] += value;
    }

    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    pub(super) fn norm(&self) -> f64 {
        norm(&self.entries)
    }

    pub(super) fn scale(&mut self, factor: f64) {
        self.entries.iter_mut().for_each(|entry| *entry *= factor);
    }

    /// The leading `size` rows and columns.
    pub(super) fn leading(&self, size: usize) -> Self {
        let rows = self.entries.chunks_exact(self.dimension.max(1)).take(size);
        Self { dimension: size, entries: rows.flat_map(|row| &row[..size]).copied().collect() }
    }

    /// Self · other.
    pub(super) fn times(&self, other: &Self) -> Self {
        let d = self.dimension;
        let mut product = Self::zeros(d);
        for i in 0..d {
            for k in 0..d {
                let factor = self.at(i, k);
                for j in 0..d {
                    product.add(i, j, factor * other.at(k, j));
                }
            }
        }
        product
    }

    /// Self · v.
    pub(super) fn product(&self, v: &[f64]) -> Vec<f64> {
        let row = |row: &[f64]| row.iter().zip(v).map(|(a, v)| a * v).sum();
        self.entries.chunks_exact(self.dimension.max(1)).map(row).collect()
    }

    /// b ← self⁻¹ b by elimination with row exchanges. A pivot that vanishes becomes the rounding
    /// error of the matrix: inverse iteration asks for just such systems.
    fn solve(mut self, b: &mut [f64]) {
        let d = self.dimension;
        let least = f64::EPSILON * norm(&self.entries).max(1e-100);
        for k in 0..d {
            let size = |i: &usize| self.at(*i, k).abs();
            let pivot = (k..d).max_by(|i, j| size(i).total_cmp(&size(j))).unwrap_or(k);
            for j in k..d {
                self.entries.swap(k * d + j, pivot * d + j);
            }
            b.swap(k, pivot);
            if self.at(k, k).abs() < least {
                self.set(k, k, least);
            }
            for i in k + 1..d {
                let factor = self.at(i, k) / self.at(k, k);
                for j in k + 1..d {
                    self.add(i, j, -factor * self.at(k, j));
                }
                b[i] -= factor * b[k];
            }
        }
        for i in (0..d).rev() {
            let known: f64 = (i + 1..d).map(|j| self.at(i, j) * b[j]).sum();
            b[i] = (b[i] - known) / self.at(i, i);
        }
    }

    /// The eigenvalues of a Hessenberg matrix by Francis' doubly shifted QR steps (Golub and Van
    /// Loan, algorithm 7.5.1). `None` if they do not settle.
    pub(super) fn hessenberg_eigenvalues(mut self) -> Option<Vec<Eigenvalue>> {
        const STEPS: usize = 60;
        let negligible = f64::EPSILON * norm(&self.entries);
        let mut found = Vec::new();
        let mut high = self.dimension;
        let mut step = 0;
        while high > 0 {
            let split = |i: &usize| self.at(*i, i - 1).abs() <= negligible;
            let low = (1..high).rev().find(split).unwrap_or(0);
            if high - low <= 2 {
                match high - low {
                    1 => found.push(Eigenvalue::Real(self.at(low, low))),
                    _ => found.extend(self.trailing_pair(high).roots()),
                }
                high = low;
                step = 0;
                continue;
            }
            step += 1;
            if step > STEPS {
                return None;
            }
            let mut shifts = self.trailing_pair(high);
            if step.is_multiple_of(10) {
                // An arbitrary shift ends the rare cycle.
                let size = self.at(high - 1, high - 2).abs() + self.at(high - 2, high - 3).abs();
                shifts = Pair { sum: 1.5 * size, product: size * size };
            }
            self.francis_step(shifts, low..high, None);
        }
        Some(found)
    }

    /// The eigenvalues of the 2 × 2 block that ends before `high`.
    fn trailing_pair(&self, high: usize) -> Pair {
        let (i, j) = (high - 2, high - 1);
        let (a, b, c, d) = (self.at(i, i), self.at(i, j), self.at(j, i), self.at(j, j));
        Pair { sum: a + d, product: a * d - b * c }
    }

    /// One QR step with two shifts on a diagonal block of at least three rows: H ← QᵀHQ, again of
    /// Hessenberg form. `basis`, if given, becomes basis · Q.
    pub(super) fn francis_step(
        &mut self,
        shifts: Pair,
        block: Range<usize>,
        mut basis: Option<&mut Self>,
    ) {
        let Range { start: low, end: high } = block;
        let (first, second) = (self.at(low, low), self.at(low + 1, low + 1));
        let below = self.at(low + 1, low);
        let mut x = [
            first * (first - shifts.sum) + self.at(low, low + 1) * below + shifts.product,
            below * (first + second - shifts.sum),
            below * self.at(low + 2, low + 1),
        ];
        let mut reflect = |matrix: &mut Self, reflector: Reflector, k: usize| {
            reflector.on_rows(matrix, k, k.saturating_sub(1).max(low)..high);
            reflector.on_columns(matrix, k, low..(k + 4).min(high));
            if let Some(basis) = &mut basis {
                reflector.on_columns(basis, k, 0..basis.dimension);
            }
        };
        for k in low..high - 2 {
            reflect(self, Reflector::new(x), k);
            let third = if k + 3 < high { self.at(k + 3, k) } else { 0.0 };
            x = [self.at(k + 1, k), self.at(k + 2, k), third];
        }
        reflect(self, Reflector::new([x[0], x[1], 0.0]), high - 2);
        for i in low + 2..high {
            for j in low..i - 1 {
                self.set(i, j, 0.0);
            }
        }
    }

    /// A unit vector in the span of the eigenvectors of an eigenvalue and its conjugate, by inverse
    /// iteration; in real numbers, as that span is real.
    pub(super) fn eigenvector(&self, eigenvalue: Eigenvalue) -> Vec<f64> {
        let (mut shifted, shift) = match eigenvalue {
            Eigenvalue::Real(value) => (self.clone(), -value),
            Eigenvalue::Conjugate(pair) => {
                let mut square = self.times(self);
                axpy(-pair.sum, &self.entries, &mut square.entries);
                (square, pair.product)
            }
        };
        (0..self.dimension).for_each(|i| shifted.add(i, i, shift));
        let mut vector = vec![1.0; self.dimension];
        for _ in 0..2 {
            shifted.clone().solve(&mut vector);
            let length = norm(&vector);
            vector.iter_mut().for_each(|v| *v /= length);
        }
        vector
    }
}

/// I − 2vvᵀ/vᵀv on three neighbouring rows or columns, of which the last may be beyond the matrix
/// where v ends in 0.
struct Reflector {
    v: [f64; 3],
    scale: f64,
}

impl Reflector {
    /// The reflector that brings x onto the first axis.
    fn new(mut x: [f64; 3]) -> Self {
        x[0] += norm(&x).copysign(x[0]);
        let square = dot(&x, &x);
        Self { v: x, scale: if square > 0.0 { 2.0 / square } else { 0.0 } }
    }

    fn on_rows(&self, matrix: &mut Square, k: usize, columns: Range<usize>) {
        let reach = (matrix.dimension - k).min(3);
        for j in columns {
            let along: f64 = (0..reach).map(|i| self.v[i] * matrix.at(k + i, j)).sum();
            (0..reach).for_each(|i| matrix.add(k + i, j, -self.scale * along * self.v[i]));
        }
    }

    fn on_columns(&self, matrix: &mut Square, k: usize, rows: Range<usize>) {
        let reach = (matrix.dimension - k).min(3);
        for i in rows {
            let along: f64 = (0..reach).map(|j| self.v[j] * matrix.at(i, k + j)).sum();
            (0..reach).for_each(|j| matrix.add(i, k + j, -self.scale * along * self.v[j]));
        }
    }
}

/// The two roots of z² − (sum) z + (product).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) sum: f64,
    pub(super) product: f64,
}

/// A real eigenvalue, or two conjugate ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Eigenvalue {
    Real(f64),
    Conjugate(Pair),
}

impl Pair {
    /// The roots, the one of larger modulus first.
    pub(super) fn roots(self) -> impl Iterator<Item = Eigenvalue> {
        let half = 0.5 * self.sum;
        let discriminant = half * half - self.product;
        let (first, second) = if discriminant < 0.0 {
            (Eigenvalue::Conjugate(self), None)
        } else {
            let large = half + discriminant.sqrt().copysign(half);
            // The quotient does not cancel where the difference would.
            let small = if large == 0.0 { 0.0 } else { self.product / large };
            (Eigenvalue::Real(large), Some(Eigenvalue::Real(small)))
        };
        std::iter::once(first).chain(second)
    }

    /// The larger modulus of the two roots.
    pub(super) fn modulus(self) -> f64 {
        self.roots().next().map_or(0.0, Eigenvalue::modulus)
    }
}

impl Eigenvalue {
    pub(super) fn modulus(self) -> f64 {
        match self {
            Self::Real(value) => value.abs(),
            Self::Conjugate(pair) => pair.product.sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The companion matrix of Π (z − root), whose eigenvalues are the roots.
    fn companion(coefficients: &[f64]) -> Square {
        let d = coefficients.len();
        let mut matrix = Square::zeros(d);
        for (j, c) in coefficients.iter().enumerate() {
            matrix.set(0, j, -c);
        }
        for i in 1..d {
            matrix.set(i, i - 1, 1.0);
        }
        matrix
    }

    #[test]
    fn roots_of_known_polynomials() {
        // (z − 1)(z − 2)(z − 3)(z − 4), and z⁵ − 32, whose five roots have modulus 2.
        let mut real: Vec<f64> = companion(&[-10.0, 35.0, -50.0, 24.0])
            .hessenberg_eigenvalues()
            .unwrap()
            .iter()
            .map(|value| value.modulus())
            .collect();
        real.sort_by(f64::total_cmp);
        assert!(real.iter().zip(1..).all(|(z, k)| (z - f64::from(k)).abs() < 1e-10), "{real:?}");
        let circle = companion(&[0.0, 0.0, 0.0, 0.0, -32.0]).hessenberg_eigenvalues().unwrap();
        assert_eq!(circle.len(), 3, "one real and two pairs");
        assert!(circle.iter().all(|value| (value.modulus() - 2.0).abs() < 1e-12), "{circle:?}");
    }

    proptest! {
        #[test]
        fn eigenvalues_keep_the_trace_and_the_dominant_vector_is_invariant(
            d in 1_usize..14,
            entries in prop::collection::vec(-1.0..1.0_f64, 14 * 14),
        ) {
            let mut matrix = Square::zeros(d);
            for i in 0..d {
                for j in i.saturating_sub(1)..d {
                    matrix.set(i, j, entries[14 * i + j]);
                }
            }
            let found = matrix.clone().hessenberg_eigenvalues().unwrap();
            let trace: f64 = (0..d).map(|i| matrix.at(i, i)).sum();
            let sum: f64 = found.iter().map(|value| match value {
                Eigenvalue::Real(value) => *value,
                Eigenvalue::Conjugate(pair) => pair.sum,
            }).sum();
            prop_assert!((sum - trace).abs() < 1e-10);
            let largest = |a: &&Eigenvalue, b: &&Eigenvalue| a.modulus().total_cmp(&b.modulus());
            let dominant = *found.iter().max_by(largest).unwrap();
            let v = matrix.eigenvector(dominant);
            let once = matrix.product(&v);
            let twice = matrix.product(&once);
            let gap = |k: usize| match dominant {
                Eigenvalue::Real(value) => once[k] - value * v[k],
                Eigenvalue::Conjugate(pair) => twice[k] - pair.sum * once[k] + pair.product * v[k],
            };
            prop_assert!((0..d).all(|k| gap(k).abs() < 1e-9), "{dominant:?}");
        }

        #[test]
        fn a_step_is_a_similarity(
            entries in prop::collection::vec(-1.0..1.0_f64, 36),
            sum in -1.0..1.0_f64,
            product in -1.0..1.0_f64,
        ) {
            let mut matrix = Square::zeros(6);
            let mut basis = Square::zeros(6);
            for i in 0..6 {
                basis.set(i, i, 1.0);
                (i.saturating_sub(1)..6).for_each(|j| matrix.set(i, j, entries[6 * i + j]));
            }
            let mut stepped = matrix.clone();
            stepped.francis_step(Pair { sum, product }, 0..6, Some(&mut basis));
            // HQ = Q(QᵀHQ)
            let (left, right) = (matrix.times(&basis), basis.times(&stepped));
            for (left, right) in left.entries.iter().zip(&right.entries) {
                prop_assert!((left - right).abs() < 1e-13);
            }
        }
    }
}
