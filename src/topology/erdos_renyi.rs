//! Erdős–Rényi graphs: links between random pairs of peers.

use std::collections::HashSet;

use rand::RngExt;

use super::connected::first_connected;
use super::graph::{Topology, TopologyError};
use super::parameter::{MOST_LINKS, Problem, count, pairs, refuse};
use crate::random::{Stream, Streams};

/// How many links there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Density {
    /// Every pair is linked with this probability, independently: G(n, p) of Gilbert.
    Probability(f64),
    /// Exactly so many, every set of them equally likely: G(n, m) of Erdős and Rényi.
    Links(usize),
}

/// What is wrong with the peers and with every density that is given.
pub(super) fn problems(peers: usize, given: impl IntoIterator<Item = Density>) -> Vec<Problem> {
    let mut problems: Vec<Problem> = count("peers", peers).into_iter().collect();
    let countable = problems.is_empty();
    let expected_links = |p: f64| p * pairs(peers) as f64;
    for density in given {
        match density {
            Density::Probability(p) if !(p > 0.0 && p <= 1.0) => {
                let expected = "expected a number above 0 and at most 1";
                problems.push(("probability", format!("{p} is no probability; {expected}")));
            }
            Density::Probability(p) if countable && expected_links(p) > MOST_LINKS as f64 => {
                let message = format!("{p} makes about {:.0} links", expected_links(p));
                problems.push(("probability", format!("{message}; expected at most {MOST_LINKS}")));
            }
            Density::Links(links) if countable => {
                let (least, most) = (peers as u64 - 1, pairs(peers).min(MOST_LINKS));
                if !(least..=most).contains(&(links as u64)) {
                    let message = format!("{links} links cannot connect {peers} peers");
                    problems.push(("links", format!("{message}; expected {least} to {most}")));
                }
            }
            _ => {}
        }
    }
    problems
}

/// An Erdős–Rényi graph, conditioned on being connected (drawn again until it is).
///
/// # Complexity
/// O(n + links) per attempt.
///
/// # Errors
/// Parameters that no connected graph has; no connected graph in 100 attempts.
pub fn erdos_renyi(
    peers: usize,
    density: Density,
    streams: &Streams,
) -> Result<Topology, TopologyError> {
    refuse(problems(peers, [density]))?;
    let n = peers as f64;
    match density {
        Density::Probability(p) => first_connected(
            peers,
            streams,
            |stream| Some(with_probability(peers as u32, p, stream)),
            || {
                let threshold = n.ln() / n;
                let two_digits = (1.0 - threshold.log10().floor()).max(0.0) as usize;
                format!("raise probability above ln(n)/n ≈ {threshold:.two_digits$}")
            },
        ),
        Density::Links(links) => first_connected(
            peers,
            streams,
            |stream| Some(with_count(peers, links as u64, stream)),
            || format!("raise links above n ln(n)/2 ≈ {:.0}", (n * n.ln() / 2.0).ceil()),
        ),
    }
}

/// G(n, p) by jumps: between two linked pairs lie ⌊ln(1 − u) / ln(1 − p)⌋ unlinked ones, a
/// geometric number (Batagelj and Brandes, 2005, algorithm 1).
fn with_probability(peers: u32, p: f64, stream: &mut Stream) -> Vec<(u32, u32)> {
    let unlinked = (-p).ln_1p();
    let mut links = Vec::new();
    // The pairs (a, b), a < b, in the order of b and then a; `a` may stand beyond its row.
    let (mut a, mut b) = (0_u64, 1_u64);
    loop {
        let u: f64 = stream.random();
        // `as` saturates: a jump beyond every pair ends the walk.
        a = a.saturating_add(((-u).ln_1p() / unlinked) as u64);
        while a >= b && b < u64::from(peers) {
            a -= b;
            b += 1;
        }
        if b >= u64::from(peers) {
            return links;
        }
        links.push((a as u32, b as u32));
        a += 1;
    }
}

/// G(n, m) by Floyd's sampling of m of the n(n − 1)/2 pairs without replacement.
fn with_count(peers: usize, links: u64, stream: &mut Stream) -> Vec<(u32, u32)> {
    let all = pairs(peers);
    let mut taken = HashSet::with_capacity(links as usize);
    (all - links..all)
        .map(|last| {
            let rank = stream.random_range(0..=last);
            let rank = if taken.insert(rank) { rank } else { last };
            taken.insert(rank);
            pair(rank)
        })
        .collect()
}

