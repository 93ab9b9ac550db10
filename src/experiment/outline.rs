//! What a run will do, before it does anything.

use serde::Serialize;

use crate::data;
use crate::experiment::run::ExperimentError;
use crate::measure::{LocalFigures, What};
use crate::privacy::Exposure;
use crate::protocol::Extent;
use crate::scenario::Checked;
use crate::topology::Summary;

/// Bytes that a measured row holds of a peer beside its state: residual, figures, exposure.
const ROW_BYTES: usize = 8 + size_of::<LocalFigures>() + size_of::<Exposure>();

/// The size of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Outline {
    /// What it is called.
    pub name: String,
    /// How often it is repeated.
    pub repeats: u32,
    /// The graph, in words.
    pub topology: String,
    /// Number of peers.
    pub peers: usize,
    /// Number of links.
    pub links: usize,
    /// Least, mean and greatest number of neighbours.
    pub degrees: (usize, f64, usize),
    /// Longest shortest path, where it was computed.
    pub diameter: Option<u32>,
    /// Whether every peer can reach every other: always, or the scenario would have been refused.
    pub connected: bool,
    /// Training samples over all peers.
    pub training_samples: usize,
    /// Fewest and most training samples of a peer.
    pub samples_per_peer: (usize, usize),
    /// Held-out samples.
    pub held_out_samples: usize,
    /// Features, the intercept included.
    pub dimension: usize,
    /// Rounds at the most; updates of each token where there are any.
    pub rounds: u64,
    /// Messages per repeat if all rounds are run and none is lost.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of memory per peer: state, link ends and samples.
    pub memory_per_peer: u64,
    /// Bytes of memory for the run: peers, messages under way, held-out samples, measuring.
    pub memory: u64,
}

impl Outline {
    /// Looks at a scenario. Files are read where they must be counted; nothing is run.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn of(checked: &Checked) -> Result<Self, ExperimentError> {
        let scenario = checked.scenario();
        let topology = checked.topology();
        let summary = Summary::of(topology);
        let n = topology.peers();
        let data = data::outline(&scenario.data, n, scenario.model.intercept, checked.base())?;
        if let Some(labels) = &scenario.privacy.labels
            && let Some((field, message)) = labels.check_source(data.source_rows)
        {
            return Err(ExperimentError::Privacy(format!("privacy.labels.{field}: {message}")));
        }
        let d = data.dimension;
        let mean_degree = summary.mean_degree.ceil() as usize;
        let extent = Extent {
            peers: n,
            links: topology.links(),
            mean_degree,
            samples: data.train_rows,
            dimension: d,
            tasks: data.classes.max(1),
            averages: scenario.measure.has(What::Average),
            loss: scenario.model.loss,
        };
        let footprint = scenario.protocol.footprint(extent);
        let samples = data.train_rows * (d + 1) * 8 / n;
        // The network's desk of a peer, and per link end an event each in the window that runs, in
        // the next, and in two recycled buffers.
        let network = 160 + mean_degree * 4 * 64;
        let per_peer = (samples + footprint.memory + network) as u64;
        let measuring = 2 * n * (d * 8 + ROW_BYTES);
        let held_out = data.test_rows * (d + 1) * 8;
        Ok(Self {
            name: scenario.name.clone(),
            repeats: scenario.repeat,
            topology: scenario.topology.label(),
            peers: n,
            links: topology.links(),
            degrees: (summary.least_degree, summary.mean_degree, summary.greatest_degree),
            diameter: summary.diameter,
            connected: summary.connected,
            training_samples: data.train_rows,
            samples_per_peer: (data.min_rows, data.max_rows),
            held_out_samples: data.test_rows,
            dimension: d,
            rounds: scenario.protocol.rounds(std::iter::repeat_n(data.train_rows / n, n)),
            messages: footprint.messages,
            bytes: footprint.bytes,
            memory_per_peer: per_peer,
            memory: per_peer * n as u64 + (measuring + held_out) as u64,
        })
    }
}
