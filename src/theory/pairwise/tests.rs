//! Losses by hand, by dense pseudo-inverses and by exact arithmetic; attacks on gossip that was run.

use rand::RngExt;

use super::fresh_noise::{block, row_space};
use super::*;
use crate::learn::norm;
use crate::random::{Purpose, Stream, Streams};
use crate::topology::{
    Density, barbell, binary_tree, complete, erdos_renyi, grid, path, ring, star,
};
use crate::units::Seed;

/// W by its definition.
fn metropolis(graph: &Topology) -> Vec<Vec<f64>> {
    let n = graph.peers();
    let mut w = vec![vec![0.0; n]; n];
    for (a, b) in graph.edges() {
        let weight = 1.0 / (1.0 + graph.degree(a).max(graph.degree(b)) as f64);
        w[a.index()][b.index()] = weight;
        w[b.index()][a.index()] = weight;
    }
    for (i, row) in w.iter_mut().enumerate() {
        row[i] = 1.0 - row.iter().sum::<f64>();
    }
    w
}

fn product(w: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    w.iter().map(|row| row.iter().zip(x).map(|(w, x)| w * x).sum()).collect()
}

/// What the peers that a view hears send, when gossip starts from x.
fn seen(graph: &Topology, view: &View, x: &[f64]) -> Vec<f64> {
    let w = metropolis(graph);
    let mut x = x.to_vec();
    let mut seen = Vec::new();
    for _ in 0..view.times() {
        seen.extend(view.heard().iter().map(|l| x[l.index()]));
        x = product(&w, &x);
    }
    seen
}

fn stream(seed: u64) -> Stream {
    Streams::new(Seed(seed), 0).single(Purpose::Spectrum)
}

fn random_graph(seed: u64, peers: usize) -> Topology {
    let links = peers - 1 + (seed as usize * 7) % peers;
    let links = links.min(peers * (peers - 1) / 2);
    erdos_renyi(peers, Density::Links(links), &Streams::new(Seed(seed), 0)).unwrap()
}

/// μ of unit noise and sensitivity.
fn plain(graph: &Topology, rounds: u32) -> Pairwise {
    let ones = vec![1.0; graph.peers()];
    pairwise_mu(graph, rounds, &ones, &ones).unwrap()
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-9
}

#[test]
fn nobody_learns_anything_without_a_round() {
    let loss = plain(&complete(4).unwrap(), 0);
    let others = |place: &usize| place / 4 != place % 4;
    assert!((0..16).filter(others).all(|place| loss.mu[place] == 0.0));
    assert!((0..16).filter(|place| !others(place)).all(|place| loss.mu[place].is_nan()));
    assert!(loss.reconstructible.iter().all(|known| !known));
}

#[test]
fn a_path_of_three_shows_its_far_end_in_the_second_round() {
    let graph = path(3).unwrap();
    let one = pairwise_mu(&graph, 1, &[2.0, 4.0, 5.0], &[1.0, 1.0, 3.0]).unwrap();
    assert_eq!(one.local, [0.5, 0.25, 0.6]);
    // Neighbours send what they have as it is; of the far end nothing has come yet.
    assert_eq!(one.mu(PeerId(1), PeerId(0)), 0.25);
    assert_eq!(one.mu(PeerId(2), PeerId(1)), 0.6);
    assert_eq!(one.mu(PeerId(2), PeerId(0)), 0.0);
    // In round 2 the middle sends (x_0 + x_1 + x_2)/3, of which the end knows two.
    let two = pairwise_mu(&graph, 2, &[2.0, 4.0, 5.0], &[1.0, 1.0, 3.0]).unwrap();
    assert_eq!(two.mu(PeerId(2), PeerId(0)), 0.6);
    assert!(two.reconstructs(PeerId(2), PeerId(0)));
}

