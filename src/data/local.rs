//! Training rows in peer order, and the handle through which a peer sees its own.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Axis, Slice};

use crate::units::PeerId;

/// All training rows in one matrix, in peer order: each peer's rows are contiguous. The matrix is
/// shared with what [`relabelled`](Self::relabelled) makes.
#[derive(PartialEq)]
pub struct Partitioned {
    x: Arc<Array2<f64>>,
    y: Vec<f64>,
    offsets: Arc<[usize]>,
}

impl Partitioned {
    /// Peer `i` gets rows `offsets[i]..offsets[i + 1]`.
    ///
    /// # Panics
    /// If there is not one label per row, or the offsets do not begin at 0, ascend and end with the
    /// rows.
    pub fn new(x: Array2<f64>, y: Vec<f64>, offsets: Vec<usize>) -> Self {
        assert!(offsets.first() == Some(&0) && offsets.last() == Some(&y.len()));
        assert!(x.nrows() == y.len() && offsets.is_sorted());
        Self { x: Arc::new(x), y, offsets: offsets.into() }
    }

    /// The same rows of the same peers under other labels, one per row in peer order: what peers
    /// work with where users answer for their labels.
    ///
    /// # Panics
    /// If there are more or fewer labels than rows.
    pub fn relabelled(&self, y: Vec<f64>) -> Self {
        let rows = self.total_rows();
        assert!(y.len() == rows, "found {} labels, expected {rows}, one for each row", y.len());
        Self { x: Arc::clone(&self.x), y, offsets: Arc::clone(&self.offsets) }
    }

    /// Where each peer's rows begin, and behind the last one where they end: peer `i` has rows
    /// `offsets[i]..offsets[i + 1]`.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Number of peers, those without rows included.
    pub fn peers(&self) -> usize {
        self.offsets.len() - 1
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

    /// How many rows there are.
    pub fn total_rows(&self) -> usize {
        self.y.len()
    }

    /// Number of columns, the intercept's included.
    pub fn dimension(&self) -> usize {
        self.x.ncols()
    }

    /// The rows of one peer.
    pub fn local(&self, peer: PeerId) -> LocalView<'_> {
        let range = self.range(peer);
        LocalView { x: self.x.slice_axis(Axis(0), Slice::from(range.clone())), y: &self.y[range] }
    }

    /// The rows of all peers, in peer order.
    pub fn everybody(&self) -> LocalView<'_> {
        LocalView { x: self.x.view(), y: &self.y }
    }

    fn range(&self, peer: PeerId) -> Range<usize> {
        self.offsets[peer.index()]..self.offsets[peer.index() + 1]
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

    /// The peer's rows.
    pub fn x(&self) -> ArrayView2<'_, f64> {
        self.everybody.local(self.peer).x
    }

    /// The labels of the peer's rows.
    pub fn y(&self) -> &[f64] {
        self.everybody.local(self.peer).y
    }

    /// Some of the peer's rows, one after the other, and their labels: what a token's visit is about,
    /// without a view being made of all rows first.
    ///
    /// # Panics
    /// Where the peer has no such rows.
    pub fn block(&self, rows: Range<usize>) -> (&[f64], &[f64]) {
        let Partitioned { x, y, offsets } = &*self.everybody;
        let (first, end) = (offsets[self.peer.index()], offsets[self.peer.index() + 1]);
        assert!(rows.end <= end - first, "rows {rows:?} of a peer with {}", end - first);
        let (d, rows) = (x.ncols(), first + rows.start..first + rows.end);
        let x = x.as_slice().expect("rows are stored one after the other");
        (&x[rows.start * d..rows.end * d], &y[rows])
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
