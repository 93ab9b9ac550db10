//! Noise of queries, exact means and bands against golden values and simulation.

use rand::RngExt;
use rand_distr::{Distribution, Exp1, StandardNormal};

use super::super::*;
use super::{
    assert_near, eigen, family, golden, mean_of, number, numbers, random_quadratic, times,
};
use crate::privacy::normal_cdf;
use crate::protocol::LearnerNoise;
use crate::protocol::gradient_queries::{Algorithm, QueryStep};
use crate::random::Stream;
use crate::units::{Delta, Epsilon};

/// The golden regression: the Hessian 2XᵀX/n in its eigenvectors, from 0 to θ*.
fn regression() -> QuadraticModel {
    let golden = golden();
    let x: Vec<Vec<f64>> = golden["data"]["X"].as_array().unwrap().iter().map(numbers).collect();
    let n = x.len() as f64;
    let hessian: Vec<Vec<f64>> = (0..3)
        .map(|i| (0..3).map(|j| x.iter().map(|row| 2.0 * row[i] * row[j] / n).sum()).collect())
        .collect();
    let (eigenvalues, vectors) = eigen(hessian);
    let optimum = numbers(&golden["wu"]["linreg"]["theta_star"]);
    let errors = times(&vectors, &optimum).into_iter().map(|e| -e).collect();
    QuadraticModel { eigenvalues, errors }
}

#[test]
fn the_golden_regression_has_its_exact_means() {
    let golden = &golden()["wu"]["linreg"];
    let descent = Descent::Average {
        first_step: number(&golden["c1"]),
        queries: number(&golden["T"]) as u32,
    };
    let found = expected_excess(&regression(), &descent, 0.001);
    let exact = numbers(&golden["exact"]);
    assert_near(found.excess_noise_free, exact[0], 1e-12);
    assert_near(found.excess_noise, exact[1], 1e-12);
    assert_near(found.total(), exact[0] + exact[1], 1e-12);
}

fn laplace(stream: &mut Stream, scale: f64) -> f64 {
    let (a, b): (f64, f64) = (Exp1.sample(stream), Exp1.sample(stream));
    scale * (a - b)
}

/// f above its least value after a run in the coordinates of the problem.
fn run(
    (hessian, start): &(Vec<Vec<f64>>, Vec<f64>),
    descent: &Descent,
    mut noise: impl FnMut() -> f64,
) -> f64 {
    let mut model = start.clone();
    let mut update = |model: &mut Vec<f64>, step: f64| {
        let gradient = times(hessian, model);
        model.iter_mut().zip(gradient).for_each(|(x, g)| *x -= step * (g + noise()));
    };
    let end = match descent {
        Descent::Last(steps) => {
            steps.iter().for_each(|&step| update(&mut model, step));
            model
        }
        Descent::Average { first_step, queries } => {
            let a = 1.0 / f64::from(*queries).sqrt();
            let mut average = vec![0.0; model.len()];
            for k in 1..*queries {
                let k = f64::from(k);
                for (mean, x) in average.iter_mut().zip(&model) {
                    *mean = ((k - 1.0) * *mean + (a + 1.0) * x) / (a + k);
                }
                update(&mut model, first_step / k.sqrt());
            }
            average
        }
    };
    0.5 * times(hessian, &end).iter().zip(&end).map(|(g, e)| g * e).sum::<f64>()
}

fn diagonal((hessian, start): &(Vec<Vec<f64>>, Vec<f64>)) -> QuadraticModel {
    let (eigenvalues, vectors) = eigen(hessian.clone());
    QuadraticModel { eigenvalues, errors: times(&vectors, start) }
}

fn descent(step: QueryStep, updates: u32) -> Descent {
    let algorithm = Algorithm::Descent(step);
    Descent::Last((1..=updates).map(|k| algorithm.step(k, updates)).collect())
}

/// 2ΞT/(nε).
fn laplace_scale(reach: f64, queries: u32, n: u64, epsilon: f64) -> f64 {
    2.0 * reach * f64::from(queries) / (n as f64 * epsilon)
}

fn descents() -> [Descent; 3] {
    [
        descent(QueryStep::Inverse(1.5), 8),
        descent(QueryStep::Constant(0.7), 11),
        Descent::Average { first_step: 0.8, queries: 10 },
    ]
}

