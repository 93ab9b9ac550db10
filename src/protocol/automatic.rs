//! A number that may be left to theory.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number, or `auto`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Automatic {
    /// The one with the best predicted rate.
    #[default]
    Auto,
    /// This one.
    Value(f64),
}

impl Serialize for Automatic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Value(beta) => serializer.serialize_f64(*beta),
        }
    }
}

impl<'de> Deserialize<'de> for Automatic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Automatic;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or the word `auto`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Automatic, E> {
                match text {
                    "auto" => Ok(Automatic::Auto),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_f64<E>(self, value: f64) -> Result<Automatic, E> {
                Ok(Automatic::Value(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Automatic, E> {
                Ok(Automatic::Value(value as f64))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Automatic, E> {
                Ok(Automatic::Value(value as f64))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for Automatic {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Automatic".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [
            { "const": "auto", "description": "The one with the best predicted rate." },
            { "type": "number", "exclusiveMinimum": 0 }
        ]})
    }
}
