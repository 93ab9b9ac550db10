//! How close noise-free ADMM comes to the central optimum: max_i |w_i − w*| at the end.
//!
//! ```text
//! cargo run --release --example optimum_distance
//! ```
//!
//! 30 samples per peer; `uneven` deals them as 1 : 2 : … : n. Local problems are solved to 1e-11,
//! runs stop when consensus gap and dual residual are below 1e-10.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::error::Error;

use hushmesh::experiment;
use hushmesh::learn::distance;
use hushmesh::report::{Column, Table};
use hushmesh::scenario::Checked;

const TOPOLOGIES: [(&str, usize); 18] = [
    ("{ring: {peers: 1}}", 1),
    ("{path: {peers: 2}}", 2),
    ("{file: topologies/complete-10.yaml}", 10),
    ("{file: topologies/star-10.yaml}", 10),
    ("{file: topologies/pdml-10.yaml}", 10),
    ("{file: topologies/random-regular-10.yaml}", 10),
    ("{file: topologies/erdos-renyi-10.yaml}", 10),
    ("{file: topologies/grid-2x5.yaml}", 10),
    ("{file: topologies/ring-10.yaml}", 10),
    ("{file: topologies/path-10.yaml}", 10),
    ("{complete: {peers: 50}}", 50),
    ("{star: {peers: 50}}", 50),
    ("{random-regular: {peers: 50, degree: 4}}", 50),
    ("{erdos-renyi: {peers: 50, probability: 0.15}}", 50),
    ("{erdos-renyi: {peers: 50, links: 150}}", 50),
    ("{grid: {rows: 5, columns: 10}}", 50),
    ("{ring: {peers: 50}}", 50),
    ("{path: {peers: 50}}", 50),
];
const RIDGE: &str = "{linear-regression: {dimension: 20, norm: 2, noise: 0.3, bound: 4}}";

fn main() -> Result<(), Box<dyn Error>> {
    let mut table = Table::new([
        Column::text("topology"),
        Column::number("logistic, even"),
        Column::number("logistic, uneven"),
        Column::number("ridge, even"),
        Column::number("ridge, uneven"),
    ]);
    for (topology, peers) in TOPOLOGIES {
        let weights: Vec<String> = (1..=peers).map(|weight| weight.to_string()).collect();
        let uneven = format!("{{ratio: [{}]}}", weights.join(", "));
        let mut row = vec![topology.into()];
        for (loss, source) in [("logistic", "twonorm"), ("squared", RIDGE)] {
            for partition in ["even", &uneven] {
                row.push(furthest(topology, loss, source, partition)?.into());
            }
        }
        table.row(row);
    }
    println!("{}", table.to_markdown());
    Ok(())
}

/// The largest distance of a peer's model to the central optimum.
fn furthest(
    topology: &str,
    loss: &str,
    source: &str,
    partition: &str,
) -> Result<f64, Box<dyn Error>> {
    let scenario = format!(
        "name: optimum\nseed: 1\ntopology: {topology}\n\
         data: {{source: {source}, samples: {{per-peer: 30}}, partition: {partition}}}\n\
         model: {{loss: {loss}, regularisation: 1, intercept: true}}\n\
         protocol: {{admm: {{rounds: 6000, tolerance: 1.0e-11}}}}\n\
         measure: {{every: 20, what: [consensus, optimum], \
         stop: {{consensus_gap: 1.0e-10, dual_residual: 1.0e-10}}}}\n"
    );
    let result = experiment::run(&Checked::from_text("optimum.yaml", &scenario)?)?;
    let repeat = &result.repeats[0];
    let optimum = repeat.optimum.as_ref().ok_or("the optimum is asked for")?;
    Ok(repeat.models().map(|model| distance(model, optimum)).fold(0.0, f64::max))
}
