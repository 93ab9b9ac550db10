//! The parallel engine against a plain sequential event queue, and against closed forms.

mod chorus_tests;
mod cut_tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use petgraph::graph::UnGraph;
use proptest::prelude::*;

use super::super::context::{Announce, Context, Port};
use super::super::*;
use crate::privacy::{Account, Pack, Settled, Wire, WireError, public};
use crate::random::Streams;
use crate::topology::Link;
use crate::units::{PeerId, Round, Seed, SimTime};

/// A message of any size that counts how far it may still go.
#[derive(Clone, Debug, PartialEq)]
struct Ball {
    id: u64,
    hops: u32,
    size: usize,
}

impl Wire for Ball {
    fn size(&self) -> usize {
        self.size
    }
    fn encode(&self, _: &mut Vec<u8>) {}
    fn decode(_: &mut &[u8]) -> Result<Self, WireError> {
        Err(WireError { missing: 0 })
    }
    fn pack(&self, bytes: &mut Vec<u8>) {
        (self.id, self.hops, self.size).put(bytes);
    }
    fn unpack(bytes: &mut &[u8]) -> Result<Self, WireError> {
        let (id, hops, size) = Pack::get(bytes)?;
        Ok(Self { id, hops, size })
    }
    fn of_round(round: Round, vector: Arc<[f64]>) -> Self {
        let id = vector.iter().fold(0, |id, number| id ^ number.to_bits().rotate_left(7));
        Self { id, hops: round.0, size: 8 + 8 * vector.len() }
    }
}

/// (time, receiver, sender, ball): what a peer saw and when. A timer is a ball from itself.
type Trace = Arc<Mutex<Vec<(SimTime, PeerId, PeerId, u64)>>>;

/// Passes balls on by a rule that depends on everything it has seen, so that any change in the
/// order of events changes all that follows; sets timers and spends time now and then.
#[derive(Clone)]
struct Juggler {
    hash: u64,
    /// Throws left: every juggler tires.
    energy: u32,
    balls: u32,
    hops: u32,
    trace: Trace,
}

impl Juggler {
    fn mix(&mut self, value: u64) -> u64 {
        self.hash = (self.hash ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
        self.hash
    }

    fn throw(&mut self, hops: u32, context: &mut Context<'_, Ball>) {
        let h = self.mix(u64::from(hops));
        let neighbours = context.neighbours();
        if hops == 0 || neighbours.is_empty() || self.energy == 0 {
            return;
        }
        self.energy -= 1;
        context.spend((h >> 40 & 3) as f64);
        let ball = Ball { id: h, hops: hops - 1, size: (h >> 20 & 63) as usize };
        match h % 6 {
            0 => context.broadcast(public(ball)),
            5 => {
                // Mostly of one length.
                let vector = [f64::from_bits(h >> 12), 2.0, 3.0, f64::from(hops)];
                let length = if h >> 50 & 7 == 0 { 1 } else { vector.len() };
                context.announce(public((Round(hops - 1), &vector[..length])));
            }
            1 => context.timer(SimTime(h >> 30 & 0xFFF)),
            _ => {
                let to = neighbours[h as usize % neighbours.len()];
                context.send(to, public(ball));
            }
        }
    }
}

impl Peer for Juggler {
    type Message = Ball;

    fn start(&mut self, context: &mut Context<'_, Ball>) {
        self.mix(u64::from(context.me().0));
        for _ in 0..self.balls {
            self.throw(self.hops, context);
        }
    }

    fn receive(&mut self, from: PeerId, ball: Received<'_, Ball>, context: &mut Context<'_, Ball>) {
        let ball = ball.into_value();
        self.trace.lock().unwrap().push((context.now(), context.me(), from, ball.id));
        self.mix(ball.id ^ u64::from(from.0) ^ context.now().0);
        self.throw(ball.hops, context);
    }

    fn timer(&mut self, context: &mut Context<'_, Ball>) {
        self.trace.lock().unwrap().push((context.now(), context.me(), context.me(), 0));
        self.mix(context.now().0);
        self.throw(2, context);
    }

