//! What can be wrong, and how the program says it: where, what, and what was expected.

use std::fs;
use std::path::Path;

use hushmesh::scenario::Checked;
use proptest::prelude::*;

use crate::workbench::{REPOSITORY, SCENARIO, SMALL, Said, Workbench};

/// `check` and `run` end with the same code and the same words, on standard error alone, and
/// leave no file.
#[track_caller]
pub(crate) fn refused(bench: &Workbench, arguments: &[&str], code: i32, words: &[&str]) -> Said {
    let before = bench.litter();
    let said = bench.hushmesh(&[&["run"], arguments].concat());
    assert_eq!((said.code, said.stdout.as_str()), (code, ""), "{said:?}");
    for word in words {
        assert!(said.stderr.contains(word), "{word:?} is not in\n{}", said.stderr);
    }
    assert_eq!(bench.litter(), before);
    said
}

/// The small scenario with one text in the place of another.
#[track_caller]
fn refused_with(from: &str, to: &str, words: &[&str]) {
    let bench = Workbench::new();
    let text = SMALL.replacen(from, to, 1);
    assert_ne!(text, SMALL, "{from:?} is not in the scenario");
    bench.write(SCENARIO, text);
    let said = refused(&bench, &[SCENARIO], 3, words);
    let checked = bench.hushmesh(&["check", SCENARIO]);
    assert_eq!((checked.code, checked.stderr), (3, said.stderr));
}

#[test]
fn keys_that_do_not_exist() {
    refused_with(
        "penalty: 0.3",
        "penlty: 0.3",
        &[
            "error: small.yaml:6:19: protocol.admm.penlty: unknown key",
            "\n6 | protocol: {admm: {penlty: 0.3, rounds: 5}}\n  |                   ^^^^^^\n",
            "expected one of: penalty, rounds, tolerance",
            "did you mean `penalty`?",
        ],
    );
    refused_with("seed: 1", "seed: 1\nbanana: 2", &["small.yaml:3:1: banana: unknown key"]);
}

#[test]
fn values_of_the_wrong_type() {
    refused_with(
        "rounds: 5",
        "rounds: many",
        &["small.yaml:6:41: protocol.admm.rounds: expected a whole number", "the text `many`"],
    );
    refused_with("seed: 1", "seed: -1", &["small.yaml:2:7: seed: expected", "found the number -1"]);
    refused_with("0.3, r", "often, r", &["protocol.admm.penalty: expected a number or the word"]);
    refused_with(
        "{ring: {peers: 5}}",
        "[1, 2]",
        &["small.yaml:3:1: topology: expected a choice, found a list"],
    );
}

#[test]
fn values_out_of_range_all_at_once() {
    let bench = Workbench::new();
    let text = SMALL
        .replace("test_share: 0.3", "test_share: 3")
        .replace("regularisation: 1", "regularisation: -1")
        .replace("penalty: 0.3, rounds: 5", "penalty: -2, rounds: 0")
        .replace("seed: 1", "seed: 1\nrepeat: 0");
    let network = "network: {workers: 0, links: {loss: {probability: 1}, latency: {min: 0}}}\n";
    bench.write(SCENARIO, text + network + "measure: {every: 0}\n");
    let said = refused(
        &bench,
        &[SCENARIO],
        3,
        &[
            "small.yaml:3:9: repeat: expected 1 to 100000 repeats",
            "small.yaml:5:61: data.test_share: found 3, expected a share from 0 to below 1",
            "small.yaml:6:41: model.regularisation: expected a number above 0",
            "small.yaml:7:28: protocol.admm.penalty: expected `auto` or a number from",
            "small.yaml:7:40: protocol.admm.rounds: expected 1 to 1000000000 rounds",
            "network.workers: expected 1 to 1024, found 0",
            "network.links.loss.probability: expected a probability from 0 to 0.99, found 1",
            "network.links.latency.min: expected seconds from 1e-9 to 1e6, found 0",
            "measure.every: expected at least 1 round",
        ],
    );
    assert_eq!(said.stderr.matches("error: ").count(), 9, "{}", said.stderr);
}

