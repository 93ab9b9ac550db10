//! The graph files that come with the package, under `topologies/`: checked here, and rewritten by
//! `cargo test --lib rewrite_the_shipped_files -- --ignored`.

use std::path::{Path, PathBuf};

use super::{GraphFile, Topology, TopologyConfig};
use crate::random::Streams;
use crate::units::Seed;

/// The links of the ten-peer example graph.
const PDML: [(u32, u32); 13] = [
    (0, 3),
    (0, 4),
    (0, 9),
    (1, 6),
    (1, 8),
    (2, 8),
    (3, 9),
    (5, 7),
    (5, 8),
    (5, 9),
    (6, 8),
    (6, 9),
    (7, 9),
];

/// Name, title and graph of every shipped file.
fn shipped() -> Vec<(&'static str, &'static str, Topology)> {
    let erdos_renyi = TopologyConfig::ErdosRenyi {
        peers: 10,
        probability: Some(0.3),
        links: None,
        resample: false,
    };
    let random_regular = TopologyConfig::RandomRegular { peers: 10, degree: 4, resample: false };
    let watts_strogatz =
        TopologyConfig::WattsStrogatz { peers: 10, degree: 4, rewiring: 0.25, resample: false };
    let stochastic_block = TopologyConfig::StochasticBlock {
        sizes: vec![5, 5],
        within: 0.8,
        between: 0.1,
        resample: false,
    };
    let generated = [
        ("path-10", TopologyConfig::Path { peers: 10 }, "A path of ten peers."),
        ("ring-10", TopologyConfig::Ring { peers: 10 }, "A ring of ten peers."),
        ("star-10", TopologyConfig::Star { peers: 10 }, "A star: hub 0 and nine leaves."),
        ("complete-10", TopologyConfig::Complete { peers: 10 }, "Ten peers, all linked."),
        (
            "grid-2x5",
            TopologyConfig::Grid { rows: 2, columns: 5 },
            "A grid of two rows and five columns, numbered row by row.",
        ),
        (
            "erdos-renyi-10",
            erdos_renyi,
            "A connected Erdős–Rényi graph of ten peers, link probability 0.3, drawn with seed 1.",
        ),
        (
            "random-regular-10",
            random_regular,
            "A connected random graph of ten peers with four neighbours each, drawn with seed 1.",
        ),
        (
            "torus-2x5",
            TopologyConfig::Torus { rows: 2, columns: 5 },
            "A torus of two rows and five columns: two rings of five, linked rung by rung.",
        ),
        (
            "hypercube-16",
            TopologyConfig::Hypercube { dimension: 4 },
            "A hypercube of sixteen peers: linked where one bit of their numbers differs.",
        ),
        (
            "binary-tree-10",
            TopologyConfig::BinaryTree { peers: 10 },
            "A complete binary tree of ten peers, root 0.",
        ),
        (
            "watts-strogatz-10",
            watts_strogatz,
            "A small world: a ring of ten peers linked to the nearest four, each link rewired with \
             probability 0.25, drawn with seed 1.",
        ),
        (
            "barabasi-albert-10",
            TopologyConfig::BarabasiAlbert { peers: 10, links: 2, resample: false },
            "A scale-free graph of ten peers, two links per newcomer, drawn with seed 1.",
        ),
        (
            "random-geometric-10",
            TopologyConfig::RandomGeometric { peers: 10, radius: 0.45, resample: false },
            "Ten peers of the unit square, linked within 0.45, drawn with seed 1.",
        ),
        (
            "barbell-10",
            TopologyConfig::Barbell { cliques: 2, clique_size: 5, bridges: 1, closed: false },
            "The barbell: two complete graphs of five peers, joined by one link.",
        ),
        (
            "exponential-10",
            TopologyConfig::Exponential { peers: 10 },
            "The static exponential graph of ten peers: i is linked to i ± 1, 2, 4, 8 modulo 10.",
        ),
        (
            "one-peer-exponential-10",
            TopologyConfig::OnePeerExponential { peers: 10 },
            "All links that the one-peer exponential schedule of ten peers uses in turn.",
        ),
        (
            "stochastic-block-10",
            stochastic_block,
            "Two communities of five peers, link probability 0.8 within and 0.1 between, drawn \
             with seed 1.",
        ),
    ];
    let streams = Streams::new(Seed(1), 0);
    let mut files: Vec<_> = generated
        .into_iter()
        .map(|(name, config, title)| (name, title, config.build(&streams, Path::new(".")).unwrap()))
        .collect();
    files.push((
        "pdml-10",
        "Ten peers, thirteen links: our graph for the experiments of PDML (arXiv 1908.01059), \
         which gives none.",
        Topology::from_links(10, PDML).unwrap(),
    ));
    let thirteen = TopologyConfig::ErdosRenyi {
        peers: 10,
        probability: None,
        links: Some(13),
        resample: false,
    };
    files.push((
        "thirteen-links-10",
        "Ten peers, thirteen links, two or more for each: a connected random graph with an algebraic \
         connectivity of 0.60, drawn with seed 11.",
        thirteen.build(&Streams::new(Seed(11), 0), Path::new(".")).unwrap(),
    ));
    files
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("topologies").join(format!("{name}.yaml"))
}

/// The text that should be there.
fn text(name: &str, title: &str, topology: Topology) -> String {
    let graph = GraphFile { name: Some(name.to_string()), topology };
    format!("# {title}\n{}", graph.write())
}

#[test]
#[ignore = "rewrites topologies/"]
fn rewrite_the_shipped_files() {
    for (name, title, topology) in shipped() {
        std::fs::write(file(name), text(name, title, topology)).unwrap();
    }
}

#[test]
fn shipped_files_hold_what_they_say() {
    for (name, title, topology) in shipped() {
        let read = GraphFile::read(&file(name)).unwrap().topology;
        assert_eq!(read, topology, "{name}");
        assert!(read.require_connected().is_ok(), "{name}");
        let shipped = std::fs::read_to_string(file(name)).unwrap();
        assert_eq!(shipped, text(name, title, topology), "{name}");
    }
}
