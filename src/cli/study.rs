//! Sweeps and comparisons: their runs side by side, and what they say together.

mod line;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use serde_json::json;

use self::line::StudyLine;
use super::exit::{Code, Failure};
use super::run::{carry_out, on_engine, on_interrupt, place};
use super::{RunArguments, TableFormat, print, terminal_width};
use crate::experiment::{
    COMPLETE, Called, ExperimentError, Hands, Helpers, News, Options, PointOutcome, Progress,
    Purpose, RunDirectory, STUDY, Study, StudyPoint, called, side_by_side, study_fingerprint,
};
use crate::network::Ranks;
use crate::report::run::write_files;
use crate::report::{
    Comparison, Missing, Record, RecordError, SweepPoint, SweepReport, Table, Target,
};
use crate::scenario::{Checked, Point, Scenario, Sweep};

/// Where the runs of a study are, in its directory.
const POINTS: &str = "points";

/// How a study is run and told of.
pub(super) struct Effort {
    /// Runs at a time, on each rank.
    pub(super) jobs: Option<usize>,
    /// Worker threads of each.
    pub(super) workers: Option<usize>,
    pub(super) quiet: bool,
    pub(super) json: bool,
    /// Whether each drawing is written as a file of its own.
    pub(super) plots: bool,
    /// How the table is printed.
    pub(super) format: TableFormat,
}

impl Effort {
    /// Runs at a time in this process, and the workers of each.
    fn shared(&self, study: &Study, ranks: Option<&dyn Ranks>) -> (usize, Options) {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        let cores = ranks.map_or_else(all, |ranks| ranks.cores());
        let jobs = self.jobs.unwrap_or(if ranks.is_some() { 1 } else { cores });
        let jobs = jobs.clamp(1, study.points.len().max(1));
        // The runs share the cores, unless told otherwise.
        (jobs, Options { workers: Some(self.workers.unwrap_or((cores / jobs).max(1))) })
    }
}

/// A study and its directory, before anything of it runs.
pub(super) type Planned = (Study, RunDirectory);

/// The study of all points of a sweep.
pub(super) fn sweep(arguments: &RunArguments, sweep: &Sweep) -> Result<Planned, Failure> {
    let scenario = |point: &Point| on_engine(arguments.engine, sweep.checked(point)?);
    let Some(first) = sweep.points().first() else {
        return Err(Failure::arguments("the sweep has no point".to_string()));
    };
    let first = scenario(first)?;
    // Of a sweep that changes what is measured the first point may not tell: all others are asked too.
    let mut others = Vec::new();
    if arguments.target.is_some() {
        for point in &sweep.points()[1..] {
            others.push(scenario(point)?.scenario().clone());
        }
    }
    let all = std::iter::once(first.scenario()).chain(&others);
    check_target(arguments.target.as_deref(), all)?;
    let name = first.scenario().name.clone();
    let directory = place(arguments, &name)?;
    // One graph at a time: all of them together might not fit.
    let point = |point: &Point| -> Result<StudyPoint, Failure> {
        Ok(StudyPoint {
            label: point.name.clone(),
            directory: point.name.clone(),
            values: sweep.values(point),
            scenario: in_study(&scenario(point)?, &directory),
        })
    };
    let points = match sweep.points().iter().map(point).collect() {
        Ok(points) => points,
        Err(failure) => {
            directory.abandon();
            return Err(failure);
        }
    };
    let purpose = Purpose::Sweep(sweep.axes().to_vec());
    let target = arguments.target.clone();
    Ok((Study { name, purpose, target, notes: Vec::new(), points }, directory))
}

/// Refuses a target that is none, or that no run could say whether it was reached, before anything
/// runs.
pub(super) fn check_target<'a>(
    target: Option<&str>,
    mut scenarios: impl Iterator<Item = &'a Scenario>,
) -> Result<(), Failure> {
    let Some(text) = target else { return Ok(()) };
    let refuse = |message: String| Failure::arguments(format!("--target: {message}"));
    let target = Target::parse(text).map_err(|error| refuse(error.to_string()))?;
    if scenarios.any(|scenario| target.measured_by(scenario)) {
        return Ok(());
    }
    let name = target.metric.name();
    Err(refuse(format!("no run measures {name}: expected another figure, or more in measure.what")))
}

/// A run's scenario with paths that start from the study's directory.
pub(super) fn in_study(checked: &Checked, directory: &RunDirectory) -> Scenario {
    let moved = checked.scenario().moved(checked.base(), directory.unfinished());
    moved.unwrap_or_else(|_| checked.scenario().clone())
}

