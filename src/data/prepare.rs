//! From a section to the rows that a run works with.

use std::path::Path;
use std::sync::Arc;

use ndarray::Array2;

use super::frame::Frame;
use super::local::Features;
use super::partition::Dealt;
use super::recipe::Recipe;
use super::source::Rows;
use super::split::{Counts, Extent, split, split_as_given};
use super::{DataConfig, DataError, Partition, Partitioned, Step, Table, Task, partition};
use crate::random::Streams;
use crate::units::{Members, PeerId};

/// Data that is ready for a run.
#[derive(Debug)]
pub struct Prepared {
    /// The training rows, dealt to peers.
    pub train: Arc<Partitioned>,
    /// The held-out rows, if any.
    pub test: Option<Table>,
    /// What the labels mean.
    pub task: Task,
    /// The names of the classes in the order of their numbers, for a task of several; else empty.
    pub classes: Vec<String>,
    /// The true parameter, where the source has one and no preprocessing step changed the space it
    /// lives in; its coordinate for the intercept is 0.
    pub truth: Option<Vec<f64>>,
    /// How many times the most repeated training row was dealt: 1, or more where the partition draws
    /// with repetition, or the number of peers where each holds them all. One row of the source then counts that often in the releases of its holders.
    pub multiplicity: usize,
    /// The number in the source of each training row, in peer order: whose row it is. The same
    /// number comes up several times where the partition repeats rows. Rows that a file's reader drops
    /// have no number. Where nothing is kept of other peers, it is of the own ones.
    pub rows: Arc<[u32]>,
    /// How many rows the source has in all, held-out and unused ones included: numbers in `rows`
    /// are below it.
    pub source_rows: usize,
    /// Each statistic that private data went into, outside of any mechanism.
    pub declarations: Vec<String>,
    /// The names of the columns.
    pub features: Vec<String>,
}

/// What a section amounts to, known before any row is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Rows that are dealt to peers, repeated ones counted each time.
    pub train_rows: usize,
    /// Rows of the source.
    pub source_rows: usize,
    /// Rows that are held out.
    pub test_rows: usize,
    /// Number of columns, the intercept's included.
    pub dimension: usize,
    /// Number of classes, where there are several to learn; else 0.
    pub classes: usize,
    /// Rows of the peer that has fewest among those that are dealt to; where sizes are drawn, the
    /// fewest that it can have.
    pub min_rows: usize,
    /// Rows of the peer that has most; where sizes are drawn, the most that it can have.
    pub max_rows: usize,
}

/// Makes the data of a run: draws or reads rows, sets some aside, deals the others to `peers` peers,
/// preprocesses both parts, and with `intercept` appends the constant 1 as the last column.
///
/// `base` is the folder that paths are relative to, `streams` what
/// [`DataConfig::streams`] gives for the repeat. The same arguments give the same bits.
///
/// # Errors
/// Everything that [`DataConfig::check`] lists; a file that cannot be read or is no table; no row
/// left to train on; more rows than fit in memory; steps that do not fit the features; numbers too
/// extreme to preprocess.
pub fn prepare(
    config: &DataConfig,
    peers: usize,
    intercept: bool,
    streams: &Streams,
    base: &Path,
) -> Result<Prepared, DataError> {
    deal(config, peers, intercept, streams, base, false)?.prepare(Whose::Everybody)
}

/// Whose features are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those of all peers.
    Everybody,
    /// Those of some.
    Some {
        /// Who they are, in the order in which their rows will lie.
        peers: Members,
        /// What is kept of the others.
        others: Others,
    },
}

/// What is kept of peers whose features are not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Their labels, and which rows they have.
    Labels,
    /// Which rows they have; their labels are 0.
    Rows,
    /// Nothing.
    Nothing,
}

/// Rows that are dealt to peers, and not made yet.
pub struct Dealing<'a> {
    config: &'a DataConfig,
    peers: usize,
    source: Rows,
    steps: Vec<&'a Step>,
    dimension: usize,
    room: usize,
    counts: Counts,
    dealt: Dealt,
    offsets: Vec<usize>,
    /// The training rows where all peers hold the same, and the held-out ones.
    originals: Vec<u32>,
    held_out: Vec<u32>,
    /// Room for all training rows, where all are made, and for the held-out ones.
    whole: Option<Frame>,
    test: Option<Frame>,
    one_by_one: bool,
}

