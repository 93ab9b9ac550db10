//! What can be wrong with a walk, and how the program says it.

use crate::bad_input::refused;
use crate::workbench::Workbench;

const WALK: &str = "\
name: walk
seed: 1
topology: {ring: {peers: 5}}
data: {source: twonorm, samples: {per-peer: 8}, preprocess: [unit-sphere]}
model: {loss: logistic, regularisation: 1}
protocol: {walk-sgd: {batch: 4, step: {constant: 0.1}, noise: {epsilon: 1}}}
";

/// The walk with one text in the place of another: `check` and `run` refuse it alike.
#[track_caller]
fn refused_with(changes: &[(&str, &str)], words: &[&str]) {
    let bench = Workbench::new();
    let mut text = WALK.to_string();
    for (from, to) in changes {
        assert!(text.contains(from), "{from:?} is not in the scenario");
        text = text.replacen(from, to, 1);
    }
    bench.write("walk.yaml", text);
    let said = refused(&bench, &["walk.yaml"], 3, words);
    let checked = bench.hushmesh(&["check", "walk.yaml"]);
    assert_eq!((checked.code, checked.stderr), (3, said.stderr));
}

#[test]
fn numbers_out_of_range() {
    for (from, to, words) in [
        (
            "batch: 4",
            "batch: 0",
            "6:30: protocol.walk-sgd.batch: expected at least 1 sample, found 0",
        ),
        ("batch: 4", "batch: 4, passes: 0", "passes: expected 1 to 1000000 passes, found 0"),
        ("batch: 4", "batch: 4, updates: 0", "updates: expected at least 1 update, found 0"),
        (
            "batch: 4",
            "batch: 4, radius: 0",
            "6:41: protocol.walk-sgd.radius: expected a number above 0, found 0",
        ),
        ("batch: 4", "batch: 4, radius: -1", "radius: expected a number above 0, found -1"),
        ("batch: 4", "batch: 4, radius: .nan", "radius: expected a number above 0, found NaN"),
        ("0.1", "0", "step: expected a number above 0, found 0"),
        ("constant: 0.1", "inverse-sqrt: -2", "step: expected a number above 0, found -2"),
        ("constant: 0.1", "constant: .inf", "step: expected a number above 0, found inf"),
        ("epsilon: 1", "epsilon: 0", "noise.epsilon: expected a finite loss above 0, found 0"),
        ("epsilon: 1", "epsilon: .inf", "noise.epsilon: expected a finite loss above 0, found inf"),
    ] {
        refused_with(&[(from, to)], &["error: walk.yaml:6:", "protocol.walk-sgd.", words]);
    }
}

#[test]
fn policies() {
    for (policy, words) in [
        ("random: {global: 1.5}", "random.global: expected a number from 0 to 1, found 1.5"),
        ("periodic: {every: 0}", "periodic.every: expected at least 1 visit, found 0"),
        ("threshold: {exploration: -0.1}", "threshold.exploration: expected a number from 0 to 1"),
        ("bandit: {step: 0}", "bandit.step: expected a number above 0, at most 1, found 0"),
        ("bandit: {exploration: 2}", "bandit.exploration: expected a number from 0 to 1, found 2"),
        ("linear-q: {learning_rate: 2}", "linear-q.learning_rate: expected a number above 0"),
        ("linear-q: {discount: 1.1}", "linear-q.discount: expected a number from 0 to 1"),
        (
            "linear-q: {exploration: {from: 1, to: -1, over: 0.5}}",
            "linear-q.exploration.to: expected a number from 0 to 1, found -1",
        ),
        ("deep-q: {hidden: 0}", "deep-q.hidden: expected 1 to 10000 units, found 0"),
        ("deep-q: {replay: 0}", "deep-q.replay: expected 1 to 100000 transitions, found 0"),
        ("deep-q: {batch: 0}", "deep-q.batch: expected 1 to 10000 transitions, found 0"),
        ("deep-q: {target_every: 0}", "deep-q.target_every: expected at least 1 update, found 0"),
        ("deep-q: {discount: 2}", "deep-q.discount: expected a number from 0 to 1, found 2"),
        (
            "deep-q: {adam: {learning_rate: 0}}",
            "deep-q.adam.learning_rate: expected a number above",
        ),
        ("deep-q: {adam: {mean_decay: 1}}", "deep-q.adam.mean_decay: expected a number from 0 to"),
        ("deep-q: {adam: {square_decay: 1}}", "deep-q.adam.square_decay: expected a number from"),
        ("deep-q: {adam: {floor: 0}}", "deep-q.adam.floor: expected a number from 1e-12 to 1"),
        ("deep-q: {exploration: {over: 3}}", "deep-q.exploration.over: expected a number from 0"),
    ] {
        let decision = format!("batch: 4, decision: {{{policy}}}");
        let words = format!("protocol.walk-sgd.decision.{words}");
        refused_with(&[("batch: 4", &decision)], &["error: walk.yaml:6:", &words]);
    }
}

