//! A net with one hidden layer and two outputs, its gradient, and Adam.
//!
//! The weights lie in one vector: W₁ (inputs × hidden, row-major), b₁ (hidden), W₂ (2 × hidden,
//! row-major), b₂ (2). All inner loops run over the hidden units, which are contiguous everywhere,
//! and add up in a fixed order.
//!
//! The bias b₁ is one more row of W₁, that of an input which is always 1. With x̂ = [x, 1] and
//! Ŵ = [W₁; b₁], a net without activation is Q_a(x) = x̂ᵀu_a + b₂_a, u_a = Ŵ W₂_a, and the gradient of
//! Σ_r e_r Q_{a_r}(x_r) has only two directions, one for each action: with s_a = Σ_{r: a_r = a} e_r x̂_r
//! it is Ŵᵀs_a by W₂_a and s_local W₂_localᵀ + s_global W₂_globalᵀ by Ŵ. So no row of a batch ever
//! goes through the hidden units, and u is kept: a tenth of the work.

use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Action;
use crate::learn::{AdamStep, axpy, dot};
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
    /// u of both actions, one after the other, where there is no activation; otherwise empty.
    pub(super) slopes: Vec<f64>,
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
    /// φ(W₁ᵀx + b₁) of every row; on the way back, the derivative of the loss by W₁ᵀx + b₁. Without
    /// activation, W₂ before the step.
    hidden: Vec<f64>,
    /// s of both actions.
    sums: Vec<f64>,
    /// Q of both actions for every row.
    pub(super) values: Vec<[f64; 2]>,
    /// The gradient by W₂ and b₂, then by one row of W₁ after the other.
    gradient: Vec<f64>,
}

impl Batch {
    /// Bytes on the heap.
    pub(super) fn memory(rows: usize, inputs: usize, hidden: usize) -> usize {
        let row = (inputs + 3) * size_of::<f64>() + size_of::<Action>();
        let both = 2 * (hidden + inputs + 2) + rows.max(2) * hidden;
        rows * row + both * size_of::<f64>()
    }

