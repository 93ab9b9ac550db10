//! Tables that read well in a terminal, in Markdown, in HTML and in LaTeX, and as CSV by programs.

mod cell;
mod csv;
mod latex;
mod panels;

pub use cell::Cell;

use serde::{Deserialize, Serialize};

use super::markup::Element;
use super::number::Medium;

/// How the cells of a column stand under each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Alignment {
    Left,
    Right,
    /// Decimal points under each other.
    Decimal,
}

/// A column's head: its name, its unit, and how its cells align.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
    alignment: Alignment,
}

impl Column {
    /// A column of words, aligned left.
    pub fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), unit: None, alignment: Alignment::Left }
    }

    /// A column of numbers, aligned at the decimal point.
    pub fn number(name: impl Into<String>) -> Self {
        Self { alignment: Alignment::Decimal, ..Self::text(name) }
    }

    /// A column of amounts that each carry their own unit (bytes, durations), aligned right.
    pub fn amount(name: impl Into<String>) -> Self {
        Self { alignment: Alignment::Right, ..Self::text(name) }
    }

    /// The unit of all the column's numbers, shown in the head.
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    fn head(&self) -> String {
        printable(&self.titled(""))
    }

    /// The name with an ending, and the unit after both.
    fn titled(&self, ending: &str) -> String {
        match &self.unit {
            Some(unit) => format!("{}{ending} ({unit})", self.name),
            None => format!("{}{ending}", self.name),
        }
    }
}

/// Text of more characters than this may be broken into lines, in HTML.
const BROKEN_WIDTH: usize = 30;

/// Rows of cells under a head.
///
/// ```
/// use hushmesh::report::{Column, Table};
/// let mut table = Table::new([Column::text("graph"), Column::number("gap")]);
/// table.row(["ring".into(), 0.0955.into()]);
/// table.row(["complete".into(), 1.0.into()]);
/// assert_eq!(table.to_text(), "\
/// graph        gap
/// ────────  ──────
/// ring      0.0955
/// complete  1
/// ");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct Table {
    #[serde(skip_serializing_if = "Option::is_none")]
    caption: Option<String>,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// A table as a file has it: its rows may be of any length.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    caption: Option<String>,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl From<Written> for Table {
    fn from(written: Written) -> Self {
        let mut table = Self { caption: written.caption, ..Self::new(written.columns) };
        for row in written.rows {
            table.row(row);
        }
        table
    }
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new(), caption: None }
    }

    /// A sentence above the table, in HTML and LaTeX only.
    pub fn caption(mut self, text: impl Into<String>) -> Self {
        self.caption = Some(text.into());
        self
    }

    /// Adds a row. Places that it leaves open are [`Cell::Missing`]; cells beyond the last
    /// column are left out.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) -> &mut Self {
        let mut row: Vec<Cell> = cells.into_iter().take(self.columns.len()).collect();
        row.resize(self.columns.len(), Cell::Missing);
        self.rows.push(row);
        self
    }

    /// The number of rows under the head.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row under the head.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Aligned text for a terminal, with a line under the head.
    pub fn to_text(&self) -> String {
        self.to_text_within(usize::MAX)
    }

    /// A Markdown table, aligned as plain text too.
    pub fn to_markdown(&self) -> String {
        let (widths, columns) = self.laid_out(|text| markdown(&text));
        let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
        let rules: Vec<String> = (self.columns.iter().zip(&widths))
            .map(|(column, &width)| match column.alignment {
                Alignment::Left => format!(":{}", "-".repeat(width.max(3) - 1)),
                _ => format!("{}:", "-".repeat(width.max(3) - 1)),
            })
            .collect();
        let mut out = line(columns.iter().map(|column| column[0].as_str()).collect());
        out += &line(rules.iter().map(String::as_str).collect());
        for row in 1..=self.rows.len() {
            out += &line(columns.iter().map(|column| column[row].as_str()).collect());
        }
        out
    }

    /// An HTML `<table>`, without a page around it.
    pub fn to_html(&self) -> String {
        self.element().render()
    }

    pub(crate) fn element(&self) -> Element {
        let head = Element::new("tr").with_all(self.columns.iter().map(|column| {
            let head = Element::new("th").set("scope", "col").set("class", column.class());
            let head = head.text(&column.name);
            match &column.unit {
                Some(unit) => head
                    .text(" ")
                    .with(Element::new("span").set("class", "unit").text(&format!("({unit})"))),
                None => head,
            }
        }));
        // Decimal points align because all fractions of a column get the same width.
        let tails: Vec<f64> = (0..self.columns.len())
            .map(|c| {
                let tail = |row: &Vec<Cell>| digits(split_decimal(&row[c].show(Medium::Typeset)).1);
                self.rows.iter().map(tail).fold(0.0, f64::max)
            })
            .collect();
        // Only text that may be broken into lines needs a width of its own.
        let long: Vec<bool> = (0..self.columns.len())
            .map(|c| {
                self.rows.iter().any(|row| width(&row[c].show(Medium::Typeset)) > BROKEN_WIDTH)
            })
            .collect();
        let body = self.rows.iter().map(|row| {
            let cells = row.iter().zip(&self.columns).zip(&tails).enumerate();
            Element::new("tr").with_all(cells.map(|(c, ((cell, column), &tail_width))| {
                let text = cell.show(Medium::Typeset);
                let names_row = c == 0 && column.alignment == Alignment::Left;
                let element = Element::new(if names_row { "th" } else { "td" });
                let element = if names_row { element.set("scope", "row") } else { element };
                let class = column.class();
                let is_long = column.alignment == Alignment::Left && long[c] && !names_row;
                let class = if is_long { format!("{class} long") } else { class.to_string() };
                let element = element.set("class", class);
                let element = match cell {
                    Cell::Text(_) => element,
                    cell => element.set("data-value", csv::fields(cell).join(" ").trim_end()),
                };
                if column.alignment != Alignment::Decimal || tail_width == 0.0 {
                    return element.text(&text);
                }
                let (head, tail) = split_decimal(&text);
                let tail = Element::new("span")
                    .set("class", "tail")
                    .set("style", format!("min-width:{tail_width:.1}ch"))
                    .text(tail);
                element.text(head).with(tail)
            }))
        });
        let mut table = Element::new("table");
        if let Some(caption) = &self.caption {
            table.push(Element::new("caption").with(Element::new("span").text(caption)));
        }
        table.with(Element::new("thead").with(head)).with(Element::new("tbody").with_all(body))
    }

    /// Every column's width and its cells padded to it, the head first.
    fn laid_out(&self, write: impl Fn(String) -> String) -> (Vec<usize>, Vec<Vec<String>>) {
        let padded = self.columns.iter().enumerate().map(|(c, column)| {
            let head = write(column.head());
            let cells: Vec<String> =
                self.rows.iter().map(|row| write(row[c].show(Medium::Plain))).collect();
            let cells = match column.alignment {
                Alignment::Decimal => at_the_point(cells),
                _ => cells,
            };
            let widest = cells.iter().map(|cell| width(cell)).max().unwrap_or(0);
            // Three is the least that Markdown's rule needs.
            let column_width = widest.max(width(&head)).max(3);
            let pad = |text: String| {
                let space = " ".repeat(column_width - width(&text));
                match column.alignment {
                    Alignment::Left => text + &space,
                    _ => space + &text,
                }
            };
            (column_width, std::iter::once(head).chain(cells).map(pad).collect())
        });
        padded.unzip()
    }
}

