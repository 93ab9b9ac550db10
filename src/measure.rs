//! From peers' states to figures: rows per measured round, statistics over repeats.
//!
//! Measuring is omniscient: it sees every state and all data. It is outside the threat model, and
//! nothing that it computes flows back into a peer, except the decision to stop.

pub(crate) mod columns;
mod config;
mod exact_sum;
mod frames;
mod metric;
pub(crate) mod nan;
mod paired;
mod probe;
mod rate;
mod recorder;
mod statistics;
mod survey;
mod thinning;

pub use config::{MeasureConfig, StopConfig, What};
pub use exact_sum::ExactSum;
pub use frames::{FILMED_PEERS, Frames, Numbers};
pub use metric::{Metric, Shape, SumShape, TokenShape};
pub use paired::{Paired, holm};
pub use probe::{LocalFigures, Perturbed, Reference, Scorer};
pub use rate::fitted_rate;
pub use recorder::{Accounting, Comparison, Divergence, MeasuredRow, Recorder};
pub use statistics::{Estimate, student_quantile};
pub use survey::Survey;
pub use thinning::{RunSize, Scored, Thinning};
