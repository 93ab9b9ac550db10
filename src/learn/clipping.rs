//! Gradients of which no sample has more than a bounded part.

use super::kernel;
use super::kernel::rows::{Gather, OfMargins};
use super::loss::Loss;
use super::objective::{Objective, Samples};
use super::vector::{dot, norm};

/// How much one sample may weigh in a gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Clipping {
    /// As much as it does.
    #[default]
    None,
    /// Its gradient ℓ'x is shortened to the 2-norm G where it is longer.
    Norm(f64),
    /// Its slope ℓ' is clipped to ±r, so that |ℓ'x| ≤ r|x| in every norm.
    Slope(f64),
}

impl Clipping {
    /// The slope that a sample x is left with.
    #[inline]
    fn apply(self, slope: f64, x: &[f64]) -> f64 {
        match self {
            Self::None => slope,
            Self::Norm(most) => {
                let length = length(x);
                if slope.abs() * length > most { (most / length).copysign(slope) } else { slope }
            }
            Self::Slope(most) => slope.clamp(-most, most),
        }
    }
}

/// |x|, also where squares overflow or vanish.
#[inline]
fn length(x: &[f64]) -> f64 {
    const SQUARES: std::ops::Range<f64> = 1e-280..f64::INFINITY;
    let square = dot(x, x);
    if SQUARES.contains(&square) { square.sqrt() } else { length_of_extremes(x) }
}

/// |x| by way of the largest number.
#[cold]
fn length_of_extremes(x: &[f64]) -> f64 {
    let largest = x.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    largest * norm(&x.iter().map(|x| x / largest).collect::<Vec<_>>())
}

impl Objective<'_> {
    /// g ← scale · Σ_j clipped(ℓ'(y_j, wᵀx_j) x_j), in one pass over the rows. Without clipping it is
    /// [`gradient`](Self::gradient) to the last bit.
    ///
    /// # Panics
    /// Where the bound is below 0 or NaN.
    pub fn clipped_gradient(&self, w: &[f64], clipping: Clipping, g: &mut [f64]) {
        if let Clipping::Norm(most) | Clipping::Slope(most) = clipping {
            assert!(most >= 0.0, "a bound of {most}");
        }
        g.fill(0.0);
        let Samples { x, y, .. } = self.samples;
        let of = ClippedSlopes { loss: self.loss, y, clipping };
        kernel::run(Gather { x, w, g, of });
        g.iter_mut().for_each(|g| *g *= self.scale);
    }
}

/// ℓ'(y_j, z_j), clipped.
struct ClippedSlopes<'a> {
    loss: Loss,
    y: &'a [f64],
    clipping: Clipping,
}

