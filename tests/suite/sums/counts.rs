//! What parties say, how often, how long it takes and how many bytes it is.

use std::sync::Arc;

use hushmesh::data::LocalData;
use hushmesh::learn::Loss;
use hushmesh::network::{Context, Engine};
use hushmesh::privacy::{Wire, public};
use hushmesh::protocol::party::{Addend, Learner, MOST_MESSAGES, Say};
use hushmesh::protocol::{Extent, ProtocolConfig};
use hushmesh::topology::{SpanningTree, Topology, binary_tree, complete, grid, path, ring, star};
use hushmesh::units::{PeerId, Round};
use proptest::prelude::*;
use serde_json::json;

use super::{ENGINES, Stage, dealt, random_graph};

const D: usize = 3;
const ROUNDS: u32 = 4;

/// Adds ones.
struct Ones;

impl Learner for Ones {
    fn rounds(&self) -> Round {
        Round(ROUNDS)
    }
    fn length(&self) -> usize {
        D
    }
    fn contribute(&mut self, _: Round, _: &[f64], _: &mut Context<'_, Say>) -> Addend {
        Addend::Released(public(vec![1.0; D].into()))
    }
    fn update(&mut self, _: Round, sum: &[f64], theta: &mut [f64]) {
        theta.copy_from_slice(sum);
    }
    fn work(&self) -> u64 {
        1
    }
}

fn stage(topology: Topology) -> Stage {
    let sizes: Vec<usize> = topology.ids().map(|_| 1).collect();
    let rows = vec![vec![0.0; D]; sizes.len()];
    Stage::new(topology, dealt(&rows, vec![1.0; sizes.len()], &sizes))
}

/// Messages and bytes that the scenario's protocol is predicted to send.
fn predicted(stage: &Stage) -> (u64, u64) {
    let over = match stage.exchanges {
        None => json!("tree"),
        Some(exchanges) => json!({"gossip": {"exchanges": exchanges}}),
    };
    let config: ProtocolConfig = serde_json::from_value(json!({"gradient-queries": {
        "updates": ROUNDS, "algorithm": {"averaged": 1.0}, "sum": {"over": over, "root": stage.root},
    }}))
    .unwrap();
    let topology = &stage.topology;
    let footprint = config.footprint(Extent {
        peers: topology.peers(),
        links: topology.links(),
        mean_degree: 2,
        samples: topology.peers(),
        dimension: D,
        tasks: 1,
        averages: false,
        loss: Loss::Squared,
    });
    (footprint.messages, footprint.bytes)
}

