//! Where a run's files live.
//!
//! While a run is under way everything is in `DIR.unfinished`: the resolved scenario and each
//! finished repeat. When it is complete its files are written there too, then the marker
//! `complete`; what was kept for resuming goes, and the directory gets its name `DIR` in one step:
//! whatever bears that name is whole. What was there before stays untouched until then.
//!
//! A sweep or a comparison has such a directory as well, with those of its runs in `points/`.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ndarray::{Array1, ArrayView};
use ndarray_npy::{WriteNpyError, WriteNpyExt};
use thiserror::Error;

use super::filed::{Filed, Filing};
use super::repeat::RepeatResult;
use crate::measure::FILMED_PEERS;

/// The resolved scenario, in every run's directory.
pub const SCENARIO: &str = "scenario.yaml";
/// The scenario as it was asked for, while a run is under way: what resuming starts from.
pub const ASKED: &str = "asked.yaml";
/// The runs that belong together, in the directory of a sweep or a comparison.
pub const STUDY: &str = "study.yaml";
/// There when everything else is: it holds the fingerprint.
pub const COMPLETE: &str = "complete";
/// Held by the process that runs it.
const LOCK: &str = "lock";
/// Looked for by processes that run it together.
const WATCHWORD: &str = "ranks.draft";

/// What the names of kept repeats start with.
const KEPT: &str = "repeat-";
/// What the name of a file ends in while it is written.
const DRAFT: &str = ".draft";
/// What the name of a directory ends in while its run is under way.
const UNFINISHED: &str = ".unfinished";
/// What the name of a replaced directory ends in until it is gone.
const REPLACED: &str = ".replaced";

/// Why files cannot be read or written.
#[derive(Debug, Error)]
pub enum DirectoryError {
    /// It is there and nobody said to replace it.
    #[error("{} exists: choose another --out, or say --force to replace it", .0.display())]
    Exists(PathBuf),
    /// Another run is, or was, under way there.
    #[error(
        "{} holds an unfinished run: finish it with --resume {}, or say --force to start anew",
        .unfinished.display(), .named.display()
    )]
    Unfinished {
        /// The unfinished directory.
        unfinished: PathBuf,
        /// The name it would have.
        named: PathBuf,
    },
    /// It has no name of its own, as `.`, `..` and `/` have none.
    #[error("{}: expected a directory with a name of its own", .0.display())]
    Nameless(PathBuf),
    /// Another process is running it.
    #[error("{} belongs to a run that is under way", .0.display())]
    Busy(PathBuf),
    /// There is nothing to resume.
    #[error("{} is no unfinished run: there is no {}", .0.display(), .1.display())]
    NothingToResume(PathBuf, PathBuf),
    /// It exists and is not ours to replace.
    #[error("{} is not the directory of a run: it has no {COMPLETE}, and --force will not replace it", .0.display())]
    NotARun(PathBuf),
    /// The file system said no.
    #[error("{}: {error}", .path.display())]
    Io {
        /// Which file or directory.
        path: PathBuf,
        /// What it said.
        error: String,
    },
    /// A kept repeat cannot be read.
    #[error("{}: {error}: delete it and resume again", .path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        error: String,
    },
}

/// Names the file in an error of the file system.
pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> DirectoryError {
    let path = path.to_path_buf();
    move |error| DirectoryError::Io { path, error: error.to_string() }
}

/// The directory of a run that is under way.
#[derive(Debug)]
pub struct RunDirectory {
    named: PathBuf,
    unfinished: PathBuf,
    /// The folders above it that were made for it, the nearest first.
    made: Vec<PathBuf>,
    lock: Option<File>,
}

/// A file for other processes to look for, as long as this is there.
pub(super) struct Watchword {
    pub(super) file: PathBuf,
    pub(super) content: String,
}

impl Drop for Watchword {
    fn drop(&mut self) {
        // One that stays does no harm: it goes with the drafts when the run is finished.
        let _ = fs::remove_file(&self.file);
    }
}

