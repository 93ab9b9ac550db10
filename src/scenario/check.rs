//! From a file to a scenario that can be run.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::config::Scenario;
use super::document::{Document, Origin};
use super::problem::{Problem, Problems};
use crate::data::Task;
use crate::learn::Loss;
use crate::measure::What;
use crate::network::{EngineKind, THREADS_PEER_LIMIT};
use crate::policy::PolicyConfig;
use crate::protocol::party::{MasksConfig, SumConfig};
use crate::protocol::walk_sgd::{StepSize, WalkSgdConfig};
use crate::protocol::{ProtocolConfig, sample_moves};
use crate::random::Streams;
use crate::topology::{Routes, Topology, TopologyConfig, Walk};

/// A scenario whose every field is in range and whose parts fit together. It cannot be made
/// otherwise than by passing the checks.
#[derive(Clone, Debug)]
pub struct Checked {
    scenario: Scenario,
    base: PathBuf,
    topology: Arc<Topology>,
}

/// How much of its graph is built with a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Graph {
    /// All of it.
    Whole,
    /// As much as the process needs that leads others: how many peers and links it has, where every process
    /// can make its part alone, and there are so many peers that nothing else asks for the whole; else all
    /// of it.
    Led,
    /// How many peers it has, where the protocol needs no more of it before it runs: the rows of the graph
    /// then come from another process, which has found out whether they can be had.
    Counted,
}

impl Checked {
    /// Reads a scenario file, applies `--set` arguments, and checks everything at once.
    ///
    /// # Errors
    /// Every problem found, with its place. Those of form (syntax, unknown keys, types) hide those
    /// of meaning.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, Problems> {
        let typed: Vec<(String, String)> =
            overrides.iter().map(|set| (set.clone(), format!("--set {set}"))).collect();
        Self::load_as(path, &typed)
    }

    /// The same with arguments that were typed in another way, by which problems are named: each with
    /// what was typed.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn load_as(path: &Path, overrides: &[(String, String)]) -> Result<Self, Problems> {
        let mut document = Document::read(path)?;
        for (argument, typed) in overrides {
            document.set_as(argument, typed)?;
        }
        Self::of(&document, path.parent().unwrap_or(Path::new("")), Graph::Whole)
    }

    /// As [`load`](Self::load), for one of several processes, with as much of the graph as that needs.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn load_with(path: &Path, overrides: &[String], graph: Graph) -> Result<Self, Problems> {
        let mut document = Document::read(path)?;
        for argument in overrides {
            document.set(argument)?;
        }
        Self::of(&document, path.parent().unwrap_or(Path::new("")), graph)
    }

    /// Checks a scenario given as text; `name` stands for the file in messages. Relative paths in
    /// it start from the current directory.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn from_text(name: &str, text: &str) -> Result<Self, Problems> {
        Self::from_text_in(name, text, Path::new(""))
    }

    /// The same, with relative paths that start from `base`.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn from_text_in(name: &str, text: &str, base: &Path) -> Result<Self, Problems> {
        Self::of(&Document::from_text(name, text)?, base, Graph::Whole)
    }

    pub(super) fn of(document: &Document, base: &Path, graph: Graph) -> Result<Self, Problems> {
        let parsed = document.parse::<Scenario>()?;
        Self::new(parsed.value, base.to_path_buf(), &parsed.origin, graph)
    }

    fn new(
        scenario: Scenario,
        base: PathBuf,
        origin: &Origin,
        graph: Graph,
    ) -> Result<Self, Problems> {
        let mut problems: Vec<Problem> = Vec::new();
        let mut add = |section: &str, found: Vec<(String, String)>| {
            problems.extend(found.into_iter().map(|(field, message)| {
                let path = if section.is_empty() { field } else { format!("{section}.{field}") };
                origin.problem(&path, message)
            }));
        };
        add("", of_the_whole(&scenario));
        let of_topology = scenario.topology.check();
        let topology = if of_topology.is_empty() {
            build(&scenario, &base, graph).map_err(|(field, message)| {
                add("topology", vec![(field, message)]);
            })
        } else {
            add("topology", of_topology);
            Err(())
        };
        let peers = topology.as_ref().ok().map(Topology::peers);
        add("data", scenario.data.check(peers));
        add("model", scenario.model.check(takes_none(&scenario.protocol)));
        add("privacy", scenario.privacy.check(peers));
        add("protocol", scenario.protocol.check(peers));
        add("network", scenario.network.check());
        add("measure", scenario.measure.check());
        if let (Some(walk), Ok(topology)) = (scenario.protocol.walk(), &topology) {
            add("protocol.walk-sgd", of_walk_on(&scenario, walk, topology));
        }
        if let (Some(sum), Ok(topology)) = (scenario.protocol.sum(), &topology) {
            add("protocol", of_sum_on(&scenario, sum, topology, &base, graph));
        }
        if let Some(peers) = peers
            && scenario.network.engine == EngineKind::Threads
            && peers > THREADS_PEER_LIMIT
        {
            let message = format!(
                "the threads engine takes at most {THREADS_PEER_LIMIT} peers, the topology has \
                 {peers}: expected `simulated`"
            );
            add("network", vec![("engine".to_string(), message)]);
        }
        match topology {
            Ok(topology) if problems.is_empty() => {
                Ok(Self { scenario, base, topology: Arc::new(topology) })
            }
            _ => Err(Problems(problems)),
        }
    }

    /// The scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The same scenario on another engine, which takes at most [`THREADS_PEER_LIMIT`] peers if it
    /// is `threads`: one peer more, and the run is refused when it begins.
    #[must_use]
    pub fn on_engine(mut self, engine: EngineKind) -> Self {
        self.scenario.network.engine = engine;
        self
    }

    /// The folder that its paths start from.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// The graph of the first repeat; without its rows where it was read for [one of several
    /// processes](Graph), or [let go of](Self::let_go_of_graph).
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// Lets go of the rows of the graph, where each of several processes will have its part of them and
    /// nothing else asks for the whole: the graph, for whoever shares it out.
    pub fn let_go_of_graph(&mut self) -> Option<Arc<Topology>> {
        let whole = &self.topology;
        let parts = whole.is_whole() && starts_in_parts(&self.scenario, whole.peers());
        let rest = parts.then(|| Arc::new(whole.without_rows()))?;
        Some(std::mem::replace(&mut self.topology, rest))
    }
}

