//! How near the gradient comes to the speed of memory: beside a plain read of the same matrix.
//!
//! ```text
//! cargo bench --bench bandwidth
//! ```
//!
//! Read and gradient take turns; a ratio is that of two turns which follow each other, and the table
//! has its median. Two threads take half of the rows each; like the workers of a run they stay, so that a turn
//! is not the time to make them. The portable kernel's gradient stands beside a read by the portable kernel.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::hint::{self, black_box};
use std::sync::atomic::{AtomicUsize, Ordering};
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
                let turns = turns(&x, &y, threads, |x, y, turn| match turn {
                    Turn::Read => {
                        let x = x.to_slice().expect("rows one after the other");
                        black_box(kernel::sum(x));
                    }
                    Turn::Gradient => {
                        let mut g = vec![0.0; d];
                        let objective = Objective::mean(Samples::new(x, y), Loss::Logistic);
                        black_box(objective.gradient(&w, &mut g));
                    }
                });
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

/// What is timed.
#[derive(Clone, Copy)]
enum Turn {
    Read,
    Gradient,
}

/// The times in seconds, turn by turn, that threads take together, each for its share of the rows.
fn turns(
    x: &Array2<f64>,
    y: &[f64],
    threads: usize,
    work: impl Fn(ArrayView2<'_, f64>, &[f64], Turn) + Sync,
) -> Vec<[f64; 2]> {
    let share = y.len() / threads;
    let arrived = AtomicUsize::new(0);
    let of_thread = |thread: usize| {
        let rows = thread * share..(thread + 1) * share;
        let (x, y) = (x.slice(s![rows.clone(), ..]), &y[rows]);
        let mut meetings = 0;
        let mut meet = || {
            meetings += threads;
            arrived.fetch_add(1, Ordering::AcqRel);
            while arrived.load(Ordering::Acquire) < meetings {
                hint::spin_loop();
            }
        };
        let mut time = |turn| {
            meet();
            let began = Instant::now();
            work(x, y, turn);
            meet();
            began.elapsed().as_secs_f64()
        };
        (0..TURNS).map(|_| [time(Turn::Read), time(Turn::Gradient)]).collect()
    };
    std::thread::scope(|scope| {
        for thread in 1..threads {
            scope.spawn(move || -> Vec<_> { of_thread(thread) });
        }
        of_thread(0)
    })
}

fn quantile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[(share * (values.len() - 1) as f64).round() as usize]
}
