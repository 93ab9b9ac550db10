//! Preprocessing: statistics of the training part, applied to both parts.

mod eigen;
mod pca;
mod scaling;

use ndarray::{ArrayViewMut2, Axis, Slice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::scaling::Scaling;
use super::error::no_column;
use super::frame::Frame;
use super::{DataError, numbered};

/// A preprocessing step. Its statistics come from the training part alone, as it is dealt, and from
/// the private rows of all peers: each run declares them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Step {
    /// Subtracts each feature's mean over the training part and divides by its (population)
    /// standard deviation. A constant feature is centred and left unscaled.
    Standardise,
    /// Divides every feature by a number that is known beforehand, such as 255 for pixels. Needs no
    /// statistic.
    Divide(Divide),
    /// Divides each feature by its largest absolute value over the training part: `all` of them, or
    /// those of some `columns`. One that is always 0 stays.
    MaxScale(Scaled),
    /// Divides every row by the largest norm of a training row, so that |x| ≤ 1 on the training
    /// part. A held-out row that is longer keeps its length, beyond 1.
    UnitBall,
    /// Divides each row by its own norm, so that |x| = 1. A row of zeros stays. Needs no statistic.
    UnitSphere,
    /// Shortens each row that is longer than a norm that is known beforehand to that norm, so that
    /// |x| ≤ norm; shorter rows stay. Needs no statistic, unlike `unit-ball`.
    Clip(Clip),
    /// Subtracts the mean and projects onto the first principal axes of the training part, those of
    /// largest variance, in order. The entry of largest magnitude in an axis is positive, which
    /// fixes its sign. For at most 4,096 features.
    Pca(Pca),
    /// Appends a feature that is 1 in every row: later steps treat it like the others. Instead of
    /// `model.intercept`, which appends it behind the last step. Once, with neither `standardise`
    /// nor `pca` behind it, which would make it 0.
    Intercept,
}

/// Division by a constant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Divide {
    /// The divisor, above 0 and finite.
    pub by: f64,
}

/// A longest norm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clip {
    /// The norm B that no row exceeds, above 0 and finite.
    pub norm: f64,
    /// Which norm: `l2` (default), the length, or `l1`, the sum of absolute values, which is no
    /// smaller and so bounds the length too.
    #[serde(default, skip_serializing_if = "NormOrder::is_default")]
    pub order: NormOrder,
}

impl Clip {
    /// To a length.
    pub fn to(norm: f64) -> Self {
        Self { norm, order: NormOrder::L2 }
    }
}

/// Which norm of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NormOrder {
    /// |x|₁ = Σ|x_k|.
    L1,
    /// |x|₂ = √Σx_k².
    #[default]
    L2,
}

impl NormOrder {
    fn is_default(&self) -> bool {
        *self == Self::L2
    }
}

/// Which features are scaled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Scaled {
    /// Every one.
    All,
    /// Those with these names.
    Columns(Vec<String>),
}

/// Principal components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pca {
    /// How many features are left, from 1 to as many as there are.
    pub dimension: usize,
    /// Whether the mean is taken off first. Default true; without it the axes are those of the second
    /// moments about 0.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub centre: bool,
}

fn yes() -> bool {
    true
}

/// The name of the intercept's column.
pub(super) const INTERCEPT: &str = "intercept";

