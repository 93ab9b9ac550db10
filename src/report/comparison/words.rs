//! A comparison in words: notes, warnings, the summary, the terminal's text and the Markdown file.

use super::ledger::delta;
use super::outcome::{Cost, Outcome};
use super::quantity::{Quantity, Ratio};
use super::{Comparison, FEW_REPEATS, Run};
use crate::measure::{Estimate, Metric};
use crate::network::EngineKind;
use crate::report::{Record, Table, figure};
use crate::topology::{Method, Value};

/// Warnings of single runs that the comparison says in its own words.
const SAID: [&str; 4] = ["one repeat:", "only ", "computing costs no", "interrupted:"];

/// Longer beginnings of notes are no terms.
const LONGEST_TERM: usize = 20;

impl Comparison {
    /// What the table compares, in a sentence.
    pub(super) fn caption(&self) -> String {
        match self.target {
            Some(target) => format!(
                "What it took to reach {target} ({}), and where each run ended.",
                target.metric.label()
            ),
            None => "What each run took and where it ended.".to_owned(),
        }
    }

    /// The fewest and the most repeats of any run.
    fn repeats(&self) -> (usize, usize) {
        let counts = || self.runs().map(|(_, run)| run.record.complete().count());
        (counts().min().unwrap_or(0), counts().max().unwrap_or(0))
    }

