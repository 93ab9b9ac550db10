//! From a path of keys to a line and a column.
//!
//! No positions are kept while a file is read. The parser attaches one to every error raised inside
//! a visitor, so when a problem has to be shown, a seed follows the path through the text once more
//! and raises an error where the path ends.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Which end of an entry to point at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The key, or the item of a list.
    Key,
    /// The value where it is a scalar; the key of a section, of a list and of an empty value.
    Value,
}

/// Line and column, from 1, of what stands under `path`; none if nothing does.
pub(super) fn position(text: &str, path: &[String], target: Target) -> Option<(usize, usize)> {
    let of_value = (target == Target::Value).then(|| follow(text, path, Target::Value)).flatten();
    of_value.or_else(|| follow(text, path, Target::Key))
}

/// Where the second document of a text starts.
pub(super) fn second_document(text: &str) -> Option<(usize, usize)> {
    let document = serde_yaml::Deserializer::from_str(text).nth(1)?;
    raise_in(document, &[], Target::Key)
}

/// Line and column, from 1, of a byte of the text.
pub(super) fn of_byte(text: &str, byte: usize) -> (usize, usize) {
    let before = &text[..byte];
    let line = before.matches(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).count();
    let column = before.rsplit(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).next();
    (line + 1, column.map_or(0, |rest| rest.chars().count()) + 1)
}

fn follow(text: &str, path: &[String], target: Target) -> Option<(usize, usize)> {
    raise_in(serde_yaml::Deserializer::from_str(text), path, target)
}

fn raise_in(
    document: serde_yaml::Deserializer<'_>,
    path: &[String],
    target: Target,
) -> Option<(usize, usize)> {
    let raised = Cell::new(false);
    let walk = Walk { path, target, whatever: path.is_empty(), raised: &raised };
    let location = walk.deserialize(document).err()?.location()?;
    // Turning back half-way leaves entries unread, which the parser reports as errors of its own.
    raised.get().then_some((location.line(), location.column()))
}

/// Follows the path from one value downwards.
#[derive(Clone, Copy)]
struct Walk<'a> {
    path: &'a [String],
    target: Target,
    /// Whether a path that ends here means this value, be it a scalar or not.
    whatever: bool,
    raised: &'a Cell<bool>,
}

impl Walk<'_> {
    fn scalar<E: Error>(self) -> Result<(), E> {
        if self.path.is_empty() && self.target == Target::Value { self.raise() } else { self.end() }
    }

    fn end<E: Error>(self) -> Result<(), E> {
        if self.path.is_empty() && self.whatever { self.raise() } else { Ok(()) }
    }

    fn raise<T, E: Error>(self) -> Result<T, E> {
        self.raised.set(true);
        Err(E::custom("here"))
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.scalar()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.scalar()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.scalar()
    }

    fn visit_i128<E: Error>(self, _: i128) -> Result<(), E> {
        self.scalar()
    }

    fn visit_u128<E: Error>(self, _: u128) -> Result<(), E> {
        self.scalar()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.scalar()
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.scalar()
    }

    // An empty value stands wherever the parser noticed that it was missing: not worth pointing at.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.end()
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.end()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((step, rest)) = self.path.split_first() else { return self.end() };
        let Ok(index) = step.parse::<usize>() else { return Ok(()) };
        for _ in 0..index {
            if items.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
        }
        let whatever = self.target == Target::Key;
        items.next_element_seed(Walk { path: rest, whatever, ..self })?;
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Some((step, rest)) = self.path.split_first() else { return self.end() };
        let key = Key { name: step, last: rest.is_empty(), walk: self };
        while let Some(found) = entries.next_key_seed(key)? {
            if found {
                return entries.next_value_seed(Walk { path: rest, whatever: false, ..self });
            }
            entries.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// Says whether a key is the one looked for, and raises if the path ends with it.
#[derive(Clone, Copy)]
struct Key<'a> {
    name: &'a str,
    last: bool,
    walk: Walk<'a>,
}

impl Key<'_> {
    fn compare<E: Error>(self, key: &str) -> Result<bool, E> {
        let found = key == self.name;
        if found && self.last && self.walk.target == Target::Key {
            return self.walk.raise();
        }
        Ok(found)
    }
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        // As text whatever it looks like: `1` and `true` are compared as they are written.
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        self.compare(key)
    }
}
