//! How features are made again, for rows that do not stay in memory.

use std::ops::Range;
use std::sync::Arc;

use ndarray::{Array2, ArrayViewMut2};

use super::source::Law;
use super::{DataError, Step};
use crate::random::Family;

/// Everything that the features of the training rows are a function of: row `order[k]` of the source,
/// drawn from its own stream, then changed by steps that look at one row at a time.
pub(super) struct Recipe {
    law: Box<dyn Law>,
    family: Family,
    /// The number in the source of each dealt row, in peer order.
    order: Arc<[u32]>,
    steps: Vec<Step>,
    /// Columns in the end: the most that there are on the way, since no step takes any away.
    dimension: usize,
}

impl Recipe {
    pub(super) fn new(
        (law, family): (Box<dyn Law>, Family),
        order: Arc<[u32]>,
        steps: Vec<Step>,
        dimension: usize,
    ) -> Self {
        Self { law, family, order, steps, dimension }
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.order.len()
    }

    /// Columns of each.
    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Goes through all rows once: their labels, in peer order.
    ///
    /// # Errors
    /// Numbers too extreme for a step; the names are those of the source's features.
    pub(super) fn labels(&self, features: &[String]) -> Result<Vec<f64>, DataError> {
        let mut row = vec![0.0; self.dimension];
        let label = |k| {
            self.write_row(k, &mut row).map_err(|(step, column)| DataError::Overflow {
                step: self.steps[step].name(),
                feature: features.get(column).cloned().unwrap_or_default(),
            })
        };
        (0..self.rows()).map(label).collect()
    }

    /// Writes the features of some rows, one after the other, into `cells`, which grows where it must.
    pub(super) fn write(&self, rows: Range<usize>, cells: &mut Vec<f64>) {
        cells.resize(rows.len() * self.dimension, 0.0);
        for (k, row) in rows.zip(cells.chunks_exact_mut(self.dimension.max(1))) {
            let made = self.write_row(k, row);
            debug_assert!(made.is_ok(), "every row was made once when the data was prepared");
        }
    }

    /// All rows, stored.
    pub(super) fn matrix(&self) -> Array2<f64> {
        let mut cells = Vec::new();
        self.write(0..self.rows(), &mut cells);
        Array2::from_shape_vec((self.rows(), self.dimension), cells)
            .expect("one cell per row and column")
    }

    /// Writes the features of a row and returns its label, or which step failed in which column.
    fn write_row(&self, k: usize, row: &mut [f64]) -> Result<f64, (usize, usize)> {
        let mut width = self.law.dimension();
        let mut stream = self.family.stream(self.order[k].into());
        let label = self.law.draw(&mut stream, &mut row[..width]);
        for (place, step) in self.steps.iter().enumerate() {
            let row = ArrayViewMut2::from_shape((1, row.len()), &mut *row);
            let row = row.expect("a row is one row");
            width = step.run_on_rows(row, width).map_err(|column| (place, column))?;
        }
        Ok(label)
    }
}
