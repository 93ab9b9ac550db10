//! A symmetric matrix of which one half is kept, to be multiplied with again and again.
//!
//! Columns go four at a time. Of those from 4J on, the rows from 4J on are kept, one column after the
//! other without gaps: the blocks on the diagonal are there in full, each below it once. Of d = 10 that is
//! 68 numbers where the matrix has 100, and memory is what a product of many small matrices waits for.

use super::consensus::Padded;
use super::kernel::{Four, LANES};

/// The greatest dimension.
pub(super) const LIMIT: usize = 64;

/// What nothing has been added to yet: a sum that begins with it is its first summand, without an addition.
const EMPTY: f64 = -0.0;
/// Ones where the last four of so many rows, modulo four, are rows; zeros behind them.
const ROWS: [[f64; LANES]; LANES] =
    [[1.0; LANES], [1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]];

/// How many numbers are kept in dimension d: behind the last column as many as a load of four may run over.
#[inline(always)]
pub(super) const fn length(d: usize) -> usize {
    let blocks = d / LANES;
    let last = d - LANES * blocks;
    // Σ_J 4(d − 4J) over the blocks of four columns, then the last columns.
    LANES * (blocks * d - LANES * blocks * blocks.saturating_sub(1) / 2) + last * last + LANES - 1
}

/// The first row of every column, and how many follow with it.
fn columns(d: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..d).map(move |column| LANES * (column / LANES)).map(move |first| (first, d - first))
}

/// Keeps the half of a matrix, given column after column.
pub(super) fn keep(matrix: &[f64], d: usize, half: &mut [f64]) {
    let mut rest = half;
    for (column, (first, rows)) in matrix.chunks_exact(d).zip(columns(d)) {
        let (kept, more) = rest.split_at_mut(rows);
        kept.copy_from_slice(&column[first..]);
        rest = more;
    }
    rest.fill(0.0);
}

/// w ← Mr in dimension d; behind their ends r has zeros and w gets them.
#[inline(always)]
pub(super) fn product<F: Four>(half: &[f64], d: usize, r: &Padded, w: &mut Padded) {
    // Where the compiler knows the dimension, sums stay in registers and columns are where it says.
    match d {
        1 => blocks::<F, 1>(half, 1, r, w),
        2 => blocks::<F, 1>(half, 2, r, w),
        3 => blocks::<F, 1>(half, 3, r, w),
        4 => blocks::<F, 1>(half, 4, r, w),
        5 => blocks::<F, 2>(half, 5, r, w),
        6 => blocks::<F, 2>(half, 6, r, w),
        7 => blocks::<F, 2>(half, 7, r, w),
        8 => blocks::<F, 2>(half, 8, r, w),
        9 => blocks::<F, 3>(half, 9, r, w),
        10 => blocks::<F, 3>(half, 10, r, w),
        11 => blocks::<F, 3>(half, 11, r, w),
        12 => blocks::<F, 3>(half, 12, r, w),
        _ => blocks::<F, { LIMIT / LANES }>(half, d, r, w),
    }
}

/// The same with room for the sums of N blocks of rows.
#[inline(always)]
fn blocks<F: Four, const N: usize>(half: &[f64], d: usize, r: &Padded, w: &mut Padded) {
    let lanes = d.div_ceil(LANES);
    let (r, w) = (&r[..lanes], &mut w[..lanes]);
    let mut sums = [F::splat(EMPTY); N];
    let mut rest = &half[..length(d)];
    for j in 0..lanes - 1 {
        let rows = d - LANES * j;
        // The last four of a column may run over into what follows.
        let (columns, across) = (rest, &mut [F::splat(EMPTY); LANES]);
        let four = |c: usize, i: usize| -> F {
            let from = &columns[c * rows + LANES * (i - j)..];
            F::load(from.first_chunk().expect("numbers follow the last column"))
        };
        for (c, r) in r[j].iter().enumerate() {
            sums[j] = sums[j].plus(four(c, j).times(F::splat(*r)));
        }
        for i in j + 1..lanes {
            let below = F::load(&r[i]);
            for (c, (r, across)) in r[j].iter().zip(across.iter_mut()).enumerate() {
                let four = four(c, i);
                sums[i] = sums[i].plus(four.times(F::splat(*r)));
                *across = across.plus(four.times(below));
            }
        }
        sums[j] = sums[j].plus(F::sums(*across));
        rest = &rest[LANES * rows..];
    }
    let j = lanes - 1;
    let rows = d - LANES * j;
    for (c, r) in r[j][..rows].iter().enumerate() {
        let column = rest[c * rows..].first_chunk().expect("numbers follow the last column");
        sums[j] = sums[j].plus(F::load(column).times(F::splat(*r)));
    }
    sums[j] = sums[j].times(F::load(&ROWS[d % LANES]));
    for (w, sum) in w.iter_mut().zip(sums) {
        sum.store(w);
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::{Loop, on_portable, run};
    use super::*;

    struct Product<'a>(&'a [f64], usize, &'a Padded, &'a mut Padded);

    impl Loop for Product<'_> {
        type Output = ();
        #[inline(always)]
        fn run<F: Four>(self) {
            product::<F>(self.0, self.1, self.2, self.3);
        }
    }

    #[test]
    fn a_product_is_that_of_the_whole_matrix_in_every_dimension() {
        for d in 1..=LIMIT {
            let entry = |i: usize, j: usize| (1.0 + (i + j) as f64).sin() + (i * j) as f64 / 7.0;
            let matrix: Vec<f64> = (0..d * d).map(|at| entry(at % d, at / d)).collect();
            assert_eq!(length(d), columns(d).map(|(_, rows)| rows).sum::<usize>() + 3);
            let mut half = vec![f64::NAN; length(d)];
            keep(&matrix, d, &mut half);
            let lanes = d.div_ceil(LANES);
            let mut r = vec![[0.0; LANES]; lanes];
            r.as_flattened_mut()[..d]
                .iter_mut()
                .enumerate()
                .for_each(|(k, r)| *r = (k as f64 * 0.7).cos());
            let (mut w, mut portable) = (vec![[f64::NAN; LANES]; lanes], vec![[3.0; LANES]; lanes]);
            run(Product(&half, d, &r, &mut w));
            on_portable(Product(&half, d, &r, &mut portable));
            assert_eq!(w, portable, "d = {d}");
            for i in 0..4 * lanes {
                let plain: f64 = match i < d {
                    true => (0..d).map(|j| entry(i, j) * r.as_flattened()[j]).sum(),
                    false => 0.0,
                };
                let size: f64 = (0..d).map(|j| (entry(i, j)).abs()).sum();
                let off = (w.as_flattened()[i] - plain).abs();
                assert!(off <= 1e-14 * size, "d = {d}, row {i}: {off}");
            }
        }
    }
}
