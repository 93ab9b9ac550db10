//! A mini-batch as one task of a one-vs-all problem sees it.

use super::loss::Loss;
use super::vector::{axpy, dot};

/// What the labels of a problem mean to its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tasks {
    /// One task, which takes labels as they are: ±1, or targets.
    One,
    /// One task per class k = 0, 1, …, whose label is +1 for the class and −1 for all others.
    PerClass(u32),
}

impl Tasks {
    /// How many there are.
    pub fn count(self) -> u32 {
        match self {
            Self::One => 1,
            Self::PerClass(classes) => classes,
        }
    }

    /// The label that a task gives to a row labelled `y`.
    #[inline]
    pub fn label(self, task: u32, y: f64) -> f64 {
        match self {
            Self::One => y,
            Self::PerClass(_) if y == f64::from(task) => 1.0,
            Self::PerClass(_) => -1.0,
        }
    }

    /// The label that K models, one after the other, give to a row: by arg-max of the margins (the
    /// first of equals), by the sign of the only one (0 counts for −1), or the margin itself where
    /// labels are targets. NaN where a margin is.
    pub fn predict(self, loss: Loss, models: &[f64], x: &[f64]) -> f64 {
        match self {
            Self::One => {
                let z = dot(x, models);
                match loss {
                    Loss::Squared => z,
                    Loss::Logistic | Loss::Hinge if z.is_nan() => z,
                    Loss::Logistic | Loss::Hinge => {
                        if z > 0.0 {
                            1.0
                        } else {
                            -1.0
                        }
                    }
                }
            }
            Self::PerClass(_) => {
                let margins = models.chunks_exact(x.len().max(1)).map(|w| dot(x, w));
                let mut best = (f64::NAN, f64::NEG_INFINITY);
                for (class, z) in margins.enumerate() {
                    if z.is_nan() {
                        return z;
                    }
                    if z > best.1 {
                        best = (class as f64, z);
                    }
                }
                best.0
            }
        }
    }
}

/// Rows of features with their labels, for one task: f_D(w) = (1/b) Σ_j ℓ(y_j, wᵀx_j) + (λ/2)|w|².
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The features, row by row.
    pub x: &'a [f64],
    /// The labels.
    pub y: &'a [f64],
    /// What they mean.
    pub tasks: Tasks,
    /// To which task.
    pub task: u32,
    /// ℓ.
    pub loss: Loss,
    /// λ.
    pub ridge: f64,
}

/// Rows that are gone through together.
const ROWS: usize = 4;
/// Partial sums of each of their dot products.
const LANES: usize = 4;

impl Batch<'_> {
    /// f_D(w).
    pub fn value(&self, w: &[f64]) -> f64 {
        let rows = self.x.chunks_exact(w.len().max(1)).zip(self.y);
        let sum: f64 =
            rows.map(|(x, &y)| self.loss.value(self.tasks.label(self.task, y), dot(x, w))).sum();
        sum / self.y.len() as f64 + 0.5 * self.ridge * dot(w, w)
    }

    /// g ← ∇f_D(w), in one pass. Four rows go together, so that w and g are read once for the four.
    pub fn gradient(&self, w: &[f64], g: &mut [f64]) {
        let d = w.len();
        g.fill(0.0);
        let slope = |y: f64, z: f64| self.loss.derivative(self.tasks.label(self.task, y), z);
        let mut quads = self.x.chunks_exact(ROWS * d.max(1));
        let (labels, last_labels) = self.y.as_chunks::<ROWS>();
        for (rows, y) in quads.by_ref().zip(labels) {
            let (rows01, rows23) = rows.split_at(2 * d);
            let ((x0, x1), (x2, x3)) = (rows01.split_at(d), rows23.split_at(d));
            let z = four_dots([x0, x1, x2, x3], w);
            let s: [f64; ROWS] = std::array::from_fn(|row| slope(y[row], z[row]));
            add_four(s, [x0, x1, x2, x3], g);
        }
        for (x, &y) in quads.remainder().chunks_exact(d.max(1)).zip(last_labels) {
            axpy(slope(y, dot(x, w)), x, g);
        }
        let scale = 1.0 / self.y.len() as f64;
        for (g, w) in g.iter_mut().zip(w) {
            *g = scale * *g + self.ridge * w;
        }
    }
}

