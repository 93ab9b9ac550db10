//! A bound for gossip with new noise in every round.

use super::view::remove;
use super::{PairwiseError, local};
use crate::learn::norm;
use crate::theory::gradient_tracking::mix;
use crate::theory::hessenberg::Square;
use crate::topology::Topology;
use crate::units::PeerId;

/// The most columns, peers × rounds, for which [`fresh_noise_mu`] is computed.
pub const MOST_COLUMNS: usize = 512;

/// An upper bound of what v learns of a record of u, at u·n + v (NaN on the diagonal), where every
/// round adds something new with noise of its own:
///
/// ```text
/// y(t) = x(t) + g(t) + z(t),   x(t + 1) = W y(t),   x(0) = 0,   t = 0 … T − 1,
/// ```
///
/// T = `rounds`, y being sent. A record of u moves g_u(t) by at most Δ_u in each round, and
/// z_u(t) ~ N(0, σ_u² I). With H the T × T block of M⁺M at u's columns (one per round), a change c_t of
/// g_u(t) gives μ²σ_u² = Σ_st H_st ⟨c_s, c_t⟩, and over all |c_t| ≤ Δ_u
///
/// ```text
/// μ(u→v)² ≤ (Δ_u²/σ_u²) min(Σ_st |H_st|, T λ_max(H)).
/// ```
///
/// λ_max ≤ 1: the bound is never above √T Δ_u/σ_u, that of sending all u's noisy values to v.
///
/// It holds where every g(t) is fixed beforehand or follows from what v has seen. Where others' g(t)
/// answer to messages that v does not see, as gradients at their own models do, a change at u reaches
/// v by those answers too, and this is no bound.
///
/// # Complexity
/// Per v with N neighbours O(n (N + 1)² T³) steps, and O(T³) per pair.
///
/// # Errors
/// More than [`MOST_COLUMNS`] for n·T, and as [`pairwise_mu`](super::pairwise_mu).
pub fn fresh_noise_mu(
    topology: &Topology,
    rounds: u32,
    deviations: &[f64],
    sensitivities: &[f64],
) -> Result<Vec<f64>, PairwiseError> {
    let local = local(topology, deviations, sensitivities)?;
    let n = topology.peers();
    let found = n.saturating_mul(rounds as usize);
    if found > MOST_COLUMNS {
        return Err(PairwiseError::TooManyColumns { found, most: MOST_COLUMNS });
    }
    let mut mu = vec![f64::NAN; n * n];
    for v in topology.ids() {
        let basis = row_space(topology, rounds as usize, deviations, v);
        for u in topology.ids().filter(|&u| u != v) {
            let block = block(&basis, n, rounds as usize, u);
            mu[u.index() * n + v.index()] = local[u.index()] * worst_change(&block).sqrt();
        }
    }
    Ok(mu)
}

/// An orthonormal basis of the row space of M = BS for v's view, columns ordered by round and peer.
///
/// The row of y_l(t) is (Wᵗ)_l, (Wᵗ⁻¹)_l, … , e_l in the blocks of rounds 0 … t, and nothing after: no
/// row depends on others, so none is in doubt.
pub(super) fn row_space(
    topology: &Topology,
    rounds: usize,
    deviations: &[f64],
    v: PeerId,
) -> Vec<Vec<f64>> {
    let n = topology.peers();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for l in std::iter::once(v).chain(topology.neighbours(v).iter().copied()) {
        // (Wˢ)_l for s = 0, 1, …
        let mut powers = vec![vec![0.0; n]];
        powers[0][l.index()] = 1.0;
        for s in 1..rounds {
            let mut next = vec![0.0; n];
            for peer in topology.ids() {
                mix(topology, peer, &powers[s - 1], 1, &mut next[peer.index()..=peer.index()]);
            }
            powers.push(next);
        }
        for t in 0..rounds {
            let mut row = vec![0.0; n * rounds];
            for s in 0..=t {
                let entries = powers[t - s].iter().zip(deviations).map(|(w, sigma)| w * sigma);
                row[s * n..(s + 1) * n].iter_mut().zip(entries).for_each(|(to, entry)| *to = entry);
            }
            for _ in 0..2 {
                let length = norm(&row);
                row.iter_mut().for_each(|entry| *entry /= length);
                remove(&basis, &mut row);
            }
            let length = norm(&row);
            row.iter_mut().for_each(|entry| *entry /= length);
            basis.push(row);
        }
    }
    basis
}

/// H: the projector's rows and columns of peer u, one per round.
pub(super) fn block(basis: &[Vec<f64>], n: usize, rounds: usize, u: PeerId) -> Square {
    let mut block = Square::zeros(rounds);
    for direction in basis {
        for s in 0..rounds {
            let at_s = direction[s * n + u.index()];
            for t in 0..rounds {
                block.add(s, t, at_s * direction[t * n + u.index()]);
            }
        }
    }
    block
}

/// min(Σ_st |H_st|, T λ_max(H)).
fn worst_change(block: &Square) -> f64 {
    let size = block.dimension();
    let pairs = (0..size).flat_map(|s| (0..size).map(move |t| (s, t)));
    let sum: f64 = pairs.map(|(s, t)| block.at(s, t).abs()).sum();
    sum.min(size as f64 * largest_eigenvalue(block))
}

/// λ_max of a part of a projector, from above: λ_max ≤ |Hᵏ|^(1/k) (Frobenius), which for k = 2³⁰ is
/// equality but for rounding.
fn largest_eigenvalue(block: &Square) -> f64 {
    const SQUARINGS: i32 = 30;
    let mut power = block.clone();
    let mut log = 0.0;
    for squaring in 0..=SQUARINGS {
        let length = power.norm();
        if length == 0.0 {
            return 0.0;
        }
        // Of H^(2^squaring), each kept at length 1.
        log += length.ln() / f64::from(2).powi(squaring);
        power.scale(1.0 / length);
        power = power.times(&power);
    }
    log.exp().min(1.0)
}
