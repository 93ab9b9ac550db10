//! Stub.
#![expect(missing_docs, reason = "stub")]
use super::Table;
use super::comparison::Target;
use super::record::Record;
use crate::experiment::*;
use crate::scenario::SweepAxis;
#[derive(Debug)]
pub struct SweepPoint {
    pub values: Vec<(String, serde_json::Value)>,
    pub name: String,
    pub outcome: Result<Record, String>,
}
#[derive(Debug)]
pub struct SweepReport;
impl SweepReport {
    pub fn new(_: &str, _: Vec<SweepAxis>, _: Vec<SweepPoint>, _: Option<Target>) -> Self {
        Self
    }
    pub fn table(&self) -> Table {
        Table::new([])
    }
    pub fn terminal(&self, _: usize) -> String {
        String::new()
    }
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
    pub fn write_files(&self, _: &RunDirectory, _: bool) -> Result<(), DirectoryError> {
        Ok(())
    }
}
