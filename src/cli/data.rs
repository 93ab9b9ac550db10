//! `hushmesh data`.

mod sets;

use std::path::PathBuf;

use clap::Subcommand;

use self::sets::{FetchArguments, ListArguments};
use super::exit::{Code, Failure};
use super::print;
use crate::data::{Description, Holding, Span, prepare};
use crate::experiment::ExperimentError;
use crate::report::{Cell, Column, Table, figure};
use crate::scenario::Checked;

#[derive(Debug, Subcommand)]
pub(super) enum DataCommand {
    /// List the public sets that have a name, whether each is at hand, and the sources that are drawn.
    #[command(after_help = "\
Examples:
  hushmesh data list
  hushmesh data list --json")]
    List(ListArguments),
    /// Get a public set into the cache, through pip or npm, at a pinned version with a checked SHA-256.
    #[command(after_help = "\
Examples:
  hushmesh data fetch adult
  hushmesh data fetch mnist --to data
  hushmesh data fetch adult --from aif360-0.3.0rc0-py3-none-any.whl

Sets of one package come together: adult with bank and german. The cache is the folder that HUSHMESH_CACHE
names, else the platform's: ~/.cache/hushmesh, ~/Library/Caches/hushmesh or %LOCALAPPDATA%\\hushmesh.
Nothing of a package is run.")]
    Fetch(FetchArguments),
    /// Describe a set by its name; or load the data of a scenario's first repeat and describe it: rows,
    /// features, labels, norms, and what each peer gets.
    #[command(after_help = "\
Examples:
  hushmesh data show adult
  hushmesh data show scenarios/quickstart.yaml
  hushmesh data show scenarios/quickstart.yaml --set data.partition='{dirichlet-sizes: {alpha: 0.5}}'
  hushmesh data show scenarios/quickstart.yaml --json")]
    Show(ShowArguments),
}

#[derive(Debug, clap::Args)]
pub(super) struct ShowArguments {
    /// The scenario file, or the name of a set.
    #[arg(value_name = "SCENARIO|NAME")]
    scenario: PathBuf,
    /// Override a field of the scenario; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// Print JSON: of a scenario every peer, of a set the source section that its name stands for.
    #[arg(long)]
    json: bool,
}

/// How many peers, and how many classes, are listed one by one.
const LISTED: usize = 20;

pub(super) fn data(command: &DataCommand) -> Result<Code, Failure> {
    match command {
        DataCommand::List(arguments) => sets::list(arguments),
        DataCommand::Fetch(arguments) => sets::get(arguments),
        DataCommand::Show(arguments) => show(arguments),
    }
}

fn show(arguments: &ShowArguments) -> Result<Code, Failure> {
    if let Some(set) = sets::meant(&arguments.scenario)? {
        if !arguments.overrides.is_empty() {
            let text = format!("--set is for scenarios: {} is a set", set.name());
            return Err(Failure::arguments(text));
        }
        return sets::show(set, &arguments.scenario, arguments.json);
    }
    let checked = Checked::load(&arguments.scenario, &arguments.overrides)?;
    let scenario = checked.scenario();
    let prepared = prepare(
        &scenario.data,
        checked.topology().peers(),
        scenario.model.intercept,
        &scenario.data.streams(scenario.seed, 0),
        checked.base(),
    )
    .map_err(ExperimentError::from)?;
    let description = Description::of(&prepared);
    print(&if arguments.json {
        format!("{:#}\n", serde_json::json!(description))
    } else {
        text(&description)
    })?;
    Ok(Code::Done)
}

fn text(description: &Description) -> String {
    let mut text = format!("{}\n{}", parts(description).to_text(), peers(description).to_text());
    for line in &description.declarations {
        text += &format!("\nprivacy: outside the accounting: {line}");
    }
    if !description.declarations.is_empty() {
        text.push('\n');
    }
    text
}

