//! Gaussian noise that a party adds to each of its own steps, as the papers have it.

use std::sync::Arc;

use super::own_loss::{OwnLoss, scaled};
use super::party::Say;
use crate::network::Context;
use crate::privacy::{Mechanism, Records, Relation, Released, commonly_noisy, noisy};
use crate::random::Draws;

/// σ z_t inside every gradient.
#[derive(Clone, Debug)]
pub struct StepNoise {
    /// Where z comes from.
    pub draws: Draws,
    /// Whether all parties add the same z_t: each of them knows it then, and it counts for nothing.
    pub shared: bool,
}

impl StepNoise {
    /// θ ← θ − η(∇L_j(θ) + ∇R(θ)) + ησz, released: step t of a party whose noise has deviation σ.
    ///
    /// θ is made of what was released before, so that each step costs a record what its noise does not
    /// hide of one gradient. (The papers subtract the noise: its law is the same.)
    pub(super) fn step(
        &self,
        own: &mut OwnLoss,
        theta: Released<Arc<[f64]>>,
        (t, eta, sigma): (u32, f64, f64),
        context: &mut Context<'_, Say>,
    ) -> Released<Arc<[f64]>> {
        let mut theta = theta.into_value();
        own.step(eta, Arc::make_mut(&mut theta));
        let sensitivity = scaled(own.moves(), eta);
        let deviation = eta * sigma;
        let member = if self.shared { 0 } else { u64::from(context.me().0) };
        let draw = self.draws.at(member, u64::from(t));
        context.release(if self.shared {
            commonly_noisy(theta, deviation, own.problem().unprotected, draw)
        } else {
            let mechanism = Mechanism::Gaussian { deviation };
            noisy(theta, mechanism, sensitivity, Records::All, Relation::ReplaceOne, draw)
        })
    }
}
