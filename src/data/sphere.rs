//! The unit sphere, and a true parameter in a uniformly drawn direction.

use rand::RngExt;
use rand_distr::StandardNormal;

use crate::random::{Purpose, Stream, Streams};

/// The most dimensions that a drawn source may have.
pub(super) const MOST_DIMENSIONS: usize = 1_000_000;

/// Draws a point uniformly from the unit sphere: a normalised standard Gaussian vector.
pub(super) fn draw(stream: &mut Stream, x: &mut [f64]) {
    loop {
        x.fill_with(|| stream.sample(StandardNormal));
        let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        // The origin has no direction. It comes up with probability about 0.
        if norm > 0.0 {
            x.iter_mut().for_each(|v| *v /= norm);
            return;
        }
    }
}

/// The true parameter w* of a linear source: its direction is uniform, its length given.
pub(super) fn truth(dimension: usize, norm: f64, streams: &Streams) -> Vec<f64> {
    let mut truth = vec![0.0; dimension];
    draw(&mut streams.single(Purpose::Truth), &mut truth);
    truth.iter_mut().for_each(|v| *v *= norm);
    truth
}

/// w*ᵀx.
pub(super) fn dot(w: &[f64], x: &[f64]) -> f64 {
    w.iter().zip(x).map(|(w, x)| w * x).sum()
}

/// Checks what the linear sources share: (field, message) of each problem.
pub(super) fn check(dimension: usize, norm: f64) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    if !(1..=MOST_DIMENSIONS).contains(&dimension) {
        let message = format!("found {dimension}, expected 1 to {MOST_DIMENSIONS}");
        problems.push(("dimension".to_string(), message));
    }
    if !(0.0..f64::INFINITY).contains(&norm) {
        problems
            .push(("norm".to_string(), format!("found {norm}, expected a finite number from 0")));
    }
    problems
}
