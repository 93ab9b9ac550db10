//! Training rows in peer order, and the handle through which a peer sees its own.

use std::cell::RefCell;
use std::fmt;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Axis, Slice};

use super::partition;
use super::recipe::Recipe;
use crate::units::{Members, PeerId};

/// All training rows in peer order: each peer's rows are contiguous. Their features are in one matrix
/// or, where rows do not stay in memory (`data.keep: false`), made again from the seed on demand.
/// Either is shared with what [`relabelled`](Self::relabelled) makes.
///
/// Where a run is on several processes, each may have the features of its own peers alone, and of
/// others no more than how many rows they have, or not even that: then these have none here.
pub struct Partitioned {
    x: Arc<Features>,
    y: Vec<f64>,
    offsets: Arc<[usize]>,
    /// Where each peer's rows begin among the features that are here, [`ELSEWHERE`] for those that are
    /// not; nothing where all are here, in the order of peers.
    starts: Option<Arc<[usize]>>,
    /// Whose rows these are, where nothing is kept of the others: labels and offsets are then theirs, in
    /// their order.
    alone: Option<Arc<Alone>>,
}

/// Some peers, and how many there are of them and their rows in all processes.
struct Alone {
    members: Members,
    peers: usize,
    rows: usize,
}

/// The rows of a peer that another process has.
const ELSEWHERE: usize = usize::MAX;

/// Where features are.
pub(super) enum Features {
    /// In memory.
    Stored(Array2<f64>),
    /// Nowhere, until they are asked for.
    Made(Recipe),
}

impl Features {
    fn shape(&self) -> (usize, usize) {
        match self {
            Self::Stored(x) => x.dim(),
            Self::Made(recipe) => (recipe.rows(), recipe.dimension()),
        }
    }
}

