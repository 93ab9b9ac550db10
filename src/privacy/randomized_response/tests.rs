//! Flip rates against exact limits, the unbiased loss against its definition, and one answer for
//! each user.

use proptest::prelude::*;

use super::*;
use crate::units::Seed;

/// A tail this thin is no accident: one right draw in a million falls into it.
const THIN: f64 = 1e-6;

/// Pr[X ≤ count] and Pr[X ≥ count] for X ~ Bin(trials, p), summed term by term.
fn binomial_tails(count: usize, trials: usize, p: f64) -> (f64, f64) {
    let mut log_factorial = vec![0.0];
    for i in 1..=trials {
        log_factorial.push(log_factorial[i - 1] + (i as f64).ln());
    }
    let probability = |i: usize| {
        let choose = log_factorial[trials] - log_factorial[i] - log_factorial[trials - i];
        (choose + i as f64 * p.ln() + (trials - i) as f64 * (-p).ln_1p()).exp()
    };
    ((0..=count).map(probability).sum(), (count..=trials).map(probability).sum())
}

#[track_caller]
fn assert_binomial(count: usize, trials: usize, p: f64) {
    let (low, high) = binomial_tails(count, trials, p);
    assert!(low > THIN && high > THIN, "{count} of {trials} at {p}: tails {low:e} and {high:e}");
}

fn config(epsilon: Levels) -> LabelsConfig {
    LabelsConfig { epsilon, loss: Correction::Unbiased }
}

/// Labels of a source by row number: not alternating, both signs.
fn label(row: u32) -> f64 {
    if row.is_multiple_of(3) { 1.0 } else { -1.0 }
}

fn respond(epsilon: &Levels, rows: &[u32], offsets: &[usize], seed: u64) -> Responses {
    let labels: Vec<f64> = rows.iter().map(|&row| label(row)).collect();
    let streams = Streams::new(Seed(seed), 0);
    randomise(&config(epsilon.clone()), &labels, rows, offsets, &streams)
}

#[test]
fn the_tails_of_a_small_binomial_law() {
    // Bin(3, 1/4): 27, 27, 9, 1 of 64.
    let (low, high) = binomial_tails(1, 3, 0.25);
    assert!((low - 54.0 / 64.0).abs() < 1e-12 && (high - 37.0 / 64.0).abs() < 1e-12);
}

#[test]
fn labels_are_flipped_as_often_as_the_level_says() {
    let n = 20_000;
    let rows: Vec<u32> = (0..n as u32).collect();
    for seed in [1, 2, 3] {
        for epsilon in [1e-6, 0.1, 0.4, 1.0, 3.0, 8.0] {
            let found = respond(&Levels::Same(epsilon), &rows, &[0, n], seed);
            for sign in [-1.0, 1.0] {
                let of_sign = || rows.iter().zip(&found.answers).filter(|r| label(*r.0) == sign);
                let flips = of_sign().filter(|(_, answer)| **answer != sign).count();
                let p = 1.0 / (1.0 + f64::exp(epsilon));
                assert_binomial(flips, of_sign().count(), p);
                // The limits are narrow enough to tell a level from another.
                let (low, _) = binomial_tails(flips, of_sign().count(), (1.6 * p).min(0.6));
                assert!(epsilon == 8.0 || low < THIN, "{epsilon}: {low}");
            }
        }
    }
}

#[test]
fn nearly_nothing_is_flipped_at_the_greatest_level() {
    let rows: Vec<u32> = (0..10_000).collect();
    let found = respond(&Levels::Same(50.0), &rows, &[0, 10_000], 1);
    assert!(rows.iter().zip(&found.labels).all(|(&row, &y)| y == label(row)));
}