#[test]
fn runs_have_the_expected_excess_whatever_the_law_of_the_noise() {
    let problem = random_quadratic(3);
    for (place, descent) in descents().iter().enumerate() {
        for gaussian in [true, false] {
            let scale = 0.5;
            let samples: Vec<f64> = (0..30_000)
                .map(|repeat| {
                    let mut stream = family(3 + place as u64).stream(repeat);
                    run(&problem, descent, || match gaussian {
                        true => scale * stream.sample::<f64, _>(StandardNormal),
                        false => laplace(&mut stream, scale),
                    })
                })
                .collect();
            let noise =
                if gaussian { QueryNoise::Gaussian(scale) } else { QueryNoise::Laplace(scale) };
            let expected = expected_excess(&diagonal(&problem), descent, noise.variance());
            let (mean, error) = mean_of(&samples);
            assert!((mean - expected.total()).abs() < 5.0 * error, "{descent:?}: {mean} ± {error}");
            let silent = run(&problem, descent, || 0.0);
            assert_near(expected.excess_noise_free, silent, 1e-10);
        }
    }
}

#[test]
fn nine_in_ten_runs_end_within_the_band() {
    const RUNS: u32 = 40_000;
    let problem = random_quadratic(3);
    for (place, descent) in descents().iter().enumerate() {
        for deviation in [0.05, 1.0] {
            let law = excess_law(&diagonal(&problem), descent, deviation * deviation);
            let (low, high) = law.band();
            let (mut below, mut above) = (0, 0);
            for repeat in 0..RUNS {
                let mut stream = family(13 + place as u64).stream(repeat.into());
                let excess =
                    run(&problem, descent, || deviation * stream.sample::<f64, _>(StandardNormal));
                below += u32::from(excess < low);
                above += u32::from(excess > high);
            }
            let error = (0.05 * 0.95 / f64::from(RUNS)).sqrt();
            for count in [below, above] {
                let part = f64::from(count) / f64::from(RUNS);
                assert!((part - 0.05).abs() < 5.0 * error, "{descent:?} {deviation}: {part}");
            }
        }
    }
}

fn law(eigenvalues: &[f64], means: &[f64], deviations: &[f64]) -> ExcessLaw {
    let model = QuadraticModel { eigenvalues: eigenvalues.to_vec(), errors: means.to_vec() };
    ExcessLaw::new(&model, deviations)
}

#[test]
fn the_law_of_one_coordinate_is_that_of_a_squared_normal() {
    // X = (m + Z)², so P(X > x) = Φ(m − √x) + Φ(−m − √x).
    for mean in [0.0, 0.3, 1.0, 5.0, 300.0] {
        let law = law(&[2.0], &[mean], &[1.0]);
        for offset in [-4.0, -2.0, -0.5, -0.01, 0.0, 0.01, 0.5, 2.0, 4.0] {
            let root: f64 = mean + offset;
            if root <= 0.0 {
                continue;
            }
            let exact = normal_cdf(mean - root) + normal_cdf(-mean - root);
            let found = law.above(root * root);
            assert!((found - exact).abs() < 1e-8, "{mean} {offset}: {found}, exactly {exact}");
        }
        for p in [0.001, 0.05, 0.5, 0.6827, 0.95, 0.999] {
            assert!((1.0 - law.above(law.quantile(p)) - p).abs() < 1e-8);
        }
    }
}

#[test]
fn the_law_of_two_equal_coordinates_is_exponential() {
    let law = law(&[0.02, 0.02], &[0.0, 0.0], &[1.0, 1.0]);
    for x in [1e-6_f64, 0.001, 0.02, 0.05, 0.3] {
        let exact = (-x / 0.02).exp();
        assert!((law.above(x) - exact).abs() < 1e-9, "{x}: {} {exact}", law.above(x));
    }
    assert_near(law.quantile(0.95), -0.02 * 0.05_f64.ln(), 1e-8);
}

#[test]
fn the_law_of_two_unequal_pairs_has_its_closed_form() {
    // λ₁ = 1, λ₂ = 0.001 in pairs: P(X > x) = (λ₁e^{−x/2λ₁} − λ₂e^{−x/2λ₂})/(λ₁ − λ₂).
    let law = law(&[2.0, 0.002, 2.0, 0.002, 5.0], &[0.0; 5], &[1.0, 1.0, 1.0, 1.0, 0.0]);
    for x in [1e-4_f64, 0.01, 0.5, 3.0, 20.0] {
        let exact = ((-x / 2.0).exp() - 0.001 * (-x / 0.002).exp()) / 0.999;
        assert!((law.above(x) - exact).abs() < 1e-9, "{x}: {} {exact}", law.above(x));
    }
}

