//! Runs: assembled from a checked scenario, repeated, kept, resumed.

mod assembly;
mod directory;
mod fingerprint;
mod observed;
mod outline;
mod prediction;
mod promised;
mod repeat;
mod run;
mod statement;

pub use assembly::Assembly;
pub use directory::{ASKED, DirectoryError, RunDirectory, SCENARIO, npy};
pub use fingerprint::fingerprint;
pub use outline::Outline;
pub use prediction::{Item, Prediction, Reading, predict};
pub use promised::promise;
pub use repeat::{RepeatResult, StopReason};
pub use run::{
    ExperimentError, Options, PREDICTED_PEERS, Progress, Resolved, RunResult, execute, resolve, run,
};
pub use statement::{Claim, Statement, notes, statement};
