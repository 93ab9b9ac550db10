//! What the tokens of a whole walk tell about a record.
//!
//! A record is in one batch of its peer. The batch takes part in at most one release of each pass and
//! task, each with μ = Δ/σ by calibration, or less: a release of several batches is calibrated to the
//! one that moves it furthest. So μ² ≤ K · passes · (Δ/σ)² for a record that was dealt once, and as many
//! times that as its copies in other batches add. Where only the label differs a release moves half as
//! far.

use super::Holdings;
use super::sent::{Sent, assumption};
use crate::policy::PolicyConfig;
use crate::privacy::gaussian_epsilon;
use crate::protocol::walk_sgd::{Cut, WalkSgdConfig};
use crate::scenario::Scenario;
use crate::units::Epsilon;

pub(super) fn sent(scenario: &Scenario, walk: &WalkSgdConfig, holdings: Holdings<'_>) -> Sent {
    let Holdings { tasks, repetition, .. } = holdings;
    let shared = repetition > 1.0;
    if walk.decision == Some(PolicyConfig::AlwaysLocal) {
        let (record, label) = (Epsilon::ZERO, Epsilon::ZERO);
        let route = "no peer releases anything that depends on a record";
        return Sent { record, label, shared, ..Sent::nothing_hidden(route) };
    }
    let Some(noise) = &walk.noise else {
        return Sent::nothing_hidden("sent in the clear in every update");
    };
    let bounded = scenario.reach().is_finite() && scenario.model.loss.greatest_slope(1.0).is_some();
    let delta = scenario.privacy.delta;
    let multiplier = noise.multiplier(delta, tasks, walk.passes).ok().filter(|_| bounded);
    let Some(multiplier) = multiplier else {
        let route = "Gaussian noise on updates that one record can move without bound";
        let assumption = assumption(scenario);
        return Sent { assumption, ..Sent::nothing_hidden(route) };
    };
    let budget = scenario.measure.stop.and_then(|stop| stop.epsilon);
    let within = |epsilon: Epsilon| budget.map_or(epsilon, |most| epsilon.min(Epsilon(most)));
    // Of so many releases that a record's batch takes part in, each moved by `moves` of Δ.
    let after = |releases: u32, moves: f64| {
        let mu_squared = f64::from(releases) * repetition * (moves / multiplier).powi(2);
        gaussian_epsilon(mu_squared.sqrt(), delta)
    };
    let releases = walk.passes * tasks;
    let route = match (walk.passes, tasks) {
        (1, 1) => "1 release with Gaussian noise per record".to_string(),
        _ => format!("{releases} releases with Gaussian noise per record, composed exactly"),
    };
    let rests = match &walk.decision {
        Some(policy) if policy.looks_at_data() => {
            "; given the times of the releases, which depend on private data"
        }
        _ => "",
    };
    let samples = || holdings.samples.iter().map(|m| m as usize);
    let updates: u64 = scenario.protocol.rounds(samples());
    // A walk may stay near one peer: the one with the fewest batches is through with a pass first, and
    // until then no record has been used once more.
    let batches = samples().map(|m| Cut::new(m, walk.batch).batches()).filter(|&count| count > 0);
    let fewest = u64::from(batches.min().unwrap_or(0));
    let pass = |p: u32| match p == walk.passes {
        true => updates as u32,
        false => updates.min(fewest * u64::from(p)) as u32,
    };
    let mut passes = vec![1, walk.passes.div_ceil(4), walk.passes.div_ceil(2), walk.passes];
    passes.dedup();
    let of_tasks = (tasks > 1).then(|| {
        format!(
            "every record is used by {tasks} tasks: one of them alone costs it at most ε = {:.3}, \
             all together {:.3}",
            within(after(walk.passes, 1.0)),
            within(after(releases, 1.0)),
        )
    });
    // Whatever a record does to them, decisions are randomised responses, one after the other.
    let most = samples().map(|m| Cut::new(m, walk.batch).batches()).max().unwrap_or(0);
    let visits = u64::from(most) * u64::from(walk.passes);
    let decisions = walk.decision.as_ref().and_then(|policy| policy.decisions_epsilon(visits));
    let decisions = decisions.map(|each| each * f64::from(tasks));
    let of_decisions = decisions.filter(|sum| sum.is_finite() && !shared).map(|sum| {
        format!(
            "when a peer releases tells of its records too: to whoever sees the times, its decisions cost at \
             most another ε = {sum:.3}, which adds up over {visits} visits of each task and is in no figure here"
        )
    });
    let growth = passes.into_iter().map(|p| (pass(p), within(after(p * tasks, 1.0))));
    Sent {
        record: within(after(releases, 1.0)),
        label: within(after(releases, 0.5)),
        shared,
        route: match budget {
            Some(_) => format!("{route}, until the budget is spent"),
            None => route,
        },
        assumption: format!(
            "{}; batches disjoint, and their order fixed{rests}",
            assumption(scenario)
        ),
        growth: if walk.passes > 1 && !shared { growth.collect() } else { Vec::new() },
        notes: of_tasks.into_iter().chain(of_decisions).collect(),
        ..Sent::nothing_hidden("")
    }
}

/// What is not protected, and what the protection rests on, in words.
pub(super) fn notes(walk: &WalkSgdConfig) -> Vec<String> {
    let mut lines = Vec::new();
    if walk.noise.is_none() && walk.decision != Some(PolicyConfig::AlwaysLocal) {
        lines.push(
            "not protected: every update of a token is sent on in the clear; labels and features can \
             leak to whoever the token visits next, to an eavesdropper on a link and to all other \
             peers together"
                .to_string(),
        );
    }
    if walk.noise.is_some() {
        lines.push(
            "every ε is against somebody who sees every update of every token; a peer that is \
             visited now and then sees less"
                .to_string(),
        );
    }
    if let Some(policy) = &walk.decision {
        lines.push("a peer's own models are covered only as long as they stay private".to_string());
        lines.push(match policy.declaration() {
            Some(declaration) => format!("outside the accounting: {declaration}"),
            None => format!(
                "the decisions ({}) do not look at data: when a release happens tells nothing",
                policy.name()
            ),
        });
    }
    lines
}
