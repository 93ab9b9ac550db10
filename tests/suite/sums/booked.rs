//! What is booked for parties that add up, against what their noise leaves: once for every addend,
//! however many relays and neighbours see it.

use std::sync::Arc;

use hushmesh::data::{LocalData, Partitioned};
use hushmesh::learn::{Clipping, Loss, Regulariser};
use hushmesh::privacy::{Exposure, MaskGraph, Mechanism, Pieces, PooledNoise, Sensitivity, Spent};
use hushmesh::protocol::federated::{
    FederatedLearner, FederatedParameters, FederatedVariant, Schedule,
};
use hushmesh::protocol::gradient_queries::{Algorithm, QueryLearner, QueryParameters, QueryStep};
use hushmesh::protocol::weighted_erm::{ErmLearner, ErmParameters, ErmVariant};
use hushmesh::protocol::{Problem, StepNoise};
use hushmesh::random::{Draws, Purpose, Streams};
use hushmesh::topology::{Topology, complete, path, ring, star};
use hushmesh::units::Seed;

use super::{ENGINES, Stage, dealt};

/// The hub has no data.
const SIZES: [usize; 5] = [0, 4, 1, 7, 8];
const N: f64 = 20.0;
const D: usize = 4;
const STEPS: u32 = 6;
const ETA: f64 = 0.5;
const LAMBDA: f64 = 0.1;
const MOVES: Sensitivity = Sensitivity { label: 0.5, record: 1.5 };
/// Of parts of noise: the own, and all together.
const NOISE: PooledNoise = PooledNoise { own: 0.25, all: 0.5 };
/// 5 · 2⁴² is above 2⁴⁴: a grid of 2⁻¹⁷, so coarse that it shows in what is booked.
const BOUND: f64 = 4_398_046_511_104.0;
const STEP_OF_GRID: f64 = 1.0 / 131_072.0;

fn drawn(purpose: Purpose) -> Draws {
    Draws::Streams(Streams::new(Seed(8), 0).family(purpose, 0))
}

fn data() -> Arc<Partitioned> {
    let all: usize = SIZES.iter().sum();
    let row = |i: usize| (0..D).map(|j| 0.5 * ((5 * i + j) as f64).sin()).collect();
    let rows: Vec<Vec<f64>> = (0..all).map(row).collect();
    let labels = (0..all).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    dealt(&rows, labels, &SIZES)
}

fn problem() -> Problem {
    Problem {
        loss: Loss::Logistic,
        regulariser: Regulariser::ridge(LAMBDA),
        clipping: Clipping::None,
        moves: MOVES,
        unprotected: Pieces::RECORD,
    }
}

fn graphs() -> [Topology; 4] {
    [star(5).unwrap(), path(5).unwrap(), ring(5).unwrap(), complete(5).unwrap()]
}

fn stage(topology: Topology) -> Stage {
    let noise = drawn(Purpose::SumNoise);
    Stage { noise, bound: BOUND, ..Stage::new(topology, data()) }
}

fn erm(variant: ErmVariant, shared: bool) -> impl Fn(usize, LocalData) -> ErmLearner {
    let parameters = Arc::new(ErmParameters {
        problem: problem(),
        variant,
        steps: STEPS,
        step: ETA,
        step_noise: StepNoise { draws: drawn(Purpose::StepNoise), shared },
        weight_noise: None,
        curator: drawn(Purpose::SumNoise),
    });
    // A curator adds all noise itself.
    let own = if variant == ErmVariant::Central { 0.0 } else { NOISE.own };
    let noise = PooledNoise { own, ..NOISE };
    move |id, data| ErmLearner::new(data, SIZES[id] as f64 / N, noise, Arc::clone(&parameters))
}

/// Σμ² of one kind of observer for (label, record), where nothing else was spent.
#[track_caller]
fn squares([label, record]: [&Spent; 2]) -> [f64; 2] {
    assert!(label.is_gaussian() && record.is_gaussian());
    [label.mu_squared(), record.mu_squared()]
}

