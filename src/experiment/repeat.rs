//! What one repeat gave.

use serde::{Deserialize, Serialize};

use crate::learn::axpy;
use crate::measure::{Divergence, LocalFigures, MeasuredRow, Reference};
use crate::privacy::{Exposure, LabelSummary};

/// Why a repeat ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// All rounds were run.
    Rounds,
    /// The stopping rule was met.
    Tolerance,
    /// A model was no longer finite.
    Diverged,
    /// A peer's privacy budget bore no further release.
    Budget,
    /// Somebody asked it to end.
    Interrupted,
}

impl StopReason {
    /// The word for it in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rounds => "rounds",
            Self::Tolerance => "tolerance",
            Self::Diverged => "diverged",
            Self::Budget => "budget",
            Self::Interrupted => "interrupted",
        }
    }
}

/// One repeat, from its first measured round to its last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatResult {
    /// Its number, from 0.
    pub repeat: u32,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// The measured rounds.
    pub rows: Vec<MeasuredRow>,
    /// What the releases up to the last row tell about any one record: the most of all peers.
    pub exposure: Exposure,
    /// ε of a record at each peer, against all other peers together.
    #[serde(with = "crate::measure::nan::any_numbers")]
    pub epsilons: Vec<f64>,
    /// How labels were randomised, where they were.
    pub labels: Option<LabelSummary>,
    /// How often the most repeated training sample was dealt: 1 where none repeats. What is released
    /// of a record is released that often.
    pub multiplicity: usize,
    /// Each peer's figures at the end.
    pub locals: Vec<LocalFigures>,
    /// Each peer's number of neighbours.
    pub degrees: Vec<u32>,
    /// Each peer's number of training samples.
    pub samples: Vec<u32>,
    /// Length of one peer's model.
    pub dimension: usize,
    /// The peers' models at the end, one after the other. Kept in a file of its own.
    #[serde(skip)]
    pub states: Vec<f64>,
    /// The optimum of the problem as the peers solved it, if it was asked for.
    pub optimum: Option<Vec<f64>>,
    /// The optimum of the unperturbed problem, where that is another one.
    pub clean_optimum: Option<Vec<f64>>,
    /// Other models to compare with.
    pub reference: Reference,
    /// The linear rate that the run showed.
    pub measured_rate: Option<f64>,
    /// Where it diverged, if it did.
    pub divergence: Option<Divergence>,
}

impl RepeatResult {
    /// The peers' final models, in peer order.
    pub fn models(&self) -> impl Iterator<Item = &[f64]> {
        self.states.chunks_exact(self.dimension.max(1))
    }

    /// The mean of the peers' final models.
    pub fn mean_state(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.dimension];
        self.models().for_each(|w| axpy(1.0, w, &mut mean));
        let n = self.degrees.len() as f64;
        mean.iter_mut().for_each(|c| *c /= n);
        mean
    }
}
