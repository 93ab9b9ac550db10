//! `hushmesh data list`, `data fetch NAME` and `data show NAME`.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{count, percent};
use crate::cli::exit::{Code, Failure};
use crate::cli::print;
use crate::data::{
    Client, Clients, Contents, DataError, FetchError, NamedSet, Package, State, cache, fetch,
};
use crate::experiment::ExperimentError;
use crate::report::{Cell, Column, Table};

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ListArguments {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct FetchArguments {
    /// The set's name, as `hushmesh data list` has it.
    name: String,
    /// Take the package from this file, downloaded before, instead of running a client.
    #[arg(long, value_name = "ARCHIVE")]
    from: Option<PathBuf>,
    /// Copy the files into this folder too, for a scenario that reads them by their path.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The sources that need no file.
const DRAWN: [(&str, &str); 6] = [
    ("twonorm", "Breiman's twonorm, 20 features"),
    ("ringnorm", "Breiman's ringnorm, 20 features"),
    ("waveform", "the waveform data of CART, 21 features"),
    ("linear-logistic", "labels of a logistic model with a known parameter"),
    ("linear-regression", "labels of a linear model with a known parameter"),
    ("clusters", "round Gaussian classes, as many as asked for"),
];

pub(super) fn list(arguments: &ListArguments) -> Result<Code, Failure> {
    let cache = cache().map_err(input)?;
    let mut states = Vec::new();
    for set in NamedSet::ALL {
        states.push((set, set.state(&cache).map_err(input)?));
    }
    print(&if arguments.json {
        let sets: Vec<_> = states.iter().map(|&(set, state)| facts(set, state, &cache)).collect();
        let drawn: Vec<_> =
            DRAWN.iter().map(|(name, about)| json!({"name": name, "about": about})).collect();
        format!("{:#}\n", json!({"cache": cache, "sets": sets, "drawn": drawn}))
    } else {
        let mut sets = Table::new(["set", "rows", "columns", "cache", "package", "about"].map(
            |name| match name {
                "rows" | "columns" => Column::amount(name),
                _ => Column::text(name),
            },
        ));
        for (set, state) in states {
            let card = set.card();
            sets.row([
                set.name().into(),
                Cell::Text(count(card.rows)),
                Cell::Text(count(card.columns)),
                Cell::Text(here(state).to_string()),
                Cell::Text(package(card.package)),
                card.about.into(),
            ]);
        }
        let mut drawn = Table::new(["drawn, without a file", "about"].map(Column::text));
        for (name, about) in DRAWN {
            drawn.row([name.into(), about.into()]);
        }
        format!(
            "{}\n{}\nThe cache is {}. `hushmesh data fetch SET` gets a set, `source: SET` in a scenario \
             uses it.\n",
            sets.to_text(),
            drawn.to_text(),
            cache.display()
        )
    })?;
    Ok(Code::Done)
}

pub(super) fn get(arguments: &FetchArguments) -> Result<Code, Failure> {
    let set = named(&arguments.name)?;
    remark(&arguments.name);
    let cache = cache().map_err(input)?;
    let on_terminal = io::stderr().is_terminal();
    let say = |what: &str| {
        if on_terminal {
            // Without a place to say it the fetch goes on.
            let _ = writeln!(io::stderr(), "{what} …");
        }
    };
    let fetched = fetch(set, &cache, &Clients::default(), arguments.from.as_deref(), &say)?;
    let mut paths = set.paths(&cache);
    if let Some(folder) = &arguments.to {
        paths = copy(&paths, folder)?;
    }
    print(&if arguments.json {
        let files: Vec<_> = paths.iter().map(|path| json!(path)).collect();
        let done = json!({"name": set.name(), "fetched": fetched.sets, "files": files});
        format!("{done:#}\n")
    } else {
        let others: Vec<_> = fetched.sets.iter().filter(|name| **name != set.name()).collect();
        let others = others.iter().map(|name| format!("{name} came with it\n"));
        let was = if fetched.sets.is_empty() { "was there" } else { "fetched" };
        let files = paths.iter().map(|path| format!("  {}\n", path.display()));
        format!(
            "{} {was}:\n{}{}{}",
            set.name(),
            files.collect::<String>(),
            others.collect::<String>(),
            usage(set)
        )
    })?;
    Ok(Code::Done)
}

/// The set that is meant, or nothing where `text` is rather the path of a scenario.
pub(super) fn meant(text: &Path) -> Result<Option<NamedSet>, Failure> {
    let Some(name) = text.to_str() else { return Ok(None) };
    let is_path = name.contains(['.', '/', '\\']) || text.is_file();
    match named(name) {
        Ok(set) => Ok(Some(set)),
        Err(_) if is_path => Ok(None),
        Err(failure) => Err(failure),
    }
}

pub(super) fn show(set: NamedSet, asked: &Path, as_json: bool) -> Result<Code, Failure> {
    remark(&asked.to_string_lossy());
    let cache = cache().map_err(input)?;
    let state = set.state(&cache).map_err(input)?;
    let contents = match set.contents(&cache) {
        Ok(contents) => Some(contents),
        Err(DataError::Absent { .. }) => None,
        Err(error) => return Err(input(error)),
    };
    print(&if as_json {
        let mut facts = facts(set, state, &cache);
        facts["contents"] = json!(contents.as_ref().map(|contents| {
            let labels = contents.labels.iter().map(|(label, rows)| (label.clone(), json!(rows)));
            json!({
                "rows": contents.rows,
                "held_out": contents.held_out,
                "features": contents.features,
                "labels": labels.collect::<serde_json::Map<_, _>>(),
            })
        }));
        facts["same_as"] = json!(set.files(&cache));
        format!("{facts:#}\n")
    } else {
        format!("{}\n{}", card(set, contents.as_ref(), &cache).to_text(), usage(set))
    })?;
    Ok(Code::Done)
}

fn card(set: NamedSet, contents: Option<&Contents>, cache: &Path) -> Table {
    let card = set.card();
    let mut table = Table::new([Column::text(set.name()), Column::text("")]);
    let mut add = |what: &str, value: String| {
        table.row([what.into(), Cell::Text(value)]);
    };
    add("about", card.about.to_string());
    let complete = match card.complete_rows {
        rows if rows == card.rows => String::new(),
        rows => format!(", of which {} are complete and used", count(rows)),
    };
    add("rows", count(card.rows) + &complete);
    let coded = match card.features {
        features if features == card.columns => String::new(),
        features => format!(", with categories coded {} features", count(features)),
    };
    add("columns", count(card.columns) + &coded);
    add("label", card.label.to_string());
    if let Some(contents) = contents {
        let all = contents.rows + contents.held_out;
        if contents.held_out > 0 {
            add("held out", format!("{} rows, by the set itself", count(contents.held_out)));
        }
        for (label, rows) in &contents.labels {
            let share = percent(*rows as f64 / all as f64);
            add(&format!("labelled {label}"), format!("{} rows, {share}", count(*rows)));
        }
    }
    add("origin", card.origin.to_string());
    add("package", package(card.package));
    for path in set.paths(cache) {
        add(if contents.is_some() { "file" } else { "not there" }, path.display().to_string());
    }
    if contents.is_none() {
        add("to get it", format!("hushmesh data fetch {}", set.name()));
    }
    table
}

/// Everything that is known without reading the rows.
fn facts(set: NamedSet, state: State, cache: &Path) -> Value {
    let card = set.card();
    json!({
        "name": set.name(),
        "about": card.about,
        "rows": card.rows,
        "complete_rows": card.complete_rows,
        "columns": card.columns,
        "features": card.features,
        "label": card.label,
        "origin": card.origin,
        "package": card.package,
        "state": state,
        "files": set.paths(cache),
    })
}

fn usage(set: NamedSet) -> String {
    format!("In a scenario:\n  data:\n    source: {}\n", set.name())
}

fn here(state: State) -> &'static str {
    match state {
        State::AtHand => "there",
        State::Absent => "-",
        State::Damaged => "damaged",
    }
}

fn package(package: &Package) -> String {
    let client = match package.client {
        Client::Pip => "pip",
        Client::Npm => "npm",
    };
    format!("{} {} ({client})", package.name, package.version)
}

/// The set with a name, or what to say to one that there is not.
fn named(name: &str) -> Result<NamedSet, Failure> {
    let wanted = if name == "twonorm" { NamedSet::Twonorm7400.name() } else { name };
    if let Some(set) = NamedSet::named(wanted) {
        return Ok(set);
    }
    if DRAWN.iter().any(|(drawn, _)| *drawn == name) {
        let text =
            format!("{name} is drawn from its law, there is no file: expected a set of files");
        return Err(Failure::arguments(text));
    }
    let names = NamedSet::ALL.map(NamedSet::name);
    let likeness = |other: &&str| strsim::jaro_winkler(&name.to_lowercase(), other);
    let nearest = names.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let hint = match nearest.filter(|nearest| likeness(nearest) > 0.7) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!("expected one of {}", names.join(", ")),
    };
    Err(Failure::arguments(format!("no set is named {name:?}: {hint}")))
}

