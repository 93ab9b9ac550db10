//! The claims of "The value of collaboration in convex machine learning with differential privacy" (Wu,
//! Farokhi, Smith 2019): how the fitness falls with ε and n, when it pays to learn together, and how many
//! queries are best.
//!
//! ```text
//! cargo run --release --example query_study
//! cargo run --release --example query_study -- slopes together queries seeds=30
//! ```
//!
//! Linear regression in five dimensions, residuals cut at 3, Laplace noise unless it says otherwise. ψ =
//! f(θ)/f(θ*) − 1 on the rows of all owners. Without names of parts all are run.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]

#[path = "server_cells/cells.rs"]
mod cells;

use std::error::Error;

use cells::{asked, mean, run_all, shown};
use hushmesh::measure::Metric;
use hushmesh::report::{Column, Table};
use hushmesh::scenario::Checked;
use hushmesh::theory::server::{
    Collaboration, collaboration_ratio, precision_weights, weighted_ratio,
};
use hushmesh::units::Epsilon;

/// n₁ and ε₁.
const FIRST: (u64, f64) = (10_000, 1.0);
/// n₂ = n₃ of the grid, from 10³ to 10⁵.
const SIZES: usize = 11;
/// ε₂ = ε₃ of the grid, from .1 to 10.
const LEVELS: usize = 12;

fn main() -> Result<(), Box<dyn Error>> {
    let (parts, seeds) = asked(30)?;
    let known = ["slopes", "together", "queries"];
    if let Some(other) = parts.iter().find(|part| !known.contains(&part.as_str())) {
        return Err(format!("{other:?}: expected {} or seeds=N", known.join(", ")).into());
    }
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|other| other == part);
    if wanted("slopes") {
        slopes(seeds)?;
    }
    if wanted("queries") {
        queries(seeds)?;
    }
    if wanted("together") {
        together(seeds)?;
    }
    Ok(())
}

/// Owners (n_l, ε_l) around a learner without rows, and what else the protocol says.
struct Cell {
    owners: Vec<(u64, f64)>,
    mechanism: &'static str,
    protocol: String,
}

/// Newton's step for these rows, whose curvature is 1/5: five of them forget the start.
const DESCENT: &str = "updates: 5, algorithm: {descent: {constant: 5}}";

impl Cell {
    fn new(owners: Vec<(u64, f64)>, protocol: impl Into<String>) -> Self {
        Self { owners, mechanism: "laplace", protocol: protocol.into() }
    }

    fn checked(&self, seeds: u32) -> Result<Checked, Box<dyn Error>> {
        let Self { owners, mechanism, protocol } = self;
        let sizes: Vec<u64> = owners.iter().map(|owner| owner.0).collect();
        // The learner has an ε as well, which nothing uses.
        let levels: Vec<f64> =
            [1.0].into_iter().chain(owners.iter().map(|owner| owner.1)).collect();
        let text = format!(
            "
            name: gradient queries
            seed: 1
            repeat: {seeds}
            topology: {{star: {{peers: {}}}}}
            data:
              source: {{linear-regression: {{dimension: 5, norm: 2, noise: 0.3, bound: 3}}}}
              samples: {{total: {}}}
              partition: {{ratio: {sizes:?}}}
              without: [0]
            model: {{loss: squared, regularisation: 0.001}}
            privacy: {{delta: 1.0e-5}}
            protocol:
              gradient-queries:
                {{{protocol}, residual: 3, noise: {{mechanism: {mechanism}, epsilon: {levels:?}}}}}
            measure: {{what: [optimum], every: 1000000}}",
            owners.len() + 1,
            sizes.iter().sum::<u64>(),
        );
        Ok(Checked::from_text("queries", &text)?)
    }
}

fn run_cells(cells: &[Cell], seeds: u32) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    let checked: Vec<Checked> =
        cells.iter().map(|cell| cell.checked(seeds)).collect::<Result<_, _>>()?;
    run_all(&checked, Metric::RelativeFitness)
}

/// The model 0: one step that goes nowhere.
fn nothing(owners: Vec<(u64, f64)>) -> Cell {
    Cell::new(owners, "updates: 1, algorithm: {descent: {constant: 1.0e-12}}")
}

