//! Principal component analysis.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, Slice};

use super::eigen;
use super::scaling::{BLOCK, column_sums};

/// The most features: their covariance is held and decomposed as a whole.
pub(super) const MOST_FEATURES: usize = 4096;

/// The mean of the training part and its principal axes.
#[derive(Debug)]
pub(super) struct Axes {
    mean: Array1<f64>,
    /// One axis per row, orthonormal, by falling variance.
    axes: Array2<f64>,
}

impl Axes {
    /// The first `count` eigenvectors of the covariance C = (1/N) Σ (x − x̄)(x − x̄)ᵀ, with 0 for x̄ if
    /// not centred. The entry of largest magnitude (the first of equals) is positive in each.
    ///
    /// # Errors
    /// A column in which the covariance is not finite.
    pub(super) fn fit(
        train: ArrayView2<'_, f64>,
        count: usize,
        centre: bool,
    ) -> Result<Self, usize> {
        let n = train.nrows() as f64;
        let mut mean = Array1::from(column_sums(train, |_, value| value)) / n;
        if !centre {
            mean.fill(0.0);
        }
        let covariance = covariance(train, &mean);
        if let Some(column) = covariance.rows().into_iter().position(|row| !row.sum().is_finite()) {
            return Err(column);
        }
        let mut axes = eigen::leading(covariance, count);
        for mut axis in axes.rows_mut() {
            let largest =
                axis.iter().fold(0.0_f64, |best, v| if v.abs() > best.abs() { *v } else { best });
            if largest < 0.0 {
                axis.mapv_inplace(|value| -value);
            }
        }
        Ok(Self { mean, axes })
    }

    /// Replaces the first columns of each row by its coordinates along the axes.
    ///
    /// # Errors
    /// A column in which they are not finite.
    pub(super) fn project(&self, mut x: ArrayViewMut2<'_, f64>) -> Result<(), usize> {
        let count = self.axes.nrows();
        for mut block in x.axis_chunks_iter_mut(Axis(0), BLOCK) {
            let scores = (&block - &self.mean).dot(&self.axes.t());
            if let Some(((_, column), _)) = scores.indexed_iter().find(|(_, v)| !v.is_finite()) {
                return Err(column);
            }
            block.slice_axis_mut(Axis(1), Slice::from(..count)).assign(&scores);
        }
        Ok(())
    }
}

/// The covariance, block by block of rows in order. It is symmetric: a panel of its rows needs the
/// columns from its own first on only.
fn covariance(x: ArrayView2<'_, f64>, mean: &Array1<f64>) -> Array2<f64> {
    const PANEL: usize = 128;
    let d = x.ncols();
    let mut upper = Array2::zeros((d, d));
    for block in x.axis_chunks_iter(Axis(0), BLOCK) {
        let centred = &block - mean;
        for start in (0..d).step_by(PANEL) {
            let panel = Slice::from(start..(start + PANEL).min(d));
            let mut rows = upper.slice_axis_mut(Axis(0), panel);
            let mut part = rows.slice_axis_mut(Axis(1), Slice::from(start..));
            let left = centred.slice_axis(Axis(1), panel);
            let right = centred.slice_axis(Axis(1), Slice::from(start..));
            general_mat_mul(1.0, &left.t(), &right, 1.0, &mut part);
        }
    }
    let n = x.nrows() as f64;
    Array2::from_shape_fn((d, d), |(i, j)| upper[(i.min(j), i.max(j))] / n)
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    fn squared_norm(x: &Array2<f64>) -> f64 {
        x.iter().map(|value| value * value).sum()
    }

    #[test]
    fn a_line_has_one_axis() {
        // Points on the line (1, 1) + t·(3, −4)/5 with variance 2 along it.
        let t = [-2.0, -1.0, 0.0, 1.0, 2.0];
        let mut x = Array2::from_shape_fn((5, 2), |(i, j)| 1.0 + t[i] * [0.6, -0.8][j]);
        let axes = Axes::fit(x.view(), 1, true).unwrap();
        assert!((&axes.axes - &array![[-0.6, 0.8]]).iter().all(|e| e.abs() < 1e-12), "{axes:?}");
        axes.project(x.view_mut()).unwrap();
        for (score, t) in x.column(0).iter().zip(t) {
            assert!((score + t).abs() < 1e-12);
        }
    }

    /// Two points that differ in the second coordinate lie far out along the first.
    #[test]
    fn without_the_mean_the_axes_are_those_of_the_second_moments() {
        let mut x = array![[2.0, 1.0], [2.0, -1.0]];
        let centred = Axes::fit(x.view(), 1, true).unwrap();
        assert!((&centred.axes - &array![[0.0, 1.0]]).iter().all(|e| e.abs() < 1e-12));
        let about_zero = Axes::fit(x.view(), 1, false).unwrap();
        assert!((&about_zero.axes - &array![[1.0, 0.0]]).iter().all(|e| e.abs() < 1e-12));
        about_zero.project(x.view_mut()).unwrap();
        assert_eq!(x.column(0).to_vec(), [2.0, 2.0], "nothing is taken off");
    }

    #[test]
    fn blocks_and_panels_do_not_matter() {
        let x = Array2::from_shape_fn((2_500, 300), |(i, j)| ((i * 31 + j * j * 17) % 101) as f64);
        let mean = x.mean_axis(Axis(0)).unwrap();
        let centred = &x - &mean;
        let whole = centred.t().dot(&centred) / 2_500.0;
        let error =
            (&whole - &covariance(x.view(), &mean)).iter().fold(0.0_f64, |m, e| m.max(e.abs()));
        assert!(error < 1e-9, "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// All axes together turn the data; the first of them keep at least as much of it as the
        /// first coordinates do, and what is lost is the variance of the others.
        #[test]
        fn reconstruction(
            values in prop::collection::vec(-5.0..5.0_f64, 30..240),
            d in 2_usize..7,
            keep in 1_usize..7,
        ) {
            let n = values.len() / d;
            let keep = keep.min(d);
            let x = Array2::from_shape_vec((n, d), values[..n * d].to_vec()).unwrap();
            let all = Axes::fit(x.view(), d, true).unwrap();
            let centred = &x - &all.mean;
            let identity = all.axes.dot(&all.axes.t());
            for ((i, j), value) in identity.indexed_iter() {
                prop_assert!((value - f64::from(i == j)).abs() < 1e-12);
            }
            let scores = centred.dot(&all.axes.t());
            let whole = squared_norm(&centred);
            prop_assert!((squared_norm(&scores) - whole).abs() < 1e-9 * (1.0 + whole));

            let variances: Vec<f64> =
                scores.columns().into_iter().map(|c| c.iter().map(|v| v * v).sum()).collect();
            prop_assert!(variances.windows(2).all(|pair| pair[0] >= pair[1] - 1e-9));

            let some = Axes::fit(x.view(), keep, true).unwrap();
            prop_assert_eq!(&some.axes, &all.axes.slice_axis(Axis(0), Slice::from(..keep)));
            let back = centred.dot(&some.axes.t()).dot(&some.axes);
            let lost: f64 = variances[keep..].iter().sum();
            prop_assert!((squared_norm(&(&centred - &back)) - lost).abs() < 1e-8 * (1.0 + whole));
            let first = squared_norm(&centred.slice_axis(Axis(1), Slice::from(keep..)).to_owned());
            prop_assert!(lost <= first + 1e-8 * (1.0 + whole));
        }
    }
}
