//! Documents, overrides and complaints, as a person would meet them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Deserialize;

use super::super::problem::Place;
use super::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    #[serde(default)]
    name: String,
    topology: Topology,
    #[serde(default)]
    protocol: Option<Protocol>,
    #[serde(default)]
    ratio: Vec<f64>,
    #[serde(default)]
    shape: Option<(u8, i16, bool)>,
    #[serde(default)]
    speeds: BTreeMap<u32, Speed>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Topology {
    Complete,
    Ring {
        peers: usize,
    },
    Star(Star),
    Grid(u32, u32),
    SmallWorld {
        #[serde(default)]
        rewire: f64,
        #[serde(default)]
        base: Option<Box<Topology>>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Star {
    leaves: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Protocol {
    Admm(Admm),
    Gossip(f64),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Admm {
    penalty: f64,
    #[serde(default)]
    rounds: u64,
    #[serde(default)]
    tolerance: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
struct Speed(f64);

impl TryFrom<f64> for Speed {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if value < 0.0 { Err("a speed is not negative".to_owned()) } else { Ok(Self(value)) }
    }
}

impl From<Speed> for f64 {
    fn from(Speed(value): Speed) -> f64 {
        value
    }
}

const GOOD: &str = "\
# a comment
topology:
  ring: {peers: 10}
protocol:
  admm:
    penalty: 0.5
    rounds: 7
ratio: [1, 2.5, 1e3]
";

fn parse_with(text: &str, arguments: &[&str]) -> Result<Parsed<Scenario>, Problems> {
    let mut document = Document::from_text("x.yaml", text)?;
    for argument in arguments {
        document.set(argument)?;
    }
    document.parse()
}

fn good(text: &str, arguments: &[&str]) -> Scenario {
    parse_with(text, arguments).unwrap_or_else(|problems| panic!("{problems}")).value
}

fn complaint(text: &str, arguments: &[&str]) -> String {
    parse_with(text, arguments).expect_err("the scenario is wrong").to_string()
}

#[test]
fn a_scenario_is_read() {
    let scenario = good(GOOD, &[]);
    assert_eq!(scenario.topology, Topology::Ring { peers: 10 });
    let admm = Admm { penalty: 0.5, rounds: 7, tolerance: 0.0 };
    assert_eq!(scenario.protocol, Some(Protocol::Admm(admm)));
    assert_eq!(scenario.ratio, [1.0, 2.5, 1000.0]);
    assert_eq!(good("topology: complete", &[]).topology, Topology::Complete);
    assert_eq!(good("topology: {grid: [2, 3]}", &[]).topology, Topology::Grid(2, 3));
    assert_eq!(
        good("topology:\n  small-world:\n", &[]).topology,
        Topology::SmallWorld { rewire: 0.0, base: None },
        "a section left empty has every default"
    );
}

#[test]
fn numbers_follow_yaml_1_2() {
    let ratio = |text: &str| good("topology: complete", &[&format!("ratio=[{text}]")]).ratio;
    assert_eq!(
        ratio("1e-3, 1e3, 1E3, 1.e2, .5, +3, -0.0"),
        [1e-3, 1e3, 1e3, 100.0, 0.5, 3.0, -0.0]
    );
    assert_eq!(ratio("0x10, 0o17, 100000000000000000000"), [16.0, 15.0, 1e20]);
    let odd = ratio(".nan, .inf, -.inf");
    assert!(odd[0].is_nan() && odd[1] == f64::INFINITY && odd[2] == f64::NEG_INFINITY);
    let quoted = complaint("topology: complete\nratio: ['1']", &[]);
    assert!(quoted.contains("ratio.0: expected a number, found the text `1`"), "{quoted}");
}

#[test]
fn floats_are_written_to_the_last_bit() {
    let odd = [-0.0, 5e-324, f64::MIN_POSITIVE, f64::MAX, 0.1 + 0.2, 1e23, 1.0, f64::INFINITY];
    let mut scenario = good(GOOD, &[]);
    scenario.ratio = odd.into_iter().chain([f64::NEG_INFINITY, f64::NAN]).collect();
    let bits =
        |scenario: &Scenario| -> Vec<u64> { scenario.ratio.iter().map(|x| x.to_bits()).collect() };
    assert_eq!(bits(&good(&to_yaml(&scenario), &[])), bits(&scenario));
}

#[test]
fn choices_are_written_as_sections_or_words() {
    let mut scenario = good("topology: complete", &[]);
    assert!(to_yaml(&scenario).contains("topology: complete\n"));
    scenario.topology = Topology::Ring { peers: 3 };
    assert!(to_yaml(&scenario).contains("topology:\n  ring:\n    peers: 3\n"));
}

#[test]
fn unknown_key() {
    let text = GOOD.replace("penalty", "penalti");
    assert_eq!(
        complaint(&text, &[]),
        "error: x.yaml:6:5: protocol.admm.penalti: unknown key
  |
6 |     penalti: 0.5
  |     ^^^^^^^
  = expected one of: penalty, rounds, tolerance
  = did you mean `penalty`?"
    );
}

#[test]
fn unknown_key_far_from_any_other_gets_no_suggestion() {
    let text = complaint(&GOOD.replace("rounds", "colour"), &[]);
    assert!(text.contains("protocol.admm.colour: unknown key"), "{text}");
    assert!(!text.contains("did you mean"), "{text}");
}

#[test]
fn unknown_choice_as_section_and_as_word() {
    assert_eq!(
        complaint("topology:\n  rnig: {peers: 3}\n", &[]),
        "error: x.yaml:2:3: topology.rnig: unknown choice `rnig`
  |
2 |   rnig: {peers: 3}
  |   ^^^^
  = expected one of: complete, ring, star, grid, small-world
  = did you mean `ring`?"
    );
    assert_eq!(
        complaint("topology: Small_World\n", &[]),
        "error: x.yaml:1:11: topology: unknown choice `Small_World`
  |
1 | topology: Small_World
  |           ^^^^^^^^^^^
  = expected one of: complete, ring, star, grid, small-world
  = did you mean `small-world`?"
    );
}

#[test]
fn wrong_types_in_human_words() {
    let cases = [
        (
            "{ring: {peers: abc}}",
            "1:26: topology.ring.peers: expected a whole number, zero or more, found the text `abc`",
        ),
        (
            "{ring: {peers: -3}}",
            "1:26: topology.ring.peers: expected a whole number, zero or more, found the number -3",
        ),
        (
            "{ring: {peers: 1.5}}",
            "1:26: topology.ring.peers: expected a whole number, zero or more, found the number 1.5",
        ),
        (
            "{star: {leaves: 5000000000}}",
            "1:27: topology.star.leaves: expected a whole number, at most 4294967295, found the number 5000000000",
        ),
        ("{star: 4}", "1:18: topology.star: expected a section, found the number 4"),
        ("{star: [4]}", "1:12: topology.star: expected a section, found a list"),
        ("{grid: {a: 1}}", "1:12: topology.grid: expected a list of 2 items, found a section"),
        ("{grid: [1]}", "1:12: topology.grid: expected a list of 2 items, found 1 item"),
        ("{grid: [1, 2, 3]}", "1:12: topology.grid: expected a list of 2 items, found 3 items"),
        (
            "{grid: [1, true]}",
            "1:22: topology.grid.1: expected a whole number, zero or more, found `true`",
        ),
        ("{complete: 3}", "1:12: topology.complete: `complete` takes no value, found the number 3"),
        ("ring", "1:11: topology: `ring` needs a value, found the bare word"),
        ("{}", "1:1: topology: expected a choice, found an empty section"),
        ("[3]", "1:1: topology: expected a choice, found a list"),
        ("", "1:1: topology: expected a choice, found nothing"),
        ("complete\nratio: 3", "2:8: ratio: expected a list, found the number 3"),
        ("complete\nname: 3", "2:7: name: expected text, found the number 3"),
        (
            "complete\nshape: [300, 1, true]",
            "2:9: shape.0: expected a whole number, at most 255, found the number 300",
        ),
        ("complete\nshape: [3, 1, 1]", "2:15: shape.2: expected true or false, found the number 1"),
        (
            "complete\nprotocol: {gossip: {}}",
            "2:12: protocol.gossip: expected a number, found a section",
        ),
        ("complete\nspeeds: {1: 0.5, 2: -1}", "2:21: speeds.2: a speed is not negative"),
        (
            "complete\nspeeds: {a: 1}",
            "2:10: speeds.a: expected a whole number, zero or more, found the text `a`",
        ),
    ];
    for (value, expected) in cases {
        let text = complaint(&format!("topology: {value}\n"), &[]);
        let first = text.lines().next().unwrap_or_default();
        assert_eq!(first, format!("error: x.yaml:{expected}"), "{value}");
    }
    assert!(
        complaint("just words", &[])
            .contains("x.yaml:1:1: expected a section, found the text `just words`")
    );
}

#[test]
fn missing_key_points_at_its_section() {
    assert_eq!(
        complaint(&GOOD.replace("    penalty: 0.5\n", ""), &[]),
        "error: x.yaml:5:3: protocol.admm: the key `penalty` is missing
  |
5 |   admm:
  |   ^^^^"
    );
    assert_eq!(
        complaint("name: a\n", &[]),
        "error: x.yaml:1:1: the key `topology` is missing
  |
1 | name: a
  | ^^^^"
    );
}

#[test]
fn two_choices_are_one_too_many() {
    let text = complaint("topology:\n  ring: {peers: 3}\n  complete:\n", &[]);
    assert!(
        text.starts_with(
            "error: x.yaml:3:3: topology.complete: expected one choice, found `ring` and `complete`"
        ),
        "{text}"
    );
}

#[test]
fn arguments_change_the_tree() {
    let scenario = good(
        GOOD,
        &[
            "protocol.admm.penalty=3",
            "ratio.0=9",
            "ratio.3=4",
            "topology={star: {leaves: 20}}",
            "name=a = b",
            "speeds.7=1.5",
        ],
    );
    let admm = Admm { penalty: 3.0, rounds: 7, tolerance: 0.0 };
    assert_eq!(scenario.protocol, Some(Protocol::Admm(admm)));
    assert_eq!(scenario.ratio, [9.0, 2.5, 1000.0, 4.0]);
    assert_eq!(scenario.topology, Topology::Star(Star { leaves: 20 }));
    assert_eq!(scenario.name, "a = b");
    assert_eq!(scenario.speeds, BTreeMap::from([(7, Speed(1.5))]));
}

#[test]
fn arguments_are_named_by_the_errors_they_cause() {
    let cases = [
        ("protocol.admm.penalti=3", "protocol.admm.penalti: unknown key"),
        ("protocol.amdm.penalty=3", "protocol.amdm: expected one choice, found `admm` and `amdm`"),
        ("topology.star.leaves=20", "topology.star: expected one choice, found `ring` and `star`"),
        ("topology={star: {leafs: 2}}", "topology.star.leafs: unknown key"),
        ("ratio.1=abc", "ratio.1: expected a number, found the text `abc`"),
        ("protocol={admm: {}}", "protocol.admm: the key `penalty` is missing"),
        ("new.section.x=1", "new: unknown key"),
    ];
    for (argument, expected) in cases {
        let text = complaint(GOOD, &[argument]);
        let first = text.lines().next().unwrap_or_default();
        assert_eq!(first, format!("error: --set {argument}: {expected}"));
    }
    let elsewhere = complaint(&GOOD.replace("0.5", "high"), &["ratio.0=2"]);
    assert!(elsewhere.starts_with("error: x.yaml:6:14: protocol.admm.penalty"), "{elsewhere}");
    let created = complaint("topology: complete", &["protocol.admm.rounds=3"]);
    assert!(created.starts_with("error: --set protocol.admm.rounds=3: protocol.admm: the key"));
}

#[test]
fn later_checks_are_located() {
    let parsed = parse_with(GOOD, &["protocol.admm.rounds=0", "name=n"]).expect("valid");
    let place = |path: &str| match parsed.problem(path, "wrong").place {
        Place::File { line, column, .. } => format!("{line}:{column}"),
        Place::Argument(argument) => argument,
        Place::Unlocated => "nowhere".to_owned(),
    };
    assert_eq!(place("protocol.admm.penalty"), "6:14");
    assert_eq!(place("protocol.admm.rounds"), "--set protocol.admm.rounds=0");
    assert_eq!(place("protocol.admm.tolerance"), "5:3", "a default: its section");
    assert_eq!(place("protocol.admm"), "5:3");
    assert_eq!(place("ratio"), "8:1");
    assert_eq!(place("ratio.2"), "8:17");
    assert_eq!(place("ratio.9"), "8:1");
    assert_eq!(place("topology.ring.peers"), "3:17");
    assert_eq!(place("name"), "--set name=n");
    assert_eq!(place("nothing.like.it"), "2:1");
    assert_eq!(place(""), "2:1");
    assert_eq!(
        parsed.problem("ratio.1", "must be whole").note("write 2").to_string(),
        "error: x.yaml:8:12: ratio.1: must be whole
  |
8 | ratio: [1, 2.5, 1e3]
  |            ^^^
  = write 2"
    );
}

#[test]
fn items_of_block_lists_and_aliases_are_located() {
    let text = "links:\n  - {from: 1}\n  - from: &x 2\n    to: *x\n";
    let parsed = Document::from_text("x.yaml", text).and_then(|d| d.parse::<Value>());
    let parsed = parsed.expect("valid");
    let place = |path: &str| match parsed.problem(path, "wrong").place {
        Place::File { line, column, .. } => (line, column),
        other => panic!("{other:?}"),
    };
    assert_eq!(place("links.0"), (2, 5));
    assert_eq!(place("links.1"), (3, 5));
    assert_eq!(place("links.1.from"), (3, 11));
    assert_eq!(place("links.1.to"), (3, 11), "an alias points at what it repeats");
    assert_eq!(place("links.2"), (1, 1));
}

#[test]
fn text_that_is_no_scenario() {
    let deep = "[".repeat(100_000);
    let nested = format!("a: {}{}", "[".repeat(200), "]".repeat(200));
    let cases = [
        ("", "1:1: the scenario is empty"),
        ("# nothing\n", "1:1: the scenario is empty"),
        ("---\n", "1:1: the scenario is empty"),
        (
            "a: 1\nb: [1, 2\n",
            "3:1: not valid YAML: did not find expected ',' or ']', while parsing a flow sequence at line 2 column 4",
        ),
        (
            "a: 1\n\tb: 2\n",
            "2:1: not valid YAML: found a tab character that violates indentation, while scanning a plain scalar at line 1 column 4",
        ),
        ("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", "5:3: b.c: the key `c` stands here a second time"),
        ("a: 1\n---\nb: 1\n", "3:1: a second document starts here, expected a single one"),
        ("a: 1\nb: *x\n", "2:4: not valid YAML: unknown anchor"),
        ("a: !tag 1\n", "1:4: a: the tag `!tag` is not used in scenarios"),
        ("a: 1\n[b]: 1\n", "2:1: a list cannot be a key"),
        ("a: 1\r\nb: \u{7}\r\n", "2:4: the character U+0007 may not stand in YAML"),
        (&nested, "1:131: nested too deeply"),
        (&deep, "1:129: nested too deeply"),
    ];
    for (text, expected) in cases {
        let problems = Document::from_text("x.yaml", text).expect_err(text).to_string();
        let first = problems.lines().next().unwrap_or_default();
        let shown: String = text.chars().take(60).collect();
        assert!(first.starts_with("error: x.yaml:"), "{first}");
        assert_eq!(first, format!("error: x.yaml:{expected}"), "{shown:?}");
    }
}

#[test]
fn alias_bombs_are_defused() {
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 9].join(", ");
        laughs += &format!("a{level}: &a{level} [{items}]\n");
    }
    let text = Document::from_text("x.yaml", &laughs).expect_err("a bomb").to_string();
    assert!(text.contains("too many aliases"), "{text}");
    assert!(text.starts_with("error: x.yaml:"), "{text}");

    let long = format!("a: &a [{}]\nb:\n", "1, ".repeat(2000)) + &"- *a\n".repeat(2000);
    let text = Document::from_text("x.yaml", &long).expect_err("a bomb").to_string();
    assert!(text.contains("more than 1000000 values"), "{text}");

    let itself = Document::from_text("x.yaml", "a: &a [*a]").expect_err("a loop").to_string();
    assert!(itself.contains("nested too deeply"), "{itself}");
}

#[test]
fn files_that_cannot_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = Document::read(&folder.path().join("none.yaml")).expect_err("missing");
    assert_eq!(missing.0[0].place, Place::Unlocated);
    assert!(missing.to_string().contains("none.yaml` cannot be read: "), "{missing}");

    let binary = folder.path().join("binary.yaml");
    std::fs::write(&binary, b"\xef\xbb\xbfa: 1\r\nname: \xc3\xa9\xff\r\n").expect("written");
    let problems = Document::read(&binary).expect_err("not UTF-8").to_string();
    assert!(problems.contains("binary.yaml:2:8: not UTF-8 text"), "{problems}");

    let marked = folder.path().join("marked.yaml");
    std::fs::write(&marked, "\u{feff}topology: compleet\r\n").expect("written");
    let document = Document::read(&marked).expect("valid YAML");
    let problems = document.parse::<Scenario>().expect_err("misspelt").to_string();
    assert!(problems.contains("marked.yaml:1:11: topology"), "{problems}");
}

fn topologies() -> impl Strategy<Value = Topology> {
    let leaf = prop_oneof![
        Just(Topology::Complete),
        any::<usize>().prop_map(|peers| Topology::Ring { peers }),
        any::<u32>().prop_map(|leaves| Topology::Star(Star { leaves })),
        any::<(u32, u32)>().prop_map(|(a, b)| Topology::Grid(a, b)),
    ];
    leaf.prop_recursive(4, 8, 1, |inner| {
        (any::<f64>(), proptest::option::of(inner.prop_map(Box::new)))
            .prop_map(|(rewire, base)| Topology::SmallWorld { rewire, base })
    })
}

prop_compose! {
    fn scenarios()(
        name in any::<String>(),
        topology in topologies(),
        protocol in proptest::option::of(prop_oneof![
            any::<f64>().prop_map(Protocol::Gossip),
            any::<(f64, u64, f64)>().prop_map(|(penalty, rounds, tolerance)|
                Protocol::Admm(Admm { penalty, rounds, tolerance })),
        ]),
        bits in proptest::collection::vec(any::<u64>(), 0..5),
        shape in any::<Option<(u8, i16, bool)>>(),
        speeds in proptest::collection::btree_map(
            any::<u32>(), (0.0..1e300).prop_map(Speed), 0..3),
    ) -> Scenario {
        let ratio = bits.into_iter().map(f64::from_bits).filter(|x| !x.is_nan()).collect();
        Scenario { name, topology, protocol, ratio, shape, speeds }
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back(scenario in scenarios()) {
        let yaml = to_yaml(&scenario);
        let back = Document::from_text("x.yaml", &yaml)
            .and_then(|document| document.parse::<Scenario>());
        let back = back.map_err(|p| TestCaseError::fail(format!("{p}\n{yaml}")))?.value;
        for (a, b) in back.ratio.iter().zip(&scenario.ratio) {
            prop_assert_eq!(a.to_bits(), b.to_bits());
        }
        prop_assert_eq!(back, scenario);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let lossy = String::from_utf8_lossy(&bytes).into_owned();
        for outcome in [Document::from_bytes("x", bytes), Document::from_text("x", &lossy)] {
            if let Err(problems) = outcome {
                prop_assert!(problems.to_string().starts_with("error: x:"), "{}", problems);
            }
        }
    }

    #[test]
    fn nothing_like_yaml_makes_it_panic(
        text in "[-a0:{}\\[\\],?&*!|>'\"%@` \\n\t#.~<é字\u{7}\u{2028}]{0,60}",
        argument in "[a0.=:{}\\[\\], -]{0,12}",
    ) {
        match Document::from_text("x.yaml", &text) {
            Ok(mut document) => {
                let _ = document.set(&argument).map_err(|p| p.to_string());
                if let Err(problems) = document.parse::<Scenario>() {
                    let place = &problems.0[0].place;
                    prop_assert_ne!(place, &Place::Unlocated, "{}", problems);
                }
            }
            Err(problems) => {
                let place = &problems.0[0].place;
                prop_assert!(matches!(place, Place::File { .. }), "{}", problems);
            }
        }
    }

    #[test]
    fn broken_scenarios_stay_located(at in 0..GOOD.len(), with in "[a0:{ \n\\[-]{0,3}") {
        let text = format!("{}{with}{}", &GOOD[..at], &GOOD[at + 1..]);
        if let Err(problems) = parse_with(&text, &[]) {
            let place = &problems.0[0].place;
            prop_assert!(matches!(place, Place::File { .. }), "{}", problems);
        }
    }
}
