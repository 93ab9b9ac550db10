//! `hushmesh compare`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::exit::{Code, Failure};
use super::run::DEFAULT_PARENT;
use super::study::{Planned, carry_out_study, check_target, in_study, resumed};
use super::{CompareArguments, TableFormat, ranked};
use crate::experiment::{Purpose, RunDirectory, Study, StudyPoint};
use crate::measure::What;
use crate::network::Ranks;
use crate::protocol::{Automatic, ProtocolConfig};
use crate::scenario::{Checked, fit_for_file, own_name, relocated};

/// Noise-free methods are compared by the rounds to this distance, unless told otherwise.
const DEFAULT_TARGET: &str = "optimum_distance=1e-6";

pub(super) fn compare(arguments: &CompareArguments) -> Result<Code, Failure> {
    compare_on(arguments, ranked::group()?.as_deref())
}

/// Compares, alone or together with other ranks.
pub(super) fn compare_on(
    arguments: &CompareArguments,
    ranks: Option<&dyn Ranks>,
) -> Result<Code, Failure> {
    let effort = arguments.effort();
    let Some(ranks) = ranks else {
        return carry_out_study(|| plan(arguments, asked(arguments)?), &effort, None);
    };
    ranked::spoken_by_first(ranks, || {
        let asked = ranked::agreed(ranks, asked(arguments), Asked::identity)?;
        carry_out_study(|| plan(arguments, asked), &effort, Some(ranks))
    })
}

/// What the arguments ask for.
enum Asked {
    /// To go on with the comparison of this name.
    Resumed(PathBuf),
    /// To compare these, with notes.
    Rows(Vec<Compared>, Vec<String>),
}

