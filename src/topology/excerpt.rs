//! The part of a graph that one of several processes needs: the rows of the peers that run there.

use super::graph::{OwnLatencies, Topology};
use crate::units::{Members, PeerId};

/// The rows of some peers. Plain lists, on their way from the process that has the whole graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Excerpt {
    /// Number of peers of the whole graph.
    pub peers: usize,
    /// Number of links of the whole graph.
    pub links: usize,
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
}

impl Excerpt {
    /// The rows of these peers of a graph of so many peers and links, in which `neighbours` writes those of
    /// a peer, in ascending order.
    pub fn of(
        (peers, links): (usize, usize),
        members: &Members,
        mut neighbours: impl FnMut(PeerId, &mut Vec<PeerId>),
    ) -> Self {
        let mut excerpt = Self {
            peers,
            links,
            members: members.iter().collect(),
            offsets: vec![0],
            neighbours: Vec::new(),
            latencies: None,
            own_latencies: None,
            ghosts: Vec::new(),
        };
        let mut row = Vec::new();
        let outside = &mut excerpt.ghosts;
        for peer in members.iter() {
            row.clear();
            neighbours(peer, &mut row);
            outside.extend(row.iter().filter(|&&other| members.place(other).is_none()));
            excerpt.neighbours.extend_from_slice(&row);
            excerpt.offsets.push(excerpt.neighbours.len() as u32);
        }
        outside.sort_unstable();
        outside.dedup();
        excerpt
    }
}

impl Topology {
    /// What a process needs that runs these peers.
    pub fn excerpt(&self, members: &Members) -> Excerpt {
        let row = |peer, row: &mut Vec<PeerId>| row.extend_from_slice(self.neighbours(peer));
        let mut excerpt = Excerpt::of((self.peers, self.links), members, row);
        excerpt.latencies = self.latencies.as_ref().map(|latencies| {
            members.iter().flat_map(|peer| &latencies[self.row(peer)]).copied().collect()
        });
        let parts = |own: OwnLatencies| ((own.least, own.greatest), own.everywhere);
        excerpt.own_latencies = self.own_latencies.map(parts);
        excerpt
    }

    /// A graph of so many peers and links, of which no row is here.
    pub fn counted(peers: usize, links: usize) -> Self {
        Excerpt::of((peers, links), &Members::range(0..0), |_, _| {}).into()
    }

    /// What is known of this graph without any of its rows.
    #[must_use]
    pub fn without_rows(&self) -> Self {
        Self::from(self.excerpt(&Members::range(0..0))).named_as(self)
    }

    /// The same, with the names of another graph of as many peers.
    #[must_use]
    pub fn named_as(self, other: &Self) -> Self {
        Self { names: other.names.clone(), ..self }
    }

    /// Whose rows are here, where not all are.
    pub fn members(&self) -> Option<&Members> {
        self.members.as_deref()
    }

    /// Whether all rows are here.
    pub fn is_whole(&self) -> bool {
        self.members.is_none()
    }
}

impl From<Excerpt> for Topology {
    fn from(excerpt: Excerpt) -> Self {
        let own_latencies = excerpt.own_latencies;
        Self {
            peers: excerpt.peers,
            links: excerpt.links,
            offsets: excerpt.offsets,
            neighbours: excerpt.neighbours,
            latencies: excerpt.latencies,
            own_latencies: own_latencies.map(|((least, greatest), everywhere)| OwnLatencies {
                least,
                greatest,
                everywhere,
            }),
            names: None,
            members: Some(Box::new(Members::listed(excerpt.members))),
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
            assert_eq!(part.links(), whole.links());
            for peer in whole.ids() {
                let here = members.place(peer).is_some();
                let expected = if here { whole.neighbours(peer) } else { &[] };
                assert_eq!(part.neighbours(peer), expected);
            }
        }
    }

    #[test]
    fn of_a_hub_elsewhere_no_row_is_kept() {
        let excerpt = star(1000).unwrap().excerpt(&Members::range(500..503));
        assert_eq!((excerpt.ghosts.as_slice(), excerpt.neighbours.len()), (&[PeerId(0)][..], 3));
        let part = Topology::from(excerpt);
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
        let none = whole.without_rows();
        assert_eq!((none.own_latencies(), none.links(), none.is_whole()), (Some(bounds), 3, false));
        assert_eq!((none.name(PeerId(3)), none.degree(PeerId(1))), ("d".into(), 0));
        assert_eq!(Topology::counted(3, 2).own_latencies(), None);
    }
}
