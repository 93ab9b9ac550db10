//! JSON has no numbers beyond the finite: they are written as the words `NaN`, `inf` and `-inf`.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number that may be anything.
struct Any(f64);

impl Serialize for Any {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() {
            serializer.serialize_f64(self.0)
        } else {
            serializer.collect_str(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Any {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Any;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, `NaN`, `inf` or `-inf`")
            }
            fn visit_f64<E>(self, value: f64) -> Result<Any, E> {
                Ok(Any(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Any, E> {
                Ok(Any(value as f64))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Any, E> {
                Ok(Any(value as f64))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Any, E> {
                text.parse().map(Any).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// For single numbers.
pub(crate) mod any_number {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        Any(*value).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Any::deserialize(deserializer).map(|value| value.0)
    }
}

/// For lists.
pub(crate) mod any_numbers {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        values: &[f64],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|&value| Any(value)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Any>::deserialize(deserializer)?;
        Ok(values.into_iter().map(|value| value.0).collect())
    }
}

/// For lists of pairs.
pub(crate) mod any_pairs {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        pairs: &[(f64, f64)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(pairs.iter().map(|&(a, b)| (Any(a), Any(b))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(f64, f64)>, D::Error> {
        let pairs = Vec::<(Any, Any)>::deserialize(deserializer)?;
        Ok(pairs.into_iter().map(|(a, b)| (a.0, b.0)).collect())
    }
}

/// For lists of pairs that may not be there.
pub(crate) mod maybe_pairs {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        pairs: &Option<Vec<(f64, f64)>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match pairs {
            Some(pairs) => any_pairs::serialize(pairs, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<(f64, f64)>>, D::Error> {
        let pairs = Option::<Vec<(Any, Any)>>::deserialize(deserializer)?;
        Ok(pairs.map(|pairs| pairs.into_iter().map(|(a, b)| (a.0, b.0)).collect()))
    }
}

/// For lists of places in the plane.
pub(crate) mod any_places {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        places: &[[f64; 2]],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(places.iter().map(|place| place.map(Any)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<[f64; 2]>, D::Error> {
        let places = Vec::<[Any; 2]>::deserialize(deserializer)?;
        Ok(places.into_iter().map(|place| place.map(|value| value.0)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back_bit_for_bit() {
        #[derive(Serialize, Deserialize)]
        struct Both {
            #[serde(with = "any_number")]
            one: f64,
            #[serde(with = "any_numbers")]
            many: Vec<f64>,
            #[serde(with = "any_pairs")]
            pairs: Vec<(f64, f64)>,
            #[serde(with = "maybe_pairs")]
            maybe: Option<Vec<(f64, f64)>>,
            #[serde(with = "maybe_pairs")]
            none: Option<Vec<(f64, f64)>>,
        }
        let odd = vec![0.1, -0.0, 3.0, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, f64::NAN];
        let pairs: Vec<(f64, f64)> = odd.iter().map(|&value| (value, -value)).collect();
        let json = serde_json::to_string(&Both {
            one: f64::NEG_INFINITY,
            many: odd.clone(),
            pairs: pairs.clone(),
            maybe: Some(pairs.clone()),
            none: None,
        });
        let back: Both = serde_json::from_str(&json.unwrap()).unwrap();
        assert_eq!(back.none, None);
        assert_eq!(back.one, f64::NEG_INFINITY);
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&back.many), bits(&odd));
        // The sign of what is no number is not kept.
        let pair_bits = |values: &[(f64, f64)]| {
            let numbers = values.iter().flat_map(|&(a, b)| [a, b]);
            bits(&numbers.map(|v| if v.is_nan() { f64::NAN } else { v }).collect::<Vec<_>>())
        };
        assert_eq!(pair_bits(&back.pairs), pair_bits(&pairs));
        assert_eq!(pair_bits(&back.maybe.unwrap()), pair_bits(&pairs));
    }
}
