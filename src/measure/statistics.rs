//! Means over repeats, with intervals.

use serde::{Deserialize, Serialize};

/// A mean over repeats with its 95 % interval. One repeat has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
}

impl Estimate {
    /// The mean of the values and its interval by Student's law: mean ± t · s/√r.
    ///
    /// A value that is not finite leaves no mean, since it must not be averaged away; where all are
    /// infinite, so is the mean. Equal values have themselves as their mean, and no interval.
    pub fn of(values: &[f64]) -> Self {
        let r = values.len() as f64;
        let Some(&first) = values.first() else {
            return Self { mean: None, low: None, high: None };
        };
        if first == f64::INFINITY && values.iter().all(|value| *value == first) {
            return Self { mean: Some(first), low: None, high: None };
        }
        if values.iter().any(|value| !value.is_finite()) {
            return Self { mean: None, low: None, high: None };
        }
        // Around the first, so that equal values lose nothing to rounding.
        let mean = first + values.iter().map(|value| value - first).sum::<f64>() / r;
        if values.len() == 1 {
            return Self { mean: Some(mean), low: None, high: None };
        }
        let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (r - 1.0);
        let half = student_quantile(values.len() - 1) * (variance / r).sqrt();
        Self { mean: Some(mean), low: Some(mean - half), high: Some(mean + half) }
    }
}

/// The 97.5 % quantile of Student's t with `freedom` ≥ 1 degrees of freedom.
///
/// Pr[|T| ≤ t] has a finite closed form in θ = atan(t/√ν) (Abramowitz & Stegun 26.7.3–4); it is
/// inverted by bisection on θ.
pub fn student_quantile(freedom: usize) -> f64 {
    const NORMAL: f64 = 1.959_963_984_540_054;
    if freedom > 1_000_000 {
        return NORMAL;
    }
    let nu = freedom as f64;
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if central_probability(middle, freedom) < 0.95 {
            low = middle;
        } else {
            high = middle;
        }
    }
    nu.sqrt() * (0.5 * (low + high)).tan()
}

/// Pr[|T| ≤ √ν tan θ].
pub(super) fn central_probability(theta: f64, freedom: usize) -> f64 {
    let (sin, cos) = theta.sin_cos();
    // odd ν: cos + (2/3)cos³ + … ; even ν: 1 + (1/2)cos² + (1·3)/(2·4)cos⁴ + …
    let odd = freedom % 2 == 1;
    let mut term = if odd { cos } else { 1.0 };
    let mut sum = 0.0;
    let mut k = if odd { 1 } else { 0 };
    while k + 2 <= freedom {
        sum += term;
        term *= (k + 1) as f64 / (k + 2) as f64 * cos * cos;
        k += 2;
    }
    if odd { 2.0 / std::f64::consts::PI * (theta + sin * sum) } else { sin * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_the_tables() {
        for (freedom, tabulated) in [
            (1, 12.706_204_736),
            (2, 4.302_652_730),
            (3, 3.182_446_305),
            (4, 2.776_445_105),
            (9, 2.262_157_163),
            (30, 2.042_272_456),
            (100, 1.983_971_519),
        ] {
            let quantile = student_quantile(freedom);
            assert!((quantile - tabulated).abs() < 1e-8 * tabulated, "{freedom}: {quantile}");
        }
        assert!((student_quantile(1_000_000) - 1.959_966_357).abs() < 1e-6);
    }

    #[test]
    fn an_interval_needs_two_values_and_a_mean_finite_ones() {
        let two = Estimate::of(&[1.0, 3.0]);
        assert_eq!(two.mean, Some(2.0));
        assert!((two.high.unwrap() - (2.0 + 12.706_204_736)).abs() < 1e-8);
        assert_eq!(Estimate::of(&[5.0]), Estimate { mean: Some(5.0), low: None, high: None });
        assert_eq!(Estimate::of(&[5.0, f64::NAN]).mean, None);
    }
}