fn of_the_whole(scenario: &Scenario) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    let mut add = |field: &str, message: &str| problems.push((field.into(), message.into()));
    if scenario.name.trim().is_empty() || scenario.name.chars().count() > 100 {
        add("name", "expected a name of 1 to 100 characters");
    }
    if !(1..=100_000).contains(&scenario.repeat) {
        add("repeat", "expected 1 to 100000 repeats");
    }
    if let Some(step) = scenario.data.intercept_step()
        && scenario.model.intercept
    {
        let path = format!("data.{step}");
        add(&path, "model.intercept appends the constant already: expected one of the two");
    }
    if scenario.model.loss.is_classification() && scenario.data.source.task() == Task::Regression {
        add("model.loss", "the source has real targets: expected `squared`");
    }
    if scenario.model.loss == Loss::Hinge && !takes_subgradients(&scenario.protocol) {
        let message = "the hinge loss has a kink, and the protocol needs a derivative that has none: \
                       expected `logistic`";
        add("model.loss", message);
    }
    if scenario.model.sine > 0.0 && !takes_sine(&scenario.protocol) {
        add("model.sine", "the protocol needs a convex regulariser: expected 0");
    }
    if scenario.data.source.task() == Task::MultiClass {
        if !trains_each_class(&scenario.protocol) {
            let message = "labels of more than two classes: expected `positive`, or a protocol that \
                           trains one model per class";
            add("data.source", message);
        }
        if scenario.privacy.labels.is_some() {
            add("privacy.labels", "expected labels of two classes");
        }
    }
    if scenario.privacy.labels.is_some() {
        let message = match scenario.model.loss {
            Loss::Logistic => None,
            Loss::Squared => Some("targets are no classes to be randomised"),
            // Its expectation over answers ±k is not the loss of the label.
            Loss::Hinge => Some("the hinge loss has no unbiased version for randomised labels"),
        };
        if let Some(message) = message {
            add("privacy.labels", &format!("{message}: expected `loss: logistic`"));
        }
    }
    if scenario.measure.stop.is_some_and(|stop| stop.epsilon.is_some()) {
        if scenario.protocol.walk().is_none() && scenario.measure.every.is_some_and(|n| n != 1) {
            let message = "expected 1: a run that a budget ends is measured in every round, so that \
                           its last one is";
            add("measure.every", message);
        }
        if !scenario.protocol.adds_noise() {
            let message = "models are sent in the clear, which no budget bears: expected \
                           `protocol.admm.primal_noise` or `protocol.walk-sgd.noise`";
            add("measure.stop.epsilon", message);
        } else if !scenario.reach().is_finite() || scenario.model.loss.greatest_slope(1.0).is_none()
        {
            let message = "nothing bounds what a record does to a model, so no budget bears it: \
                           expected `loss: logistic` and `clip` or `unit-sphere` in data.preprocess";
            add("measure.stop.epsilon", message);
        }
    }
    let averages =
        matches!(scenario.protocol, ProtocolConfig::Admm(_) | ProtocolConfig::WalkSgd(_));
    if scenario.measure.has(What::Average) && !averages {
        add("measure.what", "expected no `average`: only ADMM's peers and tokens keep one");
    }
    let remakes = matches!(
        scenario.protocol,
        ProtocolConfig::Admm(_)
            | ProtocolConfig::GradientDescent(_)
            | ProtocolConfig::GradientTracking(_)
    );
    if !scenario.data.keep && !remakes {
        let message = "the protocol's peers go through their rows batch by batch and need them in memory: \
                       expected true, or `admm`, `gradient-descent` or `gradient-tracking`";
        add("data.keep", message);
    }
    if let Some(walk) = scenario.protocol.walk() {
        of_walk(scenario, walk, &mut add);
    }
    if scenario.protocol.sum().is_some() {
        of_parties(scenario, &mut add);
    }
    problems
}

