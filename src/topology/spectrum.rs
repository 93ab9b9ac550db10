//! Eigenvalues of a graph's matrices: how fast differences between peers can die out on it.

mod closed_form;
pub(super) mod dense;
pub(super) mod iteration;
pub(super) mod laplacian;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub(crate) use self::dense::Eigen;
use self::iteration::Pair;
use self::laplacian::{End, Laplacian};
use super::graph::Topology;
use super::shape::Shape;

/// The largest graph whose matrices are held and solved completely.
pub(super) const DENSE_PEERS: usize = 500;

/// The residual, relative to the eigenvalue, at which a figure has settled: it is shown to four
/// digits, and its error is usually the square of this.
const TOLERANCE: f64 = 1e-5;

/// Multiplications that one eigenvalue may cost: some ten seconds.
const BUDGET: f64 = 1.5e10;

/// How a number was found, and how far it is to be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// By a formula for this graph.
    ClosedForm,
    /// From all eigenvalues of the matrix, to rounding.
    Dense,
    /// By an iteration that settled.
    Iterated {
        /// How far the vector is from an eigenvector: a bound of the error of the eigenvalue that
        /// the figure is made from.
        residual: f64,
    },
    /// As a mean over random probes.
    Sampled {
        /// The standard error of that mean.
        standard_error: f64,
        /// How many probes there were.
        probes: usize,
    },
    /// An iteration did not settle within its bound: there is no number.
    NotConverged {
        /// The residual that was left.
        residual: f64,
    },
}

/// A figure with the way it was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Value {
    /// The number; none where it could not be found.
    pub value: Option<f64>,
    /// How it was found.
    pub method: Method,
}

impl Value {
    pub(super) fn new(value: f64, method: Method) -> Self {
        Self { value: Some(value), method }
    }

    fn of(pair: &Pair) -> Self {
        let residual = pair.residual;
        if pair.converged {
            Self::new(pair.value, Method::Iterated { residual })
        } else {
            Self { value: None, method: Method::NotConverged { residual } }
        }
    }

    pub(super) fn map(self, f: impl FnOnce(f64) -> f64) -> Self {
        Self { value: self.value.map(f), ..self }
    }

    /// A figure of two others, as trustworthy as the worse of them.
    fn zip(self, other: Self, f: impl FnOnce(f64, f64) -> f64) -> Self {
        let doubt = |method: &Method| match *method {
            Method::ClosedForm => (0, 0.0),
            Method::Dense => (1, 0.0),
            Method::Iterated { residual } => (2, residual),
            Method::Sampled { standard_error, .. } => (3, standard_error),
            Method::NotConverged { residual } => (4, residual),
        };
        let method =
            if doubt(&self.method) >= doubt(&other.method) { self.method } else { other.method };
        Self { value: self.value.zip(other.value).map(|(a, b)| f(a, b)), method }
    }
}

/// Eigenvalues of a connected graph of two peers or more.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// λ₂, the least non-zero eigenvalue of L₋ = D − A.
    pub algebraic_connectivity: Value,
    /// The largest eigenvalue of L₋.
    pub largest: Value,
    /// 1 − max(|λ₂(W)|, |λ_n(W)|) of the Metropolis matrix, W_ij = 1/(1 + max(d_i, d_j)).
    pub metropolis_gap: Value,
    /// σ_min(L₊), the least eigenvalue of L₊ = D + A: 0 exactly where the graph is bipartite, which
    /// its colouring decides and no rounding.
    pub signless_least: Value,
    /// σ_max(L₊).
    pub signless_largest: Value,
    /// σ_max(L₊)/σ_min(L₋), L₊ = D + A, over the non-zero singular values.
    pub ratio: Value,
    /// All eigenvalues of L₋ in ascending order, where they are known.
    pub(super) all: Option<(Vec<f64>, Method)>,
}

impl Spectrum {
    /// The spectrum of a graph; none if it is not connected or has one peer only.
    ///
    /// By closed forms for paths, rings, stars, complete graphs, hypercubes, grids, tori and
    /// circulant graphs, which are recognised by their links; from all eigenvalues up to 500 peers;
    /// by iteration beyond.
    pub fn of(topology: &Topology) -> Option<Self> {
        Self::with_shape(topology, &Shape::of(topology))
    }

