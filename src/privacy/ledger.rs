//! The books: what each peer has released, computed from what it sent.

use serde::{Deserialize, Serialize};

use super::Spent;
use super::released::{Charge, Mechanism, Part, Pieces, Relation};
use crate::units::{Delta, Epsilon};

/// Who gets to see one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Receivers {
    /// The peer at the other end of one link.
    Link,
    /// All neighbours, the same value.
    Neighbours,
}

/// How a release was protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Not: these pieces stand in it.
    Clear(Pieces),
    /// By normal noise.
    Gaussian(Relation),
    /// By Laplace noise.
    Laplace(Relation),
}

impl Protection {
    fn of(part: &Part) -> Self {
        match *part {
            Part::Clear(pieces) => Self::Clear(pieces),
            Part::Noisy { mechanism: Mechanism::Gaussian { .. }, relation, .. } => {
                Self::Gaussian(relation)
            }
            Part::Noisy { mechanism: Mechanism::Laplace { .. }, relation, .. } => {
                Self::Laplace(relation)
            }
        }
    }

    /// Between which neighbours its cost is counted. What is in the clear costs everything between
    /// any.
    fn counts_under(self, relation: Relation) -> bool {
        match self {
            Self::Clear(_) => true,
            Self::Gaussian(own) | Self::Laplace(own) => own == relation,
        }
    }
}

/// Releases of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What protected them.
    pub protection: Protection,
    /// Who saw them.
    pub receivers: Receivers,
    /// How many there were.
    pub count: u64,
    /// What they cost together where only a label differs.
    pub label: Spent,
    /// What they cost together where a whole record differs.
    pub record: Spent,
}

/// One peer's account: a line per kind of release, never one per message. Costs of Gaussian releases
/// add up to one number, whatever their scales, so its size does not grow with the rounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    lines: Vec<Line>,
}

impl Account {
    /// Books one release.
    pub fn book(&mut self, charge: &Charge, receivers: Receivers) {
        for part in charge.parts() {
            let protection = Protection::of(part);
            let [label, record] = part.cost();
            let same =
                |line: &&mut Line| line.protection == protection && line.receivers == receivers;
            match self.lines.iter_mut().find(same) {
                Some(line) => {
                    line.count += 1;
                    line.label.add(&label);
                    line.record.add(&record);
                }
                None => {
                    self.lines.push(Line { protection, receivers, count: 1, label, record });
                }
            }
        }
    }

    /// The lines, in the order of their first release.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// What all releases together tell about one record, between neighbours that differ by
    /// replacing one: whoever sees a peer's links, or only its last message, knows no more.
    pub fn exposure(&self) -> Exposure {
        let mut exposure = Exposure::default();
        for line in &self.lines {
            if matches!(line.protection, Protection::Clear(_)) {
                exposure.clear += line.count;
            }
            if line.protection.counts_under(Relation::ReplaceOne) {
                exposure.label.add(&line.label);
                exposure.record.add(&line.record);
            } else {
                // To replace is to remove and to add: a group of two.
                exposure.label.add(&line.label.group(2));
                exposure.record.add(&line.record.group(2));
            }
        }
        exposure
    }
}

/// What a peer's releases so far tell about one of its records, to all who receive them together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Exposure {
    /// Releases without any protection.
    pub clear: u64,
    /// The cost where only a label differs, besides what the label was protected by before.
    pub label: Spent,
    /// The cost where a whole record differs.
    pub record: Spent,
}

impl Exposure {
    /// The greatest cost of several peers, and all their releases in the clear: what can be said of
    /// every record, whoever holds it.
    pub fn worst<'a>(exposures: impl IntoIterator<Item = &'a Self>) -> Self {
        exposures.into_iter().fold(Self::default(), |mut worst, peer| {
            worst.clear += peer.clear;
            worst.label.raise(&peer.label);
            worst.record.raise(&peer.record);
            worst
        })
    }
}

/// What a peer may spend on any one record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    epsilon: Epsilon,
    delta: Delta,
    copies: usize,
    /// The largest Σμ² of Gaussian releases alone that keeps to it.
    mu_squared: f64,
}

