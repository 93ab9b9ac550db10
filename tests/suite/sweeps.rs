//! Sweeps: every point as if run alone, killed and taken up again, failed and run again.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::workbench::{SCENARIO, SMALL, Workbench, assert_same_files, names};

const PATIENCE: Duration = Duration::from_secs(60);

/// Two by three points of some tenths of a second each, of two repeats.
const SWEPT: &str = "\
name: swept
seed: 7
repeat: 2
topology: {erdos-renyi: {peers: 120, links: 300, resample: true}}
data:
  source: {linear-logistic: {dimension: 8, norm: 3}}
  samples: {per-peer: 20}
  test_share: 0.2
model: {loss: logistic, regularisation: 1}
protocol: {admm: {rounds: 150}}
network: {links: {loss: {probability: 0.05}}}
sweep:
  grid:
    protocol.admm.penalty: {log: {from: 0.1, to: 1, points: 3}}
    model.regularisation: {list: [1, 10]}
";

/// Files by their paths.
type Files = BTreeMap<String, Vec<u8>>;

fn start(bench: &Workbench, out: &str) -> Child {
    bench.write("swept.yaml", SWEPT);
    Command::new(env!("CARGO_BIN_EXE_hushmesh"))
        .args(["run", "swept.yaml", "--out", out, "--quiet"])
        .current_dir(bench.path(""))
        .spawn()
        .expect("the program starts")
}

