//! The table of "Decentralized differentially private without-replacement stochastic gradient descent"
//! (Jin, He, Dai) for MNIST, policies beside the published one, and where they end.
//!
//! ```text
//! cargo run --release --example walk_table -- FOLDER
//! cargo run --release --example walk_table -- FOLDER table policies limits seeds=5
//! ```
//!
//! FOLDER has the four files of MNIST as they are distributed (train-images-idx3-ubyte.gz …). Without
//! names of parts all three are run: about 20 minutes on two free cores. "Reference" is an independent
//! implementation, "paper" what is published. A cell is marked where it is further from the reference
//! than both 2.5 points and two standard deviations of its seeds.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]

#[path = "walk_mnist/cell.rs"]
mod cell;

use std::error::Error;
use std::path::Path;

use cell::{Asked, Cell, run_all};
use hushmesh::data::{LabelShards, Partition};
use hushmesh::policy::{Activation, DeepQ, Periodic, PolicyConfig, Random, Threshold};
use hushmesh::protocol::walk_sgd::StepSize;
use hushmesh::report::{Column, Table};

const PEERS: [usize; 5] = [1, 3, 5, 10, 20];
/// Nothing to compare with.
const NONE: f64 = f64::NAN;
const NOTHING: [f64; 5] = [NONE; 5];

