//! The graph of a run: built and validated with petgraph, then compressed for the hot loop.

use std::borrow::Cow;
use std::sync::Arc;

use petgraph::graph::UnGraph;
use petgraph::unionfind::UnionFind;
use thiserror::Error;

use crate::units::{Members, PeerId};

/// What a link may say of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Link {
    /// Least latency in seconds, in place of the scenario's.
    pub latency: Option<f64>,
}

/// Why a graph cannot be used.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum TopologyError {
    /// There is nobody in it.
    #[error("a topology needs at least one peer")]
    Empty,
    /// More peers or links than 32 bits can number.
    #[error("{what} is more than the {limit} that a topology can hold")]
    TooLarge {
        /// What there is too much of, with its number.
        what: String,
        /// The most there can be.
        limit: u32,
    },
    /// A link from a peer to itself.
    #[error("peer {0} is linked to itself")]
    SelfLoop(String),
    /// Two links between the same peers.
    #[error("peers {0} and {1} are linked twice")]
    DoubleLink(String, String),
    /// Not all peers can reach each other.
    #[error("the graph is not connected: it has {count} components: {listed}")]
    Disconnected {
        /// How many components there are.
        count: usize,
        /// Their peers, shortened where they are many.
        listed: String,
    },
    /// A random generator found no acceptable graph within its bound.
    #[error("no connected graph in {attempts} attempts: {advice}")]
    NoConnectedGraph {
        /// How many were tried.
        attempts: u32,
        /// What to change.
        advice: String,
    },
    /// A parameter that no graph of the family has.
    #[error("{field}: {message}")]
    Parameter {
        /// The parameter, as it is written in a scenario.
        field: &'static str,
        /// What is wrong with it and what was expected.
        message: String,
    },
}

/// The least latencies that links of a graph state for themselves, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnLatencies {
    /// The shortest.
    pub least: f64,
    /// The longest.
    pub greatest: f64,
    /// Whether every link states one.
    pub everywhere: bool,
}

/// An undirected simple graph over peers `0..n`, as compressed rows: the neighbours of a peer are
/// one sorted slice.
///
/// In one of several processes it may have the rows of some peers alone, those that run there: an
/// [`excerpt`](Self::excerpt). Others then have no neighbours, and what is found by going through rows, such
/// as [`components`](Self::components), is of those that are there.
///
/// Memory: 4 bytes per peer and 4 per end of a link, 12 where links carry latencies of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    pub(super) peers: usize,
    /// Links of the whole graph.
    pub(super) links: usize,
    /// Row k is that of peer k or, of an excerpt, that of the member at place k.
    pub(super) offsets: Vec<u32>,
    pub(super) neighbours: Vec<PeerId>,
    pub(super) latencies: Option<Vec<Option<f64>>>,
    pub(super) own_latencies: Option<OwnLatencies>,
    pub(super) names: Option<Arc<Vec<String>>>,
    /// Whose rows are here, where they are not everybody's.
    pub(super) members: Option<Box<Members>>,
}

