//! What may leave a peer, and the books about what did.
//!
//! A message can only be sent as [`Released`], and only this folder makes one: [`public`] for what
//! no data went into (counters, control), [`in_the_clear`] for what leaves unprotected, which the
//! sender must say, piece by piece. Every release is booked in the sender's [`Account`] when it is
//! sent, not when it is made: sending twice is booked twice.

mod beta;
mod ledger;
mod objective_noise;
mod released;
mod wire;

pub use beta::{binomial_interval, regularised_beta};
pub use ledger::{Account, Line, Receivers};
pub use objective_noise::{
    Deviation, Guarantee, Neighbours, ObjectiveNoise, Radius, Rate, Release, Route,
};
pub use released::{Charge, Pieces, Released, in_the_clear, public};
pub use wire::{Wire, WireError};
