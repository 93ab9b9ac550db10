//! One run on several ranks.
//!
//! Rank 0 leads: it has the run's directory, resolves what is left to theory, says which repeat is
//! next, measures and decides. The others follow: they assemble the same repeat, run their own peers,
//! and wait for the next order. When there is none left, for whatever reason, rank 0 says so.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use super::assembly::{Assembly, Solve};
use super::directory::RunDirectory;
use super::parts::Home;
use super::resolved::{Resolved, resolve};
use super::run::{ExperimentError, Options, Progress, RunResult, execute_with, run_peers};
use crate::measure::{ExactSum, LocalFigures};
use crate::network::{Counted, Engine, EngineKind, Flow, NetworkError, Ranks, Row, Share, Traffic};
use crate::privacy::{Pack, WireError};
use crate::protocol::Automatic;
use crate::scenario::{Checked, Scenario};
use crate::topology::Topology;

/// What rank 0 tells the others to do.
enum Order {
    /// Put this number in the place of `auto`.
    Choose(f64),
    /// Assemble this repeat.
    Assemble(u32),
    /// Run what was assembled.
    Run,
    /// Hand over what the peers with these numbers left in the last measured round.
    HandOver(Range<usize>),
}

impl Pack for Order {
    fn put(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Choose(number) => (0_u8, *number).put(bytes),
            Self::Assemble(repeat) => (1_u8, *repeat).put(bytes),
            Self::Run => 2_u8.put(bytes),
            Self::HandOver(numbers) => (3_u8, numbers.start, numbers.end).put(bytes),
        }
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok(match u8::get(bytes)? {
            0 => Self::Choose(Pack::get(bytes)?),
            1 => Self::Assemble(Pack::get(bytes)?),
            2 => Self::Run,
            _ => Self::HandOver(Pack::get(bytes)?..Pack::get(bytes)?),
        })
    }
}

/// Rank 0 of a run: as long as it is there, the others wait for its orders.
pub struct Leader<'a> {
    ranks: Counted<'a>,
    workers: usize,
    /// The first repeat's graph, where the scenario has let go of it, as long as a repeat may ask for it.
    graph: Mutex<Option<Arc<Topology>>>,
}

impl<'a> Leader<'a> {
    /// Takes the lead of these ranks, with as many workers on each as [`common_workers`] says.
    pub fn new(ranks: &'a dyn Ranks, workers: usize) -> Self {
        Self { ranks: Counted::new(ranks), workers, graph: Mutex::default() }
    }

    /// The same with the graph that a scenario [has let go of](Checked::let_go_of_graph): it is here until
    /// the last repeat has been assembled.
    #[must_use]
    pub fn with_graph(mut self, graph: Option<Arc<Topology>>) -> Self {
        self.graph = Mutex::new(graph);
        self
    }

    /// What this rank and the others have had to say to each other.
    pub fn traffic(&self) -> Traffic {
        self.ranks.traffic()
    }

    /// Puts numbers in the place of `auto`, here and on the other ranks: see [`resolve`].
    ///
    /// # Errors
    /// As there; and a rank that is no more.
    pub fn resolve(&self, checked: &Checked) -> Result<Resolved, ExperimentError> {
        let resolved = resolve(checked)?;
        if checked.scenario().protocol.automatic().is_some()
            && let Some(number) = resolved.scenario.protocol.chosen()
        {
            self.order(Some(Order::Choose(number)))?;
        }
        Ok(resolved)
    }

    /// Runs a scenario on all ranks: see [`execute`](super::execute).
    ///
    /// # Errors
    /// As there; and what failed on another rank, which it names.
    pub fn execute(
        &self,
        checked: &Checked,
        resolved: Resolved,
        directory: Option<&RunDirectory>,
        interrupt: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<RunResult, ExperimentError> {
        let options = Options { workers: Some(self.workers) };
        execute_with(Some(self), checked, resolved, options, directory, interrupt, progress)
    }

    /// A repeat, assembled on all ranks or on none.
    pub(super) fn assemble(
        &self,
        scenario: &Scenario,
        checked: &Checked,
        repeat: u32,
        solve: Solve,
    ) -> Result<Assembly, ExperimentError> {
        self.order(Some(Order::Assemble(repeat)))?;
        let mut graph = self.graph.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = repeat + 1 < scenario.repeat && !scenario.topology.resamples();
        let first = if shared { graph.clone() } else { graph.take() };
        drop(graph);
        let first = first.unwrap_or_else(|| Arc::clone(checked.topology()));
        let home = (&self.ranks as &dyn Ranks, self.workers);
        assemble(home, scenario, (checked, first), repeat, solve)
    }

    /// Has the others run what was assembled, together with this rank: the ranks.
    pub(super) fn begin(&self) -> Result<&dyn Ranks, NetworkError> {
        self.order(Some(Order::Run))?;
        Ok(&self.ranks)
    }

    /// What the peers with these numbers left in the last measured round, from all ranks; nothing where no
    /// round was measured. `share` is that of this rank.
    pub(super) fn take_over(
        &self,
        share: &Share<LocalFigures>,
        numbers: Range<usize>,
    ) -> Result<Option<Row<LocalFigures>>, NetworkError> {
        self.order(Some(Order::HandOver(numbers.clone())))?;
        share.gathered(&self.ranks, numbers)
    }

    fn order(&self, order: Option<Order>) -> Result<(), NetworkError> {
        let ranks: &dyn Ranks = &self.ranks;
        ranks.from_lead(order).map(drop)
    }
}

/// Who works with it.
impl fmt::Display for Leader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} workers on each of {} ranks", self.workers, self.ranks.size())
    }
}

