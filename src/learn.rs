//! Losses, their derivatives over a peer's samples, and the solvers: pure functions of numbers.

mod adam;
mod central;
mod cholesky;
mod chord_newton;
mod clipping;
mod conjugate_gradients;
pub mod consensus;
mod descent;
mod half;
pub mod kernel;
mod loss;
mod model;
mod normal_equations;
mod objective;
mod one_vs_all;
mod regulariser;
mod svm;
pub mod tiles;
mod vector;
mod woodbury;

pub use adam::AdamStep;
pub use central::{Central, CentralError, ball_optimum, central_optimum, flat_optimum};
pub use cholesky::{NotPositiveDefinite, Packed};
pub use chord_newton::{ChordNewton, DENSE_LIMIT, Solved, Subproblem};
pub use clipping::Clipping;
pub use consensus::Padded;
pub use descent::stationary_point;
pub use kernel::LANES;
pub(crate) use kernel::{Four, Loop, run};
pub use loss::Loss;
pub use model::ModelConfig;
pub use objective::{Objective, Samples};
pub use one_vs_all::{Batch, Tasks};
pub use regulariser::Regulariser;
pub use svm::svm_optimum;
pub use vector::{axpy, distance, dot, norm};
