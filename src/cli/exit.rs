//! Exit codes, and which error has which.

use std::process::ExitCode;

use crate::experiment::{DirectoryError, ExperimentError};
use crate::scenario::Problems;

/// How the program ends. The numbers stand in `--help` and in the guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    Done = 0,
    Run = 1,
    Arguments = 2,
    Scenario = 3,
    Input = 4,
    Files = 5,
    Diverged = 6,
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// What is printed to standard error before the program ends.
#[derive(Debug)]
pub(super) struct Failure {
    pub code: Code,
    pub text: String,
}

impl Failure {
    /// An argument that cannot be.
    pub(super) fn arguments(text: String) -> Self {
        Self { code: Code::Arguments, text: format!("error: {text}") }
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self { code: Code::Scenario, text: problems.to_string() }
    }
}

impl From<DirectoryError> for Failure {
    fn from(error: DirectoryError) -> Self {
        Self { code: Code::Files, text: format!("error: {error}") }
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Self {
        let code = match error {
            ExperimentError::Topology(_) | ExperimentError::Tree(_) | ExperimentError::Data(_) => {
                Code::Input
            }
            ExperimentError::Central(_)
            | ExperimentError::Network(_)
            | ExperimentError::Lost { .. } => Code::Run,
            ExperimentError::Privacy(_)
            | ExperimentError::Protocol(_)
            | ExperimentError::Budget { .. }
            | ExperimentError::Calibration(_)
            | ExperimentError::Routes(_)
            | ExperimentError::Updates { .. } => Code::Scenario,
            ExperimentError::Directory(_) => Code::Files,
        };
        Self { code, text: format!("error: {error}") }
    }
}
