//! Symmetric matrices in packed storage: the lower triangle, row after row.

use super::rows::{add, dots};
use super::{Four, Loop};

/// Samples that go into a tile before it is put back.
const SAMPLES: usize = 64;
/// Columns of a tile.
const COLUMNS: usize = 8;

/// A ← A + Σ_j c_j x_j x_jᵀ, in tiles that stay in registers over several samples. Samples are added in
/// their order, as one after the other would be.
pub(in super::super) struct AddOuter<'a> {
    /// The samples, one after the other.
    pub(in super::super) x: &'a [f64],
    /// One factor for each.
    pub(in super::super) c: &'a [f64],
    /// The rows of A.
    pub(in super::super) dimension: usize,
    /// A.
    pub(in super::super) entries: &'a mut [f64],
}

impl Loop for AddOuter<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Four>(self) {
        let Self { x, c, dimension: d, entries } = self;
        for (x, c) in x.chunks(SAMPLES * d.max(1)).zip(c.chunks(SAMPLES)) {
            if F::ROWS == 4 {
                add_block::<F, 4>(x, c, d, entries);
            } else {
                add_block::<F, 2>(x, c, d, entries);
            }
        }
    }
}

/// The same for at most [`SAMPLES`] of them, T rows of A at a time.
#[inline(always)]
fn add_block<F: Four, const T: usize>(x: &[f64], c: &[f64], d: usize, entries: &mut [f64]) {
    let mut rest = entries;
    for top in (0..d).step_by(T) {
        let height = T.min(d - top);
        let length = height * top + height * (height + 1) / 2;
        let (strip, below) = rest.split_at_mut(length);
        rest = below;
        let mut starts = [0; T];
        for i in 1..T {
            starts[i] = starts[i - 1] + top + i;
        }
        // c_j x_j[i] of the rows of the strip; rows beyond the last one have none.
        let mut factors = [[0.0; T]; SAMPLES];
        for (j, (factors, c)) in factors.iter_mut().zip(c).enumerate() {
            let x = &x[j * d + top..][..height];
            match (x.first_chunk::<4>(), factors.first_chunk_mut::<4>()) {
                (Some(x), Some(factors)) => F::splat(*c).times(F::load(x)).store(factors),
                _ => {
                    for i in 0..height {
                        factors[i] = c * x[i];
                    }
                }
            }
        }
        let factors = &factors[..c.len()];
        // Tiles left of the diagonal are whole; of those that it crosses, only what is below it counts.
        for left in (0..top + height).step_by(COLUMNS) {
            let whole = height == T && left + COLUMNS <= top + 1;
            let mut widths = [0; T];
            if !whole {
                for (i, width) in widths[..height].iter_mut().enumerate() {
                    *width = (top + i + 1).saturating_sub(left).min(COLUMNS);
                }
            }
            let mut tile = [[0.0; COLUMNS]; T];
            for i in 0..height {
                let entries = &strip[starts[i] + left..];
                if whole {
                    tile[i].copy_from_slice(&entries[..COLUMNS]);
                } else {
                    tile[i][..widths[i]].copy_from_slice(&entries[..widths[i]]);
                }
            }
            if left + COLUMNS <= d {
                add_tile::<F, T>(&mut tile, factors, x, d, left);
            } else {
                let mut padded = [[0.0; COLUMNS]; SAMPLES];
                for (padded, x) in padded.iter_mut().zip(x.chunks_exact(d)) {
                    padded[..d - left].copy_from_slice(&x[left..]);
                }
                add_tile::<F, T>(&mut tile, factors, padded.as_flattened(), COLUMNS, 0);
            }
            for i in 0..height {
                let entries = &mut strip[starts[i] + left..];
                if whole {
                    entries[..COLUMNS].copy_from_slice(&tile[i]);
                } else {
                    entries[..widths[i]].copy_from_slice(&tile[i][..widths[i]]);
                }
            }
        }
    }
}

/// tile[i] ← tile[i] + Σ_j factors[j][i] · x_j[left..left + COLUMNS], x_j of length d.
#[inline(always)]
fn add_tile<F: Four, const T: usize>(
    tile: &mut [[f64; COLUMNS]; T],
    factors: &[[f64; T]],
    x: &[f64],
    d: usize,
    left: usize,
) {
    let mut low = [F::splat(0.0); T];
    let mut high = [F::splat(0.0); T];
    for i in 0..T {
        let (fours, _) = tile[i].as_chunks::<4>();
        (low[i], high[i]) = (F::load(&fours[0]), F::load(&fours[1]));
    }
    for (j, factors) in factors.iter().enumerate() {
        let (fours, _) = x[j * d + left..][..COLUMNS].as_chunks::<4>();
        let (x0, x1) = (F::load(&fours[0]), F::load(&fours[1]));
        for i in 0..T {
            let factor = F::splat(factors[i]);
            low[i] = low[i].plus(factor.times(x0));
            high[i] = high[i].plus(factor.times(x1));
        }
    }
    for i in 0..T {
        let (fours, _) = tile[i].as_chunks_mut::<4>();
        low[i].store(&mut fours[0]);
        high[i].store(&mut fours[1]);
    }
}

