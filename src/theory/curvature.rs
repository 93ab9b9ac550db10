//! The curvature of the peers' objectives at the optimum.

use super::lanczos::extreme_eigenvalues;
use super::random_vector;
use crate::learn::{DENSE_LIMIT, Objective, Packed, axpy, dot};

/// Hessians of all peers are held up to this many numbers (0.4 GB).
const HELD: usize = 50_000_000;

/// The curvature of the problem at its optimum w*.
#[derive(Clone, Debug)]
pub enum Curvature {
    /// H_i = ∇²J_i(w*), the regularisation's a/n included, one per peer.
    Hessians(Vec<Packed>),
    /// The least and the largest eigenvalue of the mean Hessian, where the Hessians themselves are
    /// too large to hold.
    Bounds {
        /// The least.
        low: f64,
        /// The largest.
        high: f64,
    },
}

impl Curvature {
    /// The curvature of J_i = F_i + (ridge/2)|w|² at w, F_i the given objectives.
    ///
    /// Every peer's Hessian where they fit into memory; the extreme eigenvalues of their mean, by
    /// products alone, where they do not.
    pub fn at(objectives: &[Objective<'_>], ridge: f64, w: &[f64]) -> Self {
        let d = w.len();
        if d <= DENSE_LIMIT && objectives.len() * d * (d + 1) / 2 <= HELD {
            let hessian = |objective: &Objective<'_>| {
                let mut hessian = Packed::identity(d, ridge);
                objective.add_hessian(w, &mut hessian);
                hessian
            };
            return Self::Hessians(objectives.iter().map(hessian).collect());
        }
        let curvatures: Vec<Vec<f64>> = objectives
            .iter()
            .map(|objective| {
                let mut c = vec![0.0; objective.samples.len()];
                objective.curvatures(w, &mut c);
                c.iter_mut().for_each(|c| *c /= objectives.len() as f64);
                c
            })
            .collect();
        let product = |v: &[f64], out: &mut [f64]| {
            out.iter_mut().zip(v).for_each(|(out, v)| *out = ridge * v);
            for (objective, c) in objectives.iter().zip(&curvatures) {
                objective.add_hessian_product(c, v, out);
            }
        };
        let found = extreme_eigenvalues(product, None, random_vector(d), (2 * d + 16).min(200));
        Self::Bounds { low: found.low, high: found.high }
    }

    /// The extreme eigenvalues of H̄ = (1/n) Σ H_i, neither below 0.
    pub(super) fn extremes(&self) -> (f64, f64) {
        let (low, high) = match self {
            Self::Bounds { low, high } => (*low, *high),
            Self::Hessians(hessians) => of_mean(hessians),
        };
        (low.max(0.0), high.max(0.0))
    }
}

fn of_mean(hessians: &[Packed]) -> (f64, f64) {
    let d = hessians.first().map_or(0, Packed::dimension);
    if d == 0 {
        return (0.0, 0.0);
    }
    let weight = 1.0 / hessians.len() as f64;
    let mean: Vec<Vec<f64>> = (0..d)
        .map(|i| {
            let mut row = vec![0.0; i + 1];
            hessians.iter().for_each(|hessian| axpy(weight, hessian.row(i), &mut row));
            row
        })
        .collect();
    let product = |v: &[f64], out: &mut [f64]| {
        out.fill(0.0);
        for (i, row) in mean.iter().enumerate() {
            out[i] += dot(row, &v[..=i]);
            axpy(v[i], &row[..i], &mut out[..i]);
        }
    };
    let found = extreme_eigenvalues(product, None, random_vector(d), 2 * d + 16);
    (found.low, found.high)
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::learn::{Loss, Samples};

    #[test]
    fn the_mean_hessian_has_the_extremes_of_its_eigenvalues() {
        // Means of 0.1 I and 0.1 I + c xxᵀ along orthogonal x: 0.1 + c|x|²/2 along each.
        let mut hessian = Packed::identity(3, 0.1);
        hessian.add_outer(0.5, &[1.0, 1.0, 0.0]);
        hessian.add_outer(3.0, &[1.0, -1.0, 0.0]);
        let (low, high) = Curvature::Hessians(vec![Packed::identity(3, 0.1), hessian]).extremes();
        assert!((low - 0.1).abs() < 1e-12 && (high - 3.1).abs() < 1e-12, "{low} {high}");
    }

    #[test]
    fn bounds_by_products_are_those_of_the_matrices() {
        let (m, d) = (20, DENSE_LIMIT + 1);
        let x = Array2::from_shape_fn((m, d), |(i, j)| ((3 * i + 7 * j) as f64).sin());
        let y = vec![1.0; m];
        let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
        let w = vec![0.01; d];
        let (low, high) = Curvature::at(&[objective, objective], 0.3, &w).extremes();
        let mut hessian = Packed::identity(d, 0.3);
        objective.add_hessian(&w, &mut hessian);
        let (least, greatest) = Curvature::Hessians(vec![hessian]).extremes();
        assert!((low - least).abs() < 1e-6 && (high - greatest).abs() < 1e-6, "{low} {high}");
    }
}
