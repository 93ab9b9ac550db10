//! Changes of a scenario: from the command line, `--set path.to.key=value`, and by a sweep.

use serde_yaml::{Mapping, Value};

use super::fault::found;
use super::problem::{Problem, Problems};
use super::tree::{self, key_text};

/// The longest path that can be set; the parser limits the depth of what is set there.
const DEEPEST: usize = 64;

/// A change that was made, remembered so that its consequences can be laid at its door.
#[derive(Clone, Debug)]
pub(super) struct Override {
    pub(super) path: Vec<String>,
    pub(super) by: By,
}

/// What made a change.
#[derive(Clone, Debug)]
pub(super) enum By {
    /// An argument, as it was typed.
    Argument(String),
    /// A value of a sweep that stands in the file.
    Sweep {
        /// The keys on the way to the value there.
        place: Vec<String>,
        /// The value, for people.
        value: String,
    },
}

/// Makes the change that `argument` asks for, which was typed as `typed`. After an error the tree is
/// as it was.
pub(super) fn apply(tree: &mut Value, argument: &str, typed: &str) -> Result<Override, Problems> {
    let refuse = |path: &str, message: String| Problem::new(path, message).in_argument(typed);
    let (dotted, text) = split(argument).map_err(|message| refuse("", message))?;
    let value = tree::load(text).map_err(|unreadable| refuse(dotted, unreadable.message))?;
    let path = put(tree, dotted, value).map_err(|blocked| match blocked {
        Blocked::Path(message) => refuse("", message),
        Blocked::Way(message) => refuse(dotted, message),
    })?;
    Ok(Override { path, by: By::Argument(typed.to_owned()) })
}

/// The path and the text of the value in `path.to.key=value`.
pub(super) fn split(argument: &str) -> Result<(&str, &str), String> {
    match argument.split_once('=') {
        Some((dotted, text)) => Ok((dotted.trim(), text)),
        None => Err("expected `path.to.key=value`, found no `=`".to_owned()),
    }
}

/// Why a value cannot be put where it was to go.
#[derive(Debug)]
pub(super) enum Blocked {
    /// It is no path.
    Path(String),
    /// It leads nowhere.
    Way(String),
}

/// Puts a value under a dotted path, whose keys it returns. After an error the tree is as it was.
pub(super) fn put(tree: &mut Value, dotted: &str, value: Value) -> Result<Vec<String>, Blocked> {
    let path: Vec<String> = dotted.split('.').map(str::to_owned).collect();
    if path.iter().any(String::is_empty) {
        return Err(Blocked::Path("expected a path such as `protocol.admm.penalty`".to_owned()));
    }
    if path.len() > DEEPEST {
        return Err(Blocked::Path(format!("a path of more than {DEEPEST} keys")));
    }
    *slot(tree, &path).map_err(Blocked::Way)? = value;
    Ok(path)
}

/// The place in the tree that the path names, made if missing, or why the path leads nowhere.
///
/// Nothing is made before the last point where the path can be blocked: below a new section there
/// are only new sections.
fn slot<'v>(tree: &'v mut Value, path: &[String]) -> Result<&'v mut Value, String> {
    let mut value = tree;
    for (depth, name) in path.iter().enumerate() {
        let blocked = |why: String| match depth {
            0 => Err(format!("the scenario is {why}")),
            _ => Err(format!("`{}` is {why}", path[..depth].join("."))),
        };
        if value.is_null() {
            *value = Value::Mapping(Mapping::new());
        }
        value = match value {
            Value::Mapping(section) => {
                let key = section.keys().find(|key| key_text(key) == *name).cloned();
                section.entry(key.unwrap_or_else(|| new_key(name))).or_insert(Value::Null)
            }
            Value::Sequence(list) => match name.parse::<usize>() {
                Ok(index) if index <= list.len() => {
                    if index == list.len() {
                        list.push(Value::Null);
                    }
                    &mut list[index]
                }
                Ok(_) => return blocked(format!("a list of {} items, from 0", list.len())),
                Err(_) => return blocked(format!("a list, with no item `{name}`")),
            },
            scalar => {
                return blocked(format!("{}, not a section: set all of it at once", found(scalar)));
            }
        };
    }
    Ok(value)
}

