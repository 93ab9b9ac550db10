//! `hushmesh run` as one of several processes that a launcher has started.

use std::env;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::RunArguments;
use super::exit::{Code, Failure};
use super::run::{on_engine, on_interrupt, place, run_one};
use crate::experiment::{ExperimentError, Leader, Options, RunDirectory, common_workers, follow};
use crate::learn::kernel;
use crate::network::{EngineKind, NetworkError, Ranks};
use crate::privacy::pack_fields;
use crate::scenario::{Checked, Sweep, to_yaml};

/// How many processes a launcher (mpirun, srun) has started together with this one; none where there is
/// no launcher.
fn launched() -> Option<usize> {
    let number = |name: &str| env::var(name).ok()?.parse().ok();
    let named =
        ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"].into_iter().find_map(number);
    // Some launchers tell a process its number and leave it to others how many there are.
    let numbered = || env::var_os("PMIX_RANK").and_then(|_| number("SLURM_STEP_NUM_TASKS"));
    named.or_else(numbered)
}

/// The ranks of which this process is one; nothing where it is alone.
///
/// # Errors
/// Several processes that do not know each other, and would all write the same files.
#[cfg(feature = "mpi")]
pub(super) fn group() -> Result<Option<Box<dyn Ranks>>, Failure> {
    let Some(size) = launched().filter(|&size| size > 1) else { return Ok(None) };
    match crate::network::Mpi::join() {
        Some(ranks) if ranks.size() == size => Ok(Some(Box::new(ranks))),
        Some(ranks) => Err(Failure::arguments(format!(
            "started as one of {size} processes, but MPI knows of {}: start it by the launcher of the \
             MPI library that it was built with",
            ranks.size()
        ))),
        None => Err(Failure::arguments(
            "the MPI library does not let threads take turns (MPI_THREAD_SERIALIZED)".to_string(),
        )),
    }
}

/// The same of a program that knows no other processes.
#[cfg(not(feature = "mpi"))]
pub(super) fn group() -> Result<Option<Box<dyn Ranks>>, Failure> {
    match launched().filter(|&size| size > 1) {
        None => Ok(None),
        Some(size) => Err(Failure::arguments(format!(
            "started as one of {size} processes, but built without MPI: build it with `cargo build \
             --release --features mpi`, or start it alone"
        ))),
    }
}

/// Refuses a command that several processes would all carry out.
pub(super) fn require_alone(command: &str) -> Result<(), Failure> {
    match launched().filter(|&size| size > 1) {
        None => Ok(()),
        Some(size) => Err(Failure::arguments(format!(
            "{command} takes one process, found {size}: start it without a launcher; `hushmesh run` of one \
             scenario takes several"
        ))),
    }
}

/// What ranks tell each other before they begin.
struct Hello {
    version: String,
    /// A hash of the scenario, overrides included, and of its graph; empty where there is none.
    scenario: String,
    kernel: String,
    /// Why this rank cannot begin: an exit code and a text.
    failure: Option<(u8, String)>,
}

pack_fields!(Hello { version, scenario, kernel, failure });

impl Hello {
    fn new(loaded: &Result<Checked, Failure>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_string(),
            scenario: loaded.as_ref().map(hash).unwrap_or_default(),
            kernel: kernel::name().to_string(),
            failure: loaded.as_ref().err().map(|error| (error.code as u8, error.text.clone())),
        }
    }
}

