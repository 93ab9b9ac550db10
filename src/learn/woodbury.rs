//! Newton's step where a peer has far fewer samples than features.
//!
//! With S = diag(√c_j), c_j = scale · ℓ''(wᵀx_j) ≥ 0, the Hessian is H = qI + (SX)ᵀ(SX), and by
//! Woodbury's identity
//!
//! ```text
//! H⁻¹g = (g − XᵀS K⁻¹ SXg)/q,   K = qI + S XXᵀ S,  an m × m matrix
//! ```
//!
//! K is positive definite whatever the curvatures, those of 0 included. The factor takes
//! m(m + 1)/2 numbers instead of d(d + 1)/2, and a step one pass over the samples.

use super::cholesky::Packed;
use super::objective::Objective;
use super::vector::{axpy, dot};

/// Whether m samples of d features are few enough: then factor and step are cheaper than those of
/// the d × d matrix.
pub(super) fn few(m: usize, d: usize, most: usize) -> bool {
    m > 0 && m <= most && (4 * m <= d || (d > most && m < d))
}

/// `roots` ← the diagonal of S and `gram` ← the factor of K, both at w; false if there is none.
/// `column` holds m numbers.
pub(super) fn factor(
    objective: &Objective<'_>,
    quadratic: f64,
    w: &[f64],
    roots: &mut [f64],
    gram: &mut Packed,
    column: &mut [f64],
) -> bool {
    objective.curvatures(w, roots);
    roots.iter_mut().for_each(|c| *c = c.sqrt());
    gram.set_identity(quadratic);
    for k in 0..w.len() {
        for ((entry, root), (x, _)) in column.iter_mut().zip(&*roots).zip(objective.samples.rows())
        {
            *entry = root * x[k];
        }
        gram.add_outer(1.0, column);
    }
    gram.factor().is_ok()
}

/// step ← H⁻¹g, where `roots` and `gram` are what [`factor`] made. `margins` holds m numbers.
pub(super) fn solve(
    objective: &Objective<'_>,
    quadratic: f64,
    (roots, gram): (&[f64], &Packed),
    g: &[f64],
    step: &mut [f64],
    margins: &mut [f64],
) {
    for ((margin, root), (x, _)) in margins.iter_mut().zip(roots).zip(objective.samples.rows()) {
        *margin = root * dot(x, g);
    }
    gram.solve(margins);
    step.copy_from_slice(g);
    for ((margin, root), (x, _)) in margins.iter().zip(roots).zip(objective.samples.rows()) {
        axpy(-root * margin, x, step);
    }
    step.iter_mut().for_each(|step| *step /= quadratic);
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::super::{Loss, Samples};
    use super::*;

    #[test]
    fn the_step_is_that_of_the_full_matrix_even_where_curvatures_vanish() {
        let (m, d, q) = (4, 9, 0.3);
        let x = Array2::from_shape_fn((m, d), |(i, j)| (1.3 * i as f64 + 2.1 * j as f64).sin());
        let y = [1.0, -1.0, 1.0, 1.0];
        let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
        let g: Vec<f64> = (0..d).map(|j| (0.4 * j as f64).cos()).collect();
        // Far out the logistic loss is straight: e^−z underflows, and with it the curvature.
        for size in [0.0, 1.0, 1e4] {
            let w: Vec<f64> = (0..d).map(|j| size * (1.0 + j as f64)).collect();
            let mut expected = g.clone();
            let mut hessian = Packed::identity(d, q);
            objective.add_hessian(&w, &mut hessian);
            hessian.factor().unwrap();
            hessian.solve(&mut expected);
            let (mut roots, mut column, mut step) = (vec![0.0; m], vec![0.0; m], vec![0.0; d]);
            let mut gram = Packed::identity(m, 1.0);
            assert!(factor(&objective, q, &w, &mut roots, &mut gram, &mut column));
            assert_eq!(roots.contains(&0.0), size == 1e4);
            solve(&objective, q, (&roots, &gram), &g, &mut step, &mut column);
            for (found, expected) in step.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-13, "{found} {expected}");
            }
        }
    }
}
