//! The law of a token's noise, through a whole run.

use super::run;

const D: usize = 3000;

/// One update of one batch of 4, with or without noise, in many dimensions.
fn model(noise: &str) -> Vec<f64> {
    let result = run(&format!(
        "name: law\nseed: 9\ntopology: {{path: {{peers: 1}}}}\n\
         data: {{source: {{linear-logistic: {{dimension: {D}, norm: 1}}}}, samples: {{total: 4}}, \
         preprocess: [unit-sphere]}}\n\
         model: {{loss: logistic, regularisation: 0}}\nprivacy: {{delta: 1.0e-5}}\n\
         protocol: {{walk-sgd: {{batch: 4, step: {{constant: 0.2}}{noise}}}}}\n\
         measure: {{what: [privacy]}}\n"
    ));
    result.repeats[0].states.clone()
}

#[test]
fn the_noise_of_an_update_has_its_law() {
    let clear = model("");
    let noisy = model(", noise: {epsilon: 0.5, calibration: classic}");
    // σ = √(2 ln(1.25/δ))/ε · 2ηL/b.
    let deviation = (2.0 * (1.25 / 1e-5_f64).ln()).sqrt() / 0.5 * 2.0 * 0.2 / 4.0;
    let standard: Vec<f64> =
        noisy.iter().zip(&clear).map(|(noisy, clear)| (noisy - clear) / deviation).collect();
    let count = D as f64;
    let moment = |k: i32| standard.iter().map(|z| z.powi(k)).sum::<f64>() / count;
    // Moments 0, 1, 0, 3, whose variances are 1, 2, 15 and 96 over the number of draws.
    for (k, expected, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
        let (found, error) = (moment(k), (variance / count).sqrt());
        assert!((found - expected).abs() < 5.0 * error, "moment {k}: {found}, not {expected}");
    }
    let neighbours: f64 = standard.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / count;
    assert!(neighbours.abs() < 5.0 / count.sqrt(), "coordinates go together: {neighbours}");
}
