//! The optimum that the peers should reach, found by one solver that sees all the data.

use thiserror::Error;

use super::cholesky::Packed;
use super::chord_newton::DENSE_LIMIT;
use super::conjugate_gradients::conjugate_gradients;
use super::objective::Objective;
use super::vector::{axpy, dot, norm};

/// No optimum was found.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error(
    "the central problem was not solved: gradient norm, or duality gap, {gradient} after {iterations} \
     steps"
)]
pub struct CentralError {
    /// Norm of the gradient, or the duality gap, where it gave up.
    pub gradient: f64,
    /// Steps taken: Newton's, or passes over the samples.
    pub iterations: usize,
}

/// The optimum of the pooled problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Central {
    /// w*.
    pub w: Vec<f64>,
    /// Σ_i F_i(w*) + (ridge/2)|w*|² + bᵀw*.
    pub value: f64,
    /// Norm of the gradient at w*: |w − w*| ≤ gradient / ridge.
    pub gradient: f64,
}

/// min_w Σ_i F_i(w) + (ridge/2)|w|² + bᵀw by Newton's method with a line search on the value. b =
/// `linear` also says in how many dimensions.
///
/// Independent of what the peers run: exact Hessians every step (conjugate gradients to 1e-14
/// above [`DENSE_LIMIT`] dimensions) and a line search on function values.
///
/// # Errors
/// When the gradient cannot be brought below 1e-10, relative to its terms, in 200 steps: data that is
/// not finite, or a problem without regularisation whose optimum lies at infinity.
pub fn central_optimum(
    parts: &[Objective<'_>],
    ridge: f64,
    linear: &[f64],
) -> Result<Central, CentralError> {
    optimum_from(vec![0.0; linear.len()], parts, ridge, linear)
}

/// An optimum of Σ_i F_i without regularisation, where features may depend on each other, so that there
/// is more than one: the one that proximal steps from 0 lead to,
///
/// w ← argmin Σ_i F_i(w') + (ρ/2)|w' − w|²,   with smaller and smaller ρ.
///
/// # Errors
/// When the gradient cannot be brought below 1e-7 of that at 0. Where the optimum lies at infinity, the
/// point has a value near the infimum if it is found.
pub fn flat_optimum(parts: &[Objective<'_>], dimension: usize) -> Result<Central, CentralError> {
    let mut w = vec![0.0; dimension];
    let mut part = vec![0.0; dimension];
    let mut gradient_at = |w: &[f64]| {
        let mut g = vec![0.0; dimension];
        for f in parts {
            f.gradient(w, &mut part);
            axpy(1.0, &part, &mut g);
        }
        norm(&g)
    };
    let start = gradient_at(&w);
    let mut gradient = start;
    for rho in PROXIMAL {
        let linear: Vec<f64> = w.iter().map(|w| -rho * start * w).collect();
        // A step that cannot be solved any better ends the search: it may be near enough.
        let Ok(next) = optimum_from(w.clone(), parts, rho * start, &linear) else { break };
        w = next.w;
        gradient = gradient_at(&w);
        if gradient <= 1e-9 * start {
            break;
        }
    }
    if gradient > FLAT * start {
        return Err(CentralError { gradient, iterations: PROXIMAL.len() });
    }
    let value = parts.iter().map(|f| f.value(&w)).sum();
    Ok(Central { w, value, gradient })
}

/// The gradient that is near enough to 0, relative to that at the start. Where some rows can be told
/// apart, the optimum lies at infinity, and the gradient falls no faster than the value to its infimum.
const FLAT: f64 = 1e-7;

/// ρ of the proximal steps, relative to the gradient at the start.
const PROXIMAL: [f64; 12] =
    [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-7, 1e-8, 1e-8, 1e-9, 1e-9, 1e-9];

/// [`central_optimum`] from another start than 0.
fn optimum_from(
    mut w: Vec<f64>,
    parts: &[Objective<'_>],
    ridge: f64,
    linear: &[f64],
) -> Result<Central, CentralError> {
    const STEPS: usize = 200;
    let dimension = linear.len();
    let mut g = vec![0.0; dimension];
    let mut part = vec![0.0; dimension];
    let mut trial = vec![0.0; dimension];
    let value_at = |w: &[f64]| {
        let losses: f64 = parts.iter().map(|f| f.value(w)).sum();
        losses + 0.5 * ridge * dot(w, w) + dot(linear, w)
    };
    // ridge·w + b: what is not in the parts.
    let outside = |w: &[f64], g: &mut [f64]| {
        g.iter_mut().zip(w).for_each(|(g, w)| *g = ridge * w);
        g.iter_mut().zip(linear).for_each(|(g, b)| *g += b);
    };
    let mut value = value_at(&w);
    for iterations in 0..STEPS {
        let mut scale = ridge * norm(&w) + norm(linear);
        outside(&w, &mut g);
        for f in parts {
            f.gradient(&w, &mut part);
            scale += norm(&part);
            axpy(1.0, &part, &mut g);
        }
        let gradient = norm(&g);
        if gradient <= 4.0 * f64::EPSILON * scale {
            return Ok(Central { w, value, gradient });
        }
        let step = newton_step(parts, ridge, &w, &g);
        let slope = dot(&g, &step);
        let mut damping = 1.0;
        let moved = loop {
            trial.copy_from_slice(&w);
            axpy(-damping, &step, &mut trial);
            let reached = value_at(&trial);
            if reached <= value - 0.25 * damping * slope && reached < value {
                value = reached;
                break true;
            }
            damping *= 0.5;
            if damping < 1e-12 {
                break false;
            }
        };
        if moved {
            w.copy_from_slice(&trial);
            continue;
        }
        // Near the optimum the value no longer changes in floating point while the gradient still
        // tells the way: one last full step, kept if it lowers the gradient.
        let mut trial_gradient = vec![0.0; dimension];
        trial.copy_from_slice(&w);
        axpy(-1.0, &step, &mut trial);
        outside(&trial, &mut trial_gradient);
        for f in parts {
            f.gradient(&trial, &mut part);
            axpy(1.0, &part, &mut trial_gradient);
        }
        let polished = norm(&trial_gradient);
        let better = polished < gradient;
        let gradient = if better { polished } else { gradient };
        if gradient.is_nan() || gradient > 1e-10 * scale.max(1e-300) {
            return Err(CentralError { gradient, iterations });
        }
        if better {
            value = value_at(&trial);
            w = trial;
        }
        return Ok(Central { w, value, gradient });
    }
    Err(CentralError { gradient: norm(&g), iterations: STEPS })
}

/// min Σ_i F_i(w) + (ridge/2)|w|² over |w| ≤ R = `radius`, in `dimension` dimensions.
///
/// Where the optimum is on the sphere it is that of a greater ridge, ridge + μ, at which |w| = R: |w|
/// falls with μ, and |w| ≤ |∇F(0)|/μ says where to look. `gradient` is then that of the Lagrangian.
///
/// # Errors
/// As for [`central_optimum`].
pub fn ball_optimum(
    parts: &[Objective<'_>],
    ridge: f64,
    radius: f64,
    dimension: usize,
) -> Result<Central, CentralError> {
    const WIDENINGS: i32 = 20;
    let zero = vec![0.0; dimension];
    let value_at =
        |w: &[f64]| parts.iter().map(|f| f.value(w)).sum::<f64>() + 0.5 * ridge * dot(w, w);
    // Each from the last one found, which is near.
    let mut start = zero.clone();
    let mut solve = |mu: f64| {
        let best = optimum_from(start.clone(), parts, ridge + mu, &zero)?;
        start.clone_from(&best.w);
        let excess = norm(&best.w).ln() - radius.ln();
        Ok((best, excess))
    };
    let mut part = zero.clone();
    let mut steepest = zero.clone();
    for f in parts {
        f.gradient(&zero, &mut part);
        axpy(1.0, &part, &mut steepest);
    }
    let inside = |best: Central| Ok(Central { value: value_at(&best.w), ..best });
    let most = norm(&steepest) / radius;
    if ridge > 0.0 || most == 0.0 {
        let (best, excess) = solve(if ridge > 0.0 { 0.0 } else { 1.0 })?;
        if excess <= 0.0 {
            return inside(best);
        }
    }
    // ln|w| − ln R between two values of ln μ of different sign, by false position (Illinois).
    let (mut high, mut low) = (most.ln(), most.ln());
    let mut at_low = solve(most)?;
    let mut at_high = at_low.clone();
    for _ in 0..WIDENINGS {
        if at_low.1 > 0.0 {
            break;
        }
        (high, at_high) = (low, at_low);
        low -= 8.0_f64.ln();
        at_low = solve(low.exp())?;
    }
    if at_low.1 <= 0.0 {
        // The optimum is inside, up to a ridge that is lost in rounding.
        return inside(at_low.0);
    }
    let (mut weight_low, mut weight_high) = (1.0, 1.0);
    for _ in 0..100 {
        if at_high.1.abs() <= 1e-11 || high - low <= 1e-13 * high.abs() {
            break;
        }
        let (f_low, f_high) = (weight_low * at_low.1, weight_high * at_high.1);
        let middle = (low * f_high - high * f_low) / (f_high - f_low);
        let middle = if middle > low && middle < high { middle } else { 0.5 * (low + high) };
        let found = solve(middle.exp())?;
        if found.1 > 0.0 {
            (low, at_low, weight_low) = (middle, found, 1.0);
            weight_high *= 0.5;
        } else {
            (high, at_high, weight_high) = (middle, found, 1.0);
            weight_low *= 0.5;
        }
    }
    inside(at_high.0)
}

/// (Σ ∇²F_i(w) + ridge·I)⁻¹ g.
fn newton_step(parts: &[Objective<'_>], ridge: f64, w: &[f64], g: &[f64]) -> Vec<f64> {
    let d = w.len();
    if d <= DENSE_LIMIT {
        let mut hessian = Packed::identity(d, ridge);
        for f in parts {
            f.add_hessian(w, &mut hessian);
        }
        let mut step = g.to_vec();
        if hessian.factor().is_ok() {
            hessian.solve(&mut step);
        }
        return step;
    }
    let curvatures: Vec<Vec<f64>> = parts
        .iter()
        .map(|f| {
            let mut c = vec![0.0; f.samples.len()];
            f.curvatures(w, &mut c);
            c
        })
        .collect();
    let product = |v: &[f64], out: &mut [f64]| {
        out.iter_mut().zip(v).for_each(|(out, v)| *out = ridge * v);
        for (f, c) in parts.iter().zip(&curvatures) {
            f.add_hessian_product(c, v, out);
        }
    };
    let mut step = vec![0.0; d];
    conjugate_gradients(product, g, 1e-14 * norm(g), &mut step, &mut vec![0.0; 3 * d]);
    step
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::super::{Loss, Samples};
    use super::*;

    /// Two groups of columns that both add up to 1, as one-hot columns do: the Hessian is singular.
    #[test]
    fn a_flat_problem_has_the_value_of_the_one_without_its_copies() {
        let columns = |i: usize| [(i % 2) as f64, ((i + 1) % 2) as f64];
        let other = |i: usize| ((i * i) % 7) as f64 / 7.0;
        let y: Vec<f64> = (0..40).map(|i| if (i * 5) % 11 < 5 { 1.0 } else { -1.0 }).collect();
        let with = |width: usize, row: &dyn Fn(usize) -> Vec<f64>| {
            let x: Vec<f64> = (0..40).flat_map(row).collect();
            ndarray::Array2::from_shape_vec((40, width), x).unwrap()
        };
        let full = with(4, &|i| vec![columns(i)[0], columns(i)[1], 1.0, other(i)]);
        let lean = with(3, &|i| vec![columns(i)[0], 1.0, other(i)]);
        for loss in [Loss::Logistic, Loss::Squared] {
            let of = |x: &ndarray::Array2<f64>| {
                let samples = Samples::new(x.view(), &y);
                let mean = Objective::mean(samples, loss);
                let parts = samples.halves().map(|samples| Objective { samples, ..mean });
                let best = flat_optimum(&parts, x.ncols()).unwrap();
                let mut g = vec![0.0; x.ncols()];
                mean.gradient(&best.w, &mut g);
                assert!(norm(&g) < 1e-9, "{g:?}");
                best
            };
            assert!((of(&full).value - of(&lean).value).abs() < 1e-12);
        }
    }

    #[test]
    fn an_optimum_at_infinity_is_a_point_near_the_infimum() {
        let x = ndarray::array![[1.0], [2.0], [-1.0], [-3.0]];
        let y = [1.0, 1.0, -1.0, -1.0];
        let samples = Samples::new(x.view(), &y);
        let mean = Objective::mean(samples, Loss::Logistic);
        let parts = samples.halves().map(|samples| Objective { samples, ..mean });
        // The infimum is 0; the start has ln 2.
        let best = flat_optimum(&parts, 1).unwrap();
        assert!(best.value < 1e-6 && best.w[0] > 10.0, "{best:?}");
    }

    #[test]
    fn ridge_in_one_dimension_is_a_quotient() {
        // Σ_i mean_j ½(x w − y)² + (a/2)w²  ⇒  w* = Σ mean(xy) / (Σ mean(x²) + a)
        let x1 = Array2::from_shape_vec((2, 1), vec![1.0, 3.0]).unwrap();
        let x2 = Array2::from_shape_vec((1, 1), vec![2.0]).unwrap();
        let parts = [
            Objective::mean(Samples::new(x1.view(), &[2.0, -1.0]), Loss::Squared),
            Objective::mean(Samples::new(x2.view(), &[5.0]), Loss::Squared),
        ];
        let central = central_optimum(&parts, 0.5, &[0.0]).unwrap();
        let expected = (-0.5 + 10.0) / (5.0 + 4.0 + 0.5);
        assert!((central.w[0] - expected).abs() < 1e-14);
    }

    #[test]
    fn logistic_optimum_agrees_with_plain_gradient_descent() {
        let (m, d, ridge) = (60, 4, 0.2);
        let x = Array2::from_shape_fn((m, d), |(i, j)| ((i * (j + 2)) as f64).sin());
        let y: Vec<f64> = (0..m).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let parts = [Objective::mean(Samples::new(x.view(), &y), Loss::Logistic)];
        let central = central_optimum(&parts, ridge, &vec![0.0; d]).unwrap();
        let mut w = vec![0.0; d];
        for _ in 0..4000 {
            let mut g: Vec<f64> = w.iter().map(|w| ridge * w).collect();
            for i in 0..m {
                let z: f64 = (0..d).map(|k| x[[i, k]] * w[k]).sum();
                let slope = -y[i] / (1.0 + (y[i] * z).exp()) / m as f64;
                (0..d).for_each(|k| g[k] += slope * x[[i, k]]);
            }
            (0..d).for_each(|k| w[k] -= g[k]);
        }
        assert!(super::super::distance(&w, &central.w) < 1e-12);
    }

    #[test]
    fn large_dimensions_need_no_matrix() {
        let (m, d) = (20, DENSE_LIMIT + 1);
        let x = Array2::from_shape_fn((m, d), |(i, j)| ((i * 31 + j * 17) as f64).cos());
        let y: Vec<f64> = (0..m).map(|i| (i as f64).sin()).collect();
        let parts = [Objective::mean(Samples::new(x.view(), &y), Loss::Squared)];
        let central = central_optimum(&parts, 0.3, &vec![0.0; d]).unwrap();
        assert!(central.gradient < 1e-13, "{}", central.gradient);
    }

    /// By projected gradient descent, which knows nothing of multipliers.
    #[test]
    fn the_optimum_of_a_ball_is_that_of_projected_descent() {
        let x = ndarray::array![[1.0, 0.2], [-0.3, 1.0], [0.7, -0.9], [-1.0, -0.4]];
        let y = [1.0, 1.0, -1.0, -1.0];
        let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
        for (ridge, radius) in [(0.0, 1.5), (0.01, 1.5), (0.3, 100.0)] {
            let best = ball_optimum(&[objective], ridge, radius, 2).unwrap();
            let (mut w, mut g) = ([0.0; 2], [0.0; 2]);
            for _ in 0..200_000 {
                objective.gradient(&w, &mut g);
                axpy(ridge, &w.clone(), &mut g);
                axpy(-0.5, &g, &mut w);
                let length = norm(&w);
                if length > radius {
                    w.iter_mut().for_each(|w| *w *= radius / length);
                }
            }
            for (found, expected) in best.w.iter().zip(&w) {
                assert!((found - expected).abs() < 1e-9, "{ridge} {radius}: {best:?} {w:?}");
            }
            let value = objective.value(&w) + 0.5 * ridge * dot(&w, &w);
            assert!((best.value - value).abs() < 1e-12);
        }
    }
}
