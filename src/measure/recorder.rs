//! Rows of figures, in the order of rounds, and the decision to stop.

use serde::{Deserialize, Serialize};

use super::config::StopConfig;
use super::frames::Frames;
use super::metric::Metric;
use super::probe::{LocalFigures, Scorer};
use super::thinning::Scored;
use crate::data::Partitioned;
use crate::learn::{axpy, distance, norm};
use crate::network::{Flow, Journey, Parting, Row, Totals};
use crate::privacy::{Bound, Exposure, Spent};
use crate::units::{Delta, Epsilon, PeerId, Round, SimTime};

/// Sums over peers run over blocks of this many, in order: the same bits for every shard layout.
const BLOCK: usize = 1024;
/// Up to this many peers all pairs are compared.
const ALL_PAIRS: usize = 128;
/// At most so many peers' models are scored on all samples.
const SCORED_ON_ALL: usize = 1000;
/// A model of this norm has left every reasonable problem behind.
const DIVERGED: f64 = 1e100;

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
    /// The states of the last row.
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
        self.divergence = first_divergence(&row);
        let spread = Spread::of(&row);
        let values = self.values(&row, &spread);
        self.rows.push(MeasuredRow { round: row.round, values });
        if let Some(frames) = &mut self.frames {
            frames.take(&row, &spread.center, self.compare.optimum.map(|(w, _)| w));
        }
        if !row.journeys.is_empty() {
            self.journeys.push(row.journeys.clone());
        }
        self.tolerance_met = self.divergence.is_none()
            && self.stop.has_tolerance()
            && self.stop.consensus_gap.is_none_or(|tolerance| spread.gap < tolerance)
            && self
                .stop
                .dual_residual
                .is_none_or(|tolerance| greatest(row.residuals.iter().copied()) < tolerance);
        self.last = Some(row);
        if self.divergence.is_some() || self.tolerance_met { Flow::Stop } else { Flow::Continue }
    }

    /// Corrects the last row to what had been sent when nobody could go on: peers far from one whose
    /// budget was spent have released more by then, each within its own.
    pub fn settle(&mut self, totals: Totals) {
        let Some(mut row) = self.last.take() else {
            return;
        };
        row.messages = totals.messages;
        row.bytes = totals.bytes;
        row.exposures = totals.exposures;
        let values = self.values(&row, &Spread::of(&row));
        if let Some(last) = self.rows.last_mut() {
            last.values = values;
        }
        self.last = Some(row);
    }

    /// Completes the last row of a run with tokens: with all transmissions, with what the ledger booked,
    /// and with the figures of the models that peers with samples kept for themselves.
    ///
    /// Before that, a row adds up what each token has told of the record that it has told most of:
    /// never less than the ledger would say, and sometimes more.
    pub fn conclude(&mut self, totals: &Totals, partings: &[Parting<LocalFigures>]) {
        let Some(last) = self.rows.last_mut() else {
            return;
        };
        let holders = partings.iter().zip(self.train.ids());
        let holders = holders.filter(|(_, peer)| self.train.rows(*peer) > 0);
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
                    *value = -greatest(tests.iter().map(|test| -test));
                }
                _ => {}
            }
        }
    }

    fn values(&self, row: &Row<LocalFigures>, spread: &Spread) -> Vec<f64> {
        let exposure = match self.compare.tokens {
            // Each token has its own worst record; together no record is worse off than this.
            Some(_) => Exposure::total(&row.exposures),
            None => Exposure::worst(&row.exposures),
        };
        let value = |&metric| self.value(metric, row, spread, &exposure);
        self.metrics.iter().map(value).collect()
    }

    fn value(
        &self,
        metric: Metric,
        row: &Row<LocalFigures>,
        spread: &Spread,
        exposure: &Exposure,
    ) -> f64 {
        let n = row.residuals.len();
        let states = || row.scored.chunks_exact(row.dimension.max(1));
        let farthest = |from: Option<&[f64]>| {
            from.map_or(f64::NAN, |optimum| greatest(states().map(|w| distance(w, optimum))))
        };
        let journeys =
            |count: &dyn Fn(&Journey) -> u64| row.journeys.iter().map(count).sum::<u64>() as f64;
        if let Some((scorer, least)) = self.compare.tokens {
            match metric {
                Metric::ExcessRisk => return mean(row.locals.iter().map(|l| l.risk)) - least,
                Metric::TrainAccuracy | Metric::TrainMse => {
                    return scorer.models_on_train(&row.scored);
                }
                Metric::TestAccuracy | Metric::TestMse => {
                    return scorer.models_on_test(&row.scored);
                }
                Metric::AverageTestAccuracy | Metric::AverageTestMse => {
                    return scorer.models_on_test(&row.averages);
                }
                _ => {}
            }
        }
        if let (Metric::ExcessRisk | Metric::RelativeFitness, Some((scorer, least))) =
            (metric, self.compare.sums)
        {
            // Some of many peers are enough for a mean, and each takes a pass over all samples.
            let some = states().step_by(n.div_ceil(SCORED_ON_ALL));
            let excess = mean(of_each_once(some, |w| scorer.pooled_risk(w))) - least;
            return if metric == Metric::ExcessRisk { excess } else { excess / least };
        }
        match metric {
            // Known at the end alone.
            Metric::ExcessRisk
            | Metric::RelativeFitness
            | Metric::LocalTestAccuracy
            | Metric::LocalTestAccuracyWorst => f64::NAN,
            Metric::GlobalShare => {
                journeys(&|journey| journey.releases) / (n as f64 * f64::from(row.round.0))
            }
            Metric::Hops => journeys(&|journey| journey.hops),
            Metric::Forwards => journeys(&|journey| journey.forwards),
            Metric::ConsensusGap => spread.gap,
            Metric::ConsensusGapMean => spread.gap_mean,
            Metric::PairwiseGap if n > ALL_PAIRS => f64::NAN,
            Metric::PairwiseGap => {
                let pairs = states()
                    .enumerate()
                    .flat_map(|(i, a)| states().skip(i + 1).map(move |b| (a, b)));
                greatest(pairs.map(|(a, b)| distance(a, b)))
            }
            Metric::NormGap => spread.norm_high - spread.norm_low,
            Metric::DualResidual => greatest(row.residuals.iter().copied()),
            Metric::OptimumDistance => farthest(self.compare.optimum.map(|(w, _)| w)),
            Metric::OptimumDistanceClean => farthest(self.compare.clean),
            Metric::EmpiricalRisk => mean(row.locals.iter().map(|l| l.risk)),
            Metric::TrainAccuracy | Metric::TrainMse => {
                let weight = |i| self.train.rows(PeerId::new(i)) as f64;
                let scores = row.locals.iter().enumerate().filter(|(i, _)| weight(*i) > 0.0);
                let total = self.train.total_rows() as f64;
                blocks(scores.map(|(i, l)| weight(i) * l.train)) / total
            }
            Metric::TrainAccuracyWorst => -greatest(self.trained(row).map(|score| -score)),
            Metric::TrainMseWorst => greatest(self.trained(row)),
            Metric::TestAccuracy | Metric::TestMse => self.mean_tested(row, |l| l.test),
            Metric::TestAccuracyWorst => -greatest(self.tested(row).map(|l| -l.test)),
            Metric::TestMseWorst => greatest(self.tested(row).map(|l| l.test)),
            Metric::AverageRisk => mean(row.locals.iter().map(|l| l.average_risk)),
            Metric::AverageObjectiveGap => {
                let least = self.compare.optimum.map_or(f64::NAN, |(_, value)| value);
                mean(row.locals.iter().map(|l| l.average_objective)) - least
            }
            Metric::AverageDivergence => mean(row.locals.iter().map(|l| l.average_divergence)),
            Metric::AverageTestAccuracy | Metric::AverageTestMse => {
                self.mean_tested(row, |l| l.average_test)
            }
            Metric::Epsilon => self.compare.privacy.of_record_among_peers(exposure).0,
            Metric::EpsilonLabels => self.compare.privacy.of_label_among_peers(exposure).0,
            Metric::EpsilonFinal => self.compare.privacy.of_record_outside(exposure).epsilon.0,
            Metric::Messages => row.messages as f64,
            Metric::Bytes => row.bytes as f64,
            Metric::SimSeconds if self.timed && row.time < SimTime::NEVER => row.time.seconds(),
            Metric::SimSeconds => f64::NAN,
        }
    }
}

