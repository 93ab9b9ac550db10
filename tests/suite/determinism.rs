//! One seed, one result: whatever the workers, the engine, the hour.

use crate::workbench::{SCENARIO, Workbench, assert_same_files};

/// What is set over the small scenario.
pub(crate) type Case = &'static [&'static str];

pub(crate) const LOSSY_RING: Case = &[
    "topology={ring: {peers: 9}}",
    "network.links.loss={probability: 0.2, timeout: 0.05}",
    "protocol.admm.penalty=auto",
];
pub(crate) const RANDOM_LATENCY_ON_A_STAR: Case = &[
    "topology={star: {peers: 8}}",
    "network.links.latency={min: 0.001, extra: {log-normal: {median: 0.005, sigma: 1}}}",
    "measure.stop={consensus_gap: 1.0e-3, dual_residual: 1.0e-2}",
    "protocol.admm.rounds=200",
];
pub(crate) const NARROW_GRID: Case =
    &["topology={grid: {rows: 3, columns: 4}}", "network.links.bandwidth={up: 5000, down: 2000}"];
pub(crate) const STRAGGLERS_THAT_ALL_KNOW_EACH_OTHER: Case = &[
    "topology={complete: {peers: 7}}",
    "network.compute={seconds_per_sample: 1.0e-4, speeds: {log-normal: {sigma: 1}}}",
    "data.preprocess=[standardise, unit-ball]",
];
pub(crate) const A_GRAPH_PER_REPEAT: Case = &[
    "topology={erdos-renyi: {peers: 12, links: 20, resample: true}}",
    "network.links.latency={min: 0.001, extra: {uniform: 0.01}}",
    "data={source: {linear-regression: {dimension: 4, norm: 1, noise: 0.1, bound: 2}}, \
     samples: {per-peer: 6}, test_share: 0.2}",
    "model.loss=squared",
];
/// More peers than one block of sums holds, so that sums cross from one worker to the next.
pub(crate) const SEVERAL_BLOCKS_WITH_EVERY_TROUBLE: Case = &[
    "topology={random-regular: {peers: 2100, degree: 4}}",
    "data={source: {linear-logistic: {dimension: 3, norm: 2}}, samples: {per-peer: 2}}",
    "network.links={latency: {min: 0.001, extra: {log-normal: {median: 0.002, sigma: 0.5}}}, \
     bandwidth: {up: 1.0e+5, down: 1.0e+5}, loss: {probability: 0.1}}",
    "network.compute={seconds_per_sample: 1.0e-4, speeds: {uniform: {low: 0.5, high: 2}}}",
    "measure.every=2",
];

