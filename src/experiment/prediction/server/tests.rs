//! Predictions against many small runs.

use crate::experiment::{Prediction, Reading, RunResult, run};
use crate::measure::{Estimate, Metric};
use crate::scenario::Checked;
use crate::theory::server::weighted_ratio;
use crate::units::Epsilon;

const SQUARED: &str = "
name: small
seed: 7
data:
  source: {linear-regression: {dimension: 3, norm: 1, noise: 0.1, bound: 2}}
  samples: {per-peer: 60}
  without: [0]
  fixed: true
model: {loss: squared, regularisation: 0.5}
privacy: {delta: 1e-5}
";

fn of(rest: &str) -> RunResult {
    run(&Checked::from_text("small.yaml", &format!("{SQUARED}{rest}")).unwrap()).unwrap()
}

fn predicted(result: &RunResult) -> &Prediction {
    result.prediction.as_ref().unwrap()
}

fn figure(result: &RunResult, name: &str) -> f64 {
    predicted(result).figure(name).unwrap_or_else(|| panic!("no {name}"))
}

/// The metric at the end of each repeat.
fn ends(result: &RunResult, metric: Metric) -> Vec<f64> {
    let column = result.metrics.iter().position(|m| *m == metric).unwrap();
    result.repeats.iter().map(|repeat| repeat.rows.last().unwrap().values[column]).collect()
}

/// The mean of the runs is the predicted one, within five standard errors.
fn assert_mean(result: &RunResult, name: &str, metric: Metric) {
    let ends = ends(result, metric);
    let n = ends.len() as f64;
    let mean = ends.iter().sum::<f64>() / n;
    let variance = ends.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let expected = figure(result, name);
    let error = (variance / n).sqrt();
    assert!((mean - expected).abs() < 5.0 * error, "{mean} ± {error}, expected {expected}");
    assert_eq!(predicted(result).item(name).unwrap().reading, Reading::Equal);
}

/// Nine of ten runs are in the band, within five standard deviations of that count.
fn assert_band(result: &RunResult, [low, high]: [&str; 2], metric: Metric) {
    let band = figure(result, low)..=figure(result, high);
    let ends = ends(result, metric);
    let n = ends.len() as f64;
    let inside = ends.iter().filter(|x| band.contains(x)).count() as f64;
    assert!((inside - 0.9 * n).abs() < 5.0 * (0.09 * n).sqrt(), "{inside} of {n} in {band:?}");
}

