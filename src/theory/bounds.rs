//! The O(1/t) bound of private ADMM.
//!
//! With w, w~ = w + θ and γ stacked over the peers, a round from w~ and γ gives
//!
//! ∇J~(w⁺) = −γ⁺ − βL₊(w~⁺ − w~) + 2βDθ⁺,  γ⁺ = γ + βL₋w~⁺.
//!
//! By convexity J~(w⁺) − J~* ≤ ∇J~(w⁺)ᵀ(w⁺ − w*). Both inner products telescope, in |w~ − w*|² by
//! L₊ and in |Σ_k w~(k)|² by L₋; θ⁺ is independent of all that came before it, and θᵀL₊θ and θᵀL₋θ
//! have the same mean, so that of the noise βd Σ_i N_i E θ² is left per round. Over t rounds from 0,
//! and by convexity for the mean w̄ over the rounds,
//!
//! E[J~(w̄(t)) − J~*] ≤ S₁/t,  S₁ = (β/2)|w*|²_{L₊} + βd Σ_i N_i V_i² (1 − ρ^t)/(1 − ρ),
//!
//! where |w*|²_{L₊} = 4E|w*|² with E links. The mean is that over θ, not a promise for one run, and
//! J~(w̄) = Σ_i J~_i(w̄_i) may be below J~* while the w̄_i differ.
//!
//! Adding the optimal multiplier's inner product, −gᵀ(w̄ − w*) with g_i = ∇J~_i(w*), costs
//! gᵀL₋⁺g/(2β) and bounds something that cannot be negative, the Bregman distance:
//!
//! E[J~(w̄(t)) − J~* − gᵀ(w̄(t) − w*)] ≤ S₂/t,  S₂ = S₁ + gᵀL₋⁺g/(2β).
//!
//! It is at least (κ/2) Σ_i |w̄_i − w*|² with the peers' strong convexity κ, a/n or more: so S₂
//! speaks of the distance to the optimum, and of the peers' agreement with it.

use super::noise::PrimalNoise;
use super::penalty::BUDGET;
use crate::learn::{Objective, axpy, dot, norm};
use crate::topology::Topology;

/// The parts of S₁ and S₂ after t rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// 2βE|w*|²: the way from 0 to the optimum, over every one of E links.
    pub start: f64,
    /// βd Σ_i N_i V_i² (1 − ρ^t)/(1 − ρ): the noise on what is sent.
    pub noise: f64,
    /// gᵀL₋⁺g/(2β): the disagreement of the peers' own objectives at the optimum. None where it
    /// could not be computed.
    pub dual: Option<f64>,
    /// t.
    pub rounds: u32,
    /// The β that makes S₂ least for this t, √(½gᵀL₋⁺g / ((start + noise)/β)): where S₂'s bound is
    /// best, not where the algorithm is fastest.
    pub beta_star: Option<f64>,
}

impl Bound {
    /// S₁/t, a bound of E[J~(w̄(t)) − J~*], in units of the sum over peers.
    pub fn excess(&self) -> f64 {
        (self.start + self.noise) / f64::from(self.rounds)
    }

    /// S₂/t, a bound of E[J~(w̄(t)) − J~* − gᵀ(w̄(t) − w*)], in units of the sum over peers.
    pub fn divergence(&self) -> Option<f64> {
        self.dual.map(|dual| self.excess() + dual / f64::from(self.rounds))
    }

    /// 2S₂/(κt), a bound of E Σ_i |w̄_i(t) − w*|² where every J_i is κ-strongly convex.
    pub fn squared_distance(&self, strong_convexity: f64) -> Option<f64> {
        self.divergence().map(|divergence| 2.0 * divergence / strong_convexity)
    }
}

