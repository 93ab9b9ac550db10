//! What the published noise gives, by construction.

use super::super::*;
use super::{assert_near, golden, number, numbers};
use crate::privacy::{gaussian_epsilon, gaussian_mu};
use crate::protocol::LearnerNoise;
use crate::protocol::federated::Schedule;
use crate::protocol::weighted_erm::WeightNoise;
use crate::units::{Delta, Epsilon};

/// σ of T releases of gradients of length 1 at most, averaged over n records.
fn deviation(constant: Option<f64>, steps: u32, n: u64, (epsilon, delta): (Epsilon, Delta)) -> f64 {
    LearnerNoise { epsilon, constant, shared: false }.deviation(2.0 / n as f64, steps, delta)
}

fn with(sizes: &[u64], steps: u32, epsilon: f64) -> PublishedNoise<'_> {
    let n = sizes.iter().sum();
    let deviation = deviation(Some(8.0), steps, n, (Epsilon(epsilon), Delta(1e-5)));
    let weights: Vec<f64> = sizes.iter().map(|&size| size as f64 / n as f64).collect();
    let weights = Box::leak(weights.into_boxed_slice());
    let etas = Box::leak(vec![0.4; steps as usize].into_boxed_slice());
    PublishedNoise {
        sizes,
        weights,
        lipschitz: 1.0,
        etas,
        block: steps,
        flat: 0.0,
        steep: 2.5,
        deviation,
    }
}

fn epsilon(mu: f64) -> f64 {
    gaussian_epsilon(mu, Delta(1e-5)).0
}

#[test]
fn deviations_have_their_golden_values() {
    for row in golden()["calibration"].as_array().unwrap() {
        let (eps, delta) = (Epsilon(number(&row["eps"])), Delta(number(&row["delta"])));
        let near = |found: f64, key: &str| assert_near(found, number(&row[key]), 1e-12);
        let published = |n| deviation(Some(8.0), 50, n, (eps, delta));
        near(published(1_000), "sigma_eq4_c8_G1_T50_n1000");
        near(published(8 * 100), "sigma_jay_G1_T50_m8_n100");
        let weight_noise = WeightNoise { epsilon: eps, constant: 2.0, shared: false };
        near(weight_noise.deviation(1_000.0, delta.0), "sigma_w_c2_n1000");
        let exact = deviation(None, 50, 1_000, (eps, delta));
        assert_near(exact, number(&row["sigma_exact_G1_T50_n1000"]), 1e-10);
        assert_near(gaussian_mu(eps, delta), number(&row["gdp_mu"]), 1e-10);
        let doubled = gaussian_epsilon(2.0 * gaussian_mu(eps, delta), delta);
        assert_near(doubled.0, number(&row["gdp_eps_of_2mu"]), 1e-10);
    }
}

#[test]
fn the_published_constant_is_cautious_at_public_iterates() {
    for (eps, constant) in [(0.01, 2.06), (0.05, 2.90), (0.1, 3.29), (0.25, 3.83), (1.0, 4.84)] {
        // The c with which the published noise would be exact.
        let budget = (Epsilon(eps), Delta(1e-5));
        let found =
            (deviation(None, 20, 100, budget) / deviation(Some(1.0), 20, 100, budget)).powi(2);
        assert!((found - constant).abs() <= 0.005, "{eps}: {found}");
    }
}

#[test]
fn views_have_their_golden_values() {
    let golden = &golden()["views_500_300_200_eps0.1_T50_c8_delta1e-5"];
    let noise = with(&[500, 300, 200], 50, 0.1);
    let mu = noise.equal_curvature_mu(false);
    assert_near(mu, number(&golden["mu_final"]), 1e-12);
    assert_near(epsilon(mu), number(&golden["final_homog"]), 1e-10);
    let mut worst = 0.0_f64;
    for j in 0..3 {
        let mu = noise.local_mu(j);
        assert_near(mu, numbers(&golden["mu_local"])[j], 1e-12);
        assert_near(epsilon(mu), numbers(&golden["local"])[j], 1e-10);
        worst = worst.max(mu);
    }
    assert_near(epsilon(worst), number(&golden["final_worst"]), 1e-10);
    for shared in [false, true] {
        assert!(noise.worst_known_mu(shared) <= worst, "the average shows no more than its parts");
    }
}

