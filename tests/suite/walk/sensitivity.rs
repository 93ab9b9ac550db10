//! How far one record moves what is released, against what is booked for it.
//!
//! Two runs with neighbouring samples and the same tape agree up to the first release that the record
//! takes part in. There they may differ by the booked sensitivity at the most: μ in units of the noise
//! that was added, which is measured by moving the tape.

use std::sync::Arc;

use hushmesh::data::Partitioned;
use hushmesh::learn::{Loss, Tasks, distance};
use hushmesh::network::Engine;
use hushmesh::policy::Action;
use hushmesh::protocol::walk_sgd::StepSize;
use hushmesh::random::{Draws, Tape};
use hushmesh::topology::{Walk, path};
use hushmesh::units::PeerId;
use ndarray::Array2;
use proptest::prelude::*;

use super::{Stage, script};

const D: usize = 3;
const MULTIPLIER: f64 = 0.7;
const ENGINE: Engine = Engine::Simulated { workers: 1 };

/// x and y.
type Record = ([f64; D], f64);

/// A tape's numbers by update.
type Noise = Vec<[f64; D]>;

/// What is the same in both runs.
#[derive(Clone, Debug)]
struct Setting {
    rows: Vec<usize>,
    batch: u32,
    passes: u32,
    step: StepSize,
    ridge: f64,
    scripts: Vec<Vec<Action>>,
    radius: Option<f64>,
}

impl Setting {
    fn stage(&self, records: &[Record], noise: &Noise) -> Stage {
        let mut offsets = vec![0];
        offsets.extend(self.rows.iter().scan(0, |end, rows| {
            *end += rows;
            Some(*end)
        }));
        let x = records.iter().flat_map(|(x, _)| *x).collect();
        let x = Array2::from_shape_vec((records.len(), D), x).unwrap();
        let data = Partitioned::new(x, records.iter().map(|(_, y)| *y).collect(), offsets);
        let topology = path(self.rows.len()).unwrap();
        let shape = (Walk::Simple, self.batch, self.passes, 0.1);
        let mut stage = Stage::new(topology, data, Tasks::One, shape);
        stage.scripts.clone_from(&self.scripts);
        let mut tape = Tape::default();
        for (t, numbers) in (1..).zip(noise) {
            tape.record(0, t, numbers.to_vec());
        }
        let parameters = &mut stage.parameters;
        parameters.tokens[0].0 = PeerId(0);
        parameters.loss = Loss::Logistic;
        (parameters.step, parameters.ridge) = (self.step, self.ridge);
        parameters.radius = self.radius;
        parameters.noise = Some((MULTIPLIER, vec![Draws::Tape(Arc::new(tape))]));
        stage
    }

    fn updates(&self) -> usize {
        let rows = self.rows.iter().copied();
        hushmesh::protocol::walk_sgd::WalkParameters::updates_of(rows, self.batch, self.passes)
            as usize
    }

    /// The iterates, and the largest Σμ² that the ledger has.
    fn iterates(&self, records: &[Record], noise: &Noise) -> (Vec<Vec<f64>>, f64) {
        let played = self.stage(records, noise).play(ENGINE);
        let booked = played.outcome.totals.exposures.iter().map(|peer| peer.record.mu_squared());
        let booked = booked.fold(0.0, f64::max);
        (played.rows.into_iter().map(|row| row.scored).collect(), booked)
    }

    /// How far the first release that the change concerns moved, as a share of what is booked for it.
    /// None where nothing moved.
    fn moved(&self, records: &[Record], other: &[Record], noise: &Noise) -> Option<f64> {
        let (before, booked) = self.iterates(records, noise);
        let (after, _) = self.iterates(other, noise);
        let at = (0..before.len()).find(|&t| before[t] != after[t])?;
        // One unit more on the tape there.
        let mut louder = noise.clone();
        louder[at][0] += 1.0;
        let (louder, _) = self.iterates(records, &louder);
        let deviation = distance(&before[at], &louder[at]);
        let mu = 1.0 / MULTIPLIER;
        assert!(booked >= mu * mu * (1.0 - 1e-12), "{booked} is booked for a release of {mu}");
        Some(distance(&before[at], &after[at]) / (mu * deviation))
    }
}

fn record() -> impl Strategy<Value = Record> {
    let length = prop_oneof![Just(1.0), 0.0..1.0_f64];
    (prop::array::uniform3(-1.0..1.0_f64), length, any::<bool>()).prop_map(|(x, length, class)| {
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-9);
        (x.map(|x| x / norm * length * (1.0 - 1e-12)), if class { 1.0 } else { -1.0 })
    })
}

