//! What a round of ADMM costs, in passes over the data: 10 peers × 4,500 samples × 105 features.
//!
//! ```text
//! cargo bench --bench admm_round
//! ```
//!
//! A pass is one plain gradient of the logistic loss over all 45,000 rows, timed in the same run
//! on as many threads. A round is the time between two complete rows, mean and median over rounds 2
//! to 100; late rounds have little left to do, so the median over rounds 2 to 30 stands beside it.
//! Passes are counted as well, by simulated time that stands still but for them: what the peers
//! charge, gradients 1 and Hessians d/4, along the slowest chain of peers.
//!
//! The second table is that of argmins solved inexactly on the way, over all rounds from the first;
//! the third what noise adds to a round.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use hushmesh::data::{self, DataConfig, LinearLogistic, LocalData, Prepared, Samples, Source};
use hushmesh::learn::{self, Loss, Objective, central_optimum};
use hushmesh::network::{
    ComputeConfig, Engine, Flow, Links, NetworkConfig, Probe, Schedule, Snapshot, run,
};
use hushmesh::privacy::{ObjectiveNoise, Radius};
use hushmesh::protocol::PerPeer;
use hushmesh::protocol::admm::{AdmmParameters, AdmmPeer, Inexact, PrimalNoise};
use hushmesh::random::{Draws, Purpose, Streams};
use hushmesh::report::{Column, Table};
use hushmesh::theory::{Curvature, best_penalty};
use hushmesh::topology::{GraphFile, Topology};
use hushmesh::units::{PeerId, Round, Seed};

const PEERS: usize = 10;
const ROUNDS: u32 = 100;
const RIDGE: f64 = 0.01;

struct Nothing;

impl Probe for Nothing {
    type Local = ();
    type Found = ();
    fn local(&self, _: PeerId, _: &Snapshot<'_>) {}
}

fn main() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("topologies/pdml-10.yaml");
    let topology = GraphFile::read(&file).expect("the shipped graph can be read").topology;
    let source = Source::LinearLogistic(LinearLogistic { dimension: 105, norm: 8.0 });
    let config = DataConfig { samples: Some(Samples::PerPeer(4500)), ..DataConfig::from(source) };
    let streams = Streams::new(Seed(1), 0);
    let data = data::prepare(&config, PEERS, false, &streams, Path::new("."))
        .expect("synthetic data can be made");
    let optimum = central_optimum(&objectives(&data), RIDGE * PEERS as f64, &[0.0; 105])
        .expect("the central problem can be solved");
    let curvature = Curvature::at(&objectives(&data), RIDGE, &optimum.w);
    let best = best_penalty(&topology, &curvature);

    let mut table = Table::new([
        Column::number("β"),
        Column::number("tolerance"),
        Column::number("workers"),
        Column::number("pass").unit("ms"),
        Column::number("round").unit("ms"),
        Column::number("in passes: median"),
        Column::number("in rounds 2 to 30"),
        Column::number("mean"),
        Column::number("passes counted, mean"),
    ]);
    for penalty in [best.beta, 0.02] {
        for tolerance in [1e-8, 1e-10] {
            for workers in [1, 2] {
                let pass = pass_seconds(&data, workers);
                let plain = plain(penalty);
                let parameters = AdmmParameters { tolerance, ..plain };
                let counted = counted_passes(&topology, &data, parameters.clone());
                let rounds = &round_seconds(&topology, &data, parameters, workers)[1..];
                let mean = rounds.iter().sum::<f64>() / rounds.len() as f64;
                let (round, early) = (median(rounds.to_vec()), median(rounds[..29].to_vec()));
                table.row([
                    penalty.into(),
                    tolerance.into(),
                    workers.into(),
                    (1e3 * pass).into(),
                    (1e3 * round).into(),
                    (round / pass).into(),
                    (early / pass).into(),
                    (mean / pass).into(),
                    (counted[1..].iter().sum::<f64>() / f64::from(ROUNDS - 1)).into(),
                ]);
            }
        }
    }
    println!("{}", table.to_markdown());
    println!("{}", on_the_way(&topology, &data, best.beta).to_markdown());
    println!("{}", privacy(&topology, &data, best.beta).to_markdown());
}

