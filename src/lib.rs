//! Peers that learn together over a graph without showing each other their data.

pub mod random;
pub mod report;
pub mod topology;
pub mod units;
