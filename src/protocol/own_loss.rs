//! A party's mean loss over its own samples, and how far one record moves it.

use crate::data::LocalData;
use crate::learn::{Clipping, Loss, Objective, Regulariser, Samples, axpy};
use crate::privacy::{Pieces, Sensitivity};

/// The problem that all parties work on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    /// ℓ.
    pub loss: Loss,
    /// R, the same for all.
    pub regulariser: Regulariser,
    /// How the gradients of single samples are cut.
    pub clipping: Clipping,
    /// How far the gradient of a sample moves, in the norm of the mechanism.
    pub moves: Sensitivity,
    /// What no mechanism has protected before the parties got it.
    pub unprotected: Pieces,
}

/// How far the cut gradient of one sample with |x| ≤ `reach` moves where its label, and where the whole
/// sample, is replaced. The norm is that of `reach`; none where nothing bounds it.
///
/// A gradient is ℓ'(y, z)·x. Another label moves the slope of the logistic loss by 1 and turns that of
/// the hinge round; another sample may turn the longest gradient into its opposite.
pub fn sample_moves(loss: Loss, clipping: Clipping, reach: f64) -> Option<Sensitivity> {
    let (turn, steepest) = match loss {
        Loss::Logistic => (1.0, 1.0),
        Loss::Hinge => (2.0, 1.0),
        Loss::Squared => (f64::INFINITY, f64::INFINITY),
    };
    // 0 · ∞ is no bound.
    let times = |a: f64, b: f64| if a.is_finite() && b.is_finite() { a * b } else { f64::INFINITY };
    let longest = match clipping {
        Clipping::None => times(steepest, reach),
        Clipping::Norm(norm) => norm.min(times(steepest, reach)),
        Clipping::Slope(slope) => times(slope.min(steepest), reach),
    };
    let record = 2.0 * longest;
    longest.is_finite().then(|| Sensitivity { label: times(turn, reach).min(record), record })
}

/// What a party has.
#[derive(Debug)]
pub(super) struct OwnLoss {
    data: LocalData,
    problem: Problem,
    /// Where gradients are found.
    gradient: Vec<f64>,
}

impl OwnLoss {
    pub(super) fn new(data: LocalData, problem: Problem) -> Self {
        let gradient = vec![0.0; data.dimension()];
        Self { data, problem, gradient }
    }

    pub(super) fn problem(&self) -> &Problem {
        &self.problem
    }

    pub(super) fn dimension(&self) -> usize {
        self.data.dimension()
    }

    pub(super) fn samples(&self) -> usize {
        self.data.rows()
    }

    /// How far the mean gradient moves.
    pub(super) fn moves(&self) -> Sensitivity {
        let Sensitivity { label, record } = self.problem.moves;
        let each = 1.0 / self.samples().max(1) as f64;
        Sensitivity { label: label * each, record: record * each }
    }

    /// ∇L_j(θ), the mean over the samples of their cut gradients.
    pub(super) fn gradient(&mut self, theta: &[f64]) -> &[f64] {
        let samples = Samples::new(self.data.x(), self.data.y());
        let objective = Objective::mean(samples, self.problem.loss);
        objective.clipped_gradient(theta, self.problem.clipping, &mut self.gradient);
        &self.gradient
    }

    /// θ ← θ − η(∇L_j(θ) + ∇R(θ)).
    pub(super) fn step(&mut self, eta: f64, theta: &mut [f64]) {
        self.gradient(theta);
        self.problem.regulariser.add_gradient(theta, &mut self.gradient);
        axpy(-eta, &self.gradient, theta);
    }
}

/// A sensitivity times a public factor.
pub(super) fn scaled(Sensitivity { label, record }: Sensitivity, factor: f64) -> Sensitivity {
    Sensitivity { label: label * factor, record: record * factor }
}