thread_local! {
    /// Where a worker makes rows: lent to each [`Held`] in turn, so that nothing is allocated once it
    /// has grown to the largest peer.
    static BENCH: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

impl Partitioned {
    /// Peer `i` gets rows `offsets[i]..offsets[i + 1]`.
    ///
    /// # Panics
    /// If there is not one label per row, or the offsets do not begin at 0, ascend and end with the
    /// rows.
    pub fn new(x: Array2<f64>, y: Vec<f64>, offsets: Vec<usize>) -> Self {
        Self::of(Features::Stored(x), y, offsets)
    }

    /// The same of rows that are made when they are asked for.
    pub(super) fn made(recipe: Recipe, y: Vec<f64>, offsets: Vec<usize>) -> Self {
        Self::of(Features::Made(recipe), y, offsets)
    }

    fn of(x: Features, y: Vec<f64>, offsets: Vec<usize>) -> Self {
        assert!(offsets.first() == Some(&0) && offsets.last() == Some(&y.len()));
        assert!(x.shape().0 == y.len() && offsets.is_sorted());
        Self { x: Arc::new(x), y, offsets: offsets.into(), starts: None, alone: None }
    }

    /// The same, with the features of these peers alone, one peer after the other.
    pub(super) fn some(x: Features, y: Vec<f64>, offsets: Vec<usize>, peers: &Members) -> Self {
        assert!(offsets.first() == Some(&0) && offsets.last() == Some(&y.len()));
        let mut starts = vec![ELSEWHERE; offsets.len() - 1];
        let mut rows = 0;
        for peer in peers.iter() {
            starts[peer.index()] = rows;
            rows += offsets[peer.index() + 1] - offsets[peer.index()];
        }
        assert!(x.shape().0 == rows && offsets.is_sorted());
        let starts = Some(starts.into());
        Self { x: Arc::new(x), y, offsets: offsets.into(), starts, alone: None }
    }

    /// These peers with so many rows each, and nothing of the others: of so many peers with so many rows
    /// in all.
    pub(super) fn alone(
        x: Features,
        y: Vec<f64>,
        sizes: &[usize],
        members: Members,
        peers: usize,
        rows: usize,
    ) -> Self {
        let offsets = partition::offsets(sizes);
        assert!(x.shape().0 == y.len() && offsets.last() == Some(&y.len()));
        assert!(sizes.len() == members.len());
        let alone = Some(Arc::new(Alone { members, peers, rows }));
        Self { x: Arc::new(x), y, offsets: offsets.into(), starts: None, alone }
    }

    /// Whether a peer's features are here, and not in another process.
    pub fn holds(&self, peer: PeerId) -> bool {
        if let Some(alone) = &self.alone {
            return alone.members.place(peer).is_some();
        }
        self.starts.as_ref().is_none_or(|starts| starts[peer.index()] != ELSEWHERE)
    }

    /// Where a peer's rows are among the features.
    fn place(&self, peer: PeerId) -> Range<usize> {
        let range = self.range(peer);
        if self.starts.is_none() && self.alone.is_none() {
            return range;
        }
        assert!(self.holds(peer), "the rows of peer {peer} are in another process");
        let Some(starts) = &self.starts else { return range };
        let start = starts[peer.index()];
        start..start + range.len()
    }

    /// The same rows of the same peers under other labels, one per row in peer order: what peers
    /// work with where users answer for their labels.
    ///
    /// # Panics
    /// If there are more or fewer labels than rows.
    pub fn relabelled(&self, y: Vec<f64>) -> Self {
        let rows = self.y.len();
        assert!(y.len() == rows, "found {} labels, expected {rows}, one for each row", y.len());
        Self {
            x: Arc::clone(&self.x),
            y,
            offsets: Arc::clone(&self.offsets),
            starts: self.starts.clone(),
            alone: self.alone.clone(),
        }
    }

    /// Whether all features are in memory.
    pub fn is_stored(&self) -> bool {
        matches!(*self.x, Features::Stored(_))
    }

    /// The same rows, all in memory: for what goes through all of them many times, such as the solver
    /// of the pooled problem, and lets go of them afterwards. Costs nothing where they are stored.
    #[must_use]
    pub fn stored(self: &Arc<Self>) -> Arc<Self> {
        match &*self.x {
            Features::Stored(_) => Arc::clone(self),
            Features::Made(recipe) => Arc::new(Self {
                x: Arc::new(Features::Stored(recipe.matrix())),
                y: self.y.clone(),
                offsets: Arc::clone(&self.offsets),
                starts: self.starts.clone(),
                alone: self.alone.clone(),
            }),
        }
    }

    /// Where each peer's rows begin, and behind the last one where they end: peer `i` has rows
    /// `offsets[i]..offsets[i + 1]`. Where nothing is kept of other peers, it is of the own ones.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Number of peers, those without rows included.
    pub fn peers(&self) -> usize {
        self.alone.as_ref().map_or(self.offsets.len() - 1, |alone| alone.peers)
    }

    /// The peers.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = PeerId> + use<> {
        (0..self.peers()).map(PeerId::new)
    }

    /// How many rows a peer has.
    ///
    /// # Panics
    /// Like every method that takes a peer: where there is no such peer.
    pub fn rows(&self, peer: PeerId) -> usize {
        self.range(peer).len()
    }

    /// How many rows there are, here and in other processes.
    pub fn total_rows(&self) -> usize {
        self.alone.as_ref().map_or(self.y.len(), |alone| alone.rows)
    }

    /// Number of columns, the intercept's included.
    pub fn dimension(&self) -> usize {
        self.x.shape().1
    }

    /// The labels of all rows, in peer order. Where nothing is kept of other peers, those of the own ones.
    pub fn labels(&self) -> &[f64] {
        &self.y
    }

    /// The rows of one peer, stored or made for the occasion.
    pub fn held(&self, peer: PeerId) -> Held<'_> {
        let (place, y) = (self.place(peer), &self.y[self.range(peer)]);
        match &*self.x {
            Features::Stored(x) => {
                Held(Hand::Stored(LocalView { x: x.slice_axis(Axis(0), Slice::from(place)), y }))
            }
            Features::Made(recipe) => {
                let mut cells = BENCH.take();
                recipe.write(place, &mut cells);
                Held(Hand::Made { cells, dimension: recipe.dimension(), y })
            }
        }
    }

    /// The rows of one peer.
    ///
    /// # Panics
    /// Where rows are not stored: [`held`](Self::held) has them.
    pub fn local(&self, peer: PeerId) -> LocalView<'_> {
        LocalView {
            x: self.matrix().slice_axis(Axis(0), Slice::from(self.place(peer))),
            y: &self.y[self.range(peer)],
        }
    }

    /// The rows of all peers, in peer order.
    ///
    /// # Panics
    /// Where rows are not stored: those of [`stored`](Self::stored) are; where some are in another
    /// process.
    pub fn everybody(&self) -> LocalView<'_> {
        let all = self.starts.is_none() && self.alone.is_none();
        assert!(all, "some rows are in another process");
        LocalView { x: self.matrix().view(), y: &self.y }
    }

    fn matrix(&self) -> &Array2<f64> {
        match &*self.x {
            Features::Stored(x) => x,
            Features::Made(_) => panic!("rows are not stored (data.keep: false)"),
        }
    }

    #[inline]
    fn range(&self, peer: PeerId) -> Range<usize> {
        let place = match &self.alone {
            None => peer.index(),
            Some(alone) => match alone.members.place(peer) {
                Some(place) => place,
                None => return 0..0,
            },
        };
        self.offsets[place]..self.offsets[place + 1]
    }
}

