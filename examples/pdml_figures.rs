//! The claims of Figs 3 and 4 of "Privacy-preserving distributed machine learning via local
//! randomization and ADMM perturbation" (arXiv 1908.01059) on Adult, as numbers.
//!
//! ```text
//! cargo run --release --example pdml_figures -- data/adult.csv
//! ```
//!
//! Risks are sums over the ten peers of J_i at the peer's own model, with original labels, as the
//! paper plots them. `hushmesh data fetch adult --to data` gets the file, which has a header.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::error::Error;
use std::path::Path;

use hushmesh::experiment::{self, RunResult};
use hushmesh::measure::Metric;
use hushmesh::report::{Column, Table, figure};
use hushmesh::scenario::Checked;

const PEERS: f64 = 10.0;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "data/adult.csv".to_string());
    let file = Path::new(&file).canonicalize()?;

    let mut gaps = Table::new([
        Column::text("consensus gap"),
        Column::number("round 1"),
        Column::number("round 10"),
        Column::number("round 50"),
        Column::number("last"),
    ]);
    for (name, scenario) in [("3(a) labels alone", "fig3a"), ("3(b) all perturbations", "fig3b")] {
        let result = run(scenario, &file, &[])?;
        let gap = curve(&result, Metric::ConsensusGap)?;
        let last = *gap.last().ok_or("a row")?;
        gaps.row([name.into(), gap[0].into(), gap[9].into(), gap[49].into(), last.into()]);
    }
    println!("{}", gaps.to_markdown());

    let mut risks = Table::new([
        Column::text("figure"),
        Column::text("value"),
        Column::number("final risk, sum"),
        Column::number("reference"),
        Column::number("rounds to within 1 %"),
        Column::number("reference"),
    ]);
    let mut add = |name: &str, value: String, result: &RunResult, reference: [f64; 2]| {
        let risk: Vec<f64> =
            curve(result, Metric::EmpiricalRisk)?.iter().map(|risk| PEERS * risk).collect();
        let last = *risk.last().ok_or("a row")?;
        // The first round from which on the risk stays within 1 % of its limit.
        let settled = risk.iter().rposition(|risk| (risk - last).abs() > 0.01 * last);
        let settled = settled.map_or(1, |last_off| last_off + 2) as f64;
        let [risk, rounds] = reference;
        risks.row([
            name.into(),
            value.into(),
            last.into(),
            risk.into(),
            settled.into(),
            rounds.into(),
        ]);
        Ok::<(), Box<dyn Error>>(())
    };
    for (radius, reference) in [(1.0, 5.55), (5.0, 14.4), (9.0, 35.5)] {
        let set = format!("protocol.admm.objective_noise.sphere.radius={radius}");
        let result = run("fig4a", &file, &[set])?;
        add("4(a)", format!("R = {}", figure(radius)), &result, [reference, f64::NAN])?;
    }
    for (decay, reference) in [(0.7, 24.0), (0.8, 31.0), (0.9, 50.0)] {
        let set = format!("protocol.admm.primal_noise.decay={decay}");
        let result = run("fig4b", &file, &[set])?;
        add("4(b)", format!("ρ = {decay}"), &result, [5.55, reference])?;
    }
    for (epsilon, reference) in [(0.1, 5.53), (0.4, 5.20), (0.6, 5.19), (1.0, 5.18)] {
        let result = run("fig4c", &file, &[format!("privacy.labels.epsilon={epsilon}")])?;
        add("4(c)", format!("ε = {epsilon}"), &result, [reference, f64::NAN])?;
    }
    println!("{}", risks.to_markdown());
    Ok(())
}

fn run(scenario: &str, file: &Path, set: &[String]) -> Result<RunResult, Box<dyn Error>> {
    let mut set = set.to_vec();
    set.push(format!("data.source.csv.path={}", file.display()));
    set.push("measure.what=[consensus, risk]".to_string());
    let path = Path::new("scenarios/pdml").join(format!("{scenario}.yaml"));
    Ok(experiment::run(&Checked::load(&path, &set)?)?)
}

/// The mean of a metric over the repeats, row by row.
fn curve(result: &RunResult, metric: Metric) -> Result<Vec<f64>, Box<dyn Error>> {
    let column = result.metrics.iter().position(|&m| m == metric).ok_or("it is measured")?;
    let rows = result.repeats.iter().map(|repeat| repeat.rows.len()).min().unwrap_or(0);
    let mean = |row: usize| {
        let values = result.repeats.iter().map(|repeat| repeat.rows[row].values[column]);
        values.sum::<f64>() / result.repeats.len() as f64
    };
    Ok((0..rows).map(mean).collect())
}
