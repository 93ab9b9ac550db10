//! The diameter: the longest of the shortest ways, exactly or between bounds.

use serde::Serialize;

use super::graph::Topology;
use super::shape::Shape;
use crate::units::PeerId;

/// The most steps of breadth-first searches from all peers.
const EXACT: u64 = 2_000_000_000;

/// Bounds of the diameter in links; equal where it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Diameter {
    /// Two peers are as far apart as this.
    pub at_least: u32,
    /// No two peers are farther apart.
    pub at_most: u32,
}

impl Diameter {
    fn exactly(diameter: u32) -> Self {
        Self { at_least: diameter, at_most: diameter }
    }

    /// The diameter of a connected graph.
    ///
    /// Exact for recognised graphs, and by a search from every peer while that takes no more than
    /// 2·10⁹ steps (some 20,000 peers of degree 4). Beyond, searches alternate between a farthest
    /// peer, whose distance bounds it from below (a double sweep), and the middle of the way there,
    /// twice whose eccentricity bounds it from above.
    pub(super) fn of(topology: &Topology, shape: &Shape) -> Self {
        let n = topology.peers();
        let steps = n as u64 * (n + 2 * topology.links()) as u64;
        match *shape {
            Shape::Path(_) => Self::exactly(n as u32 - 1),
            Shape::Grid { rows, columns } => Self::exactly((rows + columns - 2) as u32),
            _ if shape.is_transitive() => Self::exactly(farthest(topology, PeerId(0)).0),
            _ if steps <= EXACT => {
                let eccentricities = topology.ids().map(|peer| farthest(topology, peer).0);
                Self::exactly(eccentricities.max().unwrap_or(0))
            }
            _ => Self::swept(topology),
        }
    }

    fn swept(topology: &Topology) -> Self {
        const SWEEPS: usize = 8;
        let (mut at_least, mut at_most) = (0, u32::MAX);
        let mut start = PeerId(0);
        for _ in 0..SWEEPS {
            let (_, far) = farthest(topology, start);
            let (length, end) = farthest(topology, far);
            at_least = at_least.max(length);
            start = halfway(topology, far, end);
            let (radius, _) = farthest(topology, start);
            at_least = at_least.max(radius);
            at_most = at_most.min(2 * radius);
            if at_least == at_most {
                break;
            }
        }
        Self { at_least, at_most }
    }
}

/// The eccentricity of a peer, and the first peer at that distance.
fn farthest(topology: &Topology, from: PeerId) -> (u32, PeerId) {
    let distances = topology.distances(from);
    let reached = topology.ids().zip(distances).filter_map(|(peer, d)| Some((d?, peer)));
    reached.fold((0, from), |best, next| if next.0 > best.0 { next } else { best })
}

/// The first peer in the middle of a shortest way from `a` to `b`.
fn halfway(topology: &Topology, a: PeerId, b: PeerId) -> PeerId {
    let (from_a, from_b) = (topology.distances(a), topology.distances(b));
    let Some(length) = from_a[b.index()] else { return a };
    let middle = |peer: &PeerId| {
        from_a[peer.index()] == Some(length / 2)
            && from_b[peer.index()] == Some(length - length / 2)
    };
    topology.ids().find(middle).unwrap_or(a)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{
        Summary, binary_tree, complete, exponential, grid, hypercube, path, ring, star, torus,
        watts_strogatz,
    };
    use super::*;
    use crate::random::Streams;
    use crate::units::Seed;

    fn of(graph: &Topology) -> Diameter {
        Diameter::of(graph, &Shape::of(graph))
    }

    #[test]
    fn recognised_graphs_have_the_diameter_of_a_search() {
        for n in [1, 2, 3, 8, 15] {
            let mut graphs = vec![path(n), ring(n), star(n), complete(n), exponential(n)];
            graphs.extend([grid(n, 4), torus(n, 5), binary_tree(n), hypercube(n.min(6))]);
            for graph in graphs {
                let graph = graph.unwrap();
                let expected = Summary::of(&graph).diameter.unwrap();
                assert_eq!(of(&graph), Diameter::exactly(expected));
            }
        }
        assert_eq!(of(&ring(100_000).unwrap()), Diameter::exactly(50_000));
    }

    /// A double sweep finds the diameter of a tree, and its middle half of it.
    #[test]
    fn sweeps_are_exact_on_even_trees() {
        let swept = Diameter::swept(&binary_tree(1_023).unwrap());
        assert_eq!(swept, Diameter::exactly(18));
    }

    proptest! {
        #[test]
        fn sweeps_bound_the_diameter(seed: u64, n in 5_usize..120, rewiring in 0.0_f64..1.0) {
            let graph = watts_strogatz(n, 4, rewiring, &Streams::new(Seed(seed), 0));
            let Ok(graph) = graph else { return Ok(()) };
            let swept = Diameter::swept(&graph);
            let exact = of(&graph).at_least;
            prop_assert_eq!(Some(exact), Summary::of(&graph).diameter);
            prop_assert!(swept.at_least <= exact && exact <= swept.at_most);
        }
    }
}
