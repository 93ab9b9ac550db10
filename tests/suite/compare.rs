//! `hushmesh compare`, as a user types it.

use std::fs;

use serde_json::Value;

use crate::workbench::{REPOSITORY, SCENARIO, SMALL, Workbench, assert_same_files, names};

/// The graphs of which the rounds to 1e-6 are known from simulations in another language, with the best
/// penalty for each: twonorm, 70 samples per peer, a/n = 0.1.
const KNOWN: [(&str, f64); 5] =
    [("complete", 26.0), ("star", 34.0), ("thirteen-links", 55.0), ("ring", 64.0), ("path", 113.0)];

fn json(bench: &Workbench, arguments: &[&str]) -> Value {
    let said = bench.hushmesh(&[&["compare"], arguments, &["--json"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    serde_json::from_str(&said.stdout).expect("JSON and nothing else")
}

#[test]
fn graphs_come_in_the_order_that_is_known_of_them() {
    let bench = Workbench::new();
    let scenario = format!("{REPOSITORY}/scenarios/topologies.yaml");
    let graphs = ["exponential", "random-regular", "barbell"];
    let graphs = KNOWN.iter().map(|(graph, _)| *graph).chain(graphs);
    let files: Vec<String> =
        graphs.map(|graph| format!("{REPOSITORY}/topologies/{graph}-10.yaml")).collect();
    let mut arguments = vec!["compare", &scenario, "--out", "out", "--quiet", "--topology"];
    arguments.extend(files.iter().map(String::as_str));
    let said = bench.hushmesh(&arguments);
    assert_eq!((said.code, said.stdout.as_str()), (0, ""), "{said:?}");

    let table = fs::read_to_string(bench.path("out/comparison.csv")).expect("a table");
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let heads = reader.headers().expect("heads").clone();
    let column = |name: &str| heads.iter().position(|head| head == name).expect(name);
    let (name, rounds, gap) = (column("name"), column("rounds to target"), column("λ₂"));
    let mut rows: Vec<(String, f64, f64)> = Vec::new();
    for row in reader.records() {
        let row = row.expect("a row");
        let number = |column: usize| row[column].parse::<f64>().expect("a number");
        rows.push((row[name].to_string(), number(rounds), number(gap)));
    }
    assert_eq!(rows.len(), 8);
    for ((graph, known), (found, rounds, _)) in KNOWN.iter().zip(&rows) {
        assert_eq!(*found, format!("{graph}-10"));
        assert!((rounds / known - 1.0).abs() < 0.1, "{graph}: {rounds} rounds, known {known}");
    }
    assert!(rows[..5].windows(2).all(|pair| pair[0].1 < pair[1].1), "{rows:?}");
    // The least connected graph needs the most rounds.
    let path = &rows[4];
    assert!(rows.iter().all(|row| row.2 >= path.2 && row.1 <= path.1), "{rows:?}");

    let latex = fs::read_to_string(bench.path("out/comparison.tex")).expect("a table");
    assert!(latex.contains("\\toprule") && latex.contains("\\bottomrule"));
    let points = names(&bench.path("out/points"));
    assert_eq!(points.len(), 8);
    assert!(bench.path("out/points/star-10/report.html").is_file());
}

#[test]
fn each_graph_has_its_own_penalty_unless_told_otherwise() {
    let bench = Workbench::new();
    let rows = [SCENARIO, "--topology", "{ring: {peers: 6}}", "{star: {peers: 6}}"];
    let notes = |comparison: &Value| comparison["notes"].to_string();
    let fair = json(&bench, &rows);
    assert!(notes(&fair).contains("protocol.admm.penalty 0.3 was left to theory"), "{fair}");
    let same = json(&bench, &[&rows[..], &["--keep-penalty"]].concat());
    assert!(notes(&same).contains("not a fair comparison of graphs"), "{same}");
    let penalty = |place: &str| {
        let text = fs::read_to_string(bench.path(place).join("scenario.yaml")).expect("a scenario");
        let line = text.lines().find(|line| line.contains("penalty:")).expect("a penalty");
        line.trim().to_string()
    };
    let place = |run: &str, graph: &str| format!("runs/small-comparison{run}/points/{graph}-of-6");
    assert_ne!(penalty(&place("", "ring")), penalty(&place("", "star")));
    for graph in ["ring", "star"] {
        assert_eq!(penalty(&place("-2", graph)), "penalty: 0.3");
    }
}

#[test]
fn protocols_and_scenarios_compare_on_the_same_seeds() {
    let bench = Workbench::new();
    let tracking = "{gradient-tracking: {rounds: 8}}";
    let both = json(&bench, &[SCENARIO, "--protocol", "{admm: {rounds: 5}}", tracking]);
    assert_eq!(both["rows"].as_array().map(Vec::len), Some(2), "{both}");
    bench.write(
        "other.yaml",
        SMALL.replace("name: small", "name: other").replace("seed: 1", "seed: 9"),
    );
    let said =
        bench.hushmesh(&["compare", SCENARIO, "other.yaml", "--set", "repeat=3", "--out", "two"]);
    assert_eq!(said.code, 0, "{said:?}");
    // The same scenario but for its name: with the seed of the first, the same results.
    let of = |name: &str| fs::read(bench.path("two/points").join(name).join("metrics.csv"));
    assert_eq!(of("small").expect("rows"), of("other").expect("rows"));
}

#[test]
fn rows_of_one_name_are_told_apart_and_graphs_at_a_fixed_penalty_are_noted() {
    let bench = Workbench::new();
    bench.write("star.yaml", SMALL.replace("{ring: {peers: 5}}", "{star: {peers: 5}}"));
    let two = json(&bench, &[SCENARIO, "star.yaml"]);
    let names: Vec<&str> = two["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|row| row["name"].as_str())
        .collect();
    assert_eq!(names, ["small", "small (star.yaml)"]);
    assert!(two["notes"].to_string().contains("not a fair comparison of graphs"), "{two}");
    bench.hushmesh(&[
        "compare",
        SCENARIO,
        "--topology",
        "{ring: {peers: 5}}",
        "{ring:  {peers: 5}}",
        "--out",
        "o",
    ]);
    assert_eq!(self::names(&bench.path("o/points")), ["ring-of-5", "ring-of-5--2"]);
}

#[test]
fn a_comparison_is_the_same_for_any_number_of_jobs_and_is_replaced_only_by_force() {
    let bench = Workbench::new();
    let rows = ["--topology", "{ring: {peers: 6}}", "{path: {peers: 6}}", "{complete: {peers: 6}}"];
    for (out, jobs) in [("one", "1"), ("three", "3")] {
        let arguments = [&["compare", SCENARIO, "--out", out, "--jobs", jobs], &rows[..]].concat();
        assert_eq!(bench.hushmesh(&arguments).code, 0);
    }
    assert_same_files(&bench.tree("three"), &bench.tree("one"), "jobs");
    let again = [&["compare", SCENARIO, "--out", "one"], &rows[..]].concat();
    assert_eq!(bench.hushmesh(&again).code, 5);
    assert_eq!(bench.hushmesh(&[&again[..], &["--force"]].concat()).code, 0);
    assert_same_files(&bench.tree("one"), &bench.tree("three"), "by force");
    let page = fs::read(bench.path("one/report.html")).expect("a page");
    fs::remove_file(bench.path("one/report.html")).expect("it is there");
    assert_eq!(bench.hushmesh(&["report", "one"]).code, 0);
    assert_eq!(fs::read(bench.path("one/report.html")).expect("a page"), page);
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_runs() {
    let bench = Workbench::new();
    bench.write("swept.yaml", format!("{SMALL}sweep: {{grid: {{seed: {{list: [1, 2]}}}}}}\n"));
    bench.write("broken.yaml", "peers: 3\nlinks: [[0, 1], [0, 7]]\n");
    for (arguments, code, expected) in [
        (&[SCENARIO][..], 2, "one row, expected two or more"),
        (&[SCENARIO, "--topology", "nowhere/*.yaml"], 2, "no such file"),
        (&[SCENARIO, "--topology", "ring"], 2, "expected a graph file or a generator"),
        (
            &[SCENARIO, "--topology", "{rign: {peers: 5}}", "{ring: {peers: 5}}"],
            3,
            "did you mean `ring`",
        ),
        (&[SCENARIO, "--topology", "broken.yaml", "{ring: {peers: 5}}"], 3, "broken.yaml"),
        (&[SCENARIO, SCENARIO, "--target", "test_acuracy=1"], 2, "is it `test_accuracy`?"),
        (&[SCENARIO, SCENARIO, "--target", "test_accuracy"], 2, "--target"),
        (&[SCENARIO, SCENARIO, "--target", "test_mse=1"], 2, "no run measures test_mse"),
        (&[SCENARIO, SCENARIO, "--target", "messages=100"], 2, "--target"),
        (&[SCENARIO, "absent.yaml"], 3, "absent.yaml"),
    ] {
        let said = bench.hushmesh(&[&["compare"], arguments].concat());
        assert_eq!(said.code, code, "{arguments:?}: {said:?}");
        assert!(said.stderr.contains(expected), "{arguments:?}: {said:?}");
        assert_eq!(said.stdout, "");
    }
    assert_eq!(bench.litter(), ["broken.yaml", "swept.yaml"]);
}