/// Of all parties with data; those without have nothing to lose.
#[track_caller]
fn booked(exposures: &[Exposure], expected: impl Fn(f64) -> [[f64; 2]; 2]) {
    assert_eq!(exposures.len(), SIZES.len());
    for (exposure, &size) in exposures.iter().zip(&SIZES) {
        assert_eq!(exposure.clear, 0);
        let inside = squares([&exposure.label, &exposure.record]);
        let found = [inside, squares(exposure.outside())];
        let expected = if size == 0 { [[0.0; 2]; 2] } else { expected(size as f64) };
        for (found, expected) in found.as_flattened().iter().zip(expected.as_flattened()) {
            assert!((found - expected).abs() <= 1e-12 * expected, "{size}: {found} {expected}");
        }
    }
}

/// (label, record) against the other parties and against outsiders, of so many sums that move by this.
fn of_sums(count: f64, factor: f64, noise: PooledNoise) -> [[f64; 2]; 2] {
    let moved = |by: f64| by * factor + (D as f64).sqrt() * STEP_OF_GRID;
    let square = |by: f64, deviation: f64| count * (moved(by) / deviation).powi(2);
    [noise.own, noise.all]
        .map(|deviation| [square(MOVES.label, deviation), square(MOVES.record, deviation)])
}

/// One release of noise of its own per step: nobody else knows it, and there is one kind of observer.
fn of_own(count: f64, factor: f64, deviation: f64) -> [[f64; 2]; 2] {
    let square = |by: f64| count * (by * factor / deviation).powi(2);
    [[square(MOVES.label), square(MOVES.record)]; 2]
}

/// (1 − (1 − ηλ)^T)/λ by adding up: a difference of gradients in every step, each shrunk by the rest.
fn way() -> f64 {
    (0..STEPS).map(|later| ETA * (1.0 - ETA * LAMBDA).powi(later as i32)).sum()
}

#[test]
fn noise_in_sums_is_booked_once_a_round_for_both_observers() {
    for topology in graphs() {
        for masks in [None, Some(MaskGraph::AllPairs(5))] {
            let stage = Stage { masks, ..stage(topology.clone()) };
            for engine in ENGINES {
                let played = stage.play(engine, erm(ErmVariant::MaskedGradient, false));
                // A record of any party moves the mean by the same 1/n.
                for (row, count) in played.rows.iter().zip(1..) {
                    booked(&row.exposures, |_| of_sums(f64::from(count), 1.0 / N, NOISE));
                }
                let steps = f64::from(STEPS);
                let totals = &played.outcome.totals;
                booked(&totals.exposures, |_| of_sums(steps, 1.0 / N, NOISE));
                let played = stage.play(engine, erm(ErmVariant::MaskedOutput, false));
                let totals = &played.outcome.totals;
                booked(&totals.exposures, |_| of_sums(1.0, way() / N, NOISE));
            }
        }
    }
}

#[test]
fn noise_of_ones_own_is_booked_by_the_size_of_the_party() {
    for topology in graphs() {
        for exchanges in [None, Some(1), Some(4)] {
            let stage = Stage { exchanges, ..stage(topology.clone()) };
            for variant in [ErmVariant::Published, ErmVariant::Local] {
                let played = stage.play(ENGINES[1], erm(variant, false));
                let steps = f64::from(STEPS);
                let totals = &played.outcome.totals;
                booked(&totals.exposures, |size| of_own(steps, 1.0 / size, NOISE.own));
            }
            let played = stage.play(ENGINES[1], erm(ErmVariant::LocalOutput, false));
            let totals = &played.outcome.totals;
            booked(&totals.exposures, |size| of_own(1.0, way() / size, NOISE.own));
        }
    }
}

#[test]
fn noise_that_all_know_is_none() {
    let stage = stage(star(5).unwrap());
    let played = stage.play(ENGINES[1], erm(ErmVariant::Published, true));
    for (exposure, &size) in played.outcome.totals.exposures.iter().zip(&SIZES) {
        assert_eq!(exposure.clear, if size == 0 { 0 } else { u64::from(STEPS) });
        assert_eq!(exposure.record.is_unbounded(), size > 0);
        assert_eq!(exposure.outside()[1].is_unbounded(), size > 0);
    }
}

