//! Rows from a file of separated values.

mod columns;
mod layout;
mod lines;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::columns::{Column, Columns};
use self::lines::Lines;
use super::Task;
use super::error::DataError;
use super::file::{MOST_COLUMNS, Problems, open, unreadable};
use super::labels::{Labels, found_classes, no_positive};
use super::source::Stored;

/// A file of separated values in UTF-8, plain or gzip-compressed. Spaces around a field do not
/// matter, nor do blank lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CsvFile {
    /// The file, relative to the scenario's.
    pub path: PathBuf,
    /// Name of the label's column.
    pub label: String,
    /// Names of the feature columns, in the order of the model's coordinates; by default every
    /// column but the label's. Each must be numeric or listed under `categorical`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// The label that becomes +1, as it is written in the file; every other becomes −1. Without it
    /// labels must be −1 and 1, or 0 and 1. For classification only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<String>,
    /// What the labels mean: `classification` (the default), `regression`, where a label is any
    /// finite number, or `multi-class`, where every different label is a class: 2 to 1,000 of them,
    /// by value where all are numbers, else by text. The list is taken from private rows and
    /// declared as such.
    #[serde(default)]
    pub task: Task,
    /// Feature columns that hold one of a list of values. Each becomes as many features as it has
    /// values, named `column=value`: 1 for the row's value, 0 for the others. Default none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub categorical: BTreeMap<String, Categories>,
    /// What to do with a row in which a used column is missing. Default `error`.
    #[serde(default)]
    pub missing: Missing,
    /// What is written where a value is missing. Default `["?", ""]`.
    #[serde(default = "missing_tokens")]
    pub missing_tokens: Vec<String>,
    /// What stands between two fields: one ASCII character. Default `,`.
    #[serde(default = "comma")]
    pub delimiter: char,
    /// Whether the first line names the columns. Default true.
    #[serde(default = "yes")]
    pub header: bool,
    /// Names of all columns, in the file's order: for a file without a header only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
}

/// The values that a categorical column may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Categories {
    /// Those that the file's rows have, sorted; at most 10,000. The list is taken from private rows
    /// and declared as such.
    Found,
    /// These, in this order; any other is an error. One that no row has is a feature that is always
    /// 0.
    Values(Vec<String>),
}

/// What to do with a row in which a used column is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// Refuse the file. The default.
    #[default]
    Error,
    /// Leave the row out.
    DropRow,
}

fn missing_tokens() -> Vec<String> {
    ["?", ""].map(String::from).to_vec()
}

fn comma() -> char {
    ','
}

fn yes() -> bool {
    true
}

