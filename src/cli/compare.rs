//! `hushmesh compare`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::exit::{Code, Failure};
use super::run::DEFAULT_PARENT;
use super::study::{carry_out_study, check_target, in_study, resume};
use super::{CompareArguments, TableFormat};
use crate::experiment::{Purpose, RunDirectory, Study, StudyPoint};
use crate::measure::What;
use crate::protocol::{Automatic, ProtocolConfig};
use crate::scenario::{Checked, fit_for_file, own_name, relocated};

/// Noise-free methods are compared by the rounds to this distance, unless told otherwise.
const DEFAULT_TARGET: &str = "optimum_distance=1e-6";

pub(super) fn compare(arguments: &CompareArguments) -> Result<Code, Failure> {
    let effort = arguments.effort();
    if let Some(named) = &arguments.resume {
        return resume(RunDirectory::resume(named)?, &effort);
    }
    check_target(arguments.target.as_deref())?;
    let (rows, mut notes) = rows(arguments)?;
    let [first, _, ..] = rows.as_slice() else {
        let message = "one row, expected two or more to compare: name more scenarios, or --topology \
                       or --protocol several times";
        return Err(Failure::arguments(message.to_string()));
    };
    let target = arguments.target.clone().or_else(|| default_target(&rows));
    if target.is_none() {
        notes.push(
            "no target: rounds, messages, bytes and seconds are those of whole runs; --target \
             METRIC=VALUE compares what it takes to get somewhere"
                .to_string(),
        );
    }
    let name = first.checked.scenario().name.clone();
    let directory = match &arguments.out {
        Some(out) => RunDirectory::create(out, arguments.force)?,
        None => {
            let name = format!("{name}-comparison");
            RunDirectory::create_default(Path::new(DEFAULT_PARENT), &name)?
        }
    };
    let mut taken = BTreeSet::new();
    let points = rows.iter().map(|row| StudyPoint {
        label: row.label.clone(),
        directory: own_name(&fit_for_file(&row.label), &mut taken),
        values: Vec::new(),
        scenario: in_study(&row.checked, &directory),
    });
    let points = points.collect();
    let study = Study { name, purpose: Purpose::Comparison, target, notes, points };
    drop(rows);
    carry_out_study(&study, directory, &effort)
}

/// One run of the comparison.
struct Compared {
    label: String,
    checked: Checked,
}

/// Something that varies between rows: what it is called, and how it is set.
struct Choice {
    label: Option<String>,
    set: Option<String>,
}

/// Every scenario with every topology and every protocol, and what to say of them.
fn rows(arguments: &CompareArguments) -> Result<(Vec<Compared>, Vec<String>), Failure> {
    let unchanged = || vec![Choice { label: None, set: None }];
    let mut rows: Vec<Compared> = Vec::new();
    let mut notes = Vec::new();
    let (mut tuned, mut fixed) = (BTreeSet::new(), BTreeSet::new());
    for scenario in &arguments.scenarios {
        let base = scenario.parent().unwrap_or(Path::new(""));
        let mut topologies = Vec::new();
        for argument in &arguments.topologies {
            for choice in topology_choices(argument, base)? {
                // One that is named first may turn up in a pattern again.
                if !topologies.iter().any(|named: &Choice| named.set == choice.set) {
                    topologies.push(choice);
                }
            }
        }
        let compares_topologies = topologies.len() > 1;
        let topologies = if topologies.is_empty() { unchanged() } else { topologies };
        let protocols = arguments.protocols.iter().map(|text| Choice {
            label: Some(text.trim_matches(['{', '}', ' ']).replace([':', '{', '}'], "")),
            set: Some(format!("protocol={text}")),
        });
        let protocols: Vec<Choice> =
            if arguments.protocols.is_empty() { unchanged() } else { protocols.collect() };
        for topology in &topologies {
            for protocol in &protocols {
                let mut overrides = arguments.overrides.clone();
                overrides.extend(topology.set.iter().chain(&protocol.set).cloned());
                if let Some(first) = rows.first() {
                    // The same seeds in every row, so that repeats pair up.
                    let first = first.checked.scenario();
                    overrides.push(format!("seed={}", first.seed.0));
                    overrides.push(format!("repeat={}", first.repeat));
                }
                let mut checked = Checked::load(scenario, &overrides)?;
                if compares_topologies && let Some((field, value)) = fixed_parameter(&checked) {
                    if arguments.keep_penalty {
                        fixed.insert(format!("{field} {value}"));
                    } else {
                        tuned.insert(format!("{field} {value}"));
                        overrides.push(format!("{field}=auto"));
                        checked = Checked::load(scenario, &overrides)?;
                    }
                }
                let several = arguments.scenarios.len() > 1;
                let own = several.then(|| checked.scenario().name.clone());
                let of_topology =
                    topology.label.as_ref().map(|_| checked.scenario().topology.label());
                let parts =
                    [own, of_topology.filter(|_| compares_topologies), protocol.label.clone()];
                let label = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
                let label = if label.is_empty() { checked.scenario().name.clone() } else { label };
                rows.push(Compared { label, checked });
            }
        }
    }
    let listed = |all: BTreeSet<String>| all.into_iter().collect::<Vec<_>>().join(", ");
    if !tuned.is_empty() {
        notes.push(format!(
            "the scenario's {} was left to theory (`auto`), graph by graph, so that none is \
             favoured; --keep-penalty keeps it",
            listed(tuned)
        ));
    } else if !fixed.is_empty() {
        notes.push(format!(
            "not a fair comparison of graphs: {} is the same for all of them and favours some; \
             without --keep-penalty each gets its own",
            listed(fixed)
        ));
    } else if arguments.topologies.len() > 1
        && let Some(ProtocolConfig::GradientDescent(descent)) =
            rows.first().map(|row| &row.checked.scenario().protocol)
    {
        notes.push(format!(
            "gradient descent has the same step {} on every graph, which favours some",
            descent.step
        ));
    }
    Ok((rows, notes))
}

