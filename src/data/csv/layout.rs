//! Which columns of a file are used.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use super::CsvFile;
use super::lines::Lines;
use crate::data::error::{DataError, no_column};
use crate::data::file::{MOST_PROBLEMS, Problems, unreadable};

/// Which columns are used.
pub(super) struct Layout {
    /// Number of the label's column.
    pub(super) label: usize,
    /// Numbers and names of the feature columns.
    pub(super) features: Vec<(usize, String)>,
    /// How many fields a row has.
    pub(super) fields: usize,
}

impl Layout {
    /// The columns whose values matter.
    pub(super) fn used(&self) -> impl Iterator<Item = usize> {
        self.features.iter().map(|&(column, _)| column).chain([self.label])
    }
}

impl CsvFile {
    /// Finds the columns by their names.
    pub(super) fn layout<R: Read>(
        &self,
        path: &Path,
        lines: &mut Lines<R>,
    ) -> Result<Layout, DataError> {
        let refuse = |line, messages: Vec<String>| {
            let mut problems = Problems::new(path);
            let first = messages.into_iter().take(MOST_PROBLEMS - 1);
            first.for_each(|message| problems.add(line, None, message));
            problems.finish()
        };
        let header = match &self.columns {
            Some(names) => names.iter().map(|name| name.trim_ascii().to_string()).collect(),
            None => {
                if !lines.advance().map_err(|error| unreadable(path, &error))? {
                    refuse(1, vec!["the file is empty, expected a header".to_string()])?;
                }
                let names = (0..lines.fields()).map(|column| lines.field(column).map(String::from));
                names.collect::<Result<Vec<_>, _>>().or_else(|found| {
                    let message = format!("found {found}, expected a header in UTF-8");
                    refuse(lines.line, vec![message]).map(|()| Vec::new())
                })?
            }
        };
        let (layout, messages) = self.find(&header);
        refuse(lines.line, messages)?;
        Ok(layout)
    }

    /// The layout under a header, with what is wrong about it.
    fn find(&self, header: &[String]) -> (Layout, Vec<String>) {
        let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (column, name) in header.iter().enumerate() {
            places.entry(name).or_default().push(column);
        }
        let mut messages = Vec::new();
        let mut find = |name: &str| match places.get(name).map(Vec::as_slice) {
            Some(&[column]) => Some((column, name.to_string())),
            Some(columns) => {
                let times = columns.len();
                messages.push(format!("column {name:?} is there {times} times, expected it once"));
                None
            }
            None => {
                messages.push(no_column(name, header));
                None
            }
        };
        let label = find(&self.label).map_or(0, |(column, _)| column);
        let features: Vec<_> = match &self.features {
            Some(names) => names.iter().filter_map(|name| find(name)).collect(),
            None => (0..header.len())
                .filter(|&column| header[column] != self.label)
                .filter(|&column| places[header[column].as_str()][0] == column)
                .filter_map(|column| find(&header[column]))
                .collect(),
        };
        if self.features.is_none() {
            let absent = |name: &&String| !places.contains_key(name.as_str());
            messages.extend(self.categorical.keys().filter(absent).map(|n| no_column(n, header)));
        }
        if let Some((column, _)) = features.iter().find(|(_, name)| name.is_empty()) {
            let column = column + 1;
            messages
                .push(format!("column {column} has no name, expected one or a list of features"));
        }
        if features.is_empty() && messages.is_empty() {
            messages.push(format!("no column but {:?}, expected features", self.label));
        }
        (Layout { label, features, fields: header.len() }, messages)
    }
}
