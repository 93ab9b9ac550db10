use ndarray::{Axis, Slice, array};

use super::*;
use crate::data::{
    Clusters, CsvFile, IdxFiles, IdxPair, LabelShards, LinearLogistic, LinearRegression, Partition,
    Pca, Samples, Source, Step, WithRepetition,
};
use crate::units::{PeerId, Seed};

fn drawn(source: Source, samples: Samples) -> DataConfig {
    DataConfig { samples: Some(samples), ..DataConfig::from(source) }
}

fn run(config: &DataConfig, peers: usize, intercept: bool) -> Result<Prepared, DataError> {
    prepare(config, peers, intercept, &Streams::new(Seed(5), 0), Path::new("."))
}

fn sources() -> [Source; 6] {
    [
        Source::Twonorm,
        Source::Ringnorm,
        Source::Waveform,
        Source::LinearLogistic(LinearLogistic { dimension: 4, norm: 3.0 }),
        Source::LinearRegression(LinearRegression {
            dimension: 4,
            norm: 3.0,
            noise: 0.5,
            bound: 2.0,
        }),
        Source::Clusters(Clusters { classes: 5, dimension: 4, separation: 2.0 }),
    ]
}

#[test]
fn a_row_does_not_depend_on_how_many_there_are() {
    for source in sources() {
        let blocks = |rows| DataConfig {
            partition: Partition::Blocks,
            ..drawn(source.clone(), Samples::Total(rows))
        };
        let few = run(&blocks(10), 1, false).unwrap().train;
        let many = run(&blocks(1_000), 1, false).unwrap().train;
        let (few, many) = (few.local(PeerId(0)), many.local(PeerId(0)));
        assert_eq!(few.x, many.x.slice_axis(Axis(0), Slice::from(..10)), "{source:?}");
        assert_eq!(few.y, &many.y[..10]);
    }
}

#[test]
fn the_same_streams_give_the_same_bits_and_others_do_not() {
    for source in sources() {
        let config = DataConfig {
            test_share: 0.3,
            preprocess: vec![Step::Standardise, Step::UnitBall],
            ..drawn(source, Samples::Total(60))
        };
        let [once, again] = [(); 2].map(|()| run(&config, 7, true).unwrap());
        assert_eq!(once.train, again.train);
        assert_eq!(once.test, again.test);
        let other = config.streams(Seed(5), 1);
        let other = prepare(&config, 7, true, &other, Path::new(".")).unwrap();
        assert_ne!(once.train, other.train);

        let fixed = DataConfig { fixed: true, ..config };
        let third = fixed.streams(Seed(5), 3);
        let third = prepare(&fixed, 7, true, &third, Path::new(".")).unwrap();
        assert_eq!(once.train, third.train);
    }
}

/// The rows of a prepared run, training and held-out, as sortable bits.
fn all_rows(prepared: &Prepared) -> Vec<Vec<u64>> {
    let bits = |x: ndarray::ArrayView1<'_, f64>, y: f64| {
        x.iter().copied().chain([y]).map(f64::to_bits).collect::<Vec<_>>()
    };
    let peers = (0..prepared.train.peers()).map(PeerId::new);
    let train = peers.flat_map(|peer| {
        let local = prepared.train.local(peer);
        local.x.rows().into_iter().zip(local.y).map(|(x, &y)| bits(x, y)).collect::<Vec<_>>()
    });
    let test = prepared.test.iter().flat_map(|t| t.x.rows().into_iter().zip(&t.y));
    let mut rows: Vec<_> = train.chain(test.map(|(x, &y)| bits(x, y))).collect();
    rows.sort();
    rows
}

#[test]
fn every_row_ends_up_somewhere_once() {
    let whole = drawn(Source::Twonorm, Samples::Total(50));
    let expected = all_rows(&run(&whole, 1, false).unwrap());
    for partition in [Partition::Even, Partition::Blocks, Partition::Ratio(vec![0.0, 3.0, 1.0])] {
        let config = DataConfig { test_share: 0.3, partition, ..whole.clone() };
        let prepared = run(&config, 3, false).unwrap();
        assert_eq!(all_rows(&prepared), expected);
        assert_eq!(prepared.test.unwrap().y.len(), 15);
        assert_eq!(prepared.train.total_rows(), 35);
    }
}