/// The path with something added to its last name.
fn beside(named: &Path, suffix: &str) -> PathBuf {
    let mut path = named.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// The name that a run will have, by itself or by that of its unfinished directory.
fn finished_name(named: &Path) -> PathBuf {
    match named.extension() {
        Some(extension) if extension == &UNFINISHED[1..] => named.with_extension(""),
        _ => named.to_path_buf(),
    }
}

impl RunDirectory {
    /// A directory of the given name, which must be free unless `force` is set.
    ///
    /// # Errors
    /// A name that is taken, a file system that refuses.
    pub fn create(named: &Path, force: bool) -> Result<Self, DirectoryError> {
        let mut directory = Self::of(named);
        let Self { named, unfinished, made, lock } = &mut directory;
        if named.file_name().is_none() {
            return Err(DirectoryError::Nameless(named.clone()));
        }
        if force {
            // Of one that is whole the marker says so; an unfinished one shows how far it came.
            let whole: &[&str] = &[COMPLETE];
            let begun: &[&str] = &[ASKED, STUDY, COMPLETE];
            for (replaced, signs) in
                [(&*named, whole), (&*unfinished, begun), (&beside(named, REPLACED), whole)]
            {
                if replaced.exists() && !is_replaceable(replaced, signs)? {
                    return Err(DirectoryError::NotARun(replaced.clone()));
                }
            }
            if unfinished.exists() {
                drop(take_lock(unfinished)?);
                fs::remove_dir_all(&*unfinished).map_err(at(unfinished))?;
            }
        }
        made.extend(named.ancestors().skip(1).filter(|a| !a.exists()).map(Path::to_path_buf));
        if let Some(parent) = named.parent() {
            fs::create_dir_all(parent).map_err(at(parent))?;
        }
        // Whoever makes the unfinished directory has the name: of two runs at once, one gets it.
        match fs::create_dir(&*unfinished) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let (unfinished, named) = (unfinished.clone(), named.clone());
                return Err(DirectoryError::Unfinished { unfinished, named });
            }
            outcome => outcome.map_err(at(unfinished))?,
        }
        *lock = Some(take_lock(unfinished)?);
        if named.exists() && !force {
            let taken = named.clone();
            directory.abandon();
            return Err(DirectoryError::Exists(taken));
        }
        Ok(directory)
    }

    /// The first free one of `name`, `name-2`, `name-3`, … under `parent`.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn create_default(parent: &Path, name: &str) -> Result<Self, DirectoryError> {
        let stem: String = name
            .chars()
            .map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' })
            .collect();
        let stem = match stem.trim_matches(['.', '-']) {
            "" => "run",
            stem => stem,
        };
        let mut number = 1_u64;
        loop {
            let named = match number {
                1 => parent.join(stem),
                _ => parent.join(format!("{stem}-{number}")),
            };
            match Self::create(&named, false) {
                Err(DirectoryError::Exists(_) | DirectoryError::Unfinished { .. }) => {}
                settled => return settled,
            }
            number += 1;
        }
    }

    /// Where an unfinished run is, by its name or by that of its unfinished directory: only to look.
    pub fn found(named: &Path) -> PathBuf {
        Self::of(&finished_name(named)).unfinished
    }

    /// An unfinished run, by its name or by that of its unfinished directory.
    ///
    /// # Errors
    /// There is none.
    pub fn resume(named: &Path) -> Result<Self, DirectoryError> {
        let named = finished_name(named);
        let mut directory = Self::of(&named);
        let beginnings = [ASKED, STUDY, COMPLETE].map(|name| directory.unfinished.join(name));
        if beginnings.iter().any(|file| file.is_file()) {
            directory.lock = Some(take_lock(&directory.unfinished)?);
            Ok(directory)
        } else {
            let [asked, ..] = beginnings;
            Err(DirectoryError::NothingToResume(directory.named, asked))
        }
    }

    /// The directory of a run that belongs to a sweep or a comparison, which keeps others away: an
    /// unfinished one is taken up, whatever state it was left in. None if the run is complete.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn take_up(named: &Path) -> Result<Option<Self>, DirectoryError> {
        let fresh = Self::of(named);
        if named.join(COMPLETE).is_file() {
            return Ok(None);
        }
        match Self::resume(named) {
            Ok(directory) if directory.is_complete() => directory.finish().map(|_| None),
            Ok(directory) => Ok(Some(directory)),
            Err(DirectoryError::NothingToResume(..)) => {
                // It was left before anything was in it.
                if fresh.unfinished.exists() {
                    fs::remove_dir_all(&fresh.unfinished).map_err(at(&fresh.unfinished))?;
                }
                Self::create(named, false).map(Some)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether every file was written, and all that is left to do is to tidy up.
    pub fn is_complete(&self) -> bool {
        self.unfinished.join(COMPLETE).is_file()
    }

    /// Whether it is that of a sweep or a comparison.
    pub fn is_study(&self) -> bool {
        self.unfinished.join(STUDY).is_file()
    }

    fn of(named: &Path) -> Self {
        // Taken by its components, the path has no slash at its end, after which the suffix would
        // name a file inside.
        let named: PathBuf = named.components().collect();
        let unfinished = beside(&named, UNFINISHED);
        Self { named, unfinished, made: Vec::new(), lock: None }
    }

    /// The name that the directory will have.
    pub fn named(&self) -> &Path {
        &self.named
    }

    /// Where its files are now.
    pub fn unfinished(&self) -> &Path {
        &self.unfinished
    }

    /// Leaves something in it that other processes can look for, to know that they see the same one.
    pub(super) fn watchword(&self) -> Result<Watchword, DirectoryError> {
        let file = self.unfinished.join(WATCHWORD);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let content = format!("{} {}\n", std::process::id(), since.as_nanos());
        fs::write(&file, &content).map_err(at(&file))?;
        Ok(Watchword { file, content })
    }

    /// Writes a file whole: under another name first, then renamed.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), DirectoryError> {
        let path = self.unfinished.join(name);
        let draft = self.unfinished.join(format!("{name}{DRAFT}"));
        fs::write(&draft, content).map_err(at(&draft))?;
        fs::rename(&draft, &path).map_err(at(&path))
    }

    /// Writes a file whole, piece by piece: for what is large.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn write_by(
        &self,
        name: &str,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), DirectoryError> {
        let path = self.unfinished.join(name);
        let draft = self.unfinished.join(format!("{name}{DRAFT}"));
        let mut file = BufWriter::new(File::create(&draft).map_err(at(&draft))?);
        content(&mut file).and_then(|()| file.flush()).map_err(at(&draft))?;
        fs::rename(&draft, &path).map_err(at(&path))
    }

    /// Gives up a run that failed: its directory stays only if it holds a finished repeat, or a sweep.
    pub fn abandon(self) {
        let kept = fs::read_dir(&self.unfinished)
            .is_ok_and(|mut files| files.any(|file| file.is_ok_and(|f| is_kept_repeat(&f))));
        if !kept && !self.is_study() {
            // Nothing of value is in it, and the run has failed already.
            let _ = fs::remove_dir_all(&self.unfinished);
            for folder in &self.made {
                // Only an empty one goes.
                let _ = fs::remove_dir(folder);
            }
        }
    }

    fn repeat_files(repeat: u32) -> (String, String) {
        (format!("{KEPT}{repeat}.npy"), format!("{KEPT}{repeat}.json"))
    }

    /// A file for the so many numbers that are the models of a repeat's peers.
    pub(super) fn file_states(
        &self,
        repeat: u32,
        numbers: usize,
    ) -> Result<Filing, DirectoryError> {
        let (name, _) = Self::repeat_files(repeat);
        let draft = self.unfinished.join(format!("{name}{DRAFT}"));
        Filing::new(self.unfinished.join(name), draft, numbers)
    }

    /// Keeps a finished repeat. The figures are written last: where they are, the states are too. Those of
    /// many peers are let go of in memory.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn keep(&self, result: &mut RepeatResult) -> Result<(), DirectoryError> {
        let (_, figures) = Self::repeat_files(result.repeat);
        if result.filed.is_none() {
            let mut filing = self.file_states(result.repeat, result.states.len())?;
            filing.write(&result.states)?;
            let filed = filing.finish()?;
            if is_large(result) {
                result.states = Vec::new();
                result.filed = Some(filed);
            }
        }
        let result = &*result;
        self.write_by(&figures, |file| serde_json::to_writer(file, result).map_err(Into::into))
    }

    /// A repeat that was kept, bit for bit; none if it was not.
    ///
    /// # Errors
    /// A file that is damaged or cannot be read.
    pub fn kept(&self, repeat: u32) -> Result<Option<RepeatResult>, DirectoryError> {
        let (states, figures) = Self::repeat_files(repeat);
        let figures = self.unfinished.join(figures);
        if !figures.is_file() {
            return Ok(None);
        }
        let damaged = |path: &Path, error: String| DirectoryError::Damaged {
            path: path.to_path_buf(),
            error,
        };
        let json = fs::read(&figures).map_err(at(&figures))?;
        let mut result: RepeatResult =
            serde_json::from_slice(&json).map_err(|error| damaged(&figures, error.to_string()))?;
        let states = self.unfinished.join(states);
        if is_large(&result) {
            let numbers = result.degrees.len() * result.dimension;
            result.filed = Filed::found(&states, numbers);
            if result.filed.is_some() {
                return Ok(Some(result));
            }
        }
        let values: Array1<f64> =
            ndarray_npy::read_npy(&states).map_err(|error| damaged(&states, error.to_string()))?;
        result.states = values.to_vec();
        Ok(Some(result))
    }

    /// Says that every file is there; `fingerprint` is what the marker says.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn complete(&self, fingerprint: &str) -> Result<(), DirectoryError> {
        self.write(COMPLETE, format!("{fingerprint}\n").as_bytes())
    }

    /// Takes away what was kept for resuming and gives the directory its name, replacing what bore
    /// it. A run that is stopped in between is [taken up](Self::take_up) here.
    ///
    /// # Errors
    /// A file system that refuses; what bore the name then still does.
    pub fn finish(self) -> Result<PathBuf, DirectoryError> {
        let Self { named, unfinished, .. } = &self;
        for file in fs::read_dir(unfinished).map_err(at(unfinished))? {
            let file = file.map_err(at(unfinished))?;
            let name = file.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(KEPT) || name.ends_with(DRAFT) || [ASKED, LOCK].contains(&&*name) {
                fs::remove_file(file.path()).map_err(at(&file.path()))?;
            }
        }
        let replaced = beside(named, REPLACED);
        let replaces = named.exists();
        if replaces {
            if replaced.exists() {
                fs::remove_dir_all(&replaced).map_err(at(&replaced))?;
            }
            fs::rename(named, &replaced).map_err(at(named))?;
        }
        if let Err(error) = fs::rename(unfinished, named) {
            if replaces {
                // Back as it was; if that fails too, the first error is the one to tell.
                let _ = fs::rename(&replaced, named);
            }
            return Err(at(named)(error));
        }
        // Also one that was left when a run was stopped right here.
        if replaced.exists() {
            fs::remove_dir_all(&replaced).map_err(at(&replaced))?;
        }
        Ok(self.named)
    }
}

