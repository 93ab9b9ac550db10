//! e^{−|z|} and what the logistic loss makes of it, with arithmetic of our own: no branches, so that a
//! loop over it becomes one over lanes, and the same bits for a number alone and among others.

/// 1.5·2⁵²: added to a number below 2⁵¹ in size, it leaves the nearest integer in the last bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts; the last 21 bits of the first are 0, so that its product with an integer below
/// 2²¹ is exact.
const LN_2: [f64; 2] =
    [f64::from_bits(0x3FE6_2E42_FEE0_0000), f64::from_bits(0x3DEA_39EF_3579_3C76)];
/// 1/k!, the coefficients of e^r: on |r| ≤ (ln 2)/2 what is left out is below 5e-18.
const TAYLOR: [f64; 14] = {
    let mut coefficients = [1.0; 14];
    let (mut k, mut factorial) = (1, 1.0);
    while k < 14 {
        factorial *= k as f64;
        coefficients[k] = 1.0 / factorial;
        k += 1;
    }
    coefficients
};
/// 1/((2k + 1)·4ᵏ), the coefficients of 2·atanh(u/2) = u + u³/12 + …: on |u| ≤ 2(√2 − 1)/(√2 + 1)
/// what is left out is below 1e-18 of it.
const ATANH: [f64; 12] = {
    let mut coefficients = [1.0; 12];
    let (mut k, mut power) = (1, 1.0);
    while k < 12 {
        power *= 4.0;
        coefficients[k] = 1.0 / ((2 * k + 1) as f64 * power);
        k += 1;
    }
    coefficients
};

/// e^{−|z|} = s(1 + q) as (s₁, s₂, q) with s = s₁s₂ = 2ⁿ a power of two, in two factors that are far from
/// underflow, and q = e^r − 1, r = −|z| − n·ln 2 at most (ln 2)/2 in size.
#[inline(always)]
fn parts(z: f64) -> (f64, f64, f64) {
    // Beyond it all is 0, and n would leave the exponents; a NaN stays one.
    let t = if z.abs() > 750.0 { -750.0 } else { -z.abs() };
    let shifted = t * std::f64::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (t - n * LN_2[0]) - n * LN_2[1];
    let (r2, c) = (r * r, TAYLOR);
    let r4 = r2 * r2;
    let low = (c[2] + c[3] * r) + (c[4] + c[5] * r) * r2;
    let middle = (c[6] + c[7] * r) + (c[8] + c[9] * r) * r2;
    let high = (c[10] + c[11] * r) + (c[12] + c[13] * r) * r2;
    let q = r + r2 * ((low + middle * r4) + high * (r4 * r4));
    // n + 2·1023, halved into two exponents.
    let exponents = shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(2046);
    let half = exponents >> 1;
    let rest = exponents.wrapping_sub(half);
    (f64::from_bits(half << 52), f64::from_bits(rest << 52), q)
}

/// e^{−|z|}, to 1 unit in the last place.
#[inline(always)]
pub(in super::super) fn decay(z: f64) -> f64 {
    let (s1, s2, q) = parts(z);
    ((1.0 + q) * s1) * s2
}

/// tanh(z/2) = (1 − e^{−|z|})/(1 + e^{−|z|}) with the sign of z, to 3 units in the last place: near 0 the
/// difference is not taken from numbers near 1, but is −q.
#[inline(always)]
pub(in super::super) fn tanh_half(z: f64) -> f64 {
    let (s1, s2, q) = parts(z);
    let s = s1 * s2;
    let less = s * q + (s - 1.0);
    (-less / (2.0 + less)).copysign(z)
}

/// log(1 + e^{−|z|}), to 3 units in the last place: with e = e^{−|z|}, log(1 + e) = 2·atanh(e/(2 + e))
/// for small e, and ln 2 + log(1 + (e − 1)/2) for others.
#[inline(always)]
pub(in super::super) fn log_one_plus_decay(z: f64) -> f64 {
    let e = decay(z);
    let large = e > std::f64::consts::SQRT_2 - 1.0;
    let f = if large { 0.5 * (e - 1.0) } else { e };
    let base = if large { std::f64::consts::LN_2 } else { 0.0 };
    let u = (f + f) / (2.0 + f);
    let (v, c) = (u * u, ATANH);
    let v2 = v * v;
    let v4 = v2 * v2;
    let low = c[1] + c[2] * v;
    let middle = (c[3] + c[4] * v) + (c[5] + c[6] * v) * v2;
    let high = (c[7] + c[8] * v) + (c[9] + c[10] * v) * v2 + c[11] * v4;
    let sum = low + (middle + high * v4) * v2;
    base + (u + u * (v * sum))
}
