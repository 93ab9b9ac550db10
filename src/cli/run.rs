//! `hushmesh run`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::exit::{Code, Failure};
use super::progress::ProgressLine;
use super::study::carry_out_study;
use super::{RunArguments, print, ranked, study};
use crate::experiment::{
    ASKED, ExperimentError, Leader, Options, Progress, RunDirectory, RunResult, SCENARIO, execute,
    resolve,
};
use crate::network::{Engine, EngineKind, NetworkError, THREADS_PEER_LIMIT};
use crate::report::run::{Timing, summary, terminal, write_files};
use crate::scenario::{Checked, Scenario, Sweep, to_yaml};

/// Where runs go that name no place.
pub(super) const DEFAULT_PARENT: &str = "runs";

pub(super) fn run(arguments: &RunArguments) -> Result<Code, Failure> {
    match ranked::group()? {
        Some(ranks) => ranked::run(arguments, &*ranks),
        None => run_here(arguments),
    }
}

fn run_here(arguments: &RunArguments) -> Result<Code, Failure> {
    if let Some(named) = &arguments.resume {
        let directory = RunDirectory::resume(named)?;
        if directory.is_complete() {
            return tidy(directory, arguments.quiet || arguments.json);
        }
        if directory.is_study() {
            refuse_engine(arguments)?;
            return carry_out_study(|| study::resumed(directory), &arguments.effort(), None);
        }
        let checked = Checked::load(&directory.unfinished().join(ASKED), &[])?;
        return run_one(arguments, &on_engine(arguments.engine, checked)?, directory, None);
    }
    let path = arguments.scenario.as_deref().unwrap_or(Path::new(""));
    let sweep = Sweep::load(path, &arguments.overrides, &arguments.sweeps)?;
    match sweep.points() {
        [only] if sweep.is_single() => {
            refuse_target(arguments)?;
            let checked = on_engine(arguments.engine, sweep.checked(only)?)?;
            let directory = place(arguments, &checked.scenario().name)?;
            run_one(arguments, &checked, directory, None)
        }
        _ => carry_out_study(|| study::sweep(arguments, &sweep), &arguments.effort(), None),
    }
}

/// Refuses another engine for a sweep that is resumed.
pub(super) fn refuse_engine(arguments: &RunArguments) -> Result<(), Failure> {
    match arguments.engine {
        None => Ok(()),
        Some(_) => {
            let message = "--engine: that of a sweep's runs stands in its study.yaml";
            Err(Failure::arguments(message.to_string()))
        }
    }
}

/// Refuses a target where nothing is swept.
pub(super) fn refuse_target(arguments: &RunArguments) -> Result<(), Failure> {
    match arguments.target {
        None => Ok(()),
        Some(_) => {
            let message = "--target: there is no sweep whose runs could reach it";
            Err(Failure::arguments(message.to_string()))
        }
    }
}

/// The directory that a run, or a sweep, of this name will fill.
pub(super) fn place(arguments: &RunArguments, name: &str) -> Result<RunDirectory, Failure> {
    Ok(match &arguments.out {
        Some(out) => RunDirectory::create(out, arguments.force)?,
        None => RunDirectory::create_default(Path::new(DEFAULT_PARENT), name)?,
    })
}

/// A run that was stopped after its last file was written and before it had its name.
pub(super) fn tidy(directory: RunDirectory, quiet: bool) -> Result<Code, Failure> {
    let place = directory.finish()?;
    if !quiet {
        print(&format!("complete; files in {}\n", place.display()))?;
    }
    Ok(Code::Done)
}

