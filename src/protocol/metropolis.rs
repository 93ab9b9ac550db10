//! Metropolis weights, from what neighbours say of their degrees.

use super::inbox::Inbox;
use crate::units::{PeerId, Round};

/// W_il = 1/(1 + max(N_i, N_l)) on links, W_ii = 1 − Σ_l W_il: symmetric, rows sum to 1.
#[derive(Debug)]
pub(super) struct Metropolis {
    degrees: Inbox<u32>,
    /// W_il by neighbour, once all have said their degrees.
    weights: Vec<f64>,
    own: f64,
}

/// Degrees are exchanged before the first round.
const GREETINGS: Round = Round(0);

impl Metropolis {
    /// Before any neighbour has said anything.
    pub(super) fn new(neighbours: &[PeerId]) -> Self {
        Self { degrees: Inbox::new(neighbours), weights: Vec::new(), own: 1.0 }
    }

    /// Bytes beside its own struct.
    pub(super) fn memory(neighbours: usize) -> usize {
        neighbours * size_of::<f64>() + Inbox::<u32>::memory(neighbours)
    }

    /// A neighbour has said how many neighbours it has.
    pub(super) fn hear(&mut self, from: PeerId, degree: u32) {
        self.degrees.put(from, GREETINGS, degree);
    }

    /// Whether all have.
    pub(super) fn complete(&self) -> bool {
        self.degrees.complete(GREETINGS)
    }

    /// Who has not.
    pub(super) fn missing(&self) -> Vec<PeerId> {
        self.degrees.missing(GREETINGS)
    }

    /// Finds the weights, once all degrees are known.
    pub(super) fn settle(&mut self) {
        let own = self.degrees.neighbours() as u32;
        self.weights = self
            .degrees
            .take(GREETINGS)
            .map(|theirs| 1.0 / f64::from(1 + own.max(theirs)))
            .collect();
        self.own = 1.0 - self.weights.iter().sum::<f64>();
    }

    /// W_ii.
    pub(super) fn own(&self) -> f64 {
        self.own
    }

    /// W_il, in the order of neighbours.
    pub(super) fn of_neighbours(&self) -> &[f64] {
        &self.weights
    }
}