#[test]
fn mixed_coordinates_have_the_law_of_simulation() {
    const RUNS: u32 = 100_000;
    let (eigenvalues, means, deviations) =
        ([1.0, 0.3, 0.05, 4.0, 0.7], [0.5, -3.0, 10.0, 0.0, 1.0], [0.8, 1.0, 0.1, 0.5, 0.0]);
    let law = law(&eigenvalues, &means, &deviations);
    let mut stream = family(21).stream(0);
    let draws: Vec<f64> = (0..RUNS)
        .map(|_| {
            (0..5)
                .map(|i| {
                    let z: f64 = stream.sample(StandardNormal);
                    0.5 * eigenvalues[i] * (means[i] + deviations[i] * z).powi(2)
                })
                .sum()
        })
        .collect();
    let (mean, error) = mean_of(&draws);
    assert!((mean - law.mean()).abs() < 5.0 * error);
    for p in [0.01, 0.05, 0.3, 0.6, 0.95, 0.99] {
        let x = law.quantile(p);
        let part = draws.iter().filter(|&&draw| draw <= x).count() as f64 / f64::from(RUNS);
        let error = (p * (1.0 - p) / f64::from(RUNS)).sqrt();
        assert!((part - p).abs() < 5.0 * error, "{p}: {part}");
    }
}

#[test]
fn without_noise_the_band_is_a_point() {
    let law = law(&[1.0, 2.0], &[3.0, 0.5], &[0.0, 0.0]);
    assert_eq!(law.band(), (4.75, 4.75));
    assert_eq!((law.above(4.74), law.above(4.75)), (1.0, 0.0));
    // A little noise moves it a little: x ≈ 4.75 + N(0, (3·3e-9)² + (1e-9)²).
    let (low, high) = self::law(&[1.0, 2.0], &[3.0, 0.5], &[3e-9, 1e-9]).band();
    let width = 2.0 * 1.644_853_627 * (81.0_f64 + 1.0).sqrt() * 1e-9;
    assert_near(high - low, width, 1e-4);
}

#[test]
fn a_round_of_answers_has_the_variance_of_its_draws() {
    let owners = [
        Owner { weight: 0.5, noise: QueryNoise::Laplace(0.3) },
        Owner { weight: 0.3, noise: QueryNoise::Laplace(1.2) },
        Owner { weight: 0.2, noise: QueryNoise::Gaussian(0.9) },
    ];
    let mut stream = family(22).stream(0);
    let squares: Vec<f64> = (0..100_000)
        .map(|_| {
            let gaussian: f64 = stream.sample(StandardNormal);
            let sum =
                0.5 * laplace(&mut stream, 0.3) + 0.3 * laplace(&mut stream, 1.2) + 0.18 * gaussian;
            sum * sum
        })
        .collect();
    let (mean, error) = mean_of(&squares);
    assert!((mean - query_variance(&owners)).abs() < 5.0 * error);
}

#[test]
fn laplace_answers_by_size_have_the_published_variance() {
    // v = (8Ξ²T²/n²) Σ 1/ε_l².
    let (reach, queries, owners) = (1.7, 40, [(500, 0.5), (300, 2.0), (200, 0.1)]);
    let answers = owners.map(|(n, epsilon)| Owner {
        weight: n as f64 / 1_000.0,
        noise: QueryNoise::Laplace(laplace_scale(reach, queries, n, epsilon)),
    });
    let inverse: f64 = owners.iter().map(|owner| owner.1.powi(-2)).sum();
    assert_near(
        query_variance(&answers),
        8.0 * (1.7 * 40.0 / 1_000.0_f64).powi(2) * inverse,
        1e-12,
    );
}

#[test]
fn collaboration_pays_where_the_noise_falls() {
    let with = |n: u64, epsilon: f64| {
        [(10_000, Epsilon(1.0)), (n, Epsilon(epsilon)), (n, Epsilon(epsilon))]
    };
    for (n, epsilon, verdict) in [
        (1_000, 0.1, Collaboration::DoesNot),
        (1_000, 10.0, Collaboration::Pays),
        (100_000, 0.1, Collaboration::Pays),
        (100_000, 10.0, Collaboration::Pays),
        (50, 1.0 / 3.0, Collaboration::DoesNot),
        (500, 3.0, Collaboration::Tie),
    ] {
        let owners = with(n, epsilon);
        let ratio = collaboration_ratio(&owners, 0);
        // The noise of both learners, by their variances.
        let total = (10_000 + 2 * n) as f64;
        let answer = |(n, epsilon): (u64, Epsilon), weight: f64| Owner {
            weight,
            noise: QueryNoise::Laplace(laplace_scale(1.0, 5, n, epsilon.0)),
        };
        let together: Vec<Owner> =
            owners.iter().map(|&owner| answer(owner, owner.0 as f64 / total)).collect();
        let alone = [answer(owners[0], 1.0)];
        let by_variance = (query_variance(&together) / query_variance(&alone)).sqrt();
        assert_near(ratio, by_variance, 1e-12);
        let weights: Vec<f64> = together.iter().map(|owner| owner.weight).collect();
        assert_near(weighted_ratio(&owners, &weights, 0), ratio, 1e-12);
        assert_eq!(Collaboration::of(ratio), verdict, "{n} {epsilon}: {ratio}");
    }
}

