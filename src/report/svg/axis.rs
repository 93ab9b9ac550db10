//! Axes: what range they show and where their ticks stand.

use serde::{Deserialize, Serialize};

use super::super::number::grouped;
use super::lettering::{TickLabel, raised};

/// How values become lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Equal differences, equal lengths.
    #[default]
    Linear,
    /// Equal ratios, equal lengths; only positive values have a place.
    Log,
}

/// One axis of a plot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// What is measured.
    pub label: String,
    /// In which unit, if it has one.
    pub unit: Option<String>,
    /// How values become lengths.
    pub scale: Scale,
}

impl Axis {
    /// A linear axis without a unit.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// A logarithmic axis without a unit.
    pub fn log(label: impl Into<String>) -> Self {
        Self { scale: Scale::Log, ..Self::linear(label) }
    }

    /// The same axis with a unit.
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// The label with the unit and, where the ticks leave one out, the power of ten.
    pub(super) fn title(&self, power: i32) -> String {
        let factor = (power != 0).then(|| format!("×10{}", raised(power)));
        match (factor, &self.unit) {
            (None, None) => self.label.clone(),
            (None, Some(unit)) => format!("{} ({unit})", self.label),
            (Some(factor), None) => format!("{} ({factor})", self.label),
            (Some(factor), Some(unit)) => format!("{} ({factor} {unit})", self.label),
        }
    }
}

/// Beyond this a value counts as diverged: twice it must not overflow.
const LARGEST: f64 = 1e300;

impl Scale {
    /// Where a value stands on the axis (its logarithm on a log axis), if it has a place.
    pub(super) fn place(self, value: f64) -> Option<f64> {
        match self {
            _ if value.is_nan() || value.abs() > LARGEST => None,
            Self::Linear => Some(value),
            Self::Log => (value > 0.0).then(|| value.log10()),
        }
    }
}

/// The range of an axis in places: values on a linear axis, logarithms on a log axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Range {
    /// The least range that holds all places; 0 to 1 if there is none.
    ///
    /// A range too narrow for its ticks to differ in print is widened.
    pub(super) fn around(places: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = places
            .into_iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), p| (l.min(p), h.max(p)));
        if low > high {
            return Self { low: 0.0, high: 1.0 };
        }
        let size = low.abs().max(high.abs());
        if high - low > 1e-7 * size && high - low > 1e-290 {
            return Self { low, high };
        }
        let margin = if size > 1e-290 { 0.05 * size } else { 1.0 };
        Self { low: low - margin, high: high + margin }
    }

    pub(super) fn span(self) -> f64 {
        self.high - self.low
    }

    /// The same range with a fraction of its span added on both sides.
    pub(super) fn padded(self, fraction: f64) -> Self {
        let margin = fraction * self.span();
        Self { low: self.low - margin, high: self.high + margin }
    }

    /// The same range from zero, if it starts just above.
    pub(super) fn starting_at_zero_if_near(self) -> Self {
        let near = self.low > 0.0 && self.low < 0.05 * self.span();
        Self { low: if near { 0.0 } else { self.low }, ..self }
    }

    /// The same range ending on ticks.
    pub(super) fn rounded_out(self, most: usize) -> Self {
        let step = Step::nice(self.span(), most);
        let (first, last) = (self.low / step.size(), self.high / step.size());
        Self { low: step.times((first + 1e-9).floor()), high: step.times((last - 1e-9).ceil()) }
    }

    /// How far along the range a place is: 0 at the low end, 1 at the high end.
    pub(super) fn fraction(self, place: f64) -> f64 {
        (place - self.low) / self.span()
    }
}

/// A distance between ticks: 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy, Debug)]
struct Step {
    factor: f64,
    exponent: i32,
}

impl Step {
    /// The least step that divides the span into at most `most` parts.
    fn nice(span: f64, most: usize) -> Self {
        let least = span / most.max(1) as f64;
        let exponent = least.log10().floor() as i32;
        let unit = Self { factor: 1.0, exponent };
        let ratio = least / unit.size();
        let fits = |factor: f64| ratio <= factor * (1.0 + 1e-9);
        match [1.0, 2.0, 5.0].into_iter().find(|&factor| fits(factor)) {
            Some(factor) => Self { factor, exponent },
            None => Self { factor: 1.0, exponent: exponent + 1 },
        }
    }

    fn size(self) -> f64 {
        self.times(1.0)
    }

