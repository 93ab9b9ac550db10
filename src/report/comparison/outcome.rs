//! One figure of one run over its repeats: a mean, or the reason why there is none.

use serde_json::{Value, json};

use super::target::Target;
use crate::measure::{Estimate, MeasuredRow, Metric};
use crate::report::{Cell, Record, figure};

/// What a run costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Rounds, or updates of each token.
    Rounds,
    /// Messages.
    Messages,
    /// Bytes of these messages.
    Bytes,
    /// Simulated seconds.
    Seconds,
}

impl Cost {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Rounds, Self::Messages, Self::Bytes, Self::Seconds];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rounds => "rounds",
            Self::Messages => "messages",
            Self::Bytes => "bytes",
            Self::Seconds => "sim_seconds",
        }
    }

    /// Its name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Rounds => "rounds",
            Self::Messages => "messages",
            Self::Bytes => "bytes",
            Self::Seconds => "simulated seconds",
        }
    }

    /// The cost up to a row; NaN where it was not measured.
    pub fn at(self, record: &Record, row: &MeasuredRow) -> f64 {
        match self {
            Self::Rounds => f64::from(row.round.0),
            Self::Messages => record.value(row, Metric::Messages),
            Self::Bytes => record.value(row, Metric::Bytes),
            Self::Seconds => record.value(row, Metric::SimSeconds),
        }
    }
}

/// A figure over the complete repeats of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Every repeat has one; by the repeat's number.
    Known(Vec<(usize, f64)>),
    /// Some repeats never reached the target. Nothing is averaged over those that did.
    Short {
        /// How many reached it.
        reached: usize,
        /// Of how many repeats.
        of: usize,
        /// What the others had spent at the least when they ended.
        spent: f64,
    },
    /// Some repeats left the finite numbers.
    Diverged {
        /// How many did.
        diverged: usize,
        /// Of how many repeats.
        of: usize,
    },
    /// It was not measured.
    Missing,
}

impl Outcome {
    /// A figure of the last row of each repeat.
    pub fn at_end(record: &Record, figure: impl Fn(&MeasuredRow) -> f64) -> Self {
        Self::diverged(record).unwrap_or_else(|| {
            let last = |rows: &[MeasuredRow]| rows.last().map_or(f64::NAN, &figure);
            Self::known(record.complete().map(|(repeat, rows)| (repeat, last(rows))).collect())
        })
    }

    /// What it cost to reach the target.
    pub fn to_target(record: &Record, target: Target, cost: Cost) -> Self {
        if record.column(target.metric).is_none() {
            return Self::Missing;
        }
        if let Some(diverged) = Self::diverged(record) {
            return diverged;
        }
        let (mut known, mut spent, mut of) = (Vec::new(), f64::INFINITY, 0);
        for (repeat, rows) in record.complete() {
            of += 1;
            match target.first(record, rows) {
                Some(row) => known.push((repeat, cost.at(record, row))),
                None => {
                    let end = rows.last().map_or(0.0, |row| cost.at(record, row));
                    spent = if end < spent || end.is_nan() { end } else { spent };
                }
            }
        }
        match known.len() {
            reached if reached < of => Self::Short { reached, of, spent },
            _ => Self::known(known),
        }
    }

    fn diverged(record: &Record) -> Option<Self> {
        let of = record.complete().count();
        let diverged = record.complete().filter(|(repeat, _)| record.diverged(*repeat)).count();
        (diverged > 0).then_some(Self::Diverged { diverged, of })
    }

    fn known(values: Vec<(usize, f64)>) -> Self {
        if values.is_empty() || values.iter().any(|(_, value)| value.is_nan()) {
            return Self::Missing;
        }
        Self::Known(values)
    }

    /// The values, where every repeat has one.
    pub fn values(&self) -> Option<&[(usize, f64)]> {
        match self {
            Self::Known(values) => Some(values),
            _ => None,
        }
    }

    /// The mean with its interval; nothing where a repeat has no finite value.
    pub fn estimate(&self) -> Estimate {
        let values = self.values().unwrap_or_default();
        Estimate::of(&values.iter().map(|(_, value)| *value).collect::<Vec<_>>())
    }

    /// Whether repeats differ.
    pub fn varies(&self) -> bool {
        self.values().is_some_and(|values| values.windows(2).any(|pair| pair[0].1 != pair[1].1))
    }

    /// As it stands in a table, in units of so many.
    pub(in crate::report) fn cell(&self, unit: f64) -> Cell {
        match self {
            Self::Known(values) => match self.estimate() {
                Estimate { mean: Some(mean), low: Some(low), high: Some(high) } if high > low => {
                    Cell::Interval { mean: mean / unit, low: low / unit, high: high / unit }
                }
                Estimate { mean: Some(mean), .. } => Cell::Number(mean / unit),
                Estimate { mean: None, .. } => {
                    let infinite = values.iter().filter(|(_, v)| v.is_infinite()).count();
                    Cell::Text(format!("∞ in {infinite} of {}", values.len()))
                }
            },
            Self::Short { reached, of, spent } if spent.is_finite() => {
                Cell::Text(format!("> {} ({reached} of {of})", figure(spent / unit)))
            }
            Self::Short { reached, of, .. } => {
                Cell::Text(format!("not reached ({reached} of {of})"))
            }
            Self::Diverged { diverged, of } => Cell::Text(format!("diverged ({diverged} of {of})")),
            Self::Missing => Cell::Missing,
        }
    }

    /// As it stands in a file.
    pub(in crate::report) fn to_json(&self) -> Value {
        match self {
            Self::Known(values) => {
                let Estimate { mean, low, high } = self.estimate();
                let values: Vec<Value> = values.iter().map(|(_, value)| number(*value)).collect();
                let mean = mean.map(number);
                json!({ "status": "known", "mean": mean, "low": low, "high": high, "values": values })
            }
            Self::Short { reached, of, spent } => json!({
                "status": "not-reached", "reached": reached, "repeats": of, "more_than": number(*spent),
            }),
            Self::Diverged { diverged, of } => {
                json!({ "status": "diverged", "diverged": diverged, "repeats": of })
            }
            Self::Missing => json!({ "status": "not-measured" }),
        }
    }
}

/// A number in JSON, which has words for those beyond the finite.
pub(in crate::report) fn number(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!(value.to_string()) }
}
