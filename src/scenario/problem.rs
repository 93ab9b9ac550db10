//! What is wrong with a scenario, where, and how that looks on a terminal.

use std::fmt::{self, Write};

use super::locate::LINE_BREAKS;

/// Where a problem was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a scenario file.
    File {
        /// The file as the user named it.
        name: String,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
    },
    /// In an argument, kept as it was typed (`--set protocol.admm.penalty=3`).
    Argument(String),
    /// Nowhere in particular.
    Unlocated,
}

/// One thing that is wrong with a scenario. Displays as a compiler's error does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The dotted path of the key concerned (`protocol.admm.penalty`), empty for the whole file.
    pub path: String,
    /// What is wrong, in a lower-case fragment.
    pub message: String,
    /// Where it was found.
    pub place: Place,
    /// Further help, one line each: the names that are valid, what to write instead.
    pub notes: Vec<String>,
    /// The line of the file that `place` points into.
    excerpt: Option<String>,
}

impl Problem {
    /// A problem that is not located yet.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
            place: Place::Unlocated,
            notes: Vec::new(),
            excerpt: None,
        }
    }

    /// The same problem with one more line of help.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The same problem, laid at the door of an argument.
    pub(super) fn in_argument(self, argument: &str) -> Self {
        Self { place: Place::Argument(argument.to_owned()), excerpt: None, ..self }
    }

    /// The same problem, at a line and column (both from 1) of the file `name` that reads `text`.
    pub(super) fn in_file(self, name: &str, text: &str, (line, column): (usize, usize)) -> Self {
        let excerpt = text
            .split(LINE_BREAKS)
            .nth(line - 1)
            .filter(|text| !text.trim().is_empty())
            .map(str::to_owned);
        Self { place: Place::File { name: name.to_owned(), line, column }, excerpt, ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("error: ")?;
        match &self.place {
            Place::File { name, line, column } => write!(f, "{}:{line}:{column}: ", clean(name))?,
            Place::Argument(argument) => write!(f, "{}: ", clean(argument))?,
            Place::Unlocated => {}
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", clean(&self.path))?;
        }
        f.write_str(&clean(&self.message))?;

        let mut gutter = 1;
        if let (Place::File { line, column, .. }, Some(excerpt)) = (&self.place, &self.excerpt) {
            gutter = line.to_string().len();
            let (shown, marker) = point_at(excerpt, *column);
            write!(f, "\n{:gutter$} |\n{line} | {shown}\n{:gutter$} | {marker}", "", "")?;
        }
        for note in &self.notes {
            let lines = wrap(&clean(note));
            write!(f, "\n{:gutter$} = {}", "", lines.join(&format!("\n{:gutter$}   ", "")))?;
        }
        Ok(())
    }
}

/// Everything that is wrong with a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            write!(f, "{}{problem}", if index > 0 { "\n\n" } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// The part of `line` around `column` that is fit to show, and the marker to print beneath it.
fn point_at(line: &str, column: usize) -> (String, String) {
    const SHOWN: usize = 100;
    let line: Vec<char> = line.chars().collect();
    let fault = (column - 1).min(line.len());
    let start = if fault < SHOWN * 4 / 5 { 0 } else { fault - SHOWN / 2 };
    let end = line.len().min(start + SHOWN);

    let mut shown = String::from(if start > 0 { "…" } else { "" });
    shown.extend(line[start..end].iter().map(|&c| printable(c)));
    shown.truncate(shown.trim_end().len());
    if end < line.len() {
        shown.push('…');
    }
    let columns = |range: &[char]| range.iter().map(|&c| width(printable(c))).sum::<usize>();
    let indent = usize::from(start > 0) + columns(&line[start..fault]);
    let token = &line[fault..end.min(fault + token_length(&line[fault..]))];
    (shown, " ".repeat(indent) + &"^".repeat(columns(token).max(1)))
}

/// How many characters the key or value at the start of `text` takes, as nearly as one can say
/// without parsing; at a bracket, the bracket alone.
fn token_length(text: &[char]) -> usize {
    match text {
        [] | ['{' | '[', ..] => 1,
        [quote @ ('"' | '\''), rest @ ..] => {
            rest.iter().position(|c| c == quote).map_or(text.len(), |end| end + 2)
        }
        _ => {
            let ends = |at: &usize| match text[*at] {
                ',' | ']' | '}' => true,
                ':' => text.get(at + 1).is_none_or(|next| next.is_whitespace()),
                '#' => *at > 0 && text[at - 1].is_whitespace(),
                _ => false,
            };
            let end = (0..text.len()).find(ends).unwrap_or(text.len());
            text[..end].iter().rposition(|c| !c.is_whitespace()).map_or(1, |last| last + 1)
        }
    }
}

