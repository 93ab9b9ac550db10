//! What releases cost together.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::gaussian::gaussian_epsilon;
use super::renyi::{gaussian_renyi, laplace_renyi, renyi_epsilon, response_renyi};
use crate::units::{Delta, Epsilon};

/// Releases of one mechanism, counted by their loss: ascending, each loss once, all of them finite
/// and above 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Groups(Vec<(f64, u64)>);

impl Groups {
    fn add(&mut self, loss: f64, count: u64) {
        if loss == 0.0 || count == 0 {
            return;
        }
        match self.0.binary_search_by(|(other, _)| other.total_cmp(&loss)) {
            Ok(at) => self.0[at].1 = self.0[at].1.saturating_add(count),
            Err(at) => self.0.insert(at, (loss, count)),
        }
    }

    /// With every loss and count changed; two losses may become one by rounding.
    fn map(&self, change: impl Fn(f64, u64) -> (f64, u64)) -> Self {
        let mut changed = Self::default();
        for &(loss, count) in &self.0 {
            let (loss, count) = change(loss, count);
            changed.add(loss, count);
        }
        changed
    }

    /// The sum over all releases of a function of their losses.
    fn sum(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.0.iter().map(|&(loss, count)| count as f64 * of(loss)).sum()
    }

    fn infinite(&self) -> bool {
        self.0.last().is_some_and(|&(loss, _)| loss == f64::INFINITY)
    }

    /// Pairs the releases of both, the k-th largest with the k-th largest, 0 where one has no more,
    /// as (loss here, loss there, how many such pairs).
    fn pairs(&self, other: &Self) -> Vec<(f64, f64, u64)> {
        let mut pairs = Vec::new();
        let (mut here, mut there) = (self.0.iter().rev().copied(), other.0.iter().rev().copied());
        let (mut a, mut b) = (here.next(), there.next());
        loop {
            let count = match (a, b) {
                (None, None) => return pairs,
                (Some((_, count)), None) | (None, Some((_, count))) => count,
                (Some((_, m)), Some((_, n))) => m.min(n),
            };
            let loss = |group: Option<(f64, u64)>| group.map_or(0.0, |(loss, _)| loss);
            pairs.push((loss(a), loss(b), count));
            let rest = |group: Option<(f64, u64)>| {
                group.map(|(loss, n)| (loss, n - count)).filter(|&(_, n)| n > 0)
            };
            a = rest(a).or_else(|| here.next());
            b = rest(b).or_else(|| there.next());
        }
    }
}

/// What releases cost together, as far as it has to be known to compose them.
///
/// Gaussian releases are summed up in one number, Laplace and pure ones are counted by their loss.
/// A randomised response is the worst of the mechanisms of its loss, hence counted among the pure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Spent {
    /// Σμ² of the Gaussian releases, μ = Δ/σ; infinite where there is no bound at all, and then
    /// there are no groups.
    #[serde(with = "number")]
    mu_squared: f64,
    /// Laplace releases by Δ₁/b.
    laplace: Groups,
    /// Randomised responses and other pure mechanisms by ε.
    pure: Groups,
}

/// μ² of one Gaussian release. A loss must not vanish because its square does, and a mistake must not
/// look like protection.
pub(super) fn gaussian_square(mu: f64) -> f64 {
    if mu == 0.0 {
        0.0
    } else if mu.is_nan() {
        f64::INFINITY
    } else {
        (mu * mu).max(f64::MIN_POSITIVE)
    }
}

/// A [`Spent`] as read from a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(with = "number")]
    mu_squared: f64,
    laplace: Groups,
    pure: Groups,
}

impl TryFrom<Written> for Spent {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { mu_squared, laplace, pure } = written;
        let losses = laplace.0.iter().chain(&pure.0).map(|&(loss, _)| loss);
        if let Some(wrong) = losses.chain([mu_squared]).find(|loss| loss.is_nan() || *loss < 0.0) {
            return Err(format!("expected losses from 0, found {wrong}"));
        }
        let same = |loss, count| (loss, count);
        Ok(Self { mu_squared, laplace: laplace.map(same), pure: pure.map(same) }.settled())
    }
}

impl Spent {
    /// Σμ², the Laplace releases and the pure ones by their loss: all that it is.
    pub(super) fn sums(&self) -> (f64, [&Vec<(f64, u64)>; 2]) {
        (self.mu_squared, [&self.laplace.0, &self.pure.0])
    }

    /// What has these [`sums`](Self::sums).
    pub(super) fn of_sums(
        mu_squared: f64,
        laplace: Vec<(f64, u64)>,
        pure: Vec<(f64, u64)>,
    ) -> Self {
        Self { mu_squared, laplace: Groups(laplace), pure: Groups(pure) }
    }
}

impl Spent {
    /// One Gaussian release with μ = Δ/σ.
    pub fn gaussian(mu: f64) -> Self {
        Self { mu_squared: gaussian_square(mu), ..Self::default() }
    }

