//! The linear rate that a run showed.

/// Least-squares fit of e(t) ≈ C τᵗ, that is of log e(t) against t: τ.
///
/// The fit looks at the second half of the rounds before the error meets `floor`, where rounding
/// and solver tolerance take over and where the early, faster modes have died out. None with fewer
/// than eight usable points, or if the error falls by less than a factor of ten over them: a plateau
/// has no rate.
pub fn fitted_rate(errors: impl Iterator<Item = (u32, f64)>, floor: f64) -> Option<f64> {
    let falling: Vec<(f64, f64)> = errors
        .take_while(|&(_, error)| error > floor && error.is_finite())
        .map(|(round, error)| (f64::from(round), error.ln()))
        .collect();
    let points = &falling[falling.len() / 2..];
    if points.len() < 8 {
        return None;
    }
    let count = points.len() as f64;
    let mean_t = points.iter().map(|p| p.0).sum::<f64>() / count;
    let mean_e = points.iter().map(|p| p.1).sum::<f64>() / count;
    let covariance: f64 = points.iter().map(|p| (p.0 - mean_t) * (p.1 - mean_e)).sum();
    let variance: f64 = points.iter().map(|p| (p.0 - mean_t).powi(2)).sum();
    let rate = (covariance / variance).exp();
    let fall = rate.powf(points[points.len() - 1].0 - points[0].0);
    (fall < 0.1).then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_geometric_sequence_shows_its_ratio_and_the_floor_is_ignored() {
        let errors = (1..200).map(|t| (t, (3.0 * 0.9_f64.powi(t as i32)).max(1e-7)));
        assert!((fitted_rate(errors, 2e-7).unwrap() - 0.9).abs() < 1e-12);
    }

    #[test]
    fn a_growing_flat_or_short_sequence_has_no_rate() {
        assert_eq!(fitted_rate((1..500).map(|t| (t, 0.01 + 0.9_f64.powi(t as i32))), 0.0), None);
        assert_eq!(fitted_rate((1..50).map(|t| (t, f64::from(t))), 0.0), None);
        assert_eq!(fitted_rate((1..5).map(|t| (t, 0.5_f64.powi(t as i32))), 0.0), None);
    }
}
