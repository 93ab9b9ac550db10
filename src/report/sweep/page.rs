//! The page of a sweep.

use super::SweepReport;
use crate::report::html::{Block, Page};
use crate::scenario::in_short;

impl SweepReport {
    /// The sweep as a page.
    pub fn page(&self) -> Page {
        let failed = self.failed().count();
        let points = match self.points.len() {
            1 => "1 point".to_owned(),
            count => format!("{count} points"),
        };
        let parts = [(failed, "failed"), (self.not_run(), "have not been run yet")];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let fails: String =
            parts.map(|(count, what)| format!(", {count} of which {what}")).collect();
        let mut page = Page::new(self.name.as_str()).lead(format!("A sweep of {points}{fails}."));
        if let Some(target) = self.target {
            page = page.lead(format!(
                "The target is {target} ({}), reached in the first measured round that meets it.",
                target.metric.label()
            ));
        }
        if let Some(line) = self.shared_noise() {
            page = page.lead(format!("Privacy: {line}."));
        }
        let mut result = Vec::new();
        let warnings = self.warnings();
        if !warnings.is_empty() {
            result.push(Block::Warnings(warnings));
        }
        let axes = self.axes.iter().map(|axis| {
            let values: Vec<String> = axis.values.iter().map(in_short).collect();
            let with = if axis.zipped { "; moves with the axis before it" } else { "" };
            let label = if axis.label == axis.path {
                axis.label.clone()
            } else {
                format!("{} ({})", axis.label, axis.path)
            };
            (label, format!("{}{with}", values.join(", ")))
        });
        let axes: Vec<(String, String)> = axes.collect();
        if !axes.is_empty() {
            result.push(Block::Definitions(axes));
        }
        if !self.points.is_empty() {
            result.push(Block::Table(self.table()));
        }
        page = page.section("Points", result);
        for (heading, blocks) in
            [("Along the axes", self.along_axes()), ("Convergence", self.convergence())]
        {
            if !blocks.is_empty() {
                page = page.section(heading, blocks);
            }
        }
        page
    }
}
