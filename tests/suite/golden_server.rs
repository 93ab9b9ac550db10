//! Small examples of the three learners around a server, with every number given: samples, noise and
//! results, computed by an independent program. The real parties must reproduce them on every engine
//! and graph; their noise comes from a tape.
//!
//! The program's ridge loss (y − θᵀx)² is twice the squared loss, so that its runs are ours with a
//! double step and half of the clipping norm, the regulariser and the noise: powers of two, nothing is
//! rounded. Noise that the program subtracts stands on the tape with the other sign where ours is added.

use std::sync::Arc;

use hushmesh::learn::{Clipping, Loss, Objective, Regulariser, Samples};
use hushmesh::network::{Context, Engine};
use hushmesh::privacy::{MaskGraph, Mechanism, Pieces, PooledNoise, Sensitivity};
use hushmesh::protocol::federated::{
    FederatedLearner, FederatedParameters, FederatedVariant, Schedule,
};
use hushmesh::protocol::gradient_queries::{Algorithm, QueryLearner, QueryParameters, QueryStep};
use hushmesh::protocol::party::{Addend, Learner, Say};
use hushmesh::protocol::weighted_erm::{ErmLearner, ErmParameters, ErmVariant};
use hushmesh::protocol::{Problem, StepNoise, sample_moves};
use hushmesh::random::Draws;
use hushmesh::topology::{Topology, complete, path, ring, star};
use hushmesh::units::Round;
use serde_json::Value;

use crate::sums::{ENGINES, Stage, close, dealt, silence, tape};

const TOLERANCE: f64 = 1e-12;
const PARTIES: usize = 3;
const STEPS: u32 = 4;

fn golden() -> Value {
    serde_json::from_str(include_str!("../golden/server.json")).unwrap()
}

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number, found {value}"))
}

#[track_caller]
fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap_or_else(|| panic!("a list, found {value}")).iter().map(number).collect()
}

/// Where the three parties sit, and who is the root. Sums are exact, so it must not matter.
#[derive(Debug)]
struct Layout {
    topology: Topology,
    root: usize,
    /// The peers that are parties, in ascending order; the others have no data.
    parties: [usize; PARTIES],
}

fn layouts() -> [Layout; 4] {
    [
        // The server is the hub and has no data.
        Layout { topology: star(4).unwrap(), root: 0, parties: [1, 2, 3] },
        Layout { topology: ring(4).unwrap(), root: 2, parties: [0, 1, 3] },
        // A party is the server.
        Layout { topology: path(3).unwrap(), root: 0, parties: [0, 1, 2] },
        Layout { topology: complete(5).unwrap(), root: 1, parties: [0, 2, 4] },
    ]
}

impl Layout {
    fn stage(&self, labels: &str) -> Stage {
        let data = &golden()["data"];
        let rows: Vec<Vec<f64>> = data["X"].as_array().unwrap().iter().map(numbers).collect();
        let labels = match labels {
            "classes" => numbers(&data["y_cls"]).iter().map(|y| 2.0 * y - 1.0).collect(),
            _ => numbers(&data["y_reg"]),
        };
        let mut sizes = vec![0; self.topology.peers()];
        for (peer, size) in self.parties.iter().zip(numbers(&data["sizes"])) {
            sizes[*peer] = size as usize;
        }
        let stage = Stage::new(self.topology.clone(), dealt(&rows, labels, &sizes));
        Stage { root: self.root, ..stage }
    }

    /// Which party a peer is.
    fn party(&self, peer: usize) -> Option<usize> {
        self.parties.iter().position(|&party| party == peer)
    }

    /// A figure of each party, by peer; 0 for the others.
    fn by_peer(&self, of_party: impl Fn(usize) -> f64) -> Vec<f64> {
        let of = |peer| self.party(peer).map_or(0.0, &of_party);
        (0..self.topology.peers()).map(of).collect()
    }

    /// n_j/n.
    fn shares(&self) -> Vec<f64> {
        let sizes = numbers(&golden()["data"]["sizes"]);
        let all: f64 = sizes.iter().sum();
        self.by_peer(|party| sizes[party] / all)
    }

