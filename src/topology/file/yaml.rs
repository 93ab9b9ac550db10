//! Graph files in YAML, read strictly and written so that they read back equal.
//!
//! ```yaml
//! name: triangle                  # optional
//! peers: [alice, bob, carol]      # names (strings or integers), or a count
//! links:
//!   - [alice, bob]
//!   - [bob, carol, {latency: 0.002}]   # optional: the link's least latency in seconds
//!   - [carol, alice]
//! ```
//!
//! Where `peers` is a count n, the peers are 0 to n − 1.

use std::fmt::Write as _;

use super::document::{self, Document};
use super::locate::{Step, locate};
use super::{Fault, GraphFile};

/// Reads a document.
pub(super) fn parse(text: &str) -> Result<GraphFile, Fault> {
    let document: Document = serde_path_to_error::deserialize(serde_yaml::Deserializer::from_str(
        text,
    ))
    .map_err(|error| {
        let field = error.path().to_string();
        let (place, message) = plain(error.inner());
        Fault { place, field, message }
    })?;
    document.check().map_err(|document::Fault { path, message }| {
        let place = locate(text, &path).unwrap_or((1, 1));
        Fault { place, field: Step::join(&path), message }
    })
}

/// The document that reads back equal.
pub(super) fn write(file: &GraphFile) -> String {
    let topology = &file.topology;
    let mut text = String::new();
    if let Some(name) = &file.name {
        text += &format!("name: {}\n", scalar(name));
    }
    match topology.names() {
        None => text += &format!("peers: {}\n", topology.peers()),
        Some(names) => {
            let names: Vec<String> = names.iter().map(|name| scalar(name)).collect();
            text += &format!("peers: [{}]\n", names.join(", "));
        }
    }
    text += if topology.links() == 0 { "links: []\n" } else { "links:\n" };
    for a in topology.ids() {
        for (&b, position) in topology.neighbours(a).iter().zip(topology.row(a)) {
            if a < b {
                let [a, b] = [a, b].map(|peer| match topology.names() {
                    None => peer.to_string(),
                    Some(names) => scalar(&names[peer.index()]),
                });
                text += &match topology.link_latency(position) {
                    None => format!("  - [{a}, {b}]\n"),
                    Some(latency) => format!("  - [{a}, {b}, {{latency: {latency:?}}}]\n"),
                };
            }
        }
    }
    text
}

/// Where serde_yaml found an error, and its message without the place, which we state ourselves.
fn plain(error: &serde_yaml::Error) -> ((usize, usize), String) {
    let mut message = error.to_string();
    let Some(place) = error.location() else {
        return ((1, 1), message);
    };
    if let Some(cut) = message.find(&format!(" at line {} column {}", place.line(), place.column()))
    {
        message.truncate(cut);
    }
    if let Some((path, rest)) = message.split_once(": ")
        && ["peers", "links", "name"].iter().any(|key| path.starts_with(key))
    {
        message = rest.to_string();
    }
    ((place.line(), place.column()), message)
}

