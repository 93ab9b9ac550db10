//! Commands as one of several processes that a launcher has started.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};

use super::exit::{Code, Failure};
use super::run::{on_engine, on_interrupt, place, refuse_engine, refuse_target, run_one, tidy};
use super::study::{Planned, carry_out_study};
use super::{RunArguments, study};
use crate::data::sha256;
use crate::experiment::{
    ASKED, COMPLETE, ExperimentError, Leader, Options, RunDirectory, STUDY, common_workers, follow,
};
use crate::learn::kernel;
use crate::network::{EngineKind, NetworkError, Ranks};
use crate::privacy::pack_fields;
use crate::scenario::{Checked, Graph, Sweep, to_yaml};

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

/// What ranks tell each other before they begin.
struct Hello {
    version: String,
    /// A hash of what it has read, such as the scenario, overrides included, and the files that it names;
    /// empty where there is none.
    scenario: String,
    kernel: String,
    /// Why this rank cannot begin: an exit code and a text.
    failure: Option<(u8, String)>,
}

pack_fields!(Hello { version, scenario, kernel, failure });

impl Hello {
    fn new<T>(
        version: &str,
        loaded: &Result<T, Failure>,
        identity: impl FnOnce(&T) -> String,
    ) -> Self {
        Self {
            version: version.to_string(),
            scenario: loaded.as_ref().map(|own| hashed(&identity(own))).unwrap_or_default(),
            kernel: kernel::name().to_string(),
            failure: loaded.as_ref().err().map(|error| (error.code as u8, error.text.clone())),
        }
    }
}