#[test]
fn precision_weights_have_the_least_noise() {
    let owners = [(10_000, Epsilon(1.0)), (1_000, Epsilon(0.1)), (3_000, Epsilon(4.0))];
    let weights = precision_weights(&owners);
    assert_near(weights.iter().sum(), 1.0, 1e-12);
    let least = weighted_ratio(&owners, &weights, 0);
    assert!(least < 1.0 && least < collaboration_ratio(&owners, 0));
    for i in 0..=50 {
        for j in 0..=50 - i {
            let (a, b) = (f64::from(i) / 50.0, f64::from(j) / 50.0);
            assert!(weighted_ratio(&owners, &[a, b, 1.0 - a - b], 0) >= least - 1e-12);
        }
    }
    assert_eq!(weighted_ratio(&owners, &[1.0, 0.0, 0.0], 0), 1.0);
}

#[test]
fn the_bound_is_above_the_exact_mean_and_needs_the_dimension() {
    let (strong, smooth, step, d) = (0.5, 2.0, 0.4, 40);
    let eigenvalues: Vec<f64> = (0..d).map(|i| if i == 0 { strong } else { smooth }).collect();
    let model = QuadraticModel { eigenvalues, errors: vec![0.2; d as usize] };
    let start = model.gap(&[], 0.0);
    let mut exceeded = false;
    for updates in [0, 1, 3, 10, 100] {
        let exact = expected_excess(&model, &Descent::Last(vec![step; updates as usize]), 0.3);
        let bound = |p| query_bound(updates, step, (strong, smooth), start, p, 0.3).unwrap();
        assert!(exact.total() <= bound(d) * (1.0 + 1e-12), "{updates}");
        exceeded |= exact.total() > bound(1);
    }
    assert!(exceeded, "without p it is no bound");
    assert_eq!(query_bound(5, 0.6, (strong, smooth), start, d, 0.3), None);
    // In one dimension, one step: (1 − sγ)² D₀ + ½γs²v is below.
    let bound = query_bound(2, 0.5, (2.0, 2.0), 3.0, 1, 0.3).unwrap();
    assert_near(bound, 0.5 * 0.5 * 0.3, 1e-12);
}

#[test]
fn published_steps_never_arrive() {
    let model = regression();
    let start = model.gap(&[], 0.0);
    let left = |step: QueryStep, updates: u32| {
        expected_excess(&model, &descent(step, updates), 0.0).total() / start
    };
    let published = QueryStep::Published(1.0);
    assert!(left(published, 9) < left(published, 99));
    assert!(left(published, 99) > 0.99);
    assert!(left(QueryStep::Inverse(1.0), 99) < 0.1);
    let steps = descent(QueryStep::Published(0.8), 2);
    assert_eq!(steps, Descent::Last(vec![0.8 / 9.0, 0.8 / 18.0]));
}

#[test]
fn one_query_leaves_the_start() {
    let (model, one) = (regression(), Descent::Average { first_step: 0.8, queries: 1 });
    let found = expected_excess(&model, &one, 1.0);
    assert_near(found.excess_noise_free, model.gap(&[], 0.0), 1e-12);
    assert_eq!(found.excess_noise, 0.0);
}

#[test]
fn laplace_wants_few_queries_and_more_of_them_with_a_larger_budget() {
    let model = regression();
    let grid: Vec<u32> = (2..=200).collect();
    let descent = |queries| Descent::Average { first_step: 0.8, queries };
    let laplace = |epsilon: f64| {
        let variance = move |queries| {
            QueryNoise::Laplace(laplace_scale(2.0, queries, 1_000, epsilon)).variance()
        };
        best_queries(&model, &grid, variance, descent).unwrap()
    };
    let gaussian = |epsilon: f64| {
        let variance = move |queries| {
            let law = LearnerNoise { epsilon: Epsilon(epsilon), constant: None, shared: false };
            QueryNoise::Gaussian(law.deviation(4.0 / 1_000.0, queries, Delta(1e-5))).variance()
        };
        best_queries(&model, &grid, variance, descent).unwrap()
    };
    let few = [0.01, 0.1, 1.0].map(|epsilon| laplace(epsilon).0);
    assert!(few[0] < few[1] && few[1] < few[2], "{few:?}");
    for epsilon in [0.1, 1.0] {
        assert!(gaussian(epsilon).0 > laplace(epsilon).0);
    }
    // By force, at one budget.
    let totals = grid.iter().map(|&queries| {
        let b = laplace_scale(2.0, queries, 1_000, 0.1);
        (queries, expected_excess(&model, &descent(queries), 2.0 * b * b))
    });
    let (best, least) = laplace(0.1);
    for (queries, expected) in totals {
        assert!(expected.total() > least.total() || queries == best);
    }
    assert_eq!(best_queries(&model, &[], |_| 0.0, descent), None);
}