impl Step {
    /// The step, as it is written in a scenario.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Standardise => "standardise",
            Self::Divide(_) => "divide",
            Self::MaxScale(_) => "max-scale",
            Self::UnitBall => "unit-ball",
            Self::UnitSphere => "unit-sphere",
            Self::Clip(_) => "clip",
            Self::Pca(_) => "pca",
            Self::Intercept => "intercept",
        }
    }

    /// Every problem of a list of steps as (field path relative to the list, message).
    pub(super) fn check(steps: &[Self]) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        let mut intercept = false;
        for (i, step) in steps.iter().enumerate() {
            let mut problem = |field: &str, message: &str| {
                problems.push((format!("{i}{field}"), message.to_string()));
            };
            match step {
                Self::Intercept if intercept => {
                    problem("", "the intercept is there already, expected it once");
                }
                Self::Intercept => intercept = true,
                Self::Standardise if intercept => {
                    problem("", "makes the intercept 0: expected it before the intercept");
                }
                Self::Pca(_) if intercept => {
                    problem("", "takes the intercept away: expected it before the intercept");
                }
                Self::Divide(Divide { by }) if !(*by > 0.0 && by.is_finite()) => {
                    let message = format!("found {by}, expected a finite number above 0");
                    problem(".divide.by", &message);
                }
                Self::Clip(Clip { norm, .. }) if !(*norm > 0.0 && norm.is_finite()) => {
                    let message = format!("found {norm}, expected a finite number above 0");
                    problem(".clip.norm", &message);
                }
                Self::Pca(Pca { dimension: 0, .. }) => {
                    problem(".pca.dimension", "found 0, expected at least 1");
                }
                Self::MaxScale(Scaled::Columns(names)) if names.is_empty() => {
                    problem(".max-scale.columns", "found an empty list, expected a column");
                }
                _ => {}
            }
        }
        problems
    }

    /// The statistic of private data that this step uses, if it uses one.
    pub(super) fn declaration(&self) -> Option<String> {
        let statistic = match self {
            Self::Standardise => "mean and deviation of each feature".to_string(),
            Self::MaxScale(Scaled::All) => "largest absolute value of each feature".to_string(),
            Self::MaxScale(Scaled::Columns(names)) => {
                format!("largest absolute value of {}", names.join(", "))
            }
            Self::UnitBall => "largest row norm".to_string(),
            Self::Pca(Pca { dimension, centre: true }) => {
                format!("mean of each feature and {dimension} principal axes")
            }
            Self::Pca(Pca { dimension, centre: false }) => format!("{dimension} principal axes"),
            Self::Divide(_) | Self::UnitSphere | Self::Clip(_) | Self::Intercept => return None,
        };
        Some(format!("{}: {statistic} over the training part", self.name()))
    }

    /// How many features there are behind this step, where there are `width` before it.
    ///
    /// # Errors
    /// Fewer or more of them than the step can work with.
    pub(super) fn width(&self, width: usize) -> Result<usize, DataError> {
        match self {
            Self::Intercept => Ok(width + 1),
            Self::Pca(Pca { dimension, .. }) => {
                let message = if width > pca::MOST_FEATURES {
                    format!("{width} features, expected at most {}", pca::MOST_FEATURES)
                } else if *dimension > width {
                    format!("dimension {dimension}, expected at most the {width} features")
                } else {
                    return Ok(*dimension);
                };
                Err(DataError::Step { step: self.name(), message })
            }
            _ => Ok(width),
        }
    }

    /// Fits on the training part and applies to both.
    pub(super) fn run(
        &self,
        train: &mut Frame,
        test: Option<&mut Frame>,
        features: &mut Vec<String>,
    ) -> Result<(), DataError> {
        let parts = |train, test: Option<_>| [Some(train), test].into_iter().flatten();
        let overflow = |column: usize| DataError::Overflow {
            step: self.name(),
            feature: features[column].clone(),
        };
        match self {
            Self::Standardise | Self::Divide(_) | Self::MaxScale(_) | Self::UnitBall => {
                let scaling = match self {
                    Self::Divide(Divide { by }) => Scaling::by_constant(train.view().ncols(), *by),
                    Self::Standardise => Scaling::standardise(train.view()),
                    Self::MaxScale(scaled) => {
                        Scaling::by_maximum(train.view(), &self.places(scaled, features)?)
                    }
                    _ => Scaling::unit_ball(train.view()),
                };
                parts(train, test)
                    .try_for_each(|part| scaling.apply(part.view_mut()).map_err(overflow))
            }
            Self::UnitSphere => parts(train, test)
                .try_for_each(|part| scaling::unit_sphere(part.view_mut()).map_err(overflow)),
            Self::Clip(clip) => parts(train, test)
                .try_for_each(|part| scaling::clip(part.view_mut(), *clip).map_err(overflow)),
            Self::Pca(Pca { dimension, centre }) => {
                let axes = pca::Axes::fit(train.view(), *dimension, *centre).map_err(overflow)?;
                for part in parts(train, test) {
                    axes.project(part.view_mut()).map_err(overflow)?;
                    part.narrow(*dimension);
                }
                *features = numbered("pc", *dimension);
                Ok(())
            }
            Self::Intercept => {
                parts(train, test).for_each(Frame::append_ones);
                features.push(INTERCEPT.to_string());
                Ok(())
            }
        }
    }

    /// Applies a step that looks at one row at a time to some rows in `columns` columns, of which the first
    /// `width` are in use, and returns how many are then: the same arithmetic as [`run`](Self::run).
    ///
    /// # Errors
    /// The first column in which what comes out is not finite.
    ///
    /// # Panics
    /// For a step that needs all rows at once.
    pub(super) fn run_on_rows(
        &self,
        mut x: ArrayViewMut2<'_, f64>,
        width: usize,
    ) -> Result<usize, usize> {
        let mut used = x.slice_axis_mut(Axis(1), Slice::from(..width));
        match self {
            Self::Divide(Divide { by }) => scaling::divide(used, *by)?,
            Self::UnitSphere => scaling::unit_sphere(used)?,
            Self::Clip(clip) => scaling::clip(used, *clip)?,
            Self::Intercept => {
                used = x.slice_axis_mut(Axis(1), Slice::from(width..=width));
                used.fill(1.0);
                return Ok(width + 1);
            }
            Self::Standardise | Self::MaxScale(_) | Self::UnitBall | Self::Pca(_) => {
                unreachable!("{} needs all rows at once: refused by the check", self.name())
            }
        }
        Ok(width)
    }

    /// Which columns are scaled.
    fn places(&self, scaled: &Scaled, features: &[String]) -> Result<Vec<usize>, DataError> {
        let Scaled::Columns(names) = scaled else { return Ok((0..features.len()).collect()) };
        let place = |name: &String| {
            features.iter().position(|feature| feature == name).ok_or_else(|| DataError::Step {
                step: self.name(),
                message: no_column(name, features),
            })
        };
        names.iter().map(place).collect()
    }
}

#[cfg(test)]
mod tests;
