//! Runs beside each other: one table, with intervals, paired differences and what they rest on.
//!
//! A comparison is made from the files of finished runs and runs nothing. Its first row is what the
//! others are compared with. Every figure that chance has a part in has its 95 % interval over
//! repeats; its difference to the first row is taken repeat by repeat, since repeats of one number
//! share their seed, and has a star where Student's paired test finds it significant at a level of
//! 5 % for the whole column (Holm's correction). Where a repeat never reached the target, or
//! diverged, there is no mean, no difference and no star: the cell says what happened. A run that
//! failed or has not been run yet keeps its row, and if it is the first one, nothing is compared.

mod curves;
mod ledger;
mod outcome;
mod page;
mod pairing;
mod quantity;
mod target;
#[cfg(test)]
mod tests;
mod words;

use serde_json::{Value, json};

use self::ledger::{Losses, delta, losses, tells};
use self::pairing::Pairing;
use super::files::write_page;
use super::{Cell, Column, Missing, Record, Table, figure};
use crate::experiment::{DirectoryError, RunDirectory};
use crate::measure::Metric;
use crate::topology::{Diameter, Figures, Method, TopologyConfig, Value as GraphValue};

pub(super) use curves::{drawn, is_logarithmic, plot, sentence, switched};
pub use outcome::{Cost, Outcome};
pub use quantity::{Difference, Quantity, Ratio};
pub use target::{Target, TargetError};
pub(super) use words::wrapped;

/// With fewer repeats than this an interval says little.
pub(super) const FEW_REPEATS: usize = 5;

/// What is told of models at the end of a run, where it was measured.
pub(super) const AT_THE_END: [Metric; 10] = [
    Metric::TestAccuracy,
    Metric::TestMse,
    Metric::AverageTestAccuracy,
    Metric::AverageTestMse,
    Metric::ExcessRisk,
    Metric::OptimumDistance,
    Metric::OptimumDistanceClean,
    Metric::Epsilon,
    Metric::EpsilonLabels,
    Metric::EpsilonFinal,
];

/// One row of a comparison.
#[derive(Clone, Debug)]
struct Row {
    name: String,
    run: Result<Run, Missing>,
}

impl Row {
    fn record(&self) -> Option<&Record> {
        self.run.as_ref().ok().map(|run| &run.record)
    }
}

/// A run and its graph's figures.
#[derive(Clone, Debug)]
struct Run {
    record: Record,
    figures: Figures,
}

/// Runs beside each other.
#[derive(Clone, Debug)]
pub struct Comparison {
    rows: Vec<Row>,
    target: Option<Target>,
    quantities: Vec<Quantity>,
    losses: Vec<Losses>,
    paired: bool,
    notes: Vec<String>,
    warnings: Vec<String>,
}

impl Comparison {
    /// Compares runs by name, the first of them with all others: by what they spent until they
    /// reached the target or, without one, until they ended. The notes stand before those that the
    /// comparison makes itself.
    pub fn new(
        rows: Vec<(String, Result<Record, Missing>)>,
        target: Option<Target>,
        notes: Vec<String>,
    ) -> Self {
        let rows = with_figures(rows);
        let records: Vec<Option<&Record>> = rows.iter().map(Row::record).collect();
        let pairing = match rows.first() {
            Some(first) if first.run.is_ok() => {
                Pairing::of(&records.iter().copied().flatten().collect::<Vec<_>>(), &first.name)
            }
            _ => Pairing { paired: false, notes: Vec::new() },
        };
        let quantities = quantities(&records, &AT_THE_END, target, pairing.paired);
        let losses = losses(&records);
        let mut comparison = Self {
            paired: pairing.paired,
            rows,
            target,
            quantities,
            losses,
            notes,
            warnings: Vec::new(),
        };
        let own = comparison.own_notes(pairing.notes);
        comparison.notes.extend(own);
        comparison.warnings = comparison.own_warnings();
        comparison
    }

    /// What is compared, a column each.
    pub fn quantities(&self) -> &[Quantity] {
        &self.quantities
    }

    /// What the table's figures rest on.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What to know before trusting them.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The record of every row, where there is one.
    fn records(&self) -> Vec<Option<&Record>> {
        self.rows.iter().map(Row::record).collect()
    }

    /// The rows that have been run, by name.
    fn runs(&self) -> impl Iterator<Item = (&str, &Run)> {
        self.rows.iter().filter_map(|row| Some((row.name.as_str(), row.run.as_ref().ok()?)))
    }

    /// The rows that have not, or that failed.
    fn missing(&self) -> impl Iterator<Item = (&str, &Missing)> {
        self.rows.iter().filter_map(|row| Some((row.name.as_str(), row.run.as_ref().err()?)))
    }

