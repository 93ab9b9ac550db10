//! One column of a comparison: a figure of every run, and how it differs from the first run's.

use serde_json::{Value, json};

use super::outcome::Outcome;
use crate::measure::{Estimate, Paired, holm};
use crate::report::{Cell, Column};

/// The probability of any false star in a column.
pub(super) const LEVEL: f64 = 0.05;

/// How much more a run has than the first one, repeat by repeat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The mean of the differences, and the test of it.
    pub paired: Paired,
    /// Over how many repeats.
    pub pairs: usize,
    /// Whether it is significant among all of its column.
    pub significant: bool,
}

/// A figure of every run.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Its name in files.
    pub key: String,
    /// Its name for people.
    pub head: String,
    /// The unit of its table column, and how many of the figure's own make one.
    pub unit: Option<(&'static str, f64)>,
    /// By run.
    pub outcomes: Vec<Outcome>,
    /// The differences to the first run, by run; none where there is nothing to compare.
    pub differences: Vec<Option<Difference>>,
}

impl Quantity {
    /// The column of these outcomes, compared with the first one if repeats are `paired`.
    pub(super) fn new(key: &str, head: String, outcomes: Vec<Outcome>, paired: bool) -> Self {
        let mut differences: Vec<Option<Difference>> = match outcomes.first() {
            Some(first) if paired => outcomes
                .iter()
                .enumerate()
                .map(|(at, outcome)| if at == 0 { None } else { difference(outcome, first) })
                .collect(),
            _ => vec![None; outcomes.len()],
        };
        let p_values: Vec<Option<f64>> =
            differences.iter().map(|d| d.as_ref()?.paired.p_value).collect();
        for (difference, significant) in differences.iter_mut().zip(holm(&p_values, LEVEL)) {
            if let Some(difference) = difference {
                difference.significant = significant;
            }
        }
        Self { key: key.to_owned(), head, unit: None, outcomes, differences }
    }

    /// The same in the decimal unit that fits the greatest of its means.
    pub(super) fn in_bytes(mut self) -> Self {
        let greatest = self.outcomes.iter().filter_map(|o| o.estimate().mean).fold(0.0, f64::max);
        let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
        let fitting = units.into_iter().find(|(_, size)| greatest >= *size);
        self.unit = Some(fitting.unwrap_or(("B", 1.0)));
        self
    }

    /// Whether no run has anything to show.
    pub(in crate::report) fn is_empty(&self) -> bool {
        self.outcomes.iter().all(|outcome| *outcome == Outcome::Missing)
    }

    /// Whether there is a difference to show: not where all of them are nothing, nor where chance has
    /// no part in any figure.
    pub(super) fn has_differences(&self) -> bool {
        let mut known = self.differences.iter().flatten();
        let alone = |difference: &Difference| difference.pairs == 1;
        let chance = self.outcomes.iter().any(Outcome::varies) || known.clone().any(alone);
        chance
            && known.any(|d| d.paired.difference.mean != Some(0.0) || d.paired.p_value != Some(1.0))
    }

    /// Whether anything has a star.
    pub(super) fn has_stars(&self) -> bool {
        self.differences.iter().flatten().any(|difference| difference.significant)
    }

    /// The heads of its columns.
    pub(in crate::report) fn columns(&self) -> Vec<Column> {
        let of = |head: String| match self.unit {
            Some((unit, _)) => Column::number(head).unit(unit),
            None => Column::number(head),
        };
        let mut columns = vec![of(self.head.clone())];
        if self.has_differences() {
            let short = self.head.strip_prefix("final ").unwrap_or(&self.head);
            let short = short.strip_suffix(" to target").unwrap_or(short);
            let short = short.strip_suffix(" at the end").unwrap_or(short);
            columns.push(of(format!("Δ {short}")));
        }
        columns
    }