#[test]
fn leaves_of_a_star_see_only_the_sum_of_the_other_leaves() {
    // A leaf knows x_0 and itself; all else that it ever hears of is the sum of the other m leaves.
    // With deviations σ: (M⁺M)_uu = σ_u²/Σσ², so μ² = Δ²/Σσ².
    for peers in [3, 5, 9] {
        let graph = star(peers).unwrap();
        let sigma: Vec<f64> = (0..peers).map(|u| 1.0 + u as f64).collect();
        for rounds in [2, 3, 40] {
            let loss = pairwise_mu(&graph, rounds, &sigma, &vec![1.0; peers]).unwrap();
            let v = PeerId(1);
            let sum: f64 = sigma[2..].iter().map(|s| s * s).sum();
            for u in 2..peers {
                let u = PeerId::new(u);
                assert!(close(loss.mu(u, v).powi(2), 1.0 / sum), "{peers} {rounds} {u}");
                assert_eq!(loss.reconstructs(u, v), peers == 3);
                assert!(loss.reconstructs(u, PeerId(0)), "the hub hears everybody");
            }
        }
    }
}

#[test]
fn everybody_sees_everything_on_a_complete_graph() {
    let loss = plain(&complete(6).unwrap(), 1);
    for u in 0..6 {
        for v in (0..6).filter(|&v| v != u) {
            assert_eq!(loss.mu(PeerId(u), PeerId(v)), 1.0);
            assert!(loss.reconstructs(PeerId(u), PeerId(v)));
        }
    }
}

#[test]
fn a_ring_gives_away_the_next_but_one_in_two_rounds() {
    // Summing the parts of single messages, (W_wu)²/|W_w|² = 1/3, would be far too little: who knows
    // two of the three terms of a mean knows the third.
    let loss = plain(&ring(7).unwrap(), 2);
    for (u, expected) in [(1, 1.0), (2, 1.0), (3, 0.0), (4, 0.0), (5, 1.0), (6, 1.0)] {
        assert_eq!(loss.mu(PeerId(u), PeerId(0)), expected, "{u}");
    }
    // From both sides, in time, everybody.
    let late = plain(&ring(6).unwrap(), 50);
    assert!((1..6).all(|u| late.reconstructs(PeerId(u), PeerId(0))));
}

/// (M⁺M)_uu by the eigenvectors of MᵀM, each row of M scaled to length 1.
fn dense_shares(graph: &Topology, rounds: u32, sigma: &[f64], observers: &[PeerId]) -> Vec<f64> {
    let w = metropolis(graph);
    let view = View::of(graph, rounds, observers).unwrap();
    let mut rows = Vec::new();
    for l in view.heard() {
        let mut row = vec![0.0; graph.peers()];
        row[l.index()] = 1.0;
        for _ in 0..view.times() {
            let scaled: Vec<f64> = row.iter().zip(sigma).map(|(r, s)| r * s).collect();
            let length = norm(&scaled);
            rows.push(scaled.iter().map(|s| s / length).collect::<Vec<f64>>());
            row = product(&w, &row);
        }
    }
    // Eigenvalues of MᵀM by Jacobi's rotations: the projector is that on the ones above rounding.
    let n = graph.peers();
    let mut a = vec![vec![0.0; n]; n];
    for row in &rows {
        for i in 0..n {
            for j in 0..n {
                a[i][j] += row[i] * row[j];
            }
        }
    }
    let mut q: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..60 {
        for p in 0..n {
            for r in p + 1..n {
                if a[p][r].abs() < 1e-300 {
                    continue;
                }
                let theta = 0.5 * (2.0 * a[p][r]).atan2(a[r][r] - a[p][p]);
                let (sin, cos) = theta.sin_cos();
                for row in &mut a {
                    let (x, y) = (row[p], row[r]);
                    (row[p], row[r]) = (cos * x - sin * y, sin * x + cos * y);
                }
                for k in 0..n {
                    let (x, y) = (a[p][k], a[r][k]);
                    (a[p][k], a[r][k]) = (cos * x - sin * y, sin * x + cos * y);
                    let (x, y) = (q[k][p], q[k][r]);
                    (q[k][p], q[k][r]) = (cos * x - sin * y, sin * x + cos * y);
                }
            }
        }
    }
    (0..n).map(|u| (0..n).filter(|&k| a[k][k] > 1e-12).map(|k| q[u][k] * q[u][k]).sum()).collect()
}

