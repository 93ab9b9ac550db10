//! Peers, the links between them, and the engines that run them.
//!
//! A protocol is a [`Peer`]: a state machine that reacts to its own start, to messages and to
//! timers, and acts through a [`Context`]. It touches no thread, no channel, no clock and no other
//! peer's memory, so the same peer runs unchanged on every [`Engine`]:
//!
//! - [`Engine::Simulated`]: a conservative parallel discrete-event simulation in virtual time.
//! - [`Engine::Threads`]: one thread and one channel per peer, in real time.
//!
//! ```text
//!        ┌────────── worker 0 ──────────┐  batches of events   ┌── worker 1 ──┐
//!        │ queue ─▶ peers ─▶ links ─▶ … │ ◀──────────────────▶ │      …       │
//!        └──────────────┬───────────────┘  once per window     └──────┬───────┘
//!                       └───── measured rows, as they complete ───────┘
//! ```

mod config;
mod context;
mod error;
mod links;
mod observe;
mod peer;
mod ranks;
mod share;
mod simulated;
mod threads;

use std::sync::atomic::AtomicBool;

pub use config::{
    BandwidthConfig, ComputeConfig, EngineKind, Extra, LatencyConfig, LinksConfig, LossConfig,
    NetworkConfig, Speeds,
};
pub use context::{Announce, Context};
pub use error::NetworkError;
pub use links::Links;
pub use observe::{Flow, Found, Journey, Parting, Probe, Row, Schedule, Snapshot, Totals, Work};
pub use peer::{Peer, Received};
#[cfg(feature = "mpi")]
pub use ranks::Mpi;
pub use ranks::{Counted, InProcess, Ranks, Traffic, Words};
pub use share::{Share, Surveyed};
#[cfg(test)]
pub(crate) use simulated::cut_anywhere;
pub use simulated::{Arrival, Arrivals, Layout, Standing, Together, Turns};
pub use threads::PEER_LIMIT as THREADS_PEER_LIMIT;

use crate::topology::Topology;

/// What runs the peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Virtual time, on this many worker threads.
    Simulated {
        /// At least one; more than there are peers are not started.
        workers: usize,
    },
    /// Real time, a thread per peer.
    Threads,
}

/// Why a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every peer has done its part.
    Finished,
    /// The receiver of rows asked for it.
    Stopped,
    /// The interrupt flag was raised.
    Interrupted,
    /// A peer retired, and nobody could go on without it. Until then others may have sent more than
    /// the last complete row knows of.
    Retired,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<L> {
    /// Why.
    pub ending: Ending,
    /// What all peers have sent by then, in a run that came to its own end (finished or retired).
    pub totals: Totals,
    /// What peers with models of their own left behind in such a run, in peer order.
    pub partings: Vec<Parting<L>>,
    /// What the peers of this rank left in the last measured round, where rows [stay on
    /// ranks](Schedule::surveyed).
    pub share: Option<Share<L>>,
}

impl<L> Outcome<L> {
    /// One that was cut short.
    fn cut_short(ending: Ending) -> Self {
        Self { ending, totals: Totals::default(), partings: Vec::new(), share: None }
    }
}

/// A row, as it is handed over by ranks.
pub enum Measured<R: Probe> {
    /// All of it.
    Whole(Row<R::Local>),
    /// What is known of it, where it stays with its peers.
    Surveyed(Surveyed<R::Found>),
}

/// Runs the peers, peer i on node i, until they are done, are stopped or are stuck.
///
/// Measured rows are handed to `on_row` in the order of their rounds, each when it is complete, on
/// the calling thread. What peers do beyond the row that stopped the run is not reported.
///
/// # Errors
/// Peers that wait for each other, a peer that panics, too many peers for the engine.
pub fn run<P: Peer, R: Probe>(
    engine: Engine,
    topology: &Topology,
    links: &Links,
    peers: Vec<P>,
    observation: (&R, Schedule),
    interrupt: &AtomicBool,
    on_row: &mut dyn FnMut(Row<R::Local>) -> Flow,
) -> Result<Outcome<R::Local>, NetworkError> {
    assert_eq!(peers.len(), topology.peers(), "one peer per node");
    match engine {
        Engine::Simulated { workers } => {
            simulated::run(workers, topology, links, peers, observation, interrupt, on_row)
        }
        Engine::Threads => threads::run(topology, links, peers, observation, interrupt, on_row),
    }
}

/// The same on one of several ranks, which has made only its own peers, in the order of
/// [`Layout::peers_of`]. Rows are handed over and the outcome is known on rank 0; others come back with
/// an outcome that says nothing but what their own peers left. Where rows [stay on
/// ranks](Schedule::surveyed), what is known of them is handed over in their place.
///
/// # Errors
/// As [`run`], on rank 0; and a rank that is no more, on all.
pub fn run_on_ranks<P: Peer, R: Probe>(
    (layout, ranks): (&Layout, &dyn Ranks),
    topology: &Topology,
    links: &Links,
    peers: Vec<P>,
    observation: (&R, Schedule),
    interrupt: &AtomicBool,
    on_row: &mut dyn FnMut(Measured<R>) -> Flow,
) -> Result<Outcome<R::Local>, NetworkError> {
    assert_eq!(peers.len(), layout.peers_of(ranks.rank()).len(), "one peer per place");
    let home = (layout, Some(ranks));
    simulated::run_share(home, topology, links, peers, observation, interrupt, on_row)
}
