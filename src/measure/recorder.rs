//! Rows of figures, in the order of rounds, and the decision to stop.

use serde::{Deserialize, Serialize};

use super::config::StopConfig;
use super::exact_sum::ExactSum;
use super::frames::Frames;
use super::metric::Metric;
use super::probe::{LocalFigures, Scorer};
use super::survey::{Greatest, Survey, Surveyor};
use super::thinning::Scored;
use crate::data::Partitioned;
use crate::learn::distance;
use crate::network::{Flow, Journey, Parting, Row, Surveyed, Totals};
use crate::privacy::{Bound, Exposure, Spent};
use crate::units::{Delta, Epsilon, PeerId, Round, SimTime};

/// Up to this many peers all pairs are compared.
const ALL_PAIRS: usize = 128;
/// At most so many peers' models are scored on all samples.
const SCORED_ON_ALL: usize = 1000;

/// The figures of one measured round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredRow {
    /// The round.
    pub round: Round,
    /// One value per metric, in the run's order; NaN where there is none.
    #[serde(with = "crate::measure::nan::any_numbers")]
    pub values: Vec<f64>,
}

/// Where a run left the finite numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Divergence {
    /// In which round it was seen.
    pub round: Round,
    /// At which peer first.
    pub peer: PeerId,
    /// The norm of its model.
    #[serde(with = "crate::measure::nan::any_number")]
    pub value: f64,
}

/// What rows are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// The optimum of the problem as the peers solve it, with (1/n) Σ_i J~_i there.
    pub optimum: Option<(&'a [f64], f64)>,
    /// The optimum of the unperturbed problem.
    pub clean: Option<&'a [f64]>,
    /// How ε is counted.
    pub privacy: Accounting,
    /// What scores the tasks' models together, and the mean over tasks of the objective at their
    /// optima (NaN where that is not known), where tokens are measured.
    pub tokens: Option<(&'a Scorer, f64)>,
    /// What scores models on all samples, and the objective at its optimum, where models are made by
    /// sums of all parties.
    pub sums: Option<(&'a Scorer, f64)>,
}

/// How ε is counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accounting {
    /// δ.
    pub delta: Delta,
    /// How often the most repeated record was dealt.
    pub copies: usize,
    /// Where releases are of batches: the greatest Σ over batches of (a record's copies there)².
    pub repetition: Option<f64>,
    /// The greatest ε of a randomised label; infinite where labels are not randomised.
    pub labels: Epsilon,
}

impl Accounting {
    /// ε of any record at peers exposed like this, against whoever sees their messages and no more.
    pub fn of_record(&self, exposure: &Exposure) -> Bound {
        self.of_copies(&exposure.record).bound(self.delta)
    }

    /// What releases of this cost cost a record that was dealt several times.
    fn of_copies(&self, spent: &Spent) -> Spent {
        match self.repetition {
            Some(factor) => spent.repeated(factor),
            None => spent.group(self.copies),
        }
    }

    /// ε of any label against the same: the user's own randomisation holds whatever peers release. A label moves a
    /// release no further than a whole record, so that its loss is never the greater one.
    pub fn of_label(&self, exposure: &Exposure) -> Epsilon {
        let by_releases = self.of_copies(&exposure.label).bound(self.delta).epsilon;
        by_releases.min(self.labels)
    }

    /// ε of any record against somebody who reads sums of several peers' parts and knows nobody's part
    /// of the noise.
    pub fn of_record_outside(&self, exposure: &Exposure) -> Bound {
        let [_, record] = exposure.outside();
        self.of_copies(record).bound(self.delta)
    }

    /// ε of any label against the same.
    pub fn of_label_outside(&self, exposure: &Exposure) -> Epsilon {
        let [label, _] = exposure.outside();
        self.of_copies(label).bound(self.delta).epsilon.min(self.labels)
    }

    /// ε of any record against all other peers together: none where one of them may have been dealt
    /// the very record.
    pub fn of_record_among_peers(&self, exposure: &Exposure) -> Epsilon {
        if self.copies > 1 { Epsilon::UNBOUNDED } else { self.of_record(exposure).epsilon }
    }

    /// ε of any label against the same: another holder of the record has the user's answer.
    pub fn of_label_among_peers(&self, exposure: &Exposure) -> Epsilon {
        if self.copies > 1 { self.labels } else { self.of_label(exposure) }
    }
}

/// Turns rows of states into rows of figures.
pub struct Recorder<'a> {
    metrics: &'a [Metric],
    train: &'a Partitioned,
    compare: Comparison<'a>,
    stop: StopConfig,
    timed: bool,
    scored: Scored,
    /// The rows so far.
    pub rows: Vec<MeasuredRow>,
    /// What each token had been through by each row; empty without tokens.
    pub journeys: Vec<Vec<Journey>>,
    /// What each peer looked like in some rounds, where that is wanted.
    pub frames: Option<Frames>,
    /// What is known of the last row.
    pub seen: Option<Surveyed<Survey>>,
    /// The states of the last row, where it was taken whole.
    pub last: Option<Row<LocalFigures>>,
    /// Set when a model was no longer finite; the run stops there.
    pub divergence: Option<Divergence>,
    /// Set when the stopping rule was met.
    pub tolerance_met: bool,
}

