//! One seed, one result, for parties that add up: whatever the workers, the engine and the links.

use hushmesh::experiment;
use hushmesh::scenario::Checked;

/// Every variant on short runs.
const PROTOCOLS: [&str; 20] = [
    "{weighted-erm: {variant: published, steps: 4, step: 0.5, noise: {epsilon: 1, constant: 8}, \
     weight_noise: {epsilon: 1}}}",
    "{weighted-erm: {variant: published, steps: 4, step: 0.5, noise: {epsilon: 1, shared: true}, \
     weight_noise: {epsilon: 1, shared: true}}}",
    "{weighted-erm: {variant: published, steps: 4, step: 0.5, noise: {epsilon: 1}, \
     sum: {over: {gossip: {exchanges: 3}}}}}",
    "{weighted-erm: {variant: published, steps: 3, step: 0.5}}",
    "{weighted-erm: {variant: local, steps: 4, step: 0.5, noise: {epsilon: 2}}}",
    "{weighted-erm: {variant: local, steps: 4, step: 0.5, noise: {epsilon: 2}, \
     sum: {over: {gossip: {exchanges: 2}}}}}",
    "{weighted-erm: {variant: local-output, steps: 4, step: 0.5, noise: {epsilon: 2}}}",
    "{weighted-erm: {variant: local-output, steps: 4, step: 0.5, noise: {epsilon: 2}, \
     sum: {over: {gossip: {exchanges: 5}}}}}",
    "{weighted-erm: {variant: masked-output, steps: 4, step: 0.5, noise: {epsilon: 1}}}",
    "{weighted-erm: {variant: masked-gradient, steps: 5, step: 0.5, noise: {epsilon: 1}}}",
    "{weighted-erm: {variant: masked-gradient, steps: 5, step: 0.5, noise: {epsilon: 1}, \
     sum: {root: 3, masks: wires, colluders: 2}}}",
    "{weighted-erm: {variant: jayaraman, steps: 5, step: 0.5, noise: {epsilon: 1}, \
     sum: {masks: none}}}",
    "{weighted-erm: {variant: central, steps: 5, step: 0.5, noise: {epsilon: 1}}}",
    "{federated: {variant: published, steps: 3, communications: 3, total_steps: 8, \
     noise: {epsilon: 1}}}",
    "{federated: {variant: published, steps: 2, communications: 3, \
     noise: {epsilon: 1, shared: true}, weights: uniform}}",
    "{federated: {variant: published, steps: 2, communications: 3, noise: {epsilon: 1}, \
     sum: {over: {gossip: {exchanges: 4}}}}}",
    "{federated: {variant: masked, steps: 3, communications: 3, total_steps: 8, \
     noise: {epsilon: 1}, sum: {masks: {graph: {ring: {peers: 9}}}}}}",
    "{gradient-queries: {updates: 4, algorithm: {averaged: 0.5}, box: 2, \
     noise: {mechanism: laplace, epsilon: 5}, spare_query: true}}",
    "{gradient-queries: {updates: 4, algorithm: {descent: {inverse: 0.5}}, \
     noise: {mechanism: gaussian, epsilon: [1, 2, 3, 4, 5, 6, 7, 8, 9]}, weights: precision, \
     learners: 3, trajectory: separate}}",
    "{gradient-queries: {updates: 4, algorithm: {descent: {constant: 0.2}}, \
     noise: {mechanism: laplace, epsilon: 5}, sum: {over: {gossip: {exchanges: 2}}}}}",
];

fn scenario(protocol: &str, topology: &str, seed: u64, engine: &str) -> String {
    format!(
        "name: sums
seed: {seed}
repeat: 2
topology: {topology}
data:
  source: {{linear-logistic: {{dimension: 3, norm: 2}}}}
  samples: {{per-peer: 9}}
  without: [0]
  partition: {{dirichlet-sizes: {{alpha: 4}}}}
  test_share: 0.2
  preprocess: [unit-ball]
model: {{loss: logistic, regularisation: 1}}
privacy: {{delta: 1.0e-5}}
protocol: {protocol}
network:
  {engine}
  links:
    latency: {{min: 0.0005, extra: {{log-normal: {{median: 0.001, sigma: 1}}}}}}
    loss: {{probability: 0.2, timeout: 0.002}}
"
    )
}

fn fingerprint(yaml: &str) -> String {
    let checked = Checked::from_text("test.yaml", yaml)
        .unwrap_or_else(|problems| panic!("{problems}\n{yaml}"));
    experiment::run(&checked).unwrap_or_else(|error| panic!("{error}\n{yaml}")).fingerprint
}

#[test]
fn every_variant_has_one_result_on_every_engine() {
    let graphs = ["{star: {peers: 9}}", "{erdos-renyi: {peers: 9, links: 14, resample: true}}"];
    let mut seen = Vec::new();
    for (place, protocol) in PROTOCOLS.iter().enumerate() {
        let topology = graphs[place % 2];
        let of = |seed, engine| fingerprint(&scenario(protocol, topology, seed, engine));
        let expected = of(1, "workers: 1");
        for engine in ["workers: 2", "workers: 5", "engine: threads"] {
            assert_eq!(of(1, engine), expected, "{engine} {protocol}");
        }
        assert_ne!(of(2, "workers: 1"), expected, "another seed: {protocol}");
        assert!(!seen.contains(&expected), "another protocol: {protocol}");
        seen.push(expected);
    }
}
