//! The local linear rate of fully distributed ADMM, and the penalty that makes it best.

use super::arnoldi::{BASIS, Radius, spectral_radius};
use super::closed_form::ClosedForm;
use super::curvature::Curvature;
use super::error_map::ErrorMap;
use super::random_vector;
use crate::learn::Packed;
use crate::topology::Topology;

/// How a rate was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Exactly: the spectral radius of the map with every peer's own Hessian.
    Full,
    /// As if every peer had the mean Hessian: the worst over its extreme eigenvalues.
    Mean,
    /// As if, besides, every peer had the mean number of neighbours: an approximation for graphs
    /// whose map is too large or too slow to iterate.
    Approximate,
}

/// The factor by which a round shrinks the error, close to the optimum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// τ.
    pub value: f64,
    /// How far the dominant eigenvectors are from being mapped into their span, as an error of
    /// `value`; 0 for a closed form.
    pub residual: f64,
    /// Whether the iteration settled. If not, `value` is only the last estimate.
    pub converged: bool,
    /// Applications of the map; 0 for a closed form.
    pub iterations: usize,
    /// How it was found.
    pub method: Method,
}

/// The penalty with the least rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BestPenalty {
    /// β.
    pub beta: f64,
    /// The rate at this β.
    pub rate: Rate,
}

/// The local linear rate τ of fully distributed ADMM with penalty β: the spectral radius of the map
/// of the errors per round,
///
/// w⁺ = S(βL₊w − γ),  γ⁺ = γ + βL₋w⁺,  S_i = (H_i + 2βN_i I)⁻¹,
///
/// without the conserved Σγ. A graph that is not connected has rate 1: its parts never agree. A
/// penalty that is not positive and finite, or a Hessian that is not finite, has none: NaN.
///
/// # Panics
/// If there are Hessians, but not one for every peer, or of different dimensions.
pub fn local_rate(topology: &Topology, curvature: &Curvature, beta: f64) -> Rate {
    match Analysis::new(topology, curvature) {
        None => ALONE,
        Some(analysis) => {
            let method = analysis.affordable(beta, BUDGET);
            analysis.rate(method, beta, FINE, BUDGET)
        }
    }
}

/// The penalty β with the least [`local_rate`], to about 2 %.
///
/// The closed form for regular graphs says where to look; the bottom is then walked to and narrowed
/// by golden section on the best model that some 3·10⁹ multiplications, a second or two, can afford.
/// A single peer has nobody to agree with: β = 1, rate 0.
///
/// # Panics
/// If there are Hessians, but not one for every peer, or of different dimensions.
pub fn best_penalty(topology: &Topology, curvature: &Curvature) -> BestPenalty {
    let Some(analysis) = Analysis::new(topology, curvature) else {
        return BestPenalty { beta: 1.0, rate: ALONE };
    };
    let guess = analysis.guess();
    let share = BUDGET / EVALUATIONS;
    let method = analysis.affordable(guess, share);
    let tolerance = COARSE / analysis.slowness(guess);
    let log_beta = if analysis.is_closed(method) {
        guess.ln()
    } else {
        let rate = |log_beta: f64| analysis.rate(method, log_beta.exp(), tolerance, share).value;
        narrow(descend(guess.ln(), std::f64::consts::LN_2, rate), rate)
    };
    let beta = log_beta.exp();
    BestPenalty { beta, rate: analysis.rate(method, beta, FINE, 4.0 * share) }
}

/// Multiplications that an answer may cost.
pub(super) const BUDGET: f64 = 3e9;
/// Evaluations of the rate that a search is expected to need, the final one counted four times.
const EVALUATIONS: f64 = 16.0;
/// The residual at which a rate that is to be reported has settled.
pub(super) const FINE: f64 = 1e-9;
/// The same for the comparison of two penalties, as a share of 1 − τ.
const COARSE: f64 = 1e-3;
/// The precision of the search in ln β.
const PRECISION: f64 = 0.02;

/// A peer with nobody to agree with is at its optimum after one round.
const ALONE: Rate =
    Rate { value: 0.0, residual: 0.0, converged: true, iterations: 0, method: Method::Full };

/// A problem, with what every rate of it needs.
struct Analysis<'a> {
    topology: &'a Topology,
    hessians: Option<&'a [Packed]>,
    /// The extreme eigenvalues of the mean Hessian.
    extremes: (f64, f64),
    closed_form: ClosedForm,
}

impl<'a> Analysis<'a> {
    /// Nothing where there is no link, or nothing to learn.
    fn new(topology: &'a Topology, curvature: &'a Curvature) -> Option<Self> {
        let (hessians, dimension) = match curvature {
            Curvature::Hessians(hessians) => {
                assert_eq!(hessians.len(), topology.peers(), "one Hessian for every peer");
                let same = hessians.windows(2).all(|h| h[0].dimension() == h[1].dimension());
                assert!(same, "every Hessian is of the same dimension");
                (Some(hessians.as_slice()), hessians.first().map_or(0, Packed::dimension))
            }
            Curvature::Bounds { .. } => (None, 1),
        };
        if topology.links() == 0 || dimension == 0 {
            return None;
        }
        let product = (topology.peers() * 8 + topology.links() * 4) as f64;
        let most = (0.1 * BUDGET / product).max(32.0) as usize;
        let closed_form = ClosedForm::new(topology, most);
        Some(Self { topology, hessians, extremes: curvature.extremes(), closed_form })
    }

