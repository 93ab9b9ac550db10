//! What the processes of one run tell each other beside messages, in bytes: every bit of it.

use super::{Wire, WireError, take};
use crate::privacy::{Exposure, Spent};
use crate::units::{PeerId, Round, SimTime};

/// A figure, a count or a piece of either, on its way to the process that writes the files.
///
/// Other forms (json, csv) are for people and lose or forbid some numbers; this one keeps them all.
pub trait Pack: Sized {
    /// Appends it.
    fn put(&self, bytes: &mut Vec<u8>);
    /// Takes one off the front.
    ///
    /// # Errors
    /// Too few bytes.
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError>;
}

/// Packs a struct field by field.
macro_rules! pack_fields {
    ($type:ident $(<$parameter:ident>)? { $($field:ident),* $(,)? }) => {
        impl $(<$parameter: $crate::privacy::Pack>)? $crate::privacy::Pack for $type $(<$parameter>)? {
            fn put(&self, bytes: &mut Vec<u8>) {
                $($crate::privacy::Pack::put(&self.$field, bytes);)*
            }
            fn get(bytes: &mut &[u8]) -> Result<Self, $crate::privacy::WireError> {
                Ok(Self { $($field: $crate::privacy::Pack::get(bytes)?),* })
            }
        }
    };
}

pub(crate) use pack_fields;

impl Pack for () {
    fn put(&self, _: &mut Vec<u8>) {}
    fn get(_: &mut &[u8]) -> Result<Self, WireError> {
        Ok(())
    }
}

impl Pack for u8 {
    fn put(&self, bytes: &mut Vec<u8>) {
        bytes.push(*self);
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        take(bytes, 1).map(|byte| byte[0])
    }
}

impl Pack for bool {
    fn put(&self, bytes: &mut Vec<u8>) {
        u8::from(*self).put(bytes);
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        u8::get(bytes).map(|byte| byte != 0)
    }
}

impl Pack for u32 {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.encode(bytes);
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Self::decode(bytes)
    }
}

impl Pack for u64 {
    fn put(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        let mut word = [0; 8];
        word.copy_from_slice(take(bytes, 8)?);
        Ok(Self::from_le_bytes(word))
    }
}

impl Pack for usize {
    fn put(&self, bytes: &mut Vec<u8>) {
        (*self as u64).put(bytes);
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        u64::get(bytes).map(|number| number as Self)
    }
}

impl Pack for f64 {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.to_bits().put(bytes);
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        u64::get(bytes).map(Self::from_bits)
    }
}

impl Pack for PeerId {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.0.put(bytes);
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        u32::get(bytes).map(Self)
    }
}

impl Pack for Round {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.0.put(bytes);
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        u32::get(bytes).map(Self)
    }
}

impl Pack for SimTime {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.0.put(bytes);
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        u64::get(bytes).map(Self)
    }
}

/// A text; what is none comes back with signs in the place of what cannot be read.
impl Pack for String {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.len().put(bytes);
        bytes.extend_from_slice(self.as_bytes());
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        let length = usize::get(bytes)?;
        Ok(Self::from_utf8_lossy(take(bytes, length)?).into_owned())
    }
}

impl<T: Pack> Pack for Vec<T> {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.len().put(bytes);
        bytes.reserve(size_of_val(self.as_slice()));
        self.iter().for_each(|value| value.put(bytes));
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        let length = usize::get(bytes)?;
        // A wrong length must not ask for memory that the values do not need.
        let mut values = Self::with_capacity(length.min(bytes.len()));
        for _ in 0..length {
            values.push(T::get(bytes)?);
        }
        Ok(values)
    }
}

impl<T: Pack> Pack for Option<T> {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.is_some().put(bytes);
        if let Some(value) = self {
            value.put(bytes);
        }
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        bool::get(bytes)?.then(|| T::get(bytes)).transpose()
    }
}

impl<T: Pack> Pack for Box<T> {
    fn put(&self, bytes: &mut Vec<u8>) {
        (**self).put(bytes);
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        T::get(bytes).map(Self::new)
    }
}

impl<T: Pack> Pack for [T; 2] {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.iter().for_each(|value| value.put(bytes));
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok([T::get(bytes)?, T::get(bytes)?])
    }
}

impl<A: Pack, B: Pack> Pack for (A, B) {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.0.put(bytes);
        self.1.put(bytes);
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok((A::get(bytes)?, B::get(bytes)?))
    }
}

impl<A: Pack, B: Pack, C: Pack> Pack for (A, B, C) {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.0.put(bytes);
        self.1.put(bytes);
        self.2.put(bytes);
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok((A::get(bytes)?, B::get(bytes)?, C::get(bytes)?))
    }
}

impl<T: Pack, E: Pack> Pack for Result<T, E> {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.is_ok().put(bytes);
        match self {
            Ok(value) => value.put(bytes),
            Err(error) => error.put(bytes),
        }
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok(if bool::get(bytes)? { Ok(T::get(bytes)?) } else { Err(E::get(bytes)?) })
    }
}

pack_fields!(Exposure { clear, label, record, outside });

impl Pack for Spent {
    fn put(&self, bytes: &mut Vec<u8>) {
        let (mu_squared, [laplace, pure]) = self.sums();
        mu_squared.put(bytes);
        laplace.put(bytes);
        pure.put(bytes);
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok(Self::of_sums(Pack::get(bytes)?, Pack::get(bytes)?, Pack::get(bytes)?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::Epsilon;

    /// It comes back as it was, and no shorter bytes are taken for it.
    fn returns<T: Pack + PartialEq + std::fmt::Debug>(value: &T) {
        let mut bytes = Vec::new();
        value.put(&mut bytes);
        let mut rest = bytes.as_slice();
        assert_eq!(T::get(&mut rest).as_ref(), Ok(value));
        assert!(rest.is_empty());
        for cut in 0..bytes.len() {
            assert!(T::get(&mut &bytes[..cut]).is_err(), "{cut} of {} bytes", bytes.len());
        }
    }

    #[test]
    fn what_peers_have_spent_returns() {
        let mut spent = Spent::gaussian(0.3);
        spent.add(&Spent::laplace(0.25));
        spent.add(&Spent::laplace(1.25));
        spent.add(&Spent::pure(Epsilon(0.5)));
        returns(&spent);
        returns(&Spent::unbounded());
        let outside = Some(Box::new([spent.clone(), Spent::default()]));
        returns(&Exposure { clear: 3, label: Spent::unbounded(), record: spent, outside });
    }

    proptest! {
        #[test]
        fn numbers_keep_their_bits(words in prop::collection::vec(any::<u64>(), 0..9)) {
            let numbers: Vec<f64> = words.iter().map(|&word| f64::from_bits(word)).collect();
            let mut bytes = Vec::new();
            numbers.put(&mut bytes);
            let back = Vec::<f64>::get(&mut bytes.as_slice()).unwrap();
            prop_assert_eq!(back.iter().map(|number| number.to_bits()).collect::<Vec<_>>(), words);
        }

        #[test]
        fn all_else_returns(
            numbers in prop::collection::vec((any::<u64>(), any::<bool>(), any::<u32>()), 0..5),
            text: String,
            some in prop::option::of(any::<u64>()),
            fine: bool,
        ) {
            returns(&(numbers, text.clone(), some));
            returns(&if fine { Ok([PeerId(3), PeerId(4)]) } else { Err(text) });
        }

        #[test]
        fn arbitrary_bytes_are_figures_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Vec::<Exposure>::get(&mut bytes.as_slice());
        }
    }
}
