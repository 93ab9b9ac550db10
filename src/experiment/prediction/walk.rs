//! What theory says of a walk.

use super::{Item, Reading, Stated, item};
use crate::experiment::assembly::Assembly;
use crate::experiment::run::ExperimentError;
use crate::experiment::walk::WalkPlan;
use crate::learn::norm;
use crate::protocol::walk_sgd::{Cut, StepSize, WalkSgdConfig};
use crate::random::Purpose;
use crate::scenario::Scenario;
use crate::theory::{
    DECISIONS_ORDER, WalkBound, WalkNoise, WalkRun, closed_form_hops, expected_hops,
};

/// Updates that are simulated to foresee the hops, over all simulated walks.
const FORESEEN: u32 = 4_000_000;

/// Bounds on the objective, the best step, and the hops. Objectives are means over tasks, hops and
/// forwards sums.
pub(super) fn items(
    scenario: &Scenario,
    walk: &WalkSgdConfig,
    assembly: &Assembly,
    plan: &WalkPlan,
) -> Result<Vec<Item>, ExperimentError> {
    let mut items = bounds(scenario, walk, assembly, plan)?;
    let tasks = f64::from(plan.tasks.count());
    let updates = plan.updates.0;
    let walks = (FORESEEN / updates.max(1)).clamp(10, 200);
    let family = assembly.streams.family(Purpose::Forecast, 0);
    let (topology, batches) = (&assembly.topology, plan.batches.as_slice());
    let mut add = |name, what: &str, reading, stated| items.push(item(name, what, reading, stated));
    match expected_hops(topology, walk.walk, batches, updates.into(), walks, family) {
        Ok(hops) => {
            let rests_on = format!(
                "{} simulated walks without data; 95 % of the mean: {:.0} to {:.0}",
                hops.samples,
                tasks * hops.low,
                tasks * hops.high
            );
            let what = "hops of all tokens, simulated";
            add("hops", what, Reading::Equal, Stated::known(tasks * hops.mean, rests_on));
            let per_update = Stated::known(hops.mean / f64::from(updates), "the same".to_string());
            add("hops_per_update", "hops per update", Reading::Given, per_update);
            let forwards = Stated::known(tasks * hops.forwards_mean, "the same".to_string());
            add("forwards", "visits without an update", Reading::Equal, forwards);
        }
        Err(reason) => {
            add("hops", "hops of all tokens, simulated", Reading::Equal, Stated::missing(reason));
        }
    }
    if let Some(hops) = closed_form_hops(topology, walk.walk, batches, updates.into()) {
        let stated = Stated::known(tasks * hops, "the walk's law alone".to_string());
        add("hops_closed_form", "hops of all tokens, in closed form", Reading::Equal, stated);
    }
    Ok(items)
}

fn bounds(
    scenario: &Scenario,
    walk: &WalkSgdConfig,
    assembly: &Assembly,
    plan: &WalkPlan,
) -> Result<Vec<Item>, ExperimentError> {
    let train = &assembly.data.train;
    let d = train.dimension();
    let lambda = scenario.model.regularisation / assembly.topology.peers() as f64;
    let slope = scenario.model.loss.greatest_slope(1.0);
    let (Some(slope), true) = (slope, scenario.reach().is_finite()) else {
        let reason = "nothing bounds the gradient of a sample";
        let what = "risk of the mean iterate above the optimum";
        return Ok(vec![item("bound", what, Reading::AtMost, Stated::missing(reason))]);
    };
    let lipschitz = slope * scenario.reach();
    // The longest optimum of a task, where models are not confined to a ball.
    let optimum = assembly
        .optimum
        .as_ref()
        .map(|best| best.w.chunks_exact(d.max(1)).map(norm).fold(0.0, f64::max));
    let Some(radius) = walk.radius.or(optimum) else {
        let reason = "nothing bounds the models: expected `radius`, or regularisation";
        let what = "risk of the mean iterate above the optimum";
        return Ok(vec![item("bound", what, Reading::AtMost, Stated::missing(reason))]);
    };
    let cuts = train.ids().map(|peer| Cut::new(train.rows(peer), walk.batch));
    let smallest =
        cuts.filter(|cut| cut.batches() > 0).map(|cut| cut.rows() as u32 / cut.batches());
    let batch = smallest.min().unwrap_or(walk.batch);
    let noise = match &walk.noise {
        Some(noise) => {
            let delta = scenario.privacy.delta;
            let ratio = noise.multiplier(delta, plan.tasks.count(), walk.passes)?;
            WalkNoise::of_ratio(ratio, lipschitz, batch)
        }
        None => WalkNoise::NONE,
    };
    let run = WalkRun {
        samples: train.total_rows() as u64,
        batch,
        updates: plan.updates.0.into(),
        dimension: d as u32,
        radius,
        gradient: lipschitz + lambda * radius,
        lipschitz,
        noise,
        uses: walk.passes * assembly.data.multiplicity as u32,
        largest_step: 0.5 / (1.0 + lambda),
    };
    let step = walk.step.greatest(lambda);
    let (name, entry) = match (&walk.decision, walk.step) {
        (Some(_), StepSize::StronglyConvex) => {
            let stated = Stated::missing(DECISIONS_ORDER);
            let what = "Theorem 7, distance to the optimum";
            return Ok(vec![item("bound", what, Reading::AtMost, stated)]);
        }
        (Some(policy), _) => {
            let releases = plan.batches.iter().map(|&visits| policy.releases(visits));
            let share = releases
                .sum::<Option<f64>>()
                .map(|all| all / plan.batches.iter().map(|&visits| f64::from(visits)).sum::<f64>());
            let peers = assembly.topology.peers() as u32;
            ("Theorem 6", run.with_decisions(step, peers, share.unwrap_or(1.0).min(1.0)))
        }
        (None, StepSize::StronglyConvex) => ("Theorem 4", run.strongly_convex(lambda)),
        (None, _) => ("Theorem 3", run.convex(step)),
    };
    let mut whole = Stated::of(&entry, |bound| Some(bound.total));
    let fails = entry.value.iter().flat_map(|bound| bound.fails.iter().copied());
    let falling = matches!(walk.step, StepSize::InverseSqrt(_)).then_some("the steps fall");
    let free = walk.radius.is_none().then_some("no `radius` keeps the models in their ball");
    let doubts: Vec<&str> = fails.chain(falling).chain(free).collect();
    if !doubts.is_empty() {
        whole.holds = false;
        whole.rests_on = format!("{}; but {}", whole.rests_on, doubts.join(", and "));
    }
    let what = format!("{name}, risk of the mean iterate above the optimum");
    let mut items = vec![item("bound", &what, Reading::AtMost, whole)];
    if let Ok(WalkBound { start, gradient, privacy, without_replacement, .. }) = entry.value {
        for (name, what, part) in [
            ("bound_start", "of which for the start", start),
            ("bound_gradient", "for the size of gradients", gradient),
            ("bound_privacy", "for the noise", privacy),
            ("bound_sampling", "for drawing without replacement", without_replacement),
        ] {
            let stated = Stated::known(part, "the same".to_string());
            items.push(item(name, what, Reading::Given, stated));
        }
    }
    if walk.step != StepSize::StronglyConvex && walk.decision.is_none() {
        let stated = Stated::of(&run.best_step(), |step| Some(*step));
        items.push(item("best_step", "η with the least bound", Reading::Given, stated));
    }
    Ok(items)
}
