//! Privacy statements and ledgers as tables.

use crate::experiment::{Claim, Statement};
use crate::report::{Column, Table, figure};
use crate::topology::Topology;
use crate::units::{Epsilon, PeerId};

/// An ε beyond this lets an observer be as good as certain: the odds may change by e^50.
const VOID: f64 = 50.0;

/// Who is protected against whom. With what the ledger booked, where there was a run.
pub fn claims(statement: &Statement, observed: Option<&[Claim]>) -> Table {
    let stated = if observed.is_some() { "ε stated" } else { "ε" };
    let mut columns = vec![
        Column::text("against"),
        Column::text("piece of data"),
        Column::number(stated),
        Column::text("δ"),
        Column::text("route"),
    ];
    if observed.is_some() {
        columns.insert(3, Column::number("ε booked"));
    }
    let mut table = Table::new(columns);
    for (i, claim) in statement.claims.iter().enumerate() {
        let delta = match claim {
            Claim { epsilon, .. } if !epsilon.0.is_finite() => "–".to_string(),
            Claim { pure: true, .. } => "0".to_string(),
            _ => figure(statement.delta),
        };
        let mut cells = vec![
            claim.observer.to_string().into(),
            claim.piece.to_string().into(),
            claim.epsilon.0.into(),
            delta.into(),
            match claim.epsilon.0 {
                epsilon if !epsilon.is_finite() => format!("not protected: {}", claim.route),
                epsilon if epsilon > VOID => format!("void in practice: {}", claim.route),
                _ => claim.route.clone(),
            }
            .into(),
        ];
        if let Some(observed) = observed {
            let booked = observed.get(i).map_or(f64::NAN, |claim| claim.epsilon.0);
            cells.insert(3, booked.into());
        }
        table.row(cells);
    }
    table
}

/// The assumptions that the statement's claims rest on, each once.
pub fn assumptions(statement: &Statement) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for claim in &statement.claims {
        if !claim.assumption.is_empty() {
            let line = format!("{}: {}", claim.route, claim.assumption);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// How ε of a record grows with the rounds.
pub fn growth(statement: &Statement) -> Option<Table> {
    if statement.growth.is_empty() {
        return None;
    }
    let mut table = Table::new([
        Column::number("rounds"),
        Column::number("ε of a record against all other peers"),
    ]);
    for (round, Epsilon(epsilon)) in &statement.growth {
        table.row([f64::from(*round).into(), (*epsilon).into()]);
    }
    Some(table)
}

/// What objective noise would give, were one exact minimiser all that is released.
pub fn one_release(statement: &Statement) -> Option<Table> {
    if statement.one_release.is_empty() {
        return None;
    }
    let mut table = Table::new([
        Column::text("piece of data"),
        Column::number("ε"),
        Column::number("δ"),
        Column::text("how"),
    ]);
    let pieces = ["label", "features, whole record"];
    for (piece, guarantee) in pieces.into_iter().zip(&statement.one_release) {
        table.row([
            piece.into(),
            guarantee.epsilon.0.into(),
            guarantee.delta.0.into(),
            guarantee.ground.to_string().into(),
        ]);
    }
    Some(table)
}

/// What a paper claims of its noise, beside what is known of it.
pub fn published(statement: &Statement) -> Option<Table> {
    let published = statement.published?;
    let mut table = Table::new([
        Column::text("a record against a reader of the averages"),
        Column::number("ε"),
        Column::text("what it is"),
    ]);
    let proved = if published.shared {
        "nothing can be proved of noise that every party knows"
    } else {
        "can be proved, whatever the losses: the smallest party's own releases"
    };
    for (name, Epsilon(epsilon), what) in [
        ("published", published.claimed, "claimed by the paper"),
        ("equal curvature", published.equal_curvature, "true where all losses have one Hessian"),
        (
            "worst known",
            published.worst_known,
            "reached by a known example: no claim below it holds",
        ),
        ("proved", published.proved, proved),
    ] {
        table.row([name.into(), epsilon.into(), what.into()]);
    }
    Some(table)
}

/// What a coalition learns: who it cannot tell apart, and ε of a record there.
pub fn coalition_table(topology: &Topology, learnt: &[(Vec<PeerId>, Epsilon)]) -> Table {
    let mut table = Table::new([
        Column::text("the coalition learns of"),
        Column::number("parties"),
        Column::number("ε of a record"),
    ]);
    for (parties, Epsilon(epsilon)) in learnt {
        let names: Vec<_> = parties.iter().take(MOST_NAMES).map(|p| topology.name(*p)).collect();
        let more = if parties.len() > MOST_NAMES { ", …" } else { "" };
        let what = if parties.len() == 1 { "peer" } else { "the sum of peers" };
        table.row([
            format!("{what} {}{more}", names.join(", ")).into(),
            (parties.len() as f64).into(),
            (*epsilon).into(),
        ]);
    }
    table
}

/// So many peers of one part are named.
const MOST_NAMES: usize = 12;

/// That a published claim does not hold, where it does not.
pub fn refuted(statement: &Statement) -> Option<String> {
    let published = statement.published.filter(|published| published.differs())?;
    Some(format!(
        "the published ε = {} does not hold: a loss of {} is known to happen, and only ε = {} can be \
         proved",
        figure(published.claimed.0),
        figure(published.worst_known.0),
        figure(published.proved.0),
    ))
}

/// The whole statement as text.
pub fn statement_text(statement: &Statement) -> String {
    let mut text = claims(statement, None).to_text();
    text.push('\n');
    for line in assumptions(statement) {
        text += &format!("assumes, for {line}\n");
    }
    if let Some(table) = published(statement) {
        text += &format!("\n{}", table.to_text());
    }
    if let Some(line) = refuted(statement) {
        text += &format!("\n! {line}\n");
    }
    if let Some(table) = growth(statement) {
        text += &format!("\nover the rounds, at δ = {}\n\n", figure(statement.delta));
        text += &table.to_text();
    }
    if let Some(table) = one_release(statement) {
        text += "\nobjective noise, were one exact minimiser all that is released (it is not booked)\n\n";
        text += &table.to_text();
    }
    text.push('\n');
    for note in &statement.notes {
        text += &format!("{note}\n");
    }
    text
}
