use proptest::prelude::*;

use super::*;

/// ε, δ, the exact σ for Δ = 1, the classic formula's σ, and the δ that this one really has.
const CALIBRATIONS: &[(f64, f64, f64, f64, f64)] = &[
    (0.1, 1e-05, 30.74956613197745, 48.44805262605389, 2.635940600317442e-09),
    (0.1, 1e-06, 36.30469042619578, 52.988025268504735, 2.0488443245778108e-10),
    (0.1, 1e-08, 45.93736018498825, 61.063613216491824, 1.3684326614592494e-12),
    (0.5, 1e-05, 7.031826675582491, 9.689610525210778, 1.6078539930874326e-08),
    (0.5, 1e-08, 9.863533796173833, 12.212722643298365, 8.350622454183441e-12),
    (1.0, 1e-05, 3.730631634815942, 4.844805262605389, 4.1136919538185005e-08),
    (1.0, 1e-06, 4.224678889326835, 5.298802526850474, 3.1999128191410793e-09),
    (1.0, 1e-08, 5.100308787529928, 6.1063613216491825, 2.1393425728437132e-11),
    (2.0, 1e-06, 2.2304762711864172, 2.649401263425237, 1.0419596044558972e-08),
    (4.0, 1e-05, 1.0811618495202393, 1.2112013156513473, 6.84493795227088e-07),
    (4.0, 1e-06, 1.1935185871579852, 1.3247006317126184, 5.386658942253858e-08),
];

/// σ/Δ, the number of releases, δ and the exact ε, by arithmetic of fifty digits.
const COMPOSITIONS: &[(f64, u32, f64, f64)] = &[
    (0.5, 1, 1e-08, 12.749246399635696),
    (0.5, 10, 1e-05, 46.2112101912181),
    (0.5, 10, 1e-06, 49.31927666069618),
    (0.5, 100, 1e-05, 284.3918494977425),
    (0.5, 100, 1e-08, 311.3590259480792),
    (1.0, 10, 1e-05, 17.856586830107613),
    (1.0, 10, 1e-08, 22.17343424676717),
    (1.0, 100, 1e-05, 91.81728962466374),
    (1.0, 100, 1e-06, 96.7172719638677),
    (1.0, 100, 1e-08, 105.3272470887507),
    (1.0, 1000, 1e-05, 633.9298513356146),
    (1.0, 1000, 1e-06, 649.3850894714814),
    (1.0, 1000, 1e-08, 676.5467370896),
    (2.0, 1, 1e-05, 1.9930914044151196),
    (2.0, 1, 1e-08, 2.7076063342228487),
    (2.0, 10, 1e-06, 8.306225049954728),
    (2.0, 100, 1e-05, 33.103732335922466),
    (2.0, 100, 1e-06, 35.56634371413622),
    (2.0, 100, 1e-08, 39.89114670500758),
    (2.0, 1000, 1e-05, 191.54920143271121),
    (2.0, 1000, 1e-06, 199.28456880562786),
    (2.0, 1000, 1e-08, 212.87831803263904),
    (5.0, 10, 1e-05, 2.594383380527607),
    (5.0, 10, 1e-06, 2.9216005904270457),
    (5.0, 10, 1e-08, 3.4912550255634502),
    (5.0, 100, 1e-05, 9.9972561464343),
    (5.0, 100, 1e-06, 10.99715121422065),
    (5.0, 1000, 1e-08, 54.779032265451896),
    (10.0, 1, 1e-05, 0.3406693646843264),
    (10.0, 1, 1e-08, 0.49285036535516413),
    (10.0, 10, 1e-05, 1.1993695737531684),
    (10.0, 10, 1e-06, 1.3675714750843067),
    (10.0, 100, 1e-05, 4.3771780956812245),
    (10.0, 100, 1e-08, 5.776098382890268),
    (10.0, 1000, 1e-05, 17.856586830107613),
    (10.0, 1000, 1e-08, 22.17343424676717),
    (50.0, 1, 1e-05, 0.058632255306096163),
    (50.0, 1, 1e-06, 0.07096068298543316),
    (50.0, 1, 1e-08, 0.09151689364417927),
    (50.0, 10, 1e-05, 0.20680462560907853),
    (50.0, 100, 1e-05, 0.7255217508577958),
    (50.0, 100, 1e-06, 0.8341175486240523),
];

