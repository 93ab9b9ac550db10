//! One seed, one result on any number of ranks. They are threads of this process: what they say to each
//! other is what ranks under MPI say.

use std::sync::atomic::AtomicBool;

use hushmesh::experiment::{
    ExperimentError, Leader, Options, RunDirectory, RunResult, common_workers, execute, follow,
    resolve,
};
use hushmesh::network::InProcess;
use hushmesh::report::run::write_files;
use hushmesh::scenario::{Checked, Graph};

use crate::determinism::{
    A_GRAPH_PER_REPEAT, DESCENT_OVER_LOSSY_LINKS, EVERY_NOISE, FEDERATED_WITH_LOCAL_STEPS_CHOSEN,
    GOSSIP_AMONG_STRAGGLERS, LOSSY_RING, MANY_WHO_POST, MASKED_SUMS_OVER_LOSSY_LINKS, NARROW_GRID,
    NEIGHBOURS_FAR_APART_IN_NUMBER, NOISE_UNTIL_THE_BUDGET_IS_SPENT, QUERIES_OF_SEVERAL_LEARNERS,
    RANDOM_LATENCY_ON_A_STAR, STRAGGLERS_THAT_ALL_KNOW_EACH_OTHER, TRACKING_AMONG_STRAGGLERS,
    WALKS_SIDE_BY_SIDE,
};
use crate::workbench::{SCENARIO, Workbench};

/// What rank 0 came to; `checked` says what each rank has read.
fn on_ranks<'a>(
    home: (usize, usize),
    checked: impl Fn(usize) -> &'a Checked + Sync,
) -> Result<RunResult, ExperimentError> {
    on_ranks_into(home, checked, None)
}

/// The same, which keeps what it comes to in a directory.
fn on_ranks_into<'a>(
    (ranks, workers): (usize, usize),
    checked: impl Fn(usize) -> &'a Checked + Sync,
    directory: Option<&RunDirectory>,
) -> Result<RunResult, ExperimentError> {
    on_ranks_until(&AtomicBool::new(false), (ranks, workers), checked, directory)
}

/// The same, until it is interrupted.
fn on_ranks_until<'a>(
    interrupt: &AtomicBool,
    (ranks, workers): (usize, usize),
    checked: impl Fn(usize) -> &'a Checked + Sync,
    directory: Option<&RunDirectory>,
) -> Result<RunResult, ExperimentError> {
    let ends = InProcess::run(ranks, |ranks| {
        let checked = checked(ranks.rank());
        let options = Options { workers: Some(workers) };
        let workers = common_workers(ranks, options, checked.scenario())?;
        if ranks.rank() > 0 {
            follow(ranks, workers, checked, interrupt)?;
            return Ok(None);
        }
        let mut checked = checked.clone();
        let leader = Leader::new(ranks, workers).with_graph(checked.let_go_of_graph());
        let resolved = leader.resolve(&checked)?;
        leader.execute(&checked, resolved, directory, interrupt, &mut |_| {}).map(Some)
    });
    let first = ends.into_iter().next().expect("at least one rank");
    first.map(|result| result.expect("rank 0 has the result"))
}

/// All that files are made of. Figures are compared by what they look like: NaN is not equal to itself.
fn told(result: &RunResult) -> String {
    let RunResult { scenario, prediction, repeats, statement, observed, topology, .. } = result;
    let graph = (topology.peers(), topology.links(), topology.names());
    format!("{scenario:#?} {prediction:#?} {repeats:#?} {statement:#?} {observed:#?} {graph:?}")
}

fn is_one_result(case: &[&str]) {
    is_one_result_in(&Workbench::new(), case);
}

fn is_one_result_in(bench: &Workbench, case: &[&str]) {
    let changes = case.iter().copied().chain(["repeat=2"]).map(String::from);
    let (path, changes) = (bench.path(SCENARIO), changes.collect::<Vec<_>>());
    let checked = Checked::load(&path, &changes).unwrap();
    // What ranks read: one other than 0 has the graph from rank 0, or builds its part of it; so does rank 0.
    let led = Checked::load_with(&path, &changes, Graph::Led).unwrap();
    let counted = Checked::load_with(&path, &changes, Graph::Counted).unwrap();
    let never = AtomicBool::new(false);
    let (resolved, options) = (resolve(&checked).unwrap(), Options { workers: Some(2) });
    let alone = execute(&checked, resolved, options, None, &never, &mut |_| {}).unwrap();
    for home in [(1, 1), (2, 1), (2, 2), (3, 1), (4, 2)] {
        let together = on_ranks(home, |rank| if rank == 0 { &led } else { &counted }).unwrap();
        assert_eq!(together.fingerprint, alone.fingerprint, "{home:?}");
        assert_eq!(told(&together), told(&alone), "{home:?}");
    }
}

