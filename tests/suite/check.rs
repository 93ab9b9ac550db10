//! `hushmesh check` tells what a run will do, and the run does it.

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
