//! Policies as they are written in a scenario.

use super::*;

fn parse(text: &str) -> Result<PolicyConfig, String> {
    let deserializer = serde_yaml::Deserializer::from_str(text);
    serde_yaml::with::singleton_map_recursive::deserialize(deserializer)
        .map_err(|error: serde_yaml::Error| error.to_string())
}

fn write(config: &PolicyConfig) -> String {
    let mut written = Vec::new();
    let mut serializer = serde_yaml::Serializer::new(&mut written);
    serde_yaml::with::singleton_map_recursive::serialize(config, &mut serializer).unwrap();
    String::from_utf8(written).unwrap()
}

/// Every policy at its shortest: (text, needs of the loss of w^L, of w^G, of that after).
const EVERY: [(&str, [bool; 3]); 9] = [
    ("always-global", [false; 3]),
    ("always-local", [false; 3]),
    ("random: {global: 0.1}", [false; 3]),
    ("periodic: {every: 100}", [false; 3]),
    ("final-global", [false; 3]),
    ("threshold: {}", [true, true, false]),
    ("bandit: {}", [true, false, false]),
    ("linear-q: {}", [true, false, false]),
    ("deep-q: {}", [true, false, false]),
];

#[test]
fn every_policy_says_what_it_needs_and_whether_it_looks_at_data() {
    for (text, [local_loss, global_loss, after]) in EVERY {
        let config = parse(text).unwrap();
        assert_eq!(config.needs(), Needs { local_loss, global_loss, after }, "{text}");
        assert_eq!(config.name(), text.split(':').next().unwrap());
        assert_eq!(config.check(), []);
        let looks = local_loss || global_loss || after;
        assert_eq!(config.looks_at_data(), looks, "{text}");
        assert_eq!(config.decision_epsilon().is_some(), looks, "{text}");
        assert_eq!(config.declaration().is_some(), looks, "{text}");
        assert_eq!(config.releases(7).is_none(), looks, "{text}");
    }
    for (reward, before, after) in [("after", false, true), ("gain", true, true)] {
        let needs =
            |policy: &str| parse(&format!("{policy}: {{reward: {reward}}}")).unwrap().needs();
        let expected = Needs { local_loss: before, global_loss: false, after };
        assert_eq!(needs("bandit"), expected, "a bandit has no state");
        let expected = Needs { local_loss: true, ..expected };
        assert_eq!([needs("linear-q"), needs("deep-q")], [expected; 2]);
    }
}

#[test]
fn what_is_read_is_written() {
    let longer = [
        "threshold: {exploration: 0.1}",
        "bandit: {reward: gain, step: 0.05, exploration: {from: 0.5, to: 0.25, over: 1}}",
        "linear-q: {reward: after, learning_rate: 0.5, discount: 0, exploration: 1}",
        "deep-q: {reward: gain, hidden: 16, activation: relu, adam: {learning_rate: 0.1, \
         mean_decay: 0.5, square_decay: 0.5, floor: 1e-6}, replay: 100, batch: 50, target_every: 1, \
         discount: 1, exploration: {to: 0}}",
    ];
    for text in EVERY.map(|(text, _)| text).into_iter().chain(longer) {
        let config = parse(text).unwrap();
        assert_eq!(config.check(), [], "{text}");
        assert_eq!(parse(&write(&config)).unwrap(), config, "{}", write(&config));
    }
    let PolicyConfig::DeepQ(deep) = parse(longer[3]).unwrap() else { panic!("deep-q") };
    let adam = Adam { learning_rate: 0.1, mean_decay: 0.5, square_decay: 0.5, floor: 1e-6 };
    let expected = DeepQ {
        reward: Reward::Gain,
        hidden: 16,
        activation: Activation::Relu,
        adam,
        replay: 100,
        batch: 50,
        target_every: 1,
        discount: 1.0,
        exploration: Exploration::Fade(Fade { from: 1.0, to: 0.0, over: 0.5 }),
    };
    assert_eq!(deep, expected);
}

#[test]
fn the_defaults_are_the_published_ones() {
    let text = "deep-q: {reward: before, hidden: 128, activation: linear, adam: {learning_rate: \
                0.01, mean_decay: 0.9, square_decay: 0.999, floor: 1e-8}, replay: 20, batch: 10, \
                target_every: 10, discount: 0.9, exploration: {from: 1, to: 0.1, over: 0.5}}";
    assert_eq!(parse("deep-q: {}"), parse(text));
    assert_eq!(parse("threshold: {}"), parse("threshold: {exploration: 0}"));
}

