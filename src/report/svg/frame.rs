//! The layout of a plot: title, legend, axes and data, each in its own room.

use serde_json::json;

use super::super::markup::{Element, coordinate};
use super::super::number::{Medium, figure_in};
use super::View;
use super::axis::{Axis, Range, Scale, Ticks};
use super::curve::{Curve, Cut, Point};
use super::lettering::{SIZE, TITLE_SIZE, shortened, text_width, wrapped};
use super::palette::{GRID, INK, MUTED, Paint};
use super::plot::{Line, LinePlot, Reference, Series};

const WIDTH: f64 = 440.0;
const PLOT_HEIGHT: f64 = 220.0;
const LINE_HEIGHT: f64 = 17.0;
/// Up to so many points a series gets a dot for each, which tells its value on hover.
const FEW_POINTS: usize = 40;
/// More divergence marks than this would say nothing more.
const MOST_CUTS: usize = 20;
/// The length of the line before a label in the legend.
const SAMPLE: f64 = 26.0;

/// The rectangle of the data and the ranges that it shows.
pub(super) struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x_range: Range,
    y_range: Range,
    x_ticks: Ticks,
    y_ticks: Ticks,
    title: Vec<String>,
    legend: Vec<LegendEntry>,
}

/// A series' line and label above the data.
struct LegendEntry {
    series: usize,
    x: f64,
    row: usize,
    label: String,
}

impl Frame {
    /// The layout with room for at least so many rows above the data.
    pub(super) fn new(plot: &LinePlot, curves: &[Curve], least_rows: usize) -> Self {
        let points = || curves.iter().flat_map(Curve::points);
        let x_range = Range::around(points().map(|p| p.x));
        let x_range = match plot.x.scale {
            Scale::Linear => x_range.starting_at_zero_if_near(),
            Scale::Log => x_range,
        };
        // Single points have their names beside them, and need room for that.
        let x_range = if are_named_points(plot) { x_range.padded(0.06) } else { x_range };
        let y_range = y_range(plot, curves);
        let y_ticks = Ticks::new(plot.y.scale, y_range, 6);
        let x_ticks = Ticks::new(plot.x.scale, x_range, 6);
        let widest = y_ticks
            .marks
            .iter()
            .filter_map(|t| t.label.as_ref())
            .map(|l| l.width())
            .fold(0.0, f64::max);
        let left = 40.0 + widest;
        let labels = plot.references.iter().map(|r| text_width(&r.label, 0.9 * SIZE));
        let right = WIDTH - 16.0 - labels.fold(0.0, f64::max).min(110.0);
        let title = wrapped(&plot.title, TITLE_SIZE * 1.05, WIDTH - 24.0, 2);
        let legend = legend(plot);
        let rows = title.len() + legend.last().map_or(0, |entry| entry.row + 1);
        let top = 14.0 + LINE_HEIGHT * rows.max(least_rows) as f64 + 8.0;
        let bottom = top + PLOT_HEIGHT;
        Self { left, right, top, bottom, x_range, y_range, x_ticks, y_ticks, title, legend }
    }

    pub(super) fn x_range(&self) -> Range {
        self.x_range
    }

    /// How many rows of title and legend stand above the data.
    pub(super) fn rows_above(&self) -> usize {
        self.title.len() + self.legend.last().map_or(0, |entry| entry.row + 1)
    }

    /// How to read values off the drawing: of each axis what it shows, whether its places are
    /// logarithms, the places at its two ends, and where these are in the drawing.
    pub(super) fn scales(&self, plot: &LinePlot) -> String {
        let axis = |axis: &Axis, range: Range, from: f64, to: f64| {
            json!({
                "label": axis.title(0),
                "log": axis.scale == Scale::Log,
                "places": [range.low, range.high],
                "at": [from, to],
            })
        };
        json!({
            "x": axis(&plot.x, self.x_range, self.left, self.right),
            "y": axis(&plot.y, self.y_range, self.bottom, self.top),
        })
        .to_string()
    }

