//! The command line: arguments, progress and printing.

mod check;
mod compare;
mod data;
mod exit;
mod list;
mod pages;
mod predict;
mod privacy;
mod progress;
mod ranked;
mod report;
mod run;
mod study;
mod topology;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use self::exit::Code;
use crate::learn::kernel;
use crate::network::EngineKind;
use crate::scenario::schema;

const EXAMPLES: &str = "\
Examples:
  hushmesh check scenarios/quickstart.yaml
  hushmesh run scenarios/quickstart.yaml
  hushmesh compare scenarios/topologies.yaml --topology 'topologies/*-10.yaml'
  hushmesh list protocols";

/// Peers that learn together over a graph without showing each other their data.
#[derive(Debug, Parser)]
#[command(name = "hushmesh", version, about, after_help = format!("{EXAMPLES}\n\n{}", Code::table()))]
struct Arguments {
    /// Take the loops that every processor can run, in place of those for AVX2; results do not depend on it.
    #[arg(long, global = true)]
    portable: bool,
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
  hushmesh run --resume runs/ring
  hushmesh run scenarios/quickstart.yaml --sweep protocol.admm.penalty=0.1,0.3,1")]
    Run(RunArguments),
    /// Run several topologies, protocols or scenarios on the same data and seeds, and compare.
    #[command(after_help = "\
Examples:
  hushmesh compare scenarios/quickstart.yaml --topology 'topologies/*-10.yaml'
  hushmesh compare scenarios/quickstart.yaml --topology '{ring: {peers: 20}}' '{star: {peers: 20}}'
  hushmesh compare scenarios/ridge.yaml --protocol '{admm: {rounds: 500}}' \\
      '{gradient-tracking: {rounds: 2000}}' --target optimum_distance=1e-4
  hushmesh compare a.yaml b.yaml --target test_accuracy=0.95 --format latex")]
    Compare(CompareArguments),
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
    /// Make report.html again from the files of a run, without running anything.
    #[command(after_help = "\
Examples:
  hushmesh report runs/quickstart
  hushmesh report runs/ring runs/star --plots svg")]
    Report(ReportArguments),
    /// Get public sets by their names, and look at the data that a scenario's peers learn from.
    #[command(
        subcommand,
        after_help = "\
Examples:
  hushmesh data list
  hushmesh data fetch adult
  hushmesh data show scenarios/quickstart.yaml"
    )]
    Data(data::DataCommand),
    /// Look at a graph, make one, or find the links it lacks.
    #[command(
        subcommand,
        after_help = "\
Examples:
  hushmesh topology show topologies/pdml-10.yaml
  hushmesh topology generate '{ring: {peers: 10}}' --out ring.yaml
  hushmesh topology suggest topologies/path-10.yaml --add 3"
    )]
    Topology(topology::TopologyCommand),
    /// Print the JSON Schema of scenario files, for editors.
    #[command(after_help = "\
Example:
  hushmesh schema > hushmesh.schema.json")]
    Schema,
    /// List what a scenario can name: protocols, graphs, losses, policies, data, metrics.
    #[command(after_help = "\
Examples:
  hushmesh list
  hushmesh list topologies
  hushmesh list metrics --json")]
    List(list::ListArguments),
    /// Print a script by which a shell completes commands and options.
    #[command(after_help = "\
Examples:
  hushmesh completions bash > ~/.local/share/bash-completion/completions/hushmesh
  hushmesh completions zsh > ~/.zfunc/_hushmesh
  hushmesh completions fish > ~/.config/fish/completions/hushmesh.fish")]
    Completions(pages::CompletionsArguments),
    /// Print the manual, or write a page of it for every command.
    #[command(after_help = "\
Examples:
  hushmesh man > hushmesh.1
  hushmesh man --out ~/.local/share/man/man1")]
    Man(pages::ManArguments),
}

#[derive(Debug, clap::Args)]
struct RunArguments {
    /// The scenario file.
    #[arg(required_unless_present = "resume")]
    scenario: Option<PathBuf>,
    /// Override a field of the scenario, such as protocol.admm.penalty=0.3; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// Run every combination of the values of some fields, such as protocol.admm.penalty=0.1,0.3,1
    /// or model.regularisation='{log: {from: 0.1, to: 10, points: 5}}'; may be repeated.
    #[arg(long = "sweep", value_name = "PATH=VALUES")]
    sweeps: Vec<String>,
    /// What the runs of a sweep are to reach, such as test_accuracy=0.95: its table says what it took.
    #[arg(long, value_name = "METRIC=VALUE", conflicts_with = "resume")]
    target: Option<String>,
    /// Where the files go; default runs/NAME, with a number where that exists.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace what is in --out, once the run is complete.
    #[arg(long, requires = "out")]
    force: bool,
    /// Finish an interrupted run or sweep: what is finished of it is kept, what failed is run again.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["scenario", "overrides", "sweeps", "out"])]
    resume: Option<PathBuf>,
    /// The engine, in place of the scenario's.
    #[arg(long)]
    engine: Option<EngineArgument>,
    /// Worker threads, in place of the scenario's; results do not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
    /// Runs of a sweep at a time; default one for each core, and one on each rank of several.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Also write every drawing of the report into plots/, in this format.
    #[arg(long, value_name = "FORMAT")]
    plots: Option<PlotFormat>,
    /// Print nothing but errors.
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
    /// Print summary.json instead of a table.
    #[arg(long)]
    json: bool,
}

