//! Stub.
#![expect(missing_docs, reason = "stub")]
use super::Table;
use super::record::Record;
use crate::experiment::*;
#[derive(Debug)]
pub struct Target;
impl Target {
    pub fn parse(_: &str) -> Result<Self, String> {
        Ok(Self)
    }
}
#[derive(Debug)]
pub struct Comparison;
impl Comparison {
    pub fn new(_: Vec<(String, Record)>, _: Option<Target>, _: Vec<String>) -> Self {
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
