//! Small worlds: a ring whose peers also know the next few, with some links rewired at random.

use std::collections::HashSet;

use rand::RngExt;

use super::connected::first_connected;
use super::graph::{Topology, TopologyError};
use super::parameter::{MOST_LINKS, Problem, count, refuse};
use crate::random::{Stream, Streams};

pub(super) fn problems(peers: usize, degree: usize, rewiring: f64) -> Vec<Problem> {
    let mut problems: Vec<Problem> = count("peers", peers).into_iter().collect();
    if problems.is_empty() && peers < 3 {
        problems.push(("peers", format!("{peers} make no lattice; expected 3 or more")));
    } else if problems.is_empty() {
        let links = peers as u64 * degree as u64 / 2;
        if degree < 2 || degree >= peers || degree % 2 == 1 {
            let expected = format!("expected an even number from 2 to {}", peers - 1);
            problems.push(("degree", format!("{degree} is out of range; {expected}")));
        } else if links > MOST_LINKS {
            let message = format!("it makes {links} links; expected at most {MOST_LINKS}");
            problems.push(("degree", message));
        }
    }
    if !(0.0..=1.0).contains(&rewiring) {
        let message = format!("{rewiring} is no probability; expected a number from 0 to 1");
        problems.push(("rewiring", message));
    }
    problems
}

/// A small world (Watts and Strogatz, 1998), conditioned on being connected.
///
/// In a ring where everybody is linked to the `degree`/2 next on either side, each link's farther
/// end moves with probability `rewiring` to a peer drawn uniformly from those that are not yet
/// neighbours. There are n · degree/2 links, and everybody keeps at least degree/2 of them.
///
/// # Complexity
/// O(links) expected, unless nearly everybody is linked to everybody.
///
/// # Errors
/// An odd degree, or one that so many peers cannot have; no connected graph in 100 attempts.
pub fn watts_strogatz(
    peers: usize,
    degree: usize,
    rewiring: f64,
    streams: &Streams,
) -> Result<Topology, TopologyError> {
    refuse(problems(peers, degree, rewiring))?;
    first_connected(
        peers,
        streams,
        |stream| Some(draw(peers as u32, degree as u32, rewiring, stream)),
        || "raise degree, or lower rewiring".to_string(),
    )
}

fn draw(peers: u32, degree: u32, rewiring: f64, stream: &mut Stream) -> Vec<(u32, u32)> {
    let key = |a: u32, b: u32| (a.min(b), a.max(b));
    let lattice =
        (1..=degree / 2).flat_map(|step| (0..peers).map(move |a| (a, (a + step) % peers)));
    let mut links: Vec<(u32, u32)> = lattice.collect();
    let mut present: HashSet<(u32, u32)> = links.iter().map(|&(a, b)| key(a, b)).collect();
    let mut degrees = vec![degree; peers as usize];
    for (a, b) in &mut links {
        // Who is linked to everybody has nowhere to move a link to.
        if !stream.random_bool(rewiring) || degrees[*a as usize] + 1 >= peers {
            continue;
        }
        let free = loop {
            let other = stream.random_range(0..peers);
            if other != *a && !present.contains(&key(*a, other)) {
                break other;
            }
        };
        present.remove(&key(*a, *b));
        present.insert(key(*a, free));
        degrees[*b as usize] -= 1;
        degrees[free as usize] += 1;
        *b = free;
    }
    links
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{complete, ring};
    use super::*;
    use crate::random::Purpose;
    use crate::units::Seed;

    fn streams(seed: u64) -> Streams {
        Streams::new(Seed(seed), 0)
    }

    #[test]
    fn without_rewiring_it_is_the_lattice() {
        assert_eq!(watts_strogatz(9, 2, 0.0, &streams(1)), ring(9));
        assert_eq!(watts_strogatz(9, 8, 0.0, &streams(1)), complete(9));
        assert_eq!(watts_strogatz(9, 8, 1.0, &streams(1)), complete(9), "nowhere to move to");
    }

    /// The share of lattice links that are gone is `rewiring`, but for those that moved to where
    /// another had been: fewer than degree/n of them.
    #[test]
    fn the_share_of_moved_links_is_the_probability() {
        let (peers, degree, p) = (5_000_u32, 6, 0.3);
        let mut stream = streams(4).family(Purpose::Topology, 0).stream(0);
        let links = draw(peers, degree, p, &mut stream);
        let near = |&&(a, b): &&(u32, u32)| (b + peers - a) % peers <= degree / 2;
        let kept = links.iter().filter(near).count() as f64 / links.len() as f64;
        // Standard deviation √(p(1 − p)/15,000) = 0.0037.
        assert!((kept - (1.0 - p)).abs() < 0.017, "{kept}");
    }

    #[test]
    fn bad_parameters_say_what_is_allowed() {
        let fields = |peers, degree, rewiring| -> Vec<_> {
            problems(peers, degree, rewiring).into_iter().map(|(field, _)| field).collect()
        };
        assert_eq!(fields(10, 3, -0.1), ["degree", "rewiring"]);
        assert_eq!(fields(10, 10, f64::NAN), ["degree", "rewiring"]);
        assert_eq!(fields(2, 2, 0.0), ["peers"]);
        assert_eq!(fields(0, 2, 2.0), ["peers", "rewiring"]);
        assert_eq!(fields(1 << 24, 1 << 10, 0.0), ["degree"]);
    }

    proptest! {
        #[test]
        fn links_are_conserved(
            seed: u64, peers in 3_usize..60, half in 1_usize..8, rewiring in 0.0_f64..=1.0,
        ) {
            let degree = 2 * half.min((peers - 1) / 2);
            let Ok(graph) = watts_strogatz(peers, degree, rewiring, &streams(seed)) else {
                return Ok(());
            };
            prop_assert_eq!(graph.links(), peers * degree / 2);
            prop_assert!(graph.ids().all(|peer| graph.degree(peer) >= degree / 2));
            prop_assert!(graph.require_connected().is_ok());
            prop_assert_eq!(Ok(graph), watts_strogatz(peers, degree, rewiring, &streams(seed)));
        }
    }
}
