//! From a path of keys to a line and a column.
//!
//! No positions are kept while a file is read. The parser attaches one to every error raised inside
//! a visitor, so when a problem has to be shown, a seed follows the path through the text once more
//! and raises an error where the path ends.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What the parser counts as the end of a line; carriage returns before newlines are gone by then.
pub(super) const LINE_BREAKS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

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
    let follow = |target| walk(serde_yaml::Deserializer::from_str(text), path, target);
    let of_value = (target == Target::Value).then(|| follow(target)).flatten();
    of_value.or_else(|| follow(Target::Key))
}

/// Where the second document of a text starts.
pub(super) fn second_document(text: &str) -> Option<(usize, usize)> {
    let document = serde_yaml::Deserializer::from_str(text).nth(1)?;
    walk(document, &[], Target::Key)
}

/// Line and column, from 1, of a byte of the text.
pub(super) fn of_byte(text: &str, byte: usize) -> (usize, usize) {
    let lines = text[..byte].split(LINE_BREAKS);
    lines.enumerate().last().map_or((1, 1), |(line, rest)| (line + 1, rest.chars().count() + 1))
}

fn walk(
    document: serde_yaml::Deserializer<'_>,
    path: &[String],
    target: Target,
) -> Option<(usize, usize)> {
    let arrived = Cell::new(false);
    let walk = Walk { path, target, whatever: path.is_empty(), arrived: &arrived };
    let location = walk.deserialize(document).err()?.location()?;
    // Turning back half-way leaves entries unread, which the parser reports as errors of its own.
    arrived.get().then_some((location.line(), location.column()))
}

/// Follows the path from one value downwards. The visitor takes no scalar, so arriving at one is
/// already an error at its place.
#[derive(Clone, Copy)]
struct Walk<'a> {
    path: &'a [String],
    target: Target,
    /// Whether a path that ends here means this value even if it is no scalar.
    whatever: bool,
    /// Whether the error that ended the walk was raised where the path ends.
    arrived: &'a Cell<bool>,
}

impl Walk<'_> {
    fn no_scalar<E: Error>(self) -> Result<(), E> {
        self.arrived.set(self.path.is_empty() && self.whatever);
        if self.arrived.get() { Err(E::custom("here")) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let of_value = self.target == Target::Value || self.whatever;
        self.arrived.set(self.path.is_empty() && of_value);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or a section")
    }

    // An empty value stands wherever the parser noticed that it was missing: not worth pointing at.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.no_scalar()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((step, rest)) = self.path.split_first() else { return self.no_scalar() };
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
        let Some((step, rest)) = self.path.split_first() else { return self.no_scalar() };
        let ends_at_key = rest.is_empty() && self.target == Target::Key;
        let key = Key { name: step, ends: ends_at_key, arrived: self.arrived };
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
    ends: bool,
    arrived: &'a Cell<bool>,
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
        let found = key == self.name;
        self.arrived.set(found && self.ends);
        if self.arrived.get() { Err(E::custom("here")) } else { Ok(found) }
    }
}