/// A study that was stopped, or in which something failed.
pub(super) fn resumed(directory: RunDirectory) -> Result<Planned, Failure> {
    let study = Study::read(&directory.unfinished().join(STUDY))?;
    Ok((study, directory))
}

/// Carries out a study, alone or together with other ranks: the first of them plans it, all run points.
pub(super) fn carry_out_study(
    plan: impl FnOnce() -> Result<Planned, Failure>,
    effort: &Effort,
    ranks: Option<&dyn Ranks>,
) -> Result<Code, Failure> {
    match ranks {
        None => lead(plan()?, effort, None),
        Some(ranks) if ranks.leads() => {
            let helpers = Helpers::new(ranks);
            lead(plan()?, effort, Some(&helpers))
        }
        Some(ranks) => {
            // What was read for it need not stay.
            drop(plan);
            help(effort, ranks)
        }
    }
}

/// Runs what is not done yet, then gathers all of it.
fn lead(
    (study, directory): Planned,
    effort: &Effort,
    helpers: Option<&Helpers<'_>>,
) -> Result<Code, Failure> {
    let began = Instant::now();
    if let Some(Err(error)) = helpers.map(|helpers| helpers.see(&directory)) {
        directory.abandon();
        return Err(error.into());
    }
    directory.write(STUDY, study.to_yaml().as_bytes())?;
    let study = &study;
    let (jobs, options) = effort.shared(study, helpers.map(Helpers::ranks));
    let interrupt = on_interrupt();
    let line = StudyLine::new(study.points.len(), effort.quiet);
    let ranks = match helpers {
        Some(helpers) => Some(helpers.call(study, &directory, effort.plots)?),
        None => None,
    };
    let work = work(study, directory.unfinished(), options, &interrupt, effort.plots);
    let hear = |number, news: &News| line.hear(number, news);
    let hands = Hands { jobs, ranks };
    let outcomes = side_by_side(study.points.len(), hands, &interrupt, work, hear);
    line.clear();
    let outcomes = outcomes.map_err(ExperimentError::from)?;
    let told = gather(study, &directory, &outcomes, effort.plots)?;
    let at_a_time = jobs * ranks.map_or(1, |ranks| ranks.size());
    let timing = json!({
        "wall_seconds": began.elapsed().as_secs_f64(), "runs_at_a_time": at_a_time, "workers_of_each": options.workers,
    });
    directory.write("timing.json", format!("{timing:#}\n").as_bytes())?;
    let stopped = outcomes.contains(&PointOutcome::Interrupted);
    let failed: Vec<String> = study
        .points
        .iter()
        .zip(&outcomes)
        .filter_map(|(point, outcome)| match outcome {
            PointOutcome::Failed(reason) => Some(format!("error: {}: {reason}", point.label)),
            _ => None,
        })
        .collect();
    let whole = !stopped && failed.is_empty();
    let place = if whole {
        directory.complete(&told.fingerprint)?;
        directory.finish()?
    } else {
        directory.unfinished().to_path_buf()
    };
    if effort.json {
        print(&format!("{:#}\n", told.json))?;
    } else if !effort.quiet {
        let text = match effort.format {
            TableFormat::Text => format!("{}\nfiles in {}\n", told.text, place.display()),
            TableFormat::Markdown => told.table.to_markdown(),
            TableFormat::Latex => told.table.to_latex(),
            TableFormat::Csv => told.table.to_csv(),
        };
        print(&text)?;
    }
    if stopped {
        return Ok(Code::Interrupted);
    }
    if !failed.is_empty() {
        let all = study.points.len();
        let text = format!(
            "{}\nerror: {} of {all} runs failed: --resume {} runs them again",
            failed.join("\n"),
            failed.len(),
            place.display()
        );
        return Err(Failure { code: Code::Run, text });
    }
    Ok(if told.diverged { Code::Diverged } else { Code::Done })
}

/// Runs points of a study that rank 0 leads.
fn help(effort: &Effort, ranks: &dyn Ranks) -> Result<Code, Failure> {
    let Some(Called { study, place, plots }) = called(ranks)? else { return Ok(Code::Done) };
    let (jobs, options) = effort.shared(&study, Some(ranks));
    let interrupt = on_interrupt();
    let work = work(&study, &place, options, &interrupt, plots);
    let hands = Hands { jobs, ranks: Some(ranks) };
    let helped = side_by_side(study.points.len(), hands, &interrupt, work, |_, _| ());
    helped.map_err(ExperimentError::from)?;
    Ok(Code::Done)
}

