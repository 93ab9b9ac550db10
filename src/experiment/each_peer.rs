//! One number for each of many peers.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::measure::nan::any_numbers;

/// Below so many runs nobody asks whether they are worth it.
const FEW: usize = 1 << 10;

/// One value for each peer, in the order of their numbers.
///
/// Peers side by side mostly have the same, of which there are few however many peers there are: values
/// are kept by runs of equal ones, unless most of them differ from their neighbours.
///
/// Memory: a value and 4 bytes for each run, or a value for each peer, whichever is about less.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EachPeer<T> {
    values: Vec<T>,
    /// Where each run ends; nothing where there is a value for each peer.
    ends: Vec<u32>,
}

/// What there can be of each peer. Two are the same if all their bits are.
pub trait Figure: Copy {
    /// Whether they are the same.
    fn same(self, other: Self) -> bool;
}

impl Figure for u32 {
    fn same(self, other: Self) -> bool {
        self == other
    }
}

impl Figure for f64 {
    fn same(self, other: Self) -> bool {
        self.to_bits() == other.to_bits()
    }
}

impl<T: Figure> EachPeer<T> {
    /// How many peers there are.
    pub fn len(&self) -> usize {
        self.ends.last().map_or(self.values.len(), |&end| end as usize)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value of the peer with this number, if there is one.
    pub fn get(&self, peer: usize) -> Option<T> {
        let at = match self.ends.is_empty() {
            true => peer,
            false => self.ends.partition_point(|&end| end as usize <= peer),
        };
        self.values.get(at).copied()
    }

    /// Each with how many peers have it, one after the other.
    pub fn runs(&self) -> impl Iterator<Item = (T, usize)> + '_ {
        let each = self.ends.is_empty();
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let lengths = begins.zip(&self.ends).map(|(begin, end)| (end - begin) as usize);
        let lengths =
            lengths.chain(std::iter::repeat_n(1, if each { self.values.len() } else { 0 }));
        self.values.iter().copied().zip(lengths)
    }

    /// That of every peer, in order.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.runs().flat_map(|(value, peers)| std::iter::repeat_n(value, peers))
    }

    fn push(&mut self, value: T) {
        let peers = self.len() as u32;
        if peers > 0 && self.ends.is_empty() {
            return self.values.push(value);
        }
        match (self.values.last(), self.ends.last_mut()) {
            (Some(last), Some(end)) if last.same(value) => *end += 1,
            _ => {
                self.values.push(value);
                self.ends.push(peers + 1);
            }
        }
        let runs = self.values.len();
        if runs > FEW && 2 * runs > self.len() {
            self.values = self.iter().collect();
            self.ends = Vec::new();
        }
    }
}

impl<T: Figure> Extend<T> for EachPeer<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, more: I) {
        more.into_iter().for_each(|value| self.push(value));
    }
}

impl<T: Figure> FromIterator<T> for EachPeer<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        let mut values = Self { values: Vec::new(), ends: Vec::new() };
        values.extend(all);
        values
    }
}

/// Numbers of any kind, as they are in a file.
#[derive(Serialize)]
struct Written<'a>(#[serde(serialize_with = "any_numbers::serialize")] &'a [f64]);

/// The same, read again.
#[derive(Deserialize)]
struct Numbers(#[serde(deserialize_with = "any_numbers::deserialize")] Vec<f64>);

impl Serialize for EachPeer<u32> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.values, &self.ends).serialize(serializer)
    }
}

impl Serialize for EachPeer<f64> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (Written(&self.values), &self.ends).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for EachPeer<u32> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (values, ends) = Deserialize::deserialize(deserializer)?;
        read(values, ends)
    }
}

impl<'de> Deserialize<'de> for EachPeer<f64> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (Numbers(values), ends) = Deserialize::deserialize(deserializer)?;
        read(values, ends)
    }
}

/// What was written, if it can have been.
fn read<T, E: Error>(values: Vec<T>, ends: Vec<u32>) -> Result<EachPeer<T>, E> {
    let ascend = ends.is_sorted_by(|a, b| a < b) && ends.first() != Some(&0);
    if ends.is_empty() || (ends.len() == values.len() && ascend) {
        Ok(EachPeer { values, ends })
    } else {
        Err(E::custom("expected the end of each run of values, ascending"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Runs of any lengths, so that some lists are kept by runs and some are not.
        #[test]
        fn every_peer_keeps_its_own(
            runs in proptest::collection::vec((0_u32..4, 1_usize..6), 0..700),
            singles in 0_u32..3000,
        ) {
            let runs = runs.into_iter().flat_map(|(value, peers)| std::iter::repeat_n(value, peers));
            let listed: Vec<u32> = runs.chain(0..singles).collect();
            let values: EachPeer<u32> = listed.iter().copied().collect();
            prop_assert_eq!(values.len(), listed.len());
            prop_assert!(values.iter().eq(listed.iter().copied()));
            for (peer, &value) in listed.iter().enumerate() {
                prop_assert_eq!(values.get(peer), Some(value));
            }
            prop_assert_eq!(values.get(listed.len()), None);
            let text = serde_json::to_string(&values).unwrap();
            prop_assert_eq!(serde_json::from_str::<EachPeer<u32>>(&text).unwrap(), values);
        }
    }

    #[test]
    fn a_million_alike_are_one_run_and_those_that_differ_a_list() {
        let alike: EachPeer<u32> = std::iter::repeat_n(7, 1_000_000).collect();
        assert_eq!((alike.values.len(), alike.ends.as_slice()), (1, &[1_000_000][..]));
        let differ: EachPeer<u32> = (0..10_000).collect();
        assert_eq!((differ.values.len(), differ.ends.len()), (10_000, 0));
    }

    #[test]
    fn every_bit_of_a_number_counts() {
        let odd = [0.0, -0.0, -0.0, f64::NAN, f64::NAN, f64::INFINITY];
        let values: EachPeer<f64> = odd.into_iter().collect();
        assert_eq!(values.runs().map(|(_, peers)| peers).collect::<Vec<_>>(), [1, 2, 2, 1]);
        let text = serde_json::to_string(&values).unwrap();
        let read: EachPeer<f64> = serde_json::from_str(&text).unwrap();
        assert!(read.iter().zip(odd).all(|(read, value)| read.same(value)), "{text}");
        for wrong in ["[[1,2],[3]]", "[[1,2],[3,3]]", "[[1],[0]]"] {
            assert!(serde_json::from_str::<EachPeer<u32>>(wrong).is_err(), "{wrong}");
        }
    }
}
