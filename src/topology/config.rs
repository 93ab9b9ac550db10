//! The `topology` section of a scenario.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::erdos_renyi::{self, Density};
use super::file::{FileError, GraphFile};
use super::graph::{Topology, TopologyError};
use super::parameter::{self, MOST_PEERS, Problem};
use super::{
    barabasi_albert, barbell, complete, exponential, grid, hypercube, random_geometric,
    random_regular, stochastic_block, watts_strogatz,
};
use crate::random::Streams;

/// Who is linked to whom: a family of graphs with its parameters, or a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum TopologyConfig {
    /// Peers in a row, each linked to the next.
    Path {
        /// Number of peers, 1 to 1,073,741,823.
        peers: usize,
    },
    /// A path whose ends are linked. Two peers share one link, one peer has none.
    Ring {
        /// Number of peers, 1 to 1,073,741,823.
        peers: usize,
    },
    /// Peer 0 is linked to all others, and they to it alone.
    Star {
        /// Number of peers, the hub among them, 1 to 1,073,741,823.
        peers: usize,
    },
    /// Everybody is linked to everybody.
    Complete {
        /// Number of peers, 1 to 16,384.
        peers: usize,
    },
    /// Rows and columns of peers, linked to those beside, above and below; it does not wrap around.
    Grid {
        /// Number of rows, at least 1; rows × columns is at most 1,073,741,823, or 16,777,216 where
        /// columns are twice as many as rows or more.
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
    /// A grid that wraps around: everybody has four neighbours where both sides are 3 or more.
    Torus {
        /// Number of rows, at least 1; rows × columns is at most 1,073,741,823, or 16,777,216 where
        /// columns are twice as many as rows or more.
        rows: usize,
        /// Number of columns, at least 1.
        columns: usize,
    },
    /// 2^dimension peers; those whose numbers differ in one bit are linked.
    Hypercube {
        /// The dimension, 0 to 23: everybody's number of neighbours.
        dimension: usize,
    },
    /// A complete binary tree with root 0: every level is full but perhaps the last.
    BinaryTree {
        /// Number of peers, 1 to 1,073,741,823.
        peers: usize,
    },
    /// A small world: a ring where everybody is linked to the nearest `degree` peers, with links
    /// rewired at random; drawn again until it is connected (100 times at most).
    WattsStrogatz {
        /// Number of peers, 3 to 16,777,216.
        peers: usize,
        /// Neighbours of each peer before rewiring, an even number from 2 to peers − 1.
        degree: usize,
        /// Probability that a link's farther end moves to a random peer, 0 to 1.
        rewiring: f64,
        /// Whether every repeat draws its own graph. Default: false, one graph for all.
        #[serde(default)]
        resample: bool,
    },
    /// A scale-free graph, grown from a star of links + 1 peers: every newcomer is linked to peers
    /// drawn in proportion to their degrees. Always connected.
    BarabasiAlbert {
        /// Number of peers, 2 to 16,777,216.
        peers: usize,
        /// Links that each newcomer brings, 1 to peers − 1.
        links: usize,
        /// Whether every repeat draws its own graph. Default: false, one graph for all.
        #[serde(default)]
        resample: bool,
    },
    /// Peers scattered over the unit square, linked where they are within the radius; drawn again
    /// until the graph is connected (100 times at most).
    RandomGeometric {
        /// Number of peers, 1 to 16,777,216.
        peers: usize,
        /// Reach, in sides of the square, above 0 and at most √2; connected graphs are likely above
        /// √(ln(peers) / (π peers)).
        radius: f64,
        /// Whether every repeat draws its own graph. Default: false, one graph for all.
        #[serde(default)]
        resample: bool,
    },
    /// Complete graphs in a chain, neighbours joined by bridges; two are the barbell.
    Barbell {
        /// Number of cliques, 2 or more (3 where closed).
        cliques: usize,
        /// Peers in each clique, at least 1; cliques × clique_size is at most 16,777,216.
        clique_size: usize,
        /// Links between neighbouring cliques, 1 to clique_size. Default: 1.
        #[serde(default = "one")]
        bridges: usize,
        /// Whether the last clique is joined with the first, a ring of cliques. Default: false.
        #[serde(default)]
        closed: bool,
    },
    /// The static exponential graph: i is linked to i ± 2^k modulo the number of peers.
    Exponential {
        /// Number of peers, 1 to about 5,900,000 (134,217,728 links).
        peers: usize,
    },
    /// The links of the one-peer exponential graph, which are those of `exponential`. That a peer
    /// uses only one of them in each round is a schedule: a protocol that does not follow it uses
    /// them all.
    OnePeerExponential {
        /// Number of peers, 1 to about 5,900,000; a power of two averages exactly.
        peers: usize,
    },
    /// Communities with more links inside than between them; drawn again until the graph is
    /// connected (100 times at most).
    StochasticBlock {
        /// Number of peers of each block: 1 to 4,096 blocks of 1 peer or more, 16,777,216 in all.
        sizes: Vec<usize>,
        /// Probability of a link between two peers of the same block, 0 to 1.
        within: f64,
        /// Probability of a link between two peers of different blocks, above 0 and at most 1.
        between: f64,
        /// Whether every repeat draws its own graph. Default: false, one graph for all.
        #[serde(default)]
        resample: bool,
    },
    /// A graph file; a relative path starts from the scenario's folder. Its extension says what it
    /// is: YAML (.yaml, .yml), a list of links (.txt, .edges) or GraphML (.graphml).
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
            Self::Torus { .. } => "torus",
            Self::Hypercube { .. } => "hypercube",
            Self::BinaryTree { .. } => "binary-tree",
            Self::WattsStrogatz { .. } => "watts-strogatz",
            Self::BarabasiAlbert { .. } => "barabasi-albert",
            Self::RandomGeometric { .. } => "random-geometric",
            Self::Barbell { .. } => "barbell",
            Self::Exponential { .. } => "exponential",
            Self::OnePeerExponential { .. } => "one-peer-exponential",
            Self::StochasticBlock { .. } => "stochastic-block",
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
            Self::Torus { rows, columns } => format!("torus of {rows} × {columns}"),
            Self::Hypercube { dimension } => format!("hypercube of dimension {dimension}"),
            Self::BinaryTree { peers } => format!("binary tree of {peers}"),
            Self::WattsStrogatz { peers, degree, rewiring, .. } => {
                format!("watts-strogatz, {peers} peers, degree {degree}, rewiring {rewiring}")
            }
            Self::BarabasiAlbert { peers, links, .. } => {
                format!("barabasi-albert, {peers} peers, {links} links each")
            }
            Self::RandomGeometric { peers, radius, .. } => {
                format!("random-geometric, {peers} peers, radius {radius}")
            }
            Self::Barbell { cliques, clique_size, bridges, closed } => {
                let shape = if *closed { "ring" } else { "chain" };
                let bridges =
                    if *bridges == 1 { "1 bridge" } else { &format!("{bridges} bridges") };
                format!("{shape} of {cliques} cliques of {clique_size}, {bridges}")
            }
            Self::Exponential { peers } => format!("exponential graph of {peers}"),
            Self::OnePeerExponential { peers } => format!("one-peer exponential graph of {peers}"),
            Self::StochasticBlock { sizes, within, between, .. } => {
                let peers = sizes.iter().fold(0_usize, |sum, &size| sum.saturating_add(size));
                let blocks = format!("{peers} peers in {} blocks", sizes.len());
                format!("stochastic-block, {blocks}, within {within}, between {between}")
            }
            Self::File(path) => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }

    /// Whether every repeat draws its own graph.
    pub fn resamples(&self) -> bool {
        match self {
            Self::ErdosRenyi { resample, .. }
            | Self::RandomRegular { resample, .. }
            | Self::WattsStrogatz { resample, .. }
            | Self::BarabasiAlbert { resample, .. }
            | Self::RandomGeometric { resample, .. }
            | Self::StochasticBlock { resample, .. } => *resample,
            _ => false,
        }
    }

    /// Everything wrong with the parameters: the field, relative to this section, with what is
    /// wrong and what was expected. Opens no file.
    pub fn check(&self) -> Vec<(String, String)> {
        let problems: Vec<Problem> = match *self {
            Self::Path { peers }
            | Self::Ring { peers }
            | Self::Star { peers }
            | Self::BinaryTree { peers } => {
                parameter::count_by_number("peers", peers).into_iter().collect()
            }
            Self::Complete { peers } => complete::problem(peers).into_iter().collect(),
            Self::Grid { rows, columns } | Self::Torus { rows, columns } => {
                grid::problems(rows, columns)
            }
            Self::Hypercube { dimension } => hypercube::problem(dimension).into_iter().collect(),
            Self::Exponential { peers } | Self::OnePeerExponential { peers } => {
                exponential::problem(peers).into_iter().collect()
            }
            Self::Barbell { cliques, clique_size, bridges, closed } => {
                barbell::problems(cliques, clique_size, bridges, closed)
            }
            Self::WattsStrogatz { peers, degree, rewiring, .. } => {
                watts_strogatz::problems(peers, degree, rewiring)
            }
            Self::BarabasiAlbert { peers, links, .. } => barabasi_albert::problems(peers, links),
            Self::RandomGeometric { peers, radius, .. } => {
                random_geometric::problems(peers, radius)
            }
            Self::StochasticBlock { ref sizes, within, between, .. } => {
                stochastic_block::problems(sizes, within, between)
            }
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

    /// Whether one process builds the whole graph of so many peers.
    pub fn builds_whole(peers: usize) -> bool {
        peers <= MOST_PEERS
    }

    /// Builds the graph, whole; it is connected. A relative file starts from `base`.
    ///
    /// # Errors
    /// What [`check`](Self::check) finds, more than 2²⁴ peers, no connected graph within 100 attempts, a file that
    /// cannot be read, is not a graph file, or holds a graph that is not connected.
    pub fn build(&self, streams: &Streams, base: &Path) -> Result<Topology, BuildError> {
        let buildable = self.peers().is_some_and(Self::builds_whole) && self.check().is_empty();
        match self.by_number().filter(|_| buildable) {
            Some(rule) => Ok(rule.whole()),
            None => self.generated(streams, base),
        }
    }

    /// The same by the generator of its family, link by link.
    pub(super) fn generated(&self, streams: &Streams, base: &Path) -> Result<Topology, BuildError> {
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
            Self::Torus { rows, columns } => super::torus(rows, columns)?,
            Self::Hypercube { dimension } => super::hypercube(dimension)?,
            Self::BinaryTree { peers } => super::binary_tree(peers)?,
            Self::WattsStrogatz { peers, degree, rewiring, .. } => {
                super::watts_strogatz(peers, degree, rewiring, streams)?
            }
            Self::BarabasiAlbert { peers, links, .. } => {
                super::barabasi_albert(peers, links, streams)?
            }
            Self::RandomGeometric { peers, radius, .. } => {
                super::random_geometric(peers, radius, streams)?
            }
            Self::Barbell { cliques, clique_size, bridges, closed } => {
                super::barbell(cliques, clique_size, bridges, closed)?
            }
            Self::Exponential { peers } | Self::OnePeerExponential { peers } => {
                super::exponential(peers)?
            }
            Self::StochasticBlock { ref sizes, within, between, .. } => {
                super::stochastic_block(sizes, within, between, streams)?
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

/// The default number of bridges.
fn one() -> usize {
    1
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
mod tests;