#[test]
fn dense_pseudo_inverses_agree() {
    for seed in 0..60 {
        let peers = 2 + seed as usize % 6;
        let graph = random_graph(seed, peers);
        let mut stream = stream(seed);
        let sigma: Vec<f64> = (0..peers).map(|_| stream.random_range(0.5..3.0)).collect();
        let delta: Vec<f64> = (0..peers).map(|_| stream.random_range(0.0..2.0)).collect();
        // Few rounds: powers of W must not have sunk below rounding in the dense matrix.
        for rounds in 0..4 {
            let loss = pairwise_mu(&graph, rounds, &sigma, &delta).unwrap();
            for v in graph.ids() {
                let shares = dense_shares(&graph, rounds, &sigma, &[v]);
                for u in graph.ids().filter(|&u| u != v) {
                    let expected = (delta[u.index()] / sigma[u.index()]) * shares[u.index()].sqrt();
                    let found = loss.mu(u, v);
                    assert!(
                        (found - expected).abs() < 1e-6,
                        "{seed} {rounds} {u} {v}: {found} {expected}"
                    );
                }
            }
            let pair = [PeerId(0), PeerId::new(peers - 1)];
            let found = coalition_mu(&graph, rounds, &sigma, &delta, &pair).unwrap();
            let shares = dense_shares(&graph, rounds, &sigma, &pair);
            for u in 0..peers {
                let expected = delta[u] / sigma[u] * shares[u].sqrt();
                assert!(pair.contains(&PeerId::new(u)) == found[u].is_nan());
                assert!(found[u].is_nan() || (found[u] - expected).abs() < 1e-6, "{seed} {u}");
            }
        }
    }
}

#[test]
fn losses_grow_with_rounds_and_with_the_coalition() {
    for seed in 0..30 {
        let graph = random_graph(seed, 9);
        let sigma: Vec<f64> = (0..9).map(|u| 1.0 + 0.3 * f64::from(u)).collect();
        let delta = [1.0; 9];
        let mut before = pairwise_mu(&graph, 0, &sigma, &delta).unwrap();
        for rounds in 1..10 {
            let loss = pairwise_mu(&graph, rounds, &sigma, &delta).unwrap();
            for place in (0..81).filter(|place| place / 9 != place % 9) {
                assert!(loss.mu[place] >= before.mu[place] - 1e-9, "{seed} {rounds}");
                assert!(loss.mu[place] <= loss.local[place / 9]);
                assert!(loss.reconstructible[place] >= before.reconstructible[place]);
                assert_eq!(
                    loss.reconstructible[place],
                    close(loss.mu[place], loss.local[place / 9]),
                    "{seed} {rounds} {place}"
                );
            }
            let pair = [PeerId(3), PeerId(7)];
            let both = coalition_mu(&graph, rounds, &sigma, &delta, &pair).unwrap();
            for u in (0..9).map(PeerId).filter(|u| !pair.contains(u)) {
                assert!(pair.iter().all(|&v| both[u.index()] >= loss.mu(u, v) - 1e-9));
            }
            before = loss;
        }
    }
}

