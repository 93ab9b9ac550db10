//! The rate of gradient tracking, and the step that makes it best.

use super::arnoldi::spectral_radius;
use super::lanczos::extreme_eigenvalues;
use super::penalty::{BUDGET, FINE, descend, narrow};
use super::{Curvature, Method, Rate, random_vector};
use crate::learn::{Packed, axpy};
use crate::topology::Topology;
use crate::units::PeerId;

/// The step of gradient tracking with the least predicted rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BestStep {
    /// α.
    pub step: f64,
    /// The rate at this α.
    pub rate: Rate,
}

/// The rate of gradient tracking as if every peer had the same Hessian.
///
/// On an eigenvector of the mixing matrix W of eigenvalue ω, and one of the Hessian of eigenvalue h,
/// a round is (w, g) ↦ (ωw − αg, ωg + h(w⁺ − w)), whose eigenvalues solve
///
/// z² − (2ω − αh) z + ω² − αh = 0.
///
/// At ω = 1 one root is 1 (Σ(g − ∇J), conserved and 0) and the other 1 − αh. The rate is the largest
/// modulus over the extreme h and all ω between the extremes of W below 1.
pub fn tracking_rate(
    (omega_low, omega_high): (f64, f64),
    (low, high): (f64, f64),
    step: f64,
) -> f64 {
    const POINTS: u32 = 64;
    let mut worst = (1.0 - step * low).abs().max((1.0 - step * high).abs());
    for h in [low, high] {
        for k in 0..=POINTS {
            let omega = omega_low + (omega_high - omega_low) * f64::from(k) / f64::from(POINTS);
            worst = worst.max(largest_root(2.0 * omega - step * h, omega * omega - step * h));
        }
    }
    worst
}

/// The largest modulus of the roots of z² − pz + q.
fn largest_root(p: f64, q: f64) -> f64 {
    let discriminant = p * p / 4.0 - q;
    if discriminant < 0.0 { q.sqrt() } else { p.abs() / 2.0 + discriminant.sqrt() }
}

/// The step with the least predicted rate for this graph and curvature: by the map with every peer's
/// own Hessian where that is affordable, otherwise as if every peer had the mean one.
pub fn best_step(topology: &Topology, curvature: &Curvature) -> BestStep {
    let extremes = curvature.extremes();
    let (mixing, converged) = mixing_extremes(topology);
    // Beyond 2/h the mean itself diverges; the best step lies within some decades below.
    let scale = 1.0 / extremes.1.max(f64::MIN_POSITIVE);
    let steps = (0..=800).map(|k| scale * 10_f64.powf(0.4 - f64::from(k) / 100.0));
    let rated = steps.map(|step| (step, tracking_rate(mixing, extremes, step)));
    let (guess, value) = rated.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((scale, 1.0));
    if let Curvature::Hessians(hessians) = curvature {
        let map = ErrorMap { topology, hessians };
        if map.cost() * (EVALUATIONS * APPLICATIONS) as f64 <= BUDGET {
            let rate = |log_step: f64| map.rate(log_step.exp(), 1e-5).value;
            let log_step = narrow(descend(guess.ln(), std::f64::consts::LN_2, rate), rate);
            return BestStep { step: log_step.exp(), rate: map.rate(log_step.exp(), FINE) };
        }
    }
    let rate = Rate { value, residual: 0.0, converged, iterations: 0, method: Method::Mean };
    BestStep { step: guess, rate }
}

/// Rates that a search computes, about.
const EVALUATIONS: usize = 20;
/// Applications of the map that one rate may take.
const APPLICATIONS: usize = 3000;

/// One round of tracking as a linear map of the errors (w, g), each peer after peer:
///
/// w⁺ = Ww − αg,  g⁺ = Wg + H(w⁺ − w).
///
/// Σ_i (g_i − H_i w_i) is conserved and 0 in every run; rounding would bring it in, so each
/// application removes it.
struct ErrorMap<'a> {
    topology: &'a Topology,
    hessians: &'a [Packed],
}

impl ErrorMap<'_> {
    fn dimension(&self) -> usize {
        self.hessians.first().map_or(0, Packed::dimension)
    }

    /// Multiplications of one application, about.
    fn cost(&self) -> f64 {
        let (n, d) = (self.topology.peers() as f64, self.dimension() as f64);
        4.0 * n * d * d + 4.0 * self.topology.links() as f64 * d + 100.0 * n * d
    }

    fn rate(&self, step: f64, tolerance: f64) -> Rate {
        let apply = |state: &[f64], next: &mut [f64]| self.apply(step, state, next);
        let size = 2 * self.topology.peers() * self.dimension();
        let found = spectral_radius(apply, random_vector(size), 8, tolerance, APPLICATIONS);
        Rate {
            value: found.value,
            residual: found.residual,
            converged: found.converged,
            iterations: found.applications,
            method: Method::Full,
        }
    }

    fn apply(&self, step: f64, state: &[f64], next: &mut [f64]) {
        let d = self.dimension();
        let (w, g) = state.split_at(state.len() / 2);
        let (next_w, next_g) = next.split_at_mut(state.len() / 2);
        let mut change = vec![0.0; d];
        let mut bent = vec![0.0; d];
        let mut conserved = vec![0.0; d];
        for peer in self.topology.ids() {
            let own = peer.index() * d..(peer.index() + 1) * d;
            let (next_w, next_g) = (&mut next_w[own.clone()], &mut next_g[own.clone()]);
            mix(self.topology, peer, w, d, next_w);
            axpy(-step, &g[own.clone()], next_w);
            mix(self.topology, peer, g, d, next_g);
            change.copy_from_slice(next_w);
            axpy(-1.0, &w[own.clone()], &mut change);
            let hessian = &self.hessians[peer.index()];
            hessian.product(&change, &mut bent);
            axpy(1.0, &bent, next_g);
            axpy(1.0, next_g, &mut conserved);
            hessian.product(next_w, &mut bent);
            axpy(-1.0, &bent, &mut conserved);
        }
        let share = -1.0 / self.topology.peers() as f64;
        next_g.chunks_exact_mut(d).for_each(|g| axpy(share, &conserved, g));
    }
}

