//! Peers that move from worker to worker while a run goes on.

use std::collections::BTreeMap;
use std::thread::{ThreadId, current};

use super::super::balance::{Cuts, rehearsal};
use super::super::run_share;
use super::*;

/// Talks to its neighbours at its own pace, leaves a state in every round, and may take long for it.
#[derive(Clone)]
struct Reporter {
    round: Round,
    state: [f64; 2],
    /// Of a round, in simulated time.
    pace: SimTime,
    /// Nanoseconds that a round is pretended to take.
    takes: u64,
    ran_on: Arc<Mutex<BTreeMap<(Round, PeerId), ThreadId>>>,
}

const ROUNDS: Round = Round(70);

impl Reporter {
    fn new(peer: PeerId, takes: u64) -> Self {
        let pace = SimTime(1_000_000 + 77_777 * u64::from(peer.0 % 5));
        let state = [f64::from(peer.0), 0.0];
        Self { round: Round(0), state, pace, takes, ran_on: Arc::default() }
    }
}

impl Peer for Reporter {
    type Message = Ball;

    fn start(&mut self, context: &mut Context<'_, Ball>) {
        context.timer(self.pace);
    }

    fn receive(&mut self, _: PeerId, ball: Received<'_, Ball>, _: &mut Context<'_, Ball>) {
        self.state[1] = 0.5 * self.state[1] + f64::from(ball.value().hops);
    }

    fn timer(&mut self, context: &mut Context<'_, Ball>) {
        rehearsal::pass(self.takes);
        self.round = self.round.next();
        self.ran_on.lock().unwrap().insert((self.round, context.me()), current().id());
        let size = self.round.0 as usize;
        context.broadcast(public(Ball { id: 0, hops: self.round.0, size }));
        context.deposit(self.round, &Snapshot::of(&self.state));
        if self.round < ROUNDS {
            context.timer(self.pace);
        }
    }

    fn waiting_for(&self) -> Vec<PeerId> {
        Vec::new()
    }
}

fn jittery() -> NetworkConfig {
    let latency = LatencyConfig { min: 1e-3, extra: Extra::Uniform(4e-3) };
    let loss = LossConfig { probability: 0.2, timeout: 2e-3 };
    let bandwidth = BandwidthConfig { up: Some(1e6), down: Some(1e6) };
    let links = LinksConfig { latency, bandwidth, loss };
    NetworkConfig { links, ..NetworkConfig::default() }
}

/// Rows, and what all have sent.
fn report(layout: &Layout, ring: &Topology, peers: Vec<Reporter>) -> (Vec<Row<()>>, Totals) {
    let links = Links::new(&jittery(), ring, &Streams::new(Seed(3), 0));
    let observation = (&Nothing, Schedule::of_peers(1, ROUNDS));
    let mut rows = Vec::new();
    let idle = AtomicBool::new(false);
    let peers = layout.by_place(peers);
    let outcome = run_share((layout, None), ring, &links, peers, observation, &idle, &mut |row| {
        let Measured::Whole(row) = row else { panic!("rows were to be whole") };
        rows.push(row);
        Flow::Continue
    });
    (rows, outcome.unwrap().totals)
}

#[test]
fn rows_that_are_half_complete_move_with_their_peers() {
    let ring = crate::topology::ring(23).unwrap();
    let peers = || ring.ids().map(|peer| Reporter::new(peer, 0)).collect::<Vec<_>>();
    let alone = report(&Layout::new(&ring, |_| 1, 1, 1), &ring, peers());
    assert!(alone.0.iter().map(|row| row.round.0).eq(1..=ROUNDS.0));
    for workers in 2..6 {
        for seed in 0..20 {
            let layout = Layout::new(&ring, |_| 1, 1, workers).with_cuts(Cuts::Drawn(seed));
            let found = report(&layout, &ring, peers());
            assert!(found == alone, "{workers} workers, seed {seed}");
        }
    }
}

#[test]
fn a_worker_whose_peers_take_long_gives_some_of_them_away() {
    let ring = crate::topology::ring(64).unwrap();
    // The first eight take as long as all others together.
    let takes = |peer: PeerId| if peer.0 < 8 { 7_000 } else { 1_000 };
    let shares = |cuts: Cuts| {
        let ran_on = Arc::default();
        let peers = ring.ids().map(|peer| Reporter {
            ran_on: Arc::clone(&ran_on),
            ..Reporter::new(peer, takes(peer))
        });
        let layout = Layout::by_number(64, |_| 1, 1, 2).with_cuts(cuts);
        let rows = report(&layout, &ring, peers.collect());
        let ran_on = ran_on.lock().unwrap();
        // How long the round is for the worker that runs the first of all, in microseconds.
        let of_first = |round: Round| {
            let first = ran_on[&(round, PeerId(0))];
            let own = ring.ids().filter(|&peer| ran_on[&(round, peer)] == first);
            own.map(takes).sum::<u64>() / 1_000
        };
        (rows, [Round(1), ROUNDS].map(of_first))
    };
    let (rows, estimated) = shares(Cuts::Estimated);
    assert_eq!(estimated, [80, 80], "of 112: peers stay where weights of 1 put them");
    let (moved, [first, last]) = shares(Cuts::Pretended);
    assert!(moved == rows);
    assert_eq!(first, 80);
    assert!((54..=58).contains(&last), "{last} of 112: within a peer or two of a half");
}

#[test]
fn workers_stay_where_little_would_be_saved() {
    let ring = crate::topology::ring(64).unwrap();
    let ran_on = Arc::default();
    let takes = |peer: PeerId| if peer.0 == 3 { 1_900 } else { 1_000 };
    let peers = ring
        .ids()
        .map(|peer| Reporter { ran_on: Arc::clone(&ran_on), ..Reporter::new(peer, takes(peer)) });
    let layout = Layout::by_number(64, |_| 1, 1, 2).with_cuts(Cuts::Pretended);
    report(&layout, &ring, peers.collect());
    let ran_on = ran_on.lock().unwrap();
    for peer in ring.ids() {
        assert_eq!(ran_on[&(Round(1), peer)], ran_on[&(ROUNDS, peer)], "{peer:?}");
    }
}
