//! A sweep: one scenario at many points, as a tidy table, as plots along its axes and as a page.
//!
//! Like a comparison, it is made from the files of finished runs and runs nothing. A point that
//! failed, or has not been run yet, stays in every table and every plot as such.

mod axes;
mod page;
mod plots;
mod results;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use super::comparison::{AT_THE_END, FEW_REPEATS, Outcome, Quantity, Target, quantities, wrapped};
use super::files::write_page;
use super::{Cell, Column, Missing, Record, Table};
use crate::experiment::{DirectoryError, RunDirectory};
use crate::measure::Metric;
use crate::scenario::{SweepAxis, in_short};

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct SweepPoint {
    /// Every axis' value here, by the field's path.
    pub values: Vec<(String, Value)>,
    /// What the run is called.
    pub name: String,
    /// Its files, or why there are none.
    pub outcome: Result<Record, Missing>,
}

/// What came of a sweep.
#[derive(Clone, Debug)]
pub struct SweepReport {
    name: String,
    axes: Vec<SweepAxis>,
    points: Vec<SweepPoint>,
    target: Option<Target>,
    quantities: Vec<Quantity>,
}

impl SweepReport {
    /// The report of these points. With a target, what it took to reach it; without, to end.
    pub fn new(
        name: &str,
        axes: Vec<SweepAxis>,
        points: Vec<SweepPoint>,
        target: Option<Target>,
    ) -> Self {
        let records: Vec<Option<&Record>> =
            points.iter().map(|point| point.outcome.as_ref().ok()).collect();
        let mut shown = AT_THE_END.to_vec();
        shown.insert(0, Metric::ConsensusGap);
        let quantities = quantities(&records, &shown, target, false);
        Self { name: name.to_owned(), axes, points, target, quantities }
    }

    /// The runs that are done.
    fn records(&self) -> impl Iterator<Item = &Record> {
        self.points.iter().filter_map(|point| point.outcome.as_ref().ok())
    }

