//! The `topology` section of a scenario.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::erdos_renyi::{self, Density};
use super::file::{FileError, GraphFile};
use super::graph::{Topology, TopologyError};
use super::parameter::{self, Problem};
use super::{complete, grid, random_regular};
use crate::random::Streams;

/// Who is linked to whom: a family of graphs with its parameters, or a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum TopologyConfig {
    /// Peers in a row, each linked to the next.
    Path {
        /// Number of peers, 1 to 16,777,216.
        peers: usize,
    },
    /// A path whose ends are linked. Two peers share one link, one peer has none.
    Ring {
        /// Number of peers, 1 to 16,777,216.
        peers: usize,
    },
    /// Peer 0 is linked to all others, and they to it alone.
    Star {
        /// Number of peers, the hub among them, 1 to 16,777,216.
        peers: usize,
    },
    /// Everybody is linked to everybody.
    Complete {
        /// Number of peers, 1 to 16,384.
        peers: usize,
    },
    /// Rows and columns of peers, linked to those beside, above and below; it does not wrap around.
    Grid {
        /// Number of rows, at least 1; rows × columns is at most 16,777,216.
        rows: usize,
        /// Number of columns, at least 1.
        columns: usize,
    },
    /// Links between random pairs, drawn again until the graph is connected (100 times at most).
    /// Exactly one of `probability` and `links` is given.
    ErdosRenyi {
        /// Number of peers, 1 to 16,777,216.
        peers: usize,
        /// Probability of each link, above 0 and at most 1; connected graphs are likely above
        /// ln(peers) / peers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probability: Option<f64>,
        /// Exact number of links, peers − 1 to peers (peers − 1) / 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        links: Option<usize>,
        /// Whether every repeat draws its own graph. Default: false, one graph for all.
        #[serde(default)]
        resample: bool,
    },
    /// A random connected graph in which everybody has the same number of neighbours.
    RandomRegular {
        /// Number of peers, 1 to 16,777,216.
        peers: usize,
        /// Neighbours of each peer: 2 to peers − 1, and even where the number of peers is odd (1
        /// for two peers, 0 for one).
        degree: usize,
        /// Whether every repeat draws its own graph. Default: false, one graph for all.
        #[serde(default)]
        resample: bool,
    },
    /// A graph file in YAML; a relative path starts from the scenario's folder.
    File(PathBuf),
}

/// Why a topology could not be built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The generator refused.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The file is not a graph file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file's graph cannot be used.
    #[error("{}: {reason}", file.display())]
    Unusable {
        /// The file.
        file: PathBuf,
        /// What is wrong with its graph.
        reason: TopologyError,
    },
}