/// Kills the sweep as soon as the files in its directory look like this.
fn kill_when(bench: &Workbench, mut run: Child, sign: impl Fn(&Files) -> bool) {
    let began = Instant::now();
    loop {
        assert!(run.try_wait().expect("a status").is_none(), "ended before it was killed");
        assert!(began.elapsed() < PATIENCE, "nothing to see within {PATIENCE:?}");
        let place = bench.path("out.unfinished");
        if place.exists() && sign(&bench.tree_if_there("out.unfinished")) {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    run.kill().expect("it is running");
    run.wait().expect("a status");
}

#[test]
fn a_sweep_that_was_killed_ends_with_the_same_bytes_as_one_left_alone() {
    let alone = Workbench::new();
    assert!(start(&alone, "out").wait().expect("a status").success());
    let expected = alone.tree("out");
    assert_eq!(names(&alone.path("out/points")).len(), 6);

    let has = |files: &Files, file: &str| files.keys().any(|name| name.ends_with(file));
    let signs: [&dyn Fn(&Files) -> bool; 4] = [
        // Before anything is done, within a run, after a run, and at the very end.
        &|files| has(files, "study.yaml"),
        &|files| has(files, "repeat-0.json"),
        &|files| has(files, "complete"),
        &|files| files.keys().filter(|name| name.ends_with("complete")).count() >= 5,
    ];
    for (number, sign) in signs.into_iter().enumerate() {
        let bench = Workbench::new();
        let run = start(&bench, "out");
        kill_when(&bench, run, sign);
        let said = bench.hushmesh(&["run", "--resume", "out", "--jobs", "3"]);
        assert_eq!(said.code, 0, "{said:?}");
        assert_same_files(&bench.tree("out"), &expected, &format!("killed at sign {number}"));
        assert!(!bench.path("out.unfinished").exists());
    }
}

#[test]
fn a_point_gives_the_same_bytes_alone_and_in_a_sweep() {
    let bench = Workbench::new();
    let sweep = ["--sweep", "protocol.admm.penalty=0.1,0.3", "--sweep", "seed=4,5"];
    bench.run(SCENARIO, "sweep", &sweep);
    let points = ["0.1,seed=4", "0.1,seed=5", "0.3,seed=4", "0.3,seed=5"];
    let points = points.map(|point| format!("penalty={point}"));
    assert_eq!(names(&bench.path("sweep/points")), points);
    let alone = ["--set", "protocol.admm.penalty=0.3", "--set", "seed=4"];
    bench.run(SCENARIO, "alone", &alone);
    let mut expected = bench.files("alone");
    expected.remove("timing.json");
    assert_same_files(&bench.files("sweep/points/penalty=0.3,seed=4"), &expected, "alone");
}

#[test]
fn a_failed_point_is_run_again_and_the_others_are_not() {
    let bench = Workbench::new();
    let source = "data: {source: {csv: {path: a.csv, label: y}}}";
    let lines: Vec<String> = SMALL
        .lines()
        .map(|line| if line.starts_with("data") { source } else { line }.into())
        .collect();
    bench.write("files.yaml", lines.join("\n"));
    let rows = |shift: i32| {
        let row = |k: i32| format!("{},{},{}\n", k % 7, (k * k + shift) % 11, k % 2);
        format!("u,v,y\n{}", (0..40).map(row).collect::<String>())
    };
    bench.write("a.csv", rows(0));
    let sweep =
        ["run", "files.yaml", "--sweep", "data.source.csv.path=a.csv,b.csv", "--out", "out"];
    let said = bench.hushmesh(&sweep);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("path=b.csv: data: "), "{said:?}");
    assert!(said.stderr.contains("1 of 2 runs failed: --resume"), "{said:?}");
    let place = bench.path("out.unfinished/points");
    assert_eq!(names(&place), ["path=a.csv"]);
    let marker = || fs::metadata(place.join("path=a.csv/complete")).and_then(|m| m.modified());
    let before = marker().expect("a time");
    let results = fs::read_to_string(bench.path("out.unfinished/results.csv")).expect("results");
    assert!(results.contains("failed"), "{results}");

    // Still failing, then not.
    assert_eq!(bench.hushmesh(&["run", "--resume", "out"]).code, 1);
    assert_eq!(marker().expect("a time"), before);
    bench.write("b.csv", rows(3));
    let said = bench.hushmesh(&["run", "--resume", "out"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(names(&bench.path("out/points")), ["path=a.csv", "path=b.csv"]);

    bench.hushmesh(&[
        "run",
        "files.yaml",
        "--sweep",
        "data.source.csv.path=a.csv,b.csv",
        "--out",
        "again",
    ]);
    assert_same_files(&bench.tree("out"), &bench.tree("again"), "failed first");
}

#[test]
fn the_number_of_jobs_and_workers_changes_nothing() {
    let bench = Workbench::new();
    let sweep = ["--sweep", "protocol.admm.penalty=0.1,0.2,0.3", "--set", "repeat=2"];
    for (out, more) in
        [("one", ["--jobs", "1", "--workers", "1"]), ("many", ["--jobs", "7", "--workers", "3"])]
    {
        bench.run(SCENARIO, out, &[&sweep[..], &more].concat());
    }
    assert_same_files(&bench.tree("many"), &bench.tree("one"), "jobs");
}

#[test]
fn ctrl_c_leaves_a_sweep_that_can_be_read_and_resumed() {
    let bench = Workbench::new();
    let mut run = start(&bench, "out");
    let began = Instant::now();
    while !bench.path("out.unfinished/points").exists()
        || !bench.tree_if_there("out.unfinished").keys().any(|name| name.ends_with("complete"))
    {
        assert!(began.elapsed() < PATIENCE, "no point within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
    let sent = Command::new("kill").args(["-INT", &run.id().to_string()]).status();
    assert!(sent.expect("kill starts").success());
    assert_eq!(run.wait().expect("a status").code(), Some(130));
    let results = fs::read_to_string(bench.path("out.unfinished/results.csv")).expect("results");
    assert!(results.lines().count() > 2, "{results}");
    assert!(results.contains("not-run") && !results.contains("failed"), "{results}");
    assert!(bench.path("out.unfinished/report.html").is_file());
    assert_eq!(bench.hushmesh(&["run", "--resume", "out"]).code, 0);
    let alone = Workbench::new();
    assert!(start(&alone, "out").wait().expect("a status").success());
    assert_same_files(&bench.tree("out"), &alone.tree("out"), "interrupted");
}

#[test]
fn wrong_sweeps_are_refused_before_anything_runs() {
    let bench = Workbench::new();
    for (argument, expected) in [
        ("protocol.admm.penalty=0.1,-1", "error: --sweep protocol.admm.penalty=0.1,-1: "),
        ("protocol.admm.penalti=0.1,1", "did you mean `penalty`"),
        ("seed", "expected `path.to.key=value`"),
    ] {
        let said = bench.hushmesh(&["run", SCENARIO, "--sweep", argument]);
        assert_eq!(said.code, 3, "{said:?}");
        assert!(said.stderr.contains(expected), "{said:?}");
        assert_eq!(said.stdout, "");
    }
    assert_eq!(bench.litter(), [""; 0]);
}
