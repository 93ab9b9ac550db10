//! Private gradient queries: what their noise costs, and when it is worth asking others.

use super::{ExcessLaw, QuadraticModel};
use crate::units::Epsilon;

/// The noise that an owner adds to each coordinate of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueryNoise {
    /// Laplace of scale b, with variance 2b².
    Laplace(f64),
    /// Gaussian of deviation σ.
    Gaussian(f64),
}

impl QueryNoise {
    /// Its variance.
    pub fn variance(self) -> f64 {
        match self {
            Self::Laplace(scale) => 2.0 * scale * scale,
            Self::Gaussian(deviation) => deviation * deviation,
        }
    }
}

/// An owner's part in the sum of answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Owner {
    /// w_l, what its answer counts; as published n_l/n.
    pub weight: f64,
    /// Its noise.
    pub noise: QueryNoise,
}

/// v = Σ_l w_l² Var_l, the variance per coordinate of a round of answers.
pub fn query_variance(owners: &[Owner]) -> f64 {
    owners.iter().map(|owner| owner.weight.powi(2) * owner.noise.variance()).sum()
}

/// Whether to learn with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collaboration {
    /// The others' answers take away more noise than they bring.
    Pays,
    /// The noise is the same within 10 %.
    Tie,
    /// Alone there is less noise.
    DoesNot,
}

impl Collaboration {
    /// What a ratio of noises, together over alone, says.
    pub fn of(ratio: f64) -> Self {
        if (ratio - 1.0).abs() < 0.1 {
            Self::Tie
        } else if ratio < 1.0 {
            Self::Pays
        } else {
            Self::DoesNot
        }
    }
}

/// The deviation of the noise with all owners over that of owner `of` alone, before anything is run:
/// (1/n) √(Σ_l 1/ε_l²) · n_of ε_of, for owners (n_l, ε_l) weighted by n_l/n.
///
/// It compares two private learners. Owner `of` may also learn from its own records without any
/// noise, and needs nobody's leave.
pub fn collaboration_ratio(owners: &[(u64, Epsilon)], of: usize) -> f64 {
    let n = owners.iter().map(|owner| owner.0).sum::<u64>() as f64;
    let inverse = owners.iter().map(|owner| owner.1.0.powi(-2)).sum::<f64>();
    inverse.sqrt() / n * strength(owners[of])
}

/// The same for any weights w_l: √(Σ_l (w_l/(n_l ε_l))²) · n_of ε_of.
pub fn weighted_ratio(owners: &[(u64, Epsilon)], weights: &[f64], of: usize) -> f64 {
    let parts = owners.iter().zip(weights).filter(|(_, weight)| **weight != 0.0);
    let square = parts.map(|(&owner, weight)| (weight / strength(owner)).powi(2)).sum::<f64>();
    square.sqrt() * strength(owners[of])
}

/// Weights ∝ (n_l ε_l)², of sum 1: those with the least noise, never more than the best owner's
/// alone. Small, cautious owners count little.
pub fn precision_weights(owners: &[(u64, Epsilon)]) -> Vec<f64> {
    let largest = owners.iter().map(|&owner| strength(owner)).fold(0.0, f64::max);
    let squares: Vec<f64> =
        owners.iter().map(|&owner| (strength(owner) / largest).powi(2)).collect();
    let sum: f64 = squares.iter().sum();
    squares.into_iter().map(|square| square / sum).collect()
}

/// n ε: an owner's noise is inverse to it.
fn strength((samples, epsilon): (u64, Epsilon)) -> f64 {
    samples as f64 * epsilon.0
}

/// E f − f* ≤ (1 − sγ)^k D₀ + (Λs/2γ)·p·v after k = `updates` steps s ≤ 1/Λ, with γ = `strong`, Λ =
/// `smooth`, D₀ = `start` = f(θ₀) − f*, p = `dimension` and v the [`query_variance`].
///
/// The published one leaves out p: E|w|² is pv. None where s is above 1/Λ.
pub fn query_bound(
    updates: u32,
    step: f64,
    (strong, smooth): (f64, f64),
    start: f64,
    dimension: u32,
    variance: f64,
) -> Option<f64> {
    if !(step > 0.0 && step * smooth <= 1.0) {
        return None;
    }
    let forgotten = (1.0 - step * strong).powf(f64::from(updates));
    let noise = smooth * step / (2.0 * strong) * f64::from(dimension) * variance;
    Some(forgotten * start + noise)
}

