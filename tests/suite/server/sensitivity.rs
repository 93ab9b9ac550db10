//! How far one record moves what is summed, against what is booked for it.
//!
//! Two runs with neighbouring samples; before each sum the second one's tape is moved so that both have
//! the same model, as if it were public. Then the sums may differ by what the ledger has booked for noise
//! of deviation 1.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hushmesh::data::{LocalData, Partitioned};
use hushmesh::learn::{Clipping, Loss, Regulariser, axpy};
use hushmesh::network::{
    Engine, Flow, Links, NetworkConfig, Schedule as Measured, run as run_peers,
};
use hushmesh::privacy::{Exposure, Grid, Mechanism, Pieces, PooledNoise};
use hushmesh::protocol::federated::{
    FederatedLearner, FederatedParameters, FederatedVariant, Schedule,
};
use hushmesh::protocol::gradient_queries::{Algorithm, QueryLearner, QueryParameters, QueryStep};
use hushmesh::protocol::party::{Learner, Party, Sum};
use hushmesh::protocol::weighted_erm::{ErmLearner, ErmParameters, ErmVariant};
use hushmesh::protocol::{Problem, StepNoise, Weights, sample_moves};
use hushmesh::random::{Draws, Streams, Tape};
use hushmesh::topology::{SpanningTree, path};
use hushmesh::units::{Delta, PeerId, Round, Seed};
use ndarray::Array2;
use proptest::prelude::*;

use crate::walk::Keeper;

const D: usize = 3;

/// x and y.
type Record = ([f64; D], f64);

/// What is added to each sum.
type Noise = Vec<[f64; D]>;

/// What is released.
#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    /// The mean gradient, in each of so many sums.
    Gradients(u32),
    /// The models after so many steps.
    Models(u32),
    /// The models after blocks of 3, 3 and 1 steps.
    Blocks,
    /// Answers to so many queries, with Gaussian or with Laplace noise.
    Answers(u32, Norm),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Norm {
    L1,
    L2,
}

/// What is the same in both runs.
#[derive(Clone, Debug)]
struct Setting {
    what: What,
    rows: Vec<usize>,
    loss: Loss,
    clipping: Clipping,
    weights: Weights,
    step: f64,
    ridge: f64,
}

/// The models after each sum, and what is booked of each party.
type Played = (Vec<Vec<f64>>, Vec<Exposure>);

const SCHEDULE: Schedule = Schedule { strong: 0.1, smooth: 1.1, local_steps: 3 };
const BLOCKS: [&[u32]; 3] = [&[1, 2, 3], &[4, 5, 6], &[7]];

impl Setting {
    fn sums(&self) -> u32 {
        match self.what {
            What::Gradients(sums) | What::Answers(sums, _) => sums,
            What::Models(_) => 1,
            What::Blocks => 3,
        }
    }

    fn norm(&self) -> Norm {
        if let What::Answers(_, norm) = self.what { norm } else { Norm::L2 }
    }

    fn problem(&self) -> Problem {
        // |x|₁ ≤ √d where |x|₂ ≤ 1.
        let reach = if self.norm() == Norm::L1 { (D as f64).sqrt() } else { 1.0 };
        Problem {
            loss: self.loss,
            regulariser: Regulariser { ridge: self.ridge, sine: 0.0 },
            clipping: self.clipping,
            moves: sample_moves(self.loss, self.clipping, reach).expect("bounded gradients"),
            unprotected: Pieces::RECORD,
        }
    }