#[test]
fn the_outline_tells_what_will_be_made() {
    let uneven = Partition::Ratio(vec![0.0, 3.0, 1.0, 1.0]);
    for (samples, partition) in [
        (Samples::Total(50), Partition::Even),
        (Samples::Total(2), Partition::Even),
        (Samples::PerPeer(9), Partition::Blocks),
        (Samples::PerPeer(9), uneven),
        (Samples::PerPeer(9), Partition::Replicated),
        (Samples::Total(9), Partition::Replicated),
    ] {
        for source in sources() {
            let config = DataConfig {
                test_share: 0.25,
                partition: partition.clone(),
                ..drawn(source, samples)
            };
            let outline = outline(&config, 4, true, Path::new(".")).unwrap();
            let prepared = run(&config, 4, true).unwrap();
            let rows = || (0..4).map(|i| prepared.train.rows(PeerId(i)));
            let made = Outline {
                classes: prepared.classes.len(),
                source_rows: prepared.source_rows,
                train_rows: prepared.train.total_rows(),
                test_rows: prepared.test.as_ref().map_or(0, |table| table.y.len()),
                dimension: prepared.train.dimension(),
                min_rows: rows().min().unwrap(),
                max_rows: rows().max().unwrap(),
            };
            assert_eq!(outline, made);
        }
    }
}

#[test]
fn per_peer_counts_training_rows() {
    let config = DataConfig { test_share: 0.5, ..drawn(Source::Waveform, Samples::PerPeer(6)) };
    let prepared = run(&config, 5, false).unwrap();
    assert!((0..5).all(|i| prepared.train.rows(PeerId(i)) == 6));
    assert_eq!(prepared.test.unwrap().y.len(), 30);
}

#[test]
fn peers_without_rows_leave_the_data_of_the_others_as_it_is() {
    for partition in [
        Partition::Even,
        Partition::Ratio(vec![1.0, 2.0, 1.0]),
        Partition::Replicated,
        Partition::WithRepetition(WithRepetition { rows: 30 }),
    ] {
        let config = DataConfig {
            test_share: 0.25,
            preprocess: vec![Step::Standardise],
            partition,
            ..drawn(Source::Waveform, Samples::PerPeer(6))
        };
        let alone = run(&config, 3, true).unwrap();
        let among = DataConfig { without: vec![4, 0], ..config };
        let prepared = run(&among, 5, true).unwrap();
        let whole = prepared.train.everybody();
        assert_eq!((whole.x, whole.y), (alone.train.everybody().x, alone.train.everybody().y));
        assert_eq!((prepared.test, prepared.rows), (alone.test, alone.rows));
        let rows = |i| alone.train.rows(PeerId(i));
        let found: Vec<usize> = prepared.train.ids().map(|i| prepared.train.rows(i)).collect();
        assert_eq!(found, [0, rows(0), rows(1), rows(2), 0]);
        let outlined = outline(&among, 5, true, Path::new(".")).unwrap();
        let sizes = found[1..4].iter().copied();
        assert_eq!(
            (Some(outlined.min_rows), Some(outlined.max_rows)),
            (sizes.clone().min(), sizes.max())
        );
        assert_eq!(outlined.train_rows, whole.y.len());
    }
}

#[test]
fn the_truth_is_told_where_it_still_holds() {
    let source = Source::LinearRegression(LinearRegression {
        dimension: 3,
        norm: 2.0,
        noise: 0.0,
        bound: 10.0,
    });
    let config = drawn(source, Samples::Total(40));
    let prepared = run(&config, 2, true).unwrap();
    let truth = prepared.truth.unwrap();
    assert_eq!((truth.len(), truth[3]), (4, 0.0));
    let local = prepared.train.local(PeerId(1));
    for (x, y) in local.x.rows().into_iter().zip(local.y) {
        let fitted: f64 = x.iter().zip(&truth).map(|(x, w)| x * w).sum();
        assert!((fitted - y).abs() < 1e-12);
    }
    let scaled = DataConfig { preprocess: vec![Step::UnitBall], ..config };
    assert_eq!(run(&scaled, 2, true).unwrap().truth, None);
    assert_eq!(run(&drawn(Source::Twonorm, Samples::Total(4)), 2, true).unwrap().truth, None);
}