/// The bound after t rounds from 0 with penalty and dual step β: `optimum` is w*, `dual_energy` is
/// gᵀL₋⁺g (see [`dual_energy`]).
///
/// # Panics
/// If there is noise, but not a scale for every peer.
pub fn bound(
    topology: &Topology,
    beta: f64,
    rounds: u32,
    optimum: &[f64],
    noise: Option<&PrimalNoise<'_>>,
    dual_energy: Option<f64>,
) -> Bound {
    // Both as multiples of β.
    let start = 2.0 * topology.links() as f64 * dot(optimum, optimum);
    let noise = noise.map_or(0.0, |noise| {
        assert_eq!(noise.scales.len(), topology.peers(), "one scale for every peer");
        let variance = topology.ids().zip(noise.scales);
        let variance: f64 = variance.map(|(i, v)| topology.degree(i) as f64 * v * v).sum();
        optimum.len() as f64 * variance * noise.weight(rounds)
    });
    Bound {
        start: beta * start,
        noise: beta * noise,
        dual: dual_energy.map(|energy| energy / (2.0 * beta)),
        rounds,
        beta_star: dual_energy
            .map(|energy| (0.5 * energy / (start + noise)).sqrt())
            .filter(|beta| beta.is_finite()),
    }
}

/// g_i = ∇F_i(w) + (a/n) w + η_i/n for each of n peers; at the optimum they add up to 0. `ridge` is
/// a/n; `eta` is empty where there is no objective noise.
///
/// # Panics
/// If there are η_i, but not one for every peer.
pub fn optimal_gradients(
    objectives: &[Objective<'_>],
    ridge: f64,
    w: &[f64],
    eta: &[Vec<f64>],
) -> Vec<Vec<f64>> {
    assert!(eta.is_empty() || eta.len() == objectives.len(), "one η for every peer");
    let mut gradients = vec![vec![0.0; w.len()]; objectives.len()];
    for (i, (objective, g)) in objectives.iter().zip(&mut gradients).enumerate() {
        objective.gradient(w, g);
        axpy(ridge, w, g);
        if let Some(eta) = eta.get(i) {
            axpy(1.0 / objectives.len() as f64, eta, g);
        }
    }
    gradients
}

/// gᵀL₋⁺g over all coordinates, one vector for each peer; the part of g that all have in common
/// does not count.
///
/// By conjugate gradients for each coordinate. None for a graph that is not connected, or where the
/// iteration does not settle within about 3·10⁹ multiplications.
pub fn dual_energy(topology: &Topology, gradients: &[Vec<f64>]) -> Option<f64> {
    let n = topology.peers();
    let d = gradients.first().map_or(0, Vec::len);
    if gradients.len() != n || topology.components().len() > 1 {
        return None;
    }
    let product = (10 * n + 2 * topology.links()) as f64;
    let most = (BUDGET / (product * d.max(1) as f64)) as usize;
    (0..d)
        .map(|k| {
            let mut b: Vec<f64> = gradients.iter().map(|g| g[k]).collect();
            let mean = b.iter().sum::<f64>() / n as f64;
            b.iter_mut().for_each(|b| *b -= mean);
            energy(topology, &b, most)
        })
        .sum()
}

/// bᵀL₋⁺b for b without mean, with at most `most` products.
///
/// From x = 0 the error of bᵀx is rᵀL₋⁺r in the residual r: of second order.
fn energy(topology: &Topology, b: &[f64], most: usize) -> Option<f64> {
    const TOLERANCE: f64 = 1e-10;
    let target = TOLERANCE * norm(b);
    let mut x = vec![0.0; b.len()];
    let mut residual = b.to_vec();
    let mut direction = b.to_vec();
    let mut image = vec![0.0; b.len()];
    let mut square = dot(b, b);
    for _ in 0..=most {
        if square.sqrt() <= target {
            return Some(dot(b, &x));
        }
        for i in topology.ids() {
            let around: f64 = topology.neighbours(i).iter().map(|l| direction[l.index()]).sum();
            image[i.index()] = topology.degree(i) as f64 * direction[i.index()] - around;
        }
        let step = square / dot(&direction, &image);
        axpy(step, &direction, &mut x);
        axpy(-step, &image, &mut residual);
        // Rounding brings the constants in, which L₋ would never take out.
        let mean = residual.iter().sum::<f64>() / b.len() as f64;
        residual.iter_mut().for_each(|r| *r -= mean);
        let next = dot(&residual, &residual);
        direction.iter_mut().zip(&residual).for_each(|(p, r)| *p = r + next / square * *p);
        square = next;
    }
    None
}
