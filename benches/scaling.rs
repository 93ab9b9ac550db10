//! How the cost of a round grows with the number of peers: ADMM on a ring, on a random 4-regular graph
//! and on a star, 20 features, 5 samples per peer, from ten peers to a million.
//!
//! ```text
//! cargo bench --bench scaling
//! HUSHMESH_SCALING_CASE="4-regular 100000 2" cargo bench --bench scaling
//! ```
//!
//! Every case runs in a process of its own, so that its peak memory is its own. Every run has fifty
//! rounds, of which the first are the dearest; small graphs run them several times. The models at the end
//! have a checksum, which must be the same for 1, 2 and 4 workers. All of it takes a quarter of an hour.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use hushmesh::data::{self, DataConfig, LinearLogistic, LocalData, Samples, Source};
use hushmesh::learn::Loss;
use hushmesh::network::{Engine, Flow, Links, NetworkConfig, Probe, Row, Schedule, Snapshot, run};
use hushmesh::protocol::admm::{AdmmParameters, AdmmPeer};
use hushmesh::random::Streams;
use hushmesh::report::{Column, Table};
use hushmesh::topology::{self, Topology};
use hushmesh::units::{PeerId, Round, Seed};
use sha2::{Digest, Sha256};

const CASE: &str = "HUSHMESH_SCALING_CASE";
const SHAPES: [&str; 3] = ["ring", "4-regular", "star"];
const PEERS: [usize; 6] = [10, 100, 1_000, 10_000, 100_000, 1_000_000];
/// Rounds of a run.
const ROUNDS: usize = 50;
/// Peer-rounds of a case, at least.
const WORK: usize = 1_000_000;

struct Nothing;

impl Probe for Nothing {
    type Local = ();
    type Found = ();
    fn local(&self, _: PeerId, _: &Snapshot<'_>) {}
}

/// One case.
#[derive(Clone, Copy)]
struct Case<'a> {
    shape: &'a str,
    peers: usize,
    workers: usize,
}

/// What a case gave.
struct Found {
    seconds: f64,
    memory: f64,
    links: f64,
    checksum: String,
}

impl<'a> Case<'a> {
    /// The case of `SHAPE PEERS WORKERS`.
    fn parse(text: &'a str) -> Self {
        let words: Vec<&str> = text.split_whitespace().collect();
        let &[shape, peers, workers] = &words[..] else { panic!("expected SHAPE PEERS WORKERS") };
        let number = |word: &str| word.parse().expect("a number");
        Self { shape, peers: number(peers), workers: number(workers) }
    }

    /// How often it is run.
    fn runs(self) -> usize {
        (WORK / (self.peers * ROUNDS)).max(1)
    }

    fn graph(self, streams: &Streams) -> Topology {
        let graph = match self.shape {
            "ring" => topology::ring(self.peers),
            "4-regular" => topology::random_regular(self.peers, 4, streams),
            "star" => topology::star(self.peers),
            other => panic!("{other}: expected ring, 4-regular or star"),
        };
        graph.expect("a graph can be made")
    }

    /// Runs it in a process of its own.
    fn elsewhere(self) -> Found {
        let myself = std::env::current_exe().expect("a program has a path");
        let Self { shape, peers, workers } = self;
        let output = Command::new(&myself)
            .env(CASE, format!("{shape} {peers} {workers}"))
            .output()
            .expect("the benchmark can start itself");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        let &[seconds, memory, links, checksum] = &words[..] else {
            panic!("{shape} {peers} {workers}: {}", String::from_utf8_lossy(&output.stderr))
        };
        let number = |word: &str| word.parse().expect("a number");
        Found {
            seconds: number(seconds),
            memory: number(memory),
            links: number(links),
            checksum: checksum.to_string(),
        }
    }

    /// Runs it here and prints seconds, peak memory in bytes, links and checksum.
    fn here(self) {
        let Self { peers, workers, .. } = self;
        let streams = Streams::new(Seed(1), 0);
        let graph = self.graph(&streams);
        let source = Source::LinearLogistic(LinearLogistic { dimension: 20, norm: 5.0 });
        let config = DataConfig { samples: Some(Samples::PerPeer(5)), ..DataConfig::from(source) };
        let data = data::prepare(&config, peers, false, &streams, Path::new("."))
            .expect("synthetic data can be made");
        let last = Round(ROUNDS as u32);
        let plain = AdmmParameters::plain(Loss::Logistic, peers, 0.1, 0.1, last);
        let parameters = Arc::new(AdmmParameters { tolerance: 1e-8, ..plain });
        let links = Links::new(&NetworkConfig::default(), &graph, &streams);
        let schedule = Schedule::of_peers(last.0, last);
        let mut seconds = 0.0;
        let mut states = Vec::new();
        for _ in 0..self.runs() {
            let network: Vec<AdmmPeer> = graph
                .ids()
                .map(|peer| {
                    let own = LocalData::new(data.train.clone(), peer);
                    AdmmPeer::new(peer, own, graph.neighbours(peer), 1.0, Arc::clone(&parameters))
                })
                .collect();
            let mut keep = |row: Row<()>| {
                states = row.scored;
                Flow::Continue
            };
            let began = Instant::now();
            run(
                Engine::Simulated { workers },
                &graph,
                &links,
                network,
                (&Nothing, schedule),
                &AtomicBool::new(false),
                &mut keep,
            )
            .expect("the peers finish");
            seconds += began.elapsed().as_secs_f64();
        }
        println!("{seconds} {} {} {}", peak_memory(), graph.links(), checksum(&states));
    }
}

fn main() {
    if let Ok(case) = std::env::var(CASE) {
        return Case::parse(&case).here();
    }
    let mut table = Table::new([
        Column::text("graph"),
        Column::number("peers"),
        Column::number("workers"),
        Column::number("runs"),
        Column::number("all of them").unit("s"),
        Column::number("peer-rounds per second"),
        Column::number("messages per second"),
        Column::number("peak memory per peer").unit("bytes"),
        Column::text("checksum"),
    ]);
    for shape in SHAPES {
        for peers in PEERS {
            let mut first: Option<String> = None;
            for workers in [1, 2, 4] {
                let case = Case { shape, peers, workers };
                let Found { seconds, memory, links, checksum } = case.elsewhere();
                let expected = first.get_or_insert_with(|| checksum.clone());
                assert_eq!(&checksum, expected, "{shape}, {peers} peers, {workers} workers");
                if workers > 2 {
                    continue;
                }
                let rounds = (ROUNDS * case.runs()) as f64;
                table.row([
                    shape.into(),
                    (peers as f64).into(),
                    (workers as f64).into(),
                    (case.runs() as f64).into(),
                    seconds.into(),
                    (peers as f64 * rounds / seconds).round().into(),
                    (2.0 * links * rounds / seconds).round().into(),
                    (memory / peers as f64).round().into(),
                    checksum.as_str().into(),
                ]);
            }
        }
    }
    println!("{}", table.to_markdown());
}

/// The first digits of SHA-256 over the peers' models.
fn checksum(states: &[f64]) -> String {
    let mut hash = Sha256::new();
    states.iter().for_each(|value| hash.update(value.to_bits().to_le_bytes()));
    hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// The most memory this process ever held, in bytes; NaN where the system does not say.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| 1024.0 * kilobytes)
}
