//! The algorithms, one file each: a [`Peer`](crate::network::Peer) to be read beside its paper.

pub mod admm;
mod penalty;

pub use penalty::Penalty;