#[test]
fn the_intercept_is_untouched_by_preprocessing_and_statistics_are_declared() {
    let config = DataConfig {
        test_share: 0.5,
        preprocess: vec![Step::Standardise, Step::UnitBall],
        ..drawn(Source::Ringnorm, Samples::Total(30))
    };
    let prepared = run(&config, 1, true).unwrap();
    assert!(prepared.train.local(PeerId(0)).x.column(20).iter().all(|&v| v == 1.0));
    let test = prepared.test.unwrap();
    assert!(test.x.column(20).iter().all(|&v| v == 1.0));
    assert_eq!(prepared.features[20], "intercept");
    assert_eq!(test.features, prepared.features);
    assert_eq!(
        prepared.declarations,
        [
            "standardise: mean and deviation of each feature over the training part",
            "unit-ball: largest row norm over the training part",
        ]
    );
    let local = prepared.train.local(PeerId(0)).x;
    let features = local.slice_axis(Axis(1), Slice::from(..20));
    let norms = features.rows().into_iter().map(|row| row.dot(&row).sqrt()).fold(0.0, f64::max);
    assert!((norms - 1.0).abs() < 1e-12);
}

#[test]
fn a_file_is_dealt_in_its_own_order_where_blocks_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.csv"), "x,y\n1,0\n2,1\n3,1\n4,0\n5,1\n").unwrap();
    let file = CsvFile::new("a.csv", "y");
    let config = DataConfig { partition: Partition::Blocks, ..DataConfig::from(Source::Csv(file)) };
    let streams = config.streams(Seed(1), 0);
    let prepared = prepare(&config, 2, true, &streams, folder.path()).unwrap();
    assert_eq!(prepared.train.local(PeerId(0)).x, array![[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]);
    assert_eq!(prepared.train.local(PeerId(1)).y, [-1.0, 1.0]);
    assert_eq!(prepared.features, ["x", "intercept"]);
    let expected = Outline {
        classes: 0,
        train_rows: 5,
        source_rows: 5,
        test_rows: 0,
        dimension: 2,
        min_rows: 2,
        max_rows: 3,
    };
    assert_eq!(outline(&config, 2, true, folder.path()), Ok(expected));

    let hungry = DataConfig { test_share: 0.95, ..config };
    let error = prepare(&hungry, 2, true, &streams, folder.path()).unwrap_err();
    assert_eq!(error, DataError::NoTrainingRows { rows: 5 });
    assert_eq!(outline(&hungry, 2, true, folder.path()), Err(error));
}

#[test]
fn what_cannot_be_made_is_refused() {
    let error = run(&DataConfig::from(Source::Twonorm), 2, false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "data.samples: missing, expected {total: …} or {per-peer: …} for a drawn source"
    );
    let source = Source::LinearLogistic(LinearLogistic { dimension: 1_000_000, norm: 1.0 });
    let config = drawn(source, Samples::Total(u32::MAX));
    let outline = outline(&config, 2, false, Path::new("."));
    assert_eq!(outline.unwrap().train_rows, u32::MAX as usize, "an outline costs nothing");
    let error = run(&config, 2, false).unwrap_err();
    assert_eq!(error.to_string(), "4294967295 rows of 1000000 columns do not fit in memory");
}

#[test]
fn an_intercept_among_the_steps_is_projected_with_the_rest() {
    let config = DataConfig {
        test_share: 0.5,
        preprocess: vec![
            Step::Pca(Pca { dimension: 3, centre: true }),
            Step::Intercept,
            Step::UnitSphere,
        ],
        ..drawn(Source::Waveform, Samples::Total(200))
    };
    let prepared = run(&config, 3, false).unwrap();
    assert_eq!(prepared.features, ["pc1", "pc2", "pc3", "intercept"]);
    let test = prepared.test.as_ref().unwrap();
    assert_eq!(test.features, prepared.features);
    for x in [prepared.train.everybody().x, test.x.view()] {
        assert!(x.rows().into_iter().all(|row| (row.dot(&row) - 1.0).abs() < 1e-12));
        assert!(x.column(3).iter().all(|&value| value > 0.0 && value < 1.0));
    }
    assert_eq!(prepared.declarations.len(), 1);
    assert_eq!(outline(&config, 3, false, Path::new(".")).unwrap().dimension, 4);

    assert_eq!(config.intercept_step().as_deref(), Some("preprocess.1"));
    let expected =
        "data.preprocess.1: model.intercept appends one already, expected only one of them";
    assert_eq!(run(&config, 3, true).unwrap_err().to_string(), expected);
    assert_eq!(outline(&config, 3, true, Path::new(".")).unwrap_err().to_string(), expected);

    let wide =
        DataConfig { preprocess: vec![Step::Pca(Pca { dimension: 22, centre: true })], ..config };
    let expected = "pca: dimension 22, expected at most the 21 features";
    assert_eq!(run(&wide, 3, false).unwrap_err().to_string(), expected);
    assert_eq!(outline(&wide, 3, false, Path::new(".")).unwrap_err().to_string(), expected);
}

