//! Records made by hand, with numbers that a test knows.

use serde_json::json;

use super::{Booked, Record};
use crate::experiment::StopReason;
use crate::measure::{MeasuredRow, Metric};
use crate::privacy::{Observer, Piece};
use crate::protocol::ProtocolConfig;
use crate::scenario::Checked;
use crate::units::Round;

/// What every made record measures.
pub(in crate::report) const METRICS: [Metric; 5] = [
    Metric::OptimumDistance,
    Metric::TestAccuracy,
    Metric::Messages,
    Metric::Bytes,
    Metric::SimSeconds,
];

/// A row of a distance and an accuracy, after 4 messages of 100 bytes in each round of 2 ms.
pub(in crate::report) fn row(round: u32, distance: f64, accuracy: f64) -> MeasuredRow {
    let rounds = f64::from(round);
    let values = vec![distance, accuracy, 4.0 * rounds, 400.0 * rounds, 0.002 * rounds];
    MeasuredRow { round: Round(round), values }
}

/// A repeat of `rounds` rounds that reaches a distance of 0.001 in round `reached`, if it does, and
/// ends with an accuracy.
pub(in crate::report) fn repeat(
    rounds: u32,
    reached: Option<u32>,
    accuracy: f64,
) -> Vec<MeasuredRow> {
    let distance = |round| if reached.is_some_and(|at| round >= at) { 0.001 } else { 1.0 };
    (1..=rounds)
        .map(|round| row(round, distance(round), if round == rounds { accuracy } else { 0.5 }))
        .collect()
}

/// A run on this graph with these repeats, none of which diverged.
pub(in crate::report) fn record(
    topology: &str,
    seed: u64,
    repeats: Vec<Vec<MeasuredRow>>,
) -> Record {
    let text = format!(
        "name: made\nseed: {seed}\nrepeat: {}\ntopology: {topology}\ndata: {{source: twonorm, samples: \
         {{per-peer: 8}}, test_share: 0.3}}\nmodel: {{loss: logistic, regularisation: 1}}\nprotocol: \
         {{admm: {{penalty: 0.3, rounds: 5}}}}\n",
        repeats.len().max(1)
    );
    let checked = Checked::from_text("made.yaml", &text).unwrap();
    let ledger = Observer::ALL.into_iter().flat_map(|observer| {
        [Piece::Label, Piece::Features].map(|piece| Booked {
            observer,
            piece,
            epsilon: f64::INFINITY,
            pure: false,
        })
    });
    Record {
        scenario: checked.scenario().clone(),
        topology: checked.topology().clone(),
        metrics: METRICS.to_vec(),
        stop_reasons: vec![StopReason::Rounds; repeats.len()],
        repeats,
        parameter: Some(("penalty".to_owned(), 0.3)),
        ledger: ledger.collect(),
        warnings: Vec::new(),
        summary: json!({}),
    }
}

/// The same run with noise on what peers send.
pub(in crate::report) fn with_noise(mut record: Record) -> Record {
    let ProtocolConfig::Admm(admm) = &mut record.scenario.protocol else {
        unreachable!("every made record is one of ADMM");
    };
    admm.primal_noise = serde_json::from_value(json!({"deviation": 1})).unwrap();
    record
}
