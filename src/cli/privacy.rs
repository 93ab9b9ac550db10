//! `hushmesh privacy`.

use super::exit::{Code, Failure};
use super::{PrivacyArguments, print};
use crate::experiment::{coalition, promise, resolve};
use crate::report::privacy::{coalition_table, statement_text};
use crate::scenario::Checked;
use crate::units::PeerId;

pub(super) fn privacy(arguments: &PrivacyArguments) -> Result<Code, Failure> {
    let checked = Checked::load(&arguments.scenario.scenario, &arguments.scenario.overrides)?;
    let peers = checked.topology().peers();
    let mut members: Vec<PeerId> = arguments.coalition.iter().copied().map(PeerId).collect();
    members.sort_unstable();
    members.dedup();
    if let Some(stranger) = members.iter().find(|peer| peer.index() >= peers) {
        let text = format!("--coalition: expected peers from 0 to {}, found {stranger}", peers - 1);
        return Err(Failure::arguments(text));
    }
    if !members.is_empty() && checked.scenario().protocol.sum().is_none() {
        let text = "--coalition: expected a protocol whose parties add up; against others, what all \
                    peers together see is stated";
        return Err(Failure::arguments(text.to_string()));
    }
    let resolved = resolve(&checked)?;
    let statement = promise(&checked, &resolved)?;
    let learnt = match members.as_slice() {
        [] => None,
        members => Some(coalition(&checked, &resolved, members)?),
    };
    print(&if arguments.scenario.json {
        let mut json = serde_json::json!(statement);
        if let Some(learnt) = learnt {
            let parts = learnt.into_iter().map(|(parties, epsilon)| {
                let epsilon = epsilon.0.is_finite().then_some(epsilon.0);
                let parties: Vec<u32> = parties.into_iter().map(|peer| peer.0).collect();
                serde_json::json!({ "parties": parties, "epsilon": epsilon })
            });
            json["coalition"] = parts.collect();
        }
        format!("{json:#}\n")
    } else {
        let mut text = statement_text(&statement);
        if let Some(learnt) = &learnt {
            text += &format!("\n{}", coalition_table(checked.topology(), learnt).to_text());
        }
        text
    })?;
    Ok(Code::Done)
}
