//! The law of how far a noisy model ends above the optimum.

use super::QuadraticModel;

/// The law of X = Σ_i ½ l_i (m_i + s_i Z_i)² with independent standard normal Z_i: a quadratic
/// objective above its least value, at a model whose error has mean m and deviations s along the
/// eigenvectors. A sum of scaled noncentral χ² of one degree of freedom each.
#[derive(Clone, Debug, PartialEq)]
pub struct ExcessLaw {
    /// λ_i = ½ l_i s_i² and c_i = ½ l_i m_i², for the terms with λ_i > 0.
    terms: Vec<(f64, f64)>,
    /// Σ c_i over the others.
    floor: f64,
}

/// A complex number.
type Complex = (f64, f64);

/// The first derivatives of the cumulant function of X − Σc at a real point.
struct Cumulants {
    first: f64,
    second: f64,
    third: f64,
}

impl ExcessLaw {
    /// The law for the means m_i = `model.errors` and the deviations s_i.
    pub fn new(model: &QuadraticModel, deviations: &[f64]) -> Self {
        let (mut terms, mut floor) = (Vec::new(), 0.0);
        for ((l, mean), s) in model.eigenvalues.iter().zip(&model.errors).zip(deviations) {
            let (scale, shift) = (0.5 * l * s * s, 0.5 * l * mean * mean);
            if scale > 0.0 {
                terms.push((scale, shift));
            } else {
                floor += shift;
            }
        }
        Self { terms, floor }
    }

    /// E X = Σ (λ_i + c_i).
    pub fn mean(&self) -> f64 {
        self.floor + self.terms.iter().map(|(scale, shift)| scale + shift).sum::<f64>()
    }

    /// √Var X, with Var X = Σ (2λ_i² + 4λ_i c_i).
    pub fn deviation(&self) -> f64 {
        self.cumulants(0.0).second.sqrt()
    }

    /// P(X > x).
    ///
    /// With K the cumulant function, P(X > x) = (1/2πi) ∫ exp(K(s) − sx)/s ds along a path that meets
    /// the real axis between 0 and the first singularity 1/(2λ_max); where it does so below 0, the
    /// integral is P(X > x) − 1. The path goes through the saddle point, s = ŝ + iy + f(y) with
    ///
    /// f(y) = κy²/√(1 + (κy/t)²), κ = K‴/(6K″), t = 0.7.
    ///
    /// To second order it is that of steepest descent. Further out it leans right by no more than t:
    /// while f ≤ |y|, no term's part of the integrand is larger than at ŝ, and e^{−sx} makes it fall
    /// exponentially however few terms there are. On it the trapezoidal rule is exact to about ten
    /// digits.
    pub fn above(&self, x: f64) -> f64 {
        /// Steps of the rule, and the least distance from the pole at 0, in units of 1/√K″.
        const STEP: f64 = 0.05;
        const DISTANCE: f64 = 0.3;
        const LEAN: f64 = 0.7;
        const MOST: u32 = 20_000;

        if self.terms.is_empty() {
            return if x < self.floor { 1.0 } else { 0.0 };
        }
        if x <= self.floor {
            return 1.0;
        }
        // All is relative to Σc, so that small noise around a large mean does not cancel.
        let shifts: f64 = self.terms.iter().map(|(_, shift)| shift).sum();
        let x = x - self.floor - shifts;
        let mut place = self.saddle(x);
        let away = DISTANCE / self.cumulants(place).second.sqrt();
        if place.abs() < away {
            place = away.copysign(place);
        }
        let Cumulants { second, third, .. } = self.cumulants(place);
        let (bend, step) = (third / (6.0 * second), STEP / second.sqrt());
        let at = |y: f64| {
            let q = 1.0 + (bend * y / LEAN).powi(2);
            let s = (place + bend * y * y / q.sqrt(), y);
            let slope = bend * y * (1.0 + q) / (q * q.sqrt());
            let (re, im) = self.exponent(s, x);
            let (size, (sin, cos)) = (re.exp(), im.sin_cos());
            let value = divide((size * cos, size * sin), s);
            // The real part of value · ds/(i dy), where ds/(i dy) = 1 − if′(y).
            (value.0 + slope * value.1, size / s.0.hypot(s.1))
        };
        let (first, peak) = at(0.0);
        let mut sum = 0.5 * first;
        for k in 1..=MOST {
            let (value, size) = at(f64::from(k) * step);
            sum += value;
            if size <= 1e-14 * peak {
                break;
            }
        }
        let integral = sum * step / std::f64::consts::PI;
        (if place > 0.0 { integral } else { 1.0 + integral }).clamp(0.0, 1.0)
    }

