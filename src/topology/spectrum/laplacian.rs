//! The matrices of a graph, by their products and, where it is small, by their entries.

use super::super::graph::Topology;
use super::iteration::{Pair, Problem, least};
use crate::random::{Purpose, Streams};
use crate::units::{PeerId, Seed};
use rand::RngExt;

/// A matrix on the peers whose off-diagonal entries are ∓ the weight of each link and whose
/// diagonal holds the sums of the weights: (Mv)_i = Σ_j w_ij (v_i ∓ v_j).
pub(crate) struct Laplacian<'a> {
    topology: &'a Topology,
    /// Minus one for L₋ = D − A, plus one for L₊ = D + A.
    sign: f64,
    /// The link weights by position (see [`Topology::row`]); all one where there are none.
    weights: Option<Vec<f64>>,
    /// Row sums of the weights.
    pub(crate) diagonal: Vec<f64>,
}

/// Which end of a spectrum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Least,
    Greatest,
}

impl<'a> Laplacian<'a> {
    /// L₋ = D − A.
    pub(crate) fn unsigned(topology: &'a Topology) -> Self {
        Self::new(topology, -1.0, None)
    }

    /// L₊ = D + A.
    pub(crate) fn signless(topology: &'a Topology) -> Self {
        Self::new(topology, 1.0, None)
    }

    /// I − W of the Metropolis matrix, W_ij = 1/(1 + max(d_i, d_j)) on links.
    pub(crate) fn metropolis(topology: &'a Topology) -> Self {
        let degree = |peer: PeerId| topology.degree(peer);
        let weights = topology.ids().flat_map(|i| {
            let weight = move |&j: &PeerId| 1.0 / (1 + degree(i).max(degree(j))) as f64;
            topology.neighbours(i).iter().map(weight)
        });
        Self::new(topology, -1.0, Some(weights.collect()))
    }

    fn new(topology: &'a Topology, sign: f64, weights: Option<Vec<f64>>) -> Self {
        let sum = |peer: PeerId| match &weights {
            None => topology.degree(peer) as f64,
            Some(weights) => weights[topology.row(peer)].iter().sum(),
        };
        let diagonal = topology.ids().map(sum).collect();
        Self { topology, sign, weights, diagonal }
    }

    /// out ← Mv.
    pub(crate) fn product(&self, v: &[f64], out: &mut [f64]) {
        for peer in self.topology.ids() {
            let neighbours = self.topology.neighbours(peer);
            let around: f64 = match &self.weights {
                None => neighbours.iter().map(|j| v[j.index()]).sum(),
                Some(weights) => {
                    let row = &weights[self.topology.row(peer)];
                    neighbours.iter().zip(row).map(|(j, w)| w * v[j.index()]).sum()
                }
            };
            let i = peer.index();
            out[i] = self.diagonal[i] * v[i] + self.sign * around;
        }
    }

    /// All entries.
    pub(crate) fn dense(&self) -> Vec<Vec<f64>> {
        let n = self.topology.peers();
        let mut matrix = vec![vec![0.0; n]; n];
        for peer in self.topology.ids() {
            let row = &mut matrix[peer.index()];
            row[peer.index()] = self.diagonal[peer.index()];
            for (j, position) in self.topology.neighbours(peer).iter().zip(self.topology.row(peer))
            {
                let weight = self.weights.as_ref().map_or(1.0, |weights| weights[position]);
                row[j.index()] = self.sign * weight;
            }
        }
        matrix
    }

    /// An extreme eigenvalue by iteration: the least on the complement of the constants (0 belongs
    /// to them), or the greatest. `tolerance` is that of the residual relative to the eigenvalue;
    /// `budget` bounds the multiplications.
    pub(crate) fn extreme(
        &self,
        end: End,
        start: Option<Vec<f64>>,
        tolerance: f64,
        budget: f64,
    ) -> Pair {
        let n = self.topology.peers();
        let start = start.unwrap_or_else(|| random_vector(n));
        let ones = vec![1.0; n];
        // At the least end, hubs would slow an iteration that does not know of them.
        let diagonal = if end == End::Least { &self.diagonal } else { &ones };
        let sign = if end == End::Least { 1.0 } else { -1.0 };
        let product = |v: &[f64], out: &mut [f64]| {
            self.product(v, out);
            if end == End::Greatest {
                out.iter_mut().for_each(|out| *out = -*out);
            }
        };
        // A step's vectors cost about as much as forty links' ends per peer.
        let step = 40.0 * n as f64 + 2.0 * self.topology.links() as f64;
        let problem = Problem {
            product: &product,
            diagonal,
            off_constants: self.sign < 0.0,
            tolerance,
            most: (budget / step).max(50.0) as usize,
        };
        let pair = least(&problem, start);
        Pair { value: sign * pair.value, ..pair }
    }
}

/// Where iterations start: random, so that it lies in no special subspace, and always the same.
pub(crate) fn random_vector(length: usize) -> Vec<f64> {
    let mut stream = Streams::new(Seed(0), 0).family(Purpose::Spectrum, 1).stream(0);
    (0..length).map(|_| stream.random_range(-1.0..1.0)).collect()
}
