//! Models of so many peers that they are in a file and not in memory.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::directory::{DirectoryError, at};

/// Numbers that are read at a time, about.
const READ_AT_A_TIME: usize = 1 << 16;
/// What a file of NumPy's begins with, and the version of its format.
const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

/// A file of numbers in NumPy's format, which is there as long as the directory of its run is unfinished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filed {
    path: PathBuf,
    /// How many numbers there are.
    numbers: usize,
}

impl Filed {
    /// Such a file that was left by an earlier process; none where it is not of so many numbers.
    pub(super) fn found(path: &Path, numbers: usize) -> Option<Self> {
        let length = fs::metadata(path).ok()?.len();
        let expected = npy_header(&[numbers]).len() + 8 * numbers;
        (length == expected as u64).then(|| Self { path: path.to_path_buf(), numbers })
    }

    /// How many numbers there are.
    pub fn numbers(&self) -> usize {
        self.numbers
    }

    /// Hands over the numbers in their order, some whole vectors of this length at a time.
    pub(super) fn read(
        &self,
        dimension: usize,
        mut take: impl FnMut(&[f64]),
    ) -> Result<(), DirectoryError> {
        let vector = dimension.max(1);
        let most = vector * READ_AT_A_TIME.div_ceil(vector);
        let mut file = BufReader::new(File::open(&self.path).map_err(at(&self.path))?);
        let mut bytes = npy_header(&[self.numbers]);
        file.read_exact(&mut bytes).map_err(at(&self.path))?;
        let mut numbers = Vec::with_capacity(most);
        let mut left = self.numbers;
        while left > 0 {
            bytes.resize(8 * most.min(left), 0);
            file.read_exact(&mut bytes).map_err(at(&self.path))?;
            numbers.clear();
            numbers.extend(bytes.as_chunks().0.iter().copied().map(f64::from_le_bytes));
            left -= numbers.len();
            take(&numbers);
        }
        Ok(())
    }
}

/// A file of numbers that come bit by bit: under another name until all are there.
pub(super) struct Filing {
    file: BufWriter<File>,
    draft: PathBuf,
    filed: Filed,
}

impl Filing {
    /// Begins a file of so many numbers.
    pub(super) fn new(
        path: PathBuf,
        draft: PathBuf,
        numbers: usize,
    ) -> Result<Self, DirectoryError> {
        let mut file = BufWriter::new(File::create(&draft).map_err(at(&draft))?);
        file.write_all(&npy_header(&[numbers])).map_err(at(&draft))?;
        Ok(Self { file, draft, filed: Filed { path, numbers } })
    }

    /// Writes the next ones.
    pub(super) fn write(&mut self, numbers: &[f64]) -> Result<(), DirectoryError> {
        write_numbers(numbers, &mut self.file).map_err(at(&self.draft))
    }

    /// Gives the file its name.
    pub(super) fn finish(mut self) -> Result<Filed, DirectoryError> {
        self.file.flush().map_err(at(&self.draft))?;
        fs::rename(&self.draft, &self.filed.path).map_err(at(&self.filed.path))?;
        Ok(self.filed)
    }
}

/// Writes numbers as they are in NumPy's files.
///
/// # Errors
/// A file that cannot be written to.
pub fn write_numbers(numbers: &[f64], to: &mut dyn Write) -> io::Result<()> {
    numbers.iter().try_for_each(|number| to.write_all(&number.to_le_bytes()))
}

/// What stands before numbers of this shape in NumPy's files.
pub fn npy_header(shape: &[usize]) -> Vec<u8> {
    let lengths: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let shape = format!("({}{comma})", lengths.join(", "));
    let mut words = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}");
    // All of it ends with a line, at a multiple of 64 bytes.
    let before = MAGIC.len() + 2;
    let length = (before + words.len() + 1).next_multiple_of(64) - before;
    words.push_str(&" ".repeat(length - words.len() - 1));
    words.push('\n');
    [MAGIC, &(length as u16).to_le_bytes(), words.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::super::directory::npy;
    use super::*;

    #[test]
    fn headers_are_those_of_numpy() {
        for shape in [&[3][..], &[0], &[2, 5], &[1, 1000, 20], &[1, 0, 7], &[12, 34, 56, 1]] {
            let values = vec![0.5; shape.iter().product()];
            let whole = npy(&values, shape);
            let mut own = npy_header(shape);
            write_numbers(&values, &mut own).unwrap();
            assert_eq!(own, whole, "{shape:?}");
        }
    }

    #[test]
    fn numbers_come_back_in_whole_vectors_and_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let [path, draft] = ["a.npy", "a.draft"].map(|name| folder.path().join(name));
        let numbers: Vec<f64> = (0..7 * 30_000).map(|k| 1.0 / f64::from(k)).collect();
        let mut filing = Filing::new(path.clone(), draft, numbers.len()).unwrap();
        numbers.chunks(1001).for_each(|some| filing.write(some).unwrap());
        let filed = filing.finish().unwrap();
        assert_eq!(Filed::found(&path, numbers.len()).as_ref(), Some(&filed));
        assert_eq!(Filed::found(&path, 5), None);
        let mut read = Vec::new();
        filed
            .read(7, |some| {
                assert_eq!(some.len() % 7, 0);
                read.extend_from_slice(some);
            })
            .unwrap();
        assert!(read == numbers);
    }
}
