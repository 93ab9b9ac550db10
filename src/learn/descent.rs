//! Where descent from zero ends, for objectives that are not convex.

use super::central::{Central, CentralError};
use super::cholesky::Packed;
use super::chord_newton::DENSE_LIMIT;
use super::conjugate_gradients::conjugate_gradients;
use super::objective::Objective;
use super::regulariser::Regulariser;
use super::vector::{axpy, dot, norm};

/// Steps after which the solver gives up.
const STEPS: usize = 20_000;
/// The gradient that counts as none.
const SETTLED: f64 = 1e-10;
/// Newton's steps begin where descent has brought the gradient below this share of the first.
const NEAR: f64 = 1e-2;

/// The stationary point of J(w) = Σ_i F_i(w) + R(w) that descent from w = 0 leads to: |∇J(w)| ≤ 1e-10,
/// in `dimension` dimensions.
///
/// Gradient steps come first, halved until each lowers J enough; near its end, where the Hessian is
/// positive definite, Newton's take over. J goes down with every step, so what is reached is no
/// higher than J(0); it need not be the least value that J has.
///
/// # Errors
/// When the gradient is not that small after 20,000 steps, or is not finite, or no step lowers the value.
pub fn stationary_point(
    parts: &[Objective<'_>],
    regulariser: Regulariser,
    dimension: usize,
) -> Result<Central, CentralError> {
    let value_at = |w: &[f64]| parts.iter().map(|f| f.value(w)).sum::<f64>() + regulariser.value(w);
    let mut part = vec![0.0; dimension];
    let mut gradient_at = |w: &[f64], g: &mut [f64]| {
        g.fill(0.0);
        for f in parts {
            f.gradient(w, &mut part);
            axpy(1.0, &part, g);
        }
        regulariser.add_gradient(w, g);
        norm(g)
    };
    let mut w = vec![0.0; dimension];
    let (mut g, mut trial, mut trial_g) = (w.clone(), w.clone(), w.clone());
    let mut value = value_at(&w);
    let mut gradient = gradient_at(&w, &mut g);
    let near = NEAR * gradient;
    let mut length = 1.0;
    for iterations in 0..STEPS {
        if gradient <= SETTLED {
            return Ok(Central { w, value, gradient });
        }
        if !gradient.is_finite() {
            return Err(CentralError { gradient, iterations });
        }
        let newton = if gradient <= near { newton_step(parts, regulariser, &w, &g) } else { None };
        let (step, mut damping) = match &newton {
            Some(step) => (step, 1.0),
            None => (&g, 2.0 * length),
        };
        let slope = dot(&g, step);
        loop {
            trial.copy_from_slice(&w);
            axpy(-damping, step, &mut trial);
            let reached = value_at(&trial);
            let trial_gradient = gradient_at(&trial, &mut trial_g);
            // Near the end J no longer changes in floating point, and the gradient tells the way.
            let level = (reached - value).abs() <= 8.0 * f64::EPSILON * value.abs();
            if reached <= value - 0.25 * damping * slope || level && trial_gradient < gradient {
                (value, gradient) = (reached, trial_gradient);
                std::mem::swap(&mut w, &mut trial);
                std::mem::swap(&mut g, &mut trial_g);
                break;
            }
            damping *= 0.5;
            if damping < 1e-30 {
                return Err(CentralError { gradient, iterations });
            }
        }
        if newton.is_none() {
            length = damping;
        }
    }
    Err(CentralError { gradient, iterations: STEPS })
}

/// ∇²J(w)⁻¹ g, where the Hessian is positive definite as far as can be seen.
fn newton_step(
    parts: &[Objective<'_>],
    regulariser: Regulariser,
    w: &[f64],
    g: &[f64],
) -> Option<Vec<f64>> {
    let d = w.len();
    let mut step = g.to_vec();
    if d <= DENSE_LIMIT {
        let mut hessian = Packed::identity(d, 0.0);
        parts.iter().for_each(|f| f.add_hessian(w, &mut hessian));
        regulariser.add_hessian(w, &mut hessian);
        hessian.factor().ok()?;
        hessian.solve(&mut step);
    } else {
        let curvatures: Vec<Vec<f64>> = parts
            .iter()
            .map(|f| {
                let mut c = vec![0.0; f.samples.len()];
                f.curvatures(w, &mut c);
                c
            })
            .collect();
        let product = |v: &[f64], out: &mut [f64]| {
            out.fill(0.0);
            for (f, c) in parts.iter().zip(&curvatures) {
                f.add_hessian_product(c, v, out);
            }
            regulariser.add_hessian_product(w, v, out);
        };
        conjugate_gradients(product, g, 1e-10 * norm(g), &mut step, &mut vec![0.0; 3 * d]);
    }
    // Downhill at an angle that is not too flat.
    (dot(&step, g) > 1e-12 * norm(&step) * norm(g)).then_some(step)
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::super::{Loss, Samples, central_optimum, distance};
    use super::*;

    /// In one dimension: walking from 0 in small steps against the slope until it changes its sign,
    /// then by halving.
    fn brute_force(slope: impl Fn(f64) -> f64) -> f64 {
        let way = -slope(0.0).signum();
        let step = 1e-4;
        let mut low = 0.0;
        while slope(low + way * step) * way < 0.0 {
            low += way * step;
        }
        let mut high = low + way * step;
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if slope(middle) * way < 0.0 { low = middle } else { high = middle }
        }
        low
    }

    #[test]
    fn in_one_dimension_it_is_the_first_place_without_slope() {
        let x = Array2::from_shape_fn((9, 1), |(i, _)| 1.0 + (i as f64).sin());
        for (size, sine, loss) in [
            (1.0, 1.0, Loss::Squared),
            (-4.0, 0.2, Loss::Squared),
            (9.0, 1.0, Loss::Squared),
            (30.0, 0.5, Loss::Squared),
            (1.0, 0.01, Loss::Logistic),
            (-1.0, 0.3, Loss::Logistic),
        ] {
            let y: Vec<f64> = (0..9)
                .map(|i| if loss == Loss::Squared { size + 0.1 * i as f64 } else { size })
                .collect();
            let objective = Objective::mean(Samples::new(x.view(), &y), loss);
            let regulariser = Regulariser { ridge: 0.05, sine };
            let found = stationary_point(&[objective], regulariser, 1).unwrap();
            let slope = |w: f64| {
                let mean = |(x, y): (&[f64], f64)| match loss {
                    Loss::Squared => (w * x[0] - y) * x[0] / 9.0,
                    _ => -y * x[0] / (1.0 + (y * w * x[0]).exp()) / 9.0,
                };
                let losses: f64 = objective.samples.rows().map(mean).sum();
                // d/dw s(w² + 3 sin² w) = s(2w + 3 sin 2w)
                losses + 0.05 * w + sine * (2.0 * w + 3.0 * (2.0 * w).sin())
            };
            let expected = brute_force(slope);
            assert!(
                (found.w[0] - expected).abs() < 1e-8,
                "{size} {sine} {loss:?}: {found:?} {expected}"
            );
            assert!(found.gradient <= 1e-10 && slope(found.w[0]).abs() < 1e-9);
        }
    }

    #[test]
    fn without_the_sine_it_is_the_optimum() {
        for (m, d) in [(60, 4), (20, DENSE_LIMIT + 1)] {
            let x = Array2::from_shape_fn((m, d), |(i, j)| ((i * (j + 2)) as f64).sin());
            let y: Vec<f64> = (0..m).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
            let parts = [Objective::mean(Samples::new(x.view(), &y), Loss::Logistic)];
            let best = central_optimum(&parts, 0.2, &vec![0.0; d]).unwrap();
            let found = stationary_point(&parts, Regulariser::ridge(0.2), d).unwrap();
            assert!(distance(&found.w, &best.w) < 1e-9, "{m} {d}");
            assert!((found.value - best.value).abs() < 1e-12);
        }
    }

    #[test]
    fn with_the_sine_the_gradient_vanishes_and_the_value_is_below_that_of_zero() {
        for (m, d) in [(60, 4), (200, 30), (20, DENSE_LIMIT + 1)] {
            let x = Array2::from_shape_fn((m, d), |(i, j)| ((i * 7 + j * j * 3) as f64).cos());
            let y: Vec<f64> = (0..m).map(|i| 5.0 * (i as f64).sin() + 2.0).collect();
            let parts = [Objective::mean(Samples::new(x.view(), &y), Loss::Squared)];
            for sine in [1e-3, 0.1, 1.0] {
                let regulariser = Regulariser { ridge: 0.01, sine };
                let found = stationary_point(&parts, regulariser, d).unwrap();
                let mut g = vec![0.0; d];
                parts[0].gradient(&found.w, &mut g);
                regulariser.add_gradient(&found.w, &mut g);
                assert!(norm(&g) <= 1e-10, "{m} {d} {sine}");
                assert!(found.value < parts[0].value(&vec![0.0; d]));
            }
        }
    }

    #[test]
    fn rows_that_are_not_finite_are_refused() {
        let x = ndarray::array![[f64::INFINITY]];
        let parts = [Objective::mean(Samples::new(x.view(), &[1.0]), Loss::Logistic)];
        assert!(stationary_point(&parts, Regulariser::ridge(1.0), 1).is_err());
    }
}