#[test]
fn real_losses_are_as_the_table_has_them() {
    for (m, steps, claimed, equal, worst, local) in [
        (8, 20, 0.25, "0.52", "1.38", "1.63"),
        (8, 20, 1.0, "2.40", "6.69", "8.0"),
        (32, 50, 1.0, "5.30", "35.3", "49.9"),
    ] {
        let sizes = vec![1_000; m];
        let noise = with(&sizes, steps, claimed);
        for (mu, printed) in [
            (noise.equal_curvature_mu(false), equal),
            (noise.worst_known_mu(false), worst),
            (noise.local_mu(0), local),
        ] {
            let digits = printed.split('.').nth(1).unwrap().len();
            assert_eq!(format!("{:.digits$}", epsilon(mu)), printed, "{m} {steps} {claimed}");
        }
        assert!(epsilon(noise.claimed_mu()) < claimed);
    }
}

#[test]
fn equal_parties_have_the_closed_forms() {
    for (m, steps) in [(1, 7), (2, 1), (8, 20), (32, 50)] {
        let sizes = vec![250; m];
        let noise = with(&sizes, steps, 0.5);
        let (m, t, claim) = (m as f64, f64::from(steps), noise.claimed_mu());
        assert_near(noise.effective_parties(), m, 1e-12);
        assert_near(noise.local_mu(0), m * claim, 1e-12);
        assert_near(noise.worst_known_mu(false), m * (t / (t + m - 1.0)).sqrt() * claim, 1e-12);
        let shared = (t / (1.0 + (t - 1.0) / (m * m))).sqrt() * claim;
        assert_near(noise.worst_known_mu(true), shared, 1e-12);
    }
}

/// The averages of one-dimensional quadratics of these curvatures, after each block on its own, where
/// party `moved` has its mean gradient changed by `push` and noise number `kick` is 1 and all others 0.
/// Noise number tm + i is that of party i at step t, or with `shared` noise number t that of all.
fn averages(
    noise: &PublishedNoise<'_>,
    (curvatures, shared): (&[f64], bool),
    (moved, push): (usize, f64),
    kick: Option<usize>,
) -> Vec<f64> {
    let m = noise.sizes.len();
    let mut models = vec![0.0; m];
    let mut averages = Vec::new();
    for (t, step) in noise.etas.iter().enumerate() {
        for i in 0..m {
            let z = if kick == Some(if shared { t } else { t * m + i }) { 1.0 } else { 0.0 };
            let push = if i == moved { push } else { 0.0 };
            models[i] -= step * (curvatures[i] * models[i] + push + z);
        }
        if (t + 1) % noise.block as usize == 0 || t + 1 == noise.etas.len() {
            averages.push(models.iter().zip(noise.weights).map(|(model, p)| p * model).sum());
            // Who knows this average knows where the next block starts.
            models.fill(0.0);
        }
    }
    averages
}

/// μ of the averages, from what each draw does to them.
fn constructed_mu(noise: &PublishedNoise<'_>, rule: (&[f64], bool), moved: usize) -> f64 {
    let push = 2.0 * noise.lipschitz / noise.sizes[moved] as f64;
    let signals = averages(noise, rule, (moved, push), None);
    let draws = noise.etas.len() * if rule.1 { 1 } else { noise.sizes.len() };
    let mut variances = vec![0.0; signals.len()];
    for kick in 0..draws {
        let left = averages(noise, rule, (moved, 0.0), Some(kick));
        variances.iter_mut().zip(left).for_each(|(sum, left)| *sum += left * left);
    }
    let squares = signals.iter().zip(variances).map(|(signal, v)| signal * signal / v);
    squares.sum::<f64>().sqrt() / noise.deviation
}

