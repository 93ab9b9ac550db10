//! Noise found from the loss that it is to keep, for protocols that release after every batch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bound, Calibration, CalibrationError, Spent};
use crate::units::{Delta, Epsilon};

/// The Gaussian noise of releases that use one batch each, by the loss ε that a record may have.
///
/// A record is in one batch: it takes part in one release of every pass over the data, and of every
/// one-against-all task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseNoise {
    /// ε that a record may lose at the scenario's δ, above 0.
    pub epsilon: Epsilon,
    /// How noise is found from ε and δ. Default `exact`.
    #[serde(default)]
    pub calibration: Calibration,
    /// Whether ε is for every task or for all of them together. Default `per-task`.
    #[serde(default)]
    pub budget: Share,
    /// How ε is spread over the passes. Default `composed`.
    #[serde(default)]
    pub passes: Composition,
}

/// What a loss is for, where several models are learnt from the same records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Share {
    /// Every one-against-all task may lose it: all of them together lose more.
    #[default]
    PerTask,
    /// All tasks together may lose it: with K of them, √K times the noise.
    Total,
}

/// How a loss is spread over several passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Composition {
    /// By exact composition of Gaussians: for k passes, √k times the noise of one.
    #[default]
    Composed,
    /// Every pass has its part, ε/k at δ/k, as in I. Hegedűs and M. Jelasity, "Distributed
    /// differentially private stochastic gradient descent" (2016): more noise than needed.
    Split,
}

impl ReleaseNoise {
    /// σ/Δ of every release, for so many tasks and passes (none count as one).
    ///
    /// With k releases that may lose (ε, δ) together, √k times what one at (ε, δ) needs: k-fold
    /// composition has μ² = k (Δ/σ)².
    ///
    /// # Errors
    /// No Gaussian noise keeps ε and δ, or the classic formula's does not keep those of one release.
    pub fn multiplier(
        &self,
        delta: Delta,
        tasks: u32,
        passes: u32,
    ) -> Result<f64, CalibrationError> {
        let tasks = match self.budget {
            Share::PerTask => 1.0,
            Share::Total => f64::from(tasks.max(1)),
        };
        let passes = f64::from(passes.max(1));
        let (parts, together) = match self.passes {
            Composition::Composed => (1.0, passes * tasks),
            Composition::Split => (passes, tasks),
        };
        let (epsilon, delta) = (Epsilon(self.epsilon.0 / parts), Delta(delta.0 / parts));
        Ok(self.calibration.deviation(1.0, epsilon, delta)? * together.sqrt())
    }

    /// What a record that was dealt once loses in the whole run at δ, by exact composition of
    /// releases with this [`multiplier`](Self::multiplier): by one task, and by all.
    ///
    /// # Errors
    /// As there.
    pub fn total(
        &self,
        delta: Delta,
        tasks: u32,
        passes: u32,
    ) -> Result<[Bound; 2], CalibrationError> {
        let multiplier = self.multiplier(delta, tasks, passes)?;
        let task = Spent::gaussian(1.0 / multiplier).times(u64::from(passes.max(1)));
        Ok([task.bound(delta), task.times(u64::from(tasks.max(1))).bound(delta)])
    }

    /// Everything that is wrong with it: (field, what was expected).
    pub fn check(&self) -> Vec<(String, String)> {
        let epsilon = self.epsilon.0;
        if epsilon > 0.0 && epsilon.is_finite() {
            return Vec::new();
        }
        vec![("epsilon".to_string(), format!("expected a finite loss above 0, found {epsilon}"))]
    }
}

#[cfg(test)]
mod tests {
    use super::super::{gaussian_delta, gaussian_mu};
    use super::*;

    /// 1/60000².
    const DELTA: Delta = Delta(1.0 / 3.6e9);

    /// ε, σ/Δ by the classic formula and by the exact profile, δ that the former really has; by an
    /// implementation of its own, at [`DELTA`].
    const GOLDEN: [(f64, f64, f64, f64); 6] = [
        (0.1, 66.674_347_741_425_54, 52.463_995_823_046_304, 2.952_832_335_047_713e-14),
        (0.5, 13.334_869_548_285_107, 11.103_411_267_821_118, 1.802_129_852_558_142e-13),
        (1.0, 6.667_434_774_142_554, 5.705_037_703_254_138, 4.618_592_801_611_774e-13),
        (2.0, 3.333_717_387_071_277, 2.946_554_174_531_677, 1.510_660_403_605_084_5e-12),
        (5.0, 1.333_486_954_828_510_7, 1.250_548_841_383_989_1, 1.599_223_907_462_998e-11),
        (10.0, 0.666_743_477_414_255_3, 0.668_675_551_217_714_7, 3.181_958_412_661_663e-10),
    ];

    /// k, and ε of k uses at the noise of the classic formula for ε = 1.
    const REUSED: [(u32, f64); 7] = [
        (1, 0.849_919_064_069_079),
        (2, 1.220_570_379_881_805),
        (5, 1.975_083_100_612_441_2),
        (7, 2.359_563_640_220_026_4),
        (10, 2.851_608_050_920_977),
        (20, 4.133_563_930_411_483_5),
        (100, 10.032_791_749_023_968),
    ];

