//! Which links a graph lacks most.

use super::graph::Topology;
use super::spectrum::fiedler;
use super::spectrum::iteration::Pair;
use crate::units::PeerId;

/// Links that are tried out in each step.
const CANDIDATES: usize = 50;

/// A link that is worth adding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suggestion {
    /// The link, lower end first.
    pub link: (PeerId, PeerId),
    /// λ₂ of the graph with all suggestions before this one.
    pub before: f64,
    /// λ₂ with this one too. The same as before where λ₂ is a multiple eigenvalue, as on a ring: no
    /// single link raises that, two may.
    pub after: f64,
}

/// Up to `count` links that raise the algebraic connectivity λ₂, found greedily, and the graph with
/// all of them; fewer where everybody is linked to everybody before.
///
/// In each step the non-links with the largest (v_i − v_j)², v the Fiedler vector (the rate at which
/// λ₂ grows with the link's weight), are the candidates; λ₂ is computed with each of the first 50,
/// and the best is taken. None if the graph is not connected, has one peer only, or is so large and
/// thin that an iteration does not settle.
pub fn suggest_links(topology: &Topology, count: usize) -> Option<(Vec<Suggestion>, Topology)> {
    if topology.peers() < 2 || topology.require_connected().is_err() {
        return None;
    }
    let settled = |pair: Pair| pair.converged.then_some(pair);
    let mut graph = topology.clone();
    let mut current = settled(fiedler(&graph, None))?;
    let mut suggestions = Vec::new();
    for _ in 0..count {
        let mut best: Option<((PeerId, PeerId), Topology, Pair)> = None;
        for (a, b) in candidates(&graph, &current.vector, CANDIDATES) {
            let Ok(more) = graph.with_link(a, b) else { continue };
            let Some(pair) = settled(fiedler(&more, Some(nudged(&current.vector)))) else {
                continue;
            };
            // Rounding must not decide between equals: the first, by the vector, stays.
            if best.as_ref().is_none_or(|(.., best)| pair.value > best.value * (1.0 + 1e-9)) {
                best = Some(((a, b), more, pair));
            }
        }
        let Some((link, more, pair)) = best else { break };
        suggestions.push(Suggestion { link, before: current.value, after: pair.value });
        (graph, current) = (more, pair);
    }
    Some((suggestions, graph))
}

/// A start near `vector` that is not confined to a subspace which the link leaves alone.
fn nudged(vector: &[f64]) -> Vec<f64> {
    let random = super::spectrum::laplacian::random_vector(vector.len());
    let size = 0.1 / (vector.len() as f64).sqrt();
    vector.iter().zip(random).map(|(v, r)| v + size * r).collect()
}