    /// A multiple, dividing where the exponent is negative: 3 / 10 is nearer to 0.3 than 3 × 0.1.
    fn times(self, count: f64) -> f64 {
        let power = 10f64.powi(self.exponent.abs());
        if self.exponent < 0 { count * self.factor / power } else { count * self.factor * power }
    }
}

/// A mark on an axis; only those with a label have a grid line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) place: f64,
    pub(super) label: Option<TickLabel>,
}

/// The ticks of an axis, and the power of ten that their labels leave out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ticks {
    pub(super) marks: Vec<Tick>,
    pub(super) power: i32,
}

impl Ticks {
    /// Ticks for a range: about `most` labelled ones.
    pub(super) fn new(scale: Scale, range: Range, most: usize) -> Self {
        match scale {
            Scale::Linear => Self::linear(range, most),
            Scale::Log => Self::log(range, most),
        }
    }

    /// The multiples of a 1-2-5 step.
    fn linear(range: Range, most: usize) -> Self {
        let step = Step::nice(range.span(), most);
        let first = (range.low / step.size() - 1e-9).ceil() as i64;
        let last = (range.high / step.size() + 1e-9).floor() as i64;
        let largest = step.times(first.abs().max(last.abs()) as f64).max(step.size());
        // The same limits as for figures in tables, so that a plot and its table agree.
        let size = (largest * (1.0 + 1e-12)).log10().floor() as i32;
        let power = if (-3..=5).contains(&size) { 0 } else { size };
        let decimals = (power - step.exponent).max(0) as usize;
        let shown = Step { exponent: step.exponent - power, ..step };
        let marks = (first..=last).map(|k| {
            let digits = grouped(&format!("{:.decimals$}", shown.times(k as f64)));
            let digits = digits.replace(',', "\u{202f}").replace('-', "\u{2212}");
            Tick { place: step.times(k as f64), label: Some(TickLabel::plain(digits)) }
        });
        Self { marks: marks.collect(), power }
    }

    /// Decades, thinned where there are many; parts of decades where there are few.
    fn log(range: Range, most: usize) -> Self {
        let first = (range.low - 1e-9).ceil() as i32;
        let last = (range.high + 1e-9).floor() as i32;
        let decades = (last - first + 1).max(0) as usize;
        if decades < 3 {
            return Self::within_decades(range, most);
        }
        let every = [1, 2, 3, 5, 10, 20, 50]
            .into_iter()
            .find(|&every| {
                (last.div_euclid(every) - (first - 1).div_euclid(every)) as usize <= most
            })
            .unwrap_or(100);
        let mut marks = Vec::new();
        for exponent in first - 1..=last {
            let label = (exponent.rem_euclid(every) == 0)
                .then(|| TickLabel { digits: "10".to_owned(), exponent: Some(exponent) });
            // Marks for the decades in between, unless they would run together.
            if label.is_some() || every < 10 {
                marks.push(Tick { place: f64::from(exponent), label });
            }
            if every == 1 {
                let minor = |m: i32| f64::from(exponent) + f64::from(m).log10();
                marks.extend((2..10).map(|m| Tick { place: minor(m), label: None }));
            }
        }
        marks.retain(|tick| (-1e-9..=1.0 + 1e-9).contains(&range.fraction(tick.place)));
        Self { marks, power: 0 }
    }

    /// For a range of a few decades at most: 1-2-5, else every digit, else even steps.
    fn within_decades(range: Range, most: usize) -> Self {
        let (first, last) = (range.low.floor() as i32, range.high.floor() as i32);
        for mantissas in [&[1, 2, 5][..], &[1, 2, 3, 4, 5, 6, 7, 8, 9]] {
            let marks: Vec<Tick> = (first..=last)
                .flat_map(|e| mantissas.iter().map(move |&m| (m, e)))
                .map(|(m, e)| (m, e, f64::from(e) + f64::from(m).log10()))
                .filter(|&(_, _, place)| (-1e-9..=1.0 + 1e-9).contains(&range.fraction(place)))
                .map(|(m, e, place)| Tick { place, label: Some(label(m, e, first, last)) })
                .collect();
            if (3..=most + 2).contains(&marks.len()) {
                return Self { marks, power: 0 };
            }
        }
        // So short a range is nearly linear; outside what doubles can hold it stays bare.
        let ends = Range { low: 10f64.powf(range.low), high: 10f64.powf(range.high) };
        let even = Self::linear(Range::around([ends.low, ends.high]), most);
        let placed = even.marks.into_iter().filter_map(|tick| {
            let place = Scale::Log.place(tick.place)?;
            (0.0..=1.0).contains(&range.fraction(place)).then_some(Tick { place, ..tick })
        });
        Self { marks: placed.collect(), power: even.power }
    }
}

