//! Schedules and bounds against golden values, the quadratic model against noisy descent.

use rand::RngExt;
use rand_distr::StandardNormal;

use super::super::*;
use super::{
    assert_near, eigen, family, golden, mean_of, number, numbers, random_quadratic, times,
};

fn bound(row: &serde_json::Value) -> FederatedBound {
    let or_zero = |key: &str| row.get(key).map_or(0.0, number);
    FederatedBound {
        schedule: Schedule {
            strong: number(&row["lam"]),
            smooth: number(&row["L"]),
            local_steps: (or_zero("K") as u32).max(1),
        },
        heterogeneity: number(&row["Gamma"]),
        gradient: number(&row["G"]),
        dimension: or_zero("d") as u32,
        deviation: or_zero("sig2").sqrt(),
        distance: number(&row["D0"]),
    }
}

#[test]
fn steps_have_their_golden_values() {
    for local_steps in 1..=4 {
        let golden = &golden()["huang"][format!("K{local_steps}")];
        let schedule = Schedule { strong: 0.1, smooth: 0.35, local_steps };
        assert_near(schedule.gamma(), number(&golden["gamma"]), 1e-12);
        let expected = numbers(&golden["eta"]);
        assert_eq!(expected.len(), 4);
        for (found, expected) in schedule.steps(4).into_iter().zip(expected) {
            assert_near(found, expected, 1e-12);
        }
    }
    let long = Schedule { strong: 0.1, smooth: 0.35, local_steps: 40 };
    assert_eq!(long.gamma(), 40.0);
}

#[test]
fn bounds_have_their_golden_values() {
    let golden = golden();
    let rows = golden["huang"]["bound6"].as_array().unwrap();
    for row in rows {
        let (bound, total) = (bound(row), number(&row["T"]) as u32);
        assert_near(bound.published(total), number(&row["paper"]), 1e-12);
        assert_near(bound.corrected(total), number(&row["corrected"]), 1e-12);
    }
    assert_eq!(rows.len(), 3);
}

#[test]
fn the_best_local_steps_of_the_bound_are_golden_and_least() {
    let golden = golden();
    for row in golden["huang"]["kstar"].as_array().unwrap() {
        let (bound, rounds) = (bound(row), number(&row["R"]) as u32);
        let best = bound.best_local_steps(rounds);
        assert_near(best, number(&row["k"]), 1e-12);
    }
    // With small gradients the best K is a large number, which the bound at whole K must confirm.
    let row = &golden["huang"]["kstar"][2];
    let bound = FederatedBound { gradient: 0.003, ..bound(row) };
    let at = |local_steps: u32| {
        let schedule = Schedule { local_steps, ..bound.schedule };
        FederatedBound { schedule, ..bound }.published(100 * local_steps)
    };
    let least = (1..=200).min_by(|&a, &b| at(a).total_cmp(&at(b))).unwrap();
    let best = bound.best_local_steps(100);
    assert!(best > 5.0 && (best - f64::from(least)).abs() <= 1.0, "{best} {least}");
}

#[test]
fn the_corrected_bound_holds_where_it_starts() {
    // At T = 0 the gap may be ½L|θ⁰ − θ*|², in one dimension with all curvature L.
    let schedule = Schedule { strong: 1e-3, smooth: 0.25, local_steps: 500_000 };
    let bound = FederatedBound {
        schedule,
        heterogeneity: 0.0,
        gradient: 0.0,
        dimension: 1,
        deviation: 0.0,
        distance: 2.0,
    };
    let gap = 0.5 * 0.25 * 4.0;
    assert!(bound.published(0) < gap && bound.corrected(0) >= gap);
}

#[test]
fn one_noise_per_block_spends_what_noise_at_each_step_does() {
    let steps = Schedule { strong: 0.1, smooth: 0.35, local_steps: 3 }.steps(11);
    let (sensitivity, deviation) = (0.02, 0.7);
    let square: f64 = steps
        .chunks(3)
        .map(|block| {
            let moved = block.iter().sum::<f64>() * sensitivity;
            (moved / block_deviation(block, deviation)).powi(2)
        })
        .sum();
    assert_near(square, 11.0 * (sensitivity / deviation).powi(2), 1e-12);
}

