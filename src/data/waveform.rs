//! The waveform data of the CART book: noisy mixtures of two of three triangular waves.

use rand::RngExt;
use rand_distr::StandardNormal;

use super::source::Law;
use crate::random::Stream;

/// x_i = u·h_a(i) + (1 − u)·h_b(i) + N(0, 1) for i = 1..21 with u ~ U(0, 1). The three classes
/// (a, b) = (1, 2), (1, 3), (2, 3) are equally likely.
///
/// Binary as in the benchmark: +1 is class 2, the mixture of h₁ and h₃, a third of the rows; −1 is
/// the other two. A linear rule reaches about 88 %.
pub(super) struct Waveform;

/// The triangular wave of height 6 around `centre`: h(i) = max(6 − |i − centre|, 0).
fn wave(centre: i32, i: i32) -> f64 {
    f64::from((6 - (i - centre).abs()).max(0))
}

/// Where h₁, h₂ and h₃ have their tops.
const H1: i32 = 11;
const H2: i32 = 15;
const H3: i32 = 7;

impl Law for Waveform {
    fn dimension(&self) -> usize {
        21
    }

    fn draw(&self, stream: &mut Stream, x: &mut [f64]) -> f64 {
        let (a, b, y) = match stream.random_range(0..3_u32) {
            0 => (H1, H2, -1.0),
            1 => (H1, H3, 1.0),
            _ => (H2, H3, -1.0),
        };
        let u: f64 = stream.random();
        for (i, x) in (1..).zip(x) {
            let noise: f64 = stream.sample(StandardNormal);
            *x = u * wave(a, i) + (1.0 - u) * wave(b, i) + noise;
        }
        y
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::testing::{Moments, within};
    use super::*;

    #[test]
    fn waves_at_known_points() {
        let heights = |centre, points: [i32; 5]| points.map(|i| wave(centre, i));
        assert_eq!(heights(H1, [5, 6, 11, 16, 17]), [0.0, 1.0, 6.0, 1.0, 0.0]);
        assert_eq!(heights(H2, [9, 10, 15, 20, 21]), [0.0, 1.0, 6.0, 1.0, 0.0]);
        assert_eq!(heights(H3, [1, 2, 7, 12, 13]), [0.0, 1.0, 6.0, 1.0, 0.0]);
    }

    /// E u = 1/2 and Var u = 1/12: a class has mean (h_a + h_b)/2 and variance (h_a − h_b)²/12 + 1.
    #[test]
    fn moments_of_both_labels() {
        let n = 60_000;
        let sample = Moments::of(&Waveform, n);
        within(sample.positive_share(), 1.0 / 3.0, (2.0_f64 / 9.0).sqrt(), n);
        for i in 1..=21 {
            let feature = i as usize - 1;
            let [h1, h2, h3] = [H1, H2, H3].map(|centre| wave(centre, i));
            let variance = (h1 - h3).powi(2) / 12.0 + 1.0;
            let positive = &sample.positive;
            within(positive.mean(feature), (h1 + h3) / 2.0, variance.sqrt(), positive.rows());
            // Lighter tails than a Gaussian's: its fourth moment bounds theirs.
            let spread = variance * 2_f64.sqrt();
            within(positive.variance(feature), variance, spread, positive.rows());

            let mean = (h1 + 2.0 * h2 + h3) / 4.0;
            let within_class = ((h1 - h2).powi(2) + (h2 - h3).powi(2)) / 24.0 + 1.0;
            let variance = within_class + ((h1 - h3) / 4.0).powi(2);
            let negative = &sample.negative;
            within(negative.mean(feature), mean, variance.sqrt(), negative.rows());
        }
    }
}
