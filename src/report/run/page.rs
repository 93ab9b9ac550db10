//! report.html of a run.

use super::pairwise::pairwise_map;
use super::summary::{Summary, TaskSummary};
use super::terminal::{cell, figures, headline};
use crate::experiment::{PREDICTED_PEERS, RepeatResult, RunResult, StopReason};
use crate::learn::distance;
use crate::measure::{Estimate, Frames, Metric};
use crate::report::html::{Block, KeyFigure, Page};
use crate::report::privacy::{assumptions, claims, growth, one_release, published};
use crate::report::svg::film::{Film, Measure};
use crate::report::svg::graph::Graph;
use crate::report::svg::plot::{Axis, LinePlot, MOST_POINTS, Scale, Series, THINNING};
use crate::report::theory::theory;
use crate::report::{Column, Table};
use crate::topology::layout;

/// Longer heads of notes stay with their text.
const LONGEST_TERM: usize = 24;
/// Graphs up to this size are drawn.
const DRAWN_PEERS: usize = 1000;

/// Curves of tokens: title, axis, whether it is logarithmic, and what is drawn.
const WALK: [(&str, &str, bool, &[Metric]); 2] = [
    ("Decisions", "share of global steps so far", false, &[Metric::GlobalShare]),
    ("Moves", "over all tokens", false, &[Metric::Hops, Metric::Forwards]),
];

/// The page.
pub fn page(result: &RunResult, summary: &Summary, scenario_yaml: &str) -> Page {
    let repeats: Vec<&RepeatResult> = result
        .repeats
        .iter()
        .filter(|r| r.stop_reason != StopReason::Interrupted || result.repeats.len() == 1)
        .collect();
    let mut page = Page::new(summary.name.as_str()).lead(format!(
        "{}; {} samples in dimension {}. {} complete; seed {}. Fingerprint {}.",
        headline(result),
        repeats.first().map_or(0, |r| r.samples.iter().map(|&m| u64::from(m)).sum::<u64>()),
        repeats.first().map_or(0, |r| r.dimension),
        if summary.repeats == 1 {
            "1 repeat".into()
        } else {
            format!("{} repeats", summary.repeats)
        },
        summary.seed,
        summary.fingerprint,
    ));

    let tokens = result.scenario.protocol.walk().is_some();
    let rounds = if tokens { "updates of each token" } else { "rounds" };
    let mut cards = vec![KeyFigure::new(rounds, cell(&summary.rounds))];
    for metric in [
        Metric::ExcessRisk,
        Metric::OptimumDistance,
        Metric::ConsensusGap,
        Metric::TestAccuracy,
        Metric::TestMse,
        Metric::AverageTestAccuracy,
        Metric::LocalTestAccuracy,
        Metric::GlobalShare,
        Metric::Epsilon,
        Metric::EpsilonLabels,
        Metric::EpsilonFinal,
        Metric::Messages,
        Metric::SimSeconds,
    ] {
        if let Some(estimate) = summary.metric(metric).filter(|e| e.mean.is_some()) {
            cards.push(KeyFigure::new(metric.label(), cell(estimate)));
        }
    }
    let mut results = vec![Block::KeyFigures(cards)];
    if !summary.warnings.is_empty() {
        results.push(Block::Warnings(summary.warnings.clone()));
    }
    results.push(Block::Table(figures(summary).caption("Figures at the end of the run.")));
    page = page.section("Result", results);

    let curves: Vec<Block> = [
        (
            "Agreement and optimum",
            "distance",
            true,
            &[
                Metric::OptimumDistance,
                Metric::OptimumDistanceClean,
                Metric::ConsensusGap,
                Metric::ConsensusGapMean,
                Metric::DualResidual,
            ][..],
        ),
        (
            "Empirical risk",
            if tokens { "mean over tasks" } else { "mean over peers of J_i" },
            false,
            &[Metric::EmpiricalRisk, Metric::AverageRisk, Metric::ExcessRisk],
        ),
        (
            "Risk on all samples above the optimum",
            "relative to the optimum",
            true,
            &[Metric::RelativeFitness],
        ),
        (
            "Accuracy",
            "share of samples classified right",
            false,
            &[
                Metric::TrainAccuracy,
                Metric::TestAccuracy,
                Metric::TestAccuracyWorst,
                Metric::AverageTestAccuracy,
            ],
        ),
        (
            "Mean squared error",
            "MSE",
            false,
            &[Metric::TrainMse, Metric::TestMse, Metric::TestMseWorst, Metric::AverageTestMse],
        ),
    ]
    .into_iter()
    .chain(tokens.then_some(WALK).into_iter().flatten())
    .filter_map(|(title, axis, log, metrics)| curve(result, &repeats, title, axis, log, metrics))
    .collect();
    if !curves.is_empty() {
        page = page.section("Curves", curves);
    }
    if !summary.tasks.is_empty() {
        let caption = "The token of each task at the end of the run; a task is one class against \
                       all others, where there are more than two.";
        page = page.section("Tasks", vec![Block::Table(tasks(&summary.tasks).caption(caption))]);
    }
    if let Some(prediction) = &summary.theory {
        let caption = format!(
            "What theory says, by the first repeat's graph and data, beside what the run showed, in \
             the mean over repeats. Objectives and risks are {}.",
            match &result.scenario.protocol {
                protocol if protocol.walk().is_some() => "means over tasks",
                protocol if protocol.sum().is_some() => "over all samples",
                _ => "means over peers",
            }
        );
        page = page.section("Theory", vec![Block::Table(theory(prediction).caption(caption))]);
    }
    if result.topology.peers() > PREDICTED_PEERS {
        let text = format!(
            "Not computed with a run of more than {PREDICTED_PEERS} peers: hushmesh predict does."
        );
        page = page.section("Theory", vec![Block::paragraph(text)]);
    }
    if let Some(drawing) = drawing(result, &repeats) {
        page = page.section("Graph", vec![drawing]);
    }
    page.section("Privacy", privacy(result, summary, &repeats))
        .section("Scenario", vec![Block::preformatted(scenario_yaml)])
}

