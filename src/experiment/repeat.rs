//! What one repeat gave.

use serde::{Deserialize, Serialize};

use super::assembly::Assembly;
use super::statement::left_with;
use crate::learn::axpy;
use crate::measure::{Divergence, Frames, LocalFigures, MeasuredRow, Reference, Thinning};
use crate::network::{Journey, Parting};
use crate::privacy::{Exposure, LabelSummary, Spent};
use crate::scenario::Scenario;

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
    /// How often peers were measured, and who of them on held-out samples; none of tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinning: Option<Thinning>,
    /// How often the most repeated training sample was dealt: 1 where none repeats. What is released
    /// of a record is released that often.
    pub multiplicity: usize,
    /// Each peer's figures at the end.
    #[serde(with = "crate::measure::columns")]
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
    /// What there is to say of tokens, where there were any. Models are then the tasks', not the
    /// peers', and figures of peers are those of the models that they kept for themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenResult>,
    /// What there is to say of sums, where their noise hides more from some than from others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sums: Option<SumResult>,
    /// What each peer looked like in some rounds: of the first repeat, without tokens, and with at
    /// most [`FILMED_PEERS`](crate::measure::FILMED_PEERS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<Frames>,
}

/// Who sees what of sums.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SumResult {
    /// Whether wires show no more than readers of the sums see.
    pub wires_tell_nothing: bool,
    /// What one neighbour learns of any one record, of its label and of all of it.
    pub neighbour: [Spent; 2],
}

impl SumResult {
    /// Of parties exposed like this, where the noise in their sums hides more from some than from others.
    pub(super) fn of(
        scenario: &Scenario,
        assembly: &Assembly,
        exposures: &[Exposure],
    ) -> Option<Self> {
        if !scenario.protocol.hides_more_from_readers() {
            return None;
        }
        let topology = &assembly.topology;
        let samples: Vec<u32> =
            topology.ids().map(|peer| assembly.seen.rows(peer) as u32).collect();
        // A neighbour is left with the noise of the parties that its masks do not tell apart.
        let left = assembly
            .masks
            .as_ref()
            .map_or_else(|| vec![1; samples.len()], |graph| left_with(graph, topology, &samples));
        let mut neighbour = [Spent::default(), Spent::default()];
        for (exposure, parties) in exposures.iter().zip(left) {
            let part = 1.0 / f64::from(parties);
            neighbour[0].raise(&exposure.label.repeated(part));
            neighbour[1].raise(&exposure.record.repeated(part));
        }
        Some(Self { wires_tell_nothing: assembly.masks.is_some(), neighbour })
    }
}

/// The tokens of a repeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenResult {
    /// The names of the classes, a task each; empty where there is one task.
    pub classes: Vec<String>,
    /// How many tasks there were.
    pub tasks: u32,
    /// The greatest Σ over batches of (a record's copies there)²: 1 where no record repeats.
    pub repetition: f64,
    /// What each token had been through, by measured round.
    pub rows: Vec<Vec<Journey>>,
    /// What each peer has done; empty if the repeat was cut short.
    pub work: Vec<PeerWork>,
}

impl TokenResult {
    /// What a task is called: its class, or its number.
    pub fn name(&self, task: usize) -> String {
        self.classes.get(task).cloned().unwrap_or_else(|| task.to_string())
    }
}

/// What a peer has done for tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerWork {
    /// Times it trained.
    pub updates: u64,
    /// Those of a token's model.
    pub releases: u64,
    /// Tokens that it passed on as they were.
    pub forwards: u64,
}

impl PeerWork {
    pub(super) fn of<L>(parting: &Parting<L>) -> Self {
        let Parting { updates, releases, forwards, .. } = *parting;
        Self { updates, releases, forwards }
    }
}

impl RepeatResult {
    /// The peers' final models, in peer order.
    pub fn models(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.states.chunks_exact(self.dimension.max(1))
    }

    /// The mean of the peers' final models.
    pub fn mean_state(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.dimension];
        self.models().for_each(|w| axpy(1.0, w, &mut mean));
        let n = self.models().len() as f64;
        mean.iter_mut().for_each(|c| *c /= n);
        mean
    }
}