impl CsvFile {
    /// A comma-separated file with a header, the label in the column named `label`, and everything
    /// else as it is by default.
    pub fn new(path: impl Into<PathBuf>, label: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            label: label.into(),
            features: None,
            positive: None,
            task: Task::Classification,
            categorical: BTreeMap::new(),
            missing: Missing::Error,
            missing_tokens: missing_tokens(),
            delimiter: comma(),
            header: true,
            columns: None,
        }
    }

    /// Every problem as (field, message), without looking at the file.
    pub(super) fn check(&self) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        let mut problem = |field: &str, message: String| problems.push((field.into(), message));
        if let Some(message) = self.positive.as_ref().and_then(|_| no_positive(self.task)) {
            problem("positive", message);
        }
        let features = self.features.as_deref().unwrap_or_default();
        if self.features.is_some() && features.is_empty() {
            problem("features", "found an empty list, expected a column".to_string());
        }
        for (i, name) in features.iter().enumerate() {
            if *name == self.label {
                let message = format!("found the label's column {name:?}, expected only features");
                problem("features", message);
            } else if features[..i].contains(name) {
                problem("features", format!("found {name:?} twice, expected it once"));
            }
        }
        for (name, categories) in &self.categorical {
            let field = format!("categorical.{name}");
            if *name == self.label || (self.features.is_some() && !features.contains(name)) {
                problem(&field, "no feature has this name, expected one".to_string());
            }
            let Categories::Values(values) = categories else { continue };
            if values.is_empty() || values.len() > columns::MOST_VALUES {
                let found = values.len();
                let message =
                    format!("found {found} values, expected 1 to {}", columns::MOST_VALUES);
                problem(&format!("{field}.values"), message);
            }
            for (i, value) in values.iter().enumerate() {
                let place = format!("{field}.values.{i}");
                if values[..i].iter().any(|other| other.trim_ascii() == value.trim_ascii()) {
                    problem(&place, format!("found {value:?} twice, expected it once"));
                } else if self.is_missing(value.trim_ascii()) {
                    let message = format!("found {value:?}, which missing_tokens says is missing");
                    problem(&place, format!("{message}: expected a value"));
                }
            }
        }
        if !self.delimiter.is_ascii() || "\"\r\n\0".contains(self.delimiter) {
            let message =
                format!("found {:?}, expected an ASCII character such as ','", self.delimiter);
            problem("delimiter", message);
        }
        match (self.header, &self.columns) {
            (true, Some(_)) => {
                let message = "the header names the columns: expected none, or header: false";
                problem("columns", message.to_string());
            }
            (false, None) => {
                let message = "missing, expected the names of all columns, or header: true";
                problem("columns", message.to_string());
            }
            _ => {}
        }
        problems
    }

    /// Reads the file. No text of it is kept: a row becomes numbers as it goes by.
    pub(super) fn read(&self, base: &Path) -> Result<Stored, DataError> {
        let path = base.join(&self.path);
        self.parse(&path, open(&path)?)
    }

    /// Counts the rows and features of the file, and keeps nothing of it.
    pub(super) fn shape(&self, base: &Path) -> Result<(usize, usize, usize), DataError> {
        let path = base.join(&self.path);
        let (columns, rows, classes) = self.scan(&path, open(&path)?, None)?;
        Ok((rows, columns.width(), classes.len()))
    }

    /// What the lists of features and classes tell about the file's rows.
    pub(super) fn declarations(&self) -> Vec<String> {
        let found = |(name, categories): (&String, &Categories)| {
            (*categories == Categories::Found).then(|| {
                format!("csv: the values of {name:?}, found in all rows, held-out ones included")
            })
        };
        let classes = (self.task == Task::MultiClass).then(|| found_classes("csv"));
        self.categorical.iter().filter_map(found).chain(classes).collect()
    }

    fn parse(&self, path: &Path, input: impl Read) -> Result<Stored, DataError> {
        let mut y = Vec::new();
        let (columns, _, classes) = self.scan(path, input, Some(&mut y))?;
        Ok(Stored { features: columns.names(), x: Box::new(columns), y, classes, held_out: None })
    }

    /// Goes through the file, counts its rows and lists its classes; without `labels` nothing is
    /// kept but the values of categories.
    fn scan(
        &self,
        path: &Path,
        input: impl Read,
        mut labels: Option<&mut Vec<f64>>,
    ) -> Result<(Columns, usize, Vec<String>), DataError> {
        let mut lines = Lines::new(input, self.delimiter as u8);
        let layout = self.layout(path, &mut lines)?;
        let column = |name: &String| Column::new(name, self.categorical.get(name));
        let mut columns = Columns(layout.features.iter().map(|(_, name)| column(name)).collect());
        let mut reading = Labels::texts(self.positive.as_deref(), self.task);
        let mut problems = Problems::new(path);
        let (mut kept, mut dropped) = (0_usize, 0_usize);
        let mut row = Vec::with_capacity(layout.features.len());
        while !problems.enough() && lines.advance().map_err(|error| unreadable(path, &error))? {
            if lines.fields() != layout.fields {
                let found = lines.fields();
                let message =
                    format!("number of fields: found {found}, expected {}", layout.fields);
                problems.add(lines.line, None, message);
                continue;
            }
            if self.missing == Missing::DropRow
                && layout.used().any(|field| lines.field(field).is_ok_and(|t| self.is_missing(t)))
            {
                dropped += 1;
                continue;
            }
            row.clear();
            for (&(field, ref name), column) in layout.features.iter().zip(&mut columns.0) {
                let value = match lines.field(field) {
                    Err(found) => Err(unexpected(&found, &column.expected(), false)),
                    Ok(text) if self.is_missing(text) => {
                        Err(unexpected(&format!("{text:?}"), &column.expected(), true))
                    }
                    Ok(text) => column
                        .read(text)
                        .map_err(|(found, expected)| unexpected(&found, &expected, false)),
                };
                match value {
                    Ok(value) => row.push(value),
                    Err(message) => problems.add(lines.line, Some(name), message),
                }
            }
            let label = match lines.field(layout.label) {
                Err(found) => Err(unexpected(&found, "text", false)),
                Ok(text) if self.is_missing(text) => {
                    Err(unexpected(&format!("{text:?}"), "a label", true))
                }
                Ok(text) => reading
                    .read(text)
                    .map_err(|(found, expected)| unexpected(&found, &expected, false)),
            };
            let label = label
                .map_err(|message| problems.add(lines.line, Some(&self.label), message))
                .unwrap_or(0.0);
            kept += 1;
            if let Some(y) = labels.as_mut().filter(|_| problems.is_empty()) {
                y.push(label);
                columns.push(&row);
            }
        }
        if problems.is_empty() && kept == 0 {
            let message = match (dropped, self.header) {
                (0, true) => "no rows after the header, expected at least one".to_string(),
                (0, false) => "the file is empty, expected at least one row".to_string(),
                _ => format!("each of {dropped} rows lacks a value, expected a complete one"),
            };
            problems.add(1, None, message);
        } else if problems.is_empty() {
            if let Some(message) = reading.unseen() {
                problems.add(1, Some(&self.label), message);
            }
            if columns.width() > MOST_COLUMNS {
                let message =
                    format!("{} features, expected at most {MOST_COLUMNS}", columns.width());
                problems.add(1, None, message);
            }
        }
        problems.finish()?;
        columns.sort();
        let classes = reading.number(labels.map_or(&mut [], |y| &mut y[..]));
        Ok((columns, kept, classes))
    }

    fn is_missing(&self, text: &str) -> bool {
        self.missing_tokens.iter().any(|token| token.trim_ascii() == text)
    }
}

fn unexpected(found: &str, expected: &str, missing: bool) -> String {
    let hint = if missing { ", or `missing: drop-row`" } else { "" };
    format!("found {found}, expected {expected}{hint}")
}

#[cfg(test)]
mod tests;
