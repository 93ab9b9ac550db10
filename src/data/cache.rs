//! Where fetched data is kept.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf, absolute};

use super::DataError;

/// The folder in which fetched sets are kept, each in a folder of its name: `HUSHMESH_CACHE` where it
/// is set, else what the platform says: `$XDG_CACHE_HOME/hushmesh` or `~/.cache/hushmesh`,
/// `~/Library/Caches/hushmesh` on macOS, `%LOCALAPPDATA%\hushmesh` on Windows. It need not exist.
///
/// # Errors
/// An environment that does not say where.
pub fn cache() -> Result<PathBuf, DataError> {
    let folder = folder(|name| env::var_os(name), env::consts::OS).ok_or(DataError::NoCache)?;
    // One that is relative means the folder in which the program was started.
    absolute(&folder).map_err(|error| super::file::unreadable(&folder, &error))
}

fn folder(variable: impl Fn(&str) -> Option<OsString>, system: &str) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = set("HUSHMESH_CACHE") {
        return Some(folder);
    }
    let caches = match system {
        "windows" => set("LOCALAPPDATA"),
        "macos" => set("HOME").map(|home| home.join("Library/Caches")),
        // The specification has it that a relative path here is ignored.
        _ => set("XDG_CACHE_HOME")
            .filter(|folder| Path::is_absolute(folder))
            .or_else(|| set("HOME").map(|home| home.join(".cache"))),
    };
    caches.map(|caches| caches.join("hushmesh"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)], system: &str) -> Option<String> {
        let value = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| OsString::from(value))
        };
        folder(value, system).map(|folder| folder.display().to_string())
    }

    #[test]
    #[cfg(unix)]
    fn each_platform_has_its_place() {
        let home = ("HOME", "/home/ada");
        for (variables, system, expected) in [
            (&[home][..], "linux", Some("/home/ada/.cache/hushmesh")),
            (&[home, ("XDG_CACHE_HOME", "/big")], "linux", Some("/big/hushmesh")),
            (&[home, ("XDG_CACHE_HOME", "relative")], "linux", Some("/home/ada/.cache/hushmesh")),
            (&[home, ("XDG_CACHE_HOME", "")], "freebsd", Some("/home/ada/.cache/hushmesh")),
            (
                &[home, ("XDG_CACHE_HOME", "/big")],
                "macos",
                Some("/home/ada/Library/Caches/hushmesh"),
            ),
            (&[home, ("LOCALAPPDATA", "/local")], "windows", Some("/local/hushmesh")),
            (&[home], "windows", None),
            (&[("HOME", "")], "linux", None),
            (&[home, ("HUSHMESH_CACHE", "here")], "linux", Some("here")),
            (&[home, ("HUSHMESH_CACHE", "")], "linux", Some("/home/ada/.cache/hushmesh")),
        ] {
            assert_eq!(found(variables, system).as_deref(), expected, "{variables:?} {system}");
        }
    }
}
