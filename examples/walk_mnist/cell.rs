//! One cell of a table, or one point of a curve: MNIST learnt by walking tokens.
//!
//! Preparing MNIST takes longer than most walks over it, so cells with the same samples at the same
//! peers share them. The peers, the engine and all draws are those of `hushmesh run` with seed 7.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use hushmesh::data::{
    self, DataConfig, Divide, IdxFiles, IdxPair, LocalData, Partition, Partitioned, Pca, Source,
    Step, Table,
};
use hushmesh::learn::{Loss, Tasks};
use hushmesh::network::{Engine, Flow, Links, NetworkConfig, Probe, Schedule, Snapshot, run};
use hushmesh::policy::{Needs, PolicyConfig};
use hushmesh::privacy::{Calibration, Composition, Pieces, ReleaseNoise, Share};
use hushmesh::protocol::walk_sgd::{Cut, StepSize, WalkParameters, WalkPeer};
use hushmesh::random::{Draws, Purpose, Streams};
use hushmesh::topology::{Routes, Topology, Walk, complete, pick};
use hushmesh::units::{Delta, Epsilon, PeerId, Round, Seed};

/// What the command line asks for: `FOLDER [PART …] [seeds=N]`.
pub(crate) struct Asked {
    /// Where the four files of MNIST are.
    pub(crate) folder: PathBuf,
    /// Parts by name; none for all.
    pub(crate) parts: Vec<String>,
    /// How many seeds.
    pub(crate) seeds: u32,
}

impl Asked {
    /// Reads it; `known` are the parts that there are.
    pub(crate) fn of(known: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut arguments = std::env::args().skip(1);
        let folder = arguments.next().unwrap_or_else(|| "data".to_string()).into();
        let (counts, parts): (Vec<_>, Vec<_>) =
            arguments.partition(|word| word.starts_with("seeds="));
        let seeds =
            counts.last().and_then(|word| word.strip_prefix("seeds=")).unwrap_or("5").parse()?;
        if let Some(other) = parts.iter().find(|part| !known.contains(&part.as_str())) {
            return Err(format!("{other:?}: expected {} or seeds=N", known.join(", ")).into());
        }
        Ok(Self { folder, parts, seeds })
    }
}

const SEED: Seed = Seed(7);
const TASKS: u32 = 10;
const DELTA: Delta = Delta(1.0 / (60_000.0 * 60_000.0));

/// What is run. All cells have the classic calibration of ε per task at δ = 1/60000², and pixels
/// divided by 255, their 50 principal directions about 0, an intercept, and all of that on the unit
/// sphere.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// The graph.
    pub graph: Arc<Topology>,
    /// How tokens move on it.
    pub walk: Walk,
    /// λ.
    pub ridge: f64,
    /// η_t.
    pub step: StepSize,
    /// b.
    pub batch: u32,
    /// How often each batch is used, with ε split among the passes.
    pub passes: u32,
    /// None for updates without noise.
    pub epsilon: Option<f64>,
    /// None for algorithm 1.
    pub decision: Option<PolicyConfig>,
    /// `replicated` gives every peer all 60,000 samples.
    pub partition: Partition,
}

impl Cell {
    /// Algorithm 1 at ε = 1 with all samples at every of M peers, each of whom can reach all others:
    /// convex with λ = 0 and η = .1, or strongly convex with λ = 1e-4 and
    /// η_t = min(½/(1 + λ), 2/(λt)).
    pub(crate) fn new(peers: usize, strongly_convex: bool) -> Self {
        let (ridge, step) = match strongly_convex {
            true => (1e-4, StepSize::StronglyConvex),
            false => (0.0, StepSize::Constant(0.1)),
        };
        Self {
            graph: Arc::new(complete(peers).expect("there is a graph of so few peers")),
            walk: Walk::Uniform,
            ridge,
            step,
            batch: 50,
            passes: 1,
            epsilon: Some(1.0),
            decision: None,
            partition: Partition::Replicated,
        }
    }

    /// Whether this cell and another one have the same samples at the same peers.
    fn shares_with(&self, other: &Self) -> bool {
        self.graph.peers() == other.graph.peers() && self.partition == other.partition
    }

