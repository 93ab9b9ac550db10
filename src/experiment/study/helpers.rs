//! A study whose runs are handed out to ranks.
//!
//! Rank 0 plans the study and has its directory. The others wait to be called, look whether they see
//! that directory, since each run writes its own files into it, and then ask for runs. If there is
//! nothing to run after all, for whatever reason, rank 0 says so.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::super::directory::{RunDirectory, STUDY};
use super::super::run::ExperimentError;
use super::Study;
use crate::network::{NetworkError, Ranks};
use crate::privacy::{Pack, WireError};

/// How long a rank looks for a directory that another machine has made: file systems on a network may
/// tell of it late.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// What rank 0 calls the others for.
enum Call {
    /// To say whether they see this file, and this in it.
    Look(String, String),
    /// To run points of a study: its file, where it lies, and whether drawings are written as files.
    Run(String, String, bool),
}

impl Pack for Call {
    fn put(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Look(file, content) => {
                0_u8.put(bytes);
                file.put(bytes);
                content.put(bytes);
            }
            Self::Run(study, place, plots) => {
                1_u8.put(bytes);
                study.put(bytes);
                place.put(bytes);
                plots.put(bytes);
            }
        }
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok(match u8::get(bytes)? {
            0 => Self::Look(Pack::get(bytes)?, Pack::get(bytes)?),
            _ => Self::Run(Pack::get(bytes)?, Pack::get(bytes)?, Pack::get(bytes)?),
        })
    }
}

/// The other ranks, as rank 0 sees them: as long as it is there, they wait to be called.
pub struct Helpers<'a> {
    ranks: &'a dyn Ranks,
    waiting: Cell<bool>,
}

impl<'a> Helpers<'a> {
    /// All ranks but the first, which this is.
    pub fn new(ranks: &'a dyn Ranks) -> Self {
        Self { ranks, waiting: Cell::new(true) }
    }

    /// The ranks, of which this is the first.
    pub fn ranks(&self) -> &'a dyn Ranks {
        self.ranks
    }

    /// Makes sure that all ranks see the study's directory.
    ///
    /// # Errors
    /// One does not, or is no more; a file system that refuses.
    pub fn see(&self, directory: &RunDirectory) -> Result<(), ExperimentError> {
        let watchword = directory.watchword()?;
        let call = Call::Look(text(&watchword.file), watchword.content.clone());
        self.ranks.from_lead(Some(call))?;
        let seen = self.ranks.all_of(&Ok::<(), String>(()))?;
        match (0..).zip(seen).find_map(|(rank, seen)| Some((rank, seen.err()?))) {
            Some((rank, message)) => Err(NetworkError::Rank { rank, message }.into()),
            None => Ok(()),
        }
    }

    /// Has the others ask for runs: the ranks, whose first shall now hand them out.
    ///
    /// # Errors
    /// A rank is no more.
    pub fn call(
        &self,
        study: &Study,
        directory: &RunDirectory,
        plots: bool,
    ) -> Result<&'a dyn Ranks, ExperimentError> {
        let call = Call::Run(study.to_yaml(), text(directory.unfinished()), plots);
        self.waiting.set(false);
        self.ranks.from_lead(Some(call))?;
        Ok(self.ranks)
    }
}

/// The others wait no longer. Where this rank fell, everything ends anyway.
impl Drop for Helpers<'_> {
    fn drop(&mut self) {
        if self.waiting.get() && !std::thread::panicking() {
            let _ = self.ranks.from_lead(None::<Call>);
        }
    }
}

/// What a rank was called for.
pub struct Called {
    /// The study.
    pub study: Study,
    /// The directory in which its runs are.
    pub place: PathBuf,
    /// Whether each drawing is written as a file of its own.
    pub plots: bool,
}

/// Waits for rank 0 to call; nothing if there is nothing to run.
///
/// # Errors
/// Rank 0 is no more, or its study cannot be read here.
pub fn called(ranks: &dyn Ranks) -> Result<Option<Called>, ExperimentError> {
    while let Some(call) = ranks.from_lead(None)? {
        match call {
            Call::Look(file, content) => {
                ranks.all_of(&look(Path::new(&file), &content, PATIENCE))?;
            }
            Call::Run(study, place, plots) => {
                let study = Study::from_text(STUDY, &study);
                let garbled = |error| NetworkError::Rank { rank: 0, message: format!("{error}") };
                let place = PathBuf::from(place);
                return Ok(Some(Called { study: study.map_err(garbled)?, place, plots }));
            }
        }
    }
    Ok(None)
}

/// Whether a file is here that another rank has written.
fn look(file: &Path, content: &str, patience: Duration) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let found = fs::read_to_string(file);
        if found.is_ok_and(|found| found == content) {
            return Ok(());
        }
        if began.elapsed() > patience {
            let place = file.parent().unwrap_or(file).display();
            return Err(format!(
                "sees nothing of {place}, where rank 0 is: expected one file system, and one working \
                 directory, for all ranks"
            ));
        }
        std::thread::sleep(PAUSE);
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_another_process_has_made_is_known_by_what_it_left_there() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(&folder.path().join("study"), false).unwrap();
        let watchword = directory.watchword().unwrap();
        let (file, content) = (watchword.file.clone(), watchword.content.clone());
        let looked = |content: &str| look(&file, content, Duration::ZERO);
        assert_eq!(looked(&content), Ok(()));
        assert!(looked("another").unwrap_err().contains("study.unfinished, where rank 0 is"));
        drop(watchword);
        assert!(looked(&content).is_err());
    }
}
