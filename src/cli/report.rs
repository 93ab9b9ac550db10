//! `hushmesh report`.

use serde_json::json;

use super::exit::{Code, Failure};
use super::{ReportArguments, print};
use crate::report::files::{ReportError, remake};

/// Makes the reports of all directories: one that cannot be made does not keep the others from it.
pub(super) fn report(arguments: &ReportArguments) -> Result<Code, Failure> {
    let mut made = Vec::new();
    let mut failures: Vec<Failure> = Vec::new();
    for directory in &arguments.directories {
        match remake(directory, arguments.plots.is_some()) {
            Ok(files) => made.push((directory, files)),
            Err(error) => failures.push(error.into()),
        }
    }
    if arguments.json {
        let each = made.iter().map(|(directory, files)| {
            json!({ "directory": directory.to_string_lossy(), "files": files })
        });
        print(&format!("{:#}\n", json!({ "reports": each.collect::<Vec<_>>() })))?;
    } else if !arguments.quiet {
        let names = made.iter().flat_map(|(directory, files)| {
            files.iter().map(|name| format!("{}\n", directory.join(name).display()))
        });
        print(&names.collect::<String>())?;
    }
    let texts: Vec<&str> = failures.iter().map(|failure| failure.text.as_str()).collect();
    match failures.first() {
        Some(first) => Err(Failure { code: first.code, text: texts.join("\n") }),
        None => Ok(Code::Done),
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        let code = match error {
            ReportError::NoData { .. } | ReportError::Damaged { .. } => Code::Input,
            ReportError::Io { .. } => Code::Files,
        };
        Self { code, text: format!("error: {error}") }
    }
}
