//! GraphML, as graph editors and libraries write it.
//!
//! ```xml
//! <graphml xmlns="http://graphml.graphdrawing.org/xmlns">
//!   <key id="d0" for="edge" attr.name="latency" attr.type="double"/>
//!   <graph edgedefault="undirected">
//!     <node id="alice"/>
//!     <node id="bob"/>
//!     <edge source="alice" target="bob"><data key="d0">0.002</data></edge>
//!   </graph>
//! </graphml>
//! ```
//!
//! One undirected graph, without graphs inside nodes and without hyperedges. The ids of the nodes
//! are the peers' names, unless they are 0 to n − 1: then those are their numbers. Of all data only
//! that of an edge under a key named `latency` is read.

use std::fmt::Write as _;

use roxmltree::{Document, Node};

use super::assembly::{Assembly, latency};
use super::{Fault, GraphFile, WriteError};

const ONE_WAY: &str = "is directed, and links here carry messages both ways; expected";

/// Reads a document.
pub(super) fn parse(text: &str) -> Result<GraphFile, Fault> {
    let document = Document::parse(text).map_err(|error| {
        let place = (error.pos().row as usize, error.pos().col as usize);
        // The reader repeats the place at the end of its message.
        let said = error.to_string();
        let message = said.split(" at ").next().unwrap_or(&said).to_string();
        Fault { place, field: ".".to_string(), message: format!("{message}; expected GraphML") }
    })?;
    let line_ends = text.match_indices('\n').map(|(end, _)| end).collect();
    let reader = Reader { document: &document, line_ends };
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        let message = format!("<{}>; expected <graphml>", root.tag_name().name());
        return Err(reader.fault(root, ".", message));
    }
    let graph = reader.only_graph(root)?;
    let key = root.children().find(|key| {
        key.has_tag_name_of("key")
            && key.attribute("attr.name") == Some("latency")
            && matches!(key.attribute("for"), None | Some("edge" | "all"))
    });
    let key = key.and_then(|key| key.attribute("id"));
    let mut assembly = Assembly::default();
    // Edges may stand before their nodes.
    for node in graph.children().filter(|child| child.has_tag_name_of("node")) {
        let id = reader.attribute(node, "id", "node")?;
        assembly.add(id).map_err(|message| reader.fault(node, "node", message))?;
    }
    for element in graph.children().filter(Node::is_element) {
        match element.tag_name().name() {
            "node" => {
                if let Some(inner) = element.children().find(|child| child.has_tag_name_of("graph"))
                {
                    let message = "a graph inside a node; expected nodes and edges of one level";
                    return Err(reader.fault(inner, "graph", message.to_string()));
                }
            }
            "edge" => reader.edge(element, key, &mut assembly)?,
            "hyperedge" => {
                let message = "a hyperedge; expected edges between two nodes".to_string();
                return Err(reader.fault(element, "hyperedge", message));
            }
            _ => {}
        }
    }
    let name = graph.attribute("id").map(str::to_string);
    assembly.finish(name).map_err(|message| reader.fault(graph, "graph", message))
}

/// Names without their namespace, which not every tool declares.
trait Tagged {
    fn has_tag_name_of(&self, name: &str) -> bool;
}

impl Tagged for Node<'_, '_> {
    fn has_tag_name_of(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

struct Reader<'a, 'input> {
    document: &'a Document<'input>,
    /// Where lines end: the document's own way to a place reads the text from its beginning.
    line_ends: Vec<usize>,
}

impl<'a> Reader<'a, '_> {
    /// The line of an element, from 1.
    fn line(&self, node: Node<'_, '_>) -> usize {
        self.line_ends.partition_point(|&end| end < node.range().start) + 1
    }

    fn fault(&self, node: Node<'_, '_>, field: &'static str, message: String) -> Fault {
        let place = self.document.text_pos_at(node.range().start);
        let place = (place.row as usize, place.col as usize);
        Fault { place, field: field.to_string(), message }
    }

    fn attribute(
        &self,
        node: Node<'a, '_>,
        name: &str,
        field: &'static str,
    ) -> Result<&'a str, Fault> {
        node.attribute(name).ok_or_else(|| {
            self.fault(node, field, format!("no {name}; expected <{field} {name}=\"…\">"))
        })
    }

