//! Walks: where a token goes from the peer that holds it.

use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::Stream;
use crate::units::PeerId;

/// How a token finds the next peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Walk {
    /// To any peer that still has data, all equally likely, however far away: see [`pick`].
    #[default]
    Uniform,
    /// To a neighbour, all equally likely. In the long run it is at a peer in proportion to its
    /// degree.
    Simple,
    /// Metropolis–Hastings: a neighbour j is proposed, all equally likely, and accepted with
    /// probability min(1, d_i/d_j); otherwise the token stays at i. In the long run it is everywhere
    /// equally often.
    Metropolis,
    /// To a neighbour other than the one that the token came from, all equally likely; back only
    /// from a dead end.
    NonBacktracking,
}

impl Walk {
    /// Where a token goes from `me`: one of `neighbours`, or `me` where it stays.
    ///
    /// `degrees` are the neighbours' own numbers of neighbours, in the same order; only
    /// [`Metropolis`](Self::Metropolis) looks at them, and only
    /// [`NonBacktracking`](Self::NonBacktracking) looks at `came_from`. A peer without neighbours
    /// keeps the token. Nothing is drawn where there is no choice.
    ///
    /// # Panics
    /// For [`Uniform`](Self::Uniform), which follows no links ([`pick`] says where it goes), and for
    /// `Metropolis` without the degrees.
    pub fn next(
        self,
        me: PeerId,
        came_from: Option<PeerId>,
        neighbours: &[PeerId],
        degrees: &[u32],
        stream: &mut Stream,
    ) -> PeerId {
        let count = neighbours.len();
        if count == 0 {
            return me;
        }
        match self {
            Self::Uniform => panic!("a uniform walk follows no links"),
            Self::Simple => neighbours[position(count, stream)],
            Self::Metropolis => {
                let proposed = position(count, stream);
                let (own, other) = (count as f64, f64::from(degrees[proposed]));
                let accepted = other <= own || stream.random::<f64>() * other < own;
                if accepted { neighbours[proposed] } else { me }
            }
            Self::NonBacktracking => {
                let back = neighbours.iter().position(|&peer| Some(peer) == came_from);
                match back {
                    Some(back) if count > 1 => {
                        let chosen = position(count - 1, stream);
                        neighbours[if chosen < back { chosen } else { chosen + 1 }]
                    }
                    _ => neighbours[position(count, stream)],
                }
            }
        }
    }
}

/// The peer that a uniform walk goes to: any of those that still have batches, all equally likely.
///
/// `remaining` has the number of batches that each peer has left. None where nobody has any; nothing
/// is drawn where only one peer has.
pub fn pick(remaining: &[u32], stream: &mut Stream) -> Option<PeerId> {
    pick_of(remaining.iter().copied(), stream)
}

/// The same of numbers that need not be in a list.
pub fn pick_of(
    remaining: impl Iterator<Item = u32> + Clone,
    stream: &mut Stream,
) -> Option<PeerId> {
    let holders = || remaining.clone().enumerate().filter(|&(_, left)| left > 0);
    let count = holders().count();
    let chosen = if count == 0 { 0 } else { position(count, stream) };
    holders().nth(chosen).map(|(peer, _)| PeerId::new(peer))
}

