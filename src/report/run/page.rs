//! report.html of a run.

use super::curves::curve;
use super::drawing::drawing;
use super::pairwise::pairwise_map;
use super::summary::{Summary, TaskSummary};
use super::terminal::{cell, figures, headline};
use crate::experiment::{PREDICTED_PEERS, RepeatResult, RunResult, StopReason};
use crate::measure::Metric;
use crate::report::html::{Block, KeyFigure, Page};
use crate::report::privacy::{assumptions, claims, growth, one_release, published};
use crate::report::theory::theory;
use crate::report::{Column, Table};

/// Longer heads of notes stay with their text.
const LONGEST_TERM: usize = 24;

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
        repeats.first().map_or(0, |r| r.samples.iter().map(u64::from).sum::<u64>()),
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