/// Who is protected against whom, how the loss grew, and what is not protected.
fn privacy(result: &RunResult, summary: &Summary, repeats: &[&RepeatResult]) -> Vec<Block> {
    let statement = &summary.statement;
    let caption = "Who is protected against whom: the loss that the scenario allows, for the worst \
                   user, beside what the ledger booked by the end.";
    let table = claims(statement, Some(&summary.observed)).caption(caption);
    let mut blocks = vec![Block::Table(table)];
    if let Some(table) = published(statement) {
        let caption = "What the paper claims of its noise, beside what is known of it.";
        blocks.push(Block::Table(table.caption(caption)));
    }
    if let Some(loss) = &result.pairwise {
        let caption = "What each peer learns of a record of each other by gossip, in one average: μ of \
                       the Gaussian mechanism that it amounts to, exactly. A dot marks who can compute \
                       whose noisy value.";
        let map = pairwise_map(&result.topology, loss);
        blocks.push(Block::HeatMap { map, caption: caption.to_owned() });
    }
    let losses = [Metric::Epsilon, Metric::EpsilonLabels, Metric::EpsilonFinal];
    blocks.extend(curve(result, repeats, "Privacy loss", "ε so far", true, &losses));
    if let Some(table) = growth(statement) {
        blocks
            .push(Block::Table(table.caption("The same over the rounds, by the scenario alone.")));
    }
    if let Some(table) = one_release(statement) {
        let caption = "What the objective noise would give, were one exact minimiser all that is \
                       released. It is not booked.";
        blocks.push(Block::Table(table.caption(caption)));
    }
    let split = |line: &String| {
        let head = line.split_once(": ").filter(|(head, _)| head.len() <= LONGEST_TERM);
        let (head, rest) = head.unwrap_or(("note", line));
        (head.to_string(), rest.to_string())
    };
    let assumed = assumptions(statement).into_iter().map(|line| ("assumed".to_string(), line));
    let notes = statement.notes.iter().map(split);
    blocks.push(Block::Definitions(assumed.chain(notes).collect()));
    blocks
}