/// ψ by ε and by n.
fn slopes(seeds: u32) -> Result<(), Box<dyn Error>> {
    let three = |n: f64, epsilon: f64| vec![((n / 3.0).round() as u64, epsilon); 3];
    // The slope is fitted where residuals are hardly ever cut, from .1 on.
    let levels = [0.001, 0.01, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];
    let sizes = [3e3, 1e4, 3e4, 1e5, 3e5];
    let averaged = "updates: 50, algorithm: {averaged: 5}";
    let boxed = format!("{averaged}, box: 2");
    let mut all = Vec::new();
    for epsilon in levels {
        for protocol in [DESCENT, averaged, &boxed] {
            all.push(Cell::new(three(3e4, epsilon), protocol));
        }
    }
    all.extend(sizes.map(|n| Cell::new(three(n, 1.0), DESCENT)));
    all.push(nothing(three(3e4, 1.0)));
    let outcomes = run_cells(&all, seeds)?;
    let (by_level, rest) = outcomes.split_at(3 * levels.len());
    let (by_size, zero) = rest.split_at(sizes.len());
    let mut table = Table::new([
        Column::text("n = 30,000"),
        Column::text("ψ: five constant steps"),
        Column::text("50 averaged steps"),
        Column::text("the same in the box |θ|_∞ ≤ 2"),
    ]);
    for (epsilon, figures) in levels.iter().zip(by_level.chunks(3)) {
        let cells = figures.iter().map(|each| shown(each));
        table.row([format!("ε = {epsilon}")].into_iter().chain(cells).map(Into::into));
    }
    println!("{}", table.to_markdown());
    let mut table = Table::new([Column::text("ε = 1"), Column::text("ψ: five constant steps")]);
    for (n, figures) in sizes.iter().zip(by_size) {
        table.row([format!("n = {n}").into(), shown(figures).into()]);
    }
    println!("{}", table.to_markdown());
    let descents: Vec<&Vec<f64>> = by_level.iter().step_by(3).collect();
    println!("Slope in ε: {}.", shown(&slopes_of(&levels[2..], &descents[2..])));
    println!("Slope in n: {}.", shown(&slopes_of(&sizes, &by_size.iter().collect::<Vec<_>>())));
    println!("ψ of the zero model: {}.\n", shown(&zero[0]));
    Ok(())
}

/// The slope of log ψ over log x by least squares, of every seed.
fn slopes_of(xs: &[f64], figures: &[&Vec<f64>]) -> Vec<f64> {
    let logs: Vec<f64> = xs.iter().map(|x| x.ln()).collect();
    let centre = logs.iter().sum::<f64>() / logs.len() as f64;
    let spread: f64 = logs.iter().map(|x| (x - centre).powi(2)).sum();
    let slope = |seed: usize| {
        let heights = figures.iter().map(|each| each[seed].ln());
        logs.iter().zip(heights).map(|(x, y)| (x - centre) * y).sum::<f64>() / spread
    };
    (0..figures[0].len()).map(slope).collect()
}

/// ψ by the number of queries.
fn queries(seeds: u32) -> Result<(), Box<dyn Error>> {
    let counts = [2, 3, 5, 8, 12, 20, 50, 120];
    let levels = [0.1, 1.0, 10.0];
    let mut all = Vec::new();
    for mechanism in ["laplace", "gaussian"] {
        for epsilon in levels {
            for t in counts {
                let protocol =
                    format!("updates: {}, algorithm: {{averaged: 5}}, spare_query: true", t - 1);
                let owners = vec![(3_000, epsilon); 3];
                all.push(Cell { mechanism, ..Cell::new(owners, protocol) });
            }
        }
    }
    let outcomes = run_cells(&all, seeds)?;
    let heads = ["Laplace", "Gaussian"]
        .into_iter()
        .flat_map(|law| levels.map(|epsilon| Column::text(format!("{law}, ε = {epsilon}"))));
    let mut table = Table::new([Column::text("ψ")].into_iter().chain(heads));
    let columns: Vec<&[Vec<f64>]> = outcomes.chunks(counts.len()).collect();
    for (row, t) in counts.iter().enumerate() {
        let cells = columns.iter().map(|column| shown(&column[row]));
        table.row([format!("T = {t}")].into_iter().chain(cells).map(Into::into));
    }
    let best = columns.iter().map(|column| {
        let pairs = counts.iter().zip(*column);
        let best = pairs.min_by(|a, b| mean(a.1).total_cmp(&mean(b.1)));
        best.map_or_else(String::new, |(t, _)| t.to_string())
    });
    table.row(["best T".to_string()].into_iter().chain(best).map(Into::into));
    println!("{}", table.to_markdown());
    Ok(())
}

/// x from `low` to `high` in `count` equal factors.
fn geometric(low: f64, high: f64, count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |i| low * (high / low).powf(i as f64 / (count - 1) as f64))
}

