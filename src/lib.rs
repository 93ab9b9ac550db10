//! Peers that learn together over a graph without showing each other their data.

pub mod data;
pub mod random;
pub mod topology;
pub mod units;
