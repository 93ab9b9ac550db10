//! A finished run, read back from its files alone: nothing is run again.

#[cfg(test)]
pub(in crate::report) mod made;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use csv::{ReaderBuilder, StringRecord};
use serde_json::Value;
use thiserror::Error;

use crate::experiment::{SCENARIO, StopReason};
use crate::measure::{MeasuredRow, Metric};
use crate::privacy::{Observer, Piece};
use crate::scenario::{Checked, Problems, Scenario};
use crate::topology::Topology;
use crate::units::Round;

const METRICS: &str = "metrics.csv";
const SUMMARY: &str = "summary.json";

/// Why a run's files cannot be read.
#[derive(Debug, Error)]
pub enum RecordError {
    /// A file that is not there, or not to be read.
    #[error("{}: {error}: expected the directory of a finished run", .path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the file system said.
        error: String,
    },
    /// The scenario.
    #[error("{0}")]
    Scenario(#[from] Problems),
    /// A line of metrics.csv.
    #[error("{}:{line}: {message}", .path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: u64,
        /// What was expected and what was found.
        message: String,
    },
    /// A field of summary.json.
    #[error("{}: {field}: {message}", .path.display())]
    Field {
        /// Which file.
        path: PathBuf,
        /// Which field, by its path.
        field: String,
        /// What was expected.
        message: String,
    },
}

/// Why a run of a study has no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It failed, for this reason.
    Failed(String),
    /// Its turn has not come, or it was interrupted.
    NotRun,
}

impl Missing {
    /// Its name in files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Failed(_) => "failed",
            Self::NotRun => "not-run",
        }
    }

    /// Why it failed, if it did.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Failed(reason) => Some(reason),
            Self::NotRun => None,
        }
    }

    /// For people, in a word or two.
    pub(super) fn label(&self) -> &'static str {
        match self {
            Self::Failed(_) => "failed",
            Self::NotRun => "not run yet",
        }
    }

    /// For the cell of a table, with the beginning of the reason: all of it is in the warnings.
    pub(super) fn told(&self) -> String {
        const SHOWN: usize = 40;
        let Some(reason) = self.reason() else { return self.label().to_owned() };
        let line = reason.lines().next().unwrap_or(reason);
        match line.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}: {}…", self.label(), line[..end].trim_end()),
            None => format!("{}: {line}", self.label()),
        }
    }
}

/// What the ledger booked against one observer, at the most of all repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Booked {
    /// Against whom.
    pub observer: Observer,
    /// For which piece of data.
    pub piece: Piece,
    /// The loss; infinite where nothing is protected.
    pub epsilon: f64,
    /// Whether it holds with certainty, not only up to δ.
    pub pure: bool,
}

/// A run as its files tell it.
#[derive(Clone, Debug)]
pub struct Record {
    /// The scenario with every `auto` resolved.
    pub scenario: Scenario,
    /// The graph of the first repeat.
    pub topology: Arc<Topology>,
    /// What was measured, in the order of the rows' values.
    pub metrics: Vec<Metric>,
    /// The measured rows of each repeat, bit for bit as the run had them.
    pub repeats: Vec<Vec<MeasuredRow>>,
    /// Why each repeat ended.
    pub stop_reasons: Vec<StopReason>,
    /// The penalty, the step or the local steps, by name.
    pub parameter: Option<(String, f64)>,
    /// The ledger.
    pub ledger: Vec<Booked>,
    /// What the run itself said to know before trusting its figures.
    pub warnings: Vec<String>,
    /// All of summary.json.
    pub summary: Value,
}

