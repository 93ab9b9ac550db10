//! The law of the noise in what parties around a server make together, through whole runs.
//!
//! Rows of zeros have no gradient, so that models are noise alone: their variance over many coordinates
//! is the closed form, within five standard errors of it.

use hushmesh::experiment;
use hushmesh::privacy::gaussian_mu;
use hushmesh::protocol::federated::Schedule;
use hushmesh::scenario::Checked;
use hushmesh::units::{Delta, Epsilon};

use crate::workbench::Workbench;

const D: usize = 600;
const REPEATS: usize = 20;
const DELTA: f64 = 1e-5;
const EPSILON: f64 = 0.7;
const ETA: f64 = 0.5;
const T: f64 = 3.0;

/// n_j of four parties.
const SIZES: [f64; 4] = [6.0, 4.0, 1.0, 1.0];
const N: f64 = 12.0;

/// Where sums are made: all of them with the same four parties, in this order.
const PLACES: [&str; 4] = [
    "topology: {star: {peers: 5}}|without: [0]",
    "topology: {ring: {peers: 4}}|without: []",
    "topology: {path: {peers: 5}}|without: [2]",
    "topology: {complete: {peers: 4}}|without: []",
];

fn bench() -> Workbench {
    let bench = Workbench::new();
    let names: Vec<String> = (0..D).map(|i| format!("x{i}")).collect();
    let mut text = format!("{},y\n", names.join(","));
    for row in 0..N as usize {
        text.push_str(&"0,".repeat(D));
        text.push_str(if row % 2 == 0 { "1\n" } else { "-1\n" });
    }
    bench.write("zeros.csv", text);
    bench
}

/// Every coordinate of the first peer's last model, over all repeats.
#[track_caller]
fn coordinates(bench: &Workbench, place: &str, ridge: f64, loss: &str, protocol: &str) -> Vec<f64> {
    let (topology, without) = place.split_once('|').expect("two halves");
    let text = format!(
        "name: law\nseed: 8\nrepeat: {REPEATS}\n{topology}\n\
         data: {{source: {{csv: {{path: zeros.csv, label: y}}}}, \
         preprocess: [clip: {{norm: 1, order: l1}}], partition: {{ratio: [6, 4, 1, 1]}}, {without}}}\n\
         model: {{loss: {loss}, regularisation: {ridge}}}\nprivacy: {{delta: {DELTA:e}}}\n\
         protocol: {{{protocol}}}\nnetwork: {{workers: 1}}\nmeasure: {{what: [privacy]}}\n"
    );
    bench.write("law.yaml", &text);
    let checked = Checked::load(&bench.path("law.yaml"), &[])
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let result = experiment::run(&checked).unwrap_or_else(|error| panic!("{error}\n{text}"));
    result.repeats.iter().flat_map(|repeat| repeat.states[..D].to_vec()).collect()
}

/// Five standard errors of the mean and of the variance. The fourth moment of a Laplace number is 6, that
/// of a normal one 3, those of sums of them lie between.
#[track_caller]
fn has_variance(found: &[f64], expected: f64, fourth: f64, said: &str) {
    let count = found.len() as f64;
    let standard: Vec<f64> = found.iter().map(|z| z / expected.sqrt()).collect();
    let moment = |k: i32| standard.iter().map(|z| z.powi(k)).sum::<f64>() / count;
    assert!(moment(1).abs() < 5.0 / count.sqrt(), "{said}: mean {}", moment(1));
    let error = ((fourth - 1.0) / count).sqrt();
    assert!((moment(2) - 1.0).abs() < 5.0 * error, "{said}: variance {} of it", moment(2));
}

fn mu() -> f64 {
    gaussian_mu(Epsilon(EPSILON), Delta(DELTA))
}

/// σ of each of T releases of sensitivity D, exactly or by c = 8.
fn sigma(sensitivity: f64, releases: f64, constant: bool) -> f64 {
    if constant {
        0.5 * sensitivity * (8.0 * releases * (1.0 / DELTA).ln()).sqrt() / EPSILON
    } else {
        releases.sqrt() * sensitivity / mu()
    }
}

/// Σ of weights squared times something of n_j.
fn squares(weight: impl Fn(f64) -> f64, figure: impl Fn(f64) -> f64) -> f64 {
    SIZES.iter().map(|&n| weight(n).powi(2) * figure(n)).sum()
}

