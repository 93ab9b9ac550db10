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
//! use hushmesh::theory::server::{PublishedNoise, published_deviation};
//! use hushmesh::units::{Delta, Epsilon};
//!
//! let (epsilon, delta) = (Epsilon(1.0), Delta(1e-5));
//! let deviation = published_deviation(8.0, 1.0, 20, 8_000, epsilon, delta);
//! let (sizes, weights) = (&[1_000; 8], &[0.125; 8]);
//! let noise =
//!     PublishedNoise { sizes, weights, lipschitz: 1.0, steps: 20, block: 20, deviation };
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
    FederatedBound, QuadraticModel, Saving, Schedule, best_constant_steps, best_local_steps,
    best_local_steps_at, best_total_steps, block_deviation, predicted_gap, saving,
};
pub use published::{
    PublishedNoise, exact_constant, published_deviation, published_weight_deviation,
};
pub use queries::{
    Collaboration, Descent, Expected, Owner, QueryNoise, QuerySteps, best_queries,
    collaboration_ratio, excess_law, expected_excess, gaussian_deviation, laplace_scale,
    precision_weights, query_bound, query_variance, weighted_ratio,
};