impl Asked {
    /// What ranks that do it together have in common.
    fn identity(&self) -> String {
        match self {
            Self::Resumed(named) => ranked::study_there(named),
            Self::Rows(rows, _) => {
                let of = |row: &Compared| format!("{} {}", row.label, ranked::hash(&row.checked));
                rows.iter().map(of).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

fn asked(arguments: &CompareArguments) -> Result<Asked, Failure> {
    if let Some(named) = &arguments.resume {
        return Ok(Asked::Resumed(named.clone()));
    }
    let (rows, notes) = rows(arguments)?;
    let [_, _, ..] = rows.as_slice() else {
        let message = "one row, expected two or more to compare: name more scenarios, or --topology \
                       or --protocol several times";
        return Err(Failure::arguments(message.to_string()));
    };
    let scenarios = rows.iter().map(|row| row.checked.scenario());
    check_target(arguments.target.as_deref(), scenarios)?;
    Ok(Asked::Rows(rows, notes))
}

/// The comparison as a study, with its directory.
fn plan(arguments: &CompareArguments, asked: Asked) -> Result<Planned, Failure> {
    let (rows, mut notes) = match asked {
        Asked::Rows(rows, notes) => (rows, notes),
        Asked::Resumed(named) => {
            let directory = RunDirectory::resume(&named)?;
            if directory.is_study() {
                return resumed(directory);
            }
            let message =
                format!("--resume {0}: no comparison; hushmesh run --resume {0}", named.display());
            return Err(Failure::arguments(message));
        }
    };
    let target = arguments.target.clone().or_else(|| default_target(&rows));
    if target.is_none() {
        notes.push(
            "no target: rounds, messages, bytes and seconds are those of whole runs; --target \
             METRIC=VALUE compares what it takes to get somewhere"
                .to_string(),
        );
    }
    let name = rows.first().map(|row| row.checked.scenario().name.clone()).unwrap_or_default();
    let directory = match &arguments.out {
        Some(out) => RunDirectory::create(out, arguments.force)?,
        None => {
            let name = format!("{name}-comparison");
            RunDirectory::create_default(Path::new(DEFAULT_PARENT), &name)?
        }
    };
    let mut taken = BTreeMap::new();
    let points = rows.iter().map(|row| StudyPoint {
        label: row.label.clone(),
        directory: own_name(&fit_for_file(&row.label), &mut taken),
        values: Vec::new(),
        scenario: in_study(&row.checked, &directory),
    });
    let points = points.collect();
    Ok((Study { name, purpose: Purpose::Comparison, target, notes, points }, directory))
}

/// One run of the comparison.
struct Compared {
    label: String,
    checked: Checked,
}

/// Something that varies between rows: what was typed, and how it is set.
struct Choice {
    typed: String,
    set: String,
}

/// Every scenario with every topology and every protocol, and what to say of them.
fn rows(arguments: &CompareArguments) -> Result<(Vec<Compared>, Vec<String>), Failure> {
    let mut rows: Vec<Compared> = Vec::new();
    let mut tuned = BTreeSet::new();
    for scenario in &arguments.scenarios {
        let base = scenario.parent().unwrap_or(Path::new(""));
        let topologies = topologies(&arguments.topologies, base)?;
        let tunes = topologies.len() > 1 && !arguments.keep_penalty;
        let protocols: Vec<Choice> =
            arguments.protocols.iter().map(|text| protocol(text)).collect();
        for topology in one_or_all(&topologies) {
            for protocol in one_or_all(&protocols) {
                let set = |set: &String| (set.clone(), format!("--set {set}"));
                let mut overrides: Vec<(String, String)> =
                    arguments.overrides.iter().map(set).collect();
                for choice in [topology, protocol].into_iter().flatten() {
                    overrides.push((choice.set.clone(), choice.typed.clone()));
                }
                if let Some(first) = rows.first() {
                    // The same seeds in every row, so that repeats pair up.
                    let first = first.checked.scenario();
                    overrides.push(set(&format!("seed={}", first.seed.0)));
                    overrides.push(set(&format!("repeat={}", first.repeat)));
                }
                let mut checked = Checked::load_as(scenario, &overrides)?;
                if checked.scenario().sweep.is_some() {
                    let name = scenario.display();
                    let text =
                        format!("error: {name}: sweep: a comparison has none, expected it absent");
                    return Err(Failure { code: Code::Scenario, text });
                }
                if tunes && let Some((field, value)) = fixed_parameter(&checked) {
                    tuned.insert(format!("{field} {value}"));
                    overrides.push(set(&format!("{field}=auto")));
                    checked = Checked::load_as(scenario, &overrides)?;
                }
                let several = arguments.scenarios.len() > 1;
                let parts = [
                    several.then(|| checked.scenario().name.clone()),
                    (topologies.len() > 1).then(|| checked.scenario().topology.label()),
                    protocol.map(|protocol| in_words(&protocol.set)),
                ];
                let label = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
                let label = if label.is_empty() { checked.scenario().name.clone() } else { label };
                let same = rows.iter().filter(|row| row.label == label).count();
                let label = match (same, several) {
                    (0, _) => label,
                    (_, true) => format!("{label} ({})", scenario.display()),
                    (same, false) => format!("{label} ({})", same + 1),
                };
                rows.push(Compared { label, checked });
            }
        }
    }
    let notes = notes(&rows, &tuned);
    Ok((rows, notes))
}

/// Each of the choices, or the one not to choose.
fn one_or_all(choices: &[Choice]) -> Vec<Option<&Choice>> {
    if choices.is_empty() { vec![None] } else { choices.iter().map(Some).collect() }
}

fn protocol(text: &str) -> Choice {
    Choice { typed: format!("--protocol {text}"), set: format!("protocol={text}") }
}

/// What a choice says, without its signs: `admm rounds 500`.
fn in_words(set: &str) -> String {
    let text = set.split_once('=').map_or(set, |(_, text)| text);
    let text = text.replace(['{', '}', ':', '"'], " ").replace(',', " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether graphs are compared fairly: each with a penalty, or a step, that suits it.
fn notes(rows: &[Compared], tuned: &BTreeSet<String>) -> Vec<String> {
    let listed = |all: &BTreeSet<String>| all.iter().cloned().collect::<Vec<_>>().join(", ");
    let mut notes = Vec::new();
    if !tuned.is_empty() {
        notes.push(format!(
            "the scenario's {} was left to theory (`auto`), graph by graph, so that none is favoured; \
             --keep-penalty keeps it",
            listed(tuned)
        ));
    }
    let first = rows.first().map(|row| &row.checked.scenario().topology);
    let graphs_differ = rows.iter().any(|row| Some(&row.checked.scenario().topology) != first);
    let fixed: BTreeSet<String> = rows
        .iter()
        .filter_map(|row| match &row.checked.scenario().protocol {
            ProtocolConfig::GradientDescent(descent) => {
                Some(format!("protocol.gradient-descent.step {}", descent.step))
            }
            _ => fixed_parameter(&row.checked).map(|(field, value)| format!("{field} {value}")),
        })
        .collect();
    if graphs_differ && !fixed.is_empty() {
        notes.push(format!(
            "not a fair comparison of graphs: {} is fixed, whatever the graph, and favours some; `auto`, \
             where there is one, gives each its own",
            listed(&fixed)
        ));
    }
    notes
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

/// The graphs that arguments name, each once.
fn topologies(arguments: &[String], base: &Path) -> Result<Vec<Choice>, Failure> {
    let mut all: Vec<Choice> = Vec::new();
    for argument in arguments {
        for choice in topology(argument, base)? {
            // One that is named first may turn up in a pattern again.
            if all.iter().all(|named| named.set != choice.set) {
                all.push(choice);
            }
        }
    }
    Ok(all)
}

/// The graphs that an argument names: a generator, a file, or a pattern of files.
fn topology(argument: &str, base: &Path) -> Result<Vec<Choice>, Failure> {
    let typed = format!("--topology {argument}");
    if argument.trim_start().starts_with('{') {
        return Ok(vec![Choice { typed, set: format!("topology={argument}") }]);
    }
    let wrong = |message: String| Failure::arguments(format!("{typed}: {message}"));
    let absent = || {
        let expected = "expected a graph file or a generator such as '{ring: {peers: 10}}'";
        wrong(format!("no such file, {expected}"))
    };
    let files: Vec<PathBuf> = if argument.contains(['*', '?', '[']) {
        let found = glob::glob(argument).map_err(|error| wrong(error.to_string()))?;
        // In the order of names, whatever the file system says.
        found.collect::<Result<_, _>>().map_err(|error| wrong(error.to_string()))?
    } else {
        vec![PathBuf::from(argument)]
    };
    if files.is_empty() || !files.iter().all(|file| file.is_file()) {
        return Err(absent());
    }
    let choice = |file: &PathBuf| {
        // A scenario's paths start from its own folder, an argument's from here.
        let path =
            relocated(Path::new(""), base, file).map_err(|error| wrong(error.to_string()))?;
        let set = format!("topology={}", serde_json::json!({ "file": path }));
        Ok(Choice { typed: format!("--topology {}", file.display()), set })
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
