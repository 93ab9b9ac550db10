//! The optimum of a linear support vector machine, by its dual.

use super::central::{Central, CentralError};
use super::cholesky::Packed;
use super::chord_newton::DENSE_LIMIT;
use super::loss::Loss;
use super::objective::{Objective, Samples};
use super::vector::{axpy, dot};

/// Passes over the samples after which the solver gives up.
const PASSES: usize = 20_000;
/// The gap that counts as solved, relative to 1 + |value|.
const ENOUGH: f64 = 1e-10;
/// The gap beyond which rounding lets nothing better be expected, relative to 1 + |value|.
const ROUNDING: f64 = 1e-15;
/// Rounds that a solved problem is polished for.
const POLISH: usize = 12;
/// Passes between two looks at the gap.
const ROUND: usize = 4;

/// min_w P(w) = (ridge/2)|w|² + (1/m) Σ_j max(0, 1 − y_j wᵀx_j), labels ±1.
///
/// By ascent in the dual D(α) = (1/m) Σ_j α_j − (ridge/2)|w(α)|² over 0 ≤ α_j ≤ 1, with
/// w(α) = Σ_j α_j y_j x_j / (ridge·m): exactly in one coordinate after the other, in the order of
/// the rows, which finds the samples off the margin (α_j = 0 or 1); then by Newton's steps in the
/// others, the free ones, which lie on it.
///
/// `gradient` of what is returned is the duality gap P(w) − D(α), at most 1e-10·(1 + |value|) and
/// mostly far below: P(w) is within it of the optimum, and |w − w*|² ≤ 2·gap/ridge.
///
/// # Errors
/// Where the gap does not close in 20,000 passes: data that is not finite, or a ridge that is not
/// above 0.
pub fn svm_optimum(samples: Samples<'_>, ridge: f64) -> Result<Central, CentralError> {
    if samples.is_empty() {
        return Ok(Central { w: vec![0.0; samples.dimension()], value: 0.0, gradient: 0.0 });
    }
    if ridge.is_nan() || ridge <= 0.0 {
        return Err(CentralError { gradient: f64::NAN, iterations: 0 });
    }
    let mut dual = Dual::new(samples, ridge);
    let mut best = dual.measured();
    let mut polished = 0;
    for round in 1..=PASSES / ROUND {
        (0..ROUND).for_each(|_| dual.pass());
        dual.newton();
        dual.refresh();
        let found = dual.measured();
        if !found.gradient.is_finite() {
            return Err(CentralError { gradient: found.gradient, iterations: round * ROUND });
        }
        if found.gradient < best.gradient {
            best = found;
        }
        let unit = 1.0 + best.value.abs();
        polished += usize::from(best.gradient <= ENOUGH * unit);
        if best.gradient <= ROUNDING * unit || polished > POLISH {
            return Ok(best);
        }
    }
    Err(CentralError { gradient: best.gradient, iterations: PASSES })
}

/// Where the ascent is.
struct Dual<'a> {
    samples: Samples<'a>,
    ridge: f64,
    /// ridge·m.
    weight: f64,
    /// |x_j|².
    squares: Vec<f64>,
    alpha: Vec<f64>,
    /// w(α).
    w: Vec<f64>,
}

impl<'a> Dual<'a> {
    fn new(samples: Samples<'a>, ridge: f64) -> Self {
        Self {
            samples,
            ridge,
            weight: ridge * samples.len() as f64,
            squares: samples.rows().map(|(x, _)| dot(x, x)).collect(),
            alpha: vec![0.0; samples.len()],
            w: vec![0.0; samples.dimension()],
        }
    }

    /// Makes α_j the best that it can be beside the others, for each j in turn.
    fn pass(&mut self) {
        for ((x, y), (alpha, square)) in
            self.samples.rows().zip(self.alpha.iter_mut().zip(&self.squares))
        {
            let lack = 1.0 - y * dot(x, &self.w);
            let step = self.weight * lack / square;
            let next = if *square > 0.0 { (*alpha + step).clamp(0.0, 1.0) } else { 1.0 };
            axpy((next - *alpha) * y / self.weight, x, &mut self.w);
            *alpha = next;
        }
    }

    /// w ← w(α), free of what the updates have left in it.
    fn refresh(&mut self) {
        self.w.fill(0.0);
        for ((x, y), alpha) in self.samples.rows().zip(&self.alpha) {
            axpy(alpha * y, x, &mut self.w);
        }
        self.w.iter_mut().for_each(|w| *w /= self.weight);
    }

