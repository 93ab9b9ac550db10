//! Where a run's files live.
//!
//! While a run is under way everything is in `DIR.unfinished`: the resolved scenario and each
//! finished repeat. When it is complete its files are written there too, and the directory gets
//! its name `DIR` in one step: whatever bears that name is whole. What was there before stays
//! untouched until then.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ndarray::{Array1, ArrayView};
use ndarray_npy::WriteNpyExt;
use thiserror::Error;

use super::repeat::RepeatResult;

/// The resolved scenario, in every run's directory.
pub const SCENARIO: &str = "scenario.yaml";
/// The scenario as it was asked for, while a run is under way: what resuming starts from.
pub const ASKED: &str = "asked.yaml";

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
    /// There is nothing to resume.
    #[error("{} is no unfinished run: there is no {}", .0.display(), .1.display())]
    NothingToResume(PathBuf, PathBuf),
    /// It exists and is not ours to replace.
    #[error("{} is not the directory of a run: it has no {SCENARIO}, and --force will not replace it", .0.display())]
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
fn at(path: &Path) -> impl FnOnce(io::Error) -> DirectoryError {
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
}

/// The path with something added to its last name.
fn beside(named: &Path, suffix: &str) -> PathBuf {
    let mut path = named.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

impl RunDirectory {
    /// A directory of the given name, which must be free unless `force` is set.
    ///
    /// # Errors
    /// A name that is taken, a file system that refuses.
    pub fn create(named: &Path, force: bool) -> Result<Self, DirectoryError> {
        let mut directory = Self::of(named);
        let Self { named, unfinished, made } = &mut directory;
        if named.file_name().is_none() {
            return Err(DirectoryError::Nameless(named.clone()));
        }
        if force {
            for replaced in [&*named, &beside(named, REPLACED)] {
                if replaced.exists() && !is_replaceable(replaced)? {
                    return Err(DirectoryError::NotARun(replaced.clone()));
                }
            }
            if unfinished.exists() {
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

    /// An unfinished run, by its name or by that of its unfinished directory.
    ///
    /// # Errors
    /// There is none.
    pub fn resume(named: &Path) -> Result<Self, DirectoryError> {
        let named = match named.extension() {
            Some(extension) if extension == &UNFINISHED[1..] => named.with_extension(""),
            _ => named.to_path_buf(),
        };
        let directory = Self::of(&named);
        let scenario = directory.unfinished.join(ASKED);
        if scenario.is_file() {
            Ok(directory)
        } else {
            Err(DirectoryError::NothingToResume(directory.named, scenario))
        }
    }

    fn of(named: &Path) -> Self {
        // Taken by its components, the path has no slash at its end, after which the suffix would
        // name a file inside.
        let named: PathBuf = named.components().collect();
        let unfinished = beside(&named, UNFINISHED);
        Self { named, unfinished, made: Vec::new() }
    }

    /// The name that the directory will have.
    pub fn named(&self) -> &Path {
        &self.named
    }

    /// Where its files are now.
    pub fn unfinished(&self) -> &Path {
        &self.unfinished
    }

    /// Writes a file whole: under another name first, then renamed.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), DirectoryError> {
        let path = self.unfinished.join(name);
        let draft = self.unfinished.join(format!("{name}.draft"));
        fs::write(&draft, content).map_err(at(&draft))?;
        fs::rename(&draft, &path).map_err(at(&path))
    }

    /// Gives up a run that failed: its directory stays only if it holds a finished repeat.
    pub fn abandon(self) {
        let kept = fs::read_dir(&self.unfinished)
            .is_ok_and(|mut files| files.any(|file| file.is_ok_and(|f| is_kept_repeat(&f))));
        if !kept {
            // Nothing of value is in it, and the run has failed already.
            let _ = fs::remove_dir_all(&self.unfinished);
            for folder in &self.made {
                // Only an empty one goes.
                let _ = fs::remove_dir(folder);
            }
        }
    }

    fn repeat_files(repeat: u32) -> (String, String) {
        (format!("repeat-{repeat}.npy"), format!("repeat-{repeat}.json"))
    }

    /// Keeps a finished repeat. The figures are written last: where they are, the states are too.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn keep(&self, result: &RepeatResult) -> Result<(), DirectoryError> {
        let (states, figures) = Self::repeat_files(result.repeat);
        self.write(&states, &npy(&result.states, &[result.states.len()]))?;
        let json = serde_json::to_vec(result).map_err(|error| DirectoryError::Io {
            path: self.unfinished.join(&figures),
            error: error.to_string(),
        })?;
        self.write(&figures, &json)
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
        let values: Array1<f64> =
            ndarray_npy::read_npy(&states).map_err(|error| damaged(&states, error.to_string()))?;
        result.states = values.to_vec();
        Ok(Some(result))
    }

    /// Takes the kept repeats away and gives the directory its name, replacing what bore it.
    ///
    /// # Errors
    /// A file system that refuses; what bore the name then still does.
    pub fn finish(self, repeats: u32) -> Result<PathBuf, DirectoryError> {
        for repeat in 0..repeats {
            let (states, figures) = Self::repeat_files(repeat);
            // The figures go first, so that half a removal is a repeat that was not kept.
            for name in [figures, states] {
                let path = self.unfinished.join(name);
                if path.exists() {
                    fs::remove_file(&path).map_err(at(&path))?;
                }
            }
        }
        let asked = self.unfinished.join(ASKED);
        fs::remove_file(&asked).map_err(at(&asked))?;
        if self.named.exists() {
            let replaced = beside(&self.named, REPLACED);
            if replaced.exists() {
                fs::remove_dir_all(&replaced).map_err(at(&replaced))?;
            }
            fs::rename(&self.named, &replaced).map_err(at(&self.named))?;
            fs::rename(&self.unfinished, &self.named).map_err(at(&self.named))?;
            fs::remove_dir_all(&replaced).map_err(at(&replaced))?;
        } else {
            fs::rename(&self.unfinished, &self.named).map_err(at(&self.named))?;
        }
        Ok(self.named)
    }
}

/// Whether a directory is a run's, or empty.
fn is_replaceable(directory: &Path) -> Result<bool, DirectoryError> {
    let mut files = fs::read_dir(directory).map_err(at(directory))?;
    Ok(files.next().is_none() || directory.join(SCENARIO).is_file())
}

fn is_kept_repeat(file: &fs::DirEntry) -> bool {
    let name = file.file_name();
    let name = name.to_string_lossy();
    name.starts_with("repeat-") && name.ends_with(".json")
}

/// Numbers in NumPy's format.
pub fn npy(values: &[f64], shape: &[usize]) -> Vec<u8> {
    let array = ArrayView::from_shape(shape, values).expect("the shape is that of the values");
    let mut bytes = Vec::new();
    array.write_npy(&mut bytes).expect("memory takes what is written to it");
    bytes
}
