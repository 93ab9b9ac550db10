//! Many peers: rows that are made again, measuring that thins itself, files that stay small.

use std::fs;

use serde_json::Value;

use crate::workbench::{SCENARIO, Workbench};

/// What is set over the small scenario.
type Case = &'static [&'static str];

const LOGISTIC: Case = &["protocol.admm.penalty=auto"];
const RIDGE: Case = &[
    "data={source: {linear-regression: {dimension: 4, norm: 1, noise: 0.1, bound: 2}}, \
     samples: {per-peer: 6}, test_share: 0.2, preprocess: [divide: {by: 2}]}",
    "model.loss=squared",
];
const DESCENT: Case = &["protocol={gradient-descent: {step: 0.1, rounds: 12}}"];
const TRACKING: Case = &["protocol={gradient-tracking: {rounds: 12}}", "model.intercept=true"];
const ANSWERS: Case = &[
    "data={source: twonorm, samples: {per-peer: 8}, test_share: 0.3, \
     preprocess: [clip: {norm: 4}, intercept], partition: {dirichlet-sizes: {alpha: 2}}}",
    "privacy={labels: {epsilon: {drawn: {uniform: {low: 0.3, high: 2}}}}}",
    "protocol.admm.objective_noise={exponential: {rate: 3}}",
    "measure.what=[consensus, optimum, risk, train, test, privacy, average]",
];
const COPIES: Case = &["data.partition=replicated", "data.preprocess=[unit-sphere]"];
const LABELS: Case = &["data.partition={label-shards: {per_peer: 2}}", "data.without=[1]"];

fn fingerprint(summary: &Value) -> String {
    summary["fingerprint"].as_str().expect("a fingerprint").to_string()
}

#[test]
fn rows_that_are_made_again_give_the_results_of_rows_that_are_kept() {
    let bench = Workbench::new();
    let cases = [LOGISTIC, RIDGE, DESCENT, TRACKING, ANSWERS, COPIES, LABELS];
    for (i, case) in cases.into_iter().enumerate() {
        let mut found = Vec::new();
        for (keep, workers) in [("true", "1"), ("false", "1"), ("false", "2")] {
            let mut more: Vec<&str> = case.iter().flat_map(|set| ["--set", set]).collect();
            let keep = format!("data.keep={keep}");
            more.extend(["--set", &keep, "--workers", workers, "--set", "repeat=2"]);
            let out = format!("{i}-{}", found.len());
            found.push(fingerprint(&bench.run(SCENARIO, &out, &more)));
        }
        assert!(found.iter().all(|next| *next == found[0]), "{case:?}: {found:?}");
    }
}

#[test]
fn what_cannot_be_made_row_by_row_is_refused_where_it_stands() {
    let bench = Workbench::new();
    bench.write("rows.csv", "a,y\n1,1\n2,-1\n3,1\n");
    for (sets, place, what) in [
        (
            &["data.preprocess=[unit-sphere, standardise]"][..],
            "data.preprocess.1",
            "standardise: mean and deviation of each feature over the training part: with keep: false \
             every row is made by itself: expected `clip`, `divide`, `unit-sphere` or `intercept`, or \
             keep: true",
        ),
        (
            &["data={source: {csv: {path: rows.csv, label: y}}, keep: false}"],
            "data.keep",
            "the rows of a file are read once and stay: expected true, or a drawn source",
        ),
        (
            &["protocol={walk-sgd: {step: {constant: 0.1}, batch: 2}}"],
            "data.keep",
            "expected true, or `admm`, `gradient-descent` or `gradient-tracking`",
        ),
        (
            &[
                "protocol={weighted-erm: {variant: masked-gradient, steps: 12, step: 1, noise: {epsilon: 2}}}",
            ],
            "data.keep",
            "expected true, or `admm`, `gradient-descent` or `gradient-tracking`",
        ),
    ] {
        let mut arguments = vec!["check", SCENARIO, "--set", "data.keep=false"];
        arguments.extend(sets.iter().flat_map(|set| ["--set", *set]));
        let said = bench.hushmesh(&arguments);
        assert_ne!(said.code, 0, "{sets:?}");
        assert!(said.stderr.contains(place) && said.stderr.contains(what), "{}", said.stderr);
    }
}