#[test]
fn repeated_rows_are_counted() {
    let source = drawn(Source::Twonorm, Samples::Total(10));
    let config = DataConfig {
        partition: Partition::WithRepetition(WithRepetition { rows: 30 }),
        ..source.clone()
    };
    let prepared = run(&config, 4, false).unwrap();
    assert_eq!(prepared.train.total_rows(), 120);
    assert!(prepared.multiplicity >= 12, "120 draws of 10 rows");
    let mut rows = all_rows(&prepared);
    rows.dedup();
    let pool = all_rows(&run(&source, 1, false).unwrap());
    assert!(rows.iter().all(|row| pool.contains(row)));
    let outline = outline(&config, 4, false, Path::new(".")).unwrap();
    assert_eq!((outline.train_rows, outline.min_rows, outline.max_rows), (120, 30, 30));
    assert_eq!(run(&source, 4, false).unwrap().multiplicity, 1);
}

#[test]
fn every_dealt_row_says_which_row_of_the_source_it_is() {
    let whole =
        DataConfig { partition: Partition::Blocks, ..drawn(Source::Waveform, Samples::Total(40)) };
    let original = run(&whole, 1, false).unwrap();
    assert!(original.rows.iter().copied().eq(0..40), "one block in the source's order");
    let original = original.train.everybody();
    for partition in [
        Partition::Even,
        Partition::LabelShards(LabelShards { per_peer: 2 }),
        Partition::WithRepetition(WithRepetition { rows: 30 }),
        Partition::Replicated,
    ] {
        let config = DataConfig { test_share: 0.3, partition, ..whole.clone() };
        let prepared = run(&config, 3, false).unwrap();
        assert_eq!(prepared.source_rows, 40);
        assert_eq!(prepared.rows.len(), prepared.train.total_rows());
        let dealt = prepared.train.everybody();
        for ((&r, x), &y) in prepared.rows.iter().zip(dealt.x.rows()).zip(dealt.y) {
            assert_eq!((x, y), (original.x.row(r as usize), original.y[r as usize]));
        }
    }
}

#[test]
fn labels_of_drawn_rows_are_known_before_they_are_dealt() {
    let config = DataConfig {
        partition: Partition::LabelShards(LabelShards { per_peer: 1 }),
        test_share: 0.2,
        ..drawn(Source::Twonorm, Samples::Total(100))
    };
    let prepared = run(&config, 8, false).unwrap();
    let mixed = (0..8).map(PeerId::new).filter(|&peer| {
        let y = prepared.train.local(peer).y;
        y.iter().any(|label| label != &y[0])
    });
    assert!(mixed.count() <= 1);
}

/// Preparing each row once and copying it gives what preparing all copies would, up to the rounding
/// of statistics over more rows.
#[test]
fn replicated_rows_are_prepared_like_the_rows_of_a_single_peer() {
    let alone = DataConfig {
        test_share: 0.25,
        preprocess: vec![
            Step::Standardise,
            Step::Pca(Pca { dimension: 3, centre: true }),
            Step::UnitBall,
        ],
        partition: Partition::Blocks,
        ..drawn(Source::Waveform, Samples::Total(80))
    };
    let everywhere = DataConfig { partition: Partition::Replicated, ..alone.clone() };
    let (alone, everywhere) = (run(&alone, 1, true).unwrap(), run(&everywhere, 5, true).unwrap());
    assert_eq!((everywhere.multiplicity, everywhere.source_rows), (5, 80));
    assert_eq!(everywhere.train.total_rows(), 5 * 60);
    assert_eq!(everywhere.test, alone.test);
    let original = alone.train.everybody();
    let copies = everywhere.train.everybody();
    for ((r, x), y) in everywhere.rows.iter().zip(copies.x.rows()).zip(copies.y) {
        let place = alone.rows.iter().position(|other| other == r).unwrap();
        assert_eq!((x, y), (original.x.row(place), &original.y[place]));
    }
    for peer in everywhere.train.ids() {
        let range = peer.index() * 60..(peer.index() + 1) * 60;
        let mut numbers = everywhere.rows[range].to_vec();
        numbers.sort_unstable();
        assert_eq!(numbers, *alone.rows, "a permutation of all");
    }
}

