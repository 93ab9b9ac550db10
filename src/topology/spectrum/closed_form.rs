//! Laplacian spectra that are known.

use std::f64::consts::PI;

use super::super::graph::Topology;
use super::super::shape::Shape;
use crate::units::PeerId;

/// All n eigenvalues of L₋ = D − A in ascending order, if the graph is one whose spectrum is known.
///
/// With 2 − 2cos φ = 4 sin²(φ/2), which does not cancel: a path has φ = πj/n, a ring 2πj/n, a grid
/// and a torus the sums of theirs; a star 0, 1 (n − 2 times) and n; a complete graph 0 and n; a
/// hypercube 2k, C(d, k) times; a graph that looks the same from every place of a ring has the sums
/// over peer 0's neighbours s of 1 − cos(2πjs/n).
pub(crate) fn spectrum(topology: &Topology, shape: &Shape) -> Option<Vec<f64>> {
    let n = topology.peers();
    let mut values = match *shape {
        Shape::Path(_) => path(n),
        Shape::Ring(_) => ring(n),
        Shape::Star(_) => {
            let mut values = vec![1.0; n];
            (values[0], values[n - 1]) = (0.0, n as f64);
            values
        }
        Shape::Complete => {
            let mut values = vec![n as f64; n];
            values[0] = 0.0;
            values
        }
        Shape::Grid { rows, columns } => sums(&path(rows), &path(columns)),
        Shape::Torus { rows, columns } => sums(&ring(rows), &ring(columns)),
        Shape::Hypercube => (0..n as u32).map(|peer| 2.0 * f64::from(peer.count_ones())).collect(),
        Shape::Circulant => {
            let lengths: Vec<u64> =
                topology.neighbours(PeerId(0)).iter().map(|&s| u64::from(s.0)).collect();
            let n = n as u64;
            let term = |j: u64, s: u64| {
                // The angle is reduced while it is still whole.
                2.0 * (PI * (j * s % n) as f64 / n as f64).sin().powi(2)
            };
            (0..n).map(|j| lengths.iter().map(|&s| term(j, s)).sum()).collect()
        }
        Shape::Other => return None,
    };
    values.sort_by(f64::total_cmp);
    Some(values)
}

fn path(n: usize) -> Vec<f64> {
    (0..n).map(|j| 4.0 * (0.5 * PI * j as f64 / n as f64).sin().powi(2)).collect()
}

fn ring(n: usize) -> Vec<f64> {
    match n {
        // One link where the formula has two.
        2 => path(2),
        _ => (0..n).map(|j| 4.0 * (PI * j as f64 / n as f64).sin().powi(2)).collect(),
    }
}

/// The spectrum of a Cartesian product.
fn sums(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().flat_map(|a| b.iter().map(move |b| a + b)).collect()
}
