//! The effect of ε, of the batch and of the graph on walking tokens, on MNIST: the claims of Figs 1 to 6
//! of "Decentralized differentially private without-replacement stochastic gradient descent" (Jin, He,
//! Dai), and which walk takes how many hops.
//!
//! ```text
//! cargo run --release --example walk_figures -- FOLDER
//! cargo run --release --example walk_figures -- FOLDER epsilon batch graphs seeds=5
//! ```
//!
//! FOLDER has the four files of MNIST as they are distributed. Writes docs/images/walk-*.svg, curves with
//! 95 % intervals, and prints their points and the table of graphs.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]

#[path = "walk_mnist/cell.rs"]
mod cell;

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use cell::{Asked, Cell, Outcome, run_all};
use hushmesh::data::{LabelShards, Partition};
use hushmesh::measure::Estimate;
use hushmesh::policy::{DeepQ, PolicyConfig};
use hushmesh::random::{Purpose, Streams};
use hushmesh::report::svg::plot::{Axis, LinePlot, Reference, Series};
use hushmesh::report::{Column, Table, figure, with_interval};
use hushmesh::theory::expected_hops;
use hushmesh::topology::{self, Density, Topology, Walk};
use hushmesh::units::Seed;

const EPSILONS: [f64; 6] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0];
const BATCHES: [u32; 6] = [10, 20, 50, 100, 200, 500];
const IMAGES: &str = "docs/images";

/// What is compared: name, and policy if it decides.
fn compared() -> [(&'static str, Option<PolicyConfig>); 3] {
    [
        ("algorithm 1", None),
        ("algorithm 2, deep-Q", Some(PolicyConfig::DeepQ(DeepQ::default()))),
        ("one global step at the end", Some(PolicyConfig::FinalGlobal)),
    ]
}

fn main() -> Result<(), Box<dyn Error>> {
    let Asked { folder, parts, seeds } = Asked::of(&["epsilon", "batch", "graphs"])?;
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|other| other == part);
    let folder = folder.as_path();
    if wanted("graphs") {
        graphs(folder, seeds)?;
    }
    if wanted("epsilon") {
        for peers in [3, 10] {
            let points = EPSILONS.map(|epsilon| (epsilon, format!("ε = {epsilon}")));
            let axis = Axis::log("ε per task");
            let change = |cell: &mut Cell, epsilon| cell.epsilon = Some(epsilon);
            curves(folder, seeds, ("epsilon", peers), &axis, &points, change)?;
        }
    }
    if wanted("batch") {
        let points = BATCHES.map(|batch| (f64::from(batch), format!("b = {batch}")));
        let axis = Axis::log("b, samples per batch");
        let change = |cell: &mut Cell, batch: f64| cell.batch = batch as u32;
        curves(folder, seeds, ("batch", 3), &axis, &points, change)?;
    }
    Ok(())
}