/// A name as a YAML scalar that reads back as the same string, also between brackets.
fn scalar(name: &str) -> String {
    let word = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let string = |text| matches!(serde_yaml::from_str(text), Ok(serde_yaml::Value::String(_)));
    if word && string(name) {
        return name.to_string();
    }
    let mut quoted = String::from('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            _ if c.is_ascii_graphic() || c == ' ' || c.is_alphanumeric() => quoted.push(c),
            _ => write!(quoted, "\\U{:08X}", u32::from(c)).expect("a string takes all text"),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::path::Path;

    use super::super::super::{FileError, ring};
    use super::super::document::End;
    use super::super::tests::graph;
    use super::*;

    fn parse(text: &str) -> Result<GraphFile, FileError> {
        GraphFile::parse(text.as_bytes(), Path::new("x.yaml"))
    }

    #[test]
    fn counts_names_and_latencies() {
        let file = parse(
            "name: trio\npeers: [alice, 7, 'a, b']\nlinks:\n  - [7, alice]\n  \
             - ['a, b', '7', {latency: 0.25}]\n",
        )
        .unwrap();
        assert_eq!(file.name.as_deref(), Some("trio"));
        let topology = &file.topology;
        assert_eq!(topology.names().unwrap(), ["alice", "7", "a, b"]);
        let links: Vec<_> = topology.edges().map(|(a, b)| (a.0, b.0)).collect();
        assert_eq!(links, [(0, 1), (1, 2)]);
        let latencies: Vec<_> = (0..4).map(|end| topology.link_latency(end)).collect();
        assert_eq!(latencies, [None, None, Some(0.25), Some(0.25)]);
        let ring_text = "peers: 3\nlinks: [[0, 1], [1, 2], [2, 0]]";
        assert_eq!(parse(ring_text).unwrap().topology, ring(3).unwrap());
    }

    #[test]
    fn every_fault_has_its_place_and_its_remedy() {
        for (text, expected) in [
            ("", "x.yaml:1:1: .: missing field `peers`"),
            ("peers: 3", "x.yaml:1:1: .: missing field `links`"),
            (
                "peers: 2\nlinks: []\ncolour: red\n",
                "x.yaml:3:1: colour: unknown field `colour`, expected one of `name`, `peers`, `li",
            ),
            ("peers: 0\nlinks: []", "x.yaml:1:8: peers: 0 is out of range; expected 1 to 16777216"),
            (
                "peers: many\nlinks: []",
                "x.yaml:1:8: peers: invalid type: string \"many\", expected a number of peers or a \
                 list of their names",
            ),
            ("peers: []\nlinks: []", "x.yaml:1:8: peers: there is no name; expected at least one"),
            (
                "peers: [a, b, a]\nlinks: []",
                "x.yaml:1:15: peers[2]: the name a is given twice; expected different names",
            ),
            (
                "peers: 3\nlinks:\n  - [0, 1]\n  - [1, 3]\n",
                "x.yaml:4:9: links[1][1]: there is no peer 3; expected 0 to 2",
            ),
            (
                "peers: 3\nlinks: [[0, -1]]",
                "x.yaml:2:13: links[0][1]: there is no peer -1; expected 0 to 2",
            ),
            (
                "peers: [alice, bob]\nlinks: [[alcie, bob]]",
                "x.yaml:2:10: links[0][0]: there is no peer alcie; did you mean alice?",
            ),
            (
                "peers: 3\nlinks:\n- [2, 2]",
                "x.yaml:3:3: links[0]: peer 2 is linked to itself; expected two peers",
            ),
            (
                "peers: 3\nlinks:\n- [1, 2]\n- [2, 1]",
                "x.yaml:4:3: links[1]: 2 and 1 are linked by links[0] already; expected every link",
            ),
            (
                "peers: 2\nlinks:\n- [0, 1, {latency: -1}]",
                "x.yaml:3:20: links[0][2].latency: -1 is no latency; expected seconds, more than 0",
            ),
            (
                "peers: 2\nlinks:\n- [0, 1, {latency: .nan}]",
                "x.yaml:3:20: links[0][2].latency: NaN is no latency",
            ),
            (
                "peers: 2\nlinks:\n- [0, 1, {delay: 1}]",
                "x.yaml:3:11: links[0][2].delay: unknown field `delay`, expected `latency`",
            ),
            (
                "peers: 2\nlinks:\n- [0]",
                "x.yaml:3:3: links[0]: invalid length 1, expected a link: [peer, peer] or",
            ),
            ("peers: 2\nlinks:\n- [0, 1, {}, 3]", "x.yaml:3:3: links[0]: invalid length 4"),
            ("peers: 2\npeers: 2\nlinks: []", "x.yaml:1:1: .: duplicate field `peers`"),
            ("peers: [\nlinks", "x.yaml:3:1: "),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.starts_with(expected), "{text}\ngave     {error}\nexpected {expected}");
        }
        let error = GraphFile::parse(b"peers: 2\nlin\xffks", Path::new("x.yaml")).unwrap_err();
        assert!(error.to_string().starts_with("x.yaml:2:4: .: not a text"), "{error}");
        let missing = GraphFile::read(Path::new("no/such.yaml")).unwrap_err();
        assert_eq!(missing.to_string(), "no/such.yaml: cannot be read");
    }

    /// Texts that are nearly graph files: random tokens of the format.
    fn almost() -> impl Strategy<Value = String> {
        let token = prop::sample::select(vec![
            "peers", "links", "name", ":", " ", "\n", "- ", "[", "]", "{", "}", ",", "0", "1",
            "-1", "2", "latency", ".nan", "1e9", "a", "'", "\"", "&x ", "*x", "!t ", "#", "|",
            "? ", "~", "<<", "---", "\t",
        ]);
        prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = GraphFile::parse(&bytes, Path::new("x.yaml"));
        }

        #[test]
        fn broken_files_never_panic(text in almost()) {
            let _ = parse(&text);
            let _ = parse(&format!("peers: 3\nlinks:\n  - {text}"));
        }

        #[test]
        fn what_is_written_reads_back_equal(file in graph(any::<String>())) {
            let text = file.write();
            let read = parse(&text);
            prop_assert!(read.is_ok(), "{:?}\n{}", read, text);
            prop_assert_eq!(read.unwrap(), file);
        }
    }

    #[test]
    fn words_that_yaml_takes_for_something_else_are_quoted() {
        for name in
            ["true", "null", "yes", "~", "1e3", "0x1f", "-", ".inf", "<<", "NaN", "Null", ""]
        {
            assert_eq!(serde_yaml::from_str::<End>(&scalar(name)).unwrap().to_string(), name);
        }
        assert_eq!(scalar("peer-7"), "peer-7");
    }
}