    /// What the figures rest on.
    pub(super) fn own_notes(&self, pairing: Vec<String>) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(target) = self.target {
            notes.push(format!(
                "target: {target} ({}), reached in the first measured round that meets it",
                target.metric.label()
            ));
            let apart = self.runs().map(|(_, run)| widest_step(&run.record)).max().unwrap_or(1);
            if apart > 1 {
                notes.push(format!(
                    "rounds: not every one is measured, and the target may have been reached up to {} \
                     rounds earlier",
                    apart - 1
                ));
            }
            let outcomes = || self.quantities.iter().flat_map(|quantity| &quantity.outcomes);
            if outcomes().any(|outcome| matches!(outcome, Outcome::Short { .. })) {
                notes.push(
                    "> x (k of r): only k of r repeats reached the target, and the others had spent at \
                     least x when they ended; the lucky ones are not averaged"
                        .to_owned(),
                );
            }
        }
        notes.extend(pairing);
        let (least, most) = self.repeats();
        if least > 1 {
            let repeats =
                if least == most { format!("{most}") } else { format!("{least} to {most}") };
            notes.push(format!(
                "±: half of the 95 % interval of the mean over {repeats} repeats, by Student's law; a \
                 figure without it was the same in every repeat"
            ));
        }
        if least > 1 && self.quantities.iter().any(Quantity::has_differences) {
            let stars = if self.quantities.iter().any(Quantity::has_stars) {
                "*: a difference that is significant"
            } else {
                "*: no difference here is significant"
            };
            notes.push(format!(
                "{stars} at a level of 5 % for all rows of its column together: Student's paired two-sided \
                 test, with Holm's correction"
            ));
        }
        notes.extend(self.notes_on_graphs());
        let constant = self.losses.iter().filter(|losses| losses.is_constant());
        notes.extend(constant.map(super::Losses::told));
        if self.ledger_columns().next().is_some() {
            notes.push(
                "ε: the ledger's, the worst of all repeats, where it has no interval; with δ = 0 it is \
                 pure, and holds with certainty"
                    .to_owned(),
            );
        }
        if let [delta] = self.deltas_of_metrics().as_slice() {
            notes.push(format!("final ε: as measured, at δ = {}", figure(*delta)));
        }
        notes.extend(self.notes_on_time());
        notes
    }

    /// Every δ at which a column of measured ε holds, once: that of each row's scenario.
    fn deltas_of_metrics(&self) -> Vec<f64> {
        let losses = [Metric::Epsilon, Metric::EpsilonLabels, Metric::EpsilonFinal];
        let of = |quantity: &Quantity| {
            losses.iter().any(|metric| metric.name() == quantity.key).then_some(())?;
            let known = self.rows.iter().zip(&quantity.outcomes);
            let known = known.filter(|(_, outcome)| **outcome != Outcome::Missing);
            Some(known.filter_map(|(row, _)| Some(delta(row.record()?, false))).collect::<Vec<_>>())
        };
        let mut deltas: Vec<f64> = self.shown().filter_map(of).flatten().collect();
        deltas.sort_by(f64::total_cmp);
        deltas.dedup();
        deltas
    }

    fn notes_on_graphs(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.runs().next().is_some() {
            notes.push(
                "λ₂: the least non-zero eigenvalue of the graph's Laplacian; the spectral gap is that \
                 of the Metropolis matrix"
                    .to_owned(),
            );
        }
        for (name, Run { figures, record }) in self.runs() {
            let found = [
                ("λ₂", figures.algebraic_connectivity),
                ("the spectral gap", figures.metropolis_gap),
            ];
            for (what, value) in found {
                let told = match value.map(|Value { method, .. }| method) {
                    Some(Method::Iterated { residual }) => {
                        format!(
                            "was found by an iteration that left a residual of {}",
                            figure(residual)
                        )
                    }
                    Some(Method::Sampled { standard_error, probes }) => format!(
                        "is a mean over {probes} probes with a standard error of {}",
                        figure(standard_error)
                    ),
                    Some(Method::NotConverged { residual }) => format!(
                        "was not found: the iteration stopped with a residual of {}",
                        figure(residual)
                    ),
                    Some(Method::ClosedForm | Method::Dense) | None => continue,
                };
                notes.push(format!("graph: {what} of {name} {told}"));
            }
            if record.scenario.topology.resamples() {
                notes.push(format!(
                    "graph: every repeat of {name} draws its own, and the figures are the first one's"
                ));
            }
        }
        notes
    }

    fn notes_on_time(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let free = |record: &Record| record.scenario.network.compute.seconds_per_sample == 0.0;
        let names = |which: &dyn Fn(&Record) -> bool| {
            let found: Vec<&str> =
                self.runs().filter_map(|(name, run)| which(&run.record).then_some(name)).collect();
            match found.len() {
                0 => None,
                count if count == self.runs().count() => Some("every row".to_owned()),
                _ => Some(found.join(", ")),
            }
        };
        if let Some(names) = names(&free) {
            notes.push(format!(
                "simulated seconds: computing costs none in {names}, and so they are those of messages"
            ));
        }
        let wall = |record: &Record| record.scenario.network.engine == EngineKind::Threads;
        if let Some(names) = names(&wall) {
            notes.push(format!("simulated seconds: the engine of {names} has none"));
        }
        let tokens = |record: &Record| record.scenario.protocol.walk().is_some();
        if let Some(names) = names(&tokens).filter(|_| self.target.is_some()) {
            notes.push(format!(
                "messages: those of tokens are counted when a run ends, so that those up to the target \
                 are not known in {names}; a round is an update of each token"
            ));
        }
        notes
    }

    /// What to know before trusting the figures.
    pub(super) fn own_warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for (name, missing) in self.missing() {
            warnings.push(match missing.reason() {
                Some(reason) => format!("{name} failed: {reason}"),
                None => format!("{name} has not been run yet"),
            });
        }
        if let Some(first) = self.rows.first().filter(|first| first.run.is_err()) {
            warnings.push(format!(
                "{} is the row that the others are compared with, and has no figures: there are no \
                 differences, no ratios and no stars",
                first.name
            ));
        }
        for (name, Run { record, .. }) in self.runs() {
            let (asked, complete) = (record.scenario.repeat as usize, record.complete().count());
            if complete < asked {
                warnings.push(format!(
                    "{name}: {complete} of {asked} repeats are complete; the others are left out"
                ));
            }
            if let Some(target) =
                self.target.filter(|target| record.column(target.metric).is_none())
            {
                warnings.push(format!("{name} does not measure {}", target.metric.name()));
            }
            let said = |warning: &&String| !SAID.iter().any(|said| warning.starts_with(said));
            warnings.extend(record.warnings.iter().filter(said).map(|w| format!("{name}: {w}")));
        }
        let names: Vec<&str> = self.rows.iter().map(|row| row.name.as_str()).collect();
        warnings.extend(self.losses.iter().filter_map(|losses| losses.warning(&names)));
        if let deltas @ [_, _, ..] = self.deltas_of_metrics().as_slice() {
            let deltas: Vec<String> = deltas.iter().map(|delta| figure(*delta)).collect();
            warnings.push(format!(
                "final ε are not comparable, since rows have different δ: {}",
                deltas.join(", ")
            ));
        }
        match self.repeats() {
            _ if self.rows.is_empty() => warnings.push("there is nothing to compare".to_owned()),
            _ if self.runs().next().is_none() => {}
            (1, _) => warnings.push(
                "one repeat: the figures have no intervals and no difference can be tested".to_owned(),
            ),
            (few, _) if few < FEW_REPEATS => warnings.push(format!(
                "only {few} repeats: the intervals are wide and the tests weak; {FEW_REPEATS} or more \
                 are better"
            )),
            _ => {}
        }
        warnings
    }

    /// The quantity of a cost, to the target or at the end.
    pub(super) fn cost(&self, cost: Cost) -> Option<&Quantity> {
        let key = match self.target {
            Some(_) => format!("{}_to_target", cost.name()),
            None => cost.name().to_owned(),
        };
        self.quantities.iter().find(|quantity| quantity.key == key)
    }

    /// Every other row beside the first, in a sentence each.
    pub fn sentences(&self) -> Vec<String> {
        let Some((first, others)) = self.rows.split_first() else { return Vec::new() };
        let rounds = self.cost(Cost::Rounds);
        let reach = |row: usize| match rounds.map(|rounds| &rounds.outcomes[row])? {
            Outcome::Short { reached, of, .. } => Some(format!(
                "{} reaches the target in {reached} of {of} repeats",
                self.rows[row].name
            )),
            Outcome::Diverged { diverged, of } => {
                Some(format!("{} diverges in {diverged} of {of} repeats", self.rows[row].name))
            }
            _ => None,
        };
        let mut sentences: Vec<String> = reach(0).into_iter().collect();
        for (at, row) in others.iter().enumerate() {
            let run = at + 1;
            if let Some(sentence) = reach(run) {
                sentences.push(sentence);
                continue;
            }
            let parts: Vec<String> = [
                (Cost::Rounds, "as many rounds"),
                (Cost::Messages, "as many messages"),
                (Cost::Seconds, "as much simulated time"),
            ]
            .into_iter()
            .filter_map(|(cost, what)| {
                let quantity = self.cost(cost)?;
                let ratio = Ratio::of(&quantity.outcomes[run], &quantity.outcomes[0], self.paired)?;
                // Without a target, all rows may simply have been told to run as long.
                let told = self.target.is_some() || cost != Cost::Rounds || ratio.ratio != 1.0;
                told.then(|| ratio.told(what))
            })
            .collect();
            let Some((head, rest)) = parts.split_first() else { continue };
            let tail = match rest.split_last() {
                Some((last, [])) => format!(", and {last}"),
                Some((last, rest)) => format!(", {} and {last}", rest.join(", ")),
                None => String::new(),
            };
            let verb = if self.target.is_some() { "needs" } else { "takes" };
            sentences.push(format!("{} {verb} {head} as {}{tail}", row.name, first.name));
        }
        sentences
    }

    /// The comparison for a terminal of this width.
    pub fn terminal(&self, width: usize) -> String {
        let mut text = wrapped(&self.caption(), width);
        text += &format!("\n{}", self.table().to_text_within(width));
        let mut block = |mark: &str, lines: &[String]| {
            if !lines.is_empty() {
                text.push('\n');
            }
            for line in lines {
                text += &wrapped(&format!("{mark}{line}"), width);
            }
        };
        block("", &self.sentences());
        block("", &self.notes);
        block("warning: ", &self.warnings);
        text
    }

    /// The comparison as a Markdown file.
    pub(super) fn markdown(&self, table: &Table) -> String {
        let mut text = format!("{}\n\n{}\n", self.caption(), table.to_markdown());
        for sentence in self.sentences() {
            text += &format!("- {}\n", crate::report::table::markdown(&sentence));
        }
        let notes = self.notes.iter().chain(&self.warnings);
        text.push('\n');
        for note in notes {
            text += &format!("- {}\n", crate::report::table::markdown(note));
        }
        text
    }
}

