//! The `sum:` section of the learners around a server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::topology::TopologyConfig;

/// How what parties add comes together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SumConfig {
    /// Over which way; default `tree`.
    pub over: Way,
    /// The peer at the root of the tree: the server, the learner; default 0. A star's hub is 0.
    pub root: u32,
    /// Who shares seeds with whom, where addends are masked; default `all-pairs`. Only for variants
    /// whose noise is in the sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masks: Option<MasksConfig>,
    /// t, how many colluding parties, who know their own parts of the noise, the noise in a sum
    /// withstands as long as they do not cut the mask graph; default 0. Each of m parties then adds
    /// 1/(m − t) of the variance. Only for variants whose noise is in the sum.
    #[serde(skip_serializing_if = "is_zero")]
    pub colluders: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// The way of a sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Way {
    /// Up a spanning tree and down again, in fixed point: exact, and the same for all parties.
    #[default]
    Tree,
    /// By gossip averaging with Metropolis weights, without any server: each party has its own
    /// estimate, which neighbours see on the way.
    Gossip(Gossip),
}

/// Gossip averaging.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gossip {
    /// τ, exchanges with all neighbours in each round, at least 1. The error of the average falls by
    /// the second largest eigenvalue of the weights in each.
    pub exchanges: u32,
}

/// Who shares seeds with whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum MasksConfig {
    /// Nobody: addends show what their own part of the noise does not hide.
    None,
    /// Neighbours: on a star this hides nothing from the hub.
    Wires,
    /// Every two peers, by keys that others carry; key agreement is taken as ideal.
    AllPairs,
    /// The neighbours in another graph on the same peers.
    Graph(TopologyConfig),
}

impl SumConfig {
    /// Everything that is wrong with it: (field, what was expected). `pools` says whether noise is in
    /// the sum.
    pub(in crate::protocol) fn check(
        &self,
        pools: bool,
        peers: Option<usize>,
    ) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        let mut add = |field: &str, text: String| problems.push((format!("sum.{field}"), text));
        if let Some(peers) = peers {
            if self.root as usize >= peers {
                add(
                    "root",
                    format!("expected a peer from 0 to {}, found {}", peers - 1, self.root),
                );
            }
            if self.colluders as usize >= peers {
                let message =
                    format!("expected fewer than the {peers} peers, found {}", self.colluders);
                add("colluders", message);
            }
        }
        match self.over {
            Way::Gossip(Gossip { exchanges: 0 }) => {
                add("over.gossip.exchanges", "expected at least 1 exchange, found 0".to_string());
            }
            Way::Gossip(_) if self.root != 0 => {
                add("root", "gossip has no root: expected none".to_string());
            }
            Way::Gossip(_) if pools => {
                let message = "the noise of this variant is in the sum, and gossip shows every party's \
                               own value to its neighbours: expected `tree`, or a variant with noise \
                               of its own";
                add("over", message.to_string());
            }
            _ => {}
        }
        if !pools && self.masks.is_some() {
            let message = "every party's own noise protects what it adds, or nothing does: expected \
                           no masks";
            add("masks", message.to_string());
        }
        if !pools && self.colluders > 0 {
            let message = "every party's own noise protects it from all others: expected none";
            add("colluders", message.to_string());
        }
        if let Some(MasksConfig::Graph(graph)) = &self.masks {
            for (field, text) in graph.check() {
                add(&format!("masks.graph.{field}"), text);
            }
        }
        problems
    }

    /// Exchanges of gossip in each round, where parties gossip.
    pub fn exchanges(&self) -> Option<u32> {
        match self.over {
            Way::Tree => None,
            Way::Gossip(Gossip { exchanges }) => Some(exchanges),
        }
    }
}
