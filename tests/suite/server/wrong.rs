//! What can be wrong with parties around a server, and how the program says it.

use crate::bad_input::refused;
use crate::workbench::Workbench;

const HEAD: &str = "\
name: parties
seed: 1
topology: {ring: {peers: 5}}
data: {source: twonorm, samples: {per-peer: 8}, preprocess: [unit-sphere]}
model: {loss: logistic, regularisation: 1}
";

const ERM: &str = "\
protocol: {weighted-erm: {variant: masked-gradient, steps: 3, step: 0.5, noise: {epsilon: 1}}}
";

const FEDERATED: &str = "\
protocol: {federated: {variant: masked, steps: 2, communications: 3, noise: {epsilon: 1}}}
";

const QUERIES: &str = "\
protocol: {gradient-queries: {updates: 3, algorithm: {averaged: 0.5}, \
noise: {mechanism: laplace, epsilon: 1}}}
";

/// A scenario with one text in the place of another.
#[track_caller]
fn changed(protocol: &str, changes: &[(&str, &str)]) -> String {
    let mut text = format!("{HEAD}{protocol}");
    for (from, to) in changes {
        assert!(text.contains(from), "{from:?} is not in the scenario");
        text = text.replacen(from, to, 1);
    }
    text
}

/// `check` and `run` refuse it alike.
#[track_caller]
fn refused_with(protocol: &str, changes: &[(&str, &str)], words: &[&str]) {
    let bench = Workbench::new();
    bench.write("parties.yaml", changed(protocol, changes));
    let said = refused(&bench, &["parties.yaml"], 3, words);
    for command in ["check", "privacy", "predict"] {
        let checked = bench.hushmesh(&[command, "parties.yaml"]);
        assert_eq!((checked.code, &checked.stderr), (3, &said.stderr), "{command}");
    }
}

/// `check` finds nothing.
#[track_caller]
fn accepted(protocol: &str, changes: &[(&str, &str)]) {
    let bench = Workbench::new();
    bench.write("parties.yaml", changed(protocol, changes));
    let said = bench.hushmesh(&["check", "parties.yaml"]);
    assert_eq!(said.code, 0, "{changes:?}: {}", said.stderr);
}

#[test]
fn the_scenarios_are_right_as_they_are() {
    for protocol in [ERM, FEDERATED, QUERIES] {
        accepted(protocol, &[]);
    }
}

#[test]
fn numbers_of_weighted_erm_out_of_range() {
    for (from, to, words) in [
        ("steps: 3", "steps: 0", "steps: expected at least 1 step, found 0"),
        ("step: 0.5", "step: 0", "step: expected a number above 0, found 0"),
        ("step: 0.5", "step: .nan", "step: expected a number above 0, found NaN"),
        ("step: 0.5", "step: .inf", "step: expected a number above 0, found inf"),
        ("step: 0.5", "step: 0.5, clip: 0", "clip: expected a number above 0, found 0"),
        ("step: 0.5", "step: 0.5, clip: -1", "clip: expected a number above 0, found -1"),
        ("epsilon: 1", "epsilon: 0", "noise.epsilon: expected a number above 0, found 0"),
        ("epsilon: 1", "epsilon: .inf", "noise.epsilon: expected a number above 0, found inf"),
        (
            "epsilon: 1",
            "epsilon: 1, constant: 0",
            "noise.constant: expected a number above 0, found 0",
        ),
        (
            "epsilon: 1",
            "epsilon: 1, shared: true",
            "noise.shared: noise that all parties know protects nobody from them",
        ),
        (
            "step: 0.5",
            "step: 0.5, weight_noise: {epsilon: 1}",
            "weight_noise: the weights of this variant have no noise: expected none",
        ),
    ] {
        let words = format!("protocol.weighted-erm.{words}");
        refused_with(ERM, &[(from, to)], &["error: parties.yaml:6:", &words]);
    }
    for (noise, words) in [
        ("{epsilon: 0}", "weight_noise.epsilon: expected a number above 0, found 0"),
        (
            "{epsilon: 1, constant: -1}",
            "weight_noise.constant: expected a number above 0, found -1",
        ),
    ] {
        let step = format!("step: 0.5, weight_noise: {noise}");
        let words = format!("protocol.weighted-erm.{words}");
        refused_with(ERM, &[("masked-gradient", "published"), ("step: 0.5", &step)], &[&words]);
    }
}