/// m × 10^e on an axis whose decades go from `first` to `last`: in plain digits if all are short.
fn label(m: i32, e: i32, first: i32, last: i32) -> TickLabel {
    if first >= -3 && last <= 4 {
        let decimals = (-e).max(0) as usize;
        let value = Step { factor: f64::from(m), exponent: e }.size();
        let digits = grouped(&format!("{value:.decimals$}")).replace(',', "\u{202f}");
        return TickLabel::plain(digits);
    }
    let digits = if m == 1 { "10".to_owned() } else { format!("{m}×10") };
    TickLabel { digits, exponent: Some(e) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(scale: Scale, low: f64, high: f64) -> (String, i32) {
        let range = Range { low: scale.place(low).unwrap(), high: scale.place(high).unwrap() };
        let ticks = Ticks::new(scale, range, 6);
        let text = |label: TickLabel| match label.exponent {
            Some(exponent) => format!("{}^{exponent}", label.digits),
            None => label.digits,
        };
        let texts: Vec<_> = ticks.marks.into_iter().filter_map(|t| t.label).map(text).collect();
        (texts.join(" "), ticks.power)
    }

    #[test]
    fn linear_ticks_are_multiples_of_one_two_five() {
        for ((low, high), texts, power) in [
            ((0.0, 1.0), "0.0 0.2 0.4 0.6 0.8 1.0", 0),
            ((0.0, 500.0), "0 100 200 300 400 500", 0),
            ((-1.0, 1.0), "−1.0 −0.5 0.0 0.5 1.0", 0),
            ((91.3, 97.2), "92 93 94 95 96 97", 0),
            (
                (0.0, 25_000.0),
                "0 5\u{202f}000 10\u{202f}000 15\u{202f}000 20\u{202f}000 25\u{202f}000",
                0,
            ),
            ((0.0, 3e6), "0.0 0.5 1.0 1.5 2.0 2.5 3.0", 6),
            ((0.0, 4e-5), "0 1 2 3 4", -5),
        ] {
            assert_eq!(labels(Scale::Linear, low, high), (texts.to_owned(), power));
        }
    }

    #[test]
    fn log_ticks_are_decades_thinned_or_split() {
        for ((low, high), texts) in [
            ((1e-3, 10.0), "10^-3 10^-2 10^-1 10^0 10^1"),
            ((1e-14, 1.0), "10^-12 10^-9 10^-6 10^-3 10^0"),
            ((1.0, 50.0), "1 2 5 10 20 50"),
            ((2e-9, 3e-8), "2×10^-9 5×10^-9 10^-8 2×10^-8"),
            ((1.0, 4.0), "1 2 3 4"),
            ((0.91, 0.97), "0.91 0.92 0.93 0.94 0.95 0.96 0.97"),
        ] {
            assert_eq!(labels(Scale::Log, low, high).0, texts);
        }
    }

    #[test]
    fn decades_have_nine_marks_where_there_is_room() {
        let ticks = Ticks::new(Scale::Log, Range { low: 0.0, high: 3.0 }, 6);
        assert_eq!(ticks.marks.len(), 28);
        assert_eq!(ticks.marks.iter().filter(|tick| tick.label.is_some()).count(), 4);
    }

    #[test]
    fn the_title_says_what_the_ticks_leave_out() {
        let axis = Axis::linear("sent").unit("bytes");
        assert_eq!(axis.title(0), "sent (bytes)");
        assert_eq!(axis.title(6), "sent (×10⁶ bytes)");
        assert_eq!(Axis::log("gap").title(0), "gap");
    }

    proptest! {
        #[test]
        fn any_range_has_a_few_finite_ticks(a: f64, b: f64, log: bool) {
            let scale = if log { Scale::Log } else { Scale::Linear };
            let range = Range::around([a, b].into_iter().filter_map(|v| scale.place(v)));
            for range in [range, range.padded(0.04), range.rounded_out(5)] {
                prop_assert!(range.span() > 0.0 && range.span().is_finite());
                let ticks = Ticks::new(scale, range, 6);
                prop_assert!(ticks.marks.len() <= 100);
                let labelled = ticks.marks.iter().filter(|tick| tick.label.is_some()).count();
                prop_assert!(labelled <= 9, "{labelled}");
                for tick in ticks.marks {
                    prop_assert!((-1e-6..=1.0 + 1e-6).contains(&range.fraction(tick.place)));
                }
            }
        }
    }
}
