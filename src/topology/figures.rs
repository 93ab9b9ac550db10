//! All that is known of a graph, each figure with the way it was found.

use serde::Serialize;

use super::clustering::{Clustering, clustering};
use super::cuts::Cuts;
use super::diameter::Diameter;
use super::graph::Topology;
use super::resistance::mean_resistance;
use super::shape::Shape;
use super::spectrum::{Spectrum, Value};
use super::summary::bipartite;

/// The distance from uniformity at which a walk counts as mixed.
const MIXED: f64 = 0.25;

/// How many neighbours peers have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Degrees {
    /// The fewest.
    pub least: usize,
    /// The mean, 2 links / peers.
    pub mean: f64,
    /// The most.
    pub greatest: usize,
}

/// The figures of a graph. Those that only connected graphs of two peers or more have are none for
/// others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Number of peers.
    pub peers: usize,
    /// Number of links.
    pub links: usize,
    /// Numbers of neighbours.
    pub degrees: Degrees,
    /// Number of connected components.
    pub components: usize,
    /// Whether all links run between two groups of peers.
    pub bipartite: bool,
    /// The longest of the shortest ways, in links.
    pub diameter: Option<Diameter>,
    /// The clustering coefficients; none where there are too many links.
    pub clustering: Option<Clustering>,
    /// Peers without which the graph would fall apart.
    pub cut_vertices: usize,
    /// Links without which the graph would fall apart.
    pub bridges: usize,
    /// λ₂, the least non-zero eigenvalue of L₋ = D − A.
    pub algebraic_connectivity: Option<Value>,
    /// The largest eigenvalue of L₋.
    pub largest_laplacian_eigenvalue: Option<Value>,
    /// 1 − max(|λ₂(W)|, |λ_n(W)|), W_ij = 1/(1 + max(d_i, d_j)): the Metropolis matrix.
    pub metropolis_gap: Option<Value>,
    /// 1/gap: rounds of averaging with W that shrink differences by a factor of about e.
    pub relaxation_time: Option<Value>,
    /// ln(4n)/gap: an upper bound of the rounds in which a walk by W comes within ¼ (in total
    /// variation) of uniform from any start (Levin, Peres and Wilmer, theorem 12.4).
    pub mixing_time_bound: Option<Value>,
    /// The mean effective resistance over pairs of peers, links being wires of one ohm.
    pub mean_resistance: Option<Value>,
    /// σ_max(L₊)/σ_min(L₋), L₊ = D + A, the least non-zero singular value below.
    pub signless_ratio: Option<Value>,
}

impl Figures {
    /// The figures of `topology`.
    ///
    /// # Complexity
    /// O(n³) up to 500 peers; beyond, at most some 10¹⁰ multiplications per figure, after which an
    /// iteration says that it did not settle.
    pub fn of(topology: &Topology) -> Self {
        let (peers, links) = (topology.peers(), topology.links());
        let degrees = || topology.ids().map(|peer| topology.degree(peer));
        let components = topology.components();
        let shape = Shape::of(topology);
        let cuts = Cuts::of(topology);
        let spectrum = Spectrum::with_shape(topology, &shape);
        let gap = spectrum.as_ref().map(|spectrum| spectrum.metropolis_gap);
        let per_gap = |rounds: f64| gap.map(|gap| gap.map(|gap| rounds / gap));
        Self {
            peers,
            links,
            degrees: Degrees {
                least: degrees().min().unwrap_or(0),
                mean: 2.0 * links as f64 / peers as f64,
                greatest: degrees().max().unwrap_or(0),
            },
            components: components.len(),
            bipartite: bipartite(topology, components.iter().map(|component| component[0])),
            diameter: (components.len() == 1).then(|| Diameter::of(topology, &shape)),
            clustering: clustering(topology),
            cut_vertices: cuts.vertices.len(),
            bridges: cuts.bridges.len(),
            algebraic_connectivity: spectrum.as_ref().map(|s| s.algebraic_connectivity),
            largest_laplacian_eigenvalue: spectrum.as_ref().map(|s| s.largest),
            metropolis_gap: gap,
            relaxation_time: per_gap(1.0),
            mixing_time_bound: per_gap((peers as f64 / MIXED).ln()),
            mean_resistance: spectrum.as_ref().map(|s| mean_resistance(topology, s)),
            signless_ratio: spectrum.as_ref().map(|s| s.ratio),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{complete, path, random_regular, star};
    use super::*;
    use crate::random::Streams;
    use crate::units::Seed;

    fn value(figure: Option<Value>) -> f64 {
        figure.and_then(|figure| figure.value).unwrap()
    }

    /// On the complete graph W averages at once: gap 1.
    #[test]
    fn the_complete_graph_mixes_in_a_round() {
        let figures = Figures::of(&complete(10).unwrap());
        assert!((value(figures.metropolis_gap) - 1.0).abs() < 1e-12);
        assert!((value(figures.relaxation_time) - 1.0).abs() < 1e-12);
        assert!((value(figures.mixing_time_bound) - 40.0_f64.ln()).abs() < 1e-12);
        assert!((value(figures.signless_ratio) - 1.8).abs() < 1e-12);
    }

    #[test]
    fn a_star_hangs_on_its_hub() {
        let figures = Figures::of(&star(10).unwrap());
        assert_eq!((figures.cut_vertices, figures.bridges), (1, 9));
        assert_eq!(figures.degrees, Degrees { least: 1, mean: 1.8, greatest: 9 });
        assert!((value(figures.metropolis_gap) - 0.1).abs() < 1e-12);
        assert!((value(figures.signless_ratio) - 10.0).abs() < 1e-12);
    }

    #[test]
    fn apart_and_alone() {
        let apart = Figures::of(&Topology::from_links(4, [(0, 1), (2, 3)]).unwrap());
        assert_eq!((apart.components, apart.diameter, apart.metropolis_gap), (2, None, None));
        let alone = Figures::of(&path(1).unwrap());
        assert_eq!((alone.components, alone.algebraic_connectivity), (1, None));
        assert_eq!(alone.diameter, Some(Diameter { at_least: 0, at_most: 0 }));
    }

    /// λ₂ of a random 4-regular graph is close to 4 − 2√3 (Friedman), beyond the dense solve.
    #[test]
    fn a_large_random_graph_is_nearly_ramanujan() {
        let graph = random_regular(5_000, 4, &Streams::new(Seed(1), 0)).unwrap();
        let figures = Figures::of(&graph);
        let connectivity = value(figures.algebraic_connectivity);
        assert!((connectivity - (4.0 - 12.0_f64.sqrt())).abs() < 0.02, "{connectivity}");
        assert!(value(figures.mean_resistance) > 0.5, "{:?}", figures.mean_resistance);
        assert_eq!(figures.diameter.map(|d| d.at_least <= d.at_most), Some(true));
    }
}