    /// The points that failed, by name, each with its reason.
    fn failed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.points.iter().filter_map(|point| {
            let reason = point.outcome.as_ref().err()?.reason()?;
            Some((point.name.as_str(), reason))
        })
    }

    /// How many points have not been run yet.
    fn not_run(&self) -> usize {
        let waits = |point: &&SweepPoint| matches!(point.outcome, Err(Missing::NotRun));
        self.points.iter().filter(waits).count()
    }

    /// The points and their main figures.
    pub fn table(&self) -> Table {
        let missing = self.points.iter().any(|point| point.outcome.is_err());
        let mut columns = vec![Column::text("point")];
        columns.extend(self.axes.iter().map(|axis| {
            let numbers = axis.values.iter().all(Value::is_number);
            if numbers {
                Column::number(axis.label.as_str())
            } else {
                Column::text(axis.label.as_str())
            }
        }));
        columns.extend(missing.then(|| Column::text("status")));
        columns.extend(self.quantities.iter().flat_map(Quantity::columns));
        let mut table = Table::new(columns);
        for (at, point) in self.points.iter().enumerate() {
            let mut cells = vec![Cell::from(point.name.as_str())];
            cells.extend(self.axes.iter().map(|axis| {
                let found = point.values.iter().find(|(path, _)| *path == axis.path);
                match found.map(|(_, value)| (value.as_f64(), value)) {
                    Some((Some(number), _)) => Cell::Number(number),
                    Some((None, value)) => Cell::Text(in_short(value)),
                    None => Cell::Missing,
                }
            }));
            cells.extend(missing.then(|| match &point.outcome {
                Ok(_) => Cell::from("done"),
                Err(missing) => Cell::Text(missing.told()),
            }));
            cells.extend(self.quantities.iter().flat_map(|quantity| quantity.cells(at)));
            table.row(cells);
        }
        table.caption(self.caption())
    }

    /// What the table shows, in a sentence.
    fn caption(&self) -> String {
        let what = match self.target {
            Some(target) => format!("what it took to reach {target}, and where each run ended"),
            None => "what each run took and where it ended".to_owned(),
        };
        let most = self.records().map(|record| record.complete().count()).max().unwrap_or(0);
        let repeats = if most > 1 { "; means over repeats with 95 % intervals" } else { "" };
        format!("Every point of the sweep: {what}{repeats}.")
    }

    /// What to know before trusting the figures.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = Vec::new();
        if self.points.is_empty() {
            warnings.push("the sweep has no points".to_owned());
        }
        for (name, reason) in self.failed() {
            warnings.push(format!("{name} failed: {reason}"));
        }
        let waiting = self.not_run();
        if waiting > 0 {
            warnings.push(format!("{waiting} of {} points: not run yet", self.points.len()));
        }
        for point in &self.points {
            let Ok(record) = &point.outcome else { continue };
            let (asked, complete) = (record.scenario.repeat as usize, record.complete().count());
            if complete < asked {
                let name = &point.name;
                warnings.push(format!("{name}: {complete} of {asked} repeats are complete"));
            }
            let diverged = record.complete().filter(|(r, _)| record.diverged(*r)).count();
            if diverged > 0 {
                let name = &point.name;
                warnings.push(format!("{name}: {diverged} of {complete} repeats diverged"));
            }
        }
        if let Some(target) = self.target {
            let without = self.records().filter(|r| r.column(target.metric).is_none()).count();
            if without > 0 {
                let name = target.metric.name();
                warnings.push(format!("points that do not measure {name}: {without}"));
            }
        }
        match self.records().map(|record| record.complete().count()).min() {
            Some(1) => warnings.push("one repeat: the figures have no intervals".to_owned()),
            Some(few) if few < FEW_REPEATS => {
                warnings.push(format!("only {few} repeats: the intervals are wide and uncertain"));
            }
            _ => {}
        }
        warnings
    }

    /// As it stands in summary.json.
    pub fn to_json(&self) -> Value {
        let axes = self.axes.iter().map(|axis| {
            json!({
                "path": axis.path, "label": axis.label, "values": axis.values, "zipped": axis.zipped,
            })
        });
        let points = self.points.iter().enumerate().map(|(at, point)| {
            let values: Map<String, Value> = point.values.iter().cloned().collect();
            let mut json = json!({ "name": point.name, "values": values });
            match &point.outcome {
                Ok(record) => {
                    let figures = self.quantities.iter();
                    let figures =
                        figures.map(|quantity| (quantity.key.clone(), quantity.to_json(at)));
                    json["status"] = json!("done");
                    json["fingerprint"] = json!(record.summary.get("fingerprint"));
                    json["repeats"] = json!(record.complete().count());
                    json["stop_reasons"] = json!(record.stop_reasons);
                    if let Some((name, value)) = &record.parameter {
                        json["parameters"] = json!({ name.as_str(): value });
                    }
                    json["figures"] = Value::Object(figures.collect());
                }
                Err(missing) => {
                    json["status"] = json!(missing.name());
                    if let Some(reason) = missing.reason() {
                        json["error"] = json!(reason);
                    }
                }
            }
            json
        });
        json!({
            "hushmesh": env!("CARGO_PKG_VERSION"),
            "name": self.name,
            "target": self.target.map(|target| json!({
                "metric": target.metric.name(), "value": target.value,
            })),
            "axes": axes.collect::<Vec<_>>(),
            "points": points.collect::<Vec<_>>(),
            "warnings": self.warnings(),
        })
    }

    /// The sweep for a terminal of this width.
    pub fn terminal(&self, width: usize) -> String {
        let mut text = wrapped(&format!("{}: {}", self.name, self.caption()), width);
        text += &format!("\n{}", self.table().to_text_within(width));
        let short = |outcome: &Outcome| matches!(outcome, Outcome::Short { .. });
        let quantities = self.quantities.iter();
        if quantities.flat_map(|quantity| &quantity.outcomes).any(short) {
            let line = "note: > x (k of r): only k of r repeats reached the target, and the others had \
                        spent at least x when they ended";
            text += &format!("\n{}", wrapped(line, width));
        }
        if let Some(line) = self.shared_noise() {
            text += &format!("\n{}", wrapped(&format!("note: {line}"), width));
        }
        let warnings = self.warnings();
        if !warnings.is_empty() {
            text.push('\n');
        }
        for warning in warnings {
            text += &wrapped(&format!("warning: {warning}"), width);
        }
        text
    }

    /// What protects no two points together, where anything protects one.
    fn shared_noise(&self) -> Option<&'static str> {
        self.records().any(|record| record.scenario.draws_noise()).then_some(
            "every ε is that of one point alone; points of one seed draw the same noise, and two \
             together may cancel it",
        )
    }

    /// Writes results.csv, summary.json, report.json and report.html.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn write_files(&self, directory: &RunDirectory, plots: bool) -> Result<(), DirectoryError> {
        directory.write("results.csv", &self.results_csv())?;
        directory.write("summary.json", format!("{:#}\n", self.to_json()).as_bytes())?;
        write_page(&self.page(), directory, plots)
    }
}
