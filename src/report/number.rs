//! Numbers for people: as many digits as mean something, and no more.

/// What stands for a number that does not exist.
pub(crate) const MISSING: &str = "–";

/// Where a number will be read, which decides its thousands separator and its minus sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// Terminals and Markdown: a comma, and a hyphen that can be pasted elsewhere.
    Plain,
    /// HTML and SVG: a narrow no-break space and a true minus sign.
    Typeset,
    /// LaTeX: a formula.
    Latex,
}

impl Medium {
    fn finish(self, text: String) -> String {
        match self {
            Self::Plain => text,
            Self::Typeset => text.replace(',', "\u{202f}").replace('-', "\u{2212}"),
            Self::Latex => formula(&text),
        }
    }
}

/// A number of this module as LaTeX sets it: `$97.42 \pm 0.31$`, `$3.2\times10^{-8}$`.
fn formula(text: &str) -> String {
    if text == MISSING {
        return "{--}".to_owned();
    }
    let mut out = String::from("$");
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '±' => out.push_str("\\pm"),
            '∞' => out.push_str("\\infty"),
            // On an empty base: a power may stand before it, and no base takes two.
            '*' => out.push_str("{}^{*}"),
            // A comma before a space stands between numbers, any other within one.
            ',' if rest.peek() != Some(&' ') => out.push_str("{,}"),
            '[' => out.push_str("\\;["),
            'e' => {
                out.push_str("\\times10^{");
                while let Some(digit) = rest.next_if(|c| *c == '-' || c.is_ascii_digit()) {
                    out.push(digit);
                }
                out.push('}');
            }
            c => out.push(c),
        }
    }
    out.push('$');
    out
}

/// A number for people: four significant digits, in scientific notation below 10⁻³ and from
/// 10⁶, whole numbers below 10¹⁵ in full with commas, NaN as "–".
///
/// ```
/// use hushmesh::report::figure;
/// assert_eq!(figure(3.21e-8), "3.21e-8");
/// assert_eq!(figure(1234567.0), "1,234,567");
/// assert_eq!(figure(97.4189), "97.42");
/// ```
pub fn figure(value: f64) -> String {
    if value.is_nan() {
        return MISSING.to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "-∞" }.to_owned();
    }
    if value.fract() == 0.0 && value.abs() < 1e15 {
        // Adding zero turns -0 into 0.
        return grouped(&format!("{:.0}", value + 0.0));
    }
    // Rounding first: 999,999.7 is a million to four digits.
    let scientific = format!("{value:.3e}");
    let (mantissa, exponent) = split_exponent(&scientific);
    match exponent {
        -3..=5 => {
            let decimals = (3 - exponent).max(0) as usize;
            grouped(trim_zeros(&format!("{value:.decimals$}")))
        }
        _ => format!("{}e{exponent}", trim_zeros(mantissa)),
    }
}

pub(crate) fn figure_in(value: f64, medium: Medium) -> String {
    medium.finish(figure(value))
}

/// A mean with its interval, as "97.42 ± 0.31": two significant digits of the half-width, and
/// the mean to the same place.
///
/// An interval that is not symmetric (its sides differ by more than a tenth of its width) is
/// written out as "0.980 [0.910, 0.990]"; without a finite interval the mean stands alone.
pub fn with_interval(mean: f64, low: f64, high: f64) -> String {
    let half = (high - low) / 2.0;
    if !(mean.is_finite() && half.is_finite() && half >= 0.0) {
        return figure(mean);
    }
    if half == 0.0 {
        return format!("{} ± 0", figure(mean));
    }
    let symmetric = ((high - mean) - (mean - low)).abs() <= 0.1 * (high - low);
    let size = decade(mean.abs().max(half));
    let power = if (-3..=5).contains(&size) { 0 } else { size };
    // Digits after the point at which the half-width has two significant ones.
    let decimals = (1 - decade(half) + power).clamp(0, 17) as usize;
    let place = |value: f64| grouped(&scaled(value, power, decimals));
    let text = if symmetric {
        format!("{} ± {}", place(mean), place(half))
    } else {
        format!("{} [{}, {}]", place(mean), place(low), place(high))
    };
    if power == 0 { text } else { format!("({text})e{power}") }
}

pub(crate) fn interval_in(mean: f64, low: f64, high: f64, medium: Medium) -> String {
    medium.finish(with_interval(mean, low, high))
}