#[test]
fn memory_is_told_by_what_takes_it_and_a_run_beyond_the_machine_is_warned_of() {
    let bench = Workbench::new();
    let outline = |sets: &[&str]| -> Value {
        let mut arguments = vec!["check", SCENARIO, "--json"];
        arguments.extend(sets.iter().flat_map(|set| ["--set", *set]));
        serde_json::from_str(&bench.hushmesh(&arguments).stdout).expect("JSON")
    };
    let kept = outline(&[]);
    let parts = kept["memory_parts"].as_object().expect("parts").values();
    assert_eq!(parts.map(|part| part.as_u64().unwrap()).sum::<u64>(), kept["memory_per_peer"]);
    // Eight samples of 20 features; without these a label and a number are left.
    assert_eq!(kept["memory_parts"]["samples"], 8 * (20 * 8 + 12));
    assert_eq!(outline(&["data.keep=false"])["memory_parts"]["samples"], 8 * 12);

    let said = bench.hushmesh(&["check", SCENARIO]);
    assert!(!said.stdout.contains("this machine has"), "{}", said.stdout);
    if fs::exists("/proc/meminfo").unwrap_or(false) {
        let many = ["check", SCENARIO, "--set", "data.samples={total: 4000000000}"];
        let said = bench.hushmesh(&many);
        assert!(said.stdout.contains("memory: the run needs about"), "{}", said.stdout);
    }

    // By the rule: row = d (12 n + 2 N + s T), round = d (8 n + 2 N); here n = 20,000, N = 3 n, d = 20,
    // T = 12,000 of which s = 10⁹/(20·12,000) = 4,166 peers have a score.
    let sets = [
        "topology={ring: {peers: 20000}}",
        "data={source: twonorm, samples: {per-peer: 3}, test_share: 0.16666666666666666}",
        "protocol.admm.rounds=1000",
    ];
    let large = outline(&sets);
    assert_eq!(
        (&large["held_out_samples"], &large["scored_peers"]),
        (&12_000.into(), &4_166.into())
    );
    let row = 12.0 * 20_000.0 + 2.0 * 60_000.0 + 4_166.0 * 12_000.0;
    let round = 8.0 * 20_000.0 + 2.0 * 60_000.0;
    assert_eq!(large["measured_every"], f64::ceil(row / round) as u64);
    let asked = [&sets[..], &["measure.every=7", "measure.test_peers=20"]].concat();
    let asked = outline(&asked);
    assert_eq!((&asked["measured_every"], &asked["scored_peers"]), (&7.into(), &20.into()));
}

#[test]
fn some_peers_are_scored_on_held_out_samples_where_that_is_asked_for() {
    let bench = Workbench::new();
    let source = ["--set", "data.source=ringnorm"];
    let two = ["--set", "measure.test_peers=2"];
    let all = bench.run(SCENARIO, "all", &source);
    let some = bench.run(SCENARIO, "some", &[source, two].concat());
    let column = |out: &str| -> Vec<Option<f64>> {
        let text = fs::read_to_string(bench.path(out).join("peers.csv")).expect("peers.csv");
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let head = lines.next().expect("a head");
        let at = head.iter().position(|name| *name == "test_accuracy").expect("a column");
        lines.map(|line| line[at].parse().ok()).collect()
    };
    let (every, few) = (column("all"), column("some"));
    // ⌊2(i + 1)/5⌋ grows at i = 2 and at i = 4.
    assert_eq!(few, [None, None, every[2], None, every[4]]);
    let mean = (every[2].unwrap() + every[4].unwrap()) / 2.0;
    assert_eq!(some["metrics"]["test_accuracy"]["mean"].as_f64(), Some(mean));
    assert_eq!(some["metrics"]["consensus_gap"], all["metrics"]["consensus_gap"]);
}

#[test]
fn twenty_thousand_peers_from_the_file_to_a_small_report() {
    let bench = Workbench::new();
    let sets = [
        "topology={random-regular: {peers: 20000, degree: 4}}",
        "data={source: {linear-logistic: {dimension: 3, norm: 2}}, samples: {per-peer: 2}, \
         test_share: 0.001, keep: false}",
        "model.regularisation=2000",
        "measure.what=[consensus, risk, train, test]",
    ];
    let mut more: Vec<&str> = sets.iter().flat_map(|set| ["--set", *set]).collect();
    more.extend(["--workers", "2"]);
    let summary = bench.run(SCENARIO, "large", &more);
    assert_eq!(summary["metrics"]["messages"]["mean"], 5.0 * 80_000.0);
    let files = bench.files("large");
    let size = |name: &str| files[name].len();
    for (name, most) in
        [("report.html", 500_000), ("report.json", 200_000), ("summary.json", 50_000)]
    {
        assert!(size(name) < most, "{name} has {} bytes", size(name));
    }
    assert_eq!(files["peers.csv"].iter().filter(|&&byte| byte == b'\n').count(), 20_001);
    assert_eq!(size("model.npy"), 128 + 8 * 3 * 20_000);
}