/// Name, whether it is strongly convex, what it changes of algorithm 1, reference, paper.
type Row = (&'static str, bool, fn(&mut Cell), [f64; 5], [f64; 5]);

const ROWS: [Row; 8] = [
    (
        "noise-free, convex",
        false,
        |cell| cell.epsilon = None,
        [78.5, 83.0, 84.6, 86.4, 87.7],
        [77.7, 84.1, 85.5, 86.8, 87.7],
    ),
    (
        "algorithm 1, convex",
        false,
        |_| {},
        [58.9, 67.7, 72.6, 75.5, 78.4],
        [63.9, 71.5, 74.0, 76.8, 78.2],
    ),
    (
        "algorithm 2 deep-Q, convex",
        false,
        |cell| cell.decision = Some(PolicyConfig::DeepQ(DeepQ::default())),
        [NONE, 74.7, 76.3, 78.5, 80.2],
        [NONE, 77.2, 79.9, 80.5, 81.9],
    ),
    ("DP-SGD-5, convex", false, five, [21.0, 34.0, 45.0, 54.0, 60.0], NOTHING),
    (
        "noise-free, strongly convex",
        true,
        |cell| cell.epsilon = None,
        [84.7, 87.1, 87.8, 88.7, 89.0],
        [84.8, 88.1, 88.5, 88.8, 89.0],
    ),
    (
        "algorithm 1, strongly convex",
        true,
        |_| {},
        [54.7, 58.4, 63.1, 64.3, 70.0],
        [55.0, 63.5, 65.6, 68.0, 73.9],
    ),
    (
        "algorithm 2 deep-Q, strongly convex",
        true,
        |cell| cell.decision = Some(PolicyConfig::DeepQ(DeepQ::default())),
        [NONE, 71.6, 74.9, 80.5, 81.8],
        [NONE, 71.0, 75.4, 80.9, 83.0],
    ),
    ("DP-SGD-5, strongly convex", true, five, NOTHING, NOTHING),
];

/// DP-SGD-5 (Hegedűs and Jelasity 2016): five passes at ε/5 and δ/5, η_t = 1/√t.
fn five(cell: &mut Cell) {
    (cell.passes, cell.step) = (5, StepSize::InverseSqrt(1.0));
}

/// Name, whether it is strongly convex, policy, reference.
fn policies_compared() -> [(&'static str, bool, PolicyConfig, f64); 15] {
    use PolicyConfig as Policy;
    let random = |global| Policy::Random(Random { global });
    let threshold = |exploration| Policy::Threshold(Threshold { exploration });
    let deep = |activation| Policy::DeepQ(DeepQ { activation, ..DeepQ::default() });
    [
        ("always-global", false, Policy::AlwaysGlobal, NONE),
        ("random, p = .5", false, random(0.5), 77.5),
        ("random, p = .1", false, random(0.1), 80.5),
        ("random, p = .01", false, random(0.01), 81.3),
        ("every 100th visit", false, Policy::Periodic(Periodic { every: 100 }), 81.5),
        ("final-global", false, Policy::FinalGlobal, 81.6),
        ("always-local", false, Policy::AlwaysLocal, NONE),
        ("threshold", false, threshold(0.0), NONE),
        ("threshold, exploration .1", false, threshold(0.1), 79.8),
        ("bandit", false, Policy::Bandit(Default::default()), 77.7),
        ("linear-q", false, Policy::LinearQ(Default::default()), 79.5),
        ("deep-q, linear", false, deep(Activation::Linear), 78.5),
        ("deep-q, ReLU", false, deep(Activation::Relu), NONE),
        ("strongly convex: final-global", true, Policy::FinalGlobal, 86.1),
        ("strongly convex: deep-q, linear", true, deep(Activation::Linear), 80.5),
    ]
}

/// ε, reference of algorithm 1, reference of one final global step.
const LIMITS: [(f64, f64, f64); 4] =
    [(0.5, 33.0, 62.0), (1.0, 56.0, 68.0), (2.0, 71.0, 70.0), (5.0, 77.0, 71.0)];

fn main() -> Result<(), Box<dyn Error>> {
    let Asked { folder, parts, seeds } = Asked::of(&["table", "policies", "limits"])?;
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|other| other == part);
    let folder = folder.as_path();
    if wanted("table") {
        table(folder, seeds)?;
    }
    if wanted("policies") {
        policies(folder, seeds)?;
    }
    if wanted("limits") {
        limits(folder, seeds)?;
    }
    Ok(())
}

/// Every algorithm by the number of peers.
fn table(folder: &Path, seeds: u32) -> Result<(), Box<dyn Error>> {
    let cells: Vec<Cell> = ROWS
        .iter()
        .flat_map(|&(_, strongly_convex, change, ..)| {
            PEERS.map(|peers| {
                let mut cell = Cell::new(peers, strongly_convex);
                change(&mut cell);
                cell
            })
        })
        .collect();
    let outcomes = run_all(&cells, folder, seeds)?;
    let columns = PEERS.map(|peers| Column::text(format!("M = {peers}")));
    let mut table = Table::new([Column::text("%"), Column::text("")].into_iter().chain(columns));
    let (mut marked, mut compared) = (0, 0);
    for ((name, _, _, reference, paper), outcomes) in ROWS.iter().zip(outcomes.chunks(PEERS.len()))
    {
        let ours = outcomes.iter().zip(reference).map(|(outcome, &reference)| {
            let far = is_far(&outcome.accuracy, reference);
            marked += usize::from(far);
            compared += usize::from(reference.is_finite());
            format!("{}{}", shown(&outcome.accuracy), if far { " !" } else { "" })
        });
        let ours = ours.collect();
        let line = |figures: &[f64; 5]| figures.map(known).to_vec();
        for (name, who, figures) in [
            (*name, "ours, mean ± sd", ours),
            ("", "reference", line(reference)),
            ("", "paper", line(paper)),
        ] {
            let cells = [name.to_string(), who.to_string()].into_iter().chain(figures);
            table.row(cells.map(Into::into));
        }
    }
    println!("{}", table.to_markdown());
    println!(
        "{marked} of {compared} cells are further from the reference than 2.5 points and two \
         deviations.\n"
    );
    Ok(())
}

/// Other policies, ten peers.
fn policies(folder: &Path, seeds: u32) -> Result<(), Box<dyn Error>> {
    let rows = policies_compared();
    let cells: Vec<Cell> = rows
        .iter()
        .map(|(_, strongly_convex, policy, _)| Cell {
            decision: Some(policy.clone()),
            ..Cell::new(10, *strongly_convex)
        })
        .collect();
    let outcomes = run_all(&cells, folder, seeds)?;
    let mut table = Table::new([
        Column::text("policy, M = 10"),
        Column::text("global model, %"),
        Column::text("reference, %"),
        Column::text("peers' own models, %"),
        Column::text("global updates, %"),
    ]);
    for ((name, _, _, reference), outcome) in rows.iter().zip(&outcomes) {
        let far = if is_far(&outcome.accuracy, *reference) { " !" } else { "" };
        table.row([
            (*name).into(),
            format!("{}{far}", shown(&outcome.accuracy)).into(),
            known(*reference).into(),
            shown(&outcome.local_accuracy).into(),
            format!("{:.2}", moments(&outcome.global_share).0).into(),
        ]);
    }
    println!("{}", table.to_markdown());
    Ok(())
}

/// Where releasing rarely no longer pays: 60,000 samples in all, ten peers, convex.
fn limits(folder: &Path, seeds: u32) -> Result<(), Box<dyn Error>> {
    let cell = |partition: &Partition, epsilon, decision| Cell {
        partition: partition.clone(),
        epsilon: Some(epsilon),
        decision,
        ..Cell::new(10, false)
    };
    let (even, sharded) = (Partition::Even, Partition::LabelShards(LabelShards { per_peer: 2 }));
    let last = || Some(PolicyConfig::FinalGlobal);
    let mut rows: Vec<(String, Cell, String)> = Vec::new();
    for (epsilon, all, one) in LIMITS {
        let name = |who: &str| format!("even, ε = {epsilon}: {who}");
        rows.push((name("algorithm 1"), cell(&even, epsilon, None), known(all)));
        rows.push((name("final-global"), cell(&even, epsilon, last()), known(one)));
    }
    let tuned = Cell { batch: 500, step: StepSize::Constant(3.0), ..cell(&even, 1.0, None) };
    rows.push(("even, ε = 1: algorithm 1, b = 500, η = 3".to_string(), tuned, known(79.0)));
    for (who, decision, reference) in [
        ("algorithm 1", None, "50–57"),
        ("final-global", last(), "14–21"),
        ("random, p = .5", Some(PolicyConfig::Random(Random { global: 0.5 })), "14–21"),
        ("always-global", Some(PolicyConfig::AlwaysGlobal), ""),
    ] {
        let name = format!("two label shards a peer, ε = 1: {who}");
        rows.push((name, cell(&sharded, 1.0, decision), reference.to_string()));
    }
    let cells: Vec<Cell> = rows.iter().map(|(_, cell, _)| cell.clone()).collect();
    let outcomes = run_all(&cells, folder, seeds)?;
    let mut table = Table::new([
        Column::text("60,000 samples in all, M = 10, convex"),
        Column::text("global model, %"),
        Column::text("reference, %"),
    ]);
    for ((name, _, reference), outcome) in rows.into_iter().zip(&outcomes) {
        table.row([name.into(), shown(&outcome.accuracy).into(), reference.into()]);
    }
    println!("{}", table.to_markdown());
    Ok(())
}

/// Whether a mean is further than 2.5 points and two deviations from a reference.
fn is_far(values: &[f64], reference: f64) -> bool {
    let (mean, deviation) = moments(values);
    let off = (mean - reference).abs();
    off > 2.5 && off > 2.0 * deviation
}

fn shown(values: &[f64]) -> String {
    let (mean, deviation) = moments(values);
    format!("{mean:.1} ± {deviation:.1}")
}

/// A published figure, or nothing.
fn known(figure: f64) -> String {
    if figure.is_finite() { format!("{figure:.1}") } else { String::new() }
}

/// Mean and standard deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0)).sqrt())
}
