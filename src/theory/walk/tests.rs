//! Bounds against golden values, hops against closed forms and each other.

use serde_json::Value;

use super::*;
use crate::random::{Family, Purpose, Streams};
use crate::topology::{
    Density, Topology, Walk, barabasi_albert, complete, erdos_renyi, grid, path, ring,
};
use crate::units::Seed;

const WALKS: [Walk; 4] = [Walk::Uniform, Walk::Simple, Walk::Metropolis, Walk::NonBacktracking];

fn golden() -> Value {
    serde_json::from_str(include_str!("../../../tests/golden/walk-theory.json")).unwrap()
}

/// 60,000 samples in updates of 50, once, at ε = 1.
fn run(dimension: u32) -> WalkRun {
    WalkRun {
        samples: 60_000,
        batch: 50,
        updates: 1_200,
        dimension,
        radius: 10.0,
        gradient: 1.0,
        lipschitz: 1.0,
        noise: WalkNoise::classic(Epsilon(1.0), Delta(60_000_f64.powi(-2)), 1.0, 50),
        uses: 1,
        largest_step: 0.5,
    }
}

fn assert_golden(entry: &Entry<WalkBound>, key: &str) {
    let (golden, bound) = (golden(), entry.value.as_ref().unwrap());
    let expected = |term: &str| golden[key].get(term).map_or(0.0, |value| value.as_f64().unwrap());
    for (found, term) in [
        (bound.start, "init"),
        (bound.gradient, "grad"),
        (bound.privacy, "priv"),
        (bound.without_replacement, "rad"),
        (bound.total, "total"),
    ] {
        let expected = expected(term);
        assert!((found - expected).abs() <= 1e-10 * expected.max(1.0), "{key} {term}: {found}");
    }
}

#[test]
fn bounds_have_their_golden_values() {
    assert_golden(&run(1).convex(0.1), "thm3 R=10 B=1 eta=.1 d=1 (printed)");
    assert_golden(&run(51).convex(0.1), "thm3 R=10 B=1 eta=.1 d=51");
    assert_golden(&run(1).strongly_convex(1e-4), "thm4 gam=1e-4 B=1 d=1 (printed)");
    assert_golden(&run(51).strongly_convex(1e-4), "thm4 gam=1e-4 B=1 d=51");
    let decided = run(51).with_decisions(0.1, 10, 0.5);
    assert_golden(&decided, "thm6 R=10 M=10 pG=.5 eta=.1 d=51");
    let best = golden()["thm3 best eta R=10 d=51"].as_f64().unwrap();
    assert!((run(51).best_step().value.unwrap() - best).abs() < 1e-10);
    assert!(decided.holds && run(51).convex(0.1).holds);
}

#[test]
fn no_step_has_a_lower_convex_bound_than_the_best() {
    let run = run(51);
    let total = |step: f64| run.convex(step).value.unwrap().total;
    let best = run.best_step().value.unwrap();
    for factor in [0.5, 0.99, 1.01, 2.0] {
        assert!(total(best) < total(factor * best), "{factor}");
    }
}

#[test]
fn the_classic_noise_is_one_of_a_ratio() {
    // c = √(2 ln(1.25/δ)) deviations per unit of sensitivity and ε.
    let ratio = (2.0 * 1.25e5_f64.ln()).sqrt() / 0.5;
    let classic = WalkNoise::classic(Epsilon(0.5), Delta(1e-5), 3.0, 20).0;
    assert!((classic / WalkNoise::of_ratio(ratio, 3.0, 20).0 - 1.0).abs() < 1e-12);
    let written_out = 8.0 * 1.25e5_f64.ln() * 9.0 / 100.0;
    assert!((classic / written_out - 1.0).abs() < 1e-12);
}

