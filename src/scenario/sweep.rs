//! Sweeps: one scenario file, many scenarios.
//!
//! ```
//! use hushmesh::scenario::Sweep;
//!
//! let scenario = "
//! name: two by two
//! seed: 1
//! topology: {ring: {peers: 5}}
//! data: {source: twonorm, samples: {per-peer: 40}}
//! model: {loss: logistic, regularisation: 1}
//! protocol: {admm: {rounds: 60}}
//! sweep:
//!   grid:
//!     protocol.admm.penalty: {log: {from: 0.1, to: 1, points: 2}}
//!     model.regularisation: {list: [1, 10]}
//! ";
//! let sweep = Sweep::from_text("two.yaml", scenario)?;
//! let names: Vec<&str> = sweep.points().iter().map(|point| point.name.as_str()).collect();
//! assert_eq!(names[1], "penalty=0.1,regularisation=10");
//! # Ok::<(), hushmesh::scenario::Problems>(())
//! ```

mod names;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;
use serde_yaml::Value;

use self::names::{different, labels};
pub use self::names::{fit_for_file, in_short, own_name};
use super::check::{Checked, Graph};
use super::document::{Document, Origin};
use super::overrides::{By, split};
use super::problem::{Problem, Problems};
use super::tree;

/// A sweep has at most so many points.
const MOST_POINTS: usize = 10_000;
/// Ranges are rounded to so many significant digits, so that a name says exactly what was run.
const DIGITS: usize = 6;

/// Other values for some fields: a run for each combination. A field is named by its path, such as
/// `protocol.admm.penalty`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepConfig {
    /// Fields whose values are combined in all ways; that of the last field changes first.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub grid: IndexMap<String, Values>,
    /// Fields that change together: the first values of all, the second values of all, … They have
    /// equally many, and are combined with the grid as one field would be.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub zip: IndexMap<String, Values>,
}

/// The values of a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Values {
    /// These, whatever they are: numbers, words, whole sections.
    List(#[serde(deserialize_with = "finite")] Vec<Json>),
    /// Numbers at equal distances.
    Linear(Range),
    /// Numbers at equal ratios.
    Log(Range),
}

/// Numbers from one to another, both included, rounded to six significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The first.
    pub from: f64,
    /// The last.
    pub to: f64,
    /// How many there are, at least 2.
    pub points: u32,
}

impl Values {
    /// The values, in order.
    pub fn all(&self) -> Vec<Json> {
        let between = |range: &Range, at: &dyn Fn(f64) -> f64| {
            let last = range.points.saturating_sub(1);
            let value = |k: u32| match k {
                0 => range.from,
                k if k == last => range.to,
                k => match at(f64::from(k) / f64::from(last)) {
                    whole if whole.fract() == 0.0 => whole,
                    value => rounded(value),
                },
            };
            (0..range.points).map(|k| number(value(k))).collect()
        };
        match self {
            Self::List(values) => values.clone(),
            Self::Linear(range) => {
                between(range, &|share| range.from + share * (range.to - range.from))
            }
            Self::Log(range) => {
                between(range, &|share| range.from * (range.to / range.from).powf(share))
            }
        }
    }

    fn check(&self) -> Option<(&'static str, String)> {
        let range = |key, range: &Range, log: bool| {
            let Range { from, to, points } = *range;
            let message = if points < 2 {
                format!("found {points} points, expected at least 2")
            } else if points as usize > MOST_POINTS {
                format!("found {points} points, expected at most {MOST_POINTS}")
            } else if !(from.is_finite() && to.is_finite()) || from == to {
                format!("from {from} to {to}: expected two different finite numbers")
            } else if log && !(from > 0.0 && to > 0.0) {
                format!("from {from} to {to}: expected numbers above 0, to go by ratios")
            } else if self.all().windows(2).any(|pair| pair[0] == pair[1]) {
                format!(
                    "{points} numbers from {from} to {to} are not different in {DIGITS} digits: \
                     expected fewer, or a list"
                )
            } else {
                return None;
            };
            Some((key, message))
        };
        match self {
            Self::List(values) if values.is_empty() => {
                Some(("list", "an empty list, expected a value".to_string()))
            }
            Self::List(_) => None,
            Self::Linear(linear) => range("linear", linear, false),
            Self::Log(log) => range("log", log, true),
        }
    }

