//! The type that a value must have to leave a peer.

use std::fmt;
use std::sync::Arc;

use super::{Spent, Wire, WireError};
use crate::random::Draw;
use crate::units::Round;

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

impl Sensitivity {
    /// How far so many uses of the same label or record move a value.
    pub(super) fn of_uses(self, uses: u32) -> [f64; 2] {
        let times = |by: f64| if uses == 0 { 0.0 } else { by * f64::from(uses) };
        [times(self.label), times(self.record)]
    }
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

    /// The same with its scale multiplied.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        match self {
            Self::Gaussian { deviation } => Self::Gaussian { deviation: deviation * factor },
            Self::Laplace { scale } => Self::Laplace { scale: scale * factor },
        }
    }

    /// Adds a draw of its noise to every coordinate.
    fn add_noise(self, vector: &mut [f64], draw: &mut Draw<'_>) {
        match self {
            Self::Gaussian { deviation } => draw.add_normals(deviation, vector),
            // The difference of two exponential numbers.
            Self::Laplace { scale } => {
                let mut noise = || scale * (draw.gamma(1.0) - draw.gamma(1.0));
                vector.iter_mut().for_each(|x| *x += noise());
            }
        }
    }
}

/// Whose records went into a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// Any of the peer's.
    All,
    /// Those of some batches alone.
    Batches(Batches),
}

/// The batches that went into a value, of a peer's records cut into `of` batches: a record is in one
/// of them, the same one for good, whatever the other records are.
///
/// The range is cyclic: `first`, `first` + 1, …, modulo `of`. A value that made more uses than there
/// are batches used some of them twice or more, and a batch that was used u times moves the value u
/// times as far: the [`Sensitivity`] beside it is that of one use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batches {
    /// The first batch, from 0.
    pub first: u32,
    /// How many uses of a batch there were in all.
    pub count: u32,
    /// How many batches the peer's records are cut into.
    pub of: u32,
}

impl Batches {
    /// How often the value used one batch: ⌊count/of⌋ times, and once more for the first count mod
    /// `of` batches of the range.
    pub fn uses(self, batch: u32) -> u32 {
        if batch >= self.of {
            return 0;
        }
        let first = self.first % self.of;
        let place = if batch >= first { batch - first } else { batch + (self.of - first) };
        self.count / self.of + u32::from(place < self.count % self.of)
    }

    /// How often it used the batch that it used most. Where there are no batches to tell apart, every
    /// use may have been of the same records.
    pub fn most_uses(self) -> u32 {
        if self.of == 0 { self.count } else { self.count.div_ceil(self.of) }
    }

    /// The batches that it used, each once.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        let first = self.first.checked_rem(self.of).unwrap_or(0);
        let until_end = self.count.min(self.of - first);
        let wrapped = self.count.min(self.of) - until_end;
        (first..first + until_end).chain(0..wrapped)
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
        /// To a value that moves so far, by each use of these records.
        sensitivity: Sensitivity,
        /// Whose records went into it.
        records: Records,
        /// Between neighbours in this sense.
        relation: Relation,
    },
    /// Normal noise is in the sum that it is a part of, between neighbours that differ by replacing
    /// one record.
    Pooled {
        /// The noise.
        noise: PooledNoise,
        /// How far the sum moves.
        sensitivity: Sensitivity,
    },
}

/// The noise in a sum, to which several peers add.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PooledNoise {
    /// The standard deviation of what this peer adds and no other peer knows; 0 where that is nothing.
    pub own: f64,
    /// That of all noise in the sum.
    pub all: f64,
}

impl Part {
    /// What it costs for a label and for a whole record, one that it concerns most.
    ///
    /// Batches tell nothing apart where a record may come or go: those behind it move up. Every use
    /// may then concern every record. Of pooled noise only the peer's own counts: all others together
    /// know the rest.
    pub fn cost(&self) -> [Spent; 2] {
        match *self {
            Self::Clear(_) => [Spent::unbounded(), Spent::unbounded()],
            Self::Pooled { noise, sensitivity } => Self::pooled(noise.own, sensitivity),
            Self::Noisy { mechanism, sensitivity, records, relation } => {
                let uses = match (records, relation) {
                    (Records::All, _) => 1,
                    (Records::Batches(batches), Relation::ReplaceOne) => batches.most_uses(),
                    (Records::Batches(batches), Relation::AddRemove) => batches.count,
                };
                sensitivity.of_uses(uses).map(|by| mechanism.cost(by))
            }
        }
    }

    /// What it costs against those who know nobody's part of the noise, where that is another figure.
    pub fn outside(&self) -> Option<[Spent; 2]> {
        match *self {
            Self::Clear(_) | Self::Noisy { .. } => None,
            Self::Pooled { noise, sensitivity } => Some(Self::pooled(noise.all, sensitivity)),
        }
    }