#[test]
fn a_section_that_is_missing() {
    refused_with(
        "model: {loss: logistic, regularisation: 1}\n",
        "",
        &["small.yaml:1:1: the key `model` is missing"],
    );
    refused_with(", samples: {per-peer: 8}", "", &["data.samples: missing, expected {total: …}"]);
}

#[test]
fn choices_that_do_not_exist() {
    refused_with(
        "ring",
        "rign",
        &[
            "small.yaml:3:12: topology.rign: unknown choice `rign`",
            "expected one of: path, ring, star",
            "did you mean `ring`?",
        ],
    );
    refused_with("logistic", "probit", &["5:15: model.loss: unknown choice", "logistic, squared"]);
    refused_with("twonorm", "twonrm", &["data.source: unknown choice", "did you mean `twonorm`?"]);
}

#[test]
fn files_that_are_no_scenario() {
    let bench = Workbench::new();
    refused(&bench, &["none.yaml"], 3, &["`none.yaml` cannot be read: No such file"]);
    refused(&bench, &["."], 3, &["`.` cannot be read"]);
    for (text, words) in [
        ("", "odd.yaml:1:1: the scenario is empty"),
        ("# nothing\n", "the scenario is empty"),
        ("a: [", "not valid YAML"),
        ("just words", "odd.yaml:1:1: expected"),
        ("a: 1\na: 2\n", "odd.yaml:2:1"),
    ] {
        bench.write("odd.yaml", text);
        refused(&bench, &["odd.yaml"], 3, &["error: ", words]);
    }
    bench.write("odd.yaml", b"name: \xff\xfe");
    refused(&bench, &["odd.yaml"], 3, &["odd.yaml:1:7: not UTF-8 text"]);
}

#[test]
fn graph_files() {
    let bench = Workbench::new();
    bench.write(SCENARIO, SMALL.replace("{ring: {peers: 5}}", "{file: graph.yaml}"));
    let place = "small.yaml:3:18: topology.file: graph.yaml";
    refused(&bench, &[SCENARIO], 3, &[place, "cannot be read: No such file"]);
    for (text, words) in [
        (
            "peers: [ann, bo, cy]\nlinks: [[ann, bo]]\n",
            ": the graph is not connected: it has 2 components: {ann, bo} {cy}",
        ),
        (
            "peers: [ann, bo]\nlinks: [[ann, bo], [bo, dan]]\n",
            ":2:25: links[1][1]: there is no peer dan; expected one of the names under peers",
        ),
    ] {
        bench.write("graph.yaml", text);
        refused(&bench, &[SCENARIO], 3, &[&format!("{place}{words}")]);
    }
}

#[test]
fn data_files() {
    let bench = Workbench::new();
    let set = |source: &str| format!("data={{source: {{csv: {{path: d.csv, {source}}}}}}}");
    let (good, misspelt) = (set("label: class, positive: 'yes'"), set("label: clas"));
    refused(&bench, &[SCENARIO, "--set", &good], 4, &["cannot read d.csv: No such file"]);
    bench.write("d.csv", "x,class\n1,yes\n2,no\nthree,yes\n4,no\n");
    refused(
        &bench,
        &[SCENARIO, "--set", &good],
        4,
        &["d.csv, line 4, column \"x\": found \"three\", expected a finite number"],
    );
    let words = ["d.csv, line 1: no column \"clas\": did you mean \"class\"?"];
    refused(&bench, &[SCENARIO, "--set", &misspelt], 4, &words);
    let said = bench.hushmesh(&["check", SCENARIO, "--set", &misspelt]);
    assert_eq!(said.code, 4);
    assert!(said.stderr.contains(words[0]), "{said:?}");
}

