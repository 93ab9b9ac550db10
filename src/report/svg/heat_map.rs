//! Heat maps: a table of numbers as colours.

use serde::{Deserialize, Serialize};

use super::super::markup::Element;
use super::super::number::{Medium, figure_in};
use super::axis::{Axis, Range, Scale};
use super::colour_bar::draw_colour_bar;
use super::extent::Extent;
use super::lettering::{SIZE, TITLE_SIZE, shortened, text_width, wrapped};
use super::palette::{Colour, GROUND, INK, MUTED};
use super::{Svg, View};

/// More rows or columns than this are drawn several to a cell.
const MOST_CELLS: usize = 64;
/// The longer side of the cells' rectangle, but for small tables.
const SIDE: f64 = 400.0;
/// A cell is no wider.
const WIDEST: f64 = 40.0;
const MARGIN: f64 = 12.0;
const LINE_HEIGHT: f64 = 17.0;
/// Labels are no wider.
const LABEL_ROOM: f64 = 120.0;

/// A table of numbers, row by row, each a cell's colour.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeatMap {
    /// What it shows.
    pub title: String,
    /// What a row is.
    pub row_title: String,
    /// What a column is.
    pub column_title: String,
    /// The rows' names.
    pub rows: Vec<String>,
    /// The columns' names.
    pub columns: Vec<String>,
    /// The numbers, row after row. Where one is not finite or missing, the cell is grey.
    #[serde(with = "crate::measure::nan::any_numbers")]
    pub values: Vec<f64>,
    /// What the numbers are, with unit and scale. What is not positive is blank on a logarithmic one.
    pub colours: Axis,
    /// Cells that get a dot, in the order of `values`.
    pub marked: Vec<bool>,
    /// What the dot means.
    pub mark: String,
}

impl HeatMap {
    /// The map as SVG.
    ///
    /// Up to 64 rows and columns each number is a cell. Beyond that a cell stands for several, shows
    /// the largest of them, and has a dot if one of them has.
    pub fn to_svg(&self) -> Svg {
        let grid = Grid::new(self);
        let mut content = Element::new("g");
        let top = self.draw_head(&grid, &mut content);
        let labels = grid.row_labels(self);
        let room = labels.iter().map(|(_, label)| text_width(label, grid.lettering()));
        // Beside the row's labels stands, upright, what a row is.
        let left = MARGIN + LINE_HEIGHT + room.fold(0.0, f64::max) + 8.0;
        grid.draw_cells(self, left, top, &mut content);
        let extent = grid.draw_axes(self, left, top, &mut content);
        let extent = extent.with(draw_colour_bar(grid.range, &self.colours, extent, &mut content));
        let shift = (MARGIN - extent.left).max(0.0);
        let width = (extent.right + MARGIN).max(SIDE + 2.0 * MARGIN) + shift;
        let view = View { left: -shift, top: 0.0, width, height: extent.bottom + MARGIN };
        Svg::drawn(view, &self.title, &self.description(&grid), &[], content)
    }

    fn value(&self, row: usize, column: usize) -> Option<f64> {
        self.values.get(row * self.columns.len() + column).copied()
    }

    fn is_marked(&self, row: usize, column: usize) -> bool {
        self.marked.get(row * self.columns.len() + column).copied().unwrap_or(false)
    }

    /// Title and legend; returns where the cells may begin.
    fn draw_head(&self, grid: &Grid, content: &mut Element) -> f64 {
        let mut y = 19.0;
        for line in wrapped(&self.title, TITLE_SIZE * 1.05, SIDE, 2) {
            let text = Element::new("text").set("x", MARGIN).set("y", y);
            let text = text.set("font-size", TITLE_SIZE).set("font-weight", "600");
            content.push(INK.fill(text).text(&line));
            y += LINE_HEIGHT;
        }
        let mut x = MARGIN;
        let mut entry = |sample: &dyn Fn(f64, f64) -> Element, label: &str| {
            let label = shortened(label, SIZE, SIDE - 20.0);
            let length = 18.0 + text_width(&label, SIZE);
            if x > MARGIN && x + length > SIDE + 2.0 * MARGIN {
                x = MARGIN;
                y += LINE_HEIGHT;
            }
            content.push(sample(x, y));
            let text = Element::new("text").set("x", x + 18.0).set("y", y);
            content.push(INK.fill(text).text(&label));
            x += length + 16.0;
        };
        let square = |x: f64, y: f64| {
            let rect = Element::new("rect").set("x", x).set("y", y - 10.0);
            rect.set("width", 11.0).set("height", 11.0)
        };
        let cells = || grid.cells.iter();
        if cells().any(|cell| cell.marked) {
            let swatch = Colour::viridis(0.0);
            entry(
                &|x, y| {
                    let dot = Element::new("circle").set("cx", x + 5.5).set("cy", y - 4.5);
                    let dot = dot.set("r", 2.2).set("fill", swatch.lettering());
                    let square = square(x, y).set("fill", swatch.hex());
                    Element::new("g").with(square).with(dot)
                },
                &self.mark,
            );
        }
        if cells().any(|cell| matches!(cell.shade, Shade::Blank)) {
            entry(&|x, y| MUTED.stroke(square(x + 0.5, y + 0.5)), "0");
        }
        if cells().any(|cell| matches!(cell.shade, Shade::Missing)) {
            entry(&|x, y| square(x, y).set("fill", Colour::NEUTRAL.hex()), "no value");
        }
        let legend = if x > MARGIN { LINE_HEIGHT } else { 0.0 };
        y + legend - 6.0
    }

