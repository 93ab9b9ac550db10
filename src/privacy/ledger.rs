//! The books: what each peer has released, computed from what it sent.

use serde::{Deserialize, Serialize};

use super::Spent;
use super::released::{Batches, Charge, Mechanism, Part, Pieces, Records, Relation, Sensitivity};
use super::spent::gaussian_square;
use crate::units::{Delta, Epsilon};

/// Who gets to see one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Receivers {
    /// The peer at the other end of one link.
    Link,
    /// All neighbours, the same value.
    Neighbours,
    /// Whoever it reaches, later and by whatever way: it is passed on, and published in the end.
    Everybody,
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
    /// By normal noise in a sum of several peers' parts: the cost has [two sides](Line::outside).
    Pooled,
    /// By normal noise, on some batches of the records, of which one may be replaced by another: the
    /// cost is kept [by batch](Account::batches).
    Batches,
}

impl Protection {
    /// Of what concerns all records.
    fn of(part: &Part) -> Self {
        match *part {
            Part::Clear(pieces) => Self::Clear(pieces),
            Part::Pooled { .. } => Self::Pooled,
            Part::Noisy { mechanism: Mechanism::Gaussian { .. }, relation, .. } => {
                Self::Gaussian(relation)
            }
            Part::Noisy { mechanism: Mechanism::Laplace { .. }, relation, .. } => {
                Self::Laplace(relation)
            }
        }
    }

    /// How many steps between its neighbours lead to a data set in which one record is replaced. To
    /// replace is to remove and to add: a group of two. What is in the clear costs everything between
    /// any.
    fn steps_to_replace(self) -> usize {
        match self {
            Self::Gaussian(Relation::AddRemove) | Self::Laplace(Relation::AddRemove) => 2,
            _ => 1,
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
    /// What they cost together where only a label differs; nothing here for those of batches.
    pub label: Spent,
    /// What they cost together where a whole record differs; nothing here for those of batches.
    pub record: Spent,
    /// Both against those who know nobody's part of the noise, where that is another figure.
    pub outside: Option<Box<[Spent; 2]>>,
}

/// One peer's account: a line per kind of release, never one per message. Costs of Gaussian releases
/// add up to one number, whatever their scales, so its size does not grow with the rounds.
///
/// A record is in one batch, so that releases of other batches tell nothing about it (parallel
/// composition between neighbours that differ by replacing one), while those of its own add up. Such
/// releases are booked by batch where noise is Gaussian, one record may replace another and the cut
/// is that of the first of them. Any other release of batches is booked as if it concerned every
/// record as much as the one that it concerns most.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    lines: Vec<Line>,
    /// What the only line is about, where that is in the clear: most peers never release anything else,
    /// and then their lines need not come from memory in every round.
    same: Option<(Pieces, Receivers)>,
    /// How many of those are not on the line yet.
    again: u64,
    batches: Option<Box<OfBatches>>,
}

/// Costs of releases that are booked by batch.
#[derive(Clone, Debug, PartialEq)]
struct OfBatches {
    /// Σμ² of every batch, for a label and for a record.
    sums: Vec<[f64; 2]>,
    /// The greatest over batches of either.
    worst: [f64; 2],
}

impl OfBatches {
    fn new(batches: usize) -> Self {
        Self { sums: vec![[0.0; 2]; batches], worst: [0.0; 2] }
    }

    /// Adds to the costs of a batch.
    #[inline]
    fn add(&mut self, batch: usize, more: [f64; 2]) {
        for ((sum, worst), more) in self.sums[batch].iter_mut().zip(&mut self.worst).zip(more) {
            *sum += more;
            *worst = worst.max(*sum);
        }
    }
}

/// Gaussian noise on batches.
#[derive(Clone, Copy)]
struct Cut {
    batches: Batches,
    deviation: f64,
    sensitivity: Sensitivity,
}

impl Cut {
    /// μ² for a label and for a record of a batch that was used so often.
    fn squares(&self, uses: u32) -> [f64; 2] {
        // What does not depend on the data costs nothing, whatever the noise.
        let square = |by: f64| if by == 0.0 { 0.0 } else { gaussian_square(by / self.deviation) };
        self.sensitivity.of_uses(uses).map(square).map(rounded_up)
    }
}

/// Rounded up to 40 binary digits, some 1e-12 of it. Up to thousands of such numbers of about the same
/// size add up without rounding, so that the sum does not depend on which token came first.
fn rounded_up(square: f64) -> f64 {
    const REST: u64 = (1 << 12) - 1;
    f64::from_bits((square.to_bits() + REST) & !REST)
}

impl Account {
    /// So many costs of a batch, none more than twice another, add up without rounding.
    pub const EXACT_SUMMANDS: u64 = 2048;

