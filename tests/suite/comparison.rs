//! Comparisons of runs that were really run, from their files alone.

use std::path::{Path, PathBuf};

use hushmesh::experiment::{self, RunDirectory, RunResult};
use hushmesh::measure::Metric;
use hushmesh::report::comparison::{Outcome, Quantity};
use hushmesh::report::run::{Timing, write_files};
use hushmesh::report::{Comparison, Record, Target};
use hushmesh::scenario::{Checked, to_yaml};

/// A run of milliseconds on one graph or another.
fn scenario(topology: &str) -> String {
    format!(
        "
name: {topology}
seed: 4
repeat: 5
topology: {{{topology}: {{peers: 5}}}}
data: {{source: twonorm, samples: {{per-peer: 12}}, test_share: 0.3}}
model: {{loss: logistic, regularisation: 1}}
protocol: {{admm: {{rounds: 60}}}}
"
    )
}

fn finished(topology: &str, folder: &Path) -> (RunResult, PathBuf) {
    let checked = Checked::from_text("small.yaml", &scenario(topology)).expect("a valid scenario");
    let result = experiment::run(&checked).expect("a run");
    let directory = RunDirectory::create(&folder.join(topology), false).expect("a free name");
    let timing = Timing { seconds: 0.0, engine: String::new(), traffic: None };
    let yaml = to_yaml(&result.scenario);
    write_files(&result, &yaml, Some(&timing), &directory, false).expect("a writable directory");
    let place = directory.finish().expect("a writable directory");
    (result, place)
}

/// The rounds in which the repeats of a run first come this near to the optimum.
fn rounds(result: &RunResult, distance: f64) -> Vec<f64> {
    let column = result.metrics.iter().position(|&m| m == Metric::OptimumDistance);
    let column = column.expect("the optimum is measured");
    let first = |repeat: &hushmesh::experiment::RepeatResult| {
        let row = repeat.rows.iter().find(|row| row.values[column] <= distance);
        f64::from(row.expect("60 rounds are enough").round.0)
    };
    result.repeats.iter().map(first).collect()
}

#[test]
fn graphs_compare_from_their_files_as_from_memory() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let runs = ["ring", "star", "path"].map(|topology| finished(topology, folder.path()));
    let read = || {
        let records = runs.iter().map(|(result, place)| {
            (result.scenario.name.clone(), Ok(Record::read(place).expect("files of a run")))
        });
        records.collect::<Vec<_>>()
    };
    let target = Target::parse("optimum_distance=1e-3").expect("a target");
    let comparison = Comparison::new(read(), Some(target), vec![]);
    let quantity = |key: &str| -> &Quantity {
        comparison.quantities().iter().find(|q| q.key == key).expect("a column")
    };
    let needed: Vec<Vec<f64>> = runs.iter().map(|(result, _)| rounds(result, 1e-3)).collect();
    for (run, needed) in needed.iter().enumerate() {
        let expected = Outcome::Known(needed.iter().copied().enumerate().collect());
        assert_eq!(quantity("rounds_to_target").outcomes[run], expected);
    }
    let difference = quantity("rounds_to_target").differences[2].expect("paired repeats");
    let differences: f64 = needed[2].iter().zip(&needed[0]).map(|(a, b)| a - b).sum();
    let mean = difference.paired.difference.mean.expect("a mean");
    assert!((mean - differences / 5.0).abs() < 1e-12, "{mean}");
    // A path carries twice its four links in every round, and what it starts with.
    let messages = &quantity("messages_to_target").outcomes[2];
    assert!(messages.estimate().mean.expect("a mean") >= 8.0 * mean);

    let text = comparison.terminal(100);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.contains("star needs ") && text.contains(" as many rounds as ring"), "{text}");
    assert!(comparison.warnings().is_empty(), "{:?}", comparison.warnings());

    let directory = RunDirectory::create(&folder.path().join("out"), false).expect("a free name");
    comparison.write_files(&directory, false).expect("a writable directory");
    let again = RunDirectory::create(&folder.path().join("again"), false).expect("a free name");
    Comparison::new(read(), Some(target), vec![]).write_files(&again, false).expect("written");
    for name in [
        "comparison.csv",
        "comparison.md",
        "comparison.tex",
        "comparison.json",
        "report.json",
        "report.html",
    ] {
        let of = |directory: &RunDirectory| std::fs::read(directory.unfinished().join(name));
        assert_eq!(of(&directory).expect(name), of(&again).expect(name), "{name}");
    }
}
