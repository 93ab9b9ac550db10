//! What every command does alike: help, JSON, colours, manuals, completions, wrong arguments.

use std::collections::BTreeSet;
use std::fs;

use assert_cmd::Command;
use serde_json::Value;

use crate::workbench::{SCENARIO, Workbench, names};

fn json(bench: &Workbench, arguments: &[&str]) -> Value {
    let said = bench.hushmesh(arguments);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{arguments:?}: {said:?}");
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
}

#[test]
fn with_json_there_is_json_on_standard_output_and_nothing_else() {
    let bench = Workbench::new();
    for arguments in [
        vec!["run", SCENARIO, "--json"],
        vec!["check", SCENARIO, "--json"],
        vec!["privacy", SCENARIO, "--json"],
        vec!["predict", SCENARIO, "--json"],
        vec!["data", "show", SCENARIO, "--json"],
        vec!["topology", "show", "{ring: {peers: 5}}", "--json"],
        vec!["topology", "generate", "{ring: {peers: 5}}", "--json"],
        vec!["topology", "suggest", "{path: {peers: 5}}", "--add", "1", "--json"],
        vec!["list", "--json"],
        vec!["list", "losses", "--json"],
        vec!["schema"],
    ] {
        assert!(json(&bench, &arguments).is_object(), "{arguments:?}");
    }
}

#[test]
fn a_graph_in_json_is_a_graph_file() {
    let bench = Workbench::new();
    let said = bench.hushmesh(&["topology", "generate", "{star: {peers: 4}}", "--json"]);
    bench.write("star.yaml", &said.stdout);
    let figures = json(&bench, &["topology", "show", "star.yaml", "--json"]);
    assert_eq!((figures["peers"].as_u64(), figures["links"].as_u64()), (Some(4), Some(3)));
    let both = ["topology", "generate", "{star: {peers: 4}}", "--json", "--out", "star.txt"];
    assert_eq!(bench.hushmesh(&both).code, 2);
}

#[test]
fn every_variant_of_the_schema_is_listed() {
    let bench = Workbench::new();
    let schema = json(&bench, &["schema"]);
    let listed = json(&bench, &["list", "--json"]);
    let text = bench.hushmesh(&["list"]).stdout;
    for (kind, definition) in [
        ("protocols", "ProtocolConfig"),
        ("topologies", "TopologyConfig"),
        ("losses", "Loss"),
        ("policies", "PolicyConfig"),
        ("sources", "Source"),
        ("partitions", "Partition"),
    ] {
        let choices = schema["$defs"][definition]["oneOf"].as_array().expect(definition);
        let expected: BTreeSet<&str> = choices
            .iter()
            .map(|choice| match choice["const"].as_str() {
                Some(word) => word,
                None => choice["required"][0].as_str().expect("a variant with fields"),
            })
            .collect();
        let entries = listed[kind].as_array().expect(kind);
        let found: BTreeSet<&str> = entries.iter().filter_map(|e| e["name"].as_str()).collect();
        assert_eq!(found, expected, "{kind}");
        let alone = json(&bench, &["list", kind, "--json"]);
        assert_eq!(alone[kind], listed[kind]);
        for entry in entries {
            let [name, line] = ["name", "line"].map(|key| entry[key].as_str().expect(key));
            assert!(!line.is_empty(), "{name}");
            let row = text.lines().find(|row| row.starts_with(&format!("{name} ")));
            assert!(row.is_some_and(|row| row.ends_with(line)), "{name} is not in\n{text}");
        }
    }
    assert_eq!(listed.as_object().map(|kinds| kinds.len()), Some(7));
}

#[test]
fn every_measured_figure_is_listed() {
    let bench = Workbench::new();
    bench.run(
        SCENARIO,
        "out",
        &["--set", "measure.what=[consensus, optimum, risk, train, test, average]"],
    );
    let metrics = fs::read_to_string(bench.path("out/metrics.csv")).expect("metrics.csv");
    let listed = json(&bench, &["list", "metrics", "--json"]);
    let names: Vec<&str> =
        listed["metrics"].as_array().unwrap().iter().filter_map(|e| e["name"].as_str()).collect();
    let head: Vec<&str> = metrics.lines().next().unwrap().split(',').skip(2).collect();
    assert!(head.len() > 10);
    for column in head {
        assert!(names.contains(&column), "{column} is not in {names:?}");
    }
}

#[test]
fn wrong_words_end_with_code_two_and_name_the_right_ones() {
    let bench = Workbench::new();
    for (arguments, named) in [
        (vec!["chek"], "'check'"),
        (vec!["topology", "sho"], "'show'"),
        (vec!["check", SCENARIO, "--jsn"], "'--json'"),
        (vec!["list", "protocol"], "'protocols'"),
        (vec!["completions", "bas"], "'bash'"),
        (vec![], "Usage"),
    ] {
        let said = bench.hushmesh(&arguments);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{arguments:?}: {said:?}");
        assert!(said.stderr.contains(named), "{arguments:?}: {}", said.stderr);
    }
    assert_eq!(bench.litter(), [""; 0]);
}

