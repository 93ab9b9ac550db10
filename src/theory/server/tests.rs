//! Closed forms against brute force, simulation and golden values.

mod federated;
mod published;
mod queries;

use std::fs;
use std::path::Path;

use rand::RngExt;
use serde_json::Value;

use crate::random::{Family, Purpose, Streams};
use crate::units::Seed;

fn golden() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/server.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number, found {value}"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn assert_near(found: f64, expected: f64, relative: f64) {
    let error = (found - expected).abs();
    assert!(error <= relative * expected.abs(), "expected {expected}, found {found}");
}

fn family(seed: u64) -> Family {
    Streams::new(Seed(seed), 0).family(Purpose::Forecast, 0)
}

/// The mean of samples and its standard error.
fn mean_of(samples: &[f64]) -> (f64, f64) {
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let squares: f64 = samples.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0) / n).sqrt())
}

/// Eigenvalues of a small symmetric matrix and their orthonormal vectors, by Jacobi's rotations.
fn eigen(mut a: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let d = a.len();
    let mut vectors: Vec<Vec<f64>> =
        (0..d).map(|i| (0..d).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..60 {
        for p in 0..d {
            for q in p + 1..d {
                if a[p][q] == 0.0 {
                    continue;
                }
                let (sin, cos) = (0.5 * (2.0 * a[p][q]).atan2(a[p][p] - a[q][q])).sin_cos();
                for row in &mut a {
                    (row[p], row[q]) = (cos * row[p] + sin * row[q], cos * row[q] - sin * row[p]);
                }
                for k in 0..d {
                    (a[p][k], a[q][k]) =
                        (cos * a[p][k] + sin * a[q][k], cos * a[q][k] - sin * a[p][k]);
                    (vectors[p][k], vectors[q][k]) = (
                        cos * vectors[p][k] + sin * vectors[q][k],
                        cos * vectors[q][k] - sin * vectors[p][k],
                    );
                }
            }
        }
    }
    ((0..d).map(|i| a[i][i]).collect(), vectors)
}

fn times(matrix: &[Vec<f64>], v: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum()).collect()
}

/// A random positive definite matrix, BBᵀ/d + 0.1 I, and a random start.
fn random_quadratic(d: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut stream = family(1).stream(0);
    let b: Vec<Vec<f64>> =
        (0..d).map(|_| (0..d).map(|_| stream.random_range(-1.0..1.0)).collect()).collect();
    let entry = |i: usize, j: usize| {
        let product: f64 = b[i].iter().zip(&b[j]).map(|(x, y)| x * y).sum();
        product / d as f64 + if i == j { 0.1 } else { 0.0 }
    };
    let matrix = (0..d).map(|i| (0..d).map(|j| entry(i, j)).collect()).collect();
    (matrix, (0..d).map(|_| stream.random_range(-2.0..2.0)).collect())
}
