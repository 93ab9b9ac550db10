//! The JSON Schema: committed, current, and true of the scenarios that are shipped.

use std::fs;
use std::path::{Path, PathBuf};

use hushmesh::scenario::{Checked, schema};
use serde_json::Value;

use crate::workbench::{REPOSITORY, SMALL, Workbench};

/// Whether `value` is what `schema` says, in the words of JSON Schema that ours uses. Any other
/// word is a mistake of this test, not a pass.
pub(crate) fn conforms(value: &Value, schema: &Value, root: &Value) -> Result<(), String> {
    let schema = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(rules) => rules,
        _ => return Err(format!("{value}: not allowed")),
    };
    let demand = |holds: bool, rule: &str| {
        if holds { Ok(()) } else { Err(format!("{value} breaks {rule} {}", schema[rule])) }
    };
    let number = value.as_f64();
    for (word, rule) in schema {
        let list = || rule.as_array().into_iter().flatten();
        let passes = || list().filter(|branch| conforms(value, branch, root).is_ok()).count();
        let length = value.as_str().map(|text| text.chars().count() as u64);
        match word.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" | "format" => {}
            "$ref" => {
                let pointer = rule.as_str().and_then(|name| name.strip_prefix('#'));
                let target = pointer.and_then(|name| root.pointer(name));
                conforms(value, target.ok_or_else(|| format!("{rule} leads nowhere"))?, root)?;
            }
            "type" => {
                let is = |name: &Value| match name.as_str() {
                    Some("object") => value.is_object(),
                    Some("array") => value.is_array(),
                    Some("string") => value.is_string(),
                    Some("boolean") => value.is_boolean(),
                    Some("null") => value.is_null(),
                    Some("number") => value.is_number(),
                    Some("integer") => value.is_u64() || value.is_i64(),
                    _ => false,
                };
                demand(is(rule) || list().any(is), word)?;
            }
            "const" => demand(value == rule, word)?,
            "enum" => demand(list().any(|one| one == value), word)?,
            "oneOf" => demand(passes() == 1, word)?,
            "anyOf" => demand(passes() > 0, word)?,
            "allOf" => demand(passes() == list().count(), word)?,
            "minLength" => demand(length.is_none() || length >= rule.as_u64(), word)?,
            "maxLength" => demand(length.is_none() || length <= rule.as_u64(), word)?,
            "minimum" => demand(number.is_none() || number >= rule.as_f64(), word)?,
            "maximum" => demand(number.is_none() || number <= rule.as_f64(), word)?,
            "exclusiveMinimum" => demand(number.is_none() || number > rule.as_f64(), word)?,
            "required" => {
                let has = |key: &Value| key.as_str().is_some_and(|key| value.get(key).is_some());
                demand(list().all(has), word)?;
            }
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    conforms(item, rule, root)?;
                }
            }
            "properties" => {
                for (key, item) in value.as_object().into_iter().flatten() {
                    if let Some(inner) = rule.get(key) {
                        conforms(item, inner, root).map_err(|why| format!("{key}: {why}"))?;
                    }
                }
            }
            "additionalProperties" => {
                let known = schema.get("properties");
                let entries = value.as_object().into_iter().flatten();
                for (key, item) in
                    entries.filter(|(key, _)| known.is_none_or(|known| known.get(key).is_none()))
                {
                    match rule {
                        Value::Bool(allowed) => demand(*allowed, word)?,
                        rule => {
                            conforms(item, rule, root).map_err(|why| format!("{key}: {why}"))?
                        }
                    }
                }
            }
            other => return Err(format!("this test does not know the word {other}")),
        }
    }
    Ok(())
}

/// Whether a scenario in YAML is what the schema says.
pub(crate) fn valid(yaml: &str) -> Result<(), String> {
    let value: Value = serde_yaml::from_str(yaml).map_err(|error| error.to_string())?;
    let schema = schema().to_value();
    conforms(&value, &schema, &schema)
}

fn shipped() -> Vec<PathBuf> {
    let mut folders = vec![Path::new(REPOSITORY).join("scenarios")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "yaml") {
                files.push(path);
            }
        }
    }
    assert!(!files.is_empty());
    files
}

#[test]
fn the_committed_schema_is_the_one_that_the_program_prints() {
    let printed = Workbench::new().hushmesh(&["schema"]);
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
    let committed = fs::read_to_string(Path::new(REPOSITORY).join("docs/scenario.schema.json"));
    assert!(
        committed.is_ok_and(|text| text == printed.stdout),
        "docs/scenario.schema.json is not current: cargo run -- schema > docs/scenario.schema.json"
    );
}

#[test]
fn every_shipped_scenario_loads_and_is_what_the_schema_says() {
    for path in shipped() {
        // A graph of a million peers takes seconds to draw, and is drawn the same as a smaller one.
        let smaller =
            path.ends_with("million.yaml").then(|| "topology.random-regular.peers=1000".into());
        if let Err(problems) = Checked::load(&path, smaller.as_slice()) {
            panic!("{problems}");
        }
        let text = fs::read_to_string(&path).expect("a readable file");
        assert_eq!(valid(&text), Ok(()), "{}", path.display());
    }
}

#[test]
fn the_schema_refuses_what_the_program_refuses() {
    assert_eq!(valid(SMALL), Ok(()));
    for (from, to) in [
        ("penalty", "penlty"),
        ("ring", "rign"),
        ("rounds: 5", "rounds: many"),
        ("rounds: 5", "rounds: -5"),
        ("logistic", "probit"),
        ("seed: 1\n", ""),
        ("{ring: {peers: 5}}", "{ring: {peers: 5}, star: {peers: 5}}"),
    ] {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, SMALL);
        assert!(valid(&text).is_err(), "{to}");
    }
}