/// One of `count` positions, all equally likely. Topologies hold fewer than 2³² peers, so the cast is
/// exact.
fn position(count: usize, stream: &mut Stream) -> usize {
    if count == 1 { 0 } else { stream.random_range(0..count as u32) as usize }
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::super::{Topology, path, star};
    use super::*;
    use crate::random::{Purpose, Streams};
    use crate::units::Seed;

    fn stream(seed: u64) -> Stream {
        Streams::new(Seed(seed), 0).single(Purpose::Walk)
    }

    /// Degrees 1 to 4, with a dead end (5) and triangles, so that no walk is periodic.
    fn irregular() -> Topology {
        let links = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 4), (2, 3), (2, 4), (3, 5)];
        Topology::from_links(6, links).unwrap()
    }

    /// A walk of some moves: every peer where the token was, stays repeated.
    fn walked(graph: &Topology, walk: Walk, moves: usize, stream: &mut Stream) -> Vec<PeerId> {
        let (mut me, mut came_from) = (PeerId(0), None);
        let mut visited = vec![me];
        for _ in 0..moves {
            let neighbours = graph.neighbours(me);
            let degrees: Vec<u32> = neighbours.iter().map(|&j| graph.degree(j) as u32).collect();
            let next = walk.next(me, came_from, neighbours, &degrees, stream);
            assert!(next == me || neighbours.contains(&next));
            if next != me {
                came_from = Some(me);
            }
            me = next;
            visited.push(me);
        }
        visited
    }

    #[test]
    fn each_walk_has_its_stationary_law() {
        // Independent walks, each looked at once, long after its start: the standard error is that
        // of independent draws.
        const WALKS: u32 = 20_000;
        let graph = irregular();
        let ends = 2.0 * graph.links() as f64;
        let by_degree: Vec<f64> =
            graph.ids().map(|peer| graph.degree(peer) as f64 / ends).collect();
        for (walk, law) in [
            (Walk::Simple, by_degree.clone()),
            (Walk::Metropolis, vec![1.0 / 6.0; 6]),
            // Non-backtracking walks on the directed links are doubly stochastic where a dead end
            // turns back: every directed link is equally likely, and a peer has its degree of them.
            (Walk::NonBacktracking, by_degree),
        ] {
            let mut stream = stream(1);
            let mut seen = [0_u32; 6];
            for _ in 0..WALKS {
                let visited = walked(&graph, walk, 200, &mut stream);
                seen[visited[visited.len() - 1].index()] += 1;
            }
            for (seen, expected) in seen.iter().zip(law) {
                let share = f64::from(*seen) / f64::from(WALKS);
                let error = (expected * (1.0 - expected) / f64::from(WALKS)).sqrt();
                assert!((share - expected).abs() < 5.0 * error, "{walk:?}: {share}, {expected}");
            }
        }
    }

    #[test]
    fn a_metropolis_walk_leaves_a_leaf_with_the_ratio_of_the_degrees() {
        const MOVES: u32 = 40_000;
        let (graph, mut stream) = (star(5).unwrap(), stream(2));
        let leaf = PeerId(3);
        let left = (0..MOVES)
            .filter(|_| {
                let to =
                    Walk::Metropolis.next(leaf, None, graph.neighbours(leaf), &[4], &mut stream);
                to != leaf
            })
            .count();
        let error = (0.25 * 0.75 / f64::from(MOVES)).sqrt();
        assert!((left as f64 / f64::from(MOVES) - 0.25).abs() < 5.0 * error, "{left}");
    }

    #[test]
    fn a_walk_without_backtracking_never_returns_unless_it_must() {
        let graph = irregular();
        let visited = walked(&graph, Walk::NonBacktracking, 10_000, &mut stream(3));
        let mut dead_ends = 0;
        for three in visited.windows(3) {
            assert_ne!(three[0], three[1], "it does not stay");
            let must = graph.degree(three[1]) == 1;
            dead_ends += u32::from(must);
            assert_eq!(three[0] == three[2], must, "{three:?}");
        }
        assert!(dead_ends > 100);
        let path = path(4).unwrap();
        let back_and_forth = walked(&path, Walk::NonBacktracking, 8, &mut stream(4));
        assert_eq!(back_and_forth, [0, 1, 2, 3, 2, 1, 0, 1, 2].map(PeerId));
    }

    #[test]
    fn a_peer_without_neighbours_keeps_the_token_and_the_only_neighbour_gets_it_without_a_draw() {
        let me = PeerId(4);
        for walk in [Walk::Simple, Walk::Metropolis, Walk::NonBacktracking] {
            let (mut used, mut fresh) = (stream(5), stream(5));
            assert_eq!(walk.next(me, None, &[], &[], &mut used), me);
            assert_eq!(walk.next(me, Some(PeerId(1)), &[PeerId(1)], &[1], &mut used), PeerId(1));
            assert_eq!(used.next_u64(), fresh.next_u64(), "{walk:?}");
        }
    }

    #[test]
    fn a_pick_is_uniform_over_the_peers_with_batches() {
        const PICKS: u32 = 30_000;
        let mut stream = stream(6);
        let mut seen = [0_u32; 5];
        for _ in 0..PICKS {
            seen[pick(&[3, 0, 1, 0, 100], &mut stream).unwrap().index()] += 1;
        }
        assert_eq!((seen[1], seen[3]), (0, 0));
        let error = (f64::from(PICKS) * 2.0 / 9.0).sqrt();
        for peer in [0, 2, 4] {
            let off = f64::from(seen[peer]) - f64::from(PICKS) / 3.0;
            assert!(off.abs() < 5.0 * error, "{seen:?}");
        }
    }

    #[test]
    fn one_peer_with_batches_is_picked_without_a_draw_and_none_without() {
        let (mut used, mut fresh) = (stream(7), stream(7));
        assert_eq!(pick(&[0, 0, 9], &mut used), Some(PeerId(2)));
        assert_eq!(pick(&[0, 0], &mut used), None);
        assert_eq!(pick(&[], &mut used), None);
        assert_eq!(used.next_u64(), fresh.next_u64());
    }

    #[test]
    fn a_walk_is_written_in_kebab_case() {
        let written = serde_json::to_string(&Walk::NonBacktracking).unwrap();
        assert_eq!(written, "\"non-backtracking\"");
    }
}