#[test]
fn probability_and_coefficient_in_closed_form() {
    // e^ε = 3: p = 1/4, k = 4/2.
    let three = Epsilon(3.0_f64.ln());
    assert!((flip_probability(three) - 0.25).abs() < 1e-15);
    assert!((coefficient(three) - 2.0).abs() < 1e-15);
    // The published values.
    assert!((coefficient(Epsilon(0.4)) - 5.066).abs() < 5e-4);
    assert!((coefficient(Epsilon(1.0)) - 2.164).abs() < 5e-4);
    // coth(x) = 1/x + x/3 − …: the next term is far below rounding here.
    for epsilon in [1e-6, 1e-5, 1e-4] {
        let series = 2.0 / epsilon + epsilon / 6.0;
        assert!((coefficient(Epsilon(epsilon)) / series - 1.0).abs() < 1e-15);
    }
    assert_eq!((flip_probability(Epsilon::UNBOUNDED), coefficient(Epsilon::UNBOUNDED)), (0.0, 1.0));
    assert_eq!(flip_probability(Epsilon::ZERO), 0.5);
    assert!((flip_probability(Epsilon(50.0)) / (-50.0_f64).exp() - 1.0).abs() < 1e-12);
}

/// The textbook formula, for labels ±1 and, by the same linear term, for any other.
fn logistic(y: f64, z: f64) -> f64 {
    (2.0 * (z / 2.0).cosh()).ln() - y * z / 2.0
}

proptest! {
    #[test]
    fn the_levels_loss_is_the_ratio_of_the_answers(epsilon in 1e-6..30.0) {
        let p = flip_probability(Epsilon(epsilon));
        prop_assert!((((1.0 - p) / p).ln() - epsilon).abs() < 1e-12 * (1.0 + epsilon));
        // E[k y'] = y.
        let mean = coefficient(Epsilon(epsilon)) * ((1.0 - p) - p);
        prop_assert!((mean - 1.0).abs() < 1e-8, "{mean}");
    }

    #[test]
    fn a_scaled_answer_is_the_unbiased_loss(epsilon in 0.01..10.0, z in -20.0..20.0) {
        let textbook = |y: f64| f64::exp(-y * z).ln_1p();
        let (e, k) = (f64::exp(epsilon), coefficient(Epsilon(epsilon)));
        let corrected = |answer: f64| logistic(k * answer, z);
        for answer in [-1.0, 1.0] {
            let definition = (e * textbook(answer) - textbook(-answer)) / (e - 1.0);
            prop_assert!((corrected(answer) - definition).abs() < 1e-9 * (1.0 + definition.abs()));
        }
        let p = flip_probability(Epsilon(epsilon));
        for y in [-1.0, 1.0] {
            let mean = (1.0 - p) * corrected(y) + p * corrected(-y);
            prop_assert!((mean - textbook(y)).abs() < 1e-9 * (1.0 + k * z.abs()));
            // With answers as they are, the loss is off by p·yz.
            let plain = (1.0 - p) * textbook(y) + p * textbook(-y);
            prop_assert!((plain - textbook(y) - p * y * z).abs() < 1e-9 * (1.0 + z.abs()));
        }
    }

    /// Whatever else is dealt, and wherever, a user has one level and one answer.
    #[test]
    fn a_user_answers_alike_in_any_company(
        others in prop::collection::vec(0_u32..500, 0..40),
        row in 0_u32..500,
        seed: u64,
    ) {
        let levels = [
            Levels::Same(0.5),
            Levels::PerUser((0..500).map(|i| 0.1 + f64::from(i) / 100.0).collect()),
            Levels::Drawn(Law::LogUniform(Span { low: 0.1, high: 3.0 })),
        ];
        for levels in levels {
            let alone = respond(&levels, &[row], &[0, 1], seed);
            let rows = [others.as_slice(), &[row, row]].concat();
            let beside = respond(&levels, &rows, &[0, 0, others.len() + 1, rows.len()], seed);
            for place in (0..rows.len()).filter(|&place| rows[place] == row) {
                prop_assert_eq!(beside.levels[place], alone.levels[0]);
                prop_assert_eq!(beside.answers[place], alone.answers[0]);
                prop_assert_eq!(beside.labels[place], alone.labels[0]);
            }
        }
    }
}

