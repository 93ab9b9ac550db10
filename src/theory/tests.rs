//! Rates against closed forms, dense linear algebra, simulation and measured runs.

mod private;

use std::path::Path;

use proptest::prelude::*;

use super::error_map::ErrorMap;
use super::hessenberg::Square;
use super::*;
use crate::data::{DataConfig, Samples, Source, prepare};
use crate::learn::{self, Loss, Objective, Packed, central_optimum, norm};
use crate::topology::{Link, Topology, complete, path, ring, star};
use crate::units::Seed;

/// The 13 links of the paper's experiments, as we chose them.
const THIRTEEN: [(u32, u32); 13] = [
    (0, 3),
    (0, 4),
    (0, 9),
    (1, 6),
    (1, 8),
    (2, 8),
    (3, 9),
    (5, 7),
    (5, 8),
    (5, 9),
    (6, 8),
    (6, 9),
    (7, 9),
];

fn graph(peers: usize, links: &[(u32, u32)]) -> Topology {
    let mut graph = petgraph::graph::UnGraph::default();
    for _ in 0..peers {
        graph.add_node(());
    }
    for &(a, b) in links {
        graph.add_edge(a.into(), b.into(), Link::default());
    }
    Topology::new(&graph, None).unwrap()
}

/// Each of n peers on a circle linked to the next and the one after: 4-regular.
fn circulant(n: u32) -> Topology {
    let links: Vec<_> = (0..n).flat_map(|i| [(i, (i + 1) % n), (i, (i + 2) % n)]).collect();
    graph(n as usize, &links)
}

/// Corners of the 4-dimensional cube.
fn hypercube() -> Topology {
    let links: Vec<_> = (0..16_u32)
        .flat_map(|i| (0..4).map(move |bit| (i, i ^ (1 << bit))))
        .filter(|(a, b)| a < b)
        .collect();
    graph(16, &links)
}

/// Hessians of twonorm samples at the pooled optimum.
fn twonorm(peers: usize, seed: u64) -> Vec<Packed> {
    let config =
        DataConfig { samples: Some(Samples::PerPeer(70)), ..DataConfig::from(Source::Twonorm) };
    let data =
        prepare(&config, peers, false, &config.streams(Seed(seed), 0), Path::new(".")).unwrap();
    let parts: Vec<_> = (0..peers)
        .map(|i| {
            let local = data.train.local(crate::units::PeerId::new(i));
            Objective::mean(learn::Samples::new(local.x, local.y), Loss::Logistic)
        })
        .collect();
    let w = central_optimum(&parts, 0.1 * peers as f64, &[0.0; 20]).unwrap().w;
    let hessian = |part: &Objective<'_>| {
        let mut hessian = Packed::identity(20, 0.1);
        part.add_hessian(&w, &mut hessian);
        hessian
    };
    parts.iter().map(hessian).collect()
}

fn peers_with(hessian: &Packed, n: usize) -> Curvature {
    Curvature::Hessians(vec![hessian.clone(); n])
}

