//! Plain lists of links: what most tools write, and spreadsheets too.
//!
//! ```text
//! # a triangle and a loner
//! alice bob
//! bob carol 0.002     # optional: the link's least latency in seconds
//! carol alice
//! dave
//! ```
//!
//! Words are separated by spaces or tabs; a name is any word without `#`. Peers come in the order in
//! which they are first named, unless they are named 0 to n − 1: then those are their numbers.

use super::assembly::{Assembly, latency};
use super::{Fault, GraphFile, WriteError};

/// Reads a list of links.
pub(super) fn parse(text: &str) -> Result<GraphFile, Fault> {
    let mut assembly = Assembly::default();
    for (i, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or("");
        let words: Vec<(usize, &str)> = words(content).collect();
        let at = |word: usize, field: &'static str| {
            let column = words.get(word).map_or(1, |&(start, _)| column(content, start));
            let field = field.to_string();
            move |message: String| Fault { place: (i + 1, column), field, message }
        };
        let (a, b) = match words[..] {
            [] => continue,
            [(_, alone)] => {
                assembly.find_or_add(alone).map_err(at(0, "peer"))?;
                continue;
            }
            [(_, a), (_, b)] | [(_, a), (_, b), _] => (a, b),
            [_, _, _, ..] => {
                let message = format!("{} words; expected two peers and a latency", words.len());
                return Err(at(3, "link")(message));
            }
        };
        let a = assembly.find_or_add(a).map_err(at(0, "peer"))?;
        let b = assembly.find_or_add(b).map_err(at(1, "peer"))?;
        let latency = words.get(2).map(|&(_, word)| latency(word)).transpose();
        let latency = latency.map_err(at(2, "latency"))?;
        assembly.link(a, b, latency, i + 1).map_err(at(0, "link"))?;
    }
    let whole = |message| Fault { place: (1, 1), field: ".".to_string(), message };
    assembly.finish(None).map_err(whole)
}

/// The words of a line, each with the byte where it starts.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let start = |word: &str| word.as_ptr() as usize - line.as_ptr() as usize;
    line.split_whitespace().map(move |word| (start(word), word))
}

fn column(line: &str, byte: usize) -> usize {
    line[..byte].chars().count() + 1
}

/// The list that reads back equal, but for the graph's own name, which becomes a comment.
pub(super) fn write(file: &GraphFile) -> Result<String, WriteError> {
    let topology = &file.topology;
    let mut text = String::new();
    if let Some(name) = &file.name {
        let words: Vec<&str> = name.split_whitespace().collect();
        text += &format!("# {}\n", words.join(" "));
    }
    for name in topology.names().unwrap_or_default() {
        let mut words = name.split_whitespace();
        if words.next() != Some(name.as_str()) || name.contains('#') {
            let expected = "expected a word without # (or another format)";
            return Err(WriteError { format: "a list of links", name: name.clone(), expected });
        }
        // All names first: they keep their order.
        text += &format!("{name}\n");
    }
    for a in topology.ids() {
        if topology.degree(a) == 0 && topology.names().is_none() {
            text += &format!("{a}\n");
        }
        for (&b, position) in topology.neighbours(a).iter().zip(topology.row(a)) {
            if a < b {
                text += &format!("{} {}", topology.name(a), topology.name(b));
                text += &match topology.link_latency(position) {
                    Some(latency) => format!(" {latency:?}\n"),
                    None => "\n".to_string(),
                };
            }
        }
    }
    Ok(text)
}
