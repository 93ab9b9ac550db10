//! Passes of walking tokens over 60,000 × 51 samples on the unit sphere in ten classes, against the same
//! work in NumPy.
//!
//! ```text
//! cargo bench --bench walk
//! ```
//!
//! Three kinds: `plain`, without noise; `private`, with Gaussian noise on each update for ε = 1 at
//! δ = 1/60,000², booked as the protocol books it; and `deep-q`, where besides every visited peer
//! decides by a net of its own for each class. The peers and the engine are the real ones, on a complete
//! graph with a uniform walk; nothing is measured but the first row, which every run has, and the last.
//! A time is the median of several turns, without the preparation of the data and the nets. NumPy's
//! times are of benches/walk_numpy.py on the same samples, run by `python3` in the same minute, on one
//! thread of its linear algebra and on as many as it likes; where there is no NumPy they are left out.
//! One peer without noise uses its batches in the order in which NumPy does: that both end at the same
//! models is checked, that noise makes them about as long, and that 1, 2 and 4 workers end at models of
//! the same norm, to the bit. Seconds of processor time stand beside those of the clock, for machines
//! that are busy with others.
//!
//! `HUSHMESH_WALK_CASE="KIND BATCH PEERS WORKERS"` runs one case once, for a profiler.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use hushmesh::data::{self, Clusters, DataConfig, LocalData, Partitioned, Samples, Source, Step};
use hushmesh::experiment::npy;
use hushmesh::learn::{Loss, Tasks, norm};
use hushmesh::network::{Engine, Flow, Links, NetworkConfig, Probe, Schedule, Snapshot, run};
use hushmesh::policy::{DeepQ, Needs, PolicyConfig};
use hushmesh::privacy::{Calibration, Composition, Pieces, ReleaseNoise, Share};
use hushmesh::protocol::walk_sgd::{Cut, StepSize, WalkParameters, WalkPeer};
use hushmesh::random::{Draws, Family, Purpose, Streams};
use hushmesh::report::{Column, Table};
use hushmesh::topology::{self, Routes, Topology, Walk, pick};
use hushmesh::units::{Delta, Epsilon, PeerId, Round, Seed};

const ROWS: usize = 60_000;
const CLASSES: u32 = 10;
const ETA: f64 = 0.1;

struct Nothing;

impl Probe for Nothing {
    type Local = ();
    type Found = ();
    fn local(&self, _: PeerId, _: &Snapshot<'_>) {}
}

const CASE: &str = "HUSHMESH_WALK_CASE";

/// What the tokens do.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    Private,
    DeepQ,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Private => "private",
            Self::DeepQ => "deep-q",
        }
    }

    /// σ/Δ; none without noise.
    fn multiplier(self) -> Option<f64> {
        let noise = ReleaseNoise {
            epsilon: Epsilon(1.0),
            calibration: Calibration::Exact,
            budget: Share::PerTask,
            passes: Composition::Composed,
        };
        let multiplier = noise.multiplier(Delta(1.0 / (ROWS as f64).powi(2)), CLASSES, 1);
        (self != Self::Plain).then(|| multiplier.expect("there is such noise"))
    }

    fn policy(self) -> Option<PolicyConfig> {
        (self == Self::DeepQ).then(|| PolicyConfig::DeepQ(DeepQ::default()))
    }
}

