//! Numbers in the place of `auto`.

use super::assembly::{Assembly, Solve};
use super::run::ExperimentError;
use super::server::best_steps;
use crate::protocol::{Automatic, ProtocolConfig};
use crate::scenario::{Checked, Scenario};
use crate::theory;

/// A scenario without any `auto`.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The scenario, with numbers in the place of `auto`.
    pub scenario: Scenario,
    /// What theory expects of the number that it chose, if it chose.
    pub rate: Option<theory::Rate>,
}

/// Puts numbers in the place of `auto`: the penalty, or the step, with the best predicted rate on
/// the first repeat's graph and data. The same number serves every repeat, so that the resolved
/// scenario gives the same results as the original.
///
/// # Errors
/// Data that cannot be read or solved.
pub fn resolve(checked: &Checked) -> Result<Resolved, ExperimentError> {
    let mut scenario = checked.scenario().clone();
    if scenario.protocol.automatic().is_none() {
        return Ok(Resolved { scenario, rate: None });
    }
    let first =
        Assembly::new(checked.scenario(), checked.base(), checked.topology(), 0, Solve::Always)?;
    let ridge = scenario.model.regularisation / first.topology.peers() as f64;
    let optimum = first.optimum.as_ref().map_or(&[][..], |central| &central.w);
    let rows = first.scorer.rows_as_solved();
    let curvature = theory::Curvature::at(&first.scorer.mean_losses(&rows), ridge, optimum);
    let rate = match &mut scenario.protocol {
        ProtocolConfig::Admm(admm) => {
            let best = theory::best_penalty(&first.topology, &curvature);
            admm.penalty = Automatic::Value(best.beta);
            Some(best.rate)
        }
        ProtocolConfig::GradientTracking(tracking) => {
            let best = theory::best_step(&first.topology, &curvature);
            tracking.step = Automatic::Value(best.step);
            Some(best.rate)
        }
        ProtocolConfig::Federated(federated) => {
            let best = best_steps(checked.scenario(), &first, federated)?;
            federated.steps = Automatic::Value(f64::from(best));
            None
        }
        ProtocolConfig::GradientDescent(_)
        | ProtocolConfig::WalkSgd(_)
        | ProtocolConfig::WeightedErm(_)
        | ProtocolConfig::GradientQueries(_) => None,
    };
    Ok(Resolved { scenario, rate })
}
