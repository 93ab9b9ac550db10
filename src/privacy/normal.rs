//! The normal distribution: Φ, ln Φ, Φ⁻¹ and Mills' ratio, to nearly the last bit on the whole line.
//!
//! Everything stands on two functions of W. J. Cody, "Rational Chebyshev approximations for the
//! error function" (1969): erf near 0, and erfcx(y) = exp(y²) erfc(y), which neither under- nor
//! overflows, from there on. His approximations err by less than 1e-16 relative.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI};

/// 1/√π.
const FRAC_1_SQRT_PI: f64 = 0.564_189_583_547_756_3;
/// √(2π).
pub(super) const SQRT_TAU: f64 = 2.506_628_274_631_000_7;
/// √(π/2).
const SQRT_HALF_PI: f64 = 1.253_314_137_315_500_3;
/// Where Cody passes from erf to erfcx.
const NEAR: f64 = 0.46875;

/// numerator(x)/denominator(x), both from the highest power down.
fn ratio(x: f64, numerator: &[f64], denominator: &[f64]) -> f64 {
    let value = |terms: &[f64]| terms.iter().fold(0.0, |sum, term| sum * x + term);
    value(numerator) / value(denominator)
}

/// erf(y) for |y| ≤ [`NEAR`].
fn erf_near(y: f64) -> f64 {
    y * ratio(
        y * y,
        &[
            1.857_777_061_846_031_5e-1,
            3.161_123_743_870_565_6e0,
            1.138_641_541_510_501_6e2,
            3.774_852_376_853_02e2,
            3.209_377_589_138_469_4e3,
        ],
        &[
            1.0,
            2.360_129_095_234_412_2e1,
            2.440_246_379_344_441_7e2,
            1.282_616_526_077_372_3e3,
            2.844_236_833_439_171e3,
        ],
    )
}

/// exp(y²) erfc(y) for y ≥ 0.
fn erfcx(y: f64) -> f64 {
    if y <= NEAR {
        return (y * y).exp() * (1.0 - erf_near(y));
    }
    if y <= 4.0 {
        return ratio(
            y,
            &[
                2.153_115_354_744_038_3e-8,
                5.641_884_969_886_701e-1,
                8.883_149_794_388_377e0,
                6.611_919_063_714_163e1,
                2.986_351_381_974_001e2,
                8.819_522_212_417_69e2,
                1.712_047_612_634_070_7e3,
                2.051_078_377_826_071_6e3,
                1.230_339_354_797_997_2e3,
            ],
            &[
                1.0,
                1.574_492_611_070_983_5e1,
                1.176_939_508_913_125e2,
                5.371_811_018_620_099e2,
                1.621_389_574_566_690_3e3,
                3.290_799_235_733_459_7e3,
                4.362_619_090_143_247e3,
                3.439_367_674_143_721_6e3,
                1.230_339_354_803_749_5e3,
            ],
        );
    }
    // One division a time: y² overflows before erfcx underflows.
    let z = 1.0 / y / y;
    let tail = z * ratio(
        z,
        &[
            1.631_538_713_730_209_8e-2,
            3.053_266_349_612_323_6e-1,
            3.603_448_999_498_044_5e-1,
            1.257_817_261_112_292_6e-1,
            1.608_378_514_874_227_5e-2,
            6.587_491_615_298_378e-4,
        ],
        &[
            1.0,
            2.568_520_192_289_822,
            1.872_952_849_923_467_3,
            5.279_051_029_514_285e-1,
            6.051_834_131_244_132e-2,
            2.335_204_976_268_691_8e-3,
        ],
    );
    (FRAC_1_SQRT_PI - tail) / y
}

/// exp(−x²/2), with the rounding of x² taken out of the exponent, where it would be magnified.
fn bell(x: f64) -> f64 {
    if x.abs() > 39.0 {
        return 0.0;
    }
    let coarse = (x * 16.0).trunc() / 16.0;
    (-0.5 * coarse * coarse).exp() * (-0.5 * (x - coarse) * (x + coarse)).exp()
}

/// The density φ(x).
pub(super) fn density(x: f64) -> f64 {
    bell(x) / SQRT_TAU
}

/// Mills' ratio R(x) = Φ(−x)/φ(x) for x ≥ 0.
pub(super) fn mills(x: f64) -> f64 {
    SQRT_HALF_PI * erfcx(x * FRAC_1_SQRT_2)
}

/// P[0 < X < x] for x ≥ 0, accurate relative to itself.
pub(super) fn central(x: f64) -> f64 {
    let y = x * FRAC_1_SQRT_2;
    if y <= NEAR { 0.5 * erf_near(y) } else { 0.5 - cdf(-x) }
}

/// Φ(x), the standard normal distribution function.
pub fn cdf(x: f64) -> f64 {
    if x > 0.0 { 0.5 + central(x) } else { 0.5 * bell(x) * erfcx(-x * FRAC_1_SQRT_2) }
}

/// ln Φ(x), where Φ(x) itself would underflow too.
pub fn ln_cdf(x: f64) -> f64 {
    if x > 0.0 {
        (-cdf(-x)).ln_1p()
    } else if x == f64::NEG_INFINITY {
        x
    } else {
        -0.5 * x * x - LN_2 + erfcx(-x * FRAC_1_SQRT_2).ln()
    }
}

/// Φ⁻¹(p): −∞ at 0, ∞ at 1, not a number outside of [0, 1].
pub fn quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p > 0.5 {
        // Exact: 1 − p has no more digits than p.
        return -quantile(1.0 - p);
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    // Newton's method on a concave increasing function comes from the left and never overshoots.
    if p > 0.2 {
        let target = 0.5 - p;
        let mut x = target * SQRT_TAU;
        for _ in 0..20 {
            let step = (target - central(x)) / density(x);
            x += step;
            if step.abs() <= 1e-16 * x {
                break;
            }
        }
        return -x;
    }
    let target = p.ln();
    let mut x = -(-2.0 * target).sqrt();
    for _ in 0..40 {
        // (ln Φ)' = φ/Φ = 1/R(−x).
        let step = (target - ln_cdf(x)) * mills(-x);
        x += step;
        if step.abs() <= 1e-16 * x.abs() {
            break;
        }
    }
    x
}

/// ln √(2π).
pub(super) fn ln_sqrt_tau() -> f64 {
    0.5 * (2.0 * PI).ln()
}

#[cfg(test)]
mod tests;