/// μ, ε and δ(ε), by arithmetic of a hundred digits: where the terms of the profile cancel.
#[expect(clippy::excessive_precision, reason = "as they were computed")]
const PROFILE: &[(f64, f64, f64)] = &[
    (1e-06, 0.0, 3.9894228040141603729e-7),
    (1e-06, 4e-13, 3.9894208040152774109e-7),
    (1e-06, 3e-06, 3.8215489027958743536e-10),
    (1e-06, 8e-06, 7.5502926130556314378e-23),
    (0.001, 1e-07, 3.9889228571816372982e-4),
    (0.001, 0.01, 7.5120257223582011565e-28),
    (0.03, 0.1, 3.5343760495111440582e-6),
    (0.03, 0.3, 2.6049724276850739139e-26),
    (0.5, 0.01, 0.19341844230467762727),
    (0.5, 0.125, 0.15038116527960193017),
    (1.0, 0.4999, 0.23844786665086018537),
    (1.0, 0.5, 0.23842170813487662832),
    (1.0, 0.5001, 0.23839555099253295445),
    (1.0, 10.0, 9.8127058268469559492e-23),
    (1.0, 30.0, 4.709326318097522197e-193),
    (3.0, 4.4, 0.39069285589475287556),
    (3.0, 4.6, 0.36639388794282604134),
    (10.0, 0.0, 0.99999942669685624161),
    (10.0, 30.0, 0.9706018543468586686),
    (10.0, 50.0, 0.46049330589861399706),
    (10.0, 100.0, 1.8797170020519157446e-7),
    (100.0, 5100.0, 0.15625973896910984384),
    (100.0, 7000.0, 2.293577031704978918e-89),
];

/// μ, δ and the exact ε, by arithmetic of six hundred digits: very small and very large ones.
#[expect(clippy::excessive_precision, reason = "as they were computed")]
const EXTREMES: &[(f64, f64, f64)] = &[
    (1e-06, 1e-12, 4.4248927590894820484e-6),
    (1e-06, 3.9e-07, 1.8014023103601796511e-8),
    (0.0001, 1e-09, 3.9236063697490108303e-4),
    (0.0001, 3.98e-05, 1.8860546533059520038e-7),
    (0.01, 1e-15, 0.070822021969622826744),
    (0.3, 0.1, 0.04581318579566376299),
    (0.3, 1e-100, 6.3666619154700308034),
    (5.0, 0.9, 4.9612198649868905519),
    (5.0, 1e-300, 197.44810488078851644),
    (1000.0, 1e-05, 5.0426389292065408e+5),
];

fn error(found: f64, expected: f64) -> f64 {
    (found / expected - 1.0).abs()
}

#[test]
fn the_profile_is_exact_where_its_terms_cancel() {
    for &(mu, epsilon, delta) in PROFILE {
        let found = gaussian_delta(mu, Epsilon(epsilon));
        // ε/μ − μ/2 is rounded before it is squared: the larger it is, the more that shows.
        let x = epsilon / mu - 0.5 * mu;
        let limit = 1e-13 + 4e-16 * x.abs() * (epsilon / mu + mu);
        assert!(error(found, delta) < limit, "μ {mu}, ε {epsilon}: {found:e} for {delta:e}");
    }
}

