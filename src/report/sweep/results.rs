//! results.csv: a row per point and repeat, for programs.

use serde_json::Value;

use super::{SweepPoint, SweepReport};
use crate::experiment::StopReason;
use crate::measure::Metric;
use crate::report::Record;
use crate::report::comparison::Cost;
use crate::report::number::exact;

/// The columns between the axes and the figures.
const FIXED: [&str; 5] = ["point", "repeat", "status", "stop_reason", "rounds"];

impl SweepReport {
    /// Everything that came of the sweep, tidy: a row per point and repeat, a column per axis, then
    /// the repeat's number, how it ended, the protocol's own number and every metric at the end; with
    /// a target, also what it took to reach it, empty where it was not. A point that failed has one
    /// row, which says why, and so has one that has not been run yet.
    pub fn results_csv(&self) -> Vec<u8> {
        let metrics = self.metrics();
        let parameters = self.parameters();
        let own = |name: &str| FIXED.contains(&name) || parameters.iter().any(|p| p == name);
        let head = self.axes.iter().map(|axis| match axis.path.as_str() {
            // Paths are the reader's own; two columns of one name would be none.
            path if own(path) || Metric::from_name(path).is_some() => format!("{path} (axis)"),
            path => path.to_owned(),
        });
        let mut head: Vec<String> = head.collect();
        head.extend(FIXED.map(str::to_owned));
        head.extend(parameters.iter().cloned());
        head.extend(metrics.iter().map(|metric| metric.name().to_owned()));
        if self.target.is_some() {
            head.extend(Cost::ALL.map(|cost| format!("{}_to_target", cost.name())));
        }
        head.push("error".to_owned());
        let mut writer = csv::Writer::from_writer(Vec::new());
        let mut write = |line: &[String]| {
            writer.write_record(line).expect("memory takes lines of equal length");
        };
        write(&head);
        for point in &self.points {
            let mut start = self.axis_values(point);
            start.push(point.name.clone());
            match &point.outcome {
                Ok(record) => {
                    for repeat in 0..record.repeats.len() {
                        let mut line = start.clone();
                        line.extend(self.of_repeat(record, repeat, &parameters, &metrics));
                        line.push(String::new());
                        write(&line);
                    }
                }
                Err(missing) => {
                    let mut line = start;
                    line.extend([String::new(), missing.name().to_owned()]);
                    line.resize(head.len() - 1, String::new());
                    line.push(missing.reason().unwrap_or_default().to_owned());
                    write(&line);
                }
            }
        }
        writer.into_inner().expect("memory can be flushed")
    }

    /// A repeat from its number to the target.
    fn of_repeat(
        &self,
        record: &Record,
        repeat: usize,
        parameters: &[String],
        metrics: &[Metric],
    ) -> Vec<String> {
        let rows = &record.repeats[repeat];
        let reason = record.stop_reasons[repeat];
        let status = match reason {
            StopReason::Diverged => "diverged",
            StopReason::Interrupted => "incomplete",
            StopReason::Rounds | StopReason::Tolerance | StopReason::Budget => "complete",
        };
        let last = rows.last();
        let at_end = |value: &dyn Fn(&crate::measure::MeasuredRow) -> f64| {
            exact(last.map_or(f64::NAN, value))
        };
        let mut line = vec![
            repeat.to_string(),
            status.to_owned(),
            reason.name().to_owned(),
            at_end(&|row| f64::from(row.round.0)),
        ];
        line.extend(parameters.iter().map(|name| {
            let own = record.parameter.as_ref().filter(|(own, _)| own == name);
            own.map_or(String::new(), |(_, value)| exact(*value))
        }));
        line.extend(metrics.iter().map(|metric| at_end(&|row| record.value(row, *metric))));
        if let Some(target) = self.target {
            let reached = target.first(record, rows).filter(|_| !record.diverged(repeat));
            line.extend(
                Cost::ALL.map(|cost| exact(reached.map_or(f64::NAN, |row| cost.at(record, row)))),
            );
        }
        line
    }

    /// A point's value on each axis.
    pub(super) fn axis_values(&self, point: &SweepPoint) -> Vec<String> {
        let value = |path: &str| {
            let found = point.values.iter().find(|(other, _)| other == path);
            found.map_or(String::new(), |(_, value)| exactly(value))
        };
        self.axes.iter().map(|axis| value(&axis.path)).collect()
    }

    /// The metrics of any point, in their own order.
    fn metrics(&self) -> Vec<Metric> {
        let measured = |metric: &Metric| self.records().any(|r| r.metrics.contains(metric));
        Metric::ALL.into_iter().filter(measured).collect()
    }

    /// The names of the protocols' own numbers.
    fn parameters(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (name, _) in self.records().filter_map(|record| record.parameter.as_ref()) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }
}

/// A value as it stands in the scenario: text as it is, a section as JSON.
fn exactly(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}