    /// Everything that the plot shows, and the rectangle that it fills.
    pub(super) fn draw(&self, plot: &LinePlot, curves: &[Curve]) -> (View, Element) {
        let mut content = Element::new("g");
        self.draw_title(&plot.title, &mut content);
        self.draw_legend(plot, &mut content);
        self.draw_axes(plot, &mut content);
        self.draw_references(plot, &mut content);
        if curves.iter().all(|curve| curve.pieces.is_empty()) {
            let text = Element::new("text")
                .set("x", (self.left + self.right) / 2.0)
                .set("y", (self.top + self.bottom) / 2.0)
                .set("text-anchor", "middle");
            content.push(MUTED.fill(text).text("no data"));
        }
        // All bands lie below all lines.
        for (i, curve) in curves.iter().enumerate() {
            self.draw_bands(i, curve, plot.paint(i), &mut content);
        }
        let few = curves.iter().all(|curve| curve.points().count() <= FEW_POINTS);
        for (i, curve) in curves.iter().enumerate() {
            self.draw_curve(plot, i, (curve, few), &mut content);
        }
        if are_named_points(plot) {
            self.draw_names(plot, curves, &mut content);
        }
        let height = self.bottom + 44.0;
        let view = View { left: 0.0, top: 0.0, width: WIDTH, height };
        (view, content)
    }

    fn x(&self, place: f64) -> f64 {
        self.left + self.x_range.fraction(place).clamp(0.0, 1.0) * (self.right - self.left)
    }

    fn y(&self, place: f64) -> f64 {
        self.bottom - self.y_range.fraction(place).clamp(0.0, 1.0) * (self.bottom - self.top)
    }

    fn draw_title(&self, title: &str, content: &mut Element) {
        for (i, line) in self.title.iter().enumerate() {
            let y = 14.0 + LINE_HEIGHT * i as f64 + 5.0;
            let text = Element::new("text").set("x", 12.0).set("y", y);
            let text = text.set("font-size", TITLE_SIZE).set("font-weight", "600");
            let shown = INK.fill(text).text(line);
            content.push(if line.ends_with('…') { shown.with(hover(title)) } else { shown });
        }
    }

    fn draw_legend(&self, plot: &LinePlot, content: &mut Element) {
        for LegendEntry { series, x, row, label } in &self.legend {
            let y = 14.0 + LINE_HEIGHT * (self.title.len() + row) as f64 + 2.0;
            let sample = if plot.series[*series].style.line == Line::None {
                dot(plot, *series, x + SAMPLE / 2.0, y)
            } else {
                stroke(plot, *series, format!("M{} {}h{SAMPLE}", coordinate(*x), coordinate(y)))
            };
            let text = Element::new("text").set("x", x + SAMPLE + 6.0).set("y", y + 4.0);
            let entry = Element::new("g").with(hover(&plot.series[*series].label));
            let entry = entry.with(sample).with(INK.fill(text).text(label));
            content.push(entry);
        }
    }

    fn draw_axes(&self, plot: &LinePlot, content: &mut Element) {
        let mut grid = String::new();
        let mut marks = format!(
            "M{} {}V{}H{}",
            coordinate(self.left),
            coordinate(self.top),
            coordinate(self.bottom),
            coordinate(self.right)
        );
        let mut labels = INK.fill(Element::new("g"));
        for tick in &self.x_ticks.marks {
            let x = self.x(tick.place);
            let length = if tick.label.is_some() { 4 } else { 2 };
            marks += &format!("M{} {}v{length}", coordinate(x), coordinate(self.bottom));
            if let Some(label) = &tick.label {
                grid += &format!(
                    "M{} {}V{}",
                    coordinate(x),
                    coordinate(self.top),
                    coordinate(self.bottom)
                );
                let text = Element::new("text").set("x", x).set("y", self.bottom + 18.0);
                labels.push(label.write(text.set("text-anchor", "middle")));
            }
        }
        for tick in &self.y_ticks.marks {
            let y = self.y(tick.place);
            let length = if tick.label.is_some() { 4 } else { 2 };
            marks += &format!("M{} {}h-{length}", coordinate(self.left), coordinate(y));
            if let Some(label) = &tick.label {
                grid += &format!(
                    "M{} {}H{}",
                    coordinate(self.left),
                    coordinate(y),
                    coordinate(self.right)
                );
                let text = Element::new("text").set("x", self.left - 8.0).set("y", y + 4.0);
                labels.push(label.write(text.set("text-anchor", "end")));
            }
        }
        if !grid.is_empty() {
            content.push(GRID.stroke(Element::new("path").set("d", grid)));
        }
        content.push(MUTED.stroke(Element::new("path").set("d", marks)));

        let x_title = plot.x.title(self.x_ticks.power);
        let text = Element::new("text")
            .set("x", (self.left + self.right) / 2.0)
            .set("y", self.bottom + 37.0)
            .set("text-anchor", "middle");
        labels.push(text.text(&shortened(&x_title, SIZE, self.right - self.left)));
        let y_title = plot.y.title(self.y_ticks.power);
        let middle = (self.top + self.bottom) / 2.0;
        let text = Element::new("text")
            .set("transform", format!("translate(20 {}) rotate(-90)", coordinate(middle)))
            .set("text-anchor", "middle");
        labels.push(text.text(&shortened(&y_title, SIZE, PLOT_HEIGHT)));
        content.push(labels);
    }

