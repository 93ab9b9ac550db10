//! Policies against closed forms, finite differences and golden values.

mod config;
mod deep;

use rand::RngExt;

use super::*;
use crate::random::{Purpose, Streams};
use crate::units::Seed;

fn stream(number: u32) -> Stream {
    Streams::new(Seed(11), 0).family(Purpose::Decision, number).stream(0)
}

fn visit(local: &[f64], number: u32, of: u32) -> Visit<'_> {
    Visit { local, local_loss: f64::NAN, global_loss: f64::NAN, number, of }
}

/// The numbers of the visits at which a policy that looks at no data goes global.
fn global_visits(config: &PolicyConfig, of: u32) -> Vec<u32> {
    let mut stream = stream(0);
    let mut policy = config.build(1, &mut stream);
    (0..of)
        .filter(|&number| policy.decide(&visit(&[0.0], number, of), &mut stream) == Action::Global)
        .collect()
}

#[test]
fn schedules_go_global_when_they_say() {
    let periodic = |every| PolicyConfig::Periodic(Periodic { every });
    for (config, of, expected) in [
        (PolicyConfig::AlwaysGlobal, 3, vec![0, 1, 2]),
        (PolicyConfig::AlwaysLocal, 3, vec![]),
        (periodic(1), 3, vec![0, 1, 2]),
        (periodic(3), 8, vec![2, 5]),
        (periodic(9), 8, vec![]),
        (PolicyConfig::FinalGlobal, 5, vec![4]),
        (PolicyConfig::FinalGlobal, 1, vec![0]),
        (PolicyConfig::FinalGlobal, 0, vec![]),
    ] {
        assert_eq!(global_visits(&config, of), expected, "{config:?}");
        assert_eq!(config.releases(of), Some(expected.len() as f64), "{config:?}");
    }
}

#[test]
fn a_coin_has_its_frequency() {
    let visits = 40_000;
    for global in [0.0, 0.01, 0.5, 1.0] {
        let config = PolicyConfig::Random(Random { global });
        let expected = config.releases(visits).unwrap();
        assert_eq!(expected, global * 40_000.0);
        let deviation = (expected * (1.0 - global)).sqrt();
        let found = global_visits(&config, visits).len() as f64;
        assert!((found - expected).abs() <= 5.0 * deviation, "{found} of {expected}");
    }
}

#[test]
fn exploration_is_randomised_response() {
    let (n, p) = (40_000, 0.3);
    for greedy in [Action::Local, Action::Global] {
        let mut stream = stream(1);
        let kept =
            (0..n).filter(|_| exploration::explore(p, greedy, &mut stream) == greedy).count();
        let (expected, law) = (f64::from(n) * (1.0 - p / 2.0), 1.0 - p / 2.0);
        let deviation = (expected * (1.0 - law)).sqrt();
        assert!((kept as f64 - expected).abs() < 5.0 * deviation, "{kept} of {expected}");
    }
    // The likelihood ratio of the more probable action.
    let epsilon = exploration::decision_epsilon(p);
    assert!((epsilon - ((1.0 - p / 2.0) / (p / 2.0)).ln()).abs() < 1e-14);
    for (p, expected) in [(1.0, 0.0), (0.5, 1.0986), (0.1, 2.9444), (0.0, f64::INFINITY)] {
        let found = exploration::decision_epsilon(p);
        assert!(found == expected || (found - expected).abs() < 1e-4, "{found} at {p}");
    }
}

#[test]
fn exploration_fades_over_the_first_half_of_the_visits() {
    let fade = Exploration::default();
    for (number, expected) in [(0, 1.0), (25, 0.55), (49, 0.118), (50, 0.1), (51, 0.1), (99, 0.1)] {
        assert!((fade.at(number, 100) - expected).abs() < 1e-14, "visit {number}");
    }
    assert_eq!(fade.at(0, 0), 0.1, "no visits, nothing to divide by");
    assert_eq!(fade.least(), 0.1);
    assert_eq!(Exploration::Fade(Fade { from: 0.0, to: 1.0, over: 1.0 }).at(3, 4), 0.75);
    assert_eq!(Exploration::Fade(Fade { over: 0.0, ..Fade::default() }).at(0, 4), 0.1);
    assert_eq!(Exploration::Constant(0.3).at(7, 9), 0.3);
}