#[test]
fn parts_that_do_not_fit_together() {
    refused_with(
        "twonorm",
        "{linear-regression: {dimension: 3, norm: 1, noise: 0.1, bound: 2}}",
        &["small.yaml:5:15: model.loss: the source has real targets: expected `squared`"],
    );
    refused_with(
        "test_share: 0.3",
        "partition: {ratio: [1, 2]}",
        &["data.partition.ratio: number of weights: found 2, expected 5, one for each peer"],
    );
    refused_with(
        "{ring: {peers: 5}}",
        "{ring: {peers: 1025}}\nnetwork: {engine: threads}",
        &[
            "small.yaml:4:19: network.engine: the threads engine takes at most 1024 peers",
            "the topology has 1025: expected `simulated`",
        ],
    );
}

#[test]
fn privacy_that_cannot_be_stated() {
    for delta in ["0", "1", "-0.5", "2"] {
        refused_with(
            "seed: 1",
            &format!("seed: 1\nprivacy: {{delta: {delta}}}"),
            &[
                "small.yaml:3:18: privacy.delta: expected a probability above 0, below 1, found",
                &format!("found {delta}\n"),
            ],
        );
    }
    refused_with(
        "model: {loss: logistic",
        "privacy: {labels: {epsilon: 1}}\nmodel: {loss: squared",
        &["small.yaml:5:", "privacy.labels: targets are no classes to be randomised"],
    );
    refused_with(
        "seed: 1",
        "seed: 1\nprivacy: {labels: {epsilon: {per-peer: [1, 2]}}}",
        &["small.yaml:3:", "number of levels: found 2, expected 5, one for each peer"],
    );
    // How many rows a source has is known when it is read.
    let levels = "privacy.labels={epsilon: {per-user: [1, 2, 3]}}";
    refused(
        &Workbench::new(),
        &[SCENARIO, "--set", levels],
        3,
        &["privacy.labels.epsilon.per-user: number of levels: found 3, expected 57, one for each"],
    );
}

#[test]
fn noise_that_cannot_be_drawn() {
    refused_with(
        "rounds: 5",
        "rounds: 5, objective_noise: {shpere: {radius: 1}}",
        &[
            "small.yaml:6:62: protocol.admm.objective_noise.shpere: unknown choice `shpere`",
            "expected one of: sphere, ball, exponential, gaussian",
            "did you mean `sphere`?",
        ],
    );
    for (law, words) in [
        ("sphere: {radius: -1}", "sphere.radius: expected a finite radius from 0, found -1"),
        ("ball: {radius: .inf}", "ball.radius: expected a finite radius from 0, found inf"),
        ("exponential: {rate: 0}", "exponential.rate: expected a finite rate of more than 0"),
        ("gaussian: {deviation: 0}", "gaussian.deviation: expected a finite deviation of more"),
    ] {
        let place = "small.yaml:6:";
        let words = format!("protocol.admm.objective_noise.{words}");
        let noise = format!("rounds: 5, objective_noise: {{{law}}}");
        refused_with("rounds: 5", &noise, &[place, &words]);
    }
    for (noise, place, words) in [
        ("deviation: -1", "6:70: ", "deviation: expected a number from 0 to 1000000, found -1"),
        ("deviation: [1, 2]", "6:", "deviation: expected 5 numbers, one for each peer, found 2"),
        (
            "deviation: [1, 1, -2, 1, 1]",
            "6:77: ",
            "deviation.2: expected a number from 0 to 1000000, found -2",
        ),
        ("deviation: 1, decay: 0", "6:80: ", "decay: expected a factor above 0, at most 1"),
        ("deviation: 1, decay: 1.5", "6:80: ", "decay: expected a factor above 0, at most 1"),
        ("deviation: 1, decay: .nan", "6:80: ", "decay: expected a factor above 0, at most 1"),
    ] {
        let place = format!("small.yaml:{place}");
        let words = format!("protocol.admm.primal_noise.{words}");
        let noise = format!("rounds: 5, primal_noise: {{{noise}}}");
        refused_with("rounds: 5", &noise, &[&place, &words]);
    }
}

