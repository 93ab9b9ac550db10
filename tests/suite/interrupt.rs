//! Ctrl-C and worse, in the middle of a run.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::workbench::{Workbench, assert_same_files};

/// Repeats of some tenths of a second each, so that there is time to interrupt between the first
/// and the last.
const LONG: &str = "\
name: long
seed: 7
repeat: 6
topology: {erdos-renyi: {peers: 200, links: 500, resample: true}}
data:
  source: {linear-logistic: {dimension: 8, norm: 3}}
  samples: {per-peer: 20}
  test_share: 0.2
  preprocess: [standardise]
model: {loss: logistic, regularisation: 1}
protocol: {admm: {rounds: 250}}
network: {links: {loss: {probability: 0.05}}}
";
/// The same with every noise: what was kept of a repeat's ledger has to come back as it was.
const PRIVATE: &str = "\
name: private
seed: 7
repeat: 6
topology: {erdos-renyi: {peers: 100, links: 250, resample: true}}
data:
  source: {linear-logistic: {dimension: 8, norm: 3}}
  samples: {per-peer: 20}
  test_share: 0.2
  preprocess: [clip: {norm: 1}]
model: {loss: logistic, regularisation: 1}
privacy: {labels: {epsilon: {drawn: {uniform: {low: 0.3, high: 2}}}}}
protocol:
  admm:
    rounds: 200
    penalty: 0.3
    objective_noise: {ball: {radius: 1}}
    primal_noise: {deviation: 0.7, decay: 0.95}
measure: {what: [consensus, optimum, risk, train, test, privacy, average]}
";
/// Tokens of three classes, with decisions: what was kept of their journeys has to come back too.
const WALK: &str = "\
name: walk
seed: 7
repeat: 6
topology: {erdos-renyi: {peers: 60, links: 150, resample: true}}
data:
  source: {clusters: {classes: 3, dimension: 8, separation: 3}}
  samples: {per-peer: 60}
  test_share: 0.2
  preprocess: [unit-sphere]
model: {loss: logistic, regularisation: 0.5}
protocol:
  walk-sgd:
    walk: simple
    batch: 2
    passes: 3
    step: {constant: 0.1}
    noise: {epsilon: 2}
    decision: {deep-q: {hidden: 16}}
measure: {what: [optimum, risk, train, test, privacy, average, walk]}
";
/// Written when the first repeat is complete.
const FIRST_REPEAT: &str = "repeat-0.json";
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts the run and waits until it has written a certain file.
fn start(bench: &Workbench, sign: &str) -> Child {
    start_with(bench, LONG, sign)
}