fn model() -> QuadraticModel {
    QuadraticModel {
        eigenvalues: vec![0.35, 0.2, 0.1, 0.02, 0.011],
        errors: vec![1.0, -2.0, 0.5, 3.0, -1.5],
    }
}

/// The gap as its formula has it, product by product.
fn direct(model: &QuadraticModel, steps: &[f64], deviation: f64) -> f64 {
    let parts = model.eigenvalues.iter().zip(&model.errors).map(|(l, e)| {
        let product = |from: usize| steps[from..].iter().map(|s| 1.0 - s * l).product::<f64>();
        let noise: f64 = (0..steps.len()).map(|t| (steps[t] * product(t + 1)).powi(2)).sum();
        0.5 * l * ((product(0) * e).powi(2) + deviation * deviation * noise)
    });
    parts.sum()
}

#[test]
fn the_recursion_is_the_product() {
    for (total, deviation) in [(0, 1.0), (1, 0.3), (40, 0.0), (200, 2.0)] {
        let steps = Schedule { strong: 0.01, smooth: 0.35, local_steps: 1 }.steps(total);
        let found = model().gap(&steps, deviation);
        assert_near(found, direct(&model(), &steps, deviation), 1e-12);
        assert_near(model().gap_in_blocks(&steps, 1, deviation), found, 1e-12);
    }
}

#[test]
fn noisy_descent_on_a_random_quadratic_has_the_mean_gap() {
    const D: usize = 4;
    let (hessian, start) = random_quadratic(D);
    let (eigenvalues, vectors) = eigen(hessian.clone());
    let model = QuadraticModel { eigenvalues, errors: times(&vectors, &start) };
    let (steps, deviation, block) =
        (Schedule { strong: 0.1, smooth: 0.8, local_steps: 1 }.steps(17), 0.6, 5);
    let (mut stepwise, mut blockwise) = (Vec::new(), Vec::new());
    for repeat in 0..40_000 {
        let mut stream = family(2).stream(repeat);
        let mut descend = |in_blocks: bool| {
            let mut error = start.clone();
            for (t, step) in steps.iter().enumerate() {
                let gradient = times(&hessian, &error);
                for (e, g) in error.iter_mut().zip(gradient) {
                    let z: f64 = stream.sample(StandardNormal);
                    *e -= step * (g + if in_blocks { 0.0 } else { deviation * z });
                }
                if in_blocks && (t + 1 == steps.len() || (t + 1) % block == 0) {
                    let part = &steps[t / block * block..=t];
                    let s = part.iter().sum::<f64>() * deviation / (part.len() as f64).sqrt();
                    error
                        .iter_mut()
                        .for_each(|e| *e -= s * stream.sample::<f64, _>(StandardNormal));
                }
            }
            0.5 * times(&hessian, &error).iter().zip(&error).map(|(g, e)| g * e).sum::<f64>()
        };
        stepwise.push(descend(false));
        blockwise.push(descend(true));
    }
    for (samples, predicted) in [
        (stepwise, model.gap(&steps, deviation)),
        (blockwise, model.gap_in_blocks(&steps, block, deviation)),
    ] {
        let (mean, error) = mean_of(&samples);
        assert!((mean - predicted).abs() < 5.0 * error, "{mean} ± {error}, predicted {predicted}");
    }
}

/// Noise that grows with the root of the steps, as a budget makes it.
fn growing(scale: f64) -> impl Fn(u32) -> f64 {
    move |t| scale * f64::from(t).sqrt()
}

