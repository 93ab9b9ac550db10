use super::words::rank_correlation;
use super::*;
use crate::experiment::StopReason;
use crate::measure::{Estimate, MeasuredRow};
use crate::privacy::{Observer, Piece};
use crate::report::record::made::{record, repeat, row, with_noise};

const RING: &str = "{ring: {peers: 5}}";
const STAR: &str = "{star: {peers: 5}}";
const PATH: &str = "{path: {peers: 5}}";

fn target() -> Option<Target> {
    Some(Target { metric: Metric::OptimumDistance, value: 0.01 })
}

/// Repeats that reach the target in these rounds of 300.
fn reaching(rounds: &[u32]) -> Vec<Vec<MeasuredRow>> {
    rounds.iter().map(|&round| repeat(300, Some(round), 0.9)).collect()
}

fn named(rows: Vec<(&str, Record)>) -> Vec<(String, Result<Record, Missing>)> {
    rows.into_iter().map(|(name, record)| (name.to_owned(), Ok(record))).collect()
}

fn quantity<'a>(comparison: &'a Comparison, key: &str) -> &'a Quantity {
    comparison.quantities().iter().find(|quantity| quantity.key == key).unwrap()
}

/// Five pairs: rounds 10, 12, 14, 16, 18 and 20, 21, 26, 25, 28.
///
/// d = 10, 9, 12, 9, 10: d̄ = 10, Σ(d − d̄)² = 0 + 1 + 4 + 1 + 0 = 6, s² = 1.5, s/√5 = √0.3, and with
/// t₄ = 2.776445 the half-width is 1.520720.
#[test]
fn differences_are_those_of_a_paired_test_by_hand() {
    let first = record(RING, 1, reaching(&[10, 12, 14, 16, 18]));
    let second = record(STAR, 1, reaching(&[20, 21, 26, 25, 28]));
    let comparison =
        Comparison::new(named(vec![("ring", first), ("star", second)]), target(), vec![]);
    let rounds = quantity(&comparison, "rounds_to_target");
    let Estimate { mean, low, high } = rounds.outcomes[1].estimate();
    assert_eq!(mean, Some(24.0));
    // 20, 21, 26, 25, 28: Σ(x − 24)² = 16 + 9 + 4 + 1 + 16 = 46, s/√5 = √(11.5/5).
    let half = 2.776_445_105 * 2.3_f64.sqrt();
    assert!((low.unwrap() - (24.0 - half)).abs() < 1e-8);
    assert!((high.unwrap() - (24.0 + half)).abs() < 1e-8);
    let Difference { paired, pairs, significant } = rounds.differences[1].unwrap();
    assert_eq!((paired.difference.mean, pairs, significant), (Some(10.0), 5, true));
    let half = 2.776_445_105 * 0.3_f64.sqrt();
    assert!((paired.difference.low.unwrap() - (10.0 - half)).abs() < 1e-8);
    assert_eq!(rounds.differences[0], None);
    // t = 10/√0.3 = 18.257 with four degrees of freedom: p = 5.3e-5, by the closed form
    // 1 − sin θ (1 + cos²θ/2), tan θ = t/2.
    let theta = (10.0 / 0.3_f64.sqrt() / 2.0).atan();
    let p = 1.0 - theta.sin() * (1.0 + theta.cos().powi(2) / 2.0);
    assert!((paired.p_value.unwrap() - p).abs() < 1e-12);
    // Four messages in every round, 400 bytes, 2 ms.
    let of = |key: &str| quantity(&comparison, key).outcomes[1].estimate().mean.unwrap();
    assert_eq!(of("messages_to_target"), 96.0);
    assert_eq!(of("bytes_to_target"), 9600.0);
    assert!((of("sim_seconds_to_target") - 0.048).abs() < 1e-15);
    let text = comparison.terminal(2000);
    for part in ["24.0 ± 4.2", "+10.0 ± 1.5*", "9.6 ± 1.7", "(kB)", "Holm"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

/// Three rows against the first with p = 0.0132, 0.0251 and 0.0391 or so: the least is above 5 %/3
/// of 0.0167 only if it is the others' turn; by hand, Holm passes p₁ ≤ 0.05/3, then p₂ ≤ 0.05/2, then
/// p₃ ≤ 0.05, and stops at the first that fails.
#[test]
fn stars_are_those_that_holm_leaves() {
    let base = [100, 100, 100, 100, 100];
    // d̄ = 4, 3 and 2 with Σ(d − d̄)² = 10 each: t = d̄ √(5 · 4/10) = 5.657, 4.243, 2.828, and
    // p = 0.0048, 0.0132, 0.0474: 0.0048 ≤ 0.0167, 0.0132 ≤ 0.025, 0.0474 ≤ 0.05.
    let spread = |shift: u32| [-2_i32, -1, 0, 1, 2].map(|d| (100 + shift as i32 + d) as u32);
    let stars = |shifts: &[u32]| {
        let mut rows = vec![("base".to_owned(), Ok(record(RING, 1, reaching(&base))))];
        for shift in shifts {
            rows.push((format!("{shift}"), Ok(record(RING, 1, reaching(&spread(*shift))))));
        }
        let comparison = Comparison::new(rows, target(), vec![]);
        let rounds = quantity(&comparison, "rounds_to_target").clone();
        rounds.differences.iter().map(|d| d.is_some_and(|d| d.significant)).collect::<Vec<_>>()
    };
    assert_eq!(stars(&[4, 3, 2]), [false, true, true, true]);
    // Two of the last kind: 0.0474 must be at most 0.025 first, and is not.
    assert_eq!(stars(&[4, 3, 2, 2]), [false, true, true, false, false]);
    assert_eq!(stars(&[2]), [false, true]);
    assert_eq!(stars(&[2, 0]), [false, false, false]);
}

#[test]
fn a_repeat_that_never_arrives_leaves_no_mean_no_difference_and_no_star() {
    let mut late = reaching(&[20, 20, 20, 20]);
    late.push(repeat(250, None, 0.9));
    let rows = named(vec![
        ("ring", record(RING, 1, reaching(&[10, 11, 12, 13, 14]))),
        ("star", record(STAR, 1, late)),
    ]);
    let comparison = Comparison::new(rows, target(), vec![]);
    let rounds = quantity(&comparison, "rounds_to_target");
    assert_eq!(rounds.outcomes[1], Outcome::Short { reached: 4, of: 5, spent: 250.0 });
    assert_eq!(rounds.differences, [None, None]);
    let text = comparison.terminal(2000);
    assert!(text.contains("> 250 (4 of 5)"), "{text}");
    assert!(text.contains("> 1,000 (4 of 5)"), "the messages of 250 rounds\n{text}");
    assert!(text.contains("star reaches the target in 4 of 5 repeats"), "{text}");
    assert!(!text.contains("star needs"), "{text}");
    assert!(comparison.to_json()["rows"][1]["figures"]["rounds_to_target"]["difference"].is_null());
}

#[test]
fn a_repeat_that_diverged_is_said_and_never_averaged() {
    let mut wild = record(STAR, 1, reaching(&[20, 20, 20, 20, 20]));
    wild.stop_reasons[3] = StopReason::Diverged;
    let rows =
        named(vec![("ring", record(RING, 1, reaching(&[10, 10, 10, 10, 10]))), ("star", wild)]);
    let comparison = Comparison::new(rows, target(), vec![]);
    for quantity in comparison.quantities() {
        assert_eq!(
            quantity.outcomes[1],
            Outcome::Diverged { diverged: 1, of: 5 },
            "{}",
            quantity.key
        );
        assert_eq!(quantity.differences[1], None);
    }
    let text = comparison.terminal(2000);
    assert!(text.contains("diverged (1 of 5)") && text.contains("star diverges in 1 of 5 repeats"));
}

#[test]
fn an_incomplete_repeat_is_left_out_and_named() {
    let mut cut = record(STAR, 1, reaching(&[20, 30, 40]));
    cut.stop_reasons[2] = StopReason::Interrupted;
    cut.repeats[2].truncate(5);
    let rows = named(vec![("ring", record(RING, 1, reaching(&[10, 11, 12]))), ("star", cut)]);
    let comparison = Comparison::new(rows, target(), vec![]);
    let rounds = quantity(&comparison, "rounds_to_target");
    assert_eq!(rounds.outcomes[1].estimate().mean, Some(25.0));
    // Pairs 20 − 10 and 30 − 11.
    let difference = rounds.differences[1].unwrap();
    assert_eq!((difference.paired.difference.mean, difference.pairs), (Some(14.5), 2));
    assert!(comparison.warnings().iter().any(|w| w.contains("star: 2 of 3 repeats")));
    assert!(comparison.notes().iter().any(|note| note.contains("only those that both rows have")));
}

#[test]
fn rows_that_draw_the_same_noise_are_said_to() {
    let told = |change: fn(Record) -> Record, seed: u64| {
        let rows = named(vec![
            ("one", change(record(RING, 1, reaching(&[10, 11, 12])))),
            ("two", change(record(RING, seed, reaching(&[20, 22, 24])))),
        ]);
        let comparison = Comparison::new(rows, target(), vec![]);
        comparison.notes().iter().any(|note| note.contains("draw the same noise"))
    };
    assert!(told(with_noise, 1) && !told(with_noise, 2) && !told(|plain| plain, 1));
}

#[test]
fn different_seeds_are_not_paired() {
    let rows = named(vec![
        ("one", record(RING, 1, reaching(&[10, 11, 12, 13, 14]))),
        ("two", record(RING, 2, reaching(&[20, 22, 24, 26, 28]))),
    ]);
    let comparison = Comparison::new(rows, target(), vec![]);
    for quantity in comparison.quantities() {
        assert_eq!(quantity.differences, [None, None]);
    }
    assert!(comparison.notes().iter().any(|note| note.contains("different seeds")));
    let text = comparison.terminal(2000);
    assert!(!text.contains('Δ') && !text.contains("*:"), "{text}");
    // The ratio of the means 24 and 12, without an interval.
    assert!(text.contains("two needs 2 times as many rounds as one"), "{text}");
}

#[test]
fn one_repeat_has_no_intervals_and_no_stars() {
    let rows = named(vec![
        ("ring", record(RING, 1, reaching(&[10]))),
        ("star", record(STAR, 1, reaching(&[13]))),
    ]);
    let comparison = Comparison::new(rows, target(), vec![]);
    let text = comparison.terminal(2000);
    assert!(text.contains("one repeat") && text.contains("+3"), "{text}");
    assert!(!text.contains('±') && !text.contains('*'), "{text}");
    assert!(text.contains("star needs 1.3 times as many rounds as ring"), "{text}");
    let few = named(vec![
        ("ring", record(RING, 1, reaching(&[10, 11]))),
        ("star", record(STAR, 1, reaching(&[13, 15]))),
    ]);
    let few = Comparison::new(few, target(), vec![]);
    assert!(few.warnings().iter().any(|warning| warning.contains("only 2 repeats")));
}

/// Ratios 2, 2, 4, 4: the mean logarithm is 1.5 ln 2, its deviation ln 2 · √(4 · 0.25/3).
#[test]
fn ratios_are_geometric_means_with_intervals_of_their_logarithms() {
    let known = |values: &[f64]| Outcome::Known(values.iter().copied().enumerate().collect());
    let ratio =
        Ratio::of(&known(&[2.0, 4.0, 4.0, 8.0]), &known(&[1.0, 2.0, 1.0, 2.0]), true).unwrap();
    assert!((ratio.ratio - 8.0_f64.sqrt()).abs() < 1e-12);
    let half = 3.182_446_305 * 2.0_f64.ln() * (1.0_f64 / 3.0).sqrt() / 2.0;
    let (low, high) = ratio.interval.unwrap();
    assert!((low - (1.5 * 2.0_f64.ln() - half).exp()).abs() < 1e-8);
    assert!((high - (1.5 * 2.0_f64.ln() + half).exp()).abs() < 1e-8);
    assert_eq!(ratio.told("as many"), "2.83 times (1.50 to 5.35) as many");
    assert_eq!(Ratio::of(&known(&[0.0]), &known(&[1.0]), true), None);
    let same = Ratio::of(&known(&[3.0, 3.0]), &known(&[3.0, 3.0]), true).unwrap();
    assert_eq!(same.told("as many rounds"), "just as many rounds");
}

#[test]
fn without_a_target_the_heads_speak_of_the_end() {
    let rows = named(vec![
        ("ring", record(RING, 1, vec![repeat(10, None, 0.8), repeat(10, None, 0.9)])),
        ("star", record(STAR, 1, vec![repeat(10, None, 0.9), repeat(10, None, 0.9)])),
    ]);
    let comparison = Comparison::new(rows, None, vec!["a note from outside".to_owned()]);
    let text = comparison.terminal(2000);
    for part in ["rounds at the end", "messages at the end", "final accuracy", "0.8"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("target"), "{text}");
    // Both ran ten rounds because they were told to: no difference worth a column.
    assert!(!text.contains("Δ rounds"), "{text}");
    assert_eq!(comparison.notes()[0], "a note from outside");
}

#[test]
fn a_graph_has_its_closed_forms() {
    let rows = named(vec![("path", record(PATH, 1, reaching(&[9])))]);
    let table = Comparison::new(rows, target(), vec![]).table().to_csv();
    let cells: Vec<&str> = table.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(&cells[..3], ["path", "5", "4"]);
    // λ₂ = 2 − 2 cos(π/5) of a path of five, and its diameter 4.
    let connectivity: f64 = cells[3].parse().unwrap();
    assert!((connectivity - (2.0 - 2.0 * (std::f64::consts::PI / 5.0).cos())).abs() < 1e-9);
    assert_eq!(cells[5..7], ["4", "0.3"]);
}

#[test]
fn losses_that_say_nothing_become_notes_and_others_columns() {
    let plain = || record(RING, 1, reaching(&[10, 11]));
    let rows = named(vec![("a", plain()), ("b", plain())]);
    let comparison = Comparison::new(rows, target(), vec![]);
    assert!(!comparison.table().to_csv().contains('ε'));
    assert!(
        comparison.notes().iter().any(|note| note == "ε: no row protects a record against anybody")
    );
    let mut private = plain();
    for booked in &mut private.ledger {
        if booked.piece == Piece::Label {
            booked.epsilon = if booked.observer == Observer::OwnServer { 2.0 } else { 0.5 };
        }
    }
    let rows = named(vec![("a", plain()), ("b", private)]);
    let csv = Comparison::new(rows, target(), vec![]).table().to_csv();
    let head = csv.lines().next().unwrap();
    assert!(head.contains("ε of a label against the user's own server"), "{head}");
    assert!(head.contains("ε of a label against anybody but the user's own server"), "{head}");
    assert!(!head.contains("ε of a record"), "{head}");
    assert!(csv.lines().nth(1).unwrap().ends_with("inf,inf"), "{csv}");
    assert!(csv.lines().nth(2).unwrap().ends_with("2,0.5"), "{csv}");
}

#[test]
fn hostile_names_stay_text_in_every_file() {
    let hostile = "</script><b>, \"x\" & $\\alpha_1$ | %#{}~^";
    let rows = named(vec![
        (hostile, record(RING, 1, reaching(&[10, 11]))),
        ("b,c", record(STAR, 1, reaching(&[12, 15]))),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let directory = RunDirectory::create(&folder.path().join("out"), false).unwrap();
    let comparison = Comparison::new(rows, target(), vec![hostile.to_owned()]);
    comparison.write_files(&directory, false).unwrap();
    let read = |name: &str| std::fs::read_to_string(directory.unfinished().join(name)).unwrap();
    let html = read("report.html");
    assert!(!html.contains("<b>") && !html.contains(&hostile[..10]));
    let mut csv = csv::Reader::from_reader(read("comparison.csv").into_bytes().leak() as &[u8]);
    let names: Vec<String> = csv.records().map(|line| line.unwrap()[0].to_owned()).collect();
    assert_eq!(names, [hostile, "b,c"]);
    assert!(read("comparison.tex").contains(r"\textbackslash"), "{}", read("comparison.tex"));
    assert!(!read("comparison.md").contains("<b>"));
    let json: Value = serde_json::from_str(&read("comparison.json")).unwrap();
    assert_eq!(json["rows"][0]["name"], hostile);
    assert!(crate::report::Page::from_json(read("report.json").as_bytes()).is_ok());
}

#[test]
fn nothing_and_one_row_are_comparisons_too() {
    for rows in [vec![], named(vec![("only", record(RING, 1, reaching(&[10, 11])))])] {
        let comparison = Comparison::new(rows, target(), vec![]);
        assert!(comparison.sentences().is_empty());
        assert!(!comparison.terminal(80).is_empty());
        assert!(comparison.page().render().contains("Comparison of"));
        assert!(comparison.to_json()["rows"].is_array());
        assert_eq!(comparison.page().render(), comparison.page().render());
    }
}

#[test]
fn targets_are_read_and_mistakes_answered() {
    let target = Target::parse("test_accuracy = 0.9").unwrap();
    assert!(target.is_met(0.9) && !target.is_met(0.89) && !target.is_met(f64::NAN));
    let target = Target::parse("consensus_gap=1e-3").unwrap();
    assert!(target.is_met(1e-3) && !target.is_met(0.01) && !target.is_met(f64::NAN));
    for (text, expected) in [
        ("optimum_distance", "expected `metric=value`"),
        ("optimum_distanse=1", "is it `optimum_distance`?"),
        ("optimum_distance=small", "expected a finite number, found `small`"),
        ("optimum_distance=inf", "expected a finite number"),
    ] {
        let said = Target::parse(text).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn ranks_correlate_as_spearman_says() {
    assert_eq!(rank_correlation(&[(1.0, 9.0), (2.0, 4.0), (30.0, 1.0)]), Some(-1.0));
    // Ranks 1, 2, 3, 4 against 1, 3, 2, 4: 1 − 6 · 2/(4 · 15) = 0.8.
    let pairs = [(1.0, 1.0), (2.0, 5.0), (3.0, 4.0), (4.0, 9.0)];
    assert!((rank_correlation(&pairs).unwrap() - 0.8).abs() < 1e-12);
    // Ties share their mean rank: 1, 2.5, 2.5 against 1, 2, 3 gives 1.5/√(1.5 · 2).
    let tied = rank_correlation(&[(1.0, 1.0), (2.0, 2.0), (2.0, 3.0)]).unwrap();
    assert!((tied - 1.5 / 3.0_f64.sqrt()).abs() < 1e-12);
    assert_eq!(rank_correlation(&[(1.0, 1.0), (2.0, 2.0)]), None);
}

/// Two repeats, of three rounds and of two: the mean of two rounds, at 4 messages in each.
#[test]
fn curves_go_as_far_as_the_shortest_repeat() {
    let repeats = vec![
        vec![row(1, 8.0, 0.5), row(2, 4.0, 0.5), row(3, 2.0, 0.5)],
        vec![row(1, 10.0, 0.5), row(2, 6.0, 0.5)],
    ];
    let record = record(RING, 1, repeats);
    let series = curves::series("a", &record, Metric::OptimumDistance, Cost::Messages).unwrap();
    assert_eq!(series.points, [(4.0, 9.0), (8.0, 5.0)]);
    // Of 8 and 10: 9 ± 12.706 · √2/√2.
    let (low, high) = series.band.unwrap()[0];
    assert!((low - (9.0 - 12.706_204_736)).abs() < 1e-8 && (high - 21.706_204_736).abs() < 1e-8);
    assert!(curves::series("a", &record, Metric::ConsensusGap, Cost::Rounds).is_none());
}

#[test]
fn the_page_has_a_named_point_for_every_row_that_has_a_mean() {
    let rows = named(vec![
        ("ring", record(RING, 1, reaching(&[10, 12]))),
        ("star", record(STAR, 1, reaching(&[20, 21]))),
        ("path", record(PATH, 1, reaching(&[40, 50]))),
        ("late", record(PATH, 1, vec![repeat(30, None, 0.9); 2])),
    ]);
    let html = Comparison::new(rows, target(), vec![]).page().render();
    // λ₂ = 1.382, 1, 0.382 against 11, 20.5, 45.
    assert!(html.contains("correlation of the 3 rows is -1. Left out"), "{html}");
    assert!(html.contains("no λ₂: late."));
    assert!(html.contains(">star<title>star</title>"), "beside its point");
    for heading in ["Result", "Curves", "Connectivity", "Scenarios"] {
        assert!(html.contains(&format!(">{heading}</h2>")), "{heading}");
    }
}

/// Three rows, of which some failed or have not been run.
fn partly(missing: &[(usize, Missing)]) -> Comparison {
    let mut rows = named(vec![
        ("ring", record(RING, 1, reaching(&[10, 12, 14, 16, 18]))),
        ("star", record(STAR, 1, reaching(&[20, 21, 26, 25, 28]))),
        ("path", record(PATH, 1, reaching(&[40, 41, 46, 45, 48]))),
    ]);
    for (at, missing) in missing {
        rows[*at].1 = Err(missing.clone());
    }
    Comparison::new(rows, target(), vec![])
}

#[test]
fn a_row_that_failed_or_waits_stays_and_says_so() {
    let failed = Missing::Failed("no such file\nsecond line".to_owned());
    let comparison = partly(&[(1, failed.clone())]);
    let text = comparison.terminal(2000);
    assert!(text.contains("failed: no such file  "), "{text}");
    assert!(text.contains("warning: star failed: no such file second line"), "{text}");
    // The path is still compared with the ring: 30 rounds more in the mean.
    let rounds = quantity(&comparison, "rounds_to_target");
    assert_eq!(rounds.differences[2].unwrap().paired.difference.mean, Some(30.0));
    let json = comparison.to_json();
    let status = |run: usize| json["rows"][run]["status"].as_str().unwrap().to_owned();
    assert_eq!([0, 1, 2].map(status), ["done", "failed", "done"]);
    assert_eq!(json["rows"][1]["error"], "no such file\nsecond line");
    let csv = comparison.table().to_csv();
    assert!(csv.lines().nth(2).unwrap().starts_with("star,failed: no such file,,"), "{csv}");

    let waiting = partly(&[(1, Missing::NotRun), (2, failed)]);
    assert_eq!(waiting.to_json()["rows"][1]["status"], "not-run");
    assert!(waiting.terminal(2000).contains("warning: star has not been run yet"));
    assert!(waiting.page().render().contains("not run yet"));
}

#[test]
fn without_its_first_row_a_comparison_compares_nothing() {
    let comparison = partly(&[(0, Missing::Failed("out of luck".to_owned()))]);
    for quantity in comparison.quantities() {
        assert!(quantity.differences.iter().all(Option::is_none), "{}", quantity.key);
    }
    assert_eq!(comparison.sentences(), Vec::<String>::new());
    let text = comparison.terminal(2000);
    for part in ["ring failed: out of luck", "ring is the row that the others are compared with"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    for part in ["Δ", " times ", "*:"] {
        assert!(!text.contains(part), "{part}\n{text}");
    }
    // Its figures are still there: 20, 21, 26, 25 and 28 rounds.
    assert!(text.contains("24.0 ± 4.2"), "{text}");
    let all = [0, 1, 2].map(|row| (row, Missing::NotRun));
    assert!(partly(&all).page().render().contains("No row has been run."));
}

#[test]
fn what_a_run_spends_is_no_target() {
    for name in ["messages", "bytes", "sim_seconds", "hops", "epsilon"] {
        let said = Target::parse(&format!("{name}=10")).unwrap_err().to_string();
        assert!(said.contains("expected an accuracy, a risk, a distance or a gap"), "{said}");
        assert!(said.contains(&format!("found `{name}`")), "{said}");
    }
    assert!(Target::parse("empirical_risk=0.1").is_ok());
}

#[test]
fn a_scenario_tells_which_targets_it_cannot_measure() {
    let of = |text: &str, scenario: &crate::scenario::Scenario| {
        Target::parse(text).unwrap().measured_by(scenario)
    };
    let mut scenario = record(RING, 1, reaching(&[10])).scenario;
    for (target, measured) in [
        ("test_accuracy=0.9", true),
        ("optimum_distance=0.1", true),
        ("consensus_gap=0.1", true),
        ("test_mse=0.9", false),
        ("average_risk=0.9", false),
        ("local_test_accuracy=0.9", false),
    ] {
        assert_eq!(of(target, &scenario), measured, "{target}");
    }
    scenario.data.test_share = 0.0;
    assert!(!of("test_accuracy=0.9", &scenario) && of("train_accuracy=0.9", &scenario));
    scenario.measure.what = vec![crate::measure::What::Average];
    assert!(!of("train_accuracy=0.9", &scenario) && of("average_risk=0.9", &scenario));
}

/// A run with this ε of a label against anybody.
fn protecting(epsilon: f64, pure: bool, delta: f64) -> Record {
    let mut record = record(RING, 1, reaching(&[10, 11, 12, 13, 14]));
    record.scenario.privacy.delta.0 = delta;
    for booked in record.ledger.iter_mut().filter(|booked| booked.piece == Piece::Label) {
        (booked.epsilon, booked.pure) = (epsilon, pure);
    }
    record
}

#[test]
fn a_loss_says_its_delta_and_those_of_different_delta_are_not_compared() {
    let of = |rows: [(f64, bool, f64); 2]| {
        let [a, b] = rows.map(|(epsilon, pure, delta)| protecting(epsilon, pure, delta));
        Comparison::new(named(vec![("a", a), ("b", b)]), target(), vec![])
    };
    let head =
        |comparison: &Comparison| comparison.table().to_csv().lines().next().unwrap().to_owned();
    let incomparable = |comparison: &Comparison| {
        comparison.warnings().iter().filter(|w| w.contains("not comparable")).count()
    };
    let same = of([(1.0, false, 1e-5), (2.0, false, 1e-5)]);
    assert!(head(&same).contains("ε of a label against anybody, δ = 1e-5"), "{}", head(&same));
    assert_eq!(incomparable(&same), 0);
    // The δ of the scenario says nothing of pure losses.
    let pure = of([(1.0, true, 1e-5), (2.0, true, 1e-6)]);
    assert!(head(&pure).contains("against anybody, δ = 0"), "{}", head(&pure));
    assert_eq!(incomparable(&pure), 0);
    assert_eq!(pure.to_json()["rows"][0]["ledger"][0]["delta"], 0.0);
    // The same ε at another δ is another loss.
    for rows in [[(1.0, false, 1e-5), (1.0, false, 1e-3)], [(1.0, true, 1e-5), (1.0, false, 1e-5)]]
    {
        let mixed = of(rows);
        assert!(head(&mixed).contains("against anybody, δ differs"), "{}", head(&mixed));
        assert_eq!(incomparable(&mixed), 1, "{:?}", mixed.warnings());
    }
    let said = of([(1.0, true, 1e-5), (1.0, false, 1e-5)]).terminal(2000);
    assert!(said.contains("rows have different δ: a at δ = 0, b at δ = 1e-5"), "{said}");
    // No guarantee has no δ, nor has one of nothing.
    assert_eq!(incomparable(&of([(f64::INFINITY, false, 1e-3), (1.0, false, 1e-5)])), 0);
    assert_eq!(incomparable(&of([(0.0, true, 1e-3), (1.0, false, 1e-5)])), 0);
    for (pure, told) in [(true, "in every row, pure: δ = 0"), (false, "in every row, at δ = 1e-5")]
    {
        let constant = of([(1.0, pure, 1e-5), (1.0, pure, 1e-5)]);
        assert!(constant.notes().iter().any(|note| note.ends_with(told)), "{:?}", constant.notes());
    }
}
