//! Text in drawings: how wide it will be, where it breaks, how exponents are set.

use super::super::markup::Element;
use super::super::table::width;

/// Fonts that every system has; none is fetched.
pub(super) const FONT: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
/// The size of ordinary text, in units of the view box.
pub(super) const SIZE: f64 = 12.0;
/// The size of titles.
pub(super) const TITLE_SIZE: f64 = 14.0;

/// How wide a text is, about: the font is the reader's, so this errs on the wide side.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.33,
        ' ' | '\u{202f}' | 'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.95,
        c if c.is_ascii_uppercase() => 0.72,
        c if c.is_ascii() => 0.62,
        c => 0.66 * width(c.encode_utf8(&mut [0; 4])) as f64,
    };
    size * text.chars().map(em).sum::<f64>()
}

/// The text, or as much of its beginning as fits with an ellipsis.
pub(super) fn shortened(text: &str, size: f64, room: f64) -> String {
    if text_width(text, size) <= room {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        if text_width(&out, size) + size > room {
            out.pop();
            break;
        }
    }
    out.trim_end().to_owned() + "…"
}

/// The text in at most `most` lines that fit; what does not is shortened.
pub(super) fn wrapped(text: &str, size: f64, room: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let full = lines.len() == most;
        match lines.last_mut() {
            Some(line) if full || text_width(&format!("{line} {word}"), size) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| shortened(line, size, room)).collect()
}

/// A number on an axis: digits, and perhaps a raised exponent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TickLabel {
    pub(super) digits: String,
    pub(super) exponent: Option<i32>,
}

impl TickLabel {
    pub(super) fn plain(digits: String) -> Self {
        Self { digits, exponent: None }
    }

    pub(super) fn width(&self) -> f64 {
        let raised = self.exponent.map_or(0.0, |e| text_width(&signed(e), 0.75 * SIZE));
        text_width(&self.digits, SIZE) + raised
    }

    /// Writes the label into a `<text>` element.
    pub(super) fn write(&self, text: Element) -> Element {
        let text = text.text(&self.digits);
        match self.exponent {
            Some(exponent) => text.with(
                Element::new("tspan")
                    .set("dy", "-0.45em")
                    .set("font-size", 0.75 * SIZE)
                    .text(&signed(exponent)),
            ),
            None => text,
        }
    }
}

fn signed(exponent: i32) -> String {
    exponent.to_string().replace('-', "\u{2212}")
}

/// An exponent in raised Unicode digits, for places where markup cannot go.
pub(super) fn raised(exponent: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => char::from_u32('⁰' as u32 + c as u32 - '0' as u32).unwrap_or(c),
    };
    exponent.to_string().chars().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_rise() {
        assert_eq!(raised(-10), "⁻¹⁰");
        assert_eq!(raised(2_346_789), "²³⁴⁶⁷⁸⁹");
    }

    #[test]
    fn text_breaks_between_words_and_is_cut_at_the_end() {
        let lines = wrapped("one two three four five six", 10.0, 60.0, 2);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0], "one two");
        assert!(lines[1].starts_with("three") && lines[1].ends_with('…'));
        assert!(lines.iter().all(|line| text_width(line, 10.0) <= 60.0 + 10.0));
        assert_eq!(shortened("short", 10.0, 100.0), "short");
        assert!(wrapped("", 10.0, 60.0, 2).is_empty());
    }
}
