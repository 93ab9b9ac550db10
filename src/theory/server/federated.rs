//! Federated learning with K local steps between communications.

use super::ExcessLaw;
pub use crate::protocol::federated::Schedule;

/// The deviation of the one Gaussian that a sum of parties' moves over a block of steps needs, for the
/// budget that noise of deviation σ at each of them would have: (Ση)σ/√steps.
///
/// Without noise in between, a record moves the sum by (Ση)·2G/n at most (convex losses, η ≤ 2/L), so
/// μ = √steps·(2G/n)/σ: that of `steps` gradients with σ each. Blocks of any lengths compose to the
/// budget of the whole run.
pub fn block_deviation(steps: &[f64], deviation: f64) -> f64 {
    if steps.is_empty() {
        return 0.0;
    }
    steps.iter().sum::<f64>() * deviation / (steps.len() as f64).sqrt()
}

/// Where noise comes in while parties take local steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoisePlace {
    /// In the gradient of every step, of deviation σ.
    EveryStep,
    /// Once per block of local steps, in their average, of the deviation [`block_deviation`].
    EveryBlock,
}

/// What the published bound (6) on E J(θ_T) − J* is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FederatedBound {
    /// λ, L and K.
    pub schedule: Schedule,
    /// Γ = J* − mean J_j*, how much the parties' optima differ.
    pub heterogeneity: f64,
    /// G: no gradient is longer.
    pub gradient: f64,
    /// d.
    pub dimension: u32,
    /// σ, per coordinate of the averaged gradient.
    pub deviation: f64,
    /// |θ⁰ − θ*|.
    pub distance: f64,
}

impl FederatedBound {
    /// As published: (2L/(λ(γ + T))) (B/λ + 2L|θ⁰ − θ*|²) with B = 6LΓ + 8(K − 1)²G² + dσ².
    pub fn published(&self, total: u32) -> f64 {
        self.with(2.0 * self.schedule.smooth, total)
    }

    /// Where K is above 8L/λ − 1, the bound's start needs (γ + 1)λ/4 = (K + 1)λ/4 in the place of the
    /// second 2L, if that is larger: otherwise it does not hold at t = 0.
    pub fn corrected(&self, total: u32) -> f64 {
        let Schedule { strong, smooth, local_steps } = self.schedule;
        let k = f64::from(local_steps);
        let long = k > (8.0 * self.schedule.smooth / self.schedule.strong - 1.0);
        let start = if long { (0.25 * (k + 1.0) * strong).max(2.0 * smooth) } else { 2.0 * smooth };
        self.with(start, total)
    }

    /// The real K that makes the published bound least at R = `rounds` communications, T = KR, without
    /// noise and as if γ were 8L/λ − 1 for every K:
    ///
    /// K = 1 − x + √(x² + A/C), x = γ/R + 1, A = 6LΓ/λ + 2L|θ⁰ − θ*|², C = 8G²/λ.
    pub fn best_local_steps(&self, rounds: u32) -> f64 {
        let Schedule { strong, smooth, .. } = self.schedule;
        let x = (8.0 * self.schedule.smooth / self.schedule.strong - 1.0) / f64::from(rounds) + 1.0;
        let a = 6.0 * smooth * self.heterogeneity / strong + 2.0 * smooth * self.distance.powi(2);
        let ratio = a * strong / (8.0 * self.gradient.powi(2));
        // √(x² + ratio) − x without cancellation.
        1.0 + ratio / (x + (x * x + ratio).sqrt())
    }

    fn with(&self, start: f64, total: u32) -> f64 {
        let Schedule { strong, smooth, local_steps } = self.schedule;
        let drift = self.gradient * (f64::from(local_steps) - 1.0);
        let b = 6.0 * smooth * self.heterogeneity
            + 8.0 * drift * drift
            + f64::from(self.dimension) * self.deviation.powi(2);
        let rate = 2.0 * smooth / (strong * (self.schedule.gamma() + f64::from(total)));
        rate * (b / strong + start * self.distance.powi(2))
    }
}

