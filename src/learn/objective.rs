//! A mean loss over samples, its gradient, Hessian and Hessian products, each in one pass.

use ndarray::ArrayView2;

use super::cholesky::Packed;
use super::kernel;
use super::kernel::rows::{Gather, OfMargins, Scan};
use super::loss::{Loss, each, hinge_derivative, logistic_derivative, squared_derivative};
use super::vector::norm;

/// Rows of features with their labels.
#[derive(Clone, Copy)]
pub struct Samples<'a> {
    pub(super) x: &'a [f64],
    pub(super) y: &'a [f64],
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
        let Samples { x, y, .. } = self.samples;
        let of = Values { loss: self.loss, y, sum: 0.0 };
        kernel::run(Scan { x, w, of }).sum * self.scale
    }

    /// g ← ∇F(w) = scale · Σ_j ℓ'(y_j, wᵀx_j) x_j, in one pass over the rows.
    ///
    /// Returns scale · Σ_j |ℓ'(y_j, wᵀx_j)|, the size of what cancels in g.
    pub fn gradient(&self, w: &[f64], g: &mut [f64]) -> f64 {
        g.fill(0.0);
        // A loop for each loss: one that asks which it is for every block of rows takes a fifth longer.
        let size = match self.loss {
            Loss::Logistic => self.gather(w, g, logistic_derivative),
            Loss::Squared => self.gather(w, g, squared_derivative),
            Loss::Hinge => self.gather(w, g, hinge_derivative),
        };
        g.iter_mut().for_each(|g| *g *= self.scale);
        self.scale * size
    }

    /// g ← g + Σ_j ℓ'(y_j, wᵀx_j) x_j. Returns Σ_j |ℓ'|.
    fn gather(&self, w: &[f64], g: &mut [f64], derivative: impl Fn(f64, f64) -> f64) -> f64 {
        let Samples { x, y, .. } = self.samples;
        let of = Slopes { derivative, y, size: 0.0 };
        kernel::run(Gather { x, w, g, of }).size
    }

    /// hessian ← hessian + ∇²F(w) = scale · Σ_j ℓ''(wᵀx_j) x_j x_jᵀ.
    pub fn add_hessian(&self, w: &[f64], hessian: &mut Packed) {
        let Samples { x, dimension, .. } = self.samples;
        let mut c = [0.0; HESSIAN_ROWS];
        for x in x.chunks(HESSIAN_ROWS * dimension.max(1)) {
            let c = &mut c[..x.len() / dimension];
            kernel::run(Scan { x, w, of: Curvatures { loss: self.loss, scale: self.scale, c } });
            hessian.add_outers(c, x);
        }
    }

    /// c_j ← scale · ℓ''(wᵀx_j): all that a Hessian product at w needs to know of w.
    pub fn curvatures(&self, w: &[f64], c: &mut [f64]) {
        let of = Curvatures { loss: self.loss, scale: self.scale, c };
        kernel::run(Scan { x: self.samples.x, w, of });
    }

    /// out ← out + Σ_j c_j (x_jᵀv) x_j, in one pass over the rows.
    pub fn add_hessian_product(&self, c: &[f64], v: &[f64], out: &mut [f64]) {
        kernel::run(Gather { x: self.samples.x, w: v, g: out, of: Weighted(c) });
    }
}

/// Rows whose curvatures are found before their part of the Hessian: they stay in the cache for it.
const HESSIAN_ROWS: usize = 128;

/// Σ_j ℓ(y_j, z_j).
struct Values<'a> {
    loss: Loss,
    y: &'a [f64],
    sum: f64,
}

impl OfMargins for Values<'_> {
    #[inline(always)]
    fn apply(&mut self, first: usize, _: &[f64], z: &mut [f64]) {
        self.loss.values(&self.y[first..][..z.len()], z);
        for value in z {
            self.sum += *value;
        }
    }
}

/// ℓ'(y_j, z_j), and the sum of their sizes.
struct Slopes<'a, D> {
    derivative: D,
    y: &'a [f64],
    size: f64,
}

impl<D: Fn(f64, f64) -> f64> OfMargins for Slopes<'_, D> {
    #[inline(always)]
    fn apply(&mut self, first: usize, _: &[f64], z: &mut [f64]) {
        each(&self.y[first..][..z.len()], z, &self.derivative);
        for slope in z {
            self.size += slope.abs();
        }
    }
}

/// c_j ← scale · ℓ''(z_j).
struct Curvatures<'a> {
    loss: Loss,
    scale: f64,
    c: &'a mut [f64],
}

impl OfMargins for Curvatures<'_> {
    #[inline(always)]
    fn apply(&mut self, first: usize, _: &[f64], z: &mut [f64]) {
        self.loss.curvatures(z);
        for (c, bend) in self.c[first..][..z.len()].iter_mut().zip(z) {
            *c = self.scale * *bend;
        }
    }
}

/// c_j z_j.
struct Weighted<'a>(&'a [f64]);

impl OfMargins for Weighted<'_> {
    #[inline(always)]
    fn apply(&mut self, first: usize, _: &[f64], z: &mut [f64]) {
        for (z, c) in z.iter_mut().zip(&self.0[first..]) {
            *z *= c;
        }
    }
}
