//! What each peer looked like in some of the measured rounds: enough to play a run again as a film.

use serde::{Deserialize, Serialize};

use super::probe::LocalFigures;
use crate::learn::distance;
use crate::network::Row;
use crate::units::Round;

/// Films have at most so many peers: more would not be told apart.
pub const FILMED_PEERS: usize = 1000;

/// Of the measured rounds, counted from 0, those are kept whose number has at most so many
/// significant binary digits.
const DIGITS: u32 = 5;

/// Figures of every peer in some rounds, the first and the last of those that were measured among
/// them.
///
/// Kept are the measured rounds number 0 to 31, then every second one to 63, every fourth to 127,
/// and so on, so that the beginning, when most happens, is seen in full and a run of any length
/// has few frames: 16 more for each doubling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Frames {
    /// How many rounds were measured.
    pub measured: usize,
    /// The rounds that are shown.
    pub rounds: Vec<Round>,
    /// |w_i − w̄| of every peer, w̄ the mean over peers, by round.
    pub from_mean: Vec<Numbers>,
    /// |w_i − w*| of every peer, w* the optimum of the problem as solved, by round; empty where it
    /// is not known.
    pub from_optimum: Vec<Numbers>,
    /// Accuracy, or mean squared error, of every peer's model on the held-out samples, or without
    /// any on its own ones, by round; empty where it is not measured.
    pub scores: Vec<Numbers>,
}

/// One number for each peer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Numbers(#[serde(with = "crate::measure::nan::any_numbers")] pub Vec<f64>);

impl FromIterator<f64> for Numbers {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// Whether the measured round of this number is kept whatever follows it.
fn is_kept(number: usize) -> bool {
    let digits = usize::BITS - number.leading_zeros();
    number.trailing_zeros() + DIGITS >= digits
}

impl Frames {
    /// Takes the next measured round; `mean` is w̄.
    pub(super) fn take(&mut self, row: &Row<LocalFigures>, mean: &[f64], optimum: Option<&[f64]>) {
        if self.measured > 0 && !is_kept(self.measured - 1) {
            // It was there only for being the last.
            self.rounds.pop();
            for figures in [&mut self.from_mean, &mut self.from_optimum, &mut self.scores] {
                figures.pop();
            }
        }
        self.measured += 1;
        self.rounds.push(row.round);
        let from = |w: &[f64]| {
            row.scored.chunks_exact(row.dimension.max(1)).map(|state| distance(state, w)).collect()
        };
        self.from_mean.push(from(mean));
        self.from_optimum.extend(optimum.map(from));
        let score = |of: fn(&LocalFigures) -> f64| {
            let scores = row.locals.iter().map(of);
            scores.clone().any(|score| !score.is_nan()).then(|| scores.collect())
        };
        self.scores.extend(score(|local| local.test).or_else(|| score(|local| local.train)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SimTime;

    fn row(round: u32) -> Row<LocalFigures> {
        let local = LocalFigures { test: f64::NAN, train: 0.5, ..LocalFigures::default() };
        Row {
            round: Round(round),
            dimension: 1,
            scored: vec![f64::from(round), -f64::from(round)],
            locals: vec![local; 2],
            time: SimTime::ZERO,
            messages: 0,
            bytes: 0,
            exposures: Vec::new(),
            residuals: vec![0.0; 2],
            averages: Vec::new(),
            journeys: Vec::new(),
        }
    }

    #[test]
    fn the_beginning_is_kept_in_full_then_less_and_less_and_always_the_last() {
        let mut frames = Frames::default();
        for round in 0..=1001 {
            frames.take(&row(round), &[0.0], Some(&[1.0]));
        }
        let rounds: Vec<u32> = frames.rounds.iter().map(|round| round.0).collect();
        let expected: Vec<u32> = (0..32)
            .chain((32..64).step_by(2))
            .chain((64..128).step_by(4))
            .chain((128..256).step_by(8))
            .chain((256..512).step_by(16))
            .chain((512..1001).step_by(32))
            .chain([1001])
            .collect();
        assert_eq!(rounds, expected);
        assert_eq!(frames.measured, 1002);
        for (at, &round) in rounds.iter().enumerate() {
            let r = f64::from(round);
            assert_eq!(frames.from_mean[at].0, [r, r]);
            assert_eq!(frames.from_optimum[at].0, [(r - 1.0).abs(), r + 1.0]);
            assert_eq!(frames.scores[at].0, [0.5, 0.5]);
        }
    }
}