#[test]
fn a_value_is_recovered_exactly_where_the_loss_is_the_local_one() {
    let (mut recovered, mut hidden) = (0, 0);
    for seed in 0..120 {
        let peers = 3 + seed as usize % 6;
        let graph = if seed % 5 == 0 { star(peers).unwrap() } else { random_graph(seed, peers) };
        let mut stream = stream(seed);
        let x: Vec<f64> = (0..peers).map(|_| stream.random_range(-1.0..1.0)).collect();
        let sigma: Vec<f64> = (0..peers).map(|_| stream.random_range(0.5..2.0)).collect();
        let ones = vec![1.0; peers];
        for rounds in 1..=(peers as u32 + 2) {
            let loss = pairwise_mu(&graph, rounds, &sigma, &ones).unwrap();
            for v in graph.ids() {
                let view = View::of(&graph, rounds, &[v]).unwrap();
                let messages = seen(&graph, &view, &x);
                let found = view.reconstruct(&messages);
                for u in graph.ids().filter(|&u| u != v) {
                    let local = close(loss.mu(u, v), loss.local[u.index()]);
                    assert_eq!(local, loss.reconstructs(u, v));
                    if local {
                        let found = found[u.index()].unwrap();
                        let error = (found - x[u.index()]).abs();
                        assert!(error < 1e-8, "{seed} {rounds} {u} {v}: off by {error}");
                        recovered += 1;
                        continue;
                    }
                    assert_eq!(found[u.index()], None);
                    // Another start, with x_u higher by 1, from which the same would be seen.
                    let unseen = view.unseen(u);
                    let scale = unseen[u.index()];
                    let other: Vec<f64> =
                        x.iter().zip(&unseen).map(|(x, r)| x + r / scale).collect();
                    assert!(close(other[u.index()] - x[u.index()], 1.0));
                    let same = seen(&graph, &view, &other);
                    let worst = same.iter().zip(&messages).map(|(a, b)| (a - b).abs());
                    assert!(worst.fold(0.0, f64::max) < 1e-9, "{seed} {rounds} {u} {v}");
                    hidden += 1;
                }
            }
        }
    }
    assert!(recovered > 1000 && hidden > 1000, "{recovered} {hidden}");
}

/// Arithmetic modulo the prime 2⁶¹ − 1: exact, and W's entries have a place in it.
mod exact {
    use super::*;

    const PRIME: u64 = (1 << 61) - 1;

    fn times(a: u64, b: u64) -> u64 {
        (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
    }

    fn minus(a: u64, b: u64) -> u64 {
        (a + PRIME - b) % PRIME
    }

    fn inverse(a: u64) -> u64 {
        let (mut power, mut result, mut exponent) = (a, 1, PRIME - 2);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = times(result, power);
            }
            power = times(power, power);
            exponent >>= 1;
        }
        result
    }

    /// Rows with a leading 1 at a place of their own.
    #[derive(Default)]
    pub(super) struct Space {
        rows: Vec<(usize, Vec<u64>)>,
    }

    impl Space {
        fn reduce(&self, vector: &mut [u64]) {
            for (place, row) in &self.rows {
                let factor = vector[*place];
                if factor != 0 {
                    for (entry, of) in vector.iter_mut().zip(row) {
                        *entry = minus(*entry, times(factor, *of));
                    }
                }
            }
        }

        fn add(&mut self, mut vector: Vec<u64>) -> bool {
            self.reduce(&mut vector);
            let Some(place) = vector.iter().position(|&entry| entry != 0) else { return false };
            let factor = inverse(vector[place]);
            vector.iter_mut().for_each(|entry| *entry = times(*entry, factor));
            self.rows.push((place, vector));
            true
        }

        /// The row space of a view.
        pub(super) fn of(graph: &Topology, rounds: u32, v: PeerId) -> Self {
            let n = graph.peers();
            let mut space = Self::default();
            for l in std::iter::once(v).chain(graph.neighbours(v).iter().copied()) {
                space.add((0..n).map(|i| u64::from(i == l.index())).collect());
            }
            let mut first = 0;
            for _ in 1..rounds {
                let last = space.rows.len();
                for from in first..last {
                    let x = space.rows[from].1.clone();
                    let mut next = x.clone();
                    for (a, b) in graph.edges() {
                        let degree = graph.degree(a).max(graph.degree(b)) as u64;
                        let weight = inverse(1 + degree);
                        let (a, b) = (a.index(), b.index());
                        let flow = times(weight, minus(x[b], x[a]));
                        next[a] = (next[a] + flow) % PRIME;
                        next[b] = minus(next[b], flow);
                    }
                    space.add(next);
                }
                first = last;
            }
            space
        }

        pub(super) fn dimension(&self) -> usize {
            self.rows.len()
        }

        pub(super) fn holds(&self, u: PeerId) -> bool {
            let n = self.rows[0].1.len();
            let mut unit: Vec<u64> = (0..n).map(|i| u64::from(i == u.index())).collect();
            self.reduce(&mut unit);
            unit.iter().all(|&entry| entry == 0)
        }
    }
}

