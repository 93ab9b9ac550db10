//! `hushmesh check` tells what a run will do, and the run does it.

use hushmesh::experiment::Outline;
use hushmesh::scenario::{Checked, Graph};
use serde_json::Value;

use crate::workbench::{SCENARIO, Workbench};

fn outline(bench: &Workbench, change: &str) -> Value {
    let said = bench.hushmesh(&["check", SCENARIO, "--json", "--set", change]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{change}: {said:?}");
    serde_json::from_str(&said.stdout).expect("JSON")
}

#[test]
fn it_prints_the_size_of_the_run_and_touches_nothing() {
    let bench = Workbench::new();
    let said = bench.hushmesh(&["check", SCENARIO]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    for line in [
        "peers 5",
        "links 5",
        "neighbours per peer 2, mean 2",
        "connected yes, diameter 2",
        "training samples 40",
        "samples per peer 8",
        "held-out samples 17",
        "dimension 20",
        "rounds, at most 5",
        "messages per repeat 50",
        "bytes per repeat 8.4 kB",
        "memory per peer",
        "memory",
        "privacy: not protected",
    ] {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let found = said.stdout.lines().any(|found| squeezed(found).starts_with(line));
        assert!(found, "no line {line:?} in\n{}", said.stdout);
    }
    let outline = outline(&bench, "seed=1");
    assert_eq!(outline["connected"], true);
    assert_eq!(outline["samples_per_peer"], serde_json::json!([8, 8]));
    assert!(outline["memory"].as_u64() > outline["memory_per_peer"].as_u64());
    assert_eq!(bench.litter(), [""; 0]);
}

/// It says what a run would take that no machine here could hold, and builds no graph for it.
#[test]
fn a_hundred_million_peers_are_counted() {
    let bench = Workbench::new();
    let of = outline(&bench, "topology={ring: {peers: 100000000}}");
    assert_eq!((&of["peers"], &of["links"]), (&100_000_000.into(), &100_000_000.into()));
    assert_eq!(of["degrees"], serde_json::json!([2, 2.0, 2]));
    assert_eq!(of["samples_per_peer"], serde_json::json!([8, 8]));
    assert!(of["memory"].as_u64() > Some(100_000_000_000), "{of}");
    let more =
        bench.hushmesh(&["check", SCENARIO, "--set", "topology={ring: {peers: 2000000000}}"]);
    assert_eq!(more.code, 3);
    assert!(more.stderr.contains("expected 1 to 1073741823"), "{more:?}");
}

/// How much noise hides from whom is found in who shares masks with whom, of all: one process builds that.
#[test]
fn masks_along_wires_take_a_graph_that_one_process_builds() {
    let bench = Workbench::new();
    let of = |noise: &str| {
        let protocol = format!(
            "protocol={{federated: {{variant: masked, communications: 2, steps: 2{noise}, \
             sum: {{masks: wires}}}}}}"
        );
        let changes =
            ["topology={ring: {peers: 20000000}}", "data.preprocess=[unit-sphere]", &protocol];
        let changes = changes.iter().flat_map(|change| ["--set", *change]);
        bench.hushmesh(&["check", SCENARIO].into_iter().chain(changes).collect::<Vec<_>>())
    };
    let refused = of(", noise: {epsilon: 1}");
    assert_eq!(refused.code, 3, "{refused:?}");
    let why = "expected 1 to 16777216 where one process has the whole graph";
    assert!(refused.stderr.contains(why), "{refused:?}");
    let counted = of("");
    assert_eq!(counted.code, 0, "{counted:?}");
}

#[test]
fn a_graph_that_is_counted_has_the_outline_of_one_that_is_built() {
    let bench = Workbench::new();
    for graph in [
        "{ring: {peers: 1500}}",
        "{path: {peers: 3000}}",
        "{star: {peers: 3000}}",
        "{grid: {rows: 60, columns: 50}}",
        "{torus: {rows: 2, columns: 1501}}",
        "{binary-tree: {peers: 4000}}",
        "{barbell: {cliques: 300, clique_size: 10, bridges: 2}}",
        "{exponential: {peers: 2500}}",
        "{hypercube: {dimension: 12}}",
        "{random-regular: {peers: 3000, degree: 4}}",
    ] {
        let change = [format!("topology={graph}")];
        let of = |graph| {
            let checked = Checked::load_with(&bench.path(SCENARIO), &change, graph).unwrap();
            format!("{:?}", Outline::of(&checked).unwrap())
        };
        assert_eq!(of(Graph::Led), of(Graph::Whole), "{graph}");
    }
}

#[test]
fn it_foretells_exactly_the_messages_and_bytes_of_a_run_without_loss() {
    let bench = Workbench::new();
    let changes = [
        "topology={ring: {peers: 2}}",
        "topology={path: {peers: 1}}",
        "topology={star: {peers: 6}}",
        "topology={complete: {peers: 5}}",
        "topology={grid: {rows: 2, columns: 3}}",
        "topology={random-regular: {peers: 8, degree: 3}}",
        "protocol={gradient-descent: {step: 0.1, rounds: 7}}",
        "protocol={gradient-tracking: {step: 0.1, rounds: 6}}",
    ];
    for (case, change) in changes.into_iter().enumerate() {
        let outline = outline(&bench, change);
        let summary = bench.run(SCENARIO, &format!("run-{case}"), &["--set", change]);
        for name in ["messages", "bytes", "rounds"] {
            let counted = summary["metrics"][name]["mean"].as_f64();
            assert_eq!(counted, outline[name].as_f64(), "{name} of {change}");
        }
    }
}
