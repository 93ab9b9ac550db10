//! The figures by name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::{MeasureConfig, What};

/// A column of metrics.csv and an entry of summary.json.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
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
    /// max_i |w_i − w*|, w* the optimum of the pooled problem as the peers solve it: with the labels
    /// that they see and their objective noise.
    OptimumDistance,
    /// The same to the optimum of the unperturbed problem: original labels, plain loss, no noise.
    OptimumDistanceClean,
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
    /// The mean over peers of J_i(w̄_i), w̄_i the running average of w_i.
    AverageRisk,
    /// The mean over peers of J~_i(w̄_i), the objective as it is solved, above its optimum; it may be
    /// negative, since the w̄_i differ.
    AverageObjectiveGap,
    /// The mean over peers of J~_i(w̄_i) above its tangent at the optimum, which is 0 there alone.
    AverageDivergence,
    /// Held-out accuracy of w̄_i, mean over peers.
    AverageTestAccuracy,
    /// Held-out MSE of w̄_i, mean over peers.
    AverageTestMse,
    /// The objective on all samples above its optimum: of tokens the mean over tasks, of parties around
    /// a server the mean over their models, or over 1,000 of them evenly chosen.
    ExcessRisk,
    /// ψ, the same relative to the optimum.
    RelativeFitness,
    /// Held-out accuracy of a peer's own models, mean over peers; at the end of a run.
    LocalTestAccuracy,
    /// The same accuracy at the worst peer.
    LocalTestAccuracyWorst,
    /// Share of updates that were of the token's model, over all tasks.
    GlobalShare,
    /// Messages that carried a token, over all tasks, each counted once.
    Hops,
    /// Visits that left a token as it was, since the peer had nothing to add.
    Forwards,
    /// ε so far of any record, at the scenario's δ, against all other peers together.
    Epsilon,
    /// ε so far of any label, against the same.
    EpsilonLabels,
    /// ε so far of any record against a reader of the sums, or the models, that all parties make
    /// together, where that is another figure.
    EpsilonFinal,
    /// Messages sent so far, retransmissions included; of tokens, only in the last row.
    Messages,
    /// Bytes of these messages.
    Bytes,
    /// Simulated time at which the last peer ended the round.
    SimSeconds,
}

/// What a run is, as far as it decides what can be measured of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Whether labels are classes.
    pub classifies: bool,
    /// Whether there are held-out samples.
    pub has_test: bool,
    /// Whether the peers solve another problem than the one that is scored.
    pub perturbed: bool,
    /// Whether any mechanism protects anything.
    pub protected: bool,
    /// Whether tokens are measured in the place of peers, and what of them.
    pub tokens: Option<TokenShape>,
    /// Whether models are made by sums of all parties, and what of them.
    pub sums: Option<SumShape>,
}

/// What a run of parties around a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumShape {
    /// Whether the optimum on all samples is known.
    pub has_optimum: bool,
    /// Whether noise hides more from readers than from other parties.
    pub pools: bool,
}

