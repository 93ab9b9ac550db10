use proptest::prelude::*;

use super::*;
use crate::privacy::renyi::renyi_epsilon_at;

/// Laplace releases by b/Δ₁, their number and δ; where known, their plain sum, the best order of a
/// grid with its ε, and a lower bound of the true ε by a numerical accountant.
type Reference = (f64, u64, f64, Option<f64>, Option<(f64, f64)>, Option<f64>);
const LAPLACE: &[Reference] = &[
    (1.0, 1, 1e-08, Some(1.0), None, Some(0.9999999800000018)),
    (1.0, 1, 1e-06, Some(1.0), None, Some(0.999997999998002)),
    (1.0, 1, 1e-05, None, Some((1024.0, 1.0028243238705594)), None),
    (1.0, 10, 1e-08, Some(10.0), Some((1024.0, 10.003483000565012)), Some(9.999989759948594)),
    (1.0, 10, 1e-06, Some(10.0), None, Some(9.9989778388925)),
    (1.0, 10, 1e-05, Some(10.0), Some((128.0, 9.990334479142616)), Some(9.989959868348254)),
    (1.0, 100, 1e-08, Some(100.0), Some((2.0, 78.94674938269176)), Some(77.05438741847395)),
    (1.0, 100, 1e-05, None, Some((1.7, 70.77786270181159)), None),
    (1.0, 1000, 1e-08, Some(1000.0), Some((1.3, 518.7258264497956)), Some(505.7192885086864)),
    (1.0, 1000, 1e-06, Some(1000.0), Some((1.2, 497.00758872386575)), Some(484.78609237046095)),
    (10.0, 1, 1e-08, None, Some((1024.0, 0.10957677282362117)), None),
    (10.0, 1, 1e-06, Some(0.1), Some((1024.0, 0.1050751401882467)), Some(0.09999799999800221)),
    (10.0, 1, 1e-05, Some(0.1), None, Some(0.09997999979999952)),
    (10.0, 10, 1e-08, Some(1.0), Some((1024.0, 1.0034830005650126)), Some(0.9999897599485948)),
    (10.0, 10, 1e-05, Some(1.0), None, Some(0.9899598683482543)),
    (10.0, 100, 1e-08, Some(10.0), Some((7.5, 5.758304137399486)), Some(5.499944870374959)),
    (10.0, 100, 1e-06, Some(10.0), None, Some(4.692449037143421)),
    (10.0, 100, 1e-05, Some(10.0), None, Some(4.220123728589781)),
    (10.0, 1000, 1e-08, None, Some((2.9, 22.61910522045502)), None),
    (10.0, 1000, 1e-06, Some(100.0), Some((2.7, 20.046636615577434)), Some(18.926778227283453)),
    (10.0, 1000, 1e-05, Some(100.0), Some((2.5, 18.575675469781455)), Some(17.400096378867957)),
    (100.0, 1, 1e-08, Some(0.01), None, Some(0.009989980000101718)),
    (100.0, 1, 1e-06, Some(0.01), Some((1024.0, 0.01507514018950472)), Some(0.009988000008001891)),
    (100.0, 1, 1e-05, Some(0.01), None, Some(0.009969999950001035)),
    (100.0, 10, 1e-08, Some(0.1), Some((1024.0, 0.10348300057759297)), Some(0.09988976047256125)),
    (100.0, 10, 1e-06, Some(0.1), None, Some(0.09887811496878468)),
    (100.0, 100, 1e-08, Some(1.0), Some((59.0, 0.5089048372868819)), Some(0.48004646841792753)),
    (100.0, 100, 1e-06, Some(1.0), None, Some(0.3906195201022351)),
    (100.0, 100, 1e-05, Some(1.0), Some((42.0, 0.36912551156130524)), Some(0.3360146290015738)),
    (100.0, 1000, 1e-08, Some(10.0), Some((19.0, 1.7472416342997674)), Some(1.6515880365100484)),
    (100.0, 1000, 1e-06, None, Some((16.0, 1.4658418249285068)), None),
    (100.0, 1000, 1e-05, Some(10.0), None, Some(1.195455727660205)),
];

fn error(found: f64, expected: f64) -> f64 {
    if found == expected { 0.0 } else { (found / expected - 1.0).abs() }
}

fn sum(parts: &[Spent]) -> Spent {
    let mut sum = Spent::default();
    parts.iter().for_each(|part| sum.add(part));
    sum
}

