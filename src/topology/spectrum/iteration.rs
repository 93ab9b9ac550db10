//! One extreme eigenvalue of a symmetric matrix that is known by its products, with its residual.

use super::dense::Eigen;

/// An eigenvalue and its unit vector, as far as the iteration came.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) value: f64,
    pub(crate) vector: Vec<f64>,
    /// |Ax − θx|: some eigenvalue is as close as this to `value`.
    pub(crate) residual: f64,
    pub(crate) converged: bool,
}

/// What to iterate, and for how long.
pub(crate) struct Problem<'a> {
    /// out ← Av.
    pub(crate) product: &'a dyn Fn(&[f64], &mut [f64]),
    /// Roughly the diagonal of A: the iteration is preconditioned by it. Positive.
    pub(crate) diagonal: &'a [f64],
    /// Whether the constant vector is left out.
    pub(crate) off_constants: bool,
    /// The residual, relative to the eigenvalue's size, at which it has settled.
    pub(crate) tolerance: f64,
    /// The most products.
    pub(crate) most: usize,
}

/// The least eigenvalue, by the locally optimal conjugate-gradient method (Knyazev, 2001): each
/// step takes the best vector from the span of the current one, its residual and the last step.
/// Its value is never below the true one.
pub(crate) fn least(problem: &Problem<'_>, start: Vec<f64>) -> Pair {
    let n = start.len();
    let mut x = start;
    let mut image = vec![0.0; n];
    problem.settle(&mut x, &[]);
    (problem.product)(&x, &mut image);
    let mut last: Option<(Vec<f64>, Vec<f64>)> = None;
    let mut products = 1;
    loop {
        let value = dot(&x, &image);
        let mut residual = image.clone();
        axpy(-value, &x, &mut residual);
        let length = norm(&residual);
        let converged = length <= problem.tolerance * value.abs();
        if converged || products >= problem.most || !length.is_finite() {
            return Pair { value, vector: x, residual: length, converged };
        }
        residual.iter_mut().zip(problem.diagonal).for_each(|(r, d)| *r /= d);
        if !problem.settle(&mut residual, &[&x]) {
            return Pair { value, vector: x, residual: length, converged: false };
        }
        let mut way = vec![0.0; n];
        (problem.product)(&residual, &mut way);
        products += 1;
        // The last step is orthogonalised together with its image, which needs no product.
        let mut basis = vec![(x, image), (residual, way)];
        if let Some((mut step, mut image)) = last.take() {
            for _ in 0..2 {
                for (other, of_other) in &basis {
                    let share = -dot(other, &step);
                    axpy(share, other, &mut step);
                    axpy(share, of_other, &mut image);
                }
            }
            let length = norm(&step);
            if length > 1e-150 {
                scale(1.0 / length, &mut step);
                scale(1.0 / length, &mut image);
                basis.push((step, image));
            }
        }
        let small = basis
            .iter()
            .map(|(v, _)| basis.iter().map(|(_, image)| dot(v, image)).collect())
            .collect();
        let weights = Eigen::of(symmetrised(small)).vectors.swap_remove(0);
        let combine = |from: usize| {
            let (mut v, mut image) = (vec![0.0; n], vec![0.0; n]);
            for ((b, of_b), &weight) in basis.iter().zip(&weights).skip(from) {
                axpy(weight, b, &mut v);
                axpy(weight, of_b, &mut image);
            }
            (v, image)
        };
        let (mut next, mut next_image) = combine(0);
        let step = combine(1);
        let length = norm(&step.0);
        last = (length > 0.0).then_some(step);
        let length = norm(&next);
        scale(1.0 / length, &mut next);
        if products % 50 == 0 {
            // Images drift by rounding; a fresh product every now and then stops it.
            problem.settle(&mut next, &[]);
            (problem.product)(&next, &mut next_image);
            products += 1;
        } else {
            scale(1.0 / length, &mut next_image);
        }
        (x, image) = (next, next_image);
    }
}

impl Problem<'_> {
    /// Takes out the constants and `others`, and makes the rest a unit vector; false if nothing is
    /// left.
    fn settle(&self, v: &mut [f64], others: &[&[f64]]) -> bool {
        let before = norm(v);
        for _ in 0..2 {
            if self.off_constants {
                let mean = v.iter().sum::<f64>() / v.len() as f64;
                v.iter_mut().for_each(|v| *v -= mean);
            }
            for other in others {
                axpy(-dot(other, v), other, v);
            }
        }
        let length = norm(v);
        if length <= 1e-14 * before {
            return false;
        }
        scale(1.0 / length, v);
        true
    }
}

/// Rounding makes the two halves of a small matrix differ.
fn symmetrised(matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = matrix.len();
    (0..n).map(|i| (0..n).map(|j| 0.5 * (matrix[i][j] + matrix[j][i])).collect()).collect()
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(crate) fn norm(v: &[f64]) -> f64 {
    dot(v, v).sqrt()
}

pub(crate) fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    x.iter().zip(y).for_each(|(x, y)| *y += a * x);
}

fn scale(a: f64, v: &mut [f64]) {
    v.iter_mut().for_each(|v| *v *= a);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagonal(n: usize, most: usize) -> Pair {
        let product = |v: &[f64], out: &mut [f64]| {
            for (i, (out, v)) in out.iter_mut().zip(v).enumerate() {
                *out = (1.0 + i as f64) * v;
            }
        };
        let problem = Problem {
            product: &product,
            diagonal: &vec![1.0; n],
            off_constants: false,
            tolerance: 1e-8,
            most,
        };
        least(&problem, (0..n).map(|i| (1.0 + i as f64).sin()).collect())
    }

    #[test]
    fn a_diagonal_matrix_shows_its_least() {
        for n in [1, 2, 3, 10, 1_000] {
            let found = diagonal(n, 2_000);
            assert!(found.converged && (found.value - 1.0).abs() < 1e-12, "{n}: {}", found.value);
            assert!(found.vector[0].abs() > 1.0 - 1e-9, "{n}");
        }
    }

    #[test]
    fn too_few_steps_are_admitted() {
        let found = diagonal(1_000, 10);
        assert!(!found.converged && found.value > 1.0 && found.residual > 1e-3);
    }
}
