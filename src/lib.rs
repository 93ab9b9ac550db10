//! Peers that learn together over a graph without showing each other their data.

pub mod random;
pub mod scenario;
pub mod topology;
pub mod units;