fn plain(penalty: f64) -> AdmmParameters {
    AdmmParameters::plain(Loss::Logistic, PEERS, RIDGE, penalty, Round(ROUNDS))
}

/// What solving inexactly saves, over all rounds from the first, by turns with solving exactly.
fn on_the_way(topology: &Topology, data: &Prepared, penalty: f64) -> Table {
    let mut table = Table::new([
        Column::text("noise"),
        Column::number("tolerance"),
        Column::text("inexact"),
        Column::number("round, mean").unit("ms"),
        Column::number("in passes"),
        Column::number("passes counted, mean"),
        Column::number("in rounds 2 to 100"),
    ]);
    let draws = |purpose| Draws::Streams(Streams::new(Seed(1), 0).family(purpose, 0));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    for private in [false, true] {
        for tolerance in [1e-8, 1e-10] {
            let noise = PrimalNoise { deviation: PerPeer::Same(0.5), decay: 0.8 };
            let law = ObjectiveNoise::Sphere(Radius { radius: 1.0 });
            let fixed = AdmmParameters {
                tolerance,
                slack: 0.01,
                reach: 1.0,
                objective_noise: private.then(|| (law, draws(Purpose::ObjectiveNoise))),
                primal_noise: private.then(|| (noise, draws(Purpose::PrimalNoise))),
                ..plain(penalty)
            };
            let schedule = |share| {
                let inexact = Some(Inexact { share, first: 1e-3 });
                (format!("share {share}"), AdmmParameters { inexact, ..fixed.clone() })
            };
            let cases = [("none".to_string(), fixed.clone()), schedule(0.1), schedule(0.5)];
            let pass = pass_seconds(data, 2);
            let mut times = [const { Vec::new() }; 3];
            for _ in 0..3 {
                for (times, (_, parameters)) in times.iter_mut().zip(&cases) {
                    times.push(mean(&round_seconds(topology, data, parameters.clone(), 2)));
                }
            }
            for (times, (name, parameters)) in times.into_iter().zip(cases) {
                let counted = counted_passes(topology, data, parameters);
                let round = median(times);
                table.row([
                    if private { "V = 0.5, ρ = 0.8; sphere, R = 1" } else { "none" }.into(),
                    tolerance.into(),
                    name.into(),
                    (1e3 * round).into(),
                    (round / pass).into(),
                    mean(&counted).into(),
                    mean(&counted[1..]).into(),
                ]);
            }
        }
    }
    table
}

/// What noise adds to a round: 100 rounds without any, with the objective's alone, and with both, by
/// turns; medians over five turns. Noise of deviation 1e-15 moves nothing: it shows what drawing
/// and booking cost.
fn privacy(topology: &Topology, data: &Prepared, penalty: f64) -> Table {
    let mut table = Table::new([
        Column::text("primal noise"),
        Column::text("objective noise"),
        Column::number("no noise").unit("ms"),
        Column::number("no primal noise").unit("ms"),
        Column::number("all").unit("ms"),
        Column::number("all / no noise"),
        Column::number("all / no primal noise"),
    ]);
    let draws = |purpose| Draws::Streams(Streams::new(Seed(1), 0).family(purpose, 0));
    for (deviation, decay, radius) in [
        (1e-15, 1.0, 0.0),
        (1.0, 0.8, 0.0),
        (0.5, 0.8, 1.0),
        (0.02, 1.0, 0.0),
        (0.02, 1.0, 1.0),
        (0.5, 0.98, 1.0),
    ] {
        let noise = PrimalNoise { deviation: PerPeer::Same(deviation), decay };
        let law = ObjectiveNoise::Sphere(Radius { radius });
        let clear = AdmmParameters { slack: 0.01, reach: 1.0, ..plain(penalty) };
        let tilted = AdmmParameters {
            objective_noise: (radius > 0.0).then(|| (law, draws(Purpose::ObjectiveNoise))),
            ..clear.clone()
        };
        let private = AdmmParameters {
            primal_noise: Some((noise, draws(Purpose::PrimalNoise))),
            ..tilted.clone()
        };
        let mut times: [Vec<f64>; 3] = Default::default();
        for _ in 0..5 {
            for (times, parameters) in times.iter_mut().zip([&clear, &tilted, &private]) {
                let rounds = round_seconds(topology, data, parameters.clone(), 2);
                times.push(1e3 * rounds[1..].iter().sum::<f64>() / (rounds.len() - 1) as f64);
            }
        }
        let ratio = |base: usize| {
            let pairs = times[2].iter().zip(&times[base]);
            median(pairs.map(|(with, without)| with / without).collect())
        };
        let ratios = [ratio(0), ratio(1)];
        let [clear, tilted, private] = times.map(median);
        table.row([
            format!("V = {deviation:e}, ρ = {decay}").into(),
            if radius > 0.0 { format!("sphere, R = {radius}") } else { "none".into() }.into(),
            clear.into(),
            tilted.into(),
            private.into(),
            ratios[0].into(),
            ratios[1].into(),
        ]);
    }
    table
}