#[test]
fn numbers_of_federated_learning_out_of_range() {
    for (from, to, words) in [
        ("communications: 3", "communications: 0", "communications: expected at least 1, found 0"),
        ("steps: 2", "steps: 0", "steps: expected `auto` or a whole number from 1, found 0"),
        ("steps: 2", "steps: 1.5", "steps: expected `auto` or a whole number from 1, found 1.5"),
        ("steps: 2", "steps: 2, total_steps: 4", "total_steps: expected 5 to 6 steps, found 4"),
        ("steps: 2", "steps: 2, total_steps: 7", "total_steps: expected 5 to 6 steps, found 7"),
        (
            "steps: 2",
            "steps: auto, total_steps: 6",
            "total_steps: all steps are K times the communications where K is `auto`",
        ),
        ("steps: 2", "steps: 2, clip: 0", "clip: expected a number above 0, found 0"),
        ("epsilon: 1", "epsilon: -1", "noise.epsilon: expected a number above 0, found -1"),
        ("epsilon: 1", "epsilon: 1, shared: true", "noise.shared: noise that all parties know"),
    ] {
        let words = format!("protocol.federated.{words}");
        refused_with(FEDERATED, &[(from, to)], &["error: parties.yaml:6:", &words]);
    }
    for steps in ["steps: auto, ", ""] {
        refused_with(
            FEDERATED,
            &[("steps: 2, ", steps), (", noise: {epsilon: 1}", "")],
            &[
                "protocol.federated.steps: without noise more local steps are always predicted to be",
            ],
        );
    }
    refused_with(
        FEDERATED,
        &[("regularisation: 1", "regularisation: 0")],
        &["parties.yaml:5:", "model.regularisation: expected a number above 0"],
    );
}

#[test]
fn numbers_of_queries_out_of_range() {
    for (from, to, words) in [
        ("updates: 3", "updates: 0", "updates: expected at least 1 update, found 0"),
        ("averaged: 0.5", "averaged: 0", "algorithm.averaged: expected a number above 0, found 0"),
        (
            "averaged: 0.5",
            "descent: {constant: -1}",
            "algorithm.descent.constant: expected a number above 0, found -1",
        ),
        (
            "averaged: 0.5",
            "descent: {inverse: 0}",
            "algorithm.descent.inverse: expected a number above 0, found 0",
        ),
        (
            "averaged: 0.5",
            "descent: {published: .inf}",
            "algorithm.descent.published: expected a number above 0, found inf",
        ),
        ("updates: 3", "updates: 3, box: 0", "box: expected a number above 0, found 0"),
        ("updates: 3", "updates: 3, residual: -2", "residual: expected a number above 0, found -2"),
        ("updates: 3", "updates: 3, learners: 0", "learners: expected 1 to 5 learners, found 0"),
        ("updates: 3", "updates: 3, learners: 6", "learners: expected 1 to 5 learners, found 6"),
        (
            "epsilon: 1",
            "epsilon: 0",
            "noise.epsilon: expected a number from 0.000000001 to 1000000000, found 0",
        ),
        (
            "epsilon: 1",
            "epsilon: [1, 2, 3]",
            "noise.epsilon: expected 5 numbers, one for each peer, found 3",
        ),
        ("epsilon: 1", "epsilon: [1, 1, 0, 1, 1]", "noise.epsilon.2: expected a number from"),
    ] {
        let words = format!("protocol.gradient-queries.{words}");
        refused_with(QUERIES, &[(from, to)], &["error: parties.yaml:6:", &words]);
    }
    let noise = ", noise: {mechanism: laplace, epsilon: 1}";
    refused_with(
        QUERIES,
        &[(noise, ""), ("updates: 3", "updates: 3, weights: precision")],
        &["gradient-queries.weights: weights by precision need the owners' ε: expected `samples`"],
    );
}

