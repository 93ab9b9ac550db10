//! Where files go, what is replaced, what is printed.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use crate::workbench::{SCENARIO, Workbench, assert_same_files, names};

#[test]
fn runs_without_a_place_get_numbers() {
    let bench = Workbench::new();
    for _ in 0..3 {
        assert_eq!(bench.hushmesh(&["run", SCENARIO]).code, 0);
    }
    assert_eq!(names(&bench.path("runs")), ["small", "small-2", "small-3"]);
    let said = bench.hushmesh(&["run", SCENARIO, "--set", "name=../up & away"]);
    assert!(said.stdout.contains("files in runs/up---away"), "{said:?}");
    assert_eq!(names(&bench.path("runs")), ["small", "small-2", "small-3", "up---away"]);
    assert_eq!(bench.litter(), ["runs"]);
}

#[test]
fn two_runs_at_once_do_not_share_a_place() {
    let bench = Workbench::new();
    let start = || {
        Command::new(env!("CARGO_BIN_EXE_hushmesh"))
            .args(["run", SCENARIO, "--quiet"])
            .current_dir(bench.path(""))
            .spawn()
            .expect("the program starts")
    };
    let runs: Vec<_> = (0..4).map(|_| start()).collect();
    for mut run in runs {
        assert!(run.wait().expect("an end").success());
    }
    assert_eq!(names(&bench.path("runs")), ["small", "small-2", "small-3", "small-4"]);
}

#[test]
fn an_earlier_run_is_replaced_only_by_force_and_only_by_a_whole_run() {
    let bench = Workbench::new();
    bench.run(SCENARIO, "out", &[]);
    let earlier = bench.files("out");
    let unchanged = |what| {
        assert_same_files(&bench.files("out"), &earlier, what);
        assert_eq!(bench.litter(), ["out"], "{what}");
    };

    let said = bench.hushmesh(&["run", SCENARIO, "--out", "out", "--set", "seed=2"]);
    assert_eq!(said.code, 5);
    assert!(said.stderr.contains("out exists") && said.stderr.contains("--force"), "{said:?}");
    unchanged("without --force");

    let missing = "data={source: {csv: {path: none.csv, label: y}}}";
    let said = bench.hushmesh(&["run", SCENARIO, "--out", "out", "--force", "--set", missing]);
    assert_eq!(said.code, 4, "{said:?}");
    unchanged("after a run that failed");

    bench.run(SCENARIO, "out", &["--force", "--set", "seed=2"]);
    assert_eq!(bench.summary("out")["seed"], 2);
    assert_eq!(bench.litter(), ["out"]);
}

#[test]
fn force_replaces_nothing_that_is_not_a_run() {
    let bench = Workbench::new();
    for holder in ["precious", "out.replaced"] {
        fs::create_dir(bench.path(holder)).expect("a directory");
        bench.write(&format!("{holder}/thesis.tex"), "years of work");
    }
    bench.write("file", "not a directory");
    for out in ["precious", "out", "file", ".", "..", "/"] {
        let said = bench.hushmesh(&["run", SCENARIO, "--out", out, "--force"]);
        assert_eq!(said.code, 5, "{out}: {said:?}");
    }
    assert_eq!(bench.litter(), ["file", "out.replaced", "precious"]);
    for holder in ["precious", "out.replaced"] {
        assert_eq!(names(&bench.path(holder)), ["thesis.tex"]);
    }
    fs::create_dir(bench.path("empty")).expect("a directory");
    bench.run(SCENARIO, "empty", &["--force"]);
}

#[test]
fn a_run_that_fails_leaves_nothing() {
    let bench = Workbench::new();
    let missing = "data={source: {csv: {path: none.csv, label: y}}}";
    for out in [&[][..], &["--out", "a/b/c"]] {
        let said = bench.hushmesh(&[&["run", SCENARIO, "--set", missing], out].concat());
        assert_eq!(said.code, 4);
        assert_eq!(bench.litter(), [""; 0], "{out:?}");
    }
}

#[test]
fn a_slash_at_the_end_names_the_same_directory() {
    let bench = Workbench::new();
    bench.run(SCENARIO, "deep/out/", &[]);
    assert_eq!(names(&bench.path("deep")), ["out"]);
    assert_eq!(bench.hushmesh(&["run", SCENARIO, "--out", "deep/out//"]).code, 5);
    bench.run(SCENARIO, "deep/out/", &["--force"]);
    assert_eq!(names(&bench.path("deep")), ["out"]);
}

#[test]
fn quiet_is_silent_json_is_the_summary_and_a_pipe_sees_no_progress() {
    let bench = Workbench::new();
    let said = bench.hushmesh(&["run", SCENARIO, "--out", "quiet", "--quiet"]);
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, "", ""));

    let said = bench.hushmesh(&["run", SCENARIO, "--out", "json", "--json"]);
    let file = fs::read_to_string(bench.path("json/summary.json")).expect("summary.json");
    assert_eq!((said.code, said.stdout, said.stderr.as_str()), (0, file, ""));

    let said = bench.hushmesh(&["run", SCENARIO, "--out", "plain"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let fingerprint = bench.summary("plain")["fingerprint"].clone();
    assert!(said.stdout.contains(fingerprint.as_str().expect("text")), "{said:?}");
    assert!(said.stdout.ends_with("files in plain\n"), "{said:?}");
    assert!(!said.stdout.contains(['\r', '\x1b']), "{said:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Workbench::new();
    for arguments in [&["schema"][..], &["check", SCENARIO], &["run", SCENARIO], &["--help"]] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_hushmesh"))
            .args(arguments)
            .current_dir(bench.path(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(program.stdout.take());
        let mut stderr = String::new();
        program.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("text");
        let code = program.wait().expect("an end").code();
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn a_problem_that_cannot_be_solved_fails_the_run() {
    let bench = Workbench::new();
    // The numbers are finite, their squares are not.
    bench.write("huge.csv", "x,y\n1e200,1e200\n-1e200,1e200\n1e200,-1e200\n");
    let data = "data={source: {csv: {path: huge.csv, label: y, task: regression}}}";
    let said = bench.hushmesh(&["run", SCENARIO, "--set", data, "--set", "model.loss=squared"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.starts_with("error: the central problem was not solved"), "{said:?}");
    assert_eq!(bench.litter(), ["huge.csv"]);
}
