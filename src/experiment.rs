//! Runs: assembled from a checked scenario, repeated, kept, resumed.

mod assembly;
mod directory;
mod each_peer;
mod filed;
mod fingerprint;
mod left;
#[cfg(test)]
mod moved;
mod observed;
mod outline;
mod parts;
mod prediction;
mod promised;
mod ranked;
mod repeat;
mod resolved;
mod run;
mod server;
mod statement;
mod study;
mod walk;

pub use assembly::{Assembly, Solve};
pub use directory::{
    ASKED, COMPLETE, DirectoryError, RunDirectory, SCENARIO, STUDY, npy, write_npy,
};
pub use each_peer::{EachPeer, Figure};
pub use filed::{Filed, npy_header, write_numbers};
pub use fingerprint::fingerprint;
pub use outline::{Outline, PeerMemory};
pub use parts::Masking;
pub use prediction::{Item, PREDICTED_PEERS, Prediction, Reading, predict};
pub use promised::{coalition, promise};
pub use ranked::{Leader, common_workers, follow};
pub use repeat::{PeerWork, RepeatResult, StopReason, SumResult, TokenResult, listed_every};
pub use resolved::{Resolved, resolve};
pub use run::{ExperimentError, Options, Progress, RunResult, execute, run};
pub use statement::{Claim, Holdings, Published, Statement, notes, statement};
pub use study::{
    Called, Hands, Helpers, News, PointOutcome, Purpose, Study, StudyPoint, called, side_by_side,
    study_fingerprint,
};
pub use walk::WalkPlan;
