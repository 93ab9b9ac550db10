//! Steps that shift and scale each feature.

use ndarray::{ArrayView1, ArrayView2, ArrayViewMut2, Axis};

use super::{Clip, NormOrder};

/// Sums over rows run over blocks of this many, in order.
pub(super) const BLOCK: usize = 1024;

/// x ↦ (x − centre)/scale, feature by feature.
#[derive(Debug, PartialEq)]
pub(super) struct Scaling {
    centre: Vec<f64>,
    scale: Vec<f64>,
}

impl Scaling {
    /// Applies it to every row in place.
    ///
    /// # Errors
    /// The first column in which it, or what comes out of it, is not finite.
    pub(super) fn apply(&self, mut x: ArrayViewMut2<'_, f64>) -> Result<(), usize> {
        let usable =
            |column: usize| self.centre[column].is_finite() && self.scale[column].is_finite();
        if let Some(column) = (0..self.centre.len()).find(|&column| !usable(column)) {
            return Err(column);
        }
        for mut row in x.rows_mut() {
            for (column, value) in row.iter_mut().enumerate() {
                *value = (*value - self.centre[column]) / self.scale[column];
                if !value.is_finite() {
                    return Err(column);
                }
            }
        }
        Ok(())
    }

    /// (x − mean)/deviation.
    pub(super) fn standardise(train: ArrayView2<'_, f64>) -> Self {
        let n = train.nrows() as f64;
        let mut centre = column_sums(train, |_, value| value);
        centre.iter_mut().for_each(|sum| *sum /= n);
        // The mean of equal numbers may be off by a rounding error, which division by a deviation of
        // that size would blow up to order 1.
        let first = train.row(0);
        for (column, centre) in centre.iter_mut().enumerate() {
            if train.column(column).iter().all(|&value| value == first[column]) {
                *centre = first[column];
            }
        }
        let mut scale = column_sums(train, |column, value| (value - centre[column]).powi(2));
        for scale in &mut scale {
            *scale = (*scale / n).sqrt();
            if *scale == 0.0 {
                *scale = 1.0;
            }
        }
        Self { centre, scale }
    }

    /// Division of all columns by the same number.
    pub(super) fn by_constant(columns: usize, divisor: f64) -> Self {
        Self { centre: vec![0.0; columns], scale: vec![divisor; columns] }
    }

    /// Division by the largest absolute value, for the columns listed.
    pub(super) fn by_maximum(train: ArrayView2<'_, f64>, columns: &[usize]) -> Self {
        let mut largest = vec![0.0_f64; train.ncols()];
        for row in train.rows() {
            columns.iter().for_each(|&c| largest[c] = largest[c].max(row[c].abs()));
        }
        let scale = largest.into_iter().map(|scale| if scale > 0.0 { scale } else { 1.0 });
        Self { centre: vec![0.0; train.ncols()], scale: scale.collect() }
    }

    /// Division by the largest norm of a row.
    pub(super) fn unit_ball(train: ArrayView2<'_, f64>) -> Self {
        let largest = train.rows().into_iter().map(norm).fold(0.0, f64::max);
        Self::by_constant(train.ncols(), if largest > 0.0 { largest } else { 1.0 })
    }
}

/// Divides all numbers by the same one, as [`Scaling::by_constant`] does, without a list of columns.
///
/// # Errors
/// The first column in which what comes out is not finite.
pub(super) fn divide(mut x: ArrayViewMut2<'_, f64>, divisor: f64) -> Result<(), usize> {
    for mut row in x.rows_mut() {
        for (column, value) in row.iter_mut().enumerate() {
            // Taking the centre 0 off, as is done there, changes no bit.
            *value /= divisor;
            if !value.is_finite() {
                return Err(column);
            }
        }
    }
    Ok(())
}

/// Divides each row by its own norm; a row of zeros stays.
///
/// # Errors
/// A column of a row whose norm is not finite.
pub(super) fn unit_sphere(mut x: ArrayViewMut2<'_, f64>) -> Result<(), usize> {
    for mut row in x.rows_mut() {
        let norm = norm(row.view());
        if !norm.is_finite() {
            return Err(0);
        }
        if norm > 0.0 {
            row.iter_mut().for_each(|value| *value /= norm);
        }
    }
    Ok(())
}

/// Shortens rows that are longer than a norm to it.
///
/// # Errors
/// A column of a row whose norm is not finite.
pub(super) fn clip(mut x: ArrayViewMut2<'_, f64>, to: Clip) -> Result<(), usize> {
    let most = to.norm;
    for mut row in x.rows_mut() {
        let norm = match to.order {
            NormOrder::L1 => row.iter().map(|value| value.abs()).sum(),
            NormOrder::L2 => norm(row.view()),
        };
        if !norm.is_finite() {
            return Err(0);
        }
        if norm > most {
            // Divided first: most/norm may underflow where the row that comes out does not.
            row.iter_mut().for_each(|value| *value = *value / norm * most);
        }
    }
    Ok(())
}

fn norm(row: ArrayView1<'_, f64>) -> f64 {
    let squares: f64 = row.iter().map(|value| value * value).sum();
    // `hypot` is slow, but neither overflows nor underflows where squares do.
    if squares.is_normal() { squares.sqrt() } else { row.iter().copied().fold(0.0, f64::hypot) }
}

/// Σ term(column, value) of every column.
pub(super) fn column_sums(x: ArrayView2<'_, f64>, term: impl Fn(usize, f64) -> f64) -> Vec<f64> {
    let mut total = vec![0.0; x.ncols()];
    let mut partial = total.clone();
    for block in x.axis_chunks_iter(Axis(0), BLOCK) {
        partial.fill(0.0);
        for row in block.rows() {
            for (column, (sum, &value)) in partial.iter_mut().zip(row).enumerate() {
                *sum += term(column, value);
            }
        }
        total.iter_mut().zip(&partial).for_each(|(total, sum)| *total += sum);
    }
    total
}