#[test]
fn exact_arithmetic_finds_the_same_dimensions_and_the_same_victims() {
    let random = |seed: u32| {
        let density = Density::Probability(0.1 + 0.01 * f64::from(seed));
        erdos_renyi(40, density, &Streams::new(Seed(u64::from(seed)), 0)).unwrap()
    };
    let mut graphs: Vec<Topology> = (0..12).map(random).collect();
    let streams = Streams::new(Seed(5), 0);
    graphs.extend([
        grid(6, 6).unwrap(),
        grid(5, 8).unwrap(),
        ring(31).unwrap(),
        path(40).unwrap(),
        star(20).unwrap(),
        binary_tree(31).unwrap(),
        barbell(3, 6, 1, false).unwrap(),
        erdos_renyi(70, Density::Probability(0.1), &streams).unwrap(),
    ]);
    for (index, graph) in graphs.iter().enumerate() {
        for rounds in [1, 2, 3, 5, 12, 80] {
            for v in graph.ids().step_by(5) {
                let view = View::of(graph, rounds, &[v]).unwrap();
                let exact = exact::Space::of(graph, rounds, v);
                assert_eq!(view.dimension(), exact.dimension(), "{index} {rounds} {v}");
                for u in graph.ids() {
                    assert_eq!(view.reconstructs(u), exact.holds(u), "{index} {rounds} {u} {v}");
                }
            }
        }
    }
}

/// The largest Σ_st H_st c_s c_t over c_t = ±1.
fn worst_signs(basis: &[Vec<f64>], n: usize, rounds: usize, u: PeerId) -> f64 {
    let h = block(basis, n, rounds, u);
    let sign = |pattern: usize, t: usize| if pattern >> t & 1 == 1 { 1.0 } else { -1.0 };
    (0..1_usize << rounds)
        .map(|pattern| {
            let pairs = (0..rounds).flat_map(|s| (0..rounds).map(move |t| (s, t)));
            pairs.map(|(s, t)| h.at(s, t) * sign(pattern, s) * sign(pattern, t)).sum()
        })
        .fold(0.0, f64::max)
}

#[test]
fn fresh_noise_is_bounded_above_every_pattern_of_changes() {
    for seed in 0..20 {
        let peers = 3 + seed as usize % 5;
        let graph = random_graph(seed, peers);
        let mut stream = stream(seed);
        let sigma: Vec<f64> = (0..peers).map(|_| stream.random_range(0.5..2.0)).collect();
        let delta: Vec<f64> = (0..peers).map(|_| stream.random_range(0.5..2.0)).collect();
        for rounds in 0..7_u32 {
            let bound = fresh_noise_mu(&graph, rounds, &sigma, &delta).unwrap();
            for v in graph.ids() {
                let basis = row_space(&graph, rounds as usize, &sigma, v);
                for u in graph.ids().filter(|&u| u != v) {
                    let local = (delta[u.index()] / sigma[u.index()]).powi(2);
                    let worst = local * worst_signs(&basis, peers, rounds as usize, u);
                    let found = bound[u.index() * peers + v.index()].powi(2);
                    assert!(found >= worst * (1.0 - 1e-9), "{seed} {rounds}: {found} {worst}");
                    assert!(found <= f64::from(rounds) * local * (1.0 + 1e-9));
                    if graph.neighbours(v).contains(&u) && rounds == 1 {
                        assert!(close(found, local), "a neighbour sends it as it is");
                    }
                }
            }
        }
    }
}

