//! The rate where every peer has the same degree and the same curvature, in closed form.

use super::error_map::start;
use super::hessenberg::Pair;
use super::lanczos::{Extremes, extreme_eigenvalues};
use crate::learn::norm;
use crate::topology::Topology;

/// τ on a k-regular graph with H_i = hI: the roots of x² − (1 + u(1 − s))x + u(1 − s/2) = 0 with
/// u = 2βk/(h + 2βk), s = μ/k for the non-zero eigenvalues μ of L₋, and u itself for μ = 0.
///
/// As a function of s the larger root falls, then falls as the modulus of a complex pair, then
/// rises; as a function of u likewise. So the extremes of s and h are all that is needed.
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
        Self { degree, regular, spectrum: spectrum(topology, most) }
    }

    /// Whether this is exact for equal curvatures.
    pub(super) fn is_exact(&self) -> bool {
        self.regular && self.spectrum.converged
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

/// The extreme non-zero eigenvalues of D^{-1/2} L₋ D^{-1/2}, which are μ/k on a k-regular graph.
///
/// Long rings and paths, which defeat every iteration, and complete graphs are recognised.
fn spectrum(topology: &Topology, most: usize) -> Extremes {
    use std::f64::consts::PI;
    let (n, links) = (topology.peers(), topology.links());
    let known = |low, high| Extremes { low, high, converged: true };
    let thin = topology.ids().all(|peer| topology.degree(peer) <= 2);
    if links == n * (n - 1) / 2 {
        let s = n as f64 / (n - 1) as f64;
        return known(s, s);
    }
    if thin && links + 1 >= n && topology.components().len() == 1 {
        // The j-th eigenvalue is 1 − cos(jφ) = 2 sin²(jφ/2).
        let (angle, last) =
            if links == n { (2.0 * PI / n as f64, n / 2) } else { (PI / (n - 1) as f64, n - 1) };
        let eigenvalue = |j: usize| 2.0 * (0.5 * j as f64 * angle).sin().powi(2);
        return known(eigenvalue(1), eigenvalue(last));
    }
    let roots: Vec<f64> =
        topology.ids().map(|peer| (topology.degree(peer) as f64).sqrt().max(1e-300)).collect();
    let length = norm(&roots);
    let kernel: Vec<f64> = roots.iter().map(|root| root / length).collect();
    let product = |v: &[f64], out: &mut [f64]| {
        for peer in topology.ids() {
            let term = |l: &crate::units::PeerId| v[l.index()] / roots[l.index()];
            let around: f64 = topology.neighbours(peer).iter().map(term).sum();
            out[peer.index()] = v[peer.index()] - around / roots[peer.index()];
        }
    };
    let found = extreme_eigenvalues(product, Some(&kernel), start(n), most);
    Extremes { low: found.low.max(0.0), high: found.high.min(2.0), ..found }
}
