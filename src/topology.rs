//! Graphs: who may talk to whom.
//!
//! A scenario's [`TopologyConfig`] names a family of graphs or a [`GraphFile`] and builds a
//! connected [`Topology`]; [`layout`] places its peers on a drawing, [`Summary`] gives its figures
//! at a glance.
//!
//! ```
//! use hushmesh::random::Streams;
//! use hushmesh::topology::{Summary, TopologyConfig};
//! use hushmesh::units::Seed;
//!
//! let config = TopologyConfig::RandomRegular { peers: 50, degree: 4, resample: false };
//! let graph = config.build(&Streams::new(Seed(7), 0), ".".as_ref())?;
//! assert_eq!(Summary::of(&graph).mean_degree, 4.0);
//! # Ok::<(), hushmesh::topology::BuildError>(())
//! ```

mod barabasi_albert;
mod barbell;
mod binary_tree;
mod complete;
mod config;
mod connected;
mod erdos_renyi;
mod exponential;
mod file;
mod graph;
mod grid;
mod hypercube;
mod layout;
mod parameter;
mod path;
mod random_geometric;
mod random_regular;
mod ring;
#[cfg(test)]
mod shipped;
mod star;
mod stochastic_block;
mod summary;
mod torus;
mod watts_strogatz;

pub use barabasi_albert::barabasi_albert;
pub use barbell::barbell;
pub use binary_tree::binary_tree;
pub use complete::complete;
pub use config::{BuildError, TopologyConfig};
pub use erdos_renyi::{Density, erdos_renyi};
pub use exponential::{exponential, partner, receiver};
pub use file::{FileError, GraphFile};
pub use graph::{Link, Topology, TopologyError};
pub use grid::grid;
pub use hypercube::hypercube;
pub use layout::layout;
pub use path::path;
pub use random_geometric::random_geometric;
pub use random_regular::random_regular;
pub use ring::ring;
pub use star::star;
pub use stochastic_block::stochastic_block;
pub use summary::Summary;
pub use torus::torus;
pub use watts_strogatz::watts_strogatz;
