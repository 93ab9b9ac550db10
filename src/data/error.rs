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
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        problems: Vec<FileProblem>,
        /// Whether reading stopped there, so that there may be more.
        gave_up: bool,
    },
    /// A set by name whose files are not there.
    #[error(
        "data.source: {set} is not in the cache, expected {}: `hushmesh data fetch {set}` gets it",
        .path.display()
    )]
    Absent {
        /// Its name.
        set: &'static str,
        /// The first file that is wanting.
        path: PathBuf,
    },
    /// A set by name whose files are not what was fetched.
    #[error(
        "data.source: {} has other bytes than {set} has here: `hushmesh data fetch {set}` makes it anew",
        .path.display()
    )]
    Damaged {
        /// Its name.
        set: &'static str,
        /// The first file that is not as it should be.
        path: PathBuf,
    },
    /// No place to look for a set by name.
    #[error(
        "data.source: no folder for fetched data, expected one in the environment variable \
         HUSHMESH_CACHE"
    )]
    NoCache,
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
    /// A preprocessing step that does not fit the rows.
    #[error("{step}: {message}")]
    Step {
        /// The step, as it is written in a scenario.
        step: &'static str,
        /// What was found and what was expected.
        message: String,
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
pub struct FileProblem {
    /// The line on which the row begins, in a text file; the first of the file is 1.
    pub line: Option<u64>,
    /// The column, where only one is wrong.
    pub column: Option<String>,
    /// What was found and what was expected.
    pub message: String,
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map(|line| format!("line {line}"));
        let column = self.column.as_ref().map(|column| format!("column {column:?}"));
        let place: Vec<_> = line.into_iter().chain(column).collect();
        if !place.is_empty() {
            write!(f, "{}: ", place.join(", "))?;
        }
        f.write_str(&self.message)
    }
}

/// Text of a file in an error message: escaped, and short.
pub(super) fn quoted(text: &str) -> String {
    const SHOWN: usize = 40;
    match text.char_indices().nth(SHOWN) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}

/// The first few of a list, quoted.
pub(super) fn some_of(names: &[impl AsRef<str>]) -> String {
    let mut listed: Vec<_> = names.iter().take(8).map(|name| quoted(name.as_ref())).collect();
    if listed.len() < names.len() {
        listed.push("…".to_string());
    }
    listed.join(", ")
}

/// What to say about a column that is not there: the nearest name, or which there are.
pub(super) fn no_column(name: &str, header: &[impl AsRef<str>]) -> String {
    let likeness = |other: &str| strsim::jaro_winkler(&name.to_lowercase(), &other.to_lowercase());
    let nearest = header
        .iter()
        .map(|other| (likeness(other.as_ref()), other.as_ref()))
        .filter(|(likeness, _)| *likeness > 0.7)
        .reduce(|best, next| if next.0 > best.0 { next } else { best });
    match nearest {
        Some((_, nearest)) => format!("no column {name:?}: did you mean {}?", quoted(nearest)),
        None => format!("no column {name:?}: expected one of {}", some_of(header)),
    }
}

fn listed(problems: &[(String, String)]) -> String {
    let lines: Vec<_> =
        problems.iter().map(|(field, message)| format!("data.{field}: {message}")).collect();
    lines.join("\n")
}

fn located_one(path: &std::path::Path, problem: &FileProblem) -> String {
    let has_place = problem.line.is_some() || problem.column.is_some();
    format!("{}{} {problem}", path.display(), if has_place { "," } else { ":" })
}

fn located(path: &std::path::Path, problems: &[FileProblem], gave_up: bool) -> String {
    let mut lines: Vec<_> = problems.iter().map(|problem| located_one(path, problem)).collect();
    if gave_up {
        lines.push(format!("gave up after {} problems", problems.len()));
    }
    lines.join("\n")
}
