//! Positions for drawing a graph.

use std::f64::consts::{PI, TAU};

use super::config::TopologyConfig;
use super::graph::Topology;
use super::shape::Shape;
use crate::units::PeerId;

/// A place on the drawing.
type Point = [f64; 2];

/// The largest graph that is laid out by its distances; larger ones are put on a circle.
const STRESS_PEERS: usize = 1_000;

/// The longest path that is drawn as one line.
const LINE_PEERS: usize = 12;

/// A position for every peer in the unit square, which the drawing fills in its longer direction
/// and is centred in, in the other.
///
/// Paths, rings, stars, grids and complete and circulant graphs are recognised by their links, so
/// that a graph from a file is drawn like one from a generator; small worlds and binary trees need
/// the `hint`. Others are laid out by stress (see below), and on a circle above 1,000 peers. The
/// same graph always has the same layout.
pub fn layout(topology: &Topology, hint: Option<&TopologyConfig>) -> Vec<Point> {
    let n = topology.peers();
    let mut points = match (hint, Shape::of(topology)) {
        (_, Shape::Path(order)) => in_order(&order, snake(n)),
        (_, Shape::Ring(order)) => in_order(&order, circle(n)),
        (_, Shape::Star(hub)) => {
            let mut points = circle(n - 1);
            points.insert(hub.index(), [0.0; 2]);
            points
        }
        (_, Shape::Grid { columns, .. }) => {
            (0..n).map(|peer| [(peer % columns) as f64, (peer / columns) as f64]).collect()
        }
        (_, Shape::Complete | Shape::Circulant) => circle(n),
        (Some(TopologyConfig::WattsStrogatz { .. }), _) => circle(n),
        (Some(TopologyConfig::BinaryTree { .. }), _) => levels(n),
        _ if n > STRESS_PEERS => circle(n),
        _ => stress(topology),
    };
    fill_unit_square(&mut points);
    points
}

/// Gives the peer at position i of `order` the point at position i.
fn in_order(order: &[PeerId], points: Vec<Point>) -> Vec<Point> {
    let mut placed = vec![[0.0; 2]; points.len()];
    for (peer, point) in order.iter().zip(points) {
        placed[peer.index()] = point;
    }
    placed
}

/// Points on a circle, the first at the top, clockwise on a page whose y axis points down.
fn circle(n: usize) -> Vec<Point> {
    (0..n)
        .map(|i| {
            let (sine, cosine) = (TAU * i as f64 / n as f64).sin_cos();
            [sine, -cosine]
        })
        .collect()
}

/// Points in the levels of a complete binary tree, as far apart as a full level would need.
fn levels(n: usize) -> Vec<Point> {
    let depth = n.ilog2();
    (1..=n)
        .map(|number| {
            let level = number.ilog2();
            let place = (number - (1 << level)) as f64 + 0.5;
            // As high as half the last level is wide, for a drawing that fills its page.
            let height = (1_u64 << depth) as f64 / (2.0 * f64::from(depth.max(1)));
            [place * (1_u64 << (depth - level)) as f64, f64::from(level) * height.max(1.0)]
        })
        .collect()
}

/// Points on a line, or in rows that turn at their ends.
fn snake(n: usize) -> Vec<Point> {
    let width = if n <= LINE_PEERS { n } else { (n as f64).sqrt().ceil() as usize };
    (0..n)
        .map(|i| {
            let (row, column) = (i / width, i % width);
            [if row % 2 == 0 { column } else { width - 1 - column } as f64, row as f64]
        })
        .collect()
}

/// Positions whose distances resemble the graph's own: minimises the stress
/// Σ_{i<j} d_ij⁻² (|x_i − x_j| − d_ij)², d the number of links between two peers, by majorisation
/// (Gansner, Koren and North, 2004), which only ever lowers it.
///
/// # Complexity
/// O(n²) per sweep; the number of sweeps shrinks for large graphs.
fn stress(topology: &Topology) -> Vec<Point> {
    let n = topology.peers();
    let far = n as f64;
    let distances: Vec<Vec<f64>> = topology
        .ids()
        .map(|peer| topology.distances(peer).iter().map(|d| d.map_or(far, f64::from)).collect())
        .collect();
    let mut points = classical_scaling(&distances);
    let sweeps = (20_000_000 / (n * n)).clamp(20, 300);
    for _ in 0..sweeps {
        for i in 0..n {
            let (mut weight, mut target) = (0.0, [0.0; 2]);
            for j in (0..n).filter(|&j| j != i) {
                let d = distances[i][j];
                let apart = [points[i][0] - points[j][0], points[i][1] - points[j][1]];
                let length = (apart[0] * apart[0] + apart[1] * apart[1]).sqrt();
                let stretch = d / length.max(1e-9);
                weight += 1.0 / (d * d);
                for axis in 0..2 {
                    target[axis] += (points[j][axis] + stretch * apart[axis]) / (d * d);
                }
            }
            points[i] = target.map(|sum| sum / weight);
        }
    }
    points
}

