//! Clustering: how often the neighbours of a peer are neighbours of each other.

use serde::Serialize;

use super::graph::Topology;
use crate::units::PeerId;

/// Steps that counting triangles may take: some ten seconds.
const BUDGET: u64 = 1 << 33;

/// The two usual coefficients, which differ where degrees do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Clustering {
    /// Transitivity, or the global coefficient: 3 × triangles / pairs of links that share a peer; 0
    /// where there is no such pair.
    pub transitivity: f64,
    /// The mean over peers of the share of their pairs of neighbours that are linked (Watts and
    /// Strogatz); a peer with fewer than two neighbours counts as 0.
    pub mean_local: f64,
}

/// The coefficients of a graph; none where it has too many links for its triangles to be counted.
///
/// # Complexity
/// O(links^1.5): every triangle is found from its peer of least degree.
pub(super) fn clustering(topology: &Topology) -> Option<Clustering> {
    let n = topology.peers();
    let pairs = |peer: PeerId| {
        let degree = topology.degree(peer) as f64;
        0.5 * degree * (degree - 1.0)
    };
    if topology.links() == n * (n - 1) / 2 {
        let all = if n > 2 { 1.0 } else { 0.0 };
        return Some(Clustering { transitivity: all, mean_local: all });
    }
    let rank = |peer: PeerId| (topology.degree(peer), peer);
    let later: Vec<Vec<PeerId>> = topology
        .ids()
        .map(|a| topology.neighbours(a).iter().copied().filter(|&b| rank(a) < rank(b)).collect())
        .collect();
    let work = |of: &Vec<PeerId>| -> u64 { of.iter().map(|b| later[b.index()].len() as u64).sum() };
    if later.iter().map(work).fold(0, u64::saturating_add) > BUDGET {
        return None;
    }
    let mut triangles = vec![0_u64; n];
    let mut marked_by = vec![u32::MAX; n];
    for a in topology.ids() {
        later[a.index()].iter().for_each(|b| marked_by[b.index()] = a.0);
        for b in &later[a.index()] {
            for c in later[b.index()].iter().filter(|c| marked_by[c.index()] == a.0) {
                [a.index(), b.index(), c.index()].into_iter().for_each(|i| triangles[i] += 1);
            }
        }
    }
    let corners: u64 = triangles.iter().sum();
    let all: f64 = topology.ids().map(pairs).sum();
    let local = topology.ids().map(|peer| match pairs(peer) {
        pairs if pairs > 0.0 => triangles[peer.index()] as f64 / pairs,
        _ => 0.0,
    });
    let mean_local = local.sum::<f64>() / n as f64;
    let transitivity = if all > 0.0 { corners as f64 / all } else { 0.0 };
    Some(Clustering { transitivity, mean_local })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Density, binary_tree, complete, erdos_renyi, path, star, watts_strogatz};
    use super::*;
    use crate::random::Streams;
    use crate::units::Seed;

    #[test]
    fn known_coefficients() {
        let of = |graph: Result<Topology, _>| clustering(&graph.unwrap()).unwrap();
        for graph in [path(1), path(2), path(9), star(9), binary_tree(20)] {
            assert_eq!(of(graph), Clustering { transitivity: 0.0, mean_local: 0.0 });
        }
        assert_eq!(of(complete(7)), Clustering { transitivity: 1.0, mean_local: 1.0 });
        // 3(k − 2)/(4(k − 1)) on the lattice of degree k (Barrat and Weigt, 2000).
        for k in [2, 4, 6, 8] {
            let lattice = of(watts_strogatz(40, k, 0.0, &Streams::new(Seed(1), 0)));
            let expected = 3.0 * (k as f64 - 2.0) / (4.0 * (k as f64 - 1.0));
            assert!((lattice.transitivity - expected).abs() < 1e-12, "{k}: {lattice:?}");
            assert!((lattice.mean_local - expected).abs() < 1e-12, "{k}: {lattice:?}");
        }
        // A triangle with a tail: one triangle, five pairs; 1, 1, 1/3 and 0 in the mean.
        let tail = Topology::from_links(4, [(0, 1), (1, 2), (2, 0), (2, 3)]);
        let found = of(tail);
        assert!((found.transitivity - 0.6).abs() < 1e-15, "{found:?}");
        assert!((found.mean_local - 7.0 / 12.0).abs() < 1e-15, "{found:?}");
    }

    proptest! {
        #[test]
        fn triangles_are_those_of_the_definition(seed: u64, n in 3_usize..20, p in 0.4_f64..0.9) {
            let graph = erdos_renyi(n, Density::Probability(p), &Streams::new(Seed(seed), 0));
            let Ok(graph) = graph else { return Ok(()) };
            let linked = |a: u32, b: u32| graph.neighbours(PeerId(a)).contains(&PeerId(b));
            let (mut closed, mut all) = (0, 0);
            for middle in 0..n as u32 {
                for a in (0..n as u32).filter(|&a| linked(middle, a)) {
                    for b in (0..a).filter(|&b| linked(middle, b)) {
                        all += 1;
                        closed += usize::from(linked(a, b));
                    }
                }
            }
            let found = clustering(&graph).unwrap().transitivity;
            prop_assert!((found - closed as f64 / all as f64).abs() < 1e-12);
        }
    }
}
