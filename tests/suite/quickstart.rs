//! The first thing that anybody runs.

use std::fs;

use ndarray::Array3;
use serde_json::Value;

use crate::workbench::{REPOSITORY, Workbench, names};

const FIGURES: [&str; 10] = [
    "rounds",
    "consensus_gap",
    "optimum_distance",
    "empirical_risk",
    "train_accuracy",
    "test_accuracy",
    "test_accuracy_worst",
    "messages",
    "bytes",
    "sim_seconds",
];

#[test]
fn quickstart_finds_the_central_optimum_and_says_so_in_every_file() {
    let bench = Workbench::new();
    let summary = bench.run(&format!("{REPOSITORY}/scenarios/quickstart.yaml"), "out", &[]);
    let out = bench.path("out");
    let expected = [
        "complete",
        "metrics.csv",
        "model.npy",
        "peers.csv",
        "report.html",
        "report.json",
        "scenario.yaml",
        "summary.json",
        "timing.json",
    ];
    assert_eq!(names(&out), expected);

    assert_eq!(summary["hushmesh"], env!("CARGO_PKG_VERSION"));
    assert_eq!(summary["fingerprint"].as_str().expect("a fingerprint").len(), 64);
    assert_eq!(summary["stop_reason"], "tolerance");
    let metric = |name: &str, end: &str| summary["metrics"][name][end].as_f64().expect(name);
    for name in FIGURES {
        let [low, mean, high] = ["low", "mean", "high"].map(|end| metric(name, end));
        assert!(low <= mean && mean <= high, "{name}: {low} {mean} {high}");
    }
    assert!(metric("optimum_distance", "high") < 1e-8);
    let central = summary["references"]["central_test_accuracy"]["mean"].as_f64();
    assert!((metric("test_accuracy", "mean") - central.expect("a reference")).abs() < 0.005);

    let (repeats, rows) = table(&fs::read_to_string(out.join("metrics.csv")).expect("a table"));
    for name in FIGURES.into_iter().skip(1).chain(["repeat", "round"]) {
        assert!(rows[0].contains(&name.to_string()), "no column {name}");
    }
    assert_eq!(rows[0].len(), summary["metrics"].as_object().expect("figures").len() + 1);
    // Every round is measured, so a repeat has as many rows as rounds.
    assert_eq!(repeats.len(), 5);
    let rounds = repeats.iter().sum::<usize>() as f64 / 5.0;
    assert!((rounds - metric("rounds", "mean")).abs() < 1e-9);

    let (peers, _) = table(&fs::read_to_string(out.join("peers.csv")).expect("a table"));
    assert_eq!(peers, [10; 5]);
    let model: Array3<f64> = ndarray_npy::read_npy(out.join("model.npy")).expect("an array");
    assert_eq!(model.dim(), (5, 10, 21));
    let timing = fs::read(out.join("timing.json")).expect("timing.json");
    let timing: Value = serde_json::from_slice(&timing).expect("JSON");
    assert!(timing["wall_seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
}

/// Rows per repeat, which is the first column, and the fields of every line.
fn table(text: &str) -> (Vec<usize>, Vec<Vec<String>>) {
    let rows: Vec<Vec<String>> =
        text.lines().map(|line| line.split(',').map(str::to_string).collect()).collect();
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    let mut repeats = Vec::new();
    for row in &rows[1..] {
        let repeat: usize = row[0].parse().expect("a number of a repeat");
        if repeat == repeats.len() {
            repeats.push(0);
        }
        repeats[repeat] += 1;
    }
    (repeats, rows)
}