fn main() {
    let streams = Streams::new(Seed(1), 0);
    if let Ok(case) = std::env::var(CASE) {
        let (name, numbers) = case.split_once(' ').expect("a kind and three numbers");
        let numbers = numbers.split_whitespace().map(|word| word.parse::<u32>().expect("a number"));
        let &[batch, peers, workers] = &*numbers.collect::<Vec<_>>() else {
            panic!("{CASE} has a kind and three numbers");
        };
        let kinds = [Kind::Plain, Kind::Private, Kind::DeepQ];
        let kind = kinds.into_iter().find(|kind| kind.name() == name).expect("a kind");
        let train = train(peers as usize, &streams);
        let topology = topology::complete(peers as usize).expect("a graph can be made");
        let [wall, busy] = pass(&topology, &train, (kind, batch), &streams, workers as usize).0;
        println!("{wall} s, {busy} s of processor time");
        return;
    }
    let folder = std::env::temp_dir().join(format!("hushmesh-walk-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is room for temporary files");
    let mut table = Table::new([
        Column::text("kind"),
        Column::number("b"),
        Column::text("who"),
        Column::number("clock").unit("ms"),
        Column::number("processor").unit("ms"),
        Column::number("updates per second"),
        Column::number("NumPy loop / it, by the clock"),
        Column::number("by processor time"),
        Column::number("NumPy over all classes / it, by the clock"),
    ]);
    write(&folder, &train(1, &streams));
    for (kind, batch) in [
        (Kind::Plain, 50),
        (Kind::Plain, 1),
        (Kind::Private, 50),
        (Kind::Private, 1),
        (Kind::DeepQ, 50),
    ] {
        let mut times = Vec::new();
        let mut end = f64::NAN;
        for peers in if kind == Kind::DeepQ { vec![10] } else { vec![1, 10] } {
            let train = train(peers, &streams);
            let topology = topology::complete(peers).expect("a graph can be made");
            let mut norm = None;
            for workers in [1, 2, 4] {
                let pass = || pass(&topology, &train, (kind, batch), &streams, workers);
                let turns = match (kind, batch) {
                    _ if workers == 4 => 1,
                    (Kind::DeepQ, _) => 7,
                    (_, 1) => 3,
                    _ => 15,
                };
                let turns: Vec<_> = (0..turns).map(|_| pass()).collect();
                for (_, found) in &turns {
                    let first = norm.get_or_insert(*found);
                    assert_eq!(
                        found.to_bits(),
                        first.to_bits(),
                        "{peers} peers, {workers} workers"
                    );
                }
                if peers == 1 {
                    end = turns[0].1;
                }
                if workers == 4 {
                    continue;
                }
                // The system counts processor time in steps that a median would keep and a mean evens out.
                let busy = turns.iter().map(|turn| turn.0[1]).sum::<f64>() / turns.len() as f64;
                let clock = median(turns.iter().map(|turn| turn.0[0]).collect());
                let who = format!("hushmesh, {peers} peers, {workers} workers");
                times.push((who, [clock, busy]));
            }
        }
        let mut compared = [[f64::NAN; 2]; 2];
        for (threads, who) in [(Some("1"), "1 thread"), (None, "its own threads")] {
            match numpy(&folder, (kind, batch), threads) {
                Ok(ways) => {
                    for (way, seconds, norm) in &ways {
                        let off = (norm / end - 1.0).abs();
                        match kind {
                            Kind::Plain => assert!(off < 1e-9, "|w| = {norm} and {end}"),
                            Kind::Private => assert!(off < 0.3, "|w| = {norm} and {end}"),
                            Kind::DeepQ => {}
                        }
                        times.push((format!("NumPy, {way}, {who}"), *seconds));
                    }
                    for (best, (_, seconds, _)) in compared.iter_mut().zip(&ways) {
                        *best = [best[0].min(seconds[0]), best[1].min(seconds[1])];
                    }
                }
                Err(reason) => println!("NumPy is left out, {who}: {reason}"),
            }
        }
        let updates = f64::from(ROWS as u32 / batch * CLASSES);
        for (who, [clock, busy]) in times {
            table.row([
                kind.name().into(),
                f64::from(batch).into(),
                who.into(),
                (1e3 * clock).into(),
                (1e3 * busy).into(),
                (updates / clock).round().into(),
                (compared[0][0] / clock).into(),
                (compared[0][1] / busy).into(),
                (compared[1][0] / clock).into(),
            ]);
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    println!("{}", table.to_markdown());
    println!("Updates are by the clock; ratios to the lesser of NumPy's two.");
}

/// The samples, dealt to so many peers.
fn train(peers: usize, streams: &Streams) -> Arc<Partitioned> {
    let source = Source::Clusters(Clusters { classes: 10, dimension: 50, separation: 3.0 });
    let config = DataConfig {
        samples: Some(Samples::PerPeer((ROWS / peers) as _)),
        preprocess: vec![Step::Intercept, Step::UnitSphere],
        ..DataConfig::from(source)
    };
    let data = data::prepare(&config, peers, false, streams, Path::new("."));
    data.expect("synthetic data can be made").train
}

/// The seconds of one pass by the clock and of processors, and the norm of all models in the end.
fn pass(
    topology: &Topology,
    train: &Arc<Partitioned>,
    (kind, batch): (Kind, u32),
    streams: &Streams,
    workers: usize,
) -> ([f64; 2], f64) {
    let tasks = Tasks::PerClass(CLASSES);
    let batches: Vec<u32> =
        topology.ids().map(|peer| Cut::new(train.rows(peer), batch).batches()).collect();
    let updates = Round(batches.iter().sum());
    let token = |task| {
        let family = streams.family(Purpose::Walk, task);
        (pick(&batches, &mut family.at(0, 0)).expect("there is data"), family)
    };
    let draws = |task| Draws::Streams(streams.family(Purpose::WalkNoise, task));
    let policy = kind.policy();
    let deciding = if policy.is_some() { CLASSES } else { 0 };
    let families = |purpose| (0..deciding).map(|task| streams.family(purpose, task)).collect();
    let starts: Vec<Family> = families(Purpose::PolicyStart);
    let parameters = Arc::new(WalkParameters {
        tasks,
        loss: Loss::Logistic,
        ridge: 0.0,
        batch,
        passes: 1,
        updates,
        step: StepSize::Constant(ETA),
        radius: None,
        walk: Walk::Uniform,
        routes: Some(Arc::new(Routes::of(topology).expect("a small graph has routes"))),
        tokens: (0..CLASSES).map(token).collect(),
        remaining: batches.into(),
        noise: kind.multiplier().map(|scale| (scale, (0..CLASSES).map(draws).collect())),
        decisions: families(Purpose::Decision),
        needs: policy.as_ref().map_or(Needs::default(), PolicyConfig::needs),
        reach: 1.0,
        unprotected: Pieces::RECORD,
        budget: None,
        averages: false,
    });
    let peers: Vec<WalkPeer> = topology
        .ids()
        .map(|peer| {
            let degrees =
                topology.neighbours(peer).iter().map(|&near| topology.degree(near) as u32);
            let own = LocalData::new(Arc::clone(train), peer);
            let policies = policy.iter().flat_map(|policy| {
                let start = |family: &Family| family.stream(peer.0.into());
                let d = train.dimension();
                starts.iter().map(move |family| policy.build(d, &mut start(family)))
            });
            let policies = policies.collect();
            WalkPeer::new(peer, own, degrees.collect(), policies, Arc::clone(&parameters))
        })
        .collect();
    let links = Links::new(&NetworkConfig::default(), topology, streams);
    let schedule = Schedule::of_tokens(u32::MAX, updates, CLASSES);
    let mut models = Vec::new();
    let (began, busy) = (Instant::now(), busy_seconds());
    run(
        Engine::Simulated { workers },
        topology,
        &links,
        peers,
        (&Nothing, schedule),
        &AtomicBool::new(false),
        &mut |row| {
            models = row.scored;
            Flow::Continue
        },
    )
    .expect("the tokens do their part");
    ([began.elapsed().as_secs_f64(), busy_seconds() - busy], norm(&models))
}

/// The processor time of this process so far, in steps of 10 ms; NaN where the system does not say.
fn busy_seconds() -> f64 {
    let line = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which stands in parentheses: fields 14 and 15 of all.
    let mut fields = line.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11);
    let mut ticks = || fields.next().and_then(|field| field.parse::<f64>().ok());
    ticks().zip(ticks()).map_or(f64::NAN, |(user, system)| (user + system) / 100.0)
}

/// Leaves the samples where NumPy finds them.
fn write(folder: &Path, train: &Partitioned) {
    let all = train.everybody();
    let x: Vec<f64> = all.x.iter().copied().collect();
    let files = [("x.npy", npy(&x, all.x.shape())), ("y.npy", npy(all.y, &[all.y.len()]))];
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).expect("there is room for temporary files");
    }
}

/// Name, seconds by the clock and of processors, and final norm of NumPy's two ways.
fn numpy(
    folder: &Path,
    (kind, batch): (Kind, u32),
    threads: Option<&str>,
) -> Result<Vec<(String, [f64; 2], f64)>, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/walk_numpy.py");
    let mut command = Command::new("python3");
    // Δ = 2η/b: slopes and samples are at most 1.
    let deviation = kind.multiplier().unwrap_or(0.0) * 2.0 * ETA / f64::from(batch);
    command.arg(script).arg(folder).arg(kind.name());
    command.args([batch.to_string(), ETA.to_string(), deviation.to_string()]);
    for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
        match threads {
            Some(threads) => command.env(name, threads),
            None => command.env_remove(name),
        };
    }
    let output = command.output().map_err(|error| format!("python3: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(said.lines().last().unwrap_or("python3 failed").to_string());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let line = |line: &str| {
        let (name, numbers) = line.split_once(' ')?;
        let mut numbers = numbers.split_whitespace().map(|word| word.parse().ok());
        let mut next = || numbers.next()?;
        Some((name.to_string(), [next()?, next()?], next()?))
    };
    text.lines().map(line).collect::<Option<_>>().ok_or_else(|| format!("it said {text:?}"))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
