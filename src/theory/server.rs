//! What can be said of learners with a server before they run: parties send models or gradients, the
//! server adds them up, and noise makes the sum private.
//!
//! - [`PublishedNoise`]: what the noise of the published weighted average of local runs really gives,
//!   beside what it claims.
//! - [`Schedule`], [`FederatedBound`] and [`QuadraticModel`]: federated learning with K local steps
//!   between communications, and the K that is best when noise grows with the steps.
//! - [`collaboration_ratio`], [`Descent`] and [`ExcessLaw`]: private gradient queries, when they are
//!   worth more than learning alone, and how far above the optimum they end.
//!
//! Records are replaced, not added: n is public.
//!
//! ```
//! use hushmesh::privacy::gaussian_epsilon;
//! use hushmesh::protocol::LearnerNoise;
//! use hushmesh::theory::server::PublishedNoise;
//! use hushmesh::units::{Delta, Epsilon};
//!
//! let (epsilon, delta) = (Epsilon(1.0), Delta(1e-5));
//! let published = LearnerNoise { epsilon, constant: Some(8.0), shared: false };
//! let noise = PublishedNoise {
//!     sizes: &[1_000; 8],
//!     weights: &[0.125; 8],
//!     lipschitz: 1.0,
//!     etas: &[0.5; 20],
//!     block: 20,
//!     flat: 0.0,
//!     steep: 2.0,
//!     deviation: published.deviation(2.0 / 8_000.0, 20, delta),
//! };
//! assert!(gaussian_epsilon(noise.claimed_mu(), delta).0 < 1.0, "as claimed, with room");
//! assert!(gaussian_epsilon(noise.local_mu(0), delta).0 > 7.9, "what a party sends is not");
//! ```

mod excess;
mod federated;
mod published;
mod queries;
#[cfg(test)]
mod tests;

pub use excess::ExcessLaw;
pub use federated::{
    FederatedBound, NoisePlace, QuadraticModel, Saving, Schedule, best_constant_steps,
    best_local_steps, best_local_steps_at, best_total_steps, block_deviation, predicted_gap,
    saving,
};
pub use published::PublishedNoise;
pub use queries::{
    Collaboration, Descent, Expected, Owner, QueryNoise, best_queries, collaboration_ratio,
    excess_law, expected_excess, precision_weights, query_bound, query_variance, weighted_ratio,
};
