//! The page of a comparison.

use super::Comparison;
use super::curves::{drawn, switched};
use super::outcome::Cost;
use super::pairing::differing;
use super::quantity::{Quantity, Ratio};
use super::words::{mean, rank_correlation, term};
use crate::report::html::{Block, Page};
use crate::report::svg::plot::{Axis, Line, LinePlot, Series, Style};
use crate::report::{Cell, Column, Record, Table, figure};

/// More sentences than this are told as a table.
const MOST_LEADS: usize = 4;

impl Comparison {
    /// The comparison as a page.
    pub fn page(&self) -> Page {
        let names: Vec<&str> = self.rows.iter().map(|row| row.name.as_str()).collect();
        let title = match names.as_slice() {
            [] => "Comparison of nothing".to_owned(),
            [only] => format!("Comparison of {only} alone"),
            names if names.len() <= 4 => format!("Comparison of {}", names.join(", ")),
            names => format!("Comparison of {} runs", names.len()),
        };
        let mut page = Page::new(title);
        let sentences: Vec<String> = self.sentences().iter().map(|s| format!("{s}.")).collect();
        let few = sentences.len() <= MOST_LEADS;
        if few {
            page = sentences.iter().fold(page, |page, sentence| page.lead(sentence.as_str()));
        }
        let mut result = Vec::new();
        if !self.warnings.is_empty() {
            result.push(Block::Warnings(self.warnings.clone()));
        }
        result.push(Block::Table(self.table()));
        result.push(Block::Definitions(self.notes.iter().map(|note| term(note)).collect()));
        if !few && self.rows.first().is_some_and(|first| first.run.is_ok()) {
            result.push(Block::Table(self.ratios()));
        }
        page = page.section("Result", result);

        let runs: Vec<(&str, &Record)> =
            self.runs().map(|(name, run)| (name, &run.record)).collect();
        let curves: Vec<Block> = drawn(self.target)
            .into_iter()
            .filter_map(|metric| switched(&runs, metric, self.target))
            .collect();
        if !curves.is_empty() {
            page = page.section("Curves", curves);
        }
        if let Some(block) = self.against_connectivity() {
            page = page.section("Connectivity", vec![block]);
        }
        page.section("Scenarios", self.scenarios())
    }

    /// How many times as much as the first row every other one takes.
    fn ratios(&self) -> Table {
        let costs: Vec<(Cost, &Quantity)> =
            Cost::ALL.into_iter().filter_map(|cost| Some((cost, self.cost(cost)?))).collect();
        let heads = costs.iter().map(|(cost, _)| Column::number(cost.label()));
        let mut table = Table::new([Column::text("name")].into_iter().chain(heads));
        for (run, row) in self.rows.iter().enumerate().skip(1) {
            let cells = costs.iter().map(|(_, quantity)| {
                match Ratio::of(&quantity.outcomes[run], &quantity.outcomes[0], self.paired) {
                    Some(Ratio { ratio, interval: Some((low, high)) }) => {
                        Cell::Interval { mean: ratio, low, high }
                    }
                    Some(Ratio { ratio, interval: None }) => Cell::Number(ratio),
                    None => Cell::Missing,
                }
            });
            table.row([Cell::from(row.name.as_str())].into_iter().chain(cells));
        }
        let first = self.rows.first().map_or("", |row| row.name.as_str());
        table.caption(format!(
            "How many times as much as {first}: geometric means over repeats, with 95 % intervals."
        ))
    }

    /// Rounds to the target against λ₂.
    fn against_connectivity(&self) -> Option<Block> {
        self.target?;
        let rounds = self.cost(Cost::Rounds)?;
        let (mut series, mut pairs, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        // A colour for every run, as the curves have them.
        let mut colours = 0..;
        for (run, row) in self.rows.iter().enumerate() {
            let colour = row.run.as_ref().ok().and_then(|_| colours.next());
            let figures = row.run.as_ref().ok().map(|run| &run.figures);
            let connectivity = figures.and_then(|figures| figures.algebraic_connectivity?.value);
            let Some(point) = connectivity.zip(mean(&rounds.outcomes[run])) else {
                left_out.push(row.name.as_str());
                continue;
            };
            pairs.push(point);
            let style = Style { colour, line: Line::None };
            series.push(Series::new(row.name.as_str(), [point]).style(style));
        }
        if pairs.len() < 2 {
            return None;
        }
        let plot = LinePlot {
            title: "Rounds to the target against algebraic connectivity".to_owned(),
            x: Axis::log("λ₂ of the graph's Laplacian"),
            y: Axis::log("rounds to the target"),
            series,
            ..LinePlot::default()
        };
        let mut caption = "A point for every row: the mean over repeats.".to_owned();
        if let Some(correlation) = rank_correlation(&pairs) {
            caption += &format!(
                " Spearman's rank correlation of the {} rows is {}.",
                pairs.len(),
                figure((correlation * 1e3).round() / 1e3)
            );
        }
        if !left_out.is_empty() {
            caption +=
                &format!(" Left out, since there is no mean or no λ₂: {}.", left_out.join(", "));
        }
        Some(Block::plot(plot, caption))
    }

    /// Where the scenarios differ.
    fn scenarios(&self) -> Vec<Block> {
        let records: Vec<&Record> = self.runs().map(|(_, run)| &run.record).collect();
        if records.is_empty() {
            return vec![Block::paragraph("No row has been run.")];
        }
        let differing = differing(&records);
        if differing.is_empty() {
            return vec![Block::paragraph("All rows have the same scenario, but for its name.")];
        }
        let names = || self.runs().map(|(name, _)| name);
        let columns: Vec<(String, Vec<Cell>)> = differing
            .into_iter()
            .map(|(path, values)| {
                let cells = shown(values).into_iter();
                (path, cells.map(|value| value.map_or(Cell::Missing, Cell::Text)).collect())
            })
            .collect();
        // The longer of the two goes down the page.
        let mut table;
        if columns.len() <= records.len() {
            let paths = columns.iter().map(|(path, _)| Column::text(path.as_str()));
            table = Table::new([Column::text("name")].into_iter().chain(paths));
            for (run, name) in names().enumerate() {
                let cells = columns.iter().map(|(_, cells)| cells[run].clone());
                table.row([Cell::from(name)].into_iter().chain(cells));
            }
        } else {
            let names = names().map(Column::text);
            table = Table::new([Column::text("field")].into_iter().chain(names));
            for (path, cells) in columns {
                table.row([Cell::Text(path)].into_iter().chain(cells));
            }
        }
        let caption = "The fields in which the rows' scenarios differ, after `auto` is resolved.";
        vec![Block::Table(table.caption(caption))]
    }
}

/// Values of a field with no more digits than tell them apart.
fn shown(values: Vec<Option<String>>) -> Vec<Option<String>> {
    let short = |value: &Option<String>| {
        let text = value.as_ref()?;
        Some(text.parse().map_or_else(|_| text.clone(), figure))
    };
    let rounded: Vec<Option<String>> = values.iter().map(short).collect();
    let merged = (0..values.len())
        .any(|a| (0..a).any(|b| rounded[a] == rounded[b] && values[a] != values[b]));
    if merged { values } else { rounded }
}