/// The others wait no longer. Where the leader fell, everything ends anyway.
impl Drop for Leader<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = self.order(None);
        }
    }
}

/// Does what rank 0 says until there is nothing left to do. What goes wrong here rank 0 tells.
///
/// # Errors
/// Rank 0 is no more.
pub fn follow(
    ranks: &dyn Ranks,
    workers: usize,
    checked: &Checked,
    interrupt: &AtomicBool,
) -> Result<(), ExperimentError> {
    let mut scenario = checked.scenario().clone();
    let (mut assembly, mut share) = (None, Share::default());
    while let Some(order) = ranks.from_lead(None)? {
        match order {
            Order::Choose(number) => scenario.protocol.choose(Automatic::Value(number)),
            Order::Assemble(repeat) => {
                let home = (ranks, workers);
                share = Share::default();
                let read = (checked, Arc::clone(checked.topology()));
                assembly = assemble(home, &scenario, read, repeat, Solve::Never).ok();
            }
            Order::Run => {
                let Some(assembly) = assembly.take() else { continue };
                let engine = (Engine::Simulated { workers }, Some(ranks));
                let measured_elsewhere = &mut |_| Flow::Continue;
                let ran = run_peers(&scenario, &assembly, engine, interrupt, measured_elsewhere);
                match ran {
                    Ok(outcome) => share = outcome.share.unwrap_or_default(),
                    Err(ExperimentError::Network(lost @ NetworkError::Rank { .. })) => {
                        return Err(lost.into());
                    }
                    // Of other errors rank 0 has the same, and tells.
                    Err(_) => {}
                }
            }
            Order::HandOver(numbers) => drop(share.gathered(ranks, numbers)?),
        }
    }
    Ok(())
}

/// The least number of workers that any rank would start: all start that many. Unless told how many, a rank
/// starts one for each of its cores, which it shares with others that are not bound to cores of their own.
///
/// # Errors
/// A rank is no more.
pub fn common_workers(
    ranks: &dyn Ranks,
    options: Options,
    scenario: &Scenario,
) -> Result<usize, NetworkError> {
    let told = options.workers.or(scenario.network.workers);
    let own = match scenario.network.engine {
        EngineKind::Simulated => told.unwrap_or_else(|| ranks.cores()),
        EngineKind::Threads => 1,
    };
    Ok(ranks.all_of(&own)?.into_iter().min().unwrap_or(own))
}

/// Assembles a repeat here, and finds out whether all others could.
fn assemble(
    (ranks, workers): (&dyn Ranks, usize),
    scenario: &Scenario,
    (checked, first): (&Checked, Arc<Topology>),
    repeat: u32,
    solve: Solve,
) -> Result<Assembly, ExperimentError> {
    let home = Home { ranks, workers };
    let own = Assembly::share(scenario, checked.base(), first, repeat, solve, Some(home));
    let mut assembly = home.agreed(own)?;
    if assembly.compares_averages(scenario) {
        let best = assembly.optimum.as_ref().map(|central| central.w.clone());
        if let Some(best) = ranks.from_lead(best)?.filter(|_| ranks.rank() != 0) {
            assembly.scorer.draw_tangents(&best);
        }
    }
    if assembly.surveyed {
        let known = [&assembly.optimum, &assembly.clean].map(|best| Some(best.as_ref()?.w.clone()));
        let aims = ranks.from_lead(Some(known))?;
        assembly.scorer.aim_at(aims.unwrap_or_default());
    }
    if assembly.in_parts {
        let mut labels = ExactSum::default();
        ranks.each_taken(assembly.scorer.label_sum(), |more| labels.join(&more))?;
        let mut classes: Vec<u64> = Vec::new();
        ranks.each_taken(assembly.scorer.class_counts(), |more| {
            classes.resize(more.len(), 0);
            classes.iter_mut().zip(more).for_each(|(all, more)| *all += more);
        })?;
        assembly.scorer.know_labels(labels, classes);
    }
    Ok(assembly)
}

