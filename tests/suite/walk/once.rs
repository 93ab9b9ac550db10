//! Every sample is used once in every pass by every task, and nothing is sent that is not a hop.

use hushmesh::data::Partitioned;
use hushmesh::learn::Tasks;
use hushmesh::network::Ending;
use hushmesh::protocol::walk_sgd::Cut;
use hushmesh::topology::{Topology, Walk, binary_tree, complete, path, ring, star};
use hushmesh::units::PeerId;
use ndarray::Array2;
use proptest::prelude::*;

use super::{ENGINES, Played, Stage, WALKS};

const ETA: f64 = 0.3;

/// A connected graph of so many peers: a simple one, with some more links.
fn graph(kind: usize, peers: usize, more: &[(usize, usize)]) -> Topology {
    let base = match kind {
        0 => path(peers),
        1 => star(peers),
        2 => ring(peers),
        3 => binary_tree(peers),
        _ => complete(peers),
    };
    more.iter().fold(base.unwrap(), |graph, (a, b)| {
        let with = graph.with_link(PeerId::new(a % peers), PeerId::new(b % peers));
        with.unwrap_or(graph)
    })
}

/// Rows that each have a coordinate of their own, in classes by turns.
fn one_hot(rows: &[usize], classes: u32) -> Partitioned {
    let total: usize = rows.iter().sum();
    let y = (0..total as u32).map(|row| match classes {
        1 => 1.0,
        _ => f64::from(row % classes),
    });
    let mut offsets = vec![0];
    offsets.extend(rows.iter().scan(0, |end, rows| {
        *end += rows;
        Some(*end)
    }));
    Partitioned::new(Array2::eye(total), y.collect(), offsets)
}

/// How often each task has used each row. A use in a batch of b multiplies the distance of the row's
/// own coordinate to its target by 1 − η/b, and nothing else moves it.
fn uses(stage: &Stage, played: &Played) -> Vec<Vec<f64>> {
    let (tasks, data) = (stage.parameters.tasks, &stage.data);
    let y = data.everybody().y;
    let of_task = |task: u32| {
        let models = &played.last().scored;
        let w = &models[task as usize * y.len()..][..y.len()];
        let mut counts = Vec::new();
        for peer in stage.topology.ids() {
            let cut = Cut::new(data.rows(peer), stage.parameters.batch);
            for row in 0..data.rows(peer) {
                let place = counts.len();
                let b = cut.range(cut.batch_of(row)).len() as f64;
                let left = 1.0 - w[place] * tasks.label(task, y[place]);
                counts.push(left.ln() / (1.0 - ETA / b).ln());
            }
        }
        counts
    };
    (0..tasks.count()).map(of_task).collect()
}