/// The pair (a, b), a < b, at position b(b − 1)/2 + a.
pub(super) fn pair(rank: u64) -> (u32, u32) {
    let mut b = ((1.0 + (1.0 + 8.0 * rank as f64).sqrt()) / 2.0) as u64;
    // The root is off by one where 53 bits do not suffice.
    while b * (b - 1) / 2 > rank {
        b -= 1;
    }
    while b * (b + 1) / 2 <= rank {
        b += 1;
    }
    ((rank - b * (b - 1) / 2) as u32, b as u32)
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
    fn certain_links_make_the_complete_graph() {
        for density in [Density::Probability(1.0), Density::Links(45)] {
            assert_eq!(erdos_renyi(10, density, &streams(1)), complete(10));
        }
    }

    #[test]
    fn one_peer_needs_no_link() {
        assert_eq!(erdos_renyi(1, Density::Links(0), &streams(1)), complete(1));
        assert_eq!(erdos_renyi(1, Density::Probability(0.5), &streams(1)), complete(1));
    }

    /// Over S seeds the mean link count is p N ± √(p(1 − p)N / S), N = n(n − 1)/2, and every
    /// single pair is linked p S ± √(p(1 − p)S) times.
    #[test]
    fn link_counts_are_binomial() {
        const SEEDS: u32 = 4_000;
        for (peers, p) in [(20_u32, 0.1_f64), (20, 0.7), (7, 0.3)] {
            let all = f64::from(peers * (peers - 1) / 2);
            let mut times = vec![0_u32; all as usize];
            for seed in 0..SEEDS {
                let mut stream = streams(seed.into()).family(Purpose::Topology, 0).stream(0);
                for (a, b) in with_probability(peers, p, &mut stream) {
                    times[(b * (b - 1) / 2 + a) as usize] += 1;
                }
            }
            let seeds = f64::from(SEEDS);
            let mean = f64::from(times.iter().sum::<u32>()) / seeds;
            let deviation = (p * (1.0 - p) * all / seeds).sqrt();
            assert!((mean - p * all).abs() < 4.0 * deviation, "n = {peers}, p = {p}: {mean}");
            let deviation = (p * (1.0 - p) * seeds).sqrt();
            for (pair, &count) in times.iter().enumerate() {
                let off = (f64::from(count) - p * seeds).abs();
                assert!(off < 5.0 * deviation, "n = {peers}, p = {p}, pair {pair}: {count}");
            }
        }
    }

    /// Every set of 2 of the 6 pairs of 4 peers is as likely as every other.
    #[test]
    fn exact_counts_are_uniform_over_sets() {
        const SEEDS: u32 = 15_000;
        let mut times = std::collections::BTreeMap::new();
        for seed in 0..SEEDS {
            let mut stream = streams(seed.into()).family(Purpose::Topology, 0).stream(0);
            let mut links = with_count(4, 2, &mut stream);
            links.sort_unstable();
            *times.entry(links).or_insert(0_u32) += 1;
        }
        assert_eq!(times.len(), 15);
        // 1,000 expected of each, standard deviation 31.
        assert!(times.values().all(|count| count.abs_diff(1_000) < 140), "{times:?}");
    }

    #[test]
    fn a_sparse_graph_of_a_million_peers_costs_its_links() {
        let mut stream = streams(3).family(Purpose::Topology, 0).stream(0);
        let links = with_probability(1_000_000, 4e-6, &mut stream);
        // p N ≈ 2·10⁶, standard deviation 1,414.
        assert!(links.len().abs_diff(2_000_000) < 7_000, "{}", links.len());
    }

    #[test]
    fn bad_parameters_say_what_is_allowed() {
        let message = |peers, density| match erdos_renyi(peers, density, &streams(1)) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{peers} peers, {density:?} should be refused"),
        };
        for p in [0.0, -0.1, 1.1, f64::NAN] {
            let message = message(10, Density::Probability(p));
            assert!(message.contains("above 0 and at most 1"), "{message}");
        }
        assert!(message(10, Density::Links(8)).contains("expected 9 to 45"));
        assert!(message(10, Density::Links(46)).contains("expected 9 to 45"));
        assert!(message(1_000_000, Density::Probability(0.5)).contains("expected at most"));
        let hopeless = message(1_000, Density::Probability(1e-3));
        assert!(hopeless.contains("raise probability above ln(n)/n ≈ 0.0069"), "{hopeless}");
    }

    proptest! {
        #[test]
        fn ranks_and_pairs_agree(rank in 0_u64..1 << 60) {
            let (a, b) = pair(rank);
            prop_assert!(a < b);
            prop_assert_eq!(u64::from(b) * u64::from(b - 1) / 2 + u64::from(a), rank);
        }

        #[test]
        fn connected_simple_and_a_function_of_the_seed(
            seed: u64, peers in 2_usize..40, share in 0.5_f64..1.0,
        ) {
            let links = (share * pairs(peers) as f64).ceil().max(peers as f64 - 1.0) as usize;
            for density in [Density::Probability(share), Density::Links(links)] {
                // `Topology::new` refuses loops and double links.
                let first = erdos_renyi(peers, density, &streams(seed)).unwrap();
                prop_assert!(first.require_connected().is_ok());
                prop_assert_eq!(&first, &erdos_renyi(peers, density, &streams(seed)).unwrap());
                if let Density::Links(links) = density {
                    prop_assert_eq!(first.links(), links);
                }
            }
        }
    }
}