    /// Runs one repeat.
    fn run(&self, samples: &Samples, repeat: u32) -> Result<Outcome, Box<dyn Error>> {
        let Self { graph, walk, batch, passes, .. } = self;
        let streams = Streams::new(SEED, repeat);
        let train = &samples.train;
        let of_peer = |peer| Cut::new(train.rows(peer), *batch).batches() * passes;
        let batches: Vec<u32> = graph.ids().map(of_peer).collect();
        let updates = Round(batches.iter().sum());
        let family = |purpose, task| streams.family(purpose, task);
        let noise = match self.epsilon {
            Some(epsilon) => {
                let noise = ReleaseNoise {
                    epsilon: Epsilon(epsilon),
                    calibration: Calibration::Classic,
                    budget: Share::PerTask,
                    passes: Composition::Split,
                };
                let draws = |task| Draws::Streams(family(Purpose::WalkNoise, task));
                Some((noise.multiplier(DELTA, TASKS, *passes)?, (0..TASKS).map(draws).collect()))
            }
            None => None,
        };
        let token = |task| {
            let moves = family(Purpose::Walk, task);
            (pick(&batches, &mut moves.at(0, 0)).unwrap_or(PeerId(0)), moves)
        };
        let deciding = if self.decision.is_some() { TASKS } else { 0 };
        let parameters = Arc::new(WalkParameters {
            tasks: Tasks::PerClass(TASKS),
            loss: Loss::Logistic,
            ridge: self.ridge,
            batch: *batch,
            passes: *passes,
            updates,
            step: self.step,
            radius: None,
            walk: *walk,
            routes: match walk {
                Walk::Uniform => Some(Arc::new(Routes::of(graph)?)),
                _ => None,
            },
            tokens: (0..TASKS).map(token).collect(),
            remaining: batches.clone().into(),
            noise,
            decisions: (0..deciding).map(|task| family(Purpose::Decision, task)).collect(),
            needs: self.decision.as_ref().map_or(Needs::default(), PolicyConfig::needs),
            reach: 1.0,
            unprotected: Pieces::RECORD,
            budget: None,
            averages: false,
        });
        let starts: Vec<_> = (0..TASKS).map(|task| family(Purpose::PolicyStart, task)).collect();
        let peer = |id: PeerId| {
            let degrees = graph.neighbours(id).iter().map(|&near| graph.degree(near) as u32);
            let own = LocalData::new(Arc::clone(train), id);
            let policies = self.decision.iter().flat_map(|policy| {
                let d = train.dimension();
                starts.iter().map(move |starts| policy.build(d, &mut starts.stream(id.0.into())))
            });
            let policies = policies.collect();
            WalkPeer::new(id, own, degrees.collect(), policies, Arc::clone(&parameters))
        };
        let (mut models, mut releases, mut hops) = (Vec::new(), 0, 0);
        let end = run(
            Engine::Simulated { workers: 1 },
            graph,
            &Links::new(&NetworkConfig::default(), graph, &streams),
            graph.ids().map(peer).collect(),
            (samples, Schedule::of_tokens(u32::MAX, updates, TASKS)),
            &AtomicBool::new(false),
            &mut |row| {
                releases = row.journeys.iter().map(|journey| journey.releases).sum();
                hops = row.journeys.iter().map(|journey| journey.hops).sum();
                models = row.scored;
                Flow::Continue
            },
        )?;
        let locals = end.partings.iter().map(|peer| peer.local);
        Ok(Outcome {
            accuracy: vec![samples.accuracy(&models)],
            local_accuracy: vec![locals.sum::<f64>() / end.partings.len() as f64],
            global_share: vec![100.0 * releases as f64 / f64::from(updates.0 * TASKS)],
            hops: vec![hops as f64 / f64::from(TASKS)],
            batches,
        })
    }
}

/// The samples of a repeat.
struct Samples {
    train: Arc<Partitioned>,
    test: Table,
}

