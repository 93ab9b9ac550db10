//! Scenario files: read, changed from the command line, turned into typed sections, and every
//! complaint about them shown at its line.
//!
//! ```
//! use hushmesh::scenario::Document;
//!
//! #[derive(serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Ring {
//!     peers: usize,
//! }
//!
//! let mut document = Document::from_text("ring.yaml", "peers: 10\n")?;
//! document.set("peers=2")?;
//! let ring = document.parse::<Ring>()?;
//! assert_eq!(ring.value.peers, 2);
//! assert_eq!(
//!     ring.problem("peers", "a ring has at least 3 peers").to_string(),
//!     "error: --set peers=2: peers: a ring has at least 3 peers",
//! );
//! # Ok::<(), hushmesh::scenario::Problems>(())
//! ```

mod check;
mod config;
mod document;
mod fault;
mod locate;
mod node;
mod overrides;
mod problem;
mod sweep;
mod tree;

pub use check::{Checked, Graph};
pub use config::{Scenario, relocated, schema};
pub use document::{Document, Origin, Parsed, to_yaml};
pub use problem::{Place, Problem, Problems};
pub use sweep::{
    Point, Range, Sweep, SweepAxis, SweepConfig, Values, fit_for_file, in_short, own_name,
};
