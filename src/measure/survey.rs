//! Figures of many peers together, found where the peers are.

use super::exact_sum::ExactSum;
use super::probe::LocalFigures;
use super::thinning::Scored;
use crate::data::Partitioned;
use crate::learn::{distance, norm};
use crate::network::{Found, Row};
use crate::privacy::{Exposure, Pack, WireError, pack_fields};
use crate::units::PeerId;

/// A model of this norm has left every reasonable problem behind.
const DIVERGED: f64 = 1e100;

/// What is known of some peers in a round: of those of a worker, of a rank or, where it is all joined, of
/// all. Sums are exact and the rest is of greatest and least values, so that nothing depends on who was
/// joined with whom first.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// How many peers.
    pub peers: usize,
    /// Σ w_i.
    states: Vec<ExactSum>,
    /// The greatest |w_i|, and the greatest −|w_i|.
    norms: [Greatest; 2],
    /// The first peer whose model is not finite, and its norm.
    pub(super) divergence: Option<(PeerId, f64)>,
    /// The greatest residual of a peer.
    pub(super) residual: Greatest,
    /// The greatest |w_i − w*|, and that to the optimum of the unperturbed problem.
    pub(super) far: [Greatest; 2],
    /// What releases tell of any record: the most of all peers.
    pub exposure: Exposure,
    /// The models of those that are scored on everybody's samples, where rank 0 does that, in the order of
    /// peers.
    pub(super) picked: Vec<(PeerId, Vec<f64>)>,
    /// Σ J_i(w_i).
    pub(super) risk: ExactSum,
    /// Σ over samples, of the scores of their own peer; of those with samples, the greatest and the least.
    pub(super) train: Scores,
    /// Σ over the peers that are scored on held-out samples.
    pub(super) test: Scores,
    /// Σ of the figures of running averages: J_i, J~_i, J~_i above its tangent, and held-out scores.
    pub(super) averages: Averages,
    /// The greatest |w_i − w̄|, and their sum: found in a second look, when w̄ is known.
    pub(super) gap: Greatest,
    pub(super) gaps: ExactSum,
}

pack_fields!(Survey {
    peers,
    states,
    norms,
    divergence,
    residual,
    far,
    exposure,
    picked,
    risk,
    train,
    test,
    averages,
    gap,
    gaps,
});

/// The sum of a score, and its extremes.
#[derive(Clone, Debug, Default)]
pub(super) struct Scores {
    pub(super) sum: ExactSum,
    high: Greatest,
    low: Greatest,
}

pack_fields!(Scores { sum, high, low });

impl Scores {
    /// Adds a score that counts so often.
    fn take(&mut self, score: f64, weight: f64) {
        self.sum.add(weight * score);
        self.high.take(score);
        self.low.take(-score);
    }

    /// The greatest, or the least where more is `better`.
    pub(super) fn worst(&self, better: bool) -> f64 {
        if better { -self.low.value() } else { self.high.value() }
    }

    fn join(&mut self, other: &Self) {
        self.sum.join(&other.sum);
        self.high.join(other.high);
        self.low.join(other.low);
    }
}

/// Sums of figures of running averages.
#[derive(Clone, Debug, Default)]
pub(super) struct Averages {
    pub(super) risk: ExactSum,
    pub(super) objective: ExactSum,
    pub(super) divergence: ExactSum,
    pub(super) test: ExactSum,
}

pack_fields!(Averages { risk, objective, divergence, test });

/// The greatest of some values. Unlike `f64::max` it does not look away from a NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Greatest(Option<f64>);

impl Greatest {
    pub(super) fn take(&mut self, value: f64) {
        let value = if value.is_nan() { f64::NAN } else { value };
        match self.0 {
            Some(least)
                if !value.is_nan() && (least.is_nan() || least.total_cmp(&value).is_ge()) => {}
            _ => self.0 = Some(value),
        }
    }

    fn join(&mut self, other: Self) {
        if let Some(value) = other.0 {
            self.take(value);
        }
    }

    /// The greatest; NaN where there was none.
    pub(super) fn value(self) -> f64 {
        self.0.unwrap_or(f64::NAN)
    }
}

impl Pack for Greatest {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.0.put(bytes);
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Pack::get(bytes).map(Self)
    }
}

impl FromIterator<f64> for Greatest {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut greatest = Self::default();
        values.into_iter().for_each(|value| greatest.take(value));
        greatest
    }
}

impl Survey {
    /// w̄, the mean of the models.
    pub fn mean(&self) -> Vec<f64> {
        self.states.iter().map(|sum| sum.value() / self.peers as f64).collect()
    }