    /// Books one release.
    #[inline]
    pub fn book(&mut self, charge: &Charge, receivers: Receivers) {
        if let Charge::One(Part::Clear(pieces)) = *charge
            && self.same == Some((pieces, receivers))
        {
            // As so often before: there is nothing more to tell.
            self.again += 1;
        } else {
            self.book_anything(charge, receivers);
        }
    }

    fn book_anything(&mut self, charge: &Charge, receivers: Receivers) {
        for part in charge.parts() {
            match self.cut(part, charge) {
                Some(cut) => {
                    self.book_batches(&cut);
                    self.line(Protection::Batches, receivers).count += 1;
                }
                None => {
                    let line = self.line(Protection::of(part), receivers);
                    line.count += 1;
                    let worst = line.label.is_unbounded() && line.record.is_unbounded();
                    if worst && line.outside.is_none() {
                        continue;
                    }
                    let [label, record] = part.cost();
                    line.label.add(&label);
                    line.record.add(&record);
                    if let Some(more) = part.outside() {
                        let outside = line.outside.get_or_insert_default();
                        outside.iter_mut().zip(&more).for_each(|(sum, more)| sum.add(more));
                    }
                }
            }
        }
    }

    /// Adds the releases of another account of the same peer.
    pub(crate) fn merge(&mut self, other: &Self) {
        for line in &other.lines() {
            let own = self.line(line.protection, line.receivers);
            own.count += line.count;
            own.label.add(&line.label);
            own.record.add(&line.record);
            if let Some(more) = &line.outside {
                let outside = own.outside.get_or_insert_default();
                outside.iter_mut().zip(&**more).for_each(|(sum, more)| sum.add(more));
            }
        }
        if let Some(more) = &other.batches {
            let batches = more.sums.len();
            let own = self.batches.get_or_insert_with(|| OfBatches::new(batches).into());
            own.sums.resize(own.sums.len().max(batches), [0.0; 2]);
            more.sums.iter().enumerate().for_each(|(batch, more)| own.add(batch, *more));
        }
    }

    /// The line of a kind; a new one for the first of it.
    fn line(&mut self, protection: Protection, receivers: Receivers) -> &mut Line {
        if let [line] = &mut *self.lines {
            line.count += std::mem::take(&mut self.again);
        }
        let same = |line: &Line| line.protection == protection && line.receivers == receivers;
        let place = self.lines.iter().position(same).unwrap_or_else(|| {
            let (label, record) = (Spent::default(), Spent::default());
            let line = Line { protection, receivers, count: 0, label, record, outside: None };
            self.lines.push(line);
            self.lines.len() - 1
        });
        self.same = match (&*self.lines, protection) {
            ([_], Protection::Clear(pieces)) => Some((pieces, receivers)),
            _ => None,
        };
        &mut self.lines[place]
    }

    /// The part as one that is booked by batch, if it can be: in the cut that is in the books, or in
    /// that of the first such part of the charge.
    fn cut(&self, part: &Part, charge: &Charge) -> Option<Cut> {
        let cut = Self::by_batch(part)?;
        let of = match &self.batches {
            None => charge.parts().iter().find_map(Self::by_batch)?.batches.of as usize,
            Some(batches) => batches.sums.len(),
        };
        (cut.batches.of as usize == of).then_some(cut)
    }

    /// The part as one that is booked by batch, if it is of that kind.
    fn by_batch(part: &Part) -> Option<Cut> {
        match *part {
            Part::Noisy {
                mechanism: Mechanism::Gaussian { deviation },
                sensitivity,
                records: Records::Batches(batches),
                relation: Relation::ReplaceOne,
            } if batches.of > 0 => Some(Cut { batches, deviation, sensitivity }),
            _ => None,
        }
    }

    fn book_batches(&mut self, cut: &Cut) {
        let Cut { batches, .. } = *cut;
        let own = self.batches.get_or_insert_with(|| OfBatches::new(batches.of as usize).into());
        if batches.count == 1 {
            // What most releases are: one use of one batch.
            return own.add((batches.first % batches.of) as usize, cut.squares(1));
        }
        // A batch has been used as often as the whole range goes round, or once more.
        let rounds = batches.count / batches.of;
        let squares = [rounds, rounds.saturating_add(1)].map(|uses| cut.squares(uses));
        for batch in batches.iter() {
            own.add(batch as usize, squares[usize::from(batches.uses(batch) > rounds)]);
        }
    }