impl RunArguments {
    /// How a sweep is run and told of.
    fn effort(&self) -> study::Effort {
        study::Effort {
            jobs: self.jobs.map(usize::from),
            workers: self.workers.map(usize::from),
            quiet: self.quiet,
            json: self.json,
            plots: self.plots.is_some(),
            format: TableFormat::Text,
        }
    }
}

#[derive(Debug, clap::Args)]
struct CompareArguments {
    /// The scenario files; of several, the first gives seed and repeats to all.
    #[arg(required_unless_present = "resume")]
    scenarios: Vec<PathBuf>,
    /// Graphs to compare: files, patterns of files, or generators such as '{ring: {peers: 10}}'; may be
    /// repeated. Each gets its own penalty, or step, by `auto`.
    #[arg(long = "topology", value_name = "FILE|GENERATOR", num_args = 1..)]
    topologies: Vec<String>,
    /// Protocols to compare, as they are written in a scenario; may be repeated.
    #[arg(long = "protocol", value_name = "PROTOCOL", num_args = 1..)]
    protocols: Vec<String>,
    /// What runs are to reach, such as test_accuracy=0.95 or consensus_gap=1e-4: at least so much of an
    /// accuracy, at most so much of anything else. Default optimum_distance=1e-6 where every protocol
    /// converges to the optimum.
    #[arg(long, value_name = "METRIC=VALUE")]
    target: Option<String>,
    /// Keep the scenario's penalty, or step, for every graph.
    #[arg(long)]
    keep_penalty: bool,
    /// Override a field of every scenario; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// Where the files go; default runs/NAME-comparison, with a number where that exists.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace what is in --out, once the comparison is complete.
    #[arg(long, requires = "out")]
    force: bool,
    /// Finish an interrupted comparison.
    #[arg(long, value_name = "DIR",
        conflicts_with_all = ["scenarios", "topologies", "protocols", "target", "overrides", "out"])]
    resume: Option<PathBuf>,
    /// Runs at a time; default one for each core, and one on each rank of several.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Worker threads of each run; results do not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
    /// Also write every drawing of the report into plots/, in this format.
    #[arg(long, value_name = "FORMAT")]
    plots: Option<PlotFormat>,
    /// How the table is printed.
    #[arg(long, conflicts_with_all = ["quiet", "json"])]
    format: Option<TableFormat>,
    /// Print nothing but errors.
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
    /// Print comparison.json instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TableFormat {
    Text,
    Markdown,
    Latex,
    Csv,
}

#[derive(Debug, clap::Args)]
struct ReportArguments {
    /// The directories of runs.
    #[arg(required = true, value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// Also write every drawing into DIR/plots, in this format.
    #[arg(long, value_name = "FORMAT")]
    plots: Option<PlotFormat>,
    /// Print nothing but errors.
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
    /// Print what was made as JSON.
    #[arg(long)]
    json: bool,
}

/// Formats of drawings.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PlotFormat {
    Svg,
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
    if arguments.portable {
        kernel::force_portable();
    }
    let outcome = match arguments.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Privacy(arguments) => privacy::privacy(&arguments),
        Command::Predict(arguments) => predict::predict(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Data(command) => data::data(&command),
        Command::Topology(command) => topology::topology(&command),
        Command::List(arguments) => list::list(&arguments),
        Command::Completions(arguments) => pages::completions(&arguments),
        Command::Man(arguments) => pages::man(&arguments),
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

/// How wide tables may be: as the terminal is, and without one as they come.
fn terminal_width() -> usize {
    let terminal = console::Term::stdout();
    terminal.size_checked().map_or(usize::MAX, |(_, columns)| columns.into())
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// All commands of the tree, the program first.
    fn walk(command: &clap::Command, found: &mut Vec<clap::Command>) {
        found.push(command.clone());
        for inner in command.get_subcommands() {
            walk(inner, found);
        }
    }

    /// The words of a line as a shell sees them: blanks separate, single quotes hold together.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        words
    }

    #[test]
    fn every_command_has_examples_that_it_takes() {
        let mut commands = Vec::new();
        walk(&Arguments::command(), &mut commands);
        assert!(commands.len() > 12);
        for command in commands {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Example"), "{} has no example", command.get_name());
            let examples: Vec<&str> =
                help.lines().filter_map(|line| line.strip_prefix("  hushmesh ")).collect();
            assert!(!examples.is_empty(), "{}: {help}", command.get_name());
            for example in examples {
                // What is redirected is none of the program's business.
                let typed = example.split(" > ").next().unwrap();
                let words = words(&format!("hushmesh {typed}"));
                let parsed = Arguments::try_parse_from(&words);
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
            }
        }
    }

    #[test]
    fn the_tree_of_commands_holds_together() {
        Arguments::command().debug_assert();
    }
}