    /// Each party's own noise of every step, times a factor.
    fn own_noise(&self, factor: f64) -> Draws {
        let golden = golden();
        let of = |t: usize, party: usize| {
            let z = numbers(&golden["noise_party"][t - 1][party]);
            ((self.parties[party], t), z.iter().map(|z| factor * z).collect())
        };
        let steps = 1..=STEPS as usize;
        tape(steps.flat_map(|t| (0..PARTIES).map(move |party| of(t, party))))
    }

    /// The noise of every sum, in unequal parts of the parties that add up to it.
    fn noise_in_sums(&self) -> Draws {
        const PARTS: [f64; PARTIES] = [0.5, 0.875, -0.375];
        let golden = golden();
        let of = |t: usize, party: usize| {
            let z = numbers(&golden["noise_central"][t - 1]);
            ((self.parties[party], t), z.iter().map(|z| PARTS[party] * z).collect())
        };
        let steps = 1..=STEPS as usize;
        tape(steps.flat_map(|t| (0..PARTIES).map(move |party| of(t, party))))
    }
}

/// The noise that is everybody's, times a factor.
fn common_noise(factor: f64) -> Draws {
    let golden = golden();
    tape((1..=STEPS as usize).map(|t| {
        let z = numbers(&golden["noise_central"][t - 1]);
        ((0, t), z.iter().map(|z| factor * z).collect())
    }))
}

fn problem(loss: Loss, regulariser: Regulariser, clipping: Clipping) -> Problem {
    let moves = Sensitivity { label: 1.0, record: 2.0 };
    Problem { loss, regulariser, clipping, moves, unprotected: Pieces::RECORD }
}

/// The mean loss over all samples, unclipped, as the program has it.
fn value(stage: &Stage, Problem { loss, regulariser, .. }: &Problem, theta: &[f64]) -> f64 {
    let all = stage.data.everybody();
    let twice = if *loss == Loss::Squared { 2.0 } else { 1.0 };
    let mean = Objective::mean(Samples::new(all.x, all.y), *loss).value(theta);
    twice * (mean + regulariser.value(theta))
}

/// One of the problems of weighted DP-ERM.
struct Case {
    name: &'static str,
    loss: Loss,
    regulariser: Regulariser,
    clip: Option<f64>,
}

const CASES: [Case; 5] = [
    Case {
        name: "logistic_lam0.0_clipNone",
        loss: Loss::Logistic,
        regulariser: Regulariser { ridge: 0.0, sine: 0.0 },
        clip: None,
    },
    Case {
        name: "logistic_lam0.1_clipNone",
        loss: Loss::Logistic,
        regulariser: Regulariser { ridge: 0.1, sine: 0.0 },
        clip: None,
    },
    Case {
        name: "ridge_lam0.0_clip2.0",
        loss: Loss::Squared,
        regulariser: Regulariser { ridge: 0.0, sine: 0.0 },
        clip: Some(2.0),
    },
    Case {
        name: "ridge_pl_lam0.0_clip2.0",
        loss: Loss::Squared,
        regulariser: Regulariser { ridge: 0.0, sine: 1.0 },
        clip: Some(2.0),
    },
    Case {
        name: "ridge_lam0.0_clip0.3",
        loss: Loss::Squared,
        regulariser: Regulariser { ridge: 0.0, sine: 0.0 },
        clip: Some(0.3),
    },
];

impl Case {
    /// By how much ours is half of it.
    fn twice(&self) -> f64 {
        if self.loss == Loss::Squared { 2.0 } else { 1.0 }
    }

    fn labels(&self) -> &'static str {
        if self.loss == Loss::Squared { "targets" } else { "classes" }
    }

    fn problem(&self) -> Problem {
        let twice = self.twice();
        let Regulariser { ridge, sine } = self.regulariser;
        let regulariser = Regulariser { ridge: ridge / twice, sine: sine / twice };
        let clipping = self.clip.map_or(Clipping::None, |norm| Clipping::Norm(norm / twice));
        problem(self.loss, regulariser, clipping)
    }

    fn expected(&self) -> Value {
        golden()["wddp"][self.name].clone()
    }

    /// η and σ of ours.
    fn step_and_noise(&self) -> (f64, f64) {
        let expected = self.expected();
        (self.twice() * number(&expected["eta"]), number(&expected["sigma"]) / self.twice())
    }

    /// The model at the end of a variant, by weights and deviations of peers.
    fn model(
        &self,
        engine: Engine,
        stage: &Stage,
        (variant, step_noise, curator): (ErmVariant, Draws, Draws),
        weight_noise: Option<Draws>,
        (weights, noise): (&[f64], PooledNoise),
    ) -> Vec<f64> {
        let parameters = Arc::new(ErmParameters {
            problem: self.problem(),
            variant,
            steps: STEPS,
            step: self.step_and_noise().0,
            step_noise: StepNoise { draws: step_noise, shared: false },
            weight_noise: weight_noise.map(|draws| (1.0, false, draws)),
            curator,
        });
        let learner =
            |id: usize, data| ErmLearner::new(data, weights[id], noise, Arc::clone(&parameters));
        stage.play(engine, learner).model()
    }
}

