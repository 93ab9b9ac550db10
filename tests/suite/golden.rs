//! A published-size example with every number given: samples, labels as seen, both noises, and every
//! state of twelve rounds, computed by an independent program. The real peers must reproduce it on
//! every engine; only their randomness is replaced, by a tape.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hushmesh::data::{LocalData, Partitioned};
use hushmesh::learn::{
    Loss, Objective, Regulariser, Samples, axpy, central_optimum, distance, norm,
};
use hushmesh::measure::{MeasureConfig, Perturbed, Scorer, What};
use hushmesh::network::{Engine, Flow, Links, NetworkConfig, Row, Schedule, run};
use hushmesh::privacy::randomized_response::coefficient;
use hushmesh::privacy::{Deviation, ObjectiveNoise};
use hushmesh::protocol::PerPeer;
use hushmesh::protocol::admm::{AdmmParameters, AdmmPeer, PrimalNoise};
use hushmesh::random::{Draws, Streams, Tape};
use hushmesh::topology::{Link, Topology};
use hushmesh::units::{Epsilon, PeerId, Round, Seed};
use ndarray::Array2;
use petgraph::graph::UnGraph;
use serde::Deserialize;

const TOLERANCE: f64 = 1e-10;

#[derive(Deserialize)]
struct Golden {
    n: usize,
    d: usize,
    edges: Vec<(usize, usize)>,
    coth_half_eps: f64,
    beta: f64,
    a: f64,
    #[serde(rename = "V")]
    v: f64,
    rho: f64,
    #[serde(rename = "X")]
    x: Vec<Vec<Vec<f64>>>,
    y_true: Vec<Vec<f64>>,
    y_seen: Vec<Vec<f64>>,
    eta: Vec<Vec<f64>>,
    theta: Vec<Vec<Vec<f64>>>,
    iterations: Vec<Iteration>,
    opt_perturbed: Optimum,
    opt_original_labels: Optimum,
    loss_samples: Vec<LossSample>,
}

/// A loss and the unbiased one of its label, (19), at a margin.
#[derive(Deserialize)]
struct LossSample {
    y: f64,
    z: f64,
    eps: f64,
    l: f64,
    l_mod: f64,
}

#[derive(Deserialize)]
struct Iteration {
    w: Vec<Vec<f64>>,
    gamma: Vec<Vec<f64>>,
    gap: f64,
    #[serde(rename = "J_tilde_sum")]
    objective: f64,
}

#[derive(Deserialize)]
struct Optimum {
    w: Vec<f64>,
    #[serde(alias = "J_tilde", alias = "J")]
    value: f64,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../golden/admm.json")).unwrap()
}

impl Golden {
    fn topology(&self) -> Topology {
        let mut graph = UnGraph::with_capacity(self.n, self.edges.len());
        let nodes: Vec<_> = (0..self.n).map(|_| graph.add_node(())).collect();
        for &(a, b) in &self.edges {
            graph.add_edge(nodes[a], nodes[b], Link::default());
        }
        Topology::new(&graph, None).unwrap()
    }

    fn samples(&self, labels: impl Fn(&f64) -> f64, of: &[Vec<f64>]) -> Arc<Partitioned> {
        let rows: Vec<f64> = self.x.iter().flatten().flatten().copied().collect();
        let sizes = self.x.iter().map(Vec::len);
        let ends = sizes.scan(0, |end, size| {
            *end += size;
            Some(*end)
        });
        let offsets: Vec<usize> = std::iter::once(0).chain(ends).collect();
        let x = Array2::from_shape_vec((rows.len() / self.d, self.d), rows).unwrap();
        let y = of.iter().flatten().map(labels).collect();
        Arc::new(Partitioned::new(x, y, offsets))
    }

    /// With the labels k·y', which make the logistic loss the unbiased one.
    fn seen(&self) -> Arc<Partitioned> {
        self.samples(|y| self.coth_half_eps * y, &self.y_seen)
    }

    fn linear(&self) -> Vec<f64> {
        self.eta.iter().flatten().map(|eta| eta / self.n as f64).collect()
    }

    fn parameters(&self) -> AdmmParameters {
        let (mut objective, mut primal) = (Tape::default(), Tape::default());
        for (i, eta) in self.eta.iter().enumerate() {
            objective.record(i as u64, 0, eta.clone());
        }
        let noise = PrimalNoise { deviation: PerPeer::Same(self.v), decay: self.rho };
        for (t, of_all) in self.theta.iter().enumerate() {
            let round = Round(t as u32 + 1);
            for (i, theta) in of_all.iter().enumerate() {
                // The tape holds the standard normal numbers that θ comes from.
                let deviation = noise.deviation(PeerId::new(i), round);
                let normals = theta.iter().map(|theta| theta / deviation).collect();
                primal.record(i as u64, u64::from(round.0), normals);
            }
        }
        let law = ObjectiveNoise::Gaussian(Deviation { deviation: 1.0 });
        AdmmParameters {
            tolerance: 1e-14,
            objective_noise: Some((law, Draws::Tape(Arc::new(objective)))),
            primal_noise: Some((noise, Draws::Tape(Arc::new(primal)))),
            averages: true,
            ..AdmmParameters::plain(
                Loss::Logistic,
                self.n,
                self.a / self.n as f64,
                self.beta,
                Round(self.iterations.len() as u32),
            )
        }
    }

