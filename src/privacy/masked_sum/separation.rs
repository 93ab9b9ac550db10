//! What one peer learns that takes itself out of the mask graph, for all peers by one search.

use super::MaskGraph;
use crate::units::PeerId;

/// How many of the counted peers each peer is left with when a single other one is taken out of the
/// mask graph: as many as [`MaskGraph::components`] of a coalition of one would say.
///
/// A depth-first search numbers peers by when it finds them, `disc`. Whoever is found below a peer has
/// the numbers right after its own, and links lead up or down a tree, never across. With
///
/// ```text
/// low(v) = min { disc(w) : w is linked to a peer at or below v }
/// ```
///
/// the subtree of a child falls off when its parent `curious` is taken out exactly if
/// `low(child)` ≥ `disc(curious)`: no link leads from it past `curious` (Hopcroft and Tarjan 1973). All
/// else of the component stays together. From a root every child falls off, as nothing is past it.
///
/// Time and memory are linear in peers and links, and constant per peer where all share seeds with all.
#[derive(Clone, Debug)]
pub struct Separation(Shape);

#[derive(Clone, Debug)]
enum Shape {
    AllPairs { counts: Vec<bool>, all: u32 },
    Forest(Forest),
}

impl Separation {
    /// Of a graph, where `counts` says of each peer whether it counts.
    ///
    /// # Panics
    /// If there are not as many peers in both.
    pub fn of(graph: &MaskGraph, counts: &[bool]) -> Self {
        assert_eq!(graph.peers(), counts.len(), "peers of the graph, and peers that may count");
        Self(match graph {
            MaskGraph::AllPairs(_) => Shape::AllPairs {
                counts: counts.to_vec(),
                all: counts.iter().map(|&counts| u32::from(counts)).sum(),
            },
            MaskGraph::Lists(lists) => Shape::Forest(Forest::of(lists, counts)),
        })
    }

    /// How many peers that count are in the component of `peer`, itself among them, of the graph without
    /// `curious`. None if they are the same. Takes a time logarithmic in the degree of `curious`.
    pub fn left(&self, curious: PeerId, peer: PeerId) -> u32 {
        if curious == peer {
            return 0;
        }
        match &self.0 {
            Shape::AllPairs { counts, all } => all - u32::from(counts[curious.index()]),
            Shape::Forest(forest) => forest.left(curious, peer),
        }
    }
}

/// Trees of a depth-first search, one per component. All but `disc` is by place in the order in which
/// peers were found.
#[derive(Clone, Debug)]
struct Forest {
    /// The place of each peer.
    disc: Vec<u32>,
    /// The root of the tree.
    root: Vec<u32>,
    /// Where the subtree ends: the place after its last.
    end: Vec<u32>,
    /// How many peers that count have places before this one; one entry more than there are places.
    before: Vec<u32>,
    /// Whether the subtree falls off when its parent is taken out. Said of roots, it means nothing.
    falls_off: Vec<bool>,
    /// How many peers that count stay together when this one is taken out and subtrees fall off.
    rest: Vec<u32>,
    /// The children of place v are `children[first[v]..first[v + 1]]`, in ascending order.
    first: Vec<u32>,
    children: Vec<u32>,
}

