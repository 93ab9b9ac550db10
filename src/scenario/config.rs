//! What a scenario file says.

use std::io;
use std::path::{Component, Path, PathBuf};

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

use super::sweep::SweepConfig;
use crate::data::DataConfig;
use crate::learn::ModelConfig;
use crate::measure::{FILMED_PEERS, MeasureConfig};
use crate::network::NetworkConfig;
use crate::privacy::PrivacyConfig;
use crate::protocol::ProtocolConfig;
use crate::protocol::party::MasksConfig;
use crate::topology::TopologyConfig;
use crate::units::Seed;

/// A hushmesh scenario: one experiment, from the graph to what is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What the run is called in reports, and its directory under runs/.
    pub name: String,
    /// The number that all randomness comes from: same scenario and seed, same results.
    pub seed: Seed,
    /// How many times the run is repeated with other random numbers, at least 1 (default).
    #[serde(default = "once")]
    pub repeat: u32,
    /// The graph: a generator or a file.
    pub topology: TopologyConfig,
    /// The samples and how peers come by them.
    pub data: DataConfig,
    /// The model that is fitted.
    pub model: ModelConfig,
    /// What users protect before a peer sees it, and how privacy losses are stated; default: nothing,
    /// at δ = 1e-5.
    #[serde(default)]
    pub privacy: PrivacyConfig,
    /// The algorithm.
    pub protocol: ProtocolConfig,
    /// Engine and links; default: simulated, one millisecond of latency.
    #[serde(default)]
    pub network: NetworkConfig,
    /// What is measured and when the run stops.
    #[serde(default)]
    pub measure: MeasureConfig,
    /// Other values for some fields, a run for each combination. Default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepConfig>,
}

fn once() -> u32 {
    1
}

impl Scenario {
    /// B, the bound on |x| that the preprocessing guarantees; infinite where it guarantees none.
    pub fn reach(&self) -> f64 {
        self.data.reach(self.model.intercept).map_or(f64::INFINITY, |reach| reach.bound)
    }

    /// Whether a mechanism protects anything, with draws that its seed decides.
    pub fn draws_noise(&self) -> bool {
        self.privacy.labels.is_some() || self.protocol.adds_noise()
    }

    /// Whether several processes that run it with so many peers have no more than their own parts of the
    /// graph and of what all have: where peers are too many to be drawn or filmed, and tokens keep to
    /// neighbours. Then nothing asks for the whole but what is left to theory.
    pub fn runs_in_parts(&self, peers: usize) -> bool {
        peers > FILMED_PEERS && !self.protocol.walks_anywhere()
    }

    /// Whether every process of a run of so many peers has the whole graph: for the ways of tokens, for
    /// trees that sums are made along, or for who shares masks with whom.
    pub fn needs_the_whole_graph(&self, peers: usize) -> bool {
        let asks = self.protocol.walk().is_some() || self.protocol.sum().is_some();
        asks && !self.runs_in_parts(peers)
    }

    /// The same scenario for a file in another folder: its relative paths are rewritten. Both
    /// folders must exist.
    ///
    /// # Errors
    /// A folder that cannot be found.
    pub fn moved(&self, from: &Path, to: &Path) -> io::Result<Self> {
        let (from, to) = (here(from)?, here(to)?);
        let mut moved = self.clone();
        for path in moved.paths_mut() {
            *path = relocate(&from, &to, path);
        }
        Ok(moved)
    }

    /// The files that it names, of graphs and of samples, as they are written. Those of a set by name are
    /// not among them: they are known to be the right ones wherever they are used.
    pub fn files(&self) -> Vec<PathBuf> {
        self.clone().paths_mut().into_iter().map(|path| path.clone()).collect()
    }

    fn paths_mut(&mut self) -> Vec<&mut PathBuf> {
        let mut paths = self.data.source.paths_mut();
        if let TopologyConfig::File(path) = &mut self.topology {
            paths.push(path);
        }
        if let Some(MasksConfig::Graph(TopologyConfig::File(path))) =
            self.protocol.sum_mut().and_then(|sum| sum.masks.as_mut())
        {
            paths.push(path);
        }
        paths
    }
}

/// What a path that starts from one folder is from another, both of which must exist.
///
/// # Errors
/// A folder that cannot be found.
pub fn relocated(from: &Path, to: &Path, path: &Path) -> io::Result<PathBuf> {
    Ok(relocate(&here(from)?, &here(to)?, path))
}

/// A folder's whole path; that of the current one for none.
fn here(folder: &Path) -> io::Result<PathBuf> {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.canonicalize()
}

/// The path from `to` to what `path` means in `from`, both absolute.
fn relocate(from: &Path, to: &Path, path: &Path) -> PathBuf {
    if path.is_absolute() {
        return path.to_path_buf();
    }
    let mut target: Vec<Component<'_>> = from.components().collect();
    for step in path.components() {
        match step {
            Component::ParentDir => {
                target.pop();
            }
            Component::CurDir => {}
            step => target.push(step),
        }
    }
    let base: Vec<Component<'_>> = to.components().collect();
    let shared = base.iter().zip(&target).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(Component::ParentDir, base.len() - shared);
    up.chain(target[shared..].iter().copied()).collect()
}

/// The JSON Schema of a scenario file.
pub fn schema() -> Schema {
    schema_for!(Scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_rewritten_between_folders() {
        let relocate =
            |path: &str| relocate(Path::new("/a/b"), Path::new("/a/runs/x"), Path::new(path));
        assert_eq!(relocate("c.yaml"), Path::new("../../b/c.yaml"));
        assert_eq!(relocate("../t/./c.yaml"), Path::new("../../t/c.yaml"));
        assert_eq!(relocate("/data/c.csv"), Path::new("/data/c.csv"));
    }
}
