//! Drawings as SVG: self-contained, without identifiers or style sheets, so that any number of
//! them can stand in one page.
//!
//! Colours are presentation attributes with a CSS variable on top (`--plot-ink`, `--plot-muted`,
//! `--plot-grid`, `--plot-ground`, `--series-1` …): alone, a drawing is dark on white; in a page
//! that sets the variables it follows the page's theme; a renderer without variables uses the
//! attribute.

mod axis;
mod colour_bar;
mod curve;
mod extent;
pub mod film;
mod frame;
pub mod graph;
pub mod heat_map;
mod lettering;
mod palette;
pub mod plot;

use std::fmt;

use super::markup::Element;

/// A finished drawing. Only this module makes one, so a page can inline it as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Svg(String);

impl Svg {
    /// The drawing's markup, as it would stand in a file.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The drawing's markup.
    pub fn into_string(self) -> String {
        self.0
    }

    /// The drawing as a file of its own, for a paper: in the colours of the light theme, and without
    /// what only a page makes use of.
    pub fn standalone(&self) -> String {
        let mut out = String::with_capacity(self.0.len());
        // Neither brackets nor quotation marks stand in text or values: they are escaped there.
        for piece in self.0.split_inclusive('>') {
            let (text, tag) = piece.split_at(piece.find('<').unwrap_or(piece.len()));
            out.push_str(text);
            let mut parts = tag.split('"');
            out.push_str(parts.next().unwrap_or_default());
            // A value in quotation marks, then what stands before the next.
            while let (Some(value), Some(next)) = (parts.next(), parts.next()) {
                let name = out.rfind(' ').map_or("", |at| &out[at + 1..]);
                if name == "style=" || name.starts_with("data-") {
                    out.truncate(out.len() - name.len() - 1);
                } else {
                    out.extend(["\"", value, "\""]);
                }
                out.push_str(next);
            }
        }
        out
    }

    /// A drawing of the given view box with the ground painted, a title and a description. The
    /// attributes of data are for the script of the page.
    fn drawn(
        view: View,
        title: &str,
        description: &str,
        data: &[(&'static str, String)],
        content: Element,
    ) -> Self {
        let View { left, top, width, height } = view;
        let corners = [left, top, width, height].map(super::markup::coordinate);
        let ground = Element::new("rect")
            .set("x", left)
            .set("y", top)
            .set("width", width)
            .set("height", height);
        let mut root = Element::new("svg")
            .set("xmlns", "http://www.w3.org/2000/svg")
            .set("viewBox", corners.join(" "))
            .set("width", width)
            .set("height", height)
            .set("role", "img")
            .set("aria-label", title)
            .set("font-family", lettering::FONT)
            .set("font-size", lettering::SIZE);
        for (name, value) in data {
            root = root.set(name, value.as_str());
        }
        let root = root
            .with(Element::new("title").text(title))
            .with(Element::new("desc").text(description))
            .with(palette::GROUND.fill(ground))
            .with(content);
        Self(root.render())
    }
}

impl fmt::Display for Svg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The rectangle that a drawing shows, in its own units.
#[derive(Clone, Copy, Debug)]
struct View {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}
