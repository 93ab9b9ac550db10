//! Families in which a peer's neighbours follow from its number: each process can build its own part.

use super::config::TopologyConfig;
use super::graph::Topology;
use super::parameter::pairs;
use super::{barbell, exponential, grid, torus};
use crate::units::PeerId;

/// A graph that is known by a rule, without any row of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ByNumber {
    config: TopologyConfig,
    peers: usize,
}

impl TopologyConfig {
    /// The number of peers; of a file it takes the file.
    pub fn peers(&self) -> Option<usize> {
        match *self {
            Self::Path { peers }
            | Self::Ring { peers }
            | Self::Star { peers }
            | Self::Complete { peers }
            | Self::BinaryTree { peers }
            | Self::Exponential { peers }
            | Self::OnePeerExponential { peers }
            | Self::ErdosRenyi { peers, .. }
            | Self::RandomRegular { peers, .. }
            | Self::WattsStrogatz { peers, .. }
            | Self::BarabasiAlbert { peers, .. }
            | Self::RandomGeometric { peers, .. } => Some(peers),
            Self::Grid { rows, columns } | Self::Torus { rows, columns } => {
                rows.checked_mul(columns)
            }
            Self::Hypercube { dimension } => 1_usize.checked_shl(dimension.try_into().ok()?),
            Self::Barbell { cliques, clique_size, .. } => cliques.checked_mul(clique_size),
            Self::StochasticBlock { ref sizes, .. } => {
                sizes.iter().try_fold(0_usize, |sum, &size| sum.checked_add(size))
            }
            Self::File(_) => None,
        }
    }

    /// The rule by which everybody's neighbours follow from its number, for a section that passes its
    /// [`check`](Self::check): none of random graphs, of files, and of grids that are much wider than
    /// high, whose numbers lead across them.
    pub fn by_number(&self) -> Option<ByNumber> {
        let ruled = match *self {
            Self::Path { .. }
            | Self::Ring { .. }
            | Self::Star { .. }
            | Self::Complete { .. }
            | Self::Hypercube { .. }
            | Self::BinaryTree { .. }
            | Self::Barbell { .. }
            | Self::Exponential { .. }
            | Self::OnePeerExponential { .. } => true,
            Self::Grid { rows, columns } | Self::Torus { rows, columns } => {
                !grid::is_wide(rows, columns)
            }
            Self::ErdosRenyi { .. }
            | Self::RandomRegular { .. }
            | Self::WattsStrogatz { .. }
            | Self::BarabasiAlbert { .. }
            | Self::RandomGeometric { .. }
            | Self::StochasticBlock { .. }
            | Self::File(_) => false,
        };
        let peers = self.peers().filter(|_| ruled)?;
        Some(ByNumber { config: self.clone(), peers })
    }
}

impl ByNumber {
    /// Number of peers.
    pub fn peers(&self) -> usize {
        self.peers
    }

    /// Appends the neighbours of a peer, in ascending order.
    pub fn neighbours(&self, peer: PeerId, row: &mut Vec<PeerId>) {
        let (n, p) = (self.peers as u32, peer.0);
        let first = row.len();
        let mut link = |other: u32| row.push(PeerId(other));
        match self.config {
            TopologyConfig::Ring { .. } if n > 2 => {
                link((p + n - 1) % n);
                link((p + 1) % n);
            }
            TopologyConfig::Path { .. } | TopologyConfig::Ring { .. } => {
                p.checked_sub(1).into_iter().for_each(&mut link);
                Some(p + 1).filter(|&next| next < n).into_iter().for_each(&mut link);
            }
            TopologyConfig::Star { .. } if p > 0 => link(0),
            TopologyConfig::Star { .. } => (1..n).for_each(&mut link),
            TopologyConfig::Complete { .. } => (0..n).filter(|&q| q != p).for_each(&mut link),
            TopologyConfig::Grid { columns, .. } => {
                let width = columns as u32;
                p.checked_sub(width).into_iter().for_each(&mut link);
                p.checked_sub(1).filter(|_| p % width > 0).into_iter().for_each(&mut link);
                Some(p + 1).filter(|next| next % width > 0).into_iter().for_each(&mut link);
                Some(p + width).filter(|&below| below < n).into_iter().for_each(&mut link);
            }
            TopologyConfig::Torus { rows, columns } => {
                let (height, width) = (rows as u32, columns as u32);
                let (row, column) = (p / width, p % width);
                torus::beside(row, height).for_each(|row| link(row * width + column));
                torus::beside(column, width).for_each(|column| link(row * width + column));
            }
            TopologyConfig::Hypercube { dimension } => {
                (0..dimension).for_each(|bit| link(p ^ 1 << bit));
            }
            TopologyConfig::BinaryTree { .. } => {
                p.checked_sub(1).map(|above| above / 2).into_iter().for_each(&mut link);
                (1..=2).map(|child| 2 * p + child).filter(|&child| child < n).for_each(&mut link);
            }
            TopologyConfig::Exponential { .. } | TopologyConfig::OnePeerExponential { .. } => {
                for distance in exponential::distances(n) {
                    link((p + distance) % n);
                    link((p + n - distance) % n);
                }
            }
            TopologyConfig::Barbell { cliques, clique_size, bridges, closed } => {
                let size = clique_size as u32;
                let own = p / size * size;
                (own..own + size).filter(|&q| q != p).for_each(&mut link);
                let shape = [cliques as u32, size, bridges as u32];
                barbell::across(shape, closed, p).for_each(&mut link);
            }
            TopologyConfig::ErdosRenyi { .. }
            | TopologyConfig::RandomRegular { .. }
            | TopologyConfig::WattsStrogatz { .. }
            | TopologyConfig::BarabasiAlbert { .. }
            | TopologyConfig::RandomGeometric { .. }
            | TopologyConfig::StochasticBlock { .. }
            | TopologyConfig::File(_) => {}
        }
        row[first..].sort_unstable();
        // The two ways around a ring of which one is as far as the other lead to the same peer.
        let mut kept = first;
        for next in first..row.len() {
            if kept == first || row[kept - 1] != row[next] {
                row[kept] = row[next];
                kept += 1;
            }
        }
        row.truncate(kept);
    }

