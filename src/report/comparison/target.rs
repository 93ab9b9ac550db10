//! What a run is to reach, and when it does.

use std::fmt;

use thiserror::Error;

use crate::data::Source;
use crate::measure::{MeasuredRow, Metric, Shape, SumShape, TokenShape};
use crate::report::{Record, figure};
use crate::scenario::Scenario;

/// Why a text is no target.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// It has no `=`.
    #[error("expected `metric=value`, such as `optimum_distance=1e-6`, found `{0}`")]
    Form(String),
    /// There is no such metric.
    #[error("expected the name of a metric, found `{name}`{hint}")]
    Metric {
        /// What stood there.
        name: String,
        /// What was perhaps meant.
        hint: String,
    },
    /// The metric only grows as a run goes on.
    #[error(
        "expected an accuracy, a risk, a distance or a gap, found `{0}`, which a run spends and does \
         not reach"
    )]
    Spent(&'static str),
    /// The value is no number.
    #[error("expected a finite number, found `{0}`")]
    Value(String),
}

/// A value of a metric that a run is to reach: an accuracy at least, any other figure at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Of which metric.
    pub metric: Metric,
    /// Which value.
    pub value: f64,
}

impl Target {
    /// The target of an argument, as `optimum_distance=1e-6`.
    ///
    /// # Errors
    /// What is not of this form, with the name that was perhaps meant.
    ///
    /// ```
    /// use hushmesh::report::Target;
    /// let target = Target::parse("optimum_distance=1e-6")?;
    /// assert_eq!(target.to_string(), "optimum_distance ≤ 1e-6");
    /// let error = Target::parse("optimum_distence=1e-6").unwrap_err().to_string();
    /// assert!(error.contains("is it `optimum_distance`?"));
    /// # Ok::<(), hushmesh::report::comparison::TargetError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let (name, value) = text.split_once('=').ok_or_else(|| TargetError::Form(text.into()))?;
        let (name, value) = (name.trim(), value.trim());
        let metric = Metric::from_name(name).ok_or_else(|| {
            let hint = Metric::nearest_name(name);
            let hint = hint.map_or(String::new(), |near| format!("; is it `{near}`?"));
            TargetError::Metric { name: name.into(), hint }
        })?;
        if is_spent(metric) {
            return Err(TargetError::Spent(metric.name()));
        }
        let number = value.parse().ok().filter(|value: &f64| value.is_finite());
        let value = number.ok_or_else(|| TargetError::Value(value.into()))?;
        Ok(Self { metric, value })
    }

    /// Whether a run of this scenario can measure it, as far as the scenario alone decides that: what
    /// depends on the data counts as measured.
    pub fn measured_by(&self, scenario: &Scenario) -> bool {
        // Of all sources these alone may have held-out rows of their own.
        let own = matches!(scenario.data.source, Source::Idx(_) | Source::Mnist);
        let has_test = own || scenario.data.test_share > 0.0;
        let shape = Shape {
            classifies: scenario.model.loss.is_classification(),
            has_test,
            perturbed: true,
            protected: true,
            tokens: scenario
                .protocol
                .walk()
                .map(|walk| TokenShape { decides: walk.decision.is_some(), has_optimum: true }),
            sums: scenario.protocol.sum().map(|_| SumShape { has_optimum: true, pools: true }),
        };
        Metric::of_run(&scenario.measure, shape).contains(&self.metric)
    }

    /// Whether a value of the metric is good enough. What is no number never is.
    pub fn is_met(&self, value: f64) -> bool {
        if self.metric.is_accuracy() { value >= self.value } else { value <= self.value }
    }

    /// The first of a repeat's rows that meets it.
    pub fn first<'a>(&self, record: &Record, rows: &'a [MeasuredRow]) -> Option<&'a MeasuredRow> {
        let column = record.column(self.metric)?;
        rows.iter().find(|row| row.values.get(column).is_some_and(|value| self.is_met(*value)))
    }
}

/// Whether a metric only grows, so that a run has most of it at its end and the least at its start.
fn is_spent(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::Messages
            | Metric::Bytes
            | Metric::SimSeconds
            | Metric::Hops
            | Metric::Forwards
            | Metric::Epsilon
            | Metric::EpsilonLabels
            | Metric::EpsilonFinal
    )
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.metric.is_accuracy() { '≥' } else { '≤' };
        write!(f, "{} {sign} {}", self.metric.name(), figure(self.value))
    }
}
