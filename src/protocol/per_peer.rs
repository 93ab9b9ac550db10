//! A number for every peer: one for all, or a list.

use std::fmt;
use std::ops::RangeInclusive;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::PeerId;

/// A number for every peer.
#[derive(Clone, Debug, PartialEq)]
pub enum PerPeer {
    /// The same for all.
    Same(f64),
    /// One each, in the order of peers.
    Each(Vec<f64>),
}

impl PerPeer {
    /// The number of a peer.
    ///
    /// # Panics
    /// If the list is too short, which `check` finds.
    pub fn of(&self, peer: PeerId) -> f64 {
        match self {
            Self::Same(value) => *value,
            Self::Each(values) => values[peer.index()],
        }
    }

    /// The least of them.
    pub fn least(&self) -> f64 {
        match self {
            Self::Same(value) => *value,
            Self::Each(values) => values.iter().copied().fold(f64::INFINITY, f64::min),
        }
    }

    /// Everything that is wrong with it: (place within, what was expected).
    pub(super) fn check(
        &self,
        range: RangeInclusive<f64>,
        peers: Option<usize>,
    ) -> Vec<(String, String)> {
        let expected = |value: &f64| {
            format!("expected a number from {} to {}, found {value}", range.start(), range.end())
        };
        match self {
            Self::Same(value) if range.contains(value) => Vec::new(),
            Self::Same(value) => vec![(String::new(), expected(value))],
            Self::Each(values) => {
                let wrong = values.iter().enumerate().filter(|(_, value)| !range.contains(*value));
                let mut problems: Vec<_> =
                    wrong.map(|(i, value)| (format!(".{i}"), expected(value))).collect();
                if let Some(peers) = peers.filter(|&peers| peers != values.len()) {
                    let message = format!(
                        "expected {peers} numbers, one for each peer, found {}",
                        values.len()
                    );
                    problems.push((String::new(), message));
                }
                problems
            }
        }
    }
}

impl Serialize for PerPeer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Same(value) => serializer.serialize_f64(*value),
            Self::Each(values) => values.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PerPeer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = PerPeer;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a list with one for each peer")
            }
            fn visit_f64<E>(self, value: f64) -> Result<PerPeer, E> {
                Ok(PerPeer::Same(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<PerPeer, E> {
                Ok(PerPeer::Same(value as f64))
            }
            fn visit_i64<E>(self, value: i64) -> Result<PerPeer, E> {
                Ok(PerPeer::Same(value as f64))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<PerPeer, A::Error> {
                Deserialize::deserialize(de::value::SeqAccessDeserializer::new(seq))
                    .map(PerPeer::Each)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for PerPeer {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PerPeer".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [
            { "type": "number", "description": "The same for all peers." },
            { "type": "array", "items": { "type": "number" }, "description": "One for each peer." }
        ]})
    }
}
