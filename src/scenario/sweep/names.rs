//! What axes and points of a sweep are called.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value as Json;

/// Names of points are cut to so many characters, which every file system takes.
const LONGEST_NAME: usize = 120;

/// The shortest ends of dotted paths that tell them apart.
pub(super) fn labels(paths: &[String]) -> Vec<String> {
    let end = |path: &str, keys: usize| {
        let all: Vec<&str> = path.split('.').collect();
        all[all.len().saturating_sub(keys)..].join(".")
    };
    let label = |path: &String| {
        let tells = |keys: &usize| {
            paths.iter().filter(|other| end(other, *keys) == end(path, *keys)).count() == 1
        };
        let keys = (1..=path.split('.').count()).find(tells);
        keys.map_or_else(|| path.clone(), |keys| end(path, keys))
    };
    paths.iter().map(label).collect()
}

/// Values in a few words; in all of their words where a few do not tell two of them apart.
pub(super) fn different(values: &[Json]) -> Vec<String> {
    let short: Vec<String> = values.iter().map(in_short).collect();
    let tells = |at: usize| {
        let same = short.iter().zip(values).filter(|(other, _)| **other == short[at]);
        same.map(|(_, value)| value).all(|value| *value == values[at])
    };
    let words = |at: usize| if tells(at) { short[at].clone() } else { values[at].to_string() };
    (0..values.len()).map(words).collect()
}

/// A name that none of those before it has, on any file system: with a number where it would. `taken`
/// keeps the names, each with the last number that was added to it.
pub fn own_name(name: &str, taken: &mut BTreeMap<String, u64>) -> String {
    // Some file systems do not tell capitals apart.
    let mut own = name.to_string();
    while taken.contains_key(&own.to_lowercase()) {
        let number = taken.entry(name.to_lowercase()).or_insert(1);
        *number += 1;
        own = format!("{name}-{number}");
    }
    taken.insert(own.to_lowercase(), 1);
    own
}

/// A value in a few words: of a section its keys and values, of a path its last part.
pub fn in_short(value: &Json) -> String {
    match value {
        Json::String(text) => {
            let name = Path::new(text).file_stem().map(|stem| stem.to_string_lossy().into_owned());
            name.filter(|_| text.contains('/')).unwrap_or_else(|| text.clone())
        }
        Json::Array(items) => items.iter().map(in_short).collect::<Vec<_>>().join("-"),
        Json::Object(section) => {
            let parts = section.iter().map(|(key, value)| match value {
                Json::String(text) if key == "file" => in_short(&Json::String(text.clone())),
                value => format!("{key}-{}", in_short(value)),
            });
            parts.collect::<Vec<_>>().join("-")
        }
        Json::Null => "none".to_string(),
        scalar => scalar.to_string(),
    }
}

/// Text as a file name: letters, digits and a few signs.
pub fn fit_for_file(text: &str) -> String {
    let fit = |c: char| if c.is_alphanumeric() || "-_.=,+".contains(c) { c } else { '-' };
    let name: String = text.chars().map(fit).take(LONGEST_NAME).collect();
    // File systems count bytes.
    let mut end = name.len().min(2 * LONGEST_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let name = name[..end].trim_matches(['-', '.', ',']);
    match name.rsplit_once('.') {
        _ if name.is_empty() => "point".to_string(),
        // These endings have a meaning.
        Some((stem, end @ ("unfinished" | "replaced" | "draft"))) => format!("{stem}-{end}"),
        _ => name.to_string(),
    }
}
