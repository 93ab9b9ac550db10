//! Weighted distributed DP-ERM (Kang, Liu, Niu, Wang 2020) on Adult: what each variant reaches at the
//! same claim, what uneven sizes cost the unweighted mean, and where averaging models once ends.
//!
//! ```text
//! cargo run --release --example weighted_erm_table -- FILE
//! cargo run --release --example weighted_erm_table -- FILE exact constant floor sizes seeds=5
//! ```
//!
//! FILE is the Adult table, gzip-compressed, with a header; scenarios/adult.yaml says how to get it.
//! Without names of parts all are run. "Reference" is an independent implementation.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]

#[path = "server_cells/cells.rs"]
mod cells;

use std::error::Error;
use std::path::Path;

use cells::{Figures, asked, mean, run_all, shown};
use hushmesh::report::{Column, Table};
use hushmesh::scenario::Checked;

const EPSILONS: [f64; 4] = [0.01, 0.05, 0.1, 0.25];
/// T.
const STEPS: [u32; 4] = [5, 20, 80, 300];

/// Name, what it says in the protocol, the reference's gap and accuracy at each ε.
type Row = (&'static str, &'static str, [(f64, f64); 4]);

const NONE: (f64, f64) = (f64::NAN, f64::NAN);

const ROWS: [Row; 7] = [
    ("central", "variant: central", [(0.197, 75.0), (0.118, 78.9), (0.087, 80.5), (0.059, 82.1)]),
    (
        "jayaraman",
        "variant: jayaraman",
        [(0.368, 66.3), (0.203, 75.0), (0.156, 75.8), (0.118, 78.2)],
    ),
    ("published, independent noise", "variant: published, weight_noise: {epsilon: EPS}", PUBLISHED),
    (
        "published, shared noise",
        "variant: published, weight_noise: {epsilon: EPS}, shared",
        PUBLISHED,
    ),
    (
        "masked-output",
        "variant: masked-output",
        [(0.214, 73.9), (0.139, 76.6), (0.129, 76.7), (0.089, 79.6)],
    ),
    ("masked-gradient", "variant: masked-gradient", [NONE; 4]),
    ("local", "variant: local", [NONE; 4]),
];

const PUBLISHED: [(f64, f64); 4] = [(0.210, 75.3), (0.101, 79.4), (0.086, 80.6), (0.059, 82.2)];

fn main() -> Result<(), Box<dyn Error>> {
    let (words, seeds) = asked(5)?;
    let (file, parts) = words.split_first().ok_or("expected the file of Adult")?;
    let known = ["exact", "constant", "floor", "sizes"];
    if let Some(other) = parts.iter().find(|part| !known.contains(&part.as_str())) {
        return Err(format!("{other:?}: expected {} or seeds=N", known.join(", ")).into());
    }
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|other| other == part);
    let adult = Adult { file, seeds };
    if wanted("sizes") {
        sizes(seeds.max(20))?;
    }
    if wanted("floor") {
        adult.floor()?;
    }
    if wanted("exact") {
        adult.table("exact noise", "")?;
    }
    if wanted("constant") {
        adult.table("c = 8", ", constant: 8")?;
    }
    Ok(())
}

struct Adult<'a> {
    file: &'a str,
    seeds: u32,
}

