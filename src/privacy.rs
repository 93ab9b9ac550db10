//! What may leave a peer, and the books about what did.
//!
//! A message can only be sent as [`Released`], and only this folder makes one: [`public`] for what
//! no data went into (counters, control), [`noisy`] for what a mechanism protects, [`in_the_clear`]
//! for what leaves unprotected, which the sender must say, piece by piece. Every release is booked in
//! the sender's [`Account`] when it is sent, not when it is made: sending twice is booked twice, and
//! what others pass on, or what was booked ahead as seen by everybody, costs nothing more.
//! [`randomized_response`] comes before all of it: users' labels are randomised on their own devices,
//! before a peer sees them.
//!
//! What releases cost together is a [`Spent`], whose bound at a δ names the route that gave it:
//!
//! ```
//! use hushmesh::privacy::{Calibration, Route, Spent};
//! use hushmesh::units::{Delta, Epsilon};
//!
//! let (sensitivity, delta) = (1.0, Delta(1e-5));
//! let deviation = Calibration::Exact.deviation(sensitivity, Epsilon(1.0), delta)?;
//! let one = Spent::gaussian(sensitivity / deviation);
//! let hundred = one.times(100).bound(delta);
//! assert_eq!(hundred.route, Route::Gaussian);
//! // Far less than a hundred times the loss of one.
//! assert!((1.0 - one.bound(delta).epsilon.0).abs() < 1e-9 && hundred.epsilon.0 < 16.0);
//! # Ok::<(), hushmesh::privacy::CalibrationError>(())
//! ```

mod beta;
mod calibrated;
mod config;
mod gaussian;
mod ledger;
mod masked_sum;
mod normal;
mod objective_noise;
mod observer;
pub mod randomized_response;
mod released;
mod renyi;
mod repetition;
mod spent;
mod wire;

pub use beta::{binomial_interval, regularised_beta};
pub use calibrated::{Composition, ReleaseNoise, Share};
pub use config::PrivacyConfig;
pub use gaussian::{Calibration, CalibrationError, gaussian_delta, gaussian_epsilon, gaussian_mu};
pub use ledger::{Account, Budget, Exposure, Line, Protection, Receivers};
pub use masked_sum::{Grid, MaskGraph, Masks, Separation, pooled};
pub use normal::{cdf as normal_cdf, ln_cdf as normal_ln_cdf, quantile as normal_quantile};
pub use objective_noise::{
    Deviation, Ground, Guarantee, Neighbours, ObjectiveNoise, Radius, Rate, Release,
};
pub use observer::{Observer, Piece};
pub use randomized_response::{Correction, LabelSummary, LabelsConfig, Responses, randomise};
pub(crate) use released::Settled;
pub use released::{
    Batches, Charge, Mechanism, Part, Pieces, PooledNoise, Records, Relation, Released,
    Sensitivity, Vector, commonly_noisy, in_the_clear, noisy, noisy_in_place, public,
};
pub use renyi::{
    gaussian_renyi, laplace_renyi, renyi_epsilon, renyi_epsilon_at, response_renyi,
    zcdp_epsilon_simple,
};
pub use repetition::repetition;
pub use spent::{Bound, Route, Spent};
pub use wire::{Pack, Wire, WireError};
pub(crate) use wire::{pack_fields, size_of_round};
