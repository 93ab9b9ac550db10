//! summary.json: the final figures of a run.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::experiment::{
    Claim, Prediction, RepeatResult, RunResult, Statement, StopReason, listed_every,
};
use crate::learn::kernel;
use crate::measure::{Estimate, Metric};
use crate::network::{EngineKind, Journey};
use crate::privacy::LabelSummary;
use crate::protocol::admm::AdmmConfig;
use crate::protocol::federated::FederatedConfig;
use crate::protocol::gradient_descent::GradientTrackingConfig;
use crate::protocol::{Automatic, ProtocolConfig};
use crate::report::privacy::refuted;
use crate::theory::Method;

/// With fewer repeats than this an interval says little.
const FEW_REPEATS: usize = 5;

/// The final figures of a run, over its complete repeats.
#[derive(Clone, Debug)]
pub struct Summary {
    /// What the run was called.
    pub name: String,
    /// Its seed.
    pub seed: u64,
    /// Complete repeats.
    pub repeats: usize,
    /// One number for all results.
    pub fingerprint: String,
    /// Why repeats ended: one word if all for the same reason, else `mixed`.
    pub stop_reason: &'static str,
    /// Why each repeat ended, an incomplete one included.
    pub stop_reasons: Vec<StopReason>,
    /// The penalty or the step, by name.
    pub parameter: Option<(&'static str, f64)>,
    /// The rounds that were run.
    pub rounds: Estimate,
    /// Each metric at the end.
    pub metrics: Vec<(Metric, Estimate)>,
    /// Theory beside measurement, for ADMM and for walks.
    pub theory: Option<Prediction>,
    /// The linear rate that theory expected.
    pub predicted_rate: Option<f64>,
    /// The linear rate that the runs showed.
    pub measured_rate: Estimate,
    /// Other models to compare with, by name.
    pub references: Vec<(&'static str, Estimate)>,
    /// Releases without protection, over all peers.
    pub clear_releases: Estimate,
    /// The ledger: what each observer learnt at the most, in any repeat.
    pub observed: Vec<Claim>,
    /// How labels were randomised, where they were; in the first repeat.
    pub labels: Option<LabelSummary>,
    /// How often the most repeated training sample was dealt, in any repeat.
    pub multiplicity: usize,
    /// The privacy statement.
    pub statement: Statement,
    /// What to know before trusting the figures.
    pub warnings: Vec<String>,
    /// The tasks, where there were tokens.
    pub tasks: Vec<TaskSummary>,
}

/// One task's token at the end of a run.
#[derive(Clone, Debug, Serialize)]
pub struct TaskSummary {
    /// The class, or the task's number.
    pub name: String,
    /// Share of updates that were of the token's model.
    pub global_share: Estimate,
    /// Messages that carried the token.
    pub hops: Estimate,
    /// Visits that left it as it was.
    pub forwards: Estimate,
}

/// Summarises a run.
pub fn summary(result: &RunResult) -> Summary {
    let complete: Vec<&RepeatResult> = result
        .repeats
        .iter()
        .filter(|repeat| repeat.stop_reason != StopReason::Interrupted)
        .collect();
    // An interrupted first repeat is better than nothing, and marked as interrupted.
    let shown: Vec<&RepeatResult> =
        if complete.is_empty() { result.repeats.iter().collect() } else { complete.clone() };
    let over = |value: &dyn Fn(&RepeatResult) -> f64| {
        Estimate::of(&shown.iter().map(|repeat| value(repeat)).collect::<Vec<_>>())
    };
    let last = |repeat: &RepeatResult, column: usize| {
        repeat.rows.last().map_or(f64::NAN, |row| row.values[column])
    };
    let metrics = result.metrics.iter().enumerate();
    let metrics: Vec<(Metric, Estimate)> =
        metrics.map(|(column, &metric)| (metric, over(&|r| last(r, column)))).collect();
    let measured_rate = over(&|r| r.measured_rate.unwrap_or(f64::NAN));
    let theory = result.prediction.clone().map(|prediction| {
        let rounds = |r: &&RepeatResult| r.rows.last().map(|row| row.round.0);
        let first = shown.first().and_then(rounds);
        let rounds = first.filter(|_| shown.iter().all(|r| rounds(r) == first));
        prediction.beside(&measured_rate, rounds, |wanted| {
            metrics.iter().find(|(metric, _)| *metric == wanted)?.1.mean
        })
    });
    let predicted_rate = theory.as_ref().and_then(Prediction::rate);
    let predicted_rate = predicted_rate.or(result.rate.map(|rate| rate.value));
    let classes = result.scenario.model.loss.is_classification();
    let named = |accuracy, mse| if classes { accuracy } else { mse };
    let stop_reason = match shown.first() {
        _ if result.interrupted => StopReason::Interrupted.name(),
        None => StopReason::Interrupted.name(),
        Some(first) if shown.iter().all(|r| r.stop_reason == first.stop_reason) => {
            first.stop_reason.name()
        }
        Some(_) => "mixed",
    };
    let mut references = vec![
        (named("trivial_test_accuracy", "trivial_test_mse"), over(&|r| r.reference.trivial_test)),
        (named("central_test_accuracy", "central_test_mse"), over(&|r| r.reference.central_test)),
        ("central_empirical_risk", over(&|r| r.reference.central_risk)),
    ];
    references.retain(|(_, estimate)| estimate.mean.is_some());
    Summary {
        name: result.scenario.name.clone(),
        seed: result.scenario.seed.0,
        repeats: complete.len(),
        fingerprint: result.fingerprint.clone(),
        stop_reason,
        stop_reasons: result.repeats.iter().map(|repeat| repeat.stop_reason).collect(),
        parameter: match &result.scenario.protocol {
            ProtocolConfig::Admm(AdmmConfig { penalty: Automatic::Value(beta), .. }) => {
                Some(("penalty", *beta))
            }
            ProtocolConfig::GradientDescent(descent) => Some(("step", descent.step)),
            ProtocolConfig::GradientTracking(GradientTrackingConfig {
                step: Automatic::Value(step),
                ..
            }) => Some(("step", *step)),
            ProtocolConfig::Federated(FederatedConfig {
                steps: Automatic::Value(steps), ..
            }) => Some(("local_steps", *steps)),
            _ => None,
        },
        rounds: over(&|r| r.rows.last().map_or(0.0, |row| f64::from(row.round.0))),
        metrics,
        predicted_rate,
        theory,
        measured_rate,
        references,
        clear_releases: over(&|r| r.exposure.clear as f64),
        observed: result.observed.clone(),
        labels: shown.first().and_then(|r| r.labels),
        multiplicity: shown.iter().map(|r| r.multiplicity).max().unwrap_or(1),
        statement: result.statement.clone(),
        warnings: warnings(result, complete.len()),
        tasks: tasks(&shown),
    }
}

/// The tasks over these repeats. Classes are the same in all of them.
fn tasks(shown: &[&RepeatResult]) -> Vec<TaskSummary> {
    let Some(first) = shown.first().and_then(|repeat| repeat.tokens.as_ref()) else {
        return Vec::new();
    };
    let of = |task: usize| {
        let over = |value: &dyn Fn(&Journey, f64) -> f64| {
            let values = shown.iter().filter_map(|repeat| {
                let journey = repeat.tokens.as_ref()?.rows.last()?.get(task)?;
                Some(value(journey, f64::from(repeat.rows.last()?.round.0)))
            });
            Estimate::of(&values.collect::<Vec<_>>())
        };
        TaskSummary {
            name: first.name(task),
            global_share: over(&|journey, updates| journey.releases as f64 / updates),
            hops: over(&|journey, _| journey.hops as f64),
            forwards: over(&|journey, _| journey.forwards as f64),
        }
    };
    (0..first.tasks as usize).map(of).collect()
}

fn warnings(result: &RunResult, complete: usize) -> Vec<String> {
    let mut warnings: Vec<String> = refuted(&result.statement).into_iter().collect();
    if result.interrupted {
        warnings.push(format!(
            "interrupted: {complete} of {} repeats are complete; --resume finishes the run",
            result.scenario.repeat
        ));
    }
    for repeat in &result.repeats {
        if let Some(seen) = repeat.divergence {
            let whose = match &repeat.tokens {
                Some(tokens) => format!("task {}", tokens.name(seen.peer.index())),
                None => format!("peer {}", result.topology.name(seen.peer)),
            };
            warnings.push(format!(
                "repeat {} diverged: in round {} the model of {whose} had norm {}",
                repeat.repeat, seen.round, seen.value
            ));
        }
    }
    if let Some(rate) = result.rate
        && (rate.method != Method::Full || !rate.converged)
    {
        warnings.push(format!(
            "`auto` is an approximation here: {}",
            match rate.method {
                Method::Full => "the eigenvalue iteration has not settled",
                Method::Mean => "computed as if every peer had the mean curvature",
                Method::Approximate => {
                    "computed as if every peer had the mean curvature and the mean degree"
                }
            }
        ));
    }
    if let Some(thinning) = result.repeats.first().and_then(|repeat| repeat.thinning) {
        warnings.extend(thinning.notes(&result.scenario.measure));
    }
    let every = listed_every(result.topology.peers());
    if every > 1 {
        warnings.push(format!(
            "peers.csv has every {every}th peer only; model.npy has the models of all"
        ));
    }
    if complete == 1 {
        warnings.push("one repeat: the figures have no intervals".to_string());
    } else if complete < FEW_REPEATS && !result.interrupted {
        warnings.push(format!("only {complete} repeats: the intervals are wide and uncertain"));
    }
    let clock = result.metrics.iter().position(|&metric| metric == Metric::SimSeconds);
    let simulated = result.scenario.network.engine == EngineKind::Simulated;
    let stuck = |repeat: &RepeatResult| {
        let last = repeat.rows.last().zip(clock);
        last.is_some_and(|(row, column)| row.values[column].is_nan())
    };
    if simulated && result.repeats.iter().any(stuck) {
        warnings
            .push("simulated time went beyond the clock's 584 years and is left out".to_string());
    }
    if result.scenario.network.compute.seconds_per_sample == 0.0 {
        warnings.push(
            "computing costs no simulated time (network.compute.seconds_per_sample is 0)"
                .to_string(),
        );
    }
    warnings
}

impl Summary {
    /// The estimate of a metric, if it was measured.
    pub fn metric(&self, wanted: Metric) -> Option<&Estimate> {
        self.metrics.iter().find(|(metric, _)| *metric == wanted).map(|(_, estimate)| estimate)
    }

    /// As it stands in summary.json.
    pub fn to_json(&self) -> Value {
        let object = |pairs: Vec<(&'static str, Estimate)>| {
            Value::Object(
                pairs.into_iter().map(|(k, v)| (k.to_string(), json!(v))).collect::<Map<_, _>>(),
            )
        };
        let mut metrics = vec![("rounds", self.rounds)];
        metrics.extend(self.metrics.iter().map(|(metric, estimate)| (metric.name(), *estimate)));
        let mut json = json!({
            "hushmesh": env!("CARGO_PKG_VERSION"),
            "kernel": kernel::name(),
            "name": self.name,
            "seed": self.seed,
            "repeats": self.repeats,
            "fingerprint": self.fingerprint,
            "stop_reason": self.stop_reason,
            "stop_reasons": self.stop_reasons,
            "metrics": object(metrics),
            "predicted_rate": self.predicted_rate,
            "measured_rate": self.measured_rate,
            "theory": self.theory.as_ref().map(|theory| &theory.items),
            "references": object(self.references.clone()),
            "privacy": {
                "clear_releases": self.clear_releases,
                "sample_multiplicity": self.multiplicity,
                "labels": self.labels,
                "statement": self.statement,
                "ledger": self.observed,
            },
            "warnings": self.warnings,
        });
        if !self.tasks.is_empty() {
            json["tasks"] = json!(self.tasks);
        }
        if let Some((name, value)) = self.parameter {
            json["parameters"] = json!({ name: value });
        }
        json
    }
}