    /// The one graph, which must be undirected.
    fn only_graph<'i>(&self, root: Node<'a, 'i>) -> Result<Node<'a, 'i>, Fault> {
        let mut graphs = root.children().filter(|child| child.has_tag_name_of("graph"));
        let Some(graph) = graphs.next() else {
            return Err(self.fault(root, ".", "no graph; expected <graph>".to_string()));
        };
        if let Some(second) = graphs.next() {
            let message = "a second graph; expected one".to_string();
            return Err(self.fault(second, "graph", message));
        }
        match graph.attribute("edgedefault") {
            Some("undirected") => Ok(graph),
            Some("directed") => {
                let message = format!("the graph {ONE_WAY} edgedefault=\"undirected\"");
                Err(self.fault(graph, "graph", message))
            }
            _ => {
                let message = "no known edgedefault; expected edgedefault=\"undirected\"";
                Err(self.fault(graph, "graph", message.to_string()))
            }
        }
    }

    fn edge(
        &self,
        edge: Node<'a, '_>,
        key: Option<&str>,
        assembly: &mut Assembly,
    ) -> Result<(), Fault> {
        if edge.attribute("directed") == Some("true") {
            let message = format!("the edge {ONE_WAY} directed=\"false\"");
            return Err(self.fault(edge, "edge", message));
        }
        let end = |name| -> Result<u32, Fault> {
            let id = self.attribute(edge, name, "edge")?;
            let unknown = || format!("there is no node {id}; expected the id of one");
            assembly.find(id).ok_or_else(|| self.fault(edge, "edge", unknown()))
        };
        let (a, b) = (end("source")?, end("target")?);
        let given = edge.children().find(|data| {
            data.has_tag_name_of("data") && key.is_some() && data.attribute("key") == key
        });
        let latency = match given {
            Some(data) => {
                let text = data.text().unwrap_or("").trim();
                let wrong = |message| self.fault(data, "latency", message);
                Some(latency(text).map_err(wrong)?)
            }
            None => None,
        };
        assembly
            .link(a, b, latency, self.line(edge))
            .map_err(|message| self.fault(edge, "edge", message))
    }
}

/// The document that reads back equal.
pub(super) fn write(file: &GraphFile) -> Result<String, WriteError> {
    let topology = &file.topology;
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text += "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
    text += "  <key id=\"latency\" for=\"edge\" attr.name=\"latency\" attr.type=\"double\"/>\n";
    let name = match &file.name {
        Some(name) => format!(" id=\"{}\"", escaped(name)?),
        None => String::new(),
    };
    text += &format!("  <graph{name} edgedefault=\"undirected\">\n");
    let ids: Vec<String> =
        topology.ids().map(|peer| escaped(&topology.name(peer))).collect::<Result<_, _>>()?;
    for id in &ids {
        text += &format!("    <node id=\"{id}\"/>\n");
    }
    for a in topology.ids() {
        for (&b, position) in topology.neighbours(a).iter().zip(topology.row(a)) {
            if a < b {
                let ends = format!("source=\"{}\" target=\"{}\"", ids[a.index()], ids[b.index()]);
                text += &match topology.link_latency(position) {
                    None => format!("    <edge {ends}/>\n"),
                    Some(latency) => {
                        let data = format!("<data key=\"latency\">{latency:?}</data>");
                        format!("    <edge {ends}>{data}</edge>\n")
                    }
                };
            }
        }
    }
    text += "  </graph>\n</graphml>\n";
    Ok(text)
}

/// A name between quotation marks.
fn escaped(name: &str) -> Result<String, WriteError> {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '&' | '<' | '>' | '"' | '\t' | '\n' | '\r' => {
                write!(text, "&#{};", u32::from(c)).expect("a string takes all text");
            }
            '\u{0}'..'\u{20}' | '\u{fffe}' | '\u{ffff}' => {
                let expected = "expected text without control characters (or another format)";
                return Err(WriteError { format: "GraphML", name: name.to_string(), expected });
            }
            _ => text.push(c),
        }
    }
    Ok(text)
}
