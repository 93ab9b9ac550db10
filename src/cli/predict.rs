//! `hushmesh predict`.

use super::exit::{Code, Failure};
use super::{CheckArguments, print};
use crate::experiment::{Assembly, Solve, predict as forecast, resolve};
use crate::report::figure;
use crate::report::theory::theory;
use crate::scenario::Checked;

pub(super) fn predict(arguments: &CheckArguments) -> Result<Code, Failure> {
    let checked = Checked::load(&arguments.scenario, &arguments.overrides)?;
    let resolved = resolve(&checked)?;
    let first =
        Assembly::new(&resolved.scenario, checked.base(), checked.topology(), 0, Solve::Always)?;
    let prediction = forecast(&resolved.scenario, &first)?;
    print(&match (prediction, arguments.json) {
        (prediction, true) => {
            let rate = resolved.rate.map(|rate| rate.value);
            format!("{:#}\n", serde_json::json!({ "rate": rate, "prediction": prediction }))
        }
        (Some(prediction), false) => format!(
            "{}\nobjectives and risks are {}; the first repeat's graph and data\n",
            theory(&prediction).to_text(),
            match &resolved.scenario.protocol {
                protocol if protocol.walk().is_some() => "means over the tasks",
                protocol if protocol.sum().is_some() => "over all samples",
                _ => "means over the peers",
            },
        ),
        (None, false) => match resolved.rate {
            Some(rate) => {
                format!("factor of the error per round: {}\n", figure(rate.value))
            }
            None => "nothing is predicted for this protocol with a step of its own\n".to_string(),
        },
    })?;
    Ok(Code::Done)
}
