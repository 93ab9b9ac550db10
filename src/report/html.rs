//! A page that holds a report: one file, no scripts, nothing fetched.

use super::markup::Element;
use super::number::Medium;
use super::svg::Svg;
use super::table::{Cell, Table};

/// Forbids whatever could reach for the network; the page's own style is all that it allows.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
/// From so many sections on the page starts with a list of them.
const CONTENTS_FROM: usize = 4;

/// A number that the reader should see first.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyFigure {
    name: String,
    value: Cell,
    unit: Option<String>,
    note: Option<String>,
}

impl KeyFigure {
    /// A number under its name.
    pub fn new(name: impl Into<String>, value: impl Into<Cell>) -> Self {
        Self { name: name.into(), value: value.into(), unit: None, note: None }
    }

    /// The same with a unit after the number.
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// The same with what to know beside it, such as what it compares with.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

/// A piece of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph of text.
    Paragraph(String),
    /// A table; one that is wider than the page scrolls in its own box.
    Table(Table),
    /// A drawing with its caption. Neighbouring figures share a row where there is room.
    Figure {
        /// The drawing.
        svg: Svg,
        /// What it shows.
        caption: String,
    },
    /// Text as it was typed, such as a scenario file.
    Preformatted(String),
    /// Terms and what they are.
    Definitions(Vec<(String, String)>),
    /// Numbers to see first, as cards.
    KeyFigures(Vec<KeyFigure>),
    /// What to look at before trusting the result.
    Warnings(Vec<String>),
}

impl Block {
    /// A paragraph of text.
    pub fn paragraph(text: impl Into<String>) -> Self {
        Self::Paragraph(text.into())
    }

    /// A drawing with its caption.
    pub fn figure(svg: Svg, caption: impl Into<String>) -> Self {
        Self::Figure { svg, caption: caption.into() }
    }

    /// Text as it was typed.
    pub fn preformatted(text: impl Into<String>) -> Self {
        Self::Preformatted(text.into())
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Section {
    heading: String,
    blocks: Vec<Block>,
}

/// A report as one HTML file.
///
/// ```
/// use hushmesh::report::{Block, Page};
/// let html = Page::new("Ring of ten")
///     .lead("Ten peers, 200 rounds.")
///     .section("Result", vec![Block::paragraph("Consensus after 83 rounds.")])
///     .render();
/// assert!(html.starts_with("<!DOCTYPE html>"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    title: String,
    lead: Vec<String>,
    sections: Vec<Section>,
}

impl Page {
    /// A page with nothing but its title.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), lead: Vec::new(), sections: Vec::new() }
    }

    /// Adds a paragraph under the title.
    pub fn lead(mut self, text: impl Into<String>) -> Self {
        self.lead.push(text.into());
        self
    }

    /// Adds a section.
    pub fn section(mut self, heading: impl Into<String>, blocks: Vec<Block>) -> Self {
        self.sections.push(Section { heading: heading.into(), blocks });
        self
    }

    /// The page as one file.
    pub fn render(&self) -> String {
        let meta = |name: &'static str, value: &str| Element::new("meta").set(name, value);
        let head = Element::new("head")
            .with(meta("charset", "utf-8"))
            .with(meta("http-equiv", "Content-Security-Policy").set("content", POLICY))
            .with(meta("name", "viewport").set("content", "width=device-width, initial-scale=1"))
            .with(meta("name", "color-scheme").set("content", "light dark"))
            .with(Element::new("title").text(&self.title))
            .with(Element::new("style").style_sheet(include_str!("html/style.css")));
        let lead = self.lead.iter().map(|text| Element::new("p").set("class", "lead").text(text));
        let mut header =
            Element::new("header").with(Element::new("h1").text(&self.title)).with_all(lead);
        if self.sections.len() >= CONTENTS_FROM {
            header.push(self.contents());
        }
        let sections = self.sections.iter().enumerate().map(|(i, section)| {
            Element::new("section")
                .set("id", anchor(i))
                .with(Element::new("h2").text(&section.heading))
                .with_all(section.elements())
        });
        let body = Element::new("body").with(header).with(Element::new("main").with_all(sections));
        let html = Element::new("html").set("lang", "en").with(head).with(body);
        format!("<!DOCTYPE html>\n{}", html.render())
    }

    fn contents(&self) -> Element {
        let links = self.sections.iter().enumerate().map(|(i, section)| {
            let link = Element::new("a").set("href", format!("#{}", anchor(i)));
            Element::new("li").with(link.text(&section.heading))
        });
        let list = Element::new("ol").with_all(links);
        Element::new("nav").set("aria-label", "contents").with(list)
    }
}

