//! Random regular graphs: everybody has the same number of neighbours, the rest is chance.

use std::collections::HashSet;

use rand::RngExt;
use rand::seq::SliceRandom;

use super::connected::first_connected;
use super::graph::{Topology, TopologyError};
use super::parameter::{MOST_LINKS, Problem, count, refuse};
use crate::random::{Stream, Streams};

pub(super) fn problems(peers: usize, degree: usize) -> Vec<Problem> {
    if let Some(problem) = count("peers", peers) {
        return vec![problem];
    }
    let (allowed, step) = match peers {
        1 | 2 => (peers - 1..=peers - 1, ""),
        _ => (2..=peers - 1, if peers.is_multiple_of(2) { "" } else { "an even number " }),
    };
    let expected = match peers {
        1 | 2 => format!("expected {}", allowed.start()),
        _ => format!("expected {step}from {} to {}", allowed.start(), allowed.end()),
    };
    let mut problems = Vec::new();
    if !allowed.contains(&degree) {
        let message = format!("no connected graph of {peers} peers is {degree}-regular");
        problems.push(("degree", format!("{message}; {expected}")));
    } else if peers % 2 == 1 && degree % 2 == 1 {
        let message = format!("peers × degree must be even, and {peers} × {degree} is odd");
        problems.push(("degree", format!("{message}; {expected}")));
    } else if peers as u64 * degree as u64 / 2 > MOST_LINKS {
        let links = peers as u64 * degree as u64 / 2;
        problems.push(("degree", format!("it makes {links} links; expected at most {MOST_LINKS}")));
    }
    problems
}

/// A random simple graph in which every peer has `degree` neighbours, conditioned on being
/// connected.
///
/// Ends of links are paired at random, and loops and double links switched away (McKay and
/// Wormald, 1990, without their rejections): asymptotically uniform for a fixed degree. For the
/// sake of small graphs, the switch chain, whose stationary law is uniform over all simple regular
/// graphs, then runs for 10 steps per link (2²⁰ at most). Degrees of half the peers and more are
/// drawn as complements. Degree 2 is a ring in random order: exactly uniform over the connected
/// graphs.
///
/// # Complexity
/// O(links) expected; a million peers of degree 4 take a few seconds.
///
/// # Errors
/// A degree that no connected graph of so many peers has.
pub fn random_regular(
    peers: usize,
    degree: usize,
    streams: &Streams,
) -> Result<Topology, TopologyError> {
    refuse(problems(peers, degree))?;
    let n = peers as u32;
    let draw = |stream: &mut Stream| match degree {
        2 => Some(shuffled_ring(n, stream)),
        _ if 2 * degree < peers => Some(Pairing::draw(n, degree, stream)?.links),
        _ => {
            let absent = Pairing::draw(n, peers - 1 - degree, stream)?.present;
            let all = (1..n).flat_map(|b| (0..b).map(move |a| (a, b)));
            Some(all.filter(|&(a, b)| !absent.contains(&key(a, b))).collect())
        }
    };
    first_connected(peers, streams, draw, || "raise degree to 3 or more".to_string())
}

fn shuffled_ring(peers: u32, stream: &mut Stream) -> Vec<(u32, u32)> {
    let mut order: Vec<u32> = (0..peers).collect();
    order.shuffle(stream);
    (0..order.len()).map(|i| (order[i], order[(i + 1) % order.len()])).collect()
}

/// A link as one number, the same from both sides.
fn key(a: u32, b: u32) -> u64 {
    u64::from(a.min(b)) << 32 | u64::from(a.max(b))
}

/// A simple graph on its way to be regular: links by position, to draw from, and by key, to look
/// up.
struct Pairing {
    links: Vec<(u32, u32)>,
    present: HashSet<u64>,
}

impl Pairing {
    /// A random simple `degree`-regular graph, `2 degree < peers`; `None` where a loop or double
    /// link cannot be switched away, as in the smallest graphs when all pairs are loops.
    fn draw(peers: u32, degree: usize, stream: &mut Stream) -> Option<Self> {
        const TRIES: usize = 10_000;
        let mut ends: Vec<u32> =
            (0..peers).flat_map(|peer| std::iter::repeat_n(peer, degree)).collect();
        ends.shuffle(stream);

        let wanted = ends.len() / 2;
        let mut pairing =
            Self { links: Vec::with_capacity(wanted), present: HashSet::with_capacity(wanted) };
        let mut refused = Vec::new();
        for pair in ends.chunks_exact(2) {
            if !pairing.insert(pair[0], pair[1]) {
                refused.push((pair[0], pair[1]));
            }
        }
        // A refused pair a – b blocks the links at a's and b's neighbours: at most 2 degree² of
        // the peers · degree directed ones, so as a rule there are others to switch with.
        for pair in refused {
            (0..TRIES).find(|_| pairing.absorb(pair, stream))?;
        }
        debug_assert_eq!(pairing.links.len(), wanted);

        if wanted > 1 {
            for _ in 0..(10 * wanted).min(1 << 20) {
                pairing.switch(stream);
            }
        }
        Some(pairing)
    }

    /// Adds the link a – b unless it is a loop or there already.
    fn insert(&mut self, a: u32, b: u32) -> bool {
        let fits = a != b && self.present.insert(key(a, b));
        if fits {
            self.links.push((a, b));
        }
        fits
    }

