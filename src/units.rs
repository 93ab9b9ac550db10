//! Types that carry meaning: a peer is not a round is not an instant.

mod aligned;
mod members;
pub mod prefetch;

use std::fmt;
use std::ops::{Add, AddAssign};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

pub use aligned::Aligned;
pub use members::Members;

/// A peer, by its index in the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PeerId(pub u32);

impl PeerId {
    /// The peer at position `index` of the topology.
    ///
    /// Topologies hold fewer than 2³² peers (checked where they are built), so the cast is exact.
    pub fn new(index: usize) -> Self {
        debug_assert!(u32::try_from(index).is_ok());
        Self(index as u32)
    }

    /// The position in arrays that have one entry per peer.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A round of a synchronous protocol, or an update count of a token's. The first is 1.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Round(pub u32);

impl Round {
    /// The round after this one.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Simulated time in nanoseconds since the start of a run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct SimTime(pub u64);

impl SimTime {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const NEVER: Self = Self(u64::MAX);

    /// A duration given in seconds, rounded to the nanosecond; what does not fit is `NEVER`.
    pub fn from_seconds(seconds: f64) -> Self {
        // `as` saturates: negative and NaN give 0, too large gives u64::MAX.
        Self((seconds * 1e9).round() as u64)
    }

    /// The same time in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add for SimTime {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for SimTime {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// The number that a whole run is a function of, together with its scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Seed(pub u64);

/// A privacy loss ε, from 0; infinite where there is no bound.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Epsilon(pub f64);

impl Epsilon {
    /// No loss.
    pub const ZERO: Self = Self(0.0);
    /// No bound.
    pub const UNBOUNDED: Self = Self(f64::INFINITY);

    /// For files that people read: JSON has no infinity, so no bound is `null`.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn finite_or_null<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() {
            serializer.serialize_some(&self.0)
        } else {
            serializer.serialize_none()
        }
    }

    /// The lesser of two bounds.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }
}

impl fmt::Display for Epsilon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_finite() { self.0.fmt(f) } else { f.write_str("∞") }
    }
}

/// The probability δ with which an ε may fail, between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Delta(pub f64);

impl fmt::Display for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:e}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_round_to_nanoseconds_and_saturate() {
        assert_eq!(SimTime::from_seconds(1.5), SimTime(1_500_000_000));
        assert_eq!(SimTime::from_seconds(0.4e-9), SimTime::ZERO);
        assert_eq!(SimTime::from_seconds(1e300), SimTime::NEVER);
        assert_eq!(SimTime::NEVER + SimTime(1), SimTime::NEVER);
    }
}
