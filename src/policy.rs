//! The local/global decision: what a peer trains when a token visits it.
//!
//! A token carries the global model w^G of a task from peer to peer, and each peer keeps a private
//! model w^L of its own. At every visit the peer takes its next batch and either trains w^L, which
//! releases nothing, or the global model, which releases a noisy update. A [`Policy`] chooses; there
//! is one object per peer and task.
//!
//! Policies are of two kinds. Schedules ([`AlwaysGlobal`](PolicyConfig::AlwaysGlobal),
//! [`Random`], [`Periodic`], …) look at no data, so that *when* a release happens tells nothing of it.
//! The others ([`Threshold`], [`Bandit`], [`LinearQ`], [`DeepQ`]) look at losses of private batches:
//! the times of their releases are outside the accounting of what is released, and
//! [`declaration`](PolicyConfig::declaration) says so.
//!
//! ```
//! use hushmesh::policy::{Action, Periodic, PolicyConfig, Visit};
//! use hushmesh::random::{Purpose, Streams};
//! use hushmesh::units::Seed;
//!
//! let streams = Streams::new(Seed(1), 0);
//! let config = PolicyConfig::Periodic(Periodic { every: 3 });
//! let mut policy = config.build(2, &mut streams.family(Purpose::PolicyStart, 0).stream(0));
//! let decisions = streams.family(Purpose::Decision, 0);
//! let actions = (0..6).map(|number| {
//!     let visit =
//!         Visit { local: &[0.0, 0.0], local_loss: f64::NAN, global_loss: f64::NAN, number, of: 6 };
//!     policy.decide(&visit, &mut decisions.at(0, u64::from(number)))
//! });
//! assert_eq!(actions.filter(|&action| action == Action::Global).count(), 2);
//! assert_eq!(config.releases(6), Some(2.0));
//! ```

mod always;
mod bandit;
mod config;
mod deep_q;
mod exploration;
mod final_global;
mod linear_q;
mod net;
mod periodic;
mod random;
mod replay;
mod reward;
#[cfg(test)]
mod tests;
mod threshold;

use crate::random::Stream;

pub use bandit::Bandit;
pub use config::PolicyConfig;
pub use deep_q::DeepQ;
pub use exploration::{Exploration, Fade};
pub use linear_q::LinearQ;
pub use net::{Activation, Adam};
pub use periodic::Periodic;
pub use random::Random;
pub use reward::Reward;
pub use threshold::Threshold;

/// What a visited peer trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Its private model: nothing is released.
    Local,
    /// The global model: a noisy update is released, and the private model becomes the result.
    Global,
}

impl Action {
    /// The action of the larger value, `values` being those of Local and Global. On a tie, or where a
    /// value is not a number, Local: in doubt nothing is released.
    fn of_larger(values: [f64; 2]) -> Self {
        if values[1] > values[0] { Self::Global } else { Self::Local }
    }
}

/// What a peer knows when it decides.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// w^L, the peer's private model.
    pub local: &'a [f64],
    /// The loss of w^L on the batch at hand; NaN unless [`Needs::local_loss`].
    pub local_loss: f64,
    /// The loss of w^G on the batch at hand; NaN unless [`Needs::global_loss`].
    pub global_loss: f64,
    /// The number of this visit at this peer for this task, from 0.
    pub number: u32,
    /// How many visits there will be.
    pub of: u32,
}

/// Decides for one peer and task.
pub trait Policy: Send + std::fmt::Debug {
    /// Chooses what to train at a visit. Visits come in order, each once.
    fn decide(&mut self, visit: &Visit<'_>, stream: &mut Stream) -> Action;

    /// Takes the loss of w^L on the same batch after the action. Called after every decision where
    /// [`Needs::after`], and nowhere else.
    fn learn(&mut self, _loss_after: f64) {}

    /// Bytes that it keeps, where they are more than a few.
    fn memory(&self) -> usize {
        0
    }
}

/// Which losses have to be computed for a policy; each costs a pass over the batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// That of w^L before the action.
    pub local_loss: bool,
    /// That of w^G before the action.
    pub global_loss: bool,
    /// That of w^L after the action.
    pub after: bool,
}
