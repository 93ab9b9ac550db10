//! Exponential graphs: links of length 1, 2, 4, … around a ring, so that news doubles every round.
//!
//! The static graph has all of them at once. The one-peer variant has the same links but activates
//! one per peer and round, which is a schedule and not another graph: [`partner`] and [`receiver`]
//! say whom a peer talks to in a round.

use super::graph::{Topology, TopologyError};
use super::parameter::{MOST_LINKS, Problem, count, refuse};
use crate::units::{PeerId, Round};

/// The distances around the ring, ascending and each at most half of it: ±2^k is the same distance
/// from both sides.
pub(super) fn distances(peers: u32) -> Vec<u32> {
    let powers = (0..32).map(|k| 1_u32 << k).take_while(|&power| power < peers);
    let mut distances: Vec<u32> = powers.map(|power| power.min(peers - power)).collect();
    distances.sort_unstable();
    distances.dedup();
    distances
}

pub(super) fn problem(peers: usize) -> Option<Problem> {
    count("peers", peers).or_else(|| {
        let links = peers as u64 * distances(peers as u32).len() as u64;
        (links > MOST_LINKS).then(|| {
            ("peers", format!("{peers} make {links} links; expected at most {MOST_LINKS} links"))
        })
    })
}

/// The static exponential graph: i is linked to i ± 2^k mod n for all 2^k < n.
///
/// # Errors
/// A number of peers that no topology has.
pub fn exponential(peers: usize) -> Result<Topology, TopologyError> {
    refuse(problem(peers))?;
    let n = peers as u32;
    let links = distances(n).into_iter().flat_map(move |distance| {
        // Half way around, i and i + n/2 would name the same link twice.
        let starts = if 2 * distance == n { n / 2 } else { n };
        (0..starts).map(move |peer| (peer, (peer + distance) % n))
    });
    Topology::from_links(peers, links)
}

/// 2^k of a round: k runs through 0 to ⌈log₂ n⌉ − 1 and begins again. None for a single peer.
fn stride(peers: usize, round: Round) -> Option<u32> {
    let period = peers.next_power_of_two().ilog2();
    (period > 0).then(|| 1 << (round.0.saturating_sub(1) % period))
}

/// With whom `peer` exchanges in `round` of the one-peer exponential schedule, both ways: the peer
/// whose number differs in bit k alone, k = (round − 1) mod ⌈log₂ n⌉, a link of length 2^k. `None`
/// where there is no such peer, which sits the round out.
///
/// If n is a power of two every round is a perfect pairing, and when all pairs average, log₂ n
/// rounds give everybody the exact mean.
pub fn partner(peers: usize, peer: PeerId, round: Round) -> Option<PeerId> {
    let other = peer.0 ^ stride(peers, round)?;
    ((other as usize) < peers).then_some(PeerId(other))
}

/// To whom `peer` sends in `round` in the directed schedule of Ying and others (2021), who receives
/// from another than it sends to: i + 2^k mod n. `None` for a single peer.
///
/// The averaging matrix ½(I + P^{2^k}) is doubly stochastic for every n; the product of log₂ n of
/// them is the exact mean if n is a power of two.
pub fn receiver(peers: usize, peer: PeerId, round: Round) -> Option<PeerId> {
    let stride = u64::from(stride(peers, round)?);
    Some(PeerId(((u64::from(peer.0) + stride) % peers as u64) as u32))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{complete, path};
    use super::*;

    #[test]
    fn small_ones_are_complete() {
        assert_eq!(exponential(1), path(1));
        for n in 2..=5 {
            assert_eq!(exponential(n), complete(n), "{n}");
        }
        let eight = exponential(8).unwrap();
        assert_eq!(eight.neighbours(PeerId(0)), [1, 2, 4, 6, 7].map(PeerId));
    }

    #[test]
    fn powers_of_two_have_degree_two_log_n_less_one() {
        for k in 2..10 {
            let graph = exponential(1 << k).unwrap();
            assert!(graph.ids().all(|peer| graph.degree(peer) == 2 * k - 1));
        }
    }

    /// What everybody has of everybody's value, exactly, after the rounds of a whole period: sums of
    /// powers of ½.
    fn after_a_period(n: usize, whom: fn(usize, PeerId, Round) -> Option<PeerId>) -> Vec<Vec<f64>> {
        let mut shares: Vec<Vec<f64>> =
            (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        for round in 1..=n.ilog2() {
            let mut next = shares.clone();
            for sender in 0..n {
                let receiver = whom(n, PeerId::new(sender), Round(round)).unwrap().index();
                next[receiver] = shares[receiver]
                    .iter()
                    .zip(&shares[sender])
                    .map(|(a, b)| (a + b) / 2.0)
                    .collect();
            }
            shares = next;
        }
        shares
    }

    #[test]
    fn a_period_of_either_schedule_averages_exactly_for_powers_of_two() {
        for n in [2_usize, 4, 8, 16, 64] {
            for whom in [partner, receiver] {
                let shares = after_a_period(n, whom);
                assert!(shares.iter().flatten().all(|&share| share == 1.0 / n as f64), "{n}");
            }
        }
    }

    proptest! {
        #[test]
        fn partners_are_neighbours_and_mutual(n in 2_usize..200, round in 1_u32..40) {
            let (graph, round) = (exponential(n).unwrap(), Round(round));
            let mut received = vec![false; n];
            for peer in graph.ids() {
                match partner(n, peer, round) {
                    Some(other) => {
                        prop_assert_eq!(partner(n, other, round), Some(peer));
                        prop_assert!(graph.neighbours(peer).binary_search(&other).is_ok());
                    }
                    None => prop_assert!(!n.is_power_of_two()),
                }
                let to = receiver(n, peer, round).unwrap();
                prop_assert!(graph.neighbours(peer).binary_search(&to).is_ok());
                prop_assert!(!std::mem::replace(&mut received[to.index()], true), "a permutation");
            }
        }

        #[test]
        fn links_are_powers_of_two_long(n in 2_usize..300) {
            let graph = exponential(n).unwrap();
            prop_assert!(graph.require_connected().is_ok());
            for (a, b) in graph.edges() {
                let forth = b.index() - a.index();
                prop_assert!(forth.is_power_of_two() || (n - forth).is_power_of_two());
            }
            for power in (0..12).map(|k| 1 << k).filter(|&power| power < n) {
                prop_assert!(graph.neighbours(PeerId(0)).contains(&PeerId::new(power)));
            }
        }
    }
}
