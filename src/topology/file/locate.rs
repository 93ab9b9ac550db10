//! Finding the line of a place in a YAML text whose fault showed only after it was read.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// One step down into a document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// To the value of a key.
    Key(&'static str),
    /// To an element of a list.
    Index(usize),
}

impl Step {
    /// A path as people write it: `links[3][2].latency`.
    pub(super) fn join(path: &[Self]) -> String {
        let mut text = String::new();
        for step in path {
            match step {
                Self::Key(key) if text.is_empty() => text += key,
                Self::Key(key) => text += &format!(".{key}"),
                Self::Index(index) => text += &format!("[{index}]"),
            }
        }
        if text.is_empty() { ".".to_string() } else { text }
    }
}

/// The line and column, from 1, of the node at `path`.
///
/// Follows the path through a second deserialisation and fails at its end: the location that
/// serde_yaml attaches to the failure is the answer.
pub(super) fn locate(text: &str, path: &[Step]) -> Option<(usize, usize)> {
    let place =
        Descent(path).deserialize(serde_yaml::Deserializer::from_str(text)).err()?.location()?;
    Some((place.line(), place.column()))
}

/// A visitor on its way; it takes no scalars, so that it fails where the path ends.
struct Descent<'p>(&'p [Step]);

impl<'de> DeserializeSeed<'de> for Descent<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Descent<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing: the path ends here")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((Step::Key(wanted), rest)) = self.0.split_first() else {
            return Err(A::Error::custom("the path ends here"));
        };
        while let Some(key) = map.next_key::<String>()? {
            if key == *wanted {
                map.next_value_seed(Descent(rest))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Some((&Step::Index(wanted), rest)) = self.0.split_first() else {
            return Err(A::Error::custom("the path ends here"));
        };
        for _ in 0..wanted {
            list.next_element::<IgnoredAny>()?;
        }
        list.next_element_seed(Descent(rest))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_keys_and_indices() {
        let text = "a: 1\nb:\n  - [7, 8]\n  - [9, {c: 2}]\n";
        let at = |path: &[Step]| locate(text, path);
        let [b, one] = [Step::Key("b"), Step::Index(1)];
        assert_eq!(at(&[]), Some((1, 1)));
        assert_eq!(at(&[Step::Key("a")]), Some((1, 4)));
        assert_eq!(at(&[b, one]), Some((4, 5)));
        assert_eq!(at(&[b, one, Step::Index(0)]), Some((4, 6)));
        assert_eq!(at(&[b, one, one, Step::Key("c")]), Some((4, 13)));
        assert_eq!(at(&[Step::Key("missing")]), None);
        assert_eq!(Step::join(&[b, one, one, Step::Key("c")]), "b[1][1].c");
    }
}
