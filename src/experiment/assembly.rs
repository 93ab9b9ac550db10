//! One repeat's graph, data and optimum, before any peer exists.

use std::path::Path;

use super::run::ExperimentError;
use crate::data::{self, LocalData, Prepared};
use crate::learn::{Central, central_optimum};
use crate::measure::{Metric, Scorer, What};
use crate::random::Streams;
use crate::scenario::Scenario;
use crate::topology::Topology;
use crate::units::PeerId;

/// All that a repeat starts from.
pub struct Assembly {
    /// Its streams.
    pub streams: Streams,
    /// Its graph.
    pub topology: Topology,
    /// Its samples; the held-out ones have gone to the scorer.
    pub data: Prepared,
    /// What scores its peers.
    pub scorer: Scorer,
    /// The optimum of the pooled problem, where something asks for it.
    pub optimum: Option<Central>,
    /// What is measured.
    pub metrics: Vec<Metric>,
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
        first: &Topology,
        repeat: u32,
        needs_optimum: bool,
    ) -> Result<Self, ExperimentError> {
        let streams = Streams::new(scenario.seed, repeat);
        let topology = if repeat > 0 && scenario.topology.resamples() {
            scenario.topology.build(&streams, base)?
        } else {
            first.clone()
        };
        let n = topology.peers();
        let mut data = data::prepare(
            &scenario.data,
            n,
            scenario.model.intercept,
            &scenario.data.streams(scenario.seed, repeat),
            base,
        )?;
        let test = data.test.take();
        let metrics = Metric::of_run(&scenario.measure, scenario.model.loss, test.is_some());
        let scorer = Scorer::new(
            &scenario.measure,
            data.train.clone(),
            test,
            scenario.model.loss,
            scenario.model.regularisation / n as f64,
        );
        let optimum = if needs_optimum || scenario.measure.has(What::Optimum) {
            let parts = scorer.objectives();
            let a = scenario.model.regularisation;
            Some(central_optimum(&parts, a, data.train.dimension())?)
        } else {
            None
        };
        Ok(Self { streams, topology, data, scorer, optimum, metrics })
    }

    /// The peers, each made from its own samples and nobody else's, and its neighbours.
    pub fn peers<P>(&self, make: impl Fn(LocalData, &[PeerId]) -> P) -> Vec<P> {
        let peer =
            |id| make(LocalData::new(self.data.train.clone(), id), self.topology.neighbours(id));
        self.topology.ids().map(peer).collect()
    }
}