impl Recorder<'_> {
    /// The figures of the peers that are scored on held-out samples.
    fn tested<'b>(&self, row: &'b Row<LocalFigures>) -> impl Iterator<Item = &'b LocalFigures> {
        let scored = self.scored;
        let locals = row.locals.iter().enumerate();
        locals.filter(move |(i, _)| scored.has(PeerId::new(*i))).map(|(_, local)| local)
    }

    /// The mean of a figure over the same.
    fn mean_tested(&self, row: &Row<LocalFigures>, of: impl Fn(&LocalFigures) -> f64) -> f64 {
        blocks(self.tested(row).map(of)) / self.scored.peers.min(row.locals.len()) as f64
    }

    /// The training scores of the peers that have samples.
    fn trained(&self, row: &Row<LocalFigures>) -> impl Iterator<Item = f64> {
        let locals = row.locals.iter().enumerate();
        locals.filter(|(i, _)| self.train.rows(PeerId::new(*i)) > 0).map(|(_, local)| local.train)
    }
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

/// How far apart the states are.
struct Spread {
    /// The mean of the states.
    center: Vec<f64>,
    gap: f64,
    gap_mean: f64,
    norm_low: f64,
    norm_high: f64,
}

impl Spread {
    fn of<L>(row: &Row<L>) -> Self {
        let (n, d) = (row.residuals.len(), row.dimension);
        let mut center = vec![0.0; d];
        let mut block = vec![0.0; d];
        for states in row.scored.chunks(BLOCK * d.max(1)) {
            block.fill(0.0);
            states.chunks_exact(d).for_each(|w| axpy(1.0, w, &mut block));
            axpy(1.0, &block, &mut center);
        }
        center.iter_mut().for_each(|c| *c /= n as f64);
        let states = || row.scored.chunks_exact(d.max(1));
        let distances = || states().map(|w| distance(w, &center));
        let norms = || states().map(norm);
        Self {
            gap: greatest(distances()),
            gap_mean: mean(distances()),
            norm_low: -greatest(norms().map(|norm| -norm)),
            norm_high: greatest(norms()),
            center,
        }
    }
}

