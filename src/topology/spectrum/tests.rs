//! Closed forms and iterations against a dense solve that shares no code with them.

use proptest::prelude::*;

use super::super::{
    binary_tree, complete, exponential, grid, hypercube, path, random_regular, ring, star, torus,
    watts_strogatz,
};
use super::*;
use crate::random::Streams;
use crate::units::Seed;

/// Eigenvalues by cyclic Jacobi rotations on the matrix as the definition writes it.
fn jacobi(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let n = a.len();
    for _ in 0..60 {
        let mut off = 0.0;
        for p in 0..n {
            for q in p + 1..n {
                off += a[p][q] * a[p][q];
                if a[p][q].abs() < 1e-300 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let t = if theta == 0.0 { 1.0 } else { t };
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for row in &mut a {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                let (upper, lower) = a.split_at_mut(q);
                for (x, y) in upper[p].iter_mut().zip(&mut lower[0]) {
                    (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                }
            }
        }
        if off < 1e-22 {
            break;
        }
    }
    let mut values: Vec<f64> = (0..n).map(|i| a[i][i]).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// D + sign · A, or W, entry by entry.
fn matrix(graph: &Topology, entry: impl Fn(usize, usize, usize, usize) -> f64) -> Vec<Vec<f64>> {
    let n = graph.peers();
    let mut m = vec![vec![0.0; n]; n];
    for (a, b) in graph.edges() {
        let weight = entry(a.index(), b.index(), graph.degree(a), graph.degree(b));
        m[a.index()][b.index()] = weight;
        m[b.index()][a.index()] = weight;
    }
    m
}

fn laplacian(graph: &Topology, sign: f64) -> Vec<Vec<f64>> {
    let mut m = matrix(graph, |_, _, _, _| sign);
    graph.ids().for_each(|i| m[i.index()][i.index()] = graph.degree(i) as f64);
    m
}

/// Every figure by its definition.
fn independent(graph: &Topology) -> [f64; 6] {
    let n = graph.peers();
    let minus = jacobi(laplacian(graph, -1.0));
    let plus = jacobi(laplacian(graph, 1.0));
    let mut w = matrix(graph, |_, _, a, b| 1.0 / (1 + a.max(b)) as f64);
    for (i, row) in w.iter_mut().enumerate() {
        row[i] = 1.0 - row.iter().sum::<f64>();
    }
    let w = jacobi(w);
    let gap = 1.0 - w[n - 2].abs().max(w[0].abs());
    [minus[1], minus[n - 1], gap, plus[n - 1] / minus[1], plus[0], plus[n - 1]]
}

fn agree(graph: &Topology, spectrum: &Spectrum, tolerance: f64) {
    let found = [
        spectrum.algebraic_connectivity,
        spectrum.largest,
        spectrum.metropolis_gap,
        spectrum.ratio,
        spectrum.signless_least,
        spectrum.signless_largest,
    ];
    for (found, expected) in found.into_iter().zip(independent(graph)) {
        let value = found.value.unwrap_or(f64::NAN);
        let close = (value - expected).abs() <= tolerance * (1.0 + expected.abs());
        assert!(close, "{} peers: {found:?}, expected {expected}", graph.peers());
    }
}

#[test]
fn closed_forms_are_those_of_an_independent_solve() {
    let mut graphs = vec![path(2), star(3), torus(2, 3), torus(5, 2), grid(2, 2)];
    for n in [3, 4, 5, 8, 13, 30] {
        graphs.extend([path(n), ring(n), star(n), complete(n), exponential(n)]);
        graphs.extend([grid(3, n), grid(n, 2), torus(3, n), torus(n, 4)]);
    }
    graphs.extend((1..7).map(hypercube));
    for graph in graphs {
        let graph = graph.unwrap();
        let spectrum = Spectrum::of(&graph).unwrap();
        assert_eq!(spectrum.algebraic_connectivity.method, Method::ClosedForm);
        agree(&graph, &spectrum, 1e-10);
        let (all, _) = spectrum.all.unwrap();
        let expected = jacobi(laplacian(&graph, -1.0));
        assert!(all.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-10));
    }
}

#[test]
fn long_rings_and_paths_have_the_small_eigenvalues_of_their_formulas() {
    use std::f64::consts::PI;
    for n in [1_000, 100_000] {
        let of = |graph: Result<Topology, _>| Spectrum::of(&graph.unwrap()).unwrap();
        let ring = of(ring(n)).algebraic_connectivity.value.unwrap();
        let expected = (2.0 * PI / n as f64).powi(2);
        assert!((ring / expected - 1.0).abs() < 1e-4, "{ring}");
        let path = of(path(n)).algebraic_connectivity.value.unwrap();
        assert!((path / (PI / n as f64).powi(2) - 1.0).abs() < 1e-4, "{path}");
    }
}

#[test]
fn apart_or_alone_there_is_no_spectrum() {
    assert_eq!(Spectrum::of(&path(1).unwrap()), None);
    assert_eq!(Spectrum::of(&Topology::from_links(3, [(0, 1)]).unwrap()), None);
}

/// The iteration, which only large graphs need, on graphs small enough to be solved completely.
#[test]
fn the_iteration_finds_the_ends_of_the_spectrum() {
    let streams = Streams::new(Seed(2), 0);
    for graph in [
        ring(60),
        grid(9, 11),
        star(40),
        binary_tree(100),
        random_regular(120, 4, &streams),
        watts_strogatz(150, 4, 0.1, &streams),
    ] {
        let graph = graph.unwrap();
        let n = graph.peers();
        for (matrix, dense) in [
            (Laplacian::unsigned(&graph), jacobi(laplacian(&graph, -1.0))),
            (Laplacian::metropolis(&graph), Eigen::values(Laplacian::metropolis(&graph).dense())),
        ] {
            for (end, expected) in [(End::Least, dense[1]), (End::Greatest, dense[n - 1])] {
                let found = matrix.extreme(end, None, 1e-6, 1e9);
                assert!(found.converged, "{n}, {end:?}: {}", found.residual);
                assert!((found.value / expected - 1.0).abs() < 1e-6, "{n}, {end:?}");
            }
        }
        let plus = jacobi(laplacian(&graph, 1.0));
        let found = Laplacian::signless(&graph).extreme(End::Greatest, None, 1e-6, 1e9);
        assert!(found.converged && (found.value / plus[n - 1] - 1.0).abs() < 1e-6, "{n}");
        if plus[0] > 1e-9 {
            let found = Laplacian::signless(&graph).extreme(End::Least, None, 1e-6, 1e9);
            assert!(found.converged && (found.value / plus[0] - 1.0).abs() < 1e-6, "{n}");
        }
    }
}

/// L₊: a ring 4 sin²(π/2n) where n is odd and 4; a complete graph n − 2 and 2(n − 1); a path and a
/// star are bipartite, with the largest of L₋ at the upper end.
#[test]
fn signless_eigenvalues_have_their_closed_forms() {
    use std::f64::consts::PI;
    let of = |graph: Result<Topology, _>| {
        let spectrum = Spectrum::of(&graph.unwrap()).unwrap();
        let [least, largest] = [spectrum.signless_least, spectrum.signless_largest];
        assert_eq!([least.method, largest.method], [Method::ClosedForm; 2]);
        (least.value.unwrap(), largest.value.unwrap())
    };
    for n in [3, 4, 5, 8, 13, 101, 1_000, 99_999] {
        let angle = 0.5 * PI / n as f64;
        let (least, largest) = of(ring(n));
        if n % 2 == 0 {
            assert_eq!(least, 0.0);
        } else {
            assert!((least / (4.0 * angle.sin().powi(2)) - 1.0).abs() < 1e-12, "{n}: {least}");
        }
        assert_eq!(largest, 4.0);
        let (least, largest) = of(path(n));
        assert_eq!(least, 0.0);
        assert!((largest - 4.0 * angle.cos().powi(2)).abs() < 1e-12, "{n}: {largest}");
        let (least, largest) = of(star(n));
        assert_eq!(least, 0.0);
        assert!((largest - n as f64).abs() < 1e-12, "{n}: {largest}");
        if n <= 1_000 {
            let (least, largest) = of(complete(n));
            assert!((least - (n - 2) as f64).abs() < 1e-9, "{n}: {least}");
            assert_eq!(largest, 2.0 * (n - 1) as f64);
        }
    }
}

/// One link more than a tree of 600 peers makes a triangle: the least eigenvalue is small, not 0.
#[test]
fn a_triangle_in_a_large_tree_is_seen() {
    let tree = binary_tree(600).unwrap();
    assert_eq!(Spectrum::of(&tree).unwrap().signless_least.value, Some(0.0));
    let more = tree.with_link(crate::units::PeerId(1), crate::units::PeerId(2)).unwrap();
    let least = Spectrum::of(&more).unwrap().signless_least;
    assert!(matches!(least.method, Method::Iterated { .. }), "{least:?}");
    assert!(least.value.is_some_and(|value| value > 1e-6 && value < 0.1), "{least:?}");
}

/// Where links weigh differently and there are too many peers to hold the matrix: weights of 1/5 to
/// 1/4 in a grid put μ₂ of I − W between those shares of λ₂, near the lower one.
#[test]
fn the_gap_of_a_large_grid_settles() {
    let spectrum = Spectrum::of(&grid(40, 50).unwrap()).unwrap();
    let share =
        spectrum.metropolis_gap.value.unwrap() / spectrum.algebraic_connectivity.value.unwrap();
    assert!(matches!(spectrum.metropolis_gap.method, Method::Iterated { .. }));
    assert!(share > 0.2 && share < 0.22, "{share}");
}

#[test]
fn an_iteration_that_does_not_settle_gives_no_number() {
    let long = path(5_000).unwrap();
    let found = Value::of(&Laplacian::unsigned(&long).extreme(End::Least, None, 1e-6, 0.0));
    assert_eq!(found.value, None);
    assert!(matches!(found.method, Method::NotConverged { residual } if residual > 0.0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn figures_are_those_of_an_independent_solve(
        seed: u64, n in 4_usize..60, half in 1_usize..3, rewiring in 0.0_f64..1.0,
    ) {
        let degree = 2 * half.min((n - 1) / 2);
        let streams = Streams::new(Seed(seed), 0);
        if let Ok(graph) = watts_strogatz(n, degree, rewiring, &streams) {
            agree(&graph, &Spectrum::of(&graph).unwrap(), 1e-9);
        }
    }
}