    /// The models that were picked, in the order of peers.
    pub(super) fn picked(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.picked.iter().map(|(_, w)| w.as_slice())
    }

    /// The largest difference of two norms.
    pub(super) fn norm_gap(&self) -> f64 {
        let [high, low] = self.norms.map(Greatest::value);
        high + low
    }
}

impl Found for Survey {
    /// The mean model.
    fn told(&self) -> Self {
        Self { peers: self.peers, states: self.states.clone(), ..Self::default() }
    }

    fn join(&mut self, other: Self) {
        self.peers += other.peers;
        if self.states.is_empty() {
            self.states = other.states;
        } else {
            self.states.iter_mut().zip(&other.states).for_each(|(sum, more)| sum.join(more));
        }
        for (so_far, more) in self.norms.iter_mut().zip(other.norms) {
            so_far.join(more);
        }
        for (so_far, more) in self.far.iter_mut().zip(other.far) {
            so_far.join(more);
        }
        let first = self.divergence.into_iter().chain(other.divergence);
        self.divergence = first.min_by_key(|&(peer, _)| peer);
        self.residual.join(other.residual);
        self.exposure = Exposure::worst([&self.exposure, &other.exposure]);
        self.picked.extend(other.picked);
        self.picked.sort_unstable_by_key(|(peer, _)| *peer);
        self.risk.join(&other.risk);
        self.train.join(&other.train);
        self.test.join(&other.test);
        for (sum, more) in [
            (&mut self.averages.risk, &other.averages.risk),
            (&mut self.averages.objective, &other.averages.objective),
            (&mut self.averages.divergence, &other.averages.divergence),
            (&mut self.averages.test, &other.averages.test),
            (&mut self.gaps, &other.gaps),
        ] {
            sum.join(more);
        }
        self.gap.join(other.gap);
    }
}

/// Looks at peers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surveyor<'a> {
    /// How many samples each has.
    pub(super) train: &'a Partitioned,
    /// Who is scored on held-out samples.
    pub(super) scored: Scored,
    /// The optimum of the problem as solved, and that of the unperturbed one, where they are known.
    pub(super) aims: [Option<&'a [f64]>; 2],
    /// Of every so many peers the model is told, where it is to be scored on samples that are not here.
    pub(super) pick: Option<usize>,
}

impl Surveyor<'_> {
    /// What there is to know of a row of all peers, or of all tokens.
    pub(super) fn of(&self, row: &Row<LocalFigures>) -> Survey {
        let mut survey = self.first(row, &PeerId::new);
        survey.join(second(row, &survey.mean()));
        survey
    }

    /// All that can be found before w̄ is known; the k-th entry is that of `peer(k)`.
    pub(super) fn first(&self, row: &Row<LocalFigures>, peer: &dyn Fn(usize) -> PeerId) -> Survey {
        let d = row.dimension;
        let mut survey = Survey {
            peers: row.residuals.len(),
            states: vec![ExactSum::default(); d],
            exposure: Exposure::worst(&row.exposures),
            residual: row.residuals.iter().copied().collect(),
            ..Survey::default()
        };
        for (k, w) in row.scored.chunks_exact(d.max(1)).enumerate() {
            survey.states.iter_mut().zip(w).for_each(|(sum, &value)| sum.add(value));
            let norm = norm(w);
            survey.norms[0].take(norm);
            survey.norms[1].take(-norm);
            if norm.is_nan() || norm > DIVERGED {
                let first = survey.divergence.into_iter().chain([(peer(k), norm)]);
                survey.divergence = first.min_by_key(|&(peer, _)| peer);
            }
            if self.pick.is_some_and(|every| peer(k).index().is_multiple_of(every)) {
                survey.picked.push((peer(k), w.to_vec()));
            }
            for (far, aim) in survey.far.iter_mut().zip(self.aims) {
                if let Some(aim) = aim {
                    far.take(distance(w, aim));
                }
            }
        }
        // Tokens have no samples of their own.
        let of_peers = row.journeys.is_empty();
        for (k, local) in row.locals.iter().enumerate() {
            survey.risk.add(local.risk);
            survey.averages.risk.add(local.average_risk);
            survey.averages.objective.add(local.average_objective);
            survey.averages.divergence.add(local.average_divergence);
            let samples = if of_peers { self.train.rows(peer(k)) } else { 0 };
            if samples > 0 {
                survey.train.take(local.train, samples as f64);
            }
            if of_peers && self.scored.has(peer(k)) {
                survey.test.take(local.test, 1.0);
                survey.averages.test.add(local.average_test);
            }
        }
        survey
    }
}

