//! What may leave a peer, and the books about what did.
//!
//! A message can only be sent as [`Released`], and only this folder makes one: [`public`] for what
//! no data went into (counters, control), [`in_the_clear`] for what leaves unprotected, which the
//! sender must say, piece by piece. Every release is booked in the sender's [`Account`] when it is
//! sent, not when it is made: sending twice is booked twice.

mod gaussian;
mod ledger;
mod normal;
mod released;
mod renyi;
mod wire;

pub use gaussian::{Calibration, CalibrationError, gaussian_delta, gaussian_epsilon, gaussian_mu};
pub use ledger::{Account, Line, Receivers};
pub use normal::{cdf as normal_cdf, ln_cdf as normal_ln_cdf, quantile as normal_quantile};
pub use released::{Charge, Pieces, Released, in_the_clear, public};
pub use renyi::{
    gaussian_renyi, laplace_renyi, renyi_epsilon, renyi_epsilon_at, response_renyi,
    zcdp_epsilon_simple,
};
pub use wire::{Wire, WireError};