    fn waiting_for(&self) -> Vec<PeerId> {
        Vec::new()
    }
}

struct Nothing;

impl Probe for Nothing {
    type Local = ();
    type Found = ();
    fn local(&self, _: PeerId, _: &Snapshot<'_>) {}
}

const SCHEDULE: Schedule = Schedule::of_peers(1, Round(1));

/// The same on so many ranks with so many workers each: what rank 0 came to.
fn run_ranked<P: Peer + Clone + Sync>(
    (ranks, workers): (usize, usize),
    topology: &Topology,
    links: &Links,
    peers: &[P],
    schedule: Schedule,
    on_row: &(dyn Fn(Row<()>) -> Flow + Sync),
) -> Result<Ending, NetworkError> {
    let layout = Layout::new(topology, |_| 1, ranks, workers);
    let ends = InProcess::run(ranks, |ranks| {
        let own = layout.peers_of(ranks.rank()).map(|peer| peers[peer.index()].clone()).collect();
        let (idle, home) = (AtomicBool::new(false), (&layout, ranks));
        let observation = (&Nothing, schedule);
        run_on_ranks(home, topology, links, own, observation, &idle, &mut |row| {
            assert_eq!(ranks.rank(), 0, "rank 0 alone measures");
            let Measured::Whole(row) = row else { panic!("rows were to be whole") };
            on_row(row)
        })
    });
    ends.into_iter().map(|end| end.map(|outcome| outcome.ending)).next().expect("at least one rank")
}

fn run_parallel<P: Peer>(workers: usize, topology: &Topology, links: &Links, peers: Vec<P>) {
    let idle = AtomicBool::new(false);
    let engine = Engine::Simulated { workers };
    let ending =
        run(engine, topology, links, peers, (&Nothing, SCHEDULE), &idle, &mut |_| Flow::Continue);
    assert_eq!(ending.map(|outcome| outcome.ending), Ok(Ending::Finished));
}

/// The textbook: one heap of events, popped one by one. Interfaces, links and desks are written
/// again here from their description, not taken from the engine.
fn run_oracle<P: Peer>(topology: &Topology, links: &Links, peers: &mut [P]) {
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    struct Key(SimTime, PeerId, PeerId, u64);
    enum Stage<M> {
        AtInterface(Settled<M>),
        Received(Settled<M>),
        Timer,
    }
    struct World<'w, M> {
        topology: &'w Topology,
        links: &'w Links,
        heap: BinaryHeap<Reverse<Key>>,
        stages: std::collections::BTreeMap<(SimTime, PeerId, PeerId, u64), Stage<M>>,
        busy: Vec<u64>,
        sending_until: Vec<u64>,
        receiving_until: Vec<u64>,
        sent: Vec<u64>,
        in_order: std::collections::BTreeMap<(PeerId, PeerId), u64>,
    }
    impl<M> World<'_, M> {
        fn put(&mut self, key: (SimTime, PeerId, PeerId, u64), stage: Stage<M>) {
            self.heap.push(Reverse(Key(key.0, key.1, key.2, key.3)));
            self.stages.insert(key, stage);
        }
    }
    struct OraclePort<'p, 'w, M> {
        me: PeerId,
        now: u64,
        world: &'p mut World<'w, M>,
    }
    impl<M: Wire> Port<M> for OraclePort<'_, '_, M> {
        fn now(&self) -> SimTime {
            SimTime(self.now)
        }
        fn transmit(&mut self, slot: usize, message: Settled<M>) {
            let world = &mut *self.world;
            let me = self.me.index();
            let sequence = world.sent[me];
            world.sent[me] += 1;
            let to = world.topology.neighbours(self.me)[slot];
            let size = message.value().size() as u64;
            let times = world.links.transmissions(self.me, sequence);
            let mut clock = self.now.max(world.sending_until[me]);
            let mut waited = 0;
            for attempt in 1..=times {
                clock += world.links.up_time(size).0;
                if attempt < times {
                    waited += world.links.timeout().0;
                }
            }
            world.sending_until[me] = clock;
            let position = world.topology.row(self.me).start + slot;
            let latency = world.links.latency(world.topology, position, self.me, sequence).0;
            let last = world.in_order.entry((self.me, to)).or_insert(0);
            let arrival = (clock + waited + latency).max(*last);
            *last = arrival;
            let key = (SimTime(arrival), to, self.me, sequence);
            world.put(key, Stage::AtInterface(message));
        }
        fn timer(&mut self, delay: SimTime) {
            let sequence = self.world.sent[self.me.index()];
            self.world.sent[self.me.index()] += 1;
            let key = (SimTime(self.now + delay.0), self.me, self.me, sequence);
            self.world.put(key, Stage::Timer);
        }
        fn spend(&mut self, passes: f64) {
            let cost = passes * self.world.links.seconds_per_sample(self.me);
            self.now += SimTime::from_seconds(cost).0;
        }
        fn deposit_token(&mut self, _: (u32, Round), _: &Snapshot<'_>, _: &Journey) {}
        fn measures(&self, _: Round) -> bool {
            false
        }
        fn deposit(&mut self, _: Round, _: &Snapshot<'_>, _: &Account) {}
        fn fail(&mut self, _: String) {}
    }

    let n = topology.peers();
    let mut world: World<'_, P::Message> = World {
        topology,
        links,
        heap: BinaryHeap::new(),
        stages: std::collections::BTreeMap::new(),
        busy: vec![0; n],
        sending_until: vec![0; n],
        receiving_until: vec![0; n],
        sent: vec![0; n],
        in_order: std::collections::BTreeMap::new(),
    };
    let (mut account, mut workspace) = (Account::default(), Vec::new());
    let mut starts: VecDeque<PeerId> = topology.ids().collect();
    loop {
        let (me, now, stage) = if let Some(me) = starts.pop_front() {
            (me, 0, None)
        } else {
            let Some(Reverse(Key(time, me, from, sequence))) = world.heap.pop() else { return };
            match world.stages.remove(&(time, me, from, sequence)).unwrap() {
                Stage::AtInterface(message) => {
                    let begin = time.0.max(world.receiving_until[me.index()]);
                    let end = begin + links.down_time(message.value().size() as u64).0;
                    world.receiving_until[me.index()] = end;
                    world.put((SimTime(end), me, from, sequence), Stage::Received(message));
                    continue;
                }
                stage => (me, time.0.max(world.busy[me.index()]), Some((from, stage))),
            }
        };
        let mut port = OraclePort { me, now, world: &mut world };
        let mut context =
            Context::new(me, topology.neighbours(me), &mut port, &mut account, &mut workspace);
        let peer = &mut peers[me.index()];
        match stage {
            None => peer.start(&mut context),
            Some((from, Stage::Received(message))) => {
                peer.receive(from, Received::alone(message), &mut context)
            }
            Some(_) => peer.timer(&mut context),
        }
        let now = port.now;
        world.busy[me.index()] = now;
    }
}

fn graph(n: usize, edges: &[(usize, usize)], latencies: &[Option<f64>]) -> Topology {
    let mut graph = UnGraph::<(), Link>::default();
    let nodes: Vec<_> = (0..n).map(|_| graph.add_node(())).collect();
    for (k, &(a, b)) in edges.iter().enumerate() {
        if a != b && !graph.contains_edge(nodes[a], nodes[b]) {
            let latency = latencies.get(k).copied().flatten();
            graph.add_edge(nodes[a], nodes[b], Link { latency });
        }
    }
    Topology::new(&graph, None).unwrap()
}

fn any_network() -> impl Strategy<Value = NetworkConfig> {
    let extra = prop_oneof![
        Just(Extra::Constant(0.0)),
        (0.0..5e-6).prop_map(Extra::Constant),
        (0.0..5e-6).prop_map(Extra::Uniform),
        (1e-7..3e-6, 0.0..2.0).prop_map(|(median, sigma)| Extra::LogNormal { median, sigma }),
    ];
    let speeds = prop_oneof![
        Just(Speeds::Equal),
        Just(Speeds::Uniform { low: 0.5, high: 3.0 }),
        Just(Speeds::LogNormal { sigma: 1.0 }),
    ];
    let rate = || prop::option::of(1e6..1e9);
    let cost = prop_oneof![Just(0.0), 1e-9..3e-6];
    let loss = prop_oneof![Just(0.0), 0.0..0.6];
    (1e-9..1e-5, extra, rate(), rate(), loss, cost, speeds).prop_map(
        |(min, extra, up, down, probability, seconds_per_sample, speeds)| NetworkConfig {
            links: LinksConfig {
                latency: LatencyConfig { min, extra },
                bandwidth: BandwidthConfig { up, down },
                loss: LossConfig { probability, timeout: 4e-6 },
            },
            compute: ComputeConfig { seconds_per_sample, speeds },
            ..NetworkConfig::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_worker_count_and_every_cut_gives_the_trace_of_the_sequential_queue(
        n in 1usize..14,
        edges in prop::collection::vec((0usize..14, 0usize..14), 0..40),
        own in prop::collection::vec(prop::option::weighted(0.2, 1e-8..1e-5), 40),
        config in any_network(),
        seed in any::<u64>(),
        balls in 1u32..4,
    ) {
        let edges: Vec<_> = edges.into_iter().map(|(a, b)| (a % n, b % n)).collect();
        let topology = graph(n, &edges, &own);
        let links = Links::new(&config, &topology, &Streams::new(Seed(seed), 0));
        let juggle = || {
            let trace = Trace::default();
            let juggler = Juggler { hash: seed, energy: 40, balls, hops: 25, trace: Arc::clone(&trace) };
            (trace, vec![juggler; n])
        };
        let ordered = |trace: &Trace| {
            let mut seen = trace.lock().unwrap().clone();
            // Each peer's own order is what matters; a stable sort keeps it.
            seen.sort_by_key(|&(_, receiver, ..)| receiver);
            seen
        };
        let (expected, mut peers) = juggle();
        run_oracle(&topology, &links, &mut peers);
        for workers in 1..=7 {
            let (trace, peers) = juggle();
            run_parallel(workers, &topology, &links, peers);
            prop_assert_eq!(ordered(&trace), ordered(&expected), "{} workers", workers);
        }
        for workers in [2, 3 + seed as usize % 5] {
            let (trace, peers) = juggle();
            cut_anywhere(seed, || run_parallel(workers, &topology, &links, peers));
            prop_assert_eq!(ordered(&trace), ordered(&expected), "{} workers, cut", workers);
        }
        for ranks in 1..=4 {
            let home = (ranks, 1 + (seed as usize + ranks) % 2);
            let (trace, peers) = juggle();
            let ending = run_ranked(home, &topology, &links, &peers, SCHEDULE, &|_| Flow::Continue);
            prop_assert_eq!(ending, Ok(Ending::Finished));
            prop_assert_eq!(ordered(&trace), ordered(&expected), "ranks, workers: {:?}", home);
        }
        let home = (1 + seed as usize % 3, 2 + seed as usize / 3 % 2);
        let (trace, peers) = juggle();
        let ending = cut_anywhere(seed, || {
            run_ranked(home, &topology, &links, &peers, SCHEDULE, &|_| Flow::Continue)
        });
        prop_assert_eq!(ending, Ok(Ending::Finished));
        prop_assert_eq!(ordered(&trace), ordered(&expected), "cut, ranks, workers: {:?}", home);
    }
}

/// Sends messages of 100 bytes to all neighbours at its start and notes what it gets.
struct Greeter {
    greets: bool,
    trace: Trace,
}

impl Peer for Greeter {
    type Message = Ball;
    fn start(&mut self, context: &mut Context<'_, Ball>) {
        if self.greets {
            context.broadcast(public(Ball { id: 1, hops: 0, size: 100 }));
        }
    }
    fn receive(&mut self, from: PeerId, ball: Received<'_, Ball>, context: &mut Context<'_, Ball>) {
        self.trace.lock().unwrap().push((context.now(), context.me(), from, ball.value().id));
    }
    fn waiting_for(&self) -> Vec<PeerId> {
        Vec::new()
    }
}

fn times(topology: &Topology, config: &NetworkConfig, greeters: &[usize]) -> Vec<(u64, u32, u32)> {
    let trace = Trace::default();
    let peers = topology
        .ids()
        .map(|peer| Greeter { greets: greeters.contains(&peer.index()), trace: Arc::clone(&trace) })
        .collect();
    let links = Links::new(config, topology, &Streams::new(Seed(1), 0));
    run_parallel(2, topology, &links, peers);
    let mut seen: Vec<_> =
        trace.lock().unwrap().iter().map(|&(t, to, from, _)| (t.0, to.0, from.0)).collect();
    seen.sort_unstable();
    seen
}

#[test]
fn posts_of_a_few_among_many_reach_their_neighbours() {
    let links: Vec<(usize, usize)> = (0..64).map(|i| (i, (i + 1) % 64)).collect();
    let ring = graph(64, &links, &[]);
    // One at the border of two workers, one within.
    let seen = times(&ring, &NetworkConfig::default(), &[7, 32]);
    let mut pairs: Vec<(u32, u32)> = seen.iter().map(|&(_, to, from)| (to, from)).collect();
    pairs.sort_unstable();
    assert_eq!(pairs, [(6, 7), (8, 7), (31, 32), (33, 32)]);
    assert!(seen.iter().all(|&(time, ..)| time == seen[0].0), "all at once");
}

fn narrow() -> NetworkConfig {
    let mut config = NetworkConfig::default();
    config.links.latency.min = 1e-3;
    // 100 bytes take 10 µs up and 25 µs down.
    config.links.bandwidth = BandwidthConfig { up: Some(1e7), down: Some(4e6) };
    config
}

#[test]
fn a_path_of_three_keeps_time() {
    let path = graph(3, &[(0, 1), (1, 2)], &[Some(2e-3), None]);
    // Ends greet the middle: 10 µs up, 2 ms or 1 ms on the way, 25 µs down, no queue.
    assert_eq!(times(&path, &narrow(), &[0, 2]), [(1_035_000, 1, 2), (2_035_000, 1, 0)]);
    // The middle greets both: the second copy waits for the first at its interface.
    assert_eq!(times(&path, &narrow(), &[1]), [(1_045_000, 2, 1), (2_035_000, 0, 1)]);
}

#[test]
fn a_hub_queues_in_both_directions() {
    let star = graph(6, &[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)], &[]);
    // Leaves greet at once; their messages arrive together and pass the hub's interface one by one.
    let to_hub: Vec<_> = (1..=5).map(|k| (1_010_000 + 25_000 * u64::from(k), 0, k)).collect();
    assert_eq!(times(&star, &narrow(), &[1, 2, 3, 4, 5]), to_hub);
    // The hub greets: copy k leaves after 10k µs and needs 25 µs at its leaf.
    let from_hub: Vec<_> = (1..=5).map(|k| (1_025_000 + 10_000 * u64::from(k), k, 0)).collect();
    assert_eq!(times(&star, &narrow(), &[0]), from_hub);
}

#[test]
fn lost_transmissions_cost_time_messages_and_bytes() {
    let pair = graph(2, &[(0, 1)], &[]);
    let mut config = narrow();
    config.links.loss = LossConfig { probability: 0.5, timeout: 0.01 };
    let links = Links::new(&config, &pair, &Streams::new(Seed(1), 0));
    let tries = links.transmissions(PeerId(0), 0);
    let expected = 10_000 * tries + 10_000_000 * (tries - 1) + 1_000_000 + 25_000;
    assert_eq!(times(&pair, &config, &[0]), [(expected, 1, 0)]);
    // Geometric: 1/(1 − p) transmissions a message on average, variance p/(1 − p)².
    let count = 20_000;
    let mean =
        (0..count).map(|k| links.transmissions(PeerId(0), k)).sum::<u64>() as f64 / count as f64;
    assert!((mean - 2.0).abs() < 4.0 * (2.0 / count as f64).sqrt(), "{mean}");
}

/// Waits for a message that never comes, or panics.
#[derive(Clone)]
struct Broken {
    panics: bool,
    for_whom: Vec<PeerId>,
}

impl Peer for Broken {
    type Message = Ball;
    fn start(&mut self, _: &mut Context<'_, Ball>) {
        assert!(!self.panics, "out of ideas");
    }
    fn receive(&mut self, _: PeerId, _: Received<'_, Ball>, _: &mut Context<'_, Ball>) {}
    fn waiting_for(&self) -> Vec<PeerId> {
        self.for_whom.clone()
    }
}

/// Counts rounds alone; fails in one of them.
#[derive(Clone)]
struct Counter {
    round: Round,
    fails_in: u32,
}

impl Peer for Counter {
    type Message = Ball;
    fn start(&mut self, context: &mut Context<'_, Ball>) {
        context.timer(SimTime(2_000_000));
    }
    fn receive(&mut self, _: PeerId, _: Received<'_, Ball>, _: &mut Context<'_, Ball>) {}
    fn timer(&mut self, context: &mut Context<'_, Ball>) {
        self.round = self.round.next();
        if self.round.0 == self.fails_in {
            context.fail("tired".to_string());
        }
        context.deposit(self.round, &Snapshot::of(&[0.0]));
        if self.round.0 < 50 {
            context.timer(SimTime(2_000_000));
        }
    }
    fn waiting_for(&self) -> Vec<PeerId> {
        Vec::new()
    }
}

const ENGINES: [Engine; 3] =
    [Engine::Simulated { workers: 1 }, Engine::Simulated { workers: 3 }, Engine::Threads];

fn count(
    engine: Engine,
    fails_in: u32,
    on_row: &mut dyn FnMut(Row<()>) -> Flow,
) -> Result<Ending, NetworkError> {
    let ring = graph(4, &[(0, 1), (1, 2), (2, 3), (3, 0)], &[]);
    let links = Links::new(&NetworkConfig::default(), &ring, &Streams::new(Seed(1), 0));
    let peers = (0..4).map(|_| Counter { round: Round(0), fails_in }).collect();
    let schedule = Schedule::of_peers(1, Round(50));
    run(engine, &ring, &links, peers, (&Nothing, schedule), &AtomicBool::new(false), on_row)
        .map(|outcome| outcome.ending)
}

#[test]
fn a_stop_that_was_given_is_not_overruled_by_a_later_failure() {
    for engine in ENGINES {
        for _ in 0..20 {
            let mut stop_at_five =
                |row: Row<()>| if row.round.0 == 5 { Flow::Stop } else { Flow::Continue };
            // Peers on threads that wait for nobody may fail before others reach the fifth round.
            let ending = count(engine, 8, &mut stop_at_five);
            assert!(ending == Ok(Ending::Stopped) || engine == Engine::Threads, "{engine:?}");
        }
        let error = count(engine, 8, &mut |_| Flow::Continue).unwrap_err();
        assert!(error.to_string().ends_with("failed: tired"), "{engine:?}: {error}");
    }
}

#[test]
fn measuring_that_panics_ends_the_run() {
    for engine in ENGINES {
        let panics = std::panic::AssertUnwindSafe(|| {
            count(engine, 0, &mut |row| {
                assert!(row.round.0 < 3, "enough");
                Flow::Continue
            })
        });
        assert!(std::panic::catch_unwind(panics).is_err(), "{engine:?}");
    }
}

#[test]
fn stuck_and_failing_peers_end_the_run_by_name_on_both_engines() {
    let ring = graph(4, &[(0, 1), (1, 2), (2, 3), (3, 0)], &[]);
    let links = Links::new(&NetworkConfig::default(), &ring, &Streams::new(Seed(1), 0));
    let outcome = |engine, panics: bool| {
        let peers = ring
            .ids()
            .map(|peer| Broken {
                panics: panics && peer.0 == 2,
                for_whom: if peer.0 < 2 { ring.neighbours(peer).to_vec() } else { Vec::new() },
            })
            .collect();
        let idle = AtomicBool::new(false);
        run(engine, &ring, &links, peers, (&Nothing, SCHEDULE), &idle, &mut |_| Flow::Continue)
            .unwrap_err()
            .to_string()
    };
    for engine in ENGINES {
        assert_eq!(
            outcome(engine, false),
            "the peers are stuck: 0 waits for 1, 3; 1 waits for 0, 2",
            "{engine:?}"
        );
        assert_eq!(outcome(engine, true), "peer 2 failed: out of ideas", "{engine:?}");
    }
}

/// Ranks, and workers of each: fewer than the four peers and more.
const HOMES: [(usize, usize); 5] = [(1, 2), (2, 1), (2, 2), (3, 1), (4, 2)];

#[test]
fn rows_a_stop_and_a_failure_are_the_same_on_ranks() {
    let ring = graph(4, &[(0, 1), (1, 2), (2, 3), (3, 0)], &[]);
    let links = Links::new(&NetworkConfig::default(), &ring, &Streams::new(Seed(1), 0));
    for home in HOMES {
        let count = |fails_in, on_row: &(dyn Fn(Row<()>) -> Flow + Sync)| {
            let peers = vec![Counter { round: Round(0), fails_in }; 4];
            run_ranked(home, &ring, &links, &peers, Schedule::of_peers(1, Round(50)), on_row)
        };
        let seen = Mutex::new(Vec::new());
        let finished = count(0, &|row| {
            seen.lock().unwrap().push(row);
            Flow::Continue
        });
        assert_eq!(finished, Ok(Ending::Finished));
        let rows = seen.into_inner().unwrap();
        assert!(rows.iter().map(|row| row.round.0).eq(1..=50), "{home:?}");
        assert!(rows.iter().all(|row| row.residuals.len() == 4 && row.scored == [0.0; 4]));
        let stops = |row: Row<()>| if row.round.0 == 5 { Flow::Stop } else { Flow::Continue };
        assert_eq!(count(8, &stops), Ok(Ending::Stopped), "{home:?}");
        let error = count(8, &|_| Flow::Continue).unwrap_err().to_string();
        assert_eq!(error, "peer 0 failed: tired", "{home:?}");
    }
}

#[test]
fn stuck_and_failing_peers_are_named_across_ranks() {
    let ring = graph(4, &[(0, 1), (1, 2), (2, 3), (3, 0)], &[]);
    let links = Links::new(&NetworkConfig::default(), &ring, &Streams::new(Seed(1), 0));
    for home in HOMES {
        for (panics, expected) in [
            (false, "the peers are stuck: 0 waits for 1, 3; 1 waits for 0, 2"),
            (true, "peer 2 failed: out of ideas"),
        ] {
            let broken = |peer: PeerId| Broken {
                panics: panics && peer.0 == 2,
                for_whom: if peer.0 < 2 { ring.neighbours(peer).to_vec() } else { Vec::new() },
            };
            let peers: Vec<Broken> = ring.ids().map(broken).collect();
            let end = run_ranked(home, &ring, &links, &peers, SCHEDULE, &|_| Flow::Continue);
            assert_eq!(end.unwrap_err().to_string(), expected, "{home:?}");
        }
    }
}

#[test]
fn whoever_is_interrupted_ends_the_run_on_all_ranks() {
    let ring = graph(4, &[(0, 1), (1, 2), (2, 3), (3, 0)], &[]);
    let links = Links::new(&NetworkConfig::default(), &ring, &Streams::new(Seed(1), 0));
    for interrupted in 0..3 {
        let ends = InProcess::run(3, |ranks| {
            let layout = Layout::new(&ring, |_| 1, 3, 1);
            let own =
                layout.peers_of(ranks.rank()).map(|_| Counter { round: Round(0), fails_in: 0 });
            let flag = AtomicBool::new(ranks.rank() == interrupted);
            let observation = (&Nothing, Schedule::of_peers(1, Round(50)));
            let home = (&layout, ranks);
            let on_row = &mut |_| Flow::Continue;
            run_on_ranks(home, &ring, &links, own.collect(), observation, &flag, on_row)
        });
        assert_eq!(ends[0].as_ref().unwrap().ending, Ending::Interrupted);
    }
}
