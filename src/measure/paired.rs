//! Comparisons of repeats that share their randomness: by difference, one repeat at a time.

use serde::{Deserialize, Serialize};

use super::statistics::{Estimate, central_probability};

/// How values differ from the first ones, repeat by repeat.
///
/// Repeats of two runs under one seed have the same graph and data, so their difference varies less
/// than either does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// The mean of the differences, value − first, with its 95 % interval.
    pub difference: Estimate,
    /// The probability of a mean at least as far from zero if there were no difference, by Student's
    /// two-sided paired test. One repeat has none, nor has a difference that is not finite.
    pub p_value: Option<f64>,
}

impl Paired {
    /// Compares the values of repeats with the first ones of the same repeats.
    ///
    /// With d = `values` − `first`, their mean d̄ and deviation s over r repeats, t = d̄ √r / s has
    /// Student's law with r − 1 degrees of freedom if the differences are normal around zero, and p is
    /// Pr[|T| ≥ |t|]. Differences that are all equal have no deviation: p is 1 if they are zero, and
    /// 0 if they are not; of fewer than five there is then none.
    ///
    /// # Panics
    /// If the two differ in length.
    pub fn of(values: &[f64], first: &[f64]) -> Self {
        assert_eq!(values.len(), first.len(), "a pair per repeat");
        let differences: Vec<f64> =
            values.iter().zip(first).map(|(value, first)| value - first).collect();
        let nothing =
            Self { difference: Estimate { mean: None, low: None, high: None }, p_value: None };
        if differences.iter().any(|difference| !difference.is_finite()) {
            return nothing;
        }
        let difference = Estimate::of(&differences);
        // Differences near the greatest number overflow in the sum or in the squares.
        let ends = [difference.mean, difference.low, difference.high];
        if ends.iter().flatten().any(|end| !end.is_finite()) {
            return nothing;
        }
        Self { difference, p_value: p_value(&differences) }
    }
}

/// From so many repeats on, equal differences are taken to have no deviation; with fewer, counts such as
/// rounds would be equal by chance too often.
const ENOUGH: usize = 5;

/// Student's two-sided test of a mean of zero.
fn p_value(differences: &[f64]) -> Option<f64> {
    let &[first, _, ..] = differences else { return None };
    if differences.iter().all(|difference| *difference == first) {
        // Few whole numbers are often equal by chance, which says nothing of how they vary.
        let shows_variation = differences.len() >= ENOUGH;
        return if first == 0.0 { Some(1.0) } else { shows_variation.then_some(0.0) };
    }
    // The test does not depend on the scale, and squares of tiny differences would vanish.
    let scale = differences.iter().fold(0.0, |most: f64, d| most.max(d.abs()));
    let r = differences.len() as f64;
    let scaled = || differences.iter().map(|difference| difference / scale);
    let mean = scaled().sum::<f64>() / r;
    let squares: f64 = scaled().map(|difference| (difference - mean).powi(2)).sum();
    // |t|/√ν = |d̄| √r / √Σ(d − d̄)², the tangent of the angle that the closed form takes.
    let theta = (mean.abs() * r.sqrt()).atan2(squares.sqrt());
    Some((1.0 - central_probability(theta, differences.len() - 1)).clamp(0.0, 1.0))
}

