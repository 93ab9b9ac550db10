//! Cells of a study: scenarios of learners around a server, as many run at a time as there are cores.

use std::error::Error;
use std::sync::Mutex;

use hushmesh::experiment::{self, RepeatResult};
use hushmesh::measure::{Estimate, Metric};
use hushmesh::report::{figure, with_interval};
use hushmesh::scenario::Checked;

/// What a cell gave: a figure of every seed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// The objective on all samples above its optimum.
    pub(crate) gap: Vec<f64>,
    /// ψ, the same relative to the optimum.
    pub(crate) fitness: Vec<f64>,
    /// Held-out accuracy in per cent; empty where nothing is held out.
    pub(crate) accuracy: Vec<f64>,
    /// That of the trivial model.
    pub(crate) trivial: Vec<f64>,
    /// That of the central optimum.
    pub(crate) central: Vec<f64>,
}

/// The words of the command line that are not `seeds=N`, and N.
///
/// # Errors
/// N is no number.
pub(crate) fn asked(seeds: u32) -> Result<(Vec<String>, u32), Box<dyn Error>> {
    let (counts, words): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|word| word.starts_with("seeds="));
    let count = counts.last().and_then(|word| word.strip_prefix("seeds=")).map(str::parse);
    Ok((words, count.transpose()?.unwrap_or(seeds)))
}

/// Runs all cells and gives their figures in order. Says how far it is on standard error.
///
/// # Errors
/// The first failure.
pub(crate) fn run_all(cells: &[Checked]) -> Result<Vec<Figures>, Box<dyn Error>> {
    let next = Mutex::new(0..cells.len());
    let done = Mutex::new(vec![Figures::default(); cells.len()]);
    let work = || -> Result<(), String> {
        loop {
            let place = next.lock().expect("no holder panics").next();
            let Some(place) = place else { return Ok(()) };
            let figures = run(&cells[place]).map_err(|error| error.to_string())?;
            eprintln!("{}/{}: {}", place + 1, cells.len(), shown(&figures.gap));
            done.lock().expect("no holder panics")[place] = figures;
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    Ok(done.into_inner().expect("no holder panics"))
}

fn run(cell: &Checked) -> Result<Figures, Box<dyn Error>> {
    let result = experiment::run(cell)?;
    let last = |metric: Metric| -> Vec<f64> {
        let column = result.metrics.iter().position(|&other| other == metric);
        let value = |repeat: &RepeatResult| Some(repeat.rows.last()?.values[column?]);
        result.repeats.iter().filter_map(value).collect()
    };
    let per_cent = |values: Vec<f64>| values.into_iter().map(|value| 100.0 * value).collect();
    let reference =
        |of: fn(&RepeatResult) -> f64| per_cent(result.repeats.iter().map(of).collect());
    Ok(Figures {
        gap: last(Metric::ExcessRisk),
        fitness: last(Metric::RelativeFitness),
        accuracy: per_cent(last(Metric::TestAccuracy)),
        trivial: reference(|repeat| repeat.reference.trivial_test),
        central: reference(|repeat| repeat.reference.central_test),
    })
}

/// The mean of all seeds; infinite where one of them diverged or none was measured.
pub(crate) fn mean(values: &[f64]) -> f64 {
    Estimate::of(values).mean.unwrap_or(f64::INFINITY)
}

/// Mean with its 95 % interval.
pub(crate) fn shown(values: &[f64]) -> String {
    match Estimate::of(values) {
        Estimate { mean: Some(mean), low: Some(low), high: Some(high) } => {
            with_interval(mean, low, high)
        }
        Estimate { mean, .. } => mean.map_or("–".to_string(), figure),
    }
}