/// The penalty or step that a scenario fixes though theory could choose it: its field and value.
fn fixed_parameter(checked: &Checked) -> Option<(&'static str, f64)> {
    match &checked.scenario().protocol {
        ProtocolConfig::Admm(admm) => match admm.penalty {
            Automatic::Value(beta) => Some(("protocol.admm.penalty", beta)),
            Automatic::Auto => None,
        },
        ProtocolConfig::GradientTracking(tracking) => match tracking.step {
            Automatic::Value(step) => Some(("protocol.gradient-tracking.step", step)),
            Automatic::Auto => None,
        },
        _ => None,
    }
}

/// The graphs that an argument names: a generator, a file, or a pattern of files.
fn topology_choices(argument: &str, base: &Path) -> Result<Vec<Choice>, Failure> {
    if argument.trim_start().starts_with('{') {
        let set = Some(format!("topology={argument}"));
        return Ok(vec![Choice { label: Some(argument.to_string()), set }]);
    }
    let wrong = |message: String| Failure::arguments(format!("--topology {argument}: {message}"));
    let files: Vec<PathBuf> = if argument.contains(['*', '?', '[']) {
        let found = glob::glob(argument).map_err(|error| wrong(error.to_string()))?;
        // In the order of names, whatever the file system says.
        found.collect::<Result<_, _>>().map_err(|error| wrong(error.to_string()))?
    } else {
        vec![PathBuf::from(argument)]
    };
    if files.is_empty() {
        return Err(wrong("no such file, expected a graph file or a generator".to_string()));
    }
    let choice = |file: &PathBuf| {
        if !file.is_file() {
            return Err(wrong(
                "no such file, expected a graph file or a generator such as '{ring: {peers: 10}}'"
                    .to_string(),
            ));
        }
        // A scenario's paths start from its own folder, an argument's from here.
        let path =
            relocated(Path::new(""), base, file).map_err(|error| wrong(error.to_string()))?;
        let json = serde_json::json!({ "file": path });
        Ok(Choice {
            label: Some(file.display().to_string()),
            set: Some(format!("topology={json}")),
        })
    };
    files.iter().map(choice).collect()
}

/// Where every method converges to the optimum and the distance is measured, that is the target.
fn default_target(rows: &[Compared]) -> Option<String> {
    let converges = |row: &Compared| {
        let scenario = row.checked.scenario();
        let exact = matches!(
            scenario.protocol,
            ProtocolConfig::Admm(_) | ProtocolConfig::GradientTracking(_)
        );
        exact && !scenario.protocol.adds_noise() && scenario.measure.has(What::Optimum)
    };
    rows.iter().all(converges).then(|| DEFAULT_TARGET.to_string())
}

impl CompareArguments {
    fn effort(&self) -> super::study::Effort {
        super::study::Effort {
            jobs: self.jobs.map(usize::from),
            workers: self.workers.map(usize::from),
            quiet: self.quiet,
            json: self.json,
            plots: self.plots.is_some(),
            format: self.format.unwrap_or(TableFormat::Text),
        }
    }
}
