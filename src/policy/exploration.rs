//! How often a policy tosses a coin in place of its own choice.

use std::fmt;

use rand::RngExt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Action;
use crate::random::Stream;

/// With probability `p` a fair coin, otherwise `greedy`.
///
/// The greedy action is taken with probability 1 − p/2 and the other one with p/2: one decision on its
/// own is randomised response of ln((2 − p)/p).
pub(super) fn explore(p: f64, greedy: Action, stream: &mut Stream) -> Action {
    match stream.random::<f64>() {
        u if u < 0.5 * p => Action::Local,
        u if u < p => Action::Global,
        _ => greedy,
    }
}

/// The ε of one decision on its own at exploration `p`: ln((2 − p)/p), infinite at 0.
pub(super) fn decision_epsilon(p: f64) -> f64 {
    ((2.0 - p) / p).ln()
}

/// The probability of a fair coin in place of the policy's choice: a number, or a fading one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exploration {
    /// The same at every visit, 0 to 1.
    Constant(f64),
    /// Linear in the number of the visit, then constant.
    Fade(Fade),
}

/// Exploration that changes linearly from the first visit on, and then stays.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fade {
    /// The probability at the first visit, 0 to 1. Default 1.
    pub from: f64,
    /// The probability in the end, 0 to 1. Default 0.1.
    pub to: f64,
    /// The share of the peer's visits after which the end is reached, 0 to 1. Default 0.5.
    pub over: f64,
}

impl Default for Fade {
    fn default() -> Self {
        Self { from: 1.0, to: 0.1, over: 0.5 }
    }
}

impl Default for Exploration {
    fn default() -> Self {
        Self::Fade(Fade::default())
    }
}

impl Exploration {
    /// The probability at visit `number` (from 0) of `of`.
    pub fn at(&self, number: u32, of: u32) -> f64 {
        match *self {
            Self::Constant(p) => p,
            Self::Fade(Fade { from, to, over }) => {
                let (number, span) = (f64::from(number), over * f64::from(of));
                if number < span { from + (to - from) * (number / span) } else { to }
            }
        }
    }

    /// The least probability of all visits.
    pub fn least(&self) -> f64 {
        match *self {
            Self::Constant(p) => p,
            Self::Fade(Fade { from, to, .. }) => from.min(to),
        }
    }

    /// Everything that is wrong with it: (place within, what was expected).
    pub(super) fn check(&self) -> Vec<(String, String)> {
        let numbers = match *self {
            Self::Constant(p) => vec![("", p)],
            Self::Fade(Fade { from, to, over }) => {
                vec![(".from", from), (".to", to), (".over", over)]
            }
        };
        let wrong = numbers.into_iter().filter(|(_, number)| !(0.0..=1.0).contains(number));
        wrong
            .map(|(place, number)| {
                (place.to_string(), format!("expected a number from 0 to 1, found {number}"))
            })
            .collect()
    }
}

impl Serialize for Exploration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Constant(p) => serializer.serialize_f64(*p),
            Self::Fade(fade) => fade.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Exploration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Exploration;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or {from: …, to: …, over: …}")
            }
            fn visit_f64<E>(self, value: f64) -> Result<Exploration, E> {
                Ok(Exploration::Constant(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Exploration, E> {
                Ok(Exploration::Constant(value as f64))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Exploration, E> {
                Ok(Exploration::Constant(value as f64))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Exploration, A::Error> {
                Deserialize::deserialize(de::value::MapAccessDeserializer::new(map))
                    .map(Exploration::Fade)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for Exploration {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Exploration".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let fade = generator.subschema_for::<Fade>();
        json_schema!({
            "description": "The probability of a fair coin in place of the policy's choice.",
            "oneOf": [
                { "type": "number", "description": "The same at every visit, 0 to 1." },
                fade
            ]
        })
    }
}