    fn pooled(deviation: f64, sensitivity: Sensitivity) -> [Spent; 2] {
        [sensitivity.label, sensitivity.record].map(|by| match deviation {
            _ if by == 0.0 => Spent::default(),
            0.0 => Spent::unbounded(),
            deviation => Spent::gaussian(by / deviation),
        })
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
    #[inline(always)]
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Public, charge) | (charge, Self::Public) => charge,
            (a, b) => a.and(b),
        }
    }

    /// The same where both cost something.
    fn and(self, other: Self) -> Self {
        match (self, other) {
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
/// the other makers are the places to audit, and a test lists them.
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
/// claim, and so is whose records went in: the mechanism books what follows from them.
///
/// # Panics
/// If the scale is not positive: a release without noise is [`in_the_clear`].
pub fn noisy<V: Vector>(
    mut vector: V,
    mechanism: Mechanism,
    sensitivity: Sensitivity,
    records: Records,
    relation: Relation,
    draw: Draw<'_>,
) -> Released<V> {
    let own = vector.own();
    let charge = noisy_in_place(own, mechanism, sensitivity, records, relation, draw).charge;
    Released { value: vector, charge }
}

/// A vector that can be changed: in place, or in a copy of its own where others hold it too.
pub trait Vector {
    /// Its numbers, which nobody else holds.
    fn own(&mut self) -> &mut [f64];
}

impl Vector for Box<[f64]> {
    #[inline]
    fn own(&mut self) -> &mut [f64] {
        self
    }
}

impl Vector for Arc<[f64]> {
    fn own(&mut self) -> &mut [f64] {
        Arc::make_mut(self)
    }
}

/// Releases a vector that stays where it is, with noise on every coordinate: [`noisy`] without a copy
/// of its own.
///
/// # Panics
/// If the scale is not positive.
pub fn noisy_in_place<'v>(
    vector: &'v mut [f64],
    mechanism: Mechanism,
    sensitivity: Sensitivity,
    records: Records,
    relation: Relation,
    mut draw: Draw<'_>,
) -> Released<&'v [f64]> {
    let (Mechanism::Gaussian { deviation: scale } | Mechanism::Laplace { scale }) = mechanism;
    assert!(scale > 0.0, "noise of scale {scale} protects nothing");
    mechanism.add_noise(vector, &mut draw);
    let part = Part::Noisy { mechanism, sensitivity, records, relation };
    Released { value: vector, charge: Charge::One(part) }
}

/// What a peer has worked up together with others so that its value alone tells nothing more than the
/// charge says. For the other makers of this folder.
pub(super) fn charged<T>(value: T, charge: Charge) -> Released<T> {
    Released { value, charge }
}

/// Releases a vector with normal noise that other peers know, since all draw the same.
///
/// It counts as released in the clear: who knows the noise subtracts it, and in what others make of it
/// together, each with the same noise, it may cancel.
pub fn commonly_noisy(
    mut vector: Arc<[f64]>,
    deviation: f64,
    pieces: Pieces,
    mut draw: Draw<'_>,
) -> Released<Arc<[f64]>> {
    draw.add_normals(deviation, Arc::make_mut(&mut vector));
    in_the_clear(vector, pieces)
}

impl Released<Arc<[f64]>> {
    /// self ← self + weight · other, at the charge of both: post-processing with a public weight.
    #[must_use]
    pub fn plus_public(self, weight: f64, other: &Self) -> Self {
        let mut sum = self.charged(&other.charge);
        for (a, b) in Arc::make_mut(&mut sum.value).iter_mut().zip(other.value.iter()) {
            *a += weight * b;
        }
        sum
    }

    /// self ← weight · self: post-processing with a public weight.
    #[must_use]
    pub fn times_public(mut self, weight: f64) -> Self {
        Arc::make_mut(&mut self.value).iter_mut().for_each(|a| *a *= weight);
        self
    }
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

    /// The same value once its release is booked. For the engine alone, which books.
    pub(crate) fn settled(self) -> Settled<T> {
        Settled(self.value)
    }

    /// What it [will be](Self::settled), to look at: what is copied on the way need not be moved first. For the
    /// engine alone, which books.
    pub(crate) fn settled_in_place(&self) -> &T {
        &self.value
    }

    /// The same value with another one's charge on top of its own: for values that are added up.
    pub(super) fn charged(self, other: &Charge) -> Self {
        Self { value: self.value, charge: self.charge.with(other.clone()) }
    }

    /// The same value, to look at.
    pub fn as_ref(&self) -> Released<&T> {
        Released { value: &self.value, charge: self.charge.clone() }
    }

    /// Two released values in one message, at the charge of both.
    pub fn zip<U>(self, other: Released<U>) -> Released<(T, U)> {
        Released { value: (self.value, other.value), charge: self.charge.with(other.charge) }
    }
}

/// A released value whose release is in the books: what is on its way between peers. It carries no
/// charge, so that a message under way is no larger than its content.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settled<T>(T);

impl<T> Settled<T> {
    /// What is on its way.
    pub(crate) fn value(&self) -> &T {
        &self.0
    }

    /// What arrives: whoever passes it on tells nothing that was not told before.
    pub(crate) fn arrived(self) -> Released<T> {
        Released { value: self.0, charge: Charge::Public }
    }
}

impl<T: Wire> Settled<T> {
    /// A message made of a vector of a round whose release was booked when it was posted.
    pub(crate) fn of_round(round: Round, vector: &[f64]) -> Self {
        Self(T::of_round(round, vector.into()))
    }

    /// Appends it, to be taken on its way by another process of the same run.
    pub(crate) fn pack(&self, bytes: &mut Vec<u8>) {
        self.0.pack(bytes);
    }

    /// Takes one off the front. Its release was booked where it was packed.
    ///
    /// # Errors
    /// Too few bytes.
    pub(crate) fn unpack(bytes: &mut &[u8]) -> Result<Self, WireError> {
        T::unpack(bytes).map(Self)
    }
}

#[cfg(test)]
mod tests;