    /// w with its value and its duality gap, which for every sample is
    /// max(0, 1 − yz) − α(1 − yz) ≥ 0, z = wᵀx: summed like that, nothing cancels.
    fn measured(&self) -> Central {
        let gaps = self.samples.rows().zip(&self.alpha).map(|((x, y), alpha)| {
            let lack = 1.0 - y * dot(x, &self.w);
            if lack > 0.0 { (1.0 - alpha) * lack } else { -alpha * lack }
        });
        let gradient = gaps.sum::<f64>() / self.samples.len() as f64;
        let loss = Objective::mean(self.samples, Loss::Hinge).value(&self.w);
        let value = loss + 0.5 * self.ridge * dot(&self.w, &self.w);
        Central { w: self.w.clone(), value, gradient }
    }

    /// Newton's steps in the free α, those strictly between 0 and 1, each as far as the bounds let
    /// it: what reaches a bound stays there. Nothing where there are so many that passes do better.
    fn newton(&mut self) {
        let d = self.samples.dimension();
        for _ in 0..4 * d + 64 {
            let free: Vec<usize> = (0..self.alpha.len())
                .filter(|&j| self.alpha[j] > 0.0 && self.alpha[j] < 1.0)
                .collect();
            if free.is_empty() || free.len() > 4 * d + 64 || free.len().min(d) > DENSE_LIMIT {
                return;
            }
            let Some(step) = self.free_step(&free) else { return };
            let room = |(&j, step): (&usize, &f64)| {
                let alpha = self.alpha[j];
                match step {
                    0.0 => f64::INFINITY,
                    _ if *step > 0.0 => (1.0 - alpha) / step,
                    _ => -alpha / step,
                }
            };
            let rooms: Vec<f64> = free.iter().zip(&step).map(room).collect();
            let most = rooms.iter().copied().fold(1.0, f64::min);
            let rows: Vec<(&[f64], f64)> = self.samples.rows().collect();
            for ((&j, step), room) in free.iter().zip(&step).zip(&rooms) {
                let bound = if *step > 0.0 { 1.0 } else { 0.0 };
                let alpha = self.alpha[j];
                let next =
                    if *room <= most { bound } else { (alpha + most * step).clamp(0.0, 1.0) };
                let (x, y) = rows[j];
                axpy((next - alpha) * y / self.weight, x, &mut self.w);
                self.alpha[j] = next;
            }
            if most >= 1.0 {
                return;
            }
        }
    }

