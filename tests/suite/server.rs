//! Parties around a server from the scenario to their results, and on a stage of their own: what is
//! promised and booked, what moves how far, what the noise is, and what the papers claim.

mod claims;
mod limits;
mod noise;
mod promise;
mod sensitivity;
mod wrong;

use hushmesh::experiment::{self, Claim, RunResult};
use hushmesh::measure::Metric;
use hushmesh::privacy::{Observer, Piece};
use hushmesh::scenario::Checked;

#[track_caller]
fn checked(yaml: &str) -> Checked {
    Checked::from_text("test.yaml", yaml).unwrap_or_else(|problems| panic!("{problems}\n{yaml}"))
}

#[track_caller]
fn run(yaml: &str) -> RunResult {
    experiment::run(&checked(yaml)).unwrap_or_else(|error| panic!("{error}\n{yaml}"))
}

/// ε of an observer and a piece.
#[track_caller]
fn of(claims: &[Claim], observer: Observer, piece: Piece) -> f64 {
    let found = claims.iter().find(|claim| claim.observer == observer && claim.piece == piece);
    found.expect("a claim").epsilon.0
}

/// A figure at the end of each repeat.
#[track_caller]
fn at_the_end(result: &RunResult, metric: Metric) -> Vec<f64> {
    let column = result.metrics.iter().position(|&m| m == metric).expect("a measured figure");
    result.repeats.iter().map(|repeat| repeat.rows.last().expect("a row").values[column]).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Equal up to this share of the greater; infinite ones are equal.
fn close(a: f64, b: f64, share: f64) -> bool {
    a == b || (a - b).abs() <= share * a.abs().max(b.abs())
}
