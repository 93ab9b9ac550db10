//! A net with one hidden layer and two outputs, its gradient, and Adam.
//!
//! The weights lie in [tiles] of eight hidden units, but for b₂. Without activation, Q is linear in
//! the state, and no state goes through the hidden units: see [`tiles`].

use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Action;
use crate::learn::tiles::{self, Eight, LinearStep, Moving, ReluStep};
use crate::learn::{AdamStep, axpy};
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

/// How large a net is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) inputs: usize,
    pub(super) hidden: usize,
    pub(super) activation: Activation,
}

impl Shape {
    /// Numbers of eight hidden units in a net.
    pub(super) fn weights(self) -> usize {
        Eight::of(self.inputs, self.hidden)
    }

    /// Numbers of eight hidden units in its target net, which without activation is u and b₂ alone.
    pub(super) fn target_weights(self) -> usize {
        if self.activation == Activation::Linear { 0 } else { self.weights() }
    }

    /// Numbers that a net keeps beside its weights.
    pub(super) fn slopes(self) -> usize {
        if self.activation == Activation::Linear { 2 * (self.inputs + 1) } else { 0 }
    }

    /// Numbers of eight hidden units that an update with so many rows works in.
    fn room(self, rows: usize) -> usize {
        match self.activation {
            Activation::Linear => self.inputs + 1,
            Activation::Relu => rows * self.hidden.div_ceil(Eight::UNITS),
        }
    }
}

/// A net: Q(x) = W₂ φ(W₁ᵀx + b₁) + b₂.
#[derive(Clone, Debug)]
pub(super) struct Net {
    inputs: usize,
    activation: Activation,
    /// W₁, b₁ and W₂, tile by tile.
    pub(super) weights: Vec<Eight>,
    /// b₂.
    pub(super) biases: [f64; 2],
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
    /// The action of every row and what its Q should be.
    aims: Vec<(Action, f64)>,
    /// The action of every row as a number, and the derivative of the loss by its Q.
    errors: Vec<(usize, f64)>,
    /// What the hidden units make of every row. Without activation, room for u.
    hidden: Vec<Eight>,
    /// s of both actions.
    sums: Vec<f64>,
    /// Q of both actions for every row.
    pub(super) values: Vec<[f64; 2]>,
}

impl Batch {
    /// Bytes on the heap.
    pub(super) fn memory(shape: Shape, rows: usize) -> usize {
        let row = (shape.inputs + 2) * size_of::<f64>()
            + size_of::<(Action, f64)>()
            + size_of::<(usize, f64)>();
        rows * row
            + shape.room(rows) * size_of::<Eight>()
            + 2 * (shape.inputs + 1) * size_of::<f64>()
    }

    pub(super) fn new(shape: Shape, rows: usize) -> Self {
        let inputs = shape.inputs;
        Self {
            rows,
            inputs,
            states: vec![0.0; rows * inputs],
            aims: vec![(Action::Local, 0.0); rows],
            errors: vec![(0, 0.0); rows],
            hidden: vec![Eight::default(); shape.room(rows)],
            sums: vec![0.0; 2 * (inputs + 1)],
            values: vec![[0.0; 2]; rows],
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
        let target = reward + discount * local.max(global);
        self.aims[row] = (action, target);
        target
    }

    /// The derivatives of the mean over the rows of (Q(s, a) − target)² by Q(s, a), and their sums.
    fn differentiate(&mut self) -> [f64; 2] {
        let mut sums = [0.0; 2];
        let aims = self.aims.iter().zip(&self.values).take(self.rows);
        for (error, ((action, target), values)) in self.errors.iter_mut().zip(aims) {
            let action = *action as usize;
            *error = (action, 2.0 * (values[action] - target) / self.rows as f64);
            sums[action] += error.1;
        }
        sums
    }
}

impl Net {
    /// Weights uniform within ±√(6/(fan in + fan out)) (Glorot & Bengio 2010), biases 0.
    pub(super) fn new(shape: Shape, stream: &mut Stream) -> Self {
        let Shape { inputs, hidden, activation } = shape;
        let weights = vec![Eight::default(); shape.weights()];
        let slopes = vec![0.0; shape.slopes()];
        let mut net = Self { inputs, activation, weights, biases: [0.0; 2], slopes };
        let layers = [(0..inputs, inputs + hidden), (inputs + 1..inputs + 3, hidden + 2)];
        for (rows, fans) in layers {
            let reach = (6.0 / fans as f64).sqrt();
            for (row, unit) in rows.flat_map(|row| (0..hidden).map(move |unit| (row, unit))) {
                *net.weight(row, unit) = stream.random_range(-reach..reach);
            }
        }
        net.fold();
        net
    }

    /// The weight of a hidden unit in a row of W₁, in b₁, the row behind them, or in a row of W₂,
    /// the two behind it.
    pub(super) fn weight(&mut self, row: usize, unit: usize) -> &mut f64 {
        let tile = unit / Eight::UNITS;
        let eight = &mut self.weights[tile * Eight::per_tile(self.inputs) + row];
        &mut eight.units_mut()[unit % Eight::UNITS]
    }

    /// A copy that can say what actions are worth, and cannot be fitted.
    pub(super) fn target(&self) -> Self {
        let weights = match self.activation {
            Activation::Linear => Vec::new(),
            Activation::Relu => self.weights.clone(),
        };
        Self { weights, slopes: self.slopes.clone(), ..*self }
    }