#[test]
fn masked_gradients_end_where_they_are_predicted_to() {
    let result = of("
repeat: 300
topology: {star: {peers: 5}}
protocol:
  weighted-erm:
    {variant: masked-gradient, steps: 8, step: 0.5, clip: 8, noise: {epsilon: 6}}
measure: {every: 8}
");
    assert_mean(&result, "excess_risk", Metric::ExcessRisk);
    assert_mean(&result, "fitness", Metric::RelativeFitness);
    assert_band(&result, ["excess_low", "excess_high"], Metric::ExcessRisk);
    assert!(predicted(&result).item("excess_risk").unwrap().holds);
    let best = figure(&result, "best_steps_excess");
    assert!(best <= figure(&result, "excess_risk") * (1.0 + 1e-12));
}

#[test]
fn noise_on_the_last_model_costs_what_is_predicted() {
    // With a single party the steps are those of the pooled data.
    let result = of("
repeat: 300
topology: {star: {peers: 2}}
protocol:
  weighted-erm:
    {variant: local-output, steps: 8, step: 0.5, clip: 8, noise: {epsilon: 20}}
");
    assert_mean(&result, "excess_risk", Metric::ExcessRisk);
    assert_band(&result, ["excess_low", "excess_high"], Metric::ExcessRisk);
}

#[test]
fn averaged_queries_end_where_they_are_predicted_to() {
    let queries = |mechanism: &str| {
        of(&format!(
            "
repeat: 300
topology: {{star: {{peers: 4}}}}
protocol:
  gradient-queries:
    updates: 8
    algorithm: {{averaged: 0.5}}
    residual: 8
    noise: {{mechanism: {mechanism}, epsilon: [1, 30, 60, 20]}}
measure: {{every: 8}}
"
        ))
    };
    let gaussian = queries("gaussian");
    assert_mean(&gaussian, "excess_risk", Metric::ExcessRisk);
    assert_mean(&gaussian, "fitness", Metric::RelativeFitness);
    assert_band(&gaussian, ["fitness_low", "fitness_high"], Metric::RelativeFitness);
    let laplace = queries("laplace");
    assert_mean(&laplace, "excess_risk", Metric::ExcessRisk);
    let band = laplace.prediction.as_ref().unwrap().item("excess_high").unwrap();
    assert!(band.rests_on.starts_with("approximate"), "{}", band.rests_on);
    for name in ["best_updates_laplace", "best_updates_gaussian"] {
        assert_eq!(
            figure(&laplace, name),
            figure(&gaussian, name),
            "both say what both laws can do"
        );
    }
}

#[test]
fn the_prediction_of_k_is_the_k_that_auto_takes() {
    let federated = |repeat: u32, steps: &str| {
        of(&format!(
            "
repeat: {repeat}
topology: {{star: {{peers: 5}}}}
protocol:
  federated:
    {{variant: masked, {steps} communications: 4, clip: 8, noise: {{epsilon: 6}}}}
"
        ))
    };
    let auto = federated(1, "");
    let chosen = auto.scenario.protocol.rounds([]);
    assert_eq!(chosen, 4, "as many averages as communications");
    let k = figure(&auto, "best_local_steps");
    let text = serde_json::to_value(&auto.scenario.protocol).unwrap();
    assert_eq!(text["federated"]["steps"].as_f64(), Some(k));
    assert!(figure(&auto, "federated_bound_corrected") >= figure(&auto, "federated_bound"));
    assert!(figure(&auto, "excess_risk") <= figure(&auto, "federated_bound"));
    // One step before each average: gradients at common models, so that the prediction is exact.
    assert_mean(&federated(100, "steps: 1,"), "excess_risk", Metric::ExcessRisk);
}

#[test]
fn collaboration_is_judged_by_the_ratio_of_noises() {
    let result = of("
topology: {star: {peers: 4}}
protocol:
  weighted-erm: {variant: local, steps: 4, step: 0.5, clip: 8, noise: {epsilon: 1}}
");
    let owners = [(60, Epsilon(1.0)); 3];
    let ratio = weighted_ratio(&owners, &[1.0 / 3.0; 3], 0);
    for peer in 1..4 {
        let found = figure(&result, &format!("collaboration_{peer}"));
        assert!((found - ratio).abs() < 1e-12, "{found}, expected {ratio}");
        let item = predicted(&result).item(&format!("collaboration_{peer}")).unwrap();
        assert_eq!(item.rests_on, "learning together pays");
        assert!(figure(&result, &format!("alone_{peer}")) > 0.0);
    }
    let many = of("
topology: {star: {peers: 21}}
protocol:
  gradient-queries:
    updates: 2
    algorithm: {descent: {constant: 0.5}}
    residual: 8
    noise: {mechanism: laplace, epsilon: 1}
");
    let ratio = 1.0 / 20.0_f64.sqrt();
    assert!((figure(&many, "collaboration_least") - ratio).abs() < 1e-12);
    assert!((figure(&many, "collaboration_greatest") - ratio).abs() < 1e-12);
    assert_eq!(figure(&many, "collaboration_pays"), 20.0);
    assert!(figure(&many, "query_bound") >= figure(&many, "excess_risk"));
}

#[test]
fn what_was_measured_is_inside_the_band_or_outside() {
    let result = of("
topology: {star: {peers: 5}}
protocol:
  weighted-erm:
    {variant: masked-gradient, steps: 8, step: 0.5, clip: 8, noise: {epsilon: 6}}
");
    let [low, high] = ["excess_low", "excess_high"].map(|name| figure(&result, name));
    for (measured, word) in [(0.5 * (low + high), "inside"), (2.0 * high, "outside")] {
        let beside = predicted(&result).clone().beside(&Estimate::of(&[]), None, |metric| {
            (metric == Metric::ExcessRisk).then_some(measured)
        });
        let item = beside.item("excess_risk").unwrap();
        assert!(item.rests_on.contains(word), "{}", item.rests_on);
        assert_eq!(item.measured, Some(measured));
    }
}

#[test]
fn cut_gradients_are_said_to_break_the_prediction() {
    let result = of("
topology: {star: {peers: 5}}
protocol:
  weighted-erm: {variant: central, steps: 8, step: 0.5, clip: 0.1, noise: {epsilon: 6}}
");
    let item = predicted(&result).item("excess_risk").unwrap();
    assert!(!item.holds && item.rests_on.contains("gradients are cut"), "{}", item.rests_on);
}

#[test]
fn without_an_optimum_less_is_said() {
    let result = of("
topology: {star: {peers: 5}}
protocol:
  weighted-erm: {variant: central, steps: 2, step: 0.5, clip: 8, noise: {epsilon: 6}}
measure: {what: [risk]}
");
    assert_eq!(predicted(&result).figure("excess_risk"), None);
    assert!(figure(&result, "collaboration_1") < 1.0);
}