#[test]
fn fresh_noise_hides_behind_that_of_the_peer_between() {
    // On a ring, 0 knows what 1 mixes in round 1 but for the part of 2: y_1(1) is n_2(0)/3 + n_1(1)
    // and what is known. So H of 2 is (1/9)/(1/9 + 1) = 1/10 in round 0, and H of 1 is 1 in round 0,
    // 1/(1/9 + 1) = 9/10 in round 1.
    let bound = fresh_noise_mu(&ring(7).unwrap(), 2, &[1.0; 7], &[1.0; 7]).unwrap();
    assert!(close(bound[7].powi(2), 1.9), "{}", bound[7].powi(2));
    assert!(close(bound[2 * 7].powi(2), 0.1), "{}", bound[2 * 7].powi(2));
    assert_eq!(bound[3 * 7], 0.0);
}

#[test]
fn what_the_projector_of_fresh_noise_leaves_is_seen_by_no_row() {
    let graph = random_graph(4, 5);
    let (n, rounds, v) = (5, 3, PeerId(2));
    let sigma = [0.5, 1.0, 2.0, 1.5, 0.7];
    let w = metropolis(&graph);
    let mut rows = Vec::new();
    for l in std::iter::once(v).chain(graph.neighbours(v).iter().copied()) {
        for t in 0..rounds {
            let mut row = vec![0.0; n * rounds];
            let mut power = vec![0.0; n];
            power[l.index()] = 1.0;
            for s in (0..=t).rev() {
                (0..n).for_each(|i| row[s * n + i] = power[i] * sigma[i]);
                power = product(&w, &power);
            }
            rows.push(row);
        }
    }
    // For each unit vector: is row · (e − Pe) = 0 for all rows, and Pe made of rows alone (as many
    // directions as rows, which are independent)?
    let basis = row_space(&graph, rounds, &sigma, v);
    assert_eq!(basis.len(), rows.len());
    for column in 0..n * rounds {
        let mut rest = vec![0.0; n * rounds];
        rest[column] = 1.0;
        for q in &basis {
            let along = q[column];
            rest.iter_mut().zip(q).for_each(|(rest, q)| *rest -= along * q);
        }
        for row in &rows {
            let left: f64 = row.iter().zip(&rest).map(|(a, b)| a * b).sum();
            assert!(left.abs() < 1e-12);
        }
        let u = PeerId::new(column % n);
        let (t, kept) = (column / n, 1.0 - rest[column]);
        assert!(close(block(&basis, n, rounds, u).at(t, t), kept));
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let graph = path(3).unwrap();
    let error = |sigma: &[f64], delta: &[f64]| pairwise_mu(&graph, 1, sigma, delta).unwrap_err();
    assert_eq!(
        error(&[1.0; 2], &[1.0; 3]).to_string(),
        "expected 3 deviations, one per peer, found 2"
    );
    assert_eq!(
        error(&[1.0, 0.0, 1.0], &[1.0; 3]).to_string(),
        "the deviation of peer 1: expected a number above 0, found 0"
    );
    assert!(matches!(error(&[1.0; 3], &[1.0, 1.0, f64::NAN]), PairwiseError::Range { .. }));
    let stranger = coalition_mu(&graph, 1, &[1.0; 3], &[1.0; 3], &[PeerId(3)]).unwrap_err();
    assert_eq!(stranger.to_string(), "expected peers below 3, found 3");
    let large = ring(MOST_PEERS + 1).unwrap();
    let ones = vec![1.0; MOST_PEERS + 1];
    let refused = pairwise_mu(&large, 1, &ones, &ones).unwrap_err();
    assert_eq!(refused, PairwiseError::TooManyPeers { found: 513, most: 512 });
    let many = fresh_noise_mu(&graph, 200, &[1.0; 3], &[1.0; 3]).unwrap_err();
    assert_eq!(many, PairwiseError::TooManyColumns { found: 600, most: 512 });
}
