//! The type that a value must have to leave a peer.

use std::fmt;
use std::sync::Arc;

use super::Spent;
use crate::random::Draw;

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

/// Which data sets count as neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// One record is replaced by another; the number of records is public.
    ReplaceOne,
    /// One record is there or is not.
    AddRemove,
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReplaceOne => "replace one",
            Self::AddRemove => "add or remove one",
        })
    }
}

/// How far a value moves at most, in the norm of its mechanism, between neighbouring data sets.
/// Infinite where nothing bounds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensitivity {
    /// Where only a label differs.
    pub label: f64,
    /// Where a whole record differs.
    pub record: f64,
}

/// A mechanism that adds noise, with its scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mechanism {
    /// Normal noise of this standard deviation on every coordinate; sensitivity in the 2-norm.
    Gaussian {
        /// σ.
        deviation: f64,
    },
    /// Laplace noise of this scale on every coordinate; sensitivity in the 1-norm.
    Laplace {
        /// b.
        scale: f64,
    },
}

impl Mechanism {
    /// What one release costs at a sensitivity.
    pub fn cost(self, sensitivity: f64) -> Spent {
        match self {
            _ if sensitivity == 0.0 => Spent::default(),
            Self::Gaussian { deviation } => Spent::gaussian(sensitivity / deviation),
            Self::Laplace { scale } => Spent::laplace(sensitivity / scale),
        }
    }

    /// One draw of its noise.
    fn noise(self, draw: &mut Draw<'_>) -> f64 {
        match self {
            Self::Gaussian { deviation } => deviation * draw.normal(),
            // The difference of two exponential numbers.
            Self::Laplace { scale } => scale * (draw.gamma(1.0) - draw.gamma(1.0)),
        }
    }
}

/// One protected or unprotected part of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// These pieces stand in it without protection.
    Clear(Pieces),
    /// Noise was added to it.
    Noisy {
        /// By this mechanism.
        mechanism: Mechanism,
        /// To a value that moves so far.
        sensitivity: Sensitivity,
        /// Between neighbours in this sense.
        relation: Relation,
    },
}

impl Part {
    /// What it costs for a label and for a whole record.
    pub fn cost(&self) -> [Spent; 2] {
        match self {
            Self::Clear(_) => [Spent::unbounded(), Spent::unbounded()],
            Self::Noisy { mechanism, sensitivity, .. } => {
                [sensitivity.label, sensitivity.record].map(|by| mechanism.cost(by))
            }
        }
    }
}

/// What sending a value costs the sender.
#[derive(Clone, Debug, PartialEq)]
pub enum Charge {
    /// Nothing: no private data went into it.
    Public,
    /// One part, as nearly every message has.
    One(Part),
    /// Several parts.
    Several(Arc<[Part]>),
}

impl Charge {
    /// The parts that cost something.
    pub fn parts(&self) -> &[Part] {
        match self {
            Self::Public => &[],
            Self::One(part) => std::slice::from_ref(part),
            Self::Several(parts) => parts,
        }
    }

    /// The charge of sending two values in one message.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Public, charge) | (charge, Self::Public) => charge,
            (Self::One(Part::Clear(a)), Self::One(Part::Clear(b))) => {
                Self::One(Part::Clear(a.union(b)))
            }
            (a, b) => Self::Several(a.parts().iter().chain(b.parts()).copied().collect()),
        }
    }
}

/// A value that may leave a peer, with what its leaving costs.
///
/// The only makers are in [`privacy`](super). Raw data does not fit where a message is asked for:
///
/// ```compile_fail,E0451
/// # use hushmesh::privacy::{Charge, Released};
/// let stolen: Released<Vec<f64>> = Released { value: vec![1.0], charge: Charge::Public };
/// ```
///
/// nor does it in a protocol's hands:
///
/// ```compile_fail,E0308
/// # use hushmesh::network::Context;
/// # use hushmesh::units::PeerId;
/// fn leak(context: &mut Context<'_, u32>, neighbour: PeerId, label: u32) {
///     context.send(neighbour, label);
/// }
/// ```
///
/// Post-processing of released values is free. [`map`](Self::map) takes a plain function, not a
/// closure, so that nothing private gets in through a capture:
///
/// ```compile_fail,E0308
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

/// Releases a value without protection and names the pieces of data that it may reveal and that no
/// mechanism has protected before.
pub fn in_the_clear<T>(value: T, pieces: Pieces) -> Released<T> {
    Released { value, charge: Charge::One(Part::Clear(pieces)) }
}

