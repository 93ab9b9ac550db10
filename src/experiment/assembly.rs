//! One repeat's graph, data and optimum, before any peer exists.

use std::path::Path;
use std::sync::Arc;

use super::each_peer::EachPeer;
use super::parts::{Findings, Home, Known, Masking, Surroundings, Tree, placed};
use super::run::ExperimentError;
use super::server::{holders, mask_graph};
use super::statement::left_with;
use super::walk::{WalkPlan, optima};
use crate::data::{self, LocalData, Others, Partitioned, Prepared, Whose};
use crate::learn::{
    Central, Loss, Objective, Regulariser, axpy, central_optimum, flat_optimum, stationary_point,
    svm_optimum,
};
use crate::measure::{
    Accounting, Comparison, Metric, Perturbed, RunSize, Scorer, Shape, SumShape, Thinning,
    TokenShape, What,
};
use crate::network::{Layout, Schedule};
use crate::privacy::randomized_response::{Levels, coefficient};
use crate::privacy::{Correction, ObjectiveNoise, Pieces, Responses, randomise};
use crate::protocol::ProtocolConfig;
use crate::protocol::party::SumConfig;
use crate::random::{Draws, Purpose, Streams};
use crate::scenario::Scenario;
use crate::topology::Topology;
use crate::units::{Epsilon, Members, PeerId, Round};

/// Whether the optimum of the pooled problem is solved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solve {
    /// In any case.
    Always,
    /// Where something that is measured is compared with it.
    IfMeasured,
    /// In no case: nothing will be measured.
    Never,
}

/// All that a repeat starts from.
pub struct Assembly {
    /// Its streams.
    pub streams: Streams,
    /// Its graph.
    pub topology: Arc<Topology>,
    /// Its samples; the held-out ones have gone to the scorer.
    pub data: Prepared,
    /// What users answered in the place of their labels, where they did.
    pub responses: Option<Responses>,
    /// The levels that users could choose from, where the loss corrects by them.
    possible: Option<Levels>,
    /// The samples as the peers get them.
    pub seen: Arc<Partitioned>,
    /// What scores its peers.
    pub scorer: Scorer,
    /// The optimum of the pooled problem as the peers solve it, where something asks for it.
    pub optimum: Option<Central>,
    /// The optimum of the unperturbed problem, where that is another one.
    pub clean: Option<Central>,
    /// What is measured.
    pub metrics: Vec<Metric>,
    /// How often it is, and of whom, where peers are measured.
    pub thinning: Thinning,
    /// How ε is counted.
    pub accounting: Accounting,
    /// The walk, where tokens walk.
    pub plan: Option<WalkPlan>,
    /// Who shares seeds with whom, where addends of sums are masked.
    pub masks: Option<Masking>,
    /// With how many parties' noise a neighbour is left, of each peer: where addends are masked, some see
    /// less than others, and this process leads.
    pub(super) left: Option<EachPeer<u32>>,
    /// Whether models are made by sums of all parties, on whose samples together they are scored.
    pooled: bool,
    /// Who runs whom, where there are several ranks.
    pub(super) layout: Option<Layout>,
    /// The number of this rank.
    rank: usize,
    /// Whether every rank has its own part of graph and data alone.
    pub(super) in_parts: bool,
    /// Whether measured rows stay on their ranks: those of many peers, not of tokens.
    pub(super) surveyed: bool,
    /// How many samples each peer has, where this process leads, or weights parties by it.
    samples: EachPeer<u32>,
    /// What is known here of the graph beyond the own rows, where others are elsewhere.
    surroundings: Surroundings,
    /// How many neighbours each peer has, where this process leads.
    degrees: EachPeer<u32>,
}

impl Assembly {
    /// Assembles repeat number `repeat`. `first` is the graph of the first, which the others share
    /// unless the scenario resamples it.
    ///
    /// # Errors
    /// A graph or data that cannot be had, or a central problem that cannot be solved.
    pub fn new(
        scenario: &Scenario,
        base: &Path,
        first: &Arc<Topology>,
        repeat: u32,
        solve: Solve,
    ) -> Result<Self, ExperimentError> {
        Self::share(scenario, base, Arc::clone(first), repeat, solve, None)
    }