    /// The columns of ε as the ledger has it: not what is the same for every row.
    fn ledger_columns(&self) -> impl Iterator<Item = &Losses> {
        self.losses.iter().filter(|losses| !losses.is_constant())
    }

    /// The columns of figures over repeats: not those of which the ledger says as much.
    fn shown(&self) -> impl Iterator<Item = &Quantity> {
        let records = self.records();
        self.quantities.iter().filter(move |quantity| !tells(&records, quantity))
    }

    /// The one table.
    pub fn table(&self) -> Table {
        let parameter = self.parameter();
        let missing = self.missing().next().is_some();
        let mut columns = vec![Column::text("name")];
        columns.extend(missing.then(|| Column::text("status")));
        columns.extend(["peers", "links", "λ₂", "spectral gap", "diameter"].map(Column::number));
        columns.extend(parameter.as_ref().map(|(column, _)| column.clone()));
        columns.extend(self.shown().flat_map(Quantity::columns));
        columns.extend(self.ledger_columns().map(Losses::column));
        let mut table = Table::new(columns);
        for (run, row) in self.rows.iter().enumerate() {
            let mut cells = vec![Cell::from(row.name.as_str())];
            cells.extend(missing.then(|| match &row.run {
                Ok(_) => Cell::from("done"),
                Err(missing) => Cell::Text(missing.told()),
            }));
            cells.extend(match &row.run {
                Ok(Run { figures: graph, .. }) => [
                    graph.peers.into(),
                    graph.links.into(),
                    of_graph(graph.algebraic_connectivity),
                    of_graph(graph.metropolis_gap),
                    diameter(graph.diameter),
                ],
                Err(_) => [const { Cell::Missing }; 5],
            });
            cells.extend(parameter.as_ref().map(|(_, cells)| cells[run].clone()));
            cells.extend(self.shown().flat_map(|quantity| quantity.cells(run)));
            cells.extend(self.ledger_columns().map(|losses| losses.cell(run)));
            table.row(cells);
        }
        table.caption(self.caption())
    }

    /// The protocol's one number: a column of numbers where all rows call it the same.
    fn parameter(&self) -> Option<(Column, Vec<Cell>)> {
        let found: Vec<Option<&(String, f64)>> =
            self.rows.iter().map(|row| row.record()?.parameter.as_ref()).collect();
        let (name, _) = found.iter().flatten().next()?;
        if found.iter().flatten().all(|(other, _)| other == name) {
            let cells = found.iter().map(|found| found.map(|(_, value)| *value).into()).collect();
            return Some((Column::number(name.replace('_', " ")), cells));
        }
        let told = |found: &Option<&(String, f64)>| match found {
            Some((name, value)) => {
                Cell::Text(format!("{} {}", name.replace('_', " "), figure(*value)))
            }
            None => Cell::Missing,
        };
        Some((Column::text("parameter"), found.iter().map(told).collect()))
    }

    /// As it stands in comparison.json.
    pub fn to_json(&self) -> Value {
        let graph = |value: Option<GraphValue>| json!(value);
        let rows = self.rows.iter().enumerate().map(|(run, row)| {
            let Run { record, figures: known } = match &row.run {
                Ok(run) => run,
                Err(missing) => {
                    return json!({
                        "name": row.name, "status": missing.name(), "error": missing.reason(),
                    });
                }
            };
            let figures = self
                .quantities
                .iter()
                .map(|quantity| (quantity.key.clone(), quantity.to_json(run)));
            let ledger = record.ledger.iter().map(|booked| {
                json!({
                    "observer": booked.observer, "piece": booked.piece,
                    "epsilon": booked.epsilon.is_finite().then_some(booked.epsilon),
                    "pure": booked.pure,
                    "delta": delta(record, booked.pure),
                })
            });
            let parameters = record.parameter.iter();
            let parameters = parameters.map(|(name, value)| (name.clone(), json!(value)));
            json!({
                "name": row.name,
                "status": "done",
                "scenario": record.scenario.name,
                "seed": record.scenario.seed,
                "fingerprint": record.summary.get("fingerprint"),
                "repeats": record.complete().count(),
                "stop_reasons": record.stop_reasons,
                "peers": known.peers,
                "links": known.links,
                "algebraic_connectivity": graph(known.algebraic_connectivity),
                "metropolis_gap": graph(known.metropolis_gap),
                "diameter": known.diameter,
                "parameters": parameters.collect::<serde_json::Map<_, _>>(),
                "figures": figures.collect::<serde_json::Map<_, _>>(),
                "ledger": ledger.collect::<Vec<_>>(),
            })
        });
        json!({
            "hushmesh": env!("CARGO_PKG_VERSION"),
            "target": self.target.map(|target| json!({
                "metric": target.metric.name(), "value": target.value,
            })),
            "paired": self.paired,
            "rows": rows.collect::<Vec<_>>(),
            "summary": self.sentences(),
            "notes": self.notes,
            "warnings": self.warnings,
        })
    }

