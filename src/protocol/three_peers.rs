//! A problem small enough to follow by hand, for the tests of protocols: ridge regression in one
//! dimension by three peers on a path, 0 – 1 – 2.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::data::{DataConfig, LinearRegression, LocalData, Partition, Samples, Source, prepare};
use crate::network::{
    Engine, Flow, Links, NetworkConfig, Peer, Probe, Row, Schedule, Snapshot, run,
};
use crate::random::Streams;
use crate::topology::path;
use crate::units::{PeerId, Round, Seed};

/// The engines on which a protocol must do the same.
pub(super) const ENGINES: [Engine; 2] = [Engine::Simulated { workers: 2 }, Engine::Threads];

struct Nothing;

impl Probe for Nothing {
    type Local = ();
    type Found = ();
    fn local(&self, _: PeerId, _: &Snapshot<'_>) {}
}

/// Runs three peers, made from their samples and neighbours, and returns every row with each peer's
/// (mean x², mean xy), all that the problem depends on.
pub(super) fn rows_and_moments<P: Peer>(
    engine: Engine,
    partition: Partition,
    rounds: Round,
    make: impl Fn(PeerId, LocalData, &[PeerId]) -> P,
) -> (Vec<Row<()>>, [(f64, f64); 3]) {
    let law = LinearRegression { dimension: 1, norm: 2.0, noise: 0.7, bound: 5.0 };
    let config = DataConfig {
        samples: Some(Samples::PerPeer(6)),
        partition,
        ..DataConfig::from(Source::LinearRegression(law))
    };
    let streams = Streams::new(Seed(5), 0);
    let data = prepare(&config, 3, false, &streams, Path::new("")).unwrap();
    let topology = path(3).unwrap();
    let peer = |id| make(id, LocalData::new(data.train.clone(), id), topology.neighbours(id));
    let peers = topology.ids().map(peer).collect();
    let links = Links::new(&NetworkConfig::default(), &topology, &streams);
    let schedule = Schedule::of_peers(1, rounds);
    let idle = AtomicBool::new(false);
    let mut rows = Vec::new();
    run(engine, &topology, &links, peers, (&Nothing, schedule), &idle, &mut |row| {
        rows.push(row);
        Flow::Continue
    })
    .unwrap();
    let moments = [0, 1, 2].map(|i| {
        let local = data.train.local(PeerId(i));
        let m = (local.y.len() as f64).max(1.0);
        let both = local.x.iter().zip(local.y);
        both.fold((0.0, 0.0), |(xx, xy), (x, y)| (xx + x * x / m, xy + x * y / m))
    });
    (rows, moments)
}
