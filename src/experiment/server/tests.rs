//! The noise of answers against golden values.

use std::fs;
use std::path::Path;

use super::*;

#[test]
fn answers_have_the_noise_of_the_golden_calibration() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/server.json");
    let golden: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let rows = golden["calibration"].as_array().unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap();
        let (epsilon, delta) = (Epsilon(number("eps")), Delta(number("delta")));
        let near = |found: f64, key: &str, relative: f64| {
            let expected = number(key);
            assert!((found / expected - 1.0).abs() < relative, "{key}: {expected}, found {found}");
        };
        // 2Ξ/n and 2G/n with Ξ = 2, G = 1.
        match answer_noise(QueryMechanism::Laplace, 4.0 / 1_000.0, 100, epsilon, delta) {
            Mechanism::Laplace { scale } => near(scale, "laplace_b_Xi2_T100_n1000", 1e-12),
            other => panic!("Laplace noise, found {other:?}"),
        }
        match answer_noise(QueryMechanism::Gaussian, 2.0 / 1_000.0, 50, epsilon, delta) {
            Mechanism::Gaussian { deviation } => {
                near(deviation, "sigma_exact_G1_T50_n1000", 1e-10);
            }
            other => panic!("Gaussian noise, found {other:?}"),
        }
    }
}
