//! Noise-free walks come near the optimum that an independent solver finds.

use hushmesh::data;
use hushmesh::experiment::RunResult;
use hushmesh::learn::Loss;
use hushmesh::measure::Metric;

use super::{checked, run};
use crate::convergence::central;

fn yaml(model: &str, walk: &str) -> String {
    format!(
        "name: optimum\nseed: 12\ntopology: {{ring: {{peers: 5}}}}\n\
         data: {{source: {{linear-logistic: {{dimension: 3, norm: 3}}}}, samples: {{per-peer: 20}}, \
         preprocess: [unit-sphere]}}\n\
         model: {{loss: logistic, regularisation: {model}}}\n\
         protocol: {{walk-sgd: {{batch: 5, {walk}}}}}\n\
         measure: {{what: [optimum, risk, average], every: 1}}\n"
    )
}

fn samples(text: &str) -> data::Prepared {
    let checked = checked(text);
    let scenario = checked.scenario();
    let streams = scenario.data.streams(scenario.seed, 0);
    data::prepare(&scenario.data, 5, false, &streams, checked.base()).unwrap()
}

/// The mean logistic loss over all rows, with the ridge, and its gradient.
fn objective(rows: &data::Prepared, ridge: f64, w: &[f64]) -> (f64, Vec<f64>) {
    let all = rows.train.everybody();
    let count = all.y.len() as f64;
    let mut value = 0.5 * ridge * w.iter().map(|w| w * w).sum::<f64>();
    let mut gradient: Vec<f64> = w.iter().map(|w| ridge * w).collect();
    for (x, y) in all.x.rows().into_iter().zip(all.y) {
        let z: f64 = x.iter().zip(w).map(|(x, w)| x * w).sum();
        value += (-y * z).exp().ln_1p() / count;
        let slope = -y / (1.0 + (y * z).exp()) / count;
        gradient.iter_mut().zip(x).for_each(|(g, x)| *g += slope * x);
    }
    (value, gradient)
}

fn excess(result: &RunResult) -> Vec<f64> {
    let column = result.metrics.iter().position(|&m| m == Metric::ExcessRisk).unwrap();
    result.repeats[0].rows.iter().map(|row| row.values[column]).collect()
}

#[test]
fn many_strongly_convex_passes_come_near_it() {
    // From which update on: a Metropolis walk is at its floor early.
    for (walk, from) in [("uniform", 600), ("metropolis", 200)] {
        let text = yaml("0.5", &format!("walk: {walk}, passes: 300, step: strongly-convex"));
        let (rows, result) = (samples(&text), run(&text));
        let best = central(&rows.train, Loss::Logistic, 0.5);
        let (least, _) = objective(&rows, 0.1, &best);
        let found = &result.repeats[0].states;
        let (value, _) = objective(&rows, 0.1, found);
        let excess = excess(&result);
        let last = *excess.last().unwrap();
        assert!((last - (value - least)).abs() < 1e-9, "{last}, not {}", value - least);
        // 1/t at the best, with room for the walk's luck.
        let around = |t: usize| excess[t - 100..t].iter().sum::<f64>() / 100.0;
        let (early, late) = (around(from), around(6000));
        assert!(late < 0.3 * early && late > 0.0, "{walk}: {early} to {late}");
        assert!(last < 2e-3 * excess[0], "{walk}: {} to {last}", excess[0]);
        let far: f64 = found.iter().zip(&best).map(|(w, best)| (w - best).powi(2)).sum();
        assert!(far.sqrt() < 0.05, "{walk}: {}", far.sqrt());
    }
}

#[test]
fn projected_steps_come_near_the_best_model_of_a_ball() {
    let radius = 1.5;
    let walk = format!("passes: 300, radius: {radius}, step: {{inverse-sqrt: 1}}");
    let text = yaml("0", &walk);
    let (rows, result) = (samples(&text), run(&text));
    let mut best = vec![0.0; 3];
    for _ in 0..20_000 {
        let (_, gradient) = objective(&rows, 0.0, &best);
        best.iter_mut().zip(gradient).for_each(|(w, g)| *w -= 2.0 * g);
        let norm = best.iter().map(|w| w * w).sum::<f64>().sqrt();
        best.iter_mut().for_each(|w| *w *= (radius / norm).min(1.0));
    }
    let (least, _) = objective(&rows, 0.0, &best);
    let found = &result.repeats[0].states;
    let norm = found.iter().map(|w| w * w).sum::<f64>().sqrt();
    assert!(norm <= radius * (1.0 + 1e-12), "{norm}");
    let (value, _) = objective(&rows, 0.0, found);
    let excess = excess(&result);
    let last = *excess.last().unwrap();
    assert!((last - (value - least)).abs() < 1e-6, "{last}, not {}", value - least);
    assert!(excess.iter().all(|&above| above > -1e-7));
    assert!(last < 5e-3 && last < 0.05 * excess[0], "{} to {last}", excess[0]);
}