/// Where row i begins.
#[inline(always)]
fn start(i: usize) -> usize {
    i * (i + 1) / 2
}

/// Four rows from row i on, the first `length` columns of each.
#[inline(always)]
fn four_rows(entries: &[f64], i: usize, length: usize) -> [&[f64]; 4] {
    let mut rows = [&[][..]; 4];
    for r in 0..4 {
        rows[r] = &entries[start(i + r)..][..length];
    }
    rows
}

/// Dot products of four rows with one vector.
#[inline(always)]
fn four_dots<F: Four>(x: [&[f64]; 4], w: &[f64]) -> [f64; 4] {
    if F::ROWS == 4 {
        dots::<F, 4>(x, w)
    } else {
        let [a, b] = dots::<F, 2>([x[0], x[1]], w);
        let [c, d] = dots::<F, 2>([x[2], x[3]], w);
        [a, b, c, d]
    }
}

/// b ← L⁻¹b for the first `n` rows of L, four at a time: what the rows before them contribute first,
/// then what the four do to each other.
#[inline(always)]
fn forward<F: Four>(factor: &[f64], n: usize, b: &mut [f64]) {
    let fours = n - n % 4;
    for i in (0..fours).step_by(4) {
        let rows = four_rows(factor, i, i + 1);
        let (known, rest) = b.split_at_mut(i);
        let sums = four_dots::<F>(rows, known);
        for r in 0..4 {
            let row = &factor[start(i + r) + i..][..=r];
            let mut sum = sums[r];
            for k in 0..r {
                sum += row[k] * rest[k];
            }
            rest[r] = (rest[r] - sum) / row[r];
        }
    }
    for i in fours..n {
        let row = &factor[start(i)..=start(i) + i];
        let [sum] = dots::<F, 1>([row], &b[..i]);
        b[i] = (b[i] - sum) / row[i];
    }
}

/// A becomes its Cholesky factor L, A = LLᵀ; a pivot that is not positive ends it, and is returned with
/// its row.
pub(in super::super) struct Factor<'a> {
    /// The rows of A.
    pub(in super::super) dimension: usize,
    /// A.
    pub(in super::super) entries: &'a mut [f64],
}

impl Loop for Factor<'_> {
    type Output = Option<(usize, f64)>;

    #[inline(always)]
    fn run<F: Four>(self) -> Option<(usize, f64)> {
        // Row i of L solves L_{<i} l = a_i.
        for i in 0..self.dimension {
            let (above, row) = self.entries.split_at_mut(start(i));
            let (row, diagonal) = row[..=i].split_at_mut(i);
            forward::<F>(above, i, row);
            let [square] = dots::<F, 1>([row], row);
            let pivot = diagonal[0] - square;
            if pivot.is_nan() || pivot <= 0.0 {
                return Some((i, pivot));
            }
            diagonal[0] = pivot.sqrt();
        }
        None
    }
}

/// b ← (LLᵀ)⁻¹b.
pub(in super::super) struct Solve<'a> {
    /// The rows of L.
    pub(in super::super) dimension: usize,
    /// L.
    pub(in super::super) factor: &'a [f64],
    /// b.
    pub(in super::super) b: &'a mut [f64],
}

impl Loop for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Four>(self) {
        let Self { dimension: n, factor, b } = self;
        forward::<F>(factor, n, b);
        let fours = n - n % 4;
        for i in (fours..n).rev() {
            let row = &factor[start(i)..=start(i) + i];
            b[i] /= row[i];
            let s = -b[i];
            add::<F, 1>([s], [row], &mut b[..i]);
        }
        for i in (0..fours).step_by(4).rev() {
            // Downwards: the last of the four is known first.
            let (above, own) = b.split_at_mut(i);
            for r in (0..4).rev() {
                let row = &factor[start(i + r) + i..][..=r];
                own[r] /= row[r];
                for k in 0..r {
                    own[k] -= own[r] * row[k];
                }
            }
            let rows = four_rows(factor, i, i);
            let s = [-own[3], -own[2], -own[1], -own[0]];
            add::<F, 4>(s, [rows[3], rows[2], rows[1], rows[0]], above);
        }
    }
}
