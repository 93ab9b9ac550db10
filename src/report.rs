//! What a person gets to see of a run: tables, plots, drawings of graphs, and the page that
//! holds them.
//!
//! Everything here is a pure function of its arguments with fixed number formatting, so equal
//! results give equal bytes. Output is self-contained (no network, no fonts, no script but the
//! page's own), and text that came from a user is escaped by construction: markup is only ever
//! written through the element tree in this module, never pasted together.

mod base64;
pub mod comparison;
pub mod files;
pub mod html;
mod markup;
pub mod number;
pub mod privacy;
pub mod record;
pub mod run;
pub mod svg;
pub mod sweep;
pub mod table;
pub mod theory;

pub use comparison::{Comparison, Target};
pub use html::{Block, KeyFigure, Page};
pub use number::{bytes, figure, seconds, with_interval, with_sign};
pub use record::{Missing, Record, RecordError};
pub use svg::Svg;
pub use sweep::{SweepPoint, SweepReport};
pub use table::{Cell, Column, Table};
