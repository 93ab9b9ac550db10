//! One seed, one result, also where peers move from worker to worker in the middle of a run.

use std::sync::atomic::AtomicBool;

use super::{Options, RunResult, execute, resolve};
use crate::network::cut_anywhere;
use crate::scenario::Checked;

/// All that files are made of. Figures are compared by what they look like: NaN is not equal to itself.
fn told(result: &RunResult) -> String {
    let RunResult { repeats, observed, fingerprint, .. } = result;
    format!("{fingerprint} {repeats:?} {observed:?}")
}

fn moves_change_nothing(rest: &str) {
    let text = format!("name: moved\nseed: 1\n{rest}");
    let checked = Checked::from_text("moved.yaml", &text).unwrap();
    let run = |workers| {
        let (resolved, never) = (resolve(&checked).unwrap(), AtomicBool::new(false));
        let options = Options { workers: Some(workers) };
        told(&execute(&checked, resolved, options, None, &never, &mut |_| {}).unwrap())
    };
    let alone = run(1);
    for (workers, seed) in [(2, 1), (2, 2), (3, 3), (5, 4)] {
        let moved = cut_anywhere(seed, || run(workers));
        assert!(moved == alone, "{workers} workers, cuts {seed}: {rest}");
    }
}

#[test]
fn admm_with_noise_over_lossy_links_until_budgets_are_spent() {
    moves_change_nothing(
        "
topology: {random-regular: {peers: 30, degree: 4}}
data: {source: twonorm, samples: {per-peer: 8}, test_share: 0.3, preprocess: [unit-sphere]}
model: {loss: logistic, regularisation: 1}
protocol: {admm: {penalty: 0.3, rounds: 60, primal_noise: {deviation: 2, decay: 0.95}}}
network: {links: {latency: {min: 0.001, extra: {uniform: 0.01}}, loss: {probability: 0.1, timeout: 0.02}}}
measure: {stop: {epsilon: 4}}
",
    );
}

#[test]
fn admm_whose_messages_are_posted() {
    moves_change_nothing(
        "
topology: {random-geometric: {peers: 150, radius: 0.2}}
data: {source: {linear-regression: {dimension: 4, norm: 1, noise: 0.1, bound: 2}}, samples: {per-peer: 6}}
model: {loss: squared, regularisation: 1}
protocol: {admm: {penalty: 0.3, rounds: 30}}
measure: {every: 3, what: [consensus, optimum, risk, privacy, average]}
",
    );
}

#[test]
fn gradients_that_are_tracked_among_stragglers() {
    moves_change_nothing(
        "
topology: {star: {peers: 9}}
data: {source: twonorm, samples: {per-peer: 8}}
model: {loss: logistic, regularisation: 1}
protocol: {gradient-tracking: {step: 0.05, rounds: 30}}
network: {compute: {seconds_per_sample: 1.0e-4, speeds: {log-normal: {sigma: 1}}}}
",
    );
}

#[test]
fn gossip_over_random_latencies() {
    moves_change_nothing(
        "
topology: {grid: {rows: 3, columns: 4}}
data: {source: twonorm, samples: {per-peer: 8}, preprocess: [unit-sphere]}
model: {loss: logistic, regularisation: 1}
protocol: {weighted-erm: {variant: published, steps: 5, step: 1, noise: {epsilon: 2},
  weight_noise: {epsilon: 1}, sum: {over: {gossip: {exchanges: 7}}}}}
network: {links: {latency: {min: 0.001, extra: {uniform: 0.01}}}}
",
    );
}

#[test]
fn tokens_that_walk_and_queue() {
    moves_change_nothing(
        "
topology: {ring: {peers: 7}}
data: {source: {clusters: {classes: 4, dimension: 4, separation: 3}}, samples: {per-peer: 20},
  preprocess: [unit-sphere]}
model: {loss: logistic, regularisation: 1}
protocol: {walk-sgd: {batch: 2, passes: 2, step: {constant: 0.1}, noise: {epsilon: 1}}}
network: {links: {latency: {min: 0.001, extra: {uniform: 0.01}}, bandwidth: {up: 50000, down: 20000}}}
",
    );
}
