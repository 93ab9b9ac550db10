//! Who runs whom, and what each of several ranks has of the graph.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use super::each_peer::EachPeer;
use super::run::ExperimentError;
use super::server::mask_graph;
use super::statement::left_with;
use crate::data::Dealing;
use crate::network::{Layout, NetworkError, Ranks};
use crate::privacy::{MaskGraph, pack_fields};
use crate::protocol::ProtocolConfig;
use crate::protocol::party::{MasksConfig, SumConfig};
use crate::scenario::Scenario;
use crate::topology::{Branch, ByNumber, Excerpt, SpanningTree, Topology, Walk, hops_from};
use crate::units::{Members, PeerId};

/// Where a process has its part of a run.
#[derive(Clone, Copy)]
pub(super) struct Home<'a> {
    /// The processes.
    pub ranks: &'a dyn Ranks,
    /// Workers of each.
    pub workers: usize,
}

impl Home<'_> {
    /// What this rank came to, if all came to something; else why not, and on which rank.
    pub(super) fn agreed<T>(self, own: Result<T, ExperimentError>) -> Result<T, ExperimentError> {
        let told = own.as_ref().map(drop).map_err(ToString::to_string);
        let all = self.ranks.all_of(&told)?;
        let own = own?;
        let failed = (0..).zip(all).find_map(|(rank, told)| Some((rank, told.err()?)));
        match failed {
            Some((rank, message)) => Err(NetworkError::Rank { rank, message }.into()),
            None => Ok(own),
        }
    }
}

/// A graph of which everything can be found out: by its rows, or by the rule that they follow.
#[derive(Clone, Copy)]
pub(super) enum Known<'a> {
    Rows(&'a Topology),
    Rule(&'a ByNumber),
}

impl<'a> Known<'a> {
    fn peers(self) -> usize {
        match self {
            Self::Rows(whole) => whole.peers(),
            Self::Rule(rule) => rule.peers(),
        }
    }

    pub(super) fn degree(self, peer: PeerId) -> usize {
        match self {
            Self::Rows(whole) => whole.degree(peer),
            Self::Rule(rule) => rule.degree(peer),
        }
    }

    fn excerpt(self, members: &Members) -> Excerpt {
        match self {
            Self::Rows(whole) => whole.excerpt(members),
            Self::Rule(rule) => {
                let size = (rule.peers(), rule.links());
                Excerpt::of(size, members, |peer, row| rule.neighbours(peer, row))
            }
        }
    }

    fn whole(self) -> Cow<'a, Topology> {
        match self {
            Self::Rows(whole) => Cow::Borrowed(whole),
            Self::Rule(rule) => Cow::Owned(rule.whole()),
        }
    }

    /// How far everybody is from the root. Graphs that follow a rule are connected.
    fn hops_from(self, root: PeerId) -> Result<Vec<u32>, ExperimentError> {
        let n = self.peers();
        Ok(match self {
            Self::Rule(rule) => hops_from(root, n, |peer, row| rule.neighbours(peer, row)),
            Self::Rows(whole) => {
                whole.require_connected()?;
                let row = |peer, row: &mut Vec<PeerId>| {
                    row.extend_from_slice(whole.neighbours(peer));
                };
                hops_from(root, n, row)
            }
        })
    }
}

/// What rank 0 finds out of the whole graph for all, before everybody has its part of it.
#[derive(Default)]
pub(super) struct Findings {
    /// How far everybody is from the root, where sums go up a tree.
    hops: Option<Vec<u32>>,
    /// Who shares seeds with whom, where that is no part of the graph itself.
    masks: Option<MaskGraph>,
    /// See [`left_with`], where it makes a difference.
    pub left: Option<EachPeer<u32>>,
}

impl Findings {
    pub(super) fn of(
        scenario: &Scenario,
        known: Known<'_>,
        samples: &EachPeer<u32>,
        (repeat, base): (u32, &Path),
    ) -> Result<Self, ExperimentError> {
        let Some(sum) = scenario.protocol.sum() else { return Ok(Self::default()) };
        let hops = match sum.exchanges() {
            None => Some(known.hops_from(PeerId(sum.root))?),
            Some(_) => None,
        };
        let apart = scattered_masks(scenario);
        let (mut masks, mut left) = (None, None);
        if apart || scenario.protocol.hides_in_sums() {
            let wires = known.whole();
            masks = mask_graph(scenario, &wires, repeat, base)?;
            if scenario.protocol.hides_more_from_readers() {
                left = masks.as_ref().map(|graph| left_with(graph, &wires, samples));
            }
        }
        Ok(Self { hops, masks: masks.filter(|_| apart), left })
    }

