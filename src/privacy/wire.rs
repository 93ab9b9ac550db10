//! How messages look in bytes.

mod pack;

use std::sync::Arc;

use thiserror::Error;

pub use pack::Pack;
pub(crate) use pack::pack_fields;

use crate::units::Round;

/// Bytes that are not a message.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("a message ends {missing} bytes too early")]
pub struct WireError {
    /// How many bytes are missing.
    pub missing: usize,
}

/// A message type's form in bytes; `size` is what a run counts and what bandwidth carries.
pub trait Wire: Sized {
    /// The length of the encoding.
    fn size(&self) -> usize;
    /// Appends exactly [`size`](Self::size) bytes.
    fn encode(&self, bytes: &mut Vec<u8>);
    /// Takes one value off the front.
    ///
    /// # Errors
    /// Too few bytes.
    fn decode(bytes: &mut &[u8]) -> Result<Self, WireError>;

    /// Appends all that a message is in the simulation, which may be more than what it says: how a run
    /// takes it from one of its processes to another. Neither counted nor seen by peers.
    fn pack(&self, bytes: &mut Vec<u8>) {
        self.encode(bytes);
    }
    /// Takes off the front what [`pack`](Self::pack) appended: the same, to the last bit.
    ///
    /// # Errors
    /// Too few bytes.
    fn unpack(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Self::decode(bytes)
    }

    /// A vector of a round as a message, where a protocol [announces](crate::network::Announce::announce)
    /// such: in bytes a round and a vector.
    ///
    /// # Panics
    /// Where none are announced.
    fn of_round(_round: Round, _vector: Arc<[f64]>) -> Self {
        panic!("messages of this kind are no vectors of rounds")
    }
}

/// Bytes of the message that a vector of a round is.
pub(crate) fn size_of_round(length: usize) -> usize {
    Round(0).size() + 4 + 8 * length
}

/// Takes `count` bytes off the front.
fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], WireError> {
    let (head, tail) =
        bytes.split_at_checked(count).ok_or_else(|| WireError { missing: count - bytes.len() })?;
    *bytes = tail;
    Ok(head)
}

impl Wire for u32 {
    fn size(&self) -> usize {
        4
    }
    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
    fn decode(bytes: &mut &[u8]) -> Result<Self, WireError> {
        let mut word = [0; 4];
        word.copy_from_slice(take(bytes, 4)?);
        Ok(Self::from_le_bytes(word))
    }
}

impl Wire for Round {
    fn size(&self) -> usize {
        self.0.size()
    }
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.0.encode(bytes);
    }
    fn decode(bytes: &mut &[u8]) -> Result<Self, WireError> {
        u32::decode(bytes).map(Self)
    }
}

/// Rows of numbers: their length in four bytes, then eight bytes a number.
macro_rules! rows {
    ($($(#[$about:meta])* $row:ty: $number:ty),+) => {$(
        $(#[$about])*
        impl Wire for $row {
            fn size(&self) -> usize {
                4 + 8 * self.len()
            }
            fn encode(&self, bytes: &mut Vec<u8>) {
                (self.len() as u32).encode(bytes);
                self.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            }
            fn decode(bytes: &mut &[u8]) -> Result<Self, WireError> {
                let length = u32::decode(bytes)? as usize;
                let (words, _) = take(bytes, 8 * length)?.as_chunks();
                Ok(words.iter().map(|word| <$number>::from_le_bytes(*word)).collect())
            }
        }
    )+};
}

rows! {
    /// A vector that one peer has at a time.
    Box<[f64]>: f64,
    /// A vector that many may look at, so that a message to many neighbours holds its numbers once.
    Arc<[f64]>: f64,
    /// Residues modulo 2⁶⁴.
    Arc<[u64]>: u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn vectors_survive_the_wire_bit_for_bit(words in prop::collection::vec(any::<u64>(), 0..40)) {
            let vector: Arc<[f64]> = words.iter().map(|&word| f64::from_bits(word)).collect();
            let mut bytes = Vec::new();
            vector.encode(&mut bytes);
            prop_assert_eq!(bytes.len(), vector.size());
            let back = Arc::<[f64]>::decode(&mut bytes.as_slice()).unwrap();
            let bits: Vec<u64> = back.iter().map(|value| value.to_bits()).collect();
            prop_assert_eq!(bits, words);
        }

        #[test]
        fn arbitrary_bytes_are_a_vector_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Arc::<[f64]>::decode(&mut bytes.as_slice());
        }
    }
}
