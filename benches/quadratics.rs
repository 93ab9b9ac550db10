//! ADMM on quadratics that somebody else has written down: one side of benches/python/compare.py.
//!
//! ```text
//! HUSHMESH_QUADRATICS=FOLDER cargo bench --bench quadratics
//! ```
//!
//! FOLDER has x.npy (n·m rows), y.npy (n·m targets), graph.edges (peers 0 to n − 1) and run.txt with
//! numbers: a/n, β, the rounds, and the workers of as many runs as there are more of them. Peer i
//! holds rows i·m to (i + 1)·m − 1. Every line that is printed is one run: workers and the seconds of all
//! rounds but the first, within which matrices are formed and inverted. Two more, before the runs and after
//! them, say how many seconds a cache line takes from one core to another and back: machines that are guests on
//! others may have their cores moved apart at any time, and two workers then wait longer for each other.
//! All runs must end at the same bits; the models in the end go to models.npy. Without a folder it
//! says how to get one, and that is all.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use hushmesh::data::{LocalData, Partitioned};
use hushmesh::experiment::npy;
use hushmesh::learn::Loss;
use hushmesh::network::{Engine, Flow, Links, NetworkConfig, Probe, Schedule, Snapshot, run};
use hushmesh::protocol::admm::{AdmmParameters, AdmmPeer};
use hushmesh::random::Streams;
use hushmesh::topology::{GraphFile, Topology};
use hushmesh::units::{PeerId, Round, Seed};
use ndarray::{Array1, Array2};

const FOLDER: &str = "HUSHMESH_QUADRATICS";

struct Nothing;

impl Probe for Nothing {
    type Local = ();
    type Found = ();
    fn local(&self, _: PeerId, _: &Snapshot<'_>) {}
}

fn main() {
    let Ok(folder) = std::env::var(FOLDER) else {
        println!("benches/python/compare.py makes the folder for {FOLDER} and calls this program");
        return;
    };
    let folder = Path::new(&folder);
    let said = std::fs::read_to_string(folder.join("run.txt")).expect("run.txt can be read");
    let numbers = said.split_whitespace().map(|word| word.parse::<f64>().expect("a number"));
    let numbers: Vec<f64> = numbers.collect();
    let [ridge, penalty, rounds, workers @ ..] = &*numbers else {
        panic!("run.txt has at least three numbers");
    };
    let graph = GraphFile::read(&folder.join("graph.edges")).expect("the graph can be read");
    let graph = graph.topology;
    let x: Array2<f64> = ndarray_npy::read_npy(folder.join("x.npy")).expect("x.npy can be read");
    let y: Array1<f64> = ndarray_npy::read_npy(folder.join("y.npy")).expect("y.npy can be read");
    let (n, d, each) = (graph.peers(), x.ncols(), x.nrows() / graph.peers());
    let offsets = (0..=n).map(|peer| peer * each).collect();
    let train = Arc::new(Partitioned::new(x, y.to_vec(), offsets));
    let plain = AdmmParameters::plain(Loss::Squared, n, *ridge, *penalty, Round(*rounds as u32));
    let parameters = Arc::new(plain);

    let mut models = Vec::new();
    let several = workers.iter().any(|&workers| workers > 1.0);
    let say_apart = || several.then(|| println!("apart {}", round_trip()));
    say_apart();
    for workers in workers {
        let (seconds, end) = once(&graph, &train, &parameters, *workers as usize);
        if models.is_empty() {
            models = end;
        } else {
            let same = models.iter().zip(&end).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same && models.len() == end.len(), "{workers} workers end elsewhere");
        }
        println!("{workers} {seconds}");
    }
    say_apart();
    std::fs::write(folder.join("models.npy"), npy(&models, &[n, d])).expect("there is room");
}

/// The seconds that a cache line takes from one core to another and back, as two threads see it that write and
/// wait by turns.
fn round_trip() -> f64 {
    const TURNS: u32 = 20_000;
    #[repr(align(128))]
    struct Line(AtomicU32);
    let (there, back) = (Line(AtomicU32::new(0)), Line(AtomicU32::new(0)));
    let until = |line: &Line, turn| {
        while line.0.load(Ordering::Acquire) != turn {
            std::hint::spin_loop();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 1..=TURNS {
                until(&there, turn);
                back.0.store(turn, Ordering::Release);
            }
        });
        let mut began = Instant::now();
        for turn in 1..=TURNS {
            // Until both are at it time goes by that is not of interest.
            if turn == TURNS / 2 {
                began = Instant::now();
            }
            there.0.store(turn, Ordering::Release);
            until(&back, turn);
        }
        began.elapsed().as_secs_f64() / f64::from(TURNS - TURNS / 2 + 1)
    })
}

/// The seconds of all rounds but the first, and the models in the end.
fn once(
    graph: &Topology,
    train: &Arc<Partitioned>,
    parameters: &Arc<AdmmParameters>,
    workers: usize,
) -> (f64, Vec<f64>) {
    let links = Links::new(&NetworkConfig::default(), graph, &Streams::new(Seed(1), 0));
    let peers: Vec<AdmmPeer> = graph
        .ids()
        .map(|peer| {
            let own = LocalData::new(Arc::clone(train), peer);
            AdmmPeer::new(peer, own, graph.neighbours(peer), 1.0, Arc::clone(parameters))
        })
        .collect();
    let schedule = Schedule::of_peers(u32::MAX, parameters.rounds);
    let mut models = Vec::new();
    let mut rows = Vec::new();
    run(
        Engine::Simulated { workers },
        graph,
        &links,
        peers,
        (&Nothing, schedule),
        &AtomicBool::new(false),
        &mut |row| {
            rows.push(Instant::now());
            models = row.scored;
            Flow::Continue
        },
    )
    .expect("the peers finish");
    let [first, .., last] = &*rows else { panic!("two rows are measured") };
    ((*last - *first).as_secs_f64(), models)
}
