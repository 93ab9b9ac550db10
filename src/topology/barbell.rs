//! Cliques joined by bridges: well connected inside, hardly between, the worst case for consensus.

use super::graph::{Topology, TopologyError};
use super::parameter::{MOST_LINKS, MOST_PEERS, Problem, pairs, refuse};

pub(super) fn problems(
    cliques: usize,
    clique_size: usize,
    bridges: usize,
    closed: bool,
) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    let least = if closed { 3 } else { 2 };
    if !(least..=MOST_PEERS).contains(&cliques) {
        let what = if closed { " around a ring" } else { "" };
        let message = format!("{cliques} is out of range; expected {least} to {MOST_PEERS}{what}");
        problems.push(("cliques", message));
    }
    if !(1..=MOST_PEERS).contains(&clique_size) {
        let message = format!("{clique_size} is out of range; expected 1 to {MOST_PEERS}");
        problems.push(("clique_size", message));
    } else if !(1..=clique_size).contains(&bridges) {
        let message =
            format!("{bridges} is out of range; expected 1 to clique_size, {clique_size}");
        problems.push(("bridges", message));
    }
    if problems.is_empty() {
        let peers = cliques.saturating_mul(clique_size);
        let links = (cliques as u64).saturating_mul(pairs(clique_size) + bridges as u64);
        if peers > MOST_PEERS || links > MOST_LINKS {
            let message =
                format!("{cliques} cliques of {clique_size}: {peers} peers, {links} links");
            let expected = format!("expected at most {MOST_PEERS} and {MOST_LINKS}");
            problems.push(("clique_size", format!("{message}; {expected}")));
        }
    }
    problems
}

/// A chain of complete graphs, or a ring of them where `closed`; two are the barbell.
///
/// Clique c holds the peers c · s to c · s + s − 1, s = `clique_size`. Bridge k < `bridges` joins
/// the last but k of one clique with the k-th of the next, so that no two bridges between the same
/// cliques share an end.
///
/// # Errors
/// Fewer than two cliques (three where closed), more bridges than a clique has peers.
pub fn barbell(
    cliques: usize,
    clique_size: usize,
    bridges: usize,
    closed: bool,
) -> Result<Topology, TopologyError> {
    refuse(problems(cliques, clique_size, bridges, closed))?;
    let [count, size, bridges] = [cliques, clique_size, bridges].map(|number| number as u32);
    let inside = (0..count).flat_map(move |c| {
        (1..size).flat_map(move |b| (0..b).map(move |a| (c * size + a, c * size + b)))
    });
    let joints = if closed { count } else { count - 1 };
    let between = (0..joints).flat_map(move |c| {
        let next = (c + 1) % count;
        (0..bridges).map(move |k| (c * size + size - 1 - k, next * size + k))
    });
    Topology::from_links(cliques * clique_size, inside.chain(between))
}

/// Whom a peer's bridges lead to, of so many cliques of this size with this many bridges.
pub(super) fn across(
    [cliques, size, bridges]: [u32; 3],
    closed: bool,
    peer: u32,
) -> impl Iterator<Item = u32> {
    let (clique, place) = (peer / size, peer % size);
    let next = Some(if closed { (clique + 1) % cliques } else { clique + 1 });
    let next = next.filter(|&next| next < cliques && size - 1 - place < bridges);
    let before = if closed { (clique + cliques - 1) % cliques } else { clique.wrapping_sub(1) };
    let before = Some(before).filter(|&before| before < cliques && place < bridges);
    let onward = next.map(|next| next * size + (size - 1 - place));
    onward.into_iter().chain(before.map(|before| before * size + (size - 1 - place)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{path, ring};
    use super::*;

    #[test]
    fn cliques_of_one_are_a_path_or_a_ring() {
        assert_eq!(barbell(7, 1, 1, false), path(7));
        assert_eq!(barbell(7, 1, 1, true), ring(7));
    }

    #[test]
    fn bad_parameters_are_named() {
        let fields = |cliques, size, bridges, closed| -> Vec<_> {
            problems(cliques, size, bridges, closed).into_iter().map(|(field, _)| field).collect()
        };
        assert_eq!(fields(1, 5, 6, false), ["cliques", "bridges"]);
        assert_eq!(fields(2, 5, 1, true), ["cliques"]);
        assert_eq!(fields(2, 0, 0, false), ["clique_size"]);
        assert_eq!(fields(2, 1 << 20, 1, false), ["clique_size"]);
        assert_eq!(fields(usize::MAX, usize::MAX, 1, false), ["cliques", "clique_size"]);
    }

    proptest! {
        #[test]
        fn links_are_cliques_and_bridges(
            cliques in 3_usize..8, size in 1_usize..9, bridges in 1_usize..9, closed: bool,
        ) {
            let bridges = bridges.min(size);
            let graph = barbell(cliques, size, bridges, closed).unwrap();
            let joints = if closed { cliques } else { cliques - 1 };
            prop_assert_eq!(graph.links(), cliques * size * (size - 1) / 2 + joints * bridges);
            let between = graph.edges().filter(|(a, b)| a.index() / size != b.index() / size);
            prop_assert_eq!(between.count(), joints * bridges);
            prop_assert!(graph.ids().all(|peer| graph.degree(peer) <= size + 1));
            prop_assert!(graph.require_connected().is_ok());
        }
    }
}