#[test]
fn a_curator_knows_everything_and_its_readers_what_its_noise_leaves() {
    let stage = stage(ring(5).unwrap());
    let played = stage.play(ENGINES[0], erm(ErmVariant::Central, false));
    let [_, expected] = of_sums(f64::from(STEPS), 1.0 / N, NOISE);
    for (exposure, &size) in played.outcome.totals.exposures.iter().zip(&SIZES) {
        assert_eq!(exposure.record.is_unbounded(), size > 0);
        let found = squares(exposure.outside());
        let expected = if size == 0 { [0.0; 2] } else { expected };
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-12 * expected, "{found} {expected}");
        }
    }
}

#[test]
fn blocks_of_local_steps_cost_as_much_as_their_steps_one_by_one() {
    for (local_steps, variant) in [1, 2, 4, 6]
        .into_iter()
        .flat_map(|k| [(k, FederatedVariant::Masked), (k, FederatedVariant::Published)])
    {
        let schedule = Schedule { strong: LAMBDA, smooth: 0.35, local_steps };
        let parameters = Arc::new(FederatedParameters {
            problem: problem(),
            variant,
            local_steps,
            total_steps: STEPS,
            schedule,
            step_noise: StepNoise { draws: drawn(Purpose::StepNoise), shared: false },
        });
        let stage = Stage { bound: 64.0, ..stage(path(5).unwrap()) };
        let played = stage.play(ENGINES[2], |id, data| {
            FederatedLearner::new(data, SIZES[id] as f64 / N, NOISE, Arc::clone(&parameters))
        });
        let steps = f64::from(STEPS);
        // μ² = T(D/σ)² whatever the blocks, a short last one included.
        booked(&played.outcome.totals.exposures, |size| match variant {
            FederatedVariant::Published => of_own(steps, 1.0 / size, NOISE.own),
            FederatedVariant::Masked => {
                let [inside, _] = of_own(steps, 1.0 / N, NOISE.own);
                let [outside, _] = of_own(steps, 1.0 / N, NOISE.all);
                [inside, outside]
            }
        });
    }
}

#[test]
fn answers_are_booked_by_their_mechanism() {
    const TRAJECTORIES: u32 = 4;
    let laplace = |size: f64| Mechanism::Laplace { scale: 0.7 / size };
    let gaussian = |size: f64| Mechanism::Gaussian { deviation: 0.7 / size };
    for topology in graphs() {
        for exchanges in [None, Some(2)] {
            let stage = Stage { exchanges, bound: 64.0, ..stage(topology.clone()) };
            let played = |mechanism: &dyn Fn(f64) -> Mechanism| {
                let parameters = Arc::new(QueryParameters {
                    problem: problem(),
                    algorithm: Algorithm::Descent(QueryStep::Constant(0.1)),
                    updates: STEPS,
                    // The spare one is paid for too.
                    queries: STEPS + 1,
                    side: None,
                    trajectories: TRAJECTORIES,
                    draws: drawn(Purpose::StepNoise),
                });
                let owner = |id: usize, data| {
                    let size = SIZES[id] as f64;
                    let mechanism = (size > 0.0).then(|| mechanism(size));
                    QueryLearner::new(id, data, size / N, mechanism, Arc::clone(&parameters))
                };
                stage.play(ENGINES[0], owner).outcome.totals.exposures
            };
            let (queries, trajectories) = (f64::from(STEPS + 1), f64::from(TRAJECTORIES));
            // In the 2-norm four answers move by twice one, in the 1-norm by four times.
            booked(&played(&gaussian), |_| of_own(queries, trajectories.sqrt(), 0.7));
            for (exposure, &size) in played(&laplace).iter().zip(&SIZES) {
                let count = if size == 0 { 0 } else { u64::from(STEPS) + 1 };
                let expected = Spent::laplace(trajectories * MOVES.record / 0.7).times(count);
                let alike = |a: &Spent, b: &Spent| {
                    (a.renyi(3.0) - b.renyi(3.0)).abs() <= 1e-12 * b.renyi(3.0)
                };
                assert!(alike(&exposure.record, &expected), "{:?} {expected:?}", exposure.record);
                assert!(alike(exposure.outside()[1], &expected));
                assert!(exposure.record.mu_squared() == 0.0);
            }
        }
    }
}
