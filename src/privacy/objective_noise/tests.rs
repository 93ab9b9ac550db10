use std::sync::Arc;

use super::*;
use crate::privacy::beta::binomial_interval;
use crate::random::{Purpose, Streams, Tape};
use crate::units::{Delta, Epsilon, Seed};

const DRAWS: u64 = 20_000;

fn sphere(radius: f64) -> ObjectiveNoise {
    ObjectiveNoise::Sphere(Radius { radius })
}
fn ball(radius: f64) -> ObjectiveNoise {
    ObjectiveNoise::Ball(Radius { radius })
}
fn exponential(rate: f64) -> ObjectiveNoise {
    ObjectiveNoise::Exponential(Rate { rate })
}
fn gaussian(deviation: f64) -> ObjectiveNoise {
    ObjectiveNoise::Gaussian(Deviation { deviation })
}
fn all() -> [ObjectiveNoise; 4] {
    [sphere(3.0), ball(3.0), exponential(2.0), gaussian(0.7)]
}

fn drawn(law: ObjectiveNoise, dimension: usize) -> Vec<Vec<f64>> {
    let draws = Draws::Streams(Streams::new(Seed(11), 0).family(Purpose::ObjectiveNoise, 0));
    let draw = |peer| {
        let mut eta = vec![0.0; dimension];
        law.draw(&draws, peer, &mut eta);
        eta
    };
    (0..DRAWS).map(draw).collect()
}

