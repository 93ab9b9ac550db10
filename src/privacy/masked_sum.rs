//! Sums of which each addend tells nothing: fixed point modulo 2⁶⁴, pairwise masks, shares of noise.
//!
//! Two peers that share a seed add the same pseudorandom residues, one with a plus and one with a minus,
//! so that the masks of all peers cancel in the sum while every single addend is uniform (Bonawitz et
//! al. 2017). Who shares seeds is the [`MaskGraph`], which need not be the graph that carries the
//! messages: how two peers that are no neighbours agree on a seed (public keys that others carry) is
//! taken as ideal.
//!
//! Against a coalition the rule is: take it out of the mask graph; it learns the sum over each
//! component that is left, and nothing else about those peers. For coalitions of one, [`Separation`] says
//! so of all peers at once.

mod separation;

use std::sync::Arc;

use rand::Rng;

use super::released::{Charge, Part, PooledNoise, Released, Sensitivity, charged};
use crate::random::{Draw, Family};
use crate::units::{PeerId, Round};

pub use separation::Separation;

/// Numbers in fixed point, as residues modulo 2⁶⁴: sums are exact and do not depend on their order.
///
/// A sum of m addends, each within ±B, is exact on the grid of step 2⁻ˢ with the largest s such that
/// m·B·2ˢ < 2⁶².
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    bound: f64,
    shift: i32,
}

impl Grid {
    /// The finest grid for sums of so many addends of at most this size. An addend beyond the bound is
    /// cut to it.
    ///
    /// # Panics
    /// If the bound is not positive and finite.
    pub fn new(addends: usize, bound: f64) -> Self {
        let most = addends.max(1) as f64 * bound;
        assert!(bound > 0.0 && most.is_finite(), "a bound of {bound}");
        let mut shift = 62 - most.log2().ceil() as i32;
        // The logarithm may be rounded either way.
        while most * 2.0_f64.powi(shift) >= 2.0_f64.powi(62) {
            shift -= 1;
        }
        while most * 2.0_f64.powi(shift + 1) < 2.0_f64.powi(62) {
            shift += 1;
        }
        Self { bound, shift }
    }

    /// 2⁻ˢ.
    pub fn step(&self) -> f64 {
        2.0_f64.powi(-self.shift)
    }

    /// The bound of one addend.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Whether a value is within the bound; no number that is none.
    pub fn holds(&self, value: f64) -> bool {
        value.abs() <= self.bound
    }

    /// The nearest residue.
    pub fn residue(&self, value: f64) -> u64 {
        let within = value.clamp(-self.bound, self.bound);
        (within * 2.0_f64.powi(self.shift)).round_ties_even() as i64 as u64
    }

    /// The number that a residue stands for.
    pub fn number(&self, residue: u64) -> f64 {
        residue as i64 as f64 * self.step()
    }

    /// How far values of d coordinates move on the grid that move by this off it: each end is rounded
    /// by at most half a step in every coordinate.
    pub fn moved(&self, by: f64, dimension: usize) -> f64 {
        if by == 0.0 { 0.0 } else { by + (dimension as f64).sqrt() * self.step() }
    }
}

impl Released<Arc<[f64]>> {
    /// The same vector on a grid: post-processing.
    pub fn on_grid(self, grid: &Grid) -> Released<Arc<[u64]>> {
        let residues = self.value().iter().map(|&value| grid.residue(value)).collect();
        charged(residues, self.charge().clone())
    }
}

impl Released<Arc<[u64]>> {
    /// self ← self + other modulo 2⁶⁴, at the charge of both.
    #[must_use]
    pub fn added(self, other: &Self) -> Self {
        let mut residues = Arc::clone(self.value());
        let charge = self.charged(other.charge()).charge().clone();
        for (a, b) in Arc::make_mut(&mut residues).iter_mut().zip(other.value().iter()) {
            *a = a.wrapping_add(*b);
        }
        charged(residues, charge)
    }
}

/// Who shares a seed with whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaskGraph {
    /// Every peer with every other.
    AllPairs(usize),
    /// Each peer with those in its list; lists are symmetric.
    Lists(Vec<Vec<PeerId>>),
}

impl MaskGraph {
    /// How many peers there are.
    pub fn peers(&self) -> usize {
        match self {
            Self::AllPairs(peers) => *peers,
            Self::Lists(lists) => lists.len(),
        }
    }

