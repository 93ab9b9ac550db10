//! Privacy levels: one for all, by peer, by user, or drawn.

use std::borrow::Cow;
use std::fmt;

use rand::RngExt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::random::Family;
use crate::units::{Epsilon, PeerId};

/// The smallest level: k = 2 million, and sums of answers stay far from overflow.
const LEAST: f64 = 1e-6;
/// The greatest level: one answer in 5·10²¹ is flipped, which no simulation will see.
const GREATEST: f64 = 50.0;

/// The level ε of each user.
#[derive(Clone, Debug, PartialEq)]
pub enum Levels {
    /// The same for everybody: a number.
    Same(f64),
    /// One for the users of each peer: `{per-peer: […]}`.
    PerPeer(Vec<f64>),
    /// One for each row of the source, in its order: `{per-user: […]}`.
    PerUser(Vec<f64>),
    /// One drawn for each row of the source: `{drawn: …}`.
    Drawn(Law),
}

/// The law that users' levels are drawn from, independently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Law {
    /// Uniform between two levels.
    Uniform(Span),
    /// Uniform in the logarithm between two levels.
    LogUniform(Span),
    /// One of some levels, each as likely as any other; one that is listed twice is twice as likely.
    Choice(Vec<f64>),
}

/// An interval of levels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// Where it begins, at least 0.000001.
    pub low: f64,
    /// Where it ends, above `low` and at most 50.
    pub high: f64,
}

impl Levels {
    /// The level of the user whose row has this number in the source and lies with this peer.
    /// `family` are the streams of [`Purpose::Levels`](crate::random::Purpose::Levels), one for each
    /// row of the source.
    ///
    /// # Panics
    /// If there is a list and nobody of that number on it.
    pub fn level(&self, peer: PeerId, row: u32, family: Family) -> Epsilon {
        Epsilon(match self {
            Self::Same(level) => *level,
            Self::PerPeer(levels) => levels[peer.index()],
            Self::PerUser(levels) => levels[row as usize],
            Self::Drawn(law) => law.draw(row, family),
        })
    }

    /// The least and the greatest level that a user of this peer can have, before any is drawn or
    /// any row is dealt.
    ///
    /// # Panics
    /// If there is a list, and this peer is not on it or it is empty.
    pub fn range(&self, peer: PeerId) -> (Epsilon, Epsilon) {
        let (low, high) = match self {
            Self::Same(level) => (*level, *level),
            Self::PerPeer(levels) => (levels[peer.index()], levels[peer.index()]),
            Self::PerUser(levels) | Self::Drawn(Law::Choice(levels)) => {
                let ends =
                    |(low, high): (f64, f64), level: &f64| (low.min(*level), high.max(*level));
                levels.iter().fold((f64::INFINITY, 0.0), ends)
            }
            Self::Drawn(Law::Uniform(span) | Law::LogUniform(span)) => (span.low, span.high),
        };
        (Epsilon(low), Epsilon(high))
    }

    /// Every problem as (field path relative to the value, message).
    pub(super) fn check(&self, peers: Option<usize>) -> Vec<(String, String)> {
        match self {
            Self::Same(level) => wrong("", *level).into_iter().collect(),
            Self::PerPeer(levels) => {
                let mut problems = wrong_in_list("per-peer", levels);
                if let Some(peers) = peers.filter(|&peers| peers != levels.len()) {
                    let found = levels.len();
                    let message = format!(
                        "number of levels: found {found}, expected {peers}, one for each peer"
                    );
                    problems.push(("per-peer".to_string(), message));
                }
                problems
            }
            Self::PerUser(levels) => wrong_in_list("per-user", levels),
            Self::Drawn(Law::Choice(levels)) => wrong_in_list("drawn.choice", levels),
            Self::Drawn(Law::Uniform(span)) => span.check("drawn.uniform"),
            Self::Drawn(Law::LogUniform(span)) => span.check("drawn.log-uniform"),
        }
    }

    /// What is wrong with a list of users' levels for a source of that many rows.
    pub(super) fn check_source(&self, source_rows: usize) -> Option<String> {
        let Self::PerUser(levels) = self else { return None };
        let found = levels.len();
        (found != source_rows).then(|| {
            format!(
                "number of levels: found {found}, expected {source_rows}, one for each row of the \
                 source"
            )
        })
    }
}