    /// The cells of a run.
    pub(in crate::report) fn cells(&self, run: usize) -> Vec<Cell> {
        let unit = self.unit.map_or(1.0, |(_, size)| size);
        let mut cells = vec![self.outcomes[run].cell(unit)];
        if self.has_differences() {
            cells.push(self.differences[run].map_or(Cell::Missing, |difference| {
                let Difference { paired, significant, .. } = difference;
                let Estimate { mean, low, high } = paired.difference;
                let part = |end: Option<f64>| end.unwrap_or(f64::NAN) / unit;
                let (mean, low, high) = (part(mean), part(low), part(high));
                Cell::Difference { mean, low, high, significant }
            }));
        }
        cells
    }

    /// A run's figure as a file has it.
    pub(in crate::report) fn to_json(&self, run: usize) -> Value {
        let mut json = self.outcomes[run].to_json();
        if let Some(Difference { paired, pairs, significant }) = self.differences[run] {
            let Estimate { mean, low, high } = paired.difference;
            json["difference"] = json!({
                "mean": mean, "low": low, "high": high,
                "p_value": paired.p_value, "pairs": pairs, "significant": significant,
            });
        }
        json
    }
}

/// The difference over the repeats that both have.
fn difference(outcome: &Outcome, first: &Outcome) -> Option<Difference> {
    let pairs = pairs(outcome, first)?;
    let (values, firsts): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let paired = Paired::of(&values, &firsts);
    paired.difference.mean?;
    Some(Difference { paired, pairs: pairs.len(), significant: false })
}

/// The values of the repeats that both have, a pair each.
fn pairs(outcome: &Outcome, first: &Outcome) -> Option<Vec<(f64, f64)>> {
    let (values, firsts) = (outcome.values()?, first.values()?);
    let pairs = values.iter().filter_map(|(repeat, value)| {
        let (_, first) = firsts.iter().find(|(other, _)| other == repeat)?;
        Some((*value, *first))
    });
    let pairs: Vec<(f64, f64)> = pairs.collect();
    (!pairs.is_empty()).then_some(pairs)
}

/// How many times as much: the geometric mean over repeats of value/first, with the interval that
/// Student's law gives to its logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio.
    pub ratio: f64,
    /// Its 95 % interval, where there are repeats to tell.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    /// The ratio of the repeats that both have; of means, and without an interval, where repeats
    /// are not paired. Only positive figures have one.
    pub fn of(outcome: &Outcome, first: &Outcome, paired: bool) -> Option<Self> {
        let positive = |(a, b): &(f64, f64)| *a > 0.0 && *b > 0.0 && (a / b).is_finite();
        if !paired {
            let means = (outcome.estimate().mean?, first.estimate().mean?);
            return positive(&means).then(|| Self { ratio: means.0 / means.1, interval: None });
        }
        let pairs = pairs(outcome, first)?;
        if !pairs.iter().all(positive) {
            return None;
        }
        let logarithms: Vec<f64> =
            pairs.iter().map(|(value, first)| (value / first).ln()).collect();
        let Estimate { mean, low, high } = Estimate::of(&logarithms);
        let interval = low.zip(high).filter(|(low, high)| high > low);
        let interval = interval.map(|(low, high)| (low.exp(), high.exp()));
        Some(Self { ratio: mean?.exp(), interval })
    }

    /// In words, such as "1.3 times (1.2 to 1.4) as many rounds".
    pub(super) fn told(&self, what: &str) -> String {
        let decimals = |value: f64| match value {
            value if value >= 99.95 => format!("{value:.0}"),
            value if value >= 9.995 => format!("{value:.1}"),
            value if value >= 0.0995 => format!("{value:.2}"),
            value => crate::report::figure(value),
        };
        let short = |value: f64| match decimals(value) {
            text if text.contains('.') && !text.contains('e') => {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            text => text,
        };
        match self.interval.map(|(low, high)| (decimals(low), decimals(high))) {
            Some((low, high)) if low != high => {
                format!("{} times ({low} to {high}) {what}", decimals(self.ratio))
            }
            _ if short(self.ratio) == "1" => format!("just {what}"),
            _ => format!("{} times {what}", short(self.ratio)),
        }
    }
}