pub(crate) const DESCENT_OVER_LOSSY_LINKS: Case = &[
    "topology={grid: {rows: 2, columns: 4}}",
    "protocol={gradient-descent: {step: 0.1, rounds: 30}}",
    "network.links.loss={probability: 0.1, timeout: 0.02}",
];
pub(crate) const TRACKING_AMONG_STRAGGLERS: Case = &[
    "topology={star: {peers: 6}}",
    "protocol={gradient-tracking: {rounds: 30}}",
    "network.compute={seconds_per_sample: 1.0e-4, speeds: {log-normal: {sigma: 1}}}",
];
pub(crate) const EVERY_NOISE: Case = &[
    "topology={erdos-renyi: {peers: 9, links: 14, resample: true}}",
    "data={source: twonorm, samples: {per-peer: 8}, test_share: 0.3, \
     preprocess: [clip: {norm: 4}], partition: {dirichlet-sizes: {alpha: 2}}}",
    "privacy={delta: 1.0e-6, labels: {epsilon: {drawn: {uniform: {low: 0.3, high: 2}}}}}",
    "protocol.admm.objective_noise={exponential: {rate: 3}}",
    "protocol.admm.primal_noise={deviation: [1, 2, 0.5, 1, 2, 0.5, 1, 2, 0.5], decay: 0.9}",
    "protocol.admm.rounds=30",
    "network.links.loss={probability: 0.1, timeout: 0.02}",
    "measure.what=[consensus, optimum, risk, train, test, privacy, average]",
];
pub(crate) const NOISE_UNTIL_THE_BUDGET_IS_SPENT: Case = &[
    "topology={star: {peers: 6}}",
    "data.preprocess=[unit-sphere]",
    "protocol.admm.primal_noise={deviation: [3, 1, 0.5, 2, 1, 4], decay: 0.95}",
    "protocol.admm.rounds=200",
    "network.links.latency={min: 0.001, extra: {uniform: 0.01}}",
    "measure.stop={epsilon: 4}",
];
pub(crate) const MASKED_SUMS_OVER_LOSSY_LINKS: Case = &[
    "topology={erdos-renyi: {peers: 9, links: 14, resample: true}}",
    "data={source: twonorm, samples: {per-peer: 8}, test_share: 0.3, \
     preprocess: [unit-sphere], partition: {random-sizes: {floor: 0.2}}, without: [4]}",
    "protocol={weighted-erm: {variant: masked-gradient, steps: 12, step: 1, \
     noise: {epsilon: 2}, sum: {root: 4, colluders: 1, masks: {graph: {ring: {peers: 9}}}}}}",
    "network.links.loss={probability: 0.2, timeout: 0.02}",
];
pub(crate) const GOSSIP_AMONG_STRAGGLERS: Case = &[
    "topology={grid: {rows: 2, columns: 4}}",
    "data.preprocess=[unit-sphere]",
    "protocol={weighted-erm: {variant: published, steps: 5, step: 1, noise: {epsilon: 2}, \
     weight_noise: {epsilon: 1}, sum: {over: {gossip: {exchanges: 7}}}}}",
    "network.links.latency={min: 0.001, extra: {uniform: 0.01}}",
    "network.compute={seconds_per_sample: 1.0e-4, speeds: {log-normal: {sigma: 1}}}",
];
pub(crate) const FEDERATED_WITH_LOCAL_STEPS_CHOSEN: Case = &[
    "topology={binary-tree: {peers: 7}}",
    "data.preprocess=[unit-sphere]",
    "protocol={federated: {variant: masked, communications: 6, noise: {epsilon: 1}}}",
    "network.links.latency={min: 0.001, extra: {log-normal: {median: 0.005, sigma: 1}}}",
];
pub(crate) const QUERIES_OF_SEVERAL_LEARNERS: Case = &[
    "topology={path: {peers: 6}}",
    "data.preprocess=[unit-sphere]",
    "model.loss=hinge",
    "protocol={gradient-queries: {updates: 9, algorithm: {averaged: 0.5}, spare_query: true, \
     learners: 3, trajectory: separate, weights: precision, sum: {root: 3}, \
     noise: {mechanism: laplace, epsilon: [1, 2, 3, 4, 5, 6]}}}",
    "network.links.bandwidth={up: 5000, down: 2000}",
];

/// Enough peers on alike links for their messages to be posted, and looked at ahead.
pub(crate) const MANY_WHO_POST: Case = &[
    "topology={random-regular: {peers: 2200, degree: 4}}",
    "data={source: {linear-logistic: {dimension: 3, norm: 2}}, samples: {per-peer: 2}}",
    "protocol.admm.rounds=12",
    "measure.every=3",
];
/// Numbers that say nothing about who is near whom: peers get other places.
pub(crate) const NEIGHBOURS_FAR_APART_IN_NUMBER: Case = &[
    "topology={random-geometric: {peers: 150, radius: 0.2}}",
    "data={source: {linear-regression: {dimension: 4, norm: 1, noise: 0.1, bound: 2}}, \
     samples: {per-peer: 6}, test_share: 0.2}",
    "model.loss=squared",
    "protocol.admm.rounds=20",
    "measure.what=[consensus, optimum, risk, privacy, average]",
];
/// Repeats that run side by side where there are workers for it.
pub(crate) const WALKS_SIDE_BY_SIDE: Case = &[
    "topology={ring: {peers: 5}}",
    "data.preprocess=[unit-sphere]",
    "protocol={walk-sgd: {batch: 2, passes: 2, step: {constant: 0.1}, noise: {epsilon: 1}}}",
    "network.links.latency={min: 0.001, extra: {uniform: 0.01}}",
];
/// Tokens of several tasks, which workers share out where nothing holds one up for another.
pub(crate) const TOKENS_APART: Case = &[
    "topology={ring: {peers: 5}}",
    "data={source: {clusters: {classes: 4, dimension: 4, separation: 3}}, \
     samples: {per-peer: 30}, test_share: 0.2, preprocess: [unit-sphere]}",
    "protocol={walk-sgd: {batch: 2, passes: 2, step: {constant: 0.1}, noise: {epsilon: 1}, \
     decision: {deep-q: {}}}}",
    "measure.what=[risk, privacy, average]",
];