#[test]
fn laplace_releases_cost_what_other_accountants_say() {
    for &(scale, count, delta, pure, grid, floor) in LAPLACE {
        let delta = Delta(delta);
        let spent = Spent::laplace(1.0 / scale).times(count);
        let found = spent.bound(delta).epsilon.0;
        if let Some(pure) = pure {
            assert!(error(spent.pure_sum(), pure) < 1e-14);
            assert!(found <= pure * (1.0 + 1e-14), "b {scale} × {count}: {found} above {pure}");
        }
        if let Some((order, epsilon)) = grid {
            let there = renyi_epsilon_at(spent.renyi(order), order, delta).0;
            assert!(error(there, epsilon) < 1e-9, "b {scale} × {count}: {there} for {epsilon}");
            assert!(found <= there, "b {scale} × {count}: {found} above {there}");
        }
        if let Some(floor) = floor {
            // The floor of one release is as near to the truth as its own rounding, 2e-15.
            let floor = floor * (1.0 - 1e-14);
            assert!(found >= floor, "b {scale} × {count}: {found} below {floor}");
        }
    }
}

/// One Laplace release has δ(ε) = 1 − e^{(ε − Δ₁/b)/2}, and one randomised response
/// δ(ε) = 1 − p (1 + e^ε), by the definition of δ.
#[test]
fn one_pure_release_costs_no_less_than_its_exact_profile_says() {
    for loss in [0.1_f64, 1.0, 4.0] {
        for delta in [1e-3_f64, 1e-5, 1e-8] {
            let exact = loss + 2.0 * (-delta).ln_1p();
            let found = Spent::laplace(loss).bound(Delta(delta)).epsilon.0;
            assert!((exact * (1.0 - 1e-15)..=loss).contains(&found), "{loss}, {delta}: {found}");
            let exact = ((1.0 - delta) * (1.0 + loss.exp()) - 1.0).ln();
            let found = Spent::response(Epsilon(loss)).bound(Delta(delta)).epsilon.0;
            assert!((exact * (1.0 - 1e-14)..=loss).contains(&found), "{loss}, {delta}: {found}");
        }
    }
}

#[test]
fn the_route_is_named() {
    let delta = Delta(1e-5);
    let route = |spent: &Spent| spent.bound(delta).route;
    assert_eq!(route(&Spent::default()), Route::Nothing);
    assert_eq!(route(&Spent::gaussian(1.0).times(7)), Route::Gaussian);
    assert_eq!(Spent::pure(Epsilon(5.0)).bound(Delta(1e-20)).route, Route::Pure);
    assert!(matches!(route(&Spent::laplace(0.1).times(1000)), Route::Renyi { .. }));
    assert_eq!(route(&sum(&[Spent::gaussian(1.0), Spent::pure(Epsilon(0.01))])), Route::Mixed);
    let many = sum(&[Spent::gaussian(1.0), Spent::response(Epsilon(0.1)).times(1000)]);
    assert!(matches!(route(&many), Route::Renyi { .. }));
    assert_eq!(route(&Spent::unbounded()), Route::Unbounded);
    assert_eq!(Spent::gaussian(1.0).bound(Delta(0.0)).route, Route::Unbounded);
    // Without a δ, pure losses still add up.
    assert_eq!(
        Spent::laplace(0.5).times(4).bound(Delta(0.0)),
        Bound { epsilon: Epsilon(2.0), route: Route::Pure }
    );
    let words: Vec<String> =
        [12.34, 1.00012, 1e7].iter().map(|&alpha| Route::Renyi { alpha }.to_string()).collect();
    assert_eq!(words, ["Rényi, order 12.3", "Rényi, order 1 + 1.2e-4", "Rényi, order 1.0e7"]);
    assert_eq!(Route::Gaussian.to_string(), "exact composition of Gaussians");
    assert_eq!(Route::Pure.to_string(), "sum of pure losses");
}

#[test]
fn a_mixture_costs_the_least_of_its_routes() {
    let delta = Delta(1e-5);
    let gaussian = Spent::gaussian(0.8);
    let response = Spent::response(Epsilon(0.2));
    let both = sum(&[gaussian.clone(), response]);
    let plain = gaussian.bound(delta).epsilon.0 + 0.2;
    let (renyi, _) =
        renyi_epsilon(|alpha| 0.32 * alpha + response_renyi(Epsilon(0.2), alpha), delta);
    let found = both.bound(delta).epsilon.0;
    assert!(error(found, plain.min(renyi.0)) < 1e-12);
    assert!(found >= gaussian.bound(delta).epsilon.0);
}

