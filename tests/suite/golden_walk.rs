//! Published-size examples of both walk algorithms, with every number given: samples, noise, decisions
//! and results, computed by an independent program. The real peers must reproduce them on every engine;
//! their noise comes from a tape and their decisions from a script.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hushmesh::data::{LocalData, Partitioned};
use hushmesh::learn::{Batch, Loss, Tasks};
use hushmesh::network::{Engine, Flow, Links, NetworkConfig, Outcome, Row, Schedule, run};
use hushmesh::policy::{Action, Needs, Policy};
use hushmesh::privacy::Pieces;
use hushmesh::protocol::walk_sgd::{StepSize, WalkParameters, WalkPeer};
use hushmesh::random::{Draws, Purpose, Streams, Tape};
use hushmesh::topology::{Routes, Topology, Walk, path};
use hushmesh::units::{PeerId, Round, Seed};
use ndarray::Array2;
use serde::Deserialize;

use crate::walk::{Keeper, Script};

const TOLERANCE: f64 = 1e-10;
const BATCH: usize = 4;
const UPDATES: u32 = 6;
const TASKS: u32 = 3;

#[derive(Deserialize)]
struct Golden {
    #[serde(rename = "X")]
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    #[serde(rename = "W0")]
    w0: Vec<Vec<f64>>,
    #[serde(rename = "loss_W0_batch0_lam0.1")]
    losses: Vec<f64>,
    #[serde(rename = "grad_W0_batch0_lam0.1")]
    gradients: Vec<Vec<f64>>,
    #[serde(rename = "alg1_cvx_noiseless")]
    convex: Vec<Vec<f64>>,
    #[serde(rename = "alg1_cvx_with_noise(eta N = 0.01 sin(3t+k+2j), subtracted)")]
    convex_noisy: Vec<Vec<f64>>,
    #[serde(rename = "alg1_sc_noiseless")]
    strongly: Vec<Vec<f64>>,
    #[serde(rename = "alg1_sc_with_noise(eta N = 0.01 sin(3t+k+2j), subtracted)")]
    strongly_noisy: Vec<Vec<f64>>,
    #[serde(rename = "alg2_actions_nodes_alternate_0_1")]
    actions: Vec<u8>,
    #[serde(rename = "alg2_WG")]
    global: Vec<Vec<f64>>,
    #[serde(rename = "alg2_WL")]
    local: Vec<Vec<Vec<f64>>>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../golden/walk.json")).unwrap()
}

const MULTIPLIER: f64 = 3.0;

/// ζ of task k as standard numbers for noise of deviation `deviation`, to be subtracted.
fn tapes(d: usize, deviation: impl Fn(u32) -> f64) -> Vec<Draws> {
    let tape = |k: u32| {
        let mut tape = Tape::default();
        for t in 1..=UPDATES {
            let zeta = |j: usize| 0.01 * (3.0 * f64::from(t) + f64::from(k) + 2.0 * j as f64).sin();
            tape.record(0, t.into(), (0..d).map(|j| -zeta(j) / deviation(t)).collect());
        }
        Draws::Tape(Arc::new(tape))
    };
    (0..TASKS).map(tape).collect()
}

fn parameters(peers: usize, ridge: f64, step: StepSize) -> WalkParameters {
    let family = Streams::new(Seed(1), 0).family(Purpose::Walk, 0);
    let topology = if peers == 1 { single() } else { pair() };
    WalkParameters {
        tasks: Tasks::PerClass(TASKS),
        loss: Loss::Logistic,
        ridge,
        batch: BATCH as u32,
        passes: 1,
        updates: Round(UPDATES),
        step,
        radius: None,
        walk: if peers == 1 { Walk::Uniform } else { Walk::Simple },
        routes: (peers == 1).then(|| Arc::new(Routes::of(&topology).unwrap())),
        tokens: vec![(PeerId(0), family); TASKS as usize],
        remaining: vec![UPDATES / peers as u32; peers].into(),
        noise: None,
        decisions: vec![family; TASKS as usize],
        needs: Needs::default(),
        reach: 1.0,
        unprotected: Pieces::RECORD,
        budget: None,
        averages: false,
    }
}

fn single() -> Topology {
    path(1).unwrap()
}

fn pair() -> Topology {
    path(2).unwrap()
}

