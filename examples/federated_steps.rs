//! How many local steps K between two communications are best under a given privacy loss, and how much
//! communication they save: the question that the paper of these local steps leaves open.
//!
//! ```text
//! cargo run --release --example federated_steps
//! cargo run --release --example federated_steps -- published seeds=10
//! ```
//!
//! Eight parties with 500 records each around a server, logistic loss, λ = .01, exact noise: in masked
//! sums or, asked for `published`, in every local step, the same at all parties. "Predicted" is what
//! `steps: auto` resolves to before anything is run. With masked sums, writes
//! docs/images/federated-steps.svg.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]

#[path = "server_cells/cells.rs"]
mod cells;

use std::error::Error;
use std::path::Path;

use cells::{asked, in_parallel, mean, run_all, shown};
use hushmesh::experiment;
use hushmesh::measure::{Estimate, Metric};
use hushmesh::protocol::{Automatic, ProtocolConfig};
use hushmesh::report::svg::plot::{Axis, LinePlot, Series};
use hushmesh::report::{Column, Table};
use hushmesh::scenario::Checked;

const EPSILONS: [f64; 4] = [0.05, 0.1, 0.25, 1.0];
/// K.
const LOCAL: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// R.
const COMMUNICATIONS: [u32; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
/// The most steps in all that are tried.
const MOST: u32 = 512;
/// R of the table of best K.
const SHOWN: [u32; 3] = [1, 2, 4];
/// The ε and the K of the figure.
const DRAWN: (f64, [u32; 4]) = (0.25, [1, 4, 16, 64]);
/// Where the noise is: the beginning of the protocol's section, up to ε.
const MASKED: &str = "variant: masked, noise: {epsilon: ";
const PUBLISHED: &str = "variant: published, noise: {shared: true, epsilon: ";
const IMAGE: &str = "docs/images/federated-steps.svg";

fn main() -> Result<(), Box<dyn Error>> {
    let (words, seeds) = asked(20)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let noise = match words.as_slice() {
        [] => MASKED,
        ["published"] => PUBLISHED,
        other => return Err(format!("{other:?}: expected published or seeds=N").into()),
    };
    let mut places = Vec::new();
    for epsilon in EPSILONS {
        for communications in COMMUNICATIONS {
            let local = LOCAL.into_iter().filter(|k| k * communications <= MOST);
            places.extend(local.map(|k| (epsilon, communications, k)));
        }
    }
    let predicted = in_parallel(EPSILONS.len() * SHOWN.len(), |place| {
        let (epsilon, r) = (EPSILONS[place / SHOWN.len()], SHOWN[place % SHOWN.len()]);
        Ok((epsilon, r, predicted(noise, epsilon, r)?))
    })?;
    places.extend(&predicted);
    let all: Vec<Checked> = places
        .iter()
        .map(|&(epsilon, r, k)| scenario(noise, epsilon, r, &k.to_string(), seeds))
        .collect::<Result<_, _>>()?;
    let outcomes = run_all(&all, Metric::ExcessRisk)?;
    let grid = Grid { places, outcomes };
    println!("{}", best(&grid, &predicted).to_markdown());
    println!("{}", savings(&grid).to_markdown());
    if noise == MASKED {
        std::fs::write(Path::new(IMAGE), drawing(&grid).to_svg().into_string())?;
        println!("{IMAGE}");
    }
    Ok(())
}

fn scenario(
    noise: &str,
    epsilon: f64,
    r: u32,
    k: &str,
    seeds: u32,
) -> Result<Checked, Box<dyn Error>> {
    // λ = .01: the server counts among the nine peers.
    let text = format!(
        "
        name: K = {k}, R = {r}, ε = {epsilon}
        seed: 1
        repeat: {seeds}
        topology: {{star: {{peers: 9}}}}
        data:
          source: {{linear-logistic: {{dimension: 10, norm: 4}}}}
          samples: {{total: 4000}}
          without: [0]
          fixed: true
        model: {{loss: logistic, regularisation: 0.09}}
        privacy: {{delta: 1.0e-5}}
        protocol:
          federated: {{steps: {k}, communications: {r}, {noise}{epsilon}}}}}
        measure: {{what: [optimum], every: 1000000}}"
    );
    Ok(Checked::from_text("federated", &text)?)
}

/// K of `steps: auto`, from the data of the first seed.
fn predicted(noise: &str, epsilon: f64, r: u32) -> Result<u32, Box<dyn Error>> {
    let resolved = experiment::resolve(&scenario(noise, epsilon, r, "auto", 1)?)?;
    match resolved.scenario.protocol {
        ProtocolConfig::Federated(federated) => match federated.steps {
            Automatic::Value(steps) => Ok(steps as u32),
            Automatic::Auto => Err("`auto` was not resolved".into()),
        },
        _ => Err("the protocol is federated".into()),
    }
}