fn anchor(section: usize) -> String {
    format!("section-{}", section + 1)
}

impl Section {
    /// The blocks in order, neighbouring figures together.
    fn elements(&self) -> Vec<Element> {
        let is_figure = |block: &Block| matches!(block, Block::Figure { .. });
        self.blocks
            .chunk_by(|a, b| is_figure(a) && is_figure(b))
            .map(|run| match run {
                [block] => block.element(),
                figures => Element::new("div")
                    .set("class", "figures")
                    .with_all(figures.iter().map(Block::element)),
            })
            .collect()
    }
}

impl Block {
    fn element(&self) -> Element {
        match self {
            Self::Paragraph(text) => Element::new("p").text(text),
            Self::Table(table) => scrolling("table", "table").with(table.element()),
            Self::Figure { svg, caption } => {
                Element::new("figure").drawing(svg).with(Element::new("figcaption").text(caption))
            }
            Self::Preformatted(text) => scrolling("code", "text as typed")
                .with(Element::new("pre").with(Element::new("code").text(text))),
            Self::Definitions(pairs) => {
                let mut list = Element::new("dl");
                for (term, meaning) in pairs {
                    list.push(Element::new("dt").text(term));
                    list.push(Element::new("dd").text(meaning));
                }
                list
            }
            Self::KeyFigures(figures) => Element::new("div")
                .set("class", "cards")
                .with_all(figures.iter().map(KeyFigure::element)),
            Self::Warnings(warnings) => {
                let items = warnings.iter().map(|text| Element::new("li").text(text));
                Element::new("aside")
                    .set("class", "warnings")
                    .set("aria-label", "warnings")
                    .with(Element::new("ul").with_all(items))
            }
        }
    }
}

/// A box with its own scroll bar, which the keyboard can reach.
fn scrolling(kind: &str, label: &str) -> Element {
    Element::new("div")
        .set("class", format!("scroll {kind}"))
        .set("role", "region")
        .set("aria-label", label)
        .set("tabindex", "0")
}

impl KeyFigure {
    fn element(&self) -> Element {
        let part = |class: &str, text: &str| Element::new("p").set("class", class).text(text);
        let value = self.value.show(Medium::Typeset);
        let value = match &self.unit {
            Some(unit) => format!("{value}\u{a0}{unit}"),
            None => value,
        };
        let card = Element::new("div")
            .set("class", "card")
            .with(part("name", &self.name))
            .with(part("value", &value));
        match &self.note {
            Some(note) => card.with(part("note", note)),
            None => card,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::markup::check_well_formed;
    use super::super::svg::plot::LinePlot;
    use super::super::table::Column;
    use super::*;

    fn every_block(text: &str) -> Vec<Block> {
        let mut table = Table::new([Column::text(text)]);
        table.row([text.into()]);
        let plot = LinePlot { title: text.to_owned(), ..LinePlot::default() };
        let text = || text.to_owned();
        vec![
            Block::Paragraph(text()),
            Block::Table(table),
            Block::figure(plot.to_svg(), text()),
            Block::figure(plot.to_svg(), text()),
            Block::Preformatted(text()),
            Block::Definitions(vec![(text(), text())]),
            Block::KeyFigures(vec![KeyFigure::new(text(), text()).unit(text()).note(text())]),
            Block::Warnings(vec![text()]),
        ]
    }

    #[test]
    fn hostile_text_stays_text_everywhere() {
        let hostile = "</style></script><script>alert(\"1\")</script>";
        let mut page = Page::new(hostile).lead(hostile);
        for _ in 0..CONTENTS_FROM {
            page = page.section(hostile, every_block(hostile));
        }
        let html = page.render();
        assert_eq!(check_well_formed(&html), Ok(()));
        assert!(!html.contains("<script"));
        assert_eq!(html.matches("</style>").count(), 1);
    }

    #[test]
    fn nothing_is_fetched_and_nothing_runs() {
        let html = Page::new("t").section("s", every_block("x")).render();
        assert!(html.contains("default-src &#39;none&#39;"));
        for reach in ["src=", "@import", "url(", "<link", "<script", "onload"] {
            assert!(!html.contains(reach), "{reach}");
        }
        let namespace = "http://www.w3.org/2000/svg";
        assert!(!html.replace(namespace, "").contains("http:"));
        assert!(!html.contains("https:"));
    }

    #[test]
    fn neighbouring_figures_share_a_grid() {
        let html = Page::new("t").section("s", every_block("x")).render();
        assert_eq!(html.matches("class=\"figures\"").count(), 1);
        assert_eq!(html.matches("<figure>").count(), 2);
    }
}