#[test]
fn calibrations_agree_with_arithmetic_of_fifty_digits() {
    for &(epsilon, delta, exact, classic, actual) in CALIBRATIONS {
        let (epsilon, delta) = (Epsilon(epsilon), Delta(delta));
        let deviation = |calibration: Calibration| calibration.deviation(1.0, epsilon, delta);
        let found = deviation(Calibration::Exact).unwrap();
        assert!(error(found, exact) < 1e-11, "ε {epsilon}, δ {delta}: {found} for {exact}");
        assert!(gaussian_delta(1.0 / found, epsilon) <= delta.0 * (1.0 + 1e-12));
        let found = deviation(Calibration::Classic).unwrap();
        assert!(error(found, classic) < 1e-14, "ε {epsilon}, δ {delta}: {found} for {classic}");
        let found = gaussian_delta(1.0 / classic, epsilon);
        assert!(error(found, actual) < 1e-9, "ε {epsilon}, δ {delta}: {found:e} for {actual:e}");
    }
}

#[test]
fn compositions_agree_with_arithmetic_of_fifty_digits() {
    assert_eq!(COMPOSITIONS.len(), 42);
    for &(ratio, count, delta, expected) in COMPOSITIONS {
        let mu = f64::from(count).sqrt() / ratio;
        let found = gaussian_epsilon(mu, Delta(delta)).0;
        assert!(error(found, expected) < 1e-9, "μ {mu}, δ {delta:e}: {found} for {expected}");
        assert!(found >= expected * (1.0 - 1e-12), "μ {mu}: {found} below {expected}");
    }
}

#[test]
fn very_small_and_very_large_losses_are_exact_too() {
    for &(mu, delta, expected) in EXTREMES {
        let found = gaussian_epsilon(mu, Delta(delta)).0;
        assert!(error(found, expected) < 1e-12, "μ {mu}, δ {delta:e}: {found} for {expected}");
    }
}

#[test]
fn the_classic_formula_is_refused_with_both_figures_where_it_fails() {
    let (epsilon, delta) = (Epsilon(20.0), Delta(1e-5));
    let refused = Calibration::Classic.deviation(2.0, epsilon, delta).unwrap_err();
    let CalibrationError::Classic { deviation, actual, .. } = refused else {
        panic!("{refused}");
    };
    assert!(error(deviation, 2.0 * (2.0 * 1.25e5_f64.ln()).sqrt() / 20.0) < 1e-14);
    assert!(actual > delta.0 && error(actual, gaussian_delta(2.0 / deviation, epsilon)) < 1e-12);
    let text = refused.to_string();
    assert!(text.contains("1e-5") && text.contains(&format!("{actual:e}")), "{text}");
    let exact = Calibration::Exact.deviation(2.0, epsilon, delta).unwrap();
    assert!(exact > deviation);
}

#[test]
fn without_a_delta_no_gaussian_noise_is_enough() {
    for calibration in [Calibration::Exact, Calibration::Classic] {
        let refused = calibration.deviation(1.0, Epsilon(1.0), Delta(0.0));
        assert!(matches!(refused, Err(CalibrationError::Impossible { .. })), "{refused:?}");
        let refused = calibration.deviation(1.0, Epsilon(f64::NAN), Delta(1e-5));
        assert!(matches!(refused, Err(CalibrationError::Impossible { .. })), "{refused:?}");
    }
    // ε = 0 has an exact answer, δ = 2Φ(μ/2) − 1, and no classic one.
    let exact = Calibration::Exact.deviation(1.0, Epsilon(0.0), Delta(0.1)).unwrap();
    assert!(error(2.0 * central(0.5 / exact), 0.1) < 1e-13);
    assert!(Calibration::Classic.deviation(1.0, Epsilon(0.0), Delta(0.1)).is_err());
    // What does not depend on the data needs no noise.
    assert_eq!(Calibration::Exact.deviation(0.0, Epsilon(1.0), Delta(1e-5)), Ok(0.0));
}

