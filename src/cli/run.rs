//! `hushmesh run`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::exit::{Code, Failure};
use super::progress::ProgressLine;
use super::{RunArguments, print};
use crate::experiment::{
    ASKED, ExperimentError, Options, RunDirectory, RunResult, SCENARIO, execute, resolve,
};
use crate::network::{Engine, EngineKind, NetworkError, THREADS_PEER_LIMIT};
use crate::report::run::{Timing, summary, terminal, write_files};
use crate::scenario::{Checked, Scenario, to_yaml};

/// Where runs go that name no place.
const DEFAULT_PARENT: &str = "runs";

pub(super) fn run(arguments: &RunArguments) -> Result<Code, Failure> {
    let began = Instant::now();
    let (checked, directory) = prepare(arguments)?;
    let options = Options { workers: arguments.workers.map(usize::from) };
    let interrupt = on_interrupt();
    let line = ProgressLine::new(checked.scenario().repeat, arguments.quiet);

    let outcome = carry_out(&checked, options, &directory, &interrupt, &line);
    line.clear();
    let (result, yaml) = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            directory.abandon();
            return Err(error.into());
        }
    };
    let engine = match options.engine(&result.scenario) {
        Engine::Simulated { workers } => format!("simulated, {workers} workers"),
        Engine::Threads => "threads".to_string(),
    };
    let timing = Timing { seconds: began.elapsed().as_secs_f64(), engine };
    write_files(&result, &yaml, &timing, &directory, arguments.plots.is_some())?;
    let place = if result.interrupted {
        directory.unfinished().to_path_buf()
    } else {
        directory.finish(result.scenario.repeat)?
    };
    tell(arguments, &result, &place)
}

/// The checked scenario and the directory that the run will fill.
fn prepare(arguments: &RunArguments) -> Result<(Checked, RunDirectory), Failure> {
    if let Some(named) = &arguments.resume {
        let directory = RunDirectory::resume(named)?;
        let checked = Checked::load(&directory.unfinished().join(ASKED), &[])?;
        return Ok((on_engine(arguments, checked)?, directory));
    }
    let path = arguments.scenario.as_deref().unwrap_or(Path::new(""));
    let checked = on_engine(arguments, Checked::load(path, &arguments.overrides)?)?;
    let directory = match &arguments.out {
        Some(out) => RunDirectory::create(out, arguments.force)?,
        None => RunDirectory::create_default(Path::new(DEFAULT_PARENT), &checked.scenario().name)?,
    };
    Ok((checked, directory))
}

/// The scenario on the engine of the command line, if it names one that can run it.
fn on_engine(arguments: &RunArguments, checked: Checked) -> Result<Checked, Failure> {
    let peers = checked.topology().peers();
    match arguments.engine.map(Into::into) {
        Some(EngineKind::Threads) if peers > THREADS_PEER_LIMIT => {
            let error = NetworkError::TooManyThreads { peers, limit: THREADS_PEER_LIMIT };
            let text = format!("error: --engine threads: {error}");
            Err(Failure { code: Code::Arguments, text })
        }
        Some(engine) => Ok(checked.on_engine(engine)),
        None => Ok(checked),
    }
}

/// Everything that takes time.
fn carry_out(
    checked: &Checked,
    options: Options,
    directory: &RunDirectory,
    interrupt: &AtomicBool,
    line: &ProgressLine,
) -> Result<(RunResult, String), ExperimentError> {
    directory.write(ASKED, in_place(checked.scenario(), checked, directory).as_bytes())?;
    line.say("preparing");
    let resolved = resolve(checked)?;
    let yaml = in_place(&resolved.scenario, checked, directory);
    directory.write(SCENARIO, yaml.as_bytes())?;
    let result =
        execute(checked, resolved, options, Some(directory), interrupt, &mut |at| line.show(at))?;
    Ok((result, yaml))
}

/// A scenario as its file in the run's directory says it: paths start from there.
fn in_place(scenario: &Scenario, checked: &Checked, directory: &RunDirectory) -> String {
    let moved = scenario.moved(checked.base(), directory.unfinished());
    to_yaml(&moved.unwrap_or_else(|_| scenario.clone()))
}

/// A flag that Ctrl-C raises. The second Ctrl-C ends the program on the spot.
fn on_interrupt() -> Arc<AtomicBool> {
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
