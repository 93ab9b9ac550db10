use crate::scenario::in_short;
use serde_json::json;

use super::axes::is_logarithmic;
use super::*;
use crate::experiment::StopReason;
use crate::report::record::made::{record, repeat, with_noise};

const RING: &str = "{ring: {peers: 5}}";
const PENALTY: &str = "protocol.admm.penalty";

fn axis(path: &str, values: &[Value]) -> SweepAxis {
    let label = path.rsplit('.').next().unwrap().to_owned();
    SweepAxis { path: path.to_owned(), label, values: values.to_vec(), zipped: false }
}

fn target() -> Option<Target> {
    Some(Target { metric: Metric::OptimumDistance, value: 0.01 })
}

/// A run of three repeats that reach the target in these rounds of 50.
fn reaching(rounds: [u32; 3]) -> Record {
    let repeats = rounds.map(|round| repeat(50, Some(round), 0.9));
    record(RING, 1, repeats.to_vec())
}

fn point(values: &[(&str, Value)], outcome: Result<Record, Missing>) -> SweepPoint {
    let told: Vec<String> = values.iter().map(|(_, value)| in_short(value)).collect();
    SweepPoint {
        values: values.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect(),
        name: told.join(" "),
        outcome,
    }
}

fn failed(reason: &str) -> Result<Record, Missing> {
    Err(Missing::Failed(reason.to_owned()))
}

/// Penalties 0.1, 1 and 10, the last of which failed.
fn one_axis() -> SweepReport {
    let values = [json!(0.1), json!(1.0), json!(10.0)];
    let mut short = reaching([10, 20, 30]);
    short.repeats[1] = repeat(40, None, 0.7);
    let points = vec![
        point(&[(PENALTY, values[0].clone())], Ok(reaching([10, 11, 12]))),
        point(&[(PENALTY, values[1].clone())], Ok(short)),
        point(&[(PENALTY, values[2].clone())], failed("data: none, \"sorry\"\nline two")),
    ];
    SweepReport::new("penalties", vec![axis(PENALTY, &values)], points, target())
}

#[test]
fn results_are_tidy_and_exact() {
    let csv = one_axis().results_csv();
    let mut reader = csv::Reader::from_reader(csv.as_slice());
    let head: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let at = |name: &str| head.iter().position(|other| other == name).unwrap();
    let lines: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), 3 + 3 + 1);
    let column =
        |name: &str| lines.iter().map(|line| line[at(name)].to_owned()).collect::<Vec<_>>();
    assert_eq!(column(PENALTY), ["0.1", "0.1", "0.1", "1.0", "1.0", "1.0", "10.0"]);
    assert_eq!(column("repeat"), ["0", "1", "2", "0", "1", "2", ""]);
    assert_eq!(column("rounds"), ["50", "50", "50", "50", "40", "50", ""]);
    assert_eq!(column("rounds_to_target"), ["10", "11", "12", "10", "", "30", ""]);
    assert_eq!(column("messages_to_target"), ["40", "44", "48", "40", "", "120", ""]);
    assert_eq!(column("status")[5..], ["complete", "failed"]);
    assert_eq!(column("penalty")[0], "0.3");
    assert_eq!(column("test_accuracy"), ["0.9", "0.9", "0.9", "0.9", "0.7", "0.9", ""]);
    assert_eq!(column("error")[6], "data: none, \"sorry\"\nline two");
}