    pub(super) fn new(rows: usize, inputs: usize, hidden: usize) -> Self {
        Self {
            rows,
            inputs,
            states: vec![0.0; rows * inputs],
            actions: vec![Action::Local; rows],
            targets: vec![0.0; rows],
            hidden: vec![0.0; rows.max(2) * hidden],
            sums: vec![0.0; 2 * (inputs + 1)],
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
        let (weights, slopes) = (vec![0.0; weights(inputs, hidden)], vec![0.0; 2 * (inputs + 1)]);
        let slopes = if activation == Activation::Linear { slopes } else { Vec::new() };
        let mut net = Self { inputs, hidden, activation, weights, slopes };
        let (first, second) = net.weights.split_at_mut(inputs * hidden + hidden);
        let layers = [
            (&mut first[..inputs * hidden], inputs + hidden),
            (&mut second[..2 * hidden], hidden + 2),
        ];
        for (layer, fans) in layers {
            let reach = (6.0 / fans as f64).sqrt();
            layer.fill_with(|| stream.random_range(-reach..reach));
        }
        net.fold();
        net
    }

    /// Becomes another net of the same shape.
    pub(super) fn copy_from(&mut self, other: &Self) {
        self.weights.copy_from_slice(&other.weights);
        self.slopes.copy_from_slice(&other.slopes);
    }

    /// Finds u anew, after the weights have changed.
    pub(super) fn fold(&mut self) {
        if self.activation == Activation::Linear {
            (0..=self.inputs).for_each(|input| self.fold_input(input));
        }
    }

    /// u of one input.
    fn fold_input(&mut self, input: usize) {
        let (rows, second) = self.weights.split_at((self.inputs + 1) * self.hidden);
        let (w_local, w_global) = second[..2 * self.hidden].split_at(self.hidden);
        let row = &rows[input * self.hidden..][..self.hidden];
        self.slopes[input] = dot(row, w_local);
        self.slopes[self.inputs + 1 + input] = dot(row, w_global);
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
        if self.activation == Activation::Linear {
            let (local, global) = self.slopes.split_at(self.inputs + 1);
            let value = |x: &[f64], slopes: &[f64], bias: f64| {
                dot(x, &slopes[..self.inputs]) + slopes[self.inputs] + bias
            };
            let states = batch.states.chunks_exact(self.inputs).take(batch.rows);
            for (values, x) in batch.values.iter_mut().zip(states) {
                *values = [value(x, local, b2[0]), value(x, global, b2[1])];
            }
            return;
        }
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
        hidden.iter_mut().for_each(|unit| *unit = unit.max(0.0));
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
        optimiser.next();
        match self.activation {
            Activation::Linear => self.step_linear(batch, optimiser),
            Activation::Relu => self.step_relu(batch, optimiser),
        }
    }

    fn step_linear(&mut self, batch: &mut Batch, optimiser: &mut Optimiser) {
        let (inputs, width) = (self.inputs, self.hidden);
        let second = (inputs + 1) * width;
        let Batch { rows, states, actions, targets, hidden, sums, values, gradient, .. } = batch;
        sums.fill(0.0);
        for (row, x) in states.chunks_exact(inputs).take(*rows).enumerate() {
            let action = actions[row] as usize;
            let error = 2.0 * (values[row][action] - targets[row]) / *rows as f64;
            let sum = &mut sums[action * (inputs + 1)..][..inputs + 1];
            axpy(error, x, &mut sum[..inputs]);
            sum[inputs] += error;
        }
        let (by_local, rest) = gradient.split_at_mut(width);
        let (by_global, biases) = rest.split_at_mut(width);
        let (local, global) = sums.split_at(inputs + 1);
        let both = local.iter().zip(global);
        products(&self.weights[..second], both.clone(), by_local, by_global);
        biases.copy_from_slice(&[local[inputs], global[inputs]]);
        let before = &mut hidden[..2 * width];
        before.copy_from_slice(&self.weights[second..second + 2 * width]);
        optimiser.step(second, gradient, &mut self.weights);
        let (w_local, w_global) = before.split_at(width);
        let gradient = &mut gradient[..width];
        for (input, (local, global)) in both.enumerate() {
            for ((g, w_local), w_global) in gradient.iter_mut().zip(w_local).zip(w_global) {
                *g = local * w_local + global * w_global;
            }
            optimiser.step(input * width, gradient, &mut self.weights);
            self.fold_input(input);
        }
    }

    fn step_relu(&mut self, batch: &mut Batch, optimiser: &mut Optimiser) {
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
            units.iter_mut().zip(w2).for_each(|(unit, w)| {
                *unit = if *unit > 0.0 { error * w } else { 0.0 };
            });
        }
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

/// Ŵᵀs of both actions. Some columns go together, so that what is added up stays in registers.
fn products<'a>(
    rows: &[f64],
    sums: impl Iterator<Item = (&'a f64, &'a f64)> + Clone,
    by_local: &mut [f64],
    by_global: &mut [f64],
) {
    const COLUMNS: usize = 8;
    let width = by_local.len();
    let (locals, local_tail) = by_local.as_chunks_mut::<COLUMNS>();
    let (globals, global_tail) = by_global.as_chunks_mut::<COLUMNS>();
    let tail = COLUMNS * locals.len();
    for (block, (by_local, by_global)) in locals.iter_mut().zip(globals).enumerate() {
        let (mut l, mut g) = ([0.0; COLUMNS], [0.0; COLUMNS]);
        for (row, (local, global)) in rows.chunks_exact(width).zip(sums.clone()) {
            let (w, _) = row[COLUMNS * block..].as_chunks::<COLUMNS>();
            for column in 0..COLUMNS {
                l[column] += local * w[0][column];
                g[column] += global * w[0][column];
            }
        }
        (*by_local, *by_global) = (l, g);
    }
    local_tail.fill(0.0);
    global_tail.fill(0.0);
    for (row, (local, global)) in rows.chunks_exact(width).zip(sums) {
        axpy(*local, &row[tail..], local_tail);
        axpy(*global, &row[tail..], global_tail);
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
        let (m, v) = (&mut self.mean[range.clone()], &mut self.square[range.clone()]);
        let step = AdamStep { rate, mean_decay, square_decay, floor };
        step.take(gradient, &mut weights[range], m, v);
    }
}

#[cfg(test)]
impl Batch {
    /// Bytes that are really taken on the heap.
    pub(super) fn taken(&self) -> usize {
        let numbers = self.states.capacity()
            + self.targets.capacity()
            + self.hidden.capacity()
            + self.sums.capacity()
            + 2 * self.values.capacity()
            + self.gradient.capacity();
        numbers * 8 + self.actions.capacity() * size_of::<Action>()
    }
}
