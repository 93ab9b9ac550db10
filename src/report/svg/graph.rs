//! Drawings of graphs, with a value per node as its colour.

use serde::{Deserialize, Serialize};

use super::super::markup::{Element, coordinate};
use super::super::number::{Medium, figure_in};
use super::axis::{Axis, Range, Scale};
use super::colour_bar::draw_colour_bar;
use super::extent::Extent;
use super::lettering::{SIZE, shortened, text_width};
use super::palette::{Colour, GROUND, INK, LINK, RIM};
use super::{Svg, View};

/// The longer side of the nodes' rectangle.
const SIDE: f64 = 420.0;
/// Up to so many nodes have room for a label.
const MOST_LABELS: usize = 60;
/// Up to so many nodes the closest pairs are sought, to keep circles apart.
const MOST_PAIRS: usize = 3000;
/// Of more links than this every second, third, … is kept.
const MOST_LINKS: usize = 10_000;
const MARGIN: f64 = 12.0;
/// Space between a node and a label beside it.
const APART: f64 = 3.0;

/// A graph as it is drawn: what stands where, and what is joined.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    edges: Vec<(usize, usize)>,
    /// How many links there are, drawn or not.
    links: usize,
    #[serde(with = "crate::measure::nan::any_places")]
    positions: Vec<[f64; 2]>,
    labels: Vec<String>,
    colours: Option<Colours>,
}

/// A number per node, which becomes its colour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Colours {
    #[serde(with = "crate::measure::nan::any_numbers")]
    values: Vec<f64>,
    what: String,
}

impl Graph {
    /// Links as `(from, to)` between nodes at `positions`, named by `labels`.
    ///
    /// Of more than 10,000 links only every second, third, … is kept, which the description says:
    /// so many are a haze in any case.
    pub fn new(edges: &[(usize, usize)], positions: Vec<[f64; 2]>, labels: Vec<String>) -> Self {
        let links = edges.len();
        let every = links.div_ceil(MOST_LINKS).max(1);
        let edges = edges.iter().step_by(every).copied().collect();
        Self { edges, links, positions, labels, colours: None }
    }

    /// The same with a number per node and what it means, with the unit: nodes get colours, explained
    /// by a bar. A node without a finite number is grey.
    pub fn coloured(mut self, values: Vec<f64>, what: impl Into<String>) -> Self {
        self.colours = Some(Colours { values, what: what.into() });
        self
    }

    /// How many nodes there are.
    pub fn peers(&self) -> usize {
        self.positions.len()
    }

    /// The nodes' names.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The graph as SVG.
    ///
    /// Labels are shown up to 60 nodes, and on hover always. What has no place (a link to a node that
    /// is not there, a position that is not finite) is left out and counted in the description.
    pub fn to_svg(&self) -> Svg {
        let shades = self.colours.iter().map(|Colours { values, what }| {
            let axis = match what.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
                Some((label, unit)) => Axis::linear(label).unit(unit),
                None => Axis::linear(what.as_str()),
            };
            let range = Range::around(values.iter().filter_map(|&v| Scale::Linear.place(v)));
            Shades { values: values.clone(), axis, range }
        });
        self.draw(&shades.collect::<Vec<_>>(), 0)
    }

    /// The graph in one of several shades; the bars of the others are there, but hidden.
    pub(super) fn draw(&self, shades: &[Shades], shown: usize) -> Svg {
        let drawing = Drawing::new(self, shades.get(shown));
        let mut content = Element::new("g");
        drawing.draw_links(&mut content);
        drawing.draw_nodes(&mut content);
        let mut extent = drawing.extent();
        let texts = drawing.draw_labels(&mut content);
        texts.into_iter().for_each(|text| extent = extent.with(text));
        let mut title = format!("a graph of {} nodes and {} links", self.peers(), self.links);
        if let Some(Shades { axis, .. }) = shades.get(shown) {
            title += &format!(", coloured by {}", axis.title(0));
        }
        let mut whole = extent;
        for (at, Shades { axis, range, .. }) in shades.iter().enumerate() {
            let mut bar = Element::new("g").set("data-bar", at.to_string());
            if at != shown {
                bar = bar.set("display", "none");
            }
            whole = whole.with(draw_colour_bar(*range, axis, extent, &mut bar));
            content.push(bar);
        }
        let extent = whole;
        let mut notes = vec![title.clone()];
        if self.edges.len() < self.links {
            notes.push(format!("{} of {} links drawn", self.edges.len(), self.links));
        }
        for (count, what) in [
            (self.peers() - drawing.nodes.len(), "nodes without a finite position"),
            (self.edges.len() - drawing.links.len(), "links without two nodes"),
            (drawing.nodes.iter().filter(|node| node.colourless).count(), "nodes without a value"),
        ] {
            if count > 0 {
                notes.push(format!("{what}: {count}"));
            }
        }
        // A small drawing keeps its size: one node must not fill the page.
        let (width, height) = (extent.right - extent.left, extent.bottom - extent.top);
        let width = width.max(SIDE) + 2.0 * MARGIN;
        let (x, y) = extent.centre();
        let view = Extent::around(x, y, width, height + 2.0 * MARGIN);
        let view = View { left: view.left, top: view.top, width, height: height + 2.0 * MARGIN };
        Svg::drawn(view, &title, &(notes.join("; ") + "."), &[], content)
    }
}