/// What can be found once w̄ is known.
pub(super) fn second(row: &Row<LocalFigures>, mean: &[f64]) -> Survey {
    let mut survey = Survey::default();
    for w in row.scored.chunks_exact(row.dimension.max(1)) {
        let gap = distance(w, mean);
        survey.gap.take(gap);
        survey.gaps.add(gap);
    }
    survey
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Round, SimTime};
    use ndarray::Array2;

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

    /// Peers with one sample each.
    fn samples(peers: usize) -> Partitioned {
        Partitioned::new(Array2::zeros((peers, 2)), vec![1.0; peers], (0..=peers).collect())
    }

    fn survey(states: &[[f64; 2]]) -> Survey {
        let scored = Scored::all(states.len());
        Surveyor { train: &samples(states.len()), scored, aims: [None; 2], pick: None }
            .of(&row(states))
    }

    #[test]
    fn gaps_of_a_triangle() {
        let found = survey(&[[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]]);
        assert_eq!(found.gap.value(), 5.0_f64.sqrt());
        let mean = (2.0_f64.sqrt() + 2.0 * 5.0_f64.sqrt()) / 3.0;
        assert!((found.gaps.value() / 3.0 - mean).abs() < 1e-15);
        assert_eq!(found.norm_gap(), 3.0);
    }

    /// Whoever is looked at together with whom, and whose figures are joined first: the same bytes.
    #[test]
    fn shares_in_any_order_make_one_survey() {
        let n = 300;
        let train = samples(n);
        let state = |k: usize| [(k as f64).sin() * 1e3, 1.0 / (k as f64 + 0.3)];
        let mut whole = row(&(0..n).map(state).collect::<Vec<_>>());
        for (k, local) in whole.locals.iter_mut().enumerate() {
            (local.risk, local.train, local.test) = (0.1 * k as f64, 1.0 / (1.0 + k as f64), 0.7);
        }
        let aims = [Some(&[0.1, 0.2][..]), None];
        let scored = Scored { peers: 7, of: n };
        let surveyor = Surveyor { train: &train, scored, aims, pick: Some(13) };
        let picked = surveyor.of(&whole);
        assert!(picked.picked().eq((0..n).step_by(13).map(state)), "{:?}", picked.picked);
        let packed = |survey: &Survey| {
            let mut bytes = Vec::new();
            survey.put(&mut bytes);
            bytes
        };
        let all = packed(&surveyor.of(&whole));
        for (shares, step) in [(1, 7), (2, 1), (3, 11), (50, 7)] {
            // Peers are shared out by turns, so that every share has some from everywhere.
            let ids = |share: usize| (0..n).map(move |k| k * step % n).skip(share).step_by(shares);
            let part = |share: usize| {
                let states: Vec<[f64; 2]> = ids(share).map(state).collect();
                let locals = ids(share).map(|k| whole.locals[k]).collect();
                Row { locals, ..row(&states) }
            };
            let mut joined = Survey::default();
            for share in (0..shares).rev() {
                let own: Vec<usize> = ids(share).collect();
                joined.join(surveyor.first(&part(share), &|k| PeerId::new(own[k])));
            }
            let mean = joined.mean();
            (0..shares).for_each(|share| joined.join(second(&part(share), &mean)));
            assert_eq!(packed(&joined), all, "{shares} shares");
        }
    }

    #[test]
    fn the_greatest_does_not_look_away_from_a_nan() {
        let greatest = |values: &[f64]| values.iter().copied().collect::<Greatest>().value();
        assert_eq!(greatest(&[-3.0, -1.0, -2.0]), -1.0);
        for values in [[f64::NAN, 1.0], [1.0, f64::NAN]] {
            assert!(greatest(&values).is_nan());
        }
        let found = survey(&[[0.0, 0.0], [f64::NAN, 0.0]]);
        assert!(found.gap.value().is_nan() && found.norm_gap().is_nan());
    }

    #[test]
    fn a_model_that_is_not_finite_names_its_peer() {
        let seen = |states: &[[f64; 2]]| survey(states).divergence;
        let high = f64::INFINITY;
        assert_eq!(seen(&[[0.0, 1.0], [high, 0.0], [high, 1.0]]), Some((PeerId(1), high)));
        assert!(seen(&[[0.0, f64::NAN]]).unwrap().1.is_nan());
        assert_eq!(seen(&[[0.0, 1.0]]), None);
    }
}
