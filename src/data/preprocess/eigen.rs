//! Eigenvectors of a symmetric matrix.

use ndarray::{Array2, Axis};

/// The orthonormal eigenvectors of the `count` largest eigenvalues of a finite symmetric matrix, one
/// per row, by falling eigenvalue.
///
/// Householder reflections make the matrix tridiagonal, A = QTQᵀ; implicit QL steps diagonalise T;
/// Q turns the wanted vectors back. Takes O(d³) steps whatever the eigenvalues are, equal ones
/// included.
pub(super) fn leading(matrix: Array2<f64>, count: usize) -> Array2<f64> {
    let largest = matrix.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    // Vectors do not depend on the scale, but squares of entries may overflow.
    let matrix = if largest > 0.0 { matrix / largest } else { matrix };
    let (mut tridiagonal, reflections) = Tridiagonal::reduce(&matrix);
    let vectors = tridiagonal.diagonalise();
    let mut order: Vec<usize> = (0..vectors.len()).collect();
    order.sort_by(|&i, &j| tridiagonal.diagonal[j].total_cmp(&tridiagonal.diagonal[i]));
    let mut leading = Array2::zeros((count, vectors.len()));
    for (mut row, place) in leading.axis_iter_mut(Axis(0)).zip(order) {
        let mut vector = vectors[place].clone();
        for v in reflections.iter().rev() {
            let start = vector.len() - v.len();
            let tail = &mut vector[start..];
            let along = dot(v, tail);
            add(tail, -2.0 * along, v);
        }
        row.iter_mut().zip(vector).for_each(|(cell, value)| *cell = value);
    }
    leading
}

/// A symmetric tridiagonal matrix.
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// Entry i couples rows i and i + 1; the last one is 0.
    beside: Vec<f64>,
}

impl Tridiagonal {
    /// Reflects a symmetric matrix column by column, x ↦ x − 2v(vᵀx) with unit v, until nothing is
    /// left beside the diagonal and its neighbours. Reflection j acts on the last d − 1 − j
    /// coordinates.
    fn reduce(matrix: &Array2<f64>) -> (Self, Vec<Vec<f64>>) {
        let d = matrix.nrows();
        let mut rest: Vec<Vec<f64>> = matrix.rows().into_iter().map(|row| row.to_vec()).collect();
        let (mut diagonal, mut beside, mut reflections) = (Vec::new(), Vec::new(), Vec::new());
        for j in 0..d {
            // Rows and columns from j on are left; what is before was dealt with.
            let mut v = rest[j].split_off(j + 1);
            diagonal.push(rest[j][j]);
            let Some(&first) = v.first() else { break };
            let norm = dot(&v, &v).sqrt();
            beside.push(if first > 0.0 { -norm } else { norm });
            v[0] -= beside[j];
            let length = dot(&v, &v).sqrt();
            if length > 0.0 {
                v.iter_mut().for_each(|value| *value /= length);
            }
            // HAH = A − vwᵀ − wvᵀ with w = 2(Av − (vᵀAv)v).
            let mut w: Vec<f64> = rest[j + 1..].iter().map(|row| dot(&row[j + 1..], &v)).collect();
            let along = dot(&v, &w);
            add(&mut w, -along, &v);
            w.iter_mut().for_each(|value| *value *= 2.0);
            for (i, row) in rest[j + 1..].iter_mut().enumerate() {
                add(&mut row[j + 1..], -v[i], &w);
                add(&mut row[j + 1..], -w[i], &v);
            }
            reflections.push(v);
        }
        beside.push(0.0);
        (Self { diagonal, beside }, reflections)
    }

    /// Makes it diagonal by QL steps with Wilkinson's shift, and returns the eigenvectors in the
    /// order of the diagonal.
    fn diagonalise(&mut self) -> Vec<Vec<f64>> {
        let d = self.diagonal.len();
        let unit = |i: usize| (0..d).map(|j| f64::from(i == j)).collect();
        let mut vectors: Vec<Vec<f64>> = (0..d).map(unit).collect();
        for low in 0..d {
            // Two or three steps are usual, and thirty have never been seen to be too few; a
            // coupling that is left after them is as good as none.
            for _ in 0..60 {
                let high = (low..d).find(|&i| self.is_decoupled(i)).unwrap_or(d - 1);
                if high == low {
                    break;
                }
                self.step(low, high, &mut vectors);
            }
        }
        vectors
    }

    fn is_decoupled(&self, i: usize) -> bool {
        let Some(next) = self.diagonal.get(i + 1) else { return true };
        self.beside[i].abs() <= f64::EPSILON * (self.diagonal[i].abs() + next.abs())
    }

    /// One implicit QL step on rows `low..=high`, from the bottom up (EISPACK's tql2).
    fn step(&mut self, low: usize, high: usize, vectors: &mut [Vec<f64>]) {
        let Self { diagonal, beside } = self;
        let half_gap = (diagonal[low + 1] - diagonal[low]) / (2.0 * beside[low]);
        let root = half_gap.hypot(1.0).copysign(half_gap);
        let mut bulge = diagonal[high] - diagonal[low] + beside[low] / (half_gap + root);
        let (mut sine, mut cosine, mut shifted) = (1.0, 1.0, 0.0);
        for i in (low..high).rev() {
            let (across, along) = (sine * beside[i], cosine * beside[i]);
            let length = across.hypot(bulge);
            beside[i + 1] = length;
            if length == 0.0 {
                // The matrix has come apart: the rest is a problem of its own.
                diagonal[i + 1] -= shifted;
                beside[high] = 0.0;
                return;
            }
            (sine, cosine) = (across / length, bulge / length);
            let rest = diagonal[i + 1] - shifted;
            let turn = (diagonal[i] - rest) * sine + 2.0 * cosine * along;
            shifted = sine * turn;
            diagonal[i + 1] = rest + shifted;
            bulge = cosine * turn - along;
            let (before, after) = vectors.split_at_mut(i + 1);
            for (lower, upper) in before[i].iter_mut().zip(&mut after[0]) {
                let kept = *upper;
                *upper = sine * *lower + cosine * kept;
                *lower = cosine * *lower - sine * kept;
            }
        }
        diagonal[low] -= shifted;
        beside[low] = bulge;
        beside[high] = 0.0;
    }
}

