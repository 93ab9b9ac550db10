//! From a section to the rows that a run works with.

use std::path::Path;
use std::sync::Arc;

use ndarray::{Array2, ArrayViewMut2, Axis, Slice};

use super::source::Rows;
use super::split::{Counts, split};
use super::{DataConfig, DataError, Partitioned, Table, Task, partition};
use crate::random::Streams;

/// Data that is ready for a run.
#[derive(Debug)]
pub struct Prepared {
    /// The training rows, dealt to peers.
    pub train: Arc<Partitioned>,
    /// The held-out rows, if any.
    pub test: Option<Table>,
    /// What the labels mean.
    pub task: Task,
    /// The true parameter, where the source has one and no preprocessing step changed the space it
    /// lives in; its coordinate for the intercept is 0.
    pub truth: Option<Vec<f64>>,
    /// Each statistic that private data went into, outside of any mechanism.
    pub declarations: Vec<String>,
    /// The names of the columns.
    pub features: Vec<String>,
}

/// What a section amounts to, known before any row is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Rows that are dealt to peers.
    pub train_rows: usize,
    /// Rows that are held out.
    pub test_rows: usize,
    /// Number of columns, the intercept's included.
    pub dimension: usize,
    /// Rows of the peer that has fewest.
    pub min_rows: usize,
    /// Rows of the peer that has most.
    pub max_rows: usize,
}

/// The name of the intercept's column.
const INTERCEPT: &str = "intercept";

/// Makes the data of a run: draws or reads rows, sets some aside, deals the others to `peers` peers,
/// preprocesses both parts, and appends the intercept's constant 1 as the last column.
///
/// `base` is the folder that paths are relative to, `streams` what
/// [`DataConfig::streams`] gives for the repeat. The same arguments give the same bits.
///
/// # Errors
/// Everything that [`DataConfig::check`] lists; a file that cannot be read or is no table; no row
/// left to train on; more rows than fit in memory; numbers too extreme to preprocess.
pub fn prepare(
    config: &DataConfig,
    peers: usize,
    intercept: bool,
    streams: &Streams,
    base: &Path,
) -> Result<Prepared, DataError> {
    require_valid(config, peers)?;
    let source = config.source.open(streams, base)?;
    let mut features = source.features();
    let d = features.len();
    if intercept {
        features.push(INTERCEPT.to_string());
    }
    let width = features.len();
    let counts = require_training_rows(config, peers, source.len(), width)?;
    // Before the permutations are made: what cannot be held should fail at once.
    let (train_cells, test_cells) = (cells(counts.train, width)?, cells(counts.test, width)?);

    let mut rows = split(counts, streams);
    config.partition.deal(&mut rows.train, streams);
    let offsets = partition::offsets(&config.partition.sizes(counts.train, peers));
    let (mut x, y) = gather(&source, &rows.train, d, width, train_cells);
    let mut test = (counts.test > 0).then(|| {
        let (x, y) = gather(&source, &rows.test, d, width, test_cells);
        Table { x, y, features: features.clone() }
    });
    let truth = source.truth().filter(|_| config.preprocess.is_empty()).map(|truth| {
        let mut truth = truth.to_vec();
        truth.resize(width, 0.0);
        truth
    });
    drop(source);
    for step in &config.preprocess {
        let test = test.as_mut().map(|table| without_intercept(&mut table.x, d));
        step.run(without_intercept(&mut x, d), test, &features)?;
    }
    Ok(Prepared {
        train: Arc::new(Partitioned::new(x, y, offsets)),
        test,
        task: config.source.task(),
        truth,
        declarations: config.preprocess.iter().map(|step| step.declaration()).collect(),
        features,
    })
}

/// Says how many rows and columns [`prepare`] would make, without making them. Of a file it reads
/// the header and counts the rows.
///
/// # Errors
/// Everything that [`DataConfig::check`] lists; a file that cannot be read or lacks a column; no
/// row left to train on.
pub fn outline(
    config: &DataConfig,
    peers: usize,
    intercept: bool,
    base: &Path,
) -> Result<Outline, DataError> {
    require_valid(config, peers)?;
    let (rows, d) = config.source.shape(base)?;
    let dimension = d + usize::from(intercept);
    let counts = require_training_rows(config, peers, rows, dimension)?;
    let sizes = config.partition.sizes(counts.train, peers);
    Ok(Outline {
        train_rows: counts.train,
        test_rows: counts.test,
        dimension,
        min_rows: sizes.iter().copied().min().unwrap_or(0),
        max_rows: sizes.iter().copied().max().unwrap_or(0),
    })
}

fn require_valid(config: &DataConfig, peers: usize) -> Result<(), DataError> {
    let problems = config.check(Some(peers));
    if problems.is_empty() { Ok(()) } else { Err(DataError::Config(problems)) }
}

fn require_training_rows(
    config: &DataConfig,
    peers: usize,
    rows: Option<usize>,
    columns: usize,
) -> Result<Counts, DataError> {
    let counts = config.counts(peers, rows).expect("a drawn source was checked to have samples");
    let rows = counts.total();
    if u32::try_from(rows).is_err() {
        return Err(DataError::TooLarge { rows, columns });
    }
    if counts.train == 0 {
        return Err(DataError::NoTrainingRows { rows });
    }
    Ok(counts)
}

/// Room for a matrix, still empty.
fn cells(rows: usize, columns: usize) -> Result<Vec<f64>, DataError> {
    let mut cells = Vec::new();
    // A product that overflows is more than can be reserved, too.
    let wanted = rows.saturating_mul(columns);
    let reserved = cells.try_reserve_exact(wanted);
    reserved.map(|()| cells).map_err(|_| DataError::TooLarge { rows, columns })
}

/// Writes the rows numbered `order` into one matrix, the first `d` of `width` columns; the rest
/// stays 1.
fn gather(
    source: &Rows,
    order: &[u32],
    d: usize,
    width: usize,
    mut cells: Vec<f64>,
) -> (Array2<f64>, Vec<f64>) {
    cells.resize(order.len() * width, 1.0);
    let write = |(&r, row): (&u32, &mut [f64])| source.write(r, &mut row[..d]);
    let y = order.iter().zip(cells.chunks_exact_mut(width)).map(write).collect();
    let x = Array2::from_shape_vec((order.len(), width), cells);
    (x.expect("one cell per row and column"), y)
}

fn without_intercept(x: &mut Array2<f64>, d: usize) -> ArrayViewMut2<'_, f64> {
    x.slice_axis_mut(Axis(1), Slice::from(..d))
}

#[cfg(test)]
mod tests;