impl OfMargins for ClippedSlopes<'_> {
    #[inline(always)]
    fn apply(&mut self, first: usize, rows: &[f64], z: &mut [f64]) {
        self.loss.derivatives(&self.y[first..][..z.len()], z);
        let dimension = rows.len() / z.len().max(1);
        for (slope, x) in z.iter_mut().zip(rows.chunks_exact(dimension.max(1))) {
            *slope = self.clipping.apply(*slope, x);
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use serde_json::Value;

    use super::super::{Regulariser, norm};
    use super::*;

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    }

    /// Values and gradients of an independent program, at one point over all rows. Its squared loss
    /// is (y − wᵀx)², twice ours: half its clipping norm, and twice what comes out.
    #[test]
    fn values_and_clipped_gradients_are_the_golden_ones() {
        let text = include_str!("../../tests/golden/server.json");
        let golden: Value = serde_json::from_str(text).unwrap();
        let rows: Vec<Vec<f64>> =
            golden["data"]["X"].as_array().unwrap().iter().map(numbers).collect();
        let x = Array2::from_shape_vec((rows.len(), 3), rows.concat()).unwrap();
        let classes = numbers(&golden["data"]["y_cls"]).iter().map(|y| 2.0 * y - 1.0).collect();
        let targets = numbers(&golden["data"]["y_reg"]);
        let w = [0.4, -0.7, 1.1];
        for (case, loss, clip, regulariser) in [
            ("logistic_lam0.0_clipNone", Loss::Logistic, None, Regulariser::ridge(0.0)),
            ("logistic_lam0.1_clipNone", Loss::Logistic, None, Regulariser::ridge(0.1)),
            ("ridge_lam0.0_clip2.0", Loss::Squared, Some(2.0), Regulariser::ridge(0.0)),
            ("ridge_lam0.0_clip0.3", Loss::Squared, Some(0.3), Regulariser::ridge(0.0)),
            (
                "ridge_pl_lam0.0_clip2.0",
                Loss::Squared,
                Some(2.0),
                Regulariser { ridge: 0.0, sine: 1.0 },
            ),
        ] {
            let (y, twice): (&Vec<f64>, _) =
                if loss == Loss::Squared { (&targets, 2.0) } else { (&classes, 1.0) };
            let objective = Objective::mean(Samples::new(x.view(), y), loss);
            let clipping = clip.map_or(Clipping::None, |most| Clipping::Norm(most / twice));
            let mut g = [0.0; 3];
            objective.clipped_gradient(&w, clipping, &mut g);
            g.iter_mut().for_each(|g| *g *= twice);
            regulariser.add_gradient(&w, &mut g);
            let expected = &golden["wddp"][case];
            for (found, expected) in g.iter().zip(numbers(&expected["grad_at_test"])) {
                assert!((found - expected).abs() < 1e-13, "{case}: {found} {expected}");
            }
            let value = twice * objective.value(&w) + regulariser.value(&w);
            let expected = expected["value_at_test"].as_f64().unwrap();
            assert!((value - expected).abs() < 1e-13, "{case}: {value} {expected}");
        }
    }

    /// One sample at a time, so that nothing cancels.
    #[test]
    fn no_sample_weighs_more_than_it_may() {
        let w = [0.9, -0.3];
        for (x, y) in
            [([3.0, 4.0], 2.0), ([0.03, 0.04], -2.0), ([0.0, 0.0], 5.0), ([1.0, 2.0], 9.0)]
        {
            let row = Array2::from_shape_vec((1, 2), x.to_vec()).unwrap();
            let labels = [y];
            let objective = Objective::mean(Samples::new(row.view(), &labels), Loss::Squared);
            let (mut plain, mut clipped) = ([0.0; 2], [f64::NAN; 2]);
            objective.gradient(&w, &mut plain);
            objective.clipped_gradient(&w, Clipping::None, &mut clipped);
            assert_eq!(clipped, plain);
            let slope = 0.9 * x[0] - 0.3 * x[1] - y;
            objective.clipped_gradient(&w, Clipping::Norm(1.5), &mut clipped);
            let shrink = (1.5 / norm(&plain)).min(1.0);
            assert!(norm(&clipped) <= 1.5 * (1.0 + 1e-15));
            assert!((0..2).all(|i| (clipped[i] - shrink * plain[i]).abs() < 1e-14));
            objective.clipped_gradient(&w, Clipping::Slope(0.25), &mut clipped);
            let left = slope.signum() * slope.abs().min(0.25);
            assert!((0..2).all(|i| (clipped[i] - left * x[i]).abs() < 1e-14));
        }
    }

    /// Where |x|² is beyond the numbers, on either side, |x| is not.
    #[test]
    fn lengths_whose_squares_are_no_numbers_are_clipped_too() {
        for (size, target) in [(1e160, -1e3), (1e-170, -1e175), (3e-165, -1e170), (1e307, 1.0)] {
            let row = Array2::from_shape_vec((1, 2), vec![3.0 * size, -4.0 * size]).unwrap();
            let labels = [target];
            let objective = Objective::mean(Samples::new(row.view(), &labels), Loss::Squared);
            let mut clipped = [0.0; 2];
            objective.clipped_gradient(&[0.0; 2], Clipping::Norm(1.5), &mut clipped);
            let sign = -target.signum();
            assert!((clipped[0] - sign * 0.9).abs() < 1e-14, "{size}: {clipped:?}");
            assert!((clipped[1] + sign * 1.2).abs() < 1e-14, "{size}: {clipped:?}");
        }
    }

    #[test]
    fn without_clipping_it_is_the_gradient_to_the_last_bit() {
        let (m, d) = (57, 11);
        let x = Array2::from_shape_fn((m, d), |(i, j)| ((i * 13 + j * 7) as f64).sin());
        let y: Vec<f64> = (0..m).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let w: Vec<f64> = (0..d).map(|j| (j as f64).cos()).collect();
        let mut found = [vec![0.0; d], vec![0.0; d], vec![0.0; d], vec![0.0; d]];
        for loss in [Loss::Logistic, Loss::Squared, Loss::Hinge] {
            let objective = Objective::mean(Samples::new(x.view(), &y), loss);
            let [plain, none, norm, slope] = &mut found;
            objective.gradient(&w, plain);
            objective.clipped_gradient(&w, Clipping::None, none);
            objective.clipped_gradient(&w, Clipping::Norm(1e9), norm);
            objective.clipped_gradient(&w, Clipping::Slope(1e9), slope);
            assert!(none == plain && norm == plain && slope == plain);
        }
    }
}
