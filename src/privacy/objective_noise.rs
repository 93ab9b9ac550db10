//! The noise η that perturbs a peer's objective, J~(w) = J(w) + (1/n) ηᵀw: four laws, how they are
//! drawn, and what one release of the exact minimiser gives under each.
//!
//! Bounded noise of an arbitrary law is not differentially private: on a sphere, it gives nothing.

mod guarantee;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::Draws;

pub use guarantee::{Ground, Guarantee, Neighbours, Release};

/// The law of the noise η_i that peer i adds to its objective as (1/n) η_iᵀw, drawn once per peer.
///
/// All four have a uniform direction; they differ in how long η is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ObjectiveNoise {
    /// Uniform on a sphere. It disturbs the model, and gives no differential privacy: whoever knows
    /// all but one label reads the last one off the length of η.
    Sphere(Radius),
    /// Uniform in a ball. A δ of its own, for every ε: a large one unless the radius is many times
    /// the influence of a sample.
    Ball(Radius),
    /// Density ∝ e^{−ζ|η|} (Chaudhuri, Monteleoni and Sarwate 2011): pure ε, with δ = 0.
    Exponential(Rate),
    /// Independent normal coordinates: an ε for each δ.
    Gaussian(Deviation),
}

/// The size of bounded noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Radius {
    /// R, the greatest |η|, from 0.
    pub radius: f64,
}

/// How fast a density falls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// ζ, more than 0; the mean of |η| is d/ζ in d dimensions.
    pub rate: f64,
}

/// How far a coordinate strays.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// s, the standard deviation of each coordinate of η, more than 0.
    pub deviation: f64,
}

impl ObjectiveNoise {
    /// Everything that is wrong with it: (field, what was expected).
    pub fn check(&self) -> Vec<(String, String)> {
        let (field, found, holds, expected) = match *self {
            Self::Sphere(Radius { radius }) | Self::Ball(Radius { radius }) => {
                ("radius", radius, radius >= 0.0, "a finite radius from 0")
            }
            Self::Exponential(Rate { rate }) => {
                ("rate", rate, rate > 0.0, "a finite rate of more than 0")
            }
            Self::Gaussian(Deviation { deviation }) => {
                ("deviation", deviation, deviation > 0.0, "a finite deviation of more than 0")
            }
        };
        if holds && found.is_finite() {
            return Vec::new();
        }
        let field = format!("{}.{field}", self.name());
        vec![(field, format!("expected {expected}, found {found}"))]
    }

    /// The law, as it is written in a scenario.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sphere(_) => "sphere",
            Self::Ball(_) => "ball",
            Self::Exponential(_) => "exponential",
            Self::Gaussian(_) => "gaussian",
        }
    }

    /// Draws a peer's η, from position 0 of its draws.
    ///
    /// In this order: d normal numbers, one for each coordinate; then for `ball` a uniform number and
    /// for `exponential` a number of the gamma law with shape d. Gaussian noise of deviation 1 is the
    /// normal numbers themselves, so that a tape can give any η.
    pub fn draw(&self, draws: &Draws, peer: u64, eta: &mut [f64]) {
        let dimension = eta.len() as f64;
        if eta.is_empty() {
            return;
        }
        let mut draw = draws.at(peer, 0);
        eta.fill(0.0);
        draw.add_normals(1.0, eta);
        let length = match *self {
            Self::Sphere(Radius { radius }) => radius,
            // P(|η| ≤ r) = (r/R)^d
            Self::Ball(Radius { radius }) => radius * draw.uniform().powf(1.0 / dimension),
            // The sphere of radius r has area ∝ r^{d−1}: |η| has the density ∝ r^{d−1} e^{−ζr}.
            Self::Exponential(Rate { rate }) => draw.gamma(dimension) / rate,
            Self::Gaussian(Deviation { deviation }) => {
                eta.iter_mut().for_each(|coordinate| *coordinate *= deviation);
                return;
            }
        };
        stretch(eta, length);
    }

    /// E|η|² in `dimension` dimensions.
    pub fn mean_square(&self, dimension: usize) -> f64 {
        if dimension == 0 {
            return 0.0;
        }
        let d = dimension as f64;
        match *self {
            Self::Sphere(Radius { radius }) => radius * radius,
            Self::Ball(Radius { radius }) => radius * radius * (d / (d + 2.0)),
            Self::Exponential(Rate { rate }) => (d / rate) * ((d + 1.0) / rate),
            Self::Gaussian(Deviation { deviation }) => d * deviation * deviation,
        }
    }

    /// The greatest |η|, if there is one.
    pub fn largest_norm(&self) -> Option<f64> {
        match *self {
            Self::Sphere(Radius { radius }) | Self::Ball(Radius { radius }) => Some(radius),
            Self::Exponential(_) | Self::Gaussian(_) => None,
        }
    }
}

/// Gives a vector this length, its direction kept. The zero vector, which has none and comes up with
/// probability 0, is pointed along the first axis.
fn stretch(vector: &mut [f64], length: f64) {
    // By the largest coordinate first: squares of given numbers could overflow or vanish.
    let largest = vector.iter().fold(0.0, |largest: f64, v| largest.max(v.abs()));
    if largest > 0.0 {
        vector.iter_mut().for_each(|v| *v /= largest);
    } else if let Some(first) = vector.first_mut() {
        *first = 1.0;
    }
    let norm = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
    vector.iter_mut().for_each(|v| *v *= length / norm);
}

#[cfg(test)]
mod tests;