#[test]
fn the_best_steps_are_those_of_brute_force() {
    let gap = |local_steps: u32, rounds: u32, scale: f64| {
        let schedule = Schedule { strong: 0.1, smooth: 0.35, local_steps };
        let total = local_steps * rounds;
        direct(&model(), &schedule.steps(total), growing(scale)(total))
    };
    let mut last = u32::MAX;
    for scale in [0.003, 0.02, 0.1, 0.5] {
        let total = best_total_steps(&model(), 0.1, 0.35, growing(scale), 300);
        let by_force = |most: u32, rounds: u32| {
            let at = |k: u32| if rounds == 0 { gap(1, k, scale) } else { gap(k, rounds, scale) };
            (1..=most).min_by(|&a, &b| at(a).total_cmp(&at(b))).unwrap()
        };
        assert_eq!(total, by_force(300, 0));
        assert!(total <= last, "more noise, fewer steps");
        last = total;
        // γ is 27 up to K = 27 and K beyond.
        for (rounds, most) in [(1, 60), (4, 50), (10, 10), (2, 1)] {
            let find = |noise| {
                best_local_steps_at(&model(), (0.1, 0.35), rounds, noise, growing(scale), most)
            };
            let (k, least) = find(NoisePlace::EveryStep);
            assert_eq!(k, by_force(most, rounds), "{rounds} communications, noise {scale}");
            assert_near(least, gap(k, rounds, scale), 1e-12);
            let in_blocks = |k: u32| {
                let steps =
                    Schedule { strong: 0.1, smooth: 0.35, local_steps: k }.steps(k * rounds);
                direct_in_blocks(&model(), &steps, k as usize, growing(scale)(k * rounds))
            };
            let by_force = (1..=most).min_by(|&a, &b| in_blocks(a).total_cmp(&in_blocks(b)));
            let (k, least) = find(NoisePlace::EveryBlock);
            assert_eq!(k, by_force.unwrap(), "{rounds} averages, noise {scale}");
            assert_near(least, in_blocks(k), 1e-12);
        }
    }
}

/// The gap with noise in every average, product by product.
fn direct_in_blocks(model: &QuadraticModel, steps: &[f64], block: usize, deviation: f64) -> f64 {
    let parts = model.eigenvalues.iter().zip(&model.errors).map(|(l, e)| {
        let product = |from: usize| steps[from..].iter().map(|s| 1.0 - s * l).product::<f64>();
        let noise: f64 = (0..steps.len())
            .step_by(block)
            .map(|start| {
                let end = (start + block).min(steps.len());
                let way: f64 = steps[start..end].iter().sum();
                way * way / (end - start) as f64 * product(end).powi(2)
            })
            .sum();
        0.5 * l * ((product(0) * e).powi(2) + deviation * deviation * noise)
    });
    parts.sum()
}

#[test]
fn the_best_of_many_local_steps_is_that_of_brute_force() {
    // With little noise some hundred local steps are best, of which the first look tries a tenth.
    for (noise, scale) in [(NoisePlace::EveryStep, 0.005), (NoisePlace::EveryBlock, 0.0015)] {
        let at = |local_steps| {
            let schedule = Schedule { strong: 0.01, smooth: 0.35, local_steps };
            predicted_gap(&model(), schedule, 2, noise, growing(scale))
        };
        let by_force = (1..=250).min_by(|&a, &b| at(a).total_cmp(&at(b))).unwrap();
        assert!(by_force > 100 && by_force < 200, "{noise:?}: {by_force}");
        let found = best_local_steps_at(&model(), (0.01, 0.35), 2, noise, growing(scale), 250);
        assert_eq!(found, (by_force, at(by_force)));
    }
}

const STEPS: NoisePlace = NoisePlace::EveryStep;

#[test]
fn the_best_local_steps_share_out_the_best_total() {
    assert_eq!(
        [(63, 10), (4, 10), (65, 10), (207, 1)].map(|(t, r)| best_local_steps(t, r)),
        [6, 1, 7, 207]
    );
    let total = best_total_steps(&model(), 0.01, 0.35, growing(0.02), 2_000);
    let (searched, least) =
        best_local_steps_at(&model(), (0.01, 0.35), 10, STEPS, growing(0.02), 200);
    let k = best_local_steps(total, 10);
    let schedule = Schedule { strong: 0.01, smooth: 0.35, local_steps: k };
    let quick = predicted_gap(&model(), schedule, 10, STEPS, growing(0.02));
    assert!(k.abs_diff(searched) <= 1 && quick <= 1.01 * least, "{k} {searched}");
}