/// The same rows, whether they are stored or not.
impl PartialEq for Partitioned {
    fn eq(&self, other: &Self) -> bool {
        let same = |peer| self.held(peer).view().x == other.held(peer).view().x;
        self.y == other.y && self.offsets == other.offsets && self.ids().all(same)
    }
}

/// Shapes only: rows are somebody's private data, and there are many.
impl fmt::Debug for Partitioned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partitioned")
            .field("peers", &self.peers())
            .field("rows", &self.total_rows())
            .field("dimension", &self.dimension())
            .finish_non_exhaustive()
    }
}

/// Rows of one or all peers, borrowed.
#[derive(Clone, Copy)]
pub struct LocalView<'a> {
    /// One row per sample.
    pub x: ArrayView2<'a, f64>,
    /// One label per row.
    pub y: &'a [f64],
}

/// One peer's rows for as long as they are worked with: borrowed where they are stored, made where they
/// are not. What was made is gone when this is.
pub struct Held<'a>(Hand<'a>);

enum Hand<'a> {
    Stored(LocalView<'a>),
    Made { cells: Vec<f64>, dimension: usize, y: &'a [f64] },
}

impl Held<'_> {
    /// The rows.
    pub fn view(&self) -> LocalView<'_> {
        match &self.0 {
            Hand::Stored(LocalView { x, y }) => LocalView { x: x.reborrow(), y },
            Hand::Made { cells, dimension, y } => {
                let x = ArrayView2::from_shape((y.len(), *dimension), cells);
                LocalView { x: x.expect("one cell per row and column"), y }
            }
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Hand::Made { cells, .. } = &mut self.0 {
            BENCH.set(mem::take(cells));
        }
    }
}

/// What a peer holds of the data: a handle that reaches its own rows and nobody else's.
#[derive(Clone)]
pub struct LocalData {
    everybody: Arc<Partitioned>,
    peer: PeerId,
}

impl LocalData {
    /// The handle of `peer`.
    ///
    /// # Panics
    /// Where the data was not dealt to such a peer.
    pub fn new(everybody: Arc<Partitioned>, peer: PeerId) -> Self {
        assert!(peer.index() < everybody.peers(), "no rows were dealt to a peer {peer}");
        Self { everybody, peer }
    }

