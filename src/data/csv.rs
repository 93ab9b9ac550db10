//! Rows from a file of comma-separated values.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ::csv::{ByteRecord, Reader, ReaderBuilder, Terminator};
use ndarray::Array2;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{CsvProblem, DataError};
use super::{Table, Task};

/// A file of comma-separated values with a header, in UTF-8. Spaces around a field do not matter,
/// nor do blank lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CsvFile {
    /// The file, relative to the scenario's.
    pub path: PathBuf,
    /// Name of the label's column.
    pub label: String,
    /// Names of the feature columns, in the order of the model's coordinates; by default every
    /// column but the label's. Each must be numeric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// The label that becomes +1, as it is written in the file; every other becomes −1. Without it
    /// labels must be −1 and 1, or 0 and 1. For classification only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<String>,
    /// What the labels mean: `classification` (the default) or `regression`, where a label is any
    /// finite number.
    #[serde(default)]
    pub task: Task,
}

/// How many problems are listed before giving up.
const MOST_PROBLEMS: usize = 10;

impl CsvFile {
    /// Every problem as (field, message), without looking at the file.
    pub(super) fn check(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if self.task == Task::Regression && self.positive.is_some() {
            let message = "labels of a regression are numbers: expected no positive label";
            problems.push(("positive", message.to_string()));
        }
        let features = self.features.as_deref().unwrap_or_default();
        if self.features.is_some() && features.is_empty() {
            problems.push(("features", "found an empty list, expected a column".to_string()));
        }
        for (i, name) in features.iter().enumerate() {
            if *name == self.label {
                let message = format!("found the label's column {name:?}, expected only features");
                problems.push(("features", message));
            } else if features[..i].contains(name) {
                problems.push(("features", format!("found {name:?} twice, expected it once")));
            }
        }
        problems
    }

    /// Reads the file.
    pub(super) fn read(&self, base: &Path) -> Result<Table, DataError> {
        let path = base.join(&self.path);
        let file = File::open(&path).map_err(|error| unreadable(&path, &error))?;
        self.parse(&path, file)
    }

    /// Counts the rows and feature columns of the file, without looking at the values.
    pub(super) fn shape(&self, base: &Path) -> Result<(usize, usize), DataError> {
        let path = base.join(&self.path);
        let file = File::open(&path).map_err(|error| unreadable(&path, &error))?;
        let mut lines = Lines::new(file);
        let layout = self.layout(&path, &mut lines)?;
        let mut rows = 0;
        while lines.advance().map_err(|error| unreadable(&path, &error))? {
            rows += 1;
        }
        if rows == 0 {
            return Err(no_rows(&path));
        }
        Ok((rows, layout.features.len()))
    }

    fn parse(&self, path: &Path, input: impl Read) -> Result<Table, DataError> {
        let mut lines = Lines::new(input);
        let layout = self.layout(path, &mut lines)?;
        let mut labels = Labels::new(self);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        let mut problems = Vec::new();
        let mut rows = 0_usize;
        while problems.len() < MOST_PROBLEMS
            && lines.advance().map_err(|error| unreadable(path, &error))?
        {
            rows += 1;
            if lines.record.len() != layout.fields {
                let found = lines.record.len();
                let message =
                    format!("number of fields: found {found}, expected {}", layout.fields);
                problems.push(CsvProblem { line: lines.line, column: None, message });
                continue;
            }
            for &(column, ref name) in &layout.features {
                match lines.field(column).and_then(number) {
                    Ok(value) => x.push(value),
                    Err(found) => problems.push(lines.unexpected(name, &found, "a finite number")),
                }
            }
            let label = lines.field(layout.label).map_err(|found| (found, "text".to_string()));
            match label.and_then(|text| labels.value(text)) {
                Ok(value) => y.push(value),
                Err((found, expected)) => {
                    problems.push(lines.unexpected(&self.label, &found, &expected));
                }
            }
        }
        if rows == 0 {
            return Err(no_rows(path));
        }
        if problems.is_empty() {
            problems.extend(labels.missing(&self.label));
        }
        if !problems.is_empty() {
            problems.truncate(MOST_PROBLEMS);
            let gave_up = problems.len() == MOST_PROBLEMS;
            return Err(DataError::Csv { path: path.to_path_buf(), problems, gave_up });
        }
        let features: Vec<String> = layout.features.into_iter().map(|(_, name)| name).collect();
        let x = Array2::from_shape_vec((rows, features.len()), x)
            .expect("a row without problems has one number per feature");
        Ok(Table { x, y, features })
    }

