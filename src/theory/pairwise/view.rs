//! The space that somebody's view of gossip spans, and what can be computed from the view.

use super::{PairwiseError, few_peers};
use crate::learn::{axpy, dot, norm};
use crate::theory::gradient_tracking::mix;
use crate::topology::Topology;
use crate::units::PeerId;

/// A product Wq, |q| = 1, counts as a new direction if more than this is left of it outside the
/// directions at hand.
///
/// Where nothing should be left, rounding leaves about n·2⁻⁵² ≤ 1.2·10⁻¹³ (n ≤ 512, |W| ≤ 1): a
/// thousandth of this. Where something should, it is seldom small, since W is applied to unit vectors
/// and never to its own powers, whose rows all tend to the same one and would sink below rounding
/// within some dozens of rounds. The tests compare dimensions with those that exact arithmetic finds.
const INDEPENDENT: f64 = 1e-10;

/// x_u(0) counts as determined if no more than this of e_u lies outside the view's row space.
///
/// A direction that was left over with length r ≥ 10⁻¹⁰ carries an error of up to 10⁻¹⁶/r ≤ 10⁻⁶; in
/// μ², where the square counts, that is 10⁻¹².
const OUTSIDE: f64 = 1e-6;

/// What some peers together see of gossip: their own values and all that they are sent.
///
/// The row space of Wᵗ at the peers heard, t = 0 … τ − 1, is a block Krylov space:
/// K_1 = span{e_l}, K_{t+1} = K_t + WK_t. Only the directions that round t brought can bring more in
/// round t + 1; once a round brings none, none after it does.
#[derive(Clone, Debug)]
pub struct View {
    peers: usize,
    heard: Vec<PeerId>,
    /// max(τ, 1): own values are known before the first round.
    times: usize,
    /// An orthonormal basis of the row space: first e_l for those heard.
    basis: Vec<Vec<f64>>,
    /// How the directions after those came about.
    steps: Vec<Step>,
}

/// `length` · q = W · basis\[`from`\] − Σ_j `overlaps`\[j\] basis\[j\].
#[derive(Clone, Debug)]
struct Step {
    from: usize,
    overlaps: Vec<f64>,
    length: f64,
}

impl View {
    /// The view of `observers` over τ = `rounds` rounds.
    ///
    /// # Complexity
    /// O(n d²) steps and O(n d) memory, where d ≤ n is the dimension.
    ///
    /// # Errors
    /// More than [`MOST_PEERS`](super::MOST_PEERS) peers; observers that are not in the graph.
    pub fn of(
        topology: &Topology,
        rounds: u32,
        observers: &[PeerId],
    ) -> Result<Self, PairwiseError> {
        few_peers(topology)?;
        let n = topology.peers();
        if let Some(&found) = observers.iter().find(|observer| observer.index() >= n) {
            return Err(PairwiseError::NoSuchPeer { peers: n, found });
        }
        let mut heard = observers.to_vec();
        if rounds > 0 {
            heard.extend(observers.iter().flat_map(|&observer| topology.neighbours(observer)));
        }
        heard.sort();
        heard.dedup();
        let basis = heard.iter().map(|peer| unit(n, *peer)).collect();
        let times = rounds.max(1) as usize;
        let mut view = Self { peers: n, heard, times, basis, steps: Vec::new() };
        let mut last = 0..view.basis.len();
        for _ in 1..times {
            for from in last.clone() {
                view.extend(topology, from);
            }
            last = last.end..view.basis.len();
            if last.is_empty() || view.basis.len() == n {
                break;
            }
        }
        Ok(view)
    }

    /// Adds what W times a direction has outside the basis, if anything.
    fn extend(&mut self, topology: &Topology, from: usize) {
        if self.basis.len() == self.peers {
            return;
        }
        let mut next = vec![0.0; self.peers];
        for peer in topology.ids() {
            mix(topology, peer, &self.basis[from], 1, &mut next[peer.index()..=peer.index()]);
        }
        let overlaps = remove(&self.basis, &mut next);
        let length = norm(&next);
        if length > INDEPENDENT {
            next.iter_mut().for_each(|entry| *entry /= length);
            // What was nearly nothing has little of its digits left.
            remove(&self.basis, &mut next);
            let rest = norm(&next);
            next.iter_mut().for_each(|entry| *entry /= rest);
            self.basis.push(next);
            self.steps.push(Step { from, overlaps, length });
        }
    }

    /// Those whose values are seen, by id: the observers and, from the first round on, their
    /// neighbours.
    pub fn heard(&self) -> &[PeerId] {
        &self.heard
    }

    /// The number of times t at which values are seen: τ, or 1 where there is no round.
    pub fn times(&self) -> usize {
        self.times
    }

