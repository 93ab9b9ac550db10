//! What can be said before a run: how fast it will be, and which parameter makes it fastest.
//!
//! Near its optimum, fully distributed ADMM is a linear map of the error, and the error falls by
//! the factor τ per round, the spectral radius of that map: see [`local_rate`]. τ depends on the
//! graph, on the curvature of the peers' objectives and on the penalty β; [`best_penalty`] finds the
//! β that makes τ least, which is what `penalty: auto` means.
//!
//! A [`Forecast`] gathers what is known of one private run of ADMM before it starts: the graph's
//! eigenvalues, the rate with and without noise, the O(1/t) [`bound`], what noise in the objective
//! costs, how far the data speaks for its population, and a published condition for linear rates.
//!
//! ```
//! use hushmesh::theory::{Curvature, best_penalty, local_rate};
//! use hushmesh::topology::{path, star};
//!
//! let curvature = Curvature::Bounds { low: 0.1, high: 0.5 };
//! let (star, path) = (star(10)?, path(10)?);
//! let best = best_penalty(&path, &curvature);
//! assert!(best.rate.value < local_rate(&path, &curvature, 10.0 * best.beta).value);
//! assert!(best.rate.value > best_penalty(&star, &curvature).rate.value, "a path is slower");
//! # Ok::<(), hushmesh::topology::TopologyError>(())
//! ```

mod arnoldi;
mod bounds;
mod closed_form;
mod condition;
mod curvature;
mod error_map;
mod forecast;
mod generalisation;
mod gradient_tracking;
mod hessenberg;
mod lanczos;
mod noise;
pub mod pairwise;
mod penalty;
pub mod server;
#[cfg(test)]
mod tests;
mod walk;

pub use bounds::{Bound, bound, dual_energy, optimal_gradients};
pub use condition::{Condition, Convexity, Verdict};
pub use curvature::Curvature;
pub use forecast::{Entry, Forecast, Inputs, Population, Spectra};
pub use generalisation::{Generalisation, PeerSamples, model_radius};
pub use gradient_tracking::{BestStep, best_step, tracking_rate};
pub use noise::{ObjectiveCost, ObjectiveNoise, PrimalNoise};
pub use penalty::{BestPenalty, Method, Rate, best_penalty, local_rate};
pub use walk::{
    DECISIONS_ORDER, Hops, WalkBound, WalkNoise, WalkRun, closed_form_hops, expected_hops,
};

use rand::RngExt;

use crate::random::{Purpose, Streams};
use crate::units::Seed;

/// Where iterations start: random, so that it lies in no special subspace, and always the same.
fn random_vector(length: usize) -> Vec<f64> {
    let mut stream = Streams::new(Seed(0), 0).single(Purpose::Spectrum);
    (0..length).map(|_| stream.random_range(-1.0..1.0)).collect()
}
