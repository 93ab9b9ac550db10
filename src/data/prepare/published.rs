//! The shipped scenarios on the data that the papers use, where it is at hand.

use std::io::Read;
use std::path::PathBuf;

use super::*;
use crate::data::file::open;
use crate::data::{Description, NamedSet, Source};
use crate::units::Seed;

/// The folder of published data, beside the project's own; it is no part of the project.
fn published() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    folder.is_dir().then_some(folder)
}

/// The `data` section of a shipped scenario, with nothing held out.
fn section(name: &str) -> DataConfig {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let scenario: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
    let data = scenario["data"].clone();
    let config: DataConfig = serde_yaml::with::singleton_map_recursive::deserialize(data).unwrap();
    assert_eq!(config.check(Some(10)), []);
    DataConfig { test_share: 0.0, ..config }
}

#[test]
fn adult_has_105_features_in_the_unit_ball() {
    let mut config = section("adult.yaml");
    let Some(folder) = published() else {
        let mut out = std::io::stdout();
        std::io::Write::write_all(&mut out, b"skipped: no published data\n").unwrap();
        return;
    };
    // To the last byte what a fetch makes: anything else is refused.
    let mut text = Vec::new();
    open(&folder.join("adult/adult.csv.gz")).unwrap().read_to_end(&mut text).unwrap();
    let cache = tempfile::tempdir().unwrap();
    std::fs::create_dir(cache.path().join("adult")).unwrap();
    std::fs::write(cache.path().join("adult/adult.csv"), text).unwrap();
    assert_eq!(config.source, Source::Adult);
    config.source = NamedSet::Adult.at_hand(cache.path()).unwrap();
    let base = Path::new("");

    let prepared = prepare(&config, 10, false, &config.streams(Seed(1), 0), base).unwrap();
    let found = Description::of(&prepared);
    assert_eq!((found.training.rows, found.features.len()), (45_222, 105));
    let share = found.training.positive_share.unwrap();
    assert_eq!((share * 1e4).round(), 2478.0);
    let norms = found.training.norms.unwrap();
    assert!((norms.greatest - 1.0).abs() < 1e-12 && norms.least > 0.0, "{norms:?}");
    let never = found.features.iter().position(|name| name == "workclass=Never-worked").unwrap();
    let x = prepared.train.everybody().x;
    assert!(x.column(never).iter().all(|&value| value == 0.0));
    // One value of each of eight categories, all divided by the same norm.
    let row: Vec<f64> = x.row(0).iter().copied().filter(|&value| value != 0.0).collect();
    let ones = row.iter().filter(|&&value| value == row[row.len() - 1]).count();
    assert!(ones >= 8, "{row:?}");
    assert_eq!(
        found.declarations,
        [
            "max-scale: largest absolute value of age, fnlwgt, education-num, capital-gain, \
             capital-loss, hours-per-week over the training part",
            "unit-ball: largest row norm over the training part",
        ]
    );
    let outline = outline(&config, 10, true, base).unwrap();
    assert_eq!((outline.train_rows, outline.dimension), (45_222, 106));
}

#[test]
fn mnist_has_51_features_on_the_unit_sphere() {
    let mut config = section("mnist.yaml");
    let Some(folder) = published() else {
        let mut out = std::io::stdout();
        std::io::Write::write_all(&mut out, b"skipped: no published data\n").unwrap();
        return;
    };
    let Source::Idx(files) = &mut config.source else { panic!("MNIST is in the idx format") };
    files.images = folder.join("mnist/train-images-idx3-ubyte.gz");
    files.labels = folder.join("mnist/train-labels-idx1-ubyte.gz");

    let streams = config.streams(Seed(1), 0);
    let prepared = prepare(&config, 10, false, &streams, Path::new("")).unwrap();
    let found = Description::of(&prepared);
    assert_eq!((found.training.rows, found.features.len()), (60_000, 51));
    assert_eq!(found.features[50], "intercept");
    assert_eq!(found.training.positive_share, Some(5_923.0 / 60_000.0));
    let norms = found.training.norms.unwrap();
    assert!((norms.least - 1.0).abs() < 1e-12 && (norms.greatest - 1.0).abs() < 1e-12);
    assert_eq!(
        found.declarations,
        ["pca: mean of each feature and 50 principal axes over the training part"]
    );
    // The components of the rows, back from the sphere: centred, uncorrelated, and by falling
    // variance, of which the first two have 9.7 % and 7.1 % of all 3,428,502/255².
    let x = prepared.train.everybody().x;
    let component = |c: usize| x.column(c).to_owned() / x.column(50);
    let (first, second) = (component(0), component(1));
    let n = first.len() as f64;
    let variance = |c: &ndarray::Array1<f64>| c.dot(c) / n;
    assert!((first.sum() / n).abs() < 1e-6, "{}", first.sum() / n);
    assert!((first.dot(&second) / n / variance(&first)).abs() < 1e-9);
    let shares = [variance(&first), variance(&second)].map(|v| v * 255.0_f64.powi(2) / 3_428_502.0);
    assert!((shares[0] - 0.0970).abs() < 5e-4 && (shares[1] - 0.0710).abs() < 5e-4, "{shares:?}");
}