fn norm(eta: &[f64]) -> f64 {
    eta.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// A share must be in line with a probability, within limits of confidence 1 − 1e-6.
fn in_line(hits: usize, probability: f64) {
    let (low, high) = binomial_interval(hits as u64, DRAWS, 1.0 - 1e-6);
    assert!(low <= probability && probability <= high, "{hits} hits against {probability}");
}

/// A mean must be within five standard errors.
fn mean_is(values: impl Iterator<Item = f64>, expected: f64, deviation: f64) {
    let mean = values.sum::<f64>() / DRAWS as f64;
    let error = 5.0 * deviation / (DRAWS as f64).sqrt();
    assert!((mean - expected).abs() <= error, "{mean} against {expected} ± {error}");
}

#[test]
fn scenarios_name_the_law_and_its_size() {
    for (text, law) in [
        (r#"{"sphere":{"radius":1}}"#, sphere(1.0)),
        (r#"{"ball":{"radius":9}}"#, ball(9.0)),
        (r#"{"exponential":{"rate":2}}"#, exponential(2.0)),
        (r#"{"gaussian":{"deviation":0.5}}"#, gaussian(0.5)),
    ] {
        assert_eq!(serde_json::from_str::<ObjectiveNoise>(text).unwrap(), law);
        assert!(law.check().is_empty());
        assert!(text.starts_with(&format!("{{\"{}\"", law.name())));
    }
    assert!(
        serde_json::from_str::<ObjectiveNoise>(r#"{"ball": {"radius": 9, "rate": 1}}"#).is_err()
    );
    assert!(sphere(0.0).check().is_empty());
    for (law, field) in [
        (sphere(-1.0), "sphere.radius"),
        (ball(f64::INFINITY), "ball.radius"),
        (ball(f64::NAN), "ball.radius"),
        (exponential(0.0), "exponential.rate"),
        (gaussian(0.0), "gaussian.deviation"),
        (gaussian(f64::NAN), "gaussian.deviation"),
    ] {
        assert_eq!(law.check()[0].0, field);
    }
}

#[test]
fn a_tape_gives_gaussian_noise_number_by_number() {
    let mut tape = Tape::default();
    tape.record(4, 0, vec![0.1, -7.25, 1e-300]);
    let mut eta = [0.0; 3];
    gaussian(1.0).draw(&Draws::Tape(Arc::new(tape)), 4, &mut eta);
    assert_eq!(eta, [0.1, -7.25, 1e-300]);
}

#[test]
fn on_a_tape_the_length_comes_after_the_direction() {
    let mut tape = Tape::default();
    tape.record(0, 0, vec![3e200, 4e200, 0.25]);
    tape.record(1, 0, vec![0.0, 0.0, 6.0]);
    let draws = Draws::Tape(Arc::new(tape));
    let mut eta = [0.0; 2];
    ball(2.0).draw(&draws, 0, &mut eta);
    assert!((eta[0] - 0.6).abs() < 1e-15 && (eta[1] - 0.8).abs() < 1e-15, "{eta:?}");
    exponential(2.0).draw(&draws, 1, &mut eta);
    assert_eq!(eta, [3.0, 0.0], "no direction: the first axis");
    sphere(1.0).draw(&draws, 9, &mut []);
}

#[test]
fn the_sphere_has_one_length_and_on_a_line_two_points() {
    for eta in drawn(sphere(3.0), 5) {
        assert!((norm(&eta) - 3.0).abs() < 1e-14);
    }
    let line = drawn(sphere(3.0), 1);
    assert!(line.iter().all(|eta| eta[0].abs() == 3.0));
    in_line(line.iter().filter(|eta| eta[0] > 0.0).count(), 0.5);
    assert!(drawn(sphere(0.0), 2).iter().all(|eta| norm(eta) == 0.0));
}

#[test]
fn the_ball_is_filled_evenly() {
    for dimension in [1, 2, 7] {
        let lengths: Vec<f64> = drawn(ball(3.0), dimension).iter().map(|eta| norm(eta)).collect();
        for share in [0.3f64, 0.6, 0.9, 0.97] {
            let hits = lengths.iter().filter(|length| **length <= 3.0 * share).count();
            in_line(hits, share.powi(dimension as i32));
        }
        assert!(lengths.iter().all(|length| *length <= 3.0 * (1.0 + 1e-15)));
    }
}

#[test]
fn exponential_noise_has_a_gamma_length() {
    for dimension in [1, 4] {
        let d = dimension as f64;
        let lengths: Vec<f64> =
            drawn(exponential(2.0), dimension).iter().map(|eta| norm(eta)).collect();
        mean_is(lengths.iter().copied(), d / 2.0, d.sqrt() / 2.0);
        // The square of the centred gamma law has the variance 2d² + 6d, over ζ⁴.
        let squares = lengths.iter().map(|length| (length - d / 2.0).powi(2));
        mean_is(squares, d / 4.0, (2.0 * d * d + 6.0 * d).sqrt() / 4.0);
    }
}

#[test]
fn gaussian_noise_has_its_deviation_in_every_coordinate() {
    let noise = drawn(gaussian(0.7), 3);
    for j in 0..3 {
        mean_is(noise.iter().map(|eta| eta[j] * eta[j]), 0.49, 0.49 * 2f64.sqrt());
        in_line(noise.iter().filter(|eta| eta[j].abs() < 0.7).count(), 0.682_689_492_137_086);
    }
}

#[test]
fn no_direction_is_preferred_and_the_mean_square_is_as_stated() {
    for law in all() {
        for dimension in [1, 3] {
            let noise = drawn(law, dimension);
            let square = law.mean_square(dimension);
            let each = (square / dimension as f64).sqrt();
            for j in 0..dimension {
                mean_is(noise.iter().map(|eta| eta[j]), 0.0, each);
                in_line(noise.iter().filter(|eta| eta[j] > 0.0).count(), 0.5);
                // E|η|⁴ ≤ 12 (E|η|²)² for all four laws, so 4 bounds the deviation of a square.
                mean_is(noise.iter().map(|eta| eta[j] * eta[j]), each * each, 4.0 * square);
                let product = |eta: &Vec<f64>| eta[j] * eta[(j + 1) % dimension];
                if dimension > 1 {
                    mean_is(noise.iter().map(product), 0.0, 4.0 * square);
                }
            }
            assert_eq!(law.mean_square(0), 0.0);
            if let Some(largest) = law.largest_norm() {
                assert!(noise.iter().all(|eta| norm(eta) <= largest * (1.0 + 1e-15)));
            }
        }
    }
    assert_eq!((sphere(3.0).largest_norm(), gaussian(1.0).largest_norm()), (Some(3.0), None));
}

// The guarantees, against densities written out.

/// Logistic loss corrected for randomised labels; a record is y·x, of which alone it depends.
fn release(k: f64, quadratic: f64, dimension: usize) -> Release {
    Release {
        peers: 3.0,
        samples: 2.0,
        dimension,
        reach: 1.0,
        label_slope: k,
        slope: (1.0 + k) / 2.0,
        smoothness: 0.25,
        quadratic,
    }
}

/// The density of the released w in two dimensions (the second unused if `d` is 1), for a peer with
/// one fixed sample and the record `u`.
fn density(law: ObjectiveNoise, r: &Release, u: [f64; 2], w: [f64; 2]) -> f64 {
    let fixed = if r.dimension == 1 { [0.5, 0.0] } else { [0.3, -0.4] };
    let mut gradient = [r.quadratic * w[0] + 0.2, r.quadratic * w[1]];
    let mut hessian = [r.quadratic, 0.0, r.quadratic];
    for x in [fixed, u] {
        let z = x[0] * w[0] + x[1] * w[1];
        let slope = ((z / 2.0).tanh() - r.label_slope) / 2.0 / r.samples;
        let curvature = 0.25 / (z / 2.0).cosh().powi(2) / r.samples;
        gradient = [gradient[0] + slope * x[0], gradient[1] + slope * x[1]];
        hessian[0] += curvature * x[0] * x[0];
        hessian[1] += curvature * x[0] * x[1];
        hessian[2] += curvature * x[1] * x[1];
    }
    let n = r.peers;
    let pi = std::f64::consts::PI;
    let (length, determinant, one) = if r.dimension == 1 {
        (n * gradient[0].abs(), n * hessian[0], true)
    } else {
        let determinant = hessian[0] * hessian[2] - hessian[1] * hessian[1];
        (n * gradient[0].hypot(gradient[1]), n * n * determinant, false)
    };
    let noise = match law {
        ObjectiveNoise::Sphere(_) => panic!("the sphere has no density"),
        ObjectiveNoise::Ball(Radius { radius: r }) if length > r => 0.0,
        ObjectiveNoise::Ball(Radius { radius: r }) => {
            if one {
                0.5 / r
            } else {
                1.0 / (pi * r * r)
            }
        }
        ObjectiveNoise::Exponential(Rate { rate: z }) => {
            (-z * length).exp() * if one { z / 2.0 } else { z * z / (2.0 * pi) }
        }
        ObjectiveNoise::Gaussian(Deviation { deviation: s }) => {
            let scale = (2.0 * pi).sqrt() * s;
            (-0.5 * (length / s).powi(2)).exp() / if one { scale } else { scale * scale }
        }
    };
    noise * determinant
}

/// ∫ (p − e^ε p')₊ by the midpoint rule, and ∫ p.
fn hockey_stick(
    law: ObjectiveNoise,
    r: &Release,
    [u, v]: [[f64; 2]; 2],
    epsilon: f64,
) -> (f64, f64) {
    let farthest = match law {
        ObjectiveNoise::Sphere(Radius { radius }) | ObjectiveNoise::Ball(Radius { radius }) => {
            radius
        }
        ObjectiveNoise::Exponential(Rate { rate }) => 36.0 / rate,
        ObjectiveNoise::Gaussian(Deviation { deviation }) => 9.0 * deviation,
    };
    // |q w| ≤ |η|/n + |∇F| + |b|
    let half = (farthest / r.peers + r.slope + 0.2) / r.quadratic;
    let (points, rows) = if r.dimension == 1 { (60_000, 1) } else { (250, 250) };
    let step = 2.0 * half / f64::from(points);
    let at = |j: i32| -half + (f64::from(j) + 0.5) * step;
    let area = if r.dimension == 1 { step } else { step * step };
    let (mut excess, mut mass) = (0.0, 0.0);
    for row in 0..rows {
        for column in 0..points {
            let w = [at(column), if r.dimension == 1 { 0.0 } else { at(row) }];
            let p = density(law, r, u, w);
            excess += (p - epsilon.exp() * density(law, r, v, w)).max(0.0);
            mass += p;
        }
    }
    (excess * area, mass * area)
}

#[test]
fn the_minimiser_is_where_the_density_says() {
    // P(ŵ ≤ t) from minimising the objective for many noises, against the integral of the density.
    let r = release(1.5, 0.4, 1);
    let law = gaussian(2.0);
    let gradient = |w: f64, eta: f64| {
        let losses = [0.5, -0.8].map(|u: f64| u * ((u * w / 2.0).tanh() - 1.5) / 2.0 / r.samples);
        losses.iter().sum::<f64>() + r.quadratic * w + 0.2 + eta / r.peers
    };
    let minimiser = |eta: f64| {
        let (mut low, mut high) = (-100.0, 100.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if gradient(middle, eta) < 0.0 { low = middle } else { high = middle }
        }
        low
    };
    let released: Vec<f64> = drawn(law, 1).iter().map(|eta| minimiser(eta[0])).collect();
    for t in [-1.5, 0.0, 1.0] {
        let step = 1e-3;
        let left = (0..40_000).map(|j| t - (f64::from(j) + 0.5) * step);
        let integral: f64 = left.map(|w| density(law, &r, [-0.8, 0.0], [w, 0.0]) * step).sum();
        in_line(released.iter().filter(|w| **w <= t).count(), integral);
    }
}

#[test]
fn for_a_label_the_guarantee_is_exact() {
    let delta = Delta(0.01);
    for r in [release(1.0, 0.3, 1), release(2.5, 1.0, 1), release(1.3, 0.5, 2)] {
        let label = if r.dimension == 1 { [1.0, 0.0] } else { [0.6, 0.8] };
        let other = label.map(|v: f64| -v);
        // Steps of the ball's edge on the grid leave an error of the order of a cell.
        let tolerance = if r.dimension == 1 { 1e-4 } else { 3e-3 };
        for law in [ball(6.0), gaussian(4.0)] {
            let claim = law.of_label(&r, delta);
            let (truth, mass) = hockey_stick(law, &r, [label, other], claim.epsilon.0);
            assert!((mass - 1.0).abs() < tolerance, "{mass}");
            assert!((truth - claim.delta.0).abs() < tolerance, "{truth} against {claim:?}");
        }
        let law = exponential(0.5);
        let claim = law.of_label(&r, delta);
        assert_eq!(claim.delta, Delta(0.0));
        let at = |epsilon| hockey_stick(law, &r, [label, other], epsilon).0;
        assert!(at(claim.epsilon.0 + 1e-9) < 1e-9);
        assert!(at(claim.epsilon.0 - 0.05) > 1e-6, "no smaller ε does");
    }
}

#[test]
fn for_records_the_guarantee_holds_on_a_line_and_in_the_plane() {
    let line = [[1.0, 0.0], [-1.0, 0.0], [0.5, 0.0], [0.0, 0.0]];
    // With k < 1 the slope of the loss changes its sign.
    let plane = [[1.0, 0.0], [-0.995, 0.0998], [0.0, 0.5], [0.0, 0.0]];
    for (k, quadratic) in [(1.0, 0.1), (3.0, 0.5), (0.4, 0.3)] {
        for dimension in [1, 2] {
            let r = release(k, quadratic, dimension);
            let records: &[[f64; 2]] = if dimension == 1 { &line } else { &plane };
            let tolerance = if dimension == 1 { 1e-5 } else { 3e-3 };
            for &u in records {
                for &v in records.iter().filter(|v| **v != u) {
                    for law in [ball(9.0), exponential(0.4), gaussian(5.0)] {
                        let mut claims = vec![law.of_record(&r, Delta(0.02))];
                        if u == [0.0; 2] || v == [0.0; 2] {
                            claims.push(law.of_presence(&r, Delta(0.02)));
                        }
                        for claim in claims {
                            let epsilon = claim.epsilon.0 + 1e-9;
                            let (truth, _) = hockey_stick(law, &r, [u, v], epsilon);
                            let edge = if matches!(law, ObjectiveNoise::Ball(_)) {
                                tolerance
                            } else {
                                1e-9
                            };
                            assert!(
                                truth <= claim.delta.0 + edge,
                                "{truth}: {claim:?} {u:?} {v:?}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_ball_gives_the_share_that_a_moved_copy_leaves_uncovered() {
    // In one dimension D/2R; in two by the area of the lens.
    let r = release(1.0, 1.0, 1);
    let claim = ball(6.0).of_label(&r, Delta(0.0));
    assert_eq!((claim.epsilon, claim.ground), (Epsilon::ZERO, Ground::Overlap));
    assert!((claim.delta.0 - 1.5 / 12.0).abs() < 1e-14);
    let record = ball(6.0).of_record(&r, Delta(0.0));
    assert!((record.delta.0 - 3.0 / 12.0).abs() < 1e-14);
    assert!((record.epsilon.0 - 1.125f64.ln()).abs() < 1e-15);
    let t: f64 = 1.5 / 12.0;
    let lens = 1.0 - std::f64::consts::FRAC_2_PI * (t.acos() - t * (1.0 - t * t).sqrt());
    let claim = ball(6.0).of_label(&release(1.0, 1.0, 2), Delta(0.0));
    assert!((claim.delta.0 - lens).abs() < 1e-14);
    assert_eq!(ball(0.75).of_label(&r, Delta(0.0)).ground, Ground::Nothing, "D = 2R");
    assert_eq!(ball(0.0).of_label(&r, Delta(0.0)).epsilon, Epsilon::UNBOUNDED);
}

#[test]
fn a_sphere_gives_nothing_and_what_is_not_used_is_not_revealed() {
    for dimension in [1, 2, 50] {
        let r = release(1.0, 1.0, dimension);
        let delta = Delta(1e-5);
        for claim in [sphere(9.0).of_label(&r, delta), sphere(9.0).of_record(&r, delta)] {
            assert_eq!((claim.epsilon, claim.delta.0), (Epsilon::UNBOUNDED, 1.0));
        }
        let unlabelled = Release { label_slope: 0.0, ..r };
        let empty = Release { reach: 0.0, ..r };
        for law in [all().as_slice(), &[ball(0.0), sphere(0.0)]].concat() {
            for claim in [
                law.of_label(&unlabelled, delta),
                law.of_label(&empty, delta),
                law.of_record(&empty, delta),
                law.of_presence(&empty, delta),
            ] {
                assert_eq!((claim.epsilon.0, claim.delta.0), (0.0, 0.0));
                assert_eq!(claim.ground, Ground::Independent);
            }
        }
    }
}

#[test]
fn gaussian_noise_needs_a_delta_and_its_epsilon_is_that_of_the_exact_profile() {
    let r = release(1.0, 1.0, 4);
    assert_eq!(gaussian(1.0).of_label(&r, Delta(0.0)).epsilon, Epsilon::UNBOUNDED);
    let flat = Release { quadratic: 0.0, ..r };
    assert_eq!(gaussian(1.0).of_label(&flat, Delta(1e-5)).ground, Ground::Nothing, "no minimiser");
    // D = 1.5, so s = 1.5 is μ = 1: ε = 4.3772 at δ = 1e-5.
    let claim = gaussian(1.5).of_label(&r, Delta(1e-5));
    assert!((claim.epsilon.0 - 4.3772).abs() < 5e-5, "{claim:?}");
    assert!((crate::privacy::gaussian_delta(1.0, claim.epsilon) - 1e-5).abs() < 1e-15);
}

#[test]
fn a_record_costs_more_than_its_label_and_everything_grows_with_its_influence() {
    let delta = Delta(1e-5);
    for law in [ball(40.0), exponential(0.3), gaussian(6.0)] {
        let mut last = (0.0, 0.0);
        for reach in [0.1, 0.5, 1.0, 2.0] {
            let r = Release { reach, ..release(1.5, 0.5, 3) };
            let label = law.of_label(&r, delta);
            let presence = law.of_presence(&r, delta);
            let record = law.of_record(&r, delta);
            for (less, more) in [(label, record), (presence, record)] {
                assert!(less.epsilon <= more.epsilon && less.delta <= more.delta);
            }
            let now = (record.epsilon.0, record.delta.0);
            assert!(now.0 > last.0 && now.1 >= last.1, "{now:?} after {last:?}");
            last = now;
            let more_samples = law.of_record(&Release { samples: 20.0, ..r }, delta);
            assert!(more_samples.epsilon < record.epsilon);
        }
    }
}

/// The Rényi bound of Redberg, Koskela and Wang (2023) for the presence of a record, converted at
/// its best order: a second, looser way.
fn by_renyi(r: &Release, deviation: f64, delta: f64) -> f64 {
    let share = r.smoothness * r.reach * r.reach / (r.samples * r.quadratic);
    let mu = r.peers * r.slope * r.reach / r.samples / deviation;
    let at = |order: f64| {
        let t = order - 1.0;
        // E e^{t|X|} for X ~ N(0, μ²), by the midpoint rule about its two peaks.
        let step = 1e-2;
        let side: f64 = (0..2_000)
            .map(|j| (f64::from(j) + 0.5) * step - 10.0)
            .filter(|z| z + t * mu > 0.0)
            .map(|z| (-0.5 * z * z).exp() * step)
            .sum::<f64>()
            / std::f64::consts::TAU.sqrt();
        let ln_mean = (2.0 * side).ln() + 0.5 * (t * mu).powi(2);
        let renyi = -(1.0 - share).ln() + 0.5 * mu * mu + ln_mean / t;
        renyi + (1.0 - 1.0 / order).ln() - (order * delta).ln() / t
    };
    (0..120).map(|j| at(1.0 + (f64::from(j) / 15.0 - 3.0).exp())).fold(f64::INFINITY, f64::min)
}

#[test]
fn the_profile_promises_less_loss_than_the_renyi_bound_and_not_absurdly_less() {
    let delta = 1e-5;
    for deviation in [1.0, 3.0, 12.0] {
        let r = release(1.0, 3.0, 3);
        let presence = gaussian(deviation).of_presence(&r, Delta(delta)).epsilon.0;
        let renyi = by_renyi(&r, deviation, delta);
        assert!(presence < renyi && renyi < 1.3 * presence, "{presence} against {renyi}");
        // Two presences, δ' with (1 + e^ε) δ' = δ: the group's bound for replacing a record.
        let mut part = delta;
        for _ in 0..30 {
            part = delta / (1.0 + by_renyi(&r, deviation, part).exp());
        }
        let group = 2.0 * by_renyi(&r, deviation, part);
        let record = gaussian(deviation).of_record(&r, Delta(delta)).epsilon.0;
        assert!(record < group && group < 2.0 * record, "{record} against {group}");
    }
}