    /// Where a value stands, below the field's key.
    fn place(&self, number: usize) -> Vec<String> {
        match self {
            Self::List(_) => vec!["list".to_string(), number.to_string()],
            Self::Linear(_) => vec!["linear".to_string()],
            Self::Log(_) => vec!["log".to_string()],
        }
    }
}

/// Values without infinities, which the tree of a list could not hold: they would end as nothing.
fn finite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Json>, D::Error> {
    let values = Vec::<Value>::deserialize(deserializer)?;
    values.iter().map(|value| json(value).map_err(D::Error::custom)).collect()
}

/// A value of a list as it is kept.
fn json(value: &Value) -> Result<Json, String> {
    fn is_finite(value: &Value) -> bool {
        match value {
            Value::Number(number) => number.as_f64().is_none_or(f64::is_finite),
            Value::Sequence(items) => items.iter().all(is_finite),
            Value::Mapping(section) => section.values().all(is_finite),
            _ => true,
        }
    }
    if !is_finite(value) {
        return Err("expected finite numbers".to_string());
    }
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// A number with few digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}

/// A number as one would write it: 10, not 10.0.
fn number(value: f64) -> Json {
    const WHOLE: f64 = 9e15;
    if value.fract() == 0.0 && value.abs() < WHOLE { (value as i64).into() } else { value.into() }
}

/// A field that a sweep changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepAxis {
    /// Its path.
    pub path: String,
    /// The end of the path that tells it from the other fields.
    pub label: String,
    /// Its values.
    pub values: Vec<Json>,
    /// Whether it changes together with the one before it, and not by itself.
    pub zipped: bool,
}

/// One combination of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its name, fit for a directory: `penalty=0.1,peers=10`.
    pub name: String,
    /// The number of the value that each axis has here.
    at: Vec<usize>,
}

/// A scenario file with the combinations of values that it, or the command line, asks for.
#[derive(Clone, Debug)]
pub struct Sweep {
    document: Document,
    base: PathBuf,
    axes: Vec<SweepAxis>,
    /// What put the values of each axis there.
    sources: Vec<Origins>,
    points: Vec<Point>,
    graph: Graph,
}

/// Where the values of an axis come from.
#[derive(Clone, Debug)]
enum Origins {
    Argument(String),
    File { section: &'static str, values: Values },
}

/// The part of a scenario that says whether there is a sweep, whatever the rest says.
#[derive(Deserialize)]
struct Swept {
    #[serde(default)]
    sweep: Option<SweepConfig>,
}

impl Sweep {
    /// Reads a scenario file, applies `--set` and `--sweep` arguments, and checks every point. A file
    /// that asks for no sweep has one point.
    ///
    /// # Errors
    /// Every problem found, each once.
    pub fn load(path: &Path, overrides: &[String], sweeps: &[String]) -> Result<Self, Problems> {
        Self::load_with(path, overrides, sweeps, Graph::Whole)
    }

    /// The same for one of several processes: where nothing is swept, with as much of the graph as that
    /// needs.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn load_with(
        path: &Path,
        overrides: &[String],
        sweeps: &[String],
        graph: Graph,
    ) -> Result<Self, Problems> {
        let mut document = Document::read(path)?;
        for argument in overrides {
            document.set(argument)?;
        }
        Self::of(document, path.parent().unwrap_or(Path::new("")), sweeps, graph)
    }