/// x_rᵀw of four rows: for each, four interleaved partial sums added pairwise, then the tail in order.
#[inline]
fn four_dots(x: [&[f64]; ROWS], w: &[f64]) -> [f64; ROWS] {
    let mut sums = [[0.0; LANES]; ROWS];
    let chunks = x.map(|x| x.as_chunks::<LANES>());
    let (w_chunks, w_tail) = w.as_chunks::<LANES>();
    let [c0, c1, c2, c3] = chunks.map(|(chunks, _)| chunks);
    for ((((w, x0), x1), x2), x3) in w_chunks.iter().zip(c0).zip(c1).zip(c2).zip(c3) {
        for lane in 0..LANES {
            sums[0][lane] += x0[lane] * w[lane];
            sums[1][lane] += x1[lane] * w[lane];
            sums[2][lane] += x2[lane] * w[lane];
            sums[3][lane] += x3[lane] * w[lane];
        }
    }
    std::array::from_fn(|row| {
        let [a, b, c, d] = sums[row];
        let tail = chunks[row].1.iter().zip(w_tail);
        tail.fold((a + c) + (b + d), |sum, (x, w)| sum + x * w)
    })
}

/// g ← g + Σ_r s_r x_r.
#[inline]
fn add_four(s: [f64; ROWS], x: [&[f64]; ROWS], g: &mut [f64]) {
    let [x0, x1, x2, x3] = x;
    for ((((g, x0), x1), x2), x3) in g.iter_mut().zip(x0).zip(x1).zip(x2).zip(x3) {
        *g += (s[0] * x0 + s[1] * x1) + (s[2] * x2 + s[3] * x3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row-major features and labels that repeat in no short pattern.
    fn rows(m: usize, d: usize, classes: u32) -> (Vec<f64>, Vec<f64>) {
        let x = (0..m * d).map(|i| (1.3 * i as f64).sin()).collect();
        let y = (0..m as u32).map(|j| f64::from(j * j % classes)).collect();
        (x, y)
    }

    #[test]
    fn the_gradient_is_the_slope_of_the_value_for_every_shape() {
        for (m, d) in [(1, 1), (3, 2), (4, 5), (9, 8), (10, 51), (2, 0)] {
            let (x, y) = rows(m, d, 3);
            for (tasks, task) in [(Tasks::PerClass(3), 0), (Tasks::PerClass(3), 1), (Tasks::One, 0)]
            {
                for loss in [Loss::Logistic, Loss::Squared] {
                    let batch = Batch { x: &x, y: &y, tasks, task, loss, ridge: 0.3 };
                    let mut w: Vec<f64> = (0..d).map(|i| (i as f64).cos()).collect();
                    let mut g = vec![f64::NAN; d];
                    batch.gradient(&w, &mut g);
                    let h = 1e-5;
                    for i in 0..d {
                        let at = w[i];
                        w[i] = at + h;
                        let above = batch.value(&w);
                        w[i] = at - h;
                        let below = batch.value(&w);
                        w[i] = at;
                        let slope = (above - below) / (2.0 * h);
                        assert!((g[i] - slope).abs() < 1e-8, "{m} {d} {i}: {} {slope}", g[i]);
                    }
                }
            }
        }
    }

    #[test]
    fn the_largest_margin_wins_and_the_first_of_equals() {
        let tasks = Tasks::PerClass(3);
        let models = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0];
        let predict = |x: [f64; 2]| tasks.predict(Loss::Logistic, &models, &x);
        assert_eq!(predict([2.0, 1.0]), 0.0);
        assert_eq!(predict([1.0, 2.0]), 1.0);
        assert!(predict([f64::NAN, 1.0]).is_nan());
        let binary = |x: f64| Tasks::One.predict(Loss::Logistic, &[2.0], &[x]);
        assert_eq!([binary(0.1), binary(0.0), binary(-0.1)], [1.0, -1.0, -1.0]);
        assert_eq!(Tasks::One.predict(Loss::Squared, &[2.0], &[0.5]), 1.0);
    }
}
