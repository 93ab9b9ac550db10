//! A deserialiser over a tree of values that knows where in the tree it is.
//!
//! It reads what `serde_yaml::with::singleton_map_recursive` writes (a choice is a bare word or a
//! section with one key), and attaches to every error the path of the key or value at fault.

use std::marker::PhantomData;
use std::slice;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_yaml::{Mapping, Value, mapping};

use super::fault::{Fault, found, unexpected};
use super::locate::Target;
use super::tree::key_text;

/// Reads a `T` from the tree.
pub(super) fn parse<T: DeserializeOwned>(tree: &Value) -> Result<T, Fault> {
    Node { value: tree, trail: &Trail::Root }.read(PhantomData, Target::Value)
}

/// The way from the root to a value.
enum Trail<'a> {
    Root,
    Below(&'a Trail<'a>, String),
}

impl Trail<'_> {
    fn path(&self) -> Vec<String> {
        match self {
            Self::Root => Vec::new(),
            Self::Below(parent, step) => {
                let mut path = parent.path();
                path.push(step.clone());
                path
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Node<'a> {
    value: &'a Value,
    trail: &'a Trail<'a>,
}

impl Node<'_> {
    fn read<'de, T: DeserializeSeed<'de>>(
        self,
        seed: T,
        target: Target,
    ) -> Result<T::Value, Fault> {
        seed.deserialize(self).map_err(|fault| fault.at(|| self.trail.path(), target))
    }

    fn visit_list<'de, V: Visitor<'de>>(
        self,
        list: &[Value],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let mut items = Items { left: list.iter(), taken: 0, trail: self.trail };
        let value = visitor.visit_seq(&mut items)?;
        match items.left.len() {
            0 => Ok(value),
            _ => Err(Fault::invalid_length(
                list.len(),
                &format!("a list of {} items", items.taken).as_str(),
            )),
        }
    }

    fn visit_section<'de, V: Visitor<'de>>(
        self,
        section: &Mapping,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_map(Entries { left: section.iter(), current: None, trail: self.trail })
    }

    fn mismatch<'de, V: Visitor<'de>>(self, visitor: &V) -> Fault {
        Fault::invalid_type(unexpected(self.value), visitor)
    }
}

impl<'de> Deserializer<'de> for Node<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(truth) => visitor.visit_bool(*truth),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(whole), ..) => visitor.visit_u64(whole),
                (_, Some(whole), _) => visitor.visit_i64(whole),
                (.., Some(float)) => visitor.visit_f64(float),
                (None, None, None) => Err(self.mismatch(&visitor)),
            },
            Value::String(text) => visitor.visit_str(text),
            Value::Sequence(list) => self.visit_list(list, visitor),
            Value::Mapping(section) => self.visit_section(section, visitor),
            Value::Tagged(_) => Err(self.mismatch(&visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    // A key with nothing after it is an empty list or section, as when all its lines are comments.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Sequence(list) => self.visit_list(list, visitor),
            Value::Null => self.visit_list(&[], visitor),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Mapping(section) => self.visit_section(section, visitor),
            Value::Null => self.visit_section(&Mapping::new(), visitor),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_map(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let expected = format!("a list of {length} items");
        match self.value {
            Value::Sequence(list) if list.len() == length => self.visit_list(list, visitor),
            Value::Sequence(list) => Err(Fault::invalid_length(list.len(), &expected.as_str())),
            other => Err(Fault::invalid_type(unexpected(other), &expected.as_str())),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.value {
            Value::String(_) => visitor.visit_enum(Choice { name: self, content: None }),
            Value::Mapping(section) => {
                let mut entries = section.iter();
                match (entries.next(), entries.last()) {
                    (Some((key, content)), None) => {
                        let trail = Trail::Below(self.trail, key_text(key));
                        visitor.visit_enum(Choice {
                            name: Node { value: key, trail: &trail },
                            content: Some(Node { value: content, trail: &trail }),
                        })
                    }
                    (Some((first, _)), Some((last, _))) => {
                        let (first, last) = (key_text(first), key_text(last));
                        let trail = Trail::Below(self.trail, last.clone());
                        Err(Fault::new(format!(
                            "expected one choice, found `{first}` and `{last}`"
                        ))
                        .with_names("", variants)
                        .note("to change a choice on the command line, set all of it at once")
                        .at(|| trail.path(), Target::Key))
                    }
                    (None, _) => Err(Fault::new("expected a choice, found an empty section")
                        .with_names("", variants)),
                }
            }
            other => Err(Fault::new(format!("expected a choice, found {}", found(other)))
                .with_names("", variants)),
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_str(&key_text(self.value))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct
    }
}

struct Items<'a> {
    left: slice::Iter<'a, Value>,
    taken: usize,
    trail: &'a Trail<'a>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let Some(value) = self.left.next() else { return Ok(None) };
        let trail = Trail::Below(self.trail, self.taken.to_string());
        self.taken += 1;
        Node { value, trail: &trail }.read(seed, Target::Value).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

struct Entries<'a> {
    left: mapping::Iter<'a>,
    current: Option<(&'a Value, &'a Value)>,
    trail: &'a Trail<'a>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        self.current = self.left.next();
        let Some((key, _)) = self.current else { return Ok(None) };
        let trail = Trail::Below(self.trail, key_text(key));
        Node { value: key, trail: &trail }.read(seed, Target::Key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let Some((key, value)) = self.current.take() else {
            return Err(Fault::new("a value was asked for before its key"));
        };
        let trail = Trail::Below(self.trail, key_text(key));
        Node { value, trail: &trail }.read(seed, Target::Value)
    }
}

/// A choice: a bare word, or the one key of a section and what stands under it.
struct Choice<'a> {
    name: Node<'a>,
    content: Option<Node<'a>>,
}

impl<'a> Choice<'a> {
    fn content(&self) -> Result<Node<'a>, Fault> {
        self.content.ok_or_else(|| {
            let word = key_text(self.name.value);
            Fault::new(format!("`{word}` needs a value, found the bare word"))
                .note(format!("write `{word}: …`, or `{word}: {{}}` if every key may be left out"))
        })
    }
}

impl<'de> EnumAccess<'de> for Choice<'_> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Fault> {
        let target = if self.content.is_some() { Target::Key } else { Target::Value };
        Ok((self.name.read(seed, target)?, self))
    }
}

impl<'de> VariantAccess<'de> for Choice<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.content.map(|content| content.value) {
            None | Some(Value::Null) => Ok(()),
            Some(content) => {
                let word = key_text(self.name.value);
                Err(Fault::new(format!("`{word}` takes no value, found {}", found(content)))
                    .note(format!("write the bare word `{word}`"))
                    .at(|| self.name.trail.path(), Target::Key))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        self.content()?.read(seed, Target::Value)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Fault> {
        let content = self.content()?;
        let read = content.deserialize_tuple(length, visitor);
        read.map_err(|fault| fault.at(|| content.trail.path(), Target::Value))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let content = self.content()?;
        let read = content.deserialize_map(visitor);
        read.map_err(|fault| fault.at(|| content.trail.path(), Target::Value))
    }
}