/// Deals rows to peers for a process that may need those of `few` alone: once it is known how many rows
/// everybody has, it can say whose. Otherwise as [`prepare`].
///
/// # Errors
/// As [`prepare`].
pub fn deal<'a>(
    config: &'a DataConfig,
    peers: usize,
    intercept: bool,
    streams: &Streams,
    base: &Path,
    few: bool,
) -> Result<Dealing<'a>, DataError> {
    require_valid(config, peers, intercept)?;
    let source = config.source.open(streams, base)?;
    let steps = steps(config, intercept);
    let (dimension, room) = widths(&steps, source.features().len())?;
    let extent = source.extent();
    let counts = require_training_rows(config, peers, extent, room)?;
    let owners = config.owners(peers);
    let dealt_rows = config.partition.dealt(counts.train, owners);
    // Where all peers hold the same rows, these are preprocessed once and copied at the end: the
    // copies need no room for the columns on the way.
    let copies = config.partition == Partition::Replicated;
    // Before the permutations are made: what cannot be held should fail at once.
    if copies && config.keep {
        Frame::require_room(dealt_rows, dimension)?;
    }
    let frame_rows = match copies {
        _ if !config.keep => 0,
        true => counts.train,
        false => dealt_rows,
    };
    let alone = steps.iter().all(|step| step.declaration().is_none());
    let one_by_one = alone && !(copies && config.keep);
    // Who makes few rows finds out later how few.
    let whole = (!(few && one_by_one)).then(|| Frame::new(frame_rows, room)).transpose()?;
    let test = (counts.test > 0).then(|| Frame::new(counts.test, room)).transpose()?;

    let given = extent.is_some_and(|extent| extent.held_out.is_some());
    let rows = if given { split_as_given(counts) } else { split(counts, streams) };
    let labels = |rows: &[u32]| source.labels(rows);
    let originals = if copies && config.keep { rows.train.clone() } else { Vec::new() };
    let dealt = config.partition.deal(rows.train, owners, labels, streams).without(&config.without);
    let offsets = partition::offsets(&dealt.sizes);
    Ok(Dealing {
        config,
        peers,
        source,
        steps,
        dimension,
        room,
        counts,
        dealt,
        offsets,
        originals,
        held_out: rows.test,
        whole,
        test,
        one_by_one,
    })
}

