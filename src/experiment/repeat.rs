//! What one repeat gave, and several at a time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crossbeam_channel::Sender;
use serde::{Deserialize, Serialize};

use super::assembly::Assembly;
use super::directory::DirectoryError;
use super::each_peer::EachPeer;
use super::filed::Filed;
use super::run::Progress;
use crate::learn::axpy;
use crate::measure::{Divergence, Frames, LocalFigures, MeasuredRow, Reference, Thinning};
use crate::network::{Journey, Parting};
use crate::privacy::{Exposure, LabelSummary, Spent};
use crate::scenario::Scenario;
use crate::units::Round;

/// Runs these repeats, `jobs` at a time, and tells of them on the calling thread: their results, in
/// their order, up to the first failure. Once `interrupt` is raised none is begun any more.
pub(super) fn all<T: Send, E: Send>(
    repeats: &[u32],
    jobs: usize,
    interrupt: &AtomicBool,
    one: impl Fn(u32, &mut dyn FnMut(Progress)) -> Result<T, E> + Sync,
    progress: &mut dyn FnMut(Progress),
) -> Vec<Result<T, E>> {
    if jobs <= 1 {
        let mut results = Vec::new();
        for &repeat in repeats {
            if interrupt.load(Ordering::Relaxed) || results.last().is_some_and(Result::is_err) {
                break;
            }
            results.push(one(repeat, progress));
        }
        return results;
    }
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (told, heard) = crossbeam_channel::bounded(64);
    let work = |told: Sender<Progress>| {
        let mut results = Vec::new();
        loop {
            let over = [interrupt, &failed].iter().any(|flag| flag.load(Ordering::Relaxed));
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(&repeat) = repeats.get(place).filter(|_| !over) else { return results };
            let result = one(repeat, &mut |progress| {
                let _ = told.send(progress);
            });
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            results.push((place, result));
        }
    };
    let mut results = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs)
            .map(|_| {
                let (work, told) = (&work, told.clone());
                scope.spawn(move || work(told))
            })
            .collect();
        drop(told);
        // All of them together are as far as this.
        let first = repeats.first().copied().unwrap_or_default();
        let mut rounds = BTreeMap::new();
        for at in heard {
            rounds.insert(at.repeat, at.round.0);
            let last = u64::from(at.last.0.max(1));
            let sum: u64 = rounds.values().map(|&round| u64::from(round)).sum();
            let (repeat, round) = (sum.saturating_sub(1) / last, sum.saturating_sub(1) % last + 1);
            progress(Progress { repeat: first + repeat as u32, round: Round(round as u32), ..at });
        }
        let ended = workers.into_iter().map(|worker| worker.join());
        ended
            .flat_map(|results| results.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Vec<_>>()
    });
    results.sort_by_key(|&(place, _)| place);
    let done = (0..).zip(&results).take_while(|(k, (place, _))| k == place).count();
    results.truncate(done);
    results.into_iter().map(|(_, result)| result).collect()
}

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

/// The most peers that are listed one by one.
const LISTED_PEERS: usize = 100_000;

/// Every how many of so many peers one is listed: each up to 100,000, beyond as many as keep it below.
pub fn listed_every(peers: usize) -> usize {
    peers.div_ceil(LISTED_PEERS).max(1)
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
    pub epsilons: EachPeer<f64>,
    /// How labels were randomised, where they were.
    pub labels: Option<LabelSummary>,
    /// How often peers were measured, and who of them on held-out samples; none of tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinning: Option<Thinning>,
    /// How often the most repeated training sample was dealt: 1 where none repeats. What is released
    /// of a record is released that often.
    pub multiplicity: usize,
    /// Each peer's figures at the end; of many peers, those of every [so many](listed_every).
    #[serde(with = "crate::measure::columns")]
    pub locals: Vec<LocalFigures>,
    /// Each peer's number of neighbours.
    pub degrees: EachPeer<u32>,
    /// Each peer's number of training samples.
    pub samples: EachPeer<u32>,
    /// Length of one peer's model.
    pub dimension: usize,
    /// The peers' models at the end, one after the other. Kept in a file of its own.
    /// Empty where they are there alone.
    #[serde(skip)]
    pub states: Vec<f64>,
    /// The file with the peers' models, where there are too many to keep them in memory.
    #[serde(skip)]
    pub filed: Option<Filed>,
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
    /// With how many parties' noise a neighbour is left, of each peer; nothing without masks. A kept repeat
    /// that does not say so is of another build.
    #[serde(deserialize_with = "Option::deserialize")]
    pub left: Option<EachPeer<u32>>,
}

/// What there is to say of sums, as far as it is known of some parties.
pub(super) struct SumsSoFar(SumResult);

impl SumsSoFar {
    /// Of nobody yet, where the noise in sums hides more from some than from others.
    pub(super) fn of(scenario: &Scenario, assembly: &Assembly) -> Option<Self> {
        if !scenario.protocol.hides_more_from_readers() {
            return None;
        }
        Some(Self(SumResult {
            wires_tell_nothing: assembly.masks.is_some(),
            neighbour: [Spent::default(), Spent::default()],
            left: assembly.left.clone(),
        }))
    }

    /// Takes what the parties from this one on have told.
    pub(super) fn take(&mut self, first: usize, exposures: &[Exposure]) {
        let SumResult { neighbour: [label, record], left, .. } = &mut self.0;
        for (party, exposure) in (first..).zip(exposures) {
            // Those that its masks do not tell apart.
            let parties = left.as_ref().and_then(|left| left.get(party)).unwrap_or(1);
            let part = 1.0 / f64::from(parties);
            label.raise(&exposure.label.repeated(part));
            record.raise(&exposure.record.repeated(part));
        }
    }

    /// What there is to say of all.
    pub(super) fn result(self) -> SumResult {
        self.0
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
    /// The peers' final models, in peer order; nothing where they are in a file.
    pub fn models(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.states.chunks_exact(self.dimension.max(1))
    }

    /// How many numbers the peers' final models are.
    pub fn numbers(&self) -> usize {
        self.filed.as_ref().map_or(self.states.len(), Filed::numbers)
    }

    /// Hands over every number of the peers' final models, in peer order, many at a time: a whole number of
    /// models each time.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn each_states(&self, mut take: impl FnMut(&[f64])) -> Result<(), DirectoryError> {
        match &self.filed {
            Some(filed) => filed.read(self.dimension, take),
            None => {
                take(&self.states);
                Ok(())
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_run_in_whatever_number_at_a_time_until_one_fails() {
        let idle = AtomicBool::new(false);
        for jobs in [1, 2, 5, 40] {
            let mut seen = Vec::new();
            let one = |repeat: u32, progress: &mut dyn FnMut(Progress)| {
                for round in 1..=10 {
                    progress(Progress { repeat, round: Round(round), last: Round(10), gap: None });
                }
                if repeat == 9 { Err(repeat) } else { Ok(2 * repeat) }
            };
            let told = |at: Progress| seen.push(10 * at.repeat + at.round.0);
            let results = all(&[3, 4, 6], jobs, &idle, one, &mut { told });
            assert_eq!(results, [Ok(6), Ok(8), Ok(12)]);
            assert!(seen.is_sorted() || jobs == 1, "progress goes forward: {seen:?}");
            let results = all(&[3, 9, 10, 11, 12, 13], jobs, &idle, one, &mut |_| {});
            assert_eq!(results[..2], [Ok(6), Err(9)], "the first failure is not lost");
            let over = AtomicBool::new(true);
            assert!(all(&[3, 4], jobs, &over, one, &mut |_| {}).is_empty());
        }
    }
}