/// The tasks as a table.
fn tasks(tasks: &[TaskSummary]) -> Table {
    let mut table = Table::new([
        Column::text("task"),
        Column::number("share of global steps"),
        Column::number("hops"),
        Column::number("visits without an update"),
    ]);
    for TaskSummary { name, global_share, hops, forwards } in tasks {
        table.row([name.as_str().into(), cell(global_share), cell(hops), cell(forwards)]);
    }
    table
}

/// Some metrics against rounds: the mean over repeats, with its interval as a band.
fn curve(
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
        (Metric::SimSeconds, "seconds", Axis::linear("simulated time").unit("s")),
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

/// The graph with its peers as they were from round to round, where that was kept; else at the end.
fn drawing(result: &RunResult, repeats: &[&RepeatResult]) -> Option<Block> {
    let topology = &result.topology;
    let last = repeats.last().filter(|repeat| !repeat.states.is_empty())?;
    if topology.peers() > DRAWN_PEERS {
        return Some(Block::paragraph(format!(
            "A graph of more than {DRAWN_PEERS} peers is not drawn."
        )));
    }
    let edges: Vec<(usize, usize)> =
        topology.edges().map(|(a, b)| (a.index(), b.index())).collect();
    let labels: Vec<String> = topology.ids().map(|p| topology.name(p).into_owned()).collect();
    let positions = layout(topology, Some(&result.scenario.topology));
    let graph = Graph::new(&edges, positions, labels);
    let frames = repeats.first().and_then(|first| first.frames.as_ref());
    if let Some(frames) = frames.filter(|frames| !frames.rounds.is_empty()) {
        let has_test = repeats[0].locals.iter().any(|local| !local.test.is_nan());
        return Some(film(result, graph, frames, has_test));
    }
    let most = last.samples.iter().max().copied().unwrap_or(0);
    let least = last.samples.iter().min().copied().unwrap_or(0);
    let work = last.tokens.as_ref().map(|tokens| &tokens.work).filter(|work| !work.is_empty());
    let (what, values): (&str, Vec<f64>) = if let Some(work) = work {
        let visits = work.iter().map(|peer| (peer.updates + peer.forwards) as f64);
        ("visits of tokens", visits.collect())
    } else if last.tokens.is_some() {
        return None;
    } else if f64::from(most) <= 1.05 * f64::from(least) {
        let mean = last.mean_state();
        let distances = last.models().map(|w| distance(w, &mean));
        ("distance of the final model to the mean", distances.collect())
    } else {
        ("training samples", last.samples.iter().map(|&m| f64::from(m)).collect())
    };
    let caption = format!("The graph of the first repeat; colour: {what}, in the last.");
    Some(Block::Graph { graph: graph.coloured(values, what), caption })
}

/// The peers of the first repeat from round to round.
fn film(result: &RunResult, graph: Graph, frames: &Frames, has_test: bool) -> Block {
    let score = match (result.scenario.model.loss.is_classification(), has_test) {
        (true, true) => "held-out accuracy",
        (true, false) => "accuracy on own samples",
        (false, true) => "held-out mean squared error",
        (false, false) => "mean squared error on own samples",
    };
    let all = frames.rounds.len();
    let measures = [
        ("distance from the mean model", Scale::Log, &frames.from_mean),
        ("distance from the optimum", Scale::Log, &frames.from_optimum),
        (score, Scale::Linear, &frames.scores),
    ];
    let measures = measures
        .into_iter()
        .filter(|(_, _, frames)| frames.len() == all)
        .map(|(name, scale, frames)| Measure::new(name, scale, graph.peers(), frames))
        .collect();
    let rule = if all < frames.measured {
        format!(
            " Of {} measured rounds {all} are shown: the first 32, then every second one, from the \
             64th every fourth, and so on, and the last.",
            frames.measured
        )
    } else {
        String::new()
    };
    let caption = format!(
        "The peers of the first repeat from round to round, each number to one of 255 levels; on paper \
         the last round.{rule}"
    );
    let rounds = frames.rounds.iter().map(|round| round.0).collect();
    Block::Film { film: Film { graph, rounds, measured: frames.measured, measures }, caption }
}