impl Dealing<'_> {
    /// How many rows a peer has.
    pub fn rows(&self, peer: PeerId) -> usize {
        self.offsets[peer.index() + 1] - self.offsets[peer.index()]
    }

    /// Number of columns that there will be.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Number of peers, those without rows included.
    pub fn peers(&self) -> usize {
        self.peers
    }

    /// What the labels mean, and how many classes there are of them; none where it is no task of several.
    pub fn task(&self) -> (Task, usize) {
        (self.config.source.task(), self.source.classes().len())
    }

    /// The number in the source of each training row, in peer order.
    pub fn order(&self) -> &[u32] {
        &self.dealt.order
    }

    /// How many times the most repeated training row was dealt.
    pub fn multiplicity(&self) -> usize {
        if self.config.partition.repeats_rows() { self.dealt.multiplicity() } else { 1 }
    }

    /// Makes the rows of these peers. Rows that are prepared one by one are made for them alone; where
    /// statistics of all rows, or copies, are needed, all are made and the others let go.
    ///
    /// # Errors
    /// More rows than fit in memory; numbers too extreme to preprocess.
    pub fn prepare(self, whose: Whose) -> Result<Prepared, DataError> {
        let Self { config, peers, source, steps, dimension, room, counts, dealt, offsets, .. } =
            self;
        let Self { originals, held_out, whole, mut test, one_by_one, .. } = self;
        let mut features = source.features();
        let copies = config.partition == Partition::Replicated;
        let (some, kept) = match whose {
            Whose::Everybody => (None, Others::Labels),
            Whose::Some { peers, others } => (Some(peers), others),
        };
        let range = |peer: PeerId| offsets[peer.index()]..offsets[peer.index() + 1];
        let own: Option<Vec<u32>> = some.as_ref().filter(|_| one_by_one).map(|peers| {
            peers.iter().map(range).flat_map(|rows| &dealt.order[rows]).copied().collect()
        });
        let order = match (copies, &own) {
            _ if !config.keep => &[][..],
            (true, _) => &originals,
            (false, Some(own)) => own,
            (false, None) => &dealt.order,
        };
        let mut train = whole.map_or_else(|| Frame::new(order.len(), room), Ok)?;
        let mut y = gather(&source, order, features.len(), &mut train);
        let all_labels = kept == Others::Labels;
        let others = own.as_ref().filter(|_| all_labels).map(|_| source.labels(&dealt.order));
        let test_y = test.as_mut().map(|test| gather(&source, &held_out, features.len(), test));
        let is_unchanged = config.preprocess.iter().all(|step| *step == Step::Intercept);
        let truth = source.truth().filter(|_| is_unchanged).map(<[f64]>::to_vec);
        let classes = source.classes();
        let drawn = source.into_law().filter(|_| !config.keep);
        let own_features = features.clone();
        for step in &steps {
            step.run(&mut train, test.as_mut(), &mut features)?;
        }
        let multiplicity = match config.partition.repeats_rows() {
            true => dealt.multiplicity(),
            false => 1,
        };
        // The labels of rows that lie in another order, or of some alone.
        let in_place = |y: Vec<f64>, peers: &Members| match kept {
            Others::Nothing => y,
            _ => others.unwrap_or_else(|| {
                let mut labels = vec![0.0; offsets[offsets.len() - 1]];
                let mut rest = y.as_slice();
                for range in peers.iter().map(range) {
                    let (own, more) = rest.split_at(range.len());
                    labels[range].copy_from_slice(own);
                    rest = more;
                }
                labels
            }),
        };
        let lone = some.clone().filter(|_| kept == Others::Nothing);
        let own_rows = || match (&lone, &own) {
            (Some(_), Some(own)) => own.as_slice().into(),
            (Some(peers), None) => {
                peers.iter().map(range).flat_map(|rows| &dealt.order[rows]).copied().collect()
            }
            (None, _) => Arc::<[u32]>::from(dealt.order.as_slice()),
        };
        let rows = own_rows();
        let total = dealt.order.len();
        let owned = |x, y, peers: Members| match kept {
            Others::Nothing => {
                let sizes: Vec<usize> = peers.iter().map(|peer| range(peer).len()).collect();
                Partitioned::alone(x, y, &sizes, peers, offsets.len() - 1, total)
            }
            _ => Partitioned::some(x, y, offsets.clone(), &peers),
        };
        let train = if let Some(law) = drawn {
            let steps = steps.into_iter().cloned().collect();
            let order = own.map_or_else(|| Arc::clone(&rows), Arc::from);
            let recipe = Recipe::new(law, order, steps, dimension);
            let y = recipe.labels(&own_features)?;
            match some {
                Some(peers) => owned(Features::Made(recipe), in_place(y, &peers), peers),
                None => Partitioned::made(recipe, y, offsets),
            }
        } else if let Some(peers) = some.as_ref().filter(|_| one_by_one) {
            let y = in_place(y, peers);
            owned(Features::Stored(train.into_matrix()), y, peers.clone())
        } else {
            let mut x = train.into_matrix();
            if copies {
                (x, y) = copied(&x, &y, &originals, &dealt.order)?;
            }
            match some {
                Some(peers) => {
                    let x = rows_of(&x, &offsets, &peers)?;
                    if kept == Others::Nothing {
                        y = peers.iter().map(range).flat_map(|rows| &y[rows]).copied().collect();
                    }
                    owned(Features::Stored(x), y, peers)
                }
                None => Partitioned::new(x, y, offsets),
            }
        };
        debug_assert_eq!(train.peers(), peers);
        Ok(Prepared {
            multiplicity,
            rows,
            source_rows: counts.total(),
            train: Arc::new(train),
            test: test.zip(test_y).map(|(test, y)| {
                let features = features.clone();
                Table { x: test.into_matrix(), y, features }
            }),
            task: config.source.task(),
            classes,
            truth: truth.map(|mut truth| {
                truth.resize(features.len(), 0.0);
                truth
            }),
            declarations: config.declarations(),
            features,
        })
    }
}

