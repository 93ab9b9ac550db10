//! Parties that add up, on a stage of their own: the real peers with samples, weights and noise that a
//! test gives them, on any graph, masked or not, on every engine.

mod booked;
mod central;
mod counts;
mod gossip;
mod one_result;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hushmesh::data::{LocalData, Partitioned};
use hushmesh::network::{
    Engine, Flow, Links, NetworkConfig, Outcome, Probe, Row, Schedule, Snapshot, run,
};
use hushmesh::privacy::{Grid, MaskGraph, Masks};
use hushmesh::protocol::party::{Learner, Party, Sum};
use hushmesh::random::{Draws, Purpose, Streams, Tape};
use hushmesh::topology::{Link, SpanningTree, Topology};
use hushmesh::units::{PeerId, Round, Seed};
use ndarray::Array2;
use petgraph::graph::UnGraph;
use rand::RngExt;

pub(crate) const ENGINES: [Engine; 4] = [
    Engine::Simulated { workers: 1 },
    Engine::Simulated { workers: 2 },
    Engine::Simulated { workers: 5 },
    Engine::Threads,
];

/// Draws of this member at this position.
type Address = (usize, usize);

/// Noise from a list of addresses with the numbers that stand there.
pub(crate) fn tape(numbers: impl IntoIterator<Item = (Address, Vec<f64>)>) -> Draws {
    let mut tape = Tape::default();
    for ((member, position), numbers) in numbers {
        tape.record(member as u64, position as u64, numbers);
    }
    Draws::Tape(Arc::new(tape))
}

/// Noise that nobody may draw.
pub(crate) fn silence() -> Draws {
    tape([])
}

/// Rows of peers with so many samples each.
pub(crate) fn dealt(rows: &[Vec<f64>], labels: Vec<f64>, sizes: &[usize]) -> Arc<Partitioned> {
    let d = rows[0].len();
    let x = Array2::from_shape_vec((rows.len(), d), rows.concat()).unwrap();
    let ends = sizes.iter().scan(0, |end, size| {
        *end += size;
        Some(*end)
    });
    Arc::new(Partitioned::new(x, labels, [0].into_iter().chain(ends).collect()))
}

/// Parties on a graph, and how they add up.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) topology: Topology,
    pub(crate) root: usize,
    pub(crate) data: Arc<Partitioned>,
    /// Exchanges of gossip; none for a tree.
    pub(crate) exchanges: Option<u32>,
    pub(crate) masks: Option<MaskGraph>,
    /// The bound of an addend.
    pub(crate) bound: f64,
    /// The parts of the noise in sums.
    pub(crate) noise: Draws,
    pub(crate) network: NetworkConfig,
}

/// What was seen of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct Played {
    pub(crate) rows: Vec<Row<()>>,
    pub(crate) outcome: Outcome<()>,
}

struct Nobody;

impl Probe for Nobody {
    type Local = ();
    type Found = ();
    fn local(&self, _: PeerId, _: &Snapshot<'_>) {}
}

impl Stage {
    /// A tree with its root at 0, no masks, no noise in sums, addends up to 64.
    pub(crate) fn new(topology: Topology, data: Arc<Partitioned>) -> Self {
        let network = NetworkConfig::default();
        let (noise, bound) = (silence(), 64.0);
        Self { topology, root: 0, data, exchanges: None, masks: None, bound, noise, network }
    }

    pub(crate) fn play<L: Learner>(
        &self,
        engine: Engine,
        learner: impl Fn(usize, LocalData) -> L,
    ) -> Played {
        let Self { topology, data, network, .. } = self;
        let streams = Streams::new(Seed(17), 0);
        let tree = SpanningTree::of(topology, PeerId::new(self.root)).unwrap();
        let sum = Arc::new(Sum {
            exchanges: self.exchanges.unwrap_or(1),
            grid: Grid::new(topology.peers(), self.bound),
            noise: self.noise.clone(),
            parties: topology.peers(),
        });
        let seeds = streams.family(Purpose::Masks, 0);
        let mut last = Round(0);
        let peers: Vec<_> = topology
            .ids()
            .map(|id| {
                let learner = learner(id.index(), LocalData::new(Arc::clone(data), id));
                last = learner.rounds();
                let masks = self.masks.as_ref().map(|graph| Masks::of(graph, id, seeds));
                let branch = self.exchanges.is_none().then(|| tree.branch(id));
                Party::new(learner, topology.neighbours(id), branch, masks, Arc::clone(&sum))
            })
            .collect();
        let mut rows = Vec::new();
        let outcome = run(
            engine,
            topology,
            &Links::new(network, topology, &streams),
            peers,
            (&Nobody, Schedule::of_peers(1, last)),
            &AtomicBool::new(false),
            &mut |row| {
                rows.push(row);
                Flow::Continue
            },
        )
        .unwrap();
        assert_eq!(rows.len(), last.0 as usize, "a row for every round");
        Played { rows, outcome }
    }
}

impl Played {
    /// The model at the end, which all parties of a tree have to the last bit.
    #[track_caller]
    pub(crate) fn model(&self) -> Vec<f64> {
        let row = self.rows.last().expect("a row");
        let model = row.state(PeerId(0));
        for state in row.scored.chunks(row.dimension) {
            assert_eq!(state, model, "one model for all");
        }
        model.to_vec()
    }

    /// Each peer's state at the end.
    fn states(&self) -> Vec<Vec<f64>> {
        let row = self.rows.last().expect("a row");
        row.scored.chunks(row.dimension).map(<[f64]>::to_vec).collect()
    }
}

#[track_caller]
pub(crate) fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance, "{what}: {found} {expected}");
    }
}

/// A random tree and some links more; simple and connected.
fn random_graph(peers: usize, more: usize, seed: u64) -> Topology {
    let mut stream = Streams::new(Seed(seed), 0).single(Purpose::Topology);
    let mut graph = UnGraph::<(), Link>::new_undirected();
    let nodes: Vec<_> = (0..peers).map(|_| graph.add_node(())).collect();
    for peer in 1..peers {
        graph.update_edge(nodes[stream.random_range(0..peer)], nodes[peer], Link::default());
    }
    for _ in 0..more {
        let (a, b) = (stream.random_range(0..peers), stream.random_range(0..peers));
        if a != b {
            graph.update_edge(nodes[a], nodes[b], Link::default());
        }
    }
    Topology::new(&graph, None).unwrap()
}
