//! Sums by gossip against W computed densely.

use std::sync::Arc;

use hushmesh::data::LocalData;
use hushmesh::learn::{Clipping, Loss, Regulariser};
use hushmesh::network::Context;
use hushmesh::privacy::{Pieces, PooledNoise, Sensitivity, public};
use hushmesh::protocol::party::{Addend, Learner, Say};
use hushmesh::protocol::weighted_erm::{ErmLearner, ErmParameters, ErmVariant};
use hushmesh::protocol::{Problem, StepNoise};
use hushmesh::topology::{Topology, grid, path, ring, star};
use hushmesh::units::Round;

use super::{ENGINES, Stage, close, dealt, random_graph, silence, tape};

/// W_il = 1/(1 + max(N_i, N_l)) on links, and what is left of 1 on the diagonal.
fn metropolis(topology: &Topology) -> Vec<Vec<f64>> {
    let n = topology.peers();
    let mut w = vec![vec![0.0; n]; n];
    for (a, b) in topology.edges() {
        let most = topology.degree(a).max(topology.degree(b));
        let weight = 1.0 / (1.0 + most as f64);
        w[a.index()][b.index()] = weight;
        w[b.index()][a.index()] = weight;
    }
    for (i, row) in w.iter_mut().enumerate() {
        row[i] = 1.0 - row.iter().sum::<f64>();
    }
    w
}

/// Wx for one vector per peer.
fn mixed(w: &[Vec<f64>], x: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let of = |row: &Vec<f64>, i: usize| row.iter().zip(x).map(|(w, x)| w * x[i]).sum();
    w.iter().map(|row| (0..x[0].len()).map(|i| of(row, i)).collect()).collect()
}

/// Adds its part + θ/2 in every round and takes the sum for its model.
struct Adder {
    part: Vec<f64>,
    rounds: u32,
}

impl Adder {
    fn addend(part: &[f64], theta: &[f64]) -> Vec<f64> {
        part.iter().zip(theta).map(|(part, theta)| part + 0.5 * theta).collect()
    }
}

impl Learner for Adder {
    fn rounds(&self) -> Round {
        Round(self.rounds)
    }
    fn length(&self) -> usize {
        self.part.len()
    }
    fn contribute(&mut self, _: Round, theta: &[f64], _: &mut Context<'_, Say>) -> Addend {
        Addend::Released(public(Self::addend(&self.part, theta).into()))
    }
    fn update(&mut self, _: Round, sum: &[f64], theta: &mut [f64]) {
        theta.copy_from_slice(sum);
    }
    fn work(&self) -> u64 {
        1
    }
}

fn part(id: usize) -> Vec<f64> {
    vec![(id as f64 + 1.0).sin(), 0.3 * id as f64 - 1.0, if id == 2 { 5.0 } else { 0.0 }]
}

fn graphs() -> Vec<Topology> {
    vec![
        ring(7).unwrap(),
        path(5).unwrap(),
        star(6).unwrap(),
        grid(2, 4).unwrap(),
        random_graph(8, 5, 1),
        random_graph(9, 2, 2),
    ]
}

fn empty(topology: &Topology) -> Stage {
    let nobody = vec![0; topology.peers() - 1];
    let sizes = [vec![1], nobody].concat();
    Stage::new(topology.clone(), dealt(&[vec![0.0]], vec![1.0], &sizes))
}

#[test]
fn every_exchange_is_a_product_with_the_metropolis_weights() {
    const ROUNDS: u32 = 3;
    for topology in graphs() {
        let (w, n) = (metropolis(&topology), topology.peers() as f64);
        for exchanges in 1..=5 {
            let mut expected = vec![vec![0.0; 3]; topology.peers()];
            let mut after = Vec::new();
            for _ in 0..ROUNDS {
                let own = |(id, theta): (usize, &Vec<f64>)| {
                    Adder::addend(&part(id), theta).iter().map(|x| n * x).collect()
                };
                let mut x: Vec<Vec<f64>> = expected.iter().enumerate().map(own).collect();
                for _ in 0..exchanges {
                    x = mixed(&w, &x);
                }
                expected = x;
                after.push(expected.concat());
            }
            let stage = Stage { exchanges: Some(exchanges), ..empty(&topology) };
            for engine in ENGINES {
                let adder = |id, _: LocalData| Adder { part: part(id), rounds: ROUNDS };
                let played = stage.play(engine, adder);
                for (row, expected) in played.rows.iter().zip(&after) {
                    let size = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
                    let what = format!("{engine:?} {exchanges} {:?}", row.round);
                    close(&row.scored, expected, 1e-14 * size, &what);
                }
            }
        }
    }
}