/// What parties around a server need of the other sections.
fn of_parties(scenario: &Scenario, add: &mut dyn FnMut(&str, &str)) {
    let protocol = &scenario.protocol;
    let reach = scenario.reach();
    let (section, clip) = match protocol {
        ProtocolConfig::WeightedErm(_) => ("weighted-erm", "clip"),
        ProtocolConfig::Federated(_) => ("federated", "clip"),
        _ => ("gradient-queries", "residual"),
    };
    if sample_moves(scenario.model.loss, protocol.clipping(), reach).is_none() {
        let message = "nothing bounds the gradient of a sample, so that no sum has a grid and no noise \
                       hides it: expected a number, or a loss of bounded slope and `clip` or \
                       `unit-sphere` in data.preprocess";
        add(&format!("protocol.{section}.{clip}"), message);
    }
    let needs_reach = match protocol {
        ProtocolConfig::WeightedErm(erm) => erm.variant.perturbs_output(),
        ProtocolConfig::GradientQueries(queries) => queries.noise.is_some(),
        _ => true,
    };
    if needs_reach && !reach.is_finite() {
        let message = "nothing bounds |x|, on which steps or noise depend: expected `clip` or \
                       `unit-sphere`";
        add("data.preprocess", message);
    }
    if scenario.privacy.labels.is_some() {
        let message = "parties around a server protect labels by their noise: expected no randomised \
                       labels";
        add("privacy.labels", message);
    }
    if scenario.measure.stop.is_some_and(|stop| stop.epsilon.is_some()) {
        let message = "the noise is found from the ε that the protocol's own section names: expected no \
                       budget";
        add("measure.stop.epsilon", message);
    }
}

