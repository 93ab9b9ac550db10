//! Real data, where it is at hand: a test that finds none says so and passes.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

use crate::workbench::{CACHE, REPOSITORY, Workbench};

#[test]
#[expect(clippy::print_stderr, reason = "a test that skips says so")]
fn adult_is_fitted_as_by_a_central_solver() {
    let file = Path::new(REPOSITORY).join("../shared/data/adult/adult.csv.gz");
    if !file.is_file() {
        eprintln!("skipped: there is no {}", file.display());
        return;
    }
    let bench = Workbench::new();
    let scenario = Path::new(REPOSITORY).join("scenarios/adult.yaml");
    // To the last byte what a fetch makes: anything else is refused.
    let mut table = Vec::new();
    let compressed = File::open(&file).expect("it is there");
    GzDecoder::new(compressed).read_to_end(&mut table).expect("it is whole");
    fs::create_dir_all(bench.path(CACHE).join("adult")).expect("a folder");
    bench.write("cache/adult/adult.csv", table);
    let changes = ["protocol.admm.rounds=500", "measure.every=50"];
    let set: Vec<&str> = changes.iter().flat_map(|change| ["--set", change]).collect();
    let summary = bench.run(&scenario.display().to_string(), "adult", &set);
    let figure = |section: &str, name: &str| {
        summary[section][name]["mean"].as_f64().unwrap_or_else(|| panic!("no {name}: {summary}"))
    };
    let accuracy = figure("metrics", "test_accuracy_worst");
    let central = figure("references", "central_test_accuracy");
    assert!((accuracy - central).abs() < 0.001, "{accuracy} {central}");
    let excess =
        figure("metrics", "empirical_risk") - figure("references", "central_empirical_risk");
    assert!(excess.abs() < 1e-8, "{excess}");
    assert!(accuracy > figure("references", "trivial_test_accuracy") + 0.05);
}
