//! What a table holds, apart from how it is shown.

use serde::{Deserialize, Serialize};

use super::super::number::{self, MISSING, Medium};
use super::latex;
use crate::measure::nan::any_number;

/// What stands in one place of a table. Numbers stay numbers, so that each medium can set them
/// in its own way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number, shown as [`crate::report::figure`].
    Number(#[serde(with = "any_number")] f64),
    /// A mean and its interval, shown as [`crate::report::with_interval`].
    Interval {
        /// The mean over the repeats.
        #[serde(with = "any_number")]
        mean: f64,
        /// The lower end.
        #[serde(with = "any_number")]
        low: f64,
        /// The upper end.
        #[serde(with = "any_number")]
        high: f64,
    },
    /// How much more than something else, and its interval, shown as [`crate::report::with_sign`].
    Difference {
        /// The mean over the repeats.
        #[serde(with = "any_number")]
        mean: f64,
        /// The lower end.
        #[serde(with = "any_number")]
        low: f64,
        /// The upper end.
        #[serde(with = "any_number")]
        high: f64,
        /// Whether chance is an unlikely reason for it.
        significant: bool,
    },
    /// An amount of data, shown as [`crate::report::bytes`].
    Bytes(u64),
    /// A duration in seconds, shown as [`crate::report::seconds`].
    Seconds(#[serde(with = "any_number")] f64),
    /// Nothing was measured.
    Missing,
}

impl Cell {
    pub(crate) fn show(&self, medium: Medium) -> String {
        match *self {
            Self::Text(ref text) if medium == Medium::Latex => latex::escape(text),
            Self::Text(ref text) => super::printable(text),
            Self::Number(value) => number::figure_in(value, medium),
            Self::Interval { mean, low, high } => number::interval_in(mean, low, high, medium),
            Self::Difference { mean, low, high, significant } => {
                number::difference_in(mean, low, high, significant, medium)
            }
            Self::Seconds(duration) if medium == Medium::Latex => {
                latex::escape(&number::seconds(duration).replace('-', "\u{2212}"))
            }
            Self::Missing if medium == Medium::Latex => latex::escape(MISSING),
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