/// An objective as its Hessian sees it: J(θ) − J* = ½ Σ_i l_i e_i², with the error e = θ − θ* along
/// the eigenvectors.
///
/// Where all parties have that Hessian, the mean of their models moves as one model would, however
/// many local steps there are: what follows depends on the total number of steps.
#[derive(Clone, Debug, PartialEq)]
pub struct QuadraticModel {
    /// l_i.
    pub eigenvalues: Vec<f64>,
    /// e_i, the error at the start along the same eigenvector.
    pub errors: Vec<f64>,
}

impl QuadraticModel {
    /// The mean gap after gradient steps η_t with noise of deviation σ in each gradient:
    ///
    /// ½ Σ_i l_i (Π_t (1 − η_t l_i)² e_i² + σ² Σ_t η_t² Π_{s>t} (1 − η_s l_i)²).
    pub fn gap(&self, steps: &[f64], deviation: f64) -> f64 {
        let mut course = Course::new(self);
        course.take(steps, NoisePlace::EveryStep);
        course.gap(deviation)
    }

    /// The same where the noise comes once per block of `block` steps (the last one may be shorter),
    /// with the deviation of [`block_deviation`].
    pub fn gap_in_blocks(&self, steps: &[f64], block: usize, deviation: f64) -> f64 {
        let mut course = Course::new(self);
        steps.chunks(block.max(1)).for_each(|block| course.take(block, NoisePlace::EveryBlock));
        course.gap(deviation)
    }
}

impl QuadraticModel {
    /// The law of the gap whose mean is [`gap`](Self::gap).
    pub fn law(&self, steps: &[f64], deviation: f64) -> ExcessLaw {
        let mut course = Course::new(self);
        course.take(steps, NoisePlace::EveryStep);
        course.law(deviation)
    }

    /// The law of the gap whose mean is [`gap_in_blocks`](Self::gap_in_blocks).
    pub fn law_in_blocks(&self, steps: &[f64], block: usize, deviation: f64) -> ExcessLaw {
        let mut course = Course::new(self);
        steps.chunks(block.max(1)).for_each(|block| course.take(block, NoisePlace::EveryBlock));
        course.law(deviation)
    }

    /// The law of the gap after noise-free steps, with noise of deviation s on the last model.
    pub fn law_of_output(&self, steps: &[f64], deviation: f64) -> ExcessLaw {
        let mut course = Course::new(self);
        steps.iter().for_each(|&step| course.advance(step, 0.0));
        course.add_noise(1.0);
        course.law(deviation)
    }

    /// The greatest deviation of the model along any eigenvector, at any time while steps η_t are taken
    /// with noise of deviation σ in each gradient.
    pub fn spread(&self, steps: &[f64], deviation: f64) -> f64 {
        let mut course = Course::new(self);
        let mut greatest = 0.0;
        for &step in steps {
            course.advance(step, step * step);
            greatest = course.variance.iter().copied().fold(greatest, f64::max);
        }
        deviation * greatest.sqrt()
    }
}

/// The error while steps are taken: its mean squared and its variance over σ², by eigenvalue. Without
/// σ, which may depend on how many steps there will be.
struct Course<'a> {
    eigenvalues: &'a [f64],
    square: Vec<f64>,
    variance: Vec<f64>,
}

impl<'a> Course<'a> {
    fn new(model: &'a QuadraticModel) -> Self {
        let square: Vec<f64> = model.errors.iter().map(|error| error * error).collect();
        let variance = vec![0.0; square.len()];
        Self { eigenvalues: &model.eigenvalues, square, variance }
    }

    fn advance(&mut self, step: f64, noise: f64) {
        let parts = self.square.iter_mut().zip(&mut self.variance);
        for (&eigenvalue, (square, variance)) in self.eigenvalues.iter().zip(parts) {
            let factor = (1.0 - step * eigenvalue).powi(2);
            *square *= factor;
            *variance = *variance * factor + noise;
        }
    }

