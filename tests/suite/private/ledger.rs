//! The privacy statement, from the scenario, and the ledger, from what was sent, say the same.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hushmesh::experiment::{Claim, Options, RunResult, execute, promise, resolve};
use hushmesh::measure::Metric;
use hushmesh::network::{
    self, Context, Engine, Flow, Links, NetworkConfig, Peer, Probe, Received, Schedule, Snapshot,
};
use hushmesh::privacy::{
    Ground, Mechanism, ObjectiveNoise, Observer, Piece, Radius, Records, Relation, Release,
    Sensitivity, gaussian_epsilon, noisy,
};
use hushmesh::random::{Draws, Purpose, Streams};
use hushmesh::topology::path;
use hushmesh::units::{Delta, PeerId, Round, Seed};
use proptest::prelude::*;

use super::{checked, run, series};
use crate::workbench::{SCENARIO, Workbench};

/// A small scenario with all that goes into a sensitivity.
#[derive(Clone, Debug)]
struct Case {
    topology: String,
    /// The weights of a partition by ratio.
    weights: Vec<u32>,
    source: &'static str,
    clip: Option<f64>,
    intercept: bool,
    labels: Option<String>,
    plain: bool,
    deviation: String,
    decay: f64,
    rounds: u32,
    penalty: f64,
    regularisation: f64,
}

impl Case {
    /// Whether levels are drawn, so that what is promised of them is the worst of their law.
    fn draws_levels(&self) -> bool {
        self.labels.as_ref().is_some_and(|labels| labels.contains("drawn"))
    }

    fn yaml(&self) -> String {
        let clip = self.clip.map_or(String::new(), |norm| format!("clip: {{norm: {norm}}}"));
        let labels = self.labels.as_ref().map_or(String::new(), |levels| {
            let loss = if self.plain { "plain" } else { "unbiased" };
            format!(", labels: {{epsilon: {levels}, loss: {loss}}}")
        });
        format!(
            "name: case\nseed: 3\ntopology: {}\n\
             data: {{source: {}, samples: {{total: {}}}, preprocess: [{clip}], \
             partition: {{ratio: {:?}}}}}\n\
             model: {{loss: logistic, regularisation: {}, intercept: {}}}\n\
             privacy: {{delta: 1.0e-6{labels}}}\n\
             protocol: {{admm: {{penalty: {}, rounds: {}, \
             primal_noise: {{deviation: {}, decay: {}}}}}}}\n\
             measure: {{what: [privacy], every: 1000}}\n",
            self.topology,
            self.source,
            6 * self.weights.len(),
            self.weights,
            self.regularisation,
            self.intercept,
            self.penalty,
            self.rounds,
            self.deviation,
            self.decay,
        )
    }
}

fn graph() -> impl Strategy<Value = (String, usize)> {
    prop_oneof![
        (2_usize..9).prop_map(|n| (format!("{{path: {{peers: {n}}}}}"), n)),
        (3_usize..9).prop_map(|n| (format!("{{ring: {{peers: {n}}}}}"), n)),
        (2_usize..9).prop_map(|n| (format!("{{star: {{peers: {n}}}}}"), n)),
        (2_usize..7).prop_map(|n| (format!("{{complete: {{peers: {n}}}}}"), n)),
        (4_usize..9)
            .prop_map(|n| (format!("{{erdos-renyi: {{peers: {n}, probability: 0.6}}}}"), n)),
    ]
}

fn levels(n: usize) -> impl Strategy<Value = String> {
    prop_oneof![
        (0.05..3.0).prop_map(|level| format!("{level}")),
        prop::collection::vec(0.05..3.0, n).prop_map(|each| format!("{{per-peer: {each:?}}}")),
        (0.05..1.0, 1.1..3.0).prop_map(|(low, high)| format!(
            "{{drawn: {{uniform: {{low: {low}, high: {high}}}}}}}"
        )),
        prop::collection::vec(0.05..3.0, 3)
            .prop_map(|some| format!("{{drawn: {{choice: {some:?}}}}}")),
    ]
}