#[test]
fn names_that_do_not_exist() {
    for (from, to, words) in [
        (
            "batch: 4",
            "walk: metropolys, batch: 4",
            &[
                "walk: unknown choice",
                "uniform, simple, metropolis, non-backtracking",
                "did you mean `metropolis`?",
            ][..],
        ),
        (
            "batch: 4",
            "batch: 4, decision: final-globl",
            &["decision: unknown choice", "did you mean `final-global`?"],
        ),
        (
            "batch: 4",
            "batch: 4, decision: {deep-p: {}}",
            &["decision.deep-p: unknown choice", "did you mean `deep-q`?"],
        ),
        (
            "batch: 4",
            "batch: 4, decisoin: final-global",
            &["decisoin: unknown key", "did you mean `decision`?"],
        ),
        ("constant", "constnat", &["step.constnat: unknown choice", "did you mean `constant`?"]),
        (
            "epsilon: 1",
            "epsilon: 1, budget: totl",
            &["noise.budget: unknown choice", "did you mean `total`?"],
        ),
        ("epsilon: 1", "epsilon: 1, delta: 1.0e-5", &["noise.delta: unknown key"]),
        (
            "walk-sgd",
            "walk-sdg",
            &["protocol.walk-sdg: unknown choice", "did you mean `walk-sgd`?"],
        ),
    ] {
        let words = [&["error: walk.yaml:6:"], words].concat();
        refused_with(&[(from, to)], &words);
    }
}

#[test]
fn parts_that_do_not_fit_together() {
    refused_with(
        &[("regularisation: 1", "regularisation: 0"), ("{constant: 0.1}", "strongly-convex")],
        &[
            "walk.yaml:6:39: protocol.walk-sgd.step: a problem without regularisation is not strongly convex",
            "expected {constant: …} or {inverse-sqrt: …}, or `model.regularisation` above 0",
        ],
    );
    let unbounded = "protocol.walk-sgd.noise: nothing bounds what a record does to an update";
    refused_with(
        &[(", preprocess: [unit-sphere]", "")],
        &["walk.yaml:6:", unbounded, "`clip` or `unit-sphere`"],
    );
    refused_with(
        &[("loss: logistic", "loss: squared")],
        &["walk.yaml:6:", unbounded, "`loss: logistic`"],
    );
    refused_with(
        &[("seed: 1", "seed: 1\nprivacy: {labels: {epsilon: 1}}")],
        &[
            "walk.yaml:3:",
            "privacy.labels: a walk protects labels by its noise: expected no randomised labels",
        ],
    );
    for rule in ["consensus_gap: 1", "dual_residual: 1", "epsilon: 1, consensus_gap: 1"] {
        let measure = format!("seed: 1\nmeasure: {{stop: {{{rule}}}}}");
        let words = "measure.stop: a token agrees with itself: expected `epsilon`, or no rule";
        refused_with(&[("seed: 1", &measure)], &["walk.yaml:3:", words]);
    }
    refused_with(
        &[(", noise: {epsilon: 1}", ""), ("seed: 1", "seed: 1\nmeasure: {stop: {epsilon: 1}}")],
        &[
            "walk.yaml:3:27: measure.stop.epsilon: models are sent in the clear",
            "`protocol.walk-sgd.noise`",
        ],
    );
}

#[test]
fn what_the_graph_does_not_bear() {
    refused_with(
        &[("{ring: {peers: 5}}", "{ring: {peers: 5000}}")],
        &[
            "protocol.walk-sgd.walk: a uniform walk goes over shortest paths, which are stored for at most 4096 peers, found 5000",
            "expected `simple`, `metropolis` or `non-backtracking`, or a complete graph",
        ],
    );
    refused_with(
        &[("epsilon: 1", "epsilon: 40, calibration: classic")],
        &["walk.yaml:6:", "protocol.walk-sgd.noise: "],
    );
    // 1/(¼ + 1/5) = 2.2222.
    let decision = "batch: 4, decision: final-global";
    refused_with(
        &[("batch: 4", decision), ("constant: 0.1", "constant: 2.3")],
        &[
            "walk.yaml:6:",
            "protocol.walk-sgd.step: local steps of 2η bring models together only up to η = 2.2222, found 2.3",
        ],
    );
    let bench = Workbench::new();
    let fits = WALK.replace("batch: 4", decision).replace("constant: 0.1", "constant: 2.2");
    bench.write("walk.yaml", fits);
    assert_eq!(bench.hushmesh(&["check", "walk.yaml"]).code, 0);
}

#[test]
fn more_than_two_classes_without_a_model_for_each() {
    let clusters = "{clusters: {classes: 3, dimension: 2, separation: 1}}";
    for protocol in ["{admm: {rounds: 3}}", "{gradient-descent: {step: 0.1, rounds: 3}}"] {
        let walk = "{walk-sgd: {batch: 4, step: {constant: 0.1}, noise: {epsilon: 1}}}";
        refused_with(
            &[("twonorm", clusters), (walk, protocol)],
            &["walk.yaml:4:", "data.source: labels of more than two classes: expected `positive`"],
        );
    }
}

#[test]
fn a_budget_below_the_first_release() {
    let bench = Workbench::new();
    bench.write("walk.yaml", WALK);
    let words = ["measure.stop.epsilon: 0.01 at δ = ", "does not bear the first release"];
    refused(&bench, &["walk.yaml", "--set", "measure.stop={epsilon: 0.01}"], 3, &words);
}
