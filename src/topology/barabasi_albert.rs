//! Scale-free graphs: newcomers link to those who have many links already.

use rand::RngExt;

use super::graph::{Topology, TopologyError};
use super::parameter::{MOST_LINKS, Problem, count, refuse};
use crate::random::{Purpose, Stream, Streams};

/// How many links there will be: m for everybody but the first m.
fn total(peers: usize, links: usize) -> u64 {
    links as u64 * (peers - links) as u64
}

pub(super) fn problems(peers: usize, links: usize) -> Vec<Problem> {
    if let Some(problem) = count("peers", peers) {
        return vec![problem];
    }
    if peers < 2 {
        return vec![("peers", "1 has nobody to link to; expected 2 or more".to_string())];
    }
    if !(1..peers).contains(&links) {
        let message = format!("{links} is out of range; expected 1 to {}", peers - 1);
        return vec![("links", message)];
    }
    let total = total(peers, links);
    if total > MOST_LINKS {
        return vec![("links", format!("it makes {total} links; expected at most {MOST_LINKS}"))];
    }
    Vec::new()
}

/// A graph grown by preferential attachment (Barabási and Albert, 1999): m(n − m) links.
///
/// It starts as a star of m + 1 peers, m = `links`; every peer after them is linked to m different
/// ones before it, each drawn with probability proportional to its degree. Always connected.
///
/// # Complexity
/// O(n m) expected.
///
/// # Errors
/// Fewer than one link per newcomer, or as many as there are peers.
pub fn barabasi_albert(
    peers: usize,
    links: usize,
    streams: &Streams,
) -> Result<Topology, TopologyError> {
    refuse(problems(peers, links))?;
    let mut stream = streams.family(Purpose::Topology, 0).stream(0);
    Topology::from_links(peers, draw(peers as u32, links, &mut stream))
}

fn draw(peers: u32, links: usize, stream: &mut Stream) -> Vec<(u32, u32)> {
    let mut all: Vec<(u32, u32)> = (0..links as u32).map(|leaf| (leaf, links as u32)).collect();
    all.reserve_exact(total(peers as usize, links) as usize - links);
    let mut chosen_by = vec![0; peers as usize];
    for newcomer in links as u32 + 1..peers {
        // A random end of a random link is a peer by its degree.
        let (before, ends) = (all.len(), 2 * all.len());
        while all.len() < before + links {
            let end = stream.random_range(0..ends);
            let (a, b) = all[end / 2];
            let chosen = if end % 2 == 0 { a } else { b };
            if std::mem::replace(&mut chosen_by[chosen as usize], newcomer) != newcomer {
                all.push((chosen, newcomer));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::star;
    use super::*;
    use crate::units::Seed;

    fn streams(seed: u64) -> Streams {
        Streams::new(Seed(seed), 0)
    }

    #[test]
    fn the_smallest_is_a_star() {
        let smallest = barabasi_albert(6, 5, &streams(1)).unwrap();
        assert_eq!(smallest.links(), star(6).unwrap().links());
        assert!(smallest.ids().take(5).all(|leaf| smallest.degree(leaf) == 1));
        assert!(barabasi_albert(6, 6, &streams(1)).is_err());
        assert!(barabasi_albert(6, 0, &streams(1)).is_err());
        assert!(barabasi_albert(1, 1, &streams(1)).is_err());
    }

    /// P(degree = k) → 2m(m + 1)/(k(k + 1)(k + 2)) (Bollobás and others, 2001): for m = 2 half the
    /// peers have degree 2, a fifth degree 3, a tenth degree 4.
    #[test]
    fn degrees_follow_the_power_law() {
        let (n, m) = (20_000, 2_usize);
        let graph = barabasi_albert(n, m, &streams(3)).unwrap();
        for k in 2..6 {
            let found = graph.ids().filter(|&peer| graph.degree(peer) == k).count() as f64;
            let p = 2.0 * (m * (m + 1)) as f64 / (k * (k + 1) * (k + 2)) as f64;
            let expected = p * n as f64;
            assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{k}: {found} {expected}");
        }
        let greatest = graph.ids().map(|peer| graph.degree(peer)).max().unwrap();
        assert!(greatest > 100, "a hub grows like √n: {greatest}");
    }

    proptest! {
        #[test]
        fn newcomers_bring_their_links(seed: u64, peers in 2_usize..80, links in 1_usize..10) {
            let links = links.min(peers - 1);
            // `Topology::new` refuses loops and double links.
            let graph = barabasi_albert(peers, links, &streams(seed)).unwrap();
            prop_assert_eq!(graph.links(), links * (peers - links));
            prop_assert!(graph.ids().skip(links).all(|peer| graph.degree(peer) >= links));
            prop_assert!(graph.require_connected().is_ok());
            prop_assert_eq!(Ok(graph), barabasi_albert(peers, links, &streams(seed)));
        }
    }
}
