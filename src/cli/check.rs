//! `hushmesh check`.

use super::exit::{Code, Failure};
use super::{CheckArguments, print};
use crate::experiment::{Outline, PeerMemory, notes};
use crate::report::{Cell, Column, Table, bytes, figure};
use crate::scenario::{Graph, Sweep};

/// So many points of a sweep are named.
const SHOWN: usize = 20;

pub(super) fn check(arguments: &CheckArguments) -> Result<Code, Failure> {
    // A large graph is counted and not built, where that says as much: it may be too large for this machine.
    let sweep = Sweep::load_with(&arguments.scenario, &arguments.overrides, &[], Graph::Led)?;
    let points = sweep.points();
    // Of a sweep all points were checked; the first says what one of them will do.
    let Some(first) = points.first() else {
        return Err(Failure::arguments("the sweep has no point".to_string()));
    };
    let checked = sweep.checked(first)?;
    let outline = Outline::of(&checked)?;
    let text = if arguments.json {
        let mut json = serde_json::json!(outline);
        if !sweep.is_single() {
            json["points"] = points.iter().map(|point| point.name.as_str()).collect();
        }
        format!("{json:#}\n")
    } else {
        let mut text = String::new();
        if !sweep.is_single() {
            let names = points.iter().map(|point| format!("  {}\n", point.name));
            let shown: String = names.take(SHOWN).collect();
            let more = if points.len() > SHOWN { "  …\n" } else { "" };
            text += &format!("a sweep over {} points:\n{shown}{more}\n", points.len());
            text += "the first of them:\n\n";
        }
        text += &table(&outline).to_text();
        text.push('\n');
        if let Some(there) = machine_memory().filter(|&there| outline.memory > there) {
            text += &format!(
                "memory: the run needs about {}, this machine has {}: expected fewer peers or samples, \
                 data.keep: false, or a larger machine or several\n",
                bytes(outline.memory),
                bytes(there)
            );
        }
        for line in notes(checked.scenario()) {
            text += &format!("privacy: {line}\n");
        }
        text += "privacy: hushmesh privacy says who is protected against whom, and by how much\n";
        text
    };
    print(&text)?;
    Ok(Code::Done)
}

/// Bytes of memory that this machine has; none where the system does not say.
fn machine_memory() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(1024 * kilobytes)
}

fn table(outline: &Outline) -> Table {
    let mut table = Table::new([Column::text("the run"), Column::text("will have")]);
    let mut add = |what: &str, value: String| {
        table.row([what.into(), Cell::Text(value)]);
    };
    let count = |value: usize| figure(value as f64);
    let span = |low: usize, high: usize| {
        if low == high { count(low) } else { format!("{} to {}", count(low), count(high)) }
    };
    add("name", outline.name.clone());
    add("repeats", count(outline.repeats as usize));
    add("topology", outline.topology.clone());
    add("peers", count(outline.peers));
    add("links", count(outline.links));
    let (least, mean, greatest) = outline.degrees;
    add("neighbours per peer", format!("{}, mean {}", span(least, greatest), figure(mean)));
    add(
        "connected",
        match outline.diameter {
            Some(diameter) => format!("yes, diameter {diameter}"),
            None => "yes, diameter not computed".to_string(),
        },
    );
    add("training samples", count(outline.training_samples));
    let (fewest, most) = outline.samples_per_peer;
    add("samples per peer", span(fewest, most));
    add("held-out samples", count(outline.held_out_samples));
    add("dimension", count(outline.dimension));
    add("rounds, at most", count(outline.rounds as usize));
    add("messages per repeat", figure(outline.messages as f64));
    add("bytes per repeat", bytes(outline.bytes));
    let every = match outline.measured_every {
        1 => "every one".to_string(),
        every => format!("the first, every {every}th, the last"),
    };
    add("rounds that are measured", every);
    if outline.held_out_samples > 0 {
        add("peers scored on held-out samples", count(outline.scored_peers));
    }
    let PeerMemory { samples, protocol, network, graph, measuring } = outline.memory_parts;
    add("memory per peer", bytes(outline.memory_per_peer));
    add("  its samples", bytes(samples));
    add("  its protocol's state", bytes(protocol));
    add("  the network", bytes(network));
    add("  the graph", bytes(graph));
    add("  measuring", bytes(measuring));
    add("memory", bytes(outline.memory));
    table
}
