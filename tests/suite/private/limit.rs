//! Where the peers end up: at the optimum of the perturbed problem, as a second solver finds it.

use hushmesh::experiment::{Assembly, Solve};
use hushmesh::measure::Metric;
use hushmesh::privacy::{ObjectiveNoise, Radius};
use hushmesh::random::{Draws, Purpose};
use hushmesh::scenario::Checked;
use hushmesh::units::PeerId;

use super::{at_the_end, checked, run};

/// Five peers with every noise, uneven data and levels that users have chosen.
fn yaml(graph: &str, deviation: f64, decay: f64) -> String {
    format!(
        "name: limit\nseed: 9\ntopology: {graph}\n\
         data: {{source: {{linear-logistic: {{dimension: 4, norm: 4}}}}, samples: {{total: 200}}, \
         partition: {{ratio: [1, 2, 3, 4, 5]}}}}\n\
         model: {{loss: logistic, regularisation: 1, intercept: true}}\n\
         privacy: {{labels: {{epsilon: {{drawn: {{uniform: {{low: 0.3, high: 2}}}}}}}}}}\n\
         protocol: {{admm: {{penalty: 0.1, rounds: 400, tolerance: 1.0e-12, \
         objective_noise: {{sphere: {{radius: 2}}}}, \
         primal_noise: {{deviation: {deviation}, decay: {decay}}}}}}}\n\
         measure: {{what: [optimum], every: 100}}\n"
    )
}

const RING: &str = "{ring: {peers: 5}}";

fn assembly(checked: &Checked) -> Assembly {
    let (scenario, base) = (checked.scenario(), checked.base());
    Assembly::new(scenario, base, checked.topology(), 0, Solve::Always).unwrap()
}

/// Gradient descent on Σ_i (1/m_i) Σ_j ℓ~(y'_ij, wᵀx_ij) + (a/2)|w|² + Σ_i η_iᵀw/n, written out:
/// equation (19) as it stands, at each user's level, with η drawn by peer.
fn perturbed_optimum(assembly: &Assembly, a: f64, radius: f64) -> Vec<f64> {
    let train = &assembly.seen;
    let (n, d) = (train.peers(), train.dimension());
    let responses = assembly.responses.as_ref().expect("randomised labels");
    let law = ObjectiveNoise::Sphere(Radius { radius });
    let draws = Draws::Streams(assembly.streams.family(Purpose::ObjectiveNoise, 0));
    let mut noise = vec![0.0; d];
    for i in 0..n {
        let mut eta = vec![0.0; d];
        law.draw(&draws, i as u64, &mut eta);
        assert!((eta.iter().map(|e| e * e).sum::<f64>().sqrt() - radius).abs() < 1e-12);
        noise.iter_mut().zip(&eta).for_each(|(sum, eta)| *sum += eta / n as f64);
    }
    // dℓ/dz of log(1 + e^{−yz}).
    let slope = |y: f64, z: f64| -y / (1.0 + (y * z).exp());
    // |x|² ≤ 2 with the intercept, so that the curvature is at most n/2 + a.
    let step = 1.0 / (0.5 * n as f64 + a);
    let mut w = vec![0.0; d];
    for _ in 0..2000 {
        let mut gradient: Vec<f64> = w.iter().zip(&noise).map(|(w, eta)| a * w + eta).collect();
        for i in 0..n {
            let rows = train.offsets()[i]..train.offsets()[i + 1];
            let m = rows.len() as f64;
            let x = train.local(PeerId::new(i)).x;
            for (x, row) in x.rows().into_iter().zip(rows) {
                let z: f64 = x.iter().zip(&w).map(|(x, w)| x * w).sum();
                let (y, e) = (responses.answers[row], responses.levels[row].0.exp());
                let corrected = (e * slope(y, z) - slope(-y, z)) / (e - 1.0);
                gradient.iter_mut().zip(x).for_each(|(g, x)| *g += corrected * x / m);
            }
        }
        w.iter_mut().zip(&gradient).for_each(|(w, g)| *w -= step * g);
    }
    w
}

fn farthest<'a>(models: impl Iterator<Item = &'a [f64]>, from: &[f64]) -> f64 {
    let far = |w: &[f64]| w.iter().zip(from).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
    models.map(far).fold(0.0, f64::max)
}

#[test]
fn noise_that_decays_leaves_the_optimum_of_the_perturbed_problem() {
    let checked = checked(&yaml(RING, 1.0, 0.8));
    let optimum = perturbed_optimum(&assembly(&checked), 1.0, 2.0);
    for (graph, deviation, decay) in [
        (RING, 1.0, 0.8),
        (RING, 3.0, 0.8),
        (RING, 0.2, 0.6),
        (RING, 0.0, 1.0),
        ("{complete: {peers: 5}}", 1.0, 0.85),
        ("{path: {peers: 5}}", 1.0, 0.85),
    ] {
        let result = run(&yaml(graph, deviation, decay));
        let far = farthest(result.repeats[0].models(), &optimum);
        assert!(far < 1e-8, "{graph}, V = {deviation}, ρ = {decay}: {far}");
        assert!(at_the_end(&result, Metric::OptimumDistance)[0] < 1e-6);
        let clean = at_the_end(&result, Metric::OptimumDistanceClean)[0];
        assert!(clean > 0.1, "the perturbation does not go away: {clean}");
    }
}

#[test]
fn noise_that_does_not_decay_leaves_the_peers_around_it() {
    let result = run(&yaml(RING, 0.3, 1.0));
    let far = at_the_end(&result, Metric::OptimumDistance)[0];
    assert!((0.01..10.0).contains(&far), "{far}");
}

#[test]
fn one_more_peer_at_the_end_changes_nobody_elses_noise_or_answers() {
    let few = yaml("{path: {peers: 5}}", 1.0, 0.8).replace("[1, 2, 3, 4, 5]", "[1, 1, 1, 1, 1]");
    let more = few.replace("{peers: 5}", "{peers: 6}").replace("1, 1]", "1, 1, 1]");
    let [few, more] = [few, more].map(|yaml| assembly(&checked(&yaml)));
    let eta = |of: &Assembly| -> Vec<Vec<f64>> {
        let n = of.topology.peers() as f64;
        let scaled = |eta: &[f64]| eta.iter().map(|eta| n * eta).collect();
        of.scorer.linear_terms().map(scaled).collect()
    };
    let (of_few, of_more) = (eta(&few), eta(&more));
    assert_eq!((of_few.len(), of_more.len()), (5, 6));
    for (a, b) in of_few.iter().zip(&of_more) {
        assert!(farthest([a.as_slice()].into_iter(), b) < 1e-14, "{a:?} {b:?}");
    }
    // Rows are dealt to others, but every user answers as before.
    let answers = |of: &Assembly| {
        let responses = of.responses.as_ref().expect("answers");
        let users = of.data.rows.iter().zip(&responses.answers).zip(&responses.levels);
        let mut users: Vec<(u32, f64, f64)> =
            users.map(|((&row, &answer), level)| (row, answer, level.0)).collect();
        users.sort_by_key(|&(row, ..)| row);
        users
    };
    assert_eq!(answers(&few).len(), 200);
    assert_ne!(few.seen.offsets(), more.seen.offsets());
    assert_eq!(answers(&few), answers(&more));
}