    /// Whether a – c and b – d could both be added.
    fn admits(&self, (a, c): (u32, u32), (b, d): (u32, u32)) -> bool {
        let absent = |a, b| a != b && !self.present.contains(&key(a, b));
        absent(a, c) && absent(b, d) && key(a, c) != key(b, d)
    }

    /// A random link in a random direction, with its position.
    fn pick(&self, stream: &mut Stream) -> (usize, (u32, u32)) {
        let position = stream.random_range(0..self.links.len());
        let (c, d) = self.links[position];
        (position, if stream.random() { (c, d) } else { (d, c) })
    }

    /// Replaces a random link c – d by a – c and b – d, where that keeps the graph simple.
    fn absorb(&mut self, (a, b): (u32, u32), stream: &mut Stream) -> bool {
        if self.links.is_empty() {
            return false;
        }
        let (position, (c, d)) = self.pick(stream);
        let fits = self.admits((a, c), (b, d));
        if fits {
            self.present.remove(&key(c, d));
            self.links.swap_remove(position);
            self.insert(a, c);
            self.insert(b, d);
        }
        fits
    }

    /// One step of the switch chain: two random links a – b, c – d become a – c, b – d, where that
    /// keeps the graph simple.
    fn switch(&mut self, stream: &mut Stream) {
        let (first, (a, b)) = self.pick(stream);
        let (second, (c, d)) = self.pick(stream);
        if first != second && self.admits((a, c), (b, d)) {
            for (position, old, new) in [(first, (a, b), (a, c)), (second, (c, d), (b, d))] {
                self.present.remove(&key(old.0, old.1));
                self.present.insert(key(new.0, new.1));
                self.links[position] = new;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::complete;
    use super::super::connected::connects;
    use super::*;
    use crate::random::Purpose;
    use crate::units::Seed;

    fn streams(seed: u64) -> Streams {
        Streams::new(Seed(seed), 0)
    }

    #[test]
    fn the_smallest_and_the_densest() {
        assert_eq!(random_regular(1, 0, &streams(1)), complete(1));
        assert_eq!(random_regular(2, 1, &streams(1)), complete(2));
        assert_eq!(random_regular(3, 2, &streams(1)), complete(3));
        assert_eq!(random_regular(9, 8, &streams(1)), complete(9));
    }

    #[test]
    fn impossible_degrees_say_what_is_allowed() {
        for (peers, degree, expected) in [
            (5, 3, "peers × degree must be even, and 5 × 3 is odd; expected an even number from 2"),
            (5, 5, "expected an even number from 2 to 4"),
            (10, 10, "expected from 2 to 9"),
            (10, 1, "expected from 2 to 9"),
            (2, 2, "expected 1"),
            (1, 1, "expected 0"),
        ] {
            let error = random_regular(peers, degree, &streams(1)).unwrap_err().to_string();
            assert!(error.starts_with("degree: ") && error.contains(expected), "{error}");
        }
        assert!(random_regular(0, 0, &streams(1)).is_err());
        assert!(random_regular(100_000, 90_000, &streams(1)).is_err());
    }

    /// Of the 70 cubic graphs on 6 labelled peers (all connected), each is as likely as any
    /// other: χ² with 69 degrees of freedom.
    #[test]
    fn cubic_graphs_on_six_peers_are_uniform() {
        const SEEDS: u64 = 14_000;
        let mut times = BTreeMap::new();
        for seed in 0..SEEDS {
            let graph = random_regular(6, 3, &streams(seed)).unwrap();
            *times.entry(graph.edges().collect::<Vec<_>>()).or_insert(0_u32) += 1;
        }
        assert_eq!(times.len(), 70);
        let expected = SEEDS as f64 / 70.0;
        let chi: f64 = times.values().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        // Mean 69, standard deviation 11.7; 120 has a tail of 1 in 8,000.
        assert!(chi < 120.0, "χ² = {chi}");
    }

    /// The same without complements: of the 19,355 cubic graphs on 8 labelled peers, 35 are two
    /// tetrahedra apart.
    #[test]
    fn cubic_graphs_on_eight_peers_fall_apart_as_often_as_they_should() {
        const SEEDS: u64 = 40_000;
        let apart = (0..SEEDS)
            .filter_map(|seed| {
                let mut stream = streams(seed).family(Purpose::Topology, 0).stream(0);
                Pairing::draw(8, 3, &mut stream)
            })
            .filter(|pairing| !connects(8, &pairing.links))
            .count();
        // 72.3 expected, standard deviation 8.5.
        assert!(apart.abs_diff(72) < 35, "{apart}");
    }

    #[test]
    fn a_million_peers() {
        let graph = random_regular(1_000_000, 4, &streams(1)).unwrap();
        assert_eq!(graph.links(), 2_000_000);
        assert!(graph.ids().all(|peer| graph.degree(peer) == 4));
    }

    proptest! {
        #[test]
        fn regular_connected_and_a_function_of_the_seed(
            seed: u64, peers in 3_usize..60, degree in 2_usize..59,
        ) {
            let degree = 2 + degree % (peers - 2);
            prop_assume!(peers * degree % 2 == 0);
            // `Topology::new` refuses loops and double links.
            let graph = random_regular(peers, degree, &streams(seed)).unwrap();
            prop_assert!(graph.ids().all(|peer| graph.degree(peer) == degree));
            prop_assert_eq!(graph.links(), peers * degree / 2);
            prop_assert!(graph.require_connected().is_ok());
            prop_assert_eq!(graph, random_regular(peers, degree, &streams(seed)).unwrap());
        }
    }
}
