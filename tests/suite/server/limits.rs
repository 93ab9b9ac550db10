//! Parties around a server at the edge of what is allowed.

use hushmesh::learn::distance;
use hushmesh::privacy::{MaskGraph, Observer, Piece};
use hushmesh::units::PeerId;

use super::{close, of, run};
use crate::workbench::{Workbench, assert_same_files};

const PROTOCOLS: [&str; 11] = [
    "{weighted-erm: {variant: published, steps: 3, step: 0.5, noise: {epsilon: 1}, \
     weight_noise: {epsilon: 1}}}",
    "{weighted-erm: {variant: local, steps: 3, step: 0.5, noise: {epsilon: 1}}}",
    "{weighted-erm: {variant: local-output, steps: 3, step: 0.5, noise: {epsilon: 1}}}",
    "{weighted-erm: {variant: masked-output, steps: 3, step: 0.5, noise: {epsilon: 1}}}",
    "{weighted-erm: {variant: masked-gradient, steps: 3, step: 0.5, noise: {epsilon: 1}}}",
    "{weighted-erm: {variant: jayaraman, steps: 3, step: 0.5, noise: {epsilon: 1}}}",
    "{weighted-erm: {variant: central, steps: 3, step: 0.5, noise: {epsilon: 1}}}",
    "{federated: {variant: published, steps: 2, communications: 2, noise: {epsilon: 1}}}",
    "{federated: {variant: masked, communications: 2, noise: {epsilon: 1}}}",
    "{gradient-queries: {updates: 3, algorithm: {averaged: 0.5}, \
     noise: {mechanism: laplace, epsilon: 1}}}",
    "{gradient-queries: {updates: 3, algorithm: {descent: {inverse: 1}}, spare_query: true, \
     noise: {mechanism: gaussian, epsilon: 1}}}",
];

const EDGE: &str = "\
name: edge
seed: 6
topology: {path: {peers: 5}}
data: {source: {linear-logistic: {dimension: 3, norm: 2}}, samples: {per-peer: 6}, test_share: 0.2}
model: {loss: logistic, regularisation: 0.5}
protocol: {weighted-erm: {variant: local, steps: 1, step: 1}}
";

#[test]
fn the_edges_of_what_is_allowed_run_to_the_end() {
    let bench = Workbench::new();
    bench.write("edge.yaml", EDGE);
    let mut case = 0;
    for protocol in PROTOCOLS {
        let protocol = format!("protocol={protocol}");
        for changes in [
            // One peer alone; one sample; one dimension.
            &["topology={path: {peers: 1}}"][..],
            &["topology={path: {peers: 1}}", "data.samples={total: 1}", "data.test_share=0"],
            &["data.source={linear-logistic: {dimension: 1, norm: 1}}"],
            &["topology={path: {peers: 2}}", "data.without=[1]"],
            // A party without rows, all rows at one party, fewer rows than parties.
            &["data.partition={ratio: [1, 0, 2, 0, 3]}"],
            &["data.partition={ratio: [0, 0, 0, 0, 1]}"],
            &["data.samples={total: 2}", "data.test_share=0"],
            // A server in the middle of a path.
            &["data.without=[2]"],
            &["data.partition=replicated"],
        ] {
            let all = [changes, &[protocol.as_str()]].concat();
            let set: Vec<&str> = all.iter().flat_map(|change| ["--set", *change]).collect();
            let (one, three) = (format!("{case}-one"), format!("{case}-three"));
            bench.run("edge.yaml", &one, &[&set[..], &["--workers", "1"]].concat());
            bench.run("edge.yaml", &three, &[&set[..], &["--workers", "3"]].concat());
            assert_same_files(&bench.files(&three), &bench.files(&one), &format!("{all:?}"));
            case += 1;
        }
    }
}

fn yaml(topology: &str, more: &str, protocol: &str) -> String {
    format!(
        "name: edge\nseed: 6\ntopology: {topology}\n\
         data: {{source: {{linear-logistic: {{dimension: 3, norm: 2}}}}, \
         samples: {{total: 30}}{more}}}\n\
         model: {{loss: logistic, regularisation: 0}}\nprotocol: {{{protocol}}}\n\
         network: {{workers: 1}}\nmeasure: {{what: [privacy]}}\n"
    )
}

/// The model that the first peer ends with.
fn model(topology: &str, more: &str, protocol: &str) -> Vec<f64> {
    let result = run(&yaml(topology, more, protocol));
    result.repeats[0].models().next().expect("a peer").to_vec()
}

#[test]
fn all_data_at_one_party_is_one_party_alone() {
    // Without regularisation, which is shared among peers, and without noise.
    for protocol in [
        "weighted-erm: {variant: published, steps: 5, step: 1}",
        "weighted-erm: {variant: masked-output, steps: 5, step: 1}",
        "weighted-erm: {variant: masked-gradient, steps: 5, step: 1}",
        "weighted-erm: {variant: jayaraman, steps: 5, step: 1}",
        "gradient-queries: {updates: 5, algorithm: {descent: {constant: 1}}}",
    ] {
        let alone = model("{path: {peers: 1}}", "", protocol);
        let among = model("{path: {peers: 4}}", ", partition: {ratio: [0, 0, 1, 0]}", protocol);
        let apart = distance(&alone, &among);
        assert!(apart < 1e-12, "{protocol}: {apart}");
    }
}

