//! Table I of "Privacy-preserving distributed machine learning via local randomization and ADMM
//! perturbation" (arXiv 1908.01059): held-out accuracy by data set, label privacy ε and objective noise R.
//!
//! ```text
//! cargo run --release --example pdml_table
//! cargo run --release --example pdml_table -- FOLDER
//! ```
//!
//! Runs scenarios/pdml/*.yaml in each of the seven columns, ten seeds each. German and Image are run
//! where FOLDER (default: data) has german.csv.gz and image.csv.gz. "Reachable" is the mean over ten
//! seeds of an independent implementation, "paper" the published single run. A cell is marked where
//! it is further from reachable than both 1.5 points and two standard deviations of its ten seeds.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::error::Error;
use std::path::Path;

use hushmesh::experiment;
use hushmesh::measure::Metric;
use hushmesh::report::{Column, Table};
use hushmesh::scenario::Checked;

/// Name, scenario, data file, reachable, paper.
type Row = (&'static str, &'static str, Option<&'static str>, [f64; 7], [f64; 7]);

const ROWS: [Row; 5] = [
    (
        "Twonorm",
        "twonorm",
        None,
        [97.8, 96.6, 97.6, 96.5, 93.9, 97.5, 94.6],
        [97.9, 96.6, 97.4, 96.5, 92.3, 97.4, 94.8],
    ),
    (
        "Ringnorm",
        "ringnorm",
        None,
        [76.7, 72.9, 76.1, 71.6, 67.0, 75.9, 69.8],
        [77.4, 73.4, 76.8, 73.7, 66.2, 75.8, 70.2],
    ),
    (
        "Waveform",
        "waveform",
        None,
        [88.1, 83.8, 87.0, 84.8, 81.6, 86.9, 82.1],
        [88.9, 84.6, 87.9, 84.1, 80.5, 87.7, 81.7],
    ),
    (
        "German",
        "german",
        Some("german.csv.gz"),
        [75.5, 66.2, 72.4, 66.0, 61.3, 73.2, 68.0],
        [75.0, 71.0, 74.0, 69.7, 64.0, 74.3, 67.7],
    ),
    (
        "Image",
        "image",
        Some("image.csv.gz"),
        [74.2, 68.4, 72.6, 69.9, 66.2, 73.4, 69.2],
        [75.6, 70.1, 72.8, 69.3, 63.1, 70.5, 65.5],
    ),
];

/// (ε, R) of the columns; the first has no privacy.
const COLUMNS: [Option<(f64, f64)>; 7] = [
    None,
    Some((0.4, 0.0)),
    Some((1.0, 0.0)),
    Some((0.4, 1.0)),
    Some((0.4, 9.0)),
    Some((1.0, 1.0)),
    Some((1.0, 9.0)),
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "data".to_string());
    let columns = COLUMNS.iter().map(|column| match column {
        None => Column::text("no privacy"),
        Some((epsilon, radius)) => Column::text(format!("({epsilon}, {radius})")),
    });
    let mut table = Table::new([Column::text("%"), Column::text("")].into_iter().chain(columns));
    let mut marked = 0;
    for (name, scenario, file, reachable, paper) in ROWS {
        let path = file.map(|file| Path::new(&folder).join(file));
        if let Some(path) = path.as_ref().filter(|path| !path.is_file()) {
            println!("{name} is left out: there is no {}\n", path.display());
            continue;
        }
        let mut ours = Vec::new();
        for (column, reachable) in COLUMNS.into_iter().zip(reachable) {
            let accuracies = accuracies(scenario, path.as_deref(), column)?;
            let (mean, deviation) = moments(&accuracies);
            let off = (mean - reachable).abs();
            let far = off > 1.5 && off > 2.0 * deviation;
            marked += usize::from(far);
            ours.push(format!("{mean:.1} ± {deviation:.1}{}", if far { " !" } else { "" }));
        }
        let line = |figures: [f64; 7]| figures.map(|figure| format!("{figure:.1}")).to_vec();
        for (who, figures) in
            [("ours, mean ± sd", ours), ("reachable", line(reachable)), ("paper", line(paper))]
        {
            let name = if who == "paper" || who == "reachable" { "" } else { name };
            let cells = [name.to_string(), who.to_string()].into_iter().chain(figures);
            table.row(cells.map(Into::into));
        }
    }
    println!("{}", table.to_markdown());
    println!("{marked} cells are further from reachable than 1.5 points and two deviations.");
    Ok(())
}

/// The held-out accuracy of each repeat, in per cent.
fn accuracies(
    scenario: &str,
    file: Option<&Path>,
    column: Option<(f64, f64)>,
) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut set = vec!["measure.every=200".to_string(), "measure.what=[test]".to_string()];
    if let Some(file) = file {
        let path = file.canonicalize()?;
        set.push(format!("data.source={{csv: {{path: {}, label: label}}}}", path.display()));
    }
    match column {
        None => set.push("privacy.labels=null".to_string()),
        Some((epsilon, _)) => set.push(format!("privacy.labels.epsilon={epsilon}")),
    }
    match column {
        Some((_, radius)) if radius > 0.0 => {
            set.push(format!("protocol.admm.objective_noise.sphere.radius={radius}"));
        }
        _ => {
            set.push("protocol.admm.objective_noise=null".to_string());
            set.push("protocol.admm.primal_noise=null".to_string());
        }
    }
    let path = Path::new("scenarios/pdml").join(format!("{scenario}.yaml"));
    let result = experiment::run(&Checked::load(&path, &set)?)?;
    let column = result.metrics.iter().position(|&metric| metric == Metric::TestAccuracy);
    let column = column.ok_or("accuracy is measured")?;
    let last = |repeat: &experiment::RepeatResult| Some(100.0 * repeat.rows.last()?.values[column]);
    Ok(result.repeats.iter().filter_map(last).collect())
}

/// Mean and standard deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0)).sqrt())
}