#[test]
fn budgets_that_nothing_can_keep() {
    let noise = "rounds: 5, primal_noise: {deviation: 1}";
    let stop = "}}\nmeasure: {stop: {epsilon: 1}}";
    let place = "small.yaml:7:27: measure.stop.epsilon: ";
    refused_with(
        "rounds: 5}}",
        &format!("rounds: 5{stop}"),
        &[place, "models are sent in the clear", "expected `protocol.admm.primal_noise`"],
    );
    refused_with(
        "rounds: 5}}",
        &format!("{noise}{stop}"),
        &[place, "nothing bounds what a record does to a model", "expected `loss: logistic` and"],
    );
    refused_with(
        "rounds: 5}}",
        &format!("{noise}}}}}\nmeasure: {{every: 2, stop: {{epsilon: 1}}}}"),
        &["small.yaml:7:18: measure.every: expected 1: a run that a budget ends is measured in"],
    );
    refused_with(
        "rounds: 5}}",
        "rounds: 5}}\nmeasure: {stop: {epsilon: 0}}",
        &[place, "expected a number above 0, found 0"],
    );
    // Whether the first release is within it is known when the data is there.
    let arguments = [
        SCENARIO,
        "--set",
        "data.preprocess=[unit-sphere]",
        "--set",
        "protocol.admm.primal_noise={deviation: 1}",
        "--set",
        "measure.stop={epsilon: 0.0001}",
    ];
    let words = ["measure.stop.epsilon: 0.0001 at δ = ", "does not bear the first release"];
    refused(&Workbench::new(), &arguments, 3, &words);
}

#[test]
fn an_average_that_nobody_keeps() {
    refused_with(
        "{admm: {penalty: 0.3, rounds: 5}}",
        "{gradient-descent: {step: 0.1, rounds: 5}}\nmeasure: {what: [average]}",
        &[
            "small.yaml:7:",
            "measure.what: expected no `average`: only ADMM's peers and tokens keep one",
        ],
    );
}

#[test]
fn an_engine_that_cannot_take_the_peers_is_refused_before_anything_is_read() {
    let bench = Workbench::new();
    // The data file does not exist: were it looked for, the code would be 4.
    let missing = "data={source: {csv: {path: none.csv, label: y}}}";
    let peers = "topology={ring: {peers: 1025}}";
    refused(
        &bench,
        &[SCENARIO, "--engine", "threads", "--set", peers, "--set", missing],
        2,
        &["--engine threads: the threads engine", "at most 1024 peers, not 1025", "simulated"],
    );
}

#[test]
fn overrides_are_named_as_they_were_typed() {
    let bench = Workbench::new();
    for (argument, words) in [
        ("seed", "--set seed: expected `path.to.key=value`, found no `=`"),
        ("model.los=squared", "--set model.los=squared: model.los: unknown key"),
        ("protocol.admm.rounds=0", "--set protocol.admm.rounds=0: protocol.admm.rounds: expected"),
        ("seed.deep=1", "--set seed.deep=1: "),
        ("seed=[", "--set seed=[: "),
    ] {
        refused(&bench, &[SCENARIO, "--set", argument], 3, &[words]);
    }
}

#[test]
fn arguments() {
    let bench = Workbench::new();
    for (arguments, words) in [
        (&[SCENARIO, "--workers", "0"][..], "0 is not in 1..=1024"),
        (&[SCENARIO, "--workers", "some"], "invalid value 'some'"),
        (&[SCENARIO, "--engine", "steam"], "possible values: simulated, threads"),
        (&[SCENARIO, "--force"], "--out <DIR>"),
        (&[SCENARIO, "--json", "--quiet"], "cannot be used with"),
        (&[SCENARIO, "--resume", "x"], "cannot be used with"),
        (&[], "<SCENARIO>"),
    ] {
        refused(&bench, arguments, 2, &[words]);
    }
    refused(&bench, &["--resume", "none"], 5, &["none is no unfinished run", "none.unfinished"]);
    assert_eq!(bench.hushmesh(&["walk"]).code, 2);
    assert_eq!(bench.hushmesh(&[]).code, 2);
    let help = bench.hushmesh(&["--help"]);
    assert_eq!(help.code, 0);
    for code in ["0  done", "3  the scenario is not valid", "130  interrupted"] {
        assert!(help.stdout.contains(code), "{code}");
    }
}