impl Column {
    fn class(&self) -> &'static str {
        match self.alignment {
            Alignment::Left => "text",
            Alignment::Right | Alignment::Decimal => "number",
        }
    }
}

/// Pads numbers on both sides so that their points stand under each other.
fn at_the_point(cells: Vec<String>) -> Vec<String> {
    let parts: Vec<(&str, &str)> = cells.iter().map(|cell| split_decimal(cell)).collect();
    let head_width = parts.iter().map(|(head, _)| width(head)).max().unwrap_or(0);
    let tail_width = parts.iter().map(|(_, tail)| width(tail)).max().unwrap_or(0);
    let pad = |n: usize| " ".repeat(n);
    parts
        .iter()
        .map(|(head, tail)| {
            pad(head_width - width(head)) + head + tail + &pad(tail_width - width(tail))
        })
        .collect()
}

/// The whole part of the first number in a text, and all that follows it.
fn split_decimal(text: &str) -> (&str, &str) {
    let is_whole = |c: char| {
        c.is_ascii_digit()
            || matches!(c, '+' | '-' | '\u{2212}' | ',' | '\u{202f}' | '(' | '–' | '∞')
    };
    text.split_at(text.find(|c| !is_whole(c)).unwrap_or(text.len()))
}

/// About how many digits wide a text is in a proportional font, erring on the wide side.
fn digits(text: &str) -> f64 {
    let of = |c: char| match c {
        '.' | ',' | ' ' | '[' | ']' | '(' | ')' => 0.62,
        '±' | '\u{2212}' => 1.35,
        _ => 1.0,
    };
    text.chars().map(of).sum()
}

