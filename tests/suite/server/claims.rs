//! What the papers say of their learners, and what holds of it, by runs with fixed seeds.

use hushmesh::measure::Metric;

use super::{at_the_end, mean, run};

/// Regression in three dimensions; the clip is far beyond the residuals, so that risks are quadratic.
fn regression(repeat: u32, partition: &str, protocol: &str) -> String {
    format!(
        "name: claim\nseed: 21\nrepeat: {repeat}\ntopology: {{star: {{peers: 5}}}}\n\
         data: {{source: {{linear-regression: {{dimension: 3, norm: 1, noise: 0.1, bound: 2}}}}, \
         samples: {{total: 400}}, partition: {partition}, without: [0], fixed: true}}\n\
         model: {{loss: squared, regularisation: 0.001}}\nprivacy: {{delta: 1.0e-5}}\n\
         protocol: {{{protocol}}}\nnetwork: {{workers: 1}}\nmeasure: {{what: [optimum], every: 1000}}\n"
    )
}

fn erm(variant: &str, epsilon: f64) -> String {
    format!(
        "weighted-erm: {{variant: {variant}, steps: 6, step: 1, clip: 1000, \
         noise: {{epsilon: {epsilon}}}}}"
    )
}

fn gap(text: &str) -> f64 {
    mean(&at_the_end(&run(text), Metric::ExcessRisk))
}

#[test]
fn without_weights_the_gap_grows_with_the_square_of_the_unevenness() {
    let two = |u: f64| format!("{{two-groups: {{unevenness: {u}}}}}");
    let jayaraman = |u| gap(&regression(200, &two(u), &erm("jayaraman", 1.0)));
    let weighted = |u| gap(&regression(200, &two(u), &erm("masked-gradient", 1.0)));
    let (even, even_weighted) = (jayaraman(1.0), weighted(1.0));
    assert_eq!(even, even_weighted);
    // 400 = 2·160 + 2·40 rows for u = 4; 2·175 + 2·25 for u = 7.
    for (u, factor) in [(3.0, 4.0), (4.0, 6.25), (7.0, 16.0)] {
        let (found, ours) = (jayaraman(u) / even, weighted(u) / even);
        // D = 2G/(m·n_min) = 2G(1 + u)/(2n).
        assert!((found / factor - 1.0).abs() < 0.05, "{u}: {found}, not {factor}");
        assert!((ours - 1.0).abs() < 1e-6, "{u}: with weights {ours}");
    }
}

#[test]
fn at_equal_sizes_weights_change_nothing() {
    let of = |variant| {
        let result = run(&regression(3, "even", &erm(variant, 1.0)));
        result.repeats.into_iter().map(|repeat| repeat.states).collect::<Vec<_>>()
    };
    assert_eq!(of("jayaraman"), of("masked-gradient"));
}

#[test]
fn weighted_gradients_are_as_good_as_a_curator() {
    // The law of the noise is the same, its draws are not: the means of the gaps agree.
    let partition = "{two-groups: {unevenness: 4}}";
    let of = |variant| {
        let gaps =
            at_the_end(&run(&regression(400, partition, &erm(variant, 1.0))), Metric::ExcessRisk);
        let center = mean(&gaps);
        let squares = gaps.iter().map(|gap| (gap - center).powi(2)).sum::<f64>();
        (center, squares / (400.0 * 399.0))
    };
    let ((ours, a), (central, b)) = (of("masked-gradient"), of("central"));
    assert!((ours - central).abs() < 5.0 * (a + b).sqrt(), "{ours}, {central}");
    // Without noise they are the same.
    let clear = |variant: &str| {
        let protocol = erm(variant, 1.0).replace(", noise: {epsilon: 1}", "");
        run(&regression(1, partition, &protocol)).repeats[0].states.clone()
    };
    for (ours, central) in clear("masked-gradient").iter().zip(&clear("central")) {
        assert!((ours - central).abs() < 1e-13, "{ours}, {central}");
    }
}

#[test]
fn averaging_once_has_a_floor_where_labels_are_sorted() {
    // The intercept is what parties with one label each are wrong about.
    let gap = |partition: &str, steps: u32, variant: &str| {
        gap(&format!(
            "name: floor\nseed: 4\nrepeat: 3\ntopology: {{star: {{peers: 9}}}}\n\
             data: {{source: twonorm, samples: {{per-peer: 100}}, partition: {partition}, \
             without: [0], preprocess: [unit-sphere]}}\n\
             model: {{loss: logistic, regularisation: 0.01, intercept: true}}\n\
             protocol: {{weighted-erm: {{variant: {variant}, steps: {steps}, step: 1.9}}}}\n\
             network: {{workers: 1}}\nmeasure: {{what: [optimum], every: 100000}}\n"
        ))
    };
    let sorted = "{label-shards: {per_peer: 1}}";
    let floor = gap(sorted, 400, "masked-output");
    let iid = gap("even", 400, "masked-output");
    assert!(floor > 20.0 * iid, "{floor} where labels are sorted, {iid} where they are not");
    // More steps do not help; sums of gradients do not have it.
    let later = gap(sorted, 1600, "masked-output");
    assert!(later > 0.8 * floor, "{floor}, then {later}");
    let gradients = gap(sorted, 400, "masked-gradient");
    assert!(gradients < 0.05 * floor, "{gradients} by gradients, {floor} by models");
}

