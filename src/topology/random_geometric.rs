//! Random geometric graphs: peers scattered over a square, linked to those within reach.

use std::f64::consts::PI;

use rand::RngExt;

use super::connected::first_connected;
use super::graph::{Topology, TopologyError};
use super::parameter::{MOST_LINKS, Problem, count, pairs, refuse};
use crate::random::{Stream, Streams};

pub(super) fn problems(peers: usize, radius: f64) -> Vec<Problem> {
    let mut problems: Vec<Problem> = count("peers", peers).into_iter().collect();
    // Edges of the square only lower the share of pairs within reach.
    let expected_links = (PI * radius * radius).min(1.0) * pairs(peers) as f64;
    if !(radius > 0.0 && radius <= 2.0_f64.sqrt()) {
        let expected = "expected a number above 0 and at most √2, the square's diagonal";
        problems.push(("radius", format!("{radius} is out of range; {expected}")));
    } else if problems.is_empty() && expected_links > MOST_LINKS as f64 {
        let message = format!("{radius} makes up to {expected_links:.0} links");
        problems.push(("radius", format!("{message}; expected at most {MOST_LINKS}")));
    }
    problems
}

/// A random geometric graph (Gilbert, 1961), conditioned on being connected: peers drawn uniformly
/// from the unit square, linked where they are at most `radius` apart.
///
/// # Complexity
/// O(n + links) expected per attempt: peers are sorted into cells as wide as the radius.
///
/// # Errors
/// A radius that is not positive, or longer than the square's diagonal; no connected graph in 100
/// attempts.
pub fn random_geometric(
    peers: usize,
    radius: f64,
    streams: &Streams,
) -> Result<Topology, TopologyError> {
    refuse(problems(peers, radius))?;
    let n = peers as f64;
    first_connected(
        peers,
        streams,
        |stream| Some(within(&scatter(peers, stream), radius)),
        || format!("raise radius above √(ln(n)/(πn)) ≈ {:.2e}", (n.ln() / (PI * n)).sqrt()),
    )
}

fn scatter(peers: usize, stream: &mut Stream) -> Vec<[f64; 2]> {
    (0..peers).map(|_| [stream.random(), stream.random()]).collect()
}

/// The pairs of points at most `radius` apart, each once.
fn within(points: &[[f64; 2]], radius: f64) -> Vec<(u32, u32)> {
    // Cells no narrower than the radius, and no more of them than points.
    let side = (1.0 / radius).min((points.len() as f64).sqrt()).max(1.0) as usize;
    let cell = |[x, y]: [f64; 2]| {
        let place = |t: f64| ((t * side as f64) as usize).min(side - 1);
        (place(x), place(y))
    };
    let mut cells: Vec<Vec<u32>> = vec![Vec::new(); side * side];
    let mut links = Vec::new();
    for (b, &[x, y]) in points.iter().enumerate() {
        let (column, row) = cell([x, y]);
        for near in row.saturating_sub(1)..=(row + 1).min(side - 1) {
            for beside in column.saturating_sub(1)..=(column + 1).min(side - 1) {
                links.extend(cells[near * side + beside].iter().filter_map(|&a| {
                    let [u, v] = points[a as usize];
                    let square = (x - u) * (x - u) + (y - v) * (y - v);
                    (square <= radius * radius).then_some((a, b as u32))
                }));
            }
        }
        cells[row * side + column].push(b as u32);
    }
    links
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::complete;
    use super::*;
    use crate::random::Purpose;
    use crate::units::Seed;

    fn streams(seed: u64) -> Streams {
        Streams::new(Seed(seed), 0)
    }

    #[test]
    fn the_whole_diagonal_reaches_everybody() {
        assert_eq!(random_geometric(12, 2.0_f64.sqrt(), &streams(2)), complete(12));
        assert_eq!(random_geometric(1, 0.1, &streams(2)), complete(1));
    }

    /// Two uniform points of the unit square are within r ≤ 1 with probability
    /// πr² − 8r³/3 + r⁴/2.
    #[test]
    fn the_number_of_links_is_that_of_the_square() {
        let (n, r) = (20_000, 0.05_f64);
        let mut stream = streams(1).family(Purpose::Topology, 0).stream(0);
        let links = within(&scatter(n, &mut stream), r).len() as f64;
        let share = PI * r * r - 8.0 / 3.0 * r.powi(3) + 0.5 * r.powi(4);
        let expected = share * pairs(n) as f64;
        assert!((links / expected - 1.0).abs() < 0.01, "{links} {expected}");
    }

    #[test]
    fn bad_radii_say_what_is_allowed() {
        for radius in [0.0, -1.0, 1.5, f64::NAN] {
            assert_eq!(problems(10, radius).len(), 1, "{radius}");
        }
        assert!(problems(1 << 24, 0.5)[0].1.contains("expected at most"));
        let error = random_geometric(1_000, 0.001, &streams(1)).unwrap_err().to_string();
        assert!(error.contains("raise radius above"), "{error}");
    }

    proptest! {
        #[test]
        fn cells_miss_nobody(seed: u64, n in 1_usize..120, radius in 0.001_f64..1.5) {
            let mut stream = streams(seed).family(Purpose::Topology, 0).stream(0);
            let points = scatter(n, &mut stream);
            let mut found = within(&points, radius);
            found.sort_unstable();
            let apart = |a: usize, b: usize| {
                let [dx, dy] = [0, 1].map(|axis| points[a][axis] - points[b][axis]);
                dx * dx + dy * dy
            };
            let all = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
            let expected: Vec<_> = all
                .filter(|&(a, b)| apart(a, b) <= radius * radius)
                .map(|(a, b)| (a as u32, b as u32))
                .collect();
            prop_assert_eq!(found, expected);
        }
    }
}
