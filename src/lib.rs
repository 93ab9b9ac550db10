//! Peers that learn together over a graph without showing each other their data.

pub mod cli;
pub mod data;
pub mod experiment;
pub mod learn;
pub mod measure;
pub mod network;
pub mod privacy;
pub mod protocol;
pub mod random;
pub mod report;
pub mod scenario;
pub mod theory;
pub mod topology;
pub mod units;
