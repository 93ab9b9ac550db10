//! The section for randomised labels as it is written, read back and refused.

use hushmesh::privacy::randomized_response::{Correction, LabelsConfig, Law, Levels, Span};
use hushmesh::scenario::{Document, to_yaml};
use proptest::prelude::*;
use schemars::schema_for;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::conforms;

/// A document with that section and nothing else.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Privacy {
    labels: LabelsConfig,
}

fn parse(text: &str) -> Result<LabelsConfig, String> {
    let parsed = Document::from_text("x.yaml", text).and_then(|document| document.parse());
    parsed.map(|parsed| parsed.value).map(|Privacy { labels }| labels).map_err(|e| e.to_string())
}

fn schema_allows(labels: &LabelsConfig) -> Result<(), String> {
    let schema = schema_for!(LabelsConfig).to_value();
    let yaml: Value = serde_yaml::from_str(&to_yaml(labels)).expect("what was written is YAML");
    conforms(&yaml, &schema, &schema)
}

#[test]
fn every_form_is_read() {
    let span = Span { low: 0.1, high: 1.0 };
    for (text, epsilon) in [
        ("0.4", Levels::Same(0.4)),
        ("1", Levels::Same(1.0)),
        ("{per-peer: [0.1, 1]}", Levels::PerPeer(vec![0.1, 1.0])),
        ("{per-user: [0.1, 0.4]}", Levels::PerUser(vec![0.1, 0.4])),
        ("{drawn: {uniform: {low: 0.1, high: 1}}}", Levels::Drawn(Law::Uniform(span))),
        ("{drawn: {log-uniform: {low: 0.1, high: 1}}}", Levels::Drawn(Law::LogUniform(span))),
        ("{drawn: {choice: [0.1, 1]}}", Levels::Drawn(Law::Choice(vec![0.1, 1.0]))),
    ] {
        let expected = LabelsConfig { epsilon, loss: Correction::Unbiased };
        assert_eq!(parse(&format!("labels: {{epsilon: {text}}}")).as_ref(), Ok(&expected));
        let plain = LabelsConfig { loss: Correction::Plain, ..expected };
        assert_eq!(parse(&format!("labels: {{epsilon: {text}, loss: plain}}")), Ok(plain));
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let full = parse("labels:\n  epsilon:\n    per-pear: [0.1]\n").unwrap_err();
    assert_eq!(
        full,
        "error: x.yaml:3:5: labels.epsilon.per-pear: unknown choice `per-pear`
  |
3 |     per-pear: [0.1]
  |     ^^^^^^^^
  = expected one of: per-peer, per-user, drawn
  = did you mean `per-peer`?"
    );
    for (text, expected) in [
        (
            "{epsilon: much}",
            "1:19: labels.epsilon: expected a number or one of the sections `per-peer`, \
             `per-user` and `drawn`, found the text `much`",
        ),
        (
            "{epsilon: {per-user: [1, x]}}",
            "1:34: labels.epsilon.per-user.1: expected a number, found the text `x`",
        ),
        (
            "{epsilon: {drawn: {uniform: {low: 1, hihg: 2}}}}",
            "1:46: labels.epsilon.drawn.uniform.hihg: unknown key",
        ),
        (
            "{epsilon: {drawn: {unifrom: {low: 1}}}}",
            "1:28: labels.epsilon.drawn.unifrom: unknown choice `unifrom`",
        ),
        (
            "{epsilon: {per-peer: [1], drawn: {choice: [1]}}}",
            "1:10: labels.epsilon: expected one of per-peer, per-user and drawn",
        ),
        ("{epsilon: {}}", "1:10: labels.epsilon: expected one of per-peer, per-user and drawn"),
        ("{epsilon: 1, los: plain}", "1:22: labels.los: unknown key"),
        ("{epsilon: 1, loss: biased}", "1:28: labels.loss: unknown choice `biased`"),
        ("{loss: plain}", "1:1: labels: the key `epsilon` is missing"),
    ] {
        let said = parse(&format!("labels: {text}\n")).unwrap_err();
        let first = said.lines().next().unwrap_or_default();
        assert_eq!(first, format!("error: x.yaml:{expected}"), "{text}");
    }
}

#[test]
fn the_schema_refuses_levels_that_the_program_refuses() {
    let with = |epsilon| LabelsConfig { epsilon, loss: Correction::Unbiased };
    assert_eq!(schema_allows(&with(Levels::Same(0.4))), Ok(()));
    for wrong in [Levels::Same(0.0), Levels::Same(51.0), Levels::PerPeer(vec![1.0, -1.0])] {
        let wrong = with(wrong);
        assert!(schema_allows(&wrong).is_err() && !wrong.check(None).is_empty(), "{wrong:?}");
    }
}

fn labels() -> impl Strategy<Value = LabelsConfig> {
    let level = || prop_oneof![Just(1e-6), Just(1.0), Just(50.0), 1e-6..50.0];
    let list = || prop::collection::vec(level(), 1..5);
    let span = || (level(), level()).prop_map(|(low, high)| Span { low, high });
    let epsilon = prop_oneof![
        level().prop_map(Levels::Same),
        list().prop_map(Levels::PerPeer),
        list().prop_map(Levels::PerUser),
        list().prop_map(|levels| Levels::Drawn(Law::Choice(levels))),
        span().prop_map(|span| Levels::Drawn(Law::Uniform(span))),
        span().prop_map(|span| Levels::Drawn(Law::LogUniform(span))),
    ];
    let loss = prop_oneof![Just(Correction::Unbiased), Just(Correction::Plain)];
    (epsilon, loss).prop_map(|(epsilon, loss)| LabelsConfig { epsilon, loss })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_section_reads_back_equal(labels in labels()) {
        prop_assert_eq!(schema_allows(&labels), Ok(()));
        let privacy = Privacy { labels };
        let yaml = to_yaml(&privacy);
        prop_assert_eq!(parse(&yaml), Ok(privacy.labels), "{}", yaml);
    }
}
