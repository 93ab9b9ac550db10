//! What a run with tokens starts from.

use std::sync::Arc;

use super::assembly::Assembly;
use super::run::ExperimentError;
use crate::data::{Dealing, Partitioned, Task};
use crate::learn::{
    Central, CentralError, Objective, Samples, Tasks, ball_optimum, central_optimum,
};
use crate::measure::{Accounting, Scorer, What};
use crate::policy::Needs;
use crate::privacy::{Budget, repetition};
use crate::protocol::MOST_ROUNDS;
use crate::protocol::walk_sgd::{Cut, WalkParameters, WalkPeer, WalkSgdConfig};
use crate::random::{Draws, Purpose, Streams};
use crate::scenario::Scenario;
use crate::topology::{Routes, Walk, pick_of};
use crate::units::{Epsilon, PeerId, Round};

/// A repeat's walk, before it begins.
#[derive(Clone, Debug)]
pub struct WalkPlan {
    /// The tasks.
    pub tasks: Tasks,
    /// Updates of each token.
    pub updates: Round,
    /// Batches that each peer has to give to each task, all passes counted; nothing where tokens keep to
    /// neighbours and every process has its own peers alone.
    pub batches: Vec<u32>,
    /// Where each task's token starts: at any peer with data, all equally likely.
    pub starts: Vec<PeerId>,
    /// The greatest Σ over batches of (a record's copies there)², or over peers where one release may
    /// concern several batches: 1 where no record repeats.
    pub repetition: f64,
}

impl WalkPlan {
    /// The walk of this repeat.
    pub(super) fn of(
        walk: &WalkSgdConfig,
        dealing: &Dealing<'_>,
        streams: &Streams,
        of_all: bool,
    ) -> Result<Self, ExperimentError> {
        let ids = || (0..dealing.peers()).map(PeerId::new);
        let cuts = || ids().map(|peer| Cut::new(dealing.rows(peer), walk.batch));
        let of_peer = |cut: Cut| u64::from(cut.batches()) * u64::from(walk.passes);
        let all: u64 = cuts().map(of_peer).sum();
        let updates = walk.updates.map_or(all, |most| all.min(most.into()));
        if updates > MOST_ROUNDS {
            return Err(ExperimentError::Updates { updates, most: MOST_ROUNDS });
        }
        // However few of them are to be made, batches are counted over all passes.
        let most = u64::from(u32::MAX);
        if all > most {
            return Err(ExperimentError::Updates { updates: all, most });
        }
        let tasks = match dealing.task() {
            (Task::MultiClass, classes) => Tasks::PerClass(classes as u32),
            (Task::Classification | Task::Regression, _) => Tasks::One,
        };
        let batches = cuts().map(|cut| of_peer(cut) as u32);
        let start = |task| {
            let mut draws = streams.family(Purpose::Walk, task).at(0, 0);
            pick_of(batches.clone(), &mut draws).unwrap_or(PeerId(0))
        };
        Ok(Self {
            tasks,
            updates: Round(updates as u32),
            starts: (0..tasks.count()).map(start).collect(),
            batches: if of_all { batches.collect() } else { Vec::new() },
            repetition: match (dealing.multiplicity(), &walk.decision) {
                (..=1, _) => 1.0,
                (_, None) => copies(dealing.order(), cuts()),
                // One release may concern several batches, and the record's copies in all of them.
                (_, Some(_)) => copies(dealing.order(), cuts().map(whole)),
            },
        })
    }

    /// Every how many updates a token is measured: as asked, or some fifty times in all.
    pub fn every(&self, scenario: &Scenario) -> u32 {
        scenario.measure.every.unwrap_or(self.updates.0.div_ceil(50)).max(1)
    }
}

/// The same rows in one batch.
fn whole(cut: Cut) -> Cut {
    Cut::new(cut.rows(), u32::MAX)
}

/// Σ over batches of (copies)² of the record for which it is greatest, among rows of peers with these
/// batches, in their order.
fn copies(rows: &[u32], cuts: impl Iterator<Item = Cut>) -> f64 {
    let mut batch_of = Vec::with_capacity(rows.len());
    let mut before = 0;
    for cut in cuts {
        batch_of.extend((0..cut.rows()).map(|row| before + cut.batch_of(row)));
        before += cut.batches();
    }
    repetition(rows, |row| batch_of[row])
}

