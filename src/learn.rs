//! Losses, their derivatives over a peer's samples, and the solvers: pure functions of numbers.

mod central;
mod cholesky;
mod chord_newton;
mod conjugate_gradients;
mod loss;
mod model;
mod objective;
mod one_vs_all;
mod vector;

pub use central::{Central, CentralError, ball_optimum, central_optimum};
pub use cholesky::{NotPositiveDefinite, Packed};
pub use chord_newton::{ChordNewton, DENSE_LIMIT, Solved, Subproblem};
pub use loss::Loss;
pub use model::ModelConfig;
pub use objective::{Objective, Samples};
pub use one_vs_all::{Batch, Tasks};
pub use vector::{axpy, distance, dot, norm};
