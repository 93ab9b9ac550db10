//! All eigenvalues of a symmetric matrix that is small enough to hold: Householder's reduction to
//! tridiagonal form, then implicit QL steps (Golub and Van Loan, chapter 8).

/// The eigenvalues of a symmetric matrix in ascending order, each with its unit eigenvector where
/// they are wanted.
#[derive(Clone, Debug)]
pub(crate) struct Eigen {
    pub(crate) values: Vec<f64>,
    /// Row k belongs to eigenvalue k; empty rows where no vectors are wanted.
    pub(crate) vectors: Vec<Vec<f64>>,
}

impl Eigen {
    /// The eigenvalues alone.
    pub(crate) fn values(matrix: Vec<Vec<f64>>) -> Vec<f64> {
        let rows = vec![Vec::new(); matrix.len()];
        Self::accumulate(matrix, rows).values
    }

    /// The eigenvalues and eigenvectors.
    pub(crate) fn of(matrix: Vec<Vec<f64>>) -> Self {
        let n = matrix.len();
        let mut identity = vec![vec![0.0; n]; n];
        identity.iter_mut().enumerate().for_each(|(i, row)| row[i] = 1.0);
        Self::accumulate(matrix, identity)
    }

    /// Applies every rotation and reflection to `rows` too, which costs nothing if they are empty.
    fn accumulate(mut matrix: Vec<Vec<f64>>, mut rows: Vec<Vec<f64>>) -> Self {
        let (mut diagonal, mut coupling) = tridiagonalise(&mut matrix, &mut rows);
        diagonalise(&mut diagonal, &mut coupling, &mut rows);
        let mut pairs: Vec<(f64, Vec<f64>)> = diagonal.into_iter().zip(rows).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (values, vectors) = pairs.into_iter().unzip();
        Self { values, vectors }
    }
}

/// Reflects the matrix to tridiagonal form: its diagonal, and its coupling with a 0 at the end.
fn tridiagonalise(a: &mut [Vec<f64>], rows: &mut [Vec<f64>]) -> (Vec<f64>, Vec<f64>) {
    let n = a.len();
    let mut coupling = vec![0.0; n];
    for k in 0..n.saturating_sub(1) {
        let mut v: Vec<f64> = (k + 1..n).map(|i| a[i][k]).collect();
        let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        // H = I − 2vvᵀ sends the column to (∓length, 0, …, 0); the sign avoids cancellation.
        let head = if v[0] > 0.0 { -length } else { length };
        coupling[k] = head;
        v[0] -= head;
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm == 0.0 {
            continue;
        }
        v.iter_mut().for_each(|x| *x /= norm);
        // HBH = B − 2(vqᵀ + qvᵀ) with q = Bv − (vᵀBv)v, B the part that is left.
        let block = &mut a[k + 1..];
        let mut q: Vec<f64> =
            block.iter().map(|row| row[k + 1..].iter().zip(&v).map(|(b, v)| b * v).sum()).collect();
        let share: f64 = q.iter().zip(&v).map(|(q, v)| q * v).sum();
        q.iter_mut().zip(&v).for_each(|(q, v)| *q -= share * v);
        for ((row, vi), qi) in block.iter_mut().zip(&v).zip(&q) {
            for ((b, vj), qj) in row[k + 1..].iter_mut().zip(&v).zip(&q) {
                *b -= 2.0 * (vi * qj + qi * vj);
            }
        }
        let width = rows[0].len();
        let mut sum = vec![0.0; width];
        for (row, v) in rows[k + 1..].iter().zip(&v) {
            sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += v * x);
        }
        for (row, v) in rows[k + 1..].iter_mut().zip(&v) {
            row.iter_mut().zip(&sum).for_each(|(x, sum)| *x -= 2.0 * v * sum);
        }
    }
    ((0..n).map(|i| a[i][i]).collect(), coupling)
}

/// Turns a tridiagonal matrix into its eigenvalues.
fn diagonalise(d: &mut [f64], e: &mut [f64], rows: &mut [Vec<f64>]) {
    // Three steps per eigenvalue are usual; what is not finite never settles.
    const STEPS: usize = 60;
    let n = d.len();
    for l in 0..n {
        for _ in 0..STEPS {
            let small = |m: usize| e[m].abs() <= f64::EPSILON * (d[m].abs() + d[m + 1].abs());
            let m = (l..n - 1).find(|&m| small(m)).unwrap_or(n - 1);
            if m == l {
                break;
            }
            let half = (d[l + 1] - d[l]) / (2.0 * e[l]);
            let root = half.hypot(1.0);
            let mut g = d[m] - d[l] + e[l] / (half + root.copysign(half));
            let (mut sine, mut cosine, mut shift) = (1.0, 1.0, 0.0);
            let mut split = false;
            for i in (l..m).rev() {
                let (f, b) = (sine * e[i], cosine * e[i]);
                let r = f.hypot(g);
                e[i + 1] = r;
                if r == 0.0 {
                    d[i + 1] -= shift;
                    e[m] = 0.0;
                    split = true;
                    break;
                }
                (sine, cosine) = (f / r, g / r);
                g = d[i + 1] - shift;
                let r = (d[i] - g) * sine + 2.0 * cosine * b;
                shift = sine * r;
                d[i + 1] = g + shift;
                g = cosine * r - b;
                let (upper, lower) = rows.split_at_mut(i + 1);
                for (x, y) in upper[i].iter_mut().zip(&mut lower[0]) {
                    (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
                }
            }
            if !split {
                d[l] -= shift;
                e[l] = g;
                e[m] = 0.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_smallest_matrices() {
        assert_eq!(Eigen::values(vec![]), [0.0; 0]);
        assert_eq!(Eigen::values(vec![vec![7.0]]), [7.0]);
        let two = Eigen::of(vec![vec![2.0, 1.0], vec![1.0, 2.0]]);
        assert!((two.values[0] - 1.0).abs() < 1e-15 && (two.values[1] - 3.0).abs() < 1e-15);
    }

    fn symmetric() -> impl Strategy<Value = Vec<Vec<f64>>> {
        (1_usize..24).prop_flat_map(|n| {
            // Whole numbers from a few make zeros and multiple eigenvalues likely.
            let entry = prop_oneof![-2_i8..3, -100_i8..100].prop_map(f64::from);
            prop::collection::vec(entry, n * n).prop_map(move |entries| {
                (0..n).map(|i| (0..n).map(|j| entries[i.min(j) * n + i.max(j)]).collect()).collect()
            })
        })
    }

    proptest! {
        #[test]
        fn values_and_vectors_rebuild_the_matrix(matrix in symmetric()) {
            let n = matrix.len();
            let Eigen { values, vectors } = Eigen::of(matrix.clone());
            prop_assert!(values.is_sorted());
            let scale = 1.0 + matrix.iter().flatten().fold(0.0, |a: f64, x| a.max(x.abs()));
            for i in 0..n {
                for j in 0..n {
                    let rebuilt: f64 =
                        (0..n).map(|k| values[k] * vectors[k][i] * vectors[k][j]).sum();
                    prop_assert!((rebuilt - matrix[i][j]).abs() < 1e-11 * n as f64 * scale);
                    let product: f64 = (0..n).map(|k| vectors[i][k] * vectors[j][k]).sum();
                    prop_assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12 * n as f64);
                }
            }
            let alone = Eigen::values(matrix);
            prop_assert!(alone.iter().zip(&values).all(|(a, b)| (a - b).abs() < 1e-10 * scale));
        }
    }
}