#[cfg(test)]
mod tests {
    use super::super::each_peer::EachPeer;
    use super::*;
    use crate::network::InProcess;
    use crate::scenario::Graph;
    use crate::units::{Members, PeerId};

    /// What a rank has of graph and data, and knows of all.
    struct Held {
        topology: Arc<Topology>,
        labels: usize,
        degrees: EachPeer<u32>,
    }

    impl Held {
        fn of(assembly: &Assembly) -> Self {
            Self {
                topology: Arc::clone(&assembly.topology),
                labels: assembly.data.train.labels().len(),
                degrees: assembly.degrees().clone(),
            }
        }
    }

    /// What each of three ranks has after the first repeat was assembled, and the whole graph.
    fn assembled(graph: &str, protocol: &str, what: &str) -> (Vec<Held>, Arc<Topology>) {
        let text = format!(
            "name: a\nseed: 1\ntopology: {graph}\n\
             data: {{source: twonorm, samples: {{per-peer: 2}}, preprocess: [unit-sphere]}}\n\
             model: {{loss: logistic, regularisation: 1}}\n\
             protocol: {protocol}\nmeasure: {{what: [{what}]}}\n"
        );
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.yaml");
        std::fs::write(&file, text).unwrap();
        let read = |graph| Checked::load_with(&file, &[], graph).unwrap();
        let ends = InProcess::run(3, |ranks| {
            if ranks.leads() {
                let mut checked = read(Graph::Led);
                let lent = checked.let_go_of_graph();
                let leader = Leader::new(ranks, 1).with_graph(lent);
                let (scenario, solve) = (checked.scenario(), Solve::IfMeasured);
                let assembly = leader.assemble(scenario, &checked, 0, solve).unwrap();
                assert!(leader.graph.lock().unwrap().is_none(), "no other repeat asks for it");
                return Held::of(&assembly);
            }
            let checked = read(Graph::Counted);
            let Ok(Some(Order::Assemble(0))) = ranks.from_lead::<Order>(None) else {
                panic!("the first thing to do is to assemble");
            };
            let first = Arc::clone(checked.topology());
            let (home, scenario) = ((ranks, 1), checked.scenario());
            let assembly = assemble(home, scenario, (&checked, first), 0, Solve::Never).unwrap();
            assert!(ranks.from_lead::<Order>(None).unwrap().is_none());
            Held::of(&assembly)
        });
        (ends, Arc::clone(read(Graph::Whole).topology()))
    }

    /// Every rank, the first as well, has the rows of its own peers, of graph and data, and all of them
    /// together have all.
    #[test]
    fn nobody_has_the_whole_graph_of_many_peers() {
        let masked = |masks: &str| {
            format!(
                "{{federated: {{variant: masked, communications: 1, steps: 1, noise: {{epsilon: 1}}, \
                 sum: {{root: 7, masks: {masks}}}}}}}"
            )
        };
        let others = "{graph: {random-regular: {peers: 1100, degree: 4}}}";
        let walk =
            |walk| format!("{{walk-sgd: {{walk: {walk}, batch: 1, step: {{constant: 0.1}}}}}}");
        for (protocol, what) in [
            ("{admm: {rounds: 1, penalty: 1}}".to_string(), "consensus"),
            (walk("simple"), "walk"),
            (walk("metropolis"), "walk"),
            ("{weighted-erm: {variant: published, steps: 1, step: 1}}".to_string(), "risk"),
            (masked("wires"), "risk"),
            (masked(others), "risk"),
        ] {
            for graph in
                ["{ring: {peers: 1100}}", "{random-geometric: {peers: 1100, radius: 0.08}}"]
            {
                let (ends, whole) = assembled(graph, &protocol, what);
                let case = format!("{graph}, {protocol}");
                let degree = |peer: PeerId| whole.degree(peer);
                let degrees = whole.ids().map(|peer| degree(peer) as u32);
                assert!(ends[0].degrees.iter().eq(degrees), "{case}");
                for held in &ends {
                    let part = &held.topology;
                    assert!(!part.is_whole() && part.links() == whole.links(), "{case}");
                    let own = part.members().map(Members::len).unwrap();
                    assert!(own < 1100 && held.labels == 2 * own, "{case}");
                }
                for peer in whole.ids() {
                    let here: Vec<usize> =
                        ends.iter().map(|held| held.topology.degree(peer)).collect();
                    assert_eq!(here.iter().max(), Some(&degree(peer)), "{case}: {peer}");
                    assert_eq!(here.iter().sum::<usize>(), degree(peer), "{case}: {peer}");
                }
            }
        }
    }
}