#[test]
fn sums_that_cannot_be_made() {
    let with = |protocol: &str, sum: &str, words: &[&str]| {
        let changed = format!(", sum: {sum}}}}}\n");
        let protocol = protocol.trim_end().strip_suffix("}}").expect("two braces");
        refused_with(&format!("{protocol}{changed}"), &[], words);
    };
    for protocol in [ERM, FEDERATED, QUERIES] {
        with(protocol, "{root: 5}", &["sum.root: expected a peer from 0 to 4, found 5"]);
        with(
            protocol,
            "{over: {gossip: {exchanges: 0}}}",
            &["sum.over.gossip.exchanges: expected at least 1 exchange, found 0"],
        );
        with(
            protocol,
            "{over: {gossip: {exchanges: 3}}, root: 2}",
            &["sum.root: gossip has no root: expected none"],
        );
    }
    for protocol in [ERM, FEDERATED] {
        with(
            protocol,
            "{over: {gossip: {exchanges: 3}}}",
            &["sum.over: the noise of this variant is in the sum, and gossip shows every party's"],
        );
        with(
            protocol,
            "{masks: all-pairs, over: {gossip: {exchanges: 3}}}",
            &["sum.over: the noise of this variant is in the sum"],
        );
        with(
            protocol,
            "{colluders: 5}",
            &["sum.colluders: expected fewer than the 5 peers, found 5"],
        );
        with(
            protocol,
            "{masks: {graph: {path: {peers: 4}}}}",
            &["sum.masks.graph: expected a graph of 5 peers, found 4"],
        );
        with(protocol, "{masks: {graph: {path: {peers: 0}}}}", &["sum.masks.graph.path"]);
        with(
            protocol,
            "{masks: {graph: {file: nowhere.csv}}}",
            &["sum.masks.graph: ", "nowhere.csv"],
        );
    }
    let own_noise = [
        ERM.replace("masked-gradient", "local"),
        ERM.replace("masked-gradient", "published"),
        ERM.replace("masked-gradient", "central"),
        FEDERATED.replace("masked", "published"),
        QUERIES.to_string(),
    ];
    for protocol in &own_noise {
        with(
            protocol,
            "{masks: none}",
            &["sum.masks: every party's own noise protects what it adds, or nothing does"],
        );
        with(
            protocol,
            "{colluders: 1}",
            &["sum.colluders: every party's own noise protects it from all others: expected none"],
        );
    }
    with(
        &own_noise[2],
        "{over: {gossip: {exchanges: 3}}}",
        &["sum.over: a curator is a root: expected `tree`"],
    );
    refused_with(
        ERM,
        &[("{ring: {peers: 5}}", "{ring: {peers: 4097}}")],
        &["sum.masks: every two of at most 4096 peers share a seed, found 4097 peers"],
    );
}

#[test]
fn names_that_do_not_exist() {
    for (protocol, from, to, words) in [
        (ERM, "step: 0.5", "stpe: 0.5", &["stpe: unknown key", "did you mean `step`?"][..]),
        (
            ERM,
            "masked-gradient",
            "masked-gradeint",
            &["variant: unknown choice", "`masked-gradient`?"],
        ),
        (ERM, "epsilon: 1", "epsilon: 1, delta: 1.0e-5", &["noise.delta: unknown key"]),
        (
            ERM,
            "step: 0.5",
            "step: 0.5, weights: sample",
            &["weights: unknown choice", "`samples`?"],
        ),
        (ERM, "step: 0.5", "step: 0.5, sum: {rot: 1}", &["sum.rot: unknown key", "`root`?"]),
        (
            ERM,
            "step: 0.5",
            "step: 0.5, sum: {masks: all-pair}",
            &["sum.masks: unknown choice", "did you mean `all-pairs`?"],
        ),
        (
            ERM,
            "step: 0.5",
            "step: 0.5, sum: {over: gosip}",
            &["sum.over: unknown choice", "did you mean `gossip`?"],
        ),
        (FEDERATED, "communications", "comunications", &["unknown key", "`communications`?"]),
        (FEDERATED, "masked", "maskd", &["variant: unknown choice", "did you mean `masked`?"]),
        (QUERIES, "laplace", "laplas", &["mechanism: unknown choice", "did you mean `laplace`?"]),
        (QUERIES, "averaged", "average", &["algorithm.average: unknown choice", "`averaged`?"]),
        (QUERIES, "updates", "update", &["update: unknown key", "did you mean `updates`?"]),
        (
            QUERIES,
            "updates: 3",
            "updates: 3, trajectory: seperate",
            &["trajectory: unknown choice", "did you mean `separate`?"],
        ),
        (
            QUERIES,
            "gradient-queries",
            "gradient-querys",
            &["protocol.gradient-querys: unknown choice", "did you mean `gradient-queries`?"],
        ),
    ] {
        let words = [&["error: parties.yaml:6:"], words].concat();
        refused_with(protocol, &[(from, to)], &words);
    }
}

const NO_SPHERE: (&str, &str) = (", preprocess: [unit-sphere]", "");

#[test]
fn gradients_that_nothing_bounds() {
    let regression =
        ("twonorm", "{linear-regression: {dimension: 3, norm: 1, noise: 0.1, bound: 2}}");
    let squared = [regression, ("loss: logistic", "loss: squared")];
    let words = "nothing bounds the gradient of a sample, so that no sum has a grid";
    for (protocol, field) in [
        (ERM, "weighted-erm.clip"),
        (FEDERATED, "federated.clip"),
        (QUERIES, "gradient-queries.residual"),
    ] {
        refused_with(
            protocol,
            &squared,
            &["parties.yaml:6:", &format!("protocol.{field}: {words}")],
        );
        refused_with(protocol, &[NO_SPHERE], &[&format!("protocol.{field}: {words}")]);
    }
    for (protocol, from, to) in [
        (ERM, "step: 0.5", "step: 0.5, clip: 1"),
        (FEDERATED, "steps: 2", "steps: 2, clip: 1"),
        (QUERIES, "updates: 3", "updates: 3, residual: 1"),
    ] {
        accepted(protocol, &[squared[0], squared[1], (from, to)]);
    }
    // A clip bounds gradients, though not |x|, on which these depend.
    let words = "data.preprocess: nothing bounds |x|, on which steps or noise depend";
    let clip = ("step: 0.5", "step: 0.5, clip: 1");
    accepted(ERM, &[NO_SPHERE, clip]);
    accepted(ERM, &[NO_SPHERE, clip, ("masked-gradient", "local")]);
    for variant in ["masked-output", "local-output"] {
        refused_with(ERM, &[NO_SPHERE, clip, ("masked-gradient", variant)], &[words]);
    }
    refused_with(FEDERATED, &[NO_SPHERE, ("steps: 2", "steps: 2, clip: 1")], &[words]);
    refused_with(QUERIES, &[NO_SPHERE, ("updates: 3", "updates: 3, residual: 1")], &[words]);
}

