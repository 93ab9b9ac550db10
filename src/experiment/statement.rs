//! What a scenario protects, and what it does not: in plain words, before anything runs.

use crate::data::Partition;
use crate::protocol::ProtocolConfig;
use crate::scenario::Scenario;

/// The privacy statement of a scenario.
pub fn statement(scenario: &Scenario) -> Vec<String> {
    let sent = match &scenario.protocol {
        ProtocolConfig::Admm(_) | ProtocolConfig::GradientDescent(_) => "its model",
        ProtocolConfig::GradientTracking(_) => "its model and its gradient estimate",
    };
    let mut lines = vec![
        format!(
            "not protected: in every round each peer sends {sent} in the clear to all its \
             neighbours; labels and features can leak to a neighbour, to an eavesdropper on a link \
             and to all other peers together"
        ),
        "the samples themselves are not sent, which protects nothing that the models reveal"
            .to_string(),
    ];
    if let Some(parameter) = scenario.protocol.automatic() {
        lines.push(format!(
            "outside the accounting: `{parameter}: auto` is computed from all peers' data before \
             the run"
        ));
    }
    if scenario.measure.stop.is_some() {
        lines.push(
            "outside the accounting: the stopping rule looks at all peers' models, so the time of \
             stopping depends on private data"
                .to_string(),
        );
    }
    if scenario.network.compute.seconds_per_sample > 0.0 {
        lines.push(
            "outside the accounting: how long a peer computes depends on its data, and its \
             neighbours see when messages come"
                .to_string(),
        );
    }
    if matches!(scenario.data.partition, Partition::WithRepetition(_)) {
        lines.push(
            "samples repeat: the same record may be dealt to several peers, each of which releases \
             what it makes of it"
                .to_string(),
        );
    }
    let statistics = scenario.data.declarations().into_iter();
    lines.extend(statistics.map(|statistic| format!("outside the accounting: {statistic}")));
    lines.push(
        "private files: model.npy and peers.csv hold the peers' unreleased states and figures, \
         metrics.csv, summary.json and report.html exact figures over private data"
            .to_string(),
    );
    lines
}