#[test]
fn equal_peers_on_regular_graphs_have_the_closed_form() {
    let (low, high) = (0.1, 0.7);
    let mut hessian = Packed::identity(2, low);
    hessian.add_outer(0.5 * (high - low), &[1.0, 1.0]);
    // Every eigenvalue s of L₋/k, from the graphs' symmetries.
    let turn = |n: u32, j: u32| (2.0 * std::f64::consts::PI * f64::from(j) / f64::from(n)).cos();
    let ring_spectrum = |n: u32| (1..n).map(move |j| 1.0 - turn(n, j)).collect::<Vec<_>>();
    let circulant_spectrum: Vec<f64> =
        (1..13).map(|j| 1.0 - 0.5 * (turn(13, j) + turn(13, 2 * j))).collect();
    for (name, graph, degree, spectrum) in [
        ("ring", ring(9).unwrap(), 2.0, ring_spectrum(9)),
        ("even ring", ring(12).unwrap(), 2.0, ring_spectrum(12)),
        ("complete", complete(7).unwrap(), 6.0, vec![7.0 / 6.0]),
        ("hypercube", hypercube(), 4.0, vec![0.5, 1.0, 1.5, 2.0]),
        ("circulant", circulant(13), 4.0, circulant_spectrum),
    ] {
        for beta in [0.003, 0.02, 0.1, 0.31, 2.0] {
            let mut expected = 0.0_f64;
            for h in [low, high] {
                let u = 2.0 * beta * degree / (h + 2.0 * beta * degree);
                expected = expected.max(u);
                for s in &spectrum {
                    let (sum, product) = (1.0 + u * (1.0 - s), u * (1.0 - 0.5 * s));
                    let root = sum * sum - 4.0 * product;
                    expected = expected.max(if root < 0.0 {
                        product.sqrt()
                    } else {
                        0.5 * (sum + root.sqrt())
                    });
                }
            }
            let full = local_rate(&graph, &peers_with(&hessian, graph.peers()), beta);
            assert_eq!((full.method, full.converged), (Method::Full, true), "{name} {beta}");
            assert!((full.value - expected).abs() < 1e-6, "{name} {beta}: {full:?}, {expected}");
            let mean = local_rate(&graph, &Curvature::Bounds { low, high }, beta);
            assert_eq!((mean.method, mean.iterations), (Method::Mean, 0), "{name} {beta}");
            assert!((mean.value - expected).abs() < 1e-9, "{name} {beta}: {mean:?}, {expected}");
        }
    }
}

/// ρ(M) by Gelfand's formula, |M^(2^k)|^(1/2^k), from a dense matrix made column by column.
fn gelfand(topology: &Topology, hessians: &[Packed], beta: f64) -> f64 {
    let nd = topology.peers() * hessians[0].dimension();
    let d = hessians[0].dimension();
    let mut matrix = Square::zeros(2 * nd);
    for column in 0..2 * nd {
        let mut w = vec![0.0; nd];
        let mut gamma = vec![0.0; nd];
        if column < nd {
            w[column] = 1.0
        } else {
            gamma[column - nd] = 1.0
        }
        // The conserved mode is projected out of what goes in.
        for k in 0..d {
            let mean = (0..topology.peers()).map(|i| gamma[i * d + k]).sum::<f64>()
                / topology.peers() as f64;
            (0..topology.peers()).for_each(|i| gamma[i * d + k] -= mean);
        }
        let mut next = vec![0.0; nd];
        for peer in topology.ids() {
            let i = peer.index();
            let mut force: Vec<f64> = (0..d).map(|k| -gamma[i * d + k]).collect();
            for neighbour in topology.neighbours(peer) {
                for k in 0..d {
                    force[k] += beta * (w[i * d + k] + w[neighbour.index() * d + k]);
                }
            }
            let mut factor = hessians[i].clone();
            factor.add_identity(2.0 * beta * topology.degree(peer) as f64);
            factor.factor().unwrap();
            factor.solve(&mut force);
            next[i * d..(i + 1) * d].copy_from_slice(&force);
        }
        for peer in topology.ids() {
            let i = peer.index();
            for k in 0..d {
                matrix.set(i * d + k, column, next[i * d + k]);
                let pull: f64 = topology
                    .neighbours(peer)
                    .iter()
                    .map(|l| next[i * d + k] - next[l.index() * d + k])
                    .sum();
                matrix.set(nd + i * d + k, column, gamma[i * d + k] + beta * pull);
            }
        }
    }
    // Σ ln|M^(2^k)| of the normalised squares; 2^20 makes the norm's constant vanish.
    let mut log = 0.0;
    let mut weight = 1.0;
    for _ in 0..20 {
        let size = matrix.norm();
        if size == 0.0 {
            return 0.0;
        }
        log += weight * size.ln();
        matrix.scale(1.0 / size);
        matrix = matrix.times(&matrix);
        weight *= 0.5;
    }
    (log + weight * matrix.norm().ln()).exp()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_rate_is_that_of_the_dense_matrix(
        shape in 0_usize..5,
        beta in -4.0..2.0_f64,
        ridge in 0.01..1.0_f64,
        x in prop::collection::vec(-1.5..1.5_f64, 36),
    ) {
        let (graph, d) = match shape {
            0 => (path(6).unwrap(), 2),
            1 => (star(4).unwrap(), 3),
            2 => (ring(5).unwrap(), 2),
            3 => (graph(6, &[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5)]), 2),
            _ => (path(2).unwrap(), 3),
        };
        let hessian = |i: usize| {
            let mut hessian = Packed::identity(d, ridge);
            (0..i % 3).for_each(|k| hessian.add_outer(1.0, &x[(3 * i + 2 * k)..][..d]));
            hessian
        };
        let hessians: Vec<_> = (0..graph.peers()).map(hessian).collect();
        let beta = beta.exp();
        let expected = gelfand(&graph, &hessians, beta);
        let rate = local_rate(&graph, &Curvature::Hessians(hessians), beta);
        prop_assert!(rate.converged, "{rate:?}");
        prop_assert!((rate.value - expected).abs() < 1e-4, "{rate:?}, {expected}");
    }
}

