//! One seed, one result, for walks: whatever the workers and the engine.

use std::fs;

use super::POLICIES;
use crate::workbench::{Workbench, assert_same_files};

/// Three classes on a graph that is drawn for every repeat, with every trouble on its links.
const WALK: &str = "\
name: walk
seed: 3
repeat: 2
topology: {erdos-renyi: {peers: 9, links: 14, resample: true}}
data:
  source: {clusters: {classes: 3, dimension: 4, separation: 3}}
  samples: {per-peer: 11}
  test_share: 0.2
  preprocess: [unit-sphere]
  partition: {dirichlet-sizes: {alpha: 1}}
model: {loss: logistic, regularisation: 0.3, intercept: true}
protocol:
  walk-sgd:
    walk: metropolis
    batch: 3
    passes: 2
    step: {constant: 0.1}
    noise: {epsilon: 2, budget: total}
network:
  links: {latency: {min: 0.001, extra: {uniform: 0.01}}, loss: {probability: 0.1, timeout: 0.02}}
  compute: {seconds_per_sample: 1.0e-4, speeds: {log-normal: {sigma: 1}}}
measure: {what: [optimum, risk, train, test, privacy, average, walk], every: 7}
";

/// A table without the column of simulated time, which threads do not have.
fn without_time(bytes: &[u8]) -> Vec<Vec<String>> {
    let text = String::from_utf8(bytes.to_vec()).expect("text");
    let rows: Vec<Vec<String>> =
        text.lines().map(|line| line.split(',').map(str::to_string).collect()).collect();
    let time = rows[0].iter().position(|name| name == "sim_seconds");
    let strip = |row: Vec<String>| {
        let cells = row.into_iter().enumerate();
        cells.filter(|(column, _)| Some(*column) != time).map(|(_, cell)| cell).collect()
    };
    rows.into_iter().map(strip).collect()
}

fn is_one_result(set: &[String]) {
    let bench = Workbench::new();
    bench.write("walk.yaml", WALK);
    let set: Vec<&str> = set.iter().flat_map(|change| ["--set", change]).collect();
    let run = |out: &str, more: &[&str]| {
        bench.run("walk.yaml", out, &[&set[..], more].concat())["fingerprint"].clone()
    };
    let fingerprint = run("one", &["--workers", "1"]);
    let expected = bench.files("one");
    for workers in ["2", "3"] {
        assert_eq!(run(workers, &["--workers", workers]), fingerprint, "{set:?}");
        assert_same_files(&bench.files(workers), &expected, &format!("{workers}, {set:?}"));
    }
    assert_eq!(run("threads", &["--engine", "threads"]), fingerprint, "threads, {set:?}");
    let threads = bench.files("threads");
    for name in ["metrics.csv", "peers.csv"] {
        let same = without_time(&threads[name]) == without_time(&expected[name]);
        assert!(same, "{name}, {set:?}");
    }
    assert!(threads["model.npy"] == expected["model.npy"], "{set:?}");
    assert_ne!(run("other", &["--set", "seed=4"]), fingerprint, "another seed");
    let names: Vec<String> = fs::read_dir(bench.path("one"))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert!(names.iter().any(|name| name == "report.html"), "{names:?}");
}

#[test]
fn the_fully_collaborative_algorithm_with_noise() {
    is_one_result(&[]);
}

#[test]
fn every_walk() {
    for walk in ["uniform", "simple", "non-backtracking"] {
        is_one_result(&[format!("protocol.walk-sgd.walk={walk}")]);
    }
}

#[test]
fn every_policy() {
    for policy in POLICIES {
        is_one_result(&[format!("protocol.walk-sgd.decision={policy}")]);
    }
}

/// With nets that do not fit together into a cache every token has a simulation of its own, however few the
/// workers are; with smaller ones, or none, every worker.
#[test]
fn tokens_that_nothing_holds_up() {
    for decision in ["{deep-q: {hidden: 900, batch: 4}}", "{deep-q: {hidden: 6}}", "always-global"]
    {
        let network = "network={links: {latency: {min: 0.001}}}".to_string();
        is_one_result(&[network, format!("protocol.walk-sgd.decision={decision}")]);
    }
}