/// Accuracy over something that changes, convex and strongly convex: a drawing and a table of each.
fn curves(
    folder: &Path,
    seeds: u32,
    (name, peers): (&str, usize),
    axis: &Axis,
    points: &[(f64, String)],
    change: impl Fn(&mut Cell, f64),
) -> Result<(), Box<dyn Error>> {
    for (strongly_convex, problem) in [(false, "convex"), (true, "strongly convex")] {
        let plain = Cell::new(peers, strongly_convex);
        let mut cells = vec![Cell { epsilon: None, ..plain.clone() }];
        for (_, decision) in compared() {
            cells.extend(points.iter().map(|&(x, _)| {
                let mut cell = Cell { decision: decision.clone(), ..plain.clone() };
                change(&mut cell, x);
                cell
            }));
        }
        let outcomes = run_all(&cells, folder, seeds)?;
        let (clear, private) = outcomes.split_at(1);
        let mean = |outcome: &Outcome| Estimate::of(&outcome.accuracy).mean.unwrap_or(f64::NAN);
        let mut plot = LinePlot {
            title: format!("MNIST, {problem}, M = {peers}"),
            x: axis.clone(),
            y: Axis::linear("held-out accuracy").unit("%"),
            references: vec![Reference {
                value: mean(&clear[0]),
                label: "no noise, b = 50".to_string(),
            }],
            ..LinePlot::default()
        };
        let columns = points.iter().map(|(_, label)| Column::text(label));
        let title = Column::text(format!("{problem}, M = {peers}, %"));
        let mut table = Table::new([title].into_iter().chain(columns));
        for ((who, _), outcomes) in compared().iter().zip(private.chunks(points.len())) {
            let estimates: Vec<_> =
                outcomes.iter().map(|outcome| Estimate::of(&outcome.accuracy)).collect();
            let at = |end: fn(&Estimate) -> Option<f64>| {
                estimates.iter().map(move |estimate| end(estimate).unwrap_or(f64::NAN))
            };
            let heights = points.iter().map(|&(x, _)| x).zip(at(|estimate| estimate.mean));
            let band = at(|estimate| estimate.low).zip(at(|estimate| estimate.high));
            plot.series.push(Series::new(*who, heights).band(band));
            let shown = outcomes.iter().map(|outcome| shown(&outcome.accuracy).into());
            table.row([(*who).into()].into_iter().chain(shown));
        }
        let slug = problem.replace(' ', "-");
        let file = Path::new(IMAGES).join(format!("walk-{name}-{slug}-{peers}.svg"));
        std::fs::write(&file, plot.to_svg().into_string())?;
        println!(
            "{}\nNo noise, b = 50: {:.1}. {}\n",
            table.to_markdown(),
            mean(&clear[0]),
            file.display()
        );
    }
    Ok(())
}

/// 49 peers with 24 batches each: accuracy and hops by graph and walk, of algorithm 1 at ε = 1.
fn graphs(folder: &Path, seeds: u32) -> Result<(), Box<dyn Error>> {
    let streams = Streams::new(Seed(7), 0);
    let graphs: [(&str, Topology); 5] = [
        ("complete", topology::complete(49)?),
        ("ring", topology::ring(49)?),
        ("grid 7 × 7", topology::grid(7, 7)?),
        ("Erdős–Rényi .12", topology::erdos_renyi(49, Density::Probability(0.12), &streams)?),
        ("Barabási–Albert 2", topology::barabasi_albert(49, 2, &streams)?),
    ];
    let walks = [
        ("uniform", Walk::Uniform),
        ("simple", Walk::Simple),
        ("Metropolis", Walk::Metropolis),
        ("non-backtracking", Walk::NonBacktracking),
    ];
    let shards = Partition::LabelShards(LabelShards { per_peer: 2 });
    let mut cells = Vec::new();
    for partition in [Partition::Even, shards] {
        for (_, graph) in &graphs {
            let graph = Arc::new(graph.clone());
            cells.extend(walks.map(|(_, walk)| Cell {
                graph: Arc::clone(&graph),
                walk,
                partition: partition.clone(),
                ..Cell::new(49, false)
            }));
        }
    }
    let outcomes = run_all(&cells, folder, seeds)?;
    let (even, sharded) = outcomes.split_at(outcomes.len() / 2);
    let mut table = Table::new([
        Column::text("graph"),
        Column::text("walk"),
        Column::text("accuracy, iid, %"),
        Column::text("two label shards a peer, %"),
        Column::text("hops"),
        Column::text("expected"),
    ]);
    let rows = graphs.iter().flat_map(|graph| walks.map(|walk| (graph, walk)));
    for (((graph, topology), (name, walk)), (even, sharded)) in rows.zip(even.iter().zip(sharded)) {
        let updates = even.batches.iter().map(|&batches| u64::from(batches)).sum();
        let family = streams.family(Purpose::Forecast, 0);
        let expected = expected_hops(topology, walk, &even.batches, updates, 400, family)?;
        table.row([
            (*graph).into(),
            name.into(),
            shown(&even.accuracy).into(),
            shown(&sharded.accuracy).into(),
            shown(&even.hops).into(),
            with_interval(expected.mean, expected.low, expected.high).into(),
        ]);
    }
    println!("{}", table.to_markdown());
    Ok(())
}

/// Mean with its 95 % interval.
fn shown(values: &[f64]) -> String {
    match Estimate::of(values) {
        Estimate { mean: Some(mean), low: Some(low), high: Some(high) } => {
            with_interval(mean, low, high)
        }
        Estimate { mean, .. } => mean.map_or("–".to_string(), figure),
    }
}
