//! The rate where every peer has the same degree and the same curvature, in closed form.

use std::f64::consts::PI;

use super::hessenberg::Pair;
use super::lanczos::{Extremes, extreme_eigenvalues};
use super::random_vector;
use crate::learn::norm;
use crate::topology::Topology;
use crate::units::PeerId;

/// τ on a k-regular graph with H_i = hI: the roots of x² − (1 + u(1 − s))x + u(1 − s/2) = 0 with
/// u = 2βk/(h + 2βk), s = μ/k for the non-zero eigenvalues μ of L₋, and u itself for μ = 0.
///
/// As s grows, the larger modulus falls while the roots are real, falls on while they are complex,
/// and may rise where they are real again; as u grows, it falls while they are real and rises while
/// they are complex. So the extremes of s and h are all that is needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClosedForm {
    /// Degree, or the mean degree.
    degree: f64,
    /// Whether every peer has that degree: only then is this more than an approximation.
    regular: bool,
    /// The extreme non-zero eigenvalues s of D^{-1/2} L₋ D^{-1/2}.
    spectrum: Extremes,
}

impl ClosedForm {
    /// Finds the graph's spectrum with at most `most` products.
    pub(super) fn new(topology: &Topology, most: usize) -> Self {
        let degree = 2.0 * topology.links() as f64 / topology.peers() as f64;
        let regular = topology.ids().all(|peer| topology.degree(peer) as f64 == degree);
        let spectrum =
            known_spectrum(topology).unwrap_or_else(|| iterated_spectrum(topology, most));
        Self { degree, regular, spectrum }
    }

    /// Whether this is exact for equal curvatures.
    pub(super) fn is_exact(&self) -> bool {
        self.regular && self.spectrum.converged
    }

    /// Whether the graph's spectrum has settled.
    pub(super) fn converged(&self) -> bool {
        self.spectrum.converged
    }

    /// The worst rate over curvatures from `low` to `high`.
    pub(super) fn rate(&self, (low, high): (f64, f64), beta: f64) -> f64 {
        [low, high].into_iter().fold(0.0, |worst: f64, h| {
            let pull = 2.0 * beta * self.degree;
            let u = pull / (h + pull);
            let root =
                |s: f64| Pair { sum: 1.0 + u * (1.0 - s), product: u * (1.0 - 0.5 * s) }.modulus();
            worst.max(u).max(root(self.spectrum.low)).max(root(self.spectrum.high))
        })
    }

    /// A natural scale for β: u = ½ at the geometric mean of the curvatures.
    pub(super) fn scale(&self, (low, high): (f64, f64)) -> f64 {
        (low * high).sqrt() / (2.0 * self.degree)
    }
}

/// The extreme non-zero eigenvalues of D^{-1/2} L₋ D^{-1/2} of complete graphs, and of rings and
/// paths, which defeat an iteration once they are long.
fn known_spectrum(topology: &Topology) -> Option<Extremes> {
    let (n, links) = (topology.peers(), topology.links());
    let (low, high) = if links == n * (n - 1) / 2 {
        let eigenvalue = n as f64 / (n - 1) as f64;
        (eigenvalue, eigenvalue)
    } else if topology.ids().all(|peer| topology.degree(peer) <= 2)
        && topology.components().len() == 1
    {
        let (angle, last) =
            if links == n { (2.0 * PI / n as f64, n / 2) } else { (PI / (n - 1) as f64, n - 1) };
        // 1 − cos(jφ) for the j-th, without its cancellation.
        let eigenvalue = |j: usize| 2.0 * (0.5 * j as f64 * angle).sin().powi(2);
        (eigenvalue(1), eigenvalue(last))
    } else {
        return None;
    };
    Some(Extremes { low, high, converged: true })
}

/// The same of any graph, with at most `most` products.
fn iterated_spectrum(topology: &Topology, most: usize) -> Extremes {
    let roots: Vec<f64> =
        topology.ids().map(|peer| (topology.degree(peer) as f64).sqrt()).collect();
    let length = norm(&roots);
    let kernel: Vec<f64> = roots.iter().map(|root| root / length).collect();
    let product = |v: &[f64], out: &mut [f64]| {
        for peer in topology.ids() {
            let term = |l: &PeerId| v[l.index()] / (roots[l.index()] * roots[peer.index()]);
            let around: f64 = topology.neighbours(peer).iter().map(term).sum();
            // A peer without neighbours is a part of its own, with eigenvalue 0.
            let own = if topology.degree(peer) == 0 { 0.0 } else { v[peer.index()] };
            out[peer.index()] = own - around;
        }
    };
    let found = extreme_eigenvalues(product, Some(&kernel), random_vector(topology.peers()), most);
    Extremes { low: found.low.max(0.0), high: found.high.min(2.0), ..found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{complete, path, ring, star};

    #[test]
    fn known_spectra_are_those_of_the_iteration() {
        for n in [2, 3, 4, 5, 8, 17, 30] {
            let rings = (n > 2).then(|| ring(n));
            for graph in [complete(n), path(n)].into_iter().chain(rings) {
                let graph = graph.unwrap();
                let known = known_spectrum(&graph).unwrap();
                let iterated = iterated_spectrum(&graph, 1_000);
                assert!(iterated.converged, "{n}: {iterated:?}");
                assert!((known.low - iterated.low).abs() < 1e-9, "{n}: {known:?} {iterated:?}");
                assert!((known.high - iterated.high).abs() < 1e-9, "{n}: {known:?} {iterated:?}");
            }
        }
        let star = iterated_spectrum(&star(12).unwrap(), 1_000);
        assert!((star.low - 1.0).abs() < 1e-9 && (star.high - 2.0).abs() < 1e-9, "{star:?}");
        assert_eq!(known_spectrum(&crate::topology::star(12).unwrap()), None);
    }
}