#[test]
fn the_ends_are_right() {
    let delta = Delta(1e-5);
    assert_eq!(gaussian_epsilon(0.0, delta), Epsilon::ZERO);
    assert_eq!(gaussian_epsilon(f64::INFINITY, delta), Epsilon::UNBOUNDED);
    assert_eq!(gaussian_epsilon(f64::NAN, delta), Epsilon::UNBOUNDED);
    assert_eq!(gaussian_epsilon(1.0, Delta(0.0)), Epsilon::UNBOUNDED);
    assert_eq!(gaussian_epsilon(1.0, Delta(1.0)), Epsilon::ZERO);
    // δ(0) = 2Φ(μ/2) − 1, about μ/√(2π).
    assert_eq!(gaussian_epsilon(2e-5, delta), Epsilon::ZERO);
    assert!(gaussian_epsilon(3e-5, delta) > Epsilon::ZERO);
    assert_eq!(gaussian_epsilon(1e-300, delta), Epsilon::ZERO);
    // ε is μ²/2 to first order, until that is beyond floating point.
    assert!(error(gaussian_epsilon(1e10, delta).0, 5e19) < 1e-8);
    assert!(error(gaussian_epsilon(1e150, delta).0, 5e299) < 1e-12);
    assert_eq!(gaussian_epsilon(1e200, delta), Epsilon::UNBOUNDED);
    assert_eq!(gaussian_delta(0.0, Epsilon::ZERO), 0.0);
    assert_eq!(gaussian_delta(f64::INFINITY, Epsilon(1.0)), 1.0);
    assert_eq!(gaussian_delta(1.0, Epsilon::UNBOUNDED), 0.0);
    assert_eq!(gaussian_mu(Epsilon::UNBOUNDED, delta), f64::INFINITY);
    assert_eq!(gaussian_mu(Epsilon(1.0), Delta(0.0)), 0.0);
    assert_eq!(serde_json::to_string(&Calibration::Classic).unwrap(), "\"classic\"");
    assert_eq!(Calibration::default(), Calibration::Exact);
}

proptest! {
    #[test]
    fn the_profile_falls_in_epsilon_and_rises_in_mu(
        ln_mu in -8.0..4.0_f64, share in 0.0..3.0_f64, more in 1.001..3.0_f64,
    ) {
        let mu = ln_mu.exp();
        let epsilon = share * mu * (1.0 + 0.5 * mu);
        let delta = gaussian_delta(mu, Epsilon(epsilon));
        prop_assert!((0.0..=1.0).contains(&delta));
        prop_assert!(gaussian_delta(mu, Epsilon(epsilon * more)) <= delta);
        prop_assert!(gaussian_delta(mu * more, Epsilon(epsilon)) >= delta);
    }

    #[test]
    fn epsilon_delta_and_mu_are_inverse_to_each_other(
        ln_mu in -6.0..4.0_f64, ln_delta in -40.0..-1.0_f64,
    ) {
        let (mu, delta) = (ln_mu.exp(), Delta(ln_delta.exp()));
        let epsilon = gaussian_epsilon(mu, delta);
        let found = gaussian_delta(mu, epsilon);
        prop_assert!(found <= delta.0 * (1.0 + 1e-11));
        if epsilon > Epsilon::ZERO {
            prop_assert!(error(found, delta.0) < 1e-9);
            prop_assert!(error(gaussian_mu(epsilon, delta), mu) < 1e-9);
        } else {
            prop_assert!(gaussian_mu(epsilon, delta) >= mu * (1.0 - 1e-12));
        }
    }

    #[test]
    fn epsilon_falls_in_delta_and_rises_in_mu(
        ln_mu in -6.0..4.0_f64, ln_delta in -40.0..-1.0_f64, more in 1.0..3.0_f64,
    ) {
        let (mu, delta) = (ln_mu.exp(), ln_delta.exp());
        let epsilon = gaussian_epsilon(mu, Delta(delta)).0 * (1.0 - 1e-11);
        prop_assert!(gaussian_epsilon(mu * more, Delta(delta)).0 >= epsilon);
        prop_assert!(gaussian_epsilon(mu, Delta(delta / more)).0 >= epsilon);
    }
}