    /// The peer's rows, stored or made for the occasion.
    pub fn held(&self) -> Held<'_> {
        self.everybody.held(self.peer)
    }

    /// The peer's rows.
    ///
    /// # Panics
    /// Where rows are not stored: [`held`](Self::held) has them.
    pub fn x(&self) -> ArrayView2<'_, f64> {
        self.everybody.local(self.peer).x
    }

    /// The labels of the peer's rows.
    pub fn y(&self) -> &[f64] {
        &self.everybody.y[self.everybody.range(self.peer)]
    }

    /// Some of the peer's rows, one after the other, and their labels: what a token's visit is about,
    /// without a view being made of all rows first.
    ///
    /// # Panics
    /// Where the peer has no such rows, or none are stored.
    pub fn block(&self, rows: Range<usize>) -> (&[f64], &[f64]) {
        let (Partitioned { y, .. }, x) = (&*self.everybody, self.everybody.matrix());
        let own = self.everybody.range(self.peer);
        assert!(rows.end <= own.len(), "rows {rows:?} of a peer with {}", own.len());
        let (d, first) = (x.ncols(), self.everybody.place(self.peer).start);
        let x = x.as_slice().expect("rows are stored one after the other");
        let x = &x[(first + rows.start) * d..(first + rows.end) * d];
        (x, &y[own.start + rows.start..own.start + rows.end])
    }

    /// How many rows the peer has.
    pub fn rows(&self) -> usize {
        self.everybody.rows(self.peer)
    }

    /// Number of columns, the intercept's included.
    pub fn dimension(&self) -> usize {
        self.everybody.dimension()
    }
}