    /// The runs with this on the tape of the first party, and nothing on those of others.
    fn play(&self, records: &[Record], noise: &Noise) -> Played {
        let mut tape = Tape::default();
        for (round, numbers) in (1..).zip(noise) {
            for party in 0..self.rows.len() as u64 {
                let numbers = numbers.map(|number| if party == 0 { number } else { 0.0 });
                let pairs = numbers.into_iter().flat_map(|number| [number, 0.0]).collect();
                let laplace = self.norm() == Norm::L1;
                let numbers = if laplace { pairs } else { numbers.to_vec() };
                tape.record(party, round, numbers);
            }
        }
        let draws = Draws::Tape(Arc::new(tape));
        let weights = self.weights.of(&self.rows);
        let (problem, unit) = (self.problem(), PooledNoise { own: 1.0, all: 1.0 });
        let step_noise = StepNoise { draws: draws.clone(), shared: false };
        match self.what {
            What::Gradients(steps) | What::Models(steps) => {
                let sums_gradients = matches!(self.what, What::Gradients(_));
                let parameters = Arc::new(ErmParameters {
                    problem,
                    variant: if sums_gradients {
                        ErmVariant::MaskedGradient
                    } else {
                        ErmVariant::MaskedOutput
                    },
                    steps,
                    step: self.step,
                    step_noise,
                    weight_noise: None,
                    curator: draws.clone(),
                });
                self.run(records, &draws, |id, data| {
                    ErmLearner::new(data, weights[id], unit, Arc::clone(&parameters))
                })
            }
            What::Blocks => {
                let parameters = Arc::new(FederatedParameters {
                    problem,
                    variant: FederatedVariant::Masked,
                    local_steps: 3,
                    total_steps: 7,
                    schedule: SCHEDULE,
                    step_noise,
                });
                self.run(records, &draws, |id, data| {
                    FederatedLearner::new(data, weights[id], unit, Arc::clone(&parameters))
                })
            }
            What::Answers(queries, norm) => {
                let parameters = Arc::new(QueryParameters {
                    problem,
                    algorithm: Algorithm::Descent(QueryStep::Constant(self.step)),
                    updates: queries,
                    queries,
                    side: None,
                    trajectories: 1,
                    draws: draws.clone(),
                });
                let mechanism = match norm {
                    Norm::L1 => Mechanism::Laplace { scale: 1.0 },
                    Norm::L2 => Mechanism::Gaussian { deviation: 1.0 },
                };
                self.run(records, &draws, |id, data| {
                    QueryLearner::new(id, data, weights[id], Some(mechanism), parameters.clone())
                })
            }
        }
    }

    fn run<L: Learner>(
        &self,
        records: &[Record],
        draws: &Draws,
        learner: impl Fn(usize, LocalData) -> L,
    ) -> Played {
        let mut offsets = vec![0];
        offsets.extend(self.rows.iter().scan(0, |end, rows| {
            *end += rows;
            Some(*end)
        }));
        let x = records.iter().flat_map(|(x, _)| *x).collect();
        let x = Array2::from_shape_vec((records.len(), D), x).unwrap();
        let y = records.iter().map(|(_, y)| *y).collect();
        let data = Arc::new(Partitioned::new(x, y, offsets));
        let topology = path(self.rows.len()).unwrap();
        let tree = SpanningTree::of(&topology, PeerId(0)).unwrap();
        let sum = Arc::new(Sum {
            exchanges: 1,
            grid: Grid::new(self.rows.len(), 4096.0),
            noise: draws.clone(),
            parties: self.rows.len(),
        });
        let peers = topology.ids().map(|id| {
            let data = LocalData::new(Arc::clone(&data), id);
            let near = topology.neighbours(id);
            let branch = Some(tree.branch(id));
            Party::new(learner(id.index(), data), near, branch, None, Arc::clone(&sum))
        });
        let mut models = Vec::new();
        let outcome = run_peers(
            Engine::Simulated { workers: 1 },
            &topology,
            &Links::new(&NetworkConfig::default(), &topology, &Streams::new(Seed(1), 0)),
            peers.collect(),
            (&Keeper, Measured::of_peers(1, Round(self.sums()))),
            &AtomicBool::new(false),
            &mut |row| {
                models.push(row.state(PeerId(0)).to_vec());
                Flow::Continue
            },
        );
        (models, outcome.unwrap().totals.exposures)
    }

    /// What one unit on the tape of the first party does to the model of a sum.
    fn unit(&self, sum: usize) -> f64 {
        match self.what {
            What::Gradients(_) => -self.step,
            What::Models(_) => 1.0,
            What::Blocks => {
                let block = BLOCKS[sum];
                let way: f64 = block.iter().map(|&t| SCHEDULE.step(t)).sum();
                way / (block.len() as f64).sqrt()
            }
            What::Answers(..) => -self.step * self.weights.of(&self.rows)[0],
        }
    }

    /// What a step of the sum's model is worth in the released value of a party.
    fn scale(&self, sum: usize, party: usize) -> f64 {
        match self.what {
            What::Answers(..) => self.step * self.weights.of(&self.rows)[party],
            _ => self.unit(sum).abs(),
        }
    }