/// A number per node, what it is, and the places that the colours span.
pub(super) struct Shades {
    pub(super) values: Vec<f64>,
    pub(super) axis: Axis,
    pub(super) range: Range,
}

impl Shades {
    /// A node's number and its place between the ends of the range; a place beyond is at the end.
    fn place(&self, node: usize) -> Option<(f64, f64)> {
        let value = *self.values.get(node)?;
        Some((value, self.range.fraction(self.axis.scale.place(value)?)))
    }
}

struct Node<'a> {
    /// Its number in the graph.
    index: usize,
    x: f64,
    y: f64,
    colour: Colour,
    /// A value was asked for and there is none.
    colourless: bool,
    label: &'a str,
    told: String,
}

struct Drawing<'a> {
    nodes: Vec<Node<'a>>,
    /// Links by their ends' places in `nodes`.
    links: Vec<(usize, usize)>,
    radius: f64,
}

impl<'a> Drawing<'a> {
    fn new(graph: &'a Graph, shades: Option<&Shades>) -> Self {
        let Graph { edges, positions, labels, .. } = graph;
        let placed = |[x, y]: [f64; 2]| Some([Scale::Linear.place(x)?, Scale::Linear.place(y)?]);
        let known = || positions.iter().filter_map(|&p| placed(p));
        let (x_range, y_range) =
            (Range::around(known().map(|p| p[0])), Range::around(known().map(|p| p[1])));
        let scale = x_range.span().max(y_range.span());
        let mut place = vec![None; positions.len()];
        let mut nodes = Vec::with_capacity(positions.len());
        for (index, &position) in positions.iter().enumerate() {
            let Some([x, y]) = placed(position) else { continue };
            let label = labels.get(index).map_or("", String::as_str);
            let shade = shades.and_then(|shades| shades.place(index));
            let (colour, told) = match shade {
                Some((value, fraction)) => (
                    Colour::viridis(fraction),
                    format!("{label}: {}", figure_in(value, Medium::Typeset)),
                ),
                None => (Colour::NEUTRAL, label.to_owned()),
            };
            place[index] = Some(nodes.len());
            nodes.push(Node {
                index,
                x: (x - x_range.low) / scale * SIDE,
                // Up is up, as in the plane that the layout computed in.
                y: (y_range.high - y) / scale * SIDE,
                colour,
                colourless: shades.is_some() && shade.is_none(),
                label,
                told,
            });
        }
        let radius = radius(&nodes);
        let links = edges
            .iter()
            .filter(|(from, to)| from != to)
            .filter_map(|&(from, to)| Some(((*place.get(from)?)?, (*place.get(to)?)?)))
            .collect();
        Self { nodes, links, radius }
    }

    fn extent(&self) -> Extent {
        let start = Extent { left: 0.0, top: 0.0, right: 0.0, bottom: 0.0 };
        let boxes = self.nodes.iter().map(|node| node.extent(self.radius + 1.0));
        boxes.reduce(Extent::with).unwrap_or(start)
    }

    fn draw_links(&self, content: &mut Element) {
        let lines: Vec<String> = self
            .links
            .iter()
            .map(|&(from, to)| (&self.nodes[from], &self.nodes[to]))
            .map(|(a, b)| {
                let [x1, y1, x2, y2] = [a.x, a.y, b.x, b.y].map(coordinate);
                format!("M{x1} {y1}L{x2} {y2}")
            })
            .collect();
        if !lines.is_empty() {
            // Many links become a haze through which the nodes must still be seen.
            let crowd = (lines.len() as f64 / 200.0).sqrt().max(1.0);
            let path = LINK.stroke(Element::new("path").set("d", lines.concat()));
            content.push(
                path.set("stroke-width", (1.4 / crowd).max(0.5))
                    .set("stroke-opacity", (1.0 / crowd.sqrt()).max(0.25)),
            );
        }
    }