/// What parties around a server need of the graph.
fn of_sum_on(
    scenario: &Scenario,
    sum: &SumConfig,
    topology: &Topology,
    base: &Path,
    graph: Graph,
) -> Vec<(String, String)> {
    let section = match &scenario.protocol {
        ProtocolConfig::WeightedErm(_) => "weighted-erm",
        ProtocolConfig::Federated(_) => "federated",
        _ => "gradient-queries",
    };
    let mut problems = Vec::new();
    let mut add =
        |field: &str, message: String| problems.push((format!("{section}.{field}"), message));
    let peers = topology.peers();
    let masks = sum.masks.as_ref().unwrap_or(&MasksConfig::AllPairs);
    if scenario.protocol.pools() {
        match masks {
            MasksConfig::AllPairs if peers > MOST_PAIRED => {
                let message = format!(
                    "every two of at most {MOST_PAIRED} peers share a seed, found {peers} peers: \
                     expected {{graph: …}}, `wires` or `none`"
                );
                add("sum.masks", message);
            }
            // Another process, which will build it and share it out, says whether it can be had.
            MasksConfig::Graph(_) if graph == Graph::Counted && scenario.runs_in_parts(peers) => {}
            MasksConfig::Graph(config) if config.check().is_empty() => {
                match config.build(&Streams::new(scenario.seed, 0), base) {
                    Ok(graph) if graph.peers() != peers => {
                        let found = graph.peers();
                        let message = format!("expected a graph of {peers} peers, found {found}");
                        add("sum.masks.graph", message);
                    }
                    Ok(_) => {}
                    Err(error) => add("sum.masks.graph", error.to_string()),
                }
            }
            _ => {}
        }
    }
    if let ProtocolConfig::WeightedErm(erm) = &scenario.protocol
        && erm.variant.perturbs_output()
        && scenario.reach().is_finite()
    {
        let lambda = scenario.model.regularisation / peers as f64;
        let smoothness = scenario.model.loss.smoothness() * scenario.reach().powi(2) + lambda;
        let most = if lambda > 0.0 { 1.0 } else { 2.0 } / smoothness;
        if erm.step > most {
            let message = format!(
                "steps bring no two models further apart only up to η = {most:.4}, found {}: beyond \
                 it the noise would not cover what a record does",
                erm.step
            );
            add("step", message);
        }
    }
    problems
}

/// The most peers of which every two share a seed.
const MOST_PAIRED: usize = 4096;

/// What a walk needs of the other sections.
fn of_walk(scenario: &Scenario, walk: &WalkSgdConfig, add: &mut dyn FnMut(&str, &str)) {
    let task = scenario.data.source.task();
    if task == Task::MultiClass && !scenario.model.loss.is_classification() {
        add("model.loss", "classes are told by `logistic` alone: expected it");
    }
    if walk.updates.is_some() && walk.decision == Some(PolicyConfig::FinalGlobal) {
        let message = "`final-global` waits for a peer's last visit, which need not come before \
                       the last update: expected no `updates`";
        add("protocol.walk-sgd.updates", message);
    }
    let lambda = scenario.model.regularisation;
    if walk.step == StepSize::StronglyConvex && lambda == 0.0 {
        let message = "a problem without regularisation is not strongly convex: expected \
                       {constant: …} or {inverse-sqrt: …}, or `model.regularisation` above 0";
        add("protocol.walk-sgd.step", message);
    }
    let reach = scenario.reach();
    let bounded = reach.is_finite() && scenario.model.loss.greatest_slope(1.0).is_some();
    if walk.noise.is_some() && !bounded {
        let message = "nothing bounds what a record does to an update, so no noise hides it: \
                       expected `loss: logistic` and `clip` or `unit-sphere` in data.preprocess";
        add("protocol.walk-sgd.noise", message);
    }
    if scenario.privacy.labels.is_some() {
        let message = "a walk protects labels by its noise: expected no randomised labels";
        add("privacy.labels", message);
    }
    if scenario.measure.stop.is_some_and(|stop| stop.has_tolerance()) {
        let message = "a token agrees with itself: expected `epsilon`, or no rule";
        add("measure.stop", message);
    }
}