/// out ← Σ_l W_il v_l for peer i, in d coordinates.
pub(super) fn mix(topology: &Topology, peer: PeerId, v: &[f64], d: usize, out: &mut [f64]) {
    let own = &v[peer.index() * d..][..d];
    out.copy_from_slice(own);
    for &other in topology.neighbours(peer) {
        let degree = topology.degree(peer).max(topology.degree(other));
        let weight = 1.0 / (1.0 + degree as f64);
        axpy(weight, &v[other.index() * d..][..d], out);
        axpy(-weight, own, out);
    }
}

/// The extreme eigenvalues of the Metropolis matrix W below 1, and whether they have settled.
fn mixing_extremes(topology: &Topology) -> ((f64, f64), bool) {
    let n = topology.peers();
    if n == 1 {
        return ((0.0, 0.0), true);
    }
    let product = |v: &[f64], out: &mut [f64]| {
        for peer in topology.ids() {
            mix(topology, peer, v, 1, &mut out[peer.index()..=peer.index()]);
        }
    };
    let constant = vec![1.0 / (n as f64).sqrt(); n];
    let most = (2 * n + 16).min(2000);
    let found = extreme_eigenvalues(product, Some(&constant), random_vector(n), most);
    ((found.low, found.high.min(1.0)), found.converged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{complete, path, ring};

    #[test]
    fn the_mixing_matrix_of_known_graphs() {
        // Complete: W = 11ᵀ/n, all else 0. Ring: (1 + 2cos(2πk/n))/3.
        let ((low, high), _) = mixing_extremes(&complete(7).unwrap());
        assert!(low.abs() < 1e-12 && high.abs() < 1e-12);
        let ((low, high), _) = mixing_extremes(&ring(12).unwrap());
        let turn = std::f64::consts::TAU / 12.0;
        assert!((low + 1.0 / 3.0).abs() < 1e-9, "{low}");
        assert!((high - (1.0 + 2.0 * turn.cos()) / 3.0).abs() < 1e-9, "{high}");
    }

    #[test]
    fn the_rate_is_what_the_iteration_does() {
        // Ring of six, every peer with the Hessian diag(0.2, 1): iterate the error and look.
        let graph = ring(6).unwrap();
        let (mixing, _) = mixing_extremes(&graph);
        for step in [0.05, 0.3, 0.9] {
            let mut slowest: f64 = 0.0;
            for h in [0.2, 1.0] {
                let mut w = [1.0, -0.3, 0.7, 0.2, -0.9, 0.4];
                let mut g = w.map(|w| h * w);
                let mix = |v: &[f64; 6], i: usize| (v[i] + v[(i + 1) % 6] + v[(i + 5) % 6]) / 3.0;
                let mut sizes = Vec::new();
                for _ in 0..400 {
                    let next: [f64; 6] = std::array::from_fn(|i| mix(&w, i) - step * g[i]);
                    g = std::array::from_fn(|i| mix(&g, i) + h * (next[i] - w[i]));
                    w = next;
                    sizes.push(w.iter().chain(&g).map(|x| x * x).sum::<f64>().sqrt());
                }
                slowest = slowest.max((sizes[399] / sizes[299]).powf(0.01));
            }
            let predicted = tracking_rate(mixing, (0.2, 1.0), step);
            assert!((predicted - slowest).abs() < 0.01, "{step}: {predicted} {slowest}");
        }
    }

    #[test]
    fn with_equal_hessians_the_full_map_has_the_rate_of_the_closed_form() {
        let graph = path(5).unwrap();
        let mut hessian = Packed::identity(2, 0.2);
        hessian.add_outer(0.8, &[1.0, 0.0]);
        let hessians = vec![hessian; 5];
        let map = ErrorMap { topology: &graph, hessians: &hessians };
        let (mixing, _) = mixing_extremes(&graph);
        for step in [0.05, 0.2, 0.4] {
            let full = map.rate(step, FINE);
            let closed = tracking_rate(mixing, (0.2, 1.0), step);
            assert!(full.converged && (full.value - closed).abs() < 1e-6, "{full:?} {closed}");
        }
    }

    #[test]
    fn a_denser_graph_takes_a_longer_step() {
        let curvature = Curvature::Bounds { low: 0.1, high: 0.5 };
        let dense = best_step(&complete(10).unwrap(), &curvature);
        let sparse = best_step(&path(10).unwrap(), &curvature);
        assert!(dense.step > sparse.step && dense.rate.value < sparse.rate.value);
        assert!(sparse.rate.value < 1.0);
    }
}
