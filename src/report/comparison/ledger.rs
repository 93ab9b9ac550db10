//! What each observer learns: the ledger of every run, without what says nothing.

use super::outcome::Outcome;
use super::quantity::Quantity;
use crate::measure::Metric;
use crate::privacy::{Observer, Piece};
use crate::report::{Cell, Column, Record, figure};

/// Two losses closer than this, relatively, are one.
const SAME: f64 = 1e-9;

/// A loss of every run against some observers, who learn the same in each.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Losses {
    piece: Piece,
    observers: Vec<Observer>,
    /// By row; none where there is no record.
    losses: Vec<Option<Loss>>,
}

/// A loss of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Loss {
    /// NaN where the ledger has no line.
    epsilon: f64,
    /// At which it holds, 0 for a pure one; none where it means nothing, since nothing is protected or
    /// nothing learnt.
    delta: Option<f64>,
}

impl Loss {
    fn of(record: &Record, observer: Observer, piece: Piece) -> Self {
        match record.booked(observer, piece) {
            Some(booked) => {
                let told = booked.epsilon.is_finite() && booked.epsilon != 0.0;
                Self { epsilon: booked.epsilon, delta: told.then(|| delta(record, booked.pure)) }
            }
            None => Self { epsilon: f64::NAN, delta: None },
        }
    }

    fn same(self, other: Self) -> bool {
        same(self.epsilon, other.epsilon) && self.delta == other.delta
    }
}

/// The δ of what a record's ledger booked.
pub(super) fn delta(record: &Record, pure: bool) -> f64 {
    if pure { 0.0 } else { record.scenario.privacy.delta.0 }
}

/// The losses of these runs, observers who learn the same put together.
pub(super) fn losses(records: &[Option<&Record>]) -> Vec<Losses> {
    let mut all: Vec<Losses> = Vec::new();
    for piece in [Piece::Label, Piece::Features] {
        for observer in Observer::ALL {
            let loss = |record: &Record| Loss::of(record, observer, piece);
            let found: Vec<Option<Loss>> = records.iter().map(|r| r.map(loss)).collect();
            if found.iter().flatten().all(|loss| loss.epsilon.is_nan()) {
                continue;
            }
            let same = |losses: &&mut Losses| {
                let pairs = losses.losses.iter().zip(&found);
                losses.piece == piece && pairs.flat_map(|(a, b)| a.zip(*b)).all(|(a, b)| a.same(b))
            };
            let alike = all.iter_mut().find(same);
            match alike {
                Some(losses) => losses.observers.push(observer),
                None => all.push(Losses { piece, observers: vec![observer], losses: found }),
            }
        }
    }
    all
}

fn same(a: f64, b: f64) -> bool {
    let finite = a.is_finite() && b.is_finite();
    a == b || (a.is_nan() && b.is_nan()) || (finite && (a - b).abs() <= SAME * a.abs().max(b.abs()))
}

/// Whether the ledger says as much as a metric of losses: where it is measured, it is the same in
/// every repeat and the ledger has it.
pub(super) fn tells(records: &[Option<&Record>], quantity: &Quantity) -> bool {
    let (observer, piece) = match Metric::from_name(&quantity.key) {
        Some(Metric::Epsilon) => (Observer::OtherPeers, Piece::Features),
        Some(Metric::EpsilonLabels) => (Observer::OtherPeers, Piece::Label),
        Some(Metric::EpsilonFinal) => (Observer::FinalModel, Piece::Features),
        _ => return false,
    };
    let told = |(record, outcome): (&Option<&Record>, &Outcome)| match outcome {
        Outcome::Missing => true,
        Outcome::Known(values) => {
            let booked = record.and_then(|record| record.booked(observer, piece));
            let booked = booked.map_or(f64::NAN, |booked| booked.epsilon);
            values.iter().all(|(_, value)| same(*value, booked))
        }
        Outcome::Short { .. } | Outcome::Diverged { .. } => false,
    };
    records.iter().zip(&quantity.outcomes).all(told)
}

impl Losses {
    /// Whether it is the same for every run, and so is told once.
    pub(super) fn is_constant(&self) -> bool {
        let mut known = self.losses.iter().flatten();
        known.next().is_none_or(|first| known.all(|other| first.same(*other)))
    }

    /// The piece of data in a word or two.
    fn piece(&self) -> &'static str {
        match self.piece {
            Piece::Label => "a label",
            Piece::Features => "a record",
        }
    }

    fn observers(&self) -> String {
        if self.observers.len() == Observer::ALL.len() {
            return "anybody".to_owned();
        }
        if self.observers == Observer::ALL[1..] {
            return format!("anybody but {}", Observer::ALL[0]);
        }
        let names: Vec<String> = self.observers.iter().map(Observer::to_string).collect();
        match names.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
            None => String::new(),
        }
    }

    /// The head of its column.
    pub(super) fn column(&self) -> Column {
        let at = match self.deltas().as_slice() {
            [] => String::new(),
            [delta] => format!(", δ = {}", figure(*delta)),
            _ => ", δ differs".to_owned(),
        };
        Column::number(format!("{}{at}", self.name()))
    }

    fn name(&self) -> String {
        format!("ε of {} against {}", self.piece(), self.observers())
    }

    /// Every δ at which one of them holds, once.
    fn deltas(&self) -> Vec<f64> {
        let mut deltas: Vec<f64> = self.losses.iter().flatten().filter_map(|l| l.delta).collect();
        deltas.sort_by(f64::total_cmp);
        deltas.dedup();
        deltas
    }

    /// What keeps the rows of these names from being compared, if anything does.
    pub(super) fn warning(&self, names: &[&str]) -> Option<String> {
        let told = names
            .iter()
            .zip(&self.losses)
            .filter_map(|(name, loss)| Some(format!("{name} at δ = {}", figure((*loss)?.delta?))));
        let told = told.collect::<Vec<_>>().join(", ");
        (self.deltas().len() > 1).then(|| {
            format!("{} is not comparable, since rows have different δ: {told}", self.name())
        })
    }

    /// The cell of a run.
    pub(super) fn cell(&self, run: usize) -> Cell {
        self.losses[run].map(|loss| loss.epsilon).into()
    }

    /// In a sentence, for what is the same for every run.
    pub(super) fn told(&self) -> String {
        let (piece, observers) = (self.piece(), self.observers());
        match self.losses.iter().flatten().next() {
            Some(Loss { epsilon, .. }) if epsilon.is_infinite() => {
                format!("ε: no row protects {piece} against {observers}")
            }
            Some(Loss { epsilon, delta }) => {
                let at = match delta {
                    Some(0.0) => ", pure: δ = 0".to_owned(),
                    Some(delta) => format!(", at δ = {}", figure(*delta)),
                    None => String::new(),
                };
                format!("ε: {} of {piece} against {observers} in every row{at}", figure(*epsilon))
            }
            None => String::new(),
        }
    }
}
