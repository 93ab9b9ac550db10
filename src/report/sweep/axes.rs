//! The axes of a sweep: which of them vary, how their values are spread, which points lie on them.

use serde_json::Value;

use super::{SweepAxis, SweepPoint};
use crate::report::svg::plot::Axis;
use crate::scenario::in_short;

/// Ends at least so many times apart can be spread logarithmically.
const DECADE: f64 = 10.0;

/// One thing that varies: an axis with those that move with it.
#[derive(Clone, Debug)]
pub(super) struct Dimension {
    /// The leading axis' path, by which points are found.
    path: String,
    /// The labels of all of them.
    pub(super) label: String,
    /// The leading axis' values, each once, in their order.
    pub(super) values: Vec<Value>,
}

impl Dimension {
    /// What varies in a sweep. An axis of one value does not.
    pub(super) fn of(axes: &[SweepAxis]) -> Vec<Self> {
        let mut dimensions: Vec<Self> = Vec::new();
        for axis in axes {
            match dimensions.last_mut() {
                Some(leading) if axis.zipped => leading.label += &format!(", {}", axis.label),
                _ => {
                    let mut values: Vec<Value> = Vec::new();
                    for value in &axis.values {
                        if !values.contains(value) {
                            values.push(value.clone());
                        }
                    }
                    let (path, label) = (axis.path.clone(), axis.label.clone());
                    dimensions.push(Self { path, label, values });
                }
            }
        }
        dimensions.retain(|dimension| dimension.values.len() > 1);
        dimensions
    }

    /// The value of a point here.
    pub(super) fn value<'a>(&self, point: &'a SweepPoint) -> Option<&'a Value> {
        point.values.iter().find(|(path, _)| *path == self.path).map(|(_, value)| value)
    }

    /// Whether a point lies at one of the values.
    pub(super) fn is_at(&self, point: &SweepPoint, value: &Value) -> bool {
        self.value(point) == Some(value)
    }

    /// The values as numbers, where all are.
    pub(super) fn numbers(&self) -> Option<Vec<f64>> {
        self.values.iter().map(Value::as_f64).collect()
    }

    /// The values' names.
    pub(super) fn names(&self) -> Vec<String> {
        self.values.iter().map(in_short).collect()
    }

    /// A plot's axis for these numbers.
    pub(super) fn axis(&self, numbers: &[f64]) -> Axis {
        if is_logarithmic(numbers) {
            Axis::log(self.label.as_str())
        } else {
            Axis::linear(self.label.as_str())
        }
    }

    /// "label = value".
    pub(super) fn at(&self, value: &Value) -> String {
        format!("{} = {}", self.label, in_short(value))
    }
}

/// Whether numbers are spread logarithmically: positive, their ends a factor of ten or more apart,
/// and the steps between neighbours more alike as ratios than as differences.
pub(super) fn is_logarithmic(numbers: &[f64]) -> bool {
    let mut sorted: Vec<f64> = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else { return false };
    if first.is_nan() || first <= 0.0 || last < DECADE * first {
        return false;
    }
    let unevenness = |place: fn(f64) -> f64| {
        let steps: Vec<f64> =
            sorted.windows(2).map(|pair| place(pair[1]) - place(pair[0])).collect();
        let mean = steps.iter().sum::<f64>() / steps.len() as f64;
        let squares: f64 = steps.iter().map(|step| (step - mean) * (step - mean)).sum();
        (squares / steps.len() as f64).sqrt() / mean
    };
    match sorted.len() {
        2 => last >= DECADE * DECADE * first,
        _ => unevenness(f64::ln) < unevenness(|value| value),
    }
}