/// Training and held-out rows side by side.
fn parts(description: &Description) -> Table {
    let columns = ["the data", "training", "held out"].map(Column::text);
    let mut table = Table::new(columns);
    let mut add = |what: &str, value: &dyn Fn(&Holding) -> Option<String>| {
        let cell = |holding| value(holding).map_or(Cell::Missing, Cell::Text);
        let held_out = description.held_out.as_ref().map_or(Cell::Missing, cell);
        table.row([what.into(), cell(&description.training), held_out]);
    };
    add("rows", &|holding| Some(count(holding.rows)));
    add("features", &|_| Some(count(description.features.len())));
    if description.training.targets.is_some() {
        add("labels", &|holding| holding.targets.map(span));
    } else if !description.classes.is_empty() {
        add("classes", &|_| Some(count(description.classes.len())));
        for (k, name) in description.classes.iter().enumerate().take(LISTED) {
            let rows = |holding: &Holding| holding.class_rows.as_ref().map(|rows| count(rows[k]));
            add(&format!("labelled {name}"), &rows);
        }
    } else {
        add("labelled +1", &|holding| holding.positive_share.map(percent));
    }
    add("row norms", &|holding| holding.norms.map(span));
    if description.multiplicity > 1 {
        let times = count(description.multiplicity);
        table.row(["copies of one row, at most".into(), Cell::Text(times)]);
    }
    table
}

/// What the first peers get, and all of them in a line.
fn peers(description: &Description) -> Table {
    let all = &description.peers;
    let (label, balance): (_, fn(&Holding) -> Option<f64>) =
        if description.training.targets.is_some() {
            ("mean label", |holding| holding.targets.map(|targets| targets.mean))
        } else if !description.classes.is_empty() {
            ("largest class", |holding| {
                let largest = holding.class_rows.as_ref()?.iter().max()?;
                (holding.rows > 0).then(|| *largest as f64 / holding.rows as f64)
            })
        } else {
            ("labelled +1", |holding| holding.positive_share)
        };
    let show = |value| if label == "mean label" { figure(value) } else { percent(value) };
    let mut table = Table::new([
        Column::text("peer"),
        Column::text("rows"),
        Column::text(label),
        Column::text("largest norm"),
    ]);
    let text = |value: Option<String>| value.map_or(Cell::Missing, Cell::Text);
    for (peer, holding) in all.iter().enumerate().take(LISTED) {
        table.row([
            Cell::Text(peer.to_string()),
            Cell::Text(count(holding.rows)),
            text(balance(holding).map(show)),
            text(holding.norms.map(|norms| figure(norms.greatest))),
        ]);
    }
    if all.len() > 1 {
        let norms = all.iter().filter_map(|holding| holding.norms);
        table.row([
            Cell::Text(format!("all {}", count(all.len()))),
            text(Span::of(all.iter().map(|holding| holding.rows as f64)).map(span)),
            text(Span::of(all.iter().filter_map(balance)).map(|found| {
                let [least, mean, greatest] = [found.least, found.mean, found.greatest].map(show);
                format!("{least} to {greatest}, mean {mean}")
            })),
            text(Span::of(norms.map(|norms| norms.greatest)).map(span)),
        ]);
    }
    table
}

fn count(value: usize) -> String {
    figure(value as f64)
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

fn span(span: Span) -> String {
    let [least, mean, greatest] = [span.least, span.mean, span.greatest].map(figure);
    if least == greatest { least } else { format!("{least} to {greatest}, mean {mean}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Clusters, DataConfig, LabelShards, Partition, Samples, Source};
    use crate::units::Seed;

    #[test]
    fn rows_of_each_class_take_the_place_of_the_positive_share() {
        let clusters = Clusters { classes: 3, dimension: 2, separation: 1.0 };
        let config = DataConfig {
            samples: Some(Samples::Total(60)),
            test_share: 0.5,
            partition: Partition::LabelShards(LabelShards { per_peer: 1 }),
            ..DataConfig::from(Source::Clusters(clusters))
        };
        let streams = config.streams(Seed(1), 0);
        let prepared = prepare(&config, 30, false, &streams, std::path::Path::new(".")).unwrap();
        let description = Description::of(&prepared);
        let shown = text(&description);
        let rows = description.training.class_rows.unwrap();
        let held_out = description.held_out.unwrap().class_rows.unwrap();
        for (k, (rows, held_out)) in rows.iter().zip(&held_out).enumerate() {
            let line = shown.lines().find(|line| line.starts_with(&format!("labelled {k}")));
            let cells: Vec<_> = line.unwrap().split_whitespace().skip(2).collect();
            assert_eq!(cells, [rows.to_string(), held_out.to_string()]);
        }
        assert!(!shown.contains("+1"), "{shown}");
        // Thirty rows of thirty peers: each has one, which is all of its largest class.
        assert!(shown.contains("largest class") && shown.contains("100.00 %"), "{shown}");
    }
}