impl Record {
    /// Reads the directory of a run.
    ///
    /// # Errors
    /// A file that is missing or is not what a run writes, with the line.
    pub fn read(directory: &Path) -> Result<Self, RecordError> {
        let text = |name: &str| {
            let path = directory.join(name);
            match fs::read_to_string(&path) {
                Ok(text) => Ok((path, text)),
                Err(error) => Err(RecordError::Io { path, error: error.to_string() }),
            }
        };
        // First, so that a directory of something else is called just that.
        let (path, csv) = text(METRICS)?;
        let (metrics, repeats) = rows(&csv).map_err(|(line, message)| RecordError::Line {
            path: path.clone(),
            line,
            message,
        })?;
        let (path, json) = text(SUMMARY)?;
        let wrong = |(field, message)| RecordError::Field { path: path.clone(), field, message };
        let summary: Value = serde_json::from_str(&json).map_err(|error| {
            wrong((String::from("the file"), format!("expected JSON: {error}")))
        })?;
        let checked = Checked::load(&directory.join(SCENARIO), &[])?;
        let mut record = Self {
            scenario: checked.scenario().clone(),
            topology: checked.topology().clone(),
            metrics,
            repeats,
            stop_reasons: stop_reasons(&summary).map_err(wrong)?,
            parameter: parameter(&summary),
            ledger: ledger(&summary).map_err(wrong)?,
            warnings: list(&summary, &["warnings"])
                .map_err(wrong)?
                .iter()
                .map(|warning| warning.as_str().unwrap_or_default().to_owned())
                .collect(),
            summary: Value::Null,
        };
        record.summary = summary;
        let (told, found) = (record.stop_reasons.len(), record.repeats.len());
        // A repeat that was interrupted before its first row has none.
        let unmeasured = told == found + 1 && record.stop_reasons[found] == StopReason::Interrupted;
        if told != found && !unmeasured {
            let message = format!("expected one of each of the {found} repeats, found {told}");
            return Err(wrong(("stop_reasons".to_owned(), message)));
        }
        record.repeats.resize(told, Vec::new());
        Ok(record)
    }

    /// The repeats that ran to their end, by their number.
    pub fn complete(&self) -> impl Iterator<Item = (usize, &[MeasuredRow])> {
        let repeats = self.repeats.iter().zip(&self.stop_reasons).enumerate();
        repeats.filter_map(|(number, (rows, reason))| {
            (*reason != StopReason::Interrupted).then_some((number, rows.as_slice()))
        })
    }

    /// Whether a repeat left the finite numbers.
    pub fn diverged(&self, repeat: usize) -> bool {
        self.stop_reasons.get(repeat) == Some(&StopReason::Diverged)
    }

    /// Whether any repeat did.
    pub fn any_diverged(&self) -> bool {
        self.stop_reasons.contains(&StopReason::Diverged)
    }

    /// The place of a metric among a row's values.
    pub fn column(&self, metric: Metric) -> Option<usize> {
        self.metrics.iter().position(|&m| m == metric)
    }

    /// A metric of a row; NaN where it is not measured.
    pub fn value(&self, row: &MeasuredRow, metric: Metric) -> f64 {
        let value = self.column(metric).and_then(|column| row.values.get(column));
        value.copied().unwrap_or(f64::NAN)
    }

    /// The ε that the ledger booked.
    pub fn booked(&self, observer: Observer, piece: Piece) -> Option<Booked> {
        self.ledger.iter().find(|b| b.observer == observer && b.piece == piece).copied()
    }
}

type Rows = (Vec<Metric>, Vec<Vec<MeasuredRow>>);

/// The rows of metrics.csv; a complaint comes with its line.
fn rows(text: &str) -> Result<Rows, (u64, String)> {
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut lines = reader.records();
    let unreadable = |error: csv::Error| {
        (error.position().map_or(1, csv::Position::line), format!("expected CSV: {error}"))
    };
    let head = match lines.next() {
        Some(head) => head.map_err(unreadable)?,
        None => return Err((1, "expected the head `repeat,round,…`, found nothing".to_owned())),
    };
    let metrics = metrics(&head).map_err(|message| (1, message))?;
    let mut repeats: Vec<Vec<MeasuredRow>> = Vec::new();
    for line in lines {
        let line = line.map_err(unreadable)?;
        let at = line.position().map_or(1, csv::Position::line);
        let (repeat, row) = row(&line, metrics.len()).map_err(|message| (at, message))?;
        if repeat == repeats.len() {
            repeats.push(Vec::new());
        } else if repeat + 1 != repeats.len() {
            let expected = match repeats.len() {
                0 => "repeat 0".to_owned(),
                count => format!("repeat {} or {count}", count - 1),
            };
            return Err((at, format!("expected {expected}, found repeat {repeat}")));
        }
        let rows = repeats.last_mut().expect("the repeat's list was made above");
        if let Some(before) = rows.last().filter(|before| before.round >= row.round) {
            let message =
                format!("expected a round after {}, found round {}", before.round, row.round);
            return Err((at, message));
        }
        rows.push(row);
    }
    Ok((metrics, repeats))
}

