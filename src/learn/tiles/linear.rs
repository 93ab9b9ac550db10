//! A net without activation.
//!
//! The bias b₁ is one more row of W₁, that of an input which is always 1. With x̂ = [x, 1] and
//! Ŵ = [W₁; b₁], Q_a(x) = x̂ᵀu_a + b₂_a, u_a = Ŵ W₂_a, and the gradient of Σ_r e_r Q_{a_r}(x_r) has only
//! two directions, one for each output: with s_a = Σ_{r: a_r = a} e_r x̂_r it is Ŵᵀs_a by W₂_a and
//! s_0 W₂_0ᵀ + s_1 W₂_1ᵀ by Ŵ. So no row ever goes through the hidden units, and u is kept.

use super::super::kernel::rows::dots;
use super::super::kernel::{self, Four, Loop, run};
use super::{AdamStepOfEight, Eight, Moving, step};
use kernel::Eight as _;

use crate::units::prefetch;

/// u of both outputs: of each input, and of the 1 behind them.
///
/// # Panics
/// If the lengths do not fit.
pub fn fold(weights: &[Eight], slopes: [&mut [f64]; 2]) {
    let inputs = slopes[0].len();
    for (output, slopes) in slopes.into_iter().enumerate() {
        for (input, slope) in slopes.iter_mut().enumerate() {
            let mut lanes = [0.0; 4];
            for tile in weights.chunks_exact(inputs + 2) {
                for (w, out) in tile[input].0.iter().zip(&tile[inputs + output].0) {
                    (0..4).for_each(|lane| lanes[lane] += w[lane] * out[lane]);
                }
            }
            *slope = total(lanes);
        }
    }
}

/// Q of both outputs, row by row, from u and b₂.
///
/// # Panics
/// If the lengths do not fit.
pub fn linear_values(
    states: &[f64],
    slopes: [&[f64]; 2],
    biases: [f64; 2],
    values: &mut [[f64; 2]],
) {
    run(LinearValues { states, slopes, biases, values });
}

pub(super) struct LinearValues<'a> {
    pub(super) states: &'a [f64],
    pub(super) slopes: [&'a [f64]; 2],
    pub(super) biases: [f64; 2],
    pub(super) values: &'a mut [[f64; 2]],
}

impl Loop for LinearValues<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Four>(self) {
        let Self { states, slopes, biases, values } = self;
        let d = slopes[0].len() - 1;
        for (x, values) in states.chunks_exact(d).zip(values) {
            let [z0, z1] = dots::<F, 2>(slopes, x);
            *values = [z0 + slopes[0][d] + biases[0], z1 + slopes[1][d] + biases[1]];
        }
    }
}

/// A step down Σ_r e_r Q_{a_r}(x_r), for all weights but b₂, and u after it.
#[derive(Debug)]
pub struct LinearStep<'a> {
    /// What moves.
    pub moving: Moving<'a>,
    /// s of both outputs.
    pub sums: [&'a [f64]; 2],
    /// u of both outputs, which comes out.
    pub slopes: [&'a mut [f64]; 2],
    /// To work in, as many as an output has sums.
    pub room: &'a mut [Eight],
}

impl LinearStep<'_> {
    /// Takes it.
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn take(self) {
        let inputs = self.room.len();
        let lengths =
            [self.sums[0], self.sums[1], self.slopes[0], self.slopes[1]].map(<[f64]>::len);
        assert!(lengths == [inputs; 4], "an input has sums and slopes");
        assert!(self.moving.len().is_multiple_of(inputs + 2), "tiles are whole");
        run(self);
    }
}

impl Loop for LinearStep<'_> {
    type Output = ();
    const GAINS: bool = true;

    /// Tile by tile: a step of its W₂, then of its rows of Ŵ, each added to u as soon as it is known.
    /// Divisions and roots keep the processor from nothing else meanwhile: so Ŵᵀs of the next tile is
    /// found along with them, which also brings its weights into the cache; the moments of the inputs' weights
    /// are asked for.
    #[inline(always)]
    fn run<F: Four>(self) {
        let Self { moving, sums, slopes, room } = self;
        let Moving { step: adam, weights, mean, square } = moving;
        let adam = AdamStepOfEight::<F::Two>::new(adam);
        let inputs = room.len();
        let sums = [&sums[0][..inputs], &sums[1][..inputs]];
        room.fill(Eight::default());
        let splat = F::Two::splat;
        let mut by = [splat(0.0); 2];
        for (input, w) in weights.iter().take(inputs).enumerate() {
            add_products(&mut by, [splat(sums[0][input]), splat(sums[1][input])], w);
        }
        for at in (0..weights.len()).step_by(inputs + 2) {
            let (w, later) = weights[at..].split_at_mut(inputs + 2);
            let (w, w_out) = w.split_at_mut(inputs);
            let (m, m_later) = mean[at..].split_at_mut(inputs + 2);
            let (v, v_later) = square[at..].split_at_mut(inputs + 2);
            let (m, m_out) = m.split_at_mut(inputs);
            let (v, v_out) = v.split_at_mut(inputs);
            let mut before = [splat(0.0); 2];
            let mut after = before;
            for output in 0..2 {
                before[output] = F::Two::load(&w_out[output].0);
                after[output] = step(
                    adam,
                    by[output],
                    &mut w_out[output],
                    &mut m_out[output],
                    &mut v_out[output],
                );
            }
            by = [splat(0.0); 2];
            let next = later.get(..inputs);
            for input in 0..inputs {
                let s = [splat(sums[0][input]), splat(sums[1][input])];
                let g = s[0].times(before[0]).plus(s[1].times(before[1]));
                let row = step(adam, g, &mut w[input], &mut m[input], &mut v[input]);
                for (lanes, out) in room[input].0.iter_mut().zip(after) {
                    let [low, high] = row.times(out).halves();
                    F::load(lanes).plus(low).plus(high).store(lanes);
                }
                if let Some(next) = next {
                    add_products(&mut by, s, &next[input]);
                    prefetch::line(&m_later[input].0[0][0]);
                    prefetch::line(&v_later[input].0[0][0]);
                }
            }
        }
        let [slopes0, slopes1] = slopes;
        for (input, Eight([lanes0, lanes1])) in room.iter().enumerate() {
            slopes0[input] = total(*lanes0);
            slopes1[input] = total(*lanes1);
        }
    }
}

/// Adds what one input has in Ŵᵀs of both outputs.
#[inline(always)]
fn add_products<E: kernel::Eight>(by: &mut [E; 2], s: [E; 2], w: &Eight) {
    let w = E::load(&w.0);
    for output in 0..2 {
        by[output] = by[output].plus(s[output].times(w));
    }
}

/// The sum of four lanes.
#[inline(always)]
fn total([a, b, c, d]: [f64; 4]) -> f64 {
    (a + c) + (b + d)
}
