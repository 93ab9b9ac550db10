//! Figures of a sweep along its axes.

use serde_json::Value;

use super::axes::{Dimension, is_logarithmic};
use super::{SweepPoint, SweepReport};
use crate::measure::{Estimate, Metric};
use crate::report::Record;
use crate::report::comparison::{self, Cost, Outcome, Quantity, drawn, sentence};
use crate::report::html::Block;
use crate::report::svg::heat_map::HeatMap;
use crate::report::svg::plot::{Axis, LinePlot, Series};

/// At most so many small plots stand beside each other.
const MOST_PANELS: usize = 12;
/// At most so many curves stand in one plot of convergence.
const MOST_CURVES: usize = 8;
/// At most so many points without a mean are named under a plot.
const MOST_NAMED: usize = 4;
/// At most so many figures are drawn as small plots.
const MOST_FIGURES: usize = 6;
/// At most so many metrics are drawn as they converge.
const MOST_METRICS: usize = 3;

/// Values that the points of a plot share.
type Fixed<'a> = Vec<(&'a Dimension, &'a [Value])>;

fn lies_in(point: &SweepPoint, fixed: &Fixed<'_>) -> bool {
    fixed.iter().all(|(dimension, value)| dimension.is_at(point, value))
}

/// What the points of a plot share, in words.
fn title(fixed: &Fixed<'_>) -> String {
    let parts: Vec<String> = fixed.iter().map(|(dimension, value)| dimension.at(value)).collect();
    parts.join(", ")
}

/// Every choice of one value per dimension, the last one fastest.
fn choices<'a>(dimensions: &[&'a Dimension]) -> Vec<Fixed<'a>> {
    dimensions.iter().fold(vec![Vec::new()], |all, dimension| {
        let longer = |fixed: &Fixed<'a>, value: &'a [Value]| {
            fixed.iter().copied().chain([(*dimension, value)]).collect()
        };
        let each = all
            .iter()
            .flat_map(|fixed| dimension.values.iter().map(move |value| longer(fixed, value)));
        each.collect()
    })
}

/// The first panels, and a sentence where there are more.
fn limited<T>(mut panels: Vec<T>) -> (Vec<T>, String) {
    let all = panels.len();
    panels.truncate(MOST_PANELS);
    let told = if all > MOST_PANELS {
        format!(" The first {MOST_PANELS} of {all} plots; results.csv has all.")
    } else {
        String::new()
    };
    (panels, told)
}

/// So many of these, the first and the last among them, evenly chosen.
fn evenly<T: Clone>(all: &[T], most: usize) -> Vec<T> {
    if all.len() <= most {
        return all.to_vec();
    }
    (0..most).map(|i| all[i * (all.len() - 1) / (most - 1)].clone()).collect()
}

fn mean(outcome: &Outcome) -> Option<f64> {
    outcome.estimate().mean.filter(|mean| mean.is_finite())
}

/// Whether one figure is a fixed multiple of another at every point.
fn are_proportional(a: &Quantity, b: &Quantity) -> bool {
    let mut ratios = Vec::new();
    for (a, b) in a.outcomes.iter().zip(&b.outcomes) {
        match (mean(a), mean(b)) {
            (Some(a), Some(b)) => ratios.push(a / b),
            (None, None) => {}
            _ => return false,
        }
    }
    let first = ratios.first().copied().unwrap_or(f64::NAN);
    ratios.iter().all(|ratio| (ratio - first).abs() <= 1e-9 * first.abs())
}

