//! What a table holds, apart from how it is shown.

use serde::{Deserialize, Serialize};

use super::super::number::{self, MISSING, Medium};

/// What stands in one place of a table. Numbers stay numbers, so that each medium can set them
/// in its own way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number, shown as [`crate::report::figure`].
    Number(#[serde(with = "crate::measure::nan::any_number")] f64),
    /// A mean and its interval, shown as [`crate::report::with_interval`].
    Interval {
        /// The mean over the repeats.
        #[serde(with = "crate::measure::nan::any_number")]
        mean: f64,
        /// The lower end.
        #[serde(with = "crate::measure::nan::any_number")]
        low: f64,
        /// The upper end.
        #[serde(with = "crate::measure::nan::any_number")]
        high: f64,
    },
    /// An amount of data, shown as [`crate::report::bytes`].
    Bytes(u64),
    /// A duration in seconds, shown as [`crate::report::seconds`].
    Seconds(#[serde(with = "crate::measure::nan::any_number")] f64),
    /// Nothing was measured.
    Missing,
}

impl Cell {
    pub(crate) fn show(&self, medium: Medium) -> String {
        match *self {
            Self::Text(ref text) => super::printable(text),
            Self::Number(value) => number::figure_in(value, medium),
            Self::Interval { mean, low, high } => number::interval_in(mean, low, high, medium),
            Self::Bytes(count) => number::bytes(count),
            Self::Seconds(duration) => number::seconds(duration),
            Self::Missing => MISSING.to_owned(),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::Number(count as f64)
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::Number(count as f64)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Self {
        cell.map_or(Self::Missing, Into::into)
    }
}
