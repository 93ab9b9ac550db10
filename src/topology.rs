//! Graphs: who may talk to whom.

mod complete;
mod erdos_renyi;
mod file;
mod graph;
mod grid;
mod parameter;
mod path;
mod random;
mod random_regular;
mod ring;
mod star;

pub use complete::complete;
pub use erdos_renyi::{Density, erdos_renyi};
pub use file::{FileError, GraphFile};
pub use graph::{Link, Topology, TopologyError};
pub use grid::grid;
pub use path::path;
pub use random_regular::random_regular;
pub use ring::ring;
pub use star::star;
