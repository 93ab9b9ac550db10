//! What is promised of parties around a server, and what is booked.

use std::path::Path;

use hushmesh::experiment::{RunResult, Statement, promise, resolve};
use hushmesh::privacy::{Observer, Piece, Spent, gaussian_epsilon, gaussian_mu};
use hushmesh::scenario::Checked;
use hushmesh::units::{Delta, Epsilon, PeerId};

use super::{close, of, run};
use crate::workbench::REPOSITORY;

const DELTA: f64 = 1e-5;
const EPSILON: f64 = 0.7;

/// A graph, who of its peers has no rows, how many have, the root, and another graph on its peers.
struct Place {
    graph: &'static str,
    without: &'static str,
    owners: usize,
    peers: u32,
    root: u32,
    other: &'static str,
}

const PLACES: [Place; 5] = [
    Place {
        graph: "{star: {peers: 5}}",
        without: "[0]",
        owners: 4,
        peers: 5,
        root: 0,
        other: "{ring: {peers: 5}}",
    },
    Place {
        graph: "{ring: {peers: 5}}",
        without: "[]",
        owners: 5,
        peers: 5,
        root: 0,
        other: "{star: {peers: 5}}",
    },
    Place {
        graph: "{grid: {rows: 2, columns: 3}}",
        without: "[]",
        owners: 6,
        peers: 6,
        root: 5,
        other: "{path: {peers: 6}}",
    },
    Place {
        graph: "{path: {peers: 4}}",
        without: "[2]",
        owners: 3,
        peers: 4,
        root: 2,
        other: "{complete: {peers: 4}}",
    },
    Place {
        graph: "{path: {peers: 1}}",
        without: "[]",
        owners: 1,
        peers: 1,
        root: 0,
        other: "{path: {peers: 1}}",
    },
];

impl Place {
    fn partitions(&self) -> Vec<String> {
        let mut partitions = [
            "even",
            "{two-groups: {unevenness: 3}}",
            "{random-sizes: {floor: 0.2}}",
            "replicated",
            "{with-repetition: {rows: 4}}",
        ]
        .map(str::to_string)
        .to_vec();
        if self.owners > 1 {
            let weights: Vec<String> = (0..self.owners).map(|i| i.to_string()).collect();
            partitions.push(format!("{{ratio: [{}]}}", weights.join(", ")));
        }
        partitions
    }

    /// Masks and colluders, as they are written.
    fn masks(&self) -> Vec<String> {
        let graph = format!("{{graph: {}}}", self.other);
        let mut sums = Vec::new();
        for masks in ["none", "wires", "all-pairs", graph.as_str()] {
            // A partition may leave one of the owners without samples.
            for colluders in 0..(self.owners - usize::from(self.owners > 1)).clamp(1, 3) {
                sums.push(format!(
                    "{{root: {}, masks: {masks}, colluders: {colluders}}}",
                    self.root
                ));
            }
        }
        sums
    }

    /// 24 samples in two dimensions, on the unit circle.
    fn yaml(&self, partition: &str, loss: &str, protocol: &str) -> String {
        let repeat = if partition.contains("random") { 2 } else { 1 };
        format!(
            "name: promise\nseed: 3\nrepeat: {repeat}\ntopology: {}\n\
             data: {{source: {{linear-logistic: {{dimension: 2, norm: 2}}}}, \
             samples: {{total: 24}}, partition: {partition}, without: {}}}\n\
             model: {{loss: {loss}, regularisation: 0.5}}\nprivacy: {{delta: {DELTA:e}}}\n\
             protocol: {{{protocol}}}\nnetwork: {{workers: 1}}\nmeasure: {{what: [privacy]}}\n",
            self.graph, self.without
        )
    }
}

/// What is stated of everybody but the own server is what is booked.
#[track_caller]
fn agrees(yaml: &str) -> RunResult {
    let result = run(yaml);
    for observer in Observer::ALL.into_iter().filter(|&one| one != Observer::OwnServer) {
        for piece in [Piece::Label, Piece::Features] {
            let stated = of(&result.statement.claims, observer, piece);
            let booked = of(&result.observed, observer, piece);
            assert!(
                close(stated, booked, 1e-6),
                "{observer:?}, {piece:?}: {stated} stated, {booked} booked\n{yaml}"
            );
        }
    }
    result
}

