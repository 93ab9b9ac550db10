//! What a peer's local argmin costs: the first solve, and one of the rounds after.
//!
//! ```text
//! cargo bench --bench solver
//! ```
//!
//! Cold is the first solve of a memory, from w = 0 to a gradient norm of 1e-10. Warm is the mean of
//! the next hundred, whose linear terms come nearer and nearer to each other, as in a run that
//! converges. A pass is one gradient, timed by turns with both. Times are medians.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::hint::black_box;
use std::time::Instant;

use hushmesh::learn::{ChordNewton, Loss, Objective, Samples, Subproblem};
use hushmesh::report::{Column, Table};
use ndarray::Array2;

const TOLERANCE: f64 = 1e-10;
const ROUNDS: i32 = 100;

fn main() {
    let mut table = Table::new([
        Column::text("loss"),
        Column::number("samples"),
        Column::number("features"),
        Column::number("pass").unit("µs"),
        Column::number("cold").unit("µs"),
        Column::number("passes charged"),
        Column::number("warm").unit("µs"),
        Column::number("passes charged, mean"),
        Column::number("warm / pass"),
        Column::number("numbers kept"),
    ]);
    for (m, d, turns) in [(5, 20, 401), (20, 10, 401), (4500, 105, 5), (50, 2000, 5)] {
        for loss in [Loss::Squared, Loss::Logistic] {
            let case = case(m, d, loss, turns);
            let [pass, cold, warm] = case.seconds.map(|seconds| 1e6 * seconds);
            table.row([
                if loss == Loss::Squared { "squared" } else { "logistic" }.into(),
                m.into(),
                d.into(),
                pass.into(),
                cold.into(),
                case.passes[0].into(),
                warm.into(),
                case.passes[1].into(),
                (warm / pass).into(),
                (ChordNewton::numbers(m, d, loss) + ChordNewton::factor_numbers(m, d)).into(),
            ]);
        }
    }
    println!("{}", table.to_markdown());
}

struct Case {
    /// Of a pass, a cold solve and a warm one.
    seconds: [f64; 3],
    /// Charged for a cold solve and a warm one.
    passes: [f64; 2],
}

fn case(m: usize, d: usize, loss: Loss, turns: usize) -> Case {
    // A linear congruential generator is random enough to be timed.
    let mut state = 1_u64;
    let mut uniform = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 12) as f64 / (1_u64 << 51) as f64 - 1.0
    };
    // Rows of norm about 1.
    let size = (3.0 / d as f64).sqrt();
    let x = Array2::from_shape_fn((m, d), |_| size * uniform());
    let y: Vec<f64> = (0..m).map(|_| f64::signum(uniform())).collect();
    let (limit, away): (Vec<f64>, Vec<f64>) = (0..d).map(|_| (0.1 * uniform(), uniform())).unzip();
    let objective = Objective::mean(Samples::new(x.view(), &y), loss);
    let linear: Vec<Vec<f64>> = (0..=ROUNDS)
        .map(|t| {
            let share = 0.1 * 0.9_f64.powi(t);
            limit.iter().zip(&away).map(|(limit, away)| limit + share * away).collect()
        })
        .collect();

    let mut times = [const { Vec::new() }; 3];
    let mut passes = [0.0; 2];
    let (mut g, mut workspace) = (vec![0.0; d], Vec::new());
    for _ in 0..turns {
        let (mut w, mut numbers) = (vec![0.0; d], vec![0.0; ChordNewton::numbers(m, d, loss)]);
        let mut solver = ChordNewton::new();
        let mut solve = |linear: &Vec<f64>| {
            let problem = Subproblem { objective, quadratic: 0.1, linear };
            solver.solve(&problem, &mut w, &mut numbers, TOLERANCE, &mut workspace)
        };
        let began = Instant::now();
        let cold = solve(&linear[0]);
        times[1].push(began.elapsed().as_secs_f64());
        let began = Instant::now();
        let warm: f64 = linear[1..].iter().map(|linear| solve(linear).passes).sum();
        times[2].push(began.elapsed().as_secs_f64() / f64::from(ROUNDS));
        passes = [cold.passes, warm / f64::from(ROUNDS)];
        let repeats = 20;
        let began = Instant::now();
        for _ in 0..repeats {
            objective.gradient(black_box(&w), &mut g);
            black_box(&g);
        }
        times[0].push(began.elapsed().as_secs_f64() / f64::from(repeats));
    }
    Case { seconds: times.map(median), passes }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