    /// δ = (K + μI)⁻¹ r: K_ij = y_i y_j x_iᵀx_j over the free samples, r_i = ridge·m·(1 − y_i wᵀx_i), and
    /// a μ so small that δ is Newton's step where K has an inverse, and else, along directions in which
    /// the dual is linear, a long way up. Through whichever of K and Σ xxᵀ is the smaller matrix.
    fn free_step(&self, free: &[usize]) -> Option<Vec<f64>> {
        let rows: Vec<(&[f64], f64)> = self.samples.rows().collect();
        let d = self.samples.dimension();
        let lack = |&j: &usize| self.weight * (1.0 - rows[j].1 * dot(rows[j].0, &self.w));
        let mut r: Vec<f64> = free.iter().map(lack).collect();
        let mu = 1e-9 * free.iter().map(|&j| self.squares[j]).fold(0.0, f64::max);
        if free.len() <= d {
            let mut gram = Packed::identity(free.len(), mu);
            let signed: Vec<Vec<f64>> =
                free.iter().map(|&j| rows[j].0.iter().map(|x| x * rows[j].1).collect()).collect();
            for column in 0..d {
                let values: Vec<f64> = signed.iter().map(|row| row[column]).collect();
                gram.add_outer(1.0, &values);
            }
            gram.factor().ok()?;
            gram.solve(&mut r);
            return Some(r);
        }
        // (K + μI)⁻¹ r = (r − Z(ZᵀZ + μI)⁻¹Zᵀr)/μ, the rows of Z being y_j x_j.
        let mut small = Packed::identity(d, mu);
        let mut image = vec![0.0; d];
        for (&j, r) in free.iter().zip(&r) {
            small.add_outer(1.0, rows[j].0);
            axpy(rows[j].1 * r, rows[j].0, &mut image);
        }
        small.factor().ok()?;
        small.solve(&mut image);
        for (&j, r) in free.iter().zip(&mut r) {
            *r = (*r - rows[j].1 * dot(rows[j].0, &image)) / mu;
        }
        Some(r)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;

    /// With x = 1 for all, m₊ of label +1 and m₋ of −1, P is piecewise quadratic: its slope inside
    /// |w| < 1 is ridge·w − (m₊ − m₋)/m, and beyond w > 1 only the others are lacking.
    #[test]
    fn in_one_dimension_it_is_a_closed_form() {
        let x = Array2::ones((10, 1));
        for positive in 0..=10_usize {
            let y: Vec<f64> = (0..10).map(|j| if j < positive { 1.0 } else { -1.0 }).collect();
            let lead = (2.0 * positive as f64 - 10.0) / 10.0;
            for ridge in [0.05, 0.3, 0.8, 5.0] {
                let expected = (lead / ridge).clamp(-1.0, 1.0);
                let best = svm_optimum(Samples::new(x.view(), &y), ridge).unwrap();
                assert!((best.w[0] - expected).abs() < 1e-12, "{positive} {ridge}: {best:?}");
            }
        }
    }

    /// By golden section in one dimension, rows of different lengths.
    #[test]
    fn in_one_dimension_it_is_what_a_search_finds() {
        let m = 31;
        let x = Array2::from_shape_fn((m, 1), |(i, _)| 3.0 * (i as f64 * 1.7).sin() + 0.4);
        let y: Vec<f64> = (0..m).map(|i| if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
        for ridge in [1e-3, 0.1, 2.0] {
            let samples = Samples::new(x.view(), &y);
            let value = |w: f64| {
                let mean = Objective::mean(samples, Loss::Hinge).value(&[w]);
                mean + 0.5 * ridge * w * w
            };
            let (mut low, mut high) = (-60.0, 60.0);
            for _ in 0..300 {
                let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
                if value(a) < value(b) { high = b } else { low = a }
            }
            let best = svm_optimum(samples, ridge).unwrap();
            assert!((best.w[0] - low).abs() < 1e-6, "{ridge}: {best:?} {low}");
            assert!(best.value <= value(low) + 1e-12);
            assert_eq!(best.value, value(best.w[0]));
        }
    }

    /// ridge·w is the mean of α_j y_j x_j for some α_j that is 1 inside the margin, 0 beyond it and
    /// between on it. Those on it are solved for here by least squares.
    #[test]
    fn the_optimum_meets_the_kkt_conditions() {
        for (m, d, ridge) in
            [(40, 3, 0.05), (200, 8, 0.01), (60, 20, 1e-3), (500, 5, 1e-4), (12, 30, 0.1)]
        {
            let x = Array2::from_shape_fn((m, d), |(i, j)| {
                ((i * i + 3 * i * j + 7 * j) as f64 * 0.61).sin()
            });
            let y: Vec<f64> = (0..m)
                .map(|i| if x[[i, 0]] + 0.4 * (i as f64).cos() > 0.0 { 1.0 } else { -1.0 })
                .collect();
            let best = svm_optimum(Samples::new(x.view(), &y), ridge).unwrap();
            assert!(best.gradient < 1e-13, "{m} {d} {ridge}: gap {}", best.gradient);
            let lack = |i: usize| 1.0 - y[i] * (0..d).map(|k| x[[i, k]] * best.w[k]).sum::<f64>();
            let on: Vec<usize> = (0..m).filter(|&i| lack(i).abs() <= 1e-7).collect();
            assert!(on.len() <= d, "{} of {m} on the margin in {d} dimensions", on.len());
            // What those on the margin have to make up: m·ridge·w − Σ of those inside.
            let mut rest: Vec<f64> = best.w.iter().map(|w| m as f64 * ridge * w).collect();
            for i in (0..m).filter(|&i| lack(i) > 1e-7) {
                (0..d).for_each(|k| rest[k] -= y[i] * x[[i, k]]);
            }
            let mut gram = Packed::identity(on.len(), 0.0);
            for k in 0..d {
                gram.add_outer(1.0, &on.iter().map(|&i| y[i] * x[[i, k]]).collect::<Vec<_>>());
            }
            let mut alpha: Vec<f64> =
                on.iter().map(|&i| (0..d).map(|k| y[i] * x[[i, k]] * rest[k]).sum()).collect();
            gram.factor().unwrap();
            gram.solve(&mut alpha);
            assert!(alpha.iter().all(|a| (-1e-7..=1.0 + 1e-7).contains(a)), "{alpha:?}");
            for (&i, a) in on.iter().zip(&alpha) {
                (0..d).for_each(|k| rest[k] -= a * y[i] * x[[i, k]]);
            }
            assert!(rest.iter().all(|r| r.abs() < 1e-7), "{m} {d} {ridge}: {rest:?}");
        }
    }

    #[test]
    fn repeated_empty_and_missing_rows_are_no_trouble() {
        let x = array![[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [-1.0, 2.0], [-1.0, 2.0]];
        let y = [1.0, 1.0, 1.0, -1.0, -1.0];
        let best = svm_optimum(Samples::new(x.view(), &y), 0.1).unwrap();
        assert!(best.gradient < 1e-13);
        let none = Array2::zeros((0, 2));
        let zero = Central { w: vec![0.0; 2], value: 0.0, gradient: 0.0 };
        assert_eq!(svm_optimum(Samples::new(none.view(), &[]), 0.1), Ok(zero));
        assert!(svm_optimum(Samples::new(x.view(), &y), 0.0).is_err());
        let broken = array![[f64::NAN, 0.0]];
        assert!(svm_optimum(Samples::new(broken.view(), &[1.0]), 1.0).is_err());
    }
}