/// Five peers with unequal numbers of samples in three dimensions, solved elsewhere.
const GOLDEN_X: [&[[f64; 3]]; 5] = [
    &[
        [0.6479, 0.4693, -0.643],
        [-1.1783, -0.1447, 1.2035],
        [1.3336, 0.9083, 0.3466],
        [1.6, 1.2328, -0.2203],
        [-1.062, -0.3646, -0.42],
        [0.6875, -1.8991, -0.1914],
    ],
    &[
        [1.6712, -0.9203, -0.7585],
        [-0.0843, -1.4178, -0.1296],
        [-0.0157, -0.0047, -0.9885],
        [-0.3658, 0.6538, -0.7146],
        [0.5472, 0.6555, -1.427],
        [-0.6453, 0.6553, 0.4935],
    ],
    &[
        [0.1794, -0.3486, 0.1086],
        [1.8748, -0.2215, 0.5796],
        [-0.4167, -0.1983, 0.648],
        [-0.929, -0.2424, -0.6103],
        [-0.8587, 0.1758, 1.2398],
        [0.2214, -0.3818, -1.4511],
        [0.819, 0.2105, -0.6313],
    ],
    &[
        [0.8614, 1.5742, -1.6317],
        [0.5903, 0.8459, 0.5805],
        [1.6018, 0.6254, -0.9035],
        [3.8001, 0.1462, 1.4821],
        [1.9661, 0.8814, -1.7981],
    ],
    &[
        [-1.704, -0.6776, 0.0341],
        [-1.3888, -0.9372, -0.4451],
        [-0.4751, 0.1886, 0.0726],
        [-0.0388, -0.6177, -0.8324],
        [-1.9109, 1.2675, 0.1955],
        [0.3695, -1.7174, 0.7512],
        [-0.088, 0.9683, -0.6862],
        [0.9984, 1.4394, -0.1696],
    ],
];
const GOLDEN_OPTIMUM: [f64; 3] = [-0.41668249803514706, -2.8447053267871514, 0.5472738925549723];
const GOLDEN_LINKS: [(u32, u32); 6] = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)];

#[test]
fn the_golden_case() {
    let graph = graph(5, &GOLDEN_LINKS);
    let hessian = |rows: &&[[f64; 3]]| {
        let mut hessian = Packed::identity(3, 0.8 / 5.0);
        for x in *rows {
            let bend = Loss::Logistic.curvature(learn::dot(x, &GOLDEN_OPTIMUM));
            hessian.add_outer(bend / rows.len() as f64, x);
        }
        hessian
    };
    let curvature = Curvature::Hessians(GOLDEN_X.iter().map(hessian).collect());
    let rate = local_rate(&graph, &curvature, 0.35);
    assert!(rate.converged && (rate.value - 0.8993454435363334).abs() < 1e-6, "{rate:?}");
}

