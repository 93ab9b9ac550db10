//! What a scenario promises over all its repeats: where graphs or numbers of samples are drawn for
//! each, the worst of them.

use super::assembly::{Assembly, Solve};
use super::observed::worst;
use super::parts::Masking;
use super::repeat::RepeatResult;
use super::resolved::Resolved;
use super::run::ExperimentError;
use super::statement::{Holdings, Statement, against_coalition, statement};
use crate::scenario::Checked;
use crate::units::{Epsilon, PeerId};

/// What a scenario promises before it is run.
///
/// The numbers of samples at each peer are counted from the data, which is prepared for it: for the
/// first repeat, or for all where they may differ.
///
/// # Errors
/// Graphs or data that cannot be had.
pub fn promise(asked: &Checked, resolved: &Resolved) -> Result<Statement, ExperimentError> {
    let (base, graph) = (asked.base(), asked.topology());
    let here = |repeat| Assembly::new(&resolved.scenario, base, graph, repeat, Solve::Never);
    promise_of(asked, resolved, here)
}

/// The same by repeats that are assembled here, or on all ranks.
fn promise_of(
    asked: &Checked,
    resolved: &Resolved,
    assemble: impl Fn(u32) -> Result<Assembly, ExperimentError>,
) -> Result<Statement, ExperimentError> {
    let scenario = &resolved.scenario;
    let varies = scenario.topology.resamples() || scenario.data.deal_varies();
    let of = |repeat| {
        let assembly = assemble(repeat)?;
        Ok(statement(asked.scenario(), scenario, &assembly.topology, holdings(&assembly)))
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
    let holdings = holdings(&assembly);
    Ok(against_coalition(scenario, &assembly.topology, holdings, members))
}

fn holdings(assembly: &Assembly) -> Holdings<'_> {
    let plan = assembly.plan.as_ref();
    Holdings {
        samples: assembly.samples(),
        degrees: assembly.degrees(),
        dimension: assembly.seen.dimension(),
        tasks: plan.map_or(1, |plan| plan.tasks.count()),
        repetition: plan.map_or(1.0, |plan| plan.repetition),
        copies: assembly.data.multiplicity,
        masks: assembly.masks.as_ref().and_then(Masking::whole),
        left: assembly.left.as_ref(),
    }
}

/// What it promised for these repeats of a run. Where there are none, since it was interrupted before, they
/// are assembled for it.
///
/// # Errors
/// A repeat that cannot be assembled.
pub(super) fn promised(
    asked: &Checked,
    resolved: &Resolved,
    repeats: &[RepeatResult],
    assemble: impl Fn(u32) -> Result<Assembly, ExperimentError>,
) -> Result<Statement, ExperimentError> {
    let scenario = &resolved.scenario;
    let of = |repeat: &RepeatResult| {
        let tokens = repeat.tokens.as_ref();
        let holdings = Holdings {
            samples: &repeat.samples,
            degrees: &repeat.degrees,
            dimension: repeat.dimension,
            tasks: tokens.map_or(1, |tokens| tokens.tasks),
            repetition: tokens.map_or(1.0, |tokens| tokens.repetition),
            copies: repeat.multiplicity,
            masks: None,
            left: repeat.sums.as_ref().and_then(|sums| sums.left.as_ref()),
        };
        statement(asked.scenario(), scenario, asked.topology(), holdings)
    };
    let Some((first, others)) = repeats.split_first() else {
        return promise_of(asked, resolved, assemble);
    };
    let resamples = scenario.topology.resamples();
    let repetition = |repeat: &RepeatResult| repeat.tokens.as_ref().map(|t| t.repetition);
    let differs = |repeat: &&RepeatResult| {
        let dealt = repeat.samples != first.samples || repetition(repeat) != repetition(first);
        resamples || dealt
    };
    let others = others.iter().filter(differs);
    Ok(others.map(of).fold(of(first), worse))
}

/// Both statements in one: the worse of each claim. The growth over the rounds is told of the one
/// that ends higher.
fn worse(mut one: Statement, mut other: Statement) -> Statement {
    let end = |statement: &Statement| statement.growth.last().map(|&(_, epsilon)| epsilon);
    if end(&other) > end(&one) {
        std::mem::swap(&mut one, &mut other);
    }
    one.claims = worst(one.claims, other.claims);
    one.one_release = match (one.one_release, other.one_release) {
        (none, some) | (some, none) if none.is_empty() => some,
        (ours, theirs) => ours.into_iter().zip(theirs).map(|(a, b)| a.worse(b)).collect(),
    };
    one.published = one.published.zip(other.published).map(|(here, there)| here.worse(there));
    one
}