/// Counts messages and bytes of every round, and the sums themselves.
fn counts(stage: &Stage, engine: Engine) {
    let topology = &stage.topology;
    let (n, e) = (topology.peers() as u64, topology.links() as u64);
    let played = stage.play(engine, |_, _: LocalData| Ones);
    // A message with a vector: what it is, how long it is, the numbers.
    let message = 4 + 4 + 8 * D as u64;
    for row in &played.rows {
        let r = u64::from(row.round.0);
        let (messages, control) = match stage.exchanges {
            None => (2 * e + n - 1 + 2 * (n - 1) * (r - 1), 2 * e - (n - 1)),
            Some(exchanges) => (2 * e + 2 * e * u64::from(exchanges) * r, 2 * e),
        };
        assert_eq!(row.messages, messages, "{engine:?} {topology:?} {:?}", row.round);
        assert_eq!(row.bytes, 4 * control + message * (messages - control));
        let exact = stage.exchanges.is_none();
        assert!(row.scored.iter().all(|&sum| !exact || sum == n as f64), "{:?}", row.scored);
    }
    let totals = &played.outcome.totals;
    assert_eq!((totals.messages, totals.bytes), predicted(stage));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn sums_take_as_many_messages_as_the_tree_needs(
        (peers, more, seed) in (2..16_usize, 0..20_usize, any::<u64>()),
        root in any::<prop::sample::Index>(),
        exchanges in prop::option::of(1..4_u32),
    ) {
        let root = if exchanges.is_some() { 0 } else { root.index(peers) };
        let stage = Stage { root, exchanges, ..stage(random_graph(peers, more, seed)) };
        for engine in ENGINES {
            counts(&stage, engine);
        }
    }

    #[test]
    fn what_is_said_survives_the_wire(
        kind in 0..5_u32,
        number in prop_oneof![0..1000_u32, (MOST_MESSAGES as u32 - 3)..=MOST_MESSAGES as u32],
        words in prop::collection::vec(any::<u64>(), 0..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let round = Round(number);
        let residues: Arc<[u64]> = words.clone().into();
        let values: Arc<[f64]> = words.iter().map(|&word| f64::from_bits(word)).collect();
        let said = match kind {
            0 => Say::Tree(number),
            1 => Say::Up(round, residues),
            2 => Say::Down(round, values),
            3 => Say::Degree(number),
            _ => Say::Estimate(round, values),
        };
        let mut bytes = Vec::new();
        said.encode(&mut bytes);
        prop_assert_eq!(bytes.len(), said.size());
        let vector = if kind == 0 || kind == 3 { 0 } else { 4 + 8 * words.len() };
        prop_assert_eq!(bytes.len(), 4 + vector);
        bytes.extend([0xaa, 0x55]);
        let mut rest = bytes.as_slice();
        let back = Say::decode(&mut rest).unwrap();
        prop_assert_eq!(rest, [0xaa, 0x55], "it takes its own bytes and no more");
        // NaNs are no equals: bits are.
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        match (&said, &back) {
            (Say::Down(a, x), Say::Down(b, y)) | (Say::Estimate(a, x), Say::Estimate(b, y)) => {
                prop_assert_eq!((a, bits(x)), (b, bits(y)));
            }
            _ => prop_assert_eq!(&said, &back),
        }
        let end = cut.index(bytes.len() - 2);
        prop_assert!(Say::decode(&mut &bytes[..end]).is_err(), "{end} bytes of it are none");
    }
}

#[test]
fn a_round_takes_the_way_up_the_tree_and_down() {
    let graphs = [
        (path(6).unwrap(), 0),
        (path(7).unwrap(), 3),
        (ring(9).unwrap(), 4),
        (star(8).unwrap(), 0),
        (star(8).unwrap(), 5),
        (grid(3, 5).unwrap(), 7),
        (complete(6).unwrap(), 2),
        (binary_tree(15).unwrap(), 0),
        (random_graph(20, 10, 3), 11),
        (random_graph(20, 0, 4), 0),
    ];
    for (topology, root) in graphs {
        let tree = SpanningTree::of(&topology, PeerId::new(root)).unwrap();
        let depth = u64::from(tree.depth());
        let is_tree = topology.links() == topology.peers() - 1;
        let stage = Stage { root, ..stage(topology) };
        for engine in &ENGINES[..3] {
            let played = stage.play(*engine, |_, _: LocalData| Ones);
            // Latency is a thousandth of a second.
            let times: Vec<u64> = played.rows.iter().map(|row| row.time.0 / 1_000_000).collect();
            // The flood comes first; links beside the tree are waited for once.
            let first = 3 * depth..=3 * depth + u64::from(!is_tree);
            assert!(first.contains(&times[0]), "{root} {times:?} {first:?}");
            for pair in times.windows(2) {
                assert_eq!(pair[1] - pair[0], 2 * depth, "{root} {times:?}");
            }
        }
    }
}

#[test]
fn an_exchange_of_gossip_takes_one_latency() {
    for (topology, exchanges) in [(ring(5).unwrap(), 1), (star(6).unwrap(), 4)] {
        let stage = Stage { exchanges: Some(exchanges), ..stage(topology) };
        let played = stage.play(ENGINES[1], |_, _: LocalData| Ones);
        for row in &played.rows {
            let latencies = 1 + u64::from(exchanges) * u64::from(row.round.0);
            assert_eq!(row.time.0, 1_000_000 * latencies);
        }
    }
}

#[test]
fn one_party_alone_sends_nothing() {
    for exchanges in [None, Some(3)] {
        let stage = Stage { exchanges, ..stage(path(1).unwrap()) };
        for engine in ENGINES {
            counts(&stage, engine);
        }
    }
}