impl Comparison {
    /// The table for LaTeX, with the notes as comments under it.
    pub(super) fn latex(&self, table: &Table) -> String {
        let mut text = table.to_latex();
        for note in self.sentences().iter().chain(&self.notes).chain(&self.warnings) {
            // A comment ends with its line.
            text += &format!("% {}\n", note.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        text
    }
}

/// A note's term and what it says of it, where it begins with a short one.
pub(super) fn term(note: &str) -> (String, String) {
    let split = note.split_once(": ").filter(|(term, _)| term.chars().count() <= LONGEST_TERM);
    let (term, rest) = split.unwrap_or(("note", note));
    (term.to_owned(), rest.to_owned())
}

/// The most rounds between two measured ones.
fn widest_step(record: &Record) -> u32 {
    let steps = record.repeats.iter().flat_map(|rows| {
        let first = rows.first().map(|row| row.round.0);
        first.into_iter().chain(rows.windows(2).map(|pair| pair[1].round.0 - pair[0].round.0))
    });
    steps.max().unwrap_or(1)
}

/// The line in pieces no wider than `width`, those after the first indented.
pub(in crate::report) fn wrapped(line: &str, width: usize) -> String {
    let mut out = String::new();
    let mut taken = 0;
    for word in line.split_whitespace() {
        let length = crate::report::table::width(word);
        if taken > 0 && taken + 1 + length > width {
            out.push_str("\n  ");
            taken = 2;
        } else if taken > 0 {
            out.push(' ');
            taken += 1;
        }
        out.push_str(word);
        taken += length;
    }
    out + "\n"
}

/// Spearman's rank correlation of pairs: Pearson's of their ranks, equal values sharing the mean of
/// theirs. Fewer than three pairs, or ranks that are all the same, have none.
pub(super) fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let ranks = |values: Vec<f64>| {
        let rank = |value: f64| {
            let below = values.iter().filter(|other| **other < value).count();
            let equal = values.iter().filter(|other| **other == value).count();
            below as f64 + (equal as f64 + 1.0) / 2.0
        };
        values.iter().map(|value| rank(*value)).collect::<Vec<f64>>()
    };
    let xs = ranks(pairs.iter().map(|(x, _)| *x).collect());
    let ys = ranks(pairs.iter().map(|(_, y)| *y).collect());
    let middle = (pairs.len() as f64 + 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| {
        a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum::<f64>()
    };
    let spread = (product(&xs, &xs) * product(&ys, &ys)).sqrt();
    (spread > 0.0).then(|| product(&xs, &ys) / spread)
}

/// The mean of an outcome, where it has one that is finite.
pub(super) fn mean(outcome: &Outcome) -> Option<f64> {
    let Estimate { mean, .. } = outcome.estimate();
    mean.filter(|mean| mean.is_finite())
}
