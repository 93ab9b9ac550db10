//! Runs that belong together: the points of a sweep, the rows of a comparison.
//!
//! A study is written down before its first run begins, so that one that was stopped, however it
//! was stopped, is taken up where it was: a run is done when its directory says so, and every other
//! one is run, be it for the first time or again after it failed.

mod helpers;
mod side_by_side;

use std::path::{Component, Path};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

pub use self::helpers::{Called, Helpers, called};
pub use self::side_by_side::{Hands, News, PointOutcome, side_by_side};
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
        Self::of(&Document::read(file)?)
    }

    /// The study of a text; `name` stands for the file in messages.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn from_text(name: &str, text: &str) -> Result<Self, Problems> {
        Self::of(&Document::from_text(name, text)?)
    }

    fn of(document: &Document) -> Result<Self, Problems> {
        let parsed = document.parse::<Self>()?;
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
}
