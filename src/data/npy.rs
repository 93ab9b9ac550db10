//! Rows from a pair of NumPy arrays.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{DataError, quoted};
use super::file::{MOST_COLUMNS, malformed, open, read_rest, read_up_to};
use super::labels::{Labels, found_classes, no_positive};
use super::source::{Cells, Stored};
use super::{Task, numbered};

/// Features and labels as NumPy arrays (`numpy.save`), each plain or gzip-compressed: of floating
/// point (4 or 8 bytes), whole numbers (1 to 8 bytes) or booleans, in either byte and memory order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NpyFiles {
    /// The file of features (rows × columns), relative to the scenario's.
    pub x: PathBuf,
    /// The file of labels (one per row), relative to the scenario's.
    pub y: PathBuf,
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

impl NpyFiles {
    pub(super) fn check(&self) -> Vec<(String, String)> {
        let message = self.positive.and_then(|_| no_positive(self.task));
        message.map(|message| ("positive".to_string(), message)).into_iter().collect()
    }

    /// What the list of classes tells about the files' rows.
    pub(super) fn declarations(&self) -> Vec<String> {
        (self.task == Task::MultiClass).then(|| found_classes("npy")).into_iter().collect()
    }

    pub(super) fn read(&self, base: &Path) -> Result<Stored, DataError> {
        let (x_path, y_path) = (base.join(&self.x), base.join(&self.y));
        let x = Matrix::read(&x_path, "rows × columns", |shape| match *shape {
            [rows, columns] => Some((rows, columns)),
            _ => None,
        })?;
        let labels = Matrix::read(&y_path, "one label per row", |shape| match *shape {
            [rows] | [rows, 1] => Some((rows, 1)),
            _ => None,
        })?;
        if x.rows == 0 || !(1..=MOST_COLUMNS).contains(&x.columns) {
            let found = format!("found {} rows of {} columns", x.rows, x.columns);
            let message = format!("{found}, expected at least one of 1 to {MOST_COLUMNS}");
            return Err(malformed(&x_path, message));
        }
        if labels.rows != x.rows {
            let message =
                format!("found {} labels, expected {}, one for each row", labels.rows, x.rows);
            return Err(malformed(&y_path, message));
        }
        let odd = (0..x.rows)
            .flat_map(|row| (0..x.columns).map(move |column| (row, column)))
            .find(|&(row, column)| !x.get(row, column).is_finite());
        if let Some((row, column)) = odd {
            let found = x.get(row, column);
            let message = format!("[{row}, {column}]: found {found}, expected a finite number");
            return Err(malformed(&x_path, message));
        }
        let mut reading = Labels::numbers(self.positive, self.task);
        let y = (0..x.rows).map(|row| {
            let value = labels.get(row, 0);
            reading.accept(value).map_err(|expected| {
                malformed(&y_path, format!("[{row}]: found {value}, expected {expected}"))
            })
        });
        let mut y = y.collect::<Result<Vec<f64>, _>>()?;
        if let Some(message) = reading.unseen() {
            return Err(malformed(&y_path, message));
        }
        let (features, classes) = (numbered("x", x.columns), reading.number(&mut y));
        Ok(Stored { features, x: Box::new(x), y, classes, held_out: None })
    }
}

/// A matrix in the bytes of its file.
struct Matrix {
    bytes: Vec<u8>,
    element: Element,
    rows: usize,
    columns: usize,
    by_columns: bool,
}