/// One line without control characters: a terminal would obey them.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Text in which Markdown finds nothing to interpret.
pub(in crate::report) fn markdown(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '~' | '$' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// The columns a text takes in a terminal: none for combining marks, two for East Asian wide
/// characters and emoji, one for the rest. An approximation by block, without the full tables.
pub(crate) fn width(text: &str) -> usize {
    let of = |c: char| match c as u32 {
        0x0300..=0x036f | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x200b..=0x200f => 0,
        0x20d0..=0x20ff | 0x2060..=0x2064 | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f | 0xfeff => 0,
        0x1100..=0x115f | 0x2e80..=0x303e | 0x3041..=0xa4cf | 0xac00..=0xd7a3 => 2,
        0xf900..=0xfaff | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6 => 2,
        0x1f300..=0x1f64f | 0x1f680..=0x1f6ff | 0x1f900..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    };
    text.chars().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::super::markup::check_well_formed;
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Table {
        let mut table = Table::new([
            Column::text("topology"),
            Column::number("accuracy").unit("%"),
            Column::number("gap"),
            Column::amount("sent"),
        ]);
        let interval = Cell::Interval { mean: 97.4189, low: 97.11, high: 97.73 };
        table.row(["ring".into(), interval, 3.21e-8.into(), Cell::Bytes(1_234_567)]);
        table.row(["東京 mesh".into(), 8.5.into(), 1234.0.into(), Cell::Bytes(12)]);
        table.row(["a|b\u{1b}[2J".into(), f64::NAN.into()]);
        table
    }

    #[test]
    fn terminal_text_is_aligned() {
        let expected = "\
topology   accuracy (%)          gap    sent
─────────  ────────────  ───────────  ──────
ring       97.42 ± 0.31      3.21e-8  1.2 MB
東京 mesh   8.5          1,234          12 B
a|b [2J     –                –             –
";
        assert_eq!(sample().to_text(), expected);
    }

    #[test]
    fn markdown_is_aligned_and_escaped() {
        let expected = "\
| topology  | accuracy (%) |         gap |   sent |
| :-------- | -----------: | ----------: | -----: |
| ring      | 97.42 ± 0.31 |     3.21e-8 | 1.2 MB |
| 東京 mesh |  8.5         | 1,234       |   12 B |
| a\\|b \\[2J |  –           |     –       |      – |
";
        assert_eq!(sample().to_markdown(), expected);
    }

    #[test]
    fn tables_are_kept_in_json_whatever_their_numbers() {
        let mut table = sample().caption("all");
        let more =
            Cell::Difference { mean: 1.5, low: f64::NEG_INFINITY, high: 2.0, significant: true };
        table.row(["d".into(), f64::INFINITY.into(), more, Cell::Seconds(0.1)]);
        let json = serde_json::to_string(&table).unwrap();
        let back: Table = serde_json::from_str(&json).unwrap();
        // NaN equals nothing, not even itself: its text does.
        assert_eq!(format!("{back:?}"), format!("{table:?}"));
        let short = r#"{"columns": [{"name": "a", "alignment": "left"}], "rows": [[], ["missing", "missing"]]}"#;
        let padded: Table = serde_json::from_str(short).unwrap();
        assert_eq!(padded.rows, [[Cell::Missing], [Cell::Missing]]);
    }

    #[test]
    fn differences_align_and_their_stars_are_no_markup() {
        let mut table = Table::new([Column::text("graph"), Column::number("more")]);
        let difference = |mean, half, significant| Cell::Difference {
            mean,
            low: mean - half,
            high: mean + half,
            significant,
        };
        table.row(["first".into(), Cell::Missing]);
        table.row(["ring".into(), difference(37.8, 1.1, true)]);
        table.row(["star".into(), difference(-2.1, 0.44, false)]);
        let expected = "\
graph           more
─────  ─────────────
first    –
ring   +37.8 ± 1.1*
star    -2.10 ± 0.44
";
        assert_eq!(table.to_text(), expected);
        assert!(table.to_markdown().contains(r"+37.8 ± 1.1\*"));
        assert!(table.to_html().contains("\u{2212}2"));
        assert!(table.to_latex().contains(r"$+37.8 \pm 1.1{}^{*}$"));
    }

    #[test]
    fn html_is_well_formed_and_escaped() {
        let mut table = Table::new([Column::text("</script><script>").unit("<b>")]);
        table.row(["</script><script>".into()]);
        let html = table.caption("<i>").to_html();
        check_well_formed(&html).unwrap();
        assert!(!html.contains("<script>") && !html.contains("<b>") && !html.contains("<i>"));
        assert_eq!(html.matches("&lt;/script&gt;&lt;script&gt;").count(), 2);
    }

    proptest! {
        #[test]
        fn every_line_is_as_wide_as_the_rule(rows in proptest::collection::vec((".*", any::<f64>()), 0..8)) {
            let mut table = Table::new([Column::text("name"), Column::number("value")]);
            for (name, value) in rows {
                table.row([name.into(), value.into()]);
            }
            let markdown = table.to_markdown();
            // The approximation of widths holds against itself: what matters is the padding.
            let widths: Vec<usize> = markdown.split_terminator('\n').map(width).collect();
            prop_assert!(widths.iter().all(|w| *w == widths[0]), "{markdown}");
            prop_assert!(check_well_formed(&table.to_html()).is_ok());
        }
    }
}
