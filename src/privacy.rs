//! What may leave a peer, and the books about what did.
//!
//! A message can only be sent as [`Released`], and only this folder makes one: [`public`] for what
//! no data went into (counters, control), [`in_the_clear`] for what leaves unprotected, which the
//! sender must say, piece by piece. Every release is booked in the sender's [`Account`] when it is
//! sent, not when it is made: sending twice is booked twice. [`randomized_response`] comes before all
//! of it: users' labels are randomised on their own devices, before a peer sees them.

mod ledger;
pub mod randomized_response;
mod released;
mod wire;

pub use ledger::{Account, Line, Receivers};
pub use released::{Charge, Pieces, Released, in_the_clear, public};
pub use wire::{Wire, WireError};