#[test]
fn no_color_silences_every_colour() {
    let bench = Workbench::new();
    let escapes = |arguments: &[&str], variables: &[(&str, &str)]| {
        let output = Command::new(env!("CARGO_BIN_EXE_hushmesh"))
            .current_dir(bench.path(""))
            .args(arguments)
            .env_remove("NO_COLOR")
            .envs(variables.iter().copied())
            .output()
            .expect("the program starts");
        output.stdout.contains(&0x1b) || output.stderr.contains(&0x1b)
    };
    let force = ("CLICOLOR_FORCE", "1");
    for arguments in [&["--help"][..], &["run", "--help"], &["chek"], &["check"]] {
        assert!(!escapes(arguments, &[force, ("NO_COLOR", "1")]), "{arguments:?}");
        assert!(!escapes(arguments, &[]), "{arguments:?} into a pipe");
    }
    // Without it they would be there.
    assert!(escapes(&["--help"], &[force]));
    for arguments in [
        &["run", SCENARIO, "--out", "a"][..],
        &["check", SCENARIO],
        &["check", "none.yaml"],
        &["list"],
    ] {
        assert!(!escapes(arguments, &[force, ("NO_COLOR", "1")]), "{arguments:?}");
    }
}

#[test]
fn every_shell_gets_completions_of_every_command() {
    let bench = Workbench::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = bench.hushmesh(&["completions", shell]);
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{shell}");
        for word in ["run", "check", "privacy", "topology", "suggest", "list", "man", "resume"] {
            assert!(said.stdout.contains(word), "{shell}: {word}");
        }
    }
}

/// The commands in the program's help, `help` itself apart.
fn commands(bench: &Workbench, path: &[&str]) -> Vec<String> {
    let help = bench.hushmesh(&[path, &["--help"]].concat()).stdout;
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    list.lines()
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_has_a_page_of_the_manual() {
    let bench = Workbench::new();
    let mut expected = vec!["hushmesh.1".to_owned()];
    for name in commands(&bench, &[]) {
        expected.push(format!("hushmesh-{name}.1"));
        for inner in commands(&bench, &[&name]) {
            expected.push(format!("hushmesh-{name}-{inner}.1"));
        }
    }
    expected.sort();
    assert!(expected.len() > 12, "{expected:?}");
    let said = bench.hushmesh(&["man", "--out", "man/man1"]);
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, "", ""));
    assert_eq!(names(&bench.path("man/man1")), expected);
    for name in &expected {
        let page = fs::read_to_string(bench.path("man/man1").join(name)).expect("a page");
        for part in [".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH EXAMPLES", ".SH \"EXIT STATUS\""] {
            assert!(page.contains(part), "{name} has no {part}:\n{page}");
        }
        assert!(page.contains("interrupted; the run can be resumed"), "{name}");
    }
    let page = fs::read_to_string(bench.path("man/man1/hushmesh-run.1")).expect("a page");
    assert!(page.contains("resume") && page.contains("scenarios/quickstart.yaml"), "{page}");

    let whole = bench.hushmesh(&["man"]).stdout;
    assert_eq!(whole.matches(".TH ").count(), 1);
    for part in ["HUSHMESH RUN", "HUSHMESH TOPOLOGY SUGGEST", "EXIT STATUS"] {
        assert!(whole.contains(part), "{part}");
    }
}

#[test]
fn pages_are_written_all_or_none() {
    let bench = Workbench::new();
    fs::create_dir(bench.path("man1")).expect("a directory");
    bench.write("man1/hushmesh-run.1", "mine");
    let said = bench.hushmesh(&["man", "--out", "man1"]);
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.stderr.contains("hushmesh-run.1") && said.stderr.contains("--force"), "{said:?}");
    assert_eq!(bench.files("man1").into_values().collect::<Vec<_>>(), [b"mine"]);
    // A page that cannot be replaced leaves all others unwritten.
    fs::create_dir(bench.path("man1/hushmesh-topology.1")).expect("a directory");
    assert_eq!(bench.hushmesh(&["man", "--out", "man1", "--force"]).code, 5);
    assert_eq!(names(&bench.path("man1")), ["hushmesh-run.1", "hushmesh-topology.1"]);
    fs::remove_dir(bench.path("man1/hushmesh-topology.1")).expect("an empty directory");
    assert_eq!(bench.hushmesh(&["man", "--out", "man1", "--force"]).code, 0);
    assert_ne!(bench.files("man1")["hushmesh-run.1"], b"mine");
    bench.write("file", "");
    assert_eq!(bench.hushmesh(&["man", "--out", "file/man1"]).code, 5);
}

#[test]
fn help_has_examples_and_the_table_of_exit_codes() {
    let bench = Workbench::new();
    let help = bench.hushmesh(&["--help"]).stdout;
    for part in ["Examples:", "Exit codes:", "  130  interrupted", "    6  done, but"] {
        assert!(help.contains(part), "{part} is not in\n{help}");
    }
    for name in commands(&bench, &[]) {
        let said = bench.hushmesh(&[&name, "--help"]);
        assert!(said.code == 0 && said.stdout.contains("Example"), "{name}: {said:?}");
        for inner in commands(&bench, &[&name]) {
            let said = bench.hushmesh(&[&name, &inner, "--help"]);
            assert!(said.code == 0 && said.stdout.contains("Example"), "{name} {inner}: {said:?}");
        }
    }
}