/// Takes the lock of an unfinished run, which lasts as long as the file is open: of two processes,
/// one has it. File systems without locks do without.
fn take_lock(unfinished: &Path) -> Result<File, DirectoryError> {
    let path = unfinished.join(LOCK);
    let file = File::create(&path).map_err(at(&path))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(DirectoryError::Busy(unfinished.to_path_buf())),
        _ => Ok(file),
    }
}

/// Whether a directory has one of the signs of a run's, or has nothing in it but what every process
/// leaves there first.
fn is_replaceable(directory: &Path, signs: &[&str]) -> Result<bool, DirectoryError> {
    let mut files = fs::read_dir(directory).map_err(at(directory))?;
    let is_run = signs.iter().any(|name| directory.join(name).is_file());
    let first = |file: fs::DirEntry| [LOCK, WATCHWORD].iter().any(|name| file.file_name() == *name);
    Ok(is_run || files.all(|file| file.is_ok_and(first)))
}

/// Whether a repeat has so many peers that their models are better not in memory.
fn is_large(result: &RepeatResult) -> bool {
    result.tokens.is_none() && result.degrees.len() > FILMED_PEERS
}

fn is_kept_repeat(file: &fs::DirEntry) -> bool {
    let name = file.file_name();
    let name = name.to_string_lossy();
    name.starts_with(KEPT) && name.ends_with(".json")
}

