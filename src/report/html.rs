//! A page that holds a report: data first, then one file that fetches nothing.

mod block;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use block::{Block, KeyFigure};

use super::base64;
use super::markup::Element;
use super::svg::Svg;

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/page.js");
/// From so many sections on the page starts with a list of them.
const CONTENTS_FROM: usize = 4;
/// Names of files are no longer, but for a number at the end.
const LONGEST_NAME: usize = 60;

/// A part of a page under its own heading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    heading: String,
    blocks: Vec<Block>,
}

/// A report: what it says, as data, and how it is drawn, as one HTML file.
///
/// ```
/// use hushmesh::report::{Block, Page};
/// let html = Page::new("Ring of ten")
///     .lead("Ten peers, 200 rounds.")
///     .section("Result", vec![Block::paragraph("Consensus after 83 rounds.")])
///     .render();
/// assert!(html.starts_with("<!DOCTYPE html>"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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

    /// Adds a section. Of curves only the points are kept that will be drawn.
    pub fn section(mut self, heading: impl Into<String>, blocks: Vec<Block>) -> Self {
        let blocks = blocks.into_iter().map(Block::thinned).collect();
        self.sections.push(Section { heading: heading.into(), blocks });
        self
    }

    /// The page as one file.
    ///
    /// Its policy forbids whatever could reach for the network, and every script but the page's own,
    /// which is known by its hash.
    pub fn render(&self) -> String {
        let meta = |name: &'static str, value: &str| Element::new("meta").set(name, value);
        let head = Element::new("head")
            .with(meta("charset", "utf-8"))
            .with(meta("http-equiv", "Content-Security-Policy").set("content", policy()))
            .with(meta("name", "viewport").set("content", "width=device-width, initial-scale=1"))
            .with(meta("name", "color-scheme").set("content", "light dark"))
            .with(Element::new("title").text(&self.title))
            .with(Element::new("style").own(STYLE));
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
        let body = Element::new("body")
            .with(header)
            .with(Element::new("main").with_all(sections))
            .with(Element::new("script").own(SCRIPT));
        let html = Element::new("html").set("lang", "en").with(head).with(body);
        format!("<!DOCTYPE html>\n{}", html.render())
    }

    /// Every drawing of the page, each with a name for a file of its own: its title in small letters
    /// and hyphens, with a number where the same was there before.
    pub fn drawings(&self) -> Vec<(String, Svg)> {
        let mut named: Vec<(String, Svg)> = Vec::new();
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        for (title, svg) in blocks.flat_map(Block::drawings) {
            let stem = file_name(&title);
            let candidates = (1..).map(|number| match number {
                1 => stem.clone(),
                number => format!("{stem}-{number}"),
            });
            let is_free = |name: &String| named.iter().all(|(taken, _)| taken != name);
            let free = candidates.into_iter().find(is_free).expect("numbers do not end");
            named.push((free, svg));
        }
        named
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

fn policy() -> String {
    let hash = base64::encode(&Sha256::digest(SCRIPT));
    format!(
        "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'"
    )
}

fn anchor(section: usize) -> String {
    format!("section-{}", section + 1)
}

/// A title as the name of a file: letters and digits, small, the rest as single hyphens.
fn file_name(title: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' };
    let text: String = title.chars().map(plain).collect();
    let name = text.split_whitespace().collect::<Vec<_>>().join("-");
    match name[..name.len().min(LONGEST_NAME)].trim_end_matches('-') {
        "" => "plot".to_owned(),
        name => name.to_owned(),
    }
}

impl Section {
    /// The blocks in order, neighbouring figures together.
    fn elements(&self) -> Vec<Element> {
        self.blocks
            .chunk_by(|a, b| a.is_figure() && b.is_figure())
            .map(|run| match run {
                [block] => block.element(),
                figures => Element::new("div")
                    .set("class", "figures")
                    .with_all(figures.iter().map(Block::element)),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::markup::check_well_formed;
    use super::super::svg::film::{Film, Measure};
    use super::super::svg::graph::Graph;
    use super::super::svg::heat_map::HeatMap;
    use super::super::svg::plot::{LinePlot, Scale, Series};
    use super::super::table::{Column, Table};
    use super::*;

    fn every_block(text: &str) -> Vec<Block> {
        let mut table = Table::new([Column::text(text)]);
        table.row([text.into()]);
        let series = vec![Series::new(text, [(0.0, 1.0), (1.0, f64::NAN)])];
        let plot = LinePlot { title: text.to_owned(), series, ..LinePlot::default() };
        let map = HeatMap { title: text.to_owned(), ..HeatMap::default() };
        let graph = Graph::new(&[(0, 1)], vec![[0.0, 1.0]; 2], vec![text.to_owned(); 2]);
        let measures = vec![Measure::new(text, Scale::Log, 2, &[[1.0, 2.0].into_iter().collect()])];
        let film = Film { graph: graph.clone(), rounds: vec![3], measured: 1, measures };
        let text = || text.to_owned();
        let by = vec![(text(), plot.clone()), (text() + "2", plot.clone())];
        vec![
            Block::Paragraph(text()),
            Block::Table(table),
            Block::plot(plot.clone(), text()),
            Block::Switched { by, caption: text() },
            Block::HeatMap { map, caption: text() },
            Block::Graph { graph, caption: text() },
            Block::Film { film, caption: text() },
            Block::Multiples { plots: vec![plot; 2], caption: text() },
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
        assert_eq!(check_well_formed(&html.replace(SCRIPT, "")), Ok(()));
        for own in ["<script", "</script", "</style>"] {
            assert_eq!(html.matches(own).count(), 1, "{own}");
        }
    }

    #[test]
    fn nothing_is_fetched_and_only_the_script_of_the_page_runs() {
        let html = Page::new("t").section("s", every_block("x")).render();
        assert!(html.contains("default-src &#39;none&#39;; script-src &#39;sha256-"));
        for reach in ["src=", "@import", "url(", "<link", "onload", "fetch(", "XMLHttp", "import("]
        {
            assert!(!html.contains(reach), "{reach}");
        }
        let namespace = "http://www.w3.org/2000/svg";
        assert!(!html.replace(namespace, "").contains("http:"));
        assert!(!html.contains("https:"));
        // What would make text into markup or code, or keep anything beyond the page.
        let doubtful =
            ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval", "Function("];
        for doubtful in doubtful.into_iter().chain(["localStorage", "sessionStorage", "cookie"]) {
            assert!(!SCRIPT.contains(doubtful), "{doubtful}");
        }
        // A carriage return would be lost in reading, and with it the hash.
        assert!(!SCRIPT.contains('\r'));
    }

    #[test]
    fn neighbouring_figures_share_a_grid() {
        let html = Page::new("t").section("s", every_block("x")).render();
        assert_eq!(html.matches("class=\"figures\"").count(), 1);
        assert_eq!(html.matches("<figure").count(), 6);
    }

    #[test]
    fn a_page_comes_back_from_json_and_is_drawn_the_same() {
        let page = Page::new("t").lead("l").section("s", every_block("</script>"));
        let json = serde_json::to_string(&page).unwrap();
        let back: Page = serde_json::from_str(&json).unwrap();
        assert_eq!(back.render(), page.render());
        assert_eq!(serde_json::to_string(&back).unwrap(), json);
    }

    #[test]
    fn drawings_have_safe_names_of_their_own() {
        let plot = |title: &str| {
            Block::plot(LinePlot { title: title.to_owned(), ..LinePlot::default() }, "")
        };
        let titles = ["Accuracy (%)", "accuracy", "../..", "ε", "a/b\\c\0"].map(plot);
        let page = Page::new("t").section("s", titles.into()).section("s", vec![plot("accuracy")]);
        let names: Vec<String> = page.drawings().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["accuracy", "accuracy-2", "plot", "plot-2", "a-b-c", "accuracy-3"]);
        let page = Page::new("t").section("s", every_block("x"));
        let drawings = page.drawings();
        assert_eq!(drawings.len(), 1 + 2 + 1 + 1 + 1 + 2);
        for (name, svg) in drawings {
            check_well_formed(&svg.standalone()).unwrap();
            assert!(!svg.standalone().contains("data-"), "{name}");
            assert!(!svg.standalone().contains("var("), "{name}");
        }
    }

    #[test]
    fn a_long_series_is_kept_as_it_is_drawn() {
        let long = Series::new("s", (0..9000).map(|i| (f64::from(i), f64::from(i * 7 % 1013))));
        let plot = LinePlot { series: vec![long], ..LinePlot::default() };
        let whole = plot.to_svg();
        let page = Page::new("t").section("s", vec![Block::plot(plot, "")]);
        assert_eq!(page.drawings()[0].1, whole);
        assert!(serde_json::to_string(&page).unwrap().len() < 20_000);
    }
}