    /// Lines across the data with their labels in the right margin, pushed apart.
    fn draw_references(&self, plot: &LinePlot, content: &mut Element) {
        let mut lines: Vec<(f64, &Reference)> = plot
            .references
            .iter()
            .filter_map(|r| Some((self.y(plot.y.scale.place(r.value)?), r)))
            .collect();
        lines.sort_by(|a, b| a.0.total_cmp(&b.0));
        let spacing = SIZE + 1.0;
        let mut label_y: Vec<f64> = Vec::with_capacity(lines.len());
        for &(y, _) in &lines {
            let free = label_y.last().map_or(f64::NEG_INFINITY, |last| last + spacing);
            label_y.push(y.max(free));
        }
        // What was pushed below the frame moves up again.
        let mut limit = self.bottom;
        for y in label_y.iter_mut().rev() {
            *y = y.min(limit);
            limit = *y - spacing;
        }
        for (&(y, reference), label_y) in lines.iter().zip(label_y) {
            let d =
                format!("M{} {}H{}", coordinate(self.left), coordinate(y), coordinate(self.right));
            let line =
                MUTED.stroke(Element::new("path").set("d", d)).set("stroke-dasharray", "4 3");
            let value = figure_in(reference.value, Medium::Typeset);
            let line = line.with(hover(&format!("{}: {value}", reference.label)));
            let text = Element::new("text")
                .set("x", self.right + 5.0)
                .set("y", label_y + 4.0)
                .set("font-size", 0.9 * SIZE);
            let label = shortened(&reference.label, 0.9 * SIZE, WIDTH - self.right - 7.0);
            content.push(line);
            content.push(MUTED.fill(text).text(&label));
        }
    }

    fn draw_bands(&self, index: usize, curve: &Curve, paint: Paint, content: &mut Element) {
        for piece in &curve.pieces {
            for run in piece.split(|point| point.band.is_none()).filter(|run| run.len() > 1) {
                let corner = |p: &Point, y: f64| {
                    format!("{} {}", coordinate(self.x(p.x)), coordinate(self.y(y)))
                };
                let upper = run.iter().filter_map(|p| Some(corner(p, p.band?.1)));
                let lower = run.iter().rev().filter_map(|p| Some(corner(p, p.band?.0)));
                let corners: Vec<String> = upper.chain(lower).collect();
                let area = Element::new("path").set("d", format!("M{}Z", corners.join("L")));
                let area = area.set("data-band", index.to_string());
                content.push(paint.fill(area).set("fill-opacity", "0.18"));
            }
        }
    }