    /// Assembles what one of several ranks needs of it. Of the first graph it lets go as soon as every rank
    /// has its part, where there are so many peers that it does not take all of it to show what they do.
    pub(super) fn share(
        scenario: &Scenario,
        base: &Path,
        first: Arc<Topology>,
        repeat: u32,
        solve: Solve,
        home: Option<Home<'_>>,
    ) -> Result<Self, ExperimentError> {
        let streams = Streams::new(scenario.seed, repeat);
        let n = first.peers();
        let solves = |measured: bool| match solve {
            Solve::Always => true,
            Solve::IfMeasured => measured,
            Solve::Never => false,
        };
        let rank = home.map_or(0, |home| home.ranks.rank());
        let in_parts = home.is_some() && scenario.runs_in_parts(n);
        let surveyed = in_parts && scenario.protocol.walk().is_none();
        let deal_streams = scenario.data.streams(scenario.seed, repeat);
        // Of many peers whose neighbours follow from their numbers nobody needs the whole graph.
        let rule = scenario.topology.by_number().filter(|_| in_parts);
        let whole = rank == 0 || scenario.needs_the_whole_graph(n);
        let sums = scenario.protocol.sum().is_some();
        let begin = || {
            let resampled = repeat > 0 && scenario.topology.resamples();
            let build = |streams| Ok::<_, ExperimentError>(scenario.topology.build(streams, base)?);
            let topology = match whole && rule.is_none() {
                false => None,
                true if resampled => Some(Arc::new(build(&streams)?)),
                true if first.is_whole() => Some(first),
                true => Some(Arc::new(build(&Streams::new(scenario.seed, 0))?)),
            };
            let (config, intercept) = (&scenario.data, scenario.model.intercept);
            let few = home.is_some();
            let dealing = data::deal(config, n, intercept, &deal_streams, base, few)?;
            // Of many peers no rank but the first need know who has how many, unless they count by it.
            let counted = if rank == 0 || !in_parts || sums { n } else { 0 };
            let samples: EachPeer<u32> =
                (0..counted).map(|k| dealing.rows(PeerId::new(k)) as u32).collect();
            let known = match (&rule, &topology) {
                (Some(rule), _) => Some(Known::Rule(rule)),
                (None, topology) => topology.as_ref().map(|whole| Known::Rows(whole)),
            };
            let known = known.filter(|_| rank == 0);
            let degrees =
                known.map(|known| (0..n).map(|k| known.degree(PeerId::new(k)) as u32).collect());
            let findings = known
                .filter(|_| in_parts)
                .map(|known| Findings::of(scenario, known, &samples, (repeat, base)));
            let findings = findings.transpose()?;
            Ok((topology, dealing, samples, degrees.unwrap_or_default(), findings))
        };
        let (topology, dealing, samples, degrees, mut findings) = match home {
            Some(home) => home.agreed(begin())?,
            None => begin()?,
        };
        let placed = match home {
            Some(home) => {
                let found = (topology.as_ref(), findings.as_ref());
                Some(placed(scenario, home, in_parts, found, &dealing)?)
            }
            None => None,
        };
        let mut left = findings.as_mut().and_then(|findings| findings.left.take());
        drop(findings);
        let walk = scenario.protocol.walk();
        let plan =
            walk.map(|walk| WalkPlan::of(walk, &dealing, &streams, !in_parts)).transpose()?;
        let whose = match &placed {
            Some((layout, ..)) if rank > 0 || !looks_at_all(scenario, in_parts, solves) => {
                Whose::Some {
                    peers: Members::listed(layout.peers_of(rank).collect()),
                    // Users answer for their labels by who they are; and theory, for few peers, looks at all.
                    others: match topology.is_some() {
                        _ if scenario.privacy.labels.is_some() => Others::Labels,
                        _ if in_parts => Others::Nothing,
                        _ if rank == 0 => Others::Labels,
                        true => Others::Rows,
                        false => Others::Nothing,
                    },
                }
            }
            _ => Whose::Everybody,
        };
        let (layout, part, surroundings) = match placed {
            Some((layout, part, around)) => (Some(layout), Some(part), around),
            None => (None, None, Surroundings::default()),
        };
        let topology =
            part.or(topology).expect("one process has the whole graph, a rank at least its part");
        let mut data = dealing.prepare(whose)?;
        let test = data.test.take();
        let responses = randomised_labels(scenario, &data, &streams)?;
        let seen = match &responses {
            Some(responses) => Arc::new(data.train.relabelled(responses.labels.clone())),
            None => Arc::clone(&data.train),
        };
        let linear = objective_noise(scenario, &streams)
            .map(|(law, draws)| noise_of_all(&law, &draws, &data.train));
        let perturbed = (responses.is_some() || linear.is_some())
            .then(|| Perturbed { train: Arc::clone(&seen), linear: linear.unwrap_or_default() });
        let is_perturbed = perturbed.is_some();
        let has_test = test.is_some();
        let thinning = Thinning::of(
            &scenario.measure,
            RunSize {
                peers: n,
                samples: data.train.total_rows(),
                held_out: test.as_ref().map_or(0, |test| test.y.len()),
                dimension: data.train.dimension(),
                rounds: plan.as_ref().map_or_else(|| scenario.protocol.rounds([]), |_| 1),
            },
        );
        let ridge = scenario.model.regularisation / n as f64;
        let mut scorer = Scorer::new(
            &scenario.measure,
            data.train.clone(),
            test,
            perturbed,
            scenario.model.loss,
            scenario.model.regulariser(n),
        )
        .scoring(thinning.scored);
        let measures = |what| scenario.measure.has(what);
        if surveyed && scenario.protocol.sum().is_some() && measures(What::Optimum) {
            scorer.pick_models();
        }
        let (mut optimum, mut clean) = (None, None);
        if let (Some(plan), Some(walk)) = (&plan, walk) {
            scorer = scorer.of_tasks(plan.tasks);
            if solves(measures(What::Optimum)) {
                optimum = optima(&scorer, &data.train, plan, ridge, walk.radius)?;
            }
        } else if scenario.protocol.sum().is_some() {
            if solves(measures(What::Optimum)) {
                optimum = optimum_of(scorer.pooled_objective(), scorer.regulariser());
            }
        } else if solves(measures(What::Optimum) || measures(What::Average)) {
            let a = scenario.model.regularisation;
            let mut linear = vec![0.0; data.train.dimension()];
            if is_perturbed && measures(What::Optimum) {
                let rows = scorer.rows();
                clean = Some(central_optimum(&scorer.mean_losses(&rows), a, &linear)?);
            }
            scorer.linear_terms().for_each(|eta| axpy(1.0, eta, &mut linear));
            let rows = scorer.rows_as_solved();
            let best = central_optimum(&scorer.mean_losses(&rows), a, &linear)?;
            if measures(What::Average) {
                scorer.draw_tangents(&best.w);
            }
            optimum = Some(best);
        }
        let metrics = Metric::of_run(
            &scenario.measure,
            Shape {
                classifies: scenario.model.loss.is_classification(),
                has_test,
                perturbed: is_perturbed,
                protected: responses.is_some() || scenario.protocol.adds_noise(),
                tokens: walk.map(|walk| TokenShape {
                    decides: walk.decision.is_some(),
                    has_optimum: optimum.is_some(),
                }),
                sums: scenario.protocol.sum().map(|_| SumShape {
                    has_optimum: optimum.is_some(),
                    pools: scenario.protocol.hides_more_from_readers(),
                }),
            },
        );
        let parties = holders(&samples);
        if let Some(sum) = scenario.protocol.sum()
            && sum.colluders as usize >= parties
        {
            let message = format!(
                "sum.colluders: expected fewer than the {parties} parties with samples, found {}",
                sum.colluders
            );
            return Err(ExperimentError::Protocol(message));
        }
        let masks = match in_parts {
            true => Masking::near(scenario, &topology, &surroundings),
            false => mask_graph(scenario, &topology, repeat, base)?.map(Masking::Whole),
        };
        if rank == 0
            && scenario.protocol.hides_more_from_readers()
            && let (false, Some(Masking::Whole(graph))) = (in_parts, &masks)
        {
            left = Some(left_with(graph, &topology, &samples));
        }
        let labels = responses.as_ref().and_then(Responses::summary);
        let corrected = scenario.privacy.labels.as_ref();
        let corrected = corrected.filter(|labels| labels.loss == Correction::Unbiased);
        let possible = corrected.map(|labels| labels.epsilon.clone());
        let accounting = Accounting {
            delta: scenario.privacy.delta,
            copies: data.multiplicity,
            repetition: plan.as_ref().map(|plan| plan.repetition),
            labels: labels.map_or(Epsilon::UNBOUNDED, |labels| labels.greatest),
        };
        Ok(Self {
            layout,
            rank,
            in_parts,
            surveyed,
            samples,
            degrees,
            streams,
            topology,
            data,
            responses,
            possible,
            seen,
            scorer,
            optimum,
            clean,
            metrics,
            thinning,
            accounting,
            plan,
            masks,
            left,
            surroundings,
            pooled: scenario.protocol.sum().is_some(),
        })
    }

