//! Tests of sweeps.

use super::*;

const BASE: &str = "\
name: base
seed: 1
topology: {ring: {peers: 5}}
data: {source: twonorm, samples: {per-peer: 40}}
model: {loss: logistic, regularisation: 1}
protocol: {admm: {rounds: 60}}
";

fn sweep(section: &str, arguments: &[&str]) -> Result<Sweep, String> {
    let document = Document::from_text("s.yaml", &format!("{BASE}{section}")).unwrap();
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    Sweep::of(document, Path::new(""), &arguments, Graph::Whole)
        .map_err(|problems| problems.to_string())
}

fn names(sweep: &Sweep) -> Vec<&str> {
    sweep.points().iter().map(|point| point.name.as_str()).collect()
}

#[test]
fn a_grid_takes_every_combination_and_the_last_field_changes_first() {
    let sweep = sweep(
        "sweep:\n  grid:\n    topology.ring.peers: {list: [5, 6]}\n    \
         protocol.admm.rounds: {linear: {from: 10, to: 30, points: 3}}\n",
        &[],
    )
    .unwrap();
    assert_eq!(
        names(&sweep),
        [
            "peers=5,rounds=10",
            "peers=5,rounds=20",
            "peers=5,rounds=30",
            "peers=6,rounds=10",
            "peers=6,rounds=20",
            "peers=6,rounds=30",
        ]
    );
    let last = &sweep.points()[5];
    assert_eq!(sweep.checked(last).unwrap().topology().peers(), 6);
    assert_eq!(sweep.values(last)[1], ("protocol.admm.rounds".to_string(), 30.into()));
    assert_eq!(sweep.checked(last).unwrap().scenario().sweep, None);
}

#[test]
fn zipped_fields_change_together_and_with_every_point_of_the_grid() {
    let section = "sweep:\n  zip:\n    topology.ring.peers: {list: [5, 6]}\n    \
                   model.regularisation: {list: [1, 2]}\n  grid:\n    seed: {list: [7, 8]}\n";
    let sweep = sweep(section, &[]).unwrap();
    assert_eq!(
        names(&sweep),
        [
            "seed=7,peers=5,regularisation=1",
            "seed=7,peers=6,regularisation=2",
            "seed=8,peers=5,regularisation=1",
            "seed=8,peers=6,regularisation=2",
        ]
    );
}

#[test]
fn ratios_are_equal_and_ends_exact() {
    let values = Values::Log(Range { from: 0.01, to: 1.0, points: 5 }).all();
    let expected: Vec<Json> =
        vec![0.01.into(), 0.0316228.into(), 0.1.into(), 0.316228.into(), 1.into()];
    assert_eq!(values, expected);
}

#[test]
fn arguments_add_axes_and_replace_those_of_the_file() {
    let section = "sweep: {grid: {seed: {list: [1, 2, 3]}}}\n";
    let sweep = sweep(
        section,
        &[
            "topology={ring: {peers: 5}},{star: {peers: 6}}",
            "seed={linear: {from: 4, to: 5, points: 2}}",
        ],
    )
    .unwrap();
    assert_eq!(
        names(&sweep),
        [
            "topology=ring-peers-5,seed=4",
            "topology=ring-peers-5,seed=5",
            "topology=star-peers-6,seed=4",
            "topology=star-peers-6,seed=5",
        ]
    );
}

#[test]
fn whole_numbers_stay_exact_and_ranges_whose_values_coincide_are_refused() {
    let sweep = sweep("", &["seed={linear: {from: 1000000, to: 1000010, points: 11}}"]).unwrap();
    let expected: Vec<Json> = (1_000_000..=1_000_010).map(Json::from).collect();
    assert_eq!(sweep.axes()[0].values, expected);
    let same = "seed={linear: {from: 1000000, to: 1000001, points: 3}}";
    let text = self::sweep("", &[same]).unwrap_err();
    assert!(text.contains("are not different in 6 digits"), "{text}");
}

