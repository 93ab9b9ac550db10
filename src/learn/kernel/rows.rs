//! Loops over the rows of a linear model: dot products with them, and sums of them.
//!
//! Rows go by in blocks, so that w and g are read once for several rows and a row, unless it is very long, is still in the
//! cache when it is added to g. How many go together is no part of the result: the dot product of a
//! row and the order in which rows are added are those of [`Dot`] and [`Axpy`].
//!
//! Rows that go together are read side by side, and processors need not see that as one stream to
//! follow: a pass over more than a cache holds asks for the rows ahead of it, a few lines with each
//! step. Far ahead it asks for them as far as the second cache, which bears many that are on their way, and near
//! as far as the first.

use std::ops::Range;

use super::{Four, Loop};
use crate::units::prefetch::{self, LINE};

/// The most rows of a block.
pub(in super::super) const BLOCK: usize = 8;
/// How many numbers lie in a cache where they need not be asked for.
pub(super) const CACHED: usize = 1 << 15;
/// How many numbers before they are used they are asked for as far as the second cache, and as the first.
const FAR: usize = 2048;
const NEAR: usize = 848;

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
        match (F::ROWS == 4, self.x.len() > CACHED) {
            (true, true) => self.run_by::<F, 4, true>(),
            (true, false) => self.run_by::<F, 4, false>(),
            (false, true) => self.run_by::<F, 2, true>(),
            (false, false) => self.run_by::<F, 2, false>(),
        }
    }
}

impl<M: OfMargins> Scan<'_, M> {
    /// Runs it with the dot products of R rows together.
    #[inline(always)]
    fn run_by<F: Four, const R: usize, const ASK: bool>(self) -> M {
        let Self { x, w, mut of } = self;
        let d = w.len().max(1);
        let mut first = 0;
        let mut blocks = x.chunks_exact(BLOCK * d);
        if ASK {
            ask_for_first(x);
        }
        for rows in blocks.by_ref() {
            let mut z = [0.0; BLOCK];
            for (part, z) in z.as_chunks_mut::<R>().0.iter_mut().enumerate() {
                let at = part * R * d;
                let rows = split(&rows[at..], d);
                *z = if ASK {
                    dots_and_ask::<F, R>(rows, w, Later::of(x, first * d + at, R * d))
                } else {
                    dots::<F, R>(rows, w)
                };
            }
            of.apply(first, rows, &mut z);
            first += BLOCK;
        }
        let rows = blocks.remainder();
        let mut z = [0.0; BLOCK];
        let z = &mut z[..rows.len() / d];
        margins::<F, R>(rows, w, z);
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
        match (F::ROWS == 4, self.x.len() > CACHED) {
            (true, true) => self.run_by::<F, 4, 4, true>(),
            (true, false) => self.run_by::<F, 4, BLOCK, false>(),
            (false, true) => self.run_by::<F, 2, 2, true>(),
            (false, false) => self.run_by::<F, 2, BLOCK, false>(),
        }
    }
}

impl<M: OfMargins> Gather<'_, M> {
    /// Runs it with R rows together in blocks of B. A block is added two blocks after its margins are taken, in one
    /// loop with the margins of the block that goes by then: that loop waits for no slopes, and there
    /// is work while memory answers. While slopes are made, nothing is asked for: from memory, blocks are short.
    #[inline(always)]
    fn run_by<F: Four, const R: usize, const B: usize, const ASK: bool>(self) -> M {
        let Self { x, w, g, mut of } = self;
        let d = w.len().max(1);
        let block = B * d;
        let blocks = x.len() / block;
        let rows_of = |b: usize| &x[b * block..][..block];
        // The slopes of a block, and the margins of the one after it.
        let (mut s, mut z) = ([0.0; B], [0.0; B]);
        if ASK {
            ask_for_first(x);
        }
        for b in 0..blocks {
            let mut next = [0.0; B];
            if b < 2 {
                margins::<F, R>(rows_of(b), w, &mut next);
            } else {
                let (added, rows) = (rows_of(b - 2), rows_of(b));
                let parts = s.as_chunks::<R>().0.iter().zip(next.as_chunks_mut::<R>().0);
                for (part, (s, next)) in parts.enumerate() {
                    let at = part * R * d;
                    let (added, rows) = (split(&added[at..], d), split(&rows[at..], d));
                    let later = ASK.then(|| Later::of(x, b * block + at, R * d));
                    *next = add_and_dots::<F, R>(*s, added, g, rows, w, later);
                }
            }
            if b > 0 {
                of.apply((b - 1) * B, rows_of(b - 1), &mut z);
            }
            (s, z) = (z, next);
        }
        for b in blocks.saturating_sub(2)..blocks {
            if b + 1 == blocks {
                of.apply(b * B, rows_of(b), &mut z);
                s = z;
            }
            add_all::<F, R>(&s, rows_of(b), g);
        }
        let rows = &x[blocks * block..];
        let s = &mut s[..rows.len() / d];
        margins::<F, R>(rows, w, s);
        of.apply(blocks * B, rows, s);
        add_all::<F, R>(s, rows, g);
        of
    }
}