    /// What the rank with this part of the graph is told.
    fn around(&self, known: Known<'_>, walk: Option<Walk>, part: &Excerpt) -> Around {
        let (own, ghosts) = (part.members.iter(), part.ghosts.iter());
        let hops = self.hops.as_ref().map(|hops| {
            own.chain(ghosts.clone()).map(|peer| hops[peer.index()]).collect::<Vec<_>>()
        });
        let degree = |&ghost: &PeerId| known.degree(ghost) as u32;
        let degrees =
            if walk == Some(Walk::Metropolis) { ghosts.map(degree).collect() } else { Vec::new() };
        let partners = self.masks.as_ref().map(|graph| {
            let members = Members::listed(part.members.clone());
            let row = |peer, row: &mut Vec<PeerId>| row.extend(graph.partners(peer));
            Excerpt::of((part.peers, 0), &members, row)
        });
        Around { hops: hops.unwrap_or_default(), degrees, partners }
    }
}

/// Whether seeds are shared along another graph than the wires, and not by all.
fn scattered_masks(scenario: &Scenario) -> bool {
    let masks = scenario.protocol.sum().and_then(|sum| sum.masks.as_ref());
    scenario.protocol.pools() && matches!(masks, Some(MasksConfig::Graph(_)))
}

/// What rank 0 tells another of the graph beyond the rows that it has there.
struct Around {
    /// How far its peers are from the root of sums, then the neighbours that it does not run.
    hops: Vec<u32>,
    /// The degrees of these neighbours, where tokens look at them.
    degrees: Vec<u32>,
    /// With whom its peers share seeds, where that is neither with all nor along the graph.
    partners: Option<Excerpt>,
}

pack_fields!(Around { hops, degrees, partners });

/// What a rank knows of the graph beyond its own rows, where nobody has the whole.
#[derive(Default)]
pub(super) struct Surroundings {
    /// The places of its peers in the tree, in their order.
    branches: Vec<Branch>,
    /// The degrees of neighbours elsewhere, in ascending order of these.
    degrees: Vec<(PeerId, u32)>,
    /// With whom its peers share seeds.
    partners: Option<Arc<Topology>>,
}

impl Surroundings {
    fn of(around: Around, part: &Excerpt) -> Self {
        let Around { hops, degrees, partners } = around;
        let own = Members::listed(part.members.clone());
        // Where each row of the excerpt begins; ghosts are in ascending order.
        let hops_of = |peer| match (own.place(peer), part.ghosts.binary_search(&peer)) {
            (Some(place), _) => hops[place],
            (None, Ok(ghost)) => hops[own.len() + ghost],
            (None, Err(_)) => u32::MAX,
        };
        let rows = part.offsets.windows(2).map(|row| row[0] as usize..row[1] as usize);
        let rows = part.members.iter().zip(rows).take(hops.len());
        let branch = |(&peer, row)| Branch::of(peer, &part.neighbours[row], hops_of);
        Self {
            branches: rows.map(branch).collect(),
            degrees: part.ghosts.iter().copied().zip(degrees).collect(),
            partners: partners.map(|rows| Arc::new(rows.into())),
        }
    }

    /// The degree of a neighbour that another rank runs.
    pub(super) fn degree(&self, ghost: PeerId) -> Option<u32> {
        let at = self.degrees.binary_search_by_key(&ghost, |&(peer, _)| peer).ok()?;
        Some(self.degrees[at].1)
    }
}

/// The tree that sums go up, as far as it is known here.
pub(super) enum Tree<'a> {
    Whole(SpanningTree),
    Near(&'a Members, &'a [Branch]),
}

impl<'a> Tree<'a> {
    /// That of a graph, or of a part of one with its surroundings; none where parties gossip.
    pub(super) fn of(
        sum: &SumConfig,
        topology: &'a Topology,
        around: &'a Surroundings,
    ) -> Result<Option<Self>, ExperimentError> {
        Ok(match (sum.exchanges(), topology.members()) {
            (Some(_), _) => None,
            (None, Some(members)) => Some(Self::Near(members, &around.branches)),
            (None, None) => Some(Self::Whole(SpanningTree::of(topology, PeerId(sum.root))?)),
        })
    }

    /// The place of a peer that is run here.
    pub(super) fn branch(&self, peer: PeerId) -> Branch {
        match self {
            Self::Whole(tree) => tree.branch(peer),
            Self::Near(members, branches) => {
                branches[members.place(peer).expect("no more is asked for than peers of this rank")]
            }
        }
    }
}

/// Who shares seeds with whom, as far as it is known here.
pub enum Masking {
    /// Of all.
    Whole(MaskGraph),
    /// Of the peers of this rank.
    Near(Arc<Topology>),
}

impl Masking {
    /// What a rank with this part of the graph knows.
    pub(super) fn near(
        scenario: &Scenario,
        part: &Arc<Topology>,
        around: &Surroundings,
    ) -> Option<Self> {
        let sum = scenario.protocol.sum().filter(|_| scenario.protocol.pools())?;
        match sum.masks.as_ref().unwrap_or(&MasksConfig::AllPairs) {
            MasksConfig::None => None,
            MasksConfig::AllPairs => Some(Self::Whole(MaskGraph::AllPairs(part.peers()))),
            MasksConfig::Wires => Some(Self::Near(Arc::clone(part))),
            MasksConfig::Graph(_) => around.partners.clone().map(Self::Near),
        }
    }