    /// A curve; with a dot at each point where all curves have `few`.
    fn draw_curve(
        &self,
        plot: &LinePlot,
        index: usize,
        (curve, few): (&Curve, bool),
        content: &mut Element,
    ) {
        let series = &plot.series[index];
        let dotted = few || series.style.line == Line::None;
        let mut group = Element::new("g").set("data-series", series.label.as_str());
        for piece in &curve.pieces {
            let corners: Vec<String> = piece
                .iter()
                .map(|p| format!("{} {}", coordinate(self.x(p.x)), coordinate(self.y(p.y))))
                .collect();
            if let ([alone], false) = (piece.as_slice(), dotted) {
                let dot = dot(plot, index, self.x(alone.x), self.y(alone.y));
                group.push(dot.set("data-values", values(series, piece)));
            } else if series.style.line != Line::None {
                let line = stroke(plot, index, format!("M{}", corners.join("L")));
                group.push(line.set("data-values", values(series, piece)));
            }
        }
        if dotted {
            for point in curve.points() {
                let dot = dot(plot, index, self.x(point.x), self.y(point.y));
                let dot = match series.style.line {
                    Line::None => dot.set("data-values", values(series, &[*point])),
                    _ => dot,
                };
                group.push(if few { dot.with(hover(&told(series, point))) } else { dot });
            }
        }
        for cut in curve.cuts.iter().take(MOST_CUTS) {
            self.draw_cut(plot, index, cut, &mut group);
        }
        content.push(group);
    }

    /// The names of single points beside them, at the first place where they cover no other name and
    /// no point: towards the middle, on the other side, then higher or lower with a line to the point.
    fn draw_names(&self, plot: &LinePlot, curves: &[Curve], content: &mut Element) {
        const LETTERS: f64 = 0.9 * SIZE;
        const STEPS: [f64; 9] = [0.0, -1.0, 1.0, -2.0, 2.0, -3.0, 3.0, -4.0, 4.0];
        let middle = (self.left + self.right) / 2.0;
        let room = (self.right - self.left) / 2.0;
        let points: Vec<(f64, f64, &str)> = plot
            .series
            .iter()
            .zip(curves)
            .filter_map(|(series, curve)| {
                let point = curve.points().next()?;
                Some((self.x(point.x), self.y(point.y), series.label.as_str()))
            })
            .collect();
        // Left, right and middle height of what stands.
        let dots = points.iter().map(|&(x, y, _)| (x - 4.0, x + 4.0, y));
        let mut taken: Vec<(f64, f64, f64)> = dots.collect();
        let mut names = INK.fill(Element::new("g").set("font-size", LETTERS));
        for (x, y, name) in points {
            let label = shortened(name, LETTERS, room);
            let width = text_width(&label, LETTERS);
            let (after, before) = (x + 8.0, x - 8.0 - width);
            let sides = if x <= middle { [after, before] } else { [before, after] };
            let free = |&(left, height): &(f64, f64)| {
                let apart = |&(l, r, h): &(f64, f64, f64)| {
                    (height - h).abs() >= LETTERS || left >= r || l >= left + width
                };
                let inside = left >= self.left && left + width <= self.right + 12.0;
                let inside = inside && height >= self.top && height <= self.bottom - 5.0;
                inside && taken.iter().all(apart)
            };
            let places = STEPS.iter().flat_map(|step| sides.map(|l| (l, y + step * LETTERS)));
            let (left, height) = places.clone().find(free).unwrap_or((sides[0], y));
            taken.push((left, left + width, height));
            if height != y {
                let end = if left > x { left - 2.0 } else { left + width + 2.0 };
                let [x, y, end, height] = [x, y, end, height].map(coordinate);
                let line = Element::new("path").set("d", format!("M{x} {y}L{end} {height}"));
                content.push(MUTED.stroke(line).set("stroke-width", "0.6"));
            }
            let text = Element::new("text").set("x", left).set("y", height + 0.35 * LETTERS);
            names.push(text.text(&label).with(hover(name)));
        }
        content.push(names);
    }

    /// A small cross where a curve ends before a value that was not finite.
    fn draw_cut(&self, plot: &LinePlot, index: usize, cut: &Cut, group: &mut Element) {
        let (x, y) = match cut.last {
            Some(point) => (self.x(point.x), self.y(point.y)),
            None => (self.x(cut.x), self.top),
        };
        let (x, y) = (coordinate(x - 4.0), coordinate(y - 4.0));
        let cross = Element::new("path").set("d", format!("M{x} {y}l8 8m0 -8l-8 8"));
        let note = format!("{}: not finite from here", plot.series[index].label);
        group.push(plot.paint(index).stroke(cross).set("stroke-width", "2").with(hover(&note)));
    }
}

