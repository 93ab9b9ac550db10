//! A tree of elements for SVG and HTML: balanced tags and escaped text by construction.

use std::fmt::Write;

use super::svg::Svg;

/// Elements without content, which close themselves.
const VOID: [&str; 5] = ["meta", "line", "path", "circle", "rect"];
/// Elements after which a line break would be seen as a space.
const INLINE: [&str; 6] = ["a", "code", "small", "span", "strong", "tspan"];

/// Text made safe for both element content and quoted attributes.
///
/// Control characters that XML 1.0 forbids even when escaped become U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// An attribute's value: a number in fixed format, or text that will be escaped.
pub(crate) enum Value {
    Number(f64),
    Text(String),
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A coordinate with at most two decimals, which is finer than a pixel at any sensible size.
pub(crate) fn coordinate(value: f64) -> String {
    debug_assert!(value.is_finite(), "a coordinate must be finite: {value}");
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

enum Node {
    Element(Element),
    Text(String),
    Drawing(Svg),
    /// The page's own style sheet or script, the pieces that must not be escaped.
    Own(&'static str),
}

/// An element with its attributes and content.
pub(crate) struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    content: Vec<Node>,
}

impl Element {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, attributes: Vec::new(), content: Vec::new() }
    }

    /// Adds an attribute.
    pub(crate) fn set(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        let value = match value.into() {
            Value::Number(number) => coordinate(number),
            Value::Text(text) => escape(&text),
        };
        self.attributes.push((name, value));
        self
    }

    /// Adds a child at the end of the content.
    pub(crate) fn with(mut self, child: Element) -> Self {
        self.push(child);
        self
    }

    /// Adds several children at the end of the content.
    pub(crate) fn with_all(mut self, children: impl IntoIterator<Item = Element>) -> Self {
        children.into_iter().for_each(|child| self.push(child));
        self
    }

    /// Adds text at the end of the content.
    pub(crate) fn text(mut self, text: &str) -> Self {
        self.content.push(Node::Text(escape(text)));
        self
    }

    /// Adds a finished drawing at the end of the content.
    pub(crate) fn drawing(mut self, svg: &Svg) -> Self {
        self.content.push(Node::Drawing(svg.clone()));
        self
    }

    /// Adds a style sheet or a script of ours, as it is.
    pub(crate) fn own(mut self, text: &'static str) -> Self {
        self.content.push(Node::Own(text));
        self
    }

    pub(crate) fn push(&mut self, child: Element) {
        self.content.push(Node::Element(child));
    }

    /// The markup of this element and all in it.
    pub(crate) fn render(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        let name = self.name;
        out.push('<');
        out.push_str(name);
        for (attribute, value) in &self.attributes {
            // Writing to a string cannot fail.
            let _ = write!(out, " {attribute}=\"{value}\"");
        }
        if VOID.contains(&name) && self.content.is_empty() {
            out.push_str("/>");
        } else {
            out.push('>');
            for node in &self.content {
                match node {
                    Node::Element(element) => element.write(out),
                    Node::Text(text) => out.push_str(text),
                    Node::Drawing(svg) => out.push_str(svg.as_str()),
                    Node::Own(text) => out.push_str(text),
                }
            }
            let _ = write!(out, "</{name}>");
        }
        if !INLINE.contains(&name) {
            out.push('\n');
        }
    }
}

/// A small check that markup is well formed: tags balance, attributes are quoted, nothing but
/// entities follows `&`, and no number in an attribute is NaN or infinite.
#[cfg(test)]
pub(crate) fn check_well_formed(markup: &str) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = markup.strip_prefix("<!DOCTYPE html>").unwrap_or(markup);
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        for (i, _) in text.match_indices('&') {
            if !["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"]
                .iter()
                .any(|e| text[i..].starts_with(e))
            {
                return Err(format!("a bare & in {text:?}"));
            }
        }
        let end = rest[start..].find('>').ok_or("a tag without an end")? + start;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> closes nothing"));
            }
            continue;
        }
        if !tag.matches('"').count().is_multiple_of(2) {
            return Err(format!("unbalanced quotes in <{tag}>"));
        }
        let mut names: Vec<&str> = tag.split('"').step_by(2).map(str::trim).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        if names.len() < all {
            return Err(format!("an attribute twice in <{tag}>"));
        }
        for (name, value) in
            tag.split('"').collect::<Vec<_>>().chunks_exact(2).map(|p| (p[0], p[1]))
        {
            let free_text = name.ends_with("aria-label=") || name.trim_start().starts_with("data-");
            if !free_text && (value.contains("NaN") || value.contains("inf")) {
                return Err(format!("not a number in <{tag}>"));
            }
        }
        if !tag.ends_with('/') {
            open.push(tag.split([' ', '\n']).next().unwrap_or(tag));
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("left open: {open:?}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_text_stays_text() {
        let hostile = "</script><script>alert('\"&\u{1b}')";
        let element = Element::new("p").set("aria-label", hostile).text(hostile);
        let safe = "&lt;/script&gt;&lt;script&gt;alert(&#39;&quot;&amp;\u{fffd}&#39;)";
        assert_eq!(element.render(), format!("<p aria-label=\"{safe}\">{safe}</p>\n"));
    }

    #[test]
    fn coordinates_are_short_and_have_no_negative_zero() {
        let texts: Vec<_> = [1.0, 0.5, -0.001, 12.346, 100.0].map(coordinate).into();
        assert_eq!(texts, ["1", "0.5", "0", "12.35", "100"]);
    }

    #[test]
    fn the_check_finds_faults() {
        assert!(check_well_formed("<g><path d=\"M1 2\"/></g>").is_ok());
        for fault in [
            "<g>",
            "</g>",
            "<g></p>",
            "<g a=\"NaN\"/>",
            "<p>a & b</p>",
            "<p a=\"></p>",
            "<p a=\"\" b=\"\" b=\"\"></p>",
        ] {
            assert!(check_well_formed(fault).is_err(), "{fault}");
        }
    }
}
