//! Runs that belong together: the points of a sweep, the rows of a comparison.
//!
//! A study is written down before its first run begins, so that one that was stopped, however it
//! was stopped, is taken up where it was: a run is done when its directory says so, and every other
//! one is run, be it for the first time or again after it failed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Component, Path};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::directory::STUDY;
use crate::scenario::{Checked, Document, Problems, Scenario, SweepAxis, to_yaml};

/// Several runs, and what they are for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub purpose: Purpose,
    /// The figure that runs are to reach, and its value, as `metric=value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What to know of the runs together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The runs.
    pub points: Vec<StudyPoint>,
}

/// What a study is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Purpose {
    /// To see what these fields do.
    Sweep(Vec<SweepAxis>),
    /// To compare with the first.
    Comparison,
}

/// One run of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyPoint {
    /// What it is called.
    pub label: String,
    /// The name of its directory.
    pub directory: String,
    /// The values that it has of the swept fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<(String, Json)>,
    /// Its scenario, whose paths start from the study's directory.
    pub scenario: Scenario,
}

impl Study {
    /// As it stands in its file.
    pub fn to_yaml(&self) -> String {
        to_yaml(self)
    }

    /// Reads it back.
    ///
    /// # Errors
    /// A file that cannot be read, or is not a study.
    pub fn read(file: &Path) -> Result<Self, Problems> {
        let parsed = Document::read(file)?.parse::<Self>()?;
        let mut problems = Vec::new();
        for (number, point) in parsed.value.points.iter().enumerate() {
            let mut parts = Path::new(&point.directory).components();
            if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
                let field = format!("points.{number}.directory");
                problems.push(parsed.problem(&field, "expected the name of one directory"));
            }
        }
        if problems.is_empty() { Ok(parsed.value) } else { Err(Problems(problems)) }
    }
}

impl StudyPoint {
    /// Its scenario, ready to be run; `base` is the study's directory.
    ///
    /// # Errors
    /// Files that have changed since the study was made.
    pub fn checked(&self, base: &Path) -> Result<Checked, Problems> {
        let name = format!("{STUDY}, scenario of {}", self.label);
        Checked::from_text_in(&name, &to_yaml(&self.scenario), base)
    }
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PointOutcome {
    /// It is complete.
    Done,
    /// It failed; the next time it is run again.
    Failed(String),
    /// It was stopped; the next time it goes on.
    Interrupted,
}

/// Does `work` for every number below `count`, `jobs` at a time, in the order of numbers as they
/// become free. What ends in a panic has failed. Once `interrupt` is raised nothing new is begun.
pub fn side_by_side(
    count: usize,
    jobs: usize,
    interrupt: &AtomicBool,
    work: impl Fn(usize) -> PointOutcome + Sync,
) -> Vec<PointOutcome> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(vec![PointOutcome::Interrupted; count]);
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(count) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count || interrupt.load(Ordering::Relaxed) {
                        return;
                    }
                    let outcome = catch_unwind(AssertUnwindSafe(|| work(number)));
                    let outcome = outcome
                        .unwrap_or_else(|_| PointOutcome::Failed("the program panicked".into()));
                    // Nothing panics while the lock is held.
                    if let Ok(mut outcomes) = outcomes.lock() {
                        outcomes[number] = outcome;
                    }
                }
            });
        }
    });
    outcomes.into_inner().unwrap_or_default()
}

/// One number for all results of a study: SHA-256 over the fingerprints of its runs, in order.
pub fn study_fingerprint<'a>(fingerprints: impl Iterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    fingerprints.for_each(|fingerprint| hash.update(fingerprint.as_bytes()));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_done_once_whatever_panics_and_however_many_work() {
        for jobs in [1, 2, 7, 100] {
            let times: Vec<AtomicUsize> = (0..50).map(|_| AtomicUsize::new(0)).collect();
            let outcomes = side_by_side(50, jobs, &AtomicBool::new(false), |number| {
                times[number].fetch_add(1, Ordering::Relaxed);
                assert_ne!(number, 7, "a panic, on purpose");
                PointOutcome::Done
            });
            assert!(times.iter().all(|count| count.load(Ordering::Relaxed) == 1));
            assert!(matches!(outcomes[7], PointOutcome::Failed(_)));
            let done = outcomes.iter().filter(|outcome| **outcome == PointOutcome::Done);
            assert_eq!(done.count(), 49);
        }
    }

    #[test]
    fn a_study_whose_runs_would_lie_elsewhere_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("study.yaml");
        let scenario = "{name: a, seed: 1, topology: {ring: {peers: 3}}, data: {source: twonorm, samples: \
                        {total: 9}}, model: {loss: logistic, regularisation: 1}, protocol: {admm: {rounds: 1}}}";
        for (directory, fits) in
            [("a", true), ("../a", false), ("a/b", false), ("/a", false), ("", false)]
        {
            let text = format!(
                "name: s\npurpose: comparison\npoints:\n- label: a\n  directory: '{directory}'\n  scenario: {scenario}\n"
            );
            std::fs::write(&file, text).unwrap();
            let read = Study::read(&file);
            assert_eq!(read.is_ok(), fits, "{directory}: {read:?}");
        }
    }

    #[test]
    fn nothing_is_begun_after_an_interrupt() {
        let interrupt = AtomicBool::new(false);
        let outcomes = side_by_side(10, 1, &interrupt, |number| {
            interrupt.store(number == 3, Ordering::Relaxed);
            PointOutcome::Done
        });
        assert_eq!(outcomes[3], PointOutcome::Done);
        assert!(outcomes[4..].iter().all(|outcome| *outcome == PointOutcome::Interrupted));
    }
}