    /// Takes the steps of a block.
    fn take(&mut self, block: &[f64], noise: NoisePlace) {
        match noise {
            NoisePlace::EveryStep => block.iter().for_each(|&step| self.advance(step, step * step)),
            NoisePlace::EveryBlock => {
                block.iter().for_each(|&step| self.advance(step, 0.0));
                self.add_noise(block_deviation(block, 1.0).powi(2));
            }
        }
    }

    fn add_noise(&mut self, noise: f64) {
        self.variance.iter_mut().for_each(|variance| *variance += noise);
    }

    fn gap(&self, deviation: f64) -> f64 {
        let parts = self.square.iter().zip(&self.variance);
        let terms = self
            .eigenvalues
            .iter()
            .zip(parts)
            .map(|(l, (square, variance))| l * (square + deviation * deviation * variance));
        0.5 * terms.sum::<f64>()
    }

    fn law(&self, deviation: f64) -> ExcessLaw {
        // The law does not ask for the signs of errors.
        let errors = self.square.iter().map(|square| square.sqrt()).collect();
        let end = QuadraticModel { eigenvalues: self.eigenvalues.to_vec(), errors };
        let deviations: Vec<f64> = self.variance.iter().map(|v| deviation * v.sqrt()).collect();
        ExcessLaw::new(&end, &deviations)
    }

    /// The gaps after 1, 2, … communications of a schedule with `most` steps at most, each with the noise
    /// of its length.
    fn gaps(
        model: &QuadraticModel,
        schedule: Schedule,
        noise: NoisePlace,
        deviation_of: impl Fn(u32) -> f64,
        most: u32,
    ) -> impl Iterator<Item = (u32, f64)> {
        let k = schedule.local_steps.max(1);
        let mut course = Course::new(model);
        (1..=most / k).map(move |round| {
            let end = round * k;
            let block: Vec<f64> = (end - k + 1..=end).map(|t| schedule.step(t)).collect();
            course.take(&block, noise);
            (round, course.gap(deviation_of(end)))
        })
    }
}

/// The number T of steps η from 1 to `most` with the least mean gap, and that gap, where T steps need
/// noise of deviation σ in each gradient and s on the last model, (σ, s) = `noise_of(T)`.
pub fn best_constant_steps(
    model: &QuadraticModel,
    step: f64,
    noise_of: impl Fn(u32) -> (f64, f64),
    most: u32,
) -> (u32, f64) {
    let mut course = Course::new(model);
    let trace: f64 = model.eigenvalues.iter().sum();
    let gaps = (1..=most.max(1)).map(|t| {
        course.advance(step, step * step);
        let (each, last) = noise_of(t);
        (t, course.gap(each) + 0.5 * trace * last * last)
    });
    gaps.min_by(|a, b| a.1.total_cmp(&b.1)).expect("T = 1 is always tried")
}

/// T*, the number of steps from 1 to `most` with the least mean gap where T steps need noise of
/// deviation σ(T) = `deviation_of(T)` each, with the schedule of K = 1.
///
/// Takes O(`most`·d): the steps do not depend on T.
pub fn best_total_steps(
    model: &QuadraticModel,
    strong: f64,
    smooth: f64,
    deviation_of: impl Fn(u32) -> f64,
    most: u32,
) -> u32 {
    let schedule = Schedule { strong, smooth, local_steps: 1 };
    // With K = 1 a block is a step.
    let gaps = Course::gaps(model, schedule, NoisePlace::EveryStep, deviation_of, most);
    gaps.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(1, |(t, _)| t)
}

/// K* ≈ T*/R, at least 1: with few communications R the private optimum depends on the product KR.
pub fn best_local_steps(total: u32, rounds: u32) -> u32 {
    ((f64::from(total) / f64::from(rounds.max(1))).round() as u32).max(1)
}