/// Runs the peers and returns each task's model and each peer's own ones.
fn outcome(
    engine: Engine,
    batches_of: &[Vec<usize>],
    scripts: &[Vec<Action>],
    parameters: &WalkParameters,
) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let golden = golden();
    let d = golden.x[0].len();
    let rows: Vec<usize> =
        batches_of.iter().flatten().flat_map(|b| b * BATCH..(b + 1) * BATCH).collect();
    let x: Vec<f64> = rows.iter().flat_map(|&row| golden.x[row].clone()).collect();
    let x = Array2::from_shape_vec((rows.len(), d), x).unwrap();
    let y = rows.iter().map(|&row| golden.y[row]).collect();
    let mut offsets = vec![0];
    offsets.extend(batches_of.iter().scan(0, |end, batches| {
        *end += BATCH * batches.len();
        Some(*end)
    }));
    let data = Arc::new(Partitioned::new(x, y, offsets));
    let topology = if batches_of.len() == 1 { single() } else { pair() };
    let links = Links::new(&NetworkConfig::default(), &topology, &Streams::new(Seed(1), 0));
    let shared = Arc::new(parameters.clone());
    let peers = topology.ids().map(|id| {
        let degrees = topology.neighbours(id).iter().map(|_| 1).collect();
        let script = scripts.get(id.index());
        let policy = |_| Some(Box::new(Script(script?.clone())) as Box<dyn Policy>);
        let policies = (0..TASKS).filter_map(policy).collect();
        let data = LocalData::new(Arc::clone(&data), id);
        WalkPeer::new(id, data, degrees, policies, Arc::clone(&shared))
    });
    let mut models = Vec::new();
    let Outcome { partings, .. } = run(
        engine,
        &topology,
        &links,
        peers.collect(),
        (&Keeper, Schedule::of_tokens(1, Round(UPDATES), TASKS)),
        &AtomicBool::new(false),
        &mut |row: Row<Vec<f64>>| {
            if row.round == Round(UPDATES) {
                models = row.scored.chunks(d).map(<[f64]>::to_vec).collect();
            }
            Flow::Continue
        },
    )
    .unwrap();
    (models, partings.into_iter().map(|peer| peer.local).collect())
}

fn close(found: &[Vec<f64>], expected: &[Vec<f64>], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < TOLERANCE, "{what}: {found} {expected}");
        }
    }
}

const ENGINES: [Engine; 4] = [
    Engine::Simulated { workers: 1 },
    Engine::Simulated { workers: 2 },
    Engine::Simulated { workers: 5 },
    Engine::Threads,
];

#[test]
fn losses_and_gradients_of_the_first_batch() {
    let Golden { x, y, w0, losses, gradients, .. } = golden();
    let x: Vec<f64> = x[..BATCH].concat();
    for task in 0..TASKS {
        let tasks = Tasks::PerClass(TASKS);
        let batch = Batch { x: &x, y: &y[..BATCH], tasks, task, loss: Loss::Logistic, ridge: 0.1 };
        let w = &w0[task as usize];
        let mut g = vec![0.0; w.len()];
        batch.gradient(w, &mut g);
        assert!((batch.value(w) - losses[task as usize]).abs() < TOLERANCE);
        close(&[g], &gradients[task as usize..=task as usize], "gradient");
    }
}

#[test]
fn the_fully_collaborative_algorithm_reproduces_the_example() {
    let golden = golden();
    let d = golden.x[0].len();
    let all = [(0..UPDATES as usize).collect()];
    for (ridge, step, clear, noisy) in [
        (0.0, StepSize::Constant(0.1), &golden.convex, &golden.convex_noisy),
        (0.01, StepSize::StronglyConvex, &golden.strongly, &golden.strongly_noisy),
    ] {
        let plain = parameters(1, ridge, step);
        // Δ = 2ηL/b with L = 1.
        let deviation = |t| MULTIPLIER * 2.0 * step.at(t, ridge) / BATCH as f64;
        let noise = Some((MULTIPLIER, tapes(d, deviation)));
        let private = WalkParameters { noise, ..plain.clone() };
        for engine in ENGINES {
            close(&outcome(engine, &all, &[], &plain).0, clear, "without noise");
            close(&outcome(engine, &all, &[], &private).0, noisy, "with noise");
        }
    }
}

#[test]
fn the_algorithm_with_decisions_reproduces_the_example() {
    let golden = golden();
    let d = golden.x[0].len();
    let action = |&t: &usize| if golden.actions[t] == 1 { Action::Global } else { Action::Local };
    let batches = [vec![0, 2, 4], vec![1, 3, 5]];
    let scripts: Vec<Vec<Action>> =
        batches.iter().map(|steps| steps.iter().map(action).collect()).collect();
    let step = StepSize::Constant(0.1);
    let deviation = |_| MULTIPLIER * 2.0 * 0.1 / BATCH as f64;
    let parameters = WalkParameters {
        noise: Some((MULTIPLIER, tapes(d, deviation))),
        ..parameters(2, 0.0, step)
    };
    for engine in ENGINES {
        let (global, local) = outcome(engine, &batches, &scripts, &parameters);
        close(&global, &golden.global, "w^G");
        for (peer, own) in local.iter().enumerate() {
            let own: Vec<Vec<f64>> = own.chunks(d).map(<[f64]>::to_vec).collect();
            close(&own, &golden.local[peer], "w^L");
        }
    }
}