#[test]
fn a_bound_says_which_condition_fails() {
    let fails = |entry: Entry<WalkBound>| {
        assert!(!entry.holds);
        entry.value.map(|bound| bound.fails)
    };
    let twice = WalkRun { uses: 2, ..run(51) };
    assert_eq!(fails(twice.convex(0.1)), Ok(vec!["a sample is used more than once"]));
    assert!(run(51).convex(0.6).holds, "without local models no step is too large");
    let bold = run(51).with_decisions(0.6, 10, 0.5);
    assert_eq!(fails(bold), Ok(vec!["the step is above ½/(1 + λ)"]));
    let capped = fails(run(51).strongly_convex(1e-4)).unwrap();
    assert!(capped.len() == 1 && capped[0].contains("2/(γt)"), "{capped:?}");

    // One update more than there are samples for: the convex term has no root, the strongly convex
    // logarithm is infinite.
    let longer = WalkRun { updates: 1_201, ..run(51) };
    assert!(fails(longer.convex(0.1)).unwrap_err().contains("bT is above n"));
    assert!(fails(longer.strongly_convex(1e-4)).unwrap_err().contains("b(T − 1) below n"));
    for broken in [
        WalkRun { updates: 0, ..run(51) },
        WalkRun { radius: f64::NAN, ..run(51) },
        WalkRun { noise: WalkNoise(f64::INFINITY), ..run(51) },
    ] {
        assert!(fails(broken.convex(0.1)).is_err() && fails(broken.strongly_convex(0.1)).is_err());
        assert!(broken.best_step().value.is_err());
    }
    assert!(fails(run(51).convex(f64::NAN)).is_err());
    assert!(fails(run(51).with_decisions(0.1, 10, f64::NAN)).is_err());
}

fn family(seed: u64) -> Family {
    Streams::new(Seed(seed), 0).family(Purpose::Forecast, 0)
}

fn hops(graph: &Topology, walk: Walk, batches: &[u32], updates: u64) -> Hops {
    expected_hops(graph, walk, batches, updates, 2_000, family(1)).unwrap()
}

#[test]
fn closed_forms_agree_with_simulated_walks() {
    let shuffled = {
        // A ring whose peers are not numbered along it: 0-3-1-4-2-0.
        let mut graph = petgraph::graph::UnGraph::<(), crate::topology::Link>::default();
        for _ in 0..5 {
            graph.add_node(());
        }
        for (a, b) in [(0_u32, 3_u32), (3, 1), (1, 4), (4, 2), (2, 0)] {
            graph.add_edge(a.into(), b.into(), crate::topology::Link::default());
        }
        Topology::new(&graph, None).unwrap()
    };
    let nb = Walk::NonBacktracking;
    for (graph, walk, batches, updates) in [
        (complete(1).unwrap(), Walk::Simple, vec![7], 7),
        (complete(1).unwrap(), Walk::Uniform, vec![7], 7),
        (path(2).unwrap(), Walk::Simple, vec![3, 9], 12),
        (path(2).unwrap(), Walk::Metropolis, vec![5, 0], 5),
        (path(2).unwrap(), nb, vec![4, 6], 7),
        (path(2).unwrap(), Walk::Uniform, vec![6, 6], 12),
        (ring(6).unwrap(), nb, vec![4; 6], 24),
        (ring(6).unwrap(), nb, vec![4; 6], 15),
        (ring(7).unwrap(), nb, vec![3, 0, 5, 1, 0, 9, 2], 20),
        (ring(7).unwrap(), nb, vec![3, 0, 5, 1, 0, 9, 2], 11),
        (shuffled, nb, vec![1, 2, 7, 4, 0], 14),
        (complete(5).unwrap(), Walk::Uniform, vec![1; 5], 5),
        (complete(5).unwrap(), Walk::Uniform, vec![2, 0, 2, 2, 0], 6),
        (complete(9).unwrap(), Walk::Uniform, vec![30; 9], 270),
        (complete(49).unwrap(), Walk::Uniform, vec![24; 49], 1_176),
        (ring(7).unwrap(), Walk::Uniform, vec![5; 7], 35),
        (path(5).unwrap(), Walk::Uniform, vec![3, 0, 3, 0, 3], 9),
    ] {
        let exact = closed_form_hops(&graph, walk, &batches, updates).unwrap();
        let found = hops(&graph, walk, &batches, updates);
        let error = found.deviation / f64::from(found.samples).sqrt();
        let what = format!("{walk:?} {batches:?} {updates}: {exact}, {found:?}");
        assert!((found.mean - exact).abs() <= 5.0 * error + 1e-9, "{what}");
    }
}

