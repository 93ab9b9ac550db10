//! Every family through its configuration.

use proptest::prelude::*;

use super::*;
use crate::units::Seed;

fn any_config() -> impl Strategy<Value = TopologyConfig> {
    let (peers, resample) = (0_usize..30, any::<bool>);
    let probability = prop::option::of(-0.5_f64..1.5);
    let links = prop::option::of(0_usize..200);
    prop_oneof![
        peers.clone().prop_map(|peers| TopologyConfig::Path { peers }),
        peers.clone().prop_map(|peers| TopologyConfig::Ring { peers }),
        peers.clone().prop_map(|peers| TopologyConfig::Star { peers }),
        peers.clone().prop_map(|peers| TopologyConfig::Complete { peers }),
        (peers.clone(), 0_usize..9)
            .prop_map(|(rows, columns)| TopologyConfig::Grid { rows, columns }),
        (peers.clone(), probability, links, resample()).prop_map(
            |(peers, probability, links, resample)| TopologyConfig::ErdosRenyi {
                peers,
                probability,
                links,
                resample
            }
        ),
        (peers.clone(), 0_usize..30, resample()).prop_map(|(peers, degree, resample)| {
            TopologyConfig::RandomRegular { peers, degree, resample }
        }),
        (peers.clone(), 0_usize..9)
            .prop_map(|(rows, columns)| TopologyConfig::Torus { rows, columns }),
        prop_oneof![0_usize..8, 24_usize..40]
            .prop_map(|dimension| TopologyConfig::Hypercube { dimension }),
        peers.clone().prop_map(|peers| TopologyConfig::BinaryTree { peers }),
        (peers.clone(), 0_usize..30, -0.5_f64..1.5, resample()).prop_map(
            |(peers, degree, rewiring, resample)| TopologyConfig::WattsStrogatz {
                peers,
                degree,
                rewiring,
                resample
            }
        ),
        (peers.clone(), 0_usize..30, resample()).prop_map(|(peers, links, resample)| {
            TopologyConfig::BarabasiAlbert { peers, links, resample }
        }),
        (peers.clone(), -0.5_f64..2.0, resample()).prop_map(|(peers, radius, resample)| {
            TopologyConfig::RandomGeometric { peers, radius, resample }
        }),
        (0_usize..9, 0_usize..9, 0_usize..9, resample()).prop_map(
            |(cliques, clique_size, bridges, closed)| TopologyConfig::Barbell {
                cliques,
                clique_size,
                bridges,
                closed
            }
        ),
        peers.clone().prop_map(|peers| TopologyConfig::Exponential { peers }),
        peers.prop_map(|peers| TopologyConfig::OnePeerExponential { peers }),
        (prop::collection::vec(0_usize..9, 0..5), -0.5_f64..1.5, -0.5_f64..1.5, resample())
            .prop_map(|(sizes, within, between, resample)| TopologyConfig::StochasticBlock {
                sizes,
                within,
                between,
                resample
            }),
    ]
}

proptest! {
    #[test]
    fn what_passes_the_check_is_built_connected_and_what_does_not_is_refused(
        config in any_config(), seed: u64,
    ) {
        let built = config.build(&Streams::new(Seed(seed), 0), Path::new("."));
        match built {
            Ok(graph) => {
                prop_assert_eq!(config.check(), []);
                prop_assert!(graph.require_connected().is_ok());
            }
            // Only chance may refuse what the check lets pass.
            Err(BuildError::Topology(TopologyError::NoConnectedGraph { .. })) => {
                let by_chance =
                    ["erdos-renyi", "watts-strogatz", "random-geometric", "stochastic-block"];
                prop_assert!(by_chance.contains(&config.family()));
                prop_assert_eq!(config.check(), []);
            }
            Err(_) => prop_assert_ne!(config.check(), []),
        }
    }

    #[test]
    fn a_section_reads_back_equal(config in any_config()) {
        let text = serde_yaml::with::singleton_map_recursive::serialize(
            &config,
            serde_yaml::value::Serializer,
        );
        let text = serde_yaml::to_string(&text.unwrap()).unwrap();
        prop_assert_eq!(parse(&text), config);
    }
}

fn parse(text: &str) -> TopologyConfig {
    let deserializer = serde_yaml::Deserializer::from_str(text);
    serde_yaml::with::singleton_map_recursive::deserialize(deserializer).expect(text)
}

fn streams() -> Streams {
    Streams::new(Seed(1), 0)
}