#[test]
fn models_of_noisy_local_steps_and_their_averages() {
    for case in &CASES {
        let expected = case.expected();
        let (_, sigma) = case.step_and_noise();
        let noise = PooledNoise { own: sigma, all: sigma };
        for layout in layouts() {
            let stage = layout.stage(case.labels());
            let zw = numbers(&golden()["zw"]);
            let zw = tape((0..PARTIES).map(|j| ((layout.parties[j], 0), vec![zw[j]])));
            for engine in ENGINES {
                let model = |weights: &[f64], weight_noise| {
                    let own = (ErmVariant::Published, layout.own_noise(-1.0), silence());
                    case.model(engine, &stage, own, weight_noise, (weights, noise))
                };
                let what = |which: &str| format!("{} {which} {layout:?} {engine:?}", case.name);
                for party in 0..PARTIES {
                    let alone = layout.by_peer(|other| if other == party { 1.0 } else { 0.0 });
                    let expected = numbers(&expected["theta_local"][party]);
                    close(&model(&alone, None), &expected, TOLERANCE, &what("one party"));
                }
                let weighted = model(&layout.shares(), None);
                close(&weighted, &numbers(&expected["weighted"]), TOLERANCE, &what("weighted"));
                let noisy = model(&layout.shares(), Some(zw.clone()));
                close(&noisy, &numbers(&expected["weighted_zw"]), TOLERANCE, &what("weights"));
                let third = layout.by_peer(|_| 1.0 / PARTIES as f64);
                let mean = model(&third, None);
                close(&mean, &numbers(&expected["average"]), TOLERANCE, &what("average"));
                let value = value(&stage, &case.problem(), &weighted);
                close(&[value], &[number(&expected["value_at_weighted"])], TOLERANCE, case.name);
            }
        }
    }
}

#[test]
fn noise_of_each_partys_own_scale_is_published_noise_scaled() {
    // `local` with the deviation of `published` at every party is the same run.
    for case in &CASES {
        let (_, sigma) = case.step_and_noise();
        let noise = PooledNoise { own: sigma, all: sigma };
        let [layout, ..] = layouts();
        let own = (ErmVariant::Local, layout.own_noise(-1.0), silence());
        let stage = layout.stage(case.labels());
        let model = case.model(ENGINES[0], &stage, own, None, (&layout.shares(), noise));
        close(&model, &numbers(&case.expected()["weighted"]), TOLERANCE, case.name);
    }
}

#[test]
fn gradients_that_are_summed_in_every_step() {
    for case in &CASES {
        let expected = case.expected();
        let (_, sigma) = case.step_and_noise();
        let parts = PooledNoise { own: sigma, all: sigma };
        let curated = PooledNoise { own: 0.0, all: sigma };
        for layout in layouts() {
            let plain = layout.stage(case.labels());
            let peers = layout.topology.peers();
            let pooled = Stage { noise: layout.noise_in_sums(), ..plain.clone() };
            let masked = Stage { masks: Some(MaskGraph::AllPairs(peers)), ..pooled.clone() };
            let third = layout.by_peer(|_| 1.0 / PARTIES as f64);
            for engine in ENGINES {
                let model = |stage: &Stage, variant, curator, weights: &[f64], noise| {
                    let noises = (variant, silence(), curator);
                    case.model(engine, stage, noises, None, (weights, noise))
                };
                let what = |which: &str| format!("{} {which} {layout:?} {engine:?}", case.name);
                for stage in [&pooled, &masked] {
                    let of = ErmVariant::MaskedGradient;
                    let found = model(stage, of, silence(), &layout.shares(), parts);
                    let weighted = numbers(&expected["weighted_iter"]);
                    close(&found, &weighted, TOLERANCE, &what("weighted"));
                    let found = model(stage, ErmVariant::Jayaraman, silence(), &third, parts);
                    close(&found, &numbers(&expected["jay_iter"]), TOLERANCE, &what("unweighted"));
                }
                let of = ErmVariant::Central;
                let found = model(&plain, of, common_noise(1.0), &layout.shares(), curated);
                close(&found, &numbers(&expected["central"]), TOLERANCE, &what("curator"));
            }
        }
    }
}

