//! A mean loss over samples, its gradient, Hessian and Hessian products, each in one pass.

use ndarray::ArrayView2;

use super::cholesky::Packed;
use super::loss::Loss;
use super::vector::{axpy, dot, norm};

/// Rows of features with their labels.
#[derive(Clone, Copy)]
pub struct Samples<'a> {
    x: &'a [f64],
    y: &'a [f64],
    dimension: usize,
}

impl<'a> Samples<'a> {
    /// Samples over a matrix of rows.
    ///
    /// # Panics
    /// If the matrix is not in row-major order or the lengths differ: the data folder makes both.
    pub fn new(x: ArrayView2<'a, f64>, y: &'a [f64]) -> Self {
        assert_eq!(x.nrows(), y.len(), "one label per row");
        let dimension = x.ncols();
        let x = x.to_slice().expect("rows are stored one after the other");
        Self { x, y, dimension }
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.y.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.y.is_empty()
    }

    /// Number of features.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The first half of them, and the rest.
    pub fn halves(&self) -> [Self; 2] {
        let half = self.len() / 2;
        let (x, rest) = self.x.split_at(half * self.dimension);
        let (y, others) = self.y.split_at(half);
        let dimension = self.dimension;
        [Self { x, y, dimension }, Self { x: rest, y: others, dimension }]
    }

    /// The largest norm of a row.
    pub fn reach(&self) -> f64 {
        self.rows().map(|(x, _)| norm(x)).fold(0.0, f64::max)
    }

    /// Each row with its label.
    pub fn rows(&self) -> impl Iterator<Item = (&'a [f64], f64)> + use<'a> {
        self.x.chunks_exact(self.dimension.max(1)).zip(self.y.iter().copied())
    }
}

/// F(w) = scale · Σ_j ℓ(y_j, wᵀx_j). With scale = 1/m it is a peer's mean loss; without samples it
/// is zero.
#[derive(Clone, Copy)]
pub struct Objective<'a> {
    /// The samples.
    pub samples: Samples<'a>,
    /// The loss of each.
    pub loss: Loss,
    /// What the sum is multiplied by.
    pub scale: f64,
}

impl<'a> Objective<'a> {
    /// The mean loss over the samples.
    pub fn mean(samples: Samples<'a>, loss: Loss) -> Self {
        let scale = if samples.is_empty() { 0.0 } else { 1.0 / samples.len() as f64 };
        Self { samples, loss, scale }
    }

    /// F(w).
    pub fn value(&self, w: &[f64]) -> f64 {
        self.samples.rows().map(|(x, y)| self.loss.value(y, dot(x, w))).sum::<f64>() * self.scale
    }

    /// g ← ∇F(w) = scale · Σ_j ℓ'(y_j, wᵀx_j) x_j, in one pass over the rows.
    ///
    /// Returns scale · Σ_j |ℓ'(y_j, wᵀx_j)|, the size of what cancels in g.
    pub fn gradient(&self, w: &[f64], g: &mut [f64]) -> f64 {
        g.fill(0.0);
        let mut size = 0.0;
        for (x, y) in self.samples.rows() {
            let slope = self.loss.derivative(y, dot(x, w));
            size += slope.abs();
            axpy(slope, x, g);
        }
        g.iter_mut().for_each(|g| *g *= self.scale);
        self.scale * size
    }

    /// hessian ← hessian + ∇²F(w) = scale · Σ_j ℓ''(wᵀx_j) x_j x_jᵀ.
    pub fn add_hessian(&self, w: &[f64], hessian: &mut Packed) {
        for (x, _) in self.samples.rows() {
            hessian.add_outer(self.scale * self.loss.curvature(dot(x, w)), x);
        }
    }

    /// c_j ← scale · ℓ''(wᵀx_j): all that a Hessian product at w needs to know of w.
    pub fn curvatures(&self, w: &[f64], c: &mut [f64]) {
        for (c, (x, _)) in c.iter_mut().zip(self.samples.rows()) {
            *c = self.scale * self.loss.curvature(dot(x, w));
        }
    }

    /// out ← out + Σ_j c_j (x_jᵀv) x_j, in one pass over the rows.
    pub fn add_hessian_product(&self, c: &[f64], v: &[f64], out: &mut [f64]) {
        for ((x, _), c) in self.samples.rows().zip(c) {
            axpy(c * dot(x, v), x, out);
        }
    }
}