/// What is asked for while others are used: what is as far ahead of them as it is to come into a cache, or the last
/// that there is.
#[derive(Clone, Copy)]
struct Later<'a> {
    far: &'a [f64],
    near: &'a [f64],
}

impl<'a> Later<'a> {
    /// What is asked for while `count` numbers from `at` on are used.
    #[inline(always)]
    fn of(x: &'a [f64], at: usize, count: usize) -> Self {
        // Of rows that are longer than that, none is asked for when it has gone by.
        let ahead = |by: usize| &x[(at + by.max(count)).min(x.len() - count)..][..count];
        Self { far: ahead(FAR), near: ahead(NEAR) }
    }

    /// Asks for these lines of them.
    #[inline(always)]
    fn ask(self, lines: Range<usize>) {
        for line in lines {
            prefetch::line(self.far.as_ptr().wrapping_add(LINE * line));
            prefetch::line_soon(self.near.as_ptr().wrapping_add(LINE * line));
        }
    }

    /// Asks for the lines from this one on.
    #[inline(always)]
    fn ask_from(self, line: usize) {
        self.ask(line..self.far.len().div_ceil(LINE));
    }
}

/// Asks for what nothing goes before.
#[inline(always)]
fn ask_for_first(x: &[f64]) {
    for line in x[..FAR.min(x.len())].chunks(LINE) {
        prefetch::line(line.as_ptr());
    }
}

/// z_j ← wᵀx_j.
#[inline(always)]
fn margins<F: Four, const R: usize>(rows: &[f64], w: &[f64], z: &mut [f64]) {
    let d = w.len().max(1);
    let (parts, ones) = z.as_chunks_mut::<R>();
    let (together, alone) = rows.split_at(parts.len() * R * d);
    for (z, rows) in parts.iter_mut().zip(together.chunks_exact(R * d)) {
        *z = dots::<F, R>(split(rows, d), w);
    }
    for (z, row) in ones.iter_mut().zip(alone.chunks_exact(d)) {
        [*z] = dots::<F, 1>([row], w);
    }
}