#[test]
fn unknown_keys_are_refused() {
    for text in [
        "sometimes-global",
        "random: {global: 0.1, local: 0.9}",
        "periodic: {every: 2, phase: 1}",
        "threshold: {explore: 0.1}",
        "bandit: {rewards: after}",
        "bandit: {reward: later}",
        "linear-q: {replay: 20}",
        "deep-q: {layers: 2}",
        "deep-q: {adam: {rate: 0.1}}",
        "deep-q: {exploration: {until: 0.5}}",
        "deep-q: {activation: tanh}",
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.contains("unknown"), "{text}: {error}");
    }
    for text in ["random: {}", "periodic: {}"] {
        assert!(parse(text).unwrap_err().contains("missing"), "{text}");
    }
}

#[test]
fn every_problem_is_listed_with_its_place() {
    for (text, expected) in [
        ("random: {global: 1.5}", vec!["random.global: expected a number from 0 to 1, found 1.5"]),
        ("periodic: {every: 0}", vec!["periodic.every: expected at least 1 visit, found 0"]),
        (
            "threshold: {exploration: .nan}",
            vec!["threshold.exploration: expected a number from 0 to 1, found NaN"],
        ),
        (
            "bandit: {step: 0, exploration: -1}",
            vec![
                "bandit.step: expected a number above 0, at most 1, found 0",
                "bandit.exploration: expected a number from 0 to 1, found -1",
            ],
        ),
        (
            "linear-q: {learning_rate: 2, discount: 2, exploration: {from: 2}}",
            vec![
                "linear-q.learning_rate: expected a number above 0, at most 1, found 2",
                "linear-q.discount: expected a number from 0 to 1, found 2",
                "linear-q.exploration.from: expected a number from 0 to 1, found 2",
            ],
        ),
        (
            "deep-q: {hidden: 0, adam: {learning_rate: 0, mean_decay: 1, square_decay: -1, floor: 0}, \
             replay: 0, batch: 0, target_every: 0, discount: -0.5, exploration: {to: 3, over: 4}}",
            vec![
                "deep-q.hidden: expected 1 to 10000 units, found 0",
                "deep-q.adam.learning_rate: expected a number above 0, at most 1, found 0",
                "deep-q.adam.mean_decay: expected a number from 0 to below 1, found 1",
                "deep-q.adam.square_decay: expected a number from 0 to below 1, found -1",
                "deep-q.adam.floor: expected a number from 1e-12 to 1, found 0",
                "deep-q.replay: expected 1 to 100000 transitions, found 0",
                "deep-q.batch: expected 1 to 10000 transitions, found 0",
                "deep-q.target_every: expected at least 1 update, found 0",
                "deep-q.discount: expected a number from 0 to 1, found -0.5",
                "deep-q.exploration.to: expected a number from 0 to 1, found 3",
                "deep-q.exploration.over: expected a number from 0 to 1, found 4",
            ],
        ),
    ] {
        let problems = parse(text).unwrap().check();
        let listed: Vec<_> = problems.iter().map(|(f, m)| format!("{f}: {m}")).collect();
        assert_eq!(listed, expected, "{text}");
    }
}

#[test]
fn a_declaration_has_the_figure_of_one_decision() {
    let declared = |text: &str| parse(text).unwrap().declaration().unwrap();
    let deep = declared("deep-q: {}");
    assert!(deep.starts_with("deep-q: when a release happens depends on private data"), "{deep}");
    assert!(deep.contains("p = 0.1") && deep.contains("= 2.94"), "{deep}");
    let threshold = declared("threshold: {}");
    assert!(threshold.contains("infinite") && threshold.contains("p = 0"), "{threshold}");
    assert!(declared("bandit: {exploration: 0.5}").contains("= 1.10"));
    let never = parse("linear-q: {exploration: {from: 0, to: 1}}").unwrap();
    assert_eq!(never.decision_epsilon(), Some(f64::INFINITY), "the least counts, not the last");
    // Over six visits p is 1, 0.7, 0.4, and 0.1 from then on.
    let all = parse("deep-q: {}").unwrap().decisions_epsilon(6).unwrap();
    let by_hand: f64 = [1.0, 1.3 / 0.7, 4.0, 19.0, 19.0, 19.0].map(f64::ln).iter().sum();
    assert!((all - by_hand).abs() < 1e-12, "{all} {by_hand}");
    assert_eq!(parse("always-global").unwrap().decisions_epsilon(6), None);
    // Nobody waits for 10¹³ terms: each is bounded by the greatest of them.
    let many = parse("deep-q: {}").unwrap().decisions_epsilon(10_000_000_000_000).unwrap();
    assert!((many - 1e13 * 19_f64.ln()).abs() < 1e-9 * many, "{many}");
}
