//! The graph files that come with the package, under `topologies/`: checked here, and rewritten by
//! `cargo test --lib rewrite_the_shipped_files -- --ignored`.

use std::path::{Path, PathBuf};

use super::{GraphFile, Summary, Topology, TopologyConfig};
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

/// Name, first line and graph of every shipped file.
fn shipped() -> Vec<(&'static str, String, Topology)> {
    let erdos_renyi = TopologyConfig::ErdosRenyi {
        peers: 10,
        probability: Some(0.3),
        links: None,
        resample: false,
    };
    let random_regular = TopologyConfig::RandomRegular { peers: 10, degree: 4, resample: false };
    let generated = [
        ("path-10", TopologyConfig::Path { peers: 10 }, ""),
        ("ring-10", TopologyConfig::Ring { peers: 10 }, ""),
        ("star-10", TopologyConfig::Star { peers: 10 }, "; peer 0 is the hub"),
        ("complete-10", TopologyConfig::Complete { peers: 10 }, ""),
        ("grid-2x5", TopologyConfig::Grid { rows: 2, columns: 5 }, ", numbered row by row"),
        ("erdos-renyi-10", erdos_renyi, ", one connected draw (seed 1)"),
        ("random-regular-10", random_regular, ", one connected draw (seed 1)"),
    ];
    let streams = Streams::new(Seed(1), 0);
    let mut files: Vec<_> = generated
        .into_iter()
        .map(|(name, config, more)| {
            let graph = config.build(&streams, Path::new(".")).unwrap();
            (name, format!("# The {}{more}.", config.label()), graph)
        })
        .collect();
    files.push((
        "pdml-10",
        "# Ten peers and thirteen links: an irregular sparse graph like those in the experiments \
         of PDML (arXiv 1908.01059)."
            .to_string(),
        Topology::from_links(10, PDML).unwrap(),
    ));
    files
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("topologies").join(format!("{name}.yaml"))
}

#[test]
#[ignore = "rewrites topologies/"]
fn rewrite_the_shipped_files() {
    for (name, comment, topology) in shipped() {
        let graph = GraphFile { name: Some(name.to_string()), topology };
        std::fs::write(file(name), format!("{comment}\n{}", graph.write())).unwrap();
    }
}

#[test]
fn shipped_files_hold_what_they_say() {
    for (name, comment, expected) in shipped() {
        let text = std::fs::read_to_string(file(name)).unwrap();
        assert_eq!(text.lines().next(), Some(comment.as_str()));
        let GraphFile { name: stated, topology } = GraphFile::read(&file(name)).unwrap();
        assert_eq!(stated.as_deref(), Some(name));
        assert!(topology.require_connected().is_ok(), "{name}");
        // A draw may change with the version of a random library; what it is a draw of may not.
        let summary = Summary::of(&topology);
        match name {
            "erdos-renyi-10" => assert_eq!(summary.peers, 10),
            "random-regular-10" => {
                assert_eq!(
                    (summary.peers, summary.least_degree, summary.greatest_degree),
                    (10, 4, 4)
                );
            }
            _ => assert_eq!(topology, expected, "{name}"),
        }
    }
}