/// ε of a record against a reader of the last model.
fn reader(result: &RunResult) -> f64 {
    of(&result.observed, Observer::FinalModel, Piece::Features)
}

fn repeats_rows(partition: &str) -> bool {
    partition == "replicated" || partition.contains("repetition")
}

/// `exact`: a reader gets all of ε; else at most that.
#[track_caller]
fn keeps_the_promise(result: &RunResult, exact: bool, said: &str) {
    let found = reader(result);
    assert!(found > 0.0 && found <= EPSILON * (1.0 + 1e-6), "{said}: {found}");
    if exact {
        assert!(close(found, EPSILON, 1e-6), "{said}: {found}");
    }
}

const NOISES: [&str; 2] = ["epsilon: 0.7", "epsilon: 0.7, constant: 8"];

#[test]
fn parties_with_noise_of_their_own_are_booked_as_stated() {
    for place in &PLACES {
        for variant in ["published", "local", "local-output", "central"] {
            for noise in NOISES {
                for weights in ["samples", "uniform"] {
                    for partition in place.partitions() {
                        let protocol = format!(
                            "weighted-erm: {{variant: {variant}, steps: 3, step: 0.5, \
                             weights: {weights}, noise: {{{noise}}}, sum: {{root: {}}}}}",
                            place.root
                        );
                        let text = place.yaml(&partition, "logistic", &protocol);
                        let result = agrees(&text);
                        let alone = place.owners == 1;
                        if !repeats_rows(&partition) && (variant != "published" || alone) {
                            keeps_the_promise(&result, noise == NOISES[0], &text);
                        }
                        let published = result.statement.published;
                        assert_eq!(published.is_some(), variant == "published");
                        if let Some(paper) = published {
                            assert_eq!(paper.claimed.0, EPSILON);
                            // What is proved is what is stated of readers, copies counted.
                            let stated = paper.proved.0;
                            assert!(close(stated, reader(&result), 1e-6), "{paper:?}\n{text}");
                            let known = paper.worst_known.0 * (1.0 + 1e-9);
                            assert!(paper.equal_curvature.0 <= known, "{paper:?}\n{text}");
                            let proved = paper.proved.0 * (1.0 + 1e-9);
                            assert!(paper.worst_known.0 <= proved, "{paper:?}\n{text}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn noise_that_all_parties_know_is_booked_as_none() {
    for place in &PLACES {
        for protocol in [
            "weighted-erm: {variant: published, steps: 2, step: 0.5, \
             noise: {epsilon: 0.7, shared: true}}",
            "federated: {variant: published, steps: 2, communications: 2, \
             noise: {epsilon: 0.7, shared: true}}",
        ] {
            let result = agrees(&place.yaml("even", "logistic", protocol));
            assert_eq!(reader(&result), f64::INFINITY);
            let published = result.statement.published.expect("what the paper claims");
            assert!(published.shared && published.proved == Epsilon::UNBOUNDED);
        }
    }
}

#[test]
fn parties_with_noise_in_their_sums_are_booked_as_stated() {
    for place in &PLACES {
        for variant in ["masked-output", "masked-gradient", "jayaraman"] {
            for partition in place.partitions() {
                for sum in place.masks() {
                    // Every other of the rest in turn: all pairs of values come up.
                    for (noise, weights) in
                        [(NOISES[0], "samples"), (NOISES[1], "uniform"), (NOISES[0], "uniform")]
                    {
                        let protocol = format!(
                            "weighted-erm: {{variant: {variant}, steps: 3, step: 0.5, \
                             weights: {weights}, noise: {{{noise}}}, sum: {sum}}}"
                        );
                        let text = place.yaml(&partition, "logistic", &protocol);
                        let result = agrees(&text);
                        if !repeats_rows(&partition) {
                            let exact = noise == NOISES[0] && sum.contains("colluders: 0");
                            keeps_the_promise(&result, exact, &text);
                        }
                        assert_eq!(result.statement.published, None);
                    }
                }
            }
        }
    }
}

#[test]
fn federated_parties_are_booked_as_stated() {
    for place in &PLACES {
        for partition in place.partitions() {
            for total in ["", ", total_steps: 5"] {
                for (noise, weights) in [(NOISES[0], "samples"), (NOISES[1], "uniform")] {
                    let with = |variant: &str, sum: &str| {
                        let protocol = format!(
                            "federated: {{variant: {variant}, steps: 2, communications: 3{total}, \
                             weights: {weights}, noise: {{{noise}}}, sum: {sum}}}"
                        );
                        place.yaml(&partition, "logistic", &protocol)
                    };
                    let result = agrees(&with("published", &format!("{{root: {}}}", place.root)));
                    assert!(result.statement.published.is_some());
                    for sum in place.masks() {
                        let text = with("masked", &sum);
                        let result = agrees(&text);
                        if !repeats_rows(&partition) {
                            let exact = noise == NOISES[0] && sum.contains("colluders: 0");
                            keeps_the_promise(&result, exact, &text);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn parties_that_gossip_are_booked_as_stated() {
    for place in &PLACES {
        for protocol in [
            "weighted-erm: {variant: published, steps: 2, step: 0.5, noise: {epsilon: 0.7}",
            "weighted-erm: {variant: local, steps: 2, step: 0.5, noise: {epsilon: 0.7}",
            "weighted-erm: {variant: local-output, steps: 2, step: 0.5, noise: {epsilon: 0.7}",
            "federated: {variant: published, steps: 2, communications: 2, noise: {epsilon: 0.7}",
        ] {
            let gossip = format!("{protocol}, sum: {{over: {{gossip: {{exchanges: 3}}}}}}}}");
            let tree = format!("{protocol}}}");
            for partition in place.partitions() {
                let gossip = agrees(&place.yaml(&partition, "logistic", &gossip));
                let tree = agrees(&place.yaml(&partition, "logistic", &tree));
                assert!(close(reader(&gossip), reader(&tree), 1e-12), "{protocol}");
            }
        }
    }
}

#[test]
fn answers_to_queries_are_booked_as_stated() {
    for place in &PLACES {
        let list = format!("{:?}", [0.7, 0.2, 0.4, 0.1, 0.6, 0.3].split_at(place.peers as usize).0);
        for partition in place.partitions() {
            for (loss, more) in [
                ("logistic", ""),
                ("logistic", ", residual: 0.3"),
                ("hinge", ""),
                ("squared", ", residual: 2"),
            ] {
                for (mechanism, epsilon, more) in [
                    ("laplace", "0.7", format!("{more}, spare_query: true")),
                    ("laplace", list.as_str(), format!("{more}, weights: precision, box: 3")),
                    ("gaussian", list.as_str(), more.to_string()),
                    ("gaussian", "0.7", format!("{more}, learners: 2, trajectory: separate")),
                    ("laplace", "0.7", format!("{more}, learners: 3, trajectory: separate")),
                    ("gaussian", "0.7", format!("{more}, learner_noise: false")),
                ] {
                    let several = more.contains("learners");
                    if several && place.peers < 3 {
                        continue;
                    }
                    let protocol = format!(
                        "gradient-queries: {{updates: 3, algorithm: {{averaged: 0.5}}, \
                         noise: {{mechanism: {mechanism}, epsilon: {epsilon}}}, \
                         sum: {{root: {}}}{more}}}",
                        place.root
                    );
                    let text = place.yaml(&partition, loss, &protocol);
                    let result = agrees(&text);
                    let leaks = more.contains("learner_noise") && place.without == "[]";
                    let holds = result.repeats[0].samples.get(place.root as usize) > Some(0);
                    if leaks && holds {
                        assert_eq!(reader(&result), f64::INFINITY, "{text}");
                    } else if !repeats_rows(&partition) && !several {
                        keeps_the_promise(&result, false, &text);
                        // Each owner is held to its own.
                        let own = [0.7, 0.2, 0.4, 0.1, 0.6, 0.3];
                        for repeat in &result.repeats {
                            for (l, found) in repeat.epsilons.iter().enumerate() {
                                let asked = if epsilon == "0.7" { 0.7 } else { own[l] };
                                assert!(found <= asked * (1.0 + 1e-6), "{l}: {found}\n{text}");
                                if mechanism == "gaussian" && repeat.samples.get(l) > Some(0) {
                                    assert!(close(found, asked, 1e-6), "{l}: {found}\n{text}");
                                }
                            }
                        }
                    } else if several && !repeats_rows(&partition) {
                        let most = EPSILON * if mechanism == "laplace" { 3.0 } else { 2.0 };
                        assert!(reader(&result) <= most * (1.0 + 1e-6), "{text}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_sent_without_noise_is_protected_from_nobody() {
    for place in &PLACES {
        for protocol in [
            "weighted-erm: {variant: published, steps: 2, step: 0.5}",
            "weighted-erm: {variant: local, steps: 2, step: 0.5}",
            "weighted-erm: {variant: local-output, steps: 2, step: 0.5}",
            "weighted-erm: {variant: masked-output, steps: 2, step: 0.5}",
            "weighted-erm: {variant: masked-gradient, steps: 2, step: 0.5}",
            "weighted-erm: {variant: jayaraman, steps: 2, step: 0.5, sum: {masks: none}}",
            "weighted-erm: {variant: central, steps: 2, step: 0.5}",
            "federated: {variant: published, steps: 2, communications: 2}",
            "federated: {variant: masked, steps: 2, communications: 2}",
            "gradient-queries: {updates: 2, algorithm: {descent: {constant: 0.5}}}",
        ] {
            let result = agrees(&place.yaml("even", "logistic", protocol));
            assert!(result.observed.iter().all(|claim| claim.epsilon == Epsilon::UNBOUNDED));
        }
    }
}

/// ε at δ of Gaussian noise with this μ.
fn loss(mu: f64) -> f64 {
    gaussian_epsilon(mu, Delta(DELTA)).0
}

/// All four observers of other peers' links, by hand: neighbour, wires, all others together, reader.
#[track_caller]
fn by_hand(result: &RunResult, piece: Piece, expected: [f64; 4]) {
    let observers =
        [Observer::Neighbour, Observer::Eavesdropper, Observer::OtherPeers, Observer::FinalModel];
    for (observer, expected) in observers.into_iter().zip(expected) {
        for claims in [&result.statement.claims, &result.observed] {
            let found = of(claims, observer, piece);
            assert!(close(found, expected, 1e-6), "{observer:?}: {found}, not {expected}");
        }
    }
}

#[test]
fn noise_in_a_sum_by_hand() {
    // Four equal parties around a server, one may collude: each adds 1/3 of the variance σ², where T
    // sums with σ would cost μ. A reader sees 4/3 of it, all others together leave 1/3.
    let mu = gaussian_mu(Epsilon(EPSILON), Delta(DELTA));
    let erm = |variant: &str, masks: &str, colluders: u32| {
        format!(
            "weighted-erm: {{variant: {variant}, steps: 3, step: 0.5, noise: {{epsilon: 0.7}}, \
             sum: {{masks: {masks}, colluders: {colluders}}}}}"
        )
    };
    let [star, ring, ..] = &PLACES;
    let fed = "federated: {variant: masked, steps: 2, communications: 3, total_steps: 5, \
               noise: {epsilon: 0.7}, sum: {colluders: 1}}";
    let (reader, alone) = (mu * 0.75_f64.sqrt(), mu * 3_f64.sqrt());
    for protocol in [
        erm("masked-gradient", "all-pairs", 1),
        erm("masked-output", "all-pairs", 1),
        erm("jayaraman", "all-pairs", 1),
        fed.to_string(),
    ] {
        let result = run(&star.yaml("even", "logistic", &protocol));
        // The hub is the only neighbour, adds nothing and sees the sum of all four.
        by_hand(&result, Piece::Features, [reader, reader, alone, reader].map(loss));
        // Another label moves a logistic gradient half as far as another record.
        by_hand(&result, Piece::Label, [reader, reader, alone, reader].map(|mu| loss(0.5 * mu)));
    }
    // Masks along the wires of a star: without the hub every leaf stands alone.
    let result = run(&star.yaml("even", "logistic", &erm("masked-gradient", "wires", 1)));
    by_hand(&result, Piece::Features, [alone, reader, alone, reader].map(loss));
    let result = run(&star.yaml("even", "logistic", &erm("masked-gradient", "none", 1)));
    by_hand(&result, Piece::Features, [alone, alone, alone, reader].map(loss));
    // Five parties on a ring, none colludes: a neighbour knows its own fifth of the noise.
    let text = ring.yaml("even", "logistic", &erm("masked-gradient", "all-pairs", 0));
    let result = run(&text.replace("total: 24", "total: 25"));
    let neighbour = mu * (5.0 / 4.0_f64).sqrt();
    by_hand(&result, Piece::Features, [neighbour, mu, mu * 5_f64.sqrt(), mu].map(loss));
}

#[test]
fn uneven_parties_by_hand() {
    // n_j = 9, 9, 3, 3 around a server. σ is that of the smallest: D = 2/(4·3), which costs its records
    // μ, those of the others a third of it; the worst is told, each peer's own is in the books.
    let mu = gaussian_mu(Epsilon(EPSILON), Delta(DELTA));
    let protocol = "weighted-erm: {variant: jayaraman, steps: 3, step: 0.5, noise: {epsilon: 0.7}}";
    let result = run(&PLACES[0].yaml("{two-groups: {unevenness: 3}}", "logistic", protocol));
    assert!(result.repeats[0].samples.iter().eq([0, 9, 9, 3, 3]));
    let all = 2.0 * mu;
    by_hand(&result, Piece::Features, [mu, mu, all, mu].map(loss));
    let expected = [0.0, loss(all / 3.0), loss(all / 3.0), loss(all), loss(all)];
    for (found, expected) in result.repeats[0].epsilons.iter().zip(expected) {
        assert!(close(found, expected, 1e-6), "{found}, not {expected}");
    }
    // As published, σ is for n = 24: parties' own releases cost μ·n/n_j.
    let protocol = "weighted-erm: {variant: published, steps: 3, step: 0.5, \
                    noise: {epsilon: 0.7, constant: 8}}";
    let result = run(&PLACES[0].yaml("{two-groups: {unevenness: 3}}", "logistic", protocol));
    // σ = (D/2)√(8T ln(1/δ))/ε, so that √T·D/σ = 2ε/√(8 ln(1/δ)).
    let claimed = 2.0 * EPSILON / (8.0 * (1.0 / DELTA).ln()).sqrt();
    by_hand(&result, Piece::Features, [loss(claimed * 24.0 / 3.0); 4]);
    let published = result.statement.published.expect("what the paper claims");
    assert!(close(published.proved.0, loss(claimed * 8.0), 1e-9));
    let expected = [0.0, 24.0 / 9.0, 24.0 / 9.0, 8.0, 8.0].map(|by| loss(claimed * by));
    for (found, expected) in result.repeats[0].epsilons.iter().zip(expected) {
        assert!(close(found, expected, 1e-6), "{found}, not {expected}");
    }
}

#[test]
fn records_that_repeat_by_hand() {
    // Every party holds every record: four copies move the sum four times as far, and another party has
    // the record anyway.
    let mu = gaussian_mu(Epsilon(EPSILON), Delta(DELTA));
    let protocol = "weighted-erm: {variant: masked-gradient, steps: 3, step: 0.5, \
                    noise: {epsilon: 0.7}}";
    let result = run(&PLACES[0].yaml("replicated", "logistic", protocol));
    let reader = loss(4.0 * mu);
    by_hand(&result, Piece::Features, [f64::INFINITY, reader, f64::INFINITY, reader]);
}

#[test]
fn a_curator_by_hand() {
    let protocol = "weighted-erm: {variant: central, steps: 3, step: 0.5, noise: {epsilon: 0.7}}";
    let result = run(&PLACES[0].yaml("even", "logistic", protocol));
    let never = f64::INFINITY;
    by_hand(&result, Piece::Features, [never, never, never, EPSILON]);
}

#[test]
fn queries_by_hand() {
    let with = |mechanism: &str, more: &str| {
        let protocol = format!(
            "gradient-queries: {{updates: 4, algorithm: {{averaged: 0.5}}, \
             noise: {{mechanism: {mechanism}, epsilon: [1, 0.7, 0.2, 0.4, 0.1]}}{more}}}"
        );
        run(&PLACES[0].yaml("even", "hinge", &protocol))
    };
    // The hub has no rows, so that its ε of 1 is nobody's. Four answers of ε/4 each, of which five are
    // paid for with a spare one.
    for (more, queries) in [("", 4_u32), (", spare_query: true", 5)] {
        let result = with("laplace", more);
        let of = |epsilon: f64| {
            let each = Spent::laplace(epsilon / f64::from(queries));
            each.times(u64::from(queries)).bound(Delta(DELTA)).epsilon.0
        };
        by_hand(&result, Piece::Features, [of(0.7); 4]);
        // The hinge turns round with the label.
        by_hand(&result, Piece::Label, [of(0.7); 4]);
        let found = &result.repeats[0].epsilons;
        for (found, expected) in found.iter().zip([0.0, of(0.7), of(0.2), of(0.4), of(0.1)]) {
            assert!(close(found, expected, 1e-6), "{found}, not {expected}");
        }
    }
    by_hand(&with("gaussian", ""), Piece::Features, [0.7; 4]);
    // Two trajectories move twice as far in the 1-norm, √2 times in the 2-norm.
    let several = ", learners: 2, trajectory: separate";
    let mu = gaussian_mu(Epsilon(0.7), Delta(DELTA));
    by_hand(&with("gaussian", several), Piece::Features, [loss(2_f64.sqrt() * mu); 4]);
    let twice = Spent::laplace(2.0 * 0.7 / 4.0).times(4).bound(Delta(DELTA)).epsilon.0;
    by_hand(&with("laplace", several), Piece::Features, [twice; 4]);
}

#[test]
fn a_statement_before_the_run_is_that_of_the_run() {
    for protocol in [
        "weighted-erm: {variant: published, steps: 3, step: 0.5, noise: {epsilon: 0.7}}",
        "weighted-erm: {variant: masked-gradient, steps: 3, step: 0.5, noise: {epsilon: 0.7}, \
         sum: {masks: {graph: {erdos-renyi: {peers: 5, probability: 0.6}}}}}",
        "federated: {variant: masked, communications: 3, noise: {epsilon: 0.7}}",
        "gradient-queries: {updates: 3, algorithm: {averaged: 0.5}, \
         noise: {mechanism: laplace, epsilon: 0.7}}",
    ] {
        for partition in ["even", "{random-sizes: {floor: 0.2}}", "{ratio: [1, 0, 2, 3]}"] {
            let text = PLACES[0].yaml(partition, "logistic", protocol);
            let checked = super::checked(&text);
            let before = promise(&checked, &resolve(&checked).unwrap()).unwrap();
            assert_eq!(before, agrees(&text).statement, "{text}");
        }
    }
}

/// What is stated of the shipped scenario with other numbers.
fn published(set: &[&str]) -> Statement {
    let path = Path::new(REPOSITORY).join("scenarios/weighted-erm/published.yaml");
    let set: Vec<String> = set.iter().map(ToString::to_string).collect();
    let checked = Checked::load(&path, &set).unwrap();
    promise(&checked, &resolve(&checked).unwrap()).unwrap()
}

#[test]
fn the_published_noise_gives_less_than_the_paper_claims() {
    for (set, claimed, [equal, worst, own]) in [
        (&[][..], 1.0, [(2.40, 0.005), (6.69, 0.005), (8.0, 0.05)]),
        (
            &["protocol.weighted-erm.noise={epsilon: 0.25, constant: 8}"],
            0.25,
            [(0.52, 0.005), (1.38, 0.005), (1.63, 0.005)],
        ),
        (
            &["topology={star: {peers: 33}}", "protocol.weighted-erm.steps=50"],
            1.0,
            [(5.30, 0.005), (35.3, 0.05), (49.9, 0.05)],
        ),
    ] {
        let statement = published(&[&["data.samples={per-peer: 50}"], set].concat());
        let found = statement.published.expect("what the paper claims");
        assert_eq!(found.claimed.0, claimed);
        assert!(found.differs() && !found.shared);
        for ((expected, within), found) in
            [(equal, found.equal_curvature), (worst, found.worst_known), (own, found.proved)]
        {
            assert!((found.0 - expected).abs() <= within, "{set:?}: {found}, not {expected}");
        }
    }
}

#[test]
fn one_party_alone_gets_what_the_paper_claims() {
    let set = ["topology={star: {peers: 2}}", "data.samples={per-peer: 50}"];
    let exact = "protocol.weighted-erm.noise={epsilon: 1}";
    let paper = published(&[&set[..], &[exact]].concat()).published.expect("its claim");
    for found in [paper.equal_curvature, paper.worst_known, paper.proved] {
        assert!(close(found.0, paper.claimed.0, 1e-6), "{found}");
    }
    // c = 8 is on the safe side.
    assert!(!published(&set).published.expect("its claim").differs());
}

/// The graph of seeds is drawn once: what is stated of it holds in all repeats.
#[test]
fn a_random_mask_graph_is_the_same_in_all_repeats() {
    for seed in 1..=4 {
        agrees(&format!(
            "name: masks\nseed: {seed}\nrepeat: 4\ntopology: {{complete: {{peers: 10}}}}\n\
             data: {{source: {{linear-logistic: {{dimension: 2, norm: 2}}}}, samples: {{total: 40}}}}\n\
             model: {{loss: logistic, regularisation: 0.5}}\nmeasure: {{what: [privacy]}}\n\
             protocol: {{weighted-erm: {{variant: masked-gradient, steps: 2, step: 0.5, \
             noise: {{epsilon: 1}}, \
             sum: {{masks: {{graph: {{erdos-renyi: {{peers: 10, probability: 0.3}}}}}}}}}}}}\n"
        ));
    }
}

/// Who learns how much of whom is told where the formula holds, and nowhere else.
#[test]
fn pairs_are_told_of_one_average_with_noise_of_everybody_alone() {
    let told = |partition: &str, protocol: &str| {
        let result = run(&format!(
            "name: pairs\nseed: 2\ntopology: {{ring: {{peers: 6}}}}\n\
             data: {{source: {{linear-logistic: {{dimension: 2, norm: 2}}}}, samples: {{total: 60}}, \
             partition: {partition}}}\n\
             model: {{loss: logistic, regularisation: 0.6}}\nmeasure: {{what: [privacy]}}\n\
             protocol: {{{protocol}, sum: {{over: {{gossip: {{exchanges: 3}}}}}}}}}}\n"
        ));
        result.pairwise
    };
    let output = "weighted-erm: {variant: local-output, steps: 4, step: 1, noise: {epsilon: 1}";
    let pairs = told("even", output).expect("one average");
    // A neighbour sees the noisy model itself.
    let mu = gaussian_mu(Epsilon(1.0), Delta(DELTA));
    assert!(close(pairs.mu(PeerId(0), PeerId(1)), mu, 1e-9));
    assert!(pairs.reconstructs(PeerId(0), PeerId(1)));
    assert_eq!(told("replicated", output), None, "another peer has the record");
    let queries = |updates: u32, more: &str| {
        format!(
            "gradient-queries: {{updates: {updates}, algorithm: {{averaged: 1}}, \
             noise: {{mechanism: gaussian, epsilon: 1}}{more}"
        )
    };
    assert!(told("even", &queries(1, "")).is_some());
    for (updates, more) in [
        (2, ""),
        (1, ", learner_noise: false"),
        (1, ", learners: 3, trajectory: separate"),
        (1, ", spare_query: true"),
    ] {
        assert_eq!(told("even", &queries(updates, more)), None, "{updates} {more}");
    }
}
