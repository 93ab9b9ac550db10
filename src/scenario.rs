//! Scenario files: read, changed from the command line, turned into typed sections, and every
//! complaint about them shown at its line.

mod document;
mod fault;
mod locate;
mod node;
mod overrides;
mod problem;
mod tree;

pub use document::{Document, Origin, Parsed, to_yaml};
pub use problem::{Place, Problem, Problems};
