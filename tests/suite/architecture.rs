//! The rooms of the house: which folder of src/ may use which.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::workbench::REPOSITORY;

/// From the ground up; a room without a list of its own may use every room before it.
const ROOMS: [(&str, Option<&[&str]>); 15] = [
    ("units", Some(&[])),
    ("random", Some(&["units"])),
    ("topology", Some(&["units", "random"])),
    ("data", Some(&["units", "random"])),
    ("learn", Some(&["units", "random"])),
    ("privacy", Some(&["units", "random"])),
    ("network", Some(&["units", "random", "topology", "privacy"])),
    ("policy", Some(&["units", "random", "learn", "privacy"])),
    ("protocol", None),
    ("theory", None),
    ("measure", None),
    ("scenario", None),
    ("experiment", None),
    ("report", None),
    ("cli", None),
];

fn may_use(room: &str, other: &str) -> bool {
    let number = |name: &str| ROOMS.iter().position(|(room, _)| *room == name);
    let Some(here) = number(room) else { return false };
    match ROOMS[here].1 {
        _ if room == other => true,
        Some(list) => list.contains(&other),
        None => number(other).is_some_and(|there| there < here),
    }
}

/// The names that stand after `crate::` in a source text; comments are not code.
fn named_rooms(source: &str) -> BTreeSet<String> {
    let code: String = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let name = |text: &str| {
        let text = text.trim_start();
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        text[..end].to_string()
    };
    let mut names = BTreeSet::new();
    for (at, path) in code.match_indices("crate::") {
        let rest = &code[at + path.len()..];
        let Some(list) = rest.strip_prefix('{') else {
            names.insert(name(rest));
            continue;
        };
        // The names at the top of a list in braces.
        let mut depth = 0;
        names.insert(name(list));
        for (i, c) in list.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => drop(names.insert(name(&list[i + 1..]))),
                _ => {}
            }
        }
        names.remove("");
    }
    names
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_room_uses_one_that_it_may_not() {
    let root = Path::new(REPOSITORY).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    files.sort();
    let mut wrong = Vec::new();
    let mut arrows = 0;
    for file in files {
        let within = file.strip_prefix(&root).expect("below src").with_extension("");
        let room = within.iter().next().expect("a name").to_string_lossy().into_owned();
        if ["lib", "main"].contains(&room.as_str()) {
            continue;
        }
        for other in named_rooms(&fs::read_to_string(&file).expect("a readable file")) {
            arrows += usize::from(other != room);
            if !may_use(&room, &other) {
                wrong.push(format!("{}: {room} may not use {other}", file.display()));
            }
        }
    }
    assert!(arrows > 50, "only {arrows} arrows found: the reader of `use crate::` is broken");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Of the program's own code, tests and benches included. In documents and comments it is a word.
#[test]
fn unsafe_code_is_where_the_processor_is_spoken_to() {
    let root = Path::new(REPOSITORY);
    let mut files = Vec::new();
    for folder in ["src", "tests", "benches"] {
        sources(&root.join(folder), &mut files);
    }
    // In two parts, so that this file has none of it.
    let (word, lint) = (concat!("uns", "afe "), concat!("(uns", "afe_code"));
    let mut found: Vec<String> = files
        .iter()
        .filter(|file| {
            let text = fs::read_to_string(file).expect("a readable file");
            let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            code.any(|line| line.contains(word) || line.contains(lint))
        })
        .map(|file| file.strip_prefix(root).expect("below the root").display().to_string())
        .collect();
    found.sort();
    assert_eq!(found, ["src/learn/kernel.rs", "src/random/wide.rs", "src/units/prefetch.rs"]);
}

#[test]
fn the_reader_of_sources_sees_every_form_of_a_path() {
    let source = "
        // use crate::comment;
        use crate::units::{PeerId, Round};
        use crate::{data, learn::{Loss, dot}, privacy::Wire};
        fn f() -> crate::topology::Topology { crate::cli::main() }
    ";
    let found: Vec<String> = named_rooms(source).into_iter().collect();
    assert_eq!(found, ["cli", "data", "learn", "privacy", "topology", "units"]);
    assert!(may_use("cli", "units") && may_use("network", "privacy") && may_use("data", "data"));
    assert!(!may_use("units", "cli") && !may_use("network", "learn") && !may_use("data", "learn"));
    assert!(!may_use("stray", "units") && !may_use("cli", "stray"));
}

/// Where values are released, protected or not: the list that an audit starts from. A new entry is
/// a decision, and belongs into the privacy statement.
#[test]
fn every_release_is_on_the_list() {
    let root = Path::new(REPOSITORY).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut found = Vec::new();
    for file in files {
        let path = file.strip_prefix(&root).expect("below src").display().to_string();
        let text = fs::read_to_string(&file).expect("a source file");
        // Up to the tests; a line that only names their file is no end.
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        // The makers themselves, and a file of tests.
        let exempt = path.starts_with("privacy")
            || path.ends_with("oracle.rs")
            || path.ends_with("tests.rs")
            || path.contains("/tests/");
        for line in code.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
            let makers = [
                "public(",
                "in_the_clear(",
                "noisy(",
                "noisy_in_place(",
                "release(pooled(",
                ".settled(",
                ".settled_in_place(",
            ];
            if makers.iter().any(|maker| line.contains(maker)) && !exempt {
                found.push(format!("{path}: {line}"));
            }
        }
    }
    found.sort();
    let expected = [
        "network/context.rs: self.port.transmit(slot, message.settled());",
        "network/context.rs: self.port.transmit_to_all(self.neighbours.len(), message.settled());",
        "network/context.rs: self.port.transmit_vector(self.neighbours.len(), *message.settled().value());",
        "network/context.rs: value.settled().arrived()",
        "network/simulated/together.rs: let (round, vector) = *message.settled_in_place();",
        "network/simulated/together.rs: let (round, vector) = *message.settled_in_place();",
        "protocol/admm.rs: let model = noisy_in_place(sent, mechanism, sensitivity, all, relation, draw);",
        "protocol/admm.rs: neighbours.announce(in_the_clear(model, self.parameters.unprotected));",
        "protocol/admm.rs: neighbours.announce(public((self.round, self.numbers.sent())));",
        "protocol/admm.rs: neighbours.announce(public(self.round).zip(model));",
        "protocol/admm.rs: together.answer(in_the_clear((next, &*w), parameters.unprotected));",
        "protocol/federated.rs: let mut own: Released<Arc<[f64]>> = public(theta.into());",
        "protocol/federated.rs: return Addend::Released(in_the_clear(data.into(), self.own.problem().unprotected));",
        "protocol/federated.rs: return Addend::Released(own.times_public(weight));",
        "protocol/gradient_descent.rs: context.broadcast(public(Say::Degree(degree)));",
        "protocol/gradient_descent.rs: let message = public(self.round).zip(state);",
        "protocol/gradient_descent.rs: let state = in_the_clear(self.outbox.shared(self.round), self.parameters.unprotected);",
        "protocol/gradient_queries.rs: Addend::Released(answer.times_public(self.weight))",
        "protocol/gradient_queries.rs: None => in_the_clear(answers.into(), self.own.problem().unprotected),",
        "protocol/gradient_queries.rs: noisy(answers.into(), mechanism, moves, all, relation, draw)",
        "protocol/party.rs: context.release(pooled(&data, &grid, (noise, draw), sensitivity, masks))",
        "protocol/party.rs: let message = public(Say::Down(self.round, Arc::clone(&theta)));",
        "protocol/party.rs: let message = public(round).zip(total);",
        "protocol/party.rs: let own = context.release(own).times_public(self.sum.parties as f64);",
        "protocol/party.rs: public(data.into())",
        "protocol/party/gossip.rs: context.broadcast(public(Say::Degree(degree)));",
        "protocol/party/gossip.rs: let message = public(self.tick).zip(own.clone());",
        "protocol/party/gossip.rs: let mut mixed = self.own.take()?.times_public(self.weights.own());",
        "protocol/party/gossip.rs: mixed = mixed.plus_public(*weight, &theirs);",
        "protocol/party/tree_sum.rs: let message = public(Say::Tree(self.hops));",
        "protocol/step_noise.rs: commonly_noisy(theta, deviation, own.problem().unprotected, draw)",
        "protocol/step_noise.rs: noisy(theta, mechanism, sensitivity, Records::All, Relation::ReplaceOne, draw)",
        "protocol/walk_sgd.rs: average.zip(w.as_ref()).zip(public(t)).map(|((mut average, w), t)| {",
        "protocol/walk_sgd.rs: in_the_clear(model, parameters.unprotected)",
        "protocol/walk_sgd.rs: let (w, average) = (public(w), average.map(public));",
        "protocol/walk_sgd.rs: let message = public(pass).zip(w);",
        "protocol/walk_sgd.rs: let zero = || public(vec![0.0; self.data.dimension()].into_boxed_slice());",
        "protocol/walk_sgd.rs: w = w.zip(public(radius)).map(|(mut w, radius)| {",
        "protocol/walk_sgd/share.rs: noisy(model, self.mechanism(), self.sensitivity, records, Relation::ReplaceOne, draw)",
        "protocol/weighted_erm.rs: let mut theta = public(vec![0.0; self.own.dimension()].into());",
        "protocol/weighted_erm.rs: noisy(theta, mechanism, moves, Records::All, Relation::ReplaceOne, draw)",
        "protocol/weighted_erm.rs: return Addend::Released(self.own_model(context).times_public(weight));",
        "protocol/weighted_erm.rs: return in_the_clear(theta, self.own.problem().unprotected);",
    ];
    assert_eq!(found, expected);
}
