//! How the cost of a round grows with the number of peers: ADMM on a ring, 20 features, 5 samples
//! per peer.
//!
//! ```text
//! cargo bench --bench scaling
//! ```
//!
//! Every case runs in a process of its own, so that its peak memory is its own.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use hushmesh::data::{self, DataConfig, LinearLogistic, LocalData, Samples, Source};
use hushmesh::learn::Loss;
use hushmesh::network::{Engine, Flow, Links, NetworkConfig, Probe, Schedule, Snapshot, run};
use hushmesh::protocol::admm::{AdmmParameters, AdmmPeer};
use hushmesh::random::Streams;
use hushmesh::report::{Column, Table};
use hushmesh::topology;
use hushmesh::units::{PeerId, Round, Seed};

const ROUNDS: u32 = 100;
const CASE: &str = "HUSHMESH_SCALING_CASE";

struct Nothing;

impl Probe for Nothing {
    type Local = ();
    fn local(&self, _: PeerId, _: &Snapshot<'_>) {}
}

fn main() {
    if let Ok(case) = std::env::var(CASE) {
        let (peers, workers) = case.split_once(' ').expect("two numbers");
        one_case(peers.parse().expect("a number"), workers.parse().expect("a number"));
        return;
    }
    let mut table = Table::new([
        Column::number("peers"),
        Column::number("workers"),
        Column::number("100 rounds").unit("s"),
        Column::number("peer-rounds per second"),
        Column::number("messages per second"),
        Column::number("peak memory per peer").unit("bytes"),
    ]);
    let myself = std::env::current_exe().expect("a program has a path");
    for peers in [1_000_u32, 10_000, 100_000] {
        for workers in [1_u32, 2] {
            let output = Command::new(&myself)
                .env(CASE, format!("{peers} {workers}"))
                .output()
                .expect("the benchmark can start itself");
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut numbers = text.split_whitespace().map(|word| word.parse::<f64>());
            let mut next = || numbers.next().and_then(Result::ok).unwrap_or(f64::NAN);
            let (seconds, memory) = (next(), next());
            let updates = f64::from(peers) * f64::from(ROUNDS);
            table.row([
                f64::from(peers).into(),
                f64::from(workers).into(),
                seconds.into(),
                (updates / seconds).round().into(),
                (2.0 * updates / seconds).round().into(),
                (memory / f64::from(peers)).round().into(),
            ]);
        }
    }
    println!("{}", table.to_markdown());
}

/// Prints the seconds of 100 rounds and the peak memory in bytes.
fn one_case(peers: usize, workers: usize) {
    let streams = Streams::new(Seed(1), 0);
    let graph = topology::ring(peers).expect("a ring can be made");
    let source = Source::LinearLogistic(LinearLogistic { dimension: 20, norm: 5.0 });
    let config = DataConfig { samples: Some(Samples::PerPeer(5)), ..DataConfig::from(source) };
    let data = data::prepare(&config, peers, false, &streams, Path::new("."))
        .expect("synthetic data can be made");
    let plain = AdmmParameters::plain(Loss::Logistic, peers, 0.1, 0.1, Round(ROUNDS));
    let parameters = Arc::new(AdmmParameters { tolerance: 1e-8, ..plain });
    let links = Links::new(&NetworkConfig::default(), &graph, &streams);
    let network: Vec<AdmmPeer> = graph
        .ids()
        .map(|peer| {
            let own = LocalData::new(data.train.clone(), peer);
            AdmmPeer::new(peer, own, graph.neighbours(peer), 1.0, Arc::clone(&parameters))
        })
        .collect();
    let schedule = Schedule::of_peers(ROUNDS, Round(ROUNDS));
    let began = Instant::now();
    run(
        Engine::Simulated { workers },
        &graph,
        &links,
        network,
        (&Nothing, schedule),
        &AtomicBool::new(false),
        &mut |_| Flow::Continue,
    )
    .expect("the peers finish");
    println!("{} {}", began.elapsed().as_secs_f64(), peak_memory());
}

/// The most memory this process ever held, in bytes; NaN where the system does not say.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| 1024.0 * kilobytes)
}
