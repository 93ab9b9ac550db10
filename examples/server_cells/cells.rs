//! Cells of a study: scenarios of learners around a server, as many run at a time as there are cores.

use std::error::Error;
use std::sync::Mutex;

use hushmesh::experiment::{self, RepeatResult};
use hushmesh::measure::{Estimate, Metric};
use hushmesh::report::{figure, with_interval};
use hushmesh::scenario::Checked;

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

/// Does all jobs, by number, as many at a time as there are cores, and gives what they gave in order.
/// Says how far it is on standard error.
///
/// # Errors
/// The first failure.
pub(crate) fn in_parallel<T: Send>(
    jobs: usize,
    job: impl Fn(usize) -> Result<T, Box<dyn Error>> + Sync,
) -> Result<Vec<T>, Box<dyn Error>> {
    let next = Mutex::new(0..jobs);
    let done = Mutex::new(Vec::with_capacity(jobs));
    let work = || -> Result<(), String> {
        loop {
            let place = next.lock().expect("no holder panics").next();
            let Some(place) = place else { return Ok(()) };
            let given = job(place).map_err(|error| error.to_string())?;
            let mut done = done.lock().expect("no holder panics");
            done.push((place, given));
            eprint!("\r{} of {jobs}", done.len());
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    eprintln!();
    let mut done = done.into_inner().expect("no holder panics");
    done.sort_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, given)| given).collect())
}

/// Runs all cells and gives in order what a figure was at the end of every seed.
///
/// # Errors
/// The first failure.
pub(crate) fn run_all(cells: &[Checked], of: Metric) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    in_parallel(cells.len(), |place| {
        let result = experiment::run(&cells[place])?;
        let column = result.metrics.iter().position(|&metric| metric == of);
        let column = column.ok_or("the optimum was not found")?;
        let last = |repeat: &RepeatResult| Some(repeat.rows.last()?.values[column]);
        Ok(result.repeats.iter().filter_map(last).collect())
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