    fn scorer(&self) -> Scorer {
        let config = MeasureConfig { what: vec![What::Average], ..MeasureConfig::default() };
        let perturbed = Perturbed { train: self.seen(), linear: self.linear() };
        let clean = self.samples(|y| *y, &self.y_true);
        let regulariser = Regulariser::ridge(self.a / self.n as f64);
        Scorer::new(&config, clean, None, Some(perturbed), Loss::Logistic, regulariser)
    }

    /// ∇J~_i(w).
    fn gradient(&self, i: usize, w: &[f64]) -> Vec<f64> {
        let seen = self.seen();
        let local = seen.local(PeerId::new(i));
        let mut g = vec![0.0; self.d];
        Objective::mean(Samples::new(local.x, local.y), Loss::Logistic).gradient(w, &mut g);
        axpy(self.a / self.n as f64, w, &mut g);
        axpy(1.0 / self.n as f64, &self.eta[i], &mut g);
        g
    }
}

fn check(golden: &Golden, scorer: &Scorer, row: &Row<hushmesh::measure::LocalFigures>) {
    let expected = &golden.iterations[row.round.0 as usize - 1];
    let (mut gap, mut objective) = (0.0_f64, 0.0);
    for i in 0..golden.n {
        let w = row.state(PeerId::new(i));
        for (ours, theirs) in w.iter().zip(&expected.w[i]) {
            assert!((ours - theirs).abs() < TOLERANCE, "w of {i} in round {}", row.round);
        }
        for j in 0..golden.n {
            gap = gap.max(distance(w, row.state(PeerId::new(j))));
        }
        objective += scorer.objective_as_solved(PeerId::new(i), w);
        // γ is the peer's own; |∇J~_i(w_i) + γ_i| is what it shows of it.
        let mut residual = golden.gradient(i, w);
        axpy(1.0, &expected.gamma[i], &mut residual);
        assert!((row.residuals[i] - norm(&residual)).abs() < TOLERANCE, "γ of {i}");
        // The running average, from the given states.
        let mut average = vec![0.0; golden.d];
        for earlier in &golden.iterations[..row.round.0 as usize] {
            axpy(1.0 / f64::from(row.round.0), &earlier.w[i], &mut average);
        }
        let of_average = scorer.objective_as_solved(PeerId::new(i), &average);
        assert!((row.locals[i].average_objective - of_average).abs() < TOLERANCE, "w̄ of {i}");
    }
    assert!((gap - expected.gap).abs() < TOLERANCE);
    assert!((objective - expected.objective).abs() < TOLERANCE);
}

#[test]
fn twelve_rounds_with_both_noises_are_matched_to_1e_10_on_every_engine() {
    let golden = golden();
    let (topology, seen) = (golden.topology(), golden.seen());
    let parameters = Arc::new(golden.parameters());
    let scorer = golden.scorer();
    let streams = Streams::new(Seed(0), 0);
    let links = Links::new(&NetworkConfig::default(), &topology, &streams);
    let engines =
        [1, 2, 5].map(|workers| Engine::Simulated { workers }).into_iter().chain([Engine::Threads]);
    for engine in engines {
        let peer = |id| {
            let data = LocalData::new(Arc::clone(&seen), id);
            let near = topology.neighbours(id);
            AdmmPeer::new(id, data, near, golden.coth_half_eps, Arc::clone(&parameters))
        };
        let peers = topology.ids().map(peer).collect();
        let schedule = Schedule::of_peers(1, parameters.rounds);
        let mut rounds = 0;
        let never = AtomicBool::new(false);
        run(engine, &topology, &links, peers, (&scorer, schedule), &never, &mut |row| {
            check(&golden, &scorer, &row);
            rounds += 1;
            Flow::Continue
        })
        .unwrap();
        assert_eq!(rounds, golden.iterations.len());
    }
}

#[test]
fn both_optima_of_the_example_are_found() {
    let golden = golden();
    let scorer = golden.scorer();
    let mut linear = vec![0.0; golden.d];
    scorer.linear_terms().for_each(|eta| axpy(1.0, eta, &mut linear));
    let solved = central_optimum(&scorer.objectives_as_solved(), golden.a, &linear).unwrap();
    assert!(distance(&solved.w, &golden.opt_perturbed.w) < TOLERANCE);
    assert!((solved.value - golden.opt_perturbed.value).abs() < TOLERANCE);
    let zero = vec![0.0; golden.d];
    let clean = central_optimum(&scorer.objectives(), golden.a, &zero).unwrap();
    assert!(distance(&clean.w, &golden.opt_original_labels.w) < TOLERANCE);
    assert!((clean.value - golden.opt_original_labels.value).abs() < TOLERANCE);
}

#[test]
fn the_unbiased_loss_is_the_plain_one_at_the_label_k_y() {
    for sample in golden().loss_samples {
        let k = coefficient(Epsilon(sample.eps));
        let plain = Loss::Logistic.value(sample.y, sample.z);
        let unbiased = Loss::Logistic.value(k * sample.y, sample.z);
        assert!((plain - sample.l).abs() < TOLERANCE, "{} {}", sample.y, sample.z);
        assert!((unbiased - sample.l_mod).abs() < TOLERANCE, "{} {}", sample.y, sample.z);
    }
}