/// What a run with tokens is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenShape {
    /// Whether peers have models of their own.
    pub decides: bool,
    /// Whether the optimum of each task is known.
    pub has_optimum: bool,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 34] = [
        Self::ConsensusGap,
        Self::ConsensusGapMean,
        Self::PairwiseGap,
        Self::NormGap,
        Self::DualResidual,
        Self::OptimumDistance,
        Self::OptimumDistanceClean,
        Self::EmpiricalRisk,
        Self::TrainAccuracy,
        Self::TrainAccuracyWorst,
        Self::TrainMse,
        Self::TrainMseWorst,
        Self::TestAccuracy,
        Self::TestAccuracyWorst,
        Self::TestMse,
        Self::TestMseWorst,
        Self::AverageRisk,
        Self::AverageObjectiveGap,
        Self::AverageDivergence,
        Self::AverageTestAccuracy,
        Self::AverageTestMse,
        Self::ExcessRisk,
        Self::RelativeFitness,
        Self::LocalTestAccuracy,
        Self::LocalTestAccuracyWorst,
        Self::GlobalShare,
        Self::Hops,
        Self::Forwards,
        Self::Epsilon,
        Self::EpsilonLabels,
        Self::EpsilonFinal,
        Self::Messages,
        Self::Bytes,
        Self::SimSeconds,
    ];

    /// The metric of this name in files.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// The name in files that is most like this one, for who mistook it.
    pub fn nearest_name(name: &str) -> Option<&'static str> {
        let likeness = |metric: &Self| strsim::jaro_winkler(metric.name(), &name.to_lowercase());
        let nearest = Self::ALL.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
        (likeness(nearest) > 0.7).then(|| nearest.name())
    }

    /// Whether more of it is better.
    pub fn is_accuracy(self) -> bool {
        matches!(
            self,
            Self::TrainAccuracy
                | Self::TrainAccuracyWorst
                | Self::TestAccuracy
                | Self::TestAccuracyWorst
                | Self::AverageTestAccuracy
                | Self::LocalTestAccuracy
                | Self::LocalTestAccuracyWorst
        )
    }

    /// The figures of a run, in the order of columns.
    pub fn of_run(config: &MeasureConfig, run: Shape) -> Vec<Self> {
        let Shape { classifies, has_test, perturbed, protected, tokens, sums } = run;
        let mut metrics = Vec::new();
        if let Some(tokens) = tokens {
            metrics.extend(Self::of_tokens(config, tokens, classifies, has_test));
            if config.has(What::Privacy) && protected {
                metrics.extend([Self::Epsilon, Self::EpsilonLabels]);
            }
            metrics.extend([Self::Messages, Self::Bytes, Self::SimSeconds]);
            return metrics;
        }
        if config.has(What::Consensus) {
            metrics.extend([
                Self::ConsensusGap,
                Self::ConsensusGapMean,
                Self::PairwiseGap,
                Self::NormGap,
                Self::DualResidual,
            ]);
        }
        if sums.is_some_and(|sums| sums.has_optimum) && config.has(What::Optimum) {
            metrics.extend([Self::ExcessRisk, Self::RelativeFitness]);
        }
        if config.has(What::Optimum) && sums.is_none_or(|sums| sums.has_optimum) {
            metrics.push(Self::OptimumDistance);
            if perturbed {
                metrics.push(Self::OptimumDistanceClean);
            }
        }
        if config.has(What::Risk) {
            metrics.push(Self::EmpiricalRisk);
        }
        if config.has(What::Train) {
            metrics.extend(if classifies {
                [Self::TrainAccuracy, Self::TrainAccuracyWorst]
            } else {
                [Self::TrainMse, Self::TrainMseWorst]
            });
        }
        if config.has(What::Test) && has_test {
            metrics.extend(if classifies {
                [Self::TestAccuracy, Self::TestAccuracyWorst]
            } else {
                [Self::TestMse, Self::TestMseWorst]
            });
        }
        if config.has(What::Average) {
            metrics.extend([Self::AverageRisk, Self::AverageObjectiveGap, Self::AverageDivergence]);
            if has_test {
                metrics.push(if classifies {
                    Self::AverageTestAccuracy
                } else {
                    Self::AverageTestMse
                });
            }
        }
        if config.has(What::Privacy) && protected {
            metrics.extend([Self::Epsilon, Self::EpsilonLabels]);
            if sums.is_some_and(|sums| sums.pools) {
                metrics.push(Self::EpsilonFinal);
            }
        }
        metrics.extend([Self::Messages, Self::Bytes, Self::SimSeconds]);
        metrics
    }

    /// What is measured of tokens beside what is measured of every run.
    fn of_tokens(
        config: &MeasureConfig,
        TokenShape { decides, has_optimum }: TokenShape,
        classifies: bool,
        has_test: bool,
    ) -> Vec<Self> {
        let named = |accuracy, mse| if classifies { accuracy } else { mse };
        let [test, average] = [What::Test, What::Average].map(|what| config.has(what));
        let asked = [
            (has_optimum && config.has(What::Optimum), Self::ExcessRisk),
            (config.has(What::Risk), Self::EmpiricalRisk),
            (average, Self::AverageRisk),
            (config.has(What::Train), named(Self::TrainAccuracy, Self::TrainMse)),
            (has_test && test, named(Self::TestAccuracy, Self::TestMse)),
            (has_test && average, named(Self::AverageTestAccuracy, Self::AverageTestMse)),
            (has_test && test && decides && classifies, Self::LocalTestAccuracy),
            (has_test && test && decides && classifies, Self::LocalTestAccuracyWorst),
            (decides && config.has(What::Walk), Self::GlobalShare),
            (config.has(What::Walk), Self::Hops),
            (config.has(What::Walk), Self::Forwards),
        ];
        asked.into_iter().filter_map(|(wanted, metric)| wanted.then_some(metric)).collect()
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
            Self::OptimumDistanceClean => "optimum_distance_clean",
            Self::EmpiricalRisk => "empirical_risk",
            Self::TrainAccuracy => "train_accuracy",
            Self::TrainAccuracyWorst => "train_accuracy_worst",
            Self::TrainMse => "train_mse",
            Self::TrainMseWorst => "train_mse_worst",
            Self::TestAccuracy => "test_accuracy",
            Self::TestAccuracyWorst => "test_accuracy_worst",
            Self::TestMse => "test_mse",
            Self::TestMseWorst => "test_mse_worst",
            Self::AverageRisk => "average_risk",
            Self::AverageObjectiveGap => "average_objective_gap",
            Self::AverageDivergence => "average_divergence",
            Self::AverageTestAccuracy => "average_test_accuracy",
            Self::AverageTestMse => "average_test_mse",
            Self::ExcessRisk => "excess_risk",
            Self::RelativeFitness => "relative_fitness",
            Self::LocalTestAccuracy => "local_test_accuracy",
            Self::LocalTestAccuracyWorst => "local_test_accuracy_worst",
            Self::GlobalShare => "global_share",
            Self::Hops => "hops",
            Self::Forwards => "forwards",
            Self::Epsilon => "epsilon",
            Self::EpsilonLabels => "epsilon_labels",
            Self::EpsilonFinal => "epsilon_final",
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
            Self::OptimumDistanceClean => "distance to the unperturbed optimum, max",
            Self::EmpiricalRisk => "empirical risk",
            Self::TrainAccuracy => "training accuracy",
            Self::TrainAccuracyWorst => "training accuracy, worst peer",
            Self::TrainMse => "training MSE",
            Self::TrainMseWorst => "training MSE, worst peer",
            Self::TestAccuracy => "held-out accuracy",
            Self::TestAccuracyWorst => "held-out accuracy, worst peer",
            Self::TestMse => "held-out MSE",
            Self::TestMseWorst => "held-out MSE, worst peer",
            Self::AverageRisk => "empirical risk of the running average",
            Self::AverageObjectiveGap => "objective of the running average above its optimum",
            Self::AverageDivergence => "the same above its tangents at the optimum",
            Self::AverageTestAccuracy => "held-out accuracy of the running average",
            Self::AverageTestMse => "held-out MSE of the running average",
            Self::ExcessRisk => "risk on all samples above the optimum",
            Self::RelativeFitness => "ψ, the same relative to the optimum",
            Self::LocalTestAccuracy => "held-out accuracy of peers' own models",
            Self::LocalTestAccuracyWorst => "held-out accuracy of the worst peer's own models",
            Self::GlobalShare => "share of global steps",
            Self::Hops => "hops of all tokens",
            Self::Forwards => "visits without an update",
            Self::Epsilon => "ε of a record against all other peers",
            Self::EpsilonLabels => "ε of a label against all other peers",
            Self::EpsilonFinal => "ε of a record against a reader of the model",
            Self::Messages => "messages",
            Self::Bytes => "bytes",
            Self::SimSeconds => "simulated seconds",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_found_by_its_name_and_by_no_other() {
        for metric in Metric::ALL {
            assert_eq!(Metric::from_name(metric.name()), Some(metric));
            assert_eq!(metric.name().contains("accuracy"), metric.is_accuracy(), "{metric:?}");
        }
        assert_eq!(Metric::from_name("optimum distance"), None);
        assert_eq!(Metric::nearest_name("Optimum-distance"), Some("optimum_distance"));
        assert_eq!(Metric::nearest_name("test_acuracy"), Some("test_accuracy"));
        assert_eq!(Metric::nearest_name("zzz"), None);
    }
}
