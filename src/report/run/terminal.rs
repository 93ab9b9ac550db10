//! What `hushmesh run` prints when it is done.

use std::path::Path;

use super::summary::Summary;
use crate::experiment::RunResult;
use crate::measure::{Estimate, Metric};
use crate::report::privacy::{assumptions, claims, published};
use crate::report::theory::theory_in_brief;
use crate::report::{Cell, Column, Table, figure};
use crate::topology::TopologyConfig;

/// A cell with the mean and, where there is one, its interval.
pub(super) fn cell(estimate: &Estimate) -> Cell {
    match (estimate.mean, estimate.low, estimate.high) {
        (Some(mean), Some(low), Some(high)) if high > low => Cell::Interval { mean, low, high },
        (Some(mean), _, _) => Cell::Number(mean),
        _ => Cell::Missing,
    }
}

/// The graph in words. Generators say their size themselves.
pub(super) fn headline(result: &RunResult) -> String {
    let (label, links) = (result.scenario.topology.label(), result.topology.links());
    match result.scenario.topology {
        TopologyConfig::File(_) => {
            format!("{label}, {} peers, {links} links", result.topology.peers())
        }
        _ => format!("{label}, {links} links"),
    }
}

/// The run in a few lines and a table.
pub fn terminal(result: &RunResult, summary: &Summary, directory: &Path) -> String {
    let repeats = match summary.repeats {
        0 => "interrupted in the first repeat".to_string(),
        1 => "1 repeat".to_string(),
        repeats => format!("{repeats} repeats, mean and 95 % interval"),
    };
    let mut text = format!("{}: {}; {repeats}\n\n", summary.name, headline(result),);
    text += &figures(summary).to_text();
    text.push('\n');
    if let Some(table) = summary.theory.as_ref().and_then(theory_in_brief) {
        text += &table.to_text();
        text.push('\n');
    }
    // Where nothing is protected at all, the notes say so.
    if summary.labels.is_some() || summary.metric(Metric::Epsilon).is_some() {
        text += &claims(&summary.statement, Some(&summary.observed)).to_text();
        text.push('\n');
        for line in assumptions(&summary.statement) {
            text += &format!("assumes, for {line}\n");
        }
    }
    if let Some(table) = published(&summary.statement) {
        text += &format!("\n{}\n", table.to_text());
    }
    for line in &summary.statement.notes {
        text += &format!("privacy: {line}\n");
    }
    for warning in &summary.warnings {
        text += &format!("note: {warning}\n");
    }
    text += &format!("\nfingerprint {}\n", summary.fingerprint);
    text += &format!("files in {}\n", directory.display());
    text
}

/// The final figures as a table: the name in files, the value, the words for it.
pub(super) fn figures(summary: &Summary) -> Table {
    let mut table =
        Table::new([Column::text("figure"), Column::number("value"), Column::text("what it is")]);
    let stop = match summary.stop_reason {
        "rounds" if !summary.tasks.is_empty() => "updates of each token: all that there were to be",
        "rounds" => "rounds run: all that were asked for",
        "tolerance" => "rounds run, until the stopping rule was met",
        "diverged" => "rounds run, until a model diverged",
        "budget" => "rounds run, until a privacy budget bore no further release",
        "interrupted" => "rounds run, until interrupted",
        _ => "rounds run",
    };
    table.row(["rounds".into(), cell(&summary.rounds), stop.into()]);
    if let Some((name, value)) = summary.parameter {
        let symbol = match name {
            "penalty" => "β",
            "local_steps" => "K, steps between two averages",
            _ => "α",
        };
        table.row([name.into(), value.into(), symbol.into()]);
    }
    for (metric, estimate) in &summary.metrics {
        if estimate.mean.is_none() {
            continue;
        }
        let beside = |name: &str| {
            let found = summary.references.iter().find(|(key, _)| *key == name);
            found.and_then(|(_, estimate)| estimate.mean).map(figure)
        };
        let references: &[(&str, &str)] = match metric {
            Metric::TestAccuracy => &[
                ("central fit", "central_test_accuracy"),
                ("trivial model", "trivial_test_accuracy"),
            ],
            Metric::TestMse => {
                &[("central fit", "central_test_mse"), ("trivial model", "trivial_test_mse")]
            }
            Metric::EmpiricalRisk => &[("central fit", "central_empirical_risk")],
            _ => &[],
        };
        let found: Vec<String> = references
            .iter()
            .filter_map(|(what, key)| Some(format!("{what} {}", beside(key)?)))
            .collect();
        let label = match found.as_slice() {
            [] => metric.label().to_string(),
            found => format!("{}; {}", metric.label(), found.join(", ")),
        };
        table.row([metric.name().into(), cell(estimate), label.into()]);
    }
    if summary.measured_rate.mean.is_some() {
        let what = match summary.predicted_rate {
            Some(rate) => {
                format!("factor by which the error falls per round; predicted {}", figure(rate))
            }
            None => "factor by which the error falls per round".to_string(),
        };
        table.row(["measured_rate".into(), cell(&summary.measured_rate), what.into()]);
    }
    table
}
