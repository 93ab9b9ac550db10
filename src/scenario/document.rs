//! A scenario file from its text to typed sections that remember where they came from.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_yaml::Value;
use serde_yaml::with::singleton_map_recursive;

use super::locate::{self, Target};
use super::node;
use super::overrides::{self, Blocked, By, Override};
use super::problem::{Problem, Problems};
use super::tree::{self, Unreadable};

/// A scenario file that has been read, and perhaps changed, but not yet been given types.
#[derive(Clone, Debug)]
pub struct Document {
    tree: Value,
    origin: Origin,
}

impl Document {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// If the file cannot be read, is not UTF-8 or is not one YAML document.
    pub fn read(path: &Path) -> Result<Self, Problems> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path)
            .map_err(|error| Problem::new("", format!("`{name}` cannot be read: {error}")))?;
        Self::from_bytes(&name, bytes)
    }

    fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, Problems> {
        match String::from_utf8(bytes) {
            Ok(text) => Self::from_text(name, &text),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let text = tidy(&String::from_utf8_lossy(error.as_bytes()));
                // What comes before the fault is valid, so it has the same length after tidying
                // as on its own.
                let before = tidy(&String::from_utf8_lossy(&error.as_bytes()[..valid]));
                let position = locate::of_byte(&before, before.len());
                Err(Problem::new("", "not UTF-8 text").in_file(name, &text, position).into())
            }
        }
    }

    /// Reads a scenario from text; `name` stands for the file in messages.
    ///
    /// # Errors
    /// If the text is not one YAML document, or an empty one.
    pub fn from_text(name: &str, text: &str) -> Result<Self, Problems> {
        let text = tidy(text);
        let wrong = |path: &[String], message: String, position| {
            Problems::from(Problem::new(path.join("."), message).in_file(name, &text, position))
        };
        match tree::load(&text) {
            Ok(Value::Null) => Err(wrong(&[], "the scenario is empty".to_owned(), (1, 1))),
            Ok(tree) => {
                let origin = Origin { name: name.to_owned(), text, overrides: Vec::new() };
                Ok(Self { tree, origin })
            }
            Err(Unreadable { message, path, position }) => Err(wrong(&path, message, position)),
        }
    }

    /// Applies one `path.to.key=value` from the command line. The value is YAML; sections missing
    /// on the way are made; items of lists are numbered from 0, and the number after the last one
    /// appends.
    ///
    /// # Errors
    /// If the argument has no `=`, its value is not YAML, or its path leads through something that
    /// has no keys. The document is then as before.
    pub fn set(&mut self, argument: &str) -> Result<(), Problems> {
        self.set_as(argument, &format!("--set {argument}"))
    }

    /// The same, for an argument that was typed in another way, by which problems are named.
    ///
    /// # Errors
    /// As for [`set`](Self::set).
    pub fn set_as(&mut self, argument: &str, typed: &str) -> Result<(), Problems> {
        let change = overrides::apply(&mut self.tree, argument, typed)?;
        self.origin.overrides.push(change);
        Ok(())
    }

    /// The same document with other values in some places, and without a sweep: a point of it.
    /// Each value comes with its dotted path and with what put it there.
    pub(super) fn point(&self, values: Vec<(&str, Value, By)>) -> Result<Self, Problems> {
        let mut point = self.clone();
        if let Value::Mapping(sections) = &mut point.tree {
            sections.shift_remove("sweep");
        }
        for (dotted, value, by) in values {
            match overrides::put(&mut point.tree, dotted, value) {
                Ok(path) => point.origin.overrides.push(Override { path, by }),
                Err(Blocked::Path(message) | Blocked::Way(message)) => {
                    return Err(point.origin.laid_on(&by, Problem::new(dotted, message)).into());
                }
            }
        }
        Ok(point)
    }

    /// Gives the document its types.
    ///
    /// # Errors
    /// If a key is unknown, missing or of the wrong type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<Parsed<T>, Problems> {
        match node::parse(&self.tree) {
            Ok(value) => Ok(Parsed { value, origin: self.origin.clone() }),
            Err(fault) => {
                let details = fault.into_details();
                let (path, target) = details.at.unwrap_or((Vec::new(), Target::Value));
                let mut problem = Problem::new(path.join("."), details.message);
                problem.notes = details.notes;
                Err(self.origin.place(problem, &path, target).into())
            }
        }
    }
}