impl Topology {
    /// Compresses a petgraph graph. Node order is peer order.
    ///
    /// # Errors
    /// An empty graph, a self-loop, a double link.
    pub fn new(
        graph: &UnGraph<(), Link>,
        names: Option<Vec<String>>,
    ) -> Result<Self, TopologyError> {
        let n = graph.node_count();
        if n == 0 {
            return Err(TopologyError::Empty);
        }
        for (count, what) in [(n, "peers"), (2 * graph.edge_count(), "ends of links")] {
            if u32::try_from(count).is_err() {
                return Err(TopologyError::TooLarge {
                    what: format!("{count} {what}"),
                    limit: u32::MAX,
                });
            }
        }
        debug_assert!(names.as_ref().is_none_or(|names| names.len() == n));

        let mut offsets = vec![0_u32; n + 1];
        for edge in graph.raw_edges() {
            offsets[edge.source().index() + 1] += 1;
            offsets[edge.target().index() + 1] += 1;
        }
        for i in 0..n {
            offsets[i + 1] += offsets[i];
        }
        let mut next = offsets.clone();
        let mut rows = vec![(PeerId(0), None); 2 * graph.edge_count()];
        for edge in graph.raw_edges() {
            let (a, b) = (edge.source().index(), edge.target().index());
            for (from, to) in [(a, b), (b, a)] {
                rows[next[from] as usize] = (PeerId::new(to), edge.weight.latency);
                next[from] += 1;
            }
        }
        let own_latencies = rows.iter().any(|(_, latency)| latency.is_some());
        let mut topology = Self {
            peers: n,
            links: graph.edge_count(),
            offsets,
            neighbours: Vec::new(),
            latencies: None,
            own_latencies: None,
            names: names.map(Arc::new),
            members: None,
        };
        for i in 0..n {
            let row = &mut rows[topology.offsets[i] as usize..topology.offsets[i + 1] as usize];
            row.sort_by_key(|&(peer, _)| peer);
            let name = |peer: PeerId| topology.name(peer).into_owned();
            if row.iter().any(|&(peer, _)| peer.index() == i) {
                return Err(TopologyError::SelfLoop(name(PeerId::new(i))));
            }
            if let Some(pair) = row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(TopologyError::DoubleLink(name(PeerId::new(i)), name(pair[0].0)));
            }
        }
        topology.neighbours = rows.iter().map(|&(peer, _)| peer).collect();
        if own_latencies {
            let latencies = || rows.iter().filter_map(|&(_, latency)| latency);
            topology.own_latencies = Some(OwnLatencies {
                least: latencies().fold(f64::INFINITY, f64::min),
                greatest: latencies().fold(0.0, f64::max),
                everywhere: latencies().count() == rows.len(),
            });
            topology.latencies = Some(rows.iter().map(|&(_, latency)| latency).collect());
        }
        Ok(topology)
    }

    /// Builds the petgraph graph of these links, without attributes, and compresses it.
    pub(super) fn from_links(
        peers: usize,
        links: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<Self, TopologyError> {
        // petgraph keeps the highest index for itself.
        const LIMIT: u32 = u32::MAX - 1;
        if peers > LIMIT as usize {
            return Err(TopologyError::TooLarge { what: format!("{peers} peers"), limit: LIMIT });
        }
        let links = links.into_iter();
        let mut graph = UnGraph::with_capacity(peers, links.size_hint().0);
        for _ in 0..peers {
            graph.add_node(());
        }
        for (a, b) in links {
            graph.add_edge(a.into(), b.into(), Link::default());
        }
        Self::new(&graph, None)
    }

    /// The same graph with one link more; names and latencies stay.
    ///
    /// # Errors
    /// The peers are the same, or linked already.
    pub fn with_link(&self, a: PeerId, b: PeerId) -> Result<Self, TopologyError> {
        let mut graph = UnGraph::with_capacity(self.peers(), self.links() + 1);
        for _ in self.ids() {
            graph.add_node(());
        }
        for from in self.ids() {
            for (&to, position) in self.neighbours(from).iter().zip(self.row(from)) {
                if from < to {
                    let link = Link { latency: self.link_latency(position) };
                    graph.add_edge(from.0.into(), to.0.into(), link);
                }
            }
        }
        graph.add_edge(a.0.into(), b.0.into(), Link::default());
        Self::new(&graph, self.names.as_deref().cloned())
    }

    /// Whether the same numbers are linked, whatever their names and latencies.
    pub(super) fn has_the_links_of(&self, other: &Self) -> bool {
        self.offsets == other.offsets && self.neighbours == other.neighbours
    }

    /// Number of peers.
    pub fn peers(&self) -> usize {
        self.peers
    }

    /// Number of links, of the whole graph.
    pub fn links(&self) -> usize {
        self.links
    }

    /// Bytes that the whole of it takes for a peer with so many neighbours.
    pub fn memory(&self, neighbours: usize) -> usize {
        let latency = if self.latencies.is_some() || self.own_latencies.is_some() {
            size_of::<Option<f64>>()
        } else {
            0
        };
        size_of::<u32>() + neighbours * (size_of::<PeerId>() + latency)
    }

    /// Whether every two peers are linked.
    pub fn is_complete(&self) -> bool {
        self.ids().all(|peer| self.degree(peer) + 1 == self.peers())
    }

    /// The neighbours of a peer, in ascending order.
    #[inline]
    pub fn neighbours(&self, peer: PeerId) -> &[PeerId] {
        &self.neighbours[self.row(peer)]
    }

    /// How many neighbours a peer has.
    pub fn degree(&self, peer: PeerId) -> usize {
        self.row(peer).len()
    }

    /// The positions of a peer's outgoing directed links in arrays with one entry per link end,
    /// in the order of [`neighbours`](Self::neighbours).
    #[inline]
    pub fn row(&self, peer: PeerId) -> std::ops::Range<usize> {
        let place = match &self.members {
            None => peer.index(),
            Some(members) => match members.place(peer) {
                Some(place) => place,
                None => return 0..0,
            },
        };
        self.offsets[place] as usize..self.offsets[place + 1] as usize
    }

    /// The least latency that the directed link at `position` (see [`row`](Self::row)) states for
    /// itself, in seconds.
    pub fn link_latency(&self, position: usize) -> Option<f64> {
        self.latencies.as_ref().and_then(|latencies| latencies[position])
    }

    /// What links state for themselves, of the whole graph; none where no link states anything.
    pub fn own_latencies(&self) -> Option<OwnLatencies> {
        self.own_latencies
    }

    /// The name of a peer: the file's, or its number.
    pub fn name(&self, peer: PeerId) -> Cow<'_, str> {
        match &self.names {
            Some(names) => Cow::Borrowed(&names[peer.index()]),
            None => Cow::Owned(peer.to_string()),
        }
    }

    /// The names of all peers, where a file gave them.
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref().map(Vec::as_slice)
    }

    /// The number of links on a shortest way from `source` to every peer (breadth-first search);
    /// `None` where there is no way.
    pub fn distances(&self, source: PeerId) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.peers()];
        distances[source.index()] = Some(0);
        let mut layer = vec![source];
        for distance in 1.. {
            let mut next = Vec::new();
            for &peer in &layer {
                for &neighbour in self.neighbours(peer) {
                    if distances[neighbour.index()].is_none() {
                        distances[neighbour.index()] = Some(distance);
                        next.push(neighbour);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            layer = next;
        }
        distances
    }

    /// Every peer, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = PeerId> + use<> {
        (0..self.peers as u32).map(PeerId)
    }

    /// Every link once, its lower end first, in order.
    pub fn edges(&self) -> impl Iterator<Item = (PeerId, PeerId)> + '_ {
        self.ids().flat_map(move |a| {
            self.neighbours(a).iter().filter(move |&&b| a < b).map(move |&b| (a, b))
        })
    }

    /// The connected components, each sorted, in the order of their first peers.
    pub fn components(&self) -> Vec<Vec<PeerId>> {
        let mut sets = UnionFind::<u32>::new(self.peers());
        for (a, b) in self.edges() {
            sets.union(a.0, b.0);
        }
        let mut position = vec![usize::MAX; self.peers()];
        let mut components: Vec<Vec<PeerId>> = Vec::new();
        for peer in self.ids() {
            let root = sets.find_mut(peer.0) as usize;
            if position[root] == usize::MAX {
                position[root] = components.len();
                components.push(Vec::new());
            }
            components[position[root]].push(peer);
        }
        components
    }

    /// Refuses a graph in which some peers cannot reach others, naming the components.
    ///
    /// # Errors
    /// [`TopologyError::Disconnected`].
    pub fn require_connected(&self) -> Result<(), TopologyError> {
        let components = self.components();
        if components.len() == 1 {
            return Ok(());
        }
        const SHOWN: usize = 4;
        const PEERS: usize = 6;
        let mut listed: Vec<String> = components
            .iter()
            .take(SHOWN)
            .map(|component| {
                let mut names: Vec<_> =
                    component.iter().take(PEERS).map(|&peer| self.name(peer)).collect();
                if component.len() > PEERS {
                    names.push(format!("… {} in all", component.len()).into());
                }
                format!("{{{}}}", names.join(", "))
            })
            .collect();
        if components.len() > SHOWN {
            listed.push("…".to_string());
        }
        Err(TopologyError::Disconnected { count: components.len(), listed: listed.join(" ") })
    }
}
