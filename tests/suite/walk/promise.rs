//! What is promised of a walk, what is booked, what the table of figures says, and what a budget
//! allows.

use std::sync::atomic::AtomicBool;

use hushmesh::experiment::{Claim, Options, RunResult, StopReason, execute, resolve};
use hushmesh::measure::Metric;
use hushmesh::network::EngineKind;
use hushmesh::privacy::{Observer, Piece, gaussian_epsilon};
use hushmesh::protocol::walk_sgd::Cut;
use hushmesh::units::Delta;

use super::{POLICIES, at_the_end, checked, run};

const DELTA: f64 = 1e-6;

/// Three classes; `partition`, `noise` and `more` as they are written in a scenario.
fn yaml(partition: &str, noise: &str, more: &str) -> String {
    format!(
        "name: promise\nseed: 5\nrepeat: 2\ntopology: {{ring: {{peers: 4}}}}\n\
         data: {{source: {{clusters: {{classes: 3, dimension: 4, separation: 3}}}}, \
         samples: {{total: 30}}, preprocess: [unit-sphere], partition: {partition}}}\n\
         model: {{loss: logistic, regularisation: 0.5}}\nprivacy: {{delta: {DELTA}}}\n\
         protocol: {{walk-sgd: {{walk: simple, batch: 3, step: {{constant: 0.1}}, \
         noise: {{{noise}}}{more}}}}}\n\
         measure: {{what: [privacy, walk]}}\n"
    )
}

fn of(claims: &[Claim], observer: Observer, piece: Piece) -> f64 {
    let found = claims.iter().find(|claim| claim.observer == observer && claim.piece == piece);
    found.expect("a claim").epsilon.0
}

/// Stated and booked, for every observer and piece but the own server's.
fn pairs(result: &RunResult) -> Vec<(f64, f64)> {
    let mut pairs = Vec::new();
    for observer in Observer::ALL.into_iter().filter(|&one| one != Observer::OwnServer) {
        for piece in [Piece::Label, Piece::Features] {
            let of = |claims| of(claims, observer, piece);
            pairs.push((of(&result.statement.claims), of(&result.observed)));
        }
    }
    pairs
}

const PARTITIONS: [&str; 4] =
    ["even", "{ratio: [1, 5, 0, 2]}", "replicated", "{with-repetition: {rows: 9}}"];

#[test]
fn what_is_stated_of_the_fully_collaborative_algorithm_is_what_is_booked() {
    for partition in PARTITIONS {
        for noise in [
            "epsilon: 0.8",
            "epsilon: 0.8, calibration: classic",
            "epsilon: 0.8, budget: total",
            "epsilon: 0.8, calibration: classic, budget: total, passes: split",
        ] {
            for passes in [1, 2, 3] {
                let result = run(&yaml(partition, noise, &format!(", passes: {passes}")));
                let said = format!("{partition}, {noise}, {passes} passes");
                for (stated, booked) in pairs(&result) {
                    let same = stated == booked || (stated / booked - 1.0).abs() < 1e-9;
                    assert!(same, "{said}: {stated} stated, {booked} booked");
                }
                let record = of(&result.observed, Observer::FinalModel, Piece::Features);
                assert!(record.is_finite() && record > 0.0, "{said}: {record}");
                let repeats = partition == "replicated" || partition.contains("repetition");
                let total = noise.contains("total");
                if total && !repeats {
                    assert!(record <= 0.8 * (1.0 + 1e-9), "{said}: {record}");
                }
                if noise == "epsilon: 0.8, budget: total" && !repeats {
                    assert!((record / 0.8 - 1.0).abs() < 1e-6, "{said}: {record}");
                }
                if noise == "epsilon: 0.8" && !repeats {
                    // Three tasks at ε each: μ² adds up.
                    let mu =
                        hushmesh::privacy::gaussian_mu(hushmesh::units::Epsilon(0.8), Delta(DELTA));
                    let all = gaussian_epsilon(3_f64.sqrt() * mu, Delta(DELTA)).0;
                    assert!((record / all - 1.0).abs() < 1e-6, "{said}: {record}, not {all}");
                }
                for epsilon in at_the_end(&result, Metric::Epsilon) {
                    let peers = of(&result.observed, Observer::OtherPeers, Piece::Features);
                    assert!(epsilon >= peers * (1.0 - 1e-9), "{said}: {epsilon} below {peers}");
                }
            }
        }
    }
}

#[test]
fn what_is_stated_of_decisions_is_never_below_what_is_booked() {
    for policy in POLICIES {
        for partition in PARTITIONS {
            for passes in [1, 3] {
                let more = format!(", passes: {passes}, decision: {policy}");
                let result = run(&yaml(partition, "epsilon: 0.8", &more));
                let said = format!("{policy}, {partition}, {passes} passes");
                for (stated, booked) in pairs(&result) {
                    assert!(stated >= booked * (1.0 - 1e-9), "{said}: {stated} below {booked}");
                }
                let last = of(&result.observed, Observer::FinalModel, Piece::Features);
                assert_eq!(last == 0.0, policy == "always-local", "{said}: {last}");
                let column = at_the_end(&result, Metric::Epsilon);
                for (repeat, epsilon) in result.repeats.iter().zip(column) {
                    let peers = repeat.epsilons.iter().fold(0.0, f64::max);
                    assert!(epsilon >= peers * (1.0 - 1e-9), "{said}: {epsilon} below {peers}");
                }
            }
        }
    }
}

