//! Reports made again from files.

use std::fs;

use serde_json::Value;

use crate::workbench::{SCENARIO, Workbench, assert_same_files, names};

#[test]
fn a_report_made_again_is_the_same_to_the_byte() {
    let bench = Workbench::new();
    let topology = "topology={star: {peers: 6}}";
    bench.run(SCENARIO, "out", &["--set", "repeat=3", "--set", topology, "--plots", "svg"]);
    let written = bench.files("out");
    let plots = bench.files("out/plots");
    assert!(plots.len() > 3, "{:?}", plots.keys());

    fs::remove_file(bench.path("out/report.html")).expect("a report");
    fs::remove_dir_all(bench.path("out/plots")).expect("plots");
    let said = bench.hushmesh(&["report", "out"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "out/report.html\n"));
    assert!(!bench.path("out/plots").exists());
    let said = bench.hushmesh(&["report", "out", "--plots", "svg", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_same_files(&bench.files("out"), &written, "made again");
    assert_same_files(&bench.files("out/plots"), &plots, "drawn again");
    let told: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(told["reports"][0]["directory"], "out");
    let files = told["reports"][0]["files"].as_array().expect("names");
    assert_eq!(files.len(), 1 + plots.len());
}

#[test]
fn drawings_stand_alone_in_light_colours() {
    let bench = Workbench::new();
    bench.run(SCENARIO, "out", &["--plots", "svg"]);
    for (name, bytes) in bench.files("out/plots") {
        let safe = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let stem = name.strip_suffix(".svg").expect("an SVG");
        assert!(!stem.is_empty() && stem.chars().all(safe), "{name}");
        let text = String::from_utf8(bytes).expect("text");
        let parsed = roxmltree::Document::parse(&text).expect("XML");
        assert_eq!(parsed.root_element().tag_name().name(), "svg", "{name}");
        assert!(!text.contains("var(") && !text.contains("data-"), "{name}");
    }
}

#[test]
fn a_directory_without_a_report_is_said_and_the_others_are_made() {
    let bench = Workbench::new();
    bench.run(SCENARIO, "good", &[]);
    fs::create_dir(bench.path("empty")).expect("a directory");
    fs::create_dir(bench.path("odd")).expect("a directory");
    bench.write("odd/report.json", "{\"form\": 7}");
    fs::remove_file(bench.path("good/report.html")).expect("a report");
    let said = bench.hushmesh(&["report", "empty", "nowhere", "odd", "good", "--quiet"]);
    assert_eq!((said.code, said.stdout.as_str()), (4, ""));
    for part in ["empty: expected", "nowhere: expected", "report.json", "form 7 where 1"] {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
    assert_eq!(said.stderr.lines().count(), 3, "{said:?}");
    assert!(bench.path("good/report.html").is_file());
    assert_eq!(names(&bench.path("empty")), [""; 0]);
    assert_eq!(bench.hushmesh(&["report"]).code, 2);
}

#[test]
fn a_thousand_peers_over_a_thousand_rounds_fit_three_megabytes() {
    let bench = Workbench::new();
    let set = [
        "topology={random-regular: {peers: 1000, degree: 4}}",
        "data={source: {linear-logistic: {dimension: 3, norm: 2}}, samples: {per-peer: 2}, \
         test_share: 0.02}",
        "protocol={gradient-descent: {step: 0.1, rounds: 1000}}",
        "repeat=2",
    ];
    let set: Vec<&str> = set.iter().flat_map(|change| ["--set", change]).collect();
    bench.run(SCENARIO, "out", &set);
    let html = fs::read_to_string(bench.path("out/report.html")).expect("a report");
    assert!(html.len() < 3_000_000, "{}", html.len());
    assert!(html.contains("Of 1000 measured rounds"));
    assert_eq!(html.matches("data-peer=").count(), 1000);
    assert!(html.matches("data-band=").count() >= 9);
}
