//! Random walks from the scenario to their results, and their peers on a stage of their own: what is
//! used how often, what moves how far, what is promised and booked, and where tokens end up.

mod limits;
mod noise;
mod once;
mod one_result;
mod optimum;
mod promise;
mod sensitivity;
mod shape;
mod wrong;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hushmesh::data::{LocalData, Partitioned};
use hushmesh::experiment::{self, RunResult};
use hushmesh::learn::{Loss, Tasks};
use hushmesh::measure::Metric;
use hushmesh::network::{
    Engine, Flow, Links, NetworkConfig, Outcome, Probe, Row, Schedule, Snapshot, run as run_peers,
};
use hushmesh::policy::{Action, Needs, Policy, Visit};
use hushmesh::privacy::Pieces;
use hushmesh::protocol::walk_sgd::{Cut, StepSize, WalkParameters, WalkPeer};
use hushmesh::random::{Purpose, Stream, Streams};
use hushmesh::scenario::Checked;
use hushmesh::topology::{Routes, Topology, Walk, pick};
use hushmesh::units::{PeerId, Round, Seed};

const WALKS: [Walk; 4] = [Walk::Uniform, Walk::Simple, Walk::Metropolis, Walk::NonBacktracking];

const ENGINES: [Engine; 4] = [
    Engine::Simulated { workers: 1 },
    Engine::Simulated { workers: 2 },
    Engine::Simulated { workers: 5 },
    Engine::Threads,
];

/// Every policy, as it is written in a scenario.
const POLICIES: [&str; 9] = [
    "always-global",
    "always-local",
    "{random: {global: 0.4}}",
    "{periodic: {every: 2}}",
    "final-global",
    "{threshold: {exploration: 0.2}}",
    "{bandit: {reward: gain}}",
    "{linear-q: {reward: after}}",
    "{deep-q: {hidden: 6, activation: relu}}",
];

#[track_caller]
fn checked(yaml: &str) -> Checked {
    Checked::from_text("test.yaml", yaml).unwrap_or_else(|problems| panic!("{problems}\n{yaml}"))
}

#[track_caller]
fn run(yaml: &str) -> RunResult {
    experiment::run(&checked(yaml)).unwrap_or_else(|error| panic!("{error}\n{yaml}"))
}

/// A figure at the end of each repeat.
#[track_caller]
fn at_the_end(result: &RunResult, metric: Metric) -> Vec<f64> {
    let column = result.metrics.iter().position(|&m| m == metric).expect("a measured figure");
    result.repeats.iter().map(|repeat| repeat.rows.last().expect("a row").values[column]).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard error of a mean.
fn error_of_mean(values: &[f64]) -> f64 {
    let center = mean(values);
    let squares: f64 = values.iter().map(|v| (v - center) * (v - center)).sum();
    let count = values.len() as f64;
    (squares / (count - 1.0) / count).sqrt()
}

/// Keeps the models that peers hold at the end.
pub(crate) struct Keeper;

impl Probe for Keeper {
    type Local = Vec<f64>;
    type Found = ();
    fn local(&self, _: PeerId, _: &Snapshot<'_>) -> Vec<f64> {
        Vec::new()
    }
    fn parting(&self, _: PeerId, models: &[f64]) -> Vec<f64> {
        models.to_vec()
    }
}

/// Does as it is told.
#[derive(Debug)]
pub(crate) struct Script(pub(crate) Vec<Action>);

impl Policy for Script {
    fn decide(&mut self, visit: &Visit<'_>, _: &mut Stream) -> Action {
        self.0[visit.number as usize]
    }
}

/// L and G, a letter a visit.
fn script(letters: &str) -> Vec<Action> {
    let action = |letter| if letter == 'G' { Action::Global } else { Action::Local };
    letters.chars().map(action).collect()
}

/// Peers with their samples on a graph, and what they have in common.
#[derive(Clone, Debug)]
struct Stage {
    topology: Topology,
    data: Arc<Partitioned>,
    /// Each peer's actions, the same for all tasks; none where peers have no models of their own.
    scripts: Vec<Vec<Action>>,
    parameters: WalkParameters,
}

/// What was seen of a run.
#[derive(Debug)]
struct Played {
    rows: Vec<Row<Vec<f64>>>,
    outcome: Outcome<Vec<f64>>,
}

impl Stage {
    /// Noise-free squared loss without regularisation, a constant step of `eta`, and one pass.
    fn new(
        topology: Topology,
        data: Partitioned,
        tasks: Tasks,
        (walk, batch, passes, eta): (Walk, u32, u32, f64),
    ) -> Self {
        let streams = Streams::new(Seed(11), 0);
        let rows: Vec<usize> = topology.ids().map(|peer| data.rows(peer)).collect();
        let visits = |&rows: &usize| Cut::new(rows, batch).batches() * passes;
        let remaining: Arc<[u32]> = rows.iter().map(visits).collect();
        let start = |task| {
            let family = streams.family(Purpose::Walk, task);
            (pick(&remaining, &mut family.at(0, 0)).expect("a peer with samples"), family)
        };
        let updates = WalkParameters::updates_of(rows.iter().copied(), batch, passes);
        let parameters = WalkParameters {
            tasks,
            loss: Loss::Squared,
            ridge: 0.0,
            batch,
            passes,
            updates: Round(updates as u32),
            step: StepSize::Constant(eta),
            radius: None,
            walk,
            routes: (walk == Walk::Uniform).then(|| Arc::new(Routes::of(&topology).unwrap())),
            tokens: (0..tasks.count()).map(start).collect(),
            remaining,
            noise: None,
            decisions: (0..tasks.count())
                .map(|task| streams.family(Purpose::Decision, task))
                .collect(),
            needs: Needs::default(),
            reach: 1.0,
            unprotected: Pieces::RECORD,
            budget: None,
            averages: false,
        };
        Self { topology, data: Arc::new(data), scripts: Vec::new(), parameters }
    }

    fn play(&self, engine: Engine) -> Played {
        let Self { topology, data, scripts, parameters } = self;
        let links = Links::new(&NetworkConfig::default(), topology, &Streams::new(Seed(1), 0));
        let shared = Arc::new(parameters.clone());
        let tasks = parameters.tasks.count();
        let peers = topology.ids().map(|id| {
            let near = topology.neighbours(id);
            let degrees = near.iter().map(|&peer| topology.degree(peer) as u32).collect();
            let script = scripts.get(id.index());
            let policy = |_| Some(Box::new(Script(script?.clone())) as Box<dyn Policy>);
            let policies = (0..tasks).filter_map(policy).collect();
            let data = LocalData::new(Arc::clone(data), id);
            WalkPeer::new(id, data, degrees, policies, Arc::clone(&shared))
        });
        let mut rows = Vec::new();
        let outcome = run_peers(
            engine,
            topology,
            &links,
            peers.collect(),
            (&Keeper, Schedule::of_tokens(1, parameters.updates, tasks)),
            &AtomicBool::new(false),
            &mut |row| {
                rows.push(row);
                Flow::Continue
            },
        );
        Played { rows, outcome: outcome.unwrap() }
    }
}

impl Played {
    fn last(&self) -> &Row<Vec<f64>> {
        self.rows.last().expect("a row")
    }
}