    /// The sweep of a scenario given as text; `name` stands for the file in messages.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn from_text(name: &str, text: &str) -> Result<Self, Problems> {
        Self::of(Document::from_text(name, text)?, Path::new(""), &[], Graph::Whole)
    }

    fn of(
        document: Document,
        base: &Path,
        sweeps: &[String],
        graph: Graph,
    ) -> Result<Self, Problems> {
        let parsed = document.parse::<Swept>()?;
        let config = parsed.value.sweep.unwrap_or_default();
        check(&config, &parsed.origin)?;
        let mut axes: Vec<(SweepAxis, Origins)> = Vec::new();
        for (section, fields, zipped) in [("grid", &config.grid, false), ("zip", &config.zip, true)]
        {
            for (path, values) in fields {
                let (label, all) = (String::new(), values.all());
                let axis = SweepAxis { path: path.clone(), label, values: all, zipped };
                axes.push((axis, Origins::File { section, values: values.clone() }));
            }
        }
        for argument in sweeps {
            let (path, values) = from_argument(argument)?;
            let typed = format!("--sweep {argument}");
            let twice = |(axis, origins): &(SweepAxis, Origins)| {
                axis.path == path && matches!(origins, Origins::Argument(_))
            };
            if axes.iter().any(twice) {
                let message = "swept twice: expected all its values in one argument";
                return Err(Problem::new(path, message).in_argument(&typed).into());
            }
            // What the command line says replaces what the file says of the same field.
            axes.retain(|(axis, _)| axis.path != path);
            let axis = SweepAxis { path, label: String::new(), values, zipped: false };
            axes.push((axis, Origins::Argument(typed)));
        }
        check_together(&axes, &parsed.origin)?;
        // The first of the zipped ones is an axis as others are, which the rest of them follow.
        let mut zipped = axes.iter_mut().map(|(axis, _)| axis).filter(|axis| axis.zipped);
        if let Some(first) = zipped.next() {
            first.zipped = false;
        }
        let (mut axes, sources): (Vec<SweepAxis>, Vec<Origins>) = axes.into_iter().unzip();
        let paths: Vec<String> = axes.iter().map(|axis| axis.path.clone()).collect();
        for (axis, label) in axes.iter_mut().zip(labels(&paths)) {
            axis.label = label;
        }
        let points = points(&axes)?;
        // Each run of several is one process's own.
        let graph = if axes.is_empty() { graph } else { Graph::Whole };
        let sweep = Self { document, base: base.to_path_buf(), axes, sources, points, graph };
        sweep.check_all()?;
        Ok(sweep)
    }

    /// Whether anything is swept at all.
    pub fn is_single(&self) -> bool {
        self.axes.is_empty()
    }

    /// The fields that change.
    pub fn axes(&self) -> &[SweepAxis] {
        &self.axes
    }

    /// The points, in order.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The values of a point, by the paths of their fields.
    pub fn values(&self, point: &Point) -> Vec<(String, Json)> {
        let axes = self.axes.iter().zip(&point.at);
        axes.map(|(axis, &at)| (axis.path.clone(), axis.values[at].clone())).collect()
    }

    /// The scenario of a point.
    ///
    /// # Errors
    /// None but those of files that have changed since all points were checked.
    pub fn checked(&self, point: &Point) -> Result<Checked, Problems> {
        let axes = self.axes.iter().zip(&self.sources).zip(&point.at);
        let values = axes.map(|((axis, source), &at)| {
            let value = &axis.values[at];
            let by = match source {
                Origins::Argument(argument) => By::Argument(argument.clone()),
                Origins::File { section, values } => {
                    let way = ["sweep", section, axis.path.as_str()].map(str::to_string);
                    let place = way.into_iter().chain(values.place(at)).collect();
                    By::Sweep { place, value: value.to_string() }
                }
            };
            (axis.path.as_str(), yaml(value), by)
        });
        Checked::of(&self.document.point(values.collect())?, &self.base, self.graph)
    }

    fn check_all(&self) -> Result<(), Problems> {
        let mut problems: Vec<Problem> = Vec::new();
        for point in &self.points {
            for problem in self.checked(point).err().into_iter().flat_map(|found| found.0) {
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
    }
}

/// What is wrong with the section itself.
fn check(config: &SweepConfig, origin: &Origin) -> Result<(), Problems> {
    let mut problems = Vec::new();
    for (section, fields) in [("grid", &config.grid), ("zip", &config.zip)] {
        for (path, values) in fields {
            if let Some((key, message)) = values.check() {
                problems.push(origin.problem_under(&["sweep", section, path, key], message));
            } else if path == "sweep" || path.starts_with("sweep.") {
                let message = "a sweep cannot be swept: expected another field".to_string();
                problems.push(origin.problem_under(&["sweep", section, path], message));
            } else if section == "zip" && config.grid.contains_key(path) {
                let message = "stands in the grid already: expected it once".to_string();
                problems.push(origin.problem_under(&["sweep", section, path], message));
            }
        }
    }
    let mut lengths = config.zip.iter().map(|(path, values)| (path, values.all().len()));
    if problems.is_empty()
        && let Some((_, first)) = lengths.next()
    {
        problems.extend(lengths.filter(|(_, length)| *length != first).map(|(path, length)| {
            let message =
                format!("found {length} values, expected {first}: zipped fields change together");
            origin.problem_under(&["sweep", "zip", path], message)
        }));
    }
    if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
}

/// What is wrong with fields together: one that lies in another has no value of its own, and one that
/// is set would not have that value.
fn check_together(axes: &[(SweepAxis, Origins)], origin: &Origin) -> Result<(), Problems> {
    let lies_in = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    for (at, (axis, origins)) in axes.iter().enumerate() {
        let refuse = |message: String| {
            let problem = Problem::new(axis.path.as_str(), message.clone());
            Problems::from(match origins {
                Origins::Argument(argument) => problem.in_argument(argument),
                Origins::File { section, .. } => {
                    origin.problem_under(&["sweep", section, &axis.path], message)
                }
            })
        };
        let others = axes.iter().enumerate().filter(|(other, _)| *other != at);
        let outer = others.map(|(_, (other, _))| other).find(|o| lies_in(&axis.path, &o.path));
        if let Some(outer) = outer {
            let message =
                format!("lies in `{}`, which is swept too: expected one of them", outer.path);
            return Err(refuse(message));
        }
        if let Some(argument) = origin.set_below(&axis.path) {
            return Err(refuse(format!("is swept, and so cannot be {argument}")));
        }
    }
    Ok(())
}

/// The path and the values of `--sweep path=a,b,c`, or `--sweep path={log: {…}}`.
fn from_argument(argument: &str) -> Result<(String, Vec<Json>), Problems> {
    let typed = format!("--sweep {argument}");
    let refuse = |path: &str, message: String| {
        Problems::from(Problem::new(path, message).in_argument(&typed))
    };
    let (path, text) = split(argument).map_err(|message| refuse("", message))?;
    if path == "sweep" || path.starts_with("sweep.") {
        return Err(refuse(path, "a sweep cannot be swept: expected another field".to_string()));
    }
    let listed = tree::load(&format!("[{text}\n]"));
    let listed = listed.map_err(|unreadable| refuse(path, unreadable.message))?;
    let Value::Sequence(listed) = listed else {
        return Err(refuse(path, "expected values, parted by commas".to_string()));
    };
    let as_range = match listed.as_slice() {
        [Value::Mapping(section)] if section.len() == 1 => section
            .keys()
            .next()
            .and_then(Value::as_str)
            .filter(|key| ["list", "linear", "log"].contains(key)),
        _ => None,
    };
    let json: Result<Vec<Json>, String> = listed.iter().map(json).collect();
    let mut json = json.map_err(|message| refuse(path, message))?;
    let values = match as_range {
        Some(_) => serde_json::from_value(json.swap_remove(0))
            .map_err(|error| refuse(path, error.to_string()))?,
        None => Values::List(json),
    };
    match values.check() {
        Some((_, message)) => Err(refuse(path, message)),
        None => Ok((path.to_string(), values.all())),
    }
}

/// A value of a sweep, as it would stand in the file.
fn yaml(value: &Json) -> Value {
    serde_yaml::to_value(value).unwrap_or(Value::Null)
}

/// Every combination, with a name of its own.
fn points(axes: &[SweepAxis]) -> Result<Vec<Point>, Problems> {
    // Zipped ones count with the one that they follow.
    let lengths: Vec<usize> =
        axes.iter().filter(|axis| !axis.zipped).map(|axis| axis.values.len()).collect();
    let count = lengths.iter().try_fold(1_usize, |all, &one| all.checked_mul(one));
    let Some(count) = count.filter(|&count| count <= MOST_POINTS) else {
        let message = format!("a sweep over more than {MOST_POINTS} points");
        return Err(Problem::new("sweep", message).into());
    };
    let mut taken = BTreeMap::new();
    let mut points = Vec::with_capacity(count);
    let names: Vec<Vec<String>> = axes.iter().map(|axis| different(&axis.values)).collect();
    for number in 0..count {
        let mut left = number;
        let mut digits: Vec<usize> = lengths
            .iter()
            .rev()
            .map(|&length| {
                let digit = left % length;
                left /= length;
                digit
            })
            .collect();
        digits.reverse();
        let mut own = digits.iter().copied();
        let mut digit = 0;
        let at: Vec<usize> = axes
            .iter()
            .map(|axis| {
                if !axis.zipped {
                    digit = own.next().unwrap_or(0);
                }
                digit
            })
            .collect();
        let parts = axes.iter().zip(&names).zip(&at);
        let parts = parts.map(|((axis, names), &k)| format!("{}={}", axis.label, names[k]));
        let name = fit_for_file(&parts.collect::<Vec<_>>().join(","));
        points.push(Point { name: own_name(&name, &mut taken), at });
    }
    Ok(points)
}