    /// Becomes the [target](Self::target) of another net of the same shape.
    pub(super) fn copy_from(&mut self, other: &Self) {
        if self.activation == Activation::Relu {
            self.weights.copy_from_slice(&other.weights);
        }
        self.biases = other.biases;
        self.slopes.copy_from_slice(&other.slopes);
    }

    /// Finds u anew, after the weights have changed.
    pub(super) fn fold(&mut self) {
        if self.activation == Activation::Linear {
            tiles::fold(&self.weights, self.slopes.split_at_mut(self.inputs + 1).into());
        }
    }

    /// Q of both actions for every row of the batch.
    pub(super) fn evaluate(&self, batch: &mut Batch) {
        let Batch { rows, states, hidden, values, .. } = batch;
        let (states, values) = (&states[..*rows * self.inputs], &mut values[..*rows]);
        match self.activation {
            Activation::Linear => {
                let slopes = self.slopes.split_at(self.inputs + 1).into();
                tiles::linear_values(states, slopes, self.biases, values);
            }
            Activation::Relu => {
                tiles::relu_values(&self.weights, self.biases, states, hidden, values);
            }
        }
    }

    /// One step of Adam down the mean over the batch of (Q(s, a) − target)².
    ///
    /// The gradient is made and used eight weights at a time, and never stands in memory as a whole.
    pub(super) fn fit(&mut self, batch: &mut Batch, optimiser: &mut Optimiser) {
        self.evaluate(batch);
        let by_biases = batch.differentiate();
        let moving = optimiser.next(by_biases, &mut self.weights, &mut self.biases);
        let Batch { rows, states, errors, hidden, sums, .. } = batch;
        let (states, errors) = (&states[..*rows * self.inputs], &errors[..*rows]);
        match self.activation {
            Activation::Linear => {
                let (slopes, sums) = (&mut self.slopes, sums.split_at_mut(self.inputs + 1).into());
                let sums = sum(states, errors, by_biases, sums);
                let slopes = slopes.split_at_mut(self.inputs + 1).into();
                LinearStep { moving, sums, slopes, room: hidden }.take();
            }
            Activation::Relu => {
                let tiles = moving.weights.len() / Eight::per_tile(self.inputs);
                let units = &mut hidden[..tiles * *rows];
                ReluStep { moving, states, errors, units }.take();
            }
        }
    }
}

/// s of both actions.
fn sum<'a>(
    states: &[f64],
    errors: &[(usize, f64)],
    of_ones: [f64; 2],
    mut sums: [&'a mut [f64]; 2],
) -> [&'a [f64]; 2] {
    let inputs = states.len() / errors.len();
    for (sum, of_ones) in sums.iter_mut().zip(of_ones) {
        sum.fill(0.0);
        sum[inputs] = of_ones;
    }
    for (x, (action, error)) in states.chunks_exact(inputs).zip(errors) {
        axpy(*error, x, &mut sums[*action][..inputs]);
    }
    sums.map(|sum| &*sum)
}

/// Adam at work.
#[derive(Debug)]
pub(super) struct Optimiser {
    adam: Adam,
    /// β₁ᵗ and β₂ᵗ.
    powers: [f64; 2],
    /// m/(1 − β₁) of the weights.
    pub(super) mean: Vec<Eight>,
    /// v/(1 − β₂) of the weights.
    pub(super) square: Vec<Eight>,
    /// Both of b₂.
    pub(super) biases: [[f64; 2]; 2],
}

impl Optimiser {
    /// For a net with so many weights.
    pub(super) fn new(adam: Adam, weights: usize) -> Self {
        let zeros = || vec![Eight::default(); weights];
        Self { adam, powers: [1.0; 2], mean: zeros(), square: zeros(), biases: [[0.0; 2]; 2] }
    }

    /// Goes to the next step t, makes it for b₂, and says what the other weights move by.
    fn next<'a>(
        &'a mut self,
        by_biases: [f64; 2],
        weights: &'a mut [Eight],
        biases: &mut [f64; 2],
    ) -> Moving<'a> {
        let Adam { learning_rate, mean_decay, square_decay, floor } = self.adam;
        self.powers[0] *= mean_decay;
        self.powers[1] *= square_decay;
        let rate = learning_rate * (1.0 - self.powers[1]).sqrt() / (1.0 - self.powers[0]);
        let root = (1.0 - square_decay).sqrt();
        let step = AdamStep {
            rate: rate * (1.0 - mean_decay) / root,
            mean_decay,
            square_decay,
            floor: floor / root,
        };
        let [mean, square] = &mut self.biases;
        for action in 0..2 {
            let (m, v) = (&mut mean[action], &mut square[action]);
            step.take(by_biases[action], &mut biases[action], m, v);
        }
        Moving { step, weights, mean: &mut self.mean, square: &mut self.square }
    }
}

#[cfg(test)]
impl Batch {
    /// Bytes that are really taken on the heap.
    pub(super) fn taken(&self) -> usize {
        let numbers = self.states.capacity() + self.sums.capacity() + 2 * self.values.capacity();
        numbers * 8
            + self.aims.capacity() * size_of::<(Action, f64)>()
            + self.errors.capacity() * size_of::<(usize, f64)>()
            + self.hidden.capacity() * size_of::<Eight>()
    }
}