/// Which of a family of tests are significant at `level` for the whole family, by Holm's method.
///
/// The smallest of m p-values is compared with level/m, the next with level/(m − 1), and so on until
/// one is larger: the probability of any false claim is at most `level`, however the tests depend on
/// each other. Tests without a p-value are not counted, and are not significant.
///
/// ```
/// use hushmesh::measure::holm;
/// let significant = holm(&[Some(0.01), Some(0.04), None, Some(0.03)], 0.05);
/// assert_eq!(significant, [true, false, false, false]);
/// ```
pub fn holm(p_values: &[Option<f64>], level: f64) -> Vec<bool> {
    let mut tests: Vec<(usize, f64)> =
        p_values.iter().enumerate().filter_map(|(at, p)| p.map(|p| (at, p))).collect();
    tests.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let mut significant = vec![false; p_values.len()];
    let count = tests.len();
    let passes = |&(rank, (_, p)): &(usize, (usize, f64))| p <= level / (count - rank) as f64;
    for (_, (at, _)) in tests.into_iter().enumerate().take_while(passes) {
        significant[at] = true;
    }
    significant
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Draws, Purpose, Streams};
    use crate::units::Seed;
    use proptest::prelude::*;

    /// Pr[|T| ≥ t] by Simpson's rule on the density ∝ (1 + x²/ν)^{−(ν+1)/2}, normalised by the same
    /// rule: x = √ν tan θ makes it ∝ cos^{ν−1} θ on a finite range.
    fn by_integration(t: f64, freedom: usize) -> f64 {
        let integral = |from: f64, to: f64| {
            let steps = 20_000;
            let h = (to - from) / f64::from(steps);
            let density = |theta: f64| theta.cos().powi(freedom as i32 - 1);
            let weight = |k: i32| match k {
                _ if k == 0 || k == steps => 1.0,
                _ if k % 2 == 1 => 4.0,
                _ => 2.0,
            };
            (0..=steps).map(|k| weight(k) * density(from + h * f64::from(k))).sum::<f64>() * h / 3.0
        };
        let (theta, end) = ((t / (freedom as f64).sqrt()).atan(), std::f64::consts::FRAC_PI_2);
        integral(theta, end) / integral(0.0, end)
    }

    #[test]
    fn the_test_agrees_with_the_integral_of_the_density() {
        for count in 2..=12 {
            let first = vec![0.25; count];
            for shift in [0.0, 0.1, 1.0, 7.0] {
                let values: Vec<f64> =
                    (0..count).map(|k| shift + ((k * k) as f64 * 0.7).sin()).collect();
                let paired = Paired::of(&values, &first);
                let d: Vec<f64> = values.iter().map(|value| value - 0.25).collect();
                let r = count as f64;
                let mean = d.iter().sum::<f64>() / r;
                let s = (d.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (r - 1.0)).sqrt();
                let expected = by_integration((mean * r.sqrt() / s).abs(), count - 1);
                let p = paired.p_value.unwrap();
                assert!((p - expected).abs() < 1e-9, "{count}, {shift}: {p}, {expected}");
                assert!((paired.difference.mean.unwrap() - mean).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn the_sleep_data_of_student_give_his_answer() {
        // Extra hours of sleep of ten patients under two drugs ("Student", 1908): t = 4.0621 with 9
        // degrees of freedom, p = 0.002833, mean 1.58, interval 0.70 to 2.46.
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let paired = Paired::of(&second, &first);
        assert!((paired.p_value.unwrap() - 0.002_833).abs() < 5e-7);
        let Estimate { mean: Some(mean), low: Some(low), high: Some(high) } = paired.difference
        else {
            panic!("no interval in {paired:?}");
        };
        assert!((mean - 1.58).abs() < 1e-12);
        assert!((low - 0.700_114).abs() < 1e-6 && (high - 2.459_886).abs() < 1e-6);
    }

    #[test]
    fn a_p_value_is_the_level_at_the_end_of_its_interval() {
        // Shifted so that the 95 % interval ends at zero, p is 5 %.
        let d = [1.0, 2.5, -0.5, 4.0, 1.75];
        let low = Paired::of(&d, &[0.0; 5]).difference.low.unwrap();
        let p = Paired::of(&d, &[low; 5]).p_value.unwrap();
        assert!((p - 0.05).abs() < 1e-12, "{p}");
    }

    #[test]
    fn what_does_not_vary_or_is_not_finite_has_the_answer_of_common_sense() {
        assert_eq!(Paired::of(&[3.0, 3.0], &[3.0, 3.0]).p_value, Some(1.0));
        assert_eq!(Paired::of(&[3.0, 4.0], &[1.0, 2.0]).p_value, None);
        assert_eq!(Paired::of(&[3.0; 4], &[1.0; 4]).p_value, None);
        assert_eq!(Paired::of(&[3.0; 5], &[1.0; 5]).p_value, Some(0.0));
        assert_eq!(Paired::of(&[3.0, 1.0], &[1.0, 3.0]).p_value, Some(1.0));
        let one = Paired::of(&[3.0], &[1.0]);
        assert_eq!((one.difference.mean, one.difference.low, one.p_value), (Some(2.0), None, None));
        for odd in [f64::NAN, f64::INFINITY] {
            let none = Paired::of(&[odd, 1.0], &[odd, 1.0]);
            assert_eq!((none.difference.mean, none.p_value), (None, None));
        }
        assert_eq!(Paired::of(&[f64::MAX, 1.0], &[f64::MIN, 1.0]).difference.mean, None);
        assert_eq!(Paired::of(&[], &[]).p_value, None);
        // Scale does not matter.
        let small = Paired::of(&[1e-200, 2e-200, 4e-200], &[0.0; 3]).p_value.unwrap();
        let plain = Paired::of(&[1.0, 2.0, 4.0], &[0.0; 3]).p_value.unwrap();
        assert!((small - plain).abs() < 1e-12);
    }

    #[test]
    fn holm_steps_down() {
        // Thresholds 0.05 over 4, 3, 2, 1: 0.0125, 0.0167, 0.025, 0.05.
        let p = [0.03, 0.001, 0.016, 0.025].map(Some);
        assert_eq!(holm(&p, 0.05), [true; 4]);
        let p = [0.03, 0.001, 0.017, 0.025].map(Some);
        assert_eq!(holm(&p, 0.05), [false, true, false, false]);
        assert_eq!(holm(&[None, Some(0.05), None], 0.05), [false, true, false]);
        assert_eq!(holm(&[], 0.05), [false; 0]);
    }

    #[test]
    fn a_family_without_differences_is_seldom_accused() {
        let (families, members, repeats, level) = (4000_u64, 5, 6, 0.05);
        let draws = Draws::Streams(Streams::new(Seed(5), 0).family(Purpose::Rows, 0));
        let mut accused = 0.0;
        let mut singly = 0.0;
        for family in 0..families {
            let mut draw = draws.at(family, 0);
            // All compare with one and the same first, so the tests depend on each other.
            let first: Vec<f64> = (0..repeats).map(|_| draw.normal()).collect();
            let p_values: Vec<Option<f64>> = (0..members)
                .map(|_| {
                    let values: Vec<f64> = (0..repeats).map(|_| draw.normal()).collect();
                    Paired::of(&values, &first).p_value
                })
                .collect();
            accused += f64::from(u8::from(holm(&p_values, level).contains(&true)));
            singly += f64::from(u8::from(p_values[0].unwrap() <= level));
        }
        let count = families as f64;
        let error = (level * (1.0 - level) / count).sqrt();
        assert!(accused / count <= level + 5.0 * error, "{accused} of {families}");
        // A single test keeps its level exactly.
        assert!((singly / count - level).abs() <= 5.0 * error, "{singly} of {families}");
    }

    proptest! {
        #[test]
        fn holm_rejects_what_bonferroni_rejects(
            p_values in proptest::collection::vec(proptest::option::of(0.0..0.1), 0..12),
            level in 0.001..0.5,
        ) {
            let count = p_values.iter().flatten().count() as f64;
            for (p, significant) in p_values.iter().zip(holm(&p_values, level)) {
                prop_assert!(significant || !p.is_some_and(|p| p <= level / count));
                // And nothing that a single test would not.
                prop_assert!(!significant || p.is_some_and(|p| p <= level));
            }
        }
    }
}
