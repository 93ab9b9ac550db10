//! What is known before a token walks: how far its model may be from the best one, and how many hops
//! it will take.

mod hops;
#[cfg(test)]
mod tests;

pub use hops::{Hops, closed_form_hops, expected_hops};

use super::forecast::Entry;
use crate::units::{Delta, Epsilon};

/// v = E|ζ|²/(η²d): the variance per coordinate of an update's noise ζ, over the squared step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WalkNoise(pub f64);

impl WalkNoise {
    /// No noise.
    pub const NONE: Self = Self(0.0);

    /// The classic calibration, v = 8 ln(1.25/δ) L²/(bε)², with L = `lipschitz` and b = `batch`.
    pub fn classic(epsilon: Epsilon, delta: Delta, lipschitz: f64, batch: u32) -> Self {
        Self::of_ratio((2.0 * (1.25 / delta.0).ln()).sqrt() / epsilon.0, lipschitz, batch)
    }

    /// The noise whose deviation s is `ratio` times the sensitivity Δ = 2ηL/b of an update:
    /// v = (2L ratio/b)². For any calibration.
    pub fn of_ratio(ratio: f64, lipschitz: f64, batch: u32) -> Self {
        Self((2.0 * lipschitz * ratio / f64::from(batch)).powi(2))
    }
}

/// A run of a token, as the bounds see it.
///
/// They bound the mean over walks and noise of F(w̄) − F(w*): the objective pooled over all samples, at
/// the mean of the models over the run, above its least value in the ball |w| ≤ R.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WalkRun {
    /// n, the samples of all peers.
    pub samples: u64,
    /// b, the samples of an update.
    pub batch: u32,
    /// T, the updates.
    pub updates: u64,
    /// d, the length of a model. As published, the bounds leave it out: as if it were 1.
    pub dimension: u32,
    /// R: models are no longer than this.
    pub radius: f64,
    /// B: gradients are no longer than this.
    pub gradient: f64,
    /// L: how fast a sample's loss changes with the model, at most.
    pub lipschitz: f64,
    /// v.
    pub noise: WalkNoise,
    /// How often the sample that is used most often is used; 1 in a single pass over samples that
    /// nobody has twice.
    pub uses: u32,
    /// ½/(1 + λ): the largest step for which one sample's effect on a local model does not grow
    /// (Lemma 5); infinite where nothing limits the steps.
    pub largest_step: f64,
}

/// A bound as the sum of its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct WalkBound {
    /// What the distance of the start costs; 0 where the bound has no such term.
    pub start: f64,
    /// What the size of gradients costs.
    pub gradient: f64,
    /// What the noise costs.
    pub privacy: f64,
    /// What drawing without replacement costs (a Rademacher complexity).
    pub without_replacement: f64,
    /// All of it.
    pub total: f64,
    /// Which of the bound's conditions do not hold here; the figure is then no bound.
    pub fails: Vec<&'static str>,
}

impl WalkBound {
    fn new(start: f64, gradient: f64, privacy: f64, without_replacement: f64) -> Self {
        let total = start + gradient + privacy + without_replacement;
        Self { start, gradient, privacy, without_replacement, total, fails: Vec::new() }
    }
}

/// Theorem 7 in words: the order of the strongly convex rate with decisions. Its constant is not
/// known, so there is no number.
pub const DECISIONS_ORDER: &str =
    "of order M ln t/(a²γ²t), with M peers and a the least probability of an action";

/// 2 + 12√2, of the complexity of drawing without replacement.
const COMPLEXITY: f64 = 2.0 + 12.0 * std::f64::consts::SQRT_2;

const UNIT: &str = "objective above its least value";
const RANGE: &str = "a parameter is not a number of its range";
const TOO_MANY: &str = "the updates need more samples than there are: bT is above n";
const REUSED: &str = "a sample is used more than once";
const LARGE_STEP: &str = "the step is above ½/(1 + λ)";
const CAPPED: &str =
    "the first steps 2/(γt) are above ½/(1 + λ), where a run takes no more than that";

impl WalkRun {
    /// Theorem 3, convex, with the constant step η:
    ///
    /// R²/(2ηT) + ηB²/2 + η d v/2 + (2(2 + 12√2)RL/3) [√(bT)/n + 2/(√n + √(n − bT))].
    pub fn convex(&self, step: f64) -> Entry<WalkBound> {
        let value = self.constant_step(step, |run| {
            let t = run.updates as f64;
            let start = run.radius.powi(2) / (2.0 * step * t);
            let gradient = 0.5 * step * run.gradient.powi(2);
            WalkBound::new(start, gradient, 0.5 * step * run.variance(), run.complexity())
        });
        entry("convex losses, a constant step, every sample used once", value)
    }

    /// The η that makes [`convex`](Self::convex) least: R/√(T(B² + d v)).
    pub fn best_step(&self) -> Entry<f64> {
        let best =
            self.radius / (self.updates as f64 * (self.gradient.powi(2) + self.variance())).sqrt();
        let value = self
            .in_range()
            .and_then(|()| if best.is_finite() && best > 0.0 { Ok(best) } else { Err(RANGE) });
        let holds = value.is_ok() && self.uses <= 1;
        Entry { value, unit: "step", condition: "that of the convex bound", holds }
    }

