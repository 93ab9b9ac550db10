//! `hushmesh topology`: look at a graph, make one, improve one.

#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use super::exit::{Code, Failure};
use super::print;
use crate::random::Streams;
use crate::report::svg::graph::Graph;
use crate::report::{Cell, Column, Table, figure};
use crate::theory::{Curvature, best_penalty};
use crate::topology::{
    BuildError, Cuts, Figures, Format, GraphFile, Method, Topology, TopologyConfig, layout,
    suggest_links,
};
use crate::units::{PeerId, Seed};

/// The accuracy to which predicted rounds count.
const ACCURACY: f64 = 1e-6;

#[derive(Debug, Subcommand)]
pub(super) enum TopologyCommand {
    /// Print what is known of a graph: degrees, diameter, spectrum, resistance, cuts.
    #[command(after_help = "\
Examples:
  hushmesh topology show topologies/pdml-10.yaml
  hushmesh topology show '{torus: {rows: 10, columns: 10}}' --svg torus.svg")]
    Show(ShowArguments),
    /// Write the graph file of a generator.
    #[command(after_help = "\
Examples:
  hushmesh topology generate '{ring: {peers: 10}}'
  hushmesh topology generate '{barabasi-albert: {peers: 100, links: 2}}' --seed 7 --out ba.graphml")]
    Generate(GenerateArguments),
    /// Propose the links whose addition raises the algebraic connectivity most.
    ///
    /// Greedy: for each link the 50 most promising are tried out, so a large graph takes its time.
    #[command(after_help = "\
Example:
  hushmesh topology suggest topologies/path-10.yaml --add 3")]
    Suggest(SuggestArguments),
}

#[derive(Debug, Args)]
pub(super) struct Source {
    /// A graph file (.yaml, .yml, .txt, .edges, .graphml), or a generator as it is written in a
    /// scenario, such as '{ring: {peers: 10}}'.
    #[arg(value_name = "FILE|GENERATOR")]
    graph: String,
    /// The seed of a random generator.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    #[command(flatten)]
    source: Source,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Draw the graph to this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Replace the --svg file where it exists.
    #[arg(long, requires = "svg")]
    force: bool,
}

#[derive(Debug, Args)]
pub(super) struct GenerateArguments {
    /// A generator as it is written in a scenario, such as '{ring: {peers: 10}}'.
    generator: String,
    /// The seed of a random generator.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the graph goes, in the format of the extension; default standard output, in YAML.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the --out file where it exists.
    #[arg(long, requires = "out")]
    force: bool,
    /// Print JSON, which can be read as a graph file too.
    #[arg(long, conflicts_with = "out")]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct SuggestArguments {
    #[command(flatten)]
    source: Source,
    /// How many links.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=1000))]
    add: u16,
    /// The least and the largest curvature of the peers' objectives, for the prediction of rounds.
    #[arg(long, num_args = 2, value_names = ["LOW", "HIGH"], default_values_t = [0.1, 0.5])]
    curvature: Vec<f64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn topology(command: &TopologyCommand) -> Result<Code, Failure> {
    print(&text(command)?)?;
    Ok(Code::Done)
}

/// Carries the command out; what it has to say.
fn text(command: &TopologyCommand) -> Result<String, Failure> {
    match command {
        TopologyCommand::Show(arguments) => show(arguments),
        TopologyCommand::Generate(arguments) => generate(arguments),
        TopologyCommand::Suggest(arguments) => suggest(arguments),
    }
}

/// A graph that was asked for.
struct Asked {
    config: TopologyConfig,
    topology: Topology,
}

impl Asked {
    /// Reads a file, or builds a generator's graph. A file's graph need not be connected.
    fn new(graph: &str, seed: u64) -> Result<Self, Failure> {
        if graph.trim_start().starts_with('{') {
            return Self::generated(graph, seed);
        }
        let file = PathBuf::from(graph);
        let topology = GraphFile::read(&file).map_err(|error| input(&error))?.topology;
        Ok(Self { config: TopologyConfig::File(file), topology })
    }