/// Runs the point of a number.
fn work(
    study: &Study,
    place: &Path,
    options: Options,
    interrupt: &AtomicBool,
    plots: bool,
) -> impl Fn(usize, &dyn Fn(f64)) -> PointOutcome + Sync {
    move |number, progress| {
        let point = &study.points[number];
        run_point(point, place, options, interrupt, plots, progress).unwrap_or_else(failed)
    }
}

/// Runs one point, from where it was left.
fn run_point(
    point: &StudyPoint,
    study: &Path,
    options: Options,
    interrupt: &AtomicBool,
    plots: bool,
    progress: &dyn Fn(f64),
) -> Result<PointOutcome, Failure> {
    let Some(directory) = RunDirectory::take_up(&point_place(study, point))? else {
        return Ok(PointOutcome::Done);
    };
    let checked = point.checked(study)?;
    let repeats = f64::from(checked.scenario().repeat);
    let mut show = |at: Progress| {
        let round = f64::from(at.round.0) / f64::from(at.last.0.max(1));
        progress((f64::from(at.repeat) + round) / repeats);
    };
    let (result, yaml) =
        match carry_out(&checked, (options, None), &directory, interrupt, &mut show) {
            Ok(outcome) => outcome,
            Err(error) => {
                directory.abandon();
                return Err(error.into());
            }
        };
    if result.interrupted {
        return Ok(PointOutcome::Interrupted);
    }
    // Wall time says little of a run among others, and would be all that differs between two.
    write_files(&result, &yaml, None, &directory, plots)?;
    directory.complete(&result.fingerprint)?;
    directory.finish()?;
    Ok(PointOutcome::Done)
}

/// A failure among others.
fn failed(failure: Failure) -> PointOutcome {
    let text = failure.text;
    PointOutcome::Failed(text.strip_prefix("error: ").unwrap_or(&text).to_string())
}

fn point_place(study: &Path, point: &StudyPoint) -> PathBuf {
    study.join(POINTS).join(&point.directory)
}

/// What a study says.
struct Told {
    fingerprint: String,
    text: String,
    table: Table,
    json: serde_json::Value,
    diverged: bool,
}

/// Writes the files of the study itself, from those of its runs.
fn gather(
    study: &Study,
    directory: &RunDirectory,
    outcomes: &[PointOutcome],
    plots: bool,
) -> Result<Told, Failure> {
    let mut records = Vec::new();
    let mut fingerprints = Vec::new();
    for (point, outcome) in study.points.iter().zip(outcomes) {
        let place = point_place(directory.unfinished(), point);
        records.push(match outcome {
            PointOutcome::Done => {
                let marker = place.join(COMPLETE);
                fingerprints.push(std::fs::read_to_string(&marker).unwrap_or_default());
                Ok(Record::read(&place)?)
            }
            PointOutcome::Failed(reason) => Err(Missing::Failed(reason.clone())),
            PointOutcome::Interrupted => Err(Missing::NotRun),
        });
    }
    let fingerprint = study_fingerprint(fingerprints.iter().map(|text| text.trim()));
    let diverged = records.iter().flatten().any(Record::any_diverged);
    let target = study.target.as_deref().map(Target::parse).transpose();
    let target = target.map_err(|error| Failure::arguments(error.to_string()))?;
    let width = terminal_width();
    let (text, table, json) = match &study.purpose {
        Purpose::Sweep(axes) => {
            let points = study.points.iter().zip(records).map(|(point, outcome)| SweepPoint {
                values: point.values.clone(),
                name: point.label.clone(),
                outcome,
            });
            let report = SweepReport::new(&study.name, axes.clone(), points.collect(), target);
            report.write_files(directory, plots)?;
            (report.terminal(width), report.table(), report.to_json())
        }
        Purpose::Comparison => {
            let labels = study.points.iter().map(|point| point.label.clone());
            let rows = labels.zip(records).collect();
            let comparison = Comparison::new(rows, target, study.notes.clone());
            comparison.write_files(directory, plots)?;
            (comparison.terminal(width), comparison.table(), comparison.to_json())
        }
    };
    Ok(Told { fingerprint, text, table, json, diverged })
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        Self { code: Code::Input, text: format!("error: {error}") }
    }
}
