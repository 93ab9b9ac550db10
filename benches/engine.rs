//! What the simulated engine itself costs: peers that do nothing but pass 50 numbers to their
//! neighbours, and again once they have heard as many messages as they have neighbours.
//!
//! ```text
//! cargo bench --bench engine
//! ```
//!
//! Nanoseconds per message, from its sending to the end of its receipt, by the clock: the median of
//! five turns, in which all cases of a graph take part one after the other. The numbers are behind one
//! pointer and are never copied, so that what is seen is the queue, the link, the books and the call
//! of the peer.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use hushmesh::network::{
    BandwidthConfig, Context, Engine, Extra, Flow, LatencyConfig, Links, LinksConfig,
    NetworkConfig, Peer, Probe, Received, Schedule, Snapshot, run,
};
use hushmesh::privacy::public;
use hushmesh::random::Streams;
use hushmesh::report::{Column, Table};
use hushmesh::topology::{self, Topology};
use hushmesh::units::{PeerId, Round, Seed};

const NUMBERS: usize = 50;
const MESSAGES: usize = 500_000;
const TURNS: usize = 5;

struct Nothing;

impl Probe for Nothing {
    type Local = ();
    type Found = ();
    fn local(&self, _: PeerId, _: &Snapshot<'_>) {}
}

/// Passes the numbers on.
struct Relay {
    numbers: Arc<[f64]>,
    round: Round,
    rounds: Round,
    heard: usize,
}

impl Peer for Relay {
    type Message = Arc<[f64]>;

    fn start(&mut self, context: &mut Context<'_, Self::Message>) {
        context.broadcast(public(Arc::clone(&self.numbers)));
    }

    fn receive(
        &mut self,
        _: PeerId,
        _: Received<'_, Self::Message>,
        context: &mut Context<'_, Self::Message>,
    ) {
        self.heard += 1;
        if self.heard == context.neighbours().len() {
            self.heard = 0;
            context.deposit(self.round, &Snapshot::of(&[]));
            self.round = self.round.next();
            if self.round <= self.rounds {
                context.broadcast(public(Arc::clone(&self.numbers)));
            }
        }
    }

    fn waiting_for(&self) -> Vec<PeerId> {
        Vec::new()
    }
}

fn main() {
    let streams = Streams::new(Seed(1), 0);
    let regular = topology::random_regular(10_000, 4, &streams).expect("there is such a graph");
    let graphs = [
        ("ring of 10,000", topology::ring(10_000).expect("a ring can be made")),
        ("4-regular, 10,000", regular),
        ("star of 1,000", topology::star(1_000).expect("a star can be made")),
        ("complete, 32", topology::complete(32).expect("a graph can be made")),
    ];
    let latency = LatencyConfig { extra: Extra::Uniform(1e-3), ..LatencyConfig::default() };
    // A message of 404 bytes keeps an interface busy for a tenth of the least latency.
    let bandwidth = BandwidthConfig { up: Some(4.04e6), down: Some(4.04e6) };
    let networks = [
        ("constant latency", LinksConfig::default()),
        ("random latency", LinksConfig { latency, ..LinksConfig::default() }),
        ("bandwidth limits", LinksConfig { bandwidth, ..LinksConfig::default() }),
    ];
    let mut table = Table::new([
        Column::text("graph"),
        Column::text("links"),
        Column::number("1 worker").unit("ns per message"),
        Column::number("2 workers").unit("ns per message"),
    ]);
    for (graph_name, graph) in &graphs {
        let mut times = vec![[const { Vec::new() }; 2]; networks.len()];
        for _ in 0..TURNS {
            for ((_, links), times) in networks.iter().zip(&mut times) {
                for (workers, times) in times.iter_mut().enumerate() {
                    times.push(once(graph, links, &streams, workers + 1));
                }
            }
        }
        for ((network, _), times) in networks.iter().zip(times) {
            let [one, two] = times.map(|times| median(times).round());
            table.row([(*graph_name).into(), (*network).into(), one.into(), two.into()]);
        }
    }
    println!("{}", table.to_markdown());
}

/// Nanoseconds per message of some 500,000.
fn once(graph: &Topology, links: &LinksConfig, streams: &Streams, workers: usize) -> f64 {
    let rounds = Round((MESSAGES / (2 * graph.links())).max(1) as u32);
    let config = NetworkConfig { links: links.clone(), ..NetworkConfig::default() };
    let links = Links::new(&config, graph, streams);
    let relay = |_| {
        let numbers = Arc::from(vec![0.5; NUMBERS]);
        Relay { numbers, round: Round(1), rounds, heard: 0 }
    };
    let peers: Vec<Relay> = graph.ids().map(relay).collect();
    let began = Instant::now();
    let outcome = run(
        Engine::Simulated { workers },
        graph,
        &links,
        peers,
        (&Nothing, Schedule::of_peers(u32::MAX, rounds)),
        &AtomicBool::new(false),
        &mut |_| Flow::Continue,
    )
    .expect("the peers finish");
    let seconds = began.elapsed().as_secs_f64();
    assert_eq!(outcome.totals.messages, 2 * graph.links() as u64 * u64::from(rounds.0));
    1e9 * seconds / outcome.totals.messages as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