    /// With whom a peer that is run here shares seeds, in ascending order.
    pub(super) fn partners(&self, peer: PeerId) -> Vec<PeerId> {
        match self {
            Self::Whole(graph) => graph.partners(peer),
            Self::Near(part) => part.neighbours(peer).to_vec(),
        }
    }

    /// The graph, where it is known of all.
    pub(super) fn whole(&self) -> Option<&MaskGraph> {
        match self {
            Self::Whole(graph) => Some(graph),
            Self::Near(_) => None,
        }
    }
}

/// Who runs whom, and what this rank needs of the graph. Where neighbours follow from a peer's number every
/// rank finds both out alone; otherwise rank 0, which has the whole graph, tells the others, and keeps no
/// more than its own part if all have `in_parts` what there is.
pub(super) fn placed(
    scenario: &Scenario,
    Home { ranks, workers }: Home<'_>,
    in_parts: bool,
    (whole, findings): (Option<&Arc<Topology>>, Option<&Findings>),
    dealing: &Dealing<'_>,
) -> Result<(Layout, Arc<Topology>, Surroundings), ExperimentError> {
    let (rank, size) = (ranks.rank(), ranks.size());
    let load = |peer, degree| load(scenario, dealing.rows(peer), degree, dealing.dimension());
    let walk = scenario.protocol.walk().map(|walk| walk.walk);
    let asks = walk.is_some() || scenario.protocol.sum().is_some();
    let rule = scenario.topology.by_number().filter(|_| in_parts || !asks);
    let known = match (&rule, whole) {
        (Some(rule), _) => Some(Known::Rule(rule)),
        (None, whole) => whole.map(|whole| Known::Rows(whole)),
    };
    let layout = known.map(|known| {
        let weight = |peer| load(peer, known.degree(peer));
        match known {
            Known::Rule(rule) => Layout::by_number(rule.peers(), weight, size, workers),
            Known::Rows(whole) => Layout::new(whole, weight, size, workers),
        }
    });
    if asks && !in_parts {
        let all = layout.zip(whole.cloned()).expect("every rank has the whole graph of few peers");
        return Ok((all.0, all.1, Surroundings::default()));
    }
    let part = |other| {
        let (layout, known) = (layout.as_ref()?, known?);
        Some(known.excerpt(&Members::listed(layout.peers_of(other).collect())))
    };
    // What rank 0 makes of the graph for another.
    let make = |other| {
        let (excerpt, known) = (part(other)?, known?);
        let around = findings.map(|findings| findings.around(known, walk, &excerpt));
        let rows = layout.as_ref().filter(|_| rule.is_none());
        Some((rows.map(|layout| (layout.standing(&excerpt), excerpt)), around))
    };
    let told = if asks || rule.is_none() { ranks.scattered(make)? } else { None };
    let told = if rank == 0 && in_parts && (asks || rule.is_none()) { make(0) } else { told };
    let (rows, around) = told.unwrap_or_default();
    let (layout, excerpt) = match (rows, layout) {
        (Some((standing, excerpt)), _) => (Layout::near(standing, rank, &excerpt), Some(excerpt)),
        (None, Some(layout)) => {
            let own = Members::listed(layout.peers_of(rank).collect());
            let excerpt = known.filter(|_| whole.is_none()).map(|known| known.excerpt(&own));
            (layout, excerpt)
        }
        (None, None) => unreachable!("rank 0 has the whole graph, and tells every other of it"),
    };
    let Some(excerpt) = excerpt else {
        let whole = whole.cloned().expect("who has no part of the graph has all of it");
        return Ok((layout, whole, Surroundings::default()));
    };
    let around = around.map(|around| Surroundings::of(around, &excerpt)).unwrap_or_default();
    let mut own = Topology::from(excerpt);
    if let Some(whole) = whole {
        own = own.named_as(whole);
    }
    Ok((layout, Arc::new(own), around))
}

/// About how much work a round is to a peer, from what is public of it: ranks get equal shares.
fn load(scenario: &Scenario, rows: usize, degree: usize, dimension: usize) -> u64 {
    let (rows, degree) = (rows as u64, degree as u64);
    match &scenario.protocol {
        ProtocolConfig::Admm(_) => 4 * rows + dimension as u64 + degree,
        ProtocolConfig::GradientDescent(_) | ProtocolConfig::GradientTracking(_) => rows + degree,
        ProtocolConfig::WalkSgd(_)
        | ProtocolConfig::WeightedErm(_)
        | ProtocolConfig::Federated(_)
        | ProtocolConfig::GradientQueries(_) => rows,
    }
}
