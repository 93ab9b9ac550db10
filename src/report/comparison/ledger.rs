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
    /// By row; none where there is no record, NaN where its ledger has no line.
    epsilons: Vec<Option<f64>>,
}

/// The losses of these runs, observers who learn the same put together.
pub(super) fn losses(records: &[Option<&Record>]) -> Vec<Losses> {
    let mut all: Vec<Losses> = Vec::new();
    for piece in [Piece::Label, Piece::Features] {
        for observer in Observer::ALL {
            let epsilon = |record: &Record| {
                record.booked(observer, piece).map_or(f64::NAN, |booked| booked.epsilon)
            };
            let epsilons: Vec<Option<f64>> = records.iter().map(|r| r.map(epsilon)).collect();
            if epsilons.iter().flatten().all(|epsilon| epsilon.is_nan()) {
                continue;
            }
            let same = |losses: &&mut Losses| {
                let pairs = losses.epsilons.iter().zip(&epsilons);
                losses.piece == piece && pairs.flat_map(|(a, b)| a.zip(*b)).all(|(a, b)| same(a, b))
            };
            let alike = all.iter_mut().find(same);
            match alike {
                Some(losses) => losses.observers.push(observer),
                None => all.push(Losses { piece, observers: vec![observer], epsilons }),
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
        let mut known = self.epsilons.iter().flatten();
        known.next().is_none_or(|first| known.all(|other| same(*first, *other)))
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
        Column::number(format!("ε of {} against {}", self.piece(), self.observers()))
    }

    /// The cell of a run.
    pub(super) fn cell(&self, run: usize) -> Cell {
        self.epsilons[run].into()
    }

    /// In a sentence, for what is the same for every run.
    pub(super) fn told(&self) -> String {
        let (piece, observers) = (self.piece(), self.observers());
        match self.epsilons.iter().flatten().next() {
            Some(epsilon) if epsilon.is_infinite() => {
                format!("ε: no row protects {piece} against {observers}")
            }
            Some(epsilon) => {
                format!("ε: {} of {piece} against {observers} in every row", figure(*epsilon))
            }
            None => String::new(),
        }
    }
}
