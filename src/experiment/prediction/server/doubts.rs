//! How far a figure of theory is to be trusted.

use crate::experiment::prediction::{Reading, Stated};

/// What is not as the formulas have it.
#[derive(Clone, Debug, Default)]
pub(super) struct Doubts {
    /// Where they are taken for an approximation.
    pub(super) rough: Vec<&'static str>,
    /// Where they may be far off.
    pub(super) broken: Vec<String>,
}

impl Doubts {
    pub(super) fn reading(&self) -> Reading {
        if self.rough.is_empty() && self.broken.is_empty() {
            Reading::Equal
        } else {
            Reading::About
        }
    }

    pub(super) fn stated(&self, value: f64) -> Stated {
        let mut rests_on = match self.rough.is_empty() {
            true => "exact: a quadratic objective".to_string(),
            false => format!("approximate: {}", self.rough.join(", ")),
        };
        if !self.broken.is_empty() {
            rests_on = format!("{rests_on}; but {}", self.broken.join(", and "));
        }
        Stated { value: Some(value), measured: None, rests_on, holds: self.broken.is_empty() }
    }
}

/// A number within a sentence.
pub(super) fn brief(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        0.01..1e4 => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}
