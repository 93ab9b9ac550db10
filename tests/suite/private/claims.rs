//! What the paper's figures 3 and 4 claim, on a small problem, and what the corrected loss is worth.

use hushmesh::data::{self, Partitioned, Prepared};
use hushmesh::experiment::RunResult;
use hushmesh::measure::Metric;
use hushmesh::units::PeerId;

use super::{at_the_end, checked, error_of_mean, mean, run, series, ten_peers};

/// Ten peers with 150 samples each, six seeds; `noise` is what stands in the protocol's section.
fn figure(epsilon: f64, noise: &str) -> RunResult {
    run(&format!(
        "name: figure\nseed: 8\nrepeat: 6\ntopology: {}\n\
         data: {{source: {{linear-logistic: {{dimension: 6, norm: 6}}}}, \
         samples: {{per-peer: 150}}}}\n\
         model: {{loss: logistic, regularisation: 0.5}}\n\
         privacy: {{labels: {{epsilon: {epsilon}}}}}\n\
         protocol: {{admm: {{rounds: 250{noise}}}}}\n\
         measure: {{what: [consensus, risk]}}\n",
        ten_peers()
    ))
}

fn noise(radius: f64, decay: f64) -> String {
    format!(
        ", objective_noise: {{sphere: {{radius: {radius}}}}}, \
         primal_noise: {{deviation: 1, decay: {decay}}}"
    )
}

#[track_caller]
fn ascending(values: &[f64], what: &str) {
    assert!(values.is_sorted_by(|a, b| 1.02 * a < *b), "{what}: {values:?}");
}

#[test]
fn the_peers_agree_with_and_without_the_second_phase() {
    for noise in [String::new(), noise(1.0, 0.8)] {
        let result = figure(0.4, &noise);
        for repeat in 0..result.repeats.len() {
            let gap = series(&result, repeat, Metric::ConsensusGap);
            let greatest = gap.iter().copied().fold(0.0, f64::max);
            assert!(greatest > 0.1 && gap[249] < 1e-6, "{noise}: {greatest}, {}", gap[249]);
        }
    }
}

#[test]
fn the_final_risk_grows_with_the_objective_noise() {
    let of = |radius| mean(&at_the_end(&figure(0.4, &noise(radius, 0.8)), Metric::EmpiricalRisk));
    ascending(&[1.0, 5.0, 9.0].map(of), "risk at R = 1, 5, 9");
}

#[test]
fn noise_that_decays_slowly_takes_more_rounds() {
    // The round from which on the risk is within 1 % of its limit.
    let of = |decay| {
        let result = figure(0.4, &noise(1.0, decay));
        let settled = |repeat| {
            let risk = series(&result, repeat, Metric::EmpiricalRisk);
            let limit = risk[249];
            let outside = |risk: &f64| (risk - limit).abs() > 0.01 * limit;
            risk.iter().rposition(outside).map_or(1.0, |last| last as f64 + 2.0)
        };
        mean(&(0..result.repeats.len()).map(settled).collect::<Vec<_>>())
    };
    ascending(&[0.7, 0.8, 0.9].map(of), "rounds at ρ = .7, .8, .9");
}

#[test]
fn the_risk_falls_as_labels_are_protected_less() {
    let of = |epsilon| mean(&at_the_end(&figure(epsilon, ""), Metric::EmpiricalRisk));
    ascending(&[1.0, 0.4, 0.1].map(of), "risk at ε = 1, .4, .1");
}

/// Four peers with the same rows in each of 40 repeats, whose users answer anew.
fn answered(levels: &str, loss: &str) -> String {
    format!(
        "name: bias\nseed: 6\nrepeat: 40\ntopology: {{complete: {{peers: 4}}}}\n\
         data: {{source: {{linear-logistic: {{dimension: 3, norm: 4}}}}, \
         samples: {{per-peer: 100}}, fixed: true}}\n\
         model: {{loss: logistic, regularisation: 0.4, intercept: true}}\n\
         privacy: {{labels: {{epsilon: {levels}, loss: {loss}}}}}\n\
         protocol: {{admm: {{rounds: 300, tolerance: 1.0e-11}}}}\n\
         measure: {{what: [consensus, optimum], every: 300}}\n"
    )
}

/// The rows of these runs with the labels as they are.
fn rows() -> Prepared {
    let checked = checked(&answered("1", "plain"));
    let scenario = checked.scenario();
    let streams = scenario.data.streams(scenario.seed, 0);
    data::prepare(&scenario.data, 4, true, &streams, checked.base()).unwrap()
}

