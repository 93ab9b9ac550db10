//! The net, its memory and its learner.

use serde::Deserialize;

use super::super::deep_q::Learner;
use super::super::net::{Batch, Net, Optimiser, Shape};
use super::super::replay::Replay;
use super::*;
use crate::learn::tiles::Eight;

type Matrices = Vec<Vec<Vec<f64>>>;

#[derive(Deserialize)]
#[expect(non_snake_case, reason = "the names of the golden file")]
struct Golden {
    W1: Matrices,
    W2: Matrices,
    S: Matrices,
    A: Vec<Vec<usize>>,
    r: Vec<Vec<f64>>,
    S_next: Matrices,
    gamma: f64,
    Q: Matrices,
    target: Vec<Vec<f64>>,
    #[serde(rename = "after_3_adam_steps_lr0.01_fixed_target")]
    after: After,
}

#[derive(Deserialize)]
#[expect(non_snake_case, reason = "the names of the golden file")]
struct After {
    W1: Matrices,
    b1: Matrices,
    W2: Matrices,
    b2: Matrices,
    Q: Matrices,
}

/// The weights of such matrices, W₁, b₁, W₂ and b₂; the file has W₂ by hidden units.
fn flat(w1: &[Vec<f64>], b1: &[f64], w2: &[Vec<f64>], b2: &[f64]) -> Vec<f64> {
    let outputs = (0..2).flat_map(|action| w2.iter().map(move |row| row[action]));
    w1.concat().into_iter().chain(b1.iter().copied()).chain(outputs).chain(b2.to_vec()).collect()
}

/// Every weight of a net in that order.
fn each(net: &mut Net, shape: Shape, mut change: impl FnMut(&mut f64)) {
    for row in 0..shape.inputs + 3 {
        (0..shape.hidden).for_each(|unit| change(net.weight(row, unit)));
    }
    net.biases.iter_mut().for_each(change);
    net.fold();
}

fn weights(net: &Net, shape: Shape) -> Vec<f64> {
    let mut all = Vec::new();
    each(&mut net.clone(), shape, |w| all.push(*w));
    all
}

fn set(net: &mut Net, shape: Shape, weights: &[f64]) {
    let mut weights = weights.iter();
    each(net, shape, |w| *w = *weights.next().unwrap());
    assert_eq!(weights.next(), None);
}

fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-10, "{found} where {expected} was expected");
    }
}

fn put_all(batch: &mut Batch, states: &[Vec<f64>]) {
    batch.rows = states.len();
    states.iter().enumerate().for_each(|(row, state)| batch.put(row, state));
}

#[test]
fn the_golden_net_has_its_values_targets_and_steps() {
    let golden: Golden =
        serde_json::from_str(include_str!("../../../tests/golden/dqn.json")).unwrap();
    let shape = Shape { inputs: 4, hidden: 3, activation: Activation::Linear };
    let mut net = Net::new(shape, &mut stream(0));
    set(&mut net, shape, &flat(&golden.W1[0], &[0.0; 3], &golden.W2[0], &[0.0; 2]));
    // A batch that has room for more than it is used for.
    let mut batch = Batch::new(shape, 5);
    put_all(&mut batch, &golden.S[0]);
    net.evaluate(&mut batch);
    assert_near(&batch.values.concat()[..6], &golden.Q[0].concat());
    put_all(&mut batch, &golden.S_next[0]);
    net.evaluate(&mut batch);
    for (row, expected) in golden.target[0].iter().enumerate() {
        let action = [Action::Local, Action::Global][golden.A[0][row]];
        let target = batch.aim(row, action, golden.r[0][row], golden.gamma);
        assert_near(&[target], &[*expected]);
    }
    put_all(&mut batch, &golden.S[0]);
    let mut optimiser = Optimiser::new(Adam::default(), shape.weights());
    for _ in 0..3 {
        net.fit(&mut batch, &mut optimiser);
    }
    let after = &golden.after;
    let expected = flat(&after.W1[0], &after.b1[0][0], &after.W2[0], &after.b2[0][0]);
    assert_near(&weights(&net, shape), &expected);
    net.evaluate(&mut batch);
    assert_near(&batch.values.concat()[..6], &after.Q[0].concat());
}