impl Samples {
    fn prepare(cell: &Cell, folder: &Path, repeat: u32) -> Result<Self, Box<dyn Error>> {
        let file = |name: &str| folder.join(name);
        let source = Source::Idx(IdxFiles {
            images: file("train-images-idx3-ubyte.gz"),
            labels: file("train-labels-idx1-ubyte.gz"),
            positive: None,
            test: Some(IdxPair {
                images: file("t10k-images-idx3-ubyte.gz"),
                labels: file("t10k-labels-idx1-ubyte.gz"),
            }),
        });
        let config = DataConfig {
            preprocess: vec![
                Step::Divide(Divide { by: 255.0 }),
                Step::Pca(Pca { dimension: 50, centre: false }),
                Step::Intercept,
                Step::UnitSphere,
            ],
            partition: cell.partition.clone(),
            ..DataConfig::from(source)
        };
        let streams = config.streams(SEED, repeat);
        let data = data::prepare(&config, cell.graph.peers(), false, &streams, Path::new("."))?;
        Ok(Self { train: data.train, test: data.test.ok_or("MNIST has a held-out part")? })
    }

    /// The share of held-out samples that the ten models classify right, in per cent.
    fn accuracy(&self, models: &[f64]) -> f64 {
        let rows = self.test.x.rows().into_iter().zip(&self.test.y);
        let right = rows.filter(|(x, y)| {
            let x = x.to_slice().expect("rows are stored one after the other");
            Tasks::PerClass(TASKS).predict(Loss::Logistic, models, x) == **y
        });
        100.0 * right.count() as f64 / self.test.y.len() as f64
    }
}

/// What peers' own models are worth in the end, in per cent; NaN where they have none.
impl Probe for Samples {
    type Local = f64;
    type Found = ();

    fn local(&self, _: PeerId, _: &Snapshot<'_>) -> f64 {
        f64::NAN
    }

    fn parting(&self, _: PeerId, models: &[f64]) -> f64 {
        if models.is_empty() { f64::NAN } else { self.accuracy(models) }
    }
}

/// What a cell gave: a figure of every seed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// Held-out accuracy of the global models, in per cent.
    pub accuracy: Vec<f64>,
    /// Of the peers' own models, the mean over peers; NaN without decisions.
    pub local_accuracy: Vec<f64>,
    /// Share of the updates that were global, in per cent.
    pub global_share: Vec<f64>,
    /// Hops of a token, the mean over tasks.
    pub hops: Vec<f64>,
    /// Batches that each peer had to give, in the last seed.
    pub batches: Vec<u32>,
}

impl Outcome {
    fn extend(&mut self, seed: Self) {
        self.accuracy.extend(seed.accuracy);
        self.local_accuracy.extend(seed.local_accuracy);
        self.global_share.extend(seed.global_share);
        self.hops.extend(seed.hops);
        self.batches = seed.batches;
    }
}

/// Runs all cells, as many at a time as there are cores, and gives their outcomes in order. Says how
/// far it is on standard error.
///
/// # Errors
/// The first failure.
pub(crate) fn run_all(
    cells: &[Cell],
    folder: &Path,
    seeds: u32,
) -> Result<Vec<Outcome>, Box<dyn Error>> {
    // Cells with the same samples; the largest last, from where they are taken.
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (place, cell) in cells.iter().enumerate() {
        match groups.iter_mut().find(|group| cells[group[0]].shares_with(cell)) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups.sort_by_key(|group| cells[group[0]].graph.peers());
    let jobs = groups.iter().flat_map(|group| (0..seeds).rev().map(move |seed| (group, seed)));
    let left = Mutex::new(jobs.collect::<Vec<_>>());
    let done = Mutex::new(Vec::new());
    let work = || -> Result<(), String> {
        loop {
            let next = left.lock().expect("no holder panics").pop();
            let Some((group, seed)) = next else { return Ok(()) };
            let text = |error: Box<dyn Error>| error.to_string();
            let samples = Samples::prepare(&cells[group[0]], folder, seed).map_err(text)?;
            for &place in group {
                let outcome = cells[place].run(&samples, seed).map_err(text)?;
                eprintln!("cell {place}, seed {seed}: {:.2} %", outcome.accuracy[0]);
                done.lock().expect("no holder panics").push((seed, place, outcome));
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    let mut done = done.into_inner().expect("no holder panics");
    done.sort_by_key(|&(seed, place, _)| (seed, place));
    let mut outcomes = vec![Outcome::default(); cells.len()];
    done.into_iter().for_each(|(_, place, outcome)| outcomes[place].extend(outcome));
    Ok(outcomes)
}
