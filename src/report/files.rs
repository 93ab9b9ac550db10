//! A report in files: report.json, which holds it as data, report.html, and drawings of their own.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::html::Page;

/// The report as data: what report.html is made from.
pub const DATA: &str = "report.json";
/// The report as a page.
pub const PAGE: &str = "report.html";
/// The folder of drawings.
pub const PLOTS: &str = "plots";
/// The form of report.json that this version writes and reads.
const FORM: u32 = 1;

/// Why a report cannot be made again.
#[derive(Debug, Error)]
pub enum ReportError {
    /// There is nothing to make it from.
    #[error("{}: expected the directory of a run, a comparison or a sweep, with its {DATA}: {error}", .directory.display())]
    NoData {
        /// Which directory.
        directory: PathBuf,
        /// What the file system said.
        error: io::Error,
    },
    /// The file is not what this version writes.
    #[error("{}: expected the data of a report as this version writes it: {error}", .path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        error: String,
    },
    /// The file system said no.
    #[error("{}: {error}", .path.display())]
    Io {
        /// Which file or directory.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
}

/// report.json.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept<P> {
    form: u32,
    page: P,
}

impl Page {
    /// The page as report.json has it.
    pub fn to_json(&self) -> Vec<u8> {
        let kept = Kept { form: FORM, page: self };
        let mut json = serde_json::to_vec(&kept).expect("a page has no keys that are not text");
        json.push(b'\n');
        json
    }

    /// The page of a report.json.
    ///
    /// # Errors
    /// What [`Page::to_json`] has not written, in words.
    pub fn from_json(json: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Form {
            form: u32,
        }
        let words = |error: serde_json::Error| error.to_string();
        match serde_json::from_slice(json).map_err(words)? {
            Form { form: FORM } => {}
            Form { form } => return Err(format!("form {form} where {FORM} was expected")),
        }
        serde_json::from_slice(json).map(|kept: Kept<Self>| kept.page).map_err(words)
    }

    /// The files that show the page, by name: report.html and, if asked for, a file for each drawing
    /// in `plots/`.
    pub fn files(&self, plots: bool) -> Vec<(String, Vec<u8>)> {
        let mut files = vec![(PAGE.to_owned(), self.render().into_bytes())];
        if plots {
            let drawings = self.drawings().into_iter();
            let file = |name| format!("{PLOTS}/{name}.svg");
            files.extend(drawings.map(|(name, svg)| (file(name), svg.standalone().into_bytes())));
        }
        files
    }
}

/// Makes the report of a directory again from its report.json, and returns the files' names.
///
/// # Errors
/// A directory without a report.json, one that cannot be read, a file system that refuses.
pub fn remake(directory: &Path, plots: bool) -> Result<Vec<String>, ReportError> {
    let path = directory.join(DATA);
    let missing = |error| ReportError::NoData { directory: directory.to_path_buf(), error };
    let json = fs::read(&path).map_err(missing)?;
    let page = Page::from_json(&json).map_err(|error| ReportError::Damaged { path, error })?;
    let files = page.files(plots);
    if plots {
        let folder = directory.join(PLOTS);
        fs::create_dir_all(&folder).map_err(at(&folder))?;
    }
    for (name, content) in &files {
        // Under another name first, so that a file is whole or not there.
        let (path, draft) = (directory.join(name), directory.join(format!("{name}.draft")));
        fs::write(&draft, content).map_err(at(&draft))?;
        fs::rename(&draft, &path).map_err(at(&path))?;
    }
    Ok(files.into_iter().map(|(name, _)| name).collect())
}

/// Names the file in an error of the file system.
fn at(path: &Path) -> impl FnOnce(io::Error) -> ReportError {
    let path = path.to_path_buf();
    move |error| ReportError::Io { path, error }
}