#[test]
fn what_has_no_bound_swallows_the_rest_and_nothing_adds_nothing() {
    for wrong in [f64::INFINITY, f64::NAN] {
        assert!(Spent::gaussian(wrong).is_unbounded());
        assert!(Spent::laplace(wrong).is_unbounded());
        assert!(Spent::pure(Epsilon(wrong)).is_unbounded());
    }
    assert!(Spent::laplace(-1.0).is_unbounded() && Spent::pure(Epsilon(-1.0)).is_unbounded());
    // Squares and products that overflow.
    assert!(
        Spent::gaussian(1e200).is_unbounded() && Spent::gaussian(1e154).times(9).is_unbounded()
    );
    assert!(Spent::laplace(1e308).group(100).is_unbounded());
    let all = sum(&[Spent::laplace(1.0), Spent::unbounded(), Spent::pure(Epsilon(1.0))]);
    assert_eq!(all, Spent::unbounded());
    for nothing in [Spent::gaussian(0.0), Spent::laplace(0.0), Spent::response(Epsilon::ZERO)] {
        assert!(nothing.is_nothing() && nothing == Spent::default());
    }
    assert!(Spent::unbounded().times(0).is_nothing() && Spent::unbounded().group(0).is_nothing());
    // A loss does not vanish by underflow.
    assert!(!Spent::gaussian(1e-200).is_nothing());
    assert_eq!(Spent::pure(Epsilon(1.0)).times(u64::MAX).times(9).pure.0, [(1.0, u64::MAX)]);
}

#[test]
fn gaussians_are_added_without_allocating() {
    let spent = sum(&[Spent::gaussian(0.5), Spent::gaussian(0.5), Spent::gaussian(1.0).times(3)]);
    assert_eq!(spent.mu_squared(), 3.5);
    assert_eq!(spent.laplace.0.capacity() + spent.pure.0.capacity(), 0);
}

#[test]
fn groups_pay_in_proportion() {
    let spent =
        sum(&[Spent::gaussian(0.5), Spent::laplace(0.1).times(3), Spent::response(Epsilon(1.0))]);
    let three = spent.group(3);
    assert_eq!(three.mu_squared(), 2.25);
    assert_eq!(three.laplace.0, [(0.1 * 3.0, 3)]);
    assert_eq!(three.pure.0, [(3.0, 1)]);
    assert_eq!(spent.group(1), spent);
}

#[test]
fn the_worst_of_two_bounds_both() {
    let few = Spent::laplace(1.0).times(2);
    let many = Spent::laplace(0.4).times(5);
    assert!(!few.at_least(&many) && !many.at_least(&few));
    let upper = few.clone().worst(many.clone());
    assert_eq!(upper.laplace.0, [(0.4, 3), (1.0, 2)]);
    assert!(upper.at_least(&few) && upper.at_least(&many));
    let more = Spent::laplace(1.5).times(3);
    assert!(more.at_least(&few) && !few.at_least(&more));
    assert_eq!(few.clone().worst(more.clone()), more);
    assert_eq!(more.clone().worst(few), more);
    assert_eq!(more.worst(Spent::unbounded()), Spent::unbounded());
}

#[test]
fn infinity_survives_json_and_nonsense_is_refused() {
    let spents = [
        Spent::default(),
        Spent::unbounded(),
        sum(&[Spent::gaussian(0.1), Spent::laplace(0.3).times(4), Spent::pure(Epsilon(1e-300))]),
    ];
    for spent in spents {
        let text = serde_json::to_string(&spent).unwrap();
        assert_eq!(serde_json::from_str::<Spent>(&text).unwrap(), spent, "{text}");
        for delta in [0.0, 1e-5] {
            let bound = spent.bound(Delta(delta));
            let text = serde_json::to_string(&bound).unwrap();
            assert_eq!(serde_json::from_str::<Bound>(&text).unwrap(), bound, "{text}");
        }
    }
    for wrong in [
        r#"{"mu_squared": -1, "laplace": [], "pure": []}"#,
        r#"{"mu_squared": "NaN", "laplace": [], "pure": []}"#,
        r#"{"mu_squared": 1.0, "laplace": [[-0.5, 1]], "pure": []}"#,
        r#"{"mu_squared": 1.0, "laplace": [], "pure": [], "other": 1}"#,
    ] {
        assert!(serde_json::from_str::<Spent>(wrong).is_err(), "{wrong}");
    }
    // Order and repetition in a file make no difference.
    let text = r#"{"mu_squared": 0, "laplace": [[2, 1], [1, 1], [2, 3]], "pure": [[0, 5]]}"#;
    let read: Spent = serde_json::from_str(text).unwrap();
    assert_eq!(read, sum(&[Spent::laplace(2.0).times(4), Spent::laplace(1.0)]));
}