#[test]
fn a_threshold_goes_global_where_the_global_loss_is_less() {
    let mut stream = stream(2);
    let mut decide = |exploration, local_loss, global_loss| {
        let visit = Visit { local_loss, global_loss, ..visit(&[], 0, 1) };
        Threshold { exploration }.decide(&visit, &mut stream)
    };
    assert_eq!(decide(0.0, 0.5, 0.4), Action::Global);
    assert_eq!(decide(0.0, 0.4, 0.5), Action::Local);
    assert_eq!(decide(0.0, 0.4, 0.4), Action::Local, "a tie releases nothing");
    assert_eq!(decide(0.0, 0.4, f64::NAN), Action::Local, "nor does a diverged model");
    let n = 10_000;
    let flipped = (0..n).filter(|_| decide(0.2, 0.5, 0.4) == Action::Local).count();
    let (expected, deviation) = (0.1 * f64::from(n), (0.1 * 0.9 * f64::from(n)).sqrt());
    assert!((flipped as f64 - expected).abs() < 5.0 * deviation, "{flipped}");
}

#[test]
fn a_bandit_credits_the_next_loss_to_the_action_before() {
    let greedy = Bandit { exploration: Exploration::Constant(0.0), ..Bandit::default() };
    let mut bandit = bandit::Learner::new(greedy);
    let mut stream = stream(3);
    let mut decide = |bandit: &mut bandit::Learner, local_loss| {
        bandit.decide(&Visit { local_loss, ..visit(&[], 0, 9) }, &mut stream)
    };
    assert_eq!(decide(&mut bandit, 100.0), Action::Local, "the first loss is nobody's");
    assert_eq!(decide(&mut bandit, 2.0), Action::Global, "Local has −2, Global is untried");
    assert_eq!(decide(&mut bandit, 3.0), Action::Local, "Global has −3");
    assert_eq!(bandit.means, [-2.0, -3.0]);
    assert_eq!(decide(&mut bandit, 6.0), Action::Global, "Local has −(2 + 6)/2");
    assert_eq!(bandit.means, [-4.0, -3.0]);
    assert_eq!(decide(&mut bandit, 4.0), Action::Global, "Global has −(3 + 4)/2");
    assert_eq!(decide(&mut bandit, 8.0), Action::Local, "Global has −(3 + 4 + 8)/3");
    assert_eq!(bandit.means, [-4.0, -5.0]);
}

#[test]
fn a_bandit_credits_what_came_after_at_once() {
    for (reward, expected) in [(Reward::After, [-1.0, -2.25]), (Reward::Gain, [3.0, 1.75])] {
        let exploration = Exploration::Constant(0.0);
        let mut bandit = bandit::Learner::new(Bandit { reward, step: Some(0.25), exploration });
        let mut stream = stream(4);
        let mut turn = |bandit: &mut bandit::Learner, after| {
            let visit = Visit { local_loss: 4.0, ..visit(&[], 0, 9) };
            let action = bandit.decide(&visit, &mut stream);
            bandit.learn(after);
            action
        };
        assert_eq!(turn(&mut bandit, 1.0), Action::Local);
        assert_eq!(turn(&mut bandit, 2.25), Action::Global);
        assert_eq!(bandit.means, expected, "first rewards are taken whole");
        assert_eq!(turn(&mut bandit, 5.0), Action::Local);
        assert_eq!(bandit.means[0], expected[0] + 0.25 * (-5.0 + 1.0), "then a quarter of the way");
    }
}

