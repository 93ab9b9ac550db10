//! Loops over the rows of a linear model: dot products with them, and sums of them.
//!
//! Rows go by in blocks, so that w and g are read once for several rows and a row is still in the
//! cache when it is added to g. How many go together is no part of the result: the dot product of a
//! row and the order in which rows are added are those of [`Dot`] and [`Axpy`].

use super::{Four, Loop, prefetch};

/// Rows of a block.
pub(in super::super) const BLOCK: usize = 8;
/// Rows that are added to g together.
const ADDED: usize = 4;
/// Numbers of a cache line.
const LINE: usize = 8;

/// What is made of the margins of rows that follow each other, at most a [`BLOCK`] of them.
pub(in super::super) trait OfMargins {
    /// `z` holds the margins of `rows`, of which `first` is the number of the first, and is left with
    /// what each row is to be multiplied by. Implementations are `#[inline(always)]`.
    fn apply(&mut self, first: usize, rows: &[f64], z: &mut [f64]);
}

/// Goes over the margins z_j = wᵀx_j.
pub(in super::super) struct Scan<'a, M> {
    /// The rows, one after the other.
    pub(in super::super) x: &'a [f64],
    /// w.
    pub(in super::super) w: &'a [f64],
    /// What is made of them.
    pub(in super::super) of: M,
}

impl<M: OfMargins> Loop for Scan<'_, M> {
    type Output = M;

    #[inline(always)]
    fn run<F: Four>(self) -> M {
        let Self { x, w, mut of } = self;
        let d = w.len().max(1);
        let mut first = 0;
        let mut blocks = x.chunks_exact(BLOCK * d);
        for rows in blocks.by_ref() {
            let ahead = x.get((first + BLOCK) * d..).unwrap_or_default();
            for line in (0..BLOCK * d).step_by(LINE) {
                prefetch(ahead, line);
            }
            let mut z = [0.0; BLOCK];
            margins::<F>(rows, w, &mut z);
            of.apply(first, rows, &mut z);
            first += BLOCK;
        }
        let rows = blocks.remainder();
        let mut z = [0.0; BLOCK];
        let z = &mut z[..rows.len() / d];
        margins::<F>(rows, w, z);
        of.apply(first, rows, z);
        of
    }
}

/// g ← g + Σ_j s_j x_j, where s_j is what is made of the margin z_j = wᵀx_j, in one pass.
pub(in super::super) struct Gather<'a, M> {
    /// The rows, one after the other.
    pub(in super::super) x: &'a [f64],
    /// w.
    pub(in super::super) w: &'a [f64],
    /// g.
    pub(in super::super) g: &'a mut [f64],
    /// What is made of the margins.
    pub(in super::super) of: M,
}

impl<M: OfMargins> Loop for Gather<'_, M> {
    type Output = M;

    #[inline(always)]
    fn run<F: Four>(self) -> M {
        let Self { x, w, g, mut of } = self;
        let d = w.len().max(1);
        let block = BLOCK * d;
        let blocks = x.len() / block;
        let rows_of = |b: usize| &x[b * block..][..block];
        let mut z = [0.0; BLOCK];
        if blocks > 0 {
            margins::<F>(rows_of(0), w, &mut z);
        }
        for b in 0..blocks {
            let rows = rows_of(b);
            of.apply(b * BLOCK, rows, &mut z);
            // The next margins before this sum: they need not wait for the slopes.
            let mut next = [0.0; BLOCK];
            if b + 1 < blocks {
                margins::<F>(rows_of(b + 1), w, &mut next);
            }
            // The processor follows the stream while it is read, and stops while rows are added:
            // the block after the next is asked for here.
            let ahead = x.get((b + 2) * block..).unwrap_or_default();
            for (part, s) in z.as_chunks::<ADDED>().0.iter().enumerate() {
                let at = part * ADDED * d;
                for line in (at..at + ADDED * d).step_by(LINE) {
                    prefetch(ahead, line);
                }
                add::<F, ADDED>(*s, split(&rows[at..], d), g);
            }
            z = next;
        }
        let rows = &x[blocks * block..];
        let z = &mut z[..rows.len() / d];
        margins::<F>(rows, w, z);
        of.apply(blocks * BLOCK, rows, z);
        let (fours, ones) = z.as_chunks::<ADDED>();
        for (s, rows) in fours.iter().zip(rows.chunks_exact(ADDED * d)) {
            add::<F, ADDED>(*s, split(rows, d), g);
        }
        for (s, row) in ones.iter().zip(rows[fours.len() * ADDED * d..].chunks_exact(d)) {
            add::<F, 1>([*s], [row], g);
        }
        of
    }
}

