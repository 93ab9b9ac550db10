//! Lists of links and GraphML; YAML has its tests beside it.

use petgraph::graph::UnGraph;
use proptest::prelude::*;

use super::super::{Link, ring};
use super::*;

fn parse(text: &str, file: &str) -> Result<GraphFile, FileError> {
    GraphFile::parse(text.as_bytes(), Path::new(file))
}

/// A graph, perhaps with names and latencies.
pub(super) fn graph(
    a_name: impl Strategy<Value = String> + Clone + 'static,
) -> impl Strategy<Value = GraphFile> {
    (2_u32..12, prop::option::of(a_name.clone()), any::<bool>()).prop_flat_map(
        move |(n, name, named)| {
            let link = (0..n, 1..n, prop::option::of(1e-9_f64..1e3));
            let names = prop::collection::hash_set(a_name.clone(), n as usize);
            (prop::collection::vec(link, 0..20), names).prop_map(move |(links, names)| {
                let mut graph = UnGraph::new_undirected();
                for _ in 0..n {
                    graph.add_node(());
                }
                for (a, step, latency) in links {
                    graph.update_edge(a.into(), ((a + step) % n).into(), Link { latency });
                }
                let names = named.then(|| names.into_iter().collect());
                let topology = Topology::new(&graph, names).unwrap();
                GraphFile { name: name.clone(), topology }
            })
        },
    )
}

/// A document around the inside of its graph.
fn graphml(inside: &str) -> String {
    let key = "<key id='k' for='edge' attr.name='latency' attr.type='double'/>";
    format!(
        "<graphml xmlns='x'>{key}\n<graph edgedefault='undirected'>\n{inside}\n</graph></graphml>"
    )
}

#[test]
fn numbers_are_numbers_in_any_order() {
    for (text, file) in [
        ("2 0\n0 1\n1 2\n".to_string(), "x.txt"),
        ("# ring\r\n  0\t1 # first\r\n\r\n1 2\r\n2 0".to_string(), "x.edges"),
        (
            graphml(
                "<edge source='2' target='0'/><node id='1'/><node id='0'/><node id='2'/>\
                 <edge source='1' target='0'/><edge source='1' target='2'/>",
            ),
            "x.graphml",
        ),
    ] {
        assert_eq!(parse(&text, file).unwrap().topology, ring(3).unwrap(), "{file}");
    }
}

#[test]
fn names_and_latencies() {
    let list = parse("zoë bob\nbob 7 0.25\n07\n", "x.edges").unwrap().topology;
    assert_eq!(list.names().unwrap(), ["zoë", "bob", "7", "07"]);
    let text = graphml(
        "<node id='zoë'><data key='k'>-1</data></node><node id='bob'/><node id='7'/>\
         <node id='07'/><edge source='bob' target='zoë' directed='false'/>\
         <edge target='bob' source='7'><data key='other'>x</data><data key='k'> 0.25 </data></edge>",
    );
    let document = parse(&text, "x.graphml").unwrap().topology;
    assert_eq!(document, list);
    let latencies: Vec<_> = (0..4).map(|end| list.link_latency(end)).collect();
    assert_eq!(latencies, [None, None, Some(0.25), Some(0.25)]);
}

#[test]
fn every_fault_of_a_list_has_its_place() {
    for (text, expected) in [
        ("", "x.txt:1:1: .: there is no peer; expected at least one"),
        ("# nothing\n", "x.txt:1:1: .: there is no peer"),
        ("a b\n  a a\n", "x.txt:2:3: link: peer a is linked to itself; expected two peers"),
        ("a b\n\nb a\n", "x.txt:3:1: link: b and a are linked on line 1 already; expected every"),
        ("ä b nan\n", "x.txt:1:5: latency: nan is no latency; expected seconds, more than 0"),
        ("a b 0\n", "x.txt:1:5: latency: 0 is no latency"),
        ("a b 1 c", "x.txt:1:7: link: 4 words; expected two peers and a latency"),
    ] {
        let error = parse(text, "x.txt").expect_err(text).to_string();
        assert!(error.starts_with(expected), "{text}\ngave     {error}\nexpected {expected}");
    }
    let error = GraphFile::parse(b"a b\nc \xff", Path::new("x.txt")).unwrap_err().to_string();
    assert!(error.starts_with("x.txt:2:3: .: not a text; expected a list of links"), "{error}");
}

