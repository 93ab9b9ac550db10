//! Summed gradients are those of the pooled data, on every graph and under every mask.

use std::sync::Arc;

use hushmesh::learn::{Clipping, Loss, Regulariser};
use hushmesh::network::{Extra, NetworkConfig};
use hushmesh::privacy::{MaskGraph, Pieces, PooledNoise, Sensitivity};
use hushmesh::protocol::weighted_erm::{ErmLearner, ErmParameters, ErmVariant};
use hushmesh::protocol::{Problem, StepNoise};
use hushmesh::random::{Draws, Purpose, Stream, Streams};
use hushmesh::topology::{Topology, grid, ring, star};
use hushmesh::units::{PeerId, Seed};
use rand::RngExt;

use super::{ENGINES, Stage, close, dealt, random_graph, silence, tape};

const TOLERANCE: f64 = 1e-13;
const PEERS: usize = 9;
/// The hub and one more have no data.
const SIZES: [usize; PEERS] = [0, 7, 1, 12, 3, 0, 5, 2, 10];
const D: usize = 5;
const STEPS: usize = 12;
const SIGMA: f64 = 0.25;

/// One example: samples, noise and what is minimised.
struct Example {
    rows: Vec<Vec<f64>>,
    labels: Vec<f64>,
    loss: Loss,
    ridge: f64,
    /// The norm that gradients are cut to.
    clip: f64,
    step: f64,
    /// Each peer's part of the noise of each step.
    parts: Vec<Vec<[f64; D]>>,
}

fn around_zero(stream: &mut Stream) -> f64 {
    2.0 * stream.random::<f64>() - 1.0
}

impl Example {
    fn new(loss: Loss, clip: f64, seed: u64) -> Self {
        let stream = &mut Streams::new(Seed(seed), 0).single(Purpose::Rows);
        let row = |stream: &mut Stream| (0..D).map(|_| around_zero(stream)).collect();
        let all: usize = SIZES.iter().sum();
        let rows: Vec<Vec<f64>> = (0..all).map(|_| row(stream)).collect();
        let label = |stream: &mut Stream| match loss {
            Loss::Squared => 2.0 * around_zero(stream),
            _ => around_zero(stream).signum(),
        };
        let labels = (0..all).map(|_| label(stream)).collect();
        let part = |stream: &mut Stream| std::array::from_fn(|_| around_zero(stream));
        let parts = (0..STEPS).map(|_| (0..PEERS).map(|_| part(stream)).collect()).collect();
        Self { rows, labels, loss, ridge: 0.2, clip, step: 0.4, parts }
    }

    /// The noise of a step: the parts of those who have samples.
    fn noise(&self, t: usize) -> [f64; D] {
        std::array::from_fn(|i| {
            (0..PEERS).filter(|&peer| SIZES[peer] > 0).map(|peer| self.parts[t][peer][i]).sum()
        })
    }

    /// A loop over all samples as if one had them all: all models, one after the other.
    fn pooled(&self) -> Vec<[f64; D]> {
        let mut w = [0.0; D];
        (0..STEPS)
            .map(|t| {
                let mut g = [0.0; D];
                for (x, y) in self.rows.iter().zip(&self.labels) {
                    let z: f64 = x.iter().zip(&w).map(|(x, w)| x * w).sum();
                    let slope = match self.loss {
                        Loss::Squared => z - y,
                        _ => -y / (1.0 + (y * z).exp()),
                    };
                    let length = slope.abs() * x.iter().map(|x| x * x).sum::<f64>().sqrt();
                    let kept = if length > self.clip { slope * self.clip / length } else { slope };
                    (0..D).for_each(|i| g[i] += kept * x[i]);
                }
                let noise = self.noise(t);
                let n = self.rows.len() as f64;
                for i in 0..D {
                    w[i] -= self.step * (g[i] / n + self.ridge * w[i] + SIGMA * noise[i]);
                }
                w
            })
            .collect()
    }

    fn stage(&self, topology: Topology) -> Stage {
        let parts = (0..STEPS).flat_map(|t| {
            (0..PEERS).map(move |peer| ((peer, t + 1), self.parts[t][peer].to_vec()))
        });
        let stage = Stage::new(topology, dealt(&self.rows, self.labels.clone(), &SIZES));
        // 9 · 16 is below 2⁸: the grid is 2⁻⁵⁴.
        Stage { noise: tape(parts), bound: 16.0, ..stage }
    }

