//! A run that may spend so much on a record, and no more.

use std::sync::atomic::AtomicBool;

use hushmesh::experiment::{Options, RunResult, StopReason, execute, resolve};
use hushmesh::measure::Metric;
use hushmesh::network::EngineKind;
use hushmesh::privacy::Spent;
use hushmesh::units::Delta;

use super::{checked, run, series};
use crate::workbench::{SCENARIO, Workbench};

const DELTA: Delta = Delta(1e-5);

/// Five peers in a row with noise of their own each.
fn yaml(deviations: [f64; 5], decay: f64, epsilon: f64) -> String {
    format!(
        "name: budget\nseed: 4\ntopology: {{path: {{peers: 5}}}}\n\
         data: {{source: {{linear-logistic: {{dimension: 3, norm: 4}}}}, \
         samples: {{per-peer: 20}}}}\n\
         model: {{loss: logistic, regularisation: 1}}\n\
         protocol: {{admm: {{penalty: 0.5, rounds: 400, \
         slack: 0, primal_noise: {{deviation: {deviations:?}, decay: {decay}}}}}}}\n\
         measure: {{stop: {{epsilon: {epsilon}}}}}\n"
    )
}

/// What peer i has spent on a record after so many releases, from the formulas alone.
fn spent(i: usize, deviations: [f64; 5], decay: f64, releases: u32) -> f64 {
    let degrees = [1.0, 2.0, 2.0, 2.0, 1.0];
    // |x| = 1, m = 20, a/n = .2, β = .5.
    let moves = (2.0 / 20.0 + 2e-10) / (0.2 + degrees[i]);
    let mut all = Spent::default();
    for t in 0..releases {
        let deviation = deviations[i] * decay.powf(0.5 * f64::from(t));
        all.add(&Spent::gaussian(moves / deviation));
    }
    all.bound(DELTA).epsilon.0
}

#[test]
fn the_run_ends_before_the_release_that_would_exceed_it() {
    for (deviations, decay, epsilon) in [
        ([1.0; 5], 1.0, 1.0),
        // The one in the middle is the first to be at its end.
        ([1.0, 0.5, 0.2, 0.5, 1.0], 1.0, 2.0),
        // And here one of the ends, while the other could go on for long.
        ([0.3, 2.0, 2.0, 2.0, 8.0], 0.95, 3.0),
    ] {
        let result = run(&yaml(deviations, decay, epsilon));
        let repeat = &result.repeats[0];
        assert_eq!(repeat.stop_reason, StopReason::Budget);
        let last = repeat.rows.last().expect("a row").round.0;
        assert!((2..400).contains(&last), "{last}");
        let by_row = series(&result, 0, Metric::Epsilon);
        assert!(by_row.is_sorted() && *by_row.last().unwrap() <= epsilon, "{by_row:?}");
        // As far as its own budget goes, and one round further than each neighbour.
        let afforded: [u32; 5] = std::array::from_fn(|i| {
            (1..=400).take_while(|&t| spent(i, deviations, decay, t) <= epsilon).last().unwrap_or(0)
        });
        let released: [u32; 5] = std::array::from_fn(|i| {
            (0..5).map(|j| afforded[j] + i.abs_diff(j) as u32).min().unwrap_or(0)
        });
        assert_eq!(last, *released.iter().min().unwrap(), "a row needs everybody");
        for (i, booked) in repeat.epsilons.iter().enumerate() {
            let expected = spent(i, deviations, decay, released[i]);
            assert!((booked - expected).abs() <= 1e-9 * expected, "{i}: {booked}, not {expected}");
            assert!(booked <= epsilon);
        }
        let messages = series(&result, 0, Metric::Messages);
        let degrees = [1.0, 2.0, 2.0, 2.0, 1.0];
        let sent = released.iter().zip(degrees).map(|(&t, degree)| f64::from(t) * degree);
        assert_eq!(*messages.last().unwrap(), sent.sum::<f64>());
        // Nobody is promised more than the budget.
        let stated = result.statement.claims.iter().filter(|claim| claim.epsilon.0.is_finite());
        assert!(stated.clone().count() >= 8 && stated.clone().all(|c| c.epsilon.0 <= epsilon));
    }
}

#[test]
fn it_ends_in_the_same_round_on_every_engine() {
    let text = yaml([1.0, 0.5, 0.2, 0.5, 1.0], 0.99, 2.0);
    let on = |engine: EngineKind, workers: Option<usize>| -> RunResult {
        let checked = checked(&text).on_engine(engine);
        let resolved = resolve(&checked).unwrap();
        let never = AtomicBool::new(false);
        let options = Options { workers };
        execute(&checked, resolved, options, None, &never, &mut |_| {}).unwrap()
    };
    let expected = on(EngineKind::Simulated, Some(1));
    assert_eq!(expected.repeats[0].stop_reason, StopReason::Budget);
    for workers in [2, 5] {
        let found = on(EngineKind::Simulated, Some(workers));
        assert_eq!(found.fingerprint, expected.fingerprint, "{workers} workers");
        assert_eq!(found.repeats[0].epsilons, expected.repeats[0].epsilons, "{workers} workers");
    }
    for _ in 0..3 {
        let found = on(EngineKind::Threads, None);
        assert_eq!(found.fingerprint, expected.fingerprint, "threads");
        assert_eq!(found.repeats[0].stop_reason, StopReason::Budget);
    }
}

#[test]
fn a_tolerance_that_is_met_first_ends_the_run_first() {
    let text = yaml([1.0; 5], 1.0, 1.0).replace("{epsilon", "{consensus_gap: 1.0e+3, epsilon");
    let result = run(&text);
    assert_eq!(result.repeats[0].stop_reason, StopReason::Tolerance);
    assert_eq!(result.repeats[0].rows.len(), 1);
}

#[test]
fn the_files_say_why_it_ended() {
    let bench = Workbench::new();
    bench.write(SCENARIO, yaml([1.0; 5], 1.0, 1.0));
    let summary = bench.run(SCENARIO, "out", &[]);
    assert_eq!(summary["stop_reason"], "budget");
}