/// z_j ← wᵀx_j.
#[inline(always)]
fn margins<F: Four>(rows: &[f64], w: &[f64], z: &mut [f64]) {
    let d = w.len().max(1);
    let done = if F::ROWS == 4 {
        let (z, _) = z.as_chunks_mut::<4>();
        for (z, rows) in z.iter_mut().zip(rows.chunks_exact(4 * d)) {
            *z = dots::<F, 4>(split(rows, d), w);
        }
        4 * z.len()
    } else {
        let (z, _) = z.as_chunks_mut::<2>();
        for (z, rows) in z.iter_mut().zip(rows.chunks_exact(2 * d)) {
            *z = dots::<F, 2>(split(rows, d), w);
        }
        2 * z.len()
    };
    for (z, row) in z[done..].iter_mut().zip(rows[done * d..].chunks_exact(d)) {
        [*z] = dots::<F, 1>([row], w);
    }
}

/// The first R rows. Here and below, arrays are filled by plain loops: what closures do is not sure to
/// be compiled into the function that has the registers.
#[inline(always)]
fn split<const R: usize>(rows: &[f64], d: usize) -> [&[f64]; R] {
    let mut out = [&[][..]; R];
    for r in 0..R {
        out[r] = &rows[r * d..(r + 1) * d];
    }
    out
}

/// x_rᵀw of rows that go together: for each, eight interleaved partial sums added pairwise, then the
/// tail in order.
#[inline(always)]
pub(in super::super) fn dots<F: Four, const R: usize>(x: [&[f64]; R], w: &[f64]) -> [f64; R] {
    let (w_pairs, _) = w.as_chunks::<4>().0.as_chunks::<2>();
    let mut pairs = [&[][..]; R];
    for r in 0..R {
        pairs[r] = &x[r][..w.len()].as_chunks::<4>().0.as_chunks::<2>().0[..w_pairs.len()];
    }
    let mut low = [F::splat(0.0); R];
    let mut high = [F::splat(0.0); R];
    for (k, [w0, w1]) in w_pairs.iter().enumerate() {
        let (w0, w1) = (F::load(w0), F::load(w1));
        for r in 0..R {
            let [x0, x1] = &pairs[r][k];
            low[r] = low[r].plus(F::load(x0).times(w0));
            high[r] = high[r].plus(F::load(x1).times(w1));
        }
    }
    let mut z = [0.0; R];
    for r in 0..R {
        let [a, b, c, d] = low[r].plus(high[r]).array();
        z[r] = (a + c) + (b + d);
    }
    for k in 8 * w_pairs.len()..w.len() {
        for r in 0..R {
            z[r] += x[r][k] * w[k];
        }
    }
    z
}

/// g ← g + Σ_r s_r x_r, added in the order of the rows.
#[inline(always)]
pub(super) fn add<F: Four, const R: usize>(s: [f64; R], x: [&[f64]; R], g: &mut [f64]) {
    let d = g.len();
    let (g_fours, g_tail) = g.as_chunks_mut::<4>();
    let mut factors = [F::splat(0.0); R];
    let mut fours = [&[][..]; R];
    for r in 0..R {
        factors[r] = F::splat(s[r]);
        fours[r] = &x[r][..d].as_chunks::<4>().0[..g_fours.len()];
    }
    for (k, g) in g_fours.iter_mut().enumerate() {
        let mut sum = F::load(g);
        for r in 0..R {
            sum = sum.plus(F::load(&fours[r][k]).times(factors[r]));
        }
        sum.store(g);
    }
    let done = d - g_tail.len();
    for (k, g) in g_tail.iter_mut().enumerate() {
        for r in 0..R {
            *g += s[r] * x[r][done + k];
        }
    }
}

/// aᵀb.
pub(in super::super) struct Dot<'a>(pub(in super::super) &'a [f64], pub(in super::super) &'a [f64]);

impl Loop for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<F: Four>(self) -> f64 {
        let [sum] = dots::<F, 1>([self.0], self.1);
        sum
    }
}

/// y ← y + αx.
pub(in super::super) struct Axpy<'a>(
    pub(in super::super) f64,
    pub(in super::super) &'a [f64],
    pub(in super::super) &'a mut [f64],
);

impl Loop for Axpy<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Four>(self) {
        add::<F, 1>([self.0], [self.1], self.2);
    }
}

/// Σ_k x_k, as thirty-two interleaved partial sums.
pub(super) struct Sum<'a>(pub(super) &'a [f64]);

impl Loop for Sum<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<F: Four>(self) -> f64 {
        let (fours, tail) = self.0.as_chunks::<4>();
        let (lines, last) = fours.as_chunks::<8>();
        let mut sums = [F::splat(0.0); 8];
        for line in lines {
            for k in 0..8 {
                sums[k] = sums[k].plus(F::load(&line[k]));
            }
        }
        for four in last {
            sums[0] = sums[0].plus(F::load(four));
        }
        let mut total = sums[0];
        for sum in &sums[1..] {
            total = total.plus(*sum);
        }
        let [a, b, c, d] = total.array();
        let mut sum = (a + c) + (b + d);
        for x in tail {
            sum += x;
        }
        sum
    }
}
