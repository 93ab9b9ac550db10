//! Graphs: who may talk to whom.
//!
//! A scenario's [`TopologyConfig`] names a family of graphs or a [`GraphFile`] and builds a
//! connected [`Topology`]; [`layout`] places its peers on a drawing, [`Summary`] gives its figures
//! at a glance and [`Figures`] all that are known; [`suggest_links`] says which links it lacks most.
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
mod by_number;
mod clustering;
mod complete;
mod config;
mod connected;
mod cuts;
mod diameter;
mod erdos_renyi;
mod excerpt;
mod exponential;
mod figures;
mod file;
mod graph;
mod grid;
mod hypercube;
mod layout;
mod ordering;
mod parameter;
mod path;
mod random_geometric;
mod random_regular;
mod resistance;
mod ring;
mod routes;
mod shape;
#[cfg(test)]
mod shipped;
mod spanning_tree;
mod spectrum;
mod star;
mod stochastic_block;
mod suggest;
mod summary;
mod torus;
mod walk;
mod watts_strogatz;

pub use barabasi_albert::barabasi_albert;
pub use barbell::barbell;
pub use binary_tree::binary_tree;
pub use by_number::ByNumber;
pub use complete::complete;
pub use config::{BuildError, TopologyConfig};
pub use cuts::Cuts;
pub use diameter::Diameter;
pub use erdos_renyi::{Density, erdos_renyi};
pub use excerpt::Excerpt;
pub use exponential::{exponential, partner, receiver};
pub use figures::{Degrees, Figures};
pub use file::{FileError, Format, GraphFile, WriteError};
pub use graph::{Link, OwnLatencies, Topology, TopologyError};
pub use grid::grid;
pub use hypercube::hypercube;
pub use layout::layout;
pub use path::path;
pub use random_geometric::random_geometric;
pub use random_regular::random_regular;
pub use ring::ring;
pub use routes::{Routes, RoutesError};
pub use spanning_tree::{Branch, SpanningTree, hops_from};
pub(crate) use spectrum::Eigen;
pub use spectrum::{Method, Spectrum, Value};
pub use star::star;
pub use stochastic_block::stochastic_block;
pub use suggest::{Suggestion, suggest_links};
pub use summary::Summary;
pub use torus::torus;
pub use walk::{Walk, pick, pick_of};
pub use watts_strogatz::watts_strogatz;