    /// Gaussian releases with this Σμ².
    pub(super) fn gaussian_squares(mu_squared: f64) -> Self {
        Self { mu_squared, ..Self::default() }.settled()
    }

    /// One Laplace release with `ratio` = Δ₁/b.
    pub fn laplace(ratio: f64) -> Self {
        Self { laplace: Groups(vec![(ratio, 1)]), ..Self::default() }.settled()
    }

    /// One randomised response.
    pub fn response(epsilon: Epsilon) -> Self {
        Self::pure(epsilon)
    }

    /// One release of another mechanism with a pure loss.
    pub fn pure(epsilon: Epsilon) -> Self {
        Self { pure: Groups(vec![(epsilon.0, 1)]), ..Self::default() }.settled()
    }

    /// A release without protection.
    pub fn unbounded() -> Self {
        Self { mu_squared: f64::INFINITY, ..Self::default() }
    }

    /// With losses of 0 left out, and in its one form where there is no bound. A loss that is not a
    /// number, or negative, is a mistake that must not look like protection: no bound.
    fn settled(mut self) -> Self {
        let groups = [&mut self.laplace, &mut self.pure];
        let mut wrong = self.mu_squared == f64::INFINITY || self.mu_squared.is_nan();
        for group in groups {
            group.0.retain(|&(loss, count)| loss != 0.0 && count > 0);
            wrong |=
                group.infinite() || group.0.iter().any(|&(loss, _)| loss.is_nan() || loss < 0.0);
        }
        if wrong { Self::unbounded() } else { self }
    }

    /// Adds what `other` cost: adaptive composition.
    pub fn add(&mut self, other: &Self) {
        self.mu_squared += other.mu_squared;
        if self.is_unbounded() {
            *self = Self::unbounded();
            return;
        }
        for &(loss, count) in &other.laplace.0 {
            self.laplace.add(loss, count);
        }
        for &(loss, count) in &other.pure.0 {
            self.pure.add(loss, count);
        }
    }

    /// The same releases `count` times over.
    #[must_use]
    pub fn times(&self, count: u64) -> Self {
        if count == 0 {
            return Self::default();
        }
        let more = |loss, releases: u64| (loss, releases.saturating_mul(count));
        Self {
            mu_squared: self.mu_squared * count as f64,
            laplace: self.laplace.map(more),
            pure: self.pure.map(more),
        }
        .settled()
    }

    /// What they cost a group of `size` records that change together: every μ, Δ₁/b and ε is `size`
    /// times as large, by the triangle inequality of each sensitivity.
    #[must_use]
    pub fn group(&self, size: usize) -> Self {
        if size == 0 {
            return Self::default();
        }
        let factor = size as f64;
        let more = |loss, releases| (loss * factor, releases);
        Self {
            mu_squared: self.mu_squared * factor * factor,
            laplace: self.laplace.map(more),
            pure: self.pure.map(more),
        }
        .settled()
    }

    /// What they cost a record of this [`repetition`](super::repetition), from 0, if they are what
    /// they cost one in the worst cell: Σμ² is so many times as large.
    ///
    /// That holds for Gaussian releases alone. Others are counted as for a [`group`](Self::group) of
    /// ⌈repetition⌉, which is more: Σ c² ≥ Σ c, and one loss of Σ c costs no less by any route than
    /// losses of c, c', … one by one.
    #[must_use]
    pub fn repeated(&self, repetition: f64) -> Self {
        if repetition.is_nan() || repetition < 0.0 {
            return Self::unbounded();
        }
        if repetition == 0.0 || self.has_no_groups() {
            let mu_squared = if repetition == 0.0 { 0.0 } else { self.mu_squared * repetition };
            return Self { mu_squared, ..Self::default() }.settled();
        }
        self.group(repetition.ceil() as usize)
    }

    /// Σμ² of the Gaussian releases; infinite where there is no bound at all.
    pub fn mu_squared(&self) -> f64 {
        self.mu_squared
    }

    /// Whether nothing was spent.
    pub fn is_nothing(&self) -> bool {
        self.mu_squared == 0.0 && self.has_no_groups()
    }

    /// Whether there is no bound.
    pub fn is_unbounded(&self) -> bool {
        self.mu_squared == f64::INFINITY
    }

    /// Whether it is all of Gaussian releases, so that Σμ² says everything.
    pub fn is_gaussian(&self) -> bool {
        !self.is_unbounded() && self.has_no_groups()
    }

    fn has_no_groups(&self) -> bool {
        self.laplace.0.is_empty() && self.pure.0.is_empty()
    }

    /// Whether this costs at least as much as `other`, part by part and so by every route: Σμ² is no
    /// less, nor is the k-th largest loss of either kind for any k. Some pairs are neither way round.
    pub fn at_least(&self, other: &Self) -> bool {
        let no_less = |a: &Groups, b: &Groups| a.pairs(b).iter().all(|&(a, b, _)| a >= b);
        self.is_unbounded()
            || (self.mu_squared >= other.mu_squared
                && no_less(&self.laplace, &other.laplace)
                && no_less(&self.pure, &other.pure))
    }