    /// How many neighbours a peer has: without listing them, where they may be many.
    pub fn degree(&self, peer: PeerId) -> usize {
        let (n, p) = (self.peers, peer.index());
        let some = |is: &[bool]| is.iter().filter(|&&is| is).count();
        match self.config {
            TopologyConfig::Ring { .. } if n > 2 => 2,
            TopologyConfig::Path { .. } | TopologyConfig::Ring { .. } => some(&[p > 0, p + 1 < n]),
            TopologyConfig::Star { .. } if p > 0 => 1,
            TopologyConfig::Star { .. } | TopologyConfig::Complete { .. } => n - 1,
            TopologyConfig::Grid { columns, .. } => {
                let column = p % columns;
                some(&[p >= columns, column > 0, column + 1 < columns, p + columns < n])
            }
            TopologyConfig::Torus { rows, columns } => {
                let beside = |side: usize| torus::beside(0, side as u32).count();
                beside(rows) + beside(columns)
            }
            TopologyConfig::Hypercube { dimension } => dimension,
            TopologyConfig::BinaryTree { .. } => some(&[p > 0, 2 * p + 1 < n, 2 * p + 2 < n]),
            TopologyConfig::Exponential { .. } | TopologyConfig::OnePeerExponential { .. } => {
                let both_ways = |&distance: &u32| if 2 * distance as usize == n { 1 } else { 2 };
                exponential::distances(n as u32).iter().map(both_ways).sum()
            }
            TopologyConfig::Barbell { cliques, clique_size, bridges, closed } => {
                let shape = [cliques, clique_size, bridges].map(|number| number as u32);
                clique_size - 1 + barbell::across(shape, closed, peer.0).count()
            }
            TopologyConfig::ErdosRenyi { .. }
            | TopologyConfig::RandomRegular { .. }
            | TopologyConfig::WattsStrogatz { .. }
            | TopologyConfig::BarabasiAlbert { .. }
            | TopologyConfig::RandomGeometric { .. }
            | TopologyConfig::StochasticBlock { .. }
            | TopologyConfig::File(_) => 0,
        }
    }

    /// The whole graph, in no more memory than it takes in the end.
    pub fn whole(&self) -> Topology {
        let mut offsets = Vec::with_capacity(self.peers + 1);
        let mut neighbours = Vec::with_capacity(2 * self.links());
        offsets.push(0);
        for peer in (0..self.peers).map(PeerId::new) {
            self.neighbours(peer, &mut neighbours);
            // There are at most 2³² − 1 of them: see what the families are refused for.
            offsets.push(neighbours.len() as u32);
        }
        Topology {
            peers: self.peers,
            links: self.links(),
            offsets,
            neighbours,
            latencies: None,
            own_latencies: None,
            names: None,
            members: None,
        }
    }