/// ψ of queries, the mean over repeats, where noise rules.
fn psi(rows: u32, epsilon: f64, mechanism: &str) -> f64 {
    let text = format!(
        "name: slope\nseed: 12\nrepeat: 150\ntopology: {{star: {{peers: 4}}}}\n\
         data: {{source: {{linear-regression: {{dimension: 2, norm: 1, noise: 0.1, bound: 2}}}}, \
         samples: {{total: {rows}}}, without: [0], fixed: true}}\n\
         model: {{loss: squared, regularisation: 0.001}}\nprivacy: {{delta: 1.0e-5}}\n\
         protocol: {{gradient-queries: {{updates: 10, algorithm: {{descent: {{constant: 1}}}}, \
         residual: 1000, noise: {{mechanism: {mechanism}, epsilon: {epsilon}}}}}}}\n\
         network: {{workers: 1}}\nmeasure: {{what: [optimum], every: 1000}}\n"
    );
    mean(&at_the_end(&run(&text), Metric::RelativeFitness))
}

#[test]
fn the_fitness_of_queries_falls_with_the_square_of_budget_and_rows() {
    for mechanism in ["laplace", "gaussian"] {
        let slope = |a: f64, b: f64, times: f64| (b / a).ln() / times.ln();
        let base = psi(1500, 1.0, mechanism);
        let budget = slope(base, psi(1500, 4.0, mechanism), 4.0);
        // A Gaussian's μ is not quite linear in ε.
        let within = if mechanism == "laplace" { 0.1 } else { 0.25 };
        assert!((budget + 2.0).abs() < within, "{mechanism}: {budget} in ε");
        let rows = slope(base, psi(6000, 1.0, mechanism), 4.0);
        assert!((rows + 2.0).abs() < 0.1, "{mechanism}: {rows} in n");
    }
}

#[test]
fn precision_weights_rescue_collaboration_with_small_cautious_owners() {
    let psi = |topology: &str, partition: &str, epsilon: &str, weights: &str| {
        let text = format!(
            "name: rescue\nseed: 13\nrepeat: 150\ntopology: {topology}\n\
             data: {{source: {{linear-regression: {{dimension: 2, norm: 1, noise: 0.1, bound: 2}}}}, \
             samples: {{total: 1500}}, partition: {partition}, fixed: true}}\n\
             model: {{loss: squared, regularisation: 0.001}}\n\
             protocol: {{gradient-queries: {{updates: 10, algorithm: {{descent: {{constant: 1}}}}, \
             residual: 1000, weights: {weights}, \
             noise: {{mechanism: laplace, epsilon: {epsilon}}}}}}}\n\
             network: {{workers: 1}}\nmeasure: {{what: [optimum], every: 1000}}\n"
        );
        mean(&at_the_end(&run(&text), Metric::RelativeFitness))
    };
    // n = 1200, 150, 150 and ε = 1, .02, .02: (1/n)√Σ1/ε² = .047, alone 1/1200.
    let partition = "{ratio: [8, 1, 1]}";
    let epsilon = "[1, 0.02, 0.02]";
    let alone = psi("{path: {peers: 1}}", "even", "0.8", "samples");
    let published = psi("{star: {peers: 3}}", partition, epsilon, "samples");
    let weighted = psi("{star: {peers: 3}}", partition, epsilon, "precision");
    // Alone at n·ε = 1200 as well: 1500 rows at .8.
    assert!(published > 100.0 * alone, "{published} together, {alone} alone");
    assert!(weighted < 1.15 * alone, "{weighted} by precision, {alone} alone");
}

#[test]
fn noise_in_the_averages_costs_no_more_than_noise_in_every_step() {
    // The same σ: shared noise of the published variant, one draw on each average of the masked one.
    // What is drawn within a block shrinks until its end, by ηh in each step, h the curvature: little
    // where steps have become short.
    let ratio = |shape: &str, epsilon: f64| {
        let gap = |variant: &str, shared: &str| {
            gap(&format!(
                "name: same\nseed: 5\nrepeat: 400\ntopology: {{star: {{peers: 5}}}}\n\
                 data: {{source: {{linear-logistic: {{dimension: 4, norm: 3}}}}, \
                 samples: {{total: 400}}, without: [0], fixed: true}}\n\
                 model: {{loss: logistic, regularisation: 0.5}}\n\
                 protocol: {{federated: {{variant: {variant}, {shape}, \
                 noise: {{epsilon: {epsilon}{shared}}}}}}}\n\
                 network: {{workers: 1}}\nmeasure: {{what: [optimum], every: 1000}}\n"
            ))
        };
        gap("masked", "") / gap("published", ", shared: true")
    };
    for epsilon in [0.1, 0.5] {
        let found = ratio("steps: 4, communications: 30, total_steps: 117", epsilon);
        assert!((0.85..1.15).contains(&found), "{epsilon}: {found}");
    }
    // In a run of 20 steps of about .7 it is a third more.
    let short = ratio("steps: 4, communications: 5", 0.1);
    assert!((1.1..1.5).contains(&short), "{short}");
}
