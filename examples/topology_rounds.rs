//! Rounds until every peer is within 1e-6 of the central optimum, by topology: at a fixed penalty
//! and at `penalty: auto`.
//!
//! ```text
//! cargo run --release --example topology_rounds
//! ```
//!
//! Noise-free ADMM, logistic loss, twonorm with 70 samples per peer, a/n = 0.1; mean over five
//! seeds with its 95 % interval.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::error::Error;

use hushmesh::experiment;
use hushmesh::measure::{Estimate, Metric};
use hushmesh::report::run::summary;
use hushmesh::report::{Cell, Column, Table};
use hushmesh::scenario::Checked;

/// (name, the scenario's topology section)
const SMALL: [(&str, &str); 5] = [
    ("complete", "{complete: {peers: 10}}"),
    ("star", "{star: {peers: 10}}"),
    ("13 links", "{file: topologies/pdml-10.yaml}"),
    ("ring", "{ring: {peers: 10}}"),
    ("path", "{path: {peers: 10}}"),
];
const LARGE: [(&str, &str); 5] = [
    ("complete", "{complete: {peers: 50}}"),
    ("star", "{star: {peers: 50}}"),
    ("4-regular", "{random-regular: {peers: 50, degree: 4}}"),
    ("ring", "{ring: {peers: 50}}"),
    ("path", "{path: {peers: 50}}"),
];
const TARGET: f64 = 1e-6;
const MOST_ROUNDS: u32 = 4000;

/// The rounds of each seed: none where the target was not reached.
type Rounds = Vec<Option<f64>>;

fn main() -> Result<(), Box<dyn Error>> {
    for (peers, topologies) in [(10, SMALL), (50, LARGE)] {
        let mut table = Table::new([
            Column::text(format!("n = {peers}")),
            Column::number("rounds at β = 0.1"),
            Column::number("auto: β"),
            Column::number("auto: rounds"),
        ]);
        for (name, topology) in topologies {
            let (_, fixed) = rounds(peers, topology, "0.1")?;
            let (beta, auto) = rounds(peers, topology, "auto")?;
            table.row([name.into(), cell(&fixed), beta.into(), cell(&auto)]);
        }
        println!("{}", table.to_markdown());
    }
    Ok(())
}

/// The penalty that was used, and the rounds.
fn rounds(peers: usize, topology: &str, penalty: &str) -> Result<(f64, Rounds), Box<dyn Error>> {
    let a = 0.1 * peers as f64;
    let scenario = format!(
        "name: rounds\nseed: 1\nrepeat: 5\ntopology: {topology}\n\
         data: {{source: twonorm, samples: {{per-peer: 70}}}}\n\
         model: {{loss: logistic, regularisation: {a}}}\n\
         protocol: {{admm: {{penalty: {penalty}, rounds: {MOST_ROUNDS}}}}}\n\
         measure: {{what: [consensus, optimum], \
         stop: {{consensus_gap: 1.0e-8, dual_residual: 1.0e-8}}}}\n"
    );
    let result = experiment::run(&Checked::from_text("rounds.yaml", &scenario)?)?;
    let (_, beta) = summary(&result).parameter.ok_or("the penalty is a number")?;
    let column = result
        .metrics
        .iter()
        .position(|&metric| metric == Metric::OptimumDistance)
        .ok_or("the distance to the optimum is measured")?;
    let reached = result.repeats.iter().map(|repeat| {
        let row = repeat.rows.iter().find(|row| row.values[column] < TARGET);
        row.map(|row| f64::from(row.round.0))
    });
    Ok((beta, reached.collect()))
}

fn cell(rounds: &[Option<f64>]) -> Cell {
    let reached: Vec<f64> = rounds.iter().copied().flatten().collect();
    if reached.len() < rounds.len() {
        return Cell::Text(format!("> {MOST_ROUNDS}"));
    }
    match Estimate::of(&reached) {
        Estimate { mean: Some(mean), low: Some(low), high: Some(high) } if high > low => {
            Cell::Interval { mean, low, high }
        }
        Estimate { mean, .. } => mean.into(),
    }
}
