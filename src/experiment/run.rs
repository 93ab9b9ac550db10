//! A run: repeats one after the other, each on all workers; those of walking tokens, of which few peers
//! are at work at a time, side by side.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use thiserror::Error;

use super::assembly::{Assembly, Solve, objective_noise};
use super::directory::{DirectoryError, RunDirectory};
use super::fingerprint::fingerprint;
use super::left::{LeftOnRanks, of_each};
use super::observed::over_repeats;
use super::prediction::{PREDICTED_PEERS, Prediction, affordable};
use super::promised::promised;
use super::ranked::Leader;
use super::repeat::{PeerWork, RepeatResult, StopReason, SumsSoFar, TokenResult, listed_every};
use super::resolved::{Resolved, resolve};
use super::server::{Server, pairwise};
use super::statement::{Claim, Statement};
use super::walk;
use crate::data::DataError;
use crate::learn::CentralError;
use crate::measure::{
    Accounting, FILMED_PEERS, LocalFigures, Metric, Recorder, Scorer, What, fitted_rate,
};
use crate::network::{
    self, Ending, Engine, EngineKind, Flow, Layout, Links, Measured, NetworkError, Outcome, Peer,
    Ranks, Schedule,
};
use crate::privacy::{Budget, CalibrationError, Exposure, Responses};
use crate::protocol::admm::{AdmmParameters, AdmmPeer};
use crate::protocol::gradient_descent::{GradientParameters, GradientPeer};
use crate::protocol::{Automatic, ProtocolConfig};
use crate::random::{Draws, Purpose};
use crate::scenario::{Checked, Scenario};
use crate::theory;
use crate::theory::pairwise::Pairwise;
use crate::topology::{BuildError, RoutesError, Topology, TopologyError};
use crate::units::{Delta, Epsilon, PeerId, Round};