#[test]
fn admm_on_ranks() {
    is_one_result(LOSSY_RING);
    is_one_result(NARROW_GRID);
    is_one_result(STRAGGLERS_THAT_ALL_KNOW_EACH_OTHER);
}

#[test]
fn admm_that_stops_early_on_ranks() {
    is_one_result(RANDOM_LATENCY_ON_A_STAR);
    is_one_result(NOISE_UNTIL_THE_BUDGET_IS_SPENT);
}

#[test]
fn posts_and_other_places_on_ranks() {
    is_one_result(MANY_WHO_POST);
    is_one_result(NEIGHBOURS_FAR_APART_IN_NUMBER);
}

/// Of more peers than are filmed rows stay on ranks: what they have in common is found there. These stand
/// in another order than that of their numbers.
#[test]
fn rows_of_many_peers_stay_on_ranks() {
    is_one_result(&[
        "topology={random-geometric: {peers: 1100, radius: 0.08}}",
        "data={source: {linear-logistic: {dimension: 3, norm: 2}}, samples: {per-peer: 3}, \
         partition: {dirichlet-sizes: {alpha: 1}}, test_share: 0.1, preprocess: [unit-sphere]}",
        "protocol.admm={penalty: 0.2, rounds: 6, objective_noise: {gaussian: {deviation: 1}}}",
        "network.links.latency={min: 0.001, extra: {uniform: 0.01}}",
        "measure={every: 2, test_peers: 300, \
         what: [consensus, optimum, risk, train, test, average, privacy]}",
    ]);
}

#[test]
fn many_peers_stop_early_on_ranks() {
    let many = "topology={torus: {rows: 30, columns: 35}}";
    let rows = "data={source: {linear-regression: {dimension: 2, norm: 1, noise: 0.1, bound: 2}}, \
                samples: {per-peer: 2}, preprocess: [unit-sphere]}";
    let late = "network.links.latency={min: 0.001, extra: {uniform: 0.01}}";
    let what = "measure.what=[consensus, risk, privacy]";
    let rounds = "protocol.admm.rounds=40";
    let gap = "measure.stop={consensus_gap: 0.5}";
    is_one_result(&[many, rows, "model.loss=squared", late, what, rounds, gap]);
    let noise = "protocol.admm.primal_noise={deviation: 2, decay: 0.95}";
    let budget = "measure.stop={epsilon: 6}";
    let classes = "data={source: {linear-logistic: {dimension: 2, norm: 1}}, samples: {per-peer: 2}, \
                   preprocess: [unit-sphere]}";
    is_one_result(&[many, classes, late, what, rounds, noise, budget]);
    let steep = "protocol={gradient-descent: {step: 1.0e+6, rounds: 60}}";
    is_one_result(&[many, rows, "model.loss=squared", late, what, steep]);
}