/// Releases a vector with noise on every coordinate.
///
/// The noise is added in place where nobody else holds the vector. The sensitivity is the caller's
/// claim: the mechanism books what follows from it.
///
/// # Panics
/// If the scale is not positive: a release without noise is [`in_the_clear`].
pub fn noisy(
    mut vector: Arc<[f64]>,
    mechanism: Mechanism,
    sensitivity: Sensitivity,
    relation: Relation,
    mut draw: Draw<'_>,
) -> Released<Arc<[f64]>> {
    let (Mechanism::Gaussian { deviation: scale } | Mechanism::Laplace { scale }) = mechanism;
    assert!(scale > 0.0, "noise of scale {scale} protects nothing");
    for coordinate in Arc::make_mut(&mut vector) {
        *coordinate += mechanism.noise(&mut draw);
    }
    let part = Part::Noisy { mechanism, sensitivity, relation };
    Released { value: vector, charge: Charge::One(part) }
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
    pub fn charge(&self) -> &Charge {
        &self.charge
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
    use crate::random::{Draws, Purpose, Streams};
    use crate::units::Seed;

    fn draws() -> Draws {
        Draws::Streams(Streams::new(Seed(5), 0).family(Purpose::PrimalNoise, 0))
    }

    #[test]
    fn a_message_costs_what_its_parts_cost() {
        let clear = |pieces| Charge::One(Part::Clear(pieces));
        let labels = in_the_clear(1, Pieces::LABELS);
        let features = in_the_clear(2, Pieces::FEATURES);
        assert_eq!(public(0).zip(labels.clone()).charge(), &clear(Pieces::LABELS));
        assert_eq!(labels.zip(features).charge(), &clear(Pieces::RECORD));
        assert_eq!(public(0).zip(public(1)).charge(), &Charge::Public);
        assert_eq!(in_the_clear(2, Pieces::RECORD).map(|x| x + 1).into_value(), 3);
    }

    #[test]
    fn two_mechanisms_in_one_message_are_both_booked() {
        let sensitivity = Sensitivity { label: 1.0, record: 2.0 };
        let of = |mechanism, position| {
            let vector: Arc<[f64]> = vec![0.0].into();
            noisy(vector, mechanism, sensitivity, Relation::ReplaceOne, draws().at(0, position))
        };
        let both = of(Mechanism::Gaussian { deviation: 4.0 }, 0)
            .zip(of(Mechanism::Laplace { scale: 1.0 }, 1));
        let costs: Vec<_> = both.charge().parts().iter().map(Part::cost).collect();
        assert_eq!(costs[0], [Spent::gaussian(0.25), Spent::gaussian(0.5)]);
        assert_eq!(costs[1], [Spent::laplace(1.0), Spent::laplace(2.0)]);
    }

    /// Mean, variance and mean absolute value over 40,000 draws, each within five of its standard
    /// errors.
    #[test]
    fn the_noise_has_its_law() {
        let sensitivity = Sensitivity { label: 0.0, record: 0.0 };
        let count = 40_000;
        for (mechanism, variance, absolute, fourth) in [
            (
                Mechanism::Gaussian { deviation: 3.0 },
                9.0,
                3.0 * (2.0 / std::f64::consts::PI).sqrt(),
                3.0,
            ),
            (Mechanism::Laplace { scale: 2.0 }, 8.0, 2.0, 6.0),
        ] {
            let zeros: Arc<[f64]> = vec![1.0; count].into();
            let kept = Arc::clone(&zeros);
            let released =
                noisy(zeros, mechanism, sensitivity, Relation::ReplaceOne, draws().at(7, 0));
            assert!(kept.iter().all(|&value| value == 1.0), "what others hold stays");
            let noise: Vec<f64> = released.value().iter().map(|value| value - 1.0).collect();
            let mean =
                |f: &dyn Fn(f64) -> f64| noise.iter().map(|&x| f(x)).sum::<f64>() / count as f64;
            let root = (count as f64).sqrt();
            assert!(mean(&|x| x).abs() < 5.0 * f64::sqrt(variance) / root);
            let of_square = variance * f64::sqrt(fourth - 1.0);
            assert!((mean(&|x| x * x) - variance).abs() < 5.0 * of_square / root);
            let of_absolute = f64::sqrt(variance - absolute * absolute);
            assert!((mean(&f64::abs) - absolute).abs() < 5.0 * of_absolute / root);
        }
    }
}