    /// What the map shows in words, with what was put together.
    fn description(&self, grid: &Grid) -> String {
        let mut notes = vec![format!(
            "{} of {} rows ({}) and {} columns ({})",
            self.colours.title(0),
            self.rows.len(),
            self.row_title,
            self.columns.len(),
            self.column_title,
        )];
        if grid.together > 1 {
            let k = grid.together;
            notes.push(format!("each cell shows the largest of up to {k} × {k} numbers"));
        }
        let count = |what: fn(&Cell) -> bool| grid.cells.iter().filter(|cell| what(cell)).count();
        for (count, what) in [
            (count(|cell| matches!(cell.shade, Shade::Missing)), "cells without a value"),
            (count(|cell| matches!(cell.shade, Shade::Blank)), "not positive and so left blank"),
            (count(|cell| cell.marked), &format!("cells marked ({})", self.mark)),
        ] {
            if count > 0 {
                notes.push(format!("{what}: {count}"));
            }
        }
        notes.join(". ") + "."
    }
}

/// What a cell shows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shade {
    /// A place on the axis.
    Place(f64),
    /// A number that the axis has no place for.
    Blank,
    /// No number.
    Missing,
}

struct Cell {
    value: f64,
    shade: Shade,
    marked: bool,
}

/// The cells as they are drawn, row after row.
struct Grid {
    cells: Vec<Cell>,
    rows: usize,
    columns: usize,
    /// Rows, and columns, per cell.
    together: usize,
    /// The side of a cell.
    side: f64,
    /// The places of all numbers shown.
    range: Range,
}