/// A few releases of every kind; losses from a short list, so that groups meet.
fn any_spent() -> impl Strategy<Value = Spent> {
    let losses = prop::sample::select(vec![0.0, 0.01, 0.125, 0.5, 2.0]);
    prop::collection::vec((0..3, losses, 0..40_u64), 0..5).prop_map(|parts| {
        let one = |(kind, loss, count): (i32, f64, u64)| match kind {
            0 => Spent::gaussian(loss).times(count),
            1 => Spent::laplace(loss).times(count),
            _ => Spent::pure(Epsilon(loss)).times(count),
        };
        sum(&parts.into_iter().map(one).collect::<Vec<_>>())
    })
}

/// The same but for rounding of Σμ².
fn alike(a: &Spent, b: &Spent) -> bool {
    error(a.mu_squared, b.mu_squared) < 1e-14 && a.laplace == b.laplace && a.pure == b.pure
}

proptest! {
    #[test]
    fn composition_is_associative_and_commutative(
        a in any_spent(), b in any_spent(), c in any_spent(), count in 0..5_u64,
    ) {
        let ab = sum(&[a.clone(), b.clone()]);
        let bc = sum(&[b.clone(), c.clone()]);
        prop_assert!(alike(&sum(&[ab.clone(), c]), &sum(&[a.clone(), bc])));
        prop_assert!(alike(&ab, &sum(&[b, a.clone()])));
        prop_assert!(alike(&a.times(count), &sum(&vec![a.clone(); count as usize])));
    }

    #[test]
    fn a_bound_is_never_above_any_route(spent in any_spent(), ln_delta in -30.0..-2.0_f64) {
        let delta = Delta(ln_delta.exp());
        let found = spent.bound(delta).epsilon;
        let gaussian = gaussian_epsilon(spent.mu_squared.sqrt(), delta);
        prop_assert!(found.0 <= gaussian.0 + spent.pure_sum());
        // Nor below what a part of it costs for certain.
        prop_assert!(found.0 >= gaussian.0 * (1.0 - 1e-9));
        for order in [1.1, 2.0, 5.5, 16.0, 64.0, 1024.0] {
            let there = renyi_epsilon_at(spent.renyi(order), order, delta);
            // Gaussians alone go by the exact route, which is no more than Rényi's either.
            prop_assert!(found.0 <= there.0 * (1.0 + 1e-12));
        }
    }

    #[test]
    fn more_releases_never_cost_less(a in any_spent(), b in any_spent(), ln_delta in -30.0..-2.0_f64) {
        let delta = Delta(ln_delta.exp());
        let epsilon = |spent: &Spent| spent.bound(delta).epsilon.0;
        let both = sum(&[a.clone(), b.clone()]);
        prop_assert!(both.at_least(&a) && both.at_least(&b));
        prop_assert!(epsilon(&both) >= epsilon(&a) * (1.0 - 1e-9));
        let worst = a.clone().worst(b.clone());
        prop_assert!(worst.at_least(&a) && worst.at_least(&b));
        prop_assert!(both.at_least(&worst));
        prop_assert!(epsilon(&worst) >= epsilon(&a).max(epsilon(&b)) * (1.0 - 1e-9));
        prop_assert!(a.bound(Delta(0.5 * delta.0)).epsilon.0 >= epsilon(&a) * (1.0 - 1e-9));
    }

    #[test]
    fn copies_apart_cost_no_more_than_their_repetition_says(
        spent in any_spent(),
        copies in prop::collection::vec(1..4_usize, 1..4),
        ln_delta in -30.0..-2.0_f64,
    ) {
        let delta = Delta(ln_delta.exp());
        let apart = sum(&copies.iter().map(|&k| spent.group(k)).collect::<Vec<_>>());
        let repetition = copies.iter().map(|k| (k * k) as f64).sum();
        let repeated = spent.repeated(repetition);
        let (found, truth) = (repeated.bound(delta).epsilon.0, apart.bound(delta).epsilon.0);
        prop_assert!(found >= truth * (1.0 - 1e-9), "{} below {}", found, truth);
        if spent.is_gaussian() {
            prop_assert!(error(repeated.mu_squared, apart.mu_squared) < 1e-14);
        }
    }
}

#[test]
fn repetition_multiplies_the_squares_of_gaussians_alone() {
    assert_eq!(Spent::gaussian(0.5).repeated(6.0), Spent::gaussian_squares(1.5));
    assert_eq!(Spent::laplace(0.5).repeated(2.5), Spent::laplace(1.5));
    assert!(Spent::unbounded().repeated(0.0).is_nothing());
    assert!(Spent::unbounded().repeated(1.0).is_unbounded());
    assert!(Spent::default().repeated(f64::NAN).is_unbounded());
}