/// A typed scenario, and where it came from.
#[derive(Clone, Debug)]
pub struct Parsed<T> {
    /// The scenario.
    pub value: T,
    /// The file and the arguments that it was read from.
    pub origin: Origin,
}

impl<T> Parsed<T> {
    /// A problem with the value under a dotted path, located; see [`Origin::problem`].
    pub fn problem(&self, path: &str, message: impl Into<String>) -> Problem {
        self.origin.problem(path, message)
    }
}

/// Where a scenario came from: its file and the changes made on the command line.
#[derive(Clone, Debug)]
pub struct Origin {
    name: String,
    text: String,
    overrides: Vec<Override>,
}

impl Origin {
    /// A problem with the value under a dotted path (`links.3` for an item of a list), located at
    /// that value in the file or at the argument that set it; at the nearest section that does
    /// stand there if the value itself does not, because it is a default.
    pub fn problem(&self, path: &str, message: impl Into<String>) -> Problem {
        let steps: Vec<String> =
            path.split('.').filter(|step| !step.is_empty()).map(str::to_owned).collect();
        self.place(Problem::new(path, message), &steps, Target::Value)
    }

    fn place(&self, problem: Problem, path: &[String], target: Target) -> Problem {
        let latest = |concerns: &dyn Fn(&Override) -> bool| {
            self.overrides.iter().rev().find(|change| concerns(change))
        };
        if let Some(change) = latest(&|change| path.starts_with(&change.path)) {
            return self.laid_on(&change.by, problem);
        }
        for end in (0..=path.len()).rev() {
            let path = &path[..end];
            if let Some(position) = locate::position(&self.text, path, target) {
                return problem.in_file(&self.name, &self.text, position);
            }
            // Not in the file: a section that was made on the way to something set below it.
            if let Some(change) = latest(&|change| change.path.starts_with(path)) {
                return self.laid_on(&change.by, problem);
            }
        }
        problem
    }

    /// The argument that set what stands under a dotted path, or anything below it.
    pub(super) fn set_below(&self, path: &str) -> Option<&str> {
        let keys: Vec<&str> = path.split('.').collect();
        let below = |change: &&Override| {
            change.path.len() >= keys.len() && change.path.iter().zip(&keys).all(|(a, b)| a == b)
        };
        self.overrides.iter().find(below).and_then(|change| match &change.by {
            By::Argument(argument) => Some(argument.as_str()),
            By::Sweep { .. } => None,
        })
    }

    /// A problem with what was put where it stands by an argument or a sweep.
    fn laid_on(&self, by: &By, problem: Problem) -> Problem {
        match by {
            By::Argument(argument) => problem.in_argument(argument),
            By::Sweep { place, value } => {
                let note = format!("where the sweep takes it to be {value}");
                self.place(problem.note(note), place, Target::Value)
            }
        }
    }

    /// A problem with what stands in the file, or was set, under these keys, which may have dots.
    pub(super) fn problem_under(&self, keys: &[&str], message: String) -> Problem {
        let steps: Vec<String> = keys.iter().map(|&key| key.to_owned()).collect();
        self.place(Problem::new(keys.join("."), message), &steps, Target::Value)
    }
}

/// Writes a value as a scenario that [`Document::parse`] reads back to the same value.
pub fn to_yaml<T: Serialize>(value: &T) -> String {
    let mut yaml = Vec::new();
    singleton_map_recursive::serialize(value, &mut serde_yaml::Serializer::new(&mut yaml))
        .expect("sections hold numbers, text, lists and choices, all of which YAML can write");
    String::from_utf8(yaml).expect("YAML is written as UTF-8")
}

/// Text without a byte-order mark, and with plain newlines, so that lines and columns are those of
/// the parser.
fn tidy(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n")
}

#[cfg(test)]
mod tests;