    fn noise(epsilon: f64, calibration: Calibration) -> ReleaseNoise {
        ReleaseNoise {
            epsilon: Epsilon(epsilon),
            calibration,
            budget: Share::PerTask,
            passes: Composition::Composed,
        }
    }

    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-8, "{found:e} for {expected:e}");
    }

    #[test]
    fn one_release_has_the_noise_of_its_calibration() {
        for (epsilon, classic, exact, actual) in GOLDEN {
            let found = noise(epsilon, Calibration::Exact).multiplier(DELTA, 7, 1).unwrap();
            close(found, exact);
            close(gaussian_delta(1.0 / classic, Epsilon(epsilon)), actual);
            match noise(epsilon, Calibration::Classic).multiplier(DELTA, 7, 1) {
                Ok(found) => {
                    assert!(epsilon < 10.0);
                    close(found, classic);
                }
                Err(CalibrationError::Classic { deviation, actual: refused, .. }) => {
                    assert_eq!(epsilon, 10.0);
                    close(deviation, classic);
                    close(refused, actual);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn tasks_at_a_loss_each_lose_more_together() {
        let noise = noise(1.0, Calibration::Classic);
        for (tasks, epsilon) in REUSED {
            let [one, all] = noise.total(DELTA, tasks, 1).unwrap();
            close(one.epsilon.0, REUSED[0].1);
            close(all.epsilon.0, epsilon);
        }
    }

    #[test]
    fn passes_and_tasks_that_share_a_loss_keep_it_exactly() {
        for (count, _) in REUSED {
            let mut noise = noise(1.0, Calibration::Exact);
            let once = noise.multiplier(DELTA, 3, 1).unwrap();
            let root = f64::from(count).sqrt();
            close(noise.multiplier(DELTA, 3, count).unwrap(), once * root);
            let [one, all] = noise.total(DELTA, 3, count).unwrap();
            close(one.epsilon.0, 1.0);
            assert!(all.epsilon > one.epsilon);
            noise.budget = Share::Total;
            close(noise.multiplier(DELTA, count, 4).unwrap(), once * root * 2.0);
            let [one, all] = noise.total(DELTA, count, 4).unwrap();
            close(all.epsilon.0, 1.0);
            assert!(count == 1 || one.epsilon < all.epsilon);
        }
    }

    #[test]
    fn a_loss_split_over_passes_takes_more_noise_than_one_composed() {
        for calibration in [Calibration::Exact, Calibration::Classic] {
            let composed = noise(1.0, calibration);
            let split = ReleaseNoise { passes: Composition::Split, ..composed };
            assert_eq!(split.multiplier(DELTA, 1, 1), composed.multiplier(DELTA, 1, 1));
            for passes in [2_u32, 5, 10] {
                let k = f64::from(passes);
                let expected = match calibration {
                    Calibration::Exact => 1.0 / gaussian_mu(Epsilon(1.0 / k), Delta(DELTA.0 / k)),
                    Calibration::Classic => (2.0 * (1.25 * k / DELTA.0).ln()).sqrt() * k,
                };
                let found = split.multiplier(DELTA, 1, passes).unwrap();
                close(found, expected);
                assert!(found > composed.multiplier(DELTA, 1, passes).unwrap());
                let total = split.total(DELTA, 1, passes).unwrap()[0];
                assert!(total.epsilon < Epsilon(1.0), "{total:?}");
            }
            // Four tasks that share it have twice the noise.
            let shared = ReleaseNoise { budget: Share::Total, ..split };
            close(
                shared.multiplier(DELTA, 4, 5).unwrap(),
                2.0 * split.multiplier(DELTA, 4, 5).unwrap(),
            );
        }
    }

    #[test]
    fn it_is_written_in_a_line_and_checked() {
        let text = r#"{"epsilon": 1.0, "calibration": "classic", "budget": "total"}"#;
        let read: ReleaseNoise = serde_json::from_str(text).unwrap();
        let expected = ReleaseNoise { budget: Share::Total, ..noise(1.0, Calibration::Classic) };
        assert_eq!(read, expected);
        assert_eq!(read.check(), []);
        let split: ReleaseNoise =
            serde_json::from_str(r#"{"epsilon": 1, "budget": "per-task", "passes": "split"}"#)
                .unwrap();
        assert_eq!(split.passes, Composition::Split);
        assert!(serde_json::from_str::<ReleaseNoise>(r#"{"epsilon": 1, "delta": 0.1}"#).is_err());
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let [(field, message)] = &noise(epsilon, Calibration::Exact).check()[..] else {
                panic!("{epsilon} was accepted");
            };
            assert_eq!(field, "epsilon");
            assert!(message.contains("above 0") && message.contains(&epsilon.to_string()));
        }
        let none = noise(1.0, Calibration::Exact).multiplier(Delta(0.0), 1, 1);
        assert!(matches!(none, Err(CalibrationError::Impossible { .. })), "{none:?}");
    }
}