#[test]
fn labels_are_answers_times_the_users_own_factor() {
    let epsilon = Levels::PerUser(vec![0.4, 1.0, 2.0]);
    let rows = [2, 0, 1];
    let found = respond(&epsilon, &rows, &[0, 3], 5);
    for (place, level) in [2.0, 0.4, 1.0].into_iter().enumerate() {
        assert_eq!(found.levels[place], Epsilon(level));
        assert_eq!(found.answers[place].abs(), 1.0);
        let k = coefficient(Epsilon(level));
        assert_eq!(found.labels[place], k * found.answers[place]);
    }
    let plain = LabelsConfig { epsilon, loss: Correction::Plain };
    let labels = rows.map(label);
    let plain = randomise(&plain, &labels, &rows, &[0, 3], &Streams::new(Seed(5), 0));
    assert_eq!(plain.answers, found.answers, "the correction draws nothing");
    assert_eq!(plain.labels, plain.answers);
    let spent = plain.spent[0].unwrap();
    assert_eq!((spent.mean_factor, spent.greatest_factor), (1.0, 1.0));
}

#[test]
fn spending_is_summed_up_by_peer_and_counts_users_once() {
    let epsilon = Levels::PerUser(vec![0.4, 1.0, 2.0, 3.0]);
    let found = respond(&epsilon, &[1, 0, 1, 1, 3], &[0, 4, 4, 5], 5);
    let k = |level: f64| coefficient(Epsilon(level));
    let first = LabelSummary {
        users: 2,
        least: Epsilon(0.4),
        greatest: Epsilon(1.0),
        mean_factor: (k(0.4) + k(1.0)) / 2.0,
        greatest_factor: k(0.4),
    };
    let third = LabelSummary {
        users: 1,
        least: Epsilon(3.0),
        greatest: Epsilon(3.0),
        mean_factor: k(3.0),
        greatest_factor: k(3.0),
    };
    assert_eq!(found.spent, [Some(first), None, Some(third)]);
}

#[test]
fn a_user_of_two_peers_keeps_the_stricter_promise() {
    let epsilon = Levels::PerPeer(vec![2.0, 0.3, 1.0]);
    let rows = [7, 8, 8, 9, 7, 9];
    let found = respond(&epsilon, &rows, &[0, 2, 4, 6], 3);
    // Row 7 lies with peers 0 and 2, row 8 with 0 and 1, row 9 with 1 and 2.
    assert_eq!(found.levels, [1.0, 0.3, 0.3, 0.3, 1.0, 0.3].map(Epsilon));
    assert_eq!(found.labels[0], found.labels[4]);
    assert_eq!(found.labels[1], found.labels[2]);
    assert_eq!(found.labels[3], found.labels[5]);
    let range = |peer: usize| found.spent[peer].map(|spent| (spent.least.0, spent.greatest.0));
    assert_eq!(
        [range(0), range(1), range(2)],
        [Some((0.3, 1.0)), Some((0.3, 0.3)), Some((0.3, 1.0))]
    );
}

#[test]
fn nobody_answers_where_nobody_is() {
    let found = respond(&Levels::PerPeer(vec![1.0, 1.0]), &[], &[0, 0, 0], 1);
    assert_eq!((found.labels.len(), found.spent), (0, vec![None, None]));
}

/// √n times the largest distance between the empirical and the expected distribution; above 2.63
/// for one right sample in a million (Kolmogorov).
fn kolmogorov(mut sample: Vec<f64>, distribution: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let distance = |(i, &x): (usize, &f64)| {
        let (below, expected) = (i as f64 / n, distribution(x));
        (expected - below).abs().max((expected - below - 1.0 / n).abs())
    };
    sample.iter().enumerate().map(distance).fold(0.0, f64::max) * n.sqrt()
}

#[test]
fn drawn_levels_follow_their_law() {
    let span = Span { low: 0.1, high: 3.0 };
    let uniform = |x: f64| (x - 0.1) / 2.9;
    let log_uniform = |x: f64| (x / 0.1).ln() / 30.0_f64.ln();
    for seed in [1, 2, 3] {
        let family = Streams::new(Seed(seed), 0).family(Purpose::Levels, 0);
        let draw = |law: Law| -> Vec<f64> {
            let levels = Levels::Drawn(law);
            (0..20_000).map(|row| levels.level(PeerId(0), row, family).0).collect()
        };
        let (flat, log) = (draw(Law::Uniform(span)), draw(Law::LogUniform(span)));
        assert!(flat.iter().chain(&log).all(|level| (0.1..=3.0).contains(level)));
        assert!(kolmogorov(flat.clone(), uniform) < 2.63);
        assert!(kolmogorov(log.clone(), log_uniform) < 2.63);
        assert!(kolmogorov(flat, log_uniform) > 10.0 && kolmogorov(log, uniform) > 10.0);
        let choice = draw(Law::Choice(vec![0.1, 0.4, 1.0, 0.4]));
        for (level, p) in [(0.1, 0.25), (0.4, 0.5), (1.0, 0.25)] {
            assert_binomial(choice.iter().filter(|&&found| found == level).count(), 20_000, p);
        }
    }
}

