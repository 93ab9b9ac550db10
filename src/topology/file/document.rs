//! A graph file as it is written, and the checks that only the whole document allows.

use std::collections::HashMap;
use std::fmt;

use petgraph::graph::UnGraph;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::super::graph::{Link, Topology};
use super::super::parameter;
use super::GraphFile;
use super::locate::Step;

/// Something wrong that only the document as a whole shows.
pub(super) struct Fault {
    pub(super) path: Vec<Step>,
    pub(super) message: String,
}

impl Fault {
    fn at<T>(path: impl Into<Vec<Step>>, message: impl Into<String>) -> Result<T, Self> {
        Err(Self { path: path.into(), message: message.into() })
    }
}

/// A file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    name: Option<String>,
    peers: Peers,
    links: Vec<Entry>,
}

enum Peers {
    Count(u64),
    Names(Vec<End>),
}

/// A peer, as a name or as a number.
pub(super) enum End {
    Number(i128),
    Name(String),
}

struct Entry {
    ends: [End; 2],
    attributes: Attributes,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attributes {
    latency: Option<f64>,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

impl Document {
    /// Turns what was written into a graph, or says what is wrong first.
    pub(super) fn check(self) -> Result<GraphFile, Fault> {
        let roster = Roster::new(&self.peers)?;
        let mut graph = UnGraph::with_capacity(roster.count, self.links.len());
        for _ in 0..roster.count {
            graph.add_node(());
        }
        let mut first_at: HashMap<(u32, u32), usize> = HashMap::with_capacity(self.links.len());
        for (i, Entry { ends, attributes: Attributes { latency } }) in self.links.iter().enumerate()
        {
            let (links, link) = (Step::Key("links"), Step::Index(i));
            let find = |side: usize| {
                roster
                    .find(&ends[side])
                    .or_else(|unknown| Fault::at([links, link, Step::Index(side)], unknown))
            };
            let (a, b) = (find(0)?, find(1)?);
            let [left, right] = ends;
            if a == b {
                let message = format!("peer {left} is linked to itself; expected two peers");
                return Fault::at([links, link], message);
            }
            if let Some(first) = first_at.insert((a.min(b), a.max(b)), i) {
                let message = format!("{left} and {right} are linked by links[{first}] already");
                return Fault::at([links, link], format!("{message}; expected every link once"));
            }
            if let &Some(latency) = latency
                && !(latency > 0.0 && latency.is_finite())
            {
                let message = format!("{latency} is no latency; expected seconds, more than 0");
                return Fault::at([links, link, Step::Index(2), Step::Key("latency")], message);
            }
            graph.add_edge(a.into(), b.into(), Link { latency: *latency });
        }
        Topology::new(&graph, roster.names)
            .map(|topology| GraphFile { name: self.name, topology })
            .or_else(|error| Fault::at([], error.to_string()))
    }
}

/// Who is there.
struct Roster {
    count: usize,
    names: Option<Vec<String>>,
    numbers: HashMap<String, u32>,
}

impl Roster {
    fn new(peers: &Peers) -> Result<Self, Fault> {
        let section = Step::Key("peers");
        match peers {
            &Peers::Count(count) => {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                match parameter::count("peers", count) {
                    None => Ok(Self { count, names: None, numbers: HashMap::new() }),
                    Some((_, message)) => Fault::at([section], message),
                }
            }
            Peers::Names(names) if names.is_empty() => {
                Fault::at([section], "there is no name; expected at least one peer")
            }
            Peers::Names(names) => {
                let names: Vec<String> = names.iter().map(End::to_string).collect();
                let mut numbers = HashMap::with_capacity(names.len());
                for (i, name) in names.iter().enumerate() {
                    if numbers.insert(name.clone(), i as u32).is_some() {
                        let message = format!("the name {name} is given twice");
                        let message = format!("{message}; expected different names");
                        return Fault::at([section, Step::Index(i)], message);
                    }
                }
                Ok(Self { count: names.len(), names: Some(names), numbers })
            }
        }
    }

    /// The index of a peer, or the message that there is none and what was expected.
    fn find(&self, end: &End) -> Result<u32, String> {
        let known = match (end, &self.names) {
            (&End::Number(number), None) => {
                u32::try_from(number).ok().filter(|&number| (number as usize) < self.count)
            }
            (End::Name(_), None) => None,
            (end, Some(_)) => self.numbers.get(&end.to_string()).copied(),
        };
        known.ok_or_else(|| {
            let expected = match &self.names {
                None => format!("expected 0 to {}", self.count - 1),
                Some(names) => nearest(&end.to_string(), names),
            };
            format!("there is no peer {end}; {expected}")
        })
    }
}

/// A hint at the name most like the one that is not there.
fn nearest(wanted: &str, names: &[String]) -> String {
    let best = names
        .iter()
        .map(|name| (strsim::jaro_winkler(wanted, name), name))
        .reduce(|best, next| if next.0 > best.0 { next } else { best });
    match best {
        Some((likeness, name)) if likeness > 0.7 => format!("did you mean {name}?"),
        _ => "expected one of the names under peers".to_string(),
    }
}

impl<'de> Deserialize<'de> for Peers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PeersVisitor;
        impl<'de> Visitor<'de> for PeersVisitor {
            type Value = Peers;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of peers or a list of their names")
            }
            fn visit_u64<E>(self, count: u64) -> Result<Peers, E> {
                Ok(Peers::Count(count))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Peers, A::Error> {
                let mut all = Vec::new();
                while let Some(name) = names.next_element()? {
                    all.push(name);
                }
                Ok(Peers::Names(all))
            }
        }
        deserializer.deserialize_any(PeersVisitor)
    }
}

impl<'de> Deserialize<'de> for End {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EndVisitor;
        impl Visitor<'_> for EndVisitor {
            type Value = End;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a peer: its name (a string) or its number")
            }
            fn visit_u64<E>(self, number: u64) -> Result<End, E> {
                Ok(End::Number(number.into()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<End, E> {
                Ok(End::Number(number.into()))
            }
            fn visit_str<E>(self, name: &str) -> Result<End, E> {
                Ok(End::Name(name.to_string()))
            }
        }
        deserializer.deserialize_any(EndVisitor)
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntryVisitor;
        impl<'de> Visitor<'de> for EntryVisitor {
            type Value = Entry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a link: [peer, peer] or [peer, peer, {latency: seconds}]")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut link: A) -> Result<Entry, A::Error> {
                use serde::de::Error as _;
                let short = |length| A::Error::invalid_length(length, &self);
                let a = link.next_element()?.ok_or_else(|| short(0))?;
                let b = link.next_element()?.ok_or_else(|| short(1))?;
                let attributes = link.next_element()?.unwrap_or_default();
                match link.next_element::<IgnoredAny>()? {
                    None => Ok(Entry { ends: [a, b], attributes }),
                    Some(_) => Err(short(4)),
                }
            }
        }
        deserializer.deserialize_any(EntryVisitor)
    }
}