/// What a walk needs of the graph.
fn of_walk_on(
    scenario: &Scenario,
    walk: &WalkSgdConfig,
    topology: &Topology,
) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    let mut add = |field: &str, message: String| problems.push((field.to_string(), message));
    if walk.walk == Walk::Uniform
        && topology.peers() > Routes::MOST_PEERS
        && !topology.is_complete()
    {
        let message = format!(
            "a uniform walk goes over shortest paths, which are stored for at most {} peers, found \
             {}: expected `simple`, `metropolis` or `non-backtracking`, or a complete graph",
            Routes::MOST_PEERS,
            topology.peers()
        );
        add("walk", message);
    }
    if let Some(noise) = &walk.noise
        && noise.check().is_empty()
        && let Err(error) = noise.multiplier(scenario.privacy.delta, 1, walk.passes.max(1))
    {
        add("noise", error.to_string());
    }
    // Lemma 5: a step of 2η brings no two models further apart where 2η ≤ 2/(smoothness).
    let lambda = scenario.model.regularisation / topology.peers() as f64;
    let most = 1.0 / (scenario.model.loss.smoothness() * scenario.reach().powi(2) + lambda);
    let eta = walk.step.greatest(lambda);
    if walk.noise.is_some() && walk.decision.is_some() && eta > most {
        let message = format!(
            "local steps of 2η bring models together only up to η = {most:.4}, found {eta}: beyond \
             it the noise would not cover what a record does"
        );
        add("step", message);
    }
    problems
}

/// Whether a protocol trains a model for every class, each against all others, so that labels may be
/// of more than two.
fn trains_each_class(protocol: &ProtocolConfig) -> bool {
    match protocol {
        ProtocolConfig::Admm(_)
        | ProtocolConfig::GradientDescent(_)
        | ProtocolConfig::GradientTracking(_)
        | ProtocolConfig::WeightedErm(_)
        | ProtocolConfig::Federated(_)
        | ProtocolConfig::GradientQueries(_) => false,
        ProtocolConfig::WalkSgd(_) => true,
    }
}

/// Whether a protocol makes do with subgradients, so that the loss may have a kink.
fn takes_subgradients(protocol: &ProtocolConfig) -> bool {
    matches!(protocol, ProtocolConfig::GradientQueries(_))
}

/// Whether a protocol adds the sine term to its objective, which is then not convex.
fn takes_sine(protocol: &ProtocolConfig) -> bool {
    matches!(protocol, ProtocolConfig::WeightedErm(erm) if !erm.variant.perturbs_output())
}

/// Whether a problem without regularisation makes sense.
fn takes_none(protocol: &ProtocolConfig) -> bool {
    match protocol {
        ProtocolConfig::Admm(_)
        | ProtocolConfig::GradientDescent(_)
        | ProtocolConfig::GradientTracking(_)
        | ProtocolConfig::Federated(_) => false,
        ProtocolConfig::WalkSgd(_)
        | ProtocolConfig::WeightedErm(_)
        | ProtocolConfig::GradientQueries(_) => true,
    }
}

/// Whether several processes that run it have no more than their parts of the graph from the first: where
/// theory need not look at it before they begin.
fn starts_in_parts(scenario: &Scenario, peers: usize) -> bool {
    scenario.runs_in_parts(peers) && scenario.protocol.automatic().is_none()
}