/// Text without anything that could steer a terminal or reorder what it shows.
fn clean(text: &str) -> String {
    text.chars().map(printable).collect()
}

fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

/// Columns that a character takes on a terminal: combining marks none, East Asian and emoji two.
fn width(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36f | 0x20d0..=0x20ff | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f680..=0x1f6ff
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Breaks a note at spaces into lines of at most 88 characters, longer words excepted.
fn wrap(note: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in note.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= 88 {
            let _ = write!(line, " {word}");
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str, line: usize, column: usize) -> String {
        Problem::new("a.b", "wrong").in_file("x.yaml", text, (line, column)).to_string()
    }

    #[test]
    fn the_layout_is_a_compilers() {
        let text = "\n".repeat(11) + "    penalti: 0.3";
        let problem = Problem::new("protocol.admm.penalti", "unknown key")
            .note("expected one of: penalty, rounds, tolerance")
            .note("did you mean `penalty`?")
            .in_file("scenarios/x.yaml", &text, (12, 5));
        assert_eq!(
            problem.to_string(),
            "error: scenarios/x.yaml:12:5: protocol.admm.penalti: unknown key
   |
12 |     penalti: 0.3
   |     ^^^^^^^
   = expected one of: penalty, rounds, tolerance
   = did you mean `penalty`?"
        );
        let argued =
            Problem::new("a.b", "unknown key").note("expected `c`").in_argument("--set a.b=3");
        assert_eq!(argued.to_string(), "error: --set a.b=3: a.b: unknown key\n  = expected `c`");
        let both = Problems(vec![argued, Problem::new("", "second")]);
        assert_eq!(
            both.to_string(),
            "error: --set a.b=3: a.b: unknown key\n  = expected `c`\n\nerror: second"
        );
    }

    #[test]
    fn the_marker_covers_the_token() {
        let marker = |text: &str, column| point_at(text, column).1;
        assert_eq!(marker("a: bc # d", 4), "   ^^");
        assert_eq!(marker("{a: b:c, d: 1}", 5), "    ^^^");
        assert_eq!(marker("a: 'b, c' # d", 4), "   ^^^^^^");
        assert_eq!(marker("a: [1, 2]", 4), "   ^");
        assert_eq!(marker("a:", 1), "^");
        assert_eq!(marker("a: b", 99), "    ^", "past the end: after the last character");
    }

    #[test]
    fn tabs_wide_and_control_characters_keep_the_marker_in_place() {
        assert_eq!(
            shown("a:\t字字: x", 1, 8),
            "error: x.yaml:1:8: a.b: wrong\n  |\n1 | a: 字字: x\n  |          ^"
        );
        assert_eq!(
            shown("e\u{301}: 字", 1, 5),
            "error: x.yaml:1:5: a.b: wrong\n  |\n1 | e\u{301}: 字\n  |    ^^"
        );
        assert_eq!(
            shown("a: \u{1b}[31m \u{202e}x", 1, 4),
            "error: x.yaml:1:4: a.b: wrong\n  |\n1 | a: \u{fffd}[31m \u{fffd}x\n  |    ^^^^^^^^"
        );
        let problem =
            Problem::new("\u{1b}", "\u{7}\n").note("\u{9b}").in_argument("--set \u{1b}=1");
        assert_eq!(
            problem.to_string(),
            "error: --set \u{fffd}=1: \u{fffd}: \u{fffd}\u{fffd}\n  = \u{fffd}"
        );
    }

    #[test]
    fn long_lines_are_cut_and_long_notes_wrapped() {
        let line = "x".repeat(500) + ": y" + &"z".repeat(500);
        let (text, marker) = point_at(&line, 503);
        assert_eq!(text.chars().count(), 102);
        assert!(text.starts_with("…x") && text.ends_with("z…"));
        assert_eq!(text.chars().nth(marker.find('^').expect("a marker")), Some('y'));

        let note = (0..30).map(|i| format!("name{i}")).collect::<Vec<_>>().join(", ");
        let text = Problem::new("", "m").note(note).to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 92), "{text}");
        assert!(text.lines().skip(2).all(|line| line.starts_with("    name")), "{text}");
    }

    #[test]
    fn a_blank_line_is_not_shown() {
        assert_eq!(shown("a: [\n", 2, 1), "error: x.yaml:2:1: a.b: wrong");
        assert_eq!(shown("a", 9, 9), "error: x.yaml:9:9: a.b: wrong");
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_layout(text in any::<String>(), column in 1_usize..300) {
            let (line, marker) = point_at(&text, column);
            prop_assert!(!line.chars().any(char::is_control));
            prop_assert!(marker.trim_start().chars().all(|c| c == '^') && marker.contains('^'));
        }
    }
}
