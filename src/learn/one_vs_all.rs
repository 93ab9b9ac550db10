//! A mini-batch as one task of a one-vs-all problem sees it.

use super::kernel::rows::{BLOCK, Gather, OfMargins, Scan, dots};
use super::kernel::{self, Four, LANES, Loop};
use super::loss::Loss;
use super::vector::dot;

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
                // One row for all models: they go by as rows do.
                let of = Best { class: f64::NAN, margin: f64::NEG_INFINITY, defined: true };
                let best = kernel::run(Scan { x: models, w: x, of });
                if best.defined { best.class } else { f64::NAN }
            }
        }
    }
}

/// The class of the largest margin, and whether no margin is NaN.
struct Best {
    class: f64,
    margin: f64,
    defined: bool,
}

impl OfMargins for Best {
    #[inline(always)]
    fn apply(&mut self, first: usize, _: &[f64], z: &mut [f64]) {
        for (k, z) in z.iter().enumerate() {
            self.defined &= !z.is_nan();
            if *z > self.margin || self.class.is_nan() {
                (self.class, self.margin) = ((first + k) as f64, *z);
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

impl Batch<'_> {
    /// f_D(w).
    pub fn value(&self, w: &[f64]) -> f64 {
        let sum = kernel::run(Scan { x: self.x, w, of: Values { batch: self, sum: 0.0 } }).sum;
        sum / self.y.len() as f64 + 0.5 * self.ridge * dot(w, w)
    }

    /// g ← ∇f_D(w), in one pass.
    pub fn gradient(&self, w: &[f64], g: &mut [f64]) {
        g.fill(0.0);
        kernel::run(Gather { x: self.x, w, g: &mut *g, of: Slopes(self) });
        let scale = 1.0 / self.y.len() as f64;
        for (g, w) in g.iter_mut().zip(w) {
            *g = scale * *g + self.ridge * w;
        }
    }

    /// w ← w − η ∇f_D(w). `g` is room for a vector as long as w, in which nothing is to be found after.
    pub fn descend(&self, eta: f64, w: &mut [f64], g: &mut [f64]) {
        kernel::run(Descent { batch: self, eta, w, g });
    }

    /// The labels that the task gives to rows from `first` on.
    #[inline(always)]
    fn labels(&self, first: usize) -> [f64; BLOCK] {
        let mut labels = [0.0; BLOCK];
        for (label, y) in labels.iter_mut().zip(&self.y[first..]) {
            *label = self.tasks.label(self.task, *y);
        }
        labels
    }
}

/// Σ_j ℓ(y_j, z_j).
struct Values<'a> {
    batch: &'a Batch<'a>,
    sum: f64,
}

impl OfMargins for Values<'_> {
    #[inline(always)]
    fn apply(&mut self, first: usize, _: &[f64], z: &mut [f64]) {
        self.batch.loss.values(&self.batch.labels(first)[..z.len()], z);
        for value in z {
            self.sum += *value;
        }
    }
}

/// ℓ'(y_j, z_j).
struct Slopes<'a>(&'a Batch<'a>);

impl OfMargins for Slopes<'_> {
    #[inline(always)]
    fn apply(&mut self, first: usize, _: &[f64], z: &mut [f64]) {
        self.0.loss.derivatives(&self.0.labels(first)[..z.len()], z);
    }
}

/// w ← w − η(scale·g + λw) with g = Σ_j ℓ'(y_j, wᵀx_j) x_j: what [`Batch::gradient`] and
/// [`axpy`](super::vector::axpy) do one after the other, to the bit.
struct Descent<'a> {
    batch: &'a Batch<'a>,
    eta: f64,
    w: &'a mut [f64],
    g: &'a mut [f64],
}

impl Loop for Descent<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Four>(self) {
        let Self { batch, eta, w, g } = self;
        let Batch { x, y, ridge, .. } = *batch;
        if y.len() == 1 {
            // One row is its own sum, but for its slope.
            let mut slope = dots::<F, 1>([x], w);
            Slopes(batch).apply(0, x, &mut slope);
            shrink_and_add::<F>([slope[0], 1.0, ridge, -eta], x, w);
        } else {
            g.fill(0.0);
            Gather { x, w, g: &mut *g, of: Slopes(batch) }.run::<F>();
            shrink_and_add::<F>([1.0, 1.0 / y.len() as f64, ridge, -eta], g, w);
        }
    }
}

/// w ← w + step·(scale·(slope·x) + ridge·w).
#[inline(always)]
fn shrink_and_add<F: Four>([slope, scale, ridge, step]: [f64; 4], x: &[f64], w: &mut [f64]) {
    let (x, x_tail) = x.as_chunks::<LANES>();
    let (w, w_tail) = w.as_chunks_mut::<LANES>();
    let [slopes, scales] = [slope, scale].map(F::splat);
    let [ridges, steps] = [ridge, step].map(F::splat);
    for (x, w) in x.iter().zip(w) {
        let (g, old) = (F::splat(0.0).plus(F::load(x).times(slopes)), F::load(w));
        old.plus(g.times(scales).plus(old.times(ridges)).times(steps)).store(w);
    }
    for (x, w) in x_tail.iter().zip(w_tail) {
        *w += step * (scale * (0.0 + slope * x) + ridge * *w);
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
    fn a_step_has_the_bits_of_a_gradient_and_a_sum() {
        let bits = |w: &[f64]| w.iter().map(|w| w.to_bits()).collect::<Vec<_>>();
        for (m, d) in [(1, 1), (1, 51), (1, 4), (3, 2), (9, 8), (10, 51), (50, 13), (2, 0), (1, 0)]
        {
            let (mut x, y) = rows(m, d, 3);
            // Zeros of either sign, which products and sums must not confuse.
            x.iter_mut().step_by(3).for_each(|x| *x *= 0.0);
            for (loss, ridge) in
                [(Loss::Logistic, 0.3), (Loss::Squared, 0.0), (Loss::Logistic, 0.0)]
            {
                let tasks = Tasks::PerClass(3);
                let batch = Batch { x: &x, y: &y, tasks, task: 1, loss, ridge };
                let start: Vec<f64> = (0..d).map(|i| (i as f64).sin() - 0.1).collect();
                let (mut w, mut g) = (start.clone(), vec![0.0; d]);
                batch.gradient(&w, &mut g);
                crate::learn::axpy(-0.7, &g, &mut w);
                for on_this in [true, false] {
                    let (mut stepped, mut g) = (start.clone(), vec![f64::NAN; d]);
                    let step = Descent { batch: &batch, eta: 0.7, w: &mut stepped, g: &mut g };
                    if on_this {
                        kernel::run(step)
                    } else {
                        kernel::on_portable(step)
                    }
                    assert_eq!(bits(&stepped), bits(&w), "{m} × {d}, {loss:?}");
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
        let far = Tasks::PerClass(2).predict(Loss::Logistic, &[-1e308; 2], &[1e308]);
        assert_eq!(far, 0.0, "−∞ is a margin");
        let binary = |x: f64| Tasks::One.predict(Loss::Logistic, &[2.0], &[x]);
        assert_eq!([binary(0.1), binary(0.0), binary(-0.1)], [1.0, -1.0, -1.0]);
        assert_eq!(Tasks::One.predict(Loss::Squared, &[2.0], &[0.5]), 1.0);
    }
}