/// ln of the error's shrinkage per round, late in a run of the linear map.
fn simulated_rate(topology: &Topology, hessians: &[Packed], beta: f64) -> f64 {
    const WARM: usize = 1_500;
    const MEASURED: usize = 3_000;
    let map = ErrorMap::new(topology, hessians, beta).unwrap();
    let mut state = random_vector(map.size());
    let mut next = state.clone();
    let mut log = 0.0;
    for round in 0..WARM + MEASURED {
        map.apply(&state, &mut next);
        std::mem::swap(&mut state, &mut next);
        let length = norm(&state);
        state.iter_mut().for_each(|x| *x /= length);
        if round >= WARM {
            log += length.ln();
        }
    }
    (log / MEASURED as f64).exp()
}

#[test]
fn a_long_run_of_the_map_falls_at_the_rate() {
    let hessians = twonorm(10, 3);
    let curvature = Curvature::Hessians(hessians.clone());
    for (name, graph) in
        [("star", star(10)), ("path", path(10)), ("13 links", Ok(graph(10, &THIRTEEN)))]
    {
        let graph = graph.unwrap();
        for beta in [0.05, 0.126, 0.4] {
            let rate = local_rate(&graph, &curvature, beta);
            let simulated = simulated_rate(&graph, &hessians, beta);
            assert!(rate.converged, "{name} {beta}: {rate:?}");
            assert!((rate.value - simulated).abs() < 0.002, "{name} {beta}: {rate:?}, {simulated}");
        }
    }
}

/// Rounds to 1e-6 at the best penalty, as measured with the whole algorithm.
#[test]
fn the_topologies_rank_as_measured() {
    let curvature = Curvature::Hessians(twonorm(10, 1));
    let mut previous = 0.0;
    for (name, graph, beta, rounds) in [
        ("complete", complete(10).unwrap(), 0.017, 26.0),
        ("star", star(10).unwrap(), 0.126, 34.0),
        ("13 links", graph(10, &THIRTEEN), 0.10, 55.0),
        ("ring", ring(10).unwrap(), 0.126, 64.0),
        ("path", path(10).unwrap(), 0.25, 113.0),
    ] {
        let best = best_penalty(&graph, &curvature);
        assert!(best.rate.converged && best.rate.method == Method::Full, "{name}: {best:?}");
        assert!((best.beta / beta).ln().abs() < 1.6_f64.ln(), "{name}: {best:?}");
        assert!(best.rate.value > previous, "{name}: {best:?}");
        previous = best.rate.value;
        let predicted = 1e-6_f64.ln() / best.rate.value.ln();
        assert!((predicted / rounds - 1.0).abs() < 0.35, "{name}: {predicted} rounds");
    }
}

#[test]
fn a_path_of_fifty_is_within_reach() {
    let best = best_penalty(&path(50).unwrap(), &Curvature::Hessians(twonorm(50, 1)));
    assert!(best.rate.converged && best.rate.method == Method::Full, "{best:?}");
    assert!((best.beta / 1.10).ln().abs() < 1.2_f64.ln(), "{best:?}");
    let rounds = 1e-6_f64.ln() / best.rate.value.ln();
    assert!((rounds / 557.0 - 1.0).abs() < 0.35, "{rounds} rounds");
}

#[test]
fn no_penalty_beside_the_best_is_better() {
    let curvature = Curvature::Hessians(twonorm(10, 2));
    for graph in [star(10).unwrap(), path(10).unwrap(), graph(10, &THIRTEEN)] {
        let best = best_penalty(&graph, &curvature);
        for factor in [0.01, 0.1, 0.5, 0.8, 0.95, 1.05, 1.25, 2.0, 10.0, 100.0] {
            let other = local_rate(&graph, &curvature, factor * best.beta);
            assert!(other.converged && other.method == Method::Full, "{factor}: {other:?}");
            assert!(other.value > best.rate.value, "{factor}: {other:?}, {best:?}");
        }
    }
}