/// One owner with others: together, alone and by precision.
fn together(seeds: u32) -> Result<(), Box<dyn Error>> {
    // Owners with next to no ε have next to no weight by precision, so that the first is alone, and is
    // scored on the rows of all.
    let (silent, loud) = (1e-6, 1e6);
    let (n1, e1) = FIRST;
    let with = |n: u64, epsilon: f64| vec![(n1, e1), (n, epsilon), (n, epsilon)];
    let precisely = format!("{DESCENT}, weights: precision");
    let sizes: Vec<u64> = geometric(1e3, 1e5, SIZES).map(|n| n.round() as u64).collect();
    let levels: Vec<f64> = geometric(0.1, 10.0, LEVELS).collect();
    let mut all = Vec::new();
    for &n in &sizes {
        all.push(Cell::new(with(n, silent), &*precisely));
        all.push(Cell::new(vec![(n1, loud), (n, silent), (n, silent)], &*precisely));
        all.push(nothing(with(n, 1.0)));
        for &epsilon in &levels {
            all.push(Cell::new(with(n, epsilon), DESCENT));
            all.push(Cell::new(with(n, epsilon), &*precisely));
        }
    }
    let outcomes = run_cells(&all, seeds)?;
    let mut corners = Table::new([
        Column::text("n₂ = n₃, ε₂ = ε₃"),
        Column::number("ratio"),
        Column::text("predicted"),
        Column::text("ψ together"),
        Column::text("ψ alone"),
        Column::text("ψ by precision"),
        Column::text("alone without noise"),
        Column::text("zero model"),
    ]);
    let mut score = Score::default();
    for (&n, figures) in sizes.iter().zip(outcomes.chunks(3 + 2 * LEVELS)) {
        let (fixed, by_level) = figures.split_at(3);
        for (&epsilon, pair) in levels.iter().zip(by_level.chunks(2)) {
            let owners: Vec<(u64, Epsilon)> =
                with(n, epsilon).into_iter().map(|(n, epsilon)| (n, Epsilon(epsilon))).collect();
            let ratio = collaboration_ratio(&owners, 0);
            let verdict = Collaboration::of(ratio);
            let weighted = weighted_ratio(&owners, &precision_weights(&owners), 0);
            let [joint, alone, precise] = [&pair[0], &fixed[0], &pair[1]].map(|each| mean(each));
            score.count(ratio, joint / alone, precise / joint.min(alone));
            score.promised += usize::from(weighted <= ratio.min(1.0));
            let corner = |value: f64, ends: [f64; 2]| {
                ends.iter().any(|end| (value / end - 1.0).abs() < 1e-6)
            };
            if corner(n as f64, [1e3, 1e5]) && corner(epsilon, [0.1, 10.0]) {
                corners.row([
                    format!("{n}, {epsilon:.1}").into(),
                    ratio.into(),
                    name(verdict).into(),
                    shown(&pair[0]).into(),
                    shown(&fixed[0]).into(),
                    shown(&pair[1]).into(),
                    shown(&fixed[1]).into(),
                    shown(&fixed[2]).into(),
                ]);
            }
        }
    }
    println!("{}", corners.to_markdown());
    score.print();
    Ok(())
}

fn name(verdict: Collaboration) -> &'static str {
    match verdict {
        Collaboration::Pays => "together",
        Collaboration::Tie => "tie",
        Collaboration::DoesNot => "alone",
    }
}

/// How often predictions were right.
#[derive(Default)]
struct Score {
    cells: usize,
    ties: usize,
    right: usize,
    wrong: Vec<(f64, f64)>,
    close: usize,
    promised: usize,
    furthest: f64,
}

impl Score {
    /// The predicted ratio of deviations, the measured ratio of ψ, and that of precision weights to the
    /// better of both.
    fn count(&mut self, ratio: f64, measured: f64, precise: f64) {
        self.cells += 1;
        self.close += usize::from(precise <= 1.15);
        self.furthest = self.furthest.max(precise);
        match Collaboration::of(ratio) {
            Collaboration::Tie => self.ties += 1,
            verdict if (verdict == Collaboration::Pays) == (measured < 1.0) => self.right += 1,
            _ => self.wrong.push((ratio, measured)),
        }
    }

    fn print(&self) {
        let Self { cells, ties, right, wrong, close, promised, furthest } = self;
        println!("{cells} cells, {ties} ties; of the others {right} predicted right.");
        for (ratio, measured) in wrong {
            println!("Wrong: predicted ratio {ratio:.3}, measured ψ together/alone {measured:.3}.");
        }
        println!(
            "Weights (n ε)² are within 15 % of the better of alone and together in {close} cells, at most \
             {furthest:.2} times it; predicted no worse in {promised}.\n"
        );
    }
}