#[test]
fn fields_that_would_not_have_their_values_are_refused() {
    let section = "sweep: {grid: {seed: {list: [1, 2]}}}\n";
    for (section, arguments, expected) in [
        (
            "",
            &["topology.ring.peers=5,6", "topology={ring: {peers: 7}},{star: {peers: 8}}"][..],
            "lies in `topology`",
        ),
        ("", &["seed=1,2", "seed=3"], "swept twice"),
        ("", &["network.links.bandwidth.up=.inf,1e6"], "expected finite numbers"),
        (
            "sweep: {grid: {model.regularisation: {list: [1, .inf]}}}\n",
            &[],
            "expected finite numbers",
        ),
    ] {
        let text = sweep(section, arguments).unwrap_err();
        assert!(text.contains(expected), "{text}");
    }
    let mut document = Document::from_text("s.yaml", &format!("{BASE}{section}")).unwrap();
    document.set("seed=9").unwrap();
    let text = Sweep::of(document, Path::new(""), &[], Graph::Whole).unwrap_err().to_string();
    assert!(text.contains("is swept, and so cannot be --set seed=9"), "{text}");
}

#[test]
fn files_of_one_name_in_two_folders_are_told_apart() {
    let values =
        ["g1/x.yaml", "g2/x.yaml", "g3/y.yaml"].map(|file| serde_json::json!({ "file": file }));
    let names = different(&values);
    assert_eq!(names[2], "y");
    assert_ne!(names[0], names[1]);
    assert_eq!(fit_for_file("a.unfinished"), "a-unfinished");
}

#[test]
fn labels_are_as_short_as_they_may_be() {
    let paths = ["a.x.peers", "b.x.peers", "seed"].map(str::to_string);
    assert_eq!(labels(&paths), ["a.x.peers", "b.x.peers", "seed"]);
    let paths = ["a.x.peers", "a.y.peers"].map(str::to_string);
    assert_eq!(labels(&paths), ["x.peers", "y.peers"]);
}

#[test]
fn names_are_fit_for_files_and_never_the_same() {
    let sweep = sweep("", &["name='a/b','a b','A B',''' '''"]);
    // A name of nothing but quotes is still one.
    assert_eq!(names(&sweep.unwrap()), ["name=b", "name=a-b", "name=A-B-2", "name="]);
}

#[test]
fn a_wrong_value_is_found_in_the_file_or_the_argument() {
    let section = "sweep:\n  grid:\n    protocol.admm.penalty:\n      list: [1, -2]\n";
    let text = sweep(section, &[]).unwrap_err();
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("error: s.yaml:10:17: protocol.admm.penalty:"), "{text}");
    assert!(text.contains("where the sweep takes it to be -2"), "{text}");
    let text = sweep("", &["protocol.admm.penalty=1,-2"]).unwrap_err();
    assert!(text.starts_with("error: --sweep protocol.admm.penalty=1,-2: "), "{text}");
}

#[test]
fn faults_of_the_section_are_located() {
    for (section, expected) in [
        ("sweep: {grid: {seed: {list: []}}}", "an empty list, expected a value"),
        ("sweep: {grid: {seed: {log: {from: 0, to: 1, points: 3}}}}", "expected numbers above 0"),
        ("sweep: {grid: {seed: {linear: {from: 1, to: 2, points: 1}}}}", "expected at least 2"),
        ("sweep: {grid: {sweep.grid: {list: [1]}}}", "a sweep cannot be swept"),
        ("sweep: {zip: {seed: {list: [1]}, repeat: {list: [1, 2]}}}", "found 2 values, expected 1"),
        ("sweep: {grid: {seed: {lists: [1]}}}", "unknown"),
        ("sweep: {gird: {seed: {list: [1]}}}", "unknown"),
        ("sweep: {grid: {protocol.admm.rounds.x: {list: [1]}}}", "not a section"),
        ("sweep: {grid: {protocol.admm.penalti: {list: [1]}}}", "did you mean"),
    ] {
        let text = sweep(section, &[]).unwrap_err();
        assert!(text.starts_with("error: s.yaml:7:"), "{section}: {text}");
        assert!(text.contains(expected), "{section}: {text}");
    }
    for argument in ["seed", "sweep.grid=1", "seed=", "seed={log: {from: 1}}", "=1"] {
        let text = sweep("", &[argument]).unwrap_err();
        assert!(text.starts_with(&format!("error: --sweep {argument}: ")), "{text}");
    }
    let many = sweep(
        "",
        &[
            "seed={linear: {from: 1, to: 1000, points: 1000}}",
            "repeat={linear: {from: 1, to: 1000, points: 1000}}",
        ],
    )
    .unwrap_err();
    assert!(many.contains("more than 10000 points"), "{many}");
}
