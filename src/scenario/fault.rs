//! Serde's complaints in words for people who write scenarios, not Rust.

use std::borrow::Cow;
use std::fmt::{self, Display};

use serde::de::{self, Expected, Unexpected};
use serde_yaml::Value;

use super::locate::Target;

/// Names listed before the rest is only counted.
const MOST_NAMES: usize = 40;

/// An error of deserialisation: what is wrong, help, and the path where it is wrong.
#[derive(Debug)]
pub(super) struct Fault(Box<Details>);

#[derive(Debug)]
pub(super) struct Details {
    pub(super) message: String,
    pub(super) notes: Vec<String>,
    pub(super) at: Option<(Vec<String>, Target)>,
}

impl Fault {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Details { message: message.into(), notes: Vec::new(), at: None }))
    }

    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.0.notes.push(note.into());
        self
    }

    /// Lists the names that would have been right, and the one that was probably meant.
    pub(super) fn with_names(self, found: &str, names: &[&str]) -> Self {
        let fault = self.note(match names {
            [] => "nothing may stand here".to_owned(),
            [only] => format!("expected `{only}`"),
            _ => match names.len().checked_sub(MOST_NAMES) {
                None | Some(0) => format!("expected one of: {}", names.join(", ")),
                Some(more) => {
                    let names = names[..MOST_NAMES].join(", ");
                    format!("expected one of: {names}, and {more} more")
                }
            },
        });
        match nearest(found, names) {
            Some(name) => fault.note(format!("did you mean `{name}`?")),
            None => fault,
        }
    }

    /// Says where, unless something further in has said so already.
    pub(super) fn at(mut self, path: impl FnOnce() -> Vec<String>, target: Target) -> Self {
        if self.0.at.is_none() {
            self.0.at = Some((path(), target));
        }
        self
    }

    pub(super) fn into_details(self) -> Details {
        *self.0
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!(
            "expected {}, found {}",
            in_words(&expected.to_string()),
            describe(unexpected)
        ))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = expected.to_string();
        match (unexpected, largest(&expected)) {
            (Unexpected::Unsigned(_), Some(most)) => Self::new(format!(
                "expected a whole number, at most {most}, found {}",
                describe(unexpected)
            )),
            _ => Self::invalid_type(unexpected, &expected.as_str()),
        }
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        let items = if length == 1 { "item" } else { "items" };
        Self::new(format!("expected {}, found {length} {items}", in_words(&expected.to_string())))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("unknown choice `{}`", shortened(variant))).with_names(variant, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new("unknown key").with_names(field, expected)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("the key `{field}` is missing"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format!("the key `{field}` stands here a second time"))
    }
}

/// What a value is, as in "found …".
pub(super) fn found(value: &Value) -> String {
    describe(unexpected(value))
}

/// A value as serde speaks of it.
pub(super) fn unexpected(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(truth) => Unexpected::Bool(*truth),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(whole), _) => Unexpected::Unsigned(whole),
            (None, Some(whole)) => Unexpected::Signed(whole),
            (None, None) => Unexpected::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Sequence(_) => Unexpected::Seq,
        Value::Mapping(_) => Unexpected::Map,
        Value::Tagged(_) => Unexpected::Other("a tagged value"),
    }
}

fn describe(unexpected: Unexpected<'_>) -> String {
    match unexpected {
        Unexpected::Bool(truth) => format!("`{truth}`"),
        Unexpected::Unsigned(number) => format!("the number {number}"),
        Unexpected::Signed(number) => format!("the number {number}"),
        Unexpected::Float(number) => format!("the number {number:?}"),
        Unexpected::Char(c) => format!("the text `{c}`"),
        Unexpected::Str(text) => format!("the text `{}`", shortened(text)),
        Unexpected::Unit | Unexpected::Option => "nothing".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a section".to_owned(),
        other => other.to_string(),
    }
}

fn shortened(text: &str) -> String {
    const SHOWN: usize = 40;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Serde's names of types in plain words; what a type says of itself in its own words stays.
fn in_words(expected: &str) -> Cow<'_, str> {
    match expected {
        "f32" | "f64" => "a number".into(),
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number, zero or more".into(),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number".into(),
        "a boolean" => "true or false".into(),
        "a string" | "path string" => "text".into(),
        "a character" => "a single character".into(),
        "a sequence" => "a list".into(),
        "a map" => "a section".into(),
        "unit" => "nothing".into(),
        _ if expected.starts_with("a nonzero u") => "a whole number, one or more".into(),
        _ if expected.starts_with("a nonzero i") => "a whole number other than zero".into(),
        _ if expected.starts_with("struct ") => "a section".into(),
        _ if expected.starts_with("unit struct ") => "nothing".into(),
        _ => expected.into(),
    }
}

fn largest(type_name: &str) -> Option<u64> {
    Some(match type_name {
        "u8" => u8::MAX.into(),
        "u16" => u16::MAX.into(),
        "u32" => u32::MAX.into(),
        "i8" => i8::MAX as u64,
        "i16" => i16::MAX as u64,
        "i32" => i32::MAX as u64,
        "i64" | "isize" => i64::MAX as u64,
        _ => return None,
    })
}

/// The name that differs from `found` by the fewest slips, if that is at most a third of it.
fn nearest<'n>(found: &str, names: &[&'n str]) -> Option<&'n str> {
    if found.is_empty() || found.len() > 100 {
        return None;
    }
    let plain = |name: &str| name.to_lowercase().replace(['-', ' '], "_");
    let slips = |name: &str| strsim::osa_distance(&plain(found), &plain(name));
    let near = names.iter().map(|&name| (slips(name), name)).min_by_key(|&(slips, _)| slips)?;
    let most = (found.chars().count() / 3).max(1);
    (near.0 <= most).then_some(near.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["penalty", "rounds", "small-world", "k"];

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        assert_eq!(nearest("penalti", &NAMES), Some("penalty"));
        assert_eq!(nearest("pnealty", &NAMES), Some("penalty"));
        assert_eq!(nearest("Rounds", &NAMES), Some("rounds"));
        assert_eq!(nearest("small_world", &NAMES), Some("small-world"));
        assert_eq!(nearest("tolerance", &NAMES), None);
        assert_eq!(nearest("rings", &NAMES), None);
        assert_eq!(nearest("k", &[]), None);
        assert_eq!(nearest("", &NAMES), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), &NAMES), None);
    }

    #[test]
    fn long_lists_of_names_are_cut() {
        let names: Vec<String> = (0..45).map(|i| format!("n{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let listed = |count: usize| Fault::new("").with_names("?", &names[..count]).0.notes;
        assert!(listed(45)[0].ends_with(", n39, and 5 more"));
        assert!(listed(40)[0].ends_with(", n39"));
        assert_eq!(listed(1), ["expected `n0`"]);
        assert_eq!(listed(0), ["nothing may stand here"]);
    }

    #[test]
    fn long_text_is_shortened() {
        assert_eq!(found(&Value::from("é".repeat(41))), format!("the text `{}…`", "é".repeat(40)));
        assert_eq!(found(&Value::from("é".repeat(40))), format!("the text `{}`", "é".repeat(40)));
    }
}
