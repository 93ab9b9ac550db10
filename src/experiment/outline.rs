//! What a run will do, before it does anything.

use serde::Serialize;

use crate::data;
use crate::experiment::run::ExperimentError;
use crate::measure::{LocalFigures, RunSize, Thinning, What};
use crate::network::Links;
use crate::privacy::Exposure;
use crate::protocol::Extent;
use crate::random::Streams;
use crate::scenario::Checked;
use crate::topology::Summary;

/// Bytes that a measured row holds of a peer beside its state: residual, figures, exposure.
const ROW_BYTES: usize = 8 + size_of::<LocalFigures>() + size_of::<Exposure>();
/// Bytes for where a peer stands among its workers', who stands there, and where its samples begin.
const PLACES: usize = 4 + 4 + size_of::<usize>();
/// Bytes that the results hold of a peer beside its last row: ε, neighbours, samples.
const RESULT_BYTES: usize = 8 + 4 + 4;

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
    /// Every how many rounds it is measured.
    pub measured_every: u32,
    /// How many peers are scored on held-out samples.
    pub scored_peers: usize,
    /// Bytes of memory per peer.
    pub memory_per_peer: u64,
    /// The same by what takes them.
    pub memory_parts: PeerMemory,
    /// Bytes of memory for the run at its peak: peers, held-out samples, and what is made on the way.
    pub memory: u64,
}

/// Bytes of memory per peer, in the mean.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PeerMemory {
    /// Features, labels and row numbers of its samples.
    pub samples: u64,
    /// What its protocol keeps, its last messages included.
    pub protocol: u64,
    /// Its links, its desk, and events under way to it.
    pub network: u64,
    /// Its row of the graph, its place in the order of peers, and where its samples begin.
    pub graph: u64,
    /// Its part of the rows of figures that are under way, and of the results.
    pub measuring: u64,
}

/// What there is to say of the graph.
struct Shape {
    degrees: (usize, f64, usize),
    diameter: Option<u32>,
    connected: bool,
}

impl Shape {
    /// By going through its rows or, where there are none and it would have many, by the rule that they
    /// follow from.
    fn of(checked: &Checked) -> Self {
        let topology = checked.topology();
        let rule = checked.scenario().topology.by_number().filter(|_| !topology.is_whole());
        let summary = match rule {
            Some(rule) if topology.peers() > Summary::DIAMETER_PEERS => {
                let (least, greatest) = rule.degrees();
                let mean = 2.0 * rule.links() as f64 / rule.peers() as f64;
                return Self { degrees: (least, mean, greatest), diameter: None, connected: true };
            }
            Some(rule) => Summary::of(&rule.whole()),
            None => Summary::of(topology),
        };
        let Summary { least_degree, mean_degree, greatest_degree, diameter, connected, .. } =
            summary;
        Self { degrees: (least_degree, mean_degree, greatest_degree), diameter, connected }
    }
}

impl Outline {
    /// Looks at a scenario. Files are read where they must be counted; nothing is run.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn of(checked: &Checked) -> Result<Self, ExperimentError> {
        let scenario = checked.scenario();
        let topology = checked.topology();
        let n = topology.peers();
        let shape = Shape::of(checked);
        let data = data::outline(&scenario.data, n, scenario.model.intercept, checked.base())?;
        if let Some(labels) = &scenario.privacy.labels
            && let Some((field, message)) = labels.check_source(data.source_rows)
        {
            return Err(ExperimentError::Privacy(format!("privacy.labels.{field}: {message}")));
        }
        let d = data.dimension;
        let mean_degree = shape.degrees.1.ceil() as usize;
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
        // A label, as it is and as the user answered, and the row's number stay in any case.
        let answers = if scenario.privacy.labels.is_some() { 3 * 8 } else { 0 };
        let features = if scenario.data.keep { d * 8 } else { 0 };
        let samples = data.train_rows * (features + 8 + 4 + answers) / n;
        let streams = Streams::new(scenario.seed, 0);
        let links = Links::new(&scenario.network, topology, &streams);
        let network = links.memory(mean_degree, footprint.vector);
        let graph = topology.memory(mean_degree) + PLACES;
        // Two rows at a time: the one that was complete last, and the one that is gathered.
        let measuring = 2 * (d * 8 + ROW_BYTES) + RESULT_BYTES;
        let memory_parts = PeerMemory {
            samples: samples as u64,
            protocol: footprint.memory as u64,
            network: network as u64,
            graph: graph as u64,
            measuring: measuring as u64,
        };
        let memory_per_peer = (samples + footprint.memory + network + graph + measuring) as u64;
        let held_out = (data.test_rows * (d + 1) * 8) as u64;
        let rounds = scenario.protocol.rounds(std::iter::repeat_n(data.train_rows / n, n));
        let walks = scenario.protocol.walk().is_some();
        let thinning = Thinning::of(
            &scenario.measure,
            RunSize {
                peers: n,
                samples: data.train_rows,
                held_out: data.test_rows,
                dimension: d,
                rounds: if walks { 1 } else { rounds },
            },
        );
        // What the central optimum is solved from is in memory before any peer is.
        let all = scenario.protocol.automatic().is_some()
            || [What::Optimum, What::Average].iter().any(|&what| scenario.measure.has(what));
        let solving = if all && !scenario.data.keep { data.train_rows * d * 8 } else { 0 };
        let run = memory_per_peer * n as u64;
        let before = memory_parts.samples * n as u64 + solving as u64;
        Ok(Self {
            name: scenario.name.clone(),
            repeats: scenario.repeat,
            topology: scenario.topology.label(),
            peers: n,
            links: topology.links(),
            degrees: shape.degrees,
            diameter: shape.diameter,
            connected: shape.connected,
            training_samples: data.train_rows,
            samples_per_peer: (data.min_rows, data.max_rows),
            held_out_samples: data.test_rows,
            dimension: d,
            rounds,
            messages: footprint.messages,
            bytes: footprint.bytes,
            measured_every: match scenario.measure.every {
                None if walks => rounds.div_ceil(50).max(1) as u32,
                _ => thinning.every,
            },
            scored_peers: thinning.scored.peers,
            memory_per_peer,
            memory_parts,
            memory: run.max(before) + held_out,
        })
    }
}
