//! Private ADMM from the scenario to its results: what is promised, what is booked, where the peers
//! end up, and what theory says of it.

mod budget;
mod claims;
mod ledger;
mod limit;
mod theory;

use hushmesh::experiment::{self, RunResult};
use hushmesh::measure::Metric;
use hushmesh::scenario::Checked;

#[track_caller]
fn checked(yaml: &str) -> Checked {
    Checked::from_text("test.yaml", yaml).unwrap_or_else(|problems| panic!("{problems}\n{yaml}"))
}

#[track_caller]
fn run(yaml: &str) -> RunResult {
    experiment::run(&checked(yaml)).unwrap_or_else(|error| panic!("{error}\n{yaml}"))
}

/// A figure over the rounds of a repeat.
#[track_caller]
fn series(result: &RunResult, repeat: usize, metric: Metric) -> Vec<f64> {
    let column = result.metrics.iter().position(|&m| m == metric).expect("a measured figure");
    result.repeats[repeat].rows.iter().map(|row| row.values[column]).collect()
}

/// A figure at the end of each repeat.
#[track_caller]
fn at_the_end(result: &RunResult, metric: Metric) -> Vec<f64> {
    let repeats = 0..result.repeats.len();
    repeats.map(|repeat| *series(result, repeat, metric).last().expect("a row")).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard error of a mean.
fn error_of_mean(values: &[f64]) -> f64 {
    let center = mean(values);
    let squares: f64 = values.iter().map(|v| (v - center) * (v - center)).sum();
    let count = values.len() as f64;
    (squares / (count - 1.0) / count).sqrt()
}

/// The ten peers of the paper's experiments, by the path of their file.
fn ten_peers() -> String {
    format!("{{file: {}/topologies/pdml-10.yaml}}", crate::workbench::REPOSITORY)
}
