//! What the published noise gives, by construction.

use super::super::*;
use super::{assert_near, golden, number, numbers};
use crate::privacy::{gaussian_epsilon, gaussian_mu};
use crate::units::{Delta, Epsilon};

fn with(sizes: &[u64], steps: u32, epsilon: f64) -> PublishedNoise<'_> {
    let n = sizes.iter().sum();
    let deviation = published_deviation(8.0, 1.0, steps, n, Epsilon(epsilon), Delta(1e-5));
    let weights: Vec<f64> = sizes.iter().map(|&size| size as f64 / n as f64).collect();
    let weights = Box::leak(weights.into_boxed_slice());
    PublishedNoise { sizes, weights, lipschitz: 1.0, steps, block: steps, deviation }
}

fn epsilon(mu: f64) -> f64 {
    gaussian_epsilon(mu, Delta(1e-5)).0
}

#[test]
fn deviations_have_their_golden_values() {
    for row in golden()["calibration"].as_array().unwrap() {
        let (eps, delta) = (Epsilon(number(&row["eps"])), Delta(number(&row["delta"])));
        let near = |found: f64, key: &str| assert_near(found, number(&row[key]), 1e-12);
        let published = |n| published_deviation(8.0, 1.0, 50, n, eps, delta);
        near(published(1_000), "sigma_eq4_c8_G1_T50_n1000");
        near(published(8 * 100), "sigma_jay_G1_T50_m8_n100");
        near(published_weight_deviation(2.0, 1_000, eps, delta), "sigma_w_c2_n1000");
        near(laplace_scale(2.0, 100, 1_000, eps), "laplace_b_Xi2_T100_n1000");
        let exact = published_deviation(exact_constant(eps, delta), 1.0, 50, 1_000, eps, delta);
        assert_near(exact, number(&row["sigma_exact_G1_T50_n1000"]), 1e-10);
        assert_near(gaussian_deviation(1.0, 50, 1_000, eps, delta), exact, 1e-12);
        assert_near(gaussian_mu(eps, delta), number(&row["gdp_mu"]), 1e-10);
        let doubled = gaussian_epsilon(2.0 * gaussian_mu(eps, delta), delta);
        assert_near(doubled.0, number(&row["gdp_eps_of_2mu"]), 1e-10);
    }
}

#[test]
fn the_published_constant_is_cautious_at_public_iterates() {
    for (eps, constant) in [(0.01, 2.06), (0.05, 2.90), (0.1, 3.29), (0.25, 3.83), (1.0, 4.84)] {
        let found = exact_constant(Epsilon(eps), Delta(1e-5));
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

/// The average after T steps of one-dimensional quadratics of these curvatures, where party `moved`
/// has its mean gradient changed by `push` and noise number `kick` is 1 and all others 0. Noise
/// number tm + i is that of party i at step t, or with `shared` noise number t that of all.
fn average(
    noise: &PublishedNoise<'_>,
    (curvatures, step, shared): (&[f64], f64, bool),
    (moved, push): (usize, f64),
    kick: Option<usize>,
) -> f64 {
    let (m, n) = (noise.sizes.len(), noise.sizes.iter().sum::<u64>() as f64);
    let mut models = vec![0.0; m];
    for t in 0..noise.steps as usize {
        for i in 0..m {
            let z = if kick == Some(if shared { t } else { t * m + i }) { 1.0 } else { 0.0 };
            let push = if i == moved { push } else { 0.0 };
            models[i] -= step * (curvatures[i] * models[i] + push + z);
        }
    }
    models.iter().zip(noise.sizes).map(|(model, &size)| size as f64 / n * model).sum()
}

/// μ of the average, from what each draw does to it.
fn constructed_mu(
    noise: &PublishedNoise<'_>,
    (curvatures, step, shared): (&[f64], f64, bool),
    moved: usize,
) -> f64 {
    let rule = (curvatures, step, shared);
    let push = 2.0 * noise.lipschitz / noise.sizes[moved] as f64;
    let signal = average(noise, rule, (moved, push), None).abs();
    let draws = noise.steps as usize * if shared { 1 } else { noise.sizes.len() };
    let variance: f64 =
        (0..draws).map(|kick| average(noise, rule, (moved, 0.0), Some(kick)).powi(2)).sum();
    signal / (noise.deviation * variance.sqrt())
}

#[test]
fn a_flat_party_among_curved_ones_gives_away_what_is_known() {
    let smooth = 2.5;
    for sizes in [&[500_u64, 300, 200][..], &[100; 6], &[10, 1_000], &[7]] {
        for shared in [false, true] {
            let noise = with(sizes, 12, 0.3);
            let of = |j: usize| {
                let mut curvatures = vec![smooth; sizes.len()];
                curvatures[j] = 0.0;
                constructed_mu(&noise, (&curvatures, 1.0 / smooth, shared), j)
            };
            let worst = (0..sizes.len()).map(of).fold(0.0, f64::max);
            assert_near(noise.worst_known_mu(shared), worst, 1e-12);
            assert!(worst > 1.0001 * noise.claimed_mu() || sizes.len() == 1);
        }
    }
}

#[test]
fn flat_parties_give_away_what_equal_curvature_says() {
    for shared in [false, true] {
        let noise = with(&[500, 300, 200], 9, 0.3);
        let flat = constructed_mu(&noise, (&[0.0; 3], 0.4, shared), 1);
        assert_near(noise.equal_curvature_mu(shared), flat, 1e-12);
        let curved = constructed_mu(&noise, (&[0.7; 3], 0.4, shared), 1);
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