/// Shapes only, as for [`Partitioned`].
impl fmt::Debug for LocalData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalData")
            .field("peer", &self.peer.0)
            .field("rows", &self.rows())
            .field("dimension", &self.dimension())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn three_peers() -> Arc<Partitioned> {
        let x = array![[1.5, 2.5], [3.5, 4.5], [5.5, 6.5]];
        Arc::new(Partitioned::new(x, vec![1.0, -1.0, 1.0], vec![0, 1, 1, 3]))
    }

    #[test]
    fn a_peer_sees_its_own_rows() {
        let all = three_peers();
        assert_eq!((all.peers(), all.total_rows(), all.dimension()), (3, 3, 2));
        let local = LocalData::new(all.clone(), PeerId(2));
        assert_eq!(local.x(), array![[3.5, 4.5], [5.5, 6.5]]);
        assert_eq!(local.y(), [-1.0, 1.0]);
        let empty = LocalData::new(all, PeerId(1));
        assert_eq!((empty.rows(), empty.x().nrows(), empty.dimension()), (0, 0, 2));
    }

    #[test]
    fn a_block_is_some_of_a_peers_own_rows() {
        let local = LocalData::new(three_peers(), PeerId(2));
        assert_eq!(local.block(0..2), (&[3.5, 4.5, 5.5, 6.5][..], &[-1.0, 1.0][..]));
        assert_eq!(local.block(1..2), (&[5.5, 6.5][..], &[1.0][..]));
        assert_eq!(local.block(1..1), (&[][..], &[][..]));
    }

    #[test]
    #[should_panic(expected = "rows 0..2 of a peer with 1")]
    fn a_block_does_not_reach_into_the_next_peers_rows() {
        LocalData::new(three_peers(), PeerId(0)).block(0..2);
    }

    #[test]
    fn other_labels_for_the_same_rows() {
        let all = three_peers();
        let other = Arc::new(all.relabelled(vec![0.5, -2.0, 3.0]));
        assert!(Arc::ptr_eq(&all.x, &other.x), "rows are shared, not copied");
        assert_eq!(other.offsets(), [0, 1, 1, 3]);
        let local = LocalData::new(other, PeerId(2));
        assert_eq!(local.x(), array![[3.5, 4.5], [5.5, 6.5]]);
        assert_eq!(local.y(), [-2.0, 3.0]);
        assert_eq!(all.local(PeerId(2)).y, [-1.0, 1.0], "the original keeps its own");
        assert_eq!(all.relabelled(all.everybody().y.to_vec()), *all);
    }

    #[test]
    #[should_panic(expected = "found 2 labels, expected 3, one for each row")]
    fn a_row_without_a_label_is_refused() {
        let _ = three_peers().relabelled(vec![1.0, 1.0]);
    }

    #[test]
    fn rows_that_are_made_are_those_that_are_stored_whoever_holds_them_at_once() {
        use crate::data::{DataConfig, Samples, Source, prepare};
        use crate::units::Seed;

        let kept =
            DataConfig { samples: Some(Samples::PerPeer(3)), ..DataConfig::from(Source::Twonorm) };
        let streams = kept.streams(Seed(4), 0);
        let prepare = |config| prepare(config, 5, true, &streams, std::path::Path::new("."));
        let stored = prepare(&kept).unwrap().train;
        let made = prepare(&DataConfig { keep: false, ..kept.clone() }).unwrap().train;
        assert!(stored.is_stored() && !made.is_stored());
        assert!(stored == made && made.stored() == stored);
        // Two hands at once do not write into each other.
        let (one, other) = (made.held(PeerId(1)), made.held(PeerId(3)));
        assert_eq!(one.view().x, stored.local(PeerId(1)).x);
        assert_eq!(other.view().x, stored.local(PeerId(3)).x);
        assert_eq!((one.view().y, made.labels()), (stored.local(PeerId(1)).y, stored.labels()));
    }

    #[test]
    fn a_process_with_some_peers_rows_has_those_and_no_others() {
        // Peer 2 before peer 0, as a layout may have them.
        let (own, offsets) = ([PeerId(2), PeerId(0)], vec![0, 1, 1, 3]);
        let x = array![[3.5, 4.5], [5.5, 6.5], [1.5, 2.5]];
        let members = || Members::listed(own.to_vec());
        let y = vec![1.0, -1.0, 1.0];
        let some = Partitioned::some(Features::Stored(x.clone()), y, offsets, &members());
        // The same where nothing is known of the others.
        let y = vec![-1.0, 1.0, 1.0];
        let alone = Partitioned::alone(Features::Stored(x), y, &[2, 1], members(), 3, 3);
        let (some, alone, all) = (Arc::new(some), Arc::new(alone), three_peers());
        assert_eq!((alone.peers(), alone.total_rows(), alone.offsets()), (3, 3, &[0, 2, 3][..]));
        assert!(!alone.holds(PeerId(1)) && alone.rows(PeerId(1)) == 0);
        for (peer, some) in own.into_iter().flat_map(|peer| [(peer, &some), (peer, &alone)]) {
            assert!(some.holds(peer));
            assert_eq!(some.local(peer).x, all.local(peer).x);
            assert_eq!(some.held(peer).view().y, all.held(peer).view().y);
            let (here, there) = (Arc::clone(some), Arc::clone(&all));
            let block = |rows| (LocalData::new(here, peer), LocalData::new(there, peer), rows);
            let (here, there, rows) = block(0..1);
            assert_eq!(here.block(rows.clone()), there.block(rows));
        }
        assert!(!some.holds(PeerId(1)) && some.rows(PeerId(1)) == 0);
        assert_eq!((some.total_rows(), some.rows(PeerId(2))), (3, 2));
        let other = some.relabelled(vec![0.5, -2.0, 3.0]);
        assert_eq!((other.local(PeerId(2)).y, other.holds(PeerId(1))), (&[-2.0, 3.0][..], false));
    }

    #[test]
    #[should_panic(expected = "the rows of peer 1 are in another process")]
    fn rows_that_are_elsewhere_are_not_made_up() {
        let x = array![[3.5, 4.5]];
        let some = Partitioned::some(
            Features::Stored(x),
            vec![0.0, 1.0],
            vec![0, 1, 2],
            &Members::range(0..1),
        );
        some.held(PeerId(1));
    }

    #[test]
    fn debug_shows_shapes_and_no_data() {
        let all = three_peers();
        let local = LocalData::new(all.clone(), PeerId(2));
        assert_eq!(format!("{local:?}"), "LocalData { peer: 2, rows: 2, dimension: 2, .. }");
        assert_eq!(format!("{all:?}"), "Partitioned { peers: 3, rows: 3, dimension: 2, .. }");
    }

    #[test]
    #[should_panic(expected = "no rows were dealt to a peer 3")]
    fn there_is_no_handle_for_a_stranger() {
        LocalData::new(three_peers(), PeerId(3));
    }
}