/// What was measured, by (ε, R, K).
struct Grid {
    places: Vec<(f64, u32, u32)>,
    outcomes: Vec<Vec<f64>>,
}

impl Grid {
    fn at(&self, place: (f64, u32, u32)) -> Option<&Vec<f64>> {
        let index = self.places.iter().position(|&other| other == place)?;
        Some(&self.outcomes[index])
    }

    /// K and its gap, of those in [`LOCAL`].
    fn by_local(&self, epsilon: f64, r: u32) -> impl Iterator<Item = (u32, &Vec<f64>)> {
        LOCAL.into_iter().filter_map(move |k| Some((k, self.at((epsilon, r, k))?)))
    }

    /// R and its gap.
    fn by_communications(&self, epsilon: f64, k: u32) -> impl Iterator<Item = (u32, &Vec<f64>)> {
        COMMUNICATIONS.into_iter().filter_map(move |r| Some((r, self.at((epsilon, r, k))?)))
    }
}

fn least<'a>(of: impl Iterator<Item = (u32, &'a Vec<f64>)>) -> (u32, &'a Vec<f64>) {
    let least = of.min_by(|a, b| mean(a.1).total_cmp(&mean(b.1)));
    least.expect("K = 1 and R = 1 are always tried")
}

/// The best K, predicted and measured.
fn best(grid: &Grid, predicted: &[(f64, u32, u32)]) -> Table {
    let mut table = Table::new([
        Column::text("ε"),
        Column::number("R"),
        Column::number("K, predicted"),
        Column::number("K, measured"),
        Column::number("their ratio"),
        Column::text("gap at the predicted K"),
        Column::text("gap at the measured K"),
    ]);
    let mut within = 0;
    for &(epsilon, r, k) in predicted {
        let (best, figures) = least(grid.by_local(epsilon, r));
        let ratio = f64::from(k) / f64::from(best);
        within += u32::from((0.5..=2.0).contains(&ratio));
        let at = grid.at((epsilon, r, k)).map_or("–".to_string(), |at| shown(at));
        table.row([
            epsilon.to_string().into(),
            f64::from(r).into(),
            f64::from(k).into(),
            f64::from(best).into(),
            format!("{ratio:.2}").into(),
            at.into(),
            shown(figures).into(),
        ]);
    }
    println!("{within} of {} predictions are within a factor 2.\n", predicted.len());
    table
}

/// The fewest communications for a gap within a quarter of the best that K = 1 reaches.
fn savings(grid: &Grid) -> Table {
    let mut table = Table::new([
        Column::text("ε"),
        Column::text("best gap of K = 1"),
        Column::number("its R"),
        Column::number("R of K = 1 within 25 %"),
        Column::number("fewest R within 25 %"),
        Column::number("with K"),
        Column::text("gap there"),
        Column::text("saving against K = 1 within 25 %"),
        Column::text("against its best"),
    ]);
    for epsilon in EPSILONS {
        let (r_best, one) = least(grid.by_communications(epsilon, 1));
        let target = 1.25 * mean(one);
        let reach = |(_, figures): &(u32, &Vec<f64>)| mean(figures) <= target;
        let (r_one, _) =
            grid.by_communications(epsilon, 1).find(reach).expect("the best is within its quarter");
        let several = COMMUNICATIONS.into_iter().find_map(|r| {
            let (k, figures) = least(grid.by_local(epsilon, r));
            (mean(figures) <= target).then_some((r, k, figures))
        });
        let (r, k, figures) = several.expect("K = 1 is among them");
        let times = |one: u32| format!("{:.1} ×", f64::from(one) / f64::from(r));
        table.row([
            epsilon.to_string().into(),
            shown(one).into(),
            f64::from(r_best).into(),
            f64::from(r_one).into(),
            f64::from(r).into(),
            f64::from(k).into(),
            shown(figures).into(),
            times(r_one).into(),
            times(r_best).into(),
        ]);
    }
    table
}

/// The gap over communications for several K.
fn drawing(grid: &Grid) -> LinePlot {
    let (epsilon, drawn) = DRAWN;
    let series = drawn.map(|k| {
        let figures: Vec<_> = grid.by_communications(epsilon, k).collect();
        let of = |end: fn(&Estimate) -> Option<f64>| {
            let estimates = figures.iter().map(|(_, figures)| Estimate::of(figures));
            estimates.map(move |estimate| end(&estimate).unwrap_or(f64::NAN)).collect::<Vec<_>>()
        };
        let xs = figures.iter().map(|&(r, _)| f64::from(r));
        let band = of(|e| e.low).into_iter().zip(of(|e| e.high));
        Series::new(format!("K = {k}"), xs.zip(of(|e| e.mean))).band(band)
    });
    LinePlot {
        title: format!("Federated, masked sums, ε = {epsilon}"),
        x: Axis::log("communications R"),
        y: Axis::log("gap"),
        series: series.into(),
        ..LinePlot::default()
    }
}