#[test]
fn losses_and_regularisers_that_do_not_fit() {
    for protocol in [ERM, FEDERATED] {
        refused_with(
            protocol,
            &[("loss: logistic", "loss: hinge")],
            &["parties.yaml:5:", "model.loss: the hinge loss has a kink", "expected `logistic`"],
        );
    }
    accepted(QUERIES, &[("loss: logistic", "loss: hinge")]);
    let sine = ("regularisation: 1", "regularisation: 1, sine: 1");
    let words = "model.sine: the protocol needs a convex regulariser: expected 0";
    accepted(ERM, &[sine]);
    for variant in ["published", "local", "jayaraman", "central"] {
        accepted(ERM, &[sine, ("masked-gradient", variant)]);
    }
    for variant in ["masked-output", "local-output"] {
        refused_with(ERM, &[sine, ("masked-gradient", variant)], &["parties.yaml:5:", words]);
    }
    refused_with(FEDERATED, &[sine], &["parties.yaml:5:", words]);
    refused_with(QUERIES, &[sine], &["parties.yaml:5:", words]);
}

#[test]
fn steps_that_bring_models_apart() {
    // 1/(¼ + 1/5) = 2.2222, or 2/¼ without regularisation.
    for variant in ["masked-output", "local-output"] {
        let variant = ("masked-gradient", variant);
        refused_with(
            ERM,
            &[variant, ("step: 0.5", "step: 2.3")],
            &[
                "parties.yaml:6:",
                "protocol.weighted-erm.step: steps bring no two models further apart only up to \
                 η = 2.2222, found 2.3",
            ],
        );
        accepted(ERM, &[variant, ("step: 0.5", "step: 2.2")]);
        let none = ("regularisation: 1", "regularisation: 0");
        accepted(ERM, &[variant, none, ("step: 0.5", "step: 8")]);
        refused_with(ERM, &[variant, none, ("step: 0.5", "step: 8.1")], &["η = 8.0000, found 8.1"]);
    }
    accepted(ERM, &[("step: 0.5", "step: 100")]);
}

#[test]
fn other_sections_that_do_not_fit() {
    for protocol in [ERM, FEDERATED, QUERIES] {
        refused_with(
            protocol,
            &[("seed: 1", "seed: 1\nprivacy: {labels: {epsilon: 1}}")],
            &[
                "parties.yaml:3:",
                "privacy.labels: parties around a server protect labels by their noise: expected no \
                 randomised labels",
            ],
        );
        refused_with(
            protocol,
            &[("seed: 1", "seed: 1\nmeasure: {stop: {epsilon: 1}}")],
            &[
                "parties.yaml:3:",
                "measure.stop.epsilon: the noise is found from the ε that the protocol's own section",
            ],
        );
        let clusters = "{clusters: {classes: 3, dimension: 2, separation: 1}}";
        refused_with(
            protocol,
            &[("twonorm", clusters)],
            &[
                "parties.yaml:4:",
                "data.source: labels of more than two classes: expected `positive`",
            ],
        );
        refused_with(
            protocol,
            &[("seed: 1", "seed: 1\nmeasure: {what: [average]}")],
            &["measure.what: expected no `average`"],
        );
        let regression = "{linear-regression: {dimension: 3, norm: 1, noise: 0.1, bound: 2}}";
        refused_with(
            protocol,
            &[("twonorm", regression)],
            &["model.loss: the source has real targets: expected `squared`"],
        );
    }
}

#[test]
fn every_mistake_at_once() {
    refused_with(
        ERM,
        &[("steps: 3, step: 0.5", "steps: 0, step: -1, sum: {root: 9, colluders: 9}")],
        &[
            "weighted-erm.steps: expected",
            "weighted-erm.step: expected",
            "weighted-erm.sum.root: expected a peer from 0 to 4, found 9",
            "weighted-erm.sum.colluders: expected fewer",
        ],
    );
}
