//! Preprocessing: statistics of the training part, applied to both parts.

use ndarray::{ArrayView1, ArrayView2, ArrayViewMut2, Axis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DataError;

/// A preprocessing step. Its statistics come from the training part alone, and from the private
/// rows of all peers: each run declares them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Subtracts each feature's mean over the training part and divides by its (population)
    /// standard deviation. A constant feature is centred and left unscaled.
    Standardise,
    /// Divides every row by the largest norm of a training row, so that |x| ≤ 1 on the training
    /// part. A held-out row that is longer keeps its length, beyond 1.
    UnitBall,
}

/// Sums over rows run over blocks of this many, in order.
const BLOCK: usize = 1024;

impl Step {
    /// The step, as it is written in a scenario.
    fn name(self) -> &'static str {
        match self {
            Self::Standardise => "standardise",
            Self::UnitBall => "unit-ball",
        }
    }

    /// The statistic of private data that this step uses.
    pub(super) fn declaration(self) -> String {
        let statistic = match self {
            Self::Standardise => "mean and deviation of each feature over the training part",
            Self::UnitBall => "largest row norm over the training part",
        };
        format!("{}: {statistic}", self.name())
    }

    /// What the step does, decided by the training part.
    fn fit(self, train: ArrayView2<'_, f64>) -> Scaling {
        match self {
            Self::Standardise => standardise(train),
            Self::UnitBall => unit_ball(train),
        }
    }

    /// Fits on the training part and applies to both.
    pub(super) fn run(
        self,
        mut train: ArrayViewMut2<'_, f64>,
        test: Option<ArrayViewMut2<'_, f64>>,
        features: &[String],
    ) -> Result<(), DataError> {
        let scaling = self.fit(train.view());
        let overflow = |column: usize| DataError::Overflow {
            step: self.name(),
            feature: features[column].clone(),
        };
        scaling.apply(train.view_mut()).map_err(overflow)?;
        test.map_or(Ok(()), |test| scaling.apply(test)).map_err(overflow)
    }
}

/// x ↦ (x − centre)/scale, feature by feature.
#[derive(Debug, PartialEq)]
struct Scaling {
    centre: Vec<f64>,
    scale: Vec<f64>,
}

impl Scaling {
    /// Applies it to every row in place.
    ///
    /// # Errors
    /// The first column in which it, or what comes out of it, is not finite.
    fn apply(&self, mut x: ArrayViewMut2<'_, f64>) -> Result<(), usize> {
        let usable =
            |column: usize| self.centre[column].is_finite() && self.scale[column].is_finite();
        if let Some(column) = (0..self.centre.len()).find(|&column| !usable(column)) {
            return Err(column);
        }
        for mut row in x.rows_mut() {
            for (column, value) in row.iter_mut().enumerate() {
                *value = (*value - self.centre[column]) / self.scale[column];
                if !value.is_finite() {
                    return Err(column);
                }
            }
        }
        Ok(())
    }
}

fn standardise(train: ArrayView2<'_, f64>) -> Scaling {
    let n = train.nrows() as f64;
    let mut centre = column_sums(train, |_, value| value);
    centre.iter_mut().for_each(|sum| *sum /= n);
    // The mean of equal numbers may be off by a rounding error, which division by a deviation of
    // that size would blow up to order 1.
    let first = train.row(0);
    for (column, centre) in centre.iter_mut().enumerate() {
        if train.column(column).iter().all(|&value| value == first[column]) {
            *centre = first[column];
        }
    }
    let mut scale = column_sums(train, |column, value| (value - centre[column]).powi(2));
    for scale in &mut scale {
        *scale = (*scale / n).sqrt();
        if *scale == 0.0 {
            *scale = 1.0;
        }
    }
    Scaling { centre, scale }
}

fn unit_ball(train: ArrayView2<'_, f64>) -> Scaling {
    let norm = |row: ArrayView1<'_, f64>| {
        let squares: f64 = row.iter().map(|value| value * value).sum();
        // `hypot` is slow, but neither overflows nor underflows where squares do.
        if squares.is_normal() { squares.sqrt() } else { row.iter().copied().fold(0.0, f64::hypot) }
    };
    let largest = train.rows().into_iter().map(norm).fold(0.0, f64::max);
    let d = train.ncols();
    Scaling { centre: vec![0.0; d], scale: vec![if largest > 0.0 { largest } else { 1.0 }; d] }
}