/// A key as the file would have it: `3` is a number there, not a text.
fn new_key(name: &str) -> Value {
    match tree::load(name) {
        Ok(number @ Value::Number(_)) if key_text(&number) == name => number,
        _ => Value::from(name),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = "a: {b: 1}\ntopology: star\nratio: [1, 2]\nempty:\n";

    fn changed(argument: &str) -> Value {
        let mut tree = tree::load(FILE).expect("valid");
        apply(&mut tree, argument, "").unwrap_or_else(|problem| panic!("{problem}"));
        tree
    }

    fn with(yaml: &str) -> Value {
        tree::load(yaml).expect("valid")
    }

    #[test]
    fn values_are_yaml() {
        assert_eq!(changed("a.b=1e-3")["a"]["b"], Value::from(1e-3));
        assert_eq!(changed("a.b='3'")["a"]["b"], Value::from("3"));
        assert_eq!(changed("a.b=")["a"]["b"], Value::Null);
        assert_eq!(changed("a={c: [1, x=y]}")["a"], with("{c: [1, x=y]}"));
    }

    #[test]
    fn sections_are_made_and_items_replaced_or_appended() {
        assert_eq!(changed("a.c.d=1")["a"], with("{b: 1, c: {d: 1}}"));
        assert_eq!(changed("empty.c=1")["empty"], with("{c: 1}"));
        assert_eq!(changed("new.section=1")["new"], with("{section: 1}"));
        assert_eq!(changed("ratio.1=9")["ratio"], with("[1, 9]"));
        assert_eq!(changed("ratio.2.x=9")["ratio"], with("[1, 2, {x: 9}]"));
    }

    #[test]
    fn bad_arguments_are_named_and_change_nothing() {
        let cases = [
            ("a.b", "expected `path.to.key=value`, found no `=`"),
            ("", "expected `path.to.key=value`, found no `=`"),
            ("=3", "expected a path such as `protocol.admm.penalty`"),
            ("a..b=3", "expected a path such as `protocol.admm.penalty`"),
            (
                "a.b=[1",
                "a.b: not valid YAML: did not find expected ',' or ']', while parsing a flow sequence",
            ),
            ("a.b.c=1", "a.b.c: `a.b` is the number 1, not a section: set all of it at once"),
            (
                "topology.ring.peers=2",
                "topology.ring.peers: `topology` is the text `star`, not a section: set all of it at once",
            ),
            ("ratio.3=1", "ratio.3: `ratio` is a list of 2 items, from 0"),
            ("ratio.x=1", "ratio.x: `ratio` is a list, with no item `x`"),
        ];
        for (argument, expected) in cases {
            let mut tree = with(FILE);
            let text = apply(&mut tree, argument, &format!("--set {argument}"))
                .expect_err(argument)
                .to_string();
            let first = text.lines().next().unwrap_or_default();
            assert_eq!(first, format!("error: --set {argument}: {expected}"));
            assert_eq!(tree, with(FILE), "{argument}");
        }
        let problem = apply(&mut with("words"), "a=1", "").expect_err("no section");
        assert_eq!(
            problem.0[0].message,
            "the scenario is the text `words`, not a section: set all of it at once"
        );
        let endless = format!("{}=1", vec!["a"; 100_000].join("."));
        assert!(apply(&mut with(FILE), &endless, "").is_err());
    }

    proptest! {
        #[test]
        fn what_is_set_stands_there(path in "[a-z]{1,3}(\\.[a-z]{1,3}){0,4}", value: u64) {
            let mut tree = with("{}");
            let change = apply(&mut tree, &format!("{path}={value}"), "").expect("an empty tree");
            let mut found = &tree;
            for step in &change.path {
                found = &found[step.as_str()];
            }
            prop_assert_eq!(found, &Value::from(value));
        }
    }
}