impl<'a> Recorder<'a> {
    /// A recorder for these metrics. `timed` says whether simulated time has a meaning.
    pub fn new(
        metrics: &'a [Metric],
        train: &'a Partitioned,
        compare: Comparison<'a>,
        stop: Option<StopConfig>,
        timed: bool,
    ) -> Self {
        Self {
            metrics,
            train,
            compare,
            stop: stop.unwrap_or_default(),
            timed,
            scored: Scored::all(train.peers()),
            rows: Vec::new(),
            journeys: Vec::new(),
            frames: None,
            seen: None,
            last: None,
            divergence: None,
            tolerance_met: false,
        }
    }

    /// The same recorder, which also keeps what each peer looked like.
    #[must_use]
    pub fn filming(self) -> Self {
        Self { frames: Some(Frames::default()), ..self }
    }

    /// The same recorder, for rows in which only these peers are scored on held-out samples.
    #[must_use]
    pub fn scoring(self, scored: Scored) -> Self {
        Self { scored, ..self }
    }

    /// Takes a complete row; says whether it is the last.
    pub fn record(&mut self, row: Row<LocalFigures>) -> Flow {
        // That of tokens is the optima of all tasks, one after the other.
        let of_peers = row.journeys.is_empty();
        let optimum = self.compare.optimum.filter(|_| of_peers).map(|(w, _)| w);
        let surveyor = Surveyor {
            train: self.train,
            scored: self.scored,
            aims: [optimum, self.compare.clean],
            pick: None,
        };
        let found = surveyor.of(&row);
        if let Some(frames) = &mut self.frames {
            frames.take(&row, &found.mean(), optimum);
        }
        if !of_peers {
            self.journeys.push(row.journeys.clone());
        }
        let Row { round, time, messages, bytes, .. } = row;
        self.last = Some(row);
        self.note(Surveyed { round, time, messages, bytes, found })
    }

    /// Takes what is known of a row that stays with its peers, on several ranks; says whether it is the
    /// last.
    pub fn record_survey(&mut self, seen: Surveyed<Survey>) -> Flow {
        self.last = None;
        self.note(seen)
    }

    /// Takes what is known of a row.
    fn note(&mut self, seen: Surveyed<Survey>) -> Flow {
        let Surveyed { round, ref found, .. } = seen;
        self.divergence = found.divergence.map(|(peer, value)| Divergence { round, peer, value });
        self.rows.push(MeasuredRow { round, values: self.values(&seen) });
        self.tolerance_met = self.divergence.is_none()
            && self.stop.has_tolerance()
            && self.stop.consensus_gap.is_none_or(|tolerance| found.gap.value() < tolerance)
            && self.stop.dual_residual.is_none_or(|tolerance| found.residual.value() < tolerance);
        self.seen = Some(seen);
        if self.divergence.is_some() || self.tolerance_met { Flow::Stop } else { Flow::Continue }
    }

    /// Corrects the last row to what had been sent when nobody could go on: peers far from one whose
    /// budget was spent have released more by then, each within its own.
    pub fn settle(&mut self, totals: Totals) {
        let Some(mut seen) = self.seen.take() else {
            return;
        };
        seen.messages = totals.messages;
        seen.bytes = totals.bytes;
        seen.found.exposure = Exposure::worst(&totals.exposures);
        if let Some(row) = &mut self.last {
            row.exposures = totals.exposures;
        }
        let values = self.values(&seen);
        if let Some(last) = self.rows.last_mut() {
            last.values = values;
        }
        self.seen = Some(seen);
    }