/// What two ranks must have in common: the scenario with every default and override, and every byte of the
/// files that it names. A file that cannot be read says so elsewhere.
pub(super) fn hash(checked: &Checked) -> String {
    let mut hash = Sha256::new();
    hash.update(to_yaml(checked.scenario()));
    for path in checked.scenario().files() {
        let read = File::open(checked.base().join(path)).and_then(sha256);
        hash.update(read.unwrap_or_default());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hashed(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Does something on every rank. Only the first says what went wrong.
pub(super) fn spoken_by_first(
    ranks: &dyn Ranks,
    act: impl FnOnce() -> Result<Code, Failure>,
) -> Result<Code, Failure> {
    let outcome = act();
    match ranks.rank() {
        0 => outcome,
        // A launcher that sees one process fail ends the others: rank 0 must have said why by then.
        _ => Ok(outcome.unwrap_or(Code::Done)),
    }
}

/// What all ranks have read, if it is the same, and all can begin with it.
pub(super) fn agreed<T>(
    ranks: &dyn Ranks,
    loaded: Result<T, Failure>,
    identity: impl FnOnce(&T) -> String,
) -> Result<T, Failure> {
    agreed_as(env!("CARGO_PKG_VERSION"), ranks, loaded, identity)
}

/// The same of a program of this version.
fn agreed_as<T>(
    version: &str,
    ranks: &dyn Ranks,
    loaded: Result<T, Failure>,
    identity: impl FnOnce(&T) -> String,
) -> Result<T, Failure> {
    let all = ranks.all_of(&Hello::new(version, &loaded, identity)).map_err(lost)?;
    compare(&all)?;
    if all.iter().any(|rank| rank.kernel != all[0].kernel) {
        kernel::agree_on(all.iter().map(|rank| &*rank.kernel));
    }
    loaded
}

/// What the arguments ask for.
enum Asked {
    /// One run.
    Run(Box<Checked>),
    /// A sweep, and the hash of its first point.
    Sweep(Box<Sweep>, String),
    /// To go on with the sweep or comparison of this name.
    Study(PathBuf),
    /// To tidy up after a run of this name that is complete.
    Whole(PathBuf),
}

impl Asked {
    /// What ranks that do it together have in common.
    fn identity(&self) -> String {
        match self {
            Self::Run(checked) => hash(checked),
            Self::Sweep(sweep, first) => format!("{}{first}", to_yaml(&sweep.axes())),
            Self::Study(named) => study_there(named),
            Self::Whole(_) => String::new(),
        }
    }
}

/// The file of an unfinished study, whatever it says; nothing where there is none.
pub(super) fn study_there(named: &Path) -> String {
    fs::read_to_string(RunDirectory::found(named).join(STUDY)).unwrap_or_default()
}

/// Does what the arguments ask for together with the other ranks.
pub(super) fn run(arguments: &RunArguments, ranks: &dyn Ranks) -> Result<Code, Failure> {
    let on_all = |plan: &dyn Fn() -> Result<Planned, Failure>| {
        carry_out_study(plan, &arguments.effort(), Some(ranks))
    };
    // Where ranks cannot make their parts of the graph alone, rank 0 makes all of it.
    let graph = if ranks.rank() == 0 { Graph::Led } else { Graph::Counted };
    spoken_by_first(ranks, || match agreed(ranks, load(arguments, graph), Asked::identity)? {
        Asked::Run(checked) => share(arguments, *checked, ranks),
        Asked::Sweep(sweep, _) => on_all(&|| study::sweep(arguments, &sweep)),
        Asked::Study(named) => on_all(&|| study::resumed(RunDirectory::resume(&named)?)),
        Asked::Whole(_) if ranks.rank() > 0 => Ok(Code::Done),
        Asked::Whole(named) => {
            tidy(RunDirectory::resume(&named)?, arguments.quiet || arguments.json)
        }
    })
}

/// Runs one scenario, each rank its share of the peers.
fn share(
    arguments: &RunArguments,
    mut checked: Checked,
    ranks: &dyn Ranks,
) -> Result<Code, Failure> {
    let options = Options { workers: arguments.workers.map(usize::from) };
    let workers = common_workers(ranks, options, checked.scenario()).map_err(lost)?;
    if ranks.rank() != 0 {
        follow(ranks, workers, &checked, &on_interrupt())?;
        return Ok(Code::Done);
    }
    let leader = Leader::new(ranks, workers).with_graph(checked.let_go_of_graph());
    let directory = match &arguments.resume {
        Some(named) => RunDirectory::resume(named)?,
        None => place(arguments, &checked.scenario().name)?,
    };
    run_one(arguments, &checked, directory, Some(&leader))
}

/// Reads what the arguments name.
fn load(arguments: &RunArguments, graph: Graph) -> Result<Asked, Failure> {
    let checked = match &arguments.resume {
        Some(named) => {
            let place = RunDirectory::found(named);
            if place.join(COMPLETE).is_file() {
                return Ok(Asked::Whole(named.clone()));
            }
            if place.join(STUDY).is_file() {
                refuse_engine(arguments)?;
                return Ok(Asked::Study(named.clone()));
            }
            on_engine(arguments.engine, Checked::load_with(&place.join(ASKED), &[], graph)?)?
        }
        None => {
            let path = arguments.scenario.as_deref().unwrap_or(Path::new(""));
            let sweep = Sweep::load_with(path, &arguments.overrides, &arguments.sweeps, graph)?;
            let Some(first) = sweep.points().first() else {
                return Err(Failure::arguments("the sweep has no point".to_string()));
            };
            let first = on_engine(arguments.engine, sweep.checked(first)?)?;
            if !sweep.is_single() {
                return Ok(Asked::Sweep(Box::new(sweep), hash(&first)));
            }
            refuse_target(arguments)?;
            first
        }
    };
    if checked.scenario().network.engine == EngineKind::Threads {
        return Err(Failure {
            code: Code::Scenario,
            text: "error: network.engine: expected simulated on several ranks, found threads, which run in \
                   one process"
                .to_string(),
        });
    }
    Ok(Asked::Run(Box::new(checked)))
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
                    "error: rank {rank} has read another scenario, or another file of a graph or of samples, \
                     than rank 0: expected the same files on all ranks"
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
    use crate::network::InProcess;

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

    /// Through what ranks say to each other when they start, in bytes.
    #[test]
    fn a_rank_of_another_version_is_refused_before_anything_begins() {
        let ends = InProcess::run(3, |ranks| {
            let version = if ranks.rank() == 2 { "0.0.9" } else { "0.1.0" };
            agreed_as(version, ranks, Ok("the same"), |read| read.to_string())
        });
        for end in ends {
            let failure = end.unwrap_err();
            assert_eq!(failure.code, Code::Arguments);
            let expected =
                "error: rank 2 is version 0.0.9 of this program, rank 0 is version 0.1.0";
            assert!(failure.text.starts_with(expected), "{}", failure.text);
        }
        let same = InProcess::run(2, |ranks| agreed(ranks, Ok(7), |read| read.to_string()));
        assert!(same.into_iter().all(|end| end.unwrap() == 7));
    }

    #[test]
    fn ranks_compare_scenarios_with_their_overrides_and_files() {
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

        let folder = tempfile::tempdir().unwrap();
        let files = "
name: a
seed: 1
topology: {file: links.txt}
data: {source: {csv: {path: rows.csv, label: y}}}
model: {loss: logistic, regularisation: 1}
protocol: {admm: {rounds: 3, penalty: 1}}
";
        let with = |links: &str, rows: &str| {
            fs::write(folder.path().join("links.txt"), links).unwrap();
            fs::write(folder.path().join("rows.csv"), rows).unwrap();
            hash(&Checked::from_text_in("a.yaml", files, folder.path()).unwrap())
        };
        let rows = "x,y\n1,0\n2,1\n3,0\n";
        assert_eq!(with("a b\nb c\n", rows), with("a b\nb c\n", rows));
        assert_ne!(with("a b\nb c\n", rows), with("a b\na c\n", rows), "another graph");
        let other = rows.replace("3,0", "3,1");
        assert_ne!(with("a b\nb c\n", rows), with("a b\nb c\n", &other), "other samples");
    }
}
