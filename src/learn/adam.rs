//! A step of Adam.

use super::kernel::{Four, Loop, run};

/// What a step of Adam is made with: m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g² and
/// w ← w − r·m/(√v + ϵ).
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
    /// Takes the step, down the gradient g, with the moments m and v.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn take(self, g: &[f64], w: &mut [f64], m: &mut [f64], v: &mut [f64]) {
        assert!([w.len(), m.len(), v.len()] == [g.len(); 3], "a weight has a gradient and moments");
        run(Taken { step: self, g, w, m, v });
    }
}

struct Taken<'a> {
    step: AdamStep,
    g: &'a [f64],
    w: &'a mut [f64],
    m: &'a mut [f64],
    v: &'a mut [f64],
}

impl Loop for Taken<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Four>(self) {
        let Self { step, g, w, m, v } = self;
        let AdamStep { rate, mean_decay, square_decay, floor } = step;
        let (g, g_tail) = g.as_chunks::<4>();
        let (w, w_tail) = w.as_chunks_mut::<4>();
        let (m, m_tail) = m.as_chunks_mut::<4>();
        let (v, v_tail) = v.as_chunks_mut::<4>();
        let [down, floors] = [F::splat(-rate), F::splat(floor)];
        let [b1, more1] = [F::splat(mean_decay), F::splat(1.0 - mean_decay)];
        let [b2, more2] = [F::splat(square_decay), F::splat(1.0 - square_decay)];
        for (((g, w), m), v) in g.iter().zip(w).zip(m).zip(v) {
            let g = F::load(g);
            let mean = b1.times(F::load(m)).plus(more1.times(g));
            let square = b2.times(F::load(v)).plus(more2.times(g.times(g)));
            mean.store(m);
            square.store(v);
            F::load(w).plus(down.times(mean).over(square.root().plus(floors))).store(w);
        }
        for (((g, w), m), v) in g_tail.iter().zip(w_tail).zip(m_tail).zip(v_tail) {
            *m = mean_decay * *m + (1.0 - mean_decay) * g;
            *v = square_decay * *v + (1.0 - square_decay) * (g * g);
            *w += -rate * *m / (v.sqrt() + floor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_formula_for_every_length() {
        let step = AdamStep { rate: 0.3, mean_decay: 0.9, square_decay: 0.99, floor: 1e-8 };
        for d in 0..13 {
            let g: Vec<f64> = (0..d).map(|i| (i as f64).sin()).collect();
            let start = |by: f64| (0..d).map(|i| by + 0.1 * i as f64).collect::<Vec<f64>>();
            let (mut w, mut m, mut v) = (start(-0.5), start(0.2), start(0.4));
            step.take(&g, &mut w, &mut m, &mut v);
            for i in 0..d {
                let mean = 0.9 * (0.2 + 0.1 * i as f64) + (1.0 - 0.9) * g[i];
                let square = 0.99 * (0.4 + 0.1 * i as f64) + (1.0 - 0.99) * (g[i] * g[i]);
                let moved = (-0.5 + 0.1 * i as f64) - 0.3 * mean / (square.sqrt() + 1e-8);
                assert_eq!([w[i], m[i], v[i]], [moved, mean, square], "{i} of {d}");
            }
        }
    }
}