#[test]
fn the_gradient_is_that_of_finite_differences() {
    for activation in [Activation::Linear, Activation::Relu] {
        let (inputs, hidden, rows) = (3, 11, 4);
        let mut stream = stream(20);
        let shape = Shape { inputs, hidden, activation };
        let mut net = Net::new(shape, &mut stream);
        // Biases too: at zero they would hide a mistake.
        each(&mut net, shape, |w| *w += stream.random_range(-0.3..0.3));
        let mut batch = Batch::new(shape, rows);
        let states: Vec<Vec<f64>> = (0..rows)
            .map(|_| (0..inputs).map(|_| stream.random_range(-1.0..1.0)).collect())
            .collect();
        let actions = [Action::Global, Action::Local, Action::Global, Action::Global];
        put_all(&mut batch, &states);
        let targets: Vec<f64> =
            (0..rows).map(|row| batch.aim(row, actions[row], row as f64 - 0.7, 0.0)).collect();
        let loss = |weights: &[f64]| {
            let mut moved = net.clone();
            set(&mut moved, shape, weights);
            let mut batch = Batch::new(shape, rows);
            put_all(&mut batch, &states);
            moved.evaluate(&mut batch);
            let errors =
                (0..rows).map(|row| batch.values[row][actions[row] as usize] - targets[row]);
            errors.map(|error| error * error).sum::<f64>() / rows as f64
        };
        let start = weights(&net, shape);
        let slope = |i: usize| {
            let at = |shift| {
                let mut weights = start.clone();
                weights[i] += shift;
                loss(&weights)
            };
            (at(1e-5) - at(-1e-5)) / 2e-5
        };
        let expected: Vec<f64> = (0..start.len()).map(slope).collect();
        // The first mean is the gradient, but for Adam's factor.
        let mut optimiser = Optimiser::new(Adam::default(), shape.weights());
        let mut fitted = net.clone();
        fitted.fit(&mut batch, &mut optimiser);
        let of_moments = |moments: &[Eight], biases| {
            let mut net = net.clone();
            net.weights.copy_from_slice(moments);
            net.biases = biases;
            weights(&net, shape)
        };
        let mean = of_moments(&optimiser.mean, optimiser.biases[0]);
        let square = of_moments(&optimiser.square, optimiser.biases[1]);
        for (i, expected) in expected.into_iter().enumerate() {
            let found = mean[i];
            assert!((found - expected).abs() < 1e-7, "{activation:?} {i}: {found}, {expected}");
            assert!((square[i] - found * found).abs() < 1e-9);
        }
        assert!(mean.iter().filter(|mean| **mean != 0.0).count() > 20);
        let missing = fitted.weights.iter().skip(inputs + 3).flat_map(|row| &row.units()[3..]);
        assert!(missing.clone().count() > 20 && missing.into_iter().all(|w| *w == 0.0));
    }
}

#[test]
fn a_net_without_activation_is_one_whose_units_are_all_positive() {
    // Of positive inputs and weights the two activations make the same, by different ways.
    let mut stream = stream(27);
    let (inputs, hidden, rows) = (5, 8, 6);
    let shapes = [Activation::Linear, Activation::Relu].map(|activation| Shape {
        inputs,
        hidden,
        activation,
    });
    let start: Vec<f64> =
        (0..inputs * hidden + 3 * hidden + 2).map(|_| stream.random_range(0.5..1.0)).collect();
    let states: Vec<Vec<f64>> =
        (0..rows).map(|_| (0..inputs).map(|_| stream.random_range(0.0..1.0)).collect()).collect();
    let after = shapes.map(|shape| {
        let mut net = Net::new(shape, &mut stream);
        set(&mut net, shape, &start);
        let mut batch = Batch::new(shape, rows);
        let mut optimiser = Optimiser::new(Adam::default(), shape.weights());
        for step in 0..5 {
            put_all(&mut batch, &states);
            for row in 0..rows {
                let action = [Action::Local, Action::Global][(row + step) % 2];
                batch.aim(row, action, row as f64, 0.0);
            }
            net.fit(&mut batch, &mut optimiser);
        }
        net.evaluate(&mut batch);
        (weights(&net, shape), batch.values.concat())
    });
    assert_near(&after[0].0, &after[1].0);
    assert_near(&after[0].1, &after[1].1);
    assert_ne!(after[0].0, start);
}