impl Grid {
    fn new(map: &HeatMap) -> Self {
        let longer = map.rows.len().max(map.columns.len()).max(1);
        let together = longer.div_ceil(MOST_CELLS);
        let (rows, columns) =
            (map.rows.len().div_ceil(together), map.columns.len().div_ceil(together));
        let scale = map.colours.scale;
        let of = |cell: usize, all: usize| cell * together..((cell + 1) * together).min(all);
        let mut cells = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for column in 0..columns {
                let members = of(row, map.rows.len())
                    .flat_map(|r| of(column, map.columns.len()).map(move |c| (r, c)));
                let known = members.clone().filter_map(|(r, c)| map.value(r, c));
                let value = known.filter(|value| Scale::Linear.place(*value).is_some());
                let value = value.fold(f64::NAN, f64::max);
                let shade = match scale.place(value) {
                    Some(place) => Shade::Place(place),
                    None if value.is_nan() => Shade::Missing,
                    None => Shade::Blank,
                };
                let marked = members.into_iter().any(|(r, c)| map.is_marked(r, c));
                cells.push(Cell { value, shade, marked });
            }
        }
        let range = Range::around(cells.iter().filter_map(|cell| match cell.shade {
            Shade::Place(place) => Some(place),
            _ => None,
        }));
        let side = (SIDE / rows.max(columns).max(1) as f64).min(WIDEST);
        Self { cells, rows, columns, together, side, range }
    }

    /// The size of labels.
    fn lettering(&self) -> f64 {
        (0.95 * self.side).clamp(9.0, SIZE)
    }

    /// The rows, or columns, that have room for a label, by the cell that they stand at.
    fn labels<'a>(&self, names: &'a [String], needed: f64) -> Vec<(usize, String, &'a str)> {
        let every = (needed / self.side).ceil().max(1.0) as usize;
        let firsts = names.iter().step_by(self.together).enumerate().step_by(every);
        let short = |name: &str| shortened(name, self.lettering(), LABEL_ROOM);
        firsts.map(|(cell, name)| (cell, short(name), name.as_str())).collect()
    }

    fn row_labels(&self, map: &HeatMap) -> Vec<(usize, String)> {
        let labels = self.labels(&map.rows, 1.05 * self.lettering());
        labels.into_iter().map(|(cell, label, _)| (cell, label)).collect()
    }

    fn draw_cells(&self, map: &HeatMap, left: f64, top: f64, content: &mut Element) {
        let mut squares = Element::new("g").set("shape-rendering", "crispEdges");
        let mut dots = Element::new("g").set("pointer-events", "none");
        for (index, cell) in self.cells.iter().enumerate() {
            let (row, column) = (index / self.columns, index % self.columns);
            let (x, y) = (left + self.side * column as f64, top + self.side * row as f64);
            let rect = Element::new("rect").set("x", x).set("y", y);
            let rect = rect.set("width", self.side).set("height", self.side);
            let colour = match cell.shade {
                Shade::Place(place) => Some(Colour::viridis(self.range.fraction(place))),
                Shade::Missing => Some(Colour::NEUTRAL),
                Shade::Blank => None,
            };
            let rect = match colour {
                Some(colour) => rect.set("fill", colour.hex()),
                None => GROUND.fill(rect),
            };
            squares.push(rect.with(Element::new("title").text(&self.told(map, row, column, cell))));
            if cell.marked {
                let dot = Element::new("circle")
                    .set("cx", x + self.side / 2.0)
                    .set("cy", y + self.side / 2.0)
                    .set("r", (0.16 * self.side).clamp(1.0, 3.0));
                dots.push(match colour {
                    Some(colour) => dot.set("fill", colour.lettering()),
                    None => INK.fill(dot),
                });
            }
        }
        content.push(squares);
        content.push(dots);
    }

    /// A cell in words.
    fn told(&self, map: &HeatMap, row: usize, column: usize, cell: &Cell) -> String {
        let name = |names: &[String], cell: usize| {
            let first = cell * self.together;
            let last = (first + self.together).min(names.len()) - 1;
            match (&names[first], &names[last]) {
                (first, _) if self.together == 1 => first.clone(),
                (first, last) => format!("{first} to {last}"),
            }
        };
        let value = if cell.value.is_nan() {
            "no value".to_owned()
        } else {
            figure_in(cell.value, Medium::Typeset)
        };
        let mark = if cell.marked { format!(", {}", map.mark) } else { String::new() };
        let (row, column) = (name(&map.rows, row), name(&map.columns, column));
        format!("{} {row}, {} {column}: {value}{mark}", map.row_title, map.column_title)
    }

    /// Frame, labels and titles; returns all the room that the map has taken.
    fn draw_axes(&self, map: &HeatMap, left: f64, top: f64, content: &mut Element) -> Extent {
        let (width, height) = (self.side * self.columns as f64, self.side * self.rows as f64);
        let (right, bottom) = (left + width, top + height);
        let frame = Element::new("rect").set("x", left).set("y", top);
        let frame = frame.set("width", width).set("height", height);
        content.push(MUTED.stroke(frame).set("pointer-events", "none"));
        let size = self.lettering();
        let mut texts = INK.fill(Element::new("g"));
        let text = |x: f64, y: f64| Element::new("text").set("x", x).set("y", y);
        let middle = |cell: usize| self.side * (cell as f64 + 0.5);
        for (cell, label) in self.row_labels(map) {
            let text = text(left - 5.0, top + middle(cell) + 0.35 * size).set("font-size", size);
            texts.push(text.set("text-anchor", "end").text(&label));
        }
        // Columns' names stand upright where they are wider than their cells.
        let names = self.labels(&map.columns, 1.05 * size);
        let widest = names.iter().map(|(_, label, _)| text_width(label, size)).fold(0.0, f64::max);
        let flat = self.labels(&map.columns, widest + 4.0);
        let mut below = bottom + 5.0;
        if widest <= 24.0 || flat.len() == names.len() {
            for (cell, label, _) in &flat {
                let text = text(left + middle(*cell), below + 0.85 * size).set("font-size", size);
                texts.push(text.set("text-anchor", "middle").text(label));
            }
            below += size;
        } else {
            for (cell, label, _) in &names {
                let (x, y) = (left + middle(*cell) + 0.35 * size, below);
                let place = format!("translate({x:.2} {y:.2}) rotate(-90)");
                let text = Element::new("text").set("transform", place).set("font-size", size);
                texts.push(text.set("text-anchor", "end").text(label));
            }
            below += widest;
        }
        below += LINE_HEIGHT;
        let title = shortened(&map.column_title, SIZE, SIDE);
        let half = text_width(&title, SIZE) / 2.0;
        let centre = left + width / 2.0;
        texts.push(text(centre, below).set("text-anchor", "middle").text(&title));
        let row_title = shortened(&map.row_title, SIZE, height.max(60.0));
        let place =
            format!("translate({:.2} {:.2}) rotate(-90)", MARGIN + SIZE - 2.0, top + height / 2.0);
        let text = Element::new("text").set("transform", place).set("text-anchor", "middle");
        texts.push(text.text(&row_title));
        content.push(texts);
        let overhang = (text_width(&row_title, SIZE) / 2.0 - height / 2.0).max(0.0);
        Extent {
            left: MARGIN.min(centre - half),
            top: 0.0,
            right: right.max(centre + half),
            bottom: (below + 4.0).max(bottom + overhang),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::markup::check_well_formed;
    use super::*;
    use proptest::prelude::*;

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|i| i.to_string()).collect()
    }

    fn map(rows: usize, columns: usize, values: Vec<f64>) -> HeatMap {
        HeatMap {
            title: "a map".to_owned(),
            row_title: "from".to_owned(),
            column_title: "to".to_owned(),
            rows: names(rows),
            columns: names(columns),
            values,
            colours: Axis::linear("loss"),
            marked: Vec::new(),
            mark: "recovered exactly".to_owned(),
        }
    }

    #[test]
    fn a_cell_tells_its_value_and_has_its_colour() {
        let mut map = map(2, 2, vec![0.0, 0.5, 1.0, f64::NAN]);
        map.marked = vec![false, true, false, false];
        let svg = map.to_svg().into_string();
        check_well_formed(&svg).unwrap();
        for part in [
            "#440154",
            "#fde725",
            "from 0, to 1: 0.5, recovered exactly</title>",
            "from 1, to 1: no value</title>",
            "cells without a value: 1",
            "cells marked (recovered exactly): 1",
            ">loss<",
        ] {
            assert!(svg.contains(part), "{part}");
        }
        // One dot on its cell, one in the legend.
        assert_eq!(svg.matches("<circle").count(), 2);
    }

    #[test]
    fn zero_is_blank_on_a_logarithmic_scale() {
        let mut map = map(1, 3, vec![0.0, 0.01, 1.0]);
        map.colours = Axis::log("loss").unit("nat");
        let svg = map.to_svg().into_string();
        assert!(svg.contains("not positive and so left blank: 1"));
        assert!(svg.contains("from 0, to 0: 0</title>"));
        assert!(svg.contains("loss (nat)"));
        assert!(!map.to_svg().as_str().contains("cells without a value"));
    }

    #[test]
    fn a_large_map_shows_the_largest_of_each_block() {
        let n = 130;
        let mut values = vec![0.25; n * n];
        values[n + 2] = 0.75;
        let mut map = map(n, n, values);
        map.marked = vec![false; n * n];
        map.marked[n * n - 1] = true;
        let svg = map.to_svg().into_string();
        assert!(svg.contains("each cell shows the largest of up to 3 × 3 numbers"));
        assert!(svg.contains("from 0 to 2, to 0 to 2: 0.75</title>"));
        assert!(svg.contains("from 129 to 129, to 129 to 129: 0.25, recovered exactly</title>"));
        assert_eq!(svg.matches("<title>from ").count(), 44 * 44, "one title per cell");
    }

    #[test]
    fn hostile_text_stays_text() {
        let hostile = "</script><script>".to_owned();
        let svg = HeatMap {
            title: hostile.clone(),
            row_title: hostile.clone(),
            column_title: hostile.clone(),
            rows: vec![hostile.clone()],
            columns: vec![hostile.clone()],
            values: vec![1.0],
            colours: Axis::log(hostile.clone()).unit(hostile.clone()),
            marked: vec![true],
            mark: hostile,
        };
        let svg = svg.to_svg().into_string();
        check_well_formed(&svg).unwrap();
        assert!(!svg.contains("<script"));
    }

    #[test]
    fn a_map_without_anything_is_still_a_map() {
        check_well_formed(HeatMap::default().to_svg().as_str()).unwrap();
    }

    proptest! {
        #[test]
        fn any_input_gives_a_well_formed_drawing(
            rows in proptest::collection::vec(".*", 0..20),
            columns in proptest::collection::vec(".*", 0..80),
            values in proptest::collection::vec(any::<f64>(), 0..200),
            marked in proptest::collection::vec(any::<bool>(), 0..200),
            log: bool, text in ".*",
        ) {
            let colours = if log { Axis::log(text.clone()) } else { Axis::linear(text.clone()) };
            let map = HeatMap {
                title: text.clone(), row_title: text.clone(), column_title: text.clone(),
                rows, columns, values, colours, marked, mark: text,
            };
            prop_assert_eq!(check_well_formed(map.to_svg().as_str()), Ok(()));
        }
    }
}