/// The range of the y axis: all points, references and bands.
fn y_range(plot: &LinePlot, curves: &[Curve]) -> Range {
    let scale = plot.y.scale;
    let points = curves.iter().flat_map(Curve::points);
    let own = points.clone().map(|p| p.y);
    let references = plot.references.iter().filter_map(|r| scale.place(r.value));
    let bands = points.filter_map(|p| p.band).flat_map(|(low, high)| [low, high]);
    let lines = own.chain(references);
    match scale {
        Scale::Linear => Range::around(lines.chain(bands)).rounded_out(6),
        Scale::Log => {
            // The low end of a band may be next to zero: it must not squeeze the curves.
            let least = lines.clone().fold(f64::INFINITY, f64::min) - 1.0;
            let bands = bands.map(|end| end.max(least)).filter(|end| end.is_finite());
            Range::around(lines.chain(bands)).padded(0.04)
        }
    }
}

/// Whether every series is one point without a line: its name then stands beside it.
fn are_named_points(plot: &LinePlot) -> bool {
    let single = |series: &Series| series.style.line == Line::None && series.points.len() == 1;
    !plot.series.is_empty() && plot.series.iter().all(single)
}

/// Flows the legend's entries into rows.
fn legend(plot: &LinePlot) -> Vec<LegendEntry> {
    if are_named_points(plot) {
        return Vec::new();
    }
    let room = WIDTH - 24.0;
    let (mut x, mut row) = (12.0, 0);
    let mut entries = Vec::new();
    for (series, of) in plot.series.iter().enumerate() {
        let label = shortened(&of.label, SIZE, room - SAMPLE - 6.0);
        let length = SAMPLE + 6.0 + text_width(&label, SIZE);
        if x > 12.0 && x + length > 12.0 + room {
            x = 12.0;
            row += 1;
        }
        entries.push(LegendEntry { series, x, row, label });
        x += length + 14.0;
    }
    entries
}

fn stroke(plot: &LinePlot, index: usize, d: String) -> Element {
    plot.paint(index)
        .stroke(Element::new("path").set("d", d))
        .set("stroke-width", "1.8")
        .set("stroke-linejoin", "round")
        .set("stroke-dasharray", plot.dashes(index))
}

fn dot(plot: &LinePlot, index: usize, x: f64, y: f64) -> Element {
    plot.paint(index).fill(Element::new("circle").set("cx", x).set("cy", y).set("r", 2.6))
}

fn hover(text: &str) -> Element {
    Element::new("title").text(text)
}

/// What points are, for the page to read out: coordinates are too coarse for that. Of each point
/// x,y or x,y,low,high to four digits, and all digits of a whole x.
fn values(series: &Series, points: &[Point]) -> String {
    let told = |point: &Point| {
        let (x, y) = series.points[point.index];
        let x = if x.fract() == 0.0 { shortest(x) } else { four_digits(x) };
        let band = series.band.as_ref().filter(|_| point.band.is_some());
        match band.and_then(|band| band.get(point.index)) {
            Some(&(low, high)) => {
                format!("{x},{},{},{}", four_digits(y), four_digits(low), four_digits(high))
            }
            None => format!("{x},{}", four_digits(y)),
        }
    };
    points.iter().map(told).collect::<Vec<_>>().join(" ")
}

fn four_digits(value: f64) -> String {
    shortest(format!("{value:.3e}").parse().unwrap_or(value))
}

/// The shorter way to write a number, without an exponent or with it.
fn shortest(value: f64) -> String {
    let (plain, powered) = (format!("{value}"), format!("{value:e}"));
    if plain.len() <= powered.len() { plain } else { powered }
}

/// A point in words.
fn told(series: &Series, point: &Point) -> String {
    let (x, y) = series.points[point.index];
    let show = |value: f64| figure_in(value, Medium::Typeset);
    let interval = match series.band.as_ref().and_then(|band| band.get(point.index)) {
        Some(&(low, high)) => format!(" [{}, {}]", show(low), show(high)),
        None => String::new(),
    };
    format!("{}: {} at {}{interval}", series.label, show(y), show(x))
}