    /// Builds a generator's graph.
    fn generated(text: &str, seed: u64) -> Result<Self, Failure> {
        let refuse = |reason: String| Failure { code: Code::Scenario, text: reason };
        let config: TopologyConfig = serde_yaml::with::singleton_map_recursive::deserialize(
            serde_yaml::Deserializer::from_str(text),
        )
        .map_err(|error| refuse(format!("error: {text}: {error}")))?;
        let problems = config.check();
        if !problems.is_empty() {
            let lines: Vec<String> = problems
                .iter()
                .map(|(field, message)| format!("error: {field}: {message}"))
                .collect();
            return Err(refuse(lines.join("\n")));
        }
        let streams = Streams::new(Seed(seed), 0);
        let topology = config.build(&streams, Path::new("")).map_err(|error| match error {
            BuildError::Topology(_) => refuse(format!("error: {error}")),
            _ => input(&error),
        })?;
        Ok(Self { config, topology })
    }
}

fn input(error: &dyn std::error::Error) -> Failure {
    let mut text = format!("error: {error}");
    if let Some(source) = error.source() {
        text += &format!(": {source}");
    }
    Failure { code: Code::Input, text }
}

/// Writes a file, which must not exist unless `force`.
fn write(file: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let written = if force {
        fs::write(file, text)
    } else {
        let open = OpenOptions::new().write(true).create_new(true).open(file);
        open.and_then(|mut file: File| file.write_all(text.as_bytes()))
    };
    written.map_err(|error| {
        let advice = match error.kind() {
            std::io::ErrorKind::AlreadyExists => "; --force replaces it",
            _ => "",
        };
        let text = format!("error: {}: {error}{advice}", file.display());
        Failure { code: Code::Files, text }
    })
}

fn show(arguments: &ShowArguments) -> Result<String, Failure> {
    let Asked { config, topology } = Asked::new(&arguments.source.graph, arguments.source.seed)?;
    let figures = Figures::of(&topology);
    if let Some(file) = &arguments.svg {
        let edges: Vec<_> = topology.edges().map(|(a, b)| (a.index(), b.index())).collect();
        let names: Vec<String> =
            topology.ids().map(|peer| topology.name(peer).into_owned()).collect();
        let graph = Graph::new(&edges, layout(&topology, Some(&config)), names);
        write(file, graph.to_svg().as_str(), arguments.force)?;
    }
    if arguments.json {
        let mut json = json!({ "graph": config.label() });
        if let (Some(all), Json::Object(figures)) = (json.as_object_mut(), json!(figures)) {
            all.extend(figures);
        }
        return Ok(format!("{json:#}\n"));
    }
    Ok(format!("{}\n\n{}", config.label(), table(&topology, &figures).to_text()))
}

fn table(topology: &Topology, figures: &Figures) -> Table {
    let mut table =
        Table::new([Column::text("figure"), Column::number("value"), Column::text("note")]);
    let mut add = |what: &str, value: Cell, note: &str| {
        table.row([what.into(), value, note.into()]);
    };
    let degrees = figures.degrees;
    add("peers", figures.peers.into(), "");
    add("links", figures.links.into(), "");
    let range = format!("from {} to {}", degrees.least, degrees.greatest);
    add("degree", degrees.mean.into(), &format!("mean; {range}"));
    add("components", figures.components.into(), "");
    add("bipartite", if figures.bipartite { "yes" } else { "no" }.into(), "");
    match figures.diameter {
        Some(d) if d.at_least == d.at_most => {
            add("diameter", (d.at_least as usize).into(), "links")
        }
        Some(d) => {
            let bounds = format!("{} to {}", d.at_least, d.at_most);
            add("diameter", bounds.into(), "links; bounds by sweeps");
        }
        None => add("diameter", Cell::Missing, "not connected"),
    }
    let clustering = figures.clustering;
    let note = if clustering.is_some() { "" } else { "; not computed: too many links" };
    let triangles = format!("3 × triangles / pairs of links that meet{note}");
    add("transitivity", clustering.map(|c| c.transitivity).into(), &triangles);
    let local = format!("mean over peers of their neighbourhoods' density{note}");
    add("clustering", clustering.map(|c| c.mean_local).into(), &local);
    let cuts = Cuts::of(topology);
    let names = |peer: PeerId| topology.name(peer).into_owned();
    let vertices = cuts.vertices.iter().map(|&peer| names(peer));
    add("cut vertices", figures.cut_vertices.into(), &first(vertices));
    let bridges = cuts.bridges.iter().map(|&(a, b)| format!("{} – {}", names(a), names(b)));
    add("bridges", figures.bridges.into(), &first(bridges));
    for (what, value, note) in [
        ("algebraic connectivity", figures.algebraic_connectivity, "λ₂ of L₋ = D − A"),
        ("largest eigenvalue", figures.largest_laplacian_eigenvalue, "of L₋"),
        ("spectral gap", figures.metropolis_gap, "1 − max(|λ₂|, |λ_n|) of the Metropolis matrix"),
        ("relaxation time", figures.relaxation_time, "rounds, 1/gap"),
        ("mixing time, at most", figures.mixing_time_bound, "rounds, the bound ln(4n)/gap"),
        ("mean resistance", figures.mean_resistance, "ohms, over pairs of peers"),
        ("σ_max(L₊)/σ_min(L₋)", figures.signless_ratio, "L₊ = D + A, least non-zero below"),
    ] {
        match value {
            Some(found) => {
                add(what, found.value.into(), &format!("{note}; {}", manner(found.method)));
            }
            None => add(what, Cell::Missing, "needs a connected graph of two peers or more"),
        }
    }
    table
}

/// How a figure was found.
fn manner(method: Method) -> String {
    match method {
        Method::ClosedForm => "closed form".to_string(),
        Method::Dense => "all eigenvalues".to_string(),
        Method::Iterated { residual } => format!("iterated, residual {}", figure(residual)),
        Method::Sampled { standard_error, probes } => {
            format!("estimate from {probes} probes, standard error {}", figure(standard_error))
        }
        Method::NotConverged { residual } => {
            format!("not converged, residual {}", figure(residual))
        }
    }
}

/// The first few of many.
fn first(all: impl ExactSizeIterator<Item = String>) -> String {
    const SHOWN: usize = 5;
    let more = if all.len() > SHOWN { ", …" } else { "" };
    all.take(SHOWN).collect::<Vec<_>>().join(", ") + more
}

fn generate(arguments: &GenerateArguments) -> Result<String, Failure> {
    let format = match &arguments.out {
        Some(file) => Format::of(file)
            .map_err(|error| Failure { code: Code::Files, text: format!("error: {error}") })?,
        None => Format::Yaml,
    };
    let Asked { config, topology } = Asked::generated(&arguments.generator, arguments.seed)?;
    let graph = GraphFile { name: Some(config.label()), topology };
    let text = graph
        .write_as(format)
        .map_err(|error| Failure { code: Code::Files, text: format!("error: {error}") })?;
    match &arguments.out {
        Some(file) => write(file, &text, arguments.force).map(|()| String::new()),
        None if arguments.json => {
            let json: Json = serde_yaml::from_str(&text).expect("a graph file holds what JSON has");
            Ok(format!("{json:#}\n"))
        }
        None => Ok(text),
    }
}

/// Rounds of ADMM until the error has fallen to [`ACCURACY`], with the best penalty.
struct Prediction {
    penalty: f64,
    rate: f64,
    /// None where the rate did not settle.
    rounds: Option<f64>,
}

impl Prediction {
    fn of(topology: &Topology, curvature: &Curvature) -> Self {
        let best = best_penalty(topology, curvature);
        let rounds = (ACCURACY.ln() / best.rate.value.ln()).ceil();
        let known = best.rate.converged && rounds.is_finite();
        Self { penalty: best.beta, rate: best.rate.value, rounds: known.then_some(rounds) }
    }