/// The worst of a party of the least curvature among others of the least or the largest.
fn constructed_worst(noise: &PublishedNoise<'_>, shared: bool) -> f64 {
    let mut worst = 0.0_f64;
    for others in [noise.flat, noise.steep] {
        for j in 0..noise.sizes.len() {
            let mut curvatures = vec![others; noise.sizes.len()];
            curvatures[j] = noise.flat;
            worst = worst.max(constructed_mu(noise, (&curvatures, shared), j));
        }
    }
    worst
}

#[test]
fn a_flat_party_among_curved_ones_gives_away_what_is_known() {
    for sizes in [&[500_u64, 300, 200][..], &[100; 6], &[10, 1_000], &[7]] {
        for shared in [false, true] {
            let noise = with(sizes, 12, 0.3);
            let worst = constructed_worst(&noise, shared);
            assert_near(noise.worst_known_mu(shared), worst, 1e-12);
            assert!(worst > 1.0001 * noise.claimed_mu() || sizes.len() == 1);
        }
    }
}

#[test]
fn falling_steps_in_blocks_give_away_what_is_known() {
    for (strong, smooth) in [(0.05, 0.4), (0.3, 0.4), (0.001, 2.0)] {
        for block in [1, 3, 5, 14] {
            let etas = Schedule { strong, smooth, local_steps: block }.steps(14);
            for sizes in [&[500_u64, 300, 200][..], &[100; 6], &[7]] {
                let falling = PublishedNoise {
                    etas: &etas,
                    block,
                    flat: strong,
                    steep: smooth,
                    ..with(sizes, 14, 0.3)
                };
                for shared in [false, true] {
                    let worst = constructed_worst(&falling, shared);
                    assert_near(falling.worst_known_mu(shared), worst, 1e-12);
                    // Steps of 1/(4L) at most forget less than those of 1/L.
                    let whole = PublishedNoise { block, ..with(sizes, 14, 0.3) };
                    assert!(worst <= whole.worst_known_mu(shared) * (1.0 + 1e-12));
                }
            }
        }
    }
}

#[test]
fn uniform_weights_give_away_the_records_of_the_smallest_party() {
    let noise = PublishedNoise { weights: &[0.25; 4], ..with(&[400, 300, 200, 40], 9, 0.3) };
    for shared in [false, true] {
        let worst = constructed_mu(&noise, (&[2.5, 2.5, 2.5, 0.0], shared), 3);
        assert_near(noise.worst_known_mu(shared), worst, 1e-12);
    }
}

#[test]
fn flat_parties_give_away_what_equal_curvature_says() {
    for shared in [false, true] {
        let noise = with(&[500, 300, 200], 9, 0.3);
        let flat = constructed_mu(&noise, (&[0.0; 3], shared), 1);
        assert_near(noise.equal_curvature_mu(shared), flat, 1e-12);
        let curved = constructed_mu(&noise, (&[0.7; 3], shared), 1);
        assert!(curved < flat, "curvature forgets records as it forgets noise");
    }
}

#[test]
fn a_party_without_records_gives_nothing_away() {
    let (with_none, without) = (with(&[500, 0, 300], 9, 0.3), with(&[500, 300], 9, 0.3));
    assert_eq!(with_none.local_mu(1), 0.0);
    assert_eq!(with_none.worst_known_mu(false), without.worst_known_mu(false));
}

#[test]
fn averages_between_steps_leave_less_to_be_known_and_an_average_after_every_step_least() {
    let sizes = [300, 500, 200];
    let at = |block| PublishedNoise { block, ..with(&sizes, 12, 1.0) };
    for shared in [false, true] {
        let worst = [12, 6, 4, 3, 2, 1].map(|block| at(block).worst_known_mu(shared));
        assert!(worst.windows(2).all(|pair| pair[0] > pair[1]), "{worst:?}");
        assert_near(worst[5], at(1).equal_curvature_mu(shared), 1e-12);
    }
    // Blocks of 5, 5 and 2 compose.
    let short = |steps| {
        let noise = with(&sizes, steps, 1.0);
        PublishedNoise { deviation: at(1).deviation, ..noise }.worst_known_mu(false)
    };
    let composed = (2.0 * short(5).powi(2) + short(2).powi(2)).sqrt();
    assert_near(at(5).worst_known_mu(false), composed, 1e-12);
}
