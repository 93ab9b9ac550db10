//! The folder in which a fetch works before anything is in its place.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process;

use super::{FetchError, unwritten};

const DRAFT: &str = ".draft-";
const LOCK: &str = ".lock";

/// A folder inside the cache that is removed when the fetch ends, and by the next fetch where this one
/// was interrupted.
pub(super) struct Draft {
    cache: PathBuf,
    path: PathBuf,
    /// Held until the end; the system lets go of it when the process ends in whatever way.
    _lock: File,
}

impl Draft {
    /// Waits until no other fetch works on the cache.
    pub(super) fn begin(cache: &Path, say: &dyn Fn(&str)) -> Result<Self, FetchError> {
        let written =
            |path: &Path, result: io::Result<()>| result.map_err(|error| unwritten(path, &error));
        written(cache, fs::create_dir_all(cache))?;
        let path = cache.join(LOCK);
        let lock = File::options().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(|error| unwritten(&path, &error))?;
        let held = match lock.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => {
                say("waiting for another fetch");
                lock.lock()
            }
            Err(TryLockError::Error(error)) => Err(error),
        };
        let alone = match held {
            Ok(()) => true,
            // Some file systems have no locks: then the draft of another may be one at work.
            Err(error) if error.kind() == ErrorKind::Unsupported => false,
            Err(error) => return Err(unwritten(&path, &error)),
        };
        if alone {
            written(cache, sweep(cache))?;
        }
        let path = cache.join(format!("{DRAFT}{}", process::id()));
        written(&path, fs::create_dir(&path))?;
        Ok(Self { cache: cache.to_path_buf(), path, _lock: lock })
    }

    /// A new folder in the draft.
    pub(super) fn folder(&self, name: &str) -> Result<PathBuf, FetchError> {
        let folder = self.path.join(name);
        fs::create_dir(&folder).map_err(|error| unwritten(&folder, &error))?;
        Ok(folder)
    }

    /// Moves a finished folder to its place in the cache; what is in that place goes.
    pub(super) fn install(&self, name: &str) -> Result<(), FetchError> {
        let place = self.cache.join(name);
        let moved = || {
            if fs::symlink_metadata(&place).is_ok() {
                fs::rename(&place, self.path.join(format!("{name}-before")))?;
            }
            fs::rename(self.path.join(name), &place)
        };
        moved().map_err(|error| unwritten(&place, &error))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // What stays behind, the next fetch removes.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what interrupted fetches left behind.
fn sweep(cache: &Path) -> io::Result<()> {
    for entry in fs::read_dir(cache)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(DRAFT) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