    /// The one that costs at least as much as the other; where neither does, an upper bound of both,
    /// part by part, which may be more than either.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        if self.at_least(&other) {
            return self;
        }
        if other.at_least(&self) {
            return other;
        }
        let upper = |a: &Groups, b: &Groups| {
            let mut groups = Groups::default();
            a.pairs(b).into_iter().for_each(|(a, b, count)| groups.add(a.max(b), count));
            groups
        };
        Self {
            mu_squared: self.mu_squared.max(other.mu_squared),
            laplace: upper(&self.laplace, &other.laplace),
            pure: upper(&self.pure, &other.pure),
        }
    }

    /// Becomes the [`worst`](Self::worst) of both.
    pub fn raise(&mut self, other: &Self) {
        if !self.at_least(other) {
            *self = std::mem::take(self).worst(other.clone());
        }
    }

    /// The sum of the pure losses.
    fn pure_sum(&self) -> f64 {
        self.laplace.sum(|loss| loss) + self.pure.sum(|loss| loss)
    }

    /// The Rényi curve of everything together at the order α.
    pub fn renyi(&self, alpha: f64) -> f64 {
        gaussian_renyi(self.mu_squared, alpha)
            + self.laplace.sum(|ratio| laplace_renyi(ratio, alpha))
            + self.pure.sum(|epsilon| response_renyi(Epsilon(epsilon), alpha))
    }

    /// The least ε at δ over the routes that there are.
    ///
    /// Gaussians alone are composed exactly. Pure losses are added up (after the exact ε of the
    /// Gaussians at δ, if any: basic composition of (ε₁, δ) and (ε₂, 0)), or everything goes by the
    /// Rényi curves, whichever gives less. For a single pure release that may be Rényi's, by about δ.
    pub fn bound(&self, delta: Delta) -> Bound {
        if self.is_nothing() {
            return Bound { epsilon: Epsilon::ZERO, route: Route::Nothing };
        }
        let gaussian = gaussian_epsilon(self.mu_squared.sqrt(), delta);
        let plain = Epsilon(gaussian.0 + self.pure_sum());
        let route = match (self.mu_squared > 0.0, self.has_no_groups()) {
            (true, true) => Route::Gaussian,
            (true, false) => Route::Mixed,
            (false, _) => Route::Pure,
        };
        let mut bound = Bound { epsilon: plain, route };
        if route != Route::Gaussian {
            let (epsilon, alpha) = renyi_epsilon(|alpha| self.renyi(alpha), delta);
            if epsilon < bound.epsilon {
                bound = Bound { epsilon, route: Route::Renyi { alpha } };
            }
        }
        if bound.epsilon == Epsilon::UNBOUNDED {
            bound.route = Route::Unbounded;
        }
        bound
    }
}

/// An ε with the way it was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// The loss.
    #[serde(with = "loss")]
    pub epsilon: Epsilon,
    /// How it was bounded.
    pub route: Route,
}

/// How an ε was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Route {
    /// There was no release.
    Nothing,
    /// Exact composition of Gaussians.
    Gaussian,
    /// The sum of pure losses.
    Pure,
    /// The exact ε of the Gaussians plus the sum of the pure losses.
    Mixed,
    /// Rényi curves, summed and converted at the best order.
    Renyi {
        /// The order α.
        alpha: f64,
    },
    /// There is no bound.
    Unbounded,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "no release",
            Self::Gaussian => "exact composition of Gaussians",
            Self::Pure => "sum of pure losses",
            Self::Mixed => "exact composition of Gaussians plus sum of pure losses",
            // Near 1 it is the distance from 1 that matters.
            Self::Renyi { alpha } if *alpha < 1.05 => {
                return write!(f, "Rényi, order 1 + {:.1e}", alpha - 1.0);
            }
            Self::Renyi { alpha } if *alpha < 1e4 => return write!(f, "Rényi, order {alpha:.1}"),
            Self::Renyi { alpha } => return write!(f, "Rényi, order {alpha:.1e}"),
            Self::Unbounded => "no bound",
        })
    }
}

/// JSON has no infinity: it is written as the word `inf`.
mod number {
    use super::*;

    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if value.is_finite() {
            serializer.serialize_f64(*value)
        } else {
            serializer.collect_str(value)
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        struct Reader;
        impl serde::de::Visitor<'_> for Reader {
            type Value = f64;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or `inf`")
            }
            fn visit_f64<E>(self, value: f64) -> Result<f64, E> {
                Ok(value)
            }
            fn visit_u64<E>(self, value: u64) -> Result<f64, E> {
                Ok(value as f64)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<f64, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// [`number`] for an ε.
mod loss {
    use super::*;

    pub(super) fn serialize<S: Serializer>(loss: &Epsilon, to: S) -> Result<S::Ok, S::Error> {
        number::serialize(&loss.0, to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Epsilon, D::Error> {
        number::deserialize(from).map(Epsilon)
    }
}

#[cfg(test)]
mod tests;