    /// The peers, each made from its own samples and nobody else's, and its neighbours; of several ranks,
    /// those of this one.
    pub fn peers<P>(&self, make: impl Fn(PeerId, LocalData, &[PeerId]) -> P) -> Vec<P> {
        let peer =
            |id| make(id, LocalData::new(Arc::clone(&self.seen), id), self.topology.neighbours(id));
        match &self.layout {
            Some(layout) => layout.peers_of(self.rank).map(peer).collect(),
            None => self.topology.ids().map(peer).collect(),
        }
    }

    /// Whether peers' averages are compared with the optimum: each where it runs, so that all ranks must
    /// know it.
    pub(super) fn compares_averages(&self, scenario: &Scenario) -> bool {
        scenario.measure.has(What::Average) && self.plan.is_none() && !self.pooled
    }

    /// The largest k that a label of this peer's users can have: 1 for plain ones. A user's level is
    /// as private as the rest of the record, so it is that of the least level they may have chosen.
    pub fn coefficient(&self, peer: PeerId) -> f64 {
        let drawn =
            self.responses.as_ref().map_or(1.0, |responses| responses.greatest_factor(peer));
        self.possible.as_ref().map_or(drawn, |levels| coefficient(levels.range(peer).0).max(drawn))
    }

    /// What nothing has protected before the peers got it.
    pub fn unprotected(&self) -> Pieces {
        if self.responses.is_some() { Pieces::FEATURES } else { Pieces::RECORD }
    }