impl Adult<'_> {
    /// Eight parties around a server that has no rows.
    fn cell(&self, partition: &str, protocol: &str) -> Result<Checked, Box<dyn Error>> {
        let file = Path::new(self.file).canonicalize()?;
        let set = [
            format!("repeat={}", self.seeds),
            "topology={star: {peers: 9}}".to_string(),
            format!("data.source.csv.path={}", file.display()),
            "data.source.csv.header=true".to_string(),
            "data.source.csv.columns=null".to_string(),
            format!("data.partition={partition}"),
            "data.without=[0]".to_string(),
            "model.regularisation=0".to_string(),
            "privacy={delta: 1.0e-5}".to_string(),
            format!("protocol={{weighted-erm: {{{protocol}}}}}"),
            "measure={what: [optimum, test], every: 1000000}".to_string(),
        ];
        Ok(Checked::load(Path::new("scenarios/adult.yaml"), &set)?)
    }

    /// Every variant by ε, with the T that is best for each.
    fn table(&self, title: &str, constant: &str) -> Result<(), Box<dyn Error>> {
        let mut all = Vec::new();
        for (_, variant, _) in ROWS {
            let shared = if variant.ends_with(", shared") { ", shared: true" } else { "" };
            let variant = variant.trim_end_matches(", shared");
            for epsilon in EPSILONS {
                let variant = variant.replace("EPS", &epsilon.to_string());
                for steps in STEPS {
                    let noise = format!("noise: {{epsilon: {epsilon}{constant}{shared}}}");
                    let protocol = format!("{variant}, steps: {steps}, step: 4, {noise}");
                    all.push(self.cell("{random-sizes: {floor: 0.1}}", &protocol)?);
                }
            }
        }
        let outcomes = run_all(&all)?;
        let columns = EPSILONS.map(|epsilon| Column::text(format!("ε = {epsilon}")));
        let first = [Column::text(title), Column::text("")];
        let mut gaps = Table::new(first.clone().into_iter().chain(columns.clone()));
        let mut accuracies = Table::new(first.into_iter().chain(columns));
        let rows = ROWS.iter().zip(outcomes.chunks(EPSILONS.len() * STEPS.len()));
        for ((name, _, reference), outcomes) in rows {
            let best: Vec<(u32, &Figures)> = outcomes
                .chunks(STEPS.len())
                .map(|by_steps| {
                    let pairs = STEPS.into_iter().zip(by_steps);
                    let best = pairs.min_by(|a, b| mean(&a.1.gap).total_cmp(&mean(&b.1.gap)));
                    best.expect("there are steps to choose from")
                })
                .collect();
            let cells = |who: &str, of: &dyn Fn(usize) -> String| {
                let name = if who == "ours" { *name } else { "" };
                let head = [name.to_string(), who.to_string()];
                head.into_iter()
                    .chain((0..EPSILONS.len()).map(of))
                    .map(Into::into)
                    .collect::<Vec<_>>()
            };
            gaps.row(cells("ours", &|i| shown(&best[i].1.gap)));
            gaps.row(cells("best T", &|i| best[i].0.to_string()));
            accuracies.row(cells("ours", &|i| shown(&best[i].1.accuracy)));
            if reference[0].0.is_finite() {
                gaps.row(cells("reference", &|i| format!("{:.3}", reference[i].0)));
                accuracies.row(cells("reference", &|i| format!("{:.1}", reference[i].1)));
            }
        }
        println!("Gap, {title}:\n\n{}", gaps.to_markdown());
        println!("Held-out accuracy in %, {title}:\n\n{}", accuracies.to_markdown());
        let any = &outcomes[0];
        println!("Trivial model {} %, ", shown(&any.trivial));
        println!("central optimum {} %.\n", shown(&any.central));
        Ok(())
    }

    /// Models of noise-free descents, averaged once, by how rows are dealt.
    fn floor(&self) -> Result<(), Box<dyn Error>> {
        let deals = [
            ("random sizes, iid", "{random-sizes: {floor: 0.1}}"),
            ("Dirichlet over labels, α = .5", "{dirichlet-labels: {alpha: 0.5}}"),
            ("Dirichlet over labels, α = .1", "{dirichlet-labels: {alpha: 0.1}}"),
            ("two label shards a party", "{label-shards: {per_peer: 2}}"),
            ("one label shard a party", "{label-shards: {per_peer: 1}}"),
        ];
        let variants = ["masked-output", "masked-gradient"];
        let mut all = Vec::new();
        for (_, partition) in deals {
            for variant in variants {
                let protocol = format!("variant: {variant}, steps: 300, step: 4");
                all.push(self.cell(partition, &protocol)?);
            }
        }
        let outcomes = run_all(&all)?;
        let mut table = Table::new([
            Column::text("T = 300, no noise"),
            Column::text("models averaged once: gap"),
            Column::text("accuracy, %"),
            Column::text("gradients summed: gap"),
            Column::text("accuracy, %"),
        ]);
        for ((name, _), pair) in deals.iter().zip(outcomes.chunks(variants.len())) {
            let cells = pair.iter().flat_map(|each| [shown(&each.gap), shown(&each.accuracy)]);
            table.row([(*name).to_string()].into_iter().chain(cells).map(Into::into));
        }
        println!("{}", table.to_markdown());
        Ok(())
    }
}

/// The unweighted mean against the weighted one where half of the parties have u times as many rows.
fn sizes(seeds: u32) -> Result<(), Box<dyn Error>> {
    let unevenness = [1.0, 2.0, 4.0, 8.0];
    let mut all = Vec::new();
    for u in unevenness {
        for variant in ["masked-gradient", "jayaraman"] {
            let text = format!(
                "
                name: {variant}, u = {u}
                seed: 1
                repeat: {seeds}
                topology: {{star: {{peers: 9}}}}
                data:
                  source: {{linear-logistic: {{dimension: 10, norm: 4}}}}
                  samples: {{total: 40000}}
                  partition: {{two-groups: {{unevenness: {u}}}}}
                  without: [0]
                model: {{loss: logistic, regularisation: 0}}
                privacy: {{delta: 1.0e-5}}
                protocol:
                  weighted-erm: {{variant: {variant}, steps: 100, step: 4, noise: {{epsilon: 0.5}}}}
                measure: {{what: [optimum], every: 1000000}}"
            );
            all.push(Checked::from_text(variant, &text)?);
        }
    }
    let outcomes = run_all(&all)?;
    let mut table = Table::new([
        Column::text("u = n_max/n_min"),
        Column::text("masked-gradient: gap"),
        Column::text("jayaraman: gap"),
        Column::text("ratio of the gaps"),
        Column::text("((1 + u)/2)²"),
    ]);
    for (u, pair) in unevenness.iter().zip(outcomes.chunks(2)) {
        // The seeds have the same rows and the same draws of noise.
        let ratios = pair[1].gap.iter().zip(&pair[0].gap).map(|(a, b)| a / b);
        let ratios: Vec<f64> = ratios.collect();
        table.row(
            [
                u.to_string(),
                shown(&pair[0].gap),
                shown(&pair[1].gap),
                shown(&ratios),
                format!("{:.2}", (0.5 * (1.0 + u)).powi(2)),
            ]
            .map(Into::into),
        );
    }
    println!("{}", table.to_markdown());
    Ok(())
}
