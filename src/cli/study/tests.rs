//! Studies on ranks that are threads of this process: what they say to each other is what ranks under
//! MPI say.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clap::Parser;

use super::super::compare::compare_on;
use super::super::exit::{Code, Failure};
use super::super::{Arguments, Command, ranked, run};
use crate::network::{InProcess, Ranks};

const SCENARIO: &str = "\
name: small
seed: 1
repeat: 2
topology: {ring: {peers: 5}}
data: {source: {csv: {path: a.csv, label: y}}, test_share: 0.3}
model: {loss: logistic, regularisation: 1}
protocol: {admm: {penalty: 0.3, rounds: 5}}
";

/// Does what a line of arguments says in a folder, `@`, alone or as one of several ranks.
fn does(line: &str, folder: &Path, ranks: Option<&dyn Ranks>) -> Result<Code, Failure> {
    let place = folder.display().to_string();
    let words = line.split_whitespace().map(|word| word.replace('@', &place));
    let words = std::iter::once("hushmesh".to_string()).chain(words);
    match (Arguments::parse_from(words.chain(["--quiet".to_string()])).command, ranks) {
        (Command::Run(arguments), Some(ranks)) => ranked::run(&arguments, ranks),
        (Command::Run(arguments), None) => run::run(&arguments),
        (Command::Compare(arguments), ranks) => compare_on(&arguments, ranks),
        _ => panic!("no study: {line}"),
    }
}

/// The same on so many ranks: what rank 0 came to. The others have nothing to say.
fn do_on(ranks: usize, line: &str, folder: &Path) -> Result<Code, Failure> {
    let mut ends = InProcess::run(ranks, |ranks| does(line, folder, Some(ranks)));
    assert!(ends[1..].iter().all(|end| matches!(end, Ok(Code::Done))), "{ends:?}");
    ends.swap_remove(0)
}

/// A folder with a scenario and a file of data.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.yaml"), SCENARIO).unwrap();
    fs::write(folder.path().join("a.csv"), rows(0)).unwrap();
    folder
}

fn rows(shift: i32) -> String {
    let row = |k: i32| format!("{},{},{}\n", k % 7, (k * k + shift) % 11, k % 2);
    format!("u,v,y\n{}", (0..40).map(row).collect::<String>())
}

/// All files below a directory by their paths, but for those of the clock.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let inner = files(&path).into_iter();
            found.extend(inner.map(|(below, content)| (format!("{name}/{below}"), content)));
        } else if name != "timing.json" {
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}

fn assert_same(folder: &Path, one: &str, other: &str) {
    let [one, other] = [one, other].map(|name| files(&folder.join(name)));
    assert!(one.len() > 10);
    let names = |files: &BTreeMap<String, _>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&one), names(&other));
    for (name, content) in &one {
        assert!(other[name] == *content, "{name} differs");
    }
}

#[test]
fn a_study_has_the_same_files_on_any_number_of_ranks() {
    let folder = folder();
    let place = folder.path();
    for study in [
        "run @/small.yaml --sweep protocol.admm.penalty=0.1,0.2,0.3 --sweep seed=1,2",
        r#"compare @/small.yaml --topology {"ring":{"peers":5}} {"star":{"peers":5}}"#,
    ] {
        assert_eq!(does(&format!("{study} --out @/one"), place, None).unwrap(), Code::Done);
        for ranks in 1..=4 {
            let line = format!("{study} --jobs {} --out @/ranks-{ranks}", 1 + ranks % 2);
            assert_eq!(do_on(ranks, &line, place).unwrap(), Code::Done);
            assert_same(place, "one", &format!("ranks-{ranks}"));
            fs::remove_dir_all(place.join(format!("ranks-{ranks}"))).unwrap();
        }
        fs::remove_dir_all(place.join("one")).unwrap();
    }
}

#[test]
fn a_run_that_fails_on_a_rank_is_told_and_run_again_on_any_number_of_them() {
    let folder = folder();
    let place = folder.path();
    let sweep = "run @/small.yaml --sweep data.source.csv.path=b.csv,a.csv,c.csv";
    let failure = do_on(3, &format!("{sweep} --out @/out"), place).unwrap_err();
    assert_eq!(failure.code, Code::Run);
    assert!(failure.text.contains("error: path=b.csv: data: "), "{}", failure.text);
    assert!(failure.text.contains("2 of 3 runs failed: --resume"), "{}", failure.text);
    assert!(place.join("out.unfinished/points/path=a.csv/complete").is_file());
    for (name, shift) in [("b.csv", 1), ("c.csv", 3)] {
        fs::write(place.join(name), rows(shift)).unwrap();
    }
    assert_eq!(do_on(2, "run --resume @/out", place).unwrap(), Code::Done);
    assert_eq!(does(&format!("{sweep} --out @/one"), place, None).unwrap(), Code::Done);
    assert_same(place, "one", "out");
}

#[test]
fn ranks_that_would_do_different_studies_do_none_and_the_first_to_differ_is_named() {
    let folder = folder();
    let place = folder.path();
    for other in ["--sweep seed=1,3", "--sweep seed=1,2 --set repeat=3", ""] {
        let ends = InProcess::run(3, |ranks| {
            let differs = if ranks.rank() == 1 { other } else { "--sweep seed=1,2" };
            does(&format!("run @/small.yaml {differs} --out @/out"), place, Some(ranks))
        });
        let failure = ends[0].as_ref().unwrap_err();
        assert!(failure.text.starts_with("error: rank 1 has read another"), "{}", failure.text);
        assert_eq!(fs::read_dir(place).unwrap().count(), 2);
    }
}

#[test]
fn nobody_waits_for_a_study_that_cannot_begin() {
    let folder = folder();
    let place = folder.path();
    fs::create_dir(place.join("taken")).unwrap();
    let failure = do_on(3, "run @/small.yaml --sweep seed=1,2 --out @/taken", place).unwrap_err();
    assert_eq!(failure.code, Code::Files);
    let failure = do_on(2, "compare --resume @/nothing", place).unwrap_err();
    assert_eq!(failure.code, Code::Files);
    assert_eq!(fs::read_dir(place).unwrap().count(), 3);
}