/// The mean gap after R = `rounds` communications with K = `local_steps` steps before each, where KR
/// steps need noise of deviation `deviation_of(KR)` each, or what that makes of a block.
pub fn predicted_gap(
    model: &QuadraticModel,
    schedule: Schedule,
    rounds: u32,
    noise: NoisePlace,
    deviation_of: impl Fn(u32) -> f64,
) -> f64 {
    let k = schedule.local_steps;
    let total = k.saturating_mul(rounds);
    let (steps, deviation) = (schedule.steps(total), deviation_of(total));
    match noise {
        NoisePlace::EveryStep => model.gap(&steps, deviation),
        NoisePlace::EveryBlock => model.gap_in_blocks(&steps, k as usize, deviation),
    }
}

/// The K from 1 to `most` with the least [`predicted_gap`] at R = `rounds` communications, and that
/// gap. Unlike [`best_local_steps`], it knows that γ grows with a large K, and where the noise is.
///
/// A K takes O(KRd). They are looked at by steps of a tenth, and then one by one (beyond some hundred,
/// evenly spread) around the best of them, where the gap is a smooth function of K: some 110 times the
/// cost of `most`, at the most.
pub fn best_local_steps_at(
    model: &QuadraticModel,
    (strong, smooth): (f64, f64),
    rounds: u32,
    noise: NoisePlace,
    deviation_of: impl Fn(u32) -> f64,
    most: u32,
) -> (u32, f64) {
    let (rounds, most) = (rounds.max(1), most.max(1));
    let at = |k: u32| {
        let schedule = Schedule { strong, smooth, local_steps: k };
        (k, predicted_gap(model, schedule, rounds, noise, &deviation_of))
    };
    let less = |best: (u32, f64), next: (u32, f64)| if next.1 < best.1 { next } else { best };
    let further = |&k: &u32| Some((k + k.div_ceil(10)).min(most)).filter(|&next| next > k);
    let coarse = std::iter::successors(further(&1), further).map(at).fold(at(1), less);
    let (low, high) = (coarse.0 - coarse.0 / 9, (coarse.0 + coarse.0.div_ceil(9)).min(most));
    let stride = ((high - low) / 100 + 1) as usize;
    (low..=high).step_by(stride).map(at).fold(coarse, less)
}

/// How many communications K local steps save.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saving {
    /// The gap that both must reach: `within` above the least one with K = 1.
    pub target: f64,
    /// The communications with which K = 1 has its least gap.
    pub best_of_one: u32,
    /// The fewest communications with which K = 1 reaches the target.
    pub one: u32,
    /// The fewest communications with which K steps before each reach the target.
    pub several: u32,
}

impl Saving {
    /// How many times fewer communications K needs than K = 1 for the same target.
    pub fn ratio(&self) -> f64 {
        f64::from(self.one) / f64::from(self.several)
    }

    /// How many times fewer communications K needs than K = 1 spends on its least gap.
    pub fn ratio_to_best(&self) -> f64 {
        f64::from(self.best_of_one) / f64::from(self.several)
    }
}

/// The communications that `local_steps` save against one step before each, for a gap `within` (0.25:
/// a quarter) above the least that K = 1 has with up to `most` steps.
///
/// None where K does not reach that gap with `most` steps.
pub fn saving(
    model: &QuadraticModel,
    schedule: Schedule,
    within: f64,
    noise: NoisePlace,
    deviation_of: impl Fn(u32) -> f64,
    most: u32,
) -> Option<Saving> {
    let gaps = |local_steps: u32| {
        let schedule = Schedule { local_steps, ..schedule };
        Course::gaps(model, schedule, noise, &deviation_of, most)
    };
    let one: Vec<(u32, f64)> = gaps(1).collect();
    let &(best_of_one, least) = one.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let target = (1.0 + within) * least;
    let (one, _) = one.into_iter().find(|&(_, gap)| gap <= target)?;
    let (several, _) = gaps(schedule.local_steps).find(|&(_, gap)| gap <= target)?;
    Some(Saving { target, best_of_one, one, several })
}
