//! The records of a file, and where they begin.

use std::io::{self, Read};

use ::csv::{ByteRecord, Reader, ReaderBuilder, Terminator};

/// The records of a file with the lines on which they begin.
pub(super) struct Lines<R> {
    reader: Reader<io::Chain<R, &'static [u8]>>,
    record: ByteRecord,
    /// The line on which the present record begins.
    pub(super) line: u64,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R, delimiter: u8) -> Self {
        // With a line feed as the only terminator (a carriage return is trimmed like a space), and
        // one at the very end, the reader's line count after a record tells where it began, however
        // many blank lines it skipped before.
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(input.chain(&b"\n"[..]));
        Self { reader, record: ByteRecord::new(), line: 1 }
    }

    /// Reads the next record that is not blank; false at the end.
    pub(super) fn advance(&mut self) -> io::Result<bool> {
        loop {
            let before = self.reader.position().line();
            if !self.reader.read_byte_record(&mut self.record).map_err(io::Error::from)? {
                return Ok(false);
            }
            let inside = self.record.as_slice().iter().filter(|&&byte| byte == b'\n').count();
            // A quote that is never closed swallows the last line feed: hence the maximum.
            let after = self.reader.position().line();
            self.line = after.saturating_sub(1 + inside as u64).max(before);
            if self.record.len() > 1
                || self.record.iter().any(|field| !field.trim_ascii().is_empty())
            {
                return Ok(true);
            }
        }
    }

    /// How many fields the record has.
    pub(super) fn fields(&self) -> usize {
        self.record.len()
    }

    /// The text of a field, or what is there instead.
    pub(super) fn field(&self, column: usize) -> Result<&str, String> {
        let text = str::from_utf8(self.record[column].trim_ascii());
        text.map_err(|_| "bytes that are not UTF-8".to_string())
    }
}
