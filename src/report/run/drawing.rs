//! The graph of a run, from round to round where that was kept.

use crate::experiment::{RepeatResult, RunResult};
use crate::learn::distance;
use crate::measure::Frames;
use crate::report::html::Block;
use crate::report::svg::film::{Film, Measure};
use crate::report::svg::graph::Graph;
use crate::report::svg::plot::Scale;
use crate::topology::layout;

/// Graphs up to this size are drawn.
const DRAWN_PEERS: usize = 1000;

/// The graph with its peers as they were from round to round, where that was kept; else at the end.
pub(super) fn drawing(result: &RunResult, repeats: &[&RepeatResult]) -> Option<Block> {
    let topology = &result.topology;
    let last = repeats.last().filter(|repeat| repeat.numbers() > 0)?;
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
    let most = last.samples.iter().max().unwrap_or(0);
    let least = last.samples.iter().min().unwrap_or(0);
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
        ("training samples", last.samples.iter().map(f64::from).collect())
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