    /// The last round that this repeat may reach.
    pub fn rounds(&self, scenario: &Scenario) -> Round {
        match &self.plan {
            Some(plan) => plan.updates,
            None => Round(scenario.protocol.rounds([]) as u32),
        }
    }

    /// When and of whom it is measured.
    pub(super) fn schedule(&self, scenario: &Scenario) -> Schedule {
        let last = self.rounds(scenario);
        match &self.plan {
            Some(plan) => Schedule::of_tokens(plan.every(scenario), last, plan.tasks.count()),
            None if self.surveyed => Schedule::of_peers(self.thinning.every, last).surveyed(),
            None => Schedule::of_peers(self.thinning.every, last),
        }
    }

    /// How many neighbours each peer has, where this process leads.
    pub(super) fn degrees(&self) -> &EachPeer<u32> {
        &self.degrees
    }

    /// How many training samples each peer has.
    pub(super) fn samples(&self) -> &EachPeer<u32> {
        &self.samples
    }

    /// How many neighbours a peer of this process, or a neighbour of one, has.
    pub(super) fn degree(&self, peer: PeerId) -> u32 {
        self.surroundings.degree(peer).unwrap_or_else(|| self.topology.degree(peer) as u32)
    }

    /// The tree that these sums go up, as far as it is known here; none where parties gossip.
    pub(super) fn tree(&self, sum: &SumConfig) -> Result<Option<Tree<'_>>, ExperimentError> {
        Tree::of(sum, &self.topology, &self.surroundings)
    }

    /// The plan of a walk.
    ///
    /// # Panics
    /// For a protocol without tokens.
    pub(super) fn walk_plan(&self) -> &WalkPlan {
        self.plan.as_ref().expect("a walk is planned when it is assembled")
    }

    /// What rows are compared with.
    pub fn comparison(&self) -> Comparison<'_> {
        let n = self.topology.peers() as f64;
        let best = self.optimum.as_ref();
        Comparison {
            optimum: best.map(|best| (best.w.as_slice(), best.value / n)),
            clean: self.clean.as_ref().map(|best| best.w.as_slice()),
            privacy: self.accounting,
            tokens: self
                .plan
                .as_ref()
                .map(|_| (&self.scorer, best.map_or(f64::NAN, |best| best.value))),
            sums: best.filter(|_| self.pooled).map(|best| (&self.scorer, best.value)),
        }
    }
}