    fn draw_nodes(&self, content: &mut Element) {
        let mut group = RIM
            .stroke(Element::new("g"))
            .set("stroke-width", if self.radius > 4.0 { "1.2" } else { "0.5" });
        for node in &self.nodes {
            let circle = Element::new("circle")
                .set("cx", node.x)
                .set("cy", node.y)
                .set("r", self.radius)
                .set("fill", node.colour.hex())
                .set("data-peer", node.index.to_string());
            group.push(circle.with(Element::new("title").text(&node.told)));
        }
        content.push(group);
    }

    /// Writes labels inside the nodes if all fit, else beside them where they cover least, and
    /// returns the room that they take.
    fn draw_labels(&self, content: &mut Element) -> Vec<Extent> {
        if self.nodes.len() > MOST_LABELS {
            return Vec::new();
        }
        let size = (self.radius * 0.95).clamp(8.0, SIZE);
        let fits = |node: &Node| text_width(node.label, size) <= 1.75 * self.radius;
        let text = |size: f64, x: f64, y: f64| {
            let text = Element::new("text").set("font-size", size).set("text-anchor", "middle");
            text.set("x", x).set("y", y)
        };
        if self.nodes.iter().all(fits) {
            for node in &self.nodes {
                let text = text(size, node.x, node.y + 0.35 * size);
                let text = text.set("data-letters", node.index.to_string());
                let text = text.set("pointer-events", "none");
                content.push(text.set("fill", node.colour.lettering()).text(node.label));
            }
            return Vec::new();
        }
        let size = size.max(0.8 * SIZE);
        let mut taken: Vec<Extent> = Vec::new();
        for node in self.nodes.iter().filter(|node| !node.label.is_empty()) {
            let label = shortened(node.label, size, 130.0);
            let room = self.free_room(node, &label, size, &taken);
            taken.push(room);
            let text = || text(size, (room.left + room.right) / 2.0, room.top + 0.85 * size);
            // A rim in the colour of the ground keeps links from running through the letters.
            let rim = GROUND.stroke(text().set("aria-hidden", "true"));
            let rim = rim.set("stroke-width", "3").set("stroke-linejoin", "round");
            content.push(rim.set("stroke-opacity", "0.85").text(&label));
            content.push(INK.fill(text()).text(&label));
        }
        taken
    }

    /// Of eight rooms around a node the one that covers least of nodes, labels and links.
    fn free_room(&self, node: &Node, label: &str, size: f64, taken: &[Extent]) -> Extent {
        let (width, height) = (text_width(label, size), 1.1 * size);
        let reach = self.radius + APART;
        // Away from the middle first: there are the fewest links.
        let (mid_x, mid_y) = self.extent().centre();
        let eighth = std::f64::consts::FRAC_PI_4;
        let outward = ((node.y - mid_y).atan2(node.x - mid_x) / eighth).round();
        let rooms = [0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0].map(|turn| {
            let (sin, cos) = ((outward + turn) * eighth).sin_cos();
            let (x, y) = (cos * (reach + width / 2.0), sin * (reach + height / 2.0));
            Extent::around(node.x + x, node.y + y, width, height)
        });
        let covered = |room: Extent| {
            let nodes = self.nodes.iter().map(|other| other.extent(self.radius).overlap(room));
            let labels = taken.iter().map(|other| other.overlap(room));
            let links = self.links.iter().map(|&(from, to)| {
                let (from, to) = (&self.nodes[from], &self.nodes[to]);
                room.length_inside((from.x, from.y), (to.x, to.y))
            });
            nodes.sum::<f64>() + 2.0 * labels.sum::<f64>() + 2.0 * links.sum::<f64>()
        };
        let mut best = (covered(rooms[0]), rooms[0]);
        for room in rooms {
            let cost = covered(room);
            // Only for a gain that can be seen, so that rounding does not decide.
            if cost < best.0 - 1.0 {
                best = (cost, room);
            }
        }
        best.1
    }
}

impl Node<'_> {
    fn extent(&self, radius: f64) -> Extent {
        Extent::around(self.x, self.y, 2.0 * radius, 2.0 * radius)
    }
}