/// How a learner turns answers into a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Descent {
    /// Algorithm 1: θ ← θ − s_k(∇f(θ) + noise); the last θ.
    Last(Vec<f64>),
    /// Algorithm 2 without its box: for k = 1 to T − 1, first
    /// θ̄ ← ((k − 1)θ̄ + (a + 1)θ)/(a + k) with a = 1/√T, then θ ← θ − (c₁/√k)(∇f(θ) + noise); θ̄.
    Average {
        /// c₁.
        first_step: f64,
        /// T.
        queries: u32,
    },
}

/// What a descent makes of one eigenvalue's error and noise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Response {
    /// The mean error over the error at the start.
    mean: f64,
    /// The variance over that of a round of answers.
    variance: f64,
}

impl Descent {
    fn response(&self, eigenvalue: f64) -> Response {
        match self {
            Self::Last(steps) => {
                let mut last = Response { mean: 1.0, variance: 0.0 };
                steps.iter().for_each(|step| last.advance(*step, eigenvalue));
                last
            }
            Self::Average { first_step, queries } => {
                let offset = 1.0 / f64::from(*queries).sqrt();
                let mut last = Response { mean: 1.0, variance: 0.0 };
                // With one query there is no update, and the model is the start.
                let mut average = last;
                let mut covariance = 0.0;
                for k in (1..*queries).map(f64::from) {
                    let (old, new) = ((k - 1.0) / (offset + k), (offset + 1.0) / (offset + k));
                    average.mean = old * average.mean + new * last.mean;
                    average.variance = old * old * average.variance
                        + 2.0 * old * new * covariance
                        + new * new * last.variance;
                    covariance = old * covariance + new * last.variance;
                    let step = first_step / k.sqrt();
                    last.advance(step, eigenvalue);
                    covariance *= 1.0 - step * eigenvalue;
                }
                average
            }
        }
    }
}

impl Response {
    fn advance(&mut self, step: f64, eigenvalue: f64) {
        let factor = 1.0 - step * eigenvalue;
        self.mean *= factor;
        self.variance = factor * factor * self.variance + step * step;
    }
}

/// The mean of f above its least value, in its two parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// What is left without noise.
    pub excess_noise_free: f64,
    /// ½ tr(H Cov), what the noise adds.
    pub excess_noise: f64,
}

impl Expected {
    /// Both.
    pub fn total(&self) -> f64 {
        self.excess_noise_free + self.excess_noise
    }
}

/// The exact mean of f(θ) − f* of a quadratic f for noise of mean 0 and `variance` per coordinate and
/// round, whatever its law.
///
/// Without a box: where θ is projected often, it ends nearer to the start than this says.
pub fn expected_excess(model: &QuadraticModel, descent: &Descent, variance: f64) -> Expected {
    let mut expected = Expected::default();
    for (&l, error) in model.eigenvalues.iter().zip(&model.errors) {
        let response = descent.response(l);
        expected.excess_noise_free += 0.5 * l * (response.mean * error).powi(2);
        expected.excess_noise += 0.5 * l * response.variance * variance;
    }
    expected
}

/// The law of f(θ) − f* for Gaussian noise of `variance` per coordinate and round.
///
/// For Laplace noise it is that of the Gaussian noise with the same covariance: exact in the mean,
/// otherwise an approximation, good where many answers add up.
pub fn excess_law(model: &QuadraticModel, descent: &Descent, variance: f64) -> ExcessLaw {
    let responses = || model.eigenvalues.iter().map(|&l| descent.response(l));
    let errors = model.errors.iter().zip(responses()).map(|(e, response)| e * response.mean);
    let end = QuadraticModel { eigenvalues: model.eigenvalues.clone(), errors: errors.collect() };
    let deviations: Vec<f64> =
        responses().map(|response| (response.variance * variance).sqrt()).collect();
    ExcessLaw::new(&end, &deviations)
}

/// The T among `grid` with the least expected excess, and that excess, where T queries cost
/// `variance_of(T)` per coordinate and are used as `descent_of(T)`.
///
/// With Laplace noise the variance grows as T², with Gaussian noise as T. None for an empty grid.
pub fn best_queries(
    model: &QuadraticModel,
    grid: &[u32],
    variance_of: impl Fn(u32) -> f64,
    descent_of: impl Fn(u32) -> Descent,
) -> Option<(u32, Expected)> {
    let expected = |&t: &u32| (t, expected_excess(model, &descent_of(t), variance_of(t)));
    grid.iter().map(expected).min_by(|a, b| a.1.total().total_cmp(&b.1.total()))
}
