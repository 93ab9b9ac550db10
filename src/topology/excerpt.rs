//! The part of a graph that one of several processes needs: the rows of the peers that run there.

use super::graph::{OwnLatencies, Topology};
use crate::units::{Members, PeerId};

/// The rows of some peers, and who of them each neighbour elsewhere is linked to. Plain lists, on their
/// way from the process that has the whole graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Excerpt {
    /// Number of peers of the whole graph.
    pub peers: usize,
    /// Whose rows these are.
    pub members: Vec<PeerId>,
    /// Where each row begins, and behind the last where it ends.
    pub offsets: Vec<u32>,
    /// The rows.
    pub neighbours: Vec<PeerId>,
    /// What links state for themselves, one for each entry of the rows, if any link of the graph does.
    pub latencies: Option<Vec<Option<f64>>>,
    /// The same of the whole graph: least, greatest, and whether all do.
    pub own_latencies: Option<((f64, f64), bool)>,
    /// Neighbours that are no members.
    pub ghosts: Vec<PeerId>,
    /// Where the links of each begin, and behind the last where they end.
    pub ghost_offsets: Vec<u32>,
    /// The members that each is linked to, with their places among all of its neighbours.
    pub copies: Vec<(u32, PeerId)>,
}

/// Whose rows are here.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Near {
    pub(super) members: Members,
    ghosts: Members,
    ghost_offsets: Vec<u32>,
    copies: Vec<(u32, PeerId)>,
}

impl Excerpt {
    /// The rows of these peers of a graph of so many, in which `neighbours` writes those of a peer, in
    /// ascending order.
    pub fn of(
        peers: usize,
        members: &Members,
        mut neighbours: impl FnMut(PeerId, &mut Vec<PeerId>),
    ) -> Self {
        let mut excerpt = Self {
            peers,
            members: members.iter().collect(),
            offsets: vec![0],
            neighbours: Vec::new(),
            latencies: None,
            own_latencies: None,
            ghosts: Vec::new(),
            ghost_offsets: vec![0],
            copies: Vec::new(),
        };
        let mut row = Vec::new();
        let mut outside = Vec::new();
        for peer in members.iter() {
            row.clear();
            neighbours(peer, &mut row);
            outside.extend(row.iter().filter(|&&other| members.place(other).is_none()));
            excerpt.neighbours.extend_from_slice(&row);
            excerpt.offsets.push(excerpt.neighbours.len() as u32);
        }
        outside.sort_unstable();
        outside.dedup();
        for &ghost in &outside {
            row.clear();
            neighbours(ghost, &mut row);
            let linked = row.iter().enumerate().filter(|(_, peer)| members.place(**peer).is_some());
            excerpt.copies.extend(linked.map(|(copy, &peer)| (copy as u32, peer)));
            excerpt.ghost_offsets.push(excerpt.copies.len() as u32);
        }
        excerpt.ghosts = outside;
        excerpt
    }
}

impl Topology {
    /// What a process needs that runs these peers.
    pub fn excerpt(&self, members: &Members) -> Excerpt {
        let row = |peer, row: &mut Vec<PeerId>| row.extend_from_slice(self.neighbours(peer));
        let mut excerpt = Excerpt::of(self.peers, members, row);
        excerpt.latencies = self.latencies.as_ref().map(|latencies| {
            members.iter().flat_map(|peer| &latencies[self.row(peer)]).copied().collect()
        });
        let parts = |own: OwnLatencies| ((own.least, own.greatest), own.everywhere);
        excerpt.own_latencies = self.own_latencies.map(parts);
        excerpt
    }

    /// A graph of so many peers, of which no row is here.
    pub fn without_rows(peers: usize) -> Self {
        Excerpt::of(peers, &Members::range(0..0), |_, _| {}).into()
    }

    /// Whether all rows are here.
    pub fn is_whole(&self) -> bool {
        self.near.is_none()
    }

    /// Who gets a message that `sender` sends to all of its neighbours, each with its place among them:
    /// of a neighbour whose row is not here, those whose rows are.
    pub fn copies(&self, sender: PeerId) -> impl Iterator<Item = (usize, PeerId)> + '_ {
        let beyond = self.near.as_ref().and_then(|near| {
            let ghost = near.ghosts.place(sender)?;
            let links = near.ghost_offsets[ghost] as usize..near.ghost_offsets[ghost + 1] as usize;
            Some(&near.copies[links])
        });
        let beyond = beyond.unwrap_or_default().iter();
        let all = self.neighbours(sender).iter().copied().enumerate();
        all.chain(beyond.map(|&(copy, receiver)| (copy as usize, receiver)))
    }
}

impl From<Excerpt> for Topology {
    fn from(excerpt: Excerpt) -> Self {
        let own_latencies = excerpt.own_latencies;
        Self {
            peers: excerpt.peers,
            offsets: excerpt.offsets,
            neighbours: excerpt.neighbours,
            latencies: excerpt.latencies,
            own_latencies: own_latencies.map(|((least, greatest), everywhere)| OwnLatencies {
                least,
                greatest,
                everywhere,
            }),
            names: None,
            near: Some(Box::new(Near {
                members: Members::listed(excerpt.members),
                ghosts: Members::listed(excerpt.ghosts),
                ghost_offsets: excerpt.ghost_offsets,
                copies: excerpt.copies,
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{GraphFile, grid, star};
    use super::*;

    #[test]
    fn rows_that_are_here_are_those_of_the_whole_graph_and_others_are_empty() {
        let whole = grid(4, 5).unwrap();
        for members in [Members::range(6..13), Members::listed([17, 3, 8, 2].map(PeerId).into())] {
            let part = Topology::from(whole.excerpt(&members));
            assert_eq!((part.peers(), part.is_whole(), whole.is_whole()), (20, false, true));
            for peer in whole.ids() {
                let here = members.place(peer).is_some();
                let expected = if here { whole.neighbours(peer) } else { &[] };
                assert_eq!(part.neighbours(peer), expected);
                let own = |(_, receiver): &(usize, PeerId)| members.place(*receiver).is_some();
                let all: Vec<_> = whole.copies(peer).filter(own).collect();
                let some: Vec<_> = part.copies(peer).filter(own).collect();
                assert_eq!(some, all, "{peer}");
            }
        }
    }

    #[test]
    fn of_a_hub_elsewhere_only_the_links_to_members_are_kept() {
        let part = Topology::from(star(1000).unwrap().excerpt(&Members::range(500..503)));
        let copies: Vec<_> = part.copies(PeerId(0)).collect();
        assert_eq!(copies, [(499, PeerId(500)), (500, PeerId(501)), (501, PeerId(502))]);
        assert_eq!((part.degree(PeerId(0)), part.degree(PeerId(501))), (0, 1));
    }

    #[test]
    fn latencies_are_known_of_the_rows_that_are_here_and_their_bounds_of_all() {
        let links = "a b 0.5\nb c\nc d 0.25\n";
        let whole = GraphFile::parse(links.as_bytes(), "links.txt".as_ref()).unwrap().topology;
        let part = Topology::from(whole.excerpt(&Members::range(1..2)));
        let own = |peer| part.row(PeerId(peer)).map(|at| part.link_latency(at)).collect::<Vec<_>>();
        assert_eq!((own(0), own(1)), (vec![], vec![Some(0.5), None]));
        let bounds = OwnLatencies { least: 0.25, greatest: 0.5, everywhere: false };
        assert_eq!((part.own_latencies(), whole.own_latencies()), (Some(bounds), Some(bounds)));
        assert_eq!(Topology::without_rows(3).own_latencies(), None);
    }
}
