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

impl Code {
    /// All of them, in the order of their numbers.
    pub(super) const ALL: [Self; 8] = [
        Self::Done,
        Self::Run,
        Self::Arguments,
        Self::Scenario,
        Self::Input,
        Self::Files,
        Self::Diverged,
        Self::Interrupted,
    ];

    /// What `--help`, the manual and the guide say of it.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Run => {
                "the run failed: peers stuck, a peer that cannot go on, an optimum that cannot be found"
            }
            Self::Arguments => "wrong arguments",
            Self::Scenario => "the scenario is not valid, or the graph file that it names",
            Self::Input => {
                "data cannot be used or fetched, or a graph given as argument, or the files of a run; a \
                 random graph cannot be drawn in a later repeat"
            }
            Self::Files => "files cannot be written, or --out exists",
            Self::Diverged => "done, but a repeat diverged",
            Self::Interrupted => "interrupted; the run can be resumed",
        }
    }

    /// The table of all codes, for `--help`.
    pub(super) fn table() -> String {
        let line = |code: Self| format!("\n  {:>3}  {}", code as u8, code.meaning());
        Self::ALL.into_iter().fold(String::from("Exit codes:"), |table, code| table + &line(code))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_has_the_same_table() {
        let guide = include_str!("../../docs/guide.md");
        let (_, section) = guide.split_once("\n## Errors and exit codes\n").unwrap();
        let rows: Vec<String> = (section.split_once("\n## ").map_or(section, |(own, _)| own))
            .lines()
            .filter(|line| line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit())
            .map(|line| line.replace('`', ""))
            .collect();
        let expected = Code::ALL.map(|code| format!("| {} | {} |", code as u8, code.meaning()));
        assert_eq!(rows, expected);
    }
}
