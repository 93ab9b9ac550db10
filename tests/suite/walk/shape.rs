//! What the graph changes, and what it does not: hops, and not accuracy where data is iid.

use hushmesh::experiment::RunResult;
use hushmesh::measure::Metric;
use hushmesh::random::{Purpose, Streams};
use hushmesh::theory::expected_hops;
use hushmesh::topology::Walk;
use hushmesh::units::Seed;

use super::{at_the_end, checked, error_of_mean, mean, run};

const REPEATS: usize = 10;

const GRAPHS: [(&str, &str); 5] = [
    ("complete", "{complete: {peers: 49}}"),
    ("ring", "{ring: {peers: 49}}"),
    ("grid", "{grid: {rows: 7, columns: 7}}"),
    ("Erdős–Rényi", "{erdos-renyi: {peers: 49, probability: 0.12}}"),
    ("Barabási–Albert", "{barabasi-albert: {peers: 49, links: 2}}"),
];

const NAMED: [(&str, Walk); 4] = [
    ("uniform", Walk::Uniform),
    ("simple", Walk::Simple),
    ("metropolis", Walk::Metropolis),
    ("non-backtracking", Walk::NonBacktracking),
];

/// 49 peers with 24 batches each, three classes.
fn yaml(graph: &str, walk: &str) -> String {
    format!(
        "name: shape\nseed: 2\nrepeat: {REPEATS}\ntopology: {graph}\n\
         data: {{source: {{clusters: {{classes: 3, dimension: 3, separation: 3}}}}, \
         samples: {{total: 3528}}, test_share: 0.33333333, preprocess: [unit-sphere]}}\n\
         model: {{loss: logistic, regularisation: 0}}\n\
         protocol: {{walk-sgd: {{walk: {walk}, batch: 2, step: {{constant: 0.1}}}}}}\n\
         measure: {{what: [test, walk], every: 100000}}\n"
    )
}

/// The mean hops of a token.
fn hops(result: &RunResult) -> f64 {
    mean(&at_the_end(result, Metric::Hops)) / 3.0
}

#[test]
fn the_graph_changes_hops_as_foretold_and_accuracy_within_noise() {
    // In the order of the walks: a published table's rows of graphs that are not drawn.
    let table = [
        [1138.0, 1817.0, 1736.0, 1780.0],
        [14202.0, 3994.0, 4050.0, 1175.0],
        [5274.0, 3060.0, 2278.0, 2428.0],
    ];
    let mut reference: Option<Vec<f64>> = None;
    for (graph, (name, topology)) in GRAPHS.into_iter().enumerate() {
        let mut found = [0.0; 4];
        for (place, (walk, kind)) in NAMED.into_iter().enumerate() {
            let text = yaml(topology, walk);
            let result = run(&text);
            let samples = &result.repeats[0].samples;
            let batches: Vec<u32> = samples.iter().map(|rows| rows.div_ceil(2)).collect();
            let updates = batches.iter().copied().map(u64::from).sum();
            assert!((1150..=1200).contains(&updates), "{updates}");
            let family = Streams::new(Seed(77), 0).family(Purpose::Forecast, 0);
            let graph_of = checked(&text);
            let expected =
                expected_hops(graph_of.topology(), kind, &batches, updates, 200, family).unwrap();
            let hops = hops(&result);
            found[place] = hops;
            let off = hops / expected.mean - 1.0;
            assert!(off.abs() < 0.1, "{name}, {walk}: {hops}, not {}", expected.mean);
            if let Some(row) = table.get(graph) {
                let off = hops / row[place] - 1.0;
                assert!(off.abs() < 0.15, "{name}, {walk}: {hops}, not {}", row[place]);
            }
            let accuracy = at_the_end(&result, Metric::TestAccuracy);
            assert!(mean(&accuracy) > 0.6, "{accuracy:?}");
            let reference = reference.get_or_insert_with(|| accuracy.clone());
            let differences: Vec<f64> =
                accuracy.iter().zip(reference).map(|(a, b)| a - *b).collect();
            let (by, error) = (mean(&differences), error_of_mean(&differences));
            assert!(by.abs() <= 5.0 * error + 0.005, "{name}, {walk}: {by} ± {error}");
        }
        let [uniform, simple, metropolis, onwards] = found;
        let ordered = match name {
            "complete" => uniform < metropolis && uniform < onwards && uniform < simple,
            "ring" => onwards < simple && onwards < metropolis && simple.max(metropolis) < uniform,
            "grid" => metropolis < simple && onwards < simple && simple < uniform,
            _ => metropolis < uniform && uniform.max(metropolis) < onwards.max(simple),
        };
        assert!(ordered, "{name}: {found:?}");
    }
}
