//! Rows from a file in the format of LIBSVM.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{DataError, quoted};
use super::file::{MOST_COLUMNS, Problems, open, unreadable};
use super::labels::{Labels, found_classes, no_positive};
use super::source::{Cells, Stored};
use super::{Task, numbered};

/// A file in the format of LIBSVM, plain or gzip-compressed: a line per row with its label and
/// `index:value` for each feature that is not 0, as in `+1 3:0.5 10:1.2`. Indices start at 1 and
/// ascend; `#` begins a comment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LibsvmFile {
    /// The file, relative to the scenario's.
    pub path: PathBuf,
    /// Number of features, 1 to 1,000,000; by default the largest index of all rows, which is
    /// declared as taken from private rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimension: Option<usize>,
    /// The label that becomes +1; every other becomes −1. Without it labels must be −1 and 1, or 0
    /// and 1. For classification only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<f64>,
    /// What the labels mean: `classification` (the default), `regression`, or `multi-class`, where
    /// every different label is a class: 2 to 1,000 of them, by value. The list is taken from private
    /// rows and declared as such.
    #[serde(default)]
    pub task: Task,
}

impl LibsvmFile {
    pub(super) fn check(&self) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        if let Some(found) = self.dimension.filter(|d| !(1..=MOST_COLUMNS).contains(d)) {
            let message = format!("found {found}, expected 1 to {MOST_COLUMNS}");
            problems.push(("dimension".to_string(), message));
        }
        if let Some(message) = self.positive.and_then(|_| no_positive(self.task)) {
            problems.push(("positive".to_string(), message));
        }
        problems
    }

    pub(super) fn read(&self, base: &Path) -> Result<Stored, DataError> {
        let path = base.join(&self.path);
        self.parse(&path, open(&path)?)
    }

    /// What the number of features and the list of classes tell about the file's rows.
    pub(super) fn declarations(&self) -> Vec<String> {
        let found = "libsvm: the largest index, found in all rows, held-out ones included";
        let width = self.dimension.is_none().then(|| found.to_string());
        let classes = (self.task == Task::MultiClass).then(|| found_classes("libsvm"));
        width.into_iter().chain(classes).collect()
    }

    fn parse(&self, path: &Path, input: impl Read) -> Result<Stored, DataError> {
        let mut input = BufReader::with_capacity(1 << 16, input);
        let mut labels = Labels::numbers(self.positive, self.task);
        let mut problems = Problems::new(path);
        let most = self.dimension.unwrap_or(MOST_COLUMNS);
        let mut sparse = Sparse { ends: Vec::new(), indices: Vec::new(), values: Vec::new() };
        let (mut y, mut line, mut number) = (Vec::new(), Vec::new(), 0);
        while !problems.enough() {
            line.clear();
            let read = input.read_until(b'\n', &mut line);
            if read.map_err(|error| unreadable(path, &error))? == 0 {
                break;
            }
            number += 1;
            let content = line.split(|&byte| byte == b'#').next().unwrap_or_default();
            let Ok(content) = str::from_utf8(content) else {
                problems.add(number, None, "found bytes that are not UTF-8, expected text");
                continue;
            };
            let mut words = content.split_ascii_whitespace();
            let Some(label) = words.next() else { continue };
            match labels.read(label) {
                Ok(label) => y.push(label),
                Err((found, expected)) => {
                    problems.add(
                        number,
                        None,
                        format!("label: found {found}, expected {expected}"),
                    );
                }
            }
            if let Err(message) = words.try_for_each(|word| sparse.push(word, most)) {
                problems.add(number, None, message);
            }
            sparse.ends.push(sparse.indices.len());
        }
        let dimension = self.dimension.unwrap_or_else(|| {
            sparse.indices.iter().max().map_or(0, |&largest| largest as usize + 1)
        });
        if problems.is_empty() {
            if y.is_empty() {
                problems.add(1, None, "no rows, expected at least one");
            } else if dimension == 0 {
                problems.add(1, None, "no row has a feature, expected one or a dimension");
            } else if let Some(message) = labels.unseen() {
                problems.add(1, None, message);
            }
        }
        problems.finish()?;
        let (features, classes) = (numbered("x", dimension), labels.number(&mut y));
        Ok(Stored { features, x: Box::new(sparse), y, classes, held_out: None })
    }
}

