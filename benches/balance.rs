//! What it brings to share out peers by how long they take and not by an estimate alone.
//!
//! ```text
//! cargo bench --bench balance
//! ```
//!
//! ADMM on a ring of 1,000 peers with 50 features, 1 worker, 2 workers with the peers that estimated weights
//! give them, and 2 workers that share them out by the clock: the median of five turns, in which all take
//! part one after the other. With squared loss a round takes no longer where there are more samples, and
//! the estimate, which counts them, errs: the first hundred peers have fifteen times as many as the others.
//! With logistic loss and as many samples for everybody it is right, and there is nothing to gain. The
//! models must be the same to the bit.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use hushmesh::data::{LocalData, Partitioned};
use hushmesh::learn::Loss;
use hushmesh::network::{
    Flow, InProcess, Layout, Links, Measured, NetworkConfig, Peer, Probe, Schedule, Snapshot,
    run_on_ranks,
};
use hushmesh::protocol::admm::{AdmmParameters, AdmmPeer};
use hushmesh::random::Streams;
use hushmesh::report::{Column, Table};
use hushmesh::topology::{self, Topology};
use hushmesh::units::{PeerId, Round, Seed};
use ndarray::Array2;

const PEERS: usize = 1_000;
const FEATURES: usize = 50;
const TURNS: usize = 5;

struct Nothing;

impl Probe for Nothing {
    type Local = ();
    type Found = ();
    fn local(&self, _: PeerId, _: &Snapshot<'_>) {}
}

/// A loss, how many samples each peer has, and rounds.
struct Case {
    name: &'static str,
    loss: Loss,
    samples: fn(usize) -> usize,
    rounds: Round,
}

const CASES: [Case; 2] = [
    Case {
        name: "squared loss, 900 samples or 60",
        loss: Loss::Squared,
        samples: |peer| if peer < PEERS / 10 { 900 } else { 60 },
        rounds: Round(1_000),
    },
    Case {
        name: "logistic loss, 100 samples",
        loss: Loss::Logistic,
        samples: |_| 100,
        rounds: Round(100),
    },
];

fn main() {
    let graph = topology::ring(PEERS).expect("a ring can be made");
    let mut table = Table::new([
        Column::text("peers with"),
        Column::number("1 worker").unit("s"),
        Column::number("2, as estimated").unit("s"),
        Column::number("2, as measured").unit("s"),
    ]);
    for case in &CASES {
        let data = data(case.samples);
        let mut times = [const { Vec::new() }; 3];
        let mut models: Option<Vec<f64>> = None;
        for _ in 0..TURNS {
            for (times, (workers, measured)) in
                times.iter_mut().zip([(1, true), (2, false), (2, true)])
            {
                let (seconds, states) = once(case, &graph, &data, workers, measured);
                times.push(seconds);
                let expected = models.get_or_insert_with(|| states.clone());
                assert!(&states == expected, "{}: {workers} workers", case.name);
            }
        }
        let [one, estimated, measured] = times.map(median);
        table.row([case.name.into(), one.into(), estimated.into(), measured.into()]);
    }
    println!("{}", table.to_markdown());
}

/// Targets of 1 and −1 for rows of numbers between −1 and 1.
fn data(samples: fn(usize) -> usize) -> Arc<Partitioned> {
    let mut offsets = vec![0];
    for peer in 0..PEERS {
        offsets.push(offsets[peer] + samples(peer));
    }
    let rows = offsets[PEERS];
    // The bits of a multiple of the golden ratio, stirred.
    let number = |k: usize| {
        let bits = (k as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let bits = (bits ^ (bits >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    let x: Vec<f64> = (0..rows * FEATURES).map(number).collect();
    let y = x.chunks_exact(FEATURES).map(|row| if row[0] + row[1] > 0.0 { 1.0 } else { -1.0 });
    let y = y.collect();
    let x = Array2::from_shape_vec((rows, FEATURES), x).expect("as many numbers as that");
    Arc::new(Partitioned::new(x, y, offsets))
}

/// Seconds, and the models in the end.
fn once(
    case: &Case,
    graph: &Topology,
    data: &Arc<Partitioned>,
    workers: usize,
    measured: bool,
) -> (f64, Vec<f64>) {
    let links = Links::new(&NetworkConfig::default(), graph, &Streams::new(Seed(1), 0));
    let plain = AdmmParameters::plain(case.loss, PEERS, 0.1, 0.1, case.rounds);
    let parameters = Arc::new(AdmmParameters { tolerance: 1e-8, ..plain });
    let peer = |peer: PeerId| {
        let own = LocalData::new(Arc::clone(data), peer);
        AdmmPeer::new(peer, own, graph.neighbours(peer), 1.0, Arc::clone(&parameters))
    };
    let weights: Vec<u64> = graph.ids().map(|id| peer(id).weight()).collect();
    let layout = Layout::new(graph, |peer| weights[peer.index()], 1, workers);
    let layout = if measured { layout } else { layout.as_estimated() };
    let observation = (&Nothing, Schedule::of_peers(case.rounds.0, case.rounds));
    let mut ends = InProcess::run(1, |ranks| {
        let peers = layout.peers_of(0).map(peer).collect();
        let (idle, home) = (AtomicBool::new(false), (&layout, ranks));
        let mut states = Vec::new();
        let mut keep = |row: Measured<Nothing>| {
            let Measured::Whole(row) = row else { panic!("rows of few peers are whole") };
            states = row.scored;
            Flow::Continue
        };
        let began = Instant::now();
        run_on_ranks(home, graph, &links, peers, observation, &idle, &mut keep)
            .expect("the peers finish");
        (began.elapsed().as_secs_f64(), states)
    });
    ends.remove(0)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