fn metrics(head: &StringRecord) -> Result<Vec<Metric>, String> {
    let found: Vec<&str> = head.iter().collect();
    let Some(names) = found.strip_prefix(&["repeat", "round"]) else {
        let found = found.iter().take(2).copied().collect::<Vec<_>>().join(",");
        return Err(format!("expected the head `repeat,round,…`, found `{found}`"));
    };
    let known = |name: &&str| {
        Metric::from_name(name).ok_or_else(|| {
            let guess = Metric::nearest_name(name);
            let guess = guess.map_or(String::new(), |guess| format!("; is it `{guess}`?"));
            format!("expected the name of a metric, found `{name}`{guess}")
        })
    };
    names.iter().map(known).collect()
}

fn row(line: &StringRecord, metrics: usize) -> Result<(usize, MeasuredRow), String> {
    if line.len() != metrics + 2 {
        return Err(format!(
            "expected {} fields as in the head, found {}",
            metrics + 2,
            line.len()
        ));
    }
    let count = |at: usize, what: &str| {
        let text = &line[at];
        text.parse::<u32>().map_err(|_| format!("expected the number of a {what}, found `{text}`"))
    };
    let value = |text: &str| match text {
        "" => Ok(f64::NAN),
        text => text.parse().map_err(|_| format!("expected a number or nothing, found `{text}`")),
    };
    let values = line.iter().skip(2).map(value).collect::<Result<Vec<f64>, String>>()?;
    let round = Round(count(1, "round")?);
    Ok((count(0, "repeat")? as usize, MeasuredRow { round, values }))
}

/// A field and what was expected of it.
type Complaint = (String, String);

fn list<'a>(summary: &'a Value, path: &[&str]) -> Result<&'a [Value], Complaint> {
    let found = path.iter().try_fold(summary, |value, key| value.get(key));
    let found = found.and_then(Value::as_array);
    found.map(Vec::as_slice).ok_or_else(|| (path.join("."), "expected a list".to_owned()))
}

fn stop_reasons(summary: &Value) -> Result<Vec<StopReason>, Complaint> {
    let reason = |(at, value): (usize, &Value)| {
        serde_json::from_value(value.clone())
            .map_err(|error| (format!("stop_reasons.{at}"), format!("{error}, found {value}")))
    };
    list(summary, &["stop_reasons"])?.iter().enumerate().map(reason).collect()
}

/// The one parameter that a summary names, if it names one.
fn parameter(summary: &Value) -> Option<(String, f64)> {
    let (name, value) = summary.get("parameters")?.as_object()?.iter().next()?;
    Some((name.clone(), value.as_f64()?))
}

fn ledger(summary: &Value) -> Result<Vec<Booked>, Complaint> {
    const PATH: [&str; 2] = ["privacy", "ledger"];
    let claim = |(at, claim): (usize, &Value)| {
        let field = |key: &str| format!("{}.{at}.{key}", PATH.join("."));
        let word = |key: &str| claim.get(key).cloned().unwrap_or_default();
        let named = |word: &Value, name: Value| *word == name;
        let observer = Observer::ALL
            .into_iter()
            .find(|observer| named(&word("observer"), serde_json::json!(observer)))
            .ok_or_else(|| (field("observer"), format!("no observer: {}", word("observer"))))?;
        let piece = [Piece::Label, Piece::Features]
            .into_iter()
            .find(|piece| named(&word("piece"), serde_json::json!(piece)))
            .ok_or_else(|| (field("piece"), format!("no piece of data: {}", word("piece"))))?;
        let epsilon = match claim.get("epsilon") {
            Some(Value::Null) => f64::INFINITY,
            epsilon => epsilon
                .and_then(Value::as_f64)
                .ok_or_else(|| (field("epsilon"), "expected a number or null".to_owned()))?,
        };
        let pure = claim.get("pure").and_then(Value::as_bool);
        let pure = pure.ok_or_else(|| (field("pure"), "expected `true` or `false`".to_owned()))?;
        Ok(Booked { observer, piece, epsilon, pure })
    };
    list(summary, &PATH)?.iter().enumerate().map(claim).collect()
}