    /// For each sum, how far the record moved it as a share of what is booked for a record, and for
    /// a label.
    fn moved(&self, records: &[Record], other: &[Record], noise: &Noise) -> Vec<[f64; 2]> {
        let place = (0..records.len()).find(|&row| records[row] != other[row]).unwrap_or(0);
        let mut end = 0;
        let party = self.rows.iter().position(|rows| {
            end += rows;
            place < end
        });
        let party = party.expect("a party that holds the record");
        let (expected, exposures) = self.play(records, noise);
        let booked = self.booked(&exposures[party]);
        let mut moved = noise.clone();
        let mut shares = Vec::new();
        for sum in 0..self.sums() as usize {
            let (found, _) = self.play(other, &moved);
            let mut apart = found[sum].clone();
            axpy(-1.0, &expected[sum], &mut apart);
            let length = match self.norm() {
                Norm::L1 => apart.iter().map(|by| by.abs()).sum::<f64>(),
                Norm::L2 => apart.iter().map(|by| by * by).sum::<f64>().sqrt(),
            };
            // Σμ² of a block is that of its steps.
            let steps = if self.what == What::Blocks { BLOCKS[sum].len() as f64 } else { 1.0 };
            let length = length / self.scale(sum, party) / steps.sqrt();
            shares.push(booked.map(|booked| length / booked));
            let unit = self.unit(sum);
            moved[sum].iter_mut().zip(&apart).for_each(|(tape, by)| *tape -= by / unit);
        }
        shares
    }

    /// What is booked for one release where noise has deviation, or scale, 1: of a record, of a label.
    fn booked(&self, exposure: &Exposure) -> [f64; 2] {
        let releases = if self.what == What::Blocks { 7.0 } else { f64::from(self.sums()) };
        [&exposure.record, &exposure.label].map(|spent| match self.norm() {
            Norm::L1 => spent.bound(Delta(1e-250)).epsilon.0 / releases,
            Norm::L2 => (spent.mu_squared() / releases).sqrt(),
        })
    }
}

fn record() -> impl Strategy<Value = Record> {
    let length = prop_oneof![Just(1.0), 0.0..1.0_f64];
    (prop::array::uniform3(-1.0..1.0_f64), length, any::<bool>()).prop_map(|(x, length, class)| {
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-9);
        (x.map(|x| x / norm * length * (1.0 - 1e-12)), if class { 1.0 } else { -1.0 })
    })
}

fn setting() -> impl Strategy<Value = Setting> {
    let what = prop::sample::select(vec![
        What::Gradients(3),
        What::Models(1),
        What::Models(9),
        What::Blocks,
        What::Answers(3, Norm::L1),
        What::Answers(3, Norm::L2),
    ]);
    let loss = prop::sample::select(vec![Loss::Logistic, Loss::Squared, Loss::Hinge]);
    let weights = prop::sample::select(vec![Weights::Samples, Weights::Uniform]);
    let rows = prop::collection::vec(1_usize..5, 1..4);
    let clip = prop_oneof![Just(None), (0.05..1.5_f64).prop_map(Some)];
    (what, rows, loss, clip, weights, 0.05..=1.0_f64, any::<bool>()).prop_map(
        |(what, rows, loss, clip, weights, share, regularised)| {
            let answers = matches!(what, What::Answers(..));
            let loss = if loss == Loss::Hinge && !answers { Loss::Logistic } else { loss };
            let clip = if loss == Loss::Squared { Some(clip.unwrap_or(1.0)) } else { clip };
            let cut = |most| if answers { Clipping::Slope(most) } else { Clipping::Norm(most) };
            let ridge = match what {
                What::Blocks => SCHEDULE.strong,
                _ if regularised => 0.2,
                _ => 0.0,
            };
            // Up to the longest step that brings no two models further apart.
            let step = share / (1.0 + ridge);
            let clipping = clip.map_or(Clipping::None, cut);
            Setting { what, rows, loss, clipping, weights, step, ridge }
        },
    )
}

