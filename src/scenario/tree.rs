//! From YAML text to a tree of values, with the limits that keep hostile text harmless.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Visitor};
use serde_yaml::{Mapping, Value};

use super::locate::{self, Target};

/// More values than any scenario has; aliases of aliases reach it within milliseconds.
const MOST_VALUES: usize = 1_000_000;

/// Why a text is not a tree.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) message: String,
    /// The keys and indices on the way to the fault.
    pub(super) path: Vec<String>,
    /// Line and column, from 1.
    pub(super) position: (usize, usize),
}

/// Parses one YAML document. An empty one gives `Value::Null`.
pub(super) fn load(text: &str) -> Result<Value, Unreadable> {
    if let Some(at) = text.find(forbidden) {
        let character = text[at..].chars().next().map_or(0, u32::from);
        return Err(Unreadable {
            message: format!("the character U+{character:04X} may not stand in YAML"),
            path: Vec::new(),
            position: locate::of_byte(text, at),
        });
    }
    let state = RefCell::new(State::default());
    let error = match (Grow { state: &state, section: None })
        .deserialize(serde_yaml::Deserializer::from_str(text))
    {
        Ok(tree) => return Ok(tree),
        Err(error) => error,
    };
    let State { path, refusal, .. } = state.into_inner();
    let in_words = error.to_string();
    if refusal.is_none() && in_words.contains("more than one document") {
        return Err(Unreadable {
            message: "a second document starts here, expected a single one".to_owned(),
            path: Vec::new(),
            position: locate::second_document(text).unwrap_or((1, 1)),
        });
    }
    let position = error.location().map(|found| (found.line(), found.column()));
    let position = position.or_else(|| locate::position(text, &path, Target::Value));
    if let Some(message) = refusal {
        return Err(Unreadable { message, path, position: position.unwrap_or((1, 1)) });
    }
    // How far the tree had grown says little about a fault in the syntax: no path.
    let message = match in_words.as_str() {
        limit if limit.starts_with("recursion limit") => "nested too deeply".to_owned(),
        limit if limit.starts_with("repetition limit") => "too many aliases".to_owned(),
        other => {
            let (line, column) = position.unwrap_or_default();
            let other = other.replace(&format!(" at line {line} column {column}"), "");
            format!("not valid YAML: {other}")
        }
    };
    Err(Unreadable { message, path: Vec::new(), position: position.unwrap_or((1, 1)) })
}

/// A key as it is written in a dotted path.
pub(super) fn key_text(key: &Value) -> String {
    match key {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        _ => "null".to_owned(),
    }
}

/// Characters outside YAML's set (1.2, section 5.1). The parser refuses them too, but does not say
/// where they stand.
fn forbidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}'))
        || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[derive(Default)]
struct State {
    values: usize,
    path: Vec<String>,
    /// The message of an error raised here, free of the parser's additions.
    refusal: Option<String>,
}

/// Grows the tree below one value. Errors raised inside a visitor are located by the parser, which
/// is why repeated keys are refused here rather than when `Mapping` would find them.
#[derive(Clone, Copy)]
struct Grow<'a> {
    state: &'a RefCell<State>,
    /// What the section has so far, if this value is its next key.
    section: Option<&'a Mapping>,
}

impl Grow<'_> {
    fn refuse<T, E: Error>(self, message: impl Into<String>) -> Result<T, E> {
        let message = message.into();
        let error = E::custom(&message);
        self.state.borrow_mut().refusal = Some(message);
        Err(error)
    }

    fn leaf<E: Error>(self, value: impl Into<Value>) -> Result<Value, E> {
        let value = value.into();
        if self.section.is_some_and(|section| section.contains_key(&value)) {
            let key = key_text(&value);
            self.state.borrow_mut().path.push(key.clone());
            return self.refuse(format!("the key `{key}` stands here a second time"));
        }
        self.count()?;
        Ok(value)
    }

    fn branch<E: Error>(self, kind: &str) -> Result<(), E> {
        match self.section {
            Some(_) => self.refuse(format!("{kind} cannot be a key")),
            None => self.count(),
        }
    }

    fn count<E: Error>(self) -> Result<(), E> {
        self.state.borrow_mut().values += 1;
        if self.state.borrow().values > MOST_VALUES {
            return self.refuse(format!("more than {MOST_VALUES} values, aliases followed"));
        }
        Ok(())
    }

    /// Runs `grow` one step further down; after an error the path still leads to the fault.
    fn below<T, E>(self, step: String, grow: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.state.borrow_mut().path.push(step);
        let grown = grow()?;
        self.state.borrow_mut().path.pop();
        Ok(grown)
    }
}

impl<'de> DeserializeSeed<'de> for Grow<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Grow<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_bool<E: Error>(self, v: bool) -> Result<Value, E> {
        self.leaf(v)
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<Value, E> {
        self.leaf(v)
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<Value, E> {
        self.leaf(v)
    }

    // Integers beyond 64 bits fit no whole-number key, but are fine where a float is expected.
    fn visit_i128<E: Error>(self, v: i128) -> Result<Value, E> {
        self.leaf(v as f64)
    }

    fn visit_u128<E: Error>(self, v: u128) -> Result<Value, E> {
        self.leaf(v as f64)
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<Value, E> {
        self.leaf(v)
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<Value, E> {
        self.leaf(v)
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.leaf(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.leaf(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.branch("a list")?;
        let mut list = Vec::new();
        while let Some(item) =
            self.below(list.len().to_string(), || items.next_element_seed(self))?
        {
            list.push(item);
        }
        Ok(Value::Sequence(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.branch("a section")?;
        let mut section = Mapping::new();
        while let Some(key) = entries.next_key_seed(Grow { section: Some(&section), ..self })? {
            let value = self.below(key_text(&key), || entries.next_value_seed(self))?;
            section.insert(key, value);
        }
        Ok(Value::Mapping(section))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Value, A::Error> {
        let (tag, _) = tagged.variant::<String>()?;
        self.refuse(format!("the tag `!{tag}` is not used in scenarios"))
    }
}