/// Σ term(column, value) of every column.
fn column_sums(x: ArrayView2<'_, f64>, term: impl Fn(usize, f64) -> f64) -> Vec<f64> {
    let mut total = vec![0.0; x.ncols()];
    let mut partial = total.clone();
    for block in x.axis_chunks_iter(Axis(0), BLOCK) {
        partial.fill(0.0);
        for row in block.rows() {
            for (column, (sum, &value)) in partial.iter_mut().zip(row).enumerate() {
                *sum += term(column, value);
            }
        }
        total.iter_mut().zip(&partial).for_each(|(total, sum)| *total += sum);
    }
    total
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use proptest::prelude::*;

    use super::*;

    fn names(count: usize) -> Vec<String> {
        (1..=count).map(|i| format!("x{i}")).collect()
    }

    #[test]
    fn standardise_in_closed_form() {
        // Means 2 and 0.1; deviations 1 and 0: the constant column is centred only.
        let mut train = array![[1.0, 0.1], [3.0, 0.1], [1.0, 0.1], [3.0, 0.1]];
        let mut test = array![[5.0, 1.1]];
        Step::Standardise.run(train.view_mut(), Some(test.view_mut()), &names(2)).unwrap();
        assert_eq!(train, array![[-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]]);
        assert_eq!(test, array![[3.0, 1.0]]);
    }

    #[test]
    fn a_constant_column_is_exactly_zero_whatever_its_mean_rounds_to() {
        let mut train = Array2::from_elem((10_007, 1), 0.1);
        Step::Standardise.run(train.view_mut(), None, &names(1)).unwrap();
        assert!(train.iter().all(|&value| value == 0.0));
    }

    #[test]
    fn unit_ball_in_closed_form() {
        let mut train = array![[3.0, 4.0], [0.0, 1.0]];
        let mut test = array![[6.0, 8.0]];
        Step::UnitBall.run(train.view_mut(), Some(test.view_mut()), &names(2)).unwrap();
        assert_eq!(train, array![[0.6, 0.8], [0.0, 0.2]]);
        assert_eq!(test, array![[1.2, 1.6]], "a longer held-out row keeps its length");

        let mut zeros = Array2::zeros((2, 2));
        Step::UnitBall.run(zeros.view_mut(), None, &names(2)).unwrap();
        assert_eq!(zeros, Array2::<f64>::zeros((2, 2)));
    }

    #[test]
    fn what_overflows_is_refused_by_name() {
        let mut train = array![[1.0, 1e308], [2.0, -1e308]];
        let error = Step::Standardise.run(train.view_mut(), None, &names(2)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "standardise: feature \"x2\" leaves the range of finite numbers: rescale it first"
        );
        Step::UnitBall.run(train.view_mut(), None, &names(2)).unwrap();
        assert_eq!(train, array![[1e-308, 1.0], [2e-308, -1.0]]);
    }

    proptest! {
        #[test]
        fn standardised_columns_have_mean_zero_and_deviation_one(
            values in prop::collection::vec(-1e3..1e3, 6..6_000),
        ) {
            let rows = values.len() / 3;
            let mut x = Array2::from_shape_vec((rows, 3), values[..3 * rows].to_vec()).unwrap();
            Step::Standardise.run(x.view_mut(), None, &names(3)).unwrap();
            for column in x.columns() {
                let mean = column.sum() / rows as f64;
                let variance = column.iter().map(|v| v * v).sum::<f64>() / rows as f64;
                prop_assert!(mean.abs() < 1e-9, "mean {mean}");
                prop_assert!((variance - 1.0).abs() < 1e-9, "variance {variance}");
            }
        }

        #[test]
        fn training_rows_end_in_the_unit_ball(values in prop::collection::vec(-1e3..1e3, 2..200)) {
            let rows = values.len() / 2;
            let mut x = Array2::from_shape_vec((rows, 2), values[..2 * rows].to_vec()).unwrap();
            Step::UnitBall.run(x.view_mut(), None, &names(2)).unwrap();
            let norms: Vec<f64> = x.rows().into_iter().map(|row| row.dot(&row).sqrt()).collect();
            let largest = norms.iter().copied().fold(0.0, f64::max);
            prop_assert!((largest - 1.0).abs() < 1e-12, "{largest}");
        }

        #[test]
        fn held_out_rows_do_not_influence_the_statistics(other in -1e6_f64..1e6) {
            for step in [Step::Standardise, Step::UnitBall] {
                let mut alone = array![[1.0, 2.0], [4.0, -1.0]];
                let mut beside = alone.clone();
                let mut test = array![[other, -other]];
                step.run(alone.view_mut(), None, &names(2)).unwrap();
                step.run(beside.view_mut(), Some(test.view_mut()), &names(2)).unwrap();
                prop_assert_eq!(&alone, &beside);
            }
        }
    }
}