#[test]
fn a_new_net_has_glorot_weights_and_no_biases() {
    let (inputs, hidden) = (52, 128);
    let shape = Shape { inputs, hidden, activation: Activation::Linear };
    let weights = weights(&Net::new(shape, &mut stream(21)), shape);
    let (w1, rest) = weights.split_at(inputs * hidden);
    let (b1, rest) = rest.split_at(hidden);
    let (w2, b2) = rest.split_at(2 * hidden);
    assert!(b1.iter().chain(b2).all(|bias| *bias == 0.0) && b2.len() == 2);
    for (layer, fans) in [(w1, 180.0), (w2, 130.0)] {
        let (reach, n) = ((6.0_f64 / fans).sqrt(), layer.len() as f64);
        assert!(layer.iter().all(|w| w.abs() <= reach));
        // Uniform within ±r: mean 0, mean square r²/3, whose square deviates by 2r²/√45.
        let mean = layer.iter().sum::<f64>() / n;
        let square = layer.iter().map(|w| w * w).sum::<f64>() / n;
        assert!(mean.abs() < 5.0 * reach / (3.0 * n).sqrt());
        assert!(
            (square - reach * reach / 3.0).abs() < 5.0 * reach * reach * (4.0 / 45.0 / n).sqrt()
        );
    }
}

#[test]
fn a_replay_forgets_the_oldest_first() {
    let (capacity, visits) = (3, 11);
    let mut replay = Replay::new(capacity, 2);
    for number in 0..visits {
        let x = number as f64;
        replay.arrive(&[x], 10.0 + x);
        let held = number.min(capacity);
        assert_eq!(replay.held(), held);
        assert_eq!(replay.latest(), [x, 10.0 + x]);
        for place in 0..held {
            let start = (number - held + place) as f64;
            let transition = replay.transition(place);
            assert_eq!(transition.state, [start, 10.0 + start]);
            assert_eq!(transition.next, [start + 1.0, 11.0 + start]);
            assert_eq!(transition.reward, -start);
            let action = [Action::Local, Action::Global][(number - held + place) % 2];
            assert_eq!(transition.action, action);
        }
        replay.act([Action::Local, Action::Global][number % 2], f64::NAN);
        replay.reward(-x);
    }
}

#[test]
fn a_minibatch_is_drawn_evenly_and_without_replacement() {
    let (capacity, n, draws) = (6, 4, 30_000);
    let mut replay = Replay::new(capacity, 1);
    (0..capacity + 1).for_each(|number| {
        replay.arrive(&[], number as f64);
        replay.act(Action::Local, 0.0);
    });
    let mut stream = stream(22);
    let mut pairs = [[0; 6]; 6];
    for _ in 0..draws {
        replay.draw(n, &mut stream);
        let drawn: Vec<usize> = (0..n).map(|i| replay.drawn(i).state[0] as usize).collect();
        for (i, &a) in drawn.iter().enumerate() {
            for &b in &drawn[i + 1..] {
                assert_ne!(a, b);
                pairs[a.min(b)][a.max(b)] += 1;
            }
        }
    }
    // Every pair is in the draw with probability (4·3)/(6·5).
    let (law, draws) = (0.4, f64::from(draws));
    for (a, row) in pairs.iter().enumerate() {
        for count in &row[a + 1..] {
            let deviation = (draws * law * (1.0 - law)).sqrt();
            assert!((f64::from(*count) - draws * law).abs() < 5.0 * deviation, "{pairs:?}");
        }
    }
}

