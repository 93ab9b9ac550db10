//! How long a training row can be: what sensitivities are computed from.

use super::preprocess::{Clip, Divide, NormOrder};
use super::{DataConfig, Source, Step};

/// A bound on the norm of every training row, and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// B: |x| ≤ B for every training row as peers see it, up to rounding.
    pub bound: f64,
    /// Whether the bound itself is read off the private rows: `unit-ball` divides by their largest
    /// norm, and a row that somebody else might have had could be longer. A guarantee that uses the
    /// bound then assumes that this norm is public and holds for all rows that were possible.
    pub from_rows: bool,
    /// Whether preparing the data fits anything to private rows (what
    /// [`DataConfig::declarations`] lists). Another row then changes how all are prepared, however
    /// short each of them is: a guarantee that compares data sets which differ in one prepared row
    /// assumes that these statistics are public.
    pub fitted: bool,
}

impl DataConfig {
    /// The bound on the norm of a training row that source and preprocessing guarantee, or nothing
    /// where they guarantee none; `intercept` tells whether the model appends one.
    ///
    /// Step by step, with B the bound before it:
    ///
    /// - The linear sources draw from the unit sphere: B = 1. Other sources have no bound.
    /// - `clip` (in either norm, since |x|₂ ≤ |x|₁) and `unit-sphere` bound rows whatever stands before them, `unit-ball` those at hand.
    ///   Behind a smaller bound that is not read off the rows, `clip` does nothing.
    /// - `divide` divides the bound, an intercept makes it √(B² + 1).
    /// - `pca` at most doubles it: the mean of rows within B is within B, so |x − x̄| ≤ 2B, and a
    ///   projection lengthens nothing. That is true of any rows within B, whatever the mean.
    /// - `standardise` and `max-scale` take it away: they divide by deviations or maxima that may be
    ///   as small as the rows make them. `max-scale: all` leaves |x| ≤ √d, too much to be of use:
    ///   expected is a `clip` behind it.
    pub fn reach(&self, intercept: bool) -> Option<Reach> {
        let drawn = match self.source {
            Source::LinearLogistic(_) | Source::LinearRegression(_) => Some(1.0),
            _ => None,
        };
        let steps = self.preprocess.iter().chain(intercept.then_some(&Step::Intercept));
        let (bound, from_rows) = steps.fold((drawn, false), |(bound, from_rows), step| {
            let keep = |bound: Option<f64>| (bound.filter(|b| b.is_finite()), from_rows);
            match step {
                // In either order: |x|₂ ≤ |x|₁.
                Step::Clip(Clip { norm, .. }) => {
                    let tighter = bound.filter(|bound| bound < norm && !from_rows);
                    (Some(tighter.unwrap_or(*norm)), false)
                }
                Step::UnitSphere => (Some(1.0), false),
                Step::UnitBall => (Some(1.0), true),
                Step::Divide(Divide { by }) => keep(bound.map(|bound| bound / by)),
                Step::Pca(_) => keep(bound.map(|bound| 2.0 * bound)),
                Step::Intercept => keep(bound.map(|bound| bound.hypot(1.0))),
                Step::Standardise | Step::MaxScale(_) => (None, false),
            }
        });
        let fitted = !self.declarations().is_empty();
        bound.map(|bound| Reach { bound, from_rows, fitted })
    }

