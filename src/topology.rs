//! Graphs: who may talk to whom.

mod graph;

pub use graph::{Link, Topology, TopologyError};