/// Numbers in NumPy's format.
pub fn npy(values: &[f64], shape: &[usize]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_npy(values, shape, &mut bytes).expect("memory takes what is written to it");
    bytes
}

/// Writes numbers in NumPy's format.
///
/// # Errors
/// A file that cannot be written to.
///
/// # Panics
/// If the shape is not that of the values.
pub fn write_npy(values: &[f64], shape: &[usize], to: &mut dyn Write) -> io::Result<()> {
    let array = ArrayView::from_shape(shape, values).expect("the shape is that of the values");
    array.write_npy(to).map_err(|error| match error {
        WriteNpyError::Io(error) => error,
        other => io::Error::other(other),
    })
}

#[cfg(test)]
mod tests {
    use super::super::repeat::StopReason;
    use super::*;
    use crate::measure::{Divergence, LocalFigures, MeasuredRow, Reference};
    use crate::privacy::{Exposure, Spent};
    use crate::units::{PeerId, Round};

    #[test]
    fn a_repeat_is_kept_bit_for_bit_whatever_its_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(&folder.path().join("run"), false).unwrap();
        let odd = f64::INFINITY;
        let mut result = RepeatResult {
            repeat: 3,
            stop_reason: StopReason::Diverged,
            rows: vec![MeasuredRow { round: Round(1), values: vec![0.1, odd, -odd, f64::NAN] }],
            exposure: Exposure {
                clear: 7,
                label: Spent::gaussian(0.1),
                record: Spent::unbounded(),
                outside: None,
            },
            epsilons: [odd].into_iter().collect(),
            labels: None,
            thinning: None,
            multiplicity: 1,
            locals: vec![LocalFigures {
                risk: f64::NAN,
                train: 0.25,
                test: odd,
                ..LocalFigures::default()
            }],
            degrees: [2].into_iter().collect(),
            samples: [5].into_iter().collect(),
            dimension: 2,
            states: vec![1e-300, f64::NAN],
            filed: None,
            optimum: None,
            clean_optimum: None,
            reference: Reference { trivial_test: f64::NAN, ..Reference::default() },
            measured_rate: None,
            sums: None,
            frames: None,
            tokens: None,
            divergence: Some(Divergence { round: Round(1), peer: PeerId(0), value: odd }),
        };
        directory.keep(&mut result).unwrap();
        let kept = directory.kept(3).unwrap().unwrap();
        assert_eq!(format!("{kept:?}"), format!("{result:?}"));
        assert_eq!(directory.kept(2).unwrap(), None);
    }

    #[test]
    fn a_run_under_way_belongs_to_one_process() {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("run");
        let directory = RunDirectory::create(&named, false).unwrap();
        directory.write(ASKED, b"").unwrap();
        assert!(matches!(RunDirectory::resume(&named), Err(DirectoryError::Busy(_))));
        assert!(matches!(RunDirectory::create(&named, true), Err(DirectoryError::Busy(_))));
        drop(directory);
        assert!(RunDirectory::resume(&named).is_ok());
    }

    #[test]
    fn force_spares_what_is_no_run() {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("run");
        let foreign = folder.path().join("run.unfinished");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join("thesis.txt"), "years of work").unwrap();
        assert!(matches!(RunDirectory::create(&named, true), Err(DirectoryError::NotARun(_))));
        assert!(foreign.join("thesis.txt").is_file());
        fs::remove_dir_all(&foreign).unwrap();
        fs::create_dir(&named).unwrap();
        for mine in ["thesis.txt", SCENARIO, STUDY] {
            fs::write(named.join(mine), "years of work").unwrap();
        }
        assert!(matches!(RunDirectory::create(&named, true), Err(DirectoryError::NotARun(_))));
        assert!(named.join("thesis.txt").is_file());
    }
}
