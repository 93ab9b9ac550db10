use super::super::three_peers::{ENGINES, rows_and_moments};
use super::*;
use crate::data::Partition;

#[test]
fn every_round_is_the_recursion_written_in_scalars() {
    let (beta, ridge) = (0.37, 0.2);
    let plain = AdmmParameters::plain(Loss::Squared, 3, ridge, beta, Round(40));
    let parameters = Arc::new(AdmmParameters { tolerance: 1e-14, ..plain });
    for engine in ENGINES {
        // The one in the middle has nothing.
        let partition = Partition::Ratio(vec![1.0, 0.0, 3.0]);
        let (rows, moments) =
            rows_and_moments(engine, partition, parameters.rounds, |me, data, near| {
                AdmmPeer::new(me, data, near, 1.0, Arc::clone(&parameters))
            });
        assert_eq!(rows.len(), 40);
        let neighbours: [&[usize]; 3] = [&[1], &[0, 2], &[1]];
        let (mut w, mut gamma) = ([0.0; 3], [0.0; 3]);
        for row in rows {
            // argmin of ½ E[x²] w² − E[xy] w + ½ (a/n) w² + γw + β Σ_l (w − (w_i + w_l)/2)²
            let next = [0, 1, 2].map(|i| {
                let sum: f64 = neighbours[i].iter().map(|&l| w[i] + w[l]).sum();
                let degree = neighbours[i].len() as f64;
                let (xx, xy) = moments[i];
                (xy - gamma[i] + beta * sum) / (xx + ridge + 2.0 * beta * degree)
            });
            w = next;
            let own_gradient = |i: usize| moments[i].0 * w[i] - moments[i].1 + ridge * w[i];
            for i in 0..3 {
                gamma[i] += beta * neighbours[i].iter().map(|&l| w[i] - w[l]).sum::<f64>();
                assert!((row.scored[i] - w[i]).abs() < 1e-13, "{:?} {i}", row.round);
                let residual = (own_gradient(i) + gamma[i]).abs();
                assert!((row.residuals[i] - residual).abs() < 1e-12, "{:?} {i}", row.round);
            }
            assert!(gamma.iter().sum::<f64>().abs() < 1e-14, "Σγ = 0");
            assert_eq!(row.messages, 4 * u64::from(row.round.0), "two per link and round");
            assert_eq!(row.bytes, row.messages * AdmmPeer::message_bytes(1) as u64);
            let clear: u64 = row.exposures.iter().map(|peer| peer.clear).sum();
            assert_eq!(clear, 3 * u64::from(row.round.0), "one per peer and round");
        }
    }
}

#[test]
fn a_message_survives_the_wire() {
    let message = Exchange { round: Round(7), model: vec![1.5, -2.0, f64::MIN].into() };
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    assert_eq!(bytes.len(), message.size());
    assert_eq!(bytes.len(), AdmmPeer::message_bytes(3));
    assert_eq!(Exchange::decode(&mut bytes.as_slice()), Ok(message));
}
