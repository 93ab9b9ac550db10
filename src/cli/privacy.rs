//! `hushmesh privacy`.

use super::exit::{Code, Failure};
use super::{CheckArguments, print};
use crate::experiment::{promise, resolve};
use crate::report::privacy::statement_text;
use crate::scenario::Checked;

pub(super) fn privacy(arguments: &CheckArguments) -> Result<Code, Failure> {
    let checked = Checked::load(&arguments.scenario, &arguments.overrides)?;
    let statement = promise(&checked, &resolve(&checked)?)?;
    print(&if arguments.json {
        format!("{:#}\n", serde_json::json!(statement))
    } else {
        statement_text(&statement)
    })?;
    Ok(Code::Done)
}