#[test]
fn a_bandit_finds_the_better_action() {
    let mut bandit = bandit::Learner::new(Bandit { reward: Reward::After, ..Bandit::default() });
    let mut stream = stream(5);
    let mut last = 0;
    for number in 0..2000 {
        let action = bandit.decide(&visit(&[], number, 2000), &mut stream);
        last += usize::from(number >= 1000 && action == Action::Global);
        let mean = if action == Action::Global { 1.0 } else { 1.5 };
        bandit.learn(mean + stream.random_range(-1.0..1.0));
    }
    // Global but for one half of the exploration of 0.1.
    assert!((950.0 - last as f64).abs() < 5.0 * (1000.0 * 0.95 * 0.05_f64).sqrt(), "{last}");
    assert!((bandit.means[1] + 1.0).abs() < 5.0 * (1.0_f64 / 3.0 / 1900.0).sqrt());
}

/// Two states, w = ±1 by a coin: Global is right at +1 and Local at −1; a wrong action costs a loss
/// of 1 after it, a right one nothing. Then Q*(s, right) = 0 and Q*(s, wrong) = −1 at any discount.
fn play(policy: &mut dyn Policy, visits: u32, stream: &mut Stream) {
    for number in 0..visits {
        let w = if stream.random::<bool>() { 1.0 } else { -1.0 };
        let model = [w];
        let visit = Visit { local_loss: 0.5, ..visit(&model, number, visits) };
        let right = if w > 0.0 { Action::Global } else { Action::Local };
        let action = policy.decide(&visit, stream);
        policy.learn(if action == right { 0.0 } else { 1.0 });
    }
}

fn assert_optimal(w: f64, values: [f64; 2], tolerance: f64) {
    let expected = if w > 0.0 { [-1.0, 0.0] } else { [0.0, -1.0] };
    for (found, expected) in values.into_iter().zip(expected) {
        assert!((found - expected).abs() < tolerance, "Q = {values:?} at w = {w}");
    }
}

#[test]
fn linear_q_learning_solves_two_states() {
    let exploration = Exploration::Constant(0.5);
    let config = LinearQ { reward: Reward::After, learning_rate: 0.05, discount: 0.9, exploration };
    let mut stream = stream(6);
    let mut learner = linear_q::Learner::new(config, 1);
    play(&mut learner, 5000, &mut stream);
    for w in [1.0, -1.0] {
        learner.decide(&Visit { local_loss: 0.5, ..visit(&[w], 0, 1) }, &mut stream);
        learner.learn(0.0);
        assert_optimal(w, learner.values(), 0.2);
    }
}

#[test]
fn a_linear_q_learner_steps_by_the_semi_gradient() {
    let config = LinearQ {
        learning_rate: 0.5,
        discount: 0.5,
        exploration: Exploration::Constant(0.0),
        ..LinearQ::default()
    };
    let mut learner = linear_q::Learner::new(config, 1);
    let mut stream = stream(7);
    let mut decide = |learner: &mut linear_q::Learner, w: f64, local_loss| {
        learner.decide(&Visit { local_loss, ..visit(&[w], 0, 9) }, &mut stream)
    };
    assert_eq!(decide(&mut learner, 1.0, 2.0), Action::Local, "θ = 0 is a tie");
    // θ_Local = ½(−2 + 0 − 0)[1, 2, 1] = [−1, −2, −1], and at [0, 1, 1] Q = [−3, 0].
    assert_eq!(decide(&mut learner, 0.0, 1.0), Action::Global);
    assert_eq!(learner.values(), [-3.0, 0.0]);
    // In s′ = [−5, 0, 1], Q = [4, 0]: θ_Global = ½(−1 + ½·4 − 0)[0, 1, 1] = [0, ½, ½].
    assert_eq!(decide(&mut learner, -5.0, 0.0), Action::Local);
    assert_eq!(learner.values(), [4.0, 0.5]);
}
