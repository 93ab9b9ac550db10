//! Effective resistance: how far apart two peers are if every link is a wire of one ohm.

use rand::RngExt;

use super::graph::Topology;
use super::spectrum::iteration::{axpy, dot, norm};
use super::spectrum::laplacian::Laplacian;
use super::spectrum::{Method, Spectrum, Value};
use crate::random::{Purpose, Streams};
use crate::units::Seed;

/// Random probes of an estimate.
const PROBES: usize = 24;
/// Multiplications that all of them may cost.
const BUDGET: f64 = 1.5e10;

/// The mean effective resistance over all pairs of peers,
///
/// (2/(n(n − 1))) Σ_{i<j} R_ij = (2/(n − 1)) tr L₋⁺ = (2/(n − 1)) Σ_{k≥2} 1/λ_k.
///
/// Exact where all eigenvalues are known; otherwise tr L₋⁺ is estimated by Hutchinson's method, the
/// mean of zᵀL₋⁺z over random signs z, each by conjugate gradients.
pub(super) fn mean_resistance(topology: &Topology, spectrum: &Spectrum) -> Value {
    let factor = 2.0 / (topology.peers() as f64 - 1.0);
    match &spectrum.all {
        Some((values, method)) => {
            // The smallest terms first.
            let sum: f64 = values[1..].iter().rev().map(|value| 1.0 / value).sum();
            Value::new(factor * sum, *method)
        }
        None => estimate(topology, factor, PROBES, BUDGET),
    }
}

fn estimate(topology: &Topology, factor: f64, probes: usize, budget: f64) -> Value {
    let laplacian = Laplacian::unsigned(topology);
    let n = topology.peers();
    let product = 20.0 * n as f64 + 2.0 * topology.links() as f64;
    let most = (budget / (probes as f64 * product)) as usize;
    let family = Streams::new(Seed(0), 0).family(Purpose::Spectrum, 2);
    let mut samples = Vec::with_capacity(probes);
    for probe in 0..probes {
        let mut stream = family.stream(probe as u64);
        let mut z: Vec<f64> =
            (0..n).map(|_| if stream.random() { factor } else { -factor }).collect();
        centre(&mut z);
        match quadratic_form(&laplacian, &z, most) {
            Ok(value) => samples.push(value / factor),
            Err(residual) => {
                return Value { value: None, method: Method::NotConverged { residual } };
            }
        }
    }
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let standard_error = (variance / count).sqrt();
    Value::new(mean, Method::Sampled { standard_error, probes })
}

/// bᵀL₋⁺b by conjugate gradients, preconditioned by the degrees; the relative residual that is left
/// where they do not settle.
fn quadratic_form(laplacian: &Laplacian<'_>, b: &[f64], most: usize) -> Result<f64, f64> {
    const TOLERANCE: f64 = 1e-8;
    let precondition = |r: &[f64]| -> Vec<f64> {
        let mut z: Vec<f64> = r.iter().zip(&laplacian.diagonal).map(|(r, d)| r / d).collect();
        centre(&mut z);
        z
    };
    let mut x = vec![0.0; b.len()];
    let mut residual = b.to_vec();
    let mut z = precondition(&residual);
    let mut direction = z.clone();
    let mut image = vec![0.0; b.len()];
    let mut rz = dot(&residual, &z);
    let size = norm(b);
    for _ in 0..most {
        if norm(&residual) <= TOLERANCE * size {
            return Ok(dot(b, &x));
        }
        laplacian.product(&direction, &mut image);
        let step = rz / dot(&direction, &image);
        axpy(step, &direction, &mut x);
        axpy(-step, &image, &mut residual);
        z = precondition(&residual);
        let next = dot(&residual, &z);
        direction.iter_mut().zip(&z).for_each(|(d, z)| *d = z + next / rz * *d);
        rz = next;
    }
    Err(norm(&residual) / size)
}

/// Subtracts the mean: L₋ sees differences only.
fn centre(v: &mut [f64]) {
    let mean = v.iter().sum::<f64>() / v.len() as f64;
    v.iter_mut().for_each(|v| *v -= mean);
}

#[cfg(test)]
mod tests {
    use super::super::{binary_tree, complete, grid, path, random_regular, ring, star};
    use super::*;

    fn mean(graph: &Topology) -> f64 {
        mean_resistance(graph, &Spectrum::of(graph).unwrap()).value.unwrap()
    }

    /// On a tree the resistance is the distance: (n + 1)/3 in the mean over a path's pairs,
    /// 2 − 2/n on a star. On a ring j(n − j)/n, (n + 1)/6 in the mean; 2/n on a complete graph.
    #[test]
    fn wires_in_series_and_in_parallel() {
        for n in [2, 3, 7, 40, 499] {
            let size = n as f64;
            let close = |graph: Topology, expected: f64| {
                assert!((mean(&graph) / expected - 1.0).abs() < 1e-9, "{n}: {expected}");
            };
            close(path(n).unwrap(), (size + 1.0) / 3.0);
            close(complete(n).unwrap(), 2.0 / size);
            if n > 2 {
                close(star(n).unwrap(), 2.0 - 2.0 / size);
                close(ring(n).unwrap(), (size + 1.0) / 6.0);
            }
        }
    }

    /// The dense way on trees, where the mean distance by search is the mean resistance.
    #[test]
    fn on_a_tree_resistance_is_distance() {
        let tree = binary_tree(100).unwrap();
        let total: u32 = tree.ids().flat_map(|peer| tree.distances(peer)).flatten().sum();
        let expected = f64::from(total) / (100.0 * 99.0);
        assert!((mean(&tree) - expected).abs() < 1e-9);
    }

    #[test]
    fn estimates_are_within_their_errors() {
        let streams = Streams::new(Seed(1), 0);
        for graph in [grid(15, 20), random_regular(300, 4, &streams)] {
            let graph = graph.unwrap();
            let exact = mean(&graph);
            let found = estimate(&graph, 2.0 / 299.0, 60, 1e9);
            let Method::Sampled { standard_error, probes: 60 } = found.method else {
                panic!("{found:?}")
            };
            assert!(standard_error < 0.1 * exact, "{found:?}");
            assert!(
                (found.value.unwrap() - exact).abs() < 4.0 * standard_error,
                "{found:?} {exact}"
            );
        }
        let found = estimate(&path(1_000).unwrap(), 1.0, 2, 1e6);
        assert_eq!(found.value, None, "{found:?}");
    }
}