    /// The best model that `budget` operations let iterate at β as long as it will need to.
    fn affordable(&self, beta: f64, budget: f64) -> Method {
        let stride = self.slowness(beta);
        let within = |method| {
            let (setup, application) = self.cost(method, stride);
            setup + 2.0 * BASIS as f64 * stride * application <= budget
        };
        if self.hessians.is_some() && within(Method::Full) {
            Method::Full
        } else if self.closed_form.is_exact() || within(Method::Mean) {
            Method::Mean
        } else {
            Method::Approximate
        }
    }

    /// Rounds per factor e of the error, roughly, and no more than an iteration should skip over.
    fn slowness(&self, beta: f64) -> f64 {
        1.0 / (1.0 - self.closed_form.rate(self.extremes, beta)).max(1e-3)
    }

    /// Multiplications that an iteration costs: once, and for each application of the map when one
    /// in `stride` of them is orthogonalised.
    fn cost(&self, method: Method, stride: f64) -> (f64, f64) {
        let (n, ends) = (self.topology.peers() as f64, 2.0 * self.topology.links() as f64);
        let (d, resolvent) = match (method, self.hessians) {
            (Method::Full, Some([first, ..])) => {
                let d = first.dimension() as f64;
                (d, d * d)
            }
            _ => (2.0, 2.0),
        };
        let orthogonalisation = 6.0 * BASIS as f64 * n * d / stride;
        (n * resolvent * d, n * resolvent + 2.0 * ends * d + 6.0 * n * d + orthogonalisation)
    }

    fn is_closed(&self, method: Method) -> bool {
        method == Method::Approximate || method == Method::Mean && self.closed_form.is_exact()
    }

    fn rate(&self, method: Method, beta: f64, tolerance: f64, budget: f64) -> Rate {
        let none =
            Rate { value: f64::NAN, residual: f64::NAN, converged: false, iterations: 0, method };
        if !(beta > 0.0 && beta.is_finite()) {
            return none;
        }
        if self.is_closed(method) {
            let value = self.closed_form.rate(self.extremes, beta);
            let converged = self.closed_form.converged();
            return Rate { value, residual: 0.0, converged, iterations: 0, method };
        }
        let map = match (method, self.hessians) {
            (Method::Full, Some(hessians)) => ErrorMap::new(self.topology, hessians, beta),
            _ => {
                let (low, high) = self.extremes;
                Ok(ErrorMap::of_equal_peers(self.topology, &[low, high], beta))
            }
        };
        let Ok(map) = map else {
            return none;
        };
        let stride = self.slowness(beta);
        let (setup, application) = self.cost(method, stride);
        let most = (budget - setup) / application;
        let stride = stride.min(most / (2 * BASIS) as f64).max(1.0) as usize;
        let apply = |state: &[f64], next: &mut [f64]| map.apply(state, next);
        let radius =
            spectral_radius(apply, random_vector(map.size()), stride, tolerance, most as usize);
        let Radius { value, residual, converged, applications: iterations } = radius;
        Rate { value, residual, converged, iterations, method }
    }

    /// The best penalty by the closed form, over sixteen decades around its natural scale.
    fn guess(&self) -> f64 {
        const DECADES: i32 = 8;
        const PER_DECADE: i32 = 8;
        // Without a floor, a singular problem would be equally bad at every penalty.
        let high = if self.extremes.1 > 0.0 { self.extremes.1 } else { 1.0 };
        let extremes = (self.extremes.0.max(1e-6 * high), high);
        let rate = |log_beta: f64| self.closed_form.rate(extremes, log_beta.exp());
        let centre = self.closed_form.scale(extremes).ln();
        let step = std::f64::consts::LN_10 / f64::from(PER_DECADE);
        let grid = (-DECADES * PER_DECADE..=DECADES * PER_DECADE)
            .map(|i| centre + f64::from(i) * step)
            .min_by(|a, b| rate(*a).total_cmp(&rate(*b)))
            .unwrap_or(centre);
        narrow([grid - step, grid, grid + step].map(|x| (x, rate(x))), rate).exp()
    }
}

/// Three points around a minimum of `f` with their values, walked to from `start` in doubling steps.
pub(super) fn descend(start: f64, step: f64, mut f: impl FnMut(f64) -> f64) -> [(f64, f64); 3] {
    const STEPS: usize = 8;
    let mut at = |x: f64| (x, f(x));
    let mut points = [at(start - step), at(start), at(start + step)];
    for _ in 0..STEPS {
        let [left, middle, right] = points;
        if left.1 < middle.1 {
            points = [at(2.0 * left.0 - middle.0), left, middle];
        } else if right.1 < middle.1 {
            points = [middle, right, at(2.0 * right.0 - middle.0)];
        } else {
            break;
        }
    }
    points
}

/// Golden section between the outer points to [`PRECISION`].
pub(super) fn narrow([left, middle, right]: [(f64, f64); 3], mut f: impl FnMut(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.381_966_011_250_105; // (3 − √5)/2
    let (mut left, mut best, mut right) = (left.0, middle, right.0);
    while right - left > PRECISION {
        let x = if right - best.0 > best.0 - left {
            best.0 + GOLDEN * (right - best.0)
        } else {
            best.0 - GOLDEN * (best.0 - left)
        };
        let value = f(x);
        let (inner, outer) = if value < best.1 { ((x, value), best.0) } else { (best, x) };
        if outer > inner.0 {
            right = outer;
        } else {
            left = outer;
        }
        best = inner;
    }
    best.0
}
