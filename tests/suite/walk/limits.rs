//! Walks at the edge of what is allowed, and what links and slow peers do to them.

use serde_json::Value;

use crate::workbench::{Workbench, assert_same_files};

const WALK: &str = "\
name: edge
seed: 6
topology: {ring: {peers: 5}}
data: {source: {clusters: {classes: 3, dimension: 3, separation: 3}}, samples: {per-peer: 10}, \
test_share: 0.2, preprocess: [unit-sphere]}
model: {loss: logistic, regularisation: 0.5}
protocol: {walk-sgd: {walk: simple, batch: 4, step: {constant: 0.1}, noise: {epsilon: 1}}}
";

fn set(changes: &[&'static str]) -> Vec<&'static str> {
    changes.iter().flat_map(|change| ["--set", change]).collect()
}

#[test]
fn the_edges_of_what_is_allowed_run_to_the_end() {
    let bench = Workbench::new();
    bench.write("edge.yaml", WALK);
    for (case, changes) in [
        // One dimension.
        &["data.source={linear-logistic: {dimension: 1, norm: 1}}"][..],
        &["data.source={clusters: {classes: 2, dimension: 1, separation: 1}}"],
        // One peer, by every walk; one sample.
        &["topology={path: {peers: 1}}"],
        &["topology={path: {peers: 1}}", "protocol.walk-sgd.walk=uniform"],
        &["topology={path: {peers: 1}}", "protocol.walk-sgd.walk=metropolis"],
        &["topology={path: {peers: 1}}", "protocol.walk-sgd.walk=non-backtracking"],
        &["topology={path: {peers: 1}}", "data.samples={total: 1}", "data.test_share=0"],
        &["data.samples={total: 1}", "data.test_share=0"],
        &["data.samples={total: 2}", "protocol.walk-sgd.decision=final-global"],
        // More turns at one peer than it takes before it lets others have theirs.
        &[
            "topology={path: {peers: 1}}",
            "protocol.walk-sgd={batch: 1, passes: 100, \
           step: {constant: 0.1}}",
        ],
        // A star whose centre has no data, and one with it.
        &["topology={star: {peers: 200}}"],
        &[
            "topology={star: {peers: 200}}",
            "data.samples={total: 40}",
            "protocol.walk-sgd.walk=metropolis",
            "protocol.walk-sgd.batch=1",
        ],
        &["data.partition={ratio: [0, 1, 0, 0, 1]}", "protocol.walk-sgd.walk=metropolis"],
        &["data.partition={ratio: [1, 0, 0, 0, 0]}", "protocol.walk-sgd.walk=uniform"],
        &[
            "data.partition={ratio: [1, 0, 0, 0, 0]}",
            "protocol.walk-sgd.batch=1",
            "protocol.walk-sgd.decision={deep-q: {}}",
        ],
        &["protocol.walk-sgd.batch=1", "protocol.walk-sgd.decision=always-local"],
        &["protocol.walk-sgd.batch=4294967295"],
        &["protocol.walk-sgd.updates=1", "measure.every=1000"],
        &["protocol.walk-sgd.step=strongly-convex", "protocol.walk-sgd.radius=1.0e-9"],
        &["measure.what=[]"],
        &["model.regularisation=0"],
        &["model.regularisation=0", "protocol.walk-sgd.radius=3", "measure.what=[optimum]"],
    ]
    .into_iter()
    .enumerate()
    {
        let set = set(changes);
        let (one, three) = (format!("{case}-one"), format!("{case}-three"));
        bench.run("edge.yaml", &one, &[&set[..], &["--workers", "1"]].concat());
        bench.run("edge.yaml", &three, &[&set[..], &["--workers", "3"]].concat());
        assert_same_files(&bench.files(&three), &bench.files(&one), &format!("{changes:?}"));
    }
}

fn figure(summary: &Value, name: &str) -> f64 {
    summary["metrics"][name]["mean"].as_f64().unwrap_or_else(|| panic!("no {name}: {summary}"))
}

#[test]
fn links_and_slow_peers_cost_messages_and_time_and_change_nothing_else() {
    let bench = Workbench::new();
    bench.write("edge.yaml", WALK);
    let run = |out: &str, changes: &[&'static str]| bench.run("edge.yaml", out, &set(changes));
    let plain = run("plain", &[]);
    let (hops, seconds) = (figure(&plain, "hops"), figure(&plain, "sim_seconds"));
    assert_eq!(figure(&plain, "messages"), hops);
    // One id and one count, the model's length and its three numbers.
    assert_eq!(figure(&plain, "bytes"), hops * (12.0 + 8.0 * 3.0));
    for (out, change, longer) in [
        ("lossy", "network.links.loss={probability: 0.3, timeout: 0.02}", true),
        ("narrow", "network.links.bandwidth={up: 1000, down: 1000}", true),
        ("far", "network.links.latency={min: 0.5}", true),
        ("slow", "network.compute={seconds_per_sample: 0.01}", true),
    ] {
        let other = run(out, &[change]);
        assert_eq!(figure(&other, "hops"), hops, "{out}");
        let files = bench.files(out);
        assert!(files["model.npy"] == bench.files("plain")["model.npy"], "{out}");
        let (messages, time) = (figure(&other, "messages"), figure(&other, "sim_seconds"));
        assert_eq!(messages > hops, out == "lossy", "{out}: {messages} of {hops}");
        assert_eq!(figure(&other, "bytes"), messages * 36.0, "{out}");
        assert_eq!(time > seconds, longer, "{out}: {time}, {seconds}");
    }
    // Every hop of a token waits for the one before: half a second each, and the longest token's.
    let far = figure(&bench.summary("far"), "sim_seconds");
    assert!(far >= 0.5 * hops / 3.0 && far <= 0.5 * hops, "{far} for {hops}");
}

#[test]
fn figures_are_there_whichever_are_asked_for() {
    let bench = Workbench::new();
    bench.write("edge.yaml", WALK);
    let all = bench.run("edge.yaml", "all", &[]);
    let one = bench.run("edge.yaml", "one", &["--set", "measure.what=[optimum]"]);
    assert_eq!(figure(&one, "excess_risk"), figure(&all, "excess_risk"));
}

#[test]
fn more_passes_than_can_be_counted_are_refused_in_words() {
    let bench = Workbench::new();
    bench.write("edge.yaml", WALK);
    for changes in [
        &["protocol.walk-sgd.passes=4294967295"][..],
        &["protocol.walk-sgd.passes=4294967295", "protocol.walk-sgd.updates=5"],
        &["protocol.walk-sgd.passes=1000000000", "protocol.walk-sgd.updates=5"],
        &["protocol.walk-sgd.passes=1000000000", "protocol.walk-sgd.batch=1"],
    ] {
        let arguments = [&["run", "edge.yaml"], &set(changes)[..]].concat();
        let said = bench.hushmesh(&arguments);
        assert!(said.code == 0 || said.stderr.contains("protocol.walk-sgd"), "{said:?}");
    }
}
