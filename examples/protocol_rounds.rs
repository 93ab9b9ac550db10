//! ADMM, gradient tracking and gradient descent on the same data and graph: rounds, messages and
//! bytes until every peer is within 1e-6 of the central optimum, and where each ends.
//!
//! ```text
//! cargo run --release --example protocol_rounds
//! ```
//!
//! Logistic loss, twonorm with 70 samples per peer, a/n = 0.1, ten peers, one seed. ADMM's penalty and
//! the step of tracking are `auto`. Gradient descent has a constant step and ends at a distance of
//! order α from the optimum.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::error::Error;

use hushmesh::experiment;
use hushmesh::measure::Metric;
use hushmesh::report::run::summary;
use hushmesh::report::{Cell, Column, Table};
use hushmesh::scenario::Checked;

const TOPOLOGIES: [(&str, &str); 4] = [
    ("complete", "{complete: {peers: 10}}"),
    ("star", "{star: {peers: 10}}"),
    ("ring", "{ring: {peers: 10}}"),
    ("path", "{path: {peers: 10}}"),
];
const PROTOCOLS: [(&str, &str); 4] = [
    ("ADMM", "{admm: {rounds: 4000}}"),
    ("gradient tracking", "{gradient-tracking: {rounds: 4000}}"),
    ("gradient descent, α = 0.1", "{gradient-descent: {step: 0.1, rounds: 4000}}"),
    ("gradient descent, α = 0.01", "{gradient-descent: {step: 0.01, rounds: 4000}}"),
];
const TARGET: f64 = 1e-6;

fn main() -> Result<(), Box<dyn Error>> {
    let mut table = Table::new([
        Column::text("topology"),
        Column::text("protocol"),
        Column::number("β or α"),
        Column::number("rounds to 1e-6"),
        Column::number("messages"),
        Column::amount("bytes"),
        Column::number("distance at the end"),
    ]);
    for (name, topology) in TOPOLOGIES {
        for (label, protocol) in PROTOCOLS {
            let scenario = format!(
                "name: protocols\nseed: 1\ntopology: {topology}\n\
                 data: {{source: twonorm, samples: {{per-peer: 70}}}}\n\
                 model: {{loss: logistic, regularisation: 1}}\nprotocol: {protocol}\n\
                 measure: {{what: [consensus, optimum]}}\n"
            );
            let result = experiment::run(&Checked::from_text("protocols.yaml", &scenario)?)?;
            let column = |wanted| result.metrics.iter().position(|&metric| metric == wanted);
            let [distance, messages, bytes] =
                [Metric::OptimumDistance, Metric::Messages, Metric::Bytes].map(column);
            let (distance, messages, bytes) = distance
                .zip(messages)
                .zip(bytes)
                .map(|((distance, messages), bytes)| (distance, messages, bytes))
                .ok_or("these are measured")?;
            let rows = &result.repeats[0].rows;
            let reached = rows.iter().find(|row| row.values[distance] < TARGET);
            let cell = |value: Option<f64>| value.map_or(Cell::Missing, Cell::Number);
            table.row([
                name.into(),
                label.into(),
                cell(summary(&result).parameter.map(|(_, value)| value)),
                cell(reached.map(|row| f64::from(row.round.0))),
                cell(reached.map(|row| row.values[messages])),
                reached.map_or(Cell::Missing, |row| Cell::Bytes(row.values[bytes] as u64)),
                cell(rows.last().map(|row| row.values[distance])),
            ]);
        }
    }
    println!("{}", table.to_markdown());
    Ok(())
}