fn deviation(n: usize) -> impl Strategy<Value = String> {
    // A peer without noise now and then.
    let each = prop_oneof![1 => Just(0.0), 12 => 0.05..5.0];
    prop_oneof![
        (0.05..5.0).prop_map(|same| format!("{same}")),
        prop::collection::vec(each, n).prop_map(|each| format!("{each:?}")),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    graph().prop_flat_map(|(topology, n)| {
        let source = prop_oneof![
            1 => Just("twonorm"),
            2 => Just("{linear-logistic: {dimension: 3, norm: 4}}"),
        ];
        let clip = prop_oneof![
            1 => Just(None),
            6 => prop::sample::select(vec![0.3, 1.0, 2.5, 6.0]).prop_map(Some),
        ];
        let data = (prop::collection::vec(0_u32..4, n), source, clip, any::<bool>());
        let users = (prop::option::of(levels(n)), any::<bool>());
        let decay = prop_oneof![Just(1.0), 0.5..1.0];
        let noise = (deviation(n), decay, 1_u32..31);
        (Just(topology), data, users, noise, 0.02..2.0, 0.1..4.0).prop_map(
            |(topology, data, users, noise, penalty, regularisation)| {
                let (mut weights, source, clip, intercept) = data;
                if weights.iter().all(|&weight| weight == 0) {
                    weights[0] = 1;
                }
                let ((labels, plain), (deviation, decay, rounds)) = (users, noise);
                Case {
                    topology,
                    weights,
                    source,
                    clip,
                    intercept,
                    labels,
                    plain,
                    deviation,
                    decay,
                    rounds,
                    penalty,
                    regularisation,
                }
            },
        )
    })
}

fn agrees(stated: f64, booked: f64) -> bool {
    stated == booked || (stated - booked).abs() <= 1e-9 * stated + 1e-12
}

fn epsilon(claims: &[Claim], observer: Observer, piece: Piece) -> f64 {
    let found = claims.iter().find(|claim| (claim.observer, claim.piece) == (observer, piece));
    found.expect("a claim for every observer and piece").epsilon.0
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 250, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_booked_is_what_was_promised(case in case()) {
        let result = run(&case.yaml());
        prop_assert_eq!(result.repeats[0].rows.last().unwrap().round, Round(case.rounds));
        let booked = result.repeats[0].observed(Delta(1e-6));
        prop_assert_eq!(booked.len(), 10);
        for Claim { observer, piece, epsilon: stated, pure, .. } in &result.statement.claims {
            let (stated, found) = (stated.0, epsilon(&booked, *observer, *piece));
            prop_assert!(!stated.is_nan() && !found.is_nan());
            if case.draws_levels() {
                prop_assert!(
                    found <= stated || agrees(stated, found),
                    "{observer}, {piece}: stated {stated}, booked {found}"
                );
            } else {
                prop_assert!(
                    agrees(stated, found),
                    "{observer}, {piece}: stated {stated}, booked {found}"
                );
                let same = |claim: &&Claim| (claim.observer, claim.piece) == (*observer, *piece);
                prop_assert_eq!(booked.iter().find(same).unwrap().pure, *pure);
            }
        }
    }
}

/// Three peers in a row with 2, 4 and 6 samples; the one in the middle has two neighbours.
const ROW_OF_THREE: &str = "\
name: by hand
seed: 1
topology: {path: {peers: 3}}
data: {source: twonorm, samples: {total: 12}, preprocess: [clip: {norm: 2}], \
partition: {ratio: [1, 2, 3]}}
model: {loss: logistic, regularisation: 0.6}
privacy: {delta: 1.0e-5}
protocol: {admm: {penalty: 0.5, rounds: 6, slack: 0, primal_noise: {deviation: [3, 1, 2], decay: 0.5}}}
measure: {what: [privacy]}
";

#[test]
fn a_row_of_three_costs_what_is_worked_out_by_hand() {
    let result = run(ROW_OF_THREE);
    assert!(result.repeats[0].samples.iter().eq([2, 4, 6]));
    // Δ = (2B/m + 2·1e-10)/(a/n + 2β|N|) with B = 2, a/n = .2, β = .5; over V.
    let moves = |m: f64, degree: f64| (4.0 / m + 2e-10) / (0.2 + degree);
    let ratios = [moves(2.0, 1.0) / 3.0, moves(4.0, 2.0) / 1.0, moves(6.0, 1.0) / 2.0];
    let by_row = series(&result, 0, Metric::Epsilon);
    for (t, &found) in by_row.iter().enumerate() {
        // Σ ρ^{−k} over the rounds so far: 1, 3, 7, …
        let weight = f64::from((2 << t) - 1);
        let of = |ratio: f64| gaussian_epsilon(ratio * weight.sqrt(), Delta(1e-5)).0;
        assert!(agrees(of(ratios[0].max(ratios[1]).max(ratios[2])), found), "round {}", t + 1);
        if t + 1 == by_row.len() {
            let of_each = ratios.map(of);
            let booked = &result.repeats[0].epsilons;
            assert!(of_each.iter().zip(booked.iter()).all(|(&a, b)| agrees(a, b)), "{booked:?}");
            // A label alone moves half as far.
            let label = series(&result, 0, Metric::EpsilonLabels)[t];
            let half = |m: f64, degree: f64| (2.0 / m + 2e-10) / (0.2 + degree);
            let worst = (half(2.0, 1.0) / 3.0).max(half(4.0, 2.0)).max(half(6.0, 1.0) / 2.0);
            let expected = gaussian_epsilon(worst * weight.sqrt(), Delta(1e-5)).0;
            assert!(agrees(expected, label), "{expected} {label}");
        }
    }
    assert!(by_row.is_sorted() && by_row[0] > 0.0 && by_row[5].is_finite());
}

/// (label, record) against all other peers together, as stated and as booked.
fn against_the_others(result: &RunResult) -> [(f64, f64); 2] {
    let booked = result.repeats[0].observed(result.scenario.privacy.delta);
    [Piece::Label, Piece::Features].map(|piece| {
        let of = |claims| epsilon(claims, Observer::OtherPeers, piece);
        (of(&result.statement.claims), of(&booked))
    })
}

#[test]
fn without_noise_or_a_bound_there_is_no_promise() {
    let infinite = (f64::INFINITY, f64::INFINITY);
    let noise = ", primal_noise: {deviation: [3, 1, 2], decay: 0.5}";
    let objective = ", objective_noise: {gaussian: {deviation: 5}}";
    let regression = ROW_OF_THREE
        .replace("twonorm", "{linear-regression: {dimension: 2, norm: 1, noise: 0.1, bound: 2}}")
        .replace("logistic", "squared");
    for (what, yaml) in [
        ("no primal noise", ROW_OF_THREE.replace(noise, "")),
        ("objective noise alone", ROW_OF_THREE.replace(noise, objective)),
        ("no clip", ROW_OF_THREE.replace("clip: {norm: 2}", "")),
        ("a bound that scaling undoes", ROW_OF_THREE.replace("norm: 2}", "norm: 2}, standardise")),
        ("squared loss", regression),
        ("one peer without noise", ROW_OF_THREE.replace("[3, 1, 2]", "[3, 1, 0]")),
    ] {
        assert_ne!(yaml, ROW_OF_THREE, "{what}");
        assert_eq!(against_the_others(&run(&yaml)), [infinite, infinite], "{what}");
        if !what.contains("squared") {
            // The users' own protection stays.
            let labels = yaml.replace("delta: 1.0e-5", "delta: 1.0e-5, labels: {epsilon: 0.7}");
            let found = against_the_others(&run(&labels));
            assert_eq!(found, [(0.7, 0.7), infinite], "{what}, randomised labels");
        }
    }
}

#[test]
fn a_peer_without_samples_neither_costs_nor_spoils_anything() {
    let yaml = ROW_OF_THREE.replace("[1, 2, 3]", "[1, 0, 3]");
    let with_noise = against_the_others(&run(&yaml));
    let without = against_the_others(&run(&yaml.replace("[3, 1, 2]", "[3, 0, 2]")));
    assert_eq!(with_noise, without);
    assert!(with_noise[1].0.is_finite() && agrees(with_noise[1].0, with_noise[1].1));
    // Nor does the level that nobody uses.
    let levels = "delta: 1.0e-5, labels: {epsilon: {per-peer: [0.5, 9, 0.25]}}";
    let result = run(&yaml.replace("delta: 1.0e-5", levels));
    let claims = [&result.statement.claims, &result.observed];
    assert_eq!(claims.map(|of| epsilon(of, Observer::OwnServer, Piece::Label)), [0.5, 0.5]);
}

#[test]
fn copies_of_a_record_are_booked_as_a_group_and_promised_nothing() {
    let repetition = "{with-repetition: {rows: 8}}";
    let result = run(&ROW_OF_THREE.replace("{ratio: [1, 2, 3]}", repetition));
    let copies = result.repeats[0].multiplicity;
    assert!(copies > 1, "24 draws of 12 rows");
    let moves = |degree: f64| copies as f64 * (4.0 / 8.0 + 2e-10) / (0.2 + degree);
    let worst = (moves(1.0) / 3.0).max(moves(2.0)).max(moves(1.0) / 2.0);
    let expected = gaussian_epsilon(worst * 63_f64.sqrt(), Delta(1e-5)).0;
    let claims = result.repeats[0].observed(Delta(1e-5));
    let booked = epsilon(&claims, Observer::Eavesdropper, Piece::Features);
    assert!(agrees(expected, booked), "{expected} {booked}");
    // One of the other peers may have the very record.
    let [_, (stated, booked)] = against_the_others(&result);
    assert_eq!((stated, booked), (f64::INFINITY, f64::INFINITY));
    assert!(series(&result, 0, Metric::Epsilon).iter().all(|&epsilon| epsilon == f64::INFINITY));
    // Its label too, unless the user's own answer is all that anybody has of it.
    let [(stated, booked), _] = against_the_others(&result);
    assert_eq!((stated, booked), (f64::INFINITY, f64::INFINITY));
    let levels = "delta: 1.0e-5, labels: {epsilon: 30}";
    let yaml = ROW_OF_THREE.replace("{ratio: [1, 2, 3]}", repetition);
    let answered =
        run(&yaml.replace("delta: 1.0e-5", levels).replace("[3, 1, 2]", "[900, 900, 900]"));
    let claims = answered.repeats[0].observed(Delta(1e-5));
    assert!(epsilon(&claims, Observer::Eavesdropper, Piece::Label) < 1.0, "hidden by the noise");
    assert_eq!(epsilon(&claims, Observer::OtherPeers, Piece::Label), 30.0, "known to a holder");
}

#[test]
fn repeats_with_other_graphs_or_sizes_keep_the_promise_too() {
    // Under this seed the first graph has its most exposed peer in the middle, where it is least so.
    let repeated = ROW_OF_THREE.replace("seed: 1", "seed: 2\nrepeat: 8");
    let sizes = repeated.replace("{ratio: [1, 2, 3]}", "{dirichlet-sizes: {alpha: 0.7}}");
    let graphs = repeated
        .replace("{path: {peers: 3}}", "{erdos-renyi: {peers: 3, links: 2, resample: true}}");
    for (what, yaml) in [("sizes", sizes), ("graphs", graphs)] {
        let result = run(&yaml);
        let of_repeats = result.repeats.iter().map(|repeat| {
            epsilon(&repeat.observed(Delta(1e-5)), Observer::OtherPeers, Piece::Features)
        });
        let of_repeats: Vec<f64> = of_repeats.collect();
        let worst = of_repeats.iter().copied().fold(0.0, f64::max);
        assert!(worst > 1.001 * of_repeats[0], "{what}: the first is the worst already");
        let of = |claims| epsilon(claims, Observer::OtherPeers, Piece::Features);
        assert!(agrees(worst, of(&result.observed)), "{what}");
        assert!(agrees(of(&result.statement.claims), worst), "{what}: {:?}", result.statement);
        let growth = result.statement.growth.last().expect("a bounded loss").1.0;
        assert!(agrees(growth, worst), "{what}: {growth}, not {worst}");
        let checked = checked(&yaml);
        let before = promise(&checked, &resolve(&checked).unwrap()).unwrap();
        assert_eq!(before, result.statement, "{what}: said before the run");
    }
}

#[test]
fn a_run_interrupted_before_it_began_has_promised_the_same() {
    let labels = "delta: 1.0e-5, labels: {epsilon: 0.7}";
    let yaml = ROW_OF_THREE.replace("delta: 1.0e-5", labels);
    let checked = checked(&yaml);
    let resolved = resolve(&checked).unwrap();
    let at_once = AtomicBool::new(true);
    let options = Options::default();
    let result = execute(&checked, resolved, options, None, &at_once, &mut |_| {}).unwrap();
    assert!(result.interrupted && result.repeats.is_empty());
    assert_eq!(result.statement, run(&yaml).statement);
}

/// A star of ten around a peer with half as many samples as the others, with noise in a ball.
fn ball_around_a_hub(partition: &str, rest: &str) -> String {
    format!(
        "name: ball\nseed: 2\ntopology: {{star: {{peers: 10}}}}\n\
         data: {{source: twonorm, samples: {{total: 380}}, preprocess: [clip: {{norm: 1}}], \
         partition: {partition}}}\n\
         model: {{loss: logistic, regularisation: 0.1}}\n\
         privacy: {{delta: 1.0e-5}}\n\
         protocol: {{admm: {{penalty: 1, rounds: 3, objective_noise: {{ball: {{radius: 60}}}}{rest}}}}}\n\
         measure: {{what: [privacy]}}\n"
    )
}

#[test]
fn one_release_holds_for_every_peer() {
    let checked =
        checked(&ball_around_a_hub("{ratio: [20, 40, 40, 40, 40, 40, 40, 40, 40, 40]}", ""));
    let stated = promise(&checked, &resolve(&checked).unwrap()).unwrap().one_release;
    // The hub's δ is the greatest, that of a leaf with its smaller q the greatest ε.
    let of = |samples: f64, degree: f64| {
        let release = Release {
            peers: 10.0,
            samples,
            dimension: 20,
            reach: 1.0,
            label_slope: 1.0,
            slope: 1.0,
            smoothness: 0.25,
            quadratic: 0.01 + 2.0 * degree,
        };
        ObjectiveNoise::Ball(Radius { radius: 60.0 }).of_record(&release, Delta(1e-5))
    };
    let (hub, leaf) = (of(20.0, 9.0), of(40.0, 1.0));
    assert!(leaf.epsilon > hub.epsilon && hub.delta > leaf.delta, "{hub:?} {leaf:?}");
    assert_eq!((stated[1].epsilon, stated[1].delta), (leaf.epsilon, hub.delta));
}

#[test]
fn one_release_is_that_of_the_worst_repeat() {
    let yaml = ball_around_a_hub("{random-sizes: {floor: 0.2}}", "");
    let of = |repeats: usize| {
        run(&format!("{yaml}repeat: {repeats}\n"))
            .statement
            .one_release
            .iter()
            .map(|g| g.delta)
            .collect()
    };
    let (one, many): (Vec<Delta>, Vec<Delta>) = (of(1), of(12));
    assert!(one.iter().zip(&many).all(|(one, many)| one < many), "{one:?} {many:?}");
}

#[test]
fn noise_that_another_run_of_the_seed_draws_too_is_declared() {
    let declared = |yaml: &str| {
        let checked = checked(yaml);
        let stated = promise(&checked, &resolve(&checked).unwrap()).unwrap();
        stated.notes.iter().any(|note| note.contains("draws the same noise"))
    };
    assert!(declared(ROW_OF_THREE));
    let clear =
        ROW_OF_THREE.replace(", slack: 0, primal_noise: {deviation: [3, 1, 2], decay: 0.5}", "");
    assert!(!declared(&clear));
}

#[test]
fn a_minimiser_that_is_not_exact_gives_nothing() {
    let partition = "{ratio: [20, 40, 40, 40, 40, 40, 40, 40, 40, 40]}";
    for (rest, exact) in [
        ("", true),
        (", tolerance: 1.0e-3", false),
        (", inexact: {share: 0.5}", false),
        (", primal_noise: {deviation: 1}", false),
        (", slack: 0, primal_noise: {deviation: 1}", true),
    ] {
        let checked = checked(&ball_around_a_hub(partition, rest));
        let stated = promise(&checked, &resolve(&checked).unwrap()).unwrap();
        let bounded = stated.one_release.iter().all(|g| g.epsilon.0.is_finite() && g.delta.0 < 1.0);
        let nothing = stated.one_release.iter().all(|g| g.ground == Ground::Nothing);
        assert_eq!((bounded, nothing), (exact, !exact), "{rest}");
        let told = stated.notes.iter().any(|note| note.starts_with("argmins are solved inexactly"));
        assert_eq!(told, !exact, "{rest}");
    }
}

#[test]
fn the_command_line_says_the_same_before_the_run_as_after_it() {
    let bench = Workbench::new();
    bench.write(SCENARIO, ROW_OF_THREE);
    let said = bench.hushmesh(&["privacy", SCENARIO, "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let stated: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    let result = run(ROW_OF_THREE);
    let claims = stated["claims"].as_array().expect("claims");
    assert_eq!(claims.len(), result.observed.len());
    for (claim, booked) in claims.iter().zip(&result.observed) {
        match claim["epsilon"].as_f64() {
            Some(epsilon) => assert!(agrees(epsilon, booked.epsilon.0), "{claim}"),
            None => assert_eq!(booked.epsilon.0, f64::INFINITY, "{claim}"),
        }
    }
}

/// A peer that sends one protected vector so many times.
struct Repeater {
    times: usize,
    draws: Draws,
}

impl Peer for Repeater {
    type Message = Arc<[f64]>;

    fn start(&mut self, context: &mut Context<'_, Arc<[f64]>>) {
        let release = noisy(
            vec![0.0; 3].into(),
            Mechanism::Gaussian { deviation: 2.0 },
            Sensitivity { label: 0.5, record: 1.0 },
            Records::All,
            Relation::ReplaceOne,
            self.draws.at(u64::from(context.me().0), 1),
        );
        for _ in 0..self.times {
            context.broadcast(release.clone());
        }
        context.deposit(Round(1), &Snapshot::of(&[0.0]));
    }

    fn receive(&mut self, _: PeerId, _: Received<'_, Arc<[f64]>>, _: &mut Context<'_, Arc<[f64]>>) {
    }

    fn waiting_for(&self) -> Vec<PeerId> {
        Vec::new()
    }
}

struct Nothing;

impl Probe for Nothing {
    type Local = ();
    type Found = ();
    fn local(&self, _: PeerId, _: &Snapshot<'_>) {}
}

#[test]
fn a_message_sent_twice_costs_more_than_one_sent_once() {
    let topology = path(3).unwrap();
    let streams = Streams::new(Seed(1), 0);
    let links = Links::new(&NetworkConfig::default(), &topology, &streams);
    for engine in [Engine::Simulated { workers: 2 }, Engine::Threads] {
        let peer = |times| Repeater {
            times,
            draws: Draws::Streams(streams.family(Purpose::PrimalNoise, 0)),
        };
        let mut rows = Vec::new();
        network::run(
            engine,
            &topology,
            &links,
            [0, 1, 2].map(peer).into(),
            (&Nothing, Schedule::of_peers(1, Round(1))),
            &AtomicBool::new(false),
            &mut |row| {
                rows.push(row);
                Flow::Continue
            },
        )
        .unwrap();
        let delta = Delta(1e-5);
        let of = |peer: usize| rows[0].exposures[peer].record.bound(delta).epsilon.0;
        assert_eq!(of(0), 0.0, "nothing sent");
        assert!(agrees(gaussian_epsilon(0.5, delta).0, of(1)), "{}", of(1));
        assert!(agrees(gaussian_epsilon(0.5 * 2_f64.sqrt(), delta).0, of(2)), "{}", of(2));
        assert!(of(2) > 1.3 * of(1));
    }
}
