//! The regularised incomplete beta function, and the exact limits of a proportion that follow.
//!
//! I_x(a, b) = ∫₀ˣ t^{a−1}(1−t)^{b−1} dt / B(a, b). It is the share of a ball that lies beyond a
//! plane, and the tail of a binomial law.

/// I_x(a, b) for 0 ≤ x ≤ 1 and positive, finite a and b.
///
/// The prefactor is taken in logarithms, so that a and b may be in the thousands; small results keep
/// their relative accuracy (about 1e-12). Outside the range of x the value is that at its nearer end.
///
/// # Panics
/// In debug builds, if a or b is not positive and finite.
pub fn regularised_beta(x: f64, a: f64, b: f64) -> f64 {
    debug_assert!(a > 0.0 && b > 0.0 && a.is_finite() && b.is_finite());
    if x.is_nan() {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (a * x.ln() + b * (-x).ln_1p() - ln_beta(a, b)).exp();
    // The fraction converges fast below the mean of the law; above it, by symmetry, the other one.
    if x < (a + 1.0) / (a + b + 2.0) {
        (front * fraction(x, a, b) / a).min(1.0)
    } else {
        (1.0 - front * fraction(1.0 - x, b, a) / b).max(0.0)
    }
}

/// The limits between which a probability lies with at least the given confidence, after so many
/// successes in so many trials (Clopper and Pearson 1934).
///
/// Exact: they hold for any number of trials. No trials give (0, 1).
///
/// # Panics
/// In debug builds, if there are more successes than trials or the confidence is not in (0, 1).
pub fn binomial_interval(successes: u64, trials: u64, confidence: f64) -> (f64, f64) {
    debug_assert!(successes <= trials && confidence > 0.0 && confidence < 1.0);
    let tail = (1.0 - confidence) / 2.0;
    let (hits, misses) = (successes as f64, (trials - successes) as f64);
    // P[Bin(N, p) ≥ s] = I_p(s, N − s + 1) and P[Bin(N, p) ≤ s] = I_{1−p}(N − s, s + 1).
    let low = |hits: f64, misses: f64| {
        if hits == 0.0 {
            return 0.0;
        }
        let (mut below, mut above) = (0.0, 1.0);
        // Halving 60 times leaves an interval narrower than rounding.
        for _ in 0..60 {
            let middle = 0.5 * (below + above);
            if regularised_beta(middle, hits, misses + 1.0) < tail {
                below = middle;
            } else {
                above = middle;
            }
        }
        below
    };
    (low(hits, misses), 1.0 - low(misses, hits))
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    // It takes about √max(a, b) terms; the limit is for arguments in the hundreds of millions.
    for j in 1..20_000 {
        let j = f64::from(j);
        let even = j * (b - j) * x / ((a + 2.0 * j - 1.0) * (a + 2.0 * j));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        value *= c * d;
        let odd = -(a + j) * (a + b + j) * x / ((a + 2.0 * j) * (a + 2.0 * j + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// ln B(a, b) = ln Γ(a) + ln Γ(b) − ln Γ(a + b).
fn ln_beta(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if large < STIRLING {
        return ln_gamma(small) + ln_gamma(large) - ln_gamma(a + b);
    }
    // ln Γ(large) − ln Γ(large + small) by Stirling's series, the large terms cancelled by hand:
    // as differences of ten thousands they would cost four digits.
    let ratio = small / large;
    let difference =
        -(large - 0.5) * ratio.ln_1p() - small * (a + b).ln() + small + stirling_rest(large)
            - stirling_rest(a + b);
    ln_gamma(small) + difference
}

/// From here on, the seven terms of Stirling's series below are exact to rounding.
const STIRLING: f64 = 12.0;

/// ln Γ(x) for x > 0.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut product) = (x, 1.0);
    while x < STIRLING {
        product *= x;
        x += 1.0;
    }
    let half_ln_two_pi = 0.5 * std::f64::consts::TAU.ln();
    (x - 0.5) * x.ln() - x + half_ln_two_pi + stirling_rest(x) - product.ln()
}

/// What Stirling's formula leaves: 1/(12x) − 1/(360x³) + …
fn stirling_rest(x: f64) -> f64 {
    const TERMS: [f64; 7] = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
    ];
    let square = 1.0 / (x * x);
    TERMS.iter().rev().fold(0.0, |sum, term| sum * square + term) / x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, relative: f64) {
        let error = (found - expected).abs() / expected.abs();
        assert!(error <= relative, "{found:e} against {expected:e}: off by {error:e}");
    }

    #[test]
    fn it_agrees_with_values_of_forty_digits() {
        // (x, a, b, I_x(a, b)), computed with 40-digit arithmetic at the double nearest to x.
        let table = [
            (0.25, 0.5, 1.0, 0.5),
            (0.01, 0.5, 1.5, 0.127_111_428_430_461_8),
            (1e-6, 0.5, 2500.5, 0.056_374_805_841_814_8),
            (0.0004, 0.5, 2500.5, 0.842_763_062_014_421_9),
            (0.9, 0.5, 2.5, 0.998_885_562_458_492_6),
            (0.7, 10.5, 0.5, 0.006_821_825_813_970_605),
            (0.999, 2500.5, 0.5, 0.025_303_394_231_091_268),
            (0.98, 2500.5, 0.5, 9.089_145_549_321_432e-24),
            (0.3, 3.0, 4.0, 0.255_69),
            (1e-12, 0.5, 51.0, 8.038_512_975_971_08e-6),
            (0.5, 400.0, 430.0, 0.851_283_005_142_082_7),
        ];
        for (x, a, b, expected) in table {
            close(regularised_beta(x, a, b), expected, 1e-12);
        }
    }

    #[test]
    fn its_two_ends_are_nought_and_one_and_the_mirror_image_adds_up() {
        assert_eq!(regularised_beta(0.0, 0.5, 3.0), 0.0);
        assert_eq!(regularised_beta(-1.0, 0.5, 3.0), 0.0);
        assert_eq!(regularised_beta(1.0, 0.5, 3.0), 1.0);
        assert!(regularised_beta(f64::NAN, 0.5, 3.0).is_nan());
        for a in [0.5, 1.0, 7.5, 900.0] {
            for b in [0.5, 2.0, 33.0] {
                for x in [0.1, 0.5, 0.93, 0.999] {
                    let sum = regularised_beta(x, a, b) + regularised_beta(1.0 - x, b, a);
                    close(sum, 1.0, 1e-12);
                }
            }
        }
    }

    #[test]
    fn the_gamma_function_is_the_factorial_and_the_root_of_pi() {
        close(ln_gamma(0.5), 0.5 * std::f64::consts::PI.ln(), 1e-14);
        close(ln_gamma(7.0), 720f64.ln(), 1e-14);
        close(ln_gamma(21.0), 2_432_902_008_176_640_000f64.ln(), 1e-14);
        assert!(ln_gamma(1.0).abs() < 1e-14 && ln_gamma(2.0).abs() < 1e-14);
    }

    #[test]
    fn the_limits_of_a_proportion_are_those_of_clopper_and_pearson() {
        let (low, high) = binomial_interval(7, 20, 0.95);
        close(low, 0.153_909_204_784_541_2, 1e-12);
        close(high, 0.592_188_534_532_828, 1e-12);
        // None of N: the upper limit solves (1 − p)^N = tail. All of N is its mirror image.
        let (low, high) = binomial_interval(0, 30, 0.9);
        assert_eq!(low, 0.0);
        close(high, 1.0 - 0.05f64.powf(1.0 / 30.0), 1e-12);
        let (low, high) = binomial_interval(30, 30, 0.9);
        close(low, 0.05f64.powf(1.0 / 30.0), 1e-12);
        assert_eq!(high, 1.0);
        assert_eq!(binomial_interval(0, 0, 0.95), (0.0, 1.0));
    }

    #[test]
    fn the_limits_cover_as_often_as_they_say() {
        // The whole binomial law of 40 trials: the limits hold the truth with at least 90 %.
        for p in [0.03, 0.2, 0.5, 0.77] {
            let mut mass = (1.0f64 - p).powi(40);
            let mut covered = 0.0;
            for s in 0..=40u64 {
                let (low, high) = binomial_interval(s, 40, 0.9);
                if low <= p && p <= high {
                    covered += mass;
                }
                mass *= (40 - s) as f64 / (s + 1) as f64 * p / (1.0 - p);
            }
            assert!((0.9..1.0).contains(&covered), "{covered} at {p}");
        }
    }
}
