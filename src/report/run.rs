//! The files of a run, and what the terminal shows of it.

mod curves;
mod drawing;
mod page;
mod pairwise;
mod summary;
mod tables;
mod terminal;

use std::io;

use serde_json::json;

pub use page::page;
pub use pairwise::{pairwise_csv, pairwise_map};
pub use summary::{Summary, TaskSummary, summary};
pub use tables::{metrics_csv, peers_csv, tasks_csv};
pub use terminal::terminal;

use super::files::write_page;
use crate::experiment::{
    DirectoryError, RepeatResult, RunDirectory, RunResult, npy_header, write_numbers,
};
use crate::network::Traffic;

/// What depends on the machine and the moment, and therefore lives in timing.json alone.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Wall seconds of the whole run, from the scenario to here; of this session, if resumed.
    pub seconds: f64,
    /// The engine, in words.
    pub engine: String,
    /// What rank 0 and the others had to say to each other, where there are others.
    pub traffic: Option<Traffic>,
}

/// Writes every file of a run into its directory, with `plots` also each drawing as a file of its
/// own; timing.json only if `timing` says what is in it.
///
/// # Errors
/// A file system that refuses.
pub fn write_files(
    result: &RunResult,
    scenario_yaml: &str,
    timing: Option<&Timing>,
    directory: &RunDirectory,
    plots: bool,
) -> Result<(), DirectoryError> {
    let summary = summary(result);
    let as_json = |value: &serde_json::Value| format!("{value:#}\n").into_bytes();
    directory.write("scenario.yaml", scenario_yaml.as_bytes())?;
    directory.write("metrics.csv", &metrics_csv(result))?;
    directory.write("peers.csv", &peers_csv(result)?)?;
    if let Some(tasks) = tasks_csv(result) {
        directory.write("tasks.csv", &tasks)?;
    }
    if let Some(loss) = &result.pairwise {
        let delta = result.scenario.privacy.delta;
        directory.write("pairwise.csv", &pairwise_csv(&result.topology, loss, delta))?;
    }
    directory.write("summary.json", &as_json(&summary.to_json()))?;
    let dimension = result.repeats.first().map_or(0, |repeat| repeat.dimension);
    let tokens = result.repeats.first().and_then(|repeat| repeat.tokens.as_ref());
    let each = tokens.map_or(result.topology.peers(), |tokens| tokens.tasks as usize);
    let numbers: usize = result.repeats.iter().map(RepeatResult::numbers).sum();
    let complete = numbers / (each * dimension.max(1));
    directory.write_by("model.npy", |file| {
        file.write_all(&npy_header(&[complete, each, dimension]))?;
        let mut written = Ok(());
        for repeat in &result.repeats {
            let read = repeat.each_states(|states| {
                if written.is_ok() {
                    written = write_numbers(states, file);
                }
            });
            read.map_err(io::Error::other)?;
        }
        written
    })?;
    write_page(&page(result, &summary, scenario_yaml), directory, plots)?;
    if let Some(Timing { seconds, engine, traffic }) = timing {
        let mut timing = json!({ "wall_seconds": seconds, "engine": engine });
        if let Some(Traffic { exchanges, bytes, seconds }) = traffic {
            timing["rank_0"] = json!({
                "exchanges": exchanges, "bytes_sent": bytes, "exchange_seconds": seconds,
            });
        }
        directory.write("timing.json", &as_json(&timing))?;
    }
    Ok(())
}