#[test]
fn every_family_reads_builds_and_has_a_label() {
    for (text, family, label, links) in [
        ("path: {peers: 10}", "path", "path of 10", 9),
        ("ring: {peers: 10}", "ring", "ring of 10", 10),
        ("star: {peers: 10}", "star", "star of 10", 9),
        ("complete: {peers: 10}", "complete", "complete graph of 10", 45),
        ("grid: {rows: 2, columns: 5}", "grid", "grid of 2 × 5", 13),
        (
            "erdos-renyi: {peers: 10, links: 13}",
            "erdos-renyi",
            "erdos-renyi, 10 peers, 13 links",
            13,
        ),
        (
            "erdos-renyi: {peers: 10, probability: 1, resample: true}",
            "erdos-renyi",
            "erdos-renyi, 10 peers, p = 1",
            45,
        ),
        (
            "random-regular: {peers: 10, degree: 4}",
            "random-regular",
            "random-regular, 10 peers, degree 4",
            20,
        ),
        ("torus: {rows: 3, columns: 4}", "torus", "torus of 3 × 4", 24),
        ("hypercube: {dimension: 4}", "hypercube", "hypercube of dimension 4", 32),
        ("binary-tree: {peers: 15}", "binary-tree", "binary tree of 15", 14),
        (
            "watts-strogatz: {peers: 12, degree: 4, rewiring: 0.25}",
            "watts-strogatz",
            "watts-strogatz, 12 peers, degree 4, rewiring 0.25",
            24,
        ),
        (
            "barabasi-albert: {peers: 12, links: 2}",
            "barabasi-albert",
            "barabasi-albert, 12 peers, 2 links each",
            20,
        ),
        (
            "random-geometric: {peers: 5, radius: 1.4142, resample: true}",
            "random-geometric",
            "random-geometric, 5 peers, radius 1.4142",
            10,
        ),
        (
            "barbell: {cliques: 2, clique_size: 5}",
            "barbell",
            "chain of 2 cliques of 5, 1 bridge",
            21,
        ),
        (
            "barbell: {cliques: 3, clique_size: 4, bridges: 2, closed: true}",
            "barbell",
            "ring of 3 cliques of 4, 2 bridges",
            24,
        ),
        ("exponential: {peers: 16}", "exponential", "exponential graph of 16", 56),
        (
            "one-peer-exponential: {peers: 16}",
            "one-peer-exponential",
            "one-peer exponential graph of 16",
            56,
        ),
        (
            "stochastic-block: {sizes: [3, 2], within: 1, between: 1}",
            "stochastic-block",
            "stochastic-block, 5 peers in 2 blocks, within 1, between 1",
            10,
        ),
        ("file: topologies/pdml-10.yaml", "file", "pdml-10", 13),
    ] {
        let config = parse(text);
        assert_eq!(config.family(), family);
        assert_eq!(config.label(), label);
        assert_eq!(config.resamples(), text.contains("resample"));
        assert_eq!(config.check(), []);
        let base = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(config.build(&streams(), base).unwrap().links(), links);
    }
}

#[test]
fn checks_name_every_field() {
    for (text, fields) in [
        ("ring: {peers: 0}", vec!["ring.peers"]),
        ("grid: {rows: 0, columns: 0}", vec!["grid.rows", "grid.columns"]),
        ("complete: {peers: 100000}", vec!["complete.peers"]),
        ("erdos-renyi: {peers: 10}", vec!["erdos-renyi.probability"]),
        (
            "erdos-renyi: {peers: 0, probability: 2, links: 3}",
            vec!["erdos-renyi.links", "erdos-renyi.peers", "erdos-renyi.probability"],
        ),
        (
            "erdos-renyi: {peers: 0, probability: .nan}",
            vec!["erdos-renyi.peers", "erdos-renyi.probability"],
        ),
        ("erdos-renyi: {peers: 10, links: 8}", vec!["erdos-renyi.links"]),
        ("random-regular: {peers: 5, degree: 3}", vec!["random-regular.degree"]),
        ("torus: {rows: 0, columns: 3}", vec!["torus.rows"]),
        ("hypercube: {dimension: 24}", vec!["hypercube.dimension"]),
        (
            "watts-strogatz: {peers: 9, degree: 3, rewiring: 2}",
            vec!["watts-strogatz.degree", "watts-strogatz.rewiring"],
        ),
        ("barabasi-albert: {peers: 5, links: 5}", vec!["barabasi-albert.links"]),
        ("random-geometric: {peers: 5, radius: 2}", vec!["random-geometric.radius"]),
        ("barbell: {cliques: 2, clique_size: 5, bridges: 6}", vec!["barbell.bridges"]),
        ("exponential: {peers: 16000000}", vec!["exponential.peers"]),
        (
            "stochastic-block: {sizes: [], within: 1, between: -1}",
            vec!["stochastic-block.sizes", "stochastic-block.between"],
        ),
        ("file: ''", vec!["file"]),
    ] {
        let config = parse(text);
        let problems = config.check();
        let named: Vec<_> = problems.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(named, fields, "{text}");
        assert!(problems.iter().all(|(_, message)| message.contains("expected")), "{text}");
        assert!(config.build(&streams(), Path::new(".")).is_err(), "{text}");
    }
}

#[test]
fn a_file_that_falls_apart_is_refused_by_its_components() {
    let folder = tempfile::tempdir().unwrap();
    let text = "peers: [ann, bo, cy]\nlinks: [[ann, bo]]\n";
    std::fs::write(folder.path().join("apart.yaml"), text).unwrap();
    let error = parse("file: apart.yaml").build(&streams(), folder.path()).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("apart.yaml: the graph is not connected"), "{error}");
    assert!(error.ends_with("2 components: {ann, bo} {cy}"), "{error}");
}

#[test]
fn no_process_begins_to_build_a_graph_of_a_thousand_million() {
    let ring = TopologyConfig::Ring { peers: 1_000_000_000 };
    assert!(ring.check().is_empty(), "several processes may have parts of it");
    let error = ring.build(&streams(), Path::new(".")).unwrap_err().to_string();
    assert!(error.contains("1000000000 is out of range; expected 1 to 16777216"), "{error}");
}

#[test]
fn unknown_fields_are_refused() {
    let deserializer = serde_yaml::Deserializer::from_str("ring: {peers: 3, size: 3}");
    let read: Result<TopologyConfig, _> =
        serde_yaml::with::singleton_map_recursive::deserialize(deserializer);
    assert!(read.unwrap_err().to_string().contains("unknown field `size`"));
}
