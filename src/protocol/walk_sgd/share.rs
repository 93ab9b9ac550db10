//! What a peer keeps of a task, and what it releases of it.

use super::WalkParameters;
use crate::policy::Policy;
use crate::privacy::{
    Batches, Budget, Mechanism, Records, Relation, Released, Sensitivity, Spent, noisy,
};
use crate::random::Draws;
use crate::units::Round;

/// What a peer keeps of a task.
#[derive(Debug)]
pub(super) struct Share {
    /// Batches used so far, all passes counted.
    pub(super) used: u32,
    /// What decides, and what of the peer's own model w^L nobody has seen yet.
    pub(super) own: Option<Own>,
    /// Σμ² of the record that this task's releases have exposed most, by passes that are over and by
    /// the one that the last release reached into.
    pub(super) exposed: [[f64; 2]; 2],
    pub(super) exposed_pass: u32,
}

/// What goes with a model of the peer's own.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) policy: Box<dyn Policy>,
    /// Batches used since the last release.
    pub(super) unreleased: u32,
    /// The greatest η_k/b_k among them.
    pub(super) widest: f64,
}

/// A release that is about to be made.
pub(super) struct Release<'a> {
    deviation: f64,
    sensitivity: Sensitivity,
    batches: Batches,
    draws: &'a Draws,
    t: Round,
}

impl WalkParameters {
    /// The noisy release of update t, whose batches moved it by `widest` = max η_k/b_k times 2L each;
    /// none where there is no noise.
    pub(super) fn release(
        &self,
        task: u32,
        t: Round,
        widest: f64,
        batches: Batches,
    ) -> Option<Release<'_>> {
        let (multiplier, draws) = self.noise.as_ref()?;
        let slope = self.loss.greatest_slope(1.0).unwrap_or(f64::INFINITY);
        // A label flips the slope by 1 at the most, a record from one end to the other.
        let sensitivity =
            Sensitivity { label: widest * self.reach, record: widest * 2.0 * slope * self.reach };
        let deviation = multiplier * f64::from(batches.most_uses()) * sensitivity.record;
        Some(Release { deviation, sensitivity, batches, draws: &draws[task as usize], t })
    }
}

impl Release<'_> {
    fn mechanism(&self) -> Mechanism {
        Mechanism::Gaussian { deviation: self.deviation }
    }

    /// μ² of the batch that was used most, for a label and for a record.
    pub(super) fn cost(&self) -> [f64; 2] {
        let uses = f64::from(self.batches.most_uses());
        [self.sensitivity.label, self.sensitivity.record]
            .map(|moves| (uses * moves / self.deviation).powi(2))
    }

    /// Adds the noise.
    pub(super) fn make(self, model: Box<[f64]>) -> Released<Box<[f64]>> {
        let records = Records::Batches(self.batches);
        let draw = self.draws.at(0, self.t.0.into());
        noisy(model, self.mechanism(), self.sensitivity, records, Relation::ReplaceOne, draw)
    }
}

impl Share {
    /// Counts a release of cost μ² whose batches are the `count` up to number `last`, all passes
    /// counted. A batch is used once a pass, and each use is in one release: so the greatest costs of
    /// releases that reach into each pass, added up, bound what any record has lost.
    pub(super) fn expose(&mut self, cost: [f64; 2], last: u32, count: u32, of: u32) {
        for pass in (last + 1 - count) / of..=last / of {
            let [over, current] = &mut self.exposed;
            for piece in 0..2 {
                if pass > self.exposed_pass {
                    over[piece] += current[piece];
                    current[piece] = 0.0;
                }
                current[piece] = current[piece].max(cost[piece]);
            }
            self.exposed_pass = self.exposed_pass.max(pass);
        }
    }

    pub(super) fn exposed(&self) -> [f64; 2] {
        let [over, current] = self.exposed;
        [over[0] + current[0], over[1] + current[1]]
    }

    /// Whether a budget bears such a release too: this task's part of it, since which token comes first
    /// to a peer must not decide which one may still release.
    pub(super) fn bears(
        &self,
        cost: [f64; 2],
        (last, count, of): (u32, u32, u32),
        tasks: u32,
        budget: &Budget,
    ) -> bool {
        let mut after = Self { own: None, ..*self };
        after.expose(cost, last, count, of);
        let [_, record] = after.exposed();
        budget.allows(&Spent::gaussian((f64::from(tasks) * record).sqrt()))
    }
}