#[derive(Clone, Debug)]
struct Case {
    kind: usize,
    more: Vec<(usize, usize)>,
    rows: Vec<usize>,
    walk: Walk,
    batch: u32,
    passes: u32,
    tasks: u32,
    averages: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let rows = prop::collection::vec(prop_oneof![Just(0_usize), 1..3_usize, 0..13_usize], 1..8)
        .prop_filter("somebody has rows", |rows| rows.iter().any(|&rows| rows > 0));
    let more = prop::collection::vec((0..8_usize, 0..8_usize), 0..6);
    let batch = prop_oneof![Just(1_u32), 2..6_u32, Just(100)];
    let shape = (0..5_usize, more, rows, prop::sample::select(WALKS.to_vec()));
    (shape, batch, 1..4_u32, 1..5_u32, any::<bool>()).prop_map(
        |((kind, more, rows, walk), batch, passes, tasks, averages)| Case {
            kind,
            more,
            rows,
            walk,
            batch,
            passes,
            tasks,
            averages,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 80, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn every_row_is_used_once_a_pass_by_every_task(case in case()) {
        let Case { kind, more, rows, walk, batch, passes, tasks, averages } = case;
        let peers = rows.len();
        let topology = graph(kind, peers, &more);
        let kinds = if tasks == 1 { Tasks::One } else { Tasks::PerClass(tasks) };
        let data = one_hot(&rows, tasks);
        let mut stage = Stage::new(topology, data, kinds, (walk, batch, passes, ETA));
        stage.parameters.averages = averages;
        let updates = u64::from(stage.parameters.updates.0);
        let d = rows.iter().sum::<usize>();
        let bytes = 12 + 8 * d
            + if averages { 4 + 8 * d } else { 0 }
            + if walk == Walk::Uniform { 8 + 4 * peers } else { 0 };

        let first = stage.play(ENGINES[0]);
        for of_task in uses(&stage, &first) {
            for (row, uses) in of_task.iter().enumerate() {
                let off = (uses - f64::from(passes)).abs();
                prop_assert!(off < 1e-9, "row {} was used {} times", row, uses);
            }
        }
        // A peer's batches, counted by hand: rows/b, rounded half up, at least one.
        let batches = |rows: usize| match rows {
            0 => 0,
            _ => ((rows as f64 / f64::from(batch) + 0.5).floor() as u64).clamp(1, rows as u64),
        };
        let partings = &first.outcome.partings;
        for (peer, work) in partings.iter().enumerate() {
            prop_assert_eq!(work.updates, batches(rows[peer]) * u64::from(passes * tasks));
            prop_assert_eq!(work.releases, work.updates);
        }
        let row = first.last();
        prop_assert_eq!(row.journeys.len(), tasks as usize);
        for journey in &row.journeys {
            prop_assert_eq!(journey.releases, updates);
            prop_assert_eq!(journey.clear, updates);
            prop_assert_eq!(journey.bytes, journey.hops * bytes as u64);
            // Every visit but the last ends with a move: to another peer, or to the same one.
            let moves = updates + journey.forwards - 1;
            match walk {
                Walk::Simple | Walk::NonBacktracking if peers > 1 => {
                    prop_assert_eq!(journey.hops, moves);
                }
                _ => prop_assert!(journey.hops <= moves),
            }
            let holders = rows.iter().filter(|&&rows| rows > 0).count() as u64;
            prop_assert!(journey.hops + 1 >= holders);
            if peers == 1 {
                prop_assert_eq!((journey.hops, journey.forwards), (0, 0));
            }
            if walk == Walk::Uniform && stage.topology.is_complete() {
                prop_assert_eq!(journey.forwards, 0);
            }
        }
        let hops: u64 = row.journeys.iter().map(|journey| journey.hops).sum();
        let forwards: u64 = row.journeys.iter().map(|journey| journey.forwards).sum();
        prop_assert_eq!(partings.iter().map(|peer| peer.forwards).sum::<u64>(), forwards);
        prop_assert_eq!((row.messages, first.outcome.totals.messages), (hops, hops));
        prop_assert_eq!(first.outcome.totals.bytes, hops * bytes as u64);

        for engine in &ENGINES[1..] {
            let other = stage.play(*engine);
            prop_assert_eq!(other.outcome.ending, Ending::Finished);
            prop_assert_eq!(other.rows.len(), updates as usize);
            for (row, expected) in other.rows.iter().zip(&first.rows) {
                prop_assert_eq!(&row.scored, &expected.scored);
                prop_assert_eq!(&row.averages, &expected.averages);
                prop_assert_eq!(&row.journeys, &expected.journeys);
            }
            prop_assert_eq!(&other.outcome.totals, &first.outcome.totals);
            prop_assert_eq!(&other.outcome.partings, &first.outcome.partings);
        }
    }

    #[test]
    fn the_mean_that_a_token_carries_is_that_of_its_iterates(case in case()) {
        let Case { kind, more, rows, walk, batch, passes, tasks, .. } = case;
        let topology = graph(kind, rows.len(), &more);
        let kinds = if tasks == 1 { Tasks::One } else { Tasks::PerClass(tasks) };
        let data = one_hot(&rows, tasks);
        let mut stage = Stage::new(topology, data, kinds, (walk, batch, passes, ETA));
        stage.parameters.averages = true;
        let played = stage.play(ENGINES[1]);
        let mut sums = vec![0.0; played.last().scored.len()];
        for (t, row) in (1..).zip(&played.rows) {
            sums.iter_mut().zip(&row.scored).for_each(|(sum, w)| *sum += w);
            for (found, sum) in row.averages.iter().zip(&sums) {
                prop_assert!((found - sum / f64::from(t)).abs() < 1e-12, "{} at {}", found, t);
            }
        }
    }
}

#[test]
fn a_token_that_stops_early_has_used_no_row_twice() {
    for walk in WALKS {
        let rows = [3, 0, 5, 1];
        let mut stage =
            Stage::new(ring(4).unwrap(), one_hot(&rows, 1), Tasks::One, (walk, 1, 2, ETA));
        stage.parameters.updates = hushmesh::units::Round(7);
        for engine in ENGINES {
            let played = stage.play(engine);
            let uses = uses(&stage, &played).concat();
            let whole = |uses: &f64| (uses - uses.round()).abs() < 1e-9 && *uses < 2.5;
            assert!(uses.iter().all(whole), "{walk:?}: {uses:?}");
            assert!((uses.iter().sum::<f64>() - 7.0).abs() < 1e-9, "{walk:?}: {uses:?}");
        }
    }
}