impl Budget {
    /// (ε, δ) for a record that may have been dealt `copies` times.
    pub fn new(epsilon: Epsilon, delta: Delta, copies: usize) -> Self {
        let mu = super::gaussian_mu(epsilon, delta) / copies as f64;
        Self { epsilon, delta, copies, mu_squared: mu * mu }
    }

    /// Whether releases of this cost keep to it.
    pub fn allows(&self, spent: &Spent) -> bool {
        if spent.is_gaussian() {
            spent.mu_squared() <= self.mu_squared
        } else {
            spent.group(self.copies).bound(self.delta).epsilon <= self.epsilon
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Sensitivity, in_the_clear, public};
    use super::*;

    fn gaussian(label: f64, record: f64, relation: Relation) -> Charge {
        let sensitivity = Sensitivity { label, record };
        let mechanism = Mechanism::Gaussian { deviation: 1.0 };
        Charge::One(Part::Noisy { mechanism, sensitivity, relation })
    }

    #[test]
    fn sending_twice_is_booked_twice_and_public_values_are_no_release_of_data() {
        let mut account = Account::default();
        let clear = in_the_clear((), Pieces::RECORD);
        account.book(clear.charge(), Receivers::Neighbours);
        account.book(clear.charge(), Receivers::Neighbours);
        account.book(clear.charge(), Receivers::Link);
        account.book(public(()).charge(), Receivers::Link);
        assert_eq!(account.exposure().clear, 3);
        assert!(account.exposure().record.is_unbounded());
        assert_eq!(account.lines().len(), 2, "one line per kind");
        assert_eq!(account.lines()[0].count, 2);
    }

    #[test]
    fn the_account_of_a_thousand_scales_is_one_line() {
        let mut account = Account::default();
        for t in 1..=1000 {
            let t = f64::from(t);
            account.book(&gaussian(0.5 / t, 1.0 / t, Relation::ReplaceOne), Receivers::Neighbours);
        }
        assert_eq!(account.lines().len(), 1);
        let exposure = account.exposure();
        let basel: f64 = (1..=1000).map(|t| f64::from(t).powi(-2)).sum();
        assert!((exposure.record.mu_squared() - basel).abs() < 1e-12);
        assert!((exposure.label.mu_squared() - basel / 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_message_sent_twice_costs_more_epsilon() {
        let delta = Delta(1e-5);
        let mut account = Account::default();
        let charge = gaussian(0.1, 0.2, Relation::ReplaceOne);
        account.book(&charge, Receivers::Link);
        let once = account.exposure().record.bound(delta).epsilon;
        account.book(&charge, Receivers::Link);
        let twice = account.exposure().record.bound(delta).epsilon;
        assert!(twice.0 > 1.3 * once.0, "{once} {twice}");
    }

    #[test]
    fn adding_and_removing_is_half_of_replacing() {
        let mut account = Account::default();
        account.book(&gaussian(0.0, 1.0, Relation::AddRemove), Receivers::Link);
        account.book(&gaussian(0.0, 1.0, Relation::ReplaceOne), Receivers::Link);
        assert_eq!(account.lines().len(), 2, "relations are kept apart");
        assert!((account.exposure().record.mu_squared() - 5.0).abs() < 1e-12);
    }

    #[test]
    fn a_budget_allows_what_the_accountant_says() {
        let delta = Delta(1e-5);
        for copies in [1, 3] {
            let budget = Budget::new(Epsilon(1.0), delta, copies);
            for steps in 1..40 {
                let spent = Spent::gaussian(0.02 * f64::from(steps));
                let epsilon = spent.group(copies).bound(delta).epsilon;
                assert_eq!(budget.allows(&spent), epsilon.0 <= 1.0, "{copies} {steps}");
            }
            assert!(!budget.allows(&Spent::laplace(1.001)));
            assert!(budget.allows(&Spent::laplace(0.33)));
            assert!(!budget.allows(&Spent::unbounded()));
        }
    }
}
