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
    /// The paths of all of them, by which points are found.
    paths: Vec<String>,
    /// The labels of all of them.
    pub(super) label: String,
    /// The values that they take together, in the order of `paths`: each choice once.
    pub(super) values: Vec<Vec<Value>>,
}

impl Dimension {
    /// What varies in a sweep. Axes that move together and are the same everywhere do not.
    pub(super) fn of(axes: &[SweepAxis]) -> Vec<Self> {
        let mut groups: Vec<Vec<&SweepAxis>> = Vec::new();
        for axis in axes {
            match groups.last_mut() {
                Some(group) if axis.zipped => group.push(axis),
                _ => groups.push(vec![axis]),
            }
        }
        let mut dimensions: Vec<Self> = groups.iter().map(|group| Self::together(group)).collect();
        dimensions.retain(|dimension| dimension.values.len() > 1);
        dimensions
    }

    /// Axes that move together.
    fn together(axes: &[&SweepAxis]) -> Self {
        let mut values: Vec<Vec<Value>> = Vec::new();
        for at in 0..axes.first().map_or(0, |leading| leading.values.len()) {
            let value = |axis: &&SweepAxis| axis.values.get(at).cloned().unwrap_or_default();
            let value: Vec<Value> = axes.iter().map(value).collect();
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let labels: Vec<&str> = axes.iter().map(|axis| axis.label.as_str()).collect();
        let paths = axes.iter().map(|axis| axis.path.clone()).collect();
        Self { paths, label: labels.join(", "), values }
    }

    /// The values of a point here, one of each axis.
    pub(super) fn value(&self, point: &SweepPoint) -> Option<Vec<Value>> {
        let of = |path: &String| {
            let found = point.values.iter().find(|(other, _)| other == path);
            found.map(|(_, value)| value.clone())
        };
        self.paths.iter().map(of).collect()
    }

    /// Whether a point lies at these values.
    pub(super) fn is_at(&self, point: &SweepPoint, value: &[Value]) -> bool {
        self.value(point).is_some_and(|own| own == value)
    }

    /// The leading axis' values as numbers, where all are, and where they tell the choices apart.
    pub(super) fn numbers(&self) -> Option<Vec<f64>> {
        let leading = |value: &Vec<Value>| value.first().and_then(Value::as_f64);
        let numbers: Vec<f64> = self.values.iter().map(leading).collect::<Option<_>>()?;
        let mut sorted = numbers.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.windows(2).all(|pair| pair[0] != pair[1]).then_some(numbers)
    }

    /// A point's place among `numbers`.
    pub(super) fn number(&self, point: &SweepPoint) -> Option<f64> {
        self.value(point)?.first()?.as_f64()
    }

    /// The values' names.
    pub(super) fn names(&self) -> Vec<String> {
        self.values.iter().map(|value| name(value)).collect()
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
    pub(super) fn at(&self, value: &[Value]) -> String {
        format!("{} = {}", self.label, name(value))
    }
}

/// Values of axes that move together, in short.
fn name(value: &[Value]) -> String {
    value.iter().map(in_short).collect::<Vec<_>>().join(", ")
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