#[test]
fn one_peer_needs_no_penalty() {
    for curvature in
        [peers_with(&Packed::identity(3, 0.5), 1), Curvature::Bounds { low: 0.1, high: 1.0 }]
    {
        let best = best_penalty(&path(1).unwrap(), &curvature);
        assert_eq!((best.beta, best.rate.value, best.rate.converged), (1.0, 0.0, true));
    }
}

#[test]
fn peers_without_data_have_the_regularisation_alone() {
    let mut hessians = twonorm(10, 4);
    hessians[3] = Packed::identity(20, 0.1);
    hessians[7] = Packed::identity(20, 0.1);
    let graph = graph(10, &THIRTEEN);
    let best = best_penalty(&graph, &Curvature::Hessians(hessians.clone()));
    assert!(best.rate.converged, "{best:?}");
    let simulated = simulated_rate(&graph, &hessians, best.beta);
    assert!((best.rate.value - simulated).abs() < 0.002, "{best:?}, {simulated}");
}

#[test]
fn parts_that_cannot_talk_never_agree() {
    let graph = graph(5, &[(0, 1), (2, 3), (3, 4)]);
    for curvature in
        [peers_with(&Packed::identity(2, 0.5), 5), Curvature::Bounds { low: 0.1, high: 1.0 }]
    {
        let rate = local_rate(&graph, &curvature, 0.2);
        assert!((rate.value - 1.0).abs() < 1e-9, "{rate:?}");
    }
}

#[test]
fn numbers_that_are_none_give_no_rate() {
    let best = best_penalty(&path(3).unwrap(), &peers_with(&Packed::identity(2, f64::NAN), 3));
    assert!(best.rate.value.is_nan() && !best.rate.converged, "{best:?}");
    for beta in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let rate = local_rate(&ring(5).unwrap(), &Curvature::Bounds { low: 0.1, high: 1.0 }, beta);
        assert!(rate.value.is_nan() && !rate.converged, "{beta}: {rate:?}");
    }
    let flat = best_penalty(&path(3).unwrap(), &Curvature::Bounds { low: 0.0, high: 0.0 });
    assert!(flat.beta.is_finite() && (flat.rate.value - 1.0).abs() < 1e-9, "{flat:?}");
}

#[test]
fn large_graphs_get_a_penalty_that_says_it_is_approximate() {
    let curvature = Curvature::Bounds { low: 0.1, high: 0.3 };
    let exact = best_penalty(&ring(100_000).unwrap(), &curvature);
    assert_eq!(exact.rate.method, Method::Mean, "a ring is regular and known");
    let long = best_penalty(&path(100_000).unwrap(), &curvature);
    assert_eq!(long.rate.method, Method::Approximate);
    // An end of a path is a mirror: n peers in a row are half a ring of 2n − 2.
    let mirrored = best_penalty(&ring(199_998).unwrap(), &curvature);
    assert!((long.beta / mirrored.beta).ln().abs() < 0.05, "{long:?}, {mirrored:?}");
    let grid = best_penalty(&crate::topology::grid(200, 200).unwrap(), &curvature);
    assert_eq!(grid.rate.method, Method::Approximate);
    assert!(grid.beta > 0.05 && grid.beta < long.beta && grid.rate.value < 1.0, "{grid:?}");
}

#[test]
fn an_approximation_is_near_what_it_stands_for() {
    // The same path, by iteration and by the closed form of its mean degree.
    let curvature = Curvature::Bounds { low: 0.1, high: 0.3 };
    let iterated = best_penalty(&path(60).unwrap(), &curvature);
    assert_eq!(iterated.rate.method, Method::Mean);
    assert!(iterated.rate.converged && iterated.rate.iterations > 0, "{iterated:?}");
    let mirrored = best_penalty(&ring(118).unwrap(), &curvature);
    assert!((iterated.beta / mirrored.beta).ln().abs() < 0.1, "{iterated:?}, {mirrored:?}");
    let (gap, mirrored) = (1.0 - iterated.rate.value, 1.0 - mirrored.rate.value);
    assert!((gap / mirrored).ln().abs() < 0.1, "{gap}, {mirrored}");
}