/// Whether rank 0 needs the samples of all peers: to solve the pooled problem, to score on all of them what
/// tokens carry or sums make, or, of few peers, to say what theory expects of either.
fn looks_at_all(scenario: &Scenario, in_parts: bool, solves: impl Fn(bool) -> bool) -> bool {
    let measures = |what| scenario.measure.has(what);
    let walk = scenario.protocol.walk().is_some();
    let tokens = walk && (measures(What::Risk) || measures(What::Train));
    let pooled = walk || scenario.protocol.sum().is_some();
    let few = pooled && !in_parts;
    few || tokens || solves(measures(What::Optimum) || measures(What::Average))
}

/// What the users answer, where the scenario has them randomise their labels.
fn randomised_labels(
    scenario: &Scenario,
    data: &Prepared,
    streams: &Streams,
) -> Result<Option<Responses>, ExperimentError> {
    let Some(config) = &scenario.privacy.labels else {
        return Ok(None);
    };
    if let Some((field, message)) = config.check_source(data.source_rows) {
        return Err(ExperimentError::Privacy(format!("privacy.labels.{field}: {message}")));
    }
    let train = &data.train;
    Ok(Some(randomise(config, train.labels(), &data.rows, train.offsets(), streams)))
}

/// The law of the peers' objective noise in a repeat, and where its draws come from.
pub(super) fn objective_noise(
    scenario: &Scenario,
    streams: &Streams,
) -> Option<(ObjectiveNoise, Draws)> {
    match &scenario.protocol {
        ProtocolConfig::Admm(admm) => admm
            .objective_noise
            .map(|law| (law, Draws::Streams(streams.family(Purpose::ObjectiveNoise, 0)))),
        ProtocolConfig::GradientDescent(_)
        | ProtocolConfig::GradientTracking(_)
        | ProtocolConfig::WalkSgd(_)
        | ProtocolConfig::WeightedErm(_)
        | ProtocolConfig::Federated(_)
        | ProtocolConfig::GradientQueries(_) => None,
    }
}

/// The optimum of a mean loss with its regulariser, where it can be found.
pub(super) fn optimum_of(objective: Objective<'_>, regulariser: Regulariser) -> Option<Central> {
    let Regulariser { ridge, sine } = regulariser;
    let dimension = objective.samples.dimension();
    // The solver stops where the parts of the gradient cancel: there must be several.
    let parts = objective.samples.halves().map(|samples| Objective { samples, ..objective });
    match objective.loss {
        Loss::Hinge => svm_optimum(objective.samples, ridge).ok(),
        _ if sine > 0.0 => stationary_point(&parts, regulariser, dimension).ok(),
        _ if ridge == 0.0 => flat_optimum(&parts, dimension).ok(),
        _ => central_optimum(&parts, ridge, &vec![0.0; dimension]).ok(),
    }
}

/// η_i/n of every peer, one after the other; of those whose rows are in another process, 0.
fn noise_of_all(law: &ObjectiveNoise, draws: &Draws, train: &Partitioned) -> Vec<f64> {
    let (n, d) = (train.peers(), train.dimension());
    let mut linear = vec![0.0; n * d];
    for (eta, peer) in linear.chunks_exact_mut(d.max(1)).zip(train.ids()) {
        if train.holds(peer) {
            law.draw(draws, peer.0.into(), eta);
            eta.iter_mut().for_each(|eta| *eta /= n as f64);
        }
    }
    linear
}