    /// d, the dimension of the row space: how many numbers the view holds that do not follow from
    /// each other.
    pub fn dimension(&self) -> usize {
        self.basis.len()
    }

    /// Whether x_u(0) follows from the view. It does or not whatever the deviations are.
    pub fn reconstructs(&self, u: PeerId) -> bool {
        self.basis.len() == self.peers || norm(&self.unseen(u)) <= OUTSIDE
    }

    /// The part of e_u outside the row space: added to x(0) in any multiple, it changes nothing that
    /// is seen.
    pub fn unseen(&self, u: PeerId) -> Vec<f64> {
        let mut rest = unit(self.peers, u);
        if self.basis.len() == self.peers {
            return vec![0.0; self.peers];
        }
        remove(&self.basis, &mut rest);
        rest
    }

    /// (M⁺M)_uu of every u, for these deviations above 0: the squared length of e_u's projection on
    /// the row space of M = BS.
    pub fn shares(&self, deviations: &[f64]) -> Vec<f64> {
        if self.basis.len() == self.peers {
            return vec![1.0; self.peers];
        }
        let mut shares = vec![0.0; self.peers];
        let mut collect = |direction: &[f64]| {
            shares.iter_mut().zip(direction).for_each(|(share, entry)| *share += entry * entry);
        };
        if deviations.windows(2).all(|pair| pair[0] == pair[1]) {
            self.basis.iter().for_each(|direction| collect(direction));
        } else {
            // S has an inverse, so the row space keeps its dimension: no direction is in doubt.
            let mut scaled: Vec<Vec<f64>> = Vec::with_capacity(self.basis.len());
            for direction in &self.basis {
                let entries = direction.iter().zip(deviations);
                let mut next: Vec<f64> = entries.map(|(entry, sigma)| entry * sigma).collect();
                for _ in 0..2 {
                    let length = norm(&next);
                    next.iter_mut().for_each(|entry| *entry /= length);
                    remove(&scaled, &mut next);
                }
                let length = norm(&next);
                next.iter_mut().for_each(|entry| *entry /= length);
                collect(&next);
                scaled.push(next);
            }
        }
        for (u, share) in shares.iter_mut().enumerate() {
            *share = if self.reconstructs(PeerId::new(u)) { 1.0 } else { share.min(1.0) };
        }
        shares
    }

    /// The attack: x_u(0) of every u for whom it follows from what was seen.
    ///
    /// `seen` holds x_l(t) for all l of [`heard`](Self::heard) at t = 0, then at t = 1, and so on for
    /// all [`times`](Self::times); one coordinate at a time, where values have several.
    ///
    /// Each direction q of the basis is known by how it came about, so its values ⟨q, x(t)⟩ follow
    /// from those before it, since ⟨Wq, x(t)⟩ = ⟨q, x(t + 1)⟩; and x_u(0) = Σ_q q_u ⟨q, x(0)⟩.
    ///
    /// # Panics
    /// Where `seen` has not `heard` × `times` numbers.
    pub fn reconstruct(&self, seen: &[f64]) -> Vec<Option<f64>> {
        let width = self.heard.len();
        assert_eq!(seen.len(), width * self.times, "a view holds heard × times numbers");
        let column = |l: usize| seen.iter().skip(l).step_by(width).copied().collect();
        let mut values: Vec<Vec<f64>> = (0..width).map(column).collect();
        for Step { from, overlaps, length } in &self.steps {
            let later = values[*from].iter().skip(1).enumerate();
            let next = later.map(|(t, &value)| {
                let known: f64 = overlaps.iter().zip(&values).map(|(h, of)| h * of[t]).sum();
                (value - known) / length
            });
            let next = next.collect();
            values.push(next);
        }
        let at_start = |u: PeerId| {
            self.basis.iter().zip(&values).map(|(q, of)| q[u.index()] * of[0]).sum::<f64>()
        };
        let peers = (0..self.peers).map(PeerId::new);
        peers.map(|u| self.reconstructs(u).then(|| at_start(u))).collect()
    }
}

/// e_u.
fn unit(n: usize, u: PeerId) -> Vec<f64> {
    let mut unit = vec![0.0; n];
    unit[u.index()] = 1.0;
    unit
}

/// Takes away what lies along orthonormal directions, and returns how much of each: by modified
/// Gram–Schmidt, twice, after which what is left is orthogonal to within rounding.
pub(super) fn remove(basis: &[Vec<f64>], vector: &mut [f64]) -> Vec<f64> {
    let mut overlaps = vec![0.0; basis.len()];
    for _ in 0..2 {
        for (overlap, direction) in overlaps.iter_mut().zip(basis) {
            let along = dot(direction, vector);
            if along != 0.0 {
                axpy(-along, direction, vector);
                *overlap += along;
            }
        }
    }
    overlaps
}