fn first_divergence<L>(row: &Row<L>) -> Option<Divergence> {
    let norms = row.scored.chunks_exact(row.dimension.max(1)).map(norm);
    norms
        .enumerate()
        .find(|&(_, norm)| norm.is_nan() || norm > DIVERGED)
        .map(|(i, value)| Divergence { round: row.round, peer: PeerId::new(i), value })
}

/// The greatest value. Unlike `f64::max` it does not look away from a NaN; NaN for no value.
fn greatest(values: impl Iterator<Item = f64>) -> f64 {
    let greater = |a: f64, b: f64| if b.is_nan() || b > a { b } else { a };
    values.reduce(|a, b| if a.is_nan() { a } else { greater(a, b) }).unwrap_or(f64::NAN)
}

/// A sum in blocks, in order.
fn blocks(values: impl Iterator<Item = f64>) -> f64 {
    let (mut total, mut block) = (0.0, 0.0);
    for (i, value) in values.enumerate() {
        block += value;
        if (i + 1) % BLOCK == 0 {
            total += block;
            block = 0.0;
        }
    }
    total + block
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    blocks(values) / count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(states: &[[f64; 2]]) -> Row<LocalFigures> {
        Row {
            round: Round(3),
            time: SimTime(5),
            messages: 7,
            bytes: 70,
            exposures: vec![Exposure::default(); states.len()],
            dimension: 2,
            scored: states.concat(),
            residuals: vec![0.5; states.len()],
            locals: vec![LocalFigures::default(); states.len()],
            averages: Vec::new(),
            journeys: Vec::new(),
        }
    }

    #[test]
    fn gaps_of_a_triangle() {
        let spread = Spread::of(&row(&[[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]]));
        assert_eq!(spread.gap, 5.0_f64.sqrt());
        let mean = (2.0_f64.sqrt() + 2.0 * 5.0_f64.sqrt()) / 3.0;
        assert!((spread.gap_mean - mean).abs() < 1e-15);
        assert_eq!((spread.norm_low, spread.norm_high), (0.0, 3.0));
    }

    #[test]
    fn the_greatest_does_not_look_away_from_a_nan() {
        assert_eq!(greatest([-3.0, -1.0, -2.0].into_iter()), -1.0);
        for values in [[f64::NAN, 1.0], [1.0, f64::NAN]] {
            assert!(greatest(values.into_iter()).is_nan());
        }
        let spread = Spread::of(&row(&[[0.0, 0.0], [f64::NAN, 0.0]]));
        assert!(spread.gap.is_nan() && spread.norm_high.is_nan() && spread.norm_low.is_nan());
    }

    #[test]
    fn a_model_that_is_not_finite_names_its_peer() {
        let seen = first_divergence(&row(&[[0.0, 1.0], [f64::INFINITY, 0.0]])).unwrap();
        assert_eq!((seen.round, seen.peer, seen.value), (Round(3), PeerId(1), f64::INFINITY));
        assert!(first_divergence(&row(&[[0.0, f64::NAN]])).unwrap().value.is_nan());
        assert_eq!(first_divergence(&row(&[[0.0, 1.0]])), None);
    }
}