#[test]
fn training_and_held_out_rows_share_the_classes() {
    let clusters = Source::Clusters(Clusters { classes: 4, dimension: 2, separation: 1.0 });
    let config = DataConfig { test_share: 0.5, ..drawn(clusters, Samples::Total(100)) };
    let prepared = run(&config, 3, false).unwrap();
    assert_eq!((prepared.task, prepared.truth), (Task::MultiClass, None));
    assert_eq!(prepared.classes, ["0", "1", "2", "3"]);
    let test = prepared.test.unwrap();
    for y in prepared.train.everybody().y.iter().chain(&test.y) {
        assert!([0.0, 1.0, 2.0, 3.0].contains(y));
    }
    let binary = run(&drawn(Source::Twonorm, Samples::Total(9)), 1, false).unwrap();
    assert!(binary.classes.is_empty());
}

/// Images of two pixels with these values and labels, as a pair of idx files.
fn write_idx(folder: &Path, name: &str, pixels: &[[u8; 2]], labels: &[u8]) -> IdxPair {
    let n = u8::try_from(labels.len()).unwrap();
    let images = [&[0, 0, 8, 2, 0, 0, 0, n, 0, 0, 0, 2], pixels.concat().as_slice()].concat();
    let labels = [&[0, 0, 8, 1, 0, 0, 0, n], labels].concat();
    let pair = IdxPair {
        images: format!("{name}-images").into(),
        labels: format!("{name}-labels").into(),
    };
    std::fs::write(folder.join(&pair.images), images).unwrap();
    std::fs::write(folder.join(&pair.labels), labels).unwrap();
    pair
}

#[test]
fn held_out_files_are_the_held_out_rows_and_give_no_statistic() {
    let folder = tempfile::tempdir().unwrap();
    let train = write_idx(folder.path(), "train", &[[2, 4], [6, 1], [4, 1]], &[3, 5, 3]);
    let test = write_idx(folder.path(), "test", &[[8, 8], [1, 2]], &[9, 5]);
    let files =
        IdxFiles { images: train.images, labels: train.labels, positive: None, test: Some(test) };
    let config = DataConfig {
        preprocess: vec![Step::Standardise],
        partition: Partition::Blocks,
        ..DataConfig::from(Source::Idx(files.clone()))
    };
    let streams = config.streams(Seed(1), 0);
    let prepared = prepare(&config, 1, false, &streams, folder.path()).unwrap();
    assert_eq!(prepared.classes, ["3", "5", "9"]);
    assert_eq!((&*prepared.rows, prepared.source_rows), (&[0, 1, 2][..], 5));
    assert_eq!(prepared.train.everybody().y, [0.0, 1.0, 0.0]);
    let held_out = prepared.test.unwrap();
    assert_eq!(held_out.y, [2.0, 1.0]);
    // Means 4 and 2, variances 8/3 and 2, of the training rows alone.
    let expected = array![[4.0, 6.0], [-3.0, 0.0]] / array![[(8.0_f64 / 3.0).sqrt(), 2_f64.sqrt()]];
    assert!((&held_out.x - &expected).iter().all(|e| e.abs() < 1e-12), "{:?}", held_out.x);
    let outline = outline(&config, 1, false, folder.path()).unwrap();
    assert_eq!((outline.train_rows, outline.test_rows, outline.source_rows), (3, 2, 5));

    // Without the second pair the training part is the same file, and a share of it is held out.
    let one = DataConfig {
        source: Source::Idx(IdxFiles { test: None, ..files }),
        test_share: 1.0 / 3.0,
        ..config.clone()
    };
    let prepared = prepare(&one, 1, false, &streams, folder.path()).unwrap();
    assert_eq!(prepared.classes, ["3", "5"]);
    assert_eq!((prepared.train.total_rows(), prepared.source_rows), (2, 3));

    let both = DataConfig { test_share: 0.5, ..config };
    let error = prepare(&both, 1, false, &streams, folder.path()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "data.test_share: found 0.5, but source.idx.test has the held-out rows: expected 0"
    );
}