/// Says that a law and a file share a name, where that was the one asked for.
fn remark(name: &str) {
    if name == "twonorm" {
        let text = "`source: twonorm` draws from the law; the file is `source: twonorm-7400`";
        // Without a place to say it there is the answer alone.
        let _ = writeln!(io::stderr(), "{text}");
    }
}

/// Copies files into a folder, each whole or not at all.
fn copy(paths: &[PathBuf], folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut copies = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default();
        let (copy, mut draft) = (folder.join(name), name.to_os_string());
        draft.push(".part");
        let draft = folder.join(draft);
        if copy.exists() {
            if fs::read(&copy).ok() == fs::read(path).ok() {
                copies.push(copy);
                continue;
            }
            let text =
                format!("error: {} exists with other contents: remove it first", copy.display());
            return Err(Failure { code: Code::Files, text });
        }
        fs::create_dir_all(folder)
            .and_then(|()| fs::copy(path, &draft))
            .and_then(|_| fs::rename(&draft, &copy))
            .map_err(|error| Failure {
                code: Code::Files,
                text: format!("error: cannot write {}: {error}", copy.display()),
            })?;
        copies.push(copy);
    }
    Ok(copies)
}

fn input(error: DataError) -> Failure {
    ExperimentError::from(error).into()
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        let code = match error {
            FetchError::Files { .. } => Code::Files,
            _ => Code::Input,
        };
        Self { code, text: format!("error: {error}") }
    }
}