fn start_with(bench: &Workbench, scenario: &str, sign: &str) -> Child {
    bench.write("long.yaml", scenario);
    let mut run = Command::new(env!("CARGO_BIN_EXE_hushmesh"))
        .args(["run", "long.yaml", "--out", "out"])
        .current_dir(bench.path(""))
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let began = Instant::now();
    while !bench.path("out.unfinished").join(sign).exists() {
        assert!(run.try_wait().expect("a status").is_none(), "ended before it was interrupted");
        assert!(began.elapsed() < PATIENCE, "no {sign} within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
    run
}

/// Sends a signal and waits for the end: the exit code, none if the signal itself ended it.
fn end(mut run: Child, signal: &str) -> Option<i32> {
    let sent = Command::new("kill").args([signal, &run.id().to_string()]).status();
    assert!(sent.expect("kill starts").success());
    let began = Instant::now();
    loop {
        if let Some(status) = run.try_wait().expect("a status") {
            return status.code();
        }
        assert!(began.elapsed() < PATIENCE, "still running {PATIENCE:?} after {signal}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Resumes by the given name; what comes out is what an uninterrupted run gives.
fn resumes_as_if_nothing_had_happened(bench: &Workbench, name: &str) {
    let said = bench.hushmesh(&["run", "--resume", name, "--workers", "3"]);
    assert_eq!(said.code, 0, "{said:?}");
    bench.run("long.yaml", "uninterrupted", &[]);
    assert_same_files(&bench.files("out"), &bench.files("uninterrupted"), "resumed");
    assert!(!bench.path("out.unfinished").exists());
    assert_eq!(bench.hushmesh(&["run", "--resume", name]).code, 5, "it is finished");
}

#[test]
fn after_ctrl_c_there_are_readable_files_and_the_run_can_be_resumed() {
    let bench = Workbench::new();
    assert_eq!(end(start(&bench, FIRST_REPEAT), "-INT"), Some(130));
    assert!(!bench.path("out").exists());

    let summary = bench.summary("out.unfinished");
    assert_eq!(summary["stop_reason"], "interrupted");
    let complete = summary["repeats"].as_u64().expect("a number of repeats");
    assert!((1..6).contains(&complete), "{complete}");
    assert!(summary["warnings"][0].as_str().is_some_and(|text| text.contains("--resume")));
    let metrics = fs::read_to_string(bench.path("out.unfinished/metrics.csv")).expect("a table");
    let fields = |line: &str| line.split(',').count();
    let head = metrics.lines().next().expect("a header");
    assert!(metrics.lines().all(|line| fields(line) == fields(head)));
    assert!(metrics.lines().filter(|line| line.starts_with("0,")).count() == 250);

    let said = bench.hushmesh(&["run", "long.yaml", "--out", "out"]);
    assert_eq!(said.code, 5);
    assert!(said.stderr.contains("--resume out"), "{said:?}");
    resumes_as_if_nothing_had_happened(&bench, "out");
}

#[test]
fn a_run_interrupted_in_its_first_repeat_has_readable_files_too() {
    let bench = Workbench::new();
    assert_eq!(end(start(&bench, "scenario.yaml"), "-TERM"), Some(130));
    let files = bench.files("out.unfinished");
    for name in ["metrics.csv", "peers.csv", "model.npy", "report.html", "summary.json"] {
        assert!(!files[name].is_empty(), "{name}");
    }
    assert_eq!(bench.summary("out.unfinished")["stop_reason"], "interrupted");
    assert_eq!(bench.hushmesh(&["run", "--resume", "out", "--quiet"]).code, 0);
    assert_eq!(bench.summary("out")["repeats"], 6);
}

#[test]
fn after_sigkill_the_kept_repeats_are_not_lost() {
    let bench = Workbench::new();
    assert_eq!(end(start(&bench, FIRST_REPEAT), "-KILL"), None);
    assert!(bench.path("out.unfinished/repeat-0.json").exists());
    // What a kill in the middle of writing leaves behind is written over.
    bench.write("out.unfinished/repeat-5.json.draft", "{\"repeat\": 5, \"stop_rea");
    resumes_as_if_nothing_had_happened(&bench, "out.unfinished/");
}

#[test]
fn a_damaged_repeat_is_named() {
    let bench = Workbench::new();
    assert_eq!(end(start(&bench, FIRST_REPEAT), "-KILL"), None);
    bench.write("out.unfinished/repeat-0.json", "{}");
    let said = bench.hushmesh(&["run", "--resume", "out"]);
    assert_eq!(said.code, 5);
    assert!(said.stderr.contains("repeat-0.json: missing field"), "{said:?}");
    assert!(said.stderr.contains("delete it and resume again"), "{said:?}");
    assert!(bench.path("out.unfinished/asked.yaml").exists());
}

#[test]
fn a_private_run_resumes_with_its_ledger() {
    let bench = Workbench::new();
    assert_eq!(end(start_with(&bench, PRIVATE, FIRST_REPEAT), "-INT"), Some(130));
    assert_eq!(bench.summary("out.unfinished")["stop_reason"], "interrupted");
    resumes_as_if_nothing_had_happened(&bench, "out");
}

#[test]
fn a_walk_resumes_with_its_tokens() {
    let bench = Workbench::new();
    assert_eq!(end(start_with(&bench, WALK, FIRST_REPEAT), "-INT"), Some(130));
    assert_eq!(bench.summary("out.unfinished")["stop_reason"], "interrupted");
    resumes_as_if_nothing_had_happened(&bench, "out");
}