/// The `count` pairs without a link that differ most in `v`, most first, ties in the order of peers.
///
/// # Complexity
/// From each peer, lowest first, only so many partners are looked at as can still be among the
/// first: O(n log n) for the order, then few.
fn candidates(topology: &Topology, v: &[f64], count: usize) -> Vec<(PeerId, PeerId)> {
    let mut order: Vec<PeerId> = topology.ids().collect();
    order.sort_by(|a, b| v[a.index()].total_cmp(&v[b.index()]).then(a.cmp(b)));
    let difference = |low: PeerId, high: PeerId| v[high.index()] - v[low.index()];
    // Kept in order, at most `count`.
    let mut best: Vec<(f64, PeerId, PeerId)> = Vec::with_capacity(count + 1);
    for (place, &low) in order.iter().enumerate() {
        let mut looked = false;
        for &high in order[place + 1..].iter().rev() {
            let wide = difference(low, high);
            if best.len() == count && best.last().is_some_and(|least| wide <= least.0) {
                break;
            }
            looked = true;
            if topology.neighbours(low).binary_search(&high).is_ok() {
                continue;
            }
            let entry = (wide, low.min(high), low.max(high));
            let at = best.partition_point(|other| {
                other.0 > entry.0 || other.0 == entry.0 && (other.1, other.2) < (entry.1, entry.2)
            });
            best.insert(at, entry);
            best.truncate(count);
        }
        if !looked {
            break;
        }
    }
    best.into_iter().map(|(_, a, b)| (a, b)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Density, barbell, complete, erdos_renyi, path, random_regular, ring};
    use super::*;
    use crate::random::Streams;
    use crate::units::Seed;

    fn streams(seed: u64) -> Streams {
        Streams::new(Seed(seed), 0)
    }

    fn missing(graph: &Topology) -> Vec<(PeerId, PeerId)> {
        let pairs = graph.ids().flat_map(|b| graph.ids().take(b.index()).map(move |a| (a, b)));
        pairs.filter(|(a, b)| !graph.neighbours(*a).contains(b)).collect()
    }

    #[test]
    fn a_path_is_closed_nearly_to_a_ring() {
        let (suggestions, graph) = suggest_links(&path(10).unwrap(), 1).unwrap();
        assert_eq!(graph.links(), 10);
        let [only] = suggestions[..] else { panic!("{suggestions:?}") };
        assert!(only.after > 3.0 * only.before, "{only:?}");
    }

    #[test]
    fn a_barbell_gets_a_second_bridge() {
        let (suggestions, _) = suggest_links(&barbell(2, 6, 1, false).unwrap(), 1).unwrap();
        let (a, b) = suggestions[0].link;
        assert!(a.0 < 6 && b.0 >= 6, "{suggestions:?}");
    }

    /// λ₂ of a ring is double: the first link cannot raise it, the second can.
    #[test]
    fn a_ring_needs_two() {
        let (suggestions, _) = suggest_links(&ring(12).unwrap(), 2).unwrap();
        let [first, second] = suggestions[..] else { panic!("{suggestions:?}") };
        assert!((first.after - first.before).abs() < 1e-9, "{first:?}");
        assert!(second.after > 1.1 * second.before, "{second:?}");
    }

    #[test]
    fn nothing_to_add_and_nothing_to_say() {
        let (suggestions, graph) = suggest_links(&complete(5).unwrap(), 3).unwrap();
        assert_eq!((suggestions.len(), graph), (0, complete(5).unwrap()));
        assert_eq!(suggest_links(&path(1).unwrap(), 3), None);
        assert_eq!(suggest_links(&Topology::from_links(3, [(0, 1)]).unwrap(), 1), None);
    }

    /// Beyond the dense solve.
    #[test]
    fn a_larger_graph_gets_better_with_every_link() {
        let graph = random_regular(200, 3, &streams(3)).unwrap();
        let (suggestions, more) = suggest_links(&graph, 2).unwrap();
        assert_eq!(more.links(), 302);
        assert!(suggestions.iter().all(|s| s.after > s.before), "{suggestions:?}");
        let direct = fiedler(&more, None).value;
        assert!((direct - suggestions[1].after).abs() < 1e-8 * direct);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// Up to eleven peers every missing link is a candidate.
        #[test]
        fn small_graphs_get_the_best_link_of_all(seed: u64, n in 3_usize..12, p in 0.25_f64..0.8) {
            let graph = erdos_renyi(n, Density::Probability(p), &streams(seed));
            let Ok(graph) = graph else { return Ok(()) };
            let (suggestions, _) = suggest_links(&graph, 1).unwrap();
            let with = |&(a, b): &(PeerId, PeerId)| {
                fiedler(&graph.with_link(a, b).unwrap(), None).value
            };
            let best = missing(&graph).iter().map(with).fold(f64::NAN, f64::max);
            match suggestions.first() {
                Some(found) => prop_assert!((found.after - best).abs() < 1e-8, "{best} {found:?}"),
                None => prop_assert!(best.is_nan()),
            }
        }

        #[test]
        fn candidates_are_the_widest_of_all_pairs(
            seed: u64, n in 2_usize..40, p in 0.2_f64..1.0, count in 1_usize..60,
            values in prop::collection::vec(-5_i8..5, 40),
        ) {
            let graph = erdos_renyi(n, Density::Probability(p), &streams(seed));
            let Ok(graph) = graph else { return Ok(()) };
            let v: Vec<f64> = values[..n].iter().map(|&v| f64::from(v)).collect();
            let wide = |&(a, b): &(PeerId, PeerId)| (v[a.index()] - v[b.index()]).abs();
            let found: Vec<f64> = candidates(&graph, &v, count).iter().map(wide).collect();
            let mut all: Vec<f64> = missing(&graph).iter().map(wide).collect();
            all.sort_by(|a, b| b.total_cmp(a));
            all.truncate(count);
            prop_assert_eq!(found, all);
        }
    }
}