#[test]
fn local_steps_save_communications() {
    let schedule = |local_steps| Schedule { strong: 0.01, smooth: 0.35, local_steps };
    let best = best_total_steps(&model(), 0.01, 0.35, growing(0.02), 2_000);
    let least = predicted_gap(&model(), schedule(1), best, STEPS, growing(0.02));
    for noise in [STEPS, NoisePlace::EveryBlock] {
        let gap = |k, rounds| predicted_gap(&model(), schedule(k), rounds, noise, growing(0.02));
        let kept = if noise == STEPS { &[1, 5, 20][..] } else { &[1, 5] };
        for &k in kept {
            let found = saving(&model(), schedule(k), 0.25, noise, growing(0.02), 2_000).unwrap();
            assert_eq!(found.best_of_one, best);
            assert_near(found.target, 1.25 * least, 1e-12);
            let reaches = |k, rounds| gap(k, rounds) <= found.target;
            assert!(reaches(1, found.one) && !reaches(1, found.one - 1));
            assert!(reaches(k, found.several) && !reaches(k, found.several - 1));
            if noise == STEPS {
                assert_eq!(found.several, found.one.div_ceil(k), "only the product counts");
                assert!(found.ratio() > 0.7 * f64::from(k), "{found:?}");
            } else if k > 1 {
                assert!(found.several > found.one.div_ceil(k), "no step forgets its block's noise");
            }
            assert!(found.ratio_to_best() > found.ratio());
        }
        assert_eq!(saving(&model(), schedule(1_999), 1e-6, noise, growing(0.02), 2_000), None);
    }
    let in_blocks = NoisePlace::EveryBlock;
    assert_eq!(saving(&model(), schedule(20), 0.25, in_blocks, growing(0.02), 2_000), None);
}

#[test]
fn a_law_of_gaps_has_the_mean_gap() {
    let model = QuadraticModel { eigenvalues: vec![0.2, 0.7, 1.5], errors: vec![-1.0, 0.5, 2.0] };
    let steps = [0.9, 0.5, 0.4, 0.3, 0.2];
    assert_near(model.law(&steps, 0.3).mean(), model.gap(&steps, 0.3), 1e-13);
    let in_blocks = model.gap_in_blocks(&steps, 2, 0.3);
    assert_near(model.law_in_blocks(&steps, 2, 0.3).mean(), in_blocks, 1e-13);
    // Noise on the last model: ½ s² tr H on top of the noise-free gap.
    let output = model.gap(&steps, 0.0) + 0.5 * 0.09 * 2.4;
    assert_near(model.law_of_output(&steps, 0.3).mean(), output, 1e-13);
}

#[test]
fn models_spread_most_where_old_noise_is_not_forgotten() {
    let model = QuadraticModel { eigenvalues: vec![0.5, 1.0], errors: vec![0.0; 2] };
    // Along the first: 0.75² · 0.5² + 0.5² after two steps, less after a short third one.
    let greatest = 0.2 * (0.75_f64.powi(2) * 0.25 + 0.25).sqrt();
    assert_near(model.spread(&[0.5, 0.5], 0.2), greatest, 1e-14);
    assert_near(model.spread(&[0.5, 0.5, 0.01], 0.2), greatest, 1e-14);
}

#[test]
fn the_best_number_of_constant_steps_is_that_of_brute_force() {
    let model = QuadraticModel { eigenvalues: vec![0.2, 0.7, 1.5], errors: vec![-1.0, 0.5, 2.0] };
    let noise = |t: u32| (0.05 * f64::from(t).sqrt(), 0.01 * f64::from(t));
    let gap = |t: u32| {
        let (each, last) = noise(t);
        model.gap(&vec![0.4; t as usize], each) + 0.5 * 2.4 * last * last
    };
    let best = (1..=60).min_by(|a, b| gap(*a).total_cmp(&gap(*b))).unwrap();
    assert!(best > 1 && best < 60, "{best}");
    let found = best_constant_steps(&model, 0.4, noise, 60);
    assert_eq!(found.0, best);
    assert_near(found.1, gap(best), 1e-13);
}