/// The graph of the first repeat, or why there is none: (field of the section, message).
fn build(scenario: &Scenario, base: &Path, graph: Graph) -> Result<Topology, (String, String)> {
    let config = &scenario.topology;
    let peers = config.peers().filter(|&peers| match graph {
        Graph::Whole => false,
        Graph::Led => {
            let fits = TopologyConfig::builds_whole(peers) || !scenario.protocol.hides_in_sums();
            config.by_number().is_some() && starts_in_parts(scenario, peers) && fits
        }
        Graph::Counted => !scenario.needs_the_whole_graph(peers),
    });
    if let Some(peers) = peers {
        return Ok(Topology::counted(peers, config.by_number().map_or(0, |rule| rule.links())));
    }
    let topology = build_whole(scenario, base)?;
    let counted = graph == Graph::Counted && !scenario.needs_the_whole_graph(topology.peers());
    Ok(if counted { Topology::counted(topology.peers(), topology.links()) } else { topology })
}

fn build_whole(scenario: &Scenario, base: &Path) -> Result<Topology, (String, String)> {
    scenario.topology.build(&Streams::new(scenario.seed, 0), base).map_err(|error| {
        let field = match scenario.topology {
            TopologyConfig::File(_) => "file",
            _ => scenario.topology.family(),
        };
        let causes = std::iter::successors(error.source(), |&cause| cause.source());
        let mut message = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
        if scenario.topology.by_number().is_some() && scenario.topology.check().is_empty() {
            message += " where one process has the whole graph";
        }
        (field.to_string(), message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_two_classes_need_a_model_for_each() {
        let text = "
            name: classes
            seed: 1
            topology: {ring: {peers: 3}}
            data:
              source: {clusters: {classes: 3, dimension: 2, separation: 1}}
              samples: {per-peer: 5}
            model: {loss: logistic, regularisation: 1}
            privacy: {labels: {epsilon: 1}}
            protocol: {admm: {penalty: 1, rounds: 2}}";
        let listed = Checked::from_text("a.yaml", text).unwrap_err().to_string();
        for expected in [
            "data.source: labels of more than two classes: expected `positive`, or a protocol that \
             trains one model per class",
            "privacy.labels: expected labels of two classes",
        ] {
            assert!(listed.contains(expected), "{listed}");
        }
        let two = text.replace("{clusters: {classes: 3, dimension: 2, separation: 1}}", "twonorm");
        assert!(Checked::from_text("a.yaml", &two).is_ok());
    }
    #[test]
    fn kinks_and_sines_are_for_protocols_that_take_them() {
        let text = |model: &str, labels: &str| {
            format!(
                "name: kink\nseed: 1\ntopology: {{ring: {{peers: 3}}}}\n\
                 data: {{source: twonorm, samples: {{per-peer: 5}}}}\nmodel: {{{model}}}\n\
                 privacy: {{{labels}}}\nprotocol: {{gradient-descent: {{step: 0.1, rounds: 2}}}}"
            )
        };
        for (model, labels, expected) in [
            ("loss: logistic, regularisation: 1, sine: 0", "", None),
            ("loss: hinge, regularisation: 1", "", Some("model.loss: the hinge loss has a kink")),
            (
                "loss: hinge, regularisation: 1",
                "labels: {epsilon: 1}",
                Some("privacy.labels: the hinge loss has no unbiased version"),
            ),
            (
                "loss: logistic, regularisation: 1, sine: 0.5",
                "",
                Some("model.sine: the protocol needs a convex regulariser: expected 0"),
            ),
            (
                "loss: logistic, regularisation: 1, sine: -1",
                "",
                Some("model.sine: expected a finite number from 0, found -1"),
            ),
        ] {
            let found =
                Checked::from_text("a.yaml", &text(model, labels)).map_err(|e| e.to_string());
            match (found, expected) {
                (Ok(_), None) => {}
                (Err(listed), Some(expected)) => assert!(listed.contains(expected), "{listed}"),
                (found, expected) => panic!("{model}: {found:?}, expected {expected:?}"),
            }
        }
    }
}
