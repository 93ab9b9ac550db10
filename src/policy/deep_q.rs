//! Deep Q-learning: a small net per peer and task says what an action is worth.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::exploration::explore;
use super::net::{Batch, Net, Optimiser, Shape};
use super::replay::Replay;
use super::{Action, Activation, Adam, Exploration, Policy, Reward, Visit};
use crate::learn::tiles::Eight;
use crate::random::Stream;

/// The action with the larger Q(s, a), a net d + 1 → hidden → 2 of the state s = [w^L, loss of w^L on
/// the batch].
///
/// The next state s′ of an action is that of the peer's next visit. A visit
/// 1. completes the transition (s, a, r, s′) of the one before, which goes into a replay memory, first
///    in, first out;
/// 2. from the second visit on, draws min(batch, held) transitions without replacement and makes one
///    step of Adam down the mean of (Q(s, a) − r − γ max_a′ Q⁻(s′, a′))², Q⁻ being the target net; every
///    `target_every`-th step, Q⁻ becomes Q;
/// 3. decides, by a coin or by Q.
///
/// # Memory
/// Per peer and task, with P = (d + 4)·hidden weights, hidden units counted in eights: 8·3P bytes for
/// the weights and two moments, with an activation 8·P more for the target net's; for the replay, which
/// keeps a state once, (replay + 1)·(8(d + 1) + 16); and about 8·batch·(d + 7) to work in, with
/// 8·batch·hidden more with an activation and 64·(d + 2) more without. At d = 51 and the defaults:
/// 169 + 9 + 9 kB. The gradient is never whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeepQ {
    /// What an action is rewarded with. Default `before`.
    pub reward: Reward,
    /// Hidden units, 1 to 10,000. Default 128.
    pub hidden: u32,
    /// What a hidden unit does. Default `linear`, as published.
    pub activation: Activation,
    /// The optimiser.
    pub adam: Adam,
    /// How many transitions are remembered, 1 to 100,000. Default 20.
    pub replay: u32,
    /// Of how many transitions an update is made, 1 to 10,000; of all that are held, where they are
    /// fewer. Default 10.
    pub batch: u32,
    /// Updates from one copy of the net to the target net to the next, at least 1. Default 10.
    pub target_every: u32,
    /// γ, what a reward of the next visit is worth at this one, 0 to 1. Default 0.9.
    pub discount: f64,
    /// How often a coin decides. Default from 1 to 0.1 over the first half of the visits.
    pub exploration: Exploration,
}

impl Default for DeepQ {
    fn default() -> Self {
        Self {
            reward: Reward::Before,
            hidden: 128,
            activation: Activation::Linear,
            adam: Adam::default(),
            replay: 20,
            batch: 10,
            target_every: 10,
            discount: 0.9,
            exploration: Exploration::default(),
        }
    }
}

impl DeepQ {
    /// The net's shape, how many transitions are remembered, and the rows of a minibatch.
    fn sizes(&self, dimension: usize) -> (Shape, usize, usize) {
        let (hidden, replay) = (self.hidden as usize, self.replay as usize);
        let shape = Shape { inputs: dimension + 1, hidden, activation: self.activation };
        (shape, replay, replay.min(self.batch as usize))
    }

    /// Bytes per peer and task in dimension d.
    pub(super) fn memory(&self, dimension: usize) -> usize {
        let (shape, replay, rows) = self.sizes(dimension);
        size_of::<Learner>()
            + size_of::<Eight>() * (3 * shape.weights() + shape.target_weights())
            + size_of::<f64>() * 2 * shape.slopes()
            + Replay::memory(replay, shape.inputs)
            + Batch::memory(shape, rows)
    }
}

/// A deep Q-learner at work.
#[derive(Debug)]
pub(super) struct Learner {
    config: DeepQ,
    pub(super) net: Net,
    pub(super) target: Net,
    pub(super) optimiser: Optimiser,
    pub(super) replay: Replay,
    pub(super) batch: Batch,
    pub(super) updates: u32,
}

impl Learner {
    pub(super) fn new(config: DeepQ, dimension: usize, stream: &mut Stream) -> Self {
        let (shape, replay, rows) = config.sizes(dimension);
        let net = Net::new(shape, stream);
        Self {
            config,
            target: net.target(),
            net,
            optimiser: Optimiser::new(config.adam, shape.weights()),
            replay: Replay::new(replay, shape.inputs),
            batch: Batch::new(shape, rows),
            updates: 0,
        }
    }

    /// Q of both actions in the state of the latest visit.
    pub(super) fn values(&mut self) -> [f64; 2] {
        self.batch.rows = 1;
        self.batch.put(0, self.replay.latest());
        self.net.evaluate(&mut self.batch);
        self.batch.values[0]
    }

    fn update(&mut self, stream: &mut Stream) {
        let Self { config, net, target, optimiser, replay, batch, .. } = self;
        batch.rows = replay.held().min(config.batch as usize);
        replay.draw(batch.rows, stream);
        for row in 0..batch.rows {
            batch.put(row, replay.drawn(row).next);
        }
        target.evaluate(batch);
        for row in 0..batch.rows {
            let transition = replay.drawn(row);
            batch.aim(row, transition.action, transition.reward, config.discount);
            batch.put(row, transition.state);
        }
        net.fit(batch, optimiser);
        self.updates += 1;
        if self.updates.is_multiple_of(config.target_every) {
            target.copy_from(net);
        }
    }
}

impl Policy for Learner {
    fn decide(&mut self, visit: &Visit<'_>, stream: &mut Stream) -> Action {
        self.replay.arrive(visit.local, visit.local_loss);
        if self.replay.held() > 0 {
            self.update(stream);
        }
        let p = self.config.exploration.at(visit.number, visit.of);
        let action = explore(p, Action::of_larger(self.values()), stream);
        self.replay.act(action, self.config.reward.of(visit.local_loss, f64::NAN));
        action
    }

    fn learn(&mut self, loss_after: f64) {
        let before = *self.replay.latest().last().expect("a state ends with its loss");
        self.replay.reward(self.config.reward.of(before, loss_after));
    }

    fn memory(&self) -> usize {
        // A state is a model and its loss.
        self.config.memory(self.replay.inputs() - 1)
    }
}