/// What two ranks must have in common: the scenario with every default and override, and the links.
fn hash(checked: &Checked) -> String {
    let mut hash = Sha256::new();
    hash.update(to_yaml(checked.scenario()));
    let topology = checked.topology();
    for peer in topology.ids() {
        hash.update(topology.name(peer).as_bytes());
        let neighbours = topology.neighbours(peer);
        hash.update((neighbours.len() as u64).to_le_bytes());
        neighbours.iter().for_each(|neighbour| hash.update(neighbour.0.to_le_bytes()));
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs the scenario together with the other ranks. Only rank 0 says what went wrong.
pub(super) fn run(arguments: &RunArguments, ranks: &dyn Ranks) -> Result<Code, Failure> {
    let outcome = begin(arguments, ranks).and_then(|(checked, workers)| {
        if ranks.rank() != 0 {
            follow(ranks, workers, &checked, &on_interrupt())?;
            return Ok(Code::Done);
        }
        let leader = Leader::new(ranks, workers);
        let directory = match &arguments.resume {
            Some(named) => RunDirectory::resume(named)?,
            None => place(arguments, &checked.scenario().name)?,
        };
        run_one(arguments, &checked, directory, Some(&leader))
    });
    match ranks.rank() {
        0 => outcome,
        // A launcher that sees one process fail ends the others: rank 0 must have said why by then.
        _ => Ok(outcome.unwrap_or(Code::Done)),
    }
}

/// Reads the scenario, and finds out whether all ranks can begin, and with how many workers each.
fn begin(arguments: &RunArguments, ranks: &dyn Ranks) -> Result<(Checked, usize), Failure> {
    let loaded = load(arguments);
    let all = ranks.all_of(&Hello::new(&loaded)).map_err(lost)?;
    compare(&all)?;
    if all.iter().any(|rank| rank.kernel != all[0].kernel) {
        kernel::force_portable();
    }
    let checked = loaded?;
    let options = Options { workers: arguments.workers.map(usize::from) };
    let workers = common_workers(ranks, options, checked.scenario()).map_err(lost)?;
    Ok((checked, workers))
}

/// The one scenario that the arguments name.
fn load(arguments: &RunArguments) -> Result<Checked, Failure> {
    let checked = match &arguments.resume {
        Some(named) => Checked::load(&RunDirectory::asked(named), &[])?,
        None => {
            let path = arguments.scenario.as_deref().unwrap_or(Path::new(""));
            let sweep = Sweep::load(path, &arguments.overrides, &arguments.sweeps)?;
            match sweep.points() {
                [only] if sweep.is_single() && arguments.target.is_none() => sweep.checked(only)?,
                _ => {
                    let message =
                        "a sweep, or --target, takes one process: start it without a launcher";
                    return Err(Failure::arguments(message.to_string()));
                }
            }
        }
    };
    let checked = on_engine(arguments.engine, checked)?;
    if checked.scenario().network.engine == EngineKind::Threads {
        return Err(Failure {
            code: Code::Scenario,
            text: "error: network.engine: expected simulated on several ranks, found threads, which run in \
                   one process"
                .to_string(),
        });
    }
    Ok(checked)
}

/// Whether all ranks can do the same run: the first that cannot is named.
fn compare(all: &[Hello]) -> Result<(), Failure> {
    let first = &all[0];
    for (rank, hello) in all.iter().enumerate() {
        if hello.version != first.version {
            return Err(Failure::arguments(format!(
                "rank {rank} is version {} of this program, rank 0 is version {}: start the same on all",
                hello.version, first.version
            )));
        }
        if let Some((code, text)) = &hello.failure {
            let code = Code::ALL.into_iter().find(|known| *known as u8 == *code);
            let text = match rank {
                0 => text.clone(),
                _ => format!("error: rank {rank}: {}", text.trim_start_matches("error: ")),
            };
            return Err(Failure { code: code.unwrap_or(Code::Run), text });
        }
        if hello.scenario != first.scenario {
            return Err(Failure {
                code: Code::Scenario,
                text: format!(
                    "error: rank {rank} has read another scenario, or another graph, than rank 0: expected the \
                     same files on all ranks"
                ),
            });
        }
    }
    Ok(())
}

/// A rank that is no more.
fn lost(error: NetworkError) -> Failure {
    ExperimentError::from(error).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        let text = String::from;
        Hello { version: text("1"), scenario: text("s"), kernel: text("avx2"), failure: None }
    }

    #[test]
    fn the_rank_that_differs_is_named() {
        assert!(compare(&[hello(), hello()]).is_ok());
        let told = |other: Hello| compare(&[hello(), hello(), other]).unwrap_err();
        let newer = told(Hello { version: "2".to_string(), ..hello() });
        assert!(newer.text.starts_with("error: rank 2 is version 2"), "{}", newer.text);
        let other = told(Hello { scenario: "t".to_string(), ..hello() });
        assert_eq!(other.code, Code::Scenario);
        assert!(
            other.text.starts_with("error: rank 2 has read another scenario"),
            "{}",
            other.text
        );
        let failure = Some((Code::Input as u8, "error: no such file".to_string()));
        let failing = told(Hello { failure, scenario: String::new(), ..hello() });
        assert_eq!((failing.code, &*failing.text), (Code::Input, "error: rank 2: no such file"));
    }

    #[test]
    fn ranks_compare_scenarios_with_their_overrides_and_links() {
        let text = "
name: a
seed: 1
topology: {path: {peers: 3}}
data: {source: twonorm, samples: {per-peer: 4}}
model: {loss: logistic, regularisation: 1}
protocol: {admm: {rounds: 3, penalty: 1}}
";
        let of = |text: &str| hash(&Checked::from_text("a.yaml", text).unwrap());
        assert_eq!(of(text), of(text));
        assert_ne!(of(text), of(&text.replace("seed: 1", "seed: 2")));
        assert_ne!(of(text), of(&text.replace("path", "star")));
    }
}