/// Why a run failed.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// A repeat's graph.
    #[error("topology: {0}")]
    Topology(#[from] BuildError),
    /// A repeat's data.
    #[error("data: {0}")]
    Data(#[from] DataError),
    /// A spanning tree.
    #[error("topology: {0}")]
    Tree(#[from] TopologyError),
    /// The optimum to compare with.
    #[error("{0}")]
    Central(#[from] CentralError),
    /// The network.
    #[error("{0}")]
    Network(#[from] NetworkError),
    /// The users' privacy levels.
    #[error("{0}")]
    Privacy(String),
    /// What the protocol needs of the data.
    #[error("protocol: {0}")]
    Protocol(String),
    /// A budget that does not bear the first release of some peer.
    #[error("measure.stop.epsilon: {epsilon} at δ = {delta} does not bear the first release")]
    Budget {
        /// The budget.
        epsilon: Epsilon,
        /// At which δ.
        delta: Delta,
    },
    /// Noise that cannot be had.
    #[error("protocol.walk-sgd.noise: {0}")]
    Calibration(#[from] CalibrationError),
    /// Ways that cannot be stored.
    #[error("protocol.walk-sgd.walk: {0}")]
    Routes(#[from] RoutesError),
    /// More updates than can be numbered.
    #[error("protocol.walk-sgd: {updates} updates are more than the {most} that can be numbered")]
    Updates {
        /// How many there would be.
        updates: u64,
        /// The most there can be.
        most: u64,
    },
    /// A token that was lost on its way: a fault of the program.
    #[error("only {reached} of {updates} updates were made: a token was lost")]
    Lost {
        /// Updates that every token made.
        reached: u32,
        /// Those that it was to make.
        updates: u32,
    },
    /// The files.
    #[error("{0}")]
    Directory(#[from] DirectoryError),
}

/// What the command line may say over the scenario, without changing any result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Another number of workers.
    pub workers: Option<usize>,
}

impl Options {
    /// The engine that will run.
    pub fn engine(&self, scenario: &Scenario) -> Engine {
        match scenario.network.engine {
            EngineKind::Threads => Engine::Threads,
            EngineKind::Simulated => {
                let cores = || std::thread::available_parallelism().map_or(1, usize::from);
                let workers = self.workers.or(scenario.network.workers);
                Engine::Simulated { workers: workers.unwrap_or_else(cores) }
            }
        }
    }
}

impl Options {
    /// How many of so many repeats run at a time, and the options of each of them. Tokens leave most
    /// peers idle, so that one worker is enough for a repeat, and others can have repeats of their own;
    /// where there are more workers than repeats, they share out the tokens of each.
    fn shared_out(self, scenario: &Scenario, repeats: usize) -> (usize, Self) {
        match self.engine(scenario) {
            Engine::Simulated { workers } if scenario.protocol.walk().is_some() => {
                let jobs = workers.min(repeats).max(1);
                (jobs, Self { workers: Some(workers / jobs) })
            }
            _ => (1, self),
        }
    }
}

/// Where a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The repeat, from 0.
    pub repeat: u32,
    /// The last complete measured round.
    pub round: Round,
    /// The last round that the repeat may reach.
    pub last: Round,
    /// The consensus gap there, if it is measured.
    pub gap: Option<f64>,
}

/// A run's results.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The scenario with every `auto` resolved.
    pub scenario: Scenario,
    /// What theory expected, where the penalty or the step was left to it.
    pub rate: Option<theory::Rate>,
    /// What theory says of ADMM, where its optimum is known, of a walk, or of parties around a server, on
    /// the first repeat's graph and data; for at most 1,000 peers.
    pub prediction: Option<Prediction>,
    /// What every peer learns of every other by gossip, in the first repeat, where that has a formula.
    pub pairwise: Option<Pairwise>,
    /// The graph of the first repeat.
    pub topology: Arc<Topology>,
    /// What was measured.
    pub metrics: Vec<Metric>,
    /// The repeats; the last is incomplete if the run was interrupted.
    pub repeats: Vec<RepeatResult>,
    /// See [`fingerprint`].
    pub fingerprint: String,
    /// What the scenario promised: see [`statement`](super::statement()).
    pub statement: Statement,
    /// What the ledger says, of the same observers.
    pub observed: Vec<Claim>,
    /// Whether it was interrupted.
    pub interrupted: bool,
}

/// Runs a scenario in memory and writes nothing.
///
/// ```
/// use hushmesh::experiment;
/// use hushmesh::scenario::Checked;
///
/// let scenario = "
/// name: two peers
/// seed: 1
/// topology: {path: {peers: 2}}
/// data: {source: twonorm, samples: {per-peer: 40}}
/// model: {loss: logistic, regularisation: 1}
/// protocol: {admm: {rounds: 60}}
/// ";
/// let result = experiment::run(&Checked::from_text("two.yaml", scenario)?)?;
/// let optimum = result.repeats[0].optimum.as_ref().unwrap();
/// for model in result.repeats[0].models() {
///     assert!(hushmesh::learn::distance(model, optimum) < 1e-8);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The first failure.
pub fn run(checked: &Checked) -> Result<RunResult, ExperimentError> {
    let resolved = resolve(checked)?;
    let never = AtomicBool::new(false);
    execute(checked, resolved, Options::default(), None, &never, &mut |_| {})
}

/// Runs every repeat that `directory` does not hold yet, keeping each there as it is finished.
///
/// # Errors
/// The first failure; what was kept stays.
pub fn execute(
    checked: &Checked,
    resolved: Resolved,
    options: Options,
    directory: Option<&RunDirectory>,
    interrupt: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<RunResult, ExperimentError> {
    execute_with(None, checked, resolved, options, directory, interrupt, progress)
}

/// The same, here or on all ranks of which this is the first.
pub(super) fn execute_with(
    leader: Option<&Leader<'_>>,
    checked: &Checked,
    resolved: Resolved,
    options: Options,
    directory: Option<&RunDirectory>,
    interrupt: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<RunResult, ExperimentError> {
    let Resolved { ref scenario, rate } = resolved;
    let mut repeats = Vec::new();
    let mut left = Vec::new();
    for repeat in 0..scenario.repeat {
        match directory.map(|directory| directory.kept(repeat)).transpose()?.flatten() {
            Some(kept) => repeats.push(kept),
            None => left.push(repeat),
        }
    }
    // Ranks run one repeat at a time, together.
    let (jobs, options) = match leader {
        Some(_) => (1, options),
        None => options.shared_out(scenario, left.len()),
    };
    let here =
        |repeat, solve| Assembly::new(scenario, checked.base(), checked.topology(), repeat, solve);
    // What is looked at beside the runs: of many peers each rank has its own, as when it runs them.
    let beside = |repeat, solve| match leader {
        Some(leader) if checked.topology().peers() > PREDICTED_PEERS => {
            leader.assemble(scenario, checked, repeat, solve)
        }
        _ => here(repeat, solve),
    };
    let one = |repeat: u32, progress: &mut dyn FnMut(Progress)| {
        let assembly = match leader {
            Some(leader) => leader.assemble(scenario, checked, repeat, Solve::IfMeasured)?,
            None => here(repeat, Solve::IfMeasured)?,
        };
        let told = match repeat {
            0 => (affordable(scenario, &assembly)?, pairwise(scenario, &assembly)),
            _ => (None, None),
        };
        let home = (options.engine(scenario), leader, directory);
        let mut result = run_repeat(scenario, &assembly, repeat, home, interrupt, progress)?;
        if let Some(directory) = directory
            && result.stop_reason != StopReason::Interrupted
        {
            directory.keep(&mut result)?;
        }
        Ok::<_, ExperimentError>((result, assembly.metrics, told))
    };
    let ran = super::repeat::all(&left, jobs, interrupt, one, progress);
    let mut metrics = Vec::new();
    let (mut theory, mut fresh, mut pairs) = (None, false, None);
    let mut interrupted = ran.len() < left.len();
    for outcome in ran {
        let (result, measured, told) = outcome?;
        if result.repeat == 0 {
            (theory, pairs) = told;
            fresh = true;
        }
        metrics = measured;
        interrupted |= result.stop_reason == StopReason::Interrupted;
        repeats.push(result);
    }
    repeats.sort_by_key(|result| result.repeat);
    // Repeats behind one that was cut short are in the directory, for later.
    let cut = repeats.iter().position(|result| result.stop_reason == StopReason::Interrupted);
    repeats.truncate(cut.map_or(repeats.len(), |cut| cut + 1));
    let whole = (0..).zip(&repeats).take_while(|(k, result)| *k == result.repeat).count();
    repeats.truncate(whole);
    let kept = repeats.first().is_some_and(|first| first.repeat == 0) && !fresh;
    if metrics.is_empty() || kept {
        // The first repeat was kept: the shape of the figures, and theory, come from its data.
        let assembly = beside(0, Solve::IfMeasured)?;
        theory = affordable(scenario, &assembly)?;
        pairs = pairwise(scenario, &assembly);
        metrics = assembly.metrics;
    }
    Ok(RunResult {
        fingerprint: fingerprint(&metrics, &repeats)?,
        statement: promised(checked, &resolved, &repeats, |repeat| beside(repeat, Solve::Never))?,
        observed: over_repeats(&repeats, scenario.privacy.delta),
        topology: checked.topology().clone(),
        scenario: resolved.scenario,
        rate,
        prediction: theory,
        pairwise: pairs,
        metrics,
        repeats,
        interrupted,
    })
}

/// Errors below this are left out of the fit of a protocol's rate: rounding rules there, and for ADMM
/// the argmins' tolerance, which the curvature may make a thousand times as much in the models.
fn rate_floor(protocol: &ProtocolConfig) -> f64 {
    match protocol {
        ProtocolConfig::Admm(admm) => (1e3 * admm.tolerance).max(1e-11),
        ProtocolConfig::GradientDescent(_)
        | ProtocolConfig::GradientTracking(_)
        | ProtocolConfig::WalkSgd(_)
        | ProtocolConfig::WeightedErm(_)
        | ProtocolConfig::Federated(_)
        | ProtocolConfig::GradientQueries(_) => 1e-7,
    }
}

/// Makes the peers of the scenario's protocol and runs them: the one place where the protocol is a
/// question. Below it everything is compiled for the one at hand.
pub(super) fn run_peers(
    scenario: &Scenario,
    assembly: &Assembly,
    (engine, ranks): (Engine, Option<&dyn Ranks>),
    interrupt: &AtomicBool,
    on_row: &mut dyn FnMut(Measured<Scorer>) -> Flow,
) -> Result<Outcome<LocalFigures>, ExperimentError> {
    let rounds = assembly.rounds(scenario);
    let loss = scenario.model.loss;
    let ridge = scenario.model.regularisation / assembly.topology.peers() as f64;
    let chosen = |value: Automatic| match value {
        Automatic::Value(number) => number,
        Automatic::Auto => unreachable!("`auto` is resolved before any repeat runs"),
    };
    let unprotected = assembly.unprotected();
    let gradient =
        |step, tracking| GradientParameters { loss, ridge, step, rounds, tracking, unprotected };
    let run = Run {
        engine,
        ranks: assembly.layout.as_ref().zip(ranks),
        topology: &assembly.topology,
        links: &Links::new(&scenario.network, &assembly.topology, &assembly.streams),
        observation: (&assembly.scorer, assembly.schedule(scenario)),
        interrupt,
    };
    match &scenario.protocol {
        ProtocolConfig::Admm(admm) => {
            let streams = &assembly.streams;
            let Accounting { delta, copies, .. } = assembly.accounting;
            let budget = scenario.measure.stop.and_then(|stop| stop.epsilon);
            let parameters = Arc::new(AdmmParameters {
                tolerance: admm.tolerance,
                slack: admm.slack,
                inexact: admm.inexact,
                objective_noise: objective_noise(scenario, streams),
                primal_noise: admm
                    .primal_noise
                    .clone()
                    .map(|noise| (noise, Draws::Streams(streams.family(Purpose::PrimalNoise, 0)))),
                reach: scenario.reach(),
                unprotected,
                budget: budget.map(|epsilon| Budget::new(Epsilon(epsilon), delta, copies)),
                averages: scenario.measure.has(What::Average),
                ..AdmmParameters::plain(
                    loss,
                    assembly.topology.peers(),
                    ridge,
                    chosen(admm.penalty),
                    rounds,
                )
            });
            let peer = |id, data, near: &[PeerId]| {
                AdmmPeer::new(id, data, near, assembly.coefficient(id), Arc::clone(&parameters))
            };
            run.peers(assembly.peers(peer), on_row)
        }
        ProtocolConfig::GradientDescent(descent) => {
            let parameters = gradient(descent.step, false);
            run.peers(
                assembly.peers(|_, data, near| GradientPeer::new(data, near, parameters)),
                on_row,
            )
        }
        ProtocolConfig::GradientTracking(tracking) => {
            let parameters = gradient(chosen(tracking.step), true);
            run.peers(
                assembly.peers(|_, data, near| GradientPeer::new(data, near, parameters)),
                on_row,
            )
        }
        ProtocolConfig::WalkSgd(walk) => {
            run.peers(walk::peers(scenario, walk, assembly, assembly.walk_plan())?, on_row)
        }
        ProtocolConfig::WeightedErm(erm) => {
            run.peers(Server::new(scenario, assembly, &erm.sum).erm(erm)?, on_row)
        }
        ProtocolConfig::Federated(federated) => {
            let server = Server::new(scenario, assembly, &federated.sum);
            let steps = chosen(federated.steps) as u32;
            run.peers(server.federated(federated, steps)?, on_row)
        }
        ProtocolConfig::GradientQueries(queries) => {
            run.peers(Server::new(scenario, assembly, &queries.sum).queries(queries)?, on_row)
        }
    }
}

/// Where and how peers run, whichever they are.
struct Run<'a> {
    engine: Engine,
    /// Who runs whom, where there are several ranks.
    ranks: Option<(&'a Layout, &'a dyn Ranks)>,
    topology: &'a Topology,
    links: &'a Links,
    observation: (&'a Scorer, Schedule),
    interrupt: &'a AtomicBool,
}

impl Run<'_> {
    fn peers<P: Peer>(
        &self,
        peers: Vec<P>,
        on_row: &mut dyn FnMut(Measured<Scorer>) -> Flow,
    ) -> Result<Outcome<LocalFigures>, ExperimentError> {
        let Self { engine, ranks, topology, links, observation, interrupt } = *self;
        if let Some(home) = ranks {
            let run = network::run_on_ranks;
            return Ok(run(home, topology, links, peers, observation, interrupt, on_row)?);
        }
        let on_row = &mut |row| on_row(Measured::Whole(row));
        Ok(network::run(engine, topology, links, peers, observation, interrupt, on_row)?)
    }
}

fn run_repeat(
    scenario: &Scenario,
    assembly: &Assembly,
    repeat: u32,
    (engine, leader, directory): (Engine, Option<&Leader<'_>>, Option<&RunDirectory>),
    interrupt: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<RepeatResult, ExperimentError> {
    let ranks = leader.map(Leader::begin).transpose()?;
    let optimum = assembly.optimum.as_ref().map(|central| central.w.as_slice());
    let train = &*assembly.data.train;
    let mut recorder = Recorder::new(
        &assembly.metrics,
        train,
        assembly.comparison(),
        scenario.measure.stop,
        engine != Engine::Threads,
    )
    .scoring(assembly.thinning.scored);
    if repeat == 0 && assembly.plan.is_none() && assembly.topology.peers() <= FILMED_PEERS {
        recorder = recorder.filming();
    }
    let gap_column = assembly.metrics.iter().position(|&m| m == Metric::ConsensusGap);
    let last_round = assembly.rounds(scenario);
    let Outcome { ending, totals, partings, share } =
        run_peers(scenario, assembly, (engine, ranks), interrupt, &mut |measured| {
            let (round, flow) = match measured {
                Measured::Whole(row) => (row.round, recorder.record(row)),
                Measured::Surveyed(seen) => (seen.round, recorder.record_survey(seen)),
            };
            let gap = gap_column.and_then(|column| Some(recorder.rows.last()?.values[column]));
            progress(Progress { repeat, round, last: last_round, gap });
            flow
        })?;
    let stop_reason = match ending {
        Ending::Finished => StopReason::Rounds,
        Ending::Interrupted => StopReason::Interrupted,
        Ending::Retired => {
            if assembly.plan.is_none() {
                recorder.settle(totals.clone());
            }
            StopReason::Budget
        }
        Ending::Stopped if recorder.divergence.is_some() => StopReason::Diverged,
        Ending::Stopped => StopReason::Tolerance,
    };
    // The last row may both be the last round and meet the rule or diverge.
    let stop_reason = match stop_reason {
        StopReason::Rounds if recorder.divergence.is_some() => StopReason::Diverged,
        StopReason::Rounds if recorder.tolerance_met => StopReason::Tolerance,
        reason => reason,
    };
    let ended = matches!(stop_reason, StopReason::Rounds | StopReason::Budget);
    if assembly.plan.is_some() && ended {
        recorder.conclude(&totals, &partings, assembly.samples().iter());
    }
    let Recorder { rows, seen, last, divergence, journeys, frames, .. } = recorder;
    if let Some(plan) = &assembly.plan
        && stop_reason == StopReason::Rounds
        && rows.last().is_none_or(|row| row.round != plan.updates)
    {
        let reached = rows.last().map_or(0, |row| row.round.0);
        return Err(ExperimentError::Lost { reached, updates: plan.updates.0 });
    }
    if stop_reason == StopReason::Budget && seen.is_none() {
        let budget = scenario.measure.stop.and_then(|stop| stop.epsilon).unwrap_or_default();
        let (epsilon, delta) = (Epsilon(budget), assembly.accounting.delta);
        return Err(ExperimentError::Budget { epsilon, delta });
    }
    let bound = |peer: &Exposure| assembly.accounting.of_record_among_peers(peer);
    let (states, mut locals, mut exposures, dimension) = match last {
        Some(row) => (row.scored, row.locals, row.exposures, row.dimension),
        None => (Vec::new(), Vec::new(), Vec::new(), train.dimension()),
    };
    let mut left = LeftOnRanks { states, ..LeftOnRanks::default() };
    let mut sums = SumsSoFar::of(scenario, assembly);
    if let (Some(leader), Some(share), Some(_)) = (leader, share, &seen) {
        let of = (assembly, repeat);
        left = LeftOnRanks::taken(leader, &share, of, directory, bound, &mut sums)?;
    }
    let tokens = assembly.plan.as_ref().map(|plan| TokenResult {
        classes: assembly.data.classes.clone(),
        tasks: plan.tasks.count(),
        repetition: plan.repetition,
        rows: journeys,
        work: partings.iter().map(PeerWork::of).collect(),
    });
    let mut exposure = seen.map(|seen| seen.found.exposure).unwrap_or_default();
    if tokens.is_some() {
        // Of a repeat that was cut short only the rows are known, which are of tokens: together they
        // tell no more than this.
        exposure = Exposure::total(&exposures);
        locals = partings.iter().map(|peer| peer.local).collect();
        exposures = totals.exposures;
        if ended {
            exposure = Exposure::worst(&exposures);
        }
    }
    let every = listed_every(assembly.topology.peers());
    let locals = match left.locals {
        listed if !listed.is_empty() => listed,
        _ => locals.into_iter().step_by(every).collect(),
    };
    let sums = sums.map(|mut sums| {
        sums.take(0, &exposures);
        sums.result()
    });
    let error_column = assembly.metrics.iter().position(|&m| m == Metric::OptimumDistance);
    let error_column = error_column.or(gap_column);
    let measured_rate = error_column.and_then(|column| {
        let errors = rows.iter().map(|row| (row.round.0, row.values[column]));
        fitted_rate(errors, rate_floor(&scenario.protocol))
    });
    Ok(RepeatResult {
        repeat,
        stop_reason,
        exposure,
        epsilons: match left.epsilons.is_empty() {
            true => of_each(&exposures, bound).collect(),
            false => left.epsilons,
        },
        labels: assembly.responses.as_ref().and_then(Responses::summary),
        thinning: assembly.plan.is_none().then_some(assembly.thinning),
        multiplicity: assembly.data.multiplicity,
        locals,
        degrees: assembly.degrees().clone(),
        samples: assembly.samples().clone(),
        dimension,
        states: left.states,
        filed: left.filed,
        optimum: optimum.map(<[f64]>::to_vec),
        clean_optimum: assembly.clean.as_ref().map(|clean| clean.w.clone()),
        reference: assembly
            .scorer
            .reference(assembly.clean.as_ref().map_or(optimum, |clean| Some(&clean.w))),
        measured_rate,
        divergence,
        tokens,
        sums,
        frames,
        rows,
    })
}