/// The model of federated learning at the end, with every party's weight a third.
fn federated(
    engine: Engine,
    layout: &Layout,
    stage: &Stage,
    (local_steps, variant): (u32, FederatedVariant),
    (step_noise, sigma): (StepNoise, f64),
) -> Vec<f64> {
    let parameters = Arc::new(FederatedParameters {
        problem: problem(Loss::Logistic, Regulariser::ridge(0.1), Clipping::None),
        variant,
        local_steps,
        total_steps: STEPS,
        schedule: Schedule { strong: 0.1, smooth: 0.35, local_steps },
        step_noise,
    });
    let third = layout.by_peer(|_| 1.0 / PARTIES as f64);
    let noise = PooledNoise { own: sigma, all: sigma };
    let learner =
        |id: usize, data| FederatedLearner::new(data, third[id], noise, Arc::clone(&parameters));
    stage.play(engine, learner).model()
}

#[test]
fn averages_after_local_steps() {
    const SIGMA: f64 = 0.05;
    let golden = golden();
    let (published, masked) = (FederatedVariant::Published, FederatedVariant::Masked);
    let quiet = || StepNoise { draws: silence(), shared: false };
    for local_steps in 1..=4 {
        let name = format!("K{local_steps}");
        let expected = &golden["huang"][&name];
        let schedule = Schedule { strong: 0.1, smooth: 0.35, local_steps };
        close(&schedule.steps(STEPS), &numbers(&expected["eta"]), TOLERANCE, "steps");
        close(&[schedule.gamma()], &[number(&expected["gamma"])], TOLERANCE, "gamma");
        for layout in layouts() {
            let plain = layout.stage("classes");
            let pooled = Stage { noise: layout.noise_in_sums(), ..plain.clone() };
            let peers = layout.topology.peers();
            let hidden = Stage { masks: Some(MaskGraph::AllPairs(peers)), ..pooled.clone() };
            for engine in ENGINES {
                let model = |stage: &Stage, variant, step_noise, sigma| {
                    federated(engine, &layout, stage, (local_steps, variant), (step_noise, sigma))
                };
                let shared = StepNoise { draws: common_noise(-1.0), shared: true };
                let independent = StepNoise { draws: layout.own_noise(-1.0), shared: false };
                for (which, found) in [
                    ("none", model(&plain, published, quiet(), 0.0)),
                    ("none", model(&hidden, masked, quiet(), 0.0)),
                    ("shared", model(&plain, published, shared, SIGMA)),
                    ("indep", model(&plain, published, independent, SIGMA)),
                    ("agg", model(&pooled, masked, quiet(), SIGMA)),
                    ("agg", model(&hidden, masked, quiet(), SIGMA)),
                ] {
                    let Some(expected) = expected.get(which) else {
                        assert_eq!((which, local_steps), ("agg", 3), "all others are given");
                        continue;
                    };
                    let what = format!("{name} {which} {layout:?} {engine:?}");
                    close(&found, &numbers(expected), TOLERANCE, &what);
                }
            }
        }
    }
}

/// An owner whose last model is looked at, not the average of all.
struct Last(QueryLearner);

impl Learner for Last {
    fn rounds(&self) -> Round {
        self.0.rounds()
    }
    fn length(&self) -> usize {
        self.0.length()
    }
    fn contribute(
        &mut self,
        round: Round,
        theta: &[f64],
        context: &mut Context<'_, Say>,
    ) -> Addend {
        self.0.contribute(round, theta, context)
    }
    fn update(&mut self, round: Round, sum: &[f64], theta: &mut [f64]) {
        self.0.update(round, sum, theta);
    }
    fn leave(&mut self, round: Round, theta: &[f64]) {
        self.0.leave(round, theta);
    }
    fn work(&self) -> u64 {
        self.0.work()
    }
}