/// aᵀb in eight sums side by side, which the compiler keeps in vector registers.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a_lanes, b_lanes) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a_lanes.remainder().iter().zip(b_lanes.remainder()).map(|(a, b)| a * b).sum::<f64>();
    for (a, b) in a_lanes.zip(b_lanes) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// a += factor·b.
fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += factor * b);
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;
    use proptest::prelude::*;

    use super::*;

    /// Jacobi's method, an independent solution: turns pairs of coordinates until nothing is left
    /// beside the diagonal. Eigenvalues by size with their vectors as rows.
    fn jacobi(mut a: Array2<f64>) -> Vec<(f64, Array1<f64>)> {
        let d = a.nrows();
        let mut v = Array2::<f64>::eye(d);
        for _ in 0..50 {
            for p in 0..d {
                for q in p + 1..d {
                    if a[(p, q)] == 0.0 {
                        continue;
                    }
                    let theta = (a[(q, q)] - a[(p, p)]) / (2.0 * a[(p, q)]);
                    let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                    let c = 1.0 / t.hypot(1.0);
                    let mut turn = Array2::<f64>::eye(d);
                    (turn[(p, p)], turn[(q, q)]) = (c, c);
                    (turn[(p, q)], turn[(q, p)]) = (t * c, -t * c);
                    a = turn.t().dot(&a).dot(&turn);
                    v = v.dot(&turn);
                }
            }
        }
        let mut pairs: Vec<_> = (0..d).map(|i| (a[(i, i)], v.column(i).to_owned())).collect();
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        pairs
    }

    fn symmetric(d: usize, values: &[f64]) -> Array2<f64> {
        Array2::from_shape_fn((d, d), |(i, j)| values[i.min(j) * d + i.max(j)])
    }

    #[test]
    fn equal_eigenvalues_and_zeros() {
        for matrix in [Array2::zeros((4, 4)), Array2::eye(4), Array2::ones((4, 4))] {
            let vectors = leading(matrix.clone(), 4);
            let gram = vectors.dot(&vectors.t());
            assert!((&gram - &Array2::<f64>::eye(4)).iter().all(|e| e.abs() < 1e-14));
            let turned = vectors.dot(&matrix).dot(&vectors.t());
            for ((i, j), value) in turned.indexed_iter() {
                assert!(i == j || value.abs() < 1e-14, "{turned}");
            }
        }
        assert_eq!(leading(Array2::ones((1, 1)), 1), Array2::<f64>::ones((1, 1)));
    }

    #[test]
    fn the_second_difference_in_closed_form() {
        // Eigenvalues 2 − 2cos(kπ/(d + 1)), the largest k = d: vectors sin(ikπ/(d + 1)).
        let d = 200;
        let matrix = Array2::from_shape_fn((d, d), |(i, j)| match i.abs_diff(j) {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        });
        let vectors = leading(matrix, 5);
        for (rank, vector) in vectors.rows().into_iter().enumerate() {
            let k = (d - rank) as f64;
            let angle = std::f64::consts::PI * k / (d + 1) as f64;
            let expected = Array1::from_shape_fn(d, |i| (angle * (i + 1) as f64).sin());
            let cosine = vector.dot(&expected) / expected.dot(&expected).sqrt();
            assert!((cosine.abs() - 1.0).abs() < 1e-12, "{rank}: {cosine}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn agrees_with_jacobi(d in 1_usize..9, values in prop::collection::vec(-10.0..10.0_f64, 64)) {
            let matrix = symmetric(d, &values);
            let vectors = leading(matrix.clone(), d);
            let solution = jacobi(matrix.clone());
            for (i, (value, expected)) in solution.iter().enumerate() {
                let vector = vectors.row(i);
                let residual = matrix.dot(&vector) - *value * &vector;
                prop_assert!(residual.iter().all(|e| e.abs() < 1e-10), "{residual}");
                // The vector of an eigenvalue that stands alone is known up to its sign.
                let gap = solution.iter().map(|(other, _)| (other - value).abs());
                if gap.filter(|&gap| gap < 1e-3).count() == 1 {
                    prop_assert!((vector.dot(expected).abs() - 1.0).abs() < 1e-9);
                }
            }
            let gram = vectors.dot(&vectors.t());
            prop_assert!((&gram - &Array2::<f64>::eye(d)).iter().all(|e| e.abs() < 1e-12));
        }

        #[test]
        fn any_finite_matrix_ends(
            d in 1_usize..7,
            values in prop::collection::vec(prop_oneof![Just(0.0), Just(1e300), Just(1e-300), Just(-1.0), -1.0..1.0_f64], 49),
        ) {
            let vectors = leading(symmetric(d, &values), d);
            prop_assert!(vectors.iter().all(|value| value.is_finite()));
        }
    }
}
