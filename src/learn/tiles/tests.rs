use proptest::prelude::*;

use super::super::kernel::{Loop, on_avx2, on_portable, run};
use super::linear::LinearValues;
use super::relu::ReluValues;
use super::*;

const STEP: AdamStep = AdamStep { rate: 0.03, mean_decay: 0.9, square_decay: 0.99, floor: 1e-8 };

/// A net with its moments, rows, and what a step works with.
#[derive(Clone, Debug)]
struct Case {
    d: usize,
    weights: Vec<Eight>,
    mean: Vec<Eight>,
    square: Vec<Eight>,
    states: Vec<f64>,
    errors: Vec<(usize, f64)>,
    sums: [Vec<f64>; 2],
    slopes: [Vec<f64>; 2],
    units: Vec<Eight>,
    values: Vec<[f64; 2]>,
}

fn numbers(eights: &[Eight]) -> Vec<f64> {
    eights.iter().flat_map(|eight| eight.units().to_vec()).collect()
}

impl Case {
    fn new(d: usize, tiles: usize, rows: usize, seed: u32) -> Self {
        let mut at = f64::from(seed);
        let mut next = move || {
            at += 1.0;
            (at * 0.7).sin()
        };
        let size = tiles * Eight::per_tile(d);
        let mut eights = |from: f64| {
            (0..size)
                .map(|_| Eight([[(); 4]; 2].map(|half| half.map(|()| from + next()))))
                .collect()
        };
        let (weights, mean, square) = (eights(0.0), eights(0.0), eights(1.5));
        Self {
            d,
            weights,
            mean,
            square,
            states: (0..rows * d).map(|_| next()).collect(),
            errors: (0..rows).map(|row| (row * row % 2, next())).collect(),
            sums: [(); 2].map(|()| (0..=d).map(|_| next()).collect()),
            slopes: [(); 2].map(|()| (0..=d).map(|_| next()).collect()),
            units: vec![Eight::default(); tiles * rows],
            values: vec![[0.0; 2]; rows],
        }
    }

    /// Everything that may have changed.
    fn bits(&self) -> Vec<u64> {
        let eights = [&self.weights, &self.mean, &self.square, &self.units];
        let eights = eights.into_iter().flat_map(|eights| numbers(eights));
        let rest = self.slopes.concat().into_iter().chain(self.values.concat());
        eights.chain(rest).map(f64::to_bits).collect()
    }
}

/// On plain arrays, on what every processor has, on AVX2 where there is better, and on the widest registers of
/// this one.
#[derive(Clone, Copy, Debug)]
enum Way {
    Arrays,
    Portable,
    Avx2,
    Widest,
}

impl Way {
    fn run<L: Loop<Output = ()>>(self, work: L) {
        match self {
            Self::Arrays => work.run::<[f64; 4]>(),
            Self::Portable => on_portable(work),
            Self::Avx2 => on_avx2(work),
            Self::Widest => run(work),
        }
    }

    fn linear(self, case: &mut Case) {
        let Case { d, weights, mean, square, states, sums: [s0, s1], slopes, values, .. } = case;
        let [u0, u1] = slopes;
        self.run(LinearValues { states, slopes: [u0, u1], biases: [0.1, -0.2], values });
        let moving = Moving { step: STEP, weights, mean, square };
        let mut room = vec![Eight::default(); *d + 1];
        self.run(LinearStep { moving, sums: [s0, s1], slopes: [u0, u1], room: &mut room });
    }

    fn relu(self, case: &mut Case) {
        let Case { weights, mean, square, states, errors, units, values, .. } = case;
        self.run(ReluValues { weights, biases: [0.1, -0.2], states, units, values });
        let moving = Moving { step: STEP, weights, mean, square };
        self.run(ReluStep { moving, states, errors, units });
    }
}

#[test]
fn a_net_does_not_hide_that_a_state_is_no_number() {
    for by in [Way::linear, Way::relu] {
        let mut case = Case::new(3, 2, 2, 7);
        case.states[1] = f64::NAN;
        by(Way::Widest, &mut case);
        assert!(case.values[0].iter().all(|q| q.is_nan()), "{:?}", case.values);
    }
}

#[test]
fn no_rows_move_nothing() {
    let mut case = Case::new(3, 2, 1, 7);
    let before = numbers(&case.weights);
    (case.states, case.errors, case.values, case.units) = Default::default();
    Way::relu(Way::Widest, &mut case);
    assert_eq!(numbers(&case.weights), before);
}

proptest! {
    #[test]
    fn every_processor_gives_the_same_bits(
        d in 1_usize..20, tiles in 1_usize..4, rows in 1_usize..6, seed in 0_u32..1000,
    ) {
        for by in [Way::linear, Way::relu] {
            let bits = |way| {
                let mut case = Case::new(d, tiles, rows, seed);
                (0..3).for_each(|_| by(way, &mut case));
                case.bits()
            };
            for way in [Way::Portable, Way::Avx2, Way::Widest] {
                prop_assert_eq!(bits(Way::Arrays), bits(way), "{:?}", way);
            }
        }
    }

    #[test]
    fn a_step_without_activation_is_the_formula(
        d in 1_usize..20, tiles in 1_usize..4, seed in 0_u32..1000,
    ) {
        let before = Case::new(d, tiles, 1, seed);
        let mut found = before.clone();
        Way::Widest.linear(&mut found);
        let mut plain = before.clone();
        for at in (0..before.weights.len()).step_by(d + 3) {
            for unit in 0..Eight::UNITS {
                let w = |row: usize| before.weights[at + row].units()[unit];
                for row in 0..d + 3 {
                    let [s0, s1] = [&before.sums[0], &before.sums[1]];
                    let g = if row <= d {
                        s0[row] * w(d + 1) + s1[row] * w(d + 2)
                    } else {
                        let s = &before.sums[row - d - 1];
                        s.iter().enumerate().fold(0.0, |sum, (row, s)| sum + s * w(row))
                    };
                    let Case { weights, mean, square, .. } = &mut plain;
                    STEP.take(
                        g,
                        &mut weights[at + row].units_mut()[unit],
                        &mut mean[at + row].units_mut()[unit],
                        &mut square[at + row].units_mut()[unit],
                    );
                }
            }
        }
        prop_assert_eq!(&found.weights, &plain.weights);
        prop_assert_eq!(&found.mean, &plain.mean);
        prop_assert_eq!(&found.square, &plain.square);
        let [slopes0, slopes1] = &mut plain.slopes;
        fold(&plain.weights, [slopes0, slopes1]);
        prop_assert_eq!(&found.slopes, &plain.slopes);
    }
}