#[test]
fn the_noise_of_weighted_erm_has_its_law() {
    let bench = bench();
    for place in PLACES {
        for (constant, noise) in [(false, ""), (true, ", constant: 8")] {
            let run = |variant: &str, more: &str| {
                let protocol = format!(
                    "weighted-erm: {{variant: {variant}, steps: 3, step: 0.5, \
                     noise: {{epsilon: 0.7{noise}}}{more}}}"
                );
                coordinates(&bench, place, 0.0, "logistic", &protocol)
            };
            let samples = |n: f64| n / N;
            let uniform = |_: f64| 0.25;
            // The gradient of a record is at most 1: D = 2/n.
            let square = |d: f64, t: f64| sigma(d, t, constant).powi(2);
            let whole = square(2.0 / N, T);
            let steps = ETA * ETA * T;
            for (variant, more, expected) in [
                ("published", "", squares(samples, |_| steps * whole)),
                // D of the unweighted mean is that of the smallest party: 2/4.
                ("published", ", weights: uniform", squares(uniform, |_| steps * square(0.5, T))),
                ("local", "", squares(samples, |n| steps * square(2.0 / n, T))),
                ("local-output", "", squares(samples, |n| square(2.0 * ETA * T / n, 1.0))),
                ("masked-output", "", square(2.0 * ETA * T / N, 1.0)),
                ("masked-gradient", "", steps * whole),
                ("masked-gradient", ", sum: {masks: none}", steps * whole),
                ("masked-gradient", ", sum: {masks: wires}", steps * whole),
                // Four parties, of whom two may collude, add half of σ² each.
                ("masked-gradient", ", sum: {colluders: 2}", 2.0 * steps * whole),
                ("masked-gradient", ", weights: uniform", steps * square(0.5, T)),
                ("jayaraman", "", steps * square(0.5, T)),
                ("central", "", steps * whole),
            ] {
                let found = run(variant, more);
                let said = format!("{place}: {variant}{more}{noise}");
                has_variance(&found, expected, 3.0, &said);
            }
        }
    }
}

#[test]
fn noise_that_all_share_does_not_average_out() {
    let bench = bench();
    let protocol = "weighted-erm: {variant: published, steps: 3, step: 0.5, \
                    noise: {epsilon: 0.7, shared: true}}";
    let found = coordinates(&bench, PLACES[0], 0.0, "logistic", protocol);
    let expected = ETA * ETA * T * sigma(2.0 / N, T, false).powi(2);
    has_variance(&found, expected, 3.0, "shared");
}

#[test]
fn noise_on_weights_adds_to_the_variance() {
    // Σ(n_j/n + z_j)θ_j, everything independent and centred: Σ((n_j/n)² + σ_w²)·Var θ_j. Coordinates of a
    // repeat share the weights, so that only repeats count: the mean of 20 products of variances.
    let bench = bench();
    let protocol = "weighted-erm: {variant: published, steps: 3, step: 0.5, \
                    noise: {epsilon: 0.7}, weight_noise: {epsilon: 20}}";
    let found = coordinates(&bench, PLACES[0], 0.0, "logistic", protocol);
    let theta = ETA * ETA * T * sigma(2.0 / N, T, false).powi(2);
    let weight = 2.0 * (1.0 / DELTA).ln() / (N * 20.0).powi(2);
    let expected = squares(|n| n / N, |_| theta) + 4.0 * weight * theta;
    let square = found.iter().map(|z| z * z).sum::<f64>() / found.len() as f64;
    // The sum of squares of four normal weights around n_j/n.
    let spread = SIZES.iter().map(|n| 4.0 * (n / N).powi(2) * weight + 2.0 * weight * weight);
    let error = theta * (spread.sum::<f64>() / REPEATS as f64).sqrt();
    let coordinates = expected * (2.0 / found.len() as f64).sqrt();
    let within = 5.0 * error.hypot(coordinates);
    assert!((square - expected).abs() < within, "{square}, not {expected} ± {within}");
}

#[test]
fn a_ridge_forgets_noise() {
    // θ ← (1 − ηλ)θ − ηz, three times, with λ = a/peers.
    let bench = bench();
    let protocol = "weighted-erm: {variant: masked-gradient, steps: 3, step: 0.5, \
                    noise: {epsilon: 0.7}}";
    let found = coordinates(&bench, PLACES[1], 2.0, "logistic", protocol);
    let keep = (1.0 - ETA * 2.0 / 4.0_f64).powi(2);
    let variance = (ETA * sigma(2.0 / N, T, false)).powi(2) * (1.0 + keep + keep * keep);
    has_variance(&found, variance, 3.0, "ridge");
}