impl Matrix {
    fn read(
        path: &Path,
        expected: &str,
        shape: impl Fn(&[usize]) -> Option<(usize, usize)>,
    ) -> Result<Self, DataError> {
        let mut input = open(path)?;
        let start = read_up_to(path, &mut *input, 8)?;
        let wide = match start.as_slice() {
            [0x93, b'N', b'U', b'M', b'P', b'Y', 1, _] => false,
            [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _] => true,
            _ => return Err(malformed(path, "no NumPy array of version 1 to 3, expected one")),
        };
        let length = read_up_to(path, &mut *input, if wide { 4 } else { 2 })?;
        let length = length.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        // A header is a hundred bytes long, a longer one nonsense.
        let text = read_up_to(path, &mut *input, length.min(1 << 16))?;
        let header = str::from_utf8(&text).ok().and_then(Header::parse);
        let Some(header) = header else {
            return Err(malformed(path, "the header is damaged, expected that of a NumPy array"));
        };
        let Some(element) = Element::parse(header.element) else {
            let found = quoted(header.element);
            let message = format!("elements: found {found}, expected f4, f8, i1 to u8 or b1");
            return Err(malformed(path, message));
        };
        let Some((rows, columns)) = shape(&header.shape) else {
            let message = format!("shape: found {:?}, expected {expected}", header.shape);
            return Err(malformed(path, message));
        };
        let Some(count) = rows.checked_mul(columns).and_then(|n| n.checked_mul(element.size))
        else {
            return Err(malformed(path, "the shape is too large, expected what fits in memory"));
        };
        let bytes = read_rest(path, &mut *input, count)?;
        Ok(Self { bytes, element, rows, columns, by_columns: header.by_columns })
    }

    fn get(&self, row: usize, column: usize) -> f64 {
        let place =
            if self.by_columns { column * self.rows + row } else { row * self.columns + column };
        self.element.value(&self.bytes[place * self.element.size..][..self.element.size])
    }
}

impl Cells for Matrix {
    fn write(&self, row: usize, x: &mut [f64]) {
        x.iter_mut().enumerate().for_each(|(column, x)| *x = self.get(row, column));
    }
}

/// How an element is stored.
#[derive(Clone, Copy)]
struct Element {
    kind: u8,
    size: usize,
    big_endian: bool,
}

impl Element {
    /// Reads NumPy's name of it, such as `<f8`.
    fn parse(name: &str) -> Option<Self> {
        let &[order @ (b'<' | b'>' | b'|' | b'='), kind, size] = name.as_bytes() else {
            return None;
        };
        let size = usize::from(size.checked_sub(b'0')?);
        match (kind, size) {
            (b'f', 4 | 8) | (b'i' | b'u', 1 | 2 | 4 | 8) | (b'b', 1) => {}
            _ => return None,
        }
        let native_big = cfg!(target_endian = "big") && order == b'=';
        Some(Self { kind, size, big_endian: order == b'>' || native_big })
    }

    fn value(self, bytes: &[u8]) -> f64 {
        let mut low_first = [0; 8];
        low_first[..self.size].copy_from_slice(bytes);
        if self.big_endian {
            low_first[..self.size].reverse();
        }
        let unsigned = u64::from_le_bytes(low_first);
        match (self.kind, self.size) {
            (b'f', 8) => f64::from_bits(unsigned),
            (b'f', _) => f64::from(f32::from_bits(unsigned as u32)),
            (b'i', size) => {
                // Shifting up and down again copies the sign.
                let unused = 64 - 8 * size as u32;
                ((unsigned << unused) as i64 >> unused) as f64
            }
            (b'b', _) => f64::from(unsigned != 0),
            _ => unsigned as f64,
        }
    }
}

/// What the header says: a Python dictionary with three known keys.
struct Header<'a> {
    element: &'a str,
    by_columns: bool,
    shape: Vec<usize>,
}

impl<'a> Header<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let after = |key: &str| {
            let (_, rest) = text.split_once(&format!("'{key}'"))?;
            Some(rest.trim_start().strip_prefix(':')?.trim_start())
        };
        let element = after("descr")?;
        let element = match element.strip_prefix('\'') {
            Some(rest) => rest.split_once('\'')?.0,
            None => element.split(',').next()?,
        };
        let order = after("fortran_order")?;
        let by_columns = order.starts_with("True");
        if !by_columns && !order.starts_with("False") {
            return None;
        }
        let (shape, _) = after("shape")?.strip_prefix('(')?.split_once(')')?;
        let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
        let shape = sizes.map(|size| size.parse().ok()).collect::<Option<_>>()?;
        Some(Self { element, by_columns, shape })
    }
}

#[cfg(test)]
mod tests;