    /// Theorem 4, γ-strongly convex, with the steps η_t = 2/(γt):
    ///
    /// (2(2 + 12√2)²B²/(γT)) [3/(2b) + 4/n + (1/b + 2/n) ln(n/(n − b(T − 1)))]
    /// + 2B²(ln T + 1)/(γT) + d v (ln T + 1)/(γT).
    pub fn strongly_convex(&self, gamma: f64) -> Entry<WalkBound> {
        let value = self.in_range().and_then(|()| {
            if !(gamma.is_finite() && gamma > 0.0) {
                return Err(RANGE);
            }
            let (n, b, t) = (self.samples as f64, f64::from(self.batch), self.updates as f64);
            let left = n - b * (t - 1.0);
            if left <= 0.0 {
                return Err("the logarithm of n/(n − b(T − 1)) needs b(T − 1) below n");
            }
            let squares = self.gradient.powi(2);
            let without_replacement = 2.0 * COMPLEXITY.powi(2) * squares / (gamma * t)
                * (1.5 / b + 4.0 / n + (1.0 / b + 2.0 / n) * (n / left).ln());
            let harmonic = (t.ln() + 1.0) / (gamma * t);
            let (gradient, privacy) = (2.0 * squares * harmonic, self.variance() * harmonic);
            let mut bound = WalkBound::new(0.0, gradient, privacy, without_replacement);
            if b * t > n {
                bound.fails.push(TOO_MANY);
            }
            if self.uses > 1 {
                bound.fails.push(REUSED);
            }
            if 2.0 / gamma > self.largest_step {
                bound.fails.push(CAPPED);
            }
            finite(bound)
        });
        entry("strongly convex losses, the steps 2/(γt), every sample used once", value)
    }

    /// Theorem 6, convex, with decisions: M = `peers`, and the `share` of steps that are global.
    ///
    /// (M + 1)R²/(4Tη) + ηB² + share · η d v/2 + the last term of [`convex`](Self::convex).
    pub fn with_decisions(&self, step: f64, peers: u32, share: f64) -> Entry<WalkBound> {
        let mut value = if (0.0..=1.0).contains(&share) {
            self.constant_step(step, |run| {
                let start = (f64::from(peers) + 1.0) * run.radius.powi(2)
                    / (4.0 * run.updates as f64 * step);
                let privacy = 0.5 * share * step * run.variance();
                WalkBound::new(start, step * run.gradient.powi(2), privacy, run.complexity())
            })
        } else {
            Err(RANGE)
        };
        if let Ok(bound) = &mut value
            && step > self.largest_step
        {
            bound.fails.push(LARGE_STEP);
        }
        entry("convex losses, a constant step of at most ½/(1 + λ), every sample used once", value)
    }

    fn constant_step(
        &self,
        step: f64,
        bound: impl FnOnce(&Self) -> WalkBound,
    ) -> Result<WalkBound, &'static str> {
        self.in_range()?;
        if !(step.is_finite() && step > 0.0) {
            return Err(RANGE);
        }
        if self.samples < self.updates.saturating_mul(u64::from(self.batch)) {
            return Err(TOO_MANY);
        }
        let mut bound = bound(self);
        if self.uses > 1 {
            bound.fails.push(REUSED);
        }
        finite(bound)
    }

    /// d v.
    fn variance(&self) -> f64 {
        f64::from(self.dimension) * self.noise.0
    }

    /// (2(2 + 12√2)RL/3) [√(bT)/n + 2/(√n + √(n − bT))], for bT ≤ n.
    fn complexity(&self) -> f64 {
        let n = self.samples as f64;
        let used = f64::from(self.batch) * self.updates as f64;
        2.0 * COMPLEXITY * self.radius * self.lipschitz / 3.0
            * (used.sqrt() / n + 2.0 / (n.sqrt() + (n - used).sqrt()))
    }

    fn in_range(&self) -> Result<(), &'static str> {
        let counts = self.samples > 0 && self.batch > 0 && self.updates > 0 && self.dimension > 0;
        let sizes = [self.radius, self.gradient, self.lipschitz, self.noise.0];
        let sized = sizes.iter().all(|size| size.is_finite() && *size >= 0.0);
        if counts && sized && self.largest_step > 0.0 { Ok(()) } else { Err(RANGE) }
    }
}

fn finite(bound: WalkBound) -> Result<WalkBound, &'static str> {
    if bound.total.is_finite() { Ok(bound) } else { Err("the bound is beyond all numbers") }
}

fn entry(condition: &'static str, value: Result<WalkBound, &'static str>) -> Entry<WalkBound> {
    let holds = value.as_ref().is_ok_and(|bound| bound.fails.is_empty());
    Entry { value, unit: UNIT, condition, holds }
}