    /// Completes the last row of a run with tokens: with all transmissions, with what the ledger booked,
    /// and with the figures of the models that peers with samples kept for themselves.
    ///
    /// Before that, a row adds up what each token has told of the record that it has told most of:
    /// never less than the ledger would say, and sometimes more.
    ///
    /// `samples` says how many samples each peer has.
    pub fn conclude(
        &mut self,
        totals: &Totals,
        partings: &[Parting<LocalFigures>],
        samples: impl Iterator<Item = u32>,
    ) {
        let Some(last) = self.rows.last_mut() else {
            return;
        };
        let holders = partings.iter().zip(samples).filter(|(_, samples)| *samples > 0);
        let tests: Vec<f64> = holders.map(|(peer, _)| peer.local.test).collect();
        let (booked, privacy) = (Exposure::worst(&totals.exposures), self.compare.privacy);
        for (metric, value) in self.metrics.iter().zip(&mut last.values) {
            match metric {
                Metric::Messages => *value = totals.messages as f64,
                Metric::Bytes => *value = totals.bytes as f64,
                Metric::Epsilon => *value = privacy.of_record_among_peers(&booked).0,
                Metric::EpsilonLabels => *value = privacy.of_label_among_peers(&booked).0,
                Metric::LocalTestAccuracy => *value = mean(tests.iter().copied()),
                Metric::LocalTestAccuracyWorst => {
                    *value = -tests.iter().map(|test| -test).collect::<Greatest>().value();
                }
                _ => {}
            }
        }
    }

    fn values(&self, seen: &Surveyed<Survey>) -> Vec<f64> {
        let row = self.last.as_ref();
        let exposure = match (self.compare.tokens, row) {
            // Each token has its own worst record; together no record is worse off than this.
            (Some(_), Some(row)) => &Exposure::total(&row.exposures),
            _ => &seen.found.exposure,
        };
        let of_row = |&metric| row.and_then(|row| self.value_of_row(metric, row, &seen.found));
        let value = |metric| of_row(metric).unwrap_or_else(|| self.value(*metric, seen, exposure));
        self.metrics.iter().map(value).collect()
    }

    /// A figure that takes the states of a whole row; none for others.
    fn value_of_row(&self, metric: Metric, row: &Row<LocalFigures>, found: &Survey) -> Option<f64> {
        let n = row.residuals.len();
        let states = || row.scored.chunks_exact(row.dimension.max(1));
        let journeys =
            |count: &dyn Fn(&Journey) -> u64| row.journeys.iter().map(count).sum::<u64>() as f64;
        if let Some((scorer, least)) = self.compare.tokens {
            match metric {
                Metric::ExcessRisk => return Some(found.risk.value() / n as f64 - least),
                Metric::TrainAccuracy | Metric::TrainMse => {
                    return Some(scorer.models_on_train(&row.scored));
                }
                Metric::TestAccuracy | Metric::TestMse => {
                    return Some(scorer.models_on_test(&row.scored));
                }
                Metric::AverageTestAccuracy | Metric::AverageTestMse => {
                    return Some(scorer.models_on_test(&row.averages));
                }
                _ => {}
            }
        }
        match (metric, self.compare.sums) {
            (Metric::ExcessRisk | Metric::RelativeFitness, Some(_)) => {
                Some(self.excess(metric, states().step_by(every_scored_on_all(n))))
            }
            (Metric::GlobalShare, _) => {
                let updates = n as f64 * f64::from(row.round.0);
                Some(journeys(&|journey| journey.releases) / updates)
            }
            (Metric::Hops, _) => Some(journeys(&|journey| journey.hops)),
            (Metric::Forwards, _) => Some(journeys(&|journey| journey.forwards)),
            (Metric::PairwiseGap, _) if n <= ALL_PAIRS => {
                let pairs = states()
                    .enumerate()
                    .flat_map(|(i, a)| states().skip(i + 1).map(move |b| (a, b)));
                Some(pairs.map(|(a, b)| distance(a, b)).collect::<Greatest>().value())
            }
            _ => None,
        }
    }