    fn json(&self) -> Json {
        json!({ "penalty": self.penalty, "rate": self.rate, "rounds": self.rounds })
    }
}

fn suggest(arguments: &SuggestArguments) -> Result<String, Failure> {
    let &[low, high] = arguments.curvature.as_slice() else {
        let text = "error: --curvature: expected two numbers, LOW and HIGH".to_string();
        return Err(Failure { code: Code::Scenario, text });
    };
    if !(low > 0.0 && low <= high && high.is_finite()) {
        let expected = "expected 0 < LOW ≤ HIGH";
        let text = format!("error: --curvature {low} {high}: {expected}");
        return Err(Failure { code: Code::Scenario, text });
    }
    let Asked { config, topology } = Asked::new(&arguments.source.graph, arguments.source.seed)?;
    topology.require_connected().map_err(|error| input(&error))?;
    let Some((suggestions, improved)) = suggest_links(&topology, arguments.add.into()) else {
        let reason = match topology.peers() {
            1 => "a single peer has nobody to be linked to",
            _ => "the graph's algebraic connectivity did not converge",
        };
        return Err(Failure { code: Code::Run, text: format!("error: {reason}") });
    };
    let curvature = Curvature::Bounds { low, high };
    let [before, after] = [&topology, &improved].map(|graph| Prediction::of(graph, &curvature));
    let name = |peer: PeerId| topology.name(peer).into_owned();
    if arguments.json {
        let links: Vec<Json> = suggestions
            .iter()
            .map(|s| {
                json!({
                    "link": [name(s.link.0), name(s.link.1)],
                    "algebraic_connectivity_before": s.before,
                    "algebraic_connectivity_after": s.after,
                })
            })
            .collect();
        let json = json!({
            "graph": config.label(),
            "links": links,
            "accuracy": ACCURACY,
            "curvature": [low, high],
            "before": before.json(),
            "after": after.json(),
        });
        return Ok(format!("{json:#}\n"));
    }
    let mut table = Table::new([
        Column::text("link"),
        Column::number("λ₂ before"),
        Column::number("λ₂ after"),
        Column::number("gain").unit("%"),
    ]);
    for s in &suggestions {
        let link = format!("{} – {}", name(s.link.0), name(s.link.1));
        // What rounding leaves of nothing is nothing.
        let gain = (1e8 * (s.after / s.before - 1.0)).round() / 1e6;
        table.row([link.into(), s.before.into(), s.after.into(), gain.into()]);
    }
    let mut text = format!("{}\n\n{}", config.label(), table.to_text());
    if suggestions.len() < arguments.add.into() {
        text += "\nThere is no other link to add.\n";
    }
    if suggestions.iter().any(|s| s.after <= s.before * (1.0 + 1e-9)) {
        text += "\nWhere λ₂ does not grow it is a multiple eigenvalue: no single link raises it.\n";
    }
    let said = |prediction: &Prediction| match prediction.rounds {
        Some(rounds) => format!(
            "{} rounds (rate {}, penalty {})",
            figure(rounds),
            figure(prediction.rate),
            figure(prediction.penalty)
        ),
        None => "rounds unknown: the rate did not converge".to_string(),
    };
    text += &format!(
        "\nADMM to {ACCURACY:e}, curvature {low} to {high}, best penalty:\n  before  {}\n  after   {}\n",
        said(&before),
        said(&after)
    );
    Ok(text)
}
