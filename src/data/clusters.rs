//! Round Gaussian classes around centres on a sphere.

use rand::RngExt;
use rand_distr::StandardNormal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::labels::MOST_CLASSES;
use super::source::Law;
use super::sphere;
use crate::random::{Purpose, Stream, Streams};

/// The class k is uniform on 0, …, K − 1, and x ~ N(c_k, I). The centres c_k are drawn once per
/// repeat, uniformly on the sphere of radius s.
///
/// Two centres at right angles are s√2 apart, so that a rule which tells only these two classes errs
/// with probability Φ(−s/√2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clusters {
    /// K, the number of classes, 2 to 1,000.
    pub classes: usize,
    /// Number of features, 1 to 1,000,000, and at most 100 million coordinates of all centres.
    pub dimension: usize,
    /// s, the distance of each centre from the origin in standard deviations of a class, from 0.
    pub separation: f64,
}

/// The most coordinates of all centres together: they have to fit in memory.
const MOST_COORDINATES: usize = 100_000_000;

impl Clusters {
    pub(super) fn check(&self) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        let mut problem = |field: &str, message: String| problems.push((field.into(), message));
        let &Self { classes, dimension, separation } = self;
        if !(2..=MOST_CLASSES).contains(&classes) {
            problem("classes", format!("found {classes}, expected 2 to {MOST_CLASSES}"));
        }
        let most = (MOST_COORDINATES / classes.clamp(2, MOST_CLASSES)).min(sphere::MOST_DIMENSIONS);
        if !(1..=most).contains(&dimension) {
            problem("dimension", format!("found {dimension}, expected 1 to {most}"));
        }
        if !(0.0..f64::INFINITY).contains(&separation) {
            let message = format!("found {separation}, expected a finite number from 0");
            problem("separation", message);
        }
        problems
    }

    /// Draws the centres.
    pub(super) fn law(&self, streams: &Streams) -> ClustersLaw {
        let mut stream = streams.single(Purpose::Truth);
        let mut centres = vec![0.0; self.classes * self.dimension];
        for centre in centres.chunks_exact_mut(self.dimension) {
            sphere::draw(&mut stream, centre);
            centre.iter_mut().for_each(|value| *value *= self.separation);
        }
        ClustersLaw { centres, dimension: self.dimension }
    }
}

/// The law of the rows, given the centres.
pub(super) struct ClustersLaw {
    /// One centre behind the other.
    centres: Vec<f64>,
    dimension: usize,
}

impl Law for ClustersLaw {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn classes(&self) -> usize {
        self.centres.len() / self.dimension
    }

    fn draw(&self, stream: &mut Stream, x: &mut [f64]) -> f64 {
        let class = stream.random_range(0..self.classes());
        let centre = &self.centres[class * self.dimension..][..self.dimension];
        for (x, c) in x.iter_mut().zip(centre) {
            *x = c + stream.sample::<f64, _>(StandardNormal);
        }
        class as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::testing::{sample, within};
    use super::*;
    use crate::units::Seed;

    #[test]
    fn each_class_is_as_likely_and_a_unit_gaussian_around_its_centre() {
        let source = Clusters { classes: 3, dimension: 4, separation: 3.0 };
        let law = source.law(&Streams::new(Seed(1), 0));
        let n = 60_000;
        let rows = sample(&law, n);
        for class in 0..3 {
            let of_class: Vec<_> = rows.iter().filter(|(_, y)| *y == class as f64).collect();
            let m = of_class.len();
            within(m as f64 / n as f64, 1.0 / 3.0, (2.0_f64 / 9.0).sqrt(), n);
            let centre = &law.centres[class * 4..][..4];
            assert!((sphere::dot(centre, centre) - 9.0).abs() < 1e-12);
            for (i, &c) in centre.iter().enumerate() {
                let mean = of_class.iter().map(|(x, _)| x[i]).sum::<f64>() / m as f64;
                // E z² = 1, and the deviation of z² is √2; different features do not correlate.
                let second = of_class.iter().map(|(x, _)| (x[i] - c).powi(2)).sum::<f64>();
                let j = (i + 1) % 4;
                let cross =
                    of_class.iter().map(|(x, _)| (x[i] - c) * (x[j] - centre[j])).sum::<f64>();
                within(mean, c, 1.0, m);
                within(second / m as f64, 1.0, 2_f64.sqrt(), m);
                within(cross / m as f64, 0.0, 1.0, m);
            }
        }
    }

    /// With two classes the nearest centre decides best, and errs with probability Φ(−|c₀ − c₁|/2).
    /// In one dimension the centres are ±s: where they differ that is Φ(−s), and where they agree a
    /// half.
    #[test]
    fn the_nearest_centre_errs_as_often_as_the_law_says() {
        let source = Clusters { classes: 2, dimension: 1, separation: 1.0 };
        let n = 20_000;
        let mut met = [false; 2];
        for seed in 0..12 {
            let law = source.law(&Streams::new(Seed(seed), 0));
            let apart = law.centres[0] != law.centres[1];
            met[usize::from(apart)] = true;
            let wrong = sample(&law, n).into_iter().filter(|(x, y)| {
                let nearer = |k: usize| (x[0] - law.centres[k]).abs();
                f64::from(nearer(1) < nearer(0)) != *y
            });
            let error: f64 = if apart { 0.158_655_253_931_457 } else { 0.5 };
            within(wrong.count() as f64 / n as f64, error, (error * (1.0 - error)).sqrt(), n);
        }
        assert_eq!(met, [true, true]);
    }

    /// A centre uniform on the sphere of radius s has mean 0 and second moment s²/d in each
    /// coordinate, which in three dimensions is uniform on [−s, s] (Archimedes).
    #[test]
    fn centres_are_uniform_on_the_sphere() {
        let source = Clusters { classes: 1000, dimension: 3, separation: 2.0 };
        let centres: Vec<f64> =
            (0..20).flat_map(|repeat| source.law(&Streams::new(Seed(7), repeat)).centres).collect();
        let n = centres.len() / 3;
        for i in 0..3 {
            let coordinates = || centres.iter().skip(i).step_by(3);
            within(coordinates().sum::<f64>() / n as f64, 0.0, (4.0_f64 / 3.0).sqrt(), n);
            let second = coordinates().map(|c| c * c).sum::<f64>() / n as f64;
            within(second, 4.0 / 3.0, 4.0 * (4.0_f64 / 45.0).sqrt(), n);
        }
        let other = source.law(&Streams::new(Seed(7), 1)).centres;
        assert_ne!(centres[..3000], other[..], "another repeat has other centres");
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        let fine = Clusters { classes: 10, dimension: 20, separation: 0.0 };
        assert_eq!(fine.check(), []);
        let listed = |source: Clusters| -> Vec<String> {
            source.check().iter().map(|(field, message)| format!("{field}: {message}")).collect()
        };
        assert_eq!(
            listed(Clusters { classes: 1, dimension: 0, separation: f64::INFINITY }),
            [
                "classes: found 1, expected 2 to 1000",
                "dimension: found 0, expected 1 to 1000000",
                "separation: found inf, expected a finite number from 0",
            ]
        );
        assert_eq!(
            listed(Clusters { classes: 1000, dimension: 100_001, separation: -1.0 }),
            [
                "dimension: found 100001, expected 1 to 100000",
                "separation: found -1, expected a finite number from 0",
            ]
        );
    }
}
