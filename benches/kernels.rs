//! How long the loops of `learn` take, one by one.
//!
//! ```text
//! cargo bench --bench kernels
//! ```
//!
//! `cargo bench --bench bandwidth` sets the gradient beside a plain read of the same matrix.

use divan::Bencher;
use divan::counter::BytesCount;
use hushmesh::learn::{Loss, Objective, Packed, Samples, axpy, dot, kernel};
use ndarray::Array2;

fn main() {
    divan::main();
}

/// Rows and columns of the matrices that are too large for the caches.
const SHAPES: [(usize, usize); 2] = [(45_000, 105), (200_000, 105)];
/// Rows of the matrices that are factored.
const DIMENSIONS: [usize; 5] = [10, 20, 105, 200, 512];

fn rows(m: usize, d: usize) -> (Array2<f64>, Vec<f64>, Vec<f64>) {
    let x = Array2::from_shape_fn((m, d), |(i, j)| 0.1 * ((i * 13 + j * 7) as f64).sin());
    let y = (0..m).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let w = (0..d).map(|j| (j as f64).cos()).collect();
    (x, y, w)
}

fn bytes(x: &Array2<f64>) -> BytesCount {
    BytesCount::of_many::<f64>(x.len())
}

#[divan::bench(args = SHAPES)]
fn plain_read(bencher: Bencher<'_, '_>, (m, d): (usize, usize)) {
    let (x, ..) = rows(m, d);
    let x = x.as_slice().expect("rows one after the other");
    bencher.counter(BytesCount::of_slice(x)).bench_local(|| kernel::sum(divan::black_box(x)));
}

#[divan::bench(args = SHAPES)]
fn copy(bencher: Bencher<'_, '_>, (m, d): (usize, usize)) {
    let (x, ..) = rows(m, d);
    let mut to = x.clone();
    bencher.counter(bytes(&x)).bench_local(|| to.assign(divan::black_box(&x)));
}

#[divan::bench(args = SHAPES)]
fn gradient(bencher: Bencher<'_, '_>, (m, d): (usize, usize)) {
    let (x, y, w) = rows(m, d);
    let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
    let mut g = vec![0.0; d];
    bencher.counter(bytes(&x)).bench_local(|| objective.gradient(divan::black_box(&w), &mut g));
}

#[divan::bench(args = SHAPES)]
fn value(bencher: Bencher<'_, '_>, (m, d): (usize, usize)) {
    let (x, y, w) = rows(m, d);
    let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
    bencher.counter(bytes(&x)).bench_local(|| objective.value(divan::black_box(&w)));
}

#[divan::bench(args = SHAPES)]
fn hessian_product(bencher: Bencher<'_, '_>, (m, d): (usize, usize)) {
    let (x, y, w) = rows(m, d);
    let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
    let mut out = vec![0.0; d];
    bencher
        .counter(bytes(&x))
        .bench_local(|| objective.add_hessian_product(&y, divan::black_box(&w), &mut out));
}

/// The curvature of the logistic loss, one exponential for each of a thousand margins.
#[divan::bench]
fn thousand_exponentials(bencher: Bencher<'_, '_>) {
    let (x, y, _) = rows(1_000, 1);
    let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
    let mut c = vec![0.0; 1_000];
    bencher.bench_local(|| objective.curvatures(divan::black_box(&[40.0]), &mut c));
}

#[divan::bench(args = [(4_500, 105), (4_500, 20)])]
fn hessian(bencher: Bencher<'_, '_>, (m, d): (usize, usize)) {
    let (x, y, w) = rows(m, d);
    let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
    let mut hessian = Packed::identity(d, 1.0);
    bencher.bench_local(|| objective.add_hessian(divan::black_box(&w), &mut hessian));
}

/// The same row after row: what blocks save.
#[divan::bench(args = [(4_500, 105), (4_500, 20)])]
fn hessian_by_rows(bencher: Bencher<'_, '_>, (m, d): (usize, usize)) {
    let (x, y, w) = rows(m, d);
    let samples = Samples::new(x.view(), &y);
    let mut hessian = Packed::identity(d, 1.0);
    bencher.bench_local(|| {
        for (x, _) in samples.rows() {
            hessian.add_outer(Loss::Logistic.curvature(dot(x, divan::black_box(&w))), x);
        }
    });
}

fn positive_definite(d: usize) -> Packed {
    let (x, ..) = rows(2 * d, d);
    let mut a = Packed::identity(d, 0.1);
    a.add_outers(&vec![1.0; 2 * d], x.as_slice().expect("rows one after the other"));
    a
}

#[divan::bench(args = DIMENSIONS)]
fn cholesky_factor(bencher: Bencher<'_, '_>, d: usize) {
    let a = positive_definite(d);
    bencher.with_inputs(|| a.clone()).bench_local_refs(Packed::factor);
}

#[divan::bench(args = DIMENSIONS)]
fn cholesky_solve(bencher: Bencher<'_, '_>, d: usize) {
    let mut a = positive_definite(d);
    a.factor().expect("a positive definite matrix");
    bencher.with_inputs(|| vec![1.0; d]).bench_local_refs(|b| a.solve(b));
}

#[divan::bench(args = [20, 105, 10_000])]
fn dot_and_axpy(bencher: Bencher<'_, '_>, d: usize) {
    let (x, mut y) = (vec![0.5; d], vec![0.25; d]);
    bencher.bench_local(|| {
        let along = dot(divan::black_box(&x), &y);
        axpy(1e-9 * along, &x, &mut y);
    });
}