/// Rank 0 reads how many peers and links there are, and no row, where everybody makes its own part; what it
/// has read of other graphs it lets go of. Neither where the graph is drawn, or theory looks at it.
#[test]
fn rank_0_has_no_more_of_a_large_graph_than_others() {
    let bench = Workbench::new();
    let rows = |changes: &[&str]| {
        let changes: Vec<String> = changes.iter().copied().map(String::from).collect();
        let path = bench.path(SCENARIO);
        let mut led = Checked::load_with(&path, &changes, Graph::Led).unwrap();
        let whole = Checked::load(&path, &changes).unwrap();
        let read = led.topology().is_whole();
        let lent = led.let_go_of_graph();
        assert_eq!(led.topology().links(), whole.topology().links(), "{changes:?}");
        assert!(lent.is_none_or(|graph| graph == *whole.topology()), "{changes:?}");
        (read, led.topology().is_whole())
    };
    for by_number in ["{ring: {peers: 1001}}", "{torus: {rows: 40, columns: 30}}"] {
        assert_eq!(rows(&[&format!("topology={by_number}")]), (false, false));
    }
    let random = "topology={random-regular: {peers: 1200, degree: 4}}";
    assert_eq!(rows(&[random]), (true, false));
    let many = "topology={ring: {peers: 1001}}";
    assert_eq!(rows(&["topology={ring: {peers: 1000}}"]), (true, true));
    assert_eq!(rows(&[many, "protocol.admm.penalty=auto"]), (true, true));
    let walk = "protocol={walk-sgd: {walk: simple, batch: 2, step: {constant: 0.1}}}";
    assert_eq!(rows(&[many, walk, "measure.what=[risk]"]), (false, false));
    assert_eq!(rows(&[random, walk, "measure.what=[risk]"]), (true, false));
    let anywhere = walk.replace("simple", "uniform");
    assert_eq!(rows(&[many, &anywhere, "measure.what=[risk]"]), (true, true));
    let sums = "protocol={federated: {variant: published, steps: 1, communications: 1}}";
    let cut = "data={source: twonorm, samples: {per-peer: 1}, preprocess: [unit-sphere]}";
    assert_eq!(rows(&[many, sums, cut]), (false, false));
    assert_eq!(rows(&[random, sums, cut]), (true, false));
}

/// Their names are on rank 0 alone, which has no row of the file's graph in the end.
#[test]
fn many_peers_with_names_on_ranks() {
    let bench = Workbench::new();
    let link = |k: usize| format!("p{} p{}\n", k * 7 % 1100, (k + 1) * 7 % 1100);
    bench.write("links.txt", (0..1100).map(link).collect::<String>());
    let few = "data={source: twonorm, samples: {per-peer: 2}}";
    let what = "measure.what=[consensus, privacy]";
    is_one_result_in(&bench, &["topology={file: links.txt}", few, what, "protocol.admm.rounds=3"]);
    let targets = "data={source: {linear-regression: {dimension: 2, norm: 1, noise: 0.1, bound: 2}}, \
                   samples: {per-peer: 2}, preprocess: [unit-sphere]}";
    let steep = "protocol={gradient-descent: {step: 1.0e+6, rounds: 60}}";
    let squared = "model.loss=squared";
    is_one_result_in(&bench, &["topology={file: links.txt}", targets, squared, what, steep]);
}

/// Their models are in a file as soon as they are known, and every other file is made from it: the same
/// bytes as where a process had them all, and as where another process goes on with the second repeat.
#[test]
fn files_of_many_peers_are_the_same_from_ranks() {
    let bench = Workbench::new();
    let changes = [
        "topology={ring: {peers: 20000}}",
        "data={source: twonorm, samples: {per-peer: 1}, test_share: 0.01}",
        "protocol.admm.rounds=2",
        "measure.what=[consensus, risk, train]",
        "repeat=2",
    ];
    let checked = Checked::load(&bench.path(SCENARIO), &changes.map(String::from)).unwrap();
    let led =
        Checked::load_with(&bench.path(SCENARIO), &changes.map(String::from), Graph::Led).unwrap();
    let never = AtomicBool::new(false);
    let create = |name: &str| RunDirectory::create(&bench.path(name), false).unwrap();
    let written = |result: &RunResult, directory: RunDirectory| {
        write_files(result, "", None, &directory, false).unwrap();
        let read = |file| std::fs::read(directory.unfinished().join(file)).unwrap();
        ["peers.csv", "model.npy", "metrics.csv", "report.json"].map(read)
    };
    let directory = create("alone");
    let resolved = || resolve(&checked).unwrap();
    let options = Options { workers: Some(2) };
    let alone =
        execute(&checked, resolved(), options, Some(&directory), &never, &mut |_| {}).unwrap();
    let expected = written(&alone, directory);
    for home in [(2, 1), (3, 2)] {
        let directory = create(&format!("ranks-{}", home.0));
        let led = |_| &led;
        let together = on_ranks_into(home, led, Some(&directory)).unwrap();
        assert_eq!(together.fingerprint, alone.fingerprint, "{home:?}");
        assert!(together.repeats.iter().all(|repeat| repeat.states.is_empty()));
        assert!(!together.topology.is_whole());
        // The first repeat was kept and the second is run again: the same ranks find the same.
        std::fs::remove_file(directory.unfinished().join("repeat-1.json")).unwrap();
        let resumed = on_ranks_into(home, led, Some(&directory)).unwrap();
        assert_eq!(told(&resumed), told(&together), "{home:?}");
        // All repeats are there: nothing runs any more.
        let again =
            execute(&checked, resolved(), options, Some(&directory), &never, &mut |_| {}).unwrap();
        assert_eq!(again.fingerprint, alone.fingerprint, "{home:?}");
        assert!(written(&together, directory) == expected, "{home:?}");
    }
}