/// g ← g + Σ_j s_j x_j.
#[inline(always)]
fn add_all<F: Four, const R: usize>(s: &[f64], rows: &[f64], g: &mut [f64]) {
    let d = g.len().max(1);
    let (parts, ones) = s.as_chunks::<R>();
    let (together, alone) = rows.split_at(parts.len() * R * d);
    for (s, rows) in parts.iter().zip(together.chunks_exact(R * d)) {
        add::<F, R>(*s, split(rows, d), g);
    }
    for (s, row) in ones.iter().zip(alone.chunks_exact(d)) {
        add::<F, 1>([*s], [row], g);
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

/// Eight numbers that follow each other.
type Eight = [[f64; 4]; 2];

/// The eights of x.
#[inline(always)]
fn eights(x: &[f64]) -> &[Eight] {
    x.as_chunks::<4>().0.as_chunks::<2>().0
}

/// The first `count` eights of each row.
#[inline(always)]
fn eights_of<const R: usize>(x: [&[f64]; R], count: usize) -> [&[Eight]; R] {
    let mut out = [&[][..]; R];
    for r in 0..R {
        out[r] = &eights(x[r])[..count];
    }
    out
}

/// x_rᵀw of rows that go together, on the way: for each, eight interleaved partial sums.
struct Partial<F, const R: usize> {
    low: [F; R],
    high: [F; R],
}

impl<F: Four, const R: usize> Partial<F, R> {
    #[inline(always)]
    fn new() -> Self {
        Self { low: [F::splat(0.0); R], high: [F::splat(0.0); R] }
    }

    /// Adds the products of eight k of every row.
    #[inline(always)]
    fn add(&mut self, x: &[&[Eight]; R], k: usize, [w0, w1]: &Eight) {
        let (w0, w1) = (F::load(w0), F::load(w1));
        for (r, x) in x.iter().enumerate() {
            let [x0, x1] = &x[k];
            self.low[r] = self.low[r].plus(F::load(x0).times(w0));
            self.high[r] = self.high[r].plus(F::load(x1).times(w1));
        }
    }

    /// The partial sums added pairwise, then the tail in order.
    #[inline(always)]
    fn finish(self, x: [&[f64]; R], w: &[f64]) -> [f64; R] {
        let mut z = [0.0; R];
        for (r, z) in z.iter_mut().enumerate() {
            let [a, b, c, d] = self.low[r].plus(self.high[r]).array();
            *z = (a + c) + (b + d);
        }
        for k in 8 * (w.len() / 8)..w.len() {
            for r in 0..R {
                z[r] += x[r][k] * w[k];
            }
        }
        z
    }
}

/// x_rᵀw of rows that go together.
#[inline(always)]
pub(in super::super) fn dots<F: Four, const R: usize>(x: [&[f64]; R], w: &[f64]) -> [f64; R] {
    let w_eights = eights(w);
    let x_eights = eights_of(x, w_eights.len());
    let mut partial = Partial::<F, R>::new();
    for (k, w) in w_eights.iter().enumerate() {
        partial.add(&x_eights, k, w);
    }
    partial.finish(x, w)
}

/// [`dots`], while as much that comes later is asked for.
#[inline(always)]
fn dots_and_ask<F: Four, const R: usize>(x: [&[f64]; R], w: &[f64], later: Later<'_>) -> [f64; R] {
    let w_eights = eights(w);
    let x_eights = eights_of(x, w_eights.len());
    let mut partial = Partial::<F, R>::new();
    for (k, w) in w_eights.iter().enumerate() {
        later.ask(R * k..R * (k + 1));
        partial.add(&x_eights, k, w);
    }
    later.ask_from(R * w_eights.len());
    partial.finish(x, w)
}

/// [`add`] of rows whose slopes are known and [`dots`] of rows y_r after them, in one loop, while as much
/// that comes later is asked for, if anything is.
#[inline(always)]
fn add_and_dots<F: Four, const R: usize>(
    s: [f64; R],
    x: [&[f64]; R],
    g: &mut [f64],
    y: [&[f64]; R],
    w: &[f64],
    later: Option<Later<'_>>,
) -> [f64; R] {
    let w_eights = eights(w);
    let count = w_eights.len();
    let (x_eights, y_eights) = (eights_of(x, count), eights_of(y, count));
    let g_eights = &mut g.as_chunks_mut::<4>().0.as_chunks_mut::<2>().0[..count];
    let mut factors = [F::splat(0.0); R];
    for r in 0..R {
        factors[r] = F::splat(s[r]);
    }
    let mut partial = Partial::<F, R>::new();
    for k in 0..count {
        if let Some(later) = later {
            later.ask(R * k..R * (k + 1));
        }
        partial.add(&y_eights, k, &w_eights[k]);
        let [g0, g1] = &mut g_eights[k];
        let (mut sum0, mut sum1) = (F::load(g0), F::load(g1));
        for r in 0..R {
            let [x0, x1] = &x_eights[r][k];
            sum0 = sum0.plus(F::load(x0).times(factors[r]));
            sum1 = sum1.plus(F::load(x1).times(factors[r]));
        }
        sum0.store(g0);
        sum1.store(g1);
    }
    if let Some(later) = later {
        later.ask_from(R * count);
    }
    for k in 8 * count..w.len() {
        for r in 0..R {
            g[k] += s[r] * x[r][k];
        }
    }
    partial.finish(y, w)
}

/// g ← g + Σ_r s_r x_r, added in the order of the rows.
#[inline(always)]
pub(in super::super) fn add<F: Four, const R: usize>(s: [f64; R], x: [&[f64]; R], g: &mut [f64]) {
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