#[test]
fn a_server_anywhere_changes_nothing() {
    let protocol = "weighted-erm: {variant: masked-gradient, steps: 5, step: 1}";
    let hub = model("{star: {peers: 5}}", ", without: [0]", protocol);
    for root in 0..5 {
        let rooted = protocol.replace("step: 1", &format!("step: 1, sum: {{root: {root}}}"));
        let path = model("{path: {peers: 5}}", ", without: [0]", &rooted);
        assert!(distance(&hub, &path) < 1e-12, "{root}");
    }
}

#[test]
fn two_hundred_peers_with_a_mask_for_every_two() {
    let protocol = "weighted-erm: {variant: masked-gradient, steps: 2, step: 1, \
                    noise: {epsilon: 1}}";
    let with = |masks: &str| {
        let protocol = protocol.replace("}}", &format!("}}, sum: {{masks: {masks}}}}}"));
        run(&yaml("{star: {peers: 200}}", "", &protocol).replace("total: 30", "total: 400"))
    };
    let (masked, plain) = (with("all-pairs"), with("none"));
    // Masks cancel to the last bit.
    assert_eq!(masked.repeats[0].states, plain.repeats[0].states);
    let neighbour = |claims| of(claims, Observer::Neighbour, Piece::Features);
    assert!(neighbour(&masked.observed) < 1.01 && neighbour(&plain.observed) > 10.0);
}

#[test]
fn a_coalition_that_cuts_the_mask_graph_sees_the_sum_of_each_part() {
    let ids = |list: &[u32]| list.iter().map(|&id| PeerId(id)).collect::<Vec<_>>();
    // Two pairs that share no seed with each other: apart from the start.
    let lists = MaskGraph::Lists(vec![ids(&[1]), ids(&[0]), ids(&[3]), ids(&[2])]);
    assert_eq!(lists.components(&[]), [ids(&[0, 1]), ids(&[2, 3])]);
    assert_eq!(lists.components(&ids(&[3])), [ids(&[0, 1]), ids(&[2])]);
    // On a path of masks, a neighbour in the middle leaves the ends with as many as are beyond it.
    let protocol = "weighted-erm: {variant: masked-gradient, steps: 2, step: 1, \
                    noise: {epsilon: 1}, sum: {masks: wires}}";
    let result = run(&yaml("{path: {peers: 5}}", "", protocol));
    let others = of(&result.observed, Observer::OtherPeers, Piece::Features);
    let neighbour = of(&result.observed, Observer::Neighbour, Piece::Features);
    // The end of the path is alone when its neighbour is taken out.
    assert!(close(neighbour, others, 1e-9), "{neighbour}, {others}");
    let ring = protocol.replace("wires", "{graph: {ring: {peers: 5}}}");
    let result = run(&yaml("{path: {peers: 5}}", "", &ring));
    let neighbour = of(&result.observed, Observer::Neighbour, Piece::Features);
    assert!(neighbour < 0.7 * others, "{neighbour}, {others}");
}

#[test]
fn clips_and_steps_of_every_size_keep_the_promise() {
    for clip in ["1.0e-9", "1.0e-3", "1", "1.0e+9"] {
        for step in ["1.0e-9", "0.5", "7.9"] {
            for variant in ["local", "local-output", "masked-output", "masked-gradient", "central"]
            {
                let protocol = format!(
                    "weighted-erm: {{variant: {variant}, steps: 4, step: {step}, clip: {clip}, \
                     noise: {{epsilon: 0.3}}}}"
                );
                let text = yaml("{ring: {peers: 3}}", "", &protocol);
                let result = run(&text);
                for claims in [&result.statement.claims, &result.observed] {
                    let reader = of(claims, Observer::FinalModel, Piece::Features);
                    assert!(close(reader, 0.3, 1e-6), "{reader}\n{text}");
                }
                assert!(result.repeats[0].states.iter().all(|value| value.is_finite()), "{text}");
            }
        }
    }
}

#[test]
fn a_clip_beyond_all_gradients_is_none() {
    for variant in ["published", "masked-output", "masked-gradient"] {
        let protocol = format!("weighted-erm: {{variant: {variant}, steps: 4, step: 1}}");
        let clipped = protocol.replace("step: 1", "step: 1, clip: 1.0e+9");
        let plain = model("{ring: {peers: 3}}", "", &protocol);
        assert_eq!(model("{ring: {peers: 3}}", "", &clipped), plain, "{variant}");
    }
}

/// Steps that grow without bound end the run; cut to the bound of the sum they would look like a result.
#[test]
fn models_that_diverge_are_no_result() {
    let bench = Workbench::new();
    bench.write("edge.yaml", EDGE);
    for steps in [60, 1500] {
        let protocol = format!(
            "protocol={{weighted-erm: {{variant: local, steps: {steps}, step: 40, \
             noise: {{epsilon: 1}}}}}}"
        );
        let said = bench.hushmesh(&["run", "edge.yaml", "--set", &protocol]);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.stderr.contains("its steps diverge, expected smaller ones"), "{said:?}");
    }
}
