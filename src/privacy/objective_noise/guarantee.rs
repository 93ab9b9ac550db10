//! What one release of the exact minimiser of a perturbed objective gives.
//!
//! # The setting
//! ŵ minimises (1/m) Σ_j ℓ(y_j, wᵀx_j) + (q/2)|w|² + bᵀw + (1/n) ηᵀw, where b does not depend on the
//! data and ℓ(y, z) = φ(z) − (k/2) y z with φ convex and even, |φ'| ≤ slope − k/2 and φ'' ≤ c. The
//! gradient vanishes at ŵ, so η = T(ŵ) with T(w) = −n(∇F(w) + qw + b), which is a bijection as q > 0:
//! ŵ has the density f(T(w)) |det DT(w)|, f the density of η and −DT/n = A = ∇²F + qI.
//!
//! **A label** enters T as a constant and DT not at all. Replacing it adds a constant to T of length
//! at most D = nkB/m: releasing ŵ is releasing η moved by that. What follows for a label is exact.
//!
//! **A record** moves T by an amount that depends on w, and changes DT. Adding one changes A by a
//! matrix of rank one, so that det A grows by a factor 1 + (ℓ''/m) xᵀA⁻¹x, from 1 to
//! J = 1 + cB²/(mq). Replacing is adding the new one and then removing the old one: the determinants'
//! ratio lies between 1/J and J, and |T' − T| ≤ D = 2·slope·nB/m.
//!
//! - *Exponential*: f(T')/f(T) ≤ e^{ζD}, so ε = ζD + ln J with δ = 0.
//! - *Ball*: where both densities are positive, their ratio is at most J. At ε = ln J, δ is thus
//!   exactly the mass of {|T| ≤ R < |T'|}. Adding a record moves T along its x. On each line along x
//!   the move is an increasing map of the line to itself, so that what leaves the line's piece of the
//!   ball lies at its ends and is no longer than `slope`·nB/m if ℓ' has one sign (slope ≤ k), or than
//!   the whole span (2·slope − k)·nB/m of ℓ' if not: no more than a constant move of that length pushes
//!   out. Removing one pushes out at one end only. With V(D) the volume pushed out of a ball moved
//!   by D, replacing has δ = V(added) + V(removed): the intermediate data set holds both records, has
//!   the greater determinant, and so needs no factor J in front of the second term.
//! - *Gaussian*: under T ~ N(0, s²I) the log-ratio of the densities is at most
//!   ln J + (|g|² + 2 Tᵀg)/2s² for the move g = T' − T. For one record g is along x: the last term is
//!   at most X₊ with X ~ N(0, μ²), μ = slope·nB/(ms), or |X| if ℓ' may change its sign. For a
//!   replacement it is at most X₊ + Y₊ ≤ 2 max(X₊, Y₊). As (1 − e^{t−x})₊ is the integrand of the
//!   Gaussian profile, δ(ε) is at most 1, 2 or 4 times the profile of a Gaussian mechanism with
//!   μ = D/s at ε − ln J, wherever that is at least μ²/2.

use std::fmt;

use serde::Serialize;

use super::{Deviation, ObjectiveNoise, Radius, Rate};
use crate::privacy::beta::regularised_beta;
use crate::privacy::gaussian::gaussian_epsilon;
use crate::units::{Delta, Epsilon};

/// One release of an exact minimiser: the figures that its privacy depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Release {
    /// n, the number of peers: the noise enters as (1/n) ηᵀw.
    pub peers: f64,
    /// m, the number of the peer's samples: its objective is their mean loss. It is public.
    pub samples: f64,
    /// d, the number of parameters.
    pub dimension: usize,
    /// B, a bound on |x|.
    pub reach: f64,
    /// k, what replacing a label changes ℓ' by.
    pub label_slope: f64,
    /// A bound on |ℓ'|; (1 + k)/2 for logistic loss.
    pub slope: f64,
    /// c, a bound on ℓ''; ¼ for logistic loss.
    pub smoothness: f64,
    /// q, the coefficient of ½|w|²; a/n + 2βN_i in a round of ADMM.
    pub quadratic: f64,
}

