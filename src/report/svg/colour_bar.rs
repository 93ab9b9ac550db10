//! The bar that says which colour is which value.

use super::super::markup::{Element, coordinate};
use super::axis::{Axis, Range, Ticks};
use super::extent::Extent;
use super::lettering::{SIZE, shortened, text_width};
use super::palette::{Colour, INK};

/// The room of the text below the bar.
const ROOM: f64 = 420.0;

/// Draws the bar below everything else and returns the room that it takes. `range` is in places of
/// the axis.
pub(super) fn draw_colour_bar(
    range: Range,
    axis: &Axis,
    above: Extent,
    content: &mut Element,
) -> Extent {
    const LENGTH: f64 = 260.0;
    const STEPS: usize = 65;
    let (left, top) = ((above.left + above.right - LENGTH) / 2.0, above.bottom + 18.0);
    let step = LENGTH / STEPS as f64;
    let mut bar = Element::new("g").set("shape-rendering", "crispEdges");
    for i in 0..STEPS {
        let colour = Colour::viridis(i as f64 / (STEPS - 1) as f64);
        // Each reaches below the next, so that no seam shows.
        let width = (2.0 * step).min(LENGTH - step * i as f64);
        bar.push(
            Element::new("rect")
                .set("x", left + step * i as f64)
                .set("y", top)
                .set("width", width)
                .set("height", 10.0)
                .set("fill", colour.hex()),
        );
    }
    content.push(bar);
    let mut texts = INK.fill(Element::new("g")).set("text-anchor", "middle");
    let ticks = Ticks::new(axis.scale, range, 7);
    let mut marks = String::new();
    for tick in &ticks.marks {
        let x = left + range.fraction(tick.place) * LENGTH;
        marks += &format!("M{} {}v4", coordinate(x), coordinate(top + 10.0));
        if let Some(label) = &tick.label {
            texts.push(label.write(Element::new("text").set("x", x).set("y", top + 27.0)));
        }
    }
    let shown = shortened(&axis.title(ticks.power), SIZE, ROOM);
    let middle = left + LENGTH / 2.0;
    texts.push(Element::new("text").set("x", middle).set("y", top + 45.0).text(&shown));
    if !marks.is_empty() {
        content.push(INK.stroke(Element::new("path").set("d", marks)));
    }
    content.push(texts);
    let half = (text_width(&shown, SIZE) / 2.0).max(LENGTH / 2.0 + 24.0);
    Extent { left: middle - half, top, right: middle + half, bottom: top + 50.0 }
}