/// A difference with its interval, as [`with_interval`] but with its sign, and a star where it is
/// significant: "+37.8 ± 1.1*". What is shown as zero has no sign.
pub fn with_sign(mean: f64, low: f64, high: f64, significant: bool) -> String {
    let text = with_interval(mean, low, high);
    let (bracket, number) = match text.strip_prefix('(') {
        Some(number) => ("(", number),
        None => ("", text.as_str()),
    };
    let shown = number.split(' ').next().unwrap_or(number);
    let is_positive =
        !shown.starts_with('-') && shown.contains(|c: char| ('1'..='9').contains(&c) || c == '∞');
    let sign = if is_positive { "+" } else { "" };
    let star = if significant && !mean.is_nan() { "*" } else { "" };
    format!("{bracket}{sign}{number}{star}")
}

pub(crate) fn difference_in(
    mean: f64,
    low: f64,
    high: f64,
    significant: bool,
    medium: Medium,
) -> String {
    medium.finish(with_sign(mean, low, high, significant))
}

/// A number as short as it can be read back exactly; nothing for what is no number.
pub(crate) fn exact(value: f64) -> String {
    match value.abs() {
        size if size.is_nan() => String::new(),
        size if size.is_infinite() => value.to_string(),
        size if size != 0.0 && !(1e-4..1e16).contains(&size) => format!("{value:e}"),
        _ => value.to_string(),
    }
}

/// An amount of data in decimal units: "512 B", "1.2 MB".
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if count < 1000 {
        return format!("{count} B");
    }
    in_unit(count as f64 / 1e3, &UNITS)
}

/// A duration: "3.2 ms", "12.5 s", "2 min 5 s", "3 h 20 min"; NaN and infinite as [`figure`].
pub fn seconds(duration: f64) -> String {
    if !duration.is_finite() {
        return figure(duration);
    }
    if duration < 0.0 {
        return format!("-{}", seconds(-duration));
    }
    if duration < 0.5e-9 {
        return "0 s".to_owned();
    }
    if duration < 99.95 {
        return in_unit(duration * 1e9, &["ns", "µs", "ms", "s"]);
    }
    let whole = duration.round() as u64;
    match whole {
        0..3600 => format!("{} min {} s", whole / 60, whole % 60),
        3600..360_000 => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} d", grouped(&(whole / 86_400).to_string())),
    }
}

/// The value in the first unit that keeps it below a thousand after rounding.
fn in_unit(mut value: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = if value < 99.95 { 1 } else { 0 };
    format!("{value:.decimals$} {}", units[unit])
}

/// The exponent e of value = m × 10^e with 1 ≤ m < 10, after rounding m to two digits.
fn decade(value: f64) -> i32 {
    split_exponent(&format!("{value:.1e}")).1
}

fn split_exponent(scientific: &str) -> (&str, i32) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    (mantissa, exponent.parse().unwrap_or(0))
}