#[test]
fn the_terminal_tells_means_shortfalls_and_failures() {
    let text = one_axis().terminal(1000);
    // 10, 11, 12: 11 ± 4.303/√3.
    for part in ["11.0 ± 2.5", "> 40 (2 of 3)", "failed: data: none", "only 3 repeats", "line two"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let narrow = one_axis().terminal(60);
    assert!(narrow.lines().count() > text.lines().count());
}

#[test]
fn points_that_draw_the_same_noise_are_said_to() {
    const TOLD: &str = "every ε is that of one point alone";
    let values = [json!(0.1), json!(1.0)];
    let of = |record: fn() -> Record| {
        let points = values.iter().map(|value| point(&[(PENALTY, value.clone())], Ok(record())));
        SweepReport::new("two", vec![axis(PENALTY, &values)], points.collect(), None)
    };
    let noisy = of(|| with_noise(reaching([10, 11, 12])));
    assert!(noisy.terminal(1000).contains(TOLD) && noisy.page().render().contains(TOLD));
    let plain = of(|| reaching([10, 11, 12]));
    assert!(!plain.terminal(1000).contains(TOLD) && !plain.page().render().contains(TOLD));
}

#[test]
fn one_axis_of_numbers_gives_lines_and_failures_stay_visible() {
    let html = one_axis().page().render();
    assert!(html.contains("A sweep of 3 points, 1 of which failed."));
    assert!(html.contains("Final accuracy over penalty"));
    assert!(html.contains("Without a mean: 10.0 (failed)."));
    assert!(html.contains("Along the axes") && html.contains("Convergence"));
}

/// All choices of two, three or four axes; the figure is told by the values alone.
fn grid(dimensions: usize) -> SweepReport {
    let axes: Vec<SweepAxis> = [
        axis(PENALTY, &[json!(0.1), json!(1.0), json!(10.0)]),
        axis("topology", &[json!("ring"), json!("star")]),
        axis("data.samples", &[json!(8), json!(16), json!(24), json!(32)]),
        axis("model.regularisation", &[json!(1), json!(2), json!(3), json!(4)]),
    ][..dimensions]
        .to_vec();
    let mut points = vec![Vec::new()];
    for axis in &axes {
        let longer = |values: &Vec<(String, Value)>| {
            let each = axis.values.iter().map(|value| {
                let mut values = values.clone();
                values.push((axis.path.clone(), value.clone()));
                values
            });
            each.collect::<Vec<_>>()
        };
        points = points.iter().flat_map(longer).collect();
    }
    let points = points.iter().enumerate().map(|(at, values)| {
        let values: Vec<(&str, Value)> =
            values.iter().map(|(path, value)| (path.as_str(), value.clone())).collect();
        let round = 5 + at as u32 % 30;
        point(&values, Ok(reaching([round, round + 1, round + 2])))
    });
    let points = points.collect();
    SweepReport::new("grid", axes, points, target())
}

#[test]
fn two_axes_give_maps_and_lines() {
    let html = grid(2).page().render();
    // The cell of penalty 1 and a star: the fourth point, rounds 8, 9, 10.
    assert!(html.contains("penalty 1.0, topology star: 9<"), "{html}");
    assert!(html.contains("Rounds to target over penalty, by topology"));
    // Four messages in every round.
    assert!(html.contains("so not drawn: messages to target (like rounds to target)"));
}

#[test]
fn more_axes_give_small_plots_of_which_the_number_is_limited() {
    let three = grid(3).page().render();
    assert!(three.contains("Rounds to target over samples, by penalty"));
    assert!(three.contains(">topology = ring<") && three.contains(">topology = star<"));
    assert!(!three.contains("The first 12 of"), "3 · 2 plots of convergence at the most");
    let four = grid(4).page().render();
    assert!(four.contains("The first 12 of 24 plots"));
}

#[test]
fn zipped_axes_are_one() {
    let mut report = grid(2);
    report.axes[1].zipped = true;
    let dimensions = axes::Dimension::of(&report.axes);
    assert_eq!(dimensions.len(), 1);
    assert_eq!(dimensions[0].label, "penalty, topology");
}

#[test]
fn values_are_logarithmic_when_their_ratios_are_alike() {
    assert!(is_logarithmic(&[0.1, 1.0, 10.0]));
    assert!(is_logarithmic(&[1.0, 2.0, 4.0, 8.0, 16.0]));
    assert!(is_logarithmic(&[0.01, 1.0]));
    assert!(!is_logarithmic(&[1.0, 4.0, 7.0, 10.0]));
    assert!(!is_logarithmic(&[0.0, 1.0, 10.0]));
    assert!(!is_logarithmic(&[1.0, 10.0]));
    assert!(!is_logarithmic(&[]));
}

#[test]
fn nothing_one_point_and_nothing_but_failures_are_sweeps_too() {
    let fails = vec![point(&[("seed", json!(1))], failed("no"))];
    let one = vec![point(&[("seed", json!(1))], Ok(reaching([1, 2, 3])))];
    for (points, target) in [(vec![], target()), (fails, None), (one, None)] {
        let report = SweepReport::new("odd", vec![axis("seed", &[json!(1)])], points, target);
        assert!(report.page().render().contains("A sweep of"));
        assert!(!report.terminal(80).is_empty());
        let csv = report.results_csv();
        let lines = csv::Reader::from_reader(csv.as_slice()).into_records().map(Result::unwrap);
        assert!(lines.count() <= 3);
        assert_eq!(report.page().render(), report.page().render());
    }
}

#[test]
fn hostile_names_stay_text_and_divergence_is_said() {
    let hostile = "</script><b>,\"";
    let mut wild = reaching([1, 2, 3]);
    wild.stop_reasons[0] = StopReason::Diverged;
    let points = vec![
        point(&[("a", json!(hostile))], Ok(wild)),
        point(&[("a", json!("plain"))], failed(hostile)),
    ];
    let axes = vec![axis("a", &[json!(hostile), json!("plain")])];
    let report = SweepReport::new(hostile, axes, points, target());
    let folder = tempfile::tempdir().unwrap();
    let directory = RunDirectory::create(&folder.path().join("out"), false).unwrap();
    report.write_files(&directory, false).unwrap();
    let read = |name: &str| std::fs::read_to_string(directory.unfinished().join(name)).unwrap();
    assert!(!read("report.html").contains("<b>"));
    assert!(read("results.csv").contains("diverged"));
    assert!(report.terminal(500).contains("1 of 3 repeats diverged"));
    let json: Value = serde_json::from_str(&read("summary.json")).unwrap();
    assert_eq!(json["points"][0]["values"]["a"], hostile);
    assert_eq!(json["points"][0]["figures"]["rounds_to_target"]["status"], "diverged");
    assert_eq!(json["points"][1]["status"], "failed");
    assert!(crate::report::Page::from_json(read("report.json").as_bytes()).is_ok());
}

#[test]
fn points_that_wait_have_not_failed() {
    let mut report = one_axis();
    report.points[1].outcome = Err(Missing::NotRun);
    let mut points = report.points.clone();
    points.push(point(&[(PENALTY, json!(100.0))], Err(Missing::NotRun)));
    let report = SweepReport::new("penalties", report.axes, points, target());
    let json = report.to_json();
    let status = |at: usize| json["points"][at]["status"].as_str().unwrap().to_owned();
    assert_eq!([0, 1, 2, 3].map(status), ["done", "not-run", "failed", "not-run"]);
    let csv = report.results_csv();
    let lines = csv::Reader::from_reader(csv.as_slice()).into_records().map(Result::unwrap);
    let statuses: Vec<String> = lines.map(|line| line[3].to_owned()).collect();
    assert_eq!(statuses, ["complete", "complete", "complete", "not-run", "failed", "not-run"]);
    let warnings = report.warnings();
    assert_eq!(warnings.iter().filter(|w| w.contains("not run yet")).count(), 1, "{warnings:?}");
    assert!(warnings.contains(&"2 of 4 points: not run yet".to_owned()), "{warnings:?}");
    assert_eq!(warnings.iter().filter(|w| w.contains("failed")).count(), 1, "{warnings:?}");
    let text = report.terminal(1000);
    assert!(!text.contains("failed: not run") && text.contains("not run yet"), "{text}");
    let html = report.page().render();
    assert!(html.contains("1 of which failed, 2 of which have not been run yet"), "{html}");
}

/// Peers 5, 5 and 10 that move with a regularisation of 1, 50 and 1, and a penalty.
fn zipped(penalties: &[Value]) -> SweepReport {
    let pairs = [(5, 1), (5, 50), (10, 1)].map(|(peers, ridge)| (json!(peers), json!(ridge)));
    let [peers, ridges] = [pairs.clone().map(|pair| pair.0), pairs.clone().map(|pair| pair.1)];
    let mut axes = vec![axis("peers", &peers), axis("ridge", &ridges), axis(PENALTY, penalties)];
    axes[1].zipped = true;
    let mut points = Vec::new();
    for (peers, ridge) in pairs {
        for penalty in penalties {
            let values =
                [("peers", peers.clone()), ("ridge", ridge.clone()), (PENALTY, penalty.clone())];
            let round = 10 + 3 * points.len() as u32;
            points.push(point(&values, Ok(reaching([round, round + 1, round + 2]))));
        }
    }
    SweepReport::new("zipped", axes, points, target())
}

#[test]
fn zipped_axes_are_told_apart_by_all_of_their_values() {
    let report = zipped(&[json!(0.1), json!(1.0)]);
    let [pairs, _]: [axes::Dimension; 2] = axes::Dimension::of(&report.axes).try_into().unwrap();
    assert_eq!(pairs.names(), ["5, 1", "5, 50", "10, 1"]);
    assert_eq!(pairs.numbers(), None, "two of them have five peers");
    let html = report.page().render();
    // Every point has a cell of its own: rounds 11, 14, 17, 20, 23, 26.
    for (pair, rounds) in [("5, 1", [11, 14]), ("5, 50", [17, 20]), ("10, 1", [23, 26])] {
        for (penalty, rounds) in ["0.1", "1.0"].into_iter().zip(rounds) {
            let cell = format!("peers, ridge {pair}, penalty {penalty}: {rounds}<");
            assert!(html.contains(&cell), "{cell}");
        }
        assert!(html.contains(&format!("peers, ridge = {pair}")), "{pair}");
    }
    // Where only the axis that follows moves, it is still one that varies.
    let mut still = zipped(&[json!(0.1)]).axes;
    still[0].values = vec![json!(5); 3];
    let [only]: [axes::Dimension; 1] = axes::Dimension::of(&still).try_into().unwrap();
    assert_eq!(only.names(), ["5, 1", "5, 50"]);
    still[1].values = vec![json!(1); 3];
    assert!(axes::Dimension::of(&still).is_empty());
    // Leading numbers that differ are an axis of numbers.
    still[0].values = vec![json!(5), json!(10), json!(20)];
    assert_eq!(axes::Dimension::of(&still)[0].numbers(), Some(vec![5.0, 10.0, 20.0]));
}