/// Rows as they are in the file: what is not 0.
struct Sparse {
    /// Where each row ends in the other two.
    ends: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl Sparse {
    /// Adds `index:value` to the row that has begun.
    fn push(&mut self, word: &str, most: usize) -> Result<(), String> {
        let (index, value) = word
            .split_once(':')
            .ok_or_else(|| format!("found {}, expected index:value", quoted(word)))?;
        let index = index.parse::<usize>().ok().filter(|index| (1..=most).contains(index));
        let index = index
            .ok_or_else(|| format!("found {}, expected an index from 1 to {most}", quoted(word)))?;
        let value = value.parse().ok().filter(|value: &f64| value.is_finite());
        let value =
            value.ok_or_else(|| format!("found {}, expected a finite number", quoted(word)))?;
        let start = self.ends.last().copied().unwrap_or(0);
        match self.indices[start..].last() {
            Some(&last) if index <= last as usize + 1 => {
                Err(format!("found index {index} after {}, expected a larger one", last + 1))
            }
            _ => {
                self.indices.push(index as u32 - 1);
                self.values.push(value);
                Ok(())
            }
        }
    }
}

impl Cells for Sparse {
    fn write(&self, row: usize, x: &mut [f64]) {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        let range = start..self.ends[row];
        x.fill(0.0);
        for (&index, &value) in self.indices[range.clone()].iter().zip(&self.values[range]) {
            x[index as usize] = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    fn file() -> LibsvmFile {
        let (dimension, positive) = (None, None);
        LibsvmFile { path: "rows".into(), dimension, positive, task: Task::Classification }
    }

    fn parse(file: &LibsvmFile, text: impl AsRef<[u8]>) -> Result<Stored, String> {
        file.parse(Path::new("rows"), text.as_ref()).map_err(|error| error.to_string())
    }

    #[test]
    fn sparse_rows_with_comments_and_blank_lines() {
        let text = "# made by hand\n+1 3:0.5 4:-1e1 # first\n\n-1\r\n1 1:2\n";
        let rows = parse(&file(), text).unwrap();
        assert_eq!(rows.y, [1.0, -1.0, 1.0]);
        assert_eq!(rows.features, ["x1", "x2", "x3", "x4"]);
        let expected = array![[0.0, 0.0, 0.5, -10.0], [0.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]];
        assert_eq!(rows.to_table().x, expected);
        assert_eq!(file().declarations().len(), 1);

        let wider = LibsvmFile { dimension: Some(6), positive: Some(-1.0), ..file() };
        let rows = parse(&wider, text).unwrap();
        assert_eq!((rows.features.len(), rows.y), (6, vec![-1.0, 1.0, -1.0]));
        assert!(wider.declarations().is_empty());

        let targets = LibsvmFile { task: Task::Regression, ..file() };
        assert_eq!(parse(&targets, "2.5 1:1\n-7 1:2").unwrap().y, [2.5, -7.0]);
    }

    #[test]
    fn wrong_lines_are_named() {
        let narrow = LibsvmFile { dimension: Some(9), ..file() };
        let text = b"1 0:1\n2 1:1\n1 3\n1 10:1\n1 2:x\n1 2:1 2:1\n\xff\n1 qid:3 1:1\n-1 1:nan";
        assert_eq!(
            parse(&narrow, text).err().unwrap(),
            "rows, line 1: found \"0:1\", expected an index from 1 to 9\n\
             rows, line 2: label: found \"2\", expected -1 or 1, or 0 or 1\n\
             rows, line 3: found \"3\", expected index:value\n\
             rows, line 4: found \"10:1\", expected an index from 1 to 9\n\
             rows, line 5: found \"2:x\", expected a finite number\n\
             rows, line 6: found index 2 after 2, expected a larger one\n\
             rows, line 7: found bytes that are not UTF-8, expected text\n\
             rows, line 8: found \"qid:3\", expected an index from 1 to 9\n\
             rows, line 9: found \"1:nan\", expected a finite number"
        );
        for (text, expected) in [
            ("# nothing\n", "rows, line 1: no rows, expected at least one"),
            ("1\n-1\n", "rows, line 1: no row has a feature, expected one or a dimension"),
        ] {
            assert_eq!(parse(&file(), text).err().unwrap(), expected);
        }
        let absent = LibsvmFile { positive: Some(3.0), ..file() };
        assert_eq!(
            parse(&absent, "1 1:1").err().unwrap(),
            "rows, line 1: found no row labelled 3, expected the positive label"
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&file(), bytes);
        }

        #[test]
        fn what_is_accepted_is_whole(text in r"([+-]?[01] ([0-9]{1,2}:[0-9]{1,2} ){0,3}[#\n]){0,6}") {
            if let Ok(rows) = parse(&file(), text) {
                let table = rows.to_table();
                prop_assert_eq!(table.x.dim(), (table.y.len(), table.features.len()));
            }
        }
    }
}
