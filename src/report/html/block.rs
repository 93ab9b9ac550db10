//! What stands in the sections of a page, and how it becomes markup.

use serde::{Deserialize, Serialize};

use super::super::markup::Element;
use super::super::number::Medium;
use super::super::svg::Svg;
use super::super::svg::film::Film;
use super::super::svg::graph::Graph;
use super::super::svg::heat_map::HeatMap;
use super::super::svg::plot::LinePlot;
use super::super::table::{Cell, Table};

/// A number that the reader should see first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Block {
    /// A paragraph of text.
    Paragraph(String),
    /// A table; one that is wider than the page scrolls in its own box.
    Table(Table),
    /// Curves with their caption. Neighbouring figures share a row where there is room.
    Plot {
        /// The curves.
        plot: LinePlot,
        /// What they show.
        caption: String,
    },
    /// The same curves over several horizontal axes, of which one is shown: the first, until the
    /// reader chooses another, by its name, for the whole page.
    Switched {
        /// The axes by name, each with its plot.
        by: Vec<(String, LinePlot)>,
        /// What they show.
        caption: String,
    },
    /// A table of numbers as colours.
    HeatMap {
        /// The numbers.
        map: HeatMap,
        /// What they are.
        caption: String,
    },
    /// Small plots beside each other, of one height.
    Multiples {
        /// The plots.
        plots: Vec<LinePlot>,
        /// What they show.
        caption: String,
    },
    /// A graph that does not change.
    Graph {
        /// The graph.
        graph: Graph,
        /// What its colours are.
        caption: String,
    },
    /// A graph that changes from round to round, with a slider; its last frame on paper.
    Film {
        /// The graph and its frames.
        film: Film,
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

    /// Curves with their caption.
    pub fn plot(plot: LinePlot, caption: impl Into<String>) -> Self {
        Self::Plot { plot, caption: caption.into() }
    }

    /// Text as it was typed.
    pub fn preformatted(text: impl Into<String>) -> Self {
        Self::Preformatted(text.into())
    }
}

impl Block {
    /// Whether it may share a row with its neighbours.
    pub(super) fn is_figure(&self) -> bool {
        matches!(
            self,
            Self::Plot { .. }
                | Self::Switched { .. }
                | Self::HeatMap { .. }
                | Self::Graph { .. }
                | Self::Film { .. }
        )
    }

    /// The same without points that would not be drawn.
    pub(super) fn thinned(self) -> Self {
        match self {
            Self::Plot { plot, caption } => Self::Plot { plot: plot.thinned(), caption },
            Self::Switched { by, caption } => {
                let by = by.into_iter().map(|(name, plot)| (name, plot.thinned())).collect();
                Self::Switched { by, caption }
            }
            Self::Multiples { plots, caption } => {
                let plots = plots.into_iter().map(LinePlot::thinned).collect();
                Self::Multiples { plots, caption }
            }
            other => other,
        }
    }

    /// Every drawing in it, with what it shows in words.
    pub(super) fn drawings(&self) -> Vec<(String, Svg)> {
        match self {
            Self::Plot { plot, .. } => vec![(plot.title.clone(), plot.to_svg())],
            Self::Switched { by, .. } => by
                .iter()
                .map(|(name, plot)| (format!("{} by {name}", plot.title), plot.to_svg()))
                .collect(),
            Self::HeatMap { map, .. } => vec![(map.title.clone(), map.to_svg())],
            Self::Multiples { plots, .. } => {
                let titles = plots.iter().map(|plot| plot.title.clone());
                titles.zip(LinePlot::side_by_side(plots)).collect()
            }
            Self::Graph { graph, .. } => vec![("graph".to_owned(), graph.to_svg())],
            Self::Film { film, .. } => {
                let frames = film.last_frames().into_iter();
                frames.map(|(name, svg)| (format!("graph by {name}"), svg)).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn element(&self) -> Element {
        match self {
            Self::Paragraph(text) => Element::new("p").text(text),
            Self::Table(table) => scrolling("table", "table").with(table.element()),
            Self::Plot { plot, caption } => {
                figure("plot").drawing(&plot.to_svg()).with(captioned(caption))
            }
            Self::Switched { by, caption } => {
                let mut figure = figure("switched");
                for (at, (name, plot)) in by.iter().enumerate() {
                    let drawing = Element::new("div").set("data-by", name.as_str());
                    let drawing = if at > 0 { drawing.set("hidden", "") } else { drawing };
                    figure.push(drawing.drawing(&plot.to_svg()));
                }
                figure.with(captioned(caption))
            }
            Self::HeatMap { map, caption } => {
                figure("map").drawing(&map.to_svg()).with(captioned(caption))
            }
            Self::Multiples { plots, caption } => {
                let drawings = LinePlot::side_by_side(plots);
                let each = drawings.iter().map(|svg| Element::new("div").drawing(svg));
                let grid = Element::new("div").set("class", "multiples").with_all(each);
                figure("wide").with(grid).with(captioned(caption))
            }
            Self::Graph { graph, caption } => {
                figure("graph").drawing(&graph.to_svg()).with(captioned(caption))
            }
            Self::Film { film, caption } => figure("graph")
                .set("data-film", film.reel())
                .drawing(&film.to_svg())
                .with(captioned(caption)),
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

fn figure(kind: &str) -> Element {
    Element::new("figure").set("class", kind)
}

fn captioned(caption: &str) -> Element {
    Element::new("figcaption").text(caption)
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
