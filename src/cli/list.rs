//! `hushmesh list`: what a scenario can name, from the types that read it.

use clap::ValueEnum;
use schemars::{Schema, schema_for};
use serde_json::{Map, Value as Json, json};

use super::exit::{Code, Failure};
use super::print;
use crate::data::{Partition, Source};
use crate::learn::Loss;
use crate::measure::Metric;
use crate::policy::PolicyConfig;
use crate::protocol::ProtocolConfig;
use crate::report::{Column, Table};
use crate::topology::TopologyConfig;

#[derive(Debug, clap::Args)]
pub(super) struct ListArguments {
    /// What to list; default everything.
    kind: Option<Kind>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Algorithms, under `protocol:`
    Protocols,
    /// Graphs, under `topology:`
    Topologies,
    /// Losses, under `model.loss:`
    Losses,
    /// Choices between a peer's own model and the token's, under `protocol.walk-sgd.policy:`
    Policies,
    /// Where data come from, under `data.source:`
    Sources,
    /// How they are dealt to the peers, under `data.partition:`
    Partitions,
    /// Columns of metrics.csv
    Metrics,
}

impl Kind {
    fn plural(self) -> &'static str {
        match self {
            Self::Protocols => "protocols",
            Self::Topologies => "topologies",
            Self::Losses => "losses",
            Self::Policies => "policies",
            Self::Sources => "sources",
            Self::Partitions => "partitions",
            Self::Metrics => "metrics",
        }
    }

    fn singular(self) -> &'static str {
        match self {
            Self::Protocols => "protocol",
            Self::Topologies => "topology",
            Self::Losses => "loss",
            Self::Policies => "policy",
            Self::Sources => "source",
            Self::Partitions => "partition",
            Self::Metrics => "metric",
        }
    }

    /// The names, each with a line.
    fn entries(self) -> Vec<(String, String)> {
        match self {
            Self::Protocols => variants(&schema_for!(ProtocolConfig)),
            Self::Topologies => variants(&schema_for!(TopologyConfig)),
            Self::Losses => variants(&schema_for!(Loss)),
            Self::Policies => variants(&schema_for!(PolicyConfig)),
            Self::Sources => variants(&schema_for!(Source)),
            Self::Partitions => variants(&schema_for!(Partition)),
            // Their comments speak of each other; their labels stand alone.
            Self::Metrics => variants(&schema_for!(Metric))
                .into_iter()
                .map(|(name, line)| match serde_json::from_value::<Metric>(json!(name)) {
                    Ok(metric) => (name, metric.label().to_owned()),
                    Err(_) => (name, line),
                })
                .collect(),
        }
    }
}

pub(super) fn list(arguments: &ListArguments) -> Result<Code, Failure> {
    let kinds = match arguments.kind {
        Some(kind) => vec![kind],
        None => Kind::value_variants().to_vec(),
    };
    print(&if arguments.json {
        let listed = kinds.iter().map(|kind| {
            let entries = kind.entries().into_iter();
            let entries = entries.map(|(name, line)| json!({ "name": name, "line": line }));
            (kind.plural().to_owned(), entries.collect())
        });
        format!("{:#}\n", Json::Object(listed.collect::<Map<_, _>>()))
    } else {
        let tables: Vec<String> = kinds.iter().map(|kind| table(*kind).to_text()).collect();
        tables.join("\n")
    })?;
    Ok(Code::Done)
}

fn table(kind: Kind) -> Table {
    let mut table = Table::new([Column::text(kind.singular()), Column::text("what it is")]);
    for (name, line) in kind.entries() {
        table.row([name.into(), line.into()]);
    }
    table
}

/// The variants of an enum with the first sentence of their comments.
///
/// A variant with fields is an object with one property, one without is a word; words without
/// comments share a list.
fn variants(schema: &Schema) -> Vec<(String, String)> {
    let schema = schema.as_value();
    let Some(choices) = schema["oneOf"].as_array() else {
        return named(schema).map(|name| (name, String::new())).collect();
    };
    let entries = choices.iter().flat_map(|choice| {
        let line = first_sentence(choice["description"].as_str().unwrap_or_default());
        named(choice).map(move |name| (name, line.clone()))
    });
    entries.collect()
}

/// The names that one choice of a schema stands for.
fn named(choice: &Json) -> impl Iterator<Item = String> {
    let word = choice["const"].as_str().map(str::to_owned);
    let words = choice["enum"].as_array().into_iter().flatten();
    let keys = choice["properties"].as_object().into_iter().flat_map(Map::keys);
    word.into_iter().chain(words.filter_map(Json::as_str).map(str::to_owned)).chain(keys.cloned())
}

/// The text up to the first full stop before a blank that no bracket encloses, on one line.
fn first_sentence(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut depth = 0_i32;
    for (at, c) in words.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '.' if depth <= 0 && matches!(words[at + 1..].chars().next(), None | Some(' ')) => {
                return words[..at].to_owned();
            }
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_at_a_stop_outside_brackets() {
        for (text, sentence) in [
            ("One. Two.", "One"),
            (
                "Of 0.5 and\nmore (Yurochkin et al. 2019). Two",
                "Of 0.5 and more (Yurochkin et al. 2019)",
            ),
            ("No stop", "No stop"),
            ("", ""),
        ] {
            assert_eq!(first_sentence(text), sentence);
        }
    }

    #[test]
    fn everything_has_a_name_and_a_line() {
        for kind in Kind::value_variants() {
            assert_eq!(kind.to_possible_value().unwrap().get_name(), kind.plural());
            let entries = kind.entries();
            assert!(entries.len() > 2, "{kind:?}");
            for (name, line) in entries {
                assert!(!line.is_empty() && !line.contains('\n'), "{kind:?}: {name}");
            }
        }
    }

    #[test]
    fn metrics_have_the_names_of_their_columns() {
        for (name, line) in Kind::Metrics.entries() {
            let metric: Metric = serde_json::from_value(json!(name)).unwrap();
            assert_eq!((metric.name(), metric.label()), (name.as_str(), line.as_str()));
        }
    }
}
