//! What runs share, and where their scenarios differ.

use serde_json::Value;

use crate::report::Record;
use crate::scenario::Scenario;
use crate::topology::TopologyConfig;

/// The fields of a scenario by their paths, without its name.
pub(in crate::report) fn fields(scenario: &Scenario) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut value = serde_json::to_value(scenario).unwrap_or_default();
    // A graph is one thing, whichever parameters its family has.
    value["topology"] = match &scenario.topology {
        // Without its folder, which depends on where the run was put.
        TopologyConfig::File(path) => {
            path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into()
        }
        topology if topology.resamples() => format!("{}, resampled", topology.label()).into(),
        topology => topology.label().into(),
    };
    flatten("", &value, &mut found);
    found.retain(|(path, _)| path != "name");
    found
}

fn flatten(path: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flatten(&path, value, found);
            }
        }
        Value::Null => {}
        Value::String(text) => found.push((path.to_owned(), text.clone())),
        value => found.push((path.to_owned(), value.to_string())),
    }
}

/// A field that is not the same in all scenarios, with its value in each, if it is there.
pub(in crate::report) type Differing = (String, Vec<Option<String>>);

/// The fields in which these scenarios differ, in the order in which they first stand.
pub(in crate::report) fn differing(records: &[&Record]) -> Vec<Differing> {
    let all: Vec<Vec<(String, String)>> = records.iter().map(|r| fields(&r.scenario)).collect();
    let mut paths: Vec<&String> = Vec::new();
    for (path, _) in all.iter().flatten() {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    let of = |path: &String| {
        let value = |fields: &Vec<(String, String)>| {
            fields.iter().find(|(other, _)| other == path).map(|(_, value)| value.clone())
        };
        (path.clone(), all.iter().map(value).collect::<Vec<_>>())
    };
    let found = paths.into_iter().map(of);
    found.filter(|(_, values)| values.windows(2).any(|pair| pair[0] != pair[1])).collect()
}

/// What of two runs may be compared repeat by repeat, in words.
pub(super) struct Pairing {
    /// Whether repeats are compared with those of the same number.
    pub(super) paired: bool,
    /// Why, and on what.
    pub(super) notes: Vec<String>,
}

impl Pairing {
    pub(super) fn of(records: &[&Record], first: &str) -> Self {
        let seeds = || records.iter().map(|record| record.scenario.seed);
        if records.len() < 2 {
            return Self { paired: false, notes: Vec::new() };
        }
        if seeds().any(|seed| Some(seed) != seeds().next()) {
            let text = "pairing: the rows have different seeds, so that their repeats share nothing; \
                        they are not paired, no differences are given, and nothing is tested";
            return Self { paired: false, notes: vec![text.to_owned()] };
        }
        let counts: Vec<usize> = records.iter().map(|record| record.complete().count()).collect();
        let least = counts.iter().min().copied().unwrap_or(0);
        let mut notes = vec![format!(
            "Δ: the difference to {first}, repeat by repeat; repeats of one number share their seed{}",
            if counts.iter().any(|count| *count != least) {
                ", and only those that both rows have are compared"
            } else {
                ""
            }
        )];
        let sections: Vec<Differing> = differing(records);
        let within = |section: &str| {
            let of = |path: &str| path == section || path.starts_with(&format!("{section}."));
            let paths: Vec<&str> =
                sections.iter().map(|(path, _)| path.as_str()).filter(|path| of(path)).collect();
            (!paths.is_empty()).then(|| paths.join(", "))
        };
        if records.iter().any(|record| record.scenario.draws_noise()) {
            notes.push(
                "ε: of each row alone; paired repeats draw the same noise, and two rows together may cancel it"
                    .to_owned(),
            );
        }
        if let Some(paths) = within("data") {
            notes.push(format!(
                "data: not the same in all rows ({paths}); paired repeats share their seed, not their \
                 samples"
            ));
        }
        let peers = || records.iter().map(|record| record.topology.peers());
        if peers().any(|count| Some(count) != peers().next()) {
            notes.push(
                "peers: not as many in all rows, and so the data are dealt differently".to_owned(),
            );
        }
        let others = ["model", "privacy", "protocol", "network", "measure"];
        let paths: Vec<String> = others.into_iter().filter_map(within).collect();
        if !paths.is_empty() {
            notes.push(format!("scenarios: the rows also differ in {}", paths.join(", ")));
        }
        Self { paired: true, notes }
    }
}
