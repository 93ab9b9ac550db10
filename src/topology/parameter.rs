//! What the generators ask of their parameters, so that a scenario's check and a generator refuse
//! the same things in the same words.

use super::graph::TopologyError;

/// A parameter, as it is written in a scenario, and what is wrong with it and was expected.
pub(super) type Problem = (&'static str, String);

/// The most peers of a random family or a file, which one process builds on some 100 bytes and more for
/// each: a mistyped number is refused before it exhausts the memory. (32 bits would number 2³² − 2.)
pub(super) const MOST_PEERS: usize = 1 << 24;

/// The most peers of a family in which neighbours follow from numbers, so that a process makes its own part
/// alone, and of which there are no more than four in the mean: four ends of links for each peer still have
/// numbers of 32 bits.
pub(super) const MOST_BY_NUMBER: usize = u32::MAX as usize / 4;

/// The most links that are built, for the same reason: some 10 GB on the way.
pub(super) const MOST_LINKS: u64 = 1 << 27;

/// Why there cannot be so many (or so few) of `field`, if there cannot, where a generator lists all links.
pub(super) fn count(field: &'static str, value: usize) -> Option<Problem> {
    up_to(MOST_PEERS, field, value)
}

/// The same of a family in which few neighbours follow from a peer's number, and which is made by that rule.
pub(super) fn count_by_number(field: &'static str, value: usize) -> Option<Problem> {
    up_to(MOST_BY_NUMBER, field, value)
}

/// The same where there can be so many.
pub(super) fn up_to(most: usize, field: &'static str, value: usize) -> Option<Problem> {
    (value == 0 || value > most)
        .then(|| (field, format!("{value} is out of range; expected 1 to {most}")))
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