/// A run that may spend so much in three passes, each of which costs ε = .8 a task at √3 the noise.
fn with_budget(epsilon: f64, more: &str) -> String {
    yaml("{ratio: [1, 5, 0, 2]}", "epsilon: 0.8", &format!(", passes: 3{more}")).replace(
        "measure: {what: [privacy, walk]}",
        &format!("measure: {{what: [privacy, walk], stop: {{epsilon: {epsilon}}}}}"),
    )
}

#[test]
fn a_budget_spent_in_a_later_pass_ends_the_run_and_is_kept() {
    let all = of(
        &run(&yaml("even", "epsilon: 0.8", ", passes: 3")).observed,
        Observer::OtherPeers,
        Piece::Features,
    );
    for share in [0.6, 0.75, 0.95] {
        for more in
            ["", ", decision: {random: {global: 0.7}}", ", decision: {periodic: {every: 2}}"]
        {
            let budget = share * all;
            let result = run(&with_budget(budget, more));
            let column = at_the_end(&result, Metric::Epsilon);
            for (repeat, epsilon) in result.repeats.iter().zip(column) {
                let booked = repeat.epsilons.iter().fold(0.0, f64::max);
                let said = format!("{share}{more}: {booked} booked, {epsilon} in the table");
                assert!(booked <= budget * (1.0 + 1e-9), "{said}, {budget}");
                assert!(epsilon >= booked * (1.0 - 1e-9), "{said}");
                if more.is_empty() {
                    assert_eq!(repeat.stop_reason, StopReason::Budget, "{said}");
                    // √k times as much noise as one pass needs: one of three is ε = .8 of three tasks,
                    // by and large, and two are 1.16 of the 1.45.
                    let allowed = if share < 0.9 { 1 } else { 2 };
                    let work = &repeat.tokens.as_ref().expect("tokens").work;
                    for (work, rows) in work.iter().zip(repeat.samples.iter()) {
                        let batches = u64::from(Cut::new(rows as usize, 3).batches());
                        assert!(work.updates <= 3 * allowed * batches, "{said}: {work:?}, {rows}");
                    }
                    assert_eq!(epsilon > 0.85, allowed > 1, "{said}: a later pass was begun");
                }
            }
            for (stated, booked) in pairs(&result) {
                assert!(stated >= booked * (1.0 - 1e-9), "{share}{more}: {stated} below {booked}");
            }
        }
    }
}

#[test]
fn a_budget_ends_the_run_at_the_same_place_on_every_engine() {
    for more in ["", ", decision: {random: {global: 0.7}}"] {
        let text = with_budget(1.0, more);
        let on = |engine: EngineKind, workers: Option<usize>| -> RunResult {
            let checked = checked(&text).on_engine(engine);
            let resolved = resolve(&checked).unwrap();
            let never = AtomicBool::new(false);
            execute(&checked, resolved, Options { workers }, None, &never, &mut |_| {}).unwrap()
        };
        let expected = on(EngineKind::Simulated, Some(1));
        for workers in [2, 3] {
            let found = on(EngineKind::Simulated, Some(workers));
            assert_eq!(found.fingerprint, expected.fingerprint, "{workers} workers{more}");
        }
        for _ in 0..10 {
            let found = on(EngineKind::Threads, None);
            assert_eq!(found.fingerprint, expected.fingerprint, "threads{more}");
        }
    }
}

#[test]
fn the_loss_grows_no_faster_than_it_is_stated_to() {
    // The centre of a star is visited every other time: it is through with all passes long before the
    // token is.
    for (walk, graph) in [
        ("simple", "{star: {peers: 6}}"),
        ("uniform", "{ring: {peers: 6}}"),
        ("metropolis", "{path: {peers: 6}}"),
    ] {
        for more in ["", ", updates: 20", ", decision: {random: {global: 0.8}}"] {
            let text = yaml("even", "epsilon: 0.8", &format!(", passes: 4{more}"))
                .replace("walk: simple", &format!("walk: {walk}"))
                .replace("{ring: {peers: 4}}", graph)
                .replace("[privacy, walk]", "[privacy, walk], every: 1");
            let result = run(&text);
            let column = result.metrics.iter().position(|&m| m == Metric::Epsilon).unwrap();
            let growth = &result.statement.growth;
            assert!(growth.len() > 1 && growth.is_sorted_by(|a, b| a.1 <= b.1), "{growth:?}");
            for row in result.repeats.iter().flat_map(|repeat| &repeat.rows) {
                // What is stated of a later update holds at this one.
                let stated = growth.iter().find(|(update, _)| *update >= row.round.0);
                let (update, stated) = stated.unwrap_or_else(|| panic!("{growth:?}, {row:?}"));
                let found = row.values[column];
                assert!(
                    found <= stated.0 * (1.0 + 1e-9),
                    "{walk}{more}: {found} at {}, {stated} stated at {update}",
                    row.round.0
                );
            }
        }
    }
}