/// A start for [`stress`] without knots: the two leading eigenvectors of the doubly centred
/// squared distances (classical multidimensional scaling), by a few power iterations. A small
/// spiral keeps peers apart that have the same distances to all others.
fn classical_scaling(distances: &[Vec<f64>]) -> Vec<Point> {
    const ITERATIONS: usize = 30;
    let n = distances.len();
    let centre = |vector: &mut [f64]| {
        let mean = vector.iter().sum::<f64>() / n as f64;
        vector.iter_mut().for_each(|x| *x -= mean);
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let spiral = |i: usize| {
        let golden_angle = PI * (3.0 - 5.0_f64.sqrt());
        let (sine, cosine) = (golden_angle * i as f64).sin_cos();
        let radius = ((i + 1) as f64 / n as f64).sqrt();
        [radius * cosine, radius * sine]
    };

    let mut axes: Vec<Vec<f64>> = Vec::new();
    for axis in 0..2 {
        let mut vector: Vec<f64> = (0..n).map(|i| spiral(i)[axis]).collect();
        let mut length = 0.0;
        for _ in 0..ITERATIONS {
            centre(&mut vector);
            for other in &axes {
                let share = dot(&vector, other) / dot(other, other).max(f64::MIN_POSITIVE);
                vector.iter_mut().zip(other).for_each(|(x, y)| *x -= share * y);
            }
            let norm = dot(&vector, &vector).sqrt().max(f64::MIN_POSITIVE);
            vector.iter_mut().for_each(|x| *x /= norm);
            let mut next: Vec<f64> = distances
                .iter()
                .map(|row| -0.5 * row.iter().zip(&vector).map(|(d, x)| d * d * x).sum::<f64>())
                .collect();
            centre(&mut next);
            length = dot(&next, &next).sqrt();
            vector = next;
        }
        // The eigenvector, scaled to the root of its eigenvalue.
        let scale = length.sqrt() / length.max(f64::MIN_POSITIVE);
        vector.iter_mut().for_each(|x| *x *= scale);
        axes.push(vector);
    }
    (0..n)
        .map(|i| {
            let [x, y] = spiral(i);
            [axes[0][i] + 0.05 * x, axes[1][i] + 0.05 * y]
        })
        .collect()
}

/// Scales and centres, keeping the aspect ratio; a single place becomes the middle.
fn fill_unit_square(points: &mut [Point]) {
    let bounds = |axis: usize| {
        points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), point| {
            (low.min(point[axis]), high.max(point[axis]))
        })
    };
    let (x, y) = (bounds(0), bounds(1));
    let extent = (x.1 - x.0).max(y.1 - y.0);
    let scale = if extent > 0.0 { 1.0 / extent } else { 0.0 };
    for point in points {
        for (value, (low, high)) in point.iter_mut().zip([x, y]) {
            *value = ((*value - (low + high) / 2.0) * scale + 0.5).clamp(0.0, 1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Density, complete, erdos_renyi, grid, path, random_regular, ring, star};
    use super::*;
    use crate::random::Streams;
    use crate::units::Seed;

    fn between(a: Point, b: Point) -> f64 {
        (a[0] - b[0]).hypot(a[1] - b[1])
    }

    fn streams(seed: u64) -> Streams {
        Streams::new(Seed(seed), 0)
    }

    #[test]
    fn named_shapes() {
        assert_eq!(layout(&path(1).unwrap(), None), [[0.5, 0.5]]);
        assert_eq!(layout(&path(3).unwrap(), None), [[0.0, 0.5], [0.5, 0.5], [1.0, 0.5]]);
        let four = layout(&ring(4).unwrap(), None);
        for (point, expected) in four.iter().zip([[0.5, 0.0], [1.0, 0.5], [0.5, 1.0], [0.0, 0.5]]) {
            assert!(between(*point, expected) < 1e-12, "{point:?}");
        }
        let hub_and_leaves = layout(&star(9).unwrap(), None);
        assert!(between(hub_and_leaves[0], [0.5, 0.5]) < 1e-12);
        assert!(hub_and_leaves[1..].iter().all(|&leaf| between(leaf, [0.5, 0.5]) > 0.49));
        let lattice = layout(&grid(2, 3).unwrap(), None);
        assert_eq!(lattice[4], [0.5, 0.75]);
        let world =
            TopologyConfig::WattsStrogatz { peers: 20, degree: 4, rewiring: 0.5, resample: false };
        let graph = world.build(&streams(1), ".".as_ref()).unwrap();
        let on_circle = |&point: &Point| (between(point, [0.5, 0.5]) - 0.5).abs() < 1e-9;
        assert!(layout(&graph, Some(&world)).iter().all(on_circle));
        let tree = TopologyConfig::BinaryTree { peers: 7 };
        let points = layout(&tree.build(&streams(1), ".".as_ref()).unwrap(), Some(&tree));
        assert_eq!(points[0][0], 0.5, "the root stands in the middle");
        assert_eq!((points[3], points[6][1]), ([0.0, points[4][1]], points[4][1]));
    }

    #[test]
    fn shapes_are_recognised_in_any_order() {
        let scrambled = random_regular(40, 2, &streams(5)).unwrap();
        let points = layout(&scrambled, None);
        let side =
            between([0.5, 0.0], [0.5 + (TAU / 40.0).sin() / 2.0, (1.0 - (TAU / 40.0).cos()) / 2.0]);
        for (a, b) in scrambled.edges() {
            let length = between(points[a.index()], points[b.index()]);
            assert!((length - side).abs() < 1e-9, "neighbours stand side by side: {length}");
        }
    }

    /// A grid comes out as one also where it is not recognised: links short and even, others far.
    #[test]
    fn stress_unfolds_a_grid() {
        let grid = grid(6, 6).unwrap();
        let mut points = stress(&grid);
        fill_unit_square(&mut points);
        let lengths: Vec<f64> =
            grid.edges().map(|(a, b)| between(points[a.index()], points[b.index()])).collect();
        let (short, long) =
            lengths.iter().fold((f64::MAX, 0.0_f64), |(s, l), &x| (s.min(x), l.max(x)));
        assert!(long < 2.0 * short, "{short} to {long}");
        let corners = [0, 5, 30, 35].map(|corner: usize| points[corner]);
        assert!(between(corners[0], corners[3]) > 0.9 && between(corners[1], corners[2]) > 0.9);
    }

    #[test]
    fn large_graphs_cost_little() {
        let graph = random_regular(5_000, 4, &streams(1)).unwrap();
        let points = layout(&graph, None);
        assert!(points.iter().all(|&point| (between(point, [0.5, 0.5]) - 0.5).abs() < 1e-9));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn everybody_has_a_place_of_their_own(seed: u64, n in 2_usize..40, p in 0.2_f64..1.0) {
            let graph = erdos_renyi(n, Density::Probability(p), &streams(seed));
            let Ok(graph) = graph else { return Ok(()) };
            for graph in [graph, path(n).unwrap(), complete(n).unwrap()] {
                let points = layout(&graph, None);
                prop_assert_eq!(points.len(), n);
                prop_assert!(points.iter().flatten().all(|x| (0.0..=1.0).contains(x)));
                for i in 0..n {
                    for j in 0..i {
                        prop_assert!(between(points[i], points[j]) > 1e-3, "{} {}", i, j);
                    }
                }
                for axis in 0..2 {
                    let of = |f: fn(f64, f64) -> f64, start| {
                        points.iter().map(|point| point[axis]).fold(start, f)
                    };
                    let (low, high) = (of(f64::min, 1.0), of(f64::max, 0.0));
                    prop_assert!((low + high - 1.0).abs() < 1e-9, "centred");
                }
                prop_assert_eq!(points, layout(&graph, None));
            }
        }
    }
}
