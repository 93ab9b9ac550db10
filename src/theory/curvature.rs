//! The curvature of the peers' objectives at the optimum.

use super::lanczos::extreme_eigenvalues;
use super::random_vector;
use crate::learn::{Packed, axpy, dot};

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
    use super::*;

    #[test]
    fn the_mean_hessian_has_the_extremes_of_its_eigenvalues() {
        // Means of 0.1 I and 0.1 I + c xxᵀ along orthogonal x: 0.1 + c|x|²/2 along each.
        let mut hessian = Packed::identity(3, 0.1);
        hessian.add_outer(0.5, &[1.0, 1.0, 0.0]);
        hessian.add_outer(3.0, &[1.0, -1.0, 0.0]);
        let (low, high) = Curvature::Hessians(vec![Packed::identity(3, 0.1), hessian]).extremes();
        assert!((low - 0.1).abs() < 1e-12 && (high - 3.1).abs() < 1e-12, "{low} {high}");
    }
}