    fn learner(
        &self,
        variant: ErmVariant,
        noise: PooledNoise,
        curator: Draws,
    ) -> impl Fn(usize, hushmesh::data::LocalData) -> ErmLearner {
        let problem = Problem {
            loss: self.loss,
            regulariser: Regulariser::ridge(self.ridge),
            clipping: Clipping::Norm(self.clip),
            moves: Sensitivity { label: 1.0, record: 2.0 },
            unprotected: Pieces::RECORD,
        };
        let parameters = Arc::new(ErmParameters {
            problem,
            variant,
            steps: STEPS as u32,
            step: self.step,
            step_noise: StepNoise { draws: silence(), shared: false },
            weight_noise: None,
            curator,
        });
        let n = self.rows.len() as f64;
        move |id, data| ErmLearner::new(data, SIZES[id] as f64 / n, noise, Arc::clone(&parameters))
    }
}

fn graphs() -> [Topology; 4] {
    [star(PEERS).unwrap(), ring(PEERS).unwrap(), grid(3, 3).unwrap(), random_graph(PEERS, 6, 5)]
}

/// Everybody with everybody; neighbours on a ring; two groups that share nothing.
fn mask_graphs() -> [MaskGraph; 3] {
    let ring = |i: usize| vec![PeerId::new((i + 1) % PEERS), PeerId::new((i + PEERS - 1) % PEERS)];
    let group = |i: usize| {
        let others = (0..PEERS).filter(|&j| j != i && j % 2 == i % 2);
        others.map(PeerId::new).collect()
    };
    [
        MaskGraph::AllPairs(PEERS),
        MaskGraph::Lists((0..PEERS).map(ring).collect()),
        MaskGraph::Lists((0..PEERS).map(group).collect()),
    ]
}

fn examples() -> [Example; 3] {
    [
        Example::new(Loss::Logistic, 100.0, 1),
        Example::new(Loss::Squared, 0.7, 2),
        Example::new(Loss::Squared, 100.0, 3),
    ]
}

#[test]
fn masked_gradients_are_those_of_the_pooled_data() {
    let noise = PooledNoise { own: SIGMA, all: SIGMA * 7.0_f64.sqrt() };
    for example in examples() {
        let expected = example.pooled();
        let mut first = None;
        for topology in graphs() {
            for root in [0, 4] {
                let plain = Stage { root, ..example.stage(topology.clone()) };
                let masked =
                    mask_graphs().map(|masks| Stage { masks: Some(masks), ..plain.clone() });
                for stage in [&plain].into_iter().chain(&masked) {
                    let learner = example.learner(ErmVariant::MaskedGradient, noise, silence());
                    let played = stage.play(ENGINES[1], learner);
                    for (row, expected) in played.rows.iter().zip(&expected) {
                        let found = row.state(PeerId(3));
                        close(found, expected, TOLERANCE, &format!("{:?}", row.round));
                    }
                    // Fixed point has no order: not a bit differs by graph, root or mask.
                    let model = played.model();
                    assert_eq!(model, *first.get_or_insert_with(|| model.clone()));
                }
            }
        }
    }
}

#[test]
fn engines_and_lossy_links_change_nothing_about_masked_gradients() {
    let noise = PooledNoise { own: SIGMA, all: SIGMA };
    let [example, ..] = examples();
    let expected = example.pooled();
    let mut network = NetworkConfig::default();
    network.links.latency.extra = Extra::Uniform(0.01);
    network.links.loss.probability = 0.2;
    network.links.loss.timeout = 0.002;
    for topology in graphs() {
        let [_, masks, _] = mask_graphs();
        let stage = example.stage(topology);
        let stage = Stage { masks: Some(masks), network: network.clone(), ..stage };
        for engine in ENGINES {
            let learner = example.learner(ErmVariant::MaskedGradient, noise, silence());
            let model = stage.play(engine, learner).model();
            close(&model, &expected[STEPS - 1], TOLERANCE, &format!("{engine:?}"));
        }
    }
}

#[test]
fn a_curator_runs_on_the_pooled_data() {
    let noise = PooledNoise { own: 0.0, all: SIGMA };
    for example in examples() {
        let expected = example.pooled();
        let curator = tape((0..STEPS).map(|t| ((0, t + 1), example.noise(t).to_vec())));
        for topology in graphs() {
            let stage = example.stage(topology);
            let learner = example.learner(ErmVariant::Central, noise, curator.clone());
            let model = stage.play(ENGINES[0], learner).model();
            close(&model, &expected[STEPS - 1], TOLERANCE, "curator");
        }
    }
}

#[test]
fn without_any_noise_masks_still_cancel() {
    let quiet = PooledNoise { own: 0.0, all: 0.0 };
    for mut example in examples() {
        example.parts = vec![vec![[0.0; D]; PEERS]; STEPS];
        let expected = example.pooled();
        for masks in mask_graphs() {
            let stage = Stage { masks: Some(masks), ..example.stage(ring(PEERS).unwrap()) };
            let learner = example.learner(ErmVariant::MaskedGradient, quiet, silence());
            let model = stage.play(ENGINES[0], learner).model();
            close(&model, &expected[STEPS - 1], TOLERANCE, "no noise");
        }
    }
}