/// value × 10^-power with the given decimals, by moving the point in the text: dividing by a
/// power of ten would overflow or underflow at the ends of the range.
fn scaled(value: f64, power: i32, decimals: usize) -> String {
    let shifted: f64 = {
        let text = format!("{value:e}");
        let (mantissa, exponent) = split_exponent(&text);
        format!("{mantissa}e{}", exponent - power).parse().unwrap_or(value)
    };
    let text = format!("{shifted:.decimals$}");
    // A negative value that rounds to nothing has lost its sign.
    if text.contains(|c: char| ('1'..='9').contains(&c)) {
        text
    } else {
        text.trim_start_matches('-').to_owned()
    }
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Commas between groups of three in the whole part.
pub(crate) fn grouped(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut out = sign.to_owned();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn figures_have_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (7.0, "7"),
            (-1234.0, "-1,234"),
            (12_345_678.0, "12,345,678"),
            (0.5, "0.5"),
            (97.4189, "97.42"),
            (1234.56, "1,235"),
            (99_999.96, "100,000"),
            (999_999.7, "1e6"),
            (1.5e15, "1.5e15"),
            (0.001, "0.001"),
            (0.000_999_99, "0.001"),
            (0.000_999, "9.99e-4"),
            (3.21e-8, "3.21e-8"),
            (-2.5e-300, "-2.5e-300"),
            (f64::NAN, "–"),
            (f64::INFINITY, "∞"),
            (f64::NEG_INFINITY, "-∞"),
        ] {
            assert_eq!(figure(value), text, "{value:e}");
        }
        assert_eq!(figure_in(-12345.0, Medium::Typeset), "\u{2212}12\u{202f}345");
    }

    #[test]
    fn intervals_share_their_last_place() {
        for ((mean, low, high), text) in [
            ((97.4189, 97.11, 97.73), "97.42 ± 0.31"),
            ((0.5, 0.25, 0.75), "0.50 ± 0.25"),
            ((12.0, 2.0, 22.0), "12 ± 10"),
            ((123_456.0, 121_000.0, 125_912.0), "123,456 ± 2,456"),
            ((3.21e-8, 3.11e-8, 3.31e-8), "(3.21 ± 0.10)e-8"),
            ((0.98, 0.91, 0.99), "0.980 [0.910, 0.990]"),
            ((5.0, 5.0, 5.0), "5 ± 0"),
            ((5.25, f64::NAN, f64::NAN), "5.25"),
            ((f64::NAN, 0.0, 1.0), "–"),
            ((-0.001, -0.101, 0.099), "0.00 ± 0.10"),
        ] {
            assert_eq!(with_interval(mean, low, high), text);
        }
    }

    #[test]
    fn differences_have_a_sign_and_a_star_where_they_are_significant() {
        for ((mean, low, high, significant), text) in [
            ((37.8, 36.7, 38.9, true), "+37.8 ± 1.1*"),
            ((-2.1, -2.54, -1.66, false), "-2.10 ± 0.44"),
            ((3.21e-8, 3.11e-8, 3.31e-8, true), "(+3.21 ± 0.10)e-8*"),
            ((-3.21e-8, -3.31e-8, -3.11e-8, false), "(-3.21 ± 0.10)e-8"),
            ((0.98, 0.91, 0.99, true), "+0.980 [0.910, 0.990]*"),
            ((0.001, -0.099, 0.101, false), "0.00 ± 0.10"),
            ((0.0, 0.0, 0.0, false), "0 ± 0"),
            ((4.5e7, f64::NAN, f64::NAN, false), "+45,000,000"),
            ((f64::INFINITY, f64::NAN, f64::NAN, false), "+∞"),
            ((f64::NAN, 0.0, 1.0, true), "–"),
        ] {
            assert_eq!(with_sign(mean, low, high, significant), text);
        }
        let typeset = difference_in(-2.1, -2.5, -1.7, true, Medium::Typeset);
        assert_eq!(typeset, "\u{2212}2.10 ± 0.40*");
    }

    #[test]
    fn latex_has_formulas() {
        for (value, text) in [
            (3.2e-8, r"$3.2\times10^{-8}$"),
            (1_234_567.0, "$1{,}234{,}567$"),
            (-0.5, "$-0.5$"),
            (f64::NEG_INFINITY, r"$-\infty$"),
            (f64::NAN, "{--}"),
        ] {
            assert_eq!(figure_in(value, Medium::Latex), text);
        }
        let interval = |mean, low, high| interval_in(mean, low, high, Medium::Latex);
        assert_eq!(interval(97.4189, 97.11, 97.73), r"$97.42 \pm 0.31$");
        assert_eq!(interval(3.21e-8, 3.11e-8, 3.31e-8), r"$(3.21 \pm 0.10)\times10^{-8}$");
        assert_eq!(interval(0.98, 0.91, 0.99), r"$0.980 \;[0.910, 0.990]$");
        let difference = difference_in(3.2e-8, 3.1e-8, 3.3e-8, true, Medium::Latex);
        assert_eq!(difference, r"$(+3.20 \pm 0.10)\times10^{-8}{}^{*}$");
    }

    #[test]
    fn amounts_take_the_fitting_unit() {
        let data: Vec<_> = [0, 999, 1000, 1_234_567, 999_499, 999_500, u64::MAX].map(bytes).into();
        assert_eq!(data, ["0 B", "999 B", "1.0 kB", "1.2 MB", "999 kB", "1.0 MB", "18.4 EB"]);
        let times: Vec<_> = [0.0, 1e-9, 3.2e-3, 0.9996, 12.5, 99.96, 125.0, 12_000.0, 1e6, -0.5]
            .map(seconds)
            .into();
        let texts = [
            "0 s",
            "1.0 ns",
            "3.2 ms",
            "1.0 s",
            "12.5 s",
            "1 min 40 s",
            "2 min 5 s",
            "3 h 20 min",
            "11 d",
            "-500 ms",
        ];
        assert_eq!(times, texts);
    }

    proptest! {
        #[test]
        fn a_figure_is_within_half_of_its_last_digit(value in proptest::num::f64::NORMAL) {
            let back: f64 = figure(value).replace(',', "").parse().unwrap();
            prop_assert!((back / value - 1.0).abs() <= 5.1e-4);
        }

        #[test]
        fn no_interval_panics(mean: f64, low: f64, high: f64, time: f64, count: u64) {
            prop_assert!(!with_interval(mean, low, high).is_empty());
            prop_assert!(!seconds(time).is_empty() && !bytes(count).is_empty());
        }
    }
}