/// Parties with noise of their own on their last models.
fn learner(id: usize, data: LocalData, n: usize) -> ErmLearner {
    let d = data.dimension();
    let noise = |peer: usize| (0..d).map(|i| ((peer * d + i) as f64).cos()).collect();
    let parameters = ErmParameters {
        problem: Problem {
            loss: Loss::Logistic,
            regulariser: Regulariser::ridge(0.1),
            clipping: Clipping::None,
            moves: Sensitivity { label: 1.0, record: 2.0 },
            unprotected: Pieces::RECORD,
        },
        variant: ErmVariant::LocalOutput,
        steps: 7,
        step: 0.5,
        step_noise: StepNoise { draws: tape([((id, 0), noise(id))]), shared: false },
        weight_noise: None,
        curator: silence(),
    };
    let weight = data.rows() as f64 / n as f64;
    let noise = PooledNoise { own: 0.3, all: 0.3 };
    ErmLearner::new(data, weight, noise, Arc::new(parameters))
}

#[test]
fn many_exchanges_on_a_ring_come_to_the_sum_of_the_tree() {
    let sizes = [2, 0, 5, 1, 3, 4];
    let n: usize = sizes.iter().sum();
    let rows: Vec<Vec<f64>> =
        (0..n).map(|i| (0..3).map(|j| ((7 * i + 3 * j) as f64).sin() * 0.5).collect()).collect();
    let labels = (0..n).map(|i| if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
    let tree = Stage::new(ring(6).unwrap(), dealt(&rows, labels, &sizes));
    let expected = tree.play(ENGINES[0], |id, data| learner(id, data, n)).model();
    // The second largest eigenvalue of W on a ring of six is 1/3 + 2/3 cos 60° = 2/3.
    let mut previous = f64::INFINITY;
    for exchanges in [1, 10, 30, 60, 120] {
        let stage = Stage { exchanges: Some(exchanges), ..tree.clone() };
        let played = stage.play(ENGINES[2], |id, data| learner(id, data, n));
        let apart = |state: &Vec<f64>| {
            let squares = state.iter().zip(&expected).map(|(a, b)| (a - b) * (a - b));
            squares.sum::<f64>()
        };
        let error = played.states().iter().map(apart).sum::<f64>().sqrt();
        // |W^τ x − x̄| ≤ λ₂^τ |x − x̄|, and no addend, six-fold, is longer than 20.
        let bound = 20.0 * 6.0_f64.sqrt() * (2.0_f64 / 3.0).powi(exchanges as i32);
        assert!(error <= bound + 1e-13, "{exchanges}: {error} {bound}");
        assert!(error < previous, "{exchanges}: {error} {previous}");
        previous = error;
    }
}

#[test]
fn gossip_does_not_show_what_no_noise_hides() {
    let stage = Stage { exchanges: Some(2), ..empty(&ring(4).unwrap()) };
    let pooled = |id: usize, data: LocalData| Shower { data: vec![id as f64], rows: data.rows() };
    let refused = std::panic::catch_unwind(|| stage.play(ENGINES[0], pooled));
    let panic = refused.expect_err("the run must fail");
    let message = panic.downcast_ref::<String>().expect("what went wrong");
    assert!(message.contains("gossip would show data that no noise hides"), "{message}");
}

/// Adds private data whose noise would be in the sum.
struct Shower {
    data: Vec<f64>,
    rows: usize,
}

impl Learner for Shower {
    fn rounds(&self) -> Round {
        Round(1)
    }
    fn length(&self) -> usize {
        1
    }
    fn contribute(&mut self, _: Round, _: &[f64], _: &mut Context<'_, Say>) -> Addend {
        let noise = PooledNoise { own: 1.0, all: 1.0 };
        let sensitivity = Sensitivity { label: 0.0, record: self.rows as f64 };
        Addend::Pooled { data: self.data.clone(), noise, sensitivity }
    }
    fn update(&mut self, _: Round, _: &[f64], _: &mut [f64]) {}
    fn work(&self) -> u64 {
        1
    }
}
