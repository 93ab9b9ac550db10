//! What a scenario promises over all its repeats.

use super::assembly::Assembly;
use super::observed::worst;
use super::repeat::RepeatResult;
use super::run::ExperimentError;
use super::statement::{Statement, statement};
use crate::random::Streams;
use crate::scenario::{Checked, Scenario};
use crate::topology::Topology;

/// The statement for these repeats of the scenario that was `asked` for, whose every `auto` is
/// resolved in `scenario`: where graphs or numbers of samples are drawn for each, the worst of them.
///
/// # Errors
/// A graph that cannot be had again.
pub(super) fn promised(
    asked: &Checked,
    scenario: &Scenario,
    repeats: &[RepeatResult],
) -> Result<Statement, ExperimentError> {
    let of = |topology: &Topology, samples: &[u32], dimension: usize| {
        statement(asked.scenario(), scenario, topology, samples, dimension)
    };
    let Some((first, others)) = repeats.split_first() else {
        // Interrupted before anything ran.
        let seen = Assembly::new(scenario, asked.base(), asked.topology(), 0, false)?.seen;
        let samples: Vec<u32> = seen.ids().map(|peer| seen.rows(peer) as u32).collect();
        return Ok(of(asked.topology(), &samples, seen.dimension()));
    };
    let mut whole = of(asked.topology(), &first.samples, first.dimension);
    let resamples = scenario.topology.resamples();
    for repeat in others.iter().filter(|repeat| resamples || repeat.samples != first.samples) {
        let mut next = if resamples {
            let streams = Streams::new(scenario.seed, repeat.repeat);
            let topology = scenario.topology.build(&streams, asked.base())?;
            of(&topology, &repeat.samples, repeat.dimension)
        } else {
            of(asked.topology(), &repeat.samples, repeat.dimension)
        };
        // The growth over the rounds is told of one repeat: the one that ends highest.
        let end = |statement: &Statement| statement.growth.last().map(|&(_, epsilon)| epsilon);
        if end(&next) > end(&whole) {
            std::mem::swap(&mut whole, &mut next);
        }
        whole.claims = worst(whole.claims, next.claims);
    }
    Ok(whole)
}