/// A radius at which most circles stay apart: by their number, and by how close they are.
fn radius(nodes: &[Node]) -> f64 {
    let by_number = 0.22 * SIDE / (nodes.len().max(1) as f64).sqrt();
    let mut nearest: Vec<f64> = Vec::new();
    if nodes.len() <= MOST_PAIRS {
        for (i, a) in nodes.iter().enumerate() {
            let others = nodes.iter().enumerate().filter(|&(j, _)| j != i);
            let distances = others.map(|(_, b)| (a.x - b.x).hypot(a.y - b.y));
            nearest.extend(distances.reduce(f64::min));
        }
        nearest.sort_by(f64::total_cmp);
    }
    // A tenth may touch: one close pair should not make all the others specks.
    let by_distance = nearest.get(nearest.len() / 10).map_or(f64::INFINITY, |d| 0.42 * d);
    by_number.min(by_distance).clamp(1.8, 14.0)
}

#[cfg(test)]
mod tests {
    use super::super::super::markup::check_well_formed;
    use super::*;
    use proptest::prelude::*;

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|i| i.to_string()).collect()
    }

    #[test]
    fn labels_and_values_are_shown_and_escaped() {
        let hostile = "</script><script>";
        let svg = Graph::new(
            &[(0, 1), (1, 2)],
            vec![[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]],
            vec![hostile.to_owned(), "b".to_owned(), "c".to_owned()],
        )
        .coloured(vec![0.0, 0.5, 1.0], hostile)
        .to_svg();
        check_well_formed(svg.as_str()).unwrap();
        assert!(!svg.as_str().contains("<script"));
        assert!(svg.as_str().contains("#440154") && svg.as_str().contains("#fde725"));
        assert_eq!(svg.as_str().matches("<circle").count(), 3);
    }

    #[test]
    fn what_has_no_place_is_left_out_and_counted() {
        let svg = Graph::new(
            &[(0, 1), (0, 9), (1, 2), (1, 1)],
            vec![[0.0, 0.0], [1.0, 1.0], [f64::NAN, 0.0]],
            names(1),
        )
        .coloured(vec![1.0], "age")
        .to_svg();
        let svg = svg.as_str();
        assert!(svg.contains("nodes without a finite position: 1"));
        assert!(svg.contains("links without two nodes: 3"));
        assert!(svg.contains("nodes without a value: 1"));
    }

    #[test]
    fn of_very_many_links_some_are_drawn_and_the_drawing_says_how_many() {
        let edges: Vec<(usize, usize)> =
            (0..200).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
        let graph = Graph::new(&edges, vec![[0.0, 0.0]; 200], names(200));
        let svg = graph.to_svg().into_string();
        assert!(svg.contains("a graph of 200 nodes and 19900 links; 9950 of 19900 links drawn"));
    }

    #[test]
    fn nothing_is_clipped() {
        let n = 12;
        let positions: Vec<[f64; 2]> = (0..n)
            .map(|i| (std::f64::consts::TAU * i as f64 / n as f64).sin_cos())
            .map(|(sin, cos)| [cos, sin])
            .collect();
        let labels: Vec<String> = (0..n).map(|i| format!("a peer with a name {i}")).collect();
        let svg = Graph::new(&[], positions, labels.clone()).to_svg().into_string();
        let number = |text: &str, key: &str| -> f64 {
            let (_, rest) = text.split_once(&format!(" {key}=\"")).unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let view: Vec<f64> = svg
            .split_once("viewBox=\"")
            .unwrap()
            .1
            .split('"')
            .next()
            .unwrap()
            .split(' ')
            .map(|v| v.parse().unwrap())
            .collect();
        for text in svg.split("<text").skip(1) {
            let half = text_width(&labels[0], number(text, "font-size")) / 2.0;
            let x = number(text, "x");
            assert!(x - half >= view[0] && x + half <= view[0] + view[2]);
        }
    }

    proptest! {
        #[test]
        fn any_input_gives_a_well_formed_drawing(
            edges in proptest::collection::vec((0usize..40, 0usize..40), 0..60),
            positions in proptest::collection::vec([any::<f64>(), any::<f64>()], 0..70),
            labels in proptest::collection::vec(".*", 0..40),
            values in proptest::collection::vec(any::<f64>(), 0..40),
        ) {
            let graph = Graph::new(&edges, positions, labels).coloured(values, "value");
            let svg = graph.to_svg();
            prop_assert_eq!(check_well_formed(svg.as_str()), Ok(()));
            prop_assert_eq!(check_well_formed(&svg.standalone()), Ok(()));
        }
    }
}
