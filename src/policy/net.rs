//! A net with one hidden layer and two outputs, its gradient, and Adam.
//!
//! The weights lie in one vector: W₁ (inputs × hidden, row-major), b₁ (hidden), W₂ (2 × hidden,
//! row-major), b₂ (2). All inner loops run over the hidden units, which are contiguous everywhere,
//! and add up in a fixed order.

use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Action;
use crate::learn::{axpy, dot};
use crate::random::Stream;

/// What a hidden unit makes of its input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// Nothing, as published: then Q is linear in the state. The default.
    #[default]
    Linear,
    /// max(0, x).
    Relu,
}

/// The optimiser Adam: m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², and at its t-th step
/// w ← w − α·√(1 − β₂ᵗ)/(1 − β₁ᵗ)·m/(√v + ϵ).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Adam {
    /// α, above 0 to 1. Default 0.01.
    pub learning_rate: f64,
    /// β₁, how much of the mean gradient stays, 0 to below 1. Default 0.9.
    pub mean_decay: f64,
    /// β₂, how much of the mean square stays, 0 to below 1. Default 0.999.
    pub square_decay: f64,
    /// ϵ, what keeps the divisor from 0; 1e-12 to 1. Default 1e-8.
    pub floor: f64,
}

impl Default for Adam {
    fn default() -> Self {
        Self { learning_rate: 0.01, mean_decay: 0.9, square_decay: 0.999, floor: 1e-8 }
    }
}

/// How many weights a net has.
pub(super) fn weights(inputs: usize, hidden: usize) -> usize {
    inputs * hidden + hidden + 2 * hidden + 2
}

/// A net: Q(x) = W₂ φ(W₁ᵀx + b₁) + b₂.
#[derive(Clone, Debug)]
pub(super) struct Net {
    inputs: usize,
    hidden: usize,
    activation: Activation,
    pub(super) weights: Vec<f64>,
}

/// A minibatch and everything that is computed on the way, so that an update allocates nothing.
#[derive(Debug)]
pub(super) struct Batch {
    /// How many rows are in use.
    pub(super) rows: usize,
    inputs: usize,
    states: Vec<f64>,
    actions: Vec<Action>,
    targets: Vec<f64>,
    /// φ(W₁ᵀx + b₁) of every row; on the way back, the derivative of the loss by W₁ᵀx + b₁.
    hidden: Vec<f64>,
    /// Q of both actions for every row.
    pub(super) values: Vec<[f64; 2]>,
    /// The gradient by W₂ and b₂, then by one row of W₁ after the other.
    gradient: Vec<f64>,
}

impl Batch {
    /// Bytes on the heap.
    pub(super) fn memory(rows: usize, inputs: usize, hidden: usize) -> usize {
        let row = (inputs + hidden + 3) * size_of::<f64>() + size_of::<Action>();
        rows * row + (2 * hidden + 2) * size_of::<f64>()
    }

    pub(super) fn new(rows: usize, inputs: usize, hidden: usize) -> Self {
        Self {
            rows,
            inputs,
            states: vec![0.0; rows * inputs],
            actions: vec![Action::Local; rows],
            targets: vec![0.0; rows],
            hidden: vec![0.0; rows * hidden],
            values: vec![[0.0; 2]; rows],
            gradient: vec![0.0; 2 * hidden + 2],
        }
    }

    /// Puts a state in a row.
    pub(super) fn put(&mut self, row: usize, state: &[f64]) {
        self.states[row * self.inputs..][..self.inputs].copy_from_slice(state);
    }

    /// Says what Q of an action should be in a row, `values` being those of its next state:
    /// r + γ max_a′ Q(s′, a′).
    pub(super) fn aim(&mut self, row: usize, action: Action, reward: f64, discount: f64) -> f64 {
        let [local, global] = self.values[row];
        self.actions[row] = action;
        self.targets[row] = reward + discount * local.max(global);
        self.targets[row]
    }
}

impl Net {
    /// Weights uniform within ±√(6/(fan in + fan out)) (Glorot & Bengio 2010), biases 0.
    pub(super) fn new(
        inputs: usize,
        hidden: usize,
        activation: Activation,
        stream: &mut Stream,
    ) -> Self {
        let mut net =
            Self { inputs, hidden, activation, weights: vec![0.0; weights(inputs, hidden)] };
        let (first, second) = net.weights.split_at_mut(inputs * hidden + hidden);
        let layers = [
            (&mut first[..inputs * hidden], inputs + hidden),
            (&mut second[..2 * hidden], hidden + 2),
        ];
        for (layer, fans) in layers {
            let reach = (6.0 / fans as f64).sqrt();
            layer.fill_with(|| stream.random_range(-reach..reach));
        }
        net
    }

    /// W₁, b₁, W₂, b₂.
    fn parts(&self) -> (&[f64], &[f64], &[f64], &[f64]) {
        let (first, second) = self.weights.split_at(self.inputs * self.hidden + self.hidden);
        let (w1, b1) = first.split_at(self.inputs * self.hidden);
        let (w2, b2) = second.split_at(2 * self.hidden);
        (w1, b1, w2, b2)
    }