    /// The lines, in the order of their first release.
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = self.lines.clone();
        if let [line] = &mut *lines {
            line.count += self.again;
        }
        lines
    }

    /// Σμ² of the Gaussian releases of each batch, where only a label of it differs and where a whole
    /// record does, besides what the releases of all records cost; empty where there was none.
    pub fn batches(&self) -> &[[f64; 2]] {
        self.batches.as_ref().map_or(&[], |batches| &batches.sums)
    }

    /// What all releases together tell about one record, between neighbours that differ by
    /// replacing one: whoever sees a peer's links, or only its last message, knows no more. It is
    /// what the releases of all records cost and, on top, those of the worst batch.
    pub fn exposure(&self) -> Exposure {
        let mut exposure = self.of_all_records();
        exposure.add_squares(self.batches.as_ref().map_or([0.0; 2], |batches| batches.worst));
        exposure
    }

    /// What the releases that concern all records tell about one.
    fn of_all_records(&self) -> Exposure {
        let mut exposure = Exposure::default();
        for line in &self.lines {
            exposure.add(line);
        }
        exposure.clear += self.again;
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
    /// Both against those who see sums of several peers' parts and know nobody's part of the noise,
    /// where that is another figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<Box<[Spent; 2]>>,
}

impl Exposure {
    /// Adds releases of one kind.
    fn add(&mut self, line: &Line) {
        if matches!(line.protection, Protection::Clear(_)) {
            self.clear += line.count;
        }
        let steps = line.protection.steps_to_replace();
        let group = |spent: &Spent| if steps == 1 { spent.clone() } else { spent.group(steps) };
        let outside = line.outside.as_deref().map(|costs| costs.each_ref().map(group));
        self.spend([group(&line.label), group(&line.record)], outside);
    }

    /// Adds costs for a label and for a record; those against outsiders are the same unless given.
    fn spend(&mut self, [label, record]: [Spent; 2], outside: Option<[Spent; 2]>) {
        if outside.is_some() || self.outside.is_some() {
            let more = outside.unwrap_or_else(|| [label.clone(), record.clone()]);
            let sums = self.outside_mut();
            sums.iter_mut().zip(&more).for_each(|(sum, more)| sum.add(more));
        }
        self.label.add(&label);
        self.record.add(&record);
    }

    /// Adds Σμ² of Gaussian releases, for a label and for a record.
    fn add_squares(&mut self, squares: [f64; 2]) {
        self.spend(squares.map(Spent::gaussian_squares), None);
    }

    /// The cost for a label and for a record against those who know nobody's part of the noise.
    pub fn outside(&self) -> [&Spent; 2] {
        match &self.outside {
            Some(costs) => costs.each_ref(),
            None => [&self.label, &self.record],
        }
    }

    fn outside_mut(&mut self) -> &mut [Spent; 2] {
        let Self { label, record, outside, .. } = self;
        outside.get_or_insert_with(|| Box::new([label.clone(), record.clone()]))
    }

    /// What several kinds of releases tell together about one record.
    pub fn total<'a>(exposures: impl IntoIterator<Item = &'a Self>) -> Self {
        exposures.into_iter().fold(Self::default(), |mut total, next| {
            total.clear += next.clear;
            let outside = next.outside.as_deref().cloned();
            total.spend([next.label.clone(), next.record.clone()], outside);
            total
        })
    }

    /// The greatest cost of several peers, and all their releases in the clear: what can be said of
    /// every record, whoever holds it.
    pub fn worst<'a>(exposures: impl IntoIterator<Item = &'a Self>) -> Self {
        exposures.into_iter().fold(Self::default(), |mut worst, peer| {
            worst.clear += peer.clear;
            if worst.outside.is_some() || peer.outside.is_some() {
                let sums = worst.outside_mut();
                sums.iter_mut().zip(peer.outside()).for_each(|(sum, more)| sum.raise(more));
            }
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

    /// (ε, δ) for a record of this [`repetition`](super::repetition), at least 1, whose batches release
    /// with Gaussian noise.
    pub fn of_batches(epsilon: Epsilon, delta: Delta, repetition: f64) -> Self {
        let mu = super::gaussian_mu(epsilon, delta);
        let copies = repetition.ceil() as usize;
        Self { epsilon, delta, copies, mu_squared: mu * mu / repetition }
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
mod tests;
