//! Graph files: a topology in YAML, as a plain list of links, or in GraphML. The extension of the
//! file says which; the formats are described in the modules that read them.

mod assembly;
mod document;
mod edge_list;
mod graphml;
mod locate;
#[cfg(test)]
mod tests;
mod yaml;

use std::path::{Path, PathBuf};
use std::{fs, io};

use thiserror::Error;

use super::graph::Topology;

/// Why a graph file cannot be used.
#[derive(Debug, Error)]
pub enum FileError {
    /// It cannot be read at all.
    #[error("{}: cannot be read", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Its name does not say what it is.
    #[error(
        "{}: expected .yaml or .yml, .txt or .edges (a list of links), or .graphml",
        file.display()
    )]
    Extension {
        /// The file.
        file: PathBuf,
    },
    /// Something in it is wrong.
    #[error("{}:{line}:{column}: {field}: {message}", file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The place in the document, such as `links[3][0]` or `edge`; `.` is the whole.
        field: String,
        /// What is wrong and what was expected.
        message: String,
    },
}

/// Why a graph cannot be written in a format.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{format} cannot hold the name {name:?}; {expected}")]
pub struct WriteError {
    format: &'static str,
    name: String,
    expected: &'static str,
}

/// How a graph file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Our own, `.yaml` or `.yml`.
    Yaml,
    /// A link per line, `.txt` or `.edges`.
    EdgeList,
    /// GraphML, `.graphml`.
    GraphMl,
}

impl Format {
    /// The format that the extension of `file` stands for.
    ///
    /// # Errors
    /// [`FileError::Extension`].
    pub fn of(file: &Path) -> Result<Self, FileError> {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("yaml" | "yml") => Ok(Self::Yaml),
            Some("txt" | "edges") => Ok(Self::EdgeList),
            Some("graphml") => Ok(Self::GraphMl),
            _ => Err(FileError::Extension { file: file.to_path_buf() }),
        }
    }
}

/// Something wrong in the text of a file.
struct Fault {
    /// The line and column, from 1.
    place: (usize, usize),
    /// What it is about.
    field: String,
    /// What is wrong and what was expected.
    message: String,
}

/// What a graph file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphFile {
    /// Its name for itself.
    pub name: Option<String>,
    /// The graph, not necessarily connected.
    pub topology: Topology,
}

impl GraphFile {
    /// Reads a graph file in the format of its extension.
    ///
    /// # Errors
    /// [`FileError`], with the line and column of the first thing that is wrong.
    pub fn read(file: &Path) -> Result<Self, FileError> {
        Format::of(file)?;
        let bytes = fs::read(file)
            .map_err(|source| FileError::Read { file: file.to_path_buf(), source })?;
        Self::parse(&bytes, file)
    }

    /// Reads the text of a graph file; `file` is its name in errors and gives the format.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(bytes: &[u8], file: &Path) -> Result<Self, FileError> {
        let (parse, kind): (fn(&str) -> _, _) = match Format::of(file)? {
            Format::Yaml => (yaml::parse, "a graph file in YAML"),
            Format::EdgeList => (edge_list::parse, "a list of links"),
            Format::GraphMl => (graphml::parse, "GraphML"),
        };
        let read = std::str::from_utf8(bytes).map_err(|error| {
            let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
            let message = format!("not a text; expected {kind} (UTF-8)");
            Fault { place: (line, column), field: ".".to_string(), message }
        });
        read.and_then(parse).map_err(|Fault { place: (line, column), field, message }| {
            FileError::Content { file: file.to_path_buf(), line, column, field, message }
        })
    }

    /// The YAML text of a graph file that reads back equal.
    pub fn write(&self) -> String {
        yaml::write(self)
    }

    /// The text of a graph file that reads back equal, but for a list of links, which has no place
    /// for the graph's own name.
    ///
    /// # Errors
    /// A name that the format cannot hold.
    pub fn write_as(&self, format: Format) -> Result<String, WriteError> {
        match format {
            Format::Yaml => Ok(yaml::write(self)),
            Format::EdgeList => edge_list::write(self),
            Format::GraphMl => graphml::write(self),
        }
    }
}