/// The optimum of each task, one after the other, with the mean over tasks of the objective there.
/// None where the problem has no optimum: neither regularised nor confined to a ball.
pub(super) fn optima(
    scorer: &Scorer,
    train: &Partitioned,
    plan: &WalkPlan,
    ridge: f64,
    radius: Option<f64>,
) -> Result<Option<Central>, CentralError> {
    if ridge == 0.0 && radius.is_none() {
        return Ok(None);
    }
    let x = train.everybody().x;
    let (mut w, mut value, mut gradient) = (Vec::new(), 0.0, 0.0_f64);
    for task in 0..plan.tasks.count() {
        let pooled = scorer.pooled(task);
        let y: Vec<f64> = pooled.y.iter().map(|&y| plan.tasks.label(task, y)).collect();
        let objective = Objective::mean(Samples::new(x, &y), pooled.loss);
        let best = match radius {
            Some(radius) => ball_optimum(&[objective], ridge, radius, x.ncols())?,
            None => central_optimum(&[objective], ridge, &vec![0.0; x.ncols()])?,
        };
        value += best.value;
        gradient = best.gradient.max(gradient);
        w.extend(best.w);
    }
    let value = value / f64::from(plan.tasks.count());
    Ok(Some(Central { w, value, gradient }))
}

/// The peers of a walk.
pub(super) fn peers(
    scenario: &Scenario,
    walk: &WalkSgdConfig,
    assembly: &Assembly,
    plan: &WalkPlan,
) -> Result<Vec<WalkPeer>, ExperimentError> {
    let Assembly { streams, topology, .. } = assembly;
    let tasks = plan.tasks.count();
    let Accounting { delta, .. } = assembly.accounting;
    let noise = match &walk.noise {
        Some(noise) => {
            let multiplier = noise.multiplier(delta, tasks, walk.passes)?;
            let draws = |task| Draws::Streams(streams.family(Purpose::WalkNoise, task));
            Some((multiplier, (0..tasks).map(draws).collect()))
        }
        None => None,
    };
    let budget = scenario.measure.stop.and_then(|stop| stop.epsilon);
    let decides = walk.decision.is_some();
    let family = |task| streams.family(Purpose::Walk, task);
    let parameters = Arc::new(WalkParameters {
        tasks: plan.tasks,
        loss: scenario.model.loss,
        ridge: scenario.model.regularisation / topology.peers() as f64,
        batch: walk.batch,
        passes: walk.passes,
        updates: plan.updates,
        step: walk.step,
        radius: walk.radius,
        walk: walk.walk,
        routes: match walk.walk {
            Walk::Uniform => Some(Arc::new(Routes::of(topology)?)),
            _ => None,
        },
        tokens: (0..).zip(&plan.starts).map(|(task, &peer)| (peer, family(task))).collect(),
        remaining: plan.batches.clone().into(),
        noise,
        decisions: (0..if decides { tasks } else { 0 })
            .map(|task| streams.family(Purpose::Decision, task))
            .collect(),
        needs: walk.decision.as_ref().map_or(Needs::default(), |policy| policy.needs()),
        reach: scenario.reach(),
        unprotected: assembly.unprotected(),
        budget: budget.map(|epsilon| Budget::of_batches(Epsilon(epsilon), delta, plan.repetition)),
        averages: scenario.measure.has(What::Average),
    });
    let (d, looks) = (assembly.seen.dimension(), walk.walk == Walk::Metropolis);
    let starts: Vec<_> =
        (0..tasks).map(|task| streams.family(Purpose::PolicyStart, task)).collect();
    Ok(assembly.peers(|id, data, neighbours| {
        let near = neighbours.iter().filter(|_| looks);
        let degrees = near.map(|&peer| assembly.degree(peer)).collect();
        let policies = walk.decision.iter().flat_map(|policy| {
            starts.iter().map(|family| policy.build(d, &mut family.stream(id.0.into())))
        });
        WalkPeer::new(id, data, degrees, policies.collect(), Arc::clone(&parameters))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_counted_by_batch() {
        // Two peers, batches of two: row 7 is twice in the first batch and once in another one.
        let rows = [7, 7, 1, 2, 3, 7];
        let cuts = [Cut::new(4, 2), Cut::new(2, 2)];
        assert_eq!(copies(&rows, cuts.into_iter()), 4.0 + 1.0);
        assert_eq!(copies(&rows, [Cut::new(4, 1), Cut::new(2, 2)].into_iter()), 3.0);
        assert_eq!(copies(&rows, cuts.into_iter().map(whole)), 4.0 + 1.0);
    }
}