fn setting(decides: bool) -> impl Strategy<Value = Setting> {
    let rows = prop::collection::vec(1_usize..9, 1..3);
    // Up to the longest step that brings no two models further apart.
    let step = prop_oneof![
        (0.01..=1.0_f64).prop_map(StepSize::Constant),
        (0.01..=1.0_f64).prop_map(StepSize::InverseSqrt),
        Just(StepSize::StronglyConvex),
    ];
    let actions = prop::collection::vec(prop::bool::weighted(0.35), 64);
    (rows, 1_u32..5, 1_u32..4, step, 0.01..0.5_f64, actions).prop_map(
        move |(rows, batch, passes, step, ridge, actions)| {
            let longest = 1.0 / (0.25 + ridge);
            let step = match step {
                StepSize::Constant(share) => StepSize::Constant(share * longest),
                StepSize::InverseSqrt(share) => StepSize::InverseSqrt(share * longest),
                strongly => strongly,
            };
            let action = |global: &bool| if *global { Action::Global } else { Action::Local };
            let actions: Vec<Action> = actions.iter().map(action).collect();
            let scripts = if decides { vec![actions; rows.len()] } else { Vec::new() };
            Setting { rows, batch, passes, step, ridge, scripts, radius: None }
        },
    )
}

fn cases(decides: bool) -> impl Strategy<Value = (Setting, Vec<Record>, usize, Record, Noise)> {
    let scale = prop_oneof![Just(0.0), Just(1.0), Just(30.0)];
    (setting(decides), scale).prop_flat_map(|(setting, scale)| {
        let records = setting.rows.iter().sum::<usize>();
        let tape = prop::collection::vec(prop::array::uniform3(-scale..=scale), setting.updates());
        (Just(setting), prop::collection::vec(record(), records), 0..records, record(), tape)
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn no_record_moves_an_update_further_than_is_booked(
        (setting, records, place, by, tape) in cases(false),
    ) {
        let mut other = records.clone();
        other[place] = by;
        let moved = setting.moved(&records, &other, &tape).unwrap_or(0.0);
        prop_assert!(moved <= 1.0 + 1e-6, "{} of what is booked", moved);
    }

    #[test]
    fn nor_what_is_released_after_local_steps(
        (setting, records, place, by, tape) in cases(true),
    ) {
        let mut other = records.clone();
        other[place] = by;
        let moved = setting.moved(&records, &other, &tape).unwrap_or(0.0);
        prop_assert!(moved <= 1.0 + 1e-6, "{} of what is booked", moved);
    }
}

/// Where w = 1000 e₀, by the noise of the first update, both records push with all their weight, into
/// opposite directions.
fn nearly_reached(setting: &Setting, place: usize) -> f64 {
    let a = 0.05_f64;
    let across = (1.0 - a * a).sqrt();
    let mut records = vec![([1.0, 0.0, 0.0], 1.0); setting.rows.iter().sum()];
    records[place] = ([-a, across, 0.0], 1.0);
    let mut other = records.clone();
    other[place] = ([-a, -across, 0.0], 1.0);
    let mut tape = vec![[0.0; D]; setting.updates()];
    let b = f64::from(setting.batch);
    let deviation = MULTIPLIER * 2.0 * setting.step.at(1, setting.ridge) / b;
    tape[0][0] = 1000.0 / deviation;
    setting.moved(&records, &other, &tape).expect("a release that moved")
}

#[test]
fn the_worst_records_nearly_reach_what_is_booked() {
    let plain = Setting {
        rows: vec![6],
        batch: 2,
        passes: 1,
        step: StepSize::Constant(0.5),
        ridge: 0.0,
        scripts: Vec::new(),
        radius: None,
    };
    for (passes, letters, place) in [
        // In an update of the token; of the own model, right before and long before the release.
        (1, "", 2),
        (1, "GLG", 2),
        (1, "GLG", 4),
        (2, "GLLLLG", 2),
        (2, "GLLLLG", 4),
        // Once in the own model and once in the token's, of the same release.
        (2, "GLLLGG", 2),
    ] {
        let scripts = if letters.is_empty() { Vec::new() } else { vec![script(letters)] };
        let setting = Setting { passes, scripts, ..plain.clone() };
        let moved = nearly_reached(&setting, place);
        assert!((0.99..=1.0 + 1e-6).contains(&moved), "{letters}, {place}: {moved}");
    }
}

#[test]
fn a_longer_step_than_the_lemma_allows_tears_models_apart() {
    // Far beyond 2/(smoothness), a local step stretches what a record has moved: the lemma is needed.
    let setting = Setting {
        rows: vec![3],
        batch: 1,
        passes: 1,
        step: StepSize::Constant(40.0),
        ridge: 0.0,
        scripts: vec![script("LLG")],
        radius: None,
    };
    let still = ([1.0, 0.0, 0.0], 1.0);
    let records = vec![([0.001, 0.0, 0.0], 1.0), still, ([0.0, 1.0, 0.0], 1.0)];
    let mut other = records.clone();
    other[0] = ([-0.001, 0.0, 0.0], 1.0);
    let tape = vec![[0.0; D]; 3];
    // The first record is tiny: it moves what is released by its own little, times the stretch.
    let moved = setting.moved(&records, &other, &tape).unwrap();
    let own = 0.001;
    assert!(moved > 5.0 * own, "{moved}");
}