    /// With whom a peer shares seeds, in ascending order.
    pub fn partners(&self, peer: PeerId) -> Vec<PeerId> {
        match self {
            Self::AllPairs(peers) => (0..*peers).map(PeerId::new).filter(|&p| p != peer).collect(),
            Self::Lists(lists) => {
                let mut list = lists[peer.index()].clone();
                list.sort_unstable();
                list
            }
        }
    }

    /// The parts into which the graph falls when a coalition is taken out: the coalition learns the
    /// sum over each of them, and nothing else about the peers in it.
    pub fn components(&self, coalition: &[PeerId]) -> Vec<Vec<PeerId>> {
        let mut open = vec![true; self.peers()];
        coalition.iter().for_each(|peer| open[peer.index()] = false);
        let lists = match self {
            Self::AllPairs(peers) => {
                let rest: Vec<_> =
                    (0..*peers).map(PeerId::new).filter(|p| open[p.index()]).collect();
                return if rest.is_empty() { Vec::new() } else { vec![rest] };
            }
            Self::Lists(lists) => lists,
        };
        let mut components = Vec::new();
        for first in 0..lists.len() {
            if !std::mem::replace(&mut open[first], false) {
                continue;
            }
            let mut component = vec![PeerId::new(first)];
            let mut next = 0;
            while let Some(&peer) = component.get(next) {
                next += 1;
                for partner in &lists[peer.index()] {
                    if std::mem::replace(&mut open[partner.index()], false) {
                        component.push(*partner);
                    }
                }
            }
            component.sort_unstable();
            components.push(component);
        }
        components
    }
}

/// One peer's masks.
#[derive(Clone, Debug)]
pub struct Masks {
    me: PeerId,
    partners: Vec<PeerId>,
    seeds: Family,
}

impl Masks {
    /// The masks of a peer in a graph. A pair's seed is the stream of both; each peer draws from those
    /// of its own pairs alone.
    pub fn of(graph: &MaskGraph, me: PeerId, seeds: Family) -> Self {
        Self::with(graph.partners(me), me, seeds)
    }

    /// The same of a peer that shares seeds with these.
    pub fn with(partners: Vec<PeerId>, me: PeerId, seeds: Family) -> Self {
        Self { me, partners, seeds }
    }

    /// Adds the masks of a round.
    pub fn hide(&self, round: Round, residues: &mut [u64]) {
        for &partner in &self.partners {
            let (low, high) = (self.me.min(partner), self.me.max(partner));
            let pair = u64::from(low.0) << 32 | u64::from(high.0);
            let mut stream = self.seeds.at(pair, u64::from(round.0));
            let plus = self.me == low;
            for residue in residues.iter_mut() {
                let mask = stream.next_u64();
                *residue =
                    if plus { residue.wrapping_add(mask) } else { residue.wrapping_sub(mask) };
            }
        }
    }
}

/// Releases a peer's addend of a sum, with its part of the noise, under its masks.
///
/// Data and noise are rounded to the grid each for itself, so that the noise is no function of the data,
/// and the data moves by at most √d·2⁻ˢ more than it does off the grid, which is booked.
///
/// The charge is that of the noise in the sum: it rests on the others, who must add their parts, and on
/// the masks, without which the addend shows the peer's own part of the noise alone.
pub fn pooled(
    data: &[f64],
    grid: &Grid,
    (noise, draw): (PooledNoise, Option<Draw<'_>>),
    sensitivity: Sensitivity,
    masks: Option<(&Masks, Round)>,
) -> Released<Arc<[u64]>> {
    let mut residues: Arc<[u64]> = data.iter().map(|&value| grid.residue(value)).collect();
    let places = Arc::make_mut(&mut residues);
    if let Some(mut draw) = draw {
        let mut own = vec![0.0; data.len()];
        draw.add_normals(noise.own, &mut own);
        for (residue, &noise) in places.iter_mut().zip(&own) {
            *residue = residue.wrapping_add(grid.residue(noise));
        }
    }
    if let Some((masks, round)) = masks {
        masks.hide(round, places);
    }
    let on_grid = |by| grid.moved(by, data.len());
    let sensitivity =
        Sensitivity { label: on_grid(sensitivity.label), record: on_grid(sensitivity.record) };
    charged(residues, Charge::One(Part::Pooled { noise, sensitivity }))
}

#[cfg(test)]
mod tests;