    /// Q of both actions for every row of the batch.
    pub(super) fn evaluate(&self, batch: &mut Batch) {
        let (w1, b1, w2, b2) = self.parts();
        let Batch { rows, states, hidden, values, .. } = batch;
        let hidden = &mut hidden[..*rows * self.hidden];
        for units in hidden.chunks_exact_mut(self.hidden) {
            units.copy_from_slice(b1);
        }
        // Input by input, so that a row of W₁ is fetched once for the whole batch.
        for (i, w) in w1.chunks_exact(self.hidden).enumerate() {
            for (row, units) in hidden.chunks_exact_mut(self.hidden).enumerate() {
                axpy(states[row * self.inputs + i], w, units);
            }
        }
        if self.activation == Activation::Relu {
            hidden.iter_mut().for_each(|unit| *unit = unit.max(0.0));
        }
        let (w_local, w_global) = w2.split_at(self.hidden);
        for (values, units) in values.iter_mut().zip(hidden.chunks_exact(self.hidden)) {
            *values = [dot(w_local, units) + b2[0], dot(w_global, units) + b2[1]];
        }
    }

    /// One step of Adam down the mean over the batch of (Q(s, a) − target)².
    ///
    /// The gradient of W₁ is made and used row by row, and never stands in memory as a whole.
    pub(super) fn fit(&mut self, batch: &mut Batch, optimiser: &mut Optimiser) {
        self.evaluate(batch);
        let (inputs, width) = (self.inputs, self.hidden);
        let second = inputs * width + width;
        let Batch { rows, states, actions, targets, hidden, values, gradient, .. } = batch;
        let hidden = &mut hidden[..*rows * width];
        gradient.fill(0.0);
        for (row, units) in hidden.chunks_exact_mut(width).enumerate() {
            let action = actions[row] as usize;
            let error = 2.0 * (values[row][action] - targets[row]) / *rows as f64;
            axpy(error, units, &mut gradient[action * width..][..width]);
            gradient[2 * width + action] += error;
            let w2 = &self.weights[second + action * width..][..width];
            match self.activation {
                Activation::Linear => {
                    units.iter_mut().zip(w2).for_each(|(unit, w)| *unit = error * w);
                }
                Activation::Relu => units.iter_mut().zip(w2).for_each(|(unit, w)| {
                    *unit = if *unit > 0.0 { error * w } else { 0.0 };
                }),
            }
        }
        optimiser.next();
        optimiser.step(second, gradient, &mut self.weights);
        let gradient = &mut gradient[..width];
        // The bias is the weight of one more input, which is always 1.
        for i in 0..=inputs {
            gradient.fill(0.0);
            for (row, slopes) in hidden.chunks_exact(width).enumerate() {
                let x = if i < inputs { states[row * inputs + i] } else { 1.0 };
                axpy(x, slopes, gradient);
            }
            optimiser.step(i * width, gradient, &mut self.weights);
        }
    }
}

/// Adam at work.
#[derive(Debug)]
pub(super) struct Optimiser {
    adam: Adam,
    /// β₁ᵗ and β₂ᵗ.
    powers: [f64; 2],
    pub(super) mean: Vec<f64>,
    pub(super) square: Vec<f64>,
}

impl Optimiser {
    pub(super) fn new(adam: Adam, weights: usize) -> Self {
        Self { adam, powers: [1.0; 2], mean: vec![0.0; weights], square: vec![0.0; weights] }
    }

    /// Goes to the next step t.
    fn next(&mut self) {
        self.powers[0] *= self.adam.mean_decay;
        self.powers[1] *= self.adam.square_decay;
    }

    /// Step t for the weights from `at` on, as many as have a gradient.
    fn step(&mut self, at: usize, gradient: &[f64], weights: &mut [f64]) {
        let Adam { learning_rate, mean_decay, square_decay, floor } = self.adam;
        let rate = learning_rate * (1.0 - self.powers[1]).sqrt() / (1.0 - self.powers[0]);
        let range = at..at + gradient.len();
        let moments = self.mean[range.clone()].iter_mut().zip(&mut self.square[range.clone()]);
        for ((w, g), (m, v)) in weights[range].iter_mut().zip(gradient).zip(moments) {
            *m = mean_decay * *m + (1.0 - mean_decay) * g;
            *v = square_decay * *v + (1.0 - square_decay) * (g * g);
            *w -= rate * *m / (v.sqrt() + floor);
        }
    }
}

#[cfg(test)]
impl Batch {
    /// Bytes that are really taken on the heap.
    pub(super) fn taken(&self) -> usize {
        let numbers = self.states.capacity()
            + self.targets.capacity()
            + self.hidden.capacity()
            + 2 * self.values.capacity()
            + self.gradient.capacity();
        numbers * 8 + self.actions.capacity() * size_of::<Action>()
    }
}
