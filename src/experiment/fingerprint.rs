//! One number for all results of a run.

use sha2::{Digest, Sha256};

use super::directory::DirectoryError;
use super::repeat::RepeatResult;
use crate::measure::Metric;

/// SHA-256 over, per repeat, the rows' rounds and values, the ledger's totals and the final states
/// in peer order. Every NaN counts as the same. Time is left out, and so are engine, workers and
/// paths: runs that should agree, agree in this.
///
/// # Errors
/// A file of models that cannot be read.
pub fn fingerprint(metrics: &[Metric], repeats: &[RepeatResult]) -> Result<String, DirectoryError> {
    let mut hash = Sha256::new();
    let mut number = |value: f64| {
        let bits = if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
        hash.update(bits.to_le_bytes());
    };
    for repeat in repeats {
        number(f64::from(repeat.repeat));
        for row in &repeat.rows {
            number(f64::from(row.round.0));
            for (metric, &value) in metrics.iter().zip(&row.values) {
                if *metric != Metric::SimSeconds {
                    number(value);
                }
            }
        }
        number(repeat.exposure.clear as f64);
        repeat.epsilons.iter().for_each(&mut number);
        repeat.each_states(|states| states.iter().for_each(|&value| number(value)))?;
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
