//! The curves of a run, over rounds, messages and simulated seconds.

use crate::experiment::{RepeatResult, RunResult};
use crate::measure::{Estimate, Metric};
use crate::report::html::Block;
use crate::report::svg::plot::{Axis, LinePlot, MOST_POINTS, Series, THINNING};

/// Some metrics against rounds: the mean over repeats, with its interval as a band.
pub(super) fn curve(
    result: &RunResult,
    repeats: &[&RepeatResult],
    title: &str,
    axis: &str,
    log: bool,
    metrics: &[Metric],
) -> Option<Block> {
    // One point is no curve.
    if repeats.iter().all(|repeat| repeat.rows.len() < 2) {
        return None;
    }
    let series: Vec<Series> = metrics
        .iter()
        .filter_map(|metric| {
            let column = result.metrics.iter().position(|m| m == metric)?;
            Some(over_rounds(metric.label(), repeats, column))
        })
        .filter(|series| series.points.iter().any(|(_, y)| y.is_finite()))
        .collect();
    if series.is_empty() {
        return None;
    }
    let y = if log { Axis::log(axis) } else { Axis::linear(axis) };
    let plot = |x: &Across| LinePlot {
        title: title.to_string(),
        x: x.axis.clone(),
        y: y.clone(),
        series: series.iter().map(|series| x.under(series)).collect(),
        ..LinePlot::default()
    };
    let across = across(result, repeats);
    let caption = if repeats.len() > 1 {
        format!(
            "{title}: mean over {} repeats, as far as the shortest goes; bands are 95 % intervals.",
            repeats.len()
        )
    } else {
        format!("{title}: one repeat.")
    };
    let longest = series.iter().map(|series| series.points.len()).max().unwrap_or(0);
    let caption = if longest > MOST_POINTS {
        format!("{caption} Of {longest} points the {THINNING} are drawn.")
    } else {
        caption
    };
    Some(match across.as_slice() {
        [alone] => Block::plot(plot(alone), caption),
        several => {
            let by = several.iter().map(|x| (x.name.to_string(), plot(x))).collect();
            Block::Switched { by, caption }
        }
    })
}

/// What curves are drawn over.
struct Across {
    name: &'static str,
    axis: Axis,
    /// Where each row is; none where it is the round.
    places: Option<Vec<f64>>,
}

impl Across {
    /// A series over rounds, over this instead.
    fn under(&self, series: &Series) -> Series {
        let mut moved = series.clone();
        if let Some(places) = &self.places {
            moved.points.iter_mut().zip(places).for_each(|(point, &x)| point.0 = x);
        }
        moved
    }
}

/// The horizontal axes: rounds, then messages and simulated seconds where every row has them, in the
/// mean over repeats.
fn across(result: &RunResult, repeats: &[&RepeatResult]) -> Vec<Across> {
    let (name, label) = match result.scenario.protocol.walk() {
        Some(_) => ("update", "updates of each token"),
        None => ("round", "round"),
    };
    let mut all = vec![Across { name, axis: Axis::linear(label), places: None }];
    for (metric, name, axis) in [
        (Metric::Messages, "messages", Axis::linear("messages sent")),
        (Metric::SimSeconds, "simulated seconds", Axis::linear("simulated time").unit("s")),
    ] {
        let Some(column) = result.metrics.iter().position(|m| *m == metric) else { continue };
        let places: Vec<f64> =
            over_rounds("", repeats, column).points.into_iter().map(|(_, mean)| mean).collect();
        if places.iter().all(|x| x.is_finite()) {
            all.push(Across { name, axis, places: Some(places) });
        }
    }
    all
}

/// A metric's mean over all repeats, as far as the shortest goes: beyond it the mean would jump
/// with every repeat that ends.
fn over_rounds(label: &str, repeats: &[&RepeatResult], column: usize) -> Series {
    let shortest = repeats.iter().min_by_key(|r| r.rows.len());
    let rows = shortest.map_or(&[][..], |r| &r.rows);
    let mut points = Vec::new();
    let mut band = Vec::new();
    for (k, row) in rows.iter().enumerate() {
        let values: Vec<f64> = repeats.iter().map(|r| r.rows[k].values[column]).collect();
        let Estimate { mean, low, high } = Estimate::of(&values);
        let mean = mean.unwrap_or(f64::NAN);
        points.push((f64::from(row.round.0), mean));
        band.push((low.unwrap_or(mean), high.unwrap_or(mean)));
    }
    let series = Series::new(label, points);
    if repeats.len() > 1 { series.band(band) } else { series }
}
