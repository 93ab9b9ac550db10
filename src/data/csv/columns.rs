//! The columns of a file as they are kept: numbers, and two bytes for a category.

use std::collections::BTreeMap;

use super::Categories;
use crate::data::error::{quoted, some_of};
use crate::data::source::Cells;

/// The most values that a category may have: more of them are most likely no category.
pub(super) const MOST_VALUES: usize = 10_000;

/// One column that is used.
pub(super) enum Column {
    Number { name: String, values: Vec<f64> },
    Category(Category),
}

/// A categorical column.
pub(super) struct Category {
    name: String,
    /// The values in the order of their features.
    values: Vec<String>,
    /// The code of each value: its place among those given, or the order in which it was found.
    codes: BTreeMap<String, u16>,
    /// Whether a value that is not there yet is added.
    open: bool,
    /// Which feature stands for a code.
    place: Vec<u16>,
    /// The code of each row.
    rows: Vec<u16>,
}

impl Column {
    pub(super) fn new(name: &str, categories: Option<&Categories>) -> Self {
        let name = name.to_string();
        let (values, open) = match categories {
            None => return Self::Number { name, values: Vec::new() },
            Some(Categories::Found) => (Vec::new(), true),
            Some(Categories::Values(values)) => {
                (values.iter().map(|value| value.trim_ascii().to_string()).collect(), false)
            }
        };
        let codes = values.iter().cloned().zip(0..).collect();
        Self::Category(Category { name, values, codes, open, place: Vec::new(), rows: Vec::new() })
    }

    /// What a field of this column may hold.
    pub(super) fn expected(&self) -> String {
        match self {
            Self::Number { .. } => "a finite number".to_string(),
            Self::Category(category) if category.codes.len() >= MOST_VALUES => {
                format!("at most {MOST_VALUES} different values")
            }
            Self::Category(category) if category.open => "a category".to_string(),
            Self::Category(category) => format!("one of {}", some_of(&category.values)),
        }
    }

    /// The number that `text` says, or the code of its category.
    pub(super) fn read(&mut self, text: &str) -> Result<f64, (String, String)> {
        let value = match self {
            Self::Number { .. } => text.parse().ok().filter(|value: &f64| value.is_finite()),
            Self::Category(category) => category.code(text).map(f64::from),
        };
        value.ok_or_else(|| (quoted(text), self.expected()))
    }

    fn push(&mut self, value: f64) {
        match self {
            Self::Number { values, .. } => values.push(value),
            Self::Category(category) => category.rows.push(value as u16),
        }
    }

    fn width(&self) -> usize {
        match self {
            Self::Number { .. } => 1,
            Self::Category(category) => category.codes.len(),
        }
    }
}

impl Category {
    fn code(&mut self, text: &str) -> Option<u16> {
        if let Some(&code) = self.codes.get(text) {
            return Some(code);
        }
        let code = u16::try_from(self.codes.len()).ok()?;
        (self.open && self.codes.len() < MOST_VALUES).then(|| {
            self.codes.insert(text.to_string(), code);
            code
        })
    }
}

/// The columns that are used, in the order of the features.
pub(super) struct Columns(pub(super) Vec<Column>);

impl Columns {
    /// Keeps a row: one number or code per column.
    pub(super) fn push(&mut self, row: &[f64]) {
        self.0.iter_mut().zip(row).for_each(|(column, &value)| column.push(value));
    }

    /// Gives the values that were found their places: in alphabetical order, whatever row comes
    /// first.
    pub(super) fn sort(&mut self) {
        for column in &mut self.0 {
            let Column::Category(category) = column else { continue };
            if category.open {
                category.values = category.codes.keys().cloned().collect();
            }
            category.place = vec![0; category.values.len()];
            for (value, place) in category.values.iter().zip(0..) {
                category.place[usize::from(category.codes[value])] = place;
            }
        }
    }

    /// How many features the columns make.
    pub(super) fn width(&self) -> usize {
        self.0.iter().map(Column::width).sum()
    }

    /// The names of the features.
    pub(super) fn names(&self) -> Vec<String> {
        let names = self.0.iter().flat_map(|column| match column {
            Column::Number { name, .. } => vec![name.clone()],
            Column::Category(Category { name, values, .. }) => {
                values.iter().map(|value| format!("{name}={value}")).collect()
            }
        });
        names.collect()
    }
}

impl Cells for Columns {
    fn write(&self, row: usize, x: &mut [f64]) {
        x.fill(0.0);
        let mut start = 0;
        for column in &self.0 {
            match column {
                Column::Number { values, .. } => x[start] = values[row],
                Column::Category(Category { place, rows, .. }) => {
                    x[start + usize::from(place[usize::from(rows[row])])] = 1.0;
                }
            }
            start += column.width();
        }
    }
}
