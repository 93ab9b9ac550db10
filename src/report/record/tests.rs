use super::*;
use crate::experiment::{self, RunDirectory};
use crate::report::run::{Timing, metrics_csv, write_files};
use crate::scenario::to_yaml;

/// Runs a scenario and leaves its files in a folder.
fn written(scenario: &str, folder: &Path) -> (experiment::RunResult, PathBuf) {
    let result = experiment::run(&Checked::from_text("small.yaml", scenario).unwrap()).unwrap();
    let directory = RunDirectory::create(&folder.join("run"), false).unwrap();
    let timing = Timing { seconds: 0.0, engine: String::new(), traffic: None };
    write_files(&result, &to_yaml(&result.scenario), Some(&timing), &directory, false).unwrap();
    let place = directory.finish().unwrap();
    (result, place)
}

const PRIVATE: &str = "
name: small
seed: 3
repeat: 3
topology: {ring: {peers: 4}}
data: {source: twonorm, samples: {per-peer: 10}, test_share: 0.3, preprocess: [{clip: {norm: 1}}]}
model: {loss: logistic, regularisation: 1}
privacy: {labels: {epsilon: 1}}
protocol: {admm: {penalty: auto, rounds: 6, primal_noise: {deviation: 0.5, decay: 0.8}}}
";

/// What diverges: a step far beyond what the curvature bears.
const WILD: &str = "
name: wild
seed: 3
repeat: 2
topology: {ring: {peers: 4}}
data: {source: {linear-regression: {dimension: 3, norm: 2, noise: 0.1, bound: 2}}, samples: {per-peer: 10}}
model: {loss: squared, regularisation: 1}
protocol: {gradient-descent: {step: 1e6, rounds: 60}}
";

fn bits(rows: &[Vec<MeasuredRow>]) -> Vec<(u32, Vec<u64>)> {
    let of = |row: &MeasuredRow| {
        // There are many NaN and one that a file can hold.
        let bits = |value: &f64| if value.is_nan() { u64::MAX } else { value.to_bits() };
        (row.round.0, row.values.iter().map(bits).collect())
    };
    rows.iter().flatten().map(of).collect()
}

#[test]
fn a_run_is_read_back_bit_for_bit() {
    for scenario in [PRIVATE, WILD] {
        let folder = tempfile::tempdir().unwrap();
        let (result, place) = written(scenario, folder.path());
        let record = Record::read(&place).unwrap();
        assert_eq!(record.scenario, result.scenario);
        assert_eq!(record.metrics, result.metrics);
        assert_eq!(record.topology.links(), result.topology.links());
        let rows: Vec<Vec<MeasuredRow>> = result.repeats.iter().map(|r| r.rows.clone()).collect();
        assert_eq!(record.repeats.len(), rows.len());
        assert_eq!(bits(&record.repeats), bits(&rows));
        let reasons: Vec<StopReason> = result.repeats.iter().map(|r| r.stop_reason).collect();
        assert_eq!(record.stop_reasons, reasons);
        let told: Vec<(Observer, Piece, f64, bool)> =
            result.observed.iter().map(|c| (c.observer, c.piece, c.epsilon.0, c.pure)).collect();
        let booked: Vec<_> =
            record.ledger.iter().map(|b| (b.observer, b.piece, b.epsilon, b.pure)).collect();
        assert_eq!(booked, told);
        let summary = crate::report::run::summary(&result);
        assert_eq!(record.warnings, summary.warnings);
        let parameter = summary.parameter.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(record.parameter, parameter);
    }
}

#[test]
fn a_run_that_left_the_finite_numbers_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (_, place) = written(WILD, folder.path());
    let record = Record::read(&place).unwrap();
    assert!(record.diverged(0) && record.diverged(1) && !record.diverged(2));
    assert_eq!(record.complete().count(), 2);
}

#[test]
fn damaged_files_are_named_with_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let (result, place) = written(PRIVATE, folder.path());
    let csv = String::from_utf8(metrics_csv(&result)).unwrap();
    let of_metrics = |csv: &str| {
        fs::write(place.join(METRICS), csv).unwrap();
        Record::read(&place).unwrap_err().to_string()
    };
    let edited = |line: usize, edit: &dyn Fn(&str) -> String| {
        let mut lines: Vec<String> = csv.lines().map(str::to_owned).collect();
        lines[line - 1] = edit(&lines[line - 1]);
        of_metrics(&lines.join("\n"))
    };
    let first_comma = |line: &str| line.find(',').unwrap();
    for (said, expected) in [
        (of_metrics(""), "metrics.csv:1: expected the head `repeat,round,…`, found nothing"),
        (edited(1, &|l| l.replacen("repeat", "run", 1)), "found `run,round`"),
        (
            edited(1, &|l| l.replacen("consensus_gap,", "consenus_gap,", 1)),
            "metrics.csv:1: expected the name of a metric, found `consenus_gap`; is it \
             `consensus_gap`?",
        ),
        (edited(3, &|l| format!("{l},1")), "metrics.csv:3: expected"),
        (edited(3, &|l| format!("7{}", &l[first_comma(l)..])), "or 1, found repeat 7"),
        (edited(3, &|l| l.replacen(",2,", ",1,", 1)), "expected a round after 1, found round 1"),
        (edited(4, &|l| l.replacen(",3,", ",x,", 1)), "metrics.csv:4: expected the number of a"),
        (edited(2, &|l| format!("{}ten", l)), "metrics.csv:2: expected a number or nothing"),
        (of_metrics(&csv[..=csv.find('\n').unwrap()]), "stop_reasons: expected one of each of"),
    ] {
        assert!(said.contains(expected), "{said}\n{expected}");
    }
    of_whole(&place, &csv);
}

fn of_whole(place: &Path, csv: &str) {
    fs::write(place.join(METRICS), csv).unwrap();
    let summary = fs::read_to_string(place.join(SUMMARY)).unwrap();
    let json: Value = serde_json::from_str(&summary).unwrap();
    let without = |key: &str, value: Value| {
        let mut json = json.clone();
        json[key] = value;
        fs::write(place.join(SUMMARY), json.to_string()).unwrap();
        Record::read(place).unwrap_err().to_string()
    };
    let none = Value::Null;
    assert!(without("stop_reasons", none.clone()).contains("stop_reasons: expected a list"));
    assert!(without("stop_reasons", serde_json::json!(["bored"])).contains("stop_reasons.0"));
    assert!(without("privacy", none).contains("privacy.ledger: expected a list"));
    fs::write(place.join(SUMMARY), "{\n\"a\"").unwrap();
    assert!(Record::read(place).unwrap_err().to_string().contains("line 2"));
    fs::remove_file(place.join(SUMMARY)).unwrap();
    let said = Record::read(place).unwrap_err().to_string();
    assert!(said.contains("summary.json") && said.contains("expected the directory"), "{said}");
}