#[test]
fn the_target_net_is_copied_at_every_tenth_update() {
    for activation in [Activation::Linear, Activation::Relu] {
        let mut stream = stream(23);
        let config = DeepQ { hidden: 4, activation, ..DeepQ::default() };
        let mut learner = Learner::new(config, 2, &mut stream);
        let mut frozen = learner.net.clone();
        for number in 0..35 {
            let x = f64::from(number);
            let before = learner.net.weights.clone();
            let model = [x.cos(), 0.1];
            let visit = Visit { local_loss: x.sin(), ..visit(&model, number, 35) };
            learner.decide(&visit, &mut stream);
            assert_eq!(learner.updates, number, "an update per visit from the second on");
            assert_eq!(learner.net.weights != before, number > 0);
            if number > 0 && number % 10 == 0 {
                frozen = learner.net.clone();
            }
            assert_eq!(learner.target.biases, frozen.biases, "after {number} updates");
            assert_eq!(learner.target.slopes, frozen.slopes, "after {number} updates");
            if activation == Activation::Relu {
                assert_eq!(learner.target.weights, frozen.weights, "after {number} updates");
            }
            let mut folded = learner.net.clone();
            folded.fold();
            assert_eq!(learner.net.slopes, folded.slopes, "what is kept is that of the weights");
        }
    }
}

#[test]
fn deep_q_learning_remembers_its_rewards() {
    for (reward, expected) in [(Reward::Before, -0.7), (Reward::After, -0.2), (Reward::Gain, 0.5)] {
        let mut stream = stream(24);
        let config = DeepQ { reward, hidden: 2, ..DeepQ::default() };
        let mut learner = Learner::new(config, 1, &mut stream);
        let action = learner.decide(&Visit { local_loss: 0.7, ..visit(&[3.0], 0, 2) }, &mut stream);
        if reward.needs_after() {
            learner.learn(0.2);
        }
        learner.decide(&Visit { local_loss: 0.6, ..visit(&[4.0], 1, 2) }, &mut stream);
        let transition = learner.replay.transition(0);
        assert_eq!((transition.state, transition.next), (&[3.0, 0.7][..], &[4.0, 0.6][..]));
        assert_eq!(transition.action, action);
        assert!((transition.reward - expected).abs() < 1e-15, "{reward:?}");
    }
}

#[test]
fn deep_q_learning_solves_two_states() {
    for activation in [Activation::Linear, Activation::Relu] {
        let mut stream = stream(25);
        let config = DeepQ {
            reward: Reward::After,
            activation,
            hidden: 16,
            exploration: Exploration::Constant(0.5),
            ..DeepQ::default()
        };
        let mut learner = Learner::new(config, 1, &mut stream);
        play(&mut learner, 3000, &mut stream);
        for w in [1.0, -1.0] {
            learner.replay.arrive(&[w], 0.5);
            assert_optimal(w, learner.values(), 0.2);
        }
    }
}

#[test]
fn a_learner_takes_the_memory_that_it_says() {
    let small = DeepQ { hidden: 5, replay: 7, batch: 30, ..DeepQ::default() };
    let relu = DeepQ { activation: Activation::Relu, ..small };
    for (dimension, config) in [(51, DeepQ::default()), (3, small), (3, relu)] {
        let mut stream = stream(26);
        let mut learner = Learner::new(config, dimension, &mut stream);
        let model = vec![0.1; dimension];
        for number in 0..40 {
            let visit = Visit { local_loss: 0.5, ..visit(&model, number, 40) };
            learner.decide(&visit, &mut stream);
        }
        let eights = learner.net.weights.capacity()
            + learner.target.weights.capacity()
            + learner.optimiser.mean.capacity()
            + learner.optimiser.square.capacity();
        let slopes = learner.net.slopes.capacity() + learner.target.slopes.capacity();
        let taken = size_of::<Learner>()
            + eights * size_of::<Eight>()
            + slopes * size_of::<f64>()
            + learner.replay.taken()
            + learner.batch.taken();
        assert_eq!(PolicyConfig::DeepQ(config).memory(dimension), taken);
        assert_eq!(learner.memory(), taken);
    }
    let shape = Shape { inputs: 52, hidden: 128, activation: Activation::Linear };
    assert_eq!(shape.weights() * Eight::UNITS, 52 * 128 + 128 + 2 * 128);
}
