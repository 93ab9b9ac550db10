//! What one peer learns of another's records from gossip: less, the further apart they are.
//!
//! Peers average by x ← Wx, τ times, with the Metropolis weights W_il = 1/(1 + max(N_i, N_l)). Peer u
//! starts from x_u(0) = g_u + z_u, where g_u moves by at most Δ_u (2-norm) with a record and the noise
//! z_u ~ N(0, σ_u² I) is drawn once. Peer v sees its own values and what its neighbours send, x_l(t)
//! for t = 0 … τ − 1: its view is B x(0), where the rows of B are those of Wᵗ at v and its neighbours.
//! With M = BS, S = diag(σ), the view is Gaussian and
//!
//! ```text
//! μ(u→v)² = (Δ_u²/σ_u²) (M⁺M)_uu,
//! ```
//!
//! exactly: (M⁺M)_uu ≤ 1 is the squared length of e_u's projection on the row space of M, and μ is the
//! one of [Gaussian privacy](crate::privacy::gaussian_epsilon). It is 1, and the loss no less than
//! that of sending x_u(0) itself, where e_u lies in the row space: there v can compute x_u(0), and
//! [`View::reconstruct`] does. So one basis gives both the account and the attack.
//!
//! All this holds for linear averaging alone, and against peers that follow the protocol.
//!
//! ```
//! use hushmesh::theory::pairwise::pairwise_mu;
//! use hushmesh::topology::path;
//! use hushmesh::units::PeerId;
//!
//! let graph = path(4)?;
//! let loss = pairwise_mu(&graph, 2, &[2.0; 4], &[1.0; 4])?;
//! let ends = |peer: u32| loss.mu(PeerId(peer), PeerId(0));
//! assert_eq!((ends(1), ends(2), ends(3)), (0.5, 0.5, 0.0));
//! assert!(loss.reconstructs(PeerId(2), PeerId(0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fresh_noise;
#[cfg(test)]
mod tests;
mod view;

use thiserror::Error;

pub use fresh_noise::{MOST_COLUMNS, fresh_noise_mu};
pub use view::View;

use crate::topology::Topology;
use crate::units::PeerId;

/// The largest graph whose losses are computed: all pairs take O(n⁴) steps and O(n²) memory, which
/// for 512 peers is a matter of minutes.
pub const MOST_PEERS: usize = 512;

/// Why a loss was not computed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PairwiseError {
    /// A graph beyond the limit.
    #[error("expected at most {most} peers, found {found}: the time grows with their fourth power")]
    TooManyPeers {
        /// The peers of the graph.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// Too many peers and rounds for the bound of [`fresh_noise_mu`].
    #[error("expected at most {most} for peers × rounds, found {found}")]
    TooManyColumns {
        /// Peers × rounds.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// A list that has not one number per peer.
    #[error("expected {expected} {what}, one per peer, found {found}")]
    Length {
        /// What the list holds.
        what: &'static str,
        /// The peers of the graph.
        expected: usize,
        /// The length of the list.
        found: usize,
    },
    /// A number out of range.
    #[error("{what} of peer {peer}: expected {range}, found {found}")]
    Range {
        /// What the number is.
        what: &'static str,
        /// Whose it is.
        peer: PeerId,
        /// What it must be.
        range: &'static str,
        /// What it is.
        found: f64,
    },
    /// Somebody who is not there.
    #[error("expected peers below {peers}, found {found}")]
    NoSuchPeer {
        /// The peers of the graph.
        peers: usize,
        /// Who was named.
        found: PeerId,
    },
}

/// What everybody learns of everybody.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairwise {
    /// n.
    pub peers: usize,
    /// μ(u→v), what v learns of a record of u, at u·n + v; NaN on the diagonal, where there is nothing
    /// to learn.
    pub mu: Vec<f64>,
    /// Δ_u/σ_u: what whoever sees x_u(0) itself learns. No μ(u→v) is larger.
    pub local: Vec<f64>,
    /// Whether v can compute x_u(0), at u·n + v; false on the diagonal.
    pub reconstructible: Vec<bool>,
}