#[test]
fn the_noise_of_federated_learning_has_its_law() {
    let bench = bench();
    for place in PLACES {
        let peers = if place.contains("peers: 5") { 5.0 } else { 4.0 };
        let ridge = 0.4 / peers;
        let schedule = Schedule { strong: ridge, smooth: 0.25 + ridge, local_steps: 2 };
        let sigma = sigma(2.0 / N, 5.0, false);
        // Blocks of two, two and one step. θ shrinks by 1 − η_tλ in each.
        let (mut masked, mut published) = (0.0_f64, 0.0);
        for block in [&[1, 2][..], &[3, 4], &[5]] {
            for &t in block {
                let eta = schedule.step(t);
                let keep = (1.0 - eta * ridge).powi(2);
                masked *= keep;
                published = keep * published + (eta * sigma).powi(2);
            }
            let way: f64 = block.iter().map(|&t| schedule.step(t)).sum();
            masked += (way * sigma).powi(2) / block.len() as f64;
        }
        let averaged = squares(|n| n / N, |_| published);
        for (variant, more, noise, expected) in [
            ("masked", "", "", masked),
            ("masked", ", sum: {masks: none}", "", masked),
            ("masked", ", sum: {colluders: 1}", "", masked * 4.0 / 3.0),
            ("published", "", "", f64::NAN),
            ("published", "", ", shared: true", published),
        ] {
            let protocol = format!(
                "federated: {{variant: {variant}, steps: 2, communications: 3, total_steps: 5, \
                 noise: {{epsilon: 0.7{noise}}}{more}}}"
            );
            let found = coordinates(&bench, place, 0.4, "logistic", &protocol);
            // Independent noise averages out in each sum, and all parties shrink alike.
            let expected = if expected.is_nan() { averaged } else { expected };
            has_variance(&found, expected, 3.0, &format!("{place}: {variant}{more}{noise}"));
        }
    }
}

#[test]
fn the_noise_of_answers_has_its_law() {
    let bench = bench();
    for place in PLACES {
        let hub = if place.contains("without: [0]") {
            "[9, 0.7, 0.2, 0.4, 0.1]"
        } else if place.contains("without: [2]") {
            "[0.7, 0.2, 9, 0.4, 0.1]"
        } else {
            "[0.7, 0.2, 0.4, 0.1]"
        };
        let epsilons = [0.7, 0.2, 0.4, 0.1];
        let precision: Vec<f64> =
            SIZES.iter().zip(epsilons).map(|(n, epsilon)| (n * epsilon).powi(2)).collect();
        let all: f64 = precision.iter().sum();
        for (mechanism, more, queries, by_precision) in [
            ("laplace", "", 3.0, false),
            ("laplace", ", spare_query: true", 4.0, false),
            ("laplace", ", weights: precision", 3.0, true),
            ("gaussian", "", 3.0, false),
            ("gaussian", ", weights: precision, spare_query: true", 4.0, true),
        ] {
            let protocol = format!(
                "gradient-queries: {{updates: 3, algorithm: {{descent: {{constant: 0.5}}}}, \
                 noise: {{mechanism: {mechanism}, epsilon: {hub}}}{more}}}"
            );
            // With no margin the hinge has no gradient but on the row of zeros; the 1-norm is at most 1.
            let found = coordinates(&bench, place, 0.0, "hinge", &protocol);
            let expected: f64 = (0..4)
                .map(|l| {
                    let weight = if by_precision { precision[l] / all } else { SIZES[l] / N };
                    let moves = 2.0 / SIZES[l];
                    let variance = if mechanism == "laplace" {
                        // b = 2ΞQ/(nε).
                        2.0 * (moves * queries / epsilons[l]).powi(2)
                    } else {
                        let mu = gaussian_mu(Epsilon(epsilons[l]), Delta(DELTA));
                        queries * (moves / mu).powi(2)
                    };
                    weight * weight * variance * ETA * ETA * T
                })
                .sum();
            let fourth = if mechanism == "laplace" { 6.0 } else { 3.0 };
            has_variance(&found, expected, fourth, &format!("{place}: {mechanism}{more}"));
        }
    }
}

#[test]
fn gossip_changes_the_way_of_the_noise_and_not_its_law() {
    let bench = bench();
    let run = |sum: &str| {
        let protocol = format!(
            "weighted-erm: {{variant: local, steps: 3, step: 0.5, noise: {{epsilon: 0.7}}{sum}}}"
        );
        coordinates(&bench, PLACES[1], 0.0, "logistic", &protocol)
    };
    let (tree, gossip) = (run(""), run(", sum: {over: {gossip: {exchanges: 60}}}"));
    for (one, other) in tree.iter().zip(&gossip) {
        assert!((one - other).abs() < 1e-9 * (1.0 + one.abs()), "{one}, {other}");
    }
}

#[test]
fn neither_masks_nor_the_graph_nor_the_root_touch_a_model() {
    // The same draws by peer, on the same grid: the sums are the same to the last bit.
    let bench = bench();
    let run = |topology: &str, sum: &str| {
        let protocol = format!(
            "weighted-erm: {{variant: masked-gradient, steps: 3, step: 0.5, \
             noise: {{epsilon: 0.7}}, sum: {{{sum}}}}}"
        );
        coordinates(
            &bench,
            &format!("topology: {topology}|without: []"),
            0.0,
            "logistic",
            &protocol,
        )
    };
    let expected = run("{ring: {peers: 4}}", "masks: none");
    for topology in ["{ring: {peers: 4}}", "{star: {peers: 4}}", "{path: {peers: 4}}"] {
        for sum in
            ["masks: wires", "masks: all-pairs", "masks: {graph: {path: {peers: 4}}}", "root: 3"]
        {
            assert!(run(topology, sum) == expected, "{topology}, {sum}");
        }
    }
}