/// Which data sets are to be hard to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Neighbours {
    /// One sample has another label; its features are the same.
    Label,
    /// One sample is another one.
    Record,
    /// One sample is there, or not (as if it had x = 0); m stays as it is.
    Presence,
}

/// What a guarantee rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ground {
    /// The release does not depend on what neighbours differ in.
    Independent,
    /// There is no guarantee.
    Nothing,
    /// The share of a ball that a moved copy of it does not cover.
    Overlap,
    /// The greatest ratio of two densities.
    Ratio,
    /// The exact profile of a Gaussian mechanism.
    Profile,
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Independent => "does not depend on it",
            Self::Nothing => "no guarantee",
            Self::Overlap => "overlap of two balls",
            Self::Ratio => "greatest ratio of densities",
            Self::Profile => "Gaussian profile",
        })
    }
}

/// An (ε, δ) of one release. It holds for that one alone, and only if the minimiser is exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Guarantee {
    /// ε; unbounded where there is no guarantee.
    #[serde(serialize_with = "Epsilon::finite_or_null")]
    pub epsilon: Epsilon,
    /// The whole δ that goes with this ε: the asked one for Gaussian noise, 0 for exponential noise,
    /// whatever the law gives for a ball (which may be more than was asked), 1 for no guarantee.
    pub delta: Delta,
    /// Between which data sets.
    pub neighbours: Neighbours,
    /// What it rests on.
    pub ground: Ground,
}

impl ObjectiveNoise {
    /// What the release says about one label whose features are known. Exact: no smaller ε holds
    /// with this δ for a sample with |x| = B.
    pub fn of_label(&self, release: &Release, delta: Delta) -> Guarantee {
        let distance = release.moved_by(release.label_slope);
        let (epsilon, delta, ground) = match *self {
            _ if distance == 0.0 => INDEPENDENT,
            _ if release.may_lack_a_minimiser() => NOTHING,
            Self::Sphere(_) => NOTHING,
            Self::Ball(Radius { radius }) => {
                (0.0, pushed_out(distance, radius, release.dimension), Ground::Overlap)
            }
            Self::Exponential(Rate { rate }) => (rate * distance, 0.0, Ground::Ratio),
            Self::Gaussian(Deviation { deviation }) => {
                (gaussian_epsilon(distance / deviation, delta).0, delta.0, Ground::Profile)
            }
        };
        Guarantee::new(epsilon, delta, Neighbours::Label, ground)
    }

    /// What the release says about one whole record, against any other in its place. An upper bound.
    pub fn of_record(&self, release: &Release, delta: Delta) -> Guarantee {
        let added = release.moved_by(release.longest_push());
        let removed = release.moved_by(release.slope);
        let distance = 2.0 * removed;
        let more = release.ln_determinants();
        let (epsilon, delta, ground) = match *self {
            _ if distance == 0.0 => INDEPENDENT,
            _ if release.may_lack_a_minimiser() => NOTHING,
            Self::Sphere(_) => NOTHING,
            Self::Ball(Radius { radius }) => {
                let out = |distance| pushed_out(distance, radius, release.dimension);
                (more, out(added) + out(removed), Ground::Overlap)
            }
            Self::Exponential(Rate { rate }) => (rate * distance + more, 0.0, Ground::Ratio),
            Self::Gaussian(Deviation { deviation }) => {
                let share = if release.one_sign() { 2.0 } else { 4.0 };
                (
                    more + varying_move(distance / deviation, delta.0 / share),
                    delta.0,
                    Ground::Profile,
                )
            }
        };
        Guarantee::new(epsilon, delta, Neighbours::Record, ground)
    }