/// Runs a scenario, here or on all ranks of which this is the first.
pub(super) fn run_one(
    arguments: &RunArguments,
    checked: &Checked,
    directory: RunDirectory,
    leader: Option<&Leader<'_>>,
) -> Result<Code, Failure> {
    let began = Instant::now();
    let options = Options { workers: arguments.workers.map(usize::from) };
    let interrupt = on_interrupt();
    let line = ProgressLine::new(checked.scenario().repeat, arguments.quiet);
    line.say("preparing");

    let progress = &mut |at| line.show(at);
    let outcome = carry_out(checked, (options, leader), &directory, &interrupt, progress);
    line.clear();
    let (result, yaml) = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            directory.abandon();
            return Err(error.into());
        }
    };
    let engine = match (options.engine(&result.scenario), leader) {
        (_, Some(leader)) => format!("simulated, {leader}"),
        (Engine::Simulated { workers }, None) => format!("simulated, {workers} workers"),
        (Engine::Threads, None) => "threads".to_string(),
    };
    let traffic = leader.map(Leader::traffic);
    let timing = Timing { seconds: began.elapsed().as_secs_f64(), engine, traffic };
    write_files(&result, &yaml, Some(&timing), &directory, arguments.plots.is_some())?;
    let place = if result.interrupted {
        directory.unfinished().to_path_buf()
    } else {
        directory.complete(&result.fingerprint)?;
        directory.finish()?
    };
    tell(arguments, &result, &place)
}

/// The scenario on the engine of the command line, if it names one that can run it.
pub(super) fn on_engine(
    engine: Option<impl Into<EngineKind>>,
    checked: Checked,
) -> Result<Checked, Failure> {
    let peers = checked.topology().peers();
    match engine.map(Into::into) {
        Some(EngineKind::Threads) if peers > THREADS_PEER_LIMIT => {
            let error = NetworkError::TooManyThreads { peers, limit: THREADS_PEER_LIMIT };
            Err(Failure::arguments(format!("--engine threads: {error}")))
        }
        Some(engine) => Ok(checked.on_engine(engine)),
        None => Ok(checked),
    }
}

/// Everything that takes time: the results, and the resolved scenario as its file says it.
pub(super) fn carry_out(
    checked: &Checked,
    (options, leader): (Options, Option<&Leader<'_>>),
    directory: &RunDirectory,
    interrupt: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<(RunResult, String), ExperimentError> {
    directory.write(ASKED, in_place(checked.scenario(), checked, directory).as_bytes())?;
    let resolved = leader.map_or_else(|| resolve(checked), |leader| leader.resolve(checked))?;
    let yaml = in_place(&resolved.scenario, checked, directory);
    directory.write(SCENARIO, yaml.as_bytes())?;
    let kept = Some(directory);
    let result = match leader {
        Some(leader) => leader.execute(checked, resolved, kept, interrupt, progress)?,
        None => execute(checked, resolved, options, kept, interrupt, progress)?,
    };
    Ok((result, yaml))
}

/// A scenario as its file in the run's directory says it: paths start from there.
fn in_place(scenario: &Scenario, checked: &Checked, directory: &RunDirectory) -> String {
    let moved = scenario.moved(checked.base(), directory.unfinished());
    to_yaml(&moved.unwrap_or_else(|_| scenario.clone()))
}

/// A flag that Ctrl-C raises. The second Ctrl-C ends the program on the spot.
pub(super) fn on_interrupt() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    // Without a handler Ctrl-C ends the program, which loses no finished repeat.
    let _ = ctrlc::set_handler(move || {
        if raised.swap(true, Ordering::SeqCst) {
            std::process::exit(Code::Interrupted as i32);
        }
    });
    flag
}

/// Prints the result and chooses the exit code.
fn tell(arguments: &RunArguments, result: &RunResult, place: &Path) -> Result<Code, Failure> {
    let summary = summary(result);
    if arguments.json {
        print(&format!("{:#}\n", summary.to_json()))?;
    } else if !arguments.quiet {
        print(&terminal(result, &summary, place))?;
    }
    Ok(if result.interrupted {
        Code::Interrupted
    } else if result.repeats.iter().any(|repeat| repeat.divergence.is_some()) {
        Code::Diverged
    } else {
        Code::Done
    })
}