impl TopologyConfig {
    /// The name of the family, as it is written in a scenario.
    pub fn family(&self) -> &'static str {
        match self {
            Self::Path { .. } => "path",
            Self::Ring { .. } => "ring",
            Self::Star { .. } => "star",
            Self::Complete { .. } => "complete",
            Self::Grid { .. } => "grid",
            Self::ErdosRenyi { .. } => "erdos-renyi",
            Self::RandomRegular { .. } => "random-regular",
            Self::File(_) => "file",
        }
    }

    /// A short name for people: `ring of 10`; of a file, its stem.
    pub fn label(&self) -> String {
        match self {
            Self::Path { peers } => format!("path of {peers}"),
            Self::Ring { peers } => format!("ring of {peers}"),
            Self::Star { peers } => format!("star of {peers}"),
            Self::Complete { peers } => format!("complete graph of {peers}"),
            Self::Grid { rows, columns } => format!("grid of {rows} × {columns}"),
            Self::ErdosRenyi { peers, probability, links, .. } => {
                let mut label = format!("erdos-renyi, {peers} peers");
                if let Some(p) = probability {
                    label += &format!(", p = {p}");
                }
                if let Some(links) = links {
                    label += &format!(", {links} links");
                }
                label
            }
            Self::RandomRegular { peers, degree, .. } => {
                format!("random-regular, {peers} peers, degree {degree}")
            }
            Self::File(path) => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }

    /// Whether every repeat draws its own graph.
    pub fn resamples(&self) -> bool {
        match self {
            Self::ErdosRenyi { resample, .. } | Self::RandomRegular { resample, .. } => *resample,
            _ => false,
        }
    }

    /// Everything wrong with the parameters: the field, relative to this section, with what is
    /// wrong and what was expected. Opens no file.
    pub fn check(&self) -> Vec<(String, String)> {
        let problems: Vec<Problem> = match *self {
            Self::Path { peers } | Self::Ring { peers } | Self::Star { peers } => {
                parameter::count("peers", peers).into_iter().collect()
            }
            Self::Complete { peers } => complete::problem(peers).into_iter().collect(),
            Self::Grid { rows, columns } => grid::problems(rows, columns),
            Self::ErdosRenyi { peers, probability, links, .. } => {
                let given = probability.map(Density::Probability);
                let given = given.into_iter().chain(links.map(Density::Links));
                let both = density(probability, links).err();
                both.into_iter().chain(erdos_renyi::problems(peers, given)).collect()
            }
            Self::RandomRegular { peers, degree, .. } => random_regular::problems(peers, degree),
            Self::File(ref path) if path.file_name().is_none() => {
                let message = format!("{:?} names no file; expected a graph file", path.display());
                return vec![("file".to_string(), message)];
            }
            Self::File(_) => Vec::new(),
        };
        let family = self.family();
        problems
            .into_iter()
            .map(|(field, message)| (format!("{family}.{field}"), message))
            .collect()
    }

    /// Builds the graph; it is connected. A relative file starts from `base`.
    ///
    /// # Errors
    /// What [`check`](Self::check) finds, no connected graph within 100 attempts, a file that
    /// cannot be read, is not a graph file, or holds a graph that is not connected.
    pub fn build(&self, streams: &Streams, base: &Path) -> Result<Topology, BuildError> {
        let topology = match *self {
            Self::Path { peers } => super::path(peers)?,
            Self::Ring { peers } => super::ring(peers)?,
            Self::Star { peers } => super::star(peers)?,
            Self::Complete { peers } => super::complete(peers)?,
            Self::Grid { rows, columns } => super::grid(rows, columns)?,
            Self::ErdosRenyi { peers, probability, links, .. } => {
                let density = density(probability, links)
                    .map_err(|(field, message)| TopologyError::Parameter { field, message })?;
                super::erdos_renyi(peers, density, streams)?
            }
            Self::RandomRegular { peers, degree, .. } => {
                super::random_regular(peers, degree, streams)?
            }
            Self::File(ref path) => {
                let file = base.join(path);
                let topology = GraphFile::read(&file)?.topology;
                topology
                    .require_connected()
                    .map_err(|reason| BuildError::Unusable { file, reason })?;
                topology
            }
        };
        Ok(topology)
    }
}

/// The one of the two that is given.
fn density(probability: Option<f64>, links: Option<usize>) -> Result<Density, Problem> {
    match (probability, links) {
        (Some(p), None) => Ok(Density::Probability(p)),
        (None, Some(links)) => Ok(Density::Links(links)),
        (Some(_), Some(_)) => {
            Err(("links", "given beside probability; expected exactly one of the two".to_string()))
        }
        (None, None) => Err((
            "probability",
            "neither probability nor links is given; expected exactly one of the two".to_string(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::Seed;

    fn any_config() -> impl Strategy<Value = TopologyConfig> {
        let (peers, resample) = (0_usize..30, any::<bool>());
        let probability = prop::option::of(-0.5_f64..1.5);
        let links = prop::option::of(0_usize..200);
        prop_oneof![
            peers.clone().prop_map(|peers| TopologyConfig::Path { peers }),
            peers.clone().prop_map(|peers| TopologyConfig::Ring { peers }),
            peers.clone().prop_map(|peers| TopologyConfig::Star { peers }),
            peers.clone().prop_map(|peers| TopologyConfig::Complete { peers }),
            (peers.clone(), 0_usize..9)
                .prop_map(|(rows, columns)| TopologyConfig::Grid { rows, columns }),
            (peers.clone(), probability, links, resample).prop_map(
                |(peers, probability, links, resample)| TopologyConfig::ErdosRenyi {
                    peers,
                    probability,
                    links,
                    resample
                }
            ),
            (peers, 0_usize..30, resample).prop_map(|(peers, degree, resample)| {
                TopologyConfig::RandomRegular { peers, degree, resample }
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
                    prop_assert_eq!(config.family(), "erdos-renyi");
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
    fn unknown_fields_are_refused() {
        let deserializer = serde_yaml::Deserializer::from_str("ring: {peers: 3, size: 3}");
        let read: Result<TopologyConfig, _> =
            serde_yaml::with::singleton_map_recursive::deserialize(deserializer);
        assert!(read.unwrap_err().to_string().contains("unknown field `size`"));
    }
}