#[test]
fn answers_to_queries() {
    let golden = golden();
    let hinge = problem(Loss::Hinge, Regulariser::ridge(1.0), Clipping::None);
    let squared = problem(Loss::Squared, Regulariser::ridge(0.0), Clipping::None);
    for (name, labels, problem, twice) in
        [("linreg", "targets", squared, 2.0), ("lsvm", "classes", hinge, 1.0)]
    {
        let expected = &golden["wu"][name];
        let (c1, side) = (number(&expected["c1"]), number(&expected["thmax"]));
        let scales = numbers(&expected["b"]);
        assert_eq!(number(&expected["T"]), f64::from(STEPS + 1));
        for layout in layouts() {
            let stage = layout.stage(labels);
            let sizes = numbers(&golden["data"]["sizes"]);
            let scale = layout.by_peer(|party| {
                assert!((scales[party] * sizes[party] - 0.05).abs() < TOLERANCE);
                scales[party] / twice
            });
            // A Laplace number is the difference of two exponential ones: the number itself, and 0.
            let noise = |t: usize, party: usize| {
                let z = numbers(&golden["noise_party"][t - 1][party]);
                ((layout.parties[party], t), z.iter().flat_map(|&z| [z, 0.0]).collect())
            };
            let steps = 1..=STEPS as usize;
            let noise = &noise;
            let draws = tape(steps.flat_map(|t| (0..PARTIES).map(move |party| noise(t, party))));
            for engine in ENGINES {
                let owner = |algorithm| {
                    let parameters = Arc::new(QueryParameters {
                        problem,
                        algorithm,
                        updates: STEPS,
                        queries: STEPS,
                        side: Some(side),
                        trajectories: 1,
                        draws: draws.clone(),
                    });
                    let (weights, scale) = (layout.shares(), scale.clone());
                    move |id: usize, data| {
                        let mechanism = Mechanism::Laplace { scale: scale[id] };
                        let mechanism = (scale[id] > 0.0).then_some(mechanism);
                        QueryLearner::new(id, data, weights[id], mechanism, Arc::clone(&parameters))
                    }
                };
                let what = |which: &str| format!("{name} {which} {layout:?} {engine:?}");
                let averaged = Algorithm::Averaged(twice * c1);
                let bar = stage.play(engine, owner(averaged)).model();
                close(&bar, &numbers(&expected["bar"]), TOLERANCE, &what("average"));
                let f = value(&stage, &problem, &bar);
                close(&[f], &[number(&expected["f_bar"])], TOLERANCE, &what("loss"));
                let last = owner(averaged);
                let last = stage.play(engine, |id, data| Last(last(id, data))).model();
                close(&last, &numbers(&expected["last"]), TOLERANCE, &what("last"));
                for (which, step) in [
                    ("alg1_rho_over_k", QueryStep::Inverse(twice * c1)),
                    ("alg1_literal", QueryStep::Published(twice * c1)),
                ] {
                    let model = stage.play(engine, owner(Algorithm::Descent(step))).model();
                    close(&model, &numbers(&expected[which]), TOLERANCE, &what(which));
                }
            }
        }
    }
}

#[test]
fn an_answer_moves_by_twice_the_longest_subgradient() {
    let golden = golden();
    let rows = golden["data"]["X"].as_array().unwrap().iter().map(numbers);
    let lengths: Vec<f64> = rows.map(|row| row.iter().map(|x| x.abs()).sum::<f64>()).collect();
    let reach = lengths.iter().copied().fold(0.0, f64::max);
    let moves = sample_moves(Loss::Hinge, Clipping::None, reach).unwrap();
    assert!((moves.record - 2.0 * number(&golden["wu"]["lsvm"]["Xi"])).abs() < TOLERANCE);
    // The program bounds a residual over the box |θ|_∞ ≤ θ_max; cutting it there changes nothing.
    let targets = numbers(&golden["data"]["y_reg"]);
    let side = number(&golden["wu"]["linreg"]["thmax"]);
    let most = lengths.iter().zip(&targets).map(|(length, y)| {
        let clipping = Clipping::Slope(y.abs() + side * length);
        sample_moves(Loss::Squared, clipping, *length).unwrap().record
    });
    let most = most.fold(0.0, f64::max);
    assert!((most - number(&golden["wu"]["linreg"]["Xi"])).abs() < TOLERANCE);
}