fn cases() -> impl Strategy<Value = (Setting, Vec<Record>, usize, Record, Noise)> {
    let scale = prop_oneof![Just(0.0), Just(1.0), Just(60.0)];
    (setting(), scale).prop_flat_map(|(setting, scale)| {
        let records = setting.rows.iter().sum::<usize>();
        let sums = setting.sums() as usize;
        let tape = prop::collection::vec(prop::array::uniform3(-scale..=scale), sums);
        (Just(setting), prop::collection::vec(record(), records), 0..records, record(), tape)
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn no_record_moves_a_sum_further_than_is_booked(
        (setting, records, place, by, tape) in cases(),
    ) {
        let mut other = records.clone();
        other[place] = by;
        for [record, _] in setting.moved(&records, &other, &tape) {
            prop_assert!(record <= 1.0 + 1e-6, "{} of what is booked", record);
        }
    }

    #[test]
    fn no_label_moves_a_sum_further_than_is_booked(
        (setting, records, place, _, tape) in cases(),
    ) {
        let mut other = records.clone();
        other[place].1 *= -1.0;
        for [_, label] in setting.moved(&records, &other, &tape) {
            prop_assert!(label <= 1.0 + 1e-6, "{} of what is booked", label);
        }
    }
}

fn plain(what: What, loss: Loss, clipping: Clipping) -> Setting {
    let weights = Weights::Samples;
    Setting { what, rows: vec![2, 4], loss, clipping, weights, step: 0.5, ridge: 0.0 }
}

fn still(sums: usize) -> Noise {
    vec![[0.0; D]; sums]
}

/// The least share of what is booked for a record that a change reaches, over all sums.
fn reached(setting: &Setting, records: &[Record], other: &[Record], noise: &Noise) -> f64 {
    let moved = setting.moved(records, other, noise);
    moved.into_iter().map(|[record, _]| record).fold(f64::INFINITY, f64::min)
}

#[test]
fn opposite_records_reach_what_is_booked_where_gradients_are_cut() {
    // Cut to G = 1/20, the gradients of e₀ and −e₀ differ by 2G as long as the slope is no less.
    let cut = Clipping::Norm(0.05);
    let records = vec![([0.0; D], 1.0); 6];
    for (place, ridge) in [(0, 0.0), (0, 0.2), (3, 0.0), (3, 0.2)] {
        for what in [What::Gradients(3), What::Models(1), What::Models(9), What::Blocks] {
            for loss in [Loss::Logistic, Loss::Squared] {
                let ridge = if what == What::Blocks { SCHEDULE.strong } else { ridge };
                let setting = Setting { ridge, ..plain(what, loss, cut) };
                let (mut one, mut other) = (records.clone(), records.clone());
                one[place] = ([1.0, 0.0, 0.0], 1.0);
                other[place] = ([-1.0, 0.0, 0.0], 1.0);
                let share = reached(&setting, &one, &other, &still(setting.sums() as usize));
                // A ridge brings models together within a block, for which nothing is taken off.
                let least = if what == What::Blocks { 0.85 } else { 1.0 - 1e-6 };
                assert!((least..=1.0 + 1e-6).contains(&share), "{what:?}, {loss:?}: {share}");
            }
        }
    }
}

#[test]
fn another_label_reaches_what_is_booked_for_it() {
    // A logistic gradient moves by |x| wherever the model is; cut, it turns round.
    let mut records = vec![([0.0; D], 1.0); 6];
    records[4] = ([0.6, 0.0, 0.8], 1.0);
    let mut other = records.clone();
    other[4].1 = -1.0;
    let tape = vec![[3.0, -2.0, 1.0], [40.0, 0.0, -20.0], [1.0, 1.0, 1.0]];
    for what in [What::Gradients(3), What::Answers(3, Norm::L2)] {
        let setting = plain(what, Loss::Logistic, Clipping::None);
        for [_, label] in setting.moved(&records, &other, &tape) {
            assert!((label - 1.0).abs() < 1e-6, "{what:?}: {label}");
        }
    }
    let setting = plain(What::Models(9), Loss::Logistic, Clipping::Norm(0.05));
    for [record, label] in setting.moved(&records, &other, &still(1)) {
        assert!((label - 1.0).abs() < 1e-6 && (record - 1.0).abs() < 1e-6, "{label}, {record}");
    }
}

#[test]
fn far_out_two_records_nearly_reach_what_is_booked_for_any_gradient() {
    // At w = −1000 e₀, by the noise of the first sum, both push with all their weight into opposite
    // directions.
    let a = 0.05_f64;
    let across = (1.0 - a * a).sqrt();
    for what in [What::Gradients(3), What::Answers(3, Norm::L2)] {
        let setting = plain(what, Loss::Logistic, Clipping::None);
        let mut records = vec![([1.0, 0.0, 0.0], 1.0); 6];
        records[1] = ([-a, across, 0.0], -1.0);
        let mut other = records.clone();
        other[1] = ([-a, -across, 0.0], -1.0);
        let mut tape = still(3);
        tape[0][0] = -1000.0 / setting.unit(0).abs() * setting.unit(0).signum();
        let shares = setting.moved(&records, &other, &tape);
        for [record, _] in &shares[1..] {
            assert!((0.99..=1.0 + 1e-6).contains(record), "{what:?}: {shares:?}");
        }
    }
}

#[test]
fn answers_reach_what_is_booked_in_either_norm() {
    let side = 1.0 / (D as f64).sqrt();
    for (norm, x) in [(Norm::L2, [0.0, 0.6, 0.8]), (Norm::L1, [side, -side, side])] {
        for place in [1, 5] {
            let setting = plain(What::Answers(1, norm), Loss::Hinge, Clipping::None);
            let mut records = vec![([0.0; D], 1.0); 6];
            records[place] = (x, 1.0);
            let mut other = records.clone();
            other[place].1 = -1.0;
            let shares = setting.moved(&records, &other, &still(1));
            for share in shares.into_iter().flatten() {
                assert!((share - 1.0).abs() < 1e-6, "{norm:?}, {place}: {share}");
            }
        }
    }
}