impl Law {
    fn draw(&self, row: u32, family: Family) -> f64 {
        let mut stream = family.stream(row.into());
        match self {
            Self::Uniform(Span { low, high }) => {
                let level = low + (high - low) * stream.random::<f64>();
                level.clamp(*low, *high)
            }
            Self::LogUniform(Span { low, high }) => {
                let level = low * ((high / low).ln() * stream.random::<f64>()).exp();
                level.clamp(*low, *high)
            }
            Self::Choice(levels) => levels[stream.random_range(0..levels.len())],
        }
    }
}

impl Span {
    fn check(self, field: &str) -> Vec<(String, String)> {
        let Self { low, high } = self;
        let ends = [wrong(&format!("{field}.low"), low), wrong(&format!("{field}.high"), high)];
        let mut problems: Vec<_> = ends.into_iter().flatten().collect();
        if problems.is_empty() && low >= high {
            let message = format!("found {high}, expected a level above low, which is {low}");
            problems.push((format!("{field}.high"), message));
        }
        problems
    }
}

fn wrong(field: &str, level: f64) -> Option<(String, String)> {
    let message = match level {
        LEAST..=GREATEST => return None,
        f64::INFINITY => "found infinity, expected 0.000001 to 50: a label that is not randomised \
                          has no guarantee"
            .to_string(),
        _ => format!("found {level}, expected 0.000001 to 50"),
    };
    Some((field.to_string(), message))
}

fn wrong_in_list(field: &str, levels: &[f64]) -> Vec<(String, String)> {
    if levels.is_empty() {
        return vec![(field.to_string(), "found an empty list, expected a level".to_string())];
    }
    let items = levels.iter().enumerate();
    items.filter_map(|(i, &level)| wrong(&format!("{field}.{i}"), level)).collect()
}

impl Serialize for Levels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Same(level) => serializer.serialize_f64(*level),
            Self::PerPeer(levels) => {
                serializer.serialize_newtype_variant("Levels", 1, "per-peer", levels)
            }
            Self::PerUser(levels) => {
                serializer.serialize_newtype_variant("Levels", 2, "per-user", levels)
            }
            Self::Drawn(law) => serializer.serialize_newtype_variant("Levels", 3, "drawn", law),
        }
    }
}

/// The keys that may stand in the place of a number.
#[derive(Deserialize)]
#[serde(variant_identifier, rename_all = "kebab-case")]
enum Key {
    PerPeer,
    PerUser,
    Drawn,
}

impl<'de> Deserialize<'de> for Levels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Levels;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or one of the sections `per-peer`, `per-user` and `drawn`")
            }
            fn visit_f64<E>(self, value: f64) -> Result<Levels, E> {
                Ok(Levels::Same(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Levels, E> {
                Ok(Levels::Same(value as f64))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Levels, E> {
                Ok(Levels::Same(value as f64))
            }
            // Not through a derived enum: read from a map, it would not look at a second key.
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Levels, A::Error> {
                let one = || de::Error::custom("expected one of per-peer, per-user and drawn");
                let levels = match map.next_key()?.ok_or_else(one)? {
                    Key::PerPeer => Levels::PerPeer(map.next_value()?),
                    Key::PerUser => Levels::PerUser(map.next_value()?),
                    Key::Drawn => Levels::Drawn(map.next_value()?),
                };
                match map.next_key::<Key>()? {
                    None => Ok(levels),
                    Some(_) => Err(one()),
                }
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for Levels {
    fn schema_name() -> Cow<'static, str> {
        "Levels".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let level = json_schema!({ "type": "number", "minimum": LEAST, "maximum": GREATEST });
        let list = json_schema!({ "type": "array", "items": level });
        let law = generator.subschema_for::<Law>();
        let section = |key: &str, value: &Schema, description: &str| {
            json_schema!({
                "type": "object",
                "description": description,
                "properties": { key: value },
                "required": [key],
                "additionalProperties": false
            })
        };
        json_schema!({ "oneOf": [
            level,
            section("per-peer", &list, "One for the users of each peer."),
            section("per-user", &list, "One for each row of the source, in its order."),
            section("drawn", &law, "One drawn for each row of the source.")
        ]})
    }
}