/// Links of a file have latencies of their own, which ranks other than 0 hear of from rank 0.
#[test]
fn a_file_with_latencies_of_its_own_on_ranks() {
    let bench = Workbench::new();
    let link = |k: usize| {
        let (a, b) = (k * 5 % 13, (k + 1) * 5 % 13);
        format!("  - [p{a}, p{b}, {{latency: 0.00{}}}]\n  - [p{a}, p{}]\n", 1 + k % 7, (a + 6) % 13)
    };
    let names: Vec<String> = (0..13).map(|k| format!("p{k}")).collect();
    let links: String = (0..13).map(link).collect();
    bench.write("graph.yaml", format!("peers: [{}]\nlinks:\n{links}", names.join(", ")));
    for compute in
        ["network.compute={seconds_per_sample: 0.001}", "network.links.latency={min: 0.002}"]
    {
        is_one_result_in(&bench, &["topology={file: graph.yaml}", compute]);
    }
}

#[test]
fn noise_and_graphs_of_each_repeat_on_ranks() {
    is_one_result(EVERY_NOISE);
    is_one_result(A_GRAPH_PER_REPEAT);
}

#[test]
fn gradients_on_ranks() {
    is_one_result(DESCENT_OVER_LOSSY_LINKS);
    is_one_result(TRACKING_AMONG_STRAGGLERS);
}

#[test]
fn walks_on_ranks() {
    is_one_result(WALKS_SIDE_BY_SIDE);
    is_one_result(&[
        "topology={barabasi-albert: {peers: 9, links: 2}}",
        "data={source: {clusters: {classes: 3, dimension: 4, separation: 3}}, \
         samples: {per-peer: 12}, test_share: 0.2, preprocess: [intercept, unit-sphere]}",
        "protocol={walk-sgd: {walk: uniform, batch: 2, step: {constant: 0.1}, radius: 5, \
         noise: {epsilon: 1}}}",
        "measure.what=[optimum, risk, train, test, average, privacy, walk]",
    ]);
}

#[test]
fn sums_on_ranks() {
    is_one_result(MASKED_SUMS_OVER_LOSSY_LINKS);
    is_one_result(GOSSIP_AMONG_STRAGGLERS);
    is_one_result(FEDERATED_WITH_LOCAL_STEPS_CHOSEN);
    is_one_result(QUERIES_OF_SEVERAL_LEARNERS);
}

/// Rows of many parties stay on their ranks, too: rank 0 hears of some models, to score them on everybody's
/// samples, and at the end takes what each party has told.
#[test]
fn sums_of_many_parties_on_ranks() {
    let few = "data={source: twonorm, samples: {per-peer: 2}, test_share: 0.02, \
               preprocess: [unit-sphere]}";
    let what = "measure={every: 2, what: [consensus, optimum, risk, train, test, privacy]}";
    let tree = "topology={random-geometric: {peers: 1050, radius: 0.08}}";
    is_one_result(&[
        tree,
        few,
        what,
        "protocol={weighted-erm: {variant: masked-gradient, steps: 3, step: 1, noise: {epsilon: 2}, \
         sum: {root: 7, colluders: 1, masks: wires}}}",
    ]);
    is_one_result(&[
        "topology={torus: {rows: 33, columns: 32}}",
        few,
        what,
        "protocol={weighted-erm: {variant: published, steps: 3, step: 1, noise: {epsilon: 2}, \
         weight_noise: {epsilon: 1}, sum: {over: {gossip: {exchanges: 3}}}}}",
    ]);
    is_one_result(&[
        "topology={star: {peers: 1100}}",
        few,
        "measure={what: [consensus, privacy]}",
        "protocol={federated: {variant: masked, communications: 2, steps: 2, noise: {epsilon: 1}}}",
    ]);
    is_one_result(&[
        tree,
        few,
        what,
        "model.loss=hinge",
        "protocol={gradient-queries: {updates: 3, algorithm: {averaged: 0.5}, sum: {root: 3}, \
         noise: {mechanism: laplace, epsilon: 2}}}",
    ]);
}

