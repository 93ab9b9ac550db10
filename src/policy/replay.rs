//! What a learner remembers: the latest transitions, first in, first out.

use rand::RngExt;

use super::Action;
use crate::random::Stream;

/// From a visit to the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Transition<'a> {
    pub(super) state: &'a [f64],
    pub(super) action: Action,
    pub(super) reward: f64,
    pub(super) next: &'a [f64],
}

/// The latest transitions of one peer and task.
///
/// The next state of a visit is the state of the next one, so that `capacity` transitions are
/// `capacity` + 1 visits in a ring: each state is kept once.
#[derive(Debug)]
pub(super) struct Replay {
    capacity: usize,
    inputs: usize,
    states: Vec<f64>,
    outcomes: Vec<(Action, f64)>,
    visits: usize,
    /// A permutation of the held transitions whose beginning is what was drawn.
    order: Vec<u32>,
}

impl Replay {
    /// The length of a state.
    pub(super) fn inputs(&self) -> usize {
        self.inputs
    }

    /// Bytes on the heap.
    pub(super) fn memory(capacity: usize, inputs: usize) -> usize {
        (capacity + 1) * (inputs * size_of::<f64>() + size_of::<(Action, f64)>())
            + capacity * size_of::<u32>()
    }

    pub(super) fn new(capacity: usize, inputs: usize) -> Self {
        Self {
            capacity,
            inputs,
            states: vec![0.0; (capacity + 1) * inputs],
            outcomes: vec![(Action::Local, 0.0); capacity + 1],
            visits: 0,
            order: Vec::with_capacity(capacity),
        }
    }

    /// The state of a new visit, which completes the transition from the one before.
    pub(super) fn arrive(&mut self, local: &[f64], loss: f64) {
        self.visits += 1;
        let at = self.slot(self.visits - 1) * self.inputs;
        let (model, rest) = self.states[at..at + self.inputs].split_at_mut(self.inputs - 1);
        model.copy_from_slice(local);
        rest[0] = loss;
        let held = self.held();
        if self.order.len() < held {
            self.order.push(held as u32 - 1);
        }
    }

    /// The state of the latest visit.
    pub(super) fn latest(&self) -> &[f64] {
        self.state(self.visits - 1)
    }

    /// The action of the latest visit and its reward.
    pub(super) fn act(&mut self, action: Action, reward: f64) {
        let slot = self.slot(self.visits - 1);
        self.outcomes[slot] = (action, reward);
    }

    /// Another reward for the latest visit.
    pub(super) fn reward(&mut self, reward: f64) {
        let slot = self.slot(self.visits - 1);
        self.outcomes[slot].1 = reward;
    }

    /// How many transitions there are.
    pub(super) fn held(&self) -> usize {
        self.visits.saturating_sub(1).min(self.capacity)
    }

    /// The held transition at this place in the order of arrival, 0 being the oldest.
    pub(super) fn transition(&self, place: usize) -> Transition<'_> {
        let visit = self.visits - 1 - self.held() + place;
        let (action, reward) = self.outcomes[self.slot(visit)];
        Transition { state: self.state(visit), action, reward, next: self.state(visit + 1) }
    }

    /// Draws `n` of the held transitions without replacement: see [`drawn`](Self::drawn).
    pub(super) fn draw(&mut self, n: usize, stream: &mut Stream) {
        let held = self.order.len() as u32;
        for i in 0..n {
            self.order.swap(i, stream.random_range(i as u32..held) as usize);
        }
    }

    /// The i-th transition of the latest draw.
    pub(super) fn drawn(&self, i: usize) -> Transition<'_> {
        self.transition(self.order[i] as usize)
    }

    fn slot(&self, visit: usize) -> usize {
        visit % (self.capacity + 1)
    }

    fn state(&self, visit: usize) -> &[f64] {
        &self.states[self.slot(visit) * self.inputs..][..self.inputs]
    }
}

#[cfg(test)]
impl Replay {
    /// Bytes that are really taken on the heap.
    pub(super) fn taken(&self) -> usize {
        self.states.capacity() * 8
            + self.outcomes.capacity() * size_of::<(Action, f64)>()
            + self.order.capacity() * 4
    }
}