fn objective(data: &Prepared, peer: PeerId) -> Objective<'_> {
    let local = data.train.local(peer);
    Objective::mean(learn::Samples::new(local.x, local.y), Loss::Logistic)
}

fn objectives(data: &Prepared) -> Vec<Objective<'_>> {
    (0..PEERS).map(|i| objective(data, PeerId::new(i))).collect()
}

/// The median time of one gradient over all rows, peers dealt to `workers` threads in halves.
fn pass_seconds(data: &Prepared, workers: usize) -> f64 {
    let times = (0..41).map(|_| {
        let began = Instant::now();
        std::thread::scope(|scope| {
            for worker in 0..workers {
                scope.spawn(move || {
                    let w = vec![0.1; 105];
                    let mut g = vec![0.0; 105];
                    let share = PEERS / workers;
                    for i in worker * share..(worker + 1) * share {
                        objective(data, PeerId::new(i)).gradient(&w, &mut g);
                        black_box(&g);
                    }
                });
            }
        });
        began.elapsed().as_secs_f64()
    });
    median(times.collect())
}

/// The times from one complete row to the next, rounds 1 to 100.
fn round_seconds(
    topology: &Topology,
    data: &Prepared,
    parameters: AdmmParameters,
    workers: usize,
) -> Vec<f64> {
    let mut last = Instant::now();
    let mut seconds = Vec::new();
    run_admm(topology, data, parameters, workers, &NetworkConfig::default(), &mut |_| {
        seconds.push(last.elapsed().as_secs_f64());
        last = Instant::now();
    });
    seconds
}

/// The passes of each round, by a clock that ticks once per sample.
fn counted_passes(topology: &Topology, data: &Prepared, parameters: AdmmParameters) -> Vec<f64> {
    let compute = ComputeConfig { seconds_per_sample: 1.0, ..ComputeConfig::default() };
    let network = NetworkConfig { compute, ..NetworkConfig::default() };
    let samples = 4500.0;
    let (mut last, mut passes) = (0.0, Vec::new());
    run_admm(topology, data, parameters, 2, &network, &mut |time| {
        passes.push((time - last) / samples);
        last = time;
    });
    passes
}

/// Runs real peers, and tells the simulated time of each complete row.
fn run_admm(
    topology: &Topology,
    data: &Prepared,
    parameters: AdmmParameters,
    workers: usize,
    network: &NetworkConfig,
    on_row: &mut dyn FnMut(f64),
) {
    let parameters = Arc::new(parameters);
    let links = Links::new(network, topology, &Streams::new(Seed(1), 0));
    let peers = topology
        .ids()
        .map(|peer| {
            let own = LocalData::new(data.train.clone(), peer);
            AdmmPeer::new(peer, own, topology.neighbours(peer), 1.0, Arc::clone(&parameters))
        })
        .collect();
    let schedule = Schedule::of_peers(1, parameters.rounds);
    run(
        Engine::Simulated { workers },
        topology,
        &links,
        peers,
        (&Nothing, schedule),
        &AtomicBool::new(false),
        &mut |row| {
            on_row(row.time.seconds());
            Flow::Continue
        },
    )
    .expect("the peers finish");
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