/// Rows of many parties, uneven ones, and some that have none.
const UNEVEN: &str = "data={source: twonorm, samples: {per-peer: 3}, without: [0, 5, 1049], \
                      partition: {dirichlet-sizes: {alpha: 1}}, test_share: 0.02, \
                      preprocess: [unit-sphere]}";
const OWN_ROWS: &str = "measure={what: [consensus, risk, test, privacy]}";
const GEOMETRIC: &str = "topology={random-geometric: {peers: 1050, radius: 0.08}}";
const GRID: &str = "topology={grid: {rows: 35, columns: 30}}";

/// Nobody has the samples of all, unless models are scored on them, nor the graph that masks go over: what
/// parties count, how far addends go and what masks leave follow from what is told of all.
#[test]
fn masks_of_many_parties_on_ranks() {
    let other = "{graph: {random-regular: {peers: 1050, degree: 3}}}";
    for (topology, masks) in [(GEOMETRIC, other), (GRID, other), (GEOMETRIC, "all-pairs")] {
        let output = format!(
            "protocol={{weighted-erm: {{variant: masked-output, steps: 2, step: 0.5, \
             noise: {{epsilon: 2}}, sum: {{root: 40, masks: {masks}}}}}}}"
        );
        is_one_result(&[topology, UNEVEN, OWN_ROWS, &output]);
    }
    let wires = "protocol={federated: {variant: masked, communications: 2, steps: 2, \
                 noise: {epsilon: 1}, sum: {root: 1049, masks: wires}}}";
    is_one_result(&[GRID, UNEVEN, OWN_ROWS, wires]);
    // Where graphs are drawn anew, so are those of masks, and what they leave.
    let resampled = "topology={random-regular: {peers: 1050, degree: 4, resample: true}}";
    is_one_result(&[resampled, UNEVEN, OWN_ROWS, wires]);
}

#[test]
fn what_many_parties_count_follows_from_all_on_ranks() {
    let levels: Vec<String> = (0..1050).map(|k| (1 + k % 3).to_string()).collect();
    let queries = format!(
        "protocol={{gradient-queries: {{updates: 2, algorithm: {{averaged: 0.5}}, weights: precision, \
         noise: {{mechanism: gaussian, epsilon: [{}]}}}}}}",
        levels.join(", ")
    );
    is_one_result(&[GEOMETRIC, UNEVEN, OWN_ROWS, &queries]);
    let gossip = "protocol={federated: {variant: published, communications: 2, steps: 2, \
                  noise: {epsilon: 1}, sum: {over: {gossip: {exchanges: 2}}}}}";
    is_one_result(&[GEOMETRIC, UNEVEN, OWN_ROWS, gossip]);
    // Rank 0 looks at all, graph and samples, for the number of steps, and then has its own alone.
    let chosen = "protocol={federated: {variant: published, communications: 2, \
                  steps: auto, noise: {epsilon: 1}, sum: {root: 40}}}";
    let short = UNEVEN.replace("twonorm", "{linear-logistic: {dimension: 3, norm: 2}}");
    is_one_result(&[GEOMETRIC, &short, OWN_ROWS, chosen]);
}

/// Tokens that keep to neighbours take no more of the graph than the rows of the peers that they are at, and
/// for Metropolis the degrees beside these.
#[test]
fn walks_among_many_peers_on_ranks() {
    let classes = "data={source: {clusters: {classes: 3, dimension: 4, separation: 3}}, \
                   samples: {per-peer: 4}, test_share: 0.02, preprocess: [intercept, unit-sphere]}";
    let all = "measure={every: 20, what: [optimum, risk, train, test, average, privacy, walk]}";
    let few = "measure={every: 20, what: [test, privacy, walk]}";
    let walk = |walk: &str, more: &str| {
        format!(
            "protocol={{walk-sgd: {{walk: {walk}, batch: 2, updates: 100, step: {{constant: 0.1}}, \
             noise: {{epsilon: 1}}{more}}}}}"
        )
    };
    let metropolis = walk("metropolis", ", radius: 5");
    is_one_result(&[GEOMETRIC, UNEVEN, all, &metropolis]);
    is_one_result(&[GEOMETRIC, classes, few, &metropolis]);
    is_one_result(&[GRID, UNEVEN, few, &metropolis]);
    let decides = ", decision: {random: {global: 0.5}}";
    is_one_result(&[GRID, UNEVEN, few, &walk("non-backtracking", decides)]);
    is_one_result(&[GEOMETRIC, classes, few, &walk("simple", decides)]);
    let repeated = "data={source: twonorm, samples: {total: 900}, partition: {with-repetition: {rows: 3}}, \
                    test_share: 0.02, preprocess: [unit-sphere]}";
    is_one_result(&["topology={star: {peers: 1100}}", repeated, few, &walk("simple", "")]);
    // A token that goes to anybody takes the whole graph.
    is_one_result(&[GRID, UNEVEN, few, &walk("uniform", "")]);
}