/// One small violence to a text.
#[derive(Clone, Debug)]
enum Violence {
    DeleteLine(usize),
    DoubleLine(usize),
    SwapLines(usize, usize),
    Cut(usize, usize),
    Byte(usize, u8),
    Insert(usize, &'static str),
}

fn violence() -> impl Strategy<Value = Violence> {
    let tokens = vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ": ",
        "- ",
        "\n",
        "\n\n  ",
        "\t",
        "&a ",
        "*a",
        "!t ",
        "<<: ",
        "~",
        "---\n",
        "0",
        "-",
        ".nan",
        ".inf",
        "1e999",
        "99999999999999999999",
        "'",
        "\"",
        "#",
        "é",
        "\u{feff}",
        "\u{202e}",
        "auto",
        "%",
    ];
    let at = any::<prop::sample::Index>().prop_map(|index| index.index(1 << 20));
    prop_oneof![
        at.clone().prop_map(Violence::DeleteLine),
        at.clone().prop_map(Violence::DoubleLine),
        (at.clone(), at.clone()).prop_map(|(a, b)| Violence::SwapLines(a, b)),
        (at.clone(), 1_usize..30).prop_map(|(a, length)| Violence::Cut(a, length)),
        (at.clone(), any::<u8>()).prop_map(|(a, byte)| Violence::Byte(a, byte)),
        (at, prop::sample::select(tokens)).prop_map(|(a, token)| Violence::Insert(a, token)),
    ]
}

impl Violence {
    fn on(&self, text: &[u8]) -> Vec<u8> {
        let mut bytes = text.to_vec();
        let mut lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
        if bytes.is_empty() {
            return bytes;
        }
        let (length, count) = (bytes.len(), lines.len());
        match *self {
            Self::DeleteLine(a) => drop(lines.remove(a % count)),
            Self::DoubleLine(a) => lines.insert(a % count, lines[a % count]),
            Self::SwapLines(a, b) => lines.swap(a % count, b % count),
            Self::Cut(a, some) => {
                let a = a % length;
                bytes.drain(a..length.min(a + some));
                return bytes;
            }
            Self::Byte(a, byte) => {
                bytes[a % length] = byte;
                return bytes;
            }
            Self::Insert(a, token) => {
                let a = a % length;
                bytes.splice(a..a, token.bytes());
                return bytes;
            }
        }
        lines.concat()
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1500, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_maltreated_scenario_is_a_scenario_or_a_list_of_problems(
        blows in prop::collection::vec(violence(), 1..6),
    ) {
        let shipped = Path::new(REPOSITORY).join("scenarios/quickstart.yaml");
        let text = fs::read(shipped).expect("the shipped scenario");
        let text = blows.iter().fold(text, |text, blow| blow.on(&text));
        // Beside the shipped one, so that its graph file is found where it is still named.
        let folder = tempfile::tempdir().expect("a temporary directory");
        let topologies = folder.path().join("topologies");
        fs::create_dir_all(folder.path().join("scenarios")).expect("a folder");
        fs::create_dir_all(&topologies).expect("a folder");
        let graph = Path::new(REPOSITORY).join("topologies/pdml-10.yaml");
        fs::copy(graph, topologies.join("pdml-10.yaml")).expect("a copy");
        let path = folder.path().join("scenarios/quickstart.yaml");
        fs::write(&path, &text).expect("a file");
        if let Err(problems) = Checked::load(&path, &[]) {
            prop_assert!(!problems.0.is_empty());
            prop_assert!(problems.to_string().starts_with("error: "));
        }
    }
}