    /// Finds the columns in the header.
    fn layout<R: Read>(&self, path: &Path, lines: &mut Lines<R>) -> Result<Layout, DataError> {
        let refuse = |line, messages: Vec<String>| {
            let problem = |message| CsvProblem { line, column: None, message };
            let problems = messages.into_iter().take(MOST_PROBLEMS).map(problem).collect();
            DataError::Csv { path: path.to_path_buf(), problems, gave_up: false }
        };
        if !lines.advance().map_err(|error| unreadable(path, &error))? {
            return Err(refuse(1, vec!["the file is empty, expected a header".to_string()]));
        }
        let header: Result<Vec<&str>, _> =
            (0..lines.record.len()).map(|column| lines.field(column)).collect();
        let header = header.map_err(|found| {
            refuse(lines.line, vec![format!("found {found}, expected a header in UTF-8")])
        })?;

        let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (column, name) in header.iter().enumerate() {
            places.entry(name).or_default().push(column);
        }
        let mut messages = Vec::new();
        let mut find = |name: &str| match places.get(name).map(Vec::as_slice) {
            Some(&[column]) => Some((column, name.to_string())),
            Some(columns) => {
                let times = columns.len();
                messages.push(format!("column {name:?} is there {times} times, expected it once"));
                None
            }
            None => {
                messages.push(no_column(name, &header));
                None
            }
        };
        let label = find(&self.label);
        let features: Vec<_> = match &self.features {
            Some(names) => names.iter().filter_map(|name| find(name)).collect(),
            None => (0..header.len())
                .filter(|&column| header[column] != self.label)
                .filter(|&column| places[header[column]][0] == column)
                .filter_map(|column| find(header[column]))
                .collect(),
        };
        if let Some((column, _)) = features.iter().find(|(_, name)| name.is_empty()) {
            let column = column + 1;
            messages
                .push(format!("column {column} has no name, expected one or a list of features"));
        }
        if features.is_empty() && messages.is_empty() {
            messages.push(format!("no column but {:?}, expected features", self.label));
        }
        match label {
            Some((label, _)) if messages.is_empty() => {
                Ok(Layout { label, features, fields: header.len() })
            }
            _ => Err(refuse(lines.line, messages)),
        }
    }
}

/// Which columns are used.
struct Layout {
    label: usize,
    features: Vec<(usize, String)>,
    fields: usize,
}

/// The records of a file with the lines on which they begin.
struct Lines<R> {
    reader: Reader<io::Chain<R, &'static [u8]>>,
    record: ByteRecord,
    line: u64,
}

impl<R: Read> Lines<R> {
    fn new(input: R) -> Self {
        // With a line feed as the only terminator (a carriage return is trimmed like a space), and
        // one at the very end, the reader's line count after a record tells where it began, however
        // many blank lines it skipped before.
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(input.chain(&b"\n"[..]));
        Self { reader, record: ByteRecord::new(), line: 1 }
    }

