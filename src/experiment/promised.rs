//! What a scenario promises over all its repeats: where graphs or numbers of samples are drawn for
//! each, the worst of them.

use std::sync::Arc;

use super::assembly::{Assembly, Solve};
use super::each_peer::EachPeer;
use super::observed::worst;
use super::repeat::RepeatResult;
use super::run::{ExperimentError, Resolved};
use super::server::mask_graph;
use super::statement::{Holdings, Statement, against_coalition, statement};
use crate::random::Streams;
use crate::scenario::{Checked, Scenario};
use crate::topology::Topology;
use crate::units::{Epsilon, PeerId};

/// What a scenario promises before it is run.
///
/// The numbers of samples at each peer are counted from the data, which is prepared for it: for the
/// first repeat, or for all where they may differ.
///
/// # Errors
/// Graphs or data that cannot be had.
pub fn promise(asked: &Checked, resolved: &Resolved) -> Result<Statement, ExperimentError> {
    let scenario = &resolved.scenario;
    let varies = scenario.topology.resamples() || scenario.data.deal_varies();
    let of = |repeat| {
        let assembly =
            Assembly::new(scenario, asked.base(), asked.topology(), repeat, Solve::Never)?;
        let samples = assembly.samples();
        let holdings = holdings(&assembly, &samples);
        Ok(statement(asked.scenario(), scenario, &assembly.topology, holdings))
    };
    let others = 1..if varies { scenario.repeat } else { 1 };
    others.map(of).try_fold(of(0)?, |whole, next| next.map(|next| worse(whole, next)))
}

/// What a coalition of peers would learn of the others, by the first repeat's graph and data: for each
/// part of the others that it cannot tell apart, who is in it and ε of any record there.
///
/// # Errors
/// Graphs or data that cannot be had.
pub fn coalition(
    asked: &Checked,
    resolved: &Resolved,
    members: &[PeerId],
) -> Result<Vec<(Vec<PeerId>, Epsilon)>, ExperimentError> {
    let scenario = &resolved.scenario;
    let assembly = Assembly::new(scenario, asked.base(), asked.topology(), 0, Solve::Never)?;
    let samples = assembly.samples();
    let holdings = holdings(&assembly, &samples);
    Ok(against_coalition(scenario, &assembly.topology, holdings, members))
}

fn holdings<'a>(assembly: &'a Assembly, samples: &'a EachPeer<u32>) -> Holdings<'a> {
    let plan = assembly.plan.as_ref();
    Holdings {
        samples,
        degrees: assembly.degrees(),
        dimension: assembly.seen.dimension(),
        tasks: plan.map_or(1, |plan| plan.tasks.count()),
        repetition: plan.map_or(1.0, |plan| plan.repetition),
        copies: assembly.data.multiplicity,
        masks: assembly.masks.as_ref(),
    }
}

/// What it promised for these repeats of a run.
///
/// # Errors
/// A graph that cannot be had again.
pub(super) fn promised(
    asked: &Checked,
    resolved: &Resolved,
    repeats: &[RepeatResult],
) -> Result<Statement, ExperimentError> {
    let scenario = &resolved.scenario;
    let of = |topology: &Topology, repeat: &RepeatResult| {
        let tokens = repeat.tokens.as_ref();
        let masks = mask_graph(scenario, topology, repeat.repeat, asked.base())?;
        let holdings = Holdings {
            samples: &repeat.samples,
            degrees: &repeat.degrees,
            dimension: repeat.dimension,
            tasks: tokens.map_or(1, |tokens| tokens.tasks),
            repetition: tokens.map_or(1.0, |tokens| tokens.repetition),
            copies: repeat.multiplicity,
            masks: masks.as_ref(),
        };
        Ok::<_, ExperimentError>(statement(asked.scenario(), scenario, topology, holdings))
    };
    let Some((first, others)) = repeats.split_first() else {
        // Interrupted before anything ran.
        return promise(asked, resolved);
    };
    let resamples = scenario.topology.resamples();
    let repetition = |repeat: &RepeatResult| repeat.tokens.as_ref().map(|t| t.repetition);
    let differs = |repeat: &&RepeatResult| {
        let dealt = repeat.samples != first.samples || repetition(repeat) != repetition(first);
        resamples || dealt
    };
    let others = others.iter().filter(differs);
    others
        .map(|repeat| of(&*graph(asked, scenario, repeat.repeat)?, repeat))
        .try_fold(of(asked.topology(), first)?, |whole, next| next.map(|next| worse(whole, next)))
}

/// The graph of a repeat after the first, as far as it takes more than everybody's number of neighbours.
fn graph(
    asked: &Checked,
    scenario: &Scenario,
    repeat: u32,
) -> Result<Arc<Topology>, ExperimentError> {
    if scenario.topology.resamples() && scenario.protocol.needs_the_whole_graph() {
        Ok(Arc::new(scenario.topology.build(&Streams::new(scenario.seed, repeat), asked.base())?))
    } else {
        Ok(asked.topology().clone())
    }
}

/// Both statements in one: the worse of each claim. The growth over the rounds is told of the one
/// that ends higher.
fn worse(mut one: Statement, mut other: Statement) -> Statement {
    let end = |statement: &Statement| statement.growth.last().map(|&(_, epsilon)| epsilon);
    if end(&other) > end(&one) {
        std::mem::swap(&mut one, &mut other);
    }
    one.claims = worst(one.claims, other.claims);
    one.published = one.published.zip(other.published).map(|(here, there)| here.worse(there));
    one
}
