//! A temporary directory with a scenario in it, in which the program is run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// The repository: the shipped scenarios and the sources.
pub(crate) const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// The name under which every workbench holds [`SMALL`].
pub(crate) const SCENARIO: &str = "small.yaml";

/// Where every workbench has fetched data: nobody else's is looked at.
pub(crate) const CACHE: &str = "cache";

/// A run of milliseconds.
pub(crate) const SMALL: &str = "\
name: small
seed: 1
topology: {ring: {peers: 5}}
data: {source: twonorm, samples: {per-peer: 8}, test_share: 0.3}
model: {loss: logistic, regularisation: 1}
protocol: {admm: {penalty: 0.3, rounds: 5}}
";

/// What the program said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A directory of its own for every case.
pub(crate) struct Workbench(TempDir);

impl Workbench {
    pub(crate) fn new() -> Self {
        let bench = Self(tempfile::tempdir().expect("a temporary directory"));
        bench.write(SCENARIO, SMALL);
        bench
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).expect("a writable directory");
    }

    /// Runs the program here. It must end by itself, and never by a panic.
    pub(crate) fn hushmesh(&self, arguments: &[&str]) -> Said {
        self.hushmesh_with(&[], arguments)
    }

    /// The same in a changed environment.
    pub(crate) fn hushmesh_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_hushmesh"))
            .current_dir(self.0.path())
            .envs(variables.iter().copied())
            .env("HUSHMESH_CACHE", self.path(CACHE))
            .args(arguments)
            .timeout(Duration::from_secs(600))
            .output()
            .expect("the program starts");
        let said = Said {
            code: output.status.code().expect("an end of its own"),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        };
        assert!(
            said.code != 101 && !said.stderr.contains("panicked at"),
            "{arguments:?}: {said:?}"
        );
        said
    }

    /// `run SCENARIO --out OUT …`, which must succeed. Returns summary.json.
    pub(crate) fn run(&self, scenario: &str, out: &str, more: &[&str]) -> Value {
        let said = self.hushmesh(&[&["run", scenario, "--out", out], more].concat());
        assert_eq!(said.code, 0, "{more:?}: {said:?}");
        self.summary(out)
    }

    /// The summary.json of a run.
    pub(crate) fn summary(&self, directory: &str) -> Value {
        let text = fs::read(self.path(directory).join("summary.json")).expect("summary.json");
        serde_json::from_slice(&text).expect("summary.json is JSON")
    }

    /// Every file of a directory with its bytes; timing.json, which nobody can foretell, without.
    pub(crate) fn files(&self, directory: &str) -> BTreeMap<String, Vec<u8>> {
        names(&self.path(directory))
            .into_iter()
            .filter(|name| self.path(directory).join(name).is_file())
            .map(|name| {
                let bytes = match name.as_str() {
                    "timing.json" => Vec::new(),
                    _ => fs::read(self.path(directory).join(&name)).expect("a readable file"),
                };
                (name, bytes)
            })
            .collect()
    }

    /// Every file below a directory, by its path there, but for timing.json.
    pub(crate) fn tree(&self, directory: &str) -> BTreeMap<String, Vec<u8>> {
        let mut files = self.tree_if_there(directory);
        files.retain(|name, _| name != "timing.json");
        files
    }

    /// The same of a directory that somebody is changing: what has gone by the time it is read is left
    /// out.
    pub(crate) fn tree_if_there(&self, directory: &str) -> BTreeMap<String, Vec<u8>> {
        let root = self.path(directory);
        let (mut files, mut folders) = (BTreeMap::new(), vec![root.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if let (Ok(bytes), Ok(name)) = (fs::read(&path), path.strip_prefix(&root)) {
                    files.insert(name.display().to_string(), bytes);
                }
            }
        }
        files
    }

    /// What lies here beside the scenario.
    pub(crate) fn litter(&self) -> Vec<String> {
        let mut names = names(self.0.path());
        names.retain(|name| name != SCENARIO);
        names
    }
}

/// The names in a directory, sorted.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a readable directory");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name in UTF-8"))
        .collect();
    names.sort();
    names
}

/// Says which files differ, rather than print their bytes.
#[track_caller]
pub(crate) fn assert_same_files(
    found: &BTreeMap<String, Vec<u8>>,
    expected: &BTreeMap<String, Vec<u8>>,
    what: &str,
) {
    assert!(found.keys().eq(expected.keys()), "{what}: {:?}", found.keys());
    for (name, bytes) in expected {
        assert!(found[name] == *bytes, "{what}: {name} differs");
    }
}
