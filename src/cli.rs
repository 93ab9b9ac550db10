//! The command line: arguments, progress and printing.

mod check;
mod data;
mod exit;
mod predict;
mod privacy;
mod progress;
mod run;
mod topology;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use self::exit::Code;
use crate::network::EngineKind;
use crate::scenario::schema;

const CODES: &str = "\
Exit codes:
    0  done
    1  the run failed: peers stuck, a peer that cannot go on, an optimum that cannot be found
    2  wrong arguments
    3  the scenario is not valid, or its graph file is not
    4  data cannot be used or fetched, or a graph given as argument cannot be used
    5  files cannot be written, or --out exists
    6  done, but a repeat diverged
  130  interrupted; the run can be resumed";

/// Peers that learn together over a graph without showing each other their data.
#[derive(Debug, Parser)]
#[command(name = "hushmesh", version, about, after_help = CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a scenario and keep its results.
    #[command(after_help = "\
Examples:
  hushmesh run scenarios/quickstart.yaml
  hushmesh run scenarios/quickstart.yaml --set topology='{ring: {peers: 50}}' --out runs/ring
  hushmesh run --resume runs/ring")]
    Run(RunArguments),
    /// Check a scenario and say what a run of it will do, without running it.
    #[command(after_help = "\
Examples:
  hushmesh check scenarios/quickstart.yaml
  hushmesh check scenarios/quickstart.yaml --set repeat=20 --json")]
    Check(CheckArguments),
    /// Say what a scenario protects, against whom and by which route, without running it.
    #[command(after_help = "\
Examples:
  hushmesh privacy scenarios/pdml/fig3a.yaml
  hushmesh privacy scenarios/pdml/fig3a.yaml --set protocol.admm.rounds=10 --json")]
    Privacy(PrivacyArguments),
    /// Say what theory expects of a scenario: rates, bounds, and whether they hold.
    #[command(after_help = "\
Examples:
  hushmesh predict scenarios/quickstart.yaml
  hushmesh predict scenarios/pdml/twonorm.yaml --set topology='{ring: {peers: 10}}'")]
    Predict(CheckArguments),
    /// Get public sets by their names, and look at the data that a scenario's peers learn from.
    #[command(subcommand)]
    Data(data::DataCommand),
    /// Look at a graph, make one, or find the links it lacks.
    #[command(subcommand)]
    Topology(topology::TopologyCommand),
    /// Print the JSON Schema of scenario files, for editors.
    #[command(after_help = "\
Example:
  hushmesh schema > hushmesh.schema.json")]
    Schema,
}

#[derive(Debug, clap::Args)]
struct RunArguments {
    /// The scenario file.
    #[arg(required_unless_present = "resume")]
    scenario: Option<PathBuf>,
    /// Override a field of the scenario, such as protocol.admm.penalty=0.3; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// Where the files go; default runs/NAME, with a number where that exists.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace what is in --out, once the run is complete.
    #[arg(long, requires = "out")]
    force: bool,
    /// Finish an interrupted run: its finished repeats are kept.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["scenario", "overrides", "out"])]
    resume: Option<PathBuf>,
    /// The engine, in place of the scenario's.
    #[arg(long)]
    engine: Option<EngineArgument>,
    /// Worker threads, in place of the scenario's; results do not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
    /// Print nothing but errors.
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
    /// Print summary.json instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct CheckArguments {
    /// The scenario file.
    scenario: PathBuf,
    /// Override a field of the scenario; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct PrivacyArguments {
    #[command(flatten)]
    scenario: CheckArguments,
    /// Also say what these peers learn together of the others, where parties add up; peers by number.
    #[arg(long, value_name = "PEER,…", value_delimiter = ',')]
    coalition: Vec<u32>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EngineArgument {
    Simulated,
    Threads,
}

impl From<EngineArgument> for EngineKind {
    fn from(engine: EngineArgument) -> Self {
        match engine {
            EngineArgument::Simulated => Self::Simulated,
            EngineArgument::Threads => Self::Threads,
        }
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Privacy(arguments) => privacy::privacy(&arguments),
        Command::Predict(arguments) => predict::predict(&arguments),
        Command::Data(command) => data::data(&command),
        Command::Topology(command) => topology::topology(&command),
        Command::Schema => print(&format!("{:#}\n", schema().to_value())).map(|()| Code::Done),
    };
    match outcome {
        Ok(code) => code.into(),
        Err(error) => {
            // Without a place to say it there is only the code.
            let _ = writeln!(io::stderr(), "{}", error.text);
            error.code.into()
        }
    }
}

/// Writes to standard output. A reader that has gone away is not an error.
fn print(text: &str) -> Result<(), exit::Failure> {
    match io::stdout().lock().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(exit::Failure {
            code: Code::Files,
            text: format!("error: standard output: {error}"),
        }),
        _ => Ok(()),
    }
}
