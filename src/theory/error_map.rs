//! One round of fully distributed ADMM as a linear map of the error.

use crate::learn::{NotPositiveDefinite, Packed, axpy, dot};
use crate::topology::Topology;

/// S_i = (H_i + 2βN_i I)⁻¹ for every peer.
enum Resolvent {
    /// The rows of the S_i, one after the other. They are applied thousands of times per penalty, and
    /// a product is quicker than two triangular solves.
    Dense(Vec<f64>),
    /// The diagonals of the S_i, where every H_i is the same diagonal matrix.
    Diagonals(Vec<f64>),
}

/// The map of the errors (w, γ) to those of the next round:
///
/// w⁺ = S(βL₊w − γ),  γ⁺ = γ + βL₋w⁺.
///
/// A state is w, then γ, each peer after peer. Σ_i γ_i is conserved and 0 in every run; rounding
/// would bring it in and let it, of eigenvalue 1, outgrow all else, so each application removes it.
pub(super) struct ErrorMap<'a> {
    topology: &'a Topology,
    beta: f64,
    dimension: usize,
    resolvent: Resolvent,
}

impl<'a> ErrorMap<'a> {
    /// With a Hessian for every peer.
    ///
    /// # Errors
    /// A Hessian that is not finite, or of a peer without neighbours and not positive definite.
    pub(super) fn new(
        topology: &'a Topology,
        hessians: &[Packed],
        beta: f64,
    ) -> Result<Self, NotPositiveDefinite> {
        let dimension = hessians.first().map_or(0, Packed::dimension);
        let mut inverses = Vec::with_capacity(hessians.len() * dimension * dimension);
        for (peer, hessian) in topology.ids().zip(hessians) {
            let mut factor = hessian.clone();
            factor.add_identity(2.0 * beta * topology.degree(peer) as f64);
            factor.factor()?;
            for i in 0..dimension {
                let row = inverses.len();
                inverses.resize(row + dimension, 0.0);
                inverses[row + i] = 1.0;
                factor.solve(&mut inverses[row..]);
            }
        }
        Ok(Self { topology, beta, dimension, resolvent: Resolvent::Dense(inverses) })
    }

    /// With the same diagonal Hessian for every peer.
    pub(super) fn of_equal_peers(topology: &'a Topology, hessian: &[f64], beta: f64) -> Self {
        let inverse = |peer| {
            let pull = 2.0 * beta * topology.degree(peer) as f64;
            hessian.iter().map(move |h| 1.0 / (h + pull))
        };
        let resolvent = Resolvent::Diagonals(topology.ids().flat_map(inverse).collect());
        Self { topology, beta, dimension: hessian.len(), resolvent }
    }

    /// Length of a state.
    pub(super) fn size(&self) -> usize {
        2 * self.topology.peers() * self.dimension
    }

    /// next ← M state.
    pub(super) fn apply(&self, state: &[f64], next: &mut [f64]) {
        let (d, beta) = (self.dimension, self.beta);
        let (w, gamma) = state.split_at(state.len() / 2);
        let (next_w, next_gamma) = next.split_at_mut(state.len() / 2);
        let mut force = vec![0.0; d];
        for peer in self.topology.ids() {
            let own = peer.index() * d..(peer.index() + 1) * d;
            let pull = beta * self.topology.degree(peer) as f64;
            for (k, i) in own.clone().enumerate() {
                force[k] = pull * w[i] - gamma[i];
            }
            for neighbour in self.topology.neighbours(peer) {
                axpy(beta, &w[neighbour.index() * d..][..d], &mut force);
            }
            match &self.resolvent {
                Resolvent::Dense(inverses) => {
                    let rows = inverses[own.start * d..own.end * d].chunks_exact(d);
                    next_w[own].iter_mut().zip(rows).for_each(|(w, row)| *w = dot(row, &force));
                }
                Resolvent::Diagonals(inverses) => {
                    for (k, i) in own.enumerate() {
                        next_w[i] = inverses[i] * force[k];
                    }
                }
            }
        }
        let mut mean = vec![0.0; d];
        for peer in self.topology.ids() {
            let own = peer.index() * d..(peer.index() + 1) * d;
            let out = &mut next_gamma[own.clone()];
            out.copy_from_slice(&gamma[own.clone()]);
            axpy(beta * self.topology.degree(peer) as f64, &next_w[own], out);
            for neighbour in self.topology.neighbours(peer) {
                axpy(-beta, &next_w[neighbour.index() * d..][..d], out);
            }
            axpy(1.0 / self.topology.peers() as f64, out, &mut mean);
        }
        next_gamma.chunks_exact_mut(d.max(1)).for_each(|gamma| axpy(-1.0, &mean, gamma));
    }
}