impl SweepReport {
    /// The figures that differ from point to point, and a sentence on those that would look like
    /// another one.
    fn varying(&self) -> (Vec<&Quantity>, Option<String>) {
        let varies = |quantity: &&Quantity| {
            let means: Vec<f64> = quantity.outcomes.iter().filter_map(mean).collect();
            means.windows(2).any(|pair| pair[0] != pair[1])
        };
        let (mut drawn, mut alike): (Vec<&Quantity>, Vec<String>) = (Vec::new(), Vec::new());
        for quantity in self.quantities.iter().filter(varies) {
            match drawn.iter().find(|other| are_proportional(quantity, other)) {
                Some(other) => alike.push(format!("{} (like {})", quantity.head, other.head)),
                None => drawn.push(quantity),
            }
        }
        let told =
            format!("In proportion to another figure, and so not drawn: {}.", alike.join(", "));
        (drawn, (!alike.is_empty()).then_some(told))
    }

    /// The most repeats of any point.
    fn repeats(&self) -> usize {
        self.records().map(|record| record.complete().count()).max().unwrap_or(0)
    }

    /// What lines and their bands are.
    fn averaged(&self) -> &'static str {
        if self.repeats() > 1 {
            "mean over repeats; bands are 95 % intervals"
        } else {
            "one repeat"
        }
    }

    /// The axis of a figure's values.
    fn axis_of(&self, quantity: &Quantity) -> Axis {
        let means: Vec<f64> = quantity.outcomes.iter().filter_map(mean).collect();
        let decades = Metric::from_name(&quantity.key).is_some_and(comparison::is_logarithmic);
        let positive = means.iter().all(|mean| *mean > 0.0);
        let axis =
            if positive && (decades || is_logarithmic(&means)) { Axis::log } else { Axis::linear };
        match quantity.unit {
            Some((unit, _)) => axis(&quantity.head).unit(unit),
            None => axis(&quantity.head),
        }
    }

    /// The points that have no mean of a figure, and why.
    fn without_mean(&self, quantity: &Quantity) -> String {
        let told = self.points.iter().zip(&quantity.outcomes).filter_map(|(point, outcome)| {
            let why = match (&point.outcome, outcome) {
                (Err(missing), _) => missing.label(),
                (_, Outcome::Diverged { .. }) => "diverged",
                (_, Outcome::Short { .. }) => "target not reached",
                (_, Outcome::Missing) => "not measured",
                (_, Outcome::Known(_)) if mean(outcome).is_none() => "not finite",
                (_, Outcome::Known(_)) => return None,
            };
            Some(format!("{} ({why})", point.name))
        });
        let told: Vec<String> = told.collect();
        match told.len() {
            0 => String::new(),
            count if count > MOST_NAMED => {
                format!(" {count} points have no mean, for the reasons in the table.")
            }
            _ => format!(" Without a mean: {}.", told.join(", ")),
        }
    }

    /// Everything that can be drawn along the axes.
    pub(super) fn along_axes(&self) -> Vec<Block> {
        let dimensions = Dimension::of(&self.axes);
        let (varying, alike) = self.varying();
        // Of several axes of numbers the longest says most as a line.
        let numeric = dimensions.iter().filter(|dimension| dimension.numbers().is_some());
        let x = numeric.rev().max_by_key(|dimension| dimension.values.len());
        let mut blocks = match (dimensions.as_slice(), x) {
            ([], _) | ([_], None) => return Vec::new(),
            ([_], Some(x)) => {
                varying.into_iter().filter_map(|quantity| self.figure(quantity, x, None)).collect()
            }
            ([rows, columns], x) => {
                let map = |quantity: &&Quantity| self.map(quantity, rows, columns);
                let mut blocks: Vec<Block> = varying.iter().map(map).collect();
                let other = |x: &Dimension| if std::ptr::eq(x, rows) { columns } else { rows };
                if let Some(x) = x {
                    let lines = varying.iter().filter_map(|q| self.figure(q, x, Some(other(x))));
                    blocks.extend(lines);
                }
                blocks
            }
            (all, x) => self.multiples(&varying, all, x),
        };
        blocks.extend(alike.map(Block::Paragraph));
        blocks
    }

    /// A figure along one axis, a line for each value of another.
    fn figure(&self, quantity: &Quantity, x: &Dimension, by: Option<&Dimension>) -> Option<Block> {
        let mut plot = self.lines(quantity, x, by, &Vec::new())?;
        plot.title = sentence(&quantity.head);
        let by = by.map_or(String::new(), |by| format!(", by {}", by.label));
        let caption = format!(
            "{} over {}{by}: {}.{}{}",
            sentence(&quantity.head),
            x.label,
            self.averaged(),
            self.without_mean(quantity),
            if self.without_mean(quantity).is_empty() { "" } else { " A cross ends a line there." }
        );
        Some(Block::plot(plot, caption))
    }

    /// The lines of a figure, among points that share some values.
    fn lines(
        &self,
        quantity: &Quantity,
        x: &Dimension,
        by: Option<&Dimension>,
        fixed: &Fixed<'_>,
    ) -> Option<LinePlot> {
        let numbers = x.numbers()?;
        let unit = quantity.unit.map_or(1.0, |(_, size)| size);
        let line = |label: String, value: Option<&[Value]>| {
            let chosen = self.points.iter().zip(&quantity.outcomes).filter(|(point, _)| {
                let there = by.zip(value).is_none_or(|(by, value)| by.is_at(point, value));
                there && lies_in(point, fixed)
            });
            let mut found: Vec<(f64, Estimate)> = chosen
                .filter_map(|(point, outcome)| Some((x.number(point)?, outcome.estimate())))
                .collect();
            found.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            let points = found.iter().map(|(x, e)| (*x, e.mean.unwrap_or(f64::NAN) / unit));
            let ends = found.iter().map(|(_, estimate)| {
                let mean = estimate.mean.unwrap_or(f64::NAN);
                (estimate.low.unwrap_or(mean) / unit, estimate.high.unwrap_or(mean) / unit)
            });
            let series = Series::new(label, points.collect::<Vec<_>>());
            if found.iter().any(|(_, e)| e.low.is_some()) { series.band(ends) } else { series }
        };
        let series: Vec<Series> = match by {
            None => vec![line(quantity.head.clone(), None)],
            Some(by) => by.values.iter().map(|v| line(by.at(v), Some(v.as_slice()))).collect(),
        };
        let drawn = |series: &Series| series.points.iter().any(|(_, y)| y.is_finite());
        series.iter().any(drawn).then(|| LinePlot {
            x: x.axis(&numbers),
            y: self.axis_of(quantity),
            series,
            ..LinePlot::default()
        })
    }

    /// A figure over two axes as colours; points without a mean have a dot.
    fn map(&self, quantity: &Quantity, rows: &Dimension, columns: &Dimension) -> Block {
        let unit = quantity.unit.map_or(1.0, |(_, size)| size);
        let fixed = choices(&[rows, columns]);
        let found = |fixed: &Fixed<'_>| {
            let there = |point: &SweepPoint| lies_in(point, fixed);
            self.points.iter().position(there).map(|at| mean(&quantity.outcomes[at]))
        };
        let found: Vec<Option<Option<f64>>> = fixed.iter().map(found).collect();
        let map = HeatMap {
            title: sentence(&quantity.head),
            row_title: rows.label.clone(),
            column_title: columns.label.clone(),
            rows: rows.names(),
            columns: columns.names(),
            values: found.iter().map(|f| f.flatten().unwrap_or(f64::NAN) / unit).collect(),
            colours: self.axis_of(quantity),
            marked: found.iter().map(|found| *found == Some(None)).collect(),
            mark: "no mean".to_owned(),
        };
        let caption = format!(
            "{}: {}.{}",
            sentence(&quantity.head),
            if self.repeats() > 1 { "mean over repeats" } else { "one repeat" },
            self.without_mean(quantity)
        );
        Block::HeatMap { map, caption }
    }

    /// Small plots, one for each choice of the axes that a plot does not show.
    fn multiples(
        &self,
        varying: &[&Quantity],
        all: &[Dimension],
        x: Option<&Dimension>,
    ) -> Vec<Block> {
        let Some(x) = x else { return Vec::new() };
        let others: Vec<&Dimension> = all.iter().filter(|d| !std::ptr::eq(*d, x)).collect();
        let Some((by, rest)) = others.split_first() else { return Vec::new() };
        let mut blocks = Vec::new();
        for quantity in varying.iter().take(MOST_FIGURES) {
            let panels = choices(rest).into_iter().filter_map(|fixed| {
                let mut plot = self.lines(quantity, x, Some(by), &fixed)?;
                plot.title = title(&fixed);
                Some(plot)
            });
            let (plots, more) = limited(panels.collect());
            let caption = format!(
                "{} over {}, by {}: {}.{more}{}",
                sentence(&quantity.head),
                x.label,
                by.label,
                self.averaged(),
                self.without_mean(quantity)
            );
            blocks.push(Block::Multiples { plots, caption });
        }
        if varying.len() > MOST_FIGURES {
            let names: Vec<&str> =
                varying[MOST_FIGURES..].iter().map(|quantity| quantity.head.as_str()).collect();
            let text = format!("In the table and results.csv only: {}.", names.join(", "));
            blocks.push(Block::Paragraph(text));
        }
        blocks
    }

    /// How the points converge: the last axis as curves, the others as small plots.
    pub(super) fn convergence(&self) -> Vec<Block> {
        let dimensions = Dimension::of(&self.axes);
        let (by, rest) = match dimensions.split_last() {
            Some((by, rest)) => (Some(by), rest.iter().collect::<Vec<_>>()),
            None => (None, Vec::new()),
        };
        let panels: Vec<(Fixed<'_>, Vec<(String, &Record)>)> = choices(&rest)
            .into_iter()
            .map(|fixed| (fixed.clone(), self.runs(by, &fixed)))
            .collect();
        let chosen: Vec<(String, Vec<(&str, &Record)>)> = panels
            .iter()
            .map(|(fixed, runs)| {
                let all: Vec<(&str, &Record)> =
                    runs.iter().map(|(name, record)| (name.as_str(), *record)).collect();
                (title(fixed), evenly(&all, MOST_CURVES))
            })
            .collect();
        let thinned = if panels.iter().any(|(_, runs)| runs.len() > MOST_CURVES) {
            format!(" Of more than {MOST_CURVES} curves, {MOST_CURVES} evenly chosen.")
        } else {
            String::new()
        };
        let of_metric = |metric: Metric| {
            // One plot has room for a choice of what to draw over.
            if let [(_, runs)] = chosen.as_slice() {
                return Some(match comparison::switched(runs, metric, self.target)? {
                    Block::Switched { by, caption } => {
                        Block::Switched { by, caption: caption + &thinned }
                    }
                    other => other,
                });
            }
            let plots = chosen.iter().filter_map(|(title, runs)| {
                let plot = comparison::plot(runs, metric, Cost::Rounds, self.target)?;
                Some(LinePlot { title: title.clone(), ..plot })
            });
            let (plots, more) = limited(plots.collect());
            let caption = format!(
                "{} as the runs went on, as far as the shortest repeat: {}.{thinned}{more}",
                sentence(metric.label()),
                self.averaged()
            );
            (!plots.is_empty()).then_some(Block::Multiples { plots, caption })
        };
        drawn(self.target).into_iter().filter_map(of_metric).take(MOST_METRICS).collect()
    }

    /// The runs of one plot of convergence, each by its value on the axis that it shows.
    fn runs(&self, by: Option<&Dimension>, fixed: &Fixed<'_>) -> Vec<(String, &Record)> {
        let there = self.points.iter().filter(|point| lies_in(point, fixed));
        let named = there.filter_map(|point| {
            let value = by.and_then(|by| Some(by.at(&by.value(point)?)));
            Some((value.unwrap_or_else(|| point.name.clone()), point.outcome.as_ref().ok()?))
        });
        named.collect()
    }
}