impl Pairwise {
    /// μ(u→v).
    pub fn mu(&self, u: PeerId, v: PeerId) -> f64 {
        self.mu[u.index() * self.peers + v.index()]
    }

    /// Whether v can compute x_u(0).
    pub fn reconstructs(&self, u: PeerId, v: PeerId) -> bool {
        self.reconstructible[u.index() * self.peers + v.index()]
    }
}

/// What every single peer learns of every other in τ = `rounds` rounds of gossip, where peer u draws
/// noise of deviation σ_u once and its value moves by at most Δ_u.
///
/// # Complexity
/// O(n²) memory. Per v, O(n d²) steps for a view of d ≤ n dimensions, twice that where the deviations
/// differ: O(n⁴) at worst.
///
/// # Errors
/// More than [`MOST_PEERS`] peers; lists that are not one number per peer; deviations that are not
/// above 0; negative sensitivities.
pub fn pairwise_mu(
    topology: &Topology,
    rounds: u32,
    deviations: &[f64],
    sensitivities: &[f64],
) -> Result<Pairwise, PairwiseError> {
    let local = local(topology, deviations, sensitivities)?;
    let n = topology.peers();
    let mut mu = vec![f64::NAN; n * n];
    let mut reconstructible = vec![false; n * n];
    for v in topology.ids() {
        let view = View::of(topology, rounds, &[v])?;
        let shares = view.shares(deviations);
        for u in topology.ids().filter(|&u| u != v) {
            let place = u.index() * n + v.index();
            mu[place] = local[u.index()] * shares[u.index()].sqrt();
            reconstructible[place] = view.reconstructs(u);
        }
    }
    Ok(Pairwise { peers: n, mu, local, reconstructible })
}

/// What a coalition learns of every peer by putting its views together; NaN for its own members.
///
/// # Errors
/// As [`pairwise_mu`]; members that are not in the graph.
pub fn coalition_mu(
    topology: &Topology,
    rounds: u32,
    deviations: &[f64],
    sensitivities: &[f64],
    coalition: &[PeerId],
) -> Result<Vec<f64>, PairwiseError> {
    let mut mu = local(topology, deviations, sensitivities)?;
    let shares = View::of(topology, rounds, coalition)?.shares(deviations);
    mu.iter_mut().zip(shares).for_each(|(mu, share)| *mu *= share.sqrt());
    coalition.iter().for_each(|member| mu[member.index()] = f64::NAN);
    Ok(mu)
}

/// Δ_u/σ_u, if all of them are in range.
fn local(
    topology: &Topology,
    deviations: &[f64],
    sensitivities: &[f64],
) -> Result<Vec<f64>, PairwiseError> {
    let n = topology.peers();
    few_peers(topology)?;
    for (what, list) in [("deviations", deviations), ("sensitivities", sensitivities)] {
        if list.len() != n {
            return Err(PairwiseError::Length { what, expected: n, found: list.len() });
        }
    }
    for (peer, (&deviation, &sensitivity)) in
        topology.ids().zip(deviations.iter().zip(sensitivities))
    {
        if !(deviation > 0.0 && deviation.is_finite()) {
            let (what, range) = ("the deviation", "a number above 0");
            return Err(PairwiseError::Range { what, peer, range, found: deviation });
        }
        if !(sensitivity >= 0.0 && sensitivity.is_finite()) {
            let (what, range) = ("the sensitivity", "0 or a number above");
            return Err(PairwiseError::Range { what, peer, range, found: sensitivity });
        }
    }
    Ok(sensitivities.iter().zip(deviations).map(|(delta, sigma)| delta / sigma).collect())
}

fn few_peers(topology: &Topology) -> Result<(), PairwiseError> {
    match topology.peers() {
        found if found > MOST_PEERS => Err(PairwiseError::TooManyPeers { found, most: MOST_PEERS }),
        _ => Ok(()),
    }
}
