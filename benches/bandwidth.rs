//! How near the gradient comes to the speed of memory: beside a plain read of the same matrix.
//!
//! ```text
//! cargo bench --bench bandwidth
//! ```
//!
//! Read and gradient take turns; a ratio is that of two turns which follow each other, and the table
//! has its median. Two threads take half of the rows each. The portable kernel's gradient stands
//! beside a read by the portable kernel.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::hint::black_box;
use std::time::Instant;

use hushmesh::learn::{Loss, Objective, Samples, kernel};
use hushmesh::report::{Column, Table};
use ndarray::{Array2, ArrayView2, s};

const TURNS: usize = 31;

fn main() {
    let mut table = Table::new([
        Column::text("kernel"),
        Column::text("rows × features"),
        Column::number("threads"),
        Column::number("plain read").unit("GB/s"),
        Column::number("gradient").unit("GB/s"),
        Column::number("gradient / read"),
        Column::number("first quartile"),
        Column::number("third quartile"),
    ]);
    for portable in [false, true] {
        if portable {
            kernel::force_portable();
        }
        for (m, d) in [(45_000, 105), (200_000, 105)] {
            let x = Array2::from_shape_fn((m, d), |(i, j)| 0.1 * ((i * 13 + j * 7) as f64).sin());
            let y: Vec<f64> = (0..m).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
            let w: Vec<f64> = (0..d).map(|j| (j as f64).cos()).collect();
            for threads in [1, 2] {
                let turns: Vec<[f64; 2]> = (0..TURNS)
                    .map(|_| {
                        let read = seconds(&x, &y, threads, |x, _| {
                            let x = x.to_slice().expect("rows one after the other");
                            black_box(kernel::sum(x));
                        });
                        let gradient = seconds(&x, &y, threads, |x, y| {
                            let mut g = vec![0.0; d];
                            let objective = Objective::mean(Samples::new(x, y), Loss::Logistic);
                            black_box(objective.gradient(&w, &mut g));
                        });
                        [read, gradient]
                    })
                    .collect();
                let rate = |which: usize| {
                    let time = quantile(turns.iter().map(|turn| turn[which]), 0.5);
                    8e-9 * x.len() as f64 / time
                };
                let ratio = |share| quantile(turns.iter().map(|turn| turn[0] / turn[1]), share);
                table.row([
                    kernel::name().into(),
                    format!("{m} × {d}").into(),
                    threads.into(),
                    rate(0).into(),
                    rate(1).into(),
                    ratio(0.5).into(),
                    ratio(0.25).into(),
                    ratio(0.75).into(),
                ]);
            }
        }
    }
    println!("{}", table.to_markdown());
}

/// The time that threads take together, each for its share of the rows.
fn seconds(
    x: &Array2<f64>,
    y: &[f64],
    threads: usize,
    work: impl Fn(ArrayView2<'_, f64>, &[f64]) + Sync,
) -> f64 {
    let began = Instant::now();
    if threads == 1 {
        work(x.view(), y);
    } else {
        let share = y.len() / threads;
        std::thread::scope(|scope| {
            for (thread, y) in y.chunks_exact(share).enumerate() {
                let (x, work) = (x.slice(s![thread * share..(thread + 1) * share, ..]), &work);
                scope.spawn(move || work(x, y));
            }
        });
    }
    began.elapsed().as_secs_f64()
}

fn quantile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[(share * (values.len() - 1) as f64).round() as usize]
}
