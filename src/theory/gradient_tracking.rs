//! The rate of gradient tracking, and the step that makes it best.

use super::lanczos::extreme_eigenvalues;
use super::{Curvature, Method, Rate, random_vector};
use crate::topology::Topology;

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

/// The step with the least [`tracking_rate`] for this graph and curvature.
pub fn best_step(topology: &Topology, curvature: &Curvature) -> BestStep {
    let extremes = curvature.extremes();
    let (mixing, converged) = mixing_extremes(topology);
    let rate = |step: f64| tracking_rate(mixing, extremes, step);
    // Beyond 2/h the mean itself diverges; the best step lies within some decades below.
    let scale = 1.0 / extremes.1.max(f64::MIN_POSITIVE);
    let steps = (0..=800).map(|k| scale * 10_f64.powf(0.4 - f64::from(k) / 100.0));
    let best = steps.map(|step| (step, rate(step))).min_by(|a, b| a.1.total_cmp(&b.1));
    let (step, value) = best.unwrap_or((scale, 1.0));
    let rate = Rate { value, residual: 0.0, converged, iterations: 0, method: Method::Mean };
    BestStep { step, rate }
}

/// The extreme eigenvalues of the Metropolis matrix W below 1, and whether they have settled.
fn mixing_extremes(topology: &Topology) -> ((f64, f64), bool) {
    let n = topology.peers();
    if n == 1 {
        return ((0.0, 0.0), true);
    }
    let product = |v: &[f64], out: &mut [f64]| {
        for peer in topology.ids() {
            let own = v[peer.index()];
            let pull = |&other: &crate::units::PeerId| {
                let degree = topology.degree(peer).max(topology.degree(other));
                (v[other.index()] - own) / (1.0 + degree as f64)
            };
            out[peer.index()] = own + topology.neighbours(peer).iter().map(pull).sum::<f64>();
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
    fn a_denser_graph_takes_a_longer_step() {
        let curvature = Curvature::Bounds { low: 0.1, high: 0.5 };
        let dense = best_step(&complete(10).unwrap(), &curvature);
        let sparse = best_step(&path(10).unwrap(), &curvature);
        assert!(dense.step > sparse.step && dense.rate.value < sparse.rate.value);
        assert!(sparse.rate.value < 1.0);
    }
}