    pub(super) fn with_shape(topology: &Topology, shape: &Shape) -> Option<Self> {
        let n = topology.peers();
        if n < 2 || topology.components().len() > 1 {
            return None;
        }
        let laplacian = Laplacian::unsigned(topology);
        let all = closed_form::spectrum(topology, shape)
            .map(|values| (values, Method::ClosedForm))
            .or_else(|| {
                (n <= DENSE_PEERS).then(|| (Eigen::values(laplacian.dense()), Method::Dense))
            });
        let [algebraic_connectivity, largest] = match &all {
            Some((values, method)) => {
                [values[1], values[n - 1]].map(|value| Value::new(value, *method))
            }
            None => [End::Least, End::Greatest]
                .map(|end| Value::of(&laplacian.extreme(end, None, TOLERANCE, BUDGET))),
        };
        let metropolis_gap = metropolis_gap(topology, algebraic_connectivity, largest);
        let [signless_least, signless_largest] = signless(topology, shape, largest);
        let ratio = signless_largest.zip(algebraic_connectivity, |a, b| a / b);
        Some(Self {
            algebraic_connectivity,
            largest,
            metropolis_gap,
            signless_least,
            signless_largest,
            ratio,
            all,
        })
    }
}

/// With M = I − W and its eigenvalues 0 = μ₁ < μ₂ ≤ … ≤ μ_n < 2, the gap is min(μ₂, 2 − μ_n).
fn metropolis_gap(topology: &Topology, low: Value, high: Value) -> Value {
    let degree = |peer| topology.degree(peer);
    let mut divisors = topology.edges().map(|(a, b)| 1 + degree(a).max(degree(b)));
    let first = divisors.next().unwrap_or(1);
    if divisors.all(|divisor| divisor == first) {
        // One weight for all links, as in regular graphs, paths and stars: M = L₋/(1 + d).
        let weight = 1.0 / first as f64;
        return low.zip(high, |low, high| (weight * low).min(2.0 - weight * high));
    }
    let matrix = Laplacian::metropolis(topology);
    let n = topology.peers();
    if n <= DENSE_PEERS {
        let values = Eigen::values(matrix.dense());
        return Value::new(values[1].min(2.0 - values[n - 1]), Method::Dense);
    }
    let low = Value::of(&matrix.extreme(End::Least, None, TOLERANCE, BUDGET));
    // By Gershgorin μ_n ≤ 2 − 2/(1 + d_max): the upper end need not be known where the lower is
    // closer.
    let greatest = topology.ids().map(degree).max().unwrap_or(0);
    match low.value {
        Some(value) if value > 2.0 / (1 + greatest) as f64 => {
            let high = Value::of(&matrix.extreme(End::Greatest, None, TOLERANCE, BUDGET));
            low.zip(high, |low, high| low.min(2.0 - high))
        }
        _ => low,
    }
}

/// σ_min(L₊) and σ_max(L₊). Where the graph is bipartite, changing the sign of one group's
/// coordinates turns L₊ into L₋: 0 and the largest of L₋. Where everybody has d neighbours,
/// L₊ = 2d − L₋.
fn signless(topology: &Topology, shape: &Shape, largest: Value) -> [Value; 2] {
    let mut degrees = topology.ids().map(|peer| topology.degree(peer));
    let first = degrees.next().unwrap_or(0);
    let twice = degrees
        .all(|degree| degree == first)
        .then(|| Value::new(2.0 * first as f64, Method::ClosedForm));
    if super::summary::bipartite(topology, std::iter::once(crate::units::PeerId(0))) {
        return [Value::new(0.0, Method::ClosedForm), twice.unwrap_or(largest)];
    }
    let matrix = Laplacian::signless(topology);
    let iterated = |end| Value::of(&matrix.extreme(end, None, TOLERANCE, BUDGET));
    match twice {
        Some(twice) => {
            let least = match (shape, largest.method) {
                // 2d − λ_max = 4 − 4cos²(π/2n) of an odd ring, without its cancellation.
                (Shape::Ring(_), _) => {
                    let half = 0.5 * std::f64::consts::PI / topology.peers() as f64;
                    Value::new(4.0 * half.sin().powi(2), Method::ClosedForm)
                }
                (_, Method::ClosedForm | Method::Dense) => largest.zip(twice, |a, b| b - a),
                // The difference of a settled figure need not have settled.
                _ => iterated(End::Least),
            };
            [least, twice]
        }
        None if topology.peers() <= DENSE_PEERS => {
            let values = Eigen::values(matrix.dense());
            [values[0], values[values.len() - 1]].map(|value| Value::new(value, Method::Dense))
        }
        None => [End::Least, End::Greatest].map(iterated),
    }
}

/// λ₂ and its unit eigenvector, the Fiedler vector, of a connected graph of two peers or more.
///
/// `start` is a vector to iterate from, where one is near.
pub(super) fn fiedler(topology: &Topology, start: Option<Vec<f64>>) -> Pair {
    const SMALL: usize = 150;
    // Links are compared by small differences.
    const FINE: f64 = 1e-7;
    let laplacian = Laplacian::unsigned(topology);
    if topology.peers() <= SMALL {
        let mut eigen = Eigen::of(laplacian.dense());
        let vector = eigen.vectors.swap_remove(1);
        return Pair { value: eigen.values[1], vector, residual: 0.0, converged: true };
    }
    laplacian.extreme(End::Least, start, FINE, BUDGET)
}
