//! Peers that learn together over a graph without showing each other their data.

pub mod data;
pub mod learn;
pub mod network;
pub mod privacy;
pub mod random;
pub mod scenario;
pub mod theory;
pub mod topology;
pub mod units;