#[test]
fn every_fault_of_a_document_has_its_place() {
    let two = "<node id='a'/><node id='b'/>\n";
    for (inside, expected) in [
        ("", "x.graphml:2:1: graph: there is no peer"),
        ("<node/>", "x.graphml:3:1: node: no id; expected <node id=\"…\">"),
        ("<node id='a'/>\n<node id='a'/>", "x.graphml:4:1: node: the name a is given twice"),
        (&format!("{two}<edge source='a'/>"), "x.graphml:4:1: edge: no target; expected <edge"),
        (
            &format!("{two}<edge source='a' target='c'/>"),
            "x.graphml:4:1: edge: there is no node c; expected the id of one",
        ),
        (
            &format!("{two} <edge source='a' target='b' directed='true'/>"),
            "x.graphml:4:2: edge: the edge is directed, and links here carry messages both ways",
        ),
        (
            &format!("{two}<edge source='a' target='b'/>\n<edge source='b' target='a'/>"),
            "x.graphml:5:1: edge: b and a are linked on line 4 already",
        ),
        (
            &format!("{two}<edge source='a' target='b'><data key='k'>fast</data></edge>"),
            "x.graphml:4:29: latency: fast is no latency",
        ),
        ("<hyperedge/>", "x.graphml:3:1: hyperedge: a hyperedge; expected edges"),
        ("<node id='a'><graph/></node>", "x.graphml:3:14: graph: a graph inside a node"),
        ("</graph><graph>", "x.graphml:3:9: graph: a second graph; expected one"),
    ] {
        let error = parse(&graphml(inside), "x.graphml").expect_err(inside).to_string();
        assert!(error.starts_with(expected), "{inside}\ngave     {error}\nexpected {expected}");
    }
    for (text, expected) in [
        ("", "x.graphml:1:1: .: "),
        ("<svg/>", "x.graphml:1:1: .: <svg>; expected <graphml>"),
        ("<graphml/>", "x.graphml:1:1: .: no graph; expected <graph>"),
        (
            "<graphml>\n<graph edgedefault='directed'/></graphml>",
            "x.graphml:2:1: graph: the graph is directed, and links here carry messages both ways; \
             expected edgedefault=\"undirected\"",
        ),
        ("<graphml><graph/></graphml>", "x.graphml:1:10: graph: no known edgedefault"),
        ("<graphml>\n<graph></graphml>", "x.graphml:2:8: .: "),
    ] {
        let error = parse(text, "x.graphml").expect_err(text).to_string();
        assert!(error.starts_with(expected), "{text}\ngave     {error}\nexpected {expected}");
    }
}

#[test]
fn unknown_extensions_say_what_is_known() {
    for file in ["x.csv", "x", "", "x.YAML2"] {
        let error = parse("a b", file).unwrap_err().to_string();
        assert!(error.contains("expected .yaml or .yml, .txt or .edges"), "{error}");
    }
}

#[test]
fn names_that_do_not_fit_are_refused() {
    let named = |name: &str| {
        let mut graph = UnGraph::new_undirected();
        graph.add_node(());
        let topology = Topology::new(&graph, Some(vec![name.to_string()])).unwrap();
        GraphFile { name: None, topology }
    };
    for name in ["two words", "#hash", "a#b", "", " a"] {
        assert!(named(name).write_as(Format::EdgeList).is_err(), "{name:?}");
    }
    assert!(named("\u{1}").write_as(Format::GraphMl).is_err());
    let odd = named("<&\"'\t\n>");
    let text = odd.write_as(Format::GraphMl).unwrap();
    assert_eq!(parse(&text, "x.graphml").unwrap(), odd);
}

/// Nesting must not exhaust the stack, and entities must not multiply.
#[test]
fn hostile_documents_are_refused() {
    let deep = "<graphml>".repeat(200_000);
    assert!(parse(&deep, "x.graphml").is_err());
    let entities = "<!DOCTYPE g [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]><g>&b;</g>";
    assert!(parse(entities, "x.graphml").is_err());
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        for file in ["x.txt", "x.graphml"] {
            let _ = GraphFile::parse(&bytes, Path::new(file));
        }
    }

    #[test]
    fn broken_documents_never_panic(
        tokens in prop::collection::vec(
            prop::sample::select(vec![
                "<graph", "<node", "<edge", "</graph>", "/>", ">", " id='a'", " id='b'", "<data",
                " source='a'", " target='b'", " key='k'", "0.1", "#", " ", "\n", "&", "<!--",
                "-->", "a", "b", "1e999",
            ]),
            0..30,
        ),
    ) {
        let text = tokens.concat();
        for file in ["x.txt", "x.graphml"] {
            let _ = parse(&text, file);
            let _ = parse(&graphml(&text), file);
        }
    }

    #[test]
    fn documents_read_back_equal(file in graph("[^\\x00-\\x1f0-9\u{fffe}\u{ffff}]{0,6}")) {
        let text = file.write_as(Format::GraphMl).unwrap();
        let read = parse(&text, "x.graphml");
        prop_assert!(read.is_ok(), "{:?}\n{}", read, text);
        prop_assert_eq!(read.unwrap(), file);
    }

    #[test]
    fn lists_read_back_equal_but_for_the_name(file in graph("[a-zé,;:/-]{1,5}")) {
        let text = file.write_as(Format::EdgeList).unwrap();
        let read = parse(&text, "x.edges");
        prop_assert!(read.is_ok(), "{:?}\n{}", read, text);
        prop_assert_eq!(read.unwrap().topology, file.topology);
    }
}
