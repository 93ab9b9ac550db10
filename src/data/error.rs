//! Why data cannot be used.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

/// Why data cannot be used.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum DataError {
    /// The section asks for something that does not exist: every problem as
    /// [`DataConfig::check`](super::DataConfig::check) lists it.
    #[error("{}", listed(.0))]
    Config(Vec<(String, String)>),
    /// A file that cannot be opened or read.
    #[error("cannot read {}: {reason}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        reason: String,
    },
    /// A file whose contents are not a table, with its first problems in order.
    #[error("{}", located(.path, .problems, *.gave_up))]
    Csv {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        problems: Vec<CsvProblem>,
        /// Whether reading stopped there, so that there may be more.
        gave_up: bool,
    },
    /// Everything was held out.
    #[error("none of {rows} rows is left to train on: expected test_share to leave at least one")]
    NoTrainingRows {
        /// Rows of the source.
        rows: usize,
    },
    /// A matrix that cannot be held.
    #[error("{rows} rows of {columns} columns do not fit in memory")]
    TooLarge {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        columns: usize,
    },
    /// Numbers so extreme that a preprocessing step leaves the range of finite ones.
    #[error("{step}: feature {feature:?} leaves the range of finite numbers: rescale it first")]
    Overflow {
        /// The step, as it is written in a scenario.
        step: &'static str,
        /// The column.
        feature: String,
    },
}

/// One thing that is wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvProblem {
    /// The line on which the row begins; the first of the file is 1.
    pub line: u64,
    /// The column, where only one is wrong.
    pub column: Option<String>,
    /// What was found and what was expected.
    pub message: String,
}

impl fmt::Display for CsvProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(column) = &self.column {
            write!(f, ", column {column:?}")?;
        }
        write!(f, ": {}", self.message)
    }
}

fn listed(problems: &[(String, String)]) -> String {
    let lines: Vec<_> =
        problems.iter().map(|(field, message)| format!("data.{field}: {message}")).collect();
    lines.join("\n")
}

fn located(path: &std::path::Path, problems: &[CsvProblem], gave_up: bool) -> String {
    let mut lines: Vec<_> =
        problems.iter().map(|problem| format!("{}, {problem}", path.display())).collect();
    if gave_up {
        lines.push(format!("gave up after {} problems", problems.len()));
    }
    lines.join("\n")
}
