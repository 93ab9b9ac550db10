//! The type that a value must have to leave a peer.

use std::fmt;

/// Which pieces of a data record a value may tell something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pieces(u8);

impl Pieces {
    /// Labels (or targets).
    pub const LABELS: Self = Self(1);
    /// Features.
    pub const FEATURES: Self = Self(2);
    /// The whole record.
    pub const RECORD: Self = Self(3);

    /// The pieces of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every piece of `other` is among these.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl fmt::Display for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::LABELS => "labels",
            Self::FEATURES => "features",
            _ => "labels and features",
        })
    }
}

/// What sending a value costs the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Charge {
    /// Nothing: no private data went into it.
    Public,
    /// No bound: these pieces stand in it without protection.
    Clear(Pieces),
}

impl Charge {
    /// The charge of sending two values in one message.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Public, charge) | (charge, Self::Public) => charge,
            (Self::Clear(a), Self::Clear(b)) => Self::Clear(a.union(b)),
        }
    }
}

/// A value that may leave a peer, with what its leaving costs.
///
/// The only makers are in [`privacy`](super). Raw data does not fit where a message is asked for:
///
/// ```compile_fail
/// # use hushmesh::privacy::{Charge, Released};
/// let stolen: Released<Vec<f64>> = Released { value: vec![1.0], charge: Charge::Public };
/// ```
///
/// Post-processing of released values is free. [`map`](Self::map) takes a plain function, not a
/// closure, so that nothing private gets in through a capture:
///
/// ```compile_fail
/// # use hushmesh::privacy::public;
/// let secret = 3.5;
/// public(1.0).map(|x| x + secret);
/// ```
///
/// The type stops accidents, not intent: `public` takes whatever it is given. Its calls and those of
/// `in_the_clear` are the places to audit, and a test lists them.
#[derive(Clone, Debug, PartialEq)]
pub struct Released<T> {
    value: T,
    charge: Charge,
}

/// Releases a value that no private data went into: a round number, a tree's control message.
pub fn public<T>(value: T) -> Released<T> {
    Released { value, charge: Charge::Public }
}

/// Releases a value without protection and names the pieces of data that it may reveal.
pub fn in_the_clear<T>(value: T, pieces: Pieces) -> Released<T> {
    Released { value, charge: Charge::Clear(pieces) }
}

impl<T> Released<T> {
    /// What the receiver reads.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// What the receiver keeps.
    pub fn into_value(self) -> T {
        self.value
    }

    /// What sending it costs.
    pub fn charge(&self) -> Charge {
        self.charge
    }

    /// Post-processing: a function of a released value is released at the same charge.
    pub fn map<U>(self, function: fn(T) -> U) -> Released<U> {
        Released { value: function(self.value), charge: self.charge }
    }

    /// Two released values in one message, at the charge of both.
    pub fn zip<U>(self, other: Released<U>) -> Released<(T, U)> {
        Released { value: (self.value, other.value), charge: self.charge.with(other.charge) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_costs_what_its_parts_cost() {
        let labels = in_the_clear(1, Pieces::LABELS);
        let features = in_the_clear(2, Pieces::FEATURES);
        assert_eq!(public(0).zip(labels.clone()).charge(), Charge::Clear(Pieces::LABELS));
        assert_eq!(labels.zip(features).charge(), Charge::Clear(Pieces::RECORD));
        assert_eq!(public(0).zip(public(1)).charge(), Charge::Public);
        assert_eq!(in_the_clear(2, Pieces::RECORD).map(|x| x + 1).into_value(), 3);
    }
}
