//! The figures by name.

use super::config::{MeasureConfig, What};
use crate::learn::Loss;

/// A column of metrics.csv and an entry of summary.json.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// max_i |w_i − w̄|, w̄ the mean over peers.
    ConsensusGap,
    /// The mean of |w_i − w̄| over peers.
    ConsensusGapMean,
    /// max_{i,j} |w_i − w_j|; computed up to 128 peers.
    PairwiseGap,
    /// max_{i,j} ||w_i| − |w_j||.
    NormGap,
    /// The largest residual of a peer, as its protocol defines it; for ADMM |∇J_i(w_i) + γ_i|.
    DualResidual,
    /// max_i |w_i − w*|, w* the optimum of the pooled problem.
    OptimumDistance,
    /// The mean over peers of J_i(w_i): plain loss, original labels, regularisation included.
    EmpiricalRisk,
    /// Share of training samples that their own peer's model classifies right.
    TrainAccuracy,
    /// The same share at the worst peer that has samples.
    TrainAccuracyWorst,
    /// Mean squared error of peers' models on their own training samples.
    TrainMse,
    /// The same error at the worst peer that has samples.
    TrainMseWorst,
    /// Share of held-out samples that a peer's model classifies right, mean over peers.
    TestAccuracy,
    /// The same share at the worst peer.
    TestAccuracyWorst,
    /// Mean squared error of a peer's model on held-out samples, mean over peers.
    TestMse,
    /// The same error at the worst peer.
    TestMseWorst,
    /// Messages sent so far, retransmissions included.
    Messages,
    /// Bytes of these messages.
    Bytes,
    /// Simulated time at which the last peer ended the round.
    SimSeconds,
}

impl Metric {
    /// The figures of a run, in the order of columns.
    pub fn of_run(config: &MeasureConfig, loss: Loss, has_test: bool) -> Vec<Self> {
        let mut metrics = Vec::new();
        if config.has(What::Consensus) {
            metrics.extend([
                Self::ConsensusGap,
                Self::ConsensusGapMean,
                Self::PairwiseGap,
                Self::NormGap,
                Self::DualResidual,
            ]);
        }
        if config.has(What::Optimum) {
            metrics.push(Self::OptimumDistance);
        }
        if config.has(What::Risk) {
            metrics.push(Self::EmpiricalRisk);
        }
        if config.has(What::Train) {
            metrics.extend(if loss.is_classification() {
                [Self::TrainAccuracy, Self::TrainAccuracyWorst]
            } else {
                [Self::TrainMse, Self::TrainMseWorst]
            });
        }
        if config.has(What::Test) && has_test {
            metrics.extend(if loss.is_classification() {
                [Self::TestAccuracy, Self::TestAccuracyWorst]
            } else {
                [Self::TestMse, Self::TestMseWorst]
            });
        }
        metrics.extend([Self::Messages, Self::Bytes, Self::SimSeconds]);
        metrics
    }

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConsensusGap => "consensus_gap",
            Self::ConsensusGapMean => "consensus_gap_mean",
            Self::PairwiseGap => "pairwise_gap",
            Self::NormGap => "norm_gap",
            Self::DualResidual => "dual_residual",
            Self::OptimumDistance => "optimum_distance",
            Self::EmpiricalRisk => "empirical_risk",
            Self::TrainAccuracy => "train_accuracy",
            Self::TrainAccuracyWorst => "train_accuracy_worst",
            Self::TrainMse => "train_mse",
            Self::TrainMseWorst => "train_mse_worst",
            Self::TestAccuracy => "test_accuracy",
            Self::TestAccuracyWorst => "test_accuracy_worst",
            Self::TestMse => "test_mse",
            Self::TestMseWorst => "test_mse_worst",
            Self::Messages => "messages",
            Self::Bytes => "bytes",
            Self::SimSeconds => "sim_seconds",
        }
    }

    /// Its name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::ConsensusGap => "consensus gap, max",
            Self::ConsensusGapMean => "consensus gap, mean",
            Self::PairwiseGap => "largest distance of two peers",
            Self::NormGap => "spread of norms",
            Self::DualResidual => "residual of the protocol, max",
            Self::OptimumDistance => "distance to the central optimum, max",
            Self::EmpiricalRisk => "empirical risk",
            Self::TrainAccuracy => "training accuracy",
            Self::TrainAccuracyWorst => "training accuracy, worst peer",
            Self::TrainMse => "training MSE",
            Self::TrainMseWorst => "training MSE, worst peer",
            Self::TestAccuracy => "held-out accuracy",
            Self::TestAccuracyWorst => "held-out accuracy, worst peer",
            Self::TestMse => "held-out MSE",
            Self::TestMseWorst => "held-out MSE, worst peer",
            Self::Messages => "messages",
            Self::Bytes => "bytes",
            Self::SimSeconds => "simulated seconds",
        }
    }
}