    /// The fewest and the most neighbours that a peer has.
    pub fn degrees(&self) -> (usize, usize) {
        let all = (0..self.peers).map(|peer| self.degree(PeerId::new(peer)));
        all.fold((usize::MAX, 0), |(least, most), degree| (least.min(degree), most.max(degree)))
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        let n = self.peers;
        match self.config {
            TopologyConfig::Ring { .. } if n > 2 => n,
            TopologyConfig::Path { .. }
            | TopologyConfig::Ring { .. }
            | TopologyConfig::Star { .. }
            | TopologyConfig::BinaryTree { .. } => n - 1,
            TopologyConfig::Grid { rows, columns } => rows * (columns - 1) + columns * (rows - 1),
            TopologyConfig::Barbell { cliques, clique_size, bridges, closed } => {
                let joints = if closed { cliques } else { cliques - 1 };
                cliques * pairs(clique_size) as usize + joints * bridges
            }
            // Everybody has as many neighbours.
            _ => n * self.degree(PeerId(0)) / 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;
    use crate::topology::{Excerpt, Topology};
    use crate::units::{Members, Seed};

    /// Every row by its rule is that of the graph that the generator builds, and so is every part, and what
    /// is built by the rule.
    fn agrees(config: &TopologyConfig) {
        let streams = Streams::new(Seed(1), 0);
        let whole = config.generated(&streams, "".as_ref()).unwrap();
        let rule = config.by_number().unwrap();
        assert_eq!(config.build(&streams, "".as_ref()).unwrap(), whole);
        let degrees = || whole.ids().map(|peer| whole.degree(peer));
        assert_eq!(Some(rule.degrees()), degrees().min().zip(degrees().max()), "{config:?}");
        assert_eq!((rule.peers(), config.peers()), (whole.peers(), Some(whole.peers())));
        let mut row = Vec::new();
        for peer in whole.ids() {
            row.clear();
            rule.neighbours(peer, &mut row);
            assert_eq!(row, whole.neighbours(peer), "{config:?}: {peer}");
            assert_eq!(rule.degree(peer), whole.degree(peer), "{config:?}: {peer}");
        }
        assert_eq!(rule.links(), whole.links(), "{config:?}");
        let n = whole.peers();
        let members = Members::range(n / 3..2 * n / 3);
        let alone =
            Excerpt::of((n, rule.links()), &members, |peer, row| rule.neighbours(peer, row));
        assert_eq!(Topology::from(alone), Topology::from(whole.excerpt(&members)));
    }

    #[test]
    fn every_rule_gives_the_rows_of_its_generator() {
        for peers in (1..=20).chain([31, 32, 33, 64]) {
            agrees(&TopologyConfig::Path { peers });
            agrees(&TopologyConfig::Ring { peers });
            agrees(&TopologyConfig::Star { peers });
            agrees(&TopologyConfig::Complete { peers });
            agrees(&TopologyConfig::BinaryTree { peers });
            agrees(&TopologyConfig::Exponential { peers });
            agrees(&TopologyConfig::OnePeerExponential { peers });
        }
        for dimension in 0..=6 {
            agrees(&TopologyConfig::Hypercube { dimension });
        }
        for rows in 1..=6 {
            for columns in 1..2 * rows {
                agrees(&TopologyConfig::Grid { rows, columns });
                agrees(&TopologyConfig::Torus { rows, columns });
            }
        }
        for (cliques, closed) in [(2, false), (3, false), (3, true), (5, true)] {
            for clique_size in 1..=5 {
                for bridges in 1..=clique_size {
                    agrees(&TopologyConfig::Barbell { cliques, clique_size, bridges, closed });
                }
            }
        }
    }

    /// At the far end of what can be numbered nothing runs over.
    #[test]
    fn the_last_of_a_thousand_million_have_the_neighbours_that_they_should() {
        let n = (1_u32 << 30) - 1;
        let peers = n as usize;
        let row = |config: &TopologyConfig, peer: u32| {
            assert_eq!(config.check(), [], "{config:?}");
            let rule = config.by_number().unwrap();
            let mut row = Vec::new();
            rule.neighbours(PeerId(peer), &mut row);
            assert_eq!(rule.degree(PeerId(peer)), row.len());
            assert!(2 * rule.links() <= u32::MAX as usize);
            row.iter().map(|other| other.0).collect::<Vec<_>>()
        };
        assert_eq!(row(&TopologyConfig::Ring { peers }, n - 1), [0, n - 2]);
        assert_eq!(row(&TopologyConfig::Path { peers }, n - 1), [n - 2]);
        assert_eq!(row(&TopologyConfig::Star { peers }, n - 1), [0]);
        assert_eq!(row(&TopologyConfig::BinaryTree { peers }, n - 1), [n / 2 - 1]);
        let (rows, columns) = (1 << 15, (1 << 15) - 1);
        let (last, width) = ((rows * columns - 1) as u32, columns as u32);
        assert_eq!(row(&TopologyConfig::Grid { rows, columns }, last), [last - width, last - 1]);
        let around = [width - 1, last + 1 - width, last - width, last - 1];
        let mut torus = row(&TopologyConfig::Torus { rows, columns }, last);
        torus.sort_by_key(|other| around.iter().position(|at| at == other));
        assert_eq!(torus, around);
        let more = TopologyConfig::Ring { peers: peers + 1 }.check();
        assert_eq!(more[0].1, "1073741824 is out of range; expected 1 to 1073741823");
    }

    #[test]
    fn wide_grids_and_random_graphs_have_no_rule() {
        assert_eq!(TopologyConfig::Grid { rows: 3, columns: 6 }.by_number(), None);
        let random = TopologyConfig::RandomRegular { peers: 10, degree: 3, resample: false };
        assert_eq!((random.peers(), random.by_number()), (Some(10), None));
        assert_eq!(TopologyConfig::File("graph.yaml".into()).peers(), None);
    }
}