/// Says how many rows and columns [`prepare`] would make, without making them. A file is gone
/// through, so that what is wrong in it shows.
///
/// # Errors
/// Everything that [`DataConfig::check`] lists; a file that cannot be read or is no table; steps that
/// do not fit the features; no row left to train on.
pub fn outline(
    config: &DataConfig,
    peers: usize,
    intercept: bool,
    base: &Path,
) -> Result<Outline, DataError> {
    require_valid(config, peers, intercept)?;
    let (extent, d, classes) = config.source.shape(base)?;
    let (dimension, room) = widths(&steps(config, intercept), d)?;
    let counts = require_training_rows(config, peers, extent, room)?;
    let owners = config.owners(peers);
    let (min_rows, max_rows) = config.partition.span(counts.train, owners);
    let train_rows = config.partition.dealt(counts.train, owners);
    let source_rows = counts.total();
    let test_rows = counts.test;
    Ok(Outline { train_rows, source_rows, test_rows, dimension, classes, min_rows, max_rows })
}

/// The steps of a section, and behind them the model's own intercept.
fn steps(config: &DataConfig, intercept: bool) -> Vec<&Step> {
    config.preprocess.iter().chain(intercept.then_some(&Step::Intercept)).collect()
}

/// How many features there are in the end, and the most that there are on the way.
fn widths(steps: &[&Step], features: usize) -> Result<(usize, usize), DataError> {
    steps.iter().try_fold((features, features), |(width, most), step| {
        let width = step.width(width)?;
        Ok((width, most.max(width)))
    })
}

fn require_valid(config: &DataConfig, peers: usize, intercept: bool) -> Result<(), DataError> {
    let mut problems = config.check(Some(peers));
    if let Some(place) = config.intercept_step().filter(|_| intercept) {
        let message = "model.intercept appends one already, expected only one of them";
        problems.push((place, message.to_string()));
    }
    if problems.is_empty() { Ok(()) } else { Err(DataError::Config(problems)) }
}

fn require_training_rows(
    config: &DataConfig,
    peers: usize,
    extent: Option<Extent>,
    columns: usize,
) -> Result<Counts, DataError> {
    let counts = config.counts(peers, extent).expect("a drawn source was checked to have samples");
    let rows = counts.total();
    if u32::try_from(rows).is_err() {
        return Err(DataError::TooLarge { rows, columns });
    }
    if counts.train == 0 {
        return Err(DataError::NoTrainingRows { rows });
    }
    let dealt = config.partition.dealt(counts.train, config.owners(peers));
    if u32::try_from(dealt).is_err() {
        return Err(DataError::TooLarge { rows: dealt, columns });
    }
    Ok(counts)
}

/// The prepared rows `x` with labels `y`, whose numbers are the ascending `originals`, in the order
/// of the numbers in `order`, as often as they come up there.
fn copied(
    x: &Array2<f64>,
    y: &[f64],
    originals: &[u32],
    order: &[u32],
) -> Result<(Array2<f64>, Vec<f64>), DataError> {
    let place = |r: &u32| originals.binary_search(r).expect("only training rows are dealt");
    let mut frame = Frame::new(order.len(), x.ncols())?;
    for (r, mut row) in order.iter().zip(frame.view_mut().rows_mut()) {
        row.assign(&x.row(place(r)));
    }
    Ok((frame.into_matrix(), order.iter().map(|r| y[place(r)]).collect()))
}

/// The rows of these peers, one peer after the other.
fn rows_of(x: &Array2<f64>, offsets: &[usize], peers: &Members) -> Result<Array2<f64>, DataError> {
    let ranges = || peers.iter().map(|peer| offsets[peer.index()]..offsets[peer.index() + 1]);
    let mut frame = Frame::new(ranges().map(|range| range.len()).sum(), x.ncols())?;
    for (r, mut row) in ranges().flatten().zip(frame.view_mut().rows_mut()) {
        row.assign(&x.row(r));
    }
    Ok(frame.into_matrix())
}

/// Writes the rows numbered `order` into the first `d` columns, those that are in use from then on,
/// and returns their labels.
fn gather(source: &Rows, order: &[u32], d: usize, frame: &mut Frame) -> Vec<f64> {
    frame.narrow(d);
    let mut x = frame.view_mut();
    let rows = order.iter().zip(x.rows_mut());
    let write = |(&r, row): (&u32, ndarray::ArrayViewMut1<'_, f64>)| {
        source.write(r, row.into_slice().expect("the cells of a row are side by side"))
    };
    rows.map(write).collect()
}

#[cfg(test)]
mod published;
#[cfg(test)]
mod tests;
