//! Convergence of several runs in one plot: means over repeats, with bands.

use super::outcome::Cost;
use super::target::Target;
use crate::measure::{Estimate, MeasuredRow, Metric};
use crate::report::Record;
use crate::report::html::Block;
use crate::report::svg::plot::{Axis, LinePlot, Reference, Series};

/// The horizontal axes that a reader can choose from.
const AXES: [(Cost, &str); 3] =
    [(Cost::Rounds, "round"), (Cost::Messages, "messages"), (Cost::Seconds, "simulated seconds")];

/// The bands of more runs than this would hide each other.
const MOST_BANDS: usize = 8;

/// What is drawn where it was measured, beside the target's metric.
const DRAWN: [Metric; 16] = [
    Metric::OptimumDistance,
    Metric::OptimumDistanceClean,
    Metric::ConsensusGap,
    Metric::ExcessRisk,
    Metric::RelativeFitness,
    Metric::EmpiricalRisk,
    Metric::AverageRisk,
    Metric::TestAccuracy,
    Metric::TestMse,
    Metric::TrainAccuracy,
    Metric::TrainMse,
    Metric::AverageTestAccuracy,
    Metric::AverageTestMse,
    Metric::Epsilon,
    Metric::EpsilonLabels,
    Metric::EpsilonFinal,
];

/// Whether a metric spans decades.
pub(in crate::report) fn is_logarithmic(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::ConsensusGap
            | Metric::ConsensusGapMean
            | Metric::PairwiseGap
            | Metric::NormGap
            | Metric::DualResidual
            | Metric::OptimumDistance
            | Metric::OptimumDistanceClean
            | Metric::AverageObjectiveGap
            | Metric::AverageDivergence
            | Metric::ExcessRisk
            | Metric::RelativeFitness
            | Metric::Epsilon
            | Metric::EpsilonLabels
            | Metric::EpsilonFinal
    )
}

/// The metrics that are worth a curve, the target's first.
pub(in crate::report) fn drawn(target: Option<Target>) -> Vec<Metric> {
    let first = target.map(|target| target.metric);
    let others = DRAWN.into_iter().filter(|metric| Some(*metric) != first);
    first.into_iter().chain(others).collect()
}

/// A metric of one run against a cost, as far as the shortest repeat goes: beyond it the mean would
/// jump with every repeat that ends. Nothing of a metric that is not measured, or only once.
///
/// Repeats are averaged round by round; a round stands at the mean of what it had cost by then.
pub(in crate::report) fn series(
    label: &str,
    record: &Record,
    metric: Metric,
    cost: Cost,
) -> Option<Series> {
    record.column(metric)?;
    let repeats: Vec<&[MeasuredRow]> = record.complete().map(|(_, rows)| rows).collect();
    let shortest = repeats.iter().min_by_key(|rows| rows.len())?;
    let (mut points, mut band) = (Vec::new(), Vec::new());
    for row in *shortest {
        let found = repeats.iter().map(|rows| {
            let at = rows.binary_search_by_key(&row.round, |other| other.round).ok()?;
            Some(&rows[at])
        });
        // A repeat that ended outside the schedule has a last row of its own.
        let Some(rows) = found.collect::<Option<Vec<_>>>() else { continue };
        let over = |value: &dyn Fn(&MeasuredRow) -> f64| {
            Estimate::of(&rows.iter().map(|row| value(row)).collect::<Vec<_>>())
        };
        let Some(x) = over(&|row| cost.at(record, row)).mean else { continue };
        let Estimate { mean, low, high } = over(&|row| record.value(row, metric));
        let mean = mean.unwrap_or(f64::NAN);
        points.push((x, mean));
        band.push((low.unwrap_or(mean), high.unwrap_or(mean)));
    }
    if points.len() < 2 || points.iter().all(|(_, y)| !y.is_finite()) {
        return None;
    }
    let series = Series::new(label, points);
    Some(if repeats.len() > 1 { series.band(band) } else { series })
}

/// A metric of several runs against a cost, each in the colour of its place.
pub(in crate::report) fn plot(
    runs: &[(&str, &Record)],
    metric: Metric,
    cost: Cost,
    target: Option<Target>,
) -> Option<LinePlot> {
    let all = runs.iter().enumerate().filter_map(|(place, (name, record))| {
        let mut series = series(name, record, metric, cost)?;
        series.style.colour = Some(place);
        if runs.len() > MOST_BANDS {
            series.band = None;
        }
        Some(series)
    });
    let all: Vec<Series> = all.collect();
    let (_, x) = AXES.into_iter().find(|(other, _)| *other == cost)?;
    let y = if is_logarithmic(metric) { Axis::log } else { Axis::linear };
    let wanted = target.filter(|target| target.metric == metric);
    let reference = |target: Target| Reference { value: target.value, label: "target".to_owned() };
    (!all.is_empty()).then(|| LinePlot {
        title: sentence(metric.label()),
        x: Axis::linear(x),
        // Without what follows a comma: it stands in the title.
        y: y(metric.label().split(',').next().unwrap_or_default()),
        series: all,
        references: wanted.map(reference).into_iter().collect(),
    })
}

/// A metric of several runs, over whichever cost the reader chooses.
pub(in crate::report) fn switched(
    runs: &[(&str, &Record)],
    metric: Metric,
    target: Option<Target>,
) -> Option<Block> {
    let plots = AXES
        .into_iter()
        .filter_map(|(cost, name)| Some((name.to_owned(), plot(runs, metric, cost, target)?)));
    let by: Vec<(String, LinePlot)> = plots.collect();
    let moves = |series: &Series| series.points.windows(2).any(|pair| pair[0].1 != pair[1].1);
    // Where nothing moves, the table says it all.
    if by.iter().all(|(_, plot)| !plot.series.iter().any(moves)) {
        return None;
    }
    let repeats = || runs.iter().map(|(_, record)| record.complete().count());
    let (least, most) = (repeats().min()?, repeats().max()?);
    let over = match (least, most) {
        (_, 1) => "one repeat".to_owned(),
        (least, most) if least == most => format!("mean over {most} repeats"),
        (least, most) => format!("mean over {least} to {most} repeats"),
    };
    let bands = match most {
        0 | 1 => "",
        _ if runs.len() > MOST_BANDS => ", round by round as far as the shortest goes",
        _ => ", round by round as far as the shortest goes; bands are 95 % intervals",
    };
    let diverged =
        runs.iter().any(|(_, record)| record.complete().any(|(repeat, _)| record.diverged(repeat)));
    let cut = if diverged { " A curve ends where a repeat diverged." } else { "" };
    let caption = format!("{}: {over}{bands}.{cut}", sentence(metric.label()));
    (!by.is_empty()).then_some(Block::Switched { by, caption })
}

/// The text with a capital at its beginning, but for symbols.
pub(in crate::report) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if first.is_ascii() => first.to_uppercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}