/// The statement of a run that ended before it began is that of repeats which ranks assemble together.
#[test]
fn many_peers_interrupted_before_they_begin_on_ranks() {
    let masked = "protocol={federated: {variant: masked, communications: 2, steps: 2, \
                  noise: {epsilon: 1}, sum: {masks: wires}}}";
    let walk = "protocol={walk-sgd: {walk: metropolis, batch: 2, updates: 20, step: {constant: 0.1}, \
                noise: {epsilon: 1}}}";
    let bench = Workbench::new();
    for protocol in [masked, walk] {
        let changes = [GEOMETRIC, UNEVEN, "measure.what=[test, privacy]", protocol, "repeat=2"];
        let (path, changes) = (bench.path(SCENARIO), changes.map(String::from));
        let read = |graph| Checked::load_with(&path, &changes, graph).unwrap();
        let [whole, led, counted] = [Graph::Whole, Graph::Led, Graph::Counted].map(read);
        let (at_once, options) = (AtomicBool::new(true), Options { workers: Some(1) });
        let resolved = resolve(&whole).unwrap();
        let alone = execute(&whole, resolved, options, None, &at_once, &mut |_| {}).unwrap();
        let checked = |rank| if rank == 0 { &led } else { &counted };
        let together = on_ranks_until(&at_once, (3, 1), checked, None).unwrap();
        assert!(together.interrupted && together.repeats.is_empty());
        assert_eq!(told(&together), told(&alone), "{protocol}");
    }
}

#[test]
fn rows_that_do_not_stay_in_memory_on_ranks() {
    is_one_result(&["data.keep=false", "measure.what=[consensus, risk, train, test]"]);
    is_one_result(&["data.partition=replicated", "data.keep=false"]);
    is_one_result(&["data.partition=replicated"]);
}

/// The leader says what is wrong elsewhere, and nobody waits for good.
#[test]
fn what_one_rank_cannot_read_is_told_with_its_number() {
    let (here, there) = (Workbench::new(), Workbench::new());
    let rows: String = (0..40).map(|k| format!("{},{},{}\n", k % 7, k % 5, k % 2)).collect();
    let changes = ["data={source: {csv: {path: rows.csv, label: y}}}".to_string()];
    let checked = [&here, &there].map(|bench| {
        bench.write("rows.csv", format!("a,b,y\n{rows}"));
        Checked::load(&bench.path(SCENARIO), &changes).unwrap()
    });
    assert!(on_ranks((2, 1), |rank| &checked[rank]).is_ok());
    std::fs::remove_file(there.path("rows.csv")).unwrap();
    let error = on_ranks((2, 1), |rank| &checked[rank]).unwrap_err().to_string();
    assert!(error.starts_with("rank 1: data: ") && error.contains("rows.csv"), "{error}");
}

#[test]
fn processes_that_cannot_know_each_other_do_not_write_over_each_other() {
    let bench = Workbench::new();
    if cfg!(not(feature = "mpi")) {
        for (variable, arguments) in [
            ("OMPI_COMM_WORLD_SIZE", &["run", SCENARIO][..]),
            ("PMI_SIZE", &["run", SCENARIO, "--sweep", "seed=1,2"]),
            ("PMI_SIZE", &["compare", SCENARIO, SCENARIO]),
        ] {
            let said = bench.hushmesh_with(&[(variable, "3")], arguments);
            assert_eq!(said.code, 2, "{said:?}");
            assert!(said.stderr.contains("--features mpi"), "{said:?}");
        }
        assert!(bench.hushmesh_with(&[("PMI_SIZE", "1")], &["run", SCENARIO]).code == 0);
    }
}
