//! Stub.
#![expect(missing_docs, reason = "stub")]
#[derive(Debug)]
pub struct Record;
impl Record {
    pub fn read(_: &std::path::Path) -> Result<Self, crate::experiment::DirectoryError> {
        Ok(Self)
    }
    pub fn diverged(&self) -> bool {
        false
    }
}