    /// The x with P(X ≤ x) = p, for p from 0 to 1; infinite where p is nearer to 1 than the
    /// probabilities are exact.
    pub fn quantile(&self, p: f64) -> f64 {
        let (mut low, mut high) = (self.floor, self.mean());
        if self.terms.is_empty() || p <= 0.0 {
            return low;
        }
        let spread = self.deviation();
        while 1.0 - self.above(high) < p {
            if high > self.mean() + 100.0 * spread {
                return f64::INFINITY;
            }
            (low, high) = (high, high + 2.0 * spread);
        }
        // Near the floor the density may have a pole, and digits count from there.
        while high - low > 1e-11 * spread.min(high - self.floor) {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if 1.0 - self.above(middle) < p { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }

    /// The 5 % and 95 % quantiles.
    pub fn band(&self) -> (f64, f64) {
        (self.quantile(0.05), self.quantile(0.95))
    }

    /// The s below 1/(2λ_max) with K′(s) = x, K being that of X − Σc.
    fn saddle(&self, x: f64) -> f64 {
        let largest = self.terms.iter().map(|(scale, _)| *scale).fold(0.0, f64::max);
        let (mut low, mut high) = (0.0, 0.5 / largest);
        if self.cumulants(0.0).first > x {
            high = 0.0;
            low = -1.0 / self.cumulants(0.0).second.sqrt();
            while self.cumulants(low).first > x && low.is_finite() {
                (low, high) = (2.0 * low, low);
            }
        }
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if self.cumulants(middle).first > x { high = middle } else { low = middle }
        }
        // The lower end stays off the singularity.
        low
    }

    fn cumulants(&self, s: f64) -> Cumulants {
        let mut all = Cumulants { first: 0.0, second: 0.0, third: 0.0 };
        for &(scale, shift) in &self.terms {
            let w = 1.0 - 2.0 * scale * s;
            let r = scale / w;
            all.first += r + 2.0 * s * shift * r * (1.0 + w) / w;
            all.second += 2.0 * r * r + 4.0 * shift * r / (w * w);
            all.third += 8.0 * r.powi(3) + 24.0 * shift * (r / w).powi(2);
        }
        all
    }

    /// K(s) − sx = Σ_i (−½ ln(1 − 2λ_i s) + 2c_i λ_i s²/(1 − 2λ_i s)) − sx.
    fn exponent(&self, s: Complex, x: f64) -> Complex {
        let square = (s.0 * s.0 - s.1 * s.1, 2.0 * s.0 * s.1);
        let mut sum = (-s.0 * x, -s.1 * x);
        for &(scale, shift) in &self.terms {
            let w = (1.0 - 2.0 * scale * s.0, -2.0 * scale * s.1);
            let shifted = divide(square, w);
            let weight = 2.0 * shift * scale;
            sum.0 += weight * shifted.0 - 0.5 * w.0.hypot(w.1).ln();
            sum.1 += weight * shifted.1 - 0.5 * w.1.atan2(w.0);
        }
        sum
    }
}

fn divide(a: Complex, b: Complex) -> Complex {
    let square = b.0 * b.0 + b.1 * b.1;
    ((a.0 * b.0 + a.1 * b.1) / square, (a.1 * b.0 - a.0 * b.1) / square)
}