    /// What the release says about whether a record is there. An upper bound.
    pub fn of_presence(&self, release: &Release, delta: Delta) -> Guarantee {
        let added = release.moved_by(release.longest_push());
        let distance = release.moved_by(release.slope);
        let more = release.ln_determinants();
        let (epsilon, delta, ground) = match *self {
            _ if distance == 0.0 => INDEPENDENT,
            _ if release.may_lack_a_minimiser() => NOTHING,
            Self::Sphere(_) => NOTHING,
            Self::Ball(Radius { radius }) => {
                (more, pushed_out(added, radius, release.dimension), Ground::Overlap)
            }
            Self::Exponential(Rate { rate }) => (rate * distance + more, 0.0, Ground::Ratio),
            Self::Gaussian(Deviation { deviation }) => {
                let share = if release.one_sign() { 1.0 } else { 2.0 };
                (
                    more + varying_move(distance / deviation, delta.0 / share),
                    delta.0,
                    Ground::Profile,
                )
            }
        };
        Guarantee::new(epsilon, delta, Neighbours::Presence, ground)
    }
}

/// ε, δ and ground of what does not depend on the data.
const INDEPENDENT: (f64, f64, Ground) = (0.0, 0.0, Ground::Independent);

/// ε, δ and ground of what gives no guarantee.
const NOTHING: (f64, f64, Ground) = (f64::INFINITY, 1.0, Ground::Nothing);

impl Guarantee {
    fn new(epsilon: f64, delta: f64, neighbours: Neighbours, ground: Ground) -> Self {
        // δ = 1 holds for any release, and an infinite ε too; what is not a number guarantees nothing.
        let holds = epsilon < f64::INFINITY && delta < 1.0;
        let (epsilon, delta, ground) = if holds { (epsilon, delta, ground) } else { NOTHING };
        Self { epsilon: Epsilon(epsilon), delta: Delta(delta), neighbours, ground }
    }

    /// What holds where either does: the greater ε with the greater δ, on the ground of the one with more of them.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        let numbers = |of: &Self| (of.epsilon.0, of.delta.0);
        let (epsilon, delta) =
            (self.epsilon.0.max(other.epsilon.0), self.delta.0.max(other.delta.0));
        let ground = if numbers(&other) > numbers(&self) { other.ground } else { self.ground };
        Self::new(epsilon, delta, self.neighbours, ground)
    }

    /// The same of a minimiser that is not exact: nothing.
    #[must_use]
    pub fn of_inexact(self) -> Self {
        let (epsilon, delta, ground) = NOTHING;
        Self::new(epsilon, delta, self.neighbours, ground)
    }
}

impl Release {
    /// How far η moves when ℓ' of one sample changes by `change`: n·change·B/m.
    fn moved_by(&self, change: f64) -> f64 {
        if change == 0.0 || self.reach == 0.0 {
            return 0.0;
        }
        self.peers * change * self.reach / self.samples
    }

    /// Whether nothing makes the objective strongly convex: then T need not be a bijection.
    fn may_lack_a_minimiser(&self) -> bool {
        self.quadratic.is_nan() || self.quadratic <= 0.0
    }

    /// Whether ℓ' has the same sign for all z.
    fn one_sign(&self) -> bool {
        self.slope <= self.label_slope
    }

    /// The most that one added sample pushes out at the two ends of a line together, as a change of
    /// ℓ': its greatest size, or its whole span if it may change its sign.
    fn longest_push(&self) -> f64 {
        self.slope.max(2.0 * self.slope - self.label_slope)
    }

    /// ln J = ln(1 + cB²/(mq)).
    fn ln_determinants(&self) -> f64 {
        if self.smoothness == 0.0 || self.reach == 0.0 {
            return 0.0;
        }
        (self.smoothness * self.reach * self.reach / (self.samples * self.quadratic)).ln_1p()
    }
}

/// The share of a ball that lies outside a copy of it moved by `distance`:
/// 1 − I_{1−y}((d+1)/2, ½) = I_y(½, (d+1)/2) with y = (D/2R)².
fn pushed_out(distance: f64, radius: f64, dimension: usize) -> f64 {
    let half = distance / (2.0 * radius);
    if half < 1.0 {
        regularised_beta(half * half, 0.5, (dimension as f64 + 1.0) / 2.0)
    } else {
        1.0
    }
}

/// ε − ln J of Gaussian noise against moves of at most μ deviations that may depend on the noise.
fn varying_move(mu: f64, delta: f64) -> f64 {
    gaussian_epsilon(mu, Delta(delta)).0.max(0.5 * mu * mu)
}