/// Σ_i ∇J_i(w) on the original labels.
fn clean_gradient(train: &Partitioned, a: f64, w: &[f64]) -> Vec<f64> {
    let mut gradient: Vec<f64> = w.iter().map(|w| a * w).collect();
    for i in 0..train.peers() {
        let local = train.local(PeerId::new(i));
        for (x, y) in local.x.rows().into_iter().zip(local.y) {
            let z: f64 = x.iter().zip(w).map(|(x, w)| x * w).sum();
            let slope = -y / (1.0 + (y * z).exp()) / local.y.len() as f64;
            gradient.iter_mut().zip(x).for_each(|(g, x)| *g += slope * x);
        }
    }
    gradient
}

/// For each coordinate, how many standard errors the mean over repeats of the clean gradient at the
/// final model is away from 0.
///
/// The logistic loss is linear in the label, so this gradient is (k y' − y)x/2 summed up, whatever
/// the model that the answers led to: with the corrected loss its mean is 0 exactly.
fn bias(result: &RunResult, train: &Partitioned) -> Vec<f64> {
    let gradient = |model: Vec<f64>| clean_gradient(train, 0.4, &model);
    let gradients: Vec<Vec<f64>> =
        result.repeats.iter().map(|repeat| gradient(repeat.mean_state())).collect();
    let of = |k: usize| {
        let values: Vec<f64> = gradients.iter().map(|gradient| gradient[k]).collect();
        (mean(&values) / error_of_mean(&values)).abs()
    };
    (0..4).map(of).collect()
}

#[test]
fn the_corrected_loss_is_unbiased_where_classes_protect_themselves_unequally() {
    let rows = rows();
    let mut levels = vec![1.0; rows.source_rows];
    for (&row, &label) in rows.rows.iter().zip(rows.train.everybody().y) {
        levels[row as usize] = if label > 0.0 { 0.5 } else { 2.0 };
    }
    let levels = format!("{{per-user: {levels:?}}}");
    let [unbiased, plain] = ["unbiased", "plain"].map(|loss| run(&answered(&levels, loss)));
    let found = bias(&unbiased, &rows.train);
    assert!(found.iter().all(|&errors| errors < 4.5), "{found:?} standard errors");
    let found = bias(&plain, &rows.train);
    assert!(found[3] > 30.0, "the plain loss takes one class for rarer: {found:?}");
    // The intercept, which the plain loss drives to the side of those who flip less.
    let intercept = |result: &RunResult| {
        mean(&result.repeats.iter().map(|repeat| repeat.mean_state()[3]).collect::<Vec<_>>())
    };
    let clean = unbiased.repeats[0].clean_optimum.as_ref().expect("the clean optimum")[3];
    let (unbiased, plain) = (intercept(&unbiased) - clean, intercept(&plain) - clean);
    assert!(plain < -0.3 && unbiased.abs() < 0.3 * plain.abs(), "{plain} {unbiased}");
}

#[test]
fn the_plain_loss_shrinks_the_model_and_the_corrected_one_does_not() {
    let rows = rows();
    let [unbiased, plain] = ["unbiased", "plain"].map(|loss| run(&answered("1", loss)));
    // The final model along the clean optimum, as a share of it.
    let share = |result: &RunResult| {
        let along = |repeat: &hushmesh::experiment::RepeatResult| {
            let clean = repeat.clean_optimum.as_ref().expect("the clean optimum");
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            dot(&repeat.mean_state(), clean) / dot(clean, clean)
        };
        result.repeats.iter().map(along).collect::<Vec<_>>()
    };
    let (corrected, shrunk) = (share(&unbiased), share(&plain));
    // 1/k = tanh(½) = .46 of every label is left.
    assert!((0.3..0.6).contains(&mean(&shrunk)), "{}", mean(&shrunk));
    let (center, error) = (mean(&corrected), error_of_mean(&corrected));
    assert!((center - 1.0).abs() < 4.0 * error + 0.05, "{center} ± {error}");
    let found = bias(&unbiased, &rows.train);
    assert!(found.iter().all(|&errors| errors < 4.5), "{found:?} standard errors");
    let found = bias(&plain, &rows.train);
    assert!(found.iter().any(|&errors| errors > 30.0), "{found:?} standard errors");
}
