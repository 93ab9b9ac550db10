//! Rows under preprocessing: a matrix whose number of columns changes in place.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, Slice};

use super::DataError;

/// Rows with room for as many columns as preprocessing ever needs, of which the first `width` are
/// in use. Data can be most of the memory there is, so no step makes a second copy of it.
pub(super) struct Frame {
    cells: Array2<f64>,
    width: usize,
}

impl Frame {
    /// Room for `rows` rows, all columns in use and 0.
    ///
    /// # Errors
    /// More than fits in memory.
    pub(super) fn new(rows: usize, columns: usize) -> Result<Self, DataError> {
        let mut cells = reserved(rows, columns)?;
        cells.resize(rows * columns, 0.0);
        let cells = Array2::from_shape_vec((rows, columns), cells);
        Ok(Self { cells: cells.expect("one cell per row and column"), width: columns })
    }

    /// Fails where [`new`](Self::new) would for want of memory, and keeps none.
    ///
    /// # Errors
    /// More than fits in memory.
    pub(super) fn require_room(rows: usize, columns: usize) -> Result<(), DataError> {
        reserved(rows, columns).map(drop)
    }

    /// The columns in use.
    pub(super) fn view(&self) -> ArrayView2<'_, f64> {
        self.cells.slice_axis(Axis(1), Slice::from(..self.width))
    }

    /// The columns in use.
    pub(super) fn view_mut(&mut self) -> ArrayViewMut2<'_, f64> {
        self.cells.slice_axis_mut(Axis(1), Slice::from(..self.width))
    }

    /// Keeps the first columns only.
    pub(super) fn narrow(&mut self, width: usize) {
        debug_assert!(width <= self.width);
        self.width = width;
    }

    /// Takes one more column into use and fills it with 1.
    ///
    /// # Panics
    /// Where there is no room for it.
    pub(super) fn append_ones(&mut self) {
        self.cells.column_mut(self.width).fill(1.0);
        self.width += 1;
    }

    /// The columns in use as a matrix of their own, in the same memory.
    pub(super) fn into_matrix(self) -> Array2<f64> {
        let (rows, stride) = self.cells.dim();
        if stride == self.width {
            return self.cells;
        }
        let (mut cells, _) = self.cells.into_raw_vec_and_offset();
        for row in 0..rows {
            cells.copy_within(row * stride..row * stride + self.width, row * self.width);
        }
        cells.truncate(rows * self.width);
        cells.shrink_to_fit();
        Array2::from_shape_vec((rows, self.width), cells).expect("one cell per row and column")
    }
}

fn reserved(rows: usize, columns: usize) -> Result<Vec<f64>, DataError> {
    let mut cells = Vec::new();
    // A product that overflows is more than can be reserved, too.
    let count = rows.saturating_mul(columns);
    cells.try_reserve_exact(count).map_err(|_| DataError::TooLarge { rows, columns })?;
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn columns_come_and_go_in_place() {
        let mut frame = Frame::new(3, 4).unwrap();
        for (i, cell) in frame.view_mut().iter_mut().enumerate() {
            *cell = i as f64;
        }
        frame.narrow(2);
        assert_eq!(frame.view(), array![[0.0, 1.0], [4.0, 5.0], [8.0, 9.0]]);
        frame.append_ones();
        assert_eq!(frame.into_matrix(), array![[0.0, 1.0, 1.0], [4.0, 5.0, 1.0], [8.0, 9.0, 1.0]]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let error = Frame::new(usize::MAX, 2).err().unwrap();
        assert_eq!(error, DataError::TooLarge { rows: usize::MAX, columns: 2 });
        assert_eq!(Frame::require_room(usize::MAX, 2), Err(error));
        assert_eq!(Frame::require_room(3, 2), Ok(()));
    }
}
