//! A graph put together from names as they come, for the formats that number nobody.

use std::collections::HashMap;

use petgraph::graph::UnGraph;

use super::super::graph::{Link, Topology};
use super::super::parameter::MOST_PEERS;
use super::GraphFile;

/// Peers and links so far. Every error is what is wrong and what was expected.
#[derive(Default)]
pub(super) struct Assembly {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    links: Vec<(u32, u32, Option<f64>)>,
    /// The line of every link, lower end first.
    lines: HashMap<(u32, u32), usize>,
}

impl Assembly {
    pub(super) fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// Adds a peer.
    pub(super) fn add(&mut self, name: &str) -> Result<u32, String> {
        let number = self.names.len();
        if number == MOST_PEERS {
            return Err(format!("there are more peers; expected at most {MOST_PEERS}"));
        }
        if self.numbers.insert(name.to_string(), number as u32).is_some() {
            return Err(format!("the name {name} is given twice; expected different names"));
        }
        self.names.push(name.to_string());
        Ok(number as u32)
    }

    /// The peer of that name, who is added if there is none.
    pub(super) fn find_or_add(&mut self, name: &str) -> Result<u32, String> {
        self.find(name).map_or_else(|| self.add(name), Ok)
    }

    /// Adds a link that stands on `line`.
    pub(super) fn link(
        &mut self,
        a: u32,
        b: u32,
        latency: Option<f64>,
        line: usize,
    ) -> Result<(), String> {
        let [left, right] = [a, b].map(|peer| &self.names[peer as usize]);
        if a == b {
            return Err(format!("peer {left} is linked to itself; expected two peers"));
        }
        if let Some(first) = self.lines.insert((a.min(b), a.max(b)), line) {
            let message = format!("{left} and {right} are linked on line {first} already");
            return Err(format!("{message}; expected every link once"));
        }
        self.links.push((a, b, latency));
        Ok(())
    }

    /// The whole. Where the names are the numbers 0 to n − 1 in some order, they are the peers'
    /// own.
    pub(super) fn finish(self, name: Option<String>) -> Result<GraphFile, String> {
        let n = self.names.len();
        if n == 0 {
            return Err("there is no peer; expected at least one".to_string());
        }
        let own = |name: &String| {
            let number = name.parse::<u32>().ok().filter(|&number| (number as usize) < n)?;
            (number.to_string() == *name).then_some(number)
        };
        let numbers: Option<Vec<u32>> = self.names.iter().map(own).collect();
        let place = |peer: u32| numbers.as_ref().map_or(peer, |numbers| numbers[peer as usize]);
        let mut graph = UnGraph::with_capacity(n, self.links.len());
        for _ in 0..n {
            graph.add_node(());
        }
        for (a, b, latency) in self.links {
            graph.add_edge(place(a).into(), place(b).into(), Link { latency });
        }
        let names = numbers.is_none().then_some(self.names);
        let topology = Topology::new(&graph, names).map_err(|error| error.to_string())?;
        Ok(GraphFile { name, topology })
    }
}

/// A latency as it is written.
pub(super) fn latency(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(latency) if latency > 0.0 && latency.is_finite() => Ok(latency),
        _ => Err(format!("{text} is no latency; expected seconds, more than 0")),
    }
}