fn set(case: Case, more: &[&'static str]) -> Vec<&'static str> {
    let repeat = "repeat=2";
    let all = case.iter().copied().chain([repeat]);
    all.flat_map(|change| ["--set", change]).chain(more.iter().copied()).collect()
}

/// Every file but the clock's, over workers, a second time, and from the resolved scenario.
fn is_one_result(case: Case, on_threads_too: bool) {
    let bench = Workbench::new();
    let first = bench.run(SCENARIO, "first", &set(case, &["--workers", "1"]));
    let expected = bench.files("first");
    for workers in ["1", "2", "3", "7"] {
        let out = format!("workers-{workers}");
        bench.run(SCENARIO, &out, &set(case, &["--workers", workers]));
        assert_same_files(&bench.files(&out), &expected, &out);
    }
    let fingerprint = &first["fingerprint"];
    let resolved = bench.run("first/scenario.yaml", "resolved", &[]);
    assert_eq!(resolved["fingerprint"], *fingerprint, "resolved scenario");
    if on_threads_too {
        let threads = bench.run(SCENARIO, "threads", &set(case, &["--engine", "threads"]));
        assert_eq!(threads["fingerprint"], *fingerprint, "threads");
        assert!(threads["metrics"]["sim_seconds"]["mean"].is_null(), "threads have no such clock");
    }
    let other = bench.run(SCENARIO, "other", &set(case, &["--set", "seed=2"]));
    assert_ne!(other["fingerprint"], *fingerprint, "another seed");
}

#[test]
fn two_thousand_peers_that_post() {
    is_one_result(MANY_WHO_POST, false);
}

#[test]
fn peers_in_another_order_than_their_numbers() {
    is_one_result(NEIGHBOURS_FAR_APART_IN_NUMBER, true);
}

#[test]
fn walks_in_repeats_side_by_side() {
    is_one_result(WALKS_SIDE_BY_SIDE, false);
}

#[test]
fn tokens_that_workers_share_out() {
    is_one_result(TOKENS_APART, false);
}

#[test]
fn a_ring_that_loses_messages() {
    is_one_result(LOSSY_RING, true);
}

#[test]
fn a_star_with_random_latency_that_stops_early() {
    is_one_result(RANDOM_LATENCY_ON_A_STAR, true);
}

#[test]
fn a_grid_of_narrow_links() {
    is_one_result(NARROW_GRID, true);
}

#[test]
fn a_complete_graph_with_stragglers() {
    is_one_result(STRAGGLERS_THAT_ALL_KNOW_EACH_OTHER, true);
}

#[test]
fn a_random_graph_drawn_for_every_repeat() {
    is_one_result(A_GRAPH_PER_REPEAT, true);
}

#[test]
fn two_thousand_peers_with_every_trouble() {
    is_one_result(SEVERAL_BLOCKS_WITH_EVERY_TROUBLE, false);
}

#[test]
fn gradient_descent_over_lossy_links() {
    is_one_result(DESCENT_OVER_LOSSY_LINKS, true);
}

#[test]
fn gradient_tracking_among_stragglers() {
    is_one_result(TRACKING_AMONG_STRAGGLERS, true);
}

#[test]
fn labels_objectives_and_messages_with_noise() {
    is_one_result(EVERY_NOISE, true);
}

#[test]
fn noise_until_the_budget_is_spent() {
    is_one_result(NOISE_UNTIL_THE_BUDGET_IS_SPENT, true);
}

#[test]
fn masked_sums_over_lossy_links() {
    is_one_result(MASKED_SUMS_OVER_LOSSY_LINKS, true);
}

#[test]
fn gossip_among_stragglers() {
    is_one_result(GOSSIP_AMONG_STRAGGLERS, true);
}

#[test]
fn federated_learning_with_local_steps_chosen() {
    is_one_result(FEDERATED_WITH_LOCAL_STEPS_CHOSEN, true);
}

#[test]
fn queries_of_several_learners() {
    is_one_result(QUERIES_OF_SEVERAL_LEARNERS, true);
}
