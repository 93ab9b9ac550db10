//! Files, plain or compressed, and what is wrong in them.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::error::{DataError, FileProblem};

/// How many problems are listed before giving up.
pub(super) const MOST_PROBLEMS: usize = 10;

/// The most columns that the rows of a file may have.
pub(super) const MOST_COLUMNS: usize = 1_000_000;

/// How a gzip file begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Opens a file for reading. One that begins as a gzip file is decompressed on the way, whatever
/// its name is.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read>, DataError> {
    let inner = || -> io::Result<Box<dyn Read>> {
        let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
        let mut start = Vec::new();
        file.by_ref().take(GZIP.len() as u64).read_to_end(&mut start)?;
        let compressed = start == GZIP;
        let whole = Cursor::new(start).chain(file);
        Ok(if compressed { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) })
    };
    inner().map_err(|error| unreadable(path, &error))
}

/// The next bytes of a file, as many as there are up to `most`.
pub(super) fn read_up_to(
    path: &Path,
    input: &mut dyn Read,
    most: usize,
) -> Result<Vec<u8>, DataError> {
    let mut bytes = Vec::new();
    let read = input.take(most as u64).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(path, &error))?;
    Ok(bytes)
}

/// All that is left of a file, which should be `count` bytes. A compressed one has its checksum
/// compared.
pub(super) fn read_rest(
    path: &Path,
    input: &mut dyn Read,
    count: usize,
) -> Result<Vec<u8>, DataError> {
    let bytes = read_up_to(path, input, count)?;
    let more = !read_up_to(path, input, 1)?.is_empty();
    if bytes.len() == count && !more {
        return Ok(bytes);
    }
    let found = if more { "more".to_string() } else { bytes.len().to_string() };
    Err(malformed(path, format!("found {found} bytes of data, expected {count}")))
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> DataError {
    DataError::Unreadable { path: path.to_path_buf(), reason: error.to_string() }
}

/// A file with one thing wrong in it that belongs to no line.
pub(super) fn malformed(path: &Path, message: impl Into<String>) -> DataError {
    let problem = FileProblem { line: None, column: None, message: message.into() };
    DataError::Malformed { path: path.to_path_buf(), problems: vec![problem], gave_up: false }
}

/// The first problems of a file, in order.
pub(super) struct Problems {
    path: PathBuf,
    found: Vec<FileProblem>,
}

impl Problems {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), found: Vec::new() }
    }

    pub(super) fn add(&mut self, line: u64, column: Option<&str>, message: impl Into<String>) {
        let column = column.map(String::from);
        self.found.push(FileProblem { line: Some(line), column, message: message.into() });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether there is no point in reading on.
    pub(super) fn enough(&self) -> bool {
        self.found.len() >= MOST_PROBLEMS
    }

    /// An error where there is a problem.
    pub(super) fn finish(mut self) -> Result<(), DataError> {
        if self.is_empty() {
            return Ok(());
        }
        let gave_up = self.enough();
        self.found.truncate(MOST_PROBLEMS);
        Err(DataError::Malformed { path: self.path, problems: self.found, gave_up })
    }
}

#[cfg(test)]
pub(super) mod testing {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    /// The bytes of a gzip file.
    pub(crate) fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes.as_ref()).unwrap();
        encoder.finish().unwrap()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::testing::gzip;
    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<u8>, DataError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        let mut input = open(&path)?;
        read_up_to(&path, &mut input, usize::MAX)
    }

    proptest! {
        #[test]
        fn plain_and_compressed_files_give_the_same_bytes(
            bytes in prop::collection::vec(any::<u8>(), 0..3_000),
        ) {
            prop_assert_eq!(&read(&gzip(&bytes)).unwrap(), &bytes);
            if !bytes.starts_with(&GZIP) {
                prop_assert_eq!(&read(&bytes).unwrap(), &bytes);
            }
        }

        #[test]
        fn damage_is_an_error(
            bytes in prop::collection::vec(any::<u8>(), 100..3_000),
            cut in 0.0..1.0,
            place in 0.1..1.0,
            flip in 0_u32..8,
        ) {
            let whole = gzip(&bytes);
            let short = 2 + (cut * (whole.len() - 2) as f64) as usize;
            prop_assert!(read(&whole[..short]).is_err(), "cut at {}", short);
            // Behind the header of ten bytes everything matters.
            let mut flipped = whole.clone();
            flipped[10 + (place * (whole.len() - 11) as f64) as usize] ^= 1 << flip;
            prop_assert!(read(&flipped).map_or(true, |read| read == bytes));
        }
    }

    #[test]
    fn members_that_follow_one_another_are_one_file() {
        assert_eq!(read(&[gzip("ab"), gzip("c")].concat()).unwrap(), b"abc");
        assert!(read(&[gzip("ab"), b"c".to_vec()].concat()).is_err());
    }
}
