//! `hushmesh privacy`.

use super::exit::{Code, Failure};
use super::{CheckArguments, print};
use crate::experiment::{Assembly, resolve, statement};
use crate::report::privacy::statement_text;
use crate::scenario::Checked;

pub(super) fn privacy(arguments: &CheckArguments) -> Result<Code, Failure> {
    let checked = Checked::load(&arguments.scenario, &arguments.overrides)?;
    let resolved = resolve(&checked)?;
    // The statement needs to know how many samples each peer has, and nothing else of them.
    let first = Assembly::new(&resolved.scenario, checked.base(), checked.topology(), 0, false)?;
    let samples: Vec<u32> = first.seen.ids().map(|peer| first.seen.rows(peer) as u32).collect();
    let statement = statement(
        checked.scenario(),
        &resolved.scenario,
        checked.topology(),
        &samples,
        first.seen.dimension(),
    );
    print(&if arguments.json {
        format!("{:#}\n", serde_json::json!(statement))
    } else {
        statement_text(&statement)
    })?;
    Ok(Code::Done)
}
