//! What the generators ask of their parameters, so that a scenario's check and a generator refuse
//! the same things in the same words.

use super::graph::TopologyError;

/// A parameter, as it is written in a scenario, and what is wrong with it and was expected.
pub(super) type Problem = (&'static str, String);

/// The most peers that are built, from a family or a file: a mistyped number is refused before it
/// exhausts the memory. (32 bits would number 2³² − 2.)
pub(super) const MOST_PEERS: usize = 1 << 24;

/// The most links that are built, for the same reason: some 10 GB on the way.
pub(super) const MOST_LINKS: u64 = 1 << 27;

/// Why there cannot be so many (or so few) of `field`, if there cannot.
pub(super) fn count(field: &'static str, value: usize) -> Option<Problem> {
    (value == 0 || value > MOST_PEERS)
        .then(|| (field, format!("{value} is out of range; expected 1 to {MOST_PEERS}")))
}

/// The number of pairs of different peers, n(n − 1)/2: the links of the complete graph.
pub(super) fn pairs(peers: usize) -> u64 {
    let n = peers as u64;
    n.saturating_mul(n.saturating_sub(1)) / 2
}

/// Turns the first problem into the error of a generator.
pub(super) fn refuse(problems: impl IntoIterator<Item = Problem>) -> Result<(), TopologyError> {
    match problems.into_iter().next() {
        None => Ok(()),
        Some((field, message)) => Err(TopologyError::Parameter { field, message }),
    }
}