    /// Reads the next record that is not blank; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        loop {
            let before = self.reader.position().line();
            if !self.reader.read_byte_record(&mut self.record).map_err(io::Error::from)? {
                return Ok(false);
            }
            let inside = self.record.as_slice().iter().filter(|&&byte| byte == b'\n').count();
            // A quote that is never closed swallows the last line feed: hence the maximum.
            let after = self.reader.position().line();
            self.line = after.saturating_sub(1 + inside as u64).max(before);
            if self.record.len() > 1
                || self.record.iter().any(|field| !field.trim_ascii().is_empty())
            {
                return Ok(true);
            }
        }
    }

    /// The text of a field, or what is there instead.
    fn field(&self, column: usize) -> Result<&str, String> {
        let text = str::from_utf8(self.record[column].trim_ascii());
        text.map_err(|_| "bytes that are not UTF-8".to_string())
    }

    fn unexpected(&self, column: &str, found: &str, expected: &str) -> CsvProblem {
        let message = format!("found {found}, expected {expected}");
        CsvProblem { line: self.line, column: Some(column.to_string()), message }
    }
}

/// How labels are read.
enum Labels<'a> {
    /// One value against all others, and whether it came up.
    Positive { value: &'a str, seen: bool },
    /// 1 against −1 or 0: whichever came first.
    Binary { negative: Option<f64> },
    /// Any number.
    Number,
}

impl<'a> Labels<'a> {
    fn new(file: &'a CsvFile) -> Self {
        match (&file.positive, file.task) {
            (_, Task::Regression) => Self::Number,
            (Some(value), Task::Classification) => {
                Self::Positive { value: value.trim_ascii(), seen: false }
            }
            (None, Task::Classification) => Self::Binary { negative: None },
        }
    }

    /// The label that `text` says, or what was found and what was expected.
    fn value(&mut self, text: &str) -> Result<f64, (String, String)> {
        match self {
            Self::Positive { value, seen } => {
                let positive = text == *value;
                *seen |= positive;
                Ok(if positive { 1.0 } else { -1.0 })
            }
            Self::Binary { negative } => match text.parse() {
                Ok(1.0) => Ok(1.0),
                Ok(value @ (-1.0 | 0.0)) if negative.is_none_or(|negative| negative == value) => {
                    *negative = Some(value);
                    Ok(-1.0)
                }
                _ => {
                    let expected = match negative {
                        None => "-1 or 1, or 0 or 1".to_string(),
                        Some(negative) => format!("{negative} or 1 as before"),
                    };
                    Err((quoted(text), expected))
                }
            },
            Self::Number => number(text).map_err(|found| (found, "a finite number".to_string())),
        }
    }

    /// The positive label that no row has: most likely a slip of the pen.
    fn missing(&self, column: &str) -> Option<CsvProblem> {
        let Self::Positive { value, seen: false } = self else { return None };
        let message = format!("found no row labelled {value:?}, expected the positive label");
        Some(CsvProblem { line: 1, column: Some(column.to_string()), message })
    }
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| quoted(text))
}

/// Text of a file in an error message: escaped, and short.
fn quoted(text: &str) -> String {
    const SHOWN: usize = 40;
    match text.char_indices().nth(SHOWN) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}

fn no_column(name: &str, header: &[&str]) -> String {
    let likeness = |other: &str| strsim::jaro_winkler(&name.to_lowercase(), &other.to_lowercase());
    let nearest = header
        .iter()
        .map(|other| (likeness(other), *other))
        .filter(|(likeness, _)| *likeness > 0.7)
        .reduce(|best, next| if next.0 > best.0 { next } else { best });
    match nearest {
        Some((_, nearest)) => format!("no column {name:?}: did you mean {}?", quoted(nearest)),
        None => {
            let mut names: Vec<_> = header.iter().take(8).map(|name| quoted(name)).collect();
            if names.len() < header.len() {
                names.push("…".to_string());
            }
            format!("no column {name:?}: expected one of {}", names.join(", "))
        }
    }
}

fn no_rows(path: &Path) -> DataError {
    let message = "no rows after the header, expected at least one".to_string();
    let problems = vec![CsvProblem { line: 1, column: None, message }];
    DataError::Csv { path: path.to_path_buf(), problems, gave_up: false }
}

fn unreadable(path: &Path, error: &io::Error) -> DataError {
    DataError::Unreadable { path: path.to_path_buf(), reason: error.to_string() }
}

#[cfg(test)]
mod tests;