    /// A bound on |x|₁ = Σ|x_k| of every training row as peers see it, up to rounding, in `dimension`
    /// dimensions, or nothing where there is none: √d times [`reach`](Self::reach), which it rests on,
    /// or the bound B₁ of a `clip` in the 1-norm where that is smaller.
    ///
    /// Of the steps behind such a clip, `divide` divides B₁, an intercept adds 1 and another `clip`
    /// keeps it; all others take it away.
    pub fn reach_l1(&self, intercept: bool, dimension: usize) -> Option<f64> {
        let around = (dimension as f64).sqrt() * self.reach(intercept)?.bound;
        let steps = self.preprocess.iter().chain(intercept.then_some(&Step::Intercept));
        let clipped = steps.fold(None, |bound: Option<f64>, step| match step {
            Step::Clip(Clip { norm, order: NormOrder::L1 }) => {
                Some(bound.map_or(*norm, |bound| bound.min(*norm)))
            }
            Step::Clip(Clip { order: NormOrder::L2, .. }) => bound,
            Step::Divide(Divide { by }) => bound.map(|bound| bound / by),
            Step::Intercept => bound.map(|bound| bound + 1.0),
            Step::UnitSphere
            | Step::UnitBall
            | Step::Pca(_)
            | Step::Standardise
            | Step::MaxScale(_) => None,
        });
        Some(clipped.map_or(around, |bound| bound.min(around)))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::data::{LinearLogistic, Pca, Samples, Scaled, prepare};
    use crate::units::Seed;

    fn with(steps: &[Step]) -> DataConfig {
        let samples = Some(Samples::Total(300));
        DataConfig { samples, preprocess: steps.to_vec(), ..DataConfig::from(Source::Ringnorm) }
    }

    fn reach(bound: f64, from_rows: bool, fitted: bool) -> Option<Reach> {
        Some(Reach { bound, from_rows, fitted })
    }

    const CLIP: Step = Step::Clip(Clip { norm: 3.0, order: NormOrder::L2 });
    const CLIP_SUM: Step = Step::Clip(Clip { norm: 3.0, order: NormOrder::L1 });
    const HALVE: Step = Step::Divide(Divide { by: 2.0 });
    const PCA: Step = Step::Pca(Pca { dimension: 4, centre: true });
    const MAXIMA: Step = Step::MaxScale(Scaled::All);

    #[test]
    fn each_step_does_to_the_bound_what_it_does_to_rows() {
        for (steps, intercept, expected) in [
            (vec![], false, None),
            (vec![HALVE, Step::Intercept], false, None),
            (vec![CLIP], false, reach(3.0, false, false)),
            (vec![CLIP], true, reach(10.0_f64.sqrt(), false, false)),
            (vec![CLIP_SUM], true, reach(10.0_f64.sqrt(), false, false)),
            (vec![CLIP_SUM, PCA], false, reach(6.0, false, true)),
            (vec![CLIP, HALVE], false, reach(1.5, false, false)),
            (vec![CLIP, Step::Intercept, HALVE], false, reach(2.5_f64.sqrt(), false, false)),
            (vec![Step::UnitSphere], true, reach(2.0_f64.sqrt(), false, false)),
            (vec![Step::UnitSphere, CLIP], false, reach(1.0, false, false)),
            (vec![Step::UnitBall], false, reach(1.0, true, true)),
            (vec![Step::UnitBall, HALVE], false, reach(0.5, true, true)),
            // The larger bound is the one that does not rest on the rows.
            (vec![Step::UnitBall, CLIP], false, reach(3.0, false, true)),
            (vec![CLIP, PCA], false, reach(6.0, false, true)),
            (vec![Step::UnitBall, PCA], false, reach(2.0, true, true)),
            (vec![CLIP, Step::Standardise], false, None),
            (vec![CLIP, MAXIMA], true, None),
            (vec![MAXIMA, CLIP], false, reach(3.0, false, true)),
            (vec![Step::Standardise, Step::UnitSphere], false, reach(1.0, false, true)),
            (vec![CLIP, Step::Divide(Divide { by: 1e-308 }), PCA], false, None),
        ] {
            let found = with(&steps).reach(intercept);
            let close = match (found, expected) {
                (Some(found), Some(expected)) => {
                    (found.bound - expected.bound).abs() < 1e-12
                        && Reach { bound: expected.bound, ..found } == expected
                }
                (found, expected) => found == expected,
            };
            assert!(close, "{steps:?}: {found:?}, expected {expected:?}");
        }
    }

    #[test]
    fn sums_of_absolute_values_are_bounded_by_a_clip_or_by_the_length() {
        let root = 20.0_f64.sqrt();
        let narrow = Step::Clip(Clip { norm: 0.5, order: NormOrder::L2 });
        for (steps, intercept, expected) in [
            (vec![], false, None),
            (vec![CLIP], false, Some(3.0 * root)),
            (vec![CLIP_SUM], false, Some(3.0)),
            (vec![CLIP_SUM], true, Some(4.0)),
            (vec![CLIP_SUM, HALVE], true, Some(2.5)),
            (vec![CLIP_SUM, CLIP], false, Some(3.0)),
            (vec![CLIP_SUM, narrow], false, Some(0.5 * root)),
            (vec![CLIP_SUM, Step::UnitSphere], false, Some(root)),
            (vec![CLIP_SUM, Step::UnitBall, CLIP_SUM], false, Some(3.0)),
            (vec![CLIP_SUM, MAXIMA], false, None),
        ] {
            let config = with(&steps);
            let dimension = 20 + usize::from(intercept);
            let found = config.reach_l1(intercept, dimension);
            assert_eq!(found.is_some(), expected.is_some(), "{steps:?}");
            let (Some(found), Some(expected)) = (found, expected) else { continue };
            assert!((found - expected).abs() < 1e-12, "{steps:?}: {found}, expected {expected}");
            let streams = config.streams(Seed(4), 0);
            let prepared = prepare(&config, 2, intercept, &streams, Path::new(".")).unwrap();
            for row in prepared.train.everybody().x.rows() {
                let sum: f64 = row.iter().map(|x| x.abs()).sum();
                assert!(sum <= found * (1.0 + 1e-12), "{steps:?}: {sum}");
            }
        }
    }

    #[test]
    fn linear_sources_draw_from_the_unit_sphere() {
        let source = Source::LinearLogistic(LinearLogistic { dimension: 3, norm: 9.0 });
        let config = DataConfig::from(source);
        assert_eq!(config.reach(false), reach(1.0, false, false));
    }

    #[test]
    fn no_prepared_row_is_longer() {
        for steps in [
            vec![CLIP],
            vec![CLIP_SUM],
            vec![Step::UnitBall, Step::Intercept, HALVE],
            vec![CLIP, PCA],
            vec![Step::UnitSphere, PCA, Step::Intercept],
            vec![MAXIMA, CLIP, HALVE],
        ] {
            let config = with(&steps);
            let streams = config.streams(Seed(4), 0);
            let prepared = prepare(&config, 2, false, &streams, Path::new(".")).unwrap();
            let bound = config.reach(false).unwrap().bound;
            for row in prepared.train.everybody().x.rows() {
                assert!(row.dot(&row).sqrt() <= bound * (1.0 + 1e-12), "{steps:?}");
            }
        }
    }
}