#[test]
fn uniform_picks_of_two_peers_have_the_mean_that_counting_gives() {
    // E[m][n][who]: hops to come when the peers have m and n left and `who` holds the token.
    const C: usize = 6;
    let mut to_come = [[[0.0_f64; 2]; C + 1]; C + 1];
    for m in 0..=C {
        for n in 0..=C {
            for who in 0..2 {
                let first = |e: &[[[f64; 2]; C + 1]; C + 1]| f64::from(who != 0) + e[m - 1][n][0];
                let second = |e: &[[[f64; 2]; C + 1]; C + 1]| f64::from(who != 1) + e[m][n - 1][1];
                to_come[m][n][who as usize] = match (m, n) {
                    (0, 0) => 0.0,
                    (_, 0) => first(&to_come),
                    (0, _) => second(&to_come),
                    _ => 0.5 * (first(&to_come) + second(&to_come)),
                };
            }
        }
    }
    let exact = to_come[C - 1][C][0];
    let batches = [C as u32; 2];
    let found = closed_form_hops(&complete(2).unwrap(), Walk::Uniform, &batches, 12).unwrap();
    assert!((found - exact).abs() < 1e-6, "{found}, {exact}");
}

#[test]
fn what_has_no_closed_form_has_none() {
    let (ring, complete) = (ring(6).unwrap(), complete(6).unwrap());
    assert_eq!(closed_form_hops(&ring, Walk::Simple, &[4; 6], 24), None);
    assert_eq!(closed_form_hops(&complete, Walk::NonBacktracking, &[4; 6], 24), None);
    assert_eq!(closed_form_hops(&complete, Walk::Uniform, &[4, 4, 4, 4, 4, 5], 25), None);
    assert_eq!(closed_form_hops(&complete, Walk::Uniform, &[4; 6], 20), None);
}

/// The mean hops of every walk with 49 peers of 24 batches.
fn of_all_walks(graph: &Topology) -> [Hops; 4] {
    WALKS.map(|walk| expected_hops(graph, walk, &[24; 49], 1_176, 400, family(2)).unwrap())
}

#[test]
fn walks_to_use_all_data_are_as_long_as_an_independent_simulation_found() {
    // How many runs the other simulation's figures are means of is not known. Two deviations of a
    // single run is a loose check; the closed forms are the sharp ones.
    for (name, graph, expected) in [
        ("complete", complete(49).unwrap(), [1_138.0, 1_817.0, 1_736.0, 1_780.0]),
        ("ring", ring(49).unwrap(), [14_202.0, 3_994.0, 4_050.0, 1_175.0]),
        ("grid", grid(7, 7).unwrap(), [5_274.0, 3_060.0, 2_278.0, 2_428.0]),
    ] {
        for (found, (walk, expected)) in of_all_walks(&graph).iter().zip(WALKS.iter().zip(expected))
        {
            let off = (found.mean - expected).abs();
            assert!(off <= 2.0 * found.deviation, "{name} {walk:?} {expected}: {found:?}");
        }
    }
}

#[test]
fn on_irregular_graphs_a_metropolis_walk_wastes_the_fewest_hops() {
    for seed in 0..3 {
        let streams = Streams::new(Seed(seed), 0);
        let graphs = [
            erdos_renyi(49, Density::Probability(0.12), &streams).unwrap(),
            barabasi_albert(49, 2, &streams).unwrap(),
        ];
        for graph in graphs {
            let [uniform, simple, metropolis, forward] = of_all_walks(&graph).map(|hops| hops.mean);
            assert!(metropolis < uniform && uniform < simple.min(forward));
        }
    }
}

#[test]
fn hops_are_updates_and_forwards_less_the_first_where_nobody_stays() {
    let graph = grid(3, 4).unwrap();
    let batches = [2, 5, 0, 1, 9, 3, 3, 0, 0, 2, 4, 1];
    for walk in [Walk::Simple, Walk::NonBacktracking] {
        let found = hops(&graph, walk, &batches, 20);
        assert!((found.mean - (19.0 + found.forwards_mean)).abs() < 1e-9, "{walk:?} {found:?}");
    }
}

#[test]
fn hops_that_cannot_be_foretold_say_why() {
    let graph = ring(6).unwrap();
    let why = |batches: &[u32], samples| {
        expected_hops(&graph, Walk::Simple, batches, 9, samples, family(3)).unwrap_err()
    };
    assert!(why(&[2; 6], 1).contains("two"));
    assert!(why(&[2; 5], 9).contains("every peer"));
    let far = expected_hops(&ring(5_000).unwrap(), Walk::Uniform, &[1; 5_000], 9, 9, family(3));
    assert!(far.unwrap_err().contains("too large"));
    let nothing = hops(&graph, Walk::Simple, &[0; 6], 9);
    assert_eq!((nothing.mean, nothing.high, nothing.forwards_mean), (0.0, 0.0, 0.0));
}
