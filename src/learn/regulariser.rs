//! What a peer's objective has beside its mean loss.

use super::cholesky::Packed;
use super::vector::{axpy, dot, norm};

/// R(w) = (ridge/2)|w|² + sine·(|w|² + 3 sin²|w|).
///
/// The second term is not convex: with r = |w| it is s(r² + 3 sin² r), whose curvature along w,
/// s(2 + 6 cos 2r), falls from 8s at 0 to −4s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Regulariser {
    /// λ of (λ/2)|w|².
    pub ridge: f64,
    /// s of s(|w|² + 3 sin²|w|).
    pub sine: f64,
}

impl Regulariser {
    /// (λ/2)|w|² alone.
    pub fn ridge(ridge: f64) -> Self {
        Self { ridge, sine: 0.0 }
    }

    /// R(w).
    pub fn value(&self, w: &[f64]) -> f64 {
        let square = dot(w, w);
        let ridge = 0.5 * self.ridge * square;
        if self.sine == 0.0 {
            return ridge;
        }
        ridge + self.sine * (square + 3.0 * square.sqrt().sin().powi(2))
    }

    /// g ← g + ∇R(w) = g + (ridge + sine·(2 + 3 sin(2r)/r)) w with r = |w|, where sin(2r)/r is 2 at 0.
    pub fn add_gradient(&self, w: &[f64], g: &mut [f64]) {
        axpy(self.pull(norm(w)), w, g);
    }

    /// hessian ← hessian + ∇²R(w) = pull(r)·I + (pull'(r)/r) wwᵀ with r = |w|.
    pub(super) fn add_hessian(&self, w: &[f64], hessian: &mut Packed) {
        let r = norm(w);
        hessian.add_identity(self.pull(r));
        if self.sine != 0.0 {
            hessian.add_outer(self.twist(r), w);
        }
    }

    /// out ← out + ∇²R(w)v.
    pub(super) fn add_hessian_product(&self, w: &[f64], v: &[f64], out: &mut [f64]) {
        let r = norm(w);
        axpy(self.pull(r), v, out);
        if self.sine != 0.0 {
            axpy(self.twist(r) * dot(w, v), w, out);
        }
    }

    /// How many times w the gradient is at |w| = r.
    fn pull(&self, r: f64) -> f64 {
        if self.sine == 0.0 {
            return self.ridge;
        }
        let quotient = if r > 0.0 { (2.0 * r).sin() / r } else { 2.0 };
        self.ridge + self.sine * (2.0 + 3.0 * quotient)
    }

    /// pull'(r)/r.
    fn twist(&self, r: f64) -> f64 {
        // Near 0 the difference of two like numbers over r³ would be lost: its series instead.
        let quotient = if r < 1e-2 {
            -8.0 / 3.0 + 16.0 / 15.0 * r * r
        } else {
            (2.0 * r * (2.0 * r).cos() - (2.0 * r).sin()) / r.powi(3)
        };
        3.0 * self.sine * quotient
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Regulariser = Regulariser { ridge: 0.3, sine: 0.7 };

    #[test]
    fn the_gradient_is_the_slope_of_the_value_and_the_hessian_that_of_the_gradient() {
        let h = 1e-5;
        for size in [1e-3, 9.9e-3, 1.01e-2, 0.5, 1.4, 3.0, 20.0] {
            let mut w: Vec<f64> = [0.6, -0.48, 0.64].map(|w| w * size).to_vec();
            let mut g = vec![1.0; 3];
            BOTH.add_gradient(&w, &mut g);
            let mut hessian = Packed::identity(3, 0.0);
            BOTH.add_hessian(&w, &mut hessian);
            for i in 0..3 {
                let (at, mut above, mut below) = (w[i], vec![0.0; 3], vec![0.0; 3]);
                let mut basis = vec![0.0; 3];
                basis[i] = 1.0;
                let (mut column, mut product) = (vec![0.0; 3], vec![0.0; 3]);
                hessian.product(&basis, &mut column);
                BOTH.add_hessian_product(&w, &basis, &mut product);
                w[i] = at + h;
                let mut slope = BOTH.value(&w);
                BOTH.add_gradient(&w, &mut above);
                w[i] = at - h;
                slope -= BOTH.value(&w);
                BOTH.add_gradient(&w, &mut below);
                w[i] = at;
                assert!((g[i] - 1.0 - slope / (2.0 * h)).abs() < 1e-7 * (1.0 + size), "{size}");
                for j in 0..3 {
                    let bend = (above[j] - below[j]) / (2.0 * h);
                    assert!((column[j] - bend).abs() < 1e-7, "{size}: {} {bend}", column[j]);
                    assert!((column[j] - product[j]).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn at_zero_the_curvature_of_the_sine_is_eight() {
        let mut g = [0.0; 2];
        Regulariser { ridge: 0.0, sine: 1.0 }.add_gradient(&[1e-160, 0.0], &mut g);
        assert_eq!(g, [8e-160, 0.0]);
        Regulariser { ridge: 0.0, sine: 1.0 }.add_gradient(&[0.0, 0.0], &mut g);
        assert_eq!(g, [8e-160, 0.0]);
    }

    #[test]
    fn without_the_sine_it_is_the_ridge_to_the_last_bit() {
        let (w, mut g, mut expected) = ([0.1, -7.3, 1e200], [0.4; 3], [0.4; 3]);
        let ridge = Regulariser::ridge(0.1);
        assert_eq!(ridge.value(&w[..2]), 0.5 * 0.1 * dot(&w[..2], &w[..2]));
        ridge.add_gradient(&w, &mut g);
        axpy(0.1, &w, &mut expected);
        assert_eq!(g, expected);
    }
}