impl Forest {
    fn of(lists: &[Vec<PeerId>], counts: &[bool]) -> Self {
        let peers = lists.len();
        let Found { order, disc, parent, root } = Found::by_search(lists);

        let mut before = vec![0; peers + 1];
        for (place, peer) in order.iter().enumerate() {
            before[place + 1] = before[place] + u32::from(counts[peer.index()]);
        }
        // From the last place to the first every child comes before its parent. The links of a child to
        // its parent need no exception: they bring `low` down to the parent's place and no further.
        let mut end: Vec<u32> = (1..=peers as u32).collect();
        let mut low: Vec<u32> = (0..peers as u32).collect();
        for place in (0..peers).rev() {
            let links = lists[order[place].index()].iter().map(|partner| disc[partner.index()]);
            low[place] = links.fold(low[place], u32::min);
            let above = parent[place] as usize;
            end[above] = end[above].max(end[place]);
            low[above] = low[above].min(low[place]);
        }

        let within = |place: usize| before[end[place] as usize] - before[place];
        let own = |place: usize| before[place + 1] - before[place];
        let falls_off: Vec<bool> = (0..peers).map(|place| low[place] >= parent[place]).collect();
        let mut rest: Vec<u32> =
            (0..peers).map(|place| within(root[place] as usize) - own(place)).collect();
        let mut first = vec![0; peers + 1];
        let below = || (0..peers).filter(|&place| parent[place] as usize != place);
        for place in below() {
            let above = parent[place] as usize;
            first[above + 1] += 1;
            if falls_off[place] {
                rest[above] -= within(place);
            }
        }
        for place in 0..peers {
            first[place + 1] += first[place];
        }
        let mut children = vec![0; first[peers] as usize];
        let mut next = first.clone();
        for place in below() {
            let slot = &mut next[parent[place] as usize];
            children[*slot as usize] = place as u32;
            *slot += 1;
        }
        Self { disc, root, end, before, falls_off, rest, first, children }
    }

    /// How many peers that count are in the subtree.
    fn within(&self, place: usize) -> u32 {
        self.before[self.end[place] as usize] - self.before[place]
    }

    fn left(&self, curious: PeerId, peer: PeerId) -> u32 {
        let (place, wanted) = (self.disc[curious.index()] as usize, self.disc[peer.index()]);
        let root = self.root[wanted as usize];
        if self.root[place] != root {
            return self.within(root as usize);
        }
        let children = &self.children[self.first[place] as usize..self.first[place + 1] as usize];
        // The last child found no later than the peer, in whose subtree the peer is if it is in any.
        let upto = children.partition_point(|&child| child <= wanted);
        if let Some(&child) = children[..upto].last() {
            let child = child as usize;
            if wanted < self.end[child] && self.falls_off[child] {
                return self.within(child);
            }
        }
        self.rest[place]
    }
}

/// What a depth-first search finds.
struct Found {
    /// Peers in the order in which they are found.
    order: Vec<PeerId>,
    /// The place of each peer in that order.
    disc: Vec<u32>,
    /// By place, from which place it was found; a root from itself.
    parent: Vec<u32>,
    /// By place, the root that it was found from in the end.
    root: Vec<u32>,
}

impl Found {
    const NOT_YET: u32 = u32::MAX;

    /// With a stack of its own: a path of a million peers is as deep as it is long.
    fn by_search(lists: &[Vec<PeerId>]) -> Self {
        let peers = lists.len();
        let mut found = Self {
            order: Vec::with_capacity(peers),
            disc: vec![Self::NOT_YET; peers],
            parent: Vec::with_capacity(peers),
            root: Vec::with_capacity(peers),
        };
        let mut open = Vec::new();
        for start in (0..peers).map(PeerId::new) {
            if found.disc[start.index()] != Self::NOT_YET {
                continue;
            }
            let root = found.order.len() as u32;
            found.enter(start, root, root);
            open.push((root, lists[start.index()].iter()));
            while let Some((place, partners)) = open.last_mut() {
                let Some(&partner) = partners.next() else {
                    open.pop();
                    continue;
                };
                if found.disc[partner.index()] == Self::NOT_YET {
                    let parent = *place;
                    open.push((found.order.len() as u32, lists[partner.index()].iter()));
                    found.enter(partner, parent, root);
                }
            }
        }
        found
    }

    fn enter(&mut self, peer: PeerId, parent: u32, root: u32) {
        self.disc[peer.index()] = self.order.len() as u32;
        self.order.push(peer);
        self.parent.push(parent);
        self.root.push(root);
    }
}

#[cfg(test)]
mod tests;