#[test]
fn levels_do_not_decide_about_flips() {
    // Were both drawn from one stream, users with small levels would all flip, or none.
    let rows: Vec<u32> = (0..20_000).collect();
    let law = Law::Choice(vec![0.1, 1.0]);
    let found = respond(&Levels::Drawn(law), &rows, &[0, rows.len()], 8);
    for level in [0.1, 1.0] {
        let of_level = || (0..rows.len()).filter(|&place| found.levels[place].0 == level);
        let flips = of_level().filter(|&place| found.answers[place] != label(rows[place])).count();
        assert_binomial(flips, of_level().count(), flip_probability(Epsilon(level)));
    }
}

#[test]
fn repeats_answer_anew() {
    let rows: Vec<u32> = (0..100).collect();
    let labels = vec![1.0; 100];
    let answers = |repeat| {
        let streams = Streams::new(Seed(1), repeat);
        randomise(&config(Levels::Same(0.4)), &labels, &rows, &[0, 100], &streams).answers
    };
    assert_eq!(answers(0), answers(0));
    assert_ne!(answers(0), answers(1));
}

#[test]
fn what_is_wrong_with_levels() {
    let span = |low, high| Span { low, high };
    for (epsilon, expected) in [
        (Levels::Same(0.4), vec![]),
        (Levels::Same(1e-6), vec![]),
        (Levels::Same(50.0), vec![]),
        (Levels::Same(0.0), vec!["epsilon: found 0, expected 0.000001 to 50"]),
        (Levels::Same(-1.0), vec!["epsilon: found -1, expected 0.000001 to 50"]),
        (Levels::Same(f64::NAN), vec!["epsilon: found NaN, expected 0.000001 to 50"]),
        (
            Levels::Same(f64::INFINITY),
            vec![
                "epsilon: found infinity, expected 0.000001 to 50: a label that is not randomised \
                 has no guarantee",
            ],
        ),
        (Levels::PerPeer(vec![1.0, 2.0]), vec![]),
        (
            Levels::PerPeer(vec![1.0, 51.0, 2.0]),
            vec![
                "epsilon.per-peer.1: found 51, expected 0.000001 to 50",
                "epsilon.per-peer: number of levels: found 3, expected 2, one for each peer",
            ],
        ),
        (Levels::PerUser(vec![]), vec!["epsilon.per-user: found an empty list, expected a level"]),
        (
            Levels::Drawn(Law::Choice(vec![0.0])),
            vec!["epsilon.drawn.choice.0: found 0, expected 0.000001 to 50"],
        ),
        (
            Levels::Drawn(Law::Uniform(span(1.0, 1.0))),
            vec!["epsilon.drawn.uniform.high: found 1, expected a level above low, which is 1"],
        ),
        (
            Levels::Drawn(Law::LogUniform(span(0.0, 99.0))),
            vec![
                "epsilon.drawn.log-uniform.low: found 0, expected 0.000001 to 50",
                "epsilon.drawn.log-uniform.high: found 99, expected 0.000001 to 50",
            ],
        ),
    ] {
        let problems = config(epsilon).check(Some(2));
        let listed: Vec<_> = problems.iter().map(|(f, m)| format!("{f}: {m}")).collect();
        assert_eq!(listed, expected);
    }
    assert_eq!(config(Levels::PerPeer(vec![1.0; 3])).check(None), []);
    let users = config(Levels::PerUser(vec![1.0; 3]));
    assert_eq!(users.check(Some(2)), []);
    assert_eq!(users.check_source(3), None);
    let (field, message) = users.check_source(4).unwrap();
    assert_eq!(field, "epsilon.per-user");
    assert_eq!(message, "number of levels: found 3, expected 4, one for each row of the source");
    assert_eq!(config(Levels::Same(1.0)).check_source(4), None);
}
