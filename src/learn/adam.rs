//! A step of Adam.

use super::kernel::Eight;

/// What a step of Adam is made with: M ← β₁M + g, V ← β₂V + g² and w ← w − r·M/(√V + ϵ).
///
/// These are Adam's moments m = (1 − β₁)M and v = (1 − β₂)V without the factors, which r and ϵ take
/// over: (1 − β₁)M/(√((1 − β₂)V) + ϵ) = (1 − β₁)/√(1 − β₂) · M/(√V + ϵ/√(1 − β₂)).
#[derive(Clone, Copy, Debug)]
pub struct AdamStep {
    /// r, the learning rate with what corrects for the moments' beginning at 0.
    pub rate: f64,
    /// β₁.
    pub mean_decay: f64,
    /// β₂.
    pub square_decay: f64,
    /// ϵ.
    pub floor: f64,
}

impl AdamStep {
    /// Takes the step for one weight, down the gradient g, with the moments M and V.
    pub fn take(self, g: f64, w: &mut f64, m: &mut f64, v: &mut f64) {
        *m = self.mean_decay * *m + g;
        *v = self.square_decay * *v + g * g;
        *w += -self.rate * *m / (v.sqrt() + self.floor);
    }
}

/// The same for eight weights at once.
#[derive(Clone, Copy)]
pub(super) struct AdamStepOfEight<E> {
    down: E,
    mean_decay: E,
    square_decay: E,
    floor: E,
}

impl<E: Eight> AdamStepOfEight<E> {
    #[inline(always)]
    pub(super) fn new(step: AdamStep) -> Self {
        Self {
            down: E::splat(-step.rate),
            mean_decay: E::splat(step.mean_decay),
            square_decay: E::splat(step.square_decay),
            floor: E::splat(step.floor),
        }
    }

    /// Takes the step. Returns the weights after it.
    #[inline(always)]
    pub(super) fn take(self, g: E, [w, m, v]: [&mut [[f64; 4]; 2]; 3]) -> E {
        let mean = self.mean_decay.times(E::load(m)).plus(g);
        let square = self.square_decay.times(E::load(v)).plus(g.times(g));
        mean.store(m);
        square.store(v);
        let moved = self.down.times(mean).over(square.root().plus(self.floor));
        let after = E::load(w).plus(moved);
        after.store(w);
        after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_that_of_the_moments_with_their_factors() {
        let (b1, b2, floor) = (0.9_f64, 0.99_f64, 1e-3);
        let root = (1.0 - b2).sqrt();
        let step = AdamStep {
            rate: 0.3 * (1.0 - b1) / root,
            mean_decay: b1,
            square_decay: b2,
            floor: floor / root,
        };
        let ([mut w, mut m, mut v], [mut expected, mut mean, mut square]) = ([0.5; 3], [0.5; 3]);
        (m, v) = (m / (1.0 - b1), v / (1.0 - b2));
        for t in 0..20 {
            let g = f64::from(t).sin();
            step.take(g, &mut w, &mut m, &mut v);
            mean = b1 * mean + (1.0 - b1) * g;
            square = b2 * square + (1.0 - b2) * g * g;
            expected -= 0.3 * mean / (square.sqrt() + floor);
            assert!((w - expected).abs() < 1e-13, "{w} where {expected} was expected");
        }
    }
}