    /// How far above the least these models are in the mean, on everybody's samples: as it is, or relative
    /// to the least.
    fn excess<'b>(&self, metric: Metric, models: impl ExactSizeIterator<Item = &'b [f64]>) -> f64 {
        let Some((scorer, least)) = self.compare.sums else { return f64::NAN };
        let excess = mean(of_each_once(models, |w| scorer.pooled_risk(w))) - least;
        if metric == Metric::ExcessRisk { excess } else { excess / least }
    }

    /// A figure that takes what is known of all peers together.
    fn value(&self, metric: Metric, seen: &Surveyed<Survey>, exposure: &Exposure) -> f64 {
        let found = &seen.found;
        let n = found.peers as f64;
        match metric {
            Metric::ExcessRisk | Metric::RelativeFitness if !found.picked.is_empty() => {
                self.excess(metric, found.picked())
            }
            // Known at the end alone, of whole rows alone, or of few peers alone.
            Metric::ExcessRisk
            | Metric::RelativeFitness
            | Metric::LocalTestAccuracy
            | Metric::LocalTestAccuracyWorst
            | Metric::GlobalShare
            | Metric::Hops
            | Metric::Forwards
            | Metric::PairwiseGap => f64::NAN,
            Metric::ConsensusGap => found.gap.value(),
            Metric::ConsensusGapMean => found.gaps.value() / n,
            Metric::NormGap => found.norm_gap(),
            Metric::DualResidual => found.residual.value(),
            Metric::OptimumDistance => found.far[0].value(),
            Metric::OptimumDistanceClean => found.far[1].value(),
            Metric::EmpiricalRisk => found.risk.value() / n,
            Metric::TrainAccuracy | Metric::TrainMse => {
                found.train.sum.value() / self.train.total_rows() as f64
            }
            Metric::TrainAccuracyWorst => found.train.worst(true),
            Metric::TrainMseWorst => found.train.worst(false),
            Metric::TestAccuracy | Metric::TestMse => found.test.sum.value() / self.tested(found),
            Metric::TestAccuracyWorst => found.test.worst(true),
            Metric::TestMseWorst => found.test.worst(false),
            Metric::AverageRisk => found.averages.risk.value() / n,
            Metric::AverageObjectiveGap => {
                let least = self.compare.optimum.map_or(f64::NAN, |(_, value)| value);
                found.averages.objective.value() / n - least
            }
            Metric::AverageDivergence => found.averages.divergence.value() / n,
            Metric::AverageTestAccuracy | Metric::AverageTestMse => {
                found.averages.test.value() / self.tested(found)
            }
            Metric::Epsilon => self.compare.privacy.of_record_among_peers(exposure).0,
            Metric::EpsilonLabels => self.compare.privacy.of_label_among_peers(exposure).0,
            Metric::EpsilonFinal => self.compare.privacy.of_record_outside(exposure).epsilon.0,
            Metric::Messages => seen.messages as f64,
            Metric::Bytes => seen.bytes as f64,
            Metric::SimSeconds if self.timed && seen.time < SimTime::NEVER => seen.time.seconds(),
            Metric::SimSeconds => f64::NAN,
        }
    }

    /// How many peers are scored on held-out samples.
    fn tested(&self, found: &Survey) -> f64 {
        self.scored.peers.min(found.peers) as f64
    }
}

/// Of every how many peers the model is scored on everybody's samples: some of many are enough for a mean,
/// and each takes a pass over all samples.
pub(super) fn every_scored_on_all(peers: usize) -> usize {
    peers.div_ceil(SCORED_ON_ALL).max(1)
}

/// A figure of each state; found once for states that are the same as the one before.
fn of_each_once<'a>(
    states: impl ExactSizeIterator<Item = &'a [f64]>,
    figure: impl Fn(&[f64]) -> f64,
) -> impl ExactSizeIterator<Item = f64> {
    let mut last: Option<(&[f64], f64)> = None;
    states.map(move |w| match last {
        Some((same, value)) if same == w => value,
        _ => {
            let value = figure(w);
            last = Some((w, value));
            value
        }
    })
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.collect::<ExactSum>().value() / count
}
