use proptest::prelude::*;

use super::*;

fn lists(peers: usize, pairs: &[(usize, usize)]) -> MaskGraph {
    let mut lists = vec![Vec::new(); peers];
    for &(a, b) in pairs {
        lists[a].push(PeerId::new(b));
        lists[b].push(PeerId::new(a));
    }
    MaskGraph::Lists(lists)
}

/// By taking out every peer in turn.
fn by_components(graph: &MaskGraph, counts: &[bool]) -> Vec<Vec<u32>> {
    let of = |curious| {
        let mut left = vec![0; counts.len()];
        for part in graph.components(&[PeerId::new(curious)]) {
            let holders = part.iter().filter(|peer| counts[peer.index()]).count() as u32;
            part.iter().for_each(|peer| left[peer.index()] = holders);
        }
        left
    };
    (0..counts.len()).map(of).collect()
}

fn by_search(graph: &MaskGraph, counts: &[bool]) -> Vec<Vec<u32>> {
    let separation = Separation::of(graph, counts);
    let of = |curious, peer| separation.left(PeerId::new(curious), PeerId::new(peer));
    let row = |curious| (0..counts.len()).map(|peer| of(curious, peer)).collect();
    (0..counts.len()).map(row).collect()
}

fn all_pairs(peers: usize) -> Vec<(usize, usize)> {
    (0..peers).flat_map(|b| (0..b).map(move |a| (a, b))).collect()
}

#[test]
fn every_graph_of_four_peers_falls_apart_as_its_components_say() {
    let all = all_pairs(4);
    for chosen in 0..1_u32 << all.len() {
        let kept = all.iter().enumerate().filter(|(i, _)| chosen >> i & 1 == 1);
        let pairs: Vec<_> = kept.map(|(_, pair)| *pair).collect();
        let graph = lists(4, &pairs);
        for holders in 0..1_u32 << 4 {
            let counts: Vec<bool> = (0..4).map(|peer| holders >> peer & 1 == 1).collect();
            let expected = by_components(&graph, &counts);
            assert_eq!(by_search(&graph, &counts), expected, "{pairs:?} {counts:?}");
        }
    }
}

#[test]
fn all_pairs_are_left_with_all_but_the_curious() {
    for n in 1..=6 {
        for holders in 0..1_u32 << n {
            let counts: Vec<bool> = (0..n).map(|peer| holders >> peer & 1 == 1).collect();
            let closed = by_search(&MaskGraph::AllPairs(n), &counts);
            assert_eq!(closed, by_components(&MaskGraph::AllPairs(n), &counts));
            assert_eq!(closed, by_search(&lists(n, &all_pairs(n)), &counts));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// From no link at all to about two per peer: trees, cycles that share a peer, and graphs in several
    /// pieces are all among them. Lists are in the order of the draw, and may name a partner twice.
    #[test]
    fn random_graphs_fall_apart_as_their_components_say(
        (peers, pairs, counts) in (1..=12_usize).prop_flat_map(|n| (
            Just(n),
            prop::collection::vec((0..n, 0..n), 0..=2 * n),
            prop::collection::vec(any::<bool>(), n),
        )),
    ) {
        let pairs: Vec<_> = pairs.into_iter().filter(|(a, b)| a != b).collect();
        let graph = lists(peers, &pairs);
        prop_assert_eq!(by_search(&graph, &counts), by_components(&graph, &counts));
    }

    /// Peer v > 0 is linked to an earlier one, and few links close cycles: deep, with many cuts.
    #[test]
    fn trees_with_a_few_more_links_fall_apart_as_their_components_say(
        above in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        more in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..4),
        counts in prop::collection::vec(any::<bool>(), 12),
    ) {
        let peers = above.len() + 1;
        let tree = above.iter().enumerate().map(|(v, above)| (above.index(v + 1), v + 1));
        let more = more.iter().map(|(a, b)| (a.index(peers), b.index(peers)));
        let pairs: Vec<_> = tree.chain(more.filter(|(a, b)| a != b)).collect();
        let (graph, counts) = (lists(peers, &pairs), &counts[..peers]);
        prop_assert_eq!(by_search(&graph, counts), by_components(&graph, counts));
    }
}

/// The search goes as deep as the path is long. Of the peers every third counts.
#[test]
fn a_long_path_is_cut_in_two_by_each_of_its_peers() {
    let n = 200_000_usize;
    let path: Vec<_> = (1..n).map(|peer| (peer - 1, peer)).collect();
    let counts: Vec<bool> = (0..n).map(|peer| peer % 3 == 0).collect();
    let separation = Separation::of(&lists(n, &path), &counts);
    let counted_before = |peer: usize| peer.div_ceil(3) as u32;
    for curious in 0..n {
        let left = |peer: usize| separation.left(PeerId::new(curious), PeerId::new(peer));
        if curious > 0 {
            assert_eq!([left(curious - 1), left(0)], [counted_before(curious); 2]);
        }
        if curious + 1 < n {
            let after = counted_before(n) - counted_before(curious + 1);
            assert_eq!([left(curious + 1), left(n - 1)], [after; 2]);
        }
    }
}

#[test]
#[should_panic(expected = "peers that may count")]
fn it_must_be_said_of_every_peer_whether_it_counts() {
    Separation::of(&MaskGraph::AllPairs(3), &[true; 2]);
}
