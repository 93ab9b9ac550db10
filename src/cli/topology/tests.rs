//! The commands as they are typed.

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(subcommand)]
    command: TopologyCommand,
}

fn run(words: &[&str]) -> Result<String, Failure> {
    let line = Line::try_parse_from(std::iter::once("topology").chain(words.iter().copied()));
    text(&line.unwrap().command)
}

fn shipped(name: &str) -> String {
    format!("{}/topologies/{name}.yaml", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_ring_shows_its_closed_form() {
    let text = run(&["show", "{ring: {peers: 10}}"]).unwrap();
    assert!(text.starts_with("ring of 10\n"), "{text}");
    // 2 − 2cos(2π/10).
    let line = text.lines().find(|line| line.starts_with("algebraic")).unwrap();
    assert!(line.contains("0.382") && line.ends_with("closed form"), "{line}");
}

#[test]
fn figures_as_json_and_a_drawing() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("graph.svg");
    let words = ["show", &shipped("pdml-10"), "--json", "--svg", svg.to_str().unwrap()];
    let json: Json = serde_json::from_str(&run(&words).unwrap()).unwrap();
    assert_eq!(json["graph"], "pdml-10");
    assert_eq!((&json["peers"], &json["links"]), (&json!(10), &json!(13)));
    assert_eq!(json["algebraic_connectivity"]["method"], "dense");
    assert!(fs::read_to_string(&svg).unwrap().starts_with("<svg"));
    assert_eq!(run(&words).unwrap_err().code, Code::Files, "it exists");
}

#[test]
fn a_file_that_falls_apart_is_shown_but_not_improved() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("apart.edges");
    fs::write(&file, "a b\nc d\n").unwrap();
    let file = file.to_str().unwrap();
    let text = run(&["show", file]).unwrap();
    assert!(text.contains("needs a connected graph"), "{text}");
    let failure = run(&["suggest", file, "--add", "1"]).unwrap_err();
    assert_eq!(failure.code, Code::Input);
    assert!(failure.text.contains("2 components: {a, b} {c, d}"), "{}", failure.text);
}

#[test]
fn every_format_is_generated_and_shown_alike() {
    let folder = tempfile::tempdir().unwrap();
    let generator = "{watts-strogatz: {peers: 12, degree: 4, rewiring: 0.3}}";
    let expected = run(&["show", generator, "--seed", "5"]).unwrap();
    let (_, expected) = expected.split_once('\n').unwrap();
    for extension in ["yaml", "txt", "graphml"] {
        let file = folder.path().join(format!("graph.{extension}"));
        let file = file.to_str().unwrap();
        let words = ["generate", generator, "--seed", "5", "--out", file];
        assert_eq!(run(&words).unwrap(), "");
        let failure = run(&words).unwrap_err();
        assert_eq!(failure.code, Code::Files);
        assert!(failure.text.ends_with("--force replaces it"), "{}", failure.text);
        assert_eq!(run(&[&words[..], &["--force"]].concat()).unwrap(), "");
        let shown = run(&["show", file]).unwrap();
        assert_eq!(shown.split_once('\n').unwrap().1, expected, "{extension}");
    }
    let printed = run(&["generate", "{path: {peers: 3}}"]).unwrap();
    assert_eq!(printed, "name: \"path of 3\"\npeers: 3\nlinks:\n  - [0, 1]\n  - [1, 2]\n");
}

#[test]
fn suggestions_speed_a_path_up() {
    let text = run(&["suggest", &shipped("path-10"), "--add", "2", "--json"]).unwrap();
    let json: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(json["links"].as_array().unwrap().len(), 2);
    let rounds = |when: &str| json[when]["rounds"].as_f64().unwrap();
    assert!(rounds("after") < 0.7 * rounds("before"), "{text}");
    let text = run(&["suggest", "{ring: {peers: 10}}", "--add", "1"]).unwrap();
    assert!(text.contains("no single link raises it"), "{text}");
    let text = run(&["suggest", "{complete: {peers: 4}}", "--add", "1"]).unwrap();
    assert!(text.contains("no other link to add"), "{text}");
}

#[test]
fn faults_have_the_codes_of_the_help() {
    for (words, code, said) in [
        (["show", "{ring: {peers: 0}}"], Code::Scenario, "ring.peers: 0 is out of range"),
        (["show", "{rong: {peers: 3}}"], Code::Scenario, "unknown variant `rong`"),
        (["generate", "[1"], Code::Scenario, "error: [1: "),
        (["show", "no/such.yaml"], Code::Input, "no/such.yaml: cannot be read: "),
        (["show", "README.md"], Code::Input, "expected .yaml or .yml"),
        (["generate", "{file: no/such.yaml}"], Code::Input, "cannot be read"),
    ] {
        let failure = run(&words).unwrap_err();
        assert_eq!(failure.code, code, "{words:?}: {}", failure.text);
        assert!(failure.text.contains(said), "{words:?}: {}", failure.text);
    }
    let words = ["suggest", "{path: {peers: 3}}", "--add", "1", "--curvature", "2", "1"];
    assert!(run(&words).unwrap_err().text.contains("expected 0 < LOW ≤ HIGH"));
    let words = ["suggest", "{path: {peers: 1}}", "--add", "1"];
    assert_eq!(run(&words).unwrap_err().code, Code::Run);
}