    /// Writes comparison.csv, .md, .tex and .json, report.json and report.html.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn write_files(&self, directory: &RunDirectory, plots: bool) -> Result<(), DirectoryError> {
        let table = self.table();
        directory.write("comparison.csv", table.to_csv().as_bytes())?;
        directory.write("comparison.md", self.markdown(&table).as_bytes())?;
        directory.write("comparison.tex", self.latex(&table).as_bytes())?;
        directory.write("comparison.json", format!("{:#}\n", self.to_json()).as_bytes())?;
        write_page(&self.page(), directory, plots)
    }
}

/// Every run with the figures of its graph, which are found once for each.
fn with_figures(runs: Vec<(String, Result<Record, Missing>)>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::with_capacity(runs.len());
    for (name, outcome) in runs {
        let record = match outcome {
            Ok(record) => record,
            Err(missing) => {
                rows.push(Row { name, run: Err(missing) });
                continue;
            }
        };
        let same = |run: &&Run| {
            let (a, b) = (&run.record.scenario, &record.scenario);
            a.topology == b.topology && a.seed == b.seed
        };
        // Paths start from the run's own directory, so that equal ones need not mean the same file.
        let file = matches!(record.scenario.topology, TopologyConfig::File(_));
        let mut runs = rows.iter().flat_map(|row| &row.run);
        let known = runs.find(same).filter(|_| !file).map(|run| run.figures.clone());
        let figures = known.unwrap_or_else(|| Figures::of(&record.topology));
        rows.push(Row { name, run: Ok(Run { record, figures }) });
    }
    rows
}

/// The columns of figures that come from repeats, without those that nobody measured; nothing of runs
/// that failed.
pub(super) fn quantities(
    records: &[Option<&Record>],
    at_the_end: &[Metric],
    target: Option<Target>,
    paired: bool,
) -> Vec<Quantity> {
    let when = if target.is_some() { "to target" } else { "at the end" };
    let over = |outcome: &dyn Fn(&Record) -> Outcome| {
        records.iter().map(|record| record.map_or(Outcome::Missing, outcome)).collect::<Vec<_>>()
    };
    let costs = Cost::ALL.into_iter().map(|cost| {
        let outcomes = over(&|record| match target {
            Some(target) => Outcome::to_target(record, target, cost),
            None => Outcome::at_end(record, |row| cost.at(record, row)),
        });
        let key = match target {
            Some(_) => format!("{}_to_target", cost.name()),
            None => cost.name().to_owned(),
        };
        let quantity = Quantity::new(&key, format!("{} {when}", cost.label()), outcomes, paired);
        if cost == Cost::Bytes { quantity.in_bytes() } else { quantity }
    });
    let wanted = target.map(|target| target.metric).filter(|metric| !at_the_end.contains(metric));
    let finals = wanted.into_iter().chain(at_the_end.iter().copied()).map(|metric| {
        let outcomes = over(&|record| match record.column(metric) {
            Some(_) => Outcome::at_end(record, |row| record.value(row, metric)),
            None => Outcome::Missing,
        });
        Quantity::new(metric.name(), head(metric), outcomes, paired)
    });
    costs.chain(finals).filter(|quantity| !quantity.is_empty()).collect()
}

/// The head of a metric's column at the end of a run, as short as it can be.
fn head(metric: Metric) -> String {
    let short = match metric {
        Metric::ConsensusGap => "final consensus gap",
        Metric::TestAccuracy => "final accuracy",
        Metric::TestMse => "final MSE",
        Metric::AverageTestAccuracy => "final accuracy of averages",
        Metric::AverageTestMse => "final MSE of averages",
        Metric::ExcessRisk => "final excess risk",
        Metric::OptimumDistance => "final distance to optimum",
        Metric::OptimumDistanceClean => "final distance to unperturbed optimum",
        Metric::Epsilon => "final ε of a record",
        Metric::EpsilonLabels => "final ε of a label",
        Metric::EpsilonFinal => "final ε of a record to readers",
        other => return format!("final {}", other.label()),
    };
    short.to_owned()
}

/// A graph's figure as a cell.
fn of_graph(value: Option<GraphValue>) -> Cell {
    match value {
        Some(GraphValue { method: Method::NotConverged { .. }, .. }) => "not settled".into(),
        Some(GraphValue { value, .. }) => value.into(),
        None => Cell::Missing,
    }
}

fn diameter(diameter: Option<Diameter>) -> Cell {
    match diameter {
        Some(Diameter { at_least, at_most }) if at_least == at_most => {
            Cell::Number(f64::from(at_least))
        }
        Some(Diameter { at_least, at_most }) => Cell::Text(format!("{at_least} to {at_most}")),
        None => Cell::Missing,
    }
}
